#include <math.h>
#include <string.h>

#include <base/base.h>
#include <staged/staged.h>

#include "import.h"

/* Tables in JSON that were measured elsewhere: ours, the published ones, and GNX's others. */

/* What is in a file of ours besides the rows. */
#define METADATA "_metadata"
/* What stands in parsed text where the file has NaN. */
#define NOT_A_NUMBER "nan"

/* --- keys ------------------------------------------------------------------------------------------------------------- */

/* GNX's names of fused stages: the blocks of its plan of two, and "fused0_7": from a stage (0: the first) to a stage. */
static gboolean parse_block(const char *text, gint64 *first, gint64 *last)
{
    static const struct
    {
        const char *name;
        int first, last;
    } blocks[] = { { "block0", 1, 4 }, { "block1", 5, 7 } };
    for (gsize i = 0; i < G_N_ELEMENTS(blocks); i++)
        if (g_str_equal(text, blocks[i].name))
        {
            *first = blocks[i].first;
            *last = blocks[i].last;
            return TRUE;
        }
    if (!g_str_has_prefix(text, "fused"))
        return FALSE;
    g_auto(GStrv) ends = g_strsplit(text + strlen("fused"), "_", -1);
    if (g_strv_length(ends) != 2 || !g_ascii_string_to_signed(ends[0], 10, 0, G_MAXINT, first, NULL) ||
        !g_ascii_string_to_signed(ends[1], 10, 1, G_MAXINT, last, NULL))
        return FALSE;
    *first = MAX(*first, 1);
    return TRUE;
}

/* "gcn,5000,50000,CPU": a whole model is a point with three axes. */
static gboolean take_model(ImportTable *table, ImportRow *row, const char *model, GError **error)
{
    row->of.axes = json_pack("{s:o,s:I,s:I}", "model", ifm_json_string(model), "nodes", (json_int_t)row->of.nodes, "edges",
                             (json_int_t)row->of.edges);
    return import_take_axes(table, json_pack("[s,s,s]", "model", "nodes", "edges"), row->place, error);
}

/* "1000,5000,CPU,1"; GNX's tables of fused stages and of whole models also have "1000,5000,CPU,block0",
 * "fused0_7,1000,5000,CPU" and "gcn,1000,5000,CPU". */
static gboolean parse_key(ImportTable *table, ImportRow *row, const char *key, GError **error)
{
    g_auto(GStrv) parts = g_strsplit(key, ",", -1);
    gboolean four = g_strv_length(parts) == 4, leads = four && g_ascii_isdigit(*parts[0]);
    gsize at = leads ? 0 : 1;
    gint64 first = 0, last = 0;
    const char *what = four ? parts[leads ? 3 : 0] : "";
    if (!four || *what == '\0' || !g_ascii_string_to_signed(parts[at], 10, 1, IFM_GRAPH_MAX_NODES, &row->of.nodes, NULL) ||
        !g_ascii_string_to_signed(parts[at + 1], 10, 1, IFM_GRAPH_MAX_EDGES, &row->of.edges, NULL))
        return ifm_error_refuse(error, "%s: is no key of a row: expected NODES,EDGES,DEVICE,STAGE, such as 1000,5000,CPU,1",
                                row->place);
    row->of.alias = g_strdup(parts[at + 2]);
    if (!parse_block(what, &first, &last))
    {
        if (!leads)
            return take_model(table, row, what, error);
        if (!g_ascii_string_to_signed(what, 10, 1, G_MAXINT, &first, NULL))
            return ifm_error_refuse(
                error, "%s: is no key of a row: expected NODES,EDGES,DEVICE,STAGE, such as 1000,5000,CPU,1", row->place);
        last = first;
    }
    row->of.stage = (int)first;
    row->of.last = (int)last;
    return TRUE;
}

/* A missing or null member leaves NaN. */
static gboolean json_number(const ImportRow *row, const json_t *object, const char *key, double *value, GError **error)
{
    const json_t *member = json_object_get(object, key);
    return member == NULL || json_is_null(member) || ifm_json_get_double(object, row->place, key, value, error);
}

/* A standard deviation is NaN where there was one run. */
static gboolean json_deviation(const ImportRow *row, const json_t *object, const char *key, double *value, GError **error)
{
    return g_strcmp0(json_string_value(json_object_get(object, key)), NOT_A_NUMBER) == 0 ||
           json_number(row, object, key, value, error);
}

