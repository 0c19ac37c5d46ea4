#include <math.h>
#include <string.h>

#include "report-private.h"

/* What a person reads of a study: on the screen, and in profiling_report.txt. */

/* "2 h 14 min", "3 min 20 s", "12.3 s". (transfer full) */
static char *long_time(gint64 ns)
{
    gint64 seconds = (ns + 500000000) / 1000000000;
    if (seconds >= 3600)
        return g_strdup_printf("%d h %d min", (int)(seconds / 3600), (int)(seconds / 60 % 60));
    if (seconds >= 120)
        return g_strdup_printf("%d min %d s", (int)(seconds / 60), (int)(seconds % 60));
    return ifm_format_duration((double)ns);
}

static gboolean any_simulated(const IfmStudyTables *tables)
{
    for (guint i = 0; i < tables->devices->len; i++)
        if (((const IfmStudyDevice *)tables->devices->pdata[i])->simulated)
            return TRUE;
    return FALSE;
}

static void append_mark_note(GString *out, const IfmStudyTables *tables, const IfmScreen *screen)
{
    if (any_simulated(tables))
        ifm_page_wrapped(out, "* simulated: figures of a described device, measured on no hardware", screen);
}

/* --- devices ---------------------------------------------------------------------------------------------------------- */

typedef struct
{
    const IfmStudyDevice *device; /* NULL: all links */
    gsize n_links;
    gboolean imported;
    gsize counts[IFM_ROW_STATES];
} DeviceLine;

static void get_device_alias(const void *record, const void *user, IfmValue *value)
{
    const IfmStudyDevice *device = ((const DeviceLine *)record)->device;
    ifm_value_set_text(value, device != NULL ? device->alias : "links");
}

static void get_device_spec(const void *record, const void *user, IfmValue *value)
{
    const DeviceLine *line = record;
    if (line->device != NULL)
        ifm_value_set_text(value, line->device->device);
    else
        ifm_value_take_text(value, g_strdup_printf("%" G_GSIZE_FORMAT " between them", line->n_links));
}

static void get_device_kind(const void *record, const void *user, IfmValue *value)
{
    const DeviceLine *line = record;
    if (line->device == NULL)
        return;
    const struct
    {
        gboolean is;
        const char *word;
    } kinds[] = {
        { line->device->simulated, "simulated" },
        { line->imported, "imported" },
        { line->device->reason != NULL, "not here" },
        { TRUE, "real" },
    };
    gsize kind = 0;
    while (!kinds[kind].is)
        kind++;
    ifm_value_set_text(value, kinds[kind].word);
    value->tone = kind + 1 < G_N_ELEMENTS(kinds) ? IFM_TONE_WARN : IFM_TONE_GOOD;
}

static void get_device_form(const void *record, const void *user, IfmValue *value)
{
    if (((const DeviceLine *)record)->device != NULL)
        ifm_value_set_text(value, ifm_study_form_name(((const DeviceLine *)record)->device->form));
}

static void get_device_phase(const void *record, const void *user, IfmValue *value)
{
    if (((const DeviceLine *)record)->device != NULL)
        ifm_value_set_integer(value, ((const DeviceLine *)record)->device->phase);
}

static void get_device_count(const void *record, const void *user, IfmValue *value)
{
    static const IfmTone tones[IFM_ROW_STATES] = { IFM_TONE_GOOD, IFM_TONE_BAD, IFM_TONE_WARN, IFM_TONE_PLAIN };
    gsize count = ((const DeviceLine *)record)->counts[GPOINTER_TO_UINT(user)];
    ifm_value_set_integer(value, (gint64)count);
    value->tone = count > 0 ? tones[GPOINTER_TO_UINT(user)] : IFM_TONE_DIM;
}

