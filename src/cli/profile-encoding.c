#include <math.h>
#include <string.h>

#include <inferometer/sensor.h>

#include "profile.h"
#include "protocol.h"

/* What a positional encoding costs: computed again and again in this process, by the rule that everything is measured by.
 */

#define HOST "host:CPU" /* where it is computed, whatever device the model then runs on */

gboolean profile_check_encodable(const GraphModel *model, GError **error)
{
    const IfmTransformerSizes *sizes = &model->transformer.sizes;
    if (sizes->pe != IFM_ENCODING_LAPLACIAN || ifm_encoding_laplacian_check(model->graph, sizes->pe_dim, error))
        return TRUE;
    g_prefix_error(error, "--pe %s: ", model->encoding_name);
    return FALSE;
}

/* --- waited for --------------------------------------------------------------------------------------------------------
 */

#define TELL_US (200 * 1000)

/* Wait: one who waits for it. @begun: what the progress calls it, once it began; NULL: it has */
typedef struct
{
    Progress *progress;
    char *begun;
    const gint *interrupted;
    gint64 end_us, tell_us; /* when it is too late (0: never), when to tell again */
    gboolean late;
    gsize n; /* of the runs so far */
    double median_ns, ci_ratio;
} Wait;

static void tell_wait(Wait *wait, double done_ratio)
{
    g_autofree char *phase =
        done_ratio > 0 ? g_strdup_printf("encoding, %d %%", (int)(100 * done_ratio)) : g_strdup("encoding");
    if (wait->begun != NULL)
        progress_begin(wait->progress, wait->begun, 0, NAN);
    g_clear_pointer(&wait->begun, g_free);
    progress_update(phase, wait->n, wait->median_ns, wait->ci_ratio, wait->progress);
}

static gboolean go_on(double done_ratio, void *user)
{
    Wait *wait = user;
    gint64 now_us = g_get_monotonic_time();
    wait->late = wait->end_us > 0 && now_us >= wait->end_us;
    if (wait->late || (wait->interrupted != NULL && g_atomic_int_get(wait->interrupted) != 0))
        return FALSE;
    if (now_us >= wait->tell_us)
    {
        tell_wait(wait, done_ratio);
        wait->tell_us = now_us + TELL_US;
    }
    return TRUE;
}

static IfmEncoding *compute(const GraphModel *model, Wait *wait, gint64 case_time_ns, GError **error)
{
    const IfmTransformerSizes *sizes = &model->transformer.sizes;
    IfmEncoding *encoding = sizes->pe == IFM_ENCODING_LAPLACIAN
                                ? ifm_encoding_laplacian_watched(model->graph, sizes->pe_dim, go_on, wait, error)
                                : ifm_encoding_random_walk_watched(model->graph, sizes->pe_dim, go_on, wait, error);
    if (encoding == NULL && wait->late)
    {
        g_autofree char *limit = ifm_format_duration((double)case_time_ns);
        g_clear_error(error);
        g_set_error(error, IFM_ERROR, IFM_ERROR_TIMEOUT, "not computed within %s (--case-timeout)", limit);
    }
    return encoding;
}

gboolean profile_encode(GraphModel *model, const Arguments *arguments, GError **error)
{
    if (model->transformer.sizes.pe == IFM_ENCODING_NONE)
        return TRUE;
    const IfmLimits none = { 0 };
    gint64 case_time_ns = cli_limits(arguments, &none).case_time_ns, begin_us = g_get_monotonic_time();
    g_autoptr(Progress) progress = progress_new(1, cli_given(arguments, "quiet"));
    Wait wait = { .progress = progress,
                  .begun = g_strdup_printf("computing %s of %s", model->encoding_name, model->graph->name),
                  .end_us = case_time_ns > 0 ? begin_us + case_time_ns / 1000 : 0,
                  .tell_us = begin_us + G_USEC_PER_SEC,
                  .median_ns = NAN,
                  .ci_ratio = NAN };
    model->encoding_seen[0] = ifm_sensor_snapshot("/");
    begin_us = g_get_monotonic_time();
    model->encoding = compute(model, &wait, case_time_ns, error);
    model->encoding_ns = (g_get_monotonic_time() - begin_us) * 1000;
    model->encoding_seen[1] = ifm_sensor_snapshot("/");
    if (wait.begun == NULL)
        progress_end(progress, model->encoding != NULL ? "ok" : "failed");
    g_free(wait.begun);
    if (model->encoding == NULL)
        g_prefix_error(error, "--pe %s: ", model->encoding_name);
    return model->encoding != NULL;
}

