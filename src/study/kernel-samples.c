/* What a study of kernels measured, as samples to learn from. */
#include <math.h>
#include <string.h>

#include <base/base.h>
#include <base/fields.h>
#include <learn/learn.h>
#include <store/store.h>

#include "kind-kernels.h"

/* "resnet18,size=64" and "models/resnet50.onnx" are of the family "resnet", "mobilenet_v2" of "mobilenet". */
static char *family_of(const char *model)
{
    g_autofree char *base = g_path_get_basename(g_str_has_prefix(model, "zoo:") ? model + strlen("zoo:") : model);
    gsize n = strcspn(base, "0123456789,.");
    if (n > 2 && base[n - 1] == 'v' && base[n - 2] == '_')
        n -= 2;
    return g_strndup(base, n > 0 ? n : strlen(base));
}

static char *families_of(const char *models)
{
    g_auto(GStrv) names = g_strsplit(models, ";", -1);
    g_autoptr(GPtrArray) families = g_ptr_array_new_with_free_func(g_free);
    for (char **name = names; *name != NULL; name++)
    {
        char *family = family_of(*name);
        if (*family != '\0' && !g_ptr_array_find_with_equal_func(families, family, g_str_equal, NULL))
            g_ptr_array_add(families, family);
        else
            g_free(family);
    }
    g_ptr_array_add(families, NULL);
    return g_strjoinv(";", (char **)families->pdata);
}

static char *shape_of(const IfmKernelRecord *record)
{
    const IfmKernelTensor *first = record->inputs->len > 0 ? record->inputs->pdata[0] : NULL;
    GString *text = g_string_new(NULL);
    for (guint i = 0; first != NULL && i < first->dims->len; i++)
        g_string_append_printf(text, "%s%" G_GINT64_FORMAT, i > 0 ? "x" : "", g_array_index(first->dims, gint64, i));
    if (text->len == 0)
        g_string_append(text, "scalar");
    return g_string_free(text, FALSE);
}

StudyKernel *study_kernel_from_json(const json_t *json, GError **error)
{
    g_autoptr(StudyKernel) kernel = g_new0(StudyKernel, 1);
    if (!ifm_record_from_json(kernel, study_kernel_fields, json, "kernels[]", NULL, error) ||
        (kernel->record = ifm_kernel_record_from_json(kernel->json, "kernels[]", error)) == NULL)
        return NULL;
    if (kernel->id == NULL || kernel->base == NULL || kernel->models == NULL)
    {
        ifm_error_set(error, IFM_ERROR_CORRUPT, "kernels[]: no kernel of a study");
        return NULL;
    }
    kernel->round = MAX(kernel->round, 1);
    kernel->shape = shape_of(kernel->record);
    kernel->families = families_of(kernel->models);
    return g_steal_pointer(&kernel);
}

static GHashTable *kernels_of(const IfmStudyTables *points, GError **error)
{
    g_autoptr(GHashTable) kernels = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, (GDestroyNotify)study_kernel_free);
    const json_t *list = ifm_member(points->definition, "kernels");
    for (gsize i = 0; i < json_array_size(list); i++)
    {
        StudyKernel *kernel = study_kernel_from_json(json_array_get(list, i), error);
        if (kernel == NULL)
            return NULL;
        g_hash_table_replace(kernels, kernel->id, kernel);
    }
    return g_steal_pointer(&kernels);
}

/* --- metrics ------------------------------------------------------------------------------------------------------------
 */

static const char *const windows[] = { "before", "during" };

/* (transfer full) NULL-terminated: "metric:before:busy", …: all that any case has, windows and names in order */
static char **list_metrics(const IfmStudyTables *points)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (gsize w = 0; w < G_N_ELEMENTS(windows); w++)
    {
        g_autofree char *path = g_strdup_printf("metrics.%s.values", windows[w]);
        for (guint i = 0; i < points->rows->len; i++)
        {
            const IfmStudyRow *point = points->rows->pdata[i];
            const char *name;
            json_t *value;
            json_object_foreach(
                (json_t *)ifm_member(point->measurement != NULL ? point->measurement->environment : NULL, path), name,
                value)
            {
                char *column = g_strdup_printf(IFM_SAMPLE_METRIC_PREFIX "%s:%s", windows[w], name);
                if (names->len < IFM_SAMPLES_MAX_METRICS &&
                    !g_ptr_array_find_with_equal_func(names, column, g_str_equal, NULL))
                    g_ptr_array_add(names, column);
                else
                    g_free(column);
            }
        }
    }
    g_ptr_array_add(names, NULL);
    return (char **)g_ptr_array_steal(names, NULL);
}

