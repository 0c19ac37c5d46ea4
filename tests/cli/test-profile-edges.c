
#include "build-folders.h"
#include "cli/harness.h"
#include <onnx/onnx.h>

/* Models at the edge of what can be profiled, and what a profile tells beside its figures. */

#define NAMES(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void save(const Bench *bench, IfmModelBuilder *builder /* (transfer full) */, const char *name)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModelBuilder) owned = builder;
    g_autofree char *path = bench_path(bench, name);
    g_autoptr(IfmModel) model = ifm_model_builder_finish(owned, &error);
    g_assert_no_error(error);
    g_assert_true(ifm_model_save(model, path, &error));
}

/* x [N, 3] -> @op_type -> y, both of @dtype. */
static IfmModelBuilder *one_node(const char *op_type, IfmDtype dtype)
{
    IfmModelBuilder *builder = ifm_model_builder_new("one", 17);
    ifm_model_builder_input(builder, "x", dtype, 2, (gint64[]){ -1, 3 }, NAMES("N", NULL));
    ifm_model_builder_node(builder, op_type, "only", NAMES("x"), NAMES("y"));
    return builder;
}

static void give(IfmModelBuilder *builder, IfmDtype dtype)
{
    ifm_model_builder_output(builder, "y", dtype, 2, (gint64[]){ -1, 3 }, NAMES("N", NULL));
}

static json_t *load(const Bench *bench, const char *name)
{
    g_autofree char *path = bench_path(bench, name);
    g_autoptr(GError) error = NULL;
    json_t *json = ifm_json_load(path, &error);
    g_assert_no_error(error);
    return json;
}

/* --- what goes in and comes out -------------------------------------------------------------------------------------- */

/* Whatever is asked of it: what gives nothing is no model to infer. */
static void test_no_outputs(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    save(bench, one_node("Relu", IFM_DTYPE_F32), "none.onnx");
    run_line(bench, "profile none.onnx --dim N=2 --profile flops", &ended);
    assert_complaint(&ended, 3, "its graph has no outputs");
    run_line(bench, "profile none.onnx --dim N=2 -q -d simulated:lab/FIXED", &ended);
    assert_complaint(&ended, 3, "its graph has no outputs");
    run_line(bench, "compare none.onnx none.onnx --dim N=2 -d simulated:lab/FIXED", &ended);
    assert_complaint(&ended, 3, "A: none: its graph has no outputs");
}

/* One that is handed through is an output like any other. */
static void test_input_is_output(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    IfmModelBuilder *builder = one_node("Relu", IFM_DTYPE_F32);
    give(builder, IFM_DTYPE_F32);
    ifm_model_builder_output(builder, "x", IFM_DTYPE_F32, 2, (gint64[]){ -1, 3 }, NAMES("N", NULL));
    save(bench, builder, "through.onnx");
    run_line(bench, "profile through.onnx --dim N=2 --profile flops --json -", &ended);
    assert_status(&ended, 0);
    json_auto_t *json = parse_output(&ended);
    g_assert_cmpfloat(ifm_member_number(json, "flops.total_flop"), ==, 6);
    if (!bench_has_device(bench, "onnxruntime:CPU", ""))
        return;
    run_line(bench, "profile through.onnx --dim N=2 -q --runs 3 --no-peak -d onnxruntime:CPU --json r.json", &ended);
    assert_status(&ended, 0);
    json_auto_t *measured = load(bench, "r.json");
    const json_t *entry = json_array_get(json_object_get(measured, "cases"), 0);
    g_assert_cmpstr(ifm_member_text(entry, "measurement.verification.status"), ==, "passed");
}

