#include "dataset-private.h"

#include <base/base.h>
#include <string.h>

/* This reader parses a graph's text in a given format, or in the one that its beginning shows. */

static gboolean is_matrix_market(const char *bytes, gsize length)
{
    const gsize n = strlen(IFM_MATRIX_MARKET_HEAD);
    IfmText text;
    ifm_text_init(&text, "", bytes, length, "");
    return (gsize)(text.end - text.next) >= n && g_ascii_strncasecmp(text.next, IFM_MATRIX_MARKET_HEAD, n) == 0;
}

IfmGraph *ifm_graph_parse(const char *text, gsize length, const char *name, IfmGraphFormat format, GError **error)
{
    g_autofree char *graph_name = g_path_get_basename(name);
    if (format == IFM_GRAPH_FORMAT_AUTO)
        format = is_matrix_market(text, length) ? IFM_GRAPH_FORMAT_MATRIX_MARKET : IFM_GRAPH_FORMAT_EDGE_LIST;
    if (format == IFM_GRAPH_FORMAT_EDGE_LIST)
        return ifm_edge_list_parse(text, length, name, graph_name, error);
    if (format == IFM_GRAPH_FORMAT_MATRIX_MARKET)
        return ifm_matrix_market_parse(text, length, name, graph_name, error);
    ifm_error_refuse(error, "%s: a TUDataset is a folder of files, not one", name);
    return NULL;
}

IfmGraph *ifm_graph_read(const char *path, IfmGraphFormat format, GError **error)
{
    g_autofree char *bytes = NULL;
    gsize length;
    if (format == IFM_GRAPH_FORMAT_TUDATASET || (format == IFM_GRAPH_FORMAT_AUTO && g_file_test(path, G_FILE_TEST_IS_DIR)))
        return ifm_tudataset_read(path, error);
    return ifm_file_load(path, &bytes, &length, error) ? ifm_graph_parse(bytes, length, path, format, error) : NULL;
}
