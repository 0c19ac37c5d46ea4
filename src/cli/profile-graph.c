#include <math.h>
#include <string.h>

#include <inferometer/json.h>
#include <inferometer/nearest.h>
#include <inferometer/paths.h>

#include "profile.h"

/* `profile graph_transformer`: the model that the command line tells of, built for a graph, and what it is fed. */

static const char *const names[] = { "graph_transformer", "gps", NULL };
#define ZOO_PREFIX "zoo:"

static void clear(GraphModel *self)
{
    g_free(self->words);
    g_free(self->stem);
    g_free(self->title);
    g_free(self->digest);
    g_free(self->encoding_name);
    ifm_graph_free(self->graph);
    ifm_encoding_free(self->encoding);
    json_decref(self->encoding_seen[0]);
    json_decref(self->encoding_seen[1]);
    ifm_case_free(self->encoding_case);
    ifm_measurement_free(self->encoding_cost);
    g_clear_error(&self->encoding_error);
}

GraphModel *profile_graph_ref(GraphModel *self)
{
    return g_rc_box_acquire(self);
}

void profile_graph_unref(GraphModel *self)
{
    g_rc_box_release_full(self, (GDestroyNotify)clear);
}

/* --- what is asked for ------------------------------------------------------------------------------------------------ */

/* "graph_transformer" of "zoo:graph_transformer,hidden_dim=32"; NULL for anything else, and for a file of that name. */
static const char *name_in(const char *text, const char **settings)
{
    gboolean prefixed = g_str_has_prefix(text, ZOO_PREFIX);
    const char *bare = prefixed ? text + strlen(ZOO_PREFIX) : text;
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

/* "hidden_dim" -> "hidden-dim", where that may stand beside a model's name. NULL: it may not. */
static const char *option_of(const char *name, gsize length)
{
    g_autofree char *option = g_strdelimit(g_strndup(name, length), "_", '-');
    for (gsize i = 0; profile_size_name(i) != NULL; i++)
        if (g_str_equal(profile_size_name(i), option) && (profile_size_uses(option) & PROFILE_OF_GRAPH) != 0)
            return profile_size_name(i);
    return NULL;
}

/* What the zoo's table has beside, and here follows from the graph. */
static gboolean is_of_graph(const char *name)
{
    static const char *const settings[] = { "num_edges", "most_nodes", NULL };
    return g_strv_contains(settings, name);
}

static void refuse_setting(const char *model, const char *setting, GError **error)
{
    g_autoptr(GPtrArray) known = g_ptr_array_new_with_free_func(g_free);
    g_autofree char *name = g_strndup(setting, strcspn(setting, "="));
    for (gsize i = 0; profile_size_name(i) != NULL; i++)
        if ((profile_size_uses(profile_size_name(i)) & PROFILE_OF_GRAPH) != 0)
            g_ptr_array_add(known, g_strdelimit(g_strdup(profile_size_name(i)), "-", '_'));
    g_ptr_array_add(known, NULL);
    g_autofree char *hint = ifm_nearest_hint(name, (const char *const *)known->pdata);
    if (strchr(setting, '=') == NULL)
        g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "zoo: %s: '%s' is not NAME=VALUE", model, setting);
    else if (is_of_graph(name))
        g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID,
                    "zoo: %s: '%s' follows from the graph: --num-nodes and --avg-degree, or --dataset", model, name);
    else if (g_str_equal(name, "form"))
        g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "zoo: %s: 'form' follows from what is profiled", model);
    else
        g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "zoo: %s has no parameter '%s'%s", model, name, hint);
}

