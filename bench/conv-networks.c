/*
 * Networks that were not measured, by convolution algorithm: each network of a study is predicted from the layers of the
 * others. Three bounds: the mean absolute error of layer times is at most 15 %, that of whole networks 10 %, each or the
 * noise floor (the difference of two visits) and 3 points more, whichever is larger; and on 90 % of the layers the
 * algorithm that is predicted to be the fastest takes at most 5 % more than the fastest. What it takes is judged by a
 * second visit, not by the one that was learnt from. Fails where one is missed.
 *
 *     conv-networks [STUDY.yaml [FOLDER]]: measures the study (else bench/data/conv-networks.yaml, of the repository) into
 * FOLDER/first and FOLDER/second, or goes on there
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <inferometer/inferometer.h>
#include <study/findings.h>
#include <study/study.h>

#include "bench.h"
#include "conv-study.h"

#define MAX_LAYER_ERROR 0.15
#define MAX_NETWORK_ERROR 0.10
#define OVER_NOISE 0.03
#define MAX_REGRET 0.05
#define MIN_CHOSEN 0.90

/* Visit: the points of one measurement of the study. */
typedef struct
{
    IfmStudyTables *points;
    IfmConvFindings *findings;
} Visit;

static Visit measure(const char *path, const char *parent, const char *name)
{
    g_autofree char *folder = g_build_filename(parent, name, NULL);
    IfmStudyTables *points = conv_study_measure(path, folder);
    return (Visit){ points, ifm_conv_findings(points) };
}

static gboolean is_measured(const IfmConvPoint *point)
{
    return point->point->reason == NULL && point->layers != NULL && point->layers->len > 0;
}

static const IfmConvPoint *find_point(const Visit *visit, const char *model, gint64 size, const char *algorithm)
{
    for (guint i = 0; i < visit->findings->points->len; i++)
    {
        const IfmConvPoint *point = visit->findings->points->pdata[i];
        if (is_measured(point) && point->input_size == size && g_str_equal(point->model, model) &&
            g_str_equal(point->algorithm, algorithm))
            return point;
    }
    return NULL;
}

/* What a layer of a point took; NaN: by another algorithm than asked for, or not at all. */
static double time_of(const IfmConvPoint *point, guint layer)
{
    if (point == NULL || layer >= point->layers->len || ((const IfmConvLayer *)point->layers->pdata[layer])->fell_back)
        return (double)NAN;
    return g_array_index(point->times_ns, double, layer);
}

typedef struct
{
    double errors, noise, network_noise;
    gsize n, n_networks, n_layers, n_chosen;
} Score;

static void score_layers(const IfmConvLearned *others, const IfmConvPoint *first, const Visit *second, Score *score)
{
    const IfmConvPoint *again = find_point(second, first->model, first->input_size, first->algorithm);
    if (again == NULL)
        return;
    score->network_noise += fabs(first->point->median_ns / again->point->median_ns - 1);
    score->n_networks++;
    const double weights_bytes = ifm_conv_weights_bytes(first->layers);
    for (guint i = 0; i < first->layers->len; i++)
    {
        const double predicted = ifm_conv_learned_layer(others, first->layers->pdata[i], weights_bytes, first->algorithm),
                     measured = time_of(again, i), before = time_of(first, i);
        if (!(predicted > 0) || !(measured > 0) || !(before > 0))
            continue;
        score->errors += fabs(predicted / measured - 1);
        score->noise += fabs(before / measured - 1);
        score->n++;
    }
}

/* The layers of a network at a size: what the predicted choice takes over the fastest. @of: any of its points */
static void score_choices(const IfmConvLearned *others, const IfmConvPoint *of, const Visit *second, Score *score)
{
    const double weights_bytes = ifm_conv_weights_bytes(of->layers);
    for (guint layer = 0; layer < of->layers->len; layer++)
    {
        double least_predicted = (double)INFINITY, chosen = (double)NAN, fastest = (double)INFINITY;
        for (guint i = 0; i < second->findings->points->len; i++)
        {
            const IfmConvPoint *point = second->findings->points->pdata[i];
            if (!is_measured(point) || point->input_size != of->input_size || !g_str_equal(point->model, of->model))
                continue;
            const double predicted =
                             ifm_conv_learned_layer(others, of->layers->pdata[layer], weights_bytes, point->algorithm),
                         measured = time_of(point, layer);
            if (!(measured > 0))
                continue;
            fastest = fmin(fastest, measured);
            if (predicted < least_predicted)
            {
                least_predicted = predicted;
                chosen = measured;
            }
        }
        if (isnan(chosen))
            continue;
        score->n_layers++;
        score->n_chosen += chosen <= (1 + MAX_REGRET) * fastest;
    }
}

