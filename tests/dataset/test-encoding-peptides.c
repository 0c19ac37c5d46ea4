/* The encodings of the 64 peptides against numpy's and scipy's (encodings.py), where they are. */
#include <base/base.h>
#include <dataset/dataset.h>
#include <glib/gstdio.h>

#include "build-folders.h"

#define DIM 16

static IfmGraph *read_peptides(void)
{
    g_autoptr(GError) error = NULL;
    IfmGraph *graph = ifm_graph_read(IFM_SOURCE_DIR "/data/peptides", IFM_GRAPH_FORMAT_TUDATASET, &error);
    g_assert_no_error(error);
    return graph;
}

/* python_with: A python3 that has the module: $IFM_TEST_PYTHON, the distribution's (whose packages are its own), the one
 * on the path. (transfer full) NULL: none has. */
static char *python_with(const char *module)
{
    const char *const pythons[] = { g_getenv("IFM_TEST_PYTHON"), "/usr/bin/python3", "python3" };
    g_autofree char *code = g_strdup_printf("import %s", module);
    for (gsize i = 0; i < G_N_ELEMENTS(pythons); i++)
    {
        int status = 1;
        const char *arguments[] = { pythons[i], "-c", code, NULL };
        if (pythons[i] != NULL &&
            g_spawn_sync(NULL, (char **)arguments, NULL,
                         G_SPAWN_SEARCH_PATH | G_SPAWN_STDOUT_TO_DEV_NULL | G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL, NULL,
                         NULL, &status, NULL) &&
            status == 0)
            return g_strdup(pythons[i]);
    }
    return NULL;
}

/* write_ours: what encodings.py reads */
static void write_ours(const char *path)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmGraph) graph = read_peptides();
    g_autoptr(IfmEncoding) laplacian = ifm_encoding_laplacian(graph, DIM, NULL, NULL, &error);
    g_assert_no_error(error);
    g_autoptr(IfmEncoding) walk = ifm_encoding_random_walk(graph, DIM, NULL, NULL, &error);
    g_assert_no_error(error);
    const gint64 head[] = { graph->n_nodes, graph->n_graphs, DIM };
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    g_byte_array_append(bytes, (const guint8 *)head, sizeof head);
    g_byte_array_append(bytes, (const guint8 *)laplacian->eigenvalues, (guint)(8 * DIM * graph->n_graphs));
    g_byte_array_append(bytes, (const guint8 *)laplacian->values, (guint)(4 * DIM * graph->n_nodes));
    g_byte_array_append(bytes, (const guint8 *)walk->values, (guint)(4 * DIM * graph->n_nodes));
    g_assert_true(ifm_file_save(path, (const char *)bytes->data, bytes->len, NULL));
}

static void test_against(gconstpointer module)
{
    g_autofree char *python = python_with(module);
    if (python == NULL)
    {
        g_autofree char *reason = g_strdup_printf("no python3 with %s", (const char *)module);
        g_test_skip(reason);
        return;
    }
    g_autofree char *folder = g_dir_make_tmp("encodings-XXXXXX", NULL), *out = NULL, *err = NULL;
    g_autofree char *path = g_build_filename(folder, "ours", NULL);
    write_ours(path);
    const char *arguments[] = {
        python, "-B", IFM_SOURCE_DIR "/tests/dataset/encodings.py", module, IFM_SOURCE_DIR "/data/peptides", path, NULL
    };
    int status = 1;
    g_assert_true(g_spawn_sync(NULL, (char **)arguments, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, &out, &err, &status, NULL));
    g_test_message("%s%s", out, err);
    g_assert_cmpint(status, ==, 0);
    g_assert_true(g_str_has_prefix(out, module));
    g_assert_cmpint(g_unlink(path), ==, 0);
    g_assert_cmpint(g_rmdir(folder), ==, 0);
}

/* What needs nobody else: a molecule is connected, so no zero comes twice; it has no loops, and its atoms' chances of being
 * back after two steps are the mean of their neighbours' 1 / degree. */
static void test_alone(void)
{
    g_autoptr(IfmGraph) graph = read_peptides();
    g_autoptr(IfmEncoding) laplacian = ifm_encoding_laplacian(graph, DIM, NULL, NULL, NULL);
    g_autoptr(IfmEncoding) walk = ifm_encoding_random_walk(graph, 2, NULL, NULL, NULL);
    g_autofree float *degrees = g_new(float, graph->n_nodes);
    g_autofree double *sums = g_new0(double, graph->n_nodes);
    ifm_graph_in_degrees(graph, degrees);
    for (gint64 i = 0; i < graph->n_edges; i++)
        sums[graph->edge_index[i]] += 1 / (double)degrees[graph->edge_index[graph->n_edges + i]];
    for (gint64 i = 0; i < graph->n_nodes; i++)
    {
        g_assert_cmpfloat(walk->values[2 * i], ==, 0);
        g_assert_cmpfloat_with_epsilon((double)walk->values[2 * i + 1], sums[i] / (double)degrees[i], 1e-7);
    }
    for (gint64 i = 0; i < 64 * DIM; i++)
        g_assert_cmpfloat(laplacian->eigenvalues[i], >, i % DIM == 0 ? 1e-6 : laplacian->eigenvalues[i - 1] - 1e-9);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/encoding-peptides/alone", test_alone);
    g_test_add_data_func("/encoding-peptides/numpy", "numpy", test_against);
    g_test_add_data_func("/encoding-peptides/scipy", "scipy", test_against);
    return g_test_run();
}
