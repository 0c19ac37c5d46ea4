#include <math.h>

#include <glib/gstdio.h>

#include <base/fields.h>

#include "compare-side.h"

/* How near B comes to A: workers run both over the same samples, each side on its own device. */

/*
 * A layer's loss is what its result is further from A's than the worst of what it reads. What is nearer than eight bits of
 * a value can be counts as that near: of two equal inputs no layer would be but infinitely worse. What all that read it
 * make good again is no loss: a quantiser that clips at 0 stands for the Relu behind it.
 */
#define NEAR_DB 48 /* 20 log10(2^8) */

/* Nothing is kept of what is compiled for this. */
static json_t *case_of(const IfmCompareSide *side, GError **error)
{
    IfmModelCase model_case = *(const IfmModelCase *)side->spec;
    model_case.cache_dir = NULL;
    return ifm_runner_model_json(&model_case, error);
}

/* In a process of its own, which ends with the answer. @request: (transfer full) */
static json_t *ask(IfmRunner *runner, const char *device, const char *setting, json_t *request, GError **error)
{
    json_auto_t *owned = request;
    const IfmWorkerWatch watch = ifm_runner_watch(runner);
    const char *folder = ifm_runner_folder(runner, error);
    g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse(device, NULL);
    g_autoptr(IfmWorker) worker =
        folder != NULL ? ifm_worker_start(folder, spec != NULL && spec->n_cores > 0 ? device : NULL, setting, error) : NULL;
    gboolean alive;
    return worker != NULL ? ifm_worker_ask(worker, owned, &watch, &alive, error) : NULL;
}

/* Files: of the samples' inputs, and of A's outputs. */
typedef struct
{
    char *inputs, *outputs;
    gsize n;
} Files;

static void files_clear(Files *files)
{
    const char *const prefixes[] = { files->inputs, files->outputs };
    for (gsize k = 0; k < G_N_ELEMENTS(prefixes); k++)
        for (gsize i = 0; prefixes[k] != NULL && i < files->n; i++)
        {
            g_autofree char *path = g_strdup_printf("%s-%zu", prefixes[k], i);
            g_unlink(path);
        }
    g_free(files->inputs);
    g_free(files->outputs);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Files, files_clear)

static json_t *run_side(IfmRunner *runner, const IfmCompareSide *side, const IfmAccuracyOptions *options,
                        const Files *files, gboolean makes, GError **error)
{
    json_t *model_case = case_of(side, error);
    if (model_case == NULL)
        return NULL;
    g_autoptr(IfmDeviceSpec) device = ifm_device_spec_parse(ifm_member_text(model_case, "device"), NULL);
    g_autofree char *setting = ifm_side_setting(side, device);
    json_t *request =
        json_pack("{s:s,s:o,s:I,s:s,s:s,s:b,s:s*}", "do", "accuracy", "case", model_case, "n", (json_int_t)options->n,
                  "inputs", files->inputs, "outputs", files->outputs, "makes", makes, "samples", options->samples_path);
    return ask(runner, device->text, setting, request, error);
}

static double sqnr_of(const json_t *layer)
{
    double sqnr_db;
    return ifm_json_get_double(layer, "layer", "sqnr_db", &sqnr_db, NULL) ? sqnr_db : (double)NAN;
}

/* Kept: how near a tensor is, but for what the layers that read it make good again. */
typedef struct
{
    double kept_db;
    double readers_db; /* of the worst of its readers; NaN: none is known */
} Kept;

/* From the last layer to the first. (transfer full) tensor -> Kept */
static GHashTable *keep(const json_t *layers)
{
    GHashTable *known = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free);
    gsize k;
    json_t *layer, *name;
    json_array_foreach(layers, k, layer) g_hash_table_insert(known, (gpointer)ifm_member_text(layer, "tensor"),
                                                             g_memdup2(&(Kept){ NAN, NAN }, sizeof(Kept)));
    for (gsize i = json_array_size(layers); i-- > 0;)
    {
        layer = json_array_get(layers, i);
        Kept *own = g_hash_table_lookup(known, ifm_member_text(layer, "tensor"));
        own->kept_db = fmin(sqnr_of(layer), NEAR_DB); /* of NaN and a number: that */
        if (own->readers_db > own->kept_db)
            own->kept_db = own->readers_db;
        json_array_foreach(json_object_get(layer, "reads"), k, name)
        {
            Kept *read = g_hash_table_lookup(known, json_string_value(name));
            if (read != NULL && !(read->readers_db <= own->kept_db))
                read->readers_db = own->kept_db;
        }
    }
    return known;
}

