/* How well models predict what they were not trained on, beside baselines. */
#include <math.h>
#include <string.h>

#include "learn-private.h"

#define WITHIN 0.1

/* The way that is evaluated comes first; each protocol has its baselines. */
enum
{
    IDLE_MODEL,
    IDLE_FLOP,
    IDLE_ROOFLINE,
    IDLE_LINEAR,
    N_IDLE,
    LOAD_MODEL = 0,
    LOAD_IGNORED,
    LOAD_SHARED,
    LOAD_SHARE, /* no baselines: where the kind of load is not known; where metrics are, instead */
    LOAD_METRICS,
    N_LOAD,
    MAX_METHODS = N_LOAD,
};
static const char *const idle_methods[] = { NULL, "flop", "roofline", "linear" };
static const char *const load_methods[] = { NULL, "idle", "time-sharing", "share alone", "metrics" };

/* Held: one row that was not trained on. @family: that was left out, or NULL    @measured: what its interval is of */
typedef struct
{
    const LearnCase *one;
    const char *family;
    double predicted[MAX_METHODS], measured, low, high;
} Held;

typedef struct
{
    const LearnCases *cases;
    const IfmLearnOptions *options;
    gboolean *train, *test;
    GPtrArray *errors; /* IfmLearnError* */
    GError *trouble;   /* of a training; nothing is trained after it */
    gsize n_all, n;    /* trainings: of all, 0: they are counted alone; begun so far */
    gint64 began_us;
} Evaluation;

/* --- errors of rows -----------------------------------------------------------------------------------------------------
 */

typedef struct
{
    const char *protocol, *const *methods;
    gsize n_methods;
    GArray *held; /* Held */
} Protocol;

static Protocol protocol_begin(const char *name, gboolean loaded)
{
    return (Protocol){ name, loaded ? load_methods : idle_methods, loaded ? N_LOAD : N_IDLE,
                       g_array_new(FALSE, FALSE, sizeof(Held)) };
}

/* Part: which rows; @family, @op_type: NULL: any */
typedef struct
{
    const char *name, *family, *op_type;
    double low, high; /* of the measured latency */
} Part;

static gboolean is_in_part(const Held *held, const Part *part)
{
    return held->one->latency_ns >= part->low && held->one->latency_ns < part->high &&
           (part->family == NULL || g_strcmp0(part->family, held->family) == 0) &&
           (part->op_type == NULL || g_str_equal(part->op_type, held->one->sample.op_type));
}

/* The pairs of visits of the rows of a part. */
static double noise_of(const GArray *all, const Part *part)
{
    double sum = 0, n = 0;
    for (guint i = 0; i < all->len; i++)
    {
        const Held *held = &g_array_index(all, Held, i);
        if (!is_in_part(held, part) || held->one->n_pairs == 0)
            continue;
        sum += held->one->difference * (double)held->one->n_pairs;
        n += (double)held->one->n_pairs;
    }
    return n > 0 ? sum / n : (double)NAN;
}

/* Tally: what one method makes of one part. */
typedef struct
{
    IfmLearnError *error;
    GArray *errors; /* double */
    double missed, measured;
} Tally;

static Tally tally_begin(const Evaluation *self, const Protocol *protocol, gsize method, const char *part)
{
    const char *name = method == 0 ? ifm_learn_method_words()[self->options->method] : protocol->methods[method];
    IfmLearnError *error = learn_error_new(protocol->protocol, name, part);
    error->covered = error->noise = (double)NAN;
    return (Tally){ .error = error, .errors = g_array_new(FALSE, FALSE, sizeof(double)) };
}

static void tally_add(Tally *tally, double predicted, double measured)
{
    const double error = fabs(predicted / measured - 1);
    g_array_append_val(tally->errors, error);
    tally->missed += fabs(predicted - measured);
    tally->measured += measured;
    tally->error->n++;
}

