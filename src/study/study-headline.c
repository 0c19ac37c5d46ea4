#include <math.h>
#include <string.h>

#include <base/base.h>
#include <base/fields.h>
#include <document/summary.h>
#include <document/words.h>
#include <store/store.h>
#include <store/trust.h>

#include "study-answers.h"
#include "study-pages.h"

/* What a study comes to: how much of it is done, what it answers, how far its figures may be trusted, and what to do next.
 */

#define NAMED 3 /* devices in a sentence */
#define ASK_TWICE "Measure again on another day what you act on: one process of each case was measured"

/* --- trust ------------------------------------------------------------------------------------------------------------ */

/* What others used while the cases were measured, but for simulated devices, whose clock runs as it is told. */
static void check_disturbance(IfmDocument *document, const IfmStudyTables *tables)
{
    g_autoptr(GArray) shares = g_array_new(FALSE, FALSE, sizeof(double));
    gsize n_disturbed = 0;
    for (guint i = 0; i < tables->rows->len; i++)
    {
        const IfmStudyRow *row = tables->rows->pdata[i];
        const double share =
            row->measurement != NULL ? ifm_member_number(row->measurement->environment, "others_ratio") : (double)NAN;
        if (row->reason != NULL || !isfinite(share) || row->device->simulated)
            continue;
        n_disturbed += ifm_measurement_is_disturbed(row->measurement);
        g_array_append_val(shares, share);
    }
    ifm_document_disturbances(document, shares, n_disturbed, "case");
}

static void check_states(IfmDocument *document, const gsize counts[IFM_ROW_STATES], gsize n)
{
    ifm_document_check_count(document, IFM_TRUST_CARE, counts[IFM_ROW_FAILED], n, "cases failed");
    if (counts[IFM_ROW_IMPLAUSIBLE] > 0)
        ifm_document_check(document, IFM_TRUST_CARE, "%zu latenc%s implausible: another size contradicts %s",
                           counts[IFM_ROW_IMPLAUSIBLE], counts[IFM_ROW_IMPLAUSIBLE] == 1 ? "y is" : "ies are",
                           counts[IFM_ROW_IMPLAUSIBLE] == 1 ? "it" : "them");
    ifm_document_check_count(document, IFM_TRUST_CARE, counts[IFM_ROW_LEFT], n, "cases are still to be measured");
}

static void check_precision(IfmDocument *document, const IfmStudyTables *tables)
{
    const IfmPrecisionCount count = ifm_study_precision(tables, NULL, 0);
    g_autofree char *target = ifm_say_per_cent(ifm_study_target(tables)), *widest = ifm_say_per_cent(count.widest);
    if (count.n == 0 || tables->imported)
        return;
    if (count.n_missed == 0 && count.n_unknown == 0)
        ifm_document_check(document, IFM_TRUST_GOOD, "all latencies are known to ±%s", target);
    if (count.n_missed > 0)
        ifm_document_check(document, IFM_TRUST_CARE, "%zu of %zu latencies are known less well than ±%s, the widest to ±%s",
                           count.n_missed, count.n, target, widest);
    ifm_document_check_count(document, IFM_TRUST_CARE, count.n_unknown, count.n,
                             "latencies have no interval: too few runs");
}

/* Where the figures come from; how they were measured, by the first that was. */
static void check_origin(IfmDocument *document, const IfmStudyTables *tables)
{
    for (guint i = 0; i < tables->devices->len; i++)
    {
        const IfmStudyDevice *device = tables->devices->pdata[i];
        const char *name = device->device != NULL ? device->device : "imported", *reason = device->reason;
        const gboolean named = reason != NULL && g_str_has_prefix(reason, name); /* a reason may begin with its device */
        g_autofree char *what = g_strdup_printf("%s%s%s", named ? "" : name, reason != NULL && !named ? ": " : "",
                                                reason != NULL ? reason : "");
        ifm_document_provenance_device(document, device->alias, what);
        if (device->simulated)
            ifm_document_check_of(document, IFM_TRUST_CARE, device->alias, "simulated: the figures",
                                  "come from a description, not from a device");
    }
    if (tables->imported)
        ifm_document_check(document, IFM_TRUST_UNCHECKED,
                           "measured elsewhere: outputs, disturbance and drift are not known");
    for (guint i = 0; i < tables->rows->len; i++)
    {
        const IfmStudyRow *row = tables->rows->pdata[i];
        if (row->reason != NULL || row->measurement == NULL)
            continue;
        ifm_document_provenance_of(document, row->measurement);
        break;
    }
}

