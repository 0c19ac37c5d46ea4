#include <math.h>
#include <pthread.h>
#include <string.h>

#include <base/base.h>
#include <base/fields.h>
#include <convolution/convolution.h>
#include <regions/regions.h>

#include "measure-private.h"

/* This subject compiles a model for a device, runs it in one or more streams, and attests outputs and effective
 * configuration. */

static IfmCompileOptions options_of(const IfmModel *model, const IfmModelCase *model_case, IfmCompilePurpose profiled)
{
    IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
    options.dtype = model_case->dtype == IFM_DTYPE_UNDEFINED || profiled == IFM_COMPILE_REFERENCE
                        ? ifm_model_dtype(model) /* the reference is the model as it is written */
                        : model_case->dtype;
    options.threads = model_case->threads;
    options.profiling = profiled == IFM_COMPILE_PROFILED || profiled == IFM_COMPILE_OBSERVED;
    options.optimise = profiled != IFM_COMPILE_REFERENCE && profiled != IFM_COMPILE_OBSERVED && !model_case->as_is;
    options.time_regions = profiled == IFM_COMPILE_TUNED;
    options.native_async = model_case->native_async;
    options.keep_tensors = model_case->keep_tensors;
    if (!model_case->free_shapes)
    {
        options.bindings = model_case->bindings;
        options.n_bindings = model_case->n_bindings;
    }
    options.sizes = model_case->sizes;
    options.n_sizes = model_case->n_sizes;
    options.cache_dir = model_case->cache_dir;
    options.vendor = model_case->vendor;
    if (options.optimise)
        options.convolutions = model_case->convolutions;
    return options;
}

/* --- making ------------------------------------------------------------------------------------------------------- */

/* Whether the values of inputs and outputs matter to anybody. */
static gboolean computes(const IfmModelSubject *self)
{
    return (ifm_compiled_info(self->compiled).capabilities & IFM_CAN_TRUE_OUTPUTS) != 0;
}

/* The port's index as the compiled model has it; runtimes may order ports in their own way. */
static gssize find_input(const IfmModelSubject *self, const char *name)
{
    for (gsize i = 0; i < ifm_compiled_info(self->compiled).n_inputs; i++)
        if (g_str_equal(ifm_compiled_input(self->compiled, i)->name, name))
            return (gssize)i;
    return -1;
}

static gboolean set_inputs(IfmModelSubject *self, IfmRequest *request, GError **error)
{
    for (gsize i = 0; i < self->inputs.n; i++)
    {
        gssize port = find_input(self, ifm_model_input(self->model, i)->name);
        if (port >= 0 && !ifm_request_set_input(request, (gsize)port, &self->inputs.tensors[i], error))
            return FALSE;
    }
    return TRUE;
}

/* The shape that an output will have: as compiled, or, with free dimensions, as follows from the inputs' sizes. */
static gboolean output_shape(const IfmModelSubject *self, const IfmPort *port, int *rank, gint64 *shape)
{
    IfmDtype dtype;
    if (ifm_port_is_fixed(port))
    {
        *rank = port->rank;
        memcpy(shape, port->dims, (gsize)port->rank * sizeof *shape);
        return TRUE;
    }
    return self->analysis != NULL && ifm_analysis_shape(self->analysis, port->name, &dtype, rank, shape) &&
           dtype == port->dtype;
}

/* Outputs whose shapes are known get memory beforehand, so that no run allocates them: where dimensions are free, too, as
 * both runtimes then write to the memory they are given. What depends on the inputs' values the runtime allocates, and
 * single numbers: an exporter that saw a batch of 1 says so of what has one for each sample. */
static gboolean set_outputs(IfmModelSubject *self, IfmRequest *request, IfmTensor *outputs, GError **error)
{
    if (!(ifm_compiled_info(self->compiled).capabilities & IFM_CAN_SET_OUTPUT))
        return TRUE;
    for (gsize i = 0; i < self->n_outputs; i++)
    {
        const IfmPort *port = ifm_compiled_output(self->compiled, i);
        gint64 shape[IFM_MAX_RANK];
        int rank;
        if (ifm_dtype_size_bytes(port->dtype) > 0 && output_shape(self, port, &rank, shape) && rank > 0 &&
            (!(computes(self) ? ifm_tensor_init : ifm_tensor_reserve)(&outputs[i], port->dtype, rank, shape, error) ||
             !ifm_request_set_output(request, i, &outputs[i], error)))
            return FALSE;
    }
    return TRUE;
}

