/* Shared with other rooms: the kernels of a profiled model, their work, roofline and parts. */
#pragma once
#include <jansson.h>

#include <inferometer/kernels.h>
#include <measure/kinds.h>
#include <onnx/fused-kernel.h>
#include <store/store.h>

G_BEGIN_DECLS

/* --- work ---------------------------------------------------------------------------------------------------------- */

/** IfmWork: what a model has to do. @macs: NaN where not all nodes that may multiply and add could be counted; @flop: where
 * not all nodes could be. */
typedef struct
{
    double macs, flop;
} IfmWork;

/** ifm_work_of: @analysis: NULL: nothing is known */
void ifm_work_of(const IfmAnalysis *analysis, IfmWork *work);

/* --- the roofline -------------------------------------------------------------------------------------------------- */

/** IfmRoofline: the peaks of a device, as they were measured. Source: Williams, Waterman, Patterson, Roofline, 2009 */
typedef struct
{
    double flop_per_s;  /* of a large matrix product, same threads and dtype */
    double bytes_per_s; /* of a triad that no cache holds, counted as read + written */
    struct
    {
        double bytes, bytes_per_s;
    } caches[IFM_PEAK_MAX_CACHES]; /* of the same triad in what a cache holds, from the innermost */
    gsize n_caches;                /* 0: not known */
} IfmRoofline;

/** ifm_roofline_of: the peaks that ifm_kind_peak measured. @peak: NULL: they were not measured
 * Returns: FALSE where they are not both known (and NaN where not). */
gboolean ifm_roofline_of(const IfmMeasurement *peak, IfmRoofline *roofline);

/** IfmRoofBound: which of the two peaks a piece of work meets first. */
typedef enum
{
    IFM_BOUND_COMPUTE,
    IFM_BOUND_MEMORY,
    IFM_BOUND_NEITHER, /* no work is known of it */
} IfmRoofBound;

/**
 * IfmRoofPlace: one piece of work under the roofline.
 * Equals: min_ns = max(flop / flop_per_s, bytes / bytes_per_s), attained = min_ns / measured_ns. bytes_per_s: of the
 * innermost cache that holds the bytes, else of memory. Above 1 where a nearer cache holds part of what the bytes count, or
 * the algorithm does with fewer FLOP (Winograd): said, not cut off.
 */
typedef struct
{
    IfmRoofBound bound;
    double intensity; /* FLOP a byte; NaN without bytes */
    double min_ns;
    double attained;  /* NaN where nothing was measured */
    double excess_ns; /* measured - least, 0 or more: what could be gained there */
} IfmRoofPlace;

/* --- kernels ------------------------------------------------------------------------------------------------------- */

/** IfmKernel: one unit that the runtime ran, and the layers in it. From a cost that is an upper bound (cost.is_upper_bound)
 * nothing follows: its place is not known. */
typedef struct
{
    const IfmNodeRow *node; /* borrowed */
    double share_ratio;     /* of the times of all kernels */
    gboolean known;         /* whose work it does is known: */
    IfmNodeFamily family;   /* that of the costliest part of it */
    IfmNodeCost cost;       /* several layers' bytes are those that cross the kernel's boundary */
    GArray *layers;         /* gsize, indices of the model's nodes in it; NULL where none is known */
    char *members;          /* those in words, "conv1, bn1, relu1"; or NULL */
    char *label;            /* its costliest layer, where the runtime's name is none of the model's; or NULL */
    const char *makes;      /* the tensor it makes, by the runtime's graph; or NULL; borrowed */
    gboolean marshalling;   /* it moves or converts data for the runtime's sake */
    gboolean unresolved;    /* its time is no longer than what it may be off by: neither a rate nor a share of the peak */
    IfmRoofPlace place;     /* NaN without a roofline */
} IfmKernel;

/** IfmKernels: those of a measurement's profiled runs. */
typedef struct
{
    GPtrArray *rows; /* IfmKernel*, the slowest first */
    const char
        *reported_by; /* "the graph as the runtime optimised it", "the parts that the runtime names", "the nodes' names" */
    gsize n_by_names; /* kernels known by names, not by the graph */
    const char *why_names; /* why a runtime that reports its graph did not; NULL; borrowed */
    double nodes_ns;       /* sum over kernels */
    gsize n_unknown;       /* kernels whose work is not known, of which … */
    gsize n_marshalling;   /* … so many move data for the runtime's sake */
    gsize n_upper_bounds;  /* kernels whose work is an upper bound */
    gsize n_unresolved;    /* kernels with work whose time is no longer than the runtime's clock resolves */
    double unknown_ratio;  /* of the kernels' time */
    gsize n_model_missing; /* layers with work to do that were found in no kernel, … */
    double missing_ratio;  /* … and their share of the model's FLOPs */
    double min_ns;         /* sum of place.min_ns; NaN without a roofline or where any kernel with work lacks it */
} IfmKernels;

