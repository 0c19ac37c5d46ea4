#include <base/statistics.h>
#include <math.h>
#include <string.h>

#include "simulated-private.h"

/* Tables, rooflines and described noise give the latency that a simulated device takes for a model's sizes. */

#define MAX_AXES G_N_ELEMENTS(((FlaggedRow *)0)->place)

double simulated_size(const SimulatedSizes *sizes, const char *name)
{
    for (gsize i = 0; i < sizes->n; i++)
        if (g_str_equal(sizes->names[i], name))
            return sizes->values[i];
    return NAN;
}

void simulated_sizes_set(const SimulatedSizes *sizes, const char *name, double value)
{
    for (gsize i = 0; i < sizes->n; i++)
        if (g_str_equal(sizes->names[i], name))
            sizes->values[i] = value;
}

/* --- tables ----------------------------------------------------------------------------------------------------------- */

/* An axis: a size, or the ratio of two. */
typedef struct
{
    char *numerator, *denominator; /* the denominator is NULL for a single size */
} Axis;

struct StageTable
{
    const TableDescription *description;
    Axis axes[MAX_AXES];
    gsize n_axes;
    GArray *places, *means, *sigmas; /* double: rows while loading */
    GPtrArray *flagged;              /* FlaggedRow * */
    GHashTable *seen;         /* places of rows, as text -> the file that has them: the row of the first file is used */
    IfmGrid *latency, *sigma; /* NULL without rows; without std */
};

static void flagged_free(gpointer data)
{
    FlaggedRow *row = data;
    g_free(row->flag);
    g_free(row->file);
    g_free(row);
}

void stage_table_free(StageTable *table)
{
    if (table == NULL)
        return;
    for (gsize k = 0; k < table->n_axes; k++)
    {
        g_free(table->axes[k].numerator);
        g_free(table->axes[k].denominator);
    }
    g_clear_pointer(&table->places, g_array_unref);
    g_clear_pointer(&table->means, g_array_unref);
    g_clear_pointer(&table->sigmas, g_array_unref);
    g_clear_pointer(&table->flagged, g_ptr_array_unref);
    g_clear_pointer(&table->seen, g_hash_table_unref);
    ifm_grid_free(table->latency);
    ifm_grid_free(table->sigma);
    g_free(table);
}

gsize stage_table_n(const StageTable *table)
{
    return (table->latency != NULL ? ifm_grid_n_points(table->latency) : 0) + table->flagged->len;
}

static gboolean parse_axes(StageTable *table, GError **error)
{
    const GPtrArray *axes = table->description->axes;
    if (axes->len < 1 || axes->len > MAX_AXES)
        return ifm_yaml_error(&table->description->place, error, "axes has %u entries; it should have 1 or 2", axes->len);
    for (gsize k = 0; k < axes->len; k++)
    {
        g_auto(GStrv) parts = g_strsplit(g_ptr_array_index(axes, k), "/", 3);
        guint n = g_strv_length(parts);
        if (n < 1 || n > 2 || *parts[0] == '\0' || (n == 2 && *parts[1] == '\0'))
            return ifm_yaml_error(&table->description->place, error, "axis \"%s\" is neither SIZE nor SIZE/SIZE",
                                  (char *)g_ptr_array_index(axes, k));
        table->axes[k] = (Axis){ g_strdup(parts[0]), n == 2 ? g_strdup(parts[1]) : NULL };
        table->n_axes++;
    }
    return TRUE;
}

/* The columns of one file. */
typedef struct
{
    gsize numerator[MAX_AXES], denominator[MAX_AXES];
    gsize stage, latency, std, flag;
    GArray *select; /* gsize, in the order of the description's */
} Columns;

static gboolean find_column(const IfmCsv *csv, const char *name, gsize *column, GError **error)
{
    return name == NULL || ifm_csv_column(csv, name, column, error);
}

