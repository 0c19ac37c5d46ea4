/* The backward model and the training step as models: ports, names, shapes, what is refused. No engine is asked. */
#include "gradient/gradient-private.h"

#include "graph-text.h"

static IfmModel *backward(const char *text, const IfmGradientOptions *options)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModel) model = text_model(text, IFM_DTYPE_F32, FALSE, 17);
    IfmModel *derived = ifm_gradient_backward(model, options, &error);
    g_assert_no_error(error);
    return derived;
}

static char *names_of(gsize n, const IfmPort *(*port)(const IfmModel *, gsize), const IfmModel *model)
{
    GString *names = g_string_new(NULL);
    for (gsize i = 0; i < n; i++)
        g_string_append_printf(names, "%s%s", i > 0 ? " " : "", port(model, i)->name);
    return g_string_free(names, FALSE);
}

static void assert_ports(const IfmModel *model, const char *inputs, const char *outputs)
{
    g_autofree char *in = names_of(ifm_model_n_inputs(model), ifm_model_input, model);
    g_autofree char *out = names_of(ifm_model_n_outputs(model), ifm_model_output, model);
    g_assert_cmpstr(in, ==, inputs);
    g_assert_cmpstr(out, ==, outputs);
}

/* assert_inferred: Every output has, by the rules of shapes, the shape that its port says. */
static void assert_inferred(IfmModel *model, const IfmDimBinding *bindings, gsize n)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmAnalysis) analysis = ifm_model_analyse(model, bindings, n, &error);
    g_assert_no_error(error);
    for (gsize i = 0; i < ifm_model_n_outputs(model); i++)
    {
        const IfmPort *port = ifm_model_output(model, i);
        gint64 shape[IFM_MAX_RANK];
        IfmDtype dtype;
        int rank;
        g_assert_true(ifm_analysis_shape(analysis, port->name, &dtype, &rank, shape));
        g_assert_cmpint(rank, ==, port->rank);
        g_assert_cmpint(dtype, ==, port->dtype);
        for (int axis = 0; axis < rank; axis++)
            if (port->dims[axis] >= 0)
                g_assert_cmpint(shape[axis], ==, port->dims[axis]);
    }
}

#define MLP                                                                                                                \
    "x : [N,3]; w1 ! [3,4]; b1 ! [4]; w2 ! [4,2]; b2 ! [2]; p = Gemm(x, w1, b1); h = Relu(p); y = Gemm(h, w2, b2); "       \
    "-> y [N,2]"

static void test_ports(void)
{
    IfmGradientOptions options = { .loss = IFM_LOSS_MSE };
    g_autoptr(IfmModel) model = backward(MLP, &options);
    assert_ports(model, "x target", "loss grad.w1 grad.b1 grad.w2 grad.b2");
    g_assert_cmpint(ifm_model_input(model, 1)->rank, ==, 2);
    g_assert_cmpint(ifm_model_input(model, 1)->dims[0], ==, -1);
    g_assert_cmpstr(ifm_model_input(model, 1)->dim_names[0], ==, "N");
    assert_inferred(model, &(IfmDimBinding){ "N", 5 }, 1);
    options.input_gradients = TRUE;
    options.parameters = (const char *const[]){ "b2", "w1", NULL };
    options.loss = IFM_LOSS_CROSS_ENTROPY;
    g_autoptr(IfmModel) some = backward(MLP, &options);
    assert_ports(some, "x target", "loss grad.w1 grad.b2 grad.x");
    g_assert_cmpint(ifm_model_input(some, 1)->dtype, ==, IFM_DTYPE_I64);
    g_assert_cmpint(ifm_model_input(some, 1)->rank, ==, 1);
    g_assert_cmpstr(ifm_model_metadata(some, "inferometer.range.target"), ==, "0 2");
    assert_inferred(some, &(IfmDimBinding){ "N", 5 }, 1);
}