/**
 * ifm_kernels_new: Gives each kernel of the profiled runs the work of the layers in it. By "costs" of
 * measurement->breakdown where the runtime's own graph could be read; where names do not show it, a kernel takes the
 * layers of the names of its parts (the breakdown's "parts"), or of its own name (whatever suffix the runtime put behind
 * it), and layers that no kernel is named for go to the kernel they hang on: heavy ones to what they run into, light ones
 * to what they come from. A kernel that no layer goes to is not known.
 * @model, @analysis: NULL where nothing is known of the model    @roofline: NULL where no peak is known
 * Returns: (transfer full) borrows from @measurement
 */
IfmKernels *ifm_kernels_new(const IfmMeasurement *measurement, IfmModel *model, const IfmAnalysis *analysis,
                            const IfmRoofline *roofline);
void ifm_kernels_free(IfmKernels *kernels);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmKernels, ifm_kernels_free)

/** IfmKernelFamily: kernels of one kind together; what is not known is a family of its own. */
typedef struct
{
    const char *name; /* "convolution", "the runtime's copies", "not known" */
    gsize n;
    double time_ns, share_ratio, flop;
    double min_ns, attained, excess_ns; /* NaN without a roofline, or where a kernel's least is not known */
} IfmKernelFamily;

/** ifm_kernel_family_words: (transfer none) a family's name on a page, where the published one is "product", "movement" or
 * "the runtime's copies": "matmul", "layout", "data movement". */
const char *ifm_kernel_family_words(const char *name);

/** ifm_kernels_families: (transfer full) IfmKernelFamily, the longest time first. */
GArray *ifm_kernels_families(const IfmKernels *kernels);

/** ifm_kernels_furthest: the kernel with most time above its peak. Returns: (transfer none) NULL where no kernel's place is
 * known. */
const IfmKernel *ifm_kernels_furthest(const IfmKernels *kernels);

/* --- parts of graph transformers ----------------------------------------------------------------------------------- */

/** IfmModelPart: one part of a graph transformer: "attention", "ffn", … and, of what no part's
 * name is known, "not known".
 * @time_ns, @time_ratio: by its kernels, the share of all their times; NaN without such times */
typedef struct
{
    const char *name;
    gsize n_nodes;
    gint64 macs, flop;
    double flop_ratio, time_ns, time_ratio;
} IfmModelPart;
#define IFM_N_MODEL_PARTS 6 /* the first so many are of any such model, those behind them of a training step alone */

/** ifm_model_parts: @kernels: of this model; NULL: no times    Returns: (transfer full) IfmModelPart, all parts in the
 * model's order, also those without nodes and time. */
GArray *ifm_model_parts(IfmModel *model, const IfmAnalysis *analysis, const IfmKernels *kernels);

/* --- times of passes ----------------------------------------------------------------------------------------------- */

/** IfmTiming: how long a pass takes; NaN: not known. */
typedef struct
{
    double mean_ns, std_ns, median_ns;
    IfmInterval interval; /* of the median */
} IfmTiming;

/** ifm_timing_of: @measurement: NULL, or one that is not OK: all NaN */
void ifm_timing_of(const IfmMeasurement *measurement, IfmTiming *timing);

/**
 * IfmPassDifference: a pass that is never run by itself: backward (the training pass less forward), the update of an
 * optimiser (the step less the training pass).
 */
typedef struct
{
    IfmTiming timing;
    gboolean holds_zero; /* the interval does: these runs do not distinguish it from 0 */
    gsize n_rounds;      /* of processes that took turns, whose medians' difference it is; 0: the two were measured each by
                            itself */
} IfmPassDifference;

/** ifm_pass_difference: of two passes that were measured each by itself.
 * Equals: @whole - @part, of means and of medians; the interval by ifm_difference_interval(), the standard deviation that
 * of one run less another
 * @part, @whole: NULL, or not OK: not measured */
void ifm_pass_difference(const IfmMeasurement *part, const IfmMeasurement *whole, IfmPassDifference *difference);

/* --- figures of kernels -------------------------------------------------------------------------------------------- */

/* What profile and report need of kernels, and no user of the library does. */

/** ifm_cost_is_exact: whether a rate may follow from a cost: it is known, and no upper bound. */
static inline gboolean ifm_cost_is_exact(const IfmNodeCost *cost)
{
    return cost->covered && !cost->is_upper_bound;
}

/** ifm_layer_name: what a node of a model is called; a nameless one by what it makes. Borrowed from @node. */
const char *ifm_layer_name(const IfmNode *node);

/** ifm_attention_alive_bytes: the most that attention's nodes have made and that is still to be read, by the shapes.
 * Returns: bytes; -1 where a shape is not known. */
