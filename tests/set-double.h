#pragma once
#include <math.h>
#include <string.h>

#include <base/tensor.h>

/* half_of: the f16 nearest to a number that is within its range. */
static inline guint16 half_of(double value)
{
    int exponent;
    double part = frexp(fabs(value), &exponent); /* in [0.5, 1) */
    guint16 sign = signbit(value) ? 0x8000 : 0;
    if (value == 0 || exponent < -13) /* subnormal: in steps of 2^-24 */
        return sign | (guint16)nearbyint(ldexp(fabs(value), 24));
    return sign | (guint16)(((exponent + 13) << 10) + (int)nearbyint(ldexp(part, 11)));
}

/* set_double: of a tensor of floating-point numbers. */
static inline void set_double(IfmTensor *tensor, gint64 index, double value)
{
    if (tensor->dtype == IFM_DTYPE_F64)
        ((double *)tensor->data)[index] = value;
    else if (tensor->dtype == IFM_DTYPE_F16)
        ((guint16 *)tensor->data)[index] = half_of(value);
    else
    {
        g_assert_cmpint(tensor->dtype, ==, IFM_DTYPE_F32);
        ((float *)tensor->data)[index] = (float)value;
    }
}
