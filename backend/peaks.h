/* Published peak rates of GPUs, by a word of their name. */
#ifndef TT_PEAKS_H
#define TT_PEAKS_H

struct tt_peaks {
    const char *name;
    double half, tf32, fp32; /* TFLOP/s without sparsity; half is bf16 and fp16 with fp32 sums */
    double bandwidth;        /* GB/s */
};

/* Of the device with this name ("NVIDIA H200", "AMD Instinct MI300X"); zeros when it is not known. */
struct tt_peaks tt_peaks_of(const char *name);

#endif
