/* A model on a device: what describes a case of it, and its record. model-worker.c measures it. */
#include <base/fields.h>
#include <convolution/convolution.h>
#include <onnx/fused-kernel.h>
#include <store/store.h>

#include "../kind-private.h"

static const IfmRecordField binding_fields[] = {
    { IFM_RECORD(NAME, IfmDimBinding, name) },
    { IFM_RECORD(INT64, IfmDimBinding, value) },
    { NULL },
};

static const IfmRecordField load_fields[] = {
    { IFM_RECORD(NAME, IfmLoadDevice, alias) },       { IFM_RECORD(NAME, IfmLoadDevice, device) },
    { IFM_RECORD(PATH, IfmLoadDevice, model_path) },  { IFM_RECORD(PATH, IfmLoadDevice, inputs_path) },
    { IFM_RECORD(FLAG, IfmLoadDevice, free_shapes) }, { NULL },
};

static gboolean is_profiled(const void *self)
{
    return ((const IfmModelCase *)self)->profile;
}

static gboolean is_verified(const void *self)
{
    return ((const IfmModelCase *)self)->verify;
}

static gboolean has_tolerance(const void *self)
{
    const IfmModelCase *model_case = self;
    return model_case->verify && (model_case->rtol != 0 || model_case->atol != 0);
}

#define FIELD(TYPE, member) IFM_RECORD(TYPE, IfmModelCase, member)
#define LIST(TYPE, member, n) FIELD(TYPE, member), .count = offsetof(IfmModelCase, n)

/* Verified and profiled stand in the key since the record then holds more, or is sure of more: one measured without is no
 * answer to who asks for it. */
static const IfmRecordField fields[] = {
    { FIELD(PATH, model_path) },
    { FIELD(NAME, model_name) },
    { FIELD(NAME, device) },
    { FIELD(NAME, alias) },
    { FIELD(NAME, subject_kind) },
    { LIST(PARTS, bindings, n_bindings), .fields = binding_fields, .size = sizeof(IfmDimBinding) },
    { LIST(PARTS, sizes, n_sizes), .fields = binding_fields, .size = sizeof(IfmDimBinding) },
    { FIELD(PATH, inputs_path) },
    { FIELD(PATH, cache_dir) },
    { FIELD(DTYPE, dtype), .key = "dtype" },
    { FIELD(INT, threads), .key = "threads" },
    { FIELD(UINT32, seed), .key = "seed" },
    { FIELD(PART, protocol), .fields = ifm_protocol_fields, .key = "protocol" },
    { FIELD(WORDS, vendor), .key = "vendor" },
    { FIELD(NAME, energy), .key = "energy", .unless_zero = TRUE },
    { FIELD(WORDS, convolutions), .key = "convolutions", .unless_zero = TRUE },
    { FIELD(FLAG, native_async), .key = "native_async", .unless_zero = TRUE },
    { FIELD(FLAG, free_shapes), .key = "free_shapes", .unless_zero = TRUE },
    { FIELD(FLAG, verify), .key = "verify" },
    { FIELD(FLAG, profile), .key = "nodes" },
    { FIELD(FLAG, profile_few), .key = "nodes_few", .unless_zero = TRUE, .counts = is_profiled },
    { FIELD(FLAG, as_wholes), .key = "as_wholes", .unless_zero = TRUE, .counts = is_verified },
    { FIELD(INT, tolerance_runs), .key = "tolerance_runs", .unless_zero = TRUE, .counts = is_verified },
    { FIELD(DOUBLE, rtol), .key = "rtol", .counts = has_tolerance },
    { FIELD(DOUBLE, atol), .key = "atol", .counts = has_tolerance },
    { LIST(PARTS, load, n_load), .fields = load_fields, .size = sizeof(IfmLoadDevice) },
    { FIELD(JSON, kernel) },
    { FIELD(SIZE, n_copies), .key = "ring", .unless_zero = TRUE },
    { FIELD(INT64, visit), .key = "visit", .unless_zero = TRUE },
    { FIELD(FLAG, keep_tensors), .key = "keep_tensors", .unless_zero = TRUE },
    { FIELD(FLAG, as_is), .key = "as_is", .unless_zero = TRUE },
    { FIELD(NAME, stress_kind) },
    { FIELD(NAME, stress_cores) },
    { FIELD(NAME, stress_device) },
    { FIELD(DOUBLE, stress_level) },
    { FIELD(INT64, observe_ns), .key = "observe_ns", .unless_zero = TRUE },
    { FIELD(NAME, prometheus) }, /* where a server is, is no part of what was measured */
    { FIELD(INT64, prometheus_wait_ns) },
    { FIELD(WORDS, queries), .key = "queries", .unless_zero = TRUE },
    { NULL },
};

