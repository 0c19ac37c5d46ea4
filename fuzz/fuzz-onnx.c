/*
 * The libFuzzer target of the ONNX reader, and (compiled into tests/onnx/test-fuzz-onnx.c) the same entry for the corpus.
 * Whatever the bytes are, every public function that looks at a model must come back, and an error must be one line.
 */

#include "fuzz.h"
#include <onnx/onnx.h>
#include <onnx/reference-model.h>

static volatile guint8 last_byte; /* so that the read is not left out */

static void look_at_nodes(const IfmModel *model)
{
    for (gsize i = 0; i < ifm_model_n_nodes(model); i++)
    {
        const IfmNode *node = ifm_model_node(model, i);
        gsize n;
        ifm_node_int(node, "axis", 0);
        ifm_node_float(node, "alpha", 0);
        must(strlen(ifm_node_string(node, "auto_pad", "NOTSET")) < G_MAXINT);
        const gint64 *pads = ifm_node_ints(node, "pads", &n);
        must((pads != NULL) == (n > 0));
        for (gsize k = 0; k < node->n_inputs; k++)
        {
            IfmTensor weight;
            ifm_model_consumers(model, node->inputs[k]);
            if (ifm_model_initializer(model, node->inputs[k], &weight) && weight.size_bytes > 0)
                last_byte = ((const guint8 *)weight.data)[weight.size_bytes - 1];
        }
        for (gsize k = 0; k < node->n_outputs; k++)
            must(*node->outputs[k] == '\0' || ifm_model_producer(model, node->outputs[k]) == (gssize)i);
    }
}

/* bind_all: a small value for every free dimension of the inputs. */
static GArray *bind_all(const IfmModel *model)
{
    GArray *bindings = g_array_new(FALSE, FALSE, sizeof(IfmDimBinding));
    for (gsize i = 0; i < ifm_model_n_inputs(model); i++)
    {
        const IfmPort *port = ifm_model_input(model, i);
        for (int axis = 0; axis < port->rank; axis++)
        {
            gboolean seen = port->dim_names[axis] == NULL;
            for (guint k = 0; k < bindings->len && !seen; k++)
                seen = g_str_equal(g_array_index(bindings, IfmDimBinding, k).name, port->dim_names[axis]);
            IfmDimBinding binding = { port->dim_names[axis], 2 };
            if (!seen)
                g_array_append_val(bindings, binding);
        }
    }
    return bindings;
}

/* are_small: whether all inputs together are cheap to make; a fixed dimension may be anything. */
static gboolean are_small(const IfmModel *model, const GArray *bindings)
{
    gsize total = 0;
    for (gsize i = 0; i < ifm_model_n_inputs(model); i++)
    {
        const IfmPort *port = ifm_model_input(model, i);
        gint64 shape[IFM_MAX_RANK];
        gsize size;
        if (!ifm_port_bind(port, (const IfmDimBinding *)(void *)bindings->data, bindings->len, shape, NULL) ||
            !ifm_shape_size_bytes(port->dtype, port->rank, shape, &size, NULL))
            continue; /* then making them must fail at once */
        total += MIN(size, 1 << 20);
    }
    return total < 1 << 16;
}

static void make_inputs(const IfmModel *model, const GArray *bindings)
{
    const IfmDimBinding *bound = (const IfmDimBinding *)(void *)bindings->data;
    GError *error = NULL;
    if (!are_small(model, bindings))
        return;
    gsize n = ifm_model_n_inputs(model);
    IfmTensor *inputs = g_new0(IfmTensor, n + 1);
    if (!ifm_model_make_inputs(model, bound, bindings->len, 1, inputs, &error))
        must_be_line(error);
    for (gsize i = 0; i < n; i++)
        ifm_tensor_clear(&inputs[i]);
    g_free(inputs);
}

static void analyse(IfmModel *model, const GArray *bindings)
{
    GError *error = NULL;
    g_autoptr(IfmAnalysis) analysis =
        ifm_model_analyse(model, (const IfmDimBinding *)(void *)bindings->data, bindings->len, &error);
    if (analysis == NULL)
    {
        must_be_line(error);
        return;
    }
    IfmNodeCost total;
    gsize n_covered;
    ifm_analysis_total(analysis, &total, &n_covered);
    must(n_covered <= ifm_model_n_nodes(model));
    must(total.macs >= 0 && total.flop >= 0 && total.bytes_read >= 0 && total.bytes_written >= 0);
}

/* rewrite: its reference, and a disturbed copy of that */
static void rewrite(IfmModel *model)
{
    GError *error = NULL;
    IfmDisturbance disturbance;
    gsize n = 0;
    g_autoptr(IfmModel) reference = ifm_model_reference(model, NULL, &error);
    if (reference == NULL)
    {
        must_be_line(error);
        return;
    }
    ifm_disturbance_init(&disturbance, model);
    must(disturbance.roundoff > 0 && disturbance.factor >= 1);
    g_autoptr(IfmModel) disturbed = ifm_model_disturbed(reference, &disturbance, &n, &error);
    if (disturbed == NULL)
        must_be_line(error);
    else
        must((n == 0) == (disturbed == reference));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    GError *error = NULL;
    g_autoptr(GBytes) bytes = g_bytes_new(data, size); /* a copy of just that size, so that ASan sees its end */
    g_autoptr(IfmModel) model = ifm_model_parse(bytes, "input", &error);
    if (model == NULL)
    {
        must_be_line(error);
        return 0;
    }
    g_autoptr(GBytes) again = ifm_model_serialize(model, NULL);
    must(g_bytes_equal(bytes, again));
    must(ifm_model_name(model) != NULL && ifm_model_n_parameters(model) >= 0);
    look_at_nodes(model);
    g_autoptr(GArray) bindings = bind_all(model);
    make_inputs(model, bindings);
    analyse(model, bindings);
    rewrite(model);
    return 0;
}