/* What nobody asks for is not computed: with the last bias alone there is one node more than the loss's. */
static void test_only_what_is_asked(void)
{
    IfmGradientOptions options = { .loss = IFM_LOSS_MSE, .parameters = (const char *const[]){ "b2", NULL } };
    g_autoptr(IfmModel) model = backward(MLP, &options);
    for (gsize i = 0; i < ifm_model_n_nodes(model); i++)
    {
        const IfmNode *node = ifm_model_node(model, i);
        if (g_str_has_prefix(node->name, "backward.y."))
            g_assert_cmpstr(node->op_type, ==, "ReduceSum");
        g_assert_false(g_str_has_prefix(node->name, "backward.h."));
    }
}

static gboolean has_operator(const IfmModel *model, const char *op_type)
{
    for (gsize i = 0; i < ifm_model_n_nodes(model); i++)
        if (g_str_equal(ifm_model_node(model, i)->op_type, op_type))
            return TRUE;
    return FALSE;
}

static const IfmNode *node_named(const IfmModel *model, const char *name)
{
    for (gsize i = 0; i < ifm_model_n_nodes(model); i++)
        if (g_str_equal(ifm_model_node(model, i)->name, name))
            return ifm_model_node(model, i);
    return NULL;
}

/* The row sums of softmax's gradient are taken of the product that reads the shares, where nothing else does; elsewhere of
 * the shares themselves. */
