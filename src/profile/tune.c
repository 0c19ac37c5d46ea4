/* A model is tuned: partitioned, its algorithms measured within it, the whole compared with the runtime's own, and written.
 */
#include <glib/gstdio.h>
#include <math.h>
#include <sched.h>
#include <string.h>
#include <sys/stat.h>

#include <base/base.h>
#include <base/fields.h>
#include <blocked/blocked.h>
#include <engine/engine.h>
#include <measure/rounds.h>
#include <profile/tune.h>
#include <regions/regions.h>
#include <sensor/sensor.h>

#include "profile-private.h"
#include "tune-private.h"

#define OPTION(member) .at = G_STRUCT_OFFSET(IfmTuneOptions, member)

const IfmOption ifm_tune_options[] = {
    { "out", IFM_OPTION_FILE, "FILE", "the tuned model to write", OPTION(path), .letter = 'o' },
    { "device", IFM_OPTION_TEXT, "DEVICE", "what it is tuned for: onnxruntime:CPU, with @CORES", "onnxruntime:CPU",
      OPTION(device), .letter = 'd' },
    { .table = ifm_model_options, OPTION(open) },
    { "threads", IFM_OPTION_COUNT, "N", "threads of the runtime; 0: as many as the device has cores", "0", .maximum = 4096,
      OPTION(threads), .letter = 't' },
    { "option", IFM_OPTION_TEXT, "[ENGINE:]KEY=VALUE", "a setting in the runtime's own words", OPTION(vendor),
      .repeatable = TRUE },
    { "margin", IFM_OPTION_RATIO, "PERCENT", "a difference within this is none", "1%", OPTION(margin) },
    { "time-budget", IFM_OPTION_DURATION, "TIME", "the maximum time for the comparison of the whole; 0: no limit", "60s",
      OPTION(time_budget_ns) },
    { "seed", IFM_OPTION_COUNT, "N", "seed of the inputs, of a zoo model's weights, and of who begins", "1",
      .maximum = G_MAXUINT32, OPTION(seed) },
    IFM_PROTOCOL_ROW_TIMEOUT(G_STRUCT_OFFSET(IfmTuneOptions, protocol), "60s"),
    IFM_PROTOCOL_ROW_MEMORY_LIMIT(G_STRUCT_OFFSET(IfmTuneOptions, protocol), "0"),
    { "output", IFM_OPTION_FOLDER, "DIR", "folder of the store (store.db) and of the zoo's models", "out/tune",
      OPTION(output) },
    { NULL },
};

void ifm_tune_options_init(IfmTuneOptions *options)
{
    IfmProfileOptions usual;
    ifm_profile_options_init(&usual);
    *options = (IfmTuneOptions){ .protocol = usual.protocol };
    ifm_options_init(ifm_tune_options, options);
}

static void layer_free(gpointer data)
{
    IfmTuneLayer *layer = data;
    g_free(layer->layer);
    g_free(layer->algorithm);
    g_free(layer->implementation);
    g_free(layer->why);
    g_free(layer);
}

void ifm_tuned_clear(IfmTuned *tuned)
{
    g_clear_pointer(&tuned->layers, g_ptr_array_unref);
    char **const texts[] = { &tuned->model,     &tuned->processor, &tuned->isa, &tuned->runtime,
                             &tuned->predicted, &tuned->path,      &tuned->why };
    for (gsize i = 0; i < G_N_ELEMENTS(texts); i++)
        g_clear_pointer(texts[i], g_free);
    ifm_comparison_clear(&tuned->comparison);
}

/* Tuning: in hand. @graph: as the runtime's rules for any processor leave the model    @keep: gboolean, of each region of
 * the report whether it is told apart from the runtime's own as slower or stays; NULL: none was measured
 * @least: how many times the runtime's time a region takes, of that which takes the least */
typedef struct
{
    const IfmTuneOptions *options;
    const gint *interrupted;
    IfmProfilePlan *plan;
    IfmRunner *runner;
    IfmTemporary folder;
    IfmModel *graph;
    IfmRegionsReport report;
    GPtrArray *algorithms; /* char* or NULL, of each convolution */
    GArray *keep;
    double least;
    IfmTuned *tuned;
} Tuning;

