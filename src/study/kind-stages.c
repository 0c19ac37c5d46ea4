#include <stddef.h>
#include <string.h>

#include <base/base.h>
#include <measure/measure.h>

#include "definition.h"
#include "study-stages.h"
#include <pipeline/pipeline.h>
#include <staged/staged.h>

/* Kind "stages": the stages of a model, and ranges of them fused, on graphs, on devices, alone and while others work, and
 * the links between the devices. */

/* --- its keys --------------------------------------------------------------------------------------------------------- */

#define MAX_SEED 4294967295.0

typedef struct
{
    IfmPlace place;
    char *model;
    gint64 features, hidden, seed;
    GArray *stages;
    GPtrArray *ranges; /* char * */
} SubjectText;

typedef struct
{
    IfmPlace place;
    int kind;
    gint64 seed;
} GraphText;

typedef struct
{
    IfmPlace place;
    gint64 nodes;
    GArray *edges;
} SizesText;

typedef struct
{
    IfmPlace place;
    char *path;
    gint64 part;
    gboolean padded;
} RealText;

/* Of links, and of contention. */
typedef struct
{
    IfmPlace place;
    gboolean measure;
    ProtocolText *protocol;
} MoreText;

typedef struct
{
    StudyText study;
    SubjectText *subject;
    GraphText *graph;
    GPtrArray *sizes, *graphs;
    MoreText *links, *contention;
} StagesText;

/* In step with IfmGraphKind. */
static const char *const kind_words[] = { "uniform", "power-law", NULL };

static const IfmRecordField subject_fields[] = {
    { IFM_RECORD(PLACE, SubjectText, place) },
    IFM_FIELD(STRING, SubjectText, model, .required = TRUE, .help = "a model in stages: graphsage"),
    IFM_FIELD(INT64, SubjectText, features, .min = 1, .max = 65536, .fallback = "500",
              .help = "numbers that a node comes with"),
    IFM_FIELD(INT64, SubjectText, hidden, .min = 1, .max = 65536, .fallback = "256",
              .help = "numbers that a node leaves with"),
    IFM_FIELD(SERIES, SubjectText, stages, .filled = TRUE, .min = 1, .max = IFM_MAX_STAGES,
              .help = "which stages, by number, in the order they are measured; without it all"),
    IFM_FIELD(
        TEXTS, SubjectText, ranges,
        .help = "contiguous stages to be measured as one model, too, after the stages: 2-4, ends (all that begin with the "
                "first stage or end with the last: what plans of two blocks are made of), all; without it none"),
    IFM_FIELD(INT64, SubjectText, seed, .min = 0, .max = MAX_SEED, .fallback = "1", .help = "of weights and inputs"),
    { 0 }
};

static const IfmRecordField graph_fields[] = {
    { IFM_RECORD(PLACE, GraphText, place) },
    IFM_FIELD(CHOICE, GraphText, kind, .words = kind_words, .fallback = "uniform",
              .help = "how edges are drawn: each as likely as any other, or degrees that fall as a power law"),
    IFM_FIELD(INT64, GraphText, seed, .min = 0, .max = MAX_SEED, .fallback = "1", .help = "of the generator"),
    { 0 }
};

static const IfmRecordField sizes_fields[] = {
    { IFM_RECORD(PLACE, SizesText, place) },
    IFM_FIELD(INT64, SizesText, nodes, .required = TRUE, .min = 1, .max = IFM_GRAPH_MAX_NODES, .help = "of the graph"),
    IFM_FIELD(SERIES, SizesText, edges, .required = TRUE, .filled = TRUE, .min = 1, .max = IFM_GRAPH_MAX_EDGES,
              .help = "a graph for each of these counts of edges"),
    { 0 }
};

static const IfmRecordField real_fields[] = {
    { IFM_RECORD(PLACE, RealText, place) },
    IFM_FIELD(STRING, RealText, path, .required = TRUE,
              .help = "an edge list, a Matrix Market file or a TUDataset folder, relative to this file"),
    IFM_FIELD(INT64, RealText, part, .min = -1, .max = IFM_GRAPH_MAX_NODES, .fallback = "-1",
              .help = "which of the file's graphs, from 0; -1: all of them side by side, as one"),
    IFM_FIELD(
        FLAG, RealText, padded,
        .help = "whether static devices get it padded into the smallest of `sizes` that holds it; else their model has its "
                "very size"),
    { 0 }
};

