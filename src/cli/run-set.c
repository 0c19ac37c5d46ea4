#include <math.h>
#include <string.h>

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

static RunJob *job_new(char *title)
{
    RunJob *job = g_new0(RunJob, 1);
    job->title = title;
    job->graphs = g_array_new(FALSE, TRUE, sizeof(IfmPlanGraph));
    job->sizes = g_array_new(FALSE, FALSE, sizeof(IfmPlanSize));
    job->batches = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
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

/* --- plans ------------------------------------------------------------------------------------------------------------ */

static const char *device_given(const Arguments *arguments, const char *alias)
{
    gsize length = strlen(alias);
    for (const char *const *text = cli_texts(arguments, "device"); *text != NULL; text++)
        if (strncmp(*text, alias, length) == 0 && (*text)[length] == '=')
            return *text + length + 1;
    return NULL;
}

static const char *device_measured(const RunSet *set, const char *alias)
{
    int device = set->ground.costs != NULL ? ifm_costs_find_device(set->ground.costs, alias) : -1;
    return device >= 0 ? ifm_costs_device(set->ground.costs, device)->device : NULL;
}

gboolean run_set_resolve(const RunSet *set, const Arguments *arguments, IfmPlan *plan, const char *name, GError **error)
{
    for (guint i = 0; i < plan->devices->len; i++)
    {
        IfmPlanDevice *device = plan->devices->pdata[i];
        const char *given = device_given(arguments, device->alias);
        const char *found = given != NULL            ? given
                            : device->device != NULL ? device->device
                                                     : device_measured(set, device->alias);
        g_autoptr(IfmDeviceSpec) spec = found != NULL ? ifm_device_spec_parse(found, error) : NULL;
        if (found == NULL)
            g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "%s: nothing says what device \"%s\" is: --device %s=DEVICE",
                        name, device->alias, device->alias);
        else if (spec == NULL)
            g_prefix_error(error, "%s: device \"%s\": ", name, device->alias);
        if (spec == NULL)
            return FALSE;
        g_free(device->device);
        device->device = g_strdup(spec->text);
    }
    if (plan->model == NULL) /* bare blocks */
        plan->model = g_strdup(set->staged->name);
    return ifm_plan_check(plan, set->staged, name, error);
}

/* The entry for a size, of a file that holds several plans; else the one plan it holds. */
static const json_t *entry_for(const RunSet *set, const IfmPlanSize *size, GError **error)
{
    const json_t *plans = json_is_object(set->given) ? json_object_get(set->given, "plans") : NULL;
    for (gsize i = 0; i < json_array_size(plans); i++)
    {
        const json_t *entry = json_array_get(plans, i), *first = json_array_get(json_object_get(entry, "sizes"), 0);
        if (json_integer_value(json_array_get(first, 0)) == size->nodes &&
            json_integer_value(json_array_get(first, 1)) == size->edges)
            return entry;
    }
    if (plans == NULL)
        return set->given;
    g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID,
                "%s: none of its %" G_GSIZE_FORMAT " plans is for %" G_GINT64_FORMAT " nodes, %" G_GINT64_FORMAT
                " edges; a plan table (inferometer plan --table) has one for any size",
                set->given_name, json_array_size(plans), size->nodes, size->edges);
    return NULL;
}

static void note_origin(RunJob *job, const char *origin)
{
    if (strstr(job->origins->str, origin) == NULL)
        g_string_append_printf(job->origins, "%s%s", job->origins->len > 0 ? "; " : "", origin);
}

static IfmPlan *look_up(RunSet *set, RunJob *job, const IfmPlanSize *size, GError **error)
{
    static const char *const told[] = { [IFM_PLAN_EXACT] = "the table's of this very size",
                                        [IFM_PLAN_INTERPOLATED] = "between the plans of the table's neighbouring sizes",
                                        [IFM_PLAN_CHOSEN] = "the plan of a neighbouring size in the table",
                                        [IFM_PLAN_SEARCHED] = "the table has none: searched at this size" };
    IfmPlanOrigin origin = IFM_PLAN_EXACT;
    IfmPlan *plan =
        ifm_plan_table_find(set->table, set->ground.costs, (double)size->nodes, (double)size->edges, &origin, error);
    g_autofree char *text = g_strdup_printf("%s (%s)", ifm_plan_origin_name(origin), told[origin]);
    if (plan != NULL)
        note_origin(job, text);
    return plan;
}