static void tuning_clear(Tuning *self)
{
    ifm_profile_plan_free(self->plan);
    ifm_runner_free(self->runner);
    ifm_model_unref(self->graph);
    ifm_regions_report_clear(&self->report);
    g_clear_pointer(&self->algorithms, g_ptr_array_unref);
    g_clear_pointer(&self->keep, g_array_unref);
    ifm_temporary_clear(&self->folder);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Tuning, tuning_clear)

/* --- what is asked for ------------------------------------------------------------------------------------------------ */

/* Whether two paths are one file, also through links. */
static gboolean is_same_file(const char *a, const char *b)
{
    struct stat first, second;
    return stat(a, &first) == 0 && stat(b, &second) == 0 && first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

/* Neither the model nor its weights in files of their own are written over. */
static gboolean check_own_files(const Tuning *self, GError **error)
{
    const char *path = self->options->path;
    g_auto(GStrv) files = ifm_model_files(self->plan->source.model);
    for (gsize i = 0; files[i] != NULL; i++)
        if (is_same_file(path, files[i]))
            return ifm_error_refuse(error, "%s %s: write the tuned model to another file", path,
                                    i == 0 ? "is the model itself" : "has the model's weights");
    return TRUE;
}

/* Whether something else than a model is there. Nothing is lost with an empty file. */
static gboolean is_other(const char *path)
{
    struct stat there;
    if (stat(path, &there) != 0 || !S_ISREG(there.st_mode) || there.st_size == 0)
        return FALSE;
    g_autoptr(IfmModel) model = ifm_model_open_outline(path, NULL);
    return model == NULL;
}

/* What could not be written in the end is refused before anything is measured. */
static gboolean check_path(const Tuning *self, GError **error)
{
    const char *path = self->options->path;
    g_autofree char *folder = g_path_get_dirname(path);
    if (!check_own_files(self, error) || !ifm_file_check_link(path, error))
        return FALSE;
    if (is_other(path))
        return ifm_error_refuse(error, "%s is there, and is no ONNX model: remove it, or write to another file", path);
    if (g_file_test(path, G_FILE_TEST_IS_DIR))
        return ifm_error_refuse(error, "%s is a folder", path);
    if (g_access(folder, W_OK) != 0)
        return ifm_error_set(error, IFM_ERROR_UNAVAILABLE, "%s: cannot be written: no such folder, or no permission", path);
    return TRUE;
}

/* What is no matter of sizes is refused before any is asked for. */
static gboolean check_file(const char *path, GError **error)
{
    g_autoptr(IfmModel) model = g_file_test(path, G_FILE_TEST_IS_REGULAR) ? ifm_model_open_outline(path, NULL) : NULL;
    return model == NULL || ifm_regions_check(model, error);
}

/* The type that a convolution computes in. */
static IfmDtype dtype_of(const Tuning *self, const IfmNode *node)
{
    IfmDtype dtype;
    int rank;
    gint64 shape[IFM_MAX_RANK];
    const gboolean is_known =
        node->n_inputs > 0 && ifm_analysis_shape(self->plan->analysis, node->inputs[0], &dtype, &rank, shape);
    return is_known ? dtype : IFM_DTYPE_F32; /* of a function's nodes: the graph that the runtime leaves tells */
}

/* @model: without functions. Its own first convolution is named, where it says that none can be tuned. */
static gboolean check_convs(const Tuning *self, const IfmModel *model, GError **error)
{
    const char *name = ifm_model_name(self->plan->source.model);
    const IfmNode *first = NULL;
    for (gsize i = 0; i < ifm_model_n_nodes(model); i++)
    {
        const IfmNode *node = ifm_model_node(model, i);
        if (g_str_equal(node->op_type, "Conv") && dtype_of(self, node) == IFM_DTYPE_F32)
            return TRUE;
        if (first == NULL && strstr(node->op_type, "Conv") != NULL)
            first = node;
    }
    if (first == NULL)
        return ifm_error_refuse(error, "%s has no convolution", name);
    const gboolean is_conv = g_str_equal(first->op_type, "Conv");
    return ifm_error_refuse(error, "%s: no convolution can be tuned: the first, \"%s\", is %s %s", name,
                            *first->name != '\0' ? first->name : first->outputs[0], is_conv ? "in" : "a",
                            is_conv ? ifm_dtype_name(dtype_of(self, first)) : first->op_type);
}

/* The model itself says most of what stands in the way; the graph that the runtime leaves says the rest. */
static gboolean check_model(const Tuning *self, GError **error)
{
    IfmModel *model = self->plan->source.model;
    g_autoptr(IfmModel) inlined = NULL;
    if (ifm_model_stored_bytes(model) > G_MAXINT32)
        return ifm_error_refuse(error, "%s: its weights are more than the 2 GiB that one ONNX file can hold",
                                ifm_model_name(model));
    return ifm_model_inline_functions(model, &inlined, error) &&
           check_convs(self, inlined != NULL ? inlined : model, error);
}

/* Elsewhere regions do not run, or not where the rest of the model does. */
static gboolean check_device(const Tuning *self, GError **error)
{
    g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse(self->plan->base.device, error);
    if (spec == NULL)
        return FALSE;
    return (g_str_equal(spec->engine, "onnxruntime") && g_str_equal(spec->unit, "CPU")) ||
           ifm_error_set(error, IFM_ERROR_UNSUPPORTED, "%s: a model is tuned for onnxruntime:CPU alone", spec->text);
}

static gboolean open_model(Tuning *self, GError **error)
{
    const IfmTuneOptions *options = self->options;
    IfmProfileOptions usual;
    ifm_profile_options_init(&usual);
    self->plan = ifm_profile_plan_new(&usual);
    IfmProfileOptions *of = &self->plan->options;
    const char **devices = g_new0(const char *, 2);
    devices[0] = options->device;
    g_ptr_array_add(self->plan->owned, devices);
    of->model = options->model;
    of->devices = devices;
    of->open = options->open;
    of->vendor = options->vendor;
    of->threads = options->threads;
    of->seed = options->seed;
    of->output = options->output;
    of->watch = options->watch;
    return check_file(options->model, error) && profile_plan_init_side(self->plan, NULL, "device", error) &&
           check_device(self, error) && check_model(self, error) && check_path(self, error);
}

/* --- the graph and its algorithms ------------------------------------------------------------------------------------- */

static void tell(const Tuning *self, const char *what)
{
    profile_report(self->options->watch, &(IfmProgress){ .n_cases = 1 });
    profile_report(self->options->watch, &(IfmProgress){ .title = what });
}

static void on_progress(const IfmProgress *now, void *watch)
{
    profile_report(watch, now);
}

static void tell_end(const Tuning *self, gboolean is_good)
{
    profile_report(self->options->watch, &(IfmProgress){ .outcome = is_good ? "ok" : "failed" });
}

static char *file_of(const Tuning *self, const char *name)
{
    return g_build_filename(self->folder.path, name, NULL);
}

static gboolean make_graph(Tuning *self, GError **error)
{
    g_autofree char *path = file_of(self, "graph.onnx");
    const IfmOptimisedFile file = { .path = path, .keep_operators = TRUE };
    tell(self, "optimising the graph");
    if (ifm_runner_optimise(self->runner, &self->plan->base, &file, 1, &self->tuned->runtime, error))
        self->graph = ifm_model_open(path, error);
    tell_end(self, self->graph != NULL);
    return self->graph != NULL;
}

/* (transfer full) @metadata: or NULL */
static IfmModel *partition(Tuning *self, const char *const *metadata, IfmRegionsReport *report, GError **error)
{
    const IfmRegionsOptions options = { .n_threads = self->tuned->n_threads,
                                        .algorithms = self->algorithms,
                                        .keep = self->keep,
                                        .metadata = metadata,
                                        .name = self->tuned->model };
    return ifm_regions_partition(self->graph, &options, report, error);
}

/* The convolution of the report that a region's is. */
static guint find_conv(const IfmRegionsReport *report, const IfmTunedLayer *layer)
{
    const guint region = (guint)g_ascii_strtoull(layer->node + strcspn(layer->node, "0123456789"), NULL, 10);
    for (guint i = 0; i < report->convs->len; i++)
    {
        const IfmRegionConv *conv = &g_array_index(report->convs, IfmRegionConv, i);
        if (conv->why == NULL && conv->region == region && conv->layer == (guint)layer->index)
            return i;
    }
    return G_MAXUINT;
}

static void add_layers(Tuning *self)
{
    self->tuned->layers = g_ptr_array_new_with_free_func(layer_free);
    self->algorithms = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; i < self->report.convs->len; i++)
    {
        const IfmRegionConv *conv = &g_array_index(self->report.convs, IfmRegionConv, i);
        IfmTuneLayer *layer = g_new0(IfmTuneLayer, 1);
        *layer = (IfmTuneLayer){ .layer = g_strdup(conv->name),
                                 .algorithm = g_strdup(conv->why == NULL ? "any" : "runtime"),
                                 .implementation = g_strdup(""),
                                 .why = g_strdup(conv->why) };
        g_ptr_array_add(self->tuned->layers, layer);
        g_ptr_array_add(self->algorithms, NULL);
    }
}

