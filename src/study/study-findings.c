#include <math.h>
#include <string.h>

#include <base/fields.h>
#include <base/statistics.h>
#include <study/findings.h>

/* Findings of a study of stages are computed from its rows: what became of cases, precision, the fastest device, the
 * slow-down under load, and compute. */

/* --- what became of cases --------------------------------------------------------------------------------------------- */

const char *ifm_row_state_name(IfmRowState state)
{
    static const char *const names[IFM_ROW_STATES] = { "measured", "failed", "skipped", "refused", "left", "implausible" };
    return names[state];
}

const char *ifm_row_state_words(IfmRowState state)
{
    return state == IFM_ROW_REFUSED ? "unsupported" : state == IFM_ROW_LEFT ? "pending" : ifm_row_state_name(state);
}

static gboolean has_code(const IfmStudyRow *row, IfmErrorCode code)
{
    return g_strcmp0(row->code, ifm_error_code_name(code)) == 0;
}

IfmRowState ifm_study_row_state(const IfmStudyTables *tables, const IfmStudyRow *row)
{
    if (row->reason == NULL)
        return IFM_ROW_MEASURED;
    if (g_strcmp0(row->code, IFM_IMPLAUSIBLE) == 0)
        return IFM_ROW_IMPLAUSIBLE;
    if (row->measurement != NULL && row->measurement->outcome == IFM_OUTCOME_SKIPPED)
        return IFM_ROW_SKIPPED;
    if (row->measurement != NULL)
        return json_object_get(row->axes, "algorithm") != NULL && has_code(row, IFM_ERROR_UNSUPPORTED) ? IFM_ROW_REFUSED
                                                                                                       : IFM_ROW_FAILED;
    if (tables != NULL && tables->imported)
        return IFM_ROW_FAILED;
    if (row->device->reason != NULL || has_code(row, IFM_ERROR_UNAVAILABLE))
        return IFM_ROW_SKIPPED;
    return row->code != NULL && *row->code != '\0' ? IFM_ROW_FAILED : IFM_ROW_LEFT;
}

gboolean ifm_stage_row_listed(const IfmStudyTables *tables, const IfmStudyRow *row)
{
    return row->measurement != NULL || row->reason == NULL || tables->imported;
}

const char *ifm_stage_row_reason(const IfmStudyRow *row)
{
    const char *reason = row->reason, *device = row->device->device;
    if (reason == NULL || device == NULL || !g_str_has_prefix(reason, device))
        return reason;
    const char *after = reason + strlen(device);
    return *after == ':' || *after == ',' || *after == ' ' ? after + strspn(after, ",: ") : reason;
}

/* Single stages first, then ranges and what was measured under load. */
static guint n_all_rows(const IfmStudyTables *tables)
{
    return tables->rows->len + tables->ranges->len;
}

static const IfmStudyRow *row_at(const IfmStudyTables *tables, guint at)
{
    return at < tables->rows->len ? tables->rows->pdata[at] : tables->ranges->pdata[at - tables->rows->len];
}

void ifm_study_row_count(const IfmStudyTables *tables, const IfmStudyDevice *device, int phase,
                         gsize counts[IFM_ROW_STATES])
{
    memset(counts, 0, IFM_ROW_STATES * sizeof *counts);
    for (guint i = 0; i < n_all_rows(tables); i++)
    {
        const IfmStudyRow *row = row_at(tables, i);
        if ((device == NULL || row->device == device) && (phase == 0 || row->phase == phase))
            counts[ifm_study_row_state(tables, row)]++;
    }
}

void ifm_link_count(const IfmLinkFit *link, gsize counts[IFM_ROW_STATES])
{
    counts[IFM_ROW_MEASURED] += link->n;
    counts[IFM_ROW_FAILED] += link->n_failed;
    counts[IFM_ROW_SKIPPED] += link->n_skipped;
    counts[IFM_ROW_LEFT] += link->n_left;
}

