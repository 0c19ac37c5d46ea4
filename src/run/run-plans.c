/* Where a run's plans come from, and which devices stand behind their aliases. */
#include <engine/engine.h>
#include <plan/plan.h>
#include <store/store.h>
#include <string.h>

#include "run-private.h"

/* --- devices ---------------------------------------------------------------------------------------------------------- */

static const char *device_given(const IfmRunSet *set, const char *alias)
{
    gsize length = strlen(alias);
    for (const char *const *text = set->options.devices; text != NULL && *text != NULL; text++)
        if (strncmp(*text, alias, length) == 0 && (*text)[length] == '=')
            return *text + length + 1;
    return NULL;
}

/* The device as the study measured it; NULL: there is none, or no study. */
static const IfmCostDevice *device_costs(const IfmRunSet *set, const char *alias)
{
    int device = set->context.costs != NULL ? ifm_costs_find_device(set->context.costs, alias) : -1;
    return device >= 0 ? ifm_costs_device(set->context.costs, device) : NULL;
}

static const char *device_measured(const IfmRunSet *set, const char *alias)
{
    const IfmCostDevice *device = device_costs(set, alias);
    return device != NULL ? device->device : NULL;
}

/* What the options put behind an alias, else the plan, else the study. */
static const char *device_behind(const IfmRunSet *set, const IfmPlanDevice *device)
{
    const char *given = device_given(set, device->alias);
    return given != NULL ? given : device->device != NULL ? device->device : device_measured(set, device->alias);
}

static gboolean is_imported(const char *device)
{
    return device != NULL && g_str_has_prefix(device, "imported:");
}

gboolean run_plan_uses(const IfmPlan *plan, int device)
{
    for (guint b = 0; b < plan->blocks->len; b++)
    {
        const IfmPlanBlock *block = &g_array_index(plan->blocks, IfmPlanBlock, b);
        for (gsize d = 0; d < block->n_devices; d++)
            if (block->devices[d] == device)
                return TRUE;
    }
    return FALSE;
}

/* Tables that came from elsewhere say what some device took, and not which of those here it is. All that are needed are
 * named at once. */
static gboolean check_imported(const IfmRunSet *set, const IfmPlan *plan, const char *name, GError **error)
{
    g_autoptr(GString) needed = g_string_new(NULL);
    for (guint i = 0; i < plan->devices->len; i++)
    {
        const IfmPlanDevice *device = plan->devices->pdata[i];
        if (run_plan_uses(plan, (int)i) && is_imported(device_behind(set, device)))
            g_string_append_printf(needed, "%s-d %s=DEVICE", needed->len > 0 ? " " : "", device->alias);
    }
    return needed->len == 0 ||
           ifm_error_refuse(error, "%s: the study was imported, which does not say what its devices are here: %s is needed",
                            name, needed->str);
}

/* Bare blocks do not say that a device has models of fixed sizes; the study that measured it knows. */
static void take_form(const IfmRunSet *set, IfmPlanDevice *device)
{
    const IfmCostDevice *is = device_costs(set, device->alias);
    if (device->device != NULL || is == NULL || is->form != IFM_PLAN_STATIC)
        return;
    device->form = IFM_PLAN_STATIC;
    g_free(device->sizes);
    device->sizes = g_memdup2(is->sizes, is->n_sizes * sizeof *is->sizes);
    device->n_sizes = is->n_sizes;
}

static gboolean resolve_device(const IfmRunSet *set, IfmPlanDevice *device, const char *name, GError **error)
{
    const char *found = device_behind(set, device);
    if (is_imported(found)) /* one that no block uses */
    {
        g_clear_pointer(&device->device, g_free);
        return TRUE;
    }
    if (found == NULL)
        return ifm_error_refuse(error, "%s: nothing says what device \"%s\" is: --device %s=DEVICE", name, device->alias,
                                device->alias);
    g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse(found, error);
    if (spec == NULL)
    {
        g_prefix_error(error, "%s: device \"%s\": ", name, device->alias);
        return FALSE;
    }
    take_form(set, device);
    g_free(device->device);
    device->device = g_strdup(spec->text);
    return TRUE;
}

