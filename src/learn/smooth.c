/* A smooth function through scattered points: the mean of a Gaussian process with Matérn's kernel of 3/2. */
#include <lapacke.h>
#include <math.h>
#include <string.h>

#include <base/base.h>

#include "learn-private.h"

struct IfmSmooth
{
    gsize n, n_columns;
    double reach;
    double *x, *weights; /* [n x n_columns], [n] */
};

void ifm_smooth_free(IfmSmooth *self)
{
    if (self == NULL)
        return;
    g_free(self->x);
    g_free(self->weights);
    g_free(self);
}

static double kernel(const IfmSmooth *self, const double *a, const double *b)
{
    double square = 0;
    for (gsize k = 0; k < self->n_columns; k++)
        square += (a[k] - b[k]) * (a[k] - b[k]);
    const double distance = sqrt(3 * square) / self->reach;
    return (1 + distance) * exp(-distance);
}

/* The inverse of the kernel's matrix with the noise in its diagonal. (transfer full) NULL: it has none */
static double *inverse_of(const IfmSmooth *self, double noise)
{
    const gsize n = self->n;
    g_autofree double *matrix = g_new(double, n *n);
    for (gsize i = 0; i < n; i++)
        for (gsize k = 0; k <= i; k++)
            matrix[i * n + k] = kernel(self, self->x + i * self->n_columns, self->x + k * self->n_columns);
    for (gsize i = 0; i < n; i++)
        matrix[i * n + i] += noise;
    if (LAPACKE_dpotrf(LAPACK_ROW_MAJOR, 'L', (lapack_int)n, matrix, (lapack_int)n) != 0 ||
        LAPACKE_dpotri(LAPACK_ROW_MAJOR, 'L', (lapack_int)n, matrix, (lapack_int)n) != 0)
        return NULL;
    for (gsize i = 0; i < n; i++)
        for (gsize k = i + 1; k < n; k++)
            matrix[i * n + k] = matrix[k * n + i];
    return g_steal_pointer(&matrix);
}

/* The values of a group without it: its residuals are those of the whole, times the inverse of its part of the inverse
 * (Rasmussen and Williams, Gaussian Processes for Machine Learning, 5.4.2, of several at once). */
static void leave_out(const IfmSmooth *self, const double *inverse, const double *y, const guint *members, gsize n_members,
                      double *left_out)
{
    g_autofree double *part = g_new(double, n_members *n_members), *residuals = g_new(double, n_members);
    for (gsize i = 0; i < n_members; i++)
    {
        residuals[i] = self->weights[members[i]];
        for (gsize k = 0; k < n_members; k++)
            part[i * n_members + k] = inverse[members[i] * self->n + members[k]];
    }
    const gboolean is_solved =
        LAPACKE_dposv(LAPACK_ROW_MAJOR, 'L', (lapack_int)n_members, 1, part, (lapack_int)n_members, residuals, 1) == 0;
    for (gsize i = 0; i < n_members; i++)
        left_out[members[i]] = is_solved ? y[members[i]] - residuals[i] : (double)NAN;
}

static void leave_groups_out(const IfmSmooth *self, const double *inverse, const double *y, const guint *groups,
                             double *left_out)
{
    g_autofree guint *members = g_new(guint, self->n);
    g_autofree gboolean *is_done = g_new0(gboolean, self->n);
    for (gsize first = 0; first < self->n; first++)
    {
        gsize n_members = 0;
        if (is_done[first])
            continue;
        for (gsize i = first; i < self->n; i++)
            if (groups[i] == groups[first])
            {
                members[n_members++] = (guint)i;
                is_done[i] = TRUE;
            }
        leave_out(self, inverse, y, members, n_members, left_out);
    }
}

