/*
 * GraphSAGE's stages on every engine, against a layer written out here in plain C and double precision: each of the 28
 * ranges fed with the right values of what enters it, the seven stages chained, both forms, each way of scattering, a
 * padded graph in a model of fixed sizes, and graphs computed by parts.
 */
#include <dataset/dataset.h>
#include <staged/staged.h>

#include "fixture.h"

enum
{
    NODES = 23,
    EDGES = 61,
    FEATURES = 10,
    HIDDEN = 6,
    MORE_NODES = 5, /* of the padded graph */
    MORE_EDGES = 9,
};

/* --- the layer ----------------------------------------------------------------------------------------------------------
 */

/* Weights, read from the model of all stages. */
typedef struct
{
    double w[FEATURES][HIDDEN], w_l[HIDDEN][HIDDEN], b[HIDDEN], w_r[FEATURES][HIDDEN];
} Weights;

/* Layer: one graph through one layer: every tensor between two stages. */
typedef struct
{
    gint64 source[EDGES], destination[EDGES];
    double x[NODES][FEATURES], x_j[EDGES][FEATURES], m[EDGES][HIDDEN];
    double s[NODES][HIDDEN], c[NODES], a[NODES][HIDDEN], y[NODES][HIDDEN], h[NODES][HIDDEN];
} Layer;

static const IfmStagedModel *graphsage(void)
{
    return ifm_staged_find("graphsage", NULL);
}

static IfmModel *build(int first, int last, gint64 nodes, gint64 edges, IfmScatter scatter)
{
    g_autoptr(GError) error = NULL;
    IfmStageSizes sizes = { nodes, edges, FEATURES, HIDDEN };
    IfmModel *model = ifm_staged_build(graphsage(), first, last, &sizes, scatter, 5, &error);
    g_assert_no_error(error);
    return model;
}

static void read_weight(const IfmModel *model, const char *name, double *to, gint64 n)
{
    IfmTensor tensor;
    g_assert_true(ifm_model_initializer(model, name, &tensor));
    g_assert_cmpint(ifm_tensor_n_elements(&tensor), ==, n);
    for (gint64 i = 0; i < n; i++)
    {
        float value;
        memcpy(&value, (const char *)tensor.data + 4 * i, sizeof value);
        to[i] = value;
    }
}

static void weights_init(Weights *weights)
{
    g_autoptr(IfmModel) model = build(1, 7, NODES, EDGES, IFM_SCATTER_ND);
    read_weight(model, "W", &weights->w[0][0], FEATURES * HIDDEN);
    read_weight(model, "W_l", &weights->w_l[0][0], HIDDEN * HIDDEN);
    read_weight(model, "b", weights->b, HIDDEN);
    read_weight(model, "W_r", &weights->w_r[0][0], FEATURES * HIDDEN);
}

/* Whole numbers for features; two edges alike, a loop, and nodes without an edge into them or any at all. */
static void layer_draw(Layer *layer)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(17);
    for (int v = 0; v < NODES; v++)
        for (int k = 0; k < FEATURES; k++)
            layer->x[v][k] = g_rand_int_range(random, -4, 5);
    for (int e = 0; e < EDGES; e++)
    {
        layer->source[e] = g_rand_int_range(random, 0, NODES - 1); /* the last node has no edge at all */
        do
            layer->destination[e] = g_rand_int_range(random, 0, NODES - 1);
        while (layer->destination[e] % 5 == 0); /* nor these one into them */
    }
    layer->source[1] = layer->source[0];
    layer->destination[1] = layer->destination[0];
    layer->source[2] = layer->destination[2];
}

/* Edge by edge: what is gathered, its message, the sums and the counts. */
static void layer_aggregate(Layer *layer, const Weights *weights)
{
    for (int e = 0; e < EDGES; e++)
    {
        gint64 to = layer->destination[e];
        layer->c[to]++;
        memcpy(layer->x_j[e], layer->x[layer->source[e]], sizeof layer->x_j[e]);
        for (int i = 0; i < HIDDEN; i++)
        {
            for (int k = 0; k < FEATURES; k++)
                layer->m[e][i] += layer->x_j[e][k] * weights->w[k][i];
            layer->s[to][i] += layer->m[e][i];
        }
    }
}

