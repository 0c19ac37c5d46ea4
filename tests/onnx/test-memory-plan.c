/* What graphs need in memory: graphs worked out by hand, and random ones against the definitions, tried step by step. */
#include <string.h>

#include <glib/gstdio.h>
#include <math.h>
#include <onnx/onnx.h>

#include "onnx/memory-place.h"

#define NAMES(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define F32(n) (4 * (n))

/* --- graphs of vectors ---------------------------------------------------------------------------------------------- */

static void vector_input(IfmModelBuilder *builder, const char *name, gint64 n)
{
    ifm_model_builder_input(builder, name, IFM_DTYPE_F32, 1, &n, NULL);
}

static void vector_output(IfmModelBuilder *builder, const char *name)
{
    ifm_model_builder_output(builder, name, IFM_DTYPE_F32, 1, (gint64[]){ -1 }, NULL);
}

static void op(IfmModelBuilder *builder, const char *op_type, const char *const *inputs, const char *output)
{
    gsize node = ifm_model_builder_node(builder, op_type, output, inputs, NAMES(output));
    if (g_str_equal(op_type, "Concat"))
        ifm_model_builder_int(builder, node, "axis", 0);
}

/* plan_of: @builder: (transfer full)    @model: (out) for what the plan borrows */
static void plan_of(IfmModelBuilder *builder, IfmModel **model, IfmMemoryPlan *plan)
{
    g_autoptr(IfmModelBuilder) mine = builder;
    g_autoptr(GError) error = NULL;
    *model = ifm_model_builder_finish(mine, &error);
    g_assert_no_error(error);
    g_autoptr(IfmAnalysis) analysis = ifm_model_analyse(*model, NULL, 0, &error);
    g_assert_no_error(error);
    ifm_analysis_memory(analysis, plan);
}

static void assert_lifetime(const IfmMemoryPlan *plan, guint index, const char *tensor, gint64 bytes, gssize first,
                            gssize last)
{
    g_assert_cmpuint(index, <, plan->lifetimes->len);
    const IfmLifetime *found = &g_array_index(plan->lifetimes, IfmLifetime, index);
    g_assert_cmpstr(found->tensor, ==, tensor);
    g_assert_cmpint(found->bytes, ==, bytes);
    g_assert_cmpint(found->first, ==, first);
    g_assert_cmpint(found->last, ==, last);
}

static void test_chain(void)
{
    g_autoptr(IfmModel) model = NULL;
    g_auto(IfmMemoryPlan) plan = { 0 };
    IfmModelBuilder *builder = ifm_model_builder_new("chain", 17);
    vector_input(builder, "x", 100);
    op(builder, "Relu", NAMES("x"), "a");
    op(builder, "Relu", NAMES("a"), "b");
    op(builder, "Relu", NAMES("b"), "y");
    vector_output(builder, "y");
    plan_of(builder, &model, &plan);
    g_assert_cmpuint(plan.lifetimes->len, ==, 4);
    assert_lifetime(&plan, 0, "x", 400, -1, 0);
    assert_lifetime(&plan, 1, "a", 400, 0, 1);
    assert_lifetime(&plan, 2, "b", 400, 1, 2);
    assert_lifetime(&plan, 3, "y", 400, 2, 3);
    g_assert_cmpint(plan.parameter_bytes, ==, 0);
    g_assert_cmpint(plan.input_bytes, ==, 400);
    g_assert_cmpint(plan.output_bytes, ==, 400);
    g_assert_cmpint(plan.activation_bytes, ==, 1200);
    g_assert_cmpint(plan.peak_bytes, ==, 800); /* two at a time */
    g_assert_cmpint(plan.arena_bytes, ==, 800);
    g_assert_cmpuint(plan.peak_node, ==, 0);
    g_assert_cmpuint(plan.n_unknown, ==, 0);
}

