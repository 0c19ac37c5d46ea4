/* What the trees see of a kernel and of the load, and the roofline that they correct. */
#include <base/base.h>
#include <math.h>
#include <string.h>

#include <onnx/fused-kernel.h>
#include <sensor/sensor.h>

#include "learn-private.h"

/* The peaks are what the best cases reach, without those that are measured wrongly; bandwidth only of those that no cache
 * holds. What each kernel costs at least is added to the roofline. */
#define FLOP_QUANTILE 0.995
#define BYTES_QUANTILE 0.95
#define BYTES_LEAST 2e6
#define LEAST_NS 300.0
/* So many cases make a quantile of bandwidth. */
#define BYTES_LEAST_CASES 5

double learn_bytes(const IfmKernelSample *sample)
{
    const double parts[] = { sample->input_bytes, sample->weight_bytes, sample->output_bytes };
    double sum = 0;
    for (gsize i = 0; i < G_N_ELEMENTS(parts); i++)
        sum += isfinite(parts[i]) ? parts[i] : 0;
    return sum;
}

gboolean learn_is_depthwise(const IfmKernelSample *sample)
{
    return sample->features.groups > 1 && sample->features.groups == sample->features.channels;
}

double learn_held(const IfmKernelSample *sample)
{
    return sample->working_set_bytes > 0 ? fmin(sample->working_set_bytes, (double)IFM_KERNEL_RING_MOST_BYTES)
                                         : (double)NAN;
}

/* What is around a kernel that is not known is taken for what no cache holds, as the ring of such a kernel is. */
static gboolean is_cold(const IfmKernelSample *sample, double cache_bytes)
{
    return sample->working_set_bytes > 0 ? sample->working_set_bytes > cache_bytes : cache_bytes > 0;
}

double learn_flop(const IfmKernelSample *sample)
{
    return isfinite(sample->flop) ? sample->flop : 0;
}

/* --- the roofline -------------------------------------------------------------------------------------------------------
 */

/* So many times as long a byte of weights takes at most where the cache does not hold what is around a kernel. Its inputs
 * were written just before. */
#define MOST_COLD 20

double learn_traffic(const IfmLatencyModel *model, const IfmKernelSample *sample)
{
    const double weights = isfinite(sample->weight_bytes) ? sample->weight_bytes : 0;
    return learn_bytes(sample) + (is_cold(sample, model->cache_bytes) ? (model->cold - 1) * weights : 0);
}

/* By kernels of one number of threads that read weights above all, more than the first caches hold: the rate in models that
 * the last one holds over that in others. */
static void find_cold(IfmLatencyModel *model, const LearnCases *cases, const gboolean *use)
{
    const guint n = cases->cases->len;
    g_autofree double *warm = g_new(double, n + 1), *behind = g_new(double, n + 1);
    double *const rates[] = { warm, behind };
    gsize n_of[2] = { 0 };
    double threads = (double)NAN;
    for (guint i = 0; model->machines->len == 0 && i < n; i++)
    {
        const LearnCase *one = learn_case(cases, i);
        if (!use[i] || one->loaded || !(one->sample.cache_bytes > 0))
            continue;
        if (isnan(model->cache_bytes))
        {
            model->cache_bytes = one->sample.cache_bytes;
            threads = one->sample.threads;
        }
        /* a ring of much work holds less than its model */
        const gboolean cold = is_cold(&one->sample, model->cache_bytes);
        if (one->sample.cache_bytes != model->cache_bytes || one->sample.threads != threads ||
            (one->sample.ring_bytes > 0 && cold != (one->sample.ring_bytes > model->cache_bytes)))
            continue;
        if (one->sample.weight_bytes > fmax(BYTES_LEAST, learn_bytes(&one->sample) / 2))
            rates[cold][n_of[cold]++] = learn_bytes(&one->sample) / one->target_ns;
    }
    if (n_of[0] >= BYTES_LEAST_CASES && n_of[1] >= BYTES_LEAST_CASES)
        model->cold =
            CLAMP(learn_quantile(rates[0], n_of[0], BYTES_QUANTILE) / learn_quantile(rates[1], n_of[1], BYTES_QUANTILE), 1,
                  MOST_COLD);
}

