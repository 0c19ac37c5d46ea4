/* A model of latencies: its prediction, and what it says of itself. */
#include <math.h>
#include <string.h>

#include "learn-private.h"

/* Outside the ranges of the training data, intervals are so much wider (by the logarithm). */
#define OUTSIDE_FACTOR 2
/* Without a model of the slow-down, it may be up to so many times that of time-sharing. */
#define UNLEARNT_FACTOR 2
#define LEVEL_TOLERANCE 0.05
#define METRIC_TOLERANCE 0.25 /* of the width of its range */

void ifm_latency_model_free(IfmLatencyModel *model)
{
    if (model == NULL)
        return;
    learn_trees_clear(&model->idle);
    learn_trees_clear(&model->forest);
    learn_trees_clear(&model->load);
    learn_trees_clear(&model->load_metrics);
    g_free(model->metric_names);
    g_free(model->place.name);
    learn_model_release(model);
}

void learn_model_finish(IfmLatencyModel *model)
{
    g_free(model->metric_names);
    model->metric_names = g_new0(const char *, model->metrics->len + 1);
    for (guint i = 0; i < model->metrics->len; i++)
        model->metric_names[i] = model->metrics->pdata[i];
}

/* --- prediction ---------------------------------------------------------------------------------------------------------
 */

/* Parts of operators' names have no range, nor has what is not known; of machines there is
 * ifm_latency_model_outside_machines(). */
static gboolean is_inside(const IfmLearnFeature *feature, double value)
{
    return !isfinite(feature->min) || g_str_has_prefix(feature->name, "op:") ||
           g_str_has_prefix(feature->name, LEARN_MACHINE_PREFIX) || !(value < feature->min || value > feature->max);
}

/* Of the slow-down by sharing the cores with one load: its logarithm. */
static double share_log(double same)
{
    return log(learn_time_sharing(&(IfmLoadState){ .same = same }));
}

/* What is measured of a load is never twice the same: a little beside its range is inside. */
static gboolean is_about_inside(const IfmLearnFeature *feature, double value)
{
    const gboolean is_share = g_strv_contains((const char *const[]){ "effective_load", "other_load", NULL }, feature->name),
                   is_metric = g_str_has_prefix(feature->name, IFM_SAMPLE_METRIC_PREFIX);
    const double room = is_share ? LEVEL_TOLERANCE : is_metric ? METRIC_TOLERANCE * (feature->max - feature->min) : 0;
    return !(value < feature->min - room || value > feature->max + room) || is_inside(feature, value);
}

/* @n: the first features */
static gboolean is_in_range(const GPtrArray *features, guint n, const float *row)
{
    for (guint i = 0; i < n; i++)
        if (!is_about_inside(features->pdata[i], (double)row[i]))
            return FALSE;
    return TRUE;
}

/* Farthest: of features, by the logarithm of how many times they are below or above their range. */
typedef struct
{
    const IfmLearnFeature *feature;
    double value, far;
} Farthest;

static void look_farther(const GPtrArray *features, guint n, const float *row, Farthest *farthest)
{
    for (guint i = 0; i < n; i++)
    {
        const IfmLearnFeature *feature = features->pdata[i];
        const double value = (double)row[i];
        if (is_about_inside(feature, value))
            continue;
        const double far = fabs(log((fabs(value) + 1) / (fabs(value < feature->min ? feature->min : feature->max) + 1)));
        if (farthest->feature == NULL || far > farthest->far)
            *farthest = (Farthest){ feature, value, far };
    }
}

/* A kind that was not learnt from is as one that is not known. @row: (inout)    Returns: whether it is known */
static gboolean keep_kind(const IfmLatencyModel *model, const IfmLoadState *load, float *row)
{
    const int at = LEARN_FIRST_KIND + load->kind - IFM_LOAD_GEMM;
    const gboolean known = load->kind > IFM_LOAD_NONE && load->kind < IFM_N_LOAD_KINDS &&
                           ((const IfmLearnFeature *)model->load_features->pdata[at])->max == 1;
    for (int i = LEARN_FIRST_KIND; !known && i < LEARN_N_LOAD_FEATURES; i++)
        row[i] = NAN;
    return known;
}

