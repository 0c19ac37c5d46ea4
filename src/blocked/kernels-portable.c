/* The kernels in plain C, and which kernels a processor takes. */
#include "winograd-private.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define ISA "portable"
#define BLOCK 8
#define PIXELS 3
#define MAX_GROUP 1
#define GROUP_PIXELS PIXELS
#define NAME(x) x##_portable_8
#include "kernels-template.h"

#define BLOCK 16
#define PIXELS 2
#define MAX_GROUP 1
#define GROUP_PIXELS PIXELS
#define NAME(x) x##_portable_16
#include "kernels-template.h"

const ConvKernels *conv_kernels(int block, const char *max_isa)
{
    const bool is_portable = max_isa != NULL && strcmp(max_isa, "portable") == 0;
    const bool is_avx2 = max_isa != NULL && strcmp(max_isa, "avx2") == 0;
    const bool any = max_isa == NULL || strcmp(max_isa, "avx512") == 0;
    if (!is_portable && !is_avx2 && !any)
        return NULL;
#ifdef __x86_64__
    const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    const bool has_avx512 = has_avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                            __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
    if (block == 16 && any && has_avx512)
        return &conv_kernels_avx512_16;
    if (!is_portable && has_avx2 && (block == 16 || block == 8))
        return block == 16 ? &conv_kernels_avx2_16 : &conv_kernels_avx2_8;
#endif
    return block == 16 ? &conv_kernels_portable_16 : block == 8 ? &conv_kernels_portable_8 : NULL;
}

const char *ifm_blocked_isa(int block, const char *max_isa)
{
    const ConvKernels *kernels = conv_kernels(block, max_isa);
    return kernels != NULL ? kernels->isa : NULL;
}
