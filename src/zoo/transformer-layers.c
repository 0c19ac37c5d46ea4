/*
 * The nodes of the graph transformer. Every tensor except the output has the name of its node. The operators count exactly
 * what the closed forms of estimate.h count. A layer that is written differently needs other closed forms.
 */
#include <float.h>
#include <math.h>
#include <stdarg.h>

#include "transformer-private.h"

#define OPSET 20 /* Gelu; ScatterElements by maximum is of 18 */
#define EPSILON 1e-5
#define STATISTICS_MOMENTUM 0.9

/* Build: @layer: the one being built    @made: names of constants and of nodes that several layers share */
typedef struct
{
    IfmModelBuilder *builder;
    const IfmTransformer *of;
    guint32 seed;
    GStringChunk *names;
    GHashTable *made;
    gint64 layer;
} Build;

G_GNUC_PRINTF(2, 3) static const char *name_of(Build *build, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *name = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    return g_string_chunk_insert_const(build->names, name);
}

/* in_layer: "layers.3.@what" */
static const char *in_layer(Build *build, const char *what)
{
    return name_of(build, "layers.%" G_GINT64_FORMAT ".%s", build->layer, what);
}

static const char *within(Build *build, const char *name, const char *what)
{
    return name_of(build, "%s.%s", name, what);
}

/* --- constants and weights ---------------------------------------------------------------------------------------- */

/* is_new: Whether the name is new. It records the name. */
static gboolean is_new(Build *build, const char *name)
{
    return g_hash_table_add(build->made, (gpointer)name);
}

static const char *constant(Build *build, const char *name, IfmDtype dtype, int rank, gint64 n, const void *values)
{
    IfmTensor tensor;
    if (!is_new(build, name))
        return name;
    g_assert_true(ifm_tensor_wrap(&tensor, dtype, rank, &n, (void *)values, NULL));
    ifm_model_builder_weight(build->builder, name, &tensor);
    return name;
}

/* scalar: A constant of a formula, with rank 0, so it is not trained. */
static const char *scalar(Build *build, const char *name, double value)
{
    return constant(build, name, IFM_DTYPE_F32, 0, 0, &(float){ (float)value });
}

static const char *shape(Build *build, const char *name, int n, const gint64 *dims)
{
    return constant(build, name, IFM_DTYPE_I64, 1, n, dims);
}

static const char *draw(Build *build, const char *name, int rank, const gint64 *dims, double low, double high)
{
    ifm_model_builder_drawn_weight(build->builder, name, rank, dims, low, high, build->seed);
    return name;
}

static const char *draw_vector(Build *build, const char *name, gint64 n, double low, double high)
{
    return draw(build, name, 1, &n, low, high);
}

/* --- nodes -------------------------------------------------------------------------------------------------------- */

/* op: Adds a node.    @node: (out) (optional) its index, for attributes    Returns: @name, its output */
static const char *op(Build *build, const char *name, const char *op_type, const char *const *inputs, gsize *node)
{
    gsize index = ifm_model_builder_node(build->builder, op_type, name, inputs, IFM_ZOO_NAMES(name));
    if (node != NULL)
        *node = index;
    return name;
}

static const char *transpose(Build *build, const char *name, const char *x, int rank, const gint64 *order)
{
    gsize node;
    op(build, name, "Transpose", IFM_ZOO_NAMES(x), &node);
    ifm_model_builder_ints(build->builder, node, "perm", order, (gsize)rank);
    return name;
}

/* linear_to: y = x W + b as the tensor @to. Uniform weights that keep the variance. */
static const char *linear_to(Build *build, const char *name, const char *x, gint64 in, gint64 out, gboolean bias,
                             const char *to)
{
    const double bound = sqrt(3.0 / (double)in);
    const char *weight = draw(build, within(build, name, "weight"), 2, (gint64[]){ in, out }, -bound, bound);
    const char *added = bias ? draw_vector(build, within(build, name, "bias"), out, -0.1, 0.1) : NULL;
    ifm_model_builder_node(build->builder, "Gemm", name, IFM_ZOO_NAMES(x, weight, added), IFM_ZOO_NAMES(to));
    return to;
}

