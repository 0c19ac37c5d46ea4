/* ONNX models: opened, described and written; the zoo of models that are built from parameters. */
#pragma once
#include <inferometer/common.h>
#include <inferometer/options.h>

IFM_BEGIN_DECLS

/* --- models -------------------------------------------------------------------------------------------------------- */

/**
 * IfmModel: one ONNX model, checked and indexed. Immutable after it is made, so threads may share it.
 * Large tensors stay in a private mapping of their file. The file must not be truncated while the model exists.
 */
typedef struct IfmModel IfmModel;

/** IfmDimBinding: "N=8". */
typedef struct
{
    const char *name;
    gint64 value;
} IfmDimBinding;

/**
 * ifm_model_open: Reads a file.
 * Returns: (transfer full) NULL with an error. IFM_ERROR_INVALID: the file is empty, truncated, not ONNX or nested too
 * deep; a tensor is larger than its file or its shape; external data are missing or outside the folder of the model; the
 * graph has a cycle, a duplicate name, or an input without a source. IFM_ERROR_UNAVAILABLE: no such file, no permission.
 * IFM_ERROR_MEMORY.
 */
IfmModel *ifm_model_open(const char *path, GError **error);

/** ifm_model_input_names: Of a file, for programs in other languages: a JSON list. Returns: (transfer full) g_free() it;
 * NULL with the errors of ifm_model_open() */
char *ifm_model_input_names(const char *path, GError **error);

void ifm_model_unref(IfmModel *model);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmModel, ifm_model_unref)

/** ifm_model_serialize: Returns: (transfer full) the bytes of the ONNX file. For an opened model they are those of its
 * file. For a built model they contain all weights; NULL with IFM_ERROR_INVALID where those exceed the size of one file. */
GBytes *ifm_model_serialize(IfmModel *model, GError **error);

/** IfmModelExport: how ifm_model_export() writes a model.
 * @named: the user gave the path: an older model there is replaced, and weights in external data are named after the file,
 * "a.weights" next to "a.onnx"; else those keep their name, and a file is replaced only if it was exported before
 * @force: also replace other files    @metadata: key, value, …, NULL-terminated, added to metadata_props; or NULL */
typedef struct
{
    gboolean named, force;
    const char *const *metadata;
} IfmModelExport;

/**
 * ifm_model_export: ifm_model_save() in places where a user keeps files. No file is written through a symbolic link. A file
 * of weights with the same bytes is left as it is; one with other bytes is replaced only where the model that is replaced
 * names it, or with @force.
 * @written: char*, to which the paths of the files that were written are added
 * Returns: FALSE with the errors of ifm_model_save(), IFM_ERROR_UNAVAILABLE for a symbolic link, or IFM_ERROR_INVALID for a
 * file that would be replaced. All files are checked before the first one is written.
 */
gboolean ifm_model_export(IfmModel *model, const char *path, const IfmModelExport *options, GPtrArray *written,
                          GError **error);

/** ifm_model_metadata: A value of metadata_props; NULL for an unknown key. */
const char *ifm_model_metadata(const IfmModel *model, const char *key);

/* --- the zoo ------------------------------------------------------------------------------------------------------- */

/** IfmZooParameter: one parameter of a zoo model. @words: NULL: the value is a number; else it is the index of one of these
 * words, NULL-terminated, and @max is the last index. */
typedef struct
{
    const char *name; /* "m", "batch" */
    gint64 fallback, min, max;
    const char *help;
    const char *const *(*words)(void);
} IfmZooParameter;

/** IfmZooEntry: one row of the table of the zoo. @parameters: ends with a NULL name. @takes_images: a convolutional
 * network, whose parameter "size" is the side of an image. */
