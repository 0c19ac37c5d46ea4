#include <base/fields.h>
#include <base/statistics.h>
#include <store/store.h>

#include <math.h>
#include <string.h>

#include "measure-private.h"

/* Who leads rounds of several: the rule, and how it is written down. */

/* @buffer: [n_rounds], sorted afterwards */
static void column(const double *log_ns, gsize n_rounds, gsize n, gsize at, double *buffer)
{
    for (gsize round = 0; round < n_rounds; round++)
        buffer[round] = log_ns[round * n + at];
    ifm_sort_doubles(buffer, n_rounds);
}

static gsize least_median(const double *log_ns, gsize n_rounds, gsize n)
{
    g_autofree double *buffer = g_new(double, n_rounds);
    double least = INFINITY;
    gsize leader = 0;
    for (gsize at = 0; at < n; at++)
    {
        column(log_ns, n_rounds, n, at, buffer);
        if (buffer[n_rounds / 2] < least)
        {
            least = buffer[n_rounds / 2];
            leader = at;
        }
    }
    return leader;
}

gboolean ifm_lead_is_of(const double *round, gsize n, gsize at)
{
    for (gsize other = 0; other < n; other++)
        if (other != at && !(round[at] < round[other]))
            return FALSE;
    return TRUE;
}

static IfmRival rival_of(const double *log_ns, gsize n_rounds, gsize n, gsize leader, gsize at)
{
    g_autofree double *ratios = g_new(double, n_rounds);
    for (gsize round = 0; round < n_rounds; round++)
        ratios[round] = exp(log_ns[round * n + at] - log_ns[round * n + leader]);
    ifm_sort_doubles(ratios, n_rounds);
    return (IfmRival){ ifm_quantile(ratios, n_rounds, 0.5), ratios[0], ratios[n_rounds - 1] };
}

void ifm_lead_judge(const double *log_ns, gsize n_rounds, gsize n, double level, IfmLead *lead, IfmRival *rivals)
{
    *lead = (IfmLead){ .leader = least_median(log_ns, n_rounds, n), .n_rounds = n_rounds };
    for (gsize round = 0; round < n_rounds; round++)
        lead->n_led += ifm_lead_is_of(log_ns + round * n, n, lead->leader);
    lead->told_apart = lead->n_led == n_rounds && ldexp(1, 1 - (int)MIN(n_rounds, 1000)) <= (1 - level) * (1 + 1e-12);
    for (gsize at = 0; at < n; at++)
        rivals[at] = rival_of(log_ns, n_rounds, n, lead->leader, at);
}

void ifm_rounds_of_side(const json_t *json, gsize side, IfmRoundsOfOne *of)
{
    const json_t *rounds = json_object_get(json, "rounds");
    const gsize n = json_array_size(rounds);
    const double level = ifm_member_number(json, "level");
    g_autofree double *medians = g_new(double, n + 1);
    *of = (IfmRoundsOfOne){ n, NAN, NAN, NAN, { NAN, NAN, level } };
    for (gsize i = 0; i < n; i++)
        medians[i] = json_number_value(json_array_get(json_object_get(json_array_get(rounds, i), "median_ns"), side));
    if (n == 0)
        return;
    ifm_sort_doubles(medians, n);
    of->median_ns = ifm_quantile(medians, n, 0.5);
    of->least_ns = medians[0];
    of->most_ns = medians[n - 1];
    if (ldexp(1, 1 - (int)MIN(n, 1000)) <= (1 - level) * (1 + 1e-12))
        of->interval = (IfmInterval){ of->least_ns, of->most_ns, level };
}

void ifm_rounds_of_one(const IfmMeasurement *measurement, IfmRoundsOfOne *of)
{
    ifm_rounds_of_side(ifm_measurement_result(measurement, "rounds"),
                       (gsize)json_integer_value(ifm_measurement_result(measurement, "side")), of);
}

void ifm_rounds_clear(IfmRounds *rounds)
{
    g_clear_pointer(&rounds->json, json_decref);
    for (gsize i = 0; i < rounds->n; i++)
    {
        if (rounds->cases != NULL)
            ifm_case_free(rounds->cases[i]);
        if (rounds->measurements != NULL)
            ifm_measurement_free(rounds->measurements[i]);
    }
    g_clear_pointer(&rounds->cases, g_free);
    g_clear_pointer(&rounds->measurements, g_free);
    rounds->n = 0;
}

const json_t *ifm_rounds_stored(const IfmMeasurement *measurement, IfmCase *const *cases, gsize n)
{
    const json_t *json = ifm_measurement_result(measurement, "rounds"), *sides = json_object_get(json, "sides");
    if (g_strcmp0(measurement->stop_reason, ifm_stop_reason_name(IFM_STOP_INTERRUPTED)) == 0 || json_array_size(sides) != n)
        return NULL;
    for (gsize i = 0; i < n; i++)
        if (g_strcmp0(ifm_member_text(json_array_get(sides, i), "case"), cases[i]->key) != 0)
            return NULL;
    return json;
}
