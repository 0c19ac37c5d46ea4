#include <onnx/onnx.h>

#include "build-folders.h"
#include "cli/harness.h"

/* What `inferometer profile` tells of a model by itself, and of what is wrong with one, whatever part is asked for. */

static void save_model(const Bench *bench, IfmModelBuilder *builder /* (transfer full) */, const char *name)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModelBuilder) owned = builder;
    g_autoptr(IfmModel) model = ifm_model_builder_finish(owned, &error);
    g_assert_no_error(error);
    g_autofree char *path = bench_path(bench, name);
    g_assert_true(ifm_model_save(model, path, &error));
}

/* x [2, 3] -> OPERATOR -> y; @rank: of y. */
static void save_one_node(const Bench *bench, const char *op_type, const char *name, IfmDtype made, int rank)
{
    static const gint64 x[] = { 2, 3 }, y[] = { -1, -1 };
    static const char *const names[] = { "a", "b" };
    IfmModelBuilder *builder = ifm_model_builder_new("one", 17);
    ifm_model_builder_input(builder, "x", IFM_DTYPE_F32, 2, x, NULL);
    ifm_model_builder_node(builder, op_type, "only", (const char *[]){ "x", NULL }, (const char *[]){ "y", NULL });
    ifm_model_builder_output(builder, "y", made, rank, y, names);
    save_model(bench, builder, name);
}

static double number_at(const json_t *json, const char *a, const char *b)
{
    const json_t *found = json_object_get(json_object_get(json, a), b);
    g_assert_true(json_is_number(found));
    return json_number_value(found);
}

/* --- the model alone ------------------------------------------------------------------------------------------------- */

#define M 8
#define K 16
#define N 4

/* The model's own work and memory take no device, and leave nothing behind. */
static void test_model_alone(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    g_autofree char *out = bench_path(bench, "out");
    run_line(bench, "zoo export matmul m=8 k=16 n=4 -o m.onnx", &ended);
    assert_status(&ended, 0);
    run_line(bench, "profile m.onnx --profile flops,memory --json -", &ended);
    assert_status(&ended, 0);
    g_assert_cmpstr(ended.err, ==, "");
    g_assert_false(g_file_test(out, G_FILE_TEST_EXISTS));
    json_auto_t *json = parse_output(&ended);
    g_assert_cmpfloat(number_at(json, "flops", "total_macs"), ==, M * K * N);
    g_assert_cmpfloat_with_epsilon(number_at(json, "flops", "total_gflops"), 2.0 * M * K * N / 1e9, 1e-18);
    g_assert_cmpfloat(number_at(json, "model_info", "total_parameters"), ==, K * N);
    g_assert_cmpfloat(number_at(json, "model_info", "parameter_memory_mb"), ==, K * N * 4 / 1048576.0);
    const json_t *planned = json_object_get(json_object_get(json, "memory"), "planned");
    g_assert_cmpint(json_integer_value(json_object_get(planned, "activations_min_bytes")), ==, 4 * (M * K + M * N));
    g_assert_cmpfloat_with_epsilon(number_at(json, "memory", "peak_mb"), 4.0 * (K * N + M * K + M * N) / 1048576, 1e-12);
    g_assert_null(json_object_get(json, "runtime"));
    run_line(bench, "profile m.onnx --profile flops", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "its one node is counted"));
    g_assert_nonnull(strstr(ended.out, "\ncounted so: "));
    /* nothing was looked at: what is here is not known */
    g_assert_true(json_is_null(json_object_get(json_object_get(json, "hardware"), "cuda_available")));
    g_assert_true(json_is_null(json_object_get(json_object_get(json, "hardware"), "cpu")));
    run_line(bench, "profile m.onnx --profile flops -d simulated:lab/FIXED", &ended);
    assert_complaint(&ended, 2, "no device is run for it");
    run_line(bench, "profile m.onnx --profile flop", &ended);
    assert_complaint(&ended, 2, "did you mean \"flops\"?");
}

