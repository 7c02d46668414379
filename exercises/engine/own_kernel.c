#include "exercises/engine/own_kernel.h"

#include <string.h>

#include "exercises/engine/course.h"

tt_status tt_own_kernel_check(const struct tt_config *c)
{
    bool fuse[TT_FUSION_COUNT];
    if (!tt_course_of(c)->own_kernel[0]) return TT_OK;
    if (strcmp(tt_backend_name(), "cpu"))
        return tt_fail(TT_USAGE, "--own-kernel is a function for the CPU, and this tt was built for %s; build one "
                                 "with: cmake -B build-cpu -DBACKEND=cpu",
                       tt_backend_name());
    if (c->precision == TT_PREC_FP8)
        return tt_fail(TT_USAGE, "--own-kernel does not take the largest magnitudes that --precision fp8 needs; use "
                                 "--precision fp32");
    TT_TRY(tt_config_fusions(c, fuse));
    if (fuse[TT_FUSE_NORM]) return TT_OK;
    return tt_fail(TT_USAGE, "--own-kernel does what the fusion norm has one kernel for; use --version fused, or "
                             "--fuse norm with --version %s",
                   tt_version_names[c->version]);
}

bool tt_own_kernel_takes(enum tt_kernel kernel, const void *args)
{
    const struct tt_rmsnorm_args *a = args;
    return kernel == TT_K_rmsnorm && a->dtype == TT_F32 && a->delta && a->sum && a->sum != a->x && a->sum != a->delta &&
           a->y && !a->amax;
}

void tt_own_kernel_name(struct tt_plan *p)
{
    for (int i = 0; i < p->count; i++)
        if (p->ops[i].kind == TT_OP_KERNEL && tt_own_kernel_takes(p->ops[i].kernel, &p->ops[i].args))
            p->ops[i].name = TT_OWN_KERNEL;
}
