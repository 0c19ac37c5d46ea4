#include <math.h>
#include <string.h>

#include <inferometer/json.h>
#include <inferometer/sensor.h>

#include "runner-private.h"

struct IfmRunner
{
    IfmRunnerOptions options;
    IfmTemporary temporary;   /* references, and whatever a runtime drops */
    IfmReferences references; /* in it */
    GHashTable *workers;      /* canonical device -> IfmWorker* */
    GHashTable *engines;      /* name -> json_t*: engine, version, library */
    GHashTable *lost;         /* device without cores and streams -> char*, why */
    GHashTable *digests;      /* of files with inputs: what a file is told again by -> char* */
    json_t *machine;
};

/* --- the runner --------------------------------------------------------------------------------------------------- */

IfmRunner *ifm_runner_new(const IfmRunnerOptions *options)
{
    IfmRunner *runner = g_new0(IfmRunner, 1);
    runner->options = *options;
    runner->workers = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)ifm_worker_free);
    runner->engines = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)json_decref);
    runner->lost = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    ifm_references_init(&runner->references, &runner->temporary);
    runner->digests = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    return runner;
}

void ifm_runner_free(IfmRunner *runner)
{
    if (runner == NULL)
        return;
    g_hash_table_unref(runner->workers); /* ends them */
    g_hash_table_unref(runner->engines);
    g_hash_table_unref(runner->lost);
    g_hash_table_unref(runner->digests);
    ifm_references_clear(&runner->references);
    json_decref(runner->machine);
    ifm_temporary_clear(&runner->temporary);
    g_free(runner);
}

const json_t *ifm_runner_machine(IfmRunner *runner)
{
    if (runner->machine == NULL)
        runner->machine = ifm_sensor_machine("/");
    return runner->machine;
}

const IfmRunnerOptions *ifm_runner_options(const IfmRunner *runner)
{
    return &runner->options;
}

gboolean ifm_runner_is_interrupted(const IfmRunner *runner)
{
    return runner->options.interrupted != NULL && g_atomic_int_get(runner->options.interrupted) != 0;
}

static gint compare_cores(gconstpointer a, gconstpointer b)
{
    return *(const int *)a - *(const int *)b;
}

/* A device with the cores of all of them; NULL where one of them keeps to none. @devices: "A+B" */
static char *cores_of_all(const char *devices)
{
    g_auto(GStrv) names = g_strsplit(devices, "+", -1);
    g_autoptr(GArray) cores = g_array_new(FALSE, FALSE, sizeof(int));
    g_autoptr(IfmDeviceSpec) device = NULL;
    for (gsize i = 0; names[i] != NULL; i++)
    {
        g_clear_pointer(&device, ifm_device_spec_free);
        device = ifm_device_spec_parse(names[i], NULL);
        if (device == NULL || device->n_cores == 0)
            return NULL;
        g_array_append_vals(cores, device->cores, (guint)device->n_cores);
    }
    g_array_sort(cores, compare_cores);
    guint n = 0;
    for (guint i = 0; i < cores->len; i++)
        if (n == 0 || g_array_index(cores, int, i) != g_array_index(cores, int, n - 1))
            g_array_index(cores, int, n++) = g_array_index(cores, int, i);
    g_autofree char *list = ifm_cores_to_string((const int *)(const void *)cores->data, n);
    return device != NULL ? g_strdup_printf("%s:%s@%s", device->engine, device->unit, list) : NULL;
}

/* The device whose cores a worker of that key keeps to; of a link the receiver, else the sender. NULL: it keeps to none. */
static char *cores_of_key(const char *key)
{
    if (g_str_has_prefix(key, IFM_PLAN_WORKER))
        return cores_of_all(key + strlen(IFM_PLAN_WORKER));
    g_auto(GStrv) sides = g_strsplit(key, ">", 2);
    if (sides[1] == NULL)
        return ifm_runner_set_cores(key);
    for (guint i = g_strv_length(sides); i > 0; i--)
    {
        g_autoptr(IfmDeviceSpec) device = ifm_device_spec_parse(sides[i - 1], NULL);
        if (device != NULL && device->n_cores > 0)
            return g_strdup(device->text);
    }
    return NULL;
}

