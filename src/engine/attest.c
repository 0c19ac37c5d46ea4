#include <sched.h>
#include <unistd.h>

#include "engine-private.h"

static void node_attest_free(IfmNodeAttest *node)
{
    g_free(node->name);
    g_free(node->op_type);
    g_free(node->provider);
    g_free(node->implementation);
    g_free(node);
}

void ifm_attest_free(IfmAttest *attest)
{
    if (attest == NULL)
        return;
    g_free(attest->cores);
    g_ptr_array_unref(attest->nodes);
    g_clear_pointer(&attest->notes, g_ptr_array_unref);
    g_free(attest);
}

static char *copy_word(const char *word)
{
    return g_strdup(word != NULL ? word : "");
}

IfmNodeAttest *ifm_attest_add_node(IfmAttest *attest, const char *name, const char *op_type, const char *provider,
                                   const char *implementation, IfmDtype dtype)
{
    IfmNodeAttest *node = g_new0(IfmNodeAttest, 1);
    node->name = copy_word(name);
    node->op_type = copy_word(op_type);
    node->provider = copy_word(provider);
    node->implementation = copy_word(implementation);
    node->dtype = dtype;
    g_ptr_array_add(attest->nodes, node);
    return node;
}

void ifm_attest_note(IfmAttest *attest, char *text)
{
    if (attest->notes == NULL)
        attest->notes = g_ptr_array_new_with_free_func(g_free);
    g_ptr_array_add(attest->notes, text);
}

static gboolean set_inputs(IfmRequest *request, const IfmTensor *inputs, GError **error)
{
    for (gsize i = 0; i < ifm_compiled_n_inputs(request->compiled); i++)
        if (!ifm_request_set_input(request, i, &inputs[i], error))
            return FALSE;
    return TRUE;
}

static gboolean run_once(IfmRequest *request, const IfmTensor *inputs, GError **error)
{
    return set_inputs(request, inputs, error) && ifm_request_start(request, NULL, NULL, error) &&
           ifm_request_wait(request, IFM_CLOCK_NEVER, error);
}

IfmCompiled *ifm_compiled_twin(IfmCompiled *compiled, const IfmTensor *inputs, IfmRequest **request, GError **error)
{
    IfmCompileOptions options = compiled->options;
    options.profiling = TRUE;
    options.native_async = FALSE;
    options.save_optimised = NULL;
    IfmDeviceSpec spec = *compiled->spec;
    spec.n_streams = 1; /* not every runtime can profile several, and one is enough to see what runs */
    IfmCompiled *twin = ifm_engine_compile(compiled->engine, compiled->model, &spec, &options, error);
    if (twin == NULL)
        return NULL;
    *request = ifm_compiled_request(twin, 0, error);
    if (*request != NULL && run_once(*request, inputs, error))
        return twin;
    g_clear_pointer(request, ifm_request_free);
    ifm_compiled_free(twin);
    return NULL;
}

/* --- threads -------------------------------------------------------------------------------------------------------------
 */

#define N_LOOKS 5
#define SETTLE_NS 2000000 /* a thread's processor time is brought up to date when it goes to sleep */

typedef struct
{
    IfmRequest *request;
    const IfmTensor *inputs;
    IfmAttest *attest;
    pid_t waiting; /* the thread that waits for the observation; 0 where it is the executing one */
    gboolean ok;
    GError *error;
} Observation;

/* How often a thread must have taken processor time to count as one that works. */
#define WORKS_LEAST (N_LOOKS / 2 + 1)

/* Whether further looks can change nothing: no thread may still become one that works. Mostly so after three of five, and a
 * long model is not run for nothing. */
static gboolean is_decided(GHashTable *active, int n_looks_left)
{
    GHashTableIter iter;
    gpointer tid, times;
    if (n_looks_left >= WORKS_LEAST) /* one not seen yet might */
        return FALSE;
    g_hash_table_iter_init(&iter, active);
    while (g_hash_table_iter_next(&iter, &tid, &times))
        if (GPOINTER_TO_INT(times) < WORKS_LEAST && GPOINTER_TO_INT(times) + n_looks_left >= WORKS_LEAST)
            return FALSE;
    return TRUE;
}