static void layer_update(Layer *layer, const Weights *weights)
{
    for (int v = 0; v < NODES; v++)
        for (int i = 0; i < HIDDEN; i++)
            layer->a[v][i] = layer->c[v] > 0 ? layer->s[v][i] / layer->c[v] : 0;
    for (int v = 0; v < NODES; v++)
        for (int i = 0; i < HIDDEN; i++)
        {
            double sum = weights->b[i];
            for (int k = 0; k < HIDDEN; k++)
                sum += layer->a[v][k] * weights->w_l[k][i];
            for (int k = 0; k < FEATURES; k++)
                sum += layer->x[v][k] * weights->w_r[k][i];
            layer->y[v][i] = sum;
            layer->h[v][i] = sum > 0 ? sum : 0;
        }
}

/* --- its tensors --------------------------------------------------------------------------------------------------------
 */

/* Values: tensors by the names of the ports. */
typedef GHashTable Values;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Values, g_hash_table_unref)

static void tensor_free(void *tensor)
{
    ifm_tensor_clear(tensor);
    g_free(tensor);
}

static Values *values_new(void)
{
    return g_hash_table_new_full(g_str_hash, g_str_equal, NULL, tensor_free);
}

static IfmTensor *add_tensor(Values *values, const char *name, IfmDtype dtype, int rank, gint64 rows, gint64 columns)
{
    IfmTensor *tensor = g_new0(IfmTensor, 1);
    g_assert_true(ifm_tensor_init(tensor, dtype, rank, (gint64[]){ rows, columns }, NULL));
    g_hash_table_replace(values, (gpointer)name, tensor);
    return tensor;
}

static void add_floats(Values *values, const char *name, int rank, gint64 rows, gint64 columns, const double *from)
{
    IfmTensor *tensor = add_tensor(values, name, IFM_DTYPE_F32, rank, rows, columns);
    for (gint64 i = 0; i < rows * columns; i++)
        ((float *)tensor->data)[i] = from != NULL ? (float)from[i] : 0;
}

static Values *layer_values(const Layer *layer)
{
    Values *values = values_new();
    add_floats(values, "x", 2, NODES, FEATURES, &layer->x[0][0]);
    gint64 *index = add_tensor(values, "edge_index", IFM_DTYPE_I64, 2, 2, EDGES)->data;
    memcpy(index, layer->source, sizeof layer->source);
    memcpy(index + EDGES, layer->destination, sizeof layer->destination);
    add_floats(values, "x_j", 2, EDGES, FEATURES, &layer->x_j[0][0]);
    add_floats(values, "m", 2, EDGES, HIDDEN, &layer->m[0][0]);
    add_floats(values, "s", 2, NODES, HIDDEN, &layer->s[0][0]);
    add_floats(values, "c", 1, NODES, 1, layer->c);
    add_floats(values, "a", 2, NODES, HIDDEN, &layer->a[0][0]);
    add_floats(values, "y", 2, NODES, HIDDEN, &layer->y[0][0]);
    add_floats(values, "h", 2, NODES, HIDDEN, &layer->h[0][0]);
    add_floats(values, "zeros", 1, NODES, 1, NULL);
    return values;
}

/* The layer's tensors as they should be; that they test anything is asserted too. */
static Values *true_values(void)
{
    Weights weights;
    Layer *layer = g_new0(Layer, 1);
    int n_alone = 0, n_positive = 0;
    weights_init(&weights);
    layer_draw(layer);
    layer_aggregate(layer, &weights);
    layer_update(layer, &weights);
    for (int v = 0; v < NODES; v++)
    {
        n_alone += layer->c[v] == 0;
        for (int i = 0; i < HIDDEN; i++)
            n_positive += layer->h[v][i] > 0;
    }
    g_assert_cmpint(n_alone, >=, 6);
    g_assert_true(n_positive > NODES * HIDDEN / 5 && n_positive < NODES * HIDDEN * 4 / 5);
    Values *values = layer_values(layer);
    g_free(layer);
    return values;
}

