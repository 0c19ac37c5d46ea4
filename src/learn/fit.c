/* Training: the roofline, trees on what it leaves, and intervals by cross-validation. */
#include <math.h>
#include <string.h>

#include "learn-private.h"

/* So many errors are needed that one of them bounds IFM_LEARN_COVERAGE of the next. */
#define LEAST_ERRORS 9
#define LEAST_KERNELS 10
/* So many cases without load are trained on at most, which bounds the time: others are left out at random. Fewer serve
 * where a model is trained for its errors alone. */
#define MOST_CASES 40000
#define MOST_HELD_OUT 10000
/* Of several machines an operator has trees of its own from so many of the cases that are trained on: fewer of the same
 * data where a model is trained for its errors alone. */
#define LEAST_OWN 1000
#define N_BLURS 2
#define REST G_MAXUINT /* the operators that have none */

static const char *const method_words[] = { "chosen", "boosted", "forest", NULL };
G_STATIC_ASSERT(G_N_ELEMENTS(method_words) == IFM_N_LEARN_METHODS + 1);

const char *const *ifm_learn_method_words(void)
{
    return method_words;
}

const IfmOption ifm_learn_options[] = {
    { "method", IFM_OPTION_CHOICE, "METHOD",
      "what predicts each operator best in cross-validation; or for all boosted trees, or a random forest", "chosen",
      .choices = method_words, .at = G_STRUCT_OFFSET(IfmLearnOptions, method) },
    { "seed", IFM_OPTION_COUNT, "N", "of the folds, and of the rows and features that a tree sees", "1",
      .maximum = G_MAXINT32, .at = G_STRUCT_OFFSET(IfmLearnOptions, seed) },
    { "allow-disturbed", IFM_OPTION_FLAG, NULL, "learn from disturbed rows, too, and mark every prediction",
      .at = G_STRUCT_OFFSET(IfmLearnOptions, allow_disturbed) },
    { "threads", IFM_OPTION_COUNT, "N", "threads of the training", "1", .minimum = 1, .maximum = 256,
      .at = G_STRUCT_OFFSET(IfmLearnOptions, threads) },
    { NULL },
};

/* --- trees --------------------------------------------------------------------------------------------------------------
 */

static void fill(const IfmLatencyModel *model, const LearnCase *one, float *row)
{
    learn_fill_row(model, &one->sample, learn_roofline_ns(model, &one->sample), row);
}

static void append_row(LearnTable *table, const float *row, double y)
{
    const float target = (float)y;
    g_array_append_vals(table->x, row, (guint)table->n_columns);
    g_array_append_val(table->y, target);
}

static void set_importance(GPtrArray *features, const double *gains, gsize first)
{
    double sum = 0;
    for (gsize i = 0; i < first + features->len; i++)
        sum += gains[i];
    for (guint i = 0; i < features->len; i++)
        ((IfmLearnFeature *)features->pdata[i])->importance = sum > 0 ? gains[first + i] / sum : 0;
}

/* @use: [n] (in, out) cases, of which at most so many without load are left */
static void draw(const LearnCases *cases, gboolean *use, gsize most, gint64 seed)
{
    g_autoptr(GRand) random = g_rand_new_with_seed((guint32)seed);
    gsize left = 0;
    for (guint i = 0; i < cases->cases->len; i++)
        left += use[i] && !learn_case(cases, i)->loaded;
    for (guint i = 0; left > most && i < cases->cases->len; i++)
        if (use[i] && !learn_case(cases, i)->loaded)
        {
            use[i] = g_rand_double(random) * (double)left-- < (double)most;
            most -= use[i];
        }
}

/* @value: of the column; REST: of the operators that have too few for trees of their own, by the @counts */
static void pick_rows(const LearnTable *table, gsize column, const guint *counts, guint value, LearnTable *picked)
{
    for (guint i = 0; i < table->y->len; i++)
    {
        const float *row = &g_array_index(table->x, float, i * table->n_columns);
        const guint own = (guint)row[column];
        if (own == value || (value == REST && counts[own] < LEAST_OWN * N_BLURS))
            append_row(picked, row, (double)g_array_index(table->y, float, i));
    }
}

/* Adds the trees of some rows, where there are any. */
static gboolean fit_part(IfmLatencyModel *model, const LearnTable *rows, guint value, const IfmLearnOptions *options,
                         double *gains, GError **error)
{
    LearnTrees own = { 0 };
    double gains_of[LEARN_MAX_FEATURES];
    if (rows->y->len == 0)
        return TRUE;
    if (!learn_trees_train(&own, rows, LEARN_MACHINES, IFM_LEARN_BOOSTED, options, gains_of, error))
        return FALSE;
    for (gsize k = 0; k < rows->n_columns; k++)
        gains[k] += gains_of[k];
    if (model->idle.n_features == 0)
        model->idle = own;
    else
    {
        learn_trees_graft(&model->idle, &own, (gsize)learn_operator_column(model), value);
        learn_trees_clear(&own);
    }
    return TRUE;
}

