#include "point-axes.h"

#include <math.h>
#include <stddef.h>

#include <convolution/convolution.h>

/* Kind "conv-algorithms": convolutional networks x algorithms for their convolutions x sizes of the image. */

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
                 .help = "convolutional networks: of the zoo, without their size, and ONNX files, relative to this file"),
    IFM_FIELD(TEXTS, PointAxes, algorithms, .required = TRUE, .filled = TRUE,
              .help = "how convolutions are computed: the names that `inferometer study run --list-algorithms` lists"),
    IFM_FIELD(CHOICE, PointAxes, level, .words = level_words, .fallback = "sanity",
              .help = "how many sizes: 1, which is 224, 10 or 100, evenly spaced by their logarithm"),
    IFM_FIELD(INT64, PointAxes, num_sizes, .min = 0, .max = 1000, .fallback = "0",
              .help = "another number of them; 0: as the level says"),
    IFM_FIELD(INT64, PointAxes, max_size, .min = 32, .max = 16384, .fallback = "512",
              .help = "the maximum; the minimum is 32, or the next power of two that the model takes. A file with a fixed "
                      "size runs at that"),
    IFM_FIELD(SERIES, PointAxes, sizes, .filled = TRUE, .min = 1, .max = 16384, .help = "these sizes instead"),
    IFM_FIELD_AS(INT64, PointAxes, one_batch, "batch", .min = 1, .max = 65536, .fallback = "1", .help = "images at once"),
    IFM_FIELD(STRING, PointAxes, fallback,
              .help =
                  "the algorithm of layers that another does not support; without it such a combination is unsupported"),
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

/* --- which of them a model takes -------------------------------------------------------------------------------------- */

/* The side nearest to @size that fits: itself, else a larger one up to @most, else a smaller one. @least fits */
static gint64 near(const IfmImages *images, gint64 size, gint64 least, gint64 most)
{
    gint64 fitting = MAX(size, least);
    while (fitting <= most && !ifm_images_fit(images, fitting, NULL))
        fitting++;
    if (fitting <= most)
        return fitting;
    fitting = MIN(size, most);
    while (fitting > least && !ifm_images_fit(images, fitting, NULL))
        fitting--;
    return fitting;
}

/* Sizes that the study lists: each has to fit. */
static gboolean check_sizes(const PointModel *model, const PointAxes *text, const IfmImages *images, GError **error)
{
    for (guint i = 0; i < text->sizes->len; i++)
    {
        g_autoptr(GError) trouble = NULL;
        const gint64 size = g_array_index(text->sizes, gint64, i);
        if (ifm_images_fit(images, size, &trouble))
            continue;
        const gint64 least = ifm_images_least(images, MAX(size, text->max_size));
        if (least > size)
            return ifm_yaml_key_error(&text->study.place, "sizes", i, error,
                                      "%s takes images of %" G_GINT64_FORMAT " or more, not %" G_GINT64_FORMAT, model->text,
                                      least, size);
        return ifm_yaml_key_error(&text->study.place, "sizes", i, error, "%s takes no images of %" G_GINT64_FORMAT ": %s",
                                  model->text, size, trouble->message);
    }
    return TRUE;
}

/* The first size of a spread: a power of two, or the next one that the model takes. 0: none up to the maximum */
static gint64 first_size(const IfmImages *images, gint64 least, gint64 most)
{
    gint64 size = LEAST_SIZE;
    while (size < least)
        size *= 2;
    return size <= most ? near(images, size, least, most) : size;
}

