/* Shared with other rooms: one fused kernel: its nodes, ports and shapes. */
#pragma once
#include <jansson.h>

#include <onnx/onnx.h>

G_BEGIN_DECLS

/* --- kernel record ------------------------------------------------------------------------------------------------- */

/* One kernel of a graph that a runtime optimised, as data, and models that are made of it alone. */

/** IfmKernelCoverage: how it is known which nodes of the model a kernel covers. */
typedef enum
{
    IFM_COVERAGE_EXACT,
    IFM_COVERAGE_INSERTED,  /* by the runtime: it moves or converts data, and covers no node */
    IFM_COVERAGE_GROUP,     /* several kernels cover these nodes together, such as one and its Reshape */
    IFM_COVERAGE_AMBIGUOUS, /* the graph leaves open which nodes these are: @covers is what is likely */
} IfmKernelCoverage;

/** ifm_kernel_coverage_words: "exact", "inserted", "group", "ambiguous", NULL-terminated, in the order of the enumeration.
 */
const char *const *ifm_kernel_coverage_words(void);

/** IfmKernelTensor: an input or output of a kernel. @name: "" of an input that is left out, without @dtype and @dims
 * @constant: a weight, or computed from weights alone    @dims: gint64    @values: gint64, those of a small constant of
 * integers, such as axes; else empty    @number: that of a constant of one float; else NaN */
typedef struct
{
    char *name, *dtype;
    gboolean constant;
    GArray *dims, *values;
    double number;
} IfmKernelTensor;

/**
 * IfmKernelRecord: one node of the optimised graph.
 * @name: what executes: the operator without "Fused", domain or layout, then "_Add" for a sum that is fused in, then the
 * activation: "Conv_Add_Relu"    @node, @op_type, @domain: as the runtime has them    @digest: hex, equal for kernels that
 * compute the same on the same shapes    @attributes: object, as ifm_node_attributes()
 * @flop: NaN where no rule counts it    @input_bytes, @weight_bytes, @output_bytes: each tensor once; of an input that an
 * index picks rows from, the rows    @covers: names of the model's nodes, or "OP_TYPE #INDEX" of a nameless one
 * @depends: indices of the kernels whose outputs it reads
 */
typedef struct IfmKernelRecord
{
    char *name, *node, *op_type, *domain, *digest;
    json_t *attributes;
    GPtrArray *inputs, *outputs; /* IfmKernelTensor* */
    double flop;
    gint64 opset; /* of the default domain */
    gint64 input_bytes, weight_bytes, output_bytes;
    int coverage; /* IfmKernelCoverage */
    GPtrArray *covers;
    GArray *depends; /* gint64 */
} IfmKernelRecord;

/** ifm_kernel_record_to_json: (transfer full)    ifm_kernel_record_from_json: (transfer full) NULL with IFM_ERROR_INVALID
 * and the place. @where: of @json, for messages    ifm_kernel_record_copy: (transfer full) */
json_t *ifm_kernel_record_to_json(const IfmKernelRecord *record);
IfmKernelRecord *ifm_kernel_record_from_json(const json_t *json, const char *where, GError **error);
IfmKernelRecord *ifm_kernel_record_copy(const IfmKernelRecord *record);
void ifm_kernel_record_free(IfmKernelRecord *record);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmKernelRecord, ifm_kernel_record_free)

/** ifm_kernel_record_moves: whether it only gives data another shape: Reshape, Flatten, Squeeze, Unsqueeze, Identity. In a
 * model it costs no more than any node does; alone it copies. */
gboolean ifm_kernel_record_moves(const IfmKernelRecord *record);

/** ifm_kernel_record_stem: (transfer full) "Conv_Add_Relu_1x64x56x56-1a2b3c4d": its name, the shape of its first input and
 * the first digits of its digest. */
char *ifm_kernel_record_stem(const IfmKernelRecord *record);

/* --- kernels as models --------------------------------------------------------------------------------------------- */

/** A ring: copies of a kernel, each with weights and outputs of its own, which a run visits in turn. They have their inputs
 * in common, as in a model a kernel's inputs are what was written last.
 * IFM_KERNEL_RING_MOST_BYTES: what more than two hold together at most. IFM_KERNEL_MAX_COPIES: of a small kernel.
 * IFM_KERNEL_RING_FLOP: a ring that does more work than this holds at most IFM_KERNEL_RING_BYTES, more than a processor's
 * second-level cache. IFM_KERNEL_RING_HOT_CACHES: of a kernel of less than so many times the last-level cache a part stays
 * there from one run to the next: replacement is not strictly of the oldest. IFM_KERNEL_RING_TWICE_BYTES: one above this is
 * there once all the same. */
