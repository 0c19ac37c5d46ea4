#include <math.h>
#include <string.h>

#include <base/base.h>
#include <base/fields.h>
#include <measure/kinds.h>

#include "study-pages.h"

/* What a person reads of a study: on the screen, and in profiling_report.txt. */

/* Of contention, on the page that one sees first. */
#define MAX_LOSSES 6

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

/* A number and its unit stay together. (transfer full) */
static char *together(char *figure /* (transfer full) */)
{
    g_auto(GStrv) parts = g_strsplit(figure, " ", -1);
    g_free(figure);
    return g_strjoinv(IFM_NO_BREAK, parts);
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
        ifm_value_take_text(value, g_strdup_printf("%zu between them", line->n_links));
}

static void get_device_kind(const void *record, const void *user, IfmValue *value)
{
    const DeviceLine *line = record;
    if (line->device == NULL)
        return;
    const char *kind = line->device->simulated        ? "simulated"
                       : line->imported               ? "imported"
                       : line->device->reason != NULL ? "unavailable"
                                                      : NULL;
    ifm_value_set_text(value, kind != NULL ? kind : "real");
    value->tone = kind != NULL ? IFM_TONE_WARN : IFM_TONE_GOOD;
}

static void get_device_form(const void *record, const void *user, IfmValue *value)
{
    if (((const DeviceLine *)record)->device != NULL)
        ifm_value_set_text(value, ifm_study_form_name(((const DeviceLine *)record)->device->form));
}

static void get_device_count(const void *record, const void *user, IfmValue *value)
{
    static const IfmTone tones[IFM_ROW_STATES] = {
        [IFM_ROW_MEASURED] = IFM_TONE_GOOD, [IFM_ROW_FAILED] = IFM_TONE_BAD, [IFM_ROW_SKIPPED] = IFM_TONE_WARN,
        [IFM_ROW_REFUSED] = IFM_TONE_WARN,  [IFM_ROW_LEFT] = IFM_TONE_PLAIN, [IFM_ROW_IMPLAUSIBLE] = IFM_TONE_WARN
    };
    gsize count = ((const DeviceLine *)record)->counts[GPOINTER_TO_UINT(user)];
    ifm_value_set_integer(value, (gint64)count);
    value->tone = count > 0 ? tones[GPOINTER_TO_UINT(user)] : IFM_TONE_DIM;
}

static void get_device_refused(const void *record, const void *user, IfmValue *value)
{
    if (((const DeviceLine *)record)->counts[IFM_ROW_REFUSED] > 0)
        get_device_count(record, user, value);
}

#define COUNT(state) GUINT_TO_POINTER(state)
#define N_STATUS_FIELDS 8 /* of those below: what is being waited for */

static const IfmField device_fields[] = {
    { "alias", "alias", IFM_FIELD_TEXT, get_device_alias, NULL, IFM_FIELD_WHOLE },
    { "device", "device", IFM_FIELD_TEXT, get_device_spec, NULL, IFM_FIELD_WHOLE },
    { "kind", "kind", IFM_FIELD_TEXT, get_device_kind, NULL, IFM_FIELD_WHOLE },
    { "measured", "measured", IFM_FIELD_INTEGER, get_device_count, COUNT(IFM_ROW_MEASURED) },
    { "failed", "failed", IFM_FIELD_INTEGER, get_device_count, COUNT(IFM_ROW_FAILED) },
    { "skipped", "skipped", IFM_FIELD_INTEGER, get_device_count, COUNT(IFM_ROW_SKIPPED) },
    { "refused", "unsupported", IFM_FIELD_INTEGER, get_device_refused, COUNT(IFM_ROW_REFUSED), IFM_FIELD_HIDE_EMPTY },
    { "left", "pending", IFM_FIELD_INTEGER, get_device_count, COUNT(IFM_ROW_LEFT) },
    { "models", "models", IFM_FIELD_TEXT, get_device_form },
    { "phase", "phase", IFM_FIELD_INTEGER, IFM_MEMBER_VIA(DeviceLine, device, phase) },
    { NULL },
};

