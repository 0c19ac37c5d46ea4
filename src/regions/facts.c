/* What is known of the tensors of a model that is partitioned. */
#include <string.h>

#include "regions-private.h"

gboolean regions_facts_init(Facts *facts, IfmModel *model, GError **error)
{
    /* Large ones first: small pictures have no rows left behind many strides. */
    static const gint64 sizes[][2] = { { 192, 320 }, { 224, 448 }, { 60, 84 }, { 6, 10 }, { 2, 3 } };
    *facts = (Facts){ .model = ifm_model_ref(model), .outputs = g_hash_table_new(g_str_hash, g_str_equal) };
    for (gsize i = 0; i < ifm_model_n_outputs(model); i++)
        g_hash_table_add(facts->outputs, ifm_model_output(model, i)->name);
    return ifm_model_analyse_pair(model, NULL, 0, sizes, G_N_ELEMENTS(sizes), facts->analyses, error);
}

void regions_facts_clear(Facts *facts)
{
    ifm_model_unref(facts->model);
    g_clear_pointer(&facts->outputs, g_hash_table_unref);
    for (int i = 0; i < 2; i++)
        g_clear_pointer(&facts->analyses[i], ifm_analysis_free);
}

gboolean regions_shape(const Facts *facts, const char *name, Shape4 *shape)
{
    for (int i = 0; i < 2; i++)
    {
        IfmDtype dtype;
        int rank;
        gint64 dims[IFM_MAX_RANK];
        if (name == NULL || !ifm_analysis_shape(facts->analyses[i], name, &dtype, &rank, dims) || dtype != IFM_DTYPE_F32 ||
            rank != 4)
            return FALSE;
        memcpy(shape->dims[i], dims, sizeof shape->dims[i]);
    }
    return TRUE;
}

gint64 regions_fixed(const Shape4 *shape, int axis)
{
    return shape->dims[0][axis] == shape->dims[1][axis] ? shape->dims[0][axis] : -1;
}

gboolean regions_constant(const Facts *facts, const char *name, IfmTensor *tensor)
{
    return name != NULL && ifm_model_weight(facts->model, name, tensor) && tensor->dtype == IFM_DTYPE_F32;
}

float regions_constant_at(const IfmTensor *tensor, gint64 index)
{
    float value;
    memcpy(&value, (const char *)tensor->data + (gsize)index * sizeof value, sizeof value);
    return value;
}

gboolean regions_scalar(const Facts *facts, const char *name, float *value)
{
    IfmTensor tensor;
    if (!regions_constant(facts, name, &tensor) || ifm_tensor_n_elements(&tensor) != 1)
        return FALSE;
    *value = regions_constant_at(&tensor, 0);
    return TRUE;
}

gboolean regions_is_inner(const Facts *facts, const char *name, gsize *reader)
{
    const GArray *readers = ifm_model_consumers(facts->model, name);
    if (readers == NULL || readers->len != 1 || g_hash_table_contains(facts->outputs, name))
        return FALSE;
    *reader = g_array_index(readers, gsize, 0);
    return TRUE;
}