/* An operator with many cases has trees of its own: where all are in one table, few trees look at the operator. */
static gboolean fit_boosted(IfmLatencyModel *model, const LearnTable *table, const IfmLearnOptions *options, double *gains,
                            GError **error)
{
    const gssize column = learn_operator_column(model);
    const guint n = model->operators->len;
    if (column < 0)
        return learn_trees_train(&model->idle, table, LEARN_IDLE, IFM_LEARN_BOOSTED, options, gains, error);
    g_autofree guint *counts = g_new0(guint, n + 1);
    gboolean good = TRUE;
    memset(gains, 0, table->n_columns * sizeof *gains);
    for (guint i = 0; i < table->y->len; i++)
        counts[(guint)g_array_index(table->x, float, i * table->n_columns + (gsize)column)]++;
    for (guint k = 0; good && k <= n; k++)
    {
        g_auto(LearnTable) rows = { 0 };
        const guint value = k > 0 ? k - 1 : REST;
        learn_table_init(&rows, table->n_columns);
        if (value == REST || counts[value] >= LEAST_OWN * N_BLURS)
            pick_rows(table, (gsize)column, counts, value, &rows);
        good = fit_part(model, &rows, value, options, gains, error);
    }
    return good;
}

/* Of several machines each case has some rows, whose machines are blurred each by itself. */
static void fill_idle(const IfmLatencyModel *model, const LearnCases *cases, const gboolean *use, gint64 seed,
                      LearnTable *table)
{
    g_autoptr(GRand) random = g_rand_new_with_seed((guint32)seed);
    const gboolean several = model->machines->len > 0;
    float row[LEARN_MAX_FEATURES];
    for (guint i = 0; i < cases->cases->len; i++)
    {
        const LearnCase *one = learn_case(cases, i);
        if (!use[i] || one->loaded)
            continue;
        fill(model, one, row);
        for (guint k = 0; k < (several ? N_BLURS : 1); k++)
        {
            if (several)
                learn_blur_machine(model, &one->sample, random, row);
            append_row(table, row, log(one->target_ns / learn_roofline_ns(model, &one->sample)));
        }
    }
}

/* @most: cases */
static gboolean fit_idle(IfmLatencyModel *model, const LearnCases *cases, const gboolean *among, gsize most,
                         const IfmLearnOptions *options, GError **error)
{
    g_autofree gboolean *use = g_memdup2(among, cases->cases->len * sizeof *among);
    g_auto(LearnTable) table = { 0 };
    double gains[LEARN_MAX_FEATURES];
    learn_table_init(&table, model->features->len);
    draw(cases, use, most, options->seed);
    fill_idle(model, cases, use, options->seed, &table);
    const gboolean boosted = learn_way_tried(model, LEARN_BY_TREES, options),
                   forest = learn_way_tried(model, LEARN_BY_FOREST, options);
    learn_fit_lines(model, cases, use, learn_way_tried(model, LEARN_SMOOTH, options));
    learn_fit_places(model, cases, among); /* of all operators that are known */
    const LearnTask task = model->machines->len > 0 ? LEARN_MACHINES : LEARN_IDLE;
    if ((forest && !learn_trees_train(&model->forest, &table, task, IFM_LEARN_FOREST, options, gains, error)) ||
        (boosted && !fit_boosted(model, &table, options, gains, error)))
        return FALSE;
    set_importance(model->features, gains, 0);
    learn_choose_any(model, options);
    return TRUE;
}

/* Metrics come last, so that trees without them see the front of the row. */
static void fill_loaded(const IfmLatencyModel *model, const LearnCases *cases, const LearnCase *one, LearnKnown known,
                        float *row)
{
    const guint n = model->features->len;
    double metrics[IFM_SAMPLES_MAX_METRICS];
    const IfmLoadState load = learn_case_load(cases, one, known, metrics);
    fill(model, one, row);
    learn_fill_load(one->idle_ns, &load, row + n);
    for (guint k = 0; k < cases->places->len; k++)
        row[n + LEARN_N_LOAD_FEATURES + k] = (float)metrics[k];
}

/* Kernels under load are few, and each has many rows: by all features the trees would learn each kernel by heart. A column
 * without a value is never split. */
static void hide_shape(const IfmLatencyModel *model, float *row)
{
    static const char *const kept[] = { "intensity", "weight_bytes", "threads", NULL };
    for (guint k = 0; k < model->features->len; k++)
        if (!g_strv_contains(kept, ((const IfmLearnFeature *)model->features->pdata[k])->name))
            row[k] = NAN;
}

