/* A region of a graph: a program with its constants, runs for the sizes that are asked for, and how they run. */
#include "region-private.h"

#include <stdlib.h>
#include <string.h>

/* Runs that are kept for the next caller: one of each of the last sizes; more of them, for several callers at once, and of
 * older sizes, as long as all together own no more than so many bytes. */
#define RECENT_SIZES 8
#define MOST_IDLE 16
#define IDLE_BYTES ((size_t)256 << 20)

/* --- a region --------------------------------------------------------------------------------------------------------- */

/* Where the processor has no vectors of 16, blocks of 8 waste less. */
static const ConvKernels *choose_kernels(const char *max_isa)
{
    const ConvKernels *wide = conv_kernels(16, max_isa);
    return wide != NULL && strcmp(wide->isa, "avx512") == 0 ? wide : conv_kernels(8, max_isa);
}

static bool copy_constants(IfmRegion *region, const IfmRegionConstant *constants, size_t n, IfmBlockedError *error)
{
    region->constants = calloc(MAX(n, 1), sizeof(*constants));
    if (region->constants == NULL)
        return ifm_blocked_fail(error, IFM_BLOCKED_NO_MEMORY, "no memory for a region");
    if (n > 0)
        memcpy(region->constants, constants, n * sizeof(*constants));
    region->n_constants = n;
    return true;
}

static bool make_forms(IfmRegion *region, IfmBlockedError *error)
{
    region->forms = calloc(MAX(region->n_layers, 1), sizeof(*region->forms));
    return region->forms != NULL || ifm_blocked_fail(error, IFM_BLOCKED_NO_MEMORY, "no memory for a region");
}

IfmRegion *ifm_region_new(const char *program, const IfmRegionConstant *constants, size_t n_constants,
                          const IfmRegionOptions *options, IfmBlockedError *error)
{
    IfmRegion *region = calloc(1, sizeof(*region));
    if (region == NULL)
    {
        ifm_blocked_fail(error, IFM_BLOCKED_NO_MEMORY, "no memory for a region");
        return NULL;
    }
    pthread_mutex_init(&region->mutex, NULL);
    pthread_mutex_init(&region->making, NULL);
    if (options != NULL)
        region->options = *options;
    region->kernels = choose_kernels(region->options.max_isa);
    const bool is_known =
        region->kernels != NULL ||
        region_refuse(error, "no instruction set \"%.20s\": avx512, avx2 or portable is expected", region->options.max_isa);
    if (is_known && copy_constants(region, constants, n_constants, error) && region_parse(region, program, error) &&
        make_forms(region, error))
        return region;
    ifm_region_free(region);
    return NULL;
}

static void run_free(IfmRegionRun *run)
{
    for (size_t i = 0; i < run->n_works; i++)
    {
        free(run->works[i].parts);
        free(run->works[i].by);
    }
    for (size_t i = 0; run->layers != NULL && i < run->region->n_layers; i++)
        ifm_blocked_conv_free(run->layers[i].conv);
    free(run->layers);
    free(run->works);
    free(run->buffers);
    free(run->values);
    free(run->shapes);
    free(run);
}

static void arena_free(RegionArena *arena)
{
    free(arena->at);
    free(arena);
}

void ifm_region_free(IfmRegion *region)
{
    if (region == NULL)
        return;
    while (region->idle != NULL)
    {
        IfmRegionRun *run = region->idle;
        region->idle = run->next;
        run_free(run);
    }
    while (region->arenas != NULL)
    {
        RegionArena *arena = region->arenas;
        region->arenas = arena->next;
        arena_free(arena);
    }
    for (size_t i = 0; i < region->n_steps; i++)
    {
        free(region->steps[i].values);
        free(region->steps[i].name);
    }
    for (size_t i = 0; region->forms != NULL && i < region->n_layers; i++)
        for (size_t k = 0; k < region->forms[i].n; k++)
            ifm_blocked_weights_unref(region->forms[i].all[k]);
    free(region->forms);
    free(region->steps);
    free(region->outputs);
    free(region->constants);
    pthread_mutex_destroy(&region->making);
    pthread_mutex_destroy(&region->mutex);
    free(region);
}

