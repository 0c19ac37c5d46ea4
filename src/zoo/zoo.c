
#include "cnn-private.h"

/* The table of models: one row each, sorted by name. Steps to add one: docs/add-a-model.md. */
static const IfmZooEntry entries[] = {
    { "alexnet", "image classifier of 8 layers (torchvision's AlexNet), 61.1 million parameters", ifm_cnn_parameters, TRUE,
      ifm_cnn_build, &ifm_cnn_alexnet },
    { "bert",
      "encoder of BERT (no pooler) over a sequence of tokens; the default sizes are BERT-mini's, 11.0 million "
      "parameters",
      ifm_zoo_bert_parameters, FALSE, ifm_zoo_bert_build },
    { "densenet121", "image classifier of dense blocks (torchvision's DenseNet-121), 8.0 million parameters",
      ifm_cnn_parameters, TRUE, ifm_cnn_build, &ifm_cnn_densenet121 },
    { "googlenet",
      "image classifier of Inception modules (torchvision's GoogLeNet: batch norm, no auxiliary heads), 6.6 "
      "million parameters",
      ifm_cnn_parameters, TRUE, ifm_cnn_build, &ifm_cnn_googlenet },
    { "gps", "graph transformer with message passing next to attention (GPS): docs/transformers.md", ifm_zoo_gps_parameters,
      FALSE, ifm_zoo_transformer_build },
    { "graph_transformer", "attention over a graph's nodes, or along its edges: docs/transformers.md",
      ifm_zoo_graph_transformer_parameters, FALSE, ifm_zoo_transformer_build },
    { "graphsage", "a GraphSAGE layer, or a range of its seven stages: docs/stages.md", ifm_zoo_graphsage_parameters, FALSE,
      ifm_zoo_graphsage_build },
    { "matmul", "y = x W: one matrix product, or a chain of them", ifm_zoo_matmul_parameters, FALSE, ifm_zoo_matmul_build },
    { "mobilenet_v2", "image classifier of depthwise convolutions (torchvision's MobileNetV2), 3.5 million parameters",
      ifm_cnn_parameters, TRUE, ifm_cnn_build, &ifm_cnn_mobilenet_v2 },
    { "resnet152", "residual network (torchvision's ResNet-152 v1.5), 60.2 million parameters", ifm_cnn_parameters, TRUE,
      ifm_cnn_build, &ifm_cnn_resnet152 },
    { "resnet18", "residual network (torchvision's ResNet-18), 11.7 million parameters", ifm_cnn_parameters, TRUE,
      ifm_cnn_build, &ifm_cnn_resnet18 },
    { "resnet50", "residual network (torchvision's ResNet-50 v1.5), 25.6 million parameters", ifm_cnn_parameters, TRUE,
      ifm_cnn_build, &ifm_cnn_resnet50 },
    { "small-cnn", "a small image classifier: two convolutions, pooling, a dense layer, softmax",
      ifm_zoo_small_cnn_parameters, TRUE, ifm_zoo_small_cnn_build },
    { "squeezenet", "image classifier of fire modules (torchvision's SqueezeNet 1.1), 1.2 million parameters",
      ifm_cnn_parameters, TRUE, ifm_cnn_build, &ifm_cnn_squeezenet },
    { "staged-matmul", "matrix products in four stages of different cost, or a range of them: docs/stages.md",
      ifm_zoo_matmul_stages_parameters, FALSE, ifm_zoo_matmul_stages_build },
    { "vgg16", "image classifier of 16 layers (torchvision's VGG-16), 138.4 million parameters", ifm_cnn_parameters, TRUE,
      ifm_cnn_build, &ifm_cnn_vgg16 },
    { "vit", "vision transformer over patches of an image; the default sizes are ViT-Tiny/16, 5.7 million parameters",
      ifm_zoo_vit_parameters, FALSE, ifm_zoo_vit_build },
    { NULL },
};

const char *const *ifm_zoo_form_words(void)
{
    static const char *const words[] = { "evaluation", "training", NULL };
    return words;
}

const IfmZooEntry *ifm_zoo_entries(void)
{
    return entries;
}

