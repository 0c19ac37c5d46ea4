/* zoo export: which files are written, and which are left alone. */
#include <onnx/onnx.h>

#include "harness.h"

static char *content_of(const Bench *bench, const char *name)
{
    g_autofree char *path = bench_path(bench, name);
    char *text = NULL;
    gsize length = 0;
    return g_file_get_contents(path, &text, &length, NULL) ? text : NULL;
}

static gboolean is_there(const Bench *bench, const char *name)
{
    g_autofree char *path = bench_path(bench, name);
    return g_file_test(path, G_FILE_TEST_EXISTS);
}

static gsize n_lines(const char *text)
{
    gsize n = 0;
    for (; *text != '\0'; text++)
        n += *text == '\n';
    return n;
}

/* Weights are named after -o, and what is written is printed. */
static void test_weights(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    run_line(bench, "zoo export squeezenet size=32 -o a.onnx", &ended);
    assert_status(&ended, 0);
    g_assert_cmpstr(ended.out, ==, "a.weights\na.onnx\n");
    g_assert_true(is_there(bench, "a.weights"));
    g_assert_false(is_there(bench, "squeezenet.seed1.weights"));
    run_line(bench, "profile a.onnx -q -p flops", &ended); /* it finds them */
    assert_status(&ended, 0);
    run_line(bench, "zoo export squeezenet size=48 -o a.onnx", &ended); /* the same weights stay */
    assert_status(&ended, 0);
    g_assert_cmpstr(ended.out, ==, "a.onnx\n");
    run_line(bench, "zoo export squeezenet size=32 --seed 2 -o a.onnx -q", &ended); /* its own, so replaced with it */
    assert_status(&ended, 0);
    g_assert_cmpstr(ended.out, ==, "");
    run_line(bench, "profile a.onnx -q -p flops", &ended);
    assert_status(&ended, 0);
}

static void test_others(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    bench_write(bench, "a.weights", "mine", 4);
    run_line(bench, "zoo export squeezenet size=32 -o a.onnx", &ended);
    assert_complaint(&ended, 3, "a.weights: is there with other content: --force replaces it");
    g_assert_false(is_there(bench, "a.onnx"));
    g_autofree char *mine = content_of(bench, "a.weights");
    g_assert_cmpstr(mine, ==, "mine");
    run_line(bench, "zoo export squeezenet size=32 -o a.onnx --force", &ended);
    assert_status(&ended, 0);
    g_assert_cmpstr(ended.out, ==, "a.weights\na.onnx\n");
}

static void test_links(Bench *bench, gconstpointer data)
{
    static const char *const links[] = { "b.weights", "c.onnx" };
    g_auto(Ended) ended = { 0 };
    bench_write(bench, "precious", "mine", 4);
    for (gsize i = 0; i < G_N_ELEMENTS(links); i++)
    {
        g_autofree char *path = bench_path(bench, links[i]);
        g_assert_cmpint(symlink(i == 0 ? "precious" : "nowhere", path), ==, 0);
    }
    run_line(bench, "zoo export squeezenet size=32 -o b.onnx --force", &ended);
    assert_complaint(&ended, 4, "b.weights: is a symbolic link");
    g_assert_false(is_there(bench, "b.onnx"));
    run_line(bench, "zoo export squeezenet size=32 -o c.onnx --force", &ended);
    assert_complaint(&ended, 4, "c.onnx: is a symbolic link");
    g_assert_false(is_there(bench, "nowhere"));
    g_assert_false(is_there(bench, "c.weights"));
    g_autofree char *kept = content_of(bench, "precious");
    g_assert_cmpstr(kept, ==, "mine");
    run_line(bench, "zoo export squeezenet size=32 -o /dev/null", &ended);
    assert_status(&ended, 0);
}

/* --- a configuration ----------------------------------------------------------------------------------------------------
 */

static void write_config(const Bench *bench, const char *text)
{
    bench_write(bench, "c.yaml", text, strlen(text));
}

/* (transfer full) the one file of a folder with that beginning and more */
static char *find_graph(const Bench *bench, const char *folder, const char *stem)
{
    g_autofree char *path = bench_path(bench, folder), *start = g_strconcat(stem, ".onnxruntime-", NULL);
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    g_assert_nonnull(dir);
    for (const char *name; (name = g_dir_read_name(dir)) != NULL;)
        if (g_str_has_prefix(name, start))
            return g_build_filename(path, name, NULL);
    return NULL;
}