static void set_directions(const IfmLatencyModel *model, LearnTable *table)
{
    const gsize n = model->features->len;
    g_array_set_size(table->directions, (guint)table->n_columns);
    for (gsize k = n; k < table->n_columns; k++)
        g_array_index(table->directions, int, k) =
            learn_load_direction(((const IfmLearnFeature *)model->load_features->pdata[k - n])->name);
}

/* Each load is a row with its kind and one without, as either may be asked for. */
static gboolean fit_load(IfmLatencyModel *model, const LearnCases *cases, const gboolean *use,
                         const IfmLearnOptions *options, GError **error)
{
    const gsize n = model->features->len + LEARN_N_LOAD_FEATURES, n_metrics = cases->names->len;
    const IfmLearnMethod method = options->method == IFM_LEARN_FOREST ? IFM_LEARN_FOREST : IFM_LEARN_BOOSTED;
    g_auto(LearnTable) table = { 0 }, with_metrics = { 0 };
    float row[LEARN_MAX_FEATURES];
    double gains[LEARN_MAX_FEATURES];
    learn_table_init(&table, n);
    learn_table_init(&with_metrics, n + n_metrics);
    set_directions(model, &table);
    set_directions(model, &with_metrics);
    for (guint i = 0; i < cases->cases->len; i++)
    {
        const LearnCase *one = learn_case(cases, i);
        if (!use[i] || (!one->loaded && !one->beside_loaded))
            continue;
        for (int known = 0; known < LEARN_N_KNOWN; known++)
        {
            fill_loaded(model, cases, one, known, row);
            hide_shape(model, row);
            append_row(known == LEARN_METRICS ? &with_metrics : &table, row, log(one->slow_down));
        }
        model->n_loaded += one->loaded;
    }
    if (model->n_loaded < LEAST_KERNELS)
        return TRUE;
    if (!learn_trees_train(&model->load, &table, LEARN_LOAD, method, options, gains, error) ||
        (n_metrics > 0 &&
         !learn_trees_train(&model->load_metrics, &with_metrics, LEARN_LOAD, method, options, gains, error)))
        return FALSE;
    set_importance(model->load_features, gains, model->features->len);
    return TRUE;
}

/* --- ranges -------------------------------------------------------------------------------------------------------------
 */

static void widen(IfmLearnFeature *feature, double value)
{
    if (isnan(value))
        return;
    feature->min = isnan(feature->min) ? value : MIN(feature->min, value);
    feature->max = isnan(feature->max) ? value : MAX(feature->max, value);
}

static void find_ranges(IfmLatencyModel *model, const LearnCases *cases, const gboolean *use)
{
    float row[LEARN_MAX_FEATURES];
    for (guint k = 0; k < model->features->len + model->load_features->len; k++)
    {
        IfmLearnFeature *feature =
            k < model->features->len ? model->features->pdata[k] : model->load_features->pdata[k - model->features->len];
        feature->min = feature->max = (double)NAN;
    }
    for (guint i = 0; i < cases->cases->len; i++)
    {
        const LearnCase *one = learn_case(cases, i);
        if (!use[i])
            continue;
        fill_loaded(model, cases, one, LEARN_KIND, row);
        for (guint k = 0; !one->loaded && k < model->features->len; k++)
            widen(model->features->pdata[k], (double)row[k]);
        for (guint k = 0; (one->loaded || one->beside_loaded) && k < model->load_features->len; k++)
            widen(model->load_features->pdata[k], (double)row[model->features->len + k]);
    }
}

static gboolean is_at(const LearnCase *one, double level)
{
    return one->loaded && one->sample.load_level == level;
}

static gint compare_levels(gconstpointer a, gconstpointer b)
{
    const double x = (*(const LearnLevel *const *)a)->level, y = (*(const LearnLevel *const *)b)->level;
    return (x > y) - (x < y);
}

static void find_levels(IfmLatencyModel *model, const LearnCases *cases, const gboolean *use)
{
    for (guint i = 0; i < cases->cases->len; i++)
    {
        const LearnCase *one = learn_case(cases, i);
        guint k = 0;
        while (k < model->levels->len && !is_at(one, ((const LearnLevel *)model->levels->pdata[k])->level))
            k++;
        if (!use[i] || !one->loaded || k < model->levels->len)
            continue;
        LearnLevel *level = g_new0(LearnLevel, 1);
        level->level = one->sample.load_level;
        g_ptr_array_add(model->levels, level);
    }
    g_ptr_array_sort(model->levels, compare_levels);
}

static void add_load_feature(IfmLatencyModel *model, const char *name)
{
    IfmLearnFeature *feature = g_new0(IfmLearnFeature, 1);
    feature->name = g_strdup(name);
    feature->importance = (double)NAN;
    g_ptr_array_add(model->load_features, feature);
}

/* --- intervals ----------------------------------------------------------------------------------------------------------
 */

/* Errors: |log(measured / predicted)|, of what was predicted below IFM_LEARN_SMALL_NS, and not. */
typedef struct
{
    GArray *of[2]; /* double */
} Errors;