static void test_attention(void)
{
    static const struct
    {
        const char *text, *summed;
    } cases[] = {
        { "x ! [2,3,6]; w ! [2,6,2]; p = Softmax(x); y = MatMul(p, w); -> y [2,3,2]", "y" },
        { "x ! [2,3,6]; w ! [6,2]; p = Softmax(x) axis=2; y = MatMul(p, w); -> y [2,3,2]", "y" },
        { "x ! [2,3,6]; w ! [2,6,2]; v ! [2,6,2]; p = Softmax(x); a = MatMul(p, w); b = MatMul(p, v); y = Add(a, b); "
          "-> y [2,3,2]",
          "p" },
        { "x ! [2,3,6]; w ! [2,6,2]; p = Softmax(x); y = MatMul(p, w); -> y [2,3,2]; -> p [2,3,6]", "p" },
        { "x ! [2,3,6]; w ! [2,6,2]; p = Softmax(x) axis=1; y = MatMul(p, w); -> y [2,3,2]", "p" },
        { "x ! [2,6,3]; w ! [2,2,6]; p = Softmax(x); y = MatMul(w, p); -> y [2,2,3]", "p" },
        { "x ! [2,4,4]; p = Softmax(x); y = MatMul(p, p); -> y [2,4,4]", "p" },
        { "x ! [3,6]; w ! [2,6,2]; p = Softmax(x); y = MatMul(p, w); -> y [2,3,2]", "p" },
        { "x ! [1,3,6]; w ! [2,6,2]; p = Softmax(x); y = MatMul(p, w); -> y [2,3,2]", "p" },
        { "x ! [2,3,6]; w ! [6]; p = Softmax(x); y = MatMul(p, w); -> y [2,3]", "p" },
        { "x ! [2,3,2]; w ! [2,2,6]; p = Softmax(x); y = MatMul(p, w); -> y [2,3,6]", "p" },
        { "x ! [2,3,6]; p = Softmax(x); y = Relu(p); -> y [2,3,6]", "p" },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    {
        IfmGradientOptions options = { .loss = IFM_LOSS_MSE };
        g_autoptr(IfmModel) model = backward(cases[i].text, &options);
        g_assert_cmpstr(node_named(model, "backward.p.Mul")->inputs[1], ==, cases[i].summed);
        assert_inferred(model, NULL, 0);
    }
}

/* turned_sizes: of the backward pass, the numbers that are turned for products, in all. */
static gint64 turned_size(const char *text)
{
    g_autoptr(GError) error = NULL;
    IfmGradientOptions options = { .loss = IFM_LOSS_MSE };
    g_autoptr(IfmModel) model = backward(text, &options);
    g_autoptr(IfmAnalysis) analysis = ifm_model_analyse(model, NULL, 0, &error);
    gint64 sum = 0;
    g_assert_no_error(error);
    for (gsize i = 0; i < ifm_model_n_nodes(model); i++)
    {
        const IfmNode *node = ifm_model_node(model, i);
        gint64 shape[IFM_MAX_RANK], n = 1;
        IfmDtype dtype;
        int rank;
        if (!g_str_equal(node->op_type, "Transpose") || !g_str_has_prefix(node->name, "backward."))
            continue;
        g_assert_true(ifm_analysis_shape(analysis, node->outputs[0], &dtype, &rank, shape));
        for (int axis = 0; axis < rank; axis++)
            n *= shape[axis];
        sum += n;
    }
    return sum;
}

/* The smaller ones are turned: a matrix, or the gradient and the product. */
static void test_turned(void)
{
    g_assert_cmpint(turned_size("x : [3,7,5]; w ! [3,5,2]; y = MatMul(x, w); -> y [3,7,2]"), ==, 3 * (7 + 5) * 2);
    g_assert_cmpint(turned_size("x : [3,7,5]; w ! [3,5,3]; y = MatMul(x, w); -> y [3,7,3]"), ==, 3 * 7 * 5);
    g_assert_cmpint(turned_size("x ! [3,2,5]; w : [3,5,7]; y = MatMul(x, w); -> y [3,2,7]"), ==, 3 * (7 + 5) * 2);
    g_assert_cmpint(turned_size("x ! [3,2,5]; w : [3,5,2]; y = MatMul(x, w); -> y [3,2,2]"), ==, 3 * 5 * 2);
    /* What the forward pass turned is there as it was. */
    g_assert_cmpint(turned_size("x ! [3,4,5]; w : [3,6,5]; a = Transpose(w) perm=[0,2,1]; y = MatMul(x, a); -> y [3,4,6]"),
                    ==, 0);
    g_assert_cmpint(turned_size("x ! [3,4,5]; w : [3,6,5]; a = Transpose(w) perm=[2,0,1]; b = Transpose(a) perm=[1,0,2]; "
                                "c = Transpose(b) perm=[0,1,2]; y = MatMul(x, c); -> y [3,4,6]"),
                    ==, 3 * 5 * 6);
}

/* Rows that are put where others were read are not added, where the model itself says that none is there twice. */
static void test_places(void)
{
#define PLACED(rows, reduction)                                                                                            \
    "x : [3,2]; w ! [3,2]; z # [2] " rows " 2; i ? [3] 0 3; a # [1] 1; t = ConstantOfShape(z); c = Unsqueeze(i, a); "      \
    "m = Mul(x, w); p = ScatterND(t, c, m)" reduction "; q = Mul(p, p); y = Gather(q, i); -> y [3,2]"
    static const struct
    {
        const char *text, *reduction; /* of the backward pass's scatter; NULL: it is another operator */
    } cases[] = {
        { PLACED("4", ""), "none" },
        { PLACED("4", " reduction=add"), "add" },
        { "w ! [4,2]; i ? [3] 0 4; j ? [3] 0 4; x : [3,2]; z : [4,2]; a # [1] 1; c = Unsqueeze(j, a); "
          "p = ScatterND(z, c, x); q = Mul(p, w); y = Gather(q, i); -> y [3,2]",
          NULL },
        { "w ! [4,2]; i ? [3] 0 4; x : [3,2]; z : [5,2]; a # [1] 1; b # [1] 4; f # [1] 0; c = Unsqueeze(i, a); "
          "p = ScatterND(z, c, x); s = Slice(p, f, b); q = Mul(s, w); y = Gather(q, i); -> y [3,2]",
          NULL },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    {
        IfmGradientOptions options = { .loss = IFM_LOSS_MSE };
        g_autoptr(IfmModel) model = backward(cases[i].text, &options);
        const IfmNode *scatter = node_named(model, "backward.y.ScatterND");
        g_assert_cmpstr(scatter == NULL ? NULL : ifm_node_string(scatter, "reduction", "none"), ==, cases[i].reduction);
        assert_inferred(model, NULL, 0);
    }
}

/* An adding ScatterND keeps an engine to one thread: no gradient brings one into a model that has none. */
static void test_scatters(void)
{
    IfmGradientOptions options = { .loss = IFM_LOSS_MSE };
    g_autoptr(IfmModel) without = backward("w ! [4,3]; i # [5] 2 0 2 1 2; y = Gather(w, i); -> y [5,3]", &options);
    g_assert_false(has_operator(without, "ScatterND"));
    g_assert_true(has_operator(without, "ScatterElements"));
    g_autoptr(IfmModel) with = backward("w ! [4,3]; z ! [2,3]; i # [5] 2 0 2 1 2; j # [5,1] 1 0 1 1 0; a = Gather(w, i); "
                                        "y = ScatterND(z, j, a) reduction=add; -> y [2,3]",
                                        &options);
    g_assert_false(has_operator(with, "ScatterElements"));
    assert_inferred(without, NULL, 0);
    assert_inferred(with, NULL, 0);
}

static const IfmTrainingState *state_of(const GPtrArray *states, const char *input)
{
    for (guint i = 0; i < states->len; i++)
        if (g_str_equal(((const IfmTrainingState *)g_ptr_array_index(states, i))->input, input))
            return g_ptr_array_index(states, i);
    g_error("no state '%s'", input);
}

static void test_step_ports(void)
{
    g_autoptr(GError) error = NULL;
    IfmTrainingOptions options = IFM_TRAINING_OPTIONS_INIT;
    const char *text = "x : [2,3]; w ! [3,4] 2 3; y = MatMul(x, w); -> y [2,4]";
    g_autoptr(IfmModel) model = text_model(text, IFM_DTYPE_F32, FALSE, 17);
    static const char *const inputs[] = { "x w target", "x w state.momentum.w target",
                                          "x w state.m.w state.v.w state.step target" };
    static const char *const outputs[] = { "loss next.w", "loss next.w next.state.momentum.w",
                                           "loss next.w next.state.m.w next.state.v.w next.state.step" };
    for (int i = 0; i < (int)G_N_ELEMENTS(inputs); i++)
    {
        options.optimiser = (IfmOptimiser)i;
        g_autoptr(IfmModel) step = ifm_gradient_training_step(model, &options, &error);
        g_assert_no_error(error);
        assert_ports(step, inputs[i], outputs[i]);
        assert_inferred(step, NULL, 0);
        g_autoptr(GPtrArray) states = ifm_gradient_state(model, &options, &error);
        g_assert_no_error(error);
        g_assert_cmpuint(states->len, ==, ifm_model_n_inputs(step) - 2);
        const IfmTrainingState *weight = state_of(states, "w");
        g_assert_cmpstr(weight->output, ==, "next.w");
        g_assert_cmpfloat(ifm_tensor_get_double(&weight->first, 11), >=, 2);
        for (guint k = 1; k < states->len; k++)
            g_assert_cmpfloat(ifm_tensor_get_double(&((IfmTrainingState *)states->pdata[k])->first, 0), ==, 0);
    }
}

/* --- what is refused
 * ------------------------------------------------------------------------------------------------------
 */

static void assert_refused(const char *text, gint64 opset, const IfmGradientOptions *options, int code, const char *message)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModel) model = text_model(text, IFM_DTYPE_F32, FALSE, opset);
    g_assert_null(ifm_gradient_backward(model, options, &error));
    g_assert_error(error, IFM_ERROR, code);
    g_assert_cmpstr(error->message, ==, message);
}

