#include <math.h>

#include "kernel/kernel-private.h"

/* 100 GFLOP/s, 20 GB/s: 5 FLOP a byte balance. */
static const IfmRoofline ideal = { .flop_per_s = 100e9, .bytes_per_s = 20e9 };

typedef struct
{
    const char *name;
    double flop, bytes, measured_ns;
    IfmRoofBound bound;
    double intensity, min_ns, attained, excess_ns; /* by hand; NaN: not known */
} Placed;

static const Placed placed[] = {
    /* 2e6 / 1e11 s = 20 us against 1e5 / 2e10 s = 5 us */
    { "compute", 2e6, 1e5, 40000, IFM_BOUND_COMPUTE, 20, 20000, 0.5, 20000 },
    /* 1e5 / 1e11 s = 1 us against 2e5 / 2e10 s = 10 us */
    { "memory", 1e5, 2e5, 12500, IFM_BOUND_MEMORY, 0.5, 10000, 0.8, 2500 },
    /* both 10 us: the balance is the compute's side */
    { "balance", 1e6, 2e5, 10000, IFM_BOUND_COMPUTE, 5, 10000, 1, 0 },
    { "no-bytes", 1e6, 0, 20000, IFM_BOUND_COMPUTE, NAN, 10000, 0.5, 10000 },
    { "no-flop", 0, 2e5, 20000, IFM_BOUND_MEMORY, 0, 10000, 0.5, 10000 },
    { "no-work", 0, 0, 20000, IFM_BOUND_NEITHER, NAN, 0, 0, 20000 },
    /* twice as fast as the limit: said so, and nothing is left to gain */
    { "above", 2e6, 1e5, 10000, IFM_BOUND_COMPUTE, 20, 20000, 2, 0 },
    { "not-measured", 2e6, 1e5, NAN, IFM_BOUND_COMPUTE, 20, 20000, NAN, NAN },
    { "measured-as-nothing", 2e6, 1e5, 0, IFM_BOUND_COMPUTE, 20, 20000, NAN, NAN },
};

static void assert_same(double value, double expected)
{
    if (isnan(expected))
        g_assert_true(isnan(value));
    else
        g_assert_cmpfloat_with_epsilon(value, expected, 1e-12 * MAX(1, fabs(expected)));
}

static void test_placed(gconstpointer data)
{
    const Placed *row = data;
    IfmRoofPlace place;
    ifm_roofline_place(&ideal, row->flop, row->bytes, row->measured_ns, &place);
    g_assert_cmpint(place.bound, ==, row->bound);
    assert_same(place.intensity, row->intensity);
    assert_same(place.min_ns, row->min_ns);
    assert_same(place.attained, row->attained);
    assert_same(place.excess_ns, row->excess_ns);
}

/* A limit that nobody knows bounds nothing, unless there is no such work. */
static void test_unknown_limit(void)
{
    static const double unknown[] = { 0, -1, NAN };
    for (gsize i = 0; i < G_N_ELEMENTS(unknown); i++)
    {
        const IfmRoofline no_bandwidth = { .flop_per_s = 100e9, .bytes_per_s = unknown[i] };
        IfmRoofPlace place;
        ifm_roofline_place(&no_bandwidth, 2e6, 1e5, 40000, &place);
        g_assert_cmpint(place.bound, ==, IFM_BOUND_NEITHER);
        g_assert_true(isnan(place.min_ns) && isnan(place.attained) && isnan(place.excess_ns));
        assert_same(place.intensity, 20);
        ifm_roofline_place(&no_bandwidth, 2e6, 0, 40000, &place);
        g_assert_cmpint(place.bound, ==, IFM_BOUND_COMPUTE);
        assert_same(place.min_ns, 20000);
        assert_same(place.attained, 0.5);
    }
}

/* Bytes are held against the innermost cache that holds them, others against memory. */
static void test_caches(void)
{
    const IfmRoofline with = {
        .flop_per_s = 100e9, .bytes_per_s = 10e9, .caches = { { 1e6, 80e9 }, { 30e6, 40e9 } }, .n_caches = 2
    };
    static const struct
    {
        double bytes, min_ns;
    } rows[] = { { 1e6, 12500 }, { 1.1e6, 27500 }, { 30e6, 750e3 }, { 31e6, 3100e3 } };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        IfmRoofPlace place;
        ifm_roofline_place(&with, 100, rows[i].bytes, 2 * rows[i].min_ns, &place);
        g_assert_cmpint(place.bound, ==, IFM_BOUND_MEMORY);
        assert_same(place.min_ns, rows[i].min_ns);
        assert_same(place.attained, 0.5);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/roofline/caches", test_caches);
    for (gsize i = 0; i < G_N_ELEMENTS(placed); i++)
    {
        g_autofree char *path = g_strdup_printf("/roofline/%s", placed[i].name);
        g_test_add_data_func(path, &placed[i], test_placed);
    }
    g_test_add_func("/roofline/unknown-limit", test_unknown_limit);
    return g_test_run();
}
