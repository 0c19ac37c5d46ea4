#include <math.h>
#include <unistd.h>

#include <inferometer/json.h>

#include "plan-ground.h"

/* Planned: what was found at one size. */
typedef struct
{
    IfmPlanSize size;
    IfmPlanAnswer answer;
    json_t *prediction;
    IfmTrace *trace;   /* of the simulation */
    GPtrArray *pareto; /* IfmPlanAnswer*, or NULL */
    IfmPlan *other;
    IfmPlanCost other_cost;
} Planned;

static void planned_free(Planned *planned)
{
    ifm_plan_answer_clear(&planned->answer);
    g_clear_pointer(&planned->prediction, json_decref);
    g_clear_pointer(&planned->trace, ifm_trace_free);
    g_clear_pointer(&planned->pareto, g_ptr_array_unref);
    g_clear_pointer(&planned->other, ifm_plan_free);
    ifm_plan_cost_clear(&planned->other_cost);
    g_free(planned);
}

/* --- planning --------------------------------------------------------------------------------------------------------- */

static gboolean simulate(const PlanGround *ground, const Arguments *arguments, Planned *planned, GError **error)
{
    IfmSimulateOptions options = { .n_batches = (gsize)cli_integer(arguments, "batches"),
                                   .sizes = &planned->size,
                                   .n_sizes = 1 };
    planned->prediction = plan_predict(ground->costs, planned->answer.plan, &options, &planned->trace, error);
    return planned->prediction != NULL;
}

/* @path: of the file with @other, which is what is wrong where it cannot be costed */
static gboolean compare(const PlanGround *ground, const IfmPlan *other, const char *path, Planned *planned, GError **error)
{
    planned->other = ifm_plan_copy(other);
    if (ifm_plan_cost(ground->costs, other, (double)planned->size.nodes, (double)planned->size.edges, &planned->other_cost,
                      error))
        return TRUE;
    g_prefix_error(error, "%s: ", path);
    return FALSE;
}

static gboolean plan_at(const PlanGround *ground, const Arguments *arguments, const IfmPlan *other, Planned *planned,
                        GError **error)
{
    IfmPlanQuestion question = plan_ground_at(ground, planned->size.nodes, planned->size.edges);
    gboolean well =
        ifm_plan_search(ground->costs, &question, &planned->answer, error) && simulate(ground, arguments, planned, error);
    if (well && cli_given(arguments, "pareto"))
        well = (planned->pareto = ifm_plan_pareto(ground->costs, &question, error)) != NULL;
    if (!well)
        g_prefix_error(error, "%s: %" G_GINT64_FORMAT " nodes, %" G_GINT64_FORMAT " edges: ", ground->place.store_path,
                       planned->size.nodes, planned->size.edges);
    return well && (other == NULL || compare(ground, other, cli_text(arguments, "compare"), planned, error));
}

static int plan_all(const PlanGround *ground, const Arguments *arguments, const IfmPlan *other, GPtrArray *all)
{
    for (guint i = 0; i < ground->sizes->len; i++)
    {
        g_autoptr(GError) error = NULL;
        Planned *planned = g_new0(Planned, 1);
        planned->size = g_array_index(ground->sizes, IfmPlanSize, i);
        g_ptr_array_add(all, planned);
        if (!plan_at(ground, arguments, other, planned, &error))
            return plan_fail(error);
    }
    return CLI_EXIT_OK;
}

/* --- telling ---------------------------------------------------------------------------------------------------------- */

static IfmPlanStory story_of(const PlanGround *ground, const Planned *planned)
{
    return (IfmPlanStory){
        .model = ground->tables->name,
        .nodes = planned->size.nodes,
        .edges = planned->size.edges,
        .objective = ground->question.objective,
        .costs = ground->costs,
        .answer = &planned->answer,
        .prediction = planned->prediction,
        .other = planned->other,
        .other_cost = planned->other != NULL ? &planned->other_cost : NULL,
    };
}

