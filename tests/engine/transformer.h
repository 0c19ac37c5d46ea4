#pragma once
#include <glib/gstdio.h>

#include <zoo/zoo.h>

#include "run-model.h"

/* Graph transformers in tests of engines: their inputs, for a graph, put into a run. */

static inline IfmGraph *peptides(gint64 n)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = g_build_filename(g_getenv("IFM_DATA_DIR"), "data", "peptides", NULL);
    g_autoptr(IfmGraph) all = ifm_graph_read(path, IFM_GRAPH_FORMAT_AUTO, &error);
    g_assert_no_error(error);
    IfmGraph *graph = ifm_graph_first(all, n, &error);
    g_assert_no_error(error);
    return graph;
}

static inline IfmModel *transformer_build(const IfmTransformer *transformer)
{
    g_autoptr(GError) error = NULL;
    IfmModel *model = ifm_transformer_build(transformer, 5, &error);
    g_assert_no_error(error);
    return model;
}

/* transformer_set_inputs: Those of the graph; what else the model wants stays as it was drawn. */
static inline void transformer_set_inputs(Run *run, const IfmTransformer *transformer, const IfmGraph *graph)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmEncoding) encoding = NULL;
    g_autofree char *folder = g_dir_make_tmp("inferometer-transformer-XXXXXX", &error);
    g_assert_no_error(error);
    g_autofree char *path = g_build_filename(folder, "inputs", NULL);
    if (transformer->sizes.pe == IFM_ENCODING_LAPLACIAN)
        encoding = ifm_encoding_laplacian(graph, transformer->sizes.pe_dim, NULL, NULL, &error);
    else if (transformer->sizes.pe == IFM_ENCODING_RANDOM_WALK)
        encoding = ifm_encoding_random_walk(graph, transformer->sizes.pe_dim, NULL, NULL, &error);
    g_assert_no_error(error);
    ifm_transformer_inputs(transformer, graph, encoding, 5, path, &error);
    g_assert_no_error(error);
    g_autoptr(IfmTensorFile) file = ifm_tensor_file_open(path, &error);
    g_assert_no_error(error);
    for (gsize i = 0; i < ifm_tensor_file_n(file); i++)
    {
        const IfmTensor *from = ifm_tensor_file_tensor(file, i);
        IfmTensor *to = run_input(run, ifm_tensor_file_name(file, i));
        g_assert_cmpuint(to->size_bytes, ==, from->size_bytes);
        memcpy(to->data, from->data, from->size_bytes);
    }
    g_remove(path);
    g_rmdir(folder);
}
