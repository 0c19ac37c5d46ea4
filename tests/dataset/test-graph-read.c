/* Edge lists and Matrix Market files. */
#include <base/base.h>
#include <dataset/dataset.h>
#include <glib/gstdio.h>
#include <string.h>

static void assert_graph(const IfmGraph *graph, gint64 n_nodes, gint64 n_edges, const gint64 *edges)
{
    g_assert_cmpint(graph->n_nodes, ==, n_nodes);
    g_assert_cmpint(graph->n_edges, ==, n_edges);
    g_assert_cmpint(graph->n_graphs, ==, 1);
    for (gint64 i = 0; i < 2 * n_edges; i++)
        g_assert_cmpint(graph->edge_index[i], ==, edges[i]);
    g_assert_true(ifm_graph_check(graph, NULL));
}

typedef struct
{
    const char *text;
    gint64 n_nodes, n_edges, edges[12]; /* the sources, then the destinations */
} Good;

#define HEAD "%%MatrixMarket matrix coordinate "

static const Good good[] = {
    { "0 1\n1 2\n", 3, 2, { 0, 1, 1, 2 } },
    { "0\t1\r\n\r\n 1,\t2 , 0.5 any thing \r\n3,0", 4, 3, { 0, 1, 3, 1, 2, 0 } },
    { "\xEF\xBB\xBF"
      "0 1\n",
      2,
      1,
      { 0, 1 } },
    { "# FromNodeId\tToNodeId\n% also\n   # and this\n\n5 5\n5 5\n", 6, 2, { 5, 5, 5, 5 } },
    { "# A graph\n# Nodes: 9 Edges: 2\n0 8\n3 1\n", 9, 2, { 0, 3, 8, 1 } },
    { "1 0\n#Nodes:2 Edges:1\n", 2, 1, { 1, 0 } },
    { "# nodes: 7 edges: 0", 7, 0, { 0 } },
    { "0 99999999\n", 100000000, 1, { 0, 99999999 } },
    { "00000000000000000000000000000001 0\n", 2, 1, { 1, 0 } },
    { HEAD "pattern general\n% c\n\n3 3 2\n1 3\n3 3\n", 3, 2, { 0, 2, 2, 2 } },
    { "%%matrixmarket MATRIX Coordinate Real General\r\n2 2 1\r\n2 1 -1.5e3", 2, 1, { 1, 0 } },
    { "\xEF\xBB\xBF" HEAD "integer general\n2 2 1\n2 1 7\n", 2, 1, { 1, 0 } },
    { HEAD "real symmetric\n3 3 3\n2 1 1\n2 2 4\n3 1 .5\n", 3, 5, { 1, 0, 1, 2, 0, 0, 1, 1, 0, 2 } },
    { HEAD "real skew-symmetric\n2 2 1\n2 1 3\n", 2, 2, { 1, 0, 0, 1 } },
    { HEAD "complex hermitian\n2 2 2\n1 1 3 0\n2 1 1 -1\n", 2, 3, { 0, 1, 0, 0, 0, 1 } },
    { HEAD "pattern general\n4 4 0\n", 4, 0, { 0 } },
    { HEAD "pattern symmetric\n0 0 0", 0, 0, { 0 } },
};

static void test_good(void)
{
    for (gsize i = 0; i < G_N_ELEMENTS(good); i++)
    {
        g_autoptr(GError) error = NULL;
        g_autofree char *exact = g_memdup2(good[i].text, strlen(good[i].text)); /* no NUL behind it */
        g_autoptr(IfmGraph) graph =
            ifm_graph_parse(exact, strlen(good[i].text), "folder/g.txt", IFM_GRAPH_FORMAT_AUTO, &error);
        g_assert_no_error(error);
        assert_graph(graph, good[i].n_nodes, good[i].n_edges, good[i].edges);
        g_assert_cmpstr(graph->name, ==, "g.txt");
    }
}

typedef struct
{
    const char *text, *message;
} Bad;