/* Notes the threads that took processor time between two looks: thread id -> number of times. */
static void note_active(const Observation *observation, GHashTable *before, GHashTable *after, GHashTable *active)
{
    GHashTableIter iter;
    gpointer tid, time_ns;
    g_hash_table_iter_init(&iter, after);
    while (g_hash_table_iter_next(&iter, &tid, &time_ns))
    {
        const gint64 *earlier = g_hash_table_lookup(before, tid);
        gboolean took_time = *(gint64 *)time_ns > (earlier != NULL ? *earlier : 0);
        if (took_time && GPOINTER_TO_INT(tid) != observation->waiting && GPOINTER_TO_INT(tid) != gettid())
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
 * A pool thread may outlive its model and serve the next (TBB's do), others belong to a model and never work (those for
 * asynchrony): what counts is who took processor time while this model inferred. What does so once only had other
 * business.
 */
static void sum_up(IfmAttest *attest, GHashTable *active)
{
    cpu_set_t all, mask;
    GHashTableIter iter;
    gpointer tid, times;
    CPU_ZERO(&all);
    sched_getaffinity(0, sizeof all, &all);
    attest->n_threads = 1; /* the executing one, which is running now, so that its own time may not be up to date */
    g_hash_table_iter_init(&iter, active);
    while (g_hash_table_iter_next(&iter, &tid, &times))
    {
        if (GPOINTER_TO_INT(times) < WORKS_LEAST)
            continue;
        attest->n_threads++;
        if (sched_getaffinity(GPOINTER_TO_INT(tid), sizeof mask, &mask) == 0)
            CPU_OR(&all, &all, &mask);
    }
    g_autoptr(GArray) cores = g_array_new(FALSE, FALSE, sizeof(int));
    add_cores(cores, &all);
    attest->cores = ifm_cores_to_string((const int *)(const void *)cores->data, cores->len);
}

/* On a virtual clock nothing real is to settle. */
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
    observation->ok = run_once(observation->request, observation->inputs, &observation->error); /* warm */
    for (int left = N_LOOKS; observation->ok && !is_decided(active, left); left--)
    {
        settle(clock);
        g_autoptr(GHashTable) before = ifm_threads_list();
        observation->ok = run_once(observation->request, observation->inputs, &observation->error);
        settle(clock);
        g_autoptr(GHashTable) after = ifm_threads_list();
        note_active(observation, before, after, active);
    }
    sum_up(observation->attest, active);
}

static gboolean observe_run(IfmCompiled *compiled, const IfmTensor *inputs, IfmAttest *attest, GError **error)
{
    g_autoptr(IfmRequest) request = ifm_compiled_request(compiled, 0, error);
    if (request == NULL)
        return FALSE;
    Observation observation = { .request = request, .inputs = inputs, .attest = attest, .waiting = gettid() };
    ifm_compiled_invoke(compiled, 0, observe, &observation);
    if (!observation.ok)
        g_propagate_error(error, observation.error);
    return observation.ok;
}

IfmAttest *ifm_compiled_attest(IfmCompiled *compiled, const IfmTensor *inputs, GError **error)
{
    g_autoptr(IfmAttest) attest = g_new0(IfmAttest, 1);
    attest->nodes = g_ptr_array_new_with_free_func((GDestroyNotify)node_attest_free);
    /* The executing threads there are, one a stream; a driver whose runtime can tell its own number says so. */
    attest->n_streams =
        compiled->executors->len > 0 ? (int)compiled->executors->len : ifm_device_spec_n_streams(compiled->spec);
    if (!observe_run(compiled, inputs, attest, error))
        return NULL;
    if (compiled->engine->driver->attest != NULL && !compiled->engine->driver->attest(compiled, inputs, attest, error))
        return NULL;
    return g_steal_pointer(&attest);
}

/* How many threads were asked for: by number, by cores; 0 where neither was said. */
static int threads_asked(const IfmDeviceSpec *spec, const IfmCompileOptions *options)
{
    return options->threads > 0 ? options->threads : (int)spec->n_cores;
}

gboolean ifm_attest_check(const IfmAttest *attest, const IfmDeviceSpec *spec, const IfmCompileOptions *options,
                          GError **error)
{
    if (attest->dtype != IFM_DTYPE_UNDEFINED && attest->dtype != options->dtype)
    {
        g_set_error(error, IFM_ERROR, IFM_ERROR_FAILED, "%s: %s was asked for, %s is what ran", spec->text,
                    ifm_dtype_name(options->dtype), ifm_dtype_name(attest->dtype));
        return FALSE;
    }
    int asked = MAX(threads_asked(spec, options), ifm_device_spec_n_streams(spec));
    if (threads_asked(spec, options) > 0 && attest->n_threads > asked)
    {
        g_set_error(error, IFM_ERROR, IFM_ERROR_FAILED, "%s: %d thread%s asked for, %d ran", spec->text, asked,
                    asked == 1 ? " was" : "s were", attest->n_threads);
        return FALSE;
    }
    if (attest->n_streams != ifm_device_spec_n_streams(spec))
    {
        g_set_error(error, IFM_ERROR, IFM_ERROR_FAILED, "%s: %d stream%s asked for, the runtime made %d", spec->text,
                    ifm_device_spec_n_streams(spec), ifm_device_spec_n_streams(spec) == 1 ? " was" : "s were",
                    attest->n_streams);
        return FALSE;
    }
    if (spec->n_cores > 0)
    {
        g_autofree char *cores = ifm_cores_to_string(spec->cores, spec->n_cores);
        if (!g_str_equal(cores, attest->cores))
        {
            g_set_error(error, IFM_ERROR, IFM_ERROR_FAILED, "%s: cores %s were asked for, it ran on %s", spec->text, cores,
                        attest->cores);
            return FALSE;
        }
    }
    return TRUE;
}

/* Threads that had nothing to do are no failure: a small model has no work for them, and a runtime may know of fewer cores
 * than threads were asked for. Only the threads that work can be seen: a pool's others belong to whatever ran before. */
char **ifm_attest_warnings(const IfmAttest *attest, const IfmDeviceSpec *spec, const IfmCompileOptions *options)
{
    g_autoptr(GStrvBuilder) warnings = g_strv_builder_new();
    int asked = threads_asked(spec, options);
    if (attest->dtype == IFM_DTYPE_UNDEFINED)
    {
        g_autofree char *text =
            g_strdup_printf("the runtime does not tell the precision that it computed in (%s was asked for)",
                            ifm_dtype_name(options->dtype));
        g_strv_builder_add(warnings, text);
    }
    if (attest->why_one_thread != NULL)
        g_strv_builder_add(warnings, attest->why_one_thread);
    else if (asked > attest->n_threads)
    {
        g_autofree char *text = g_strdup_printf(
            "%d threads were asked for, %d took processor time: the model or the runtime had no work for the others", asked,
            attest->n_threads);
        g_strv_builder_add(warnings, text);
    }
    for (guint i = 0; attest->notes != NULL && i < attest->notes->len; i++)
        g_strv_builder_add(warnings, attest->notes->pdata[i]);
    return g_strv_builder_end(warnings);
}