/* Without a device a row is a node: the model's work is all there is to write. */
static void test_nodes_csv(Bench *bench, gconstpointer data)
{
    static const char *const parts[] = { "flops", "memory", "flops,memory" };
    g_auto(Ended) ended = { 0 };
    g_autofree char *row = g_strdup_printf("matmul1,MatMul,product,%d,%d,%d,%d,exact,", M * K * N, 2 * M * K * N,
                                           4 * (M * K + K * N), 4 * M * N);
    for (gsize i = 0; i < G_N_ELEMENTS(parts); i++)
    {
        g_autofree char *line = g_strdup_printf("profile matmul,m=8,k=16,n=4 -p %s --csv -", parts[i]);
        run_line(bench, line, &ended);
        assert_status(&ended, 0);
        g_auto(GStrv) lines = g_strsplit(ended.out, "\r\n", -1);
        g_assert_cmpuint(g_strv_length(lines), ==, 3); /* header, row, what is behind the last line */
        g_assert_cmpstr(lines[0], ==, "name,op_type,family,macs,flop,bytes_read,bytes_written,counted,intensity");
        g_assert_true(g_str_has_prefix(lines[1], row));
        g_assert_cmpfloat_with_epsilon(g_ascii_strtod(lines[1] + strlen(row), NULL),
                                       2.0 * M * K * N / (4 * (M * K + K * N + M * N)), 1e-9);
    }
    run_line(bench, "profile small-cnn,size=8,channels=4 -p flops --csv - --json x.json", &ended);
    assert_status(&ended, 0);
    g_autofree char *path = bench_path(bench, "x.json");
    json_auto_t *json = json_load_file(path, 0, NULL);
    g_assert_nonnull(json);
    g_auto(GStrv) lines = g_strsplit(ended.out, "\r\n", -1);
    g_assert_cmpfloat(number_at(json, "model_info", "nodes"), ==, g_strv_length(lines) - 2);
    gint64 flop = 0;
    for (gsize i = 1; lines[i] != NULL && *lines[i] != '\0'; i++)
    {
        g_auto(GStrv) cells = g_strsplit(lines[i], ",", -1);
        g_assert_cmpuint(g_strv_length(cells), ==, 9);
        flop += g_ascii_strtoll(cells[4], NULL, 10);
    }
    g_assert_cmpint(flop, >, 0);
    g_assert_cmpfloat(number_at(json, "flops", "total_flop"), ==, flop);
}

/* Only what was asked for is told. */
static void test_parts(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    run_line(bench, "profile matmul --profile runtime -q --runs 5 -d simulated:lab/FIXED --json -", &ended);
    assert_status(&ended, 0);
    json_auto_t *json = parse_output(&ended);
    const json_t *forward = json_object_get(json_object_get(json, "runtime"), "forward");
    g_assert_cmpfloat(json_number_value(json_object_get(forward, "mean")), ==, 5);
    g_assert_cmpstr(json_string_value(json_object_get(forward, "unit")), ==, "ms");
    g_assert_null(json_object_get(json, "flops"));
    g_assert_null(json_object_get(json, "memory"));
    const json_t *entry = json_array_get(json_object_get(json, "cases"), 0);
    g_assert_null(json_object_get(entry, "layers"));
    g_assert_true(json_is_false(json_object_get(json_object_get(json, "hardware"), "cuda_available")));
    /* the peak is what was measured, whatever the shapes say */
    if (bench_has_device(bench, "onnxruntime:CPU", ""))
    {
        run_line(bench, "profile matmul,m=64,k=1024,n=1024 --profile memory -q --runs 2 -d onnxruntime:CPU --json -",
                 &ended);
        assert_status(&ended, 0);
        json_auto_t *measured = parse_output(&ended);
        const json_t *memory = json_object_get(measured, "memory");
        g_assert_cmpstr(json_string_value(json_object_get(memory, "peak_of")), ==, "measured: growth of the process");
        g_assert_cmpfloat_with_epsilon(number_at(measured, "memory", "peak_mb") * 1048576,
                                       number_at(memory, "measured", "process_running_bytes"), 1);
    }
    run_line(bench, "profile matmul --profile layers -q --runs 5 -d simulated:lab/FIXED --csv -", &ended);
    assert_status(&ended, 0);
    g_assert_true(g_str_has_prefix(ended.out, "device,alias,name,op_type,"));
}

/* --- which model ----------------------------------------------------------------------------------------------------- */

static void test_names(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    run_line(bench, "profile matmul,m=8,k=16,n=4 --profile flops", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "zoo:matmul,m=8,k=16,n=4, opset"));
    /* the user's own file of that name stands before the zoo's */
    save_one_node(bench, "Relu", "matmul", IFM_DTYPE_F32, 2);
    run_line(bench, "profile matmul --profile flops", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.err, "the file of that name, not the zoo's model (zoo:matmul)"));
    g_assert_nonnull(strstr(ended.out, "6 FLOP"));
    run_line(bench, "profile zoo:matmul --profile flops", &ended);
    assert_status(&ended, 0);
    g_assert_cmpstr(ended.err, ==, "");
}

/* --- shapes that a run tells ----------------------------------------------------------------------------------------- */

static void test_observed(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    if (!bench_needs_device(bench, "onnxruntime:CPU", ""))
        return;
    save_one_node(bench, "NonZero", "nonzero.onnx", IFM_DTYPE_I64, 2);
    run_line(bench, "profile nonzero.onnx --profile flops --observe", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "shapes of 1 tensor from a run on onnxruntime:CPU"));
    /* a shape that no rule tells, of a node without a name, and what follows from it */
    static const gint64 x[] = { 2, 3 }, y[] = { 2, -1 };
    IfmModelBuilder *builder = ifm_model_builder_new("nameless", 17);
    ifm_model_builder_input(builder, "x", IFM_DTYPE_F32, 2, x, NULL);
    ifm_model_builder_node(builder, "NonZero", "", (const char *[]){ "x", NULL }, (const char *[]){ "z", NULL });
    gsize cast = ifm_model_builder_node(builder, "Cast", "", (const char *[]){ "z", NULL }, (const char *[]){ "f", NULL });
    ifm_model_builder_int(builder, cast, "to", IFM_DTYPE_F32);
    ifm_model_builder_node(builder, "Relu", "", (const char *[]){ "f", NULL }, (const char *[]){ "y", NULL });
    ifm_model_builder_output(builder, "y", IFM_DTYPE_F32, 2, y, (const char *[]){ NULL, "found" });
    save_model(bench, builder, "nameless.onnx");
    run_line(bench, "profile nameless.onnx --profile flops --observe", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "from a run on onnxruntime:CPU"));
    g_assert_nonnull(strstr(ended.out, "all 3 nodes are counted"));
}

