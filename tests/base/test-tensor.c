#include <base/tensor.h>
#include <math.h>

static void test_size(void)
{
    g_autoptr(GError) error = NULL;
    gsize size = 1;
    g_assert_true(ifm_shape_size_bytes(IFM_DTYPE_F32, 0, NULL, &size, &error));
    g_assert_cmpuint(size, ==, 4);
    g_assert_true(ifm_shape_size_bytes(IFM_DTYPE_I64, 3, (gint64[]){ 2, 3, 5 }, &size, &error));
    g_assert_cmpuint(size, ==, 240);
    /* An empty tensor is empty, however large its other dimensions. */
    g_assert_true(ifm_shape_size_bytes(IFM_DTYPE_F32, 3, (gint64[]){ G_MAXINT64, G_MAXINT64, 0 }, &size, &error));
    g_assert_cmpuint(size, ==, 0);
    g_auto(IfmTensor) empty = IFM_TENSOR_INIT;
    g_assert_true(ifm_tensor_init(&empty, IFM_DTYPE_F32, 3, (gint64[]){ 0, G_MAXINT64, G_MAXINT64 }, &error));
    g_assert_cmpint(ifm_tensor_n_elements(&empty), ==, 0);
    g_assert_true(ifm_tensor_is_contiguous(&empty));
    g_assert_false(ifm_shape_size_bytes(IFM_DTYPE_F32, 2, (gint64[]){ 1LL << 40, 1LL << 40 }, &size, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_clear_error(&error);
    g_assert_false(ifm_shape_size_bytes(IFM_DTYPE_F32, 2, (gint64[]){ 3, -1 }, &size, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_clear_error(&error);
    g_assert_false(ifm_shape_size_bytes(IFM_DTYPE_STRING, 1, (gint64[]){ 3 }, &size, &error));
    g_clear_error(&error);
    IfmTensor tensor;
    g_assert_false(ifm_tensor_init(&tensor, IFM_DTYPE_F32, 1, (gint64[]){ 1LL << 60 }, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_MEMORY);
    g_assert_null(tensor.data);
}

static void test_half(void)
{
    /* Exact in half: 1, -2, the least subnormal, the largest; 65520 rounds to infinity; 1 + 2^-11 ties to even. */
    static const struct
    {
        double given, read;
    } cases[] = { { 1, 1 },
                  { -2, -2 },
                  { ldexp(1, -24), ldexp(1, -24) },
                  { 65504, 65504 },
                  { 65520, INFINITY },
                  { 1 + ldexp(1, -11), 1 },
                  { 1 + 3 * ldexp(1, -11), 1 + ldexp(1, -9) },
                  { ldexp(1, -14), ldexp(1, -14) } };
    g_autoptr(GRand) random = g_rand_new_with_seed(1);
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    {
        g_auto(IfmTensor) tensor = IFM_TENSOR_INIT;
        g_assert_true(ifm_tensor_init(&tensor, IFM_DTYPE_F16, 1, (gint64[]){ 1 }, NULL));
        /* low == high: every draw is that very value. */
        g_assert_true(ifm_tensor_fill_random(&tensor, random, cases[i].given, cases[i].given, NULL));
        g_assert_cmpfloat(ifm_tensor_get_double(&tensor, 0), ==, cases[i].read);
    }
}

static void test_fill(void)
{
    static const IfmDtype dtypes[] = { IFM_DTYPE_F32, IFM_DTYPE_F64, IFM_DTYPE_F16, IFM_DTYPE_BF16, IFM_DTYPE_U8,
                                       IFM_DTYPE_I8,  IFM_DTYPE_I32, IFM_DTYPE_I64, IFM_DTYPE_BOOL };
    for (gsize d = 0; d < G_N_ELEMENTS(dtypes); d++)
    {
        g_auto(IfmTensor) a = IFM_TENSOR_INIT, b = IFM_TENSOR_INIT;
        g_assert_true(ifm_tensor_init(&a, dtypes[d], 2, (gint64[]){ 10, 100 }, NULL));
        g_assert_true(ifm_tensor_init(&b, dtypes[d], 2, (gint64[]){ 10, 100 }, NULL));
        g_assert_cmpuint((guintptr)a.data % 64, ==, 0);
        g_autoptr(GRand) ra = g_rand_new_with_seed(7);
        g_autoptr(GRand) rb = g_rand_new_with_seed(7);
        g_assert_true(ifm_tensor_fill_random(&a, ra, 0, 5, NULL));
        g_assert_true(ifm_tensor_fill_random(&b, rb, 0, 5, NULL));
        g_assert_cmpmem(a.data, a.size_bytes, b.data, b.size_bytes);
        double min = INFINITY, max = -INFINITY;
        for (gint64 i = 0; i < 1000; i++)
        {
            min = MIN(min, ifm_tensor_get_double(&a, i));
            max = MAX(max, ifm_tensor_get_double(&a, i));
        }
        gboolean is_bool = dtypes[d] == IFM_DTYPE_BOOL;
        g_assert_cmpfloat(min, >=, 0);
        g_assert_cmpfloat(min, <, 0.5);
        g_assert_cmpfloat(max, <=, is_bool ? 1 : 5);
        g_assert_cmpfloat(max, >=, is_bool ? 1 : 4);
    }
}

static void test_fill_extremes(void)
{
    static const double ends[] = { -INFINITY, -1e300, 0, 1e300, INFINITY, NAN };
    g_autoptr(GRand) random = g_rand_new_with_seed(3);
    g_auto(IfmTensor) tensor = IFM_TENSOR_INIT;
    g_assert_true(ifm_tensor_init(&tensor, IFM_DTYPE_I8, 1, (gint64[]){ 100 }, NULL));
    for (gsize low = 0; low < G_N_ELEMENTS(ends); low++)
        for (gsize high = 0; high < G_N_ELEMENTS(ends); high++)
            g_assert_true(ifm_tensor_fill_random(&tensor, random, ends[low], ends[high], NULL));
    /* From everything there is, the type's own range. */
    g_assert_true(ifm_tensor_fill_random(&tensor, random, -INFINITY, INFINITY, NULL));
    double min = 0, max = 0;
    for (gint64 i = 0; i < 100; i++)
    {
        min = MIN(min, ifm_tensor_get_double(&tensor, i));
        max = MAX(max, ifm_tensor_get_double(&tensor, i));
    }
    g_assert_cmpfloat(min, <, -64);
    g_assert_cmpfloat(max, >, 64);
}

static void test_compare(void)
{
    float value[] = { 1, 2, 3, 4 }, reference[] = { 1, 2, 3.1f, 4 };
    IfmTensor v, r;
    IfmTensorDifference difference;
    g_assert_true(ifm_tensor_wrap(&v, IFM_DTYPE_F32, 2, (gint64[]){ 2, 2 }, value, NULL));
    g_assert_true(ifm_tensor_wrap(&r, IFM_DTYPE_F32, 2, (gint64[]){ 2, 2 }, reference, NULL));
    g_assert_true(ifm_tensor_compare(&v, &r, 0.05, 0, NULL));
    g_assert_false(ifm_tensor_compare(&v, &r, 0.01, 0.01, &difference));
    g_assert_cmpint(difference.n_different, ==, 1);
    g_assert_cmpint(difference.worst_index, ==, 2);
    g_assert_cmpfloat_with_epsilon(difference.max_abs_difference, 0.1, 1e-6);
    g_assert_cmpint(ifm_tensor_first_not_finite(&v), ==, -1);
    value[3] = NAN;
    g_assert_cmpint(ifm_tensor_first_not_finite(&v), ==, 3);
    g_assert_false(ifm_tensor_compare(&v, &r, 1e9, 1e9, &difference));
    g_assert_cmpint(difference.worst_index, ==, 3);
    value[3] = reference[3] = INFINITY; /* an infinite reference gives no tolerance, yet equals itself */
    g_assert_true(ifm_tensor_compare(&v, &r, 0.05, 0, NULL));
    r.shape[0] = 1;
    g_assert_false(ifm_tensor_compare(&v, &r, 1, 1, &difference));
    g_assert_cmpint(difference.n_different, ==, -1);
}

/* As the formula says, one after the other; the first of the worst counts. */
static IfmTensorDifference compare_plainly(const float *v, const float *r, gint64 n, double rtol, double atol)
{
    IfmTensorDifference worst = { .worst_index = -1 };
    double worst_excess = -INFINITY;
    for (gint64 i = 0; i < n; i++)
    {
        double d = fabs((double)v[i] - (double)r[i]);
        if (v[i] == r[i] || (isnan(v[i]) && isnan(r[i])))
            d = 0;
        else if (!isfinite(d))
            d = INFINITY;
        double excess = d - (isfinite(r[i]) ? atol + rtol * fabs((double)r[i]) : 0);
        worst.n_different += excess > 0;
        worst.max_abs_difference = fmax(worst.max_abs_difference, d);
        if (excess > worst_excess)
        {
            worst_excess = excess;
            worst.worst_index = i;
        }
    }
    return worst;
}

/* Long tensors, with what is no number, or off, here and there: also at the ends. */
static void test_compare_long(void)
{
    static float v[5000], r[5000];
    static const float odd[] = { NAN, INFINITY, -INFINITY, 1e30f };
    g_autoptr(GRand) random = g_rand_new_with_seed(5);
    for (int round = 0; round < 200; round++)
    {
        gint64 n = round % 5 == 0 ? 5000 : g_rand_int_range(random, 1, 5000);
        for (gint64 i = 0; i < n; i++)
        {
            r[i] = (float)g_rand_double_range(random, -2, 2);
            v[i] = r[i] * (1 + (float)g_rand_double_range(random, -1e-3, 1e-3));
        }
        for (int k = 0; k < round % 7; k++)
        {
            gint64 at = k == 0 ? n - 1 : k == 1 ? 0 : g_rand_int_range(random, 0, (gint32)n);
            float what = odd[g_rand_int_range(random, 0, G_N_ELEMENTS(odd))];
            if (g_rand_boolean(random))
                v[at] = what;
            if (g_rand_boolean(random))
                r[at] = what;
        }
        IfmTensor value, reference;
        IfmTensorDifference found, expected = compare_plainly(v, r, n, 5e-4, 1e-4);
        ifm_tensor_wrap(&value, IFM_DTYPE_F32, 1, &n, v, NULL);
        ifm_tensor_wrap(&reference, IFM_DTYPE_F32, 1, &n, r, NULL);
        g_assert_cmpint(ifm_tensor_compare(&value, &reference, 5e-4, 1e-4, &found), ==, expected.n_different == 0);
        g_assert_cmpint(found.n_different, ==, expected.n_different);
        g_assert_cmpint(found.worst_index, ==, expected.worst_index);
        g_assert_cmpfloat(found.max_abs_difference, ==, expected.max_abs_difference);
        gint64 first = 0;
        double squares = 0, n_finite = 0;
        for (gint64 i = 0; i < n; i++)
            if (isfinite(v[i]))
            {
                squares += (double)v[i] * v[i];
                n_finite++;
            }
        while (first < n && isfinite(v[first]))
            first++;
        g_assert_cmpint(ifm_tensor_first_not_finite(&value), ==, first < n ? first : -1);
        double rms = n_finite > 0 ? sqrt(squares / n_finite) : 0;
        g_assert_cmpfloat_with_epsilon(ifm_tensor_root_mean_square(&value), rms, 1e-12 * rms);
    }
}

/* Of a quarter of a TiB nothing is there before it is touched, and then it holds zeros. */
static void test_reserve(void)
{
    g_auto(IfmTensor) large = IFM_TENSOR_INIT, empty = IFM_TENSOR_INIT;
    g_autoptr(GError) error = NULL;
    if (!g_str_equal(IFM_SANITIZE, "none"))
    {
        g_test_skip("a sanitizer limits the address space");
        return;
    }
    g_assert_true(ifm_tensor_reserve(&large, IFM_DTYPE_F32, 2, (gint64[]){ 1 << 18, 1 << 18 }, &error));
    g_assert_no_error(error);
    g_assert_cmpuint(large.size_bytes, ==, (gsize)1 << 38);
    g_assert_cmpuint((gsize)large.data % 64, ==, 0);
    float *last = (float *)large.data + ((gsize)1 << 36) - 1;
    g_assert_cmpfloat(*last, ==, 0);
    *last = 3;
    g_assert_cmpfloat(ifm_tensor_get_double(&large, ((gint64)1 << 36) - 1), ==, 3);
    IfmTensor head = ifm_tensor_head(&large, 4098);
    g_assert_cmpint(head.rank, ==, 1);
    g_assert_cmpint(head.shape[0], ==, 1024);
    g_assert_cmpuint(head.size_bytes, ==, 4096);
    g_assert_true(head.data == large.data && head.release == NULL && ifm_tensor_is_contiguous(&head));
    head = ifm_tensor_head(&large, G_MAXSIZE);
    g_assert_cmpint(head.rank, ==, 2);
    g_assert_cmpuint(head.size_bytes, ==, large.size_bytes);
    g_assert_true(ifm_tensor_reserve(&empty, IFM_DTYPE_F32, 1, (gint64[]){ 0 }, &error));
    g_assert_nonnull(empty.data);
    ifm_tensor_clear(&large);
    g_assert_false(ifm_tensor_reserve(&large, IFM_DTYPE_F32, 1, (gint64[]){ 1LL << 60 }, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_MEMORY);
    g_assert_null(large.data);
}

static void test_contiguous(void)
{
    float data[12];
    IfmTensor tensor;
    g_assert_true(ifm_tensor_wrap(&tensor, IFM_DTYPE_F32, 3, (gint64[]){ 1, 3, 4 }, data, NULL));
    g_assert_true(ifm_tensor_is_contiguous(&tensor));
    tensor.strides_bytes[0] = 999; /* a dimension of 1 is never stepped over */
    g_assert_true(ifm_tensor_is_contiguous(&tensor));
    tensor.strides_bytes[1] = 32;
    g_assert_false(ifm_tensor_is_contiguous(&tensor));
}

/* Data of a file need not be aligned: each value is read as it is. Where the compiler checks alignment, this test fails
 * for a plain load. */
static void test_unaligned(void)
{
    static const float floats[] = { 1.5f, -2.25f, 3e8f };
    static const double doubles[] = { 1.5, -2.25, 3e300 };
    static const guint16 halves[] = { 0x3c00, 0xc000, 0x3800 };
    static const gint32 ints[] = { 7, -8, G_MAXINT32 };
    static const gint64 longs[] = { 7, -8, G_GINT64_CONSTANT(1) << 52 };
    static const struct
    {
        IfmDtype dtype;
        const void *data;
        gsize size;
        double values[3];
    } cases[] = {
        { IFM_DTYPE_F32, floats, sizeof floats, { 1.5, -2.25, 3e8 } },
        { IFM_DTYPE_F64, doubles, sizeof doubles, { 1.5, -2.25, 3e300 } },
        { IFM_DTYPE_F16, halves, sizeof halves, { 1, -2, 0.5 } },
        { IFM_DTYPE_I32, ints, sizeof ints, { 7, -8, G_MAXINT32 } },
        { IFM_DTYPE_I64, longs, sizeof longs, { 7, -8, 0x1p52 } },
    };
    for (gsize c = 0; c < G_N_ELEMENTS(cases); c++)
    {
        g_autofree guint8 *bytes = g_malloc(cases[c].size + 1);
        memcpy(bytes + 1, cases[c].data, cases[c].size);
        IfmTensor tensor = { .dtype = cases[c].dtype, .rank = 1, .shape = { 3 }, .data = bytes + 1 };
        IfmTensor aligned = { .dtype = cases[c].dtype, .rank = 1, .shape = { 3 }, .data = (void *)cases[c].data };
        IfmTensorDifference difference;
        for (gint64 i = 0; i < 3; i++)
            g_assert_cmpfloat(ifm_tensor_get_double(&tensor, i), ==, cases[c].values[i]);
        g_assert_true(ifm_tensor_compare(&tensor, &aligned, 0, 0, &difference));
        g_assert_cmpint(difference.n_different, ==, 0);
    }
}

/* Of less than a byte, an odd number of elements fills its last byte in part. */
static void test_packed(void)
{
    g_autoptr(GError) error = NULL;
    gsize size = 0;
    g_assert_true(ifm_shape_size_bytes(IFM_DTYPE_I4, 2, (gint64[]){ 3, 3 }, &size, &error));
    g_assert_cmpuint(size, ==, 5);
    g_assert_true(ifm_shape_size_bytes(IFM_DTYPE_U2, 1, (gint64[]){ 5 }, &size, &error));
    g_assert_cmpuint(size, ==, 2);
    g_assert_true(ifm_shape_size_bytes(IFM_DTYPE_F4E2M1, 1, (gint64[]){ 0 }, &size, &error));
    g_assert_cmpuint(size, ==, 0);
    g_assert_false(ifm_shape_size_bytes(IFM_DTYPE_U4, 2, (gint64[]){ G_MAXINT64, 4 }, &size, NULL));
    g_assert_cmpuint(ifm_dtype_bits(IFM_DTYPE_F32), ==, 32);
    g_assert_cmpuint(ifm_dtype_bits(IFM_DTYPE_STRING), ==, 0);
    g_auto(IfmTensor) tensor = IFM_TENSOR_INIT;
    g_assert_true(ifm_tensor_init(&tensor, IFM_DTYPE_U4, 2, (gint64[]){ 3, 3 }, &error));
    g_assert_true(ifm_tensor_is_contiguous(&tensor));
}

/* Codes of OCP's table and of ONNX's float8 page: one, the largest, the smallest, what is no number. */
static void test_float8(void)
{
    static const struct
    {
        IfmDtype dtype;
        guint8 one, largest, smallest, nan;
        double max, min;
    } cases[] = {
        { IFM_DTYPE_F8E4M3FN, 0x38, 0x7e, 0x01, 0x7f, 448, 0x1p-9 },
        { IFM_DTYPE_F8E4M3FNUZ, 0x40, 0x7f, 0x01, 0x80, 240, 0x1p-10 },
        { IFM_DTYPE_F8E5M2, 0x3c, 0x7b, 0x01, 0x7d, 57344, 0x1p-16 },
        { IFM_DTYPE_F8E5M2FNUZ, 0x40, 0x7f, 0x01, 0x80, 57344, 0x1p-17 },
        { IFM_DTYPE_F8E8M0, 127, 254, 0, 255, 0x1p127, 0x1p-127 },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    {
        guint8 codes[] = { cases[i].one, cases[i].largest, cases[i].smallest, cases[i].nan };
        IfmTensor tensor;
        g_assert_true(ifm_tensor_wrap(&tensor, cases[i].dtype, 1, (gint64[]){ 4 }, codes, NULL));
        g_assert_cmpfloat(ifm_tensor_get_double(&tensor, 0), ==, 1);
        g_assert_cmpfloat(ifm_tensor_get_double(&tensor, 1), ==, cases[i].max);
        g_assert_cmpfloat(ifm_tensor_get_double(&tensor, 2), ==, cases[i].min);
        g_assert_true(isnan(ifm_tensor_get_double(&tensor, 3)));
        g_assert_false(ifm_dtype_is_float(cases[i].dtype));
        if (cases[i].dtype == IFM_DTYPE_F8E8M0) /* of powers of two alone */
            continue;
        g_autoptr(GRand) random = g_rand_new_with_seed(1);
        g_assert_true(ifm_tensor_fill_random(&tensor, random, -1.5, -1.5, NULL));
        g_assert_cmpfloat(ifm_tensor_get_double(&tensor, 3), ==, -1.5);
    }
    const guint8 infinite[] = { 0xfc };
    IfmTensor tensor;
    g_assert_true(ifm_tensor_wrap(&tensor, IFM_DTYPE_F8E5M2, 0, NULL, (void *)infinite, NULL));
    g_assert_cmpfloat(ifm_tensor_get_double(&tensor, 0), ==, -(double)INFINITY);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/tensor/size", test_size);
    g_test_add_func("/tensor/half", test_half);
    g_test_add_func("/tensor/fill", test_fill);
    g_test_add_func("/tensor/fill/extremes", test_fill_extremes);
    g_test_add_func("/tensor/compare", test_compare);
    g_test_add_func("/tensor/compare-long", test_compare_long);
    g_test_add_func("/tensor/contiguous", test_contiguous);
    g_test_add_func("/tensor/reserve", test_reserve);
    g_test_add_func("/tensor/unaligned", test_unaligned);
    g_test_add_func("/tensor/float8", test_float8);
    g_test_add_func("/tensor/packed", test_packed);
    return g_test_run();
}
