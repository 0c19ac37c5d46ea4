/* Output files that are what the command reads, the store, or each other: refused, and nothing is lost. */
#include "harness.h"

#define OWN "zoo export small-cnn -q -o own.onnx"

static char *digest(const Bench *bench, const char *name)
{
    g_autofree char *path = g_build_filename(bench->folder, name, NULL), *bytes = NULL;
    gsize n;
    g_autoptr(GError) error = NULL;
    g_file_get_contents(path, &bytes, &n, &error);
    g_assert_no_error(error);
    return g_compute_checksum_for_data(G_CHECKSUM_SHA256, (const guchar *)bytes, n);
}

static void expect_kept(const Bench *bench, const char *kept, const char *line, const char *said)
{
    g_auto(Ended) ended = { 0 };
    g_autofree char *before = digest(bench, kept);
    run_line(bench, line, &ended);
    assert_complaint(&ended, 2, said);
    g_autofree char *after = digest(bench, kept);
    g_assert_cmpstr(before, ==, after);
}

static void prepare(const Bench *bench)
{
    g_auto(Ended) ended = { 0 };
    run_line(bench, OWN, &ended);
    assert_status(&ended, 0);
    run_line(bench, "profile -q -o out own.onnx -p runtime -d simulated:ideal/GPU --runs 2 --json r.json", &ended);
    assert_status(&ended, 0);
    g_autofree char *from = g_build_filename(bench->folder, "link.onnx", NULL);
    g_assert_cmpint(symlink("own.onnx", from), ==, 0);
    g_autofree char *hard = g_build_filename(bench->folder, "hard.onnx", NULL);
    g_autofree char *own = g_build_filename(bench->folder, "own.onnx", NULL);
    g_assert_cmpint(link(own, hard), ==, 0);
}

static void test_inputs(Bench *bench, gconstpointer data)
{
    prepare(bench);
    expect_kept(bench, "own.onnx", "profile -o out own.onnx -p flops --json own.onnx", "--json own.onnx: is the same file");
    expect_kept(bench, "own.onnx", "profile -o out own.onnx -p flops --csv ./out/../own.onnx", "is the same file");
    expect_kept(bench, "own.onnx", "profile -o out own.onnx -p flops --json link.onnx", "is the same file");
    expect_kept(bench, "own.onnx", "profile -o out link.onnx -p flops --json hard.onnx", "is the same file");
    expect_kept(bench, "own.onnx", "compare -o out own.onnx r.json --csv own.onnx", "is the same file");
    expect_kept(bench, "r.json", "trace r.json --csv r.json", "is the same file as the input r.json");
    expect_kept(bench, "r.json", "trace diff own.onnx r.json --json r.json", "is the same file as the input r.json");
    expect_kept(bench, "r.json", "plan --compare r.json --json r.json", "the input of --compare r.json");
}

/* A model's weights beside it are as much its own as its file; so are the models that are kept. */
static void test_models(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    run_line(bench, "zoo export resnet18 size=64 -o mine.onnx", &ended);
    assert_status(&ended, 0);
    run_line(bench, "profile -q -o out resnet18,size=64 -p runtime -d simulated:ideal/GPU --runs 2", &ended);
    assert_status(&ended, 0);
    g_autofree char *link = g_build_filename(bench->folder, "link.weights", NULL);
    g_assert_cmpint(symlink("mine.weights", link), ==, 0);
    static const char weights[] = "mine.weights", kept[] = "out/models/resnet18,size=64.onnx";
    expect_kept(bench, weights, "profile -o new mine.onnx -p flops --json mine.weights", "of the model, which it");
    expect_kept(bench, weights, "profile -o new mine.onnx -p flops --csv link.weights", "of the model, which it");
    expect_kept(bench, weights, "compare -o new mine.onnx matmul --csv mine.weights", "of the model, which it");
    expect_kept(bench, weights, "compare -o new matmul mine.onnx --json mine.weights", "of the model, which it");
    expect_kept(bench, kept, "profile -o out matmul -p flops --json out/models/resnet18,size=64.onnx",
                "is in the folder where models are kept");
    expect_kept(bench, kept, "profile -o out matmul -p flops --csv out/models/new.csv", "where models are kept");
    run_line(bench, "profile -q -o out mine.onnx -p flops --json out/r.json", &ended);
    assert_status(&ended, 0);
}

static void test_stores(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    prepare(bench);
    expect_kept(bench, "out/store.db", "store export out/store.db -o out/store.db", "is the same file as the input");
    expect_kept(bench, "out/store.db", "store export out/store.db --json out/store.db", "is the same file as the input");
    expect_kept(bench, "out/store.db", "profile -o out own.onnx --csv out/store.db", "is the same file as the store");
    expect_kept(bench, "out/store.db", "profile -o new own.onnx --csv out/store.db", "is a store");
    expect_kept(bench, "own.onnx", "profile -o . own.onnx --csv store.db", "is the same file as the store");
    run_line(bench, "store check -q out/store.db", &ended);
    assert_status(&ended, 0);
}

static void test_each_other(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    prepare(bench);
    expect_kept(bench, "own.onnx", "profile -o out own.onnx -p flops --json x --csv x",
                "--csv x: is the same file as the --json x");
    expect_kept(bench, "own.onnx", "profile -o out own.onnx -p flops --json x --csv out/../x", "is the same file");
    expect_kept(bench, "r.json", "profile -o out own.onnx -p flops --json r.json --csv r.json", "is the same file");
    run_line(bench, "profile -q -o out own.onnx -p flops --json /dev/null --csv /dev/null", &ended);
    assert_status(&ended, 0);
    run_line(bench, "profile -q -o out own.onnx -p flops --json r.json --csv r.csv",
             &ended); /* over older results: as ever */
    assert_status(&ended, 0);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/outputs/inputs", Bench, NULL, bench_init, test_inputs, bench_clear);
    g_test_add("/outputs/models", Bench, NULL, bench_init, test_models, bench_clear);
    g_test_add("/outputs/stores", Bench, NULL, bench_init, test_stores, bench_clear);
    g_test_add("/outputs/each-other", Bench, NULL, bench_init, test_each_other, bench_clear);
    return g_test_run();
}