static const char *linear(Build *build, const char *name, const char *x, gint64 in, gint64 out)
{
    return linear_to(build, name, x, in, out, TRUE, name);
}

static const char *dropped(Build *build, const char *name, const char *x)
{
    if (!ifm_transformer_drops(build->of))
        return x;
    return op(build, within(build, name, "dropout"), "Mul", IFM_ZOO_NAMES(x, name_of(build, "mask.%s", name)), NULL);
}

static const char *layer_norm(Build *build, const char *name, const char *x, const char *scale, const char *bias)
{
    gsize node;
    op(build, name, "LayerNormalization", IFM_ZOO_NAMES(x, scale, bias), &node);
    ifm_model_builder_int(build->builder, node, "axis", -1);
    ifm_model_builder_float(build->builder, node, "epsilon", EPSILON);
    return name;
}

/* The training form uses the statistics of the batch and outputs the next running ones. Differentiation writes it out. */
static const char *batch_norm(Build *build, const char *name, const char *x, const char *scale, const char *bias)
{
    const gint64 d = build->of->sizes.hidden_dim;
    const gboolean training = build->of->training;
    const char *mean = draw_vector(build, within(build, name, "running_mean"), d, -0.1, 0.1);
    const char *variance = draw_vector(build, within(build, name, "running_var"), d, 0.75, 1.25);
    const char *next_mean = training ? within(build, name, "next_mean") : NULL;
    gsize node =
        ifm_model_builder_node(build->builder, "BatchNormalization", name, IFM_ZOO_NAMES(x, scale, bias, mean, variance),
                               IFM_ZOO_NAMES(name, next_mean, within(build, name, "next_var")));
    ifm_model_builder_float(build->builder, node, "epsilon", EPSILON);
    ifm_model_builder_float(build->builder, node, "momentum", STATISTICS_MOMENTUM);
    if (training)
        ifm_model_builder_int(build->builder, node, "training_mode", 1);
    return name;
}

/* normalised_sum: norm(x + y). Scales are near 1, as after training. */
static const char *normalised_sum(Build *build, const char *name, const char *x, const char *y)
{
    const gint64 d = build->of->sizes.hidden_dim;
    const char *sum = op(build, within(build, name, "add"), "Add", IFM_ZOO_NAMES(x, y), NULL);
    const char *scale = draw_vector(build, within(build, name, "weight"), d, 0.75, 1.25);
    const char *bias = draw_vector(build, within(build, name, "bias"), d, -0.1, 0.1);
    return build->of->norm == IFM_NORM_BATCH ? batch_norm(build, name, sum, scale, bias)
                                             : layer_norm(build, name, sum, scale, bias);
}

/* --- along the edges ---------------------------------------------------------------------------------------------- */

/* ends_of: Returns: the sources (@row 0) or destinations (1) of the edges, i64 [edges]. */
static const char *ends_of(Build *build, gint64 row)
{
    const char *name = row == 0 ? "input.source" : "input.destination";
    if (is_new(build, name))
    {
        const char *which = constant(build, within(build, name, "row"), IFM_DTYPE_I64, 0, 0, &row);
        op(build, name, "Gather", IFM_ZOO_NAMES("edge_index", which), NULL);
    }
    return name;
}

/* rows_at: x[index] */
static const char *rows_at(Build *build, const char *name, const char *x, const char *index)
{
    return op(build, name, "Gather", IFM_ZOO_NAMES(x, index), NULL);
}

/* column_name: The name of an index as a column, which all layers or the head share. */
static const char *column_name(Build *build, const char *index)
{
    if (g_str_equal(index, "node_graph"))
        return "head.graph.column";
    return g_str_has_prefix(index, "input.") ? within(build, index, "column") : name_of(build, "input.%s.column", index);
}

