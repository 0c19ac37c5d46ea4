#pragma once
#include <dataset/dataset.h>
#include <study/study.h>

/* What the files of this room share: a study in memory, where its files are, and its manifest. */

/* StudySize: a size and the graph behind it. */
typedef struct
{
    IfmStudySize size;
    IfmGraph *real;              /* NULL: a random one, made when it is written */
    char *digest;                /* of a real graph's edges: 64 hex digits */
    gint64 pad_nodes, pad_edges; /* of the static model that a real graph is padded into; 0: one of its own size */
} StudySize;

typedef struct StudyKind StudyKind;
typedef struct StudyText StudyText;

/* StudyCase: a row of the span and what it stands on. */
typedef struct
{
    IfmStudyCase row;
    IfmStudyDevice *device, *to; /* borrowed from the study */
    IfmStudyDevice **background; /* those of row.busy, NULL-terminated; NULL: none */
    StudySize *size;             /* borrowed; NULL: a link */
    const char **specs;          /* of all its devices, NULL-terminated; borrowed from them; NULL until it is measured */
    void *own;                   /* the kind's */
    void *text;                  /* the kind's, while it is sealed or measured */
} StudyCase;

/* StudyRange: of stages, fused: at least two. */
typedef struct
{
    int first, last;
} StudyRange;

struct IfmStudy
{
    const StudyKind *kind;
    StudyText *text;        /* as its file has it, by @fields; NULL: of no file */
    IfmRecordField *fields; /* of @text */
    void *own;              /* the kind's axes; where its kind is read into them, the same as @text */
    char *name, *title;
    char *energy; /* IfmModelCase.energy of all cases of models; NULL */
    const IfmStagedModel *staged;
    gint64 features, hidden;
    guint32 seed;
    GArray *stages; /* int, in the order they are measured */
    GArray *ranges; /* StudyRange, in the order they are measured */
    IfmGraphKind graph_kind;
    guint32 graph_seed;
    GPtrArray *devices; /* IfmStudyDevice* */
    GPtrArray *sizes;   /* StudySize*, also IfmStudySize* */
    IfmProtocol protocol, link_protocol, contention_protocol;
    gboolean links, own_link_protocol, contention, own_contention_protocol;
    IfmLimits limits;
    GHashTable *free_dims;   /* model path -> GPtrArray of names */
    GPtrArray *cases;        /* StudyCase*, also IfmStudyCase*; NULL until spanned */
    const gint *interrupted; /* of the run that goes on: not 0 ends it; NULL: nothing does */
    gboolean in_parts;       /* a run has a part of the cases alone: none may depend on the results of others */
};

/* --- names and devices (study.c) --- */
gboolean study_is_name(const char *text);
gboolean study_is_alias(const char *text);
/* study_is_path: of a model: it has a slash or ends in ".onnx"; else it is one of the zoo. */
gboolean study_is_path(const char *model);
IfmStudyDevice *study_device_new(const char *alias, const char *device, GError **error);
void study_device_free(IfmStudyDevice *device);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmStudyDevice, study_device_free)
void study_device_set_form(IfmStudyDevice *device, IfmStudyForm form);
IfmStudyDevice *study_device_find(const GPtrArray *devices, const char *alias);
/* study_case_protocol: the one a case is measured by. */
const IfmProtocol *study_case_protocol(const IfmStudy *study, const StudyCase *one);
/* study_range_mask: of stages @first to @last, as IfmStudyDevice.not_stages counts them. */
guint32 study_range_mask(int first, int last);
const IfmStage *study_stage(const IfmStagedModel *staged, int number);
/* study_stages_title: "graphsage stage 3 REDUCE_SUM", "CPU stages 2-4" (transfer full) */
char *study_stages_title(const char *of, const IfmStagedModel *staged, int first, int last);
void study_size_free(StudySize *size);
void study_case_free(StudyCase *self);
/* study_forget_cases: the span is made anew. */
void study_forget_cases(IfmStudy *study);

/* --- files (study-export.c) --- */
/* study_model_path: (transfer full) the model of a stage case, as one of its devices has it: the measured one, or one that
 * is its background load. study_inputs_path: the tensors of its graph. */
char *study_model_path(const StudyCase *self, const IfmStudyDevice *device, const char *folder);
char *study_inputs_path(const StudyCase *self, const IfmStudyDevice *device, const char *folder);
/* study_case_model_size: of that model: a real graph may go into a larger static one. */
void study_case_model_size(const StudyCase *self, const IfmStudyDevice *device, gint64 *nodes, gint64 *edges);
/* study_save_bytes: Writes a file and its folder, unless it is there with the same bytes. */
gboolean study_save_bytes(const char *path, GBytes *bytes, GError **error);

/* --- the manifest (manifest.c) --- */
#define STUDY_DOCUMENT "study"

typedef struct
{
    gint64 started_unix_ms, spent_ns, n_measured;
} StudySession;

