/* Sessions: the options of a compile, and the ports that the runtime reports. */
#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "onnxruntime-conv.h"
#include "onnxruntime-regions.h"

/* Options are set in steps, which stop at the first that fails. */
typedef struct
{
    OrtEngine *engine;
    OrtCompiled *compiled;
    OrtSessionOptions *options;
    const char *who;
    GError **error;
} Setup;

static gboolean step(const Setup *setup, OrtStatus *status)
{
    return ifm_ort_check(setup->engine->api, status, setup->who, IFM_ERROR_UNSUPPORTED, setup->error);
}

static gboolean set_entry(const Setup *setup, const char *key, const char *value)
{
    return step(setup, setup->engine->api->AddSessionConfigEntry(setup->options, key, value));
}

/*
 * Threads: the executing threads of the streams work, too, so the pool has the others. Pool threads inherit the
 * executing thread's mask. session.intra_op_thread_affinities is not set: it would pin each to one core while the
 * executing thread moves among the same cores. Pool threads spin for work, the runtime's default, but not beyond the
 * end of an inference: a spinning pool would slow down the next measurement.
 */
static gboolean set_threads(const Setup *setup)
{
    const OrtApi *api = setup->engine->api;
    const IfmCompiled *compiled = &setup->compiled->base;
    int n_pool = ifm_runtime_n_threads(compiled) - ifm_device_spec_n_streams(compiled->spec);
    return step(setup, api->SetIntraOpNumThreads(setup->options, n_pool + 1)) &&
           step(setup, api->SetInterOpNumThreads(setup->options, 1)) &&
           step(setup, api->SetSessionExecutionMode(setup->options, ORT_SEQUENTIAL)) &&
           set_entry(setup, "session.force_spinning_stop", "1");
}

/* Weights of an optimised model go to a file of their own next to it. */
static gboolean set_weights_file(const Setup *setup, const char *weights)
{
    g_autofree char *name = g_path_get_basename(weights);
    return set_entry(setup, "session.optimized_model_external_initializers_file_name", name) &&
           set_entry(setup, "session.optimized_model_external_initializers_min_size_in_bytes", "1024");
}

/* The file for the weights of an optimised model that is saved without them; NULL: it is not. */
static char *weights_path(const OrtCompiled *compiled)
{
    const IfmCompileOptions *options = &compiled->base.options;
    return options->save_optimised != NULL && options->save_outline ? g_strconcat(options->save_optimised, ".weights", NULL)
                                                                    : NULL;
}

/* Large weights are written to /dev/null: no shape rule reads them, and writing half a gigabyte takes time. */
static gboolean set_outline(const Setup *setup)
{
    g_autofree char *weights = weights_path(setup->compiled);
    if (weights == NULL)
        return TRUE;
    unlink(weights);
    if (symlink("/dev/null", weights) != 0)
        return ifm_error_set(setup->error, IFM_ERROR_UNAVAILABLE, "%s: %s: %s", setup->who, weights, g_strerror(errno));
    return set_weights_file(setup, weights);
}

static gboolean set_graph(const Setup *setup)
{
    const OrtApi *api = setup->engine->api;
    const IfmCompileOptions *options = &setup->compiled->base.options;
    OrtConvDomain *domain = setup->compiled->conv_domain;
    OrtCustomOpDomain *regions = ifm_ort_regions_domain(setup->compiled);
    const GraphOptimizationLevel level = !options->optimise || domain != NULL ? ORT_DISABLE_ALL
                                         : options->keep_operators            ? ORT_ENABLE_BASIC
                                         : options->keep_layout               ? ORT_ENABLE_EXTENDED
                                                                              : ORT_ENABLE_ALL;
    if (!step(setup, api->SetSessionGraphOptimizationLevel(setup->options, level)) ||
        (domain != NULL && !step(setup, api->AddCustomOpDomain(setup->options, ifm_ort_conv_domain_handle(domain)))))
        return FALSE;
    if (regions != NULL && !step(setup, api->AddCustomOpDomain(setup->options, regions)))
        return FALSE;
    for (gsize i = 0; i < options->n_bindings; i++)
        if (!step(setup, api->AddFreeDimensionOverrideByName(setup->options, options->bindings[i].name,
                                                             options->bindings[i].value)))
            return FALSE;
    for (const char *const *library = options->custom_op_libraries; library != NULL && *library != NULL; library++)
        if (!step(setup, api->RegisterCustomOpsLibrary_V2(setup->options, *library)))
            return FALSE;
    return TRUE;
}

