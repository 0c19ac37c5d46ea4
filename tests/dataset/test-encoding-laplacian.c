/* Laplacian encodings against spectra known in closed form, and against Jacobi's method on the dense matrix, written here.
 */
#include <dataset/dataset.h>
#include <math.h>
#include <string.h>

/* --- graphs ----------------------------------------------------------------------------------------------------------- */

typedef struct
{
    gint64 n_nodes;
    GArray *pairs; /* gint64 [2 x n] */
} Sketch;

static Sketch sketch_new(gint64 n_nodes)
{
    return (Sketch){ n_nodes, g_array_new(FALSE, FALSE, sizeof(gint64)) };
}

static void connect(Sketch *sketch, gint64 a, gint64 b)
{
    g_array_append_val(sketch->pairs, a);
    g_array_append_val(sketch->pairs, b);
}

/* finish: Each pair as two edges; the sketch is used up. */
static IfmGraph *finish(Sketch sketch)
{
    gint64 n = sketch.pairs->len / 2;
    IfmGraph *graph = g_new0(IfmGraph, 1);
    graph->name = g_strdup("sketch");
    graph->n_nodes = sketch.n_nodes;
    graph->n_edges = 2 * n;
    graph->n_graphs = 1;
    graph->edge_index = g_new(gint64, MAX(4 * n, 1));
    for (gint64 i = 0; i < n; i++)
    {
        gint64 a = g_array_index(sketch.pairs, gint64, 2 * i), b = g_array_index(sketch.pairs, gint64, 2 * i + 1);
        graph->edge_index[2 * i] = graph->edge_index[2 * n + 2 * i + 1] = a;
        graph->edge_index[2 * i + 1] = graph->edge_index[2 * n + 2 * i] = b;
    }
    g_array_unref(sketch.pairs);
    return graph;
}

static IfmGraph *path(gint64 n)
{
    Sketch sketch = sketch_new(n);
    for (gint64 i = 1; i < n; i++)
        connect(&sketch, i - 1, i);
    return finish(sketch);
}

static IfmGraph *cycle(gint64 n)
{
    Sketch sketch = sketch_new(n);
    for (gint64 i = 0; i < n; i++)
        connect(&sketch, i, (i + 1) % n);
    return finish(sketch);
}

static IfmGraph *complete(gint64 n)
{
    Sketch sketch = sketch_new(n);
    for (gint64 i = 0; i < n; i++)
        for (gint64 k = 0; k < i; k++)
            connect(&sketch, i, k);
    return finish(sketch);
}

static IfmGraph *star(gint64 n)
{
    Sketch sketch = sketch_new(n);
    for (gint64 i = 1; i < n; i++)
        connect(&sketch, 0, i);
    return finish(sketch);
}

static IfmGraph *cube(int dimensions)
{
    Sketch sketch = sketch_new((gint64)1 << dimensions);
    for (gint64 i = 0; i < sketch.n_nodes; i++)
        for (int bit = 0; bit < dimensions; bit++)
            if ((i >> bit & 1) == 0)
                connect(&sketch, i, i | (gint64)1 << bit);
    return finish(sketch);
}

/* --- the matrix ------------------------------------------------------------------------------------------------------- */

/* neighbours: which pairs are joined, [n x n] */
static guint8 *neighbours(const IfmGraph *graph)
{
    guint8 *joined = g_malloc0((gsize)(graph->n_nodes * graph->n_nodes));
    for (gint64 i = 0; i < graph->n_edges; i++)
    {
        gint64 a = graph->edge_index[i], b = graph->edge_index[graph->n_edges + i];
        joined[a * graph->n_nodes + b] = joined[b * graph->n_nodes + a] = a != b;
    }
    return joined;
}

