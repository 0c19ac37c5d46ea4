#include <math.h>
#include <string.h>

#include <base/fields.h>

#include "figures.h"
#include "profile-page-private.h"

/* What a profile shows of a graph transformer alone: its graph, its parts, its encoding. */

/* --- what it was built of ----------------------------------------------------------------------------------------------
 */

/* "synthetic, 500 nodes, …": 500; 0: it is not called by them */
static gint64 named_nodes(const char *name)
{
    static const char made[] = "synthetic, ";
    return g_str_has_prefix(name, made) ? g_ascii_strtoll(name + strlen(made), NULL, 10) : 0;
}

static void describe_graph(GString *text, const IfmProfileGraph *of)
{
    const IfmTransformer *transformer = of->transformer;
    g_autofree char *nodes = ifm_grouped(of->graph->n_nodes), *edges = ifm_grouped(of->graph->n_edges);
    g_string_append_printf(text, "%s: ", of->graph->name);
    if (transformer->num_graphs > 1)
        g_string_append_printf(text, "%" G_GINT64_FORMAT " graphs of at most %" G_GINT64_FORMAT " nodes, ",
                               transformer->num_graphs, transformer->most_nodes);
    if (of->graph->n_nodes != named_nodes(of->graph->name)) /* a graph that is made is called by them */
        g_string_append_printf(text, "%s nodes, ", nodes);
    g_string_append_printf(text, "%s edges, %" G_GINT64_FORMAT " number%s a node%s", edges, transformer->sizes.feature_dim,
                           ifm_plural(transformer->sizes.feature_dim),
                           of->graph->node_values == NULL ? " (seeded: it has none)"
                           : of->graph->values_of_labels  ? " (its labels, one-hot)"
                                                          : "");
}

/* Pairs: the scores that dense attention computes of each head, and those that are of two nodes of one graph. */
typedef struct
{
    gint64 computed, used;
} Pairs;

/* Returns: FALSE for sparse attention, which has no padding, and where they do not fit 63 bits. */
static gboolean count_pairs(const IfmProfileGraph *of, Pairs *pairs)
{
    const IfmTransformer *transformer = of->transformer;
    const gint64 *graphs = of->graph->node_graph, n = of->graph->n_nodes;
    if (transformer->attention != IFM_ATTENTION_DENSE)
        return FALSE;
    *pairs = (Pairs){ n * n, n * n };
    if (transformer->num_graphs <= 1 || graphs == NULL)
        return TRUE;
    *pairs = (Pairs){ 0 };
    if (__builtin_mul_overflow(transformer->most_nodes, transformer->most_nodes, &pairs->computed) ||
        __builtin_mul_overflow(pairs->computed, transformer->num_graphs, &pairs->computed))
        return FALSE;
    for (gint64 i = 0, begin = 0; i < n; i++)
    {
        begin = i > 0 && graphs[i] != graphs[i - 1] ? i : begin;
        pairs->used += 2 * (i - begin) + 1; /* the squares of the sizes, node by node */
    }
    return TRUE;
}

static void describe_padding(GString *text, const IfmProfileGraph *of)
{
    Pairs pairs;
    if (!count_pairs(of, &pairs) || pairs.used == pairs.computed)
        return;
    g_autofree char *computed = ifm_grouped(pairs.computed), *used = ifm_grouped(pairs.used);
    g_autofree char *share = ifm_format_ratio((double)pairs.used / (double)pairs.computed);
    g_string_append_printf(text,
                           "of attention's %s scores a head %s (%s) are of two nodes of one graph; the rest is padding to "
                           "the largest graph, and counted as work",
                           computed, used, share);
}

static void describe_sums(GString *text, const IfmProfileGraph *of)
{
    const IfmTransformer *transformer = of->transformer;
    if (transformer->attention == IFM_ATTENTION_DENSE && transformer->sizes.mpnn != IFM_MESSAGE_NONE &&
        transformer->scatter == IFM_SCATTER_ELEMENTS)
        g_string_append(text, "sums over edges by ScatterElements: scatter=mixed may be faster on few cores");
}