static gboolean find_columns(const StageTable *table, const IfmCsv *csv, Columns *columns, GError **error)
{
    const TableDescription *description = table->description;
    for (gsize k = 0; k < table->n_axes; k++)
        if (!find_column(csv, table->axes[k].numerator, &columns->numerator[k], error) ||
            !find_column(csv, table->axes[k].denominator, &columns->denominator[k], error))
            return FALSE;
    for (gsize i = 0; i < description->select->len; i++)
    {
        const IfmScalar *scalar = g_ptr_array_index(description->select, i);
        gsize column;
        if (!ifm_csv_column(csv, scalar->place.name, &column, error))
            return FALSE;
        g_array_append_val(columns->select, column);
    }
    return find_column(csv, description->stage, &columns->stage, error) &&
           find_column(csv, description->latency, &columns->latency, error) &&
           find_column(csv, description->std, &columns->std, error) &&
           find_column(csv, description->flag, &columns->flag, error);
}

static gboolean is_selected(const StageTable *table, const IfmCsv *csv, const Columns *columns, gsize row,
                            const char *stage)
{
    const GPtrArray *select = table->description->select;
    for (gsize i = 0; i < select->len; i++)
    {
        const IfmScalar *scalar = g_ptr_array_index(select, i);
        if (!g_str_equal(ifm_csv_text(csv, row, g_array_index(columns->select, gsize, i)), scalar->text))
            return FALSE;
    }
    return table->description->stage == NULL || g_strcmp0(ifm_csv_text(csv, row, columns->stage), stage) == 0;
}

static gboolean read_place(const StageTable *table, const IfmCsv *csv, const Columns *columns, gsize row, double *place,
                           GError **error)
{
    for (gsize k = 0; k < table->n_axes; k++)
    {
        double below = 1;
        if (!ifm_csv_number(csv, row, columns->numerator[k], &place[k], error) ||
            (table->axes[k].denominator != NULL && !ifm_csv_number(csv, row, columns->denominator[k], &below, error)))
            return FALSE;
        place[k] /= below;
    }
    return TRUE;
}

/* Whether no earlier file has a row at that place. Two rows of one file at one place are an error of the grid. */
static gboolean claim_place(StageTable *table, const double *place, gsize file)
{
    GString *key = g_string_new(NULL);
    for (gsize k = 0; k < table->n_axes; k++)
        g_string_append_printf(key, "%.17g,", place[k]);
    gpointer owner = g_hash_table_lookup(table->seen, key->str); /* files count from 1 */
    if (owner == NULL)
        g_hash_table_insert(table->seen, g_string_free(key, FALSE), GSIZE_TO_POINTER(file));
    else
        g_string_free(key, TRUE);
    return owner == NULL || GPOINTER_TO_SIZE(owner) == file;
}

static void add_flagged(StageTable *table, const IfmCsv *csv, gsize row, const char *flag, const double *place)
{
    FlaggedRow *flagged = g_new0(FlaggedRow, 1);
    flagged->flag = g_strdup(flag);
    flagged->file = g_path_get_basename(ifm_csv_name(csv));
    flagged->line = ifm_csv_line(csv, row);
    flagged->loses = g_ptr_array_find_with_equal_func(table->description->lost_flags, flag, g_str_equal, NULL);
    memcpy(flagged->place, place, table->n_axes * sizeof *place);
    g_ptr_array_add(table->flagged, flagged);
}

