#include <errno.h>
#include <string.h>

#include <glib/gstdio.h>

#include <inferometer/engine.h>
#include <staged/staged.h>

#include "study-stages.h"

/* The models and inputs of a study of stages are written to files in its folder; a file that is right is left as it is. */

/* --- where files are ------------------------------------------------------------------------------------------------ */

static gboolean is_static(const IfmStudyDevice *device)
{
    return device->form == IFM_STUDY_STATIC;
}

/* Whether a real graph goes into a larger static model. */
static gboolean is_padded(const StudyCase *self, const IfmStudyDevice *device)
{
    return self->size != NULL && is_static(device) && self->size->pad_nodes > 0;
}

void study_case_model_size(const StudyCase *self, const IfmStudyDevice *device, gint64 *nodes, gint64 *edges)
{
    gboolean padded = is_padded(self, device);
    *nodes = padded ? self->size->pad_nodes : self->row.nodes;
    *edges = padded ? self->size->pad_edges : self->row.edges;
}

char *study_model_path(const StudyCase *self, const IfmStudyDevice *device, const char *folder)
{
    GString *name = g_string_new(NULL);
    if (self->row.last > self->row.stage)
        g_string_printf(name, "stages%d-%d", self->row.stage, self->row.last);
    else
        g_string_printf(name, "stage%d", self->row.stage);
    if (is_static(device))
    {
        gint64 nodes, edges;
        study_case_model_size(self, device, &nodes, &edges);
        g_string_append_printf(name, "-n%" G_GINT64_FORMAT "-e%" G_GINT64_FORMAT, nodes, edges);
    }
    g_string_append(name, ".onnx");
    char *path = g_build_filename(folder, "models", device->alias, name->str, NULL);
    g_string_free(name, TRUE);
    return path;
}

/* A real graph's file has its digest in its name: another graph of the same size is another file. */
char *study_inputs_path(const StudyCase *self, const IfmStudyDevice *device, const char *folder)
{
    GString *name = g_string_new(NULL);
    g_string_printf(name, "n%" G_GINT64_FORMAT "-e%" G_GINT64_FORMAT, self->row.nodes, self->row.edges);
    if (self->size->digest != NULL)
        g_string_append_printf(name, "-%.12s", self->size->digest);
    if (is_padded(self, device))
        g_string_append_printf(name, "-in-n%" G_GINT64_FORMAT "-e%" G_GINT64_FORMAT, self->size->pad_nodes,
                               self->size->pad_edges);
    g_string_append(name, ".tensors");
    char *path = g_build_filename(folder, "inputs", name->str, NULL);
    g_string_free(name, TRUE);
    return path;
}

static gboolean make_folder_of(const char *path, GError **error)
{
    g_autofree char *folder = g_path_get_dirname(path);
    return ifm_file_make_folder(folder, error);
}

/* --- models --------------------------------------------------------------------------------------------------------- */

static gboolean has_bytes(const char *path, GBytes *bytes)
{
    g_autoptr(GMappedFile) file = g_mapped_file_new(path, FALSE, NULL);
    gsize n = g_bytes_get_size(bytes);
    return file != NULL && g_mapped_file_get_length(file) == n &&
           memcmp(g_mapped_file_get_contents(file), g_bytes_get_data(bytes, NULL), n) == 0;
}

gboolean study_save_bytes(const char *path, GBytes *bytes, GError **error)
{
    return has_bytes(path, bytes) || (make_folder_of(path, error) &&
                                      ifm_file_save(path, g_bytes_get_data(bytes, NULL), g_bytes_get_size(bytes), error));
}

static gboolean export_model(const IfmStudy *study, const StudyCase *self, const char *path, GError **error)
{
    g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse(self->device->device, error);
    IfmStageSizes sizes = ifm_study_stage_sizes(study);
    if (is_static(self->device))
        study_case_model_size(self, self->device, &sizes.nodes, &sizes.edges);
    g_autoptr(IfmModel) model = spec != NULL ? ifm_staged_build(study->staged, self->row.stage, self->row.last, &sizes,
                                                                ifm_scatter_for(spec->engine), study->seed, error)
                                             : NULL;
    g_autoptr(GBytes) bytes = model != NULL ? ifm_model_serialize(model, error) : NULL;
    return bytes != NULL && study_save_bytes(path, bytes, error);
}

