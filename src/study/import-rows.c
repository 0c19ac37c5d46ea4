#include <math.h>
#include <string.h>

#include <zoo/zoo.h>

#include "import.h"

/* What is in a file of ours besides the rows. */
#define METADATA "_metadata"
/* What stands in parsed text where the file has NaN. */
#define NOT_A_NUMBER "nan"

void import_row_free(ImportRow *row)
{
    g_free(row->place);
    g_free(row->file);
    g_free(row->alias);
    g_free(row->flag);
    g_free(row->code);
    g_strfreev(row->busy);
    json_decref(row->axes);
    g_free(row);
}

ImportTable *import_table_new(const IfmStagedModel *staged)
{
    ImportTable *table = g_new0(ImportTable, 1);
    table->staged = staged;
    table->rows = g_ptr_array_new_with_free_func((GDestroyNotify)import_row_free);
    table->by_key = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    table->bandwidth = json_object();
    table->simulated = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    return table;
}

void import_table_free(ImportTable *table)
{
    if (table == NULL)
        return;
    g_hash_table_unref(table->by_key);
    g_hash_table_unref(table->simulated);
    g_free(table->first);
    g_ptr_array_unref(table->rows);
    json_decref(table->bandwidth);
    json_decref(table->axes);
    g_free(table);
}

/* --- a row ---------------------------------------------------------------------------------------------------------- */

gboolean import_refuse(const ImportRow *row, GError **error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *what = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "%s: %s", row->place, what);
    return FALSE;
}

/* A clock counts whole nanoseconds, and no stage takes a week. */
#define MIN_MS 1e-6
#define MAX_MS 6e8
/* By how much parts may be more than the whole: what rounding adds. */
#define ROUNDING 1.01

/* @value: NaN where there is none. */
static gboolean check_part(const ImportRow *row, const char *what, double value, GError **error)
{
    return isnan(value) || (value >= 0 && !isinf(value)) ||
           import_refuse(row, error, "%s: found %g, expected 0 or more, or nothing", what, value);
}

/* @value: NaN where there is none. */
static gboolean check_latency(const ImportRow *row, const char *what, double value, GError **error)
{
    return isnan(value) || (value > 0 && !isinf(value)) ||
           import_refuse(row, error, "%s: found %g, expected more than 0, or nothing", what, value);
}

/* Published splits have transfers that exceed the total next to a compute time of 0, cut off there; two that both stand are
 * parts of the whole. */
static gboolean check_parts(const ImportRow *row, const char *total, GError **error)
{
    if (!(row->compute_ms > 0) || !(row->transfer_ms > 0) || row->compute_ms + row->transfer_ms <= ROUNDING * row->total_ms)
        return TRUE;
    return import_refuse(row, error, "%s: found %g, less than compute and transfer together, %g", total, row->total_ms,
                         row->compute_ms + row->transfer_ms);
}

static gboolean check_range(const ImportTable *table, const ImportRow *row, GError **error)
{
    if (study_stage(table->staged, row->stage) == NULL)
        return import_refuse(row, error, "stage: found %d, expected 1 to %zu", row->stage, table->staged->n_stages);
    if (row->last < row->stage || study_stage(table->staged, row->last) == NULL)
        return import_refuse(row, error, "last: found %d, expected %d to %zu", row->last, row->stage,
                             table->staged->n_stages);
    for (gsize i = 0; row->busy != NULL && row->busy[i] != NULL; i++)
        if (!study_is_alias(row->busy[i]) || g_str_equal(row->busy[i], row->alias))
            return import_refuse(row, error, "busy: found \"%s\", expected names of other devices, joined by +",
                                 row->busy[i]);
    return TRUE;
}