gboolean run_set_resolve(const IfmRunSet *set, IfmPlan *plan, const char *name, GError **error)
{
    if (!check_imported(set, plan, name, error))
        return FALSE;
    for (guint i = 0; i < plan->devices->len; i++)
        if (!resolve_device(set, plan->devices->pdata[i], name, error))
            return FALSE;
    if (plan->model == NULL) /* bare blocks */
        plan->model = g_strdup(set->staged->name);
    return ifm_plan_check(plan, set->staged, name, error);
}

static void note_substitute(const IfmRunSet *set, const IfmPlan *plan, int index, GHashTable *reported)
{
    const IfmPlanDevice *device = plan->devices->pdata[index];
    const char *measured = device_measured(set, device->alias);
    g_autoptr(IfmDeviceSpec) spec = measured != NULL ? ifm_device_spec_parse(measured, NULL) : NULL;
    if (measured == NULL || device->device == NULL || !run_plan_uses(plan, index) ||
        g_str_equal(device->device, spec != NULL ? spec->text : measured) || !g_hash_table_add(reported, device->alias))
        return;
    g_autofree char *line = g_strdup_printf("%s: planned and predicted by the study's figures of %s; %s is what runs",
                                            device->alias, measured, device->device);
    set->options.note(line, set->options.user);
}

/* Figures of one device that stand for another are reported, each alias once. */
void run_set_note_substitutes(const IfmRunSet *set)
{
    g_autoptr(GHashTable) reported = g_hash_table_new(g_str_hash, g_str_equal);
    if (set->options.note == NULL)
        return;
    for (guint j = 0; j < set->jobs->len; j++)
    {
        const RunJob *job = set->jobs->pdata[j];
        for (guint p = 0; p < job->plans->len; p++)
        {
            const IfmPlan *plan = job->plans->pdata[p];
            for (guint i = 0; i < plan->devices->len; i++)
                note_substitute(set, plan, (int)i, reported);
        }
    }
}

/* --- plans ------------------------------------------------------------------------------------------------------------ */

char *run_job_name_of_plan(const RunJob *job, guint graph)
{
    const IfmRunSet *set = job->set;
    const char *table = set->options.table, *file = table != NULL ? table : set->given_name;
    g_autofree char *title = ifm_plan_size_title(run_job_size(job, graph));
    if (file != NULL && (table != NULL || json_object_get(set->given, "plans") != NULL))
        return g_strdup_printf("%s: plan for %s", file, title);
    if (file != NULL)
        return g_strdup(file);
    if (set->options.demo)
        return g_strdup("the demo's plan");
    return g_strdup_printf("plan searched at %s by %s", title, ifm_store_path(set->store));
}

gboolean run_job_add_plan(RunJob *job, guint graph, IfmPlan *plan, GError **error)
{
    if (plan == NULL)
        return FALSE;
    g_autofree char *name = run_job_name_of_plan(job, graph);
    g_ptr_array_add(job->plans, plan);
    if (!run_set_resolve(job->set, plan, name, error))
        return FALSE;
    g_ptr_array_add(job->documents, ifm_plan_to_json(plan));
    return TRUE;
}

IfmPlanSize run_plan_file_size(const json_t *entry, gsize index)
{
    const json_t *pair = json_array_get(json_object_get(entry, "sizes"), index);
    return (IfmPlanSize){ json_integer_value(json_array_get(pair, 0)), json_integer_value(json_array_get(pair, 1)) };
}

const json_t *run_set_entry_for(const IfmRunSet *set, const IfmPlanSize *size, GError **error)
{
    const json_t *plans = json_object_get(set->given, "plans");
    if (plans == NULL)
        return set->given;
    for (gsize i = 0; i < json_array_size(plans); i++)
    {
        const IfmPlanSize of = run_plan_file_size(json_array_get(plans, i), 0);
        if (of.nodes == size->nodes && of.edges == size->edges)
            return json_array_get(plans, i);
    }
    ifm_error_refuse(error,
                     "%s: none of its %zu plans is for %" G_GINT64_FORMAT " nodes, %" G_GINT64_FORMAT
                     " edges; a plan table (inferometer plan --table) has one for any size",
                     set->given_name, json_array_size(plans), size->nodes, size->edges);
    return NULL;
}

