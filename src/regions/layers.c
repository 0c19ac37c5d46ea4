/* What the regions of a model are. */
#include <string.h>

#include <base/base.h>

#include "regions-private.h"

const char *ifm_regions_program(const IfmNode *node)
{
    const gboolean is_region =
        g_str_equal(node->domain, IFM_REGION_DOMAIN) && g_str_equal(node->op_type, IFM_REGION_OPERATOR);
    return is_region ? ifm_node_string(node, "program", "") : NULL;
}

gboolean ifm_regions_are_in(const IfmModel *model)
{
    for (gsize i = 0; i < ifm_model_n_nodes(model); i++)
        if (ifm_regions_program(ifm_model_node(model, i)) != NULL)
            return TRUE;
    return FALSE;
}

gboolean ifm_regions_check(const IfmModel *model, GError **error)
{
    const char *name = ifm_model_name(model), *weight = ifm_model_overridable(model);
    if (ifm_regions_are_in(model))
        return ifm_error_refuse(error, "%s is tuned already: tune the model that it was made of", name);
    return weight == NULL ||
           ifm_error_refuse(
               error,
               "%s: \"%s\" has a value and is an input, too: a program may give it another, which a tuned model "
               "could not follow: take it out of the inputs, or take its value out",
               name, weight);
}

#define SAVED_VERSION 1000 /* of each domain of custom operators in a model that ONNX Runtime saves */

gboolean ifm_regions_check_version(const IfmModel *model, GError **error)
{
    const gint64 version = ifm_model_domain_version(model, IFM_REGION_DOMAIN);
    return version == IFM_REGION_VERSION || version == SAVED_VERSION || !ifm_regions_are_in(model) ||
           ifm_error_refuse(error,
                            "%s: its regions are of version %" G_GINT64_FORMAT " of the domain " IFM_REGION_DOMAIN
                            ", inferometer " IFM_VERSION " knows version %d",
                            ifm_model_name(model), version, IFM_REGION_VERSION);
}

static void layer_clear(gpointer data)
{
    IfmProgramLayer *layer = data;
    g_free(layer->name);
    g_free(layer->algorithm);
}

/* "conv … algorithm winograd 4 name /conv1/Conv" */
static void add_layer(GArray *layers, const char *line)
{
    const char *algorithm = strstr(line, " algorithm "), *name = algorithm != NULL ? strstr(algorithm, " name ") : NULL;
    if (!g_str_has_prefix(line, "conv ") || name == NULL)
        return;
    algorithm += strlen(" algorithm ");
    const IfmProgramLayer layer = { g_strdup(name + strlen(" name ")), g_strndup(algorithm, (gsize)(name - algorithm)) };
    if (g_str_has_suffix(layer.algorithm, " 0")) /* the rule's tile */
        layer.algorithm[strlen(layer.algorithm) - 2] = '\0';
    g_array_append_val(layers, layer);
}

GArray *ifm_regions_layers(const IfmModel *model)
{
    GArray *layers = g_array_new(FALSE, FALSE, sizeof(IfmProgramLayer));
    g_array_set_clear_func(layers, layer_clear);
    for (gsize i = 0; i < ifm_model_n_nodes(model); i++)
    {
        const char *program = ifm_regions_program(ifm_model_node(model, i));
        g_auto(GStrv) lines = g_strsplit(program != NULL ? program : "", "\n", -1);
        for (gsize k = 0; lines[k] != NULL; k++)
            add_layer(layers, lines[k]);
    }
    return layers;
}