static const IfmRecordField links_fields[] = {
    { IFM_RECORD(PLACE, MoreText, place) },
    IFM_FIELD(FLAG, MoreText, measure, .fallback = "true", .help = "whether copies between each two devices are measured"),
    IFM_FIELD(MAP, MoreText, protocol, IFM_FIELDS_OF(study_protocol_fields, ProtocolText),
              .help = "of these; without it that of the stages"),
    { 0 }
};

static const IfmRecordField contention_fields[] = {
    { IFM_RECORD(PLACE, MoreText, place) },
    IFM_FIELD(FLAG, MoreText, measure, .fallback = "true",
              .help = "whether each stage and range is also measured while each set of the other devices does the same"),
    IFM_FIELD(MAP, MoreText, protocol, IFM_FIELDS_OF(study_protocol_fields, ProtocolText),
              .help = "of these; without it that of the stages"),
    { 0 }
};

static const IfmRecordField stages_fields[] = {
    IFM_FIELD(MAP, StagesText, subject, IFM_FIELDS_OF(subject_fields, SubjectText), .required = TRUE,
              .help = "what is measured"),
    IFM_FIELD(MAP, StagesText, graph, IFM_FIELDS_OF(graph_fields, GraphText),
              .help = "how the random graphs of `sizes` are made"),
    IFM_FIELD(ROWS, StagesText, sizes, IFM_FIELDS_OF(sizes_fields, SizesText),
              .help = "random graphs to measure on, in this order"),
    IFM_FIELD(ROWS, StagesText, graphs, IFM_FIELDS_OF(real_fields, RealText),
              .help = "real graphs to measure on, after the random ones"),
    IFM_FIELD(MAP, StagesText, links, IFM_FIELDS_OF(links_fields, MoreText),
              .help = "moving tensors from device to device"),
    IFM_FIELD(MAP, StagesText, contention, IFM_FIELDS_OF(contention_fields, MoreText),
              .help = "how much devices slow each other while they work at once; without it nothing of that is measured"),
    { 0 }
};

/* --- from text to study ----------------------------------------------------------------------------------------------- */

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
        return ifm_yaml_error(&text->place, error,
                              "ranges: \"%s\" is none: FIRST-LAST of stages 1 to %zu, such as 2-4, or \"ends\", or \"all\"",
                              word, study->staged->n_stages);
    add_range(study, (int)first, (int)last);
    return TRUE;
}

static gboolean check_stage(const IfmStudy *study, int number, const IfmPlace *place, const char *key, gssize i,
                            GError **error)
{
    return study_stage(study->staged, number) != NULL ||
           ifm_yaml_key_error(place, key, i, error, "there is no stage %d; %s has stages 1 to %zu", number,
                              study->staged->name, study->staged->n_stages);
}

static gboolean take_subject(IfmStudy *study, const SubjectText *text, GError **error)
{
    GError *trouble = NULL;
    study->staged = ifm_staged_find(text->model, &trouble);
    if (study->staged == NULL)
        return study_prefix_place(&text->place, trouble, error);
    study->features = text->features;
    study->hidden = text->hidden;
    study->seed = (guint32)text->seed;
    for (gsize i = 0; i < text->stages->len; i++)
    {
        int number = (int)g_array_index(text->stages, gint64, i);
        if (!check_stage(study, number, &text->place, "stages", i, error))
            return FALSE;
        g_array_append_val(study->stages, number);
    }
    for (gsize i = 0; text->stages->len == 0 && i < study->staged->n_stages; i++)
        g_array_append_val(study->stages, study->staged->stages[i].number);
    for (guint i = 0; i < text->ranges->len; i++)
        if (!take_range(study, text, text->ranges->pdata[i], error))
            return FALSE;
    return ifm_yaml_check_once(&text->place, "stages", text->stages, NULL, error);
}

