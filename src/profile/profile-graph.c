#include <math.h>
#include <string.h>

#include <base/fields.h>

#include "profile-private.h"

/* Graph transformers of the zoo: the model that the options describe, built for a graph, and what it is fed. */

static const char *const names[] = { "graph_transformer", "gps", NULL };

/* --- what is asked for ------------------------------------------------------------------------------------------------ */

/* "graph_transformer" of "zoo:graph_transformer,hidden_dim=32"; NULL for anything else, and for a file of that name. */
static const char *name_in(const char *text, const char **settings)
{
    gboolean prefixed = g_str_has_prefix(text, IFM_ZOO_PREFIX);
    const char *bare = prefixed ? text + strlen(IFM_ZOO_PREFIX) : text;
    gsize length = strcspn(bare, ",");
    *settings = bare + length;
    if (!prefixed && g_file_test(text, G_FILE_TEST_EXISTS) && !g_file_test(text, G_FILE_TEST_IS_DIR))
        return NULL;
    for (gsize i = 0; names[i] != NULL; i++)
        if (strlen(names[i]) == length && memcmp(names[i], bare, length) == 0)
            return names[i];
    return NULL;
}

gboolean profile_is_graph(const char *text)
{
    const char *settings;
    return name_in(text, &settings) != NULL;
}

/* "hidden_dim" -> the row of "hidden-dim", where that may stand behind a model's name. NULL: it may not. */
static const IfmOption *row_of(const char *name, gsize length)
{
    g_autofree char *option = g_strdelimit(g_strndup(name, length), "_", '-');
    const IfmOption *row;
    for (gsize i = 0; (row = profile_graph_row(i)) != NULL; i++)
        if (g_str_equal(row->name, option))
            return row;
    return NULL;
}

static gboolean refuse_setting(const char *model, const char *setting, GError **error)
{
    /* what the zoo's table has in addition, and here follows from the graph */
    static const char *const of_graph[] = { "num_edges", "most_nodes", NULL };
    g_autoptr(GPtrArray) known = g_ptr_array_new_with_free_func(g_free);
    g_autofree char *name = g_strndup(setting, strcspn(setting, "="));
    const IfmOption *row;
    for (gsize i = 0; (row = profile_graph_row(i)) != NULL; i++)
        g_ptr_array_add(known, g_strdelimit(g_strdup(row->name), "-", '_'));
    g_ptr_array_add(known, NULL);
    g_autofree char *hint = ifm_nearest_hint(name, (const char *const *)known->pdata);
    if (strchr(setting, '=') == NULL)
        return ifm_error_refuse(error, "zoo: %s: '%s' is not NAME=VALUE", model, setting);
    if (g_strv_contains(of_graph, name))
        return ifm_error_refuse(error, "zoo: %s: '%s' follows from the graph: --num-nodes and --avg-degree, or --dataset",
                                model, name);
    if (g_str_equal(name, "form"))
        return ifm_error_refuse(error, "zoo: %s: 'form' follows from what is profiled", model);
    return ifm_error_refuse(error, "zoo: %s has no parameter '%s'%s", model, name, hint);
}

/* What stands behind the name, "…,hidden_dim=32", by the rows of those names, into @said, which has what was said
 * elsewhere. The same thing said twice is a slip of the pen, even where both say the same. @words: (inout) texts that @said
 * borrows */