/* Nothing runs where it is not asked for, with no runtime here or ten: one line says what stays unknown. */
static void test_not_observed(Bench *bench, gconstpointer data)
{
    static const char *const parts[] = { "flops", "memory", "flops,memory" };
    g_auto(Ended) ended = { 0 };
    save_one_node(bench, "NonZero", "nonzero.onnx", IFM_DTYPE_I64, 2);
    for (gsize i = 0; i < G_N_ELEMENTS(parts); i++)
    {
        g_autofree char *line = g_strdup_printf("profile nonzero.onnx --profile %s --json r.json", parts[i]);
        run_line(bench, line, &ended);
        assert_status(&ended, 0);
        g_assert_null(strstr(ended.out, "a run on"));
        g_assert_nonnull(strstr(ended.out, "shapes    no rule gives those of node 0 (NonZero"));
        g_assert_nonnull(strstr(ended.out, "--observe runs the model once"));
        g_autofree char *path = bench_path(bench, "r.json"), *text = NULL;
        g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
        g_assert_null(strstr(text, "\"observed_on\": \""));
    }
    run_line(bench, "profile matmul --profile flops --observe",
             &ended); /* all shapes are known: there is nothing to run for */
    assert_status(&ended, 0);
    g_assert_null(strstr(ended.out, "observe"));
}

/* Outputs near 0, as sigmoids give them, are right within what rounding does to the model, and wrong beyond. */
static void test_small_outputs(Bench *bench, gconstpointer data)
{
    static const char *const engines[] = { "onnxruntime:CPU", "openvino:CPU" };
    static const gint64 x[] = { 1, 8, 16, 16 }, w[] = { 16, 8, 3, 3 }, y[] = { 1, 16, 16, 16 }, one[] = { 16 };
    static const double biases[] = { -40, -25 };
    for (gsize i = 0; i < G_N_ELEMENTS(biases); i++)
    {
        g_auto(Ended) ended = { 0 };
        g_auto(IfmTensor) bias = IFM_TENSOR_INIT;
        g_assert_true(ifm_tensor_init(&bias, IFM_DTYPE_F32, 1, one, NULL));
        for (int k = 0; k < 16; k++)
            ((float *)bias.data)[k] = (float)biases[i];
        IfmModelBuilder *builder = ifm_model_builder_new("small", 17);
        ifm_model_builder_input(builder, "x", IFM_DTYPE_F32, 4, x, NULL);
        ifm_model_builder_random_weight(builder, "w", 4, w, 2, 1);
        ifm_model_builder_weight(builder, "b", &bias);
        gsize conv = ifm_model_builder_node(builder, "Conv", "conv", (const char *[]){ "x", "w", "b", NULL },
                                            (const char *[]){ "c", NULL });
        ifm_model_builder_ints(builder, conv, "pads", (gint64[]){ 1, 1, 1, 1 }, 4);
        ifm_model_builder_node(builder, "Sigmoid", "s", (const char *[]){ "c", NULL }, (const char *[]){ "y", NULL });
        ifm_model_builder_output(builder, "y", IFM_DTYPE_F32, 4, y, NULL);
        save_model(bench, builder, "small.onnx");
        for (gsize k = 0; k < G_N_ELEMENTS(engines); k++)
        {
            g_autofree char *line =
                g_strdup_printf("profile small.onnx -q --runs 3 --no-peak --no-nodes -p runtime -d %s", engines[k]);
            if (!bench_needs_device(bench, engines[k], ""))
                continue;
            run_line(bench, line, &ended);
            assert_status(&ended, 0);
            g_assert_nonnull(strstr(ended.out, "equal"));
        }
    }
}

/* --- what is wrong --------------------------------------------------------------------------------------------------- */

static const char *const parts[] = { "runtime", "memory", "flops", "layers" };

/* One line and 3, whatever is asked for. */
static void refuse(const Bench *bench, const char *arguments, const char *words)
{
    for (gsize i = 0; i < G_N_ELEMENTS(parts); i++)
    {
        g_auto(Ended) ended = { 0 };
        g_autofree char *line =
            g_strdup_printf("profile %s -q --profile %s%s", arguments, parts[i], i % 2 == 0 ? " --json x.json" : "");
        run_line(bench, line, &ended);
        assert_complaint(&ended, 3, words);
        g_assert_cmpstr(ended.out, ==, "");
    }
    g_autofree char *out = bench_path(bench, "out"), *json = bench_path(bench, "x.json");
    g_assert_false(g_file_test(json, G_FILE_TEST_EXISTS));
    g_assert_false(g_file_test(out, G_FILE_TEST_EXISTS));
}

