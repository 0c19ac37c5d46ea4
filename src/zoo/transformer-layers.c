/*
 * The nodes of the graph transformer. Every tensor except the output has the name of its node. The operators count exactly
 * what the closed forms of estimate.h count. A layer that is written differently needs other closed forms.
 */
#include <float.h>
#include <math.h>

#include "transformer-private.h"

#define OPSET 20 /* Gelu; ScatterElements by maximum is of 18 */
#define EPSILON 1e-5
#define STATISTICS_MOMENTUM 0.9

static const IfmTransformer *of(const IfmNet *net)
{
    return net->of;
}

/* in_layer: "layers.3.@what" */
static const char *in_layer(IfmNet *net, const char *what)
{
    return ifm_net_name(net, "layers.%" G_GINT64_FORMAT ".%s", net->layer, what);
}

static const char *within(IfmNet *net, const char *name, const char *what)
{
    return ifm_net_name(net, "%s.%s", name, what);
}

/* linear_to: y = x W + b as the tensor @to. Uniform weights that keep the variance. */
static const char *linear_to(IfmNet *net, const char *name, const char *x, gint64 in, gint64 out, gboolean bias,
                             const char *to)
{
    const double bound = sqrt(3.0 / (double)in);
    const char *weight = ifm_net_draw(net, within(net, name, "weight"), 2, (gint64[]){ in, out }, -bound, bound);
    const char *added = bias ? ifm_net_vector(net, within(net, name, "bias"), out, -0.1, 0.1) : NULL;
    ifm_model_builder_node(net->builder, "Gemm", name, IFM_ZOO_NAMES(x, weight, added), IFM_ZOO_NAMES(to));
    return to;
}

static const char *linear(IfmNet *net, const char *name, const char *x, gint64 in, gint64 out)
{
    return linear_to(net, name, x, in, out, TRUE, name);
}

static const char *dropped(IfmNet *net, const char *name, const char *x)
{
    if (!ifm_transformer_drops(of(net)))
        return x;
    return ifm_net_op(net, within(net, name, "dropout"), "Mul", x, ifm_net_name(net, "mask.%s", name), NULL);
}

/* normalised_sum: norm(x + y). Scales are near 1, as after training. */
static const char *normalised_sum(IfmNet *net, const char *name, const char *x, const char *y)
{
    const gint64 d = of(net)->sizes.hidden_dim;
    const char *sum = ifm_net_op(net, within(net, name, "add"), "Add", x, y, NULL);
    if (of(net)->norm == IFM_NORM_BATCH) /* of the training form the next statistics come out, too */
        return ifm_net_batch_norm(net, name, sum, d, (IfmBatchNorm){ EPSILON, STATISTICS_MOMENTUM, 1, of(net)->training });
    const char *scale = ifm_net_vector(net, within(net, name, "weight"), d, 0.75, 1.25);
    const char *bias = ifm_net_vector(net, within(net, name, "bias"), d, -0.1, 0.1);
    ifm_net_op(net, name, "LayerNormalization axis=-1", sum, scale, bias, NULL);
    ifm_model_builder_float(net->builder, net->last, "epsilon", EPSILON);
    return name;
}

/* --- along the edges ---------------------------------------------------------------------------------------------- */

/* ends_of: Returns: the sources (@row 0) or destinations (1) of the edges, i64 [edges]. */
static const char *ends_of(IfmNet *net, gint64 row)
{
    const char *name = row == 0 ? "input.source" : "input.destination";
    if (ifm_net_is_new(net, name))
    {
        const char *which = ifm_net_index(net, within(net, name, "row"), row);
        ifm_net_op(net, name, "Gather", "edge_index", which, NULL);
    }
    return name;
}

/* rows_at: x[index] */
static const char *rows_at(IfmNet *net, const char *name, const char *x, const char *index)
{
    return ifm_net_op(net, name, "Gather", x, index, NULL);
}

/* column_name: The name of an index as a column, which all layers or the head share. */
static const char *column_name(IfmNet *net, const char *index)
{
    if (g_str_equal(index, "node_graph"))
        return "head.graph.column";
    return g_str_has_prefix(index, "input.") ? within(net, index, "column") : ifm_net_name(net, "input.%s.column", index);
}