static void test_refused(void)
{
    IfmGradientOptions mse = { .loss = IFM_LOSS_MSE }, entropy = { .loss = IFM_LOSS_CROSS_ENTROPY };
    IfmGradientOptions output = { .output = "z" }, parameter = { .parameters = (const char *const[]){ "W", NULL } };
    const char *text = "x : [2,3]; w ! [3]; a = Mul(x, w); y = Atan(a); -> y [2,3]";
    assert_refused(text, 17, &mse, IFM_ERROR_UNSUPPORTED, "test: node 'y' (Atan): no gradient rule");
    text = "x : [2,3]; w ! [3]; y = Mul(x, w); -> y [2,3]";
    assert_refused(text, 17, &output, IFM_ERROR_INVALID, "test: output 'z': the model has none of that name");
    assert_refused(text, 17, &parameter, IFM_ERROR_INVALID,
                   "test: parameter 'W': the model has no floating-point weight of that name; did you mean \"w\"?");
    assert_refused(text, 6, &mse, IFM_ERROR_UNSUPPORTED, "test: opset 6: models of opset 7 and later are differentiated");
    text = "x : [2,3,4]; w ! [4]; y = Mul(x, w); -> y [2,3,4]";
    assert_refused(text, 17, &entropy, IFM_ERROR_INVALID,
                   "test: output 'y': [2,3,4]; cross-entropy is of [rows, classes], with the classes fixed");
    text = "loss : [2,3]; w ! [3]; y = Mul(loss, w); -> y [2,3]";
    assert_refused(text, 17, &mse, IFM_ERROR_INVALID,
                   "test: tensor 'loss': a model with a loss needs that name for its own");
    text = "x : [2,3]; w ! [3]; b ! [1,3]; i # [1,3] 0 0 0; a = Mul(x, w); y = ScatterElements(a, i, b) reduction=mul; "
           "-> y [2,3]";
    assert_refused(text, 18, &mse, IFM_ERROR_UNSUPPORTED,
                   "test: node 'y' (ScatterElements): reduction mul: no gradient rule");
}

