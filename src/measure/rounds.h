/* Shared with other rooms: interleaved rounds and what two sides come to. */
#pragma once
#include <jansson.h>

#include <inferometer/compare.h>

G_BEGIN_DECLS

/* --- verdicts ------------------------------------------------------------------------------------------------------ */

/**
 * IfmCompareProtocol: @margin: what still counts as the same, 0.01. @level: 1 - the share of comparisons of a thing with
 * itself that may end in "faster" or "slower", all looks taken together.
 * @time_budget_ns: 0: none    @min_pairs, @max_pairs: of processes made anew, one of each side
 * @rounds: in each pair of processes; 0: the runner's choice
 */
typedef struct
{
    double margin, level;
    gint64 time_budget_ns;
    gsize min_pairs, max_pairs;
    gsize rounds;
} IfmCompareProtocol;
#define IFM_COMPARE_PROTOCOL_INIT                                                                                          \
    ((IfmCompareProtocol){ .margin = 0.01,                                                                                 \
                           .level = 0.95,                                                                                  \
                           .time_budget_ns = 30 * G_GINT64_CONSTANT(1000000000),                                           \
                           .min_pairs = 6,                                                                                 \
                           .max_pairs = 200 })

/** IfmCompareRound: medians of some runs of A and some of B, made by the processes of pair @pair (from 0). */
typedef struct
{
    gsize pair;
    gboolean b_first;
    double a_ns, b_ns;
} IfmCompareRound;

/** IfmCompareStep: ratio and interval of a look, after so many pairs; NaN: no interval yet. */
typedef struct
{
    gsize n_pairs;
    double ratio, lower, upper;
} IfmCompareStep;

/** ifm_comparison_to_json: (transfer full) docs/formats.md, "comparison"; measurements are not in it. */
json_t *ifm_comparison_to_json(const IfmComparison *comparison);

/** IFM_COMPARE_MAX_PAIRS: of processes, of a protocol. */
#define IFM_COMPARE_MAX_PAIRS 1000

/** IfmCompareSide: a case of any kind that can be run again and again, in a worker or in this process; both sides are of
 * one kind. @spec: what @kind takes; its protocol, load and profiling mean nothing here. @runtime: path of the runtime's
 * library for this side's processes; NULL: the usual one */
typedef struct
{
    const IfmCaseKind *kind;
    const void *spec;
    const char *runtime;
    const char *runtime_said; /* by what the user named it, such as an option, for messages; or NULL */
} IfmCompareSide;

/**
 * ifm_runner_compare: Two sides, each in a worker process of its own that is made for this, in rounds: some runs of the
 * one, some of the other, one at a time; who begins is drawn for every two rounds and turns in the second. Processes are
 * made anew for every pair, since two of the same thing differ, too; what is measured in this process is opened anew.
 * Interrupted, it returns what it has. Of a pipeline a run is one repetition of all its batches.
 * @sides: A and B. Returns: FALSE with the error of the side that failed, its message beginning with "A: " or "B: ", or
 * IFM_ERROR_UNSUPPORTED for a kind that has no runs to repeat, and for two of different kinds.
 */
gboolean ifm_runner_compare(IfmRunner *runner, const IfmCompareSide sides[2], const IfmCompareProtocol *protocol,
                            guint32 seed, IfmComparison *comparison, GError **error);

/* --- the fastest of several ---------------------------------------------------------------------------------------- */

/** IfmLead: who leads rounds of several. @leader: of the least median over the rounds (of two alike the first). @n_led:
 * rounds in which it alone took the least time. @told_apart: all of them, and they are enough for the level. */
typedef struct
{
    gsize leader, n_rounds, n_led;
    gboolean told_apart;
} IfmLead;

/** IfmRival: a time over the leader's, in each round: the median of the ratios, the least and the greatest. */
typedef struct
{
    double ratio, least, most;
} IfmRival;

