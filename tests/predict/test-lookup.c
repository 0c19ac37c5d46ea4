#include "published.h"

static IfmLookup *new_lookup(const IfmLookupPoint *points, gsize n)
{
    g_autoptr(GError) error = NULL;
    IfmLookup *lookup = ifm_lookup_new(points, n, &error);
    g_assert_no_error(error);
    return lookup;
}

static double at(const IfmLookup *lookup, double nodes, double edges, IfmGridOrigin expected)
{
    double latency = NAN;
    IfmGridOrigin origin;
    g_autoptr(GError) error = NULL;
    g_assert_true(ifm_lookup_at(lookup, nodes, edges, &latency, &origin, &error));
    g_assert_no_error(error);
    g_assert_cmpint(origin, ==, expected);
    return latency;
}

/* Ragged as published tables are: other edges for each number of nodes. */
static gsize power_points(double a, double nodes_power, double edges_power, IfmLookupPoint *points)
{
    static const gint64 sizes[][2] = { { 1000, 1000 },  { 1000, 3000 },  { 1000, 7001 },   { 4000, 2000 },  { 4000, 12000 },
                                       { 4000, 40000 }, { 11000, 9000 }, { 11000, 33000 }, { 11000, 90000 } };
    for (gsize i = 0; i < G_N_ELEMENTS(sizes); i++)
        points[G_N_ELEMENTS(sizes) - 1 - i] =
            (IfmLookupPoint){ sizes[i][0], sizes[i][1], a * pow(sizes[i][0], nodes_power) * pow(sizes[i][1], edges_power) };
    return G_N_ELEMENTS(sizes);
}

static void test_power_law(void)
{
    static const double powers[][2] = { { 1, 0 }, { 0, 1 }, { 0.5, 1.25 }, { -0.3, 0.8 }, { 0, 0 } };
    for (gsize k = 0; k < G_N_ELEMENTS(powers); k++)
    {
        IfmLookupPoint points[9];
        gsize n = power_points(17, powers[k][0], powers[k][1], points);
        g_autoptr(IfmLookup) lookup = new_lookup(points, n);
        for (gsize i = 0; i < n; i++) /* the very value */
            g_assert_cmpfloat(at(lookup, points[i].nodes, points[i].edges, IFM_GRID_EXACT), ==, points[i].latency_ns);
        static const struct
        {
            double nodes, edges;
            IfmGridOrigin origin;
        } places[] = {
            { 1000, 2000, IFM_GRID_INTERPOLATED },
            { 2500, 7000, IFM_GRID_INTERPOLATED },
            { 10999, 34567, IFM_GRID_INTERPOLATED },
            { 4000, 39999, IFM_GRID_INTERPOLATED },
            { 999, 3000, IFM_GRID_OUTSIDE },
            { 11001, 30000, IFM_GRID_OUTSIDE },
            { 1000, 999, IFM_GRID_OUTSIDE },
            { 1000, 7002, IFM_GRID_OUTSIDE },
            { 2500, 25000, IFM_GRID_OUTSIDE }, /* 10 edges a node: among those of 4000 nodes, beyond those of 1000 */
            { 1, 1, IFM_GRID_OUTSIDE },
            { 1e6, 5e7, IFM_GRID_OUTSIDE },
        };
        for (gsize i = 0; i < G_N_ELEMENTS(places); i++)
        {
            double expected = 17 * pow(places[i].nodes, powers[k][0]) * pow(places[i].edges, powers[k][1]);
            double found = at(lookup, places[i].nodes, places[i].edges, places[i].origin);
            g_assert_cmpfloat_with_epsilon(found, expected, 1e-12 * expected);
        }
        IfmLookupError summary;
        g_assert_true(ifm_lookup_leave_one_out(points, n, &summary, NULL, NULL));
        g_assert_cmpfloat(summary.max_ratio, <, 1e-12);
        g_assert_cmpfloat(summary.extrapolated_max_ratio, <, 1e-12);
        /* Each number of nodes has 2 outermost, whose other two are extrapolated from. */
        g_assert_cmpuint(summary.n_interpolated, ==, 3);
        g_assert_cmpuint(summary.n_extrapolated, ==, 6);
    }
}