/* Of texts nothing can be made up: wrong input. What a device does not compute in is its own affair. */
static void test_types(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    IfmModelBuilder *builder = one_node("Identity", IFM_DTYPE_STRING);
    give(builder, IFM_DTYPE_STRING);
    save(bench, builder, "texts.onnx");
    run_line(bench, "profile texts.onnx --dim N=2 --profile flops", &ended);
    assert_status(&ended, 0);
    run_line(bench, "profile texts.onnx --dim N=2 -q -d simulated:lab/FIXED", &ended);
    assert_complaint(&ended, 3, "input 'x' takes texts, which are not made up: --input x=FILE.pb feeds some");
    run_line(bench, "compare texts.onnx texts.onnx --dim N=2 -d simulated:lab/FIXED", &ended);
    assert_complaint(&ended, 3, "input 'x' takes texts, which are not made up: --input x=FILE.pb feeds some");
    if (!bench_has_device(bench, "onnxruntime:CPU", ""))
        return;
    builder = one_node("Relu", IFM_DTYPE_F16); /* without --dtype it runs as it is */
    give(builder, IFM_DTYPE_F16);
    save(bench, builder, "half.onnx");
    run_line(bench, "profile half.onnx --dim N=2 -q --runs 3 --no-peak -d onnxruntime:CPU", &ended);
    assert_status(&ended, 0);
    run_line(bench, "profile half.onnx --dim N=2 -q --runs 3 --no-peak --dtype f16 -d onnxruntime:CPU", &ended);
    assert_status(&ended, 0);
    run_line(bench, "profile half.onnx --dim N=2 -q --runs 3 --no-peak --dtype f32 -d onnxruntime:CPU", &ended);
    assert_complaint(&ended, 1,
                     "f32 was asked for, but ONNX Runtime computes in the types a model is written in: here f16");
    run_line(bench, "profile half.onnx --dim N=2 --profile flops", &ended);
    assert_status(&ended, 0);
}

/* --- operators of nobody --------------------------------------------------------------------------------------------- */

static void replace_all(const Bench *bench, const char *name, const char *from, const char *to)
{
    g_autofree char *path = bench_path(bench, name), *bytes = NULL;
    gsize length = 0, n = 0;
    g_assert_cmpuint(strlen(from), ==, strlen(to));
    g_assert_true(g_file_get_contents(path, &bytes, &length, NULL));
    for (char *at; (at = memmem(bytes, length, from, strlen(from))) != NULL; n++)
        memcpy(at, to, strlen(to));
    g_assert_cmpuint(n, >, 0);
    g_assert_true(g_file_set_contents(path, bytes, (gssize)length, NULL));
}

/* x [3,4], b [4] -> com.microsoft.BiasGelu -> y, its shape declared. */
static void save_bias_gelu(const Bench *bench, const char *name)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = g_build_filename(IFM_SOURCE_DIR, "fuzz", "corpus", "onnx", "op-fused.onnx", NULL);
    g_autoptr(IfmModel) model = ifm_model_open(path, &error);
    g_assert_no_error(error);
    const IfmNode *node = NULL;
    for (gsize i = 0; i < ifm_model_n_nodes(model); i++)
        if (g_str_equal(ifm_model_node(model, i)->op_type, "BiasGelu"))
            node = ifm_model_node(model, i);
    g_assert_nonnull(node);
    IfmModelBuilder *builder = ifm_model_builder_new("gelu", 17);
    ifm_model_builder_input(builder, node->inputs[0], IFM_DTYPE_F32, 2, (gint64[]){ 3, 4 }, NULL);
    ifm_model_builder_input(builder, node->inputs[1], IFM_DTYPE_F32, 1, (gint64[]){ 4 }, NULL);
    ifm_model_builder_copy_context(builder, model);
    ifm_model_builder_copy_node(builder, node);
    ifm_model_builder_output(builder, node->outputs[0], IFM_DTYPE_F32, 2, (gint64[]){ 3, 4 }, NULL);
    save(bench, builder, name);
}