/* A tally of nothing is left out. */
static void tally_end(Evaluation *self, const Tally *tally)
{
    IfmLearnError *error = tally->error;
    const gsize n = tally->errors->len;
    double *errors = (double *)(void *)tally->errors->data;
    gsize n_within = 0;
    error->mape = 0;
    for (gsize i = 0; i < n; i++)
    {
        error->mape += errors[i] / (double)n;
        n_within += errors[i] <= WITHIN;
    }
    error->within = (double)n_within / (double)n;
    error->weighted = tally->missed / tally->measured;
    error->median = learn_quantile(errors, n, 0.5);
    g_ptr_array_add(self->errors, error);
    if (n == 0)
        g_ptr_array_set_size(self->errors, (gint)self->errors->len - 1);
    g_array_unref(tally->errors);
}

static void add_part(Evaluation *self, const Protocol *protocol, gsize method, const Part *part)
{
    Tally tally = tally_begin(self, protocol, method, part->name);
    IfmLearnError *error = tally.error;
    const gboolean own = method == 0;
    for (guint i = 0; i < protocol->held->len; i++)
    {
        const Held *held = &g_array_index(protocol->held, Held, i);
        if (!is_in_part(held, part) || isnan(held->predicted[method]))
            continue;
        tally_add(&tally, held->predicted[method], held->one->latency_ns);
        error->n_covered += own && held->measured >= held->low && held->measured <= held->high;
    }
    if (own && error->n > 0)
        error->covered = (double)error->n_covered / (double)error->n;
    error->noise = noise_of(protocol->held, part);
    tally_end(self, &tally);
}

/* --- sums over models ---------------------------------------------------------------------------------------------------
 */

/* Sum: of the kernels of one model, each once. */
typedef struct
{
    double predicted, measured;
} Sum;

/* Of the models of the family that was left out: a row belongs to those of its models whose row it is in. */
static GHashTable *sum_models(const Protocol *protocol, gsize method)
{
    GHashTable *sums = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    for (guint i = 0; i < protocol->held->len; i++)
    {
        const Held *held = &g_array_index(protocol->held, Held, i);
        g_auto(GStrv) models = g_strsplit(held->one->sample.models != NULL ? held->one->sample.models : "", ";", -1);
        for (gsize k = 0; models[k] != NULL; k++)
        {
            g_autofree char *key = g_strdup_printf("%s\x1f%s\x1f%g", held->family, models[k], held->one->sample.threads);
            Sum *sum = g_hash_table_lookup(sums, key);
            if (sum == NULL)
                g_hash_table_insert(sums, g_steal_pointer(&key), sum = g_new0(Sum, 1));
            sum->predicted += held->predicted[method];
            sum->measured += held->one->latency_ns;
        }
    }
    return sums;
}

/* A model whose kernels are in several families is summed where all of them were left out: there its sum is largest. */
static gboolean is_whole(GHashTable *sums, const char *key, const Sum *sum)
{
    GHashTableIter iterator;
    gpointer other, value;
    const char *model = strchr(key, '\x1f');
    g_hash_table_iter_init(&iterator, sums);
    while (g_hash_table_iter_next(&iterator, &other, &value))
        if (other != key && g_str_equal(strchr(other, '\x1f'), model) &&
            (((Sum *)value)->measured > sum->measured ||
             (((Sum *)value)->measured == sum->measured && strcmp(other, key) < 0)))
            return FALSE;
    return TRUE;
}

static void add_models(Evaluation *self, const Protocol *protocol, gsize method)
{
    g_autoptr(GHashTable) sums = sum_models(protocol, method);
    Tally tally = tally_begin(self, protocol, method, "models");
    GHashTableIter iterator;
    gpointer key, value;
    g_hash_table_iter_init(&iterator, sums);
    while (g_hash_table_iter_next(&iterator, &key, &value))
        if (is_whole(sums, key, value))
            tally_add(&tally, ((const Sum *)value)->predicted, ((const Sum *)value)->measured);
    tally_end(self, &tally);
}

/* The operators with so many rows that their error is known well. */
static void add_operators(Evaluation *self, const Protocol *protocol, gsize method)
{
    g_autoptr(GHashTable) counts = g_hash_table_new(g_str_hash, g_str_equal);
    for (guint i = 0; i < protocol->held->len; i++)
    {
        const char *op_type = g_array_index(protocol->held, Held, i).one->sample.op_type;
        const guint n = GPOINTER_TO_UINT(g_hash_table_lookup(counts, op_type)) + 1;
        g_autofree char *name = g_strconcat(IFM_LEARN_OPERATOR_PREFIX, op_type, NULL);
        g_hash_table_insert(counts, (gpointer)op_type, GUINT_TO_POINTER(n));
        if (n == IFM_LEARN_OPERATOR_CASES)
            add_part(self, protocol, method, &(Part){ name, NULL, op_type, 0, (double)INFINITY });
    }
}

