#include <malloc.h>
#include <math.h>
#include <string.h>

#include <inferometer/json.h>

#include "profile-private.h"

/* What a profile tells of a graph transformer beside what it tells of any model: its graph, its parts, its encoding. */

static const char *const part_names[] = {
    "input", "mpnn", "attention", "ffn", "norm", "head", "loss", "update", "not known"
};
#define N_OF_MODEL 6 /* those that a model itself has; the others are of a training step */
#define N_PARTS G_N_ELEMENTS(part_names)
#define UNKNOWN_PART (N_PARTS - 1)

static double bytes_held(const void *memory)
{
    return memory != NULL ? (double)malloc_usable_size((void *)memory) : 0;
}

static void append_unless_empty(GString *out, const GString *text, const char *label, const IfmScreen *screen)
{
    if (text->len > 0)
        ifm_page_labelled(out, label, text->str, screen);
}

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
                           transformer->sizes.feature_dim == 1 ? "" : "s",
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

void ifm_profile_graph(GString *out, const IfmProfileStory *story, const IfmScreen *screen)
{
    g_autoptr(GString) text = g_string_new(NULL);
    if (story->graph == NULL)
        return;
    describe_graph(text, story->graph);
    append_unless_empty(out, text, "graph", screen);
    g_string_truncate(text, 0);
    describe_padding(text, story->graph);
    append_unless_empty(out, text, "", screen);
    g_string_truncate(text, 0);
    describe_layers(text, story->graph);
    append_unless_empty(out, text, "layers", screen);
    g_string_truncate(text, 0);
    describe_sums(text, story->graph);
    append_unless_empty(out, text, "", screen);
}

json_t *ifm_profile_graph_to_json(const IfmProfileStory *story)
{
    const IfmProfileGraph *of = story->graph;
    const IfmTransformer *transformer = of->transformer;
    const IfmTransformerSizes *sizes = &transformer->sizes;
    json_t *json =
        json_pack("{s:o,s:I,s:I,s:I,s:I,s:I,s:b}", "graph", ifm_json_string(of->graph->name), "num_nodes",
                  (json_int_t)sizes->num_nodes, "num_edges", (json_int_t)sizes->num_edges, "num_graphs",
                  (json_int_t)transformer->num_graphs, "most_nodes", (json_int_t)transformer->most_nodes, "feature_dim",
                  (json_int_t)sizes->feature_dim, "seeded_features", of->graph->node_values == NULL);
    json_t *form =
        json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:s,s:s,s:s,s:s,s:s,s:f}", "hidden_dim", (json_int_t)sizes->hidden_dim,
                  "num_layers", (json_int_t)sizes->num_layers, "num_heads", (json_int_t)sizes->num_heads, "ffn_dim",
                  (json_int_t)sizes->ffn_dim, "num_outputs", (json_int_t)sizes->num_outputs, "pe_dim",
                  (json_int_t)(sizes->pe != IFM_ENCODING_NONE ? sizes->pe_dim : 0), "mpnn",
                  ifm_message_passing_words()[sizes->mpnn], "pe", ifm_positional_encoding_words()[sizes->pe], "attention",
                  ifm_attention_words()[transformer->attention], "norm", ifm_norm_words()[transformer->norm], "head",
                  ifm_head_words()[transformer->head], "dropout", transformer->dropout);
    json_object_update(json, form);
    json_decref(form);
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

void ifm_profile_closed_form(GString *out, const IfmProfileStory *story, const IfmScreen *screen)
{
    IfmTransformerEstimate estimate;
    IfmNodeCost total;
    gsize n_covered;
    g_autoptr(GError) error = NULL;
    g_autoptr(GString) text = g_string_new("by the closed form ");
    if (story->graph == NULL || story->mode != NULL) /* it is of the evaluation form */
        return;
    ifm_analysis_total(story->analysis, &total, &n_covered);
    if (!ifm_transformer_estimate(story->graph->transformer, &estimate, &error))
        g_string_append(text, error->message);
    else if (estimate.total.flop == total.flop)
        g_string_append(text, "as many");
    else
    {
        g_autofree char *flop = ifm_grouped(estimate.total.flop), *own = ifm_grouped(total.flop);
        g_string_append_printf(text, "%s FLOP, by the model's own graph %s: they differ", flop, own);
    }
    ifm_page_labelled(out, "", text->str, screen);
}

