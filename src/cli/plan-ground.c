#include <math.h>
#include <string.h>

#include <inferometer/json.h>
#include <inferometer/nearest.h>

#include "plan-ground.h"

const char *const plan_objectives[] = { "latency", "throughput", "energy", NULL };

/* --- reading options -------------------------------------------------------------------------------------------------- */

/* One of a size's two numbers. Returns: an exit status */
static int parse_count(const Arguments *arguments, const char *text, const char *word, const char *what, gint64 most,
                       gint64 *value)
{
    const Verb *verb = cli_verb_of(arguments);
    if (strspn(word, "0123456789") != strlen(word) || strspn(word, "0") == strlen(word))
        return cli_usage(verb, "--size: \"%s\" is not NODES,EDGES, such as 5000,10000", text);
    if (!g_ascii_string_to_signed(word, 10, 1, most, value, NULL))
        return cli_usage(verb, "--size %s: %s %s; a graph has %" G_GINT64_FORMAT " at most", text, word, what, most);
    return CLI_EXIT_OK;
}

static int parse_size(const Arguments *arguments, const char *text, IfmPlanSize *size)
{
    g_auto(GStrv) words = g_strsplit(text, ",", -1);
    if (g_strv_length(words) != 2)
        return cli_usage(cli_verb_of(arguments), "--size: \"%s\" is not NODES,EDGES, such as 5000,10000", text);
    int status = parse_count(arguments, text, words[0], "nodes", IFM_GRAPH_MAX_NODES, &size->nodes);
    return status == CLI_EXIT_OK ? parse_count(arguments, text, words[1], "edges", IFM_GRAPH_MAX_EDGES, &size->edges)
                                 : status;
}

int plan_parse_sizes(const Arguments *arguments, GArray *sizes)
{
    for (const char *const *text = cli_texts(arguments, "size"); *text != NULL; text++)
    {
        IfmPlanSize size = { 0 };
        int status = parse_size(arguments, *text, &size);
        if (status != CLI_EXIT_OK)
            return status;
        for (guint i = 0; i < sizes->len; i++)
            if (g_array_index(sizes, IfmPlanSize, i).nodes == size.nodes &&
                g_array_index(sizes, IfmPlanSize, i).edges == size.edges)
                return cli_usage(cli_verb_of(arguments), "--size %s: given twice", *text);
        g_array_append_val(sizes, size);
    }
    return CLI_EXIT_OK;
}

static gboolean parse_positive(const char *text, double *value)
{
    char *end = NULL;
    if (!g_ascii_isdigit(*text) && *text != '.')
        return FALSE;
    *value = g_ascii_strtod(text, &end);
    return *end == '\0' && isfinite(*value);
}

static int parse_grid(PlanGround *ground, const Arguments *arguments)
{
    const char *text = cli_text(arguments, "grid");
    ground->grid = g_array_new(FALSE, FALSE, sizeof(double));
    g_auto(GStrv) words = text != NULL ? g_strsplit(text, ",", -1) : NULL;
    for (char **word = words; word != NULL && *word != NULL; word++)
    {
        double share;
        if (!parse_positive(*word, &share) || share <= 0 || share >= 1)
            return cli_usage(cli_verb_of(arguments),
                             "--grid: \"%s\" is not a list of shares between 0 and 1, such as "
                             "0.3,0.5,0.7",
                             text);
        g_array_append_val(ground->grid, share);
    }
    ground->question.grid = ground->grid->len > 0 ? (const double *)(const void *)ground->grid->data : NULL;
    ground->question.n_grid = ground->grid->len;
    return CLI_EXIT_OK;
}

static int parse_question(PlanGround *ground, const Arguments *arguments)
{
    const char *objective = cli_text(arguments, "objective");
    const char *const *words = ifm_objective_words();
    while (!g_str_equal(words[ground->question.objective], objective))
        ground->question.objective++;
    ground->question.max_blocks = (int)cli_integer(arguments, "max-blocks");
    int status = parse_grid(ground, arguments);
    return status != CLI_EXIT_OK ? status : plan_parse_sizes(arguments, ground->sizes);
}

/* --- devices ---------------------------------------------------------------------------------------------------------- */

/* The bit of an alias. FALSE where no device has it: those there are are named. */
static gboolean device_bit(const IfmCosts *costs, const char *option, const char *alias, guint32 *mask, GError **error)
{
    int found = ifm_costs_find_device(costs, alias);
    if (found >= 0)
    {
        *mask |= 1u << found;
        return TRUE;
    }
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (gsize d = 0; d < ifm_costs_n_devices(costs); d++)
        g_ptr_array_add(names, (char *)ifm_costs_device(costs, (int)d)->alias);
    g_ptr_array_add(names, NULL);
    g_autofree char *all = g_strjoinv(", ", (char **)names->pdata),
                    *hint = ifm_nearest_hint(alias, (const char *const *)names->pdata);
    g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "--%s: no device \"%s\" has latencies here (there are %s)%s", option,
                alias, all, hint);
    return FALSE;
}