gsize ifm_study_count(const IfmStudyTables *tables, int phase, gsize counts[IFM_ROW_STATES], gsize *n_absent)
{
    gsize n = 0;
    *n_absent = 0;
    ifm_study_row_count(tables, NULL, phase, counts);
    for (guint i = 0; i < n_all_rows(tables); i++)
    {
        const IfmStudyRow *row = row_at(tables, i);
        /* skipped, and never tried, for its device was not there */
        *n_absent += (phase == 0 || row->phase == phase) && row->measurement == NULL &&
                     ifm_study_row_state(tables, row) == IFM_ROW_SKIPPED;
    }
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
    for (int state = 0; state < IFM_ROW_STATES; state++)
        n += counts[state];
    return n;
}

gboolean ifm_study_has_latency(const IfmStudyTables *tables, const IfmStudyDevice *device)
{
    for (guint i = 0; i < tables->rows->len; i++)
        if (row_at(tables, i)->device == device && row_at(tables, i)->reason == NULL &&
            isfinite(row_at(tables, i)->median_ns))
            return TRUE;
    return FALSE;
}

gboolean ifm_study_has_stage(const IfmStudyTables *tables, int stage)
{
    for (guint i = 0; i < tables->rows->len; i++)
        if (row_at(tables, i)->stage == stage)
            return TRUE;
    return FALSE;
}

/* --- how well latencies are known ------------------------------------------------------------------------------------- */

double ifm_study_target(const IfmStudyTables *tables)
{
    double target = ifm_member_number(tables->definition, "protocol.ci_ratio");
    return isfinite(target) && target > 0 ? target : IFM_PROTOCOL_INIT.ci_ratio; /* fixed counts aim at nothing */
}

double ifm_stage_row_width(const IfmStudyRow *row)
{
    return (row->interval.upper - row->interval.lower) / 2 / row->median_ns;
}

/* Of tables from elsewhere, whose precision is unknown, "reached". */
static IfmPrecision row_precision(const IfmStudyTables *tables, const IfmStudyRow *row)
{
    double width = ifm_stage_row_width(row);
    if (row->reason != NULL || row->n == 0)
        return IFM_PRECISION_REACHED;
    if (!ifm_is_precision(width))
        return IFM_PRECISION_UNKNOWN;
    return width > ifm_study_target(tables) * (1 + 1e-9) ? IFM_PRECISION_MISSED : IFM_PRECISION_REACHED;
}

IfmPrecisionCount ifm_study_precision(const IfmStudyTables *tables, const IfmStudyDevice *device, int stage)
{
    IfmPrecisionCount count = { 0 };
    for (guint i = 0; i < (device != NULL ? tables->rows->len : n_all_rows(tables)); i++)
    {
        const IfmStudyRow *row = row_at(tables, i);
        if (row->reason != NULL || (device != NULL && (row->device != device || row->stage != stage)))
            continue;
        IfmPrecision precision = row_precision(tables, row);
        count.n++;
        count.n_missed += precision == IFM_PRECISION_MISSED;
        count.n_unknown += precision == IFM_PRECISION_UNKNOWN;
        if (precision == IFM_PRECISION_MISSED)
            count.widest = MAX(count.widest, ifm_stage_row_width(row));
    }
    return count;
}

/* --- which device is the fastest -------------------------------------------------------------------------------------- */

const IfmStudyRow *ifm_study_outermost(const IfmStudyTables *tables, int sign)
{
    const IfmStudyRow *found = NULL;
    for (guint i = 0; i < tables->rows->len; i++)
    {
        const IfmStudyRow *row = tables->rows->pdata[i];
        gint64 further = found == NULL                ? 1
                         : row->nodes != found->nodes ? sign * (row->nodes - found->nodes)
                                                      : sign * (row->edges - found->edges);
        if (row->reason == NULL && further > 0)
            found = row;
    }
    return found;
}

static void latencies_free(IfmStageLatencies *latencies)
{
    g_free(latencies->devices);
    g_free(latencies);
}

static IfmStageLatencies *latencies_new(int stage, guint n_devices)
{
    IfmStageLatencies *latencies = g_new0(IfmStageLatencies, 1);
    latencies->stage = stage;
    latencies->n_devices = n_devices;
    latencies->devices = g_new0(IfmDeviceLatency, n_devices + 1);
    for (guint i = 0; i < n_devices; i++)
        latencies->devices[i] = (IfmDeviceLatency){ NAN, { NAN, NAN, NAN }, IFM_PRECISION_REACHED };
    return latencies;
}

/* The sum of a device's stages, where it has them all. Its interval is the sum of theirs: wide enough whatever they have in
 * common. */
