#include <math.h>

#include <predict/predict.h>

/* What rows of points come to, for points whose answers are known. */

static void assert_near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance))
        g_error("%.17g is not within %g of %.17g", value, tolerance, expected);
}

#define POINT_INIT                                                                                                         \
    ((IfmScalingPoint){ .x = NAN,                                                                                          \
                        .time_ns = NAN,                                                                                    \
                        .interval = { NAN, NAN, 0.95 },                                                                    \
                        .flop = -1,                                                                                        \
                        .bytes = NAN,                                                                                      \
                        .process_bytes = NAN,                                                                              \
                        .energy_j = NAN,                                                                                   \
                        .attention_planned_bytes = NAN,                                                                    \
                        .attention_flop_ratio = NAN,                                                                       \
                        .attention_time_ratio = NAN,                                                                       \
                        .encoding_ns = NAN })

/* Dense attention: 1000 x^2 FLOP at 10 GFLOP/s and 1 ms besides; 4 KiB a node and 8 bytes a pair. */
static void fill_points(IfmScalingPoint *points, const double *x, gsize n)
{
    for (gsize i = 0; i < n; i++)
    {
        points[i] = POINT_INIT;
        points[i].x = x[i];
        points[i].flop = (gint64)(1000 * x[i] * x[i]);
        points[i].time_ns = 1e6 + (double)points[i].flop / 10;
        points[i].interval = (IfmInterval){ 0.99 * points[i].time_ns, 1.01 * points[i].time_ns, 0.95 };
        points[i].bytes = 4096 * x[i];
        points[i].attention_planned_bytes = 8 * x[i] * x[i];
    }
}

static const double nodes[] = { 100, 500, 1000, 2000, 5000 };
#define N G_N_ELEMENTS(nodes)

static void test_fits(void)
{
    IfmScalingPoint points[N];
    fill_points(points, nodes, N);
    g_autoptr(IfmScaling) scaling = ifm_scaling_new(points, N);
    g_assert_true(scaling->has_time && scaling->has_flop && scaling->has_bytes && scaling->has_attention);
    assert_near(scaling->attention.exponent, 2, 1e-12);
    g_assert_null(scaling->why);
    g_assert_true(scaling->points == points);
    assert_near(scaling->flop.exponent, 2, 1e-12);
    assert_near(scaling->bytes.exponent, 1, 1e-12);
    double run = log(2.5), last = log((1e6 + 2.5e9) / (1e6 + 4e8)) / run;
    assert_near(scaling->time.last, last, 1e-12);
    g_assert_cmpfloat(scaling->time.last, >, 1.99);
    g_assert_cmpfloat(scaling->time.exponent, <, scaling->time.last);
    assert_near(scaling->time.last_interval.upper, last + hypot(log(1.01), log(1 / 0.99)) / run, 1e-12);
    assert_near(scaling->time.last_interval.lower, last - hypot(log(1.01), log(1 / 0.99)) / run, 1e-12);
    g_assert_true(isnan(scaling->flop.last_interval.lower)); /* counted, not measured */
}

/* The fixed millisecond weighs at small sizes: time over FLOP at the best rate, that of the largest at the upper end of its
 * interval. */
static void test_departures(void)
{
    IfmScalingPoint points[N];
    fill_points(points, nodes, N);
    g_autoptr(IfmScaling) scaling = ifm_scaling_new(points, N);
    double best = 25e9 / (1.01 * (1e6 + 2.5e9));
    assert_near(scaling->max_flop_per_s / (1e9 * best), 1, 1e-12);
    g_assert_cmpuint(scaling->max_at, ==, N - 1);
    for (gsize i = 0; i < N; i++)
        assert_near(scaling->departures[i], (1e6 + 100 * nodes[i] * nodes[i]) / (1000 * nodes[i] * nodes[i] / best), 1e-9);
    assert_near(scaling->departures[N - 1], 1 / 1.01, 1e-12);
    for (gsize i = 0; i < N; i++) /* 2.0, 1.04, … */
        g_assert_cmpint(scaling->departs[i], ==, i == 0 ? IFM_DEPARTS : IFM_DEPARTS_NOT);
}

