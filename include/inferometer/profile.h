#pragma once
#include <inferometer/report.h>
#include <inferometer/transformer.h>

G_BEGIN_DECLS

/* What `inferometer profile` found out about one model, and how that is told: page, JSON, CSV. docs/profiling.md says what
 * the figures mean. */

/** IfmProfileParts: what is to be told. */
typedef enum
{
    IFM_PROFILE_RUNTIME = 1 << 0, /* how long an inference takes */
    IFM_PROFILE_MEMORY = 1 << 1,
    IFM_PROFILE_FLOPS = 1 << 2,  /* the model's own work */
    IFM_PROFILE_LAYERS = 1 << 3, /* where the time goes, and how far from the machine's limit */
    IFM_PROFILE_ALL = (1 << 4) - 1,
    IFM_PROFILE_SCALING = 1 << 4, /* how it grows: a row of models, not one */
    IFM_PROFILE_PE = 1 << 5,      /* what positional encodings cost: time and storage, apart from the model */
} IfmProfileParts;
/** ifm_profile_part_words: "runtime", "memory", "flops", "layers", "scaling", "pe", NULL-terminated, in the order of the
 * bits. */
const char *const *ifm_profile_part_words(void);

/* --- layers: what a runtime ran, and whose work that was ------------------------------------------------------------ */

/** IfmLayer: one node as the runtime ran it. @cost, @place: of what is not known NaN, 0 or uncovered: never a guess. From
 * a cost that is an upper bound (cost.at_most) nothing follows: its place is not known. */
typedef struct
{
    const IfmNodeRow *node; /* borrowed */
    double share_ratio;     /* of the times of all nodes */
    gboolean known;         /* whose work it does is known: */
    IfmNodeFamily family;   /* that of the costliest part of it */
    IfmNodeCost cost;       /* a fused node's bytes are those that cross its boundary */
    char *members;          /* the model's nodes in it, "conv1, bn1, relu1"; NULL where the runtime's graph told the cost */
    char *label;            /* what it is called on the page, where the runtime's name is none of the model's; or NULL */
    const char *makes;      /* the tensor it makes, where the runtime's graph told it; or NULL; borrowed */
    gboolean marshalling;   /* it moves or converts data for the runtime's sake */
    IfmRoofPlace place;     /* NaN without a limit */
} IfmLayer;

/** IfmLayers: the nodes of a measurement's profiled runs. */
typedef struct
{
    GPtrArray *rows; /* IfmLayer*, the slowest first */
    const char
        *told_by;     /* "the graph as the runtime optimised it", "the parts that the runtime names", "the nodes' names" */
    gsize n_by_names; /* rows that the graph did not tell, and the names did */
    const char *why_names; /* why the graph tells nothing, of a runtime that could; NULL; borrowed */
    double nodes_ns;       /* sum over rows */
    gsize n_unknown;       /* rows whose work is not known, of which … */
    gsize n_marshalling;   /* … so many move data for the runtime's sake */
    gsize n_at_most;       /* rows whose work is an upper bound */
    double unknown_ratio;  /* of the nodes' time */
    gsize n_model_missing; /* nodes of the model with work to do that were found in no row, … */
    double missing_ratio;  /* … and their share of the model's FLOPs */
    double least_ns;       /* sum of place.least_ns; NaN without a limit or where any row with work lacks it */
} IfmLayers;

/**
 * ifm_layers_new: Gives each node of the profiled runs the work of the model's nodes in it. By measurement->books' "costs"
 * where the runtime's own graph could be read; what that does not tell by names: a row takes the nodes of the names of its
 * parts (books' "parts"), or of its own (whatever suffix the runtime put behind it), and nodes that no row is named for go
 * to the row they hang on: heavy ones to what they run into, light ones to what they come from. Rows that none goes to are
 * not known.
 * @model, @analysis: NULL where nothing is known of the model    @roofline: NULL where no limit is known
 * Returns: (transfer full) borrows from @measurement
 */
IfmLayers *ifm_layers_new(const IfmMeasurement *measurement, IfmModel *model, const IfmAnalysis *analysis,
                          const IfmRoofline *roofline);
void ifm_layers_free(IfmLayers *layers);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmLayers, ifm_layers_free)

/** IfmLayerFamily: layers of one kind together; what is not known is a family of its own. */
typedef struct
{
    const char *name; /* "convolution", "not known" */
    gsize n;
    double time_ns, share_ratio, flop;
    double least_ns, attained, excess_ns; /* NaN without a limit, or where a layer's least is not known */
} IfmLayerFamily;
/** ifm_layers_families: (transfer full) IfmLayerFamily, the longest time first. */
GArray *ifm_layers_families(const IfmLayers *layers);

extern const IfmField ifm_layer_fields[];        /* IfmLayer */
extern const IfmField ifm_layer_family_fields[]; /* IfmLayerFamily */

/* --- graph transformers --------------------------------------------------------------------------------------------- */

/**
 * IfmProfileGraph: what a graph transformer was built of. All borrowed. @title: "gps on peptides"
 * @encoding_name: "lap:16"; NULL: it has none. @encoding: NULL where nobody needed it. @encoding_case, @encoding_cost:
 * computing it, measured by itself; NULL where nobody did, and @no_encoding_cost where somebody tried
 */