json_t *ifm_profile_closed_form_to_json(const IfmProfileStory *story)
{
    IfmTransformerEstimate estimate;
    IfmNodeCost total;
    gsize n_covered;
    if (story->analysis == NULL || !ifm_transformer_estimate(story->graph->transformer, &estimate, NULL))
        return json_null();
    ifm_analysis_total(story->analysis, &total, &n_covered);
    return json_pack("{s:I,s:I,s:I,s:b}", "total_flop", (json_int_t)estimate.total.flop, "total_macs",
                     (json_int_t)estimate.total.macs, "parameters", (json_int_t)estimate.total.parameters, "equal",
                     estimate.total.flop == total.flop);
}

/* --- parts --------------------------------------------------------------------------------------------------------------
 */

static gsize part_named(const char *part)
{
    for (gsize i = 0; i < UNKNOWN_PART && part != NULL; i++)
        if (g_str_equal(part_names[i], part))
            return i;
    return UNKNOWN_PART;
}

static gsize part_index(const char *node_name)
{
    return part_named(node_name != NULL ? ifm_transformer_part_of(node_name) : NULL);
}

/* A runtime that takes a normalisation apart may call what is left of it by a number: no other part has that operator. */
static gboolean is_normalisation(const IfmLayer *layer)
{
    static const char *const operators[] = { "MVN", "LayerNormalization", "BatchNormalization", NULL };
    return g_strv_contains(operators, layer->node->op_type);
}

/* By its own name; by the model's node that does most of it; by the one whose result it makes; by any in it; by what it
 * does. */
static gsize part_of_layer(const IfmProfileStory *story, const IfmLayer *layer)
{
    gssize maker = layer->makes != NULL ? ifm_model_producer(story->model, layer->makes) : -1;
    const char *tries[] = { layer->node->name, layer->label,
                            maker >= 0 ? ifm_model_node(story->model, (gsize)maker)->name : NULL };
    for (gsize i = 0; i < G_N_ELEMENTS(tries); i++)
        if (part_index(tries[i]) != UNKNOWN_PART)
            return part_index(tries[i]);
    g_auto(GStrv) members = g_strsplit(layer->members != NULL ? layer->members : "", ", ", -1);
    for (char **member = members; *member != NULL; member++)
        if (part_index(*member) != UNKNOWN_PART)
            return part_index(*member);
    return is_normalisation(layer) ? part_named("norm") : UNKNOWN_PART;
}

static void add_times(IfmProfilePart parts[N_PARTS], const IfmProfileStory *story, const IfmProfileDevice *device)
{
    g_autoptr(IfmLayers) layers = device != NULL ? ifm_profile_layers(story, device) : NULL;
    for (gsize i = 0; i < N_PARTS; i++)
        parts[i].time_ns = parts[i].time_ratio = layers != NULL ? 0 : (double)NAN;
    for (guint row = 0; layers != NULL && row < layers->rows->len; row++)
    {
        const IfmLayer *layer = layers->rows->pdata[row];
        IfmProfilePart *part = &parts[part_of_layer(story, layer)];
        part->time_ns += layer->node->median_ns;
        part->time_ratio += layer->share_ratio;
    }
}

