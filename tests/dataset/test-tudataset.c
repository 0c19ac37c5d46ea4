/* TUDataset folders: the peptides that the project ships, and made ones that are wrong. */
#include <base/base.h>
#include <dataset/dataset.h>
#include <glib/gstdio.h>
#include <string.h>

#include "build-folders.h"

enum
{
    N_FILES = 8
};

static const char *const suffixes[N_FILES] = {
    "_A.txt",           "_graph_indicator.txt", "_node_attributes.txt",  "_edge_attributes.txt",
    "_node_labels.txt", "_edge_labels.txt",     "_graph_attributes.txt", "_graph_labels.txt"
};

static IfmGraph *peptides(void)
{
    g_autoptr(GError) error = NULL;
    IfmGraph *graph = ifm_graph_read(IFM_SOURCE_DIR "/data/peptides", IFM_GRAPH_FORMAT_AUTO, &error);
    g_assert_no_error(error);
    return graph;
}

static void test_peptides(void)
{
    static const float first_atom[] = { 7, 0, 3, 0, 2, 0, 4, 0, 0 }, second_atom[] = { 6, 2, 4, 0, 1, 0, 4, 0, 0 };
    g_autoptr(IfmGraph) graph = peptides();
    g_assert_cmpstr(graph->name, ==, "peptides");
    g_assert_cmpint(graph->n_graphs, ==, 64);
    g_assert_cmpint(graph->n_nodes, ==, 11612);
    g_assert_cmpint(graph->n_edges, ==, 23724);
    g_assert_cmpint(graph->n_node_values, ==, 9);
    g_assert_cmpint(graph->n_edge_values, ==, 3);
    g_assert_true(ifm_graph_check(graph, NULL));
    g_assert_cmpmem(graph->node_values, sizeof first_atom, first_atom, sizeof first_atom);
    g_assert_cmpmem(graph->node_values + 9, sizeof second_atom, second_atom, sizeof second_atom);
    /* its last line: 11612, 11605 */
    g_assert_cmpint(graph->edge_index[graph->n_edges - 1], ==, 11611);
    g_assert_cmpint(graph->edge_index[2 * graph->n_edges - 1], ==, 11604);
}

/* What chemistry says: each bond stands there in both directions, alike; an atom's bonds to heavy atoms and its hydrogens
 * (columns 0: atomic number, 2: degree, 4: hydrogens) make its degree. */
static void test_peptide_bonds(void)
{
    g_autoptr(IfmGraph) graph = peptides();
    g_autofree float *degrees = g_new(float, graph->n_nodes);
    ifm_graph_in_degrees(graph, degrees);
    double sum = 0;
    for (gint64 i = 0; i < graph->n_nodes; i++)
    {
        const float *atom = graph->node_values + 9 * i;
        g_assert_cmpfloat(degrees[i] + atom[4], ==, atom[2]);
        sum += degrees[i];
    }
    g_assert_cmpfloat(sum, ==, 23724);
    const gint64 *sources = graph->edge_index, *destinations = sources + graph->n_edges;
    for (gint64 i = 0; i < graph->n_edges; i += 2)
    {
        g_assert_cmpint(sources[i], ==, destinations[i + 1]);
        g_assert_cmpint(sources[i + 1], ==, destinations[i]);
        g_assert_cmpmem(graph->edge_values + 3 * i, 12, graph->edge_values + 3 * (i + 1), 12);
    }
}

