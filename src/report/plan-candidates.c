/* The plans that were to be chosen from, as a table of comma separated values. */
#include <plan/plan.h>

#include "report-private.h"

typedef struct
{
    const IfmPlanned *planned;
    const IfmPlanCandidate *candidate;
    guint rank; /* from 1, of its size */
} Row;

static void get_nodes(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_integer(value, ((const Row *)record)->planned->size.nodes);
}

static void get_edges(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_integer(value, ((const Row *)record)->planned->size.edges);
}

static void get_rank(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_integer(value, ((const Row *)record)->rank);
}

static void get_plan(const void *record, const void *user, IfmValue *value)
{
    ifm_value_take_text(value, ifm_plan_to_text(((const Row *)record)->candidate->plan));
}

static void get_published(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_boolean(value, ((const Row *)record)->candidate->published);
}

static void get_figure(const void *record, const void *user, IfmValue *value)
{
    const char *cost = (const char *)&((const Row *)record)->candidate->cost;
    ifm_value_set_real(value, *(const double *)(const void *)(cost + GPOINTER_TO_SIZE(user)));
}

static void get_origin(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_text(value, ifm_cost_origin_word(((const Row *)record)->candidate->cost.origin));
}

#define COST(member) GSIZE_TO_POINTER(G_STRUCT_OFFSET(IfmPlanCost, member))

static const IfmField candidate_fields[] = {
    { "nodes", "nodes", IFM_FIELD_INTEGER, get_nodes },
    { "edges", "edges", IFM_FIELD_INTEGER, get_edges },
    { "rank", "rank", IFM_FIELD_INTEGER, get_rank },
    { "plan", "plan", IFM_FIELD_TEXT, get_plan },
    { "latency_ns", "latency", IFM_FIELD_DURATION, get_figure, COST(latency_ns) },
    { "latency_spread_ratio", "±", IFM_FIELD_PRECISION, get_figure, COST(latency_spread_ratio) },
    { "cycle_ns", "cycle", IFM_FIELD_DURATION, get_figure, COST(cycle_ns) },
    { "cycle_spread_ratio", "±", IFM_FIELD_PRECISION, get_figure, COST(cycle_spread_ratio) },
    { "energy_j", "energy", IFM_FIELD_REAL, get_figure, COST(energy_j) },
    { "origin", "origin", IFM_FIELD_TEXT, get_origin },
    { "published", "published", IFM_FIELD_BOOLEAN, get_published },
    { NULL },
};

char *ifm_plan_candidates_to_csv(const IfmPlanResult *result)
{
    g_autoptr(GPtrArray) rows = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; i < result->planned->len; i++)
    {
        const IfmPlanned *planned = result->planned->pdata[i];
        for (guint c = 0; planned->candidates != NULL && c < planned->candidates->len; c++)
        {
            Row row = { planned, planned->candidates->pdata[c], c + 1 };
            g_ptr_array_add(rows, g_memdup2(&row, sizeof row));
        }
    }
    return ifm_rows_to_csv(candidate_fields, rows);
}