void ifm_region_set_threads(IfmRegion *region, int n_threads)
{
    pthread_mutex_lock(&region->mutex);
    region->options.n_threads = n_threads;
    pthread_mutex_unlock(&region->mutex);
}

size_t ifm_region_n_inputs(const IfmRegion *region)
{
    return region->n_inputs;
}

size_t ifm_region_n_outputs(const IfmRegion *region)
{
    return region->n_outputs;
}

int ifm_region_block(const IfmRegion *region)
{
    return region->kernels->block;
}

/* --- runs ------------------------------------------------------------------------------------------------------------- */

static bool make_layer(IfmRegionRun *run, const RegionStep *step, IfmBlockedError *error)
{
    RegionLayer *layer = &run->layers[step->layer];
    const bool is_needed = layer->step != NULL && !run->is_empty;
    layer->step = step;
    return !is_needed || region_layer_make(run, layer, error);
}

/* One run at a time, so that several share their weights. */
static bool make_layers(IfmRegionRun *run, IfmBlockedError *error)
{
    IfmRegion *region = run->region;
    bool is_made = true;
    pthread_mutex_lock(&region->making);
    for (size_t i = 0; i < region->n_steps && is_made; i++)
        if (region->steps[i].kind == REGION_CONV)
            is_made = make_layer(run, &region->steps[i], error);
    pthread_mutex_unlock(&region->making);
    return is_made;
}

static IfmRegionRun *run_new(IfmRegion *region, const int64_t (*shapes)[4], int n_threads, IfmBlockedError *error)
{
    IfmRegionRun *run = calloc(1, sizeof(*run));
    if (run != NULL)
    {
        run->region = region;
        run->n_threads = n_threads;
        run->shapes = calloc(MAX(region->n_inputs, 1), sizeof(*run->shapes));
        run->values = calloc(region->n_steps, sizeof(*run->values));
        run->layers = calloc(MAX(region->n_layers, 1), sizeof(*run->layers));
    }
    if (run == NULL || run->shapes == NULL || run->values == NULL || run->layers == NULL)
        ifm_blocked_fail(error, IFM_BLOCKED_NO_MEMORY, "no memory for a region");
    else
    {
        memcpy(run->shapes, shapes, region->n_inputs * sizeof(*shapes));
        if (region_size(run, error) && region_plan(run, error) && make_layers(run, error))
            return run;
    }
    if (run != NULL)
        run_free(run);
    return NULL;
}

/* Where the first idle one of these sizes is linked; NULL: there is none. */
static IfmRegionRun **find_idle(IfmRegion *region, const int64_t (*shapes)[4], int n_threads)
{
    IfmRegionRun **at = &region->idle;
    while (*at != NULL &&
           ((*at)->n_threads != n_threads || memcmp((*at)->shapes, shapes, region->n_inputs * sizeof(*shapes)) != 0))
        at = &(*at)->next;
    return *at != NULL ? at : NULL;
}

static size_t idle_bytes(const IfmRegion *region)
{
    return region->options.max_idle_bytes > 0 ? region->options.max_idle_bytes : IDLE_BYTES;
}

static size_t arena_bytes(const IfmRegion *region)
{
    size_t n = 0;
    for (const RegionArena *arena = region->arenas; arena != NULL; arena = arena->next)
        n += arena->n_floats * sizeof(float);
    return n;
}

/* One that is large enough, or any to be replaced. */
static RegionArena *find_arena(IfmRegion *region, size_t n_floats)
{
    RegionArena **at = &region->arenas;
    while (*at != NULL && (*at)->n_floats < n_floats)
        at = &(*at)->next;
    if (*at == NULL)
        at = &region->arenas;
    RegionArena *arena = *at;
    if (arena != NULL)
        *at = arena->next;
    return arena;
}

/* @arena: what was found, or NULL    Returns: NULL without memory */
static RegionArena *grow_arena(RegionArena *arena, size_t n_floats)
{
    if (arena != NULL && arena->n_floats >= n_floats)
        return arena;
    if (arena != NULL)
        arena_free(arena);
    arena = calloc(1, sizeof(*arena));
    if (arena == NULL)
        return NULL;
    *arena = (RegionArena){ .n_floats = n_floats, .at = conv_alloc(n_floats) };
    if (arena->at != NULL)
        return arena;
    free(arena);
    return NULL;
}