char *ifm_latency_model_outside(const IfmLatencyModel *model, const IfmKernelSample *kernel, const IfmLoadState *load)
{
    float row[LEARN_MAX_FEATURES] = { 0 };
    Farthest farthest = { NULL, 0, 0 };
    IfmPredictedLatency predicted;
    ifm_latency_model_predict(model, kernel, load, &predicted);
    learn_fill_row(model, kernel, predicted.roofline_ns, row);
    look_farther(model->features, model->features->len, row, &farthest);
    if (load != NULL && (load->same > 0 || load->other > 0) && model->load.n_features > 0)
    {
        learn_fill_load(predicted.idle_ns, load, row);
        keep_kind(model, load, row);
        look_farther(model->load_features, LEARN_N_LOAD_FEATURES, row, &farthest);
    }
    if (farthest.feature == NULL)
        return NULL;
    const IfmLearnFeature *feature = farthest.feature;
    if (g_str_equal(feature->name, "log_idle_ns"))
        return g_strdup_printf("idle_ns %.6g, learnt from %.6g to %.6g", exp(farthest.value), exp(feature->min),
                               exp(feature->max));
    return g_strdup_printf("%s %.6g, learnt from %.6g to %.6g", feature->name, farthest.value, feature->min, feature->max);
}

/* @half: of the interval, in the logarithm */
static void set_interval(IfmPredictedLatency *predicted, double half)
{
    predicted->low_ns = predicted->latency_ns * exp(-half);
    predicted->high_ns = predicted->latency_ns * exp(half);
}

static double pick(const double *bounds, double latency_ns)
{
    return bounds[latency_ns >= IFM_LEARN_SMALL_NS];
}

/* Whether all metrics are known, so that the trees with metrics serve. @row: (out) them */
static gboolean fill_metrics(const IfmLatencyModel *model, const IfmLoadState *load, float *row)
{
    gboolean known = load->metrics != NULL && model->load_metrics.n_features > 0;
    for (guint k = 0; known && k < model->metrics->len; k++)
    {
        row[k] = (float)load->metrics[k];
        known = isfinite(load->metrics[k]);
    }
    return known;
}

/* Whether the training data have a load of about this level. */
static gboolean is_known_level(const IfmLatencyModel *model, double share)
{
    for (guint i = 0; i < model->levels->len; i++)
        if (fabs(((const LearnLevel *)model->levels->pdata[i])->level - share) <= LEVEL_TOLERANCE)
            return TRUE;
    return share <= LEVEL_TOLERANCE;
}

static double half_of_load(const IfmLatencyModel *model, const IfmLoadState *load, LearnKnown known, double latency_ns)
{
    const gboolean idle_known = load->idle_ns > 0;
    if (is_known_level(model, load->same) && is_known_level(model, load->other) &&
        !(load->competitors > 0 && fabs(load->competitors - 1) > 1e-9))
        return pick(idle_known ? model->quantiles.of[known].slow : model->quantiles.of[known].load, latency_ns);
    return pick(idle_known ? model->quantiles.of[known].slow_between : model->quantiles.of[known].load_between, latency_ns);
}

/* Without trees of the slow-down. @half: of the interval without load */
static void share_time(const IfmLoadState *load, double half, IfmPredictedLatency *predicted)
{
    predicted->load_learned = FALSE;
    predicted->latency_ns = predicted->idle_ns * learn_time_sharing(load);
    predicted->low_ns = predicted->idle_ns * exp(-half);
    predicted->high_ns = predicted->latency_ns * exp(half) * UNLEARNT_FACTOR;
}

/* What trees say of a level of the same cores: a logarithm, not below 0. @row: (inout) */
static double slow_down_at(const IfmLatencyModel *model, const LearnTrees *trees, double level, float *row)
{
    row[model->features->len + LEARN_EFFECTIVE_LOAD] = (float)level;
    return CLAMP(learn_trees_at(trees, row), 0, LEARN_MAX_LOG);
}

/* Trees are steps: between two levels that were learnt the slow-down goes from one to the other as time-sharing does, and
 * above all of them, and with more competitors than the one there was, by what time-sharing adds. So it rises with the
 * load, as the trees do. @row: (inout)    Returns: the logarithm */
