#include <inferometer/estimate-page.h>
#include <internal/onnx.h>

static void get_intensity(const void *record, const void *user, IfmValue *value)
{
    const IfmEstimate *estimate = &((const IfmEstimateLine *)record)->estimate;
    if (estimate->bytes > 0)
        ifm_value_set_real(value, (double)estimate->flop / (double)estimate->bytes);
}

#define LINE(member) IFM_FIELD_AT(IfmEstimateLine, member)
#define STORAGE(member) IFM_FIELD_AT(IfmEstimateStorage, member)

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

json_t *ifm_estimate_answer_to_json(const IfmEstimateAnswer *answer)
{
    g_autoptr(GPtrArray) lines = pointers(answer->lines), storage = pointers(answer->storage);
    IfmTable table = table_of(line_fields, lines), memory = table_of(storage_fields, storage);
    json_t *json = ifm_json_begin("estimate", 1);
    json_object_set_new(json, "estimate", json_string(ifm_profile_estimate_words[answer->kind]));
    json_object_set_new(json, "sizes", sizes_to_json(&answer->sizes));
    json_object_set_new(json, "parts", ifm_table_to_json(&table));
    json_object_set_new(json, "memory", ifm_table_to_json(&memory));
    return json;
}

char *ifm_estimate_answer_to_csv(const IfmEstimateAnswer *answer)
{
    g_autoptr(GPtrArray) lines = pointers(answer->lines);
    IfmTable table = table_of(line_fields, lines);
    return ifm_table_to_csv(&table);
}

char *ifm_estimate_answer_to_screen(const IfmEstimateAnswer *answer, const IfmScreen *screen)
{
    g_autoptr(GPtrArray) lines = pointers(answer->lines), storage = pointers(answer->storage);
    IfmTable table = table_of(line_fields, lines), memory = table_of(storage_fields, storage);
    g_autofree char *text = ifm_table_to_screen(&table, screen), *more = ifm_table_to_screen(&memory, screen);
    return g_strconcat(text, storage->len > 0 ? "\n" : "", storage->len > 0 ? more : "", NULL);
}
