/* zoo export: which files are written, and which are left alone. */
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

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/zoo-verb/weights", Bench, NULL, bench_init, test_weights, bench_clear);
    g_test_add("/zoo-verb/others", Bench, NULL, bench_init, test_others, bench_clear);
    g_test_add("/zoo-verb/links", Bench, NULL, bench_init, test_links, bench_clear);
    return g_test_run();
}
