/*
 * Laplacian eigenvectors of each graph of a batch. Each component of a graph is solved separately. Each has one eigenvalue
 * 0 with a known vector. The other eigenvalues of the graph are those of its components. docs/graphs.md
 */
#include "laplacian.h"

#include <base/base.h>
#include <math.h>
#include <string.h>

#define NOTHING 1e-12     /* smaller entries of a vector of norm 1 count as 0: below the accuracy */
#define NEARLY (1 - 1e-6) /* entries that are equal but for rounding */

void ifm_encoding_free(IfmEncoding *encoding)
{
    if (encoding == NULL)
        return;
    g_free(encoding->values);
    g_free(encoding->eigenvalues);
    g_clear_pointer(&encoding->notes, g_ptr_array_unref);
    g_free(encoding);
}

IfmEncoding *ifm_encoding_new(const IfmGraph *graph, gint64 dim, GError **error)
{
    if (dim < 1 || dim > IFM_ENCODING_MAX_DIM)
    {
        ifm_error_refuse(error, "%s: an encoding of dimension %" G_GINT64_FORMAT "; 1 to %d would be right", graph->name,
                         dim, IFM_ENCODING_MAX_DIM);
        return NULL;
    }
    if (graph->n_nodes == 0)
    {
        ifm_error_refuse(error, "%s: no nodes to encode", graph->name);
        return NULL;
    }
    if (!ifm_graph_check(graph, error))
        return NULL;
    g_autoptr(IfmEncoding) encoding = g_new0(IfmEncoding, 1);
    encoding->n_nodes = graph->n_nodes;
    encoding->dim = dim;
    encoding->notes = g_ptr_array_new_with_free_func(g_free);
    encoding->values = ifm_graph_allocate(graph->n_nodes * dim, sizeof(float), error);
    return encoding->values != NULL ? g_steal_pointer(&encoding) : NULL;
}

#define WORK_BETWEEN (1 << 18) /* processed numbers: about a millisecond */

gboolean ifm_watch_goes_on(IfmWatch *watch, gint64 work, GError **error)
{
    watch->work += work;
    if (watch->call == NULL || watch->work < WORK_BETWEEN)
        return TRUE;
    watch->work = 0;
    return watch->call(watch->done_ratio, watch->user) ||
           ifm_error_set(error, IFM_ERROR_CANCELLED, "given up before the encoding was computed");
}

/* --- the components ----------------------------------------------------------------------------------------------- */

/*
 * Split: all components of all graphs, sorted by graph and first node.
 * @nodes: [n_nodes] the nodes of component c from starts[c] on, ascending
 * @graphs: [n_graphs + 1] the first component of each graph
 */
typedef struct
{
    IfmNeighbours list;
    gint64 n;
    gint64 *starts, *nodes, *graphs;
    idx_t *places; /* [n_nodes] room */
} Split;

static void split_clear(Split *split)
{
    ifm_neighbours_clear(&split->list);
    g_free(split->starts);
    g_free(split->nodes);
    g_free(split->graphs);
    g_free(split->places);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Split, split_clear)

static gint64 graph_of(const IfmGraph *graph, gint64 node)
{
    return graph->node_graph != NULL ? graph->node_graph[node] : 0;
}

/* reach: Writes all nodes reachable from @node to nodes[at ...] and marks them. Returns: their number. */
static gint64 reach(Split *split, gint64 node, gint64 at)
{
    gint64 *nodes = split->nodes + at, n = 1;
    nodes[0] = node;
    split->places[node] = 1;
    for (gint64 i = 0; i < n; i++)
        for (idx_t k = split->list.starts[nodes[i]]; k < split->list.starts[nodes[i] + 1]; k++)
        {
            idx_t other = split->list.neighbours[k];
            if (split->places[other] != 0)
                continue;
            split->places[other] = 1;
            nodes[n++] = other;
        }
    qsort(nodes, (gsize)n, sizeof *nodes, ifm_compare_int64);
    return n;
}