static void test_wrong_models(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    g_autofree char *path = bench_path(bench, "whole.onnx"), *whole = NULL;
    gsize length = 0;
    run_line(bench, "zoo export small-cnn -o whole.onnx", &ended);
    assert_status(&ended, 0);
    g_assert_true(g_file_get_contents(path, &whole, &length, NULL));
    bench_write(bench, "empty.onnx", "", 0);
    bench_write(bench, "truncated.onnx", whole, length - 100);
    bench_write(bench, "junk.onnx", "\x7f\x45\x4c\x46 this is no model", 20);
    refuse(bench, "empty.onnx", "empty.onnx");
    refuse(bench, "truncated.onnx", "truncated.onnx");
    refuse(bench, "junk.onnx", "junk.onnx");
    static const gint64 x[] = { 2, 3 }, w[] = { 4, 5 }, free_dims[] = { -1, 3 };
    IfmModelBuilder *builder = ifm_model_builder_new("contradiction", 17);
    ifm_model_builder_input(builder, "x", IFM_DTYPE_F32, 2, x, NULL);
    ifm_model_builder_random_weight(builder, "w", 2, w, 1, 1);
    ifm_model_builder_node(builder, "MatMul", "product", (const char *[]){ "x", "w", NULL }, (const char *[]){ "y", NULL });
    ifm_model_builder_output(builder, "y", IFM_DTYPE_F32, 2, x, NULL);
    save_model(bench, builder, "contradiction.onnx");
    refuse(bench, "contradiction.onnx", "'product'");
    builder = ifm_model_builder_new("unbound", 17);
    ifm_model_builder_input(builder, "x", IFM_DTYPE_F32, 2, free_dims, (const char *[]){ "tokens", NULL });
    ifm_model_builder_node(builder, "Relu", "relu", (const char *[]){ "x", NULL }, (const char *[]){ "y", NULL });
    ifm_model_builder_output(builder, "y", IFM_DTYPE_F32, 2, free_dims, (const char *[]){ "tokens", NULL });
    save_model(bench, builder, "unbound.onnx");
    refuse(bench, "unbound.onnx", "--dim tokens=SIZE");
    refuse(bench, "unbound.onnx --dim M=8", "tokens");
}

/* Replaces the first @from, of the same length; nodes stand before the graph's inputs and outputs. */
static void patch(const Bench *bench, const char *name, const char *from, const char *to)
{
    g_autofree char *path = bench_path(bench, name), *bytes = NULL;
    gsize length = 0;
    g_assert_true(g_file_get_contents(path, &bytes, &length, NULL));
    char *at = memmem(bytes, length, from, strlen(from));
    g_assert_nonnull(at);
    memcpy(at, to, strlen(to));
    bench_write(bench, name, bytes, length);
}

static void save_chain(const Bench *bench, const char *name, const gint64 *dims)
{
    IfmModelBuilder *builder = ifm_model_builder_new("chain", 17);
    ifm_model_builder_input(builder, "begin", IFM_DTYPE_F32, 2, dims, NULL);
    ifm_model_builder_node(builder, "Relu", "first", (const char *[]){ "begin", NULL }, (const char *[]){ "inner", NULL });
    ifm_model_builder_node(builder, "Relu", "second", (const char *[]){ "inner", NULL }, (const char *[]){ "ended", NULL });
    ifm_model_builder_output(builder, "ended", IFM_DTYPE_F32, 2, dims, NULL);
    save_model(bench, builder, name);
}

static void test_wrong_graphs(Bench *bench, gconstpointer data)
{
    static const gint64 dims[] = { 2, 3 };
    save_chain(bench, "cycle.onnx", dims);
    patch(bench, "cycle.onnx", "begin", "ended");
    refuse(bench, "cycle.onnx", "cycle");
    save_chain(bench, "version.onnx", dims);
    g_autofree char *path = bench_path(bench, "version.onnx"), *bytes = NULL;
    gsize length = 0;
    g_assert_true(g_file_get_contents(path, &bytes, &length, NULL));
    g_assert_cmpint(bytes[0], ==, 0x08); /* ir_version */
    bytes[1] = 0x7f;
    bench_write(bench, "version.onnx", bytes, length);
    refuse(bench, "version.onnx", "127");
}

/* Weights in another file: none, outside of the folder, shorter than what is declared, of a size that no file has. */
static void test_wrong_weights(Bench *bench, gconstpointer data)
{
    static const char *const names[] = { "no-file", "parent", "beyond", "huge" };
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
    {
        g_autofree char *file = g_strconcat(names[i], ".onnx", NULL), *bytes = NULL;
        g_autofree char *from = g_build_filename(IFM_SOURCE_DIR, "fuzz", "corpus", "external", file, NULL);
        gsize length = 0;
        g_assert_true(g_file_get_contents(from, &bytes, &length, NULL));
        bench_write(bench, file, bytes, length);
        refuse(bench, file, file);
    }
}

