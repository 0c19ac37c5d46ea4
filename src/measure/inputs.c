#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

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
    return ifm_error_refuse(error, "%s: input '%s' is %s %s, expected %s %s", model_case->inputs_path, port->name,
                            ifm_dtype_name((*found)->dtype), got, ifm_dtype_name(port->dtype), expected);
}

/* What identifies a file without reading its bytes: one that is replaced or written to is another. */
static char *stamp_of(const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return NULL;
    return g_strdup_printf("%s %ju %ju %jd %jd.%09ld %jd.%09ld", path, (uintmax_t)status.st_dev, (uintmax_t)status.st_ino,
                           (intmax_t)status.st_size, (intmax_t)status.st_mtim.tv_sec, status.st_mtim.tv_nsec,
                           (intmax_t)status.st_ctim.tv_sec, status.st_ctim.tv_nsec);
}

static char *digest_of(const IfmTensorFile *file, const char *path, GHashTable *known)
{
    g_autofree char *stamp = known != NULL ? stamp_of(path) : NULL;
    const char *before = stamp != NULL ? g_hash_table_lookup(known, stamp) : NULL;
    if (before != NULL)
        return g_strdup(before);
    char *digest = ifm_tensor_file_digest(file);
    if (stamp != NULL && digest != NULL)
        g_hash_table_insert(known, g_steal_pointer(&stamp), g_strdup(digest));
    return digest;
}

char *ifm_case_inputs_digest(const IfmModel *model, const IfmModelCase *model_case, GHashTable *known, GError **error)
{
    g_autoptr(IfmTensorFile) file = ifm_tensor_file_open(model_case->inputs_path, error);
    for (gsize i = 0; file != NULL && i < ifm_model_n_inputs(model); i++)
    {
        const IfmTensor *found;
        if (!find_fitting(file, ifm_model_input(model, i), model_case, &found, error))
            return NULL;
    }
    return file != NULL ? digest_of(file, model_case->inputs_path, known) : NULL;
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
        if (found != NULL && found->dtype == IFM_DTYPE_STRING)
        {
            g_autofree const char **texts = ifm_tensor_texts(found);
            ifm_tensor_clear(&inputs[i]);
            if (!ifm_tensor_init_texts(&inputs[i], found->rank, found->shape, texts, error))
                return FALSE;
        }
        else if (found != NULL && found->size_bytes > 0)
            memcpy(inputs[i].data, found->data, found->size_bytes);
    }
    return file != NULL;
}

void ifm_inputs_clear(IfmInputs *inputs)
{
    for (gsize i = 0; i < inputs->n; i++)
        ifm_tensor_clear(&inputs->tensors[i]);
    g_free(inputs->tensors);
}

gboolean ifm_case_make_inputs(const IfmModel *model, const IfmModelCase *model_case, gboolean read, IfmInputs *inputs,
                              GError **error)
{
    const gsize n = ifm_model_n_inputs(model);
    *inputs = (IfmInputs){ n, g_new0(IfmTensor, n + 1) };
    if (!read)
        return ifm_model_reserve_inputs(model, model_case->bindings, model_case->n_bindings, inputs->tensors, error);
    return ifm_model_make_inputs(model, model_case->bindings, model_case->n_bindings, model_case->seed, inputs->tensors,
                                 error) &&
           (model_case->inputs_path == NULL || take_from_file(model, model_case, inputs->tensors, error));
}

gsize ifm_free_bindings(const IfmModel *model, const IfmDimBinding *sizes, gsize n, IfmDimBinding *bindings)
{
    gsize n_free = 0;
    for (gsize k = 0; k < n; k++)
    {
        gboolean is_free = FALSE;
        for (gsize i = 0; i < ifm_model_n_inputs(model) && !is_free; i++)
        {
            const IfmPort *port = ifm_model_input(model, i);
            for (int axis = 0; axis < port->rank; axis++)
                is_free |= g_strcmp0(port->dim_names[axis], sizes[k].name) == 0;
        }
        if (is_free)
            bindings[n_free++] = sizes[k];
    }
    return n_free;
}