/* columns_of: An index in the shape of a scatter: [n, 1], or repeated over @width columns, [n, width]. */
static const char *columns_of(Build *build, const char *index, gint64 width)
{
    const char *column = column_name(build, index);
    if (is_new(build, column))
    {
        const char *axis = shape(build, "input.axis", 1, (gint64[]){ 1 });
        op(build, column, "Unsqueeze", IFM_ZOO_NAMES(index, axis), NULL);
    }
    const char *spread = name_of(build, "%s.%" G_GINT64_FORMAT, column, width);
    if (width == 1)
        return column;
    if (is_new(build, spread))
    {
        const char *to = shape(build, within(build, spread, "shape"), 2, (gint64[]){ 1, width });
        op(build, spread, "Expand", IFM_ZOO_NAMES(column, to), NULL);
    }
    return spread;
}

/* filled: Returns: f32 [rows, width] of zeros or of the lowest f32. */
static const char *filled(Build *build, gint64 rows, gint64 width, gboolean lowest)
{
    const char *name =
        name_of(build, "input.%s.%" G_GINT64_FORMAT ".%" G_GINT64_FORMAT, lowest ? "lowest" : "zeros", rows, width);
    if (is_new(build, name))
    {
        const char *dims = shape(build, within(build, name, "shape"), 2, (gint64[]){ rows, width });
        if (lowest)
            op(build, name, "Expand", IFM_ZOO_NAMES(scalar(build, "input.lowest", -FLT_MAX), dims), NULL);
        else
            op(build, name, "ConstantOfShape", IFM_ZOO_NAMES(dims), NULL);
    }
    return name;
}

/* scattered: Reduces the rows of @x into @rows rows, element by element. Row i goes to row @index[i].
 * @reduction: "add", "max" */
static const char *scattered(Build *build, const char *name, const char *x, const char *index, gint64 rows, gint64 width,
                             const char *reduction)
{
    const char *onto = filled(build, rows, width, *reduction != 'a');
    gsize node;
    op(build, name, "ScatterElements", IFM_ZOO_NAMES(onto, columns_of(build, index, width), x), &node);
    ifm_model_builder_string(build->builder, node, "reduction", reduction);
    return name;
}

/* sum_at_ends: The sum of @x (one row per edge) over the edges that end in each node. */
static const char *sum_at_ends(Build *build, const char *name, const char *x, gint64 width)
{
    const gint64 n = build->of->sizes.num_nodes;
    const IfmScatter scatter = build->of->scatter;
    const char *ends = ends_of(build, 1);
    gsize node;
    if (scatter == IFM_SCATTER_ELEMENTS || (scatter == IFM_SCATTER_MIXED && width == 1))
        return scattered(build, name, x, ends, n, width, "add");
    op(build, name, "ScatterND", IFM_ZOO_NAMES(filled(build, n, width, FALSE), columns_of(build, ends, 1), x), &node);
    ifm_model_builder_string(build->builder, node, "reduction", "add");
    return name;
}

/* no_sums: The sums of a graph without edges, without a scatter: some engines refuse an empty index. */
static const char *no_sums(Build *build)
{
    return filled(build, build->of->sizes.num_nodes, build->of->sizes.hidden_dim, FALSE);
}

/* --- message passing ---------------------------------------------------------------------------------------------- */

/* sum_of_sources: The sum of x[source] over the edges that end in each node.    @coefficients: of each edge; NULL: 1 */
static const char *sum_of_sources(Build *build, const char *x, const char *coefficients)
{
    if (build->of->sizes.num_edges == 0)
        return no_sums(build);
    x = rows_at(build, in_layer(build, "mpnn.messages"), x, ends_of(build, 0));
    if (coefficients != NULL)
        x = op(build, in_layer(build, "mpnn.weighted"), "Mul", IFM_ZOO_NAMES(x, coefficients), NULL);
    return sum_at_ends(build, in_layer(build, "mpnn.sum"), x, build->of->sizes.hidden_dim);
}

