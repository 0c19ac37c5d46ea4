#include <string.h>

#include <inferometer/tensor-file.h>

#include "measure-private.h"

/* --- what a model is fed: seeded, or from a file ------------------------------------------------------------------ */

/* The tensor that the file has for a port. Returns: whether it fits, or there is none (@found then is NULL). */
static gboolean find_fitting(const IfmTensorFile *file, const IfmPort *port, const IfmModelCase *model_case,
                             const IfmTensor **found, GError **error)
{
    gint64 shape[IFM_MAX_RANK];
    *found = ifm_tensor_file_find(file, port->name);
    if (*found == NULL)
        return TRUE;
    if (!ifm_port_bind(port, model_case->bindings, model_case->n_bindings, shape, error))
        return FALSE;
    if ((*found)->dtype == port->dtype && (*found)->rank == port->rank &&
        memcmp((*found)->shape, shape, (gsize)port->rank * sizeof *shape) == 0)
        return TRUE;
    g_autofree char *got = ifm_shape_to_string((*found)->rank, (*found)->shape);
    g_autofree char *expected = ifm_shape_to_string(port->rank, shape);
    g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "%s: input '%s' is %s %s, expected %s %s", model_case->inputs_path,
                port->name, ifm_dtype_name((*found)->dtype), got, ifm_dtype_name(port->dtype), expected);
    return FALSE;
}

char *ifm_case_inputs_digest(const IfmModel *model, const IfmModelCase *model_case, GError **error)
{
    g_autoptr(IfmTensorFile) file = ifm_tensor_file_open(model_case->inputs_path, error);
    for (gsize i = 0; file != NULL && i < ifm_model_n_inputs(model); i++)
    {
        const IfmTensor *found;
        if (!find_fitting(file, ifm_model_input(model, i), model_case, &found, error))
            return NULL;
    }
    return file != NULL ? ifm_tensor_file_digest(file) : NULL;
}

/* Copied into memory like that of seeded ones: pages of a mapped file are not those that an application's inputs lie in. */
static gboolean take_from_file(const IfmModel *model, const IfmModelCase *model_case, IfmTensor *inputs, GError **error)
{
    g_autoptr(IfmTensorFile) file = ifm_tensor_file_open(model_case->inputs_path, error);
    for (gsize i = 0; file != NULL && i < ifm_model_n_inputs(model); i++)
    {
        const IfmTensor *found;
        if (!find_fitting(file, ifm_model_input(model, i), model_case, &found, error))
            return FALSE;
        if (found != NULL && found->size_bytes > 0)
            memcpy(inputs[i].data, found->data, found->size_bytes);
    }
    return file != NULL;
}

gboolean ifm_case_make_inputs(const IfmModel *model, const IfmModelCase *model_case, IfmTensor *inputs, GError **error)
{
    return ifm_model_make_inputs(model, model_case->bindings, model_case->n_bindings, model_case->seed, inputs, error) &&
           (model_case->inputs_path == NULL || take_from_file(model, model_case, inputs, error));
}
