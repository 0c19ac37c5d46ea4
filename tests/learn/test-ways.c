#include "law.h"

/* --- what is learnt, and what it is judged by --------------------------------------------------------------------------
 */

/* Of a row's wall times and its processor time. NaN: not known */
static void test_labels(void)
{
    const double none = (double)NAN;
    static const double mean_ms = 8;
    const struct
    {
        double threads, cpu_ms, undisturbed_ms, median_ms, target_ms, latency_ms;
    } rows[] = {
        { 1, 4, 5, 6, 4, 5 },       { none, 4, 5, 6, 4, 5 },       { 2, 4, 5, 6, 5, 5 },
        { 1, none, 5, 6, 5, 5 },    { 1, 0, 5, 6, 5, 5 },          { 1, 4, none, 6, 4, 6 },
        { 1, 4, none, none, 4, 8 }, { 1, none, none, none, 8, 8 }, { 4, 4, none, 6, 6, 6 },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        g_autoptr(IfmKernelSamples) samples = ifm_kernel_samples_new(NULL);
        g_auto(LearnCases) cases = { 0 };
        IfmKernelSample sample;
        ifm_kernel_sample_init(&sample);
        sample.kernel_id = "k";
        sample.op_type = "Relu";
        sample.input_shape = "1x4";
        sample.latency_ms = mean_ms;
        sample.threads = rows[i].threads;
        sample.cpu_ms = rows[i].cpu_ms;
        sample.undisturbed_ms = rows[i].undisturbed_ms;
        sample.median_ms = rows[i].median_ms;
        ifm_kernel_samples_add(samples, &sample);
        sample.load_kind = IFM_LOAD_GEMM;
        sample.load_cores = IFM_LOAD_CORES_SAME;
        sample.load_level = 0.5;
        sample.latency_ms = 3 * mean_ms;
        ifm_kernel_samples_add(samples, &sample);
        g_assert_true(learn_cases_init(&cases, samples, &(const IfmLearnOptions){ 0 }, NULL));
        g_assert_cmpuint(cases.cases->len, ==, 2);
        g_assert_cmpfloat(learn_case(&cases, 0)->target_ns, ==, rows[i].target_ms * 1e6);
        g_assert_cmpfloat(learn_case(&cases, 0)->latency_ns, ==, rows[i].latency_ms * 1e6);
        /* beside a load it is a slow-down of means, whatever else is known */
        g_assert_cmpfloat(learn_case(&cases, 1)->slow_down, ==, 3);
        g_assert_cmpfloat(learn_case(&cases, 1)->latency_ns, ==, 3 * mean_ms * 1e6);
    }
}

/* Speeds: how the times of kernels follow what a read got. @exponent: time goes as the read's rate to it    @n_seeds:
 * tries; where nothing is to be found, none of many may find it */
typedef struct
{
    double exponent;
    int n_kernels;
    gboolean found;
    guint32 n_seeds;
} Speeds;

#define USUAL_READ 10e9

static void add_speed_visit(IfmKernelSamples *samples, const Speeds *speeds, int kernel, int visit, GRand *random)
{
    IfmKernelSample sample;
    g_autofree char *id = g_strdup_printf("k%d", kernel);
    const double before = g_rand_double_range(random, -0.3, 0.3), after = g_rand_double_range(random, -0.3, 0.3);
    const double metrics[] = { USUAL_READ * exp(before), USUAL_READ * exp(after) };
    ifm_kernel_sample_init(&sample);
    sample.kernel_id = id;
    sample.op_type = "Relu";
    sample.input_shape = "1x4";
    sample.visit = visit;
    sample.metrics = metrics;
    sample.cpu_ms = (1 + kernel) * exp(speeds->exponent * (before + after) / 2 + g_rand_double_range(random, -0.02, 0.02));
    sample.latency_ms = 1.5 * sample.cpu_ms;
    ifm_kernel_samples_add(samples, &sample);
    sample.load_kind = IFM_LOAD_GEMM;
    sample.load_cores = IFM_LOAD_CORES_SAME;
    sample.load_level = 0.5;
    sample.latency_ms *= 2;
    ifm_kernel_samples_add(samples, &sample);
}

static IfmKernelSamples *speed_samples(const Speeds *speeds, const char *const *names, guint32 seed)
{
    IfmKernelSamples *samples = ifm_kernel_samples_new(names);
    g_autoptr(GRand) random = g_rand_new_with_seed(seed);
    for (int k = 0; k < 3 * speeds->n_kernels; k++)
        add_speed_visit(samples, speeds, k / 3, k % 3 + 1, random);
    return samples;
}

