/* room: predict */
#pragma once
#include <inferometer/predict.h>

IFM_BEGIN_DECLS

/*
 * How a model's time, memory and work grow with one thing about it: nodes of a graph, layers, width, a free dimension. A
 * scaling is a row of points, each a model of its own that is profiled as any other (`profile --profile scaling`); here is
 * what is varied by default, and what is read out of the points.
 */

/** IfmScalingPreset: one thing of a zoo's graph transformer to vary. @values: words, NULL-terminated, in order.
 * @settings: what else is set while it is varied, "NAME=VALUE", NULL-terminated; what a user sets goes before it. */
typedef struct
{
    const char *axis; /* "nodes", "layers", "pe", "hidden", "heads" */
    const char *help;
    const char *option; /* whose value it is: "num-nodes" */
    const char *const *values, *const *settings;
} IfmScalingPreset;

/** ifm_scaling_presets: nodes 100 500 1000 2000 5000 at average degree 5; layers 2 4 6 8 12 16 at 500 nodes; pe none,
 * lap:16 and rwse:16; hidden 32 64 128 256; heads 1 2 4 8. Returns: the table, its last row with a NULL axis. */
const IfmScalingPreset *ifm_scaling_presets(void);

/** IfmScalingPoint: one point on one device. What is not known is NaN (time, bytes) or -1 (flop). */
typedef struct
{
    const char *value;                      /* "1000", "lap:16"; borrowed */
    double x;                               /* the number; NaN of a word */
    double time_ns;                         /* the median */
    double mean_ns, std_ns, min_ns, max_ns; /* of the runs; NaN: not known */
    gsize n_rounds;                         /* time_ns is of so many processes in rounds with the other points; 0: of one */
    double least_ns, most_ns;               /* the least and the greatest median of these */
    gboolean disturbed;   /* they lie further apart than IFM_SCALING_DISTURBED: nothing is concluded from the time */
    IfmInterval interval; /* its */
    const char *reason;   /* why there is no time; NULL where there is one; borrowed */
    gboolean implausible; /* that is why: another point contradicts the time that was measured */
    const char *doubt; /* another point contradicts the time, and which of the two is wrong is not known; NULL; borrowed */
    gint64 flop;
    double bytes;           /* what the model's shapes need: parameters and the most activations alive at once */
    double process_bytes;   /* how far the process that ran it grew: NaN if it was not measured */
    double allocator_bytes; /* the most that the runtime's allocator held: NaN if it does not report it */
    double energy_j, energy_lower_j, energy_upper_j;           /* of an inference; NaN: not measured */
    const char *no_energy;                                     /* why it was asked for and there is none; NULL; borrowed */
    double attention_flop_ratio, attention_time_ratio;         /* shares; NaN where the model has no such part, as are: */
    double attention_estimated_bytes, attention_planned_bytes; /* what attention takes: by the closed form, by the shapes */
    double encoding_ns;                                        /* computing the positional encoding, once; NaN: none */
    double encoding_estimated_bytes, encoding_held_bytes;      /* its storage; NaN: none, or not held */
} IfmScalingPoint;

/** IFM_SCALING_DISTURBED: of the processes of a point, the greatest median over the least, above which something else than
 * the point was measured. */
#define IFM_SCALING_DISTURBED 1.25

/** IFM_SCALING_DEPARTS: time over what the FLOP predict, above which it is said to depart. */
#define IFM_SCALING_DEPARTS 1.25

/** IfmDeparture: whether a point's time departs from what its FLOP predict. Not known where its time, or no point's, has an
 * interval. */
typedef enum
{
    IFM_DEPARTURE_UNKNOWN = 0,
    IFM_DEPARTS_NOT,
    IFM_DEPARTS,
} IfmDeparture;

/**
 * IfmScaling: what the points of one device come to. @points: borrowed.
 * @n_bare: points with a time and no interval of it: of a run or two
 * @bare_fitted: whether the fit of the time has them in it, too, since fewer than 3 others have a time
 * @max_flop_per_s: the rate that the points attain: of those whose time has an interval the highest FLOP / its upper end,
 * which the point @max_at has; NaN where there is none
 * @departures: [n] time over what the FLOP take at that rate; NaN without a time
 * @departs: [n] whether that is above IFM_SCALING_DEPARTS with the whole interval of its time: something but the FLOP took
 * the time
 * @attention: of attention_planned_bytes
 */
typedef struct
{
    const IfmScalingPoint *points;
    gsize n;
    gboolean has_time, has_flop, has_bytes, has_attention; /* whether the fit stands; of the time else why below */
    IfmPowerFit time, flop, bytes, attention;
    char *why; /* why there is no fit of the time: "2 points have a time: 3 are needed"; NULL */
    gsize n_bare;
    gboolean bare_fitted;
    double *departures;
    IfmDeparture *departs;
    double max_flop_per_s;
    gsize max_at;
} IfmScaling;

IFM_END_DECLS