static void errors_init(Errors *errors)
{
    for (gsize k = 0; k < 2; k++)
        errors->of[k] = g_array_new(FALSE, FALSE, sizeof(double));
}

static void add_error(const Errors *errors, double measured, double predicted)
{
    const double error = fabs(log(measured / predicted));
    g_array_append_val(errors->of[predicted >= IFM_LEARN_SMALL_NS], error);
}

static double or_else(double bound, double other)
{
    return isfinite(bound) ? bound : other;
}

/* The smallest of the errors that bounds the next one with that probability; NaN: none does. */
static double conformal(GArray *errors)
{
    const gsize n = errors->len;
    if (n < LEAST_ERRORS)
        return (double)NAN;
    learn_quantile((double *)(void *)errors->data, n, 0.5);
    const gsize rank = (gsize)ceil(((double)n + 1) * IFM_LEARN_COVERAGE - 1e-9);
    return g_array_index(errors, double, MIN(rank, n) - 1);
}

/* Ends the errors. A size with too few has the quantile of both. @bounds: (out) [2] */
static void conclude(const Errors *errors, double *bounds)
{
    for (gsize i = 0; i < 2; i++)
        bounds[i] = conformal(errors->of[i]);
    g_array_append_vals(errors->of[0], errors->of[1]->data, errors->of[1]->len);
    const double all = conformal(errors->of[0]);
    for (gsize i = 0; i < 2; i++)
    {
        bounds[i] = or_else(bounds[i], all);
        g_array_unref(errors->of[i]);
    }
}

/* OfLoad: with the idle latency as measured, or as predicted; where the level of load was not trained on either. */
enum
{
    SLOW,
    LOAD,
    SLOW_BETWEEN,
    LOAD_BETWEEN,
    N_OF_LOAD,
};

/* HeldOut: errors of rows that were not trained on. */
typedef struct
{
    Errors idle, of[LEARN_N_KNOWN][N_OF_LOAD];
} HeldOut;

/* @load_model: of the slow-down    @fold: of the latency without load    @errors: [2] with the idle latency as measured,
 * and as predicted */
static void predict_known(const IfmLatencyModel *fold, const IfmLatencyModel *load_model, const LearnCase *one,
                          IfmLoadState *load, const Errors *errors)
{
    IfmPredictedLatency predicted;
    ifm_latency_model_predict(load_model, &one->sample, load, &predicted);
    add_error(&errors[0], one->latency_ns, predicted.latency_ns);
    if (fold->choices->len == 0 || !learn_knows(fold, one->sample.op_type))
        return;
    ifm_latency_model_predict(fold, &one->sample, NULL, &predicted);
    load->idle_ns = predicted.latency_ns;
    ifm_latency_model_predict(load_model, &one->sample, load, &predicted);
    add_error(&errors[1], one->measured_ns, predicted.latency_ns);
}

/* @first: SLOW or SLOW_BETWEEN */
static void predict_loaded(const IfmLatencyModel *fold, const IfmLatencyModel *load_model, const LearnCases *cases,
                           const LearnCase *one, const HeldOut *held, int first)
{
    double metrics[IFM_SAMPLES_MAX_METRICS];
    for (int known = 0; known < LEARN_N_KNOWN; known++)
    {
        IfmLoadState load = learn_case_load(cases, one, known, metrics);
        if (known != LEARN_METRICS || load_model->load_metrics.n_features > 0)
            predict_known(fold, load_model, one, &load, &held->of[known][first]);
    }
}

static void predict_idle(const IfmLatencyModel *fold, const LearnCase *one, const Errors *idle)
{
    IfmPredictedLatency predicted;
    if (fold->choices->len == 0 || !learn_knows(fold, one->sample.op_type))
        return;
    ifm_latency_model_predict(fold, &one->sample, NULL, &predicted);
    add_error(idle, one->measured_ns, predicted.latency_ns);
}

/* Each operator in turn is predicted by the roofline as the others have it. Returns: what IFM_LEARN_COVERAGE of the
 * operators keep to with that share of their kernels, and so the next with that probability; of few the largest. */