static void check_noise(const IfmLearnNoise *noise, const Speeds *speeds)
{
    g_assert_cmpint(noise->n_pairs, ==, 3 * speeds->n_kernels);
    if (!speeds->found)
    {
        g_assert_cmpfloat(noise->exponent, ==, 0);
        g_assert_cmpfloat(noise->mean_as_measured, ==, 0);
        return;
    }
    g_assert_cmpfloat_with_epsilon(noise->exponent, speeds->exponent, 0.06);
    g_assert_cmpfloat_with_epsilon(noise->read_bytes_per_s, USUAL_READ, 0.1 * USUAL_READ);
    g_assert_cmpfloat(noise->mean, <, 0.025);
    g_assert_cmpfloat(noise->mean_as_measured, >, 3 * noise->mean);
}

static void check_speed(const Speeds *speeds, guint32 seed)
{
    static const char *const names[] = { "metric:before:read_bytes_per_s", "metric:during:read_bytes_per_s", NULL };
    g_autoptr(IfmKernelSamples) samples = speed_samples(speeds, names, seed);
    g_auto(LearnCases) cases = { 0 };
    g_assert_true(learn_cases_init(&cases, samples, &(const IfmLearnOptions){ 0 }, NULL));
    check_noise(&cases.noise, speeds);
    for (guint k = 0; k < cases.cases->len; k++)
    {
        const LearnCase *one = learn_case(&cases, k);
        const double own = 1e6 * (1 + (double)g_ascii_strtoll(one->sample.kernel_id + 1, NULL, 10));
        const double wall = 1.5 * own * (one->loaded ? 2 : 1);
        if (one->loaded)
            g_assert_cmpfloat_with_epsilon(one->slow_down, 2, 1e-9);
        if (speeds->found)
            g_assert_cmpfloat_with_epsilon(one->latency_ns, wall, 0.06 * wall);
        else
            g_assert_cmpfloat_with_epsilon(one->latency_ns, one->measured_ns, 1e-9 * wall);
        if (!one->loaded && (speeds->found || speeds->exponent == 0))
            g_assert_cmpfloat_with_epsilon(one->target_ns, own, 0.06 * own);
    }
}

/* Times are put to the speed of the median visit where they follow reads beside them, and only there; slow-downs, of one
 * visit each, stay. */
static void test_speed(void)
{
    static const Speeds all[] = {
        { -0.9, 40, TRUE, 10 }, { -0.5, 40, TRUE, 10 }, { 0, 40, FALSE, 50 },
        { 0.8, 40, FALSE, 10 }, { -0.9, 12, FALSE, 3 },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(all); i++)
        for (guint32 seed = 1; seed <= all[i].n_seeds; seed++)
            check_speed(&all[i], seed);
}

/* One visit of one kernel whose read was held up moves it by no more than usual reads do. */
static void test_held_up(void)
{
    static const char *const names[] = { "metric:before:read_bytes_per_s", NULL };
    const Speeds speeds = { .exponent = -0.9, .n_kernels = 40 };
    g_autoptr(IfmKernelSamples) samples = speed_samples(&speeds, names, 3);
    g_auto(LearnCases) cases = { 0 };
    IfmKernelSample sample;
    ifm_kernel_sample_init(&sample);
    sample.kernel_id = "one";
    sample.op_type = "Relu";
    sample.input_shape = "1x4";
    sample.latency_ms = 1;
    sample.metrics = (const double[]){ USUAL_READ / 100 };
    ifm_kernel_samples_add(samples, &sample);
    sample.kernel_id = "two";
    sample.metrics = NULL;
    ifm_kernel_samples_add(samples, &sample);
    g_assert_true(learn_cases_init(&cases, samples, &(const IfmLearnOptions){ 0 }, NULL));
    g_assert_cmpfloat(cases.noise.exponent, <, 0);
    const LearnCase *held_up = learn_case(&cases, cases.cases->len - 2),
                    *unknown = learn_case(&cases, cases.cases->len - 1);
    g_assert_cmpfloat(held_up->measured_ns, ==, 1e6);
    g_assert_cmpfloat(held_up->latency_ns, >, 0.7e6);
    g_assert_cmpfloat(unknown->latency_ns, ==, 1e6);
}

/* The noise is of wall times, which predictions are judged by: two visits of equal processor time still differ. */
static void test_noise_is_of_wall(void)
{
    g_autoptr(IfmKernelSamples) samples = ifm_kernel_samples_new(NULL);
    g_auto(LearnCases) cases = { 0 };
    for (int visit = 0; visit < 2; visit++)
    {
        IfmKernelSample sample;
        ifm_kernel_sample_init(&sample);
        sample.kernel_id = "k";
        sample.op_type = "Relu";
        sample.input_shape = "1x4";
        sample.visit = visit;
        sample.cpu_ms = 1;
        sample.latency_ms = sample.undisturbed_ms = visit == 0 ? 1 : 1.25;
        ifm_kernel_samples_add(samples, &sample);
    }
    g_assert_true(learn_cases_init(&cases, samples, &(const IfmLearnOptions){ 0 }, NULL));
    g_assert_cmpfloat_with_epsilon(cases.noise.mean, 0.2, 1e-12);
}

