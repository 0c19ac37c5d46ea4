#include <base/base.h>
#include <math.h>
#include <string.h>

#include <base/fields.h>
#include <sensor/sensor.h>
#include <store/store.h>

#include "kind-private.h"

/* The runner keeps a worker for each device, knows which devices are lost, and makes a record of what a worker measures. */

/* How long a runner waits for idle cores, and measures again what was disturbed, before it finds them idle once more. */
#define PATIENCE_MS 10000

/* --- the runner --------------------------------------------------------------------------------------------------- */

static gint64 patience_ns(void)
{
    const char *text = g_getenv("IFM_IDLE_WAIT");
    guint64 ms;
    return (gint64)(text != NULL && g_ascii_string_to_unsigned(text, 10, 0, G_MAXINT, &ms, NULL) ? ms : PATIENCE_MS) *
           IFM_NS_PER_MS;
}

IfmRunner *ifm_runner_new(const IfmRunnerOptions *options)
{
    IfmRunner *runner = g_new0(IfmRunner, 1);
    g_autoptr(IfmClock) clock = ifm_clock_new_real();
    runner->options = *options;
    runner->gate = ifm_idle_gate_new(NULL, clock, patience_ns());
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
    ifm_idle_gate_free(runner->gate);
    ifm_temporary_clear(&runner->temporary);
    g_free(runner);
}

const json_t *ifm_runner_machine(IfmRunner *runner)
{
    if (runner->machine == NULL)
        runner->machine = ifm_sensor_machine(NULL);
    return runner->machine;
}

gboolean ifm_runner_is_interrupted(const IfmRunner *runner)
{
    return runner->options.interrupted != NULL && g_atomic_int_get(runner->options.interrupted) != 0;
}

GArray *ifm_runner_cores(const GPtrArray *devices)
{
    GArray *cores = g_array_new(FALSE, FALSE, sizeof(int));
    for (guint i = 0; i < devices->len; i++)
    {
        const IfmDeviceSpec *device = devices->pdata[i];
        if (device->n_cores == 0)
        {
            g_array_set_size(cores, 0);
            return cores;
        }
        g_array_append_vals(cores, device->cores, (guint)device->n_cores);
    }
    return cores;
}

static gboolean are_simulated(const GPtrArray *devices)
{
    for (guint i = 0; i < devices->len; i++)
        if (!g_str_equal(((const IfmDeviceSpec *)devices->pdata[i])->engine, "simulated"))
            return FALSE;
    return devices->len > 0;
}

gint64 ifm_runner_wait_idle(IfmRunner *runner, const GPtrArray *devices)
{
    g_autoptr(GArray) cores = ifm_runner_cores(devices);
    return are_simulated(devices) ? 0
                                  : ifm_idle_gate_wait(runner->gate, (const int *)(const void *)cores->data, cores->len,
                                                       runner->options.interrupted);
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

/* Between the devices of a set in the key of its worker. */
#define BACKGROUND " + "

char *ifm_runner_set_key(const IfmDeviceSpec *const *devices, gsize n)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (gsize i = 0; i < n; i++)
        g_ptr_array_add(names, devices[i]->text);
    g_ptr_array_sort(names, ifm_compare_texts);
    g_ptr_array_add(names, NULL);
    return g_strjoinv(BACKGROUND, (char **)names->pdata);
}

/*
 * The executing threads pin themselves, wherever the process is. A pool next to them keeps to the process's cores where it
 * is OpenVINO's, so one that has such a pool comes first.
 */
static char *cores_of_set(const char *key)
{
    g_auto(GStrv) parts = g_strsplit(key, BACKGROUND, 0);
    char *found = NULL;
    for (char **part = parts; *part != NULL; part++)
    {
        g_autoptr(IfmDeviceSpec) device = ifm_device_spec_parse(*part, NULL);
        gboolean pool = device != NULL && device->n_cores > 1 && g_str_equal(device->engine, "openvino");
        if (device == NULL || device->n_cores == 0 || (found != NULL && !pool))
            continue;
        g_free(found);
        found = g_strdup(device->text);
        if (pool)
            break;
    }
    return found;
}

