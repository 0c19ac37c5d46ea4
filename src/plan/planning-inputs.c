/* The inputs of planning from options: the tables of a study, the cost model made of them, and the sizes to plan
 * for. */
#include <math.h>
#include <string.h>

#include <base/base.h>
#include <inferometer/engine.h>
#include <study/study.h>

#include "costs-private.h"

/* --- reading options -------------------------------------------------------------------------------------------------- */

/* One of a size's two numbers. */
static gboolean parse_count(const char *text, const char *word, const char *what, gint64 maximum, gint64 *value,
                            GError **error)
{
    if (strspn(word, "0123456789") != strlen(word) || strspn(word, "0") == strlen(word))
        return ifm_error_misuse(error, "--size: \"%s\" is not NODES,EDGES, such as 5000,10000", text);
    if (!g_ascii_string_to_signed(word, 10, 1, maximum, value, NULL))
        return ifm_error_misuse(error, "--size %s: %s %s; a graph has %" G_GINT64_FORMAT " at most", text, word, what,
                                maximum);
    return TRUE;
}

static gboolean parse_size(const char *text, IfmPlanSize *size, GError **error)
{
    g_auto(GStrv) words = g_strsplit(text, ",", -1);
    if (g_strv_length(words) != 2)
        return ifm_error_misuse(error, "--size: \"%s\" is not NODES,EDGES, such as 5000,10000", text);
    return parse_count(text, words[0], "nodes", IFM_GRAPH_MAX_NODES, &size->nodes, error) &&
           parse_count(text, words[1], "edges", IFM_GRAPH_MAX_EDGES, &size->edges, error);
}

gboolean ifm_plan_sizes_add(GArray *sizes, gint64 nodes, gint64 edges)
{
    const IfmPlanSize size = { nodes, edges };
    for (guint i = 0; i < sizes->len; i++)
        if (memcmp(&g_array_index(sizes, IfmPlanSize, i), &size, sizeof size) == 0)
            return FALSE;
    g_array_append_val(sizes, size);
    return TRUE;
}

gboolean ifm_plan_parse_sizes(const char *const *texts, GArray *sizes, GError **error)
{
    for (; texts != NULL && *texts != NULL; texts++)
    {
        IfmPlanSize size = { 0 };
        if (!parse_size(*texts, &size, error))
            return FALSE;
        if (!ifm_plan_sizes_add(sizes, size.nodes, size.edges))
            return ifm_error_misuse(error, "--size %s: given twice", *texts);
    }
    return TRUE;
}

static gboolean parse_positive(const char *text, double *value)
{
    char *end = NULL;
    if (!g_ascii_isdigit(*text) && *text != '.')
        return FALSE;
    *value = g_ascii_strtod(text, &end);
    return *end == '\0' && isfinite(*value);
}

static gboolean parse_grid(IfmPlanContext *context, const char *text, GError **error)
{
    context->grid = g_array_new(FALSE, FALSE, sizeof(double));
    g_auto(GStrv) words = text != NULL ? g_strsplit(text, ",", -1) : NULL;
    for (char **word = words; word != NULL && *word != NULL; word++)
    {
        double share;
        if (!parse_positive(*word, &share) || share <= 0 || share >= 1)
            return ifm_error_misuse(error, "--grid: \"%s\" is not a list of shares between 0 and 1, such as 0.3,0.5,0.7",
                                    text);
        g_array_append_val(context->grid, share);
    }
    context->question.grid = context->grid->len > 0 ? (const double *)(const void *)context->grid->data : NULL;
    context->question.n_grid = context->grid->len;
    return TRUE;
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
    g_autofree char *known = costs_unknown_alias(costs, alias);
    return ifm_error_refuse(error, "--%s: no device \"%s\" has latencies here %s", option, alias, known);
}

static gboolean is_npu(const char *device)
{
    g_autoptr(IfmDeviceSpec) spec = device != NULL ? ifm_device_spec_parse(device, NULL) : NULL;
    const char *slash = spec != NULL ? strrchr(spec->unit, '/') : NULL;
    return spec != NULL && g_str_has_prefix(slash != NULL ? slash + 1 : spec->unit, "NPU");
}

/* Imported tables know devices by their aliases alone. */
guint32 costs_npus(const IfmCosts *costs)
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

#define MAX_WATTS 1e6

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

