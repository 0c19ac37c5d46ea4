#include <string.h>

#include <base/fields.h>
#include <store/store.h>

#include "measure-private.h"

/*
 * A runtime that can save the graph it made of a model shows by it what each of its own nodes does: the fused ones, those
 * in blocked channels, those it put in. The operator table has rows for them, so their costs are read off that graph. One
 * that only reports which of the model's nodes went into each of its own leaves the counting to the caller.
 */

/* --- which node of it a row is --------------------------------------------------------------------------------------- */

/* "MatMul_5": what the runtime calls a node of that type without a name. */
static gboolean is_made_up(const IfmNodeRow *row)
{
    gsize length = strlen(row->op_type);
    const char *number = row->name + length + 1;
    return strncmp(row->name, row->op_type, length) == 0 && row->name[length] == '_' && *number != '\0' &&
           number[strspn(number, "0123456789")] == '\0';
}

static char *key_of(const char *op_type, const char *name)
{
    return g_strdup_printf("%s %s", op_type, name);
}

static void add(GHashTable *lists, char *key /* (transfer full) */, gsize index)
{
    GArray *list = g_hash_table_lookup(lists, key);
    if (list == NULL)
    {
        list = g_array_new(FALSE, FALSE, sizeof(gsize));
        g_hash_table_insert(lists, g_strdup(key), list);
    }
    g_array_append_val(list, index);
    g_free(key);
}

static GHashTable *new_lists(void)
{
    return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_array_unref);
}

static GHashTable *list_nodes(const IfmModel *model)
{
    GHashTable *lists = new_lists();
    for (gsize i = 0; i < ifm_model_n_nodes(model); i++)
    {
        const IfmNode *node = ifm_model_node(model, i);
        add(lists, key_of(node->op_type, node->name), i);
    }
    return lists;
}

/* @nodes: what names there are: a node may really be called "MatMul_5" */
static GHashTable *list_rows(const GPtrArray *rows, GHashTable *nodes)
{
    GHashTable *lists = new_lists();
    for (guint i = 0; i < rows->len; i++)
    {
        const IfmNodeRow *row = rows->pdata[i];
        g_autofree char *key = key_of(row->op_type, row->name);
        gboolean nameless = !g_hash_table_contains(nodes, key) && is_made_up(row);
        add(lists, nameless ? key_of(row->op_type, "") : g_steal_pointer(&key), i);
    }
    return lists;
}

static gint compare_starts(gconstpointer a, gconstpointer b, gpointer rows)
{
    const IfmNodeRow *x = ((const GPtrArray *)rows)->pdata[*(const gsize *)a];
    const IfmNodeRow *y = ((const GPtrArray *)rows)->pdata[*(const gsize *)b];
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/*
 * The file has the nodes in the order in which the runtime goes through them. So rows that operator and name alone do not
 * tell apart (two nodes of one name, those without any) are the nodes of that operator and name in turn, as they ran; but
 * only where they are as many. Returns: [rows->len] index + 1 of each row's node, 0 for none.
 */
static gsize *match_rows(const GPtrArray *rows, const IfmModel *model)
{
    g_autoptr(GHashTable) nodes = list_nodes(model), ran = list_rows(rows, nodes);
    gsize *matched = g_new0(gsize, rows->len + 1);
    GHashTableIter iter;
    gpointer key, value;
    g_hash_table_iter_init(&iter, ran);
    while (g_hash_table_iter_next(&iter, &key, &value))
    {
        GArray *list = value;
        const GArray *found = g_hash_table_lookup(nodes, key);
        if (found == NULL || found->len != list->len)
            continue;
        g_array_sort_with_data(list, compare_starts, (gpointer)rows);
        for (guint i = 0; i < list->len; i++)
            matched[g_array_index(list, gsize, i)] = g_array_index(found, gsize, i) + 1;
    }
    return matched;
}

/* --- its costs ------------------------------------------------------------------------------------------------------- */

/* A fused node is called something else than those in it, but makes what the last of them made: by that it is found. */
static json_t *cost_to_json(const IfmNodeCost *cost, const IfmNode *node)
{
    return json_pack("{s:b,s:s,s:I,s:I,s:I,s:I,s:b,s:o}", "covered", cost->covered, "family", ifm_family_name(cost->family),
                     "macs", (json_int_t)cost->macs, "flop", (json_int_t)cost->flop, "bytes_read",
                     (json_int_t)cost->bytes_read, "bytes_written", (json_int_t)cost->bytes_written, "at_most",
                     cost->is_upper_bound, "makes", node->n_outputs > 0 ? ifm_json_string(node->outputs[0]) : json_null());
}

void ifm_optimised_unknown(IfmMeasurement *measurement, const char *why)
{
    if (json_is_object(measurement->breakdown))
        json_object_set_new(measurement->breakdown, "costs_why", ifm_json_string(why));
}

void ifm_optimised_costs(const char *path, const IfmModelCase *model_case, IfmMeasurement *measurement)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModel) model = ifm_model_open_outline(path, &error); /* its weights may lie where the model's own do */
    g_autoptr(IfmAnalysis) analysis =
        model != NULL ? ifm_model_analyse(model, model_case->bindings, model_case->n_bindings, &error) : NULL;
    if (analysis == NULL)
    {
        ifm_optimised_unknown(measurement, error->message);
        return;
    }
    g_autofree gsize *matched = match_rows(measurement->nodes, model);
    json_t *costs = json_array();
    gsize n_known = 0;
    for (guint i = 0; i < measurement->nodes->len; i++)
    {
        n_known += matched[i] > 0;
        json_array_append_new(costs, matched[i] > 0 ? cost_to_json(ifm_analysis_node_cost(analysis, matched[i] - 1),
                                                                   ifm_model_node(model, matched[i] - 1))
                                                    : json_null());
    }
    if (n_known > 0 && json_is_object(measurement->breakdown))
        json_object_set(measurement->breakdown, "costs", costs);
    else
        ifm_optimised_unknown(measurement, "none of its nodes ran under the name it has there");
    json_decref(costs);
}

void ifm_optimised_parts(IfmCompiled *compiled, IfmMeasurement *measurement)
{
    g_autoptr(GHashTable) parts = json_is_object(measurement->breakdown) ? ifm_compiled_parts(compiled) : NULL;
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
    json_object_set_new(measurement->breakdown, "parts", list);
}
