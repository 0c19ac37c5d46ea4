/* A folder of text files with one line per item. Source: chrsmrrs.github.io/datasets/docs/format */
#include "dataset-private.h"

#include <base/base.h>
#include <math.h>
#include <string.h>

#define MAX_LABEL 16777216.0F /* 2^24: up to here a float holds every whole number */
#define MAX_KINDS 10000       /* of node labels: each is a column of features */

static const struct
{
    const char *suffix;
    gboolean optional;
} files[IFM_TU_N_FILES] = {
    [IFM_TU_EDGES] = { "_A.txt", FALSE },
    [IFM_TU_GRAPHS] = { "_graph_indicator.txt", FALSE },
    [IFM_TU_NODE_VALUES] = { "_node_attributes.txt", TRUE },
    [IFM_TU_EDGE_VALUES] = { "_edge_attributes.txt", TRUE },
    [IFM_TU_NODE_LABELS] = { "_node_labels.txt", TRUE },
    [IFM_TU_EDGE_LABELS] = { "_edge_labels.txt", TRUE },
    [IFM_TU_GRAPH_VALUES] = { "_graph_attributes.txt", TRUE },
    [IFM_TU_GRAPH_LABELS] = { "_graph_labels.txt", TRUE },
};

/* next_item: Reads the line of item @index of @n. FALSE with an error where the file ends before it. */
static gboolean next_item(IfmText *text, gint64 index, gint64 n, const char *what, GError **error)
{
    return ifm_text_line(text) ||
           ifm_text_fail(text, error, "the file ends after %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT " %s", index, n,
                         what);
}

/* The graph of each node. The nodes of a graph are contiguous, so they determine its edges. */
static gboolean read_graphs(IfmText *text, IfmGraph *graph, GError **error)
{
    gint64 last = 0, of;
    graph->node_graph = ifm_graph_allocate(graph->n_nodes, sizeof(gint64), error);
    if (graph->node_graph == NULL)
        return FALSE;
    for (gint64 node = 0; node < graph->n_nodes; node++)
    {
        ifm_text_line(text);
        if (!ifm_text_count_field(text, "the graph", G_MAXINT64, &of, error) || !ifm_text_no_more(text, "the graph", error))
            return FALSE;
        if (of != last + 1 && (of != last || last == 0))
            return ifm_text_fail(text, error,
                                 "graph %" G_GINT64_FORMAT " after graph %" G_GINT64_FORMAT
                                 "; graphs are numbered from 1, in order, none left out",
                                 of, last);
        last = of;
        graph->node_graph[node] = of - 1;
    }
    graph->n_graphs = last;
    return TRUE;
}

static gboolean read_edges(IfmText *text, IfmGraph *graph, GError **error)
{
    const gint64 *of = graph->node_graph;
    gint64 *sources = graph->edge_index, *destinations = sources + graph->n_edges;
    for (gint64 i = 0; i < graph->n_edges; i++)
    {
        ifm_text_line(text);
        if (!ifm_text_node_field(text, "the source", 1, graph->n_nodes, &sources[i], error) ||
            !ifm_text_node_field(text, "the destination", 1, graph->n_nodes, &destinations[i], error) ||
            !ifm_text_no_more(text, "the edge", error))
            return FALSE;
        if (of[sources[i]] != of[destinations[i]])
            return ifm_text_fail(
                text, error, "an edge from graph %" G_GINT64_FORMAT " to graph %" G_GINT64_FORMAT "; edges stay within one",
                of[sources[i]] + 1, of[destinations[i]] + 1);
    }
    return TRUE;
}

static gint64 count_fields(IfmText text)
{
    IfmTextField field;
    gint64 n = 0;
    while (ifm_text_field(&text, &field))
        n++;
    return n;
}

/* read_values: Reads @n lines with the same count of numbers. @what: "nodes"    @width, @values: (out) [n x width] */
static gboolean read_values(IfmText *text, gint64 n, const char *what, gint64 *width, float **values, GError **error)
{
    IfmText first = *text;
    *width = ifm_text_line(&first) ? count_fields(first) : 0;
    /* a number and a separator take at least two bytes: the file cannot have more numbers than that */
    gint64 room = ((gint64)(text->end - text->next) + 1) / 2;
    if (*width > 0 && n <= room / *width)
        room = n * *width;
    *values = ifm_graph_allocate(room, sizeof(float), error);
    if (*values == NULL)
        return FALSE;
    float *value = *values;
    for (gint64 i = 0; i < n; i++)
    {
        if (!next_item(text, i, n, what, error))
            return FALSE;
        if (count_fields(*text) != *width)
            return ifm_text_fail(text, error, "%" G_GINT64_FORMAT " number%s; the first line has %" G_GINT64_FORMAT,
                                 count_fields(*text), ifm_plural(count_fields(*text)), *width);
        for (gint64 k = 0; k < *width; k++)
            if (!ifm_text_number_field(text, "a value", value++, error))
                return FALSE;
    }
    if (*width == 0)
        g_clear_pointer(values, g_free);
    return !ifm_text_line(text) || ifm_text_fail(text, error, "one line more than the %" G_GINT64_FORMAT " %s", n, what);
}