/* A region that is told apart from the runtime's own as slower is left to it. Tests need a file, and which is faster is the
 * machine's affair. */
static gboolean leaves(const IfmTunedLayer *found)
{
    return found->is_slower && g_getenv("IFM_TUNE_ANYWAY") == NULL;
}

static void take_layer(Tuning *self, const IfmTunedLayer *found)
{
    const guint at = find_conv(&self->report, found);
    if (at == G_MAXUINT)
        return;
    const gboolean is_left = leaves(found);
    const double ratio = found->runtime_ns > 0 ? found->region_ns / found->runtime_ns : 0;
    IfmTuneLayer *layer = self->tuned->layers->pdata[at];
    char **const texts[] = { &layer->algorithm, &layer->implementation, &layer->why,
                             (char **)&self->algorithms->pdata[at] };
    for (gsize i = 0; i < G_N_ELEMENTS(texts); i++)
        g_clear_pointer(texts[i], g_free);
    layer->algorithm = g_strdup(is_left ? "runtime" : found->algorithm);
    layer->implementation = g_strdup(is_left ? "" : found->implementation);
    layer->why = is_left ? g_strdup_printf("the runtime's own is faster: %.2f times", ratio) : NULL;
    layer->time_ns = is_left ? 0 : found->time_ns;
    layer->rule_ns = is_left ? 0 : found->rule_ns;
    self->algorithms->pdata[at] = g_strdup(found->algorithm);
    g_array_index(self->keep, gboolean, g_array_index(self->report.convs, IfmRegionConv, at).region) = !is_left;
    self->least = MIN(self->least, ratio);
}

