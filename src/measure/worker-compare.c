#include <base/fields.h>
#include <math.h>
#include <store/store.h>

#include "kind-private.h"

/* Warm-up of a process: until its latency is steady, and for as long as this allows; then some runs that tell how many go
 * into a round. */
static const IfmProtocol warming = {
    .warmup = 3, .ci_ratio = 0.1, .level = 0.95, .min_runs = 2, .time_budget_ns = 400 * IFM_NS_PER_MS
};

/* @verify: before the first round and after the last one: what lies between is the runs' alone */
static gboolean run_some(const IfmSubject *subject, const IfmProtocol *protocol, gboolean verify, const gint *interrupted,
                         IfmMeasurement *measurement, GError **error)
{
    IfmSubject runs = *subject;
    IfmMeasureOptions options = { .protocol = *protocol, .interrupted = interrupted };
    if (!verify)
        runs.verify = NULL;
    return ifm_measure_subject(&runs, &options, measurement, error);
}

static json_t *start(const IfmSubject *subject, const gint *interrupted, GError **error)
{
    g_autoptr(IfmMeasurement) warmed = ifm_measurement_new();
    if (!run_some(subject, &warming, TRUE, interrupted, warmed, error))
        return NULL;
    json_auto_t *rest = ifm_json_int64_array(warmed->samples_ns);
    json_t *runs = ifm_json_int64_array(warmed->warmup_ns);
    json_array_extend(runs, rest);
    return json_pack("{s:o}", "warmup_ns", runs);
}

static json_t *run_round(const IfmSubject *subject, const json_t *request, const gint *interrupted, GError **error)
{
    const IfmProtocol protocol = { .warmup = (gsize)json_integer_value(json_object_get(request, "warmup")),
                                   .runs = (gsize)json_integer_value(json_object_get(request, "runs")),
                                   .level = 0.95 };
    g_autoptr(IfmMeasurement) round = ifm_measurement_new();
    if (!ifm_protocol_check(&protocol, error) || !run_some(subject, &protocol, FALSE, interrupted, round, error))
        return NULL;
    if (round->samples_ns->len >= protocol.runs)
        return json_pack("{s:o}", "samples_ns", ifm_json_int64_array(round->samples_ns));
    ifm_error_set(error, IFM_ERROR_CANCELLED, "interrupted within a round");
    return NULL;
}

/* One more run, which is checked. (transfer full) its record */
static IfmMeasurement *run_last(const IfmSubject *subject, const gint *interrupted, GError **error)
{
    static const IfmProtocol once = { .runs = 1, .level = 0.95 };
    g_autoptr(IfmMeasurement) last = ifm_measurement_new();
    return run_some(subject, &once, TRUE, interrupted, last, error) ? g_steal_pointer(&last) : NULL;
}

json_t *ifm_compare_answer(const IfmSubject *subject, const json_t *request, const gint *interrupted, GError **error)
{
    const char *what = ifm_member_text(request, "do");
    if (g_str_equal(what, "compare-start"))
        return start(subject, interrupted, error);
    if (g_str_equal(what, "compare-round"))
        return run_round(subject, request, interrupted, error);
    g_autoptr(IfmMeasurement) last = run_last(subject, interrupted, error);
    return last != NULL ? json_pack("{s:o}", "measurement", ifm_measurement_to_json(last)) : NULL;
}

/* Of what is prepared. FALSE where there is nothing that can be run again. */
static gboolean find_subject(Worker *worker, IfmSubject *subject, GError **error)
{
    if (worker->kind != NULL && worker->kind->in_worker->subject != NULL)
    {
        *subject = worker->kind->in_worker->subject(worker);
        return TRUE;
    }
    return ifm_error_set(error, IFM_ERROR_FAILED, "nothing was prepared");
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
    IfmCompiled *compiled = worker->subject->compiled;
    IfmRequest *request = worker->subject->requests[0];
    const IfmModelCase *model_case = worker_model_case(worker);
    IfmTolerance tolerance = common_tolerance(model_case, other_dtype);
    IfmVerification seen = { 0 };
    char *differs = NULL;
    g_autoptr(IfmReference) other = ifm_reference_open(path, error);
    for (gsize i = 0; other != NULL && differs == NULL && i < ifm_compiled_info(compiled).n_outputs; i++)
    {
        IfmTensor value = IFM_TENSOR_INIT;
        const char *port = ifm_compiled_output(compiled, i)->name;
        g_autoptr(GError) failure = NULL;
        if (worker->reference != NULL && ifm_reference_has_spread(worker->reference, port))
            continue; /* each side is held against what is right */
        if (!ifm_request_output(request, i, &value, error))
            break;
        if (!ifm_reference_check(other, port, &value, model_case->dtype, &tolerance, &seen, &failure))
            differs = g_strdup(failure->message);
    }
    ifm_verification_clear(&seen);
    return differs;
}

