#include <glib/gstdio.h>

#include <inferometer/json.h>

#include "run-set.h"

#define OWN_FOLDER "out/run" /* of runs that belong to no study */

static void job_free(RunJob *job)
{
    g_free(job->title);
    g_array_unref(job->graphs);
    g_array_unref(job->sizes);
    g_ptr_array_unref(job->batches);
    g_ptr_array_unref(job->sources);
    g_ptr_array_unref(job->plans);
    g_ptr_array_unref(job->documents);
    g_string_free(job->origins, TRUE);
    g_clear_pointer(&job->prediction, json_decref);
    g_clear_pointer(&job->fallbacks, json_decref);
    g_ptr_array_unref(job->simulated);
    g_clear_pointer(&job->sealed, ifm_case_free);
    g_clear_pointer(&job->measurement, ifm_measurement_free);
    g_clear_pointer(&job->recorded, g_ptr_array_unref);
    g_clear_pointer(&job->analysis, ifm_trace_analysis_free);
    g_clear_error(&job->error);
    g_free(job);
}

RunJob *run_job_new(char *title)
{
    RunJob *job = g_new0(RunJob, 1);
    job->title = title;
    job->graphs = g_array_new(FALSE, TRUE, sizeof(IfmPlanGraph));
    job->sizes = g_array_new(FALSE, FALSE, sizeof(IfmPlanSize));
    job->batches = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
    job->sources = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
    job->plans = g_ptr_array_new_with_free_func((GDestroyNotify)ifm_plan_free);
    job->documents = g_ptr_array_new_with_free_func((GDestroyNotify)json_decref);
    job->origins = g_string_new(NULL);
    job->simulated = g_ptr_array_new_with_free_func((GDestroyNotify)ifm_trace_free);
    return job;
}

void run_set_clear(RunSet *set)
{
    g_clear_pointer(&set->jobs, g_ptr_array_unref);
    g_clear_pointer(&set->table, ifm_plan_table_free);
    g_clear_pointer(&set->given, json_decref);
    g_clear_pointer(&set->texts, g_ptr_array_unref);
    g_clear_pointer(&set->folder, g_free);
    if (set->owns_store)
        g_clear_pointer(&set->store, ifm_store_close);
    g_clear_pointer(&set->lock, ifm_study_lock_free);
    plan_ground_clear(&set->ground);
}

/* --- what is named ---------------------------------------------------------------------------------------------------- */

static gboolean is_plan_file(const char *text)
{
    return g_str_equal(text, "-") || (g_str_has_suffix(text, ".json") && !g_file_test(text, G_FILE_TEST_IS_DIR));
}

/* A file, or standard input. (transfer full) */
static json_t *load_plan(const char *name, GError **error)
{
    if (!g_str_equal(name, "-"))
        return ifm_json_load(name, error);
    g_autoptr(GIOChannel) input = g_io_channel_unix_new(0);
    g_autofree char *text = NULL;
    gsize length = 0;
    g_io_channel_set_encoding(input, NULL, NULL);
    if (g_io_channel_read_to_end(input, &text, &length, NULL) != G_IO_STATUS_NORMAL)
    {
        g_set_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE, "standard input: cannot be read");
        return NULL;
    }
    return ifm_json_parse(text, length, "standard input", error);
}

static gboolean load_table(RunSet *set, const char *path, GError **error)
{
    json_auto_t *json = path != NULL ? ifm_json_load(path, error) : NULL;
    if (json != NULL)
        set->table = ifm_plan_table_from_json(json, path, error);
    return path == NULL || set->table != NULL;
}

/* What is named twice or not at all. Returns: an exit status. @plan, @study: (out) or NULL */
static int find_named(const Arguments *arguments, const char **plan, const char **study)
{
    const char *text = cli_positional(arguments)[0];
    const Verb *verb = cli_verb_of(arguments);
    *plan = cli_text(arguments, "plan");
    *study = text != NULL && !is_plan_file(text) ? text : NULL;
    if (text != NULL && is_plan_file(text) && *plan != NULL)
        return cli_usage(verb, "%s and --plan %s: one plan, not both", text, *plan);
    if (text != NULL && is_plan_file(text))
        *plan = text;
    if (cli_given(arguments, "demo") && (text != NULL || *plan != NULL || cli_given(arguments, "table")))
        return cli_usage(verb, "--demo brings its own plan: no other can be given");
    if (*plan != NULL && cli_given(arguments, "table"))
        return cli_usage(verb, "--plan and --table: one plan for all graphs or one for each size, not both");
    return CLI_EXIT_OK;
}

