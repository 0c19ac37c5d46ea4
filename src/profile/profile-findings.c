#include <math.h>

#include <base/base.h>
#include <base/fields.h>
#include <document/words.h>

#include "profile-findings.h"

/* --- devices -----------------------------------------------------------------------------------------------------------
 */

const json_t *ifm_rounds_rival(const json_t *rounds)
{
    const json_t *sides = json_object_get(rounds, "sides"), *nearest = NULL;
    const gsize leader = (gsize)json_integer_value(json_object_get(rounds, "leader"));
    for (gsize i = 0; i < json_array_size(sides); i++)
        if (i != leader &&
            (nearest == NULL || ifm_member_number(json_array_get(sides, i), "ratio") < ifm_member_number(nearest, "ratio")))
            nearest = json_array_get(sides, i);
    return nearest;
}

char *ifm_finding_times(const char *const *names, gsize n, const json_t *rounds, double half_width)
{
    const gsize leader = (gsize)json_integer_value(json_object_get(rounds, "leader"));
    const json_t *rival = ifm_rounds_rival(rounds), *first = json_array_get(json_object_get(rounds, "sides"), leader);
    const int n_rounds = (int)ifm_member_number(rounds, "n_rounds");
    if (n == 1)
    {
        g_autofree char *known = ifm_say_per_cent(half_width);
        return isfinite(half_width) ? g_strdup_printf("The median is known to ±%s", known)
                                    : g_strdup("Too few runs for an interval of the median");
    }
    if (rival == NULL)
        return g_strdup("One process of each does not tell the devices apart");
    const char *name = ifm_member_text(first, "name"), *other = ifm_member_text(rival, "name");
    g_autofree char *ratio = ifm_say_number(ifm_member_number(rival, "ratio")),
                    *range =
                        ifm_say_numbers(ifm_member_number(rival, "least_ratio"), ifm_member_number(rival, "most_ratio"));
    if (g_strcmp0(ifm_member_text(rounds, "verdict"), "fastest") == 0)
        return g_strdup_printf("%s takes %s times the time of %s, and it led none of %d rounds", other, ratio, name,
                               n_rounds);
    if (g_strcmp0(ifm_member_text(rounds, "verdict"), "led all") == 0)
        return n_rounds == 1 ? g_strdup_printf("%s led the only round, too few to call it the fastest", name)
                             : g_strdup_printf("%s led all %d rounds, too few to call it the fastest", name, n_rounds);
    return g_strdup_printf("%d round%s do%s not tell %s and %s apart: %s times the time", n_rounds,
                           ifm_plural((gsize)n_rounds), n_rounds == 1 ? "es" : "", other, name, range);
}

char *ifm_finding_apart(double difference_ns, double scatter_ns, const json_t *rounds)
{
    g_autofree char *apart = ifm_say_duration(fabs(difference_ns));
    const gsize leader = (gsize)json_integer_value(json_object_get(rounds, "leader"));
    if (g_strcmp0(ifm_member_text(rounds, "verdict"), "fastest") == 0)
        return g_strdup_printf("%s took less in all %d rounds; the medians are %s apart",
                               ifm_member_text(json_array_get(json_object_get(rounds, "sides"), leader), "name"),
                               (int)ifm_member_number(rounds, "n_rounds"), apart);
    return g_strdup_printf("The medians are %s apart, %s", apart,
                           !isfinite(scatter_ns)              ? "by one process of each"
                           : fabs(difference_ns) > scatter_ns ? "more than the processes of either scatter"
                                                              : "less than the processes scatter");
}

char *ifm_finding_drift(const char *const *names, gsize n, const double *drifts, const gboolean *drifting)
{
    gsize worst = n, n_known = 0;
    for (gsize i = 0; i < n; i++)
    {
        n_known += isfinite(drifts[i]);
        if (drifting[i] && isfinite(drifts[i]) && (worst == n || fabs(drifts[i]) > fabs(drifts[worst])))
            worst = i;
    }
    if (worst < n)
    {
        g_autofree char *by = ifm_say_per_cent(fabs(drifts[worst]));
        return g_strdup_printf("The times of %s drifted by %s%s", names[worst], drifts[worst] < 0 ? "−" : "+", by);
    }
    if (n_known < n)
        return g_strdup("Too few runs to say whether the times drifted");
    return g_strdup(n == 1 ? "The times did not drift" : "The times of no device drifted");
}

/* --- where the time goes ------------------------------------------------------------------------------------------------
 */

char *ifm_finding_share(const char *const *names, gsize n, const char *const *parts, const double *shares)
{
    GString *text = g_string_new("The largest part is ");
    gboolean is_one = TRUE;
    for (gsize i = 1; i < n; i++)
        is_one &= g_str_equal(parts[i], parts[0]);
    if (is_one)
        g_string_append_printf(text, "%s: ", parts[0]);
    for (gsize i = 0; i < n; i++)
    {
        g_autofree char *share = ifm_say_per_cent(shares[i]);
        g_string_append(text, i == 0 ? "" : i + 1 < n ? ", " : " and ");
        if (is_one)
            g_string_append_printf(text, "%s%s%s", share, n > 1 ? " on " : " of the kernels' time", n > 1 ? names[i] : "");
        else
            g_string_append_printf(text, "%s on %s (%s)", parts[i], names[i], share);
    }
    return g_string_free(text, FALSE);
}

