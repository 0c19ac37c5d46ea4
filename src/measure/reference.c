#include <math.h>
#include <string.h>

#include <inferometer/file.h>
#include <inferometer/json.h>

#include "measure-private.h"

/*
 * The file: 8 bytes of magic, the header's length (8 bytes, host order: the file never leaves the machine), the header
 * {"outputs": [{"name", "dtype", "shape", "offset", "size_bytes"}]}, padding to 64, the tensors, each padded to 64.
 */
#define MAGIC "IFMREF1\n"
#define PROLOGUE_BYTES 16
#define ALIGNMENT 64

struct IfmReference
{
    GMappedFile *file;
    gsize n;
    char **names;
    IfmTensor *tensors; /* borrowed from the mapping */
    double *root_mean_squares;
    gboolean *not_finite; /* the model itself gives NaN or infinities there */
};

static gsize align_up(gsize bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

static json_t *describe_outputs(const char *const *names, const IfmTensor *tensors, gsize n)
{
    json_t *outputs = json_array();
    gsize offset = 0;
    for (gsize i = 0; i < n; i++)
    {
        json_t *shape = json_array();
        for (int axis = 0; axis < tensors[i].rank; axis++)
            json_array_append_new(shape, json_integer(tensors[i].shape[axis]));
        json_array_append_new(outputs, json_pack("{s:o,s:s,s:o,s:I,s:I}", "name", ifm_json_string(names[i]), "dtype",
                                                 ifm_dtype_name(tensors[i].dtype), "shape", shape, "offset",
                                                 (json_int_t)offset, "size_bytes", (json_int_t)tensors[i].size_bytes));
        offset += align_up(tensors[i].size_bytes);
    }
    return json_pack("{s:o}", "outputs", outputs);
}

static void append_padded(GByteArray *bytes, const void *data, gsize size_bytes)
{
    static const guint8 padding[ALIGNMENT];
    g_byte_array_append(bytes, data, (guint)size_bytes);
    g_byte_array_append(bytes, padding, (guint)(align_up(bytes->len) - bytes->len));
}

gboolean ifm_reference_save(const char *path, const char *const *names, const IfmTensor *tensors, gsize n, GError **error)
{
    gsize total = 0;
    for (gsize i = 0; i < n; i++)
    {
        total += align_up(tensors[i].size_bytes);
        if (!ifm_tensor_is_contiguous(&tensors[i]) || ifm_dtype_size_bytes(tensors[i].dtype) == 0 || total > G_MAXINT32)
        {
            g_set_error(error, IFM_ERROR, IFM_ERROR_UNSUPPORTED,
                        "output %s: only contiguous numbers of less than 2 GiB are kept as a reference", names[i]);
            return FALSE;
        }
    }
    json_auto_t *header = describe_outputs(names, tensors, n);
    g_autofree char *text = ifm_json_canonical(header);
    guint64 header_bytes = strlen(text);
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    g_byte_array_append(bytes, (const guint8 *)MAGIC, 8);
    g_byte_array_append(bytes, (const guint8 *)&header_bytes, 8);
    append_padded(bytes, text, header_bytes);
    for (gsize i = 0; i < n; i++)
        append_padded(bytes, tensors[i].data, tensors[i].size_bytes);
    return ifm_file_save(path, bytes->data, bytes->len, error);
}

/* Over the finite elements. */
static double root_mean_square(const IfmTensor *tensor)
{
    gint64 n = ifm_tensor_n_elements(tensor), n_finite = 0;
    double sum = 0;
    for (gint64 i = 0; i < n; i++)
    {
        double value = ifm_tensor_get_double(tensor, i);
        if (!isfinite(value))
            continue;
        sum += value * value;
        n_finite++;
    }
    return n_finite > 0 ? sqrt(sum / (double)n_finite) : 0;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

static gboolean read_output(const json_t *output, char *data, gsize data_bytes, char **name, IfmTensor *tensor,
                            GError **error)
{
    const char *port, *dtype;
    json_t *shape;
    gint64 offset, size_bytes, dims[IFM_MAX_RANK];
    if (!ifm_json_get_string(output, "output", "name", &port, error) ||
        !ifm_json_get_string(output, "output", "dtype", &dtype, error) ||
        !ifm_json_get_array(output, "output", "shape", &shape, error) ||
        !ifm_json_get_int64(output, "output", "offset", &offset, error) ||
        !ifm_json_get_int64(output, "output", "size_bytes", &size_bytes, error))
        return FALSE;
    gsize rank = json_array_size(shape);
    for (gsize axis = 0; axis < MIN(rank, IFM_MAX_RANK); axis++)
        dims[axis] = json_integer_value(json_array_get(shape, axis));
    if (rank > IFM_MAX_RANK || offset < 0 || size_bytes < 0 || (guint64)offset > data_bytes ||
        (guint64)size_bytes > data_bytes - (guint64)offset ||
        !ifm_tensor_wrap(tensor, ifm_dtype_from_name(dtype), (int)rank, dims, data + offset, NULL) ||
        tensor->size_bytes != (gsize)size_bytes)
    {
        g_set_error(error, IFM_ERROR, IFM_ERROR_CORRUPT, "output %s does not lie within the file", port);
        return FALSE;
    }
    *name = g_strdup(port);
    return TRUE;
}

static gboolean read_outputs(IfmReference *self, const char *path, GError **error)
{
    gsize n_bytes = g_mapped_file_get_length(self->file);
    char *bytes = g_mapped_file_get_contents(self->file);
    guint64 header_bytes = 0;
    if (n_bytes >= PROLOGUE_BYTES)
        memcpy(&header_bytes, bytes + 8, 8);
    if (n_bytes < PROLOGUE_BYTES || memcmp(bytes, MAGIC, 8) != 0 || header_bytes > n_bytes - PROLOGUE_BYTES)
    {
        g_set_error(error, IFM_ERROR, IFM_ERROR_CORRUPT, "%s: no reference outputs", path);
        return FALSE;
    }
    json_auto_t *header = ifm_json_parse(bytes + PROLOGUE_BYTES, header_bytes, path, error);
    json_t *outputs = NULL;
    if (header == NULL || !ifm_json_get_array(header, path, "outputs", &outputs, error))
        return FALSE;
    gsize data_at = MIN(align_up(PROLOGUE_BYTES + header_bytes), n_bytes);
    self->n = json_array_size(outputs);
    self->names = g_new0(char *, self->n + 1);
    self->tensors = g_new0(IfmTensor, self->n);
    self->root_mean_squares = g_new0(double, self->n);
    self->not_finite = g_new0(gboolean, self->n);
    for (gsize i = 0; i < self->n; i++)
    {
        if (!read_output(json_array_get(outputs, i), bytes + data_at, n_bytes - data_at, &self->names[i], &self->tensors[i],
                         error))
            return FALSE;
        self->root_mean_squares[i] = root_mean_square(&self->tensors[i]);
        self->not_finite[i] = ifm_tensor_first_not_finite(&self->tensors[i]) >= 0;
    }
    return TRUE;
}

IfmReference *ifm_reference_open(const char *path, GError **error)
{
    g_autoptr(IfmReference) self = g_new0(IfmReference, 1);
    g_autoptr(GError) failure = NULL;
    self->file = g_mapped_file_new(path, FALSE, &failure);
    if (self->file == NULL)
    {
        g_set_error_literal(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE, failure->message);
        return NULL;
    }
    return read_outputs(self, path, error) ? g_steal_pointer(&self) : NULL;
}

void ifm_reference_free(IfmReference *self)
{
    if (self == NULL)
        return;
    g_strfreev(self->names);
    g_free(self->tensors);
    g_free(self->root_mean_squares);
    g_free(self->not_finite);
    g_clear_pointer(&self->file, g_mapped_file_unref);
    g_free(self);
}

static gssize find_output(const IfmReference *self, const char *port)
{
    for (gsize i = 0; i < self->n; i++)
        if (g_str_equal(self->names[i], port))
            return (gssize)i;
    return -1;
}

/* --- comparing ---------------------------------------------------------------------------------------------------- */

/*
 * What an execution precision allows. A sum of k products in that precision is off by about its unit roundoff times
 * sqrt(k); convolutions by Winograd's method lose two more digits. So f32: 6e-8 x sqrt(1e4) x 100 < 1e-3; the lower ones in
 * proportion to their roundoff, up to where a wrong answer could pass.
 */
static const struct
{
    IfmDtype dtype;
    double rtol, atol;
} tolerances[] = {
    { IFM_DTYPE_F64, 1e-6, 1e-6 },  { IFM_DTYPE_F32, 1e-3, 1e-3 },       { IFM_DTYPE_F16, 2e-2, 2e-2 },
    { IFM_DTYPE_BF16, 1e-1, 1e-1 }, { IFM_DTYPE_UNDEFINED, 1e-1, 2e-1 }, /* all else: integers */
};

IfmTolerance ifm_tolerance_for(IfmDtype dtype, double rtol, double atol)
{
    if (rtol > 0 || atol > 0)
        return (IfmTolerance){ .rtol = rtol, .atol = atol };
    gsize row = 0;
    while (tolerances[row].dtype != dtype && tolerances[row].dtype != IFM_DTYPE_UNDEFINED)
        row++;
    return (IfmTolerance){ .rtol = tolerances[row].rtol, .atol = tolerances[row].atol, .scaled = TRUE };
}

static gboolean is_float(IfmDtype dtype)
{
    return dtype == IFM_DTYPE_F32 || dtype == IFM_DTYPE_F64 || dtype == IFM_DTYPE_F16 || dtype == IFM_DTYPE_BF16;
}

static gboolean check_finite(const char *port, const IfmTensor *value, GError **error)
{
    if (!is_float(value->dtype))
        return TRUE;
    gint64 at = ifm_tensor_first_not_finite(value);
    if (at < 0)
        return TRUE;
    g_set_error(error, IFM_ERROR, IFM_ERROR_FAILED, "output %s is not finite: element %" G_GINT64_FORMAT " is %g", port, at,
                ifm_tensor_get_double(value, at));
    return FALSE;
}

static void note_worst(IfmVerdict *verdict, const char *port, const IfmTensorDifference *difference, double allowed)
{
    double off = fabs(difference->worst_value - difference->worst_reference);
    double excess = difference->n_different == 0 && !(off > 0) ? 0 : isnan(off) ? INFINITY : off / allowed;
    if (verdict->worst_port != NULL && excess <= verdict->worst_excess)
        return;
    g_free(verdict->worst_port);
    verdict->worst_port = g_strdup(port);
    verdict->worst_excess = excess;
    verdict->worst_value = difference->worst_value;
    verdict->worst_reference = difference->worst_reference;
}

static gboolean mismatch(const char *port, const IfmTensor *value, const IfmTensor *expected, double rtol, double atol,
                         const IfmTensorDifference *difference, GError **error)
{
    if (difference->n_different < 0)
    {
        g_autofree char *got = ifm_shape_to_string(value->rank, value->shape);
        g_autofree char *asked = ifm_shape_to_string(expected->rank, expected->shape);
        g_set_error(error, IFM_ERROR, IFM_ERROR_FAILED, "output %s is %s %s, the reference's is %s %s", port,
                    ifm_dtype_name(value->dtype), got, ifm_dtype_name(expected->dtype), asked);
    }
    else
        g_set_error(error, IFM_ERROR, IFM_ERROR_FAILED,
                    "output %s is wrong: %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT
                    " elements, worst element %" G_GINT64_FORMAT ": %.6g, the reference has %.6g (rtol %.3g, atol %.3g)",
                    port, difference->n_different, ifm_tensor_n_elements(value), difference->worst_index,
                    difference->worst_value, difference->worst_reference, rtol, atol);
    return FALSE;
}

/* The place of a maximum, say, is rightly another one where a lower precision rounded two values together. */
static gboolean is_comparable(const IfmTensor *value, IfmDtype dtype)
{
    return is_float(value->dtype) || dtype == IFM_DTYPE_F32 || dtype == IFM_DTYPE_F64;
}

static gboolean check_against(const IfmReference *self, gsize index, const IfmTensor *value, const IfmTolerance *tolerance,
                              IfmVerdict *verdict, GError **error)
{
    const IfmTensor *expected = &self->tensors[index];
    double rtol = 0, atol = 0;
    if (is_float(value->dtype)) /* integers are exact */
    {
        rtol = tolerance->rtol;
        atol = tolerance->atol * (tolerance->scaled ? self->root_mean_squares[index] : 1);
    }
    verdict->reference_not_finite |= self->not_finite[index];
    IfmTensorDifference difference;
    gboolean right = ifm_tensor_compare(value, expected, rtol, atol, &difference);
    if (difference.n_different >= 0)
        note_worst(verdict, self->names[index], &difference, atol + rtol * fabs(difference.worst_reference));
    return right || mismatch(self->names[index], value, expected, rtol, atol, &difference, error);
}

gboolean ifm_reference_check(const IfmReference *self, const char *port, const IfmTensor *value, IfmDtype dtype,
                             const IfmTolerance *tolerance, IfmVerdict *verdict, GError **error)
{
    verdict->n_checks++;
    if (ifm_dtype_size_bytes(value->dtype) == 0 || value->memory == IFM_MEMORY_DEVICE ||
        (self != NULL && !is_comparable(value, dtype)))
    {
        verdict->n_skipped++;
        return TRUE;
    }
    if (self == NULL)
        return check_finite(port, value, error);
    gssize index = find_output(self, port);
    if (index >= 0)
        return check_against(self, (gsize)index, value, tolerance, verdict, error);
    g_set_error(error, IFM_ERROR, IFM_ERROR_FAILED, "output %s: the reference has no such output", port);
    return FALSE;
}

void ifm_verdict_clear(IfmVerdict *verdict)
{
    g_free(verdict->worst_port);
    *verdict = (IfmVerdict){ 0 };
}