/* laplacian: dense, [n x n]; 1 on the diagonal of a node without edges */
static double *laplacian(const IfmGraph *graph)
{
    gint64 n = graph->n_nodes;
    g_autofree guint8 *joined = neighbours(graph);
    g_autofree gint64 *degrees = g_new0(gint64, n);
    double *matrix = g_new0(double, n *n);
    for (gint64 i = 0; i < n; i++)
        for (gint64 k = 0; k < n; k++)
            degrees[i] += joined[i * n + k];
    for (gint64 i = 0; i < n; i++)
        for (gint64 k = 0; k < n; k++)
            matrix[i * n + k] = (i == k) - (joined[i * n + k] ? 1 / sqrt((double)(degrees[i] * degrees[k])) : 0);
    return matrix;
}

static void rotate(double *matrix, double *vectors, gint64 n, gint64 p, gint64 q)
{
    double off = matrix[p * n + q];
    if (fabs(off) < 1e-300)
        return;
    double theta = (matrix[q * n + q] - matrix[p * n + p]) / (2 * off);
    double t = (theta < 0 ? -1 : 1) / (fabs(theta) + sqrt(theta * theta + 1)), c = 1 / sqrt(t * t + 1), s = t * c;
    for (gint64 k = 0; k < n; k++)
    {
        double a = matrix[k * n + p], b = matrix[k * n + q];
        matrix[k * n + p] = c * a - s * b;
        matrix[k * n + q] = s * a + c * b;
    }
    for (gint64 k = 0; k < n; k++)
    {
        double a = matrix[p * n + k], b = matrix[q * n + k];
        matrix[p * n + k] = c * a - s * b;
        matrix[q * n + k] = s * a + c * b;
        a = vectors[k * n + p], b = vectors[k * n + q];
        vectors[k * n + p] = c * a - s * b;
        vectors[k * n + q] = s * a + c * b;
    }
}