/* --- inputs --------------------------------------------------------------------------------------------------------- */

static IfmGraph *graph_of(const IfmStudy *study, const StudyCase *self, GError **error)
{
    const StudySize *size = self->size;
    if (size->real == NULL)
        return ifm_graph_random(study->graph_kind, size->size.nodes, size->size.edges, study->graph_seed, error);
    if (is_padded(self, self->device))
        return ifm_graph_pad(size->real, size->pad_nodes, size->pad_edges, error);
    return ifm_graph_pad(size->real, size->real->n_nodes, size->real->n_edges, error); /* a copy */
}

static gboolean holds(const char *path, const char *const *names, const IfmTensor *tensors, gsize n)
{
    g_autoptr(IfmTensorFile) file = ifm_tensor_file_open(path, NULL);
    if (file == NULL || ifm_tensor_file_n(file) != n)
        return FALSE;
    for (gsize i = 0; i < n; i++)
    {
        const IfmTensor *there = ifm_tensor_file_tensor(file, i), *wanted = &tensors[i];
        if (!g_str_equal(ifm_tensor_file_name(file, i), names[i]) || there->dtype != wanted->dtype ||
            there->rank != wanted->rank || there->size_bytes != wanted->size_bytes ||
            memcmp(there->shape, wanted->shape, (gsize)wanted->rank * sizeof wanted->shape[0]) != 0 ||
            memcmp(there->data, wanted->data, wanted->size_bytes) != 0)
            return FALSE;
    }
    return TRUE;
}

/* What a graph gives the stages: its edges, its in-degrees (what stage REDUCE_COUNT makes of it), and the zeros that sums
 * begin with. All else a stage reads is seeded. */
static gboolean export_inputs(const IfmStudy *study, const StudyCase *self, const char *path, GError **error)
{
    static const char *const names[] = { "edge_index", "c", "zeros" };
    g_autoptr(IfmGraph) graph = graph_of(study, self, error);
    if (graph == NULL)
        return FALSE;
    gint64 edge_shape[] = { 2, graph->n_edges }, node_shape[] = { graph->n_nodes };
    IfmTensor tensors[3] = { 0 };
    gboolean good = ifm_tensor_wrap(&tensors[0], IFM_DTYPE_I64, 2, edge_shape, graph->edge_index, error) &&
                    ifm_tensor_init(&tensors[1], IFM_DTYPE_F32, 1, node_shape, error) &&
                    ifm_tensor_init(&tensors[2], IFM_DTYPE_F32, 1, node_shape, error);
    if (good)
    {
        ifm_graph_in_degrees(graph, tensors[1].data);
        good = holds(path, names, tensors, G_N_ELEMENTS(tensors)) ||
               (make_folder_of(path, error) && ifm_tensor_file_save(path, names, tensors, G_N_ELEMENTS(tensors), error));
    }
    for (gsize i = 0; i < G_N_ELEMENTS(tensors); i++)
        ifm_tensor_clear(&tensors[i]);
    return good;
}

/* --- all of it ------------------------------------------------------------------------------------------------------ */

gboolean study_stages_export(IfmStudy *study, const char *folder, const IfmStudyDevice *device, gsize *n_models,
                             GError **error)
{
    const GPtrArray *cases = ifm_study_cases(study);
    g_autoptr(GHashTable) written = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    gsize n = 0;
    for (guint i = 0; i < cases->len; i++)
    {
        const StudyCase *one = cases->pdata[i];
        if (one->row.stage == 0 || (device != NULL && one->device != device))
            continue;
        char *model = study_model_path(one, one->device, folder), *inputs = study_inputs_path(one, one->device, folder);
        gboolean new_model = g_hash_table_add(written, model), new_inputs = g_hash_table_add(written, inputs);
        if ((new_model && !export_model(study, one, model, error)) ||
            (new_inputs && !export_inputs(study, one, inputs, error)))
            return FALSE;
        n += new_model;
    }
    if (n_models != NULL)
        *n_models = n;
    return TRUE;
}

gboolean ifm_study_export(IfmStudy *study, const char *folder, gsize *n_models, GError **error)
{
    return study->kind->export_files(study, folder, NULL, n_models, error);
}