gboolean ifm_case_complete_dtype(IfmModelCase *model_case, GError **error)
{
    if (model_case->dtype != IFM_DTYPE_UNDEFINED)
        return TRUE;
    g_autoptr(IfmModel) model =
        model_case->model != NULL ? ifm_model_ref(model_case->model) : ifm_case_open_model(model_case, error);
    if (model != NULL)
        model_case->dtype = ifm_model_dtype(model);
    return model != NULL;
}

static gboolean complete(void *spec, GError **error)
{
    IfmModelCase *model_case = spec;
    if (!ifm_case_complete_dtype(model_case, error))
        return FALSE;
    if (model_case->kernel != NULL)
    {
        model_case->as_is = TRUE;
        model_case->n_copies = MAX(model_case->n_copies, 1);
        model_case->subject_kind = model_case->subject_kind != NULL ? model_case->subject_kind : "kernel";
    }
    g_autoptr(IfmDeviceSpec) device = ifm_device_spec_parse(model_case->device, error);
    if (device == NULL)
        return FALSE;
    const guint32 traits = ifm_device_traits(device->engine, device->unit);
    model_case->keep_tensors &= (traits & IFM_DEVICE_NVIDIA) != 0;
    if (model_case->n_copies > 1 && (traits & IFM_DEVICE_FUSES) != 0)
        return ifm_error_set(error, IFM_ERROR_UNSUPPORTED,
                             "%s: copies of a kernel have their inputs in common, and what compiles graphs there may make "
                             "one of them",
                             model_case->device);
    return ifm_protocol_check(&model_case->protocol, error) &&
           (model_case->energy == NULL || ifm_energy_source_check(model_case->energy, error));
}

IfmModel *ifm_case_open_model(const IfmModelCase *model_case, GError **error)
{
    if (model_case->kernel == NULL)
        return ifm_model_open(model_case->model_path, error);
    g_autoptr(IfmKernelRecord) kernel = ifm_kernel_record_from_json(model_case->kernel, "kernel", error);
    return kernel != NULL ? ifm_kernel_extract(kernel, NULL, model_case->n_copies, model_case->seed, error) : NULL;
}

/* --- the record --------------------------------------------------------------------------------------------------- */

static json_t *case_sizes(const IfmModelCase *model_case)
{
    json_t *json = json_object();
    const IfmDimBinding *sizes = model_case->sizes != NULL ? model_case->sizes : model_case->bindings;
    gsize n = model_case->sizes != NULL ? model_case->n_sizes : model_case->n_bindings;
    for (gsize i = 0; i < n; i++)
        json_object_set_new(json, sizes[i].name, json_integer(sizes[i].value));
    return json;
}

const char *ifm_runner_inputs_of(const IfmCase *sealed)
{
    return ifm_member_text(sealed->options, "inputs");
}

/* What a case is about: a file's model, or a kernel, which is not made for that. */
typedef struct
{
    char *name, *digest, *path;
} Subject;

static void subject_clear(Subject *subject)
{
    g_free(subject->name);
    g_free(subject->digest);
    g_free(subject->path);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Subject, subject_clear)

static gboolean find_kernel(const IfmModelCase *model_case, Subject *subject, GError **error)
{
    g_autoptr(IfmKernelRecord) kernel = ifm_kernel_record_from_json(model_case->kernel, "kernel", error);
    if (kernel == NULL)
        return FALSE;
    subject->name = ifm_kernel_record_stem(kernel);
    subject->digest = g_strdup(kernel->digest);
    subject->path = g_strdup("");
    return TRUE;
}

static gboolean find_subject(IfmRunner *runner, const IfmModelCase *model_case, IfmCase *record, Subject *subject,
                             GError **error)
{
    if (model_case->kernel != NULL)
        return find_kernel(model_case, subject, error);
    g_autoptr(IfmModel) model =
        model_case->model != NULL ? ifm_model_ref(model_case->model) : ifm_model_open(model_case->model_path, error);
    const char *digest =
        model != NULL && ifm_model_check_bindings(model, model_case->bindings, model_case->n_bindings, error)
            ? ifm_model_digest(model, error)
            : NULL;
    g_autofree char *inputs = NULL;
    if (digest != NULL && model_case->inputs_path != NULL)
    {
        inputs = ifm_case_inputs_digest(model, model_case, runner->digests, error);
        if (inputs == NULL)
            return FALSE;
        json_object_set_new(record->options, "inputs", json_string(inputs));
    }
    if (digest == NULL)
        return FALSE;
    subject->name = g_strdup(ifm_model_name(model));
    subject->digest = g_strdup(digest);
    subject->path = g_canonicalize_filename(model_case->model_path, NULL);
    return TRUE;
}

