#include <math.h>
#include <string.h>

#include <inferometer/tensor-file.h>
#include <internal/json.h>

#include "measure-private.h"

struct IfmReference
{
    IfmTensorFile *file; /* NULL: the tensors' own */
    gsize n;
    char **names;              /* [n] */
    IfmTensor *tensors;        /* [n] of the file borrowed */
    double *root_mean_squares; /* [n] */
    double *roundings;         /* [n] the largest difference that rounding alone makes; 0: not asked for */
    gboolean *not_finite;      /* [n] the model itself gives NaN or infinities there */
};

static IfmReference *reference_new(gsize n)
{
    IfmReference *self = g_new0(IfmReference, 1);
    self->n = n;
    self->names = g_new0(char *, n + 1);
    self->tensors = g_new0(IfmTensor, n + 1);
    self->root_mean_squares = g_new0(double, n + 1);
    self->roundings = g_new0(double, n + 1);
    self->not_finite = g_new0(gboolean, n + 1);
    return self;
}

IfmReference *ifm_reference_open(const char *path, GError **error)
{
    IfmTensorFile *file = ifm_tensor_file_open(path, error);
    if (file == NULL)
        return NULL;
    const gsize n = ifm_tensor_file_n(file);
    IfmReference *self = reference_new(n);
    self->file = file;
    self->n = 0;
    for (gsize at = 0; at < n; at++)
    {
        const char *name = ifm_tensor_file_name(file, at);
        g_autofree char *rounding = g_strconcat(name, IFM_REFERENCE_ROUNDING, NULL);
        const IfmTensor *moved = ifm_tensor_file_find(file, rounding);
        const gsize i = self->n;
        if (g_str_has_suffix(name, IFM_REFERENCE_ROUNDING))
            continue;
        self->n++;
        self->names[i] = g_strdup(name);
        self->tensors[i] = *ifm_tensor_file_tensor(file, at);
        self->tensors[i].release = NULL; /* the mapping's */
        self->roundings[i] = moved != NULL ? ifm_tensor_get_double(moved, 0) : 0;
        self->root_mean_squares[i] = ifm_tensor_root_mean_square(&self->tensors[i]);
        self->not_finite[i] = ifm_tensor_first_not_finite(&self->tensors[i]) >= 0;
    }
    return self;
}

gboolean ifm_take_rows(const IfmTensor *from, const gint64 *rows, gint64 n, IfmTensor *to, GError **error)
{
    gint64 shape[IFM_MAX_RANK];
    gint64 n_rows = from->rank > 0 ? from->shape[0] : 0;
    gsize row_bytes = n_rows > 0 ? from->size_bytes / (gsize)n_rows : 0;
    memcpy(shape, from->shape, sizeof shape);
    shape[0] = n;
    if (from->rank == 0 || !ifm_tensor_init(to, from->dtype, from->rank, shape, error))
    {
        if (from->rank == 0)
            g_set_error_literal(error, IFM_ERROR, IFM_ERROR_INVALID, "reference: a single number has no rows to part");
        return FALSE;
    }
    for (gint64 i = 0; i < n; i++)
    {
        if (rows[i] < 0 || rows[i] >= n_rows)
        {
            g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID,
                        "reference: row %" G_GINT64_FORMAT " is not below %" G_GINT64_FORMAT, rows[i], n_rows);
            return FALSE;
        }
        memcpy((guint8 *)to->data + (gsize)i * row_bytes, (const guint8 *)from->data + (gsize)rows[i] * row_bytes,
               row_bytes);
    }
    return TRUE;
}

IfmReference *ifm_reference_rows(const IfmReference *whole, const gint64 *rows, gint64 n, GError **error)
{
    g_autoptr(IfmReference) self = reference_new(whole->n);
    for (gsize i = 0; i < whole->n; i++)
    {
        self->names[i] = g_strdup(whole->names[i]);
        self->root_mean_squares[i] = whole->root_mean_squares[i];
        self->roundings[i] = whole->roundings[i];
        self->not_finite[i] = whole->not_finite[i];
        if (!ifm_take_rows(&whole->tensors[i], rows, n, &self->tensors[i], error))
            return NULL;
    }
    return g_steal_pointer(&self);
}