static const Bad bad_edge_lists[] = {
    { "", "g:1: there is no edge, and no \"# Nodes: N Edges: E\"" },
    { "# none\n\n# at all\n", "g:3: there is no edge, and no \"# Nodes: N Edges: E\"" },
    { "0 1\n2\n", "g:2: the line ends before the destination" },
    { "0 1\n\n2,", "g:3: the line ends before the destination" },
    { "0 1\n1 x2\n", "g:2: the destination: \"x2\" is not a whole number from 0 on" },
    { "-1 0\n", "g:1: the source: \"-1\" is not a whole number from 0 on" },
    { "0 1.5\n", "g:1: the destination: \"1.5\" is not a whole number from 0 on" },
    { "0 1\r2 3\r", "g:1: the destination: \"1\\x0d2\" is not a whole number from 0 on" },
    { "0 \xff\xfe\n", "g:1: the destination: \"\\xff\\xfe\" is not a whole number from 0 on" },
    { "0 100000000\n", "g:1: the destination: \"100000000\" is outside the 100000000 nodes, numbered from 0" },
    { "0 18446744073709551616\n",
      "g:1: the destination: \"18446744073709551616\" is outside the 100000000 nodes, numbered from 0" },
    { "# Nodes: 3 Edges: 2\n0 1\n1 3\n", "g:3: the destination: \"3\" is outside the 3 nodes, numbered from 0" },
    { "0 1\n# Nodes: 3 Edges: 2\n", "g:2: declares 2 edges, but the file has 1" },
    { "# Nodes: 3 Edges: 0\n0 1\n", "g:1: declares 0 edges, but the file has 1" },
    { "# Nodes: 3\n0 1\n", "g:1: \"Edges: NUMBER\" should follow the number of nodes" },
    { "# Nodes: many Edges: 1\n0 1\n", "g:1: the number of nodes: \"many\" is not a whole number from 0 on" },
    { "# Nodes: 100000001 Edges: 1\n0 1\n", "g:1: the number of nodes: \"100000001\" is above 100000000" },
    { "# Nodes: 3 Edges: 99999999999999999999\n0 1\n",
      "g:1: the number of edges: \"99999999999999999999\" is above 400000000" },
    { "# Nodes: 3 Edges: 1 2\n0 1\n", "g:1: \"2\" after the number of edges, where the line should end" },
    { "# Nodes: 3 Edges: 1\n0 1\n# Nodes: 3 Edges: 1\n", "g:3: declares the nodes again; line 1 did" },
};

static const Bad bad_matrices[] = {
    { "1 1 0\n", "g:1: a Matrix Market file begins with \"%%MatrixMarket matrix\"" },
    { "", "g:1: a Matrix Market file begins with \"%%MatrixMarket matrix\"" },
    { "%%MatrixMarket vector", "g:1: a Matrix Market file begins with \"%%MatrixMarket matrix\"" },
    { "%%MatrixMarket matrix array real general\n2 2\n",
      "g:1: only \"coordinate\" matrices are graphs (\"array\" lists every entry)" },
    { HEAD "quaternion general\n", "g:1: after \"coordinate\" comes pattern, real, integer or complex" },
    { HEAD "real", "g:1: the last word is general, symmetric, skew-symmetric or hermitian" },
    { HEAD "real lower\n", "g:1: the last word is general, symmetric, skew-symmetric or hermitian" },
    { HEAD "real general x\n", "g:1: \"x\" after the symmetry, where the line should end" },
    { HEAD "pattern skew-symmetric\n", "g:1: a skew-symmetric matrix has entries of real, integer or complex numbers" },
    { HEAD "real hermitian\n", "g:1: a hermitian matrix has entries of complex numbers" },
    { HEAD "real general\n% only\n", "g:2: the file ends before the line \"ROWS COLUMNS ENTRIES\"" },
    { HEAD "real general\n2 2\n", "g:2: the line ends before the number of entries" },
    { HEAD "real general\n2 3 1\n1 1 1\n", "g:2: 2 rows and 3 columns; a graph's matrix is square" },
    { HEAD "real general\n2 2 1 1\n", "g:2: \"1\" after the number of entries, where the line should end" },
    { HEAD "real general\n100000001 100000001 1\n", "g:2: the number of rows: \"100000001\" is above 100000000" },
    { HEAD "real general\n9 9 400000001\n", "g:2: the number of entries: \"400000001\" is above 400000000" },
    { HEAD "pattern general\n9 9 400000000\n1 1\n",
      "g:2: announces 400000000 entries; what follows has room for 1 at most" },
    { HEAD "pattern general\n2 2 2\n1 1   \n", "g:3: the file ends after 1 of 2 entries" },
    { HEAD "pattern general\n2 2 1\n1 1\n\n2 2\n", "g:5: more than the 1 entries announced" },
    { HEAD "pattern general\n2 2 1\n0 1\n", "g:3: the row: \"0\" is outside the 2 nodes, numbered from 1" },
    { HEAD "pattern general\n2 2 1\n1 3\n", "g:3: the column: \"3\" is outside the 2 nodes, numbered from 1" },
    { HEAD "pattern general\n2 2 1\n1 2 5\n", "g:3: \"5\" after the entry, where the line should end" },
    { HEAD "real general\n2 2 1\n1   2\n", "g:3: the line ends before the value" },
    { HEAD "complex general\n2 2 1\n1 2   5\n", "g:3: the line ends before the imaginary part" },
    { HEAD "real general\n2 2 1\n1 2 nan\n", "g:3: the value: \"nan\" is not a number that a float holds" },
    { HEAD "real general\n2 2 1\n1 2 0x10\n", "g:3: the value: \"0x10\" is not a number that a float holds" },
    { HEAD "real general\n2 2 1\n1 2 1e39\n", "g:3: the value: \"1e39\" is not a number that a float holds" },
    { HEAD "real general\n2 2 1\n1 2 1-2\n", "g:3: the value: \"1-2\" is not a number that a float holds" },
    { HEAD "real symmetric\n3 3 1\n1 3 1\n",
      "g:3: entry (1, 3) is above the diagonal; of a symmetric matrix the file holds what is below" },
    { HEAD "real skew-symmetric\n3 3 1\n2 2 1\n",
      "g:3: entry (2, 2) is on the diagonal, where a skew-symmetric matrix has zeros" },
};