static gboolean add_row(StageTable *table, const IfmCsv *csv, const Columns *columns, gsize file, gsize row, GError **error)
{
    const TableDescription *description = table->description;
    double place[MAX_AXES], mean, std = 0;
    if (!read_place(table, csv, columns, row, place, error))
        return FALSE;
    if (!claim_place(table, place, file))
        return TRUE;
    const char *flag = description->flag != NULL ? ifm_csv_text(csv, row, columns->flag) : "";
    if (*flag != '\0')
    {
        add_flagged(table, csv, row, flag, place);
        return TRUE;
    }
    if (!ifm_csv_number(csv, row, columns->latency, &mean, error) ||
        (description->std != NULL && !ifm_csv_number(csv, row, columns->std, &std, error)))
        return FALSE;
    if (mean <= 0 || std < 0)
        return ifm_error_refuse(error, "%s:%zu: a latency of %g with a deviation of %g", ifm_csv_name(csv),
                                ifm_csv_line(csv, row), mean, std);
    double sigma = std / mean;
    mean *= (double)description->unit_ns;
    g_array_append_vals(table->places, place, (guint)table->n_axes);
    g_array_append_val(table->means, mean);
    g_array_append_val(table->sigmas, sigma);
    return TRUE;
}

static gboolean load_file(StageTable *table, gsize file, const char *stage, GError **error)
{
    const char *path = g_ptr_array_index(table->description->files, file - 1);
    g_autoptr(IfmCsv) csv = ifm_csv_open(path, error);
    if (csv == NULL)
        return FALSE;
    g_autoptr(GArray) select = g_array_new(FALSE, FALSE, sizeof(gsize));
    Columns columns = { .select = select };
    if (!find_columns(table, csv, &columns, error))
        return FALSE;
    for (gsize row = 0; row < ifm_csv_n_rows(csv); row++)
        if (is_selected(table, csv, &columns, row, stage) && !add_row(table, csv, &columns, file, row, error))
            return FALSE;
    return TRUE;
}

static gboolean make_grids(StageTable *table, GError **error)
{
    IfmGridScale scale = table->description->linear ? IFM_GRID_LINEAR : IFM_GRID_LOG;
    IfmGridAxis axes[MAX_AXES];
    if (table->means->len == 0)
        return TRUE;
    for (gsize k = 0; k < table->n_axes; k++)
        axes[k] = (IfmGridAxis){ g_ptr_array_index(table->description->axes, k), scale };
    const double *places = (const double *)table->places->data;
    table->latency =
        ifm_grid_new(axes, table->n_axes, places, (const double *)table->means->data, table->means->len, scale, error);
    if (table->latency != NULL && table->description->std != NULL)
        table->sigma = ifm_grid_new(axes, table->n_axes, places, (const double *)table->sigmas->data, table->means->len,
                                    IFM_GRID_LINEAR, error);
    if (table->latency != NULL && (table->description->std == NULL || table->sigma != NULL))
        return TRUE;
    const IfmPlace *record = &table->description->place;
    return ifm_error_prefix(error, "%s:%zu: ", record->file, record->line);
}

StageTable *stage_table_load(const TableDescription *description, const char *stage, GError **error)
{
    g_autoptr(StageTable) table = g_new0(StageTable, 1);
    table->description = description;
    table->places = g_array_new(FALSE, FALSE, sizeof(double));
    table->means = g_array_new(FALSE, FALSE, sizeof(double));
    table->sigmas = g_array_new(FALSE, FALSE, sizeof(double));
    table->flagged = g_ptr_array_new_with_free_func(flagged_free);
    table->seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    if (!parse_axes(table, error))
        return NULL;
    for (gsize file = 1; file <= description->files->len; file++)
        if (!load_file(table, file, stage, error))
            return NULL;
    return make_grids(table, error) ? g_steal_pointer(&table) : NULL;
}

static gboolean find_place(const StageTable *table, const SimulatedSizes *sizes, double *place, GError **error)
{
    for (gsize k = 0; k < table->n_axes; k++)
    {
        const Axis *axis = &table->axes[k];
        double above = simulated_size(sizes, axis->numerator);
        double below = axis->denominator != NULL ? simulated_size(sizes, axis->denominator) : 1;
        place[k] = above / below;
        if (above > 0 && below > 0)
            continue;
        const char *unknown = above > 0 ? axis->denominator : axis->numerator;
        return ifm_error_set(error, IFM_ERROR_UNSUPPORTED,
                             "the table needs the size \"%s\", which no free dimension of the model's inputs gives "
                             "(metadata inferometer.size.%s or the option SIZES=%s=N do)",
                             unknown, unknown, unknown);
    }
    return TRUE;
}