#define COUNT(state) GUINT_TO_POINTER(state)
#define COUNT_FIELDS                                                                                                       \
    { "measured", "measured", IFM_FIELD_INTEGER, get_device_count, COUNT(IFM_ROW_MEASURED) },                              \
        { "failed", "failed", IFM_FIELD_INTEGER, get_device_count, COUNT(IFM_ROW_FAILED) },                                \
        { "skipped", "skipped", IFM_FIELD_INTEGER, get_device_count, COUNT(IFM_ROW_SKIPPED) },                             \
    {                                                                                                                      \
        "left", "left", IFM_FIELD_INTEGER, get_device_count, COUNT(IFM_ROW_LEFT)                                           \
    }

static const IfmField device_fields[] = {
    { "alias", "alias", IFM_FIELD_TEXT, get_device_alias, NULL, IFM_FIELD_WHOLE },
    { "device", "device", IFM_FIELD_TEXT, get_device_spec, NULL, IFM_FIELD_WHOLE },
    { "kind", "is", IFM_FIELD_TEXT, get_device_kind, NULL, IFM_FIELD_WHOLE },
    COUNT_FIELDS,
    { "models", "models", IFM_FIELD_TEXT, get_device_form },
    { "phase", "phase", IFM_FIELD_INTEGER, get_device_phase },
    { NULL },
};

/* What is being waited for. */
static const IfmField status_fields[] = {
    { "alias", "alias", IFM_FIELD_TEXT, get_device_alias, NULL, IFM_FIELD_WHOLE },
    { "device", "device", IFM_FIELD_TEXT, get_device_spec, NULL, IFM_FIELD_WHOLE },
    { "kind", "is", IFM_FIELD_TEXT, get_device_kind, NULL, IFM_FIELD_WHOLE },
    COUNT_FIELDS,
    { NULL },
};

static void append_devices(GString *out, const IfmStudyTables *tables, const IfmField *fields, const IfmScreen *screen)
{
    g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; i < tables->devices->len; i++)
    {
        DeviceLine *line = g_new0(DeviceLine, 1);
        line->device = tables->devices->pdata[i];
        line->imported = tables->imported;
        ifm_stage_row_count(tables, line->device, 0, line->counts);
        g_ptr_array_add(lines, line);
    }
    DeviceLine *links = tables->links->len > 0 ? g_new0(DeviceLine, 1) : NULL;
    for (guint i = 0; i < tables->links->len; i++)
        ifm_link_count(tables->links->pdata[i], links->counts);
    if (links != NULL)
    {
        links->n_links = tables->links->len;
        g_ptr_array_add(lines, links);
    }
    ifm_page_table(out, fields, lines, screen);
}

/* Names of hardware are long, and cut in their middle they are none. */
static void append_hardware(GString *out, const IfmStudyTables *tables, const IfmScreen *screen)
{
    for (guint i = 0; i < tables->devices->len; i++)
    {
        const IfmStudyDevice *device = tables->devices->pdata[i];
        if (device->description != NULL && *device->description != '\0')
            ifm_page_told(out, device->alias, IFM_TONE_PLAIN, device->description, screen);
    }
}

static void append_title(GString *out, const IfmStudyTables *tables, const IfmScreen *screen)
{
    g_string_append(out, ifm_bold_begin(screen));
    ifm_page_spelt(out, tables->name, screen);
    g_string_append(out, ifm_bold_end(screen));
    g_string_append(out, "  ");
    ifm_page_spelt(out, tables->title != NULL ? tables->title : "", screen);
    g_string_append(out, tables->imported ? "  (imported)\n" : "\n");
}

/* What there is of a study under way is of use, but nobody should take it for all of it. */
static void append_banner(GString *out, const IfmStudyTables *tables, const IfmScreen *screen)
{
    gsize counts[IFM_ROW_STATES], n_absent, n = 0;
    ifm_study_count(tables, 0, counts, &n_absent);
    for (int state = 0; state < IFM_ROW_STATES; state++)
        n += counts[state];
    if (counts[IFM_ROW_LEFT] == 0)
        return;
    g_autofree char *text = g_strdup_printf("%" G_GSIZE_FORMAT " of %" G_GSIZE_FORMAT " cases are still to be measured",
                                            counts[IFM_ROW_LEFT], n);
    ifm_page_told(out, "PARTIAL", IFM_TONE_WARN, text, screen);
}