typedef struct IfmZooEntry IfmZooEntry;
struct IfmZooEntry
{
    const char *name; /* "matmul", "small-cnn" */
    const char *help;
    const IfmZooParameter *parameters;
    gboolean takes_images;
    /* @values: [parameters], in the order of the table, from min to max. */
    IfmModel *(*build)(const IfmZooEntry *entry, const gint64 *values, guint32 seed, GError **error);
    const void *of; /* what @build needs besides */
};

/** ifm_zoo_entries: Returns: (transfer none) the table; it ends with a NULL name. */
const IfmZooEntry *ifm_zoo_entries(void);

/**
 * ifm_zoo_build: Builds a model. The same settings and seed give the same bytes.
 * @settings: "NAME=VALUE", NULL-terminated, or NULL
 * Returns: (transfer full) NULL with IFM_ERROR_INVALID for an unknown parameter (with the nearest name) or a value out of
 * range.
 */
IfmModel *ifm_zoo_build(const char *name, const char *const *settings, guint32 seed, GError **error);

/* --- models in stages ---------------------------------------------------------------------------------------------- */

/** IfmStageSizes: the sizes that determine the tensors of a staged model. */
typedef struct
{
    gint64 nodes, edges; /* of the graph; 0: the free dimensions "nodes" and "edges" */
    gint64 features;     /* input values per node */
    gint64 hidden;       /* output values per node */
} IfmStageSizes;

/**
 * IfmBoundary: a tensor that enters the staged model, passes between its stages, or leaves it.
 * @dims: [rank] words: "nodes", "edges", "features", "hidden" or a number
 * @split_axis: the axis along which a partition of the graph splits the tensor (nodes by destination, edges with their
 * destination). -1: each partition needs the whole tensor. IfmStage.whole_input is an exception for one stage.
 */
typedef struct
{
    const char *name;
    IfmDtype dtype;
    int rank;
    const char *dims[2];
    int split_axis;
} IfmBoundary;

/** IfmStage: @inputs, @outputs: names of boundaries, NULL-terminated. */
typedef struct
{
    int number;       /* from 1 */
    const char *name; /* "GATHER" */
    const char *formula;
    const char *inputs[4], *outputs[3];
    /* the input that each partition of the graph needs whole, since any node may be the source of an edge; NULL: none */
    const char *whole_input;
    /* bytes of the inputs of this stage, features and index, as the published tables count them; NULL: not in the tables */
    gint64 (*table_bytes)(const IfmStageSizes *sizes);
} IfmStage;

/** IfmStagedModel: @stages: [n_stages]; @boundaries: [n_boundaries]. */
typedef struct
{
    const char *name; /* "graphsage" */
    const IfmStage *stages;
    gsize n_stages;
    const IfmBoundary *boundaries;
    gsize n_boundaries;
} IfmStagedModel;

/* --- options of models --------------------------------------------------------------------------------------------- */

/** IfmModelOptions: how a model is opened, wherever one is named. Zeros are the defaults. */
typedef struct
{
    gint64 batch;              /* inputs at once; 0: as the model is */
    const char *const *dims;   /* "N=8", "*=1" */
    const char *const *inputs; /* "image=a.npy", "rate=16000", "ids=0..1000": what inputs are fed; the others are seeded */
    const char *const *expected; /* "logits=b.npy": outputs that another program computed of these inputs */
    gboolean samples;            /* a file may have several samples for a model that takes one at once: the first is fed */
    gboolean allow_outside_data; /* external data may lie behind symbolic links that leave the model's folder */
} IfmModelOptions;
extern const IfmOption ifm_model_options[]; /* IfmModelOptions */

/* --- optimisers ---------------------------------------------------------------------------------------------------- */

typedef enum
{
    IFM_OPTIMISER_SGD,      /* w -= lr g */
    IFM_OPTIMISER_MOMENTUM, /* v = momentum v + g, w -= lr v, as in PyTorch */
    IFM_OPTIMISER_ADAM,     /* Kingma and Ba 2015, bias-corrected, as in PyTorch */
} IfmOptimiser;

IFM_END_DECLS
