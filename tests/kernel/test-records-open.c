#include <glib/gstdio.h>
#include <math.h>
#include <regions/regions.h>
#include <string.h>

#include <kernel/kernel.h>

#include "../../src/kernel/records-private.h"
#include "build-folders.h"
#include "folder.h"
#include "graph-text.h"

/* Records of models by what they are called: their names, what is kept of them, and what is refused. */

static IfmKernelRecords *open_in(const char *cache, const char *text)
{
    g_autoptr(GError) error = NULL;
    const IfmKernelOptions options = { .seed = 1, .cache = cache };
    IfmKernelRecords *records = ifm_kernel_records_open(text, &options, &error);
    g_assert_no_error(error);
    return records;
}

static void assert_refused(const char *text, const IfmKernelOptions *options, IfmErrorCode code, const char *part)
{
    g_autoptr(GError) error = NULL;
    g_assert_null(ifm_kernel_records_open(text, options, &error));
    if (!g_error_matches(error, IFM_ERROR, (gint)code) || strstr(error->message, part) == NULL)
        g_error("%s: \"%s\" (%d), not \"%s\"", text, error->message, error->code, part);
    g_assert_null(strchr(error->message, '\n'));
}

static char *make_folder(void)
{
    char *folder = g_dir_make_tmp("ifm-records-XXXXXX", NULL);
    g_assert_nonnull(folder);
    return folder;
}

static const IfmKernelRecord *kernel_at(const IfmKernelRecords *records, guint index)
{
    return records->kernels->pdata[index];
}

/* --- names --------------------------------------------------------------------------------------------------------------
 */

static gboolean has_name(const IfmKernelRecords *records, const char *name)
{
    for (guint i = 0; i < records->kernels->len; i++)
        if (g_str_equal(kernel_at(records, i)->name, name))
            return TRUE;
    return FALSE;
}

/* At any size a model has the same kernels by name, and others by digest. */
static void test_sizes(void)
{
    g_autofree char *folder = make_folder();
    g_autoptr(IfmKernelRecords) small = open_in(folder, "resnet18,size=64"), large = open_in(folder, "resnet18,size=96"),
                                two = open_in(folder, "resnet18,size=64,batch=2");
    g_assert_cmpuint(small->kernels->len, ==, large->kernels->len);
    g_assert_cmpuint(small->kernels->len, ==, two->kernels->len);
    for (guint i = 0; i < small->kernels->len; i++)
    {
        const IfmKernelRecord *kernel = kernel_at(small, i);
        g_assert_cmpstr(kernel->name, ==, kernel_at(large, i)->name);
        g_assert_cmpstr(kernel->name, ==, kernel_at(two, i)->name);
        g_assert_cmpstr(kernel->digest, !=, kernel_at(two, i)->digest);
        g_assert_cmpuint(kernel->covers->len, ==, kernel_at(large, i)->covers->len);
    }
    remove_tree(folder);
}

/* The same structure has one name in every model, and no name has what the runtime calls it. */
static void test_models(void)
{
    static const struct
    {
        const char *model, *names[6];
    } rows[] = {
        { "resnet18,size=64", { "Conv_Relu", "Conv_Add_Relu", "Conv", "MaxPool", "GlobalAveragePool", "Gemm" } },
        { "googlenet,size=32", { "Conv_Relu", "MaxPool", "Concat", "Gemm" } },
        { "densenet121,size=32", { "Conv_Relu", "BatchNormalization_Relu", "AveragePool", "Concat" } },
        { "mobilenet_v2,size=64", { "Conv", "Conv_Add", "Conv_Clip", "Gemm" } },
        { "bert,length=16,layers=1", { "SkipLayerNormalization", "Gelu", "Gemm", "Softmax" } },
        { "vit,size=32,layers=1", { "Conv", "Gelu", "Gemm", "Softmax", "LayerNormalization" } },
    };
    static const char *const parts[] = { "Fused", "nchwc", "Nhwc", "microsoft" };
    g_autofree char *folder = make_folder();
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        g_autoptr(IfmKernelRecords) records = open_in(folder, rows[i].model);
        for (gsize k = 0; k < G_N_ELEMENTS(rows[i].names) && rows[i].names[k] != NULL; k++)
            if (!has_name(records, rows[i].names[k]))
                g_error("%s has no %s", rows[i].model, rows[i].names[k]);
        for (guint k = 0; k < records->kernels->len; k++)
            for (gsize p = 0; p < G_N_ELEMENTS(parts); p++)
                g_assert_null(strstr(kernel_at(records, k)->name, parts[p]));
    }
    remove_tree(folder);
}

