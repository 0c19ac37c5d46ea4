/* room: kernel */
#pragma once
#include <inferometer/kernel-record.h>
#include <inferometer/measure.h>
#include <inferometer/model-options.h>

IFM_BEGIN_DECLS

/*
 * The kernels of a model as a runtime optimised it: what each node of the optimised graph computes, under one name in every
 * model, and which nodes of the model as written are in it. Other than IfmKernel (kernel.h), nothing here was measured.
 */

/**
 * IfmKernelRecords: of one model on one device. @model: what it is called    @source: "zoo:resnet18,size=64", or the file
 * that it was read from    @model_digest: of the model as written    @settings: its bindings and
 * threads, "batch=1, threads=1"    @level: "all" of a saved graph; "compiled" where the runtime
 * names what went into its nodes    @processor: its name: the graph of another one may differ
 * @n_folded: nodes of the model that the runtime computed beforehand    @uncovered: names of the model's nodes that are in
 * no kernel, and whose results are needed    @n_covered_twice: nodes that several kernels cover
 */
typedef struct
{
    gint64 format_version;
    char *model, *source, *model_digest, *device, *runtime, *level, *processor, *settings;
    gint64 n_nodes, n_folded, n_covered_twice;
    GPtrArray *uncovered; /* char* */
    GPtrArray *kernels;   /* IfmKernelRecord* in the order of the optimised graph */
} IfmKernelRecords;

void ifm_kernel_records_free(IfmKernelRecords *records);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmKernelRecords, ifm_kernel_records_free)

/**
 * ifm_kernel_records_find: Has the runtime of a device optimise a model, and reads its kernels.
 * @model_case: model_path, device, dtype, threads, bindings and vendor count    @graph: (optional) path of a file that gets
 * the optimised graph with its weights, whose names the records have
 * Returns: (transfer full) NULL with IFM_ERROR_UNSUPPORTED (a device whose runtime neither saves its graph nor names the
 * nodes that went into its own), IFM_ERROR_UNAVAILABLE (no such device: a graph of CUDA needs a GPU), IFM_ERROR_INVALID (a
 * graph of another runtime's operators), or that of compiling.
 */
IfmKernelRecords *ifm_kernel_records_find(IfmRunner *runner, const IfmModelCase *model_case, const char *graph,
                                          GError **error);

/** IfmKernelOptions: zeros are the defaults. @device: NULL: "onnxruntime:CPU"    @seed: of the weights of a model of the
 * zoo    @graph: as of ifm_kernel_records_find()    @cache: folder where records are kept; NULL: $IFM_KERNEL_CACHE or the
 * user's
 * @open: how the model is opened    @anew: has the model optimised whatever is kept    @interrupted: as of a runner
 * @note: (nullable) receives what is worth knowing and no error */
typedef struct
{
    const char *device;
    int threads;
    guint32 seed;
    IfmModelOptions open;
    const char *graph, *cache;
    gboolean anew;
    const gint *interrupted;
    void (*note)(const char *message, void *user);
    void *user;
} IfmKernelOptions;
/** ifm_kernel_records_open: @text: a file of records (.json), an ONNX file, or a model of the zoo with its settings:
 * "resnet18,size=64". What was found once is kept, by the model's digest, the device, the runtime's library and the
 * processor.    @options: NULL: the defaults
 * Returns: (transfer full) NULL with the errors of reading it, or of ifm_kernel_records_find(); IFM_ERROR_INVALID where
 * records are of a file that has changed since. */
IfmKernelRecords *ifm_kernel_records_open(const char *text, const IfmKernelOptions *options, GError **error);

/** ifm_kernel_records_check_graph: Whether an optimised graph has all weights of these kernels. Returns: FALSE with
 * IFM_ERROR_INVALID: it is of another model, or of other sizes. */
gboolean ifm_kernel_records_check_graph(const IfmKernelRecords *records, const IfmModel *graph, GError **error);

/** IfmKernelExtraction: @folder: made where it is not there    @names: of kernels, "Conv_Add_Relu", NULL-terminated; NULL:
 * all    @graph, @seed: as of ifm_kernel_extract()    @ring: as many copies as make a ring    @written: with a file's name
 * in
 * @folder; FALSE ends it    @left_out: with why a kernel has no file */
typedef struct
{
    const char *folder;
    const char *const *names;
    const IfmModel *graph;
    guint32 seed;
    gboolean ring;
    gboolean (*written)(const char *file, void *user);
    void (*left_out)(const char *why, void *user);
    void *user;
} IfmKernelExtraction;
/** ifm_kernel_records_extract: Each distinct kernel of models as a model of its own, ifm_kernel_record_stem() with ".onnx".
 * A kernel that cannot be cut out is no failure of the others. @records: [n]
 * Returns: FALSE with IFM_ERROR_UNAVAILABLE (a file or the folder cannot be written), IFM_ERROR_INVALID (a graph of another
 * model), IFM_ERROR_CANCELLED (@written ended it). */
gboolean ifm_kernel_records_extract(const IfmKernelRecords *const *records, gsize n, const IfmKernelExtraction *options,
                                    GError **error);

/** ifm_kernel_records_to_json: (transfer full) as files have it: docs/formats.md.    ifm_kernel_records_from_json:
 * (transfer full) NULL with IFM_ERROR_INVALID and the place. @where: the file, for messages */
json_t *ifm_kernel_records_to_json(const IfmKernelRecords *records);
IfmKernelRecords *ifm_kernel_records_from_json(const json_t *json, const char *where, GError **error);
/** ifm_kernel_records_read: a file. ifm_kernel_records_write: atomically. */
IfmKernelRecords *ifm_kernel_records_read(const char *path, GError **error);
gboolean ifm_kernel_records_write(const IfmKernelRecords *records, const char *path, GError **error);

IFM_END_DECLS