gint64 ifm_attention_alive_bytes(const IfmModel *model, const IfmAnalysis *analysis);

/** ifm_timing_is_below: whether @whole took less time than @part, as surely as their intervals say, where they have any:
 * where one pass holds the other, the machine changed between the two measurements. */
gboolean ifm_timing_is_below(const IfmTiming *whole, const IfmTiming *part);

/* --- fused kernels ------------------------------------------------------------------------------------------------- */

/** ifm_kernel_records_check_graph: Whether an optimised graph has all weights of these kernels. Returns: FALSE with
 * IFM_ERROR_INVALID: it is of another model, or of other sizes. */
gboolean ifm_kernel_records_check_graph(const IfmKernelRecords *records, const IfmModel *graph, GError **error);

/** ifm_kernel_records_working_set: What a model holds while it runs: the weights of all its kernels, and of the kernel with
 * most of them the inputs and outputs. Returns: bytes, at least 1; -1 of a kernel that was extracted, whose model is not
 * known */
gint64 ifm_kernel_records_working_set(const IfmKernelRecords *records);
/** ifm_kernel_working_sets: (transfer full) digest of a kernel -> gint64*: the largest of those of the models that it is
 * in; -1 where none is known. The digests are borrowed from @records. */
GHashTable *ifm_kernel_working_sets(const IfmKernelRecords *const *records, gsize n);

/** ifm_kernel_records_words: (transfer full) Each folder of @words is replaced by the files in it that are models (.onnx)
 * and, with @records, those of records, by name. One without any, and what is no folder, stays. */
GStrv ifm_kernel_records_words(const char *const *words, gboolean records);

/** ifm_kernel_records_stand_alone: whether a word is a file of records, whose model need not be there. */
gboolean ifm_kernel_records_stand_alone(const char *word);

/** ifm_kernel_records_failed: (transfer full) records of what could not be opened: its word and the reason. */
IfmKernelRecords *ifm_kernel_records_failed(const char *word, const GError *why);

/** ifm_kernel_records_open_each: Those of several models, one after the other. What cannot be opened has its reason, and
 * the others are opened all the same. @words: as of ifm_kernel_records_open(); of
 * ifm_kernel_records_words() where there may be folders
 * Returns: (transfer full) IfmKernelRecords*, in that order; NULL with IFM_ERROR_CANCELLED, or with IFM_ERROR_USAGE for
 * sizes that are none. */
GPtrArray *ifm_kernel_records_open_each(const char *const *words, const IfmKernelOptions *options, GError **error);

/** ifm_kernel_records_command: (transfer full) A command for their model with the sizes that it had; NULL where the model
 * is not there. @verb: "kernels extract"; then the words behind the model, and NULL */
char *ifm_kernel_records_command(const IfmKernelRecords *records, const char *verb, ...) G_GNUC_NULL_TERMINATED;

IfmKernelRecords *ifm_kernel_records_from_json(const json_t *json, const char *where, GError **error);

/** ifm_kernel_records_read: a file. ifm_kernel_records_write: atomically. */
IfmKernelRecords *ifm_kernel_records_read(const char *path, GError **error);

/* --- samples of kernels -------------------------------------------------------------------------------------------- */

/* Kernels around those of models, to measure and learn from. */

/**
 * ifm_kernel_vary: A kernel of other sizes: each factor is drawn from 0.4 to 2.2, evenly by its logarithm. Equal sizes stay
 * equal, groups follow channels, blocked channels stay in blocks; attributes and small dimensions stay.
 * Returns: (transfer full) NULL where there is none: the kernel computes on integers, only moves data, or the sizes drawn
 * do not fit together or are too large.
 */
IfmKernelRecord *ifm_kernel_vary(const IfmKernelRecord *record, guint32 seed);

/** IfmKernelFeatures: the shape of a kernel in numbers; 0: it has no such thing. @batch: of other ranks than 4 all but the
 * last dimension    @m, @k, @n: of the matrix product that it is, or comes to
 * @inputs: tensors that are no weights    @axis: the last one of those that it works along, from the end: 1: the last
 * @order: of a transposition, "0231" as 1342    @reduced: numbers that become one    @run: numbers that lie together and go
 * the same way: of a transposition the end that stays, of a concatenation what the first input gives at a time, of a
 * reduction what is behind the axes    @layout: 0 plain, 1 channels in blocks, 2 channels last    @domain: 1: of the
 * runtime's own operators */
typedef struct
{
    double batch, channels, height, width, outputs, kernel_size, stride, groups, dilation, m, k, n;
    double inputs, axis, order, reduced, run, layout, domain;
} IfmKernelFeatures;
void ifm_kernel_features(const IfmKernelRecord *record, IfmKernelFeatures *features);

G_END_DECLS
