#include <base/base.h>
#include <base/statistics.h>

#include <document/words.h>
#include <math.h>

#include "measure-private.h"

/* A comparer collects rounds of two things measured in turn, decides after each pair of processes whether to stop, and
 * gives the verdict. */

/*
 * The rule. What two processes of the very same thing differ by (where their memory lies, which threads they got) does not
 * go away by measuring longer in them, so a pair of processes is one observation however many rounds it has; whatever
 * correlation rounds have within a pair is then harmless.
 *
 * A thing compared with itself has pairs' values whose signs are fair coins, since who is called A was drawn for each pair:
 * drift, bursts and processes that differ make a value large or small, but no sign likelier. Wilcoxon's distribution needs
 * no more. Where neighbours are alike nevertheless (two devices that wander, each by itself), the interval is widened.
 *
 * The difference follows from the ratio, at the mean speed that the machine had: A's mean time x (ratio - 1), or, where B
 * is faster, B's x (1 - 1 / ratio). The rounds' differences themselves scatter with the machine's speed, which is in both
 * sides of a round: on a machine that drifts by a fifth their interval was thirty times as wide. A's mean time has an
 * error, too, but what makes it too long makes the ratio too small: with relative errors a and b of the two times the
 * difference is off by b B - a A, and the interval has room for (b - a) B, which scatters more where B is the slower one.
 *
 * Each look has an error of its own, and the errors add up to 1 - level at most (the union bound), so that "faster" or
 * "slower" at any look is as rare as said, whenever it stops. Few pairs have few ranks: what a look's interval does not
 * need of its share is left for later ones, and the last look, at the budget's end, has all that is left.
 *
 * It stops by "same", by "faster" or "slower" where the ratio itself is beyond the margin, and else goes on: a difference
 * that is there but within the margin is on its way to "same".
 */
#define USUAL_ERROR 0.05             /* which those shares are of; another level's are in proportion */
#define FIRST_LOOK_ERROR (1 / 128.0) /* eight pairs all on one side */
#define LOOK_ERROR 0.005
static const gsize look_pairs[] = { 8, 12, 18, 27, 40, 60, 90, 135 };

enum
{
    MIN_DRIFT_PAIRS = 8, /* fewer are not asked for a trend */
};

struct IfmComparer
{
    IfmCompareProtocol protocol;
    GArray *rounds; /* IfmCompareRound */
    gsize pair_begin;
    GArray *values;    /* double: the pairs' log ratios */
    GArray *levels[2]; /* double: A's and B's time in each pair, ns */
    gint64 elapsed_ns;
    gsize n_looks;
    GArray *history; /* IfmCompareStep, of the looks */
    double spent;    /* of the error, by looks that did not end it */
    gboolean done;
    double error; /* what the look that ended it might spend */
};

gboolean ifm_compare_protocol_check(const IfmCompareProtocol *protocol, GError **error)
{
    if (!(protocol->margin >= 0 && protocol->margin < 1))
        ifm_error_refuse(error, "margin %g: what counts as the same is from 0 to less than 1", protocol->margin);
    else if (!(protocol->level > 0.5 && protocol->level < 1))
        ifm_error_refuse(error, "level %g: an interval's is above 0.5 and below 1", protocol->level);
    else if (protocol->min_pairs < 2 || protocol->max_pairs < protocol->min_pairs ||
             protocol->max_pairs > IFM_COMPARE_MAX_PAIRS)
        ifm_error_refuse(
            error,
            "%zu to %zu pairs of processes: the minimum is 2 or more, the maximum no less than the minimum and %d at most",
            protocol->min_pairs, protocol->max_pairs, IFM_COMPARE_MAX_PAIRS);
    else if (protocol->time_budget_ns < 0)
        ifm_error_refuse(error, "a time budget below 0");
    else
        return TRUE;
    return FALSE;
}

IfmComparer *ifm_comparer_new(const IfmCompareProtocol *protocol)
{
    IfmComparer *self = g_new0(IfmComparer, 1);
    self->protocol = *protocol;
    self->rounds = g_array_new(FALSE, FALSE, sizeof(IfmCompareRound));
    self->values = g_array_new(FALSE, FALSE, sizeof(double));
    self->history = g_array_new(FALSE, FALSE, sizeof(IfmCompareStep));
    for (gsize side = 0; side < G_N_ELEMENTS(self->levels); side++)
        self->levels[side] = g_array_new(FALSE, FALSE, sizeof(double));
    return self;
}

void ifm_comparer_free(IfmComparer *self)
{
    if (self == NULL)
        return;
    g_array_unref(self->rounds);
    g_array_unref(self->values);
    g_array_unref(self->history);
    for (gsize side = 0; side < G_N_ELEMENTS(self->levels); side++)
        g_array_unref(self->levels[side]);
    g_free(self);
}

