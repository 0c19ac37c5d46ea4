/* A plan as a subject: its pipelines, those of its devices alone, and one repetition after the other. */
#include <math.h>
#include <string.h>

#include <inferometer/json.h>

#include "measure-private.h"

/* Of the bound: a rate needs fewer batches than a plan's run, but for a start. */
#define BOUND_SHARE 4
#define BOUND_LEAST 10
/* … and a device that is faster than another has that many times as many at most, so that both are at it till the end. */
#define MOST_TIMES 100

/* Graphs whose plans differ in their ratios alone: one pipeline, each batch with ratios of its own. */
typedef struct
{
    IfmPlan *plan;
    IfmPipeline *pipeline;
    IfmTrace *trace;
    GArray *batches; /* IfmBatch */
    gint64 most_nodes, most_edges;
    IfmPlanSubject *subject;
    char *aliases; /* of the plan's blocks: "CPU, GPU" */
    char *last;    /* devices of the block that hands out, of the plan it now goes by: "CPU, GPU" */
    char *stopped; /* why its last run ended early; NULL: it did not */
} Group;

/* One device with all stages on it: what it does alone. */
typedef struct
{
    const IfmPlanDevice *device; /* of one of the plans */
    IfmPipeline *pipeline;       /* NULL: see why */
    char *why;
    double rate;     /* alone, as last seen; 0: not yet */
    gboolean failed; /* in the plan's run */
} Solo;

struct IfmPlanSubject
{
    const IfmPlanTask *task;
    IfmClock *clock;
    IfmPlanWatch watch;
    const IfmStagedModel *staged;
    IfmPlanBatches *batches;
    GPtrArray *groups; /* Group* */
    Solo solos[IFM_PLAN_MAX_DEVICES];
    gsize n_devices, n_in_blocks; /* those of blocks come first; the others have a part in the bound alone */
    GArray *repetitions;          /* IfmPlanRepetition */
    GPtrArray *counted;           /* see plan-counted.c */
    GPtrArray *replans;           /* char* */
    gint stop_solos;              /* atomic */
    gint n_delivered;             /* atomic */
    gsize turn;                   /* which of a repetition's parts comes first */
    double slow_down;
    gboolean stuck; /* a device never answered: its thread is in there still */
    char *doing;    /* what runs now; NULL: nothing does yet */
};

/* Who verifies a run's outputs, and how. */
typedef struct
{
    IfmPlanSubject *self;
    gboolean verify, timed;
    const char *const *devices; /* that hand out: "CPU, GPU" */
} Delivery;

/* --- making -------------------------------------------------------------------------------------------------------- */

static void group_free(gpointer data)
{
    Group *group = data;
    ifm_pipeline_free(group->pipeline);
    ifm_trace_free(group->trace);
    ifm_plan_free(group->plan);
    g_array_unref(group->batches);
    g_free(group->aliases);
    g_free(group->last);
    g_free(group->stopped);
    g_free(group);
}

/* "CPU, GPU": those of blocks @first to the last, each once. (transfer full) */
static char *aliases_from(const IfmPlan *plan, guint first)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (guint b = first; b < plan->blocks->len; b++)
    {
        const IfmPlanBlock *block = &g_array_index(plan->blocks, IfmPlanBlock, b);
        for (gsize d = 0; d < block->n_devices; d++)
            g_ptr_array_add(names, ((const IfmPlanDevice *)plan->devices->pdata[block->devices[d]])->alias);
    }
    g_ptr_array_add(names, NULL);
    return g_strjoinv(", ", (char **)names->pdata);
}

static Group *group_for(IfmPlanSubject *self, const IfmPlan *plan)
{
    for (guint i = 0; i < self->groups->len; i++)
    {
        Group *group = self->groups->pdata[i];
        if (ifm_plan_same_shape(group->plan, plan))
            return group;
    }
    Group *group = g_new0(Group, 1);
    group->plan = ifm_plan_copy(plan);
    group->batches = g_array_new(FALSE, FALSE, sizeof(IfmBatch));
    group->subject = self;
    group->aliases = aliases_from(plan, 0);
    group->last = aliases_from(plan, plan->blocks->len - 1);
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
    for (gsize i = 0; i < self->task->n_batches; i++)
    {
        IfmBatch batch;
        ifm_plan_batches_get(self->batches, i, &batch);
        const IfmPlanItem *item = &g_array_index(self->task->items, IfmPlanItem, GPOINTER_TO_SIZE(batch.user));
        Group *group = group_for(self, self->task->plans->pdata[item->graph]);
        if (same_ratios(group->plan, batch.ratios))
            batch.ratios = NULL;
        g_array_append_val(group->batches, batch);
        group->most_nodes = MAX(group->most_nodes, batch.nodes);
        group->most_edges = MAX(group->most_edges, batch.edges);
    }
}

