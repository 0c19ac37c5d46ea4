#include <math.h>
#include <string.h>

#include <base/base.h>
#include <base/fields.h>
#include <document/summary.h>
#include <document/words.h>
#include <study/shared-core.h>

#include "plan-page.h"
#include "plan.h"

/* What a person reads of a plan: its blocks, what they cost, how much of the space was searched, how sure it all is. */

/* --- its blocks ------------------------------------------------------------------------------------------------------- */

/* BlockRow: one device of one block. */
typedef struct
{
    const IfmPlan *plan;
    const IfmPlanBlock *block;
    const IfmBlockCost *alone, *steady;
    int number;
    gsize at; /* among the block's devices */
} BlockRow;

static const IfmPlanDevice *device_of(const BlockRow *row)
{
    return row->plan->devices->pdata[row->block->devices[row->at]];
}

static void get_stages(const void *record, const void *user, IfmValue *value)
{
    const BlockRow *row = record;
    ifm_value_take_text(value, row->block->first == row->block->last
                                   ? g_strdup_printf("%d", row->block->first)
                                   : g_strdup_printf("%d-%d", row->block->first, row->block->last));
}

static void get_alias(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_text(value, device_of(record)->alias);
}

static void get_spec(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_text(value, device_of(record)->device);
}

static void get_share(const void *record, const void *user, IfmValue *value)
{
    const BlockRow *row = record;
    ifm_value_set_real(value, row->block->ratios[row->at]);
}

static void get_alone(const void *record, const void *user, IfmValue *value)
{
    const BlockRow *row = record;
    if (row->alone != NULL)
        ifm_value_set_real(value, row->alone->device_ns[row->at]);
}

static void get_steady(const void *record, const void *user, IfmValue *value)
{
    const BlockRow *row = record;
    if (row->steady != NULL)
        ifm_value_set_real(value, row->steady->device_ns[row->at]);
}

static void get_host(const void *record, const void *user, IfmValue *value)
{
    const BlockRow *row = record;
    if (row->alone != NULL && row->at == 0)
        ifm_value_set_real(value, row->alone->partition_ns + row->alone->merge_ns + row->alone->handover_ns);
}

static void get_total(const void *record, const void *user, IfmValue *value)
{
    const BlockRow *row = record;
    if (row->alone != NULL && row->at == 0)
        ifm_value_set_real(value, row->alone->total_ns);
}

static const IfmField block_fields[] = {
    { "block", "block", IFM_FIELD_INTEGER, IFM_MEMBER(BlockRow, number) },
    { "stages", "stages", IFM_FIELD_TEXT, get_stages, .flags = IFM_FIELD_WHOLE },
    { "alias", "device", IFM_FIELD_TEXT, get_alias, .flags = IFM_FIELD_WHOLE },
    { "share", "share", IFM_FIELD_RATIO, get_share },
    { "alone_ns", "one batch", IFM_FIELD_DURATION, get_alone },
    { "steady_ns", "all busy", IFM_FIELD_DURATION, get_steady },
    { "host_ns", "host", IFM_FIELD_DURATION, get_host },
    { "total_ns", "block", IFM_FIELD_DURATION, get_total },
    { "device", "device", IFM_FIELD_TEXT, get_spec, .flags = IFM_FIELD_WHOLE },
    { NULL },
};

static const IfmBlockCost *block_cost(const GArray *costs, guint i)
{
    return costs != NULL && i < costs->len ? &g_array_index(costs, IfmBlockCost, i) : NULL;
}

static void add_blocks(IfmDocument *document, const IfmPlan *plan, const IfmPlanCost *cost)
{
    GArray *rows = g_array_new(FALSE, FALSE, sizeof(BlockRow));
    for (guint i = 0; i < plan->blocks->len; i++)
    {
        const IfmPlanBlock *block = &g_array_index(plan->blocks, IfmPlanBlock, i);
        for (gsize d = 0; d < block->n_devices; d++)
        {
            BlockRow row = { plan, block, block_cost(cost->alone, i), block_cost(cost->steady, i), (int)i + 1, d };
            g_array_append_val(rows, row);
        }
    }
    ifm_document_part(document);
    ifm_document_rows(document, "blocks", block_fields, rows);
}