static gboolean read_settings(const char *model, const char *text, IfmGraphOptions *said, GPtrArray *words, GError **error)
{
    const IfmGraphOptions given = *said;
    const IfmOption *row;
    g_auto(GStrv) parts = g_strsplit(*text == ',' ? text + 1 : text, ",", -1);
    g_autoptr(GHashTable) seen = g_hash_table_new(g_direct_hash, g_direct_equal);
    for (char **part = parts; *part != NULL; part++)
    {
        gsize length = strcspn(*part, "=");
        row = (*part)[length] == '=' ? row_of(*part, length) : NULL;
        if (row == NULL)
            return refuse_setting(model, *part, error);
        if (!g_hash_table_add(seen, (gpointer)row))
            return ifm_error_refuse(error, "zoo: %s: '%.*s' is given twice", model, (int)length, *part);
        gboolean percent = g_str_equal(row->name, "dropout") && strchr(*part, '%') == NULL; /* as the zoo's table has it */
        char *word = g_strconcat(*part + length + 1, percent ? "%" : "", NULL);
        IfmOptionValue value;
        g_autoptr(GError) trouble = NULL;
        g_ptr_array_add(words, word);
        if (!ifm_option_parse(row, word, &value, &trouble))
            return ifm_error_refuse(error, "zoo: %s: %s", model, trouble->message);
        ifm_option_store(row, &value, said);
    }
    for (gsize i = 0; (row = profile_graph_row(i)) != NULL; i++)
        if (g_hash_table_contains(seen, row) && ifm_option_is_given(row, &given))
            return ifm_error_misuse(error, "--%s: is given with the model's name, too", row->name);
    return TRUE;
}

/* "zoo:graph_transformer,hidden_dim=32,pe=lap:16": whatever was said about it. */
static char *words_of(const char *name, const IfmGraphOptions *said)
{
    GString *words = g_string_new(IFM_ZOO_PREFIX);
    g_string_append(words, name);
    const IfmOption *row;
    for (gsize i = 0; (row = profile_graph_row(i)) != NULL; i++)
    {
        g_autofree char *value = ifm_option_text(row, said);
        if (value == NULL)
            continue;
        g_autofree char *last = g_path_get_basename(value), *key = g_strdelimit(g_strdup(row->name), "-", '_');
        g_string_append_printf(words, ",%s=%s", key, last);
    }
    return g_string_free(words, FALSE);
}

static gboolean read_degree(const char *text, double *degree, GError **error)
{
    *degree = g_ascii_isdigit(*text) ? ifm_number_of(text) : (double)NAN;
    return isfinite(*degree) ||
           ifm_error_misuse(error, "--avg-degree: \"%s\" is not a number of 0 or more, such as 5", text);
}

static gboolean read_model(GraphModel *self, const ProfileSizes *from, GError **error)
{
    IfmTransformer *transformer = &self->transformer;
    const IfmGraphOptions *full = &from->full;
    if (!profile_read_sizes(from, &transformer->sizes, error) ||
        !profile_check_encoding(from, &transformer->sizes, error) || !read_degree(full->avg_degree, &self->degree, error))
        return FALSE;
    if (g_str_equal(self->name, "gps") && full->mpnn == IFM_OPTION_UNSET)
        transformer->sizes.mpnn = IFM_MESSAGE_GIN;
    transformer->attention = (IfmAttention)full->attention;
    transformer->scatter = ifm_transformer_scatter(full->scatter, transformer->attention);
    transformer->norm = (IfmNorm)full->norm;
    transformer->head = (IfmHead)full->head;
    transformer->dropout = full->dropout;
    if (transformer->dropout >= 1)
        return ifm_error_misuse(error, "--dropout: less than 100%%: something has to be left");
    if (transformer->sizes.pe != IFM_ENCODING_NONE)
        self->report.encoding_name = g_strdup_printf(
            "%s:%" G_GINT64_FORMAT, ifm_positional_encoding_words()[transformer->sizes.pe], transformer->sizes.pe_dim);
    return TRUE;
}

/* --- the graph -------------------------------------------------------------------------------------------------------- */

/* A folder or file of that name, else one that is shipped. (transfer full) NULL with an error */
static char *find_dataset(const char *text, GError **error)
{
    if (g_file_test(text, G_FILE_TEST_EXISTS))
        return g_strdup(text);
    g_autofree char *relative = g_build_filename("data", text, NULL);
    char *shipped = strpbrk(text, "./") == NULL ? ifm_path_data(relative, NULL) : NULL;
    if (shipped != NULL)
        return shipped;
    g_autofree char *hint = ifm_nearest_hint(text, (const char *const[]){ "peptides", NULL });
    ifm_error_set(error, strpbrk(text, "./") != NULL ? IFM_ERROR_UNAVAILABLE : IFM_ERROR_INVALID,
                  "--dataset %s: no such folder or file, and none of the shipped ones (peptides)%s", text, hint);
    return NULL;
}

