#include <math.h>
#include <string.h>

#include <inferometer/json.h>

#include "report-private.h"

/* What a person reads of a plan: its blocks, what they cost, how much of the space was searched, how sure it all is. */

/* --- words ------------------------------------------------------------------------------------------------------------ */

char *ifm_plan_block_name(const IfmPlan *plan, int number)
{
    if (number < 1 || (guint)number > plan->blocks->len)
        return g_strdup("");
    const IfmPlanBlock *block = &g_array_index(plan->blocks, IfmPlanBlock, number - 1);
    GString *out = g_string_new(NULL);
    for (gsize i = 0; i < block->n_devices; i++)
        g_string_append_printf(out, "%s%s", i > 0 ? "+" : "",
                               ((const IfmPlanDevice *)plan->devices->pdata[block->devices[i]])->alias);
    return g_string_free(out, FALSE);
}

/* "±2.10 %"; "±?" where nobody knows. (transfer full) */
static char *spread_text(double ratio)
{
    g_autofree char *text = isfinite(ratio) ? ifm_format_ratio(ratio) : g_strdup("?");
    return g_strconcat("±", text, NULL);
}

static double value_of(const IfmPlanCost *cost, IfmObjective objective)
{
    return objective == IFM_OBJECTIVE_LATENCY      ? cost->latency_ns
           : objective == IFM_OBJECTIVE_THROUGHPUT ? cost->cycle_ns
                                                   : cost->energy_j;
}

static char *value_text(double value, IfmObjective objective)
{
    return objective == IFM_OBJECTIVE_ENERGY ? g_strdup_printf("%.4g J", value) : ifm_format_duration(value);
}

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

static void get_number(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_integer(value, ((const BlockRow *)record)->number);
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
    { "block", "block", IFM_FIELD_INTEGER, get_number },
    { "stages", "stages", IFM_FIELD_TEXT, get_stages, .flags = IFM_FIELD_WHOLE },
    { "alias", "device", IFM_FIELD_TEXT, get_alias, .flags = IFM_FIELD_WHOLE },
    { "share", "share", IFM_FIELD_RATIO, get_share },
    { "alone_ns", "one batch", IFM_FIELD_DURATION, get_alone },
    { "steady_ns", "all busy", IFM_FIELD_DURATION, get_steady },
    { "host_ns", "host", IFM_FIELD_DURATION, get_host },
    { "total_ns", "block", IFM_FIELD_DURATION, get_total },
    { "device", "is", IFM_FIELD_TEXT, get_spec, .flags = IFM_FIELD_WHOLE },
    { NULL },
};

static const IfmBlockCost *block_cost(const GArray *costs, guint i)
{
    return costs != NULL && i < costs->len ? &g_array_index(costs, IfmBlockCost, i) : NULL;
}

static void append_blocks(GString *out, const IfmPlan *plan, const IfmPlanCost *cost, const IfmScreen *screen)
{
    g_autoptr(GPtrArray) rows = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; i < plan->blocks->len; i++)
    {
        const IfmPlanBlock *block = &g_array_index(plan->blocks, IfmPlanBlock, i);
        for (gsize d = 0; d < block->n_devices; d++)
        {
            BlockRow row = { plan, block, block_cost(cost->alone, i), block_cost(cost->steady, i), (int)i + 1, d };
            g_ptr_array_add(rows, g_memdup2(&row, sizeof row));
        }
    }
    ifm_page_table(out, block_fields, rows, screen);
}

/* --- plans beside each other ------------------------------------------------------------------------------------------ */

static void get_plan(const void *record, const void *user, IfmValue *value)
{
    ifm_value_take_text(value, ifm_plan_to_text(((const IfmPlanLine *)record)->plan));
}

/* @user: the offset of a double in IfmPlanCost. */
static void get_cost(const void *record, const void *user, IfmValue *value)
{
    ifm_field_get_real(((const IfmPlanLine *)record)->cost, user, value);
}

