/* Which algorithm each layer of a model gets, as options say it. */
#include <string.h>

#include "convolution-private.h"

static gboolean take_workspace(IfmConvChoice *choice, const char *text, GError **error)
{
    guint64 bytes = 0;
    if (!g_ascii_string_to_unsigned(text, 10, 1, G_MAXINT64, &bytes, NULL))
        return ifm_error_refuse(error, "convolutions: \"%s\" is not a number of bytes", text);
    choice->max_workspace_bytes = bytes;
    return TRUE;
}

static gboolean take_fallback(IfmConvChoice *choice, IfmConvAlgorithm algorithm, GError **error)
{
    if (algorithm == IFM_CONV_BEST)
        return ifm_error_refuse(error, "convolutions: \"best\" is never refused and no fallback");
    choice->fallback = algorithm;
    return TRUE;
}

static gboolean take_line(IfmConvChoice *choice, const char *line, gboolean *has_all, GError **error)
{
    const char *equals = strrchr(line, '=');
    g_autofree char *name = equals != NULL ? g_strndup(line, (gsize)(equals - line)) : NULL;
    if (g_strcmp0(name, "workspace") == 0)
        return take_workspace(choice, equals + 1, error);
    IfmConvAlgorithm algorithm;
    if (!ifm_conv_algorithm_parse(equals != NULL ? equals + 1 : line, &algorithm, error))
        return FALSE;
    if (g_strcmp0(name, "fallback") == 0)
        return take_fallback(choice, algorithm, error);
    if (name == NULL && *has_all)
        return ifm_error_refuse(error, "convolutions: two algorithms for all layers, %s and %s",
                                ifm_conv_algorithm_name(choice->all), ifm_conv_algorithm_name(algorithm));
    if (name != NULL && g_hash_table_contains(choice->layers, name))
        return ifm_error_refuse(error, "convolutions: two algorithms for the layer \"%s\"", name);
    *has_all |= name == NULL;
    if (name == NULL)
        choice->all = algorithm;
    else
        g_hash_table_insert(choice->layers, g_steal_pointer(&name), GINT_TO_POINTER(algorithm));
    return TRUE;
}

gboolean ifm_conv_choice_init(IfmConvChoice *choice, const char *const *lines, GError **error)
{
    gboolean has_all = FALSE;
    *choice = (IfmConvChoice){ .all = IFM_CONV_RUNTIME, .fallback = IFM_N_CONV_ALGORITHMS };
    choice->layers = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (; lines != NULL && *lines != NULL; lines++)
        if (!take_line(choice, *lines, &has_all, error))
            return FALSE;
    return TRUE;
}

void ifm_conv_choice_clear(IfmConvChoice *choice)
{
    g_clear_pointer(&choice->layers, g_hash_table_unref);
}

gboolean ifm_conv_choice_has(const IfmConvChoice *choice, IfmConvAlgorithm algorithm)
{
    g_autoptr(GList) named = g_hash_table_get_values(choice->layers);
    return choice->all == algorithm || g_list_find(named, GINT_TO_POINTER(algorithm)) != NULL;
}

GStrv ifm_conv_choice_lines(const IfmConvChoice *choice)
{
    g_autoptr(GPtrArray) lines = g_ptr_array_new();
    g_autoptr(GList) names = g_list_sort(g_hash_table_get_keys(choice->layers), (GCompareFunc)strcmp);
    g_ptr_array_add(lines, g_strdup(ifm_conv_algorithm_name(choice->all)));
    for (const GList *name = names; name != NULL; name = name->next)
    {
        const IfmConvAlgorithm algorithm =
            (IfmConvAlgorithm)GPOINTER_TO_INT(g_hash_table_lookup(choice->layers, name->data));
        g_ptr_array_add(lines, g_strconcat(name->data, "=", ifm_conv_algorithm_name(algorithm), NULL));
    }
    if (choice->fallback != IFM_N_CONV_ALGORITHMS)
        g_ptr_array_add(lines, g_strconcat("fallback=", ifm_conv_algorithm_name(choice->fallback), NULL));
    if (choice->max_workspace_bytes > 0)
        g_ptr_array_add(lines, g_strdup_printf("workspace=%zu", choice->max_workspace_bytes));
    g_ptr_array_add(lines, NULL);
    return (GStrv)g_ptr_array_steal(lines, NULL);
}
