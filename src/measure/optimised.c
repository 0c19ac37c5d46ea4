#include <string.h>

#include <inferometer/json.h>

#include "measure-private.h"

/*
 * A runtime that can save the graph it made of a model tells by it what each of its own nodes does: the fused ones, those
 * in blocked channels, those it put in. The operator table has rows for them, so their costs are read off that graph. One
 * that only tells which of the model's nodes went into each of its own leaves the counting to who has the model at hand.
 */

static json_t *cost_to_json(const IfmNodeCost *cost)
{
    return json_pack("{s:b,s:s,s:I,s:I,s:I,s:I}", "covered", cost->covered, "family", ifm_family_name(cost->family), "macs",
                     (json_int_t)cost->macs, "flop", (json_int_t)cost->flop, "bytes_read", (json_int_t)cost->bytes_read,
                     "bytes_written", (json_int_t)cost->bytes_written);
}

/* name -> index + 1; a name that two nodes share tells neither. */
static GHashTable *index_nodes(const IfmModel *model)
{
    GHashTable *named = g_hash_table_new(g_str_hash, g_str_equal);
    for (gsize i = 0; i < ifm_model_n_nodes(model); i++)
    {
        const char *name = ifm_model_node(model, i)->name;
        gboolean twice = g_hash_table_contains(named, name);
        if (*name != '\0')
            g_hash_table_insert(named, (gpointer)name, GSIZE_TO_POINTER(twice ? G_MAXSIZE : i + 1));
    }
    return named;
}

void ifm_optimised_costs(const char *path, const IfmModelCase *model_case, IfmMeasurement *measurement)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModel) model = ifm_model_open(path, &error);
    g_autoptr(IfmAnalysis) analysis =
        model != NULL ? ifm_model_analyse(model, model_case->bindings, model_case->n_bindings, &error) : NULL;
    if (analysis == NULL || !json_is_object(measurement->books))
    {
        g_debug("the optimised graph tells nothing: %s", error != NULL ? error->message : "no books");
        return;
    }
    g_autoptr(GHashTable) named = index_nodes(model);
    json_t *costs = json_array();
    gsize n_known = 0;
    for (guint i = 0; i < measurement->nodes->len; i++)
    {
        const IfmNodeRow *row = measurement->nodes->pdata[i];
        gsize found = GPOINTER_TO_SIZE(g_hash_table_lookup(named, row->name));
        gboolean known =
            found > 0 && found != G_MAXSIZE && g_str_equal(ifm_model_node(model, found - 1)->op_type, row->op_type);
        n_known += known;
        json_array_append_new(costs, known ? cost_to_json(ifm_analysis_node_cost(analysis, found - 1)) : json_null());
    }
    if (n_known > 0)
        json_object_set_new(measurement->books, "costs", costs);
    else
        json_decref(costs);
}

void ifm_optimised_parts(IfmCompiled *compiled, IfmMeasurement *measurement)
{
    g_autoptr(GHashTable) parts = json_is_object(measurement->books) ? ifm_compiled_parts(compiled) : NULL;
    if (parts == NULL)
        return;
    json_t *list = json_array();
    for (guint i = 0; i < measurement->nodes->len; i++)
    {
        const IfmNodeRow *row = measurement->nodes->pdata[i];
        const GPtrArray *names = g_hash_table_lookup(parts, row->name);
        json_t *of = names != NULL ? json_array() : json_null();
        for (guint k = 0; names != NULL && k < names->len; k++)
            json_array_append_new(of, ifm_json_string(names->pdata[k]));
        json_array_append_new(list, of);
    }
    json_object_set_new(measurement->books, "parts", list);
}