static void leave_out(const Visit *first, const Visit *second, const char *model, const IfmConvSetting *setting,
                      Score *score)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GHashTable) sizes = g_hash_table_new(NULL, NULL);
    g_autoptr(IfmConvLearned) others = ifm_conv_learn(first->findings, setting, model, &error);
    Score own = { 0 };
    if (others == NULL)
        conv_study_fail(model, error);
    for (guint i = 0; i < first->findings->points->len; i++)
    {
        const IfmConvPoint *point = first->findings->points->pdata[i];
        if (!is_measured(point) || !g_str_equal(point->model, model))
            continue;
        score_layers(others, point, second, &own);
        if (g_hash_table_add(sizes, GINT_TO_POINTER((gint)point->input_size)))
            score_choices(others, point, second, &own);
    }
    printf("%-12s layers: mean absolute error %5.1f %%, noise %4.1f %%; choice good at %zu of %zu\n", model,
           100 * own.errors / (double)MAX(own.n, 1), 100 * own.noise / (double)MAX(own.n, 1), own.n_chosen, own.n_layers);
    score->errors += own.errors;
    score->noise += own.noise;
    score->network_noise += own.network_noise;
    score->n += own.n;
    score->n_networks += own.n_networks;
    score->n_layers += own.n_layers;
    score->n_chosen += own.n_chosen;
}

static gboolean judge(const char *what, double value, double noise, double limit)
{
    const double bound = MAX(limit, noise + OVER_NOISE);
    printf("%s: mean absolute error %.2f %%, noise floor %.2f %%  bound %.2f %%: %s\n", what, 100 * value, 100 * noise,
           100 * bound, value <= bound ? "kept" : "BROKEN");
    return value <= bound;
}

int main(int argc, char **argv)
{
    g_autoptr(GError) error = NULL;
    const char *study = argc > 1           ? argv[1]
                        : bench_is_quick() ? "bench/data/conv-networks-quick.yaml"
                                           : "bench/data/conv-networks.yaml";
    if (argc > 3)
    {
        fprintf(stderr, "usage: %s [STUDY.yaml [FOLDER]]\n", argv[0]);
        return 2;
    }
    g_autofree char *folder = argc == 3 ? g_strdup(argv[2]) : g_dir_make_tmp("ifm-conv-networks-XXXXXX", &error);
    if (folder == NULL)
        conv_study_fail("a folder for its results", error);
    const Visit first = measure(study, folder, "first"), second = measure(study, folder, "second");
    g_autoptr(GPtrArray) models = g_ptr_array_new();
    g_autoptr(GArray) settings = ifm_conv_settings(first.findings);
    const IfmConvSetting *setting = &g_array_index(settings, IfmConvSetting, 0);
    Score score = { 0 };
    if (settings->len != 1)
        conv_study_fail("the study has not one device", NULL);
    for (guint i = 0; i < first.findings->points->len; i++)
    {
        const IfmConvPoint *point = first.findings->points->pdata[i];
        if (is_measured(point) && !g_ptr_array_find_with_equal_func(models, point->model, g_str_equal, NULL))
            g_ptr_array_add(models, (gpointer)point->model);
    }
    for (guint i = 0; i < models->len; i++)
        leave_out(&first, &second, models->pdata[i], setting, &score);
    g_autoptr(GArray) errors = ifm_conv_learned_errors(first.findings, setting);
    double sum = 0;
    for (guint i = 0; i < errors->len; i++)
        sum += g_array_index(errors, double, i);
    if (score.n == 0 || errors->len == 0 || score.n_layers == 0)
        conv_study_fail("the study", NULL);
    const double share = (double)score.n_chosen / (double)score.n_layers;
    gboolean good = judge("layers", score.errors / (double)score.n, score.noise / (double)score.n, MAX_LAYER_ERROR);
    good &= judge("networks", sum / (double)errors->len, score.network_noise / (double)score.n_networks, MAX_NETWORK_ERROR);
    printf("chosen algorithm within %.0f %% of the fastest on %zu of %zu layers, %.1f %%  bound %.0f %%: %s\n",
           100 * MAX_REGRET, score.n_chosen, score.n_layers, 100 * share, 100 * MIN_CHOSEN,
           share >= MIN_CHOSEN ? "kept" : "BROKEN");
    ifm_conv_findings_free(first.findings);
    ifm_conv_findings_free(second.findings);
    return bench_status(good && share >= MIN_CHOSEN);
}
