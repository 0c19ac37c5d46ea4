/* Why a prediction is off, as far as the measurement and the model can show it. */
#include <math.h>

#include "learn-private.h"

/* What is off by less, and inside of its interval, needs no reason. */
#define SMALL_ERROR 0.1
/* So far a load may be from what was asked for. */
#define LOAD_TOLERANCE 0.05
/* A standard deviation, or what the kernels are off by, of that share of an error explains it. */
#define LEAST_SHARE 0.5

/* A load on the kernel's own cores reaches no more than its fair share of them. */
static gboolean is_load_off(const IfmEvaluated *row)
{
    const double least = row->same ? MIN(row->asked, LEARN_FAIR_SHARE) : row->asked;
    return row->achieved < least - LOAD_TOLERANCE || row->achieved > row->asked + LOAD_TOLERANCE;
}

char *ifm_evaluated_why(const IfmEvaluated *row)
{
    g_autoptr(GPtrArray) reasons = g_ptr_array_new_with_free_func(g_free);
    const double error = fabs(row->predicted_ns / row->measured_ns - 1), noise = row->std_ns / row->measured_ns;
    if (isnan(row->measured_ns))
        return g_strdup(row->reason);
    if (error <= SMALL_ERROR && row->low_ns <= row->measured_ns && row->measured_ns <= row->high_ns)
        return NULL;
    if (row->unknown != NULL)
        g_ptr_array_add(reasons, g_strdup_printf("operator not learnt, by the roofline: %s", row->unknown));
    if (row->outside != NULL)
        g_ptr_array_add(reasons, g_strdup_printf("outside of the training data: %s", row->outside));
    if (is_load_off(row))
        g_ptr_array_add(reasons, g_strdup_printf("the load achieved is %.0f %% of the time, asked %.0f %%",
                                                 100 * row->achieved, 100 * row->asked));
    if (noise >= LEAST_SHARE * error)
        g_ptr_array_add(reasons,
                        g_strdup_printf("noise: the measured runs differ by %.0f %% (standard deviation)", 100 * noise));
    if (fabs(row->kernels_ns / row->measured_ns - 1) >= LEAST_SHARE * error)
        g_ptr_array_add(reasons, g_strdup_printf("the kernels, each measured by itself, take %.0f %% of the model's time",
                                                 100 * row->kernels_ns / row->measured_ns));
    if (reasons->len == 0)
        return g_strdup_printf("not known: operator and sizes were learnt%s, the runs differ by %.0f %%",
                               isnan(row->asked) ? "" : ", the load was as asked", 100 * noise);
    g_ptr_array_add(reasons, NULL);
    return g_strjoinv("; ", (char **)reasons->pdata);
}