static gboolean keeps_any(const Tuning *self)
{
    gboolean any = self->keep == NULL; /* of predictions */
    for (guint i = 0; self->keep != NULL && i < self->keep->len; i++)
        any |= g_array_index(self->keep, gboolean, i);
    return any;
}

static gboolean make_regions(Tuning *self, GError **error)
{
    g_autofree char *path = file_of(self, "regions.onnx");
    g_autoptr(IfmModel) model = partition(self, NULL, &self->report, error);
    if (model == NULL || !ifm_model_save(model, path, error))
        return FALSE;
    add_layers(self);
    return TRUE;
}

/* The algorithms take turns within the model, then the regions and the runtime's own kernels. */
static gboolean measure_layers(Tuning *self, IfmTuneLevel level, GError **error)
{
    g_autofree char *path = file_of(self, "regions.onnx"), *plain = file_of(self, "graph.onnx");
    const gboolean kept = TRUE;
    IfmModelCase model_case = self->plan->base;
    tell(self, "measuring the algorithms of convolutions");
    model_case.model_path = path;
    g_autoptr(GPtrArray) found = ifm_runner_tune(self->runner, &model_case, level, plain, error);
    g_clear_pointer(&self->keep, g_array_unref);
    self->keep = g_array_new(FALSE, FALSE, sizeof(gboolean));
    self->least = INFINITY;
    for (guint i = 0; i < self->report.n_regions; i++)
        g_array_append_val(self->keep, kept);
    for (guint i = 0; found != NULL && i < found->len; i++)
        take_layer(self, found->pdata[i]);
    tell_end(self, found != NULL);
    return found != NULL;
}

/* --- predicted algorithms --------------------------------------------------------------------------------------------- */

static void prediction_free(gpointer data)
{
    IfmTunePrediction *prediction = data;
    g_free(prediction->layer);
    g_free(prediction->algorithm);
    g_free(prediction);
}

GPtrArray *ifm_tune_predictions_new(void)
{
    return g_ptr_array_new_with_free_func(prediction_free);
}

static const IfmTunePrediction *find_prediction(const GPtrArray *predictions, const char *layer)
{
    for (guint i = 0; i < predictions->len; i++)
        if (g_str_equal(((const IfmTunePrediction *)predictions->pdata[i])->layer, layer))
            return predictions->pdata[i];
    return NULL;
}