/* One line and 3, though all shapes are declared; where a runtime runs it, what is not counted is told. */
static void test_custom_domain(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    save_bias_gelu(bench, "known.onnx");
    run_line(bench, "profile known.onnx --profile flops", &ended);
    assert_status(&ended, 0);
    g_assert_cmpstr(ended.err, ==, "");
    save_bias_gelu(bench, "operator.onnx");
    replace_all(bench, "operator.onnx", "BiasGelu", "XiasGelu");
    run_line(bench, "profile operator.onnx --profile flops --observe", &ended);
    assert_complaint(&ended, 3, "(com.microsoft.XiasGelu");
    g_assert_cmpstr(ended.out, ==, "");
    save_bias_gelu(bench, "domain.onnx");
    replace_all(bench, "domain.onnx", "com.microsoft", "org.nobody.xx");
    run_line(bench, "profile domain.onnx --profile flops,memory --observe --json r.json", &ended);
    assert_complaint(&ended, 3, "(org.nobody.xx.BiasGelu");
    run_line(bench, "profile domain.onnx --profile flops,memory", &ended); /* nothing runs: what is not counted is said */
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "org.nobody.xx.BiasGelu (1 node): no rule for this operator"));
    if (bench_has_device(bench, "onnxruntime:CPU", ""))
    {
        run_line(bench, "profile domain.onnx -q --runs 3 -d onnxruntime:CPU", &ended);
        assert_complaint(&ended, 3, "BiasGelu");
    }
    /* a device that runs it, as a simulated one does anything: the total is not known, and that is said */
    run_line(bench, "profile domain.onnx -q --runs 3 -d simulated:lab/FIXED --json r.json", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "org.nobody.xx.BiasGelu (1 node): no rule for this operator"));
    json_auto_t *json = load(bench, "r.json");
    g_assert_true(json_is_null(ifm_member(json, "flops.total_flop")));
}

/* --- sizes past any machine ------------------------------------------------------------------------------------------ */

static void test_huge_dims(Bench *bench, gconstpointer data)
{
    static const struct
    {
        const char *size, *said;
    } rows[] = {
        { "1099511627776", "needs at least" },    /* 2^40 x 3 x 4 bytes: 12 TiB */
        { "9007199254740992", "needs at least" }, /* 2^53 */
        { "36028797018963968", "larger than any memory" },
        { "4611686018427387904", "larger than any memory" },
        { "9223372036854775807", "larger than any memory" },
    };
    g_auto(Ended) ended = { 0 };
    IfmModelBuilder *builder = one_node("Relu", IFM_DTYPE_F32);
    give(builder, IFM_DTYPE_F32);
    save(bench, builder, "free.onnx");
    if (!bench_has_device(bench, "onnxruntime:CPU", ""))
    {
        g_test_skip("no ONNX Runtime on this machine to be spared it");
        return;
    }
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        g_autofree char *line =
            g_strdup_printf("profile free.onnx -q --runs 3 --no-peak -d onnxruntime:CPU --dim N=%s", rows[i].size);
        run_line(bench, line, &ended);
        assert_complaint(&ended, 3, rows[i].said);
        g_assert_null(strstr(ended.err, " -")); /* no size wrapped around */
    }
    run_line(bench, "profile free.onnx --profile flops --dim N=9223372036854775808", &ended);
    g_assert_cmpint(ended.status, ==, 2);
    /* a run that would tell shapes is not begun either */
    builder = one_node("NonZero", IFM_DTYPE_F32);
    ifm_model_builder_output(builder, "y", IFM_DTYPE_I64, 2, (gint64[]){ 2, -1 }, NAMES(NULL, "found"));
    save(bench, builder, "nonzero.onnx");
    run_line(bench, "profile nonzero.onnx --profile flops --observe --dim N=1099511627776", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "no run reported the missing shapes"));
    g_assert_nonnull(strstr(ended.out, "needs at least"));
}

/* --- beside the figures ---------------------------------------------------------------------------------------------- */

static void test_hardware(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    run_line(bench, "profile matmul,m=8,k=8,n=8 -p runtime -q --runs 3 -d simulated:lab/FIXED --json -", &ended);
    assert_status(&ended, 0);
    json_auto_t *none = parse_output(&ended);
    g_assert_true(json_is_null(ifm_member(none, "hardware.gpu_name")));
    g_assert_true(json_is_null(ifm_member(none, "hardware.gpu_memory_gb")));
    run_line(bench, "profile matmul,m=8,k=8,n=8 -p runtime -q --runs 3 -d simulated:ideal/GPU --json -", &ended);
    assert_status(&ended, 0);
    json_auto_t *json = parse_output(&ended);
    g_assert_cmpstr(ifm_member_text(json, "hardware.gpu_name"), !=, NULL);
    const json_t *entry = json_array_get(json_object_get(json, "cases"), 0);
    g_assert_cmpstr(ifm_member_text(json, "hardware.gpu_name"), ==,
                    ifm_member_text(entry, "measurement.environment.hardware.name"));
}

