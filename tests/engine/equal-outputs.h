#pragma once
#include <math.h>

#include <glib.h>

/* check_equal: That outputs are the same but for rounding.
 * @name: what gave them    @expected, @got: GArray* of float    @tolerance: of the largest number of an output */
static inline void check_equal(const char *name, const GPtrArray *expected, const GPtrArray *got, double tolerance)
{
    g_assert_cmpuint(got->len, ==, expected->len);
    for (guint k = 0; k < expected->len; k++)
    {
        const GArray *left = expected->pdata[k], *right = got->pdata[k];
        double largest = 0, worst = 0;
        g_assert_cmpuint(left->len, ==, right->len);
        for (guint i = 0; i < left->len; i++)
        {
            const double a = (double)g_array_index(left, float, i), b = (double)g_array_index(right, float, i);
            largest = fmax(largest, fabs(a));
            worst = fabs(a - b) <= worst ? worst : fabs(a - b); /* a NaN is the worst */
        }
        if (!(worst <= tolerance * largest))
            g_error("%s: output %u of %u is off by %g of the largest, %g", name, k, expected->len, worst, largest);
    }
}
