/* A plan as a subject: what it is made of, and what is said of it. */
#include <math.h>

#include <base/fields.h>
#include <trace/trace.h>
#include <zoo/zoo.h>

#include "subject-plan-private.h"

/* --- making -------------------------------------------------------------------------------------------------------- */

static void group_free(gpointer data)
{
    IfmPlanGroup *group = data;
    ifm_pipeline_free(group->pipeline);
    ifm_pipeline_free(group->plain);
    g_free(group->no_plain);
    ifm_trace_free(group->trace);
    ifm_plan_free(group->plan);
    g_array_unref(group->batches);
    g_free(group->aliases);
    g_free(group->last);
    g_free(group->stopped);
    g_free(group);
}

static IfmPlanGroup *group_for(IfmPlanSubject *self, const IfmPlan *plan)
{
    for (guint i = 0; i < self->groups->len; i++)
    {
        IfmPlanGroup *group = self->groups->pdata[i];
        if (ifm_plan_same_shape(group->plan, plan))
            return group;
    }
    IfmPlanGroup *group = g_new0(IfmPlanGroup, 1);
    group->plan = ifm_plan_copy(plan);
    group->batches = g_array_new(FALSE, FALSE, sizeof(IfmBatch));
    group->subject = self;
    group->aliases = ifm_plan_aliases_from(plan, 0);
    group->last = ifm_plan_aliases_from(plan, plan->blocks->len - 1);
    g_ptr_array_add(self->groups, group);
    return group;
}

static gboolean same_ratios(const IfmPlan *plan, const double *ratios)
{
    for (guint b = 0; b < plan->blocks->len; b++)
    {
        const IfmPlanBlock *block = &g_array_index(plan->blocks, IfmPlanBlock, b);
        for (gsize d = 0; d < block->n_devices; d++)
            if (block->ratios[d] != *ratios++)
                return FALSE;
    }
    return TRUE;
}

static void group_batches(IfmPlanSubject *self)
{
    for (gsize i = 0; i < self->task->plan_case->n_batches; i++)
    {
        IfmBatch batch;
        ifm_plan_batches_get(self->batches, i, &batch);
        const IfmPlanItem *item = &self->task->items[GPOINTER_TO_SIZE(batch.user)];
        IfmPlanGroup *group = group_for(self, self->task->plans->pdata[item->graph]);
        if (same_ratios(group->plan, batch.ratios))
            batch.ratios = NULL;
        g_array_append_val(group->batches, batch);
        group->most_nodes = MAX(group->most_nodes, batch.nodes);
        group->max_edges = MAX(group->max_edges, batch.edges);
    }
}

static void add_solo(IfmPlanSubject *self, const IfmPlanDevice *device)
{
    if (device->device != NULL && self->n_devices < IFM_PLAN_MAX_DEVICES &&
        ifm_plan_subject_solo(self, device->alias) == NULL)
        self->solos[self->n_devices++].device = device;
}

/* Those of the plans' blocks, in the order they come; for a bound also those that the plans list and leave idle: with them
 * the best plan can be worse than what the machine makes. */
static void find_devices(IfmPlanSubject *self)
{
    for (guint g = 0; g < self->groups->len; g++)
    {
        const IfmPlanGroup *group = self->groups->pdata[g];
        for (guint b = 0; b < group->plan->blocks->len; b++)
        {
            const IfmPlanBlock *block = &g_array_index(group->plan->blocks, IfmPlanBlock, b);
            for (gsize d = 0; d < block->n_devices; d++)
                add_solo(self, group->plan->devices->pdata[block->devices[d]]);
        }
    }
    self->n_in_blocks = self->n_devices;
    for (guint g = 0; self->task->plan_case->bound && g < self->groups->len; g++)
    {
        const IfmPlanGroup *group = self->groups->pdata[g];
        for (guint i = 0; i < group->plan->devices->len; i++)
            add_solo(self, group->plan->devices->pdata[i]);
    }
}