/* What nothing is known of keeps the rule's. */
static void take_prediction(Tuning *self, guint at, const IfmTunePrediction *found)
{
    IfmTuneLayer *layer = self->tuned->layers->pdata[at];
    g_clear_pointer((char **)&self->algorithms->pdata[at], g_free);
    if (layer->why != NULL)
        return;
    g_free(layer->algorithm);
    layer->algorithm = g_strdup(found != NULL ? found->algorithm : "any");
    layer->predicted_ns = found != NULL ? found->time_ns : 0;
    self->algorithms->pdata[at] = g_strdup(layer->algorithm);
}

static gboolean predict_layers(Tuning *self, IfmTuneLevel level, GError **error)
{
    const IfmTunePredictor *by = self->options->predictor;
    const IfmModelCase *model_case = &self->plan->base;
    tell(self, "predicting the algorithms of convolutions");
    g_autoptr(GPtrArray) found = by->predict(by->user, self->graph, model_case->bindings, model_case->n_bindings,
                                             self->tuned->n_threads, level, error);
    for (guint i = 0; found != NULL && i < self->tuned->layers->len; i++)
        take_prediction(self, i, find_prediction(found, ((const IfmTuneLayer *)self->tuned->layers->pdata[i])->layer));
    tell_end(self, found != NULL);
    return found != NULL;
}

/* --- the whole -------------------------------------------------------------------------------------------------------- */

static gboolean compare(Tuning *self, const char *path, GError **error)
{
    const IfmTuneOptions *options = self->options;
    IfmCompareOptions of;
    ifm_compare_options_init(&of);
    of.models[0] = options->model;
    of.models[1] = path;
    of.device = options->device;
    of.open = options->open;
    of.threads = options->threads;
    of.vendor = options->vendor;
    of.margin = options->margin;
    of.time_budget_ns = options->time_budget_ns;
    of.seed = options->seed;
    of.protocol = options->protocol;
    of.output = options->output;
    of.watch = options->watch;
    return ifm_compare_models(&of, self->interrupted, &self->tuned->comparison, error);
}

static gboolean is_right(const Tuning *self)
{
    const IfmComparison *comparison = &self->tuned->comparison;
    const char *status = ifm_member_text(comparison->measurements[1]->verification, "status");
    return !comparison->outputs_differ && g_strcmp0(status, "failed") != 0;
}

/* --- what it was tuned for -------------------------------------------------------------------------------------------- */

static json_t *sizes_to_json(const IfmModelCase *model_case)
{
    json_t *sizes = json_object();
    for (gsize i = 0; i < model_case->n_bindings; i++)
        json_object_set_new(sizes, model_case->bindings[i].name, json_integer(model_case->bindings[i].value));
    return sizes;
}

static json_t *layers_to_json(const GPtrArray *layers)
{
    json_t *json = json_array();
    for (guint i = 0; i < layers->len; i++)
    {
        const IfmTuneLayer *layer = layers->pdata[i];
        json_t *row = json_pack("{s:o,s:s,s:s}", "layer", ifm_json_string(layer->layer), "algorithm", layer->algorithm,
                                "implementation", layer->implementation);
        if (layer->time_ns > 0)
            json_object_update_new(row, json_pack("{s:f,s:f}", "time_ns", layer->time_ns, "rule_ns", layer->rule_ns));
        if (layer->predicted_ns > 0)
            json_object_set_new(row, "predicted_ns", json_real(layer->predicted_ns));
        if (layer->why != NULL)
            json_object_set_new(row, "why", ifm_json_string(layer->why));
        json_array_append_new(json, row);
    }
    return json;
}

static json_t *tuned_for(const Tuning *self)
{
    const IfmTuned *tuned = self->tuned;
    const IfmComparison *comparison = &tuned->comparison;
    json_t *json = json_pack("{s:i,s:s,s:o,s:s,s:i,s:o,s:s}", "format", 1, "version", IFM_VERSION, "processor",
                             ifm_json_string(tuned->processor), "instruction_set", tuned->isa, "threads", tuned->n_threads,
                             "runtime", ifm_json_string(tuned->runtime), "device", self->options->device);
    json_object_set_new(json, "threads_from", json_string(tuned->threads_from));
    if (tuned->predicted != NULL)
        json_object_set_new(json, "predicted", ifm_json_string(tuned->predicted));
    tuned_keep_origin(json, comparison);
    json_object_set_new(json, "sizes", sizes_to_json(&self->plan->base));
    json_object_set_new(json, "layers", layers_to_json(tuned->layers));
    json_object_set_new(json, "gain",
                        json_pack("{s:f,s:f,s:f,s:f,s:f,s:f}", "ratio", comparison->ratio, "lower",
                                  comparison->interval.lower, "upper", comparison->interval.upper, "level",
                                  comparison->interval.level, "runtime_ns", comparison->a_ns, "tuned_ns",
                                  comparison->b_ns));
    return json;
}