/* --- what is kept -------------------------------------------------------------------------------------------------------
 */

/* (transfer full) the path of the one file of that kind in a folder */
static char *only_file(const char *folder, const char *suffix)
{
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    char *path = NULL;
    for (const char *name; (name = g_dir_read_name(dir)) != NULL;)
        if (g_str_has_suffix(name, suffix))
        {
            g_assert_null(path);
            path = g_build_filename(folder, name, NULL);
        }
    g_assert_nonnull(path);
    return path;
}

static void replace_in(const char *path, const char *from, const char *to)
{
    g_autofree char *text = NULL;
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    g_auto(GStrv) parts = g_strsplit(text, from, -1);
    g_assert_cmpuint(g_strv_length(parts), >, 1);
    g_autofree char *changed = g_strjoinv(to, parts);
    g_assert_true(g_file_set_contents(path, changed, -1, NULL));
}

static void test_kept(void)
{
    static const char model[] = "matmul,m=8,k=8,n=8";
    g_autofree char *folder = make_folder();
    g_autoptr(IfmKernelRecords) found = open_in(folder, model);
    g_autofree char *file = only_file(folder, ".json");
    g_assert_true(has_name(found, "MatMul"));
    replace_in(file, "\"MatMul\"", "\"Kept\"");
    g_autoptr(IfmKernelRecords) kept = open_in(folder, model);
    g_assert_true(has_name(kept, "Kept"));
    g_assert_cmpstr(kept->source, ==, "zoo:matmul,m=8,k=8,n=8");

    const IfmKernelOptions anew = { .seed = 1, .cache = folder, .anew = TRUE };
    g_autoptr(IfmKernelRecords) again = ifm_kernel_records_open(model, &anew, NULL);
    g_assert_true(has_name(again, "MatMul"));

    g_assert_true(g_file_set_contents(file, "{\"kernel_records\": 1", -1, NULL)); /* cut off */
    g_autoptr(IfmKernelRecords) mended = open_in(folder, model);
    g_assert_true(has_name(mended, "MatMul"));
    remove_tree(folder);
}

/* A model's digest is known without its bytes as long as its files are what they were; what has just changed may change
 * again unseen. */
static void test_digests(void)
{
    g_autofree char *folder = make_folder(), *fresh = g_build_filename(folder, "fresh", NULL),
                    *old = g_build_filename(IFM_SOURCE_DIR, "fuzz", "corpus", "trace", "ours.json", NULL);
    g_assert_null(kept_digest(folder, "model"));
    kept_add_digest(folder, "model", "abc", (const char *const[]){ old, NULL });
    g_autofree char *digest = kept_digest(folder, "model"), *file = only_file(folder, ".digest");
    g_assert_cmpstr(digest, ==, "abc");
    g_assert_null(kept_digest(folder, "other"));

    replace_in(file, "[", "[1"); /* another device, another file: not what it was */
    g_assert_null(kept_digest(folder, "model"));
    g_assert_true(g_file_set_contents(file, "{\"digest\": \"abc\", \"files\": {}}", -1, NULL));
    g_assert_null(kept_digest(folder, "model"));

    g_assert_true(g_file_set_contents(fresh, "x", 1, NULL));
    kept_add_digest(folder, "new", "def", (const char *const[]){ old, fresh, NULL });
    g_assert_null(kept_digest(folder, "new"));
    remove_tree(folder);
}