/* Said before it is tried, in one line, whatever of the run is asked for. */
/* Weights behind a link that leaves the folder, as model caches have them: refused with what allows it, then copied. */
static void test_outside_data(Bench *bench, gconstpointer data)
{
    static const float weights[] = { 1, 2, 3, 4 };
    g_auto(Ended) ended = { 0 };
    g_autofree char *folder = bench_path(bench, "model"), *link = bench_path(bench, "model/link.bin"), *bytes = NULL;
    g_autofree char *from = g_build_filename(IFM_SOURCE_DIR, "fuzz", "corpus", "external", "link.onnx", NULL);
    gsize length = 0;
    g_assert_true(g_file_get_contents(from, &bytes, &length, NULL));
    g_assert_cmpint(g_mkdir(folder, 0700), ==, 0);
    bench_write(bench, "model/link.onnx", bytes, length);
    bench_write(bench, "outside.bin", weights, sizeof weights);
    g_assert_cmpint(symlink("../outside.bin", link), ==, 0);
    refuse(bench, "model/link.onnx --dim N=2", "profile --allow-outside-data reads it");
    run_line(bench, "profile model/link.onnx --dim N=2 --allow-outside-data --profile flops,memory -o out", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.err, "weights outside of its folder: model and weights are copied to out/models/link-"));
    if (!bench_has_device(bench, "onnxruntime:CPU", ""))
        return;
    run_line(bench,
             "profile model/link.onnx --dim N=2 --allow-outside-data -q -p runtime --runs 2 --no-peak -d onnxruntime:CPU",
             &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "equal"));
}

static void test_too_large(Bench *bench, gconstpointer data)
{
    static const gint64 dims[] = { 1 << 21, 1 << 20 };
    if (!bench_needs_device(bench, "onnxruntime:CPU", ""))
        return;
    save_chain(bench, "large.onnx", dims);
    for (gsize i = 0; i < 4; i += 3) /* runtime, layers */
    {
        g_auto(Ended) ended = { 0 };
        g_autofree char *line =
            g_strdup_printf("profile large.onnx -q --no-peak --runs 3 --profile %s -d onnxruntime:CPU", parts[i]);
        run_line(bench, line, &ended);
        assert_complaint(&ended, 3, "needs at least");
    }
}

/* An operator that is none, whether its output's shape is declared or not. */
static void test_unknown_operator(Bench *bench, gconstpointer data)
{
    static const gint64 x[] = { 2, 3 };
    save_one_node(bench, "Frobnicate", "unknown.onnx", IFM_DTYPE_F32, 2);
    refuse(bench, "unknown.onnx", "node 0 (Frobnicate 'only')");
    IfmModelBuilder *builder = ifm_model_builder_new("declared", 17);
    ifm_model_builder_input(builder, "x", IFM_DTYPE_F32, 2, x, NULL);
    ifm_model_builder_node(builder, "Frobnicate", "only", (const char *[]){ "x", NULL }, (const char *[]){ "y", NULL });
    ifm_model_builder_output(builder, "y", IFM_DTYPE_F32, 2, x, NULL);
    save_model(bench, builder, "declared.onnx");
    refuse(bench, "declared.onnx", "node 0 (Frobnicate 'only')");
    builder = ifm_model_builder_new("newest", 99);
    ifm_model_builder_input(builder, "x", IFM_DTYPE_F32, 2, x, NULL);
    ifm_model_builder_node(builder, "Relu", "only", (const char *[]){ "x", NULL }, (const char *[]){ "y", NULL });
    ifm_model_builder_output(builder, "y", IFM_DTYPE_F32, 2, x, NULL);
    save_model(bench, builder, "newest.onnx");
    refuse(bench, "newest.onnx", "opset 99 is newer than");
}

/* A wrong name is wrong input; a file that is not there is missing. */
static void test_absent(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    refuse(bench, "resnet51", "nor in the zoo");
    refuse(bench, ",m=2", "the model's name is empty");
    refuse(bench, "resnet50,foo=3", "foo");
    run_line(bench, "profile missing.onnx -q --profile flops", &ended);
    assert_complaint(&ended, 4, "missing.onnx");
}

/* What cannot be counted makes the total unknown, never less. */
static void test_totals_unknown(Bench *bench, gconstpointer data)
{
    static const gint64 x[] = { 2, 3 };
    g_auto(Ended) ended = { 0 };
    IfmModelBuilder *builder = ifm_model_builder_new("sequence", 17);
    ifm_model_builder_input(builder, "x", IFM_DTYPE_F32, 2, x, NULL);
    ifm_model_builder_input(builder, "at", IFM_DTYPE_I64, 0, NULL, NULL);
    ifm_model_builder_node(builder, "Relu", "relu", (const char *[]){ "x", NULL }, (const char *[]){ "r", NULL });
    ifm_model_builder_node(builder, "SequenceConstruct", "list", (const char *[]){ "r", NULL },
                           (const char *[]){ "s", NULL });
    ifm_model_builder_node(builder, "SequenceAt", "pick", (const char *[]){ "s", "at", NULL },
                           (const char *[]){ "y", NULL });
    ifm_model_builder_output(builder, "y", IFM_DTYPE_F32, 2, x, NULL);
    save_model(bench, builder, "sequence.onnx");
    run_line(bench, "profile sequence.onnx -q --profile flops --json -", &ended);
    assert_status(&ended, 0);
    json_auto_t *json = parse_output(&ended);
    const json_t *flops = json_object_get(json, "flops");
    g_assert_true(json_is_null(json_object_get(flops, "total_flop")));
    g_assert_true(json_is_null(json_object_get(flops, "total_gflops")));
    g_assert_cmpfloat(number_at(json, "flops", "covered_flop"), ==, 6);
    run_line(bench, "profile sequence.onnx -q --profile flops", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "not known as a whole: 6"));
}

