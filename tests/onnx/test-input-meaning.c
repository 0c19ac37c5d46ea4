/* What inputs are made of, from what the graph does with them. */
#include <string.h>

#include <onnx/onnx.h>

#define NAMES(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define SHAPE(...) ((gint64[]){ __VA_ARGS__ })

/* The only input "i" of a model with a table "t" of [50, 8], an "x" of [1, 12, 1] and a way from it to an output. */
static IfmModelBuilder *begin(IfmDtype dtype, int rank, const gint64 *shape)
{
    static float table[50 * 8], x[12];
    IfmTensor weight;
    IfmModelBuilder *builder = ifm_model_builder_new("meaning", 17);
    ifm_model_builder_input(builder, "i", dtype, rank, shape, NULL);
    g_assert_true(ifm_tensor_wrap(&weight, IFM_DTYPE_F32, 2, SHAPE(50, 8), table, NULL));
    ifm_model_builder_weight(builder, "t", &weight);
    g_assert_true(ifm_tensor_wrap(&weight, IFM_DTYPE_F32, 3, SHAPE(1, 12, 1), x, NULL));
    ifm_model_builder_weight(builder, "x", &weight);
    return builder;
}

/* Takes the builder; its last node makes "o". */
static void make(IfmModelBuilder *builder, IfmTensor *input)
{
    g_autoptr(GError) error = NULL;
    ifm_model_builder_output(builder, "o", IFM_DTYPE_F32, -1, NULL, NULL);
    g_autoptr(IfmModel) model = ifm_model_builder_finish(builder, &error);
    ifm_model_builder_free(builder);
    g_assert_no_error(error);
    g_assert_true(ifm_model_make_inputs(model, NULL, 0, 3, input, &error));
    g_assert_no_error(error);
}

static void span(const IfmTensor *input, double *low, double *high)
{
    *low = G_MAXDOUBLE, *high = -G_MAXDOUBLE;
    for (gint64 i = 0; i < ifm_tensor_n_elements(input); i++)
    {
        *low = MIN(*low, ifm_tensor_get_double(input, i));
        *high = MAX(*high, ifm_tensor_get_double(input, i));
    }
}

/* Token ids are all over the vocabulary and never beyond it, also where something hands them on before they are looked up,
 * and where a float becomes an id. */
static void test_vocabulary(void)
{
    static const IfmDtype dtypes[] = { IFM_DTYPE_I64, IFM_DTYPE_I32, IFM_DTYPE_F32 };
    for (gsize k = 0; k < G_N_ELEMENTS(dtypes); k++)
        for (int axis = 0; axis < 2; axis++)
        {
            g_auto(IfmTensor) input = IFM_TENSOR_INIT;
            double low, high;
            IfmModelBuilder *builder = begin(dtypes[k], 2, SHAPE(4, 100));
            gsize cast = ifm_model_builder_node(builder, "Cast", NULL, NAMES("i"), NAMES("c"));
            ifm_model_builder_int(builder, cast, "to", IFM_DTYPE_I64);
            gsize gather = ifm_model_builder_node(builder, "Gather", NULL, NAMES("t", "c"), NAMES("o"));
            ifm_model_builder_int(builder, gather, "axis", axis);
            make(builder, &input);
            span(&input, &low, &high);
            g_assert_cmpfloat(low, >=, 0);
            g_assert_cmpfloat(high, <, axis == 0 ? 50 : 8);
            g_assert_cmpfloat(high, >, axis == 0 ? 40 : 6);
        }
}