static void describe_layers(GString *text, const IfmProfileGraph *of)
{
    const IfmTransformer *transformer = of->transformer;
    const IfmTransformerSizes *sizes = &transformer->sizes;
    g_string_append_printf(text,
                           "%" G_GINT64_FORMAT ", %" G_GINT64_FORMAT " wide: %s attention of %" G_GINT64_FORMAT
                           " heads, feed-forward %" G_GINT64_FORMAT ", message passing %s, %s norm; a prediction a %s; "
                           "positional encoding %s",
                           sizes->num_layers, sizes->hidden_dim, ifm_attention_words()[transformer->attention],
                           sizes->num_heads, sizes->ffn_dim, ifm_message_passing_words()[sizes->mpnn],
                           ifm_norm_words()[transformer->norm], ifm_head_words()[transformer->head],
                           of->encoding_name != NULL ? of->encoding_name : "none");
}

void ifm_profile_add_graph(IfmDocument *document, const IfmProfileReport *report)
{
    static const struct
    {
        const char *name;
        void (*describe)(GString *text, const IfmProfileGraph *of);
    } facts[] = {
        { "graph", describe_graph }, { "", describe_padding }, { "layers", describe_layers }, { "", describe_sums }
    };
    for (gsize i = 0; i < G_N_ELEMENTS(facts) && report->graph != NULL; i++)
    {
        g_autoptr(GString) text = g_string_new(NULL);
        facts[i].describe(text, report->graph);
        if (text->len > 0)
            ifm_document_fact(document, facts[i].name, "%s", text->str);
    }
}

#define TRANSFORMER(key, member)                                                                                           \
    {                                                                                                                      \
        .name = key, .offset = offsetof(IfmTransformer, member), .type = IFM_RECORD_INT64                                  \
    }

static const IfmRecordField graph_fields[] = {
    TRANSFORMER("num_nodes", sizes.num_nodes),     TRANSFORMER("num_edges", sizes.num_edges),
    TRANSFORMER("num_graphs", num_graphs),         TRANSFORMER("most_nodes", most_nodes),
    TRANSFORMER("feature_dim", sizes.feature_dim), { NULL },
};

static const IfmRecordField form_fields[] = {
    TRANSFORMER("hidden_dim", sizes.hidden_dim),
    TRANSFORMER("num_layers", sizes.num_layers),
    TRANSFORMER("num_heads", sizes.num_heads),
    TRANSFORMER("ffn_dim", sizes.ffn_dim),
    TRANSFORMER("num_outputs", sizes.num_outputs),
    TRANSFORMER("pe_dim", sizes.pe_dim),
    { NULL },
};

json_t *ifm_profile_graph_to_json(const IfmProfileReport *report)
{
    const IfmProfileGraph *of = report->graph;
    const IfmTransformer *transformer = of->transformer;
    json_t *json = json_object();
    json_object_set_new(json, "graph", ifm_json_string(of->graph->name));
    json_object_update_new(json, ifm_record_to_json(transformer, graph_fields));
    json_object_set_new(json, "seeded_features", json_boolean(of->graph->node_values == NULL));
    json_object_update_new(json, ifm_record_to_json(transformer, form_fields));
    if (transformer->sizes.pe == IFM_ENCODING_NONE)
        json_object_set_new(json, "pe_dim", json_integer(0));
    json_object_set_new(json, "mpnn", json_string(ifm_message_passing_words()[transformer->sizes.mpnn]));
    json_object_set_new(json, "pe", json_string(ifm_positional_encoding_words()[transformer->sizes.pe]));
    json_object_set_new(json, "attention", json_string(ifm_attention_words()[transformer->attention]));
    json_object_set_new(json, "norm", json_string(ifm_norm_words()[transformer->norm]));
    json_object_set_new(json, "head", json_string(ifm_head_words()[transformer->head]));
    json_object_set_new(json, "dropout", json_real(transformer->dropout));
    Pairs pairs;
    gboolean dense = count_pairs(of, &pairs);
    json_object_set_new(json, "label_features", json_boolean(of->graph->values_of_labels));
    json_object_set_new(json, "score_pairs", dense ? json_integer(pairs.computed) : json_null());
    json_object_set_new(json, "score_pairs_used", dense ? json_integer(pairs.used) : json_null());
    json_object_set_new(json, "score_pairs_used_ratio",
                        dense && pairs.computed > 0 ? json_real((double)pairs.used / (double)pairs.computed) : json_null());
    return json;
}

