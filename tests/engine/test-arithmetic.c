/* What nodes compute in, integers too: asked of the runtimes, and read of a profile's types and an exported graph. */
#include "engine/onnxruntime/onnxruntime-arithmetic.h"
#include "engine/openvino/openvino-private.h"
#include "fixture.h"

#define NAMES(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* --- a profile's types ------------------------------------------------------------------------------------------------ */

#define NONE IFM_DTYPE_UNDEFINED
#define F32 IFM_DTYPE_F32
#define U8 IFM_DTYPE_U8
#define I8 IFM_DTYPE_I8
#define I32 IFM_DTYPE_I32
#define F16 IFM_DTYPE_F16

static void test_types(void)
{
    /* As ONNX Runtime writes them: packed weights are left out. */
    static const struct
    {
        const char *op_type;
        IfmDtype inputs[10], output;
        const char *arithmetic;
        IfmDtype dtype;
    } cases[] = {
        { "QLinearConv", { U8, F32, U8, F32, I8, F32, U8 }, U8, "u8s8", U8 },
        { "QLinearConv", { I8, F32, I8, I8, F32, I8, F32, I8, I32 }, I8, "s8s8", I8 },
        { "QLinearMatMul", { U8, F32, U8, F32, U8, F32, U8 }, U8, "u8u8", U8 },
        { "QGemm", { U8, F32, U8, F32, I8, I32, F32, U8 }, U8, "u8s8", U8 },
        { "MatMulInteger", { U8, U8, I8 }, I32, "u8", U8 }, /* the graph knows the other */
        { "DynamicQuantizeMatMul", { F32, F32, I8 }, F32, "u8", U8 },
        { "QLinearAdd", { U8, F32, U8, U8, F32, U8, F32, U8 }, U8, "u8", U8 },
        { "Conv", { F32, F32 }, F32, "f32", F32 },
        { "Conv", { F16, F16 }, F16, "f16", F16 },
        { "Cast", { F16 }, F32, "", F16 },
        { "Transpose", { U8 }, U8, "", U8 },
        { "Add", { I32, I32 }, I32, "i32", I32 },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    {
        OrtNodeTypes types = { .outputs = { cases[i].output }, .n_outputs = 1 };
        IfmDtype dtype;
        while (types.n_inputs < G_N_ELEMENTS(cases[i].inputs) && cases[i].inputs[types.n_inputs] != NONE)
        {
            types.inputs[types.n_inputs] = cases[i].inputs[types.n_inputs];
            types.n_inputs++;
        }
        g_autofree char *arithmetic = ifm_ort_arithmetic(cases[i].op_type, &types, &dtype);
        g_assert_cmpstr(arithmetic, ==, cases[i].arithmetic);
        g_assert_cmpint(dtype, ==, cases[i].dtype);
    }
}

/* --- an exported graph ------------------------------------------------------------------------------------------------ */

/* As OpenVINO writes it: a convolution of u8, from which a zero point is subtracted, by s8; a product of floats by weights
 * of four bits, turned; a product of floats. */
static void test_factors(void)
{
    static const char text[] =
        "<net><layers>"
        "<layer id='0' name='x' type='Parameter'><output><port id='0' precision='U8'/></output></layer>"
        "<layer id='1' name='z' type='Subtract'><input><port id='0' precision='U8'/><port id='1' precision='U8'/></input>"
        "<output><port id='2' precision='FP32'/></output></layer>"
        "<layer id='2' name='w' type='Const'><output><port id='0' precision='I8'/></output></layer>"
        "<layer id='3' name='conv' type='Convolution'><input><port id='0' precision='FP32'/><port id='1' precision='I8'/>"
        "</input><output><port id='2' precision='FP32'/></output></layer>"
        "<layer id='4' name='v' type='Const'><output><port id='0' precision='I4'/></output></layer>"
        "<layer id='5' name='t' type='Transpose'><input><port id='0' precision='I4'/></input>"
        "<output><port id='2' precision='I4'/></output></layer>"
        "<layer id='6' name='fc' type='FullyConnectedCompressed'><input><port id='0' precision='FP32'/>"
        "<port id='1' precision='I4'/></input><output><port id='5' precision='FP32'/></output></layer>"
        "<layer id='7' name='mm' type='MatMul'><input><port id='0' precision='FP32'/><port id='1' "
        "precision='FP32'/></input>"
        "<output><port id='2' precision='FP32'/></output></layer>"
        "</layers><edges><edge from-layer='0' from-port='0' to-layer='1' to-port='0'/>"
        "<edge from-layer='1' from-port='2' to-layer='3' to-port='0'/>"
        "<edge from-layer='2' from-port='0' to-layer='3' to-port='1'/>"
        "<edge from-layer='3' from-port='2' to-layer='6' to-port='0'/>"
        "<edge from-layer='4' from-port='0' to-layer='5' to-port='0'/>"
        "<edge from-layer='5' from-port='2' to-layer='6' to-port='1'/>"
        "<edge from-layer='3' from-port='2' to-layer='7' to-port='0'/>"
        "<edge from-layer='6' from-port='5' to-layer='7' to-port='1'/></edges></net>";
    static const struct
    {
        char *name, *op_type, *implementation, *arithmetic;
    } nodes[] = {
        { "conv", "Convolution", "brgconv_any_I8", "u8s8" },
        { "conv", "Convolution", "brgconv_any_f32", "f32" }, /* computed in floats all the same */
        { "other", "Convolution", "jit_any_i8", "int8" },
        { "fc", "FullyConnectedCompressed", "brgemm_any_f32", "f32, int4 weights" },
        { "mm", "MatMul", "gemm_any_bf16", "bf16" },
        { "r", "Reorder", "jit_uni_I8", "" },
        { "s", "Subgraph", "unknown", "" },
    };
    g_autoptr(GHashTable) factors = ifm_ov_factors_read(text, strlen(text));
    for (gsize i = 0; i < G_N_ELEMENTS(nodes); i++)
    {
        const IfmNodeConfig node = { .name = nodes[i].name,
                                     .op_type = nodes[i].op_type,
                                     .dtype = ifm_ov_implementation_dtype(nodes[i].implementation) };
        g_autofree char *arithmetic = ifm_ov_arithmetic(&node, factors);
        g_assert_cmpstr(arithmetic, ==, nodes[i].arithmetic);
    }
    g_autoptr(GHashTable) none = ifm_ov_factors_read("no graph", 8);
    g_assert_cmpuint(g_hash_table_size(none), ==, 0);
}

/* --- the runtimes ----------------------------------------------------------------------------------------------------- */

static IfmModel *open_case(const char *name)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = g_test_build_filename(G_TEST_DIST, "data", "quantised", name, NULL);
    IfmModel *model = ifm_model_open(path, &error);
    g_assert_no_error(error);
    return model;
}