IfmSmooth *ifm_smooth_new(const IfmSmoothPoints *points, double reach, double noise, double *left_out)
{
    const gsize n = points->n;
    IfmSmooth *self = g_new0(IfmSmooth, 1);
    *self = (IfmSmooth){ .n = n,
                         .n_columns = points->n_columns,
                         .reach = reach,
                         .x = g_memdup2(points->x, n * points->n_columns * sizeof(double)),
                         .weights = g_new0(double, n) };
    g_autofree double *inverse = inverse_of(self, noise);
    if (inverse == NULL)
    {
        ifm_smooth_free(self);
        return NULL;
    }
    for (gsize i = 0; i < n; i++)
        for (gsize k = 0; k < n; k++)
            self->weights[i] += inverse[i * n + k] * points->y[k];
    if (left_out != NULL)
        leave_groups_out(self, inverse, points->y, points->groups, left_out);
    return self;
}

double ifm_smooth_at(const IfmSmooth *self, const double *x)
{
    double sum = 0;
    for (gsize i = 0; i < self->n; i++)
        sum += self->weights[i] * kernel(self, x, self->x + i * self->n_columns);
    return sum;
}

/* --- in a file ----------------------------------------------------------------------------------------------------------
 */

#define MOST_POINTS 10000
#define MOST_NUMBER 1e9

static json_t *numbers_to_json(const double *numbers, gsize n)
{
    json_t *list = json_array();
    for (gsize i = 0; i < n; i++)
        json_array_append_new(list, json_real(numbers[i]));
    return list;
}

json_t *learn_smooth_to_json(const IfmSmooth *smooth)
{
    return json_pack("{s:f, s:o, s:o}", "reach", smooth->reach, "weights", numbers_to_json(smooth->weights, smooth->n), "x",
                     numbers_to_json(smooth->x, smooth->n * smooth->n_columns));
}

static gboolean check_numbers(const double *numbers, gsize n, const char *where, const char *what, GError **error)
{
    for (gsize i = 0; i < n; i++)
        if (!(fabs(numbers[i]) <= MOST_NUMBER))
            return ifm_error_refuse(error, "%s.%s[%zu]: expected a number of up to %g", where, what, i, MOST_NUMBER);
    return TRUE;
}

gboolean learn_smooth_check(const IfmSmooth *smooth, const char *where, GError **error)
{
    return check_numbers(smooth->weights, smooth->n, where, "weights", error) &&
           check_numbers(smooth->x, smooth->n * smooth->n_columns, where, "x", error);
}

/* (transfer full) NaN: no number */
static double *read_numbers(const json_t *list)
{
    const gsize n = json_array_size(list);
    double *numbers = g_new(double, n + 1);
    for (gsize i = 0; i < n; i++)
    {
        const json_t *one = json_array_get(list, i);
        numbers[i] = json_is_number(one) ? json_number_value(one) : (double)NAN;
    }
    return numbers;
}

IfmSmooth *learn_smooth_from_json(const json_t *json, const char *where, gsize n_columns, GError **error)
{
    static const char *const keys[] = { "reach", "weights", "x", NULL };
    json_t *weights, *x;
    double reach;
    if (!ifm_json_check_object(json, where, keys, error) || !ifm_json_get_double(json, where, "reach", &reach, error) ||
        !ifm_json_get_array(json, where, "weights", &weights, error) || !ifm_json_get_array(json, where, "x", &x, error))
        return NULL;
    const gsize n = json_array_size(weights);
    if (!(reach >= 1e-3 && reach <= MOST_NUMBER) || n == 0 || n > MOST_POINTS || json_array_size(x) != n * n_columns)
    {
        ifm_error_refuse(error, "%s: %zu weights and %zu numbers, expected %zu of each of 1 to %d, of a reach above 0",
                         where, n, json_array_size(x), n_columns, MOST_POINTS);
        return NULL;
    }
    IfmSmooth *self = g_new0(IfmSmooth, 1);
    *self = (IfmSmooth){ n, n_columns, reach, read_numbers(x), read_numbers(weights) };
    return self;
}