void ifm_study_add_devices(IfmDocument *document, const IfmStudyTables *tables, IfmStudyPage page)
{
    gboolean all = page == IFM_STUDY_REPORT, simulated = FALSE;
    GArray *lines = g_array_new(FALSE, FALSE, sizeof(DeviceLine));
    IfmField *fields = ifm_document_keep(document, g_memdup2(device_fields, sizeof device_fields), g_free);
    if (!all)
        fields[N_STATUS_FIELDS] = (IfmField){ NULL };
    for (guint i = 0; i < tables->devices->len; i++)
    {
        DeviceLine line = { tables->devices->pdata[i], 0, tables->imported, { 0 } };
        ifm_study_row_count(tables, line.device, 0, line.counts);
        simulated |= line.device->simulated;
        g_array_append_val(lines, line);
    }
    DeviceLine links = { NULL, tables->links->len, FALSE, { 0 } };
    for (guint i = 0; i < tables->links->len; i++)
        ifm_link_count(tables->links->pdata[i], links.counts);
    if (tables->links->len > 0)
        g_array_append_val(lines, links);
    ifm_document_rows(document, "devices", fields, lines);
    if (simulated && page != IFM_STUDY_STATUS)
        ifm_document_text(document, "* simulated: figures of a described device, measured on no hardware");
    for (guint i = 0; all && i < tables->devices->len; i++)
    {
        /* Names of hardware are long, and cut in their middle they are none. */
        const IfmStudyDevice *device = tables->devices->pdata[i];
        if (device->description != NULL && *device->description != '\0')
            ifm_document_note(document, device->alias, IFM_TONE_PLAIN, "%s", device->description);
    }
}

/* --- configuration ---------------------------------------------------------------------------------------------------- */