static IfmWorker *worker_for(IfmRunner *runner, const char *key, GError **error)
{
    IfmWorker *worker = g_hash_table_lookup(runner->workers, key);
    if (worker != NULL && ifm_worker_is_alive(worker))
        return worker;
    g_hash_table_remove(runner->workers, key); /* ended while idle, by whomever */
    if (!ifm_temporary_make(&runner->temporary, error))
        return NULL;
    g_autofree char *device = cores_of_key(key);
    worker = ifm_worker_start(runner->temporary.path, device, NULL, error);
    if (worker != NULL)
        g_hash_table_insert(runner->workers, g_strdup(key), worker);
    return worker;
}

static gboolean is_other_set(gpointer key, gpointer worker, gpointer kept)
{
    return (strchr(key, '>') != NULL || g_str_has_prefix(key, IFM_PLAN_WORKER)) && !g_str_equal(key, kept);
}

void ifm_runner_drop_sets(IfmRunner *runner, const char *kept)
{
    g_hash_table_foreach_remove(runner->workers, is_other_set, (gpointer)kept);
}

void ifm_runner_drop_worker(IfmRunner *runner, const char *key)
{
    g_hash_table_remove(runner->workers, key);
}

const char *ifm_runner_folder(IfmRunner *runner, GError **error)
{
    return ifm_temporary_make(&runner->temporary, error) ? runner->temporary.path : NULL;
}

IfmReferences *ifm_runner_references(IfmRunner *runner)
{
    return &runner->references;
}

json_t *ifm_runner_ask(IfmRunner *runner, const char *key, json_t *request, const IfmWorkerWatch *watch, GError **error)
{
    json_auto_t *owned = request;
    IfmWorker *worker = worker_for(runner, key, error);
    if (worker == NULL)
        return NULL;
    gboolean alive;
    json_t *answer = ifm_worker_ask(worker, owned, watch, &alive, error);
    if (!alive)
        g_hash_table_remove(runner->workers, key);
    return answer;
}

IfmWorkerWatch ifm_runner_watch(IfmRunner *runner)
{
    return (IfmWorkerWatch){ .limits = &runner->options.limits, .interrupted = runner->options.interrupted };
}

/* "ENGINE:UNIT[:INDEX]": what is lost when a device is, whatever cores and streams it was asked for with. */
static char *device_of(const IfmDeviceSpec *spec)
{
    return g_strdup_printf("%s:%s:%d", spec->engine, spec->unit, MAX(spec->index, 0));
}

json_t *ifm_runner_devices(IfmRunner *runner, const char *engine, GError **error)
{
    g_autofree char *key = g_strdup_printf("devices of %s", engine);
    IfmWorkerWatch watch = ifm_runner_watch(runner);
    json_t *answer = ifm_runner_ask(runner, key, json_pack("{s:s,s:s}", "do", "devices", "engine", engine), &watch, error);
    g_hash_table_remove(runner->workers, key); /* asked once: no reason to keep a runtime loaded for it */
    return answer;
}

gboolean ifm_runner_find_device(IfmRunner *runner, const char *device, char **description, GError **error)
{
    g_autoptr(GError) failure = NULL;
    IfmWorkerWatch watch = ifm_runner_watch(runner);
    g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse(device, error);
    if (spec == NULL)
        return FALSE;
    json_auto_t *answer =
        ifm_runner_ask(runner, spec->text, json_pack("{s:s,s:s}", "do", "find", "device", spec->text), &watch, &failure);
    g_autofree char *name = device_of(spec);
    if (answer != NULL)
    {
        g_hash_table_remove(runner->lost, name);
        if (description != NULL)
            *description = g_strdup(json_string_value(json_object_get(answer, "description")));
        return TRUE;
    }
    g_hash_table_remove(runner->workers, spec->text); /* nothing will be measured in it */
    if (g_error_matches(failure, IFM_ERROR, IFM_ERROR_LOST))
        ifm_runner_set_lost(runner, device, failure->message);
    g_propagate_error(error, g_steal_pointer(&failure));
    return FALSE;
}

