#include <string.h>

#include <base/fields.h>
#include <store/store.h>

#include "worker-private.h"

/* What is asked about a model besides times: the shapes of its tensors in one run, of the model compiled without
 * optimisation, whose nodes are its own; and the graph as the runtime optimises it. */

/* A runtime calls a nameless node by its operator and its number in the file, constants apart. */
static GHashTable *name_nodes(const IfmModel *model)
{
    GHashTable *named = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    gsize number = 0;
    for (gsize i = 0; i < ifm_model_n_nodes(model); i++)
    {
        const IfmNode *node = ifm_model_node(model, i);
        char *name = *node->name != '\0' ? g_strdup(node->name) : g_strdup_printf("%s_%zu", node->op_type, number);
        number += !g_str_equal(node->op_type, "Constant");
        gboolean twice = g_hash_table_contains(named, name);
        g_hash_table_insert(named, name, GSIZE_TO_POINTER(twice ? G_MAXSIZE : i + 1));
    }
    return named;
}

static gsize count_outputs(const IfmNode *node)
{
    gsize n = 0;
    for (gsize i = 0; i < node->n_outputs; i++)
        n += *node->outputs[i] != '\0';
    return n;
}

static json_t *shape_to_json(const char *tensor, const IfmNodeOutput *output)
{
    json_t *shape = json_array();
    for (int i = 0; i < output->rank; i++)
        json_array_append_new(shape, json_integer(output->shape[i]));
    return json_pack("{s:o,s:s,s:o}", "tensor", ifm_json_string(tensor), "dtype", ifm_dtype_name(output->dtype), "shape",
                     shape);
}

/* Shapes that are reported by position must be as many as in the model; else they are ignored. */
static void add_outputs(const IfmNodeTime *ran, const IfmNode *node, json_t *shapes)
{
    if (ran->outputs == NULL || !g_str_equal(ran->op_type, node->op_type) || ran->outputs->len != count_outputs(node))
        return;
    guint at = 0;
    for (gsize i = 0; i < node->n_outputs; i++)
    {
        if (*node->outputs[i] == '\0')
            continue;
        const IfmNodeOutput *output = &g_array_index(ran->outputs, IfmNodeOutput, at++);
        if (output->dtype != IFM_DTYPE_UNDEFINED)
            json_array_append_new(shapes, shape_to_json(node->outputs[i], output));
    }
}

static json_t *shapes_of(const IfmModel *model, const IfmEngineProfile *profile)
{
    g_autoptr(GHashTable) named = name_nodes(model);
    json_t *shapes = json_array();
    for (guint i = 0; i < profile->nodes->len; i++)
    {
        const IfmNodeTime *ran = profile->nodes->pdata[i];
        gsize found = GPOINTER_TO_SIZE(g_hash_table_lookup(named, ran->name));
        if (found > 0 && found != G_MAXSIZE)
            add_outputs(ran, ifm_model_node(model, found - 1), shapes);
    }
    return shapes;
}

/* The nodes of a model as it was compiled, each with those of the model that went into it: a record without times. */
static json_t *nodes_of(Worker *worker, IfmModelSubject *subject, const IfmModelCase *model_case, GError **error)
{
    g_autoptr(IfmMeasurement) seen = ifm_measurement_new();
    if (!ifm_breakdown_measure(subject, NULL, &model_case->protocol, &worker->interrupted, NULL, NULL, seen, error))
        return NULL;
    ifm_optimised_parts(subject->compiled, seen);
    return ifm_measurement_to_json(seen);
}

/* @save: where the graph goes that the runtime makes of it, or NULL    @n_steps: as worker_go_on() has it */
static IfmModelSubject *compile(Worker *worker, const IfmModelCase *model_case, IfmCompilePurpose purpose, const char *save,
                                const char *phase, int n_steps, GError **error)
{
    g_autoptr(IfmDeviceSpec) spec = NULL;
    IfmEngine *engine = worker_open_device(worker, model_case->device, &spec, error);
    g_autoptr(IfmModel) model = engine != NULL ? ifm_model_open(model_case->model_path, error) : NULL;
    if (model == NULL || !worker_check_load_fits(engine, spec, model, model_case, error)) /* as far as shapes are known */
        return NULL;
    worker_report_base(worker);
    worker_enter_long_phase(worker, phase, n_steps);
    return ifm_model_subject_new_saving(engine, model, model_case, purpose, save, error);
}

json_t *worker_answer_nodes(Worker *worker, const IfmModelCase *model_case, const json_t *request, GError **error)
{
    g_autoptr(IfmModelSubject) subject =
        compile(worker, model_case, IFM_COMPILE_PROFILED, NULL, "looking at nodes", 2, error);
    json_t *nodes = subject != NULL ? nodes_of(worker, subject, model_case, error) : NULL;
    json_t *answer = nodes != NULL ? worker_engine_to_json(subject->engine) : NULL;
    if (answer != NULL)
        json_object_set_new(answer, "nodes", nodes);
    return answer;
}