static int hold_folder(RunSet *set)
{
    g_autoptr(GError) error = NULL;
    set->lock = ifm_study_lock_new(set->folder, &error);
    return set->lock != NULL ? CLI_EXIT_OK : cli_fail(error);
}

static int open_own_store(RunSet *set, const Arguments *arguments)
{
    g_autoptr(GError) error = NULL;
    const char *folder = cli_text(arguments, "output");
    set->folder = g_strdup(folder != NULL ? folder : OWN_FOLDER);
    g_autofree char *path = g_build_filename(set->folder, "store.db", NULL);
    set->store = ifm_store_open(path, IFM_STORE_WRITE, &error);
    set->owns_store = TRUE;
    return set->store != NULL ? hold_folder(set) : cli_fail(error);
}

static int open_study(RunSet *set, const Arguments *arguments, const char *study)
{
    int status = plan_ground_init(&set->ground, arguments, study, IFM_STORE_WRITE);
    if (status != CLI_EXIT_OK)
        return status;
    set->folder = g_strdup(set->ground.place.folder);
    set->store = set->ground.store;
    set->sizes = set->ground.tables->sizes;
    set->staged = set->ground.tables->staged;
    const json_t *graph = json_object_get(json_object_get(set->ground.tables->manifest, "definition"), "graph");
    const char *kind = json_string_value(json_object_get(graph, "kind"));
    const json_t *seed = json_object_get(graph, "seed");
    set->kind = kind != NULL ? kind : set->kind;
    set->graph_seed = json_is_integer(seed) ? (guint32)json_integer_value(seed) : set->graph_seed;
    return hold_folder(set);
}

/* --- all of it -------------------------------------------------------------------------------------------------------- */

static int fill_job(RunSet *set, const Arguments *arguments, RunJob *job, const IfmPlan *demo)
{
    g_autoptr(GError) error = NULL;
    for (guint i = 0; i < job->graphs->len; i++)
    {
        g_autofree char *name = run_set_name_of_plan(set, arguments, &g_array_index(job->sizes, IfmPlanSize, i));
        IfmPlan *plan = demo != NULL ? ifm_plan_copy(demo) : run_set_plan_for(set, job, i, &error);
        if (plan == NULL)
            return plan_fail(error);
        g_ptr_array_add(job->plans, plan);
        if (!run_set_resolve(set, arguments, plan, name, &error))
            return cli_fail(error);
        g_ptr_array_add(job->documents, ifm_plan_to_json(plan));
    }
    return run_set_predict(set, arguments, job, &error) ? CLI_EXIT_OK : plan_fail(error);
}

/* Whatever it will be run on, a plan that is none is told first. */
static gboolean check_given(const RunSet *set, GError **error)
{
    const json_t *plans = json_is_object(set->given) ? json_object_get(set->given, "plans") : NULL;
    if (json_is_array(plans))
        return TRUE; /* each is read when its size comes */
    g_autoptr(IfmPlan) plan = ifm_plan_from_json(set->given, set->given_name, error);
    return plan != NULL;
}

static int read_given(RunSet *set, const Arguments *arguments, const char *plan)
{
    g_autoptr(GError) error = NULL;
    set->given_name = plan == NULL || !g_str_equal(plan, "-") ? plan : "standard input";
    set->given = plan != NULL ? load_plan(plan, &error) : NULL;
    if ((plan != NULL && (set->given == NULL || !check_given(set, &error))) ||
        !load_table(set, cli_text(arguments, "table"), &error))
        return cli_fail(error);
    return CLI_EXIT_OK;
}