/* Forms that nobody has asked for: refused in a line, by the node's name, never answered wrong. */
static void test_rare_forms(void)
{
    static const struct
    {
        const char *text, *message;
    } forms[] = {
        { "x : [2,1]; w ! [3,4]; y = Einsum(x, w) equation=ij,jk->ik; -> y [2,4]",
          "test: node 'y' (Einsum): equation 'ij,jk->ik': a letter of two sizes: no gradient rule" },
        { "x : [4]; s ! [1]; b ! [1]; m ! [1]; v ! [1] 1 2; y = BatchNormalization(x, s, b, m, v); -> y [4]",
          "test: node 'y' (BatchNormalization): its input has no axis of channels: no gradient rule" },
        { "x : [4,2]; s ! [2]; b ! [2]; m ! [2]; v ! [2] 1 2; a y c = BatchNormalization(x, s, b, m, v) training_mode=1; "
          "-> y [2]",
          "test: node 'a' (BatchNormalization): what depends on its statistics has no gradient rule" },
        { "x : [4,3]; w ! [3]; a y = LayerNormalization(x, w); -> y [4,1]",
          "test: node 'a' (LayerNormalization): what depends on its statistics has no gradient rule" },
        { "x : [1,2,4,4]; w ! [2,3,2,2]; y = ConvTranspose(x, w) auto_pad=SAME_UPPER strides=[2,2]; -> y [1,3,8,8]",
          "test: node 'y' (ConvTranspose): auto_pad or output_shape: no gradient rule" },
        { "w ! [1,2,4,4]; s % [4] 1 1 2 2; y = Resize(w,, s) mode=cubic; -> y [1,2,8,8]",
          "test: node 'y' (Resize): mode cubic: no gradient rule" },
        { "w ! [1,4]; s % [2] 1 2; r % [4] 0 0 1 1; y = Resize(w, r, s) coordinate_transformation_mode=tf_crop_and_resize; "
          "-> y [1,8]",
          "test: node 'y' (Resize): coordinate_transformation_mode tf_crop_and_resize: no gradient rule" },
        { "w ! [2,3]; p # [4] 0 -1 0 1; y = Pad(w, p) mode=edge; -> y [2,3]",
          "test: node 'y' (Pad): mode edge of widths that axis 1 does not have: no gradient rule" },
        { "w ! [2,3]; v ! []; p # [4] 0 1 0 1; y = Pad(w, p, v); -> y [2,5]",
          "test: node 'y' (Pad): no gradient rule but for widths that are known before it runs, and a value that is no "
          "weight" },
        { "w ! []; e % [] 5; d % [] 1; y = Range(w, e, d); -> y [P]", "test: node 'y' (Range): no gradient rule" },
        { "x : [2,3,4]; w ! [2,3,4]; i # [2,1] 1 0; a = Mul(x, w); y = GatherND(a, i) batch_dims=1; -> y [2,4]",
          "test: node 'y' (GatherND): batch_dims: no gradient rule" },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(forms); i++)
    {
        g_auto(GStrv) parameters = text_parameters(forms[i].text);
        IfmGradientOptions options = { .loss = IFM_LOSS_MSE, .parameters = (const char *const *)parameters };
        assert_refused(forms[i].text, 17, &options, IFM_ERROR_UNSUPPORTED, forms[i].message);
    }
}