/* read_labels: As read_values(), for integers that a float holds exactly. */
static gboolean read_labels(IfmText *text, gint64 n, const char *what, gint64 *width, float **labels, GError **error)
{
    IfmText again = *text;
    if (!read_values(text, n, what, width, labels, error))
        return FALSE;
    for (gint64 i = 0; i < n * *width; i++)
    {
        float label = (*labels)[i];
        if (i % *width == 0)
            ifm_text_line(&again);
        if (label != floorf(label) || fabsf(label) > MAX_LABEL)
            return ifm_text_fail(&again, error, "a label: %g is not a whole number within 16777216 of 0", (double)label);
    }
    return TRUE;
}

/* spread_labels: One-hot encodes each column of labels: one column per number from its minimum to its maximum, as in
 * PyTorch Geometric's TUDataset. */
static gboolean spread_labels(const IfmText *text, const float *labels, gint64 width, IfmGraph *graph, GError **error)
{
    g_autofree gint64 *min = g_new(gint64, width), *begin = g_new(gint64, width + 1);
    begin[0] = 0;
    for (gint64 k = 0; k < width; k++)
    {
        float low = labels[k], high = labels[k];
        for (gint64 i = 0; i < graph->n_nodes; i++)
        {
            low = MIN(low, labels[i * width + k]);
            high = MAX(high, labels[i * width + k]);
        }
        min[k] = (gint64)low;
        begin[k + 1] = begin[k] + (gint64)high - min[k] + 1;
        if (begin[k + 1] > MAX_KINDS)
            return ifm_text_fail(text, error,
                                 "labels from %g to %g: more than %d columns, one a number, are too many for features; "
                                 "without this file features are seeded",
                                 (double)low, (double)high, MAX_KINDS);
    }
    graph->n_node_values = begin[width];
    graph->values_of_labels = TRUE;
    graph->node_values = ifm_graph_allocate(graph->n_nodes * graph->n_node_values, sizeof(float), error);
    if (graph->node_values == NULL)
        return FALSE;
    memset(graph->node_values, 0, sizeof(float) * (gsize)(graph->n_nodes * graph->n_node_values));
    for (gint64 i = 0; i < graph->n_nodes; i++)
        for (gint64 k = 0; k < width; k++)
            graph->node_values[i * graph->n_node_values + begin[k] + (gint64)labels[i * width + k] - min[k]] = 1;
    return TRUE;
}

static gboolean read_node_labels(IfmText *text, IfmGraph *graph, GError **error)
{
    g_autofree float *labels = NULL;
    gint64 width;
    if (!read_labels(text, graph->n_nodes, "nodes", &width, &labels, error))
        return FALSE;
    return width == 0 || graph->node_values != NULL || spread_labels(text, labels, width, graph, error);
}

/* check_rest: Checks the files that are not kept: a data set with a fault is not fit for measurements. */
static gboolean check_rest(IfmText *texts, const char *const *bytes, const IfmGraph *graph, GError **error)
{
    const struct
    {
        IfmTuFile file;
        gint64 n;
        const char *what;
        gboolean (*read)(IfmText *text, gint64 n, const char *what, gint64 *width, float **values, GError **error);
    } rest[] = {
        { IFM_TU_EDGE_LABELS, graph->n_edges, "edges", read_labels },
        { IFM_TU_GRAPH_VALUES, graph->n_graphs, "graphs", read_values },
        { IFM_TU_GRAPH_LABELS, graph->n_graphs, "graphs", read_labels },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rest); i++)
    {
        g_autofree float *values = NULL;
        gint64 width;
        if (bytes[rest[i].file] != NULL &&
            !rest[i].read(&texts[rest[i].file], rest[i].n, rest[i].what, &width, &values, error))
            return FALSE;
    }
    return TRUE;
}