/* "1000: 1000 2000; 2000: 2000" as the rows span them; @n: (out) how many sizes. (transfer full) */
static char *sizes_text(const IfmStudyTables *tables, guint *n)
{
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    GString *text = g_string_new(NULL);
    gint64 nodes = -1;
    for (guint i = 0; i < tables->rows->len; i++)
    {
        const IfmStudyRow *row = tables->rows->pdata[i];
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
        return g_strdup_printf("%zu stages", n);
    return g_strdup_printf("stage%s %s of %zu", ifm_plural(n), list->str, tables->staged->n_stages);
}

/* "84 cases: 63 measured, 21 failed, 0 skipped; 21 more on unavailable devices" (transfer full) */
char *ifm_study_counts_text(const IfmStudyTables *tables, int phase)
{
    gsize counts[IFM_ROW_STATES], n_absent, n = ifm_study_count(tables, phase, counts, &n_absent);
    GString *text = g_string_new(NULL);
    g_string_append_printf(text, "%zu case%s: %zu measured, %zu failed, %zu skipped", n, ifm_plural(n),
                           counts[IFM_ROW_MEASURED], counts[IFM_ROW_FAILED], counts[IFM_ROW_SKIPPED]);
    if (counts[IFM_ROW_IMPLAUSIBLE] > 0)
        g_string_append_printf(text, ", %zu implausible", counts[IFM_ROW_IMPLAUSIBLE]);
    if (counts[IFM_ROW_REFUSED] > 0)
        g_string_append_printf(text, ", %zu unsupported", counts[IFM_ROW_REFUSED]);
    if (counts[IFM_ROW_LEFT] > 0)
        g_string_append_printf(text, ", %zu pending", counts[IFM_ROW_LEFT]);
    if (n_absent > 0)
        g_string_append_printf(text, "; %zu more on unavailable devices", n_absent);
    return g_string_free(text, FALSE);
}

/* How it was measured: what was asked for. */
static void add_protocol(IfmDocument *document, const IfmStudyTables *tables)
{
    const json_t *protocol = json_object_get(tables->definition, "protocol");
    double runs = ifm_member_number(protocol, "runs"), target = ifm_member_number(protocol, "ci_ratio");
    g_autofree char *ratio = together(ifm_format_ratio(target)),
                    *budget = together(ifm_format_duration(ifm_member_number(protocol, "time_budget_ns")));
    if (isfinite(runs))
        ifm_document_fact(document, "measured", "%.0f runs after %.0f to warm up", runs,
                          ifm_member_number(protocol, "warmup"));
    else if (isfinite(target))
        ifm_document_fact(document, "measured",
                          "until the %.0f" IFM_NO_BREAK
                          "%% interval of the median is within ±%s; %.0f to %.0f runs, up to %s a case",
                          100 * ifm_member_number(protocol, "level"), ratio, ifm_member_number(protocol, "min_runs"),
                          ifm_member_number(protocol, "max_runs"), budget);
}

/* Why measuring ended, in the words of a sentence. */
static const char *ending_words(const char *ending)
{
    static const char *const words[][2] = {
        { "fixed", "after the runs asked for" },
        { "interval", "at the interval aimed at" },
        { "time-budget", "by the time budget" },
        { "max-runs", "by the maximum number of runs" },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(words); i++)
        if (g_str_equal(words[i][0], ending))
            return words[i][1];
    return ending;
}

/* What it came to: runs, widths, and why measuring ended. */
static void add_runs(IfmDocument *document, const IfmStudyTables *tables)
{
    gint64 fewest = G_MAXINT64, max = 0;
    double narrowest = INFINITY, widest = 0;
    json_auto_t *endings = json_object();
    for (guint i = 0; i < tables->rows->len; i++)
    {
        const IfmStudyRow *row = tables->rows->pdata[i];
        if (row->reason != NULL || row->n == 0)
            continue;
        double width = ifm_stage_row_width(row);
        const char *ending = row->measurement != NULL ? row->measurement->stop_reason : "";
        fewest = MIN(fewest, row->n);
        max = MAX(max, row->n);
        narrowest = MIN(narrowest, ifm_is_precision(width) ? width : INFINITY);
        widest = MAX(widest, ifm_is_precision(width) ? width : 0);
        json_object_set_new(endings, ending, json_integer(json_integer_value(json_object_get(endings, ending)) + 1));
    }
    if (max == 0)
        return;
    g_autoptr(GString) text = g_string_new(NULL);
    gsize n_unknown = ifm_study_precision(tables, NULL, 0).n_unknown;
    g_string_append_printf(text, "medians of %" G_GINT64_FORMAT, fewest);
    if (max > fewest)
        g_string_append_printf(text, " to %" G_GINT64_FORMAT, max);
    g_string_append_printf(text, " run%s", ifm_plural(max));
    g_autofree char *low = together(ifm_format_ratio(narrowest)), *high = together(ifm_format_ratio(widest));
    if (isfinite(narrowest))
        g_string_append_printf(text, ", known to ±%s to ±%s", low, high);
    if (n_unknown > 0)
        g_string_append_printf(text, ", %zu without an interval", n_unknown);
    const char *ending, *before = "; ended";
    json_t *count;
    json_object_foreach(endings, ending, count)
    {
        g_string_append_printf(text, "%s %s (%" JSON_INTEGER_FORMAT ")", before, ending_words(ending),
                               json_integer_value(count));
        before = ",";
    }
    ifm_document_fact(document, "latencies", "%s", text->str);
}

static void add_configuration(IfmDocument *document, const IfmStudyTables *tables)
{
    guint n_sizes = 0;
    g_autofree char *sizes = sizes_text(tables, &n_sizes), *stages = stages_text(tables),
                    *spent = long_time(tables->spent_ns);
    ifm_document_part(document);
    ifm_document_fact(document, "model", "%s, %s, %" G_GINT64_FORMAT " features in, %" G_GINT64_FORMAT " out",
                      tables->staged->name, stages, tables->sizes.features, tables->sizes.hidden);
    ifm_document_fact(document, "sizes", "%u (nodes: edges) %s", n_sizes, sizes);
    for (int phase = 1; phase <= 2; phase++)
    {
        gboolean has_phase = FALSE;
        for (guint i = 0; i < tables->devices->len; i++)
            has_phase |= ((const IfmStudyDevice *)tables->devices->pdata[i])->phase == phase;
        g_autofree char *counts = ifm_study_counts_text(tables, phase);
        if (has_phase)
            ifm_document_fact(document, phase == 1 ? "phase 1" : "phase 2", "%s models, %s",
                              phase == 1 ? "dynamic" : "static", counts);
    }
    add_protocol(document, tables);
    add_runs(document, tables);
    ifm_document_fact(document, "time spent", "%s", tables->imported ? "measured elsewhere" : spent);
}

/* --- pages ------------------------------------------------------------------------------------------------------------ */

static void add_links(IfmDocument *document, const IfmStudyTables *tables)
{
    GPtrArray *shown = g_ptr_array_new();
    for (guint i = 0; i < tables->links->len; i++)
        if (((const IfmLinkFit *)tables->links->pdata[i])->n > 0)
            g_ptr_array_add(shown, tables->links->pdata[i]);
    ifm_document_heading(document, "Links: moving a tensor from one device to another (MB: 2^20 bytes)");
    if (shown->len > 0)
        ifm_document_table(document, "links", ifm_link_fit_fields, shown);
    else
        g_ptr_array_unref(shown);
}

/* Of a study that may have stopped: when it last came on, and by what rule it measures. */
static void add_last(IfmDocument *document, const IfmStudyTables *tables)
{
    g_autoptr(GDateTime) last = g_date_time_new_from_unix_utc(tables->last_unix_ms / 1000);
    g_autofree char *when = g_date_time_format(last, "%Y-%m-%d %H:%M:%S UTC");
    const IfmSection *section = ifm_document_part(document);
    add_protocol(document, tables);
    if (tables->last_unix_ms > 0 && !tables->imported)
        ifm_document_fact(document, "last case", "%s", when);
    if (section->blocks->len > 0)
        ((IfmBlock *)section->blocks->pdata[0])->name_width = 11; /* as the report has them */
}

void ifm_study_note_files(IfmDocument *document, const char *folder, const char *files)
{
    g_autoptr(GString) there = g_string_new(NULL);
    g_auto(GStrv) all = folder != NULL ? g_strsplit(files, ", ", -1) : NULL;
    for (gsize i = 0; all != NULL && all[i] != NULL; i++)
    {
        g_autofree char *name = g_strndup(all[i], strcspn(all[i], " ")), *path = g_build_filename(folder, name, NULL);
        if (g_file_test(path, G_FILE_TEST_EXISTS))
            g_string_append_printf(there, "%s%s", there->len > 0 ? ", " : "", all[i]);
    }
    if (there->len > 0)
        ifm_document_note(document, folder, IFM_TONE_PLAIN, "%s", there->str);
}

static void add_summary(IfmDocument *document, const IfmStudyTables *tables, const char *folder)
{
    g_autofree char *counts = ifm_study_counts_text(tables, 0), *time = long_time(tables->spent_ns);
    g_autofree char *spent = together(g_strconcat(time, " spent measuring", NULL));
    ifm_document_part(document);
    ifm_document_text(document, "%s%s%s", counts, tables->imported ? "" : "; ", tables->imported ? "" : spent);
    ifm_study_note_files(document, folder,
                         "profiling_report.txt (read this first), lookup_table.json, bandwidth_table.json, "
                         "raw_measurements.json, checkpoint_cpugpu.json, checkpoint_npu.json, stages.csv, ranges.csv");
}

void ifm_document_shared_core(IfmDocument *document, const char *const aliases[2], const char *const devices[2],
                              const char *consequence)
{
    const int core = devices[0] != NULL && devices[1] != NULL ? ifm_devices_share_core(devices[0], devices[1]) : -1;
    if (core >= 0)
        ifm_document_warning(document, "%s and %s share core %d: they take turns there, %s", aliases[0], aliases[1], core,
                             consequence);
}

static void add_shared_cores(IfmDocument *document, const IfmStudyTables *tables)
{
    for (guint a = 0; a < tables->devices->len; a++)
        for (guint b = a + 1; b < tables->devices->len; b++)
        {
            const IfmStudyDevice *one = tables->devices->pdata[a], *other = tables->devices->pdata[b];
            ifm_document_shared_core(document, (const char *[]){ one->alias, other->alias },
                                     (const char *[]){ one->device, other->device }, "and do not work at once");
        }
}

/* By question; how it was measured, and what else follows, last and closed on a page. */
static void add_report(IfmDocument *document, const IfmStudyTables *tables, const GPtrArray *latencies)
{
    IfmSection *which = ifm_document_question(document, tables->devices->len > 1 ? "Which device?" : "How long?", NULL);
    which->answer = ifm_document_take_text(document, ifm_study_add_fastest(document, tables, latencies));
    ifm_study_add_growth(document, tables);
    ifm_study_add_latencies(document, tables, latencies, 1);
    ifm_study_add_shares(document, tables, latencies);
    ifm_study_add_contention(document, tables, G_MAXSIZE);
    IfmSection *sure = ifm_document_question(document, "How sure?", NULL);
    sure->answer = ifm_document_take_text(document, ifm_study_add_sureness(document, tables));
    ifm_study_add_failures(document, tables);
    add_shared_cores(document, tables);
    ifm_document_question(document, "Details", "How it was measured, and what else follows from it.");
    const guint from = document->sections->len;
    ifm_document_heading(document, "How it was measured");
    add_configuration(document, tables);
    ifm_document_heading(document, "Devices");
    ifm_study_add_devices(document, tables, IFM_STUDY_REPORT);
    ifm_study_add_latencies(document, tables, latencies, -1);
    ifm_study_add_precision(document, tables);
    ifm_study_add_splits(document, tables);
    ifm_study_add_lookup_errors(document, tables);
    add_links(document, tables);
    ifm_document_close_from(document, from);
}

IfmDocument *ifm_study_document(const IfmStudyTables *tables, IfmStudyPage page, const char *folder)
{
    IfmDocument *document = ifm_document_new("study", tables->name);
    const GPtrArray *latencies =
        ifm_document_keep(document, ifm_study_latencies(tables), (GDestroyNotify)g_ptr_array_unref);
    gsize counts[IFM_ROW_STATES], n_absent, n = ifm_study_count(tables, 0, counts, &n_absent);
    g_autofree char *rest =
        g_strdup_printf("  %s%s", tables->title != NULL ? tables->title : "", tables->imported ? "  (imported)" : "");
    ifm_study_add_headline(document, tables, latencies, folder);
    ifm_document_title(document, tables->name, rest);
    if (page == IFM_STUDY_REPORT)
    {
        /* What there is of a study under way is of use, but it is not all of it. */
        if (counts[IFM_ROW_LEFT] > 0)
            ifm_document_note(document, "PARTIAL", IFM_TONE_WARN, "%zu of %zu cases are still to be measured",
                              counts[IFM_ROW_LEFT], n);
        add_report(document, tables, latencies);
        return document;
    }
    ifm_document_part(document);
    ifm_study_add_devices(document, tables, page);
    if (page == IFM_STUDY_SUMMARY)
    {
        ifm_study_add_latencies(document, tables, latencies, 1);
        ifm_study_add_contention(document, tables, MAX_LOSSES);
    }
    ifm_study_add_failures(document, tables);
    add_shared_cores(document, tables);
    if (page == IFM_STUDY_STATUS)
        add_last(document, tables);
    add_summary(document, tables, page == IFM_STUDY_SUMMARY ? folder : NULL);
    return document;
}
