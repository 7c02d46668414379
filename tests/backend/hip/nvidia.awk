# AMD's HIP headers for NVIDIA, nvidia_hip_runtime_api.h of HIP 5.7, as CUDA 12.2 to 13 and a C compiler take them:
#   - functions over calls that CUDA 13 changed, and that tt does not use, go
#   - fields that CUDA 13 took out of cudaDeviceProp are no longer copied
#   - capture and graphs, which stand among C++ templates though they are C, come before these
# Reads the file twice: awk -f nvidia.awk FILE FILE.

BEGIN {
    split("hipMemAdvise hipMemPrefetchAsync hipCtxCreate hipLaunchCooperativeKernelMultiDevice " \
          "hipGraphAddDependencies hipGraphRemoveDependencies hipGraphGetEdges hipGraphNodeGetDependencies " \
          "hipGraphNodeGetDependentNodes hipGraphExecUpdate hipStreamGetCaptureInfo hipStreamGetCaptureInfo_v2 " \
          "hipStreamUpdateCaptureDependencies", list, " ")
    for (i in list) gone[list[i]] = 1
    split("hipStreamBeginCapture hipStreamEndCapture hipStreamIsCapturing hipGraphInstantiate hipGraphDestroy " \
          "hipGraphExecDestroy hipGraphLaunch hipGraphUpload", list, " ")
    for (i in list) moved[list[i]] = 1
    lost = "cdprop\\.(clockRate|computeMode|memoryClockRate|deviceOverlap|kernelExecTimeoutEnabled|maxTexture1DLinear|" \
           "singleToDoublePrecisionPerfRatio|cooperativeMultiDeviceLaunch)"
}

function name_of(line) {
    if (line !~ /^(inline static|static inline|inline) hipError_t hip[A-Za-z0-9_]*\(/) return ""
    sub(/\(.*/, "", line)
    sub(/.* /, "", line)
    return line
}

name_of($0) != "" { name = name_of($0) }

{
    gsub(/cudaDevAttrCooperativeMultiDeviceLaunch/, "(enum cudaDeviceAttr)96")
    sub(/graph, pErrorNode, pLogBuffer, bufferSize\)/, "graph, ((void)pErrorNode, (void)pLogBuffer, (void)bufferSize, 0ull))")
}

FNR == NR { # first reading: what moves
    if (name in moved) text = text $0 "\n"
    if (/^}/) name = ""
    next
}

/^#ifdef __CUDACC__/ && text != "" {
    print text
    text = ""
}
{
    if (!(name in gone) && !(name in moved) && $0 !~ lost) print
    if (/^}/) name = ""
}