/* What either takes less where that is sure. @layers: of layers alone */
static void sums_of(const GArray *rows, gboolean layers, double *gain_ns, double *loss_ns)
{
    *gain_ns = *loss_ns = 0;
    for (guint i = 0; i < rows->len; i++)
    {
        const IfmAlignedRow *row = &g_array_index(rows, IfmAlignedRow, i);
        const double difference = row->time_ns[1] - row->time_ns[0];
        if (!ifm_aligned_is_told(row) || (layers && row->kind != IFM_ALIGNED_LAYER))
            continue;
        *gain_ns += fmax(difference, 0);
        *loss_ns += fmax(-difference, 0);
    }
}

char *ifm_finding_layers(const char *const names[2], const GArray *rows)
{
    gsize n = 0, n_known = 0, n_less[2] = { 0, 0 };
    for (guint i = 0; i < rows->len; i++)
    {
        const IfmAlignedRow *row = &g_array_index(rows, IfmAlignedRow, i);
        n += row->kind == IFM_ALIGNED_LAYER;
        if (row->kind != IFM_ALIGNED_LAYER || !isfinite(row->lower))
            continue;
        n_known++;
        n_less[0] += row->lower > 1;
        n_less[1] += row->upper < 1;
    }
    if (n_known == 0)
        return g_strdup_printf("%zu layer%s beside each other, none with an interval: too few rounds", n, ifm_plural(n));
    if (n_less[0] + n_less[1] == 0)
        return g_strdup_printf("No layer is told apart of %zu", n_known);
    double gain_ns, loss_ns;
    sums_of(rows, TRUE, &gain_ns, &loss_ns);
    g_autofree char *gain = ifm_say_duration(gain_ns), *loss = ifm_say_duration(loss_ns),
                    *first = n_less[0] > 0 ? g_strdup_printf(" (by %s)", gain) : g_strdup(""),
                    *second = n_less[1] > 0 ? g_strdup_printf(" (by %s)", loss) : g_strdup("");
    return g_strdup_printf("Layer by layer: %s is faster in %zu%s, %s in %zu%s, not told apart: %zu", names[0], n_less[0],
                           first, names[1], n_less[1], second, n_known - n_less[0] - n_less[1]);
}

char *ifm_finding_gains(const char *const names[2], const GArray *rows)
{
    double gain_ns, loss_ns;
    sums_of(rows, FALSE, &gain_ns, &loss_ns);
    g_autofree char *gain = ifm_say_duration(gain_ns), *loss = ifm_say_duration(loss_ns);
    if (gain_ns == 0 && loss_ns == 0)
        return g_strdup("In no layer is either surely faster");
    if (loss_ns == 0)
        return g_strdup_printf("%s gains %s over %s where it is surely faster, and is surely slower nowhere", names[0],
                               gain, names[1]);
    if (gain_ns == 0)
        return g_strdup_printf("%s gains %s over %s where it is surely faster, and is surely slower nowhere", names[1],
                               loss, names[0]);
    return g_strdup_printf("%s gains %s where it is surely faster than %s, and loses %s where it is surely slower",
                           names[0], gain, names[1], loss);
}

/* --- how far from the peak ----------------------------------------------------------------------------------------------
 */

#define ALL 0.995 /* a share that rounds to all */

char *ifm_finding_bounds(double arithmetic, double memory, gsize n_above)
{
    g_autofree char *by_flop = ifm_say_per_cent(arithmetic), *by_bytes = ifm_say_per_cent(memory),
                    *above = n_above > 0 ? g_strdup_printf("; %zu kernel%s above its roof", n_above, ifm_plural(n_above))
                                         : g_strdup("");
    if (!(arithmetic + memory > 0))
        return g_strdup("No kernel has a known place below the roofs");
    if (arithmetic >= ALL)
        return g_strdup_printf("All the time is in kernels that arithmetic bounds%s", above);
    if (memory >= ALL)
        return g_strdup_printf("All the time is in kernels that memory bounds%s", above);
    return g_strdup_printf("Arithmetic bounds kernels with %s of the time, memory those with %s%s", by_flop, by_bytes,
                           above);
}

#define MOST_OF 0.5 /* of the time above the roofs: what the title counts kernels for */

char *ifm_finding_excess(const double *excess_ns, gsize n)
{
    double sum_ns = 0, part_ns = 0;
    gsize n_most = 0;
    for (gsize i = 0; i < n; i++)
        sum_ns += excess_ns[i];
    if (!(sum_ns > 0))
        return g_strdup("No kernel takes longer than its roof allows");
    while (n_most < n && part_ns < MOST_OF * sum_ns)
        part_ns += excess_ns[n_most++];
    g_autofree char *share = ifm_say_per_cent(part_ns / sum_ns), *sum = ifm_say_duration(sum_ns);
    if (n_most == n)
        return g_strdup_printf("Kernels take %s more than their roofs allow", sum);
    return g_strdup_printf("%zu of %zu kernels %s %s of the %s above the roofs", n_most, n, n_most == 1 ? "has" : "have",
                           share, sum);
}