/* A folder that cannot be written to costs time alone. */
static void test_not_kept(void)
{
    g_autoptr(IfmKernelRecords) records = open_in("/proc/nothing/here", "matmul,m=8,k=8,n=8");
    g_assert_true(has_name(records, "MatMul"));
}

/* --- refusals -----------------------------------------------------------------------------------------------------------
 */

static void save(const char *name, const char *setting, const char *path)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModel) model = ifm_zoo_build(name, (const char *const[]){ setting, NULL }, 1, &error);
    g_assert_no_error(error);
    ifm_model_save(model, path, &error);
    g_assert_no_error(error);
}

static void test_changed_model(void)
{
    g_autofree char *folder = make_folder(), *model = g_build_filename(folder, "model.onnx", NULL),
                    *file = g_build_filename(folder, "records.json", NULL), *cache = g_build_filename(folder, "kept", NULL);
    save("matmul", "m=8", model);
    g_autoptr(IfmKernelRecords) records = open_in(cache, model);
    g_assert_cmpstr(records->source, ==, model);
    g_assert_true(ifm_kernel_records_write(records, file, NULL));
    g_autoptr(IfmKernelRecords) read = open_in(cache, file);
    g_assert_cmpstr(read->model_digest, ==, records->model_digest);
    save("matmul", "m=16", model);
    assert_refused(file, NULL, IFM_ERROR_INVALID, "has changed since: export its kernels again");
    g_unlink(model); /* they then stand alone */
    g_autoptr(IfmKernelRecords) alone = open_in(cache, file);
    g_assert_cmpuint(alone->kernels->len, ==, records->kernels->len);
    remove_tree(folder);
}

/* (transfer full) the path of a model with a region */
static char *save_tuned(const char *folder)
{
    g_autoptr(GError) error = NULL;
    const IfmRegionsOptions options = { 0 };
    g_autoptr(IfmModel) model =
        text_model("x : [1,4,9,9]; w ! [8,4,3,3]; y = Conv(x, w); -> y [1,8,7,7]", IFM_DTYPE_F32, FALSE, 17);
    g_autoptr(IfmModel) made = ifm_regions_partition(model, &options, NULL, &error);
    g_assert_no_error(error);
    char *path = g_build_filename(folder, "tuned.onnx", NULL);
    g_assert_true(ifm_model_save(made, path, NULL));
    return path;
}

static void test_refused(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *folder = make_folder(), *graph = g_build_filename(folder, "graph.onnx", NULL);
    const IfmKernelOptions saving = { .seed = 1, .cache = folder, .graph = graph };
    g_autoptr(IfmKernelRecords) records = ifm_kernel_records_open("resnet18,size=64", &saving, &error);
    g_assert_no_error(error);
    assert_refused(graph, NULL, IFM_ERROR_INVALID, "the model as written is expected");
    g_autofree char *tuned = save_tuned(folder);
    assert_refused(tuned, NULL, IFM_ERROR_INVALID, "tuned is tuned: its regions run as one each");
    assert_refused("resnet81", NULL, IFM_ERROR_INVALID, "did you mean");
    assert_refused("no/such.onnx", NULL, IFM_ERROR_UNAVAILABLE, "no/such.onnx");
    assert_refused("no-such.json", NULL, IFM_ERROR_UNAVAILABLE, "no-such.json");
    assert_refused("zoo:", NULL, IFM_ERROR_INVALID, "zoo: which model?");
    assert_refused("", NULL, IFM_ERROR_INVALID, "the model's name is empty");
    const IfmKernelOptions large = { .seed = 1, .cache = folder, .open = { .dims = (const char *const[]){ "M=2", NULL } } };
    g_autoptr(IfmKernelRecords) unknown = ifm_kernel_records_open("squeezenet,size=64,batch=0", &large, &error);
    g_assert_null(unknown);
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_nonnull(strstr(error->message, "no input has a free dimension 'M' (free: N)"));
    g_clear_error(&error);
    assert_refused("resnet18,sice=64", NULL, IFM_ERROR_INVALID, "sice");
    const IfmKernelOptions other = { .seed = 1, .cache = folder, .device = "simulated:none/CPU" };
    g_autoptr(IfmKernelRecords) none = ifm_kernel_records_open("resnet18,size=64", &other, &error);
    g_assert_null(none);
    g_assert_nonnull(error);
    remove_tree(folder);
}