static gboolean check_powers(const char *const *texts, GError **error)
{
    double active_w, idle_w;
    for (; texts != NULL && *texts != NULL; texts++)
    {
        g_autofree char *alias = parse_power(*texts, &active_w, &idle_w);
        if (alias == NULL)
            return ifm_error_misuse(error, "--power: \"%s\" is not ALIAS=WATTS or ALIAS=WATTS,IDLE", *texts);
        if (active_w > MAX_WATTS || idle_w > MAX_WATTS)
            return ifm_error_misuse(error, "--power: \"%s\" is above %g W, which no device draws", *texts, MAX_WATTS);
    }
    return TRUE;
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

static gboolean apply_devices(IfmPlanContext *context, const IfmPlanSearchOptions *search, GError **error)
{
    guint32 all = (guint32)((1ull << ifm_costs_n_devices(context->costs)) - 1);
    for (const char *const *alias = search->without; alias != NULL && *alias != NULL; alias++)
        if (!device_bit(context->costs, "without", *alias, &context->question.without, error))
            return FALSE;
    for (const char *const *text = search->power; text != NULL && *text != NULL; text++)
        if (!set_power(context->costs, *text, error))
            return FALSE;
    if (search->no_npu_split)
        context->question.no_split = costs_npus(context->costs);
    return (context->question.without & all) != all || ifm_error_refuse(error, "--without: no device is left to plan with");
}

/* --- the study -------------------------------------------------------------------------------------------------------- */

/* All sizes of a study that have a latency, in its order. */
static void add_sizes(IfmPlanContext *context)
{
    for (guint i = 0; context->tables != NULL && i < context->tables->rows->len; i++)
    {
        const IfmStudyRow *row = context->tables->rows->pdata[i];
        if (row->reason == NULL)
            ifm_plan_sizes_add(context->sizes, row->nodes, row->edges);
    }
}

static gboolean open_tables(IfmPlanContext *context, const char *study, const char *folder, IfmStoreMode mode,
                            GError **error)
{
    const char *name = study != NULL ? study : IFM_PLAN_STUDY;
    if (!ifm_study_place_find(&context->place, name, folder, error))
        return FALSE;
    if (!g_file_test(context->place.store_path, G_FILE_TEST_EXISTS))
        return ifm_error_set(error, IFM_ERROR_UNAVAILABLE,
                             "%s: no measurements there to plan by; \"inferometer study run %s\" makes them",
                             context->place.store_path, name);
    context->store = ifm_study_place_open(&context->place, mode, error);
    context->tables = context->store != NULL ? ifm_study_tables(NULL, context->store, error) : NULL;
    return context->tables != NULL && ifm_study_tables_check_stages(context->tables, context->store, error);
}

gboolean ifm_plan_context_init(IfmPlanContext *context, const char *study, const char *folder, const char *const *sizes,
                               const IfmPlanSearchOptions *search, IfmStoreMode mode, GError **error)
{
    const char *const *use = search->use;
    context->sizes = g_array_new(FALSE, FALSE, sizeof(IfmPlanSize));
    context->question.objective =
        search->objective != IFM_OPTION_UNSET ? (IfmObjective)search->objective : IFM_OBJECTIVE_THROUGHPUT;
    context->question.max_blocks = (int)MAX(search->max_blocks, 0);
    if (!parse_grid(context, search->grid, error) || !ifm_plan_parse_sizes(sizes, context->sizes, error) ||
        !check_powers(search->power, error) || !open_tables(context, study, folder, mode, error))
        return FALSE;
    if (search->implausible)
        ifm_study_tables_admit(context->tables);
    context->costs = ifm_costs_from_tables(context->tables, use != NULL && *use != NULL ? use : NULL, error);
    if (context->costs == NULL || !apply_devices(context, search, error))
        return FALSE;
    if (search->by != IFM_OPTION_UNSET)
        ifm_costs_set_statistic(context->costs, (IfmCostStatistic)search->by);
    if (context->sizes->len == 0)
        add_sizes(context);
    return TRUE;
}

void ifm_plan_context_clear(IfmPlanContext *context)
{
    g_clear_pointer(&context->costs, ifm_costs_free);
    g_clear_pointer(&context->tables, ifm_study_tables_free);
    g_clear_pointer(&context->store, ifm_store_close);
    g_clear_pointer(&context->sizes, g_array_unref);
    g_clear_pointer(&context->grid, g_array_unref);
    ifm_study_place_clear(&context->place);
}

gboolean ifm_plan_context_measure_host(IfmPlanContext *context, GError **error)
{
    gboolean any_real = FALSE;
    for (gsize d = 0; d < ifm_costs_n_devices(context->costs); d++)
    {
        const char *device = ifm_costs_device(context->costs, (int)d)->device;
        any_real |= device == NULL || !(g_str_has_prefix(device, "simulated:") || g_str_has_prefix(device, "imported:"));
    }
    return !any_real || ifm_costs_measure_host(context->costs, (const IfmPlanSize *)(const void *)context->sizes->data,
                                               context->sizes->len, error);
}

IfmPlanQuestion ifm_plan_context_question(const IfmPlanContext *context, gint64 nodes, gint64 edges)
{
    IfmPlanQuestion question = context->question;
    question.nodes = (double)nodes;
    question.edges = (double)edges;
    return question;
}

char *ifm_plan_size_title(const IfmPlanSize *size)
{
    return g_strdup_printf("%" G_GINT64_FORMAT " nodes, %" G_GINT64_FORMAT " edges", size->nodes, size->edges);
}

void ifm_plan_blame_input(GError **error)
{
    if (error != NULL && g_error_matches(*error, IFM_ERROR, IFM_ERROR_UNSUPPORTED))
        (*error)->code = IFM_ERROR_INVALID;
}