GArray *ifm_profile_parts(const IfmProfileStory *story, const IfmProfileDevice *device)
{
    IfmProfilePart parts[N_PARTS] = { 0 };
    gint64 flop = 0;
    if (story->graph == NULL || story->analysis == NULL)
        return NULL;
    for (gsize i = 0; i < ifm_model_n_nodes(story->model); i++)
    {
        const IfmNodeCost *cost = ifm_analysis_node_cost(story->analysis, i);
        IfmProfilePart *part = &parts[part_index(ifm_model_node(story->model, i)->name)];
        part->n_nodes++;
        part->macs += cost->macs;
        part->flop += cost->flop;
        flop += cost->flop;
    }
    add_times(parts, story, device);
    GArray *found = g_array_new(FALSE, FALSE, sizeof(IfmProfilePart));
    for (gsize i = 0; i < N_PARTS; i++)
    {
        parts[i].name = part_names[i];
        parts[i].flop_ratio = flop > 0 ? (double)parts[i].flop / (double)flop : 0;
        if (parts[i].n_nodes > 0 || parts[i].time_ns > 0)
            g_array_append_val(found, parts[i]);
    }
    return found;
}

static void get_part_mega(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_real(value, (double)((const IfmProfilePart *)record)->flop / 1e6);
}

static void get_part_rate(const void *record, const void *user, IfmValue *value)
{
    const IfmProfilePart *part = record;
    if (part->flop > 0 && part->time_ns > 0)
        ifm_value_set_real(value, (double)part->flop / part->time_ns);
}

#define PART(member) IFM_FIELD_AT(IfmProfilePart, member)

static const IfmField part_fields[] = {
    { "part", "part", IFM_FIELD_TEXT, ifm_field_get_text, PART(name) },
    { "n", "nodes", IFM_FIELD_INTEGER, ifm_field_get_count, PART(n_nodes) },
    { "macs", NULL, IFM_FIELD_INTEGER, ifm_field_get_integer, PART(macs), IFM_FIELD_NO_SCREEN },
    { "flop", NULL, IFM_FIELD_INTEGER, ifm_field_get_integer, PART(flop), IFM_FIELD_NO_SCREEN },
    { "mflop", "MFLOP", IFM_FIELD_REAL, get_part_mega, NULL, IFM_FIELD_NO_EXPORT },
    { "flop_ratio", "of FLOPs", IFM_FIELD_RATIO, ifm_field_get_real, PART(flop_ratio) },
    { "flop_bar", "", IFM_FIELD_BAR, ifm_field_get_real, PART(flop_ratio), IFM_FIELD_NO_EXPORT },
    { "time_ns", "time", IFM_FIELD_DURATION, ifm_field_get_real, PART(time_ns), IFM_FIELD_HIDE_EMPTY },
    { "time_ratio", "of time", IFM_FIELD_RATIO, ifm_field_get_real, PART(time_ratio), IFM_FIELD_HIDE_EMPTY },
    { "time_bar", "", IFM_FIELD_BAR, ifm_field_get_real, PART(time_ratio), IFM_FIELD_NO_EXPORT | IFM_FIELD_HIDE_EMPTY },
    { "gflop_per_s", "GFLOP/s", IFM_FIELD_REAL, get_part_rate, NULL, IFM_FIELD_NO_EXPORT | IFM_FIELD_HIDE_EMPTY },
    { NULL },
};

static GPtrArray *pointers_to(const GArray *parts)
{
    GPtrArray *records = g_ptr_array_new();
    for (guint i = 0; i < parts->len; i++)
        g_ptr_array_add(records, &g_array_index(parts, IfmProfilePart, i));
    return records;
}

void ifm_profile_parts_table(GString *out, const IfmProfileStory *story, const IfmProfileDevice *device,
                             const IfmScreen *screen)
{
    g_autoptr(GArray) parts = ifm_profile_parts(story, device);
    if (parts == NULL)
        return;
    g_autoptr(GPtrArray) records = pointers_to(parts);
    g_string_append_c(out, '\n');
    ifm_page_table(out, part_fields, records, screen);
}

json_t *ifm_profile_parts_to_json(const IfmProfileStory *story, const IfmProfileDevice *device)
{
    g_autoptr(GArray) parts = ifm_profile_parts(story, device);
    if (parts == NULL)
        return json_null();
    g_autoptr(GPtrArray) records = pointers_to(parts);
    IfmTable table = { part_fields, (const void *const *)records->pdata, records->len };
    return ifm_table_to_json(&table);
}