/* --- plans compared --------------------------------------------------------------------------------------------------- */

static void get_plan(const void *record, const void *user, IfmValue *value)
{
    ifm_value_take_text(value, ifm_plan_to_text(((const IfmPlanLine *)record)->choice->plan));
}

static void get_cycle(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_real(value, ifm_plan_cycle(((const IfmPlanLine *)record)->choice));
}

static void get_cycle_spread(const void *record, const void *user, IfmValue *value)
{
    const IfmPlanChoice *choice = ((const IfmPlanLine *)record)->choice;
    double ratio = choice->forecast.cycle_ns > 0 ? choice->forecast.spread_ratio : choice->cost.cycle_spread_ratio;
    if (isfinite(ratio))
        ifm_value_set_real(value, ratio);
}

static void get_throughput(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_real(value, 1e9 / ifm_plan_cycle(((const IfmPlanLine *)record)->choice));
}

static void get_origin(const void *record, const void *user, IfmValue *value)
{
    const IfmPlanCost *cost = &((const IfmPlanLine *)record)->choice->cost;
    ifm_value_set_text(value, ifm_cost_origin_word(cost->origin));
    value->tone = cost->origin == IFM_COST_EXTRAPOLATED ? IFM_TONE_WARN : IFM_TONE_PLAIN;
}

#define LINE(member) IFM_MEMBER(IfmPlanLine, member)
#define COST(member) IFM_MEMBER_VIA(IfmPlanLine, choice, cost.member)

const IfmField ifm_plan_line_fields[] = {
    { "which", "", IFM_FIELD_TEXT, LINE(which), IFM_FIELD_WHOLE | IFM_FIELD_KEY },
    { "latency_ns", "one batch", IFM_FIELD_DURATION, COST(latency_ns) },
    { "latency_spread_ratio", "±", IFM_FIELD_PRECISION, COST(latency_spread_ratio), IFM_FIELD_HIDE_EMPTY },
    { "cycle_ns", "cycle", IFM_FIELD_DURATION, get_cycle },
    { "cycle_spread_ratio", "±", IFM_FIELD_PRECISION, get_cycle_spread, .flags = IFM_FIELD_HIDE_EMPTY },
    { "throughput_per_s", "batches/s", IFM_FIELD_REAL, get_throughput, .flags = IFM_FIELD_NO_SCREEN },
    { "energy_j", "J a batch", IFM_FIELD_REAL, COST(energy_j), IFM_FIELD_HIDE_EMPTY },
    { "gain_ratio", "gain", IFM_FIELD_RATIO, LINE(gain_ratio), IFM_FIELD_HIDE_EMPTY },
    { "origin", "latencies are", IFM_FIELD_TEXT, get_origin, .flags = IFM_FIELD_NO_SCREEN },
    { "plan", "plan", IFM_FIELD_TEXT, get_plan, .flags = IFM_FIELD_WHOLE },
    { NULL },
};

static void add_line(GArray *lines, const IfmPlanReport *report, const char *which, const IfmPlanChoice *choice)
{
    const IfmPlanChoice *single = &report->planned->answer.single;
    IfmPlanLine line = { which, choice, NAN };
    if (choice->plan == NULL)
        return;
    if (single->plan != NULL && choice != single)
        line.gain_ratio = ifm_plan_value(single, report->objective) / ifm_plan_value(choice, report->objective) - 1;
    g_array_append_val(lines, line);
}