static void test_residual(void)
{
    g_autoptr(IfmModel) model = NULL;
    g_auto(IfmMemoryPlan) plan = { 0 };
    IfmModelBuilder *builder = ifm_model_builder_new("residual", 17);
    vector_input(builder, "x", 100);
    op(builder, "Relu", NAMES("x"), "a");
    op(builder, "Relu", NAMES("a"), "b");
    op(builder, "Relu", NAMES("b"), "c");
    op(builder, "Add", NAMES("c", "a"), "y");
    vector_output(builder, "y");
    plan_of(builder, &model, &plan);
    assert_lifetime(&plan, 1, "a", 400, 0, 3);
    g_assert_cmpint(plan.peak_bytes, ==, 1200); /* a, b, c */
    g_assert_cmpuint(plan.peak_node, ==, 2);    /* and again at 3: a, c, y */
    g_assert_cmpint(plan.arena_bytes, ==, 1200);
}

/* Two branches of unlike widths, joined: the order of the nodes decides. */
static void test_branches(void)
{
    g_autoptr(IfmModel) model = NULL;
    g_auto(IfmMemoryPlan) plan = { 0 };
    IfmModelBuilder *builder = ifm_model_builder_new("branches", 17);
    vector_input(builder, "x", 10);
    op(builder, "Concat", NAMES("x", "x", "x"), "wide");        /* 0: x 10, wide 30 */
    op(builder, "Concat", NAMES("wide", "wide"), "wider");      /* 1: x, wide, wider 60 */
    op(builder, "Relu", NAMES("wider"), "left");                /* 2: x, wide, wider, left 60: 160 */
    op(builder, "Relu", NAMES("x"), "right");                   /* 3: x, wide, left, right 10: 110 */
    op(builder, "Concat", NAMES("left", "right", "wide"), "y"); /* 4: wide, left, right, y 100: 200 */
    vector_output(builder, "y");
    plan_of(builder, &model, &plan);
    assert_lifetime(&plan, 0, "x", F32(10), -1, 3);
    assert_lifetime(&plan, 1, "wide", F32(30), 0, 4);
    assert_lifetime(&plan, 2, "wider", F32(60), 1, 2);
    assert_lifetime(&plan, 3, "left", F32(60), 2, 4);
    assert_lifetime(&plan, 4, "right", F32(10), 3, 4);
    assert_lifetime(&plan, 5, "y", F32(100), 4, 5);
    g_assert_cmpint(plan.peak_bytes, ==, F32(200));
    g_assert_cmpuint(plan.peak_node, ==, 4);
    g_assert_cmpint(plan.activation_bytes, ==, F32(30 + 60 + 60 + 10 + 100));
}

/* Outputs live on; one may be an input, or listed twice; an input nobody reads is there before the first node alone. */
static void test_outputs_and_inputs(void)
{
    g_autoptr(IfmModel) model = NULL;
    g_auto(IfmMemoryPlan) plan = { 0 };
    IfmModelBuilder *builder = ifm_model_builder_new("outputs", 17);
    vector_input(builder, "x", 8);
    vector_input(builder, "through", 16);
    vector_input(builder, "idle", 32);
    op(builder, "Relu", NAMES("x"), "early");
    op(builder, "Relu", NAMES("early"), "dead");
    op(builder, "Relu", NAMES("x"), "late");
    vector_output(builder, "early");
    vector_output(builder, "late");
    vector_output(builder, "through");
    plan_of(builder, &model, &plan);
    assert_lifetime(&plan, 0, "x", F32(8), -1, 2);
    assert_lifetime(&plan, 1, "through", F32(16), -1, 3);
    assert_lifetime(&plan, 2, "idle", F32(32), -1, -1);
    assert_lifetime(&plan, 3, "early", F32(8), 0, 3);
    assert_lifetime(&plan, 4, "dead", F32(8), 1, 1);
    assert_lifetime(&plan, 5, "late", F32(8), 2, 3);
    g_assert_cmpint(plan.input_bytes, ==, F32(8 + 16 + 32));
    g_assert_cmpint(plan.output_bytes, ==, F32(8 + 8 + 16));
    g_assert_cmpint(plan.peak_bytes, ==, F32(8 + 16 + 32)); /* before the first node; later 40 at most */
    g_assert_cmpuint(plan.peak_node, ==, 0);
}