/* The encoding is computed once, beside the model: its part is no share of the total. */
json_t *ifm_profile_part_flops(const IfmProfileStory *story)
{
    IfmTransformerEstimate estimate;
    g_autoptr(GArray) parts = ifm_profile_parts(story, NULL);
    if (parts == NULL)
        return NULL;
    json_t *json = json_object();
    for (gsize i = 0; i < N_OF_MODEL; i++)
        json_object_set_new(json, part_names[i], json_real(0));
    for (guint i = 0; i < parts->len; i++)
    {
        const IfmProfilePart *part = &g_array_index(parts, IfmProfilePart, i);
        g_autofree char *key = g_strdelimit(g_strdup(part->name), " ", '_');
        json_object_set_new(json, key, ifm_json_real((double)part->flop / 1e9));
    }
    gboolean known = ifm_transformer_estimate(story->graph->transformer, &estimate, NULL);
    json_object_set_new(json, "pe", ifm_json_real(known ? (double)estimate.encoding.flop / 1e9 : (double)NAN));
    return json;
}

/* --- what attention takes ------------------------------------------------------------------------------------------------
 */

gboolean ifm_profile_attention_bytes(const IfmTransformer *transformer, gboolean with_softmax, gint64 *bytes,
                                     GError **error)
{
    const IfmTransformerSizes *sizes = &transformer->sizes;
    gboolean dense = transformer->attention == IFM_ATTENTION_DENSE;
    double pairs = (double)sizes->num_nodes * (double)sizes->num_nodes;
    double ratio = dense ? 1 : CLAMP((double)sizes->num_edges / MAX(pairs, 1), 0, 1);
    if (!ifm_estimate_attention_bytes(dense ? transformer->most_nodes : sizes->num_nodes, sizes->num_heads, ratio,
                                      with_softmax, bytes, error))
        return FALSE;
    if (!dense || !__builtin_mul_overflow(*bytes, MAX(transformer->num_graphs, 1), bytes))
        return TRUE;
    g_set_error_literal(error, IFM_ERROR, IFM_ERROR_INVALID, "num_graphs: the bytes of attention do not fit 63 bits");
    return FALSE;
}

/* The most bytes that attention's nodes have made and somebody still has to read; -1 where a shape is not known. */
static gint64 attention_alive(const IfmProfileStory *story)
{
    gsize n = ifm_model_n_nodes(story->model);
    g_autofree gint64 *change = g_new0(gint64, n + 2);
    g_auto(IfmMemoryPlan) plan = { 0 };
    ifm_analysis_memory(story->analysis, &plan);
    for (guint i = 0; i < plan.lifetimes->len; i++)
    {
        const IfmLifetime *life = &g_array_index(plan.lifetimes, IfmLifetime, i);
        if (life->first < 0 ||
            part_index(ifm_model_node(story->model, (gsize)life->first)->name) != part_named("attention"))
            continue;
        if (life->bytes < 0)
            return -1;
        change[life->first] += life->bytes;
        change[MIN(life->last, (gssize)n) + 1] -= life->bytes;
    }
    gint64 alive = 0, most = 0;
    for (gsize i = 0; i < n; i++)
    {
        alive += change[i];
        most = MAX(most, alive);
    }
    return most;
}

void ifm_profile_attention_rows(GArray *rows, const IfmProfileStory *story)
{
    gint64 bytes, alive;
    if (story->graph == NULL)
        return;
    const IfmTransformer *transformer = story->graph->transformer;
    gboolean trains = ifm_model_producer(story->model, "loss") >= 0; /* what a backward pass reads is kept until then */
    gint64 layers = trains ? transformer->sizes.num_layers : MIN(transformer->sizes.num_layers, 1);
    if (ifm_profile_attention_bytes(transformer, trains, &bytes, NULL))
        ifm_memory_row_add(rows, "", "attention_estimated", "attention, estimated", (double)bytes * (double)layers,
                           trains ? "every layer's scores and their softmax, by the closed form"
                                  : "one layer's scores, by the closed form");
    if ((alive = attention_alive(story)) >= 0)
        ifm_memory_row_add(rows, "", "attention_planned", "attention, least", (double)alive,
                           "the most of what attention makes alive at once, by the shapes");
}