void ifm_reference_free(IfmReference *self)
{
    if (self == NULL)
        return;
    for (gsize i = 0; i < self->n; i++)
        ifm_tensor_clear(&self->tensors[i]);
    g_strfreev(self->names);
    g_free(self->tensors);
    g_free(self->root_mean_squares);
    g_free(self->roundings);
    g_free(self->not_finite);
    ifm_tensor_file_free(self->file);
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

static gboolean check_finite(const char *port, const IfmTensor *value, GError **error)
{
    if (!ifm_dtype_is_float(value->dtype))
        return TRUE;
    gint64 at = ifm_tensor_first_not_finite(value);
    if (at < 0)
        return TRUE;
    g_set_error(error, IFM_ERROR, IFM_ERROR_FAILED, "output %s is not finite: element %" G_GINT64_FORMAT " is %g", port, at,
                ifm_tensor_get_double(value, at));
    return FALSE;
}

static void note_worst(IfmVerification *verdict, const char *port, const IfmTensorDifference *difference, double allowed)
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
    return ifm_dtype_is_float(value->dtype) || dtype == IFM_DTYPE_F32 || dtype == IFM_DTYPE_F64;
}

static gboolean is_plain_float(const IfmTensor *tensor)
{
    return tensor->dtype == IFM_DTYPE_F32 && tensor->memory != IFM_MEMORY_DEVICE && ifm_tensor_is_contiguous(tensor);
}

#define WHOLE_FACTOR 10 /* of rtol; and at most … */
#define WHOLE_MAX 0.5

/* of rtol: what of the largest output's root mean square is rounding: the gradient of a bias that a softmax takes away
 * again is 0, and no machine computes 0 */
#define NOISE_FACTOR 1e-3

/* Equals: the root mean square of value - expected. */
static double difference_of(const IfmTensor *value, const IfmTensor *expected)
{
    double difference = 0;
    gint64 n = ifm_tensor_n_elements(value);
    gboolean plain = is_plain_float(value) && is_plain_float(expected);
    for (gint64 i = 0; i < n; i++)
    {
        double of = plain ? ((const float *)value->data)[i] : ifm_tensor_get_double(value, i);
        double right = plain ? ((const float *)expected->data)[i] : ifm_tensor_get_double(expected, i);
        difference += (of - right) * (of - right);
    }
    return sqrt(difference / (double)n);
}

static double largest_root_mean_square(const IfmReference *self)
{
    double largest = 0;
    for (gsize i = 0; i < self->n; i++)
        if (ifm_dtype_is_float(self->tensors[i].dtype))
            largest = MAX(largest, self->root_mean_squares[i]);
    return largest;
}

/* A single number is no whole of many: it is right or not. */
static gboolean is_right_as_whole(const IfmReference *self, gsize index, const IfmTensor *value,
                                  const IfmTolerance *tolerance)
{
    if (!ifm_dtype_is_float(value->dtype) || ifm_tensor_n_elements(value) < 2)
        return FALSE;
    double difference = difference_of(value, &self->tensors[index]);
    return difference <= MIN(WHOLE_FACTOR * tolerance->rtol, WHOLE_MAX) * self->root_mean_squares[index] ||
           difference <= NOISE_FACTOR * tolerance->rtol * largest_root_mean_square(self);
}

/* Another runtime rounds in other places than the two runs that the rounding was seen between. */
#define ROUNDING_FACTOR 4

/* What a difference may be besides its share of the value. */
static double atol_of(const IfmReference *self, gsize index, const IfmTolerance *tolerance)
{
    return fmax(tolerance->atol * (tolerance->scaled ? self->root_mean_squares[index] : 1),
                tolerance->scaled ? ROUNDING_FACTOR * self->roundings[index] : 0);
}

