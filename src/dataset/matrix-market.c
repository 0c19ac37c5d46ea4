/* Sparse matrices as graphs. Source: math.nist.gov/MatrixMarket/formats.html */
#include "dataset-private.h"

#include <string.h>

/* @n_values: numbers that follow row and column. */
static const struct
{
    const char *name;
    int n_values;
} fields[] = { { "pattern", 0 }, { "real", 1 }, { "double", 1 }, { "integer", 1 }, { "complex", 2 } };

/* @mirrored: whether entry (i, j) stands for (j, i) as well; only the lower triangle is then in the file.
 * @diagonal: whether there may be entries on the diagonal.    @min_values, @max_values: fields that it exists for */
typedef struct
{
    const char *name;
    gboolean mirrored, diagonal;
    int min_values, max_values;
} Symmetry;

static const Symmetry symmetries[] = {
    { "general", FALSE, TRUE, 0, 2 },
    { "symmetric", TRUE, TRUE, 0, 2 },
    { "skew-symmetric", TRUE, FALSE, 1, 2 },
    { "hermitian", TRUE, TRUE, 2, 2 },
};

typedef struct
{
    int n_values;
    const Symmetry *symmetry;
    gint64 n, n_entries;
} Matrix;

static gboolean read_banner(IfmText *text, Matrix *matrix, GError **error)
{
    ifm_text_raw_line(text);
    if (!ifm_text_word(text, IFM_MATRIX_MARKET_HEAD) || !ifm_text_word(text, "matrix"))
        return ifm_text_fail(text, error, "a Matrix Market file begins with \"%s matrix\"", IFM_MATRIX_MARKET_HEAD);
    if (!ifm_text_word(text, "coordinate"))
        return ifm_text_fail(text, error, "only \"coordinate\" matrices are graphs (\"array\" lists every entry)");
    matrix->n_values = -1;
    for (gsize k = 0; k < G_N_ELEMENTS(fields) && matrix->n_values < 0; k++)
        if (ifm_text_word(text, fields[k].name))
            matrix->n_values = fields[k].n_values;
    if (matrix->n_values < 0)
        return ifm_text_fail(text, error, "after \"coordinate\" comes pattern, real, integer or complex");
    gsize i = 0;
    while (i < G_N_ELEMENTS(symmetries) && !ifm_text_word(text, symmetries[i].name))
        i++;
    if (i == G_N_ELEMENTS(symmetries))
        return ifm_text_fail(text, error, "the last word is general, symmetric, skew-symmetric or hermitian");
    matrix->symmetry = &symmetries[i];
    if (matrix->n_values < matrix->symmetry->min_values)
        return ifm_text_fail(text, error, "a %s matrix has entries of %s numbers", matrix->symmetry->name,
                             matrix->symmetry->min_values == 1 ? "real, integer or complex" : "complex");
    return ifm_text_no_more(text, "the symmetry", error);
}

/* The minimum bytes of an entry: two digits, a blank, and for each value a blank and a digit; then a line break, which may
 * miss at the end. */
static gint64 max_entries(const IfmText *text, const Matrix *matrix)
{
    return ((gint64)(text->end - text->next) + 1) / (4 + 2 * matrix->n_values);
}

static gboolean read_size(IfmText *text, Matrix *matrix, GError **error)
{
    gint64 n_columns;
    if (!ifm_text_line(text))
        return ifm_text_fail(text, error, "the file ends before the line \"ROWS COLUMNS ENTRIES\"");
    if (!ifm_text_count_field(text, "the number of rows", IFM_GRAPH_MAX_NODES, &matrix->n, error) ||
        !ifm_text_count_field(text, "the number of columns", G_MAXINT64, &n_columns, error) ||
        !ifm_text_count_field(text, "the number of entries", IFM_GRAPH_MAX_EDGES, &matrix->n_entries, error) ||
        !ifm_text_no_more(text, "the number of entries", error))
        return FALSE;
    if (n_columns != matrix->n)
        return ifm_text_fail(text, error,
                             "%" G_GINT64_FORMAT " rows and %" G_GINT64_FORMAT " columns; a graph's matrix is square",
                             matrix->n, n_columns);
    if (matrix->n_entries > max_entries(text, matrix)) /* before memory is taken for them */
        return ifm_text_fail(
            text, error, "announces %" G_GINT64_FORMAT " entries; what follows has room for %" G_GINT64_FORMAT " at most",
            matrix->n_entries, max_entries(text, matrix));
    return TRUE;
}

