#include <math.h>
#include <string.h>

#include <base/fields.h>
#include <document/words.h>
#include <measure/kinds.h>

#include "study-answers.h"
#include "study-pages.h"

/* A study of points: one table, led by the study's axes, whatever kind made them. */

/* --- its columns --------------------------------------------------------------------------------------------------------
 */

static void get_axis(const void *record, const void *user, IfmValue *value)
{
    const json_t *axis = json_object_get(((const IfmStudyRow *)record)->axes, user);
    if (json_is_integer(axis))
        ifm_value_set_integer(value, json_integer_value(axis));
    else
        ifm_value_set_text(value, json_string_value(axis));
}

static void get_n(const void *record, const void *user, IfmValue *value)
{
    const IfmStudyRow *point = record;
    if (point->reason == NULL)
        ifm_value_set_integer(value, point->n);
}

#define AS_WORDS GINT_TO_POINTER(1)

/* @user: AS_WORDS: as pages have it; NULL: as exports have it */
static void get_outcome(const void *record, const void *user, IfmValue *value)
{
    static const IfmTone tones[] = {
        [IFM_ROW_MEASURED] = IFM_TONE_PLAIN, [IFM_ROW_FAILED] = IFM_TONE_BAD, [IFM_ROW_SKIPPED] = IFM_TONE_WARN,
        [IFM_ROW_REFUSED] = IFM_TONE_WARN,   [IFM_ROW_LEFT] = IFM_TONE_DIM,   [IFM_ROW_IMPLAUSIBLE] = IFM_TONE_WARN
    };
    IfmRowState state = ifm_study_row_state(NULL, record);
    ifm_value_set_text(value, user == AS_WORDS ? ifm_row_state_words(state) : ifm_row_state_name(state));
    value->tone = tones[state];
}

#define AT(member, ...) IFM_MEMBER(IfmStudyRow, member, ##__VA_ARGS__)
#define AT_VIA(pointer, member) IFM_MEMBER_VIA(IfmStudyRow, pointer, member)
#define AT_AT(member) IFM_FIELD_AT(IfmStudyRow, member)

static const IfmField point_fields[] = {
    { "alias", "", IFM_FIELD_TEXT, AT_VIA(device, alias), IFM_FIELD_NO_SCREEN },
    { "marked", "device", IFM_FIELD_TEXT, ifm_field_get_marked, AT_AT(device), IFM_FIELD_NO_EXPORT | IFM_FIELD_WHOLE },
    { "median_ns", "latency", IFM_FIELD_DURATION, AT(median_ns) },
    { "width", "±", IFM_FIELD_PRECISION, ifm_field_get_width, NULL, IFM_FIELD_NO_EXPORT },
    { "lower_ns", "", IFM_FIELD_DURATION, AT(interval.lower), IFM_FIELD_NO_SCREEN },
    { "upper_ns", "", IFM_FIELD_DURATION, AT(interval.upper), IFM_FIELD_NO_SCREEN },
    { "level", "", IFM_FIELD_REAL, AT(interval.level), IFM_FIELD_NO_SCREEN },
    { "mean_ns", "", IFM_FIELD_DURATION, AT(mean_ns), IFM_FIELD_NO_SCREEN },
    { "std_ns", "", IFM_FIELD_DURATION, AT(std_ns), IFM_FIELD_NO_SCREEN },
    { "min_ns", "", IFM_FIELD_DURATION, AT(min_ns), IFM_FIELD_NO_SCREEN },
    { "max_ns", "", IFM_FIELD_DURATION, AT(max_ns), IFM_FIELD_NO_SCREEN },
    { "runs", "", IFM_FIELD_INTEGER, get_n, NULL, IFM_FIELD_NO_SCREEN },
    { "items", "", IFM_FIELD_REAL, AT(items), IFM_FIELD_NO_SCREEN },
    { "items_per_s", "items/s", IFM_FIELD_REAL, AT(items_per_s), IFM_FIELD_HIDE_EMPTY },
    { "flop", "", IFM_FIELD_REAL, AT(flop), IFM_FIELD_NO_SCREEN },
    { "flop_per_s", "", IFM_FIELD_REAL, AT(flop_per_s), IFM_FIELD_NO_SCREEN },
    { "gflop_per_s", "GFLOP/s", IFM_FIELD_REAL, AT(flop_per_s, .per = 1e9), IFM_FIELD_NO_EXPORT | IFM_FIELD_HIDE_EMPTY },
    { "outcome", "status", IFM_FIELD_TEXT, get_outcome, AS_WORDS, IFM_FIELD_NO_EXPORT | IFM_FIELD_WHOLE },
    { "outcome", "", IFM_FIELD_TEXT, get_outcome, NULL, IFM_FIELD_NO_SCREEN },
    { "error_code", "", IFM_FIELD_TEXT, AT(code, .some = TRUE), IFM_FIELD_NO_SCREEN },
    { "reason", "", IFM_FIELD_TEXT, AT(reason, .some = TRUE), IFM_FIELD_NO_SCREEN },
    { "phase", "", IFM_FIELD_INTEGER, AT(phase), IFM_FIELD_NO_SCREEN },
    { "device", "", IFM_FIELD_TEXT, AT_VIA(device, device), IFM_FIELD_NO_SCREEN },
    { "simulated", "", IFM_FIELD_BOOLEAN, ifm_field_get_simulated, AT_AT(device), IFM_FIELD_NO_SCREEN },
    { "disturbed", "", IFM_FIELD_BOOLEAN, ifm_field_get_disturbed, NULL, IFM_FIELD_NO_SCREEN },
    { "key", "", IFM_FIELD_TEXT, AT(key, .some = TRUE), IFM_FIELD_NO_SCREEN },
    { NULL },
};

