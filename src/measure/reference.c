#include <math.h>
#include <string.h>

#include <base/fields.h>

#include "verification.h"

/* These functions open the outputs of a reference, with what they may be off by, from a file of tensors, and take rows
 * of them. */

static IfmReference *reference_new(gsize n)
{
    IfmReference *self = g_new0(IfmReference, 1);
    self->n = n;
    self->outputs = g_new0(IfmReferenceOutput, n + 1);
    return self;
}

/* A tensor of the file that belongs to an output; its bytes are the mapping's. */
static const IfmTensor *part_of(const IfmTensorFile *file, const char *name, const char *suffix)
{
    g_autofree char *whole = g_strconcat(name, suffix, NULL);
    return ifm_tensor_file_find(file, whole);
}

static gboolean is_shaped(const IfmTensor *tensor, IfmDtype dtype, int rank, const gint64 *shape)
{
    return tensor != NULL && tensor->dtype == dtype && tensor->rank == rank &&
           memcmp(tensor->shape, shape, (gsize)rank * sizeof *shape) == 0;
}

static void read_output(IfmReferenceOutput *output, const IfmTensorFile *file, const char *name, const IfmTensor *tensor)
{
    const gint64 n_figures = IFM_SPREAD_N_FIGURES;
    const IfmTensor *allowed = part_of(file, name, IFM_REFERENCE_ALLOWED);
    const IfmTensor *figures = part_of(file, name, IFM_REFERENCE_FIGURES);
    output->name = g_strdup(name);
    output->tensor = *tensor;
    output->tensor.release = NULL;
    output->root_mean_square = ifm_tensor_root_mean_square(tensor);
    output->not_finite = ifm_tensor_first_not_finite(tensor) >= 0;
    if (!is_shaped(allowed, ifm_dtype_is_float(tensor->dtype) ? IFM_DTYPE_F32 : IFM_DTYPE_U8, tensor->rank,
                   tensor->shape) ||
        !is_shaped(figures, IFM_DTYPE_F64, 1, &n_figures))
        return;
    output->allowed = *allowed;
    output->allowed.release = NULL;
    memcpy(&output->figures, figures->data, sizeof output->figures);
}

static json_t *read_facts(const IfmTensorFile *file)
{
    const IfmTensor *text = ifm_tensor_file_find(file, IFM_REFERENCE_FACTS);
    return text != NULL && text->size_bytes > 0 ? json_loadb(text->data, text->size_bytes, 0, NULL) : NULL;
}

/* What was expected of the model is judged as the output of a device would be. */
static void judge_expected(IfmReference *self)
{
    json_t *facts = json_object();
    for (gsize i = 0; i < self->n; i++)
    {
        IfmReferenceOutput *output = &self->outputs[i];
        const IfmTensor *expected = part_of(self->file, output->name, IFM_EXPECTED);
        IfmVerification seen = { 0 };
        g_autoptr(GError) failure = NULL;
        if (expected == NULL)
            continue;
        const IfmTolerance tolerance = ifm_tolerance_for(expected->dtype, 0, 0);
        if (!ifm_reference_check(self, output->name, expected, expected->dtype, &tolerance, &seen, &failure))
            output->unexpected = g_strdup(failure->message);
        ifm_verification_clear(&seen);
        json_object_set_new(facts, output->name,
                            output->unexpected != NULL ? ifm_json_string(output->unexpected) : json_null());
    }
    if (json_object_size(facts) > 0 && self->facts != NULL)
        json_object_set(self->facts, "expected", facts);
    json_decref(facts);
}

IfmReference *ifm_reference_open(const char *path, GError **error)
{
    IfmTensorFile *file = ifm_tensor_file_open(path, error);
    if (file == NULL)
        return NULL;
    IfmReference *self = reference_new(ifm_tensor_file_n(file));
    self->file = file;
    self->n = 0;
    self->facts = read_facts(file);
    for (gsize at = 0; at < ifm_tensor_file_n(file); at++)
    {
        const char *name = ifm_tensor_file_name(file, at);
        if (strchr(name, '\n') == NULL)
        {
            read_output(&self->outputs[self->n], file, name, ifm_tensor_file_tensor(file, at));
            self->outputs[self->n++].is_drawn = json_object_get(json_object_get(self->facts, "draws"), name) != NULL;
        }
    }
    judge_expected(self);
    return self;
}

gboolean ifm_take_rows(const IfmTensor *from, const gint64 *rows, gint64 n, IfmTensor *to, GError **error)
{
    gint64 shape[IFM_MAX_RANK];
    gint64 n_rows = from->rank > 0 ? from->shape[0] : 0;
    gsize row_bytes = n_rows > 0 ? from->size_bytes / (gsize)n_rows : 0;
    memcpy(shape, from->shape, sizeof shape);
    shape[0] = n;
    if (from->rank == 0)
        return ifm_error_refuse(error, "reference: a single number has no rows to part");
    if (!ifm_tensor_init(to, from->dtype, from->rank, shape, error))
        return FALSE;
    for (gint64 i = 0; i < n; i++)
    {
        if (rows[i] < 0 || rows[i] >= n_rows)
            return ifm_error_refuse(error, "reference: row %" G_GINT64_FORMAT " is not below %" G_GINT64_FORMAT, rows[i],
                                    n_rows);
        memcpy((guint8 *)to->data + (gsize)i * row_bytes, (const guint8 *)from->data + (gsize)rows[i] * row_bytes,
               row_bytes);
    }
    return TRUE;
}

/* A part of an output has a share of its gain, and is not told by how much that spreads. */
static gboolean take_output(const IfmReferenceOutput *whole, const gint64 *rows, gint64 n, IfmReferenceOutput *part,
                            GError **error)
{
    part->name = g_strdup(whole->name);
    part->root_mean_square = whole->root_mean_square;
    part->not_finite = whole->not_finite;
    part->is_drawn = whole->is_drawn;
    part->unexpected = g_strdup(whole->unexpected);
    part->figures = whole->figures;
    part->figures.gain = INFINITY;
    return ifm_take_rows(&whole->tensor, rows, n, &part->tensor, error) &&
           (whole->figures.n_runs == 0 || ifm_take_rows(&whole->allowed, rows, n, &part->allowed, error));
}

IfmReference *ifm_reference_rows(const IfmReference *whole, const gint64 *rows, gint64 n, GError **error)
{
    g_autoptr(IfmReference) self = reference_new(whole->n);
    self->facts = json_incref(whole->facts);
    for (gsize i = 0; i < whole->n; i++)
        if (!take_output(&whole->outputs[i], rows, n, &self->outputs[i], error))
            return NULL;
    return g_steal_pointer(&self);
}

void ifm_reference_free(IfmReference *self)
{
    if (self == NULL)
        return;
    for (gsize i = 0; i < self->n; i++)
    {
        ifm_tensor_clear(&self->outputs[i].tensor);
        ifm_tensor_clear(&self->outputs[i].allowed);
        g_free(self->outputs[i].unexpected);
        g_free(self->outputs[i].name);
    }
    g_free(self->outputs);
    json_decref(self->facts);
    ifm_tensor_file_free(self->file);
    g_free(self);
}
