#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "simulated-private.h"

/* More than any model has: a range named in a broken file costs at most this many look-ups in a table. */
#define MAX_STAGES 1000

gboolean simulated_range(const char *stage, int *first, int *last)
{
    char *end = NULL;
    if (stage == NULL || !g_ascii_isdigit(*stage))
        return FALSE;
    gint64 low = g_ascii_strtoll(stage, &end, 10);
    if (*end != '-' || !g_ascii_isdigit(end[1]))
        return FALSE;
    gint64 high = g_ascii_strtoll(end + 1, &end, 10);
    *first = (int)MIN(low, G_MAXINT);
    *last = (int)MIN(high, G_MAXINT);
    return *end == '\0' && low >= 1 && high > low && high - low < MAX_STAGES && high < G_MAXINT;
}

gboolean simulated_range_has(const char *stage, const char *one)
{
    int first, last;
    guint64 number;
    if (stage == NULL || g_str_equal(stage, one))
        return stage != NULL;
    return simulated_range(stage, &first, &last) &&
           g_ascii_string_to_unsigned(one, 10, (guint64)first, (guint64)last, &number, NULL);
}

void range_table_free(RangeTable *table)
{
    if (table == NULL)
        return;
    g_ptr_array_unref(table->parts);
    g_free(table->missing);
    g_free(table);
}

static gboolean add_part(RangeTable *table, const TableDescription *description, const char *stage, GError **error)
{
    StageTable *part = stage_table_load(description, stage, error);
    if (part == NULL)
        return FALSE;
    g_ptr_array_add(table->parts, part);
    if (stage_table_n(part) == 0 && table->missing == NULL)
        table->missing = g_strdup(stage != NULL ? stage : "");
    return TRUE;
}

/* A range that was measured as one has its own rows; any other is made up of its stages. */
RangeTable *range_table_load(const TableDescription *description, const char *stage, GError **error)
{
    g_autoptr(RangeTable) table = g_new0(RangeTable, 1);
    int first, last;
    table->parts = g_ptr_array_new_with_free_func((GDestroyNotify)stage_table_free);
    if (!add_part(table, description, stage, error))
        return NULL;
    if (table->missing == NULL || !simulated_range(stage, &first, &last))
        return g_steal_pointer(&table);
    g_ptr_array_set_size(table->parts, 0);
    g_clear_pointer(&table->missing, g_free);
    for (int number = first; number <= last && table->missing == NULL; number++)
    {
        g_autofree char *one = g_strdup_printf("%d", number);
        if (!add_part(table, description, one, error))
            return NULL;
    }
    return g_steal_pointer(&table);
}

/* The noise of stages is independent, so that variances add up. */
gboolean range_table_predict(const RangeTable *table, const SimulatedSizes *sizes, Prediction *prediction, GError **error)
{
    double variance = 0;
    if (table->parts->len == 1)
        return stage_table_predict(table->parts->pdata[0], sizes, prediction, error);
    *prediction = (Prediction){ .sigma = NAN, .how = "table, summed" };
    for (guint i = 0; i < table->parts->len; i++)
    {
        Prediction part;
        if (!stage_table_predict(table->parts->pdata[i], sizes, &part, error))
            return FALSE;
        if (part.flagged != NULL)
        {
            *prediction = part;
            return TRUE;
        }
        prediction->mean_ns += part.mean_ns;
        variance += part.sigma * part.mean_ns * part.sigma * part.mean_ns;
    }
    prediction->sigma = sqrt(variance) / prediction->mean_ns;
    return TRUE;
}