static Solo *solo_of(IfmPlanSubject *self, const char *alias)
{
    for (gsize d = 0; d < self->n_devices; d++)
        if (g_str_equal(self->solos[d].device->alias, alias))
            return &self->solos[d];
    return NULL;
}

static void add_solo(IfmPlanSubject *self, const IfmPlanDevice *device)
{
    if (device->device != NULL && self->n_devices < IFM_PLAN_MAX_DEVICES && solo_of(self, device->alias) == NULL)
        self->solos[self->n_devices++].device = device;
}

/* Those of the plans' blocks, in the order they come; for a bound also those that the plans list and leave idle: with them
 * the best plan can be worse than what the machine makes. */
static void find_devices(IfmPlanSubject *self)
{
    for (guint g = 0; g < self->groups->len; g++)
    {
        const Group *group = self->groups->pdata[g];
        for (guint b = 0; b < group->plan->blocks->len; b++)
        {
            const IfmPlanBlock *block = &g_array_index(group->plan->blocks, IfmPlanBlock, b);
            for (gsize d = 0; d < block->n_devices; d++)
                add_solo(self, group->plan->devices->pdata[block->devices[d]]);
        }
    }
    self->n_in_blocks = self->n_devices;
    for (guint g = 0; self->task->bound && g < self->groups->len; g++)
    {
        const Group *group = self->groups->pdata[g];
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

/* --- compiling ----------------------------------------------------------------------------------------------------- */

/* One device cannot do better than itself. */
static gboolean has_bound(const IfmPlanSubject *self)
{
    return self->task->bound && self->n_devices > 1;
}

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
    Group *group = user;
    IfmPlanSubject *self = group->subject;
    g_autofree char *key = g_strdup_printf("%u", lost);
    const json_t *json = json_object_get(self->task->fallbacks, key);
    g_autoptr(GError) error = NULL;
    IfmPlan *fallback = json != NULL && !json_is_null(json) ? read_fallback(plan, json, &error) : NULL;
    g_autofree char *text = fallback != NULL ? ifm_plan_to_text(fallback) : NULL;
    if (fallback != NULL)
    {
        g_free(group->last);
        group->last = aliases_from(fallback, fallback->blocks->len - 1);
    }
    if (fallback != NULL)
        g_ptr_array_add(self->replans, g_strdup_printf("%s; from then on: %s", why->message, text));
    else
        g_ptr_array_add(self->replans, g_strdup_printf("%s; no plan for the devices that are left%s%s", why->message,
                                                       error != NULL ? ": " : "", error != NULL ? error->message : ""));
    return fallback;
}

static void tell(const IfmPlanSubject *self, const char *what)
{
    if (self->watch.doing != NULL)
        self->watch.doing(what, self->watch.user);
}

/* An IfmCompiling; also within a run, for a static device's next size or another plan. */
static void tell_compiling(int block, const char *alias, gboolean ended, void *user)
{
    const IfmPlanSubject *self = user;
    g_autofree char *what = NULL;
    if (self->doing == NULL)
        what = g_strdup_printf("block %d for %s", block, alias);
    else if (!ended)
        what = g_strdup_printf("%s, compiling block %d for %s", self->doing, block, alias);
    tell(self, what != NULL ? what : self->doing);
}

/* @what: (transfer full) what runs from now on */
static void set_doing(IfmPlanSubject *self, char *what)
{
    g_free(self->doing);
    self->doing = what;
    tell(self, what);
}

static IfmPipelineOptions options_for(IfmPlanSubject *self)
{
    const IfmPlanTask *task = self->task;
    IfmPipelineOptions options = IFM_PIPELINE_OPTIONS_INIT;
    options.clock = self->clock;
    options.queue_depth = task->queue_depth;
    options.block_depth = task->block_depth;
    options.watchdog_ns = task->watchdog_ns;
    options.cache_dir = task->cache_dir;
    options.seed = task->seed;
    options.sizes = task->sizes;
    options.compiling = tell_compiling;
    options.compiling_user = self;
    return options;
}

static gboolean compile_group(IfmPlanSubject *self, Group *group, GError **error)
{
    IfmPipelineOptions options = options_for(self);
    g_autofree char *text = ifm_plan_to_text(group->plan);
    group->trace = ifm_trace_new(text);
    options.trace = group->trace;
    options.trace_batches = group->batches->len;
    options.most_nodes = group->most_nodes;
    options.most_edges = group->most_edges;
    options.device_time = self->task->device_time;
    options.interrupted = self->watch.interrupted;
    if (json_is_object(self->task->fallbacks))
    {
        options.replan = look_up_fallback;
        options.replan_user = group;
    }
    group->pipeline = ifm_pipeline_new(group->plan, &options, error);
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
static void compile_solo(IfmPlanSubject *self, Solo *solo)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmPlan) plan = solo_plan(self, solo->device);
    IfmPipelineOptions options = options_for(self);
    for (guint g = 0; g < self->groups->len; g++)
    {
        const Group *group = self->groups->pdata[g];
        options.most_nodes = MAX(options.most_nodes, group->most_nodes);
        options.most_edges = MAX(options.most_edges, group->most_edges);
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
    for (gsize d = 0; has_bound(self) && d < self->n_devices; d++)
        compile_solo(self, &self->solos[d]);
    return TRUE;
}

/* --- running ------------------------------------------------------------------------------------------------------- */

static gboolean is_interrupted(const IfmPlanSubject *self)
{
    return self->watch.interrupted != NULL && g_atomic_int_get(self->watch.interrupted) != 0;
}

/* An IfmDelivered. */
static void delivered(const IfmBatch *batch, const IfmTensor *outputs, const GError *error, void *user)
{
    const Delivery *delivery = user;
    IfmPlanSubject *self = delivery->self;
    gint n = g_atomic_int_add(&self->n_delivered, 1) + 1;
    if (is_interrupted(self))
        g_atomic_int_set(&self->stop_solos, 1);
    if (delivery->verify && error == NULL)
        ifm_plan_batches_verify(self->batches, batch, outputs, *delivery->devices, delivery->timed);
    if (self->watch.delivered != NULL)
        self->watch.delivered((gsize)n, self->watch.user);
}

static void note_lost(IfmPlanSubject *self, const IfmPipelineResult *result)
{
    for (guint i = 0; result->plan != NULL && i < result->plan->devices->len; i++)
    {
        Solo *solo = solo_of(self, ((const IfmPlanDevice *)result->plan->devices->pdata[i])->alias);
        if ((result->lost & (1u << i)) != 0 && solo != NULL)
            solo->failed = TRUE;
    }
}

/* What came of a run, also where it failed. */
static gboolean settle(IfmPlanSubject *self, gboolean ran, GError *failure /* (transfer full) */, GError **error)
{
    const GError *wrong = ifm_plan_batches_failure(self->batches);
    self->stuck |= g_error_matches(failure, IFM_ERROR, IFM_ERROR_TIMEOUT);
    if (!ran)
        g_propagate_error(error, failure);
    else if (wrong != NULL)
        g_propagate_error(error, g_error_copy(wrong));
    return ran && wrong == NULL;
}

static gboolean run_group(IfmPlanSubject *self, gsize index, IfmPlanRepetition *repetition, GArray *samples, GError **error)
{
    Group *group = self->groups->pdata[index];
    Delivery delivery = { self, TRUE, repetition != NULL, (const char *const *)&group->last };
    g_auto(IfmPipelineResult) result = { 0 };
    GError *failure = NULL;
    ifm_trace_forget_events(group->trace);
    set_doing(self, g_strconcat("on ", group->aliases, NULL));
    gboolean ran = ifm_pipeline_run(group->pipeline, (const IfmBatch *)(const void *)group->batches->data,
                                    group->batches->len, delivered, &delivery, &result, &failure);
    note_lost(self, &result);
    if (!isnan(result.device_time_slow_down))
        self->slow_down = result.device_time_slow_down;
    if (ran && repetition != NULL)
    {
        ifm_plan_repetition_add(repetition, index, &result, samples);
        ifm_plan_counted_add(self->counted, index, &result);
    }
    else if (ran || g_error_matches(failure, IFM_ERROR, IFM_ERROR_CANCELLED))
        ifm_plan_gaps(&result, samples);
    g_autoptr(GError) local = NULL;
    gboolean well = settle(self, ran, failure, &local);
    g_free(group->stopped);
    group->stopped = local != NULL ? g_strdup(local->message) : NULL;
    if (!well)
        g_propagate_error(error, g_steal_pointer(&local));
    return well;
}

static gboolean run_plan(IfmPlanSubject *self, IfmPlanRepetition *repetition, GArray *samples, GError **error)
{
    for (guint g = 0; g < self->groups->len; g++)
        if (!run_group(self, g, repetition, samples, error))
            return FALSE;
    return TRUE;
}

/* --- the bound ----------------------------------------------------------------------------------------------------- */

/* @times: so many times as many as one device alone is given */
static GArray *solo_batches(const IfmPlanSubject *self, double times)
{
    gsize n = MAX(MIN(self->task->n_batches, BOUND_LEAST), self->task->n_batches / BOUND_SHARE);
    n = (gsize)ceil((double)n * CLAMP(times, 1, MOST_TIMES));
    GArray *batches = g_array_sized_new(FALSE, FALSE, sizeof(IfmBatch), (guint)n);
    for (gsize i = 0; i < n; i++)
    {
        IfmBatch batch;
        ifm_plan_batches_get(self->batches, i, &batch);
        batch.ratios = NULL;
        g_array_append_val(batches, batch);
    }
    return batches;
}

static gboolean has_part(const Solo *solo)
{
    return solo->pipeline != NULL && solo->why == NULL && !solo->failed;
}

/* A device that fails by itself has no part in the bound any more; one that never answers ends the case. */
static gboolean settle_solo(IfmPlanSubject *self, Solo *solo, GError *failure /* (transfer full) */, GError **error)
{
    gboolean stuck = g_error_matches(failure, IFM_ERROR, IFM_ERROR_TIMEOUT);
    if (stuck || (g_error_matches(failure, IFM_ERROR, IFM_ERROR_CANCELLED) && is_interrupted(self)))
    {
        self->stuck |= stuck;
        g_propagate_prefixed_error(error, failure, "%s alone: ", solo->device->alias);
        return FALSE;
    }
    solo->why = g_strdup(failure->message);
    g_error_free(failure);
    return TRUE;
}

static gboolean run_solo(IfmPlanSubject *self, gsize device, IfmPlanRepetition *repetition, GError **error)
{
    Solo *solo = &self->solos[device];
    Delivery delivery = { self, repetition == NULL, FALSE, (const char *const *)&solo->device->alias };
    g_autoptr(GArray) batches = solo_batches(self, 1);
    g_auto(IfmPipelineResult) result = { 0 };
    GError *failure = NULL;
    if (!has_part(solo))
        return TRUE;
    g_atomic_int_set(&self->stop_solos, 0);
    set_doing(self, g_strdup_printf("on %s alone", solo->device->alias));
    gboolean ran = ifm_pipeline_run(solo->pipeline, (const IfmBatch *)(const void *)batches->data, batches->len, delivered,
                                    &delivery, &result, &failure);
    if (!ran)
        return settle_solo(self, solo, failure, error);
    IfmPlanRate rate = { 0 };
    ifm_plan_rate_add(&rate, &result, IFM_CLOCK_NEVER);
    if (!isnan(ifm_plan_rate(&rate)))
        solo->rate = ifm_plan_rate(&rate);
    if (repetition != NULL)
        repetition->solo[device] = ifm_plan_rate(&rate);
    return settle(self, TRUE, NULL, error);
}

typedef struct
{
    IfmPlanSubject *self;
    Solo *solo;
    GArray *batches;
    IfmPipelineResult result;
    GError *failure;
    gboolean ran;
    pthread_t thread;
} Lane;

/* The first to end stops the others: from then on they would not all be at it. */
static void *lane_main(void *data)
{
    Lane *lane = data;
    Delivery delivery = { lane->self, FALSE, FALSE, NULL };
    lane->ran = ifm_pipeline_run(lane->solo->pipeline, (const IfmBatch *)(const void *)lane->batches->data,
                                 lane->batches->len, delivered, &delivery, &lane->result, &lane->failure);
    g_atomic_int_set(&lane->self->stop_solos, 1);
    ifm_clock_leave(lane->self->clock);
    return NULL;
}

static void run_lanes(IfmPlanSubject *self, Lane *lanes, gsize n)
{
    g_atomic_int_set(&self->stop_solos, 0);
    for (gsize i = 0; i < n; i++)
    {
        ifm_clock_enter(self->clock); /* for the thread, before it runs */
        if (pthread_create(&lanes[i].thread, NULL, lane_main, &lanes[i]) != 0)
            g_error("no thread for %s", lanes[i].solo->device->alias);
    }
    ifm_clock_leave(self->clock); /* a join is no wait of the clock's */
    for (gsize i = 0; i < n; i++)
        pthread_join(lanes[i].thread, NULL);
    ifm_clock_enter(self->clock);
}

/* When the first of them had its last batch out; IFM_CLOCK_NEVER where none came that far. */
static gint64 end_of_first(const Lane *lanes, gsize n)
{
    gint64 until_ns = IFM_CLOCK_NEVER;
    for (gsize i = 0; i < n; i++)
        if (lanes[i].ran)
            until_ns = MIN(until_ns, lanes[i].result.end_ns);
    return until_ns;
}

/* Of one that had fewer than two out by then: what it had, since it began. */
static double rate_until(const IfmPipelineResult *result, gint64 until_ns)
{
    IfmPlanRate rate = { 0 };
    gsize n = 0;
    ifm_plan_rate_add(&rate, result, until_ns);
    for (gsize i = 0; i < result->n_batches; i++)
        n += result->left_ns[i] >= 0 && result->left_ns[i] <= until_ns;
    return rate.n > 0 ? ifm_plan_rate(&rate) : (double)n * 1e9 / (double)MAX(until_ns - result->start_ns, 1);
}

static gboolean settle_lanes(IfmPlanSubject *self, Lane *lanes, gsize n, IfmPlanRepetition *repetition, GError **error)
{
    gint64 until_ns = end_of_first(lanes, n);
    gboolean well = until_ns != IFM_CLOCK_NEVER, go_on = TRUE;
    for (gsize i = 0; i < n; i++)
    {
        gboolean stopped = g_error_matches(lanes[i].failure, IFM_ERROR, IFM_ERROR_CANCELLED) && !is_interrupted(self);
        well = well && (lanes[i].ran || stopped);
        if (lanes[i].ran || stopped)
            g_clear_error(&lanes[i].failure);
        else if (go_on)
            go_on = settle_solo(self, lanes[i].solo, g_steal_pointer(&lanes[i].failure), error);
        else
            g_clear_error(&lanes[i].failure);
    }
    for (gsize i = 0; well && repetition != NULL && i < n; i++)
    {
        repetition->together[lanes[i].solo - self->solos] = rate_until(&lanes[i].result, until_ns);
    }
    return go_on;
}

static gboolean run_together(IfmPlanSubject *self, IfmPlanRepetition *repetition, GError **error)
{
    Lane lanes[IFM_PLAN_MAX_DEVICES] = { 0 };
    double least = INFINITY;
    gsize n = 0;
    for (gsize d = 0; d < self->n_devices; d++)
        if (has_part(&self->solos[d]))
            least = MIN(least, self->solos[d].rate);
    for (gsize d = 0; d < self->n_devices; d++)
        if (has_part(&self->solos[d]))
            lanes[n++] = (Lane){ .self = self,
                                 .solo = &self->solos[d],
                                 .batches = solo_batches(self, least > 0 ? self->solos[d].rate / least : 1) };
    g_autoptr(GString) names = g_string_new("on ");
    for (gsize i = 0; i < n; i++)
        g_string_append_printf(names, "%s%s", i > 0 ? ", " : "", lanes[i].solo->device->alias);
    set_doing(self, g_strconcat(names->str, " at once, each alone", NULL));
    run_lanes(self, lanes, n);
    gboolean go_on = settle_lanes(self, lanes, n, repetition, error);
    for (gsize i = 0; i < n; i++)
    {
        ifm_pipeline_result_clear(&lanes[i].result);
        g_array_unref(lanes[i].batches);
    }
    return go_on;
}

/* --- repetitions --------------------------------------------------------------------------------------------------- */

/* Its parts: first each device alone, then all at once, then the plan. */
static gboolean run_part(IfmPlanSubject *self, gsize part, IfmPlanRepetition *repetition, GArray *samples, GError **error)
{
    gsize n_solos = has_bound(self) ? self->n_devices : 0;
    return part < n_solos                       ? run_solo(self, part, repetition, error)
           : part == n_solos && has_bound(self) ? run_together(self, repetition, error)
                                                : run_plan(self, repetition, samples, error);
}

gboolean ifm_plan_subject_repeat(IfmPlanSubject *self, gboolean warm_up, GArray *samples, GError **error)
{
    IfmPlanRepetition repetition;
    gsize n_parts = has_bound(self) ? self->n_devices + 2 : 1;
    ifm_plan_repetition_init(&repetition);
    gboolean ran = TRUE;
    for (gsize i = 0; ran && i < n_parts; i++)
        ran = run_part(self, (self->turn + i) % n_parts, warm_up ? NULL : &repetition, samples, error);
    self->turn++; /* so that none is always the first, or after the same one's heat */
    if (ran && !warm_up)
        g_array_append_val(self->repetitions, repetition);
    else
        ifm_plan_repetition_clear(&repetition);
    return ran;
}

/* --- what is said of it -------------------------------------------------------------------------------------------- */

gsize ifm_plan_subject_n_repetitions(const IfmPlanSubject *self)
{
    return self->repetitions->len;
}

json_t *ifm_plan_subject_describe(const IfmPlanSubject *self)
{
    const char *aliases[IFM_PLAN_MAX_DEVICES], *why[IFM_PLAN_MAX_DEVICES];
    for (gsize d = 0; d < self->n_devices; d++)
    {
        aliases[d] = self->solos[d].device->alias;
        why[d] = self->solos[d].why;
    }
    json_t *json = ifm_plan_figures(self->repetitions, aliases, self->n_devices, has_bound(self), why);
    if (self->task->device_time != IFM_DEVICE_TIME_OFF)
        json_object_set_new(json, "device_time_cost", ifm_plan_counted_to_json(self->counted));
    if (self->task->bound && !has_bound(self))
        json_object_set_new(json, "no_bound", json_string("the plan has one device"));
    json_t *plans = json_array();
    for (guint g = 0; g < self->groups->len; g++)
    {
        const Group *group = self->groups->pdata[g];
        g_autofree char *text = ifm_plan_to_text(group->plan);
        json_array_append_new(plans, ifm_json_string(text));
    }
    json_object_set_new(json, "plans", plans);
    return json;
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
        if (d < self->n_in_blocks || has_part(&self->solos[d]))
            g_ptr_array_add(specs, (char *)self->solos[d].device->device);
    return specs;
}

static void describe_trace(const IfmPlanSubject *self, const Group *group)
{
    static const char *const words[] = { "off", "on", "sampled" };
    const IfmPlanTask *task = self->task;
    json_t *meta = json_copy((json_t *)ifm_trace_meta(group->trace));
    json_object_set_new(meta, "plan", ifm_plan_to_json(group->plan));
    json_object_set_new(meta, "n_batches", json_integer(group->batches->len));
    json_object_set_new(meta, "nodes", json_integer(group->most_nodes));
    json_object_set_new(meta, "edges", json_integer(group->most_edges));
    if (group->stopped != NULL)
        json_object_set_new(meta, "stopped", ifm_json_string(group->stopped));
    json_object_set_new(meta, "clock_kind", json_string(ifm_clock_is_virtual(self->clock) ? "virtual" : "real"));
    json_object_set_new(meta, "device_time", json_string(words[task->device_time]));
    json_object_set_new(meta, "device_time_slow_down_ratio", ifm_json_real(self->slow_down));
    ifm_trace_set_meta(group->trace, meta);
}

gboolean ifm_plan_subject_write_trace(const IfmPlanSubject *self, GError **error)
{
    g_autoptr(GPtrArray) traces = g_ptr_array_new();
    for (guint g = 0; self->task->trace_path != NULL && g < self->groups->len; g++)
    {
        const Group *group = self->groups->pdata[g];
        if (group->trace == NULL || ifm_trace_n_events(group->trace) == 0)
            continue;
        describe_trace(self, group);
        g_ptr_array_add(traces, group->trace);
    }
    return traces->len == 0 ||
           ifm_trace_write((const IfmTrace *const *)(void *)traces->pdata, traces->len, self->task->trace_path, error);
}