/* As profile opens it: a free batch is 1 where nothing is said of it, or what --batch says, of a file and of the zoo. */
static void test_open_options(void)
{
    g_autofree char *folder = make_folder(), *model = g_build_filename(folder, "model.onnx", NULL);
    static const char *const settings[] = { "N=1", "N=3", "N=4" };
    save("squeezenet", "batch=0", model);
    for (gsize i = 0; i < 6; i++)
    {
        g_autoptr(GError) error = NULL;
        const IfmKernelOptions options = { .seed = 1,
                                           .cache = folder,
                                           .open = { .batch = i / 2 == 1 ? 3 : 0,
                                                     .dims = i / 2 == 2 ? (const char *const[]){ "*=4", NULL } : NULL } };
        const char *text = i % 2 == 0 ? model : i / 2 == 1 ? "squeezenet,size=64" : "squeezenet,size=64,batch=0";
        g_autoptr(IfmKernelRecords) records = ifm_kernel_records_open(text, &options, &error);
        g_assert_no_error(error);
        g_assert_cmpstr(records->settings, ==, settings[i / 2]);
        const IfmKernelTensor *first = kernel_at(records, 0)->inputs->pdata[0];
        g_assert_cmpint(g_array_index(first->dims, gint64, 0), ==, settings[i / 2][2] - '0');
    }
    remove_tree(folder);
}

static guint count_named(const IfmKernelRecords *records, const char *name)
{
    guint n = 0;
    for (guint i = 0; i < records->kernels->len; i++)
        n += g_str_equal(kernel_at(records, i)->name, name);
    return n;
}

/* OpenVINO saves no graph, but names what went into its nodes: the same kernels as ONNX Runtime's, and each node in one. */
static void test_openvino(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *folder = make_folder();
    const IfmKernelOptions options = { .seed = 1, .cache = folder, .device = "openvino:CPU" };
    g_autoptr(IfmKernelRecords) records = ifm_kernel_records_open("resnet18,size=64", &options, &error);
    if (g_error_matches(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE))
    {
        g_test_skip(error->message);
        remove_tree(folder);
        return;
    }
    g_assert_no_error(error);
    g_autoptr(IfmKernelRecords) other = open_in(folder, "resnet18,size=64");
    static const char *const names[] = { "Conv_Relu", "Conv_Add_Relu", "Conv", "MaxPool", "Gemm", "GlobalAveragePool" };
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
        g_assert_cmpuint(count_named(records, names[i]), ==, count_named(other, names[i]));
    g_autoptr(GHashTable) covered = g_hash_table_new(g_str_hash, g_str_equal);
    for (guint i = 0; i < records->kernels->len; i++)
    {
        const IfmKernelRecord *kernel = kernel_at(records, i);
        g_assert_true((kernel->covers->len == 0) == (kernel->coverage == IFM_COVERAGE_INSERTED));
        for (guint k = 0; k < kernel->covers->len; k++)
            g_assert_true(g_hash_table_add(covered, kernel->covers->pdata[k]));
        if (g_str_equal(kernel->name, "Conv_Add_Relu"))
            g_assert_cmpuint(kernel->depends->len, ==, 2); /* the sum runs behind both of its inputs */
    }
    g_assert_cmpuint(g_hash_table_size(covered), ==, records->n_nodes);
    g_assert_cmpuint(records->uncovered->len, ==, 0);
    g_assert_true(g_str_has_prefix(records->runtime, "openvino "));
    g_assert_null(ifm_kernel_extract(kernel_at(records, 1), NULL, 1, 1, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_UNSUPPORTED);
    remove_tree(folder);
}

/* A graph of CUDA needs a GPU: it is never the processor's. */
static void test_cuda(void)
{
    g_autoptr(GError) error = NULL;
    const IfmKernelOptions options = { .seed = 1, .anew = TRUE, .device = "onnxruntime:CUDA" };
    g_autoptr(IfmKernelRecords) records = ifm_kernel_records_open("resnet18,size=64", &options, &error);
    if (records == NULL)
    {
        g_assert_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE);
        return;
    }
    for (guint i = 0; i < records->kernels->len; i++)
        g_assert_null(strstr(kernel_at(records, i)->domain, "nchwc"));
}

