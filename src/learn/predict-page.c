/* Predicted latencies of models, kernel by kernel. */
#include <math.h>
#include <string.h>

#include <base/fields.h>
#include <document/document.h>
#include <document/words.h>
#include <inferometer/predict.h>

#include "learn-headline.h"

/* Row: kernels of one digest in a model, or with @record NULL what all its nodes cost besides. @predicted: of one */
typedef struct
{
    const IfmKernelRecord *record;
    IfmPredictedLatency predicted;
    gint64 count;
    double share;
} Row;

static void get_name(const void *record, const void *user, IfmValue *value)
{
    const Row *row = record;
    ifm_value_take_text(value,
                        row->record != NULL ? ifm_kernel_record_stem(row->record) : g_strdup("overhead of each node"));
}

static void get_sure(const void *record, const void *user, IfmValue *value)
{
    const Row *row = record;
    const gboolean sure = row->predicted.known && row->predicted.in_range;
    ifm_value_set_text(value, row->record == NULL     ? "whole models"
                              : sure                  ? "learnt"
                              : !row->predicted.known ? "roofline"
                                                      : "out of range");
    value->tone = sure ? IFM_TONE_PLAIN : IFM_TONE_WARN;
}

#define ROW(member) IFM_MEMBER(Row, member)
#define WIDE 100 /* columns of a screen that has room for all fields */

/* A name that is shortened keeps its end, the digest: rows stay distinct. */
static const IfmField fields[] = {
    { "kernel", "kernel", IFM_FIELD_TEXT, get_name, .flags = IFM_FIELD_KEY },
    { "times", "count", IFM_FIELD_INTEGER, ROW(count) },
    { "latency_ns", "latency", IFM_FIELD_DURATION, ROW(predicted.latency_ns) },
    { "low_ns", "from", IFM_FIELD_DURATION, ROW(predicted.low_ns) },
    { "high_ns", "to", IFM_FIELD_DURATION, ROW(predicted.high_ns) },
    { "roofline_ns", "roofline", IFM_FIELD_DURATION, ROW(predicted.roofline_ns), .min_width = WIDE },
    { "share_ratio", "share", IFM_FIELD_RATIO, ROW(share) },
    { "known", "source", IFM_FIELD_TEXT, get_sure },
    { NULL },
};

#define OF_RECORDS(member) IFM_MEMBER(IfmKernelRecords, member)

static const IfmField failed_fields[] = {
    { "model", "model", IFM_FIELD_TEXT, OF_RECORDS(model), .flags = IFM_FIELD_KEY | IFM_FIELD_WHOLE },
    { "reason", "reason", IFM_FIELD_TEXT, OF_RECORDS(reason) },
    { NULL },
};

static gint compare_rows(gconstpointer a, gconstpointer b)
{
    const Row *x = a, *y = b;
    return (x->share < y->share) - (x->share > y->share);
}

/* (transfer full) the largest share of the time first. Kernels that only move data are among the nodes' overhead. */
static GArray *rows_of(const IfmModelPrediction *prediction)
{
    const double n = (double)MAX(prediction->kernels->len, 1);
    GArray *rows = g_array_new(FALSE, FALSE, sizeof(Row));
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    for (guint i = 0; i < prediction->kernels->len; i++)
    {
        const IfmPredictedKernel *kernel = &g_array_index(prediction->kernels, IfmPredictedKernel, i);
        const guint at = GPOINTER_TO_UINT(g_hash_table_lookup(seen, kernel->record->digest));
        const Row row = { kernel->record, kernel->predicted, 0, 0 };
        if (kernel->moves)
            continue;
        if (at == 0)
        {
            g_array_append_val(rows, row);
            g_hash_table_insert(seen, kernel->record->digest, GUINT_TO_POINTER(rows->len));
        }
        Row *one = &g_array_index(rows, Row, at > 0 ? at - 1 : rows->len - 1);
        one->count++;
        one->share += kernel->predicted.latency_ns / prediction->latency_ns;
    }
    const Row nodes = { NULL,
                        { prediction->overhead_ns / n, (double)NAN, (double)NAN, (double)NAN, (double)NAN, TRUE, TRUE,
                          TRUE },
                        prediction->kernels->len,
                        prediction->overhead_ns / prediction->latency_ns };
    if (prediction->overhead_ns > 0)
        g_array_append_val(rows, nodes);
    g_array_sort(rows, compare_rows);
    return rows;
}