static gboolean split_init(Split *split, const IfmGraph *graph, GError **error)
{
    gint64 n = graph->n_nodes, at = 0, first = 0;
    if (!ifm_neighbours_init(&split->list, graph, error) ||
        (split->starts = ifm_graph_allocate(n + 1, sizeof(gint64), error)) == NULL ||
        (split->nodes = ifm_graph_allocate(n, sizeof(gint64), error)) == NULL ||
        (split->graphs = ifm_graph_allocate(graph->n_graphs + 1, sizeof(gint64), error)) == NULL ||
        (split->places = ifm_graph_allocate(n, sizeof(idx_t), error)) == NULL)
        return FALSE;
    memset(split->places, 0, sizeof *split->places * (gsize)n);
    for (gint64 node = 0; node < n; node++)
    {
        if (split->places[node] != 0)
            continue;
        while (first <= graph_of(graph, node))
            split->graphs[first++] = split->n;
        split->starts[split->n++] = at;
        at += reach(split, node, at);
    }
    while (first <= graph->n_graphs)
        split->graphs[first++] = split->n;
    split->starts[split->n] = n;
    return TRUE;
}

/* One message gives the number of graphs that are too small, and the largest dimension that fits all graphs. */
static void refuse_size(const IfmGraph *graph, gint64 dim, const gint64 *sizes, GError **error)
{
    gint64 n_small = 0, first = 0, min = G_MAXINT64;
    for (gint64 i = graph->n_graphs - 1; i >= 0; i--)
    {
        min = MIN(min, sizes[i]);
        n_small += sizes[i] <= dim;
        first = sizes[i] <= dim ? i : first;
    }
    g_autofree char *right = min > 1 ? g_strdup_printf("%" G_GINT64_FORMAT " at most would be right", min - 1)
                                     : g_strdup("a node alone has none");
    if (graph->n_graphs == 1)
        ifm_error_refuse(error,
                         "%s has %" G_GINT64_FORMAT
                         " node%s: too few for a Laplacian encoding of dimension %" G_GINT64_FORMAT "; %s",
                         graph->name, min, ifm_plural(min), dim, right);
    else
        ifm_error_refuse(error,
                         "%s: %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT
                         " graphs have too few nodes for a Laplacian encoding of dimension %" G_GINT64_FORMAT
                         " (the first is graph %" G_GINT64_FORMAT ", of %" G_GINT64_FORMAT "); for all of them %s",
                         graph->name, n_small, graph->n_graphs, dim, first + 1, sizes[first], right);
}

gboolean ifm_encoding_laplacian_check(const IfmGraph *graph, gint64 dim, GError **error)
{
    for (gint64 i = 0; i < graph->n_edges; i++)
    {
        gint64 from = graph_of(graph, graph->edge_index[i]), to = graph_of(graph, graph->edge_index[graph->n_edges + i]);
        if (from == to)
            continue;
        return ifm_error_refuse(error,
                                "%s: edge %" G_GINT64_FORMAT " leads from graph %" G_GINT64_FORMAT
                                " to graph %" G_GINT64_FORMAT "; edges stay within one",
                                graph->name, i, from + 1, to + 1);
    }
    g_autofree gint64 *sizes = g_new0(gint64, graph->n_graphs);
    for (gint64 node = 0; node < graph->n_nodes; node++)
        sizes[graph_of(graph, node)]++;
    for (gint64 i = 0; i < graph->n_graphs; i++)
        if (sizes[i] <= dim)
        {
            refuse_size(graph, dim, sizes, error);
            return FALSE;
        }
    return TRUE;
}

/* --- the vectors of a component ----------------------------------------------------------------------------------- */

typedef struct
{
    gint64 n_pairs;
    double *values, *vectors; /* [n_pairs], [n_pairs x n] */
    IfmSolver solver;
} Solution;

static void solution_clear(gpointer data)
{
    Solution *solution = data;
    g_free(solution->values);
    g_free(solution->vectors);
}

/*
 * settle: Changes the vectors of one repeated eigenvalue to a basis that depends on their space only. The first vector is
 * the projection of the unit vector of the node with the longest projection (of equal ones the first node). The rest of the
 * space is treated in the same way.
 * @vectors: [count x n], orthonormal
 */
