#include <base/statistics.h>
#include <math.h>

static IfmGrid *new_grid(gsize n_axes, IfmGridScale axis_scale, IfmGridScale value_scale, const double *points,
                         const double *values, gsize n, GError **error)
{
    IfmGridAxis axes[] = { { "nodes", axis_scale }, { "edges", axis_scale }, { "width", axis_scale } };
    return ifm_grid_new(axes, n_axes, points, values, n, value_scale, error);
}

static double at(const IfmGrid *grid, const double *place, IfmGridBeyond beyond, IfmGridOrigin origin)
{
    double value = NAN;
    IfmGridOrigin found;
    g_assert_true(ifm_grid_at(grid, place, beyond, &value, &found, NULL));
    g_assert_cmpint(found, ==, origin);
    return value;
}

#define AT(grid, beyond, origin, ...) at(grid, (const double[]){ __VA_ARGS__ }, beyond, origin)

static void test_linear(void)
{
    /* Out of order on purpose. */
    g_autoptr(IfmGrid) grid =
        new_grid(1, IFM_GRID_LINEAR, IFM_GRID_LINEAR, (double[]){ 4, 1, 2 }, (double[]){ 7, 10, 20 }, 3, NULL);
    g_assert_cmpfloat(AT(grid, IFM_GRID_CLAMP, IFM_GRID_EXACT, 2), ==, 20);
    g_assert_cmpfloat(AT(grid, IFM_GRID_CLAMP, IFM_GRID_INTERPOLATED, 1.5), ==, 15);
    g_assert_cmpfloat(AT(grid, IFM_GRID_CLAMP, IFM_GRID_INTERPOLATED, 3), ==, 13.5);
    g_assert_cmpfloat(AT(grid, IFM_GRID_CLAMP, IFM_GRID_OUTSIDE, 0), ==, 10);
    g_assert_cmpfloat(AT(grid, IFM_GRID_CLAMP, IFM_GRID_OUTSIDE, 100), ==, 7);
    g_assert_cmpfloat(AT(grid, IFM_GRID_EXTRAPOLATE, IFM_GRID_OUTSIDE, 0), ==, 0);
    g_assert_cmpfloat(AT(grid, IFM_GRID_EXTRAPOLATE, IFM_GRID_OUTSIDE, 6), ==, -6);
    g_assert_cmpuint(ifm_grid_n_points(grid), ==, 3);
}

/* A power law is a straight line in log-log, so the interpolation and the extrapolation of one have no error. */
static void test_power_law(void)
{
    double points[12], values[6];
    gsize n = 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 2; j++, n++)
        {
            points[2 * n] = pow(10, i), points[2 * n + 1] = pow(4, j + i); /* ragged: other edges at each nodes */
            values[n] = 3 * pow(points[2 * n], 1.5) * sqrt(points[2 * n + 1]);
        }
    g_autoptr(IfmGrid) grid = new_grid(2, IFM_GRID_LOG, IFM_GRID_LOG, points, values, n, NULL);
    for (gsize i = 0; i < n; i++) /* bit for bit at the points */
        g_assert_cmpfloat(AT(grid, IFM_GRID_EXTRAPOLATE, IFM_GRID_EXACT, points[2 * i], points[2 * i + 1]), ==, values[i]);
    g_assert_cmpfloat_with_epsilon(AT(grid, IFM_GRID_EXTRAPOLATE, IFM_GRID_INTERPOLATED, 5, 4), 3 * pow(5, 1.5) * 2, 1e-9);
    g_assert_cmpfloat_with_epsilon(AT(grid, IFM_GRID_EXTRAPOLATE, IFM_GRID_INTERPOLATED, 10, 9), 3 * pow(10, 1.5) * 3,
                                   1e-9);
    g_assert_cmpfloat_with_epsilon(AT(grid, IFM_GRID_EXTRAPOLATE, IFM_GRID_OUTSIDE, 1000, 400), 3 * pow(1000, 1.5) * 20,
                                   1e-6);
    /* Inside on nodes, outside on the edges that its neighbours have: said so. */
    AT(grid, IFM_GRID_CLAMP, IFM_GRID_OUTSIDE, 5, 64);
}

/* Ragged, three axes, against the definition worked out by hand. */
static void test_nested(void)
{
    double points[] = { 0, 0, 0, /**/ 0, 0, 2, /**/ 0, 4, 0, /**/ 1, 2, 5 };
    double values[] = { 1, 3, 8, 100 };
    g_autoptr(IfmGrid) grid = new_grid(3, IFM_GRID_LINEAR, IFM_GRID_LINEAR, points, values, 4, NULL);
    /* nodes 0: edges 0 -> 2 (between 1 and 3), edges 4 -> 8 (one point: clamped); at edges 1: 3.5. nodes 1: 100. */
    g_assert_cmpfloat(AT(grid, IFM_GRID_EXTRAPOLATE, IFM_GRID_OUTSIDE, 0.5, 1, 1), ==, (3.5 + 100) / 2);
    g_assert_cmpfloat(AT(grid, IFM_GRID_EXTRAPOLATE, IFM_GRID_INTERPOLATED, 0, 0, 1), ==, 2);
    g_assert_cmpfloat(AT(grid, IFM_GRID_EXTRAPOLATE, IFM_GRID_EXACT, 1, 2, 5), ==, 100);
}