/* What stands beside the name, "…,hidden_dim=32", read as the options of those names. (transfer full) NULL with an error */
static Arguments *read_settings(const Verb *verb, const char *model, const char *text, GPtrArray *words, GError **error)
{
    g_auto(GStrv) parts = g_strsplit(*text == ',' ? text + 1 : text, ",", -1);
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    for (char **part = parts; *part != NULL; part++)
    {
        gsize length = strcspn(*part, "=");
        const char *option = (*part)[length] == '=' ? option_of(*part, length) : NULL;
        if (option == NULL)
        {
            refuse_setting(model, *part, error);
            return NULL;
        }
        if (!g_hash_table_add(seen, (gpointer)option))
        {
            g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "zoo: %s: '%.*s' is given twice", model, (int)length, *part);
            return NULL;
        }
        gboolean percent = g_str_equal(option, "dropout") && strchr(*part, '%') == NULL; /* as the zoo's table has it */
        g_ptr_array_add(words, g_strdup_printf("--%s=%s%s", option, *part + length + 1, percent ? "%" : ""));
    }
    g_ptr_array_add(words, g_strdup(model));
    g_ptr_array_add(words, NULL);
    Arguments *settings = cli_arguments_parse(verb, (const char *const *)words->pdata, error);
    if (settings == NULL)
        g_prefix_error(error, "zoo: %s: ", model);
    return settings;
}

/* The same thing said twice is a slip of the pen, even where both say the same. */
static int check_twice(const ProfileGiven *given)
{
    for (gsize i = 0; profile_size_name(i) != NULL; i++)
        if (cli_given(given->settings, profile_size_name(i)) && cli_given(given->arguments, profile_size_name(i)))
            return cli_usage(cli_verb_of(given->arguments), "--%s: stands beside the model's name, too",
                             profile_size_name(i));
    return CLI_EXIT_OK;
}

/* What a graph that is read has by itself, and what only such a graph has. */
static int check_graph_options(const ProfileGiven *given)
{
    static const char *const synthetic[] = { "num-nodes", "avg-degree", NULL };
    const Verb *verb = cli_verb_of(given->arguments);
    gboolean read = profile_is_given(given, "dataset");
    for (gsize i = 0; synthetic[i] != NULL && read; i++)
        if (profile_is_given(given, synthetic[i]))
            return cli_usage(verb, "--%s: the graph of --dataset has its own", synthetic[i]);
    if (!read && profile_is_given(given, "num-graphs"))
        return cli_usage(verb, "--num-graphs: the first so many of --dataset, which is not given");
    return CLI_EXIT_OK;
}

/* "graph_transformer,hidden_dim=32,pe=lap:16": whatever was said about it, in the order of the options. */
static char *words_of(const char *name, const ProfileGiven *given)
{
    GString *words = g_string_new(name);
    for (gsize i = 0; profile_size_name(i) != NULL; i++)
    {
        const char *option = profile_size_name(i);
        if (!profile_is_given(given, option))
            continue;
        const char *value = cli_text(profile_given_in(given, option), option);
        g_autofree char *last = g_path_get_basename(value), *key = g_strdelimit(g_strdup(option), "-", '_');
        g_string_append_printf(words, ",%s=%s", key, last);
    }
    return g_string_free(words, FALSE);
}

static int read_degree(const ProfileGiven *given, double *degree)
{
    const char *text = cli_text(profile_given_in(given, "avg-degree"), "avg-degree");
    char *end = NULL;
    *degree = g_ascii_strtod(text, &end);
    if (g_ascii_isdigit(*text) && end != text && *end == '\0' && isfinite(*degree))
        return CLI_EXIT_OK;
    return cli_usage(cli_verb_of(given->arguments), "--avg-degree: \"%s\" is not a number of 0 or more, such as 5", text);
}

