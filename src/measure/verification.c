#include <math.h>
#include <string.h>

#include <base/fields.h>

#include "verification.h"

/* These functions check an output by its reference, within a tolerance or the spread of disturbed runs, and record what
 * it came to. */

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
    return at < 0 || ifm_error_set(error, IFM_ERROR_FAILED, "output %s is not finite: element %" G_GINT64_FORMAT " is %g",
                                   port, at, ifm_tensor_get_double(value, at));
}

static void note_worst(IfmVerification *verdict, const char *port, double value, double reference, double excess)
{
    if (verdict->worst_port != NULL && excess <= verdict->worst_excess)
        return;
    g_free(verdict->worst_port);
    verdict->worst_port = g_strdup(port);
    verdict->worst_excess = excess;
    verdict->worst_value = value;
    verdict->worst_reference = reference;
}

static void note_difference(IfmVerification *verdict, const char *port, const IfmTensorDifference *difference,
                            double allowed)
{
    const double off = fabs(difference->worst_value - difference->worst_reference);
    note_worst(verdict, port, difference->worst_value, difference->worst_reference,
               difference->n_different == 0 && !(off > 0) ? 0
               : isnan(off)                               ? INFINITY
                                                          : off / allowed);
}

static gboolean misshapen(const char *port, const IfmTensor *value, const IfmTensor *expected, GError **error)
{
    g_autofree char *got = ifm_shape_to_string(value->rank, value->shape);
    g_autofree char *asked = ifm_shape_to_string(expected->rank, expected->shape);
    return ifm_error_set(error, IFM_ERROR_FAILED, "output %s is %s %s, the reference's is %s %s", port,
                         ifm_dtype_name(value->dtype), got, ifm_dtype_name(expected->dtype), asked);
}

static gboolean mismatch(const char *port, const IfmTensor *value, const IfmTensor *expected, double rtol, double atol,
                         const IfmTensorDifference *difference, GError **error)
{
    if (difference->n_different < 0)
        return misshapen(port, value, expected, error);
    return ifm_error_set(error, IFM_ERROR_FAILED,
                         "output %s is different: %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT
                         " elements, worst element %" G_GINT64_FORMAT
                         ": %.6g, the reference has %.6g (rtol %.3g, atol %.3g)",
                         port, difference->n_different, ifm_tensor_n_elements(value), difference->worst_index,
                         difference->worst_value, difference->worst_reference, rtol, atol);
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
        if (ifm_dtype_is_float(self->outputs[i].tensor.dtype))
            largest = MAX(largest, self->outputs[i].root_mean_square);
    return largest;
}

/* A single number is no whole of many: it is right or not. */
static gboolean is_right_as_whole(const IfmReference *self, const IfmReferenceOutput *output, const IfmTensor *value,
                                  const IfmTolerance *tolerance)
{
    if (!tolerance->as_wholes || !ifm_dtype_is_float(value->dtype) || ifm_tensor_n_elements(value) < 2)
        return FALSE;
    double difference = difference_of(value, &output->tensor);
    return difference <= MIN(WHOLE_FACTOR * tolerance->rtol, WHOLE_MAX) * output->root_mean_square ||
           difference <= NOISE_FACTOR * tolerance->rtol * largest_root_mean_square(self);
}

/* By a tolerance that was given, or that the precision allows. */
static gboolean check_fixed(const IfmReference *self, const IfmReferenceOutput *output, const IfmTensor *value,
                            const IfmTolerance *tolerance, IfmVerification *verdict, GError **error)
{
    const gboolean is_float = ifm_dtype_is_float(value->dtype); /* integers are exact */
    const double rtol = is_float ? tolerance->rtol : 0;
    const double atol = is_float ? tolerance->atol * (tolerance->scaled ? output->root_mean_square : 1) : 0;
    IfmTensorDifference difference;
    gboolean right = ifm_tensor_compare(value, &output->tensor, rtol, atol, &difference);
    if (!right && difference.n_different > 0 && is_right_as_whole(self, output, value, tolerance))
    {
        verdict->n_as_wholes++;
        return TRUE;
    }
    if (difference.n_different >= 0)
        note_difference(verdict, output->name, &difference, atol + rtol * fabs(difference.worst_reference));
    verdict->agreement = MAX(verdict->agreement, right ? IFM_AGREEMENT_EQUAL : IFM_AGREEMENT_DIFFERENT);
    return right || mismatch(output->name, value, &output->tensor, rtol, atol, &difference, error);
}

