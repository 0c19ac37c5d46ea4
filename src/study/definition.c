#include <string.h>

#include <inferometer/nearest.h>
#include <inferometer/paths.h>

#include "definition.h"

/* --- from text to study ----------------------------------------------------------------------------------------------- */

static gboolean prefix_place(const IfmYamlRecord *record, GError *trouble /* (transfer full) */, GError **error)
{
    ifm_yaml_error(record, error, "%s", trouble->message);
    g_error_free(trouble);
    return FALSE;
}

static void add_range(IfmStudy *study, int first, int last)
{
    for (guint i = 0; i < study->ranges->len; i++)
    {
        const StudyRange *known = &g_array_index(study->ranges, StudyRange, i);
        if (known->first == first && known->last == last)
            return;
    }
    g_array_append_val(study->ranges, ((StudyRange){ first, last }));
}

/* @all: else those alone that begin with the first stage or end with the last */
static void add_ranges(IfmStudy *study, gboolean all)
{
    int n = (int)study->staged->n_stages;
    for (int first = 1; first < n; first++)
        for (int last = first + 1; last <= n; last++)
            if (all || first == 1 || last == n)
                add_range(study, first, last);
}

static gboolean take_range(IfmStudy *study, const SubjectText *text, const char *word, GError **error)
{
    g_auto(GStrv) ends = g_strsplit(word, "-", 2);
    guint64 first = 0, last = 0;
    if (g_str_equal(word, "all") || g_str_equal(word, "ends"))
    {
        add_ranges(study, g_str_equal(word, "all"));
        return TRUE;
    }
    if (ends[1] == NULL || !g_ascii_string_to_unsigned(ends[0], 10, 1, study->staged->n_stages, &first, NULL) ||
        !g_ascii_string_to_unsigned(ends[1], 10, 1, study->staged->n_stages, &last, NULL) || first >= last)
        return ifm_yaml_error(&text->record, error,
                              "ranges: \"%s\" is none: FIRST-LAST of stages 1 to %zu, such as 2-4, or \"ends\", or \"all\"",
                              word, study->staged->n_stages);
    add_range(study, (int)first, (int)last);
    return TRUE;
}

static gboolean take_ranges(IfmStudy *study, const SubjectText *text, GError **error)
{
    for (guint i = 0; i < text->ranges->len; i++)
        if (!take_range(study, text, text->ranges->pdata[i], error))
            return FALSE;
    return TRUE;
}

static gboolean take_subject(IfmStudy *study, const SubjectText *text, GError **error)
{
    GError *trouble = NULL;
    study->staged = ifm_staged_find(text->model, &trouble);
    if (study->staged == NULL)
        return prefix_place(&text->record, trouble, error);
    study->features = text->features;
    study->hidden = text->hidden;
    study->seed = (guint32)text->seed;
    for (gsize i = 0; i < text->stages->len; i++)
    {
        int number = (int)g_array_index(text->stages, gint64, i);
        if (study_stage(study->staged, number) == NULL)
            return ifm_yaml_error(&text->record, error, "stages: there is no stage %d; %s has stages 1 to %zu", number,
                                  study->staged->name, study->staged->n_stages);
        for (guint k = 0; k < study->stages->len; k++)
            if (g_array_index(study->stages, int, k) == number)
                return ifm_yaml_error(&text->record, error, "stages: %d is listed twice", number);
        g_array_append_val(study->stages, number);
    }
    for (gsize i = 0; text->stages->len == 0 && i < study->staged->n_stages; i++)
        g_array_append_val(study->stages, study->staged->stages[i].number);
    return take_ranges(study, text, error);
}