/* "3 (Flatten, Reshape)"; NULL where there is none. (transfer full) */
static char *moving_text(const IfmModelPrediction *prediction)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    guint n = 0;
    for (guint i = 0; i < prediction->kernels->len; i++)
    {
        const IfmPredictedKernel *kernel = &g_array_index(prediction->kernels, IfmPredictedKernel, i);
        n += kernel->moves;
        if (kernel->moves && !g_ptr_array_find_with_equal_func(names, kernel->record->name, g_str_equal, NULL))
            g_ptr_array_add(names, kernel->record->name);
    }
    g_ptr_array_add(names, NULL);
    g_autofree char *list = g_strjoinv(", ", (char **)names->pdata);
    return n > 0 ? g_strdup_printf("%u (%s)", n, list) : NULL;
}

static const char *or_unknown(const char *text)
{
    return *text != '\0' ? text : "unknown";
}

/* Of another machine the latency model alone knows. */
static void add_place(IfmDocument *document, const IfmPredictReport *report)
{
    const IfmLatencyModelInfo *place = report->place;
    if (place == NULL)
    {
        ifm_document_fact(document, "device", "%s, %s", report->records->device, or_unknown(report->records->runtime));
        return;
    }
    ifm_document_fact(document, "for", "%s, %s, machine %s: as learnt from %s", or_unknown(place->device),
                      or_unknown(place->runtime), or_unknown(place->machine), or_unknown(place->data));
    ifm_document_fact(document, "kernels of", "%s, %s, machine %s", report->records->device, report->records->runtime,
                      or_unknown(report->records->processor));
}

static void add_facts(IfmDocument *document, const IfmPredictReport *report)
{
    const IfmModelPrediction *prediction = report->prediction;
    g_autofree char *latency = ifm_format_duration(prediction->latency_ns), *low = ifm_format_duration(prediction->low_ns),
                    *high = ifm_format_duration(prediction->high_ns),
                    *critical = ifm_format_duration(prediction->critical_ns);
    ifm_document_fact(document, "predicted", "%s, 90 %% from %s to %s, %s", latency, low, high, report->load);
    if (!isnan(report->measured_ns))
    {
        g_autofree char *measured = ifm_format_duration(report->measured_ns);
        ifm_document_fact(document, "measured", "%s: an error of %+.1f %%", measured,
                          100 * (prediction->latency_ns / report->measured_ns - 1));
    }
    ifm_document_fact(
        document, "kernels",
        "%u, of which %zu are outside of what was learnt; %s%.1f %% of the time is of known operators and sizes",
        prediction->kernels->len, prediction->n_unknown, prediction->n_unknown > 0 ? "at least " : "",
        100 * prediction->known_ratio);
    g_autofree char *moving = moving_text(prediction);
    if (moving != NULL)
        ifm_document_fact(document, "", "that only give data another shape and cost a node's overhead alone: %s", moving);
    ifm_document_fact(document, "longest path", "%s, predicted: kernels that wait for each other", critical);
    add_place(document, report);
}

#define MOST 0.9 /* of the time */

/* (transfer full) @rows: the largest share first */
static char *most_text(const GArray *rows)
{
    double sum = 0;
    guint n = 0;
    while (n < rows->len && sum < MOST)
        sum += g_array_index(rows, Row, n++).share;
    g_autofree char *share = ifm_say_per_cent(sum);
    return g_strdup_printf("%u of %u kernels take %s of the predicted time.", n, rows->len, share);
}

static char *shares_title(const char *model, const GArray *rows)
{
    const Row *first = rows->len > 0 ? &g_array_index(rows, Row, 0) : NULL;
    g_autofree char *name = first != NULL && first->record != NULL ? ifm_kernel_record_stem(first->record) : NULL,
                    *share = ifm_say_per_cent(first != NULL ? first->share : (double)NAN);
    if (first == NULL)
        return g_strdup_printf("%s has no kernel", model);
    return g_strdup_printf("Of the predicted time of %s, %s is %s", model, share,
                           name != NULL ? name : "the overhead of its nodes");
}

/* What could not be opened. */
static void add_failed(IfmDocument *document, const IfmPredictReport *reports, gsize n)
{
    GPtrArray *failed = g_ptr_array_new();
    for (gsize i = 0; i < n; i++)
        if (reports[i].prediction == NULL)
            g_ptr_array_add(failed, (gpointer)reports[i].records);
    if (failed->len > 0)
    {
        ifm_document_heading(document, "Not opened");
        ifm_document_table(document, "failed", failed_fields, failed);
    }
    else
        g_ptr_array_unref(failed);
}