/* --- by the spread of disturbed runs ------------------------------------------------------------------------------ */

/* How an output came out at worst. */
typedef struct
{
    const IfmReferenceOutput *output;
    IfmAgreement agreement;
    IfmJudgement judgement;
    IfmAccuracy accuracy;
} Judged;

static void note_judged(IfmVerification *verdict, const Judged *judged, const IfmTensor *value)
{
    const gint64 at = judged->judgement.worst_index;
    const IfmTensor *expected = &judged->output->tensor;
    Judged *known = NULL;
    note_worst(verdict, judged->output->name, at >= 0 ? ifm_tensor_get_double(value, at) : NAN,
               at >= 0 ? ifm_tensor_get_double(expected, at) : NAN, judged->judgement.share);
    verdict->agreement = MAX(verdict->agreement, judged->agreement);
    if (verdict->judged == NULL)
        verdict->judged = g_array_new(FALSE, TRUE, sizeof(Judged));
    for (guint i = 0; i < verdict->judged->len && known == NULL; i++)
        if (g_array_index(verdict->judged, Judged, i).output == judged->output)
            known = &g_array_index(verdict->judged, Judged, i);
    if (known != NULL && known->agreement >= judged->agreement && known->judgement.share >= judged->judgement.share)
        return; /* mostly the same again */
    Judged worse = *judged;
    ifm_accuracy_add(&worse.accuracy, expected, value, NULL);
    if (known != NULL)
        *known = worse;
    else
        g_array_append_val(verdict->judged, worse);
}

static gboolean differs(const Judged *judged, const IfmTensor *value, GError **error)
{
    const IfmJudgement *judgement = &judged->judgement;
    const IfmTensor *expected = &judged->output->tensor;
    const char *port = judged->output->name;
    const gint64 at = judgement->worst_index;
    IfmAccuracy accuracy = { 0 };
    if (!ifm_accuracy_add(&accuracy, expected, value, NULL) || at < 0)
        return misshapen(port, value, expected, error);
    const double of = ifm_tensor_get_double(value, at), right = ifm_tensor_get_double(expected, at);
    g_autofree char *how =
        !ifm_dtype_is_float(value->dtype) || !isfinite(of) || !isfinite(right)
            ? g_strdup("")
            : g_strdup_printf(", %.3g times what rounding does there; signal to noise %.1f dB, of the "
                              "reference itself %.1f",
                              judgement->worst, ifm_accuracy_sqnr_db(&accuracy), judged->output->figures.reference_db);
    return ifm_error_set(error, IFM_ERROR_FAILED,
                         "output %s is different: %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT
                         " elements, worst element %" G_GINT64_FORMAT ": %.6g, the reference has %.6g%s",
                         port, judgement->n_different, ifm_tensor_n_elements(value), at, of, right, how);
}

static gboolean check_spread(const IfmReference *self, const IfmReferenceOutput *output, const IfmTensor *value,
                             const IfmTolerance *tolerance, IfmVerification *verdict, GError **error)
{
    Judged judged = { .output = output };
    judged.agreement = ifm_spread_judge(value, &output->tensor, &output->allowed, &output->figures, &judged.judgement);
    if (judged.agreement >= IFM_AGREEMENT_UNDETERMINED && g_strcmp0(judged.judgement.why, "shape") != 0 &&
        is_right_as_whole(self, output, value, tolerance))
    {
        judged.agreement = IFM_AGREEMENT_EQUAL;
        verdict->n_as_wholes++;
    }
    note_judged(verdict, &judged, value);
    return judged.agreement < IFM_AGREEMENT_DIFFERENT || differs(&judged, value, error);
}