/* --- as a subject ------------------------------------------------------------------------------------------------------
 */

typedef struct
{
    const GraphModel *model;
    IfmEncoding *last;
    Wait wait;
    gint64 case_time_ns;
} Encoder;

static gboolean encode_once(void *self, GError **error)
{
    Encoder *encoder = self;
    g_clear_pointer(&encoder->last, ifm_encoding_free);
    encoder->last = compute(encoder->model, &encoder->wait, encoder->case_time_ns, error);
    return encoder->last != NULL;
}

/* The same graph gives the same numbers, each time. */
static gboolean check_last(void *self, GError **error)
{
    const Encoder *encoder = self;
    const IfmEncoding *first = encoder->model->encoding, *last = encoder->last;
    if (last->n_nodes == first->n_nodes && last->dim == first->dim &&
        memcmp(last->values, first->values, (gsize)(first->n_nodes * first->dim) * sizeof(float)) == 0)
        return TRUE;
    g_set_error(error, IFM_ERROR, IFM_ERROR_FAILED, "%s: other numbers than the first time", encoder->model->encoding_name);
    return FALSE;
}

static void tell_progress(gsize n, double median_ns, double ci_ratio, void *user)
{
    Wait *wait = user;
    wait->n = n;
    wait->median_ns = median_ns;
    wait->ci_ratio = ci_ratio;
    progress_update("encoding", n, median_ns, ci_ratio, wait->progress);
}

/* --- as a record -------------------------------------------------------------------------------------------------------
 */

static IfmCase *seal(const GraphModel *model, const IfmProtocol *protocol, const json_t *machine)
{
    const IfmGraph *graph = model->graph;
    IfmCase *record = ifm_case_new();
    g_autofree char *name = g_strdup_printf("encoding %s of %s", model->encoding_name, graph->name);
    ifm_record_set_text(&record->subject_kind, "encoding");
    ifm_record_set_text(&record->subject_name, name);
    ifm_record_set_text(&record->device, HOST);
    ifm_record_set_json(&record->sizes, json_pack("{s:I,s:I,s:I}", "nodes", (json_int_t)graph->n_nodes, "edges",
                                                  (json_int_t)graph->n_edges, "graphs", (json_int_t)graph->n_graphs));
    ifm_record_set_json(&record->options, json_pack("{s:s,s:s,s:o}", "encoding", model->encoding_name, "graph",
                                                    model->digest, "protocol", ifm_protocol_to_json(protocol)));
    json_t *id = json_object_get(machine, "id");
    ifm_record_set_json(&record->surroundings, json_pack("{s:o}", "machine", id != NULL ? json_incref(id) : json_null()));
    ifm_case_seal(record);
    return record;
}

static void add_surroundings(IfmMeasurement *measurement, const json_t *machine, const json_t *before, const json_t *after)
{
    json_auto_t *seen = ifm_sensor_surroundings(machine, before, after);
    json_auto_t *warnings = json_incref(json_object_get(measurement->surroundings, "warnings"));
    json_object_update(measurement->surroundings, seen);
    if (json_is_array(warnings))
        json_array_extend(json_object_get(measurement->surroundings, "warnings"), warnings);
}

/* Whether the one computation that the model needs anyway was as long as all of them may be. */
static gboolean is_beyond_budget(const GraphModel *model, const IfmProtocol *protocol)
{
    return protocol->runs == 0 && protocol->time_budget_ns > 0 && model->encoding_ns >= protocol->time_budget_ns;
}

static void take_first(const GraphModel *model, const IfmProtocol *protocol, const json_t *machine,
                       IfmMeasurement *measurement)
{
    g_autofree char *budget = ifm_format_duration((double)protocol->time_budget_ns);
    g_autofree char *why =
        g_strdup_printf("computed once, without warm-up: that took longer than the time budget of %s", budget);
    ifm_measure_one_run(model->encoding_ns, protocol, why, measurement);
    add_surroundings(measurement, machine, model->encoding_seen[0], model->encoding_seen[1]);
}

