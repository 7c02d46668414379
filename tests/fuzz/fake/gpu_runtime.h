/* The neutral types of a GPU's runtime that a header of ours names, and no more. */
typedef int gpu_rt_error;
typedef void *gpu_rt_stream, *gpu_rt_event, *gpu_rt_graph;