/* --- stages ----------------------------------------------------------------------------------------------------------- */

/* @wins: (inout) on how many stages and sizes each device is the fastest for sure */
static void take_sizes(const GPtrArray *latencies, IfmWins *wins)
{
    for (guint i = 0; i < latencies->len; i++)
    {
        const IfmSizeLatencies *size = latencies->pdata[i];
        for (guint k = 0; k < size->stages->len; k++)
            ifm_wins_take(wins, size->stages->pdata[k]);
    }
}

/* What a point is called, or the stage and size. (transfer full) */
static char *name_of(const IfmStudyRow *row)
{
    return row->title != NULL ? g_strdup(row->title)
                              : g_strdup_printf("stage %d at %" G_GINT64_FORMAT " nodes, %" G_GINT64_FORMAT " edges",
                                                row->stage, row->nodes, row->edges);
}

/* Of points without a rule of their own: the least and the greatest latency. */
static void say_points(IfmDocument *document, const IfmStudyTables *tables)
{
    const IfmStudyRow *least = NULL, *most = NULL;
    for (guint i = 0; i < tables->rows->len; i++)
    {
        const IfmStudyRow *row = tables->rows->pdata[i];
        if (row->reason != NULL || !isfinite(row->median_ns))
            continue;
        least = least == NULL || row->median_ns < least->median_ns ? row : least;
        most = most == NULL || row->median_ns > most->median_ns ? row : most;
    }
    if (least == NULL)
    {
        ifm_document_verdict(document, "No latency was measured");
        return;
    }
    g_autofree char *low = ifm_say_duration(least->median_ns), *high = ifm_say_duration(most->median_ns);
    ifm_document_verdict(document, "Latencies from %s to %s", low, high);
    g_autofree char *of_least = name_of(least), *of_most = name_of(most);
    ifm_document_verdict_more(document, "%s on %s is the lowest, %s on %s the highest", of_least, least->device->alias,
                              of_most, most->device->alias);
}

/* Another device that is the lowest as often; @best itself: there is none. */
static guint rival_of(const gsize *wins, guint n, guint best)
{
    for (guint i = 0; i < n; i++)
        if (i != best && wins[i] == wins[best])
            return i;
    return best;
}

static void say_stages(IfmDocument *document, const IfmStudyTables *tables, const GPtrArray *latencies, const char *folder)
{
    g_autofree gsize *wins = g_new0(gsize, tables->devices->len + 1);
    IfmWins tally = { .wins = wins };
    take_sizes(latencies, &tally);
    g_autoptr(GString) more = g_string_new(NULL);
    guint best = 0, n_named = 0;
    for (guint i = 0; i < tables->devices->len; i++)
    {
        const IfmStudyDevice *device = tables->devices->pdata[i];
        best = wins[i] > wins[best] ? i : best;
        if (!ifm_study_has_latency(tables, device))
            continue;
        g_string_append_printf(more, "%s%s %zu", more->len > 0 ? ", " : "", device->alias, wins[i]);
        g_autofree char *label = g_strdup_printf("%s lowest", device->alias), *value = g_strdup_printf("%zu", wins[i]),
                        *of = g_strdup_printf("of %zu stages and sizes", tally.n_all);
        if (n_named++ < NAMED && tally.n_open < tally.n_all)
            ifm_document_tile(document,
                              &(IfmTile){ label, value, of, (double)wins[i] / (double)tally.n_all, device->alias });
    }
    if (tally.n_all == 0) /* one device alone has no rival */
    {
        say_points(document, tables);
        return;
    }
    const guint rival = rival_of(wins, tables->devices->len, best);
    const char *alias = ((const IfmStudyDevice *)tables->devices->pdata[best])->alias;
    if (tally.n_open == tally.n_all)
        ifm_document_verdict(document, "No device is told apart at any of %zu stages and sizes", tally.n_all);
    else if (rival != best)
        ifm_document_verdict(document, "%s and %s take the least time equally often: in %zu of %zu stages and sizes each",
                             alias, ((const IfmStudyDevice *)tables->devices->pdata[rival])->alias, wins[best],
                             tally.n_all);
    else if (wins[best] == tally.n_all)
        ifm_document_verdict(document, "%s takes the least time of all %zu stages and sizes", alias, tally.n_all);
    else
        ifm_document_verdict(document, "%s takes the least time most often: in %zu of %zu stages and sizes", alias,
                             wins[best], tally.n_all);
    g_string_append_printf(more, "; %zu not told apart by one process of each", tally.n_open);
    if (tables->imported && tally.n_open == tally.n_all)
        g_string_assign(more, "The latencies were read in without intervals");
    ifm_document_verdict_more(document, "%s", more->str);
    g_autofree char *command = folder != NULL ? ifm_say_command("plan", folder, NULL) : NULL;
    ifm_document_next(document, command, NULL, "Let the devices work together: search the best plan of these figures");
}