/* --- running ------------------------------------------------------------------------------------------------------------
 */

/* run_model: Feeds @values by name and puts copies of the outputs into @to. */
static void run_model(Fixture *fixture, IfmModel *model /* (transfer full) */, Values *values, Values *to)
{
    g_autoptr(GError) error = NULL;
    fixture_compile(fixture, model, NULL);
    for (gsize i = 0; i < ifm_model_n_inputs(model); i++)
    {
        const IfmTensor *tensor = g_hash_table_lookup(values, ifm_model_input(model, i)->name);
        g_assert_nonnull(tensor);
        ifm_request_set_input(fixture->request, i, tensor, &error);
        g_assert_no_error(error);
    }
    run(fixture->request);
    for (gsize i = 0; i < ifm_model_n_outputs(model); i++)
    {
        IfmTensor output;
        const char *name = ifm_staged_boundary(graphsage(), ifm_model_output(model, i)->name)->name;
        ifm_request_output(fixture->request, i, &output, &error);
        g_assert_no_error(error);
        IfmTensor *copy =
            add_tensor(to, name, output.dtype, output.rank, output.shape[0], output.rank > 1 ? output.shape[1] : 1);
        g_assert_cmpuint(copy->size_bytes, ==, output.size_bytes);
        memcpy(copy->data, output.data, output.size_bytes);
    }
    fixture_drop(fixture);
}

/* What is gathered, counted, or whole numbers that are added, is exact. */
static void compare_values(Values *found, Values *right, const char *what)
{
    GHashTableIter iterator;
    gpointer name, tensor;
    g_hash_table_iter_init(&iterator, found);
    while (g_hash_table_iter_next(&iterator, &name, &tensor))
    {
        IfmTensorDifference worst;
        gboolean exact = g_str_equal(name, "x_j") || g_str_equal(name, "c");
        if (!ifm_tensor_compare(tensor, g_hash_table_lookup(right, name), exact ? 0 : RTOL, exact ? 0 : ATOL, &worst))
            g_error("%s: %s: %" G_GINT64_FORMAT " elements differ, worst %" G_GINT64_FORMAT ": %g, should be %g", what,
                    (const char *)name, worst.n_different, worst.worst_index, worst.worst_value, worst.worst_reference);
    }
}

#define FORMS 6 /* the ways of scattering, static and dynamic each */
static IfmModel *build_form(int first, int last, int form)
{
    gboolean dynamic = form % 2 == 1;
    return build(first, last, dynamic ? 0 : NODES, dynamic ? 0 : EDGES, (IfmScatter)(form / 2));
}

static char *describe(int first, int last, int form)
{
    static const char *const ways[] = { [IFM_SCATTER_ND] = "ScatterND",
                                        [IFM_SCATTER_ELEMENTS] = "ScatterElements",
                                        [IFM_SCATTER_MIXED] = "ScatterND and ScatterElements" };
    return g_strdup_printf("stages %d-%d, %s, %s", first, last, form % 2 == 1 ? "dynamic" : "static", ways[form / 2]);
}

/* --- tests --------------------------------------------------------------------------------------------------------------
 */

static void test_ranges(gconstpointer device)
{
    Fixture fixture;
    if (!fixture_open(&fixture, device))
        return;
    g_autoptr(Values) right = true_values();
    for (int first = 1; first <= 7; first++)
        for (int last = first; last <= 7; last++)
            for (int form = 0; form < FORMS; form++)
            {
                g_autoptr(Values) found = values_new();
                g_autofree char *what = describe(first, last, form);
                run_model(&fixture, build_form(first, last, form), right, found);
                g_assert_cmpuint(g_hash_table_size(found), >=, 1);
                compare_values(found, right, what);
            }
    fixture_close(&fixture);
}

