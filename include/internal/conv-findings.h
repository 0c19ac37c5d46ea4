/* room: study */
#pragma once
#include <inferometer/convolution.h>
#include <inferometer/study.h>

G_BEGIN_DECLS

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
 * @cheapest: by energy; NULL: not measured */
typedef struct
{
    const IfmStudyDevice *device;
    const char *model, *fastest, *second, *cheapest, *second_cheapest;
    gint64 input_size;
    double time_ns, second_ns, runtime_ns, best_ns, energy_j, second_j;
    gboolean is_apart, has_intervals;
} IfmConvSizeRow;

typedef struct
{
    GPtrArray *points; /* IfmConvPoint*, one for each of the study's */
    GArray *shapes;    /* IfmConvShapeRow, the most work first */
    GArray *sizes;     /* IfmConvSizeRow, by device, model and size */
    GPtrArray *same;   /* char*: labels that ran by the same code, a line for each two of a model */
} IfmConvFindings;

/** ifm_conv_findings: @points: borrowed. (transfer full) */
IfmConvFindings *ifm_conv_findings(const IfmStudyTables *points);
void ifm_conv_findings_free(IfmConvFindings *findings);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmConvFindings, ifm_conv_findings_free)

G_END_DECLS