/* --- what is left as it was ------------------------------------------------------------------------------------------ */

/* Every file of a folder: its name, when it was written, its bytes' digest. */
static char *listing(const char *folder)
{
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
    for (const char *name; (name = g_dir_read_name(dir)) != NULL;)
    {
        g_autofree char *path = g_build_filename(folder, name, NULL), *bytes = NULL;
        gsize length = 0;
        GStatBuf info;
        g_assert_true(g_file_get_contents(path, &bytes, &length, NULL));
        g_assert_cmpint(g_stat(path, &info), ==, 0);
        g_autofree char *digest = g_compute_checksum_for_data(G_CHECKSUM_SHA256, (const guchar *)bytes, length);
        g_ptr_array_add(lines, g_strdup_printf("%s %s %ld.%09ld %o", name, digest, (long)info.st_mtim.tv_sec,
                                               info.st_mtim.tv_nsec, info.st_mode));
    }
    g_ptr_array_sort(lines, (GCompareFunc)g_strcmp0);
    g_ptr_array_add(lines, NULL);
    return g_strjoinv("\n", (char **)lines->pdata);
}

static void test_untouched(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    g_autofree char *folder = bench_path(bench, "mine");
    g_assert_cmpint(g_mkdir(folder, 0755), ==, 0);
    run_line(bench, "zoo export small-cnn -o mine/model.onnx", &ended);
    assert_status(&ended, 0);
    g_autofree char *before = listing(folder);
    gboolean real = bench_has_device(bench, "onnxruntime:CPU", "");
    run_line(bench,
             real ? "profile mine/model.onnx -q --runs 3 --no-peak -d onnxruntime:CPU -d simulated:lab/FIXED"
                  : "profile mine/model.onnx -q --runs 3 -d simulated:lab/FIXED",
             &ended);
    assert_status(&ended, 0);
    g_autofree char *after = listing(folder);
    g_assert_cmpstr(before, ==, after);
}

/* Each node's count fits 63 bits; all together do not. */
static void test_too_many(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    run_line(bench, "profile -q vgg16,batch=65536,size=16384 -p flops", &ended);
    assert_complaint(&ended, 3, "more than 63 bits can hold");
    g_assert_cmpstr(ended.out, ==, "");
}

/* Of a product of 64 x 64 by weights, the input and the output are alive at once, and all there is to keep. */
static void test_kept_counts_inputs(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    run_line(bench, "profile -q matmul,m=64,k=64,n=64 -p memory -d simulated:ideal/GPU --runs 2 --json -", &ended);
    assert_status(&ended, 0);
    json_auto_t *json = parse_output(&ended);
    const json_t *planned = json_object_get(json_object_get(json, "memory"), "planned");
    g_assert_cmpint(json_integer_value(json_object_get(planned, "activations_min_bytes")), ==, 2 * 64 * 64 * 4);
    g_assert_cmpint(json_integer_value(json_object_get(planned, "activations_kept_bytes")), ==, 2 * 64 * 64 * 4);
}

/* A folder is no model: it does not stand before the zoo's. */
static void test_folder_of_that_name(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    g_autofree char *folder = g_build_filename(bench->folder, "alexnet", NULL);
    g_assert_cmpint(g_mkdir(folder, 0777), ==, 0);
    run_line(bench, "profile alexnet -p flops", &ended);
    assert_status(&ended, 0);
    g_assert_cmpstr(ended.err, ==, "");
}

static void test_fixed_count_and_budget(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    run_line(bench, "profile matmul -d simulated:ideal/GPU --runs 100 --time-budget 1s", &ended);
    assert_complaint(&ended, 2, "--runs and --time-budget");
}

/* --- estimates ------------------------------------------------------------------------------------------------------- */

