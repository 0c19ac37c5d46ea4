#include <base/base.h>
#include <sched.h>
#include <unistd.h>

#include "engine-private.h"

/* An effective configuration says what a compiled model really runs with: its threads, cores, nodes and lowest
 * arithmetic. */

static void node_config_free(IfmNodeConfig *node)
{
    g_free(node->name);
    g_free(node->op_type);
    g_free(node->provider);
    g_free(node->implementation);
    g_free(node->arithmetic);
    g_free(node);
}

void ifm_effective_config_free(IfmEffectiveConfig *effective_config)
{
    if (effective_config == NULL)
        return;
    g_free(effective_config->cores);
    g_ptr_array_unref(effective_config->nodes);
    g_clear_pointer(&effective_config->convolutions, g_ptr_array_unref);
    g_clear_pointer(&effective_config->notes, g_ptr_array_unref);
    g_free(effective_config);
}

static char *copy_word(const char *word)
{
    return g_strdup(word != NULL ? word : "");
}

IfmNodeConfig *ifm_effective_config_add_node(IfmEffectiveConfig *effective_config, const char *name, const char *op_type,
                                             const char *provider, const char *implementation, IfmDtype dtype)
{
    IfmNodeConfig *node = g_new0(IfmNodeConfig, 1);
    node->name = copy_word(name);
    node->op_type = copy_word(op_type);
    node->provider = copy_word(provider);
    node->implementation = copy_word(implementation);
    node->dtype = dtype;
    node->arithmetic = g_strdup(ifm_dtype_is_float(dtype) && ifm_operator_family(node->op_type) != IFM_FAMILY_MOVEMENT
                                    ? ifm_dtype_name(dtype)
                                    : "");
    g_ptr_array_add(effective_config->nodes, node);
    return node;
}

void ifm_effective_config_note(IfmEffectiveConfig *effective_config, char *text)
{
    if (effective_config->notes == NULL)
        effective_config->notes = g_ptr_array_new_with_free_func(g_free);
    g_ptr_array_add(effective_config->notes, text);
}

static gboolean set_inputs(IfmRequest *request, const IfmTensor *inputs, GError **error)
{
    for (gsize i = 0; i < ifm_compiled_info(request->compiled).n_inputs; i++)
        if (!ifm_request_set_input(request, i, &inputs[i], error))
            return FALSE;
    return TRUE;
}

static gboolean run_once(IfmRequest *request, const IfmTensor *inputs, GError **error)
{
    return set_inputs(request, inputs, error) && ifm_request_start(request, NULL, NULL, error) &&
           ifm_request_wait(request, IFM_CLOCK_NEVER, error);
}

IfmCompiled *ifm_compiled_again(IfmCompiled *compiled, const IfmTensor *inputs, const char *save, IfmRequest **request,
                                GError **error)
{
    IfmCompileOptions options = compiled->options;
    options.profiling = TRUE;
    options.native_async = FALSE;
    options.save_optimised = save;
    options.save_outline = TRUE;
    IfmDeviceSpec spec = *compiled->spec;
    spec.n_streams = 1; /* not every runtime can profile several streams, and one shows what runs */
    IfmCompiled *profiled = ifm_engine_compile_listing(compiled->engine, compiled->model, &spec, &options, error);
    if (profiled == NULL)
        return NULL;
    *request = ifm_compiled_request(profiled, 0, error);
    if (*request != NULL && run_once(*request, inputs, error))
        return profiled;
    g_clear_pointer(request, ifm_request_free);
    ifm_compiled_free(profiled);
    return NULL;
}

/* --- threads ---------------------------------------------------------------------------------------------------------- */

#define N_LOOKS 5
#define SETTLE_NS 2000000 /* the kernel updates a thread's processor time when the thread goes to sleep */

typedef struct
{
    IfmRequest *request;
    const IfmTensor *inputs;
    IfmEffectiveConfig *effective_config;
    pid_t waiting; /* the thread that waits for the observation; 0: it is the executing one */
    gboolean ok;
    GError *error;
} Observation;

/* In how many looks a thread must have taken processor time to count as working. */
#define WORKS_MIN (N_LOOKS / 2 + 1)

/* Whether further looks can change nothing, because no other thread can still reach WORKS_MIN. This is usual after
 * three looks of five, and saves runs of a long model. */
static gboolean is_decided(GHashTable *active, int n_looks_left)
{
    GHashTableIter iter;
    gpointer tid, times;
    if (n_looks_left >= WORKS_MIN) /* a thread not seen so far might */
        return FALSE;
    g_hash_table_iter_init(&iter, active);
    while (g_hash_table_iter_next(&iter, &tid, &times))
        if (GPOINTER_TO_INT(times) < WORKS_MIN && GPOINTER_TO_INT(times) + n_looks_left >= WORKS_MIN)
            return FALSE;
    return TRUE;
}

/* Counts the threads that took processor time between two looks, without those that were there before any engine (the
 * process's own, a sanitizer's). @active: thread id -> number of looks */