/* The worst of what a layer reads, that is known; of what does not differ, or is not known, NEAR_DB. */
static double worst_read(const json_t *layer, GHashTable *known)
{
    double worst = NEAR_DB;
    gsize i;
    json_t *name;
    json_array_foreach(json_object_get(layer, "reads"), i, name)
    {
        const Kept *read = g_hash_table_lookup(known, json_string_value(name));
        worst = read != NULL ? MIN(worst, read->kept_db) : worst;
    }
    return worst;
}

static void add_losses(json_t *layers, double threshold_db, json_t *accuracy)
{
    g_autoptr(GHashTable) known = keep(layers);
    gsize i;
    json_t *layer;
    json_array_foreach(layers, i, layer)
    {
        const Kept *own = g_hash_table_lookup(known, ifm_member_text(layer, "tensor"));
        const double loss_db = worst_read(layer, known) - own->kept_db;
        json_object_set_new(layer, "loss_db", ifm_json_real(loss_db));
        if (loss_db > threshold_db && json_object_get(accuracy, "first") == NULL)
            json_object_set(accuracy, "first", json_object_get(layer, "layer"));
    }
    g_clear_pointer(&known, g_hash_table_unref); /* it borrows the names */
    json_array_foreach(layers, i, layer) json_object_del(layer, "reads");
}

static gboolean add_layers(IfmRunner *runner, const IfmCompareSide sides[2], const IfmAccuracyOptions *options,
                           const Files *files, json_t *accuracy, GError **error)
{
    json_t *a = case_of(&sides[0], error), *b = a != NULL ? case_of(&sides[1], error) : NULL;
    if (b == NULL)
    {
        json_decref(a);
        return FALSE;
    }
    json_auto_t *answer = ask(runner, "onnxruntime:CPU", NULL,
                              json_pack("{s:s,s:o,s:o,s:I,s:s}", "do", "accuracy-layers", "a", a, "b", b, "n",
                                        (json_int_t)options->n, "inputs", files->inputs),
                              error);
    json_t *layers = json_object_get(answer, "layers");
    if (layers == NULL)
        return FALSE;
    json_object_set(accuracy, "n_layers", json_object_get(answer, "n_layers"));
    json_object_set(accuracy, "layers", layers);
    json_object_set_new(accuracy, "threshold_db", json_real(options->layer_loss_db));
    add_losses(layers, options->layer_loss_db, accuracy);
    return TRUE;
}

/* --- both ------------------------------------------------------------------------------------------------------------- */

/* Returns: FALSE with an error; or with "why" in @accuracy there is nothing to compare. */
static gboolean add_outputs(IfmRunner *runner, const IfmCompareSide sides[2], const IfmAccuracyOptions *options,
                            const Files *files, json_t *accuracy, GError **error)
{
    for (gsize i = 0; i < 2; i++)
    {
        json_auto_t *answer = run_side(runner, &sides[i], options, files, i == 0, error);
        if (answer == NULL)
        {
            g_prefix_error(error, "%c: ", i == 0 ? 'A' : 'B');
            return FALSE;
        }
        json_object_update(accuracy, answer);
        if (json_object_get(accuracy, "why") != NULL)
            return FALSE;
    }
    return TRUE;
}

json_t *ifm_runner_accuracy(IfmRunner *runner, const IfmCompareSide sides[2], const IfmAccuracyOptions *options,
                            GError **error)
{
    g_autoptr(GError) failure = NULL;
    g_auto(Files) files = { .n = options->n };
    const char *folder = ifm_runner_folder(runner, error);
    if (folder == NULL)
        return NULL;
    files.inputs = g_build_filename(folder, "accuracy-inputs", NULL);
    files.outputs = g_build_filename(folder, "accuracy-outputs", NULL);
    json_auto_t *accuracy = json_pack("{s:I,s:s}", "n_samples", (json_int_t)options->n, "samples",
                                      options->samples_path != NULL ? "given" : "generated");
    if (add_outputs(runner, sides, options, &files, accuracy, &failure) && options->layers)
        add_layers(runner, sides, options, &files, accuracy, &failure);
    if (g_error_matches(failure, IFM_ERROR, IFM_ERROR_CANCELLED))
    {
        g_propagate_error(error, g_steal_pointer(&failure));
        return NULL;
    }
    if (failure != NULL)
        json_object_set_new(accuracy, "why", ifm_json_string(failure->message));
    return json_incref(accuracy);
}