/* @families: those left out, or NULL */
static void protocol_end(Evaluation *self, Protocol *protocol, const GPtrArray *families)
{
    static const Part sizes[] = { { "all", NULL, NULL, 0, (double)INFINITY },
                                  { ">= 20 us", NULL, NULL, IFM_LEARN_SMALL_NS, (double)INFINITY },
                                  { "< 20 us", NULL, NULL, 0, IFM_LEARN_SMALL_NS } };
    for (gsize method = 0; method < protocol->n_methods; method++)
    {
        for (gsize i = 0; i < G_N_ELEMENTS(sizes); i++)
            add_part(self, protocol, method, &sizes[i]);
        for (guint i = 0; families != NULL && i < families->len; i++)
        {
            g_autofree char *name = g_strconcat("family ", families->pdata[i], NULL);
            add_part(self, protocol, method, &(Part){ name, families->pdata[i], NULL, 0, (double)INFINITY });
        }
        if (families != NULL)
            add_models(self, protocol, method);
        else if (protocol->methods == idle_methods)
            add_operators(self, protocol, method);
    }
    g_array_unref(protocol->held);
}

/* --- one split ----------------------------------------------------------------------------------------------------------
 */

static void hold_idle(const Evaluation *self, const IfmLatencyModel *model, const char *family, const Protocol *protocol)
{
    static const LearnWay baselines[] = {
        [IDLE_FLOP] = LEARN_FLOP, [IDLE_ROOFLINE] = LEARN_ROOFLINE, [IDLE_LINEAR] = LEARN_LINEAR
    };
    for (guint i = 0; i < self->cases->cases->len; i++)
    {
        Held held = { .one = learn_case(self->cases, i), .family = family };
        IfmPredictedLatency predicted;
        if (!self->test[i] || held.one->loaded)
            continue;
        ifm_latency_model_predict(model, &held.one->sample, NULL, &predicted);
        held.measured = held.one->measured_ns;
        held.predicted[IDLE_MODEL] = predicted.latency_ns;
        held.low = predicted.low_ns;
        held.high = predicted.high_ns;
        for (gsize k = IDLE_FLOP; k < N_IDLE; k++)
            held.predicted[k] = learn_way_ns(model, baselines[k], &held.one->sample, predicted.roofline_ns, NULL);
        g_array_append_val(protocol->held, held);
    }
}

/* @idle_known: predicted from the idle latency that was measured in the same visits */
static void hold_loaded(const Evaluation *self, const IfmLatencyModel *model, gboolean idle_known, const Protocol *protocol)
{
    double metrics[IFM_SAMPLES_MAX_METRICS];
    for (guint i = 0; i < self->cases->cases->len; i++)
    {
        static const int methods[LEARN_N_KNOWN] = { LOAD_SHARE, LOAD_MODEL, LOAD_METRICS };
        Held held = { .one = learn_case(self->cases, i) };
        if (!self->test[i] || !held.one->loaded)
            continue;
        held.measured = idle_known ? held.one->latency_ns : held.one->measured_ns;
        for (int known = 0; known < LEARN_N_KNOWN; known++)
        {
            IfmLoadState load = learn_case_load(self->cases, held.one, known, metrics);
            IfmPredictedLatency predicted;
            load.idle_ns = idle_known ? held.one->idle_ns : (double)NAN;
            ifm_latency_model_predict(model, &held.one->sample, &load, &predicted);
            held.predicted[methods[known]] = predicted.latency_ns;
            if (known != LEARN_KIND)
                continue;
            held.predicted[LOAD_IGNORED] = predicted.idle_ns;
            held.predicted[LOAD_SHARED] = predicted.idle_ns * learn_time_sharing(&load);
            held.low = predicted.low_ns;
            held.high = predicted.high_ns;
        }
        if (model->load_metrics.n_features == 0)
            held.predicted[LOAD_METRICS] = (double)NAN;
        g_array_append_val(protocol->held, held);
    }
}

