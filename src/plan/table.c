/*
 * Plans by size: searched once for each of many sizes, then looked up for a graph of any size. Interpolation between
 * rows is that of IfmGrid, as in the tables of latencies: by the logarithms of nodes, then of edges per node.
 */
#include <math.h>
#include <string.h>

#include "plan-table-private.h"

static const char *const origin_names[] = { [IFM_PLAN_EXACT] = "exact",
                                            [IFM_PLAN_INTERPOLATED] = "interpolated",
                                            [IFM_PLAN_CHOSEN] = "chosen",
                                            [IFM_PLAN_SEARCHED] = "searched" };

const char *ifm_plan_origin_name(IfmPlanOrigin origin)
{
    g_return_val_if_fail((gsize)origin < G_N_ELEMENTS(origin_names), "");
    return origin_names[origin];
}

/* --- rows ------------------------------------------------------------------------------------------------------------- */

void table_row_clear(TableRow *row)
{
    g_clear_pointer(&row->plan, ifm_plan_free);
    ifm_plan_cost_clear(&row->cost);
}

IfmPlanTable *table_alloc(const char *model)
{
    IfmPlanTable *table = g_new0(IfmPlanTable, 1);
    table->model = g_strdup(model);
    table->grid = g_array_new(FALSE, FALSE, sizeof(double));
    table->without = g_ptr_array_new_with_free_func(g_free);
    table->no_split = g_ptr_array_new_with_free_func(g_free);
    table->rows = g_array_new(FALSE, FALSE, sizeof(TableRow));
    g_array_set_clear_func(table->rows, (GDestroyNotify)table_row_clear);
    return table;
}

void ifm_plan_table_free(IfmPlanTable *table)
{
    if (table == NULL)
        return;
    g_free(table->model);
    g_array_unref(table->grid);
    g_ptr_array_unref(table->without);
    g_ptr_array_unref(table->no_split);
    g_array_unref(table->rows);
    ifm_grid_free(table->places);
    g_free(table);
}

static TableRow *row_of(const IfmPlanTable *table, guint index)
{
    return &g_array_index(table->rows, TableRow, index);
}

static int compare_sizes(const IfmPlanSize *a, const IfmPlanSize *b)
{
    if (a->nodes != b->nodes)
        return a->nodes < b->nodes ? -1 : 1;
    return (a->edges > b->edges) - (a->edges < b->edges);
}

gboolean table_insert(IfmPlanTable *table, TableRow *row)
{
    guint at = 0;
    while (at < table->rows->len && compare_sizes(&row_of(table, at)->size, &row->size) < 0)
        at++;
    if (at < table->rows->len && compare_sizes(&row_of(table, at)->size, &row->size) == 0)
    {
        table_row_clear(row);
        return FALSE;
    }
    g_array_insert_val(table->rows, at, *row);
    g_clear_pointer(&table->places, ifm_grid_free);
    *row = (TableRow){ 0 };
    return TRUE;
}

gsize ifm_plan_table_n(const IfmPlanTable *table)
{
    return table->rows->len;
}

const IfmPlan *ifm_plan_table_row(const IfmPlanTable *table, gsize index, IfmPlanSize *size, const IfmPlanCost **cost)
{
    if (index >= table->rows->len)
        return NULL;
    const TableRow *row = row_of(table, (guint)index);
    *size = row->size;
    if (cost != NULL)
        *cost = &row->cost;
    return row->plan;
}

/* --- searching -------------------------------------------------------------------------------------------------------- */

static guint32 mask_of(const IfmCosts *costs, const GPtrArray *aliases)
{
    guint32 mask = 0;
    for (int d = 0; d < costs->n_devices; d++)
        if (g_ptr_array_find_with_equal_func((GPtrArray *)aliases, costs->devices[d]->is.alias, g_str_equal, NULL))
            mask |= 1u << d;
    return mask;
}

static void add_aliases(const IfmCosts *costs, guint32 mask, GPtrArray *aliases)
{
    for (int d = 0; d < costs->n_devices; d++)
        if ((mask & 1u << d) != 0)
            g_ptr_array_add(aliases, g_strdup(costs->devices[d]->is.alias));
}

