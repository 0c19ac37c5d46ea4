/* Which algorithm each layer of a model gets, as options say it. */
#include <string.h>

#include "convolution-private.h"

static gboolean take_line(IfmConvChoice *choice, const char *line, GError **error)
{
    const char *equals = strrchr(line, '=');
    if (equals == NULL)
        return ifm_conv_algorithm_parse(line, &choice->all, error);
    g_autofree char *name = g_strndup(line, (gsize)(equals - line));
    if (g_str_equal(name, "workspace"))
    {
        guint64 bytes = 0;
        if (!g_ascii_string_to_unsigned(equals + 1, 10, 1, G_MAXINT64, &bytes, NULL))
            return ifm_error_refuse(error, "convolutions: \"%s\" is not a number of bytes", equals + 1);
        choice->max_workspace_bytes = bytes;
        return TRUE;
    }
    IfmConvAlgorithm algorithm;
    if (!ifm_conv_algorithm_parse(equals + 1, &algorithm, error))
        return FALSE;
    if (g_str_equal(name, "fallback"))
        choice->fallback = algorithm;
    else
        g_hash_table_insert(choice->layers, g_steal_pointer(&name), GINT_TO_POINTER(algorithm));
    return TRUE;
}

gboolean ifm_conv_choice_init(IfmConvChoice *choice, const char *const *lines, GError **error)
{
    *choice = (IfmConvChoice){ .all = IFM_CONV_RUNTIME, .fallback = IFM_N_CONV_ALGORITHMS };
    choice->layers = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (; lines != NULL && *lines != NULL; lines++)
        if (!take_line(choice, *lines, error))
            return FALSE;
    return TRUE;
}

void ifm_conv_choice_clear(IfmConvChoice *choice)
{
    g_clear_pointer(&choice->layers, g_hash_table_unref);
}

IfmConvAlgorithm ifm_conv_choice_of(const IfmConvChoice *choice, const char *layer)
{
    gpointer found = NULL;
    return g_hash_table_lookup_extended(choice->layers, layer, NULL, &found) ? (IfmConvAlgorithm)GPOINTER_TO_INT(found)
                                                                             : choice->all;
}