#define IFM_KERNEL_RING_BYTES ((gint64)16 << 20)
#define IFM_KERNEL_RING_MOST_BYTES ((gint64)64 << 20)
#define IFM_KERNEL_MAX_COPIES 48
#define IFM_KERNEL_RING_FLOP 2e9
#define IFM_KERNEL_RING_HOT_CACHES 16
#define IFM_KERNEL_RING_TWICE_BYTES ((gint64)512 << 20)

/** ifm_kernel_ring_copies: how many copies make a ring that holds what the kernel's model does, so that a run meets weights
 * and tensors as cold as there; of more than two at most twice what the last-level cache does, within those bounds.
 * Equals: min(@working_set_bytes, clamp(2 @cache_bytes, 16 MiB, 64 MiB)) / ifm_kernel_bytes(), 1 to IFM_KERNEL_MAX_COPIES;
 * 2 at least of one that is below IFM_KERNEL_RING_HOT_CACHES times the cache, and not above IFM_KERNEL_RING_TWICE_BYTES,
 * where the model holds half as much beside it
 * @working_set_bytes: ifm_kernel_records_working_set()    @cache_bytes: 0: not known */
gsize ifm_kernel_ring_copies(const IfmKernelRecord *record, gint64 working_set_bytes, gint64 cache_bytes);
/** ifm_kernel_ring_bytes: of all copies together. */
gint64 ifm_kernel_ring_bytes(const IfmKernelRecord *record, gsize n_copies);
/** ifm_kernel_bytes: read and written by a run of it. */
gint64 ifm_kernel_bytes(const IfmKernelRecord *record);

/** Metadata of a kernel's model: its digest, its name, and how many copies a run visits. */
#define IFM_KERNEL_DIGEST_METADATA "inferometer.kernel"
#define IFM_KERNEL_NAME_METADATA "inferometer.kernel_name"
#define IFM_KERNEL_COPIES_METADATA "inferometer.copies"

/** ifm_kernel_stands_alone: Whether a model can hold the kernel alone, as far as its domain and shapes say. Returns: FALSE
 * with IFM_ERROR_UNSUPPORTED. */
gboolean ifm_kernel_stands_alone(const IfmKernelRecord *record, GError **error);

/**
 * ifm_kernel_extract: A model of a kernel alone: @n_copies nodes, each with weights, inputs and outputs of its own, named
 * i<input>_<copy> and o<output>_<copy>. To be run with optimisation off, as it is the outcome of an optimisation.
 * @graph: (nullable) the optimised graph with its weights, which are kept; NULL: they are drawn from @seed
 * Returns: (transfer full) NULL with IFM_ERROR_UNSUPPORTED where a shape is not known or no model can hold the kernel
 * (OpenVINO's), IFM_ERROR_INVALID where the record lacks the value of an attribute or constant, as of a tensor attribute.
 */
IfmModel *ifm_kernel_extract(const IfmKernelRecord *record, const IfmModel *graph, gsize n_copies, guint32 seed,
                             GError **error);

/* (transfer full) empty */
IfmKernelRecord *ifm_kernel_record_new(void);
IfmKernelTensor *ifm_kernel_tensor_new(void);

/** ifm_kernel_record_fields: of IfmKernelRecord, for files that list several. */
extern const IfmRecordField ifm_kernel_record_fields[];

/** ifm_kernel_record_check: What the fields alone do not say. @where: for messages */
gboolean ifm_kernel_record_check(const IfmKernelRecord *record, const char *where, GError **error);

/** ifm_kernel_analyse: (transfer full) shapes and cost of a kernel by its inputs and attributes: node 0, outputs
 * o<output>_0, whatever the record says of those. @model: (out) (transfer full) what it borrows from */
IfmAnalysis *ifm_kernel_analyse(const IfmKernelRecord *record, IfmModel **model, GError **error);

/** ifm_kernel_record_digest: (transfer full)    ifm_kernel_record_complete: its bytes and its digest, by its other fields
 */
char *ifm_kernel_record_digest(const IfmKernelRecord *record);
void ifm_kernel_record_complete(IfmKernelRecord *record);

G_END_DECLS
