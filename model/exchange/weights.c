#include "model/exchange/weights.h"

#include <math.h>
#include <string.h>

#include "core/base/half.h"

static bool overflows(float x) { return (tt_to_f16(x) & 0x7fff) >= 0x7c00 && isfinite(x); }

tt_status tt_weights_fit(const struct tt_param *p, const float *weights, const char *type)
{
    bool half = !strcmp(type, "F16"), blocks = !strcmp(type, "Q8_0");
    for (int64_t j = 0; j < p->count && (half || blocks); j++) {
        float x = weights[p->offset + j];
        if (half ? overflows(x) : overflows(x / 127))
            return tt_fail(TT_FAILED, "%s holds %g, beyond the range of %s; export with --dtype bf16 or fp32", p->name,
                           (double)x, half ? "fp16" : "q8_0");
        if (blocks && !isfinite(x))
            return tt_fail(TT_FAILED, "%s holds %g, which q8_0 cannot store; such a model is of no use", p->name,
                           (double)x);
    }
    return TT_OK;
}

tt_status tt_weights_check_shape(const char *file, const struct tt_tensor *t, const struct tt_param *p, const char *by)
{
    char here[128], there[128];
    int rank = p->shape[1] ? 2 : 1;
    if (t->rank == rank && !memcmp(t->shape, p->shape, (size_t)rank * sizeof *t->shape)) return TT_OK;
    tt_tensor_shape_text(rank, p->shape, here, sizeof here);
    tt_tensor_shape_text(t->rank, t->shape, there, sizeof there);
    return tt_fail(TT_FAILED, "%s: tensor %s is %s, but %s says %s", file, t->name, there, by, here);
}

tt_status tt_weights_finite(const char *file, const char *name, const float *w, int64_t n)
{
    for (int64_t j = 0; j < n; j++)
        if (!isfinite(w[j]))
            return tt_fail(TT_FAILED, "%s: tensor %s holds %g; such a model cannot be used", file, name, (double)w[j]);
    return TT_OK;
}