/* Two tables: the smaller one bounds. Places within a tensor that is computed are bounded by its shape. */
static void test_places(void)
{
    g_auto(IfmTensor) both = IFM_TENSOR_INIT, computed = IFM_TENSOR_INIT, tuple = IFM_TENSOR_INIT;
    double low, high;
    IfmModelBuilder *builder = begin(IFM_DTYPE_I64, 1, SHAPE(200));
    ifm_model_builder_node(builder, "Transpose", NULL, NAMES("t"), NAMES("tt"));
    ifm_model_builder_node(builder, "Gather", NULL, NAMES("t", "i"), NAMES("a"));
    ifm_model_builder_node(builder, "Gather", NULL, NAMES("tt", "i"), NAMES("b"));
    ifm_model_builder_node(builder, "Concat", NULL, NAMES("a", "b"), NAMES("o"));
    make(builder, &both);
    span(&both, &low, &high);
    g_assert_true(low == 0 && high == 7);
    builder = begin(IFM_DTYPE_I64, 3, SHAPE(1, 200, 1));
    ifm_model_builder_node(builder, "Relu", NULL, NAMES("x"), NAMES("r"));
    gsize gather = ifm_model_builder_node(builder, "GatherElements", NULL, NAMES("r", "i"), NAMES("o"));
    ifm_model_builder_int(builder, gather, "axis", -2);
    make(builder, &computed);
    span(&computed, &low, &high);
    g_assert_true(low == 0 && high == 11);
    builder = begin(IFM_DTYPE_I64, 2, SHAPE(100, 2));
    ifm_model_builder_node(builder, "GatherND", NULL, NAMES("t", "i"), NAMES("o"));
    make(builder, &tuple);
    span(&tuple, &low, &high);
    g_assert_true(low == 0 && high == 7);
}

/* Numbers that steer an operator: it accepts them. */
static void test_steering(void)
{
    static const struct
    {
        const char *op_type;
        gint64 n; /* numbers of the input; -1: a single one */
        gint64 values[3];
        const char *inputs[6];
    } rows[] = {
        { "CumSum", -1, { 0 }, { "x", "i" } },
        { "ReduceSum", 2, { 0, 1 }, { "t", "i" } },
        { "Unsqueeze", 2, { 0, 1 }, { "t", "i" } },
        { "Squeeze", 2, { 0, 2 }, { "x", "i" } },
        { "Reshape", 3, { 1, 12, 1 }, { "x", "i" } },
        { "Reshape", 2, { -1, 1 }, { "x", "i" } },
        { "Expand", 3, { 1, 1, 1 }, { "x", "i" } },
        { "Tile", 3, { 1, 1, 1 }, { "x", "i" } },
        { "TopK", 1, { 1 }, { "t", "i" } },
        { "Slice", 2, { 50, 8 }, { "t", "x", "i" } },
        { "Slice", 1, { G_MAXINT32 }, { "t", "x", "i" } },
        { "Split", 3, { 16, 16, 18 }, { "t", "i" } },
        { "LSTM", 2, { 1, 1 }, { "x", "w", "w", "", "i" } },
        { "ConstantOfShape", 3, { 1, 1, 1 }, { "i" } },
        { "Pad", 3, { 0, 0, 0 }, { "t", "i" } },
        { "Loop", -1, { 4 }, { "i", "", "x" } },
        { "Loop", -1, { 1 }, { "", "i", "x" } },
    };
    for (gsize row = 0; row < G_N_ELEMENTS(rows); row++)
    {
        g_auto(IfmTensor) input = IFM_TENSOR_INIT;
        float w = 1;
        IfmTensor weight;
        IfmModelBuilder *builder = begin(IFM_DTYPE_I64, rows[row].n < 0 ? 0 : 1, SHAPE(rows[row].n));
        g_assert_true(ifm_tensor_wrap(&weight, IFM_DTYPE_F32, 3, SHAPE(1, 1, 1), &w, NULL));
        ifm_model_builder_weight(builder, "w", &weight);
        ifm_model_builder_node(builder, rows[row].op_type, NULL, rows[row].inputs, NAMES("o"));
        make(builder, &input);
        g_test_message("%s", rows[row].op_type);
        for (gint64 i = 0; i < ABS(rows[row].n); i++)
            g_assert_cmpint(((const gint64 *)input.data)[i], ==, rows[row].values[i]);
    }
}

/* A number that an If compares with another is that one; one that is compared for another reason is not. */
static void test_cases(void)
{
    for (int k = 0; k < 3; k++)
    {
        g_auto(IfmTensor) input = IFM_TENSOR_INIT;
        gint64 rate = 16000;
        IfmTensor number;
        IfmModelBuilder *builder = begin(IFM_DTYPE_I64, 0, NULL);
        g_assert_true(ifm_tensor_wrap(&number, IFM_DTYPE_I64, 0, NULL, &rate, NULL));
        if (k == 2)
            ifm_model_builder_int(builder, ifm_model_builder_node(builder, "Constant", NULL, NAMES(NULL), NAMES("rate")),
                                  "value_int", rate);
        else
            ifm_model_builder_weight(builder, "rate", &number);
        ifm_model_builder_node(builder, "Equal", NULL, k != 1 ? NAMES("i", "rate") : NAMES("rate", "i"), NAMES("is_high"));
        ifm_model_builder_node(builder, k != 1 ? "If" : "Identity", NULL, NAMES("is_high"), NAMES("o"));
        make(builder, &input);
        g_assert_cmpint(*(const gint64 *)input.data == rate, ==, k != 1);
    }
}

