/* The record of what ran, a row a layer. */
#include <base/base.h>
#include <base/fields.h>
#include <convolution/convolution.h>

#define FIELD(TYPE, member) IFM_RECORD(TYPE, IfmConvLayer, member)

const IfmRecordField ifm_conv_layer_fields[] = {
    { FIELD(TEXT, layer) },
    { FIELD(TEXT, asked) },
    { FIELD(TEXT, algorithm) },
    { FIELD(TEXT, implementation) },
    { FIELD(INT64, workspace_bytes) },
    { FIELD(FLAG, fell_back) },
    { FIELD(INT64, in_channels) },
    { FIELD(INT64, out_channels) },
    { FIELD(INT64, kernel_rows) },
    { FIELD(INT64, kernel_columns) },
    { FIELD(INT64, macs) },
    { FIELD(INT64, groups), .optional = TRUE },
    { FIELD(INT64, stride_rows), .optional = TRUE },
    { FIELD(INT64, stride_columns), .optional = TRUE },
    { FIELD(INT64, dilation_rows), .optional = TRUE },
    { FIELD(INT64, dilation_columns), .optional = TRUE },
    { FIELD(INT64, batch), .optional = TRUE },
    { FIELD(INT64, out_rows), .optional = TRUE },
    { FIELD(INT64, out_columns), .optional = TRUE },
    { NULL },
};

IfmConvLayer *ifm_conv_layer_new(void)
{
    IfmConvLayer *layer = g_new0(IfmConvLayer, 1);
    ifm_record_init(layer, ifm_conv_layer_fields);
    return layer;
}

void ifm_conv_layer_free(IfmConvLayer *layer)
{
    ifm_record_free(layer, ifm_conv_layer_fields);
}

IfmConvLayer *ifm_conv_layer_copy(const IfmConvLayer *layer)
{
    IfmConvLayer *copy = g_memdup2(layer, sizeof *layer);
    copy->layer = g_strdup(layer->layer);
    copy->asked = g_strdup(layer->asked);
    copy->algorithm = g_strdup(layer->algorithm);
    copy->implementation = g_strdup(layer->implementation);
    return copy;
}

GPtrArray *ifm_conv_layers_new(void)
{
    return g_ptr_array_new_with_free_func((GDestroyNotify)ifm_conv_layer_free);
}

json_t *ifm_conv_layers_to_json(const GPtrArray *layers)
{
    json_t *json = json_array();
    for (guint i = 0; i < layers->len; i++)
        json_array_append_new(json, ifm_record_to_json(layers->pdata[i], ifm_conv_layer_fields));
    return json;
}

GPtrArray *ifm_conv_layers_from_json(const json_t *json)
{
    g_autoptr(GPtrArray) layers = ifm_conv_layers_new();
    if (!json_is_array(json))
        return NULL;
    for (gsize i = 0; i < json_array_size(json); i++)
    {
        IfmConvLayer *layer = ifm_conv_layer_new();
        g_ptr_array_add(layers, layer);
        if (!ifm_record_from_json(layer, ifm_conv_layer_fields, json_array_get(json, i), "convolution", NULL, NULL))
            return NULL;
    }
    return g_steal_pointer(&layers);
}

static const IfmConvLayer *find_layer(const GPtrArray *layers, const char *name)
{
    for (guint i = 0; i < layers->len; i++)
        if (g_str_equal(((const IfmConvLayer *)layers->pdata[i])->layer, name))
            return layers->pdata[i];
    return NULL;
}

gboolean ifm_conv_layers_check(const GPtrArray *a, const GPtrArray *b, GError **error)
{
    for (guint i = 0; i < a->len; i++)
    {
        const IfmConvLayer *left = a->pdata[i], *right = find_layer(b, left->layer);
        if (right == NULL || g_str_equal(left->algorithm, right->algorithm) ||
            !g_str_equal(left->implementation, right->implementation))
            continue;
        return ifm_error_set(error, IFM_ERROR_FAILED, "%s: %s and %s are one implementation (%s)", left->layer,
                             left->algorithm, right->algorithm, left->implementation);
    }
    return TRUE;
}
