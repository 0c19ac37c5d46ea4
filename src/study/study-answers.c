#include <math.h>

#include <document/words.h>

#include "study-answers.h"

/* Titles of a study's figures and the answers above them, from figures alone. */

#define NAMED 3 /* in a list of a sentence */

static char *list_of(const GPtrArray *names)
{
    return ifm_say_list((const char *const *)names->pdata, names->len, NAMED);
}

/* --- which device ----------------------------------------------------------------------------------------------------- */

gboolean ifm_wins_take(IfmWins *wins, const IfmStageLatencies *latencies)
{
    if (latencies->stage == 0 || latencies->next == G_MAXUINT)
        return FALSE;
    wins->n_all++;
    if (latencies->decided)
        wins->wins[latencies->best]++;
    else
        wins->n_open++;
    return TRUE;
}

char *ifm_wins_answer(const IfmWins *wins)
{
    g_autoptr(GPtrArray) best = g_ptr_array_new(), others = g_ptr_array_new_with_free_func(g_free);
    GString *text = g_string_new(NULL);
    gsize most = 0;
    for (gsize i = 0; i < wins->n_devices; i++)
        most = MAX(most, wins->wins[i]);
    for (gsize i = 0; i < wins->n_devices; i++)
        if (wins->wins[i] == most)
            g_ptr_array_add(best, (char *)wins->aliases[i]);
        else if (wins->absent == NULL || !wins->absent[i])
            g_ptr_array_add(others, g_strdup_printf("%s in %zu", wins->aliases[i], wins->wins[i]));
    g_autofree char *names = list_of(best), *rest = list_of(others);
    if (wins->n_all == 0)
        return g_string_free(text, TRUE); /* NULL */
    if (most == 0 && (wins->imported || wins->no_intervals))
        g_string_append_printf(text, "Which device is faster is not known at any of %zu stages and sizes: %s.", wins->n_all,
                               wins->imported ? "the latencies were read in without intervals"
                                              : "no latency has an interval, of too few runs");
    else if (most == 0)
        g_string_append_printf(text, "None is told apart: at all %zu stages and sizes intervals overlap.", wins->n_all);
    else if (most == wins->n_all)
        g_string_append_printf(text, "%s: it takes the least time of all %zu stages and sizes.", names, wins->n_all);
    else if (best->len > 1)
        g_string_append_printf(text, "%s take the least time equally often, in %zu of %zu stages and sizes each%s%s.",
                               names, most, wins->n_all, others->len > 0 ? "; " : "", rest);
    else
        g_string_append_printf(text, "%s takes the least time most often, in %zu of %zu stages and sizes; %s.", names, most,
                               wins->n_all, rest);
    if (wins->n_open > 0 && most > 0)
        g_string_append_printf(text, " In %zu of them intervals overlap, and any of several may be the fastest.",
                               wins->n_open);
    if (wins->n_implausible > 0)
        g_string_append_printf(text, " %zu implausible, contradicted by another size, count%s for nobody.",
                               wins->n_implausible, wins->n_implausible == 1 ? "s" : "");
    return g_string_free(text, FALSE);
}

char *ifm_wins_title(const char *const *stages, const char *const *winners, gsize n, const IfmWins *wins)
{
    g_autoptr(GString) text = g_string_new(NULL);
    gsize n_won = 0;
    for (gsize d = 0; d < wins->n_devices; d++)
    {
        g_autoptr(GPtrArray) own = g_ptr_array_new();
        for (gsize i = 0; i < n; i++)
            if (winners[i] == wins->aliases[d])
                g_ptr_array_add(own, (char *)stages[i]);
        g_autofree char *names = list_of(own);
        n_won += own->len;
        if (own->len == n && n > 1)
            return g_strdup_printf("%s is the fastest at every stage and size", wins->aliases[d]);
        if (own->len > 0)
            g_string_append_printf(text, "%s%s of %s", text->len > 0 ? ", " : "", wins->aliases[d], names);
    }
    if (n_won == 0)
        return g_strdup_printf("No stage has one fastest device at every size; %zu of %zu cells are not told apart",
                               wins->n_open, wins->n_all);
    return g_strdup_printf("The fastest at every size: %s", text->str);
}

/* --- how latencies grow ----------------------------------------------------------------------------------------------- */

