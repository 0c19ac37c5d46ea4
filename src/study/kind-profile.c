#include <stddef.h>
#include <string.h>

#include "point-axes.h"

/* Kind "profile": models, as files or from the zoo, over batches, dimensions, passes, precisions, threads and streams, on
 * devices. A point is what `profile` measures with the same options (profile-point.h). */

/* --- its keys --------------------------------------------------------------------------------------------------------- */

static const IfmRecordField dim_fields[] = {
    { IFM_RECORD(PLACE, PointDim, place) },
    IFM_FIELD(
        STRING, PointDim, name, .required = TRUE,
        .help =
            "a free dimension of the models' inputs, \"*\" for all that have no size, or a parameter of the zoo's models"),
    IFM_FIELD(SERIES, PointDim, sizes, .required = TRUE, .filled = TRUE, .min = 0, .max = 1e12, .help = "each of these"),
    { 0 }
};

static const IfmRecordField profile_fields[] = {
    IFM_FIELD_AS(
        TEXTS, PointAxes, model_words, "models", .required = TRUE, .filled = TRUE,
        .help = "ONNX files, relative to this file, or models of the zoo with their parameters: \"resnet50,size=160\""),
    IFM_FIELD(
        SERIES, PointAxes, batch, .filled = TRUE, .min = 1, .max = 65536,
        .help =
            "inputs at once, which must be the free first dimension of a model's first input; without it as the model is"),
    IFM_FIELD(ROWS, PointAxes, dims, IFM_FIELDS_OF(dim_fields, PointDim), .help = "other sizes to vary"),
    IFM_FIELD(TEXTS, PointAxes, inputs,
              .help = "what inputs are fed, NAME=FILE, NAME=VALUE or NAME=LOW..HIGH as profile --input has it"),
    IFM_FIELD(CHOICES, PointAxes, mode, .words = point_mode_words, .filled = TRUE,
              .help =
                  "passes to run: forward, and without it; backward: forward and backward in one; train: a training step"),
    IFM_FIELD(CHOICES, PointAxes, dtype, .words = point_dtype_words, .filled = TRUE,
              .help = "precisions to compute in; without it the model's own"),
    IFM_FIELD(SERIES, PointAxes, threads, .filled = TRUE, .min = 0, .max = 4096,
              .help = "threads of the runtime; 0, and without it: as many as the device has cores"),
    IFM_FIELD(SERIES, PointAxes, streams, .filled = TRUE, .min = 1, .max = 1024,
              .help = "inferences at once; the devices then name no streams of their own"),
    IFM_FIELD(UINT32, PointAxes, seed, .min = 0, .max = G_MAXUINT32, .fallback = "1",
              .help = "of the inputs and of the weights of the zoo's models"),
    IFM_FIELD(FLAG, PointAxes, verify, .fallback = "true",
              .help = "whether the outputs are compared with those of the reference"),
    { 0 }
};

/* --- its axes --------------------------------------------------------------------------------------------------------- */

static gboolean check_dim(const PointAxes *axes, guint i, GError **error)
{
    const PointDim *dim = axes->dims->pdata[i];
    if (i == POINT_MAX_DIMS)
        return ifm_yaml_error(&dim->place, error, "dims: more than %d", POINT_MAX_DIMS);
    static const char *const taken[] = { "model", "batch", "mode", "dtype", "threads", "streams", NULL };
    if (g_strv_contains(taken, dim->name))
        return ifm_yaml_error(&dim->place, error, "dims: \"%s\" is an axis of its own; expected another dimension",
                              dim->name);
    for (guint k = 0; k < i; k++)
        if (g_str_equal(((const PointDim *)axes->dims->pdata[k])->name, dim->name))
            return ifm_yaml_error(&dim->place, error, "dims: \"%s\" is listed twice", dim->name);
    return TRUE;
}

static gboolean read_axes(IfmStudy *study, StudyText *text, GError **error)
{
    const IfmPlace *record = &text->place;
    PointAxes *axes = point_axes_begin(study, text);
    study_seal_texts(record, axes->inputs, TRUE);
    if (!point_axes_read_models(axes, error))
        return FALSE;
    for (guint i = 0; i < axes->dims->len; i++)
        if (!check_dim(axes, i, error))
            return FALSE;
    for (guint i = 0; i < axes->dims->len; i++)
    {
        const PointDim *dim = axes->dims->pdata[i];
        if (!point_axes_check_not_set(axes, record, dim->name, error) ||
            !ifm_yaml_check_once(record, dim->name, dim->sizes, NULL, error))
            return FALSE;
    }
    return ifm_yaml_check_once(record, "mode", axes->mode, point_mode_words, error) &&
           ifm_yaml_check_once(record, "dtype", axes->dtype, point_dtype_words, error) &&
           (axes->batch->len == 0 || point_axes_check_not_set(axes, record, "batch", error)) &&
           ifm_yaml_check_once(record, "batch", axes->batch, NULL, error) &&
           ifm_yaml_check_once(record, "threads", axes->threads, NULL, error) &&
           ifm_yaml_check_once(record, "streams", axes->streams, NULL, error);
}

const StudyKind study_kind_profile = {
    .name = "profile",
    .help = "models over batches, sizes, precisions, threads and streams",
    .fields = profile_fields,
    .text_size = sizeof(PointAxes),
    .read = read_axes,
    POINT_KIND_FUNCTIONS,
};
