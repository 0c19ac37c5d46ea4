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

/* Freed by protobuf-c, whose allocator is malloc. */
static Onnx__ValueInfoProto *output_of(const IfmExposedTensor *tensor)
{
    Onnx__ValueInfoProto *info = malloc(sizeof *info);
    Onnx__TypeProto *type = malloc(sizeof *type);
    Onnx__TypeProto__Tensor *of = malloc(sizeof *of);
    g_assert(info != NULL && type != NULL && of != NULL);
    onnx__value_info_proto__init(info);
    onnx__type_proto__init(type);
    onnx__type_proto__tensor__init(of);
    of->has_elem_type = TRUE;
    of->elem_type = (gint32)tensor->dtype;
    type->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    type->tensor_type = of;
    info->name = strdup(tensor->name);
    info->type = type;
    return info;
}

IfmModel *ifm_model_expose(IfmModel *model, const IfmExposedTensor *tensors, gsize n, GError **error)
{
    g_autoptr(IfmRewrite) rewrite = ifm_rewrite_new(model, NULL, 0, error);
    if (rewrite == NULL)
        return NULL;
    Onnx__GraphProto *graph = rewrite->copy->proto->graph;
    graph->output = realloc(graph->output, (graph->n_output + n) * sizeof *graph->output);
    g_assert(n == 0 || graph->output != NULL);
    for (gsize i = 0; i < n; i++)
    {
        if (is_output(graph, tensors[i].name))
            continue;
        graph->output[graph->n_output++] = output_of(&tensors[i]);
        rewrite->n_changes++;
    }
    return ifm_rewrite_finish(rewrite, error);
}