/* --- configuration ---------------------------------------------------------------------------------------------------- */

static void append_line(GString *out, const char *name, const char *text, const IfmScreen *screen)
{
    g_autofree char *line = g_strdup_printf("%-10s %s", name, text);
    g_autofree char *spelt = ifm_format_spelt(line, screen->utf8);
    ifm_format_wrap(out, spelt, 11, 0, screen->width);
}

/* "1000: 1000 2000; 2000: 2000" as the rows span them; @n: (out) how many sizes. (transfer full) */
static char *sizes_text(const IfmStudyTables *tables, guint *n)
{
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    GString *text = g_string_new(NULL);
    gint64 nodes = -1;
    for (guint i = 0; i < tables->rows->len; i++)
    {
        const IfmStageRow *row = tables->rows->pdata[i];
        char *key = g_strdup_printf("%" G_GINT64_FORMAT ",%" G_GINT64_FORMAT, row->nodes, row->edges);
        if (!g_hash_table_add(seen, key))
            continue;
        if (row->nodes != nodes)
            g_string_append_printf(text, "%s%" G_GINT64_FORMAT ":", text->len > 0 ? "; " : "", row->nodes);
        g_string_append_printf(text, IFM_NO_BREAK "%" G_GINT64_FORMAT, row->edges);
        nodes = row->nodes;
    }
    *n = g_hash_table_size(seen);
    return g_string_free(text, FALSE);
}

void ifm_link_count(const IfmLinkFit *link, gsize counts[IFM_ROW_STATES])
{
    counts[IFM_ROW_MEASURED] += link->n;
    counts[IFM_ROW_FAILED] += link->n_failed;
    counts[IFM_ROW_SKIPPED] += link->n_skipped;
    counts[IFM_ROW_LEFT] += link->n_left;
}

/* A case that was skipped, and never tried, for its device was not here. */
static gsize count_absent(const IfmStudyTables *tables, const GPtrArray *rows, int phase)
{
    gsize n = 0;
    for (guint i = 0; i < rows->len; i++)
    {
        const IfmStageRow *row = rows->pdata[i];
        n += (phase == 0 || row->phase == phase) && row->measurement == NULL &&
             ifm_stage_row_state(tables, row) == IFM_ROW_SKIPPED;
    }
    return n;
}

void ifm_study_count(const IfmStudyTables *tables, int phase, gsize counts[IFM_ROW_STATES], gsize *n_absent)
{
    ifm_stage_row_count(tables, NULL, phase, counts);
    *n_absent = count_absent(tables, tables->rows, phase) + count_absent(tables, tables->ranges, phase);
    counts[IFM_ROW_SKIPPED] -= *n_absent;
    for (guint i = 0; i < tables->links->len; i++)
    {
        const IfmLinkFit *link = tables->links->pdata[i];
        if (phase != 0 && phase != MAX(link->from->phase, link->to->phase))
            continue;
        gsize skipped = counts[IFM_ROW_SKIPPED];
        ifm_link_count(link, counts);
        if (link->from->reason == NULL && link->to->reason == NULL)
            continue;
        counts[IFM_ROW_SKIPPED] = skipped;
        *n_absent += link->n_skipped;
    }
}

/* "84 cases: 63 measured, 21 failed, 0 skipped; 21 more are of devices that are not here" */
static void append_counts(GString *out, const IfmStudyTables *tables, int phase)
{
    gsize counts[IFM_ROW_STATES], n_absent, n = 0;
    ifm_study_count(tables, phase, counts, &n_absent);
    for (int state = 0; state < IFM_ROW_STATES; state++)
        n += counts[state];
    g_string_append_printf(out,
                           "%" G_GSIZE_FORMAT " case%s: %" G_GSIZE_FORMAT " measured, %" G_GSIZE_FORMAT
                           " failed, %" G_GSIZE_FORMAT " skipped",
                           n, n == 1 ? "" : "s", counts[IFM_ROW_MEASURED], counts[IFM_ROW_FAILED], counts[IFM_ROW_SKIPPED]);
    if (counts[IFM_ROW_LEFT] > 0)
        g_string_append_printf(out, ", %" G_GSIZE_FORMAT " left", counts[IFM_ROW_LEFT]);
    if (n_absent > 0)
        g_string_append_printf(out, "; %" G_GSIZE_FORMAT " more of devices that are not here", n_absent);
}