IfmGraph *ifm_tudataset_parse(const char *const *bytes, const gsize *lengths, const char *const *names,
                              const char *graph_name, GError **error)
{
    IfmText texts[IFM_TU_N_FILES];
    for (int i = 0; i < IFM_TU_N_FILES; i++)
        ifm_text_init(&texts[i], names[i], bytes[i] != NULL ? bytes[i] : "", bytes[i] != NULL ? lengths[i] : 0, "");
    gint64 n_nodes = ifm_text_count(&texts[IFM_TU_GRAPHS]), n_edges = ifm_text_count(&texts[IFM_TU_EDGES]);
    if (n_nodes == 0)
    {
        ifm_text_fail(&texts[IFM_TU_GRAPHS], error, "the file is empty; it has a line for each node");
        return NULL;
    }
    g_autoptr(IfmGraph) graph = ifm_graph_new(g_strdup(graph_name), n_nodes, n_edges, error);
    if (graph == NULL || !read_graphs(&texts[IFM_TU_GRAPHS], graph, error) ||
        !read_edges(&texts[IFM_TU_EDGES], graph, error))
        return NULL;
    if (bytes[IFM_TU_NODE_VALUES] != NULL &&
        !read_values(&texts[IFM_TU_NODE_VALUES], n_nodes, "nodes", &graph->n_node_values, &graph->node_values, error))
        return NULL;
    if (bytes[IFM_TU_EDGE_VALUES] != NULL &&
        !read_values(&texts[IFM_TU_EDGE_VALUES], n_edges, "edges", &graph->n_edge_values, &graph->edge_values, error))
        return NULL;
    if ((bytes[IFM_TU_NODE_LABELS] != NULL && !read_node_labels(&texts[IFM_TU_NODE_LABELS], graph, error)) ||
        !check_rest(texts, bytes, graph, error))
        return NULL;
    if (graph->n_graphs <= 1) /* n_graphs says it; an array of zeros is not needed */
        g_clear_pointer(&graph->node_graph, g_free);
    return g_steal_pointer(&graph);
}

/* find_name: NAME of the only NAME_A.txt in the folder. (transfer full) */
static char *find_name(const char *folder, GError **error)
{
    g_autoptr(GError) local = NULL;
    g_autoptr(GDir) dir = g_dir_open(folder, 0, &local);
    if (dir == NULL)
    {
        ifm_error_set(error, IFM_ERROR_UNAVAILABLE, "%s: %s", folder, local->message);
        return NULL;
    }
    g_autofree char *found = NULL;
    for (const char *file = g_dir_read_name(dir); file != NULL; file = g_dir_read_name(dir))
    {
        if (!g_str_has_suffix(file, files[IFM_TU_EDGES].suffix))
            continue;
        if (found != NULL)
        {
            ifm_error_refuse(error, "%s: more than one NAME_A.txt in this folder", folder);
            return NULL;
        }
        found = g_strndup(file, strlen(file) - strlen(files[IFM_TU_EDGES].suffix));
    }
    if (found == NULL)
        ifm_error_refuse(error, "%s: a folder without a NAME_A.txt is no TUDataset", folder);
    return g_steal_pointer(&found);
}

IfmGraph *ifm_tudataset_read(const char *folder, GError **error)
{
    g_autofree char *name = find_name(folder, error);
    if (name == NULL)
        return NULL;
    char *bytes[IFM_TU_N_FILES] = { NULL }, *paths[IFM_TU_N_FILES];
    gsize lengths[IFM_TU_N_FILES] = { 0 };
    gboolean good = TRUE;
    for (int i = 0; i < IFM_TU_N_FILES; i++)
    {
        g_autofree char *file = g_strconcat(name, files[i].suffix, NULL);
        paths[i] = g_build_filename(folder, file, NULL);
        gboolean there = g_file_test(paths[i], G_FILE_TEST_EXISTS);
        if (good && there && g_file_test(paths[i], G_FILE_TEST_IS_DIR))
        {
            ifm_error_refuse(error, "%s: is a folder: a TUDataset has a file of that name", paths[i]);
            good = FALSE;
        }
        else if (good && there)
            good = ifm_file_load(paths[i], &bytes[i], &lengths[i], error);
        else if (good && !files[i].optional)
        {
            ifm_error_refuse(error, "%s: is missing: a TUDataset has it", paths[i]);
            good = FALSE;
        }
    }
    IfmGraph *graph = NULL;
    if (good)
        graph = ifm_tudataset_parse((const char *const *)bytes, lengths, (const char *const *)paths, name, error);
    for (int i = 0; i < IFM_TU_N_FILES; i++)
    {
        g_free(bytes[i]);
        g_free(paths[i]);
    }
    return graph;
}