gboolean stage_table_predict(const StageTable *table, const SimulatedSizes *sizes, Prediction *prediction, GError **error)
{
    static const char *const how[] = { [IFM_GRID_EXACT] = "table, exact",
                                       [IFM_GRID_INTERPOLATED] = "table, interpolated",
                                       [IFM_GRID_OUTSIDE] = "table, outside" };
    double place[MAX_AXES];
    IfmGridOrigin origin;
    *prediction = (Prediction){ .sigma = NAN };
    if (!find_place(table, sizes, place, error))
        return FALSE;
    for (gsize i = 0; i < table->flagged->len; i++)
    {
        const FlaggedRow *row = g_ptr_array_index(table->flagged, i);
        if (memcmp(row->place, place, table->n_axes * sizeof *place) != 0)
            continue;
        prediction->flagged = row;
        prediction->how = "table, failure";
        return TRUE;
    }
    if (table->latency == NULL)
        return ifm_error_set(error, IFM_ERROR_UNSUPPORTED, "the table has failures alone for this stage");
    IfmGridBeyond beyond = table->description->beyond == BEYOND_EXTRAPOLATE ? IFM_GRID_EXTRAPOLATE : IFM_GRID_CLAMP;
    if (!ifm_grid_at(table->latency, place, beyond, &prediction->mean_ns, &origin, error) ||
        (table->sigma != NULL && !ifm_grid_at(table->sigma, place, IFM_GRID_CLAMP, &prediction->sigma, NULL, error)))
        return FALSE;
    if (origin == IFM_GRID_OUTSIDE && table->description->beyond == BEYOND_REFUSE)
        return ifm_error_set(error, IFM_ERROR_UNSUPPORTED, "the sizes are outside the table, which refuses to guess");
    prediction->how = how[origin];
    prediction->mean_ns = MAX(prediction->mean_ns, 1);
    return TRUE;
}

/* --- roofline --------------------------------------------------------------------------------------------------------- */

static double node_ns(const RooflineDescription *roofline, const IfmNodeCost *cost)
{
    double arithmetic = (double)cost->flop / roofline->flop_per_s;
    double traffic = ((double)cost->bytes_read + (double)cost->bytes_written) / roofline->bytes_per_s;
    return (double)roofline->node_overhead_ns + 1e9 * MAX(arithmetic, traffic);
}

gboolean roofline_predict(const RooflineDescription *roofline, IfmModel *model, const IfmAnalysis *analysis, double *ns,
                          GError **error)
{
    *ns = (double)roofline->overhead_ns;
    for (gsize i = 0; i < ifm_model_n_nodes(model); i++)
        *ns += node_ns(roofline, ifm_analysis_node_cost(analysis, i));
    return *ns > 0 || ifm_error_set(error, IFM_ERROR_UNSUPPORTED,
                                    "no node of %s has a known cost, and nothing else takes time", ifm_model_name(model));
}

void node_shares(const RooflineDescription *roofline, IfmModel *model, const IfmAnalysis *analysis, double *shares)
{
    /* Without a roofline in the description, an arithmetic intensity of 10 FLOP per byte is balanced. */
    static const RooflineDescription balanced = { .flop_per_s = 1e12, .bytes_per_s = 1e11 };
    gsize n = ifm_model_n_nodes(model);
    double total = 0;
    for (gsize i = 0; i < n; i++)
    {
        static const IfmNodeCost unknown;
        const IfmNodeCost *cost = analysis != NULL ? ifm_analysis_node_cost(analysis, i) : &unknown;
        total += shares[i] = node_ns(roofline != NULL ? roofline : &balanced, cost);
    }
    for (gsize i = 0; i < n; i++)
        shares[i] = total > 0 ? shares[i] / total : 1.0 / (double)n;
}

