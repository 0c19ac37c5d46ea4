/* Everything that is asked to be run, looked at before anything is started. */
#include <base/fields.h>
#include <math.h>
#include <plan/plan.h>
#include <run/run.h>
#include <staged/staged.h>
#include <store/store.h>

#include "run-private.h"

#define OWN_FOLDER "out/run" /* of runs that belong to no study */

void ifm_run_set_free(IfmRunSet *set)
{
    if (set == NULL)
        return;
    g_clear_pointer(&set->runs, g_array_unref);
    g_clear_pointer(&set->jobs, g_ptr_array_unref);
    g_clear_pointer(&set->table, ifm_plan_table_free);
    g_clear_pointer(&set->given, json_decref);
    g_clear_pointer(&set->texts, g_ptr_array_unref);
    g_clear_pointer(&set->folder, g_free);
    g_clear_pointer(&set->trace_path, g_free);
    if (set->owns_store)
        g_clear_pointer(&set->store, ifm_store_close);
    g_clear_pointer(&set->lock, ifm_study_lock_free);
    ifm_plan_context_clear(&set->context);
    g_free(set);
}

/* --- what is named ---------------------------------------------------------------------------------------------------- */

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
        ifm_error_set(error, IFM_ERROR_UNAVAILABLE, "standard input: cannot be read");
        return NULL;
    }
    return ifm_json_parse(text, length, "standard input", error);
}

static gboolean load_table(IfmRunSet *set, const char *path, GError **error)
{
    json_auto_t *json = path != NULL ? ifm_json_load(path, error) : NULL;
    if (json != NULL)
        set->table = ifm_plan_table_from_json(json, path, error);
    return path == NULL || set->table != NULL;
}

static gboolean hold_folder(IfmRunSet *set, GError **error)
{
    return (set->lock = ifm_study_lock_new(set->folder, error)) != NULL;
}

static gboolean open_own_store(IfmRunSet *set, GError **error)
{
    set->folder = g_strdup(set->options.output != NULL ? set->options.output : OWN_FOLDER);
    g_autofree char *path = g_build_filename(set->folder, "store.db", NULL);
    set->store = ifm_store_open(path, IFM_STORE_WRITE, error);
    set->owns_store = TRUE;
    return set->store != NULL && hold_folder(set, error);
}

/* Whether a folder has the results of a study. */
static gboolean holds_study(const char *folder)
{
    g_autofree char *path = g_build_filename(folder, "store.db", NULL);
    g_autoptr(IfmStore) store = g_file_test(path, G_FILE_TEST_EXISTS) ? ifm_store_open(path, IFM_STORE_READ, NULL) : NULL;
    return store != NULL && ifm_study_place_begun(store);
}

/* The study's results are in the folder of the options where that has a study, else where they usually are: then the folder
 * takes the runs alone. */
static gboolean open_study(IfmRunSet *set, GError **error)
{
    const IfmRunOptions *options = &set->options;
    gboolean apart = options->output != NULL && !holds_study(options->output);
    if (!ifm_plan_context_init(&set->context, options->study, apart ? NULL : options->output, options->sizes,
                               &options->search, apart ? IFM_STORE_READ : IFM_STORE_WRITE, error))
        return FALSE;
    if (!apart)
    {
        set->folder = g_strdup(set->context.place.folder);
        set->store = set->context.store;
    }
    set->sizes = set->context.tables->sizes;
    set->staged = set->context.tables->staged;
    const json_t *graph = json_object_get(set->context.tables->definition, "graph");
    const char *kind = json_string_value(json_object_get(graph, "kind"));
    const json_t *seed = json_object_get(graph, "seed");
    set->kind = kind != NULL ? kind : set->kind;
    set->graph_seed = json_is_integer(seed) ? (guint32)json_integer_value(seed) : set->graph_seed;
    return apart ? open_own_store(set, error) : hold_folder(set, error);
}

/* --- all of it -------------------------------------------------------------------------------------------------------- */

static gboolean fill_job(RunJob *job, const IfmPlan *demo, GError **error)
{
    for (guint i = 0; i < job->graphs->len; i++)
    {
        IfmPlan *plan = demo != NULL ? ifm_plan_copy(demo) : run_job_plan_for(job, i, error);
        if (plan == NULL)
            ifm_plan_blame_input(error);
        if (!run_job_add_plan(job, i, plan, error))
            return FALSE;
    }
    gboolean predicted = run_job_predict(job, error);
    if (!predicted)
        ifm_plan_blame_input(error);
    return predicted;
}

/* Whatever it will be run on, a plan that is invalid is reported first. */
static gboolean check_given(const IfmRunSet *set, GError **error)
{
    if (json_is_array(json_object_get(set->given, "plans")))
        return TRUE; /* each is read when its size comes */
    g_autoptr(IfmPlan) plan = ifm_plan_from_json(set->given, set->given_name, error);
    return plan != NULL;
}

static gboolean read_given(IfmRunSet *set, GError **error)
{
    const char *plan = set->options.plan;
    set->given_name = plan == NULL || !g_str_equal(plan, "-") ? plan : "standard input";
    set->given = plan != NULL ? load_plan(plan, error) : NULL;
    return (plan == NULL || (set->given != NULL && check_given(set, error))) && load_table(set, set->options.table, error);
}

/* A whole number of the plan's file, where the options do not say. */
static gint64 size_of(gint64 asked, const json_t *file, const char *key, gint64 usual)
{
    const json_t *found = json_object_get(file, key);
    return asked != IFM_OPTION_UNSET ? asked : json_is_integer(found) ? json_integer_value(found) : usual;
}