/* A kernel that was extracted is read back as what it is, in every domain and layout, alone and as a ring. */
static void test_extracted(void)
{
    static const char *const names[] = { "resnet18,size=64", "densenet121,size=32", "bert,length=16,layers=1",
                                         "graph_transformer,num_nodes=50" };
    g_autofree char *folder = make_folder();
    for (gsize m = 0; m < G_N_ELEMENTS(names); m++)
    {
        g_autoptr(IfmKernelRecords) records = open_in(folder, names[m]);
        for (guint i = 0; i < records->kernels->len; i++)
        {
            g_autoptr(GError) error = NULL;
            const IfmKernelRecord *kernel = kernel_at(records, i);
            g_autofree char *stem = ifm_kernel_record_stem(kernel), *file = g_strconcat(stem, ".onnx", NULL),
                            *path = g_build_filename(folder, file, NULL);
            g_autoptr(IfmModel) model = ifm_kernel_extract(kernel, NULL, 1 + i % 2, 1, &error);
            g_assert_no_error(error);
            g_assert_true(ifm_model_save(model, path, &error));
            g_autoptr(IfmKernelRecords) alone = open_in(folder, path);
            g_assert_cmpuint(alone->kernels->len, ==, 1);
            g_assert_cmpstr(kernel_at(alone, 0)->digest, ==, kernel->digest);
            g_assert_cmpstr(kernel_at(alone, 0)->name, ==, kernel->name);
            g_assert_cmpint(ifm_kernel_bytes(kernel_at(alone, 0)), ==, ifm_kernel_bytes(kernel));
            g_assert_true(isnan(kernel->flop) ? isnan(kernel_at(alone, 0)->flop)
                                              : kernel_at(alone, 0)->flop == kernel->flop);
            g_assert_cmpstr(alone->source, ==, path);
        }
    }
    remove_tree(folder);
}

/* A model with the metadata of a kernel. */
static void save_said(const char *graph, const char *digest, const char *copies, const char *path)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModel) model = text_model(graph, IFM_DTYPE_F32, FALSE, 17);
    g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new("k", 17);
    ifm_model_builder_metadata(builder, IFM_KERNEL_DIGEST_METADATA, digest);
    ifm_model_builder_metadata(builder, IFM_KERNEL_NAME_METADATA, "");
    ifm_model_builder_metadata(builder, IFM_KERNEL_COPIES_METADATA, copies);
    for (gsize k = 0; k < ifm_model_n_inputs(model); k++)
    {
        const IfmPort *port = ifm_model_input(model, k);
        ifm_model_builder_input(builder, port->name, port->dtype, port->rank, port->dims, NULL);
    }
    for (gsize k = 0; k < ifm_model_n_nodes(model); k++)
        ifm_model_builder_copy_node(builder, ifm_model_node(model, k));
    const IfmPort *port = ifm_model_output(model, 0);
    ifm_model_builder_output(builder, port->name, port->dtype, port->rank, port->dims, NULL);
    g_autoptr(IfmModel) said = ifm_model_builder_finish(builder, &error);
    g_assert_no_error(error);
    g_assert_true(ifm_model_save(said, path, &error));
}