#define LIBRARY                                                                                                            \
    "Register libinferometer_ops.so of inferometer " IFM_VERSION " with the session: "                                     \
    "SessionOptions.register_custom_ops_library(inferometer.ops_library()) in Python, RegisterCustomOpsLibrary_V2 in C; "  \
    "it is in the package inferometer, and in lib of an installation"

static gboolean write_model(Tuning *self, GError **error)
{
    json_auto_t *json = tuned_for(self);
    g_autofree char *text = json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(9));
    const char *const metadata[] = {
        IFM_TUNED_METADATA, text, IFM_TUNED_LIBRARY, LIBRARY, IFM_MODEL_EXPORTED, "tune", NULL
    };
    const IfmModelExport how = { .named = TRUE };
    g_autoptr(GPtrArray) written = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(IfmModel) model = partition(self, metadata, NULL, error);
    if (model == NULL || !ifm_model_export(model, self->options->path, &how, written, error))
        return FALSE;
    self->tuned->path = g_strdup(self->options->path);
    return TRUE;
}

static gboolean choose_layers(Tuning *self, IfmTuneLevel level, GError **error)
{
    return (self->options->predictor != NULL ? predict_layers : measure_layers)(self, level, error);
}

static gboolean save_tuned(Tuning *self, const char *path, GError **error)
{
    g_auto(IfmRegionsReport) report = { 0 };
    g_autoptr(IfmModel) model = partition(self, NULL, &report, error);
    self->tuned->n_taken = report.n_taken;
    self->tuned->n_regions = report.n_regions;
    self->tuned->n_nodes = report.n_nodes;
    return model != NULL && ifm_model_save(model, path, error);
}

/* Nothing is left to compare where each region is slower. */
static gboolean try_level(Tuning *self, IfmTuneLevel level, GError **error)
{
    g_autofree char *path = file_of(self, "tuned.onnx");
    if (!choose_layers(self, level, error))
        return FALSE;
    if (keeps_any(self))
        return save_tuned(self, path, error) && compare(self, path, error);
    self->tuned->why =
        g_strdup_printf("no region is as fast as the runtime's own kernels for it: %s takes %.2f times their time",
                        self->keep->len > 1 ? "the best" : "it", self->least);
    return TRUE;
}

/* Transforms amplify rounding; where that is more than the model's own does, algorithms that do so less are tried. */
static gboolean judge(Tuning *self, GError **error)
{
    gboolean is_done = FALSE;
    for (int level = IFM_TUNE_ALL; level < IFM_N_TUNE_LEVELS && !is_done; level++)
    {
        g_autoptr(GError) trouble = NULL;
        self->tuned->comparison.is_b_wrong = FALSE;
        is_done = try_level(self, (IfmTuneLevel)level, &trouble);
        if (!is_done && (!self->tuned->comparison.is_b_wrong || level + 1 == IFM_N_TUNE_LEVELS))
            return ifm_error_pass(error, g_steal_pointer(&trouble));
        if (!is_done)
            profile_note(self->options->watch, "%s: algorithms that round less are tried", trouble->message);
    }
    if (profile_is_interrupted(self->interrupted))
        return ifm_error_set(error, IFM_ERROR_CANCELLED, "interrupted");
    if (self->tuned->why != NULL)
        return TRUE;
    self->tuned->why = tuned_why_not(&self->tuned->comparison, is_right(self));
    const gboolean is_for_test = g_getenv("IFM_TUNE_ANYWAY") != NULL && is_right(self);
    return (self->tuned->why != NULL && !is_for_test) || write_model(self, error);
}

/* --- all of it -------------------------------------------------------------------------------------------------------- */

