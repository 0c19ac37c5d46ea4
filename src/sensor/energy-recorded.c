/* A recording: a CSV file that is played on the meter's clock (docs/energy.md, "Recordings"). */
#include "energy-private.h"
#include <base/base.h>
#include <base/fields.h>
#include <string.h>

#define NS_PER_S 1e9
#define MAX_TIME_S 1e9
#define MAX_VALUE 1e15

typedef struct Row
{
    gint64 time_ns;
    EnergySample sample;
    gboolean has_counter, has_power;
} Row;

/* The columns of a recording, and the rows of each domain. */
typedef struct Recording
{
    IfmCsv *csv;
    gsize time, domain, counter, power;
    GPtrArray *series; /* GArray of Row, one a part */
} Recording;

static void recorded_close(gpointer state)
{
    Recording *recording = state;
    ifm_csv_free(recording->csv);
    g_ptr_array_unref(recording->series);
    g_free(recording);
}

/* Reads a number that may be absent. */
static gboolean read_number(const Recording *recording, gsize row, gsize column, double maximum, double *value,
                            gboolean *known, GError **error)
{
    *known = *ifm_csv_text(recording->csv, row, column) != '\0';
    if (!*known)
        return TRUE;
    return ifm_csv_number(recording->csv, row, column, value, error) &&
           ((*value >= 0 && *value <= maximum) ||
            ifm_error_refuse(error, "%s:%zu: %g is not from 0 to %g", ifm_csv_name(recording->csv),
                             ifm_csv_line(recording->csv, row), *value, maximum));
}

static gboolean read_row(const Recording *recording, gsize index, Row *row, GError **error)
{
    double time_s = 0, counter_uj = 0;
    gboolean has_time;
    if (!read_number(recording, index, recording->time, MAX_TIME_S, &time_s, &has_time, error) ||
        !read_number(recording, index, recording->counter, MAX_VALUE, &counter_uj, &row->has_counter, error) ||
        !read_number(recording, index, recording->power, MAX_VALUE, &row->sample.power_w, &row->has_power, error))
        return FALSE;
    row->time_ns = (gint64)(time_s * NS_PER_S + 0.5);
    row->sample.counter_uj = (guint64)counter_uj;
    const char *fault = !has_time                                      ? "has no time_s"
                        : !row->has_counter && !row->has_power         ? "has neither energy_uj nor power_w"
                        : (double)row->sample.counter_uj != counter_uj ? "has an energy_uj that is not whole"
                                                                       : NULL;
    return fault == NULL || ifm_error_refuse(error, "%s:%zu: the row %s", ifm_csv_name(recording->csv),
                                             ifm_csv_line(recording->csv, index), fault);
}

/* Compares a row with the one of its domain before. Returns: (nullable) the fault. */
static const char *row_fault(const Row *row, const Row *before)
{
    return row->time_ns <= before->time_ns                      ? "time_s is not above that of the row before"
           : row->has_counter != before->has_counter            ? "energy_uj is in some rows only"
           : row->has_power != before->has_power                ? "power_w is in some rows only"
           : row->sample.counter_uj < before->sample.counter_uj ? "energy_uj falls"
                                                                : NULL;
}

/* The rows of a domain; a new domain becomes a part. */
static GArray *series_of(Recording *recording, const char *name, GPtrArray *parts)
{
    for (guint i = 0; i < parts->len; i++)
        if (strcmp(((EnergyPart *)g_ptr_array_index(parts, i))->name, name) == 0)
            return g_ptr_array_index(recording->series, i);
    EnergyPart *part = energy_part_add(parts, g_strdup(name), strchr(name, '/') == NULL);
    part->index = recording->series->len;
    g_ptr_array_add(recording->series, g_array_new(FALSE, FALSE, sizeof(Row)));
    return g_ptr_array_index(recording->series, part->index);
}

#define MAX_DOMAINS 256

static gboolean read_rows(Recording *recording, GPtrArray *parts, GError **error)
{
    for (gsize i = 0; i < ifm_csv_n_rows(recording->csv); i++)
    {
        Row row = { 0 };
        if (!read_row(recording, i, &row, error))
            return FALSE;
        const char *name = ifm_csv_text(recording->csv, i, recording->domain);
        GArray *series = *name != '\0' && strpbrk(name, "\r\n") == NULL ? series_of(recording, name, parts) : NULL;
        const char *fault = series == NULL             ? "the domain has no name of one line"
                            : parts->len > MAX_DOMAINS ? "a recording has at most 256 domains"
                            : series->len > 0          ? row_fault(&row, &g_array_index(series, Row, series->len - 1))
                                                       : NULL;
        if (fault != NULL)
            return ifm_error_refuse(error, "%s:%zu: %s", ifm_csv_name(recording->csv), ifm_csv_line(recording->csv, i),
                                    fault);
        g_array_append_val(series, row);
    }
    for (guint i = 0; i < parts->len; i++)
    {
        EnergyPart *part = g_ptr_array_index(parts, i);
        const Row *row = &g_array_index((GArray *)g_ptr_array_index(recording->series, i), Row, 0);
        part->has_counter = row->has_counter;
        part->has_power = row->has_power;
    }
    return parts->len > 0 || ifm_error_refuse(error, "%s: a recording without rows", ifm_csv_name(recording->csv));
}

static void series_free(gpointer data)
{
    g_array_unref(data);
}

static gpointer recorded_open(const IfmEnergyOptions *options, GPtrArray *parts, GError **error)
{
    if (options->recording == NULL)
    {
        ifm_error_set(error, IFM_ERROR_UNAVAILABLE, "no recording was given");
        return NULL;
    }
    Recording *recording = g_new0(Recording, 1);
    recording->series = g_ptr_array_new_with_free_func(series_free);
    recording->csv = ifm_csv_open(options->recording, error);
    if (recording->csv != NULL && ifm_csv_column(recording->csv, "time_s", &recording->time, error) &&
        ifm_csv_column(recording->csv, "domain", &recording->domain, error) &&
        ifm_csv_column(recording->csv, "energy_uj", &recording->counter, error) &&
        ifm_csv_column(recording->csv, "power_w", &recording->power, error) && read_rows(recording, parts, error))
        return recording;
    if (error != NULL)
        ifm_error_make_one_line(error);
    recorded_close(recording);
    return NULL;
}

/* The last row at or before the time. */
static gboolean recorded_read(gpointer state, const EnergyPart *part, gint64 elapsed_ns, EnergySample *sample,
                              GError **error)
{
    const Recording *recording = state;
    const GArray *series = g_ptr_array_index(recording->series, part->index);
    guint low = 0, high = series->len;
    while (low < high)
    {
        guint middle = low + (high - low) / 2;
        if (g_array_index(series, Row, middle).time_ns <= elapsed_ns)
            low = middle + 1;
        else
            high = middle;
    }
    const Row *last = &g_array_index(series, Row, series->len - 1);
    if (low > 0 && elapsed_ns <= last->time_ns)
    {
        *sample = g_array_index(series, Row, low - 1).sample;
        sample->update = low;
        return TRUE;
    }
    ifm_error_set(error, IFM_ERROR_UNAVAILABLE, "%s: %s has no row %s %.6f s", ifm_csv_name(recording->csv), part->name,
                  low > 0 ? "after" : "before", (double)elapsed_ns / NS_PER_S);
    ifm_error_make_one_line(error);
    return FALSE;
}

const EnergyKind energy_recorded = {
    .name = "recorded", .open = recorded_open, .read = recorded_read, .close = recorded_close
};