/* "2 of 3 devices": those that have a latency, once one has. (transfer full) */
static char *say_devices(const IfmStudyTables *tables)
{
    const guint n = tables->devices->len;
    guint n_here = 0;
    for (guint i = 0; i < n; i++)
        n_here += ifm_study_has_latency(tables, tables->devices->pdata[i]);
    if (n_here == 0 || n_here == n)
        return g_strdup_printf("%u device%s", n, ifm_plural(n));
    return g_strdup_printf("%u of %u devices", n_here, n);
}

/* --- all kinds -------------------------------------------------------------------------------------------------------- */

void ifm_study_add_headline(IfmDocument *document, const IfmStudyTables *tables, const GPtrArray *latencies,
                            const char *folder)
{
    gsize counts[IFM_ROW_STATES], n_absent, n = ifm_study_count(tables, 0, counts, &n_absent);
    const gsize n_done = n - counts[IFM_ROW_LEFT];
    g_autofree char *devices = say_devices(tables);
    ifm_document_subject(document, "%s%s%s%s · %s · %zu cases", tables->name, tables->title != NULL ? " · " : "",
                         tables->title != NULL ? tables->title : "", tables->imported ? " (imported)" : "", devices, n);
    if (counts[IFM_ROW_MEASURED] == 0 && counts[IFM_ROW_IMPLAUSIBLE] == 0)
        ifm_document_verdict(document, "Nothing was measured: %zu of %zu cases were tried", n_done, n);
    else if (latencies != NULL)
        say_stages(document, tables, latencies, folder);
    else if (document->summary->verdict == NULL) /* a kind may have one of its own */
        say_points(document, tables);
    check_origin(document, tables);
    check_states(document, counts, n);
    check_precision(document, tables);
    check_disturbance(document, tables);
    if (counts[IFM_ROW_LEFT] > 0)
    {
        g_auto(GStrv) shipped = ifm_study_names(); /* the file of another is not known */
        const gboolean known = folder != NULL && g_strv_contains((const char *const *)shipped, tables->name);
        g_autofree char *command = known ? ifm_say_command("study", "run", tables->name, "-o", folder, NULL) : NULL;
        ifm_document_next(document, command, NULL, "Resume: the same command measures what is pending");
        ifm_document_so_far(document, n_done, n);
    }
    if (document->summary->actions->len == 0)
    {
        g_autofree char *page = folder != NULL ? ifm_say_command("report", folder, "-o", "report.html", NULL) : NULL;
        ifm_document_next(document, page, NULL, page != NULL ? "See all of it on a page, with its figures" : ASK_TWICE);
    }
    g_autofree char *measured = g_strdup_printf("%zu", counts[IFM_ROW_MEASURED]), *of = g_strdup_printf("of %zu cases", n);
    ifm_document_tile(document,
                      &(IfmTile){ "measured", measured, of, n > 0 ? (double)counts[IFM_ROW_MEASURED] / (double)n : NAN });
}
