/* Plans by shape, made at the first multiply of a shape and kept until the backend is closed. A step has a few dozen.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/gpu/gemm.h"

static void plan_free(struct gemm_plan *p)
{
    tt_blas_plan_free(p);
    free(p);
}

/* ---- the table ---- */

static uint64_t hash_of(const struct gemm_key *key)
{
    int64_t words[sizeof *key / sizeof(int64_t)];
    memcpy(words, key, sizeof words);
    uint64_t h = 0x9e3779b97f4a7c15u;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        h = (h ^ (uint64_t)words[i]) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    return h;
}

/* The slot of the key, or the free slot where it belongs. */
static struct gemm_plan **slot_of(const struct gpu_gemms *t, const struct gemm_key *key, uint64_t hash)
{
    for (size_t i = hash;; i++) {
        struct gemm_plan **slot = &t->slots[i & (t->room - 1)];
        if (!*slot || ((*slot)->hash == hash && !memcmp(&(*slot)->key, key, sizeof *key))) return slot;
    }
}

static tt_status make_room(struct gpu_gemms *t)
{
    if (2 * (t->count + 1) <= t->room) return TT_OK;
    struct gpu_gemms larger = *t;
    larger.room = t->room ? 2 * t->room : 64;
    larger.slots = calloc(larger.room, sizeof *larger.slots);
    if (!larger.slots) return tt_no_memory("the table of matrix shapes");
    for (size_t i = 0; i < t->room; i++)
        if (t->slots[i]) *slot_of(&larger, &t->slots[i]->key, t->slots[i]->hash) = t->slots[i];
    free(t->slots);
    *t = larger;
    return TT_OK;
}

tt_status tt_gpu_gemm_plan(struct gpu *gpu, const struct gemm_key *key, const struct gemm_call *call,
                           struct gemm_plan **out)
{
    struct gpu_gemms *t = gpu->gemms;
    TT_TRY(make_room(t));
    uint64_t hash = hash_of(key);
    struct gemm_plan *p = *slot_of(t, key, hash);
    *out = p;
    if (p) return TT_OK;
    p = calloc(1, sizeof *p);
    if (!p) return tt_no_memory("a matrix shape");
    p->key = *key;
    p->hash = hash;
    tt_status st = key->with ? TT_OK : tt_blas_plan(gpu, p);
    if (!st) st = tt_gpu_gemm_choose(gpu, p, call); /* timing an epilogue also makes a plan for the plain product */
    if (!st) st = make_room(t);
    if (st) {
        plan_free(p);
        return st;
    }
    *out = *slot_of(t, key, hash) = p;
    t->count++;
    return TT_OK;
}

/* ---- opening and closing ---- */

tt_status tt_gpu_gemms_open(struct gpu *gpu, const struct tt_backend_options *options)
{
    char library[64], device[200];
    struct gpu_gemms *t = gpu->gemms = calloc(1, sizeof *t);
    if (!t) return tt_no_memory("the table of matrix shapes");
    gpu->workspace_bytes = tt_blas_workspace(gpu);
    TT_TRY(tt_gpu_alloc(gpu, gpu->workspace_bytes, &gpu->compute.scratch.workspace));
    TT_TRY(tt_blas_open(gpu));
    TT_TRY(tt_gpu_scratch_reserve(gpu));
    t->tune = options->gemm_tune;
    tt_blas_name(gpu, library, sizeof library);
    snprintf(device, sizeof device, "%s, %d units, %s", gpu->name, gpu->units, library);
    tt_gemm_file_open(&t->file, t->tune == TT_TUNE_OFF ? NULL : options->gemm_cache, device);
    return TT_OK;
}

void tt_gpu_gemms_save(struct gpu *gpu) { tt_gemm_file_save(&gpu->gemms->file); }

void tt_gpu_gemms_close(struct gpu *gpu)
{
    struct gpu_gemms *t = gpu->gemms;
    if (!t) return;
    tt_gemm_file_save(&t->file);
    tt_gemm_file_close(&t->file);
    for (size_t i = 0; i < t->room; i++)
        if (t->slots[i]) plan_free(t->slots[i]);
    free(t->slots);
    free(t);
    tt_gpu_scratch_close(gpu);
    tt_blas_close(gpu);
}