static gboolean settle(double *vectors, gint64 count, gint64 n, GError **error)
{
    g_autofree double *basis = ifm_graph_allocate(count * n, sizeof *basis, error);
    g_autofree double *lengths = basis != NULL ? ifm_graph_allocate(n, sizeof *lengths, error) : NULL;
    if (lengths == NULL)
        return FALSE;
    memset(lengths, 0, sizeof *lengths * (gsize)n); /* squares of the images' lengths */
    for (gint64 k = 0; k < count; k++)
        for (gint64 i = 0; i < n; i++)
            lengths[i] += vectors[k * n + i] * vectors[k * n + i];
    for (gint64 k = 0; k < count; k++)
    {
        double *image = basis + k * n, max = 0;
        gint64 node = 0;
        for (gint64 i = 0; i < n; i++)
            max = MAX(max, lengths[i]);
        while (lengths[node] < max * NEARLY)
            node++;
        memset(image, 0, sizeof *image * (gsize)n);
        for (gint64 of = 0; of < count; of++)
            for (gint64 i = 0; i < n; i++)
                image[i] += vectors[of * n + node] * vectors[of * n + i];
        for (int again = 0; again < 2; again++)
            for (gint64 before = 0; before < k; before++)
                ifm_vector_subtract(basis + before * n, image, n);
        double norm = ifm_vector_norm(image, n);
        for (gint64 i = 0; i < n; i++)
        {
            image[i] /= norm;
            lengths[i] = MAX(lengths[i] - image[i] * image[i], 0);
        }
    }
    memcpy(vectors, basis, sizeof *basis * (gsize)(count * n));
    return TRUE;
}

