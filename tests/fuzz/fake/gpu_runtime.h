/* The neutral types of a GPU's runtime that one of our headers names, and nothing else. */
typedef int gpu_rt_error;
typedef void *gpu_rt_stream, *gpu_rt_event, *gpu_rt_graph;
