#include <base/tensor.h>
#include <math.h>
#include <string.h>

static void fill(IfmTensor *tensor, int rank, const gint64 *shape, const float *values)
{
    g_assert_true(ifm_tensor_init(tensor, IFM_DTYPE_F32, rank, shape, NULL));
    memcpy(tensor->data, values, tensor->size_bytes);
}

static void add(IfmAccuracy *accuracy, int rank, const gint64 *shape, const float *right, const float *found)
{
    g_auto(IfmTensor) reference = IFM_TENSOR_INIT, value = IFM_TENSOR_INIT;
    g_autoptr(GError) error = NULL;
    fill(&reference, rank, shape, right);
    fill(&value, rank, shape, found);
    g_assert_true(ifm_accuracy_add(accuracy, &reference, &value, &error));
    g_assert_no_error(error);
}

/* Sums of squares that are known: the signal is 25 + 144, the noise 1 + 1; the ratio is of sums over all samples, not a
 * mean of two ratios. */
static void test_figures(void)
{
    IfmAccuracy accuracy = { 0 };
    g_assert_true(isnan(ifm_accuracy_sqnr_db(&accuracy)));
    add(&accuracy, 1, (gint64[]){ 2 }, (float[]){ 3, 4 }, (float[]){ 4, 4 });
    add(&accuracy, 1, (gint64[]){ 2 }, (float[]){ 0, 12 }, (float[]){ 0, 11 });
    g_assert_cmpfloat_with_epsilon(ifm_accuracy_sqnr_db(&accuracy), 10 * log10(169.0 / 2), 1e-12);
    g_assert_cmpfloat_with_epsilon(ifm_accuracy_cosine(&accuracy), 160 / sqrt(169.0 * 153), 1e-12);
    g_assert_cmpfloat(accuracy.max_difference, ==, 1);
    g_assert_cmpfloat(accuracy.max_reference, ==, 3);
    g_assert_cmpint(accuracy.n_elements, ==, 4);
}

static void test_equal(void)
{
    IfmAccuracy accuracy = { 0 };
    add(&accuracy, 1, (gint64[]){ 3 }, (float[]){ 1, NAN, INFINITY }, (float[]){ 1, NAN, INFINITY });
    g_assert_cmpfloat(ifm_accuracy_sqnr_db(&accuracy), ==, INFINITY);
    g_assert_cmpint(accuracy.n_not_finite, ==, 0);
    add(&accuracy, 1, (gint64[]){ 3 }, (float[]){ 1, 2, INFINITY }, (float[]){ NAN, 2, -INFINITY });
    g_assert_cmpint(accuracy.n_not_finite, ==, 2);
    g_assert_cmpfloat(ifm_accuracy_sqnr_db(&accuracy), ==, INFINITY); /* of what is finite */
    IfmAccuracy silent = { 0 };
    add(&silent, 1, (gint64[]){ 1 }, (float[]){ 0 }, (float[]){ 1 });
    g_assert_cmpfloat(ifm_accuracy_sqnr_db(&silent), ==, -INFINITY);
    g_assert_true(isnan(ifm_accuracy_cosine(&silent)));
}

/* The reference's first is 0 in each row. Of the values it is the first, the fifth, the sixth, and not known. */
static void test_rows(void)
{
    IfmAccuracy accuracy = { 0 };
    add(&accuracy, 2, (gint64[]){ 4, 7 },
        (float[]){ 9, 1, 2, 3, 4, 5, 6, 9, 1, 2, 3, 4, 5, 6, 9, 1, 2, 3, 4, 5, 6, 9, 1, 2, 3, 4, 5, 6 },
        (float[]){ 9, 1, 2, 3, 4, 5, 6, 5, 9, 8, 7, 6, 1, 1, 5, 9, 8, 7, 6, 6, 1, 9, 1, NAN, 3, 4, 5, 6 });
    g_assert_cmpint(accuracy.n_rows, ==, 4);
    g_assert_cmpfloat(ifm_accuracy_top1(&accuracy), ==, 0.25);
    g_assert_cmpfloat(ifm_accuracy_top5(&accuracy), ==, 0.5);
    add(&accuracy, 2, (gint64[]){ 1, 2 }, (float[]){ 1, 0 }, (float[]){ 1, 0 }); /* of two classes all are in five */
    g_assert_cmpfloat(ifm_accuracy_top1(&accuracy), ==, 0.4);
    g_assert_cmpfloat(ifm_accuracy_top5(&accuracy), ==, 0.5);
    IfmAccuracy scalar = { 0 };
    add(&scalar, 0, NULL, (float[]){ 1 }, (float[]){ 1 });
    g_assert_true(isnan(ifm_accuracy_top1(&scalar)));
}

/* A model in half precision is compared with one in single; shapes must be the same. */
static void test_kinds(void)
{
    g_auto(IfmTensor) whole = IFM_TENSOR_INIT, half = IFM_TENSOR_INIT, text = { .dtype = IFM_DTYPE_STRING };
    IfmAccuracy accuracy = { 0 };
    g_autoptr(GError) error = NULL;
    g_autoptr(GRand) random = g_rand_new_with_seed(1);
    fill(&whole, 1, (gint64[]){ 1 }, (float[]){ 1.5 });
    g_assert_true(ifm_tensor_init(&half, IFM_DTYPE_F16, 1, (gint64[]){ 1 }, NULL));
    g_assert_true(ifm_tensor_fill_random(&half, random, 1.25, 1.25, NULL));
    g_assert_true(ifm_accuracy_add(&accuracy, &whole, &half, &error));
    g_assert_cmpfloat(accuracy.max_difference, ==, 0.25);
    g_assert_false(ifm_accuracy_add(&accuracy, &whole, &text, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_clear_error(&error);
    g_auto(IfmTensor) longer = IFM_TENSOR_INIT;
    fill(&longer, 2, (gint64[]){ 1, 2 }, (float[]){ 1, 2 });
    g_assert_false(ifm_accuracy_add(&accuracy, &whole, &longer, &error));
    g_assert_cmpstr(error->message, ==, "the shape is [1,2], the reference's is [1]");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/accuracy/figures", test_figures);
    g_test_add_func("/accuracy/equal", test_equal);
    g_test_add_func("/accuracy/rows", test_rows);
    g_test_add_func("/accuracy/kinds", test_kinds);
    return g_test_run();
}