static gboolean seal(IfmRunner *runner, const void *given, const json_t *facts, IfmCase *record, GError **error)
{
    const IfmModelCase *model_case = given;
    g_auto(Subject) subject = { 0 };
    g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse(model_case->device, error);
    if (spec == NULL || !find_subject(runner, model_case, record, &subject, error))
        return FALSE;
    if (facts == NULL)
        facts = ifm_runner_engine_facts(runner, spec->text, spec, error);
    if (facts == NULL)
        return FALSE;
    if (model_case->subject_kind != NULL)
        ifm_record_set_text(&record->subject_kind, model_case->subject_kind);
    ifm_record_set_text(&record->subject_name, model_case->model_name != NULL ? model_case->model_name : subject.name);
    ifm_record_set_text(&record->subject_digest, subject.digest);
    ifm_record_set_text(&record->model_path, subject.path);
    ifm_record_set_text(&record->device, spec->text);
    ifm_record_set_text(&record->alias, model_case->alias);
    ifm_record_set_json(&record->sizes, case_sizes(model_case));
    ifm_case_set_engine(record, facts);
    return ifm_runner_seal_load(runner, model_case, record, error);
}

/* --- where it is measured ----------------------------------------------------------------------------------------- */

static gboolean place_load(IfmModelCase *model_case, IfmKindPlace *place, GError **error)
{
    IfmLoadDevice *load = g_new0(IfmLoadDevice, model_case->n_load + 1);
    ifm_kind_place_keep(place, (char *)load);
    for (gsize i = 0; i < model_case->n_load; i++)
    {
        const IfmDeviceSpec *spec = ifm_kind_place_add(place, model_case->load[i].device, error);
        if (spec == NULL)
            return FALSE;
        load[i] = model_case->load[i];
        load[i].device = spec->text;
        load[i].model_path = ifm_kind_place_path(place, load[i].model_path);
        load[i].inputs_path = ifm_kind_place_path(place, load[i].inputs_path);
    }
    model_case->load = load;
    return TRUE;
}

static gboolean place(IfmRunner *runner, void *spec, const IfmCase *sealed, IfmKindPlace *place, GError **error)
{
    IfmModelCase *model_case = spec;
    if (ifm_kind_place_add(place, sealed->device, error) == NULL || !place_load(model_case, place, error))
        return FALSE;
    model_case->inputs_path = ifm_kind_place_path(place, model_case->inputs_path);
    model_case->cache_dir = ifm_kind_place_path(place, model_case->cache_dir);
    model_case->model_path = sealed->model_path; /* absolute */
    model_case->device = sealed->device;         /* canonical */
    model_case->model_name = sealed->subject_name;
    place->worker = ifm_runner_set_key((const IfmDeviceSpec *const *)(void *)place->devices->pdata, place->devices->len);
    place->level = model_case->protocol.level;
    return TRUE;
}

/* Two processes of a real device never see the same noise; those of a simulated one would, without a seed of their own. */
static void vary(json_t *request_case, GRand *random)
{
    json_t *vendor = json_object_get(request_case, "vendor"), *word;
    gsize i;
    json_array_foreach(vendor, i, word) if (g_str_has_prefix(json_string_value(word), "SEED=")) return;
    if (!g_str_has_prefix(ifm_member_text(request_case, "device"), "simulated:"))
        return;
    g_autofree char *seed = g_strdup_printf("SEED=%u", g_rand_int(random));
    json_array_append_new(vendor, json_string(seed));
}

static const IfmKindInWorker in_worker = { .place = place,
                                           .vary = vary,
                                           .needs_reference = TRUE,
                                           .prepare = worker_model_prepare,
                                           .run = worker_model_run,
                                           .subject = worker_model_subject,
                                           .still_there = worker_model_still_there,
                                           .node_times = worker_model_node_times };

GPtrArray *ifm_model_convolutions(const IfmMeasurement *measurement)
{
    return measurement != NULL ? ifm_conv_layers_from_json(json_object_get(measurement->effective_config, "convolutions"))
                               : NULL;
}

const IfmCaseKind ifm_kind_model = { .name = "model",
                                     .size = sizeof(IfmModelCase),
                                     .fields = fields,
                                     .complete = complete,
                                     .seal = seal,
                                     .in_worker = &in_worker };
