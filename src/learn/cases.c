/* Visits of one kernel in one state of load become one case. */
#include <math.h>
#include <string.h>

#include <base/statistics.h>

#include "learn-private.h"

#define NS_PER_MS 1e6

double learn_quantile(double *values, gsize n, double p)
{
    if (n == 0)
        return (double)NAN;
    ifm_sort_doubles(values, n);
    return ifm_quantile(values, n, p);
}

/* Visit: a row of a case. @latency, @target, @idle: ms at the machine's median speed    @measured: @latency as
 * measured; under load @idle so    @ratio: under load to none */
typedef struct
{
    const IfmKernelSample *row;
    double latency, target, idle, measured, ratio;
} Visit;

static double threads_of(const IfmKernelSample *sample)
{
    return sample->threads > 0 ? sample->threads : 1;
}

static gboolean is_loaded(const IfmKernelSample *sample)
{
    return sample->load_kind != IFM_LOAD_NONE && sample->load_level > 0;
}

static gboolean is_disturbed(const IfmKernelSample *sample)
{
    return sample->disturbed > 0;
}

/* Whether it shows what a kernel takes without load. */
static gboolean is_idle(const IfmKernelSample *sample, gboolean allow_disturbed)
{
    return !is_loaded(sample) && (allow_disturbed || !is_disturbed(sample));
}

/* Of a machine that is described: kernels of two are two. */
static const char *place_of(const IfmKernelSample *sample)
{
    return sample->place.flop_per_s > 0 && sample->machine != NULL ? sample->machine : "";
}

/* (transfer full) of a kernel with one number of threads, and of that in one state of load */
static char *kernel_key(const IfmKernelSample *sample)
{
    return g_strdup_printf("%g\x1f%s\x1f%s", threads_of(sample), place_of(sample), sample->kernel_id);
}

static char *case_key(const IfmKernelSample *sample)
{
    const gboolean loaded = is_loaded(sample);
    g_autofree char *kernel = kernel_key(sample);
    return g_strdup_printf("%d\x1f%d\x1f%.9g\x1f%s", loaded ? sample->load_kind : IFM_LOAD_NONE,
                           loaded ? sample->load_cores : IFM_LOAD_CORES_NONE, loaded ? sample->load_level : 0, kernel);
}

/* By a kernel and the visit. */
static char *visit_key(const IfmKernelSample *sample)
{
    g_autofree char *key = kernel_key(sample);
    return g_strdup_printf("%.9g\x1e%s", sample->visit, key);
}

static void add_to(GHashTable *lists, char *key, double value)
{
    GArray *list = g_hash_table_lookup(lists, key);
    if (list == NULL)
    {
        list = g_array_new(FALSE, FALSE, sizeof(double));
        g_hash_table_insert(lists, g_strdup(key), list);
    }
    g_array_append_val(list, value);
    g_free(key);
}

static double median_of(const GArray *list)
{
    return list != NULL ? ifm_quantile_of_array(list, 0.5) : (double)NAN;
}

/* Idle: the visits without load. Each by kernel_key(), and by visit_key(): GArray* of double. @factors: that put their
 * times to the machine's median speed */
typedef struct
{
    GHashTable *means, *factors;
} Idle;

static void idle_init(Idle *idle)
{
    GHashTable **tables[] = { &idle->means, &idle->factors };
    for (gsize i = 0; i < G_N_ELEMENTS(tables); i++)
        *tables[i] = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_array_unref);
}

static void idle_clear(Idle *idle)
{
    g_hash_table_unref(idle->means);
    g_hash_table_unref(idle->factors);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Idle, idle_clear)

static void idle_find(Idle *idle, const IfmKernelSamples *samples, gboolean allow_disturbed, const LearnSpeed *speed)
{
    for (gsize i = 0; i < ifm_kernel_samples_n(samples); i++)
    {
        const IfmKernelSample *sample = ifm_kernel_samples_at(samples, i);
        if (!is_idle(sample, allow_disturbed))
            continue;
        const double factor = learn_speed_factor(speed, sample);
        add_to(idle->means, kernel_key(sample), sample->latency_ms);
        add_to(idle->factors, kernel_key(sample), factor);
        if (!isfinite(sample->visit))
            continue;
        add_to(idle->means, visit_key(sample), sample->latency_ms);
        add_to(idle->factors, visit_key(sample), factor);
    }
}

