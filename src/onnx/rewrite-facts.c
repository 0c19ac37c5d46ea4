/* What is known of a tensor while a model is rewritten: constants, types, shapes. */
#include "rewrite.h"

#include <string.h>

static const Onnx__TensorProto *constant_of(const Onnx__NodeProto *node)
{
    IfmNode wrapped;
    ifm_onnx_node_wrap(node, &wrapped);
    if (*wrapped.domain != '\0' || !g_str_equal(wrapped.op_type, "Constant"))
        return NULL;
    const Onnx__AttributeProto *value = ifm_onnx_attribute(&wrapped, "value");
    return value != NULL ? value->t : NULL;
}

/* original: the tensor of the source that has the same shape and values */
static const char *original(const IfmRewriteScope *scope, const char *name)
{
    const char *other = name != NULL ? g_hash_table_lookup(scope->rewrite->stands_for, name) : NULL;
    return other != NULL ? other : name;
}

const Onnx__TensorProto *ifm_rewrite_value(const IfmRewriteScope *scope, const char *name)
{
    name = original(scope, name);
    for (; scope != NULL && name != NULL; scope = scope->outer)
    {
        const Onnx__TensorProto *value = g_hash_table_lookup(scope->values, name);
        if (value != NULL)
            return value;
    }
    return NULL;
}

gboolean ifm_rewrite_tensor(const IfmRewriteScope *scope, const char *name, IfmTensor *tensor)
{
    const Onnx__TensorProto *value = ifm_rewrite_value(scope, name);
    *tensor = IFM_TENSOR_INIT;
    return value != NULL && ifm_onnx_tensor_wrap(value, tensor);
}

/* --- facts of the source ------------------------------------------------------------------------------------------ */

static const IfmTensorInfo *fact_at(const IfmRewriteScope *scope, int at, const char *name)
{
    name = original(scope, name);
    const IfmAnalysis *analysis = scope->rewrite->analyses[at];
    for (; analysis != NULL && scope != NULL; scope = scope->outer)
    {
        const Onnx__GraphProto *origin = g_hash_table_lookup(scope->rewrite->origins, scope->graph);
        GHashTable *facts = scope->outer == NULL ? analysis->facts : g_hash_table_lookup(analysis->inner, origin);
        const IfmTensorInfo *fact = facts != NULL ? g_hash_table_lookup(facts, name) : NULL;
        if (fact != NULL)
            return fact;
    }
    return NULL;
}

int ifm_rewrite_rank(const IfmRewriteScope *scope, const char *name, gint64 *dims)
{
    const Onnx__TensorProto *value = ifm_rewrite_value(scope, name);
    if (g_hash_table_contains(scope->rewrite->scalars, name))
        return 0;
    if (value != NULL)
    {
        for (gsize i = 0; i < value->n_dims; i++)
            dims[i] = value->dims[i];
        return (int)value->n_dims;
    }
    const IfmTensorInfo *fact = fact_at(scope, 0, name), *other = fact_at(scope, 1, name);
    if (fact == NULL || fact->rank < 0 || (other != NULL && other->rank != fact->rank))
        return -1;
    for (int i = 0; i < fact->rank; i++)
        dims[i] = other == NULL || other->dims[i] == fact->dims[i] ? fact->dims[i] : -1;
    return fact->rank;
}

gint64 ifm_rewrite_size(const IfmRewriteScope *scope, const char *name)
{
    gint64 dims[IFM_MAX_RANK], n = 1;
    const int rank = ifm_rewrite_rank(scope, name, dims);
    for (int i = 0; i < rank; i++)
        if (dims[i] < 0 || __builtin_mul_overflow(n, dims[i], &n))
            return -1;
    return rank < 0 ? -1 : n;
}

