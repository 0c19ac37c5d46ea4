/* Shared with other rooms: what a study comes to: states, counts, fits, the fastest. */
#pragma once
#include <jansson.h>

#include <convolution/convolution.h>
#include <study/study.h>

G_BEGIN_DECLS

/* --- conv findings ------------------------------------------------------------------------------------------------- */

/* What follows from the points of a study of kind `conv-algorithms`. Times are ns, NaN where there are none. */

/** IfmConvPoint: a point and the convolutions that ran in it. */
typedef struct
{
    const IfmStudyRow *point; /* borrowed */
    const char *model, *algorithm;
    gint64 input_size;
    GPtrArray *layers;  /* IfmConvLayer*, in the order of the graph; NULL where none was recorded */
    GArray *times_ns;   /* double: of each layer, the median of the profiled runs */
    GArray *means_ns;   /* double: their mean */
    double energy_j;    /* of an inference, gross; NaN: not measured */
    double layers_ns;   /* of all of them */
    double nodes_ns;    /* of everything the runtime ran */
    double profiled_ns; /* wall time of a profiled run, the median */
    gsize n_fell_back;
    gint64 workspace_bytes; /* the most of one layer */
} IfmConvPoint;

/** IfmConvTime: the median of a shape's layers by an algorithm. */
typedef struct
{
    const char *algorithm;
    double time_ns;
} IfmConvTime;

/** IfmConvShapeRow: layers of one shape on a device: the algorithm that was the fastest, and the next one. */
typedef struct
{
    const IfmStudyDevice *device;
    const IfmConvLayer *layer; /* one of the shape; borrowed */
    const char *fastest, *implementation, *second;
    double time_ns, second_ns, runtime_ns; /* runtime_ns: of the runtime's own kernel */
    GArray *times;                         /* IfmConvTime, of each algorithm */
    gboolean overlaps;                     /* the times of several such layers by the two overlap */
} IfmConvShapeRow;

/** IfmConvSizeRow: a model at a size on a device: its fastest algorithm, and what that gains over the runtime's own
 * kernels.
 * @is_apart: whether the intervals of the fastest and the second do not overlap    @has_intervals: both have one
 * @gains, @best_gains: whether that of the fastest, of the best for each layer, is below that of the runtime's own
 * @cheapest: by energy; NULL: not measured */
typedef struct
{
    const IfmStudyDevice *device;
    const char *model, *fastest, *second, *cheapest, *second_cheapest;
    gint64 input_size;
    double time_ns, second_ns, runtime_ns, best_ns, energy_j, second_j;
    gboolean is_apart, has_intervals, gains, best_gains;
} IfmConvSizeRow;

/** IfmConvCombination: a model with an algorithm on a device. @points: IfmConvPoint*, in the order of the study */
typedef struct
{
    const IfmStudyDevice *device;
    const char *model, *algorithm;
    GPtrArray *points;
} IfmConvCombination;

typedef struct
{
    GPtrArray *points;    /* IfmConvPoint*, one for each of the study's */
    GArray *combinations; /* IfmConvCombination, of points that name a model and an algorithm, in the order of the study */
    GArray *shapes;       /* IfmConvShapeRow, the most work first */
    GArray *sizes;        /* IfmConvSizeRow, by device, model and size */
    GPtrArray *same;      /* char*: labels that ran by the same code, a line for each two of a model */
} IfmConvFindings;

/** ifm_conv_findings: @points: borrowed. (transfer full) */
IfmConvFindings *ifm_conv_findings(const IfmStudyTables *points);
void ifm_conv_findings_free(IfmConvFindings *findings);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmConvFindings, ifm_conv_findings_free)

/* ifm_conv_predict_check: that it is of that kind. FALSE with IFM_ERROR_INVALID.    ifm_conv_predictions_sort: by device,
 * the fastest first. Returns: @predictions (conv-predict.c) */
gboolean ifm_conv_predict_check(const IfmStudyTables *points, GError **error);
GArray *ifm_conv_predictions_sort(GArray *predictions);

/* --- networks that were not measured ------------------------------------------------------------------------------- */

/** IfmConvSetting: what layer times are learnt for: a device with so many threads. */
typedef struct
{
    const IfmStudyDevice *device;
    gint64 threads;
} IfmConvSetting;