/* columns_of: An index in the shape of a scatter: [n, 1], or repeated over @width columns, [n, width]. */
static const char *columns_of(IfmNet *net, const char *index, gint64 width)
{
    const char *column = column_name(net, index);
    if (ifm_net_is_new(net, column))
    {
        const char *axis = ifm_net_ints(net, "input.axis", 1, (gint64[]){ 1 });
        ifm_net_op(net, column, "Unsqueeze", index, axis, NULL);
    }
    const char *spread = ifm_net_name(net, "%s.%" G_GINT64_FORMAT, column, width);
    if (width == 1)
        return column;
    if (ifm_net_is_new(net, spread))
    {
        const char *to = ifm_net_ints(net, within(net, spread, "shape"), 2, (gint64[]){ 1, width });
        ifm_net_op(net, spread, "Expand", column, to, NULL);
    }
    return spread;
}

/* filled: Returns: f32 [rows, width] of zeros or of the lowest f32. */
static const char *filled(IfmNet *net, gint64 rows, gint64 width, gboolean lowest)
{
    const char *name =
        ifm_net_name(net, "input.%s.%" G_GINT64_FORMAT ".%" G_GINT64_FORMAT, lowest ? "lowest" : "zeros", rows, width);
    if (ifm_net_is_new(net, name))
    {
        const char *dims = ifm_net_ints(net, within(net, name, "shape"), 2, (gint64[]){ rows, width });
        if (lowest)
            ifm_net_op(net, name, "Expand", ifm_net_number(net, "input.lowest", -FLT_MAX), dims, NULL);
        else
            ifm_net_op(net, name, "ConstantOfShape", dims, NULL);
    }
    return name;
}

/* scattered: Reduces the rows of @x into @rows rows, element by element. Row i goes to row @index[i].
 * @is_max: by the maximum, else by the sum */
static const char *scattered(IfmNet *net, const char *name, const char *x, const char *index, gint64 rows, gint64 width,
                             gboolean is_max)
{
    const char *onto = filled(net, rows, width, is_max), *columns = columns_of(net, index, width);
    return ifm_net_op(net, name, is_max ? "ScatterElements reduction=max" : "ScatterElements reduction=add", onto, columns,
                      x, NULL);
}

/* sum_at_ends: The sum of @x (one row per edge) over the edges that end in each node. */
static const char *sum_at_ends(IfmNet *net, const char *name, const char *x, gint64 width)
{
    const gint64 n = of(net)->sizes.num_nodes;
    const IfmScatter scatter = of(net)->scatter;
    const char *ends = ends_of(net, 1);
    if (scatter == IFM_SCATTER_ELEMENTS || (scatter == IFM_SCATTER_MIXED && width == 1))
        return scattered(net, name, x, ends, n, width, FALSE);
    const char *onto = filled(net, n, width, FALSE), *columns = columns_of(net, ends, 1);
    return ifm_net_op(net, name, "ScatterND reduction=add", onto, columns, x, NULL);
}

/* no_sums: The sums of a graph without edges, without a scatter: some engines refuse an empty index. */
static const char *no_sums(IfmNet *net)
{
    return filled(net, of(net)->sizes.num_nodes, of(net)->sizes.hidden_dim, FALSE);
}

/* --- message passing ---------------------------------------------------------------------------------------------- */

/* sum_of_sources: The sum of x[source] over the edges that end in each node.    @coefficients: of each edge; NULL: 1 */
static const char *sum_of_sources(IfmNet *net, const char *x, const char *coefficients)
{
    if (of(net)->sizes.num_edges == 0)
        return no_sums(net);
    x = rows_at(net, in_layer(net, "mpnn.messages"), x, ends_of(net, 0));
    if (coefficients != NULL)
        x = ifm_net_op(net, in_layer(net, "mpnn.weighted"), "Mul", x, coefficients, NULL);
    return sum_at_ends(net, in_layer(net, "mpnn.sum"), x, of(net)->sizes.hidden_dim);
}

static const char *gin(IfmNet *net, const char *x)
{
    const gint64 d = of(net)->sizes.hidden_dim;
    const char *factor = ifm_net_vector(net, in_layer(net, "mpnn.one_plus_eps"), 1, 0.9, 1.1);
    const char *own = ifm_net_op(net, in_layer(net, "mpnn.self"), "Mul", x, factor, NULL);
    const char *sum = sum_of_sources(net, x, NULL);
    const char *both = ifm_net_op(net, in_layer(net, "mpnn.add"), "Add", own, sum, NULL);
    const char *hidden = linear(net, in_layer(net, "mpnn.linear1"), both, d, d);
    hidden = ifm_net_op(net, in_layer(net, "mpnn.relu"), "Relu", hidden, NULL);
    return linear(net, in_layer(net, "mpnn.linear2"), hidden, d, d);
}

