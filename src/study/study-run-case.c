/* One case of a study, for the runner. */

#include "study-stages.h"
#include <measure/kinds.h>
#include <pipeline/pipeline.h>
#include <staged/staged.h>

/* What the runner gets of a case; the strings are its own. */
typedef struct
{
    IfmModelCase model_case;
    IfmLinkCase link;
    char *model_path, *inputs_path, *cache_dir, *name;
    IfmDimBinding bindings[2], sizes[2];
    IfmLoadDevice load[IFM_PLAN_MAX_DEVICES];
    char *load_models[IFM_PLAN_MAX_DEVICES], *load_inputs[IFM_PLAN_MAX_DEVICES];
} CaseText;

void study_stages_drop(StudyCase *one)
{
    CaseText *text = g_steal_pointer(&one->text);
    if (text == NULL)
        return;
    g_free(text->model_path);
    g_free(text->inputs_path);
    g_free(text->cache_dir);
    g_free(text->name);
    for (gsize i = 0; i < text->model_case.n_load; i++)
    {
        g_free(text->load_models[i]);
        g_free(text->load_inputs[i]);
    }
    g_free(text);
}

/* Names of a model's free dimensions; borrowed. */
static const GPtrArray *free_dims_of(const IfmStudy *study, const char *path, GError **error)
{
    GPtrArray *names = g_hash_table_lookup(study->free_dims, path);
    g_autoptr(IfmModel) model = names == NULL ? ifm_model_open(path, error) : NULL;
    if (model == NULL)
        return names;
    names = g_ptr_array_new_with_free_func(g_free);
    for (gsize i = 0; i < ifm_model_n_inputs(model); i++)
    {
        const IfmPort *port = ifm_model_input(model, i);
        for (int d = 0; d < port->rank; d++)
            if (port->dim_names[d] != NULL)
                g_ptr_array_add(names, g_strdup(port->dim_names[d]));
    }
    g_hash_table_insert(study->free_dims, g_strdup(path), names);
    return names;
}

/* Whether a range reads what the graph gives; the other ones' cases are the same whatever the graph. */
static gboolean reads_graph(const IfmStagedModel *staged, int first, int last)
{
    g_autoptr(GPtrArray) inputs = ifm_staged_inputs(staged, first, last);
    for (guint i = 0; i < inputs->len; i++)
    {
        const char *name = ((const IfmBoundary *)inputs->pdata[i])->name;
        if (g_str_equal(name, "edge_index") || g_str_equal(name, "c"))
            return TRUE;
    }
    return FALSE;
}

/* The background load: the same stages at the same size. */
static void describe_load(const char *folder, const StudyCase *one, gboolean graph, CaseText *text)
{
    gsize n = 0;
    for (IfmStudyDevice **other = one->background; other != NULL && *other != NULL; other++, n++)
    {
        text->load_models[n] = study_model_path(one, *other, folder);
        gboolean dynamic = (*other)->form == IFM_STUDY_DYNAMIC; /* takes what the measured one takes, padded or not */
        if (graph)
            text->load_inputs[n] = study_inputs_path(one, dynamic ? one->device : *other, folder);
        text->load[n] = (IfmLoadDevice){ .alias = (*other)->alias,
                                         .device = (*other)->device,
                                         .model_path = text->load_models[n],
                                         .inputs_path = text->load_inputs[n],
                                         .free_shapes = dynamic };
    }
    text->model_case.load = text->load;
    text->model_case.n_load = n;
}

static gboolean describe_case(const IfmStudy *study, const char *folder, const StudyCase *one, CaseText *text,
                              GError **error)
{
    gboolean dynamic = one->device->form == IFM_STUDY_DYNAMIC;
    gboolean graph = reads_graph(study->staged, one->row.stage, one->row.last);
    gint64 nodes, edges;
    study_case_model_size(one, one->device, &nodes, &edges);
    text->model_path = study_model_path(one, one->device, folder);
    text->inputs_path = graph ? study_inputs_path(one, one->device, folder) : NULL;
    text->cache_dir = g_build_filename(folder, "cache", NULL);
    text->name = study_stages_title(study->staged->name, study->staged, one->row.stage, one->row.last);
    text->sizes[0] = (IfmDimBinding){ "nodes", nodes };
    text->sizes[1] = (IfmDimBinding){ "edges", edges };
    text->model_case = (IfmModelCase){ .model_path = text->model_path,
                                       .model_name = text->name,
                                       .device = one->device->device,
                                       .alias = one->device->alias,
                                       .subject_kind = "stage",
                                       .bindings = text->bindings,
                                       .sizes = text->sizes,
                                       .n_sizes = G_N_ELEMENTS(text->sizes),
                                       .free_shapes = dynamic,
                                       .inputs_path = text->inputs_path,
                                       .cache_dir = text->cache_dir,
                                       .dtype = IFM_DTYPE_F32,
                                       .seed = study->seed,
                                       .protocol = *study_case_protocol(study, one),
                                       .energy = study->energy,
                                       .verify = TRUE };
    describe_load(folder, one, graph, text);
    const GPtrArray *free_dims = dynamic ? free_dims_of(study, text->model_path, error) : NULL;
    if (dynamic && free_dims == NULL)
        return FALSE;
    for (gsize i = 0; dynamic && i < G_N_ELEMENTS(text->sizes); i++)
        if (g_ptr_array_find_with_equal_func((GPtrArray *)free_dims, text->sizes[i].name, g_str_equal, NULL))
            text->bindings[text->model_case.n_bindings++] = text->sizes[i];
    return TRUE;
}

gboolean study_stages_fill(IfmStudy *study, const char *folder, StudyCase *one, IfmCampaignItem *item, GError **error)
{
    CaseText *text = one->text = g_new0(CaseText, 1);
    if (one->to == NULL)
    {
        item->kind = &ifm_kind_model;
        item->spec = &text->model_case;
        return describe_case(study, folder, one, text, error);
    }
    text->link = (IfmLinkCase){ .from = one->device->device,
                                .to = one->to->device,
                                .from_alias = one->row.alias,
                                .to_alias = one->row.to,
                                .size_bytes = one->row.bytes,
                                .protocol = study->link_protocol };
    item->kind = &ifm_kind_link;
    item->spec = &text->link;
    return TRUE;
}