static gboolean check_row(const ImportTable *table, const ImportRow *row, const char *total, GError **error)
{
    if (!study_is_alias(row->alias))
        return import_refuse(row, error, "device: found \"%s\", expected a name of letters, digits, - and _", row->alias);
    if (row->axes == NULL && !check_range(table, row, error))
        return FALSE;
    if (row->axes == NULL && (row->nodes < 1 || row->edges < 1))
        return import_refuse(row, error,
                             "found %" G_GINT64_FORMAT " nodes and %" G_GINT64_FORMAT " edges, expected 1 or more",
                             row->nodes, row->edges);
    if (row->flag != NULL) /* a flagged row is a failure: what it calls a latency is none */
        return TRUE;
    if (isnan(row->total_ms))
        return import_refuse(row, error, "%s is missing; expected the latency in ms", total);
    if (!(row->total_ms > 0) || isinf(row->total_ms))
        return import_refuse(row, error, "%s: found %g, expected more than 0", total, row->total_ms);
    if (row->total_ms < MIN_MS || row->total_ms > MAX_MS)
        return import_refuse(row, error, "%s: found %g, which is no latency in ms; expected %g to %g", total, row->total_ms,
                             MIN_MS, MAX_MS);
    if (!check_latency(row, "mean", row->mean_ms, error) || !check_latency(row, "min", row->min_ms, error) ||
        !check_latency(row, "max", row->max_ms, error))
        return FALSE;
    if (row->lower_ms > row->total_ms || row->upper_ms < row->total_ms)
        return import_refuse(row, error, "the interval, %g to %g ms, does not hold the median, %g ms", row->lower_ms,
                             row->upper_ms, row->total_ms);
    if (row->min_ms > row->max_ms)
        return import_refuse(row, error, "the minimum, %g, is more than the maximum, %g", row->min_ms, row->max_ms);
    return check_part(row, "the standard deviation", row->std_ms, error) &&
           check_part(row, "the compute time", row->compute_ms, error) &&
           check_part(row, "the transfer time", row->transfer_ms, error) && check_parts(row, total, error);
}

gboolean import_is_same(double left_ms, double right_ms)
{
    if (isnan(left_ms) || isnan(right_ms))
        return isnan(left_ms) && isnan(right_ms);
    return fabs(left_ms - right_ms) <= 1e-3 * MAX(left_ms, right_ms);
}

static char *figure(double total_ms)
{
    return isnan(total_ms) ? g_strdup("a failure") : g_strdup_printf("%.9g ms", total_ms);
}

void import_differ(ImportTable *table, const char *place, double total_ms, const char *there, double there_ms)
{
    g_autofree char *here = figure(total_ms), *before = figure(there_ms);
    if (table->n_differ++ == 0)
        table->first = g_strdup_printf("%s has %s, and %s has %s", place, here, there, before);
}

static double total_of(const ImportRow *row)
{
    return row->flag != NULL ? (double)NAN : row->total_ms;
}

/* Takes a later row of the same key: nothing where they are the same. */
static void meet(ImportTable *table, ImportRow *row /* (transfer full) */, ImportRow *before, const char *key)
{
    guint index = 0;
    gboolean same = import_is_same(total_of(row), total_of(before));
    if (!same && table->replace && g_ptr_array_find(table->rows, before, &index))
    {
        table->rows->pdata[index] = row;
        g_hash_table_insert(table->by_key, g_strdup(key), row);
        import_row_free(before);
        return;
    }
    if (!same)
        import_differ(table, row->place, total_of(row), before->place, total_of(before));
    import_row_free(row);
}

static char *key_of(const ImportRow *row)
{
    g_autofree char *point = row->axes != NULL ? ifm_json_canonical(row->axes) : NULL,
                    *busy = row->busy != NULL ? g_strjoinv("+", row->busy) : g_strdup("");
    if (point != NULL)
        return g_strdup_printf("%s,%s", point, row->alias);
    return g_strdup_printf("%" G_GINT64_FORMAT ",%" G_GINT64_FORMAT ",%s,%d-%d,%s", row->nodes, row->edges, row->alias,
                           row->stage, row->last, busy);
}