static void test_peptide_parts(void)
{
    g_autoptr(IfmGraph) graph = peptides();
    gint64 n_nodes = 0, n_edges = 0;
    for (gint64 i = 0; i < graph->n_graphs; i++)
    {
        g_autoptr(IfmGraph) part = ifm_graph_part(graph, i);
        g_assert_true(ifm_graph_check(part, NULL));
        g_assert_cmpint(part->n_nodes, >, 0);
        g_assert_cmpint(graph->node_graph[n_nodes], ==, i);
        g_assert_cmpmem(part->node_values, (gsize)part->n_nodes * 36, graph->node_values + 9 * n_nodes,
                        (gsize)part->n_nodes * 36);
        /* here the edges of a graph follow each other */
        g_assert_cmpint(part->edge_index[0] + n_nodes, ==, graph->edge_index[n_edges]);
        g_assert_cmpmem(part->edge_values, (gsize)part->n_edges * 12, graph->edge_values + 3 * n_edges,
                        (gsize)part->n_edges * 12);
        n_nodes += part->n_nodes;
        n_edges += part->n_edges;
    }
    g_assert_cmpint(n_nodes, ==, graph->n_nodes);
    g_assert_cmpint(n_edges, ==, graph->n_edges);
    g_autoptr(IfmGraph) oxytocin = ifm_graph_part(graph, 0); /* C43 N12 O12 S2, no bridge: 69 heavy atoms, 2 rings */
    gint64 of_sulphur = 0;
    for (gint64 i = 0; i < oxytocin->n_nodes; i++)
        of_sulphur += oxytocin->node_values[9 * i] == 16;
    g_assert_cmpint(of_sulphur, ==, 2);
}

