/* What figures of a study of stages show, in sentences: rules that hold one of some variants. All are (transfer full). */
#pragma once
#include <document/summary.h>

#include "findings.h"
#include "study.h"

G_BEGIN_DECLS

/* IfmWins: of @n_all stages at sizes that several devices have: by device how often its interval is below all others', and
 * how often none's is. @n_implausible: cells without a figure that another size contradicts */
typedef struct
{
    const char *const *aliases;
    gsize *wins;
    gsize n_devices, n_all, n_open, n_implausible;
    gboolean imported, no_intervals; /* were read in without; none has one */
    const gboolean *absent;          /* [n_devices] without a latency: no rival; NULL: none is */
} IfmWins;

/* ifm_wins_take: Counts a stage at a size. Returns: FALSE, and nothing counted, of the sum of stages, and where one device
 * alone has no rival. */
gboolean ifm_wins_take(IfmWins *wins, const IfmStageLatencies *latencies);

/* ifm_wins_answer: NULL where @n_all is 0. */
char *ifm_wins_answer(const IfmWins *wins);

/* ifm_wins_title: which stages are one device's at every size. @winners: [n] its alias; NULL: not the same at all sizes */
char *ifm_wins_title(const char *const *stages, const char *const *winners, gsize n, const IfmWins *wins);

/* IfmGrowth: of a stage on a device from the least to the most data; the title's range is of those that surely grow.
 * @is_sure: the intervals are apart */
typedef struct
{
    const char *name;
    double ratio;
    gboolean is_sure;
} IfmGrowth;
char *ifm_growth_title(const IfmGrowth *growths, gsize n, double data_ratio);

/* IfmTopStage: the stage of a device that takes most of its time. @is_apart: its interval is above all others' */
typedef struct
{
    const char *alias, *stage;
    double share;
    gboolean is_apart;
} IfmTopStage;
char *ifm_top_stages_title(const IfmTopStage *tops, gsize n);

/* ifm_widths_title: @target: what was asked for; NaN: nothing. ifm_widths_answer: @middle: the median half-width over the
 * median ifm_coverage_title: @lacking: [n] "3 REDUCE_SUM on NPU", stages of which some sizes lack a latency */
char *ifm_widths_title(gsize n, gsize n_missed, gsize n_unknown, double target);
char *ifm_widths_answer(gsize n, gsize n_unknown, double middle);
char *ifm_coverage_title(const char *const *lacking, gsize n, gsize n_measured, gsize n_all);

/* ifm_changes_title (stores-page.c): of @n cases of two stores, those whose intervals are apart; the one that changed most.
 */
char *ifm_changes_title(gsize n, gsize n_longer, gsize n_shorter, const char *most, double ratio);

/* Of convolutions (conv-figures.c): ifm_conv_lowest_title: of @n sizes or shapes those at which an algorithm's median is
 * the lowest, and those at which its interval is, too, of the @n_known that have some. ifm_conv_energy_title: the same of
 * energies, which have none. ifm_conv_gain_title: of @n choices; @most: the runtime's time over that of a choice that is
 * told apart from it; NaN: none is. ifm_conv_peak_title: the largest share of a device's peak; NaN: none is known */
char *ifm_conv_lowest_title(const char *what, const char *algorithm, gsize n_lowest, gsize n_sure, gsize n_known, gsize n,
                            const char *of_what);
char *ifm_conv_energy_title(const char *model, const char *algorithm, gsize n_lowest, gsize n);
char *ifm_conv_peak_title(double most, const char *algorithm, const char *shape);
char *ifm_conv_gain_title(gsize n, double most, const char *where);

/* Of kernels (study-kernels-page.c): ifm_load_title: the load with the largest slow-down of the median kernel.
 * ifm_operators_title: @operators: IfmOperatorRow. ifm_kernels_say: the verdict: what a model that was learnt from the @n
 * samples is worth, where there is one; else what was measured. @loads: IfmLoadRow    ifm_rounds_text: whether the rounds
 * after the first helped, by the @last; NULL: its change has no interval */
char *ifm_load_title(const char *load, double achieved, double slow_down);
char *ifm_operators_title(const GArray *operators);
char *ifm_rounds_text(const IfmRoundRow *last);
void ifm_kernels_say(IfmDocument *document, const IfmKernelsOutcome *outcome, const GArray *loads, gsize n);

/* ifm_points_title (study-points-page.c): the least and the greatest of @n latencies, of the points of these titles.
 * ifm_losses_title, ifm_slow_down_title (study-contention.c): of @n slow-downs those with an interval, and those whose
 * interval is above 1; the largest of these, and of what. ifm_bandwidths_title (study-figures.c): the lowest of @n;
 * @is_apart: its interval is below all others' */
char *ifm_points_title(gsize n, double least_ns, const char *least, double most_ns, const char *most);
char *ifm_losses_title(gsize n, gsize n_known, gsize n_sure);
char *ifm_slow_down_title(gsize n_known, double most, const char *what);
char *ifm_bandwidths_title(gsize n, const char *stage, double bytes_per_s, gboolean is_apart);

/* ifm_conv_error_trust (conv-predict-page.c): of a relative error, by the lead over the next algorithm; NaN: none is next.
 */
IfmTrust ifm_conv_error_trust(double error, double lead);

/* ifm_conv_predicted_title (conv-predict-page.c): @n_alike: of @n_others those that may be as fast by their intervals. */
char *ifm_conv_predicted_title(const char *algorithm, const char *device, double time_ns, gsize n_others, gsize n_alike,
                               gboolean is_known);

G_END_DECLS
