/* The types of CUDA's runtime that a header of ours names, and no more. */
typedef void *cudaStream_t;
typedef int cudaError_t;
