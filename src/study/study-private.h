#pragma once
#include <inferometer/dataset.h>
#include <inferometer/json.h>
#include <inferometer/study.h>
#include <inferometer/yaml.h>

/* What the files of this room share: a study in memory, where its files are, and its manifest. */

/* StudySize: a size and the graph behind it. */
typedef struct
{
    IfmStudySize size;
    IfmGraph *real;              /* NULL: a random one, made when it is written */
    char *digest;                /* of a real graph's edges: 64 hex digits */
    gint64 pad_nodes, pad_edges; /* of the static model that a real graph is padded into; 0: one of its own size */
} StudySize;

typedef enum
{
    STUDY_CASE_TODO,
    STUDY_CASE_DONE,
} StudyCaseState;

/* StudyCase: a row of the span and what it stands on. */
typedef struct
{
    IfmStudyCase row;
    IfmStudyDevice *device, *to; /* borrowed from the study */
    IfmStudyDevice **beside;     /* those of row.busy, NULL-terminated; NULL: none */
    StudySize *size;             /* borrowed; NULL: a link */
    IfmCase *sealed;             /* NULL where a device is not here */
    StudyCaseState state;
    gboolean was_tried; /* the store has a record of it */
} StudyCase;

/* StudyRange: of stages, fused: at least two. */
typedef struct
{
    int first, last;
} StudyRange;

struct IfmStudy
{
    char *name, *title;
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
    GPtrArray *cases; /* StudyCase*, also IfmStudyCase*; NULL until spanned */
};

/* --- names and devices (study.c) --- */
gboolean study_is_name(const char *text);
gboolean study_is_alias(const char *text);
IfmStudyDevice *study_device_new(const char *alias, const char *device, GError **error);
void study_device_free(IfmStudyDevice *device);
void study_device_set_form(IfmStudyDevice *device, IfmStudyForm form);
IfmStudyDevice *study_device_find(const GPtrArray *devices, const char *alias);
/* study_case_protocol: the one a case is measured by. */
const IfmProtocol *study_case_protocol(const IfmStudy *study, const StudyCase *one);
/* study_range_mask: of stages @first to @last, as IfmStudyDevice.not_stages counts them. */
guint32 study_range_mask(int first, int last);
const IfmStage *study_stage(const IfmStagedModel *staged, int number);
void study_size_free(StudySize *size);
void study_case_free(StudyCase *self);

/* --- files (study-export.c) --- */
/* study_model_path: (transfer full) the model of a stage case, as one of its devices has it: the measured one, or one that
 * works beside. study_inputs_path: the tensors of its graph. */
char *study_model_path(const StudyCase *self, const IfmStudyDevice *device, const char *folder);
char *study_inputs_path(const StudyCase *self, const IfmStudyDevice *device, const char *folder);
/* study_case_model_size: of that model: a real graph may go into a larger static one. */
void study_case_model_size(const StudyCase *self, const IfmStudyDevice *device, gint64 *nodes, gint64 *edges);
/* study_export_files: what a device needs; all of them where it is NULL. */
gboolean study_export_files(IfmStudy *study, const char *folder, const IfmStudyDevice *device, gsize *n_models,
                            GError **error);

/* --- the manifest (manifest.c) --- */
#define STUDY_DOCUMENT "study"
#define STUDY_FORMAT_VERSION 1
/* study_manifest: (transfer full) with @sessions (an array, borrowed). */
json_t *study_manifest(IfmStudy *study, json_t *sessions);
json_t *study_device_to_json(const IfmStudyDevice *device);
json_t *study_case_to_json(const IfmStudyCase *row);
json_t *study_protocol_to_json(const IfmProtocol *protocol);
json_t *study_model_to_json(const char *name, gint64 features, gint64 hidden, gint64 seed);
/* study_manifest_read: what a store says; *manifest NULL where it says nothing. FALSE with IFM_ERROR_CORRUPT, or
 * IFM_ERROR_INVALID for one of a later format. */
gboolean study_manifest_read(IfmStore *store, json_t **manifest, GError **error);
/* study_manifest_device (manifest-span.c): the device behind an alias; NULL where there is none, or no @alias. */
const char *study_manifest_device(const json_t *manifest, const char *alias);
/* study_manifest_keys: (transfer full) the keys of a manifest's cases, borrowed from it, by what the cases are of. */
GHashTable *study_manifest_keys(const json_t *manifest);
/* study_manifest_key: the one of a case in @keys; NULL where there is none. */
const char *study_manifest_key(GHashTable *keys, const StudyCase *one);
/* study_manifest_update: (transfer full) a manifest with the study's span as it is now: what is new in it has no key yet.
 * Devices that the last run was asked for stay. */
json_t *study_manifest_update(const json_t *manifest, IfmStudy *study, GError **error);
/* study_check_identity: whether a manifest is of the study of that name and model; IFM_ERROR_INVALID. */
gboolean study_check_identity(IfmStore *store, const json_t *manifest, const char *name, const json_t *model,
                              gboolean imported, GError **error);
/* study_check_empty: whether a store without a manifest has no measurement either; IFM_ERROR_INVALID. */
gboolean study_check_empty(IfmStore *store, GError **error);

/* --- what earlier runs came to (study-resume.c) --- */
typedef struct StudyPast StudyPast;
/* study_past_new: @manifest: (optional) as the store has it. The store must outlive it. */
StudyPast *study_past_new(IfmStore *store, json_t *manifest, GError **error);
void study_past_free(StudyPast *past);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(StudyPast, study_past_free)
/* study_past_tell_losses: of each device that was lost and did not work since: it must answer before it is measured. */
void study_past_tell_losses(const StudyPast *past, IfmRunner *runner);
/* study_past_stands: whether a record ends its case: what was measured; what failed; and what was skipped since a device
 * was lost, if that device was lost in a later session again. @retry: only what was measured. */
gboolean study_past_stands(const StudyPast *past, const StudyCase *one, const IfmMeasurement *last, gboolean retry);
/* study_past_key: @key: (out) (transfer full) of a case that cannot be sealed now, from an earlier run; NULL where there is
 * none, or it was measured by another protocol or on another machine. */
gboolean study_past_key(const StudyPast *past, const IfmStudy *study, const StudyCase *one, char **key, GError **error);
