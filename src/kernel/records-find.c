/* The graph of a model as a runtime optimises it, and its records. */
#include <glib/gstdio.h>
#include <string.h>

#include <base/base.h>
#include <base/fields.h>
#include <kernel/kernel.h>
#include <regions/regions.h>
#include <sensor/sensor.h>
#include <store/store.h>

#include "records-private.h"

/* --- names that lead back ------------------------------------------------------------------------------------------------
 */

static gboolean has_subgraph(const IfmModel *model)
{
    for (gsize i = 0; i < ifm_model_n_nodes(model); i++)
        if (ifm_node_has_subgraph(ifm_model_node(model, i)))
            return TRUE;
    return FALSE;
}

/* (transfer full) inner tensor -> its new name */
static GHashTable *rename_tensors(const IfmModel *model)
{
    GHashTable *names = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free);
    if (has_subgraph(model))
        return names;
    for (gsize i = 0; i < ifm_model_n_nodes(model); i++)
    {
        const IfmNode *node = ifm_model_node(model, i);
        for (gsize k = 0; k < node->n_outputs; k++)
            if (*node->outputs[k] != '\0')
                g_hash_table_insert(names, (gpointer)node->outputs[k], g_strdup_printf("T%zu_%zu", i, k));
    }
    for (gsize i = 0; i < ifm_model_n_outputs(model); i++)
        g_hash_table_remove(names, ifm_model_output(model, i)->name);
    return names;
}

/* What its inputs are made of goes with a model. */
static void copy_range(IfmModelBuilder *builder, const IfmModel *model, const char *input)
{
    g_autofree char *key = g_strdup_printf("inferometer.range.%s", input);
    const char *range = ifm_model_metadata(model, key);
    if (range != NULL)
        ifm_model_builder_metadata(builder, key, range);
}

static void copy_port(IfmModelBuilder *builder, const IfmPort *port, gboolean is_input)
{
    (is_input ? ifm_model_builder_input : ifm_model_builder_output)(builder, port->name, port->dtype, port->rank,
                                                                    port->dims, (const char *const *)port->dim_names);
}

IfmModel *kernel_graph_instrument(const IfmModel *model, GError **error)
{
    g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new(ifm_model_name(model), ifm_model_opset(model));
    g_autoptr(GHashTable) names = rename_tensors(model);
    ifm_model_builder_copy_context(builder, model);
    ifm_model_builder_share_external(builder);
    for (gsize i = 0; i < ifm_model_n_inputs(model); i++)
    {
        copy_port(builder, ifm_model_input(model, i), TRUE);
        copy_range(builder, model, ifm_model_input(model, i)->name);
    }
    for (gsize i = 0; i < ifm_model_n_outputs(model); i++)
        copy_port(builder, ifm_model_output(model, i), FALSE);
    for (gsize i = 0; i < ifm_model_n_initializers(model); i++)
        ifm_model_builder_copy_weight(builder, model, ifm_model_initializer_name(model, i));
    for (gsize i = 0; i < ifm_model_n_nodes(model); i++)
    {
        g_autofree char *name = g_strdup_printf("N%zu", i);
        ifm_model_builder_copy_node_as(builder, ifm_model_node(model, i), name, names);
    }
    return ifm_model_builder_finish(builder, error);
}

/* --- the runtime's graph -------------------------------------------------------------------------------------------------
 */

/* Finding: the files of one look at a model, in a folder of their own. */
typedef struct
{
    IfmTemporary folder;
    char *model, *extended, *all, *whole;
} Finding;

static void finding_clear(Finding *self)
{
    ifm_temporary_clear(&self->folder);
    g_free(self->model);
    g_free(self->extended);
    g_free(self->all);
    g_free(self->whole);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Finding, finding_clear)

/* @name: of the model, which messages have */
static gboolean finding_init(Finding *self, const char *name, GError **error)
{
    if (!ifm_temporary_make(&self->folder, error))
        return FALSE;
    self->model = g_strdup_printf("%s/%s.onnx", self->folder.path, name);
    self->extended = g_strdup_printf("%s/%s.extended.onnx", self->folder.path, name);
    self->all = g_strdup_printf("%s/%s.all.onnx", self->folder.path, name);
    self->whole = g_strdup_printf("%s/%s.whole.onnx", self->folder.path, name);
    return TRUE;
}

/* Operators of a runtime's own in the model itself: it was optimised before. */
static gboolean check_operators(const IfmModel *model, GError **error)
{
    if (ifm_regions_are_in(model))
        return ifm_error_refuse(error,
                                "%s is tuned: its regions run as one each; kernels are found in the model that it was "
                                "made of",
                                ifm_model_name(model));
    for (gsize i = 0; i < ifm_model_n_nodes(model); i++)
    {
        const IfmNode *node = ifm_model_node(model, i);
        if (g_str_has_suffix(node->domain, "nchwc") || g_str_has_prefix(node->domain, "org.openvino"))
            return ifm_error_refuse(
                error, "%s: node %zu (%s.%s): the graph that a runtime optimised; the model as written is expected",
                ifm_model_name(model), i, node->domain, node->op_type);
    }
    return TRUE;
}

static IfmAnalysis *analyse(IfmModel *model, const IfmModelCase *model_case, GError **error)
{
    return ifm_model_analyse(model, model_case->bindings, model_case->n_bindings, error);
}

