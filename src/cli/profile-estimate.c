#include <unistd.h>

#include <inferometer/estimate.h>

#include "profile.h"

/* `profile --estimate WHAT`: what a layer, or a whole graph transformer, costs before there is a model of it. */

/* Line: one row of the answer. */
typedef struct
{
    const char *name;
    IfmEstimate estimate;
} Line;

/* StorageLine: bytes that something takes. */
typedef struct
{
    const char *name;
    gint64 bytes;
} StorageLine;

typedef struct
{
    IfmTransformerSizes sizes;
    GArray *lines, *storage; /* Line, StorageLine */
} Answer;

static void add_line(Answer *answer, const char *name, const IfmEstimate *estimate)
{
    Line line = { name, *estimate };
    g_array_append_val(answer->lines, line);
}

static void add_storage(Answer *answer, const char *name, gint64 bytes)
{
    StorageLine line = { name, bytes };
    g_array_append_val(answer->storage, line);
}

/* --- what can be estimated ------------------------------------------------------------------------------------------- */

static gboolean add_attention_bytes(Answer *answer, GError **error)
{
    const IfmTransformerSizes *sizes = &answer->sizes;
    gint64 forward, training;
    if (!ifm_estimate_attention_bytes(sizes->num_nodes, sizes->num_heads, sizes->sparse_ratio, FALSE, &forward, error) ||
        !ifm_estimate_attention_bytes(sizes->num_nodes, sizes->num_heads, sizes->sparse_ratio, TRUE, &training, error))
        return FALSE;
    add_storage(answer, "scores of one layer's attention", forward);
    add_storage(answer, "… with their softmax, as training keeps them", training);
    return TRUE;
}

static gboolean add_encoding_bytes(Answer *answer, GError **error)
{
    const IfmTransformerSizes *sizes = &answer->sizes;
    IfmEncodingStorage storage;
    if (!ifm_estimate_encoding_storage(sizes->num_nodes, sizes->num_edges, sizes->pe_dim, &storage, error))
        return FALSE;
    add_storage(answer, "encoding of nodes", storage.node);
    add_storage(answer, "relative encoding, dense", storage.relative_dense);
    add_storage(answer, "relative encoding, of edges alone", storage.relative_sparse);
    return TRUE;
}

static gboolean estimate_transformer(Answer *answer, GError **error)
{
    IfmTransformerEstimate found;
    if (!ifm_estimate_transformer(&answer->sizes, &found, error) || !add_attention_bytes(answer, error))
        return FALSE;
    const Line parts[] = {
        { "input", found.input },      { "message passing", found.mpnn }, { "attention", found.attention },
        { "feed-forward", found.ffn }, { "norms", found.norm },           { "head", found.head },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(parts); i++)
        if (parts[i].estimate.flop > 0 || parts[i].estimate.parameters > 0)
            add_line(answer, parts[i].name, &parts[i].estimate);
    add_line(answer, "in all", &found.total);
    if (answer->sizes.pe == IFM_ENCODING_NONE)
        return TRUE;
    add_line(answer, "encoding, once, not in that", &found.encoding);
    return add_encoding_bytes(answer, error);
}

static gboolean estimate_attention(Answer *answer, GError **error)
{
    const IfmTransformerSizes *sizes = &answer->sizes;
    IfmEstimate found;
    if (!ifm_estimate_attention(sizes->num_nodes, sizes->hidden_dim, sizes->num_heads, sizes->sparse_ratio, &found, error))
        return FALSE;
    add_line(answer, "attention", &found);
    return add_attention_bytes(answer, error);
}

static gboolean estimate_linear(Answer *answer, GError **error)
{
    const IfmTransformerSizes *sizes = &answer->sizes;
    IfmEstimate found;
    if (!ifm_estimate_linear(sizes->num_nodes, sizes->feature_dim, sizes->hidden_dim, TRUE, &found, error))
        return FALSE;
    add_line(answer, "linear", &found);
    return TRUE;
}

static gboolean estimate_mpnn(Answer *answer, GError **error)
{
    const IfmTransformerSizes *sizes = &answer->sizes;
    IfmEstimate found;
    if (!ifm_estimate_message_passing(sizes->mpnn, sizes->num_nodes, sizes->num_edges, sizes->hidden_dim, &found, error))
        return FALSE;
    add_line(answer, ifm_message_passing_words()[sizes->mpnn], &found);
    return TRUE;
}