gboolean import_add(ImportTable *table, ImportRow *row, const char *total, GError **error)
{
    char *key = key_of(row);
    ImportRow *before = g_hash_table_lookup(table->by_key, key);
    gboolean good = check_row(table, row, total, error);
    table->n_read++;
    if (good && before != NULL && g_str_equal(before->file, row->file))
        good = import_refuse(row, error, "stands there already, at %s", before->place);
    if (good && before == NULL)
    {
        g_ptr_array_add(table->rows, row);
        g_hash_table_insert(table->by_key, key, row);
        return TRUE;
    }
    if (good)
        meet(table, row, before, key);
    else
        import_row_free(row);
    g_free(key);
    return good;
}

ImportRow *import_row_new(const char *file, char *place /* (transfer full) */)
{
    ImportRow *row = g_new0(ImportRow, 1);
    row->file = g_strdup(file);
    row->place = place;
    row->total_ms = row->mean_ms = row->std_ms = row->min_ms = row->max_ms = row->compute_ms = row->transfer_ms = NAN;
    row->lower_ms = row->upper_ms = row->level = row->items = row->flop = NAN;
    return row;
}

/* --- CSV ------------------------------------------------------------------------------------------------------------ */

enum
{
    DEVICE,
    STAGE,
    NODES,
    EDGES,
    LATENCY,
    FLAG,
    N_REQUIRED, /* a misspelt "flag" would make latencies of failures */
    STD = N_REQUIRED,
    COMPUTE,
    TRANSFER,
    LAST,
    BUSY,
    SIMULATED,
    CODE,
    MEAN,
    MIN,
    MAX,
    LOWER,
    UPPER,
    N_COLUMNS,
};

static const char *const columns[N_COLUMNS] = {
    "device",
    "stage",
    "nodes",
    "edges",
    "latency_ms",
    "flag",
    "std_ms",
    "compute_ms",
    "transfer_ms",
    "last",
    "busy",
    "simulated",
    "error_code",
    "mean_ms",
    "min_ms",
    "max_ms",
    "interval_lower_ms",
    "interval_upper_ms",
};

gboolean import_csv_columns(const IfmCsv *csv, const char *const *names, gsize n, guint64 optional, gsize *at,
                            GError **error)
{
    for (gsize i = 0; i < n; i++)
    {
        gboolean may_lack = (optional >> i & 1) != 0;
        if (ifm_csv_column(csv, names[i], &at[i], may_lack ? NULL : error))
            continue;
        if (!may_lack)
            return FALSE;
        at[i] = IMPORT_NO_COLUMN;
    }
    return TRUE;
}

const char *import_csv_text(const IfmCsv *csv, gsize row, gsize column)
{
    return column != IMPORT_NO_COLUMN ? ifm_csv_text(csv, row, column) : "";
}

gboolean import_csv_number(const IfmCsv *csv, gsize row, gsize column, double *value, GError **error)
{
    return *import_csv_text(csv, row, column) == '\0' || ifm_csv_number(csv, row, column, value, error);
}

static gboolean csv_integer(const IfmCsv *csv, gsize row, gsize column, const char *name, gint64 max, gint64 *value,
                            GError **error)
{
    const char *text = ifm_csv_text(csv, row, column);
    if (g_ascii_string_to_signed(text, 10, 1, max, value, NULL))
        return TRUE;
    g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID,
                "%s:%zu: %s: found \"%s\", expected a whole number from 1 to %" G_GINT64_FORMAT, ifm_csv_name(csv),
                ifm_csv_line(csv, row), name, text, max);
    return FALSE;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* What a row of ranges.csv has more: the last stage, and the devices that worked meanwhile. */
static gboolean read_csv_range(const ImportTable *table, ImportRow *row, const IfmCsv *csv, const gsize *at, gsize i,
                               GError **error)
{
    gint64 last = row->stage;
    const char *busy = import_csv_text(csv, i, at[BUSY]);
    if (*import_csv_text(csv, i, at[LAST]) != '\0' &&
        !csv_integer(csv, i, at[LAST], "last", (gint64)table->staged->n_stages, &last, error))
        return FALSE;
    row->last = (int)last;
    if (*busy == '\0')
        return TRUE;
    row->busy = g_strsplit(busy, "+", -1);
    qsort(row->busy, g_strv_length(row->busy), sizeof *row->busy, compare_texts);
    return TRUE;
}

