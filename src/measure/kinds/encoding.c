/* A positional encoding of a graph: what describes a case of it, its record, and how it is measured, in this process. */
#include <string.h>

#include <base/fields.h>
#include <store/store.h>

#include "../runner-private.h"

static const IfmRecordField fields[] = {
    { IFM_RECORD(INT64, IfmEncodingCase, dim) },
    { IFM_RECORD(PART, IfmEncodingCase, protocol), .fields = ifm_protocol_fields, .key = "protocol" },
    { NULL },
};

static gboolean complete(void *spec, GError **error)
{
    const IfmEncodingCase *encoding_case = spec;
    if (encoding_case->graph == NULL)
        return ifm_error_refuse(error, "encoding: of no graph");
    if (encoding_case->encoding != IFM_ENCODING_LAPLACIAN && encoding_case->encoding != IFM_ENCODING_RANDOM_WALK)
        return ifm_error_refuse(error, "encoding: found none, expected lap or rwse");
    return ifm_protocol_check(&encoding_case->protocol, error);
}

/* "lap:8" (transfer full) */
static char *name_of(const IfmEncodingCase *encoding_case)
{
    return g_strdup_printf("%s:%" G_GINT64_FORMAT, ifm_positional_encoding_words()[encoding_case->encoding],
                           encoding_case->dim);
}

static gboolean seal(IfmRunner *runner, const void *spec, const json_t *facts, IfmCase *record, GError **error)
{
    const IfmEncodingCase *encoding_case = spec;
    const IfmGraph *graph = encoding_case->graph;
    g_autofree char *encoding = name_of(encoding_case), *digest = ifm_graph_digest(graph);
    g_autofree char *name = g_strdup_printf("encoding %s of %s", encoding, graph->name);
    ifm_record_set_text(&record->subject_name, name);
    ifm_record_set_text(&record->device, IFM_HOST_DEVICE);
    ifm_record_set_json(&record->sizes, json_pack("{s:I,s:I,s:I}", "nodes", (json_int_t)graph->n_nodes, "edges",
                                                  (json_int_t)graph->n_edges, "graphs", (json_int_t)graph->n_graphs));
    json_object_set_new(record->options, "encoding", json_string(encoding));
    json_object_set_new(record->options, "graph", json_string(digest));
    return TRUE;
}

/* --- as a subject ------------------------------------------------------------------------------------------------- */

typedef struct
{
    const IfmEncodingCase *encoding_case;
    char *name;
    IfmEncoding *first, *last;
    const gint *interrupted;
    gint64 end_us; /* when it is too late; 0: never */
    gboolean late;
} Encoder;

static gboolean go_on(double done_ratio, void *user)
{
    Encoder *encoder = user;
    const IfmEncodingCase *encoding_case = encoder->encoding_case;
    encoder->late = encoder->end_us > 0 && g_get_monotonic_time() >= encoder->end_us;
    return !encoder->late && (encoder->interrupted == NULL || g_atomic_int_get(encoder->interrupted) == 0) &&
           (encoding_case->watch == NULL || encoding_case->watch(done_ratio, encoding_case->watch_user));
}

static gboolean run(void *self, GError **error)
{
    Encoder *encoder = self;
    const IfmEncodingCase *encoding_case = encoder->encoding_case;
    g_clear_pointer(&encoder->last, ifm_encoding_free);
    encoder->last = encoding_case->encoding == IFM_ENCODING_LAPLACIAN
                        ? ifm_encoding_laplacian(encoding_case->graph, encoding_case->dim, go_on, encoder, error)
                        : ifm_encoding_random_walk(encoding_case->graph, encoding_case->dim, go_on, encoder, error);
    if (encoder->last == NULL && encoder->late)
    {
        g_clear_error(error);
        ifm_error_set(error, IFM_ERROR_TIMEOUT, "not computed within %s",
                      encoding_case->case_time_said != NULL ? encoding_case->case_time_said : "the time for a case");
    }
    return encoder->last != NULL;
}