static void find_peak(const IfmLatencyModel *model, LearnPeak *peak, const LearnCases *cases, const gboolean *use)
{
    const guint n = cases->cases->len;
    g_autofree double *flop = g_new(double, n + 1), *bytes = g_new(double, n + 1), *large = g_new(double, n + 1);
    gsize n_all = 0, n_large = 0;
    for (guint i = 0; i < n; i++)
    {
        const LearnCase *one = learn_case(cases, i);
        if (!use[i] || one->loaded || one->sample.threads != peak->threads)
            continue;
        flop[n_all] = learn_flop(&one->sample) / one->target_ns;
        bytes[n_all] = learn_traffic(model, &one->sample) / one->target_ns;
        if (learn_bytes(&one->sample) > BYTES_LEAST)
            large[n_large++] = bytes[n_all];
        n_all++;
    }
    peak->flop_per_ns = learn_quantile(flop, n_all, FLOP_QUANTILE);
    peak->bytes_per_ns = n_large >= BYTES_LEAST_CASES ? learn_quantile(large, n_large, BYTES_QUANTILE)
                                                      : learn_quantile(bytes, n_all, BYTES_QUANTILE);
}

static LearnPeak *peak_at(const IfmLatencyModel *model, guint i)
{
    return model->peaks->pdata[i];
}

void learn_find_peaks(IfmLatencyModel *model, const LearnCases *cases, const gboolean *use)
{
    find_cold(model, cases, use);
    for (guint i = 0; i < cases->cases->len; i++)
    {
        const LearnCase *one = learn_case(cases, i);
        guint k = 0;
        while (k < model->peaks->len && peak_at(model, k)->threads != one->sample.threads)
            k++;
        if (!use[i] || one->loaded || k < model->peaks->len)
            continue;
        LearnPeak *peak = g_new0(LearnPeak, 1);
        peak->threads = one->sample.threads;
        find_peak(model, peak, cases, use);
        g_ptr_array_add(model->peaks, peak);
    }
}

/* By the peaks of its machine; of one alone by those found of that many threads, or of the nearest number. */
double learn_roofline_ns(const IfmLatencyModel *model, const IfmKernelSample *sample)
{
    const IfmMachineFeatures *place = learn_place(model, sample);
    if (place != NULL)
        return learn_machine_roofline_ns(place, sample) + LEAST_NS;
    const double threads = sample->threads > 0 ? sample->threads : 1;
    const LearnPeak *peak = peak_at(model, 0);
    for (guint i = 1; i < model->peaks->len; i++)
        if (fabs(peak_at(model, i)->threads - threads) < fabs(peak->threads - threads))
            peak = peak_at(model, i);
    const double compute = peak->flop_per_ns > 0 ? learn_flop(sample) / peak->flop_per_ns : 0;
    const double memory = peak->bytes_per_ns > 0 ? learn_traffic(model, sample) / peak->bytes_per_ns : 0;
    return MAX(compute, memory) + LEAST_NS;
}

/* --- operators ----------------------------------------------------------------------------------------------------------
 */