/** ifm_conv_settings: (transfer full) IfmConvSetting, each once, of the points with layer times, in their order. */
GArray *ifm_conv_settings(const IfmConvFindings *findings);

/** IfmConvLearned: layer times by algorithm, learnt from the shapes of the layers that a study measured in one setting, and
 * what a network takes beside its convolutions. */
typedef struct IfmConvLearned IfmConvLearned;

/** ifm_conv_learn: @without: (nullable) a model that is left out
 * Returns: (transfer full) NULL with IFM_ERROR_INVALID: no layer was measured */
IfmConvLearned *ifm_conv_learn(const IfmConvFindings *findings, const IfmConvSetting *setting, const char *without,
                               GError **error);
void ifm_conv_learned_free(IfmConvLearned *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmConvLearned, ifm_conv_learned_free)

/** ifm_conv_weights_bytes: of the convolutions of a network. @layers: IfmConvLayer* */
double ifm_conv_weights_bytes(const GPtrArray *layers);

/** ifm_conv_learned_layer: ns of a layer by a fixed algorithm or "runtime". @weights_bytes: of its network
 * Returns: NaN where no layer of such a kernel, stride and grouping was measured by it */
double ifm_conv_learned_layer(const IfmConvLearned *self, const IfmConvLayer *layer, double weights_bytes,
                              const char *algorithm);

/** ifm_conv_learned_errors: (transfer full) double: |predicted / measured - 1| of each point of the setting, each network
 * predicted from the others. Fewer than IFM_CONV_LEAST_NETWORKS have none. */
#define IFM_CONV_LEAST_NETWORKS 3
GArray *ifm_conv_learned_errors(const IfmConvFindings *findings, const IfmConvSetting *setting);

/* --- what became of cases ------------------------------------------------------------------------------------------ */

/* IfmRowState: what became of a row. */
typedef enum
{
    IFM_ROW_MEASURED,
    IFM_ROW_FAILED,
    IFM_ROW_SKIPPED,     /* its device is unavailable, or was lost before */
    IFM_ROW_REFUSED,     /* its algorithm cannot do a layer, and has no fallback: it counts as done */
    IFM_ROW_LEFT,        /* not tried yet */
    IFM_ROW_IMPLAUSIBLE, /* measured, but others contradict it: it is no latency, and no failure */
    IFM_ROW_STATES,
} IfmRowState;

/* ifm_study_row_state: of a stage, a range or a point. @tables: NULL: of a study that was not imported */
IfmRowState ifm_study_row_state(const IfmStudyTables *tables, const IfmStudyRow *row);

/* ifm_row_state_name: "measured", "failed", "skipped", "refused", "left", "implausible". */
const char *ifm_row_state_name(IfmRowState state);
/* ifm_row_state_words: the same as pages have it: "unsupported" where it is refused, "pending" where it is left. */
const char *ifm_row_state_words(IfmRowState state);

/* ifm_stage_row_listed: whether exports have a row for it: it was tried, or given up for its device. What an absent device
 * would have measured is stated once, with the device. */
gboolean ifm_stage_row_listed(const IfmStudyTables *tables, const IfmStudyRow *row);

/* ifm_stage_row_reason: its reason without the device's name before it. */
const char *ifm_stage_row_reason(const IfmStudyRow *row);

/* ifm_stage_row_count: ranges, too. @counts: (out) by state    @device: NULL for all    @phase: 0 for all */
void ifm_study_row_count(const IfmStudyTables *tables, const IfmStudyDevice *device, int phase,
                         gsize counts[IFM_ROW_STATES]);

/* ifm_link_count: @counts: (inout) to which the cases of a link are added by state */
void ifm_link_count(const IfmLinkFit *link, gsize counts[IFM_ROW_STATES]);

/* ifm_study_count: rows and links, absent devices' apart. @n_absent: (out) cases that cannot be measured here
 * Returns: how many cases there are, absent devices' aside */
gsize ifm_study_count(const IfmStudyTables *tables, int phase, gsize counts[IFM_ROW_STATES], gsize *n_absent);

/* ifm_study_has_latency: whether that device has any. */
gboolean ifm_study_has_latency(const IfmStudyTables *tables, const IfmStudyDevice *device);
/* ifm_study_has_stage: whether the study measures that stage at all. */
gboolean ifm_study_has_stage(const IfmStudyTables *tables, int stage);