/* Many points, compared with a search that looks at all of them. */
static void test_against_scan(void)
{
    enum
    {
        N = 1000
    };
    static double points[N], values[N];
    g_autoptr(GRand) random = g_rand_new_with_seed(3);
    double x = 0;
    for (int i = 0; i < N; i++)
    {
        points[i] = x += 0.1 + g_rand_double(random);
        values[i] = g_rand_double(random);
    }
    g_autoptr(IfmGrid) grid = new_grid(1, IFM_GRID_LINEAR, IFM_GRID_LINEAR, points, values, N, NULL);
    for (int i = 0; i < 10000; i++)
    {
        double place = g_rand_double_range(random, points[0], points[N - 1]);
        int j = 0;
        while (points[j + 1] < place)
            j++;
        double expected = values[j] + (place - points[j]) / (points[j + 1] - points[j]) * (values[j + 1] - values[j]);
        double found = NAN;
        g_assert_true(ifm_grid_at(grid, &place, IFM_GRID_CLAMP, &found, NULL, NULL));
        g_assert_cmpfloat_with_epsilon(found, expected, 1e-12);
    }
}

/* The weights of random points in a plane, some of one first coordinate, add up to 1 and, with the values, to the value. */
static void test_weights(void)
{
    enum
    {
        N = 30
    };
    double points[2 * N], values[N], weights[N], sorted[N];
    g_autoptr(GRand) random = g_rand_new_with_seed(9);
    for (int i = 0; i < N; i++) /* in the order of their coordinates */
    {
        points[2 * i] = 1 + i / 3;
        points[2 * i + 1] = 1 + i % 3 + g_rand_double(random) / 2;
        values[i] = 1 + g_rand_double(random);
    }
    for (int scale = IFM_GRID_LINEAR; scale <= IFM_GRID_LOG; scale++)
    {
        g_autoptr(IfmGrid) grid = new_grid(2, (IfmGridScale)scale, (IfmGridScale)scale, points, values, N, NULL);
        for (int i = 0; i < 1000; i++)
        {
            const double place[] = { g_rand_double_range(random, 0.5, 11), g_rand_double_range(random, 0.5, 5) };
            IfmGridBeyond beyond = i % 2 == 0 ? IFM_GRID_CLAMP : IFM_GRID_EXTRAPOLATE;
            IfmGridOrigin origin, same;
            double value, sum = 0, all = 0;
            int n = 0;
            g_assert_true(ifm_grid_at(grid, place, beyond, &value, &origin, NULL));
            g_assert_true(ifm_grid_weights(grid, place, beyond, weights, &same, NULL));
            g_assert_cmpint(origin, ==, same);
            for (int k = 0; k < N; k++)
            {
                sorted[k] = scale == IFM_GRID_LOG ? log(values[k]) : values[k];
                sum += weights[k] * sorted[k];
                all += weights[k];
                n += weights[k] != 0;
            }
            g_assert_cmpint(n, <=, 4);
            g_assert_cmpfloat_with_epsilon(all, 1, 1e-9);
            g_assert_cmpfloat_with_epsilon(sum, scale == IFM_GRID_LOG ? log(value) : value, 1e-9);
        }
        g_assert_false(ifm_grid_weights(grid, (double[]){ NAN, 1 }, IFM_GRID_CLAMP, weights, NULL, NULL));
    }
}

static void assert_refused(gsize n_axes, IfmGridScale scale, const double *points, const double *values, gsize n,
                           const char *says)
{
    g_autoptr(GError) error = NULL;
    g_assert_null(new_grid(n_axes, scale, scale, points, values, n, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_test_message("%s", error->message);
    g_assert_nonnull(strstr(error->message, says));
}

static void test_refused(void)
{
    double ones[] = { 1, 1, 1, 1 };
    assert_refused(1, IFM_GRID_LINEAR, (double[]){ 1, NAN }, ones, 2, "point 1");
    assert_refused(1, IFM_GRID_LINEAR, (double[]){ 1, 2 }, (double[]){ 1, INFINITY }, 2, "the value is inf");
    assert_refused(1, IFM_GRID_LOG, (double[]){ 1, 0 }, ones, 2, "axis nodes is 0");
    assert_refused(1, IFM_GRID_LOG, (double[]){ 1, 2 }, (double[]){ 1, -3 }, 2, "the value is -3");
    assert_refused(2, IFM_GRID_LINEAR, (double[]){ 1, 2, 3, 4, 1, 2 }, ones, 3, "nodes = 1, edges = 2");
    assert_refused(1, IFM_GRID_LINEAR, ones, ones, 0, "1 to");
    assert_refused(0, IFM_GRID_LINEAR, ones, ones, 1, "1 to");
    g_autoptr(IfmGrid) grid = new_grid(1, IFM_GRID_LOG, IFM_GRID_LOG, ones, ones, 1, NULL);
    double value;
    g_autoptr(GError) error = NULL;
    g_assert_false(ifm_grid_at(grid, (double[]){ NAN }, IFM_GRID_CLAMP, &value, NULL, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_false(ifm_grid_at(grid, (double[]){ 0 }, IFM_GRID_CLAMP, &value, NULL, NULL));
    g_assert_cmpfloat(AT(grid, IFM_GRID_EXTRAPOLATE, IFM_GRID_OUTSIDE, 5), ==, 1); /* one point has no line */
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/grid/linear", test_linear);
    g_test_add_func("/grid/power-law", test_power_law);
    g_test_add_func("/grid/nested", test_nested);
    g_test_add_func("/grid/against-scan", test_against_scan);
    g_test_add_func("/grid/weights", test_weights);
    g_test_add_func("/grid/refused", test_refused);
    return g_test_run();
}