char *ifm_growth_title(const IfmGrowth *growths, gsize n, double data_ratio)
{
    g_autoptr(GPtrArray) open = g_ptr_array_new();
    const IfmGrowth *most = NULL, *least = NULL; /* of those that surely grow */
    for (gsize i = 0; i < n; i++)
    {
        if (!growths[i].is_sure || growths[i].ratio <= 1)
        {
            g_ptr_array_add(open, (char *)growths[i].name);
            continue;
        }
        most = most == NULL || growths[i].ratio > most->ratio ? &growths[i] : most;
        least = least == NULL || growths[i].ratio < least->ratio ? &growths[i] : least;
    }
    const gsize n_sure = n - open->len;
    g_autofree char *data = ifm_say_number(data_ratio), *high = most != NULL ? ifm_say_number(most->ratio) : NULL,
                    *low = least != NULL ? ifm_say_number(least->ratio) : NULL, *rest = list_of(open);
    if (n == 0)
        return g_strdup("Latency of each stage over the data it reads");
    if (most == NULL || least == NULL)
        return g_strdup_printf("No latency surely grows from the least data to the most, %s times as much", data);
    if (n == 1)
        return g_strdup_printf("%s takes %s times as long for %s times the data", most->name, high, data);
    if (n_sure == 1)
        return g_strdup_printf("1 of %zu latencies surely grows with the data, to %s times: %s", n, high, most->name);
    return g_strdup_printf("%zu of %zu latencies surely grow with the data: from %s times as long, %s, to %s times, %s%s%s",
                           n_sure, n, low, least->name, high, most->name, open->len > 0 ? "; not " : "", rest);
}

/* --- where the time goes ---------------------------------------------------------------------------------------------- */

char *ifm_top_stages_title(const IfmTopStage *tops, gsize n)
{
    g_autoptr(GPtrArray) parts = g_ptr_array_new_with_free_func(g_free);
    gboolean is_same = n > 1, is_apart = TRUE;
    double low = INFINITY, high = 0;
    for (gsize i = 0; i < n; i++)
    {
        is_same = is_same && g_str_equal(tops[i].stage, tops[0].stage);
        is_apart = is_apart && tops[i].is_apart;
        low = fmin(low, tops[i].share);
        high = fmax(high, tops[i].share);
        g_autofree char *share = ifm_say_per_cent(tops[i].share);
        g_ptr_array_add(
            parts, g_strdup_printf(tops[i].is_apart ? "%s on %s (%s)" : "%s, or one not told apart from it, on %s (%s)",
                                   tops[i].stage, tops[i].alias, share));
    }
    g_autofree char *least = ifm_say_per_cent(low), *most = ifm_say_per_cent(high), *all = list_of(parts);
    if (n == 0)
        return g_strdup("No device has a latency of every stage: shares of the whole are not known");
    const gboolean is_most = low > 0.5; /* more than all else together, on each */
    if (is_same && is_apart)
        return g_strdup_printf("%s takes %s of the time on every device: %s to %s", tops[0].stage,
                               is_most ? "most" : "the largest part", least, most);
    return g_strdup_printf("%s of the time goes into %s", is_most ? "Most" : "The largest part", all);
}

/* --- how sure --------------------------------------------------------------------------------------------------------- */

char *ifm_widths_title(gsize n, gsize n_missed, gsize n_unknown, double target)
{
    g_autofree char *asked = ifm_say_per_cent(target);
    if (n == 0 || n_unknown == n)
        return g_strdup("No latency has an interval");
    if (!isfinite(target))
        return g_strdup("How well the latencies are known");
    g_autofree char *unknown =
        n_unknown > 0 ? g_strdup_printf("; %zu of %zu have no interval", n_unknown, n) : g_strdup("");
    if (n_missed == 0)
        return g_strdup_printf("All latencies%s are known to the ±%s asked for%s", n_unknown > 0 ? " with an interval" : "",
                               asked, unknown);
    return g_strdup_printf("%zu of %zu latencies are known less well than the ±%s asked for%s", n_missed, n, asked,
                           unknown);
}

char *ifm_widths_answer(gsize n, gsize n_unknown, double middle)
{
    g_autofree char *half = ifm_say_per_cent(middle);
    if (n == 0)
        return g_strdup("Nothing is known: there is no latency.");
    if (!isfinite(middle))
        return g_strdup("How well the latencies are known is not known: none has an interval.");
    if (n_unknown > 0)
        return g_strdup_printf("The median latency is known to ±%s; %zu of %zu have no interval.", half, n_unknown, n);
    return g_strdup_printf("The median latency is known to ±%s, by the runs of one process.", half);
}

char *ifm_coverage_title(const char *const *lacking, gsize n, gsize n_measured, gsize n_all)
{
    g_autofree char *names = ifm_say_list(lacking, n, NAMED);
    if (n == 0)
        return g_strdup_printf("All %zu stages and sizes have a latency on every device", n_all);
    return g_strdup_printf("%zu of %zu have a latency; sizes lack in %s", n_measured, n_all, names);
}