static void test_peptides_first(void)
{
    g_autoptr(GError) error = NULL, many = NULL;
    g_autoptr(IfmGraph) graph = peptides(), whole = ifm_graph_first(graph, 64, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(whole->name, ==, "peptides");
    gsize n_nodes = (gsize)graph->n_nodes, n_edges = (gsize)graph->n_edges;
    g_assert_cmpmem(whole->node_graph, 8 * (gsize)whole->n_nodes, graph->node_graph, 8 * n_nodes);
    g_assert_cmpmem(whole->edge_index, 16 * (gsize)whole->n_edges, graph->edge_index, 16 * n_edges);
    g_assert_cmpmem(whole->node_values, 36 * (gsize)whole->n_nodes, graph->node_values, 36 * n_nodes);
    g_assert_cmpmem(whole->edge_values, 12 * (gsize)whole->n_edges, graph->edge_values, 12 * n_edges);
    g_autoptr(IfmGraph) three = ifm_graph_first(graph, 3, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(three->name, ==, "peptides, the first 3 graphs");
    g_assert_cmpint(three->n_graphs, ==, 3);
    g_assert_cmpint(graph->node_graph[three->n_nodes - 1], ==, 2);
    g_assert_cmpint(graph->node_graph[three->n_nodes], ==, 3);
    g_assert_cmpmem(three->node_values, 36 * (gsize)three->n_nodes, graph->node_values, 36 * (gsize)three->n_nodes);
    g_assert_null(ifm_graph_first(graph, 65, &many));
    g_assert_error(many, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_cmpstr(many->message, ==, "peptides: the first 65 of its graphs; 1 to 64 would be right");
}

typedef struct
{
    const char *files[N_FILES]; /* NULL: not there */
    const char *message;        /* "FILE:LINE: ...", FILE without the folder and "g" */
} Folder;

static void remove_folder(const char *folder)
{
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    for (const char *name = g_dir_read_name(dir); name != NULL; name = g_dir_read_name(dir))
    {
        g_autofree char *path = g_build_filename(folder, name, NULL);
        g_assert_cmpint(g_unlink(path), ==, 0);
    }
    g_assert_cmpint(g_rmdir(folder), ==, 0);
}

/* read_folder: the files as a folder, read. Its message, where it is refused, without the folder's name. */
static IfmGraph *read_folder(const char *const *files, char **message, IfmErrorCode *code)
{
    g_autofree char *folder = g_dir_make_tmp("tu-XXXXXX", NULL);
    g_autoptr(GError) error = NULL;
    for (int i = 0; i < N_FILES; i++)
    {
        g_autofree char *path = g_strconcat(folder, "/g", suffixes[i], NULL);
        if (files[i] != NULL)
            g_assert_true(ifm_file_save(path, files[i], strlen(files[i]), NULL));
    }
    IfmGraph *graph = ifm_graph_read(folder, IFM_GRAPH_FORMAT_AUTO, &error);
    if (graph == NULL)
    {
        g_assert_true(g_str_has_prefix(error->message, folder));
        *message = g_strdup(error->message + strlen(folder));
        *code = (IfmErrorCode)error->code;
    }
    remove_folder(folder);
    return graph;
}

static void test_good(void)
{
    static const char *const files[] = { "1, 2\r\n\r\n3,4\r\n4 3\r\n3 3",
                                         "1\n1\n2\n2\n3",
                                         "1, 2.5\n3,-4e1\n5 6\n7,8\n9 .5\n",
                                         NULL,
                                         "7\n7\n7\n8\n8\n",
                                         "1\n2\n3\n-1\n",
                                         "0.5 1\n2 3\n4 5\n",
                                         "-1\n1\n1\n" };
    static const gint64 edges[] = { 0, 2, 3, 2, 1, 3, 2, 2 }, of[] = { 0, 0, 1, 1, 2 };
    static const float values[] = { 1, 2.5F, 3, -40, 5, 6, 7, 8, 9, 0.5F };
    g_autofree char *message = NULL;
    IfmErrorCode code;
    g_autoptr(IfmGraph) graph = read_folder(files, &message, &code);
    g_assert_null(message);
    g_assert_cmpint(graph->n_nodes, ==, 5);
    g_assert_cmpint(graph->n_edges, ==, 4);
    g_assert_cmpint(graph->n_graphs, ==, 3);
    g_assert_cmpmem(graph->edge_index, sizeof edges, edges, sizeof edges);
    g_assert_cmpmem(graph->node_graph, sizeof of, of, sizeof of);
    g_assert_cmpmem(graph->node_values, sizeof values, values, sizeof values);
    g_assert_false(graph->values_of_labels); /* there are attributes */
    g_assert_cmpint(graph->n_edge_values, ==, 0);
    g_assert_null(graph->edge_values);
    g_autoptr(IfmGraph) last = ifm_graph_part(graph, 2); /* a node alone */
    g_assert_cmpint(last->n_nodes, ==, 1);
    g_assert_cmpint(last->n_edges, ==, 0);
    g_assert_cmpfloat(last->node_values[1], ==, 0.5F);
}

static void test_one_graph(void)
{
    static const char *const files[] = { "", "1\n1\n", NULL, "", NULL, NULL, NULL, "1\n" };
    g_autofree char *message = NULL;
    IfmErrorCode code;
    g_autoptr(IfmGraph) graph = read_folder(files, &message, &code);
    g_assert_null(message);
    g_assert_cmpint(graph->n_graphs, ==, 1);
    g_assert_null(graph->node_graph);
    g_assert_cmpint(graph->n_nodes, ==, 2);
    g_assert_cmpint(graph->n_edges, ==, 0);
    g_assert_null(graph->edge_values);
}

/* Where there are no attributes, each column of labels is as wide as its numbers reach: -1 to 1, and 4 to 5. */
static void test_labels(void)
{
    static const char *const files[N_FILES] = { "1, 2\n3, 3\n", "1\n1\n2\n", NULL, NULL, "-1, 5\n1, 4\n1, 5\n" };
    static const float values[] = { 1, 0, 0, 0, 1, /**/ 0, 0, 1, 1, 0, /**/ 0, 0, 1, 0, 1 };
    g_autofree char *message = NULL;
    IfmErrorCode code;
    g_autoptr(IfmGraph) graph = read_folder(files, &message, &code);
    g_assert_null(message);
    g_assert_true(graph->values_of_labels);
    g_assert_cmpint(graph->n_node_values, ==, 5);
    g_assert_cmpmem(graph->node_values, sizeof values, values, sizeof values);
    g_autoptr(IfmGraph) first = ifm_graph_first(graph, 1, NULL);
    g_assert_true(first->values_of_labels);
    g_assert_cmpmem(first->node_values, sizeof(float) * 10, values, sizeof(float) * 10);
}

#define A "/g_A.txt:"
#define GRAPHS "/g_graph_indicator.txt:"
#define NODES "/g_node_attributes.txt:"
#define EDGES "/g_edge_attributes.txt:"
#define NODE_LABELS "/g_node_labels.txt:"
#define EDGE_LABELS "/g_edge_labels.txt:"
#define GRAPH_VALUES "/g_graph_attributes.txt:"
#define GRAPH_LABELS "/g_graph_labels.txt:"

static const Folder bad[] = {
    { { NULL }, ": a folder without a NAME_A.txt is no TUDataset" },
    { { "1 2", "" }, GRAPHS "1: the file is empty; it has a line for each node" },
    { { "1, 2\n2, 3\n", "1\n1\n" }, A "2: the destination: \"3\" is outside the 2 nodes, numbered from 1" },
    { { "0, 1\n", "1\n1\n" }, A "1: the source: \"0\" is outside the 2 nodes, numbered from 1" },
    { { "1, 2\n2,\n", "1\n1\n" }, A "2: the line ends before the destination" },
    { { "1, 2, 3\n", "1\n1\n" }, A "1: \"3\" after the edge, where the line should end" },
    { { "# 1\n", "1\n1\n" }, A "1: the source: \"#\" is not a whole number from 0 on" },
    { { "1, 2\n\n2, 3\n", "1\n1\n2\n" }, A "3: an edge from graph 1 to graph 2; edges stay within one" },
    { { "1 2", "0\n0\n" }, GRAPHS "1: graph 0 after graph 0; graphs are numbered from 1, in order, none left out" },
    { { "1 2", "1\n3\n" }, GRAPHS "2: graph 3 after graph 1; graphs are numbered from 1, in order, none left out" },
    { { "1 2", "1\n2\n1\n" }, GRAPHS "3: graph 1 after graph 2; graphs are numbered from 1, in order, none left out" },
    { { "1 2", "1\n1 1\n" }, GRAPHS "2: \"1\" after the graph, where the line should end" },
    { { "1 2", "1\n1.0\n" }, GRAPHS "2: the graph: \"1.0\" is not a whole number from 0 on" },
    { { "1 2", "1\n1\n", "1, 2\n" }, NODES "1: the file ends after 1 of 2 nodes" },
    { { "1 2", "1\n1\n", "" }, NODES "1: the file ends after 0 of 2 nodes" },
    { { "1 2", "1\n1\n", "1\n2\n3\n" }, NODES "3: one line more than the 2 nodes" },
    { { "1 2", "1\n1\n", "1, 2\n3\n" }, NODES "2: 1 number; the first line has 2" },
    { { "1 2", "1\n1\n", "1\n2, 3\n" }, NODES "2: 2 numbers; the first line has 1" },
    { { "1 2", "1\n1\n", "1\ninf\n" }, NODES "2: a value: \"inf\" is not a number that a float holds" },
    { { "1 2", "1\n1\n", "1\n1e400\n" }, NODES "2: a value: \"1e400\" is not a number that a float holds" },
    { { "1 2\n2 1", "1\n1\n", NULL, "1\n" }, EDGES "1: the file ends after 1 of 2 edges" },
    { { "1 2\n2 1", "1\n1\n", NULL, "1\n2\n\n\n3" }, EDGES "5: one line more than the 2 edges" },
    { { "1 2\n2 1", "1\n1\n", NULL, "1\na\n" }, EDGES "2: a value: \"a\" is not a number that a float holds" },
    { { "1 2", "1\n1\n", NULL, NULL, "1\n" }, NODE_LABELS "1: the file ends after 1 of 2 nodes" },
    { { "1 2", "1\n1\n", "5\n6\n", NULL, "1\n2\n3\n" }, NODE_LABELS "3: one line more than the 2 nodes" },
    { { "1 2", "1\n1\n", NULL, NULL, "1\n\n2 2\n" }, NODE_LABELS "3: 2 numbers; the first line has 1" },
    { { "1 2", "1\n1\n", NULL, NULL, "1\n\n2.5\n" },
      NODE_LABELS "3: a label: 2.5 is not a whole number within 16777216 of 0" },
    { { "1 2", "1\n1\n", NULL, NULL, "2e7\n1\n" },
      NODE_LABELS "1: a label: 2e+07 is not a whole number within 16777216 of 0" },
    { { "1 2", "1\n1\n", NULL, NULL, "1\nC\n" }, NODE_LABELS "2: a value: \"C\" is not a number that a float holds" },
    { { "1 2", "1\n1\n", NULL, NULL, "-9000\n9000\n" },
      NODE_LABELS "2: labels from -9000 to 9000: more than 10000 columns, one a number, are too many for features; without "
                  "this file features are seeded" },
    { { "1 2\n2 1", "1\n1\n", NULL, NULL, NULL, "1\n" }, EDGE_LABELS "1: the file ends after 1 of 2 edges" },
    { { "1 2", "1\n1\n2\n", NULL, NULL, NULL, NULL, "1 2\n3\n" }, GRAPH_VALUES "2: 1 number; the first line has 2" },
    { { "1 2", "1\n1\n2\n", NULL, NULL, NULL, NULL, NULL, "1\n" }, GRAPH_LABELS "1: the file ends after 1 of 2 graphs" },
    { { "1 2", "1\n1\n2\n", NULL, NULL, NULL, NULL, NULL, "1\n1\n1\n" },
      GRAPH_LABELS "3: one line more than the 2 graphs" },
};

static void test_bad(void)
{
    for (gsize i = 0; i < G_N_ELEMENTS(bad); i++)
    {
        g_autofree char *message = NULL;
        IfmErrorCode code = 0;
        g_assert_null(read_folder(bad[i].files, &message, &code));
        g_assert_cmpstr(message, ==, bad[i].message);
        g_assert_cmpint(code, ==, IFM_ERROR_INVALID);
    }
}

static void test_folder_for_file(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *folder = g_dir_make_tmp("tu-XXXXXX", NULL);
    g_autofree char *edges = g_strconcat(folder, "/g_A.txt", NULL),
                    *of = g_strconcat(folder, "/g_graph_indicator.txt", NULL);
    g_autofree char *values = g_strconcat(folder, "/g_node_attributes.txt", NULL);
    g_assert_true(ifm_file_save(edges, "1 2\n", 4, NULL));
    g_assert_true(ifm_file_save(of, "1\n1\n", 4, NULL));
    g_assert_cmpint(g_mkdir(values, 0777), ==, 0);
    g_assert_null(ifm_graph_read(folder, IFM_GRAPH_FORMAT_AUTO, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_true(
        g_str_has_suffix(error->message, "/g_node_attributes.txt: is a folder: a TUDataset has a file of that name"));
    g_assert_cmpint(g_rmdir(values), ==, 0);
    remove_folder(folder);
}

static void test_missing(void)
{
    static const char *const no_indicator[N_FILES] = { "1 2" };
    g_autofree char *message = NULL;
    IfmErrorCode code = 0;
    g_assert_null(read_folder(no_indicator, &message, &code));
    g_assert_cmpstr(message, ==, "/g_graph_indicator.txt: is missing: a TUDataset has it");
    g_assert_cmpint(code, ==, IFM_ERROR_INVALID);
    g_autoptr(GError) error = NULL;
    g_assert_null(ifm_graph_read("/nonexistent", IFM_GRAPH_FORMAT_TUDATASET, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE);
}

static void test_two_datasets(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *folder = g_dir_make_tmp("tu-XXXXXX", NULL);
    for (const char *name = "ab"; *name != '\0'; name++)
    {
        g_autofree char *path = g_strdup_printf("%s/%c_A.txt", folder, *name);
        g_assert_true(ifm_file_save(path, "1 2\n", 4, NULL));
    }
    g_assert_null(ifm_graph_read(folder, IFM_GRAPH_FORMAT_AUTO, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_true(g_str_has_suffix(error->message, ": more than one NAME_A.txt in this folder"));
    remove_folder(folder);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/tudataset/peptides", test_peptides);
    g_test_add_func("/tudataset/peptide-bonds", test_peptide_bonds);
    g_test_add_func("/tudataset/peptide-parts", test_peptide_parts);
    g_test_add_func("/tudataset/peptides-first", test_peptides_first);
    g_test_add_func("/tudataset/good", test_good);
    g_test_add_func("/tudataset/one-graph", test_one_graph);
    g_test_add_func("/tudataset/labels", test_labels);
    g_test_add_func("/tudataset/bad", test_bad);
    g_test_add_func("/tudataset/folder-for-file", test_folder_for_file);
    g_test_add_func("/tudataset/missing", test_missing);
    g_test_add_func("/tudataset/two-datasets", test_two_datasets);
    return g_test_run();
}