IfmRegionRun *ifm_region_take(IfmRegion *region, const int64_t (*shapes)[4], IfmBlockedError *error)
{
    const int64_t now = region->options.is_timed ? ifm_blocked_now_ns() : 0;
    pthread_mutex_lock(&region->mutex);
    const int n_threads = MAX(region->options.n_threads, 1);
    IfmRegionRun **at = find_idle(region, shapes, n_threads), *run = at != NULL ? *at : NULL;
    if (run != NULL)
        *at = run->next;
    region->counts.n_made += run == NULL;
    pthread_mutex_unlock(&region->mutex);
    if (run == NULL && (run = run_new(region, shapes, n_threads, error)) == NULL)
        return NULL;
    run->taken_ns = now;
    pthread_mutex_lock(&region->mutex);
    RegionArena *arena = run->arena_floats > 0 ? find_arena(region, run->arena_floats) : NULL;
    pthread_mutex_unlock(&region->mutex);
    run->arena = run->arena_floats > 0 ? grow_arena(arena, run->arena_floats) : NULL;
    if (run->arena != NULL || run->arena_floats == 0)
        return run;
    run_free(run);
    ifm_blocked_fail(error, IFM_BLOCKED_NO_MEMORY, "no memory for the values of a region");
    return NULL;
}

/* Takes those out that are not kept. (transfer full) They are linked. */
static IfmRegionRun *trim(IfmRegion *region)
{
    const size_t most = idle_bytes(region);
    const int n_threads = MAX(region->options.n_threads, 1);
    IfmRegionRun *dropped = NULL;
    size_t n_sizes = 0, n_kept = 0, n_bytes = 0;
    for (IfmRegionRun **at = &region->idle, *run; (run = *at) != NULL;)
    {
        const bool is_usable = run->n_threads == n_threads;
        const bool is_first = is_usable && *find_idle(region, (const int64_t(*)[4])run->shapes, n_threads) == run;
        n_sizes += is_first;
        if ((is_first && n_sizes <= RECENT_SIZES) || (is_usable && n_kept < MOST_IDLE && n_bytes + run->own_bytes <= most))
        {
            n_kept++;
            n_bytes += run->own_bytes;
            at = &run->next;
            continue;
        }
        *at = run->next;
        run->next = dropped;
        dropped = run;
    }
    region->counts.n_idle = n_kept;
    region->counts.idle_bytes = n_bytes;
    return dropped;
}

static void drop_runs(IfmRegion *region, IfmRegionRun *dropped)
{
    while (dropped != NULL)
    {
        IfmRegionRun *run = dropped;
        dropped = run->next;
        run_free(run);
    }
    pthread_mutex_lock(&region->making);
    for (size_t i = 0; i < region->n_layers; i++)
        region_forms_prune(&region->forms[i]);
    pthread_mutex_unlock(&region->making);
}

void ifm_region_give_back(IfmRegion *region, IfmRegionRun *run)
{
    if (region->options.is_timed)
        run->ran_ns = ifm_blocked_now_ns() - run->taken_ns;
    pthread_mutex_lock(&region->mutex);
    RegionArena *spare = run->arena;
    if (spare != NULL &&
        (region->arenas == NULL || arena_bytes(region) + spare->n_floats * sizeof(float) <= idle_bytes(region)))
    {
        spare->next = region->arenas;
        region->arenas = spare;
        spare = NULL;
    }
    run->arena = NULL;
    run->next = region->idle;
    region->idle = run;
    IfmRegionRun *dropped = trim(region);
    pthread_mutex_unlock(&region->mutex);
    if (spare != NULL)
        arena_free(spare);
    if (dropped != NULL)
        drop_runs(region, dropped);
}

IfmRegionRun *ifm_region_idle(IfmRegion *region)
{
    pthread_mutex_lock(&region->mutex);
    IfmRegionRun *run = region->idle;
    pthread_mutex_unlock(&region->mutex);
    return run;
}