/* Of a link those of the receiver, else of the sender. */
char *ifm_runner_key_cores(const char *key)
{
    if (g_str_has_prefix(key, IFM_PLAN_WORKER))
        return cores_of_all(key + strlen(IFM_PLAN_WORKER));
    g_auto(GStrv) sides = g_strsplit(key, ">", 2);
    if (sides[1] == NULL)
        return cores_of_set(key);
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
    g_autofree char *device = ifm_runner_key_cores(key);
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
            *description = g_strdup(ifm_member_text(answer, "description"));
        return TRUE;
    }
    g_hash_table_remove(runner->workers, spec->text); /* nothing will be measured in it */
    if (g_error_matches(failure, IFM_ERROR, IFM_ERROR_LOST))
        ifm_runner_set_lost(runner, device, failure->message);
    return ifm_error_pass(error, g_steal_pointer(&failure));
}

void ifm_runner_set_lost(IfmRunner *runner, const char *device, const char *why)
{
    g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse(device, NULL);
    if (spec != NULL) /* what names no device can be none that is measured */
        g_hash_table_insert(runner->lost, device_of(spec), g_strdup(why));
}

/* --- what the engines are ----------------------------------------------------------------------------------------- */

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

/* --- measuring: what is heard on the way -------------------------------------------------------------------------- */

void ifm_run_monitor_clear(IfmRunMonitor *monitor)
{
    json_decref(monitor->draft);
    json_decref(monitor->before);
    json_decref(monitor->after);
    json_decref(monitor->lost);
    if (monitor->cores != NULL)
        g_array_unref(monitor->cores);
}

/* Once when it begins to run, again while it is at it (an idle processor's clock says little), and when it has run. */
static void take_snapshots(IfmRunMonitor *monitor, const char *phase, gsize n)
{
    gboolean runs = g_strcmp0(phase, "running") == 0;
    if (runs && (monitor->before == NULL || (n > 0 && !monitor->warm)))
    {
        json_decref(monitor->before);
        monitor->before = ifm_sensor_snapshot("/");
        monitor->warm = n > 0;
    }
    else if (!runs && monitor->before != NULL && monitor->after == NULL)
        monitor->after = ifm_sensor_snapshot("/");
}

static void extend_draft(IfmRunMonitor *monitor, const json_t *beat, const char *key, const char *field)
{
    json_t *news = json_object_get(beat, key), *series = json_object_get(monitor->draft, field);
    if (json_is_array(news) && json_is_array(series))
        json_array_extend(series, news);
}

static void on_message(const json_t *message, void *user)
{
    IfmRunMonitor *monitor = user;
    const IfmRunnerOptions *options = &monitor->runner->options;
    const char *say = ifm_member_text(message, "say");
    const char *phase = ifm_member_text(message, "phase");
    gsize n = (gsize)json_integer_value(json_object_get(message, "n"));
    if (phase != NULL)
        take_snapshots(monitor, phase, n);
    if (g_strcmp0(say, "draft") == 0)
    {
        json_decref(monitor->draft);
        monitor->draft = json_incref(json_object_get(message, "measurement"));
    }
    else if (g_strcmp0(say, "lost") == 0)
    {
        json_decref(monitor->lost);
        monitor->lost = json_incref(json_object_get(message, "devices"));
    }
    else if (g_strcmp0(say, "beat") == 0)
    {
        extend_draft(monitor, message, "warmup", "warmup_ns");
        extend_draft(monitor, message, "samples", "samples_ns");
    }
    const char *place = ifm_member_text(message, "place"); /* says more than a number of samples */
    if (place != NULL)
        n = 0;
    if (phase != NULL && options->progress != NULL)
        options->progress(&(IfmProgress){ .phase = place != NULL ? place : phase,
                                          .n = n,
                                          .median_ns = ifm_member_number(message, "median_ns"),
                                          .ci_ratio = ifm_member_number(message, "ci_ratio"),
                                          .left_ns = json_integer_value(json_object_get(message, "left_ns")),
                                          .at_most = json_is_true(json_object_get(message, "at_most")) },
                          options->progress_user);
}