IfmPlanSubject *ifm_plan_subject_new(const IfmPlanTask *task, IfmClock *clock, const IfmPlanWatch *watch, GError **error)
{
    g_autoptr(IfmPlanBatches) batches = ifm_plan_batches_new(task, error);
    if (batches == NULL)
        return NULL;
    IfmPlanSubject *self = g_new0(IfmPlanSubject, 1);
    self->task = task;
    self->clock = clock;
    self->watch = *watch;
    self->slow_down = NAN;
    self->batches = g_steal_pointer(&batches);
    self->groups = g_ptr_array_new_with_free_func(group_free);
    self->repetitions = g_array_new(FALSE, FALSE, sizeof(IfmPlanRepetition));
    g_array_set_clear_func(self->repetitions, (GDestroyNotify)ifm_plan_repetition_clear);
    self->counted = ifm_plan_counted_new();
    self->replans = g_ptr_array_new_with_free_func(g_free);
    self->staged = ifm_staged_find(((const IfmPlan *)task->plans->pdata[0])->model, NULL);
    group_batches(self);
    find_devices(self);
    return self;
}

void ifm_plan_subject_free(IfmPlanSubject *self)
{
    if (self == NULL || self->stuck)
        return;
    for (gsize d = 0; d < self->n_devices; d++)
    {
        ifm_pipeline_free(self->solos[d].pipeline);
        g_free(self->solos[d].why);
    }
    g_ptr_array_unref(self->groups);
    ifm_plan_batches_free(self->batches);
    g_array_unref(self->repetitions);
    g_ptr_array_unref(self->counted);
    g_ptr_array_unref(self->replans);
    g_free(self->doing);
    g_free(self);
}

/* --- what is said of it -------------------------------------------------------------------------------------------- */

gsize ifm_plan_subject_n_repetitions(const IfmPlanSubject *self)
{
    return self->repetitions->len;
}

/* Of the first of the plans. */
static json_t *describe_counted(const IfmPlanSubject *self)
{
    const IfmPlanGroup *first = self->groups->pdata[0];
    return ifm_plan_counted_to_json(self->counted, first->no_plain);
}

/* As far as it is known: of those that were sampled, or of all, compared with the same uncounted. */
static json_t *slow_down_of(const IfmPlanSubject *self)
{
    if (self->task->device_time != IFM_DEVICE_TIME_ON)
        return ifm_json_real(self->slow_down);
    json_auto_t *cost = describe_counted(self);
    return json_incref(json_object_get(cost, "ratio"));
}

/* One device's rate is nothing to hold a plan of several against; why the others have none stays. */
static void drop_bound(json_t *json)
{
    g_autoptr(GString) why = g_string_new("fewer than two devices can run all stages alone");
    const char *alias;
    json_t *reason;
    json_object_foreach(json_object_get(json_object_get(json, "bound"), "left_out"), alias, reason)
    {
        g_string_append_printf(why, "; %s: %s", alias, json_string_value(reason));
    }
    json_object_set_new(json, "bound", json_null());
    json_object_set_new(json, "no_bound", ifm_json_string(why->str));
}

json_t *ifm_plan_subject_describe(const IfmPlanSubject *self)
{
    const char *aliases[IFM_PLAN_MAX_DEVICES], *why[IFM_PLAN_MAX_DEVICES];
    for (gsize d = 0; d < self->n_devices; d++)
    {
        aliases[d] = self->solos[d].device->alias;
        why[d] = self->solos[d].why;
    }
    json_t *json = ifm_plan_figures(self->repetitions, aliases, self->n_devices, ifm_plan_subject_has_bound(self), why);
    if (self->task->device_time != IFM_DEVICE_TIME_OFF)
        json_object_set_new(json, "device_time_cost", describe_counted(self));
    if (self->task->plan_case->bound && !ifm_plan_subject_has_bound(self))
        json_object_set_new(json, "no_bound", json_string("the plan has one device"));
    else if (self->task->plan_case->bound && self->repetitions->len > 0 &&
             json_object_size(json_object_get(json_object_get(json, "bound"), "together")) < 2)
        drop_bound(json);
    json_t *plans = json_array();
    for (guint g = 0; g < self->groups->len; g++)
    {
        const IfmPlanGroup *group = self->groups->pdata[g];
        g_autofree char *text = ifm_plan_to_text(group->plan);
        json_array_append_new(plans, ifm_json_string(text));
    }
    json_object_set_new(json, "plans", plans);
    return json;
}