static void assert_refused(const Bad *bad, gsize n, IfmGraphFormat format)
{
    for (gsize i = 0; i < n; i++)
    {
        g_autoptr(GError) error = NULL;
        g_autofree char *exact = g_memdup2(bad[i].text, strlen(bad[i].text) + (*bad[i].text == '\0'));
        g_assert_null(ifm_graph_parse(exact, strlen(bad[i].text), "g", format, &error));
        g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
        g_assert_cmpstr(error->message, ==, bad[i].message);
    }
}

static void test_bad_edge_list(void)
{
    assert_refused(bad_edge_lists, G_N_ELEMENTS(bad_edge_lists), IFM_GRAPH_FORMAT_EDGE_LIST);
}

static void test_bad_matrix(void)
{
    assert_refused(bad_matrices, G_N_ELEMENTS(bad_matrices), IFM_GRAPH_FORMAT_MATRIX_MARKET);
}

/* A NUL is a character like another: nothing behind it is lost. */
static void test_nul(void)
{
    g_autoptr(GError) error = NULL;
    g_assert_null(ifm_graph_parse("0 1\n0 \0001\n", 10, "g", IFM_GRAPH_FORMAT_AUTO, &error));
    g_assert_cmpstr(error->message, ==, "g:2: the destination: \"\\x001\" is not a whole number from 0 on");
    g_clear_error(&error);
    g_assert_null(ifm_graph_parse("0 1\n\0\n", 6, "g", IFM_GRAPH_FORMAT_AUTO, &error));
    g_assert_cmpstr(error->message, ==, "g:2: the source: \"\\x00\" is not a whole number from 0 on");
    g_autoptr(IfmGraph) graph = ifm_graph_parse("0 1\n# \0\n", 8, "g", IFM_GRAPH_FORMAT_AUTO, NULL);
    g_assert_nonnull(graph);
}

/* A megabyte on one line: read where it is right, quoted in part where it is not. */
static void test_long_line(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GString) text = g_string_new("3 ");
    for (int i = 0; i < 1 << 20; i++)
        g_string_append_c(text, '0');
    g_string_append(text, "4 ");
    gsize short_length = text->len;
    for (int i = 0; i < 1 << 20; i++)
        g_string_append_c(text, 'x');
    g_autoptr(IfmGraph) graph = ifm_graph_parse(text->str, text->len, "g", IFM_GRAPH_FORMAT_AUTO, &error);
    g_assert_no_error(error);
    g_assert_cmpint(graph->n_nodes, ==, 5);
    text->str[short_length - 2] = 'y';
    g_assert_null(ifm_graph_parse(text->str, text->len, "g", IFM_GRAPH_FORMAT_AUTO, &error));
    g_assert_cmpstr(
        error->message, ==,
        "g:1: the destination: \"0000000000000000000000000000000000000000...\" is not a whole number from 0 on");
}

static void test_files(void)
{
    static const char matrix[] = HEAD "pattern general\n2 2 1\n1 2\n";
    g_autoptr(GError) error = NULL;
    g_autofree char *folder = g_dir_make_tmp("graph-XXXXXX", NULL), *path = g_build_filename(folder, "made.mtx", NULL);
    g_assert_true(ifm_file_save(path, matrix, strlen(matrix), &error));
    g_autoptr(IfmGraph) graph = ifm_graph_read(path, IFM_GRAPH_FORMAT_AUTO, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(graph->name, ==, "made.mtx");
    assert_graph(graph, 2, 1, (const gint64[]){ 0, 1 });
    g_assert_true(ifm_file_save(path, "0 1\n0 a\n", 8, &error));
    g_assert_null(ifm_graph_read(path, IFM_GRAPH_FORMAT_AUTO, &error));
    g_autofree char *wanted = g_strconcat(path, ":2: the destination: \"a\" is not a whole number from 0 on", NULL);
    g_assert_cmpstr(error->message, ==, wanted);
    g_clear_error(&error);
    g_assert_null(ifm_graph_parse("0 1", 3, "g", IFM_GRAPH_FORMAT_TUDATASET, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_clear_error(&error);
    g_unlink(path);
    g_assert_null(ifm_graph_read(path, IFM_GRAPH_FORMAT_AUTO, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE);
    g_rmdir(folder);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/graph-read/good", test_good);
    g_test_add_func("/graph-read/bad-edge-list", test_bad_edge_list);
    g_test_add_func("/graph-read/bad-matrix", test_bad_matrix);
    g_test_add_func("/graph-read/nul", test_nul);
    g_test_add_func("/graph-read/long-line", test_long_line);
    g_test_add_func("/graph-read/files", test_files);
    return g_test_run();
}