/* --- which way is chosen ------------------------------------------------------------------------------------------------
 */

/* Kind: so many kernels of an operator whose latency is a line through FLOP and bytes, or is not. @layout: of every second
 * one, which takes @slower times as long */
typedef struct
{
    const char *op_type;
    guint n;
    gboolean is_line;
    double layout, slower;
} Kind;

static double kind_ns(const Kind *kind, const IfmKernelSample *sample)
{
    const double line = 800 + sample->flop / 60 + learn_bytes(sample) / 9, channels = sample->features.channels;
    return (kind->is_line ? line : line * (1 + 40 / channels)) * (sample->features.layout > 0 ? 1 : kind->slower);
}

static IfmKernelSamples *kinds_samples(const Kind *kinds, gsize n_kinds, double spread)
{
    IfmKernelSamples *samples = ifm_kernel_samples_new(NULL);
    g_autoptr(GRand) random = g_rand_new_with_seed(17);
    for (gsize kind = 0; kind < n_kinds; kind++)
        for (guint i = 0; i < kinds[kind].n; i++)
        {
            g_autofree char *id = g_strdup_printf("%s %u", kinds[kind].op_type, i);
            IfmKernelSample sample;
            ifm_kernel_sample_init(&sample);
            law_shape(&sample, random, g_str_has_prefix(kinds[kind].op_type, "Conv"));
            sample.features.layout = i % 2 == 1 ? kinds[kind].layout : 0;
            sample.kernel_id = id;
            sample.op_type = kinds[kind].op_type;
            sample.input_shape = "1xCxHxW";
            sample.threads = 1;
            sample.latency_ms = kind_ns(&kinds[kind], &sample) * law_noise(random, spread) / 1e6;
            ifm_kernel_samples_add(samples, &sample);
        }
    return samples;
}

static const Kind kinds[] = { { "Add", 60, TRUE, 0, 1 },       { "Conv_Relu", 80, FALSE, 1, 4 },
                              { "Conv_Clip", 12, TRUE, 0, 1 }, { "Conv_Tanh", 12, TRUE, 0, 1 },
                              { "Softmax", 5, TRUE, 0, 1 },    { "Gather", 4, TRUE, 0, 1 } };

static IfmLatencyModel *train(int method)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmKernelSamples) samples = kinds_samples(kinds, G_N_ELEMENTS(kinds), 0.02);
    IfmLearnOptions options = law_options();
    options.method = method;
    IfmLatencyModel *model = ifm_learn_train(samples, &options, &error);
    g_assert_no_error(error);
    return model;
}

static const IfmOperatorChoice *choice_of(const IfmLatencyModelInfo *info, const char *name)
{
    for (guint i = 0; i < info->choices->len; i++)
        if (g_str_equal(((const IfmOperatorChoice *)info->choices->pdata[i])->name, name))
            return info->choices->pdata[i];
    g_error("no choice of %s", name);
}

/* Sums over the cases of an operator: of their relative errors as its choice, and a line, predict them from other folds. */
typedef struct
{
    double own, line, n;
} Sums;

static void add_fold(const LearnCases *cases, const int *folds, int fold, const IfmLatencyModel *shipped, Sums *sums)
{
    g_autoptr(GError) error = NULL;
    const IfmLearnOptions options = law_options();
    g_autofree gboolean *use = g_new(gboolean, cases->cases->len);
    for (guint i = 0; i < cases->cases->len; i++)
        use[i] = folds[i] != fold;
    g_autoptr(IfmLatencyModel) model = learn_fit(cases, use, &options, FALSE, TRUE, &error);
    g_assert_no_error(error);
    model->reach = shipped->reach;
    for (guint i = 0; i < cases->cases->len; i++)
    {
        const LearnCase *one = learn_case(cases, i);
        float row[LEARN_MAX_FEATURES];
        for (guint k = 0; folds[i] == fold && k < shipped->choices->len; k++)
        {
            const IfmOperatorChoice *choice = shipped->choices->pdata[k];
            if (!g_str_equal(choice->name, one->sample.op_type) || !learn_knows(model, choice->name))
                continue;
            const double roofline_ns = learn_roofline_ns(model, &one->sample);
            learn_fill_row(model, &one->sample, roofline_ns, row);
            const double line = learn_way_ns(model, LEARN_LINEAR, &one->sample, roofline_ns, row),
                         own = learn_choice_ns(model, choice, &one->sample, roofline_ns, row, NULL);
            sums[k].own += fabs(own / one->latency_ns - 1);
            sums[k].line += fabs(line / one->latency_ns - 1);
            sums[k].n++;
        }
    }
}

