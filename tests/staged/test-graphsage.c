/* GraphSAGE in stages: ports, metadata, weights, bytes and costs of all 28 ranges, against what is written out here. */
#include <stdlib.h>
#include <string.h>

#include "staged/staged-private.h"

/* Small and all different, so that none is mistaken for another. */
#define NODES 7
#define EDGES 11
#define FEATURES 5
#define HIDDEN 3

static const IfmStagedModel *graphsage(void)
{
    g_autoptr(GError) error = NULL;
    const IfmStagedModel *staged = ifm_staged_find("graphsage", &error);
    g_assert_no_error(error);
    return staged;
}

static IfmModel *build(int first, int last, gboolean dynamic, IfmScatter scatter, guint32 seed)
{
    g_autoptr(GError) error = NULL;
    IfmStageSizes sizes = { dynamic ? 0 : NODES, dynamic ? 0 : EDGES, FEATURES, HIDDEN };
    IfmModel *model = ifm_staged_build(graphsage(), first, last, &sizes, scatter, seed, &error);
    g_assert_no_error(error);
    return model;
}

/* Calls @check for each of the 28 ranges, in both forms, with each way of scattering. */
static void for_all(void (*check)(int first, int last, gboolean dynamic, IfmScatter scatter))
{
    int n = 0;
    for (int first = 1; first <= 7; first++)
        for (int last = first; last <= 7; last++, n++)
            for (int scatter = IFM_SCATTER_ND; scatter <= IFM_SCATTER_MIXED; scatter++)
                for (int dynamic = 0; dynamic <= 1; dynamic++)
                    check(first, last, dynamic, (IfmScatter)scatter);
    g_assert_cmpint(n, ==, 28);
}

/* --- ports --------------------------------------------------------------------------------------------------------------
 */

/* What each stage reads and makes, as the layer's equations have it. */
static const char *const reads[] = { NULL, "x edge_index", "x_j", "m edge_index", "edge_index", "s c", "a x", "y" };
static const char *const makes[] = { NULL, "x_j", "m", "s", "c", "a", "y", "h" };
/* All tensors, in the order of the ports, with what they are: dtype, then one letter a dimension (2 is itself). */
static const char *const tensors[][2] = {
    { "x", "f32 NF" }, { "edge_index", "i64 2E" }, { "x_j", "f32 EF" }, { "m", "f32 EH" }, { "s", "f32 NH" },
    { "c", "f32 N" },  { "a", "f32 NH" },          { "y", "f32 NH" },   { "h", "f32 NH" },
};

static gboolean has_word(const char *words, const char *word)
{
    g_auto(GStrv) list = g_strsplit(words, " ", -1);
    return g_strv_contains((const char *const *)list, word);
}

static gboolean is_read(const char *name, int first, int last)
{
    for (int stage = first; stage <= last; stage++)
        if (has_word(reads[stage], name))
            return TRUE;
    return FALSE;
}

static gboolean is_made(const char *name, int first, int last)
{
    for (int stage = first; stage <= last; stage++)
        if (g_str_equal(makes[stage], name))
            return TRUE;
    return FALSE;
}

static char *describe_port(const IfmPort *port)
{
    GString *text = g_string_new(port->name);
    g_string_append_printf(text, " %s", ifm_dtype_name(port->dtype));
    for (int i = 0; i < port->rank; i++)
        if (port->dims[i] >= 0)
            g_string_append_printf(text, " %d", (int)port->dims[i]);
        else
            g_string_append_printf(text, " %s", port->dim_names[i]);
    return g_string_free(text, FALSE);
}