/* Of the same visit, or of any. NaN: there is none */
static double idle_median(GHashTable *lists, const IfmKernelSample *sample)
{
    g_autofree char *by_visit = visit_key(sample), *by_kernel = kernel_key(sample);
    const GArray *same = g_hash_table_lookup(lists, by_visit);
    return median_of(same != NULL ? same : g_hash_table_lookup(lists, by_kernel));
}

/* What a kernel under load took without: as its row says, or as measured in the same visit, or in any. */
static double idle_of(const IfmKernelSample *sample, const Idle *idle)
{
    return sample->idle_ms > 0 ? sample->idle_ms : idle_median(idle->means, sample);
}

/* What predictions are judged by: the runs that nothing interrupted, where there are some. */
static double wall_of(const IfmKernelSample *sample)
{
    return is_loaded(sample)            ? sample->latency_ms
           : sample->undisturbed_ms > 0 ? sample->undisturbed_ms
           : sample->median_ms > 0      ? sample->median_ms
                                        : sample->latency_ms;
}

/* What is learnt: of one thread its processor time, which others' work is not in. Of several, some wait in it. */
static double target_of(const IfmKernelSample *sample)
{
    return !is_loaded(sample) && threads_of(sample) <= 1 && sample->cpu_ms > 0 ? sample->cpu_ms : wall_of(sample);
}

/* @idle_ms: what it takes without load    @factor: that puts this to the machine's median speed */
static void add_visit(GArray *visits, const IfmKernelSample *sample, double idle_ms, double factor)
{
    const double wall = wall_of(sample);
    const Visit visit = { .row = sample,
                          .latency = factor * wall,
                          .target = factor * target_of(sample),
                          .idle = factor * idle_ms,
                          .measured = is_loaded(sample) ? idle_ms : wall,
                          .ratio = sample->latency_ms / idle_ms };
    g_array_append_val(visits, visit);
}

static const Visit *visit_at(const GArray *visits, guint i)
{
    return &g_array_index(visits, Visit, i);
}

/* @offset: of a double of Visit */
static double median_over(const GArray *visits, gsize offset)
{
    g_autofree double *values = g_new(double, visits->len + 1);
    for (guint i = 0; i < visits->len; i++)
        values[i] = G_STRUCT_MEMBER(double, visit_at(visits, i), offset);
    return learn_quantile(values, visits->len, 0.5);
}

/* --- one case -----------------------------------------------------------------------------------------------------------
 */

static double *mean_metrics(const GArray *visits, gsize n)
{
    double *means = g_new0(double, n + 1);
    for (guint i = 0; i < visits->len; i++)
    {
        const double *metrics = visit_at(visits, i)->row->metrics;
        for (gsize k = 0; k < n; k++)
            means[k] += (metrics != NULL ? metrics[k] : (double)NAN) / visits->len;
    }
    return means;
}

/* Differences: of pairs of visits of a kernel without load. @all, @measured: double, as put to one speed, and as measured
 * @sizes: double, latencies of the kernels, ns */
typedef struct
{
    GArray *all, *measured, *sizes;
} Differences;

static void find_difference(LearnCase *one, const GArray *visits, const Differences *differences)
{
    for (guint i = 0; i < visits->len; i++)
        for (guint k = i + 1; k < visits->len; k++)
        {
            const Visit *a = visit_at(visits, i), *b = visit_at(visits, k);
            const double difference = fabs((one->loaded ? a->ratio / b->ratio : a->latency / b->latency) - 1);
            one->difference += difference;
            one->n_pairs++;
            if (one->loaded)
                continue;
            const double measured = fabs(a->measured / b->measured - 1);
            g_array_append_val(differences->all, difference);
            g_array_append_val(differences->measured, measured);
            g_array_append_val(differences->sizes, one->latency_ns);
        }
    one->difference = one->n_pairs > 0 ? one->difference / (double)one->n_pairs : (double)NAN;
}

