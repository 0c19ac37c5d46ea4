/* Why outputs are different, where that is known, and what cures it. */
#include <string.h>

#include <base/fields.h>

#include "kind-private.h"

/* Settings under which a runtime computes more precisely. @operators: a model with one of them may need it */
static const struct
{
    const char *engine, *option, *cause;
    const char *operators[12];
} cures[] = {
    { "onnxruntime:",
      "session.x64quantprecision=1",
      "saturation: pairs of 8-bit products are added up in 16 bits",
      { "QuantizeLinear", "DynamicQuantizeLinear", "QLinearConv", "QLinearMatMul", "QGemm", "MatMulInteger", "ConvInteger",
        "MatMulIntegerToFloat", "DynamicQuantizeMatMul", "DynamicQuantizeLSTM", NULL } },
    { "onnxruntime:",
      "session.qdq_matmulnbits_accuracy_level=1",
      "the accuracy level of a product with block-quantised weights: its other side is quantised to 8 bits",
      { "DequantizeLinear", "MatMulNBits", NULL } },
    { "openvino:",
      "LP_TRANSFORMS_MODE=NO",
      "low-precision transformations: products in 8 bits, which saturate without VNNI, and quantisers that are moved",
      { "QuantizeLinear", NULL } },
    { "openvino:",
      "DYNAMIC_QUANTIZATION_GROUP_SIZE=0",
      "dynamic quantisation: the other side of a product with quantised weights is quantised to 8 bits, too",
      { "DequantizeLinear", "MatMulNBits", NULL } },
};

/* Arithmetic of fewer digits than was asked for. */
static const struct
{
    const char *engine, *option;
} full_precision[] = { { "openvino:", "INFERENCE_PRECISION_HINT=f32" }, { "", NULL } };

static gboolean has_any(const IfmModel *model, const char *const *operators)
{
    for (gsize i = 0; i < ifm_model_n_nodes(model); i++)
        if (g_strv_contains(operators, ifm_model_node(model, i)->op_type))
            return TRUE;
    return FALSE;
}

static gboolean has_option(const IfmModelCase *model_case, const char *option)
{
    const gsize length = strcspn(option, "=") + 1;
    for (const char *const *given = model_case->vendor; given != NULL && *given != NULL; given++)
        if (strncmp(*given, option, length) == 0)
            return TRUE;
    return FALSE;
}

/* Whether the outputs are the reference's with one setting more. */
static gboolean is_cured_by(Worker *worker, const char *option)
{
    IfmModelCase cured = *worker_model_case(worker);
    g_autoptr(GPtrArray) vendor = g_ptr_array_new();
    for (const char *const *given = cured.vendor; given != NULL && *given != NULL; given++)
        g_ptr_array_add(vendor, (char *)*given);
    g_ptr_array_add(vendor, (char *)option);
    g_ptr_array_add(vendor, NULL);
    cured.vendor = (const char *const *)vendor->pdata;
    worker_enter_long_phase(worker, "looking for the cause", 2);
    g_autoptr(IfmModelSubject) subject =
        ifm_model_subject_new(worker->engine, worker->model, &cured, IFM_COMPILE_MEASURED, NULL);
    if (subject == NULL)
        return FALSE;
    subject->reference = worker->reference;
    const IfmSubject slots = ifm_model_subject_slots(subject);
    return slots.run(slots.self, NULL) && slots.verify(slots.self, NULL);
}

/* Returns: whether what runs has fewer digits than was asked for. */
static gboolean is_reduced(const Worker *worker, const char **dtype)
{
    const IfmModelCase *model_case = worker_model_case((Worker *)worker);
    *dtype = ifm_member_text(worker->measurement->effective_config, "dtype");
    return model_case->dtype == IFM_DTYPE_F32 && (g_strcmp0(*dtype, "bf16") == 0 || g_strcmp0(*dtype, "f16") == 0);
}

/* @cause, @option: (out) (transfer full) NULL where it is not known */
static void find_cause(Worker *worker, char **cause, const char **option)
{
    const IfmModelCase *model_case = worker_model_case(worker);
    const char *dtype;
    if (is_reduced(worker, &dtype))
    {
        gsize row = 0;
        while (!g_str_has_prefix(model_case->device, full_precision[row].engine))
            row++;
        *cause = g_strdup_printf("arithmetic in %s, which was not asked for", dtype);
        *option = full_precision[row].option;
        return;
    }
    for (gsize row = 0; row < G_N_ELEMENTS(cures); row++)
        if (g_str_has_prefix(model_case->device, cures[row].engine) && has_any(worker->model, cures[row].operators) &&
            !has_option(model_case, cures[row].option) && is_cured_by(worker, cures[row].option))
        {
            *cause = g_strdup(cures[row].cause);
            *option = cures[row].option;
            return;
        }
}

void worker_explain(Worker *worker, json_t *verification, GError **failure)
{
    g_autofree char *cause = NULL;
    const char *option = NULL;
    if (worker->reference == NULL || g_atomic_int_get(&worker->interrupted) != 0)
        return;
    find_cause(worker, &cause, &option);
    if (cause == NULL)
        return;
    json_object_set_new(verification, "cause", json_pack("{s:s,s:s?}", "what", cause, "cured_by", option));
    if (*failure == NULL)
        return;
    GError *told = g_error_new((*failure)->domain, (*failure)->code, "%s; cause: %s%s%s", (*failure)->message, cause,
                               option != NULL ? "; cured by --option " : "", option != NULL ? option : "");
    g_clear_error(failure);
    *failure = told;
}