/* part_coefficients: Splits the coefficients. Returns: those of nodes to themselves; "input.coefficients.edges" has the
 * others. */
static const char *part_coefficients(IfmNet *net)
{
    const gint64 parts[] = { of(net)->sizes.num_edges, of(net)->sizes.num_nodes };
    const char *name = "input.coefficients";
    if (parts[0] == 0)
        return "coefficients";
    if (ifm_net_is_new(net, name))
    {
        const char *lengths = ifm_net_ints(net, "input.coefficients.lengths", 2, parts);
        ifm_model_builder_node(net->builder, "Split axis=0", name, IFM_ZOO_NAMES("coefficients", lengths),
                               IFM_ZOO_NAMES("input.coefficients.edges", "input.coefficients.self"));
    }
    return "input.coefficients.self";
}

/* The message of a node to itself is not a scattered row: the same products and sums, without data movement. */
static const char *gcn(IfmNet *net, const char *x)
{
    const gint64 d = of(net)->sizes.hidden_dim;
    const char *coefficients = part_coefficients(net);
    const char *own = ifm_net_op(net, in_layer(net, "mpnn.self"), "Mul", x, coefficients, NULL);
    const char *sum = sum_of_sources(net, x, "input.coefficients.edges");
    const char *both = ifm_net_op(net, in_layer(net, "mpnn.add"), "Add", own, sum, NULL);
    return linear(net, in_layer(net, "mpnn.linear"), both, d, d);
}

static const char *sage(IfmNet *net, const char *x)
{
    const gint64 d = of(net)->sizes.hidden_dim;
    const char *own_name = in_layer(net, "mpnn.self");
    const char *sum = sum_of_sources(net, x, NULL);
    const char *mean = ifm_net_op(net, in_layer(net, "mpnn.mean"), "Div", sum, "degrees", NULL);
    const char *neighbours = linear(net, in_layer(net, "mpnn.neighbours"), mean, d, d);
    const char *own = linear_to(net, own_name, x, d, d, FALSE, own_name);
    return ifm_net_op(net, in_layer(net, "mpnn.add"), "Add", neighbours, own, NULL);
}

/* --- attention ---------------------------------------------------------------------------------------------------- */

static const char *scaled(IfmNet *net, const char *scores)
{
    const IfmTransformerSizes *sizes = &of(net)->sizes;
    const char *scale =
        ifm_net_number(net, "layers.attention.scale", 1 / sqrt((double)sizes->hidden_dim / (double)sizes->num_heads));
    return ifm_net_op(net, in_layer(net, "attention.scaled"), "Mul", scores, scale, NULL);
}

/* padded: The rows of @x in their places: each graph has the same number of rows, with zeros as padding. */
static const char *padded(IfmNet *net, const char *name, const char *x)
{
    const gint64 rows = of(net)->num_graphs * of(net)->most_nodes, d = of(net)->sizes.hidden_dim;
    const char *onto = filled(net, rows, d, FALSE), *column = columns_of(net, "places", 1);
    return ifm_net_op(net, name, "ScatterND", onto, column, x, NULL);
}

/* heads: Splits [nodes, d] into [heads, nodes, width], or [heads, width, nodes] where @for_product. Padded graphs give
 * [graphs, heads, ...]. */
static const char *heads(IfmNet *net, const char *name, const char *x, gboolean for_product)
{
    const IfmTransformerSizes *sizes = &of(net)->sizes;
    const gboolean is_padded = ifm_transformer_is_padded(of(net));
    const gint64 h = sizes->num_heads, width = sizes->hidden_dim / h;
    const gint64 dims[] = { of(net)->num_graphs, is_padded ? of(net)->most_nodes : sizes->num_nodes, h, width };
    const char *to = ifm_net_ints(net, "layers.attention.heads", is_padded ? 4 : 3, is_padded ? dims : dims + 1);
    if (is_padded)
        x = padded(net, within(net, name, "padded"), x);
    x = ifm_net_op(net, within(net, name, "parted"), "Reshape", x, to, NULL);
    return ifm_net_op(net, within(net, name, "heads"),
                      is_padded ? (for_product ? "Transpose perm=[0,2,3,1]" : "Transpose perm=[0,2,1,3]")
                                : (for_product ? "Transpose perm=[1,2,0]" : "Transpose perm=[1,0,2]"),
                      x, NULL);
}

