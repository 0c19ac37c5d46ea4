/* The kernels for AVX2: 6 pixels of 16 channels fill 12 of its 16 registers. */
#include "winograd-private.h"

#include <float.h>
#include <math.h>
#include <string.h>

#ifdef __x86_64__
#include <immintrin.h>
#pragma GCC target("avx2,fma")
#define ISA "avx2"
#define BLOCK 8
#define PIXELS 6
#define MAX_GROUP 4
#define GROUP_PIXELS 6
#define NAME(x) x##_avx2_8
#include "kernels-template.h"

#define BLOCK 16
#define PIXELS 3
#define MAX_GROUP 1
#define GROUP_PIXELS PIXELS
#define NAME(x) x##_avx2_16
#include "kernels-template.h"
#endif