/* Results are kept by size in every published format, so a size stands once, whatever graph is behind it. */
static gboolean add_size(IfmStudy *study, StudySize *size /* (transfer full) */, const IfmYamlRecord *record,
                         GHashTable *lines, GError **error)
{
    char *key =
        g_strdup_printf("%" G_GINT64_FORMAT " nodes, %" G_GINT64_FORMAT " edges", size->size.nodes, size->size.edges);
    g_ptr_array_add(study->sizes, size);
    const IfmYamlRecord *before = g_hash_table_lookup(lines, key);
    if (before != NULL)
    {
        ifm_yaml_error(record, error, "%s: this size is there already, at line %zu; each may stand once", key,
                       before->line);
        g_free(key);
        return FALSE;
    }
    g_hash_table_insert(lines, key, (gpointer)record);
    return TRUE;
}

static gboolean take_sizes(IfmStudy *study, const StudyText *text, GHashTable *lines, GError **error)
{
    const char *kind = study_kind_words[study->graph_kind];
    for (guint i = 0; i < text->sizes->len; i++)
    {
        const SizesText *sizes = text->sizes->pdata[i];
        for (guint k = 0; k < sizes->edges->len; k++)
        {
            gint64 edges = g_array_index(sizes->edges, gint64, k);
            if (edges > sizes->nodes * (sizes->nodes - 1)) /* within 64 bits: the counts are bounded above */
                return ifm_yaml_error(&sizes->record, error,
                                      "edges: %" G_GINT64_FORMAT " nodes have at most %" G_GINT64_FORMAT
                                      " distinct edges, not %" G_GINT64_FORMAT,
                                      sizes->nodes, sizes->nodes * (sizes->nodes - 1), edges);
            StudySize *size = g_new0(StudySize, 1);
            size->size = (IfmStudySize){ .nodes = sizes->nodes, .edges = edges, .graph = g_strdup(kind) };
            if (!add_size(study, size, &sizes->record, lines, error))
                return FALSE;
        }
    }
    return TRUE;
}

static IfmGraph *read_real(const RealText *text, const char *path, GError **error)
{
    g_autoptr(IfmGraph) whole = ifm_graph_read(path, IFM_GRAPH_FORMAT_AUTO, error);
    if (whole == NULL || text->part < 0)
        return g_steal_pointer(&whole);
    if (text->part < whole->n_graphs)
        return ifm_graph_part(whole, text->part);
    ifm_yaml_error(&text->record, error, "part: %s has graphs 0 to %" G_GINT64_FORMAT ", not %" G_GINT64_FORMAT, text->path,
                   whole->n_graphs - 1, text->part);
    return NULL;
}

/* The smallest random size that holds a real graph with a node to spare, on which padding edges loop. */
static gboolean choose_padding(const IfmStudy *study, const RealText *text, StudySize *size, GError **error)
{
    const StudySize *best = NULL;
    for (guint i = 0; i < study->sizes->len && text->padded; i++)
    {
        const StudySize *one = study->sizes->pdata[i];
        if (one->real != NULL || one->size.nodes <= size->size.nodes || one->size.edges < size->size.edges)
            continue;
        if (best == NULL || one->size.nodes < best->size.nodes ||
            (one->size.nodes == best->size.nodes && one->size.edges < best->size.edges))
            best = one;
    }
    if (text->padded && best == NULL)
        return ifm_yaml_error(&text->record, error,
                              "padded: no entry of `sizes` has more than %" G_GINT64_FORMAT
                              " nodes and at least %" G_GINT64_FORMAT " edges",
                              size->size.nodes, size->size.edges);
    size->pad_nodes = best != NULL ? best->size.nodes : 0;
    size->pad_edges = best != NULL ? best->size.edges : 0;
    return TRUE;
}