static char *describe_tensor(const char *const *tensor, gboolean dynamic)
{
    GString *text = g_string_new(tensor[0]);
    g_string_append_printf(text, " %.3s", tensor[1]);
    for (const char *letter = tensor[1] + 4; *letter != '\0'; letter++)
        switch (*letter)
        {
        case 'N':
            g_string_append_printf(text, dynamic ? " nodes" : " %d", NODES);
            break;
        case 'E':
            g_string_append_printf(text, dynamic ? " edges" : " %d", EDGES);
            break;
        default:
            g_string_append_printf(text, " %d", *letter == 'F' ? FEATURES : *letter == 'H' ? HIDDEN : 2);
        }
    return g_string_free(text, FALSE);
}

static void check_ports(int first, int last, gboolean dynamic, IfmScatter scatter)
{
    g_autoptr(IfmModel) model = build(first, last, dynamic, scatter, 1);
    gsize n_inputs = 0, n_outputs = 0;
    gboolean has_nodes = FALSE;
    for (gsize i = 0; i < G_N_ELEMENTS(tensors); i++)
    {
        g_autofree char *expected = describe_tensor(tensors[i], dynamic);
        gboolean made = is_made(tensors[i][0], first, last);
        if (is_read(tensors[i][0], first, last) && !made)
        {
            g_autofree char *found = describe_port(ifm_model_input(model, n_inputs++));
            g_assert_cmpstr(found, ==, expected);
            has_nodes |= strchr(tensors[i][1], 'N') != NULL;
        }
        if (made && (is_read(tensors[i][0], last + 1, 7) || g_str_equal(tensors[i][0], makes[last])))
        {
            g_autofree char *found = describe_port(ifm_model_output(model, n_outputs++));
            g_assert_cmpstr(found, ==, expected);
        }
    }
    gboolean sums = first <= 4 && last >= 3;
    if (dynamic && sums && !has_nodes)
        g_assert_cmpstr(ifm_model_input(model, n_inputs++)->name, ==, "zeros");
    g_assert_cmpuint(ifm_model_n_inputs(model), ==, n_inputs);
    g_assert_cmpuint(ifm_model_n_outputs(model), ==, n_outputs);
}

static void test_ports(void)
{
    for_all(check_ports);
}

/* --- metadata -----------------------------------------------------------------------------------------------------------
 */

static int split_of(const IfmModel *model, const char *port)
{
    g_autofree char *key = g_strdup_printf("inferometer.split.%s", port);
    const char *text = ifm_model_metadata(model, key);
    g_assert_nonnull(text);
    return atoi(text);
}

static void check_metadata(int first, int last, gboolean dynamic, IfmScatter scatter)
{
    g_autoptr(IfmModel) model = build(first, last, dynamic, scatter, 1);
    g_autofree char *stage = first == last ? g_strdup_printf("%d", first) : g_strdup_printf("%d-%d", first, last);
    g_assert_cmpstr(ifm_model_metadata(model, "inferometer.staged_model"), ==, "graphsage");
    g_assert_cmpstr(ifm_model_metadata(model, "inferometer.stage"), ==, stage);
    g_assert_cmpstr(ifm_model_metadata(model, "inferometer.size.nodes"), ==, dynamic ? NULL : "7");
    g_assert_cmpstr(ifm_model_metadata(model, "inferometer.size.edges"), ==, dynamic ? NULL : "11");
    gboolean has_edges = FALSE;
    for (gsize i = 0; i < ifm_model_n_inputs(model); i++)
    {
        const char *name = ifm_model_input(model, i)->name;
        int axis = g_str_equal(name, "edge_index") ? 1 : g_str_equal(name, "x") && first == 1 ? -1 : 0;
        g_assert_cmpint(split_of(model, name), ==, axis);
        has_edges |= g_str_equal(name, "edge_index");
    }
    for (gsize i = 0; i < ifm_model_n_outputs(model); i++)
        g_assert_cmpint(split_of(model, ifm_model_output(model, i)->name), ==, 0);
    g_assert_cmpstr(ifm_model_metadata(model, "inferometer.range.edge_index"), ==, has_edges && !dynamic ? "0 7" : NULL);
}

static void test_metadata(void)
{
    for_all(check_metadata);
}