static void assert_graph(const Bench *bench, const char *stem, const char *level, gint64 batch)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = find_graph(bench, "out", stem), *end = g_strdup_printf("-CPU-%s.onnx", level);
    g_assert_nonnull(path);
    g_assert_true(g_str_has_suffix(path, end));
    g_autoptr(IfmModel) graph = ifm_model_open(path, &error);
    g_assert_no_error(error);
    g_assert_cmpint(ifm_model_input(graph, 0)->dims[0], ==, batch);
    g_assert_cmpstr(ifm_model_metadata(graph, "inferometer.provider"), ==, "CPU");
    g_assert_cmpstr(ifm_model_metadata(graph, "inferometer.level"), ==, level);
    const char *runtime = ifm_model_metadata(graph, "inferometer.runtime"); /* "onnxruntime 1.23.2", as in the file name */
    g_assert_true(g_str_has_prefix(runtime, "onnxruntime "));
    g_assert_nonnull(strstr(path, runtime + strlen("onnxruntime ")));
    gboolean is_blocked = FALSE;
    for (gsize i = 0; i < ifm_model_n_nodes(graph); i++)
        is_blocked = is_blocked || g_str_has_suffix(ifm_model_node(graph, i)->domain, "nchwc");
    g_assert_true(!is_blocked || g_str_equal(level, "all"));
}

static void test_config(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    if (!bench_needs_device(bench, "onnxruntime:CPU", ""))
        return;
    run_line(bench, "zoo export small-cnn batch=0 size=8 -o mine.onnx -q", &ended);
    write_config(bench, "models: [small-cnn, matmul]\nfiles: {mine.onnx: f32}\n"
                        "sizes: [8, 12]\nbatches: [1, 3]\nproviders: [CPU]\n");
    run_line(bench, "zoo export --config c.yaml -o out", &ended);
    assert_status(&ended, 0);
    g_auto(GStrv) lines = g_strsplit(g_strchomp(ended.out), "\n", -1);
    g_assert_cmpuint(g_strv_length(lines), ==, 8 + 2 + 2); /* matmul has neither sizes nor batches, the file no sizes */
    for (char **line = lines; *line != NULL; line++)
        g_assert_true(g_str_has_suffix(*line, strstr(*line, "onnxruntime-") != NULL ? ": ran" : ".onnx"));
    assert_graph(bench, "small-cnn-12-b3", "all", 3);
    assert_graph(bench, "mine-b3", "all", 3);
    g_assert_false(is_there(bench, "out/mine-b3.onnx")); /* it is there already */

    write_config(bench, "models: [small-cnn]\nsizes: [16]\nbatches: [2]\nproviders: [CPU]\nlevel: extended\n");
    run_line(bench, "zoo export --config c.yaml -o out", &ended);
    assert_status(&ended, 0);
    assert_graph(bench, "small-cnn-16-b2", "extended", 2);
    run_line(bench, "zoo export --config c.yaml -o out", &ended); /* its own files are replaced */
    assert_status(&ended, 0);
    bench_write(bench, "out/small-cnn-16-b2.onnx", "mine", 4);
    run_line(bench, "zoo export --config c.yaml -o out", &ended);
    assert_complaint(&ended, 3, "out/small-cnn-16-b2.onnx: is there with other content: --force replaces it");
    g_autofree char *mine = content_of(bench, "out/small-cnn-16-b2.onnx");
    g_assert_cmpstr(mine, ==, "mine");
    run_line(bench, "zoo export --config c.yaml -o out --force", &ended);
    assert_status(&ended, 0);

    /* the runs are in the folder's store: with --resume only what is missing is run */
    g_auto(Ended) before = { 0 }, after = { 0 };
    run_line(bench, "store export out/store.db --format csv -o -", &before);
    assert_status(&before, 0);
    write_config(bench, "models: [small-cnn]\nsizes: [16]\nbatches: [2, 4]\nproviders: [CPU]\nlevel: extended\n");
    run_line(bench, "zoo export --config c.yaml -o out --resume", &ended);
    assert_status(&ended, 0);
    assert_graph(bench, "small-cnn-16-b4", "extended", 4);
    run_line(bench, "store export out/store.db --format csv -o -", &after);
    g_assert_cmpuint(n_lines(after.out), ==, n_lines(before.out) + 1);

    /* Terabytes do not fit: the same graph runs at batch 1. */
    write_config(bench, "models: [squeezenet]\nsizes: [1024]\nbatches: [65536]\nproviders: [CPU]\n");
    run_line(bench, "zoo export --config c.yaml -o large", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "-all.onnx: ran at batch 1: batch 65536 needs at least "));
    assert_none_left(bench);
}