static void test_unknown(void)
{
    g_autoptr(IfmModel) model = NULL;
    g_auto(IfmMemoryPlan) plan = { 0 };
    IfmModelBuilder *builder = ifm_model_builder_new("unknown", 17);
    vector_input(builder, "x", 100);
    op(builder, "Relu", NAMES("x"), "a");
    op(builder, "NoSuchOperator", NAMES("a"), "b");
    op(builder, "Relu", NAMES("b"), "c");
    op(builder, "Relu", NAMES("x"), "y");
    vector_output(builder, "y");
    plan_of(builder, &model, &plan);
    g_assert_cmpuint(plan.n_unknown, ==, 2);
    assert_lifetime(&plan, 2, "b", -1, 1, 2);
    assert_lifetime(&plan, 3, "c", -1, 2, 2);
    g_assert_cmpint(plan.peak_bytes, ==, 800); /* of what is known */
    g_assert_cmpint(plan.activation_bytes, ==, 800);
}

static void test_no_nodes(void)
{
    g_autoptr(IfmModel) model = NULL;
    g_auto(IfmMemoryPlan) plan = { 0 };
    IfmModelBuilder *builder = ifm_model_builder_new("wire", 17);
    vector_input(builder, "x", 7);
    vector_output(builder, "x");
    plan_of(builder, &model, &plan);
    assert_lifetime(&plan, 0, "x", F32(7), -1, 0);
    g_assert_cmpint(plan.peak_bytes, ==, F32(7));
    g_assert_cmpint(plan.arena_bytes, ==, F32(7));
    g_assert_cmpuint(plan.peak_node, ==, 0);
}

/* --- random graphs -------------------------------------------------------------------------------------------------- */

#define MAX_TENSORS 60

/* Dag: what the test itself knows of a random graph. */
typedef struct
{
    gsize n_tensors, n_nodes;
    gint64 elements[MAX_TENSORS];
    gssize made[MAX_TENSORS];
    gboolean read[MAX_TENSORS][MAX_TENSORS], is_output[MAX_TENSORS];
    gboolean alive[MAX_TENSORS][MAX_TENSORS + 2]; /* when + 1; by is_alive() */
} Dag;

/* draw_node: Gather takes any number of elements out of a tensor, Concat joins two. */
static void draw_node(Dag *dag, IfmModelBuilder *builder, GRand *random)
{
    gsize made = dag->n_tensors, node = dag->n_nodes++;
    gsize a = (gsize)g_rand_int_range(random, 0, (gint)made), b = (gsize)g_rand_int_range(random, 0, (gint)made);
    g_autofree char *name = g_strdup_printf("t%zu", made), *from = g_strdup_printf("t%zu", a);
    g_autofree char *other = g_strdup_printf("t%zu", b), *index = g_strdup_printf("index%zu", made);
    dag->read[a][node] = TRUE;
    if (g_rand_boolean(random) || dag->elements[a] + dag->elements[b] > 100)
    {
        g_auto(IfmTensor) indices = IFM_TENSOR_INIT;
        dag->elements[made] = g_rand_int_range(random, 0, 30);
        g_assert_true(ifm_tensor_init(&indices, IFM_DTYPE_I64, 1, &dag->elements[made], NULL));
        ifm_model_builder_weight(builder, index, &indices);
        op(builder, "Gather", NAMES(from, index), name);
    }
    else
    {
        dag->read[b][node] = TRUE;
        dag->elements[made] = dag->elements[a] + dag->elements[b];
        op(builder, "Concat", NAMES(from, other), name);
    }
    dag->made[made] = (gssize)node;
    dag->n_tensors++;
}

static IfmModelBuilder *draw_dag(Dag *dag, GRand *random)
{
    IfmModelBuilder *builder = ifm_model_builder_new("random", 17);
    gsize n_inputs = (gsize)g_rand_int_range(random, 1, 5), n_nodes = (gsize)g_rand_int_range(random, 0, 50);
    *dag = (Dag){ 0 };
    for (; dag->n_tensors < n_inputs; dag->n_tensors++)
    {
        g_autofree char *name = g_strdup_printf("t%zu", dag->n_tensors);
        dag->elements[dag->n_tensors] = g_rand_int_range(random, 1, 20);
        dag->made[dag->n_tensors] = -1;
        vector_input(builder, name, dag->elements[dag->n_tensors]);
    }
    while (dag->n_nodes < n_nodes)
        draw_node(dag, builder, random);
    for (gsize t = 0; t < dag->n_tensors; t++)
    {
        g_autofree char *name = g_strdup_printf("t%zu", t);
        dag->is_output[t] = t + 1 == dag->n_tensors || g_rand_int_range(random, 0, 8) == 0;
        if (dag->is_output[t])
            vector_output(builder, name);
    }
    return builder;
}