/* With convolution algorithms the graph was saved before its convolutions were replaced: see rewrite(). */
static gboolean set_saving(const Setup *setup)
{
    const char *file = setup->compiled->base.options.save_optimised;
    if (file == NULL || setup->compiled->conv_domain != NULL)
        return TRUE;
    /* without a file of its own for weights it would name that of the model, which lies elsewhere */
    g_autofree char *weights = setup->compiled->base.options.keep_operators ? g_strconcat(file, ".weights", NULL) : NULL;
    return step(setup, setup->engine->api->SetOptimizedModelFilePath(setup->options, file)) && set_outline(setup) &&
           (weights == NULL || set_weights_file(setup, weights));
}

static gboolean set_profiling(const Setup *setup)
{
    OrtCompiled *self = setup->compiled;
    if (!self->base.options.profiling)
        return TRUE;
    if (!ifm_temporary_make(&self->profile_folder, setup->error))
        return ifm_error_prefix(setup->error, "%s: no place for its profile: ", setup->who);
    g_autofree char *prefix = g_build_filename(self->profile_folder.path, "profile", NULL);
    return step(setup, setup->engine->api->EnableProfiling(setup->options, prefix));
}

static gboolean set_vendor(const Setup *setup)
{
    for (const char *const *option = setup->compiled->base.options.vendor; option != NULL && *option != NULL; option++)
    {
        g_autofree char *key = g_strndup(*option, (gsize)(strchr(*option, '=') - *option));
        if (!set_entry(setup, key, strchr(*option, '=') + 1))
            return FALSE;
    }
    return TRUE;
}

#define CUDA_OPTION "ep.cudaexecutionprovider." /* and the option's name: the runtime's own words for it */

/* Convolutions of ours multiply as the provider's nodes do. */
static gboolean asks_for_tf32(const Setup *setup)
{
    static const char name[] = CUDA_OPTION "use_tf32=";
    gboolean asks = FALSE;
    for (const char *const *option = setup->compiled->base.options.vendor; option != NULL && *option != NULL; option++)
        if (g_str_has_prefix(*option, name))
            asks = g_str_equal(*option + strlen(name), "1") || g_ascii_strcasecmp(*option + strlen(name), "true") == 0;
    return asks;
}

/* The CUDA provider reads its options when it is appended, not those that are set later. f32 is f32: unless it is asked for
 * the provider does not multiply in TF32, as it would. */
static gboolean append_provider(const Setup *setup, const OrtEpDevice *device)
{
    g_autoptr(GPtrArray) keys = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GPtrArray) values = g_ptr_array_new();
    const char *const *option = setup->compiled->base.options.vendor;
    const gboolean is_cuda = g_str_equal(setup->compiled->base.spec->unit, "CUDA");
    if (is_cuda)
    {
        g_ptr_array_add(keys, g_strdup("use_tf32"));
        g_ptr_array_add(values, "0");
    }
    for (; is_cuda && option != NULL && *option != NULL; option++)
        if (g_str_has_prefix(*option, CUDA_OPTION))
        {
            const char *name = *option + strlen(CUDA_OPTION), *equals = strchr(name, '=');
            g_ptr_array_add(keys, g_strndup(name, (gsize)(equals - name)));
            g_ptr_array_add(values, (char *)equals + 1); /* of two of one name the last counts */
        }
    return step(setup, setup->engine->api->SessionOptionsAppendExecutionProvider_V2(
                           setup->options, setup->engine->env, &device, 1, (const char *const *)keys->pdata,
                           (const char *const *)values->pdata, keys->len));
}

static gboolean set_device(const Setup *setup)
{
    const IfmDeviceSpec *spec = setup->compiled->base.spec;
    if (g_str_equal(spec->unit, "CPU")) /* the default */
        return TRUE;
    const OrtEpDevice *device = ifm_ort_find_device(setup->engine, spec->unit, MAX(spec->index, 0), setup->error);
    return device != NULL && append_provider(setup, device);
}