/* A graph for a GPU is not made by the processor. */
static void test_provider(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    write_config(bench, "models: [small-cnn]\nsizes: [8]\nbatches: [1]\nproviders: [CPU, CUDA]\n");
    if (bench_has_device(bench, "onnxruntime:CUDA:0", ""))
    {
        g_test_skip("a CUDA device is there");
        return;
    }
    run_line(bench, "zoo export --config c.yaml -o out", &ended);
    assert_complaint(&ended, 4, "onnxruntime:C");
    g_assert_false(is_there(bench, "out"));
}

static void test_refused(Bench *bench, gconstpointer data)
{
#define REST "sizes: [8]\nbatches: [1]\nproviders: [CPU]\n"
    static const struct
    {
        const char *text, *part;
    } rows[] = {
        { "", "c.yaml" },
        { REST, "c.yaml:1: models: lists no model, and neither does files" },
        { "models: []\n" REST, "c.yaml:1: models: " },
        { "models: [small-cnn, resnet19]\n" REST, "c.yaml:1: models: zoo: there is no model 'resnet19'" },
        { "models: [small-cnn, small-cnn]\n" REST, "c.yaml:1: models: \"small-cnn\" is listed twice" },
        { "models: ['small-cnn,size=9']\n" REST, "size=9: sizes and batches are lists of their own" },
        { "models: [small-cnn]\nsizes: [0]\nbatches: [1]\nproviders: [CPU]\n", "c.yaml:2: " },
        { "models: [small-cnn]\nsizes: [8]\nbatches: [0]\nproviders: [CPU]\n", "c.yaml:3: " },
        { "models: [small-cnn]\nsizes: [8, 8]\nbatches: [1]\nproviders: [CPU]\n", "c.yaml:2: sizes: 8 is listed twice" },
        { "models: [vgg16]\n" REST, "c.yaml:2: sizes: vgg16 takes a size of 32 to 16384" },
        { "models: [small-cnn]\nsizes: [8]\nbatches: [1]\nproviders: [TPU]\n", "c.yaml:4: " },
        { "models: [small-cnn]\nsizes: [8]\nbatches: [1]\nproviders: [CPU, CPU]\n",
          "c.yaml:4: providers: CPU is listed twice" },
        { "models: [small-cnn]\nsizes: []\nbatches: [1]\nproviders: [CPU]\n", "c.yaml:2: " },
        { "files: {mine.onnx: i64}\n" REST, "c.yaml:1: \"i64\": the input 'image' of ./mine.onnx is f32" },
        { "files: {nope.onnx: f32}\n" REST, "c.yaml:1: ./nope.onnx" },
    };
    g_auto(Ended) ended = { 0 };
    run_line(bench, "zoo export small-cnn size=8 -o mine.onnx -q", &ended);
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        write_config(bench, rows[i].text);
        run_line(bench, "zoo export --config c.yaml -o out", &ended);
        assert_complaint(&ended, 3, rows[i].part);
    }
    g_assert_false(is_there(bench, "out"));
    run_line(bench, "zoo export --config none.yaml -o out", &ended);
    assert_complaint(&ended, 4, "none.yaml");
    run_line(bench, "zoo export matmul --config c.yaml -o out", &ended);
    g_assert_cmpint(ended.status, ==, 2);
    run_line(bench, "zoo export -o out", &ended);
    assert_complaint(&ended, 2, "needs NAME, or --config FILE");
}

/* The shipped configuration is a good one: it is read before the folder is made, which cannot be. */
static void test_shipped(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    g_autofree char *line =
        g_strdup_printf("zoo export --config %s/../examples/export.yaml -o /dev/null/models", g_getenv("IFM_TEST_DATA"));
    if (!bench_needs_device(bench, "onnxruntime:CPU", ""))
        return;
    run_line(bench, line, &ended);
    assert_complaint(&ended, 4, "/dev/null/models: Not a directory");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/zoo-verb/weights", Bench, NULL, bench_init, test_weights, bench_clear);
    g_test_add("/zoo-verb/others", Bench, NULL, bench_init, test_others, bench_clear);
    g_test_add("/zoo-verb/links", Bench, NULL, bench_init, test_links, bench_clear);
    g_test_add("/zoo-verb/config", Bench, NULL, bench_init, test_config, bench_clear);
    g_test_add("/zoo-verb/provider", Bench, NULL, bench_init, test_provider, bench_clear);
    g_test_add("/zoo-verb/refused", Bench, NULL, bench_init, test_refused, bench_clear);
    g_test_add("/zoo-verb/shipped", Bench, NULL, bench_init, test_shipped, bench_clear);
    return g_test_run();
}