static gboolean is_point_field(const char *key)
{
    for (const IfmField *field = point_fields; field->key != NULL; field++)
        if (g_str_equal(field->key, key))
            return TRUE;
    return FALSE;
}

static gboolean is_numeric(const IfmStudyTables *points, const char *axis)
{
    for (guint i = 0; i < points->rows->len; i++)
    {
        const json_t *value = json_object_get(((const IfmStudyRow *)points->rows->pdata[i])->axes, axis);
        if (value != NULL && !json_is_integer(value))
            return FALSE;
    }
    return TRUE;
}

/* @user: the offset of a double in IfmModelEnergy. */
static void get_energy(const void *record, const void *user, IfmValue *value)
{
    IfmModelEnergy energy;
    if (ifm_model_energy(((const IfmStudyRow *)record)->measurement, &energy))
        ifm_field_get_real(&energy, user, value);
}

static void get_energy_source(const void *record, const void *user, IfmValue *value)
{
    IfmModelEnergy energy;
    if (ifm_model_energy(((const IfmStudyRow *)record)->measurement, &energy))
        ifm_value_set_text(value, energy.source);
}

static void get_no_energy(const void *record, const void *user, IfmValue *value)
{
    IfmModelEnergy energy;
    if (ifm_model_energy(((const IfmStudyRow *)record)->measurement, &energy))
        ifm_value_set_text(value, energy.unavailable);
}

#define ENERGY(member) IFM_FIELD_AT(IfmModelEnergy, member)
static const IfmField energy_fields[] = {
    { "energy_j", "J", IFM_FIELD_REAL, get_energy, ENERGY(gross_j), IFM_FIELD_HIDE_EMPTY },
    { "energy_lower_j", "", IFM_FIELD_REAL, get_energy, ENERGY(gross_lower_j), IFM_FIELD_NO_SCREEN },
    { "energy_upper_j", "", IFM_FIELD_REAL, get_energy, ENERGY(gross_upper_j), IFM_FIELD_NO_SCREEN },
    { "net_j", "", IFM_FIELD_REAL, get_energy, ENERGY(net_j), IFM_FIELD_NO_SCREEN },
    { "net_lower_j", "", IFM_FIELD_REAL, get_energy, ENERGY(net_lower_j), IFM_FIELD_NO_SCREEN },
    { "net_upper_j", "", IFM_FIELD_REAL, get_energy, ENERGY(net_upper_j), IFM_FIELD_NO_SCREEN },
    { "power_w", "W", IFM_FIELD_REAL, get_energy, ENERGY(power_w), IFM_FIELD_HIDE_EMPTY },
    { "energy_source", "", IFM_FIELD_TEXT, get_energy_source, NULL, IFM_FIELD_NO_SCREEN },
    { "no_energy", "", IFM_FIELD_TEXT, get_no_energy, NULL, IFM_FIELD_NO_SCREEN },
};

static gboolean has_energy(const IfmStudyTables *points)
{
    IfmModelEnergy energy;
    for (guint i = 0; i < points->rows->len; i++)
        if (ifm_model_energy(((const IfmStudyRow *)points->rows->pdata[i])->measurement, &energy))
            return TRUE;
    return FALSE;
}

/* Once for each source and reason. */
static void add_energy(IfmDocument *document, const IfmStudyTables *points)
{
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    ifm_document_heading(document, "What has no energy, and why");
    for (guint i = 0; i < points->rows->len; i++)
    {
        IfmModelEnergy energy;
        const IfmStudyRow *point = points->rows->pdata[i];
        if (ifm_model_energy(point->measurement, &energy) && energy.unavailable != NULL &&
            g_hash_table_add(seen, g_strdup_printf("%s %s", energy.source, energy.unavailable)))
            ifm_document_note(document, point->device->alias, IFM_TONE_WARN, "no energy from %s: %s", energy.source,
                              energy.unavailable);
    }
}