static double unknown_quantile(const IfmLatencyModel *model, const LearnCases *cases, const gboolean *use)
{
    const guint n_cases = cases->cases->len;
    g_autoptr(GArray) errors = g_array_new(FALSE, FALSE, sizeof(double));
    g_autofree gboolean *others = g_new(gboolean, n_cases + 1);
    for (guint k = 0; k < model->operators->len; k++)
    {
        g_autoptr(IfmLatencyModel) rest = learn_model_alloc();
        g_autoptr(GArray) own = g_array_new(FALSE, FALSE, sizeof(double));
        const char *name = model->operators->pdata[k];
        for (guint i = 0; i < n_cases; i++)
            others[i] = use[i] && !g_str_equal(learn_case(cases, i)->sample.op_type, name);
        learn_machines_copy(rest->machines, cases, others);
        learn_find_peaks(rest, cases, others);
        if (rest->peaks->len == 0)
            continue;
        learn_find_operators(rest, cases, others);
        for (guint i = 0; i < n_cases; i++)
        {
            const LearnCase *one = learn_case(cases, i);
            const double error =
                fabs(log(one->measured_ns / learn_roofline_ns(rest, &one->sample) / learn_scale(rest, name)));
            if (use[i] && !one->loaded && !others[i])
                g_array_append_val(own, error);
        }
        const double bound = learn_quantile((double *)(void *)own->data, own->len, IFM_LEARN_COVERAGE);
        g_array_append_val(errors, bound);
    }
    return or_else(conformal(errors), learn_quantile((double *)(void *)errors->data, errors->len, 1));
}

/* So much wider are intervals at levels of load between those that were trained on, where they cannot be calibrated. */
#define BETWEEN_FACTOR 2

/* Where operators are so many that the folds know too few of each, levels of load so few that none can be left out, or
 * cases under load so few that folds have no trees with metrics, there are too few errors: a wider bound serves. A level
 * that was left out has no narrower interval than others. */
static void fill_gaps(LearnQuantiles *quantiles, gboolean loaded)
{
    for (gsize i = 0; i < 2; i++)
        quantiles->idle[i] = or_else(quantiles->idle[i], quantiles->unknown);
    quantiles->far = or_else(quantiles->far, fmax(quantiles->idle[0], quantiles->idle[1]));
    for (gsize i = 0; loaded && i < (gsize)2 * LEARN_N_KNOWN; i++)
    {
        const gsize k = i / LEARN_N_KNOWN, known = i % LEARN_N_KNOWN;
        const double slow = or_else(quantiles->of[known].slow[k], quantiles->of[LEARN_SHARE].slow[k]),
                     load = or_else(quantiles->of[known].load[k], quantiles->idle[k] + slow);
        quantiles->of[known].slow[k] = slow;
        quantiles->of[known].load[k] = load;
        quantiles->of[known].slow_between[k] =
            fmax(slow, or_else(quantiles->of[known].slow_between[k], BETWEEN_FACTOR * slow));
        quantiles->of[known].load_between[k] =
            fmax(load, or_else(quantiles->of[known].load_between[k], BETWEEN_FACTOR * load));
    }
}

/* Fold: the cases whose configurations are left out, and a level of load that is left out, too; NaN: none is.
 * @model: of the others    @between: of those, and without the level; NULL: none is left out */
typedef struct
{
    const int *of;
    int number;
    double level;
    IfmLatencyModel *model, *between;
} Fold;

static void fold_clear(Fold *fold)
{
    ifm_latency_model_free(fold->model);
    ifm_latency_model_free(fold->between);
}

static gboolean fold_train(Fold *fold, const LearnCases *cases, const gboolean *use, const IfmLearnOptions *options,
                           gboolean idle, GError **error)
{
    const guint n = cases->cases->len;
    g_autofree gboolean *rest = g_new(gboolean, n + 1);
    for (guint i = 0; i < n; i++)
        rest[i] = use[i] && fold->of[i] != fold->number;
    fold->model = learn_fit(cases, rest, options, FALSE, idle, error);
    for (guint i = 0; i < n; i++)
        rest[i] = rest[i] && !is_at(learn_case(cases, i), fold->level);
    if (fold->model != NULL && isfinite(fold->level))
        fold->between = learn_fit(cases, rest, options, FALSE, FALSE, error);
    return fold->model != NULL && (fold->between != NULL || !isfinite(fold->level));
}

/* @set: of the trials */
static void fold_try(const Fold *fold, const LearnCases *cases, const gboolean *use, const IfmLearnOptions *options,
                     const LearnTrials *trials, gsize set)
{
    const IfmLatencyModel *model = fold->model;
    float row[LEARN_MAX_FEATURES];
    for (guint i = 0; i < cases->cases->len; i++)
    {
        const LearnCase *one = learn_case(cases, i);
        if (!use[i] || fold->of[i] != fold->number || one->loaded || !learn_knows(model, one->sample.op_type))
            continue;
        const double roofline_ns = learn_roofline_ns(model, &one->sample);
        const gsize at = set * cases->cases->len + i;
        fill(model, one, row);
        trials->distances[at] = learn_distance(model, one->sample.op_type, &one->sample);
        for (guint way = 0; way < LEARN_N_WAYS; way++)
            if (learn_way_tried(model, way, options))
                trials->ns[at * LEARN_N_WAYS + way] = learn_way_ns(model, way, &one->sample, roofline_ns, row);
    }
}

