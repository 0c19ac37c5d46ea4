#include <fcntl.h>
#include <unistd.h>

#include <base/fields.h>
#include <regions/regions.h>
#include <sensor/sensor.h>

#include "worker-private.h"

/* A worker notes the memory of its process and of the runtime, and refuses a model that does not fit. */

/* --- notes -------------------------------------------------------------------------------------------------------- */

/* memory.GROUP, made where it is not there yet. */
static json_t *group_of(Worker *worker, const char *group)
{
    IfmMeasurement *measurement = worker->measurement;
    if (measurement->memory == NULL)
        measurement->memory = json_object();
    json_t *object = json_object_get(measurement->memory, group);
    if (object == NULL)
    {
        object = json_object();
        json_object_set_new(measurement->memory, group, object);
    }
    return object;
}

static void note(json_t *object, const char *key, gint64 bytes)
{
    json_object_set_new(object, key, bytes >= 0 ? json_integer(bytes) : json_null());
}

/* memory.GROUP is null, and memory.GROUP_why says why. */
static void note_absence(Worker *worker, const char *group, const char *why)
{
    g_autofree char *key = g_strconcat(group, "_why", NULL);
    group_of(worker, group); /* memory exists from here on */
    json_object_set_new(worker->measurement->memory, group, json_null());
    json_object_set_new(worker->measurement->memory, key, ifm_json_string(why));
}

/* --- the process -------------------------------------------------------------------------------------------------- */

void worker_reset_peak(Worker *worker)
{
    int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    gboolean reset = fd >= 0 && write(fd, "5", 1) == 1;
    if (fd >= 0)
        close(fd);
    json_object_set_new(group_of(worker, "process"), "peak_reset", json_boolean(reset));
}

void worker_note_rss(Worker *worker, const char *key)
{
    note(group_of(worker, "process"), key, ifm_sensor_rss_bytes("/", getpid()));
}

void worker_note_peak(Worker *worker, const char *key)
{
    note(group_of(worker, "process"), key, ifm_sensor_peak_rss_bytes("/", getpid()));
}

void worker_note_models(Worker *worker)
{
    note(group_of(worker, "process"), "models_before", worker->n_models);
    worker->n_models++;
}

/* Equals: @peak - before_compile_bytes, 0 or more: the kernel counts resident memory in batches. */
static void note_growth(json_t *process, const char *key, const char *peak)
{
    const json_t *before = json_object_get(process, "before_compile_bytes"), *max = json_object_get(process, peak);
    gboolean known = json_is_integer(before) && json_is_integer(max);
    note(process, key, known ? MAX(json_integer_value(max) - json_integer_value(before), 0) : -1);
}

void worker_note_growth(Worker *worker)
{
    json_t *process = group_of(worker, "process");
    note_growth(process, "growth_compile_bytes", "peak_compile_bytes");
    note_growth(process, "growth_runs_bytes", "peak_runs_bytes");
}

/* --- the runtime's own figures ------------------------------------------------------------------------------------ */

static void note_allocator(Worker *worker, const char *group, gint64 in_use, gint64 peak, gint64 reserved)
{
    json_t *object = group_of(worker, group);
    note(object, "in_use_bytes", in_use);
    note(object, "peak_bytes", peak);
    note(object, "reserved_bytes", reserved);
}

/* Whether it computes, and so needs the memory. A real engine's CPU does, in host memory, and need not be asked: asking
 * ONNX Runtime for its devices here, between two runtimes' compiling, left OpenVINO's threads on the other's cores
 * (tests/study/test-contention-engines.c). */
static IfmDeviceInfo *find_accelerator(IfmEngine *engine, const IfmDeviceSpec *spec)
{
    return spec == NULL || g_str_equal(spec->unit, "CPU") ? NULL : ifm_engine_find_device(engine, spec, NULL);
}

static gboolean takes_memory(IfmEngine *engine, const IfmDeviceSpec *spec, gboolean *own_memory)
{
    g_autoptr(IfmDeviceInfo) info = find_accelerator(engine, spec);
    *own_memory = info != NULL && info->own_memory;
    if (g_str_equal(spec->unit, "CPU"))
        return TRUE;
    return info != NULL && (info->capabilities & IFM_CAN_TRUE_OUTPUTS) != 0;
}