/* What a choice says of itself and of the line is what models of the other folds give for its group, and not above. */
static void test_choice_errors(void)
{
    g_autoptr(IfmKernelSamples) samples = kinds_samples(kinds, G_N_ELEMENTS(kinds), 0.02);
    g_autoptr(IfmLatencyModel) model = train(IFM_LEARN_CHOSEN);
    const IfmLearnOptions options = law_options();
    g_auto(LearnCases) cases = { 0 };
    Sums sums[G_N_ELEMENTS(kinds)] = { 0 };
    g_assert_true(learn_cases_init(&cases, samples, &options, NULL));
    g_autofree int *folds = learn_cases_folds(&cases, options.seed);
    for (int fold = 0; fold < IFM_LEARN_FOLDS; fold++)
        add_fold(&cases, folds, fold, model, sums);
    for (guint i = 0; i < model->choices->len; i++)
    {
        const IfmOperatorChoice *choice = model->choices->pdata[i];
        Sums of = { 0 };
        for (guint k = 0; k < model->choices->len; k++)
            if (g_str_equal(((const IfmOperatorChoice *)model->choices->pdata[k])->group, choice->group))
                of = (Sums){ of.own + sums[k].own, of.line + sums[k].line, of.n + sums[k].n };
        g_assert_cmpint(choice->n, >, 0);
        if (choice->n < 20) /* "others": as few as are known to all folds */
            continue;
        g_assert_cmpfloat(of.n, ==, (double)choice->n);
        g_assert_cmpfloat_with_epsilon(choice->mape, of.own / of.n, 1e-9);
        g_assert_cmpfloat_with_epsilon(choice->linear, of.line / of.n, 1e-9);
        g_assert_cmpfloat(of.own, <=, of.line);
    }
}

static double left_out_error(const IfmKernelSamples *samples, int method, const char *op_type)
{
    g_autoptr(GError) error = NULL;
    IfmLearnOptions options = law_options();
    options.method = method;
    g_autoptr(GArray) rows = ifm_learn_left_out(samples, &options, NULL, NULL, &error);
    g_assert_no_error(error);
    double sum = 0, n = 0;
    for (guint i = 0; i < rows->len; i++)
    {
        const IfmLearnLeftOut *row = &g_array_index(rows, IfmLearnLeftOut, i);
        const gboolean is_of = g_str_equal(row->op_type, op_type);
        sum += is_of ? fabs(row->predicted_ns / row->measured_ns - 1) : 0;
        n += is_of;
    }
    return sum / n;
}

/* What is left out is predicted as the operator is in the end: a line is not mistaken for what trees need more kernels of.
 */
static void test_left_out_as_chosen(void)
{
    g_autoptr(IfmKernelSamples) samples = kinds_samples(kinds, G_N_ELEMENTS(kinds), 0.001);
    g_assert_cmpfloat(left_out_error(samples, IFM_LEARN_CHOSEN, "Add"), <,
                      0.5 * left_out_error(samples, IFM_LEARN_BOOSTED, "Add"));
}

/* Few kernels are chosen for together. */
static void test_choice(void)
{
    g_autoptr(IfmLatencyModel) model = train(IFM_LEARN_CHOSEN);
    IfmLatencyModelInfo info;
    ifm_latency_model_info(model, &info);
    g_assert_cmpuint(info.choices->len, ==, G_N_ELEMENTS(kinds));
    g_assert_cmpstr(choice_of(&info, "Add")->group, ==, "Add");
    g_assert_cmpstr(choice_of(&info, "Conv_Clip")->group, ==, "other Conv");
    g_assert_cmpint(choice_of(&info, "Conv_Tanh")->n, ==, 24);
    g_assert_cmpstr(choice_of(&info, "Gather")->group, ==, "others");
    g_assert_cmpfloat(choice_of(&info, "Add")->mape, <, 0.03);
    g_assert_cmpfloat(choice_of(&info, "Conv_Relu")->mape, <, 0.3 * choice_of(&info, "Conv_Relu")->linear);
    g_autofree char *text = ifm_operator_choice_text(choice_of(&info, "Add"), FALSE);
    g_assert_true(g_str_has_prefix(text, learn_way_words[choice_of(&info, "Add")->first]));
}

/* A method that is asked for is taken for all. */
static void test_forced(void)
{
    static const LearnWay ways[] = { [IFM_LEARN_BOOSTED] = LEARN_BY_TREES, [IFM_LEARN_FOREST] = LEARN_BY_FOREST };
    for (int method = IFM_LEARN_BOOSTED; method < IFM_N_LEARN_METHODS; method++)
    {
        g_autoptr(IfmLatencyModel) model = train(method);
        for (guint i = 0; i < model->choices->len; i++)
        {
            const IfmOperatorChoice *choice = model->choices->pdata[i];
            g_assert_cmpint(choice->first, ==, ways[method]);
            g_assert_cmpint(choice->second, ==, ways[method]);
        }
        g_assert_cmpuint(model->idle.n_features > 0, ==, method == IFM_LEARN_BOOSTED);
        g_assert_cmpuint(model->forest.n_features > 0, ==, method == IFM_LEARN_FOREST);
    }
}