static void test_masks(void)
{
    static const char *const names[] = { "attention_mask", "mask", "decoder.attention_mask.1" };
    for (gsize k = 0; k < G_N_ELEMENTS(names); k++)
    {
        g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new("masks", 17);
        g_auto(IfmTensor) input = IFM_TENSOR_INIT;
        double low, high;
        ifm_model_builder_input(builder, names[k], k == 1 ? IFM_DTYPE_BOOL : IFM_DTYPE_I64, 2, SHAPE(2, 30), NULL);
        ifm_model_builder_output(builder, "o", IFM_DTYPE_I64, 2, SHAPE(2, 30), NULL);
        ifm_model_builder_node(builder, "Identity", NULL, NAMES(names[k]), NAMES("o"));
        g_autoptr(IfmModel) model = ifm_model_builder_finish(builder, NULL);
        g_assert_true(ifm_model_make_inputs(model, NULL, 0, 3, &input, NULL));
        span(&input, &low, &high);
        g_assert_true(low == 1 && high == 1);
    }
}

/* @op_type: what reads the picture, behind a scaling of it */
static void picture(IfmDtype dtype, const gint64 *shape, const char *op_type, double *low, double *high)
{
    float number = 255;
    IfmTensor weight;
    g_auto(IfmTensor) input = IFM_TENSOR_INIT;
    IfmModelBuilder *builder = begin(dtype, 4, shape);
    g_assert_true(ifm_tensor_wrap(&weight, IFM_DTYPE_F32, 0, NULL, &number, NULL));
    ifm_model_builder_weight(builder, "d", &weight);
    gsize cast = ifm_model_builder_node(builder, "Cast", NULL, NAMES("i"), NAMES("c"));
    ifm_model_builder_int(builder, cast, "to", IFM_DTYPE_F32);
    ifm_model_builder_node(builder, "Div", NULL, NAMES("c", "d"), NAMES("s"));
    ifm_model_builder_node(builder, op_type, NULL, NAMES("s", "w"), NAMES("o"));
    static float kernel[3];
    g_assert_true(ifm_tensor_wrap(&weight, IFM_DTYPE_F32, 4, SHAPE(1, 3, 1, 1), kernel, NULL));
    ifm_model_builder_weight(builder, "w", &weight);
    make(builder, &input);
    span(&input, low, high);
}

static void test_pictures(void)
{
    double low, high;
    picture(IFM_DTYPE_F32, SHAPE(1, 3, 32, 32), "Conv", &low, &high);
    g_assert_true(low >= 0 && low < 0.1 && high <= 1 && high > 0.9);
    picture(IFM_DTYPE_U8, SHAPE(1, 3, 32, 32), "Conv", &low, &high);
    g_assert_true(low < 5 && high > 250 && high <= 255);
    picture(IFM_DTYPE_F32, SHAPE(1, 32, 32, 3), "Conv", &low, &high);
    g_assert_true(low >= 0);
    picture(IFM_DTYPE_F32, SHAPE(1, 7, 32, 32), "Conv", &low, &high); /* channels of a layer: as before */
    g_assert_true(low < -0.9);
    picture(IFM_DTYPE_F32, SHAPE(1, 3, 32, 32), "MatMul", &low, &high);
    g_assert_true(low < -0.9);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/input-meaning/vocabulary", test_vocabulary);
    g_test_add_func("/input-meaning/places", test_places);
    g_test_add_func("/input-meaning/steering", test_steering);
    g_test_add_func("/input-meaning/cases", test_cases);
    g_test_add_func("/input-meaning/masks", test_masks);
    g_test_add_func("/input-meaning/pictures", test_pictures);
    return g_test_run();
}