static gboolean has_phase(const IfmStudyTables *tables, int phase)
{
    for (guint i = 0; i < tables->devices->len; i++)
        if (((const IfmStudyDevice *)tables->devices->pdata[i])->phase == phase)
            return TRUE;
    return FALSE;
}

/* A number and its unit stay together. (transfer full) */
static char *together(char *figure /* (transfer full) */)
{
    g_auto(GStrv) parts = g_strsplit(figure, " ", -1);
    g_free(figure);
    return g_strjoinv(IFM_NO_BREAK, parts);
}

/* How it was measured: what was asked for. */
static void append_protocol(GString *out, const IfmStudyTables *tables, const IfmScreen *screen)
{
    const json_t *protocol = json_object_get(json_object_get(tables->manifest, "definition"), "protocol");
    double runs = ifm_member_number(protocol, "runs"), target = ifm_member_number(protocol, "ci_ratio");
    g_autoptr(GString) text = g_string_new(NULL);
    if (isfinite(runs))
        g_string_append_printf(text, "%.0f runs after %.0f to warm up", runs, ifm_member_number(protocol, "warmup"));
    else if (isfinite(target))
    {
        g_autofree char *ratio = together(ifm_format_ratio(target));
        g_autofree char *budget = together(ifm_format_duration(ifm_member_number(protocol, "time_budget_ns")));
        g_string_append_printf(text,
                               "until the %.0f" IFM_NO_BREAK
                               "%% interval of the median is within ±%s; %.0f to %.0f runs, at most %s a case",
                               100 * ifm_member_number(protocol, "level"), ratio, ifm_member_number(protocol, "least_runs"),
                               ifm_member_number(protocol, "most_runs"), budget);
    }
    if (text->len > 0)
        append_line(out, "measured", text->str, screen);
}

/* Why measuring ended, in the words of a sentence. */
static const char *ending_told(const char *ending)
{
    static const struct
    {
        const char *ending, *told;
    } words[] = {
        { "fixed", "after the runs asked for" },
        { "interval", "at the interval aimed at" },
        { "time-budget", "by the time budget" },
        { "most-runs", "by the most runs allowed" },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(words); i++)
        if (g_str_equal(words[i].ending, ending))
            return words[i].told;
    return ending;
}

/* What it came to: runs, widths, and why measuring ended. */
static void append_runs(GString *out, const IfmStudyTables *tables, const IfmScreen *screen)
{
    gint64 least = G_MAXINT64, most = 0;
    double narrowest = INFINITY, widest = 0;
    json_auto_t *endings = json_object();
    for (guint i = 0; i < tables->rows->len; i++)
    {
        const IfmStageRow *row = tables->rows->pdata[i];
        if (row->reason != NULL || row->n == 0)
            continue;
        double width = ifm_stage_row_width(row);
        const char *ending = row->measurement != NULL ? row->measurement->stop_reason : "";
        least = MIN(least, row->n);
        most = MAX(most, row->n);
        narrowest = MIN(narrowest, isfinite(width) ? width : INFINITY);
        widest = MAX(widest, isfinite(width) ? width : 0);
        json_object_set_new(endings, ending, json_integer(json_integer_value(json_object_get(endings, ending)) + 1));
    }
    if (most == 0)
        return;
    g_autoptr(GString) text = g_string_new(NULL);
    gsize n_rough, n_unknown;
    double worst;
    ifm_study_precision_count(tables, &n_rough, &n_unknown, &worst);
    g_string_append_printf(text, "medians of %" G_GINT64_FORMAT, least);
    if (most > least)
        g_string_append_printf(text, " to %" G_GINT64_FORMAT, most);
    g_string_append_printf(text, " run%s", most == 1 ? "" : "s");
    if (isfinite(narrowest))
    {
        g_autofree char *low = together(ifm_format_ratio(narrowest)), *high = together(ifm_format_ratio(widest));
        g_string_append_printf(text, ", known to ±%s to ±%s", low, high);
    }
    if (n_unknown > 0)
        g_string_append_printf(text, ", %" G_GSIZE_FORMAT " without an interval", n_unknown);
    const char *ending, *before = "; ended";
    json_t *count;
    json_object_foreach(endings, ending, count)
    {
        g_string_append_printf(text, "%s %s (%" JSON_INTEGER_FORMAT ")", before, ending_told(ending),
                               json_integer_value(count));
        before = ",";
    }
    append_line(out, "latencies", text->str, screen);
}

