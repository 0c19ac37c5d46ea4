#include <sys/resource.h>

#include "cli/harness.h"
#include "model-bytes.h"

/* What no machine holds: one line, status 3, and nothing large was made or written before it was said. No runtime is needed
 * for that. All sizes come to half a tebibyte or more, so that hardly a machine has them. */

#define MAX_WRITTEN ((goffset)1 << 20)
#define MAX_RESIDENT_KIB ((glong)512 << 10)

/* What lies in the bench's folder, however deep. */
static goffset bytes_in(const char *folder)
{
    goffset sum = 0;
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    for (const char *name; dir != NULL && (name = g_dir_read_name(dir)) != NULL;)
    {
        g_autofree char *path = g_build_filename(folder, name, NULL);
        GStatBuf info;
        g_assert_cmpint(g_lstat(path, &info), ==, 0);
        sum += S_ISDIR(info.st_mode) ? bytes_in(path) : (goffset)info.st_blocks * 512;
    }
    return sum;
}

/* @max_written: beside what lies there already */
static void refuse_writing(const Bench *bench, const char *arguments, const char *part, goffset max_written)
{
    g_auto(Ended) ended = { 0 };
    g_autofree char *line = g_strdup_printf("profile %s", arguments);
    goffset before = bytes_in(bench->folder);
    g_test_message("%s", line);
    run_line(bench, line, &ended);
    assert_complaint(&ended, 3, part);
    g_assert_cmpstr(ended.out, ==, "");
    g_assert_cmpint(bytes_in(bench->folder) - before, <=, max_written);
    struct rusage children; /* of any so far */
    g_assert_cmpint(getrusage(RUSAGE_CHILDREN, &children), ==, 0);
    g_assert_cmpint(children.ru_maxrss, <, MAX_RESIDENT_KIB);
}

static void refuse(const Bench *bench, const char *arguments, const char *part)
{
    refuse_writing(bench, arguments, part, MAX_WRITTEN);
}

/* --- graph transformers ------------------------------------------------------------------------------------------------
 */

static void test_graph(Bench *bench, gconstpointer data)
{
    /* 10^8 nodes' masks of dropout: 100 layers of 2048 numbers, 74.5 TiB */
#define MASKED "graph_transformer,attention=sparse,hidden_dim=512,num_layers=100 --num-nodes 100000000 --avg-degree 3"
    refuse(bench, MASKED " --mode train -d onnxruntime:CPU", "inputs with masks of dropout 74.5 TiB");
    refuse(bench, MASKED " --mode train -d simulated:lab/FIXED", "inputs with masks of dropout 74.5 TiB");
    refuse(bench, "gps,attention=sparse,num_layers=1000 --num-nodes 50000000 --mode train -d onnxruntime:CPU", "making it");
    /* the graph alone, for which nothing is run */
    refuse(bench, "gps --num-nodes 100000000 --avg-degree 1 --feature-dim 65536 --hidden-dim 8 -p flops",
           "making it takes 23.8 TiB (weights ");
    refuse(bench, "graph_transformer --num-nodes 2147483648 -p flops", "a graph has 0 to 100000000");
    refuse(bench, "graph_transformer --num-nodes 1000000 --num-heads 64", "--attention sparse: along edges alone");
    refuse(bench, "graph_transformer --hidden-dim 1048576 --feature-dim 4 -p flops", "hidden_dim 1048576: 1 to 65536");
    refuse(bench, "graph_transformer --num-layers 100000 -p flops", "num_layers 100000: 0 to 4096");
    refuse(bench, "graph_transformer --hidden-dim 65536 --num-layers 64 -p flops", "making it takes");
}

/* A forward pass that fits most machines, and a training that keeps every layer's scores, or what is gathered along edges.
 */
static void test_kept(Bench *bench, gconstpointer data)
{
#define KEPT "graph_transformer --num-nodes 3000 --hidden-dim 16 --num-heads 16 --num-layers 1024 --dropout 0%"
    refuse(bench, KEPT " --mode backward -d onnxruntime:CPU", "graph_transformer (training pass): needs at least");
    refuse(bench, KEPT " --mode train -d openvino:CPU@0", "graph_transformer (training step): needs at least");
    refuse(bench,
           "graph_transformer,attention=sparse --num-nodes 400000 --feature-dim 1 --num-layers 384 --dropout 0% --mode "
           "train -d onnxruntime:CPU",
           "needs at least");
}

/* --- other models ------------------------------------------------------------------------------------------------------
 */

static void test_batch(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
#define BATCH "small-cnn,batch=4096,size=1024,channels=64"
    refuse(bench, BATCH " --mode train -d onnxruntime:CPU", "(training pass): needs at least");
    refuse(bench, "resnet50,batch=100000 --mode train", "batch=100000 is not a number from 0 to 65536");
    /* weights of the given model, 98 MiB, are there for whatever fits; of what is made of it nothing */
    refuse_writing(bench, "resnet50,batch=65536 --mode train -d openvino:CPU -d onnxruntime:CPU",
                   "(training pass): needs at least", (goffset)110 << 20);
    /* what needs no memory of this machine is not refused */
    run_line(bench, "profile -q " BATCH " --mode train --no-peak --runs 2 -d simulated:lab/PLAIN", &ended);
    assert_status(&ended, 0);
}