void worker_note_engine_memory(Worker *worker)
{
    IfmEngineMemory memory;
    g_autoptr(GError) failure = NULL;
    g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse(worker_model_case(worker)->device, NULL);
    g_autoptr(IfmDeviceInfo) info = find_accelerator(worker->engine, spec);
    gboolean own_memory = info != NULL && info->own_memory;
    if (info != NULL)
        json_object_set_new(worker->measurement->environment, "hardware",
                            json_pack("{s:o,s:o}", "name", ifm_json_string(info->description), "memory_bytes",
                                      info->memory_bytes > 0 ? json_integer(info->memory_bytes) : json_null()));
    ifm_compiled_memory(worker->subject->compiled, &memory, &failure);
    const char *why = failure != NULL ? failure->message : "the runtime does not report it";
    if (memory.in_use_bytes >= 0 || memory.peak_bytes >= 0 || memory.reserved_bytes >= 0)
        note_allocator(worker, "engine", memory.in_use_bytes, memory.peak_bytes, memory.reserved_bytes);
    else
        note_absence(worker, "engine", why);
    if (memory.device_in_use_bytes >= 0 || memory.device_peak_bytes >= 0 || memory.device_reserved_bytes >= 0)
        note_allocator(worker, "device", memory.device_in_use_bytes, memory.device_peak_bytes,
                       memory.device_reserved_bytes);
    else
        note_absence(worker, "device", own_memory ? why : "the device computes in the host's memory");
}

/* --- whether it fits ---------------------------------------------------------------------------------------------- */

static void note_graph(Worker *worker, const IfmMemoryPlan *plan)
{
    json_t *graph = group_of(worker, "graph");
    note(graph, "parameter_bytes", plan->parameter_bytes);
    note(graph, "input_bytes", plan->input_bytes);
    note(graph, "output_bytes", plan->output_bytes);
    note(graph, "activation_bytes", plan->activation_bytes);
    note(graph, "peak_bytes", plan->peak_bytes);
    note(graph, "arena_bytes", plan->arena_bytes);
    const IfmModel *model = worker->model;
    const char *node = plan->peak_node < ifm_model_n_nodes(model) ? ifm_model_node(model, plan->peak_node)->name : "";
    json_object_set_new(graph, "peak_node", ifm_json_string(node));
    note(graph, "n_unknown", (gint64)plan->n_unknown);
}

/* plan_inputs: What can be said where nothing of the nodes can: the inputs have to be there before the first. */
static void plan_inputs(const IfmModel *model, const IfmModelCase *model_case, IfmMemoryPlan *plan)
{
    for (gsize i = 0; i < ifm_model_n_inputs(model); i++)
    {
        const IfmPort *port = ifm_model_input(model, i);
        gint64 shape[IFM_MAX_RANK], bytes = (gint64)ifm_dtype_size_bytes(port->dtype);
        if (port->rank < 0 || !ifm_port_bind(port, model_case->bindings, model_case->n_bindings, shape, NULL))
            continue;
        for (int axis = 0; axis < port->rank; axis++)
            if (__builtin_mul_overflow(bytes, shape[axis], &bytes))
                bytes = G_MAXINT64;
        plan->input_bytes = bytes > G_MAXINT64 - plan->input_bytes ? G_MAXINT64 : plan->input_bytes + bytes;
    }
    plan->peak_bytes = plan->input_bytes;
    plan->peak_node = G_MAXSIZE;
}

static char *size_of(gint64 bytes)
{
    if (bytes == G_MAXINT64) /* where a sum stays that would have gone past it */
        return g_strdup("more than 8 EiB");
    return g_strdup_printf("%.*f GiB", bytes < (gint64)10 << 30 ? 2 : 1, (double)bytes / (1 << 30));
}

