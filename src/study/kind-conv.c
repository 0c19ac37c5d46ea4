#include "point-axes.h"

#include <math.h>
#include <stddef.h>

#include <convolution/convolution.h>

/* Kind "conv-algorithms": convolutional networks of the zoo x algorithms for their convolutions x sizes of the image. */

/* --- its keys --------------------------------------------------------------------------------------------------------- */

typedef enum
{
    LEVEL_SANITY,
    LEVEL_QUICK,
    LEVEL_FULL,
} Level;
static const char *const level_words[] = { "sanity", "quick", "full", NULL };
static const gint64 level_sizes[] = { 1, 10, 100 };
/* The one size of a sanity check: what the networks were published for. */
#define USUAL_SIZE 224
/* Where sizes begin, where the model takes images that small. */
#define LEAST_SIZE 32

static const IfmRecordField conv_fields[] = {
    IFM_FIELD_AS(TEXTS, PointAxes, model_words, "models", .required = TRUE, .filled = TRUE,
                 .help = "convolutional networks of the zoo, without their size"),
    IFM_FIELD(TEXTS, PointAxes, algorithms, .required = TRUE, .filled = TRUE,
              .help = "how convolutions are computed: the names that `inferometer study run --list-algorithms` lists"),
    IFM_FIELD(CHOICE, PointAxes, level, .words = level_words, .fallback = "sanity",
              .help = "how many sizes: 1, which is 224, 10 or 100, evenly spaced by their logarithm"),
    IFM_FIELD(INT64, PointAxes, num_sizes, .min = 0, .max = 1000, .fallback = "0",
              .help = "another number of them; 0: as the level says"),
    IFM_FIELD(INT64, PointAxes, max_size, .min = 32, .max = 16384, .fallback = "512",
              .help = "the maximum; the minimum is 32, or 64 where the model takes no smaller"),
    IFM_FIELD(SERIES, PointAxes, sizes, .filled = TRUE, .min = 1, .max = 16384, .help = "these sizes instead"),
    IFM_FIELD_AS(INT64, PointAxes, one_batch, "batch", .min = 1, .max = 65536, .fallback = "1", .help = "images at once"),
    IFM_FIELD(STRING, PointAxes, fallback,
              .help = "the algorithm of layers that another cannot do; without it such a combination is refused"),
    IFM_FIELD(INT64, PointAxes, workspace_bytes, .min = 0, .max = 1e15, .fallback = "0",
              .help = "limit of what one layer may need for its computation; 0: 1 GiB"),
    IFM_FIELD(UINT32, PointAxes, seed, .min = 0, .max = G_MAXUINT32, .fallback = "1",
              .help = "of the inputs and of the weights"),
    IFM_FIELD(FLAG, PointAxes, verify, .fallback = "true",
              .help = "whether the outputs are compared with those of the reference"),
    { 0 }
};

/* --- its axes --------------------------------------------------------------------------------------------------------- */

/* Puts the algorithm's own name in place of a word. */
static gboolean read_algorithm(const IfmPlace *place, const char *key, gssize entry, char **word, GError **error)
{
    g_autoptr(GError) trouble = NULL;
    IfmConvAlgorithm algorithm;
    if (!ifm_conv_algorithm_parse(*word, &algorithm, &trouble))
        return ifm_yaml_key_error(place, key, entry, error, "%s", trouble->message);
    g_free(*word);
    *word = g_strdup(ifm_conv_algorithm_name(algorithm));
    return TRUE;
}

static gboolean read_algorithms(PointAxes *axes, GError **error)
{
    const IfmPlace *place = &axes->study.place;
    char **words = (char **)axes->algorithms->pdata;
    for (guint i = 0; i < axes->algorithms->len; i++)
        if (!read_algorithm(place, "algorithms", i, &words[i], error))
            return FALSE;
    return ifm_yaml_check_texts_once(place, "algorithms", axes->algorithms, error) &&
           (axes->fallback == NULL || read_algorithm(place, "fallback", -1, &axes->fallback, error));
}

/* Sizes evenly spaced by their logarithm, each once. */
static GArray *spread(gint64 min, gint64 max, gint64 n)
{
    GArray *sizes = g_array_new(FALSE, FALSE, sizeof(gint64));
    for (gint64 i = 0; i < n; i++)
    {
        double at = n > 1 ? (double)i / (double)(n - 1) : 1;
        gint64 size = (gint64)llround((double)min * pow((double)max / (double)min, at));
        if (sizes->len == 0 || size > g_array_index(sizes, gint64, sizes->len - 1))
            g_array_append_val(sizes, size);
    }
    return sizes;
}

/* The first size of a spread: a power of two that the model takes. */
static gint64 least_size(const PointModel *model)
{
    gint64 size = LEAST_SIZE;
    while (size < model->entry->min_image)
        size *= 2;
    return size;
}

static gboolean take_sizes(PointModel *model, const PointAxes *text, GError **error)
{
    const gint64 n = text->num_sizes > 0 ? text->num_sizes : level_sizes[text->level], usual = USUAL_SIZE;
    for (guint i = 0; i < text->sizes->len; i++)
        if (g_array_index(text->sizes, gint64, i) < model->entry->min_image)
            return ifm_yaml_key_error(&text->study.place, "sizes", i, error,
                                      "%s takes images of %" G_GINT64_FORMAT " or more, not %" G_GINT64_FORMAT, model->text,
                                      model->entry->min_image, g_array_index(text->sizes, gint64, i));
    if (text->sizes->len > 0)
    {
        model->sizes = g_array_copy(text->sizes);
        return TRUE;
    }
    if (text->max_size < least_size(model))
        return ifm_yaml_key_error(&text->study.place, "max_size", -1, error,
                                  "%s takes images of %" G_GINT64_FORMAT " or more, not %" G_GINT64_FORMAT, model->text,
                                  least_size(model), text->max_size);
    if (n == 1)
    {
        model->sizes = g_array_new(FALSE, FALSE, sizeof(gint64));
        const gint64 size = MIN(usual, text->max_size);
        g_array_append_val(model->sizes, size);
    }
    else
        model->sizes = spread(least_size(model), text->max_size, n);
    return TRUE;
}

static gboolean read_axes(IfmStudy *study, StudyText *text, GError **error)
{
    const IfmPlace *record = &text->place;
    PointAxes *axes = point_axes_begin(study, text);
    axes->layers = TRUE;
    if (!point_axes_read_models(axes, error))
        return FALSE;
    for (guint i = 0; i < axes->models->len; i++)
    {
        PointModel *model = axes->models->pdata[i];
        if (model->entry == NULL || model->entry->min_image == 0)
            return ifm_yaml_key_error(
                record, "models", i, error,
                "\"%s\" is no convolutional network of the zoo (\"study run --list-models\" lists them)", model->text);
        if (!take_sizes(model, axes, error))
            return FALSE;
    }
    return read_algorithms(axes, error) && point_axes_check_not_set(axes, record, "size", error) &&
           point_axes_check_not_set(axes, record, "batch", error) &&
           ifm_yaml_check_once(record, "sizes", axes->sizes, NULL, error);
}

const StudyKind study_kind_conv = {
    .name = "conv-algorithms",
    .help = "convolutional networks by algorithms of their convolutions and sizes of the image",
    .fields = conv_fields,
    .text_size = sizeof(PointAxes),
    .read = read_axes,
    .needs_peaks = TRUE,
    POINT_KIND_FUNCTIONS,
};
