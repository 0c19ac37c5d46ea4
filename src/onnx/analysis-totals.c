/* Sums over an analysis, and the nodes that they include. */
#include <string.h>

#include <base/base.h>

#include "memory-place.h"
#include "operators.h"

const IfmNodeCost *ifm_analysis_node_cost(const IfmAnalysis *analysis, gsize node)
{
    g_assert(node < analysis->n_nodes);
    return &analysis->nodes[node].cost;
}

gboolean ifm_analysis_knows_operator(const IfmAnalysis *analysis, gsize node)
{
    g_assert(node < analysis->n_nodes);
    return analysis->nodes[node].row != NULL;
}

/* Over the covered nodes of one family; IFM_N_FAMILIES: of all. */
void ifm_analysis_family_total(const IfmAnalysis *analysis, IfmNodeFamily family, IfmNodeCost *total, gsize *n_covered)
{
    gsize n_nodes = 0;
    *total = (IfmNodeCost){ .family = family < IFM_N_FAMILIES ? family : IFM_FAMILY_OTHER };
    *n_covered = 0;
    for (gsize i = 0; i < analysis->n_nodes; i++)
    {
        IfmNodeCost *cost = &analysis->nodes[i].cost;
        if (family != IFM_N_FAMILIES && cost->family != family)
            continue;
        for (int k = 0; k < IFM_N_COUNTS; k++)
            *ifm_cost_count(total, k) = ifm_sum_up_to_max(*ifm_cost_count(total, k), *ifm_cost_count(cost, k));
        total->is_upper_bound = total->is_upper_bound || cost->is_upper_bound;
        *n_covered += cost->covered;
        n_nodes++;
    }
    total->covered = *n_covered == n_nodes;
}

void ifm_analysis_total(const IfmAnalysis *analysis, IfmNodeCost *total, gsize *n_covered)
{
    ifm_analysis_family_total(analysis, IFM_N_FAMILIES, total, n_covered);
}

gboolean ifm_onnx_check_totals(const IfmAnalysis *analysis, GError **error)
{
    static const char *const counts[IFM_N_COUNTS] = { "MACs", "FLOPs", "bytes read", "bytes written" };
    IfmNodeCost total = { 0 };
    for (int i = 0; i < IFM_N_COUNTS; i++)
        for (gsize node = 0; node < analysis->n_nodes; node++)
            if (!ifm_count_add(ifm_cost_count(&total, i), *ifm_cost_count(&analysis->nodes[node].cost, i)))
                return ifm_error_refuse(
                    error, "the %s of all nodes are more than 63 bits can hold: smaller dimensions would do", counts[i]);
    return TRUE;
}

/* --- coverage ----------------------------------------------------------------------------------------------------- */

/* Missing: the nodes of one operator that are not covered for one reason. */
typedef struct
{
    const IfmNode *node; /* the first of them */
    const char *why;
    gsize n;
} Missing;

static guint hash_missing(gconstpointer key)
{
    const Missing *missing = key;
    return g_str_hash(missing->node->op_type) * 31 + g_str_hash(missing->node->domain) + g_str_hash(missing->why);
}

static gboolean is_same_missing(gconstpointer a, gconstpointer b)
{
    const Missing *one = a, *other = b;
    return g_str_equal(one->node->op_type, other->node->op_type) && g_str_equal(one->node->domain, other->node->domain) &&
           g_str_equal(one->why, other->why);
}

/* collect_missing: Sorted by the first node of each. */
static GPtrArray *collect_missing(const IfmAnalysis *analysis)
{
    g_autoptr(GPtrArray) order = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GHashTable) index = g_hash_table_new(hash_missing, is_same_missing);
    for (gsize i = 0; i < analysis->n_nodes; i++)
    {
        Missing wanted = { ifm_model_node(analysis->model, i), analysis->nodes[i].why, 1 };
        if (analysis->nodes[i].cost.covered)
            continue;
        Missing *found = g_hash_table_lookup(index, &wanted);
        if (found != NULL)
        {
            found->n++;
            continue;
        }
        found = g_memdup2(&wanted, sizeof wanted);
        g_hash_table_add(index, found);
        g_ptr_array_add(order, found);
    }
    GPtrArray *lines = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; i < order->len; i++)
    {
        const Missing *missing = g_ptr_array_index(order, i);
        const IfmNode *node = missing->node;
        g_ptr_array_add(lines, g_strdup_printf("%s%s%s (%zu node%s): %s", node->domain, *node->domain != '\0' ? "." : "",
                                               node->op_type, missing->n, ifm_plural(missing->n), missing->why));
    }
    return lines;
}

void ifm_analysis_coverage(const IfmAnalysis *analysis, IfmCoverage *coverage)
{
    *coverage = (IfmCoverage){ .n_nodes = analysis->n_nodes, .n_observed = analysis->n_observed };
    for (gsize i = 0; i < analysis->n_nodes; i++)
    {
        gboolean covered = analysis->nodes[i].cost.covered;
        coverage->n_covered += covered;
        coverage->n_mac_nodes += analysis->nodes[i].multiplies;
        coverage->n_mac_covered += analysis->nodes[i].multiplies && covered;
    }
    coverage->missing = collect_missing(analysis);
}

void ifm_coverage_clear(IfmCoverage *coverage)
{
    g_clear_pointer(&coverage->missing, g_ptr_array_unref);
    *coverage = (IfmCoverage){ 0 };
}