static const char *gin(Build *build, const char *x)
{
    const gint64 d = build->of->sizes.hidden_dim;
    const char *factor = draw_vector(build, in_layer(build, "mpnn.one_plus_eps"), 1, 0.9, 1.1);
    const char *own = op(build, in_layer(build, "mpnn.self"), "Mul", IFM_ZOO_NAMES(x, factor), NULL);
    const char *sum = sum_of_sources(build, x, NULL);
    const char *both = op(build, in_layer(build, "mpnn.add"), "Add", IFM_ZOO_NAMES(own, sum), NULL);
    const char *hidden = linear(build, in_layer(build, "mpnn.linear1"), both, d, d);
    hidden = op(build, in_layer(build, "mpnn.relu"), "Relu", IFM_ZOO_NAMES(hidden), NULL);
    return linear(build, in_layer(build, "mpnn.linear2"), hidden, d, d);
}

/* part_coefficients: Splits the coefficients. Returns: those of nodes to themselves; "input.coefficients.edges" has the
 * others. */
static const char *part_coefficients(Build *build)
{
    const gint64 parts[] = { build->of->sizes.num_edges, build->of->sizes.num_nodes };
    const char *name = "input.coefficients";
    if (parts[0] == 0)
        return "coefficients";
    if (is_new(build, name))
    {
        const char *lengths = shape(build, "input.coefficients.lengths", 2, parts);
        gsize node = ifm_model_builder_node(build->builder, "Split", name, IFM_ZOO_NAMES("coefficients", lengths),
                                            IFM_ZOO_NAMES("input.coefficients.edges", "input.coefficients.self"));
        ifm_model_builder_int(build->builder, node, "axis", 0);
    }
    return "input.coefficients.self";
}

/* The message of a node to itself is not a scattered row: the same products and sums, without data movement. */
static const char *gcn(Build *build, const char *x)
{
    const gint64 d = build->of->sizes.hidden_dim;
    const char *coefficients = part_coefficients(build);
    const char *own = op(build, in_layer(build, "mpnn.self"), "Mul", IFM_ZOO_NAMES(x, coefficients), NULL);
    const char *sum = sum_of_sources(build, x, "input.coefficients.edges");
    const char *both = op(build, in_layer(build, "mpnn.add"), "Add", IFM_ZOO_NAMES(own, sum), NULL);
    return linear(build, in_layer(build, "mpnn.linear"), both, d, d);
}

static const char *sage(Build *build, const char *x)
{
    const gint64 d = build->of->sizes.hidden_dim;
    const char *own_name = in_layer(build, "mpnn.self");
    const char *sum = sum_of_sources(build, x, NULL);
    const char *mean = op(build, in_layer(build, "mpnn.mean"), "Div", IFM_ZOO_NAMES(sum, "degrees"), NULL);
    const char *neighbours = linear(build, in_layer(build, "mpnn.neighbours"), mean, d, d);
    const char *own = linear_to(build, own_name, x, d, d, FALSE, own_name);
    return op(build, in_layer(build, "mpnn.add"), "Add", IFM_ZOO_NAMES(neighbours, own), NULL);
}

/* --- attention ---------------------------------------------------------------------------------------------------- */

static const char *scaled(Build *build, const char *scores)
{
    const IfmTransformerSizes *sizes = &build->of->sizes;
    const char *scale =
        scalar(build, "layers.attention.scale", 1 / sqrt((double)sizes->hidden_dim / (double)sizes->num_heads));
    return op(build, in_layer(build, "attention.scaled"), "Mul", IFM_ZOO_NAMES(scores, scale), NULL);
}

/* padded: The rows of @x in their places: each graph has the same number of rows, with zeros as padding. */
static const char *padded(Build *build, const char *name, const char *x)
{
    const gint64 rows = build->of->num_graphs * build->of->most_nodes, d = build->of->sizes.hidden_dim;
    const char *onto = filled(build, rows, d, FALSE), *column = columns_of(build, "places", 1);
    return op(build, name, "ScatterND", IFM_ZOO_NAMES(onto, column, x), NULL);
}

/* heads: Splits [nodes, d] into [heads, nodes, width], or [heads, width, nodes] where @for_product. Padded graphs give
 * [graphs, heads, ...]. */