gssize learn_operator_at(const IfmLatencyModel *model, const char *op_type)
{
    guint low = 0, high = model->operators->len;
    while (low < high)
    {
        const guint middle = (low + high) / 2;
        const int order = strcmp(model->operators->pdata[middle], op_type);
        if (order == 0)
            return (gssize)middle;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return -1;
}

gboolean learn_knows(const IfmLatencyModel *model, const char *op_type)
{
    return learn_operator_at(model, op_type) >= 0;
}

gboolean learn_begin_alike(const char *a, const char *b)
{
    const gsize length = strcspn(a, "_");
    return strcspn(b, "_") == length && strncmp(a, b, length) == 0;
}

static double ratio_of(const IfmLatencyModel *model, const LearnCase *one)
{
    return one->target_ns / learn_roofline_ns(model, &one->sample);
}

/* @base: NULL: of all */
static double median_ratio(const IfmLatencyModel *model, const LearnCases *cases, const gboolean *use, const char *base)
{
    g_autofree double *ratios = g_new(double, cases->cases->len + 1);
    gsize n = 0;
    for (guint i = 0; i < cases->cases->len; i++)
    {
        const LearnCase *one = learn_case(cases, i);
        if (use[i] && !one->loaded && (base == NULL || learn_begin_alike(base, one->sample.op_type)))
            ratios[n++] = ratio_of(model, one);
    }
    return learn_quantile(ratios, n, 0.5);
}

static void add_feature(IfmLatencyModel *model, const char *prefix, const char *name)
{
    IfmLearnFeature *feature = g_new0(IfmLearnFeature, 1);
    feature->name = g_strconcat(prefix, name, NULL);
    feature->importance = (double)NAN;
    g_ptr_array_add(model->features, feature);
}

/* Adds the keys of @names, sorted, each by @add. */
static void add_sorted(IfmLatencyModel *model, GHashTable *names, void (*add)(IfmLatencyModel *model, const char *name))
{
    g_autofree const char **sorted = (const char **)g_hash_table_get_keys_as_array(names, NULL);
    const guint n = g_hash_table_size(names);
    if (n > 0)
        qsort(sorted, n, sizeof *sorted, ifm_compare_texts);
    for (guint i = 0; i < n; i++)
        add(model, sorted[i]);
}

static void add_operator(IfmLatencyModel *model, const char *name)
{
    g_ptr_array_add(model->operators, g_strdup(name));
}

static void add_part(IfmLatencyModel *model, const char *name)
{
    if (model->features->len + LEARN_N_LOAD_FEATURES + IFM_SAMPLES_MAX_METRICS < LEARN_MAX_FEATURES)
        add_feature(model, "op:", name);
}

static void add_base(IfmLatencyModel *model, const char *name)
{
    LearnScale *scale = g_new0(LearnScale, 1);
    scale->name = g_strdup(name);
    g_ptr_array_add(model->scales, scale);
}

void learn_find_operators(IfmLatencyModel *model, const LearnCases *cases, const gboolean *use)
{
    g_autoptr(GHashTable) names = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GHashTable) parts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autoptr(GHashTable) bases = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (guint i = 0; i < cases->cases->len; i++)
    {
        const LearnCase *one = learn_case(cases, i);
        if (!use[i] || one->loaded || !g_hash_table_add(names, (gpointer)one->sample.op_type))
            continue;
        g_auto(GStrv) words = g_strsplit(one->sample.op_type, "_", -1);
        for (gsize k = 0; words[k] != NULL; k++)
            g_hash_table_add(k == 0 ? bases : parts, g_strdup(words[k]));
        g_hash_table_add(parts, g_strdup(words[0]));
    }
    for (gsize k = 0; learn_base_features[k] != NULL; k++)
        add_feature(model, "", learn_base_features[k]);
    for (gsize k = 0; model->machines->len > 0 && learn_machine_features[k] != NULL; k++)
        add_feature(model, "", learn_machine_features[k]);
    add_sorted(model, parts, add_part);
    add_sorted(model, names, add_operator);
    add_sorted(model, bases, add_base);
    model->scale = median_ratio(model, cases, use, NULL);
    for (guint i = 0; i < model->scales->len; i++)
    {
        LearnScale *scale = model->scales->pdata[i];
        scale->scale = median_ratio(model, cases, use, scale->name);
    }
}

double learn_scale(const IfmLatencyModel *model, const char *op_type)
{
    for (guint i = 0; i < model->scales->len; i++)
    {
        const LearnScale *scale = model->scales->pdata[i];
        if (learn_begin_alike(scale->name, op_type))
            return scale->scale;
    }
    return model->scale;
}

/* --- rows ---------------------------------------------------------------------------------------------------------------
 */

const char *const learn_base_features[] = {
    "batch",    "channels",  "height",    "width",       "outputs", "kernel_size", "stride",       "groups",
    "dilation", "m",         "k",         "n",           "flop",    "input_bytes", "weight_bytes", "output_bytes",
    "threads",  "depthwise", "intensity", "roofline_ns", "inputs",  "axis",        "order",        "reduced",
    "run",      "layout",    "domain",    "bytes",       "held",    NULL,
};
#define N_BASE (G_N_ELEMENTS(learn_base_features) - 1)

const char *const learn_load_features[] = { "log_idle_ns", "effective_load", "other_load", "kind:gemm",
                                            "kind:copy",   "kind:random",    NULL };
G_STATIC_ASSERT(LEARN_FIRST_KIND + IFM_N_LOAD_KINDS - 1 == LEARN_N_LOAD_FEATURES);
G_STATIC_ASSERT(G_N_ELEMENTS(learn_load_features) - 1 == LEARN_N_LOAD_FEATURES);

static gboolean has_part(const char *op_type, const char *part)
{
    const gsize length = strlen(part);
    for (const char *at = op_type;; at++)
    {
        const gsize here = strcspn(at, "_");
        if (here == length && strncmp(at, part, length) == 0)
            return TRUE;
        at += here;
        if (*at == '\0')
            return FALSE;
    }
}

