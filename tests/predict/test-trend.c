#include "predict/predict-private.h"
#include "published.h"

static const IfmLookupPoint scattered[] = { { 1500, 15000, 0 }, { 2500, 5000, 0 },  { 3000, 30000, 0 },
                                            { 5000, 10000, 0 }, { 5000, 25000, 0 }, { 10000, 50000, 0 } };
#define N G_N_ELEMENTS(scattered)

static double plane(double fixed, double per_node, double per_edge, double nodes, double edges)
{
    return fixed + per_node * nodes + per_edge * edges;
}

static void set_latencies(double fixed, double per_node, double per_edge, IfmLookupPoint *points)
{
    for (gsize i = 0; i < N; i++)
    {
        points[i] = scattered[i];
        points[i].latency_ns = plane(fixed, per_node, per_edge, scattered[i].nodes, scattered[i].edges);
    }
}

static IfmTrend *new_trend(const IfmLookupPoint *points, gsize n)
{
    g_autoptr(GError) error = NULL;
    IfmTrend *trend = ifm_trend_fit(points, n, &error);
    g_assert_no_error(error);
    return trend;
}

/* What is a plane comes out without error, wherever it is asked. */
static void test_plane(void)
{
    static const double planes[][3] = { { 5000, 2, 3 }, { 0, 4, 0 }, { 0, 0, 7 }, { 100000, 0, 0 }, { 1e6, 0, 2 } };
    static const double places[][2] = { { 78, 156 }, { 1000, 2000 }, { 5300, 26500 }, { 1e6, 1e7 } };
    for (gsize k = 0; k < G_N_ELEMENTS(planes); k++)
    {
        IfmLookupPoint points[N];
        double errors[N], found[3];
        set_latencies(planes[k][0], planes[k][1], planes[k][2], points);
        g_autoptr(IfmTrend) trend = new_trend(points, N);
        ifm_trend_coefficients(trend, found);
        for (int i = 0; i < 3; i++)
            g_assert_cmpfloat_with_epsilon(found[i], planes[k][i], 1e-6 * (planes[k][i] + 1));
        for (gsize i = 0; i < G_N_ELEMENTS(places); i++)
        {
            double expected = plane(planes[k][0], planes[k][1], planes[k][2], places[i][0], places[i][1]);
            g_assert_cmpfloat_with_epsilon(ifm_trend_at(trend, places[i][0], places[i][1]), expected, 1e-6 * expected);
        }
        g_assert_true(ifm_trend_leave_one_out(points, N, errors, NULL));
        for (gsize i = 0; i < N; i++)
            g_assert_cmpfloat(errors[i], <, 1e-6);
    }
}

/* At a point its very latency; right beside it nearly that; no coefficient below 0. */
static void test_near_points(void)
{
    IfmLookupPoint points[N];
    double found[3];
    set_latencies(5000, 2, 3, points);
    points[2].latency_ns *= 1.5;
    points[4].latency_ns *= 0.7;
    g_autoptr(IfmTrend) trend = new_trend(points, N);
    for (gsize i = 0; i < N; i++)
    {
        double at = ifm_trend_at(trend, (double)points[i].nodes, (double)points[i].edges);
        g_assert_cmpfloat(at, ==, points[i].latency_ns);
        double beside = ifm_trend_at(trend, (double)points[i].nodes * 1.001, (double)points[i].edges * 1.001);
        g_assert_cmpfloat_with_epsilon(beside, points[i].latency_ns, 0.01 * points[i].latency_ns);
    }
    for (gsize i = 0; i < N; i++) /* falls with the edges: a plane without limits would have a coefficient below 0 */
        points[i].latency_ns = 1e6 + 10 * (double)points[i].nodes - 5 * (double)points[i].edges;
    g_autoptr(IfmTrend) falling = new_trend(points, N);
    ifm_trend_coefficients(falling, found);
    for (int i = 0; i < 3; i++)
        g_assert_cmpfloat(found[i], >=, 0);
    g_assert_cmpfloat(found[2], ==, 0);
}

/* The optimum among coefficients of 0 and above: no small step in any direction is better. */
static void test_min(void)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(7);
    for (int round = 0; round < 500; round++)
    {
        IfmLookupPoint points[N];
        double found[3];
        set_latencies(g_rand_double_range(rand, 0, 1e5), g_rand_double(rand), g_rand_double(rand), points);
        for (gsize i = 0; i < N; i++)
            points[i].latency_ns = points[i].latency_ns * exp(g_rand_double_range(rand, -2, 2)) + 1;
        g_autoptr(IfmTrend) trend = new_trend(points, N);
        ifm_trend_coefficients(trend, found);
        double best = 0;
        for (int move = -1; move < 6; move++)
        {
            double tried[3] = { found[0], found[1], found[2] }, sum = 0;
            if (move >= 0)
                tried[move / 2] = fmax(0, tried[move / 2] * (move % 2 != 0 ? 1.01 : 0.99) + (move % 2 != 0 ? 1e-6 : 0));
            for (gsize i = 0; i < N; i++)
                sum += pow(plane(tried[0], tried[1], tried[2], (double)points[i].nodes, (double)points[i].edges) /
                                   points[i].latency_ns -
                               1,
                           2);
            if (move < 0)
                best = sum;
            else
                g_assert_cmpfloat(sum, >=, best * (1 - 1e-9));
        }
    }
}

/* Sizes of one degree alone: edges are a multiple of nodes, which one coefficient then stands for. */
static void test_one_degree(void)
{
    IfmLookupPoint points[] = { { 100, 500, 100 }, { 200, 1000, 200 }, { 400, 2000, 400 } };
    g_autoptr(IfmTrend) trend = new_trend(points, 3), one = new_trend(points, 1);
    g_assert_cmpfloat_with_epsilon(ifm_trend_at(trend, 800, 4000), 800, 1e-6);
    g_assert_cmpfloat(ifm_trend_at(one, 100, 500), ==, 100);
    g_assert_true(isfinite(ifm_trend_at(one, 1e6, 1e6)));
}

static void test_refused(void)
{
    g_autoptr(GError) error = NULL;
    IfmLookupPoint bad[] = { { 1, 1, 1 }, { 1, 1, 2 } };
    double errors[2];
    g_assert_null(ifm_trend_fit(bad, 2, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_clear_error(&error);
    g_assert_false(ifm_trend_leave_one_out(bad, 2, errors, &error));
    g_assert_cmpstr(error->message, ==, "trend: 2 points; leaving one out takes 3 and more");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/trend/plane", test_plane);
    g_test_add_func("/trend/near-points", test_near_points);
    g_test_add_func("/trend/least", test_min);
    g_test_add_func("/trend/one-degree", test_one_degree);
    g_test_add_func("/trend/refused", test_refused);
    return g_test_run();
}