static double slow_down_of(const IfmLatencyModel *model, const IfmLoadState *load, const LearnTrees *trees, float *row)
{
    const double effective = MIN(learn_taken(load), LEARN_FAIR_SHARE);
    double low = 0, high = LEARN_FAIR_SHARE;
    gboolean is_above = TRUE;
    for (guint i = 0; i < model->levels->len; i++)
    {
        const double level = MIN(((const LearnLevel *)model->levels->pdata[i])->level, LEARN_FAIR_SHARE);
        low = level <= effective ? MAX(low, level) : low;
        high = level >= effective ? MIN(high, level) : high;
        is_above = is_above && level < effective;
    }
    const double at_low = slow_down_at(model, trees, low, row), to_low = share_log(low), to = share_log(effective);
    const double more = log(learn_time_sharing(load)) - to;
    if (is_above || high <= low)
        return at_low + (to - to_low) + more;
    const double at_high = slow_down_at(model, trees, high, row);
    return at_low + (at_high - at_low) * (to - to_low) / (share_log(high) - to_low) + more;
}

/* @row: what the trees see without load; what they see of the load is added */
static void predict_loaded(const IfmLatencyModel *model, const IfmLoadState *load, float *row,
                           IfmPredictedLatency *predicted)
{
    float *more = row + model->features->len;
    learn_fill_load(predicted->idle_ns, load, more);
    const gboolean kind = keep_kind(model, load, more), metrics = fill_metrics(model, load, more + LEARN_N_LOAD_FEATURES);
    predicted->in_range =
        predicted->in_range &&
        is_in_range(model->load_features, metrics ? model->load_features->len : LEARN_N_LOAD_FEATURES, more);
    predicted->latency_ns =
        predicted->idle_ns * exp(slow_down_of(model, load, metrics ? &model->load_metrics : &model->load, row));
    double half = half_of_load(model, load,
                               metrics ? LEARN_METRICS
                               : kind  ? LEARN_KIND
                                       : LEARN_SHARE,
                               predicted->latency_ns);
    if (!predicted->known && !(load->idle_ns > 0))
        half += model->quantiles.unknown;
    set_interval(predicted, half * (predicted->in_range ? 1 : OUTSIDE_FACTOR));
}

/* Of an operator that is not known: as one that begins alike, or by the roofline. @far: (out) from what was learnt of that
 */
static double unknown_ns(const IfmLatencyModel *model, const IfmKernelSample *kernel, double roofline_ns, const float *row,
                         gboolean *far)
{
    const char *relative = learn_relative(model, kernel->op_type);
    const IfmOperatorChoice *choice = relative != NULL ? learn_choice(model, relative) : NULL;
    IfmKernelSample as = *kernel;
    if (choice == NULL)
        return roofline_ns * learn_scale(model, kernel->op_type);
    as.op_type = relative;
    return learn_choice_ns(model, choice, &as, roofline_ns, row, far);
}

/* @row: (out) what the trees see    Returns: half of the interval, in the logarithm */
static double predict_idle(const IfmLatencyModel *model, const IfmKernelSample *kernel, const IfmLoadState *load,
                           float *row, IfmPredictedLatency *predicted)
{
    const LearnQuantiles *quantiles = &model->quantiles;
    const IfmOperatorChoice *choice = learn_choice(model, kernel->op_type);
    double half = 0;
    gboolean far = FALSE;
    *predicted = (IfmPredictedLatency){ .roofline_ns = learn_roofline_ns(model, kernel), .load_learned = TRUE };
    learn_fill_row(model, kernel, predicted->roofline_ns, row);
    predicted->known = learn_knows(model, kernel->op_type);
    predicted->in_range = is_in_range(model->features, model->features->len, row);
    if (load != NULL && load->idle_ns > 0)
        predicted->idle_ns = load->idle_ns;
    else if (predicted->known && choice != NULL)
    {
        predicted->idle_ns = learn_choice_ns(model, choice, kernel, predicted->roofline_ns, row, &far);
        half = fmax(pick(quantiles->idle, predicted->idle_ns), far ? quantiles->far : 0);
    }
    else
    {
        predicted->idle_ns = unknown_ns(model, kernel, predicted->roofline_ns, row, &far);
        half = fmax(quantiles->unknown, fmax(pick(quantiles->idle, predicted->idle_ns), far ? quantiles->far : 0));
    }
    half *= predicted->in_range ? 1 : OUTSIDE_FACTOR;
    if (model->machines->len > 0 && !(load != NULL && load->idle_ns > 0))
        half = fmax(half, learn_place_bound(model, learn_place(model, kernel)));
    predicted->latency_ns = predicted->idle_ns;
    set_interval(predicted, half);
    return half;
}