/* Seeded inputs are such as a graph has: node numbers in range, and nothing but zeros to begin with. */
static void test_inputs(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModel) fixed = build(3, 4, FALSE, IFM_SCATTER_ND, 1);
    g_autoptr(IfmModel) open = build(4, 4, TRUE, IFM_SCATTER_ND, 1);
    const IfmDimBinding bindings[] = { { "nodes", 50 }, { "edges", 9 } };
    IfmTensor inputs[2]; /* edge_index and m, edge_index and zeros */
    gint64 max = 0;
    g_assert_true(ifm_model_make_inputs(fixed, NULL, 0, 3, inputs, &error));
    for (int i = 0; i < 2 * EDGES; i++)
    {
        gint64 node = ((const gint64 *)inputs[0].data)[i];
        g_assert_true(node >= 0 && node < NODES);
        max = MAX(max, node);
    }
    g_assert_cmpint(max, >, 1);
    ifm_tensor_clear(&inputs[0]);
    ifm_tensor_clear(&inputs[1]);
    g_assert_true(ifm_model_make_inputs(open, bindings, 2, 3, inputs, &error));
    for (int i = 0; i < 50; i++)
        g_assert_cmpfloat(((const float *)inputs[1].data)[i], ==, 0);
    ifm_tensor_clear(&inputs[0]);
    ifm_tensor_clear(&inputs[1]);
}

/* --- weights ------------------------------------------------------------------------------------------------------------
 */

static void assert_same_weight(const IfmModel *model, const IfmModel *whole, const char *name, gint64 n)
{
    IfmTensor a, b;
    g_assert_true(ifm_model_initializer(model, name, &a) && ifm_model_initializer(whole, name, &b));
    g_assert_cmpint(ifm_tensor_n_elements(&a), ==, n);
    g_assert_cmpmem(a.data, a.size_bytes, b.data, b.size_bytes);
}

static gboolean is_within(int stage, int first, int last)
{
    return first <= stage && stage <= last;
}

/* Every range has the weights of the whole, in every form; floats that are no weights are the ones of max(c, 1) and of what
 * is counted. */
static void check_weights(int first, int last, gboolean dynamic, IfmScatter scatter)
{
    g_autoptr(IfmModel) model = build(first, last, dynamic, scatter, 1);
    g_autoptr(IfmModel) whole = build(1, 7, FALSE, IFM_SCATTER_ND, 1);
    gint64 n = 0;
    if (is_within(2, first, last))
    {
        assert_same_weight(model, whole, "W", FEATURES * HIDDEN);
        n += FEATURES * HIDDEN;
    }
    if (is_within(6, first, last))
    {
        assert_same_weight(model, whole, "W_l", HIDDEN * HIDDEN);
        assert_same_weight(model, whole, "b", HIDDEN);
        assert_same_weight(model, whole, "W_r", FEATURES * HIDDEN);
        n += HIDDEN * HIDDEN + HIDDEN + FEATURES * HIDDEN;
    }
    n += is_within(4, first, last) + is_within(5, first, last);
    g_assert_cmpint(ifm_model_n_parameters(model), ==, n);
}

static void test_weights(void)
{
    for_all(check_weights);
    g_autoptr(IfmModel) one = build(2, 2, FALSE, IFM_SCATTER_ND, 1);
    g_autoptr(IfmModel) other = build(2, 2, FALSE, IFM_SCATTER_ND, 2);
    IfmTensor a, b;
    g_assert_true(ifm_model_initializer(one, "W", &a) && ifm_model_initializer(other, "W", &b));
    g_assert_cmpint(memcmp(a.data, b.data, a.size_bytes), !=, 0);
}

/* --- nodes and costs ----------------------------------------------------------------------------------------------------
 */

