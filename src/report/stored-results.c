#include <store/store.h>

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

static void set_times(GArray **place, GArray *times_ns)
{
    g_array_ref(times_ns);
    g_array_unref(*place);
    *place = times_ns;
}

static IfmCase *keep_case(const IfmCase *from)
{
    IfmCase *kept = ifm_case_new();
    ifm_record_set_text(&kept->key, from->key);
    ifm_record_set_text(&kept->subject_kind, from->subject_kind);
    ifm_record_set_text(&kept->subject_name, from->subject_name);
    ifm_record_set_text(&kept->subject_digest, from->subject_digest);
    ifm_record_set_text(&kept->model_path, from->model_path);
    ifm_record_set_text(&kept->device, from->device);
    ifm_record_set_text(&kept->alias, from->alias);
    ifm_record_set_json(&kept->sizes, json_incref(from->sizes));
    ifm_record_set_json(&kept->options, json_incref(from->options));
    ifm_record_set_json(&kept->load, json_incref(from->load));
    ifm_record_set_json(&kept->environment, json_incref(from->environment));
    return kept;
}

/* Everything, or all but the long series that a list has no use for. */
static IfmMeasurement *keep_measurement(const IfmMeasurement *from, gboolean with_samples)
{
    IfmMeasurement *kept = ifm_measurement_new();
    ifm_record_set_text(&kept->uid, from->uid);
    ifm_record_set_text(&kept->case_key, from->case_key);
    kept->started_unix_ms = from->started_unix_ms;
    kept->outcome = from->outcome;
    ifm_record_set_text(&kept->error_code, from->error_code);
    ifm_record_set_text(&kept->reason, from->reason);
    ifm_record_set_text(&kept->stop_reason, from->stop_reason);
    ifm_measurement_set_summary(kept, from->has_summary ? &from->summary : NULL);
    ifm_record_set_json(&kept->result, json_incref(from->result));
    ifm_record_set_json(&kept->environment, json_incref(from->environment));
    ifm_record_set_json(&kept->effective_config, json_incref(from->effective_config));
    ifm_record_set_json(&kept->verification, json_incref(from->verification));
    ifm_record_set_json(&kept->breakdown, json_incref(from->breakdown));
    ifm_record_set_json(&kept->memory, json_incref(from->memory));
    if (!with_samples)
        return kept;
    set_times(&kept->warmup_ns, from->warmup_ns);
    set_times(&kept->samples_ns, from->samples_ns);
    set_times(&kept->profiled_ns, from->profiled_ns);
    g_ptr_array_ref(from->nodes);
    g_ptr_array_unref(kept->nodes);
    kept->nodes = from->nodes;
    return kept;
}

static gboolean keep(const IfmCase *subject_case, const IfmMeasurement *measurement, void *user)
{
    IfmStoredResults *self = user;
    IfmCase *kept_case = keep_case(subject_case);
    IfmMeasurement *kept = keep_measurement(measurement, self->with_samples);
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