/* (transfer full) The plan of a size, however it comes. */
static IfmPlan *plan_for(RunSet *set, RunJob *job, const IfmPlanSize *size, GError **error)
{
    if (set->table != NULL)
        return look_up(set, job, size, error);
    if (set->given != NULL)
    {
        const json_t *entry = entry_for(set, size, error);
        return entry != NULL ? ifm_plan_from_json(entry, set->given_name, error) : NULL;
    }
    g_auto(IfmPlanAnswer) answer = { 0 };
    IfmPlanQuestion question = plan_ground_at(&set->ground, size->nodes, size->edges);
    note_origin(job, "searched at this size");
    return ifm_plan_search(set->ground.costs, &question, &answer, error) ? g_steal_pointer(&answer.plan) : NULL;
}

/* --- graphs ----------------------------------------------------------------------------------------------------------- */

/* The sizes of a graph's parts as the run will make them: what a part costs is its own nodes, the destinations, and their
 * edges; ghosts are sources alone. Costs go by edges a node: a part without any is taken for one that has one. NULL with an
 * error. */
static GArray *part_sizes(const IfmPlanGraph *graph, GError **error)
{
    gsize kind = 0;
    while (ifm_graph_kind_words()[kind] != NULL && !g_str_equal(ifm_graph_kind_words()[kind], graph->kind))
        kind++;
    g_autoptr(IfmGraph) whole = ifm_graph_kind_words()[kind] != NULL
                                    ? ifm_graph_random((IfmGraphKind)kind, graph->nodes, graph->edges, graph->seed, error)
                                    : ifm_graph_read(graph->kind, IFM_GRAPH_FORMAT_AUTO, error);
    g_autoptr(GPtrArray) parts = whole != NULL ? ifm_graph_partition(whole, graph->parts, graph->seed, error) : NULL;
    GArray *sizes = parts != NULL ? g_array_new(FALSE, FALSE, sizeof(IfmPlanSize)) : NULL;
    for (guint i = 0; parts != NULL && i < parts->len; i++)
    {
        const IfmSubgraph *part = parts->pdata[i];
        IfmPlanSize size = { part->n_own, MAX(part->graph->n_edges, 1) };
        g_array_append_val(sizes, size);
    }
    return sizes;
}

static gboolean add_graph(RunSet *set, RunJob *job, const char *kind, const IfmPlanSize *size, GError **error)
{
    char *text = g_strdup(kind);
    IfmPlanGraph graph = {
        .kind = text, .nodes = size->nodes, .edges = size->edges, .seed = set->graph_seed, .parts = set->parts
    };
    g_ptr_array_add(set->texts, text);
    GArray *batches = set->parts > 1 ? part_sizes(&graph, error) : g_array_new(FALSE, FALSE, sizeof(IfmPlanSize));
    if (batches == NULL)
        return FALSE;
    if (set->parts <= 1)
        g_array_append_val(batches, *size);
    IfmPlanSize largest = g_array_index(batches, IfmPlanSize, 0);
    for (guint i = 1; i < batches->len; i++)
        if (g_array_index(batches, IfmPlanSize, i).edges > largest.edges)
            largest = g_array_index(batches, IfmPlanSize, i);
    g_ptr_array_add(job->batches, batches);
    g_array_append_val(job->graphs, graph);
    g_array_append_val(job->sizes, largest);
    return TRUE;
}

/* Graphs that share a stream do so by a table; else each has a run of its own. @title: (transfer full) */
static gboolean add_stream(RunSet *set, char *title, const char *kind, const IfmPlanSize *size, GError **error)
{
    RunJob *job = set->table != NULL && set->jobs->len > 0 ? set->jobs->pdata[0] : NULL;
    if (job == NULL)
        g_ptr_array_add(set->jobs, job = job_new(g_steal_pointer(&title)));
    else
    {
        char *both = g_strdup_printf("%u graphs in turn", job->graphs->len + 1);
        g_free(job->title);
        job->title = both;
    }
    g_free(title);
    return add_graph(set, job, kind, size, error);
}

static gboolean add_file(RunSet *set, const char *path, GError **error)
{
    g_autoptr(IfmGraph) graph = ifm_graph_read(path, IFM_GRAPH_FORMAT_AUTO, error);
    if (graph == NULL)
        return FALSE;
    IfmPlanSize size = { graph->n_nodes, graph->n_edges };
    return add_stream(set, g_path_get_basename(path), path, &size, error);
}