static void get_throughput(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_real(value, 1e9 / ((const IfmPlanLine *)record)->cost->cycle_ns);
}

static void get_origin(const void *record, const void *user, IfmValue *value)
{
    const IfmPlanCost *cost = ((const IfmPlanLine *)record)->cost;
    ifm_value_set_text(value, ifm_cost_origin_word(cost->origin));
    value->tone = cost->origin == IFM_COST_EXTRAPOLATED ? IFM_TONE_WARN : IFM_TONE_PLAIN;
}

#define LINE(member) IFM_FIELD_AT(IfmPlanLine, member)
#define COST(member) IFM_FIELD_AT(IfmPlanCost, member)

const IfmField ifm_plan_line_fields[] = {
    { "which", "", IFM_FIELD_TEXT, ifm_field_get_text, LINE(which), IFM_FIELD_WHOLE | IFM_FIELD_KEY },
    { "latency_ns", "one batch", IFM_FIELD_DURATION, get_cost, COST(latency_ns) },
    { "latency_spread_ratio", "±", IFM_FIELD_RATIO, get_cost, COST(latency_spread_ratio), IFM_FIELD_HIDE_EMPTY },
    { "cycle_ns", "cycle", IFM_FIELD_DURATION, get_cost, COST(cycle_ns) },
    { "cycle_spread_ratio", "±", IFM_FIELD_RATIO, get_cost, COST(cycle_spread_ratio), IFM_FIELD_HIDE_EMPTY },
    { "throughput_per_s", "batches/s", IFM_FIELD_REAL, get_throughput, .flags = IFM_FIELD_NO_SCREEN },
    { "energy_j", "J a batch", IFM_FIELD_REAL, get_cost, COST(energy_j), IFM_FIELD_HIDE_EMPTY },
    { "gain_ratio", "gain", IFM_FIELD_RATIO, ifm_field_get_real, LINE(gain_ratio), IFM_FIELD_HIDE_EMPTY },
    { "origin", "latencies are", IFM_FIELD_TEXT, get_origin, .flags = IFM_FIELD_NO_SCREEN },
    { "plan", "plan", IFM_FIELD_TEXT, get_plan, .flags = IFM_FIELD_WHOLE },
    { NULL },
};

static void add_line(GPtrArray *lines, const IfmPlanStory *story, const char *which, const IfmPlan *plan,
                     const IfmPlanCost *cost)
{
    IfmPlanLine line = { which, plan, cost, NAN };
    if (story->answer->single != NULL && plan != story->answer->single)
        line.gain_ratio = value_of(&story->answer->single_cost, story->objective) / value_of(cost, story->objective) - 1;
    g_ptr_array_add(lines, g_memdup2(&line, sizeof line));
}

static GPtrArray *lines_of(const IfmPlanStory *story)
{
    const IfmPlanAnswer *answer = story->answer;
    GPtrArray *lines = g_ptr_array_new_with_free_func(g_free);
    add_line(lines, story, "best of all", answer->best, &answer->best_cost);
    if (answer->single != NULL)
        add_line(lines, story, "single device", answer->single, &answer->single_cost);
    if (story->other != NULL)
        add_line(lines, story, "given", story->other, story->other_cost);
    return lines;
}

/* --- sentences -------------------------------------------------------------------------------------------------------- */

