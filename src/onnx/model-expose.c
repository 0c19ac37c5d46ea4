/* A model whose inner tensors are outputs, too. */
#include <stdlib.h>
#include <string.h>

#include "rewrite.h"

static gboolean is_output(const Onnx__GraphProto *graph, const char *name)
{
    for (gsize i = 0; i < graph->n_output; i++)
        if (g_strcmp0(graph->output[i]->name, name) == 0)
            return TRUE;
    return FALSE;
}

IfmModel *ifm_model_expose(IfmModel *model, const IfmExposedTensor *tensors, gsize n, GError **error)
{
    g_autoptr(IfmRewrite) rewrite = ifm_rewrite_new(model, NULL, 0, error);
    if (rewrite == NULL)
        return NULL;
    Onnx__GraphProto *graph = rewrite->copy->proto->graph;
    for (gsize i = 0; i < n; i++)
    {
        if (is_output(graph, tensors[i].name))
            continue;
        ifm_onnx_append(&graph->output, &graph->n_output, ifm_onnx_new_port(tensors[i].name, tensors[i].dtype));
        rewrite->n_changes++;
    }
    return ifm_rewrite_finish(rewrite, error);
}
