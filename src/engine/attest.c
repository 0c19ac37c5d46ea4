#include <string.h>

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
    IfmCompiled *twin = ifm_engine_compile(compiled->engine, compiled->model, compiled->spec, &options, error);
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

typedef struct
{
    IfmRequest *request;
    const IfmTensor *inputs;
    IfmAttest *attest;
    gboolean ok;
    GError *error;
} Observation;

/*
 * Threads that took processor time between two looks, and those that appeared since before compiling. A runtime whose pool
 * outlives its models (TBB's) adds no thread for a second one, hence the former; a pool thread may sleep through one small
 * inference, hence the latter. The caller waits meanwhile, so what else took time ran for this inference, unless the
 * process does other work beside it.
 */
static int count_threads(IfmCompiled *compiled, GHashTable *before, GHashTable *after)
{
    int n = 0;
    GHashTableIter iter;
    gpointer tid, time_ns;
    g_hash_table_iter_init(&iter, after);
    while (g_hash_table_iter_next(&iter, &tid, &time_ns))
    {
        gint64 *earlier = g_hash_table_lookup(before, tid);
        gboolean is_new = !g_hash_table_contains(compiled->threads_before, tid);
        n += is_new || (earlier != NULL && *(gint64 *)time_ns > *earlier);
    }
    return n;
}

/* Runs on the executing thread. */
static void observe(void *user)
{
    Observation *observation = user;
    IfmCompiled *compiled = observation->request->compiled;
    observation->attest->cores = ifm_affinity_to_string();
    observation->ok = run_once(observation->request, observation->inputs, &observation->error);
    if (!observation->ok)
        return;
    g_autoptr(GHashTable) before = ifm_threads_list();
    observation->ok = run_once(observation->request, observation->inputs, &observation->error);
    g_autoptr(GHashTable) after = ifm_threads_list();
    observation->attest->n_threads = count_threads(compiled, before, after);
}

static gboolean observe_run(IfmCompiled *compiled, const IfmTensor *inputs, IfmAttest *attest, GError **error)
{
    g_autoptr(IfmRequest) request = ifm_compiled_request(compiled, 0, error);
    if (request == NULL)
        return FALSE;
    Observation observation = { .request = request, .inputs = inputs, .attest = attest };
    ifm_compiled_invoke(compiled, 0, observe, &observation);
    if (!observation.ok)
        g_propagate_error(error, observation.error);
    return observation.ok;
}

IfmAttest *ifm_compiled_attest(IfmCompiled *compiled, const IfmTensor *inputs, GError **error)
{
    g_autoptr(IfmAttest) attest = g_new0(IfmAttest, 1);
    attest->nodes = g_ptr_array_new_with_free_func((GDestroyNotify)node_attest_free);
    attest->n_streams = ifm_device_spec_n_streams(compiled->spec);
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