static gboolean estimate_ffn(Answer *answer, GError **error)
{
    const IfmTransformerSizes *sizes = &answer->sizes;
    IfmEstimate found;
    if (!ifm_estimate_feed_forward(sizes->num_nodes, sizes->hidden_dim, sizes->ffn_dim, &found, error))
        return FALSE;
    add_line(answer, "feed-forward", &found);
    return TRUE;
}

static gboolean estimate_encoding(Answer *answer, GError **error)
{
    const IfmTransformerSizes *sizes = &answer->sizes;
    IfmEstimate found;
    if (!ifm_estimate_encoding(sizes->pe, sizes->num_nodes, sizes->num_edges, sizes->pe_dim, &found, error))
        return FALSE;
    add_line(answer, ifm_positional_encoding_words()[sizes->pe], &found);
    return add_encoding_bytes(answer, error);
}

const char *const profile_estimates[] = {
    [PROFILE_ESTIMATE_TRANSFORMER] = "transformer",
    [PROFILE_ESTIMATE_ATTENTION] = "attention",
    [PROFILE_ESTIMATE_LINEAR] = "linear",
    [PROFILE_ESTIMATE_MPNN] = "mpnn",
    [PROFILE_ESTIMATE_FFN] = "ffn",
    [PROFILE_ESTIMATE_ENCODING] = "encoding",
    [PROFILE_N_ESTIMATES] = NULL,
};

static gboolean (*const estimators[PROFILE_N_ESTIMATES])(Answer *answer, GError **error) = {
    [PROFILE_ESTIMATE_TRANSFORMER] = estimate_transformer,
    [PROFILE_ESTIMATE_ATTENTION] = estimate_attention,
    [PROFILE_ESTIMATE_LINEAR] = estimate_linear,
    [PROFILE_ESTIMATE_MPNN] = estimate_mpnn,
    [PROFILE_ESTIMATE_FFN] = estimate_ffn,
    [PROFILE_ESTIMATE_ENCODING] = estimate_encoding,
};

ProfileEstimate profile_estimate_of(const Arguments *arguments)
{
    const char *what = cli_text(arguments, "estimate");
    int kind = 0;
    while (kind + 1 < PROFILE_N_ESTIMATES && !g_str_equal(profile_estimates[kind], what)) /* one of them: its choices */
        kind++;
    return (ProfileEstimate)kind;
}

/* --- telling --------------------------------------------------------------------------------------------------------- */

static void get_intensity(const void *record, const void *user, IfmValue *value)
{
    const IfmEstimate *estimate = &((const Line *)record)->estimate;
    if (estimate->bytes > 0)
        ifm_value_set_real(value, (double)estimate->flop / (double)estimate->bytes);
}

#define LINE(member) IFM_FIELD_AT(Line, member)
#define STORAGE(member) IFM_FIELD_AT(StorageLine, member)

static const IfmField line_fields[] = {
    { "part", "part", IFM_FIELD_TEXT, ifm_field_get_text, LINE(name), IFM_FIELD_WHOLE },
    { "macs", "MACs", IFM_FIELD_INTEGER, ifm_field_get_integer, LINE(estimate.macs) },
    { "flop", "FLOPs", IFM_FIELD_INTEGER, ifm_field_get_integer, LINE(estimate.flop) },
    { "parameters", "parameters", IFM_FIELD_INTEGER, ifm_field_get_integer, LINE(estimate.parameters) },
    { "bytes", "in and out", IFM_FIELD_BYTES, ifm_field_get_integer, LINE(estimate.bytes) },
    { "intensity", "FLOP/B", IFM_FIELD_REAL, get_intensity },
    { NULL },
};

static const IfmField storage_fields[] = {
    { "what", "memory, f32", IFM_FIELD_TEXT, ifm_field_get_text, STORAGE(name), IFM_FIELD_WHOLE },
    { "bytes", "size", IFM_FIELD_BYTES, ifm_field_get_integer, STORAGE(bytes) },
    { NULL },
};

static GPtrArray *pointers(const GArray *array)
{
    GPtrArray *records = g_ptr_array_new();
    guint size = g_array_get_element_size((GArray *)array);
    for (guint i = 0; i < array->len; i++)
        g_ptr_array_add(records, array->data + (gsize)i * size);
    return records;
}

static IfmTable table_of(const IfmField *fields, const GPtrArray *records)
{
    return (IfmTable){ fields, (const void *const *)records->pdata, records->len };
}