void ifm_latency_model_predict(const IfmLatencyModel *model, const IfmKernelSample *kernel, const IfmLoadState *load,
                               IfmPredictedLatency *predicted)
{
    const gboolean loaded = load != NULL && (load->same > 0 || load->other > 0);
    float row[LEARN_MAX_FEATURES];
    const double half = predict_idle(model, kernel, load, row, predicted);
    if (loaded && model->load.n_features > 0)
        predict_loaded(model, load, row, predicted);
    else if (loaded)
        share_time(load, half, predicted);
}

/* --- what it says of itself ---------------------------------------------------------------------------------------------
 */

void ifm_latency_model_info(const IfmLatencyModel *model, IfmLatencyModelInfo *info)
{
    *info = (IfmLatencyModelInfo){ .method = model->method,
                                   .data = model->data,
                                   .machine = model->machine,
                                   .runtime = model->runtime,
                                   .device = model->device,
                                   .level = model->level,
                                   .seed = model->seed,
                                   .n_rows = model->n_rows,
                                   .n_dropped = model->n_dropped,
                                   .n_left_out = model->n_left_out,
                                   .n_disturbed = model->n_disturbed,
                                   .n_kernels = model->n_kernels,
                                   .n_configurations = model->n_configurations,
                                   .n_loaded = model->n_loaded,
                                   .node_overhead_ns = model->node_overhead_ns,
                                   .noise = model->noise,
                                   .features = model->features,
                                   .load_features = model->load_features,
                                   .operators = model->operators,
                                   .choices = model->choices,
                                   .errors = model->errors,
                                   .machines = model->machines,
                                   .metrics = model->metric_names };
    const LearnTrees *all[] = { &model->idle, &model->forest, &model->load, &model->load_metrics };
    for (gsize i = 0; i < G_N_ELEMENTS(all); i++)
        info->n_trees += all[i]->n_features > 0 ? all[i]->starts->len : 0;
}

void ifm_latency_model_set_overhead(IfmLatencyModel *model, double node_overhead_ns)
{
    model->node_overhead_ns = node_overhead_ns;
}

/* (transfer full) NULL: nothing disturbed the rows that it learnt from, nor others */
static char *disturbed_text(const IfmLatencyModel *model)
{
    if (model->n_disturbed > 0)
        return g_strdup_printf("%" G_GINT64_FORMAT " of the %" G_GINT64_FORMAT
                               " rows that the model was learnt from were disturbed while they were measured",
                               model->n_disturbed, model->n_rows);
    if (model->n_left_out == 1)
        return g_strdup("the model was learnt without 1 row that was disturbed while it was measured");
    return model->n_left_out > 1 ? g_strdup_printf("the model was learnt without %" G_GINT64_FORMAT
                                                   " rows that were disturbed while they were measured",
                                                   model->n_left_out)
                                 : NULL;
}

static void G_GNUC_PRINTF(2, 3) say(GStrvBuilder *said, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    g_autofree char *text = g_strdup_vprintf(format, list);
    va_end(list);
    g_strv_builder_add(said, text);
}

char *ifm_latency_model_warning(const IfmLatencyModel *model, const char *machine, const char *runtime)
{
    g_autoptr(GStrvBuilder) said = g_strv_builder_new();
    g_autofree char *outside = ifm_latency_model_outside_machines(model), *disturbed = disturbed_text(model);
    if (outside != NULL)
        say(said, "the machine is outside of those that were learnt from: %s", outside);
    if (machine != NULL && *machine != '\0' && *model->machine != '\0' && !g_str_equal(machine, model->machine))
        say(said, "the model is of another machine: %s, and this is %s", model->machine, machine);
    if (runtime != NULL && *runtime != '\0' && *model->runtime != '\0' && !g_str_equal(runtime, model->runtime))
        say(said, "the model is of another runtime: %s, and this is %s", model->runtime, runtime);
    if (disturbed != NULL)
        say(said, "%s", disturbed);
    g_auto(GStrv) texts = g_strv_builder_end(said);
    return *texts != NULL ? g_strjoinv("; ", texts) : NULL;
}