/* --- the positional encoding
 * ---------------------------------------------------------------------------------------------- */

/* StorageRow: what an encoding takes. @held: NaN where nobody holds it */
typedef struct
{
    const char *key, *name;
    double estimated, held;
} StorageRow;

/* Returns: how many of @rows (4) there are. */
static gsize storage_rows(const IfmProfileGraph *of, StorageRow *rows)
{
    const IfmTransformerSizes *sizes = &of->transformer->sizes;
    IfmEncodingStorage storage;
    gsize n = 0;
    if (!ifm_estimate_encoding_storage(sizes->num_nodes, sizes->num_edges, sizes->pe_dim, &storage, NULL))
        return 0;
    rows[n++] = (StorageRow){ "node", "of nodes", (double)storage.node,
                              of->encoding != NULL ? bytes_held(of->encoding->values) : (double)NAN };
    rows[n++] = (StorageRow){ "relative_dense", "relative, of all pairs", (double)storage.relative_dense, NAN };
    rows[n++] = (StorageRow){ "relative_sparse", "relative, of edges", (double)storage.relative_sparse, NAN };
    if (of->encoding != NULL && of->encoding->eigenvalues != NULL)
        rows[n++] = (StorageRow){ "eigenvalues", "eigenvalues, beside it",
                                  (double)(8 * of->transformer->num_graphs * sizes->pe_dim),
                                  bytes_held(of->encoding->eigenvalues) };
    return n;
}

gboolean ifm_is_as_estimated(double estimated, double held)
{
    double page = 4096, rounding = estimated < 32 * page ? 32 : 2 * page; /* of the C library's malloc */
    return held >= estimated && held <= estimated + rounding;
}

static void get_storage_held(const void *record, const void *user, IfmValue *value)
{
    const StorageRow *row = record;
    if (ifm_is_as_estimated(row->estimated, row->held))
        ifm_value_set_text(value, "as estimated");
    else if (isfinite(row->held))
        ifm_value_take_text(value, ifm_format_bytes(row->held));
}

#define STORAGE(member) IFM_FIELD_AT(StorageRow, member)

static const IfmField storage_fields[] = {
    { "storage", "encoding", IFM_FIELD_TEXT, ifm_field_get_text, STORAGE(name), IFM_FIELD_WHOLE },
    { "estimated_bytes", "estimated", IFM_FIELD_BYTES, ifm_field_get_real, STORAGE(estimated) },
    { "held", "held", IFM_FIELD_TEXT, get_storage_held },
    { NULL },
};

void ifm_profile_encoding_bytes(const IfmProfileGraph *of, double *estimated, double *held)
{
    StorageRow rows[4];
    gboolean known = of->encoding_name != NULL && storage_rows(of, rows) > 0;
    *estimated = known ? rows[0].estimated : (double)NAN;
    *held = known ? rows[0].held : (double)NAN;
}

static gint64 encoding_flop(const IfmProfileGraph *of)
{
    IfmTransformerEstimate estimate;
    return ifm_transformer_estimate(of->transformer, &estimate, NULL) ? estimate.encoding.flop : -1;
}