static const IfmCompareRound *round_at(const IfmComparer *self, gsize index)
{
    return &g_array_index(self->rounds, IfmCompareRound, index);
}

void ifm_comparer_add(IfmComparer *self, double a_ns, double b_ns, gboolean b_first)
{
    IfmCompareRound round = { self->values->len, b_first, a_ns, b_ns };
    g_return_if_fail(a_ns > 0 && b_ns > 0);
    g_array_append_val(self->rounds, round);
}

/* --- the interval --------------------------------------------------------------------------------------------------- */

/* The mean of the middle third: what hits one side of a round, another process's burst, is no property of it. */
static double middle_mean(double *values, gsize n)
{
    gsize cut = n / 3;
    double sum = 0;
    ifm_sort_doubles(values, n);
    for (gsize i = cut; i < n - cut; i++)
        sum += values[i];
    return sum / (double)(n - 2 * cut);
}

/* Look: the logs of the ratio and its interval; @level: of that. NaN: no interval. */
typedef struct
{
    double ratio, lower, upper, level;
    gboolean is_enough; /* the pairs are: it is an interval of the level that was asked for */
    double error;       /* what it costs */
    double n_effective, sd, correlation;
} Look;

static double spread_of(const double *values, gsize n)
{
    const double mean = ifm_mean(values, n);
    double squares = 0;
    for (gsize i = 0; i < n; i++)
        squares += (values[i] - mean) * (values[i] - mean);
    return n > 1 ? sqrt(squares / (double)(n - 1)) : (double)NAN;
}

/* Too few pairs for the level: their own range is an interval of the level that it has by their signs, 1 - 2^(1 - n). */
static Look look_with(const IfmComparer *self, double error)
{
    const gsize n = self->values->len;
    const double *values = (const double *)(const void *)self->values->data;
    IfmPairedEstimate of;
    ifm_paired_estimate(values, n, error, &of);
    Look look = { .ratio = of.centre,
                  .lower = of.lower,
                  .upper = of.upper,
                  .level = self->protocol.level,
                  .is_enough = !isnan(of.lower),
                  .error = of.error,
                  .n_effective = (double)n / (of.widening * of.widening),
                  .sd = spread_of(values, n),
                  .correlation = of.correlation };
    if (look.is_enough || n < 2)
        return look;
    look.lower = of.least;
    look.upper = of.greatest;
    look.level = 1 - ldexp(1, 1 - (int)n);
    return look;
}

/* The margin reaches as far below 1 as above, so that A and B may change places. */
static IfmVerdict verdict_of(const IfmComparer *self, const Look *look)
{
    if (self->values->len < self->protocol.min_pairs || !look->is_enough)
        return IFM_VERDICT_UNCERTAIN;
    if (MAX(-look->lower, look->upper) <= log1p(self->protocol.margin))
        return IFM_VERDICT_SAME;
    return look->upper < 0 ? IFM_VERDICT_FASTER : look->lower > 0 ? IFM_VERDICT_SLOWER : IFM_VERDICT_UNCERTAIN;
}

/* --- when to stop --------------------------------------------------------------------------------------------------- */

/* Another pair would end further from the budget than this one did, or there is none. Decided by what does not know which
 * side is ahead. */
static gboolean is_last(const IfmComparer *self)
{
    const IfmCompareProtocol *protocol = &self->protocol;
    const double n = (double)self->values->len, pair_ns = (double)self->elapsed_ns / n;
    return self->values->len >= protocol->max_pairs ||
           (protocol->time_budget_ns > 0 && (double)self->elapsed_ns + pair_ns / 2 > (double)protocol->time_budget_ns);
}

static double left_to_spend(const IfmComparer *self)
{
    return 1 - self->protocol.level - self->spent;
}

/* @error: (out) what a look after that many pairs may spend. Returns: whether there is one. */
static gboolean is_look(const IfmComparer *self, double *error)
{
    const gsize n = self->values->len;
    for (gsize i = 0; i < G_N_ELEMENTS(look_pairs); i++)
        if (n == look_pairs[i] && n >= self->protocol.min_pairs)
        {
            *error = (i == 0 ? FIRST_LOOK_ERROR : LOOK_ERROR) * (1 - self->protocol.level) / USUAL_ERROR;
            return TRUE;
        }
    return FALSE;
}

/* What a log of the ratio is as a difference, ns, at the mean time of the faster side. */
static double difference_ns(const IfmComparer *self, const Look *look, double log_ratio)
{
    const GArray *levels = self->levels[look->ratio < 0];
    double level_ns = ifm_mean((const double *)(const void *)levels->data, levels->len);
    return look->ratio < 0 ? -level_ns * expm1(-log_ratio) : level_ns * expm1(log_ratio);
}

