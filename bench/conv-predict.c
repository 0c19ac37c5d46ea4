/*
 * Predictions of networks by convolution algorithm at sizes that were not measured: of a study, each size but the smallest
 * and the largest is left out and predicted from the others. Two bounds: the mean absolute error is at most 8 %, or the
 * noise floor (half-widths of the measured medians' intervals) and 3 points more, whichever is larger; and at 95 % of the
 * sizes the algorithm that is predicted to be the fastest is the measured one, or within the larger of 3 % and the two
 * intervals' half-widths of it. Fails where one is missed.
 *
 *     conv-predict [STUDY.yaml [FOLDER]]: measures the study (else bench/data/conv-predict.yaml, of the repository) into
 * the folder, or goes on there
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <inferometer/inferometer.h>
#include <study/study.h>

#include "bench.h"
#include "conv-study.h"

#define MAX_ERROR 0.08
#define OVER_NOISE 0.03
#define CLOSE 0.03
#define MIN_CHOSEN 0.95

static const char *text_of(const IfmStudyRow *point, const char *axis)
{
    const char *text = json_string_value(json_object_get(point->axes, axis));
    return text != NULL ? text : "";
}

static gint64 size_of(const IfmStudyRow *point)
{
    return json_integer_value(json_object_get(point->axes, "input_size"));
}

/* measured_of: NULL where it has no latency. */
static const IfmStudyRow *measured_of(const IfmStudyTables *points, const char *model, gint64 size, const char *algorithm)
{
    for (guint i = 0; i < points->rows->len; i++)
    {
        const IfmStudyRow *point = points->rows->pdata[i];
        if (point->reason == NULL && size_of(point) == size && g_str_equal(text_of(point, "model"), model) &&
            g_str_equal(text_of(point, "algorithm"), algorithm))
            return point;
    }
    return NULL;
}

static double half_ratio(const IfmStudyRow *point)
{
    const double half = (point->interval.upper - point->interval.lower) / 2 / point->median_ns;
    return isfinite(half) ? half : 0;
}

typedef struct
{
    double errors, noise;
    gsize n, n_sizes, n_chosen;
} Score;

/* Predicts a model at a size from all other sizes. */
static void leave_out(IfmStudyTables *points, const char *model, gint64 size, Score *score)
{
    g_autoptr(GError) error = NULL;
    GPtrArray *all = points->rows;
    g_autoptr(GPtrArray) others = g_ptr_array_new();
    for (guint i = 0; i < all->len; i++)
        if (size_of(all->pdata[i]) != size)
            g_ptr_array_add(others, all->pdata[i]);
    points->rows = others;
    g_autoptr(GArray) predictions = ifm_conv_predict(points, model, size, 0, &error);
    points->rows = all;
    if (predictions == NULL)
        conv_study_fail(model, error);
    const IfmStudyRow *best = NULL, *chosen = NULL;
    for (guint i = 0; i < predictions->len; i++)
    {
        const IfmConvPrediction *prediction = &g_array_index(predictions, IfmConvPrediction, i);
        const IfmStudyRow *point = measured_of(points, model, size, prediction->algorithm);
        if (point == NULL)
            continue;
        score->errors += fabs(prediction->time_ns / point->median_ns - 1);
        score->noise += half_ratio(point);
        score->n++;
        if (chosen == NULL) /* the fastest comes first */
            chosen = point;
        if (best == NULL || point->median_ns < best->median_ns)
            best = point;
    }
    if (best == NULL)
        return;
    const double lost = chosen->median_ns / best->median_ns - 1;
    const gboolean good = lost <= MAX(CLOSE, half_ratio(chosen) + half_ratio(best));
    score->n_sizes++;
    score->n_chosen += good;
    printf("%-12s %4" G_GINT64_FORMAT "  predicted fastest %-22s measured %-22s %+.1f %%%s\n", model, size,
           text_of(chosen, "algorithm"), text_of(best, "algorithm"), 100 * lost, good ? "" : "  missed");
}

static int by_size(gconstpointer a, gconstpointer b)
{
    const gint64 left = *(const gint64 *)a, right = *(const gint64 *)b;
    return (left > right) - (left < right);
}

int main(int argc, char **argv)
{
    g_autoptr(GError) error = NULL;
    const char *study = argc > 1           ? argv[1]
                        : bench_is_quick() ? "bench/data/conv-predict-quick.yaml"
                                           : "bench/data/conv-predict.yaml";
    if (argc > 3)
    {
        fprintf(stderr, "usage: %s [STUDY.yaml [FOLDER]]\n", argv[0]);
        return 2;
    }
    g_autofree char *folder = argc == 3 ? g_strdup(argv[2]) : g_dir_make_tmp("ifm-conv-predict-XXXXXX", &error);
    if (folder == NULL)
        conv_study_fail("a folder for its results", error);
    g_autoptr(IfmStudyTables) points = conv_study_measure(study, folder);
    g_autoptr(GHashTable) models = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GArray) sizes = g_array_new(FALSE, FALSE, sizeof(gint64));
    for (guint i = 0; i < points->rows->len; i++)
    {
        const gint64 size = size_of(points->rows->pdata[i]);
        gboolean is_new = TRUE;
        for (guint k = 0; k < sizes->len; k++)
            is_new &= g_array_index(sizes, gint64, k) != size;
        if (is_new)
            g_array_append_val(sizes, size);
        g_hash_table_add(models, (gpointer)text_of(points->rows->pdata[i], "model"));
    }
    g_array_sort(sizes, by_size);
    Score score = { 0 };
    g_autoptr(GList) names = g_list_sort(g_hash_table_get_keys(models), (GCompareFunc)g_strcmp0);
    for (const GList *name = names; name != NULL; name = name->next)
        for (guint i = 1; i + 1 < sizes->len; i++)
            leave_out(points, name->data, g_array_index(sizes, gint64, i), &score);
    if (score.n == 0)
        conv_study_fail("the study", NULL);
    const double mape = score.errors / (double)score.n, noise = score.noise / (double)score.n,
                 bound = MAX(MAX_ERROR, noise + OVER_NOISE), share = (double)score.n_chosen / (double)score.n_sizes;
    printf("mean absolute error of %zu predictions %.2f %%, noise floor %.2f %%  bound %.2f %%: %s\n", score.n, 100 * mape,
           100 * noise, 100 * bound, mape <= bound ? "kept" : "BROKEN");
    printf("chosen algorithm good at %zu of %zu sizes, %.1f %%  bound %.0f %%: %s\n", score.n_chosen, score.n_sizes,
           100 * share, 100 * MIN_CHOSEN, share >= MIN_CHOSEN ? "kept" : "BROKEN");
    return bench_status(mape <= bound && share >= MIN_CHOSEN);
}