static void make_case(LearnCases *cases, const GArray *visits, gsize n_metrics, GHashTable *configurations,
                      const Differences *differences)
{
    LearnCase one = { .sample = *visit_at(visits, 0)->row };
    const IfmKernelSample *sample = &one.sample;
    double *metrics = mean_metrics(visits, n_metrics);
    const char *configuration = sample->configuration != NULL ? sample->configuration : sample->kernel_id;
    gpointer found;
    g_ptr_array_add(cases->metrics, metrics);
    one.sample.metrics = metrics;
    one.sample.threads = threads_of(sample);
    one.loaded = is_loaded(sample);
    one.idle_ns = NS_PER_MS * median_over(visits, G_STRUCT_OFFSET(Visit, idle));
    one.slow_down = one.loaded ? median_over(visits, G_STRUCT_OFFSET(Visit, ratio)) : 1;
    one.latency_ns =
        one.loaded ? one.idle_ns * one.slow_down : NS_PER_MS * median_over(visits, G_STRUCT_OFFSET(Visit, latency));
    one.measured_ns = NS_PER_MS * median_over(visits, G_STRUCT_OFFSET(Visit, measured)) * one.slow_down;
    one.target_ns = one.loaded ? one.latency_ns : NS_PER_MS * median_over(visits, G_STRUCT_OFFSET(Visit, target));
    if (one.loaded && sample->load_cores == IFM_LOAD_CORES_SAME)
        one.same = sample->load_level;
    else if (one.loaded) /* on cores of its own it may be short of what it asks for */
        one.other = isfinite(sample->achieved_load) ? sample->achieved_load : sample->load_level;
    if (!g_hash_table_lookup_extended(configurations, configuration, NULL, &found))
    {
        found = GUINT_TO_POINTER(g_hash_table_size(configurations));
        g_hash_table_insert(configurations, (gpointer)configuration, found);
    }
    one.configuration = GPOINTER_TO_UINT(found);
    one.machine = cases->machines->len > 0 ? learn_machines_at(cases->machines, sample->machine) : 0;
    find_difference(&one, visits, differences);
    g_array_append_val(cases->cases, one);
}

/* --- all of them --------------------------------------------------------------------------------------------------------
 */

static double mean_difference(const GArray *all, const GArray *sizes, double low, double high)
{
    double sum = 0;
    gsize n = 0;
    for (guint i = 0; i < all->len; i++)
        if (g_array_index(sizes, double, i) >= low && g_array_index(sizes, double, i) < high)
        {
            sum += g_array_index(all, double, i);
            n++;
        }
    return n > 0 ? sum / (double)n : (double)NAN;
}

static void sum_up_noise(IfmLearnNoise *noise, const Differences *differences, const LearnSpeed *speed)
{
    const GArray *all = differences->all, *sizes = differences->sizes;
    noise->n_pairs = all->len;
    noise->mean = mean_difference(all, sizes, 0, (double)INFINITY);
    noise->mean_small = mean_difference(all, sizes, 0, IFM_LEARN_SMALL_NS);
    noise->mean_large = mean_difference(all, sizes, IFM_LEARN_SMALL_NS, (double)INFINITY);
    noise->median = median_of(all);
    if (speed->exponent == 0)
        return;
    noise->mean_as_measured = mean_difference(differences->measured, sizes, 0, (double)INFINITY);
    noise->exponent = speed->exponent;
    noise->read_bytes_per_s = speed->read_bytes_per_s;
}

/* LearnSpeedVisit. @user: whether disturbed rows are used */
static char *speed_visit(const IfmKernelSample *sample, double *latency, gpointer user)
{
    *latency = target_of(sample);
    return *latency > 0 && is_idle(sample, GPOINTER_TO_INT(user)) ? kernel_key(sample) : NULL;
}