/* --- its work, by the closed form too -----------------------------------------------------------------------------------
 */

void ifm_profile_add_closed_form(IfmDocument *document, const IfmProfileReport *report)
{
    IfmTransformerEstimate estimate;
    IfmNodeCost total;
    gsize n_covered;
    g_autoptr(GError) error = NULL;
    if (report->graph == NULL || report->mode != NULL) /* it is of the evaluation form */
        return;
    ifm_analysis_total(report->analysis, &total, &n_covered);
    if (!ifm_transformer_estimate(report->graph->transformer, &estimate, &error))
        ifm_document_fact(document, "", "by the closed form %s", error->message);
    else if (estimate.total.flop == total.flop)
        ifm_document_fact(document, "", "by the closed form as many");
    else
    {
        g_autofree char *flop = ifm_grouped(estimate.total.flop), *own = ifm_grouped(total.flop);
        ifm_document_fact(document, "", "by the closed form %s FLOP, by the model's own graph %s: they differ", flop, own);
    }
}

json_t *ifm_profile_closed_form_to_json(const IfmProfileReport *report)
{
    IfmTransformerEstimate estimate;
    IfmNodeCost total;
    gsize n_covered;
    if (report->analysis == NULL || !ifm_transformer_estimate(report->graph->transformer, &estimate, NULL))
        return json_null();
    ifm_analysis_total(report->analysis, &total, &n_covered);
    json_t *json = json_object();
    json_object_set_new(json, "total_flop", json_integer(estimate.total.flop));
    json_object_set_new(json, "total_macs", json_integer(estimate.total.macs));
    json_object_set_new(json, "parameters", json_integer(estimate.total.parameters));
    json_object_set_new(json, "equal", json_boolean(estimate.total.flop == total.flop));
    return json;
}

/* --- parts --------------------------------------------------------------------------------------------------------------
 */

static void get_part_rate(const void *record, const void *user, IfmValue *value)
{
    const IfmModelPart *part = record;
    if (part->flop > 0 && part->time_ns > 0)
        ifm_value_set_real(value, (double)part->flop / part->time_ns);
}

#define PART(member, ...) IFM_MEMBER(IfmModelPart, member, ##__VA_ARGS__)

static const IfmField part_fields[] = {
    { "part", "part", IFM_FIELD_TEXT, PART(name) },
    { "n", "nodes", IFM_FIELD_INTEGER, PART(n_nodes) },
    { "macs", NULL, IFM_FIELD_INTEGER, PART(macs), IFM_FIELD_NO_SCREEN },
    { "flop", NULL, IFM_FIELD_INTEGER, PART(flop), IFM_FIELD_NO_SCREEN },
    { "mflop", "MFLOP", IFM_FIELD_REAL, PART(flop, .per = 1e6), IFM_FIELD_NO_EXPORT },
    { "flop_ratio", "of FLOPs", IFM_FIELD_RATIO, PART(flop_ratio) },
    { "flop_bar", "", IFM_FIELD_BAR, PART(flop_ratio), IFM_FIELD_NO_EXPORT },
    { "time_ns", "time", IFM_FIELD_DURATION, PART(time_ns), IFM_FIELD_HIDE_EMPTY },
    { "time_ratio", "of time", IFM_FIELD_RATIO, PART(time_ratio), IFM_FIELD_HIDE_EMPTY },
    { "time_bar", "", IFM_FIELD_BAR, PART(time_ratio), IFM_FIELD_NO_EXPORT | IFM_FIELD_HIDE_EMPTY },
    { "gflop_per_s", "GFLOP/s", IFM_FIELD_REAL, get_part_rate, NULL, IFM_FIELD_NO_EXPORT | IFM_FIELD_HIDE_EMPTY },
    { NULL },
};