static void report(const Evaluation *self)
{
    const gint64 spent_ns = 1000 * (g_get_monotonic_time() - self->began_us);
    g_autofree char *phase = g_strdup_printf("training %zu of %zu", self->n, self->n_all);
    if (self->options->progress != NULL)
        self->options->progress(
            &(IfmProgress){ .phase = phase,
                            .left_ns =
                                self->n > 1 ? spent_ns / (gint64)(self->n - 1) * (gint64)(self->n_all - self->n + 1) : 0 },
            self->options->user);
}

/* Trains on the rows of @train. Returns: (transfer full) NULL: too few of them, which leaves the split out, or trouble */
static IfmLatencyModel *train(Evaluation *self, gboolean idle)
{
    gsize n_train = 0, n_test = 0;
    for (guint i = 0; i < self->cases->cases->len; i++)
    {
        n_train += self->train[i] && !learn_case(self->cases, i)->loaded;
        n_test += self->test[i];
    }
    if (self->trouble != NULL || n_train < 2 * IFM_LEARN_FOLDS || n_test == 0)
        return NULL;
    self->n++;
    if (self->n_all == 0)
        return NULL;
    report(self);
    return learn_fit(self->cases, self->train, self->options, TRUE, idle, &self->trouble);
}

/* --- protocols without load
 * -----------------------------------------------------------------------------------------------
 */

static void evaluate_configurations(Evaluation *self)
{
    g_autofree int *folds = learn_cases_folds(self->cases, self->options->seed + 1);
    Protocol idle = protocol_begin("held-out configurations", FALSE);
    Protocol loaded = protocol_begin("held-out configurations under load", TRUE);
    for (int fold = 0; fold < IFM_LEARN_FOLDS; fold++)
    {
        for (guint i = 0; i < self->cases->cases->len; i++)
        {
            self->test[i] = folds[i] == fold;
            self->train[i] = folds[i] != fold;
        }
        g_autoptr(IfmLatencyModel) model = train(self, TRUE);
        if (model == NULL)
            continue;
        hold_idle(self, model, NULL, &idle);
        hold_loaded(self, model, FALSE, &loaded);
    }
    protocol_end(self, &idle, NULL);
    protocol_end(self, &loaded, NULL);
}

static gboolean is_of(const char *list, const char *name)
{
    const gsize length = strlen(name);
    for (const char *at = list; at != NULL; at = strchr(at, ';'))
    {
        at += *at == ';';
        if (strncmp(at, name, length) == 0 && (at[length] == ';' || at[length] == '\0'))
            return TRUE;
    }
    return FALSE;
}

/* (transfer full) names, in the order in which they come first */
static GPtrArray *find_families(const LearnCases *cases)
{
    GPtrArray *families = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; i < cases->cases->len; i++)
    {
        const LearnCase *one = learn_case(cases, i);
        g_auto(GStrv) names = g_strsplit(one->sample.families != NULL ? one->sample.families : "", ";", -1);
        for (gsize k = 0; !one->loaded && names[k] != NULL; k++)
            if (*names[k] != '\0' && !g_ptr_array_find_with_equal_func(families, names[k], g_str_equal, NULL))
                g_ptr_array_add(families, g_strdup(names[k]));
    }
    return families;
}

/* Tests on the kernels of its models. @shapes: leaves out the shapes that were varied from those, too */
static void leave_family_out(const Evaluation *self, const char *family, gboolean shapes)
{
    g_autoptr(GHashTable) left_out = g_hash_table_new(NULL, NULL);
    for (guint i = 0; i < self->cases->cases->len; i++)
    {
        const LearnCase *one = learn_case(self->cases, i);
        self->test[i] = !one->loaded && one->sample.models != NULL && is_of(one->sample.families, family);
        if (self->test[i])
            g_hash_table_add(left_out, GUINT_TO_POINTER(one->configuration));
    }
    for (guint i = 0; i < self->cases->cases->len; i++)
    {
        const LearnCase *one = learn_case(self->cases, i);
        self->train[i] = !one->loaded && !self->test[i] &&
                         !(shapes && g_hash_table_contains(left_out, GUINT_TO_POINTER(one->configuration)));
    }
}