static IfmMeasurement *measure(const GraphModel *model, const IfmProtocol *protocol, const json_t *machine,
                               const EncodingPlace *place, GError **error)
{
    Encoder encoder = {
        .model = model,
        .wait = { .progress = place->progress, .interrupted = place->interrupted, .median_ns = NAN, .ci_ratio = NAN },
        .case_time_ns = place->case_time_ns
    };
    const IfmSubject subject = { .name = model->encoding_name, .run = encode_once, .verify = check_last, .self = &encoder };
    const IfmMeasureOptions options = {
        .protocol = *protocol, .interrupted = place->interrupted, .progress = tell_progress, .progress_user = &encoder.wait
    };
    g_autoptr(IfmMeasurement) measurement = ifm_measurement_new();
    ifm_record_set_text(&measurement->case_key, model->encoding_case->key);
    if (is_beyond_budget(model, protocol))
    {
        take_first(model, protocol, machine, measurement);
        return g_steal_pointer(&measurement);
    }
    json_auto_t *before = ifm_sensor_snapshot("/");
    encoder.wait.end_us = place->case_time_ns > 0 ? g_get_monotonic_time() + place->case_time_ns / 1000 : 0;
    gboolean good = ifm_measure_subject(&subject, &options, measurement, error);
    ifm_encoding_free(encoder.last);
    if (!good)
        return NULL;
    json_auto_t *after = ifm_sensor_snapshot("/");
    add_surroundings(measurement, machine, before, after);
    return g_steal_pointer(&measurement);
}

/* What an earlier profile left whole. Returns: FALSE where the store cannot be read. */
static gboolean find_stored(GraphModel *model, IfmStore *store, GError **store_error)
{
    GError *trouble = NULL;
    g_autoptr(IfmMeasurement) stored = ifm_store_latest(store, model->encoding_case->key, &trouble);
    if (trouble != NULL)
    {
        g_propagate_error(store_error, trouble);
        return FALSE;
    }
    if (stored != NULL && !g_str_equal(stored->stop_reason, "interrupted"))
        model->encoding_cost = g_steal_pointer(&stored);
    return TRUE;
}

gboolean profile_measures_encoding(const ProfilePlan *plan)
{
    return plan->graph != NULL && plan->graph->encoding != NULL && (plan->parts & IFM_PROFILE_PE) != 0;
}

gboolean profile_measure_encoding(const ProfilePlan *plan, const EncodingPlace *place, GError **store_error)
{
    GraphModel *model = plan->graph;
    if (!profile_measures_encoding(plan))
        return TRUE;
    json_auto_t *machine = ifm_sensor_machine("/");
    const IfmProtocol *protocol = &plan->base.protocol;
    model->encoding_case = seal(model, protocol, machine);
    gboolean known = g_hash_table_contains(place->measured, model->encoding_case->key);
    if ((place->resume || known) && !find_stored(model, place->store, store_error))
        return FALSE;
    if (model->encoding_cost != NULL)
    {
        cli_note("%s: measured before, taken from %s", model->encoding_case->subject_name, ifm_store_path(place->store));
        return TRUE;
    }
    progress_begin(place->progress, model->encoding_case->subject_name, protocol->runs, protocol->ci_ratio);
    model->encoding_cost = measure(model, protocol, machine, place, &model->encoding_error);
    gboolean stored = model->encoding_cost == NULL ||
                      ifm_store_commit(place->store, model->encoding_case, model->encoding_cost, store_error);
    if (stored && model->encoding_cost != NULL)
        g_hash_table_add(place->measured, g_strdup(model->encoding_case->key));
    progress_end(place->progress, !stored                        ? "not stored"
                                  : cli_interrupt_signal() != 0  ? "interrupted"
                                  : model->encoding_cost != NULL ? "ok"
                                                                 : "failed");
    return stored;
}

int profile_encoding_status(const ProfilePlan *plan)
{
    gboolean failed = profile_measures_encoding(plan) && plan->graph->encoding_error != NULL;
    return failed ? cli_fail(plan->graph->encoding_error) : CLI_EXIT_OK;
}