static gboolean make_requests(IfmModelSubject *self, GError **error)
{
    self->n_outputs = ifm_compiled_info(self->compiled).n_outputs;
    self->requests = g_new0(IfmRequest *, (gsize)self->n_streams);
    self->outputs = g_new0(IfmTensor, (gsize)self->n_streams * self->n_outputs);
    for (int stream = 0; stream < self->n_streams; stream++)
    {
        IfmRequest *request = ifm_compiled_request(self->compiled, stream, error);
        if (request == NULL)
            return FALSE;
        self->requests[stream] = request;
        if (!set_inputs(self, request, error) ||
            !set_outputs(self, request, self->outputs + (gsize)stream * self->n_outputs, error))
            return FALSE;
    }
    return TRUE;
}

IfmModelSubject *ifm_model_subject_new(IfmEngine *engine, IfmModel *model, const IfmModelCase *model_case,
                                       IfmCompilePurpose profiled, GError **error)
{
    return ifm_model_subject_new_saving(engine, model, model_case, profiled, NULL, error);
}

IfmModelSubject *ifm_model_subject_new_saving(IfmEngine *engine, IfmModel *model, const IfmModelCase *model_case,
                                              IfmCompilePurpose profiled, const char *path, GError **error)
{
    g_autoptr(IfmModelSubject) self = g_new0(IfmModelSubject, 1);
    self->model = ifm_model_ref(model);
    self->engine = engine;
    self->options = options_of(model, model_case, profiled);
    self->options.save_optimised = path;
    self->options.save_outline = TRUE;
    self->dtype = self->options.dtype;
    self->tolerance = ifm_tolerance_for(self->dtype, model_case->rtol, model_case->atol);
    self->tolerance.as_wholes = model_case->as_wholes;
    self->spec = ifm_device_spec_parse(model_case->device, error);
    if (self->spec == NULL || !ifm_model_check_bindings(model, model_case->bindings, model_case->n_bindings, error))
        return NULL;
    self->n_streams = MAX(1, self->spec->n_streams);
    if (model_case->free_shapes)
        self->analysis = ifm_regions_analyse(model, model_case->bindings, model_case->n_bindings, NULL);
    gint64 began_us = g_get_monotonic_time();
    self->compiled = ifm_engine_compile(engine, model, self->spec, &self->options, error);
    self->compile_ns = (g_get_monotonic_time() - began_us) * 1000;
    self->options.save_optimised = NULL; /* done, and the path is the caller's */
    if (self->compiled == NULL || !ifm_case_make_inputs(model, model_case, computes(self), &self->inputs, error) ||
        !make_requests(self, error))
        return NULL;
    return g_steal_pointer(&self);
}

void ifm_model_subject_free(IfmModelSubject *self)
{
    if (self == NULL)
        return;
    for (int stream = 0; self->requests != NULL && stream < self->n_streams; stream++)
        ifm_request_free(self->requests[stream]);
    ifm_compiled_free(self->compiled);
    ifm_analysis_free(self->analysis);
    for (gsize i = 0; self->outputs != NULL && i < (gsize)self->n_streams * self->n_outputs; i++)
        ifm_tensor_clear(&self->outputs[i]);
    for (int i = 0; self->busy != NULL && i < self->n_streams - 1; i++)
        g_clear_error(&self->busy[i].runs.error);
    g_free(self->busy);
    g_free(self->requests);
    g_free(self->outputs);
    ifm_inputs_clear(&self->inputs);
    ifm_device_spec_free(self->spec);
    ifm_verification_clear(&self->verdict);
    ifm_model_unref(self->model);
    g_free(self);
}

gsize ifm_model_subject_io_bytes(const IfmModelSubject *self)
{
    gsize n = 0;
    for (gsize i = 0; i < self->inputs.n; i++)
        n += self->inputs.tensors[i].size_bytes;
    for (gsize i = 0; i < self->n_outputs; i++)
        n += self->outputs[i].size_bytes;
    return n;
}

/* --- running ------------------------------------------------------------------------------------------------------ */

static inline gboolean infer(IfmRequest *request, GError **error)
{
    return ifm_request_start(request, NULL, NULL, error) && ifm_request_wait(request, IFM_CLOCK_NEVER, error);
}