static void fold_hold_out(const Fold *fold, const LearnCases *cases, const gboolean *use, HeldOut *held)
{
    for (guint i = 0; i < cases->cases->len; i++)
    {
        const LearnCase *one = learn_case(cases, i);
        if (!use[i] || fold->of[i] != fold->number)
            continue;
        if (one->loaded)
            predict_loaded(fold->model, fold->model, cases, one, held, SLOW);
        else
            predict_idle(fold->model, one, &held->idle);
        if (fold->between != NULL && is_at(one, fold->level))
            predict_loaded(fold->model, fold->between, cases, one, held, SLOW_BETWEEN);
    }
}

/* Each operator is predicted in the way that is best of those that the folds tried, all of which have it from then on.
 * @others: (nullable) folds that leave out something else; what is best of both counts */
static void choose(IfmLatencyModel *model, const Fold *folds, const Fold *others, const LearnCases *cases,
                   const gboolean *use, const IfmLearnOptions *options)
{
    const gsize n_sets = others != NULL ? 2 : 1, n = n_sets * cases->cases->len;
    g_autofree double *ns = g_new(double, n *LEARN_N_WAYS + 1), *distances = g_new0(double, n + 1);
    g_autoptr(GArray) far = g_array_new(FALSE, FALSE, sizeof(double));
    const LearnTrials trials = { ns, distances, n_sets };
    for (gsize i = 0; i < n * LEARN_N_WAYS; i++)
        ns[i] = (double)NAN;
    for (int k = 0; k < IFM_LEARN_FOLDS; k++)
    {
        fold_try(&folds[k], cases, use, options, &trials, 0);
        if (others != NULL)
            fold_try(&others[k], cases, use, options, &trials, 1);
    }
    learn_choose(model, cases, &trials, far);
    model->quantiles.far = conformal(far);
}

/* Of the cases without load alone: ways are tried of these. */
static gboolean folds_train_unloaded(Fold *folds, const int *of, const LearnCases *cases, const gboolean *use,
                                     const IfmLearnOptions *options, GError **error)
{
    g_autofree gboolean *unloaded = g_new0(gboolean, cases->cases->len + 1);
    gboolean good = TRUE;
    for (guint i = 0; i < cases->cases->len; i++)
        unloaded[i] = use[i] && !learn_case(cases, i)->loaded;
    for (int k = 0; good && k < IFM_LEARN_FOLDS; k++)
    {
        folds[k] = (Fold){ of, k, (double)NAN, NULL, NULL };
        good = fold_train(&folds[k], cases, unloaded, options, TRUE, error);
    }
    return good;
}

static void share_choices(IfmLatencyModel *model, Fold *folds)
{
    for (int k = 0; k < IFM_LEARN_FOLDS; k++)
    {
        g_ptr_array_unref(folds[k].model->choices);
        folds[k].model->choices = g_ptr_array_ref(model->choices);
        folds[k].model->reach = model->reach;
    }
}

gboolean learn_fit_folds(const LearnCases *cases, const int *of, const gboolean *use, const IfmLearnOptions *options,
                         IfmLatencyModel **models, GError **error)
{
    g_autoptr(IfmLatencyModel) all = learn_model_alloc();
    Fold folds[IFM_LEARN_FOLDS] = { 0 };
    const gboolean good = folds_train_unloaded(folds, of, cases, use, options, error);
    if (good)
    {
        learn_machines_copy(all->machines, cases, use);
        learn_find_peaks(all, cases, use);
        learn_find_operators(all, cases, use);
        learn_choose_any(all, options);
        choose(all, folds, NULL, cases, use, options);
        share_choices(all, folds);
    }
    for (int k = 0; k < IFM_LEARN_FOLDS; k++)
        models[k] = folds[k].model;
    return good;
}

/* A kernel of a model that was never seen has none of its configuration among those that were learnt from, nor of others of
 * its family, which are near it: a way that does well between neighbours may do badly there, and the other way round. So
 * the ways are tried on families that are left out, too, where the samples say enough of them. */
static gboolean choose_by_both(IfmLatencyModel *model, Fold *folds, const LearnCases *cases, const gboolean *use,
                               const IfmLearnOptions *options, GError **error)
{
    g_autofree int *of = model->machines->len == 0 ? learn_cases_family_folds(cases) : NULL;
    Fold others[IFM_LEARN_FOLDS] = { 0 };
    const gboolean good = of == NULL || folds_train_unloaded(others, of, cases, use, options, error);
    if (good)
        choose(model, folds, of != NULL ? others : NULL, cases, use, options);
    for (int k = 0; k < IFM_LEARN_FOLDS; k++)
        fold_clear(&others[k]);
    if (good)
        share_choices(model, folds);
    return good;
}