static gboolean take_graphs(IfmStudy *study, const StudyText *text, GHashTable *lines, GError **error)
{
    g_autofree char *folder = g_path_get_dirname(text->record.file);
    for (guint i = 0; i < text->graphs->len; i++)
    {
        const RealText *real = text->graphs->pdata[i];
        g_autofree char *path =
            g_path_is_absolute(real->path) ? g_strdup(real->path) : g_build_filename(folder, real->path, NULL);
        IfmGraph *graph = read_real(real, path, error);
        if (graph == NULL)
            return FALSE;
        StudySize *size = g_new0(StudySize, 1);
        size->real = graph;
        size->digest = ifm_graph_digest(graph);
        size->size = (IfmStudySize){ .nodes = graph->n_nodes, .edges = graph->n_edges };
        size->size.graph =
            real->part < 0 ? g_strdup(real->path) : g_strdup_printf("%s:%" G_GINT64_FORMAT, real->path, real->part);
        if (!choose_padding(study, real, size, error))
        {
            study_size_free(size);
            return FALSE;
        }
        if (!add_size(study, size, &real->record, lines, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean take_not_stages(const IfmStudy *study, const DeviceText *text, IfmStudyDevice *device, GError **error)
{
    for (guint i = 0; i < text->not_stages->len; i++)
    {
        int number = (int)g_array_index(text->not_stages, gint64, i);
        if (study_stage(study->staged, number) == NULL)
            return ifm_yaml_error(&text->record, error, "not_stages: there is no stage %d; %s has stages 1 to %zu", number,
                                  study->staged->name, study->staged->n_stages);
        device->not_stages |= study_range_mask(number, number);
    }
    return TRUE;
}

static gboolean take_devices(IfmStudy *study, const StudyText *text, GError **error)
{
    for (guint i = 0; i < text->devices->len; i++)
    {
        const DeviceText *one = text->devices->pdata[i];
        GError *trouble = NULL;
        IfmStudyDevice *device = study_device_new(one->record.name, one->device, &trouble);
        if (device == NULL)
            return prefix_place(&one->record, trouble, error);
        if (one->form > 0)
            study_device_set_form(device, (IfmStudyForm)(one->form - 1));
        g_ptr_array_add(study->devices, device);
        if (!take_not_stages(study, one, device, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean take_protocol(IfmProtocol *protocol, const ProtocolText *text, GError **error)
{
    GError *trouble = NULL;
    if (text == NULL)
        return TRUE;
    *protocol = (IfmProtocol){ .warmup = (gsize)text->warmup,
                               .runs = (gsize)text->runs,
                               .ci_ratio = text->ci,
                               .level = text->level,
                               .least_runs = (gsize)text->least_runs,
                               .most_runs = (gsize)text->most_runs,
                               .time_budget_ns = text->time_budget_ns };
    if (text->least_runs > text->most_runs)
        return ifm_yaml_error(&text->record, error,
                              "least_runs: %" G_GINT64_FORMAT " is more than most_runs, %" G_GINT64_FORMAT,
                              text->least_runs, text->most_runs);
    return ifm_protocol_check(protocol, &trouble) || prefix_place(&text->record, trouble, error);
}

static gboolean take_contention(IfmStudy *study, const ContentionText *text, GError **error)
{
    study->contention = text != NULL && text->measure;
    study->own_contention_protocol = text != NULL && text->protocol != NULL;
    study->contention_protocol = study->protocol;
    if (study->contention && study->devices->len > IFM_PLAN_MAX_DEVICES)
        return ifm_yaml_error(&text->record, error, "found %u devices; contention is measured of %d at most",
                              study->devices->len, IFM_PLAN_MAX_DEVICES);
    return !study->own_contention_protocol || take_protocol(&study->contention_protocol, text->protocol, error);
}

static gboolean take_rest(IfmStudy *study, const StudyText *text, GError **error)
{
    const LinksText *links = text->links;
    study->links = links == NULL || links->measure;
    study->own_link_protocol = links != NULL && links->protocol != NULL;
    if (!take_protocol(&study->protocol, text->protocol, error))
        return FALSE;
    study->link_protocol = study->protocol;
    if (text->limits != NULL)
        study->limits = (IfmLimits){ .case_time_ns = text->limits->case_time_ns,
                                     .hang_ns = text->limits->hang_ns,
                                     .memory_bytes = text->limits->memory_bytes };
    if (study->own_link_protocol && !take_protocol(&study->link_protocol, links->protocol, error))
        return FALSE;
    return take_contention(study, text->contention, error);
}

static gboolean take_name(IfmStudy *study, const StudyText *text, GError **error)
{
    g_autofree char *base = g_path_get_basename(text->record.file);
    if (g_str_has_suffix(base, ".yaml"))
        base[strlen(base) - strlen(".yaml")] = '\0';
    study->title = g_strdup(text->title);
    study->name = g_strdup(text->name != NULL ? text->name : base);
    return study_is_name(study->name) ||
           ifm_yaml_error(&text->record, error, "name: \"%s\" is none: letters, digits, - and _", study->name);
}

static gboolean take_all(IfmStudy *study, const StudyText *text, GError **error)
{
    g_autoptr(GHashTable) lines = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    study->graph_kind = text->graph != NULL ? (IfmGraphKind)text->graph->kind : IFM_GRAPH_UNIFORM;
    study->graph_seed = text->graph != NULL ? (guint32)text->graph->seed : 1;
    if (!take_name(study, text, error) || !take_subject(study, text->subject, error) ||
        !take_sizes(study, text, lines, error) || !take_graphs(study, text, lines, error) ||
        !take_devices(study, text, error) || !take_rest(study, text, error))
        return FALSE;
    if (study->sizes->len == 0)
        return ifm_yaml_error(&text->record, error,
                              "spans no case: neither \"sizes\" nor \"graphs\" has an entry (such as sizes: [{nodes: 1000, "
                              "edges: [2000, 5000]}])");
    if (study->devices->len == 0)
        return ifm_yaml_error(&text->record, error,
                              "spans no case: \"devices\" has no entry (such as CPU: {device: openvino:CPU})");
    return TRUE;
}

/* --- where studies are ------------------------------------------------------------------------------------------------ */

static int compare_names(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

char **ifm_study_names(void)
{
    g_autofree char *folder = ifm_path_data("studies", NULL);
    g_autoptr(GDir) dir = folder != NULL ? g_dir_open(folder, 0, NULL) : NULL;
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (const char *file; dir != NULL && (file = g_dir_read_name(dir)) != NULL;)
        if (g_str_has_suffix(file, ".yaml") && *file != '.')
            g_ptr_array_add(names, g_strndup(file, strlen(file) - strlen(".yaml")));
    g_ptr_array_sort(names, compare_names);
    g_ptr_array_add(names, NULL);
    return (char **)g_ptr_array_free(g_steal_pointer(&names), FALSE);
}

static char *find_file(const char *name, GError **error)
{
    if (strchr(name, '/') != NULL || g_str_has_suffix(name, ".yaml"))
        return g_strdup(name);
    g_auto(GStrv) names = ifm_study_names();
    g_autofree char *relative = g_strdup_printf("studies/%s.yaml", name);
    if (g_strv_contains((const char *const *)names, name))
        return ifm_path_data(relative, error);
    g_autofree char *all = g_strjoinv(", ", names), *hint = ifm_nearest_hint(name, (const char *const *)names);
    g_set_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE, "no study \"%s\"; there are %s, or name a file: ./%s.yaml%s", name,
                all, name, hint);
    return NULL;
}

IfmStudy *ifm_study_open(const char *name, GError **error)
{
    g_autofree char *path = find_file(name, error);
    StudyText *text = path != NULL ? ifm_yaml_read(&study_text_table, path, error) : NULL;
    if (text == NULL)
        return NULL;
    g_autoptr(IfmStudy) study = g_new0(IfmStudy, 1);
    study->stages = g_array_new(FALSE, FALSE, sizeof(int));
    study->ranges = g_array_new(FALSE, FALSE, sizeof(StudyRange));
    study->devices = g_ptr_array_new_with_free_func((GDestroyNotify)study_device_free);
    study->sizes = g_ptr_array_new_with_free_func((GDestroyNotify)study_size_free);
    study->protocol = IFM_PROTOCOL_INIT;
    study->limits = IFM_LIMITS_INIT;
    gboolean good = take_all(study, text, error);
    ifm_yaml_free(&study_text_table, text);
    return good ? g_steal_pointer(&study) : NULL;
}
