/* A stressor around a case, and what the machine did before and meanwhile. */
#include <string.h>

#include <base/base.h>
#include <base/fields.h>
#include <sensor/sensor.h>
#include <stress/stress.h>

#include "../worker-private.h"

/* What a stressor is given to be at work evenly. */
#define SETTLE_US 20000

/* WorkerStress: kept from case to case, asleep in between: starting one takes longer than measuring a small kernel. */
struct WorkerStress
{
    IfmStressor *stressor; /* NULL: none was started yet */
    IfmStressKind kind;
    IfmStressPlace place;
    IfmMetricWindow *during; /* of the case in hand */
    json_t *before;          /* of the case in hand */
    IfmStressReading reading_before;
    gboolean is_stressed;
    gint64 until_us;    /* of the case in hand, monotonic: until then it goes on; 0: no longer than it is timed */
    gint64 interval_ns; /* between scrapes of the slowest target that is asked for; 0: the server was not asked yet */
    char *phase;        /* (nullable) that a server is waited for, and how long */
};

/* --- Prometheus --------------------------------------------------------------------------------------------------------
 */

#define N_SCRAPES 3   /* that a window holds */
#define MIN_SCRAPES 2 /* where these take too long */
#define STEP_NS (500 * G_GINT64_CONSTANT(1000000))
#define LOOK_BACK_NS (60 * G_GINT64_CONSTANT(1000000000))

/* @query: "NAME=PROMQL"    @name: (out) (transfer full) */
static gboolean ask(const IfmModelCase *model_case, const char *query, gint64 start_ns, gint64 end_ns, char **name,
                    IfmPrometheusWindow *window, GError **error)
{
    const char *equals = strchr(query, '=');
    *name = equals != NULL ? g_strndup(query, (gsize)(equals - query)) : g_strdup(query);
    if (ifm_prometheus_window(model_case->prometheus, equals != NULL ? equals + 1 : query, start_ns, end_ns, STEP_NS,
                              window, error))
        return TRUE;
    g_prefix_error(error, "metric %s: ", *name);
    return FALSE;
}

/* How far apart scrapes are, of the slowest target of all queries. */
static gboolean find_interval(WorkerStress *self, const IfmModelCase *model_case, GError **error)
{
    const gint64 now_ns = g_get_real_time() * 1000;
    gint64 interval_ns = 0;
    for (const char *const *query = model_case->queries; *query != NULL; query++)
    {
        g_autofree char *name = NULL;
        IfmPrometheusWindow window;
        if (!ask(model_case, *query, now_ns - LOOK_BACK_NS, now_ns, &name, &window, error))
            return FALSE;
        if (window.interval_ns <= 0)
            return ifm_error_set(error, IFM_ERROR_UNAVAILABLE,
                                 "prometheus: metric %s: how often the server scrapes it is not known yet", name);
        interval_ns = MAX(interval_ns, window.interval_ns);
    }
    self->interval_ns = interval_ns;
    return TRUE;
}

/* How long a window is to be. 0: as short as it comes, as there is no server. */
static gboolean find_length(WorkerStress *self, const IfmModelCase *model_case, gint64 *length_ns, GError **error)
{
    *length_ns = 0;
    if (model_case->prometheus == NULL || model_case->queries == NULL || model_case->queries[0] == NULL)
        return TRUE;
    if (self->interval_ns == 0 && !find_interval(self, model_case, error))
        return FALSE;
    const double interval_s = (double)self->interval_ns / 1e9, wait_s = (double)model_case->prometheus_wait_ns / 1e9;
    const gint64 most_ns = model_case->prometheus_wait_ns > 0 ? model_case->prometheus_wait_ns : G_MAXINT64;
    if (most_ns < MIN_SCRAPES * self->interval_ns)
        return ifm_error_set(error, IFM_ERROR_UNAVAILABLE,
                             "prometheus: scrapes are %.4g s apart: a window of two is longer than the wait of %.4g s",
                             interval_s, wait_s);
    *length_ns = MIN(N_SCRAPES * self->interval_ns, most_ns);
    g_free(self->phase);
    self->phase = g_strdup_printf("waiting %.4g s for scrapes of the Prometheus server, %.4g s apart",
                                  (double)*length_ns / 1e9, interval_s);
    return TRUE;
}

/* Adds what the server has of a window to its values. */
static gboolean add_queries(const IfmModelCase *model_case, const json_t *window, GError **error)
{
    const gint64 start_ns = json_integer_value(json_object_get(window, "start_unix_ns")),
                 end_ns = json_integer_value(json_object_get(window, "end_unix_ns"));
    for (const char *const *query = model_case->prometheus != NULL ? model_case->queries : NULL;
         query != NULL && *query != NULL; query++)
    {
        g_autofree char *name = NULL;
        IfmPrometheusWindow found;
        if (!ask(model_case, *query, start_ns, end_ns, &name, &found, error))
            return FALSE;
        json_object_set_new(json_object_get(window, "values"), name, ifm_json_real(found.mean));
    }
    return TRUE;
}