/* (transfer full) [metrics] */
static double *metrics_of(const IfmStudyRow *point, char **metrics)
{
    double *values = g_new(double, MAX(g_strv_length(metrics), 1));
    for (gsize i = 0; metrics[i] != NULL; i++)
    {
        g_auto(GStrv) parts = g_strsplit(metrics[i], ":", 3);
        g_autofree char *path = g_strdup_printf("metrics.%s.values", parts[1]);
        const json_t *value = json_object_get(ifm_member(point->measurement->environment, path), parts[2]);
        values[i] = json_is_number(value) ? json_number_value(value) : (double)NAN;
    }
    return values;
}

/* --- samples ------------------------------------------------------------------------------------------------------------
 */

static gint64 axis_of(const IfmStudyRow *point, const char *name)
{
    return json_integer_value(json_object_get(point->axes, name));
}

/* A visit of a kernel, by which its case without load is found. (transfer full) */
static char *visit_of(const IfmStudyRow *point)
{
    return g_strdup_printf("%s %s %" G_GINT64_FORMAT " %" G_GINT64_FORMAT, point->device->alias,
                           ifm_member_text(point->axes, "kernel"), axis_of(point, "visit"), axis_of(point, "threads"));
}

int study_load_kind_of(const IfmStudyRow *point)
{
    const int kind = ifm_word_index(ifm_stress_words(), ifm_member_text(point->axes, "load"));
    return kind >= 0 ? IFM_LOAD_GEMM + kind : IFM_LOAD_NONE;
}

int study_load_cores_of(const IfmStudyRow *point)
{
    return study_load_kind_of(point) == IFM_LOAD_NONE                      ? IFM_LOAD_CORES_NONE
           : g_strcmp0(ifm_member_text(point->axes, "cores"), "same") == 0 ? IFM_LOAD_CORES_SAME
                                                                           : IFM_LOAD_CORES_OTHER;
}

gint64 study_threads_of(const IfmStudyRow *point)
{
    const double used = ifm_member_number(point->measurement->effective_config, "n_threads");
    return used >= 1 ? (gint64)used : MAX(axis_of(point, "threads"), 1);
}

/* Alone: a visit of a kernel without load. */
typedef struct
{
    double mean_ns;
    gboolean disturbed;
} Alone;

/* (transfer full) visit -> Alone* */
static GHashTable *list_idle(const IfmStudyTables *points)
{
    GHashTable *idle = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    for (guint i = 0; i < points->rows->len; i++)
    {
        const IfmStudyRow *point = points->rows->pdata[i];
        const Alone one = { point->mean_ns,
                            point->measurement != NULL && ifm_measurement_is_disturbed(point->measurement) };
        if (point->reason == NULL && g_strcmp0(ifm_member_text(point->axes, "load"), "none") == 0)
            g_hash_table_replace(idle, visit_of(point), g_memdup2(&one, sizeof one));
    }
    return idle;
}

/* What the work or the bytes take at the device's peaks; NaN where these are not known. */
static double roofline_ms_of(const IfmStudyDevice *device, const IfmKernelSample *sample)
{
    const double bytes = sample->input_bytes + sample->weight_bytes + sample->output_bytes;
    const double work_s = isnan(sample->flop) ? 0 : sample->flop / device->peak_flop_per_s;
    return device->peak_flop_per_s > 0 && device->peak_bytes_per_s > 0
               ? 1e3 * fmax(work_s, bytes / device->peak_bytes_per_s)
               : (double)NAN;
}

/* (transfer full) as records name it; NULL where it is not known */
static char *runtime_of(const json_t *environment)
{
    const char *engine = ifm_member_text(environment, "runtime.engine"),
               *version = ifm_member_text(environment, "runtime.version");
    return engine != NULL && version != NULL ? g_strdup_printf("%s %s", engine, version) : NULL;
}