static IfmEffectiveConfig *config_of(Fixture *fixture, IfmModel *model /* (transfer full) */)
{
    g_autoptr(GError) error = NULL;
    IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
    options.dtype = ifm_model_dtype(model);
    fixture_compile(fixture, model, &options);
    g_auto(IfmTensor) x = make_input(fixture->model, NULL, 0, 1);
    IfmEffectiveConfig *config = ifm_compiled_effective_config(fixture->compiled, &x, &error);
    g_assert_no_error(error);
    g_assert_true(ifm_effective_config_check(config, fixture->spec, &options, &error));
    g_assert_no_error(error);
    return config;
}

/* In how many nodes of an operator. */
static int count(const IfmEffectiveConfig *config, const char *op_type, const char *arithmetic)
{
    int n = 0;
    for (guint i = 0; i < config->nodes->len; i++)
    {
        const IfmNodeConfig *node = config->nodes->pdata[i];
        n += g_str_equal(node->op_type, op_type) && g_str_equal(node->arithmetic, arithmetic);
    }
    return n;
}

/* Two convolutions of QuantizeLinear and DequantizeLinear, which the runtime makes QLinearConv of. */
static void test_ort_qdq(void)
{
    Fixture fixture;
    if (!fixture_open(&fixture, "onnxruntime:CPU"))
        return;
    g_autoptr(IfmEffectiveConfig) config = config_of(&fixture, open_case("qdq_u8s8.onnx"));
    g_assert_cmpint(count(config, "QLinearConv", "u8s8"), ==, 2);
    g_assert_cmpint(count(config, "QuantizeLinear", "f32"), ==, 1);
    g_assert_cmpint(config->dtype, ==, IFM_DTYPE_F32);
    fixture_close(&fixture);
}

