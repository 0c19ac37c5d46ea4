#include <convolution/convolution.h>

#include "profile-page-private.h"

/* What computed each convolution. */

#define MAX_SHOWN 20 /* of a longer list those of most work */

static void get_fell_back(const void *record, const void *user, IfmValue *value)
{
    if (((const IfmConvLayer *)record)->fell_back)
        ifm_value_set_text(value, "yes");
}

#define LAYER(member) IFM_MEMBER(IfmConvLayer, member)

static const IfmField fields[] = {
    { "layer", "layer", IFM_FIELD_TEXT, LAYER(layer) },
    { "asked", NULL, IFM_FIELD_TEXT, LAYER(asked), IFM_FIELD_NO_SCREEN },
    { "algorithm", "algorithm", IFM_FIELD_TEXT, LAYER(algorithm) },
    { "implementation", "implementation", IFM_FIELD_TEXT, LAYER(implementation) },
    { "workspace_bytes", "workspace", IFM_FIELD_BYTES, LAYER(workspace_bytes) },
    { "fell_back", "fell back", IFM_FIELD_TEXT, get_fell_back, NULL, IFM_FIELD_HIDE_EMPTY },
    { NULL },
};

static gint compare_work(gconstpointer a, gconstpointer b)
{
    const IfmConvLayer *x = *(const IfmConvLayer *const *)a, *y = *(const IfmConvLayer *const *)b;
    return (x->macs < y->macs) - (x->macs > y->macs);
}

/* The layers of most work, in the order of the graph. (transfer full) */
static GPtrArray *shown_layers(const GPtrArray *layers)
{
    GPtrArray *shown = g_ptr_array_new();
    g_autoptr(GPtrArray) by_work = g_ptr_array_new();
    for (guint i = 0; i < layers->len; i++)
        g_ptr_array_add(by_work, layers->pdata[i]);
    g_ptr_array_sort(by_work, compare_work);
    g_ptr_array_set_size(by_work, (gint)MIN(by_work->len, MAX_SHOWN));
    for (guint i = 0; i < layers->len; i++)
        if (g_ptr_array_find(by_work, layers->pdata[i], NULL))
            g_ptr_array_add(shown, layers->pdata[i]);
    return shown;
}

/* "53 layers: 16 winograd, 37 direct; 37 fell back" (transfer full) */
static char *count_layers(const GPtrArray *layers)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    guint n_fell_back = 0;
    g_string_printf(text, "%u layer%s:", layers->len, ifm_plural(layers->len));
    for (guint i = 0; i < layers->len; i++)
    {
        const IfmConvLayer *layer = layers->pdata[i];
        guint n = 0;
        n_fell_back += layer->fell_back != FALSE;
        if (g_ptr_array_find_with_equal_func(names, layer->algorithm, g_str_equal, NULL))
            continue;
        for (guint k = i; k < layers->len; k++)
            n += g_str_equal(((const IfmConvLayer *)layers->pdata[k])->algorithm, layer->algorithm);
        g_string_append_printf(text, "%s %u %s", names->len > 0 ? "," : "", n, layer->algorithm);
        g_ptr_array_add(names, layer->algorithm);
    }
    if (n_fell_back > 0)
        g_string_append_printf(text, "; %u fell back", n_fell_back);
    if (layers->len > MAX_SHOWN)
        g_string_append_printf(text, "; the %d of most work:", MAX_SHOWN);
    return g_string_free(g_steal_pointer(&text), FALSE);
}

void ifm_profile_add_convolutions(const IfmProfilePage *page, gsize device)
{
    const IfmResult *result = &page->report->devices[device].result;
    GPtrArray *layers = ifm_model_convolutions(result->measurement);
    if (layers == NULL || layers->len == 0)
    {
        g_clear_pointer(&layers, g_ptr_array_unref);
        return;
    }
    ifm_document_keep(page->document, layers, (GDestroyNotify)g_ptr_array_unref);
    g_autofree char *counts = count_layers(layers);
    ifm_document_part(page->document);
    IfmBlock *text = ifm_document_text(page->document, "Convolutions of %s:", ifm_result_name(result));
    g_array_index(text->spans, IfmSpan, 0).strong = TRUE;
    text->indent = 2;
    ifm_document_span(page->document, IFM_TONE_PLAIN, FALSE, " %s", counts);
    ifm_document_table(page->document, ifm_profile_key(page, "convolutions", device), fields, shown_layers(layers));
}
