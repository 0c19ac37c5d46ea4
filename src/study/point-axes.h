#pragma once
#include <profile/profile.h>

#include "definition.h"

/*
 * Axes of models: what the kinds `profile` and `conv-algorithms` share. A kind reads its keys into the axes; span, files,
 * cases and manifest are here. A point is what `profile` measures with the same options (profile-point.h).
 */

#define POINT_MAX_DIMS 16

typedef struct
{
    char *text;               /* as the file has it */
    char *path;               /* of an ONNX file; NULL: of the zoo */
    const IfmZooEntry *entry; /* of the zoo; NULL: a file */
    GArray *sizes;            /* gint64: of images, of this model; NULL: no such axis */
    GPtrArray *size_dims;     /* char*: of a file, what has that size; NULL: of the zoo, or no such axis */
    gboolean fixed_batch;     /* of a file: it is as asked for */
} PointModel;

typedef struct
{
    IfmPlace place;
    char *name;
    GArray *sizes; /* gint64 */
} PointDim;

/* PointAxes: IfmStudy.own: what the file says, by the fields of its kind, and what is made of it. An empty list: no such
 * axis. */
typedef struct
{
    StudyText study;
    GPtrArray *model_words, *dims, *algorithms;       /* char*, PointDim*, char* */
    GPtrArray *inputs;                                /* char*, NULL-terminated; NULL: none */
    GArray *batch, *mode, *dtype, *threads, *streams; /* gint64; mode, dtype: int, a word */
    GArray *sizes;                                    /* gint64: of images, of all models */
    int level;                                        /* of sizes */
    gint64 num_sizes, max_size;
    gint64 one_batch;       /* of all points, where batch is no axis; 0: as the model is */
    char *fallback;         /* of convolutions; NULL: none */
    gint64 workspace_bytes; /* of a convolution; 0: as it is */
    guint32 seed;
    gboolean verify;

    gboolean layers;
    GPtrArray *models;    /* PointModel* */
    GHashTable *written;  /* paths of models that this process wrote */
    IfmProfilePlan *open; /* the one that was planned last: cases of a model are neighbours */
    char *open_words;     /* what it was planned by */
} PointAxes;

extern const char *const point_dtype_words[], *const point_mode_words[];

/* point_axes_begin: the axes of a study, out of its record, with those of the lists that no field of its kind has empty.
 * point_axes_read_models: what `models` says: files, and models of the zoo. FALSE with "FILE:LINE: ..." */
PointAxes *point_axes_begin(IfmStudy *study, StudyText *text);
gboolean point_axes_read_models(PointAxes *axes, GError **error);
/* point_axes_check_not_set: a parameter that a model's own text sets cannot be an axis, too. */
gboolean point_axes_check_not_set(const PointAxes *axes, const IfmPlace *record, const char *axis, GError **error);

/* The functions of StudyKind that are the same for both. */
void point_axes_clear(IfmStudy *study);
void point_clear_case(StudyCase *one);
gboolean point_take_device(const IfmStudy *study, const DeviceText *text, IfmStudyDevice *device, GError **error);
void point_span(IfmStudy *study, int phase);
gboolean point_export_files(IfmStudy *study, const char *folder, const IfmStudyDevice *device, gsize *n_models,
                            GError **error);
gboolean point_fill(IfmStudy *study, const char *folder, StudyCase *one, IfmCampaignItem *item, GError **error);
void point_drop(StudyCase *one);
int point_pace(const StudyCase *one);
json_t *point_definition(const IfmStudy *study);

/* POINT_KIND_FUNCTIONS: these members of a StudyKind. */
#define POINT_KIND_FUNCTIONS                                                                                               \
    .take_device = point_take_device, .clear = point_axes_clear, .clear_case = point_clear_case, .span = point_span,       \
    .export_files = point_export_files, .fill = point_fill, .drop = point_drop, .pace = point_pace,                        \
    .definition = point_definition
