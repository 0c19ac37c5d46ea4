/* The kernels in plain C, and which kernels a processor takes. */
#include "winograd-private.h"

#include <math.h>
#include <string.h>

#define ISA "portable"
#define BLOCK 8
#define PIXELS 3
#define NAME(x) x##_portable_8
#include "kernels-template.h"

#define BLOCK 16
#define PIXELS 2
#define NAME(x) x##_portable_16
#include "kernels-template.h"

const ConvKernels *conv_kernels(int block, const char *max_isa)
{
    const gboolean is_portable = g_strcmp0(max_isa, "portable") == 0, is_avx2 = g_strcmp0(max_isa, "avx2") == 0;
    const gboolean any = max_isa == NULL || g_str_equal(max_isa, "avx512");
    if (!is_portable && !is_avx2 && !any)
        return NULL;
#ifdef __x86_64__
    const gboolean has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    const gboolean has_avx512 = has_avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                                __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
    if (block == 16 && any && has_avx512)
        return &conv_kernels_avx512_16;
    if (!is_portable && has_avx2 && (block == 16 || block == 8))
        return block == 16 ? &conv_kernels_avx2_16 : &conv_kernels_avx2_8;
#endif
    return block == 16 ? &conv_kernels_portable_16 : block == 8 ? &conv_kernels_portable_8 : NULL;
}

const char *ifm_conv_isa(int block, const char *max_isa)
{
    const ConvKernels *kernels = conv_kernels(block, max_isa);
    return kernels != NULL ? kernels->isa : NULL;
}