/* is_alive: by the words of the header, asked of one tensor and one node (-1: before any, n_nodes: after all). */
static gboolean is_alive(const Dag *dag, gsize tensor, gssize when)
{
    if (when < dag->made[tensor])
        return FALSE;
    if (when == dag->made[tensor] || dag->is_output[tensor])
        return TRUE;
    for (gsize node = 0; node < dag->n_nodes; node++)
        if (dag->read[tensor][node] && (gssize)node >= when)
            return TRUE;
    return FALSE;
}

static void find_alive(Dag *dag)
{
    for (gsize t = 0; t < dag->n_tensors; t++)
        for (gssize when = -1; when <= (gssize)dag->n_nodes; when++)
            dag->alive[t][when + 1] = is_alive(dag, t, when);
}

static gboolean overlap(const Dag *dag, gsize a, gsize b)
{
    for (gsize step = 0; step <= dag->n_nodes + 1; step++)
        if (dag->alive[a][step] && dag->alive[b][step])
            return TRUE;
    return FALSE;
}

/* naive_arena: Each tensor is tried at every address, byte by byte of f32, beside every other. */
static gint64 naive_arena(const Dag *dag)
{
    gint64 at[MAX_TENSORS], top = 0;
    gboolean placed[MAX_TENSORS] = { FALSE };
    for (gsize n = 0; n < dag->n_tensors; n++)
    {
        gsize next = MAX_TENSORS;
        for (gsize t = 0; t < dag->n_tensors; t++) /* tensors are named in the order of their beginnings */
            if (!placed[t] && (next == MAX_TENSORS || dag->elements[t] > dag->elements[next]))
                next = t;
        gboolean clash = TRUE;
        for (at[next] = 0; clash; at[next] += clash)
        {
            clash = FALSE;
            for (gsize t = 0; t < dag->n_tensors && !clash; t++)
                clash = placed[t] && overlap(dag, t, next) && at[t] < at[next] + dag->elements[next] &&
                        at[next] < at[t] + dag->elements[t];
        }
        placed[next] = TRUE;
        top = MAX(top, at[next] + dag->elements[next]);
    }
    return F32(top);
}

static gint64 naive_peak(const Dag *dag)
{
    gint64 peak = 0;
    for (gsize step = 0; step <= dag->n_nodes + 1; step++)
    {
        gint64 alive = 0;
        for (gsize t = 0; t < dag->n_tensors; t++)
            alive += dag->alive[t][step] ? dag->elements[t] : 0;
        peak = MAX(peak, alive);
    }
    return F32(peak);
}

static void test_random_graphs(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(20);
    gsize n_above_peak = 0;
    for (int round = 0; round < 400; round++)
    {
        Dag dag;
        g_autoptr(IfmModel) model = NULL;
        g_auto(IfmMemoryPlan) plan = { 0 };
        plan_of(draw_dag(&dag, random), &model, &plan);
        find_alive(&dag);
        g_assert_cmpuint(plan.n_unknown, ==, 0);
        g_assert_cmpuint(plan.lifetimes->len, ==, dag.n_tensors);
        g_assert_cmpint(plan.peak_bytes, ==, naive_peak(&dag));
        g_assert_cmpint(plan.arena_bytes, ==, naive_arena(&dag));
        g_assert_cmpint(plan.arena_bytes, >=, plan.peak_bytes);
        n_above_peak += plan.arena_bytes > plan.peak_bytes;
        for (gsize t = 0; t < dag.n_tensors; t++)
            for (gssize when = -1; when <= (gssize)dag.n_nodes; when++)
            {
                const IfmLifetime *life = &g_array_index(plan.lifetimes, IfmLifetime, t);
                g_assert_cmpint(life->first <= when && when <= life->last, ==, dag.alive[t][when + 1]);
            }
    }
    g_assert_cmpuint(n_above_peak, >, 0); /* else the placement was never put to the test */
}