/* The sizes that a plan's file was made for. */
static void sizes_of_json(const json_t *plan, GArray *sizes)
{
    const json_t *plans = json_is_object(plan) ? json_object_get(plan, "plans") : NULL, *own;
    for (gsize i = 0; i < json_array_size(plans); i++)
        sizes_of_json(json_array_get(plans, i), sizes);
    own = json_is_object(plan) ? json_object_get(plan, "sizes") : NULL;
    for (gsize i = 0; i < json_array_size(own); i++)
    {
        const json_t *pair = json_array_get(own, i);
        IfmPlanSize size = { json_integer_value(json_array_get(pair, 0)), json_integer_value(json_array_get(pair, 1)) };
        if (size.nodes > 0 && size.edges > 0)
            g_array_append_val(sizes, size);
    }
}

static void default_sizes(RunSet *set, GArray *sizes)
{
    if (set->given != NULL)
        sizes_of_json(set->given, sizes);
    if (sizes->len == 0 && set->table != NULL)
    {
        IfmPlanSize size;
        for (gsize i = 0; ifm_plan_table_row(set->table, i, &size, NULL) != NULL; i++)
            g_array_append_val(sizes, size);
    }
    if (sizes->len == 0 && set->ground.costs != NULL)
        g_array_append_vals(sizes, set->ground.sizes->data, set->ground.sizes->len);
}

static int add_streams(RunSet *set, const Arguments *arguments)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GArray) sizes = g_array_new(FALSE, FALSE, sizeof(IfmPlanSize));
    int status = plan_parse_sizes(arguments, sizes);
    if (status != CLI_EXIT_OK)
        return status;
    for (const char *const *path = cli_texts(arguments, "graph"); *path != NULL; path++)
        if (!add_file(set, *path, &error))
            return cli_fail(error);
    if (sizes->len == 0 && set->jobs->len == 0)
        default_sizes(set, sizes);
    for (guint i = 0; i < sizes->len; i++)
    {
        const IfmPlanSize *size = &g_array_index(sizes, IfmPlanSize, i);
        if (!add_stream(set, plan_size_title(size), set->kind, size, &error))
            return cli_fail(error);
    }
    if (set->jobs->len == 0)
        return cli_usage(cli_verb_of(arguments), "needs --size NODES,EDGES or --graph FILE: what to run the plan on");
    return CLI_EXIT_OK;
}

/* --- predictions ------------------------------------------------------------------------------------------------------ */

/* How many of a stream's batches are graph @index's: they come in turn, a graph's parts one after the other. */
static gsize share_of(const RunJob *job, gsize n_batches, guint index)
{
    gsize before = 0, all = 0, own = ((const GArray *)job->batches->pdata[index])->len;
    for (guint i = 0; i < job->batches->len; i++)
    {
        before += i < index ? ((const GArray *)job->batches->pdata[i])->len : 0;
        all += ((const GArray *)job->batches->pdata[i])->len;
    }
    if (all == 0)
        return 0;
    gsize rest = n_batches % all;
    return n_batches / all * own + (rest > before ? MIN(rest - before, own) : 0);
}

const char *run_set_name_of_plans(const RunSet *set, const Arguments *arguments)
{
    const char *table = cli_text(arguments, "table");
    return table != NULL ? table : set->given_name != NULL ? set->given_name : set->folder;
}

/* One group: the graphs with the plan of graph @first. */
static gboolean predict_group(RunSet *set, const Arguments *arguments, RunJob *job, guint first, GError **error)
{
    g_autoptr(GArray) sizes = g_array_new(FALSE, FALSE, sizeof(IfmPlanSize));
    IfmSimulateOptions options = { .queue_depth = (int)cli_integer(arguments, "queue-depth"),
                                   .block_depth = (int)cli_integer(arguments, "block-depth") };
    for (guint i = first; i < job->graphs->len; i++)
        if (json_equal(job->documents->pdata[i], job->documents->pdata[first]))
        {
            const GArray *batches = job->batches->pdata[i];
            g_array_append_vals(sizes, batches->data, batches->len);
            options.n_batches += share_of(job, (gsize)cli_integer(arguments, "batches"), i);
        }
    IfmTrace *trace = NULL;
    if (options.n_batches == 0)
        return TRUE;
    json_t *part = plan_predict(set->ground.costs, job->plans->pdata[first], (const IfmPlanSize *)(const void *)sizes->data,
                                sizes->len, &options, &trace, error);
    if (part == NULL)
    {
        g_prefix_error(error, "%s: ", run_set_name_of_plans(set, arguments));
        return FALSE;
    }
    g_ptr_array_add(job->simulated, trace);
    ifm_prediction_add(job->prediction, part);
    return TRUE;
}

