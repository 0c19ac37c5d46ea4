#include <sys/stat.h>

#include <math.h>

#include "cli/harness.h"
#include "model-bytes.h"

/* What a model file that means harm gets, through the command: one line and 3; nothing is read that is not the model's, and
 * nothing waits. */

static const char *const parts[] = { "runtime", "memory", "flops", "layers" };

static void write_bytes(const Bench *bench, const char *name, GByteArray *bytes /* (transfer full) */)
{
    bench_write(bench, name, bytes->data, bytes->len);
    g_byte_array_unref(bytes);
}

/* refuse: One line with @words, whatever part is asked for and on whatever device. */
static void refuse(const Bench *bench, const char *arguments, const char *words)
{
    g_autofree char *out = bench_path(bench, "out");
    for (gsize i = 0; i < G_N_ELEMENTS(parts); i++)
    {
        g_auto(Ended) ended = { 0 };
        gboolean runs = i == 0 || i == 3;
        g_autofree char *line = g_strdup_printf("profile %s -q --profile %s%s", arguments, parts[i],
                                                runs ? " --runs 3 -d simulated:lab/FIXED" : "");
        run_line(bench, line, &ended);
        assert_complaint(&ended, 3, words);
        g_assert_cmpstr(ended.out, ==, "");
    }
    g_assert_false(g_file_test(out, G_FILE_TEST_EXISTS));
}

/* --- weights in other files ------------------------------------------------------------------------------------------- */

/* x [n] + w [n] -> y, and w lies where @pairs say. */
static void write_external(const Bench *bench, const char *name, gint64 n, const char *const *pairs)
{
    GByteArray *graph = g_byte_array_new(), *add = bytes_node("Add", "x", "y");
    put_text(add, 1, "w");
    put_message(graph, 1, add);
    put_message(graph, 5, bytes_external(n, pairs));
    put_message(graph, 11, bytes_port("x", n));
    put_message(graph, 12, bytes_port("y", n));
    write_bytes(bench, name, bytes_model(8, 17, graph));
}

/* TOP/secret.bin; TOP/mine/{weights.bin, link.bin -> ../secret.bin, out -> .., round -> round, pipe, folder, model.onnx} */
static void make_place(const Bench *bench)
{
    static const float weights[4] = { 1, 2, 3, 4 };
    g_autofree char *mine = bench_path(bench, "mine"), *link = bench_path(bench, "mine/link.bin");
    g_autofree char *out = bench_path(bench, "mine/out"), *round = bench_path(bench, "mine/round");
    g_autofree char *pipe = bench_path(bench, "mine/pipe"), *folder = bench_path(bench, "mine/folder");
    g_autofree char *gone = bench_path(bench, "mine/gone");
    g_assert_cmpint(g_mkdir(mine, 0700) + g_mkdir(folder, 0700), ==, 0);
    bench_write(bench, "secret.bin", "not the model's business", 24);
    bench_write(bench, "mine/weights.bin", weights, sizeof weights);
    g_assert_cmpint(symlink("../secret.bin", link) + symlink("..", out) + symlink("round", round), ==, 0);
    g_assert_cmpint(symlink("nowhere", gone) + mkfifo(pipe, 0600), ==, 0);
}

static void test_external(Bench *bench, gconstpointer data)
{
    g_autofree char *absolute = bench_path(bench, "secret.bin"), *own = bench_path(bench, "mine/weights.bin");
    const struct
    {
        const char *location, *offset, *length, *words;
    } bad[] = {
        { "missing.bin", NULL, NULL, "'missing.bin'" },
        { "gone", NULL, NULL, "'gone'" },
        { "round", NULL, NULL, "'round'" },
        { "pipe", NULL, NULL, "not a regular file" },
        { "folder", NULL, NULL, "not a regular file" },
        { "", NULL, NULL, "not a path within the model's folder" },
        { "../secret.bin", NULL, NULL, "not a path within the model's folder" },
        { "folder/../../secret.bin", NULL, NULL, "not a path within the model's folder" },
        { "folder/../weights.bin", NULL, NULL, "not a path within the model's folder" },
        { "out/secret.bin", NULL, NULL, "outside the model's folder" },
        { "link.bin", NULL, NULL, "outside the model's folder" },
        { absolute, NULL, NULL, "not a path within the model's folder" },
        { own, NULL, NULL, "not a path within the model's folder" },
        { "/dev/zero", NULL, NULL, "not a path within the model's folder" },
        { "weights.bin", "-4", NULL, "offset '-4'" },
        { "weights.bin", "4", NULL, "has 16 bytes" },
        { "weights.bin", "18446744073709551612", "16", "offset" },
        { "weights.bin", "0", "-16", "length '-16'" },
        { "weights.bin", "0", "12", "needs 16 bytes" },
        { "weights.bin", "none", NULL, "offset 'none'" },
        { "weights.bin", "0x0", NULL, "offset '0x0'" },
    };
    make_place(bench);
    for (gsize i = 0; i < G_N_ELEMENTS(bad); i++)
    {
        const char *pairs[7] = { "location", bad[i].location };
        gsize n = 2;
        if (bad[i].offset != NULL)
        {
            pairs[n++] = "offset";
            pairs[n++] = bad[i].offset;
        }
        if (bad[i].length != NULL)
        {
            pairs[n++] = "length";
            pairs[n++] = bad[i].length;
        }
        write_external(bench, "mine/model.onnx", 4, pairs);
        refuse(bench, "mine/model.onnx", bad[i].words);
    }
    write_external(bench, "mine/model.onnx", G_GINT64_CONSTANT(1) << 60,
                   (const char *[]){ "location", "weights.bin", NULL });
    refuse(bench, "mine/model.onnx", "'w'");
    write_external(bench, "mine/model.onnx", 4, (const char *[]){ NULL });
    refuse(bench, "mine/model.onnx", "without a location");
    /* and what is right beside all this is taken */
    g_auto(Ended) ended = { 0 };
    write_external(bench, "mine/model.onnx", 4, (const char *[]){ "location", "./weights.bin", "checksum", "x", NULL });
    run_line(bench, "profile mine/model.onnx -q --profile flops", &ended);
    assert_status(&ended, 0);
}