static gboolean model_run(void *data, GError **error)
{
    IfmModelSubject *self = data;
    return infer(self->requests[0], error);
}

static gboolean busy_run(void *data, GError **error)
{
    const IfmBusyStream *busy = data;
    return infer(busy->subject->requests[busy->stream], error);
}

static void *busy_main(void *data)
{
    IfmBusyStream *busy = data;
    ifm_compiled_invoke(busy->subject->compiled, busy->stream, ifm_repeat, &busy->runs);
    ifm_clock_leave(ifm_engine_info(busy->subject->engine).clock);
    return NULL;
}

static void start_busy(IfmModelSubject *self)
{
    if (self->busy == NULL)
        self->busy = g_new0(IfmBusyStream, (gsize)self->n_streams - 1);
    g_atomic_int_set(&self->stop_busy, 0);
    for (int i = 0; i < self->n_streams - 1; i++)
    {
        IfmBusyStream *busy = &self->busy[i];
        busy->subject = self;
        busy->stream = i + 1;
        busy->runs.subject = (IfmSubject){ .run = busy_run, .self = busy };
        busy->runs.until_ns = IFM_CLOCK_NEVER;
        busy->runs.stop = &self->stop_busy;
        ifm_clock_enter(ifm_engine_info(self->engine).clock); /* for the thread, before it runs */
        if (pthread_create(&busy->thread, NULL, busy_main, busy) != 0)
            g_error("no thread for stream %d", i + 1);
    }
}

static void stop_busy(IfmModelSubject *self)
{
    IfmClock *clock = ifm_engine_info(self->engine).clock;
    g_atomic_int_set(&self->stop_busy, 1);
    ifm_clock_leave(clock); /* a join is no wait of the clock's */
    for (int i = 0; i < self->n_streams - 1; i++)
        pthread_join(self->busy[i].thread, NULL);
    ifm_clock_enter(clock);
}

/*
 * With several streams (#N) the latency is that of one inference while the others infer too, without pause: what a caller
 * of a server with N busy streams sees. The first stream is timed on its own executing thread, as without streams.
 */
static void model_invoke(void *data, void (*function)(void *user), void *user)
{
    IfmModelSubject *self = data;
    if (self->n_streams > 1)
        start_busy(self);
    ifm_compiled_invoke(self->compiled, 0, function, user);
    if (self->n_streams > 1)
        stop_busy(self);
}

json_t *ifm_model_subject_streams(const IfmModelSubject *self)
{
    if (self->n_streams <= 1 || self->busy == NULL)
        return NULL;
    guint64 others = 0;
    for (int i = 0; i < self->n_streams - 1; i++)
        others += self->busy[i].runs.n;
    return json_pack("{s:i,s:s,s:I}", "n", self->n_streams, "latency",
                     "of one inference on the first stream while all others infer without pause", "n_other_runs",
                     (json_int_t)others);
}

/* --- verifying ---------------------------------------------------------------------------------------------------- */

static gboolean verify_stream(IfmModelSubject *self, int stream, GError **error)
{
    for (gsize i = 0; i < self->n_outputs; i++)
    {
        IfmTensor value = IFM_TENSOR_INIT;
        if (!ifm_request_output(self->requests[stream], i, &value, error))
            return FALSE;
        if (!computes(self))
            value = ifm_tensor_head(&value, IFM_UNTRUE_OUTPUT_BYTES);
        self->wrong = !ifm_reference_check(self->reference, ifm_compiled_output(self->compiled, i)->name, &value,
                                           self->dtype, &self->tolerance, &self->verdict, error);
        if (self->wrong)
            return FALSE;
    }
    return TRUE;
}

static gboolean model_verify(void *data, GError **error)
{
    return verify_stream(data, 0, error);
}

gboolean ifm_model_subject_verify(IfmModelSubject *self, GError **error)
{
    for (int stream = 1; stream < self->n_streams; stream++)
    {
        IfmBusyStream *busy = self->busy != NULL ? &self->busy[stream - 1] : NULL;
        if (busy != NULL && busy->runs.error != NULL)
        {
            g_propagate_error(error, g_steal_pointer(&busy->runs.error));
            g_prefix_error(error, "stream %d: ", stream);
            return FALSE;
        }
        if (busy != NULL && busy->runs.n > 0 && !verify_stream(self, stream, error))
            return FALSE;
    }
    return TRUE;
}

