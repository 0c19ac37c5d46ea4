/* All kinds of cases: the table of them, and how a case of any kind is sealed and measured. */
#include <base/fields.h>
#include <sensor/sensor.h>
#include <store/store.h>

#include "kind-private.h"

const IfmCaseKind *const ifm_kinds[] = { &ifm_kind_model, &ifm_kind_pipeline, &ifm_kind_link, &ifm_kind_peak, NULL };

const IfmCaseKind *ifm_kind_find(const char *name, GError **error)
{
    for (const IfmCaseKind *const *kind = ifm_kinds; *kind != NULL; kind++)
        if (g_strcmp0((*kind)->name, name) == 0)
            return *kind;
    ifm_error_refuse(error, "the worker knows no kind of case '%s'", name != NULL ? name : "");
    return NULL;
}

/* --- what several kinds are described with ------------------------------------------------------------------------ */

static gboolean goes_by_rule(const void *self)
{
    return ((const IfmProtocol *)self)->runs == 0;
}

const IfmRecordField ifm_protocol_fields[] = {
    { IFM_RECORD(DOUBLE, IfmProtocol, ci_ratio), .key = "ci_ratio", .counts = goes_by_rule },
    { IFM_RECORD(DOUBLE, IfmProtocol, level), .key = "level", .counts = goes_by_rule },
    { IFM_RECORD(SIZE, IfmProtocol, warmup), .key = "warmup" },
    { IFM_RECORD(SIZE, IfmProtocol, runs), .key = "runs", .unless_zero = TRUE },
    { IFM_RECORD(SIZE, IfmProtocol, min_runs), .key = "min_runs", .counts = goes_by_rule },
    { IFM_RECORD(SIZE, IfmProtocol, max_runs), .key = "max_runs", .counts = goes_by_rule },
    { IFM_RECORD(INT64, IfmProtocol, time_budget_ns), .key = "time_budget_ns", .counts = goes_by_rule },
    { NULL },
};

json_t *ifm_protocol_to_json(const IfmProtocol *protocol)
{
    return ifm_record_key_to_json(protocol, ifm_protocol_fields);
}

const IfmRecordField *ifm_kind_field(const IfmCaseKind *kind, const char *name)
{
    for (const IfmRecordField *field = kind->fields; field->name != NULL; field++)
        if (g_str_equal(field->name, name))
            return field;
    return NULL;
}

IfmProtocol *ifm_kind_protocol(const IfmCaseKind *kind, void *spec)
{
    const IfmRecordField *field = ifm_kind_field(kind, "protocol");
    return field != NULL ? (IfmProtocol *)(void *)((char *)spec + field->offset) : NULL;
}

void ifm_case_set_engine(IfmCase *record, const json_t *facts)
{
    json_object_set(record->environment, "engine", json_object_get(facts, "engine"));
    json_object_set(record->environment, "engine_version", json_object_get(facts, "version"));
}

/* --- a spec as it travels ----------------------------------------------------------------------------------------- */

gboolean ifm_spec_init(IfmSpec *spec, const IfmCaseKind *kind, json_t *json, GError **error)
{
    *spec = (IfmSpec){ .data = g_malloc0(kind->size),
                       .json = json_incref(json),
                       .pool = g_ptr_array_new_with_free_func(g_free) };
    if (ifm_record_from_json(spec->data, kind->fields, json, "case", spec->pool, error))
        return TRUE;
    ifm_spec_clear(spec);
    return FALSE;
}

void ifm_spec_clear(IfmSpec *spec)
{
    g_clear_pointer(&spec->data, g_free);
    g_clear_pointer(&spec->pool, g_ptr_array_unref);
    g_clear_pointer(&spec->json, json_decref);
}

/* --- sealing ------------------------------------------------------------------------------------------------------ */

/* A struct from C may hold any number where an enumeration is expected. */
static gboolean complete(const IfmCaseKind *kind, void *spec, GError **error)
{
    return (kind->complete == NULL || kind->complete(spec, error)) &&
           ifm_record_check(spec, kind->fields, kind->name, error);
}

IfmCase *ifm_kind_seal(IfmRunner *runner, const IfmCaseKind *kind, const void *given, const json_t *facts, GError **error)
{
    g_autofree void *spec = g_memdup2(given, kind->size);
    g_autoptr(IfmCase) record = ifm_case_new();
    if (!complete(kind, spec, error))
        return NULL;
    json_t *id = json_object_get(ifm_runner_machine(runner), "id");
    ifm_record_set_text(&record->subject_kind, kind->name);
    ifm_record_set_json(&record->options, ifm_record_key_to_json(spec, kind->fields));
    json_object_set(record->environment, "machine", id != NULL ? id : json_null());
    if (!kind->seal(runner, spec, facts, record, error))
        return NULL;
    ifm_case_seal(record);
    return g_steal_pointer(&record);
}

