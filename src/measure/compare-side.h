#pragma once

#include "kind-private.h"

G_BEGIN_DECLS

/* What comparisons share: sides that are measured in processes made anew again and again, in a drawn order. Two in pairs:
 * runner-compare.c; several one after the other in rounds: runner-rounds.c. */

/** IfmSide: one of those that are compared, and its process at hand. */
typedef struct
{
    const char *name; /* for messages */
    const IfmCompareSide *given;
    const IfmCaseKind *kind;
    void *spec; /* completed; of a worker, as in its message */
    IfmKindPlace place;
    json_t *protocol; /* of its record: the comparison's */
    char *setting;    /* for the environment of its processes; NULL: none */
    IfmCase *sealed;
    gboolean true_outputs;
    gboolean is_wrong; /* what it failed by: its outputs are not those of the reference */
    json_t *asked;     /* what the request of each process has besides the case; NULL: not asked yet */
    json_t *nodes;     /* their times in each round: docs/formats.md; NULL: not asked for */
    json_t *check;     /* {"reference"} or {"verification"}, where its kind has outputs to compare; NULL: not asked yet */
    IfmMeasurement *measurement;    /* of its first process */
    GArray *warmup_ns, *samples_ns; /* of all its processes */
    IfmWorker *worker;
    IfmSubject subject; /* in this process, where it has no worker */
    gboolean is_open;
    double run_ns; /* about */
} IfmSide;

typedef struct
{
    IfmRunner *runner;
    IfmSide *sides;
    gsize n;
    GRand *random;         /* the order, and what differs between processes */
    IfmRunMonitor monitor; /* without a callback: for the snapshots */
    gint64 began_ns;       /* later by as much as what is done once took */
    gsize n_ended;         /* how often each side's process was made, run and ended */
} IfmSides;

/** ifm_sides_init: @given: [n] @names: [n], both borrowed */
void ifm_sides_init(IfmSides *self, IfmRunner *runner, const IfmCompareSide *given, const char *const *names, gsize n,
                    guint32 seed);
void ifm_sides_clear(IfmSides *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IfmSides, ifm_sides_clear)
gint64 ifm_sides_now_ns(void);

/** ifm_side_case: The sealed record of a side by its own kind, with that for a protocol. @protocol: (transfer full) */
IfmCase *ifm_side_case(IfmRunner *runner, const IfmCompareSide *given, json_t *protocol, GError **error);

/** ifm_side_setting: (transfer full) "VARIABLE=LIBRARY" of a side with a runtime of its own; NULL where it has none, or the
 * engine has none to choose. @device: (nullable) */
char *ifm_side_setting(const IfmCompareSide *given, const IfmDeviceSpec *device);

/** ifm_sides_start: Every side's record, whose protocol is set, in that order: it starts their first processes. What can be
 * said before anything is started is said first. @order: [n]. All errors of these functions begin with the side's name,
 * "A: ". */
gboolean ifm_sides_start(IfmSides *self, const gsize *order, GError **error);
/** ifm_sides_end_processes: Those that sealing started, where no two are to be there at once. */
void ifm_sides_end_processes(IfmSides *self);

/* One process of a side, from its start to its end. */
typedef gboolean (*IfmSideStep)(IfmSides *self, IfmSide *side, GError **error);
/** ifm_side_prepare: Started, opened, compiled. */
gboolean ifm_side_prepare(IfmSides *self, IfmSide *side, GError **error);
/** ifm_side_check_with: What its outputs are compared with, asked for once a side. */
gboolean ifm_side_check_with(IfmSides *self, IfmSide *side, GError **error);
/** ifm_side_warm_up: @request: {"do": "compare-start"} and what else is asked of it; (transfer full)
 * Returns: (transfer full) the answer */
json_t *ifm_side_warm_up(IfmSides *self, IfmSide *side, json_t *request, GError **error);
/** ifm_side_run: @n_warm runs, then @n_runs timed ones. @median_ns: (out) at least 1 */
gboolean ifm_side_run(IfmSides *self, IfmSide *side, gsize n_warm, gsize n_runs, double *median_ns, GError **error);
/** ifm_side_node_times: What each node takes in this process, profiled by runs of its own. What that takes is no part of
 * the comparison's time. No error where the device reports none: side->nodes says so. */
gboolean ifm_side_node_times(IfmSides *self, IfmSide *side, gint64 time_ns, GError **error);
/** ifm_side_end: Checked once more, and ended. */
gboolean ifm_side_end(IfmSides *self, IfmSide *side, GError **error);
/** ifm_sides_step: @step of all sides. @order: [n]; NULL: as they are given */
gboolean ifm_sides_step(IfmSides *self, IfmSideStep step, const gsize *order, GError **error);

/** ifm_sides_repeat: Makes each side's process, runs and ends it, by @once, until @is_done. Interrupted, what was whole by
 * then counts. @whole: what is: "a round was whole"    @interrupted: (out) that it ended by that Returns: FALSE with an
 * error where it failed, or where nothing is whole. */
gboolean ifm_sides_repeat(IfmSides *self, gboolean (*once)(void *user, GError **error), gboolean (*is_done)(void *user),
                          void *user, const char *whole, gboolean *interrupted, GError **error);

/** ifm_sides_end: The machine's last snapshot, and what it says into each side's record. */
void ifm_sides_end(IfmSides *self);
/** ifm_sides_warnings: (transfer full) char*: of all sides' records; without a name what is in every one. */
GPtrArray *ifm_sides_warnings(const IfmSides *self);
/** ifm_side_finish: Its samples into its record. @result: (transfer full) into its result */
void ifm_side_finish(IfmSide *side, const char *stop_reason, double level, json_t *result);

G_END_DECLS