json_t *ifm_model_subject_verification(const IfmModelSubject *self)
{
    return ifm_verification_to_json(&self->verdict, self->wrong, self->reference != NULL ? &self->tolerance : NULL);
}

/* --- attesting ---------------------------------------------------------------------------------------------------- */

/* [{"arithmetic", "nodes"}]: in how many nodes each was computed in, in the order that they first ran. */
static json_t *arithmetic_of(const IfmEffectiveConfig *effective_config)
{
    json_t *list = json_array();
    for (guint i = 0; effective_config->nodes != NULL && i < effective_config->nodes->len; i++)
    {
        const char *arithmetic = ((const IfmNodeConfig *)effective_config->nodes->pdata[i])->arithmetic;
        json_t *known = NULL, *one;
        gsize k;
        json_array_foreach(list, k, one) if (g_str_equal(ifm_member_text(one, "arithmetic"), arithmetic)) known = one;
        if (known != NULL)
            json_object_set_new(known, "nodes", json_integer(json_integer_value(json_object_get(known, "nodes")) + 1));
        else if (*arithmetic != '\0')
            json_array_append_new(list, json_pack("{s:s,s:i}", "arithmetic", arithmetic, "nodes", 1));
    }
    return list;
}

static json_t *effective_config_to_json(const IfmEffectiveConfig *effective_config)
{
    json_t *nodes = json_array();
    for (guint i = 0; effective_config->nodes != NULL && i < effective_config->nodes->len; i++)
    {
        const IfmNodeConfig *node = effective_config->nodes->pdata[i];
        json_array_append_new(nodes,
                              json_pack("{s:o,s:o,s:o,s:o,s:s,s:o}", "name", ifm_json_string(node->name), "op_type",
                                        ifm_json_string(node->op_type), "provider", ifm_json_string(node->provider),
                                        "implementation", ifm_json_string(node->implementation), "dtype",
                                        ifm_dtype_name(node->dtype), "arithmetic", ifm_json_string(node->arithmetic)));
    }
    json_t *json = json_pack("{s:s,s:s,s:o,s:i,s:i,s:o,s:o}", "dtype", ifm_dtype_name(effective_config->dtype), "written",
                             ifm_dtype_name(effective_config->written), "arithmetic", arithmetic_of(effective_config),
                             "n_threads", effective_config->n_threads, "n_streams", effective_config->n_streams, "cores",
                             ifm_json_string(effective_config->cores), "nodes", nodes);
    if (effective_config->convolutions != NULL)
        json_object_set_new(json, "convolutions", ifm_conv_layers_to_json(effective_config->convolutions));
    return json;
}

json_t *ifm_model_subject_effective_config(IfmModelSubject *self, IfmMeasurement *measurement, GError **error)
{
    g_autofree IfmTensor *inputs =
        g_new0(IfmTensor, ifm_compiled_info(self->compiled).n_inputs); /* in the engine's order */
    for (gsize i = 0; i < self->inputs.n; i++)
    {
        gssize port = find_input(self, ifm_model_input(self->model, i)->name);
        if (port >= 0)
            inputs[port] = self->inputs.tensors[i];
    }
    g_autoptr(IfmEffectiveConfig) effective_config = ifm_compiled_effective_config(self->compiled, inputs, error);
    if (effective_config == NULL)
        return NULL;
    json_object_set_new(measurement->environment, "first_inference_ns", json_integer(effective_config->first_ns));
    ifm_effective_config_check(effective_config, self->spec, &self->options, error);
    g_auto(GStrv) warnings = ifm_effective_config_warnings(effective_config, self->spec, &self->options);
    gboolean threads_matter =
        !ifm_clock_is_virtual(ifm_engine_info(self->engine).clock); /* there none has anything to do */
    for (gsize i = 0; threads_matter && warnings[i] != NULL; i++)
        ifm_measurement_warn(measurement, "%s", warnings[i]);
    return effective_config_to_json(effective_config);
}

IfmSubject ifm_model_subject_slots(IfmModelSubject *self)
{
    return (IfmSubject){ .name = ifm_model_name(self->model),
                         .clock = ifm_engine_info(self->engine).clock,
                         .run = model_run,
                         .invoke = model_invoke,
                         .verify = model_verify,
                         .self = self,
                         .is_elsewhere =
                             (ifm_device_traits(self->spec->engine, self->spec->unit) & IFM_DEVICE_ELSEWHERE) != 0 };
}