static void note_active(const Observation *observation, GHashTable *before, GHashTable *after, GHashTable *active)
{
    GHashTableIter iter;
    gpointer tid, time_ns;
    g_hash_table_iter_init(&iter, after);
    while (g_hash_table_iter_next(&iter, &tid, &time_ns))
    {
        const gint64 *earlier = g_hash_table_lookup(before, tid);
        gboolean took_time = *(gint64 *)time_ns > (earlier != NULL ? *earlier : 0);
        pid_t thread = GPOINTER_TO_INT(tid);
        if (took_time && thread != observation->waiting && thread != gettid() && !ifm_thread_is_foreign(thread))
            g_hash_table_insert(active, tid, GINT_TO_POINTER(GPOINTER_TO_INT(g_hash_table_lookup(active, tid)) + 1));
    }
}

static void add_cores(GArray *cores, cpu_set_t *mask)
{
    for (int core = 0; core < CPU_SETSIZE; core++)
        if (CPU_ISSET(core, mask))
            g_array_append_val(cores, core);
}

/*
 * A pool thread may outlive its model and serve the next (TBB's do). Other threads belong to a model and never work
 * (those for asynchrony). So a thread counts if it took processor time while this model inferred; one that did so only
 * once had other work.
 */
static void sum_up(IfmEffectiveConfig *effective_config, GHashTable *active)
{
    cpu_set_t all, mask;
    GHashTableIter iter;
    gpointer tid, times;
    CPU_ZERO(&all);
    sched_getaffinity(0, sizeof all, &all);
    effective_config->n_threads =
        1; /* the executing thread: it is running now, and its own processor time may not be updated */
    g_hash_table_iter_init(&iter, active);
    while (g_hash_table_iter_next(&iter, &tid, &times))
    {
        if (GPOINTER_TO_INT(times) < WORKS_MIN)
            continue;
        effective_config->n_threads++;
        if (sched_getaffinity(GPOINTER_TO_INT(tid), sizeof mask, &mask) == 0)
            CPU_OR(&all, &all, &mask);
    }
    g_autoptr(GArray) cores = g_array_new(FALSE, FALSE, sizeof(int));
    add_cores(cores, &all);
    effective_config->cores = ifm_cores_to_string((const int *)(const void *)cores->data, cores->len);
}

/* On a virtual clock there is nothing to wait for. */
static void settle(IfmClock *clock)
{
    if (!ifm_clock_is_virtual(clock))
        ifm_clock_sleep_until_ns(clock, ifm_clock_now_ns(clock) + SETTLE_NS);
}

/* Runs on the executing thread. */
static void observe(void *user)
{
    Observation *observation = user;
    IfmClock *clock = observation->request->compiled->engine->clock;
    g_autoptr(GHashTable) active = g_hash_table_new(g_direct_hash, g_direct_equal);
    if (observation->waiting == gettid())
        observation->waiting = 0;
    gint64 begin_ns = ifm_clock_now_ns(clock);
    observation->ok = run_once(observation->request, observation->inputs, &observation->error); /* a warm-up */
    observation->effective_config->first_ns = ifm_clock_now_ns(clock) - begin_ns;
    for (int left = N_LOOKS; observation->ok && !is_decided(active, left); left--)
    {
        settle(clock);
        g_autoptr(GHashTable) before = ifm_threads_list();
        observation->ok = run_once(observation->request, observation->inputs, &observation->error);
        settle(clock);
        g_autoptr(GHashTable) after = ifm_threads_list();
        note_active(observation, before, after, active);
    }
    sum_up(observation->effective_config, active);
}

static gboolean observe_run(IfmCompiled *compiled, const IfmTensor *inputs, IfmEffectiveConfig *effective_config,
                            GError **error)
{
    g_autoptr(IfmRequest) request = ifm_compiled_request(compiled, 0, error);
    if (request == NULL)
        return FALSE;
    Observation observation = {
        .request = request, .inputs = inputs, .effective_config = effective_config, .waiting = gettid()
    };
    ifm_compiled_invoke(compiled, 0, observe, &observation);
    if (!observation.ok)
        g_propagate_error(error, observation.error);
    return observation.ok;
}

/* Where no node computes in floating point, the integers that it multiplies, or the type of what is moved. */
static void find_lowest(IfmEffectiveConfig *effective_config)
{
    IfmDtype computed = IFM_DTYPE_UNDEFINED, moved = IFM_DTYPE_UNDEFINED;
    for (guint i = 0; i < effective_config->nodes->len; i++)
    {
        const IfmNodeConfig *node = effective_config->nodes->pdata[i];
        IfmDtype *lowest = *node->arithmetic != '\0' ? &computed : &moved;
        *lowest = ifm_dtype_lower(*lowest, node->dtype);
    }
    for (guint i = 0; i < effective_config->nodes->len && computed == IFM_DTYPE_UNDEFINED; i++)
    {
        const IfmNodeConfig *node = effective_config->nodes->pdata[i]; /* products of integers alone */
        computed = *node->arithmetic != '\0' ? node->dtype : IFM_DTYPE_UNDEFINED;
    }
    if (effective_config->nodes->len > 0)
        effective_config->dtype = computed != IFM_DTYPE_UNDEFINED ? computed : moved;
}