/* The axes, then what was measured; a dimension that has a column's name is "dim_NAME". @texts: keeps the names */
static GArray *fields_of(const IfmStudyTables *points, GStringChunk *texts)
{
    GArray *fields = g_array_new(TRUE, TRUE, sizeof(IfmField));
    for (guint i = 0; i < points->axes->len; i++)
    {
        const char *axis = points->axes->pdata[i];
        gboolean numeric = is_numeric(points, axis);
        g_autofree char *other = g_strconcat("dim_", axis, NULL);
        IfmField field = { .key = g_string_chunk_insert(texts, is_point_field(axis) ? other : axis),
                           .title = axis,
                           .kind = numeric ? IFM_FIELD_INTEGER : IFM_FIELD_TEXT,
                           .get = get_axis,
                           .user = axis,
                           .flags = IFM_FIELD_KEY | (numeric ? 0 : IFM_FIELD_WHOLE) };
        g_array_append_val(fields, field);
    }
    g_array_append_vals(fields, point_fields, G_N_ELEMENTS(point_fields) - 1);
    if (has_energy(points))
        g_array_append_vals(fields, energy_fields, G_N_ELEMENTS(energy_fields));
    return fields;
}

/* --- as files -----------------------------------------------------------------------------------------------------------
 */

char *ifm_study_points_to_csv(const IfmStudyTables *points)
{
    GStringChunk *texts = g_string_chunk_new(64);
    g_autoptr(GArray) fields = fields_of(points, texts);
    char *csv = ifm_rows_to_csv(ifm_fields_in(fields), points->rows);
    g_string_chunk_free(texts);
    return csv;
}

json_t *ifm_study_points_to_json(const IfmStudyTables *points)
{
    GStringChunk *texts = g_string_chunk_new(64);
    g_autoptr(GArray) fields = fields_of(points, texts);
    json_t *rows = ifm_rows_to_json(ifm_fields_in(fields), points->rows);
    g_string_chunk_free(texts);
    json_t *json = ifm_json_begin("study_points", 1);
    json_t *devices = json_array();
    for (guint i = 0; i < points->devices->len; i++)
        json_array_append_new(devices, ifm_study_device_to_json(points->devices->pdata[i]));
    json_object_update_new(json, json_pack("{s:{s:o,s:o,s:s,s:O,s:I},s:o,s:o}", "study", "name",
                                           ifm_json_string(points->name), "title", ifm_json_string(points->title), "kind",
                                           points->kind, "definition", points->definition, "spent_ns",
                                           (json_int_t)points->spent_ns, "devices", devices, "points", rows));
    return json;
}

gboolean ifm_points_write(const IfmStudyTables *points, const char *folder, GError **error)
{
    g_autofree char *csv = ifm_study_points_to_csv(points), *csv_path = g_build_filename(folder, "points.csv", NULL);
    g_autofree char *json_path = g_build_filename(folder, "points.json", NULL);
    json_auto_t *json = ifm_study_points_to_json(points);
    return ifm_output_write(csv_path, csv, strlen(csv), error) && ifm_output_write_json(json_path, json, error);
}

/* --- as a document -----------------------------------------------------------------------------------------------------
 */

char *ifm_points_title(gsize n, double least_ns, const char *least, double most_ns, const char *most)
{
    g_autofree char *low = ifm_say_duration(least_ns), *high = ifm_say_duration(most_ns);
    if (n == 0)
        return g_strdup("No latency was measured");
    if (n == 1)
        return g_strdup_printf("%s takes %s", least, low);
    return g_strdup_printf("Medians from %s (%s) to %s (%s)", low, least, high, most);
}

/* (transfer full) */
static char *title_of(const IfmStudyTables *points)
{
    const IfmStudyRow *least = NULL, *most = NULL;
    gsize n = 0;
    for (guint i = 0; i < points->rows->len; i++)
    {
        const IfmStudyRow *point = points->rows->pdata[i];
        if (point->reason != NULL)
            continue;
        n++;
        least = least == NULL || point->median_ns < least->median_ns ? point : least;
        most = most == NULL || point->median_ns > most->median_ns ? point : most;
    }
    return n > 0 ? ifm_points_title(n, least->median_ns, least->title, most->median_ns, most->title)
                 : ifm_points_title(0, NAN, NULL, NAN, NULL);
}