gint64 ifm_plan_subject_makespan_ns(const IfmPlanSubject *self)
{
    guint n = self->repetitions->len;
    return n > 0 ? g_array_index(self->repetitions, IfmPlanRepetition, n - 1).makespan_ns : 0;
}

json_t *ifm_plan_subject_verification(const IfmPlanSubject *self)
{
    return ifm_plan_batches_verification(self->batches);
}

GPtrArray *ifm_plan_subject_replans(const IfmPlanSubject *self)
{
    GPtrArray *lines = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; i < self->replans->len; i++)
        g_ptr_array_add(lines, g_strdup(self->replans->pdata[i]));
    return lines;
}

GPtrArray *ifm_plan_subject_failed_devices(const IfmPlanSubject *self)
{
    GPtrArray *devices = g_ptr_array_new();
    for (gsize d = 0; d < self->n_devices; d++)
        if (self->solos[d].failed)
            g_ptr_array_add(devices, self->solos[d].device->device);
    return devices;
}

GPtrArray *ifm_plan_subject_devices(const IfmPlanSubject *self)
{
    GPtrArray *specs = g_ptr_array_new();
    for (gsize d = 0; d < self->n_devices; d++)
        if (d < self->n_in_blocks || ifm_plan_solo_has_part(&self->solos[d]))
            g_ptr_array_add(specs, (char *)self->solos[d].device->device);
    return specs;
}

static void describe_trace(const IfmPlanSubject *self, const IfmPlanGroup *group)
{
    static const char *const words[] = { "off", "on", "sampled" };
    const IfmPlanTask *task = self->task;
    json_t *meta = json_copy((json_t *)ifm_trace_meta(group->trace));
    if (json_object_get(meta, "plan") == NULL) /* else the pipeline's: another one after a device failed */
        json_object_set_new(meta, "plan", ifm_plan_to_json(group->plan));
    json_object_set_new(meta, "n_batches", json_integer(group->batches->len));
    json_object_set_new(meta, "nodes", json_integer(group->most_nodes));
    json_object_set_new(meta, "edges", json_integer(group->max_edges));
    if (group->stopped != NULL)
        json_object_set_new(meta, "stopped", ifm_json_string(group->stopped));
    json_object_set_new(meta, "clock_kind", json_string(ifm_clock_is_virtual(self->clock) ? "virtual" : "real"));
    json_object_set_new(meta, "device_time", json_string(words[task->device_time]));
    json_object_set_new(meta, "device_time_slow_down_ratio", slow_down_of(self));
    ifm_trace_set_meta(group->trace, meta);
}

gboolean ifm_plan_subject_write_trace(const IfmPlanSubject *self, GError **error)
{
    g_autoptr(GPtrArray) traces = g_ptr_array_new();
    for (guint g = 0; self->task->plan_case->trace_path != NULL && g < self->groups->len; g++)
    {
        const IfmPlanGroup *group = self->groups->pdata[g];
        if (group->trace == NULL || ifm_trace_n_events(group->trace) == 0)
            continue;
        describe_trace(self, group);
        g_ptr_array_add(traces, group->trace);
    }
    return traces->len == 0 || ifm_trace_write((const IfmTrace *const *)(void *)traces->pdata, traces->len,
                                               self->task->plan_case->trace_path, error);
}