/* GNX's tables of a block's computing alone: the mean is what is left of the original one without the transfer. */
static gboolean read_computing(ImportRow *row, const json_t *object, const char **total, GError **error)
{
    *total = "original_mean";
    if (!json_number(row, object, *total, &row->total_ms, error) ||
        !json_deviation(row, object, "std", &row->std_ms, error) ||
        !json_number(row, object, "mean", &row->compute_ms, error) ||
        !json_number(row, object, "transfer_time", &row->transfer_ms, error))
        return FALSE;
    row->mean_ms = row->total_ms;
    return TRUE;
}

static gboolean read_text(const ImportRow *row, const json_t *object, const char *key, char **text, GError **error)
{
    const char *found = NULL;
    const json_t *member = json_object_get(object, key);
    if (member != NULL && !json_is_null(member) && !ifm_json_get_string(object, row->place, key, &found, error))
        return FALSE;
    if (found != NULL && *found != '\0')
    {
        g_free(*text);
        *text = g_strdup(found);
    }
    return TRUE;
}

/* What failed says so with "failed", or with a flag. */
static gboolean read_failure(ImportRow *row, const json_t *object, GError **error)
{
    if (!read_text(row, object, "flag", &row->flag, error))
        return FALSE;
    gboolean failed = FALSE;
    if (json_object_get(object, "failed") != NULL && !ifm_json_get_boolean(object, row->place, "failed", &failed, error))
        return FALSE;
    if (!failed && json_object_get(object, "outcome") == NULL)
        return TRUE;
    if (!read_text(row, object, "error", &row->flag, error) || !read_text(row, object, "reason", &row->flag, error) ||
        !read_text(row, object, "error_code", &row->code, error))
        return FALSE;
    if (row->flag == NULL)
        row->flag = g_strdup("failed");
    return TRUE;
}

/* A row of lookup_table.json has a total, one of raw_measurements.json and of checkpoints a mean. */
static gboolean read_latency(ImportRow *row, const json_t *object, const char **total, GError **error)
{
    if (json_object_get(object, "original_mean") != NULL)
        return read_computing(row, object, total, error);
    gboolean raw = json_object_get(object, "total_time_ms") == NULL && json_object_get(object, "mean") != NULL;
    const struct
    {
        const char *key;
        double *value;
    } figures[] = { { raw ? "mean" : "total_time_ms", &row->total_ms },
                    { "min", &row->min_ms },
                    { "max", &row->max_ms },
                    { "interval_lower_ms", &row->lower_ms },
                    { "interval_upper_ms", &row->upper_ms },
                    { "compute_time_ms", &row->compute_ms },
                    { "transfer_time_ms", &row->transfer_ms } };
    *total = figures[0].key;
    for (gsize i = 0; i < G_N_ELEMENTS(figures); i++)
        if (!json_number(row, object, figures[i].key, figures[i].value, error))
            return FALSE;
    if (!json_deviation(row, object, raw ? "std" : "std_ms", &row->std_ms, error))
        return FALSE;
    row->level = isnan(row->lower_ms) ? (double)NAN : IMPORT_LEVEL;
    if (!raw)
        return json_number(row, object, "mean_time_ms", &row->mean_ms, error);
    row->mean_ms = row->total_ms;
    const json_t *median = json_object_get(object, "median"); /* ours has one; published files do not */
    if (median == NULL || json_is_null(median))
        return TRUE;
    *total = "median";
    return json_number(row, object, *total, &row->total_ms, error);
}

static gboolean read_json_row(ImportTable *table, const char *file, const char *key, const json_t *value, GError **error)
{
    const char *total = "total_time_ms";
    g_autoptr(ImportRow) row = import_row_new(file, g_strdup_printf("%s: %s", file, key));
    gboolean good = parse_key(table, row, key, error);
    if (good && !json_is_object(value))
        good = ifm_error_refuse(error, "%s: expected an object with %s", row->place, total);
    good = good && read_failure(row, value, error);
    good = good && (row->flag != NULL || read_latency(row, value, &total, error));
    return good && import_add(table, g_steal_pointer(&row), total, error);
}

/* "CPU_stage3" */
static gboolean is_bandwidth_key(const ImportTable *table, const char *key)
{
    const char *mark = g_strrstr(key, "_stage");
    gint64 stage;
    g_autofree char *alias = mark != NULL ? g_strndup(key, (gsize)(mark - key)) : NULL;
    return mark != NULL && study_is_alias(alias) &&
           g_ascii_string_to_signed(mark + strlen("_stage"), 10, 1, IFM_MAX_STAGES, &stage, NULL) &&
           study_stage(table->staged, (int)stage) != NULL;
}