static void test_estimate(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    run_line(bench, "profile --estimate linear --num-nodes 10 --feature-dim 20 --hidden-dim 30 --json -", &ended);
    assert_status(&ended, 0);
    json_auto_t *json = parse_output(&ended);
    const json_t *part = json_array_get(json_object_get(json, "parts"), 0);
    g_assert_cmpint(json_integer_value(json_object_get(part, "macs")), ==, 10 * 20 * 30);
    g_assert_cmpint(json_integer_value(json_object_get(part, "flop")), ==, 2 * 10 * 20 * 30 + 10 * 30);
    g_assert_cmpint(json_integer_value(json_object_get(part, "parameters")), ==, 20 * 30 + 30);
    run_line(bench, "profile --estimate attention --num-nodes 1000000000000", &ended);
    assert_complaint(&ended, 3, "num_nodes");
    run_line(bench, "profile --estimate linear matmul", &ended);
    assert_complaint(&ended, 2, "needs no model");
    run_line(bench, "profile matmul --num-nodes 5", &ended);
    assert_complaint(&ended, 2, "it goes with --estimate");
    run_line(bench, "profile", &ended);
    assert_complaint(&ended, 2, "needs MODEL");
    run_line(bench, "profile --estimate linear --num-nodes 0", &ended);
    assert_complaint(&ended, 2, "--num-nodes");
    run_line(bench, "profile --estimate linear -d onnxruntime:CPU", &ended);
    assert_complaint(&ended, 2, "--device and --estimate: one of them, not both");
    run_line(bench, "profile --estimate linear --runs 5", &ended);
    assert_complaint(&ended, 2, "--runs and --estimate: one of them, not both");
    run_line(bench, "profile --estimate linear -p flops", &ended);
    assert_complaint(&ended, 2, "--profile and --estimate: one of them, not both");
    run_line(bench, "profile --estimate mpnn --num-edges 0", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "gin"));
    run_line(bench, "help profile", &ended);
    g_assert_nonnull(strstr(ended.out, "gin of mpnn itself"));
    run_line(bench, "profile --estimate all", &ended);
    assert_complaint(&ended, 2, "all");
}

/* A size that the layer has not would be passed over in silence. */
static void test_estimate_idle(Bench *bench, gconstpointer data)
{
    static const struct
    {
        const char *what, *reads; /* the options that mean something to it, of all below */
    } kinds[] = {
        { "transformer", "num-nodes num-edges feature-dim hidden-dim num-layers num-heads ffn-dim mpnn pe pe-dim "
                         "sparse-ratio num-outputs" },
        { "attention", "num-nodes hidden-dim num-heads sparse-ratio" },
        { "linear", "num-nodes feature-dim hidden-dim" },
        { "mpnn", "num-nodes num-edges hidden-dim mpnn" },
        { "ffn", "num-nodes hidden-dim ffn-dim" },
        { "encoding", "num-nodes num-edges pe pe-dim" },
    };
    static const char *const given[][2] = { { "num-nodes", "8" },  { "num-edges", "8" },     { "feature-dim", "8" },
                                            { "hidden-dim", "8" }, { "num-layers", "3" },    { "num-heads", "4" },
                                            { "ffn-dim", "8" },    { "mpnn", "gcn" },        { "pe", "rwse" },
                                            { "pe-dim", "2" },     { "sparse-ratio", "1%" }, { "num-outputs", "2" } };
    g_auto(Ended) ended = { 0 };
    for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++)
    {
        g_auto(GStrv) reads = g_strsplit(kinds[i].reads, " ", -1);
        for (gsize k = 0; k < G_N_ELEMENTS(given); k++)
        {
            g_autofree char *line =
                g_strdup_printf("profile --estimate %s --%s %s", kinds[i].what, given[k][0], given[k][1]);
            g_autofree char *said = g_strdup_printf("--%s means nothing to --estimate %s", given[k][0], kinds[i].what);
            g_test_message("%s", line);
            run_line(bench, line, &ended);
            if (i == 0 && g_str_equal(given[k][0], "pe-dim"))
                assert_complaint(&ended, 2, "--pe-dim: there is no encoding (--pe)");
            else if (g_strv_contains((const char *const *)reads, given[k][0]))
                assert_status(&ended, 0);
            else
                assert_complaint(&ended, 2, said);
        }
    }
    run_line(bench, "profile --estimate transformer --pe rwse --pe-dim 3", &ended);
    assert_status(&ended, 0);
    run_line(bench, "profile --estimate encoding --pe none --pe-dim 3", &ended);
    assert_complaint(&ended, 2, "--pe-dim: there is no encoding (--pe)");
}

/* --- what a model is written in --------------------------------------------------------------------------------------- */

/* The first case of a profile of a file of tests/data/quantised. (transfer full) */
static json_t *profile_precision(const Bench *bench, const char *file, const char *device, Ended *ended)
{
    g_autofree char *path = g_test_build_filename(G_TEST_DIST, "data", "quantised", file, NULL);
    g_autofree char *line = g_strdup_printf("profile %s -d %s --runs 5 --no-peak -q --json -", path, device);
    run_line(bench, line, ended);
    assert_status(ended, 0);
    json_auto_t *json = parse_output(ended);
    return json_incref(json_array_get(json_object_get(json, "cases"), 0));
}