/* Above 1.25 has to be all of the interval; without one nobody knows. */
static void test_threshold(void)
{
    IfmScalingPoint points[3];
    fill_points(points, nodes, 3);
    for (gsize i = 0; i < 3; i++)
    {
        points[i].flop = 1000, points[i].time_ns = 1000;
        points[i].interval = (IfmInterval){ 1000, 1000, 0.95 };
    }
    points[1].time_ns = 1300;
    points[1].interval = (IfmInterval){ 1251, 1400, 0.95 };
    points[2].time_ns = 1300;
    points[2].interval = (IfmInterval){ 1249, 1400, 0.95 };
    g_autoptr(IfmScaling) sharp = ifm_scaling_new(points, 3);
    g_assert_cmpint(sharp->departs[0], ==, IFM_DEPARTS_NOT);
    g_assert_cmpint(sharp->departs[1], ==, IFM_DEPARTS);
    g_assert_cmpint(sharp->departs[2], ==, IFM_DEPARTS_NOT);
    assert_near(sharp->departures[2], 1.3, 1e-14);
    points[2].interval = (IfmInterval){ NAN, NAN, 0.95 };
    g_autoptr(IfmScaling) blunt = ifm_scaling_new(points, 3);
    g_assert_cmpint(blunt->departs[2], ==, IFM_DEPARTURE_UNKNOWN);
    assert_near(blunt->departures[2], 1.3, 1e-14);
}

/* One lucky time, or one that is known badly, makes no other point depart. */
static void test_lucky(void)
{
    IfmScalingPoint points[N];
    fill_points(points, nodes, N);
    for (gsize i = 0; i < N; i++)
    {
        points[i].time_ns = (double)points[i].flop / 10;
        points[i].interval = (IfmInterval){ 0.9 * points[i].time_ns, 1.1 * points[i].time_ns, 0.95 };
    }
    points[0].time_ns /= 8; /* in a quiet moment: from as fast as that to as slow as the others */
    g_autoptr(IfmScaling) wide = ifm_scaling_new(points, N);
    for (gsize i = 0; i < N; i++)
        g_assert_cmpint(wide->departs[i], ==, IFM_DEPARTS_NOT);
    assert_near(wide->max_flop_per_s, 10e9 / 1.1, 1);
    points[0].interval = (IfmInterval){ NAN, NAN, 0.95 };
    g_autoptr(IfmScaling) none = ifm_scaling_new(points, N);
    g_assert_cmpint(none->departs[0], ==, IFM_DEPARTURE_UNKNOWN);
    for (gsize i = 1; i < N; i++)
        g_assert_cmpint(none->departs[i], ==, IFM_DEPARTS_NOT);
    points[0].interval = (IfmInterval){ points[0].time_ns, points[0].time_ns, 0.95 };
    g_autoptr(IfmScaling) sure = ifm_scaling_new(points, N); /* it is so fast */
    for (gsize i = 1; i < N; i++)
        g_assert_cmpint(sure->departs[i], ==, IFM_DEPARTS);
    for (gsize i = 0; i < N; i++)
        points[i].interval = (IfmInterval){ NAN, NAN, 0.95 };
    g_autoptr(IfmScaling) bare = ifm_scaling_new(points, N);
    g_assert_true(isnan(bare->max_flop_per_s) && isnan(bare->departures[1]));
    for (gsize i = 0; i < N; i++)
        g_assert_cmpint(bare->departs[i], ==, IFM_DEPARTURE_UNKNOWN);
}

/* Times without an interval are no part of the exponent, as long as 3 others have one. */
static void test_bare(void)
{
    IfmScalingPoint points[N];
    fill_points(points, nodes, N);
    for (gsize i = 0; i < N; i++)
    {
        points[i].time_ns = nodes[i] * nodes[i];
        points[i].interval = (IfmInterval){ points[i].time_ns, points[i].time_ns, 0.95 };
    }
    points[1].time_ns *= 7;
    points[4].time_ns /= 7;
    points[1].interval = points[4].interval = (IfmInterval){ NAN, NAN, 0.95 };
    g_autoptr(IfmScaling) three = ifm_scaling_new(points, N);
    g_assert_cmpuint(three->n_bare, ==, 2);
    g_assert_false(three->bare_fitted);
    g_assert_cmpuint(three->time.n, ==, 3);
    g_assert_cmpuint(three->flop.n, ==, N); /* counted */
    assert_near(three->time.exponent, 2, 1e-12);
    assert_near(three->time.last, 2, 1e-12);
    points[0].interval = (IfmInterval){ NAN, NAN, 0.95 };
    g_autoptr(IfmScaling) two = ifm_scaling_new(points, N);
    g_assert_cmpuint(two->n_bare, ==, 3);
    g_assert_true(two->bare_fitted);
    g_assert_cmpuint(two->time.n, ==, N);
    g_assert_true(isnan(two->time.last_interval.lower));
}