static gboolean create_session(const Setup *setup)
{
    OrtCompiled *self = setup->compiled;
    const OrtApi *api = setup->engine->api;
    IfmModel *model = self->conv_model != NULL ? self->conv_model : self->base.model;
    const char *path = ifm_model_path(model);
    if (path != NULL)
        return step(setup, api->CreateSession(setup->engine->env, path, setup->options, &self->session));
    g_autoptr(GBytes) bytes = ifm_model_serialize(model, setup->error);
    return bytes != NULL &&
           step(setup, api->CreateSessionFromArray(setup->engine->env, g_bytes_get_data(bytes, NULL),
                                                   g_bytes_get_size(bytes), setup->options, &self->session));
}

OrtSession *ifm_ort_session_bare(OrtCompiled *compiled, IfmModel *model, const char *file, OrtConvDomain *domain,
                                 const char *profile, GError **error)
{
    OrtEngine *engine = ort_engine(&compiled->base);
    const OrtApi *api = engine->api;
    Setup setup = { .engine = engine, .compiled = compiled, .who = compiled->base.who, .error = error };
    g_autoptr(GBytes) bytes = model != NULL ? ifm_model_serialize(model, error) : NULL;
    OrtSession *session = NULL;
    if ((model != NULL && bytes == NULL) || !step(&setup, api->CreateSessionOptions(&setup.options)))
        return NULL;
    if (set_threads(&setup) && set_device(&setup) &&
        step(&setup, api->SetSessionGraphOptimizationLevel(setup.options, ORT_DISABLE_ALL)) &&
        (domain == NULL || step(&setup, api->AddCustomOpDomain(setup.options, ifm_ort_conv_domain_handle(domain)))) &&
        (profile == NULL || step(&setup, api->EnableProfiling(setup.options, profile))))
        step(&setup, bytes == NULL ? api->CreateSession(engine->env, file, setup.options, &session)
                                   : api->CreateSessionFromArray(engine->env, g_bytes_get_data(bytes, NULL),
                                                                 g_bytes_get_size(bytes), setup.options, &session));
    api->ReleaseSessionOptions(setup.options);
    return session;
}

OrtSession *ifm_ort_session_plain(OrtCompiled *compiled, GError **error)
{
    OrtEngine *engine = ort_engine(&compiled->base);
    Setup setup = { .engine = engine, .compiled = compiled, .who = compiled->base.who, .error = error };
    if (!step(&setup, engine->api->CreateSessionOptions(&setup.options)))
        return NULL;
    if (set_threads(&setup) && set_graph(&setup) && set_device(&setup) && set_vendor(&setup))
        create_session(&setup);
    engine->api->ReleaseSessionOptions(setup.options);
    return g_steal_pointer(&compiled->session);
}

/* Has the runtime optimise the model and save it, with all weights in @weights. (transfer full) */
static IfmModel *optimise(const Setup *setup, const char *file, const char *weights)
{
    OrtCompiled *self = setup->compiled;
    const OrtApi *api = setup->engine->api;
    const gboolean ok = set_graph(setup) && set_device(setup) && set_weights_file(setup, weights) &&
                        step(setup, api->SetOptimizedModelFilePath(setup->options, file)) && create_session(setup);
    if (self->session != NULL)
        api->ReleaseSession(self->session);
    self->session = NULL;
    return ok ? ifm_model_open(file, setup->error) : NULL;
}

#define NOT_KEPT "%s: what best measured is not kept, and is measured again each time"

/* (transfer full) the user's cache; once that could not be written one that goes with the engine: two compiles of a model
 * run the same */
static char *tuning_path(OrtEngine *engine)
{
    g_autoptr(GMutexLocker) locker = g_mutex_locker_new(&engine->tuning_lock);
    return engine->tuning_trouble != NULL ? g_build_filename(engine->tuning.path, "convolutions.json", NULL)
                                          : ifm_conv_tuning_path();
}