IfmWorkerWatch ifm_run_monitor_watch(IfmRunMonitor *monitor)
{
    IfmWorkerWatch watch = ifm_runner_watch(monitor->runner);
    watch.said = on_message;
    watch.user = monitor;
    return watch;
}

/* --- measuring: what becomes of it -------------------------------------------------------------------------------- */

/* What a worker that was ended on interruption had reported until then. NULL if that was no sample. */
static IfmMeasurement *from_draft(const IfmRunMonitor *monitor, double level)
{
    if (monitor->draft == NULL)
        return NULL;
    g_autoptr(IfmMeasurement) measurement = ifm_measurement_from_json(monitor->draft, NULL);
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

/* A runtime whose version was not tested is a warning of what it measured. */
static void warn_of_runtime(json_t *environment, const json_t *runtime)
{
    json_t *untested = json_object_get(runtime, "untested");
    if (untested != NULL)
        json_array_append(json_object_get(environment, "warnings"), untested);
}

/* Whether something disturbed it, and what. */
static void mark(const IfmRunMonitor *monitor, json_t *environment)
{
    g_autofree char *why = NULL;
    const double level = ifm_sensor_disturbance(environment, monitor->loaded, &why);
    json_object_set_new(environment, "disturbed", isnan(level) ? json_null() : json_boolean(level > 1));
    json_object_set_new(environment, "disturbed_why", ifm_json_some_string(why));
}

void ifm_run_monitor_add_environment(IfmRunMonitor *monitor, IfmMeasurement *measurement)
{
    if (monitor->before == NULL)
        monitor->before = ifm_sensor_snapshot("/");
    if (monitor->after == NULL)
        monitor->after = ifm_sensor_snapshot("/");
    json_auto_t *seen =
        ifm_sensor_environment(ifm_runner_machine(monitor->runner), monitor->before, monitor->after,
                               monitor->cores != NULL ? (const int *)(const void *)monitor->cores->data : NULL,
                               monitor->cores != NULL ? monitor->cores->len : 0);
    json_auto_t *warnings = json_incref(json_object_get(seen, "warnings"));
    json_object_del(seen, "warnings");
    if (measurement->environment == NULL)
        measurement->environment = json_object();
    json_object_update(measurement->environment, seen);
    if (json_object_get(measurement->environment, "warnings") == NULL)
        json_object_set_new(measurement->environment, "warnings", json_array());
    gsize i;
    json_t *runtime;
    warn_of_runtime(measurement->environment, json_object_get(measurement->environment, "runtime"));
    json_array_foreach(json_object_get(measurement->environment, "runtimes"), i, runtime)
        warn_of_runtime(measurement->environment, runtime);
    /* What else the machine did meanwhile is nothing to a virtual clock. */
    if (g_strcmp0(ifm_member_text(measurement->environment, "clock_kind"), "virtual") == 0)
        return;
    json_array_extend(json_object_get(measurement->environment, "warnings"), warnings);
    mark(monitor, measurement->environment);
}

gboolean ifm_is_among(const json_t *names, const char *name)
{
    gsize i;
    json_t *known;
    json_array_foreach(names, i, known) if (g_strcmp0(json_string_value(known), name) == 0) return TRUE;
    return FALSE;
}

/* Whether a device is in the set of a worker's key. */
static gboolean has_device(gpointer key, gpointer worker, gpointer device)
{
    g_auto(GStrv) parts = g_strsplit(key, BACKGROUND, 0);
    return g_strv_contains((const char *const *)parts, device);
}

/* Its workers go too: a runtime that has lost its device mostly cannot find it again in the same process. */
static void remember_loss(const IfmRunMonitor *monitor, const IfmKindPlace *place, const char *why)
{
    IfmRunner *runner = monitor->runner;
    for (guint i = 0; i < place->devices->len; i++)
    {
        const IfmDeviceSpec *device = place->devices->pdata[i];
        if (place->devices->len > 1 && !ifm_is_among(monitor->lost, device->text))
            continue;
        g_hash_table_insert(runner->lost, device_of(device), g_strdup(why));
        g_hash_table_foreach_remove(runner->workers, has_device, device->text);
    }
    g_hash_table_remove(runner->workers, place->worker);
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
        return ifm_error_pass(error, g_steal_pointer(&failure));
    return ifm_error_set(error, IFM_ERROR_LOST, "lost earlier (%s) and still is: %s", why, failure->message);
}

/* That a case which was ended within its runs has not as many as its protocol promises. */
static void say_runs(const IfmRunMonitor *monitor, const IfmKindJob *job, GError **failure)
{
    const IfmProtocol *protocol = ifm_kind_protocol(job->kind, (void *)job->spec);
    const gsize n = json_array_size(json_object_get(monitor->draft, "samples_ns")),
                min = protocol == NULL || protocol->runs > 0 ? 0 : protocol->min_runs;
    if (n < min && monitor->before != NULL && g_error_matches(*failure, IFM_ERROR, IFM_ERROR_TIMEOUT))
        g_prefix_error(failure, "%zu of the least %zu runs: ", n, min);
}

/* A failure of the worker, or of finding a lost device again, is a record; NULL where it is none, but an error. */
static IfmMeasurement *run_job(IfmRunMonitor *monitor, const IfmKindJob *job, GError **error)
{
    g_autoptr(GError) failure = NULL;
    const GPtrArray *devices = job->place->devices;
    gboolean found = TRUE;
    for (guint i = 0; found && i < devices->len; i++)
        found = find_again(monitor->runner, devices->pdata[i], &failure);
    IfmMeasurement *measurement = found ? ifm_kind_ask(monitor, job, &failure) : NULL;
    say_runs(monitor, job, &failure);
    if (g_error_matches(failure, IFM_ERROR, IFM_ERROR_CANCELLED))
        measurement = from_draft(monitor, job->place->level);
    else if (failure != NULL && !g_error_matches(failure, IFM_ERROR, IFM_ERROR_UNAVAILABLE)) /* that is: no worker at all */
        measurement = ifm_measurement_failed(found ? IFM_OUTCOME_FAILED : IFM_OUTCOME_SKIPPED, failure);
    if (measurement == NULL)
        ifm_error_pass(error, g_steal_pointer(&failure));
    return measurement;
}

IfmMeasurement *ifm_runner_run(IfmRunner *runner, const IfmKindJob *job, GError **error)
{
    g_auto(IfmRunMonitor) monitor = { .runner = runner };
    if (ifm_runner_is_interrupted(runner))
    {
        ifm_error_set(error, IFM_ERROR_CANCELLED, "interrupted before it began");
        return NULL;
    }
    monitor.cores = ifm_runner_cores(job->place->devices);
    monitor.loaded = json_object_size(job->sealed->load) > 0;
    const gint64 waited_ns = monitor.loaded ? 0 : ifm_runner_wait_idle(runner, job->place->devices);
    gint64 started_unix_ms = g_get_real_time() / 1000;
    IfmMeasurement *measurement = run_job(&monitor, job, error);
    if (measurement == NULL)
        return NULL;
    measurement->started_unix_ms = started_unix_ms;
    ifm_record_set_text(&measurement->case_key, job->sealed->key);
    if (measurement->outcome == IFM_OUTCOME_FAILED && g_str_equal(measurement->error_code, "lost"))
        remember_loss(&monitor, job->place, measurement->reason);
    ifm_run_monitor_add_environment(&monitor, measurement);
    if (waited_ns > 0)
        json_object_set_new(measurement->environment, "idle_wait_ns", json_integer(waited_ns));
    if (monitor.lost != NULL)
        json_object_set(measurement->environment, "lost_devices", monitor.lost);
    return measurement;
}
