/* The pipelines of a plan as a subject: the plans' own, and one for each device alone. */
#include <trace/trace.h>

#include "subject-plan-private.h"

/* What the planner put down for the devices that are left, read over the plan's own list of devices. */
static IfmPlan *read_fallback(const IfmPlan *plan, const json_t *json, GError **error)
{
    json_auto_t *object = ifm_plan_to_json(plan);
    const json_t *blocks = json_is_array(json) ? json : json_object_get(json, "plan");
    json_object_set(object, "plan", (json_t *)blocks);
    g_autoptr(IfmPlan) read = ifm_plan_from_json(object, "fallback", error);
    if (read == NULL)
        return NULL;
    g_autoptr(IfmPlan) fallback = ifm_plan_copy(plan);
    g_array_set_size(fallback->blocks, 0);
    for (guint b = 0; b < read->blocks->len; b++)
    {
        IfmPlanBlock block = g_array_index(read->blocks, IfmPlanBlock, b);
        for (gsize d = 0; d < block.n_devices; d++)
            block.devices[d] =
                ifm_plan_find_device(fallback, ((const IfmPlanDevice *)read->devices->pdata[block.devices[d]])->alias);
        ifm_plan_add_block(fallback, &block);
    }
    return g_steal_pointer(&fallback);
}

/* An IfmReplan. */
static IfmPlan *look_up_fallback(const IfmPlan *plan, guint32 lost, const GError *why, void *user)
{
    IfmPlanGroup *group = user;
    IfmPlanSubject *self = group->subject;
    g_autofree char *key = g_strdup_printf("%u", lost);
    const json_t *json = json_object_get(self->task->plan_case->fallbacks, key);
    g_autoptr(GError) error = NULL;
    IfmPlan *fallback = json != NULL && !json_is_null(json) ? read_fallback(plan, json, &error) : NULL;
    g_autofree char *text = fallback != NULL ? ifm_plan_to_text(fallback) : NULL;
    if (fallback != NULL)
    {
        g_free(group->last);
        group->last = ifm_plan_aliases_from(fallback, fallback->blocks->len - 1);
    }
    if (fallback != NULL)
        g_ptr_array_add(self->replans, g_strdup_printf("%s; from then on: %s", why->message, text));
    else
        g_ptr_array_add(self->replans, g_strdup_printf("%s; no plan for the devices that are left%s%s", why->message,
                                                       error != NULL ? ": " : "", error != NULL ? error->message : ""));
    return fallback;
}

/* An IfmCompiling; also within a run, for a static device's next size or another plan. */
static void report_compiling(int block, const char *alias, gboolean ended, void *user)
{
    const IfmPlanSubject *self = user;
    g_autofree char *what = NULL;
    if (self->doing == NULL)
        what = g_strdup_printf("block %d for %s", block, alias);
    else if (!ended)
        what = g_strdup_printf("%s, compiling block %d for %s", self->doing, block, alias);
    ifm_plan_subject_report(self, what != NULL ? what : self->doing);
}

static IfmPipelineOptions options_for(IfmPlanSubject *self)
{
    const IfmPlanTask *task = self->task;
    IfmPipelineOptions options = IFM_PIPELINE_OPTIONS_INIT;
    options.clock = self->clock;
    options.queue_depth = task->plan_case->queue_depth;
    options.block_depth = task->plan_case->block_depth;
    options.watchdog_ns = task->plan_case->watchdog_ns;
    options.cache_dir = task->plan_case->cache_dir;
    options.seed = task->plan_case->seed;
    options.sizes = task->plan_case->sizes;
    options.compiling = report_compiling;
    options.compiling_user = self;
    return options;
}

static IfmPipelineOptions options_for_group(IfmPlanSubject *self, const IfmPlanGroup *group)
{
    IfmPipelineOptions options = options_for(self);
    options.most_nodes = group->most_nodes;
    options.max_edges = group->max_edges;
    options.interrupted = self->watch.interrupted;
    return options;
}

/* What counting costs shows in comparison with the same without it. */
static void compile_plain(IfmPlanSubject *self, IfmPlanGroup *group)
{
    g_autoptr(GError) error = NULL;
    IfmPipelineOptions options = options_for_group(self, group);
    group->plain = ifm_pipeline_new(group->plan, &options, &error);
    if (group->plain == NULL)
        group->no_plain = g_strdup(error->message);
}

static gboolean compile_group(IfmPlanSubject *self, IfmPlanGroup *group, GError **error)
{
    IfmPipelineOptions options = options_for_group(self, group);
    g_autofree char *text = ifm_plan_to_text(group->plan);
    group->trace = ifm_trace_new(text);
    options.trace = group->trace;
    options.trace_batches = group->batches->len;
    options.device_time = self->task->device_time;
    if (json_is_object(self->task->plan_case->fallbacks))
    {
        options.replan = look_up_fallback;
        options.replan_user = group;
    }
    group->pipeline = ifm_pipeline_new(group->plan, &options, error);
    if (group->pipeline != NULL && self->task->device_time == IFM_DEVICE_TIME_ON)
        compile_plain(self, group);
    return group->pipeline != NULL;
}

static IfmPlan *solo_plan(const IfmPlanSubject *self, const IfmPlanDevice *device)
{
    IfmPlan *plan = ifm_plan_new(self->staged->name);
    IfmPlanBlock block = { .first = 1, .last = (int)self->staged->n_stages, .n_devices = 1, .ratios = { 1 } };
    ifm_plan_add_device(plan, device->alias, device->device, device->form);
    IfmPlanDevice *added = plan->devices->pdata[0];
    added->sizes = g_memdup2(device->sizes, device->n_sizes * sizeof *device->sizes);
    added->n_sizes = device->n_sizes;
    ifm_plan_add_block(plan, &block);
    return plan;
}

/* A device that cannot run the whole model has no rate of its own; the bound is that of the others. */
static void compile_solo(IfmPlanSubject *self, IfmPlanSolo *solo)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmPlan) plan = solo_plan(self, solo->device);
    IfmPipelineOptions options = options_for(self);
    for (guint g = 0; g < self->groups->len; g++)
    {
        const IfmPlanGroup *group = self->groups->pdata[g];
        options.most_nodes = MAX(options.most_nodes, group->most_nodes);
        options.max_edges = MAX(options.max_edges, group->max_edges);
    }
    options.interrupted = &self->stop_solos;
    solo->pipeline = ifm_pipeline_new(plan, &options, &error);
    if (solo->pipeline == NULL)
        solo->why = g_strdup(error->message);
}

gboolean ifm_plan_subject_compile(IfmPlanSubject *self, GError **error)
{
    for (guint g = 0; g < self->groups->len; g++)
        if (!compile_group(self, self->groups->pdata[g], error))
            return FALSE;
    for (gsize d = 0; ifm_plan_subject_has_bound(self) && d < self->n_devices; d++)
        compile_solo(self, &self->solos[d]);
    return TRUE;
}