/* Kernels that were measured under load show without load, too, that no load is no slow-down. */
static void mark_beside_loaded(LearnCases *cases)
{
    g_autoptr(GHashTable) loaded = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (guint i = 0; i < cases->cases->len; i++)
        if (learn_case(cases, i)->loaded)
            g_hash_table_add(loaded, kernel_key(&learn_case(cases, i)->sample));
    for (guint i = 0; i < cases->cases->len; i++)
    {
        LearnCase *one = &g_array_index(cases->cases, LearnCase, i);
        g_autofree char *key = kernel_key(&one->sample);
        one->beside_loaded = !one->loaded && g_hash_table_contains(loaded, key);
    }
}

static void find_metrics(LearnCases *cases, const char *const *names)
{
    for (gsize k = 0; names[k] != NULL; k++)
    {
        gboolean any = FALSE, all = learn_is_learnt(names[k]);
        for (guint i = 0; all && i < cases->cases->len; i++)
        {
            const LearnCase *one = learn_case(cases, i);
            any = any || one->loaded;
            all = (!one->loaded && !one->beside_loaded) || isfinite(one->sample.metrics[k]);
        }
        if (!all || !any)
            continue;
        g_ptr_array_add(cases->names, (gpointer)names[k]);
        g_array_append_val(cases->places, k);
    }
}

/* Rows of older studies do not say what their rings stand for: these held more than small models do, so that such kernels
 * were measured colder. A table without rings says nothing of either. */
static gboolean check_rings(const IfmKernelSamples *samples, GError **error)
{
    gsize n_rings = 0, n_older = 0;
    for (gsize i = 0; i < ifm_kernel_samples_n(samples); i++)
    {
        const IfmKernelSample *sample = ifm_kernel_samples_at(samples, i);
        n_rings += !isnan(sample->ring_bytes);
        n_older += !isnan(sample->ring_bytes) && isnan(sample->working_set_bytes);
    }
    return n_older == 0 || n_older == n_rings ||
           ifm_error_refuse(
               error,
               "rings of two rules: %zu of %zu rows do not say what their copies stand for (Working_Set_Bytes); "
               "older studies measured kernels of small models too cold: measure these anew, or learn from one",
               n_older, n_rings);
}

gboolean learn_cases_init(LearnCases *cases, const IfmKernelSamples *samples, const IfmLearnOptions *options,
                          GError **error)
{
    g_autoptr(GPtrArray) groups = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
    g_autoptr(GHashTable) by_key = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autoptr(GHashTable) configurations = g_hash_table_new(g_str_hash, g_str_equal);
    g_auto(Idle) idle;
    idle_init(&idle);
    g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(double)), measured = g_array_new(FALSE, FALSE, sizeof(double)),
                      sizes = g_array_new(FALSE, FALSE, sizeof(double));
    const Differences differences = { all, measured, sizes };
    const char *const *names = ifm_kernel_samples_metrics(samples);
    LearnSpeed speed = { 0 };
    *cases = (LearnCases){ .cases = g_array_new(FALSE, FALSE, sizeof(LearnCase)),
                           .metrics = g_ptr_array_new_with_free_func(g_free),
                           .names = g_ptr_array_new(),
                           .places = g_array_new(FALSE, FALSE, sizeof(gsize)),
                           .machines = learn_machines_new() };
    if (!check_rings(samples, error) || (options->machine == NULL && !learn_machines_find(cases->machines, samples, error)))
        return FALSE;
    learn_speed_find(&speed, samples, speed_visit, GINT_TO_POINTER(options->allow_disturbed));
    idle_find(&idle, samples, options->allow_disturbed, &speed);
    gsize n_loaded = 0;
    const IfmKernelSample *orphan = NULL;
    for (gsize i = 0; i < ifm_kernel_samples_n(samples); i++)
    {
        const IfmKernelSample *sample = ifm_kernel_samples_at(samples, i);
        if (is_disturbed(sample) && !options->allow_disturbed)
        {
            cases->n_left_out++;
            continue;
        }
        const double idle_ms = is_loaded(sample) ? idle_of(sample, &idle) : sample->latency_ms;
        if (isnan(idle_ms)) /* nothing shows what the load did */
        {
            orphan = orphan != NULL ? orphan : sample;
            cases->n_dropped++;
            continue;
        }
        n_loaded += is_loaded(sample);
        cases->n_rows++;
        cases->n_disturbed += is_disturbed(sample);
        char *key = case_key(sample);
        GArray *visits = g_hash_table_lookup(by_key, key);
        if (visits == NULL)
            g_ptr_array_add(groups, visits = g_array_new(FALSE, FALSE, sizeof(Visit)));
        g_hash_table_insert(by_key, key, visits);
        const double of_idle = is_loaded(sample) ? idle_median(idle.factors, sample) : learn_speed_factor(&speed, sample);
        add_visit(visits, sample, idle_ms, isfinite(of_idle) ? of_idle : 1);
    }
    if (orphan != NULL && n_loaded == 0)
        return ifm_error_refuse(error,
                                "kernel %s: rows under load, but its Idle_ms is empty and it has no row without load",
                                orphan->kernel_id);
    for (guint i = 0; i < groups->len; i++)
        make_case(cases, groups->pdata[i], g_strv_length((GStrv)names), configurations, &differences);
    cases->n_configurations = g_hash_table_size(configurations);
    sum_up_noise(&cases->noise, &differences, &speed);
    mark_beside_loaded(cases);
    find_metrics(cases, names);
    return TRUE;
}