/* jacobi: all eigenpairs, in no order; the values end on @matrix' diagonal, the vectors are columns of the result. */
static double *jacobi(double *matrix, gint64 n)
{
    double *vectors = g_new0(double, n *n);
    for (gint64 i = 0; i < n; i++)
        vectors[i * n + i] = 1;
    for (int sweep = 0; sweep < 30; sweep++)
        for (gint64 p = 0; p < n; p++)
            for (gint64 q = p + 1; q < n; q++)
                rotate(matrix, vectors, n, p, q);
    return vectors;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* --- checks ----------------------------------------------------------------------------------------------------------- */

static IfmEncoding *encode(const IfmGraph *graph, gint64 dim)
{
    g_autoptr(GError) error = NULL;
    IfmEncoding *encoding = ifm_encoding_laplacian(graph, dim, NULL, NULL, &error);
    g_assert_no_error(error);
    g_assert_cmpint(encoding->n_nodes, ==, graph->n_nodes);
    g_assert_cmpint(encoding->dim, ==, dim);
    return encoding;
}

static gboolean notes_say(const IfmEncoding *encoding, const char *text)
{
    for (guint i = 0; i < encoding->notes->len; i++)
        if (strstr(encoding->notes->pdata[i], text) != NULL)
            return TRUE;
    return FALSE;
}

static double entry(const IfmEncoding *encoding, gint64 node, gint64 column)
{
    return (double)encoding->values[node * encoding->dim + column];
}

/* Each vector v has norm 1, is at right angles to the others and to sqrt(degrees), L v = lambda v by the edges alone, and
 * its largest entry is above 0. Everything is as exact as floats are. One graph. */
static void check_pairs(const IfmGraph *graph, const IfmEncoding *encoding)
{
    gint64 n = graph->n_nodes, dim = encoding->dim;
    g_autofree double *degrees = g_new0(double, n), *image = g_new(double, n);
    for (gint64 i = 0; i < graph->n_edges; i++) /* no loops, each edge in both directions, once */
        degrees[graph->edge_index[i]]++;
    for (gint64 column = 0; column < dim; column++)
    {
        double value = encoding->eigenvalues[column], residual = 0, largest = 0, with_root = 0;
        memset(image, 0, sizeof *image * (gsize)n);
        for (gint64 i = 0; i < graph->n_edges; i++)
        {
            gint64 from = graph->edge_index[i], to = graph->edge_index[graph->n_edges + i];
            image[to] += entry(encoding, from, column) / sqrt(degrees[from] * degrees[to]);
        }
        for (gint64 i = 0; i < n; i++)
        {
            double x = entry(encoding, i, column);
            residual = MAX(residual, fabs(x - image[i] - value * x));
            largest = MAX(largest, fabs(x));
            with_root += x * sqrt(degrees[i] / (double)graph->n_edges);
        }
        g_assert_cmpfloat(residual, <, 3e-7);
        gint64 first = 0;
        while (fabs(entry(encoding, first, column)) < largest * (1 - 1e-6)) /* equal but for rounding */
            first++;
        g_assert_cmpfloat(entry(encoding, first, column), >, 0);
        g_assert_cmpfloat(fabs(with_root), <, 1e-6);
        g_assert_true(column == 0 || value >= encoding->eigenvalues[column - 1] - 1e-9);
        for (gint64 other = 0; other <= column; other++)
        {
            double product = 0;
            for (gint64 i = 0; i < n; i++)
                product += entry(encoding, i, column) * entry(encoding, i, other);
            g_assert_cmpfloat(fabs(product - (other == column)), <, 1e-6);
        }
    }
}

/* @spectrum: (transfer full) [n] all eigenvalues in any order, the zero among them */
static void check_spectrum(IfmGraph *graph, double *spectrum, gint64 dim)
{
    g_autofree double *values = spectrum;
    g_autoptr(IfmGraph) owned = graph;
    g_autoptr(IfmEncoding) encoding = encode(graph, dim);
    qsort(values, (gsize)graph->n_nodes, sizeof *values, compare_doubles);
    for (gint64 k = 0; k < dim; k++)
        g_assert_cmpfloat(fabs(encoding->eigenvalues[k] - values[k + 1]), <=, 1e-9 + 1e-7 * values[k + 1]);
    check_pairs(graph, encoding);
}

/* n points of 1 - cos(turn k) */
static double *cosines(gint64 n, double turn)
{
    double *values = g_new(double, n);
    for (gint64 k = 0; k < n; k++)
        values[k] = 2 * pow(sin(turn * (double)k / 2), 2);
    return values;
}

static double *two_values(gint64 n, double inner, double last)
{
    double *values = g_new(double, n);
    for (gint64 k = 0; k < n; k++)
        values[k] = k == 0 ? 0 : k < n - 1 ? inner : last;
    return values;
}

static double *cube_values(int dimensions)
{
    double *values = g_new(double, (gsize)1 << dimensions);
    for (gint64 i = 0; i < (gint64)1 << dimensions; i++)
        values[i] = 2.0 * __builtin_popcountll((guint64)i) / dimensions;
    return values;
}

/* Sizes that are solved densely and sparsely. */
static void test_known(void)
{
    static const gint64 sizes[] = { 3, 10, 64, 65, 300, 5000 };
    for (gsize i = 0; i < G_N_ELEMENTS(sizes); i++)
    {
        gint64 n = sizes[i], dim = MIN(16, n - 1);
        check_spectrum(path(n), cosines(n, G_PI / (double)(n - 1)), dim);
        check_spectrum(cycle(n), cosines(n, 2 * G_PI / (double)n), dim);
        check_spectrum(star(n), two_values(n, 1, 2), dim);
        if (n <= 300)
            check_spectrum(complete(n), two_values(n, (double)n / (double)(n - 1), (double)n / (double)(n - 1)), dim);
    }
    for (int dimensions = 1; dimensions <= 11; dimensions++)
        check_spectrum(cube(dimensions), cube_values(dimensions), MIN(16, (1 << dimensions) - 1));
    check_spectrum(path(2), cosines(2, G_PI), 1);
    check_spectrum(path(40), cosines(40, G_PI / 39), 39); /* all there are */
    check_spectrum(cycle(200), cosines(200, 2 * G_PI / 200), 199);
}

/* projector: [n x n] onto the vectors of @vectors' columns whose @values are within [low, high] */
static double *projector(const double *vectors, const double *matrix, gint64 n, double low, double high)
{
    double *sum = g_new0(double, n *n);
    for (gint64 of = 0; of < n; of++)
        for (gint64 i = 0; i < n && matrix[of * n + of] >= low && matrix[of * n + of] <= high; i++)
            for (gint64 k = 0; k < n; k++)
                sum[i * n + k] += vectors[i * n + of] * vectors[k * n + of];
    return sum;
}

/* Space by space: repeated eigenvalues are compared by the projection onto their space. @graph: any, connected or not,
 * without its zero: of the zeros the encoding lacks sqrt(degrees). */
static void check_against_jacobi(const IfmGraph *graph, gint64 dim)
{
    gint64 n = graph->n_nodes, end;
    g_autofree double *matrix = laplacian(graph), *vectors = jacobi(matrix, n), *values = g_new(double, n);
    g_autoptr(IfmEncoding) encoding = encode(graph, dim);
    for (gint64 i = 0; i < n; i++)
        values[i] = matrix[i * n + i];
    qsort(values, (gsize)n, sizeof *values, compare_doubles);
    for (gint64 k = 0; k < dim; k++)
        g_assert_cmpfloat(fabs(encoding->eigenvalues[k] - values[k + 1]), <, 1e-9);
    for (gint64 begin = 0; begin < dim; begin = end)
    {
        double value = encoding->eigenvalues[begin];
        for (end = begin + 1; end < dim && encoding->eigenvalues[end] < value + 1e-7; end++)
            ;
        if (value < 1e-7 || (end == dim && end + 1 < n && values[end + 1] < value + 1e-7))
            continue; /* less than the whole space */
        g_autofree double *whole = projector(vectors, matrix, n, value - 1e-7, value + 1e-7);
        for (gint64 i = 0; i < n; i++)
            for (gint64 k = 0; k < n; k++)
            {
                double sum = 0;
                for (gint64 column = begin; column < end; column++)
                    sum += entry(encoding, i, column) * entry(encoding, k, column);
                g_assert_cmpfloat(fabs(sum - whole[i * n + k]), <, 1e-6);
            }
    }
}

static void test_random(void)
{
    for (guint32 seed = 1; seed <= 12; seed++)
    {
        gint64 n = 12 + 11 * seed;
        g_autoptr(IfmGraph) thin = ifm_graph_random(IFM_GRAPH_UNIFORM, n, n, seed, NULL);
        g_autoptr(IfmGraph) thick = ifm_graph_random(IFM_GRAPH_POWER_LAW, n, 4 * n, seed, NULL);
        check_against_jacobi(thin, 9);
        check_against_jacobi(thick, 9);
    }
}

/* undirected: Each pair that is joined as two edges, once. */
static IfmGraph *undirected(const IfmGraph *graph)
{
    Sketch sketch = sketch_new(graph->n_nodes);
    g_autofree guint8 *joined = neighbours(graph);
    for (gint64 i = 0; i < graph->n_nodes; i++)
        for (gint64 k = 0; k < i; k++)
            if (joined[i * graph->n_nodes + k])
                connect(&sketch, k, i);
    return finish(sketch);
}

/* Graphs without small cuts are not factored: that would take longer than multiplying, from some hundred nodes on. */
static void check_random(gint64 n, gint64 n_edges)
{
    g_autoptr(IfmGraph) directed = ifm_graph_random(IFM_GRAPH_UNIFORM, n, n_edges, 5, NULL);
    g_autoptr(IfmGraph) random = undirected(directed);
    g_autoptr(IfmEncoding) encoding = encode(random, 16);
    check_pairs(random, encoding);
    g_assert_true(notes_say(encoding, "multiplying"));
}

/* … and a mesh is. */
static void test_large(void)
{
    check_random(6000, 24000);
    check_random(1000, 2500);
    Sketch sketch = sketch_new(60 * 70);
    for (gint64 i = 0; i < 60 * 70; i++)
    {
        if (i % 60 > 0)
            connect(&sketch, i - 1, i);
        if (i >= 60)
            connect(&sketch, i - 60, i);
    }
    g_autoptr(IfmGraph) mesh = finish(sketch);
    g_autoptr(IfmEncoding) encoding = encode(mesh, 16);
    check_pairs(mesh, encoding);
    g_assert_true(notes_say(encoding, "factored"));
}

/* --- several components -------------------------------------------------------------------------------------------------
 */

/* Triangle 1 3 5; nodes 0 and 4 joined; node 2 alone. The zeros: the pair (first met: node 0) against the triangle. */
static void test_components(void)
{
    Sketch sketch = sketch_new(6);
    connect(&sketch, 1, 3);
    connect(&sketch, 3, 5);
    connect(&sketch, 5, 1);
    connect(&sketch, 0, 4);
    g_autoptr(IfmGraph) graph = finish(sketch);
    g_autoptr(IfmEncoding) encoding = encode(graph, 5);
    static const double values[] = { 0, 1, 1.5, 1.5, 2 };
    for (int k = 0; k < 5; k++)
        g_assert_cmpfloat(fabs(encoding->eigenvalues[k] - values[k]), <, 1e-12);
    /* sqrt(d) = 1 1 | sqrt 2 x 3; sums of degrees 2 and 6: a^2 2 + b^2 6 = 1, 2 a + 6 b = 0: a = sqrt(3/8), b = -a / 3 */
    double a = sqrt(3.0 / 8), b = -a / 3 * sqrt(2);
    const double zero[] = { a, b, 0, b, a, b };
    for (int i = 0; i < 6; i++)
    {
        g_assert_cmpfloat(fabs(entry(encoding, i, 0) - zero[i]), <, 1e-7);
        g_assert_cmpfloat(entry(encoding, i, 1), ==, i == 2); /* the node alone */
        g_assert_cmpfloat(fabs(entry(encoding, i, 4) - (i == 0 ? sqrt(0.5) : i == 4 ? -sqrt(0.5) : 0)), <, 1e-7);
    }
    /* 1.5 twice, in the triangle: by the rule, the image of node 1's unit vector, then what is left for node 3 */
    const double first[] = { 0, 2, 0, -1, 0, -1 }, second[] = { 0, 0, 0, 1, 0, -1 };
    for (int i = 0; i < 6; i++)
    {
        g_assert_cmpfloat(fabs(entry(encoding, i, 2) - first[i] / sqrt(6)), <, 1e-7);
        g_assert_cmpfloat(fabs(entry(encoding, i, 3) - second[i] / sqrt(2)), <, 1e-7);
    }
    g_assert_true(notes_say(encoding, "2 components"));
    g_assert_true(notes_say(encoding, "1 node without edges"));
    g_assert_true(notes_say(encoding, "the eigenvalue 1.5 is repeated 2 times"));
}

static void test_alone(void)
{
    g_autoptr(IfmGraph) graph = finish(sketch_new(4));
    g_autoptr(IfmEncoding) encoding = encode(graph, 3);
    for (gint64 i = 0; i < 4; i++)
        for (gint64 k = 0; k < 3; k++)
            g_assert_cmpfloat(entry(encoding, i, k), ==, i == k + 1);
    g_assert_cmpfloat(encoding->eigenvalues[0], ==, 1);
    g_assert_true(notes_say(encoding, "4 nodes without edges"));
}

/* Loops, repeated edges and edges in one direction alone make the same Laplacian. */
static void test_undirected(void)
{
    static const gint64 edges[] = { 0, 0, 1, 1, 2, 4, 3, 3, /**/ 1, 1, 0, 2, 3, 3, 3, 4 };
    g_autoptr(IfmGraph) plain = path(5), odd = g_new0(IfmGraph, 1);
    odd->name = g_strdup("odd");
    odd->n_nodes = 5;
    odd->n_edges = 8;
    odd->n_graphs = 1;
    odd->edge_index = g_memdup2(edges, sizeof edges);
    g_autoptr(IfmEncoding) a = encode(plain, 4), b = encode(odd, 4);
    g_assert_cmpmem(a->values, sizeof(float) * 20, b->values, sizeof(float) * 20);
}

/* Each graph of a batch gets what it gets by itself. */
static void test_batch(void)
{
    g_autoptr(IfmGraph) a = path(20), b = cycle(90), c = star(12), d = ifm_graph_random(IFM_GRAPH_UNIFORM, 30, 60, 3, NULL);
    const IfmGraph *const graphs[] = { a, b, c, d };
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmGraph) batch = ifm_graph_batch(graphs, 4, &error);
    g_assert_no_error(error);
    g_autoptr(IfmEncoding) all = encode(batch, 7);
    gint64 first = 0;
    for (int i = 0; i < 4; i++)
    {
        g_autoptr(IfmEncoding) one = encode(graphs[i], 7);
        g_assert_cmpmem(all->values + first * 7, sizeof(float) * 7 * (gsize)graphs[i]->n_nodes, one->values,
                        sizeof(float) * 7 * (gsize)graphs[i]->n_nodes);
        g_assert_cmpmem(all->eigenvalues + i * 7, sizeof(double) * 7, one->eigenvalues, sizeof(double) * 7);
        first += graphs[i]->n_nodes;
    }
    g_assert_true(notes_say(all, "of 4 graphs"));
}