/* Features and hidden as the plan's file has them, and its model. */
static gboolean find_model(IfmRunSet *set, const IfmPlan *demo, GError **error)
{
    const json_t *file = set->given;
    if (json_is_array(json_object_get(file, "plans")))
        file = json_array_get(json_object_get(file, "plans"), 0);
    const char *model = json_string_value(json_object_get(file, "model"));
    const IfmRunOptions *options = &set->options;
    const char *idle = options->model != NULL                  ? "model"
                       : options->features != IFM_OPTION_UNSET ? "features"
                       : options->hidden != IFM_OPTION_UNSET   ? "hidden"
                                                               : NULL;
    if (set->staged != NULL)
        return idle == NULL || ifm_error_misuse(error, "--%s: has no effect: the study says it", idle);
    if (options->model != NULL && (demo != NULL || model != NULL))
        return ifm_error_misuse(error, "--model: has no effect: the plan says it");
    set->staged = ifm_staged_find(demo != NULL             ? demo->model
                                  : model != NULL          ? model
                                  : options->model != NULL ? options->model
                                                           : IFM_RUN_USUAL_MODEL,
                                  error);
    set->sizes.features = size_of(set->options.features, file, "features", IFM_RUN_USUAL_FEATURES);
    set->sizes.hidden = size_of(set->options.hidden, file, "hidden", IFM_RUN_USUAL_HIDDEN);
    return set->staged != NULL;
}

/* Options that plan: without a study nothing is, and whatever they say would be passed over. */
static gboolean check_planless(const IfmRunOptions *options, GError **error)
{
    const char *idle = options->pilot_ns != IFM_OPTION_UNSET ? "pilot" : NULL;
    for (const IfmOption *row = ifm_plan_search_options; row->name != NULL; row++)
        if (ifm_option_is_given(row, &options->search))
        {
            idle = row->name;
            break;
        }
    return idle == NULL ||
           ifm_error_misuse(error, "--%s: has no effect on a plan that is given; with STUDY, or alone, it has", idle);
}

static gboolean open_place(IfmRunSet *set, GError **error)
{
    const IfmRunOptions *options = &set->options;
    gboolean needs_study = options->study != NULL || (options->plan == NULL && !options->demo && options->table == NULL);
    if (!needs_study && options->on_failure == IFM_RUN_REPLAN)
        return ifm_error_misuse(error, "--on-failure replan needs STUDY: whose measurements to plan by");
    if (needs_study)
        return open_study(set, error);
    return check_planless(options, error) && open_own_store(set, error);
}

/* The time that nobody asked for is announced. */
static void note_pilots(const IfmRunSet *set)
{
    gsize n = 0;
    double worst = 0;
    for (guint i = 0; i < set->jobs->len; i++)
    {
        const RunJob *job = set->jobs->pdata[i];
        n += run_pilot_budget_ns(job) > 0;
        worst = isnan(job->plan_spread) ? job->plan_spread : fmax(worst, job->plan_spread);
    }
    if (n == 0 || set->options.pilot_ns != IFM_OPTION_UNSET || set->options.note == NULL)
        return;
    double seconds = (double)IFM_RUN_USUAL_PILOT_NS * 1e-9 * (double)n;
    g_autofree char *known = ifm_is_precision(worst) ? g_strdup_printf("tells plans apart only to ±%.3g %%", 100 * worst)
                                                     : g_strdup("does not tell plans apart"),
                    *line = g_strdup_printf("the study %s: pilots come first, about %.0f s to %.0f s and "
                                            "the compiling; --pilot 0 leaves them out",
                                            known, seconds, 2 * seconds);
    set->options.note(line, set->options.user);
}

IfmRunSet *ifm_run_set_new(const IfmRunOptions *options, GError **error)
{
    g_autoptr(IfmRunSet) set = g_new0(IfmRunSet, 1);
    IfmPlanSize demo_size;
    set->options = *options;
    set->runs = g_array_new(FALSE, FALSE, sizeof(IfmRunReport));
    set->jobs = g_ptr_array_new_with_free_func((GDestroyNotify)run_job_free);
    set->texts = g_ptr_array_new_with_free_func(g_free);
    set->kind = ifm_graph_kind_words()[IFM_GRAPH_UNIFORM];
    if (!ifm_run_options_check(options, error))
        return NULL;
    set->graph_seed = (guint32)options->seed;
    g_autoptr(IfmPlan) demo = options->demo ? run_demo_plan(&demo_size) : NULL;
    if (!read_given(set, error) || !open_place(set, error) || !find_model(set, demo, error))
        return NULL;
    gboolean added = demo != NULL && options->sizes == NULL && options->graphs == NULL
                         ? run_set_add_stream(set, g_strdup("demo"), set->kind, &demo_size, error)
                         : run_set_add_streams(set, error);
    if (!added || (set->context.costs != NULL && !ifm_plan_context_measure_host(&set->context, error)))
        return NULL;
    for (guint i = 0; i < set->jobs->len; i++)
        if (!fill_job(set->jobs->pdata[i], demo, error))
            return NULL;
    if (!run_set_check_devices(set, error))
        return NULL;
    run_set_note_substitutes(set);
    note_pilots(set);
    run_set_list_runs(set);
    return g_steal_pointer(&set);
}

const IfmRunReport *ifm_run_set_runs(const IfmRunSet *set, gsize *n)
{
    if (n != NULL)
        *n = set->runs->len;
    return (const IfmRunReport *)(const void *)set->runs->data;
}

const char *ifm_run_set_store_path(const IfmRunSet *set)
{
    return ifm_store_path(set->store);
}