/* --- placement itself ----------------------------------------------------------------------------------------------- */

static gint64 place(const IfmMemorySpan *spans, guint n, gsize n_steps, gint64 *peak)
{
    g_autoptr(GArray) array = g_array_new(FALSE, FALSE, sizeof(IfmMemorySpan));
    gsize step;
    g_array_append_vals(array, spans, n);
    *peak = ifm_memory_peak(array, n_steps, &step);
    return ifm_memory_place(array, n_steps);
}

/* 5 lies at 0, then 4 at 5, the other 4 at 0, 3 at 4; the gap of one between the fours is too small for 2: that goes on
 * top. */
static void test_gap_too_small(void)
{
    const IfmMemorySpan spans[] = { { 5, 0, 1 }, { 4, 1, 2 }, { 4, 2, 3 }, { 3, 3, 4 }, { 2, 2, 2 } };
    gint64 peak;
    g_assert_cmpint(place(spans, G_N_ELEMENTS(spans), 5, &peak), ==, 11);
    g_assert_cmpint(peak, ==, 10);
    const IfmMemorySpan fits[] = { { 5, 0, 1 }, { 4, 1, 2 }, { 4, 2, 3 }, { 3, 3, 4 }, { 1, 2, 2 } };
    g_assert_cmpint(place(fits, G_N_ELEMENTS(fits), 5, &peak), ==, 9);
    g_assert_cmpint(peak, ==, 9);
    g_assert_cmpint(place(NULL, 0, 3, &peak), ==, 0);
    g_assert_cmpint(peak, ==, 0);
}

/* As many tensors as the largest models have: in a chain with long residuals, and all alive at once. */
static void test_many(void)
{
    enum
    {
        N = 100000
    };
    g_autofree IfmMemorySpan *spans = g_new(IfmMemorySpan, N);
    gint64 peak;
    for (gsize i = 0; i < N; i++)
        spans[i] = (IfmMemorySpan){ i % 50 == 0 ? 1000 : 10, i, MIN(i + (i % 50 == 0 ? 500 : 1), N) };
    gint64 arena = place(spans, N, N + 1, &peak);
    g_assert_cmpint(peak, ==, 11 * 1000 + 10); /* where a long one begins, eleven meet, and the short one before it */
    g_assert_cmpint(arena, ==, 11 * 1000 + 10);
    for (gsize i = 0; i < N; i++)
        spans[i] = (IfmMemorySpan){ (gint64)i, i % 3, N - i % 5 };
    g_assert_cmpint(place(spans, N, N + 1, &peak), ==, (gint64)N * (N - 1) / 2);
    g_assert_cmpint(peak, ==, (gint64)N * (N - 1) / 2);
}

static void test_too_large(void)
{
    const IfmMemorySpan spans[] = { { G_MAXINT64 - 1, 0, 1 }, { G_MAXINT64 - 2, 0, 1 }, { 7, 1, 1 } };
    gint64 peak;
    g_assert_cmpint(place(spans, G_N_ELEMENTS(spans), 2, &peak), ==, G_MAXINT64);
    g_assert_cmpint(peak, ==, G_MAXINT64);
}

/* --- what a builder does not make: subgraphs, packed and external weights, all in the wire format ------------------- */

static void put_varint(GByteArray *out, guint64 value)
{
    for (; value > 0x7f; value >>= 7)
        g_byte_array_append(out, (const guint8[]){ (guint8)(value | 0x80) }, 1);
    g_byte_array_append(out, (const guint8[]){ (guint8)value }, 1);
}

static void put_number(GByteArray *out, guint field, guint64 value)
{
    put_varint(out, field << 3);
    put_varint(out, value);
}

static void put_text(GByteArray *out, guint field, const char *text)
{
    put_varint(out, field << 3 | 2);
    put_varint(out, strlen(text));
    g_byte_array_append(out, (const guint8 *)text, (guint)strlen(text));
}

/* put: @message: (transfer full) */
static void put(GByteArray *out, guint field, GByteArray *message)
{
    put_varint(out, field << 3 | 2);
    put_varint(out, message->len);
    g_byte_array_append(out, message->data, message->len);
    g_byte_array_unref(message);
}