/* --- the same again, and what is refused
 * ---------------------------------------------------------------------------------- */

/* Whatever was solved before: ARPACK keeps a state, of which nothing must be seen. */
static void test_same_again(void)
{
    IfmGraph *graphs[] = { star(2000),    cycle(777), cube(9),
                           complete(150), path(3000), ifm_graph_random(IFM_GRAPH_POWER_LAW, 3000, 9000, 1, NULL) };
    IfmEncoding *before[G_N_ELEMENTS(graphs)];
    for (gsize i = 0; i < G_N_ELEMENTS(graphs); i++)
        before[i] = encode(graphs[i], 16);
    for (gsize i = G_N_ELEMENTS(graphs); i-- > 0;)
    {
        g_autoptr(IfmEncoding) again = encode(graphs[i], 16);
        gsize size = sizeof(float) * 16 * (gsize)graphs[i]->n_nodes;
        g_test_message("graph %" G_GSIZE_FORMAT, i);
        g_assert_cmpmem(again->values, size, before[i]->values, size);
        g_assert_cmpmem(again->eigenvalues, sizeof(double) * 16, before[i]->eigenvalues, sizeof(double) * 16);
        ifm_encoding_free(before[i]);
        ifm_graph_free(graphs[i]);
    }
    g_autoptr(IfmGraph) wide = star(2000);
    g_autoptr(IfmEncoding) cut = encode(wide, 3);
    g_assert_true(notes_say(cut, "the last eigenvalue, 1, is repeated beyond the dimension"));
}