void ifm_region_output_shape(const IfmRegionRun *run, size_t output, int64_t shape[4])
{
    const RegionOutput *row = &run->region->outputs[output];
    const RegionValue *value = &run->values[row->value];
    memcpy(shape, value->size, sizeof(value->size));
    if (run->is_empty)
        shape[0] = 0;
    if (row->is_blocked)
        shape[1] = (int64_t)value->n_blocks * run->region->kernels->block;
}

int64_t ifm_region_ran_ns(const IfmRegionRun *run)
{
    return run->ran_ns;
}

IfmRegionCounts ifm_region_counts(IfmRegion *region)
{
    pthread_mutex_lock(&region->making);
    const size_t n_transforms = region->n_transforms;
    pthread_mutex_unlock(&region->making);
    pthread_mutex_lock(&region->mutex);
    IfmRegionCounts counts = region->counts;
    counts.n_transforms = n_transforms;
    for (const RegionArena *arena = region->arenas; arena != NULL; arena = arena->next)
        counts.idle_bytes += arena->n_floats * sizeof(float);
    pthread_mutex_unlock(&region->mutex);
    return counts;
}

size_t ifm_region_arena_bytes(const IfmRegionRun *run)
{
    return run->arena_floats * sizeof(float);
}

/* --- running ---------------------------------------------------------------------------------------------------------- */

/* A pass of fewer numbers than this for each thread is done sooner than threads are woken. */
#define FEW_FLOATS 8192

typedef struct
{
    const IfmRegionRun *run;
    const RegionWork *work;
    size_t n_tasks;
} Pass;

float *region_address(const IfmRegionRun *run, RegionPlace place)
{
    const RegionBuffer *buffer = &run->buffers[place.buffer];
    float *base = buffer->input >= 0    ? (float *)run->inputs[buffer->input]
                  : buffer->output >= 0 ? run->outputs[buffer->output]
                                        : run->arena->at + buffer->at;
    return base + place.offset;
}

static void run_task(void *data, size_t task)
{
    const Pass *pass = data;
    const size_t n = pass->work->n_units;
    pass->work->run(pass->run, pass->work, conv_split(n, pass->n_tasks, task), conv_split(n, pass->n_tasks, task + 1));
}

static void run_pass(const IfmRegionRun *run, const RegionWork *work, IfmBlockedParallel parallel, void *user)
{
    const size_t fitting = work->n_units * work->unit_floats / FEW_FLOATS;
    const size_t n_tasks = MIN(MIN(fitting, work->n_units), (size_t)run->n_threads);
    Pass pass = { run, work, MAX(n_tasks, 1) };
    if (parallel != NULL && pass.n_tasks > 1)
        parallel(user, pass.n_tasks, run_task, &pass);
    else
        for (size_t i = 0; i < pass.n_tasks; i++)
            run_task(&pass, i);
}

static void run_layer(IfmRegionRun *run, const RegionWork *work, IfmBlockedParallel parallel, void *user)
{
    RegionLayer *layer = &run->layers[work->step->layer];
    const bool is_timed = run->region->options.is_timed, has_sum = work->step->n_values > 1;
    const int64_t began = is_timed ? ifm_blocked_now_ns() : 0;
    const float *input = work->from[0].buffer < 0 ? run->inputs[run->values[work->step->values[0]].nchw]
                                                  : region_address(run, work->from[0]);
    ifm_blocked_conv_run(layer->conv, input, has_sum ? region_address(run, work->from[1]) : NULL,
                         region_address(run, work->to), parallel, user);
    layer->ran_ns = is_timed ? ifm_blocked_now_ns() - began : 0;
}

void ifm_region_run(IfmRegionRun *run, const float *const *inputs, float *const *outputs, IfmBlockedParallel parallel,
                    void *user)
{
    if (run->is_empty)
        return;
    run->inputs = inputs;
    run->outputs = outputs;
    for (size_t i = 0; i < run->n_works; i++)
        if (run->works[i].run == NULL)
            run_layer(run, &run->works[i], parallel, user);
        else if (run->works[i].n_units > 0)
            run_pass(run, &run->works[i], parallel, user);
}