/* Each of these points has no such pass. */
static void test_points(Bench *bench, gconstpointer data)
{
    refuse(bench, "small-cnn,size=1024,channels=64 --dim batch=2048,4096 --mode train -d onnxruntime:CPU",
           "(training pass): needs at least");
}

static void test_file(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    run_line(bench, "zoo export small-cnn batch=0 size=8 channels=4 -o m.onnx", &ended);
    assert_status(&ended, 0);
    refuse(bench, "m.onnx --dim N=1099511627776 --mode train -d onnxruntime:CPU", "(training pass): needs at least");
    refuse(bench, "m.onnx --dim N=1099511627776 --mode backward -d openvino:CPU", "(training pass): needs at least");
    refuse(bench, "m.onnx --dim N=9223372036854775807 --mode train -d onnxruntime:CPU", "");
    refuse(bench, "m.onnx --dim N=4611686018427387904 --mode train -p flops", "");
}

/* y = x w, each [n], and w a file of holes */
static void save_holes(const Bench *bench, gint64 n)
{
    GByteArray *graph = g_byte_array_new(), *node = bytes_node("Mul", "x", "y");
    put_text(node, 1, "w");
    put_message(graph, 1, node);
    put_text(graph, 2, "holes");
    put_message(graph, 5, bytes_external(n, (const char *[]){ "location", "holes", NULL }));
    put_message(graph, 11, bytes_port("x", n));
    put_message(graph, 12, bytes_port("y", n));
    g_autoptr(GByteArray) model = bytes_model(8, 17, graph);
    bench_write(bench, "holes.onnx", model->data, model->len);
}

/* Weights and state, which this process would make and write for whatever device. */
static void test_state(Bench *bench, gconstpointer data)
{
    const gint64 n = G_GINT64_CONSTANT(1) << 38; /* 1 TiB */
    g_autofree char *path = bench_path(bench, "holes");
    int fd = g_creat(path, 0600);
    gboolean made = fd >= 0 && ftruncate(fd, (off_t)(4 * n)) == 0;
    close(fd);
    if (!made)
    {
        g_test_skip("no file of 1 TiB with holes here");
        return;
    }
    save_holes(bench, n);
    refuse(bench, "holes.onnx --mode train --optimiser adam -d simulated:lab/FIXED",
           "is fed 3.00 TiB (parameters 1.00 TiB, the optimiser's state 2.00 TiB, inputs 0 B)");
    refuse(bench, "holes.onnx --mode train --optimiser adam -d onnxruntime:CPU", "(training pass): needs at least");
}

/* --- what the process may take ------------------------------------------------------------------------------------------
 */

/* A limit of the process counts as the machine's does. */
static void test_address_space(Bench *bench, gconstpointer data)
{
    static const char *const lines[] = {
        "graph_transformer --num-nodes 20000000 --feature-dim 64 -p flops", /* 5 GB of features, 1.6 of edges */
        "gps --num-nodes 20000000 --attention sparse --mode train -d onnxruntime:CPU",
        "small-cnn,batch=256,size=1024 --mode train -d onnxruntime:CPU",
    };
    if (!g_str_equal(IFM_SANITIZE, "none"))
    {
        g_test_skip("a sanitizer takes address space for itself");
        return;
    }
    for (gsize i = 0; i < G_N_ELEMENTS(lines); i++)
    {
        g_auto(Ended) ended = { 0 };
        g_autofree char *script = g_strdup_printf("ulimit -v 4194304; exec \"$INFEROMETER\" profile %s", lines[i]);
        g_test_message("%s", lines[i]);
        run_shell(bench, "sh", script, &ended);
        assert_complaint(&ended, 3, "available");
        g_assert_cmpint(bytes_in(bench->folder), <, MAX_WRITTEN);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/profile-too-large/graph", Bench, NULL, bench_init, test_graph, bench_clear);
    g_test_add("/profile-too-large/kept", Bench, NULL, bench_init, test_kept, bench_clear);
    g_test_add("/profile-too-large/batch", Bench, NULL, bench_init, test_batch, bench_clear);
    g_test_add("/profile-too-large/points", Bench, NULL, bench_init, test_points, bench_clear);
    g_test_add("/profile-too-large/file", Bench, NULL, bench_init, test_file, bench_clear);
    g_test_add("/profile-too-large/state", Bench, NULL, bench_init, test_state, bench_clear);
    g_test_add("/profile-too-large/address-space", Bench, NULL, bench_init, test_address_space, bench_clear);
    return g_test_run();
}