static gboolean move_tuning(OrtEngine *engine, const GError *trouble, GError **error)
{
    g_autoptr(GMutexLocker) locker = g_mutex_locker_new(&engine->tuning_lock);
    if (engine->tuning_trouble == NULL && ifm_temporary_make(&engine->tuning, error))
        engine->tuning_trouble = g_strdup_printf(NOT_KEPT, trouble->message);
    return engine->tuning_trouble != NULL;
}

static gboolean keep_rows(const Setup *setup, const GPtrArray *rows)
{
    g_autofree char *path = tuning_path(setup->engine);
    g_autoptr(GError) trouble = NULL;
    if (rows->len == 0 || ifm_conv_tuning_add(path, rows, &trouble))
        return TRUE;
    if (!g_error_matches(trouble, IFM_ERROR, IFM_ERROR_UNAVAILABLE)) /* the file is none of this kind */
        return ifm_error_pass(setup->error, g_steal_pointer(&trouble));
    if (!move_tuning(setup->engine, trouble, setup->error))
        return FALSE;
    g_autofree char *other = tuning_path(setup->engine);
    return ifm_conv_tuning_add(other, rows, setup->error);
}

/* What is known of "best"; what is not known is measured now. (transfer full) */
static GPtrArray *recall(const Setup *setup, OrtConvWish *wish, IfmModel *optimised, const char *file)
{
    g_autofree char *path = tuning_path(setup->engine);
    g_autoptr(GPtrArray) tuned = ifm_conv_tuning_load(path, setup->error);
    g_autoptr(GPtrArray) found = g_ptr_array_new_with_free_func((GDestroyNotify)ifm_conv_tuned_free);
    wish->tuned = tuned;
    if (tuned != NULL &&
        !(ifm_ort_conv_tune(setup->compiled, optimised, file, wish, found, setup->error) && keep_rows(setup, found)))
        return NULL;
    if (tuned != NULL)
        g_ptr_array_extend_and_steal(tuned, g_steal_pointer(&found));
    return g_steal_pointer(&tuned);
}

static gboolean make_graph(const Setup *setup, IfmModel *optimised, const OrtConvWish *wish, OrtConvGraph *graph)
{
    graph->layers = ifm_ort_conv_layers_new();
    graph->model = ifm_ort_conv_rewrite(optimised, wish, graph->layers, setup->error);
    return graph->model != NULL;
}

static gboolean keep_row(const Setup *setup, IfmConvTuned *row)
{
    g_autoptr(GPtrArray) rows = g_ptr_array_new();
    g_ptr_array_add(rows, row);
    return keep_rows(setup, rows);
}

/* Whether all layers are left to the runtime. */
static gboolean is_left(const GPtrArray *layers)
{
    for (guint i = 0; i < layers->len; i++)
        if (!g_str_equal(((const OrtConvLayer *)layers->pdata[i])->record->algorithm,
                         ifm_conv_algorithm_name(IFM_CONV_RUNTIME)))
            return FALSE;
    return TRUE;
}

#define NO_GAIN                                                                                                            \
    "all layers are left to the runtime: what best chose for each takes %.3f times the runtime's time in the whole "       \
    "model, which is not told apart as faster"

/* The graph with the runtime's kernels in place of what "best" chose, where that is no gain in the whole. @row: what is
 * known of it; NULL: it is measured    @key: of the row */
static gboolean weigh(const Setup *setup, IfmModel *optimised, const OrtConvWish *wish, const IfmConvTuned *row,
                      IfmConvTuned *key, OrtConvGraph *graph)
{
    OrtConvWish left = *wish;
    g_auto(OrtConvGraph) of_runtime = { 0 };
    left.leave_best = TRUE;
    if (!make_graph(setup, optimised, &left, &of_runtime))
        return FALSE;
    const OrtConvGraph *other = is_left(of_runtime.layers) ? NULL : &of_runtime;
    if (row == NULL && !(ifm_ort_conv_compare(setup->compiled, graph, other, key, setup->error) && keep_row(setup, key)))
        return FALSE;
    row = row != NULL ? row : key;
    if (!g_str_equal(row->algorithm, ifm_conv_algorithm_name(IFM_CONV_RUNTIME)))
        return TRUE;
    const OrtConvGraph chosen = *graph;
    *graph = of_runtime;
    of_runtime = chosen;
    setup->compiled->conv_note = g_strdup_printf(NO_GAIN, row->time_ns / row->runtime_ns);
    return TRUE;
}