static gboolean read_bandwidth(ImportTable *table, const char *file, const json_t *object, const char *key, GError **error)
{
    double value = NAN;
    json_t *member = json_object_get(object, key);
    if (g_strcmp0(json_string_value(member), NOT_A_NUMBER) == 0)
        member = json_null();
    g_autofree char *where = g_strdup_printf("%s: %s", file, key);
    if (!is_bandwidth_key(table, key))
        return ifm_error_refuse(error, "%s: expected DEVICE_stageN, such as CPU_stage3", where);
    if (!json_is_null(member) && !ifm_json_get_double(object, file, key, &value, error))
        return FALSE;
    if (value <= 0)
        return ifm_error_refuse(error, "%s: found %g, expected more than 0 (MB/s), or null", where, value);
    if (json_object_get(table->bandwidth, key) == NULL) /* the earlier file counts */
        json_object_set(table->bandwidth, key, member);
    return TRUE;
}

/* A file of ours states sizes; two that state different ones are not of one study. */
static gboolean take_size(gint64 *size, const json_t *study, const char *key, const char *file, GError **error)
{
    gint64 found = 0;
    if (json_object_get(study, key) == NULL)
        return TRUE;
    if (!ifm_json_get_int64(study, file, key, &found, error))
        return FALSE;
    if (found < 1 || (*size != 0 && *size != found))
    {
        g_autofree char *right =
            *size != 0 ? g_strdup_printf("%" G_GINT64_FORMAT ", as the file before it has", *size) : g_strdup("1 or more");
        return ifm_error_refuse(error, "%s: %s: found %" G_GINT64_FORMAT ", expected %s", file, key, found, right);
    }
    *size = found;
    return TRUE;
}

static gboolean read_metadata(ImportTable *table, const char *file, const json_t *about, GError **error)
{
    const char *alias;
    json_t *device;
    const json_t *study = json_object_get(about, "study");
    json_object_foreach(json_object_get(about, "devices"), alias,
                        device) if (json_is_true(json_object_get(device, "simulated")))
        g_hash_table_add(table->simulated, g_strdup(alias));
    return take_size(&table->features, study, "features", file, error) &&
           take_size(&table->hidden, study, "hidden", file, error);
}

static gboolean read_document(ImportTable *table, const char *file, const json_t *json, GError **error)
{
    const char *key;
    json_t *value;
    if (!json_is_object(json))
        return ifm_error_refuse(error, "%s: expected an object of rows", file);
    if (json_object_get(json, "points") != NULL)
        return ifm_error_refuse(error, "%s: a study of points is imported from its points.csv", file);
    json_object_foreach((json_t *)json, key, value)
    {
        if (g_str_equal(key, METADATA))
        {
            if (!read_metadata(table, file, value, error))
                return FALSE;
            continue;
        }
        gboolean row = strchr(key, ',') != NULL;
        if (!(row ? read_json_row(table, file, key, value, error) : read_bandwidth(table, file, json, key, error)))
            return FALSE;
    }
    /* What failed stands next to the rows of a lookup table of ours. */
    json_object_foreach(json_object_get(json_object_get(json, METADATA), "failed"), key,
                        value) if (!read_json_row(table, file, key, value, error)) return FALSE;
    return TRUE;
}

/* Python writes Infinity and NaN, for which JSON has no word. NaN is none for a latency to leave out either: not null. */
static char *mend_numbers(const char *text)
{
    static const char *const words[][2] = { { "-Infinity", "\"-inf\"" },
                                            { "Infinity", "\"inf\"" },
                                            { "NaN", "\"" NOT_A_NUMBER "\"" } };
    GString *mended = g_string_new(NULL);
    gboolean quoted = FALSE;
    for (const char *at = text; *at != '\0';)
    {
        gsize word = 0;
        while (word < G_N_ELEMENTS(words) && (quoted || !g_str_has_prefix(at, words[word][0])))
            word++;
        if (word < G_N_ELEMENTS(words))
        {
            g_string_append(mended, words[word][1]);
            at += strlen(words[word][0]);
            continue;
        }
        if (quoted && *at == '\\' && at[1] != '\0')
            g_string_append_c(mended, *at++);
        else if (*at == '"')
            quoted = !quoted;
        g_string_append_c(mended, *at++);
    }
    return g_string_free(mended, FALSE);
}

gboolean import_json(ImportTable *table, const char *path, GError **error)
{
    g_autofree char *bytes = NULL;
    gsize n_bytes;
    if (!ifm_file_load(path, &bytes, &n_bytes, error))
        return FALSE;
    if (strlen(bytes) != n_bytes)
        return ifm_error_refuse(error, "%s: is no text: a NUL at byte %zu", path, strlen(bytes));
    g_autofree char *text = mend_numbers(bytes);
    json_auto_t *json = ifm_json_parse(text, strlen(text), path, error);
    return json != NULL && read_document(table, path, json, error);
}