IfmDocument *ifm_predict_document(const IfmPredictReport *reports, gsize n)
{
    IfmDocument *document = ifm_document_new("prediction", "Predicted latency");
    ifm_predict_add_headline(document, reports, n);
    for (gsize i = 0; i < n; i++)
    {
        if (reports[i].prediction == NULL)
            continue;
        g_autofree char *key = g_strdup_printf("kernels_%zu", i + 1);
        ifm_document_heading(document, reports[i].records->model);
        add_facts(document, &reports[i]);
        GArray *rows = rows_of(reports[i].prediction);
        g_autofree char *title = shares_title(reports[i].records->model, rows), *answer = most_text(rows);
        IfmSection *section =
            n == 1 ? ifm_document_question(document, "Where does the time go?", "%s", answer) : ifm_document_part(document);
        const IfmBlock *table = ifm_document_rows(document, n > 1 ? key : "kernels", fields, rows);
        g_autofree char *shares = g_strdup_printf("%s_shares", table->key);
        ifm_document_plot(document, shares, IFM_FIGURE_BARS, title, "The share of each kernel in the predicted latency.",
                          &table->table,
                          &(IfmPlotColumns){ .label = (const char *const[]){ "kernel", NULL },
                                             .y = (const char *const[]){ "share_ratio", NULL } });
        gpointer figure = g_ptr_array_steal_index(section->blocks, section->blocks->len - 1);
        g_ptr_array_insert(section->blocks, 0, figure); /* it says at a glance what the table has in full */
    }
    add_failed(document, reports, n);
    return document;
}

/* --- JSON ---------------------------------------------------------------------------------------------------------------
 */

static json_t *kernels_to_json(const IfmModelPrediction *prediction)
{
    json_t *kernels = json_array();
    for (guint k = 0; k < prediction->kernels->len; k++)
    {
        const IfmPredictedKernel *kernel = &g_array_index(prediction->kernels, IfmPredictedKernel, k);
        json_array_append_new(kernels,
                              json_pack("{s:o,s:o,s:s,s:f,s:f,s:f,s:b,s:b}", "node", ifm_json_string(kernel->record->node),
                                        "name", ifm_json_string(kernel->record->name), "digest", kernel->record->digest,
                                        "latency_ns", kernel->predicted.latency_ns, "low_ns", kernel->predicted.low_ns,
                                        "high_ns", kernel->predicted.high_ns, "known", kernel->predicted.known, "in_range",
                                        kernel->predicted.in_range));
    }
    return kernels;
}

json_t *ifm_predictions_to_json(const IfmPredictReport *reports, gsize n)
{
    json_t *json = ifm_json_begin("prediction", 1), *models = json_array();
    for (gsize i = 0; i < n; i++)
    {
        const IfmPredictReport *report = &reports[i];
        const IfmModelPrediction *prediction = report->prediction;
        if (prediction == NULL)
        {
            json_array_append_new(models, json_pack("{s:o,s:o}", "model", ifm_json_string(report->records->model), "reason",
                                                    ifm_json_string(report->records->reason)));
            continue;
        }
        json_t *model =
            json_pack("{s:o,s:s,s:f,s:f,s:f,s:f,s:f,s:o,s:I,s:o}", "model", ifm_json_string(report->records->model), "load",
                      report->load, "latency_ns", prediction->latency_ns, "low_ns", prediction->low_ns, "high_ns",
                      prediction->high_ns, "overhead_ns", prediction->overhead_ns, "critical_ns", prediction->critical_ns,
                      "known_ratio", ifm_json_real(prediction->known_ratio), "n_unknown", (json_int_t)prediction->n_unknown,
                      "kernels", kernels_to_json(prediction));
        if (report->warning != NULL)
            json_object_set_new(model, "warning", ifm_json_string(report->warning));
        if (report->place != NULL)
            json_object_set_new(model, "for",
                                json_pack("{s:o,s:o,s:o,s:o}", "device", ifm_json_string(report->place->device), "runtime",
                                          ifm_json_string(report->place->runtime), "machine",
                                          ifm_json_string(report->place->machine), "data",
                                          ifm_json_string(report->place->data)));
        json_array_append_new(models, model);
    }
    json_object_set_new(json, "models", models);
    return json;
}