/* Of the parts that there are. */
static GPtrArray *part_records(const GArray *parts)
{
    GPtrArray *records = g_ptr_array_new();
    for (guint i = 0; i < parts->len; i++)
    {
        IfmModelPart *part = &g_array_index(parts, IfmModelPart, i);
        if (part->n_nodes > 0 || part->time_ns > 0)
            g_ptr_array_add(records, part);
    }
    return records;
}

void ifm_profile_add_parts(const IfmProfilePage *page, const char *key, const IfmKernels *kernels)
{
    GArray *parts = ifm_profile_parts(page->report, kernels);
    if (parts == NULL)
        return;
    ifm_document_keep(page->document, parts, (GDestroyNotify)g_array_unref);
    ifm_document_part(page->document);
    ifm_document_table(page->document, key, part_fields, part_records(parts));
}

json_t *ifm_profile_parts_to_json(const IfmProfileReport *report, const IfmKernels *kernels)
{
    g_autoptr(GArray) parts = ifm_profile_parts(report, kernels);
    if (parts == NULL)
        return json_null();
    g_autoptr(GPtrArray) records = part_records(parts);
    return ifm_rows_to_json(part_fields, records);
}

/* The encoding is computed once, outside the model: its part is no share of the total. */
json_t *ifm_profile_part_flops(const IfmProfileReport *report)
{
    IfmTransformerEstimate estimate;
    g_autoptr(GArray) parts = ifm_profile_parts(report, NULL);
    if (parts == NULL)
        return NULL;
    json_t *json = json_object();
    for (guint i = 0; i < parts->len; i++)
    {
        const IfmModelPart *part = &g_array_index(parts, IfmModelPart, i);
        g_autofree char *key = g_strdelimit(g_strdup(part->name), " ", '_');
        if (i < IFM_N_MODEL_PARTS || part->n_nodes > 0)
            json_object_set_new(json, key, ifm_json_real((double)part->flop / 1e9));
    }
    gboolean known = ifm_transformer_estimate(report->graph->transformer, &estimate, NULL);
    json_object_set_new(json, "pe", ifm_json_real(known ? (double)estimate.encoding.flop / 1e9 : (double)NAN));
    return json;
}

/* --- the positional encoding
 * ---------------------------------------------------------------------------------------------- */

static void get_storage_held(const void *record, const void *user, IfmValue *value)
{
    const IfmStorageRow *row = record;
    if (ifm_is_as_estimated(row->estimated, row->held))
        ifm_value_set_text(value, "as estimated");
    else if (isfinite(row->held))
        ifm_value_take_text(value, ifm_format_bytes(row->held));
}

#define STORAGE(member) IFM_MEMBER(IfmStorageRow, member)

static const IfmField storage_fields[] = {
    { "storage", "encoding", IFM_FIELD_TEXT, STORAGE(name), IFM_FIELD_WHOLE },
    { "estimated_bytes", "estimated", IFM_FIELD_BYTES, STORAGE(estimated) },
    { "held", "held", IFM_FIELD_TEXT, get_storage_held },
    { NULL },
};

static gint64 encoding_flop(const IfmProfileGraph *of)
{
    IfmTransformerEstimate estimate;
    return ifm_transformer_estimate(of->transformer, &estimate, NULL) ? estimate.encoding.flop : -1;
}