static gboolean describe(IfmKernelRecords *records, IfmModel *model, const IfmModelCase *model_case, const char *version,
                         GError **error)
{
    g_autofree char *runtime =
        g_strdup_printf("%.*s %s", (int)strcspn(model_case->device, ":"), model_case->device, version);
    json_auto_t *machine = ifm_sensor_machine(NULL);
    const char *digest = ifm_model_digest(model, error), *cpu = ifm_member_text(machine, "cpu");
    g_autoptr(GString) settings = g_string_new(NULL);
    if (digest == NULL)
        return FALSE;
    for (gsize i = 0; i < model_case->n_bindings; i++)
        g_string_append_printf(settings, "%s%s=%" G_GINT64_FORMAT, i > 0 ? ", " : "", model_case->bindings[i].name,
                               model_case->bindings[i].value);
    ifm_record_set_text(&records->model, ifm_model_name(model));
    ifm_record_set_text(&records->model_digest, digest);
    ifm_record_set_text(&records->device, model_case->device);
    ifm_record_set_text(&records->runtime, runtime);
    ifm_record_set_text(&records->processor, cpu);
    ifm_record_set_text(&records->settings, settings->str);
    return TRUE;
}

static IfmKernelRecords *read_graphs(const Finding *files, IfmModel *named, IfmModel *model, const IfmModelCase *model_case,
                                     GError **error)
{
    g_autoptr(IfmModel) extended = ifm_model_open_outline(files->extended, error);
    g_autoptr(IfmModel) all = extended != NULL ? ifm_model_open_outline(files->all, error) : NULL;
    g_autoptr(IfmAnalysis) before = all != NULL ? analyse(named, model_case, error) : NULL;
    g_autoptr(IfmAnalysis) after = before != NULL ? analyse(all, model_case, error) : NULL;
    if (after == NULL)
        return NULL;
    g_autoptr(Cover) of_extended = cover_new(named, before, extended, NULL, NULL);
    g_autoptr(Cover) cover = cover_new(named, before, all, extended, of_extended);
    return kernel_records_new(model, all, after, cover);
}

/* Of a runtime that saves its graph. */
static IfmKernelRecords *by_graph(IfmRunner *runner, const Finding *files, IfmModel *named, IfmModel *model,
                                  const IfmModelCase *renamed, const char *graph, char **version, GError **error)
{
    const IfmOptimisedFile wanted[] = { { files->extended, TRUE, TRUE },
                                        { files->all, FALSE, TRUE },
                                        { files->whole, FALSE, FALSE } };
    if (!ifm_runner_optimise(runner, renamed, wanted, graph != NULL ? 3 : 2, version, error))
        return NULL;
    /* Weights in files of their own go where the graph goes. */
    g_autoptr(IfmModel) whole = graph != NULL ? ifm_model_open(files->whole, error) : NULL;
    if (graph != NULL && (whole == NULL || !ifm_model_save(whole, graph, error)))
        return NULL;
    IfmKernelRecords *records = read_graphs(files, named, model, renamed, error);
    if (records != NULL)
        ifm_record_set_text(&records->level, "all");
    return records;
}

/* Of one that does not, by what it says about its nodes, as OpenVINO's processor does; of another device, the graph is what
 * is missing. */
static IfmKernelRecords *by_layers(IfmRunner *runner, IfmModel *named, IfmModel *model, const IfmModelCase *renamed,
                                   char **version, GError **error)
{
    g_autoptr(GError) trouble = NULL;
    IfmKernelRecords *records = kernel_records_by_layers(runner, renamed, model, named, version, &trouble);
    if (records != NULL)
        g_clear_error(error);
    else if (!g_error_matches(trouble, IFM_ERROR, IFM_ERROR_UNSUPPORTED))
    {
        g_clear_error(error);
        g_propagate_error(error, g_steal_pointer(&trouble));
    }
    return records;
}

IfmKernelRecords *kernel_records_find(IfmRunner *runner, const IfmKernelOptions *options, const IfmModelCase *model_case,
                                      GError **error)
{
    g_auto(Finding) files = { 0 };
    g_autofree char *version = NULL;
    g_autoptr(IfmModel) model = ifm_model_open(model_case->model_path, error);
    if (model == NULL || !check_operators(model, error) || !finding_init(&files, ifm_model_name(model), error))
        return NULL;
    g_autoptr(IfmModel) named = kernel_graph_instrument(model, error);
    if (named == NULL || !ifm_model_save(named, files.model, error))
        return NULL;
    IfmModelCase renamed = *model_case;
    renamed.model_path = files.model;
    g_autoptr(GError) trouble = NULL;
    g_autoptr(IfmKernelRecords) records =
        by_graph(runner, &files, named, model, &renamed, options->graph, &version, &trouble);
    if (g_error_matches(trouble, IFM_ERROR, IFM_ERROR_UNSUPPORTED) && options->graph == NULL &&
        g_str_has_prefix(model_case->device, "openvino:"))
        records = by_layers(runner, named, model, &renamed, &version, &trouble);
    if (trouble != NULL)
        g_propagate_error(error, g_steal_pointer(&trouble));
    return records != NULL && describe(records, model, model_case, version, error) ? g_steal_pointer(&records) : NULL;
}