#define RELU "x : [2,3]; y = Relu(x); -> y [2,3]"

/* What is only said to be a kernel is a model as others are. */
static void test_said_to_be_kernel(void)
{
    static const struct
    {
        const char *graph, *digest /* NULL: that of RELU */, *copies;
        guint n_kernels;
        gboolean is_kernel;
    } rows[] = {
        { RELU, NULL, "1", 1, TRUE },
        { RELU, "00", "1", 1, FALSE },
        { RELU, NULL, "2", 1, FALSE },
        { RELU, NULL, "one", 1, FALSE },
        { "x : [2,4]; y = Relu(x); -> y [2,4]", NULL, "1", 1, FALSE },
        { "x : [2,3]; a = Relu(x); y = Tanh(a); -> y [2,3]", NULL, "1", 2, FALSE },
        { "x : [2,3]; -> x [2,3]", "00", "0", 0, FALSE },
        { "x : [16777216,16777216]; y = Relu(x); -> y [16777216,16777216]", NULL, "1", 1, FALSE },
    };
    g_autofree char *folder = make_folder(), *path = g_build_filename(folder, "k.onnx", NULL), *digest = NULL;
    save_said(RELU, "00", "1", path);
    g_autoptr(IfmKernelRecords) relu = open_in(folder, path);
    digest = g_strdup(kernel_at(relu, 0)->digest);
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        g_autoptr(GError) error = NULL;
        const IfmKernelOptions options = { .seed = 1, .cache = folder };
        save_said(rows[i].graph, rows[i].digest != NULL ? rows[i].digest : digest, rows[i].copies, path);
        g_autoptr(IfmKernelRecords) records = ifm_kernel_records_open(path, &options, &error);
        g_assert_no_error(error);
        g_assert_cmpuint(records->kernels->len, ==, rows[i].n_kernels);
        g_assert_cmpint(*records->level == '\0', ==, rows[i].is_kernel);
    }
    remove_tree(folder);
}