/* The same graph gives the same numbers, each time. */
static gboolean verify(void *self, GError **error)
{
    Encoder *encoder = self;
    const IfmEncoding *first = encoder->encoding_case->known != NULL ? encoder->encoding_case->known : encoder->first;
    const IfmEncoding *last = encoder->last;
    if (first == NULL) /* the first of all */
        encoder->first = g_steal_pointer(&encoder->last);
    return first == NULL || last == NULL ||
           (last->n_nodes == first->n_nodes && last->dim == first->dim &&
            memcmp(last->values, first->values, (gsize)(first->n_nodes * first->dim) * sizeof(float)) == 0) ||
           ifm_error_set(error, IFM_ERROR_FAILED, "%s: other numbers than the first time", encoder->name);
}

static gboolean subject(const void *spec, IfmSubject *subject, GError **error)
{
    Encoder *encoder = g_new0(Encoder, 1);
    encoder->encoding_case = spec;
    encoder->name = name_of(spec);
    *subject = (IfmSubject){ .name = encoder->name, .run = run, .verify = verify, .self = encoder };
    return TRUE;
}

static void done(IfmSubject *subject)
{
    Encoder *encoder = subject->self;
    ifm_encoding_free(encoder->first);
    ifm_encoding_free(encoder->last);
    g_free(encoder->name);
    g_free(encoder);
}

/* --- measuring ---------------------------------------------------------------------------------------------------- */

/* Whether the one computation that was needed anyway took the whole time budget. */
static gboolean is_beyond_budget(const IfmEncodingCase *encoding_case)
{
    const IfmProtocol *protocol = &encoding_case->protocol;
    return encoding_case->known != NULL && protocol->runs == 0 && protocol->time_budget_ns > 0 &&
           encoding_case->known_ns >= protocol->time_budget_ns;
}

static IfmMeasurement *take_known(IfmRunner *runner, const IfmEncodingCase *encoding_case, const IfmCase *sealed)
{
    g_auto(IfmRunMonitor) monitor = { .runner = runner };
    IfmMeasurement *measurement = ifm_measurement_new();
    g_autofree char *why = g_strdup_printf("computed once, without warm-up: that took longer than the time budget%s%s",
                                           encoding_case->time_budget_said != NULL ? " of " : "",
                                           encoding_case->time_budget_said != NULL ? encoding_case->time_budget_said : "");
    ifm_record_set_text(&measurement->case_key, sealed->key);
    ifm_measure_one_run(encoding_case->known_ns, &encoding_case->protocol, why, measurement);
    monitor.before = json_incref((json_t *)encoding_case->known_seen[0]);
    monitor.after = json_incref((json_t *)encoding_case->known_seen[1]);
    ifm_run_monitor_add_environment(&monitor, measurement);
    return measurement;
}

static IfmMeasurement *measure(IfmRunner *runner, const void *spec, const IfmCase *sealed, GError **error)
{
    const IfmEncodingCase *encoding_case = spec;
    const IfmRunnerOptions *options = &runner->options;
    IfmSubject slots;
    if (is_beyond_budget(encoding_case))
        return take_known(runner, encoding_case, sealed);
    subject(spec, &slots, NULL);
    Encoder *encoder = slots.self;
    encoder->interrupted = options->interrupted;
    if (options->limits.case_time_ns > 0)
        encoder->end_us = g_get_monotonic_time() + options->limits.case_time_ns / 1000;
    IfmMeasurement *measurement = ifm_runner_measure_subject(runner, &slots, &encoding_case->protocol, sealed, error);
    done(&slots);
    return measurement;
}

const IfmCaseKind ifm_kind_encoding = { .name = "encoding",
                                        .size = sizeof(IfmEncodingCase),
                                        .fields = fields,
                                        .complete = complete,
                                        .seal = seal,
                                        .subject = subject,
                                        .done = done,
                                        .measure = measure };
