#include <base/fields.h>
#include <base/tensor.h>

#include <math.h>
#include <string.h>

/* These functions compare a tensor with its reference: they add up errors and tell the signal-to-noise ratio, cosine and
 * ranks. */

#define TOP 5

static gboolean is_readable(const IfmTensor *tensor)
{
    return ifm_dtype_size_bytes(tensor->dtype) > 0 && tensor->memory != IFM_MEMORY_DEVICE &&
           ifm_tensor_is_contiguous(tensor);
}

static gboolean check_pair(const IfmTensor *reference, const IfmTensor *value, GError **error)
{
    if (!is_readable(reference) || !is_readable(value))
        return ifm_error_refuse(error, "accuracy is of plain tensors of numbers alone");
    if (ifm_tensor_same_shape(reference, value))
        return TRUE;
    g_autofree char *got = ifm_shape_to_string(value->rank, value->shape);
    g_autofree char *expected = ifm_shape_to_string(reference->rank, reference->shape);
    return ifm_error_refuse(error, "the shape is %s, the reference's is %s", got, expected);
}

static inline double element(const IfmTensor *tensor, gint64 index)
{
    return tensor->dtype == IFM_DTYPE_F32 ? (double)((const float *)tensor->data)[index]
                                          : ifm_tensor_get_double(tensor, index);
}

static void add_element(IfmAccuracy *sums, double reference, double value, gint64 index)
{
    const double difference = value - reference;
    sums->n_elements++;
    if (!isfinite(difference))
    {
        const gboolean same = (isnan(value) && isnan(reference)) || value == reference;
        sums->n_not_finite += !same;
        return;
    }
    sums->signal += reference * reference;
    sums->power += value * value;
    sums->dot += value * reference;
    sums->noise += difference * difference;
    if (!(fabs(difference) > sums->max_difference))
        return;
    sums->max_difference = fabs(difference);
    sums->max_value = value;
    sums->max_reference = reference;
    sums->max_index = index;
}

/* The place of a row's largest element; -1: a NaN is in the row. */
static gint64 largest_of(const IfmTensor *tensor, gint64 start, gint64 n)
{
    gint64 at = 0;
    double largest = element(tensor, start);
    for (gint64 i = 0; i < n; i++)
    {
        const double one = element(tensor, start + i);
        if (isnan(one))
            return -1;
        if (!(one > largest))
            continue;
        largest = one;
        at = i;
    }
    return at;
}

/* How many of a row are before the element at @place when it is sorted from the largest on; of equals the first is first.
 */
static gint64 n_before(const IfmTensor *tensor, gint64 start, gint64 n, gint64 place)
{
    const double of = element(tensor, start + place);
    gint64 count = 0;
    for (gint64 i = 0; i < n; i++)
    {
        const double one = element(tensor, start + i);
        count += one > of || (one == of && i < place);
    }
    return count;
}

static void add_rows(IfmAccuracy *sums, const IfmTensor *reference, const IfmTensor *value)
{
    const gint64 n = value->rank > 0 ? value->shape[value->rank - 1] : 0;
    const gint64 n_elements = ifm_tensor_n_elements(value);
    if (n < 2 || !ifm_dtype_is_float(reference->dtype) || !ifm_dtype_is_float(value->dtype))
        return;
    for (gint64 start = 0; start < n_elements; start += n)
    {
        const gint64 right = largest_of(reference, start, n), found = largest_of(value, start, n);
        const gboolean ordered = right >= 0 && found >= 0;
        sums->n_rows++;
        sums->n_first_same += ordered && right == found;
        if (n <= TOP)
            continue;
        sums->n_rows_of_five++;
        sums->n_first_in_five += ordered && n_before(value, start, n, right) < TOP;
    }
}

gboolean ifm_accuracy_add(IfmAccuracy *accuracy, const IfmTensor *reference, const IfmTensor *value, GError **error)
{
    if (!check_pair(reference, value, error))
        return FALSE;
    const gint64 n = ifm_tensor_n_elements(value);
    for (gint64 i = 0; i < n; i++)
        add_element(accuracy, element(reference, i), element(value, i), i);
    add_rows(accuracy, reference, value);
    return TRUE;
}

double ifm_accuracy_sqnr_db(const IfmAccuracy *accuracy)
{
    return accuracy->n_elements == 0 ? (double)NAN
           : accuracy->noise == 0    ? (double)INFINITY
                                     : 10 * log10(accuracy->signal / accuracy->noise);
}

double ifm_accuracy_cosine(const IfmAccuracy *accuracy)
{
    return accuracy->dot / (sqrt(accuracy->signal) * sqrt(accuracy->power)); /* 0 / 0 is NaN */
}

double ifm_accuracy_top1(const IfmAccuracy *accuracy)
{
    return (double)accuracy->n_first_same / (double)accuracy->n_rows;
}

double ifm_accuracy_top5(const IfmAccuracy *accuracy)
{
    return (double)accuracy->n_first_in_five / (double)accuracy->n_rows_of_five;
}

json_t *ifm_accuracy_to_json(const IfmAccuracy *accuracy)
{
    return json_pack("{s:I,s:I,s:o,s:o,s:o,s:I,s:o,s:o}", "n_elements", (json_int_t)accuracy->n_elements, "n_not_finite",
                     (json_int_t)accuracy->n_not_finite, "sqnr_db", ifm_json_real(ifm_accuracy_sqnr_db(accuracy)), "cosine",
                     ifm_json_real(ifm_accuracy_cosine(accuracy)), "max_difference",
                     ifm_json_real(accuracy->max_difference), "n_rows", (json_int_t)accuracy->n_rows, "top1",
                     ifm_json_real(ifm_accuracy_top1(accuracy)), "top5", ifm_json_real(ifm_accuracy_top5(accuracy)));
}
