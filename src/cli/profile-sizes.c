#include <string.h>

#include <inferometer/dataset.h>
#include <inferometer/nearest.h>

#include "profile.h"

/* The sizes of graph transformers: one set of options, whether a model is built of them or nothing but an estimate. */

static const struct
{
    const char *name;
    guint uses; /* ProfileSizeUse */
} options[] = {
    { "num-nodes", PROFILE_OF_ESTIMATE | PROFILE_OF_GRAPH },
    { "num-edges", PROFILE_OF_ESTIMATE },
    { "avg-degree", PROFILE_OF_GRAPH },
    { "feature-dim", PROFILE_OF_ESTIMATE | PROFILE_OF_GRAPH },
    { "hidden-dim", PROFILE_OF_ESTIMATE | PROFILE_OF_GRAPH },
    { "num-layers", PROFILE_OF_ESTIMATE | PROFILE_OF_GRAPH },
    { "num-heads", PROFILE_OF_ESTIMATE | PROFILE_OF_GRAPH },
    { "ffn-dim", PROFILE_OF_ESTIMATE | PROFILE_OF_GRAPH },
    { "mpnn", PROFILE_OF_ESTIMATE | PROFILE_OF_GRAPH },
    { "pe", PROFILE_OF_ESTIMATE | PROFILE_OF_GRAPH },
    { "pe-dim", PROFILE_OF_ESTIMATE | PROFILE_OF_GRAPH },
    { "attention", PROFILE_OF_GRAPH },
    { "sparse-ratio", PROFILE_OF_ESTIMATE },
    { "norm", PROFILE_OF_GRAPH },
    { "head", PROFILE_OF_GRAPH },
    { "num-outputs", PROFILE_OF_ESTIMATE | PROFILE_OF_GRAPH },
    { "dropout", PROFILE_OF_GRAPH },
    { "scatter", PROFILE_OF_GRAPH },
    { "dataset", PROFILE_OF_GRAPH },
    { "num-graphs", PROFILE_OF_GRAPH },
};

guint profile_size_uses(const char *option)
{
    for (gsize i = 0; i < G_N_ELEMENTS(options); i++)
        if (g_str_equal(options[i].name, option))
            return options[i].uses;
    return 0;
}

const char *profile_size_name(gsize index)
{
    return index < G_N_ELEMENTS(options) ? options[index].name : NULL;
}

char *profile_size_idle(const Arguments *arguments, guint use)
{
    for (gsize i = 0; i < G_N_ELEMENTS(options); i++)
    {
        if (!cli_given(arguments, options[i].name) || (options[i].uses & use) != 0)
            continue;
        if (options[i].uses == PROFILE_OF_ESTIMATE)
            return g_strdup_printf("--%s is a number of an estimate: it goes with --estimate", options[i].name);
        return g_strdup_printf("--%s is of graph transformers: it goes with %sgraph_transformer or gps", options[i].name,
                               (options[i].uses & PROFILE_OF_ESTIMATE) != 0 ? "--estimate, " : "");
    }
    return NULL;
}

const Arguments *profile_given_in(const ProfileGiven *given, const char *option)
{
    return given->settings != NULL && cli_given(given->settings, option) ? given->settings : given->arguments;
}

gboolean profile_is_given(const ProfileGiven *given, const char *option)
{
    return cli_given(profile_given_in(given, option), option);
}

int profile_given_word(const ProfileGiven *given, const char *option, const char *const *words)
{
    const char *word = cli_text(profile_given_in(given, option), option);
    for (int i = 0; words[i] != NULL && word != NULL; i++)
        if (g_str_equal(words[i], word))
            return i;
    return 0; /* not given: the first; no other word gets past its choices */
}

static gint64 integer_of(const ProfileGiven *given, const char *option)
{
    return cli_integer(profile_given_in(given, option), option);
}

/* "lap", "lap:16" */
static int read_encoding(const ProfileGiven *given, IfmTransformerSizes *sizes)
{
    const Verb *verb = cli_verb_of(given->arguments);
    const char *const *words = ifm_positional_encoding_words();
    const char *text = cli_text(profile_given_in(given, "pe"), "pe");
    sizes->pe_dim = integer_of(given, "pe-dim");
    sizes->pe = IFM_ENCODING_NONE;
    if (text == NULL)
        return CLI_EXIT_OK;
    const char *colon = strchr(text, ':');
    g_autofree char *word = colon != NULL ? g_strndup(text, (gsize)(colon - text)) : g_strdup(text);
    int kind = 0;
    while (words[kind] != NULL && !g_str_equal(words[kind], word))
        kind++;
    if (words[kind] == NULL)
    {
        g_autofree char *all = g_strjoinv(", ", (char **)words), *hint = ifm_nearest_hint(word, words);
        return cli_usage(verb, "--pe: \"%s\" is none of %s, such as lap:16%s", word, all, hint);
    }
    sizes->pe = (IfmPositionalEncoding)kind;
    if (colon == NULL)
        return CLI_EXIT_OK;
    if (kind == IFM_ENCODING_NONE)
        return cli_usage(verb, "--pe %s: no encoding has no numbers", text);
    if (profile_is_given(given, "pe-dim"))
        return cli_usage(verb, "--pe %s and --pe-dim: the numbers of a node's encoding are given twice", text);
    if (!g_ascii_string_to_signed(colon + 1, 10, 1, IFM_ENCODING_MAX_DIM, &sizes->pe_dim, NULL))
        return cli_usage(verb, "--pe: \"%s\" is not a whole number from 1 to %d", colon + 1, IFM_ENCODING_MAX_DIM);
    return CLI_EXIT_OK;
}

int profile_read_sizes(const ProfileGiven *given, IfmTransformerSizes *sizes)
{
    *sizes = (IfmTransformerSizes){
        .num_nodes = integer_of(given, "num-nodes"),
        .hidden_dim = integer_of(given, "hidden-dim"),
        .feature_dim = integer_of(given, profile_is_given(given, "feature-dim") ? "feature-dim" : "hidden-dim"),
        .num_layers = integer_of(given, "num-layers"),
        .num_heads = integer_of(given, "num-heads"),
        .num_outputs = integer_of(given, "num-outputs"),
        .sparse_ratio = 1,
        .mpnn = (IfmMessagePassing)profile_given_word(given, "mpnn", ifm_message_passing_words()),
    };
    sizes->ffn_dim = profile_is_given(given, "ffn-dim") ? integer_of(given, "ffn-dim") : 2 * sizes->hidden_dim;
    return read_encoding(given, sizes);
}
