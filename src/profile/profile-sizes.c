#include <string.h>

#include <base/fields.h>

#include "profile-private.h"

/* The numbers of graph transformers: one table (ifm_graph_options), whether a model is built of them or nothing but an
 * estimate; what each means something to; in the order in which they name a model. */

/* In the mask of an option: which estimates read it. */
#define TRANSFORMER (1u << IFM_PROFILE_ESTIMATE_TRANSFORMER)
#define ATTENTION (1u << IFM_PROFILE_ESTIMATE_ATTENTION)
#define LINEAR (1u << IFM_PROFILE_ESTIMATE_LINEAR)
#define MPNN (1u << IFM_PROFILE_ESTIMATE_MPNN)
#define FFN (1u << IFM_PROFILE_ESTIMATE_FFN)
#define ENCODING (1u << IFM_PROFILE_ESTIMATE_ENCODING)
#define ALL_ESTIMATES ((1u << IFM_PROFILE_N_ESTIMATES) - 1)

static const struct
{
    const char *name;
    guint uses;      /* ProfileSizeUse */
    guint estimates; /* which read it */
} sizes[] = {
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

const IfmOption *profile_size_find(const char *name)
{
    for (const IfmOption *row = ifm_graph_options; row->name != NULL; row++)
        if (g_str_equal(row->name, name))
            return row;
    return NULL;
}

const IfmOption *profile_graph_row(gsize index)
{
    for (gsize i = 0; i < G_N_ELEMENTS(sizes); i++)
        if ((sizes[i].uses & PROFILE_OF_GRAPH) != 0 && index-- == 0)
            return profile_size_find(sizes[i].name);
    return NULL;
}

void profile_size_unsay(IfmGraphOptions *said, const IfmOption *row)
{
    const IfmOptionValue nothing = { .integer = IFM_OPTION_UNSET, .ratio = IFM_OPTION_UNSET };
    ifm_option_store(row, &nothing, said);
}

/* Of numbers that the layer of an estimate has not. */
static gboolean check_estimate(const IfmGraphOptions *said, IfmProfileEstimate kind, GError **error)
{
    g_autoptr(GString) read = g_string_new(NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(sizes); i++)
        if ((sizes[i].estimates & (1u << kind)) != 0)
            g_string_append_printf(read, "%s--%s", read->len > 0 ? ", " : "", sizes[i].name);
    for (gsize i = 0; i < G_N_ELEMENTS(sizes); i++)
        if (ifm_option_is_given(profile_size_find(sizes[i].name), said) && (sizes[i].estimates & (1u << kind)) == 0)
            return ifm_error_misuse(error, "--%s means nothing to --estimate %s, which reads %s", sizes[i].name,
                                    ifm_profile_estimate_words[kind], read->str);
    return TRUE;
}

gboolean profile_check_sizes(const IfmGraphOptions *said, guint use, IfmProfileEstimate kind, GError **error)
{
    for (gsize i = 0; i < G_N_ELEMENTS(sizes); i++)
    {
        if (!ifm_option_is_given(profile_size_find(sizes[i].name), said) || (sizes[i].uses & use) != 0)
            continue;
        if (sizes[i].uses == PROFILE_OF_ESTIMATE)
            return ifm_error_misuse(error, "--%s is a number of an estimate: it goes with --estimate", sizes[i].name);
        return ifm_error_misuse(error, "--%s is of graph transformers: it goes with %sgraph_transformer or gps",
                                sizes[i].name, (sizes[i].uses & PROFILE_OF_ESTIMATE) != 0 ? "--estimate, " : "");
    }
    return use != PROFILE_OF_ESTIMATE || check_estimate(said, kind, error);
}

void profile_sizes_init(ProfileSizes *from, const IfmGraphOptions *said)
{
    *from = (ProfileSizes){ *said, *said };
    for (const IfmOption *row = ifm_graph_options; row->name != NULL; row++)
    {
        IfmOptionValue value;
        if (row->fallback != NULL && !ifm_option_is_given(row, said) && ifm_option_parse(row, row->fallback, &value, NULL))
            ifm_option_store(row, &value, &from->full);
    }
}

/* "lap", "lap:16" */
static gboolean read_encoding(const ProfileSizes *from, IfmTransformerSizes *into, GError **error)
{
    const char *const *words = ifm_positional_encoding_words();
    const char *text = from->said.pe;
    into->pe_dim = from->full.pe_dim;
    into->pe = IFM_ENCODING_NONE;
    if (text == NULL)
        return TRUE;
    const char *colon = strchr(text, ':');
    g_autofree char *word = colon != NULL ? g_strndup(text, (gsize)(colon - text)) : g_strdup(text);
    const int kind = ifm_word_index(words, word);
    if (kind < 0)
    {
        g_autofree char *all = g_strjoinv(", ", (char **)words), *hint = ifm_nearest_hint(word, words);
        return ifm_error_misuse(error, "--pe: \"%s\" is none of %s, such as lap:16%s", word, all, hint);
    }
    into->pe = (IfmPositionalEncoding)kind;
    if (colon == NULL)
        return TRUE;
    if (kind == IFM_ENCODING_NONE)
        return ifm_error_misuse(error, "--pe %s: no encoding has no numbers", text);
    if (from->said.pe_dim != IFM_OPTION_UNSET)
        return ifm_error_misuse(error, "--pe %s and --pe-dim: the numbers of a node's encoding are given twice", text);
    if (!g_ascii_string_to_signed(colon + 1, 10, 1, IFM_ENCODING_MAX_DIM, &into->pe_dim, NULL))
        return ifm_error_misuse(error, "--pe: \"%s\" is not a whole number from 1 to %d", colon + 1, IFM_ENCODING_MAX_DIM);
    return TRUE;
}

gboolean profile_check_encoding(const ProfileSizes *from, const IfmTransformerSizes *into, GError **error)
{
    if (into->pe != IFM_ENCODING_NONE || from->said.pe_dim == IFM_OPTION_UNSET)
        return TRUE;
    return ifm_error_misuse(error, "--pe-dim: there is no encoding (--pe)");
}

gboolean profile_read_sizes(const ProfileSizes *from, IfmTransformerSizes *into, GError **error)
{
    const IfmGraphOptions *full = &from->full;
    *into = (IfmTransformerSizes){
        .num_nodes = full->num_nodes,
        .hidden_dim = full->hidden_dim,
        .feature_dim = full->feature_dim,
        .num_layers = full->num_layers,
        .num_heads = full->num_heads,
        .num_outputs = full->num_outputs,
        .sparse_ratio = 1,
        .mpnn = full->mpnn != IFM_OPTION_UNSET ? (IfmMessagePassing)full->mpnn : IFM_MESSAGE_NONE,
    };
    if (full->ffn_dim != IFM_OPTION_UNSET)
        into->ffn_dim = full->ffn_dim;
    else if (__builtin_mul_overflow(2, into->hidden_dim, &into->ffn_dim))
        into->ffn_dim = G_MAXINT64;
    return read_encoding(from, into, error);
}