/* together: The inverse of heads(). */
static const char *together(IfmNet *net, const char *x)
{
    const gboolean is_padded = ifm_transformer_is_padded(of(net));
    const gint64 rows = is_padded ? of(net)->num_graphs * of(net)->most_nodes : of(net)->sizes.num_nodes;
    const char *flat = ifm_net_ints(net, "layers.attention.flat", 2, (gint64[]){ rows, of(net)->sizes.hidden_dim });
    x = ifm_net_op(net, in_layer(net, "attention.turned"),
                   is_padded ? "Transpose perm=[0,2,1,3]" : "Transpose perm=[1,0,2]", x, NULL);
    x = ifm_net_op(net, in_layer(net, "attention.together"), "Reshape", x, flat, NULL);
    return is_padded ? rows_at(net, in_layer(net, "attention.unpadded"), x, "places") : x;
}

static const char *attend_densely(IfmNet *net, const char *q, const char *k, const char *v)
{
    q = heads(net, q, q, FALSE);
    k = heads(net, k, k, TRUE);
    v = heads(net, v, v, FALSE);
    const char *scores = scaled(net, ifm_net_op(net, in_layer(net, "attention.scores"), "MatMul", q, k, NULL));
    if (ifm_transformer_is_padded(of(net)))
        scores = ifm_net_op(net, in_layer(net, "attention.masked"), "Add", scores, "bias", NULL);
    const char *shares = ifm_net_op(net, in_layer(net, "attention.softmax"), "Softmax axis=-1", scores, NULL);
    return together(net, ifm_net_op(net, in_layer(net, "attention.values"), "MatMul", shares, v, NULL));
}

/* softmax_at_ends: Softmax over the edges that end in each node, for each head: [edges, heads]. The sum of a node without
 * edges is 0, but no edge divides by it. */
static const char *softmax_at_ends(IfmNet *net, const char *scores)
{
    const gint64 n = of(net)->sizes.num_nodes, h = of(net)->sizes.num_heads;
    const char *ends = ends_of(net, 1);
    const char *max = scattered(net, in_layer(net, "attention.most"), scores, ends, n, h, TRUE);
    max = rows_at(net, in_layer(net, "attention.most.edges"), max, ends);
    const char *shifted = ifm_net_op(net, in_layer(net, "attention.shifted"), "Sub", scores, max, NULL);
    const char *powers = ifm_net_op(net, in_layer(net, "attention.exp"), "Exp", shifted, NULL);
    const char *sum = sum_at_ends(net, in_layer(net, "attention.sum"), powers, h);
    sum = rows_at(net, in_layer(net, "attention.sum.edges"), sum, ends);
    return ifm_net_op(net, in_layer(net, "attention.softmax"), "Div", powers, sum, NULL);
}

static const char *attend_along_edges(IfmNet *net, const char *q, const char *k, const char *v)
{
    const IfmTransformerSizes *sizes = &of(net)->sizes;
    const gint64 e = sizes->num_edges, h = sizes->num_heads;
    const char *partitioned = ifm_net_ints(net, "layers.attention.heads", 3, (gint64[]){ e, h, sizes->hidden_dim / h });
    const char *single = ifm_net_ints(net, "layers.attention.single", 3, (gint64[]){ e, h, 1 });
    const char *flat = ifm_net_ints(net, "layers.attention.flat", 2, (gint64[]){ e, sizes->hidden_dim });
    const char *last = ifm_net_ints(net, "layers.attention.last", 1, (gint64[]){ 2 });
    q = rows_at(net, within(net, q, "edges"), q, ends_of(net, 1));
    k = rows_at(net, within(net, k, "edges"), k, ends_of(net, 0));
    v = rows_at(net, within(net, v, "edges"), v, ends_of(net, 0));
    const char *products = ifm_net_op(net, in_layer(net, "attention.products"), "Mul", q, k, NULL);
    products = ifm_net_op(net, in_layer(net, "attention.parted"), "Reshape", products, partitioned, NULL);
    const char *scores = ifm_net_op(net, in_layer(net, "attention.scores"), "ReduceSum keepdims=0", products, last, NULL);
    const char *shares = softmax_at_ends(net, scaled(net, scores));
    shares = ifm_net_op(net, in_layer(net, "attention.shares"), "Reshape", shares, single, NULL);
    v = ifm_net_op(net, within(net, v, "heads"), "Reshape", v, partitioned, NULL);
    const char *values = ifm_net_op(net, in_layer(net, "attention.weighted"), "Mul", v, shares, NULL);
    values = ifm_net_op(net, in_layer(net, "attention.together"), "Reshape", values, flat, NULL);
    return sum_at_ends(net, in_layer(net, "attention.values"), values, sizes->hidden_dim);
}

