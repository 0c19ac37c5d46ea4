#include <string.h>

#include "openvino-private.h"

/*
 * Which of the model's nodes a node of the runtime was made of. Profiling infos do not show it: a convolution joined
 * with a batch norm is "Multiply_20281" there. The exported model does: its graph is written as XML, each layer with
 * the names that went into it ("fused_names"). The runtime encrypts that text, with callbacks if the user sets them.
 * The callback here leaves the text as it is and keeps a copy. The rest of an export, the weights, is discarded.
 */

/* The callbacks have no user argument; they are called on the thread that exports. */
static _Thread_local GString *heard;

static void keep(const char *from, const size_t n, char *to, size_t *n_to)
{
    *n_to = n;
    if (to == NULL)
        return;
    memcpy(to, from, n);
    if (heard != NULL && heard->len == 0)
        g_string_append_len(heard, from, (gssize)n);
}

const ov_encryption_callbacks ifm_ov_open_callbacks = { keep, keep };

/* --- the text --------------------------------------------------------------------------------------------------------- */

typedef struct
{
    GHashTable *parts; /* layer -> GPtrArray of names */
    GPtrArray *names;  /* of the layer being read, borrowed */
    int n_layers;      /* open ones: a layer's body has layers of its own, whose names count as its own */
} Reading;

const char *ifm_ov_attribute(const char *key, const char **keys, const char **values)
{
    for (gsize i = 0; keys[i] != NULL; i++)
        if (g_str_equal(keys[i], key))
            return values[i];
    return NULL;
}

/* Adds the names of "conv1, bn1"; a comma within a name follows a backslash. */
static void add_names(GPtrArray *names, const char *list)
{
    g_autoptr(GString) name = g_string_new(NULL);
    for (const char *at = list;; at++)
    {
        gboolean escaped = at[0] == '\\' && at[1] == ',';
        if (escaped || (*at != ',' && *at != '\0'))
        {
            g_string_append_c(name, escaped ? *++at : *at);
            continue;
        }
        g_strstrip(name->str);
        if (*name->str != '\0' && !g_ptr_array_find_with_equal_func(names, name->str, g_str_equal, NULL))
            g_ptr_array_add(names, g_strdup(name->str));
        g_string_truncate(name, 0);
        if (*at == '\0')
            return;
    }
}

static void element_begins(GMarkupParseContext *context, const char *element, const char **keys, const char **values,
                           gpointer user, GError **error)
{
    Reading *reading = user;
    if (g_str_equal(element, "layer") && reading->n_layers++ == 0)
    {
        const char *name = ifm_ov_attribute("name", keys, values);
        reading->names = g_ptr_array_new_with_free_func(g_free);
        g_hash_table_insert(reading->parts, g_strdup(name != NULL ? name : ""), reading->names);
    }
    const char *value = ifm_ov_attribute("value", keys, values);
    if (g_str_equal(element, "attribute") && reading->n_layers > 0 && value != NULL &&
        g_strcmp0(ifm_ov_attribute("name", keys, values), "fused_names") == 0)
        add_names(reading->names, value);
}

static void element_ends(GMarkupParseContext *context, const char *element, gpointer user, GError **error)
{
    Reading *reading = user;
    reading->n_layers -= g_str_equal(element, "layer");
}

GHashTable *ifm_ov_parts_read(const char *text, gsize n)
{
    static const GMarkupParser parser = { .start_element = element_begins, .end_element = element_ends };
    Reading reading = { g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_ptr_array_unref), NULL,
                        0 };
    g_autoptr(GMarkupParseContext) context = g_markup_parse_context_new(&parser, 0, &reading, NULL);
    if (n == 0 || !g_markup_parse_context_parse(context, text, (gssize)n, NULL) ||
        !g_markup_parse_context_end_parse(context, NULL) || g_hash_table_size(reading.parts) == 0)
        g_clear_pointer(&reading.parts, g_hash_table_unref);
    return reading.parts;
}

GString *ifm_ov_graph(IfmCompiled *compiled)
{
    OvCompiled *self = (OvCompiled *)compiled;
    if (!self->reports_parts)
        return NULL;
    g_autoptr(GString) text = g_string_new(NULL);
    heard = text;
    ov_status_e status = ov_engine(compiled)->api.ov_compiled_model_export_model(self->model, "/dev/null");
    heard = NULL;
    return status == OK ? g_steal_pointer(&text) : NULL;
}

GHashTable *ifm_ov_parts(IfmCompiled *compiled)
{
    g_autoptr(GString) text = ifm_ov_graph(compiled);
    return text != NULL ? ifm_ov_parts_read(text->str, text->len) : NULL;
}
