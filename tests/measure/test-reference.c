#include <math.h>
#include <string.h>

#include <glib/gstdio.h>

#include "measure/measure-private.h"

static const gint64 shape[] = { 2, 3 };
static float values[] = { 1, -2, 3, -4, 0, 100 };
static gint64 places[] = { 7, 1, 2, 9, 9, 5 };

static char *temporary_file(void)
{
    g_autofree char *folder = g_dir_make_tmp("inferometer-test-XXXXXX", NULL);
    return g_build_filename(folder, "reference", NULL);
}

static void remove_file(const char *path)
{
    g_autofree char *folder = g_path_get_dirname(path);
    g_unlink(path);
    g_rmdir(folder);
}

static IfmReference *saved(const char *path)
{
    static const char *const names[] = { "logits", "places" };
    IfmTensor tensors[2];
    g_autoptr(GError) error = NULL;
    g_assert_true(ifm_tensor_wrap(&tensors[0], IFM_DTYPE_F32, 2, shape, values, NULL));
    g_assert_true(ifm_tensor_wrap(&tensors[1], IFM_DTYPE_I64, 2, shape, places, NULL));
    g_assert_true(ifm_tensor_file_save(path, names, tensors, 2, &error));
    g_assert_no_error(error);
    IfmReference *reference = ifm_reference_open(path, &error);
    g_assert_no_error(error);
    return reference;
}

static gboolean check(const IfmReference *reference, const char *port, IfmDtype dtype, void *data, IfmDtype precision,
                      IfmVerification *verdict, GError **error)
{
    IfmTensor value;
    IfmTolerance tolerance = ifm_tolerance_for(precision, 0, 0);
    g_assert_true(ifm_tensor_wrap(&value, dtype, 2, shape, data, NULL));
    return ifm_reference_check(reference, port, &value, precision, &tolerance, verdict, error);
}

static void test_equal(void)
{
    g_autofree char *path = temporary_file();
    g_autoptr(IfmReference) reference = saved(path);
    IfmVerification verdict = { 0 };
    g_assert_true(check(reference, "logits", IFM_DTYPE_F32, values, IFM_DTYPE_F32, &verdict, NULL));
    g_assert_true(check(reference, "places", IFM_DTYPE_I64, places, IFM_DTYPE_F32, &verdict, NULL));
    g_assert_cmpuint(verdict.n_checks, ==, 2);
    g_assert_cmpfloat(verdict.worst_excess, ==, 0);
    ifm_verification_clear(&verdict);
    remove_file(path);
}

