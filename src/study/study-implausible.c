#include <base/fields.h>
#include <base/statistics.h>
#include <math.h>

#include "study-kind.h"

/* Latencies of a study that those of other sizes contradict. They are kept, but are none: nothing is fitted to them,
 * planned by them or called the fastest, and the pages list them with the reason. */

/* --- stages -----------------------------------------------------------------------------------------------------------
 */

/* The same stages on the same device under the same load. */
static gboolean is_same_but_size(const IfmStudyRow *row, const IfmStudyRow *other)
{
    return row->device == other->device && row->stage == other->stage && row->last == other->last &&
           row->busy == other->busy;
}

/* "implausible: 25 us, but 64 nodes, which is less work, took 100 us" (transfer full) */
static char *words_of(IfmPlausibility kind, double own_ns, const char *other, double other_ns)
{
    g_autofree char *own = ifm_format_duration(own_ns), *others = ifm_format_duration(other_ns);
    return g_strdup_printf("%s: %s, but %s, which is %s work, took %s%s",
                           kind == IFM_IS_DOUBTFUL ? "doubtful" : IFM_IMPLAUSIBLE, own, other,
                           own_ns < other_ns ? "less" : "more", others,
                           kind == IFM_IS_DOUBTFUL ? "; which of the two is wrong is not known" : "");
}

/* Of two that contradict each other both latencies stay, with the doubt. @words: (transfer full) */
static void put(IfmPlausibility kind, char *words, char **code, char **reason, char **doubt)
{
    if (kind == IFM_IS_DOUBTFUL)
    {
        g_free(*doubt);
        *doubt = words;
        return;
    }
    *code = g_strdup(IFM_IMPLAUSIBLE);
    *reason = words;
}

/* @rows: IfmStudyRow*, of different sizes alone */
static void mark_among(const GPtrArray *rows)
{
    const guint n = rows->len;
    g_autofree double *work = g_new(double, 2 * n + 1);
    g_autofree IfmTimedWork *cases = g_new(IfmTimedWork, n + 1);
    g_autofree IfmContradiction *found = g_new(IfmContradiction, n + 1);
    for (guint i = 0; i < n; i++)
    {
        const IfmStudyRow *row = rows->pdata[i];
        work[2 * i] = (double)row->nodes;
        work[2 * i + 1] = (double)row->edges;
        cases[i] = (IfmTimedWork){ &work[2 * i], row->median_ns, row->interval.lower, row->interval.upper, row->std_ns };
    }
    ifm_find_implausible(cases, n, 2, found);
    for (guint i = 0; i < n; i++)
    {
        IfmStudyRow *row = rows->pdata[i];
        if (found[i].kind == IFM_IS_PLAUSIBLE)
            continue;
        const IfmStudyRow *other = rows->pdata[found[i].against];
        g_autofree char *size =
            g_strdup_printf("%" G_GINT64_FORMAT " nodes / %" G_GINT64_FORMAT " edges", other->nodes, other->edges);
        put(found[i].kind, words_of(found[i].kind, row->median_ns, size, other->median_ns), &row->code, &row->reason,
            &row->doubt);
    }
}

void study_mark_rows(GPtrArray *rows)
{
    g_autofree gboolean *done = g_new0(gboolean, rows->len + 1);
    for (guint begin = 0; begin < rows->len; begin++)
    {
        g_autoptr(GPtrArray) same = g_ptr_array_new();
        for (guint i = begin; i < rows->len; i++)
        {
            IfmStudyRow *row = rows->pdata[i];
            if (done[i] || row->reason != NULL || !is_same_but_size(row, rows->pdata[begin]))
                continue;
            done[i] = TRUE;
            g_ptr_array_add(same, row);
        }
        mark_among(same);
    }
}

/* --- points -----------------------------------------------------------------------------------------------------------
 */

/* The same device and values of all axes but one. (transfer full) */
static char *group_of(const IfmStudyRow *point, const char *axis)
{
    json_auto_t *others = json_deep_copy(point->axes);
    json_object_del(others, axis);
    g_autofree char *values = ifm_json_canonical(others);
    return g_strdup_printf("%p %s", (const void *)point->device, values);
}

/* @points: IfmStudyRow*, along one axis. By their FLOP: more threads, or another precision, are no more work. */
static void mark_along(const GPtrArray *points)
{
    const guint n = points->len;
    g_autofree IfmTimedWork *cases = g_new(IfmTimedWork, n + 1);
    g_autofree IfmContradiction *found = g_new(IfmContradiction, n + 1);
    for (guint i = 0; i < n; i++)
    {
        const IfmStudyRow *point = points->pdata[i];
        const double std_ns =
            point->measurement != NULL && point->measurement->has_summary ? point->measurement->summary.std : (double)NAN;
        cases[i] = (IfmTimedWork){ &point->flop, point->median_ns, point->interval.lower, point->interval.upper, std_ns };
    }
    ifm_find_implausible(cases, n, 1, found);
    for (guint i = 0; i < n; i++)
    {
        IfmStudyRow *point = points->pdata[i];
        if (found[i].kind == IFM_IS_PLAUSIBLE || point->reason != NULL)
            continue;
        const IfmStudyRow *other = points->pdata[found[i].against];
        put(found[i].kind, words_of(found[i].kind, point->median_ns, other->title, other->median_ns), &point->code,
            &point->reason, &point->doubt);
    }
}

/* Sizes are numbers. Of two kernels, models or algorithms, which have names, the one with less work may well take longer.
 */
static gboolean is_size(const IfmStudyTables *points, const char *axis)
{
    for (guint i = 0; i < points->rows->len; i++)
        if (json_is_string(json_object_get(((const IfmStudyRow *)points->rows->pdata[i])->axes, axis)))
            return FALSE;
    return TRUE;
}

void study_mark_points(IfmStudyTables *points)
{
    for (guint axis = 0; axis < points->axes->len; axis++)
    {
        if (!is_size(points, points->axes->pdata[axis]))
            continue;
        g_autoptr(GHashTable) groups =
            g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_ptr_array_unref);
        GHashTableIter iter;
        gpointer group;
        for (guint i = 0; i < points->rows->len; i++)
        {
            IfmStudyRow *point = points->rows->pdata[i];
            if (point->reason != NULL || !isfinite(point->flop))
                continue;
            char *key = group_of(point, points->axes->pdata[axis]);
            if (!g_hash_table_contains(groups, key))
                g_hash_table_insert(groups, g_strdup(key), g_ptr_array_new());
            g_ptr_array_add(g_hash_table_lookup(groups, key), point);
            g_free(key);
        }
        g_hash_table_iter_init(&iter, groups);
        while (g_hash_table_iter_next(&iter, NULL, &group))
            mark_along(group);
    }
}