char *ifm_finding_breakdown(const char *const *names, gsize n, const double *shares)
{
    gsize least = n;
    for (gsize i = 0; i < n; i++)
        if (isfinite(shares[i]) && (least == n || shares[i] < shares[least]))
            least = i;
    if (least == n)
        return g_strdup("What a profiled run spends besides its kernels is not known");
    g_autofree char *share = ifm_say_per_cent(shares[least]);
    if (n == 1)
        return g_strdup_printf("Kernels take %s of a profiled run", share);
    return g_strdup_printf("Kernels take at least %s of a profiled run, least on %s", share, names[least]);
}

/* --- passes, growth, memory ---------------------------------------------------------------------------------------------
 */

/* A pass that takes less than one in it for certain: then shares of it mean nothing. */
static char *say_excess(const char *whole, const char *part, const IfmTiming *difference, const char *name)
{
    g_autofree char *less = ifm_say_duration(-difference->median_ns);
    return g_strdup_printf("The %s takes %s less than the %s alone, so the passes do not add up (%s)", whole, less, part,
                           name);
}

char *ifm_finding_passes(const char *name, const IfmTiming *forward, const IfmPassDifference *backward,
                         const IfmPassDifference *update)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_autofree char *times = ifm_say_number(backward->timing.median_ns / forward->median_ns);
    if (!isfinite(backward->timing.median_ns) || !(forward->median_ns > 0))
        return g_strdup_printf("What the passes take on %s is not known", name);
    if (update != NULL && update->timing.interval.upper < 0)
        return say_excess("training step", "training pass", &update->timing, name);
    if (backward->timing.interval.upper < 0)
        return say_excess("training pass", "forward", &backward->timing, name);
    if (backward->holds_zero || !isfinite(backward->timing.interval.lower))
        g_string_append(text, backward->holds_zero ? "These runs do not tell backward from nothing"
                                                   : "Too few rounds for an interval of backward");
    else
        g_string_append_printf(text, "Backward takes %s times the time of forward", times);
    if (update != NULL && isfinite(update->timing.median_ns))
    {
        g_autofree char *share =
            ifm_say_per_cent(update->timing.median_ns /
                             (forward->median_ns + backward->timing.median_ns + fmax(update->timing.median_ns, 0)));
        g_string_append_printf(text,
                               update->holds_zero             ? ", and the update is not told from nothing"
                               : update->timing.median_ns < 0 ? ", and the step takes less than the training pass"
                                                              : ", the update %s of the step",
                               share);
    }
    g_string_append_printf(text, " (%s)", name);
    return g_string_free(g_steal_pointer(&text), FALSE);
}

#define WIDE 1 /* an exponent known no better than that tells linear growth neither from none nor from that of a square */

gboolean ifm_growth_is_known(const IfmPowerFit *fit)
{
    const IfmInterval *interval = &fit->interval;
    return !isfinite(interval->lower) || !isfinite(interval->upper) ||
           ((interval->lower > 0 || interval->upper < 0) && interval->upper - interval->lower <= WIDE);
}

char *ifm_finding_growth(const char *axis, const IfmScaling *scaling, const char *departs_at, gsize n_unknown, gsize n)
{
    g_autofree char *exponent = ifm_say_number(scaling->time.exponent), *flop = ifm_say_number(scaling->flop.exponent);
    g_autoptr(GString) text = g_string_new(NULL);
    const gboolean is_known = scaling->has_time && ifm_growth_is_known(&scaling->time);
    if (is_known && scaling->has_flop)
        g_string_append_printf(text, "Time grows as %s^%s, FLOP as %s^%s", axis, exponent, axis, flop);
    else if (is_known)
        g_string_append_printf(text, "Time grows as %s^%s", axis, exponent);
    else
        g_string_append_printf(text, "How the time grows with %s is not known", axis);
    if (departs_at != NULL)
        g_string_append_printf(text, "; at %s=%s it is over what the FLOP take", axis, departs_at);
    else if (n_unknown == n)
        g_string_append(text, "; whether it follows the FLOP is not known");
    else
        g_string_append(text, n_unknown > 0 ? "; where that is known no size is over what the FLOP take"
                                            : "; no size is over what the FLOP take");
    return g_string_free(g_steal_pointer(&text), FALSE);
}

char *ifm_finding_alive(double peak_bytes, const char *where)
{
    g_autofree char *peak = ifm_say_bytes(peak_bytes);
    return where != NULL ? g_strdup_printf("By the shapes most is alive at %s: %s", where, peak)
                         : g_strdup_printf("By the shapes %s is alive at most", peak);
}