IfmCase *ifm_runner_case(IfmRunner *runner, const IfmCaseKind *kind, const void *spec, GError **error)
{
    return ifm_kind_seal(runner, kind, spec, NULL, error);
}

/* --- where it is measured ----------------------------------------------------------------------------------------- */

void ifm_kind_place_init(IfmKindPlace *place)
{
    *place = (IfmKindPlace){ .devices = g_ptr_array_new_with_free_func((GDestroyNotify)ifm_device_spec_free),
                             .texts = g_ptr_array_new_with_free_func(g_free),
                             .level = 0.95 };
}

void ifm_kind_place_clear(IfmKindPlace *place)
{
    g_clear_pointer(&place->worker, g_free);
    g_clear_pointer(&place->devices, g_ptr_array_unref);
    g_clear_pointer(&place->texts, g_ptr_array_unref);
}

const IfmDeviceSpec *ifm_kind_place_add(IfmKindPlace *place, const char *device, GError **error)
{
    IfmDeviceSpec *spec = ifm_device_spec_parse(device, error);
    if (spec != NULL)
        g_ptr_array_add(place->devices, spec);
    return spec;
}

const char *ifm_kind_place_keep(IfmKindPlace *place, char *text)
{
    if (text != NULL)
        g_ptr_array_add(place->texts, text);
    return text;
}

const char *ifm_kind_place_path(IfmKindPlace *place, const char *path)
{
    return path != NULL ? ifm_kind_place_keep(place, g_canonicalize_filename(path, NULL)) : NULL;
}

/* --- measuring in a worker ---------------------------------------------------------------------------------------- */

json_t *ifm_kind_request(const IfmCaseKind *kind, const void *spec, const IfmCase *sealed, gint64 memory_bytes)
{
    return json_pack("{s:s,s:s,s:o,s:o,s:I}", "do", "measure", "kind", kind->name, "case",
                     ifm_record_to_json(spec, kind->fields), "sealed", ifm_case_to_json(sealed), "memory_bytes",
                     (json_int_t)memory_bytes);
}

/* What a prepared case is compared with, and its runs. */
static json_t *ask_with_reference(IfmRunMonitor *monitor, const IfmKindJob *job, const json_t *ready,
                                  const IfmWorkerWatch *watch, GError **error)
{
    json_t *request = json_pack("{s:s}", "do", "measure");
    if (ifm_references_add(job->spec, job->sealed, json_is_true(json_object_get(ready, "true_outputs")), monitor, request,
                           error))
        return ifm_runner_ask(monitor->runner, job->place->worker, request, watch, error);
    json_decref(request);
    return NULL;
}

IfmMeasurement *ifm_kind_ask(IfmRunMonitor *monitor, const IfmKindJob *job, GError **error)
{
    const IfmKindInWorker *way = job->kind->in_worker;
    IfmWorkerWatch watch = ifm_run_monitor_watch(monitor);
    IfmMeasurement *skipped = NULL;
    json_t *request = ifm_kind_request(job->kind, job->spec, job->sealed, watch.limits->memory_bytes);
    if (way->ask != NULL && !way->ask(monitor, job->spec, job->sealed, job->place, request, &skipped, error))
    {
        json_decref(request);
        return skipped;
    }
    gint64 began_us = g_get_monotonic_time();
    json_auto_t *answer = ifm_runner_ask(monitor->runner, job->place->worker, request, &watch, error);
    if (answer != NULL && json_object_get(answer, "measurement") == NULL)
    {
        watch.spent_ns = (g_get_monotonic_time() - began_us) * 1000; /* the reference does not count */
        json_t *last = ask_with_reference(monitor, job, answer, &watch, error);
        json_decref(answer);
        answer = last;
    }
    return answer != NULL ? ifm_measurement_from_json(json_object_get(answer, "measurement"), error) : NULL;
}

static IfmMeasurement *measure_in_worker(IfmRunner *runner, const IfmCaseKind *kind, void *spec, const IfmCase *sealed,
                                         GError **error)
{
    g_auto(IfmKindPlace) place;
    ifm_kind_place_init(&place);
    if (!kind->in_worker->place(runner, spec, sealed, &place, error))
        return NULL;
    const IfmKindJob job = { kind, spec, sealed, &place };
    if (place.is_set)
        ifm_runner_drop_sets(runner, place.worker);
    IfmMeasurement *measurement = ifm_runner_run(runner, &job, error);
    if (kind->in_worker->finish != NULL)
        kind->in_worker->finish(runner, spec, &place, measurement);
    return measurement;
}

/* --- measuring in this process ------------------------------------------------------------------------------------ */