static gboolean calibrate_model(IfmLatencyModel *model, const LearnCases *cases, const gboolean *use,
                                const IfmLearnOptions *options, gboolean idle, GError **error)
{
    g_autofree int *of = learn_cases_folds(cases, options->seed);
    const guint n_between = MAX(model->levels->len, 1) - 1; /* levels that have another above; no load at all is below */
    LearnQuantiles *quantiles = &model->quantiles;
    Fold folds[IFM_LEARN_FOLDS] = { 0 };
    HeldOut held;
    gboolean good = TRUE;
    errors_init(&held.idle);
    for (gsize i = 0; i < (gsize)LEARN_N_KNOWN * N_OF_LOAD; i++)
        errors_init(&held.of[i / N_OF_LOAD][i % N_OF_LOAD]);
    for (int k = 0; good && k < IFM_LEARN_FOLDS; k++)
    {
        const LearnLevel *level = n_between > 0 ? model->levels->pdata[(guint)k % n_between] : NULL;
        folds[k] = (Fold){ of, k, level != NULL ? level->level : (double)NAN, NULL, NULL };
        good = fold_train(&folds[k], cases, use, options, idle, error);
    }
    if (good && idle)
        good = choose_by_both(model, folds, cases, use, options, error);
    for (int k = 0; k < IFM_LEARN_FOLDS; k++)
    {
        if (good)
            fold_hold_out(&folds[k], cases, use, &held);
        fold_clear(&folds[k]);
    }
    conclude(&held.idle, quantiles->idle);
    for (gsize i = 0; i < LEARN_N_KNOWN; i++)
    {
        conclude(&held.of[i][SLOW], quantiles->of[i].slow);
        conclude(&held.of[i][LOAD], quantiles->of[i].load);
        conclude(&held.of[i][SLOW_BETWEEN], quantiles->of[i].slow_between);
        conclude(&held.of[i][LOAD_BETWEEN], quantiles->of[i].load_between);
    }
    quantiles->unknown = unknown_quantile(model, cases, use);
    fill_gaps(quantiles, model->load.n_features > 0);
    return good;
}

/* Each machine in turn is predicted from the others. */
static gboolean leave_machines_out(IfmLatencyModel *model, const LearnCases *cases, const gboolean *use,
                                   const IfmLearnOptions *options, GError **error)
{
    const guint n = cases->cases->len;
    g_autofree gboolean *rest = g_new(gboolean, n + 1);
    for (guint machine = 0; model->machines->len > 1 && machine < cases->machines->len; machine++)
    {
        const guint at = learn_machines_at(model->machines, learn_machine(cases->machines, machine)->self.name);
        g_autoptr(GArray) errors = g_array_new(FALSE, FALSE, sizeof(double));
        if (at == model->machines->len)
            continue;
        for (guint i = 0; i < n; i++)
            rest[i] = use[i] && !learn_case(cases, i)->loaded && learn_case(cases, i)->machine != machine;
        g_autoptr(IfmLatencyModel) others = learn_fit(cases, rest, options, FALSE, TRUE, error);
        if (others == NULL)
            return FALSE;
        for (guint i = 0; i < n; i++)
        {
            const LearnCase *one = learn_case(cases, i);
            IfmPredictedLatency predicted;
            if (!use[i] || one->loaded || one->machine != machine || !learn_knows(others, one->sample.op_type))
                continue;
            ifm_latency_model_predict(others, &one->sample, NULL, &predicted);
            const double error_of = fabs(log(one->latency_ns / predicted.latency_ns));
            g_array_append_val(errors, error_of);
        }
        ((LearnMachine *)model->machines->pdata[at])->left_out = conformal(errors);
    }
    return TRUE;
}

/* --- all of it ----------------------------------------------------------------------------------------------------------
 */

IfmLatencyModel *learn_fit(const LearnCases *cases, const gboolean *use, const IfmLearnOptions *options, gboolean calibrate,
                           gboolean idle, GError **error)
{
    g_autoptr(IfmLatencyModel) model = learn_model_alloc();
    learn_machines_copy(model->machines, cases, use);
    learn_find_peaks(model, cases, use);
    if (model->peaks->len == 0)
    {
        ifm_error_refuse(error, "no kernel without load to learn from");
        return NULL;
    }
    learn_find_operators(model, cases, use);
    for (gsize k = 0; learn_load_features[k] != NULL; k++)
        add_load_feature(model, learn_load_features[k]);
    for (guint k = 0; k < cases->names->len; k++)
    {
        add_load_feature(model, cases->names->pdata[k]);
        g_ptr_array_add(model->metrics, g_strdup(cases->names->pdata[k]));
    }
    learn_model_finish(model);
    find_ranges(model, cases, use);
    find_levels(model, cases, use);
    const gsize most = calibrate ? MOST_CASES : MOST_HELD_OUT;
    if ((idle && !fit_idle(model, cases, use, most, options, error)) || !fit_load(model, cases, use, options, error) ||
        (calibrate && !calibrate_model(model, cases, use, options, idle, error)) ||
        (calibrate && idle && !leave_machines_out(model, cases, use, options, error)))
        return NULL;
    if (calibrate)
        learn_choices_trim(model);
    return g_steal_pointer(&model);
}