static gboolean is_npu(const char *device)
{
    g_autoptr(IfmDeviceSpec) spec = device != NULL ? ifm_device_spec_parse(device, NULL) : NULL;
    const char *slash = spec != NULL ? strrchr(spec->unit, '/') : NULL;
    return spec != NULL && g_str_has_prefix(slash != NULL ? slash + 1 : spec->unit, "NPU");
}

/* Imported tables know devices by their aliases alone. */
static guint32 npus_of(const IfmCosts *costs)
{
    guint32 mask = 0;
    for (gsize d = 0; d < ifm_costs_n_devices(costs); d++)
    {
        const IfmCostDevice *device = ifm_costs_device(costs, (int)d);
        if (is_npu(device->device) || g_str_has_prefix(device->alias, "NPU"))
            mask |= 1u << d;
    }
    return mask;
}

/* "ALIAS=WATTS" or "ALIAS=WATTS,IDLE". (transfer full) the alias; NULL where it is neither. */
static char *parse_power(const char *text, double *active_w, double *idle_w)
{
    const char *equals = strchr(text, '=');
    g_auto(GStrv) words = equals != NULL ? g_strsplit(equals + 1, ",", -1) : NULL;
    gsize n = words != NULL ? g_strv_length(words) : 0;
    *idle_w = 0;
    if (equals == text || n < 1 || n > 2 || !parse_positive(words[0], active_w) ||
        (n == 2 && !parse_positive(words[1], idle_w)))
        return NULL;
    return g_strndup(text, (gsize)(equals - text));
}

static int check_powers(const Arguments *arguments)
{
    double active_w, idle_w;
    for (const char *const *text = cli_texts(arguments, "power"); *text != NULL; text++)
    {
        g_autofree char *alias = parse_power(*text, &active_w, &idle_w);
        if (alias == NULL)
            return cli_usage(cli_verb_of(arguments), "--power: \"%s\" is not ALIAS=WATTS or ALIAS=WATTS,IDLE", *text);
    }
    return CLI_EXIT_OK;
}

static gboolean set_power(IfmCosts *costs, const char *text, GError **error)
{
    double active_w = NAN, idle_w = NAN;
    guint32 mask = 0;
    g_autofree char *alias = parse_power(text, &active_w, &idle_w);
    if (!device_bit(costs, "power", alias, &mask, error))
        return FALSE;
    ifm_costs_set_power(costs, ifm_costs_find_device(costs, alias), active_w, idle_w);
    return TRUE;
}

static gboolean apply_devices(PlanGround *ground, const Arguments *arguments, GError **error)
{
    guint32 all = (guint32)((1ull << ifm_costs_n_devices(ground->costs)) - 1);
    for (const char *const *alias = cli_texts(arguments, "without"); *alias != NULL; alias++)
        if (!device_bit(ground->costs, "without", *alias, &ground->question.without, error))
            return FALSE;
    for (const char *const *text = cli_texts(arguments, "power"); *text != NULL; text++)
        if (!set_power(ground->costs, *text, error))
            return FALSE;
    if (cli_given(arguments, "no-npu-split"))
        ground->question.no_split = npus_of(ground->costs);
    if ((ground->question.without & all) == all)
    {
        g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "--without: no device is left to plan with");
        return FALSE;
    }
    return TRUE;
}

int plan_fail(GError *error)
{
    if (g_error_matches(error, IFM_ERROR, IFM_ERROR_UNSUPPORTED))
        error->code = IFM_ERROR_INVALID;
    return cli_fail(error);
}

/* --- the study -------------------------------------------------------------------------------------------------------- */

/* All sizes of a study that have a latency, in its order. */
static void add_sizes(PlanGround *ground)
{
    for (guint i = 0; ground->tables != NULL && i < ground->tables->rows->len; i++)
    {
        const IfmStageRow *row = ground->tables->rows->pdata[i];
        IfmPlanSize size = { row->nodes, row->edges };
        gboolean known = isnan(row->total_ns);
        for (guint s = 0; s < ground->sizes->len && !known; s++)
            known = memcmp(&g_array_index(ground->sizes, IfmPlanSize, s), &size, sizeof size) == 0;
        if (!known)
            g_array_append_val(ground->sizes, size);
    }
}

static int open_tables(PlanGround *ground, const Arguments *arguments, const char *study, IfmStoreMode mode)
{
    g_autoptr(GError) error = NULL;
    int status = study_place_find_named(&ground->place, arguments, study != NULL ? study : PLAN_STUDY);
    if (status != CLI_EXIT_OK)
        return status;
    if (!g_file_test(ground->place.store_path, G_FILE_TEST_EXISTS))
    {
        cli_complain("%s: no measurements there to plan by; \"inferometer study run %s\" makes them",
                     ground->place.store_path, study != NULL ? study : PLAN_STUDY);
        return cli_status_of(IFM_ERROR_UNAVAILABLE);
    }
    ground->store = study_place_open(&ground->place, mode, &error);
    ground->tables = ground->store != NULL ? ifm_study_tables(ground->store, &error) : NULL;
    return ground->tables != NULL ? CLI_EXIT_OK : cli_fail(error);
}

