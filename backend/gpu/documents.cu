/* Where documents begin and end: a running maximum along each row of tokens, from the left for the starts and from the
 * right for the ends. A block takes a row, THREADS tokens at a time. */
#include "backend/gpu/tokens.h"

enum { THREADS = 256 };

/* The largest x of this thread and those before it in the block. All threads call it; `largest` gets that of all. */
GPU_DEVICE int largest_so_far(int x, int (&room)[2][THREADS], int &largest)
{
    int t = gpu_thread(), now = 0;
    room[0][t] = x;
    for (int step = 1; step < THREADS; step *= 2) {
        gpu_block_sync();
        int before = t >= step ? room[now][t - step] : 0;
        room[1 - now][t] = x = before > x ? before : x;
        now = 1 - now;
    }
    gpu_block_sync();
    largest = room[now][THREADS - 1];
    gpu_block_sync(); /* the next call writes to `room` */
    return x;
}

GPU_KERNEL GPU_BOUNDS(THREADS) document_bounds(struct tt_document_bounds_args a)
{
    GPU_SHARED int room[2][THREADS];
    int S = (int)a.S;
    int64_t b = gpu_block_x();
    const int32_t *tokens = step_tokens(a.tokens, a.state, a.slot_stride) + b * (a.S + 1);
    /* k counts from the left for the starts, then from the right for the ends. Seen from the left, a document begins at
     * k if the token before it is an end token; seen from the right, if token k itself is one. */
    for (int side = 0; side < (a.ends ? 2 : 1); side++) {
        int before = 0;
        for (int from = 0; from < S; from += THREADS) {
            int k = from + gpu_thread(), i = side ? S - 1 - k : k, all;
            int at = side ? i : i - 1;
            bool begins = k < S && at >= 0 && tokens[at] == a.end;
            int last = largest_so_far(begins ? k : 0, room, all);
            if (last < before) last = before;
            if (k < S && !side) a.starts[b * S + i] = last;
            if (k < S && side) a.ends[b * S + i] = S - last;
            if (all > before) before = all;
        }
    }
}

gpu_error tt_gpu_document_bounds(const struct tt_document_bounds_args *a, gpu_stream s)
{
    return GPU_LAUNCH(document_bounds, gpu_grid_of(a->B), THREADS, 0, s, *a);
}