/* Without edges q, k and v exist, so that all models have the same weights, but no node reads them. */
static const char *attention(IfmNet *net, const char *x)
{
    const gint64 d = of(net)->sizes.hidden_dim;
    const char *q = linear(net, in_layer(net, "attention.q"), x, d, d), *values;
    const char *k = linear(net, in_layer(net, "attention.k"), x, d, d);
    const char *v = linear(net, in_layer(net, "attention.v"), x, d, d);
    if (of(net)->attention == IFM_ATTENTION_DENSE)
        values = attend_densely(net, q, k, v);
    else
        values = of(net)->sizes.num_edges > 0 ? attend_along_edges(net, q, k, v) : no_sums(net);
    return linear(net, in_layer(net, "attention.output"), values, d, d);
}

/* --- a layer, and all of them ------------------------------------------------------------------------------------- */

static const char *feed_forward(IfmNet *net, const char *x)
{
    const IfmTransformerSizes *sizes = &of(net)->sizes;
    const char *hidden = linear(net, in_layer(net, "ffn.linear1"), x, sizes->hidden_dim, sizes->ffn_dim);
    hidden = ifm_net_op(net, in_layer(net, "ffn.gelu"), "Gelu", hidden, NULL);
    hidden = dropped(net, in_layer(net, "ffn.hidden"), hidden);
    const char *y = linear(net, in_layer(net, "ffn.linear2"), hidden, sizes->ffn_dim, sizes->hidden_dim);
    return dropped(net, in_layer(net, "ffn"), y);
}

static const char *layer(IfmNet *net, const char *x)
{
    static const char *(*const kinds[])(
        IfmNet *, const char *) = { [IFM_MESSAGE_GIN] = gin, [IFM_MESSAGE_GCN] = gcn, [IFM_MESSAGE_SAGE] = sage };
    const IfmMessagePassing mpnn = of(net)->sizes.mpnn;
    const char *attended = dropped(net, in_layer(net, "attention"), attention(net, x));
    const char *a = normalised_sum(net, in_layer(net, "norm.attention"), x, attended);
    if (mpnn != IFM_MESSAGE_NONE)
    {
        const char *passed = dropped(net, in_layer(net, "mpnn"), kinds[mpnn](net, x));
        const char *other = normalised_sum(net, in_layer(net, "norm.mpnn"), x, passed);
        a = ifm_net_op(net, in_layer(net, "norm.join"), "Add", a, other, NULL);
    }
    return normalised_sum(net, in_layer(net, "norm.ffn"), a, feed_forward(net, a));
}

/* pooled: The mean over each graph's nodes. */
static const char *pooled(IfmNet *net, const char *x)
{
    if (ifm_transformer_pools(of(net)))
    {
        const char *sum =
            scattered(net, "head.sum", x, "node_graph", of(net)->num_graphs, of(net)->sizes.hidden_dim, FALSE);
        return ifm_net_op(net, "head.mean", "Mul", sum, "weights", NULL);
    }
    return ifm_net_op(net, "head.mean", "ReduceMean keepdims=1", x, ifm_net_ints(net, "head.axis", 1, (gint64[]){ 0 }),
                      NULL);
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
    const IfmTransformerSizes *sizes = &transformer->sizes;
    const gboolean has_encoding = sizes->pe != IFM_ENCODING_NONE;
    if (!ifm_transformer_check(transformer, error))
        return NULL;
    g_auto(IfmNet) net = { 0 };
    ifm_net_init(&net, sizes->mpnn != IFM_MESSAGE_NONE ? "gps" : "graph_transformer", OPSET, seed, transformer);
    add_ports(net.builder, transformer);
    const char *x = has_encoding ? ifm_net_op(&net, "input.concat", "Concat axis=1", "x", "pe", NULL) : "x";
    x = linear(&net, "input.linear", x, sizes->feature_dim + (has_encoding ? sizes->pe_dim : 0), sizes->hidden_dim);
    for (; net.layer < sizes->num_layers; net.layer++)
        x = layer(&net, x);
    if (transformer->head == IFM_HEAD_GRAPH)
        x = pooled(&net, x);
    linear_to(&net, "head.linear", x, sizes->hidden_dim, sizes->num_outputs, TRUE, "y");
    return ifm_net_finish(&net, error);
}
