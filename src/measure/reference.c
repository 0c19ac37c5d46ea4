#include <math.h>

#include <inferometer/json.h>
#include <inferometer/tensor-file.h>

#include "measure-private.h"

struct IfmReference
{
    IfmTensorFile *file;
    double *root_mean_squares; /* [its tensors] */
    gboolean *not_finite;      /* the model itself gives NaN or infinities there */
};

IfmReference *ifm_reference_open(const char *path, GError **error)
{
    IfmTensorFile *file = ifm_tensor_file_open(path, error);
    if (file == NULL)
        return NULL;
    IfmReference *self = g_new0(IfmReference, 1);
    gsize n = ifm_tensor_file_n(file);
    self->file = file;
    self->root_mean_squares = g_new0(double, n + 1);
    self->not_finite = g_new0(gboolean, n + 1);
    for (gsize i = 0; i < n; i++)
    {
        const IfmTensor *tensor = ifm_tensor_file_tensor(file, i);
        self->root_mean_squares[i] = ifm_tensor_root_mean_square(tensor);
        self->not_finite[i] = ifm_tensor_first_not_finite(tensor) >= 0;
    }
    return self;
}

void ifm_reference_free(IfmReference *self)
{
    if (self == NULL)
        return;
    g_free(self->root_mean_squares);
    g_free(self->not_finite);
    ifm_tensor_file_free(self->file);
    g_free(self);
}

static gssize find_output(const IfmReference *self, const char *port)
{
    for (gsize i = 0; i < ifm_tensor_file_n(self->file); i++)
        if (g_str_equal(ifm_tensor_file_name(self->file, i), port))
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
    const IfmTensor *expected = ifm_tensor_file_tensor(self->file, index);
    const char *port = ifm_tensor_file_name(self->file, index);
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
        note_worst(verdict, port, &difference, atol + rtol * fabs(difference.worst_reference));
    return right || mismatch(port, value, expected, rtol, atol, &difference, error);
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