const IfmZooEntry *ifm_zoo_find(const char *name, GError **error)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (const IfmZooEntry *entry = entries; entry->name != NULL; entry++)
    {
        if (g_str_equal(entry->name, name))
            return entry;
        g_ptr_array_add(names, (gpointer)entry->name);
    }
    g_ptr_array_add(names, NULL);
    g_autofree char *hint = ifm_nearest_hint(name, (const char *const *)names->pdata);
    g_autofree char *all = g_strjoinv(", ", (char **)names->pdata);
    ifm_error_refuse(error, "zoo: there is no model '%s'%s (there are %s)", name, hint, all);
    return NULL;
}

/* find_parameter: Returns: its place in the table, -1 with an error naming the nearest. */
static int find_parameter(const IfmZooEntry *entry, const char *name, GError **error)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (int i = 0; entry->parameters[i].name != NULL; i++)
    {
        if (g_str_equal(entry->parameters[i].name, name))
            return i;
        g_ptr_array_add(names, (gpointer)entry->parameters[i].name);
    }
    g_ptr_array_add(names, NULL);
    g_autofree char *hint = ifm_nearest_hint(name, (const char *const *)names->pdata);
    ifm_error_refuse(error, "zoo: %s has no parameter '%s'%s", entry->name, name, hint);
    return -1;
}

/* read_word: The index of one of a parameter's words. */
static gboolean read_word(const IfmZooEntry *entry, const IfmZooParameter *parameter, const char *text, gint64 *value,
                          GError **error)
{
    const char *const *words = parameter->words();
    *value = ifm_word_index(words, text);
    if (*value >= 0)
        return TRUE;
    g_autofree char *all = g_strjoinv(", ", (char **)words), *hint = ifm_nearest_hint(text, words);
    return ifm_error_refuse(error, "zoo: %s: %s=%s is none of %s%s", entry->name, parameter->name, text, all, hint);
}

/* @given: of each parameter, whether it was set */
static gboolean set_parameter(const IfmZooEntry *entry, const char *setting, gint64 *values, gboolean *given,
                              GError **error)
{
    g_auto(GStrv) parts = g_strsplit(setting, "=", 2);
    if (parts[0] == NULL || parts[1] == NULL)
        return ifm_error_refuse(error, "zoo: %s: '%s' is not NAME=VALUE", entry->name, setting);
    int index = find_parameter(entry, parts[0], error);
    if (index < 0)
        return FALSE;
    const IfmZooParameter *parameter = &entry->parameters[index];
    if (given[index])
        return ifm_error_refuse(error, "zoo: %s: '%s' is given twice", entry->name, parts[0]);
    given[index] = TRUE;
    if (parameter->words != NULL)
        return read_word(entry, parameter, parts[1], &values[index], error);
    return g_ascii_string_to_signed(parts[1], 10, parameter->min, parameter->max, &values[index], NULL) ||
           ifm_error_refuse(error, "zoo: %s: %s=%s is not a number from %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT,
                            entry->name, parts[0], parts[1], parameter->min, parameter->max);
}

gboolean ifm_zoo_values(const IfmZooEntry *entry, const char *const *settings, gint64 *values, GError **error)
{
    gboolean given[IFM_ZOO_MAX_PARAMETERS] = { FALSE };
    for (gsize i = 0; entry->parameters[i].name != NULL; i++)
    {
        g_assert(i < IFM_ZOO_MAX_PARAMETERS);
        values[i] = entry->parameters[i].fallback;
    }
    for (gsize i = 0; settings != NULL && settings[i] != NULL; i++)
        if (!set_parameter(entry, settings[i], values, given, error))
            return FALSE;
    return TRUE;
}

IfmModel *ifm_zoo_build(const char *name, const char *const *settings, guint32 seed, GError **error)
{
    const IfmZooEntry *entry = ifm_zoo_find(name, error);
    gint64 values[IFM_ZOO_MAX_PARAMETERS];
    return entry != NULL && ifm_zoo_values(entry, settings, values, error) ? entry->build(entry, values, seed, error)
                                                                           : NULL;
}

IfmModel *ifm_zoo_outline(const char *name, const char *const *settings, guint32 seed, GError **error)
{
    const IfmZooEntry *entry = ifm_zoo_find(name, error);
    gint64 values[IFM_ZOO_MAX_PARAMETERS];
    if (entry == NULL || !ifm_zoo_values(entry, settings, values, error))
        return NULL;
    return (entry->build == ifm_cnn_build ? ifm_cnn_outline : entry->build)(entry, values, seed, error);
}