static gboolean is_settled(const IfmComparer *self, const Look *look)
{
    switch (verdict_of(self, look))
    {
    case IFM_VERDICT_SAME:
        return TRUE;
    case IFM_VERDICT_FASTER:
    case IFM_VERDICT_SLOWER:
        return fabs(look->ratio) > log1p(self->protocol.margin);
    default:
        return FALSE;
    }
}

static void take_pair(IfmComparer *self)
{
    gsize n = self->rounds->len - self->pair_begin;
    g_autofree double *ratios = g_new(double, n), *a_ns = g_new(double, n), *b_ns = g_new(double, n);
    for (gsize i = 0; i < n; i++)
    {
        const IfmCompareRound *round = round_at(self, self->pair_begin + i);
        ratios[i] = log(round->b_ns / round->a_ns);
        a_ns[i] = round->a_ns;
        b_ns[i] = round->b_ns;
    }
    double value = middle_mean(ratios, n), levels[] = { middle_mean(a_ns, n), middle_mean(b_ns, n) };
    g_array_append_val(self->values, value);
    for (gsize side = 0; side < G_N_ELEMENTS(levels); side++)
        g_array_append_val(self->levels[side], levels[side]);
    self->pair_begin = self->rounds->len;
}

static void note_look(const IfmComparer *self, const Look *look, GArray *history)
{
    const IfmCompareStep step = { self->values->len, exp(look->ratio), exp(look->lower), exp(look->upper) };
    g_array_append_val(history, step);
}

gboolean ifm_comparer_end_pair(IfmComparer *self, gint64 elapsed_ns)
{
    self->elapsed_ns = elapsed_ns;
    if (self->rounds->len == self->pair_begin || self->done)
        return self->done;
    take_pair(self);
    double error = left_to_spend(self);
    const gboolean last = is_last(self);
    if (!last && !is_look(self, &error))
        return FALSE;
    const Look look = look_with(self, error);
    note_look(self, &look, self->history);
    self->n_looks++;
    self->done = last || is_settled(self, &look);
    if (self->done)
        self->error = error;
    else
        self->spent += look.error;
    return self->done;
}

/* --- why not -------------------------------------------------------------------------------------------------------- */

/* Standard deviation over pairs of the log of one side's time: of what that side alone would be blamed for. */
static double side_spread(const IfmComparer *self, gboolean of_b)
{
    gsize n_pairs = self->values->len, i = 0;
    g_autofree double *levels = g_new0(double, n_pairs + 1);
    for (gsize pair = 0; pair < n_pairs; pair++)
    {
        g_autoptr(GArray) logs = g_array_new(FALSE, FALSE, sizeof(double));
        for (; i < self->rounds->len && round_at(self, i)->pair == pair; i++)
        {
            double value = log(of_b ? round_at(self, i)->b_ns : round_at(self, i)->a_ns);
            g_array_append_val(logs, value);
        }
        levels[pair] = middle_mean((double *)(void *)logs->data, logs->len);
    }
    return spread_of(levels, n_pairs);
}

/* Of rounds about the value of their pair. */
static double within_spread(const IfmComparer *self)
{
    double squares = 0;
    gsize n = 0;
    for (gsize i = 0; i < self->rounds->len; i++)
    {
        const IfmCompareRound *round = round_at(self, i);
        if (round->pair >= self->values->len)
            break;
        double off = log(round->b_ns / round->a_ns) - g_array_index(self->values, double, round->pair);
        squares += off * off;
        n++;
    }
    return n > self->values->len ? sqrt(squares / (double)(n - self->values->len)) : (double)NAN;
}

static char *in_seconds(double ns)
{
    double s = ns / 1e9;
    return s < 120    ? g_strdup_printf("%.2g s", s)
           : s < 7200 ? g_strdup_printf("%.0f min", s / 60)
                      : g_strdup_printf("%.0f h", s / 3600);
}

/* What is in the way of a narrower interval. */
static char *what_hinders(const IfmComparer *self, const Look *look)
{
    const double *values = (const double *)(const void *)self->values->data;
    double drift = NAN;
    if (self->values->len >= MIN_DRIFT_PAIRS && ifm_drift_test(values, self->values->len, &drift) < 0.01)
        return g_strdup("the ratio itself drifts from pair to pair");
    double a = side_spread(self, FALSE), b = side_spread(self, TRUE);
    g_autofree char *most = ifm_say_per_cent(MAX(a, b)), *least = ifm_say_per_cent(MIN(a, b)),
                    *sd = ifm_say_per_cent(look->sd);
    if (MAX(a, b) > 2 * MIN(a, b) && MAX(a, b) > look->sd / 2)
        return g_strdup_printf("%s differs by %s from process to process (%s by %s)", b > a ? "B" : "A", most,
                               b > a ? "A" : "B", least);
    return g_strdup_printf("pairs of processes differ by %s", sd);
}