void learn_cases_clear(LearnCases *cases)
{
    g_clear_pointer(&cases->cases, g_array_unref);
    g_clear_pointer(&cases->metrics, g_ptr_array_unref);
    g_clear_pointer(&cases->names, g_ptr_array_unref);
    g_clear_pointer(&cases->places, g_array_unref);
    g_clear_pointer(&cases->machines, g_ptr_array_unref);
}

/* Configurations in random order, dealt out in turn. */
int *learn_cases_folds(const LearnCases *cases, gint64 seed)
{
    const guint n = cases->n_configurations;
    g_autoptr(GRand) random = g_rand_new_with_seed((guint32)seed);
    g_autofree guint *order = g_new(guint, n + 1);
    g_autofree int *fold = g_new(int, n + 1);
    for (guint i = 0; i < n; i++)
        order[i] = i;
    for (guint i = n; i > 1; i--)
    {
        const guint k = (guint)g_rand_int_range(random, 0, (gint32)i), swapped = order[k];
        order[k] = order[i - 1];
        order[i - 1] = swapped;
    }
    for (guint i = 0; i < n; i++)
        fold[order[i]] = (int)(i % IFM_LEARN_FOLDS);
    int *folds = g_new(int, cases->cases->len + 1);
    for (guint i = 0; i < cases->cases->len; i++)
        folds[i] = fold[learn_case(cases, i)->configuration];
    return folds;
}

#define LEAST_FAMILIES 3

/* configuration -> number of the first family of its kernels, from 1; 0: none has one. [n_configurations] */
static guint *family_of_configurations(const LearnCases *cases, guint *n_families)
{
    g_autoptr(GHashTable) numbers = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    guint *families = g_new0(guint, cases->n_configurations + 1);
    for (guint i = 0; i < cases->cases->len; i++)
    {
        const LearnCase *one = learn_case(cases, i);
        const char *text = one->sample.families;
        if (text == NULL || *text == '\0' || families[one->configuration] != 0)
            continue;
        g_autofree char *name = g_strndup(text, strcspn(text, ";"));
        guint number = GPOINTER_TO_UINT(g_hash_table_lookup(numbers, name));
        if (number == 0)
            g_hash_table_insert(numbers, g_strdup(name), GUINT_TO_POINTER(number = g_hash_table_size(numbers) + 1));
        families[one->configuration] = number;
    }
    *n_families = g_hash_table_size(numbers);
    return families;
}

int *learn_cases_family_folds(const LearnCases *cases)
{
    guint n_families;
    g_autofree guint *families = family_of_configurations(cases, &n_families);
    int *folds = n_families >= LEAST_FAMILIES ? g_new(int, cases->cases->len + 1) : NULL;
    for (guint i = 0; folds != NULL && i < cases->cases->len; i++)
    {
        const guint configuration = learn_case(cases, i)->configuration, family = families[configuration];
        folds[i] = (int)((family != 0 ? family : configuration) % IFM_LEARN_FOLDS);
    }
    return folds;
}