/* Of random numbers only the type is known beforehand. */
static gboolean check_drawn(const IfmReferenceOutput *output, const IfmTensor *value, IfmVerification *verdict,
                            GError **error)
{
    const gboolean right = value->dtype == output->tensor.dtype && value->rank == output->tensor.rank;
    verdict->n_skipped++;
    verdict->agreement = MAX(verdict->agreement, right ? IFM_AGREEMENT_UNDETERMINED : IFM_AGREEMENT_DIFFERENT);
    return right || misshapen(output->name, value, &output->tensor, error);
}

/* --- checks ------------------------------------------------------------------------------------------------------- */

static const IfmReferenceOutput *find_output(const IfmReference *self, const char *port)
{
    for (gsize i = 0; i < self->n; i++)
        if (g_str_equal(self->outputs[i].name, port))
            return &self->outputs[i];
    return NULL;
}

static gboolean is_by_spread(const IfmReferenceOutput *output, const IfmTolerance *tolerance)
{
    return tolerance->scaled && output->figures.n_runs > 0;
}

gboolean ifm_reference_has_spread(const IfmReference *self, const char *port)
{
    const IfmReferenceOutput *output = find_output(self, port);
    return output != NULL && output->figures.n_runs > 0;
}

gboolean ifm_reference_check(const IfmReference *self, const char *port, const IfmTensor *value, IfmDtype dtype,
                             const IfmTolerance *tolerance, IfmVerification *verdict, GError **error)
{
    const IfmReferenceOutput *output = self != NULL ? find_output(self, port) : NULL;
    verdict->n_checks++;
    if (verdict->facts == NULL && self != NULL)
        verdict->facts = json_incref(self->facts);
    if (output != NULL && output->is_drawn)
        return check_drawn(output, value, verdict, error);
    /* the place of a maximum, say, is rightly another one where a lower precision rounded two values together */
    const gboolean comparable = ifm_dtype_is_float(value->dtype) || dtype == IFM_DTYPE_F32 || dtype == IFM_DTYPE_F64;
    if (ifm_dtype_size_bytes(value->dtype) == 0 || value->memory == IFM_MEMORY_DEVICE ||
        (output != NULL && !is_by_spread(output, tolerance) && !comparable))
    {
        verdict->n_skipped++;
        return TRUE;
    }
    if (self == NULL)
        return check_finite(port, value, error);
    if (output == NULL)
        return ifm_error_set(error, IFM_ERROR_FAILED, "output %s: the reference has no such output", port);
    verdict->reference_not_finite |= output->not_finite;
    verdict->n_compared++;
    if (output->unexpected != NULL)
    {
        verdict->agreement = IFM_AGREEMENT_DIFFERENT;
        return ifm_error_set(error, IFM_ERROR_FAILED, "the model does not give what is expected: %s", output->unexpected);
    }
    return (is_by_spread(output, tolerance) ? check_spread : check_fixed)(self, output, value, tolerance, verdict, error);
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

static gboolean is_quickly_right(const IfmReferenceOutput *output, const IfmTensor *value, const IfmTolerance *tolerance)
{
    const IfmTensor *expected = &output->tensor;
    if (!is_plain_float(value) || !is_plain_float(expected) || !ifm_tensor_same_shape(value, expected))
        return FALSE;
    if (is_by_spread(output, tolerance))
        return ifm_spread_is_within(value->data, expected->data, output->allowed.data, ifm_tensor_n_elements(value),
                                    &output->figures);
    const double atol = tolerance->atol * (tolerance->scaled ? output->root_mean_square : 1);
    return all_right(value->data, expected->data, ifm_tensor_n_elements(value), (float)tolerance->rtol, (float)atol);
}

gboolean ifm_reference_check_quick(const IfmReference *self, const char *port, const IfmTensor *value, IfmDtype dtype,
                                   const IfmTolerance *tolerance, IfmVerification *verdict, GError **error)
{
    const IfmReferenceOutput *output = self != NULL ? find_output(self, port) : NULL;
    if (output == NULL || output->is_drawn || output->unexpected != NULL || !is_quickly_right(output, value, tolerance))
        return ifm_reference_check(self, port, value, dtype, tolerance, verdict, error); /* it has the words for it */
    verdict->n_checks++;
    verdict->n_compared++;
    return TRUE;
}

/* --- what it came to ---------------------------------------------------------------------------------------------- */

static json_t *judged_to_json(const Judged *judged)
{
    const IfmJudgement *judgement = &judged->judgement;
    const IfmSpreadFigures *figures = &judged->output->figures;
    return json_pack("{s:o,s:s,s:s*,s:o,s:o,s:o,s:o,s:o,s:o,s:I,s:I,s:o}", "port", ifm_json_string(judged->output->name),
                     "agreement", ifm_agreement_name(judged->agreement), "why", judgement->why, "z",
                     ifm_json_real(judgement->z), "ratio", ifm_json_real(judgement->ratio), "worst",
                     ifm_json_real(judgement->worst), "gain", ifm_json_real(judgement->gain), "reference_db",
                     ifm_json_real(figures->reference_db), "unsure", ifm_json_real(figures->unsure), "n_different",
                     (json_int_t)judgement->n_different, "worst_index", (json_int_t)judgement->worst_index, "accuracy",
                     ifm_accuracy_to_json(&judged->accuracy));
}

/* (transfer full) */
static json_t *tolerance_to_json(const IfmVerification *verdict, const IfmTolerance *tolerance)
{
    const char *by = tolerance->scaled ? "by precision" : "as given";
    if (verdict->judged == NULL)
        return json_pack("{s:s,s:o,s:o,s:s}", "tolerance", by, "rtol", ifm_json_real(tolerance->rtol), "atol",
                         ifm_json_real(tolerance->atol), "atol_of",
                         tolerance->scaled ? "the reference output's root mean square" : "the output's unit");
    json_t *outputs = json_array();
    for (guint i = 0; i < verdict->judged->len; i++)
        json_array_append_new(outputs, judged_to_json(&g_array_index(verdict->judged, Judged, i)));
    return json_pack("{s:s,s:o}", "tolerance", "the spread of disturbed runs of the reference", "outputs", outputs);
}

static const char *status_of(const IfmVerification *verdict, gboolean wrong)
{
    return wrong                                              ? "failed"
           : verdict->agreement == IFM_AGREEMENT_UNDETERMINED ? "undetermined"
           : verdict->n_checks > verdict->n_skipped           ? "passed"
                                                              : "none";
}

json_t *ifm_verification_to_json(const IfmVerification *verdict, gboolean wrong, const IfmTolerance *tolerance)
{
    json_t *json = json_pack("{s:s,s:I,s:I}", "status", status_of(verdict, wrong), "n_checks",
                             (json_int_t)verdict->n_checks, "n_not_compared", (json_int_t)verdict->n_skipped);
    if (tolerance == NULL)
        return json;
    json_object_set_new(json, "reference", json_string("onnxruntime:CPU, graph optimisation off"));
    if (verdict->facts != NULL)
        json_object_update(json, verdict->facts);
    if (verdict->n_compared > 0 || verdict->agreement > IFM_AGREEMENT_EQUAL)
        json_object_set_new(json, "agreement", json_string(ifm_agreement_name(verdict->agreement)));
    json_object_update_new(json, tolerance_to_json(verdict, tolerance));
    if (tolerance->as_wholes)
        json_object_set_new(json, "n_as_wholes", json_integer(verdict->n_as_wholes));
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
    json_decref(verdict->facts);
    if (verdict->judged != NULL)
        g_array_unref(verdict->judged);
    *verdict = (IfmVerification){ 0 };
}
