#include <base/fields.h>
#include <math.h>

#include "profile-page-private.h"

/* Of several devices: which is the fastest, as far as rounds of fresh processes tell them apart. */

/* The rival that is nearest to the leader, by its ratio. NULL: there is none. */
static const json_t *nearest_rival(const json_t *rounds)
{
    const json_t *sides = json_object_get(rounds, "sides"), *nearest = NULL;
    const gsize leader = (gsize)json_integer_value(json_object_get(rounds, "leader"));
    for (gsize i = 0; i < json_array_size(sides); i++)
    {
        const json_t *side = json_array_get(sides, i);
        if (i != leader && (nearest == NULL || ifm_member_number(side, "ratio") < ifm_member_number(nearest, "ratio")))
            nearest = side;
    }
    return nearest;
}

/* "0.97 to 1.12" (transfer full) */
static char *range_of(const json_t *rival)
{
    g_autofree char *least = g_strdup_printf("%.3g", ifm_member_number(rival, "least_ratio")),
                    *most = g_strdup_printf("%.3g", ifm_member_number(rival, "most_ratio"));
    return g_str_equal(least, most) ? g_strdup(least) : g_strdup_printf("%s to %s", least, most);
}

#define ROUNDS 6 /* all of which one leads by chance in 3.1 % */

static void add_verdict(IfmDocument *document, const json_t *rounds, const json_t *rival)
{
    const json_t *leader =
        json_array_get(json_object_get(rounds, "sides"), (gsize)json_integer_value(json_object_get(rounds, "leader")));
    const char *verdict = ifm_member_text(rounds, "verdict"), *name = ifm_member_text(leader, "name"),
               *other = ifm_member_text(rival, "name");
    const int n = (int)ifm_member_number(rounds, "n_rounds"), n_led = (int)ifm_member_number(rounds, "n_led");
    g_autofree char *range = range_of(rival), *taken = g_str_equal(range, "1")
                                                           ? g_strdup("takes as long")
                                                           : g_strdup_printf("takes %s times its time", range);
    if (g_strcmp0(verdict, "fastest") == 0)
        ifm_document_text(document, "fastest: %s led all %d rounds of fresh processes, %.3g times as fast as %s (%s)", name,
                          n, ifm_member_number(rival, "ratio"), other, range);
    else if (g_strcmp0(verdict, "led all") == 0)
        ifm_document_text(document,
                          "not told apart: %s led %d of %d round%s of fresh processes, and %d are needed to call it the "
                          "fastest: %s; %s %s",
                          name, n_led, n, ifm_plural((gsize)n), MAX(ROUNDS, n),
                          g_strcmp0(ifm_member_text(rounds, "stopped"), "time-budget") == 0
                              ? "the time for more was spent (--time-budget)"
                              : "they were interrupted",
                          other, taken);
    else
        ifm_document_text(
            document,
            "not told apart: %s led %d of %d round%s of fresh processes, and only one that leads all of %d is "
            "called the fastest; %s %s",
            name, n_led, n, ifm_plural((gsize)n), MAX(ROUNDS, n), other, taken);
}

/* One process of each proves nothing. */
static void add_of_single_runs(IfmDocument *document, const IfmProfileReport *report)
{
    const char *name = NULL, *next_name = NULL;
    double best_ns = INFINITY, next_ns = INFINITY;
    for (gsize i = 0; i < report->n_devices; i++)
    {
        const IfmResult *result = &report->devices[i].result;
        IfmTiming timing;
        ifm_timing_of(ifm_result_measured(result), &timing);
        if (timing.median_ns < best_ns)
        {
            next_ns = best_ns;
            next_name = name;
            best_ns = timing.median_ns;
            name = ifm_result_name(result);
        }
        else if (timing.median_ns < next_ns)
        {
            next_ns = timing.median_ns;
            next_name = ifm_result_name(result);
        }
    }
    if (next_name != NULL)
        ifm_document_text(document,
                          "lower in this run: %s; %s took %.3g times as long. One process of each does not tell them "
                          "apart%s%s",
                          name, next_name, next_ns / best_ns,
                          report->why_not_rounds != NULL ? "; they were not compared in rounds: " : "",
                          report->why_not_rounds != NULL ? report->why_not_rounds : "");
}

const json_t *ifm_profile_rounds(const IfmProfileReport *report)
{
    return report->rounds != NULL ? ifm_measurement_result(report->rounds, "rounds") : NULL;
}

void ifm_profile_add_headline(IfmDocument *document, const IfmProfileReport *report)
{
    const json_t *rounds = ifm_profile_rounds(report), *rival = nearest_rival(rounds), *note;
    gsize i;
    if (rival == NULL)
    {
        add_of_single_runs(document, report);
        return;
    }
    add_verdict(document, rounds, rival);
    json_array_foreach(json_object_get(rounds, "notes"), i, note)
        ifm_document_warning(document, "in the rounds: %s", json_string_value(note));
}