/* Settles the repeated eigenvalues with all their vectors. The last one may have further vectors that were not computed. */
static gboolean settle_all(Solution *solution, gint64 n, GError **error)
{
    gint64 end;
    for (gint64 begin = 0; begin < solution->n_pairs; begin = end)
    {
        for (end = begin + 1; end < solution->n_pairs; end++)
            if (!ifm_eigenvalue_is_equal(solution->values[begin], solution->values[end]))
                break;
        gboolean is_whole = end < solution->n_pairs || solution->n_pairs == n - 1;
        if (end > begin + 1 && is_whole && !settle(solution->vectors + begin * n, end - begin, n, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean solve(Split *split, gint64 index, gint64 n_wanted, Solution *solution, IfmWatch *watch, GError **error)
{
    g_auto(IfmComponent) component = { 0 };
    gint64 begin = split->starts[index], n = split->starts[index + 1] - begin;
    solution->n_pairs = MIN(n_wanted, n - 1);
    return ifm_component_init(&component, &split->list, split->nodes + begin, n, split->places, error) &&
           (solution->values = ifm_graph_allocate(solution->n_pairs, sizeof(double), error)) != NULL &&
           (solution->vectors = ifm_graph_allocate(solution->n_pairs * n, sizeof(double), error)) != NULL &&
           ifm_component_solve(&component, solution->n_pairs, solution->values, solution->vectors, &solution->solver, watch,
                               error) &&
           settle_all(solution, n, error);
}

/* --- the columns of a graph --------------------------------------------------------------------------------------- */

/* Pair: an eigenvalue above 0 of one graph. */
typedef struct
{
    double value;
    gint64 component, index; /* a node alone: index 0 */
    const double *vector;    /* NULL: 1 at the node alone */
} Pair;

static int compare_values(const void *a, const void *b)
{
    const Pair *x = a, *y = b;
    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    return x->component != y->component ? (x->component > y->component ? 1 : -1)
                                        : (x->index > y->index) - (x->index < y->index);
}

static int compare_places(const void *a, const void *b)
{
    const Pair *x = a, *y = b;
    return x->component != y->component ? (x->component > y->component ? 1 : -1)
                                        : (x->index > y->index) - (x->index < y->index);
}

/* Ascending. Values that are equal within the accuracy are sorted by component. */
static void sort_pairs(Pair *pairs, gsize n)
{
    gsize end;
    qsort(pairs, n, sizeof *pairs, compare_values);
    for (gsize begin = 0; begin < n; begin = end)
    {
        for (end = begin + 1; end < n && ifm_eigenvalue_is_equal(pairs[begin].value, pairs[end].value); end++)
            ;
        qsort(pairs + begin, end - begin, sizeof *pairs, compare_places);
    }
}

/* Facts for the notes: the number of graphs with a fact, the first of them, and its figure. */
typedef struct
{
    gint64 n, first, figure;
    double value;
} Fact;

typedef struct
{
    Fact components, singles, repeated, cut, solved[3];
} Facts;

static void note_fact(Fact *fact, gint64 graph, gint64 figure, double value)
{
    if (fact->n++ == 0)
        *fact = (Fact){ 1, graph, figure, value };
}

/*
 * Columns: the vectors of graph @index, in order.
 * @column: the next one to fill    @entries: [nodes of the graph] its entries so far
 */
typedef struct
{
    Split *split;
    IfmEncoding *encoding;
    gint64 index, column, first_node, n_nodes;
    double *entries;
    IfmWatch *watch;
} Columns;

static gint64 component_size(const Split *split, gint64 component)
{
    return split->starts[component + 1] - split->starts[component];
}

static double degree_of(const Split *split, gint64 node)
{
    return (double)(split->list.starts[node + 1] - split->list.starts[node]);
}

/* next_column: Stores the entries and clears them. The sign makes the entry of largest magnitude positive; the first of
 * equal ones counts. */
static void next_column(Columns *columns, double value)
{
    gint64 dim = columns->encoding->dim, largest = 0;
    float *to = columns->encoding->values + columns->first_node * dim + columns->column;
    double max = 0;
    for (gint64 i = 0; i < columns->n_nodes; i++)
        max = MAX(max, fabs(columns->entries[i]));
    while (fabs(columns->entries[largest]) < max * NEARLY)
        largest++;
    double sign = columns->entries[largest] < 0 ? -1 : 1;
    for (gint64 i = 0; i < columns->n_nodes; i++)
        to[i * dim] = fabs(columns->entries[i]) < NOTHING ? 0 : (float)(sign * columns->entries[i]);
    columns->encoding->eigenvalues[columns->index * dim + columns->column++] = value;
    memset(columns->entries, 0, sizeof *columns->entries * (gsize)columns->n_nodes);
}

/* set_entries: Sets sqrt(degree) @factor at the nodes of a component. */
static void set_entries(Columns *columns, gint64 component, double factor)
{
    const Split *split = columns->split;
    for (gint64 i = split->starts[component]; i < split->starts[component + 1]; i++)
        columns->entries[split->nodes[i] - columns->first_node] = factor * sqrt(degree_of(split, split->nodes[i]));
}

/*
 * put_zeros: The vectors of eigenvalue 0, without the one that spans all components. Vector k separates component k from
 * the previous ones. It is sqrt(degree) times one number in component k and another in the previous ones. Norm 1 and
 * orthogonality give the two numbers.
 * @components: [n] the components with edges
 */
static void put_zeros(Columns *columns, const gint64 *components, gint64 n)
{
    const Split *split = columns->split;
    double before = 0; /* the sum of the degrees */
    for (gint64 k = 0; k < n && columns->column < columns->encoding->dim; k++)
    {
        double here = 0;
        for (gint64 i = split->starts[components[k]]; i < split->starts[components[k] + 1]; i++)
            here += degree_of(split, split->nodes[i]);
        for (gint64 other = 0; other < k; other++)
            set_entries(columns, components[other], sqrt(here / before / (before + here)));
        if (k > 0)
        {
            set_entries(columns, components[k], -sqrt(before / here / (before + here)));
            next_column(columns, 0);
        }
        before += here;
    }
}

/* note_pairs: The facts of the first @n pairs, which are used. pairs[n], if it exists, is not used. */
static void note_pairs(Facts *facts, gint64 graph, const GArray *pairs, gint64 n)
{
    const Pair *list = (const Pair *)(const void *)pairs->data;
    gint64 count = 0;
    for (gint64 k = 1; k < n && count == 0; k++)
        if (ifm_eigenvalue_is_equal(list[k - 1].value, list[k].value))
        {
            for (count = 2; k + count - 1 < n && ifm_eigenvalue_is_equal(list[k].value, list[k + count - 1].value); count++)
                ;
            note_fact(&facts->repeated, graph, count, list[k].value);
        }
    if (n > 0 && n < (gint64)pairs->len && ifm_eigenvalue_is_equal(list[n - 1].value, list[n].value))
        note_fact(&facts->cut, graph, 0, list[n].value);
}

/* gather_pairs: The smallest eigenvalues above 0 of each component, enough for the @n smallest of the graph and one more,
 * which shows whether the last is repeated. @solutions: Solution, the storage of the pairs */
static gboolean gather_pairs(Columns *columns, gint64 n, Facts *facts, GArray *solutions, GArray *pairs, GError **error)
{
    Split *split = columns->split;
    gint64 begin = split->graphs[columns->index], end = split->graphs[columns->index + 1], n_singles = 0, of[3] = { 0 };
    g_array_set_size(solutions, (guint)(end - begin));
    for (gint64 component = begin; component < end; component++)
    {
        Solution *solution = &g_array_index(solutions, Solution, component - begin);
        if (component_size(split, component) == 1)
        {
            if (n_singles++ <= n + 1)
                g_array_append_val(pairs, ((Pair){ 1, component, 0, NULL }));
            continue;
        }
        if (n == 0)
            continue;
        if (!solve(split, component, n + 1, solution, columns->watch, error))
            return FALSE;
        of[solution->solver]++;
        for (gint64 k = 0; k < solution->n_pairs; k++)
            g_array_append_val(pairs, ((Pair){ solution->values[k], component, k,
                                               solution->vectors + k * component_size(split, component) }));
    }
    for (int solver = 0; solver < 3; solver++)
        if (of[solver] > 0)
            note_fact(&facts->solved[solver], columns->index, of[solver], 0);
    if (n_singles > 0)
        note_fact(&facts->singles, columns->index, n_singles, 0);
    return TRUE;
}

static gboolean encode_graph(Columns *columns, Facts *facts, GError **error)
{
    const Split *split = columns->split;
    g_autoptr(GArray) with_edges = g_array_new(FALSE, FALSE, sizeof(gint64));
    for (gint64 component = split->graphs[columns->index]; component < split->graphs[columns->index + 1]; component++)
        if (component_size(split, component) > 1)
            g_array_append_val(with_edges, component);
    if (with_edges->len > 1)
        note_fact(&facts->components, columns->index, with_edges->len, 0);
    put_zeros(columns, (const gint64 *)(const void *)with_edges->data, with_edges->len);

    gint64 n = columns->encoding->dim - columns->column;
    g_autoptr(GArray) solutions = g_array_new(FALSE, TRUE, sizeof(Solution));
    g_autoptr(GArray) pairs = g_array_new(FALSE, FALSE, sizeof(Pair));
    g_array_set_clear_func(solutions, solution_clear);
    if (!gather_pairs(columns, n, facts, solutions, pairs, error))
        return FALSE;
    sort_pairs((Pair *)(void *)pairs->data, pairs->len);
    if (with_edges->len == 0) /* there is no eigenvalue 0 to leave out, so the first vector is left out */
        g_array_remove_index(pairs, 0);
    note_pairs(facts, columns->index, pairs, n);
    for (gint64 k = 0; k < n; k++)
    {
        const Pair *pair = &g_array_index(pairs, Pair, k);
        const gint64 *nodes = split->nodes + split->starts[pair->component];
        for (gint64 i = 0; i < component_size(split, pair->component); i++)
            columns->entries[nodes[i] - columns->first_node] = pair->vector != NULL ? pair->vector[i] : 1;
        next_column(columns, pair->value);
    }
    return TRUE;
}

/* --- notes -------------------------------------------------------------------------------------------------------- */

static void report(IfmEncoding *encoding, gint64 n_graphs, const Fact *fact, const char *format, ...) G_GNUC_PRINTF(4, 5);

static void report(IfmEncoding *encoding, gint64 n_graphs, const Fact *fact, const char *format, ...)
{
    if (fact->n == 0)
        return;
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_ptr_array_add(encoding->notes, n_graphs == 1
                                         ? g_strdup(text)
                                         : g_strdup_printf("%" G_GINT64_FORMAT " of %" G_GINT64_FORMAT
                                                           " graphs, the first of them graph %" G_GINT64_FORMAT ": %s",
                                                           fact->n, n_graphs, fact->first + 1, text));
}

static void report_facts(IfmEncoding *encoding, gint64 n_graphs, const Facts *facts)
{
    static const char *const solvers[] = {
        [IFM_SOLVER_DENSE] = "solved densely, by LAPACK",
        [IFM_SOLVER_FACTOR] = "solved by ARPACK on the factored Laplacian",
        [IFM_SOLVER_MULTIPLY] = "solved by ARPACK, multiplying by the graph",
    };
    report(encoding, n_graphs, &facts->components,
           "%" G_GINT64_FORMAT
           " components: all but one of as many zeros are kept, with vectors that distinguish components",
           facts->components.figure);
    report(encoding, n_graphs, &facts->singles,
           "%" G_GINT64_FORMAT " node%s without edges: 0 in the vectors of all others, and an eigenvalue of 1",
           facts->singles.figure, ifm_plural(facts->singles.figure));
    report(encoding, n_graphs, &facts->repeated,
           "the eigenvalue %.6g is repeated %" G_GINT64_FORMAT " times: its vectors are one basis of many",
           facts->repeated.value, facts->repeated.figure);
    report(encoding, n_graphs, &facts->cut,
           "the last eigenvalue, %.6g, is repeated beyond the dimension: others of its vectors would do as well",
           facts->cut.value);
    for (gsize i = 0; i < G_N_ELEMENTS(solvers); i++)
        report(encoding, n_graphs, &facts->solved[i], "%s", solvers[i]);
    g_ptr_array_add(encoding->notes, g_strdup("signs: of each vector, the entry largest in magnitude is above 0"));
}

static gboolean encode_all(const IfmGraph *graph, Split *split, IfmEncoding *encoding, IfmWatch *watch, GError **error)
{
    g_autofree double *entries = ifm_graph_allocate(graph->n_nodes, sizeof *entries, error);
    Facts facts = { { 0 } };
    if (entries == NULL)
        return FALSE;
    memset(entries, 0, sizeof *entries * (gsize)graph->n_nodes);
    for (gint64 i = 0, end = 0; i < graph->n_graphs; i++)
    {
        gint64 begin = end;
        while (end < graph->n_nodes && graph_of(graph, end) == i)
            end++;
        Columns columns = { .split = split,
                            .encoding = encoding,
                            .index = i,
                            .first_node = begin,
                            .n_nodes = end - begin,
                            .entries = entries,
                            .watch = watch };
        watch->done_ratio = (double)begin / (double)graph->n_nodes;
        if (!encode_graph(&columns, &facts, error))
        {
            g_prefix_error(error, "%s: graph %" G_GINT64_FORMAT ": ", graph->name, i + 1);
            return FALSE;
        }
    }
    report_facts(encoding, graph->n_graphs, &facts);
    return TRUE;
}

IfmEncoding *ifm_encoding_laplacian(const IfmGraph *graph, gint64 dim, IfmEncodingWatch call, void *user, GError **error)
{
    IfmWatch watch = { .call = call, .user = user };
    g_auto(Split) split = { 0 };
    g_autoptr(IfmEncoding) encoding = ifm_encoding_new(graph, dim, error);
    if (encoding == NULL || !ifm_encoding_laplacian_check(graph, dim, error) || !split_init(&split, graph, error) ||
        (encoding->eigenvalues = ifm_graph_allocate(graph->n_graphs * dim, sizeof(double), error)) == NULL ||
        !encode_all(graph, &split, encoding, &watch, error))
        return NULL;
    return g_steal_pointer(&encoding);
}