/**
 * ifm_lead_judge: Of k that are equally fast one leads all R rounds by chance in k^(1 - R), at most 2^(1 - R), however many
 * slower ones there are: so "the fastest" is one that leads all of R rounds with 2^(1 - R) <= 1 - @level; 6 at 95 %.
 * @log_ns: [n_rounds][n] logs of the times: of each round's processes, made anew and in a drawn order; n_rounds and n above
 * 0
 * @rivals: [n] (out)
 */
void ifm_lead_judge(const double *log_ns, gsize n_rounds, gsize n, double level, IfmLead *lead, IfmRival *rivals);

/** ifm_lead_is_of: whether @at alone took the least time of a round. @round: [n] */
gboolean ifm_lead_is_of(const double *round, gsize n, gsize at);

/** IfmRoundsProtocol: @max_rounds: fewer tell nothing apart where 2^(1 - max_rounds) is above 1 - level. @runs: of each in
 * each round, and at least as many as take @block_ns; 0: as many as take that, three at least. @time_budget_ns: no round
 * begins that would end after it, but the first; 0: none
 */
typedef struct
{
    double level;
    gsize max_rounds, runs;
    gint64 block_ns, time_budget_ns;
    gboolean whole; /* all rounds, whoever leads them */
    gboolean nodes; /* after its runs each process is profiled, for the times of its nodes, which takes time of its own */
} IfmRoundsProtocol;
#define IFM_ROUNDS_PROTOCOL_INIT                                                                                           \
    ((IfmRoundsProtocol){ .level = 0.95, .max_rounds = 6, .block_ns = 300 * G_GINT64_CONSTANT(1000000) })

/** IfmRounds: what rounds of several came to. @json: docs/formats.md, "rounds". @cases, @measurements: [n], of each side,
 * with all its samples; to be stored together */
typedef struct
{
    IfmLead lead;
    json_t *json;
    gsize n;
    IfmCase **cases;
    IfmMeasurement **measurements;
} IfmRounds;
void ifm_rounds_clear(IfmRounds *rounds);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IfmRounds, ifm_rounds_clear)

/**
 * ifm_runner_rounds: Several sides in rounds: in each round a process of each, made anew, one after the other in an order
 * that is drawn. It ends at the first round that another one leads than led before, for then none leads them all.
 * Interrupted, it returns the rounds that are whole.
 * @names: [n] what they are called    @n: 2 or more, of any kinds that ifm_runner_compare() takes
 * Returns: FALSE with the error of the side that failed, its message beginning with "NAME: ".
 */
gboolean ifm_runner_rounds(IfmRunner *runner, const IfmCompareSide *sides, const char *const *names, gsize n,
                           const IfmRoundsProtocol *protocol, guint32 seed, IfmRounds *rounds, GError **error);

/** ifm_runner_rounds_case: The sealed record that ifm_runner_rounds() gives side @at of @n, asked for beforehand. */
IfmCase *ifm_runner_rounds_case(IfmRunner *runner, const IfmCompareSide *sides, gsize at, gsize n,
                                const IfmRoundsProtocol *protocol, GError **error);

/** IfmRoundsOfOne: the medians of one side's processes, ns: the middle, the least and the greatest of @n. @interval: of the
 * middle; NaN where so many do not give one of the level. */
typedef struct
{
    gsize n;
    double median_ns, least_ns, most_ns;
    IfmInterval interval;
} IfmRoundsOfOne;

/** ifm_rounds_of_one: @measurement: of a side of ifm_runner_rounds(). Its processes are the unit: their least and greatest
 * median hold the middle of all in 1 - 2^(1 - n). All NaN where it is none. */
void ifm_rounds_of_one(const IfmMeasurement *measurement, IfmRoundsOfOne *of);

/** ifm_rounds_of_side: the same of side @side of @json, docs/formats.md, "rounds"; NULL: there are none. */
void ifm_rounds_of_side(const json_t *json, gsize side, IfmRoundsOfOne *of);

/** ifm_rounds_stored: (transfer none) the rounds of these, whole, as a measurement of one of them has them; NULL: of
 * others, or interrupted. @cases: [n] */
const json_t *ifm_rounds_stored(const IfmMeasurement *measurement, IfmCase *const *cases, gsize n);

G_END_DECLS