/* Two implementations under one name are told apart by the layout alone; where that is not known, either may be meant. */
static void test_parts(void)
{
    g_autoptr(IfmLatencyModel) model = train(IFM_LEARN_CHOSEN);
    g_autoptr(GRand) random = g_rand_new_with_seed(5);
    for (int i = 0; i < 20; i++)
    {
        IfmKernelSample kernel;
        IfmPredictedLatency plain, blocked, unknown;
        ifm_kernel_sample_init(&kernel);
        law_shape(&kernel, random, TRUE);
        kernel.op_type = "Conv_Relu";
        kernel.threads = 1;
        ifm_latency_model_predict(model, &kernel, NULL, &plain);
        kernel.features.layout = 1;
        ifm_latency_model_predict(model, &kernel, NULL, &blocked);
        kernel.features.layout = (double)NAN;
        ifm_latency_model_predict(model, &kernel, NULL, &unknown);
        g_assert_cmpfloat(plain.latency_ns / blocked.latency_ns, >, 2.5);
        g_assert_true(isfinite(unknown.latency_ns) && unknown.latency_ns > 0);
    }
}

/* Trials: of each case by three ways, the same for all. */
static void fill_trials(double *trials, gsize n, double linear, double smooth, double trees)
{
    for (gsize i = 0; i < n; i++)
    {
        double *ns = trials + i * LEARN_N_WAYS;
        for (int way = 0; way < LEARN_N_WAYS; way++)
            ns[way] = (double)NAN;
        ns[LEARN_LINEAR] = 1e6 * linear;
        ns[LEARN_SMOOTH] = 1e6 * smooth;
        ns[LEARN_BY_TREES] = 1e6 * trees;
    }
}

enum
{
    N_TRIED = 24
};

/* Kernels of one operator and latency. */
static void set_up_tried(LearnCases *cases, IfmKernelSamples *samples, const IfmLearnOptions *options)
{
    for (int i = 0; i < N_TRIED; i++)
    {
        g_autofree char *id = g_strdup_printf("kernel-%d", i);
        IfmKernelSample sample;
        ifm_kernel_sample_init(&sample);
        sample.kernel_id = id;
        sample.op_type = "Conv";
        sample.latency_ms = sample.median_ms = 1;
        ifm_kernel_samples_add(samples, &sample);
    }
    g_assert_true(learn_cases_init(cases, samples, options, NULL));
}

/* (transfer full) */
static IfmLatencyModel *choose_of(const LearnCases *cases, const LearnTrials *trials, const IfmLearnOptions *options,
                                  GArray *far)
{
    IfmLatencyModel *model = learn_model_alloc();
    g_ptr_array_add(model->operators, g_strdup("Conv"));
    learn_choose_any(model, options);
    learn_choose(model, cases, trials, far);
    return model;
}

/* A way that is the best of one kind of folds and bad in the other loses to one that is good in both; a case is counted
 * once. */
static void test_both_folds(void)
{
    static const struct
    {
        gsize first, n_sets;
        LearnWay way;
    } rows[] = { { 0, 1, LEARN_LINEAR }, { 1, 1, LEARN_SMOOTH }, { 0, 2, LEARN_BY_TREES } };
    const IfmLearnOptions options = law_options();
    g_autoptr(IfmKernelSamples) samples = ifm_kernel_samples_new(NULL);
    g_autofree double *ns = g_new(double, 2 * N_TRIED * LEARN_N_WAYS), *distances = g_new0(double, 2 * N_TRIED);
    g_auto(LearnCases) cases = { 0 };
    set_up_tried(&cases, samples, &options);
    fill_trials(ns, N_TRIED, 1, 1.3, 1.1);
    fill_trials(ns + N_TRIED * LEARN_N_WAYS, N_TRIED, 1.5, 1, 1.1);
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        const LearnTrials trials = { ns + rows[i].first * N_TRIED * LEARN_N_WAYS, distances, rows[i].n_sets };
        g_autoptr(IfmLatencyModel) model = choose_of(&cases, &trials, &options, NULL);
        const IfmOperatorChoice *choice = model->choices->pdata[0];
        g_assert_cmpint(choice->first, ==, (int)rows[i].way);
        g_assert_cmpint(choice->second, ==, (int)rows[i].way);
        g_assert_cmpint(choice->n, ==, N_TRIED);
        g_assert_cmpfloat_with_epsilon(choice->mape, i == 2 ? 0.1 : 0, 1e-9);
        g_assert_cmpfloat_with_epsilon(choice->linear, i == 0 ? 0 : i == 1 ? 0.5 : 0.25, 1e-9);
        g_assert_cmpfloat(model->reach, ==, 0);
    }
}