gboolean learn_cases_check(const LearnCases *cases, GError **error)
{
    g_autoptr(GHashTable) configurations = g_hash_table_new(NULL, NULL);
    g_autoptr(GHashTable) operators = g_hash_table_new(g_str_hash, g_str_equal);
    const char *name = NULL;
    guint n = 0;
    for (guint i = 0; i < cases->cases->len; i++)
    {
        const LearnCase *one = learn_case(cases, i);
        if (one->loaded)
            continue;
        n++;
        name = one->sample.op_type;
        g_hash_table_add(configurations, GUINT_TO_POINTER(one->configuration));
        g_hash_table_add(operators, (gpointer)name);
    }
    g_autofree char *left_out =
        cases->n_left_out > 0
            ? g_strdup_printf("; %zu disturbed rows are left out (--allow-disturbed learns from them)", cases->n_left_out)
            : g_strdup("");
    if (n < LEAST_KERNELS || g_hash_table_size(configurations) < IFM_LEARN_FOLDS)
        return ifm_error_refuse(error, "%u kernels of %u configurations without load, expected at least %d of %d (folds)%s",
                                n, g_hash_table_size(configurations), LEAST_KERNELS, IFM_LEARN_FOLDS, left_out);
    return g_hash_table_size(operators) > 1 ||
           ifm_error_refuse(error, "every kernel is a %s: expected several classes of kernels (OpType)%s", name, left_out);
}

/* What all samples that say it agree in. @offset: of a text of IfmKernelSample    @text: (out) borrowed; NULL: none says it
 * Returns: FALSE where two differ. */
static gboolean agree(const IfmKernelSamples *samples, gsize offset, const char *name, const char **text, GError **error)
{
    for (gsize i = 0; i < ifm_kernel_samples_n(samples); i++)
    {
        const char *one = G_STRUCT_MEMBER(const char *, ifm_kernel_samples_at(samples, i), offset);
        if (one == NULL || *one == '\0')
            continue;
        if (*text != NULL && !g_str_equal(*text, one))
            return ifm_error_refuse(error, "samples of two: %s is \"%s\" and \"%s\"; learn from one, or name what they are",
                                    name, *text, one);
        *text = one;
    }
    return TRUE;
}

IfmLatencyModel *ifm_learn_train(const IfmKernelSamples *samples, const IfmLearnOptions *options, GError **error)
{
    g_auto(LearnCases) cases = { 0 };
    if (!ifm_options_check(ifm_learn_options, options, error) || !learn_cases_init(&cases, samples, options, error) ||
        !learn_cases_check(&cases, error))
        return NULL;
    static const struct
    {
        const char *name;
        gsize offset;
        gboolean of_machine;
    } origins[] = { { "Machine", G_STRUCT_OFFSET(IfmKernelSample, machine), TRUE },
                    { "Runtime", G_STRUCT_OFFSET(IfmKernelSample, runtime), FALSE },
                    { "Device", G_STRUCT_OFFSET(IfmKernelSample, device), TRUE },
                    { "Level", G_STRUCT_OFFSET(IfmKernelSample, level), FALSE } };
    const char *origin[] = { options->machine, options->runtime, options->device, options->level };
    const gboolean several = cases.machines->len > 0; /* their devices may differ, too */
    for (gsize i = 0; i < G_N_ELEMENTS(origins); i++)
        if (origin[i] == NULL && !(several && origins[i].of_machine) &&
            !agree(samples, origins[i].offset, origins[i].name, &origin[i], error))
            return NULL;
    g_autofree gboolean *use = g_new(gboolean, cases.cases->len + 1);
    for (guint i = 0; i < cases.cases->len; i++)
        use[i] = TRUE;
    g_autoptr(IfmLatencyModel) model = learn_fit(&cases, use, options, TRUE, TRUE, error);
    if (model == NULL)
        return NULL;
    const char *texts[] = {
        method_words[options->method], options->data, origin[0], origin[1], origin[2], origin[3],
    };
    char **members[] = { &model->method, &model->data, &model->machine, &model->runtime, &model->device, &model->level };
    for (gsize i = 0; i < G_N_ELEMENTS(texts); i++)
    {
        g_free(*members[i]);
        *members[i] = g_strdup(texts[i] != NULL ? texts[i] : "");
    }
    model->seed = options->seed;
    model->n_rows = (gint64)cases.n_rows;
    model->n_dropped = (gint64)cases.n_dropped;
    model->n_left_out = (gint64)cases.n_left_out;
    model->n_disturbed = (gint64)cases.n_disturbed;
    model->n_kernels = cases.cases->len - model->n_loaded;
    model->n_configurations = cases.n_configurations;
    model->noise = cases.noise;
    if (learn_model_check(model, "model", error))
        return g_steal_pointer(&model);
    g_prefix_error(error, "%s: latencies are too far apart to learn from: ", model->data);
    return NULL;
}