/* known_dtype: as the source has it */
static int known_dtype(const IfmRewriteScope *scope, const char *name)
{
    const Onnx__TensorProto *value = ifm_rewrite_value(scope, name);
    if (value != NULL)
        return value->data_type;
    for (const IfmRewriteScope *at = scope; at != NULL; at = at->outer)
    {
        gpointer dtype = g_hash_table_lookup(at->dtypes, name);
        if (dtype != NULL)
            return GPOINTER_TO_INT(dtype);
    }
    const IfmTensorInfo *fact = fact_at(scope, 0, name);
    return fact != NULL ? (int)fact->dtype : 0;
}

int ifm_rewrite_dtype(const IfmRewriteScope *scope, const char *name)
{
    if (name == NULL)
        return 0;
    gpointer narrow = g_hash_table_lookup(scope->rewrite->narrow, name);
    const int dtype = narrow != NULL ? GPOINTER_TO_INT(narrow) : known_dtype(scope, name);
    const gboolean is_half = dtype == IFM_DTYPE_F16 || dtype == IFM_DTYPE_BF16;
    return is_half && scope->rewrite->is_widened ? IFM_DTYPE_F32 : dtype;
}

/* --- types that nodes make ---------------------------------------------------------------------------------------- */

/* body_dtype: of output @index of If, Loop or Scan: what the body's output is. A Loop's first is the condition. */
static int body_dtype(const Onnx__NodeProto *node, gsize index)
{
    const Onnx__GraphProto *body = ifm_onnx_body(node, 0);
    index += g_str_equal(node->op_type, "Loop") ? 1 : 0;
    return body != NULL && index < body->n_output ? ifm_onnx_elem_type(body->output[index]) : 0;
}

/* made_dtype: By the operator's rule, which tells types without shapes; else that of the first input. */
static int made_dtype(const IfmRewriteScope *scope, const Onnx__NodeProto *proto, gsize index)
{
    IfmNode node;
    const char *why = NULL;
    ifm_onnx_node_wrap(proto, &node);
    const IfmOperator *row = ifm_operator_find(&node);
    if (row != NULL && row->family == IFM_FAMILY_CONTROL)
        return body_dtype(proto, index);
    g_autofree IfmTensorInfo *inputs = g_new(IfmTensorInfo, node.n_inputs + 1),
                             *outputs = g_new(IfmTensorInfo, node.n_outputs);
    inputs[0].dtype = IFM_DTYPE_UNDEFINED;
    for (gsize i = 0; i < node.n_inputs; i++)
    {
        inputs[i] = IFM_FACT_UNKNOWN;
        inputs[i].dtype = (IfmDtype)ifm_rewrite_dtype(scope, node.inputs[i]);
    }
    for (gsize i = 0; i < node.n_outputs; i++)
        outputs[i] = IFM_FACT_UNKNOWN;
    const IfmOperatorCall call = { .node = &node,
                                   .row = row,
                                   .opset = ifm_model_opset(scope->rewrite->source),
                                   .inputs = inputs,
                                   .outputs = outputs,
                                   .why = &why };
    if (row != NULL && row->shape != NULL && ifm_operator_is_complete(row, &node))
        ifm_operator_infer(&call, NULL);
    return outputs[index].dtype != IFM_DTYPE_UNDEFINED ? (int)outputs[index].dtype : (int)inputs[0].dtype;
}

void ifm_rewrite_learn(IfmRewriteScope *scope, const Onnx__NodeProto *node)
{
    const Onnx__TensorProto *constant = constant_of(node);
    if (constant != NULL && node->n_output > 0)
        g_hash_table_insert(scope->values, node->output[0], (gpointer)constant);
    for (gsize i = 0; i < node->n_output; i++)
    {
        const IfmTensorInfo *fact = fact_at(scope, 0, node->output[i]);
        const int dtype =
            fact != NULL && fact->dtype != IFM_DTYPE_UNDEFINED ? (int)fact->dtype : made_dtype(scope, node, i);
        if (dtype != 0 && *node->output[i] != '\0')
            g_hash_table_insert(scope->dtypes, g_string_chunk_insert_const(scope->rewrite->strings, node->output[i]),
                                GINT_TO_POINTER(dtype));
    }
}
