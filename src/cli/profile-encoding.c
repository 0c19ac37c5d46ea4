#include <string.h>

#include <inferometer/sensor.h>

#include "profile.h"

/* What a positional encoding costs: computed again and again in this process, by the rule that everything is measured by.
 */

#define HOST "host:CPU" /* where it is computed, whatever device the model then runs on */

gboolean profile_encode(const GraphModel *model, IfmEncoding **encoding, GError **error)
{
    const IfmTransformerSizes *sizes = &model->transformer.sizes;
    *encoding = NULL;
    if (sizes->pe == IFM_ENCODING_NONE)
        return TRUE;
    *encoding = sizes->pe == IFM_ENCODING_LAPLACIAN ? ifm_encoding_laplacian(model->graph, sizes->pe_dim, error)
                                                    : ifm_encoding_random_walk(model->graph, sizes->pe_dim, error);
    if (*encoding == NULL)
        g_prefix_error(error, "--pe %s: ", model->encoding_name);
    return *encoding != NULL;
}

/* --- as a subject ------------------------------------------------------------------------------------------------------
 */

typedef struct
{
    const GraphModel *model;
    IfmEncoding *last;
} Encoder;

static gboolean encode_once(void *self, GError **error)
{
    Encoder *encoder = self;
    g_clear_pointer(&encoder->last, ifm_encoding_free);
    return profile_encode(encoder->model, &encoder->last, error);
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
    progress_update("encoding", n, median_ns, ci_ratio, user);
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

static void add_surroundings(IfmMeasurement *measurement, const json_t *machine, const json_t *before)
{
    json_auto_t *after = ifm_sensor_snapshot("/");
    json_auto_t *seen = ifm_sensor_surroundings(machine, before, after);
    json_auto_t *warnings = json_incref(json_object_get(measurement->surroundings, "warnings"));
    json_object_update(measurement->surroundings, seen);
    if (json_is_array(warnings))
        json_array_extend(json_object_get(measurement->surroundings, "warnings"), warnings);
}

static IfmMeasurement *measure(const GraphModel *model, const IfmProtocol *protocol, const json_t *machine,
                               Progress *progress, const gint *interrupted, GError **error)
{
    Encoder encoder = { .model = model };
    const IfmSubject subject = { .name = model->encoding_name, .run = encode_once, .verify = check_last, .self = &encoder };
    const IfmMeasureOptions options = {
        .protocol = *protocol, .interrupted = interrupted, .progress = tell_progress, .progress_user = progress
    };
    g_autoptr(IfmMeasurement) measurement = ifm_measurement_new();
    ifm_record_set_text(&measurement->case_key, model->encoding_case->key);
    json_auto_t *before = ifm_sensor_snapshot("/");
    gboolean good = ifm_measure_subject(&subject, &options, measurement, error);
    ifm_encoding_free(encoder.last);
    if (!good)
        return NULL;
    add_surroundings(measurement, machine, before);
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
    model->encoding_cost = measure(model, protocol, machine, place->progress, place->interrupted, &model->encoding_error);
    gboolean stored = model->encoding_cost == NULL ||
                      ifm_store_commit(place->store, model->encoding_case, model->encoding_cost, store_error);
    if (stored && model->encoding_cost != NULL)
        g_hash_table_add(place->measured, g_strdup(model->encoding_case->key));
    progress_end(place->progress, !stored ? "not stored" : model->encoding_cost != NULL ? "ok" : "failed");
    return stored;
}

int profile_encoding_status(const ProfilePlan *plan)
{
    gboolean failed = profile_measures_encoding(plan) && plan->graph->encoding_error != NULL;
    return failed ? cli_fail(plan->graph->encoding_error) : CLI_EXIT_OK;
}
