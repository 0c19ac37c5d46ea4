#include "store.h"

/* Records kept after their store is closed. */

struct IfmStoredResults
{
    GPtrArray *cases;        /* IfmCase* */
    GPtrArray *measurements; /* IfmMeasurement*, of the case at the same place */
    GArray *results;         /* IfmResult, borrowing from the two */
    gboolean with_samples;
};

IfmStoredResults *ifm_stored_results_new(gboolean with_samples)
{
    IfmStoredResults *self = g_new0(IfmStoredResults, 1);
    self->cases = g_ptr_array_new_with_free_func((GDestroyNotify)ifm_case_free);
    self->measurements = g_ptr_array_new_with_free_func((GDestroyNotify)ifm_measurement_free);
    self->results = g_array_new(FALSE, FALSE, sizeof(IfmResult));
    self->with_samples = with_samples;
    return self;
}

void ifm_stored_results_free(IfmStoredResults *self)
{
    if (self == NULL)
        return;
    g_ptr_array_unref(self->cases);
    g_ptr_array_unref(self->measurements);
    g_array_unref(self->results);
    g_free(self);
}

static void drop(GArray **series)
{
    g_array_unref(*series);
    *series = g_array_new(FALSE, FALSE, sizeof(gint64));
}

static gboolean keep(const IfmCase *subject_case, const IfmMeasurement *measurement, void *user)
{
    IfmStoredResults *self = user;
    IfmCase *kept_case = ifm_case_ref(subject_case);
    IfmMeasurement *kept = ifm_measurement_ref(measurement);
    if (!self->with_samples) /* a list has no use for the long series */
    {
        drop(&kept->warmup_ns);
        drop(&kept->samples_ns);
        drop(&kept->profiled_ns);
        g_ptr_array_set_size(kept->nodes, 0);
    }
    g_ptr_array_add(self->cases, kept_case);
    g_ptr_array_add(self->measurements, kept);
    IfmResult result = {
        .device = kept_case->device, .alias = kept_case->alias, .subject_case = kept_case, .measurement = kept
    };
    g_array_append_val(self->results, result);
    return TRUE;
}

/* As they were measured, one after the other. */
static gint compare_starts(gconstpointer a, gconstpointer b)
{
    const IfmMeasurement *x = ((const IfmResult *)a)->measurement, *y = ((const IfmResult *)b)->measurement;
    return (x->started_unix_ms > y->started_unix_ms) - (x->started_unix_ms < y->started_unix_ms);
}

gboolean ifm_stored_results_add(IfmStoredResults *self, IfmStore *store, GError **error)
{
    if (!ifm_store_each(store, keep, self, error))
        return FALSE;
    g_array_sort(self->results, compare_starts); /* a merge sort: equal ones stay as the store has them */
    return TRUE;
}

const IfmResult *ifm_stored_results(const IfmStoredResults *self, gsize *n)
{
    *n = self->results->len;
    return (const IfmResult *)(const void *)self->results->data;
}