/* How much was searched, and what the answer is worth. */
static void append_certificate(GString *out, const IfmPlanStory *story, const IfmScreen *screen)
{
    const IfmPlanAnswer *answer = story->answer;
    g_autoptr(GString) text = g_string_new(NULL);
    g_autofree char *known =
        answer->n_ranges_known < answer->n_ranges
            ? g_strdup_printf(", of which what was measured makes up %" G_GINT64_FORMAT, answer->n_ranges_known)
            : g_strdup("");
    g_string_append_printf(
        text,
        "searched  %" G_GINT64_FORMAT " ranges of stages%s, %" G_GINT64_FORMAT
        " sets of devices, %.15g structures: %" G_GINT64_FORMAT " looked at, %" G_GINT64_FORMAT " branches cut off; ",
        answer->n_ranges, known, answer->n_subsets, answer->n_structures, answer->n_visited, answer->n_pruned);
    g_autofree char *bound = value_text(answer->lower_bound, story->objective), *gap = ifm_format_ratio(answer->gap_ratio);
    if (answer->optimal)
        g_string_append(text, "optimal under this cost model");
    else
        g_string_append_printf(text, "not proved optimal: no plan is below %s, which leaves a gap of %s", bound, gap);
    g_autofree char *spelt = ifm_format_spelt(text->str, screen->utf8);
    ifm_format_wrap(out, spelt, 10, 0, screen->width);
}

static void append_trust(GString *out, const IfmPlanStory *story, const IfmScreen *screen)
{
    const IfmPlanCost *cost = &story->answer->cost;
    static const char *const origins[] = {
        "latencies measured at this very size",
        "latencies interpolated between measured sizes",
        "sums of stages measured one by one, which may take less when they are fused",
        "latencies extrapolated from the measured sizes, which do not surround those of its shares: a guess",
    };
    gsize n_devices = 0;
    for (guint i = 0; i < story->answer->plan->blocks->len; i++)
        n_devices += g_array_index(story->answer->plan->blocks, IfmPlanBlock, i).n_devices;
    g_autofree char *text = g_strdup_printf("based on  %s%s", origins[cost->origin],
                                            n_devices < 2      ? ""
                                            : cost->busy_known ? "; how its devices slow each other was measured"
                                                               : "; how its devices slow each other was not measured");
    g_autofree char *spelt = ifm_format_spelt(text, screen->utf8);
    ifm_format_wrap(out, spelt, 10, 0, screen->width);
}

#define FAR 10 /* times beyond what was measured: no trend is known to hold so far */

static gboolean is_far(gint64 asked, gint64 least, gint64 most)
{
    return (double)asked > FAR * (double)most || (double)asked * FAR < (double)least;
}

/* Before all else: what follows looks as sure as any other page. */
static void append_guess(GString *out, const IfmPlanStory *story, const IfmScreen *screen)
{
    IfmPlanSize least, most;
    if (story->costs == NULL)
        return;
    ifm_costs_sizes(story->costs, &least, &most);
    if (!is_far(story->nodes, least.nodes, most.nodes) && !is_far(story->edges, least.edges, most.edges))
        return;
    g_autofree char *text =
        g_strdup_printf("all of this is a guess: %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT " nodes and %" G_GINT64_FORMAT
                        " to %" G_GINT64_FORMAT " edges were measured, and this is more than %d times beyond them",
                        least.nodes, most.nodes, least.edges, most.edges, FAR);
    ifm_page_told(out, "guess", IFM_TONE_WARN, text, screen);
}

static void append_prediction(GString *out, const json_t *prediction, const IfmScreen *screen)
{
    if (prediction == NULL)
        return;
    g_autofree char *makespan = ifm_format_duration(ifm_member_number(prediction, "makespan_ns")),
                    *latency = ifm_format_duration(ifm_member_number(prediction, "batch_latency_ns")),
                    *spread = spread_text(ifm_member_number(prediction, "makespan_spread_ratio"));
    g_autofree char *text =
        g_strdup_printf("predicted %.0f batches in %s %s, %.4g batches/s, a batch takes %s in the median",
                        ifm_member_number(prediction, "n_batches"), makespan, spread,
                        ifm_member_number(prediction, "throughput_per_s"), latency);
    g_autofree char *spelt = ifm_format_spelt(text, screen->utf8);
    ifm_format_wrap(out, spelt, 10, 0, screen->width);
}

