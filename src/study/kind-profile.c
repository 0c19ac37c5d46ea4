#include <stddef.h>
#include <string.h>

#include "point-axes.h"

/* Kind "profile": models, as files or from the zoo, over batches, dimensions, passes, precisions, threads and streams, on
 * devices. A point is what `profile` measures with the same options (profile-point.h). */

/* --- its keys --------------------------------------------------------------------------------------------------------- */

#define MAX_SEED 4294967295.0

typedef struct
{
    IfmPlace place;
    char *name;
    GArray *sizes; /* gint64 */
} DimText;

typedef struct
{
    StudyText study;
    GPtrArray *models, *dims, *inputs;                /* char*, DimText*, char* */
    GArray *batch, *mode, *dtype, *threads, *streams; /* gint64; mode, dtype: int, a word */
    gint64 seed;
    gboolean verify;
} ProfileText;

static const IfmRecordField dim_fields[] = {
    { IFM_RECORD(PLACE, DimText, place) },
    IFM_FIELD(
        STRING, DimText, name, .required = TRUE,
        .help =
            "a free dimension of the models' inputs, \"*\" for all that have no size, or a parameter of the zoo's models"),
    IFM_FIELD(SERIES, DimText, sizes, .required = TRUE, .filled = TRUE, .min = 0, .max = 1e12, .help = "each of these"),
    { 0 }
};

static const IfmRecordField profile_fields[] = {
    IFM_FIELD(TEXTS, ProfileText, models, .required = TRUE, .filled = TRUE,
              .help =
                  "ONNX files, relative to this file, or models of the zoo with their parameters: \"resnet50,size=160\""),
    IFM_FIELD(
        SERIES, ProfileText, batch, .filled = TRUE, .min = 1, .max = 65536,
        .help =
            "inputs at once, which must be the free first dimension of a model's first input; without it as the model is"),
    IFM_FIELD(ROWS, ProfileText, dims, IFM_FIELDS_OF(dim_fields, DimText), .help = "other sizes to vary"),
    IFM_FIELD(TEXTS, ProfileText, inputs,
              .help = "what inputs are fed, NAME=FILE, NAME=VALUE or NAME=LOW..HIGH as profile --input has it"),
    IFM_FIELD(CHOICES, ProfileText, mode, .words = point_mode_words, .filled = TRUE,
              .help =
                  "passes to run: forward, and without it; backward: forward and backward in one; train: a training step"),
    IFM_FIELD(CHOICES, ProfileText, dtype, .words = point_dtype_words, .filled = TRUE,
              .help = "precisions to compute in; without it the model's own"),
    IFM_FIELD(SERIES, ProfileText, threads, .filled = TRUE, .min = 0, .max = 4096,
              .help = "threads of the runtime; 0, and without it: as many as the device has cores"),
    IFM_FIELD(SERIES, ProfileText, streams, .filled = TRUE, .min = 1, .max = 1024,
              .help = "inferences at once; the devices then name no streams of their own"),
    IFM_FIELD(INT64, ProfileText, seed, .min = 0, .max = MAX_SEED, .fallback = "1",
              .help = "of the inputs and of the weights of the zoo's models"),
    IFM_FIELD(FLAG, ProfileText, verify, .fallback = "true",
              .help = "whether the outputs are compared with those of the reference"),
    { 0 }
};

/* --- its axes --------------------------------------------------------------------------------------------------------- */

static gboolean take_dim(PointAxes *axes, const DimText *text, GError **error)
{
    if (axes->dims->len == POINT_MAX_DIMS)
        return ifm_yaml_error(&text->place, error, "dims: more than %d", POINT_MAX_DIMS);
    static const char *const taken[] = { "model", "batch", "mode", "dtype", "threads", "streams", NULL };
    if (g_strv_contains(taken, text->name))
        return ifm_yaml_error(&text->place, error, "dims: \"%s\" is an axis of its own; expected another dimension",
                              text->name);
    for (guint i = 0; i < axes->dims->len; i++)
        if (g_str_equal(((const PointDim *)axes->dims->pdata[i])->name, text->name))
            return ifm_yaml_error(&text->place, error, "dims: \"%s\" is listed twice", text->name);
    PointDim *dim = g_new0(PointDim, 1);
    dim->name = g_strdup(text->name);
    dim->sizes = g_array_copy(text->sizes);
    g_ptr_array_add(axes->dims, dim);
    return TRUE;
}

static gboolean read_axes(IfmStudy *study, const StudyText *common, GError **error)
{
    const ProfileText *text = (const ProfileText *)(const void *)common;
    const IfmPlace *record = &text->study.place;
    PointAxes *axes = point_axes_new(study);
    axes->seed = (guint32)text->seed;
    axes->verify = text->verify;
    g_array_append_vals(axes->batch, text->batch->data, text->batch->len);
    g_array_append_vals(axes->mode, text->mode->data, text->mode->len);
    g_array_append_vals(axes->dtype, text->dtype->data, text->dtype->len);
    g_array_append_vals(axes->threads, text->threads->data, text->threads->len);
    g_array_append_vals(axes->streams, text->streams->data, text->streams->len);
    axes->inputs = study_new_inputs(record, text->inputs);
    for (guint i = 0; i < text->models->len; i++)
        if (!point_axes_add_model(axes, record, text->models->pdata[i], error))
            return FALSE;
    for (guint i = 0; i < text->dims->len; i++)
        if (!take_dim(axes, text->dims->pdata[i], error))
            return FALSE;
    for (guint i = 0; i < axes->dims->len; i++)
    {
        const PointDim *dim = axes->dims->pdata[i];
        if (!point_axes_check_not_set(axes, record, dim->name, error) ||
            !point_check_once(record, dim->name, dim->sizes, NULL, error))
            return FALSE;
    }
    return point_check_once(record, "mode", axes->mode, point_mode_words, error) &&
           point_check_once(record, "dtype", axes->dtype, point_dtype_words, error) &&
           (axes->batch->len == 0 || point_axes_check_not_set(axes, record, "batch", error)) &&
           point_check_once(record, "batch", axes->batch, NULL, error) &&
           point_check_once(record, "threads", axes->threads, NULL, error) &&
           point_check_once(record, "streams", axes->streams, NULL, error);
}

const StudyKind study_kind_profile = {
    .name = "profile",
    .help = "models over batches, sizes, precisions, threads and streams",
    .fields = profile_fields,
    .text_size = sizeof(ProfileText),
    .read = read_axes,
    POINT_KIND_FUNCTIONS,
};