static void report_progress(gsize n, double median_ns, double ci_ratio, void *user)
{
    const IfmRunnerOptions *options = user;
    if (options->progress != NULL)
        options->progress(&(IfmProgress){ .phase = "running", .n = n, .median_ns = median_ns, .ci_ratio = ci_ratio },
                          options->progress_user);
}

IfmMeasurement *ifm_runner_measure_subject(IfmRunner *runner, const IfmSubject *subject, const IfmProtocol *protocol,
                                           const IfmCase *sealed, GError **error)
{
    g_auto(IfmRunMonitor) monitor = { .runner = runner };
    g_autoptr(IfmMeasurement) measurement = ifm_measurement_new();
    g_autoptr(GError) failure = NULL;
    const IfmRunnerOptions *own = &runner->options;
    IfmMeasureOptions options = {
        .protocol = *protocol, .interrupted = own->interrupted, .progress = report_progress, .progress_user = (void *)own
    };
    ifm_record_set_text(&measurement->case_key, sealed->key);
    monitor.before = ifm_sensor_snapshot("/");
    if (!ifm_measure_subject(subject, &options, measurement, &failure) &&
        g_error_matches(failure, IFM_ERROR, IFM_ERROR_CANCELLED))
    {
        g_propagate_error(error, g_steal_pointer(&failure));
        return NULL;
    }
    ifm_run_monitor_add_environment(&monitor, measurement);
    return g_steal_pointer(&measurement);
}

static IfmMeasurement *measure_here(IfmRunner *runner, const IfmCaseKind *kind, void *spec, const IfmCase *sealed,
                                    GError **error)
{
    IfmSubject subject = { 0 };
    if (!kind->subject(spec, &subject, error))
        return NULL;
    IfmMeasurement *measurement =
        ifm_runner_measure_subject(runner, &subject, ifm_kind_protocol(kind, spec), sealed, error);
    if (kind->done != NULL)
        kind->done(&subject);
    return measurement;
}

static IfmMeasurement *measure_once(IfmRunner *runner, const IfmCaseKind *kind, const void *given, const IfmCase *sealed,
                                    GError **error)
{
    g_autofree void *spec = g_memdup2(given, kind->size);
    if (!complete(kind, spec, error))
        return NULL;
    if (kind->in_worker != NULL)
        return measure_in_worker(runner, kind, spec, sealed, error);
    if (ifm_runner_is_interrupted(runner))
    {
        ifm_error_set(error, IFM_ERROR_CANCELLED, "interrupted before it began");
        return NULL;
    }
    return kind->measure != NULL ? kind->measure(runner, spec, sealed, error)
                                 : measure_here(runner, kind, spec, sealed, error);
}

/* --- once more where it was disturbed ------------------------------------------------------------------------------- */

#define ATTEMPTS 3

static double disturbance_of(const IfmMeasurement *measurement)
{
    return ifm_sensor_disturbance(measurement->environment, FALSE, NULL);
}

static gboolean is_whole(const IfmMeasurement *measurement)
{
    return measurement != NULL && measurement->outcome == IFM_OUTCOME_OK &&
           !g_str_equal(measurement->stop_reason, ifm_stop_reason_name(IFM_STOP_INTERRUPTED));
}

/* Of a case without load, as long as there is patience. */
static gboolean is_to_repeat(const IfmRunner *runner, const IfmCaseKind *kind, const IfmCase *sealed,
                             const IfmMeasurement *measurement)
{
    return is_whole(measurement) && kind->in_worker != NULL && json_object_size(sealed->load) == 0 &&
           json_is_true(json_object_get(measurement->environment, "disturbed")) && ifm_idle_gate_is_patient(runner->gate) &&
           !ifm_runner_is_interrupted(runner);
}

IfmMeasurement *ifm_runner_measure(IfmRunner *runner, const IfmCaseKind *kind, const void *given, const IfmCase *sealed,
                                   GError **error)
{
    IfmMeasurement *best = measure_once(runner, kind, given, sealed, error);
    for (int attempt = 2; attempt <= ATTEMPTS && is_to_repeat(runner, kind, sealed, best); attempt++)
    {
        const gint64 began_us = g_get_monotonic_time();
        IfmMeasurement *again = measure_once(runner, kind, given, sealed, NULL);
        const gboolean is_better = is_whole(again) && !(disturbance_of(again) > disturbance_of(best));
        ifm_idle_gate_spend(runner->gate, (g_get_monotonic_time() - began_us) * 1000);
        ifm_measurement_free(is_better ? best : again);
        best = is_better ? again : best;
        json_object_set_new(best->environment, "attempts", json_integer(attempt));
    }
    if (is_whole(best) && json_is_false(json_object_get(best->environment, "disturbed")))
        ifm_idle_gate_renew(runner->gate);
    return best;
}