/* A point that failed costs its own row: the others' fit is that of the others alone; what its model needs is known. */
/* From a time whose processes lie far apart nothing is concluded, even where too few others are left. */
static void test_disturbed(void)
{
    IfmScalingPoint points[N], calm[N - 1];
    fill_points(points, nodes, N);
    g_autoptr(IfmScaling) all = ifm_scaling_new(points, N);
    points[2].time_ns *= 3;
    points[2].disturbed = TRUE;
    for (gsize i = 0, n = 0; i < N; i++)
        if (i != 2)
            calm[n++] = points[i];
    g_autoptr(IfmScaling) scaling = ifm_scaling_new(points, N), others = ifm_scaling_new(calm, N - 1);
    g_assert_true(scaling->has_time);
    g_assert_cmpfloat(scaling->time.exponent, ==, others->time.exponent);
    g_assert_cmpint(scaling->departs[2], ==, IFM_DEPARTURE_UNKNOWN);
    g_assert_cmpuint(scaling->n_bare, ==, 0);
    g_assert_cmpfloat(scaling->flop.exponent, ==, all->flop.exponent); /* of the model alone */
    points[0].disturbed = points[1].disturbed = TRUE;
    g_autoptr(IfmScaling) few = ifm_scaling_new(points, N);
    g_assert_false(few->has_time);
    g_assert_cmpstr(few->why, ==, "2 points have a time that nothing disturbed: 3 are needed");
}

static void test_failed_point(void)
{
    IfmScalingPoint points[N];
    fill_points(points, nodes, N);
    for (gsize i = 0; i < N; i++)
    {
        points[i].time_ns = 7 * nodes[i] * nodes[i] * nodes[i];
        points[i].interval = (IfmInterval){ points[i].time_ns, points[i].time_ns, 0.95 };
    }
    points[2].time_ns = NAN;
    points[2].interval = (IfmInterval){ NAN, NAN, 0.95 };
    points[2].reason = "out of memory";
    g_autoptr(IfmScaling) scaling = ifm_scaling_new(points, N);
    g_assert_true(scaling->has_time);
    g_assert_cmpuint(scaling->time.n, ==, N - 1);
    assert_near(scaling->time.exponent, 3, 1e-12);
    g_assert_cmpuint(scaling->flop.n, ==, N);
    g_assert_true(isnan(scaling->departures[2]));
    g_assert_cmpint(scaling->departs[2], ==, IFM_DEPARTURE_UNKNOWN);
    assert_near(scaling->departures[0], 1, 1e-12); /* the highest rate is the smallest's now */
    assert_near(scaling->departures[4], 50, 1e-10);
}

static void test_too_few(void)
{
    IfmScalingPoint points[N];
    fill_points(points, nodes, N);
    points[1].time_ns = points[2].time_ns = points[4].time_ns = NAN;
    g_autoptr(IfmScaling) two = ifm_scaling_new(points, N);
    g_assert_false(two->has_time);
    g_assert_cmpstr(two->why, ==, "2 points have a time: 3 are needed");
    g_assert_true(two->has_flop);
    g_assert_false(isnan(two->departures[0]));
    points[0].time_ns = NAN;
    g_autoptr(IfmScaling) one = ifm_scaling_new(points, N);
    g_assert_cmpstr(one->why, ==, "1 point has a time: 3 are needed");
    g_autoptr(IfmScaling) none = ifm_scaling_new(points, 0);
    g_assert_false(none->has_time || none->has_flop || none->has_bytes);
    g_assert_true(isnan(none->max_flop_per_s));
    points[1] = points[2] = points[0];
    points[0].time_ns = points[1].time_ns = points[2].time_ns = 1;
    g_autoptr(IfmScaling) same = ifm_scaling_new(points, 3);
    g_assert_false(same->has_time || same->has_flop);
    g_assert_cmpstr(same->why, ==, "power fit: x 2 of 3 is 100, not above the one before it");
}