/* "7 stages", or "stages 1, 2 of 7". (transfer full) */
static char *stages_text(const IfmStudyTables *tables)
{
    g_autoptr(GString) list = g_string_new(NULL);
    gsize n = 0;
    for (gsize i = 0; i < tables->staged->n_stages; i++)
        if (ifm_study_has_stage(tables, tables->staged->stages[i].number))
        {
            g_string_append_printf(list, "%s%d", list->len > 0 ? ", " : "", tables->staged->stages[i].number);
            n++;
        }
    if (n == tables->staged->n_stages)
        return g_strdup_printf("%" G_GSIZE_FORMAT " stages", n);
    return g_strdup_printf("stage%s %s of %" G_GSIZE_FORMAT, n == 1 ? "" : "s", list->str, tables->staged->n_stages);
}

static void append_configuration(GString *out, const IfmStudyTables *tables, const IfmScreen *screen)
{
    guint n_sizes = 0;
    g_autofree char *sizes = sizes_text(tables, &n_sizes);
    g_autofree char *stages = stages_text(tables);
    g_autofree char *model = g_strdup_printf("%s, %s, %" G_GINT64_FORMAT " features in, %" G_GINT64_FORMAT " out",
                                             tables->staged->name, stages, tables->sizes.features, tables->sizes.hidden);
    g_autofree char *span = g_strdup_printf("%u (nodes: edges) %s", n_sizes, sizes);
    append_line(out, "model", model, screen);
    append_line(out, "sizes", span, screen);
    for (int phase = 1; phase <= 2; phase++)
    {
        if (!has_phase(tables, phase))
            continue;
        g_autoptr(GString) counts = g_string_new(NULL);
        g_autofree char *name = g_strdup_printf("phase %d", phase);
        g_string_append(counts, phase == 1 ? "dynamic models, " : "static models, ");
        append_counts(counts, tables, phase);
        append_line(out, name, counts->str, screen);
    }
    append_protocol(out, tables, screen);
    append_runs(out, tables, screen);
    g_autofree char *spent = tables->imported ? g_strdup("measured elsewhere") : long_time(tables->spent_ns);
    append_line(out, "time spent", spent, screen);
}

/* --- links, lookup errors --------------------------------------------------------------------------------------------- */

static void append_links(GString *out, const IfmStudyTables *tables, const IfmScreen *screen)
{
    g_autoptr(GPtrArray) shown = g_ptr_array_new();
    for (guint i = 0; i < tables->links->len; i++)
        if (((const IfmLinkFit *)tables->links->pdata[i])->n > 0)
            g_ptr_array_add(shown, tables->links->pdata[i]);
    if (shown->len == 0)
        return;
    ifm_page_heading(out, "Links: moving a tensor from one device to another (MB: 2^20 bytes)", screen);
    ifm_page_table(out, ifm_link_fit_fields, shown, screen);
}

/* Of contention, on the page that one sees first. */
#define MOST_LOSSES 6

/* --- pages ------------------------------------------------------------------------------------------------------------ */