/* Watcher: Gives up when it is asked for the @max-th time; 0: never. */
typedef struct
{
    guint n, max;
    double last_ratio;
} Watcher;

static gboolean watch(double done_ratio, void *user)
{
    Watcher *watcher = user;
    g_assert_cmpfloat(done_ratio, >=, watcher->last_ratio);
    g_assert_cmpfloat(done_ratio, <, 1);
    watcher->last_ratio = done_ratio;
    return ++watcher->n != watcher->max;
}

/* Whoever waits is asked again and again, as the graphs get done, and may give up at any moment: what comes after is as
 * though nothing had been. Both of ARPACK's ways: a cycle is factored, a random graph is not. */
static void test_watched(void)
{
    g_autoptr(IfmGraph) long_one = cycle(4000), random = ifm_graph_synthetic(3000, 6, 0, 1, NULL);
    const IfmGraph *const graphs[] = { long_one, random, long_one };
    g_autoptr(IfmGraph) batch = ifm_graph_batch(graphs, 3, NULL);
    g_autoptr(IfmEncoding) alone = encode(batch, 8);
    gsize size = sizeof(float) * (gsize)(batch->n_nodes * 8);
    Watcher whole = { 0 };
    g_autoptr(IfmEncoding) watched = ifm_encoding_laplacian(batch, 8, watch, &whole, NULL);
    g_assert_cmpmem(watched->values, size, alone->values, size);
    g_assert_cmpuint(whole.n, >, 9);
    g_assert_cmpfloat(whole.last_ratio, ==, 7000.0 / 11000);
    for (guint i = 1; i <= 3; i++)
    {
        g_autoptr(GError) error = NULL;
        Watcher some = { .max = i == 1 ? 1 : whole.n * (i - 1) / 2 };
        g_assert_null(ifm_encoding_laplacian(batch, 8, watch, &some, &error));
        g_assert_error(error, IFM_ERROR, IFM_ERROR_CANCELLED);
        g_assert_cmpuint(some.n, ==, some.max);
        g_autoptr(IfmEncoding) again = encode(batch, 8);
        g_assert_cmpmem(again->values, size, alone->values, size);
    }
    /* the notes count as the files do */
    g_assert_true(notes_say(alone, "of 3 graphs, the first of them graph 1: the eigenvalue"));
    g_assert_true(notes_say(alone, "1 of 3 graphs, the first of them graph 2: solved by ARPACK, multiplying"));
}

