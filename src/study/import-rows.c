#include <math.h>
#include <string.h>

#include <staged/staged.h>

#include "import.h"

/* Rows of tables measured elsewhere: whether one can be so, and what becomes of two of one key. */

void import_row_free(ImportRow *row)
{
    study_case_record_clear(&row->of);
    g_free(row->place);
    g_free(row->file);
    g_free(row->flag);
    g_free(row->code);
    g_free(row->outcome);
    g_free(row->simulated);
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

gboolean import_take_axes(ImportTable *table, json_t *axes, const char *where, GError **error)
{
    json_auto_t *names = axes;
    if (table->axes == NULL)
        table->axes = json_incref(names);
    return json_equal(table->axes, names) ||
           ifm_error_refuse(error, "%s: its axes are not those of the files before it", where);
}

/* --- a row ---------------------------------------------------------------------------------------------------------- */

static gboolean G_GNUC_PRINTF(3, 4) refuse(const ImportRow *row, GError **error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *what = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    return ifm_error_refuse(error, "%s: %s", row->place, what);
}

/* A clock counts whole nanoseconds, and no stage takes a week. */
#define MIN_MS 1e-6
#define MAX_MS 6e8
/* By how much parts may be more than the whole: what rounding adds. */
#define ROUNDING 1.01

/* @above: it must be more than 0    @value: NaN where there is none */
static gboolean check_figure(const ImportRow *row, const char *what, double value, gboolean above, GError **error)
{
    return isnan(value) || ((above ? value > 0 : value >= 0) && !isinf(value)) ||
           refuse(row, error, "%s: found %g, expected %s, or nothing", what, value, above ? "more than 0" : "0 or more");
}

/* Published splits have transfers that exceed the total next to a compute time of 0, cut off there; two that both stand are
 * parts of the whole. */
static gboolean check_parts(const ImportRow *row, const char *total, GError **error)
{
    if (!(row->compute_ms > 0) || !(row->transfer_ms > 0) || row->compute_ms + row->transfer_ms <= ROUNDING * row->total_ms)
        return TRUE;
    return refuse(row, error, "%s: found %g, less than compute and transfer together, %g", total, row->total_ms,
                  row->compute_ms + row->transfer_ms);
}

static gboolean check_stages(const ImportTable *table, const ImportRow *row, GError **error)
{
    g_auto(GStrv) busy = g_strsplit(row->of.busy != NULL ? row->of.busy : "", "+", -1);
    if (study_stage(table->staged, row->of.stage) == NULL)
        return refuse(row, error, "stage: found %d, expected 1 to %zu", row->of.stage, table->staged->n_stages);
    if (row->of.last < row->of.stage || study_stage(table->staged, row->of.last) == NULL)
        return refuse(row, error, "last: found %d, expected %d to %zu", row->of.last, row->of.stage,
                      table->staged->n_stages);
    for (char **other = busy; *other != NULL; other++)
        if (!study_is_alias(*other) || g_str_equal(*other, row->of.alias))
            return refuse(row, error, "busy: found \"%s\", expected names of other devices, joined by +", *other);
    if (row->of.nodes < 1 || row->of.edges < 1)
        return refuse(row, error, "found %" G_GINT64_FORMAT " nodes and %" G_GINT64_FORMAT " edges, expected 1 or more",
                      row->of.nodes, row->of.edges);
    return TRUE;
}

static gboolean check_row(const ImportTable *table, const ImportRow *row, const char *total, GError **error)
{
    if (!study_is_alias(row->of.alias))
        return refuse(row, error, "device: found \"%s\", expected a name of letters, digits, - and _", row->of.alias);
    if (row->of.axes == NULL && !check_stages(table, row, error))
        return FALSE;
    if (row->flag != NULL) /* a flagged row is a failure: what it calls a latency is none */
        return TRUE;
    if (isnan(row->total_ms))
        return refuse(row, error, "%s is missing; expected the latency in ms", total);
    if (!(row->total_ms > 0) || isinf(row->total_ms))
        return refuse(row, error, "%s: found %g, expected more than 0", total, row->total_ms);
    if (row->total_ms < MIN_MS || row->total_ms > MAX_MS)
        return refuse(row, error, "%s: found %g, which is no latency in ms; expected %g to %g", total, row->total_ms,
                      MIN_MS, MAX_MS);
    if (!check_figure(row, "mean", row->mean_ms, TRUE, error) || !check_figure(row, "min", row->min_ms, TRUE, error) ||
        !check_figure(row, "max", row->max_ms, TRUE, error))
        return FALSE;
    if (row->lower_ms > row->total_ms || row->upper_ms < row->total_ms)
        return refuse(row, error, "the interval, %g to %g ms, does not hold the median, %g ms", row->lower_ms,
                      row->upper_ms, row->total_ms);
    if (row->min_ms > row->max_ms)
        return refuse(row, error, "the minimum, %g, is more than the maximum, %g", row->min_ms, row->max_ms);
    return check_figure(row, "the standard deviation", row->std_ms, FALSE, error) &&
           check_figure(row, "the compute time", row->compute_ms, FALSE, error) &&
           check_figure(row, "the transfer time", row->transfer_ms, FALSE, error) && check_parts(row, total, error);
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

static char *key_of(const IfmStudyCase *of)
{
    g_autofree char *axes = of->axes != NULL ? ifm_json_canonical(of->axes) : g_strdup("");
    return g_strdup_printf("%s %s %d-%d %" G_GINT64_FORMAT " %" G_GINT64_FORMAT " %s", of->alias,
                           of->busy != NULL ? of->busy : "", of->stage, of->last, of->nodes, of->edges, axes);
}

gboolean import_add(ImportTable *table, ImportRow *row, const char *total, GError **error)
{
    char *key = key_of(&row->of);
    ImportRow *before = g_hash_table_lookup(table->by_key, key);
    gboolean good = check_row(table, row, total, error);
    table->n_read++;
    if (good && before != NULL && g_str_equal(before->file, row->file))
        good = refuse(row, error, "stands there already, at %s", before->place);
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
    row->lower_ms = row->upper_ms = row->level = NAN;
    return row;
}