/* Each stage gets what the ones before it made. */
static void test_chain(gconstpointer device)
{
    Fixture fixture;
    if (!fixture_open(&fixture, device))
        return;
    g_autoptr(Values) right = true_values();
    for (int form = 0; form < FORMS; form++)
    {
        g_autoptr(Values) given = true_values();
        static const char *const inner[] = { "x_j", "m", "s", "c", "a", "y", "h" };
        for (gsize i = 0; i < G_N_ELEMENTS(inner); i++)
            g_hash_table_remove(given, inner[i]);
        for (int stage = 1; stage <= 7; stage++)
        {
            run_model(&fixture, build_form(stage, stage, form), given, given);
            g_assert_nonnull(g_hash_table_lookup(given, graphsage()->stages[stage - 1].outputs[0]));
        }
        g_autofree char *what = describe(1, 7, form);
        compare_values(given, right, what);
    }
    fixture_close(&fixture);
}

/* Whole numbers: gathered, added and counted without any rounding, so nothing may differ in a bit. */
static void test_exact(gconstpointer device)
{
    Fixture fixture;
    if (!fixture_open(&fixture, device))
        return;
    g_autoptr(Values) right = true_values();
    g_autoptr(GRand) random = g_rand_new_with_seed(4);
    float *m = add_tensor(right, "m", IFM_DTYPE_F32, 2, EDGES, HIDDEN)->data;
    float *s = add_tensor(right, "s", IFM_DTYPE_F32, 2, NODES, HIDDEN)->data;
    const gint64 *destination = (const gint64 *)((IfmTensor *)g_hash_table_lookup(right, "edge_index"))->data + EDGES;
    for (int i = 0; i < EDGES * HIDDEN; i++)
        m[i] = (float)g_rand_int_range(random, -1000, 1001);
    for (int i = 0; i < EDGES * HIDDEN; i++)
        s[destination[i / HIDDEN] * HIDDEN + i % HIDDEN] += m[i];
    for (int form = 0; form < FORMS; form++)
    {
        g_autoptr(Values) found = values_new();
        run_model(&fixture, build_form(1, 1, form), right, found);
        run_model(&fixture, build_form(3, 4, form), right, found);
        static const char *const exact[] = { "x_j", "s", "c" };
        for (gsize i = 0; i < G_N_ELEMENTS(exact); i++)
        {
            const IfmTensor *value = g_hash_table_lookup(found, exact[i]), *truth = g_hash_table_lookup(right, exact[i]);
            g_assert_true(ifm_tensor_compare(value, truth, 0, 0, NULL));
        }
    }
    fixture_close(&fixture);
}

/* --- padding ------------------------------------------------------------------------------------------------------------
 */

/* add_padded: The tensor with more rows; @filler in what is added. */
static void add_padded(Values *to, Values *from, const char *name, gint64 more_rows, float filler)
{
    const IfmTensor *small = g_hash_table_lookup(from, name);
    gint64 columns = small->rank > 1 ? small->shape[1] : 1;
    float *large = add_tensor(to, name, IFM_DTYPE_F32, small->rank, small->shape[0] + more_rows, columns)->data;
    memcpy(large, small->data, small->size_bytes);
    for (gint64 i = small->shape[0] * columns; i < (small->shape[0] + more_rows) * columns; i++)
        large[i] = filler;
}

/* The graph made to fit a larger model; what the added nodes and edges hold is as bad as it can be. */
static Values *padded_values(Values *from)
{
    g_autoptr(GError) error = NULL;
    Values *to = values_new();
    const IfmGraph graph = { .name = (char *)"padded",
                             .n_nodes = NODES,
                             .n_edges = EDGES,
                             .edge_index = ((IfmTensor *)g_hash_table_lookup(from, "edge_index"))->data,
                             .n_graphs = 1 };
    g_autoptr(IfmGraph) padded = ifm_graph_pad(&graph, NODES + MORE_NODES, EDGES + MORE_EDGES, &error);
    g_assert_no_error(error);
    IfmTensor *index = add_tensor(to, "edge_index", IFM_DTYPE_I64, 2, 2, EDGES + MORE_EDGES);
    memcpy(index->data, padded->edge_index, index->size_bytes);
    add_padded(to, from, "x", MORE_NODES, 1e6f);
    add_padded(to, from, "m", MORE_EDGES, 1e6f);
    return to;
}