static void note_origin(RunJob *job, const char *origin)
{
    if (strstr(job->origins->str, origin) == NULL)
        g_string_append_printf(job->origins, "%s%s", job->origins->len > 0 ? "; " : "", origin);
}

static IfmPlan *look_up(RunJob *job, const IfmPlanSize *size, GError **error)
{
    IfmRunSet *set = job->set;
    static const char *const reported[] = { [IFM_PLAN_EXACT] = "the table's of this very size",
                                            [IFM_PLAN_INTERPOLATED] = "between the plans of the table's neighbouring sizes",
                                            [IFM_PLAN_CHOSEN] = "the plan of a neighbouring size in the table",
                                            [IFM_PLAN_SEARCHED] = "the table has none: searched at this size" };
    IfmPlanOrigin origin = IFM_PLAN_EXACT;
    IfmPlan *plan =
        ifm_plan_table_find(set->table, set->context.costs, (double)size->nodes, (double)size->edges, &origin, error);
    g_autofree char *text = g_strdup_printf("%s (%s)", ifm_plan_origin_name(origin), reported[origin]);
    if (plan != NULL)
        note_origin(job, text);
    return plan;
}

IfmPlan *run_job_plan_for(RunJob *job, guint graph, GError **error)
{
    const IfmRunSet *set = job->set;
    const IfmPlanSize *size = run_job_size(job, graph);
    if (set->table != NULL)
        return look_up(job, size, error);
    if (set->given != NULL)
    {
        const json_t *entry = run_set_entry_for(set, size, error);
        return entry != NULL ? ifm_plan_from_json(entry, set->given_name, error) : NULL;
    }
    g_auto(IfmPlanAnswer) answer = { 0 };
    const IfmPlanQuestion question = run_job_question(job, graph);
    const IfmSimulateOptions simulate = run_job_stream(job, graph);
    note_origin(job, "searched at this size");
    if (ifm_plan_search(set->context.costs, &question, &answer, error) &&
        ifm_plan_settle(set->context.costs, question.objective, &simulate, &answer, error))
    {
        job->searched = TRUE;
        job->plan_spread = question.objective == IFM_OBJECTIVE_LATENCY ? answer.best.cost.latency_spread_ratio
                                                                       : answer.best.forecast.spread_ratio;
        return g_steal_pointer(&answer.plan);
    }
    g_autofree char *title = ifm_plan_size_title(size);
    g_prefix_error(error, "%s: %s: ", ifm_store_path(set->store), title);
    return NULL;
}

static gboolean is_alias_of_a_plan(const IfmRunSet *set, const char *alias)
{
    for (guint j = 0; j < set->jobs->len; j++)
    {
        const RunJob *job = set->jobs->pdata[j];
        for (guint i = 0; i < job->plans->len; i++)
            if (ifm_plan_find_device(job->plans->pdata[i], alias) >= 0)
                return TRUE;
    }
    return FALSE;
}

gboolean run_set_check_devices(const IfmRunSet *set, GError **error)
{
    for (const char *const *text = set->options.devices; text != NULL && *text != NULL; text++)
    {
        const char *equals = strchr(*text, '=');
        g_autofree char *alias = equals != NULL ? g_strndup(*text, (gsize)(equals - *text)) : NULL;
        if (alias == NULL)
            return ifm_error_refuse(error, "--device: \"%s\" is not ALIAS=DEVICE", *text);
        if (!ifm_alias_check(alias, error))
        {
            g_prefix_error(error, "--device %s: ", *text);
            return FALSE;
        }
        if (!is_alias_of_a_plan(set, alias))
            return ifm_error_misuse(error, "--device %s: no plan to be run has a device \"%s\"", *text, alias);
    }
    return TRUE;
}