/* What a node computes, from what: equal for two nodes that do the same work. */
static char *work_of(const IfmNode *node)
{
    GString *text = g_string_new(node->op_type);
    for (gsize i = 0; i < node->n_inputs; i++)
        g_string_append_printf(text, " %s", node->inputs[i]);
    return g_string_free(text, FALSE);
}

/* Fused, no work is done twice, and every node bears the name of a stage of the range. */
static void check_nodes(int first, int last, gboolean dynamic, IfmScatter scatter)
{
    g_autoptr(IfmModel) model = build(first, last, dynamic, scatter, 1);
    g_autoptr(GHashTable) done = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (gsize i = 0; i < ifm_model_n_nodes(model); i++)
    {
        const IfmNode *node = ifm_model_node(model, i);
        gboolean named = FALSE;
        for (int stage = first; stage <= last; stage++)
        {
            g_autofree char *prefix = g_strdup_printf("%s.", graphsage()->stages[stage - 1].name);
            named |= g_str_has_prefix(node->name, prefix);
        }
        g_assert_true(named);
        g_assert_true(g_hash_table_add(done, work_of(node)));
    }
}

/* What the models are made of, node by node. */
static void test_nodes(void)
{
    static const struct
    {
        int first, last;
        gboolean dynamic;
        IfmScatter scatter;
        const char *nodes;
    } cases[] = {
        { 1, 1, TRUE, IFM_SCATTER_ND, "Gather Gather" },
        { 2, 2, TRUE, IFM_SCATTER_ND, "MatMul" },
        { 3, 3, FALSE, IFM_SCATTER_ND, "Gather Unsqueeze ConstantOfShape ScatterND" },
        { 3, 3, TRUE, IFM_SCATTER_ND, "Gather Unsqueeze Shape Concat ConstantOfShape ScatterND" },
        { 3, 3, FALSE, IFM_SCATTER_ELEMENTS, "Gather Unsqueeze ConstantOfShape Expand ScatterElements" },
        { 4, 4, FALSE, IFM_SCATTER_ND, "Gather Unsqueeze ConstantOfShape Expand ScatterND" },
        { 4, 4, TRUE, IFM_SCATTER_ND, "Gather Unsqueeze Shape Expand ScatterND" },
        { 4, 4, TRUE, IFM_SCATTER_ELEMENTS, "Gather Shape Expand ScatterElements" },
        { 3, 4, FALSE, IFM_SCATTER_MIXED,
          "Gather Unsqueeze ConstantOfShape ScatterND ConstantOfShape Expand ScatterElements" },
        { 5, 7, TRUE, IFM_SCATTER_ND, "Max Unsqueeze Div Gemm Gemm Relu" },
        { 1, 7, FALSE, IFM_SCATTER_ND,
          "Gather Gather MatMul Gather Unsqueeze ConstantOfShape ScatterND ConstantOfShape Expand ScatterND Max Unsqueeze "
          "Div Gemm Gemm Relu" },
        { 1, 7, TRUE, IFM_SCATTER_ND,
          "Gather Gather MatMul Gather Unsqueeze Shape Concat ConstantOfShape ScatterND ConstantOfShape Shape Expand "
          "ScatterND Max Unsqueeze Div Gemm Gemm Relu" },
    };
    for_all(check_nodes);
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    {
        g_autoptr(IfmModel) model = build(cases[i].first, cases[i].last, cases[i].dynamic, cases[i].scatter, 1);
        g_autoptr(GString) nodes = g_string_new(NULL);
        for (gsize node = 0; node < ifm_model_n_nodes(model); node++)
            g_string_append_printf(nodes, "%s%s", node > 0 ? " " : "", ifm_model_node(model, node)->op_type);
        g_assert_cmpstr(nodes->str, ==, cases[i].nodes);
    }
}