IfmEffectiveConfig *ifm_compiled_effective_config(IfmCompiled *compiled, const IfmTensor *inputs, GError **error)
{
    g_autoptr(IfmEffectiveConfig) effective_config = g_new0(IfmEffectiveConfig, 1);
    effective_config->nodes = g_ptr_array_new_with_free_func((GDestroyNotify)node_config_free);
    /* The number of executing threads, one per stream; a driver whose runtime reports a number replaces it. */
    effective_config->n_streams =
        compiled->executors->len > 0 ? (int)compiled->executors->len : ifm_device_spec_n_streams(compiled->spec);
    if (!observe_run(compiled, inputs, effective_config, error))
        return NULL;
    if (compiled->engine->driver->effective_config != NULL &&
        !compiled->engine->driver->effective_config(compiled, inputs, effective_config, error))
        return NULL;
    find_lowest(effective_config);
    effective_config->written = ifm_model_dtype(compiled->model);
    effective_config->is_own = ifm_model_names_dtype(compiled->model, effective_config->dtype);
    return g_steal_pointer(&effective_config);
}

/* The number of threads that was asked for, directly or by cores; 0: none was. */
static int threads_asked(const IfmDeviceSpec *spec, const IfmCompileOptions *options)
{
    return options->threads > 0 ? options->threads : (int)spec->n_cores;
}

/* What was asked for, or, of a model in its own precision, a type that it casts to or takes and gives, f32, or a higher
 * one: a runtime computes f16 in f32 where the processor has no f16, and a device without f64 does the same. */
static gboolean is_precise(const IfmEffectiveConfig *effective_config, IfmDtype asked)
{
    const IfmDtype ran = effective_config->dtype;
    return !ifm_dtype_is_float(ran) || ran == asked ||
           (asked == effective_config->written &&
            (effective_config->is_own || ran == IFM_DTYPE_F32 || ifm_dtype_lower(ran, asked) == asked));
}

gboolean ifm_effective_config_check(const IfmEffectiveConfig *effective_config, const IfmDeviceSpec *spec,
                                    const IfmCompileOptions *options, GError **error)
{
    if (!is_precise(effective_config, options->dtype))
        return ifm_error_set(error, IFM_ERROR_FAILED, "%s: %s was asked for, %s is what ran", spec->text,
                             ifm_dtype_name(options->dtype), ifm_dtype_name(effective_config->dtype));
    int asked = MAX(threads_asked(spec, options), ifm_device_spec_n_streams(spec));
    if (threads_asked(spec, options) > 0 && effective_config->n_threads > asked)
        return ifm_error_set(error, IFM_ERROR_FAILED, "%s: %d thread%s asked for, %d ran", spec->text, asked,
                             asked == 1 ? " was" : "s were", effective_config->n_threads);
    if (effective_config->n_streams != ifm_device_spec_n_streams(spec))
        return ifm_error_set(error, IFM_ERROR_FAILED, "%s: %d stream%s asked for, the runtime made %d", spec->text,
                             ifm_device_spec_n_streams(spec), ifm_device_spec_n_streams(spec) == 1 ? " was" : "s were",
                             effective_config->n_streams);
    if (spec->n_cores > 0)
    {
        g_autofree char *cores = ifm_cores_to_string(spec->cores, spec->n_cores);
        if (!g_str_equal(cores, effective_config->cores))
            return ifm_error_set(error, IFM_ERROR_FAILED, "%s: cores %s were asked for, it ran on %s", spec->text, cores,
                                 effective_config->cores);
    }
    return TRUE;
}

/* Threads without work are not a failure: a small model has no work for them, and a runtime may use fewer cores than
 * the threads asked for. Only working threads can be observed: other threads of a pool belong to earlier models. */
char **ifm_effective_config_warnings(const IfmEffectiveConfig *effective_config, const IfmDeviceSpec *spec,
                                     const IfmCompileOptions *options)
{
    g_autoptr(GStrvBuilder) warnings = g_strv_builder_new();
    int asked = threads_asked(spec, options);
    if (effective_config->dtype == IFM_DTYPE_UNDEFINED)
    {
        g_autofree char *text =
            g_strdup_printf("the runtime does not report the precision that it computed in (%s was asked for)",
                            ifm_dtype_name(options->dtype));
        g_strv_builder_add(warnings, text);
    }
    if (effective_config->why_one_thread != NULL)
        g_strv_builder_add(warnings, effective_config->why_one_thread);
    else if (asked > effective_config->n_threads)
    {
        g_autofree char *text = g_strdup_printf(
            "%d threads were asked for, %d took processor time: the model or the runtime had no work for the others", asked,
            effective_config->n_threads);
        g_strv_builder_add(warnings, text);
    }
    for (guint i = 0; effective_config->notes != NULL && i < effective_config->notes->len; i++)
        g_strv_builder_add(warnings, effective_config->notes->pdata[i]);
    return g_strv_builder_end(warnings);
}