static const char *heads(Build *build, const char *name, const char *x, gboolean for_product)
{
    const IfmTransformerSizes *sizes = &build->of->sizes;
    const gint64 h = sizes->num_heads, width = sizes->hidden_dim / h;
    const char *turned = within(build, name, "heads");
    if (!ifm_transformer_is_padded(build->of))
    {
        const char *to = shape(build, "layers.attention.heads", 3, (gint64[]){ sizes->num_nodes, h, width });
        x = op(build, within(build, name, "parted"), "Reshape", IFM_ZOO_NAMES(x, to), NULL);
        return transpose(build, turned, x, 3, for_product ? (gint64[]){ 1, 2, 0 } : (gint64[]){ 1, 0, 2 });
    }
    const gint64 dims[] = { build->of->num_graphs, build->of->most_nodes, h, width };
    const char *to = shape(build, "layers.attention.heads", 4, dims);
    x = padded(build, within(build, name, "padded"), x);
    x = op(build, within(build, name, "parted"), "Reshape", IFM_ZOO_NAMES(x, to), NULL);
    return transpose(build, turned, x, 4, for_product ? (gint64[]){ 0, 2, 3, 1 } : (gint64[]){ 0, 2, 1, 3 });
}

/* together: The inverse of heads(). */
static const char *together(Build *build, const char *x)
{
    const gboolean padded = ifm_transformer_is_padded(build->of);
    const gint64 rows = padded ? build->of->num_graphs * build->of->most_nodes : build->of->sizes.num_nodes;
    const char *flat = shape(build, "layers.attention.flat", 2, (gint64[]){ rows, build->of->sizes.hidden_dim });
    const char *turned = in_layer(build, "attention.turned");
    if (padded)
        transpose(build, turned, x, 4, (gint64[]){ 0, 2, 1, 3 });
    else
        transpose(build, turned, x, 3, (gint64[]){ 1, 0, 2 });
    x = op(build, in_layer(build, "attention.together"), "Reshape", IFM_ZOO_NAMES(turned, flat), NULL);
    return padded ? rows_at(build, in_layer(build, "attention.unpadded"), x, "places") : x;
}

static const char *attend_densely(Build *build, const char *q, const char *k, const char *v)
{
    gsize node;
    q = heads(build, q, q, FALSE);
    k = heads(build, k, k, TRUE);
    v = heads(build, v, v, FALSE);
    const char *scores = scaled(build, op(build, in_layer(build, "attention.scores"), "MatMul", IFM_ZOO_NAMES(q, k), NULL));
    if (ifm_transformer_is_padded(build->of))
        scores = op(build, in_layer(build, "attention.masked"), "Add", IFM_ZOO_NAMES(scores, "bias"), NULL);
    const char *shares = op(build, in_layer(build, "attention.softmax"), "Softmax", IFM_ZOO_NAMES(scores), &node);
    ifm_model_builder_int(build->builder, node, "axis", -1);
    return together(build, op(build, in_layer(build, "attention.values"), "MatMul", IFM_ZOO_NAMES(shares, v), NULL));
}

/* softmax_at_ends: Softmax over the edges that end in each node, for each head: [edges, heads]. The sum of a node without
 * edges is 0, but no edge divides by it. */
static const char *softmax_at_ends(Build *build, const char *scores)
{
    const gint64 n = build->of->sizes.num_nodes, h = build->of->sizes.num_heads;
    const char *ends = ends_of(build, 1);
    const char *max = scattered(build, in_layer(build, "attention.most"), scores, ends, n, h, "max");
    max = rows_at(build, in_layer(build, "attention.most.edges"), max, ends);
    const char *shifted = op(build, in_layer(build, "attention.shifted"), "Sub", IFM_ZOO_NAMES(scores, max), NULL);
    const char *powers = op(build, in_layer(build, "attention.exp"), "Exp", IFM_ZOO_NAMES(shifted), NULL);
    const char *sum = sum_at_ends(build, in_layer(build, "attention.sum"), powers, h);
    sum = rows_at(build, in_layer(build, "attention.sum.edges"), sum, ends);
    return op(build, in_layer(build, "attention.softmax"), "Div", IFM_ZOO_NAMES(powers, sum), NULL);
}