static void append_failures(GString *out, const IfmStudyTables *tables, const IfmScreen *screen)
{
    g_autoptr(GString) failures = g_string_new(NULL);
    if (!ifm_study_failures(failures, tables, screen))
        return;
    ifm_page_heading(out, "What has no latency, and why", screen);
    g_string_append_len(out, failures->str, (gssize)failures->len);
}

char *ifm_study_report(const IfmStudyTables *tables, const IfmScreen *screen)
{
    GString *out = g_string_new(NULL);
    append_title(out, tables, screen);
    append_banner(out, tables, screen);
    g_string_append_c(out, '\n');
    append_configuration(out, tables, screen);
    ifm_page_heading(out, "Devices", screen);
    append_devices(out, tables, device_fields, screen);
    append_mark_note(out, tables, screen);
    append_hardware(out, tables, screen);
    ifm_study_latencies(out, tables, -1, screen);
    ifm_study_latencies(out, tables, 1, screen);
    ifm_study_precision(out, tables, screen);
    ifm_study_splits(out, tables, screen);
    ifm_study_lookup_errors(out, tables, screen);
    ifm_study_contention(out, tables, G_MAXSIZE, screen);
    append_links(out, tables, screen);
    append_failures(out, tables, screen);
    return g_string_free(out, FALSE);
}

/* Of a study that nobody is sure still goes on: when it last came on, and by what rule it measures. */
static void append_last(GString *out, const IfmStudyTables *tables, const IfmScreen *screen)
{
    g_autoptr(GDateTime) last = g_date_time_new_from_unix_utc(tables->last_unix_ms / 1000);
    g_autofree char *when = g_date_time_format(last, "%Y-%m-%d %H:%M:%S UTC");
    g_autoptr(GString) lines = g_string_new(NULL);
    append_protocol(lines, tables, screen);
    if (tables->last_unix_ms > 0 && !tables->imported)
        append_line(lines, "last case", when, screen);
    if (lines->len > 0)
        g_string_append_printf(out, "\n%s", lines->str);
}

static void append_summary(GString *out, const IfmStudyTables *tables, const char *folder, const IfmScreen *screen)
{
    g_autoptr(GString) counts = g_string_new(NULL);
    append_counts(counts, tables, 0);
    if (!tables->imported)
    {
        g_autofree char *spent = long_time(tables->spent_ns);
        g_autofree char *told = together(g_strconcat(spent, " spent measuring", NULL));
        g_string_append_printf(counts, "; %s", told);
    }
    g_string_append_c(out, '\n');
    ifm_page_wrapped(out, counts->str, screen);
    if (folder == NULL)
        return;
    g_autofree char *files = g_strconcat(
        "profiling_report.txt (read this first), lookup_table.json, bandwidth_table.json, raw_measurements.json, "
        "checkpoint_cpugpu.json, checkpoint_npu.json, stages.csv",
        tables->ranges->len > 0 ? ", ranges.csv" : "", NULL);
    ifm_page_told(out, folder, IFM_TONE_PLAIN, files, screen);
}

char *ifm_study_to_screen(const IfmStudyTables *tables, const char *folder, const IfmScreen *screen)
{
    GString *out = g_string_new(NULL);
    append_title(out, tables, screen);
    g_string_append_c(out, '\n');
    append_devices(out, tables, status_fields, screen);
    append_mark_note(out, tables, screen);
    ifm_study_latencies(out, tables, 1, screen);
    ifm_study_contention(out, tables, MOST_LOSSES, screen);
    append_failures(out, tables, screen);
    append_summary(out, tables, folder, screen);
    return g_string_free(out, FALSE);
}

char *ifm_study_status_to_screen(const IfmStudyTables *tables, const IfmScreen *screen)
{
    GString *out = g_string_new(NULL);
    append_title(out, tables, screen);
    g_string_append_c(out, '\n');
    append_devices(out, tables, status_fields, screen);
    append_failures(out, tables, screen);
    append_last(out, tables, screen);
    append_summary(out, tables, NULL, screen);
    return g_string_free(out, FALSE);
}