static int read_model(GraphModel *self, const ProfileGiven *given)
{
    IfmTransformer *transformer = &self->transformer;
    int status;
    if ((status = profile_read_sizes(given, &transformer->sizes)) != CLI_EXIT_OK ||
        (status = profile_check_encoding(given, &transformer->sizes)) != CLI_EXIT_OK ||
        (status = read_degree(given, &self->degree)) != CLI_EXIT_OK)
        return status;
    if (g_str_equal(self->name, "gps") && !profile_is_given(given, "mpnn"))
        transformer->sizes.mpnn = IFM_MESSAGE_GIN;
    transformer->attention = (IfmAttention)profile_given_word(given, "attention", ifm_attention_words());
    transformer->scatter = ifm_transformer_scatter(profile_given_word(given, "scatter", ifm_transformer_scatter_words()),
                                                   transformer->attention);
    transformer->norm = (IfmNorm)profile_given_word(given, "norm", ifm_norm_words());
    transformer->head = (IfmHead)profile_given_word(given, "head", ifm_head_words());
    transformer->dropout = cli_ratio(profile_given_in(given, "dropout"), "dropout");
    if (transformer->dropout >= 1)
        return cli_usage(cli_verb_of(given->arguments), "--dropout: less than 100%%: something has to be left");
    if (transformer->sizes.pe != IFM_ENCODING_NONE)
        self->encoding_name = g_strdup_printf(
            "%s:%" G_GINT64_FORMAT, ifm_positional_encoding_words()[transformer->sizes.pe], transformer->sizes.pe_dim);
    return CLI_EXIT_OK;
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
    g_set_error(error, IFM_ERROR, strpbrk(text, "./") != NULL ? IFM_ERROR_UNAVAILABLE : IFM_ERROR_INVALID,
                "--dataset %s: no such folder or file, and none of the shipped ones (peptides)%s", text, hint);
    return NULL;
}

static IfmGraph *read_dataset(const ProfileGiven *given, GError **error)
{
    const char *text = cli_text(profile_given_in(given, "dataset"), "dataset");
    g_autofree char *path = find_dataset(text, error);
    g_autoptr(IfmGraph) graph = path != NULL ? ifm_graph_read(path, IFM_GRAPH_FORMAT_AUTO, error) : NULL;
    if (graph == NULL || !profile_is_given(given, "num-graphs"))
        return g_steal_pointer(&graph);
    IfmGraph *first = ifm_graph_first(graph, cli_integer(profile_given_in(given, "num-graphs"), "num-graphs"), error);
    if (first == NULL)
        g_prefix_error(error, "--num-graphs: ");
    return first;
}

/* Returns: an exit status; with @error where there is no such graph. */
static int make_graph(GraphModel *self, const ProfileGiven *given, GError **error)
{
    const IfmTransformerSizes *sizes = &self->transformer.sizes;
    self->graph = profile_is_given(given, "dataset")
                      ? read_dataset(given, error)
                      : ifm_graph_synthetic(sizes->num_nodes, self->degree, sizes->feature_dim, self->seed, error);
    if (self->graph == NULL)
        return CLI_EXIT_OK;
    if (self->graph->n_node_values > 0 && profile_is_given(given, "dataset") && profile_is_given(given, "feature-dim"))
        return cli_usage(cli_verb_of(given->arguments),
                         "--feature-dim: the nodes of --dataset have %" G_GINT64_FORMAT " numbers each",
                         self->graph->n_node_values);
    if (self->graph->n_node_values == 0)
        cli_note("%s: nodes without attributes: each gets %" G_GINT64_FORMAT " seeded numbers", self->graph->name,
                 sizes->feature_dim);
    return CLI_EXIT_OK;
}

/* --- whether it fits -------------------------------------------------------------------------------------------------- */

/* What this process needs to make it: the weights, which a file is packed of, and beside them the graph and what the model
 * is fed. @graph_bytes: what is still to be made of the graph */
static gboolean check_making_fits(const ProfilePlan *plan, const GraphModel *self, gint64 graph_bytes, GError **error)
{
    IfmTransformerEstimate estimate;
    gint64 fed_bytes = 0;
    if (!ifm_transformer_estimate(&self->transformer, &estimate, error) ||
        (plan->targets->len > 0 && !ifm_transformer_input_bytes(&self->transformer, &fed_bytes, error)))
        return FALSE;
    double weights = 4 * (double)estimate.total.parameters, beside = (double)graph_bytes + (double)fed_bytes;
    g_autofree char *of_weights = ifm_format_bytes(weights), *of_graph = ifm_format_bytes((double)graph_bytes),
                    *fed = ifm_format_bytes((double)fed_bytes);
    g_autofree char *more =
        g_strdup_printf("weights %s, graph %s, inputs%s %s", of_weights, of_graph,
                        self->transformer.training && fed_bytes > 0 ? " with masks of dropout" : "", fed);
    return profile_check_host(self->name, "making it takes", weights + MAX(weights, beside), more, error);
}

