/* profile --input and --dim: what a model is fed, and the sizes of its free dimensions. */
#include <onnx/onnx.h>

#include "harness.h"

static void write_npy(const Bench *bench, const char *name, const char *type, const char *shape, gsize n_bytes)
{
    g_autofree char *text = g_strdup_printf("{'descr': '%s', 'fortran_order': False, 'shape': %s}\n", type, shape);
    g_autoptr(GByteArray) file = g_byte_array_new();
    const guint8 head[] = { 0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (guint8)strlen(text), 0 };
    g_byte_array_append(file, head, sizeof head);
    g_byte_array_append(file, (const guint8 *)text, (guint)strlen(text));
    const guint start = file->len;
    g_byte_array_set_size(file, start + (guint)n_bytes);
    memset(file->data + start, 0, n_bytes);
    bench_write(bench, name, (const char *)file->data, file->len);
}

#define QUICK " -q --runs 3 --warmup 1 --no-nodes --no-peak -p runtime -d onnxruntime:CPU"

/* The one case of a profile. (transfer full) */
static json_t *profile(Bench *bench, const char *options)
{
    g_auto(Ended) ended = { 0 };
    g_autofree char *line =
                        g_strconcat("profile sq.onnx --json out.json" QUICK, *options != '\0' ? " " : "", options, NULL),
                    *path = bench_path(bench, "out.json");
    json_error_t error;
    run_line(bench, line, &ended);
    assert_status(&ended, 0);
    json_auto_t *all = json_load_file(path, 0, &error);
    g_assert_nonnull(all);
    json_t *one = json_array_get(json_object_get(all, "cases"), 0);
    g_assert_nonnull(one);
    g_assert_cmpstr(ifm_member_text(one, "measurement.verification.status"), ==, "passed");
    return json_incref(json_object_get(one, "case"));
}

static const char *inputs_of(const json_t *one)
{
    return ifm_member_text(one, "options.inputs");
}

static void test_fed(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    run_line(bench, "zoo export squeezenet size=64 batch=0 -o sq.onnx -q", &ended);
    assert_status(&ended, 0);
    write_npy(bench, "two.npy", "<f4", "(2, 3, 64, 64)", 2 * 3 * 64 * 64 * sizeof(float));
    json_auto_t *seeded = profile(bench, ""), *again = profile(bench, "--dim N=1"), *any = profile(bench, "--dim *=3"),
                *filed = profile(bench, "--input image=two.npy"), *constant = profile(bench, "--input image=0.5"),
                *ranged = profile(bench, "--input image=0..255");
    g_assert_null(inputs_of(seeded)); /* as it always was: stores stay valid */
    g_assert_cmpstr(ifm_member_text(seeded, "key"), ==, ifm_member_text(again, "key"));
    g_assert_cmpint((int)ifm_member_number(seeded, "sizes.N"), ==, 1);
    g_assert_cmpint((int)ifm_member_number(any, "sizes.N"), ==, 3);
    g_assert_cmpint((int)ifm_member_number(filed, "sizes.N"), ==, 2); /* by the file's shape */
    g_assert_nonnull(inputs_of(filed));
    g_assert_nonnull(inputs_of(constant));
    g_assert_cmpstr(inputs_of(constant), !=, inputs_of(ranged));
    g_assert_cmpstr(ifm_member_text(constant, "key"), !=, ifm_member_text(seeded, "key"));
}

static void test_bad(Bench *bench, gconstpointer data)
{
    static const struct
    {
        const char *options;
        int status;
        const char *part;
    } cases[] = {
        { "--input image=wide.npy", 3, "wide.npy: f64 [1,3,64,64], but input 'image' takes f32 [N, 3, 64, 64]" },
        { "--input image=small.npy", 3, "small.npy: f32 [1,3,32,32], but input 'image' takes f32 [N, 3, 64, 64]" },
        { "--input image=one.npy --dim N=2", 3, "one.npy has N=1, but it is 2" },
        { "--input image=pickle.npy", 3, "a Python pickle, which is never loaded" },
        { "--input image=nowhere.npy", 4, "nowhere.npy: cannot be read" },
        { "--input image=text.pb", 3, "text.pb: is no tensor of ONNX" },
        { "--input photo=1", 3, "sq has no input 'photo' (it has image)" },
        { "--input image=1 --input image=2", 2, "--input image: is given twice" },
        { "--input image=red", 2, "\"red\" is no file (.npy, .npz, .pb), no number and no range" },
        { "--input image=2..1", 2, "the first is above the second" },
        { "--input image", 2, "is not NAME=FILE, NAME=VALUE or NAME=LOW..HIGH" },
    };
    g_auto(Ended) ended = { 0 };
    run_line(bench, "zoo export squeezenet size=64 batch=0 -o sq.onnx -q", &ended);
    write_npy(bench, "wide.npy", "<f8", "(1, 3, 64, 64)", 3 * 64 * 64 * sizeof(double));
    write_npy(bench, "small.npy", "<f4", "(1, 3, 32, 32)", 3 * 32 * 32 * sizeof(float));
    write_npy(bench, "one.npy", "<f4", "(1, 3, 64, 64)", 3 * 64 * 64 * sizeof(float));
    bench_write(bench, "pickle.npy", "\x80\x04]\x94.", 5);
    bench_write(bench, "text.pb", "\xff\xffimage", 7);
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    {
        g_autofree char *line =
            g_strconcat("profile sq.onnx" QUICK, *cases[i].options != '\0' ? " " : "", cases[i].options, NULL);
        run_line(bench, line, &ended);
        assert_complaint(&ended, cases[i].status, cases[i].part);
    }
    run_line(bench, "profile gps --num-nodes 20 --input x=1" QUICK, &ended);
    assert_complaint(&ended, 2, "--input: gps is fed its graph");
}