static IfmGraph *read_dataset(const IfmGraphOptions *said, GError **error)
{
    g_autofree char *path = find_dataset(said->dataset, error);
    g_autoptr(IfmGraph) graph = path != NULL ? ifm_graph_read(path, IFM_GRAPH_FORMAT_AUTO, error) : NULL;
    if (graph == NULL || said->num_graphs == IFM_OPTION_UNSET)
        return g_steal_pointer(&graph);
    IfmGraph *first = ifm_graph_first(graph, said->num_graphs, error);
    if (first == NULL)
        g_prefix_error(error, "--num-graphs: ");
    return first;
}

/* As many as there are to be, all of one size, each of a seed of its own. */
static IfmGraph *make_synthetic(const GraphModel *self, GError **error)
{
    const IfmTransformer *transformer = &self->transformer;
    g_autoptr(GPtrArray) graphs = g_ptr_array_new_with_free_func((GDestroyNotify)ifm_graph_free);
    for (gint64 i = 0; i < transformer->num_graphs; i++)
    {
        IfmGraph *graph = ifm_graph_synthetic(transformer->most_nodes, self->degree, transformer->sizes.feature_dim,
                                              self->seed + (guint32)i, error);
        if (graph == NULL)
            return NULL;
        g_ptr_array_add(graphs, graph);
    }
    if (graphs->len == 1)
        return g_ptr_array_steal_index(graphs, 0);
    IfmGraph *batch = ifm_graph_batch((const IfmGraph *const *)(const void *)graphs->pdata, graphs->len, error);
    if (batch != NULL) /* the names of the first and the last are alike but for the seeds */
    {
        g_free(batch->name);
        batch->name = g_strdup_printf("%u x %s", graphs->len, ((const IfmGraph *)graphs->pdata[0])->name);
    }
    return batch;
}

static gboolean make_graph(GraphModel *self, const IfmGraphOptions *said, const IfmProfileWatch *watch, GError **error)
{
    const IfmTransformerSizes *sizes = &self->transformer.sizes;
    self->report.graph = said->dataset != NULL ? read_dataset(said, error) : make_synthetic(self, error);
    if (self->report.graph == NULL)
        return FALSE;
    if (self->report.graph->n_node_values > 0 && said->dataset != NULL && said->feature_dim != IFM_OPTION_UNSET)
        return ifm_error_misuse(error, "--feature-dim: the nodes of --dataset have %" G_GINT64_FORMAT " numbers each",
                                self->report.graph->n_node_values);
    if (self->report.graph->n_node_values == 0)
        profile_note(watch, "%s: nodes without attributes: each gets %" G_GINT64_FORMAT " seeded numbers",
                     self->report.graph->name, sizes->feature_dim);
    return TRUE;
}

/* --- whether it fits -------------------------------------------------------------------------------------------------- */

/* What this process needs to make it: the weights, which a file is packed of, and the graph and what the model
 * is fed. @graph_bytes: what is still to be made of the graph */
static gboolean check_making_fits(const IfmProfilePlan *plan, const GraphModel *self, gint64 graph_bytes, GError **error)
{
    IfmTransformerEstimate estimate;
    gint64 fed_bytes = 0;
    if (!ifm_transformer_estimate(&self->transformer, &estimate, error) ||
        (plan->targets->len > 0 && !ifm_transformer_input_bytes(&self->transformer, &fed_bytes, error)))
        return FALSE;
    double weights = 4 * (double)estimate.total.parameters, inputs = (double)graph_bytes + (double)fed_bytes;
    g_autofree char *of_weights = ifm_format_bytes(weights), *of_graph = ifm_format_bytes((double)graph_bytes),
                    *fed = ifm_format_bytes((double)fed_bytes);
    g_autofree char *more =
        g_strdup_printf("weights %s, graph %s, inputs%s %s", of_weights, of_graph,
                        self->transformer.training && fed_bytes > 0 ? " with masks of dropout" : "", fed);
    return profile_check_host(self->name, "making it takes", weights + MAX(weights, inputs), more, error);
}