/* Told by itself, since there is a way out. */
static gboolean check_attention_fits(const ProfilePlan *plan, const GraphModel *self, GError **error)
{
    const IfmTransformer *transformer = &self->transformer;
    gint64 bytes;
    if (!profile_runs_on_host(plan))
        return TRUE;
    if (!ifm_profile_attention_bytes(transformer, FALSE, &bytes, error))
        return FALSE;
    g_autofree char *more = g_strdup_printf("%" G_GINT64_FORMAT " heads, %s", transformer->sizes.num_heads,
                                            transformer->attention == IFM_ATTENTION_DENSE
                                                ? "every node of a graph with every other; --attention sparse: along "
                                                  "edges alone"
                                                : "every edge");
    return profile_check_host(self->name, "one layer's attention scores take", (double)bytes, more, error);
}

/* --- the model and its inputs ----------------------------------------------------------------------------------------- */

#define MOST_WORDS 160 /* bytes: a file's name has 255 */

/* Names the files of this model and this graph, and no others: where the words are cut, by a digest of all of them. */
static char *stem_of(const GraphModel *self)
{
    g_autofree char *safe = g_strdelimit(g_strdup(self->words), ":/%", '-');
    if (strlen(safe) > MOST_WORDS)
    {
        g_autofree char *whole = g_compute_checksum_for_string(G_CHECKSUM_SHA256, self->words, -1);
        g_strlcpy(safe + MOST_WORDS - 13, "-", 2);
        g_strlcpy(safe + MOST_WORDS - 12, whole, 13);
    }
    return g_strdup_printf("%s,seed=%u%s-%.12s", safe, self->seed, self->transformer.training ? ",training" : "",
                           self->digest);
}

/* The model in memory, for sizes that are known; whether it, and what is made of it, fits. Nothing of the graph, nothing
 * that it is fed, and no file is made before that: they may be far larger than the model is. */
static gboolean build_model(ProfilePlan *plan, const Arguments *arguments, gint64 graph_bytes, GError **error)
{
    const GraphModel *self = plan->graph;
    const IfmDimBinding *bindings = (const IfmDimBinding *)(const void *)plan->bindings->data;
    return check_making_fits(plan, self, graph_bytes, error) && check_attention_fits(plan, self, error) &&
           (plan->model = ifm_transformer_build(&self->transformer, self->seed, error)) != NULL &&
           ifm_model_check_bindings(plan->model, bindings, plan->bindings->len, error) &&
           (plan->analysis = ifm_model_analyse(plan->model, bindings, plan->bindings->len, error)) != NULL &&
           profile_check_fits(plan, self->name, error) && profile_mode_check_fits(plan, arguments, self->name, error);
}

static gboolean save_model(ProfilePlan *plan, const char *out, GError **error)
{
    g_autofree char *name = g_strconcat(plan->graph->stem, ".onnx", NULL);
    plan->model_path = profile_out_file(out, "models", name, error);
    return plan->model_path != NULL && profile_plan_save(plan, error);
}

static gboolean write_inputs(ProfilePlan *plan, const char *out, GError **error)
{
    const GraphModel *self = plan->graph;
    g_autofree char *name = g_strconcat(self->stem, ".tensors", NULL);
    plan->inputs_path = profile_out_file(out, "inputs", name, error);
    return plan->inputs_path != NULL &&
           ifm_transformer_inputs(&self->transformer, self->graph, self->encoding, self->seed, plan->inputs_path, error);
}

/* What a store's records are found under. */
static void name_sizes(ProfilePlan *plan, const GraphModel *self)
{
    const IfmDimBinding sizes[] = { { "nodes", self->graph->n_nodes },
                                    { "edges", self->graph->n_edges },
                                    { "graphs", self->graph->n_graphs } };
    plan->sizes = g_array_new(FALSE, FALSE, sizeof(IfmDimBinding));
    g_array_append_vals(plan->sizes, sizes, G_N_ELEMENTS(sizes));
}