static void append_verdict(GString *out, const IfmPlanStory *story, const IfmScreen *screen)
{
    const IfmPlanAnswer *answer = story->answer;
    const char *objective = ifm_objective_words()[story->objective];
    g_autoptr(GString) text = g_string_new(NULL);
    double gain =
        answer->single != NULL
            ? value_of(&answer->single_cost, story->objective) / value_of(&answer->best_cost, story->objective) - 1
            : NAN;
    g_autofree char *gained = ifm_format_ratio(gain);
    IfmTone tone = IFM_TONE_GOOD;
    if (answer->single == NULL)
        g_string_append(text, "no single device can run all stages");
    else if (ifm_plan_same_shape(answer->best, answer->single))
        g_string_append(text, "no plan is better than the best single device");
    else if (answer->within_uncertainty)
    {
        tone = IFM_TONE_WARN;
        g_string_append_printf(text, "within the uncertainty: the single device wins (the best of all would gain %s in %s)",
                               gained, objective);
    }
    else
        g_string_append_printf(text, "gains %s in %s over the best single device%s", gained, objective,
                               answer->spread_unknown ? "; how sure that is, is not known" : "");
    ifm_page_told(out, "verdict", tone, text->str, screen);
}

/* Why a stage is not for a device, whatever range it is in; NULL where some range with it is. */
static const char *why_never(const IfmCosts *costs, int device, int stage)
{
    for (int first = 1; first <= stage; first++)
        for (int last = stage; last <= (int)ifm_costs_n_stages(costs); last++)
            if (ifm_costs_why_not(costs, device, first, last) == NULL)
                return NULL;
    return ifm_costs_why_not(costs, device, stage, stage);
}

/* Stages that are not for a device, alike reasons told together. */
static void append_forbidden(GString *out, const IfmCosts *costs, const IfmScreen *screen)
{
    for (gsize d = 0; d < ifm_costs_n_devices(costs); d++)
    {
        g_autoptr(GHashTable) told = g_hash_table_new(g_str_hash, g_str_equal);
        for (int s = 1; s <= (int)ifm_costs_n_stages(costs); s++)
        {
            const char *why = why_never(costs, (int)d, s);
            if (why == NULL || !g_hash_table_add(told, (char *)why))
                continue;
            g_autoptr(GString) stages = g_string_new(NULL);
            for (int t = s; t <= (int)ifm_costs_n_stages(costs); t++)
                if (g_strcmp0(why_never(costs, (int)d, t), why) == 0)
                    g_string_append_printf(stages, "%s%d", stages->len > 0 ? ", " : "", t);
            g_autofree char *head = g_str_has_prefix(why, "stage ")
                                        ? g_strdup(ifm_costs_device(costs, (int)d)->alias)
                                        : g_strdup_printf("%s not for stage%s %s", ifm_costs_device(costs, (int)d)->alias,
                                                          strchr(stages->str, ',') != NULL ? "s" : "", stages->str);
            ifm_page_told(out, head, IFM_TONE_WARN, why, screen);
        }
    }
}

/* Devices of which nothing tells at this size, and which no plan has therefore. */
static void append_sparse(GString *out, const IfmPlanStory *story, const IfmScreen *screen)
{
    for (gsize d = 0; story->costs != NULL && d < ifm_costs_n_devices(story->costs); d++)
    {
        g_autofree char *why = ifm_costs_why_sparse(story->costs, (int)d, (double)story->nodes, (double)story->edges);
        if (why != NULL)
            ifm_page_told(out, "left out", IFM_TONE_WARN, why, screen);
    }
}

/* --- pages ------------------------------------------------------------------------------------------------------------ */

