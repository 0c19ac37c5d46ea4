/* room: base */
#pragma once
#include <jansson.h>

#include <inferometer/tensor.h>

G_BEGIN_DECLS

/**
 * IfmAccuracy: How near the values of a tensor come to those of a reference, over any number of samples. All zero: none
 * yet. Elements that are not finite on either side are left out of the sums; those that are so on one side alone, or
 * infinite with the other sign, are counted.
 * A row is what a classifier gives for one sample: the last axis, where it has at least 2 elements.
 */
typedef struct
{
    gint64 n_elements, n_not_finite;
    double signal, noise, dot, power; /* sums of reference^2, (value - reference)^2, value reference, value^2 */
    double max_difference, max_value, max_reference; /* the largest |value - reference|, and the two values there */
    gint64 max_index;                                /* row-major, in its sample */
    gint64 n_rows, n_first_same, n_first_in_five;    /* rows with the same largest element; whose reference's is in five */
    gint64 n_rows_of_five; /* rows of more than five elements: only they count in n_first_in_five */
} IfmAccuracy;

/**
 * ifm_accuracy_add: Adds one sample. Strings and tensors without a size are no numbers.
 * Returns: FALSE with IFM_ERROR_INVALID where the shapes differ, or one is no contiguous host tensor of numbers; the dtypes
 * may differ.
 */
gboolean ifm_accuracy_add(IfmAccuracy *accuracy, const IfmTensor *reference, const IfmTensor *value, GError **error);

/** ifm_accuracy_sqnr_db: The signal to quantisation noise ratio, dB.
 * Equals: 10 log10(signal / noise); infinite where all elements are equal, -infinite where only the reference is zero; NaN
 * where nothing was added. */
double ifm_accuracy_sqnr_db(const IfmAccuracy *accuracy);

/** ifm_accuracy_cosine: Equals: dot / sqrt(signal power); NaN where one of them is zero. */
double ifm_accuracy_cosine(const IfmAccuracy *accuracy);

/** ifm_accuracy_top1: The share of rows whose largest element (the first of equal ones) is at the same place.
 * ifm_accuracy_top5: The share of rows of more than five elements where the place of the reference's largest element is
 * among the five largest. NaN without rows. */
double ifm_accuracy_top1(const IfmAccuracy *accuracy);
double ifm_accuracy_top5(const IfmAccuracy *accuracy);

/** ifm_accuracy_to_json: (transfer full) {"n_elements", "n_not_finite", "sqnr_db", "cosine", "max_difference", "n_rows",
 * "top1", "top5"}: null for NaN, "inf" or "-inf" for an infinity. */
json_t *ifm_accuracy_to_json(const IfmAccuracy *accuracy);

G_END_DECLS
