/* Planning from options: a plan and its prediction for each size. */
#include <base/base.h>
#include <base/fields.h>
#include <plan/plan.h>

/* --- options ---------------------------------------------------------------------------------------------------------- */

/* In the order of IfmObjective. */
static const char *const objectives[] = { "latency", "throughput", "energy", NULL };

const char *const *ifm_objective_words(void)
{
    return objectives;
}

/* In the order of IfmCostStatistic. */
static const char *const statistics[] = { "median", "mean", "p95", NULL };

const char *const *ifm_cost_statistic_words(void)
{
    return statistics;
}

const IfmOption ifm_plan_search_options[] = {
    { "objective", IFM_OPTION_CHOICE, "WORD",
      "latency: of one batch; throughput: the cycle of many; energy: joules a batch, with the --power of each device",
      "throughput", objectives, .deferred = TRUE, .at = G_STRUCT_OFFSET(IfmPlanSearchOptions, objective) },
    { "by", IFM_OPTION_CHOICE, "WORD",
      "what the latency of one batch is; cycle, makespan and energy follow the mean whatever this is", "median", statistics,
      .deferred = TRUE, .at = G_STRUCT_OFFSET(IfmPlanSearchOptions, by) },
    { "grid", IFM_OPTION_TEXT, "SHARE,…",
      "shares that a device of a block may have, such as 0.3,0.5,0.7; without it any that let them end together",
      .is_list = TRUE, .at = G_STRUCT_OFFSET(IfmPlanSearchOptions, grid) },
    { "max-blocks", IFM_OPTION_COUNT, "N", "the maximum number of blocks of a plan; without it any number", .minimum = 1,
      .maximum = IFM_PLAN_MAX_DEVICES, .at = G_STRUCT_OFFSET(IfmPlanSearchOptions, max_blocks) },
    { "no-npu-split", IFM_OPTION_FLAG, NULL, "NPUs take no part in data parallelism, as in the published search",
      .at = G_STRUCT_OFFSET(IfmPlanSearchOptions, no_npu_split) },
    { "implausible", IFM_OPTION_FLAG, NULL,
      "plan also by latencies that those of other sizes contradict, which are left out otherwise",
      .at = G_STRUCT_OFFSET(IfmPlanSearchOptions, implausible) },
    { "use", IFM_OPTION_TEXT, "ALIAS", "a device to plan with; without it all that have latencies",
      .at = G_STRUCT_OFFSET(IfmPlanSearchOptions, use), .repeatable = TRUE },
    { "without", IFM_OPTION_TEXT, "ALIAS", "a device to plan without", .at = G_STRUCT_OFFSET(IfmPlanSearchOptions, without),
      .repeatable = TRUE },
    { "power", IFM_OPTION_TEXT, "ALIAS=WATTS",
      "what a device draws while it works; ALIAS=WATTS,IDLE also while it waits (else 0)",
      .at = G_STRUCT_OFFSET(IfmPlanSearchOptions, power), .repeatable = TRUE },
    { NULL },
};

const IfmOption ifm_plan_options[] = {
    { "size", IFM_OPTION_TEXT, "NODES,EDGES", "a graph's size to plan for; without it every size of the study",
      .is_list = TRUE, .at = G_STRUCT_OFFSET(IfmPlanOptions, sizes), .repeatable = TRUE },
    { .table = ifm_plan_search_options, .at = G_STRUCT_OFFSET(IfmPlanOptions, search) },
    { "pareto", IFM_OPTION_FLAG, NULL, "also every plan that no other beats in latency, throughput and energy",
      .after = "objective", .at = G_STRUCT_OFFSET(IfmPlanOptions, pareto) },
    { "batches", IFM_OPTION_COUNT, "N", "batches to simulate", "100", .minimum = 1, .maximum = 1000000, .after = "power",
      .at = G_STRUCT_OFFSET(IfmPlanOptions, batches) },
    { "compare", IFM_OPTION_FILE, "FILE", "a plan to compare with the best, as --json writes it or bare blocks",
      .at = G_STRUCT_OFFSET(IfmPlanOptions, compare) },
    { "output", IFM_OPTION_FOLDER, "DIR", "folder of the study's results; without it out/ and the study's name",
      .at = G_STRUCT_OFFSET(IfmPlanOptions, output), .letter = 'o' },
    { NULL },
};

/* --- one size --------------------------------------------------------------------------------------------------------- */

static void planned_free(IfmPlanned *planned)
{
    ifm_plan_answer_clear(&planned->answer);
    g_clear_pointer(&planned->prediction, json_decref);
    g_clear_pointer(&planned->trace, ifm_trace_free);
    g_clear_pointer(&planned->pareto, g_ptr_array_unref);
    g_clear_pointer(&planned->front, g_ptr_array_unref);
    g_clear_pointer(&planned->candidates, g_ptr_array_unref);
    ifm_plan_choice_clear(&planned->other);
    g_free(planned);
}