/* The product's weights are packed, and the profile is silent about them: the graph says. */
static void test_ort_dynamic(void)
{
    Fixture fixture;
    if (!fixture_open(&fixture, "onnxruntime:CPU"))
        return;
    g_autoptr(IfmEffectiveConfig) config = config_of(&fixture, open_case("dynq.onnx"));
    g_assert_cmpint(count(config, "MatMulInteger", "u8s8"), ==, 1);
    fixture_close(&fixture);
}

/* A model in f16 runs as it is, whatever the processor can: in f16, or in f32 between casts. */
static void test_half(gconstpointer device)
{
    Fixture fixture;
    if (!fixture_open(&fixture, device))
        return;
    g_autoptr(IfmEffectiveConfig) config = config_of(&fixture, open_case("fp16.onnx"));
    g_assert_cmpint(config->written, ==, IFM_DTYPE_F16);
    g_assert_true(config->dtype == IFM_DTYPE_F32 || config->dtype == IFM_DTYPE_F16);
    fixture_close(&fixture);
}

/* x, an f32, is handed on through @narrow, which the model itself says: nothing else was asked for. */
static void check_casts(const char *device, IfmDtype narrow)
{
    static const gint64 shape[] = { 4, 8 };
    Fixture fixture;
    if (!fixture_open(&fixture, device))
        return;
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new("casts", 17);
    ifm_model_builder_input(builder, "x", F32, 2, shape, NULL);
    const gsize cast = ifm_model_builder_node(builder, "Cast", NULL, NAMES("x"), NAMES("y"));
    ifm_model_builder_int(builder, cast, "to", narrow);
    ifm_model_builder_output(builder, "y", narrow, 2, shape, NULL);
    IfmModel *model = ifm_model_builder_finish(builder, &error);
    g_assert_no_error(error);
    g_assert_cmpint(ifm_model_dtype(model), ==, F32);
    g_autoptr(IfmEffectiveConfig) config = config_of(&fixture, model);
    g_assert_cmpint(config->written, ==, F32);
    fixture_close(&fixture);
}

static void test_casts(gconstpointer device)
{
    check_casts(device, F16);
    check_casts(device, IFM_DTYPE_BF16);
}

/* What ran in less than was asked for is still an error, and so is more where that is not the model's own. */
static void test_check(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse("onnxruntime:CPU", &error);
    static const struct
    {
        IfmDtype written, asked, ran;
        gboolean good, own;
    } cases[] = {
        { F32, F32, F16, TRUE, TRUE },
        { F32, F16, IFM_DTYPE_BF16, FALSE, TRUE },
        { F32, F32, F32, TRUE },
        { F32, F32, IFM_DTYPE_BF16, FALSE },
        { F16, F16, F32, TRUE },
        { F16, F16, IFM_DTYPE_BF16, FALSE },
        { F32, F16, F32, FALSE },
        { F32, F32, U8, TRUE },
        { F16, F32, F16, FALSE },
        { IFM_DTYPE_F64, IFM_DTYPE_F64, F32, TRUE },
        { IFM_DTYPE_F64, IFM_DTYPE_F64, F16, FALSE },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    {
        IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
        IfmEffectiveConfig config = {
            .dtype = cases[i].ran, .written = cases[i].written, .is_own = cases[i].own, .n_threads = 1, .n_streams = 1
        };
        options.dtype = cases[i].asked;
        g_assert_cmpint(ifm_effective_config_check(&config, spec, &options, NULL), ==, cases[i].good);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/arithmetic/types", test_types);
    g_test_add_func("/arithmetic/factors", test_factors);
    g_test_add_func("/arithmetic/check", test_check);
    g_test_add_func("/arithmetic/onnxruntime/qdq", test_ort_qdq);
    g_test_add_func("/arithmetic/onnxruntime/dynamic", test_ort_dynamic);
    g_test_add_data_func("/arithmetic/onnxruntime/half", "onnxruntime:CPU", test_half);
    g_test_add_data_func("/arithmetic/openvino/half", "openvino:CPU", test_half);
    g_test_add_data_func("/arithmetic/onnxruntime/casts", "onnxruntime:CPU", test_casts);
    g_test_add_data_func("/arithmetic/openvino/casts", "openvino:CPU", test_casts);
    return g_test_run();
}
