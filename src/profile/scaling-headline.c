#include <math.h>
#include <string.h>

#include <base/base.h>
#include <base/fields.h>
#include <document/summary.h>
#include <document/words.h>
#include <store/trust.h>

#include "profile-findings.h"
#include "scaling-private.h"

/* What a scaling comes to: how the time grows beside the work, from where on it departs, and how far that may be trusted.
 */

#define NAMED 3 /* devices in a sentence */

/* "nodes^1.02" (transfer full) */
static char *power_of(const IfmScalingPart *part, const IfmPowerFit *fit)
{
    g_autofree char *exponent = ifm_say_number(fit->exponent);
    return g_strdup_printf("%s^%s", part->row->axis, exponent);
}

static const char *device_of(const IfmScalingPart *part)
{
    return part->device != NULL ? ifm_result_name(part->device) : "";
}

static const char *what_of(const IfmScalingPart *part)
{
    return part->kind >= 0 ? ifm_pass_words(part->kind) : "inference";
}

/* How the time's exponent stands to that of the FLOP: apart only where neither interval reaches into the other. */
static const char *beside_work(const IfmScaling *scaling)
{
    const IfmInterval *time = &scaling->time.interval, *flop = &scaling->flop.interval;
    if (!scaling->has_flop)
        return "";
    if (isfinite(time->upper) && time->upper < fmin(flop->lower, scaling->flop.exponent))
        return ", more slowly than the FLOP";
    if (isfinite(time->lower) && time->lower > fmax(flop->upper, scaling->flop.exponent))
        return ", faster than the FLOP";
    return ", not told apart from the FLOP";
}

static void say_growth(IfmDocument *document, const IfmScalingPart *part)
{
    const IfmScaling *scaling = part->scaling;
    const IfmInterval *interval = &scaling->time.interval;
    const gboolean is_open = !ifm_growth_is_known(&scaling->time);
    g_autofree char *grows = power_of(part, &scaling->time), *works = power_of(part, &scaling->flop),
                    *range = ifm_say_numbers(interval->lower, interval->upper);
    if (is_open)
        ifm_document_verdict(document, "How the time of %s %s grows with %s on %s is not known",
                             part->kind >= 0 ? "a" : "an", what_of(part), part->row->axis, device_of(part));
    else
        ifm_document_verdict(document, "The time of %s %s grows as %s on %s%s", part->kind >= 0 ? "a" : "an", what_of(part),
                             grows, device_of(part), beside_work(scaling));
    ifm_document_verdict_more(document, "The exponent is %s with %.3g" IFM_NO_BREAK "%% confidence%s%s", range,
                              100 * interval->level, scaling->has_flop ? "; the FLOP grow as " : "",
                              scaling->has_flop ? works : "");
    if (scaling->has_flop && !is_open)
        ifm_document_estimate(document, &(IfmVerdictRange){ scaling->time.exponent, interval->lower, interval->upper,
                                                            scaling->flop.exponent, FALSE, IFM_FIELD_REAL, "as the FLOP",
                                                            "more slowly than the FLOP", "faster than the FLOP" });
}

/* Without an exponent: the first and the last time; without times: the work. */
static void say_ends(IfmDocument *document, const IfmScalingPart *part)
{
    const IfmScalingPoint *first = NULL, *last = NULL;
    for (gsize i = 0; i < part->row->n; i++)
        if (isfinite(part->points[i].time_ns))
        {
            first = first == NULL ? &part->points[i] : first;
            last = &part->points[i];
        }
    g_autofree char *work = power_of(part, &part->scaling->flop),
                    *from = ifm_say_duration(first != NULL ? first->time_ns : (double)NAN),
                    *to = ifm_say_duration(first != NULL ? last->time_ns : (double)NAN);
    if (first != NULL)
        ifm_document_verdict(document, "%s takes %s at %s %s and %s at %s on %s", what_of(part), from, part->row->axis,
                             first->value, to, last->value, device_of(part));
    else if (part->device != NULL)
        ifm_document_verdict(document, "No point of %s gave a latency on %s", part->row->axis, device_of(part));
    else if (part->scaling->has_flop)
        ifm_document_verdict(document, "The FLOP grow as %s; nothing was measured", work);
    else
        ifm_document_verdict(document, "How it grows with %s is not known; nothing was measured", part->row->axis);
    if (part->scaling->why != NULL && ifm_scaling_has_numbers(part) && part->device != NULL)
        ifm_document_verdict_more(document, "No exponent: %s", part->scaling->why);
}