static GByteArray *port(const char *name, IfmDtype dtype, gint64 n)
{
    GByteArray *info = g_byte_array_new(), *type = g_byte_array_new(), *tensor = g_byte_array_new();
    GByteArray *shape = g_byte_array_new(), *dim = g_byte_array_new();
    put_number(dim, 1, (guint64)n);
    put(shape, 1, dim);
    put_number(tensor, 1, dtype);
    put(tensor, 2, shape);
    put(type, 1, tensor);
    put_text(info, 1, name);
    put(info, 2, type);
    return info;
}

static GByteArray *value_info(const char *name, gint64 n)
{
    return port(name, IFM_DTYPE_F32, n);
}

static GByteArray *named(const char *name)
{
    GByteArray *info = g_byte_array_new();
    put_text(info, 1, name);
    return info;
}

static GByteArray *node(const char *op_type, const char *const *inputs, const char *output)
{
    GByteArray *out = g_byte_array_new();
    for (; *inputs != NULL; inputs++)
        put_text(out, 1, *inputs);
    put_text(out, 2, output);
    put_text(out, 4, op_type);
    return out;
}

/* weight: of @data_type, @n elements, raw_data of @n_bytes (none where 0). */
static GByteArray *weight(const char *name, int data_type, gint64 n, gsize n_bytes)
{
    GByteArray *out = g_byte_array_new();
    put_number(out, 1, (guint64)n);
    put_number(out, 2, (guint64)data_type);
    put_text(out, 8, name);
    if (n_bytes > 0)
    {
        GByteArray *bytes = g_byte_array_new();
        g_byte_array_set_size(bytes, (guint)n_bytes);
        memset(bytes->data, 0, n_bytes);
        put(out, 9, bytes);
    }
    return out;
}

static GByteArray *model_bytes(GByteArray *graph)
{
    GByteArray *out = g_byte_array_new(), *opset = g_byte_array_new();
    put_number(opset, 2, 17);
    put_number(out, 1, 10);
    put(out, 7, graph);
    put(out, 8, opset);
    return out;
}

static void plan_of_bytes(GByteArray *bytes, IfmModel **model, IfmMemoryPlan *plan)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GBytes) whole = g_byte_array_free_to_bytes(bytes);
    *model = ifm_model_parse(whole, "bytes", &error);
    g_assert_no_error(error);
    g_autoptr(IfmAnalysis) analysis = ifm_model_analyse(*model, NULL, 0, &error);
    g_assert_no_error(error);
    ifm_analysis_memory(analysis, plan);
}

/* chain_graph: v0 = @op_type(@from), v1 = @op_type(v0), …, the last of which is the output, of @n elements. It has one
 * weight of 5 f32 and a Constant of 2 i64. */
static GByteArray *chain_graph(const char *prefix, const char *op_type, const char *from, int length, gint64 n)
{
    GByteArray *graph = g_byte_array_new(), *constant, *attribute = g_byte_array_new();
    g_autofree char *before = g_strdup(from), *name = g_strconcat(prefix, "_weight", NULL);
    g_autofree char *constant_name = g_strconcat(prefix, "_constant", NULL);
    for (int i = 0; i < length; i++)
    {
        g_autofree char *next = g_strdup_printf("%s%d", prefix, i);
        put(graph, 1, node(op_type, NAMES(before), next));
        if (i + 1 == length)
            put(graph, 12, value_info(next, n));
        g_free(before);
        before = g_steal_pointer(&next);
    }
    put_text(attribute, 1, "value");
    put_number(attribute, 20, 4);
    put(attribute, 5, weight("", IFM_DTYPE_I64, 2, 16));
    constant = node("Constant", (const char *const[]){ NULL }, constant_name);
    put(constant, 5, attribute);
    put(graph, 1, constant);
    put(graph, 5, weight(name, IFM_DTYPE_F32, 5, 20));
    return graph;
}

static GByteArray *branch(const char *name, GByteArray *graph)
{
    GByteArray *attribute = g_byte_array_new();
    put_text(attribute, 1, name);
    put_number(attribute, 20, 5);
    put(attribute, 6, graph);
    return attribute;
}