static void add_lines(IfmDocument *document, const IfmPlanReport *report)
{
    const IfmPlanAnswer *answer = &report->planned->answer;
    GArray *lines = g_array_new(FALSE, FALSE, sizeof(IfmPlanLine));
    add_line(lines, report, "best of all", &answer->best);
    add_line(lines, report, "single device", &answer->single);
    add_line(lines, report, "given", &report->planned->other);
    ifm_document_part(document);
    ifm_document_rows(document, "plans", ifm_plan_line_fields, lines);
}

/* --- sentences -------------------------------------------------------------------------------------------------------- */

/* How much was searched, and what the answer is worth. */
static void add_certificate(IfmDocument *document, const IfmPlanReport *report)
{
    const IfmPlanAnswer *answer = &report->planned->answer;
    g_autofree char *known =
        answer->n_ranges_known < answer->n_ranges
            ? g_strdup_printf(", of which what was measured makes up %" G_GINT64_FORMAT, answer->n_ranges_known)
            : g_strdup("");
    g_autofree char *bound = report->objective == IFM_OBJECTIVE_ENERGY ? g_strdup_printf("%.4g J", answer->lower_bound)
                                                                       : ifm_format_duration(answer->lower_bound),
                    *gap = ifm_format_ratio(answer->gap_ratio);
    g_autofree char *proof =
        answer->optimal
            ? g_strdup("optimal under this cost model")
            : g_strdup_printf("not proved optimal: no plan is below %s by this cost model, which leaves a gap of %s", bound,
                              gap);
    ifm_document_fact(
        document, "searched",
        "%" G_GINT64_FORMAT " ranges of stages%s, %" G_GINT64_FORMAT " sets of devices, %.15g structures: %" G_GINT64_FORMAT
        " looked at, %" G_GINT64_FORMAT " branches cut off; %s",
        answer->n_ranges, known, answer->n_subsets, answer->n_structures, answer->n_visited, answer->n_pruned, proof);
}

static void add_prediction(IfmDocument *document, const json_t *prediction)
{
    if (prediction == NULL)
        return;
    double spread_ratio = ifm_member_number(prediction, "makespan_spread_ratio");
    g_autofree char *makespan = ifm_format_duration(ifm_member_number(prediction, "makespan_ns")),
                    *latency = ifm_format_duration(ifm_member_number(prediction, "batch_latency_ns")),
                    *spread = ifm_format_ratio(spread_ratio),
                    *rate = ifm_say_number(ifm_member_number(prediction, "throughput_per_s"));
    ifm_document_fact(
        document, "predicted", "%.0f batches in %s%s%s, %s batches/s, a batch takes %s in the median of the stream",
        ifm_member_number(prediction, "n_batches"), makespan, ifm_is_precision(spread_ratio) ? " ±" : ", no interval",
        ifm_is_precision(spread_ratio) ? spread : "", rate, latency);
}

/* Stages that are not for a device; those with the same reason together. */
static void add_forbidden(IfmDocument *document, const IfmCosts *costs)
{
    for (gsize d = 0; d < ifm_costs_n_devices(costs); d++)
    {
        g_autoptr(GHashTable) reported = g_hash_table_new(g_str_hash, g_str_equal);
        for (int s = 1; s <= (int)ifm_costs_n_stages(costs); s++)
        {
            const char *why = ifm_costs_why_never(costs, (int)d, s);
            if (why == NULL || !g_hash_table_add(reported, (char *)why))
                continue;
            g_autoptr(GString) stages = g_string_new(NULL);
            for (int t = s; t <= (int)ifm_costs_n_stages(costs); t++)
                if (g_strcmp0(ifm_costs_why_never(costs, (int)d, t), why) == 0)
                    g_string_append_printf(stages, "%s%d", stages->len > 0 ? ", " : "", t);
            g_autofree char *head = g_str_has_prefix(why, "stage ")
                                        ? g_strdup(ifm_costs_device(costs, (int)d)->alias)
                                        : g_strdup_printf("%s not for stage%s %s", ifm_costs_device(costs, (int)d)->alias,
                                                          strchr(stages->str, ',') != NULL ? "s" : "", stages->str);
            ifm_document_note(document, head, IFM_TONE_WARN, "%s", why);
        }
    }
}