static void note_threads(const Tuning *self)
{
    g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse(self->plan->base.device, NULL);
    IfmTuned *tuned = self->tuned;
    cpu_set_t mask;
    tuned->n_threads = self->plan->base.threads;
    tuned->threads_from = "as --threads said";
    if (tuned->n_threads == 0 && spec != NULL)
    {
        tuned->n_threads = (int)spec->n_cores;
        tuned->threads_from = "as many as the device has cores";
    }
    if (tuned->n_threads > 0)
        return;
    tuned->n_threads = sched_getaffinity(0, sizeof mask, &mask) == 0 ? CPU_COUNT(&mask) : 1;
    tuned->threads_from = "as many as the processors that the process was allowed to use";
}

static void note_place(Tuning *self)
{
    json_auto_t *machine = ifm_sensor_machine(NULL);
    const char *most = ifm_blocked_max_isa(), *isa = ifm_blocked_isa(16, most);
    self->tuned->model = g_strdup(ifm_model_name(self->plan->source.model));
    self->tuned->processor = g_strdup(ifm_member_text(machine, "cpu"));
    self->tuned->isa = g_strdup(isa != NULL ? isa : ifm_blocked_isa(8, most));
    note_threads(self);
    if (self->options->predictor != NULL)
        self->tuned->predicted = g_strdup(self->options->predictor->what);
}

/* Up to the graph's regions, which then are measured. */
static gboolean prepare(Tuning *self, GError **error)
{
    const IfmLimits usual = IFM_LIMITS_INIT;
    const IfmRunnerOptions runner = { .limits = ifm_limits_with(&usual, &self->options->protocol),
                                      .interrupted = self->interrupted,
                                      .progress = on_progress,
                                      .progress_user = (gpointer)self->options->watch };
    if (!open_model(self, error) || !ifm_temporary_make(&self->folder, error))
        return FALSE;
    note_place(self);
    self->runner = ifm_runner_new(&runner);
    return make_graph(self, error) && make_regions(self, error);
}

static gboolean check_options(const IfmTuneOptions *options, GError **error)
{
    if (options->model == NULL)
        return ifm_error_misuse(error, "needs a model: a file, or a name of the zoo");
    if (options->path == NULL)
        return ifm_error_misuse(error, "needs -o FILE: where the tuned model goes");
    return ifm_options_check(ifm_tune_options, options, error);
}

gboolean ifm_tune_model(const IfmTuneOptions *options, const gint *interrupted, IfmTuned *tuned, GError **error)
{
    g_auto(Tuning) self = { .options = options, .interrupted = interrupted, .tuned = tuned };
    if (check_options(options, error) && prepare(&self, error) && judge(&self, error))
        return TRUE;
    ifm_tuned_clear(tuned);
    return FALSE;
}

gboolean ifm_tune_layers(const IfmTuneOptions *options, const gint *interrupted, IfmTuned *tuned, GError **error)
{
    g_auto(Tuning) self = { .options = options, .interrupted = interrupted, .tuned = tuned };
    if (check_options(options, error) && prepare(&self, error) && choose_layers(&self, IFM_TUNE_ALL, error) &&
        save_tuned(&self, options->path, error))
        return TRUE;
    ifm_tuned_clear(tuned);
    return FALSE;
}

gboolean ifm_tuned_is_compared(const IfmTuned *tuned)
{
    return tuned->comparison.cases[0] != NULL;
}

json_t *ifm_tuned_json(const IfmTuned *tuned)
{
    json_t *json = ifm_json_begin("tuned", 1);
    json_object_set_new(json, "model", ifm_json_string(tuned->model));
    json_object_set_new(json, "written", tuned->path != NULL ? ifm_json_string(tuned->path) : json_null());
    json_object_set_new(json, "why", tuned->why != NULL ? ifm_json_string(tuned->why) : json_null());
    json_object_update_new(json,
                           json_pack("{s:o,s:s,s:i,s:o}", "processor", ifm_json_string(tuned->processor), "instruction_set",
                                     tuned->isa, "threads", tuned->n_threads, "runtime", ifm_json_string(tuned->runtime)));
    if (tuned->predicted != NULL)
        json_object_set_new(json, "predicted", ifm_json_string(tuned->predicted));
    json_object_set_new(json, "layers", layers_to_json(tuned->layers));
    json_object_set_new(json, "comparison",
                        ifm_tuned_is_compared(tuned) ? ifm_comparison_to_json(&tuned->comparison) : json_null());
    return json;
}