static void add_sample(IfmKernelSamples *samples, const IfmStudyRow *point, const StudyKernel *kernel, GHashTable *idle,
                       char **metrics, const char *level)
{
    IfmKernelSample sample;
    const json_t *environment = point->measurement->environment;
    g_autofree char *visit = visit_of(point);
    g_autofree double *values = metrics_of(point, metrics);
    g_autofree char *runtime = runtime_of(environment);
    const Alone *alone = g_hash_table_lookup(idle, visit);
    const double said = ifm_member_number(environment, "ring.copies"), /* else a ring of 16 MiB, as it was once */
        copies = said >= 1 ? said : (double)ifm_kernel_ring_copies(kernel->record, IFM_KERNEL_RING_BYTES, 0);
    ifm_kernel_sample_init(&sample);
    ifm_kernel_sample_describe(&sample, kernel->record);
    sample.kernel_id = ifm_member_text(point->axes, "kernel");
    sample.input_shape = kernel->shape;
    sample.configuration = kernel->base;
    sample.models = *kernel->models != '\0' ? kernel->models : NULL;
    sample.families = *kernel->families != '\0' ? kernel->families : NULL;
    sample.latency_ms = point->mean_ns / copies / 1e6;
    sample.median_ms = point->median_ns / copies / 1e6;
    sample.std_ms = point->std_ns / copies / 1e6;
    sample.n = (double)point->n;
    sample.ring_bytes = ifm_member_number(environment, "ring.bytes");
    if (kernel->working_set_bytes != 0)
        sample.working_set_bytes =
            (double)(kernel->working_set_bytes > 0 ? kernel->working_set_bytes : IFM_KERNEL_RING_MOST_BYTES);
    sample.cache_bytes = ifm_member_number(environment, "ring.cache_bytes");
    sample.cpu_ms = ifm_member_number(environment, "runs.cpu_median_ns") / copies / 1e6;
    sample.undisturbed_ms = ifm_member_number(environment, "runs.undisturbed_median_ns") / copies / 1e6;
    sample.interrupted = ifm_member_number(environment, "runs.n_interrupted");
    sample.visit = (double)axis_of(point, "visit");
    sample.threads = (double)study_threads_of(point);
    sample.load_kind = study_load_kind_of(point);
    sample.load_cores = study_load_cores_of(point);
    sample.load_level = (double)axis_of(point, "level") / 100;
    sample.achieved_load = sample.load_kind == IFM_LOAD_NONE ? 0 : ifm_member_number(environment, "stress.achieved_before");
    sample.idle_ms = alone != NULL ? alone->mean_ns / copies / 1e6 : (double)NAN;
    sample.disturbed = ifm_measurement_is_disturbed(point->measurement) || (alone != NULL && alone->disturbed);
    sample.roofline_ms = roofline_ms_of(point->device, &sample);
    sample.machine = ifm_member_text(environment, "machine.cpu");
    sample.runtime = runtime;
    sample.device = point->device->device;
    sample.level = level;
    sample.metrics = values;
    ifm_kernel_samples_add(samples, &sample);
}

gssize study_find_held_out(const IfmStudyTables *points, const char *name)
{
    const json_t *list = ifm_member(points->definition, "held_out");
    for (gsize i = 0; i < json_array_size(list); i++)
        if (g_strcmp0(ifm_member_text(json_array_get(list, i), "name"), name) == 0)
            return (gssize)i;
    return -1;
}

IfmKernelSamples *ifm_study_kernel_samples(const IfmStudyTables *points, GError **error)
{
    if (!g_str_equal(points->kind, study_kind_kernels.name))
    {
        ifm_error_refuse(error, "%s: a study of kind %s has no kernels", points->name, points->kind);
        return NULL;
    }
    g_autoptr(GHashTable) kernels = kernels_of(points, error);
    if (kernels == NULL)
        return NULL;
    g_autoptr(GHashTable) idle = list_idle(points);
    g_auto(GStrv) metrics = list_metrics(points);
    const char *level = ifm_member_text(points->definition, "level");
    g_autoptr(IfmKernelSamples) samples = ifm_kernel_samples_new((const char *const *)metrics);
    for (guint i = 0; i < points->rows->len; i++)
    {
        const IfmStudyRow *point = points->rows->pdata[i];
        const char *id = ifm_member_text(point->axes, "kernel");
        const StudyKernel *kernel = id != NULL ? g_hash_table_lookup(kernels, id) : NULL;
        if (point->reason != NULL)
            continue;
        if (kernel == NULL && study_find_held_out(points, id) >= 0) /* a whole model */
            continue;
        if (kernel == NULL)
        {
            ifm_error_set(error, IFM_ERROR_CORRUPT, "%s: the kernel \"%s\" is not in it", points->name,
                          id != NULL ? id : "");
            return NULL;
        }
        add_sample(samples, point, kernel, idle, metrics, level);
    }
    return g_steal_pointer(&samples);
}
