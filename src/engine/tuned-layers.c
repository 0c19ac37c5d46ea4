/* What convolutions of regions run best by: records, and the question. */
#include <base/fields.h>

#include "engine-private.h"

#define TUNED(TYPE, member) IFM_RECORD(TYPE, IfmTunedLayer, member)

static const IfmRecordField fields[] = {
    { TUNED(TEXT, node) },
    { TUNED(TEXT, layer) },
    { TUNED(TEXT, algorithm) },
    { TUNED(TEXT, implementation) },
    { TUNED(INT, index) },
    { TUNED(DOUBLE, time_ns) },
    { TUNED(DOUBLE, rule_ns) },
    { TUNED(DOUBLE, region_ns) },
    { TUNED(DOUBLE, runtime_ns) },
    { TUNED(FLAG, is_slower) },
    { NULL },
};

static void layer_free(gpointer layer)
{
    ifm_record_free(layer, fields);
}

static GPtrArray *layers_new(void)
{
    return g_ptr_array_new_with_free_func(layer_free);
}

json_t *ifm_tuned_layers_to_json(const GPtrArray *layers)
{
    json_t *json = json_array();
    for (guint i = 0; i < layers->len; i++)
        json_array_append_new(json, ifm_record_to_json(layers->pdata[i], fields));
    return json;
}

GPtrArray *ifm_tuned_layers_from_json(const json_t *json, GError **error)
{
    g_autoptr(GPtrArray) layers = layers_new();
    size_t i;
    json_t *row;
    if (!json_is_array(json))
    {
        ifm_error_refuse(error, "no list of tuned layers");
        return NULL;
    }
    json_array_foreach(json, i, row)
    {
        IfmTunedLayer *layer = g_new0(IfmTunedLayer, 1);
        g_ptr_array_add(layers, layer);
        if (!ifm_record_from_json(layer, fields, row, "a tuned layer", NULL, error))
            return NULL;
    }
    return g_steal_pointer(&layers);
}

/* --- the question ----------------------------------------------------------------------------------------------------- */

typedef struct
{
    IfmRequest *request;
    const IfmTuning *tuning;
    GPtrArray *layers;
    gboolean ok;
    GError **error;
} Asked;

static void ask(void *user)
{
    Asked *asked = user;
    IfmCompiled *compiled = asked->request->compiled;
    asked->ok = compiled->engine->driver->tune(compiled, asked->request, asked->tuning, asked->layers, asked->error);
}

GPtrArray *ifm_request_tune(IfmRequest *request, const IfmTuning *tuning, GError **error)
{
    IfmCompiled *compiled = request->compiled;
    g_autoptr(GPtrArray) layers = layers_new();
    Asked asked = { request, tuning, layers, FALSE, error };
    if (compiled->engine->driver->tune == NULL || !compiled->options.time_regions)
        ifm_error_set(error, IFM_ERROR_UNSUPPORTED, "%s: its convolutions cannot be tuned", compiled->who);
    else
        ifm_compiled_invoke(compiled, request->stream, ask, &asked);
    return asked.ok ? g_steal_pointer(&layers) : NULL;
}