/* A plan's file may bring the prediction along; it holds for the batches it was made for. */
static void take_given_prediction(const RunSet *set, const Arguments *arguments, RunJob *job)
{
    const json_t *entry = entry_for(set, &g_array_index(job->sizes, IfmPlanSize, 0), NULL);
    const json_t *prediction = json_is_object(entry) ? json_object_get(entry, "prediction") : NULL;
    const json_t *size = json_array_get(json_is_object(entry) ? json_object_get(entry, "sizes") : NULL, 0);
    if (json_is_object(prediction) &&
        json_integer_value(json_object_get(prediction, "n_batches")) == cli_integer(arguments, "batches") &&
        json_integer_value(json_array_get(size, 0)) == g_array_index(job->sizes, IfmPlanSize, 0).nodes &&
        json_integer_value(json_array_get(size, 1)) == g_array_index(job->sizes, IfmPlanSize, 0).edges)
        job->prediction = json_deep_copy(prediction);
}

gboolean run_set_predict(RunSet *set, const Arguments *arguments, RunJob *job, GError **error)
{
    if (set->ground.costs == NULL)
    {
        if (set->given != NULL && job->graphs->len == 1)
            take_given_prediction(set, arguments, job);
        return TRUE;
    }
    g_clear_pointer(&job->prediction, json_decref);
    g_clear_pointer(&job->fallbacks, json_decref);
    g_ptr_array_set_size(job->simulated, 0);
    job->prediction = json_object();
    for (guint i = 0; i < job->graphs->len; i++)
    {
        guint earlier = 0;
        while (earlier < i && !json_equal(job->documents->pdata[earlier], job->documents->pdata[i]))
            earlier++;
        if (earlier == i && !predict_group(set, arguments, job, i, error))
            return FALSE;
    }
    if (!g_str_equal(cli_text(arguments, "on-failure"), "replan"))
        return TRUE;
    IfmPlanQuestion question = plan_ground_at(&set->ground, g_array_index(job->sizes, IfmPlanSize, 0).nodes,
                                              g_array_index(job->sizes, IfmPlanSize, 0).edges);
    job->fallbacks = ifm_plan_fallbacks(set->ground.costs, job->plans->pdata[0], &question, error);
    return job->fallbacks != NULL;
}

/* --- all of it -------------------------------------------------------------------------------------------------------- */

static int fill_job(RunSet *set, const Arguments *arguments, RunJob *job, const IfmPlan *demo)
{
    g_autoptr(GError) error = NULL;
    const char *name = run_set_name_of_plans(set, arguments);
    for (guint i = 0; i < job->graphs->len; i++)
    {
        IfmPlan *plan =
            demo != NULL ? ifm_plan_copy(demo) : plan_for(set, job, &g_array_index(job->sizes, IfmPlanSize, i), &error);
        if (plan == NULL)
            return plan_fail(error);
        g_ptr_array_add(job->plans, plan);
        if (!run_set_resolve(set, arguments, plan, name, &error))
            return cli_fail(error);
        g_ptr_array_add(job->documents, ifm_plan_to_json(plan));
    }
    return run_set_predict(set, arguments, job, &error) ? CLI_EXIT_OK : plan_fail(error);
}

/* Whether every --device is of an alias that some plan has: another is a slip of the pen. */
static int check_devices(const RunSet *set, const Arguments *arguments)
{
    for (const char *const *text = cli_texts(arguments, "device"); *text != NULL; text++)
    {
        const char *equals = strchr(*text, '=');
        g_autofree char *alias = equals != NULL ? g_strndup(*text, (gsize)(equals - *text)) : NULL;
        gboolean known = FALSE;
        for (guint j = 0; alias != NULL && j < set->jobs->len; j++)
        {
            const RunJob *job = set->jobs->pdata[j];
            for (guint i = 0; i < job->plans->len; i++)
                known |= ifm_plan_find_device(job->plans->pdata[i], alias) >= 0;
        }
        if (alias == NULL)
            return cli_usage(cli_verb_of(arguments), "--device: \"%s\" is not ALIAS=DEVICE", *text);
        if (!known)
            return cli_usage(cli_verb_of(arguments), "--device %s: no plan to be run has a device \"%s\"", *text, alias);
    }
    return CLI_EXIT_OK;
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
    return add_stream(set, g_strdup("demo"), set->kind, size, &error) ? CLI_EXIT_OK : cli_fail(error);
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
        status = add_streams(set, arguments);
    if (status == CLI_EXIT_OK && set->ground.costs != NULL)
        status = plan_ground_measure_host(&set->ground, (const IfmPlanSize *)(const void *)set->ground.sizes->data,
                                          set->ground.sizes->len);
    for (guint i = 0; i < set->jobs->len && status == CLI_EXIT_OK; i++)
        status = fill_job(set, arguments, set->jobs->pdata[i], demo);
    return status == CLI_EXIT_OK ? check_devices(set, arguments) : status;
}