/* StudyManifest: what a store says of its study, or what it shall say. Where it was read its cases are of its devices. */
typedef struct
{
    gint64 format_version;
    char *name, *title;
    json_t *definition;  /* what makes it this study, and its axes: StudyKind.definition */
    GPtrArray *devices;  /* IfmStudyDevice* */
    GPtrArray *cases;    /* IfmStudyCase* */
    GPtrArray *sessions; /* StudySession*: what measured anything, in order */
    json_t *imported;    /* {"files", "bandwidth_mb_per_s"}; NULL: it was measured here */
    json_t *shard;       /* of a shard: study_shard_to_json(); NULL */
} StudyManifest;
StudyManifest *study_manifest_new(void);
void study_manifest_free(StudyManifest *manifest);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(StudyManifest, study_manifest_free)
json_t *study_manifest_to_json(const StudyManifest *manifest);
/* study_manifest_of: (transfer full) of a study as it is now. @sessions: StudySession*    @shard: (nullable) borrowed */
json_t *study_manifest_of(IfmStudy *study, const GPtrArray *sessions, json_t *shard);
/* study_manifest_read: what a store says; *manifest NULL where it says nothing. FALSE with IFM_ERROR_CORRUPT, or
 * IFM_ERROR_INVALID for one of a later format. */
gboolean study_manifest_read(IfmStore *store, StudyManifest **manifest, GError **error);
/* study_manifest_required: (transfer full) the same; NULL with IFM_ERROR_INVALID where it holds no study. */
StudyManifest *study_manifest_required(IfmStore *store, GError **error);
/* study_manifest_kind: of the study that it is of. */
const char *study_manifest_kind(const StudyManifest *manifest);
/* study_manifest_update: (transfer full) a manifest with the study's span as it is now: what is new in it has no key yet.
 * Devices that the last run was asked for stay. */
StudyManifest *study_manifest_update(const StudyManifest *manifest, IfmStudy *study, GError **error);
/* study_check_identity: whether a manifest is of the study of that name and model; IFM_ERROR_INVALID. */
gboolean study_check_identity(IfmStore *store, const StudyManifest *manifest, const char *name, const json_t *model,
                              gboolean imported, GError **error);
/* study_check_empty: whether a store without a manifest has no measurement either; IFM_ERROR_INVALID. */
gboolean study_check_empty(IfmStore *store, GError **error);
json_t *study_model_to_json(const char *name, gint64 features, gint64 hidden, gint64 seed);

void study_case_record_clear(IfmStudyCase *row);
void study_case_record_free(gpointer row);
/* study_case_aliases: (transfer full) of all devices that it takes, NULL-terminated: its own first. */
char **study_case_aliases(const IfmStudyCase *row);
/* study_case_place: (transfer full) what a case is of, and the devices behind its aliases: what it is found again by. */
char *study_case_place(const GPtrArray *devices, const IfmStudyCase *row);
/* study_manifest_rows: (transfer full) a manifest's cases, borrowed from it, by their places. @manifest: NULL: none */
GHashTable *study_manifest_rows(const StudyManifest *manifest);
/* study_manifest_row: of a case in @rows; NULL where there is none. */
const IfmStudyCase *study_manifest_row(GHashTable *rows, const IfmStudy *study, const StudyCase *one);
/* study_take_flop: of a point, what was counted when there was a model to look at. @row: or NULL */
void study_take_flop(StudyCase *one, const IfmStudyCase *row);
/* study_point_title: (transfer full) "CPU resnet50, batch 4" of its axes. @alias: (nullable) NULL: "resnet50, batch 4" */
char *study_point_title(const char *alias, const json_t *axes);

/* --- shards (study-shards.c) --- */
/* study_shard_to_json: (transfer full) what the manifest of a shard says of itself, the versions that measure it included.
 */
json_t *study_shard_to_json(gsize number, gsize of);

/* --- what earlier runs came to (study-resume.c) --- */
typedef struct StudyPast StudyPast;
/* study_past_new: @manifest: (optional) as the store has it. Both must outlive it. */
StudyPast *study_past_new(IfmStore *store, const StudyManifest *manifest);
void study_past_free(StudyPast *past);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(StudyPast, study_past_free)
/* study_past_note: what its cases came to, for what is known of their devices. */
gboolean study_past_note(const StudyPast *past, IfmCampaign *campaign, GError **error);
/* study_past_key: @key: (out) (transfer full) of a case that cannot be sealed now, from an earlier run; NULL where there is
 * none, or it was measured by another protocol or on another machine. */
gboolean study_past_key(const StudyPast *past, const IfmStudy *study, StudyCase *one, char **key, GError **error);

/* ifm_study_kind: "stages", "profile": what its file says, how its axes become cases. */
const char *ifm_study_kind(const IfmStudy *study);

/* ifm_study_describe: every key a study may have, as text for the documentation. (transfer full) */
char *ifm_study_describe(void);

/* ifm_study_stage_sizes: features and hidden of the study; nodes and edges 0. */
IfmStageSizes ifm_study_stage_sizes(const IfmStudy *study);

/* ifm_study_check_store: FALSE with IFM_ERROR_INVALID where the store is another study's, or holds no study but
 * measurements. An empty one is fine. */
gboolean ifm_study_check_store(IfmStudy *study, IfmStore *store, GError **error);

/* ifm_study_holder: the process that measures in the folder of a store now; 0 where none does. */
gint64 ifm_study_holder(const char *folder);