static gboolean judge_whole(const Setup *setup, IfmModel *optimised, const OrtConvWish *wish, OrtConvGraph *graph)
{
    IfmConvTuned *key = ifm_ort_conv_whole_key(graph, wish);
    const IfmConvTuned *row = key != NULL ? ifm_conv_tuned_find(wish->tuned, key) : NULL;
    const gboolean is_gain = row != NULL && g_str_equal(row->algorithm, ifm_conv_algorithm_name(IFM_CONV_BEST));
    const gboolean ok = key == NULL || is_gain || weigh(setup, optimised, wish, row, key, graph);
    if (key != NULL)
        ifm_conv_tuned_free(key);
    return ok;
}

/* Without layers of ours the model may run as it is: what the runtime saves of its graph is up to some percent slower than
 * the graph itself. A profile and a saved graph have the layers under their names. */
static gboolean may_be_plain(const OrtCompiled *self)
{
    return self->conv_cuda == NULL && !self->base.options.profiling && self->base.options.save_optimised == NULL;
}

/* The names of the nodes stay, so what was saved shows what each of them does. */
static gboolean rewrite(const Setup *setup, const IfmConvChoice *choice, const char *file)
{
    OrtCompiled *self = setup->compiled;
    g_autofree char *weights = g_strconcat(file, ".weights", NULL);
    g_autofree char *runtime = g_strdup_printf(IFM_ORT_NAME " %s", setup->engine->base.version);
    g_autoptr(IfmModel) optimised = optimise(setup, file, weights);
    OrtConvWish wish = { .model = self->base.model,
                         .runtime = runtime,
                         .choice = choice,
                         .bindings = self->base.options.bindings,
                         .n_bindings = self->base.options.n_bindings,
                         .cuda = self->conv_cuda,
                         .marks = self->base.options.profiling,
                         .n_threads = ifm_runtime_n_threads(&self->base) };
    const gboolean is_best = ifm_conv_choice_has(choice, IFM_CONV_BEST);
    g_autoptr(GPtrArray) tuned = optimised != NULL && is_best ? recall(setup, &wish, optimised, file) : NULL;
    g_auto(OrtConvGraph) graph = { 0 };
    wish.tuned = tuned;
    const gboolean ok = optimised != NULL && (tuned != NULL || !is_best) && make_graph(setup, optimised, &wish, &graph) &&
                        (!is_best || self->conv_cuda != NULL || judge_whole(setup, optimised, &wish, &graph));
    const gboolean is_plain = ok && is_best && may_be_plain(self) && is_left(graph.layers);
    self->conv_layers = g_steal_pointer(&graph.layers);
    self->conv_model = ok && !is_plain ? g_steal_pointer(&graph.model) : NULL;
    unlink(weights);
    if (self->conv_model != NULL)
        self->conv_domain = ifm_ort_conv_domain_new(setup->engine->api, self->conv_layers,
                                                    self->conv_cuda == NULL        ? ORT_CONV_OF_CPU
                                                    : self->base.options.profiling ? ORT_CONV_OF_CUDA_TIMED
                                                                                   : ORT_CONV_OF_CUDA,
                                                    setup->who, setup->error);
    return is_plain || self->conv_domain != NULL;
}

static gboolean prepare_convolutions(const Setup *setup)
{
    OrtCompiled *self = setup->compiled;
    const char *const *lines = self->base.options.convolutions;
    if (lines == NULL || *lines == NULL || self->conv_layers != NULL)
        return TRUE;
    if (ifm_device_spec_n_streams(self->base.spec) > 1)
        return ifm_error_set(setup->error, IFM_ERROR_UNSUPPORTED, "%s: convolution algorithms run on one stream",
                             setup->who);
    if (g_str_equal(self->base.spec->unit, "CUDA"))
    {
        self->conv_cuda = ifm_conv_cuda_open(MAX(self->base.spec->index, 0), asks_for_tf32(setup), setup->error);
        if (self->conv_cuda == NULL)
            return ifm_error_prefix(setup->error, "%s: ", setup->who);
    }
    g_auto(IfmConvChoice) choice = { 0 };
    IfmTemporary folder = { 0 };
    if (!ifm_conv_choice_init(&choice, lines, setup->error))
        return FALSE;
    if (!ifm_temporary_make(&folder, setup->error))
        return ifm_error_prefix(setup->error, "%s: no place for the optimised graph: ", setup->who);
    g_autofree char *file = g_build_filename(folder.path, "optimised.onnx", NULL);
    const char *wanted = self->base.options.save_optimised;
    const gboolean ok = rewrite(setup, &choice, wanted != NULL ? wanted : file);
    ifm_temporary_clear(&folder);
    return ok;
}