static gboolean spread_sizes(PointModel *model, const PointAxes *text, const IfmImages *images, GError **error)
{
    const gint64 n = text->num_sizes > 0 ? text->num_sizes : level_sizes[text->level], most = text->max_size,
                 least = ifm_images_least(images, MAX(most, USUAL_SIZE)), first = first_size(images, least, most);
    g_autoptr(GError) trouble = NULL;
    if (least == 0 && !ifm_images_fit(images, most, &trouble))
        return ifm_yaml_key_error(&text->study.place, "max_size", -1, error,
                                  "%s takes no images of up to %" G_GINT64_FORMAT ": %s", model->text, most,
                                  trouble->message);
    if (most < first)
        return ifm_yaml_key_error(&text->study.place, "max_size", -1, error,
                                  "%s takes images of %" G_GINT64_FORMAT " or more, not %" G_GINT64_FORMAT, model->text,
                                  first, most);
    g_autoptr(GArray) even = n > 1 ? spread(first, most, n) : spread(MIN(USUAL_SIZE, most), MIN(USUAL_SIZE, most), 1);
    model->sizes = g_array_new(FALSE, FALSE, sizeof(gint64));
    for (guint i = 0; i < even->len; i++)
    {
        const gint64 size = near(images, g_array_index(even, gint64, i), least, most);
        if (model->sizes->len == 0 || size > g_array_index(model->sizes, gint64, model->sizes->len - 1))
            g_array_append_val(model->sizes, size);
    }
    return TRUE;
}

static gboolean take_sizes(PointModel *model, const PointAxes *text, const IfmImages *images, GError **error)
{
    if (images->own == 0 && text->sizes->len == 0)
        return spread_sizes(model, text, images, error);
    model->sizes = images->own > 0 ? g_array_new(FALSE, FALSE, sizeof(gint64)) : g_array_copy(text->sizes);
    if (images->own > 0)
        g_array_append_val(model->sizes, images->own);
    return images->own > 0 || check_sizes(model, text, images, error);
}

/* A file is known by its name without folders, as in tables and in names of files. */
static gboolean name_file(const PointAxes *axes, guint i, GError **error)
{
    PointModel *model = axes->models->pdata[i];
    g_free(model->text);
    model->text = g_path_get_basename(model->path);
    for (guint k = 0; k < i; k++)
        if (g_str_equal(((const PointModel *)axes->models->pdata[k])->text, model->text))
            return ifm_yaml_key_error(&axes->study.place, "models", i, error,
                                      "two files are called %s; rename one: tables tell models by that", model->text);
    return TRUE;
}

static gboolean read_file(PointAxes *axes, guint i, GError **error)
{
    PointModel *model = axes->models->pdata[i];
    g_auto(IfmImages) images = { 0 };
    g_autoptr(GError) trouble = NULL;
    if (!ifm_images_open(&images, model->path, axes->one_batch, &trouble) ||
        (images.own > 0 && !ifm_images_fit(&images, images.own, &trouble)))
        return ifm_yaml_key_error(&axes->study.place, "models", i, error, "%s", trouble->message);
    if (!name_file(axes, i, error) || !take_sizes(model, axes, &images, error))
        return FALSE;
    model->fixed_batch = !images.free_batch;
    model->size_dims = g_ptr_array_new_with_free_func(g_free);
    for (guint k = 0; k < images.dims->len; k++)
        g_ptr_array_add(model->size_dims, g_strdup(images.dims->pdata[k]));
    return TRUE;
}

static gboolean read_entry(PointAxes *axes, guint i, GError **error)
{
    PointModel *model = axes->models->pdata[i];
    const IfmImages images = { .entry = model->entry };
    if (!model->entry->takes_images)
        return ifm_yaml_key_error(&axes->study.place, "models", i, error,
                                  "\"%s\" is no convolutional network of the zoo (\"study run --list-models\" lists them)",
                                  model->text);
    return take_sizes(model, axes, &images, error);
}

static gboolean read_axes(IfmStudy *study, StudyText *text, GError **error)
{
    const IfmPlace *record = &text->place;
    PointAxes *axes = point_axes_begin(study, text);
    axes->layers = TRUE;
    if (!point_axes_read_models(axes, error))
        return FALSE;
    for (guint i = 0; i < axes->models->len; i++)
        if (!(((const PointModel *)axes->models->pdata[i])->entry != NULL ? read_entry : read_file)(axes, i, error))
            return FALSE;
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
    .energy = "auto",
    .own_devices = TRUE,
    POINT_KIND_FUNCTIONS,
};