/* --- noise ------------------------------------------------------------------------------------------------------------ */

void noise_init(SimulatedNoise *noise, const NoiseDescription *description, const guint32 *seed, guint n)
{
    *noise = (SimulatedNoise){ .description = description };
    noise->seed = g_array_append_vals(g_array_new(FALSE, FALSE, sizeof(guint32)), seed, n);
    noise->random = g_rand_new_with_seed_array(seed, n);
    noise->deviation = ifm_normal_deviate(noise->random); /* the series is stationary from its first run */
}

void noise_at(SimulatedNoise *noise, const SimulatedSizes *sizes)
{
    if (noise->n_runs > 0 || sizes->n == 0)
        return;
    for (gsize i = 0; i < sizes->n; i++)
    {
        guint32 value = isfinite(sizes->values[i]) ? (guint32)(gint64)sizes->values[i] : 0;
        g_array_append_val(noise->seed, value);
    }
    g_rand_set_seed_array(noise->random, (const guint32 *)(const void *)noise->seed->data, noise->seed->len);
    noise->deviation = ifm_normal_deviate(noise->random);
}

void noise_clear(SimulatedNoise *noise)
{
    g_clear_pointer(&noise->seed, g_array_unref);
    g_clear_pointer(&noise->random, g_rand_free);
}

/* The runs that are slow: fewer where the others would have to take less than no time. */
#define SLOW_SHARE 0.1
/* The shape of the tail: the fourth moment is infinite, the variance is not. Its lowest value is 0 at the standard
 * deviation of MAX_TAIL_SIGMA, which is the most. */
#define TAIL 0.25
#define MAX_TAIL_SIGMA (1 / sqrt(1 - 2 * TAIL))

/* A latency / its mean, with standard deviation @sigma, of which the normal deviate @z is the quantile: the correlation of
 * deviates in time carries over to every kind. */
static double noise_factor(NoiseKind kind, double sigma, double z)
{
    double spread = sqrt(log1p(sigma * sigma)), beyond = erfc(z * M_SQRT1_2) / 2,
           scale = fmin(sigma, MAX_TAIL_SIGMA) * (1 - TAIL) * sqrt(1 - 2 * TAIL),
           slow = fmin(SLOW_SHARE, 0.9 / (1 + sigma * sigma));
    switch (kind)
    {
    case NOISE_GAUSSIAN:
        return 1 + sigma * z;
    case NOISE_LOGNORMAL:
        return exp(spread * z - spread * spread / 2);
    case NOISE_BIMODAL:
        return beyond > slow ? 1 - sigma * sqrt(slow / (1 - slow)) : 1 + sigma * sqrt((1 - slow) / slow);
    case NOISE_PARETO: /* generalised, from its lowest value on */
        return 1 - scale / (1 - TAIL) + scale / TAIL * (pow(beyond, -TAIL) - 1);
    case NOISE_NONE:
        break;
    }
    return 1;
}

gint64 noise_draw(SimulatedNoise *noise, double mean_ns, double table_sigma)
{
    const NoiseDescription *description = noise->description;
    double latency = mean_ns;
    if (description != NULL)
    {
        double sigma = description->from_table && !isnan(table_sigma) ? table_sigma : description->sigma;
        double rho = description->correlation;
        if (noise->n_runs > 0)
            noise->deviation = rho * noise->deviation + sqrt(1 - rho * rho) * ifm_normal_deviate(noise->random);
        latency *= noise_factor((NoiseKind)description->kind, sigma, noise->deviation);
        latency *= 1 + (description->drift - 1) * exp(-(double)noise->n_runs / (double)description->drift_runs);
    }
    noise->n_runs++;
    return latency < 1 ? 1 : latency > 9e18 ? G_MAXINT64 : (gint64)llround(latency);
}