/* The rows that were there before are the same to the bit (or within @rtol), whatever was added. */
static void compare_first_rows(Values *padded, Values *plain, const char *name, double rtol)
{
    const IfmTensor *small = g_hash_table_lookup(plain, name);
    IfmTensor view;
    IfmTensor *large = g_hash_table_lookup(padded, name);
    g_assert_cmpint(large->shape[0], ==, NODES + MORE_NODES);
    g_assert_true(ifm_tensor_wrap(&view, small->dtype, small->rank, small->shape, large->data, NULL));
    if (rtol > 0)
        assert_equal(&view, small);
    else
        g_assert_cmpmem(view.data, view.size_bytes, small->data, small->size_bytes);
}

static void test_padded(gconstpointer device)
{
    Fixture fixture;
    if (!fixture_open(&fixture, device))
        return;
    g_autoptr(Values) given = true_values();
    float *m = ((IfmTensor *)g_hash_table_lookup(given, "m"))->data;
    for (int i = 0; i < EDGES * HIDDEN; i++)
        m[i] = (float)(i % 37 - 18);
    g_autoptr(Values) more = padded_values(given);
    for (int scatter = IFM_SCATTER_ND; scatter <= IFM_SCATTER_MIXED; scatter++)
    {
        g_autoptr(Values) plain = values_new(), padded = values_new();
        static const int ranges[][2] = { { 3, 4 }, { 1, 7 } };
        for (gsize i = 0; i < G_N_ELEMENTS(ranges); i++)
        {
            const gint64 nodes = NODES + MORE_NODES, edges = EDGES + MORE_EDGES;
            int first = ranges[i][0], last = ranges[i][1];
            run_model(&fixture, build(first, last, NODES, EDGES, (IfmScatter)scatter), given, plain);
            run_model(&fixture, build(first, last, nodes, edges, (IfmScatter)scatter), more, padded);
        }
        compare_first_rows(padded, plain, "c", 0);
        compare_first_rows(padded, plain, "s", 0);
        compare_first_rows(padded, plain, "h", RTOL);
        const float *counts = ((IfmTensor *)g_hash_table_lookup(padded, "c"))->data;
        g_assert_cmpfloat(counts[NODES + MORE_NODES - 1], ==, MORE_EDGES);
        g_assert_cmpfloat(counts[NODES], ==, 0);
    }
    fixture_close(&fixture);
}

/* --- parts --------------------------------------------------------------------------------------------------------------
 */

/* Part: destinations @low to @high - 1, and the edges into them, in the order they had. */
typedef struct
{
    gint64 low, high, n_edges;
    int edges[EDGES];
} Part;

static Part part_of(Values *whole, gint64 low, gint64 high)
{
    Part part = { .low = low, .high = high };
    const gint64 *index = ((IfmTensor *)g_hash_table_lookup(whole, "edge_index"))->data;
    for (int e = 0; e < EDGES; e++)
        if (low <= index[EDGES + e] && index[EDGES + e] < high)
            part.edges[part.n_edges++] = e;
    return part;
}

/* place_of: where row @i of a part's tensor lies in the whole's. */
static gint64 place_of(const Part *part, const IfmBoundary *boundary, gint64 i)
{
    return g_str_equal(boundary->dims[0], "edges") ? part->edges[i] : part->low + i;
}

static gint64 n_rows(const Part *part, const IfmBoundary *boundary)
{
    return g_str_equal(boundary->dims[0], "edges") ? part->n_edges : part->high - part->low;
}

static gsize row_bytes(const IfmTensor *tensor)
{
    return tensor->size_bytes / (gsize)tensor->shape[0];
}

