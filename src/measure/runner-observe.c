#include <base/fields.h>
#include <store/store.h>

#include "runner-private.h"

/* The runner asks a worker of its own for a model's optimised graph, the nodes that ran, or the shapes that it observed. */

void ifm_observed_shapes_clear(IfmObservedShapes *observed)
{
    g_clear_pointer(&observed->shapes, g_array_unref);
    json_decref(observed->names);
    observed->names = NULL;
}

/* Returns: FALSE for what is no shape; the worker's words are checked like anybody's. */
static gboolean read_shape(const json_t *json, IfmObservedShape *shape)
{
    const json_t *dims = json_object_get(json, "shape");
    *shape = (IfmObservedShape){ .tensor = ifm_member_text(json, "tensor") };
    const char *dtype = ifm_member_text(json, "dtype");
    if (shape->tensor == NULL || dtype == NULL || !json_is_array(dims) || json_array_size(dims) > IFM_MAX_RANK)
        return FALSE;
    shape->dtype = ifm_dtype_from_name(dtype);
    shape->rank = (int)json_array_size(dims);
    for (int i = 0; i < shape->rank; i++)
    {
        shape->shape[i] = json_integer_value(json_array_get(dims, (gsize)i));
        if (shape->shape[i] < 0)
            return FALSE;
    }
    return TRUE;
}

json_t *ifm_runner_model_json(const IfmModelCase *given, GError **error)
{
    IfmModelCase whole = *given;
    g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse(whole.device, error);
    if (spec == NULL || !ifm_case_complete_dtype(&whole, error))
        return NULL;
    g_autofree char *path = g_canonicalize_filename(whole.model_path, NULL);
    g_autofree char *inputs = whole.inputs_path != NULL ? g_canonicalize_filename(whole.inputs_path, NULL) : NULL;
    whole.model_path = path;
    whole.inputs_path = inputs;
    whole.device = spec->text;
    return ifm_record_to_json(&whole, ifm_kind_model.fields);
}

/* What the worker is at goes where the runner's progress goes. */
static void on_phase(const json_t *message, void *user)
{
    const IfmRunnerOptions *options = user;
    const char *phase = ifm_member_text(message, "phase");
    if (phase != NULL && options->progress != NULL)
        options->progress(&(IfmProgress){ .phase = phase }, options->progress_user);
}

/* @request: (transfer full) without the case
 * Returns: (transfer full) the answer of a process of its own: what a run leaves allocated would be in a later case's
 * figures of memory. */
static json_t *ask(IfmRunner *runner, const IfmModelCase *model_case, const char *what, json_t *request, GError **error)
{
    json_t *whole = ifm_runner_model_json(model_case, error);
    if (whole == NULL)
    {
        json_decref(request);
        return NULL;
    }
    json_object_set_new(request, "case", whole);
    IfmWorkerWatch watch = ifm_runner_watch(runner);
    watch.said = on_phase;
    watch.user = &runner->options;
    g_autofree char *key = g_strdup_printf("%s on %s", what, ifm_member_text(whole, "device"));
    json_t *answer = ifm_runner_ask(runner, key, request, &watch, error);
    ifm_runner_drop_worker(runner, key);
    return answer;
}

gboolean ifm_runner_optimise(IfmRunner *runner, const IfmModelCase *model_case, const IfmOptimisedFile *files, gsize n,
                             char **version, GError **error)
{
    for (gsize i = 0; i < n; i++)
    {
        g_autofree char *file = g_canonicalize_filename(files[i].path, NULL);
        json_auto_t *answer =
            ask(runner, model_case, "graph",
                json_pack("{s:s,s:o,s:b,s:b,s:b}", "do", "optimise", "file", ifm_json_string(file), "keep_layout",
                          files[i].keep_layout, "keep_operators", files[i].keep_operators, "outline", files[i].outline),
                error);
        const char *said = ifm_member_text(answer, "version");
        if (answer == NULL)
            return FALSE;
        if (version != NULL && i == 0)
            *version = g_strdup(said != NULL ? said : "");
    }
    return TRUE;
}

IfmMeasurement *ifm_runner_nodes(IfmRunner *runner, const IfmModelCase *model_case, char **version, GError **error)
{
    json_auto_t *answer = ask(runner, model_case, "nodes", json_pack("{s:s}", "do", "nodes"), error);
    if (answer == NULL)
        return NULL;
    *version = g_strdup(ifm_member_text(answer, "version"));
    return ifm_measurement_from_json(json_object_get(answer, "nodes"), error);
}

GPtrArray *ifm_runner_tune(IfmRunner *runner, const IfmModelCase *model_case, int level, const char *plain, GError **error)
{
    g_autofree char *file = g_canonicalize_filename(plain, NULL);
    json_auto_t *answer =
        ask(runner, model_case, "convolutions",
            json_pack("{s:s,s:i,s:o}", "do", "tune", "level", level, "plain", ifm_json_string(file)), error);
    return answer == NULL ? NULL : ifm_tuned_layers_from_json(json_object_get(answer, "layers"), error);
}

gboolean ifm_runner_observe(IfmRunner *runner, const IfmModelCase *model_case, IfmObservedShapes *observed, GError **error)
{
    *observed = (IfmObservedShapes){ 0 };
    json_auto_t *answer = ask(runner, model_case, "shapes", json_pack("{s:s}", "do", "observe"), error);
    if (answer == NULL)
        return FALSE;
    json_t *list = json_object_get(answer, "shapes"), *entry;
    observed->shapes = g_array_new(FALSE, FALSE, sizeof(IfmObservedShape));
    observed->names = list != NULL ? json_incref(list) : json_array();
    size_t i;
    json_array_foreach(list, i, entry)
    {
        IfmObservedShape shape;
        if (read_shape(entry, &shape))
            g_array_append_val(observed->shapes, shape);
    }
    return TRUE;
}