void ifm_runner_set_lost(IfmRunner *runner, const char *device, const char *why)
{
    g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse(device, NULL);
    if (spec != NULL) /* what names no device can be none that is measured */
        g_hash_table_insert(runner->lost, device_of(spec), g_strdup(why));
}

/* --- the case record ---------------------------------------------------------------------------------------------- */

const json_t *ifm_runner_engine_facts(IfmRunner *runner, const char *key, const IfmDeviceSpec *spec, GError **error)
{
    json_t *facts = g_hash_table_lookup(runner->engines, spec->engine);
    if (facts != NULL)
        return facts;
    IfmWorkerWatch watch = ifm_runner_watch(runner);
    facts = ifm_runner_ask(runner, key, json_pack("{s:s,s:s}", "do", "engine", "engine", spec->engine), &watch, error);
    if (facts != NULL)
        g_hash_table_insert(runner->engines, g_strdup(spec->engine), facts);
    return facts;
}

static gint compare_words(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static json_t *vendor_to_json(const char *const *vendor)
{
    g_autoptr(GPtrArray) sorted = g_ptr_array_new();
    for (gsize i = 0; vendor != NULL && vendor[i] != NULL; i++)
        g_ptr_array_add(sorted, (gpointer)vendor[i]);
    g_ptr_array_sort(sorted, compare_words);
    json_t *json = json_array();
    for (guint i = 0; i < sorted->len; i++)
        json_array_append_new(json, ifm_json_string(sorted->pdata[i]));
    return json;
}

/* @inputs: the digest of what it is fed from a file, or NULL */
static json_t *options_to_json(const IfmModelCase *model_case, const char *inputs)
{
    IfmDtype dtype = model_case->dtype != IFM_DTYPE_UNDEFINED ? model_case->dtype : IFM_DTYPE_F32;
    json_t *json = json_pack("{s:s,s:i,s:I,s:o,s:o}", "dtype", ifm_dtype_name(dtype), "threads", model_case->threads,
                             "seed", (json_int_t)model_case->seed, "protocol", ifm_protocol_to_json(&model_case->protocol),
                             "vendor", vendor_to_json(model_case->vendor));
    if (model_case->native_async)
        json_object_set_new(json, "native_async", json_true());
    if (model_case->free_shapes)
        json_object_set_new(json, "free_shapes", json_true());
    if (inputs != NULL)
        json_object_set_new(json, "inputs", json_string(inputs));
    /* What the record then holds, or is sure of: one measured without is no answer to who asks for it. */
    json_object_set_new(json, "verify", json_boolean(model_case->verify));
    json_object_set_new(json, "nodes", json_boolean(model_case->profile));
    if (model_case->profile && model_case->profile_few)
        json_object_set_new(json, "nodes_few", json_true());
    if (model_case->verify && model_case->as_wholes)
        json_object_set_new(json, "as_wholes", json_true());
    if (model_case->verify && (model_case->rtol != 0 || model_case->atol != 0))
    {
        json_object_set_new(json, "rtol", ifm_json_real(model_case->rtol));
        json_object_set_new(json, "atol", ifm_json_real(model_case->atol));
    }
    return json;
}

static json_t *case_sizes(const IfmModelCase *model_case)
{
    json_t *json = json_object();
    const IfmDimBinding *sizes = model_case->sizes != NULL ? model_case->sizes : model_case->bindings;
    gsize n = model_case->sizes != NULL ? model_case->n_sizes : model_case->n_bindings;
    for (gsize i = 0; i < n; i++)
        json_object_set_new(json, sizes[i].name, json_integer(sizes[i].value));
    return json;
}

const char *ifm_runner_inputs_of(const IfmCase *sealed)
{
    return json_string_value(json_object_get(sealed->options, "inputs"));
}

static void fill_case(IfmCase *record, const IfmModelCase *model_case, const IfmDeviceSpec *spec, const char *inputs,
                      const json_t *facts, const json_t *machine)
{
    g_autofree char *path = g_canonicalize_filename(model_case->model_path, NULL);
    ifm_record_set_text(&record->subject_kind, model_case->subject_kind != NULL ? model_case->subject_kind : "model");
    ifm_record_set_text(&record->subject_name, model_case->model_name);
    ifm_record_set_text(&record->model_path, path);
    ifm_record_set_text(&record->device, spec->text);
    ifm_record_set_text(&record->alias, model_case->alias);
    ifm_record_set_json(&record->sizes, case_sizes(model_case));
    ifm_record_set_json(&record->options, options_to_json(model_case, inputs));
    json_t *id = json_object_get(machine, "id");
    ifm_record_set_json(&record->surroundings,
                        json_pack("{s:o,s:s,s:s}", "machine", id != NULL ? json_incref(id) : json_null(), "engine",
                                  json_string_value(json_object_get(facts, "engine")), "engine_version",
                                  json_string_value(json_object_get(facts, "version"))));
}

IfmCase *ifm_runner_seal(IfmRunner *runner, const IfmModelCase *model_case, const json_t *facts, GError **error)
{
    g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse(model_case->device, error);
    g_autoptr(IfmModel) model = spec != NULL ? ifm_model_open(model_case->model_path, error) : NULL;
    if (model == NULL || !ifm_model_check_bindings(model, model_case->bindings, model_case->n_bindings, error))
        return NULL;
    const char *digest = ifm_model_digest(model, error);
    g_autofree char *inputs = NULL;
    if (digest != NULL && model_case->inputs_path != NULL)
    {
        inputs = ifm_case_inputs_digest(model, model_case, runner->digests, error);
        if (inputs == NULL)
            return NULL;
    }
    if (facts == NULL && digest != NULL)
        facts = ifm_runner_engine_facts(runner, spec->text, spec, error);
    if (facts == NULL || digest == NULL)
        return NULL;
    g_autoptr(IfmCase) record = ifm_case_new();
    fill_case(record, model_case, spec, inputs, facts, ifm_runner_machine(runner));
    ifm_record_set_text(&record->subject_digest, digest);
    if (model_case->model_name == NULL)
        ifm_record_set_text(&record->subject_name, ifm_model_name(model));
    if (!ifm_runner_seal_load(runner, model_case, record, error))
        return NULL;
    ifm_case_seal(record);
    return g_steal_pointer(&record);
}

IfmCase *ifm_runner_case(IfmRunner *runner, const IfmModelCase *model_case, GError **error)
{
    return ifm_protocol_check(&model_case->protocol, error) ? ifm_runner_seal(runner, model_case, NULL, error) : NULL;
}

/* --- measuring: what is heard on the way -------------------------------------------------------------------------- */

void ifm_hearing_clear(IfmHearing *hearing)
{
    json_decref(hearing->draft);
    json_decref(hearing->before);
    json_decref(hearing->after);
    json_decref(hearing->lost);
}
/* Once when it begins to run, again while it is at it (an idle processor's clock says little), and when it has run. */
static void take_snapshots(IfmHearing *hearing, const char *phase, gsize n)
{
    gboolean runs = g_strcmp0(phase, "running") == 0;
    if (runs && (hearing->before == NULL || (n > 0 && !hearing->warm)))
    {
        json_decref(hearing->before);
        hearing->before = ifm_sensor_snapshot("/");
        hearing->warm = n > 0;
    }
    else if (!runs && hearing->before != NULL && hearing->after == NULL)
        hearing->after = ifm_sensor_snapshot("/");
}

static void extend_draft(IfmHearing *hearing, const json_t *beat, const char *key, const char *field)
{
    json_t *news = json_object_get(beat, key), *series = json_object_get(hearing->draft, field);
    if (json_is_array(news) && json_is_array(series))
        json_array_extend(series, news);
}

static void hear(const json_t *message, void *user)
{
    IfmHearing *hearing = user;
    const IfmRunnerOptions *options = &hearing->runner->options;
    const char *say = json_string_value(json_object_get(message, "say"));
    const char *phase = json_string_value(json_object_get(message, "phase"));
    gsize n = (gsize)json_integer_value(json_object_get(message, "n"));
    if (phase != NULL)
        take_snapshots(hearing, phase, n);
    if (g_strcmp0(say, "draft") == 0)
    {
        json_decref(hearing->draft);
        hearing->draft = json_incref(json_object_get(message, "measurement"));
    }
    else if (g_strcmp0(say, "lost") == 0)
    {
        json_decref(hearing->lost);
        hearing->lost = json_incref(json_object_get(message, "devices"));
    }
    else if (g_strcmp0(say, "beat") == 0)
    {
        extend_draft(hearing, message, "warmup", "warmup_ns");
        extend_draft(hearing, message, "samples", "samples_ns");
    }
    if (phase != NULL && options->progress != NULL)
        options->progress(phase, n, ifm_member_number(message, "median_ns"), ifm_member_number(message, "ci_ratio"),
                          options->progress_user);
}

IfmWorkerWatch ifm_hearing_watch(IfmHearing *hearing)
{
    IfmWorkerWatch watch = ifm_runner_watch(hearing->runner);
    watch.said = hear;
    watch.user = hearing;
    return watch;
}

/* --- measuring: what becomes of it -------------------------------------------------------------------------------- */

static IfmMeasurement *failed_measurement(IfmOutcome outcome, const GError *failure)
{
    IfmMeasurement *measurement = ifm_measurement_new();
    ifm_measurement_fail(measurement, outcome, failure);
    return measurement;
}

/* What a worker that had to be ended on interruption had told until then. NULL where that was no sample. */
static IfmMeasurement *from_draft(const IfmHearing *hearing, double level)
{
    if (hearing->draft == NULL)
        return NULL;
    g_autoptr(IfmMeasurement) measurement = ifm_measurement_from_json(hearing->draft, NULL);
    if (measurement == NULL || measurement->samples_ns->len == 0)
        return NULL;
    if (*measurement->stop_reason == '\0')
    {
        ifm_record_set_text(&measurement->stop_reason, ifm_stop_reason_name(IFM_STOP_INTERRUPTED));
        ifm_record_set_json(
            &measurement->verification,
            json_pack("{s:s,s:s}", "status", "interrupted", "why",
                      "the worker was ended within a run: its outputs were checked until about a second before"));
    }
    ifm_measurement_summarise(measurement, level);
    return g_steal_pointer(&measurement);
}

/* Joins what the machine tells with what the worker knew of the runtime. */
void ifm_hearing_add_surroundings(IfmHearing *hearing, IfmMeasurement *measurement)
{
    if (hearing->before == NULL)
        hearing->before = ifm_sensor_snapshot("/");
    if (hearing->after == NULL)
        hearing->after = ifm_sensor_snapshot("/");
    json_auto_t *seen = ifm_sensor_surroundings(ifm_runner_machine(hearing->runner), hearing->before, hearing->after);
    json_auto_t *warnings = json_incref(json_object_get(seen, "warnings"));
    json_object_del(seen, "warnings");
    if (measurement->surroundings == NULL)
        measurement->surroundings = json_object();
    json_object_update(measurement->surroundings, seen);
    if (json_object_get(measurement->surroundings, "warnings") == NULL)
        json_object_set_new(measurement->surroundings, "warnings", json_array());
    /* What else the machine did meanwhile is nothing to a virtual clock. */
    if (g_strcmp0(json_string_value(json_object_get(measurement->surroundings, "clock_kind")), "virtual") != 0)
        json_array_extend(json_object_get(measurement->surroundings, "warnings"), warnings);
}

static IfmMeasurement *take_measurement(const json_t *answer, GError **error)
{
    return ifm_measurement_from_json(json_object_get(answer, "measurement"), error);
}

typedef struct
{
    const IfmModelCase *model_case;
    const IfmCase *sealed;
    const char *worker;
} ModelJob;

/* Both halves: compile and attest, then, with the reference at hand, run. NULL with the error, the worker's or its end's.
 */
static IfmMeasurement *measure_model(IfmHearing *hearing, void *user, GError **error)
{
    const ModelJob *job = user;
    const IfmCase *sealed = job->sealed;
    IfmRunner *runner = hearing->runner;
    IfmWorkerWatch watch = ifm_hearing_watch(hearing);
    gint64 began_us = g_get_monotonic_time();
    json_auto_t *prepared = ifm_runner_ask(
        runner, job->worker,
        json_pack("{s:s,s:o,s:s,s:I,s:s*,s:O*}", "do", "prepare", "case", ifm_model_case_to_json(job->model_case), "digest",
                  sealed->subject_digest, "memory_bytes", (json_int_t)watch.limits->memory_bytes, "inputs",
                  ifm_runner_inputs_of(sealed), "load", sealed->load),
        &watch, error);
    if (prepared == NULL)
        return NULL;
    if (!json_is_true(json_object_get(prepared, "ready")))
        return take_measurement(prepared, error);
    watch.spent_ns = (g_get_monotonic_time() - began_us) * 1000; /* the reference does not count */
    json_t *request = json_pack("{s:s}", "do", "measure");
    if (!ifm_references_add(&runner->references, job->model_case, sealed,
                            json_is_true(json_object_get(prepared, "true_outputs")), hearing, request, error))
    {
        json_decref(request);
        return NULL;
    }
    json_auto_t *answer = ifm_runner_ask(runner, job->worker, request, &watch, error);
    return answer != NULL ? take_measurement(answer, error) : NULL;
}

static gboolean is_among(const json_t *names, const char *name)
{
    gsize i;
    json_t *known;
    json_array_foreach(names, i, known) if (g_strcmp0(json_string_value(known), name) == 0) return TRUE;
    return FALSE;
}

static gboolean has_device(gpointer key, gpointer worker, gpointer device)
{
    return ifm_runner_key_names(key, device);
}

/* Its workers go too: a runtime that has lost its device mostly cannot find it again in the same process. */
static void remember_loss(const IfmHearing *hearing, const IfmRunnerJob *job, const char *why)
{
    IfmRunner *runner = hearing->runner;
    for (gsize i = 0; i < job->n_devices; i++)
    {
        if (job->n_devices > 1 && !is_among(hearing->lost, job->devices[i]->text))
            continue;
        g_hash_table_insert(runner->lost, device_of(job->devices[i]), g_strdup(why));
        g_hash_table_foreach_remove(runner->workers, has_device, job->devices[i]->text);
    }
    g_hash_table_remove(runner->workers, job->worker);
}

/* A device lost earlier is tried again only once it answers a probe. Returns: whether it may be measured. */
static gboolean find_again(IfmRunner *runner, const IfmDeviceSpec *spec, GError **error)
{
    g_autofree char *device = device_of(spec);
    const char *why = g_hash_table_lookup(runner->lost, device);
    if (why == NULL)
        return TRUE;
    g_autoptr(GError) failure = NULL;
    IfmWorkerWatch watch = ifm_runner_watch(runner);
    json_auto_t *answer =
        ifm_runner_ask(runner, spec->text, json_pack("{s:s,s:s}", "do", "probe", "device", spec->text), &watch, &failure);
    if (answer != NULL)
    {
        g_hash_table_remove(runner->lost, device);
        return TRUE;
    }
    if (g_error_matches(failure, IFM_ERROR, IFM_ERROR_CANCELLED))
        g_propagate_error(error, g_steal_pointer(&failure));
    else
        g_set_error(error, IFM_ERROR, IFM_ERROR_LOST, "lost earlier (%s) and still is: %s", why, failure->message);
    return FALSE;
}

/* What a failure of the worker or of finding a lost device again is as a record; NULL where it is none, but an error. */
static IfmMeasurement *record_failure(const IfmHearing *hearing, double level, IfmOutcome outcome,
                                      GError *failure /* (transfer full) */, GError **error)
{
    IfmMeasurement *measurement = NULL;
    if (g_error_matches(failure, IFM_ERROR, IFM_ERROR_CANCELLED))
        measurement = from_draft(hearing, level);
    else if (!g_error_matches(failure, IFM_ERROR, IFM_ERROR_UNAVAILABLE)) /* that is: no worker at all */
        measurement = failed_measurement(outcome, failure);
    if (measurement == NULL)
        g_propagate_error(error, failure);
    else
        g_error_free(failure);
    return measurement;
}

static IfmMeasurement *run_job(IfmHearing *hearing, const IfmRunnerJob *job, GError **error)
{
    GError *failure = NULL;
    for (gsize i = 0; i < job->n_devices; i++)
        if (!find_again(hearing->runner, job->devices[i], &failure))
            return record_failure(hearing, job->level, IFM_OUTCOME_SKIPPED, failure, error);
    IfmMeasurement *measurement = job->measure(hearing, job->user, &failure);
    return measurement != NULL ? measurement : record_failure(hearing, job->level, IFM_OUTCOME_FAILED, failure, error);
}

IfmMeasurement *ifm_runner_run(IfmRunner *runner, const IfmRunnerJob *job, const IfmCase *sealed, GError **error)
{
    g_auto(IfmHearing) hearing = { .runner = runner };
    if (ifm_runner_is_interrupted(runner))
    {
        g_set_error_literal(error, IFM_ERROR, IFM_ERROR_CANCELLED, "interrupted before it began");
        return NULL;
    }
    gint64 started_unix_ms = g_get_real_time() / 1000;
    IfmMeasurement *measurement = run_job(&hearing, job, error);
    if (measurement == NULL)
        return NULL;
    measurement->started_unix_ms = started_unix_ms;
    ifm_record_set_text(&measurement->case_key, sealed->key);
    if (measurement->outcome == IFM_OUTCOME_FAILED && g_str_equal(measurement->error_code, "lost"))
        remember_loss(&hearing, job, measurement->reason);
    ifm_hearing_add_surroundings(&hearing, measurement);
    if (hearing.lost != NULL)
        json_object_set(measurement->surroundings, "lost_devices", hearing.lost);
    return measurement;
}

/* Workers have another folder of their own. NULL stays NULL. */
static char *absolute(const char *path)
{
    return path != NULL ? g_canonicalize_filename(path, NULL) : NULL;
}

IfmModelCase ifm_runner_whole_case(const IfmModelCase *model_case, const IfmCase *sealed, const char *inputs_path,
                                   const char *cache_dir)
{
    IfmModelCase whole = *model_case;
    whole.inputs_path = inputs_path;
    whole.cache_dir = cache_dir;
    whole.model_path = sealed->model_path; /* absolute */
    whole.device = sealed->device;         /* canonical */
    whole.model_name = sealed->subject_name;
    if (whole.dtype == IFM_DTYPE_UNDEFINED)
        whole.dtype = IFM_DTYPE_F32;
    return whole;
}

IfmMeasurement *ifm_runner_measure(IfmRunner *runner, const IfmModelCase *model_case, const IfmCase *sealed, GError **error)
{
    g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse(sealed->device, error);
    if (spec == NULL)
        return NULL;
    g_autofree char *inputs_path = absolute(model_case->inputs_path);
    g_autofree char *cache_dir = absolute(model_case->cache_dir);
    IfmModelCase whole = ifm_runner_whole_case(model_case, sealed, inputs_path, cache_dir);
    g_auto(IfmLoadText) load = { 0 };
    if (!ifm_load_text_init(&load, model_case, error))
        return NULL;
    whole.load = load.devices;
    g_autofree const IfmDeviceSpec **devices = g_new0(const IfmDeviceSpec *, load.n + 1);
    devices[0] = spec;
    for (gsize i = 0; i < load.n; i++)
        devices[i + 1] = load.specs[i];
    g_autofree char *worker = ifm_runner_set_key(devices, load.n + 1);
    ModelJob model = { &whole, sealed, worker };
    IfmRunnerJob job = { .worker = worker,
                         .devices = devices,
                         .n_devices = load.n + 1,
                         .level = model_case->protocol.level,
                         .measure = measure_model,
                         .user = &model };
    return ifm_runner_run(runner, &job, sealed, error);
}