static double operator_number(const IfmLatencyModel *model, const char *op_type)
{
    const gssize at = learn_operator_at(model, op_type);
    return at >= 0 ? (double)at : (double)NAN;
}

/* In the order of learn_base_features. A size that is unknown is none: tables of other collectors leave out what an
 * operator has not, which is 0 in records. */
void learn_fill_row(const IfmLatencyModel *model, const IfmKernelSample *sample, double roofline_ns, float *row)
{
    const IfmKernelFeatures *shape = &sample->features;
    const double base[N_BASE] = {
        shape->batch,
        shape->channels,
        shape->height,
        shape->width,
        shape->outputs,
        shape->kernel_size,
        shape->stride,
        shape->groups,
        shape->dilation,
        shape->m,
        shape->k,
        shape->n,
        sample->flop,
        sample->input_bytes,
        sample->weight_bytes,
        sample->output_bytes,
        sample->threads > 0 ? sample->threads : 1,
        learn_is_depthwise(sample),
        learn_flop(sample) / MAX(learn_bytes(sample), 1),
        roofline_ns,
        shape->inputs,
        shape->axis,
        shape->order,
        shape->reduced,
        shape->run,
        shape->layout,
        shape->domain,
        learn_bytes(sample) > 0 ? learn_bytes(sample) : (double)NAN,
        learn_held(sample),
    };
    const IfmMachineFeatures *place = learn_place(model, sample);
    const guint n_machine = place != NULL ? g_strv_length((GStrv)learn_machine_features) : 0;
    for (gsize i = 0; i < N_BASE; i++)
        row[i] = (float)base[i];
    if (place != NULL)
        learn_fill_machine(place, sample, operator_number(model, sample->op_type), row + N_BASE);
    for (guint i = N_BASE + n_machine; i < model->features->len; i++)
        row[i] =
            (float)has_part(sample->op_type, ((const IfmLearnFeature *)model->features->pdata[i])->name + strlen("op:"));
}

/* --- loads --------------------------------------------------------------------------------------------------------------
 */

double learn_taken(const IfmLoadState *load)
{
    const double n = load->competitors > 0 ? load->competitors : 1;
    return MIN(load->same, n / (1 + n));
}

double learn_time_sharing(const IfmLoadState *load)
{
    return load != NULL ? 1 / (1 - learn_taken(load)) : 1;
}

void learn_fill_load(double idle_ns, const IfmLoadState *load, float *row)
{
    row[0] = (float)log(idle_ns);
    row[1] = (float)MIN(learn_taken(load),
                        LEARN_FAIR_SHARE); /* more competitors take more of the time, and disturb caches as often */
    row[2] = (float)load->other;
    for (int kind = IFM_LOAD_GEMM; kind < IFM_N_LOAD_KINDS; kind++)
        row[LEARN_FIRST_KIND + kind - IFM_LOAD_GEMM] = load->kind != IFM_LOAD_NONE ? (float)(load->kind == kind) : NAN;
}

int learn_load_direction(const char *name)
{
    if (g_str_equal(name, "effective_load") || g_str_equal(name, "other_load"))
        return 1;
    return g_str_equal(name, IFM_SAMPLE_BEFORE_PREFIX IFM_METRIC_READ_RATE) ? -1 : 0;
}

/* How busy processors are, and how many tasks wait, is the load's share and its competitors: of those no column is learnt
 * from by itself. */
gboolean learn_is_learnt(const char *column)
{
    static const char *const others[] = {
        "busy", "running", "own", "pressure_cpu", "pressure_memory", "pressure_io", NULL
    };
    const char *name = column + strlen(IFM_SAMPLE_BEFORE_PREFIX);
    return g_str_has_prefix(column, IFM_SAMPLE_BEFORE_PREFIX) && !g_strv_contains(others, name) &&
           !(g_str_has_prefix(name, "cpu") && g_str_has_suffix(name, "_busy"));
}

IfmLoadState learn_case_load(const LearnCases *cases, const LearnCase *one, LearnKnown known, double *metrics)
{
    for (guint k = 0; k < cases->places->len; k++)
        metrics[k] = one->sample.metrics[g_array_index(cases->places, gsize, k)];
    return (IfmLoadState){ .same = one->same,
                           .other = one->other,
                           .idle_ns = one->idle_ns,
                           .metrics = known == LEARN_METRICS ? metrics : NULL,
                           .kind = known == LEARN_KIND && one->loaded ? one->sample.load_kind : IFM_LOAD_NONE };
}
