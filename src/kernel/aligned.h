/* Shared with other rooms: the kernels of two devices beside each other. */
#pragma once
#include <kernel/kernel.h>

G_BEGIN_DECLS

#define IFM_ALIGNED_LEVEL 0.95 /* of the ratios' intervals: the least and the greatest of six rounds hold it */

/** IfmAlignedSide: one device. @nodes: the times of its nodes in rounds (docs/formats.md, nodes_in_rounds), or NULL */
typedef struct
{
    const IfmKernels *kernels;
    const IfmMeasurement *measurement;
    const json_t *nodes;
} IfmAlignedSide;

/**
 * IfmAlignedRow: what both compute of the model, by one kernel or several each.
 * @name: its costliest layer; borrowed of the model    @first: the first of its layers
 * @time_ns: of each side: the median over the rounds, else of its profiled runs; NaN: it has no kernel of its own there
 * @ratio: of the second time over the first; @lower, @upper: the least and the greatest ratio of a round, as far as the
 * clocks of both runtimes tell (@upper may be infinite), where the rounds are enough for IFM_ALIGNED_LEVEL; else NaN
 */
typedef struct
{
    enum
    {
        IFM_ALIGNED_LAYER,
        IFM_ALIGNED_MOVED,   /* kernels that move data for the runtime */
        IFM_ALIGNED_UNKNOWN, /* kernels of which no layer is known */
    } kind;
    const char *name;
    gsize first;
    double time_ns[2], ratio, lower, upper;
    gsize n_rounds;
} IfmAlignedRow;

/** ifm_kernels_align: (transfer full) IfmAlignedRow, in the model's order. Each kernel is in one row. */
GArray *ifm_kernels_align(const IfmAlignedSide sides[2], const IfmModel *model, const IfmAnalysis *analysis);

/** ifm_aligned_is_told: whether the interval of the ratio excludes 1. */
static inline gboolean ifm_aligned_is_told(const IfmAlignedRow *row)
{
    return row->lower > 1 || row->upper < 1;
}

G_END_DECLS