/* Searches at a size and adds the answer. */
static gboolean search_row(IfmPlanTable *table, const IfmCosts *costs, const IfmPlanSize *size, GError **error)
{
    g_auto(IfmPlanAnswer) answer = { 0 };
    const IfmPlanQuestion question = { .objective = table->objective,
                                       .nodes = (double)size->nodes,
                                       .edges = (double)size->edges,
                                       .grid = table->grid->len > 0 ? (const double *)table->grid->data : NULL,
                                       .n_grid = table->grid->len,
                                       .max_blocks = table->max_blocks,
                                       .without = mask_of(costs, table->without),
                                       .no_split = mask_of(costs, table->no_split),
                                       .most_visited = table->most_visited };
    if (!ifm_plan_search(costs, &question, &answer, error))
        return ifm_error_prefix(error, "%" G_GINT64_FORMAT " nodes, %" G_GINT64_FORMAT " edges: ", size->nodes,
                                size->edges);
    TableRow row = { *size, g_steal_pointer(&answer.plan), answer.cost };
    answer.cost = (IfmPlanCost){ 0 };
    table_insert(table, &row);
    return TRUE;
}

IfmPlanTable *ifm_plan_table_new(const IfmCosts *costs, const IfmPlanQuestion *question, const IfmPlanSize *sizes, gsize n,
                                 GError **error)
{
    g_autoptr(IfmPlanTable) table = table_alloc(costs->model);
    table->objective = question->objective;
    table->max_blocks = question->max_blocks;
    table->most_visited = question->most_visited;
    if (question->grid != NULL)
        g_array_append_vals(table->grid, question->grid, (guint)question->n_grid);
    add_aliases(costs, question->without, table->without);
    add_aliases(costs, question->no_split, table->no_split);
    if (n == 0)
    {
        ifm_error_refuse(error, "plan table: no sizes; at least one is expected");
        return NULL;
    }
    for (gsize i = 0; i < n; i++)
    {
        guint before = table->rows->len;
        if (!search_row(table, costs, &sizes[i], error))
            return NULL;
        if (table->rows->len > before)
            continue;
        ifm_error_refuse(
            error, "plan table: %" G_GINT64_FORMAT " nodes, %" G_GINT64_FORMAT " edges: twice; each size once is expected",
            sizes[i].nodes, sizes[i].edges);
        return NULL;
    }
    return g_steal_pointer(&table);
}

/* --- between rows ----------------------------------------------------------------------------------------------------- */

/* Place: a size among the rows. @weights: [rows] of each row in the interpolation; they add up to 1. */
typedef struct
{
    double nodes, edges;
    gboolean inside;
    double *weights;
} Place;

/* Rows are in the order of the grid's points. */
static const IfmGrid *places_of(IfmPlanTable *table)
{
    static const IfmGridAxis axes[] = { { "nodes", IFM_GRID_LOG }, { "edges per node", IFM_GRID_LOG } };
    guint n = table->rows->len;
    if (table->places != NULL)
        return table->places;
    g_autofree double *points = g_new(double, 2 * n);
    g_autofree double *nothing = g_new0(double, n);
    for (guint i = 0; i < n; i++)
    {
        points[2 * i] = (double)row_of(table, i)->size.nodes;
        points[2 * i + 1] = (double)row_of(table, i)->size.edges / points[2 * i];
    }
    table->places = ifm_grid_new(axes, G_N_ELEMENTS(axes), points, nothing, n, IFM_GRID_LINEAR, NULL);
    g_assert(table->places != NULL); /* sizes are above 0, each once */
    return table->places;
}

static void place_init(Place *place, IfmPlanTable *table, double nodes, double edges)
{
    const double at[] = { nodes, edges / nodes };
    IfmGridOrigin origin = IFM_GRID_OUTSIDE;
    *place = (Place){ nodes, edges, FALSE, g_new0(double, table->rows->len) };
    ifm_grid_weights(places_of(table), at, IFM_GRID_CLAMP, place->weights, &origin, NULL);
    place->inside = origin != IFM_GRID_OUTSIDE;
}

static guint heaviest(const Place *place, guint n)
{
    guint best = 0;
    for (guint i = 1; i < n; i++)
        if (place->weights[i] > place->weights[best])
            best = i;
    return best;
}

/* The plan of the neighbours, with ratios between theirs. Returns: (transfer full) NULL if their plans differ in
 * shape. */