/* Sizes a factor of 2 or 4 apart, so that what lies between is a geometric mean. */
static void test_by_hand(void)
{
    static const IfmLookupPoint points[] = { { 100, 100, 1 }, { 100, 400, 8 }, { 400, 400, 4 }, { 400, 1600, 128 } };
    g_autoptr(IfmLookup) lookup = new_lookup(points, 4);
    /* 200 nodes is halfway; at 2 edges a node each side is halfway too: sqrt(8) and sqrt(4 * 128). */
    g_assert_cmpfloat_with_epsilon(at(lookup, 200, 400, IFM_GRID_INTERPOLATED), sqrt(sqrt(8) * sqrt(512)), 1e-13);
    g_assert_cmpfloat_with_epsilon(at(lookup, 200, 200, IFM_GRID_INTERPOLATED), 2, 1e-13);
    g_assert_cmpfloat_with_epsilon(at(lookup, 100, 200, IFM_GRID_INTERPOLATED), sqrt(8), 1e-13);
    /* Beyond: the line goes on. 800 edges on 100 nodes: 8 edges a node, half again beyond 4. */
    g_assert_cmpfloat_with_epsilon(at(lookup, 100, 800, IFM_GRID_OUTSIDE), 8 * sqrt(8), 1e-12);
    g_assert_cmpfloat_with_epsilon(at(lookup, 1600, 1600, IFM_GRID_OUTSIDE), 16, 1e-12);

    /* One number of nodes, edges 100, 200, 400, 800: only the middle two are between others. */
    static const IfmLookupPoint line[] = { { 7, 200, 2 }, { 7, 800, 100 }, { 7, 100, 4 }, { 7, 400, 5 } };
    IfmLookupError summary;
    g_autoptr(GArray) misses = NULL;
    g_autoptr(GError) error = NULL;
    g_assert_true(ifm_lookup_leave_one_out(line, 4, &summary, &misses, &error));
    g_assert_cmpuint(misses->len, ==, 4);
    /* 200: between 100 -> 4 and 400 -> 5. 800: from 2, 5 on: 5 * 2.5. 100: from 200 -> 2, 400 -> 5 back: 2 / 2.5.
     * 400: between 200 -> 2 and 800 -> 100. */
    const double predicted[] = { sqrt(20), 12.5, 0.8, sqrt(200) };
    const IfmGridOrigin origins[] = { IFM_GRID_INTERPOLATED, IFM_GRID_OUTSIDE, IFM_GRID_OUTSIDE, IFM_GRID_INTERPOLATED };
    for (guint i = 0; i < 4; i++)
    {
        const IfmLookupMiss *miss = &g_array_index(misses, IfmLookupMiss, i);
        g_assert_cmpint(miss->point.edges, ==, line[i].edges);
        g_assert_cmpfloat_with_epsilon(miss->predicted_ns, predicted[i], 1e-13 * predicted[i]);
        g_assert_cmpfloat_with_epsilon(miss->error_ratio, predicted[i] / line[i].latency_ns - 1, 1e-13);
        g_assert_cmpint(miss->origin, ==, origins[i]);
    }
    double low = sqrt(20) / 2 - 1, high = sqrt(200) / 5 - 1; /* 1.236, 1.828 */
    g_assert_cmpuint(summary.n_interpolated, ==, 2);
    g_assert_cmpfloat_with_epsilon(summary.median_ratio, (low + high) / 2, 1e-13);
    g_assert_cmpfloat_with_epsilon(summary.p90_ratio, low + 0.9 * (high - low), 1e-13);
    g_assert_cmpfloat_with_epsilon(summary.max_ratio, high, 1e-13);
    g_assert_cmpuint(summary.n_extrapolated, ==, 2); /* 0.8 for 4: 0.8; 12.5 for 100: 0.875 */
    g_assert_cmpfloat_with_epsilon(summary.extrapolated_median_ratio, (0.8 + 0.875) / 2, 1e-13);
    g_assert_cmpfloat_with_epsilon(summary.extrapolated_max_ratio, 0.875, 1e-13);

    /* A single point is all there is to say, and a guess anywhere else. */
    g_autoptr(IfmLookup) one = new_lookup(points, 1);
    g_assert_cmpfloat(at(one, 100, 100, IFM_GRID_EXACT), ==, 1);
    g_assert_cmpfloat(at(one, 5000, 9, IFM_GRID_OUTSIDE), ==, 1);
    static const IfmLookupPoint corners[] = { { 1, 1, 1 }, { 2, 2, 2 }, { 9, 9, 9 } }; /* nothing is between on the edge */
    g_assert_true(ifm_lookup_leave_one_out(corners, 3, &summary, NULL, NULL));
    g_assert_cmpuint(summary.n_interpolated, ==, 1); /* 2 nodes: between, at the same edges a node */
    g_assert_true(isfinite(summary.median_ratio));
    static const IfmLookupPoint apart[] = { { 1, 1, 1 }, { 2, 6, 2 }, { 9, 9, 9 } };
    g_assert_true(ifm_lookup_leave_one_out(apart, 3, &summary, NULL, NULL));
    g_assert_cmpuint(summary.n_interpolated, ==, 0);
    g_assert_cmpuint(summary.n_extrapolated, ==, 3);
    g_assert_true(isnan(summary.median_ratio) && isnan(summary.p90_ratio) && isnan(summary.max_ratio));
}

