#include <inferometer/json.h>

#include "worker-private.h"

/* Warm-up of a process: until its latency is steady, and for as long as this allows; then some runs that tell how many go
 * into a round. */
static const IfmProtocol warming = {
    .warmup = 3, .ci_ratio = 0.1, .level = 0.95, .least_runs = 5, .time_budget_ns = 400 * IFM_NS_PER_MS
};

static gboolean run_some(Worker *worker, const IfmProtocol *protocol, gboolean verify, IfmMeasurement *measurement,
                         GError **error)
{
    IfmSubject slots = ifm_model_subject_slots(worker->subject);
    IfmMeasureOptions options = { .protocol = *protocol, .interrupted = &worker->interrupted };
    if (!verify) /* before the first round and after the last one: what lies between is the runs' alone */
        slots.verify = NULL;
    return ifm_measure_subject(&slots, &options, measurement, error);
}

static void append_series(json_t *list, const GArray *series)
{
    for (guint i = 0; series != NULL && i < series->len; i++)
        json_array_append_new(list, json_integer(g_array_index(series, gint64, i)));
}

static gboolean check_prepared(const Worker *worker, GError **error)
{
    if (worker->subject != NULL)
        return TRUE;
    g_set_error_literal(error, IFM_ERROR, IFM_ERROR_FAILED, "nothing was prepared");
    return FALSE;
}

/* --- the other side's outputs --------------------------------------------------------------------------------------- */

/* Each side has what its precision allows. */
static IfmTolerance common_tolerance(const IfmModelCase *model_case, const char *other_dtype)
{
    IfmTolerance own = ifm_tolerance_for(model_case->dtype, model_case->rtol, model_case->atol);
    IfmTolerance other =
        ifm_tolerance_for(ifm_dtype_from_name(other_dtype != NULL ? other_dtype : ""), model_case->rtol, model_case->atol);
    return own.rtol >= other.rtol ? own : other;
}

/* Returns: (transfer full) how this side's last outputs differ from the other's; NULL: within tolerance. */
static char *difference(Worker *worker, const char *path, const char *other_dtype, GError **error)
{
    IfmCompiled *compiled = ifm_model_subject_compiled(worker->subject);
    IfmRequest *request = ifm_model_subject_request(worker->subject);
    const IfmModelCase *model_case = &worker->owned.model_case;
    IfmTolerance tolerance = common_tolerance(model_case, other_dtype);
    IfmVerification seen = { 0 };
    char *differs = NULL;
    g_autoptr(IfmReference) other = ifm_reference_open(path, error);
    for (gsize i = 0; other != NULL && differs == NULL && i < ifm_compiled_n_outputs(compiled); i++)
    {
        IfmTensor value = IFM_TENSOR_INIT;
        g_autoptr(GError) failure = NULL;
        if (!ifm_request_output(request, i, &value, error))
            break;
        if (!ifm_reference_check(other, ifm_compiled_output(compiled, i)->name, &value, model_case->dtype, &tolerance,
                                 &seen, &failure))
            differs = g_strdup(failure->message);
    }
    ifm_verification_clear(&seen);
    return differs;
}

/* --- requests ------------------------------------------------------------------------------------------------------- */

json_t *worker_answer_compare_start(Worker *worker, const json_t *request, GError **error)
{
    const char *reference = json_string_value(json_object_get(request, "reference"));
    const char *keep = json_string_value(json_object_get(request, "keep"));
    const char *other = json_string_value(json_object_get(request, "other"));
    const char *other_dtype = json_string_value(json_object_get(request, "other_dtype"));
    g_autoptr(IfmMeasurement) warmed = ifm_measurement_new();
    g_autoptr(GError) failure = NULL;
    if (!check_prepared(worker, error) ||
        (reference != NULL && (worker->reference = ifm_reference_open(reference, error)) == NULL))
        return NULL;
    ifm_model_subject_set_reference(worker->subject, worker->reference);
    worker_enter_phase(worker, "warming up");
    if (!run_some(worker, &warming, TRUE, warmed, error))
        return NULL;
    if (keep != NULL && !worker_save_outputs(ifm_model_subject_compiled(worker->subject),
                                             ifm_model_subject_request(worker->subject), keep, error))
        return NULL;
    g_autofree char *differs = other != NULL ? difference(worker, other, other_dtype, &failure) : NULL;
    if (failure != NULL)
    {
        g_propagate_error(error, g_steal_pointer(&failure));
        return NULL;
    }
    worker_enter_phase(worker, "running"); /* from now on: a word a round would be one more thing to wake up for */
    json_t *runs = json_array();
    append_series(runs, warmed->warmup_ns);
    append_series(runs, warmed->samples_ns);
    return json_pack("{s:o,s:o}", "warmup_ns", runs, "differs", differs != NULL ? ifm_json_string(differs) : json_null());
}

json_t *worker_answer_compare_round(Worker *worker, const json_t *request, GError **error)
{
    IfmProtocol protocol = { .warmup = (gsize)json_integer_value(json_object_get(request, "warmup")),
                             .runs = (gsize)json_integer_value(json_object_get(request, "runs")),
                             .level = 0.95 };
    g_autoptr(IfmMeasurement) round = ifm_measurement_new();
    if (!check_prepared(worker, error) || !ifm_protocol_check(&protocol, error) ||
        !run_some(worker, &protocol, FALSE, round, error))
        return NULL;
    if (round->samples_ns->len < protocol.runs)
    {
        g_set_error_literal(error, IFM_ERROR, IFM_ERROR_CANCELLED, "interrupted within a round");
        return NULL;
    }
    json_t *samples = json_array();
    append_series(samples, round->samples_ns);
    return json_pack("{s:o}", "samples_ns", samples);
}

json_t *worker_answer_compare_end(Worker *worker, const json_t *request, GError **error)
{
    static const IfmProtocol once = { .runs = 1, .level = 0.95 };
    g_autoptr(IfmMeasurement) last = ifm_measurement_new();
    if (!check_prepared(worker, error))
        return NULL;
    worker_enter_phase(worker, "checking the outputs");
    if (!run_some(worker, &once, TRUE, last, error) || !ifm_model_subject_verify(worker->subject, error) ||
        !worker_still_there(worker, error))
        return NULL;
    IfmMeasurement *measurement = worker->measurement;
    const json_t *verification = json_object_get(request, "verification");
    worker_note_rss(worker, "after_runs_bytes");
    ifm_measurement_describe_build(measurement, ifm_engine_clock(worker->engine));
    json_decref(measurement->verification);
    measurement->verification = ifm_model_subject_verification(worker->subject);
    if (verification != NULL) /* why there is no reference */
        json_object_update(measurement->verification, (json_t *)verification);
    json_t *answer = json_pack("{s:o}", "measurement", ifm_measurement_to_json(measurement));
    worker_drop_prepared(worker);
    return answer;
}