static gboolean read_entry(IfmText *text, const Matrix *matrix, gint64 *row, gint64 *column, GError **error)
{
    const Symmetry *symmetry = matrix->symmetry;
    float value;
    if (!ifm_text_node_field(text, "the row", 1, matrix->n, row, error) ||
        !ifm_text_node_field(text, "the column", 1, matrix->n, column, error))
        return FALSE;
    for (int k = 0; k < matrix->n_values; k++)
        if (!ifm_text_number_field(text, k == 0 ? "the value" : "the imaginary part", &value, error))
            return FALSE;
    if (symmetry->mirrored && *row < *column)
        return ifm_text_fail(text, error,
                             "entry (%" G_GINT64_FORMAT ", %" G_GINT64_FORMAT
                             ") is above the diagonal; of a %s matrix the file holds what is below",
                             *row + 1, *column + 1, symmetry->name);
    if (!symmetry->diagonal && *row == *column)
        return ifm_text_fail(text, error,
                             "entry (%" G_GINT64_FORMAT ", %" G_GINT64_FORMAT
                             ") is on the diagonal, where a %s matrix has zeros",
                             *row + 1, *column + 1, symmetry->name);
    return ifm_text_no_more(text, "the entry", error);
}

/* @sources, @destinations: room for two edges an entry where the matrix is mirrored. */
static gboolean read_entries(IfmText *text, const Matrix *matrix, gint64 *sources, gint64 *destinations, gint64 *n_edges,
                             GError **error)
{
    gint64 n = 0, row, column;
    for (gint64 i = 0; i < matrix->n_entries; i++)
    {
        if (!ifm_text_line(text))
            return ifm_text_fail(text, error, "the file ends after %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT " entries", i,
                                 matrix->n_entries);
        if (!read_entry(text, matrix, &row, &column, error))
            return FALSE;
        sources[n] = row;
        destinations[n++] = column;
        if (!matrix->symmetry->mirrored || row == column)
            continue;
        sources[n] = column;
        destinations[n++] = row;
    }
    *n_edges = n;
    if (ifm_text_line(text))
        return ifm_text_fail(text, error, "more than the %" G_GINT64_FORMAT " entries announced", matrix->n_entries);
    return TRUE;
}

IfmGraph *ifm_matrix_market_parse(const char *bytes, gsize length, const char *name, const char *graph_name, GError **error)
{
    IfmText text;
    Matrix matrix = { .symmetry = symmetries };
    ifm_text_init(&text, name, bytes, length, "%");
    if (!read_banner(&text, &matrix, error) || !read_size(&text, &matrix, error))
        return NULL;
    gint64 room = matrix.n_entries * (matrix.symmetry->mirrored ? 2 : 1), n_edges = 0;
    g_autoptr(IfmGraph) graph = ifm_graph_new(g_strdup(graph_name), matrix.n, room, error);
    if (graph == NULL || !read_entries(&text, &matrix, graph->edge_index, graph->edge_index + room, &n_edges, error))
        return NULL;
    /* the diagonal's entries left gaps */
    memmove(graph->edge_index + n_edges, graph->edge_index + room, sizeof(gint64) * (gsize)n_edges);
    graph->edge_index = g_renew(gint64, graph->edge_index, MAX(2 * n_edges, 1));
    graph->n_edges = n_edges;
    return g_steal_pointer(&graph);
}
