#include <base/statistics.h>
#include <math.h>

/* A grid keeps values at sorted points of several axes and interpolates between them, on linear or logarithmic scales. */

struct IfmGrid
{
    gsize n_axes, n_points;
    char *names[IFM_GRID_MAX_AXES];
    IfmGridScale scales[IFM_GRID_MAX_AXES];
    IfmGridScale value_scale;
    /* [n_points * (n_axes + 1)]: coordinates, then the value, sorted by coordinates. Points that share their first k
     * coordinates are adjacent. So nesting needs no tree, only a range of rows and a binary search on coordinate k. */
    double *rows;
};

static double scaled(IfmGridScale scale, double x)
{
    return scale == IFM_GRID_LOG ? log(x) : x;
}

static gboolean check_number(const char *what, const char *name, double x, IfmGridScale scale, gsize point, GError **error)
{
    return (isfinite(x) && (scale == IFM_GRID_LINEAR || x > 0)) ||
           ifm_error_refuse(error, "point %zu of the grid: %s%s is %g, not a %snumber", point, what, name, x,
                            scale == IFM_GRID_LOG ? "positive " : "finite ");
}

static int compare_rows(gconstpointer a, gconstpointer b, gpointer user)
{
    const double *x = a, *y = b;
    gsize n_axes = *(const gsize *)user;
    for (gsize k = 0; k < n_axes; k++)
        if (x[k] != y[k])
            return x[k] < y[k] ? -1 : 1;
    return 0;
}

static char *describe_place(const IfmGrid *grid, const double *place)
{
    GString *text = g_string_new(NULL);
    for (gsize k = 0; k < grid->n_axes; k++)
        g_string_append_printf(text, "%s%s = %.17g", k > 0 ? ", " : "", grid->names[k], place[k]);
    return g_string_free(text, FALSE);
}

static gboolean fill_rows(IfmGrid *grid, const double *points, const double *values, GError **error)
{
    gsize n_axes = grid->n_axes, width = n_axes + 1;
    for (gsize i = 0; i < grid->n_points; i++)
    {
        double *row = grid->rows + i * width;
        for (gsize k = 0; k < n_axes; k++)
        {
            row[k] = points[i * n_axes + k];
            if (!check_number("axis ", grid->names[k], row[k], grid->scales[k], i, error))
                return FALSE;
        }
        row[n_axes] = values[i];
        if (!check_number("the value", "", row[n_axes], grid->value_scale, i, error))
            return FALSE;
    }
    g_qsort_with_data(grid->rows, (gint)grid->n_points, width * sizeof(double), compare_rows, &n_axes);
    for (gsize i = 1; i < grid->n_points; i++)
        if (compare_rows(grid->rows + (i - 1) * width, grid->rows + i * width, &n_axes) == 0)
        {
            g_autofree char *place = describe_place(grid, grid->rows + i * width);
            return ifm_error_refuse(error, "two points of the grid are at one place: %s", place);
        }
    return TRUE;
}

IfmGrid *ifm_grid_new(const IfmGridAxis *axes, gsize n_axes, const double *points, const double *values, gsize n_points,
                      IfmGridScale value_scale, GError **error)
{
    if (n_axes < 1 || n_axes > IFM_GRID_MAX_AXES || n_points < 1 || n_points > G_MAXINT)
    {
        ifm_error_refuse(error, "a grid has 1 to %d axes and 1 to %d points, not %zu and %zu", IFM_GRID_MAX_AXES, G_MAXINT,
                         n_axes, n_points);
        return NULL;
    }
    g_autoptr(IfmGrid) grid = g_new0(IfmGrid, 1);
    grid->n_axes = n_axes;
    grid->n_points = n_points;
    grid->value_scale = value_scale;
    for (gsize k = 0; k < n_axes; k++)
    {
        grid->names[k] = g_strdup(axes[k].name);
        grid->scales[k] = axes[k].scale;
    }
    grid->rows = g_new(double, n_points *(n_axes + 1));
    return fill_rows(grid, points, values, error) ? g_steal_pointer(&grid) : NULL;
}

void ifm_grid_free(IfmGrid *grid)
{
    if (grid == NULL)
        return;
    for (gsize k = 0; k < grid->n_axes; k++)
        g_free(grid->names[k]);
    g_free(grid->rows);
    g_free(grid);
}

gsize ifm_grid_n_points(const IfmGrid *grid)
{
    return grid->n_points;
}

static double coordinate(const IfmGrid *grid, gsize row, gsize axis)
{
    return grid->rows[row * (grid->n_axes + 1) + axis];
}