static void evaluate_families(Evaluation *self, gboolean shapes)
{
    g_autoptr(GPtrArray) families = find_families(self->cases);
    Protocol protocol = protocol_begin(shapes ? "family unseen, all its shapes" : "family unseen, its exact shapes", FALSE);
    for (guint k = 0; families->len > 1 && k < families->len; k++)
    {
        leave_family_out(self, families->pdata[k], shapes);
        g_autoptr(IfmLatencyModel) model = train(self, TRUE);
        if (model != NULL)
            hold_idle(self, model, families->pdata[k], &protocol);
    }
    protocol_end(self, &protocol, families);
}

static void evaluate_machines(Evaluation *self)
{
    Protocol protocol = protocol_begin("machine unseen", FALSE);
    for (guint machine = 0; machine < self->cases->machines->len; machine++)
    {
        for (guint i = 0; i < self->cases->cases->len; i++)
        {
            const LearnCase *one = learn_case(self->cases, i);
            self->test[i] = !one->loaded && one->machine == machine;
            self->train[i] = !one->loaded && one->machine != machine;
        }
        g_autoptr(IfmLatencyModel) model = train(self, TRUE);
        if (model != NULL)
            hold_idle(self, model, NULL, &protocol);
    }
    protocol_end(self, &protocol, NULL);
}

/* --- protocols under load
 * -------------------------------------------------------------------------------------------------
 */

/* The level nearest to 60 % that others lie around; NaN: none. */
static double find_level(const LearnCases *cases)
{
    double low = (double)INFINITY, high = -(double)INFINITY, best = (double)NAN;
    for (guint i = 0; i < cases->cases->len; i++)
        if (learn_case(cases, i)->loaded)
        {
            low = MIN(low, learn_case(cases, i)->sample.load_level);
            high = MAX(high, learn_case(cases, i)->sample.load_level);
        }
    for (guint i = 0; i < cases->cases->len; i++)
    {
        const LearnCase *one = learn_case(cases, i);
        const double level = one->sample.load_level;
        if (one->loaded && level > low && level < high && !(fabs(level - 0.6) >= fabs(best - 0.6)))
            best = level;
    }
    return best;
}

/* LoadSplit: which rows are tested; those of the same level or kind are not trained on, nor those of the fold. */
typedef struct
{
    double level; /* NaN: any */
    int kind;     /* IfmLoadKind; NONE: any */
    const int *folds;
    int fold;
} LoadSplit;

static void split_loads(const Evaluation *self, const LoadSplit *split)
{
    for (guint i = 0; i < self->cases->cases->len; i++)
    {
        const LearnCase *one = learn_case(self->cases, i);
        const gboolean in_fold = split->folds == NULL || split->folds[i] == split->fold;
        const gboolean unseen = one->loaded && (isnan(split->level) || one->sample.load_level == split->level) &&
                                (split->kind == IFM_LOAD_NONE || one->sample.load_kind == split->kind);
        self->test[i] = unseen && in_fold;
        self->train[i] = !unseen && (split->folds == NULL || !in_fold);
    }
}

/* Leaves the rows of one side to be tested. */
static void keep_cores(const Evaluation *self, double level, IfmLoadCores cores)
{
    for (guint i = 0; i < self->cases->cases->len; i++)
    {
        const LearnCase *one = learn_case(self->cases, i);
        self->test[i] = one->loaded && one->sample.load_level == level && one->sample.load_cores == (int)cores;
    }
}

static void evaluate_level(Evaluation *self, double level)
{
    g_autofree char *same_name = g_strdup_printf("load of %.3g %% unseen, same cores", 100 * level);
    g_autofree char *other_name = g_strdup_printf("load of %.3g %% unseen, other cores", 100 * level);
    const LoadSplit split = { .level = level };
    split_loads(self, &split);
    g_autoptr(IfmLatencyModel) model = train(self, FALSE);
    Protocol same = protocol_begin(same_name, TRUE), other = protocol_begin(other_name, TRUE);
    if (model != NULL)
    {
        keep_cores(self, level, IFM_LOAD_CORES_SAME);
        hold_loaded(self, model, TRUE, &same);
        keep_cores(self, level, IFM_LOAD_CORES_OTHER);
        hold_loaded(self, model, TRUE, &other);
    }
    protocol_end(self, &same, NULL);
    protocol_end(self, &other, NULL);
}