static const IfmNode *node_of(const IfmModel *model, const char *name)
{
    for (gsize i = 0; i < ifm_model_n_nodes(model); i++)
        if (g_str_equal(ifm_model_node(model, i)->name, name))
            return ifm_model_node(model, i);
    return NULL;
}

/* A number that many scores are scaled by goes to the few queries and keys that they are made of; where those are more, it
 * stays where it is. */
static void test_scaled_scores(void)
{
    IfmGradientOptions options = { .loss = IFM_LOSS_MSE, .input_gradients = TRUE };
    g_autoptr(IfmModel) few =
        backward("q : [9,2]; k : [2,9]; c % [] 0.5; s = MatMul(q, k); y = Mul(s, c); -> y [9,9]", &options);
    g_assert_null(node_of(few, "backward.y.Mul"));
    g_assert_nonnull(node_of(few, "backward.s.Mul"));
    g_autoptr(IfmModel) many =
        backward("q : [2,9]; k : [9,2]; c % [] 0.5; s = MatMul(q, k); y = Mul(s, c); -> y [2,2]", &options);
    g_assert_nonnull(node_of(many, "backward.y.Mul"));
    g_assert_null(node_of(many, "backward.s.Mul"));
}

/* A dropout that is known to drop nothing is none, whatever its mode. */
static void test_dropout(void)
{
    IfmGradientOptions options = { .loss = IFM_LOSS_MSE };
    const char *text =
        "x : [2,3]; w ! [3]; r % [] 0; i # [] 1; t = Cast(i) to=9; a = Mul(x, w); y = Dropout(a, r, t); -> y [2,3]";
    g_autoptr(IfmModel) ratio = backward(text, &options);
    g_assert_true(has_operator(ratio, "Dropout"));
    text = "x : [2,3]; w ! [3]; r % [] 0.5; i # [] 0; t = Cast(i) to=9; a = Mul(x, w); y = Dropout(a, r, t); -> y [2,3]";
    g_autoptr(IfmModel) mode = backward(text, &options);
    g_assert_true(has_operator(mode, "Dropout"));
    assert_refused(
        "x : [2,3]; w ! [3]; r % [] 0.5; i # [] 1; t = Cast(i) to=9; a = Mul(x, w); y = Dropout(a, r, t); -> y [2,3]", 17,
        &options, IFM_ERROR_UNSUPPORTED,
        "test: node 'y' (Dropout): training_mode: no gradient rule; a mask that is an input, and Mul, has one");
}