/* A narrow screen has no room for what each figure means: names and figures stay whole, one a line. */
static void test_narrow_memory(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    run_shell(bench, "sh",
              "COLUMNS=60 \"$INFEROMETER\" profile resnet18,size=64 -p memory -q --runs 2 -d simulated:ideal/GPU", &ended);
    assert_status(&ended, 0);
    g_auto(GStrv) lines = g_strsplit(ended.out, "\n", -1);
    guint n = 0;
    for (char **line = lines; *line != NULL; line++)
    {
        g_assert_cmpint(g_utf8_strlen(*line, -1), <=, 60);
        n += g_str_has_prefix(*line, "activations, ") && g_str_has_suffix(*line, "iB");
    }
    g_assert_cmpuint(n, ==, 3);
}

/* Layers that do the same share a row: resnet18 has four convolutions 3 x 3 of 64 channels, and three of each wider kind
 * that come after the first. */
static void test_group(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    int n_three = 0, n_alone = 0;
    run_line(bench, "profile resnet18,size=64 -q --runs 2 -d simulated:ideal/CPU --group --nodes 100", &ended);
    assert_status(&ended, 0);
    g_auto(GStrv) lines = g_strsplit(ended.out, "\n", -1);
    for (char **line = lines; *line != NULL; line++)
    {
        gboolean convolution = strstr(*line, " Conv ") != NULL;
        n_three += convolution && g_str_has_prefix(*line, "3 x lay");
        n_alone += convolution && (g_str_has_prefix(*line, "layer") || g_str_has_prefix(*line, "conv1"));
    }
    g_assert_cmpint(n_three, ==, 3);
    g_assert_cmpint(n_alone, ==, 7); /* the first, and of each wider kind the first and the one that skips */
    run_line(bench, "profile resnet18,size=64 -q --runs 2 -d simulated:ideal/CPU --nodes 100", &ended);
    assert_status(&ended, 0);
    g_assert_null(strstr(ended.out, " x lay"));
}

/* Growth is that of a process that ran nothing before, whether shapes were asked for first or not. */
static void test_growth(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    if (!bench_has_device(bench, "onnxruntime:CPU", ""))
    {
        g_test_skip("no ONNX Runtime on this machine");
        return;
    }
    IfmModelBuilder *builder = one_node("NonZero", IFM_DTYPE_F32);
    ifm_model_builder_output(builder, "y", IFM_DTYPE_I64, 2, (gint64[]){ 2, -1 }, NAMES(NULL, "found"));
    save(bench, builder, "nonzero.onnx");
    run_line(bench, "profile nonzero.onnx --dim N=2 -q --runs 2 --no-peak -p memory -d onnxruntime:CPU --json r.json",
             &ended);
    assert_status(&ended, 0);
    json_auto_t *json = load(bench, "r.json");
    g_assert_cmpstr(ifm_member_text(json_object_get(json, "flops"), "x"), ==, NULL);
    const json_t *entry = json_array_get(json_object_get(json, "cases"), 0);
    g_assert_cmpfloat(ifm_member_number(entry, "measurement.memory.process.models_before"), ==, 0);
    run_line(bench,
             "profile nonzero.onnx --dim N=2 -q --runs 2 --no-peak -p memory -d A=onnxruntime:CPU "
             "-d B=onnxruntime:CPU --json r.json",
             &ended);
    assert_status(&ended, 0);
    json_auto_t *twice = load(bench, "r.json");
    entry = json_array_get(json_object_get(twice, "cases"), 1);
    g_assert_cmpfloat(ifm_member_number(entry, "measurement.memory.process.models_before"), ==, 1);
}

/* ONNX Runtime takes any key: of one that it can hardly know the page says so. */
static void test_unknown_option(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    if (!bench_has_device(bench, "onnxruntime:CPU", ""))
    {
        g_test_skip("no ONNX Runtime on this machine");
        return;
    }
#define LINE "profile matmul,m=8,k=8,n=8 -p runtime -q --runs 3 -d onnxruntime:CPU --option "
    run_line(bench, LINE "session.no_such_key=1 --option session.use_ort_model_bytes_directly=0", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "\"session.no_such_key\""));
    g_assert_null(strstr(ended.out, "\"session.use_ort_model_bytes_directly\""));
    run_line(bench, LINE "session.disable_prepacking=1", &ended);
    assert_status(&ended, 0);
    g_assert_null(strstr(ended.out, "confirmed nothing"));
#undef LINE
}