/* Results are kept by size in every published format, so a size stands once, whatever graph is behind it. */
static gboolean add_size(IfmStudy *study, StudySize *size /* (transfer full) */, const IfmPlace *record, GHashTable *lines,
                         GError **error)
{
    char *key =
        g_strdup_printf("%" G_GINT64_FORMAT " nodes, %" G_GINT64_FORMAT " edges", size->size.nodes, size->size.edges);
    g_ptr_array_add(study->sizes, size);
    const IfmPlace *before = g_hash_table_lookup(lines, key);
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

static gboolean take_sizes(IfmStudy *study, const StagesText *text, GHashTable *lines, GError **error)
{
    const char *kind = kind_words[study->graph_kind];
    for (guint i = 0; i < text->sizes->len; i++)
    {
        const SizesText *sizes = text->sizes->pdata[i];
        for (guint k = 0; k < sizes->edges->len; k++)
        {
            gint64 edges = g_array_index(sizes->edges, gint64, k);
            if (edges > sizes->nodes * (sizes->nodes - 1)) /* within 64 bits: the counts are bounded above */
                return ifm_yaml_error(&sizes->place, error,
                                      "edges: %" G_GINT64_FORMAT " nodes have at most %" G_GINT64_FORMAT
                                      " distinct edges, not %" G_GINT64_FORMAT,
                                      sizes->nodes, sizes->nodes * (sizes->nodes - 1), edges);
            StudySize *size = g_new0(StudySize, 1);
            size->size = (IfmStudySize){ .nodes = sizes->nodes, .edges = edges, .graph = g_strdup(kind) };
            if (!add_size(study, size, &sizes->place, lines, error))
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
    ifm_yaml_key_error(&text->place, "part", -1, error, "%s has graphs 0 to %" G_GINT64_FORMAT ", not %" G_GINT64_FORMAT,
                       text->path, whole->n_graphs - 1, text->part);
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
        return ifm_yaml_error(&text->place, error,
                              "padded: no entry of `sizes` has more than %" G_GINT64_FORMAT
                              " nodes and at least %" G_GINT64_FORMAT " edges",
                              size->size.nodes, size->size.edges);
    size->pad_nodes = best != NULL ? best->size.nodes : 0;
    size->pad_edges = best != NULL ? best->size.edges : 0;
    return TRUE;
}

static gboolean take_graphs(IfmStudy *study, const StagesText *text, GHashTable *lines, GError **error)
{
    for (guint i = 0; i < text->graphs->len; i++)
    {
        const RealText *real = text->graphs->pdata[i];
        g_autofree char *path = ifm_path_beside(text->study.place.file, real->path);
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
        if (!add_size(study, size, &real->place, lines, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean take_not_stages(const IfmStudy *study, const DeviceText *text, IfmStudyDevice *device, GError **error)
{
    for (guint i = 0; i < text->not_stages->len; i++)
    {
        int number = (int)g_array_index(text->not_stages, gint64, i);
        if (!check_stage(study, number, &text->place, "not_stages", -1, error))
            return FALSE;
        device->not_stages |= study_range_mask(number, number);
    }
    return TRUE;
}

static gboolean take_contention(IfmStudy *study, const MoreText *text, GError **error)
{
    study->contention = text != NULL && text->measure;
    study->own_contention_protocol = text != NULL && text->protocol != NULL;
    study->contention_protocol = study->protocol;
    if (study->contention && study->devices->len > IFM_PLAN_MAX_DEVICES)
        return ifm_yaml_error(&text->place, error, "found %u devices; contention is measured of %d at most",
                              study->devices->len, IFM_PLAN_MAX_DEVICES);
    return !study->own_contention_protocol || study_take_protocol(&study->contention_protocol, text->protocol, error);
}

static gboolean read_axes(IfmStudy *study, StudyText *common, GError **error)
{
    const StagesText *text = (const StagesText *)(const void *)common;
    g_autoptr(GHashTable) lines = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    study->graph_kind = text->graph != NULL ? (IfmGraphKind)text->graph->kind : IFM_GRAPH_UNIFORM;
    study->graph_seed = text->graph != NULL ? (guint32)text->graph->seed : 1;
    if (!take_subject(study, text->subject, error) || !take_sizes(study, text, lines, error) ||
        !take_graphs(study, text, lines, error))
        return FALSE;
    if (study->sizes->len == 0)
        return ifm_yaml_error(&common->place, error,
                              "spans no case: neither \"sizes\" nor \"graphs\" has an entry (such as sizes: [{nodes: 1000, "
                              "edges: [2000, 5000]}])");
    return TRUE;
}

static gboolean read_rest(IfmStudy *study, const StudyText *common, GError **error)
{
    const StagesText *text = (const StagesText *)(const void *)common;
    const MoreText *links = text->links;
    study->links = links == NULL || links->measure;
    study->own_link_protocol = links != NULL && links->protocol != NULL;
    study->link_protocol = study->protocol;
    if (study->own_link_protocol && !study_take_protocol(&study->link_protocol, links->protocol, error))
        return FALSE;
    return take_contention(study, text->contention, error);
}

/* --- the manifest ----------------------------------------------------------------------------------------------------- */

json_t *study_model_to_json(const char *name, gint64 features, gint64 hidden, gint64 seed)
{
    return json_pack("{s:s,s:I,s:I,s:I}", "name", name, "features", (json_int_t)features, "hidden", (json_int_t)hidden,
                     "seed", (json_int_t)seed);
}

static json_t *size_to_json(const StudySize *size)
{
    json_t *json = json_pack("{s:I,s:I,s:o}", "nodes", (json_int_t)size->size.nodes, "edges", (json_int_t)size->size.edges,
                             "graph", ifm_json_string(size->size.graph));
    if (size->digest != NULL)
        json_object_set_new(json, "digest", json_string(size->digest));
    if (size->pad_nodes > 0)
        json_object_set_new(
            json, "padded",
            json_pack("{s:I,s:I}", "nodes", (json_int_t)size->pad_nodes, "edges", (json_int_t)size->pad_edges));
    return json;
}

/* What a study need not have. */
static void define_ranges(const IfmStudy *study, json_t *definition)
{
    json_t *ranges = json_array();
    for (guint i = 0; i < study->ranges->len; i++)
    {
        const StudyRange *range = &g_array_index(study->ranges, StudyRange, i);
        json_array_append_new(ranges, json_pack("[i,i]", range->first, range->last));
    }
    if (json_array_size(ranges) > 0)
        json_object_set(definition, "ranges", ranges);
    json_decref(ranges);
    if (study->contention)
        json_object_set_new(definition, "contention", ifm_protocol_to_json(&study->contention_protocol));
}

static json_t *definition_of(const IfmStudy *study)
{
    json_t *stages = json_array(), *sizes = json_array();
    for (guint i = 0; i < study->stages->len; i++)
        json_array_append_new(stages, json_integer(g_array_index(study->stages, int, i)));
    for (guint i = 0; i < study->sizes->len; i++)
        json_array_append_new(sizes, size_to_json(study->sizes->pdata[i]));
    json_t *json =
        json_pack("{s:o,s:o,s:{s:s,s:I},s:o,s:o,s:o}", "model",
                  study_model_to_json(study->staged->name, study->features, study->hidden, study->seed), "stages", stages,
                  "graph", "kind", ifm_graph_kind_words()[study->graph_kind], "seed", (json_int_t)study->graph_seed,
                  "sizes", sizes, "protocol", ifm_protocol_to_json(&study->protocol), "links",
                  study->links ? ifm_protocol_to_json(&study->link_protocol) : json_null());
    define_ranges(study, json);
    return json;
}

/* What takes equally long: links, each stage alone, ranges by their length, and both under load, by the length, too. */
static int pace_of(const StudyCase *one)
{
    const IfmStudyCase *row = &one->row;
    int length = row->last - row->stage;
    if (row->busy != NULL)
        return 1 + 2 * IFM_MAX_STAGES + length;
    return length > 0 ? 1 + IFM_MAX_STAGES + length : row->stage;
}

const StudyKind study_kind_stages = {
    .name = "stages",
    .help = "the stages of a model on graphs",
    .fields = stages_fields,
    .text_size = sizeof(StagesText),
    .read = read_axes,
    .take_device = take_not_stages,
    .read_rest = read_rest,
    .span = study_stages_span,
    .export_files = study_stages_export,
    .fill = study_stages_fill,
    .drop = study_stages_drop,
    .pace = pace_of,
    .definition = definition_of,
};