typedef struct
{
    const char *title;
    const IfmTransformer *transformer;
    const IfmGraph *graph;
    const char *encoding_name;
    const IfmEncoding *encoding;
    const IfmCase *encoding_case;
    const IfmMeasurement *encoding_cost;
    const char *no_encoding_cost;
} IfmProfileGraph;

/** ifm_profile_attention_bytes: ifm_estimate_attention_bytes() of one layer: of several graphs that attend densely all of
 * them, each padded to the largest; along edges of the edges. */
gboolean ifm_profile_attention_bytes(const IfmTransformer *transformer, gboolean with_softmax, gint64 *bytes,
                                     GError **error);

/** IfmProfilePart: one part of a graph transformer: "attention", "ffn", … and, of what no part's name is known, "not
 * known".
 * @time_ns, @time_ratio: by the nodes that were timed, the share of all their times; NaN without such times */
typedef struct
{
    const char *name;
    gsize n_nodes;
    gint64 macs, flop;
    double flop_ratio, time_ns, time_ratio;
} IfmProfilePart;

/* --- a profile ------------------------------------------------------------------------------------------------------ */

/** IfmProfileDevice: what became of one device. All borrowed. The result stands first: what reads an IfmResult reads this.
 */
typedef struct
{
    IfmResult result;
    const IfmMeasurement *limit; /* of ifm_runner_measure_limit(); NULL where there is none: */
    const char *no_limit;        /* why; NULL where nobody asked */
    gboolean limit_stored;       /* the limit was measured earlier */
    const char *limit_doubt;     /* why it may be too low; NULL: nothing speaks for that */
    /* of a mode, with the pass asked for: the training pass's measurement as ifm_runner_compare() made it in turns with the
     * forward pass (A), with the comparison among its surroundings; NULL where there is none: */
    const IfmMeasurement *turns;
    const char *no_turns; /* why; NULL where nobody asked */
} IfmProfileDevice;

typedef struct IfmProfileStory IfmProfileStory;

/** IfmPassKind: the models of a training, each measured by itself. */
typedef enum
{
    IFM_PASS_FORWARD,
    IFM_PASS_TRAINING, /* forward and backward in one model */
    IFM_PASS_STEP,     /* … and the update */
    IFM_N_PASSES,
} IfmPassKind;
/** ifm_pass_key: "forward", "training_pass", "training_step". */
const char *ifm_pass_key(IfmPassKind kind);

/**
 * IfmProfileMode: what is told of more than the forward pass. Backward = training pass - forward: where both were measured
 * in turns, from their paired rounds; else from what each came to by itself, with that of
 * ifm_difference_interval(). All borrowed.
 * @asked: the pass whose layers, memory and limit are told: the story's own    @passes: NULL where the mode has no such one
 * @model, @analysis: the model that was given, of which the passes were made
 * @held_bytes: of inputs and activations, what is alive when the backward pass begins
 */
typedef struct
{
    IfmPassKind asked;
    const IfmProfileStory *passes[IFM_N_PASSES];
    IfmModel *model;
    const IfmAnalysis *analysis;
    const char *loss, *optimiser; /* no optimiser: no step */
    double learning_rate;
    const char *forward_words; /* what forward is, where the trained model does something else; or NULL */
    gint64 parameter_bytes, held_bytes, gradient_bytes, state_bytes;
} IfmProfileMode;

/** IfmProfileStory: all of it. All borrowed; what is not known is NULL. */
struct IfmProfileStory
{
    guint parts;        /* IfmProfileParts */
    const char *source; /* "zoo: resnet50", or the file */
    gint64 unix_ms;     /* when it was made */
    IfmModel *model;
    const IfmAnalysis *analysis;
    const IfmProfileGraph *graph; /* of a graph transformer; NULL: it is none */
    const IfmDimBinding *bindings;
    gsize n_bindings;
    const char *observed_on; /* the device whose run told shapes that no rule tells; NULL: none did … */
    const char *why_not_observed;
    const IfmProfileDevice *devices;
    gsize n_devices;
    gsize n_layers;             /* most to show of each device */
    const IfmProfileMode *mode; /* NULL: the forward pass alone */
};

/** ifm_profile_parts: (transfer full) IfmProfilePart, those that there are, the model's order. @device: whose times; NULL:
 * none. NULL where the model is no graph transformer. */
GArray *ifm_profile_parts(const IfmProfileStory *story, const IfmProfileDevice *device);

/** ifm_profile_to_screen: The model, its time on each device, its work, its memory, the machine's limit; for each device
 * the layers by share of time, what would gain most, families, books; reasons and warnings. (transfer full) */
char *ifm_profile_to_screen(const IfmProfileStory *story, const IfmScreen *screen);
/** ifm_profile_to_json: The published keys (of the first device that was measured) with the document of cases beside them,
 * each case with its layers, memory and limit: docs/formats.md. (transfer full) */
json_t *ifm_profile_to_json(const IfmProfileStory *story);
/** ifm_profile_to_csv: A row a device, or with a mode a row a device and pass; where layers alone are to be told, a row a
 * layer of each device; without devices, where the model's work or memory is to be told, a row a node. (transfer full) */
char *ifm_profile_to_csv(const IfmProfileStory *story);

G_END_DECLS