static void check_refused(const IfmGraph *graph, gint64 dim, const char *message)
{
    g_autoptr(GError) error = NULL;
    g_assert_null(ifm_encoding_laplacian(graph, dim, NULL, NULL, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_cmpstr(error->message, ==, message);
}

static void test_refused(void)
{
    g_autoptr(IfmGraph) five = path(5), two = path(2), none = finish(sketch_new(0));
    const IfmGraph *const graphs[] = { five, two };
    g_autoptr(IfmGraph) batch = ifm_graph_batch(graphs, 2, NULL);
    check_refused(five, 0, "sketch: an encoding of dimension 0; 1 to 10000 would be right");
    check_refused(five, -3, "sketch: an encoding of dimension -3; 1 to 10000 would be right");
    check_refused(five, 20000, "sketch: an encoding of dimension 20000; 1 to 10000 would be right");
    check_refused(five, 5, "sketch has 5 nodes: too few for a Laplacian encoding of dimension 5; 4 at most would be right");
    check_refused(none, 1, "sketch: no nodes to encode");
    check_refused(batch, 2,
                  "sketch to sketch, 2 graphs: 1 of 2 graphs have too few nodes for a Laplacian encoding of dimension 2 "
                  "(the first is graph 2, of 2); for all of them 1 at most would be right");
    check_refused(batch, 7,
                  "sketch to sketch, 2 graphs: 2 of 2 graphs have too few nodes for a Laplacian encoding of dimension 7 "
                  "(the first is graph 1, of 5); for all of them 1 at most would be right");
    g_autoptr(IfmGraph) one = finish(sketch_new(1));
    check_refused(one, 1, "sketch has 1 node: too few for a Laplacian encoding of dimension 1; a node alone has none");
    batch->edge_index[0] = 6;
    check_refused(batch, 1, "sketch to sketch, 2 graphs: edge 0 leads from graph 2 to graph 1; edges stay within one");
    batch->edge_index[0] = 7;
    check_refused(batch, 1,
                  "sketch to sketch, 2 graphs: edge 0, from node 7 to 1, is outside its 7 nodes (numbered from 0)");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/encoding-laplacian/known", test_known);
    g_test_add_func("/encoding-laplacian/random", test_random);
    g_test_add_func("/encoding-laplacian/large", test_large);
    g_test_add_func("/encoding-laplacian/components", test_components);
    g_test_add_func("/encoding-laplacian/alone", test_alone);
    g_test_add_func("/encoding-laplacian/undirected", test_undirected);
    g_test_add_func("/encoding-laplacian/batch", test_batch);
    g_test_add_func("/encoding-laplacian/same-again", test_same_again);
    g_test_add_func("/encoding-laplacian/watched", test_watched);
    g_test_add_func("/encoding-laplacian/refused", test_refused);
    return g_test_run();
}
