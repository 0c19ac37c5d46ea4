#include <errno.h>
#include <string.h>

#include <glib/gstdio.h>
#include <inferometer/kernels.h>
#include <measure/kinds.h>
#include <measure/measure.h>
#include <sensor/sensor.h>
#include <zoo/zoo.h>

#include "export-private.h"

/* Models x sizes x batches, each as written and as a runtime optimises it for a provider. */

static const char *const provider_devices[] = { "onnxruntime:CPU", "onnxruntime:CUDA:0" };

/* --- one model ------------------------------------------------------------------------------------------------------ */

/* Export: the whole. @scratch: a folder of its own, removed at the end */
typedef struct
{
    const ExportConfig *text;
    const IfmExportOptions *options;
    IfmTemporary scratch;
    IfmRunner *runner;
} Export;

/* Point: a model of some size and batch. @file: NULL: of the zoo    @size, @batch: 0: the model has none to choose
 * @n_bindings: free dimensions of a file, whose names @model has */
typedef struct
{
    const char *zoo;
    const IfmScalar *file;
    gint64 size, batch;
    IfmModel *model;
    IfmDimBinding bindings[3];
    gsize n_bindings;
} Point;

static void point_clear(Point *self)
{
    g_clear_pointer(&self->model, ifm_model_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Point, point_clear)

static void bind(Point *self, const IfmPort *input, int axis, gint64 value)
{
    for (gsize i = 0; i < self->n_bindings; i++)
        if (g_str_equal(self->bindings[i].name, input->dim_names[axis]))
            return;
    self->bindings[self->n_bindings++] = (IfmDimBinding){ input->dim_names[axis], value };
}

static gboolean is_free(const IfmPort *input, int axis)
{
    return input->rank > axis && input->dims[axis] < 0;
}

/* The axes of a file's first input: batch, and of images [batch, channels, height, width] the sides. */
static gboolean open_file(const Export *self, Point *point, GError **error)
{
    g_autofree char *path = export_config_path(self->text, point->file);
    point->model = ifm_model_open(path, error);
    if (point->model == NULL)
        return FALSE;
    const IfmPort *input = ifm_model_input(point->model, 0);
    point->batch = is_free(input, 0) ? point->batch : 0;
    point->size = input->rank == 4 && (is_free(input, 2) || is_free(input, 3)) ? point->size : 0;
    if (point->batch > 0)
        bind(point, input, 0, point->batch);
    for (int axis = 2; axis < 4 && point->size > 0; axis++)
        if (is_free(input, axis))
            bind(point, input, axis, point->size);
    return TRUE;
}

static gboolean build(const Export *self, Point *point, GError **error)
{
    g_autofree char *name = export_config_name(point->zoo);
    const IfmZooEntry *entry = ifm_zoo_find(name, error);
    if (entry == NULL)
        return FALSE;
    point->size = export_config_has(entry, "size") ? point->size : 0;
    point->batch = export_config_has(entry, "batch") ? point->batch : 0;
    g_autoptr(GString) words = g_string_new(point->zoo);
    if (point->size > 0)
        g_string_append_printf(words, ",size=%" G_GINT64_FORMAT, point->size);
    if (point->batch > 0)
        g_string_append_printf(words, ",batch=%" G_GINT64_FORMAT, point->batch);
    g_auto(GStrv) all = g_strsplit(words->str, ",", -1);
    point->model = ifm_zoo_build(name, (const char *const *)all + 1, (guint32)self->text->seed, error);
    return point->model != NULL;
}

static gboolean point_init(const Export *self, Point *point, GError **error)
{
    return point->file != NULL ? open_file(self, point, error) : build(self, point, error);
}

/* "resnet18-224-b16" (transfer full) */
static char *stem_of(const Point *point)
{
    g_autoptr(GString) stem = g_string_new(point->file != NULL ? ifm_model_name(point->model) : point->zoo);
    if (point->size > 0)
        g_string_append_printf(stem, "-%" G_GINT64_FORMAT, point->size);
    if (point->batch > 0)
        g_string_append_printf(stem, "-b%" G_GINT64_FORMAT, point->batch);
    return g_string_free(g_steal_pointer(&stem), FALSE);
}

/* --- its optimised graph -------------------------------------------------------------------------------------------- */

/* The graph of a point, in the scratch folder. @version: (out) (transfer full) of the runtime */
static IfmModel *optimise(const Export *self, const Point *point, const char *device, char **version, GError **error)
{
    g_autofree char *path = g_build_filename(self->scratch.path, "model.onnx", NULL);
    g_autofree char *graph = g_build_filename(self->scratch.path, "graph.onnx", NULL);
    const IfmModelCase model_case = {
        .model_path = path, .device = device, .bindings = point->bindings, .n_bindings = point->n_bindings
    };
    const IfmOptimisedFile wanted = { graph, self->text->level == EXPORT_LEVEL_EXTENDED, FALSE };
    if (!ifm_model_save(point->model, path, error) ||
        !ifm_runner_optimise(self->runner, &model_case, &wanted, 1, version, error))
        return NULL;
    return ifm_model_open(graph, error);
}

static gboolean run_once(const Export *self, const Point *point, const char *device, IfmModel *graph, GError **error)
{
    g_autofree char *path = g_build_filename(self->scratch.path, "graph.onnx", NULL);
    gboolean is_bound = TRUE;
    for (gsize i = 0; i < ifm_model_n_inputs(graph); i++)
        for (int axis = 0; axis < ifm_model_input(graph, i)->rank; axis++)
            is_bound = is_bound && !is_free(ifm_model_input(graph, i), axis);
    IfmModelCase model_case = { .model_path = path,
                                .device = device,
                                .as_is = TRUE,
                                .seed = 1,
                                .bindings = point->bindings,
                                .n_bindings = is_bound ? 0 : point->n_bindings,
                                .protocol = IFM_PROTOCOL_INIT };
    model_case.protocol.runs = 1;
    model_case.protocol.warmup = 0;
    g_autofree char *stem = stem_of(point);
    g_autoptr(IfmMeasurement) measurement =
        self->options->measure(stem, &ifm_kind_model, &model_case, self->options->measure_user, error);
    if (measurement == NULL || measurement->outcome == IFM_OUTCOME_OK)
        return measurement != NULL;
    return ifm_error_set(error, IFM_ERROR_FAILED, "the optimised graph does not run: %s", measurement->reason);
}

/* (transfer full) NULL where the machine has the memory that a point needs; else how much that is, and how much there is */
static char *too_large(const Point *point, GError **error)
{
    g_auto(IfmMemoryPlan) memory = { 0 };
    g_autoptr(IfmAnalysis) analysis = ifm_model_analyse(point->model, point->bindings, point->n_bindings, error);
    if (analysis == NULL)
        return NULL;
    ifm_analysis_memory(analysis, &memory);
    const double needed = (double)memory.peak_bytes + (double)memory.parameter_bytes;
    const gint64 available = ifm_sensor_free_bytes("/");
    g_autofree char *needs = ifm_format_bytes(needed), *there = ifm_format_bytes((double)available);
    return available == G_MAXINT64 || needed <= (double)available
               ? NULL
               : g_strdup_printf("batch %" G_GINT64_FORMAT " needs at least %s, there are %s", point->batch, needs, there);
}

/* Runs a graph, or where that is too large its like of batch 1. Returns: (transfer full) what was done */
static char *check_graph(const Export *self, const Point *point, const char *device, IfmModel *graph, GError **error)
{
    g_autoptr(GError) trouble = NULL;
    g_autofree char *why = too_large(point, &trouble);
    if (trouble != NULL)
    {
        g_propagate_error(error, g_steal_pointer(&trouble));
        return NULL;
    }
    if (why == NULL)
        return run_once(self, point, device, graph, error) ? g_strdup("ran") : NULL;
    if (point->batch <= 1)
        return g_strdup_printf("not run: %s", why);
    g_auto(Point) single = { .zoo = point->zoo, .file = point->file, .size = point->size, .batch = 1 };
    g_autofree char *version = NULL;
    if (!point_init(self, &single, error))
        return NULL;
    g_autofree char *still = too_large(&single, NULL);
    if (still != NULL)
        return g_strdup_printf("not run: even %s", still);
    g_autoptr(IfmModel) small = optimise(self, &single, device, &version, error);
    return small != NULL && run_once(self, &single, device, small, error) ? g_strdup_printf("ran at batch 1: %s", why)
                                                                          : NULL;
}

/* --- files ---------------------------------------------------------------------------------------------------------- */

/* Writes a model and reports the files, with what was done of the last. @said: or NULL */
static gboolean write_model(const Export *self, IfmModel *model, const char *name, const char *const *metadata,
                            const char *said, GError **error)
{
    const IfmModelExport options = { .force = self->options->force, .metadata = metadata };
    g_autofree char *path = g_build_filename(self->options->folder, name, NULL);
    g_autoptr(GPtrArray) written = g_ptr_array_new_with_free_func(g_free);
    if (!ifm_model_export(model, path, &options, written, error))
        return FALSE;
    for (guint i = 0; i < written->len; i++)
    {
        const gboolean is_last = i + 1 == written->len;
        if (self->options->written != NULL &&
            !self->options->written(written->pdata[i], is_last ? said : NULL, self->options->user))
            return ifm_error_set(error, IFM_ERROR_CANCELLED, "ended after %s", (const char *)written->pdata[i]);
    }
    return TRUE;
}

static gboolean export_graph(const Export *self, const Point *point, int provider, GError **error)
{
    g_autofree char *version = NULL, *stem = stem_of(point);
    const char *device = provider_devices[provider], *level = export_config_levels[self->text->level];
    g_autoptr(IfmModel) graph = optimise(self, point, device, &version, error);
    g_autofree char *said = graph != NULL ? check_graph(self, point, device, graph, error) : NULL;
    if (said == NULL)
        return FALSE;
    g_autofree char *runtime = g_strdup_printf("onnxruntime %s", version);
    g_autofree char *name =
        g_strdup_printf("%s.onnxruntime-%s-%s-%s.onnx", stem, version, export_config_providers[provider], level);
    const char *const metadata[] = { IFM_MODEL_EXPORTED,
                                     stem,
                                     "inferometer.runtime",
                                     runtime,
                                     "inferometer.provider",
                                     export_config_providers[provider],
                                     "inferometer.level",
                                     level,
                                     NULL };
    return write_model(self, graph, name, metadata, said, error);
}

static gboolean export_point(const Export *self, Point *point, GHashTable *done, GError **error)
{
    if (!point_init(self, point, error))
        return FALSE;
    char *stem = stem_of(point);
    if (!g_hash_table_add(done, stem)) /* sizes or batches of which the model has none */
        return TRUE;
    g_autofree char *name = g_strconcat(stem, ".onnx", NULL);
    const char *const metadata[] = { IFM_MODEL_EXPORTED, stem, NULL };
    if (point->file == NULL && !write_model(self, point->model, name, metadata, NULL, error))
        return FALSE;
    for (guint i = 0; i < self->text->providers->len; i++)
        if (!export_graph(self, point, g_array_index(self->text->providers, int, i), error))
        {
            g_prefix_error(error, "%s: ", stem);
            return FALSE;
        }
    return TRUE;
}

static gboolean export_points(const Export *self, const char *zoo, const IfmScalar *file, GError **error)
{
    g_autoptr(GHashTable) done = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (guint i = 0; i < self->text->sizes->len; i++)
        for (guint k = 0; k < self->text->batches->len; k++)
        {
            g_auto(Point) point = { .zoo = zoo,
                                    .file = file,
                                    .size = g_array_index(self->text->sizes, gint64, i),
                                    .batch = g_array_index(self->text->batches, gint64, k) };
            if (!export_point(self, &point, done, error))
                return FALSE;
        }
    return TRUE;
}

/* Devices are looked for before anything is written: a provider that is not here is not replaced by another. */
static gboolean export_all(const Export *self, GError **error)
{
    const ExportConfig *text = self->text;
    for (guint i = 0; i < text->providers->len; i++)
        if (!ifm_runner_find_device(self->runner, provider_devices[g_array_index(text->providers, int, i)], NULL, error))
            return FALSE;
    if (g_mkdir_with_parents(self->options->folder, 0777) != 0)
        return ifm_error_set(error, IFM_ERROR_UNAVAILABLE, "%s: %s", self->options->folder, g_strerror(errno));
    for (guint i = 0; i < text->models->len; i++)
        if (!export_points(self, text->models->pdata[i], NULL, error))
            return FALSE;
    for (guint i = 0; i < text->files->len; i++)
        if (!export_points(self, NULL, text->files->pdata[i], error))
            return FALSE;
    return TRUE;
}

static gboolean export_into(Export *self, GError **error)
{
    const IfmRunnerOptions options = { .limits = IFM_LIMITS_INIT, .interrupted = self->options->interrupted };
    g_autoptr(IfmRunner) runner = ifm_runner_new(&options);
    self->runner = runner;
    const gboolean is_done = ifm_temporary_make(&self->scratch, error) && export_all(self, error);
    ifm_temporary_clear(&self->scratch);
    return is_done;
}

gboolean ifm_export_config(const char *config, const IfmExportOptions *options, GError **error)
{
    g_autoptr(ExportConfig) text = export_config_read(config, error);
    Export self = { .text = text, .options = options };
    return text != NULL && export_into(&self, error);
}