/* The first row of [begin, end) whose coordinate is at least x (above x where @beyond_equal); end where there is none. */
static gsize first_row(const IfmGrid *grid, gsize axis, gsize begin, gsize end, double x, gboolean beyond_equal)
{
    while (begin < end)
    {
        gsize middle = begin + (end - begin) / 2;
        double at = coordinate(grid, middle, axis);
        if (at < x || (beyond_equal && at == x))
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

typedef struct
{
    const IfmGrid *grid;
    const double *place;
    IfmGridBeyond beyond;
    IfmGridOrigin origin;
} Lookup;

static double look_up(Lookup *lookup, gsize axis, gsize begin, gsize end);

/* The value below the coordinate that row @row has on @axis. */
static double value_under(Lookup *lookup, gsize axis, gsize begin, gsize end, gsize row)
{
    const IfmGrid *grid = lookup->grid;
    double x = coordinate(grid, row, axis);
    return look_up(lookup, axis + 1, first_row(grid, axis, begin, end, x, FALSE),
                   first_row(grid, axis, begin, end, x, TRUE));
}

/* Bracket: the two rows whose coordinates enclose the place, and the relative position @t between them. @below equals
 * @above where only one coordinate counts. */
typedef struct
{
    gsize below, above;
    double t;
} Bracket;

static Bracket bracket(Lookup *lookup, gsize axis, gsize begin, gsize end)
{
    const IfmGrid *grid = lookup->grid;
    double x = lookup->place[axis];
    gsize above = first_row(grid, axis, begin, end, x, FALSE);
    if (above < end && coordinate(grid, above, axis) == x)
        return (Bracket){ above, above, 0 };
    gboolean outside = above == begin || above == end;
    lookup->origin = MAX(lookup->origin, outside ? IFM_GRID_OUTSIDE : IFM_GRID_INTERPOLATED);
    if (outside)
    {
        gsize outermost = above == begin ? begin : end - 1;
        double edge = coordinate(grid, outermost, axis);
        gsize next =
            above == begin ? first_row(grid, axis, begin, end, edge, TRUE) : first_row(grid, axis, begin, end, edge, FALSE);
        if (lookup->beyond == IFM_GRID_CLAMP || (above == begin ? next == end : next == begin))
            return (Bracket){ outermost, outermost, 0 };
        above = above == begin ? next : end - 1; /* extrapolates through the two outermost coordinates */
    }
    gsize below = first_row(grid, axis, begin, end, coordinate(grid, above, axis), FALSE) - 1;
    double x0 = scaled(grid->scales[axis], coordinate(grid, below, axis));
    double x1 = scaled(grid->scales[axis], coordinate(grid, above, axis));
    return (Bracket){ below, above, (scaled(grid->scales[axis], x) - x0) / (x1 - x0) };
}

static double look_up(Lookup *lookup, gsize axis, gsize begin, gsize end)
{
    const IfmGrid *grid = lookup->grid;
    if (axis == grid->n_axes)
        return coordinate(grid, begin, axis); /* the value's column */
    Bracket at = bracket(lookup, axis, begin, end);
    if (at.below == at.above)
        return value_under(lookup, axis, begin, end, at.below);
    double v0 = scaled(grid->value_scale, value_under(lookup, axis, begin, end, at.below));
    double v1 = scaled(grid->value_scale, value_under(lookup, axis, begin, end, at.above));
    double v = v0 + at.t * (v1 - v0);
    return grid->value_scale == IFM_GRID_LOG ? exp(v) : v;
}

static void weigh(Lookup *lookup, gsize axis, gsize begin, gsize end, double weight, double *weights);

static void weigh_under(Lookup *lookup, gsize axis, gsize begin, gsize end, gsize row, double weight, double *weights)
{
    const IfmGrid *grid = lookup->grid;
    double x = coordinate(grid, row, axis);
    weigh(lookup, axis + 1, first_row(grid, axis, begin, end, x, FALSE), first_row(grid, axis, begin, end, x, TRUE), weight,
          weights);
}

static void weigh(Lookup *lookup, gsize axis, gsize begin, gsize end, double weight, double *weights)
{
    if (axis == lookup->grid->n_axes)
    {
        weights[begin] += weight;
        return;
    }
    Bracket at = bracket(lookup, axis, begin, end);
    weigh_under(lookup, axis, begin, end, at.below, weight * (1 - at.t), weights);
    if (at.below != at.above)
        weigh_under(lookup, axis, begin, end, at.above, weight * at.t, weights);
}

static gboolean check_place(const IfmGrid *grid, const double *place, GError **error)
{
    for (gsize k = 0; k < grid->n_axes; k++)
        if (!isfinite(place[k]) || (grid->scales[k] == IFM_GRID_LOG && place[k] <= 0))
            return ifm_error_refuse(error, "axis %s of the grid cannot be looked up at %g", grid->names[k], place[k]);
    return TRUE;
}

gboolean ifm_grid_at(const IfmGrid *grid, const double *place, IfmGridBeyond beyond, double *value, IfmGridOrigin *origin,
                     GError **error)
{
    if (!check_place(grid, place, error))
        return FALSE;
    Lookup lookup = { grid, place, beyond, IFM_GRID_EXACT };
    *value = look_up(&lookup, 0, 0, grid->n_points);
    if (origin != NULL)
        *origin = lookup.origin;
    return TRUE;
}

gboolean ifm_grid_weights(const IfmGrid *grid, const double *place, IfmGridBeyond beyond, double *weights,
                          IfmGridOrigin *origin, GError **error)
{
    if (!check_place(grid, place, error))
        return FALSE;
    Lookup lookup = { grid, place, beyond, IFM_GRID_EXACT };
    for (gsize i = 0; i < grid->n_points; i++)
        weights[i] = 0;
    weigh(&lookup, 0, 0, grid->n_points, 1, weights);
    if (origin != NULL)
        *origin = lookup.origin;
    return TRUE;
}