static const char *attend_along_edges(Build *build, const char *q, const char *k, const char *v)
{
    const IfmTransformerSizes *sizes = &build->of->sizes;
    const gint64 e = sizes->num_edges, h = sizes->num_heads;
    const char *partitioned = shape(build, "layers.attention.heads", 3, (gint64[]){ e, h, sizes->hidden_dim / h });
    const char *single = shape(build, "layers.attention.single", 3, (gint64[]){ e, h, 1 });
    const char *flat = shape(build, "layers.attention.flat", 2, (gint64[]){ e, sizes->hidden_dim });
    const char *last = shape(build, "layers.attention.last", 1, (gint64[]){ 2 });
    gsize node;
    q = rows_at(build, within(build, q, "edges"), q, ends_of(build, 1));
    k = rows_at(build, within(build, k, "edges"), k, ends_of(build, 0));
    v = rows_at(build, within(build, v, "edges"), v, ends_of(build, 0));
    const char *products = op(build, in_layer(build, "attention.products"), "Mul", IFM_ZOO_NAMES(q, k), NULL);
    products = op(build, in_layer(build, "attention.parted"), "Reshape", IFM_ZOO_NAMES(products, partitioned), NULL);
    const char *scores = op(build, in_layer(build, "attention.scores"), "ReduceSum", IFM_ZOO_NAMES(products, last), &node);
    ifm_model_builder_int(build->builder, node, "keepdims", 0);
    const char *shares = softmax_at_ends(build, scaled(build, scores));
    shares = op(build, in_layer(build, "attention.shares"), "Reshape", IFM_ZOO_NAMES(shares, single), NULL);
    v = op(build, within(build, v, "heads"), "Reshape", IFM_ZOO_NAMES(v, partitioned), NULL);
    const char *values = op(build, in_layer(build, "attention.weighted"), "Mul", IFM_ZOO_NAMES(v, shares), NULL);
    values = op(build, in_layer(build, "attention.together"), "Reshape", IFM_ZOO_NAMES(values, flat), NULL);
    return sum_at_ends(build, in_layer(build, "attention.values"), values, sizes->hidden_dim);
}

/* Without edges q, k and v exist, so that all models have the same weights, but no node reads them. */
static const char *attention(Build *build, const char *x)
{
    const gint64 d = build->of->sizes.hidden_dim;
    const char *q = linear(build, in_layer(build, "attention.q"), x, d, d), *values;
    const char *k = linear(build, in_layer(build, "attention.k"), x, d, d);
    const char *v = linear(build, in_layer(build, "attention.v"), x, d, d);
    if (build->of->attention == IFM_ATTENTION_DENSE)
        values = attend_densely(build, q, k, v);
    else
        values = build->of->sizes.num_edges > 0 ? attend_along_edges(build, q, k, v) : no_sums(build);
    return linear(build, in_layer(build, "attention.output"), values, d, d);
}

/* --- a layer, and all of them ------------------------------------------------------------------------------------- */

static const char *feed_forward(Build *build, const char *x)
{
    const IfmTransformerSizes *sizes = &build->of->sizes;
    const char *hidden = linear(build, in_layer(build, "ffn.linear1"), x, sizes->hidden_dim, sizes->ffn_dim);
    hidden = op(build, in_layer(build, "ffn.gelu"), "Gelu", IFM_ZOO_NAMES(hidden), NULL);
    hidden = dropped(build, in_layer(build, "ffn.hidden"), hidden);
    const char *y = linear(build, in_layer(build, "ffn.linear2"), hidden, sizes->ffn_dim, sizes->hidden_dim);
    return dropped(build, in_layer(build, "ffn"), y);
}