/* Two ways that err to opposite sides are best together, also where a third is better than one of them alone. */
static void test_best_pair(void)
{
    const IfmLearnOptions options = law_options();
    g_autoptr(IfmKernelSamples) samples = ifm_kernel_samples_new(NULL);
    g_autofree double *ns = g_new(double, N_TRIED *LEARN_N_WAYS), *distances = g_new0(double, N_TRIED);
    g_auto(LearnCases) cases = { 0 };
    set_up_tried(&cases, samples, &options);
    fill_trials(ns, N_TRIED, 1.2, 1.3, 1 / 1.3);
    g_autoptr(IfmLatencyModel) model = choose_of(&cases, &(LearnTrials){ ns, distances, 1 }, &options, NULL);
    const IfmOperatorChoice *choice = model->choices->pdata[0];
    g_assert_cmpint(choice->first, ==, LEARN_SMOOTH);
    g_assert_cmpint(choice->second, ==, LEARN_BY_TREES);
    g_assert_cmpfloat_with_epsilon(choice->mape, 0, 1e-9);
}

/* Families that were left out are far from the others. There what is simple and trees are taken together, whichever of them
 * is best alone, and the errors there are those of intervals; near, families do not count. */
static void test_far(void)
{
    const IfmLearnOptions options = law_options();
    g_autoptr(IfmKernelSamples) samples = ifm_kernel_samples_new(NULL);
    g_autoptr(GArray) errors = g_array_new(FALSE, FALSE, sizeof(double));
    g_autofree double *ns = g_new(double, 2 * N_TRIED * LEARN_N_WAYS), *distances = g_new0(double, 2 * N_TRIED);
    g_auto(LearnCases) cases = { 0 };
    set_up_tried(&cases, samples, &options);
    fill_trials(ns, N_TRIED, 1.5, 1.3, 1);
    fill_trials(ns + N_TRIED * LEARN_N_WAYS, N_TRIED, 0.4, 1.3, 2);
    for (gsize i = 0; i < N_TRIED; i++)
    {
        distances[i] = 2;
        distances[N_TRIED + i] = 9;
    }
    g_autoptr(IfmLatencyModel) model = choose_of(&cases, &(LearnTrials){ ns, distances, 2 }, &options, errors);
    const IfmOperatorChoice *choice = model->choices->pdata[0];
    g_assert_cmpfloat_with_epsilon(model->reach, 2, 1e-9);
    g_assert_cmpint(choice->first, ==, LEARN_BY_TREES);
    g_assert_cmpint(choice->second, ==, LEARN_BY_TREES);
    g_assert_cmpfloat_with_epsilon(choice->mape, (1 - sqrt(0.8)) / 2, 1e-9);
    g_assert_cmpint(choice->far_first, ==, LEARN_LINEAR);
    g_assert_cmpint(choice->far_second, ==, LEARN_BY_TREES);
    g_assert_cmpuint(errors->len, ==, N_TRIED);
    g_assert_cmpfloat_with_epsilon(g_array_index(errors, double, 0), -log(0.8) / 2, 1e-9);
    g_autofree char *near = ifm_operator_choice_text(choice, FALSE), *far = ifm_operator_choice_text(choice, TRUE);
    g_assert_cmpstr(near, ==, "boosted");
    g_assert_cmpstr(far, ==, "linear and boosted");
}

/* Products of one row of @working_set_bytes around them: @ns_a_byte of their weights; and what reads no weights. */
static void add_products(IfmKernelSamples *samples, const char *around, double working_set_bytes, double ns_a_byte)
{
    for (int i = 0; i < 40; i++)
    {
        const gboolean is_product = i % 2 == 0;
        g_autofree char *id = g_strdup_printf("%s-%d", around, i);
        IfmKernelSample sample;
        ifm_kernel_sample_init(&sample);
        sample.kernel_id = id;
        sample.op_type = is_product ? "Gemm" : "Relu";
        sample.threads = sample.visit = 1;
        sample.features = (IfmKernelFeatures){ .m = 1, .k = 1000 + 10 * i, .n = 1000 };
        sample.weight_bytes = is_product ? 4000 * sample.features.k : 0;
        sample.input_bytes = is_product ? 4000 : 2000 * sample.features.k;
        sample.output_bytes = sample.input_bytes;
        sample.flop = 1000;
        sample.working_set_bytes = working_set_bytes;
        sample.cache_bytes = 32 << 20;
        sample.latency_ms = sample.median_ms =
            ((is_product ? ns_a_byte : 0.01) * (sample.weight_bytes + 2 * sample.input_bytes) + 300) / 1e6;
        ifm_kernel_samples_add(samples, &sample);
    }
}

/* Weights of a model that the last-level cache does not hold take longer; what was written just before does not. Where it
 * is not known what is around a kernel, it is as much as a ring may hold. */
