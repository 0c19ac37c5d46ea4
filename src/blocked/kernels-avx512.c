/* The kernels for AVX-512: 14 pixels of 32 channels fill 28 of its 32 registers. */
#include "winograd-private.h"

#include <float.h>
#include <math.h>
#include <string.h>

#ifdef __x86_64__
#include <immintrin.h>
#pragma GCC target("avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")
#define ISA "avx512"
#define BLOCK 16
#define PIXELS 14
#define MAX_GROUP 8
#define GROUP_PIXELS 7
#define NAME(x) x##_avx512_16
#include "kernels-template.h"
#endif