static void assert_refused(const IfmLookupPoint *points, gsize n, const char *message)
{
    g_autoptr(GError) error = NULL;
    g_assert_null(ifm_lookup_new(points, n, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_cmpstr(error->message, ==, message);
    g_clear_error(&error);
    IfmLookupError summary;
    GArray *misses = NULL;
    g_assert_false(ifm_lookup_leave_one_out(points, n, &summary, &misses, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_null(misses);
}

static void test_refused(void)
{
    assert_refused(NULL, 0, "lookup: 0 points; it takes 1 to 2147483647");
    assert_refused((IfmLookupPoint[]){ { 1, 1, 1 }, { 2, 1, 1 }, { 0, 1, 1 } }, 3,
                   "lookup: point 3: 0 nodes, 1 edges, 1 ns: all three must be above 0");
    assert_refused((IfmLookupPoint[]){ { 1, 1, 1 }, { 2, -5, 1 }, { 3, 1, 1 } }, 3,
                   "lookup: point 2: 2 nodes, -5 edges, 1 ns: all three must be above 0");
    assert_refused((IfmLookupPoint[]){ { 1, 1, 0 }, { 2, 1, 1 }, { 3, 1, 1 } }, 3,
                   "lookup: point 1: 1 nodes, 1 edges, 0 ns: all three must be above 0");
    assert_refused((IfmLookupPoint[]){ { 1, 1, NAN }, { 2, 1, 1 }, { 3, 1, 1 } }, 3,
                   "lookup: point 1: 1 nodes, 1 edges, nan ns: all three must be above 0");
    assert_refused((IfmLookupPoint[]){ { 1, 1, 1 }, { 2, 1, 1 }, { 1, 1, 2 } }, 3,
                   "lookup: point 3: 1 nodes, 1 edges were given before; a size may stand once");
    static const IfmLookupPoint two[] = { { 1, 1, 1 }, { 2, 2, 2 } };
    g_autoptr(GError) error = NULL;
    IfmLookupError summary;
    g_assert_false(ifm_lookup_leave_one_out(two, 2, &summary, NULL, &error));
    g_assert_cmpstr(error->message, ==, "lookup: 2 points; leaving one out takes 3 and more");
    g_clear_error(&error);
    g_autoptr(IfmLookup) lookup = new_lookup(two, 2);
    static const double places[][2] = { { 0, 1 }, { 1, 0 }, { -1, -1 }, { NAN, 1 }, { 1, INFINITY } };
    for (gsize i = 0; i < G_N_ELEMENTS(places); i++)
    {
        double latency;
        g_assert_false(ifm_lookup_at(lookup, places[i][0], places[i][1], &latency, NULL, &error));
        g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
        g_clear_error(&error);
    }
}

/* --- the published tables, against a second implementation ------------------------------------------------------------ */

typedef enum
{
    EDGES_PER_NODE, /* what IfmLookup does */
    EDGES,          /* edges as the second axis */
    LINEAR_LATENCY, /* edges per node, but linear in the latency */
} Choice;

static double second_coordinate(Choice choice, double nodes, double edges)
{
    return log(edges) - (choice == EDGES ? 0 : log(nodes));
}

/* The line through two of @n unsorted points: those around x, else the two nearest on its side. One point: its value. */
static double plain_line(const double *xs, const double *ys, gsize n, double x, gboolean *outside)
{
    gsize below = n, above = n, lowest = 0, highest = 0;
    for (gsize i = 0; i < n; i++)
    {
        if (fabs(xs[i] - x) < 1e-9)
            return ys[i];
        if (xs[i] < x && (below == n || xs[i] > xs[below]))
            below = i;
        if (xs[i] > x && (above == n || xs[i] < xs[above]))
            above = i;
        lowest = xs[i] < xs[lowest] ? i : lowest;
        highest = xs[i] > xs[highest] ? i : highest;
    }
    if (below == n || above == n)
    {
        *outside = TRUE;
        gsize edge = below == n ? lowest : highest, next = n;
        for (gsize i = 0; i < n; i++)
            if (i != edge && (next == n || fabs(xs[i] - x) < fabs(xs[next] - x)))
                next = i;
        if (next == n)
            return ys[edge];
        below = edge, above = next;
    }
    return ys[below] + (ys[above] - ys[below]) * (x - xs[below]) / (xs[above] - xs[below]);
}

static double plain_at(const IfmLookupPoint *points, gsize n, Choice choice, double nodes, double edges, gboolean *outside)
{
    double rows[PUBLISHED_MAX] = { 0 }, values[PUBLISHED_MAX] = { 0 };
    gboolean row_outside[PUBLISHED_MAX];
    gsize n_rows = 0;
    for (gsize i = 0; i < n; i++)
    {
        gboolean seen = FALSE;
        for (gsize j = 0; j < i; j++)
            seen = seen || points[j].nodes == points[i].nodes;
        if (seen)
            continue;
        double xs[PUBLISHED_MAX], ys[PUBLISHED_MAX];
        gsize n_here = 0;
        for (gsize j = 0; j < n; j++)
            if (points[j].nodes == points[i].nodes)
            {
                xs[n_here] = second_coordinate(choice, points[j].nodes, points[j].edges);
                ys[n_here++] = choice == LINEAR_LATENCY ? points[j].latency_ns : log(points[j].latency_ns);
            }
        rows[n_rows] = log(points[i].nodes);
        row_outside[n_rows] = FALSE;
        values[n_rows] = plain_line(xs, ys, n_here, second_coordinate(choice, nodes, edges), &row_outside[n_rows]);
        n_rows++;
    }
    *outside = FALSE;
    double value = plain_line(rows, values, n_rows, log(nodes), outside);
    gsize below = n_rows, above = n_rows; /* a guess on a row that was used makes it one */
    for (gsize i = 0; i < n_rows; i++)
    {
        if (rows[i] <= log(nodes) && (below == n_rows || rows[i] > rows[below]))
            below = i;
        if (rows[i] >= log(nodes) && (above == n_rows || rows[i] < rows[above]))
            above = i;
    }
    *outside = *outside || below == n_rows || above == n_rows || row_outside[below] || row_outside[above];
    return choice == LINEAR_LATENCY ? value : exp(value);
}

static int compare_numbers(gconstpointer a, gconstpointer b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The p-quantile by its definition: linear between the order statistics. */
static double plain_quantile(GArray *errors, double p)
{
    if (errors->len == 0)
        return NAN;
    g_array_sort(errors, compare_numbers);
    double place = p * (errors->len - 1);
    guint low = (guint)place, high = MIN(low + 1, errors->len - 1);
    double a = g_array_index(errors, double, low), b = g_array_index(errors, double, high);
    return a + (place - low) * (b - a);
}

typedef struct
{
    GArray *within, *beyond; /* |predicted / measured - 1| */
} Errors;

static Errors errors_new(void)
{
    return (Errors){ g_array_new(FALSE, FALSE, sizeof(double)), g_array_new(FALSE, FALSE, sizeof(double)) };
}

static void errors_clear(Errors *errors)
{
    g_array_unref(errors->within);
    g_array_unref(errors->beyond);
}

static void errors_add(Errors *errors, double error, gboolean outside)
{
    error = fabs(error);
    g_array_append_val(outside ? errors->beyond : errors->within, error);
}

static void assert_same(double found, double expected)
{
    if (isnan(expected))
        g_assert_true(isnan(found));
    else
        g_assert_cmpfloat_with_epsilon(found, expected, 1e-9 * (1 + fabs(expected)));
}

/* Leave one out, by both implementations; the table's row in docs/predicting.md. */
static void check_stage(const char *table, const char *device, int stage, Errors *all, Errors *linear)
{
    Published published = published_read(table, device, stage);
    if (published.n < 3)
    {
        g_test_message("%s stage %d: %" G_GSIZE_FORMAT " latencies", device, stage, published.n);
        return;
    }
    IfmLookupError summary;
    g_autoptr(GArray) misses = NULL;
    g_autoptr(GError) error = NULL;
    g_assert_true(ifm_lookup_leave_one_out(published.points, published.n, &summary, &misses, &error));
    Errors errors = errors_new();
    for (gsize i = 0; i < published.n; i++)
    {
        const IfmLookupMiss *miss = &g_array_index(misses, IfmLookupMiss, i);
        IfmLookupPoint left = published.points[i], others[PUBLISHED_MAX];
        gsize n = 0;
        for (gsize j = 0; j < published.n; j++)
            if (j != i)
                others[n++] = published.points[j];
        gboolean outside;
        double predicted = plain_at(others, n, EDGES_PER_NODE, left.nodes, left.edges, &outside);
        assert_same(miss->predicted_ns / 1e6, predicted / 1e6);
        g_assert_cmpint(miss->origin, ==, outside ? IFM_GRID_OUTSIDE : IFM_GRID_INTERPOLATED);
        errors_add(&errors, predicted / left.latency_ns - 1, outside);
        errors_add(all, predicted / left.latency_ns - 1, outside);
        predicted = plain_at(others, n, LINEAR_LATENCY, left.nodes, left.edges, &outside);
        errors_add(linear, predicted / left.latency_ns - 1, outside);
    }
    g_assert_cmpuint(summary.n_interpolated, ==, errors.within->len);
    g_assert_cmpuint(summary.n_extrapolated, ==, errors.beyond->len);
    assert_same(summary.median_ratio, plain_quantile(errors.within, 0.5));
    assert_same(summary.p90_ratio, plain_quantile(errors.within, 0.9));
    assert_same(summary.max_ratio, plain_quantile(errors.within, 1));
    assert_same(summary.extrapolated_median_ratio, plain_quantile(errors.beyond, 0.5));
    assert_same(summary.extrapolated_max_ratio, plain_quantile(errors.beyond, 1));
    g_test_message(
        "| %s | %d | %" G_GSIZE_FORMAT " | %.1f %% | %.1f %% | %.0f %% | %" G_GSIZE_FORMAT " | %.1f %% | %.0f %% |", device,
        stage, summary.n_interpolated, 100 * summary.median_ratio, 100 * summary.p90_ratio, 100 * summary.max_ratio,
        summary.n_extrapolated, 100 * summary.extrapolated_median_ratio, 100 * summary.extrapolated_max_ratio);
    errors_clear(&errors);
}

static void print_errors(const char *title, Errors *errors)
{
    g_test_message("%s: %u interpolated: median %.1f %%, p90 %.1f %%, most %.0f %%; %u extrapolated: median %.1f %%, p90 "
                   "%.0f %%, most %.0f %%",
                   title, errors->within->len, 100 * plain_quantile(errors->within, 0.5),
                   100 * plain_quantile(errors->within, 0.9), 100 * plain_quantile(errors->within, 1), errors->beyond->len,
                   100 * plain_quantile(errors->beyond, 0.5), 100 * plain_quantile(errors->beyond, 0.9),
                   100 * plain_quantile(errors->beyond, 1));
}

static void test_published(gconstpointer table)
{
    g_test_message("| device | stage | between others | median | p90 | most | beyond all others | median | most |");
    Errors all = errors_new(), linear = errors_new();
    for (gsize i = 0; i < G_N_ELEMENTS(published_devices); i++)
        for (int stage = 1; stage <= PUBLISHED_STAGES; stage++)
            check_stage(table, published_devices[i], stage, &all, &linear);
    print_errors("all", &all);
    print_errors("all, linear in the latency", &linear);
    g_assert_cmpfloat(plain_quantile(all.within, 0.5), <, plain_quantile(linear.within, 0.5));
    g_assert_cmpfloat(plain_quantile(all.within, 0.9), <, plain_quantile(linear.within, 0.9));
    errors_clear(&all);
    errors_clear(&linear);
}

/* A number of nodes never measured: all its sizes are left out, and predicted from the other numbers of nodes. */
typedef struct
{
    Errors per_node, edges;               /* by each choice of the second axis */
    Errors common_per_node, common_edges; /* of the places that both interpolate */
    GArray *all_per_node, *all_edges;     /* between and beyond together */
} NodesOut;

static void leave_nodes_out(const Published *published, NodesOut *out)
{
    for (gsize i = 0; i < published->n; i++)
    {
        IfmLookupPoint left = published->points[i], others[PUBLISHED_MAX];
        gsize n = 0;
        for (gsize j = 0; j < published->n; j++)
            if (published->points[j].nodes != left.nodes)
                others[n++] = published->points[j];
        g_autoptr(IfmLookup) lookup = new_lookup(others, n);
        gboolean outside, edges_outside;
        double expected = plain_at(others, n, EDGES_PER_NODE, left.nodes, left.edges, &outside);
        double found = at(lookup, left.nodes, left.edges, outside ? IFM_GRID_OUTSIDE : IFM_GRID_INTERPOLATED);
        assert_same(found / 1e6, expected / 1e6);
        double per_node = fabs(found / left.latency_ns - 1);
        double edges = fabs(plain_at(others, n, EDGES, left.nodes, left.edges, &edges_outside) / left.latency_ns - 1);
        errors_add(&out->per_node, per_node, outside);
        errors_add(&out->edges, edges, edges_outside);
        errors_add(&out->common_per_node, per_node, outside || edges_outside);
        errors_add(&out->common_edges, edges, outside || edges_outside);
        g_array_append_val(out->all_per_node, per_node);
        g_array_append_val(out->all_edges, edges);
    }
}

/* Why the second axis is edges per node: more of what is asked lies between measured points, and the errors' tail is short.
 */
static void test_second_axis(void)
{
    NodesOut out = { errors_new(),
                     errors_new(),
                     errors_new(),
                     errors_new(),
                     g_array_new(FALSE, FALSE, sizeof(double)),
                     g_array_new(FALSE, FALSE, sizeof(double)) };
    for (gsize i = 0; i < G_N_ELEMENTS(published_devices); i++)
        for (int stage = 1; stage <= PUBLISHED_STAGES; stage++)
        {
            Published published = published_read("large-55-sizes.csv", published_devices[i], stage);
            leave_nodes_out(&published, &out);
        }
    print_errors("edges per node", &out.per_node);
    print_errors("edges", &out.edges);
    print_errors("edges per node, where both interpolate", &out.common_per_node);
    print_errors("edges, where both interpolate", &out.common_edges);
    double median = plain_quantile(out.all_per_node, 0.5), edges_median = plain_quantile(out.all_edges, 0.5);
    double p90 = plain_quantile(out.all_per_node, 0.9), edges_p90 = plain_quantile(out.all_edges, 0.9);
    g_test_message("all: edges per node: median %.1f %%, p90 %.1f %%; edges: median %.1f %%, p90 %.1f %%", 100 * median,
                   100 * p90, 100 * edges_median, 100 * edges_p90);
    g_assert_cmpuint(out.per_node.within->len, >, 2 * out.edges.within->len);
    g_assert_cmpfloat(median, <, edges_median);
    g_assert_cmpfloat(p90, <, 0.75 * edges_p90);
    errors_clear(&out.per_node);
    errors_clear(&out.edges);
    errors_clear(&out.common_per_node);
    errors_clear(&out.common_edges);
    g_array_unref(out.all_per_node);
    g_array_unref(out.all_edges);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/lookup/power-law", test_power_law);
    g_test_add_func("/lookup/by-hand", test_by_hand);
    g_test_add_func("/lookup/refused", test_refused);
    g_test_add_data_func("/lookup/published/large", "large-55-sizes.csv", test_published);
    g_test_add_data_func("/lookup/published/protocol", "protocol-15-sizes.csv", test_published);
    g_test_add_func("/lookup/published/second-axis", test_second_axis);
    return g_test_run();
}