/* An alias is one everywhere, or nowhere. */
static void test_alias(Bench *bench, gconstpointer data)
{
    static const char *const scripts[] = {
        "\"$INFEROMETER\" profile m.onnx -q -d 'a b=simulated:lab/FIXED'",
        "\"$INFEROMETER\" compare m.onnx m.onnx -q -d 'a b=simulated:lab/FIXED'",
        "\"$INFEROMETER\" study run gnn-stages -q -d 'a b=simulated:lab/FIXED'",
    };
    g_auto(Ended) ended = { 0 };
    run_line(bench, "zoo export matmul m=8 -o m.onnx", &ended);
    for (gsize i = 0; i < G_N_ELEMENTS(scripts); i++)
    {
        run_shell(bench, "sh", scripts[i], &ended);
        assert_complaint(&ended, 3, "\"a b\" is no alias: a letter, then letters, digits, - and _");
    }
}

/* --- wrong answers --------------------------------------------------------------------------------------------------- */

/* y = tanh(x w) w^T: a tied weight, read both ways by products. */
static void save_tied(const Bench *bench, const char *name)
{
    static const gint64 x[] = { 3, 64 }, w[] = { 64, 64 };
    IfmModelBuilder *builder = ifm_model_builder_new("tied", 17);
    ifm_model_builder_input(builder, "x", IFM_DTYPE_F32, 2, x, NULL);
    ifm_model_builder_random_weight(builder, "w", 2, w, 1, 1);
    ifm_model_builder_node(builder, "MatMul", "first", NAMES("x", "w"), NAMES("a"));
    ifm_model_builder_node(builder, "Tanh", "bend", NAMES("a"), NAMES("b"));
    gsize node = ifm_model_builder_node(builder, "Gemm", "second", NAMES("b", "w"), NAMES("y"));
    ifm_model_builder_int(builder, node, "transB", 1);
    ifm_model_builder_output(builder, "y", IFM_DTYPE_F32, 2, x, NULL);
    save(bench, builder, name);
}

/* OpenVINO 2026.4 packs a square constant once for both directions, and computes one of the products wrong: that is no
 * latency, of the model or of its backward pass. */
static void test_tied_square(Bench *bench, gconstpointer data)
{
    static const char *const modes[] = { "forward", "backward" };
    if (!bench_has_device(bench, "openvino:CPU@0", ""))
        return;
    save_tied(bench, "tied.onnx");
    for (gsize i = 0; i < G_N_ELEMENTS(modes); i++)
    {
        g_auto(Ended) ended = { 0 };
        g_autofree char *line =
            g_strdup_printf("profile tied.onnx --mode %s -q --runs 3 --no-peak -d openvino:CPU@0", modes[i]);
        run_line(bench, line, &ended);
        if (ended.status == 0)
            g_test_skip("this OpenVINO reads a square weight both ways and is right");
        else
            assert_complaint(&ended, 1, "output y is wrong");
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/profile-edges/no-outputs", Bench, NULL, bench_init, test_no_outputs, bench_clear);
    g_test_add("/profile-edges/input-is-output", Bench, NULL, bench_init, test_input_is_output, bench_clear);
    g_test_add("/profile-edges/types", Bench, NULL, bench_init, test_types, bench_clear);
    g_test_add("/profile-edges/custom-domain", Bench, NULL, bench_init, test_custom_domain, bench_clear);
    g_test_add("/profile-edges/huge-dims", Bench, NULL, bench_init, test_huge_dims, bench_clear);
    g_test_add("/profile-edges/hardware", Bench, NULL, bench_init, test_hardware, bench_clear);
    g_test_add("/profile-edges/narrow-memory", Bench, NULL, bench_init, test_narrow_memory, bench_clear);
    g_test_add("/profile-edges/growth", Bench, NULL, bench_init, test_growth, bench_clear);
    g_test_add("/profile-edges/unknown-option", Bench, NULL, bench_init, test_unknown_option, bench_clear);
    g_test_add("/profile-edges/tied-square", Bench, NULL, bench_init, test_tied_square, bench_clear);
    g_test_add("/profile-edges/group", Bench, NULL, bench_init, test_group, bench_clear);
    g_test_add("/profile-edges/alias", Bench, NULL, bench_init, test_alias, bench_clear);
    return g_test_run();
}