/* y = If(c) { chain of 4 on h } else { chain of 2 on h }, between h = Relu(x) and z = Relu(y). */
static GByteArray *conditional(const char *op_type, gboolean is_constant)
{
    GByteArray *graph = g_byte_array_new(), *either = node("If", NAMES("c"), "y");
    put(either, 5, branch("then_branch", chain_graph("t", op_type, "h", 4, 50)));
    put(either, 5, branch("else_branch", chain_graph("e", "Relu", "h", 2, 50)));
    put(graph, 1, node("Relu", NAMES("x"), "h"));
    put(graph, 1, either);
    put(graph, 1, node("Relu", NAMES("y"), "z"));
    if (is_constant)
        put(graph, 5, weight("c", IFM_DTYPE_BOOL, 1, 1)); /* false */
    put(graph, 11, value_info("x", 50));
    if (!is_constant)
        put(graph, 11, port("c", IFM_DTYPE_BOOL, 1));
    put(graph, 13, value_info("y", 50));
    put(graph, 12, value_info("z", 50));
    return model_bytes(graph);
}

static void test_branches_of_if(void)
{
    g_autoptr(IfmModel) model = NULL;
    g_auto(IfmMemoryPlan) plan = { 0 };
    plan_of_bytes(conditional("Relu", FALSE), &model, &plan);
    g_assert_cmpuint(plan.n_unknown, ==, 0);
    g_assert_cmpuint(plan.lifetimes->len, ==, 5); /* the model's own */
    assert_lifetime(&plan, 1, "c", 1, -1, 1);
    assert_lifetime(&plan, 2, "h", 200, 0, 1); /* the branches read it */
    assert_lifetime(&plan, 3, "y", 200, 1, 2);
    g_assert_cmpint(plan.parameter_bytes, ==, 2 * (20 + 16));
    /* In the If: c, h, y, and of t0, t1, t2 (t3 is y) two at a time. */
    g_assert_cmpint(plan.peak_bytes, ==, 801);
    g_assert_cmpuint(plan.peak_node, ==, 1);
    g_assert_cmpint(plan.arena_bytes, ==, 801);
    g_assert_cmpint(plan.activation_bytes, ==, 600 + 600); /* h, y, z; t0, t1, t2: the larger branch */
}

static void test_unknown_in_branch(void)
{
    g_autoptr(IfmModel) model = NULL;
    g_auto(IfmMemoryPlan) plan = { 0 };
    plan_of_bytes(conditional("NoSuchOperator", FALSE), &model, &plan);
    g_assert_cmpuint(plan.n_unknown, ==, 3);                   /* t0, t1, t2; y is declared */
    g_assert_cmpint(plan.peak_bytes, ==, 200 + 200 + 200 + 1); /* h, y, e0 of the other branch, c */
    g_assert_cmpint(plan.activation_bytes, ==, 600 + 200);
}

static void test_branch_not_taken(void)
{
    g_autoptr(IfmModel) model = NULL;
    g_auto(IfmMemoryPlan) plan = { 0 };
    plan_of_bytes(conditional("NoSuchOperator", TRUE), &model, &plan);
    g_assert_cmpuint(plan.n_unknown, ==, 0);
    g_assert_cmpint(plan.peak_bytes, ==, 200 + 200 + 200);
    g_assert_cmpint(plan.activation_bytes, ==, 600 + 200);
    g_assert_cmpint(plan.parameter_bytes, ==, 1 + 2 * (20 + 16)); /* they are in the model all the same */
}