/* With what a run needs to know of the model. */
static json_t *planned_to_json(const PlanGround *ground, const Planned *planned)
{
    IfmPlanStory story = story_of(ground, planned);
    json_t *json = ifm_plan_answer_to_json(&story);
    json_object_set_new(json, "features", json_integer(ground->tables->sizes.features));
    json_object_set_new(json, "hidden", json_integer(ground->tables->sizes.hidden));
    json_t *pareto = planned->pareto != NULL ? json_array() : NULL;
    for (guint i = 0; pareto != NULL && i < planned->pareto->len; i++)
    {
        const IfmPlanAnswer *answer = planned->pareto->pdata[i];
        json_t *one = json_pack("{s:o}", "plan", ifm_plan_blocks_to_json(answer->plan));
        json_object_set_new(one, "latency_ns", ifm_json_real(answer->cost.latency_ns));
        json_object_set_new(one, "cycle_ns", ifm_json_real(answer->cost.cycle_ns));
        json_object_set_new(one, "energy_j", ifm_json_real(answer->cost.energy_j));
        json_array_append_new(pareto, one);
    }
    if (pareto != NULL)
        json_object_set_new(json, "pareto", pareto);
    return json;
}

/* One plan as it is; several side by side, each whole. */
static json_t *all_to_json(const PlanGround *ground, const GPtrArray *all)
{
    json_t *plans = json_array();
    for (guint i = 0; i < all->len; i++)
        json_array_append_new(plans, planned_to_json(ground, all->pdata[i]));
    if (all->len != 1)
        return json_pack("{s:s,s:i,s:o}", "format", "plans", "format_version", 1, "plans", plans);
    json_t *one = json_incref(json_array_get(plans, 0));
    json_decref(plans);
    json_object_set_new(one, "format", json_string("plan"));
    json_object_set_new(one, "format_version", json_integer(1));
    return one;
}

static int write_table(const PlanGround *ground, const char *path)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmPlanTable) table =
        ifm_plan_table_new(ground->costs, &ground->question, (const IfmPlanSize *)(const void *)ground->sizes->data,
                           ground->sizes->len, &error);
    if (table == NULL)
        return plan_fail(error);
    json_auto_t *json = ifm_plan_table_to_json(table);
    return cli_write_json(path, json);
}

static int write_traces(const GPtrArray *all, const char *path)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) traces = g_ptr_array_new();
    for (guint i = 0; i < all->len; i++)
    {
        const Planned *planned = all->pdata[i];
        g_autofree char *stream = plan_size_title(&planned->size);
        plan_name_stream(planned->trace, stream);
        g_ptr_array_add(traces, planned->trace);
    }
    return ifm_trace_write((const IfmTrace *const *)traces->pdata, traces->len, path, &error) ? CLI_EXIT_OK
                                                                                              : cli_fail(error);
}

static int write_files(const PlanGround *ground, const Arguments *arguments, const GPtrArray *all)
{
    const char *json_path = cli_text(arguments, "json"), *table_path = cli_text(arguments, "table"),
               *trace_path = cli_text(arguments, "trace");
    int status = CLI_EXIT_OK;
    if (json_path != NULL)
    {
        json_auto_t *json = all_to_json(ground, all);
        status = cli_write_json(json_path, json);
    }
    if (status == CLI_EXIT_OK && table_path != NULL)
        status = write_table(ground, table_path);
    if (status == CLI_EXIT_OK && trace_path != NULL)
        status = write_traces(all, trace_path);
    return status;
}

static char *timeline_of(const Planned *planned, const IfmScreen *screen)
{
    const IfmTrace *trace = planned->trace;
    return ifm_trace_timeline(&trace, 1, NULL, screen);
}

static int print_page(const PlanGround *ground, const Arguments *arguments, const GPtrArray *all)
{
    IfmScreen screen = ifm_screen_detect(STDOUT_FILENO);
    g_autoptr(GString) text = g_string_new(NULL);
    for (guint i = 0; i < all->len; i++)
    {
        const Planned *planned = all->pdata[i];
        IfmPlanStory story = story_of(ground, planned);
        g_autofree char *page = ifm_plan_answer_to_screen(&story, &screen),
                        *pareto = planned->pareto != NULL ? ifm_plan_pareto_to_screen(planned->pareto, &screen) : NULL,
                        *timeline = cli_given(arguments, "timeline") ? timeline_of(planned, &screen) : NULL;
        g_string_append_printf(text, "%s%s%s%s%s", i > 0 ? "\n" : "", page, pareto != NULL ? pareto : "",
                               timeline != NULL ? "\n" : "", timeline != NULL ? timeline : "");
    }
    return cli_print(text->str);
}

/* --- the verb --------------------------------------------------------------------------------------------------------- */