/* The wider of two widths suffices: that which separates the ratio from 1, and that which fits into the margin. */
static char *what_would_settle(const IfmComparer *self, const Look *look)
{
    if (self->protocol.margin <= 0)
        return g_strdup("nothing is the same within 0 %; a wider margin would do");
    double room = log1p(self->protocol.margin) - fabs(look->ratio);
    double needed = MAX(fabs(look->ratio), room), half = (look->upper - look->lower) / 2;
    double factor = half / needed * (half / needed);
    if (!(factor < 1000))
        return g_strdup("far more than a thousand times as long would be needed; a wider margin would do");
    double n = ceil((double)self->values->len * factor) + 1;
    g_autofree char *time = in_seconds(MAX((double)self->elapsed_ns * factor, (double)self->elapsed_ns));
    const double most = (double)self->protocol.max_pairs;
    return n <= most ? g_strdup_printf("about %.0f pairs of processes (%s) would settle it", n, time)
                     : g_strdup_printf("about %.0f pairs of processes (%s) would settle it, and %.0f are the maximum "
                                       "(--max-pairs); a wider margin or a quieter machine needs fewer",
                                       n, time, most);
}

/* Of how many pairs the signs alone can show anything at this level. */
static gsize pairs_needed(const IfmComparer *self)
{
    gsize n = self->protocol.min_pairs;
    while (ldexp(1, 1 - (int)n) > left_to_spend(self) * (1 + 1e-12))
        n++;
    return n;
}

static char *why_uncertain(const IfmComparer *self, const Look *look)
{
    gsize n = self->values->len, min = pairs_needed(self);
    if (n < min)
    {
        g_autofree char *time = n > 0 ? in_seconds((double)self->elapsed_ns / (double)n * (double)min) : NULL;
        return g_strdup_printf("%zu pair%s of processes %s measured, and %zu are the minimum for a verdict at %.3g %%%s%s",
                               n, ifm_plural(n), n == 1 ? "was" : "were", min, 100 * self->protocol.level,
                               time != NULL ? ": they would take about " : "", time != NULL ? time : "");
    }
    g_autofree char *hinders = what_hinders(self, look), *settles = what_would_settle(self, look);
    return g_strdup_printf("%s, and the interval of %zu pairs holds 1 and reaches beyond %.3g %%: %s", hinders, n,
                           100 * self->protocol.margin, settles);
}

/* --- the outcome ---------------------------------------------------------------------------------------------------- */

static double median_of(const IfmComparer *self, gboolean of_b)
{
    g_autofree double *values = g_new(double, self->rounds->len + 1);
    for (gsize i = 0; i < self->rounds->len; i++)
        values[i] = of_b ? round_at(self, i)->b_ns : round_at(self, i)->a_ns;
    return ifm_quantile_of(values, self->rounds->len, 0.5);
}

void ifm_comparer_finish(const IfmComparer *self, IfmComparison *comparison)
{
    ifm_comparison_clear(comparison);
    Look look = look_with(self, self->done ? self->error : left_to_spend(self));
    gsize n = self->values->len;
    comparison->verdict = verdict_of(self, &look);
    comparison->ratio = n > 0 ? exp(look.ratio) : (double)NAN;
    comparison->interval = (IfmInterval){ NAN, NAN, look.level };
    comparison->difference_ns = n > 0 ? difference_ns(self, &look, look.ratio) : (double)NAN;
    comparison->difference_interval = comparison->interval;
    if (n > 1)
    {
        comparison->interval.lower = exp(look.lower);
        comparison->interval.upper = exp(look.upper);
        comparison->difference_interval.lower = difference_ns(self, &look, look.lower);
        comparison->difference_interval.upper = difference_ns(self, &look, look.upper);
    }
    comparison->margin = self->protocol.margin;
    comparison->level = self->protocol.level;
    comparison->error = look.error;
    comparison->a_ns = median_of(self, FALSE);
    comparison->b_ns = median_of(self, TRUE);
    comparison->between = look.sd;
    comparison->within = within_spread(self);
    comparison->n_pairs = n;
    comparison->n_effective = look.n_effective;
    comparison->correlation = look.correlation;
    comparison->n_looks = self->n_looks;
    comparison->elapsed_ns = self->elapsed_ns;
    comparison->rounds = g_array_copy(self->rounds);
    comparison->history = g_array_copy(self->history);
    if (!self->done && n > 0) /* broken off here */
        note_look(self, &look, comparison->history);
    comparison->notes = g_ptr_array_new_with_free_func(g_free);
    if (comparison->verdict == IFM_VERDICT_UNCERTAIN)
        comparison->why = why_uncertain(self, &look);
}
