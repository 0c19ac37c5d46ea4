/* Fused kernels taken out of models, each as a model of its own. */
#pragma once
#include <jansson.h>

#include <inferometer/document.h>
#include <inferometer/measure.h>

IFM_BEGIN_DECLS

/* --- fused kernels ------------------------------------------------------------------------------------------------- */

/*
 * The kernels of a model as a runtime optimised it: what each node of the optimised graph computes, under one name in every
 * model, and which nodes of the model as written are in it. Other than IfmKernel (kernel.h), nothing here was measured.
 */

/** IfmKernelRecord: one kernel. */
typedef struct IfmKernelRecord IfmKernelRecord;

/**
 * IfmKernelRecords: of one model on one device. @model: what it is called    @source: "zoo:resnet18,size=64", or the file
 * that it was read from    @model_digest: of the model as written    @settings: sizes of its free
 * dimensions, "batch=1, height=64"    @level: "all" of a saved graph; "compiled" where the runtime
 * names what went into its nodes    @processor: its name: the graph of another one may differ
 * @n_folded: nodes of the model that the runtime computed beforehand    @uncovered: names of the model's nodes that are in
 * no kernel, and whose results are needed    @n_covered_twice: nodes that several kernels cover
 * @reason: why the model could not be opened, and there are no kernels; NULL: it was    @code: of that error
 */
typedef struct
{
    gint64 format_version;
    char *model, *source, *model_digest, *device, *runtime, *level, *processor, *settings;
    gint64 n_nodes, n_folded, n_covered_twice;
    GPtrArray *uncovered; /* char* */
    GPtrArray *kernels;   /* IfmKernelRecord* in the order of the optimised graph */
    char *reason;
    int code;
} IfmKernelRecords;

void ifm_kernel_records_free(IfmKernelRecords *records);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmKernelRecords, ifm_kernel_records_free)

/** IfmKernelOptions: zeros are the defaults. @device: NULL: "onnxruntime:CPU"    @seed: of the weights of a model of the
 * zoo    @graph: (nullable) a file that gets the optimised graph with its weights, whose names the records have
 * @cache: folder where records are kept; NULL: $IFM_KERNEL_CACHE or the user's    @open: how the model is opened    @anew:
 * has the model optimised whatever is kept    @interrupted: as of a runner
 * @note: (nullable) receives what is worth knowing and no error
 * @progress: (nullable) of several models, which one is opened */
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
    void (*progress)(const IfmProgress *now, void *user);
    void *user;
} IfmKernelOptions;

/** ifm_kernel_records_open: @text: a file of records (.json), an ONNX file, or a model of the zoo with its settings:
 * "resnet18,size=64". Of a kernel that was extracted the record is of that kernel. What was found once is kept, by the
 * model's digest, the device, the runtime's library and the processor.    @options: NULL: the defaults Returns: (transfer
 * full) NULL with the errors of reading it; IFM_ERROR_UNSUPPORTED (a device whose runtime neither saves its graph nor names
 * the nodes that went into its own), IFM_ERROR_UNAVAILABLE (no such device: a graph of CUDA needs a GPU), IFM_ERROR_INVALID
 * (a graph of another runtime's operators; records of a file that has changed since), or that of compiling. */
IfmKernelRecords *ifm_kernel_records_open(const char *text, const IfmKernelOptions *options, GError **error);

/** IfmKernelExtraction: @folder: made where it is not there    @names: of kernels, "Conv_Add_Relu", NULL-terminated; NULL:
 * all    @graph, @seed: as of ifm_kernel_extract()    @ring: as many copies as hold what the kernel's model does (of
 * several the largest)    @interrupted: (nullable) ends it    @written: with the name of a file that now is in @folder;
 * FALSE ends it    @left_out: with why a kernel has no file
 */
typedef struct
{
    const char *folder;
    const char *const *names;
    const IfmModel *graph;
    guint32 seed;
    gboolean ring;
    const gint *interrupted;
    gboolean (*written)(const IfmKernelRecord *kernel, const char *file, void *user);
    void (*left_out)(const IfmKernelRecord *kernel, const char *why, void *user);
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

gboolean ifm_kernel_records_write(const IfmKernelRecords *records, const char *path, GError **error);

/* --- exporting ----------------------------------------------------------------------------------------------------- */

/*
 * Models in many sizes and batches as files, each as it is written and as ONNX Runtime optimises it.
 */

/** IfmExportOptions: @folder: where files go; made where it is not there    @force: replaces files of other content that
 * were not exported    @written: (nullable) with each file, and of an optimised graph how it was checked: "ran", "ran at
 * batch 1: batch 128 needs at least 31.2 GiB, there are 22.0 GiB", "not run: …"; NULL of the others. FALSE ends it
 * @interrupted: (nullable) ends it    @measure: runs each optimised graph once */
typedef struct
{
    const char *folder;
    gboolean force;
    gboolean (*written)(const char *path, const char *said, void *user);
    void *user;
    const gint *interrupted;
    IfmMeasureFunction measure;
    void *measure_user;
} IfmExportOptions;

/**
 * ifm_export_config: Writes what a configuration lists (docs/zoo.md): models x sizes x batches, and of each the graph that
 * ONNX Runtime makes of it for each provider, with the runtime's version, the provider and the level in its name and its
 * metadata. Every graph is run once where its memory fits, else one of batch 1.
 * Returns: FALSE with IFM_ERROR_INVALID "FILE:LINE: …" (an unknown model or file, what is listed twice, a size that a model
 * does not take), IFM_ERROR_UNAVAILABLE (a provider that is not here: no graph is made by another one; a folder that cannot
 * be written), IFM_ERROR_CANCELLED, or what compiling and running give. Files that were written by then stay.
 */
gboolean ifm_export_config(const char *config, const IfmExportOptions *options, GError **error);

/* --- pages of kernels ---------------------------------------------------------------------------------------------- */

/* The pages of `kernels list` and `kernels show`, and what is made of records for other programs. */

/** ifm_kernels_document: (transfer full) of each model how its kernels cover its nodes, and its distinct kernels; of
 * several models also the names of kernels with the models that have them. @records: [n], borrowed by the document */
IfmDocument *ifm_kernels_document(const IfmKernelRecords *const *records, gsize n);

/**
 * ifm_kernel_document: Kernels of a model in full. @wanted: a name ("Conv_Add_Relu"), a file's name as
 * ifm_kernel_record_stem() has it, or first digits of a digest
 * Returns: (transfer full) NULL with IFM_ERROR_INVALID where the model has none such. Borrows @records.
 */
IfmDocument *ifm_kernel_document(const IfmKernelRecords *records, const char *wanted, GError **error);

/** ifm_kernel_dag_to_json: (transfer full) which kernel waits for which: docs/formats.md, "The graph of kernels" */
json_t *ifm_kernel_dag_to_json(const IfmKernelRecords *records);

IFM_END_DECLS