/* What a part's port is fed with: all rows of what comes whole, else its own, destinations counted from its first. */
static void add_part_input(Values *to, Values *whole, const Part *part, const IfmStagedPort *port)
{
    const IfmTensor *from = port->boundary != NULL ? g_hash_table_lookup(whole, port->boundary->name) : NULL;
    if (from == NULL)
        add_floats(to, port->name, 1, part->high - part->low, 1, NULL);
    else if (from->dtype == IFM_DTYPE_I64)
    {
        const gint64 *index = from->data;
        gint64 *own = add_tensor(to, port->name, IFM_DTYPE_I64, 2, 2, part->n_edges)->data;
        for (gint64 i = 0; i < part->n_edges; i++)
        {
            own[i] = index[part->edges[i]];
            own[part->n_edges + i] = index[EDGES + part->edges[i]] - part->low;
        }
    }
    else
    {
        gint64 rows = port->whole ? NODES : n_rows(part, port->boundary);
        char *own = add_tensor(to, port->name, from->dtype, from->rank, rows, from->rank > 1 ? from->shape[1] : 1)->data;
        for (gint64 i = 0; i < rows; i++)
        {
            gint64 place = port->whole ? i : place_of(part, port->boundary, i);
            memcpy(own + (gsize)i * row_bytes(from), (char *)from->data + (gsize)place * row_bytes(from), row_bytes(from));
        }
    }
}

/* A part's outputs take their places among the whole's. */
static void put_together(Values *whole, Values *found, const Part *part)
{
    GHashTableIter iterator;
    gpointer name, value;
    g_hash_table_iter_init(&iterator, found);
    while (g_hash_table_iter_next(&iterator, &name, &value))
    {
        const IfmTensor *tensor = value;
        const IfmBoundary *boundary = ifm_staged_boundary(graphsage(), name);
        gint64 all = g_str_equal(boundary->dims[0], "edges") ? EDGES : NODES;
        IfmTensor *to = g_hash_table_lookup(whole, name);
        if (to == NULL)
            to = add_tensor(whole, boundary->name, tensor->dtype, tensor->rank, all,
                            tensor->rank > 1 ? tensor->shape[1] : 1);
        g_assert_cmpint(tensor->shape[0], ==, n_rows(part, boundary));
        for (gint64 i = 0; i < tensor->shape[0]; i++)
            memcpy((char *)to->data + (gsize)place_of(part, boundary, i) * row_bytes(to),
                   (char *)tensor->data + (gsize)i * row_bytes(tensor), row_bytes(tensor));
    }
}

/* run_parts: Stages @first to @last by parts that end at @cuts, put together in @to. */
static void run_parts(Fixture *fixture, int first, int last, gboolean dynamic, const gint64 *cuts, Values *given,
                      Values *to)
{
    for (gint64 low = 0; low < NODES; low = *cuts++)
    {
        g_autoptr(GError) error = NULL;
        g_autoptr(GArray) ports = NULL;
        g_autoptr(Values) inputs = values_new(), found = values_new();
        Part part = part_of(given, low, *cuts);
        IfmStageSizes sizes = { dynamic ? 0 : *cuts - low, dynamic ? 0 : part.n_edges, FEATURES, HIDDEN };
        IfmModel *model = ifm_staged_build_part(graphsage(), first, last, &sizes, dynamic ? 0 : NODES, IFM_SCATTER_MIXED, 5,
                                                &ports, &error);
        g_assert_no_error(error);
        g_assert_cmpuint(ports->len, ==, ifm_model_n_inputs(model));
        for (guint i = 0; i < ports->len; i++)
        {
            const IfmStagedPort *port = &g_array_index(ports, IfmStagedPort, i);
            g_assert_cmpstr(port->name, ==, ifm_model_input(model, i)->name);
            add_part_input(inputs, given, &part, port);
        }
        run_model(fixture, model, inputs, found);
        put_together(to, found, &part);
    }
}