static json_t *sizes_to_json(const IfmTransformerSizes *sizes)
{
    return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:f,s:s,s:s}", "num_nodes", (json_int_t)sizes->num_nodes,
                     "num_edges", (json_int_t)sizes->num_edges, "feature_dim", (json_int_t)sizes->feature_dim, "hidden_dim",
                     (json_int_t)sizes->hidden_dim, "num_layers", (json_int_t)sizes->num_layers, "num_heads",
                     (json_int_t)sizes->num_heads, "ffn_dim", (json_int_t)sizes->ffn_dim, "pe_dim",
                     (json_int_t)sizes->pe_dim, "num_outputs", (json_int_t)sizes->num_outputs, "sparse_ratio",
                     sizes->sparse_ratio, "mpnn", ifm_message_passing_words()[sizes->mpnn], "pe",
                     ifm_positional_encoding_words()[sizes->pe]);
}

static int tell(const Arguments *arguments, const Answer *answer)
{
    g_autoptr(GPtrArray) lines = pointers(answer->lines), storage = pointers(answer->storage);
    IfmTable table = table_of(line_fields, lines), memory = table_of(storage_fields, storage);
    const char *json_path = cli_text(arguments, "json"), *csv_path = cli_text(arguments, "csv");
    int status = CLI_EXIT_OK;
    if (json_path != NULL)
    {
        json_auto_t *json = json_pack("{s:{s:s,s:s,s:i},s:s,s:o,s:o,s:o}", "inferometer", "version", IFM_VERSION, "format",
                                      "estimate", "format_version", 1, "estimate", cli_text(arguments, "estimate"), "sizes",
                                      sizes_to_json(&answer->sizes), "parts", ifm_table_to_json(&table), "memory",
                                      ifm_table_to_json(&memory));
        status = cli_write_json(json_path, json);
    }
    if (csv_path != NULL && status == CLI_EXIT_OK)
    {
        g_autofree char *csv = ifm_table_to_csv(&table);
        status = cli_write(csv_path, csv);
    }
    if (status != CLI_EXIT_OK || g_strcmp0(json_path, "-") == 0 || g_strcmp0(csv_path, "-") == 0)
        return status;
    IfmScreen screen = ifm_screen_detect(STDOUT_FILENO);
    g_autofree char *text = ifm_table_to_screen(&table, &screen), *more = ifm_table_to_screen(&memory, &screen);
    g_autofree char *page = g_strconcat(text, storage->len > 0 ? "\n" : "", storage->len > 0 ? more : "", NULL);
    return cli_print(page);
}

/* --- the command's side ---------------------------------------------------------------------------------------------- */

const char *profile_estimate_idle(const Arguments *arguments)
{
    static const char *const others[] = { "estimate", "json", "csv", NULL };
    for (const Option *option = cli_verb_of(arguments)->options; option->name != NULL; option++)
        if (cli_given(arguments, option->name) && profile_size_uses(option->name) == 0 &&
            !g_strv_contains(others, option->name))
            return option->name;
    return NULL;
}

int profile_estimate(const Arguments *arguments)
{
    const ProfileEstimate kind = profile_estimate_of(arguments);
    const ProfileGiven given = { arguments, NULL };
    g_autoptr(GError) error = NULL;
    Answer answer = { .lines = g_array_new(FALSE, FALSE, sizeof(Line)),
                      .storage = g_array_new(FALSE, FALSE, sizeof(StorageLine)) };
    int status = profile_read_sizes(&given, &answer.sizes);
    answer.sizes.num_edges = cli_given(arguments, "num-edges") ? cli_integer(arguments, "num-edges")
                                                               : ifm_transformer_usual_edges(answer.sizes.num_nodes);
    if (cli_given(arguments, "sparse-ratio"))
        answer.sizes.sparse_ratio = cli_ratio(arguments, "sparse-ratio");
    if (!cli_given(arguments, "mpnn") && kind == PROFILE_ESTIMATE_MPNN)
        answer.sizes.mpnn = IFM_MESSAGE_GIN;
    if (!cli_given(arguments, "pe") && kind == PROFILE_ESTIMATE_ENCODING)
        answer.sizes.pe = IFM_ENCODING_LAPLACIAN;
    if (status == CLI_EXIT_OK)
        status = profile_check_encoding(&given, &answer.sizes);
    if (status == CLI_EXIT_OK)
        status = estimators[kind](&answer, &error) ? tell(arguments, &answer) : cli_fail(error);
    g_array_unref(answer.lines);
    g_array_unref(answer.storage);
    return status;
}