/* A compile with convolution algorithms opens two sessions: one that optimises, and the one that runs. */
static gboolean open_prepared(OrtCompiled *compiled, GError **error)
{
    const char *const *lines = compiled->base.options.convolutions;
    if (lines == NULL || *lines == NULL)
        return TRUE;
    OrtEngine *engine = ort_engine(&compiled->base);
    Setup setup = { .engine = engine, .compiled = compiled, .who = compiled->base.who, .error = error };
    if (!step(&setup, engine->api->CreateSessionOptions(&setup.options)))
        return FALSE;
    const gboolean ok = prepare_convolutions(&setup);
    engine->api->ReleaseSessionOptions(setup.options);
    return ok;
}

gboolean ifm_ort_session_open(OrtCompiled *compiled, GError **error)
{
    OrtEngine *engine = ort_engine(&compiled->base);
    Setup setup = { .engine = engine, .compiled = compiled, .who = compiled->base.who, .error = error };
    if (!ifm_ort_regions_prepare(compiled, error) || !open_prepared(compiled, error) ||
        !step(&setup, engine->api->CreateSessionOptions(&setup.options)))
        return FALSE;
    gboolean ok = set_threads(&setup) && set_graph(&setup) && set_saving(&setup) && set_profiling(&setup) &&
                  set_device(&setup) && set_vendor(&setup) && create_session(&setup);
    compiled->n_sessions++;
    engine->api->ReleaseSessionOptions(setup.options);
    g_autofree char *weights = weights_path(compiled);
    if (weights != NULL)
        unlink(weights); /* removes the link */
    return ok;
}

/* The API reports no dimensions for a scalar and for a tensor of unknown rank. If the model does not declare a scalar,
 * the rank is taken as unknown, and the runtime allocates the tensor. */
static gboolean is_scalar(const IfmCompiled *compiled, const char *name)
{
    const IfmModel *model = compiled->model;
    for (gsize i = 0; i < ifm_model_n_inputs(model); i++)
        if (g_str_equal(ifm_model_input(model, i)->name, name))
            return ifm_model_input(model, i)->rank == 0;
    for (gsize i = 0; i < ifm_model_n_outputs(model); i++)
        if (g_str_equal(ifm_model_output(model, i)->name, name))
            return ifm_model_output(model, i)->rank == 0;
    return FALSE;
}

/* Describes one port. FALSE if it is not a tensor of a type that can be set. A sequence, a map or an optional that comes
 * out has no element type and an unknown rank: it is made, and not read. */
