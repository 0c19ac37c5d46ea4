/* The plans that were to be chosen from, as a table of comma separated values. */
#include "plan-page.h"
#include "plan.h"

typedef struct
{
    const IfmPlanned *planned;
    const IfmPlanChoice *candidate;
    guint rank; /* from 1, of its size */
} Row;

static void get_plan(const void *record, const void *user, IfmValue *value)
{
    ifm_value_take_text(value, ifm_plan_to_text(((const Row *)record)->candidate->plan));
}

static void get_origin(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_text(value, ifm_cost_origin_word(((const Row *)record)->candidate->cost.origin));
}

#define COST(member) IFM_MEMBER_VIA(Row, candidate, cost.member)

static const IfmField candidate_fields[] = {
    { "nodes", "nodes", IFM_FIELD_INTEGER, IFM_MEMBER_VIA(Row, planned, size.nodes) },
    { "edges", "edges", IFM_FIELD_INTEGER, IFM_MEMBER_VIA(Row, planned, size.edges) },
    { "rank", "rank", IFM_FIELD_INTEGER, IFM_MEMBER(Row, rank) },
    { "plan", "plan", IFM_FIELD_TEXT, get_plan },
    { "latency_ns", "latency", IFM_FIELD_DURATION, COST(latency_ns) },
    { "latency_spread_ratio", "±", IFM_FIELD_PRECISION, COST(latency_spread_ratio) },
    { "cycle_ns", "cycle", IFM_FIELD_DURATION, COST(cycle_ns) },
    { "cycle_spread_ratio", "±", IFM_FIELD_PRECISION, COST(cycle_spread_ratio) },
    { "energy_j", "energy", IFM_FIELD_REAL, COST(energy_j) },
    { "origin", "origin", IFM_FIELD_TEXT, get_origin },
    { "published", "published", IFM_FIELD_BOOLEAN, IFM_MEMBER_VIA(Row, candidate, published) },
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
