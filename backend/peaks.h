/* Published peak rates of GPUs, by a word of their name. */
#ifndef TT_PEAKS_H
#define TT_PEAKS_H

struct tt_peaks {
    const char *name;
    double half, tf32, fp32; /* TFLOP/s without sparsity; half is bf16 and fp16 with fp32 sums */
    double bandwidth;        /* GB/s */
    int units;               /* of the whole, where a driver can show parts of it under its name; else 0 */
};

/* Of the device with this name ("NVIDIA H200", "AMD Instinct MI300X") and so many compute units (0: the whole); zeros
 * when it is not known, or is a part. */
struct tt_peaks tt_peaks_of(const char *name, int units);

#endif