/* The points as a table, and as a figure for renderers that plot. */
static void add_points(IfmDocument *document, const IfmStudyTables *points)
{
    static const char *const series[] = { "alias", NULL }, *const median[] = { "median_ns", NULL };
    GArray *fields = ifm_document_keep(document, fields_of(points, document->texts), (GDestroyNotify)g_array_unref);
    GPtrArray *records = g_ptr_array_copy(points->rows, NULL, NULL);
    g_ptr_array_set_free_func(records, NULL);
    ifm_document_table(document, "points", ifm_fields_in(fields), records);
    const char **label = ifm_document_keep(document, g_new0(const char *, points->axes->len + 1), g_free);
    for (guint i = 0; i < points->axes->len; i++)
        label[i] = g_array_index(fields, IfmField, i).key;
    const IfmTable table = ifm_table_of(ifm_fields_in(fields), points->rows);
    g_autofree char *title = title_of(points);
    ifm_document_plot(document, "latencies", IFM_FIGURE_BARS, title,
                      "The median latency of every point on every device, with its interval.", &table,
                      &(IfmPlotColumns){ .series = series, .label = label, .y = median, .half_width = "width" });
}

/* The points of a device that came to @state, by their reasons. */
static void add_failed(IfmDocument *document, const IfmStudyTables *points, const IfmStudyDevice *device, IfmRowState state)
{
    g_autoptr(GPtrArray) said = ifm_said_new();
    for (guint i = 0; i < points->rows->len; i++)
    {
        const IfmStudyRow *point = points->rows->pdata[i];
        const gboolean absent = point->measurement == NULL && device->reason != NULL;
        if (point->device == device && ifm_study_row_state(points, point) == state && !absent)
            ifm_said_add(said, point->reason, point->title, point);
    }
    ifm_document_said(document, said,
                      state == IFM_ROW_REFUSED || state == IFM_ROW_IMPLAUSIBLE ? IFM_TONE_WARN : IFM_TONE_BAD);
}

/* Those that count all the same. */
static void add_doubts(IfmDocument *document, const IfmStudyTables *points, const IfmStudyDevice *device)
{
    g_autoptr(GPtrArray) said = ifm_said_new();
    for (guint i = 0; i < points->rows->len; i++)
    {
        const IfmStudyRow *point = points->rows->pdata[i];
        if (point->device == device && point->reason == NULL && point->doubt != NULL)
            ifm_said_add(said, point->doubt, point->title, point);
    }
    ifm_document_said(document, said, IFM_TONE_WARN);
}

/* An absent device is stated once, and so is a reason that many points have. */
static void add_failures(IfmDocument *document, const IfmStudyTables *points)
{
    static const IfmRowState states[] = { IFM_ROW_FAILED, IFM_ROW_SKIPPED, IFM_ROW_REFUSED, IFM_ROW_IMPLAUSIBLE };
    ifm_document_heading(document, "What has no latency, and why");
    for (guint i = 0; i < points->devices->len; i++)
    {
        const IfmStudyDevice *device = points->devices->pdata[i];
        if (device->reason != NULL)
            ifm_document_note(document, device->alias, IFM_TONE_WARN, "%s", device->reason);
        for (gsize k = 0; k < G_N_ELEMENTS(states); k++)
            add_failed(document, points, device, states[k]);
        add_doubts(document, points, device);
    }
}

/* @files: what is written into @folder */
static void add_summary(IfmDocument *document, const IfmStudyTables *points, const char *folder, const char *files)
{
    gboolean simulated = FALSE;
    g_autofree char *spent = ifm_format_duration((double)points->spent_ns), *counts = ifm_study_counts_text(points, 0);
    for (guint i = 0; i < points->devices->len; i++)
        simulated |= ((const IfmStudyDevice *)points->devices->pdata[i])->simulated;
    ifm_document_part(document);
    if (simulated)
        ifm_document_text(document, "* simulated: figures of a described device, measured on no hardware");
    if (points->spent_ns > 0)
        ifm_document_text(document, "%s; %s spent measuring", counts, spent);
    else
        ifm_document_text(document, "%s", counts);
    ifm_study_note_files(document, folder, files);
}

IfmDocument *ifm_points_document(const IfmStudyTables *points, IfmStudyPage page, const char *folder, const char *files,
                                 void (*add)(IfmDocument *document, const IfmStudyTables *points, IfmStudyPage page))
{
    IfmDocument *document = ifm_document_new("study", points->name);
    g_autofree char *rest = g_strconcat("  ", points->title, NULL);
    ifm_document_title(document, points->name, rest);
    ifm_document_part(document);
    if (page == IFM_STUDY_STATUS)
        ifm_study_add_devices(document, points, page);
    else if (add == NULL)
        add_points(document, points);
    if (add != NULL)
        add(document, points, page);
    ifm_study_add_headline(document, points, NULL, folder);
    add_failures(document, points);
    add_energy(document, points);
    add_summary(document, points, page == IFM_STUDY_STATUS ? NULL : folder, files);
    return document;
}