/* Where nothing is run and nothing of the encoding is to be told, it is not computed. */
static gboolean needs_encoding(const ProfilePlan *plan)
{
    return plan->targets->len > 0 || (plan->parts & IFM_PROFILE_PE) != 0;
}

static gboolean build(ProfilePlan *plan, const Arguments *arguments, const char *out, GError **error)
{
    GraphModel *self = plan->graph;
    self->digest = ifm_graph_digest(self->graph);
    self->stem = stem_of(self);
    self->title = g_strdup_printf("%s on %s", self->name, self->graph->name);
    ifm_transformer_for_graph(&self->transformer, self->graph);
    name_sizes(plan, self);
    return (plan->model != NULL || (profile_check_encodable(self, error) && build_model(plan, arguments, 0, error))) &&
           (!needs_encoding(plan) || profile_encode(self, arguments, error)) && save_model(plan, out, error) &&
           (plan->targets->len == 0 || write_inputs(plan, out, error));
}

/* A graph that is made is known before it is there. */
static gboolean build_for_synthetic(ProfilePlan *plan, const Arguments *arguments, GError **error)
{
    IfmTransformer *transformer = &plan->graph->transformer;
    gint64 graph_bytes;
    transformer->num_graphs = 1;
    transformer->most_nodes = transformer->sizes.num_nodes;
    return ifm_graph_synthetic_size(transformer->sizes.num_nodes, plan->graph->degree, transformer->sizes.feature_dim,
                                    &transformer->sizes.num_edges, &graph_bytes, error) &&
           build_model(plan, arguments, graph_bytes, error);
}

static int read_all(ProfilePlan *plan, const ProfileGiven *given, const char *out, GError **error)
{
    GraphModel *self = plan->graph;
    int status;
    if ((status = check_twice(given)) != CLI_EXIT_OK || (status = check_graph_options(given)) != CLI_EXIT_OK ||
        (status = read_model(self, given)) != CLI_EXIT_OK)
        return status;
    self->transformer.training = plan->training;
    self->words = words_of(self->name, given);
    plan->source = g_strconcat(ZOO_PREFIX, self->words, NULL);
    if (!cli_given(given->arguments, "profile") && self->encoding_name != NULL)
        plan->parts |= IFM_PROFILE_PE;
    if (!profile_is_given(given, "dataset") && !build_for_synthetic(plan, given->arguments, error))
        return CLI_EXIT_OK;
    status = make_graph(self, given, error);
    if (status == CLI_EXIT_OK && self->graph != NULL)
        build(plan, given->arguments, out, error);
    return status;
}

int profile_graph_init(ProfilePlan *plan, const Arguments *arguments, const char *out, GError **error)
{
    const char *beside;
    g_autoptr(GPtrArray) words = g_ptr_array_new_with_free_func(g_free);
    GraphModel *self = plan->graph = g_rc_box_new0(GraphModel);
    self->name = name_in(cli_positional(arguments)[0], &beside);
    self->seed = (guint32)cli_integer(arguments, "seed");
    g_autoptr(Arguments) settings = read_settings(cli_verb_of(arguments), self->name, beside, words, error);
    const ProfileGiven given = { arguments, settings };
    return settings != NULL ? read_all(plan, &given, out, error) : CLI_EXIT_OK;
}

const IfmProfileGraph *profile_graph_story(GraphModel *self)
{
    self->story =
        (IfmProfileGraph){ .title = self->title,
                           .transformer = &self->transformer,
                           .graph = self->graph,
                           .encoding_name = self->encoding_name,
                           .encoding = self->encoding,
                           .encoding_case = self->encoding_case,
                           .encoding_cost = self->encoding_cost,
                           .no_encoding_cost = self->encoding_error != NULL ? self->encoding_error->message : NULL };
    return &self->story;
}