static const char *layer(Build *build, const char *x)
{
    static const char *(*const kinds[])(
        Build *, const char *) = { [IFM_MESSAGE_GIN] = gin, [IFM_MESSAGE_GCN] = gcn, [IFM_MESSAGE_SAGE] = sage };
    const IfmMessagePassing mpnn = build->of->sizes.mpnn;
    const char *attended = dropped(build, in_layer(build, "attention"), attention(build, x));
    const char *a = normalised_sum(build, in_layer(build, "norm.attention"), x, attended);
    if (mpnn != IFM_MESSAGE_NONE)
    {
        const char *passed = dropped(build, in_layer(build, "mpnn"), kinds[mpnn](build, x));
        const char *other = normalised_sum(build, in_layer(build, "norm.mpnn"), x, passed);
        a = op(build, in_layer(build, "norm.join"), "Add", IFM_ZOO_NAMES(a, other), NULL);
    }
    return normalised_sum(build, in_layer(build, "norm.ffn"), a, feed_forward(build, a));
}

/* pooled: The mean over each graph's nodes. */
static const char *pooled(Build *build, const char *x)
{
    const IfmTransformer *of = build->of;
    gsize node;
    if (ifm_transformer_pools(of))
    {
        const char *sum = scattered(build, "head.sum", x, "node_graph", of->num_graphs, of->sizes.hidden_dim, "add");
        return op(build, "head.mean", "Mul", IFM_ZOO_NAMES(sum, "weights"), NULL);
    }
    const char *axis = shape(build, "head.axis", 1, (gint64[]){ 0 });
    op(build, "head.mean", "ReduceMean", IFM_ZOO_NAMES(x, axis), &node);
    ifm_model_builder_int(build->builder, node, "keepdims", 1);
    return "head.mean";
}

/* --- the model ---------------------------------------------------------------------------------------------------- */

static void add_ports(IfmModelBuilder *builder, const IfmTransformer *transformer)
{
    const IfmTransformerSizes *sizes = &transformer->sizes;
    g_autoptr(GArray) ports = ifm_transformer_ports(transformer);
    for (guint i = 0; i < ports->len; i++)
    {
        const IfmTransformerPort *port = &g_array_index(ports, IfmTransformerPort, i);
        g_autofree char *key = g_strdup_printf("inferometer.range.%s", port->name);
        g_autofree char *range = g_strdup_printf("%.0f %.0f%s", port->low, port->high, port->distinct ? " distinct" : "");
        ifm_model_builder_input(builder, port->name, port->dtype, port->rank, port->dims, NULL);
        ifm_model_builder_metadata(builder, key, range);
    }
    const gint64 rows = transformer->head == IFM_HEAD_NODE ? sizes->num_nodes : transformer->num_graphs;
    ifm_model_builder_output(builder, "y", IFM_DTYPE_F32, 2, (gint64[]){ rows, sizes->num_outputs }, NULL);
}

IfmModel *ifm_transformer_build(const IfmTransformer *transformer, guint32 seed, GError **error)
{
    if (!ifm_transformer_check(transformer, error))
        return NULL;
    const char *name = transformer->sizes.mpnn != IFM_MESSAGE_NONE ? "gps" : "graph_transformer";
    g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new(name, OPSET);
    g_autoptr(GStringChunk) names = g_string_chunk_new(4096);
    g_autoptr(GHashTable) made = g_hash_table_new(g_str_hash, g_str_equal);
    Build build = { builder, transformer, seed, names, made, 0 };
    add_ports(builder, transformer);
    const IfmTransformerSizes *sizes = &transformer->sizes;
    const gboolean has_encoding = sizes->pe != IFM_ENCODING_NONE;
    const gint64 width = sizes->feature_dim + (has_encoding ? sizes->pe_dim : 0);
    const char *x = "x";
    gsize node;
    if (has_encoding)
    {
        x = op(&build, "input.concat", "Concat", IFM_ZOO_NAMES("x", "pe"), &node);
        ifm_model_builder_int(builder, node, "axis", 1);
    }
    x = linear(&build, "input.linear", x, width, sizes->hidden_dim);
    for (build.layer = 0; build.layer < sizes->num_layers; build.layer++)
        x = layer(&build, x);
    if (transformer->head == IFM_HEAD_GRAPH)
        x = pooled(&build, x);
    linear_to(&build, "head.linear", x, sizes->hidden_dim, sizes->num_outputs, TRUE, "y");
    return ifm_model_builder_finish(builder, error);
}