static gboolean check_against(const IfmReference *self, gsize index, const IfmTensor *value, const IfmTolerance *tolerance,
                              IfmVerification *verdict, GError **error)
{
    const IfmTensor *expected = &self->tensors[index];
    const char *port = self->names[index];
    double rtol = 0, atol = 0;
    if (ifm_dtype_is_float(value->dtype)) /* integers are exact */
    {
        rtol = tolerance->rtol;
        atol = atol_of(self, index, tolerance);
        verdict->rounding = fmax(verdict->rounding, self->roundings[index]);
    }
    verdict->reference_not_finite |= self->not_finite[index];
    IfmTensorDifference difference;
    gboolean right = ifm_tensor_compare(value, expected, rtol, atol, &difference);
    if (!right && tolerance->as_wholes && difference.n_different > 0 && is_right_as_whole(self, index, value, tolerance))
    {
        verdict->n_as_wholes++;
        return TRUE;
    }
    if (difference.n_different >= 0)
        note_worst(verdict, port, &difference, atol + rtol * fabs(difference.worst_reference));
    return right || mismatch(port, value, expected, rtol, atol, &difference, error);
}

gboolean ifm_reference_check(const IfmReference *self, const char *port, const IfmTensor *value, IfmDtype dtype,
                             const IfmTolerance *tolerance, IfmVerification *verdict, GError **error)
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

/* Whether every element of a float output is within the tolerance: no branch on the way, so that it goes as fast as memory
 * does. */
static gboolean all_right(const float *value, const float *expected, gint64 n, float rtol, float atol)
{
    gint64 n_wrong = 0;
    for (gint64 i = 0; i < n; i++)
        n_wrong += !(fabsf(value[i] - expected[i]) <= atol + rtol * fabsf(expected[i])); /* a NaN is wrong, too */
    return n_wrong == 0;
}

gboolean ifm_reference_check_quick(const IfmReference *self, const char *port, const IfmTensor *value, IfmDtype dtype,
                                   const IfmTolerance *tolerance, IfmVerification *verdict, GError **error)
{
    gssize index = self != NULL ? find_output(self, port) : -1;
    if (index >= 0 && is_plain_float(value) && is_plain_float(&self->tensors[index]) &&
        value->rank == self->tensors[index].rank &&
        memcmp(value->shape, self->tensors[index].shape, (gsize)value->rank * sizeof *value->shape) == 0)
    {
        const IfmTensor *expected = &self->tensors[index];
        double atol = atol_of(self, index, tolerance);
        if (all_right(value->data, expected->data, ifm_tensor_n_elements(value), (float)tolerance->rtol, (float)atol))
        {
            verdict->n_checks++;
            verdict->rounding = fmax(verdict->rounding, self->roundings[index]);
            return TRUE;
        }
    }
    return ifm_reference_check(self, port, value, dtype, tolerance, verdict, error); /* it has the words for it */
}

json_t *ifm_verification_to_json(const IfmVerification *verdict, gboolean wrong, const IfmTolerance *tolerance)
{
    const char *status = wrong ? "failed" : verdict->n_checks > 0 ? "passed" : "none";
    json_t *json = json_pack("{s:s,s:I,s:I}", "status", status, "n_checks", (json_int_t)verdict->n_checks, "n_not_compared",
                             (json_int_t)verdict->n_skipped);
    if (tolerance == NULL)
        return json;
    json_object_set_new(json, "reference", json_string("onnxruntime:CPU, graph optimisation off"));
    json_object_set_new(json, "rtol", ifm_json_real(tolerance->rtol));
    json_object_set_new(json, "atol", ifm_json_real(tolerance->atol));
    json_object_set_new(json, "atol_of",
                        json_string(tolerance->scaled ? "the reference output's root mean square" : "the output's unit"));
    if (verdict->rounding > 0)
        json_object_set_new(json, "rounding", ifm_json_real(verdict->rounding));
    if (tolerance->as_wholes)
        json_object_set_new(json, "n_as_wholes", json_integer((json_int_t)verdict->n_as_wholes));
    json_object_set_new(json, "reference_not_finite", json_boolean(verdict->reference_not_finite));
    if (verdict->worst_port == NULL)
        return json;
    json_object_set_new(json, "worst",
                        json_pack("{s:o,s:o,s:o,s:o}", "port", ifm_json_string(verdict->worst_port), "value",
                                  ifm_json_real(verdict->worst_value), "reference", ifm_json_real(verdict->worst_reference),
                                  "share_of_tolerance", ifm_json_real(verdict->worst_excess)));
    return json;
}

void ifm_verification_clear(IfmVerification *verdict)
{
    g_free(verdict->worst_port);
    *verdict = (IfmVerification){ 0 };
}