/* --- how well latencies are known ---------------------------------------------------------------------------------- */

typedef enum
{
    IFM_PRECISION_REACHED,
    IFM_PRECISION_MISSED,  /* known less well than was aimed at */
    IFM_PRECISION_UNKNOWN, /* too few independent runs for an interval */
} IfmPrecision;

/* ifm_study_target: the half-width of an interval over its median that measuring aimed at. */
double ifm_study_target(const IfmStudyTables *tables);

/* ifm_stage_row_width: that half-width of a row; NaN where it has no interval. */
double ifm_stage_row_width(const IfmStudyRow *row);

/* IfmPrecisionCount: of @n latencies. @widest: half-width of those that missed the target */
typedef struct
{
    gsize n, n_missed, n_unknown;
    double widest;
} IfmPrecisionCount;

/* ifm_study_precision: @device: of one device's @stage; NULL: of all latencies, ranges', too. */
IfmPrecisionCount ifm_study_precision(const IfmStudyTables *tables, const IfmStudyDevice *device, int stage);

/* --- which device is the fastest ----------------------------------------------------------------------------------- */

/* IfmDeviceLatency: a stage on a device; NaN where there is none. */
typedef struct
{
    double ns;
    IfmInterval interval;
    IfmPrecision precision;
} IfmDeviceLatency;

/* IfmStageLatencies: a stage on every device at one size. @best, @next: devices with the smallest medians; G_MAXUINT where
 * not so many have one. @known: all have an interval. @decided: and the best's is below all others. */
typedef struct
{
    int stage; /* 0: the sum of all stages, without moves between devices; its interval is the sum of theirs */
    guint n_devices, best, next;
    gboolean known, decided;
    IfmDeviceLatency *devices; /* [n_devices] */
} IfmStageLatencies;

/* IfmSizeLatencies: @at: a row of the size. @stages: IfmStageLatencies*, the sum as the last where there are several.
 * @measured: whether any of them could have an interval: not where all were read in */
typedef struct
{
    const IfmStudyRow *at;
    GPtrArray *stages;
    gboolean measured;
} IfmSizeLatencies;

/* ifm_study_latencies: (transfer full) IfmSizeLatencies* of each size, in the order of its first row. ifm_latencies_at:
 * (transfer none) that of the size of @at; NULL where there is none. */
GPtrArray *ifm_study_latencies(const IfmStudyTables *tables);
const IfmSizeLatencies *ifm_latencies_at(const GPtrArray *latencies, const IfmStudyRow *at);

/* ifm_latencies_may_be_fastest: for all that is known. */
gboolean ifm_latencies_may_be_fastest(const IfmStageLatencies *latencies, guint device);

/* ifm_study_outermost: (transfer none) the first row of the smallest (@sign -1) or largest (1) size that has a latency;
 * NULL where none has. */
const IfmStudyRow *ifm_study_outermost(const IfmStudyTables *tables, int sign);

/* --- under background load ----------------------------------------------------------------------------------------- */

/* IfmSlowDown: a range on a device while others work, against itself alone. @ratio: of the medians; @lower, @upper: the
 * two were measured one after the other and scatter for themselves: their relative half-widths add up as squares. NaN */
typedef struct
{
    const IfmStudyRow *alone, *loaded; /* alone: NULL where no slow-down is known */
    double ratio, lower, upper;
} IfmSlowDown;
IfmSlowDown ifm_stage_row_slow_down(const IfmStudyTables *tables, const IfmStudyRow *row);

/* ifm_study_slow_downs: (transfer full) IfmSlowDown, the largest first. */
GArray *ifm_study_slow_downs(const IfmStudyTables *tables);

/* --- compute ------------------------------------------------------------------------------------------------------- */

/* IfmComputeTimes: compute times of the rows that a fit splits. @share_ratio: of the totals of the same rows. NaN */
typedef struct
{
    gsize n;
    double mean_ns, min_ns, max_ns, share_ratio;
} IfmComputeTimes;
IfmComputeTimes ifm_stage_fit_compute(const IfmStudyTables *tables, const IfmStageFit *fit);

G_END_DECLS