/* A weight or an input that is the output, too: the loss is of it, and its gradient the loss's. */
static void test_no_nodes(void)
{
    IfmGradientOptions options = { .loss = IFM_LOSS_MSE, .input_gradients = TRUE };
    IfmTrainingOptions training = IFM_TRAINING_OPTIONS_INIT;
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModel) weight = backward("y ! [2,3]; -> y [2,3]", &options);
    assert_ports(weight, "target", "loss grad.y");
    assert_inferred(weight, NULL, 0);
    g_autoptr(IfmModel) input = backward("y : [N,3]; w ! [2]; -> y [N,3]", &options);
    assert_ports(input, "y target", "loss grad.w grad.y");
    assert_inferred(input, &(IfmDimBinding){ "N", 2 }, 1);
    g_autoptr(IfmModel) model = text_model("y ! [2,3]; -> y [2,3]", IFM_DTYPE_F32, FALSE, 17);
    g_autoptr(IfmModel) step = ifm_gradient_training_step(model, &training, &error);
    g_assert_no_error(error);
    assert_ports(step, "y target", "loss next.y");
}

/* What an output's port does not say the shapes of its node do: a target is as fixed as that. */
static void test_target(void)
{
    IfmGradientOptions options = { .loss = IFM_LOSS_MSE };
    g_autoptr(IfmModel) model = backward("x : [N,3]; w ! [3]; y = Mul(x, w); -> y [A,B]", &options);
    const IfmPort *target = ifm_model_input(model, 1);
    g_assert_cmpstr(target->name, ==, "target");
    g_assert_cmpint(target->dims[0], ==, -1);
    g_assert_cmpstr(target->dim_names[0], ==, "A");
    g_assert_cmpint(target->dims[1], ==, 3);
}

/* Where no parameter is behind it, an operator needs no rule. */
static void test_no_rule_needed(void)
{
    IfmGradientOptions options = { .loss = IFM_LOSS_MSE };
    g_autoptr(IfmModel) model = backward("x : [2,3]; w ! [3]; a = Atan(x); y = Mul(a, w); -> y [2,3]", &options);
    assert_ports(model, "x target", "loss grad.w");
}

static void test_words(void)
{
    g_assert_cmpstr(ifm_loss_words()[IFM_LOSS_CROSS_ENTROPY], ==, "cross-entropy");
    g_assert_cmpstr(ifm_optimiser_words()[IFM_OPTIMISER_ADAM], ==, "adam");
    g_assert_nonnull(ifm_gradient_rule_find(&(IfmNode){ .op_type = "Conv", .domain = "" }));
    g_assert_null(ifm_gradient_rule_find(&(IfmNode){ .op_type = "Atan", .domain = "" }));
    g_assert_true(g_strv_length((char **)ifm_loss_words()) == 2 && g_strv_length((char **)ifm_optimiser_words()) == 3);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/gradient/ports", test_ports);
    g_test_add_func("/gradient/only-what-is-asked", test_only_what_is_asked);
    g_test_add_func("/gradient/attention", test_attention);
    g_test_add_func("/gradient/turned", test_turned);
    g_test_add_func("/gradient/places", test_places);
    g_test_add_func("/gradient/scatters", test_scatters);
    g_test_add_func("/gradient/step-ports", test_step_ports);
    g_test_add_func("/gradient/refused", test_refused);
    g_test_add_func("/gradient/rare-forms", test_rare_forms);
    g_test_add_func("/gradient/scaled-scores", test_scaled_scores);
    g_test_add_func("/gradient/dropout", test_dropout);
    g_test_add_func("/gradient/no-nodes", test_no_nodes);
    g_test_add_func("/gradient/target", test_target);
    g_test_add_func("/gradient/no-rule-needed", test_no_rule_needed);
    g_test_add_func("/gradient/words", test_words);
    return g_test_run();
}