static void test_cold(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmKernelSamples) samples = ifm_kernel_samples_new(NULL);
    const IfmLearnOptions options = law_options();
    add_products(samples, "warm", 20 << 20, 0.01);
    add_products(samples, "cold", 50 << 20, 0.025);
    g_autoptr(IfmLatencyModel) model = ifm_learn_train(samples, &options, &error);
    g_assert_no_error(error);
    g_assert_cmpfloat_with_epsilon(model->cold, 2.5, 0.05);
    g_assert_cmpfloat(model->cache_bytes, ==, 32 << 20);
    IfmKernelSample sample = *ifm_kernel_samples_at(samples, 0);
    const double warm_ns = learn_roofline_ns(model, &sample);
    sample.working_set_bytes = 40 << 20;
    g_assert_cmpfloat_with_epsilon(learn_roofline_ns(model, &sample) / warm_ns, 2.5, 0.1);
    sample.working_set_bytes = (double)NAN;
    g_assert_cmpfloat_with_epsilon(learn_roofline_ns(model, &sample) / warm_ns, 2.5, 0.1);
    sample.weight_bytes = 0;
    g_assert_cmpfloat_with_epsilon(learn_traffic(model, &sample), learn_bytes(&sample), 0.5);
}

/* What is far from all that was learnt has the wider interval; what begins like an operator that was learnt is predicted as
 * that. */
static void test_distance(void)
{
    g_autoptr(IfmKernelSamples) samples = kinds_samples(kinds, G_N_ELEMENTS(kinds), 0.02);
    g_autoptr(IfmLatencyModel) model = train(IFM_LEARN_CHOSEN);
    IfmKernelSample sample = *ifm_kernel_samples_at(samples, 0);
    IfmPredictedLatency near, far, other;
    g_assert_cmpfloat(learn_distance(model, sample.op_type, &sample), <, 0.1);
    ifm_latency_model_predict(model, &sample, NULL, &near);
    model->reach = 0.5;
    model->quantiles.far = 3;
    sample.features.k *= 8;
    sample.features.channels *= 8;
    g_assert_cmpfloat(learn_distance(model, sample.op_type, &sample), >, 0.5);
    ifm_latency_model_predict(model, &sample, NULL, &far);
    g_assert_true(far.known);
    g_assert_cmpfloat(log(far.high_ns / far.latency_ns), >, 2.99);
    g_assert_cmpfloat(log(near.high_ns / near.latency_ns), <, 2.99);
    g_assert_true(isinf(learn_distance(model, "Erf", &sample)));
    g_assert_null(learn_relative(model, "Erf"));
    g_assert_null(learn_relative(model, "Con"));
    g_assert_cmpstr(learn_relative(model, "Conv_Sigmoid"), ==, "Conv_Relu");
    sample = *ifm_kernel_samples_at(samples, 0);
    sample.op_type = "Conv_Sigmoid";
    ifm_latency_model_predict(model, &sample, NULL, &other);
    g_assert_true(!other.known && isfinite(other.latency_ns));
    IfmOperatorChoice *choice = (IfmOperatorChoice *)learn_choice(model, "Conv_Relu");
    choice->first = choice->second = choice->far_first = choice->far_second = LEARN_LINEAR; /* which sees no name */
    model->reach = (double)INFINITY;
    ifm_latency_model_predict(model, &sample, NULL, &other);
    sample.op_type = "Conv_Relu";
    ifm_latency_model_predict(model, &sample, NULL, &near);
    g_assert_cmpfloat_with_epsilon(other.latency_ns, near.latency_ns, 1e-6);
    g_assert_cmpfloat(other.high_ns, >=, near.high_ns);
}

/* Where it was not known what is around kernels, it says nothing of those of a model of which it is. */
static void test_unknown_around(void)
{
    g_autoptr(IfmKernelSamples) samples = kinds_samples(kinds, G_N_ELEMENTS(kinds), 0.02);
    g_autoptr(IfmLatencyModel) model = train(IFM_LEARN_CHOSEN);
    IfmKernelSample sample = *ifm_kernel_samples_at(samples, 0);
    IfmPredictedLatency unknown, known;
    g_assert_true(isnan(sample.working_set_bytes) && isnan(learn_held(&sample)));
    const double distance = learn_distance(model, sample.op_type, &sample);
    ifm_latency_model_predict(model, &sample, NULL, &unknown);
    sample.working_set_bytes = 10 << 20;
    g_assert_cmpfloat(learn_held(&sample), ==, 10 << 20);
    g_assert_cmpfloat(learn_distance(model, sample.op_type, &sample), ==, distance);
    ifm_latency_model_predict(model, &sample, NULL, &known);
    g_assert_true(known.in_range && unknown.in_range);
    g_assert_cmpfloat_with_epsilon(known.high_ns, unknown.high_ns, 1e-6);
}