/* Features and hidden as the plan's file has them, and its model. */
static int find_model(RunSet *set, const Arguments *arguments, const IfmPlan *demo)
{
    g_autoptr(GError) error = NULL;
    const json_t *file = set->given;
    if (json_is_object(file) && json_is_array(json_object_get(file, "plans")))
        file = json_array_get(json_object_get(file, "plans"), 0);
    json_t *model = json_is_object(file) ? json_object_get(file, "model") : NULL;
    const char *name = demo != NULL            ? demo->model
                       : json_is_string(model) ? json_string_value(model)
                                               : cli_text(arguments, "model");
    if (set->staged != NULL)
        return CLI_EXIT_OK;
    set->staged = ifm_staged_find(name, &error);
    if (set->staged == NULL)
        return cli_fail(error);
    json_t *features = json_is_object(file) ? json_object_get(file, "features") : NULL,
           *hidden = json_is_object(file) ? json_object_get(file, "hidden") : NULL;
    set->sizes.features = json_is_integer(features) && !cli_given(arguments, "features")
                              ? json_integer_value(features)
                              : cli_integer(arguments, "features");
    set->sizes.hidden = json_is_integer(hidden) && !cli_given(arguments, "hidden") ? json_integer_value(hidden)
                                                                                   : cli_integer(arguments, "hidden");
    return CLI_EXIT_OK;
}

/* Options that plan: without a study nothing is, and whatever they say would be passed over. */
static int check_planless(const Arguments *arguments)
{
    static const char *const names[] = { "objective", "grid",    "max-blocks", "no-npu-split",
                                         "use",       "without", "power",      "pilot" };
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
        if (cli_given(arguments, names[i]))
            return cli_usage(cli_verb_of(arguments),
                             "--%s: has no effect on a plan that is given; with STUDY beside it, or alone, it has",
                             names[i]);
    return CLI_EXIT_OK;
}

static int open_place(RunSet *set, const Arguments *arguments, const char *plan, const char *study)
{
    gboolean needs_study =
        study != NULL || (plan == NULL && !cli_given(arguments, "demo") && !cli_given(arguments, "table"));
    if (!needs_study && g_str_equal(cli_text(arguments, "on-failure"), "replan"))
        return cli_usage(cli_verb_of(arguments), "--on-failure replan needs STUDY: whose measurements to plan by");
    if (cli_given(arguments, "pilot") && cli_given(arguments, "table"))
        return cli_usage(cli_verb_of(arguments), "--pilot and --table: plans by size are run as the table has them");
    if (needs_study)
        return open_study(set, arguments, study);
    int status = check_planless(arguments);
    return status == CLI_EXIT_OK ? open_own_store(set, arguments) : status;
}

static int add_demo(RunSet *set, const IfmPlanSize *size)
{
    g_autoptr(GError) error = NULL;
    return run_set_add_stream(set, g_strdup("demo"), set->kind, size, &error) ? CLI_EXIT_OK : cli_fail(error);
}

int run_set_init(RunSet *set, const Arguments *arguments)
{
    const char *plan, *study;
    IfmPlanSize demo_size;
    set->jobs = g_ptr_array_new_with_free_func((GDestroyNotify)job_free);
    set->texts = g_ptr_array_new_with_free_func(g_free);
    set->kind = ifm_graph_kind_name(IFM_GRAPH_UNIFORM);
    set->graph_seed = (guint32)cli_integer(arguments, "seed");
    set->parts = cli_integer(arguments, "parts");
    int status = find_named(arguments, &plan, &study);
    g_autoptr(IfmPlan) demo = cli_given(arguments, "demo") ? run_demo_plan(&demo_size) : NULL;
    if (status != CLI_EXIT_OK || (status = read_given(set, arguments, plan)) != CLI_EXIT_OK ||
        (status = open_place(set, arguments, plan, study)) != CLI_EXIT_OK ||
        (status = find_model(set, arguments, demo)) != CLI_EXIT_OK)
        return status;
    if (demo != NULL && !cli_given(arguments, "size") && !cli_given(arguments, "graph"))
        status = add_demo(set, &demo_size);
    else
        status = run_set_add_streams(set, arguments);
    if (status == CLI_EXIT_OK && set->ground.costs != NULL)
        status = plan_ground_measure_host(&set->ground, (const IfmPlanSize *)(const void *)set->ground.sizes->data,
                                          set->ground.sizes->len);
    for (guint i = 0; i < set->jobs->len && status == CLI_EXIT_OK; i++)
        status = fill_job(set, arguments, set->jobs->pdata[i], demo);
    if (status == CLI_EXIT_OK)
        status = run_set_check_devices(set, arguments);
    if (status == CLI_EXIT_OK)
        run_set_note_substitutes(set);
    return status;
}
