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
    IfmGraph *real;               /* NULL: a random one, made when it is written */
    char *digest;                 /* of a real graph's edges: 64 hex digits */
    gint64 pad_nodes, pad_edges;  /* of the static model that a real graph is padded into; 0: one of its own size */
} StudySize;

/* StudyCase: a row of the span and what it stands on. */
typedef struct
{
    IfmStudyCase row;
    IfmStudyDevice *device, *to; /* borrowed from the study */
    StudySize *size;             /* borrowed; NULL: a link */
    IfmCase *sealed;
} StudyCase;

struct IfmStudy
{
    char *name, *title;
    const IfmStagedModel *staged;
    gint64 features, hidden;
    guint32 seed;
    GArray *stages; /* int, in the order they are measured */
    IfmGraphKind graph_kind;
    guint32 graph_seed;
    GPtrArray *devices; /* IfmStudyDevice* */
    GPtrArray *sizes;   /* StudySize*, also IfmStudySize* */
    IfmProtocol protocol, link_protocol;
    gboolean links, own_link_protocol;
    IfmLimits limits;
    GPtrArray *cases; /* StudyCase*, also IfmStudyCase*; NULL until spanned */
};

/* --- devices (study.c) --- */
IfmStudyDevice *study_device_new(const char *alias, const char *device, GError **error);
void study_device_free(IfmStudyDevice *device);
void study_device_set_form(IfmStudyDevice *device, IfmStudyForm form);
IfmStudyDevice *study_device_find(const GPtrArray *devices, const char *alias);
const IfmStage *study_stage(const IfmStagedModel *staged, int number);
void study_size_free(StudySize *size);
void study_case_free(StudyCase *self);

/* --- files (study-export.c) --- */
/* study_model_path: (transfer full) the model of a stage case. study_inputs_path: the tensors of its graph. */
char *study_model_path(const StudyCase *self, const char *folder);
char *study_inputs_path(const StudyCase *self, const char *folder);
/* study_export_device: what one device needs. */
gboolean study_export_device(IfmStudy *study, const IfmStudyDevice *device, const char *folder, gsize *n_models,
                             GError **error);

/* --- the manifest (manifest.c) --- */
#define STUDY_DOCUMENT "study"
#define STUDY_FORMAT_VERSION 1
/* study_manifest: (transfer full) with @sessions (json array, borrowed). */
json_t *study_manifest(IfmStudy *study, json_t *sessions);
json_t *study_device_to_json(const IfmStudyDevice *device);
json_t *study_case_to_json(const IfmStudyCase *row);
/* study_manifest_read: what a store says; *manifest NULL where it says nothing. Checked: FALSE with IFM_ERROR_CORRUPT. */
gboolean study_manifest_read(IfmStore *store, json_t **manifest, GError **error);
/* study_store_holds: whether there is any measurement. */
gboolean study_store_holds(IfmStore *store, gboolean *holds, GError **error);