/* Until the window holds several scrapes. */
static gboolean go_on(Worker *worker, WorkerStress *self, GError **error)
{
    if (self->until_us == 0 || worker->subject == NULL)
        return TRUE;
    const IfmSubject subject = ifm_model_subject_slots(worker->subject);
    IfmRepeat runs = { subject, worker->real_clock, .until_ns = 1000 * self->until_us, .stop = &worker->interrupted };
    worker_enter_wait(worker, self->phase, 1000 * (self->until_us - g_get_monotonic_time()));
    ifm_subject_invoke(&subject, ifm_repeat, &runs);
    self->until_us = 0;
    return ifm_error_pass(error, runs.error);
}

/* --- the stressor ------------------------------------------------------------------------------------------------------
 */

static gboolean wake(WorkerStress *self, const IfmModelCase *model_case, GError **error)
{
    IfmStressOptions options = { .intensity = model_case->stress_level,
                                 .cores = model_case->stress_cores,
                                 .device = model_case->stress_device };
    if (!ifm_stress_parse(model_case->stress_kind, &options.kind, error))
        return FALSE;
    if (self->stressor != NULL && (self->kind != options.kind || g_strcmp0(self->place.cores, options.cores) != 0 ||
                                   g_strcmp0(self->place.device, options.device) != 0))
        g_clear_pointer(&self->stressor, ifm_stressor_free);
    if (self->stressor == NULL)
    {
        ifm_stress_place_clear(&self->place);
        self->kind = options.kind;
        self->place = (IfmStressPlace){ g_strdup(options.cores), g_strdup(options.device) };
        self->stressor = ifm_stressor_start(&options, error);
    }
    else
        ifm_stressor_set(self->stressor, options.intensity);
    if (self->stressor == NULL)
        return FALSE;
    g_usleep(SETTLE_US);
    ifm_stressor_set(self->stressor, options.intensity); /* what is read from here on begins now */
    return TRUE;
}

gboolean worker_stress_start(Worker *worker, GError **error)
{
    const IfmModelCase *model_case = worker_model_case(worker);
    if (model_case->stress_kind == NULL && model_case->observe_ns == 0)
        return TRUE;
    WorkerStress *self = worker->stress = worker->stress != NULL ? worker->stress : g_new0(WorkerStress, 1);
    self->is_stressed = model_case->stress_kind != NULL;
    if (self->is_stressed)
    {
        worker_enter_wait(worker, "starting the background load",
                          model_case->stress_device != NULL ? IFM_STRESS_GPU_START_NS : 0);
        if (!wake(self, model_case, error))
            return FALSE;
    }
    gint64 length_ns = 0;
    if (model_case->observe_ns == 0)
        return TRUE;
    if (!find_length(self, model_case, &length_ns, error))
        return FALSE;
    const gint64 wait_ns = MAX(model_case->observe_ns, length_ns);
    worker_enter_wait(worker, length_ns > 0 ? self->phase : "observing the machine", wait_ns);
    json_decref(self->before);
    self->before = ifm_metrics_look(NULL, wait_ns);
    if (!add_queries(model_case, self->before, error))
        return FALSE;
    self->until_us = length_ns > 0 ? g_get_monotonic_time() + length_ns / 1000 : 0;
    if (self->is_stressed)
        ifm_stressor_read(self->stressor, &self->reading_before);
    self->during = ifm_metrics_begin(NULL);
    return TRUE;
}

/* Whether the stressor was there to the end. */
static gboolean describe(Worker *worker, WorkerStress *self, GError **error)
{
    const IfmModelCase *model_case = worker_model_case(worker);
    IfmStressReading reading;
    ifm_stressor_read(self->stressor, &reading);
    json_t *json =
        json_pack("{s:s,s:o,s:o*,s:o,s:o,s:o*,s:o,s:I}", "kind", ifm_stress_words()[self->kind], "cores",
                  self->place.cores != NULL ? ifm_json_string(self->place.cores) : json_null(), "device",
                  self->place.device != NULL ? ifm_json_string(self->place.device) : NULL, "asked",
                  ifm_json_real(model_case->stress_level), "achieved", ifm_json_real(reading.achieved), "achieved_before",
                  model_case->observe_ns > 0 ? ifm_json_real(self->reading_before.achieved) : NULL, "work_per_s",
                  ifm_json_real(reading.work_per_s), "window_ns", (json_int_t)reading.window_ns);
    json_object_set_new(worker->measurement->environment, "stress", json);
    ifm_stressor_set(self->stressor, 0);
    if (reading.ended == NULL)
        return TRUE;
    ifm_error_set(error, IFM_ERROR_FAILED, "load: %s", reading.ended);
    g_clear_pointer(&self->stressor, ifm_stressor_free);
    return FALSE;
}

gboolean worker_stress_stop(Worker *worker, GError **error)
{
    WorkerStress *self = worker->stress;
    gboolean ok = TRUE;
    if (self == NULL || worker->measurement == NULL)
        return TRUE;
    if (self->during != NULL)
    {
        json_t *metrics = json_object();
        ok = go_on(worker, self, error);
        json_object_set_new(metrics, "before", g_steal_pointer(&self->before));
        json_t *during = ifm_metrics_end(g_steal_pointer(&self->during));
        ifm_metrics_add_read(during);
        json_object_set_new(metrics, "during", during);
        ok = ok && add_queries(worker_model_case(worker), json_object_get(metrics, "during"), error);
        json_object_set_new(worker->measurement->environment, "metrics", metrics);
    }
    const gboolean held = !self->is_stressed || self->stressor == NULL || describe(worker, self, ok ? error : NULL);
    self->is_stressed = FALSE;
    return ok && held;
}
