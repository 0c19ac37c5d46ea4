/* A stressor around a case, and what the machine did before and meanwhile. */
#include <inferometer/metrics.h>
#include <inferometer/stress.h>
#include <internal/json.h>

#include "../worker-private.h"

/* What a stressor is given to be at work evenly. */
#define SETTLE_US 20000

/* WorkerStress: kept from case to case, asleep in between: starting one takes longer than measuring a small kernel. */
struct WorkerStress
{
    IfmStressor *stressor; /* NULL: none was started yet */
    IfmStressKind kind;
    char *cores;
    IfmMetricWindow *during; /* of the case in hand */
    json_t *before;          /* of the case in hand */
    IfmStressReading reading_before;
    gboolean is_stressed;
};

static gboolean wake(WorkerStress *self, const IfmModelCase *model_case, GError **error)
{
    IfmStressOptions options = { .intensity = model_case->stress_level, .cores = model_case->stress_cores };
    if (!ifm_stress_parse(model_case->stress_kind, &options.kind, error))
        return FALSE;
    if (self->stressor != NULL && (self->kind != options.kind || g_strcmp0(self->cores, options.cores) != 0))
        g_clear_pointer(&self->stressor, ifm_stressor_free);
    if (self->stressor == NULL)
    {
        g_free(self->cores);
        self->kind = options.kind;
        self->cores = g_strdup(options.cores);
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
    worker_enter_phase(worker, "starting the background load");
    self->is_stressed = model_case->stress_kind != NULL;
    if (self->is_stressed && !wake(self, model_case, error))
        return FALSE;
    if (model_case->observe_ns == 0)
        return TRUE;
    IfmMetricWindow *before = ifm_metrics_begin(NULL);
    g_usleep((gulong)(model_case->observe_ns / 1000));
    json_decref(self->before);
    self->before = ifm_metrics_end(before);
    json_object_set_new(json_object_get(self->before, "values"), "copy_bytes_per_s",
                        ifm_json_real(ifm_metrics_copy_rate()));
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
    json_t *json = json_object();
    ifm_stressor_read(self->stressor, &reading);
    json_object_set_new(json, "kind", json_string(ifm_stress_words()[self->kind]));
    json_object_set_new(json, "cores", self->cores != NULL ? ifm_json_string(self->cores) : json_null());
    json_object_set_new(json, "asked", ifm_json_real(model_case->stress_level));
    json_object_set_new(json, "achieved", ifm_json_real(reading.achieved));
    if (model_case->observe_ns > 0)
        json_object_set_new(json, "achieved_before", ifm_json_real(self->reading_before.achieved));
    json_object_set_new(json, "work_per_s", ifm_json_real(reading.work_per_s));
    json_object_set_new(json, "window_ns", json_integer(reading.window_ns));
    json_object_set_new(worker->measurement->environment, "stress", json);
    ifm_stressor_set(self->stressor, 0);
    if (reading.ended == NULL)
        return TRUE;
    g_set_error(error, IFM_ERROR, IFM_ERROR_FAILED, "load: %s", reading.ended);
    g_clear_pointer(&self->stressor, ifm_stressor_free);
    return FALSE;
}

gboolean worker_stress_stop(Worker *worker, GError **error)
{
    WorkerStress *self = worker->stress;
    if (self == NULL || worker->measurement == NULL)
        return TRUE;
    if (self->during != NULL)
    {
        json_t *metrics = json_object();
        json_object_set_new(metrics, "before", g_steal_pointer(&self->before));
        json_object_set_new(metrics, "during", ifm_metrics_end(g_steal_pointer(&self->during)));
        json_object_set_new(worker->measurement->environment, "metrics", metrics);
    }
    const gboolean ok = !self->is_stressed || self->stressor == NULL || describe(worker, self, error);
    self->is_stressed = FALSE;
    return ok;
}