/* The rows of stages.csv and ranges.csv have intervals of 95 %. */
#define LEVEL 0.95

static gboolean read_csv_times(ImportRow *row, const IfmCsv *csv, const gsize *at, gsize i, GError **error)
{
    double *const times[N_COLUMNS] = {
        [LATENCY] = &row->total_ms,     [STD] = &row->std_ms,     [COMPUTE] = &row->compute_ms,
        [TRANSFER] = &row->transfer_ms, [MEAN] = &row->mean_ms,   [MIN] = &row->min_ms,
        [MAX] = &row->max_ms,           [LOWER] = &row->lower_ms, [UPPER] = &row->upper_ms
    };
    for (gsize column = 0; column < N_COLUMNS; column++)
        if (times[column] != NULL && !import_csv_number(csv, i, at[column], times[column], error))
            return FALSE;
    row->level = isnan(row->lower_ms) ? (double)NAN : LEVEL;
    return TRUE;
}

static gboolean read_csv_row(ImportTable *table, const IfmCsv *csv, const gsize *at, gsize i, GError **error)
{
    gint64 stage = 0;
    const char *file = ifm_csv_name(csv), *flag = ifm_csv_text(csv, i, at[FLAG]), *code = import_csv_text(csv, i, at[CODE]);
    ImportRow *row = import_row_new(file, g_strdup_printf("%s:%zu", file, ifm_csv_line(csv, i)));
    row->alias = g_strdup(ifm_csv_text(csv, i, at[DEVICE]));
    row->flag = *flag != '\0' ? g_strdup(flag) : NULL;
    row->code = *code != '\0' ? g_strdup(code) : NULL;
    gboolean good = csv_integer(csv, i, at[STAGE], "stage", (gint64)table->staged->n_stages, &stage, error) &&
                    csv_integer(csv, i, at[NODES], "nodes", IFM_GRAPH_MAX_NODES, &row->nodes, error) &&
                    csv_integer(csv, i, at[EDGES], "edges", IFM_GRAPH_MAX_EDGES, &row->edges, error) &&
                    read_csv_times(row, csv, at, i, error);
    row->stage = (int)stage;
    if (good && read_csv_range(table, row, csv, at, i, error))
    {
        if (g_str_equal(import_csv_text(csv, i, at[SIMULATED]), "true"))
            g_hash_table_add(table->simulated, g_strdup(row->alias));
        return import_add(table, row, "latency_ms", error);
    }
    import_row_free(row);
    return FALSE;
}

static gboolean read_csv(ImportTable *table, const char *path, GError **error)
{
    g_autoptr(IfmCsv) csv = ifm_csv_open(path, error);
    gsize at[N_COLUMNS];
    if (csv == NULL)
        return FALSE;
    if (import_is_points(csv))
        return import_points(table, csv, error);
    if (!import_csv_columns(csv, columns, N_COLUMNS, ~G_GUINT64_CONSTANT(0) << N_REQUIRED, at, error))
        return FALSE;
    for (gsize i = 0; i < ifm_csv_n_rows(csv); i++)
        if (!read_csv_row(table, csv, at, i, error))
            return FALSE;
    return TRUE;
}