int plan_ground_init(PlanGround *ground, const Arguments *arguments, const char *study, IfmStoreMode mode)
{
    g_autoptr(GError) error = NULL;
    const char *const *use = cli_texts(arguments, "use");
    ground->sizes = g_array_new(FALSE, FALSE, sizeof(IfmPlanSize));
    int status = parse_question(ground, arguments);
    if (status != CLI_EXIT_OK || (status = check_powers(arguments)) != CLI_EXIT_OK ||
        (status = open_tables(ground, arguments, study, mode)) != CLI_EXIT_OK)
        return status;
    ground->costs = ifm_costs_from_tables(ground->tables, *use != NULL ? use : NULL, &error);
    if (ground->costs == NULL || !apply_devices(ground, arguments, &error))
        return cli_fail(error);
    if (ground->sizes->len == 0)
        add_sizes(ground);
    return CLI_EXIT_OK;
}

void plan_ground_clear(PlanGround *ground)
{
    g_clear_pointer(&ground->costs, ifm_costs_free);
    g_clear_pointer(&ground->tables, ifm_study_tables_free);
    g_clear_pointer(&ground->store, ifm_store_close);
    g_clear_pointer(&ground->sizes, g_array_unref);
    g_clear_pointer(&ground->grid, g_array_unref);
    study_place_clear(&ground->place);
}

static gboolean is_simulated(const char *device)
{
    return device != NULL && (g_str_has_prefix(device, "simulated:") || g_str_has_prefix(device, "imported:"));
}

int plan_ground_measure_host(PlanGround *ground, const IfmPlanSize *sizes, gsize n_sizes)
{
    g_autoptr(GError) error = NULL;
    gboolean any_real = FALSE;
    for (gsize d = 0; d < ifm_costs_n_devices(ground->costs); d++)
        any_real |= !is_simulated(ifm_costs_device(ground->costs, (int)d)->device);
    if (!any_real || ifm_costs_measure_host(ground->costs, sizes, n_sizes, &error))
        return CLI_EXIT_OK;
    return cli_fail(error);
}

IfmPlanQuestion plan_ground_at(const PlanGround *ground, gint64 nodes, gint64 edges)
{
    IfmPlanQuestion question = ground->question;
    question.nodes = (double)nodes;
    question.edges = (double)edges;
    return question;
}

/* --- predicting ------------------------------------------------------------------------------------------------------- */

/* Batches a second of each of the plan's devices on whole batches of its own while all of them work, as a run measures them
 * for its bound; those that cannot run all stages have none. */
static void add_bound(const IfmCosts *costs, const IfmPlan *plan, const IfmSimulateOptions *options, json_t *prediction)
{
    json_t *together = json_object();
    for (guint i = 0; i < plan->devices->len; i++)
    {
        double rate = ifm_plan_together(costs, plan, (int)i, options->sizes, options->n_sizes);
        if (isfinite(rate))
            json_object_set_new(together, ((const IfmPlanDevice *)plan->devices->pdata[i])->alias, json_real(rate));
    }
    json_object_set_new(prediction, "together", together);
}

json_t *plan_predict(const IfmCosts *costs, const IfmPlan *plan, const IfmSimulateOptions *options, IfmTrace **trace,
                     GError **error)
{
    g_auto(IfmPlanCost) cost = { 0 };
    g_auto(IfmSimulation) simulation = { 0 };
    const IfmPlanSize *first = &options->sizes[0];
    if (!ifm_plan_cost_with_sources(costs, plan, (double)first->nodes, (double)first->edges,
                                    options->sources != NULL ? (double)options->sources[0] : 0, &cost, error) ||
        !ifm_plan_simulate(costs, plan, options, &simulation, error))
        return NULL;
    json_t *prediction = ifm_prediction_to_json(plan, &cost, &simulation, options->n_batches, error);
    if (prediction == NULL)
        return NULL;
    add_bound(costs, plan, options, prediction);
    if (trace != NULL)
        *trace = g_steal_pointer(&simulation.trace);
    return prediction;
}

char *plan_size_title(const IfmPlanSize *size)
{
    return g_strdup_printf("%" G_GINT64_FORMAT " nodes, %" G_GINT64_FORMAT " edges", size->nodes, size->edges);
}

void plan_name_stream(IfmTrace *trace, const char *stream)
{
    json_t *meta = json_copy((json_t *)ifm_trace_meta(trace));
    json_object_set_new(meta, "stream", ifm_json_string(stream));
    ifm_trace_set_meta(trace, meta);
}