static void check_costs(int first, int last, gboolean dynamic, IfmScatter scatter)
{
    const gint64 n = NODES, e = EDGES, f = FEATURES, h = HIDDEN, update = n * h * h + n * f * h;
    const gint64 macs[] = { 0, 0, e * f * h, 0, 0, 0, update, 0 };
    const gint64 flop[] = { 0, 0, 2 * e * f * h, e * h, e, n + n * h, 2 * update + 2 * n * h, n * h };
    gint64 all_macs = 0, all_flop = 0;
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModel) model = build(first, last, dynamic, scatter, 1);
    const IfmDimBinding bindings[] = { { "nodes", NODES }, { "edges", EDGES } };
    g_autoptr(IfmAnalysis) analysis = ifm_model_analyse(model, bindings, 2, &error);
    g_assert_no_error(error);
    for (int stage = first; stage <= last; stage++)
    {
        all_macs += macs[stage];
        all_flop += flop[stage];
    }
    IfmNodeCost total;
    gsize n_covered;
    ifm_analysis_total(analysis, &total, &n_covered);
    g_assert_cmpuint(n_covered, ==, ifm_model_n_nodes(model));
    g_assert_cmpint(total.macs, ==, all_macs);
    g_assert_cmpint(total.flop, ==, all_flop);
}

static void test_costs(void)
{
    for_all(check_costs);
}

/* --- bytes --------------------------------------------------------------------------------------------------------------
 */

/* Each stage's inputs as the tables count them, with numbers put in: 1000 nodes, 5000 edges, 500 features, 256 hidden. */
static void test_table_bytes(void)
{
    const IfmStageSizes sizes = { 1000, 5000, 500, 256 };
    const gint64 edge_index = 80000;
    const gint64 expected[] = { 2000000 + edge_index,
                                10000000 + edge_index,
                                5120000 + edge_index,
                                1024000 + edge_index,
                                1024000 + 4000,
                                1024000,
                                1024000 };
    g_assert_cmpuint(graphsage()->n_stages, ==, G_N_ELEMENTS(expected));
    for (gsize i = 0; i < G_N_ELEMENTS(expected); i++)
    {
        g_assert_cmpint(graphsage()->stages[i].number, ==, i + 1);
        g_assert_cmpint(graphsage()->stages[i].table_bytes(&sizes), ==, expected[i]);
    }
}