/* A model in f16 runs as it is, and what it was computed in is printed; what it weighs is counted, and right. */
static void test_half(Bench *bench, gconstpointer data)
{
    static const char *const devices[] = { "onnxruntime:CPU", "openvino:CPU" };
    g_auto(Ended) ended = { 0 };
    for (gsize i = 0; i < G_N_ELEMENTS(devices); i++)
    {
        if (!bench_has_device(bench, devices[i], ""))
            continue;
        json_auto_t *one = profile_precision(bench, "fp16.onnx", devices[i], &ended);
        g_assert_cmpstr(ifm_member_text(one, "case.options.dtype"), ==, "f16");
        g_assert_cmpstr(ifm_member_text(one, "measurement.effective_config.written"), ==, "f16");
        const char *computed = ifm_member_text(one, "measurement.effective_config.dtype");
        g_assert_true(g_str_equal(computed, "f32") || g_str_equal(computed, "f16"));
        g_assert_cmpstr(ifm_member_text(one, "measurement.verification.status"), ==, "passed");
        g_autofree char *path = g_test_build_filename(G_TEST_DIST, "data", "quantised", "fp16.onnx", NULL);
        g_autofree char *line = g_strdup_printf("COLUMNS=200 \"$INFEROMETER\" profile %s -d %s --runs 5 --no-peak -q", path,
                                                devices[i]); /* narrower, a long figure shortens the texts */
        run_shell(bench, "sh", line, &ended);
        assert_status(&ended, 0);
        g_assert_nonnull(strstr(ended.out, "weights   2,048 trainable; 4.00 KiB as stored (f16 4.00 KiB)"));
        g_assert_true(strstr(ended.out, "f32, by casts") != NULL || g_str_equal(computed, "f16"));
    }
}

static void test_integers(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    if (!bench_has_device(bench, "onnxruntime:CPU", ""))
        return;
    json_auto_t *one = profile_precision(bench, "qdq_u8s8.onnx", "onnxruntime:CPU", &ended);
    json_auto_t *all = parse_output(&ended);
    const json_t *arithmetic = ifm_member(one, "measurement.effective_config.arithmetic");
    int n_products = 0;
    gsize i;
    json_t *node;
    json_array_foreach(arithmetic, i, node) n_products +=
        g_str_equal(ifm_member_text(node, "arithmetic"), "u8s8") ? (int)ifm_member_number(node, "nodes") : 0;
    g_assert_cmpint(n_products, ==, 2);
    /* 16 x 3 x 3 x 3 and 16 x 16 x 3 x 3 */
    g_assert_cmpfloat(number_at(all, "model_info", "elements"), ==, 16 * 27 + 16 * 144);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/profile-model/alone", Bench, NULL, bench_init, test_model_alone, bench_clear);
    g_test_add("/profile-model/nodes-csv", Bench, NULL, bench_init, test_nodes_csv, bench_clear);
    g_test_add("/profile-model/parts", Bench, NULL, bench_init, test_parts, bench_clear);
    g_test_add("/profile-model/names", Bench, NULL, bench_init, test_names, bench_clear);
    g_test_add("/profile-model/small-outputs", Bench, NULL, bench_init, test_small_outputs, bench_clear);
    g_test_add("/profile-model/observed", Bench, NULL, bench_init, test_observed, bench_clear);
    g_test_add("/profile-model/not-observed", Bench, NULL, bench_init, test_not_observed, bench_clear);
    g_test_add("/profile-model/outside-data", Bench, NULL, bench_init, test_outside_data, bench_clear);
    g_test_add("/profile-model/wrong-models", Bench, NULL, bench_init, test_wrong_models, bench_clear);
    g_test_add("/profile-model/wrong-graphs", Bench, NULL, bench_init, test_wrong_graphs, bench_clear);
    g_test_add("/profile-model/wrong-weights", Bench, NULL, bench_init, test_wrong_weights, bench_clear);
    g_test_add("/profile-model/too-large", Bench, NULL, bench_init, test_too_large, bench_clear);
    g_test_add("/profile-model/unknown-operator", Bench, NULL, bench_init, test_unknown_operator, bench_clear);
    g_test_add("/profile-model/absent", Bench, NULL, bench_init, test_absent, bench_clear);
    g_test_add("/profile-model/totals-unknown", Bench, NULL, bench_init, test_totals_unknown, bench_clear);
    g_test_add("/profile-model/untouched", Bench, NULL, bench_init, test_untouched, bench_clear);
    g_test_add("/profile-model/too-many", Bench, NULL, bench_init, test_too_many, bench_clear);
    g_test_add("/profile-model/kept", Bench, NULL, bench_init, test_kept_counts_inputs, bench_clear);
    g_test_add("/profile-model/folder", Bench, NULL, bench_init, test_folder_of_that_name, bench_clear);
    g_test_add("/profile-model/runs-and-budget", Bench, NULL, bench_init, test_fixed_count_and_budget, bench_clear);
    g_test_add("/profile-model/estimate-idle", Bench, NULL, bench_init, test_estimate_idle, bench_clear);
    g_test_add("/profile-model/half", Bench, NULL, bench_init, test_half, bench_clear);
    g_test_add("/profile-model/integers", Bench, NULL, bench_init, test_integers, bench_clear);
    g_test_add("/profile-model/estimate", Bench, NULL, bench_init, test_estimate, bench_clear);
    return g_test_run();
}