static IfmPlan *between(const IfmPlanTable *table, const Place *place)
{
    g_autoptr(IfmPlan) plan = ifm_plan_copy(row_of(table, heaviest(place, table->rows->len))->plan);
    for (guint b = 0; b < plan->blocks->len; b++)
    {
        IfmPlanBlock *block = &g_array_index(plan->blocks, IfmPlanBlock, b);
        double sum = 0;
        memset(block->ratios, 0, sizeof block->ratios);
        for (guint i = 0; i < table->rows->len; i++)
        {
            const IfmPlan *of = row_of(table, i)->plan;
            if (place->weights[i] <= 0)
                continue;
            if (!ifm_plan_same_shape(of, plan))
                return NULL;
            for (gsize d = 0; d < block->n_devices; d++)
                block->ratios[d] += place->weights[i] * ifm_plan_block(of, b)->ratios[d];
        }
        for (gsize d = 0; d < block->n_devices; d++)
            sum += block->ratios[d];
        for (gsize d = 0; d < block->n_devices; d++)
            block->ratios[d] /= sum;
    }
    return g_steal_pointer(&plan);
}

/* Of the neighbours' plans the one that costs least at this size. Returns: (transfer full) NULL if none can run
 * there. */
static IfmPlan *choose(const IfmPlanTable *table, const IfmCosts *costs, const Place *place)
{
    const IfmPlan *best = NULL;
    double min = INFINITY;
    for (guint i = 0; i < table->rows->len; i++)
    {
        g_auto(IfmPlanCost) cost = { 0 };
        const IfmPlan *plan = row_of(table, i)->plan;
        if (place->weights[i] <= 0 || !ifm_plan_cost(costs, plan, place->nodes, place->edges, &cost, NULL) ||
            !(search_objective_of(&cost, table->objective) < min))
            continue;
        min = search_objective_of(&cost, table->objective);
        best = plan;
    }
    return best != NULL ? ifm_plan_copy(best) : NULL;
}

/* --- finding ---------------------------------------------------------------------------------------------------------- */

static double distance(const IfmPlanSize *size, double nodes, double edges)
{
    return hypot(log((double)size->nodes / nodes), log((double)size->edges / edges));
}

static IfmPlan *nearest(const IfmPlanTable *table, double nodes, double edges)
{
    guint best = 0;
    for (guint i = 1; i < table->rows->len; i++)
        if (distance(&row_of(table, i)->size, nodes, edges) < distance(&row_of(table, best)->size, nodes, edges))
            best = i;
    return ifm_plan_copy(row_of(table, best)->plan);
}

static const TableRow *exact_row(const IfmPlanTable *table, double nodes, double edges)
{
    for (guint i = 0; i < table->rows->len; i++)
        if ((double)row_of(table, i)->size.nodes == nodes && (double)row_of(table, i)->size.edges == edges)
            return row_of(table, i);
    return NULL;
}

static IfmPlan *search_now(IfmPlanTable *table, const IfmCosts *costs, double nodes, double edges, GError **error)
{
    const IfmPlanSize size = { llround(nodes), llround(edges) };
    const TableRow *row = NULL;
    if (search_row(table, costs, &size, error))
        row = exact_row(table, (double)size.nodes, (double)size.edges);
    return row != NULL ? ifm_plan_copy(row->plan) : NULL;
}

static gboolean check_asked(const IfmPlanTable *table, const IfmCosts *costs, double nodes, double edges, GError **error)
{
    if (!(isfinite(nodes) && nodes >= 1 && nodes < 1e18 && isfinite(edges) && edges >= 1 && edges < 1e18))
        ifm_error_refuse(error, "plan table: a graph of %g nodes and %g edges; at least 1 of each is expected", nodes,
                         edges);
    else if (costs != NULL && g_strcmp0(costs->model, table->model) != 0)
        ifm_error_refuse(error, "plan table: plans of %s, a cost model of %s", table->model, costs->model);
    else
        return TRUE;
    return FALSE;
}

IfmPlan *ifm_plan_table_find(IfmPlanTable *table, const IfmCosts *costs, double nodes, double edges, IfmPlanOrigin *origin,
                             GError **error)
{
    Place place;
    IfmPlan *plan;
    if (!check_asked(table, costs, nodes, edges, error))
        return NULL;
    const TableRow *row = exact_row(table, nodes, edges);
    *origin = IFM_PLAN_EXACT;
    if (row != NULL)
        return ifm_plan_copy(row->plan);
    place_init(&place, table, nodes, edges);
    *origin = IFM_PLAN_INTERPOLATED;
    plan = place.inside ? between(table, &place) : NULL;
    if (plan == NULL && place.inside && costs != NULL)
    {
        *origin = IFM_PLAN_CHOSEN;
        plan = choose(table, costs, &place);
    }
    g_free(place.weights);
    if (plan != NULL)
        return plan;
    *origin = costs != NULL ? IFM_PLAN_SEARCHED : IFM_PLAN_CHOSEN;
    return costs != NULL ? search_now(table, costs, nodes, edges, error) : nearest(table, nodes, edges);
}