/* y = x + rate, of two free dimensions that are no batch. */
static void write_free(const Bench *bench, const char *name)
{
    static const gint64 free_dims[] = { -1, -1 }, none[] = { 1 };
    static const char *const names[] = { "seq", "width of it" };
    g_autofree char *path = bench_path(bench, name);
    g_autoptr(GError) error = NULL;
    IfmModelBuilder *builder = ifm_model_builder_new("free", 17);
    ifm_model_builder_input(builder, "x", IFM_DTYPE_F32, 2, free_dims, names);
    ifm_model_builder_input(builder, "rate", IFM_DTYPE_I64, 1, none, NULL);
    ifm_model_builder_node(builder, "Cast", "cast", (const char *const[]){ "rate", NULL },
                           (const char *const[]){ "f", NULL });
    ifm_model_builder_int(builder, 0, "to", 1);
    ifm_model_builder_node(builder, "Add", "add", (const char *const[]){ "x", "f", NULL },
                           (const char *const[]){ "y", NULL });
    ifm_model_builder_output(builder, "y", IFM_DTYPE_F32, 2, free_dims, names);
    g_autoptr(IfmModel) model = ifm_model_builder_finish(builder, &error);
    g_assert_no_error(error);
    g_assert_true(ifm_model_save(model, path, &error));
    ifm_model_builder_free(builder);
}

/* --expect: y = x + rate is what another program computed, or something else. */
static void test_expected(Bench *bench, gconstpointer data)
{
    static const struct
    {
        const char *options;
        int status;
        const char *part;
    } cases[] = {
        { "--input rate=1 --expect y=zeros.npy", 1,
          "the model does not give what is expected: output y is different: 6 of 6" },
        { "--input rate=0 --expect y=wide.npy", 1, "the model does not give what is expected: output y is f32 [2,4]" },
        { "--input rate=0 --expect y=f64.npy", 3, "--expect y: f64.npy: f64 [2,3], but output 'y' gives f32" },
        { "--input rate=0 --expect y=nowhere.npy", 4, "--expect y: nowhere.npy: cannot be read" },
        { "--input rate=0 --expect y=0", 4, "--expect y: 0: cannot be read" },
        { "--input rate=0 --expect z=zeros.npy", 3, "--expect: free has no output 'z' (it has y)" },
        { "--input rate=0 --expect zeros.npy", 2, "--expect: \"zeros.npy\" is not NAME=FILE" },
        { "--input rate=0 --expect y=zeros.npy --expect y=zeros.npy", 2, "--expect y: is given twice" },
    };
    g_auto(Ended) ended = { 0 };
    write_free(bench, "free.onnx");
    write_npy(bench, "zeros.npy", "<f4", "(2, 3)", 6 * sizeof(float));
    write_npy(bench, "wide.npy", "<f4", "(2, 4)", 8 * sizeof(float));
    write_npy(bench, "f64.npy", "<f8", "(2, 3)", 6 * sizeof(double));
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    {
        g_autofree char *line = g_strconcat("profile free.onnx --input x=zeros.npy" QUICK " ", cases[i].options, NULL);
        run_line(bench, line, &ended);
        assert_status(&ended, cases[i].status);
        g_assert_nonnull(strstr(ended.err, cases[i].part));
    }
    run_line(bench, "profile free.onnx --input x=zeros.npy --input rate=0 --expect y=zeros.npy --json out.json" QUICK,
             &ended);
    assert_status(&ended, 0);
    g_autofree char *path = bench_path(bench, "out.json");
    json_auto_t *all = json_load_file(path, 0, NULL);
    const json_t *one = json_array_get(json_object_get(all, "cases"), 0);
    g_assert_cmpstr(ifm_member_text(one, "measurement.verification.status"), ==, "passed");
    g_assert_true(json_is_null(ifm_member(one, "measurement.verification.expected.y")));
}