static void append_encoding_time(GString *out, const IfmProfileGraph *of, const IfmScreen *screen)
{
    g_autoptr(GString) text = g_string_new(NULL);
    gint64 flop = encoding_flop(of);
    g_autofree char *work = ifm_scaled((double)flop);
    g_string_append_printf(text, "%s: ", of->encoding_name);
    if (of->encoding_cost == NULL)
        g_string_append_printf(text, "not measured: %s",
                               of->no_encoding_cost != NULL ? of->no_encoding_cost : "nobody asked");
    else
    {
        const json_t *summary = of->encoding_cost->summary;
        double lower_ns = ifm_member_number(summary, "median_interval.lower");
        g_autofree char *median = ifm_joined_duration(ifm_member_number(summary, "median"));
        g_autofree char *lower = ifm_joined_duration(lower_ns);
        g_autofree char *upper = ifm_joined_duration(ifm_member_number(summary, "median_interval.upper"));
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
    if (flop >= 0 && of->transformer->sizes.pe != IFM_ENCODING_LAPLACIAN) /* of that it is a bound that tells nothing */
        g_string_append_printf(text, "; %sFLOP by the closed form", work);
    g_string_append_c(out, '\n');
    ifm_page_labelled(out, "encoding", text->str, screen);
}

static void append_notes(GString *out, const IfmProfileGraph *of, const IfmScreen *screen)
{
    for (guint i = 0; of->encoding != NULL && of->encoding->notes != NULL && i < of->encoding->notes->len; i++)
        ifm_page_labelled(out, "", of->encoding->notes->pdata[i], screen);
}

void ifm_profile_encoding(GString *out, const IfmProfileStory *story, const IfmScreen *screen)
{
    const IfmProfileGraph *of = story->graph;
    if (of == NULL || (story->parts & IFM_PROFILE_PE) == 0)
        return;
    if (of->encoding_name == NULL)
    {
        g_string_append_c(out, '\n');
        ifm_page_labelled(out, "encoding", "none: nothing to compute or to store", screen);
        return;
    }
    append_encoding_time(out, of, screen);
    append_notes(out, of, screen);
    StorageRow rows[4];
    g_autoptr(GPtrArray) records = g_ptr_array_new();
    gsize n = storage_rows(of, rows);
    for (gsize i = 0; i < n; i++)
        g_ptr_array_add(records, &rows[i]);
    g_string_append_c(out, '\n');
    ifm_page_table(out, storage_fields, records, screen);
}

static json_t *storage_to_json(const IfmProfileGraph *of)
{
    StorageRow rows[4];
    gsize n = storage_rows(of, rows);
    json_t *json = json_object();
    for (gsize i = 0; i < n; i++)
        json_object_set_new(json, rows[i].key,
                            json_pack("{s:I,s:o}", "estimated_bytes", (json_int_t)rows[i].estimated, "held_bytes",
                                      isfinite(rows[i].held) ? json_integer((json_int_t)rows[i].held) : json_null()));
    return json;
}

json_t *ifm_profile_encoding_to_json(const IfmProfileStory *story)
{
    const IfmProfileGraph *of = story->graph;
    const IfmTransformerSizes *sizes = &of->transformer->sizes;
    if (of->encoding_name == NULL)
        return json_pack("{s:s,s:i,s:n,s:n,s:I,s:{},s:[]}", "kind", "none", "dim", 0, "computing", "why", "flop",
                         (json_int_t)0, "storage", "notes");
    json_t *notes = json_array();
    for (guint i = 0; of->encoding != NULL && of->encoding->notes != NULL && i < of->encoding->notes->len; i++)
        json_array_append_new(notes, ifm_json_string(of->encoding->notes->pdata[i]));
    gint64 flop = encoding_flop(of);
    json_t *json = json_pack("{s:s,s:I,s:o,s:o,s:o,s:o,s:o}", "kind", ifm_positional_encoding_words()[sizes->pe], "dim",
                             (json_int_t)sizes->pe_dim, "computing", ifm_profile_time_to_json(of->encoding_cost), "why",
                             of->no_encoding_cost != NULL ? ifm_json_string(of->no_encoding_cost) : json_null(), "flop",
                             flop >= 0 ? json_integer(flop) : json_null(), "storage", storage_to_json(of), "notes", notes);
    json_object_set_new(json, "case", of->encoding_case != NULL ? ifm_case_to_json(of->encoding_case) : json_null());
    json_object_set_new(json, "measurement",
                        of->encoding_cost != NULL ? ifm_measurement_to_json(of->encoding_cost) : json_null());
    return json;
}