static IfmPlan *read_other(const char *path, GError **error)
{
    json_auto_t *json = ifm_json_load(path, error);
    return json != NULL ? ifm_plan_from_json(json, path, error) : NULL;
}

static int check_outputs(const Arguments *arguments)
{
    return cli_check_outputs(arguments, (const char *const[]){ "json", "table", "trace", NULL });
}

static gboolean to_stdout(const Arguments *arguments)
{
    return g_strcmp0(cli_text(arguments, "json"), "-") == 0 || g_strcmp0(cli_text(arguments, "table"), "-") == 0 ||
           g_strcmp0(cli_text(arguments, "trace"), "-") == 0;
}

static int run_plan(const Arguments *arguments)
{
    g_auto(PlanGround) ground = { 0 };
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) all = g_ptr_array_new_with_free_func((GDestroyNotify)planned_free);
    const char *given = cli_text(arguments, "compare");
    int status = check_outputs(arguments);
    if (status != CLI_EXIT_OK)
        return status;
    g_autoptr(IfmPlan) other = given != NULL ? read_other(given, &error) : NULL;
    if (error != NULL)
        return cli_fail(error);
    if ((status = plan_ground_init(&ground, arguments, cli_positional(arguments)[0], IFM_STORE_READ)) != CLI_EXIT_OK ||
        (status = plan_ground_measure_host(&ground, (const IfmPlanSize *)(const void *)ground.sizes->data,
                                           ground.sizes->len)) != CLI_EXIT_OK ||
        (status = plan_all(&ground, arguments, other, all)) != CLI_EXIT_OK ||
        (status = write_files(&ground, arguments, all)) != CLI_EXIT_OK || to_stdout(arguments))
        return status;
    return print_page(&ground, arguments, all);
}

static const Option plan_options[] = {
    ROW_SIZE("a graph's size to plan for; without it every size of the study"),
    ROW_OBJECTIVE,
    { "pareto", 0, OPTION_FLAG, FALSE, NULL, "also every plan that no other beats in latency, throughput and energy" },
    ROW_GRID,
    ROW_MAX_BLOCKS,
    ROW_NO_NPU_SPLIT,
    ROW_USE,
    ROW_WITHOUT,
    ROW_POWER,
    { "batches", 0, OPTION_COUNT, FALSE, "N", "batches to simulate", "100", .least = 1, .most = 1000000 },
    { "compare", 0, OPTION_FILE, FALSE, "FILE", "a plan to cost beside the best, as --json writes it or bare blocks" },
    { "json", 0, OPTION_FILE, FALSE, "FILE", "write the plan as JSON, for inferometer run; - is standard output" },
    { "table", 0, OPTION_FILE, FALSE, "FILE", "write the plans of all sizes as a table, for inferometer run --table" },
    { "trace", 0, OPTION_FILE, FALSE, "FILE", "write the simulated timeline as a Chrome trace; .gz is compressed" },
    { "timeline", 0, OPTION_FLAG, FALSE, NULL, "draw the simulated timeline" },
    { "output", 'o', OPTION_FOLDER, FALSE, "DIR", "folder of the study's results; without it out/ and the study's name" },
    { NULL },
};

static const char *const plan_examples[] = {
    "inferometer plan gnn-plan --size 5000,10000",
    "finds the plan with the highest throughput at that size, from what the study measured",
    "inferometer plan --objective latency --json plan.json --size 3000,30000",
    "writes the plan with the least latency, for inferometer run",
    "inferometer plan --grid 0.3,0.5,0.7 --max-blocks 2 --no-npu-split",
    "searches the restricted space that was published, for comparison",
    NULL,
};

const Verb verb_plan = {
    .name = "plan",
    .summary = "find the best way to run a staged model over several devices",
    .arguments = "[STUDY]",
    .least = 0,
    .most = 1,
    .positional = POSITIONAL_STUDY,
    .options = plan_options,
    .details =
        WHICH_RESULTS " Without it: " PLAN_STUDY ".\n"
                      "A plan is a list of blocks: contiguous stages, the devices that share each of them, and their "
                      "shares of the graph's nodes. All of them are searched; the answer says whether it is proved "
                      "to be the best by the measured costs, or how far from it it may be. Where the best of all "
                      "gains no more over the best single device than the prediction is uncertain, the single "
                      "device is the plan.",
    .examples = plan_examples,
    .run = run_plan,
};
