#pragma once
#include <onnx/onnx.h>

/* Graphs of one node with random attributes, as tests of shapes build them. */

#define MAX_NAMES 8

/* --- random attributes ---------------------------------------------------------------------------------------------- */

/* Case: a graph of one node under construction. Its inputs are "x", "a", ... in the order of their making. */
typedef struct
{
    IfmModelBuilder *builder;
    GRand *random;
    gint64 opset;
    const char *inputs[MAX_NAMES + 1], *outputs[MAX_NAMES + 1];
    gsize n_inputs, n_outputs;
    gsize node;
    gint64 x[IFM_MAX_RANK]; /* shape of the first input */
    int rank;
} Case;

static const char *const input_names[] = { "x", "a", "b", "c", "d", "e", "f", "g" };
static const char *const output_names[] = { "y", "y1", "y2", "y3", "y4", "y5", "y6", "y7" };

static inline gint64 draw(Case *self, gint64 min, gint64 max)
{
    return g_rand_int_range(self->random, (gint32)min, (gint32)max + 1);
}

static inline gboolean coin(Case *self)
{
    return g_rand_boolean(self->random);
}

static inline void input(Case *self, IfmDtype dtype, int rank, const gint64 *dims)
{
    const char *name = input_names[self->n_inputs];
    ifm_model_builder_input(self->builder, name, dtype, rank, dims, NULL);
    self->inputs[self->n_inputs++] = name;
}

/* x: the first input, of random shape. */
static inline void x(Case *self, int min_rank, int max_rank, gint64 max)
{
    self->rank = (int)draw(self, min_rank, max_rank);
    for (int i = 0; i < self->rank; i++)
        self->x[i] = draw(self, 1, max);
    input(self, IFM_DTYPE_F32, self->rank, self->x);
}

static inline void left_out(Case *self)
{
    self->inputs[self->n_inputs++] = "";
}

static inline void weight(Case *self, IfmDtype dtype, int rank, const gint64 *shape, const void *data)
{
    IfmTensor tensor;
    const char *name = input_names[self->n_inputs];
    g_assert_true(ifm_tensor_wrap(&tensor, dtype, rank, shape, (void *)data, NULL));
    ifm_model_builder_weight(self->builder, name, &tensor);
    self->inputs[self->n_inputs++] = name;
}

static inline void ints(Case *self, gsize n, const gint64 *values)
{
    weight(self, IFM_DTYPE_I64, 1, &(gint64){ (gint64)n }, values);
}

static inline void random_weight(Case *self, int rank, const gint64 *shape)
{
    const char *name = input_names[self->n_inputs];
    ifm_model_builder_random_weight(self->builder, name, rank, shape, 1, 1);
    self->inputs[self->n_inputs++] = name;
}

static inline void node(Case *self, const char *op_type, gsize n_outputs)
{
    for (gsize i = 0; i < n_outputs; i++)
        self->outputs[i] = output_names[i];
    self->node = ifm_model_builder_node(self->builder, op_type, NULL, self->inputs, self->outputs);
}

static inline void set_int(Case *self, const char *name, gint64 value)
{
    ifm_model_builder_int(self->builder, self->node, name, value);
}

static inline void set_ints(Case *self, const char *name, const gint64 *values, gsize n)
{
    ifm_model_builder_ints(self->builder, self->node, name, values, n);
}

static inline void set_string(Case *self, const char *name, const char *value)
{
    ifm_model_builder_string(self->builder, self->node, name, value);
}

static inline gint64 axis_of(Case *self, int rank)
{
    return draw(self, -rank, rank - 1);
}

/* some_axes: at random, each once, some counted from the end. */
static inline gsize some_axes(Case *self, int rank, gint64 *axes)
{
    gsize n = 0;
    for (int i = 0; i < rank; i++)
        if (coin(self))
            axes[n++] = coin(self) ? i : i - rank;
    return n;
}