/* All that is free is named at once, with the words to bind it; numbers are those of the input's type. */
static void test_free(Bench *bench, gconstpointer data)
{
    static const struct
    {
        const char *options;
        int status;
        const char *part;
    } cases[] = {
        { "", 3, "free: 2 dimensions of its inputs are free: add --dim seq=SIZE --dim 'width of it=SIZE', or --dim '*=1'" },
        { "--dim seq=3", 3, "1 dimension of its inputs is free: add --dim 'width of it=SIZE'" },
        { "--dim *=4 --input rate=1.5", 2, "it takes whole numbers" },
        { "--dim *=4 --input rate=1e30", 2, "it takes whole numbers" },
    };
    g_auto(Ended) ended = { 0 };
    write_free(bench, "free.onnx");
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    {
        g_autofree char *line =
            g_strconcat("profile free.onnx" QUICK, *cases[i].options != '\0' ? " " : "", cases[i].options, NULL);
        run_line(bench, line, &ended);
        assert_complaint(&ended, cases[i].status, cases[i].part);
    }
    run_line(bench, "profile free.onnx" QUICK " --dim *=4 --input rate=16000", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "equal"));
}

/* x [seq,?], z [?,?] i64: y = x. The two that are named "?" are dimensions of their own. */
static void write_nameless(const Bench *bench, const char *name)
{
    static const gint64 free_dims[] = { -1, -1 };
    g_autofree char *path = bench_path(bench, name);
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new("nameless", 17);
    ifm_model_builder_input(builder, "x", IFM_DTYPE_I64, 2, free_dims, (const char *const[]){ "seq", "?" });
    ifm_model_builder_input(builder, "z", IFM_DTYPE_I64, 2, free_dims, (const char *const[]){ "?", "?" });
    ifm_model_builder_node(builder, "MatMul", "m", (const char *const[]){ "x", "z", NULL },
                           (const char *const[]){ "y", NULL });
    ifm_model_builder_output(builder, "y", IFM_DTYPE_I64, 2, free_dims, (const char *const[]){ "seq", "?" });
    g_autoptr(IfmModel) model = ifm_model_builder_finish(builder, &error);
    g_assert_no_error(error);
    g_assert_true(ifm_model_save(model, path, &error));
}

/* Each "?" has a size of its own; whole numbers of a range include its upper end. */
static void test_nameless(Bench *bench, gconstpointer data)
{
    gsize n_highest = 0;
    g_auto(Ended) ended = { 0 };
    write_nameless(bench, "nameless.onnx");
    run_line(bench,
             "profile nameless.onnx" QUICK " --dim seq=20 --dim x[1]=3 --dim z[0]=3 --dim z[1]=5 --input x=6..7 -o out",
             &ended);
    assert_status(&ended, 0);
    g_autofree char *folder = bench_path(bench, "out/inputs");
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    g_assert_nonnull(dir);
    g_autofree char *path = g_build_filename(folder, g_dir_read_name(dir), NULL);
    g_autoptr(IfmTensorFile) file = ifm_tensor_file_open(path, NULL);
    const IfmTensor *x = ifm_tensor_file_find(file, "x");
    g_assert_true(x->shape[0] == 20 && x->shape[1] == 3);
    for (gint64 i = 0; i < 60; i++)
    {
        const double value = ifm_tensor_get_double(x, i);
        g_assert_true(value == 6 || value == 7);
        n_highest += value == 7;
    }
    g_assert_true(n_highest > 0 && n_highest < 60);
}

/* Both sides are fed the same, or each its own: then they are not the same. */
static void test_compare(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    write_free(bench, "free.onnx");
    run_line(bench, "compare free.onnx free.onnx --dim seq=4 --dim *=4 --input rate=3 --max-pairs 5 --rounds 2", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.err, "A and B are one and the same"));
    run_line(bench, "compare free.onnx free.onnx --dim *=4 --a-input rate=3 --b-input rate=4 --max-pairs 5 --rounds 2",
             &ended);
    assert_status(&ended, 0);
    g_assert_null(strstr(ended.err, "A and B are one and the same"));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/profile-input/fed", Bench, NULL, bench_init, test_fed, bench_clear);
    g_test_add("/profile-input/bad", Bench, NULL, bench_init, test_bad, bench_clear);
    g_test_add("/profile-input/expected", Bench, NULL, bench_init, test_expected, bench_clear);
    g_test_add("/profile-input/free", Bench, NULL, bench_init, test_free, bench_clear);
    g_test_add("/profile-input/nameless", Bench, NULL, bench_init, test_nameless, bench_clear);
    g_test_add("/profile-input/compare", Bench, NULL, bench_init, test_compare, bench_clear);
    return g_test_run();
}