static gboolean describe_port(OrtCompiled *self, OrtTypeInfo *type, gboolean is_output, IfmPort *port, GError **error)
{
    const OrtApi *api = ort_engine(&self->base)->api;
    const OrtTensorTypeAndShapeInfo *shape = NULL;
    ONNXTensorElementDataType element = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
    enum ONNXType kind = ONNX_TYPE_TENSOR;
    size_t rank = 0;
    port->rank = -1;
    if (api->GetOnnxTypeFromTypeInfo(type, &kind) == NULL && kind != ONNX_TYPE_TENSOR && is_output)
        return TRUE;
    if (api->CastTypeInfoToTensorInfo(type, &shape) == NULL && shape != NULL &&
        api->GetTensorElementType(shape, &element) == NULL && api->GetDimensionsCount(shape, &rank) == NULL)
        port->dtype = ifm_ort_dtype(element);
    if (port->dtype == IFM_DTYPE_UNDEFINED || rank > IFM_MAX_RANK)
        return ifm_error_set(error, IFM_ERROR_UNSUPPORTED,
                             "%s: %s '%s' is %s: tensors of numbers or texts, of rank %d or less, can be fed",
                             ifm_model_name(self->base.model), is_output ? "output" : "input", port->name,
                             kind != ONNX_TYPE_TENSOR ? "a sequence, a map or optional"
                             : rank > IFM_MAX_RANK    ? "of a higher rank"
                                                      : "of a type that the runtime's interface has no name for",
                             IFM_MAX_RANK);
    const char *names[IFM_MAX_RANK] = { NULL };
    port->rank = rank == 0 && !is_scalar(&self->base, port->name) ? -1 : (int)rank;
    if (rank > 0 &&
        !(ifm_ort_check(api, api->GetDimensions(shape, port->dims, rank), port->name, IFM_ERROR_FAILED, error) &&
          ifm_ort_check(api, api->GetSymbolicDimensions(shape, names, rank), port->name, IFM_ERROR_FAILED, error)))
        return FALSE;
    for (int axis = 0; axis < port->rank; axis++)
    {
        if (port->dims[axis] >= 0)
            continue;
        gboolean is_named = names[axis] != NULL && *names[axis] != '\0' && !g_str_equal(names[axis], "?");
        g_autofree char *name = is_named ? g_strdup(names[axis])
                                         : g_strdup_printf("%s[%d]", port->name, axis); /* as ifm_model_input() has it */
        port->dims[axis] =
            ifm_runtime_bound(&self->base.options, name); /* a nameless dimension, which the runtime leaves free */
        port->dim_names[axis] = port->dims[axis] < 0 ? g_steal_pointer(&name) : NULL;
    }
    return TRUE;
}

typedef struct
{
    gboolean is_output;
    OrtStatus *(*count)(const OrtSession *session, size_t *out);
    OrtStatus *(*name)(const OrtSession *session, size_t index, OrtAllocator *allocator, char **value);
    OrtStatus *(*type)(const OrtSession *session, size_t index, OrtTypeInfo **type);
} Side;

static gboolean add_ports(OrtCompiled *self, const Side *side, GPtrArray *ports, char ***names, GError **error)
{
    const OrtApi *api = ort_engine(&self->base)->api;
    const char *who = ifm_model_name(self->base.model);
    OrtAllocator *allocator;
    size_t n = 0;
    if (!ifm_ort_check(api, api->GetAllocatorWithDefaultOptions(&allocator), who, IFM_ERROR_FAILED, error) ||
        !ifm_ort_check(api, side->count(self->session, &n), who, IFM_ERROR_FAILED, error))
        return FALSE;
    *names = g_new0(char *, n + 1);
    for (size_t i = 0; i < n; i++)
    {
        IfmPort *port = g_new0(IfmPort, 1);
        char *name = NULL;
        OrtTypeInfo *type = NULL;
        g_ptr_array_add(ports, port);
        if (!ifm_ort_check(api, side->name(self->session, i, allocator, &name), who, IFM_ERROR_FAILED, error))
            return FALSE;
        port->name = g_strdup(name);
        (*names)[i] = port->name;
        ifm_ort_check(api, api->AllocatorFree(allocator, name), who, IFM_ERROR_FAILED, NULL);
        gboolean ok = ifm_ort_check(api, side->type(self->session, i, &type), who, IFM_ERROR_FAILED, error) &&
                      describe_port(self, type, side->is_output, port, error);
        api->ReleaseTypeInfo(type);
        if (!ok)
            return FALSE;
    }
    return TRUE;
}

gboolean ifm_ort_session_ports(OrtCompiled *compiled, GError **error)
{
    const OrtApi *api = ort_engine(&compiled->base)->api;
    const Side inputs = { FALSE, api->SessionGetInputCount, api->SessionGetInputName, api->SessionGetInputTypeInfo };
    const Side outputs = { TRUE, api->SessionGetOutputCount, api->SessionGetOutputName, api->SessionGetOutputTypeInfo };
    return add_ports(compiled, &inputs, compiled->base.inputs, &compiled->input_names, error) &&
           add_ports(compiled, &outputs, compiled->base.outputs, &compiled->output_names, error);
}