/* Reported by itself, since there is a way out. */
static gboolean check_attention_fits(const IfmProfilePlan *plan, const GraphModel *self, GError **error)
{
    const IfmTransformer *transformer = &self->transformer;
    gint64 bytes;
    if (!profile_runs_on_host(plan))
        return TRUE;
    if (!ifm_transformer_attention_bytes(transformer, FALSE, &bytes, error))
        return FALSE;
    g_autofree char *more = g_strdup_printf("%" G_GINT64_FORMAT " heads, %s", transformer->sizes.num_heads,
                                            transformer->attention == IFM_ATTENTION_DENSE
                                                ? "every node of a graph with every other; --attention sparse: along "
                                                  "edges alone"
                                                : "every edge");
    return profile_check_host(self->name, "one layer's attention scores take", (double)bytes, more, error);
}

/* --- the model and its inputs ----------------------------------------------------------------------------------------- */

#define MAX_WORDS 160 /* bytes: a file's name has 255 */

/* Names the files of this model and this graph, and no others: where the words are cut, by a digest of all of them. */
static char *stem_of(const IfmProfilePlan *plan)
{
    const GraphModel *self = plan->graph;
    const char *words = plan->source.source + strlen(IFM_ZOO_PREFIX);
    g_autofree char *safe = g_strdelimit(g_strdup(words), ":/%", '-'), *digest = ifm_graph_digest(self->report.graph);
    if (strlen(safe) > MAX_WORDS)
    {
        g_autofree char *whole = g_compute_checksum_for_string(G_CHECKSUM_SHA256, words, -1);
        g_strlcpy(safe + MAX_WORDS - 13, "-", 2);
        g_strlcpy(safe + MAX_WORDS - 12, whole, 13);
    }
    return g_strdup_printf("%s,seed=%u%s-%.12s", safe, self->seed, self->transformer.training ? ",training" : "", digest);
}

/* The model in memory, for sizes that are known; whether it, and what is made of it, fits. Nothing of the graph, nothing
 * that it is fed, and no file is made before that: they may be far larger than the model is. */
static gboolean build_model(IfmProfilePlan *plan, gint64 graph_bytes, GError **error)
{
    const GraphModel *self = plan->graph;
    return check_making_fits(plan, self, graph_bytes, error) && check_attention_fits(plan, self, error) &&
           (plan->source.model = ifm_transformer_build(&self->transformer, self->seed, error)) != NULL &&
           profile_plan_analyse(plan, error) && profile_check_fits(plan, self->name, error) &&
           profile_mode_check_fits(plan, self->name, error);
}

static gboolean save_model(IfmProfilePlan *plan, const char *stem, GError **error)
{
    g_autofree char *name = g_strconcat(stem, ".onnx", NULL);
    plan->source.path = profile_out_file(plan->options.output, "models", name, error);
    return plan->source.path != NULL && profile_plan_save(plan, error);
}

static gboolean write_inputs(IfmProfilePlan *plan, const char *stem, GError **error)
{
    const GraphModel *self = plan->graph;
    g_autofree char *name = g_strconcat(stem, ".tensors", NULL);
    const char *path = plan->source.inputs_path = profile_out_file(plan->options.output, "inputs", name, error);
    return path != NULL &&
           ifm_transformer_inputs(&self->transformer, self->report.graph, self->report.encoding, self->seed, path, error);
}

/* What a store's records are found under. */
static void name_sizes(IfmProfilePlan *plan, const GraphModel *self)
{
    const IfmDimBinding sizes[] = { { "nodes", self->report.graph->n_nodes },
                                    { "edges", self->report.graph->n_edges },
                                    { "graphs", self->report.graph->n_graphs } };
    plan->sizes = g_array_new(FALSE, FALSE, sizeof(IfmDimBinding));
    g_array_append_vals(plan->sizes, sizes, G_N_ELEMENTS(sizes));
}