/* Few that are far are predicted as all that are far; where a baseline is better than that, it is the baseline. */
static void test_few_far(void)
{
    const IfmLearnOptions options = law_options();
    g_autoptr(IfmKernelSamples) samples = ifm_kernel_samples_new(NULL);
    g_autofree double *ns = g_new(double, 2 * N_TRIED * LEARN_N_WAYS), *distances = g_new0(double, 2 * N_TRIED);
    g_auto(LearnCases) cases = { 0 };
    set_up_tried(&cases, samples, &options);
    fill_trials(ns, N_TRIED, 1.1, 1, 1);
    fill_trials(ns + N_TRIED * LEARN_N_WAYS, N_TRIED, 1, 9, 9);
    for (gsize i = 0; i < 10; i++)
        distances[N_TRIED + i] = 9;
    g_autoptr(IfmLatencyModel) model = choose_of(&cases, &(LearnTrials){ ns, distances, 2 }, &options, NULL);
    const IfmOperatorChoice *choice = model->choices->pdata[0];
    g_assert_cmpfloat_with_epsilon(choice->mape, 0.05, 1e-9);
    g_assert_cmpfloat(choice->mape, ==, choice->linear);
    g_assert_cmpint(choice->far_first, ==, LEARN_LINEAR);
    g_assert_cmpint(choice->far_second, ==, LEARN_LINEAR);
}

/* Rows of older files lack what tells kernels apart: they still train, and predict kernels of which it is known. */
static void test_old_columns(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmKernelSamples) samples = kinds_samples(kinds, 2, 0.02), old = ifm_kernel_samples_new(NULL);
    for (gsize i = 0; i < ifm_kernel_samples_n(samples); i++)
    {
        IfmKernelSample sample = *ifm_kernel_samples_at(samples, i);
        IfmKernelFeatures *features = &sample.features;
        features->inputs = features->axis = features->order = features->reduced = features->run = (double)NAN;
        features->layout = features->domain = (double)NAN;
        ifm_kernel_samples_add(old, &sample);
    }
    const IfmLearnOptions options = law_options();
    g_autoptr(IfmLatencyModel) model = ifm_learn_train(old, &options, &error);
    g_assert_no_error(error);
    IfmPredictedLatency predicted;
    ifm_latency_model_predict(model, ifm_kernel_samples_at(samples, 0), NULL, &predicted);
    g_assert_true(predicted.known && predicted.in_range);
    g_assert_cmpfloat(fabs(predicted.latency_ns / ifm_kernel_samples_at(samples, 0)->latency_ms / 1e6 - 1), <, 0.2);
}

/* On what was not trained on, an operator of many rows is about as good as its best baseline, and has a row of its own. */
static void test_held_out(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmKernelSamples) samples = kinds_samples(kinds, 2, 0.02);
    const IfmLearnOptions options = law_options();
    g_autoptr(GPtrArray) errors = ifm_learn_evaluate(samples, &options, &error);
    g_assert_no_error(error);
    for (gsize kind = 0; kind < 2; kind++)
    {
        g_autofree char *part = g_strconcat(IFM_LEARN_OPERATOR_PREFIX, kinds[kind].op_type, NULL);
        double own = (double)NAN, best = (double)INFINITY;
        for (guint i = 0; i < errors->len; i++)
        {
            const IfmLearnError *row = errors->pdata[i];
            if (!g_str_equal(row->part, part) || !g_str_equal(row->protocol, "held-out configurations"))
                continue;
            g_assert_cmpint(row->n, ==, kinds[kind].n);
            if (g_str_equal(row->method, "chosen"))
                own = row->mape;
            else
                best = fmin(best, row->mape);
        }
        g_assert_cmpfloat(own, <=, 1.05 * best);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ways/labels", test_labels);
    g_test_add_func("/ways/noise-is-of-wall", test_noise_is_of_wall);
    g_test_add_func("/ways/speed", test_speed);
    g_test_add_func("/ways/held-up", test_held_up);
    g_test_add_func("/ways/choice", test_choice);
    g_test_add_func("/ways/choice-errors", test_choice_errors);
    g_test_add_func("/ways/left-out-as-chosen", test_left_out_as_chosen);
    g_test_add_func("/ways/forced", test_forced);
    g_test_add_func("/ways/parts", test_parts);
    g_test_add_func("/ways/both-folds", test_both_folds);
    g_test_add_func("/ways/best-pair", test_best_pair);
    g_test_add_func("/ways/far", test_far);
    g_test_add_func("/ways/cold", test_cold);
    g_test_add_func("/ways/distance", test_distance);
    g_test_add_func("/ways/unknown-around", test_unknown_around);
    g_test_add_func("/ways/few-far", test_few_far);
    g_test_add_func("/ways/old-columns", test_old_columns);
    g_test_add_func("/ways/held-out", test_held_out);
    return g_test_run();
}