/* Two halves, three parts, and parts of a single node with no edge into it, one of them without any at all. */
static const gint64 cuts_table[][5] = { { 11, NODES }, { 6, 14, NODES }, { 1, 10, 22, NODES } };

/* Every range: the parts' outputs put together are the whole graph's. */
static void test_parts(gconstpointer device)
{
    Fixture fixture;
    if (!fixture_open(&fixture, device))
        return;
    g_autoptr(Values) right = true_values();
    for (int first = 1; first <= 7; first++)
        for (int last = first; last <= 7; last++)
            for (gsize i = 0; i < 2 * G_N_ELEMENTS(cuts_table); i++)
            {
                gboolean dynamic = i % 2 == 1;
                const gint64 *cuts = cuts_table[i / 2];
                /* A fixed size of 0 edges is none: such a part has a free form, or is padded. */
                if (!dynamic && cuts[0] == 1)
                    continue;
                g_autoptr(Values) found = values_new();
                g_autofree char *form = describe(first, last, 2 * IFM_SCATTER_MIXED + dynamic);
                g_autofree char *what = g_strdup_printf("%s, parts %d", form, (int)(i / 2));
                run_parts(&fixture, first, last, dynamic, cuts, right, found);
                g_assert_cmpuint(g_hash_table_size(found), >=, 1);
                compare_values(found, right, what);
            }
    fixture_close(&fixture);
}

/* Messages of whole numbers: not a bit differs from the whole graph's sums. */
static void test_parts_exact(gconstpointer device)
{
    Fixture fixture;
    if (!fixture_open(&fixture, device))
        return;
    g_autoptr(Values) given = true_values();
    float *m = ((IfmTensor *)g_hash_table_lookup(given, "m"))->data;
    for (int i = 0; i < EDGES * HIDDEN; i++)
        m[i] = (float)(i * 7919 % 2001 - 1000);
    for (gsize i = 0; i < G_N_ELEMENTS(cuts_table); i++)
    {
        g_autoptr(Values) whole = values_new(), parts = values_new();
        run_model(&fixture, build(3, 4, 0, 0, IFM_SCATTER_MIXED), given, whole);
        run_parts(&fixture, 3, 4, TRUE, cuts_table[i], given, parts);
        static const char *const exact[] = { "s", "c" };
        for (gsize j = 0; j < G_N_ELEMENTS(exact); j++)
        {
            const IfmTensor *a = g_hash_table_lookup(parts, exact[j]), *b = g_hash_table_lookup(whole, exact[j]);
            g_assert_cmpmem(a->data, a->size_bytes, b->data, b->size_bytes);
        }
    }
    fixture_close(&fixture);
}

/* --- several threads ----------------------------------------------------------------------------------------------------
 */

enum
{
    ROWS = 1000,
    MANY = 10000,
    WIDE = 256,
    REPEATS = 15,
};

/* Sums of whole numbers, so that one lost addition shows. */
static Values *many_values(void)
{
    Values *values = values_new();
    g_autoptr(GRand) random = g_rand_new_with_seed(6);
    gint64 *index = add_tensor(values, "edge_index", IFM_DTYPE_I64, 2, 2, MANY)->data;
    float *m = add_tensor(values, "m", IFM_DTYPE_F32, 2, MANY, WIDE)->data;
    float *s = add_tensor(values, "s", IFM_DTYPE_F32, 2, ROWS, WIDE)->data;
    float *c = add_tensor(values, "c", IFM_DTYPE_F32, 1, ROWS, 1)->data;
    memset(s, 0, ROWS * WIDE * sizeof *s);
    memset(c, 0, ROWS * sizeof *c);
    for (int e = 0; e < MANY; e++)
    {
        index[e] = 0;
        gint64 to = index[MANY + e] = g_rand_int_range(random, 0, ROWS);
        c[to]++;
        for (int i = 0; i < WIDE; i++)
        {
            m[e * WIDE + i] = (float)g_rand_int_range(random, -1000, 1001);
            s[to * WIDE + i] += m[e * WIDE + i];
        }
    }
    return values;
}