/* --- JSON ----------------------------------------------------------------------------------------------------------- */

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
    json_auto_t *axes = json_pack("[s,s,s]", "model", "nodes", "edges");
    if (table->axes != NULL && !json_equal(table->axes, axes))
        return import_refuse(row, error, "its axes are not those of the files before it");
    if (table->axes == NULL)
        table->axes = json_incref(axes);
    row->axes = json_pack("{s:o,s:I,s:I}", "model", ifm_json_string(model), "nodes", (json_int_t)row->nodes, "edges",
                          (json_int_t)row->edges);
    return TRUE;
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
    if (!four || *what == '\0' || !g_ascii_string_to_signed(parts[at], 10, 1, IFM_GRAPH_MAX_NODES, &row->nodes, NULL) ||
        !g_ascii_string_to_signed(parts[at + 1], 10, 1, IFM_GRAPH_MAX_EDGES, &row->edges, NULL))
        return import_refuse(row, error, "is no key of a row: expected NODES,EDGES,DEVICE,STAGE, such as 1000,5000,CPU,1");
    row->alias = g_strdup(parts[at + 2]);
    if (!parse_block(what, &first, &last))
    {
        if (!leads)
            return take_model(table, row, what, error);
        if (!g_ascii_string_to_signed(what, 10, 1, G_MAXINT, &first, NULL))
            return import_refuse(row, error,
                                 "is no key of a row: expected NODES,EDGES,DEVICE,STAGE, such as 1000,5000,CPU,1");
        last = first;
    }
    row->stage = (int)first;
    row->last = (int)last;
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
    *total = raw ? "mean" : "total_time_ms";
    if (!json_number(row, object, *total, &row->total_ms, error) ||
        !json_deviation(row, object, raw ? "std" : "std_ms", &row->std_ms, error) ||
        !json_number(row, object, "min", &row->min_ms, error) || !json_number(row, object, "max", &row->max_ms, error) ||
        !json_number(row, object, "interval_lower_ms", &row->lower_ms, error) ||
        !json_number(row, object, "interval_upper_ms", &row->upper_ms, error) ||
        !json_number(row, object, "compute_time_ms", &row->compute_ms, error) ||
        !json_number(row, object, "transfer_time_ms", &row->transfer_ms, error))
        return FALSE;
    row->level = isnan(row->lower_ms) ? (double)NAN : LEVEL;
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
    ImportRow *row = import_row_new(file, g_strdup_printf("%s: %s", file, key));
    gboolean good = parse_key(table, row, key, error);
    if (good && !json_is_object(value))
        good = import_refuse(row, error, "expected an object with %s", total);
    good = good && read_failure(row, value, error);
    good = good && (row->flag != NULL || read_latency(row, value, &total, error));
    if (good)
        return import_add(table, row, total, error);
    import_row_free(row);
    return FALSE;
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
    {
        g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "%s: expected DEVICE_stageN, such as CPU_stage3", where);
        return FALSE;
    }
    if (!json_is_null(member) && !ifm_json_get_double(object, file, key, &value, error))
        return FALSE;
    if (value <= 0)
    {
        g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "%s: found %g, expected more than 0 (MB/s), or null", where,
                    value);
        return FALSE;
    }
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
        g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "%s: %s: found %" G_GINT64_FORMAT ", expected %s", file, key,
                    found, right);
        return FALSE;
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
    {
        g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "%s: expected an object of rows", file);
        return FALSE;
    }
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

static gboolean read_json(ImportTable *table, const char *path, GError **error)
{
    g_autofree char *bytes = NULL;
    gsize n_bytes;
    if (!ifm_file_load(path, &bytes, &n_bytes, error))
        return FALSE;
    if (strlen(bytes) != n_bytes)
    {
        g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "%s: is no text: a NUL at byte %zu", path, strlen(bytes));
        return FALSE;
    }
    g_autofree char *text = mend_numbers(bytes);
    json_auto_t *json = ifm_json_parse(text, strlen(text), path, error);
    return json != NULL && read_document(table, path, json, error);
}

gboolean import_file(ImportTable *table, const char *path, GError **error)
{
    if (g_str_has_suffix(path, ".csv"))
        return read_csv(table, path, error);
    if (g_str_has_suffix(path, ".json"))
        return read_json(table, path, error);
    g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "%s: expected a file that ends in .json or .csv", path);
    return FALSE;
}
