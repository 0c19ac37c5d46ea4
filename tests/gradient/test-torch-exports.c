/* Modules as PyTorch exports them, by both exporters (tests/data/torch-exports.py): shapes, weights, gradients. */
#include <gradient/gradient.h>
#include <onnx/onnx.h>

static const IfmDimBinding sizes[] = {
    { "batch", 3 },
    { "time", 5 },
    { "past", 4 },
    { "DepthToSpaceoutput_dim_0", 3 }, /* what the older exporter calls the batch of an output */
};

/* missing: the operator that has no gradient rule; NULL: the module can be trained. */
static const struct
{
    const char *name, *missing;
} exports[] = {
    { "attention-dynamo-dynamic", NULL },
    { "attention-script-dynamic", NULL },
    { "conv1d-dynamo-dynamic", NULL },
    { "conv1d-script-dynamic", NULL },
    { "convolutions-dynamo-dynamic", NULL },
    { "convolutions-script-dynamic", NULL },
    { "convolutions-script-static", NULL },
    { "decoder-dynamo-dynamic", NULL },
    { "encoder-dynamo-dynamic", NULL },
    { "encoder-dynamo-static", NULL },
    { "encoder-time-first-dynamo-dynamic", NULL },
    { "gru-dynamo-dynamic", NULL },
    { "gru-script-dynamic", NULL },
    { "gru-script-static", NULL },
    { "lstm-dynamo-dynamic", NULL },
    { "lstm-dynamo-static", NULL },
    { "lstm-script-dynamic", NULL },
    { "perceptron-constants", NULL },
    { "perceptron-dynamo-dynamic", NULL },
    { "perceptron-script-dynamic", NULL },
    { "rnn-dynamo-dynamic", NULL },
    { "rnn-script-dynamic", NULL },
    { "rnn-script-static", NULL },
    { "widening-dynamo-dynamic", NULL },
    { "widening-script-dynamic", NULL },
    { "words-dynamo-dynamic", NULL },
    { "words-script-dynamic", NULL },
};

static IfmModel *open_export(const char *name)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *file = g_strconcat(name, ".onnx", NULL);
    g_autofree char *path = g_test_build_filename(G_TEST_DIST, "data", file, NULL);
    IfmModel *model = ifm_model_open(path, &error);
    g_assert_no_error(error);
    return model;
}

/* dims_of: the sizes of the free dimensions that the model has. */
static gsize dims_of(const IfmModel *model, IfmDimBinding *bindings)
{
    gsize n = 0;
    for (gsize k = 0; k < G_N_ELEMENTS(sizes); k++)
    {
        gboolean has = FALSE;
        for (gsize i = 0; i < ifm_model_n_inputs(model); i++)
            for (int axis = 0; axis < ifm_model_input(model, i)->rank; axis++)
                has = has || g_strcmp0(ifm_model_input(model, i)->dim_names[axis], sizes[k].name) == 0;
        if (has)
            bindings[n++] = sizes[k];
    }
    return n;
}

static gint64 parameters_of(const IfmModel *model)
{
    const char *text = ifm_model_metadata(model, "parameters"); /* PyTorch's own count */
    g_assert_nonnull(text);
    return g_ascii_strtoll(text, NULL, 10);
}

/* Shapes of all tensors, and as many weights as the module has. */
static void test_shapes(gconstpointer name)
{
    g_autoptr(IfmModel) model = open_export(name);
    g_autoptr(GError) error = NULL;
    g_auto(IfmMemoryPlan) memory = { 0 };
    IfmDimBinding bindings[G_N_ELEMENTS(sizes)];
    gsize n = dims_of(model, bindings);
    g_autoptr(IfmAnalysis) analysis = ifm_model_analyse(model, bindings, n, &error);
    g_assert_no_error(error);
    ifm_analysis_memory(analysis, &memory);
    g_assert_cmpuint(memory.n_unknown, ==, 0);
    g_assert_cmpint(ifm_model_n_trainable(model), ==, parameters_of(model));
    g_assert_cmpint(ifm_model_n_parameters(model), >=, parameters_of(model));
}

