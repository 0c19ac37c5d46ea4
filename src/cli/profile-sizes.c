#include <string.h>

#include <inferometer/dataset.h>
#include <inferometer/nearest.h>

#include "profile.h"

/* The sizes of graph transformers: one set of options, whether a model is built of them or nothing but an estimate. */

/* In the mask of an option: which estimates read it. */
#define TRANSFORMER (1u << PROFILE_ESTIMATE_TRANSFORMER)
#define ATTENTION (1u << PROFILE_ESTIMATE_ATTENTION)
#define LINEAR (1u << PROFILE_ESTIMATE_LINEAR)
#define MPNN (1u << PROFILE_ESTIMATE_MPNN)
#define FFN (1u << PROFILE_ESTIMATE_FFN)
#define ENCODING (1u << PROFILE_ESTIMATE_ENCODING)
#define ALL_ESTIMATES ((1u << PROFILE_N_ESTIMATES) - 1)

static const struct
{
    const char *name;
    guint uses;      /* ProfileSizeUse */
    guint estimates; /* which read it */
} options[] = {
    { "num-nodes", PROFILE_OF_ESTIMATE | PROFILE_OF_GRAPH, ALL_ESTIMATES },
    { "num-edges", PROFILE_OF_ESTIMATE, TRANSFORMER | MPNN | ENCODING },
    { "avg-degree", PROFILE_OF_GRAPH, 0 },
    { "feature-dim", PROFILE_OF_ESTIMATE | PROFILE_OF_GRAPH, TRANSFORMER | LINEAR },
    { "hidden-dim", PROFILE_OF_ESTIMATE | PROFILE_OF_GRAPH, ALL_ESTIMATES & ~ENCODING },
    { "num-layers", PROFILE_OF_ESTIMATE | PROFILE_OF_GRAPH, TRANSFORMER },
    { "num-heads", PROFILE_OF_ESTIMATE | PROFILE_OF_GRAPH, TRANSFORMER | ATTENTION },
    { "ffn-dim", PROFILE_OF_ESTIMATE | PROFILE_OF_GRAPH, TRANSFORMER | FFN },
    { "mpnn", PROFILE_OF_ESTIMATE | PROFILE_OF_GRAPH, TRANSFORMER | MPNN },
    { "pe", PROFILE_OF_ESTIMATE | PROFILE_OF_GRAPH, TRANSFORMER | ENCODING },
    { "pe-dim", PROFILE_OF_ESTIMATE | PROFILE_OF_GRAPH, TRANSFORMER | ENCODING },
    { "attention", PROFILE_OF_GRAPH, 0 },
    { "sparse-ratio", PROFILE_OF_ESTIMATE, TRANSFORMER | ATTENTION },
    { "norm", PROFILE_OF_GRAPH, 0 },
    { "head", PROFILE_OF_GRAPH, 0 },
    { "num-outputs", PROFILE_OF_ESTIMATE | PROFILE_OF_GRAPH, TRANSFORMER },
    { "dropout", PROFILE_OF_GRAPH, 0 },
    { "scatter", PROFILE_OF_GRAPH, 0 },
    { "dataset", PROFILE_OF_GRAPH, 0 },
    { "num-graphs", PROFILE_OF_GRAPH, 0 },
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

/* idle_in_estimate: a size that the layer --estimate names has not. (transfer full) NULL: none was given. */
static char *idle_in_estimate(const Arguments *arguments)
{
    const ProfileEstimate kind = profile_estimate_of(arguments);
    g_autoptr(GString) read = g_string_new(NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(options); i++)
        if ((options[i].estimates & (1u << kind)) != 0)
            g_string_append_printf(read, "%s--%s", read->len > 0 ? ", " : "", options[i].name);
    for (gsize i = 0; i < G_N_ELEMENTS(options); i++)
        if (cli_given(arguments, options[i].name) && (options[i].estimates & (1u << kind)) == 0)
            return g_strdup_printf("--%s means nothing to --estimate %s, which reads %s", options[i].name,
                                   profile_estimates[kind], read->str);
    return NULL;
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
    return use == PROFILE_OF_ESTIMATE ? idle_in_estimate(arguments) : NULL;
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

int profile_check_encoding(const ProfileGiven *given, const IfmTransformerSizes *sizes)
{
    if (sizes->pe != IFM_ENCODING_NONE || !profile_is_given(given, "pe-dim"))
        return CLI_EXIT_OK;
    return cli_usage(cli_verb_of(given->arguments), "--pe-dim: there is no encoding (--pe)");
}

int profile_read_sizes(const ProfileGiven *given, IfmTransformerSizes *sizes)
{
    *sizes = (IfmTransformerSizes){
        .num_nodes = integer_of(given, "num-nodes"),
        .hidden_dim = integer_of(given, "hidden-dim"),
        .feature_dim = integer_of(given, "feature-dim"),
        .num_layers = integer_of(given, "num-layers"),
        .num_heads = integer_of(given, "num-heads"),
        .num_outputs = integer_of(given, "num-outputs"),
        .sparse_ratio = 1,
        .mpnn = (IfmMessagePassing)profile_given_word(given, "mpnn", ifm_message_passing_words()),
    };
    if (profile_is_given(given, "ffn-dim"))
        sizes->ffn_dim = integer_of(given, "ffn-dim");
    else if (__builtin_mul_overflow(2, sizes->hidden_dim, &sizes->ffn_dim))
        sizes->ffn_dim = G_MAXINT64;
    return read_encoding(given, sizes);
}