/* Where nothing is run and nothing of the encoding is to be reported, it is not computed. */
static gboolean needs_encoding(const IfmProfilePlan *plan)
{
    return plan->targets->len > 0 || (plan->parts & IFM_PROFILE_PE) != 0;
}

static gboolean build(IfmProfilePlan *plan, GError **error)
{
    const IfmLimits none = { 0 }, limits = ifm_limits_with(&none, &plan->options.protocol);
    GraphModel *self = plan->graph;
    const IfmGraph *graph = self->report.graph;
    g_autofree char *stem = stem_of(plan);
    self->report.title = g_strdup_printf("%s on %s", self->name, graph->name);
    ifm_transformer_for_graph(&self->transformer, graph);
    name_sizes(plan, self);
    return (plan->source.model != NULL || (profile_check_encodable(self, error) && build_model(plan, 0, error))) &&
           (!needs_encoding(plan) || profile_encode(self, limits.case_time_ns, plan->options.watch, error)) &&
           save_model(plan, stem, error) && (plan->targets->len == 0 || write_inputs(plan, stem, error));
}

/* Graphs that are made are known before they are there. @n: how many */
static gboolean build_for_synthetic(IfmProfilePlan *plan, gint64 n, GError **error)
{
    IfmTransformer *transformer = &plan->graph->transformer;
    gint64 graph_bytes;
    transformer->num_graphs = n;
    transformer->most_nodes = transformer->sizes.num_nodes;
    if (!ifm_graph_synthetic_size(transformer->sizes.num_nodes, plan->graph->degree, transformer->sizes.feature_dim,
                                  &transformer->sizes.num_edges, &graph_bytes, error))
        return FALSE;
    if (__builtin_mul_overflow(n, transformer->sizes.num_nodes, &transformer->sizes.num_nodes) ||
        __builtin_mul_overflow(n, transformer->sizes.num_edges, &transformer->sizes.num_edges) ||
        __builtin_mul_overflow(n, graph_bytes, &graph_bytes) || transformer->sizes.num_nodes > IFM_GRAPH_MAX_NODES ||
        transformer->sizes.num_edges > IFM_GRAPH_MAX_EDGES)
        return ifm_error_misuse(error,
                                "--num-graphs %" G_GINT64_FORMAT ": more nodes or edges in all than a graph may have", n);
    return build_model(plan, graph_bytes, error);
}

gboolean profile_graph_init(IfmProfilePlan *plan, GError **error)
{
    const IfmProfileOptions *options = &plan->options;
    const char *settings;
    g_autoptr(GPtrArray) words = g_ptr_array_new_with_free_func(g_free);
    GraphModel *self = plan->graph = g_rc_box_new0(GraphModel);
    IfmGraphOptions said = options->graph;
    ProfileSizes sizes;
    self->report.transformer = &self->transformer;
    self->name = name_in(options->model, &settings);
    if (options->open.batch > 0)
        return ifm_error_refuse(error, "batch: %s takes a graph; num_nodes or a dataset says how large it is", self->name);
    self->seed = (guint32)options->seed;
    if (!ifm_model_feed_init(&plan->source.feed, options->open.dims, error) ||
        !read_settings(self->name, settings, &said, words, error))
        return FALSE;
    profile_sizes_init(&sizes, &said);
    if (!ifm_options_check(ifm_graph_options, &said, error) || !read_model(self, &sizes, error))
        return FALSE;
    self->transformer.training = options->mode == IFM_PASS_STEP;
    plan->source.source = words_of(self->name, &said);
    if (plan->parts == IFM_PROFILE_ALL && options->parts == NULL && self->report.encoding_name != NULL)
        plan->parts |= IFM_PROFILE_PE;
    return (said.dataset != NULL ||
            build_for_synthetic(plan, said.num_graphs != IFM_OPTION_UNSET ? said.num_graphs : 1, error)) &&
           make_graph(self, &said, options->watch, error) && build(plan, error);
}
