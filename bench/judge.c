/* Judging outputs for bench/verdicts.py: a model that may be faulty, on a device, against another model's reference. */
#include <string.h>

#include <base/fields.h>
#include <glib/gstdio.h>

#include "measure/verification.h"

IFM_BEGIN_DECLS
/* @model: what is right    @other: what runs, with the same ports    @option: "KEY=VALUE" or NULL    @reference: path of a
 * file that is made where it is not there yet. Returns: (transfer full) the verification as text, or {"error"}. */
char *bench_judge(const char *model, const char *other, const char *device, const char *dtype, const char *option,
                  guint32 seed, const char *reference);
IFM_END_DECLS

static IfmEngine *engine_of(const char *device, GError **error)
{
    static GHashTable *engines;
    static IfmClock *clock;
    g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse(device, error);
    if (spec == NULL)
        return NULL;
    if (engines == NULL)
    {
        engines = g_hash_table_new(g_str_hash, g_str_equal);
        clock = ifm_clock_new_real();
    }
    IfmEngine *engine = g_hash_table_lookup(engines, spec->engine);
    if (engine == NULL && (engine = ifm_engine_open(spec->engine, clock, error)) != NULL)
        g_hash_table_insert(engines, g_strdup(spec->engine), engine);
    return engine;
}

/* The other model is fed what the right one is. */
static gboolean feed(const IfmModel *model, const IfmModelCase *model_case, IfmModelSubject *subject, GError **error)
{
    g_auto(IfmInputs) inputs = { 0 };
    const gboolean fed = ifm_case_make_inputs(model, model_case, TRUE, &inputs, error);
    for (gsize i = 0; fed && i < inputs.n; i++)
    {
        const IfmTensor *to = &subject->inputs.tensors[i];
        if (to->size_bytes == inputs.tensors[i].size_bytes && to->size_bytes > 0)
            memcpy(to->data, inputs.tensors[i].data, to->size_bytes);
    }
    return fed;
}

static json_t *judge(const IfmModelCase *model_case, const char *other, const char *reference, GError **error)
{
    IfmEngine *right = engine_of("onnxruntime:CPU", error),
              *engine = right != NULL ? engine_of(model_case->device, error) : NULL;
    if (engine == NULL ||
        (!g_file_test(reference, G_FILE_TEST_EXISTS) && !ifm_reference_make(right, model_case, NULL, reference, error)))
        return NULL;
    g_autoptr(IfmReference) known = ifm_reference_open(reference, error);
    g_autoptr(IfmModel) model = known != NULL ? ifm_model_open(model_case->model_path, error) : NULL;
    g_autoptr(IfmModel) faulty = model != NULL ? ifm_model_open(other, error) : NULL;
    g_autoptr(IfmModelSubject) subject =
        faulty != NULL ? ifm_model_subject_new(engine, faulty, model_case, IFM_COMPILE_MEASURED, error) : NULL;
    if (subject == NULL || !feed(model, model_case, subject, error))
        return NULL;
    const IfmSubject slots = ifm_model_subject_slots(subject);
    subject->reference = known;
    if (!slots.run(slots.self, error))
        return NULL;
    g_autoptr(GError) failure = NULL;
    slots.verify(slots.self, &failure);
    json_t *json = ifm_model_subject_verification(subject);
    if (failure != NULL)
        json_object_set_new(json, "reason", ifm_json_string(failure->message));
    return json;
}

char *bench_judge(const char *model, const char *other, const char *device, const char *dtype, const char *option,
                  guint32 seed, const char *reference)
{
    const char *const vendor[] = { option, NULL };
    const IfmModelCase model_case = { .model_path = model,
                                      .device = device,
                                      .dtype = ifm_dtype_from_name(dtype),
                                      .threads = 1,
                                      .vendor = option != NULL ? vendor : NULL,
                                      .seed = seed,
                                      .protocol = IFM_PROTOCOL_INIT,
                                      .verify = TRUE };
    g_autoptr(GError) error = NULL;
    json_auto_t *json = judge(&model_case, other, reference, &error);
    if (json == NULL)
        json = json_pack("{s:o}", "error", ifm_json_string(error->message));
    return json_dumps(json, JSON_COMPACT);
}