static void add_encoding_time(IfmDocument *document, const IfmProfileGraph *of)
{
    g_autoptr(GString) text = g_string_new(NULL);
    gint64 flop = encoding_flop(of);
    g_autofree char *work = ifm_scaled((double)flop);
    g_string_append_printf(text, "%s: ", of->encoding_name);
    if (of->encoding_cost == NULL)
        g_string_append_printf(text, "not measured: %s",
                               of->no_encoding_cost != NULL ? of->no_encoding_cost : "not asked for");
    else
    {
        const IfmSummary *summary = &of->encoding_cost->summary;
        double lower_ns = summary->median_interval.lower;
        g_autofree char *median = ifm_joined_duration(summary->median);
        g_autofree char *lower = ifm_joined_duration(lower_ns);
        g_autofree char *upper = ifm_joined_duration(summary->median_interval.upper);
        g_string_append(text, median);
        if (isfinite(lower_ns)) /* few runs bound no median */
            g_string_append_printf(text, " (%s to %s)", lower, upper);
        guint n = of->encoding_cost->samples_ns->len;
        g_string_append(text, ", once, on this machine's processor; ");
        if (n == 1)
            g_string_append(text, "one run");
        else
            g_string_append_printf(text, "median of %u runs", n);
    }
    if (flop >= 0 && of->transformer->sizes.pe != IFM_ENCODING_LAPLACIAN) /* of that it is a lower bound */
        g_string_append_printf(text, "; %sFLOP by the closed form", work);
    ifm_document_fact(document, "encoding", "%s", text->str);
}

void ifm_profile_add_encoding(IfmDocument *document, const IfmProfileReport *report)
{
    const IfmProfileGraph *of = report->graph;
    if (of == NULL || (report->parts & IFM_PROFILE_PE) == 0)
        return;
    ifm_document_part(document);
    if (of->encoding_name == NULL)
    {
        ifm_document_fact(document, "encoding", "none: nothing to compute or to store");
        return;
    }
    add_encoding_time(document, of);
    for (guint i = 0; of->encoding != NULL && of->encoding->notes != NULL && i < of->encoding->notes->len; i++)
        ifm_document_fact(document, "", "%s", (const char *)of->encoding->notes->pdata[i]);
    ifm_document_part(document);
    ifm_document_rows(document, "encoding-storage", storage_fields, ifm_profile_storage_rows(of));
}

static const IfmField storage_bytes[] = {
    { "estimated_bytes", NULL, IFM_FIELD_INTEGER, STORAGE(estimated) },
    { "held_bytes", NULL, IFM_FIELD_INTEGER, STORAGE(held) },
    { NULL },
};

static json_t *storage_to_json(const IfmProfileGraph *of)
{
    g_autoptr(GArray) rows = ifm_profile_storage_rows(of);
    json_t *json = json_object();
    for (guint i = 0; i < rows->len; i++)
    {
        const IfmStorageRow *row = &g_array_index(rows, IfmStorageRow, i);
        json_object_set_new(json, row->key, ifm_row_to_json(storage_bytes, row));
    }
    return json;
}

json_t *ifm_profile_encoding_to_json(const IfmProfileReport *report)
{
    const IfmProfileGraph *of = report->graph;
    const IfmTransformerSizes *sizes = &of->transformer->sizes;
    gboolean any = of->encoding_name != NULL;
    gint64 flop = any ? encoding_flop(of) : 0;
    json_t *json = json_object(), *notes = json_array();
    for (guint i = 0; of->encoding != NULL && of->encoding->notes != NULL && i < of->encoding->notes->len; i++)
        json_array_append_new(notes, ifm_json_string(of->encoding->notes->pdata[i]));
    json_object_set_new(json, "kind", json_string(any ? ifm_positional_encoding_words()[sizes->pe] : "none"));
    json_object_set_new(json, "dim", json_integer(any ? sizes->pe_dim : 0));
    json_object_set_new(json, "computing", ifm_profile_time_to_json(of->encoding_cost));
    json_object_set_new(json, "why", ifm_json_text(any ? of->no_encoding_cost : NULL));
    json_object_set_new(json, "flop", flop >= 0 ? json_integer(flop) : json_null());
    json_object_set_new(json, "storage", storage_to_json(of));
    json_object_set_new(json, "notes", notes);
    if (any)
        ifm_json_add_record(json, of->encoding_case, of->encoding_cost);
    return json;
}