/* --- files that are none ---------------------------------------------------------------------------------------------- */

/* Nothing is waited for, and nothing without an end is read. */
static void test_no_files(Bench *bench, gconstpointer data)
{
    make_place(bench);
    refuse(bench, "mine/pipe", "not a regular file");
    refuse(bench, "mine/folder", "not a regular file");
    refuse(bench, "/dev/zero", "not a regular file");
    refuse(bench, "/dev/stdin", "/dev/stdin");
    for (gsize i = 0; i < 2; i++) /* a link to nowhere, and one to itself: as a file that is not there */
    {
        g_auto(Ended) ended = { 0 };
        run_line(bench, i == 0 ? "profile mine/gone -q -p flops" : "profile mine/round -q -p flops", &ended);
        assert_complaint(&ended, 4, i == 0 ? "mine/gone" : "mine/round");
    }
}

/* --- graphs ----------------------------------------------------------------------------------------------------------- */

static void refuse_graph(const Bench *bench, GByteArray *graph /* (transfer full) */, const char *words)
{
    write_bytes(bench, "graph.onnx", bytes_model(8, 17, graph));
    refuse(bench, "graph.onnx", words);
}

/* with_branch: an If on "x" that makes "y", whose branch holds @inner. */
static GByteArray *with_branch(GByteArray *inner)
{
    GByteArray *branch = g_byte_array_new(), *attribute = bytes_named("then_branch"), *made = bytes_node("If", "x", "y");
    put_message(branch, 1, inner);
    put_message(attribute, 6, branch);
    put_message(made, 5, attribute);
    return made;
}

static void test_graphs(Bench *bench, gconstpointer data)
{
    GByteArray *graph = g_byte_array_new();
    put_message(graph, 1, bytes_node("Relu", "a", "a"));
    refuse_graph(bench, graph, "cycle");
    graph = g_byte_array_new();
    for (int i = 0; i < 20000; i++) /* a ring: looked for without recursion */
    {
        g_autofree char *from = g_strdup_printf("t%d", i), *to = g_strdup_printf("t%d", (i + 1) % 20000);
        put_message(graph, 1, bytes_node("Relu", from, to));
    }
    refuse_graph(bench, graph, "cycle");
    graph = g_byte_array_new();
    put_message(graph, 1, with_branch(bytes_node("Relu", "y", "in"))); /* its branch reads what it makes */
    put_message(graph, 11, bytes_named("x"));
    refuse_graph(bench, graph, "cycle");
    write_bytes(bench, "deep.onnx", bytes_nested(1 << 20));
    refuse(bench, "deep.onnx", "nested deeper");
    graph = g_byte_array_new();
    put_message(graph, 5, bytes_tensor((gint64[]){ 1024, 1024 }, 2, 16));
    refuse_graph(bench, graph, "needs 4194304 bytes, but there are 16");
    graph = g_byte_array_new();
    put_message(graph, 5, bytes_tensor((gint64[]){ G_GINT64_CONSTANT(1) << 32, G_GINT64_CONSTANT(1) << 32 }, 2, 0));
    refuse_graph(bench, graph, "larger than any memory"); /* 0 bytes modulo 2^64 */
    graph = g_byte_array_new();
    put_message(graph, 5, bytes_tensor((gint64[]){ -4 }, 1, 16));
    refuse_graph(bench, graph, "below 0");
    write_bytes(bench, "graph.onnx", bytes_model(99, 17, g_byte_array_new()));
    refuse(bench, "graph.onnx", "ir_version 99");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/hostile-model/external", Bench, NULL, bench_init, test_external, bench_clear);
    g_test_add("/hostile-model/no-files", Bench, NULL, bench_init, test_no_files, bench_clear);
    g_test_add("/hostile-model/graphs", Bench, NULL, bench_init, test_graphs, bench_clear);
    return g_test_run();
}