/* Costs and simulates the plan to compare with. */
static gboolean compare(const IfmCosts *costs, const IfmSimulateOptions *simulate, IfmPlanChoice *other, GError **error)
{
    const IfmPlanSize *size = simulate->sizes;
    return ifm_plan_cost(costs, other->plan, (double)size->nodes, (double)size->edges, &other->cost, error) &&
           ifm_plan_foresee(costs, other->plan, simulate, &other->forecast, error);
}

#define FRONT_VISITED 500000 /* structures: some tenths of a second */

/* The plans that no other beats, for the figure: unasked, as far as they are found at once. */
static gboolean find_front(const IfmCosts *costs, const IfmPlanQuestion *question, gboolean is_asked, IfmPlanned *planned,
                           GError **error)
{
    IfmPlanQuestion bounded = *question;
    gboolean complete = FALSE;
    if (!is_asked)
        bounded.most_visited = MIN(question->most_visited > 0 ? question->most_visited : FRONT_VISITED, FRONT_VISITED);
    planned->front = ifm_plan_pareto(costs, &bounded, &complete, is_asked ? error : NULL);
    if (is_asked && planned->front != NULL)
        planned->pareto = g_ptr_array_ref(planned->front);
    else if (!complete)
        g_clear_pointer(&planned->front, g_ptr_array_unref);
    return !is_asked || planned->pareto != NULL;
}

static gboolean plan_at(const IfmPlanContext *context, const IfmPlanOptions *options, const IfmPlan *other,
                        IfmPlanned *planned, GError **error)
{
    const IfmPlanSize *size = &planned->size;
    IfmPlanQuestion question = ifm_plan_context_question(context, size->nodes, size->edges);
    IfmSimulateOptions simulate = { .n_batches = (gsize)options->batches, .sizes = size, .n_sizes = 1 };
    if (ifm_plan_search(context->costs, &question, &planned->answer, error) &&
        ifm_plan_settle(context->costs, question.objective, &simulate, &planned->answer, error))
        planned->prediction = ifm_plan_predict(context->costs, planned->answer.plan, &simulate, &planned->trace, error);
    if (planned->prediction != NULL && !find_front(context->costs, &question, options->pareto, planned, error))
        g_clear_pointer(&planned->prediction, json_decref);
    if (planned->prediction != NULL && options->candidates)
        planned->candidates = ifm_plan_candidates(context->costs, &question, error);
    if (planned->prediction == NULL || (options->candidates && planned->candidates == NULL))
        return ifm_error_prefix(error,
                                "%s: %" G_GINT64_FORMAT " nodes, %" G_GINT64_FORMAT " edges: ", context->place.store_path,
                                size->nodes, size->edges);
    planned->other.plan = other != NULL ? ifm_plan_copy(other) : NULL;
    return other == NULL || compare(context->costs, &simulate, &planned->other, error) ||
           ifm_error_prefix(error, "%s: ", options->compare);
}

/* --- all of them ------------------------------------------------------------------------------------------------------ */

static IfmPlan *read_other(const char *path, GError **error)
{
    json_auto_t *json = ifm_json_load(path, error);
    return json != NULL ? ifm_plan_from_json(json, path, error) : NULL;
}

gboolean ifm_plan_study(const IfmPlanOptions *options, IfmPlanResult *result, GError **error)
{
    IfmPlanContext *context = &result->context;
    result->planned = g_ptr_array_new_with_free_func((GDestroyNotify)planned_free);
    if (!ifm_options_check(ifm_plan_options, options, error))
        return FALSE;
    g_autoptr(IfmPlan) other = options->compare != NULL ? read_other(options->compare, error) : NULL;
    if ((options->compare != NULL && other == NULL) ||
        !ifm_plan_context_init(context, options->study, options->output, options->sizes, &options->search, IFM_STORE_READ,
                               error) ||
        !ifm_plan_context_measure_host(context, error))
        return FALSE;
    for (guint i = 0; i < context->sizes->len; i++)
    {
        IfmPlanned *planned = g_new0(IfmPlanned, 1);
        planned->size = g_array_index(context->sizes, IfmPlanSize, i);
        g_ptr_array_add(result->planned, planned);
        if (!plan_at(context, options, other, planned, error))
        {
            ifm_plan_blame_input(error);
            return FALSE;
        }
    }
    return TRUE;
}

void ifm_plan_result_clear(IfmPlanResult *result)
{
    g_clear_pointer(&result->planned, g_ptr_array_unref);
    ifm_plan_context_clear(&result->context);
}