static IfmStageLatencies *sum_of(const GPtrArray *all, guint n_devices)
{
    IfmStageLatencies *sums = latencies_new(0, n_devices);
    for (guint device = 0; device < n_devices; device++)
    {
        IfmDeviceLatency sum = { 0, { 0, 0, NAN }, IFM_PRECISION_REACHED };
        for (guint i = 0; i < all->len; i++)
        {
            const IfmDeviceLatency *one = &((const IfmStageLatencies *)all->pdata[i])->devices[device];
            sum.ns += one->ns;
            sum.interval.lower += one->interval.lower;
            sum.interval.upper += one->interval.upper;
            sum.precision = MAX(sum.precision, one->precision);
        }
        sums->devices[device] = sum;
    }
    return sums;
}

static guint index_of_smallest(const IfmStageLatencies *latencies, guint but)
{
    guint smallest = G_MAXUINT;
    for (guint i = 0; i < latencies->n_devices; i++)
        if (i != but && isfinite(latencies->devices[i].ns) &&
            (smallest == G_MAXUINT || latencies->devices[i].ns < latencies->devices[smallest].ns))
            smallest = i;
    return smallest;
}

gboolean ifm_latencies_may_be_fastest(const IfmStageLatencies *latencies, guint device)
{
    return device == latencies->best ||
           (isfinite(latencies->devices[device].ns) &&
            latencies->devices[latencies->best].interval.upper >= latencies->devices[device].interval.lower);
}

static void find_fastest(IfmStageLatencies *latencies)
{
    latencies->best = index_of_smallest(latencies, G_MAXUINT);
    latencies->next = latencies->best != G_MAXUINT ? index_of_smallest(latencies, latencies->best) : G_MAXUINT;
    if (latencies->next == G_MAXUINT)
        return;
    guint n_rivals = 0;
    latencies->known = TRUE;
    for (guint i = 0; i < latencies->n_devices; i++)
    {
        const IfmDeviceLatency *one = &latencies->devices[i];
        if (!isfinite(one->ns))
            continue;
        latencies->known &= isfinite(one->interval.lower) && isfinite(one->interval.upper);
        n_rivals += ifm_latencies_may_be_fastest(latencies, i);
    }
    latencies->decided = latencies->known && n_rivals == 1;
}

static void size_free(IfmSizeLatencies *size)
{
    g_ptr_array_unref(size->stages);
    g_free(size);
}

/* Of no latency yet. @numbers: int, the stages that the study has */
static IfmSizeLatencies *size_new(const IfmStudyTables *tables, const IfmStudyRow *at, const GArray *numbers)
{
    IfmSizeLatencies *size = g_new(IfmSizeLatencies, 1);
    *size = (IfmSizeLatencies){ at, g_ptr_array_new_with_free_func((GDestroyNotify)latencies_free), FALSE };
    for (guint i = 0; i < numbers->len; i++)
        g_ptr_array_add(size->stages, latencies_new(g_array_index(numbers, int, i), tables->devices->len));
    return size;
}

static void take_row(const IfmStudyTables *tables, const IfmStudyRow *row, IfmSizeLatencies *size)
{
    guint device = 0;
    g_ptr_array_find(tables->devices, row->device, &device);
    for (guint i = 0; i < size->stages->len; i++)
    {
        IfmStageLatencies *latencies = size->stages->pdata[i];
        if (latencies->stage == row->stage)
            latencies->devices[device] = (IfmDeviceLatency){ row->median_ns, row->interval, row_precision(tables, row) };
    }
    size->measured |= row->n > 0;
}

static void finish_size(const IfmStudyTables *tables, IfmSizeLatencies *size)
{
    if (size->stages->len > 1)
        g_ptr_array_add(size->stages, sum_of(size->stages, tables->devices->len));
    for (guint i = 0; i < size->stages->len; i++)
        find_fastest(size->stages->pdata[i]);
}