/* Devices without a latency at this size: no plan has them. */
static void add_sparse(IfmDocument *document, const IfmPlanReport *report)
{
    for (gsize d = 0; report->costs != NULL && d < ifm_costs_n_devices(report->costs); d++)
    {
        g_autofree char *why = ifm_costs_why_sparse(report->costs, (int)d, (double)report->planned->size.nodes,
                                                    (double)report->planned->size.edges);
        if (why != NULL)
            ifm_document_note(document, "left out", IFM_TONE_WARN, "%s", why);
    }
}

static void add_shared_cores(IfmDocument *document, const IfmCosts *costs)
{
    for (int a = 0; costs != NULL && a < (int)ifm_costs_n_devices(costs); a++)
        for (int b = a + 1; b < (int)ifm_costs_n_devices(costs); b++)
        {
            const IfmCostDevice *one = ifm_costs_device(costs, a), *other = ifm_costs_device(costs, b);
            ifm_document_shared_core(document, (const char *[]){ one->alias, other->alias },
                                     (const char *[]){ one->device, other->device },
                                     "so that a plan with both takes longer than predicted");
        }
}

static void add_pareto(IfmDocument *document, const GPtrArray *answers)
{
    GArray *lines = g_array_new(FALSE, FALSE, sizeof(IfmPlanLine));
    for (guint i = 0; i < answers->len; i++)
    {
        IfmPlanLine line = { i == 0 ? "minimum latency" : i + 1 == answers->len ? "last" : "", answers->pdata[i], NAN };
        g_array_append_val(lines, line);
    }
    g_autofree char *head =
        g_strdup_printf("%u plan%s that no other beats, by the cost model: every device busy throughout", answers->len,
                        ifm_plural(answers->len));
    ifm_document_heading(document, head);
    ifm_document_rows(document, "pareto", ifm_plan_line_fields, lines);
}

/* --- pages ------------------------------------------------------------------------------------------------------------ */

IfmDocument *ifm_plan_document(const IfmPlanReport *report)
{
    g_autofree char *size = ifm_plan_size_title(&report->planned->size);
    IfmDocument *document = ifm_document_new("plan", report->of_several ? size : report->model);
    ifm_plan_add_headline(document, report);
    if (report->of_several)
        ifm_document_left_out_as(document, "each plan's blocks, rivals and doubts");
    g_autofree char *plan = ifm_plan_to_text(report->planned->answer.plan),
                    *where = report->no_figures
                                 ? g_strdup_printf(" Its figures are on a page of this size alone: --size %" G_GINT64_FORMAT
                                                   ",%" G_GINT64_FORMAT ".",
                                                   report->planned->size.nodes, report->planned->size.edges)
                                 : g_strdup("");
    ifm_document_question(document, "Which plan?", "%s. It is %sproved the best under the cost model.%s", plan,
                          report->planned->answer.optimal ? "" : "not ", where);
    if (!report->no_figures)
    {
        ifm_plan_add_steady_state(document, report);
        ifm_plan_add_front(document, report);
    }
    add_blocks(document, report->planned->answer.plan, &report->planned->answer.cost);
    add_lines(document, report);
    ifm_document_question(document, "How sure?", "%s", ifm_document_checks_answer(document));
    add_prediction(document, report->planned->prediction);
    add_certificate(document, report);
    add_forbidden(document, report->costs);
    add_sparse(document, report);
    add_shared_cores(document, report->costs);
    const guint from = document->sections->len;
    if (report->planned->pareto != NULL)
        add_pareto(document, report->planned->pareto);
    ifm_document_close_from(document, from);
    return document;
}