/* The scale is the output's root mean square, 41.2 here: 1e-3 of it may be off, also where the value is 0. */
static void test_tolerance(void)
{
    g_autofree char *path = temporary_file();
    g_autoptr(IfmReference) reference = saved(path);
    IfmVerification verdict = { 0 };
    double rms = sqrt((1 + 4 + 9 + 16 + 10000) / 6.0);
    float near[6], far[6];
    memcpy(near, values, sizeof values);
    memcpy(far, values, sizeof values);
    near[4] = (float)(0.99e-3 * rms);
    far[4] = (float)(1.01e-3 * rms);
    g_assert_true(check(reference, "logits", IFM_DTYPE_F32, near, IFM_DTYPE_F32, &verdict, NULL));
    g_assert_cmpfloat_with_epsilon(verdict.worst_excess, 0.99, 1e-3);
    g_autoptr(GError) error = NULL;
    g_assert_false(check(reference, "logits", IFM_DTYPE_F32, far, IFM_DTYPE_F32, &verdict, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_FAILED);
    g_assert_nonnull(strstr(error->message, "output logits is different: 1 of 6 elements, worst element 4: 0.041"));
    g_assert_nonnull(strstr(error->message, "the reference has 0 (rtol 0.001, atol 0.0409"));
    g_assert_true(check(reference, "logits", IFM_DTYPE_F32, far, IFM_DTYPE_F16, &verdict, NULL)); /* fewer digits */
    ifm_verification_clear(&verdict);
    remove_file(path);
}

/* As a whole: what one element alone is off by counts against all; 1e-2 of their norm may be. */
static void test_as_whole(void)
{
    g_autofree char *path = temporary_file();
    g_autoptr(IfmReference) reference = saved(path);
    IfmVerification verdict = { 0 };
    IfmTolerance tolerance = ifm_tolerance_for(IFM_DTYPE_F32, 0, 0);
    double norm = sqrt(1 + 4 + 9 + 16 + 10000);
    static const struct
    {
        double share;
        gboolean right;
    } rows[] = { { 0.99e-2, TRUE }, { 1.01e-2, FALSE }, { NAN, FALSE } };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
        for (int whole = 0; whole < 2; whole++)
        {
            float off[6];
            IfmTensor value;
            memcpy(off, values, sizeof values);
            off[4] = (float)(rows[i].share * norm);
            tolerance.as_wholes = whole;
            g_assert_true(ifm_tensor_wrap(&value, IFM_DTYPE_F32, 2, shape, off, NULL));
            gboolean right = ifm_reference_check(reference, "logits", &value, IFM_DTYPE_F32, &tolerance, &verdict, NULL);
            g_assert_cmpint(right, ==, whole && rows[i].right);
        }
    g_assert_cmpuint(verdict.n_as_wholes, ==, 1);
    /* noise: an output of zeros beside one of 41.2 in root mean square */
    static const char *const names[] = { "logits", "nothing" };
    static float zeros[6], noise[6];
    IfmTensor tensors[2], made;
    g_assert_true(ifm_tensor_wrap(&tensors[0], IFM_DTYPE_F32, 2, shape, values, NULL));
    g_assert_true(ifm_tensor_wrap(&tensors[1], IFM_DTYPE_F32, 2, shape, zeros, NULL));
    g_assert_true(ifm_tensor_wrap(&made, IFM_DTYPE_F32, 2, shape, noise, NULL));
    g_assert_true(ifm_tensor_file_save(path, names, tensors, 2, NULL));
    g_autoptr(IfmReference) quiet = ifm_reference_open(path, NULL);
    noise[0] = (float)(0.99e-6 * norm); /* both norms are of six elements */
    g_assert_true(ifm_reference_check(quiet, "nothing", &made, IFM_DTYPE_F32, &tolerance, &verdict, NULL));
    noise[0] = (float)(1.01e-6 * norm);
    g_assert_false(ifm_reference_check(quiet, "nothing", &made, IFM_DTYPE_F32, &tolerance, &verdict, NULL));
    gint64 other[6]; /* integers are right or not */
    IfmTensor value;
    memcpy(other, places, sizeof places);
    other[1] = 2;
    g_assert_true(ifm_tensor_wrap(&value, IFM_DTYPE_I64, 2, shape, other, NULL));
    g_assert_false(ifm_reference_check(reference, "places", &value, IFM_DTYPE_F32, &tolerance, &verdict, NULL));
    ifm_verification_clear(&verdict);
    remove_file(path);
}

static void test_user_tolerance(void)
{
    IfmTolerance tolerance = ifm_tolerance_for(IFM_DTYPE_F32, 0, 0.5);
    g_assert_false(tolerance.scaled);
    g_assert_cmpfloat(tolerance.atol, ==, 0.5);
    g_assert_cmpfloat(tolerance.rtol, ==, 0);
}

static void test_integers(void)
{
    g_autofree char *path = temporary_file();
    g_autoptr(IfmReference) reference = saved(path);
    IfmVerification verdict = { 0 };
    gint64 other[6];
    memcpy(other, places, sizeof places);
    other[3] = 8;
    g_autoptr(GError) error = NULL;
    g_assert_false(check(reference, "places", IFM_DTYPE_I64, other, IFM_DTYPE_F32, &verdict, &error));
    g_assert_nonnull(strstr(error->message, "worst element 3: 8, the reference has 9"));
    g_assert_cmpuint(verdict.n_skipped, ==, 0);
    g_assert_true(check(reference, "places", IFM_DTYPE_I64, other, IFM_DTYPE_BF16, &verdict, NULL));
    g_assert_cmpuint(verdict.n_skipped, ==, 1);
    ifm_verification_clear(&verdict);
    remove_file(path);
}

static void test_not_finite(void)
{
    IfmVerification verdict = { 0 };
    float broken[6];
    g_autoptr(GError) error = NULL;
    memcpy(broken, values, sizeof values);
    g_assert_true(check(NULL, "logits", IFM_DTYPE_F32, broken, IFM_DTYPE_F32, &verdict, NULL));
    broken[2] = NAN;
    g_assert_false(check(NULL, "logits", IFM_DTYPE_F32, broken, IFM_DTYPE_F32, &verdict, &error));
    g_assert_cmpstr(error->message, ==, "output logits is not finite: element 2 is nan");
    g_clear_error(&error);
    g_autofree char *path = temporary_file();
    g_autoptr(IfmReference) reference = saved(path);
    g_assert_false(check(reference, "logits", IFM_DTYPE_F32, broken, IFM_DTYPE_F32, &verdict, &error));
    g_assert_nonnull(strstr(error->message, "worst element 2: nan"));
    g_assert_true(isinf(verdict.worst_excess));
    g_assert_false(verdict.reference_not_finite);
    ifm_verification_clear(&verdict);
    remove_file(path);
}

/* A model that gives infinities by itself is no broken device. */
static void test_reference_not_finite(void)
{
    g_autofree char *path = temporary_file();
    IfmVerification verdict = { 0 };
    float kept = values[1];
    values[1] = -INFINITY;
    g_autoptr(IfmReference) reference = saved(path);
    g_assert_true(check(reference, "logits", IFM_DTYPE_F32, values, IFM_DTYPE_F32, &verdict, NULL));
    g_assert_true(verdict.reference_not_finite);
    values[1] = kept;
    ifm_verification_clear(&verdict);
    remove_file(path);
}

static void test_shape(void)
{
    g_autofree char *path = temporary_file();
    g_autoptr(IfmReference) reference = saved(path);
    IfmVerification verdict = { 0 };
    IfmTensor value;
    IfmTolerance tolerance = ifm_tolerance_for(IFM_DTYPE_F32, 0, 0);
    const gint64 other[] = { 3, 2 };
    g_autoptr(GError) error = NULL;
    g_assert_true(ifm_tensor_wrap(&value, IFM_DTYPE_F32, 2, other, values, NULL));
    g_assert_false(ifm_reference_check(reference, "logits", &value, IFM_DTYPE_F32, &tolerance, &verdict, &error));
    g_assert_cmpstr(error->message, ==, "output logits is f32 [3,2], the reference's is f32 [2,3]");
    g_clear_error(&error);
    g_assert_false(ifm_reference_check(reference, "other", &value, IFM_DTYPE_F32, &tolerance, &verdict, &error));
    g_assert_cmpstr(error->message, ==, "output other: the reference has no such output");
    ifm_verification_clear(&verdict);
    remove_file(path);
}

/* With disturbed runs: 0.1 is allowed at each element. @reference_db: of the runs */
static IfmReference *saved_spread(const char *path, double reference_db)
{
    static const char *const names[] = { "logits", "logits" IFM_REFERENCE_ALLOWED, "logits" IFM_REFERENCE_FIGURES,
                                         IFM_REFERENCE_FACTS };
    static float allowed[] = { 0.1F, 0.1F, 0.1F, 0.1F, 0.1F, 0.1F };
    static char facts[] = "{\"n_runs\": 5, \"kept\": [\"Odd\"]}";
    IfmSpreadFigures figures = { .n_runs = 5, .reference_db = reference_db, .gain = 1e-3, .z = 1, .ratio = 1 };
    const gint64 n_figures = IFM_SPREAD_N_FIGURES, n_facts = (gint64)strlen(facts);
    IfmTensor tensors[4];
    g_autoptr(GError) error = NULL;
    g_assert_true(ifm_tensor_wrap(&tensors[0], IFM_DTYPE_F32, 2, shape, values, NULL) &&
                  ifm_tensor_wrap(&tensors[1], IFM_DTYPE_F32, 2, shape, allowed, NULL) &&
                  ifm_tensor_wrap(&tensors[2], IFM_DTYPE_F64, 1, &n_figures, &figures, NULL) &&
                  ifm_tensor_wrap(&tensors[3], IFM_DTYPE_U8, 1, &n_facts, facts, NULL));
    g_assert_true(ifm_tensor_file_save(path, names, tensors, 4, &error));
    IfmReference *reference = ifm_reference_open(path, &error);
    g_assert_no_error(error);
    return reference;
}

static void test_spread(void)
{
    static const struct
    {
        float off; /* everywhere, up and down */
        double reference_db, rtol;
        const char *status, *agreement;
    } rows[] = {
        { 0.1F, 80, 0, "passed", "equal" },
        { 0.1F, 30, 0, "passed", "equal up to quantisation" },
        { 0.1F, 10, 0, "undetermined", "undetermined" },
        { 0.2F, 10, 0, "undetermined", "undetermined" },
        { 0.2F, 30, 0, "failed", "different" },
        { 0.2F, 80, 1, "passed", "equal" }, /* what the user allows rules */
    };
    for (gsize row = 0; row < G_N_ELEMENTS(rows); row++)
    {
        g_autofree char *path = temporary_file();
        g_autoptr(IfmReference) reference = saved_spread(path, rows[row].reference_db);
        g_autoptr(GError) error = NULL;
        IfmVerification verdict = { 0 };
        const IfmTolerance tolerance = ifm_tolerance_for(IFM_DTYPE_F32, rows[row].rtol, rows[row].rtol);
        IfmTensor value;
        float seen[6];
        for (int i = 0; i < 6; i++)
            seen[i] = values[i] + (i % 2 == 0 ? rows[row].off : -rows[row].off);
        g_assert_true(ifm_tensor_wrap(&value, IFM_DTYPE_F32, 2, shape, seen, NULL));
        const gboolean right =
            ifm_reference_check(reference, "logits", &value, IFM_DTYPE_F32, &tolerance, &verdict, &error);
        g_assert_cmpint(right, ==, !g_str_equal(rows[row].status, "failed"));
        if (!right)
            g_assert_nonnull(strstr(error->message, "output logits is different: 6 of 6 elements, worst element "));
        json_auto_t *json = ifm_verification_to_json(&verdict, !right, &tolerance);
        g_assert_cmpstr(json_string_value(json_object_get(json, "status")), ==, rows[row].status);
        g_assert_cmpstr(json_string_value(json_object_get(json, "agreement")), ==, rows[row].agreement);
        g_assert_cmpuint(json_array_size(json_object_get(json, "outputs")), ==, rows[row].rtol > 0 ? 0 : 1);
        g_assert_cmpstr(json_string_value(json_array_get(json_object_get(json, "kept"), 0)), ==, "Odd");
        ifm_verification_clear(&verdict);
        remove_file(path);
    }
}

/* A part of the whole has its rows of what is allowed; the quick check says the same of both, or leaves it to the other. */
static void test_spread_rows(void)
{
    g_autofree char *path = temporary_file();
    g_autoptr(IfmReference) whole = saved_spread(path, 80);
    const gint64 rows[] = { 1 }, part_shape[] = { 1, 3 };
    g_autoptr(IfmReference) part = ifm_reference_rows(whole, rows, 1, NULL);
    const IfmTolerance tolerance = ifm_tolerance_for(IFM_DTYPE_F32, 0, 0);
    IfmVerification verdict = { 0 };
    for (int far = 0; far < 2; far++)
    {
        float seen[3] = { values[3] + 0.1F, values[4], values[5] + (far ? 5.0F : 0) };
        IfmTensor value;
        g_assert_true(ifm_tensor_wrap(&value, IFM_DTYPE_F32, 2, part_shape, seen, NULL));
        g_assert_cmpint(ifm_reference_check(part, "logits", &value, IFM_DTYPE_F32, &tolerance, &verdict, NULL), ==, !far);
        g_assert_cmpint(ifm_reference_check_quick(part, "logits", &value, IFM_DTYPE_F32, &tolerance, &verdict, NULL), ==,
                        !far);
    }
    g_assert_cmpuint(verdict.n_compared, ==, 4);
    ifm_verification_clear(&verdict);
    remove_file(path);
}

/* What a damaged file gets is test-tensor-file's; here that the error comes through. */
static void test_damaged(void)
{
    g_autofree char *path = temporary_file();
    g_autoptr(GError) error = NULL;
    ifm_reference_free(saved(path));
    g_assert_true(g_file_set_contents(path, "IFMTENS", -1, NULL));
    g_assert_null(ifm_reference_open(path, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_CORRUPT);
    remove_file(path);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/reference/equal", test_equal);
    g_test_add_func("/reference/tolerance", test_tolerance);
    g_test_add_func("/reference/user-tolerance", test_user_tolerance);
    g_test_add_func("/reference/as-whole", test_as_whole);
    g_test_add_func("/reference/integers", test_integers);
    g_test_add_func("/reference/not-finite", test_not_finite);
    g_test_add_func("/reference/reference-not-finite", test_reference_not_finite);
    g_test_add_func("/reference/shape", test_shape);
    g_test_add_func("/reference/spread", test_spread);
    g_test_add_func("/reference/spread-rows", test_spread_rows);
    g_test_add_func("/reference/damaged", test_damaged);
    return g_test_run();
}