/* A training step whose state are the module's weights, or the operator that it lacks. */
static void test_training(gconstpointer data)
{
    const guint at = GPOINTER_TO_UINT(data);
    g_autoptr(IfmModel) model = open_export(exports[at].name);
    g_autoptr(GError) error = NULL;
    IfmDimBinding bindings[G_N_ELEMENTS(sizes)];
    IfmTrainingOptions options = IFM_TRAINING_OPTIONS_INIT;
    options.gradient.bindings = bindings;
    options.gradient.n_bindings = dims_of(model, bindings);
    g_autoptr(IfmModel) step = ifm_gradient_training_step(model, &options, &error);
    if (exports[at].missing != NULL)
    {
        g_autofree char *place = g_strdup_printf("(%s): no gradient rule", exports[at].missing);
        g_assert_error(error, IFM_ERROR, IFM_ERROR_UNSUPPORTED);
        g_assert_nonnull(strstr(error->message, place));
        return;
    }
    g_assert_no_error(error);
    g_autoptr(GPtrArray) states = ifm_gradient_state(model, &options, &error);
    g_assert_no_error(error);
    gint64 elements = 0;
    for (guint i = 0; i < states->len; i++)
        elements += ifm_tensor_n_elements(&((const IfmTrainingState *)states->pdata[i])->first);
    g_assert_cmpint(elements, ==, parameters_of(model));
    const gsize n = dims_of(step, bindings);
    g_autoptr(IfmAnalysis) analysis = ifm_model_analyse(step, bindings, n, &error);
    g_assert_no_error(error);
}

/* The older exporter fixes the length of a sequence that the inputs leave free: the gradient is made for that one alone. */
static void test_fixed_within(void)
{
    const IfmDimBinding right[] = { { "batch", 3 }, { "time", 5 } }, wrong[] = { { "batch", 3 }, { "time", 6 } };
    g_autoptr(IfmModel) model = open_export("attention-script-dynamic");
    g_autoptr(GError) error = NULL;
    IfmGradientOptions options = { .loss = IFM_LOSS_MSE };
    g_assert_null(ifm_gradient_backward(model, &options, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_clear_error(&error);
    options.bindings = wrong;
    options.n_bindings = G_N_ELEMENTS(wrong);
    g_assert_null(ifm_gradient_backward(model, &options, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_clear_error(&error);
    options.bindings = right;
    g_autoptr(IfmModel) backward = ifm_gradient_backward(model, &options, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(ifm_model_metadata(backward, IFM_GRADIENT_BOUND), ==, "time=5"); /* the batch stays free */
    g_autoptr(IfmModel) other = open_export("attention-dynamo-dynamic");
    g_autoptr(IfmModel) free_one = ifm_gradient_backward(other, &options, &error);
    g_assert_no_error(error);
    g_assert_null(ifm_model_metadata(free_one, IFM_GRADIENT_BOUND));
}

/* Numbers of a formula get no gradient; what modules learn does. */
static void test_scale_is_no_weight(void)
{
    g_autoptr(IfmModel) model = open_export("attention-dynamo-dynamic");
    g_autoptr(GError) error = NULL;
    IfmTensor scale;
    g_assert_true(ifm_model_initializer(model, "val_70", &scale)); /* 8^-1/4, as [1] */
    g_assert_cmpint(ifm_tensor_n_elements(&scale), ==, 1);
    g_autoptr(GPtrArray) names = ifm_model_trainable(model);
    g_assert_false(g_ptr_array_find_with_equal_func(names, "val_70", g_str_equal, NULL));
    g_assert_true(g_ptr_array_find_with_equal_func(names, "attention.out_proj.bias", g_str_equal, NULL));
    g_autoptr(IfmModel) slope = open_export("conv1d-script-dynamic"); /* PReLU learns one number */
    g_autoptr(GPtrArray) learnt = ifm_model_trainable(slope);
    g_assert_true(g_ptr_array_find_with_equal_func(learnt, "onnx::PRelu_17", g_str_equal, NULL));
}

/* The first state of a recurrent layer, zeros that are expanded to the batch, and ones and zeros of group normalisation. */
static void test_settings_are_no_weights(void)
{
    g_autoptr(IfmModel) recurrent = open_export("gru-script-static");
    g_autoptr(IfmModel) normalised = open_export("convolutions-script-static");
    IfmTensor tensor;
    g_assert_true(ifm_model_weight(recurrent, "/cell/Constant_output_0", &tensor));
    g_assert_cmpint(ifm_tensor_n_elements(&tensor), ==, 12);
    g_assert_true(ifm_model_weight(normalised, "/5/Constant_1_output_0", &tensor));
    g_assert_cmpint(ifm_model_n_parameters(recurrent), ==, parameters_of(recurrent));
    g_assert_cmpint(ifm_model_n_parameters(normalised), ==, parameters_of(normalised));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (guint i = 0; i < G_N_ELEMENTS(exports); i++)
    {
        g_autofree char *shapes = g_strconcat("/torch-exports/shapes/", exports[i].name, NULL);
        g_autofree char *training = g_strconcat("/torch-exports/training/", exports[i].name, NULL);
        g_test_add_data_func(shapes, exports[i].name, test_shapes);
        g_test_add_data_func(training, GUINT_TO_POINTER(i), test_training);
    }
    g_test_add_func("/torch-exports/fixed-within", test_fixed_within);
    g_test_add_func("/torch-exports/scale-is-no-weight", test_scale_is_no_weight);
    g_test_add_func("/torch-exports/settings-are-no-weights", test_settings_are_no_weights);
    return g_test_run();
}