/* Neither the level nor the kernel was seen; the idle latency is that measured, then that predicted. */
static void evaluate_level_and_kernels(Evaluation *self, double level)
{
    g_autofree int *folds = learn_cases_folds(self->cases, self->options->seed + 1);
    g_autofree char *known = g_strdup_printf("load of %.3g %% and kernels unseen, same cores, idle measured", 100 * level);
    g_autofree char *unknown = g_strdup_printf("load of %.3g %% and kernels unseen, same cores", 100 * level);
    Protocol measured = protocol_begin(known, TRUE), predicted = protocol_begin(unknown, TRUE);
    for (int fold = 0; fold < IFM_LEARN_FOLDS; fold++)
    {
        const LoadSplit split = { .level = level, .folds = folds, .fold = fold };
        split_loads(self, &split);
        for (guint i = 0; i < self->cases->cases->len; i++)
            self->test[i] = self->test[i] && learn_case(self->cases, i)->sample.load_cores == IFM_LOAD_CORES_SAME;
        g_autoptr(IfmLatencyModel) model = train(self, TRUE);
        if (model == NULL)
            continue;
        hold_loaded(self, model, TRUE, &measured);
        hold_loaded(self, model, FALSE, &predicted);
    }
    protocol_end(self, &measured, NULL);
    protocol_end(self, &predicted, NULL);
}

static void evaluate_kinds(Evaluation *self)
{
    gboolean found[IFM_N_LOAD_KINDS] = { FALSE };
    int n = 0;
    for (guint i = 0; i < self->cases->cases->len; i++)
        found[learn_case(self->cases, i)->sample.load_kind] |= learn_case(self->cases, i)->loaded;
    for (int kind = 0; kind < IFM_N_LOAD_KINDS; kind++)
        n += found[kind];
    Protocol protocol = protocol_begin("kind of load unseen", TRUE);
    for (int kind = 0; n > 1 && kind < IFM_N_LOAD_KINDS; kind++)
    {
        const LoadSplit split = { .level = (double)NAN, .kind = kind };
        split_loads(self, &split);
        g_autoptr(IfmLatencyModel) model = found[kind] ? train(self, FALSE) : NULL;
        if (model != NULL)
            hold_loaded(self, model, TRUE, &protocol);
    }
    protocol_end(self, &protocol, NULL);
}

/* --- all of them
 * ----------------------------------------------------------------------------------------------------------
 */

static void evaluate(Evaluation *self)
{
    const double level = find_level(self->cases);
    evaluate_configurations(self);
    evaluate_families(self, FALSE);
    evaluate_families(self, TRUE);
    evaluate_machines(self);
    if (isfinite(level))
    {
        evaluate_level(self, level);
        evaluate_level_and_kernels(self, level);
    }
    evaluate_kinds(self);
}

GPtrArray *ifm_learn_evaluate(const IfmKernelSamples *samples, const IfmLearnOptions *options, GError **error)
{
    g_auto(LearnCases) cases = { 0 };
    g_autoptr(GPtrArray) errors = learn_errors_new(), none = learn_errors_new();
    if (!ifm_options_check(ifm_learn_options, options, error) || !learn_cases_init(&cases, samples, options, error) ||
        !learn_cases_check(&cases, error))
        return NULL;
    g_autofree gboolean *train = g_new0(gboolean, cases.cases->len + 1), *test = g_new0(gboolean, cases.cases->len + 1);
    Evaluation self = { .cases = &cases, .options = options, .train = train, .test = test, .errors = none };
    evaluate(&self); /* counts */
    self = (Evaluation){ .cases = &cases,
                         .options = options,
                         .train = train,
                         .test = test,
                         .errors = errors,
                         .n_all = MAX(self.n, 1),
                         .began_us = g_get_monotonic_time() };
    evaluate(&self);
    if (self.trouble == NULL)
        return g_steal_pointer(&errors);
    g_propagate_error(error, self.trouble);
    return NULL;
}