/* A difference may be nothing, or less: no power goes through that, but one goes through the others. */
static void test_not_above_zero(void)
{
    IfmScalingPoint points[N];
    fill_points(points, nodes, N);
    points[0].time_ns = -5;
    points[1].time_ns = 0;
    for (gsize i = 2; i < N; i++)
    {
        points[i].time_ns = 3 * nodes[i];
        points[i].interval = (IfmInterval){ points[i].time_ns, points[i].time_ns, 0.95 };
    }
    g_autoptr(IfmScaling) scaling = ifm_scaling_new(points, N);
    g_assert_true(scaling->has_time);
    g_assert_cmpuint(scaling->time.n, ==, 3);
    assert_near(scaling->time.exponent, 1, 1e-12);
    g_assert_true(isnan(scaling->departures[0]) && scaling->departs[0] == IFM_DEPARTURE_UNKNOWN);
    g_assert_true(isnan(scaling->departures[1]) && scaling->departs[1] == IFM_DEPARTURE_UNKNOWN);
    points[2].time_ns = -1;
    g_autoptr(IfmScaling) fewer = ifm_scaling_new(points, N);
    g_assert_false(fewer->has_time);
    g_assert_cmpstr(fewer->why, ==, "2 points have a time above 0: 3 are needed");
}

/* Words have no exponent, and departures all the same. */
static void test_words(void)
{
    static const char *const values[] = { "none", "lap:16", "rwse:16" };
    IfmScalingPoint points[3];
    fill_points(points, nodes, 3);
    for (gsize i = 0; i < 3; i++)
    {
        points[i].value = values[i];
        points[i].x = NAN;
    }
    g_autoptr(IfmScaling) scaling = ifm_scaling_new(points, 3);
    g_assert_false(scaling->has_time || scaling->has_flop || scaling->has_bytes);
    g_assert_cmpstr(scaling->why, ==, "words have no exponent");
    assert_near(scaling->departures[2], 1 / 1.01, 1e-12);
    g_assert_cmpfloat(scaling->departures[0], >, 1.5);
}

/* A model without counted work: times alone. */
static void test_no_work(void)
{
    IfmScalingPoint points[N];
    fill_points(points, nodes, N);
    for (gsize i = 0; i < N; i++)
        points[i].flop = i % 2 == 0 ? -1 : 0;
    g_autoptr(IfmScaling) scaling = ifm_scaling_new(points, N);
    g_assert_true(scaling->has_time);
    g_assert_false(scaling->has_flop);
    g_assert_true(isnan(scaling->max_flop_per_s));
    for (gsize i = 0; i < N; i++)
        g_assert_true(isnan(scaling->departures[i]) && scaling->departs[i] == IFM_DEPARTURE_UNKNOWN);
}

/* --- presets ---------------------------------------------------------------------------------------------------------- */

static void test_presets(void)
{
    static const struct
    {
        const char *axis, *option, *values;
    } expected[] = {
        { "nodes", "num-nodes", "100 500 1000 2000 5000" },
        { "layers", "num-layers", "2 4 6 8 12 16" },
        { "pe", "pe", "none lap:16 rwse:16" },
        { "hidden", "hidden-dim", "32 64 128 256" },
        { "heads", "num-heads", "1 2 4 8" },
    };
    const IfmScalingPreset *preset = ifm_scaling_presets();
    for (gsize i = 0; i < G_N_ELEMENTS(expected); i++, preset++)
    {
        g_autoptr(GError) error = NULL;
        g_autofree char *values = g_strjoinv(" ", (char **)preset->values);
        g_assert_cmpstr(preset->axis, ==, expected[i].axis);
        g_assert_cmpstr(preset->option, ==, expected[i].option);
        g_assert_cmpstr(values, ==, expected[i].values);
        g_assert_true(ifm_scaling_preset(expected[i].axis, &error) == preset);
        g_assert_no_error(error);
    }
    g_assert_null(preset->axis);
    g_autoptr(GError) error = NULL;
    g_assert_null(ifm_scaling_preset("layer", &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_nonnull(strstr(error->message, "\"layer\" is nothing to vary (there are nodes, layers, pe, hidden, heads)"));
    g_assert_nonnull(strstr(error->message, "did you mean \"layers\"?"));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/scaling/fits", test_fits);
    g_test_add_func("/scaling/departures", test_departures);
    g_test_add_func("/scaling/threshold", test_threshold);
    g_test_add_func("/scaling/lucky", test_lucky);
    g_test_add_func("/scaling/bare", test_bare);
    g_test_add_func("/scaling/disturbed", test_disturbed);
    g_test_add_func("/scaling/failed-point", test_failed_point);
    g_test_add_func("/scaling/too-few", test_too_few);
    g_test_add_func("/scaling/not-above-zero", test_not_above_zero);
    g_test_add_func("/scaling/words", test_words);
    g_test_add_func("/scaling/no-work", test_no_work);
    g_test_add_func("/scaling/presets", test_presets);
    return g_test_run();
}