/* The first point that departs from its work, and what it costs there. */
static void say_departure(IfmDocument *document, const IfmScalingPart *part)
{
    for (gsize i = 0; i < part->row->n; i++)
    {
        const IfmScalingLine *line = &part->lines[i];
        const double excess_ns = line->point.time_ns * (1 - 1 / line->departure);
        if (line->departs != IFM_DEPARTS)
            continue;
        const char *source = part->row->reports[i].source;
        g_autofree char *times = ifm_say_number(line->departure), *time = ifm_say_duration(excess_ns),
                        *gain = g_strdup_printf("at most %s there", time),
                        *setting = g_strdup_printf("%s=%s", part->row->axis, line->point.value),
                        *command = source != NULL && part->device != NULL
                                       ? ifm_say_command("profile", source, "-d", part->device->device,
                                                         strstr(source, setting) == NULL ? "--dim" : NULL, setting, NULL)
                                       : NULL;
        ifm_document_next(document, command, gain, "See what takes %s times as long as the FLOP alone at %s %s", times,
                          part->row->axis, line->point.value);
        return;
    }
}

static void check_points(IfmDocument *document, const IfmScalingPart *part, gboolean is_told)
{
    gsize n_failed = 0, n_disturbed = 0, n_doubtful = 0;
    const gsize n = part->row->n;
    for (gsize i = 0; i < n && part->device != NULL; i++)
    {
        n_failed += part->points[i].reason != NULL && !part->points[i].implausible;
        n_disturbed += part->points[i].disturbed;
        n_doubtful += part->points[i].implausible || part->points[i].doubt != NULL;
    }
    const struct
    {
        gsize n;
        const char *words;
    } counts[] = { { n_failed, "gave no latency" },
                   { n_disturbed, "were disturbed: nothing is concluded from them" },
                   { n_doubtful, "are implausible: other points contradict them" } };
    for (gsize i = 0; i < G_N_ELEMENTS(counts); i++)
        if (counts[i].n > 0)
            ifm_document_check(document, is_told && 2 * counts[i].n > n ? IFM_TRUST_BAD : IFM_TRUST_CARE,
                               "%zu of %zu points on %s %s", counts[i].n, n, device_of(part), counts[i].words);
}

/* Of the first model that there is. */
static const char *source_of(const IfmScalingRow *row)
{
    gsize i = 0;
    while (i < row->n && (row->refusals[i] != NULL || row->reports[i].source == NULL))
        i++;
    return i < row->n ? row->reports[i].source : "a model";
}

void ifm_scaling_add_headline(IfmDocument *document, const GPtrArray *parts)
{
    const IfmScalingPart *told = parts->len > 0 ? parts->pdata[0] : NULL;
    g_autoptr(GPtrArray) results = g_ptr_array_new();
    if (told == NULL)
        return;
    for (guint at = 0; at < parts->len; at++)
    {
        const IfmScalingPart *part = parts->pdata[at];
        told = !told->scaling->has_time && part->scaling->has_time ? part : told;
        for (gsize i = 0; i < part->row->n; i++)
            if (part->lines[i].result != NULL)
                g_ptr_array_add(results, (gpointer)part->lines[i].result);
        g_autofree char *grows = power_of(part, &part->scaling->time),
                        *label = g_strdup_printf("%s, %s", device_of(part), part->row->axis),
                        *range = ifm_say_numbers(part->scaling->time.interval.lower, part->scaling->time.interval.upper),
                        *of = g_strdup_printf("exponent %s", range);
        if (part->scaling->has_time && at < NAMED)
            ifm_document_tile(document, &(IfmTile){ label, grows, of, NAN });
    }
    ifm_document_subject(document, "%s · %zu points of %s", source_of(told->row), told->row->n, told->row->axis);
    if (told->scaling->has_time)
        say_growth(document, told);
    else
        say_ends(document, told);
    for (guint at = 0; at < parts->len; at++)
        check_points(document, parts->pdata[at], parts->pdata[at] == told);
    ifm_document_trust_all(document, results, "point");
    say_departure(document, told);
}
