/*
 * The libFuzzer target of the readers of plans and of plan tables, and (compiled into tests/plan/test-fuzz-plan.c) the same
 * entry for the corpus. Whatever the document says, an error must be one line with its place; a plan must be what its
 * header promises, and written and read again the same; a table must give a plan for any size.
 */
#include <base/fields.h>
#include <math.h>
#include <plan/plan.h>

#include "fuzz.h"

/* Takes @error. */
static void check_error(GError *error)
{
    must(error->code == IFM_ERROR_INVALID && g_str_has_prefix(error->message, "input"));
    for (const char *c = error->message; *c != '\0'; c++)
        must(!g_ascii_iscntrl(*c));
    must_be_line(error);
}

static void check_block(const IfmPlan *plan, const IfmPlanBlock *block, int first, gboolean *used)
{
    double sum = 0;
    must(block->first == first && block->last >= block->first);
    must(block->n_devices >= 1 && block->n_devices <= IFM_PLAN_MAX_DEVICES);
    for (gsize i = 0; i < block->n_devices; i++)
    {
        int device = block->devices[i];
        must(device >= 0 && (guint)device < plan->devices->len && !used[device]);
        must(block->ratios[i] > 0 && block->ratios[i] <= 1);
        used[device] = TRUE;
        sum += block->ratios[i];
    }
    must(fabs(sum - 1) <= 1e-9);
}

static void check_devices(const IfmPlan *plan)
{
    must(plan->devices->len <= IFM_PLAN_MAX_DEVICES);
    for (guint i = 0; i < plan->devices->len; i++)
    {
        const IfmPlanDevice *device = g_ptr_array_index(plan->devices, i);
        must(device->alias[0] != '\0' && ifm_plan_find_device(plan, device->alias) == (int)i);
        for (gsize k = 0; k < device->n_sizes; k++)
            must(device->sizes[k].nodes > 0 && device->sizes[k].edges >= 0);
    }
}

static void check_plan(const IfmPlan *plan)
{
    gboolean used[IFM_PLAN_MAX_DEVICES] = { FALSE };
    int first = 1;
    must(plan->blocks->len > 0);
    check_devices(plan);
    for (guint i = 0; i < plan->blocks->len; i++)
    {
        const IfmPlanBlock *block = &g_array_index(plan->blocks, IfmPlanBlock, i);
        check_block(plan, block, first, used);
        first = block->last + 1;
    }
    g_autofree char *text = ifm_plan_to_text(plan);
    must(text[0] != '\0' && strchr(text, '\n') == NULL);
}

static void read_plan(const json_t *json)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmPlan) plan = ifm_plan_from_json(json, "input", &error);
    must((plan == NULL) == (error != NULL));
    if (plan == NULL)
    {
        check_error(g_steal_pointer(&error));
        return;
    }
    check_plan(plan);
    json_auto_t *written = ifm_plan_to_json(plan);
    g_autoptr(IfmPlan) again = ifm_plan_from_json(written, "again", &error);
    must(again != NULL && ifm_plan_same_shape(plan, again));
    json_auto_t *rewritten = ifm_plan_to_json(again);
    must(json_equal(written, rewritten));
}

static void find_plan(IfmPlanTable *table, double nodes, double edges)
{
    g_autoptr(GError) error = NULL;
    IfmPlanOrigin origin;
    g_autoptr(IfmPlan) plan = ifm_plan_table_find(table, NULL, nodes, edges, &origin, &error);
    must(plan != NULL && error == NULL);
    check_plan(plan);
}

static void check_table(IfmPlanTable *table)
{
    gsize n = ifm_plan_table_n(table);
    IfmPlanSize size, before = { 0, 0 };
    must(n > 0 && ifm_plan_table_row(table, n, &size, NULL) == NULL);
    for (gsize i = 0; i < n; i++)
    {
        const IfmPlanCost *cost;
        check_plan(ifm_plan_table_row(table, i, &size, &cost));
        must(cost->latency_ns >= 0 && cost->cycle_ns >= 0);
        must(size.nodes > before.nodes || (size.nodes == before.nodes && size.edges > before.edges));
        find_plan(table, (double)size.nodes, (double)size.edges);
        find_plan(table, (double)size.nodes + 0.5, 2.0 * (double)size.edges);
        before = size;
    }
    find_plan(table, 1, 1);
    find_plan(table, 1e9, 1e12);
}

static void read_table(const json_t *json)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmPlanTable) table = ifm_plan_table_from_json(json, "input", &error);
    must((table == NULL) == (error != NULL));
    if (table == NULL)
    {
        check_error(g_steal_pointer(&error));
        return;
    }
    check_table(table);
    json_auto_t *written = ifm_plan_table_to_json(table);
    g_autoptr(IfmPlanTable) again = ifm_plan_table_from_json(written, "again", &error);
    must(again != NULL);
    json_auto_t *rewritten = ifm_plan_table_to_json(again);
    must(json_equal(written, rewritten));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *copy =
        g_memdup2(size > 0 ? data : (const uint8_t *)"", MAX(size, 1)); /* of just its size, so that ASan sees its end */
    GError *error = NULL;
    json_auto_t *json = ifm_json_parse(copy, size, "input", &error);
    must((json == NULL) == (error != NULL));
    if (json == NULL)
    {
        check_error(error);
        return 0;
    }
    read_plan(json);
    read_table(json);
    return 0;
}
