#include <string.h>

#include <base/fields.h>
#include <store/store.h>

#include <onnx/cover.h>
#include <regions/regions.h>

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

/* [nodes of the graph] of which group each is. (transfer full) */
static const CoverGroup **groups_of(const Cover *cover, gsize n)
{
    const CoverGroup **groups = g_new0(const CoverGroup *, n + 1);
    for (guint i = 0; i < cover->groups->len; i++)
    {
        const CoverGroup *group = cover->groups->pdata[i];
        for (guint k = 0; k < group->nodes->len; k++)
            groups[g_array_index(group->nodes, gsize, k)] = group;
    }
    return groups;
}

/* Which of the model's nodes they compute, with those that they cannot be told apart from; none: they only move data. */
static json_t *covers_to_json(const CoverGroup *const *groups, gsize n)
{
    json_t *covers = json_array();
    g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);
    for (gsize k = 0; k < n; k++)
    {
        if (groups[k] == NULL || !g_hash_table_add(seen, (gpointer)groups[k]))
            continue;
        for (guint i = 0; i < groups[k]->covers->len; i++)
            json_array_append_new(covers, json_integer((json_int_t)g_array_index(groups[k]->covers, gsize, i)));
    }
    return covers;
}

/* --- regions --------------------------------------------------------------------------------------------------------- */

/* Optimised: what the runtime made. @plain: with the nodes that its regions stand for    @ends: of
 * ifm_regions_expand_from()
 */
typedef struct
{
    IfmModel *model, *plain;
    IfmAnalysis *analysis; /* of @plain */
    GArray *ends;
} Optimised;

static void optimised_clear(Optimised *self)
{
    ifm_model_unref(self->model);
    ifm_model_unref(self->plain);
    ifm_analysis_free(self->analysis);
    g_clear_pointer(&self->ends, g_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Optimised, optimised_clear)

static gboolean optimised_open(Optimised *self, const char *path, const IfmModelCase *model_case, GError **error)
{
    self->ends = g_array_new(FALSE, FALSE, sizeof(gsize));
    self->model = ifm_model_open_outline(path, error); /* its weights may lie where the model's own do */
    self->plain = self->model != NULL ? ifm_regions_expand_from(self->model, self->ends, error) : NULL;
    if (self->plain != NULL)
        self->analysis = ifm_model_analyse(self->plain, model_case->bindings, model_case->n_bindings, error);
    return self->analysis != NULL;
}

static gint64 bytes_of(const IfmAnalysis *analysis, const char *const *tensors, gsize n)
{
    gint64 sum = 0;
    for (gsize i = 0; i < n; i++)
    {
        IfmDtype dtype;
        int rank;
        gint64 shape[IFM_MAX_RANK], bytes = 0;
        if (*tensors[i] == '\0' || !ifm_analysis_shape(analysis, tensors[i], &dtype, &rank, shape))
            continue;
        bytes = (gint64)ifm_dtype_size_bytes(dtype);
        for (int axis = 0; axis < rank; axis++)
            bytes *= shape[axis];
        sum += bytes;
    }
    return sum;
}

/* A region computes what its nodes do, and reads and writes what it has as a node: what lies between them stays within. */
static IfmNodeCost region_cost(const Optimised *self, const IfmNode *node, gsize begin, gsize end)
{
    IfmNodeCost cost = { .covered = TRUE, .family = IFM_FAMILY_CONVOLUTION };
    for (gsize i = begin; i < end; i++)
    {
        const IfmNodeCost *of = ifm_analysis_node_cost(self->analysis, i);
        cost.covered &= of->covered;
        cost.is_upper_bound |= of->is_upper_bound;
        cost.macs += of->macs;
        cost.flop += of->flop;
    }
    if (!cost.covered)
        return (IfmNodeCost){ .family = IFM_FAMILY_CONVOLUTION };
    cost.bytes_read = bytes_of(self->analysis, node->inputs, node->n_inputs);
    cost.bytes_written = bytes_of(self->analysis, node->outputs, node->n_outputs);
    return cost;
}

/* @groups: of the nodes of the plain graph */
static json_t *node_to_json(const Optimised *self, gsize index, const CoverGroup *const *groups)
{
    const IfmNode *node = ifm_model_node(self->model, index);
    const gsize begin = index > 0 ? g_array_index(self->ends, gsize, index - 1) : 0;
    const gsize end = g_array_index(self->ends, gsize, index);
    const IfmNodeCost cost = ifm_regions_program(node) != NULL ? region_cost(self, node, begin, end)
                                                               : *ifm_analysis_node_cost(self->analysis, begin);
    json_t *json = cost_to_json(&cost, node);
    json_object_set_new(json, "covers", covers_to_json(groups + begin, end - begin));
    return json;
}

void ifm_optimised_costs(const char *path, const IfmModelCase *model_case, IfmModel *given, IfmMeasurement *measurement)
{
    g_autoptr(GError) error = NULL;
    g_auto(Optimised) self = { 0 };
    g_autoptr(IfmModel) plain = optimised_open(&self, path, model_case, &error) ? ifm_regions_expand(given, &error) : NULL;
    g_autoptr(IfmAnalysis) before =
        plain != NULL ? ifm_model_analyse(plain, model_case->bindings, model_case->n_bindings, &error) : NULL;
    if (before == NULL)
    {
        ifm_optimised_unknown(measurement, error->message);
        return;
    }
    g_autoptr(Cover) cover = cover_new(plain, before, self.plain, NULL, NULL);
    g_autofree const CoverGroup **groups = groups_of(cover, ifm_model_n_nodes(self.plain));
    g_autofree gsize *matched = match_rows(measurement->nodes, self.model);
    json_t *costs = json_array();
    gsize n_known = 0;
    for (guint i = 0; i < measurement->nodes->len; i++)
    {
        const gsize at = matched[i];
        n_known += at > 0;
        json_array_append_new(costs, at > 0 ? node_to_json(&self, at - 1, groups) : json_null());
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