char *ifm_plan_answer_to_screen(const IfmPlanStory *story, const IfmScreen *screen)
{
    GString *out = g_string_new(NULL);
    g_autofree char *plan = ifm_plan_to_text(story->answer->plan);
    g_autofree char *head = g_strdup_printf(", %" G_GINT64_FORMAT " nodes, %" G_GINT64_FORMAT " edges, best %s: %s",
                                            story->nodes, story->edges, ifm_objective_words()[story->objective], plan);
    g_autoptr(GPtrArray) lines = lines_of(story);
    ifm_page_title(out, story->model, head, screen);
    append_guess(out, story, screen);
    g_string_append_c(out, '\n');
    append_blocks(out, story->answer->plan, &story->answer->cost, screen);
    g_string_append_c(out, '\n');
    ifm_page_table(out, ifm_plan_line_fields, lines, screen);
    g_string_append_c(out, '\n');
    append_prediction(out, story->prediction, screen);
    append_trust(out, story, screen);
    append_certificate(out, story, screen);
    append_forbidden(out, story->costs, screen);
    append_sparse(out, story, screen);
    append_verdict(out, story, screen);
    return g_string_free(out, FALSE);
}

char *ifm_plan_pareto_to_screen(const GPtrArray *answers, const IfmScreen *screen)
{
    GString *out = g_string_new(NULL);
    g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; i < answers->len; i++)
    {
        const IfmPlanAnswer *answer = answers->pdata[i];
        IfmPlanLine line = { i == 0                  ? "least latency"
                             : i + 1 == answers->len ? "last"
                                                     : "",
                             answer->plan, &answer->cost, NAN };
        g_ptr_array_add(lines, g_memdup2(&line, sizeof line));
    }
    g_autofree char *head = g_strdup_printf("%u plan%s that no other beats", answers->len, answers->len == 1 ? "" : "s");
    ifm_page_heading(out, head, screen);
    ifm_page_table(out, ifm_plan_line_fields, lines, screen);
    return g_string_free(out, FALSE);
}

/* --- JSON ------------------------------------------------------------------------------------------------------------- */

static json_t *choice_to_json(const IfmPlan *plan, const IfmPlanCost *cost)
{
    if (plan == NULL)
        return json_null();
    json_t *json = ifm_plan_cost_to_json(cost);
    json_object_set_new(json, "plan", ifm_plan_blocks_to_json(plan));
    return json;
}

static json_t *certificate_to_json(const IfmPlanAnswer *answer)
{
    json_t *json = json_pack("{s:b,s:b,s:b,s:I,s:I,s:I,s:I}", "optimal", answer->optimal, "within_uncertainty",
                             answer->within_uncertainty, "spread_unknown", answer->spread_unknown, "n_ranges",
                             (json_int_t)answer->n_ranges, "n_subsets", (json_int_t)answer->n_subsets, "n_visited",
                             (json_int_t)answer->n_visited, "n_pruned", (json_int_t)answer->n_pruned);
    json_object_set_new(json, "n_ranges_known", json_integer((json_int_t)answer->n_ranges_known));
    json_object_set_new(json, "n_structures", ifm_json_real(answer->n_structures));
    json_object_set_new(json, "lower_bound", ifm_json_real(answer->lower_bound));
    json_object_set_new(json, "gap_ratio", ifm_json_real(answer->gap_ratio));
    return json;
}

json_t *ifm_plan_answer_to_json(const IfmPlanStory *story)
{
    const IfmPlanAnswer *answer = story->answer;
    json_t *json = ifm_plan_to_json(answer->plan);
    json_object_set_new(json, "sizes", json_pack("[[I,I]]", (json_int_t)story->nodes, (json_int_t)story->edges));
    json_object_set_new(json, "objective", json_string(ifm_objective_words()[story->objective]));
    json_object_set_new(json, "cost", ifm_plan_cost_to_json(&answer->cost));
    json_object_set_new(json, "certificate", certificate_to_json(answer));
    json_object_set_new(json, "best", choice_to_json(answer->best, &answer->best_cost));
    json_object_set_new(json, "single", choice_to_json(answer->single, &answer->single_cost));
    if (story->other != NULL)
        json_object_set_new(json, "given", choice_to_json(story->other, story->other_cost));
    json_object_set_new(json, "prediction", story->prediction != NULL ? json_deep_copy(story->prediction) : json_null());
    return json;
}