/* Why it does not fit. @alive: what besides the parameters; @there: "available", "within the case's limit" */
static void refuse(const IfmModel *model, const char *name, const IfmMemoryPlan *plan, gint64 alive, gboolean own_memory,
                   gint64 bound, const char *there, GError **error)
{
    g_autofree char *needed =
        size_of(plan->parameter_bytes > G_MAXINT64 - alive ? G_MAXINT64 : plan->parameter_bytes + alive);
    g_autofree char *parameters = size_of(plan->parameter_bytes), *alive_text = size_of(alive), *has = size_of(bound);
    const char *node = plan->peak_node < ifm_model_n_nodes(model) ? ifm_model_node(model, plan->peak_node)->name : "";
    g_autofree char *what = own_memory ? g_strdup("inputs and outputs")
                            : plan->peak_node == G_MAXSIZE
                                ? g_strdup("inputs alone")
                                : g_strdup_printf("tensors alive at node %zu%s%s%s", plan->peak_node,
                                                  *node != '\0' ? " '" : "", node, *node != '\0' ? "'" : "");
    ifm_error_refuse(error, "%s: needs at least %s (parameters %s, %s: %s), there are %s %s", name, needed, parameters,
                     what, alive_text, has, there);
}

/* @bound: 0 or less: none */
static gboolean fits(const IfmModel *model, const char *name, const IfmMemoryPlan *plan, gboolean own_memory, gint64 bound,
                     const char *there, GError **error)
{
    gint64 alive = plan->peak_bytes;
    if (own_memory)
        alive = plan->input_bytes > G_MAXINT64 - plan->output_bytes ? G_MAXINT64 : plan->input_bytes + plan->output_bytes;
    if (bound <= 0 || (alive <= bound && plan->parameter_bytes <= bound - alive))
        return TRUE;
    refuse(model, name, plan, alive, own_memory, bound, there, error);
    return FALSE;
}

/* Whether what is free now holds it. */
static gboolean fits_now(const IfmModel *model, const char *name, const IfmMemoryPlan *plan, gboolean own_memory,
                         GError **error)
{
    return fits(model, name, plan, own_memory, MAX(ifm_sensor_free_bytes("/"), 1), "available", error);
}

/* What people call it: the file may be one of ours, with a long name. */
static const char *called(const IfmModelCase *model_case)
{
    return model_case->model_name != NULL ? model_case->model_name : model_case->model_path;
}

gboolean worker_check_fits(Worker *worker, const IfmDeviceSpec *spec, gint64 limit_bytes, GError **error)
{
    const IfmModelCase *model_case = worker_model_case(worker);
    g_autoptr(GError) unknown = NULL;
    g_autoptr(IfmAnalysis) analysis =
        ifm_regions_analyse(worker->model, model_case->bindings, model_case->n_bindings, &unknown);
    g_auto(IfmMemoryPlan) plan = { 0 };
    if (analysis == NULL) /* whether it is wrong is for the runtime to say, but it has to be fed */
    {
        note_absence(worker, "graph", unknown->message);
        plan_inputs(worker->model, model_case, &plan);
    }
    else
    {
        ifm_analysis_memory(analysis, &plan);
        note_graph(worker, &plan);
    }
    gboolean own_memory;
    if (!takes_memory(worker->engine, spec, &own_memory))
        return TRUE;
    const char *name = called(model_case);
    return fits_now(worker->model, name, &plan, own_memory, error) &&
           fits(worker->model, name, &plan, own_memory, limit_bytes, "within the case's limit", error);
}

gboolean worker_check_load_fits(IfmEngine *engine, const IfmDeviceSpec *spec, IfmModel *model,
                                const IfmModelCase *model_case, GError **error)
{
    gboolean own_memory;
    g_autoptr(IfmAnalysis) analysis = ifm_regions_analyse(model, model_case->bindings, model_case->n_bindings, NULL);
    if (!takes_memory(engine, spec, &own_memory))
        return TRUE;
    g_auto(IfmMemoryPlan) plan = { 0 };
    if (analysis != NULL)
        ifm_analysis_memory(analysis, &plan);
    else
        plan_inputs(model, model_case, &plan);
    return fits_now(model, called(model_case), &plan, own_memory, error);
}