GPtrArray *ifm_study_latencies(const IfmStudyTables *tables)
{
    GPtrArray *all = g_ptr_array_new_with_free_func((GDestroyNotify)size_free);
    g_autoptr(GArray) numbers = g_array_new(FALSE, FALSE, sizeof(int));
    g_autoptr(GHashTable) sizes = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (gsize i = 0; i < tables->staged->n_stages; i++)
        if (ifm_study_has_stage(tables, tables->staged->stages[i].number))
            g_array_append_val(numbers, tables->staged->stages[i].number);
    for (guint i = 0; i < tables->rows->len; i++)
    {
        const IfmStudyRow *row = tables->rows->pdata[i];
        g_autofree char *key = g_strdup_printf("%" G_GINT64_FORMAT ",%" G_GINT64_FORMAT, row->nodes, row->edges);
        IfmSizeLatencies *size = g_hash_table_lookup(sizes, key);
        if (size == NULL)
        {
            size = size_new(tables, row, numbers);
            g_ptr_array_add(all, size);
            g_hash_table_insert(sizes, g_steal_pointer(&key), size);
        }
        if (row->reason == NULL)
            take_row(tables, row, size);
    }
    for (guint i = 0; i < all->len; i++)
        finish_size(tables, all->pdata[i]);
    return all;
}

const IfmSizeLatencies *ifm_latencies_at(const GPtrArray *latencies, const IfmStudyRow *at)
{
    for (guint i = 0; i < latencies->len; i++)
    {
        const IfmSizeLatencies *size = latencies->pdata[i];
        if (size->at->nodes == at->nodes && size->at->edges == at->edges)
            return size;
    }
    return NULL;
}

/* --- under background load -------------------------------------------------------------------------------------------- */

IfmSlowDown ifm_stage_row_slow_down(const IfmStudyTables *tables, const IfmStudyRow *row)
{
    IfmSlowDown found = { NULL, row, NAN, NAN, NAN };
    const GPtrArray *rows = row->last > row->stage ? tables->ranges : tables->rows;
    for (guint i = 0; i < rows->len && row->busy != 0 && row->reason == NULL && found.alone == NULL; i++)
    {
        const IfmStudyRow *other = rows->pdata[i];
        if (other->busy == 0 && other->device == row->device && other->stage == row->stage && other->last == row->last &&
            other->nodes == row->nodes && other->edges == row->edges && other->reason == NULL)
            found.alone = other;
    }
    if (found.alone == NULL)
        return found;
    double width = hypot(ifm_stage_row_width(found.alone), ifm_stage_row_width(row));
    found.ratio = row->median_ns / found.alone->median_ns;
    found.lower = found.ratio * (1 - width);
    found.upper = found.ratio * (1 + width);
    return found;
}

static int compare_slow_downs(gconstpointer a, gconstpointer b)
{
    double left = ((const IfmSlowDown *)a)->ratio, right = ((const IfmSlowDown *)b)->ratio;
    return left < right ? 1 : left > right ? -1 : 0;
}

GArray *ifm_study_slow_downs(const IfmStudyTables *tables)
{
    GArray *all = g_array_new(FALSE, FALSE, sizeof(IfmSlowDown));
    for (guint i = 0; i < tables->ranges->len; i++)
    {
        IfmSlowDown one = ifm_stage_row_slow_down(tables, tables->ranges->pdata[i]);
        if (one.alone != NULL)
            g_array_append_val(all, one);
    }
    g_array_sort(all, compare_slow_downs);
    return all;
}

/* --- compute ---------------------------------------------------------------------------------------------------------- */

IfmComputeTimes ifm_stage_fit_compute(const IfmStudyTables *tables, const IfmStageFit *fit)
{
    IfmComputeTimes times = { 0, NAN, INFINITY, -INFINITY, NAN };
    double compute_ns = 0, total_ns = 0;
    for (guint i = 0; i < tables->rows->len; i++)
    {
        const IfmStudyRow *row = tables->rows->pdata[i];
        if (row->device != fit->device || row->stage != fit->stage || row->reason != NULL || !isfinite(row->compute_ns))
            continue;
        times.n++;
        compute_ns += row->compute_ns;
        total_ns += row->median_ns;
        times.min_ns = MIN(times.min_ns, row->compute_ns);
        times.max_ns = MAX(times.max_ns, row->compute_ns);
    }
    if (times.n == 0)
        return (IfmComputeTimes){ 0, NAN, NAN, NAN, NAN };
    times.mean_ns = compute_ns / (double)times.n;
    times.share_ratio = compute_ns / total_ns;
    return times;
}
