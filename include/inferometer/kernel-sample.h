/* room: kernel */
#pragma once
#include <inferometer/kernel-records.h>

IFM_BEGIN_DECLS

/* Kernels around those of models, to measure and learn from. */

/**
 * ifm_kernel_vary: A kernel of other sizes: each factor is drawn from 0.4 to 2.2, evenly by its logarithm. Equal sizes stay
 * equal, groups follow channels, blocked channels stay in blocks; attributes and small dimensions stay.
 * Returns: (transfer full) NULL where there is none: the kernel computes on integers, only moves data, or the sizes drawn
 * do not fit together or are too large.
 */
IfmKernelRecord *ifm_kernel_vary(const IfmKernelRecord *record, guint32 seed);

/** IfmKernelFeatures: the shape of a kernel in numbers; 0: it has no such thing. @batch: of other ranks than 4 all but the
 * last dimension    @m, @k, @n: of the matrix product that it is, or comes to */
typedef struct
{
    double batch, channels, height, width, outputs, kernel_size, stride, groups, dilation, m, k, n;
} IfmKernelFeatures;
void ifm_kernel_features(const IfmKernelRecord *record, IfmKernelFeatures *features);

IFM_END_DECLS