/* A turn is given its number i, the condition and v; it makes b0, b1, and v_out, which is the loop's own y. */
static void test_body_of_loop(void)
{
    g_autoptr(IfmModel) model = NULL;
    g_auto(IfmMemoryPlan) plan = { 0 };
    GByteArray *body = g_byte_array_new(), *graph = g_byte_array_new(), *loop = node("Loop", NAMES("m", "c", "x"), "y");
    put(body, 1, node("Relu", NAMES("v"), "b0"));
    put(body, 1, node("Add", NAMES("b0", "x"), "b1"));
    put(body, 1, node("Identity", NAMES("go"), "go_on"));
    put(body, 1, node("Add", NAMES("b1", "b0"), "v_out"));
    for (const char *const *name = NAMES("i", "go", "v"); *name != NULL; name++)
        put(body, 11, named(*name));
    put(body, 12, named("go_on"));
    put(body, 12, named("v_out"));
    put(loop, 5, branch("body", body));
    put(graph, 1, loop);
    put(graph, 5, weight("m", IFM_DTYPE_I64, 1, 8));
    put(graph, 5, weight("c", IFM_DTYPE_BOOL, 1, 1));
    put(graph, 11, value_info("x", 50));
    put(graph, 12, value_info("y", 50));
    plan_of_bytes(model_bytes(graph), &model, &plan);
    g_assert_cmpuint(plan.n_unknown, ==, 0);
    g_assert_cmpint(plan.peak_bytes, ==, 200 + 200 + 401); /* x, y; the condition; v and b0, later b0 and b1 */
    g_assert_cmpint(plan.activation_bytes, ==, 200 + 600 + 1 + 8);
    g_assert_cmpint(plan.parameter_bytes, ==, 9);
}

/* Every way a weight can lie: packed, text, beside the model. What it takes is what its shape and type say. */
static void test_parameters(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *folder = g_dir_make_tmp("ifm-memory-XXXXXX", &error);
    g_assert_no_error(error);
    g_autofree char *path = g_build_filename(folder, "model.onnx", NULL), *data = g_build_filename(folder, "data", NULL);
    GByteArray *graph = g_byte_array_new(), *outside = weight("outside", IFM_DTYPE_F32, 1000, 0),
               *entry = g_byte_array_new();
    GByteArray *text = weight("text", IFM_DTYPE_STRING, 2, 0);
    put_text(text, 6, "seven_7");
    put_text(text, 6, "three");
    put_text(entry, 1, "location");
    put_text(entry, 2, "data");
    put(outside, 13, entry);
    put_number(outside, 14, 1);
    put(graph, 5, outside);
    put(graph, 5, text);
    put(graph, 5, weight("half", IFM_DTYPE_F16, 7, 14));
    put(graph, 5, weight("packed", 22, 5, 3)); /* 4 bits each */
    put(graph, 11, value_info("x", 1));
    put(graph, 12, value_info("x", 1));
    g_autoptr(GByteArray) bytes = model_bytes(graph);
    g_autofree char *zeros = g_malloc0(4000);
    g_assert_true(g_file_set_contents(data, zeros, 4000, NULL));
    g_assert_true(g_file_set_contents(path, (const char *)bytes->data, bytes->len, NULL));
    g_autoptr(IfmModel) model = ifm_model_open(path, &error);
    g_assert_no_error(error);
    g_autoptr(IfmAnalysis) analysis = ifm_model_analyse(model, NULL, 0, &error);
    g_assert_no_error(error);
    g_auto(IfmMemoryPlan) plan = { 0 };
    ifm_analysis_memory(analysis, &plan);
    g_assert_cmpint(plan.parameter_bytes, ==, 4000 + 7 + 5 + 14 + 3);
    g_unlink(path);
    g_unlink(data);
    g_rmdir(folder);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/onnx/memory/chain", test_chain);
    g_test_add_func("/onnx/memory/residual", test_residual);
    g_test_add_func("/onnx/memory/branches", test_branches);
    g_test_add_func("/onnx/memory/outputs-and-inputs", test_outputs_and_inputs);
    g_test_add_func("/onnx/memory/unknown", test_unknown);
    g_test_add_func("/onnx/memory/no-nodes", test_no_nodes);
    g_test_add_func("/onnx/memory/random-graphs", test_random_graphs);
    g_test_add_func("/onnx/memory/place/gap-too-small", test_gap_too_small);
    g_test_add_func("/onnx/memory/place/many", test_many);
    g_test_add_func("/onnx/memory/place/too-large", test_too_large);
    g_test_add_func("/onnx/memory/branches-of-if", test_branches_of_if);
    g_test_add_func("/onnx/memory/unknown-in-branch", test_unknown_in_branch);
    g_test_add_func("/onnx/memory/branch-not-taken", test_branch_not_taken);
    g_test_add_func("/onnx/memory/body-of-loop", test_body_of_loop);
    g_test_add_func("/onnx/memory/parameters", test_parameters);
    return g_test_run();
}