json_t *worker_answer_observe(Worker *worker, const IfmModelCase *model_case, const json_t *request, GError **error)
{
    g_autoptr(IfmModelSubject) subject =
        compile(worker, model_case, IFM_COMPILE_OBSERVED, NULL, "looking at shapes", 1, error);
    IfmSubject slots = subject != NULL ? ifm_model_subject_slots(subject) : (IfmSubject){ 0 };
    if (subject == NULL || !slots.run(slots.self, error))
        return NULL;
    g_autoptr(GPtrArray) profiles = ifm_compiled_profile(subject->compiled, subject->requests[0], error);
    if (profiles != NULL && profiles->len > 0)
        return json_pack("{s:o}", "shapes", shapes_of(subject->model, profiles->pdata[0]));
    if (profiles != NULL)
        ifm_error_set(error, IFM_ERROR_UNSUPPORTED, "%s reported nothing about its nodes", model_case->device);
    return NULL;
}

/* --- the algorithms of convolutions ----------------------------------------------------------------------------------- */

/* The first round tries all algorithms: then there are fewer. */
#define RUNS_OF_ROUND 64

static gboolean on_round(int round, int n, void *user)
{
    g_autofree char *phase = g_strdup_printf("measuring algorithms and regions, round %d of %d", round + 1, n);
    return worker_go_on(user, g_intern_string(phase), RUNS_OF_ROUND, NULL);
}

/* The same model without regions, by the runtime's own kernels. */
static IfmModelSubject *compile_plain(Worker *worker, const IfmModelCase *model_case, const char *path, GError **error)
{
    IfmModelCase plain = *model_case;
    g_autofree char *save = g_strconcat(path, ".optimised", NULL);
    plain.model_path = path;
    return compile(worker, &plain, IFM_COMPILE_PROFILED, save, "compiling the model without regions", 2, error);
}

json_t *worker_answer_tune(Worker *worker, const IfmModelCase *model_case, const json_t *request, GError **error)
{
    gint64 level = IFM_TUNE_ALL;
    const char *path = NULL;
    if (!ifm_json_get_int64(request, "request", "level", &level, error) ||
        !ifm_json_get_string(request, "request", "plain", &path, error))
        return NULL;
    g_autoptr(IfmModelSubject) plain = compile_plain(worker, model_case, path, error);
    g_autoptr(IfmModelSubject) subject = NULL;
    if (plain != NULL)
        subject = compile(worker, model_case, IFM_COMPILE_TUNED, NULL, "trying the algorithms of convolutions",
                          RUNS_OF_ROUND, error);
    if (subject == NULL)
        return NULL;
    const IfmTuning tuning = { (IfmTuneLevel)CLAMP(level, 0, IFM_N_TUNE_LEVELS - 1), plain->requests[0], on_round, worker };
    g_autoptr(GPtrArray) layers = ifm_request_tune(subject->requests[0], &tuning, error);
    json_t *answer = layers != NULL ? worker_engine_to_json(subject->engine) : NULL;
    if (answer != NULL)
        json_object_set_new(answer, "layers", ifm_tuned_layers_to_json(layers));
    return answer;
}

/* --- the graph as the runtime optimises it ---------------------------------------------------------------------------- */

json_t *worker_answer_optimise(Worker *worker, const IfmModelCase *model_case, const json_t *request, GError **error)
{
    g_autoptr(IfmDeviceSpec) spec = NULL;
    IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
    if (!ifm_json_get_string(request, "request", "file", &options.save_optimised, error) ||
        !ifm_json_get_boolean(request, "request", "keep_layout", &options.keep_layout, error) ||
        !ifm_json_get_boolean(request, "request", "keep_operators", &options.keep_operators, error) ||
        !ifm_json_get_boolean(request, "request", "outline", &options.save_outline, error))
        return NULL;
    IfmEngine *engine = worker_open_device(worker, model_case->device, &spec, error);
    g_autoptr(IfmModel) model = engine != NULL ? ifm_model_open(model_case->model_path, error) : NULL;
    if (model == NULL || !ifm_model_check_bindings(model, model_case->bindings, model_case->n_bindings, error))
        return NULL;
    worker_enter_phase(worker, "optimising the graph");
    options.dtype = model_case->dtype;
    options.threads = model_case->threads;
    options.bindings = options.keep_operators ? NULL : model_case->bindings; /* what is of no processor is of all sizes */
    options.n_bindings = options.keep_operators ? 0 : model_case->n_bindings;
    options.vendor = model_case->vendor;
    g_autoptr(IfmCompiled) compiled = ifm_engine_compile(engine, model, spec, &options, error);
    return compiled != NULL ? worker_engine_to_json(engine) : NULL;
}
