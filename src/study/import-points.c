#include <base/statistics.h>
#include <math.h>
#include <string.h>

#include "import.h"

/* A study of points that was measured elsewhere: its points.csv, whose axes stand before the column "alias". */

enum
{
    ALIAS,
    MEDIAN,
    OUTCOME,
    REASON,
    N_REQUIRED,
    LOWER = N_REQUIRED,
    UPPER,
    LEVEL,
    MEAN,
    STD,
    MIN,
    MAX,
    ITEMS,
    FLOP,
    CODE,
    SIMULATED,
    N_COLUMNS,
};
static const char *const columns[N_COLUMNS] = { "alias",    "median_ns", "outcome", "reason",     "lower_ns",
                                                "upper_ns", "level",     "mean_ns", "std_ns",     "min_ns",
                                                "max_ns",   "items",     "flop",    "error_code", "simulated" };

gboolean import_is_points(const IfmCsv *csv)
{
    gsize column;
    return ifm_csv_column(csv, "alias", &column, NULL) && ifm_csv_column(csv, "median_ns", &column, NULL);
}

/* A number where the text is one, as the axis had it. */
static json_t *value_of(const char *text)
{
    gint64 number;
    return g_ascii_string_to_signed(text, 10, G_MININT64, G_MAXINT64, &number, NULL) ? json_integer(number)
                                                                                     : ifm_json_string(text);
}

/* @n: how many axes there are */
static gboolean read_row(ImportTable *table, const IfmCsv *csv, const gsize *at, gsize n, gsize i, GError **error)
{
    const char *file = ifm_csv_name(csv), *outcome = ifm_csv_text(csv, i, at[OUTCOME]);
    if (g_str_equal(outcome, "left") || g_str_equal(outcome, "skipped")) /* not measured there either */
    {
        table->n_read++;
        table->n_left_out++;
        return TRUE;
    }
    ImportRow *row = import_row_new(file, g_strdup_printf("%s:%zu", file, ifm_csv_line(csv, i)));
    row->alias = g_strdup(ifm_csv_text(csv, i, at[ALIAS]));
    row->axes = json_object();
    for (gsize axis = 0; axis < n; axis++)
        json_object_set_new(row->axes, json_string_value(json_array_get(table->axes, axis)),
                            value_of(ifm_csv_text(csv, i, axis)));
    double *const times[] = { &row->total_ms, &row->lower_ms, &row->upper_ms, &row->mean_ms,
                              &row->std_ms,   &row->min_ms,   &row->max_ms };
    static const int of_times[] = { MEDIAN, LOWER, UPPER, MEAN, STD, MIN, MAX };
    gboolean good = import_csv_number(csv, i, at[LEVEL], &row->level, error) &&
                    import_csv_number(csv, i, at[ITEMS], &row->items, error) &&
                    import_csv_number(csv, i, at[FLOP], &row->flop, error);
    for (gsize t = 0; t < G_N_ELEMENTS(times) && good; t++)
    {
        good = import_csv_number(csv, i, at[of_times[t]], times[t], error);
        *times[t] /= 1e6;
    }
    if (good &&
        (g_str_equal(outcome, "failed") || g_str_equal(outcome, "refused") || g_str_equal(outcome, IFM_IMPLAUSIBLE)))
    {
        row->flag = g_strdup(ifm_csv_text(csv, i, at[REASON]));
        row->code = g_strdup(import_csv_text(csv, i, at[CODE]));
    }
    else if (good && !g_str_equal(outcome, "measured"))
        good = import_refuse(
            row, error, "outcome: found \"%s\", expected measured, failed, refused, implausible, skipped or left", outcome);
    if (good && g_str_equal(import_csv_text(csv, i, at[SIMULATED]), "true"))
        g_hash_table_add(table->simulated, g_strdup(row->alias));
    if (good)
        return import_add(table, row, "median_ns", error);
    import_row_free(row);
    return FALSE;
}

/* "dim_NAME" is NAME: a column that would have the name of a figure. */
static json_t *read_axes(const IfmCsv *csv, gsize n)
{
    json_t *axes = json_array();
    for (gsize i = 0; i < n; i++)
    {
        const char *name = ifm_csv_header(csv, i);
        json_array_append_new(axes, ifm_json_string(g_str_has_prefix(name, "dim_") ? name + strlen("dim_") : name));
    }
    return axes;
}

gboolean import_points(ImportTable *table, const IfmCsv *csv, GError **error)
{
    gsize at[N_COLUMNS];
    if (!import_csv_columns(csv, columns, N_COLUMNS, ~G_GUINT64_CONSTANT(0) << N_REQUIRED, at, error))
        return FALSE;
    json_auto_t *axes = read_axes(csv, at[ALIAS]);
    if (json_array_size(axes) == 0)
        return ifm_error_refuse(error, "%s:1: no axis: expected columns such as model and batch before \"alias\"",
                                ifm_csv_name(csv));
    if (table->axes != NULL && !json_equal(table->axes, axes))
        return ifm_error_refuse(error, "%s:1: its axes are not those of the files before it", ifm_csv_name(csv));
    if (table->axes == NULL)
        table->axes = json_incref(axes);
    for (gsize i = 0; i < ifm_csv_n_rows(csv); i++)
        if (!read_row(table, csv, at, json_array_size(axes), i, error))
            return FALSE;
    return TRUE;
}