/* Many rows on two threads, each way of scattering, again and again: threads that meet in a row must not lose anything. */
static void test_two_threads(gconstpointer device)
{
    g_autoptr(GError) error = NULL;
    Fixture fixture;
    if (!fixture_open(&fixture, device))
        return;
    g_autoptr(Values) right = many_values();
    IfmStageSizes sizes = { ROWS, MANY, FEATURES, WIDE };
    IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
    options.threads = 2;
    for (int scatter = IFM_SCATTER_ND; scatter <= IFM_SCATTER_MIXED; scatter++)
    {
        IfmModel *model = ifm_staged_build(graphsage(), 3, 4, &sizes, (IfmScatter)scatter, 5, &error);
        g_assert_no_error(error);
        fixture_compile(&fixture, model, &options);
        for (gsize i = 0; i < ifm_model_n_inputs(model); i++)
            g_assert_true(ifm_request_set_input(fixture.request, i,
                                                g_hash_table_lookup(right, ifm_model_input(model, i)->name), NULL));
        for (int repeat = 0; repeat < REPEATS; repeat++)
        {
            run(fixture.request);
            for (gsize i = 0; i < ifm_model_n_outputs(model); i++)
            {
                IfmTensor output;
                const IfmTensor *truth = g_hash_table_lookup(right, ifm_model_output(model, i)->name);
                g_assert_true(ifm_request_output(fixture.request, i, &output, NULL));
                g_assert_cmpmem(output.data, output.size_bytes, truth->data, truth->size_bytes);
            }
        }
        fixture_drop(&fixture);
    }
    fixture_close(&fixture);
}

/* What was done about it is said, and only where it was done. */
static void test_why_one_thread(void)
{
    g_autoptr(GError) error = NULL;
    Fixture fixture;
    if (!fixture_open(&fixture, "onnxruntime:CPU"))
        return;
    g_autoptr(Values) right = true_values();
    for (int scatter = IFM_SCATTER_ND; scatter <= IFM_SCATTER_ELEMENTS; scatter++)
    {
        IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
        options.threads = 2;
        fixture_compile(&fixture, build(3, 3, NODES, EDGES, (IfmScatter)scatter), &options);
        const IfmTensor inputs[] = { *(IfmTensor *)g_hash_table_lookup(right, ifm_model_input(fixture.model, 0)->name),
                                     *(IfmTensor *)g_hash_table_lookup(right, ifm_model_input(fixture.model, 1)->name) };
        g_autoptr(IfmEffectiveConfig) effective_config = ifm_compiled_effective_config(fixture.compiled, inputs, &error);
        g_assert_no_error(error);
        g_auto(GStrv) warnings = ifm_effective_config_warnings(effective_config, fixture.spec, &options);
        gboolean reported = FALSE;
        for (gsize i = 0; warnings[i] != NULL; i++)
            reported |= strstr(warnings[i], "loses additions") != NULL;
        g_assert_cmpint(reported, ==, scatter == IFM_SCATTER_ND);
        if (reported)
            g_assert_cmpint(effective_config->n_threads, ==, 1);
        fixture_drop(&fixture);
    }
    fixture_close(&fixture);
}

static void add_tests(const char *device)
{
    static const struct
    {
        const char *name;
        void (*test)(gconstpointer device);
    } tests[] = { { "ranges", test_ranges },          { "chain", test_chain }, { "exact", test_exact },
                  { "padded", test_padded },          { "parts", test_parts }, { "parts-exact", test_parts_exact },
                  { "two-threads", test_two_threads } };
    for (gsize i = 0; i < G_N_ELEMENTS(tests); i++)
    {
        g_autofree char *path = g_strdup_printf("/engine/graphsage/%s/%s", device, tests[i].name);
        g_test_add_data_func(path, device, tests[i].test);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    add_tests("onnxruntime:CPU");
    add_tests("openvino:CPU");
    g_test_add_func("/engine/graphsage/why-one-thread", test_why_one_thread);
    return g_test_run();
}