/* --- requests ------------------------------------------------------------------------------------------------------- */

json_t *worker_answer_compare_start(Worker *worker, const json_t *request, GError **error)
{
    const char *reference = ifm_member_text(request, "reference");
    const char *keep = ifm_member_text(request, "keep");
    const char *other = ifm_member_text(request, "other");
    const char *other_dtype = ifm_member_text(request, "other_dtype");
    IfmSubject subject;
    g_autoptr(GError) failure = NULL;
    if (!find_subject(worker, &subject, error) ||
        (reference != NULL && (worker->reference = ifm_reference_open(reference, error)) == NULL))
        return NULL;
    if (worker->reference != NULL)
        worker->subject->reference = worker->reference;
    worker_enter_phase(worker, "warming up");
    json_auto_t *answer = start(&subject, &worker->interrupted, error);
    if (answer == NULL && worker->subject != NULL && worker->subject->wrong)
    {
        json_auto_t *told = json_object(); /* the message has it, too */
        worker_explain(worker, told, error);
    }
    if (answer == NULL ||
        (keep != NULL && !worker_save_outputs(worker->subject->compiled, worker->subject->requests[0], keep, error)))
        return NULL;
    g_autofree char *differs = other != NULL ? difference(worker, other, other_dtype, &failure) : NULL;
    if (failure != NULL)
    {
        g_propagate_error(error, g_steal_pointer(&failure));
        return NULL;
    }
    worker_enter_phase(worker, "running"); /* from now on: a word a round would be one more thing to wake up for */
    json_object_set_new(answer, "differs", differs != NULL ? ifm_json_string(differs) : json_null());
    return json_incref(answer);
}

json_t *worker_answer_compare_round(Worker *worker, const json_t *request, GError **error)
{
    IfmSubject subject;
    return find_subject(worker, &subject, error) ? run_round(&subject, request, &worker->interrupted, error) : NULL;
}

json_t *worker_answer_compare_nodes(Worker *worker, const json_t *request, GError **error)
{
    const IfmKindInWorker *way = worker->kind != NULL ? worker->kind->in_worker : NULL;
    const gint64 time_ns = json_integer_value(json_object_get(request, "time_ns"));
    g_autoptr(IfmMeasurement) found = ifm_measurement_new();
    g_autoptr(GError) failure = NULL;
    worker_note_rss(worker, "after_runs_bytes"); /* before the model is compiled a second time */
    if (way == NULL || way->node_times == NULL)
        ifm_error_set(&failure, IFM_ERROR_UNSUPPORTED, "a case of this kind has no nodes");
    else
        way->node_times(worker, time_ns, found, &failure);
    if (g_error_matches(failure, IFM_ERROR, IFM_ERROR_UNSUPPORTED))
        return json_pack("{s:o}", "why", ifm_json_string(failure->message));
    if (!ifm_error_pass(error, g_steal_pointer(&failure)))
        return NULL;
    json_t *names = json_array(), *op_types = json_array();
    for (guint i = 0; i < found->nodes->len; i++)
    {
        const IfmNodeRow *row = found->nodes->pdata[i];
        json_array_append_new(names, ifm_json_string(row->name));
        json_array_append_new(op_types, ifm_json_string(row->op_type));
    }
    return json_pack("{s:o,s:o,s:o}", "names", names, "op_types", op_types, "node_ns",
                     json_incref(json_object_get(found->breakdown, "nodes_mean_ns")));
}

json_t *worker_answer_compare_end(Worker *worker, const json_t *request, GError **error)
{
    IfmMeasurement *measurement = worker->measurement;
    const json_t *verification = json_object_get(request, "verification");
    IfmSubject subject;
    if (!find_subject(worker, &subject, error))
        return NULL;
    worker_enter_phase(worker, "checking the outputs");
    g_autoptr(IfmMeasurement) last = run_last(&subject, &worker->interrupted, error);
    if (last == NULL)
        return NULL;
    ifm_record_set_json(&measurement->verification, json_incref(last->verification));
    if (!worker->kind->in_worker->still_there(worker, error))
        return NULL;
    if (ifm_member(measurement->memory, "process.after_runs_bytes") == NULL)
        worker_note_rss(worker, "after_runs_bytes");
    ifm_measurement_describe_build(measurement, subject.clock);
    if (verification != NULL) /* why there is no reference */
        json_object_update(measurement->verification, (json_t *)verification);
    json_t *answer = json_pack("{s:o}", "measurement", ifm_measurement_to_json(measurement));
    worker_drop_prepared(worker);
    return answer;
}