static void test_io_bytes(void)
{
    const IfmStageSizes sizes = { 1000, 5000, 500, 256 };
    const gint64 x = 2000000, index = 80000, x_j = 10000000, m = 5120000, row = 1024000, c = 4000;
    static const struct
    {
        int first, last;
        gint64 read, written;
    } cases[] = {
        { 1, 1, 2000000 + 80000, 10000000 },
        { 2, 2, 10000000, 5120000 },
        { 3, 3, 5120000 + 80000, 1024000 },
        { 4, 4, 80000, 4000 },
        { 5, 5, 1024000 + 4000, 1024000 },
        { 6, 6, 1024000 + 2000000, 1024000 },
        { 7, 7, 1024000, 1024000 },
        { 1, 7, 2000000 + 80000, 1024000 },
        { 1, 3, 2000000 + 80000, 1024000 },
        { 2, 4, 10000000 + 80000, 1024000 + 4000 },
        { 3, 6, 2000000 + 80000 + 5120000, 1024000 },
        { 4, 5, 80000 + 1024000, 1024000 },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    {
        gint64 read, written;
        ifm_staged_io_bytes(graphsage(), cases[i].first, cases[i].last, &sizes, &read, &written);
        g_assert_cmpint(read, ==, cases[i].read);
        g_assert_cmpint(written, ==, cases[i].written);
    }
    const struct
    {
        const char *name;
        gint64 bytes;
    } tensors_of[] = { { "x", x },     { "edge_index", index },
                       { "x_j", x_j }, { "m", m },
                       { "s", row },   { "c", c },
                       { "a", row },   { "y", row },
                       { "h", row } };
    for (gsize i = 0; i < G_N_ELEMENTS(tensors_of); i++)
    {
        const IfmBoundary *boundary = ifm_staged_boundary(graphsage(), tensors_of[i].name);
        g_assert_nonnull(boundary);
        g_assert_cmpint(ifm_boundary_bytes(boundary, &sizes), ==, tensors_of[i].bytes);
    }
    g_assert_null(ifm_staged_boundary(graphsage(), "zeros"));
}

/* x is needed whole by stage 1 alone; each part takes its own rows of it for stage 6. */
static void test_split(void)
{
    static const struct
    {
        int first, last;
        const char *name;
        int axis;
    } cases[] = { { 1, 1, "x", -1 },         { 6, 6, "x", 0 },          { 1, 7, "x", -1 },  { 3, 7, "x", 0 },
                  { 1, 1, "edge_index", 1 }, { 3, 4, "edge_index", 1 }, { 2, 2, "x_j", 0 }, { 5, 5, "c", 0 } };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
        g_assert_cmpint(ifm_staged_split_axis(graphsage(), cases[i].first, cases[i].last, cases[i].name), ==,
                        cases[i].axis);
}

/* --- parts --------------------------------------------------------------------------------------------------------------
 */

#define SOURCES 13

static IfmModel *build_part(int first, int last, gboolean dynamic, GArray **ports)
{
    g_autoptr(GError) error = NULL;
    IfmStageSizes sizes = { dynamic ? 0 : NODES, dynamic ? 0 : EDGES, FEATURES, HIDDEN };
    IfmModel *model =
        ifm_staged_build_part(graphsage(), first, last, &sizes, dynamic ? 0 : SOURCES, IFM_SCATTER_MIXED, 1, ports, &error);
    g_assert_no_error(error);
    return model;
}

/* add_expected: What one tensor of the layer is to a part: x whole for stage 1, by its own rows for stage 6. */
static void add_expected(GPtrArray *expected, const char *const *tensor, int first, int last, gboolean dynamic)
{
    if (!g_str_equal(tensor[0], "x"))
    {
        g_ptr_array_add(expected, describe_tensor(tensor, dynamic));
        return;
    }
    const char *nodes = dynamic ? "nodes" : "7", *sources = dynamic ? "sources" : "13";
    gboolean whole = first == 1, own = first <= 6 && 6 <= last;
    if (whole)
        g_ptr_array_add(expected, g_strdup_printf("x f32 %s 5", sources));
    if (own)
        g_ptr_array_add(expected, g_strdup_printf("%s f32 %s 5", whole ? "x.part" : "x", nodes));
}

static gboolean reads_nodes(int first, int last)
{
    for (gsize i = 0; i < G_N_ELEMENTS(tensors); i++)
        if (is_read(tensors[i][0], first, last) && !is_made(tensors[i][0], first, last) &&
            strchr(tensors[i][1], 'N') != NULL && !(g_str_equal(tensors[i][0], "x") && last < 6))
            return TRUE;
    return FALSE;
}

static void check_part_ports(int first, int last, gboolean dynamic)
{
    g_autoptr(GArray) ports = NULL;
    g_autoptr(IfmModel) model = build_part(first, last, dynamic, &ports);
    g_autoptr(GPtrArray) expected = g_ptr_array_new_with_free_func(g_free);
    for (gsize i = 0; i < G_N_ELEMENTS(tensors); i++)
        if (is_read(tensors[i][0], first, last) && !is_made(tensors[i][0], first, last))
            add_expected(expected, tensors[i], first, last, dynamic);
    if (dynamic && first <= 4 && last >= 3 && !reads_nodes(first, last))
        g_ptr_array_add(expected, g_strdup("zeros f32 nodes"));
    g_assert_cmpuint(ifm_model_n_inputs(model), ==, expected->len);
    g_assert_cmpuint(ports->len, ==, expected->len);
    for (guint i = 0; i < expected->len; i++)
    {
        g_autofree char *found = describe_port(ifm_model_input(model, i));
        const IfmStagedPort *port = &g_array_index(ports, IfmStagedPort, i);
        gboolean whole = g_str_equal(port->name, "x") && first == 1;
        g_assert_cmpstr(found, ==, g_ptr_array_index(expected, i));
        g_assert_cmpstr(port->name, ==, ifm_model_input(model, i)->name);
        g_assert_cmpint(port->whole, ==, whole);
        g_assert_cmpint(split_of(model, port->name), ==, whole ? -1 : g_str_equal(port->name, "edge_index") ? 1 : 0);
        if (port->boundary == NULL)
            g_assert_cmpstr(port->name, ==, "zeros");
        else
            g_assert_true(g_str_has_prefix(port->name, port->boundary->name));
    }
}

static void test_part_ports(void)
{
    for (int first = 1; first <= 7; first++)
        for (int last = first; last <= 7; last++)
            for (int dynamic = 0; dynamic <= 1; dynamic++)
                check_part_ports(first, last, dynamic);
}

/* What needs nothing whole is the same file; what does has the whole's weights, outputs and nothing computed in vain. */
static void test_part_models(void)
{
    for (int first = 1; first <= 7; first++)
        for (int last = first; last <= 7; last++)
            for (int dynamic = 0; dynamic <= 1; dynamic++)
            {
                g_autoptr(IfmModel) part = build_part(first, last, dynamic, NULL);
                g_autoptr(IfmModel) whole = build(first, last, dynamic, IFM_SCATTER_MIXED, 1);
                gboolean same = g_str_equal(ifm_model_digest(part, NULL), ifm_model_digest(whole, NULL));
                g_assert_cmpint(same, ==, first > 1);
                g_assert_cmpint(ifm_model_n_parameters(part), ==, ifm_model_n_parameters(whole));
                g_assert_cmpuint(ifm_model_n_outputs(part), ==, ifm_model_n_outputs(whole));
                for (gsize i = 0; i < ifm_model_n_outputs(part); i++)
                {
                    g_autofree char *a = describe_port(ifm_model_output(part, i));
                    g_autofree char *b = describe_port(ifm_model_output(whole, i));
                    g_assert_cmpstr(a, ==, b);
                }
                if (first > 1)
                    continue;
                g_assert_cmpstr(ifm_model_metadata(part, "inferometer.size.sources"), ==, dynamic ? NULL : "13");
                /* drawn destinations must be below the nodes, 7, drawn sources below 13 */
                g_assert_cmpstr(ifm_model_metadata(part, "inferometer.range.edge_index"), ==, dynamic ? NULL : "0 7");
            }
}

/* More nodes than sources, and fixed nodes with free sources: no node number may be drawn that a source might not have. */
static void test_part_ranges(void)
{
    g_autoptr(GError) error = NULL;
    IfmStageSizes sizes = { NODES, EDGES, FEATURES, HIDDEN };
    g_autoptr(IfmModel) few = ifm_staged_build_part(graphsage(), 1, 7, &sizes, 4, IFM_SCATTER_MIXED, 1, NULL, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(ifm_model_metadata(few, "inferometer.range.edge_index"), ==, "0 4");
    g_autoptr(IfmModel) open = ifm_staged_build_part(graphsage(), 1, 3, &sizes, 0, IFM_SCATTER_MIXED, 1, NULL, &error);
    g_assert_no_error(error);
    g_assert_null(ifm_model_metadata(open, "inferometer.range.edge_index"));
    g_assert_cmpstr(ifm_model_input(open, 0)->dim_names[0], ==, "sources");
    g_assert_null(ifm_staged_build_part(graphsage(), 1, 7, &sizes, -1, IFM_SCATTER_MIXED, 1, NULL, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_nonnull(strstr(error->message, "sources=-1 is not a number from 0 to"));
    g_clear_error(&error);
    g_assert_null(ifm_staged_build_part(graphsage(), 3, 8, &sizes, 5, IFM_SCATTER_MIXED, 1, NULL, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
}

/* --- refused ------------------------------------------------------------------------------------------------------------
 */

static void test_refused(void)
{
    static const struct
    {
        int first, last;
        IfmStageSizes sizes;
        const char *said;
    } cases[] = {
        { 0, 1, { 1, 1, 1, 1 }, "stages 0 to 1 are no range of its stages 1 to 7" },
        { 1, 8, { 1, 1, 1, 1 }, "stages 1 to 8" },
        { 3, 2, { 1, 1, 1, 1 }, "stages 3 to 2" },
        { 1, 7, { -1, 1, 1, 1 }, "nodes=-1 is not a number from 0 to" },
        { 1, 7, { 1, G_MAXINT64, 1, 1 }, "edges=9223372036854775807" },
        { 1, 7, { 1, 1, 0, 1 }, "features=0 is not a number from 1 to 65536" },
        { 1, 7, { 1, 1, 1, 65537 }, "hidden=65537" },
        { 1, 7, { 1, 1, 65536, 65536 }, "'W'" }, /* more than a file can hold */
    };
    g_autoptr(GError) error = NULL;
    g_assert_null(ifm_staged_find("graphsag", &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_nonnull(strstr(error->message, "did you mean \"graphsage\""));
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    {
        g_autoptr(GError) wrong = NULL;
        g_assert_null(
            ifm_staged_build(graphsage(), cases[i].first, cases[i].last, &cases[i].sizes, IFM_SCATTER_ND, 1, &wrong));
        g_assert_error(wrong, IFM_ERROR, IFM_ERROR_INVALID);
        if (strstr(wrong->message, cases[i].said) == NULL)
            g_error("expected '%s' in: %s", cases[i].said, wrong->message);
    }
}

/* The zoo's row builds the same model. */
static void test_zoo_row(void)
{
    g_autoptr(GError) error = NULL;
    static const char *const settings[] = { "nodes=7", "edges=11", "features=5", "hidden=3",
                                            "first=3", "last=6",   "scatter=1",  NULL };
    g_autoptr(IfmModel) row = ifm_zoo_build("graphsage", settings, 1, &error);
    g_assert_no_error(error);
    g_autoptr(IfmModel) direct = build(3, 6, FALSE, IFM_SCATTER_ELEMENTS, 1);
    g_assert_cmpstr(ifm_model_digest(row, NULL), ==, ifm_model_digest(direct, NULL));
    static const char *const wrong[] = { "first=5", "last=4", NULL };
    g_assert_null(ifm_zoo_build("graphsage", wrong, 1, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_cmpint(ifm_scatter_for("openvino"), ==, IFM_SCATTER_MIXED);
    g_assert_cmpint(ifm_scatter_for("no-such-engine"), ==, IFM_SCATTER_MIXED);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/staged/graphsage/ports", test_ports);
    g_test_add_func("/staged/graphsage/metadata", test_metadata);
    g_test_add_func("/staged/graphsage/inputs", test_inputs);
    g_test_add_func("/staged/graphsage/weights", test_weights);
    g_test_add_func("/staged/graphsage/nodes", test_nodes);
    g_test_add_func("/staged/graphsage/costs", test_costs);
    g_test_add_func("/staged/graphsage/table-bytes", test_table_bytes);
    g_test_add_func("/staged/graphsage/io-bytes", test_io_bytes);
    g_test_add_func("/staged/graphsage/split", test_split);
    g_test_add_func("/staged/graphsage/part-ports", test_part_ports);
    g_test_add_func("/staged/graphsage/part-models", test_part_models);
    g_test_add_func("/staged/graphsage/part-ranges", test_part_ranges);
    g_test_add_func("/staged/graphsage/refused", test_refused);
    g_test_add_func("/staged/graphsage/zoo-row", test_zoo_row);
    return g_test_run();
}