/* The graph of a kernel is what it is; records have none. */
static void test_graph_of_kernel(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *folder = make_folder(), *path = g_build_filename(folder, "k.onnx", NULL),
                    *graph = g_build_filename(folder, "g.onnx", NULL), *kept = g_build_filename(folder, "r.json", NULL);
    const IfmKernelOptions options = { .seed = 1, .cache = folder, .graph = graph };
    save_said(RELU, "00", "1", path);
    g_autoptr(IfmKernelRecords) relu = open_in(folder, path);
    save_said(RELU, kernel_at(relu, 0)->digest, "1", path);
    g_autoptr(IfmKernelRecords) records = ifm_kernel_records_open(path, &options, &error);
    g_assert_no_error(error);
    g_assert_true(ifm_kernel_records_write(records, kept, &error));
    g_autoptr(IfmModel) saved = ifm_model_open(graph, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(ifm_model_n_nodes(saved), ==, 1);
    g_assert_cmpint(g_remove(graph), ==, 0);
    assert_refused(kept, &options, IFM_ERROR_INVALID, "--graph: ");
    g_assert_false(g_file_test(graph, G_FILE_TEST_EXISTS));
    remove_tree(folder);
}

static void write_file(const char *folder, const char *name, const char *text)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

static void count_ends(const IfmProgress *now, void *user)
{
    guint *counts = user;
    counts[0] += now->outcome != NULL;
    counts[1] += now->outcome != NULL && g_str_equal(now->outcome, "ok");
}

/* Of a folder everything that may be a model is a row, in the order of names: what cannot be opened with its reason. */
static void test_each(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *cache = make_folder(), *folder = make_folder(), *empty = g_build_filename(folder, "none", NULL),
                    *good = g_build_filename(folder, "c.onnx", NULL), *kept = g_build_filename(folder, "d.json", NULL),
                    *nested = g_build_filename(folder, "sub.onnx", NULL), *inner = g_build_filename(nested, "e.onnx", NULL);
    guint counts[2] = { 0 };
    const IfmKernelOptions options = { .seed = 1, .cache = cache, .progress = count_ends, .user = counts };
    save("small-cnn", "size=16", good);
    g_assert_cmpint(g_mkdir(empty, 0755), ==, 0);
    g_assert_cmpint(g_mkdir(nested, 0755), ==, 0);
    save("small-cnn", "size=16", inner);
    write_file(folder, "a.onnx", "no model");
    write_file(folder, "b.json", "{\"kernel_records\": 1,");
    write_file(folder, "config.json", "{\"hidden\": 1}");
    write_file(folder, "readme.txt", "kernel_records");
    g_autoptr(IfmKernelRecords) records = open_in(cache, good);
    g_assert_true(ifm_kernel_records_write(records, kept, &error));
    g_auto(GStrv) words =
        ifm_kernel_records_words((const char *const[]){ folder, empty, "no-such", "small-cnn,size=16", NULL }, TRUE);
    g_autoptr(GPtrArray) all = ifm_kernel_records_open_each((const char *const *)words, &options, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(all->len, ==, g_strv_length(words)); /* one each: a folder among them is not looked into again */
    static const char *const ends[] = { "a.onnx", "b.json", "c", "c", "none", "no-such", "small-cnn,size=16" };
    static const int opened[] = { 0, 0, 1, 1, 0, 0, 1 };
    g_assert_cmpuint(all->len, ==, G_N_ELEMENTS(ends));
    for (guint i = 0; i < all->len; i++)
    {
        const IfmKernelRecords *one = all->pdata[i];
        if (!g_str_has_suffix(one->model, ends[i]))
            g_error("%u: %s, not %s", i, one->model, ends[i]);
        g_assert_true((one->reason == NULL) == (opened[i] == 1));
        g_assert_cmpuint(one->kernels->len > 0, ==, opened[i]);
        g_assert_true(one->reason == NULL || strchr(one->reason, '\n') == NULL);
        g_assert_cmpint(one->code != 0, ==, opened[i] == 0);
    }
    g_assert_cmpuint(counts[0], ==, 7);
    g_assert_cmpuint(counts[1], ==, 3);
    const IfmKernelOptions sized = { .seed = 1, .cache = cache, .open = { .batch = 2 } },
                           wrong = { .seed = 1, .cache = cache, .open = { .dims = (const char *const[]){ "N", NULL } } };
    assert_refused(kept, &sized, IFM_ERROR_INVALID, "--batch: ");
    g_assert_null(ifm_kernel_records_open_each((const char *const[]){ folder, NULL }, &wrong, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_USAGE);
    remove_tree(folder);
    remove_tree(cache);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/records-open/extracted", test_extracted);
    g_test_add_func("/records-open/said-to-be-kernel", test_said_to_be_kernel);
    g_test_add_func("/records-open/graph-of-kernel", test_graph_of_kernel);
    g_test_add_func("/records-open/each", test_each);
    g_test_add_func("/records-open/sizes", test_sizes);
    g_test_add_func("/records-open/models", test_models);
    g_test_add_func("/records-open/kept", test_kept);
    g_test_add_func("/records-open/digests", test_digests);
    g_test_add_func("/records-open/not-kept", test_not_kept);
    g_test_add_func("/records-open/changed-model", test_changed_model);
    g_test_add_func("/records-open/refused", test_refused);
    g_test_add_func("/records-open/open-options", test_open_options);
    g_test_add_func("/records-open/openvino", test_openvino);
    g_test_add_func("/records-open/cuda", test_cuda);
    return g_test_run();
}
