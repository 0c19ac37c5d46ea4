#include <internal/axes.h>
#include <internal/profile-point.h>
#include <internal/tensor.h>
#include <stddef.h>
#include <string.h>

#include "definition.h"

/* Kind "profile": models, as files or from the zoo, over batches, dimensions, passes, precisions, threads and streams, on
 * devices. A point is what `profile` measures with the same options (profile-point.h). */

/* --- its keys --------------------------------------------------------------------------------------------------------- */

#define FIELD(struct_type, member) .offset = offsetof(struct_type, member)
#define LIST_OF(of) .type = IFM_YAML_LIST, .element = of
#define MAX_SEED 4294967295.0
#define MAX_DIMS 16

typedef struct
{
    IfmYamlRecord record;
    char *name;
    GArray *sizes; /* gint64 */
} DimText;

typedef struct
{
    StudyText study;
    GPtrArray *models, *dims;                         /* char*, DimText* */
    GArray *batch, *mode, *dtype, *threads, *streams; /* gint64; mode, dtype: int, a word */
    gint64 seed;
    gboolean verify;
} ProfileText;

static const char *const dtype_words[] = { "f32", "f16", "bf16", NULL };
static const char *const mode_words[] = { "forward", "backward", "train", NULL };

static const IfmYamlField dim_fields[] = {
    { .key = "name",
      .type = IFM_YAML_STRING,
      FIELD(DimText, name),
      .required = TRUE,
      .help = "a free dimension of the models' inputs, or a parameter of the zoo's models" },
    { .key = "sizes",
      LIST_OF(IFM_YAML_INT),
      FIELD(DimText, sizes),
      .required = TRUE,
      .filled = TRUE,
      .min = 0,
      .max = 1e12,
      .help = "each of these" },
    { 0 }
};
static const IfmYamlTable dim_table = { dim_fields, sizeof(DimText) };

static const IfmYamlField profile_fields[] = {
    { .key = "models",
      LIST_OF(IFM_YAML_STRING),
      FIELD(ProfileText, models),
      .required = TRUE,
      .filled = TRUE,
      .help = "ONNX files, relative to this file, or models of the zoo with their parameters: \"resnet50,size=160\"" },
    { .key = "batch",
      LIST_OF(IFM_YAML_INT),
      FIELD(ProfileText, batch),
      .filled = TRUE,
      .min = 1,
      .max = 65536,
      .help =
          "inputs at once, which must be the free first dimension of a model's first input; without it as the model is" },
    { .key = "dims", LIST_OF(IFM_YAML_MAP), .table = &dim_table, FIELD(ProfileText, dims), .help = "other sizes to vary" },
    { .key = "mode",
      LIST_OF(IFM_YAML_ENUM),
      .words = mode_words,
      FIELD(ProfileText, mode),
      .filled = TRUE,
      .help = "passes to run: forward, and without it; backward: forward and backward in one; train: a training step" },
    { .key = "dtype",
      LIST_OF(IFM_YAML_ENUM),
      .words = dtype_words,
      FIELD(ProfileText, dtype),
      .filled = TRUE,
      .help = "precisions to compute in; without it f32" },
    { .key = "threads",
      LIST_OF(IFM_YAML_INT),
      FIELD(ProfileText, threads),
      .filled = TRUE,
      .min = 0,
      .max = 4096,
      .help = "threads of the runtime; 0, and without it: as many as the device has cores" },
    { .key = "streams",
      LIST_OF(IFM_YAML_INT),
      FIELD(ProfileText, streams),
      .filled = TRUE,
      .min = 1,
      .max = 1024,
      .help = "inferences at once; the devices then name no streams of their own" },
    { .key = "seed",
      .type = IFM_YAML_INT,
      FIELD(ProfileText, seed),
      .min = 0,
      .max = MAX_SEED,
      .fallback = "1",
      .help = "of the inputs and of the weights of the zoo's models" },
    { .key = "verify",
      .type = IFM_YAML_BOOL,
      FIELD(ProfileText, verify),
      .fallback = "true",
      .help = "whether the outputs are compared with those of the reference" },
    { 0 }
};

/* --- its axes --------------------------------------------------------------------------------------------------------- */

typedef struct
{
    char *text;               /* as the file has it */
    char *path;               /* of an ONNX file; NULL: of the zoo */
    const IfmZooEntry *entry; /* of the zoo; NULL: a file */
} ProfileModel;

typedef struct
{
    char *name;
    GArray *sizes;
} ProfileDim;

typedef struct
{
    GPtrArray *models, *dims;                         /* ProfileModel*, ProfileDim* */
    GArray *batch, *mode, *dtype, *threads, *streams; /* empty: no such axis */
    guint32 seed;
    gboolean verify;
    GHashTable *written;   /* paths of models that this process wrote */
    IfmProfilePoint *open; /* the one that was planned last: cases of a model are neighbours */
    char *open_words;      /* what it was planned by */
} Axes;

typedef struct
{
    const ProfileModel *model;
    guint model_index;
    gint64 sizes[MAX_DIMS];
    gint64 batch; /* 0: as the model is */
    int mode, dtype, threads, streams;
    char *device; /* with its streams */
    char *words;  /* all that its model depends on, for the refusals and to find the open one */
} Point;

static void model_free(ProfileModel *model)
{
    g_free(model->text);
    g_free(model->path);
    g_free(model);
}

static void dim_free(ProfileDim *dim)
{
    g_free(dim->name);
    g_array_unref(dim->sizes);
    g_free(dim);
}

static void clear_axes(IfmStudy *study)
{
    Axes *axes = study->own;
    if (axes == NULL)
        return;
    g_ptr_array_unref(axes->models);
    g_ptr_array_unref(axes->dims);
    g_array_unref(axes->batch);
    g_array_unref(axes->mode);
    g_array_unref(axes->dtype);
    g_array_unref(axes->threads);
    g_array_unref(axes->streams);
    g_hash_table_unref(axes->written);
    ifm_profile_point_free(axes->open);
    g_free(axes->open_words);
    g_free(axes);
}

static void clear_point(StudyCase *one)
{
    Point *point = one->own;
    g_free(point->device);
    g_free(point->words);
    g_free(point);
}

/* A path has a slash or a dot; else it is a model of the zoo. */
static gboolean take_model(Axes *axes, const ProfileText *text, const char *word, GError **error)
{
    g_autoptr(GError) trouble = NULL;
    g_autofree char *name = g_strndup(word, strcspn(word, ",")), *folder = g_path_get_dirname(text->study.record.file);
    gboolean is_path = strchr(name, '/') != NULL || g_str_has_suffix(name, ".onnx");
    const IfmZooEntry *entry = is_path ? NULL : ifm_zoo_find(name, &trouble);
    if (!is_path && entry == NULL)
        return ifm_yaml_error(&text->study.record, error, "models: %s", trouble->message);
    for (guint i = 0; i < axes->models->len; i++)
        if (g_str_equal(((const ProfileModel *)axes->models->pdata[i])->text, word))
            return ifm_yaml_error(&text->study.record, error, "models: \"%s\" is listed twice", word);
    ProfileModel *model = g_new0(ProfileModel, 1);
    model->text = g_strdup(word);
    model->entry = entry;
    if (is_path)
        model->path = g_path_is_absolute(word) ? g_strdup(word) : g_build_filename(folder, word, NULL);
    g_ptr_array_add(axes->models, model);
    if (is_path && !g_file_test(model->path, G_FILE_TEST_IS_REGULAR))
        return ifm_yaml_error(&text->study.record, error, "models: %s: no such file", model->path);
    return TRUE;
}

static gboolean take_dim(Axes *axes, const DimText *text, GError **error)
{
    if (axes->dims->len == MAX_DIMS)
        return ifm_yaml_error(&text->record, error, "dims: more than %d", MAX_DIMS);
    static const char *const taken[] = { "model", "batch", "mode", "dtype", "threads", "streams", NULL };
    if (g_strv_contains(taken, text->name))
        return ifm_yaml_error(&text->record, error, "dims: \"%s\" is an axis of its own; expected another dimension",
                              text->name);
    for (guint i = 0; i < axes->dims->len; i++)
        if (g_str_equal(((const ProfileDim *)axes->dims->pdata[i])->name, text->name))
            return ifm_yaml_error(&text->record, error, "dims: \"%s\" is listed twice", text->name);
    ProfileDim *dim = g_new0(ProfileDim, 1);
    dim->name = g_strdup(text->name);
    dim->sizes = g_array_copy(text->sizes);
    g_ptr_array_add(axes->dims, dim);
    return TRUE;
}

/* A parameter that a model's own text sets cannot be an axis, too. */
static gboolean check_not_set(const ProfileText *text, const Axes *axes, const char *axis, GError **error)
{
    g_autofree char *set = g_strconcat(",", axis, "=", NULL);
    for (guint i = 0; i < axes->models->len; i++)
    {
        const ProfileModel *model = axes->models->pdata[i];
        if (model->entry != NULL && strstr(model->text, set) != NULL)
            return ifm_yaml_error(&text->study.record, error, "models: \"%s\": %s is an axis of the study; give it once",
                                  model->text, axis);
    }
    return TRUE;
}

/* A value that stands twice would be one case with two rows. */
static gboolean check_once(const ProfileText *text, const char *key, const GArray *values, GError **error)
{
    for (guint i = 0; i < values->len; i++)
        for (guint k = 0; k < i; k++)
            if (g_array_index(values, gint64, i) == g_array_index(values, gint64, k))
                return ifm_yaml_error(&text->study.record, error, "%s: %" G_GINT64_FORMAT " is listed twice", key,
                                      g_array_index(values, gint64, i));
    return TRUE;
}

static gboolean check_words_once(const ProfileText *text, const char *key, const GArray *values, const char *const *words,
                                 GError **error)
{
    for (guint i = 0; i < values->len; i++)
        for (guint k = 0; k < i; k++)
            if (g_array_index(values, int, i) == g_array_index(values, int, k))
                return ifm_yaml_error(&text->study.record, error, "%s: %s is listed twice", key,
                                      words[g_array_index(values, int, i)]);
    return TRUE;
}

static gboolean read_axes(IfmStudy *study, const StudyText *common, GError **error)
{
    const ProfileText *text = (const ProfileText *)(const void *)common;
    Axes *axes = study->own = g_new0(Axes, 1);
    axes->models = g_ptr_array_new_with_free_func((GDestroyNotify)model_free);
    axes->dims = g_ptr_array_new_with_free_func((GDestroyNotify)dim_free);
    axes->batch = g_array_copy(text->batch);
    axes->mode = g_array_copy(text->mode);
    axes->dtype = g_array_copy(text->dtype);
    axes->threads = g_array_copy(text->threads);
    axes->streams = g_array_copy(text->streams);
    axes->seed = (guint32)text->seed;
    axes->verify = text->verify;
    axes->written = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (guint i = 0; i < text->models->len; i++)
        if (!take_model(axes, text, text->models->pdata[i], error))
            return FALSE;
    for (guint i = 0; i < text->dims->len; i++)
        if (!take_dim(axes, text->dims->pdata[i], error))
            return FALSE;
    for (guint i = 0; i < axes->dims->len; i++)
    {
        const ProfileDim *dim = axes->dims->pdata[i];
        if (!check_not_set(text, axes, dim->name, error) || !check_once(text, dim->name, dim->sizes, error))
            return FALSE;
    }
    if (!check_words_once(text, "mode", axes->mode, mode_words, error) ||
        !check_words_once(text, "dtype", axes->dtype, dtype_words, error))
        return FALSE;
    return (axes->batch->len == 0 || check_not_set(text, axes, "batch", error)) &&
           check_once(text, "batch", axes->batch, error) && check_once(text, "threads", axes->threads, error) &&
           check_once(text, "streams", axes->streams, error);
}

static gboolean take_device(const IfmStudy *study, const DeviceText *text, IfmStudyDevice *device, GError **error)
{
    const Axes *axes = study->own;
    if (text->not_stages->len > 0)
        return ifm_yaml_error(&text->record, error, "not_stages: a study of kind profile has no stages");
    return axes->streams->len == 0 || strchr(device->device, '#') == NULL ||
           ifm_yaml_error(&text->record, error, "device: %s has streams of its own, besides the axis \"streams\"",
                          device->device);
}

/* --- the span --------------------------------------------------------------------------------------------------------- */

/* "resnet50 size=160 batch=4 train" (transfer full) */
static char *words_of(const Axes *axes, const Point *point)
{
    GString *words = g_string_new(point->model->text);
    for (guint i = 0; i < axes->dims->len; i++)
        g_string_append_printf(words, " %s=%" G_GINT64_FORMAT, ((const ProfileDim *)axes->dims->pdata[i])->name,
                               point->sizes[i]);
    if (point->batch > 0)
        g_string_append_printf(words, " batch=%" G_GINT64_FORMAT, point->batch);
    g_string_append_printf(words, " %s", mode_words[point->mode]);
    return g_string_free(words, FALSE);
}

static json_t *axes_of(const Axes *axes, const Point *point)
{
    json_t *json = json_object();
    json_object_set_new(json, "model", ifm_json_string(point->model->text));
    if (axes->batch->len > 0)
        json_object_set_new(json, "batch", json_integer(point->batch));
    for (guint i = 0; i < axes->dims->len; i++)
        json_object_set_new(json, ((const ProfileDim *)axes->dims->pdata[i])->name, json_integer(point->sizes[i]));
    if (axes->mode->len > 0)
        json_object_set_new(json, "mode", json_string(mode_words[point->mode]));
    if (axes->dtype->len > 0)
        json_object_set_new(json, "dtype", json_string(dtype_words[point->dtype]));
    if (axes->threads->len > 0)
        json_object_set_new(json, "threads", json_integer(point->threads));
    if (axes->streams->len > 0)
        json_object_set_new(json, "streams", json_integer(point->streams));
    return json;
}

/* "CPU resnet50, batch 4" (transfer full) */
static char *title_of(const IfmStudyDevice *device, const json_t *axes)
{
    GString *title = g_string_new(device->alias);
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)axes, name, value)
    {
        if (json_is_string(value))
            g_string_append_printf(title, "%s %s", g_str_equal(name, "model") ? "" : ",", json_string_value(value));
        else
            g_string_append_printf(title, ", %s %" JSON_INTEGER_FORMAT, name, json_integer_value(value));
    }
    return g_string_free(title, FALSE);
}

static void add_point(IfmStudy *study, int phase, const Point *like, IfmStudyDevice *device)
{
    const Axes *axes = study->own;
    StudyCase *one = g_new0(StudyCase, 1);
    Point *point = one->own = g_memdup2(like, sizeof *like);
    point->device =
        axes->streams->len > 0 ? g_strdup_printf("%s#%d", device->device, point->streams) : g_strdup(device->device);
    point->words = words_of(axes, point);
    one->device = device;
    one->axes = axes_of(axes, point);
    one->items = MAX(point->batch, 1) * MAX(point->streams, 1);
    one->row =
        (IfmStudyCase){ .phase = device->phase, .alias = g_strdup(device->alias), .title = title_of(device, one->axes) };
    study_add_case(study, phase, one);
}

/* Value @i of an axis; @fallback where there is no such axis. */
static gint64 value_of(const GArray *axis, guint i, gint64 fallback)
{
    return axis->len > 0 ? g_array_index(axis, gint64, i) : fallback;
}

/* Spanning: a phase that is spanned. */
typedef struct
{
    IfmStudy *study;
    int phase;
} Spanning;

/* @at: model, dimensions, batch, pass, precision, threads, streams, device: span() */
static gboolean take_point(const guint *at, void *user, GError **error)
{
    const Spanning *spanning = user;
    IfmStudy *study = spanning->study;
    const Axes *axes = study->own;
    const guint *option = at + 1 + axes->dims->len;
    Point point = { .model = axes->models->pdata[at[0]],
                    .model_index = at[0],
                    .batch = value_of(axes->batch, option[0], 0),
                    .mode = axes->mode->len > 0 ? g_array_index(axes->mode, int, option[1]) : IFM_PASS_FORWARD,
                    .dtype = axes->dtype->len > 0 ? g_array_index(axes->dtype, int, option[2]) : 0,
                    .threads = (int)value_of(axes->threads, option[3], 0),
                    .streams = (int)value_of(axes->streams, option[4], 0) };
    for (guint i = 0; i < axes->dims->len; i++)
        point.sizes[i] = g_array_index(((const ProfileDim *)axes->dims->pdata[i])->sizes, gint64, at[1 + i]);
    add_point(study, spanning->phase, &point, study->devices->pdata[option[5]]);
    return TRUE;
}

/* Devices innermost: neighbours in time are those that get compared. */
static void span(IfmStudy *study, int phase)
{
    const Axes *axes = study->own;
    const GArray *const options[] = { axes->batch, axes->mode, axes->dtype, axes->threads, axes->streams };
    Spanning spanning = { study, phase };
    guint lengths[1 + MAX_DIMS + G_N_ELEMENTS(options) + 1];
    gsize n = 0;
    lengths[n++] = axes->models->len;
    for (guint i = 0; i < axes->dims->len; i++)
        lengths[n++] = ((const ProfileDim *)axes->dims->pdata[i])->sizes->len;
    for (gsize i = 0; i < G_N_ELEMENTS(options); i++)
        lengths[n++] = MAX(options[i]->len, 1);
    lengths[n++] = study->devices->len;
    ifm_axes_each(lengths, n, take_point, &spanning, NULL);
}

/* --- for the runner --------------------------------------------------------------------------------------------------- */

/* The options of a point for `profile`; on all devices of the study, so that one plan serves them. */
static const IfmProfilePoint *plan_point(IfmStudy *study, const char *folder, const Point *point, GError **error)
{
    Axes *axes = study->own;
    if (g_strcmp0(axes->open_words, point->words) == 0)
        return axes->open;
    g_clear_pointer(&axes->open, ifm_profile_point_free);
    g_clear_pointer(&axes->open_words, g_free);
    g_autoptr(GPtrArray) devices = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; i < study->devices->len; i++)
    {
        const IfmStudyDevice *device = study->devices->pdata[i];
        g_ptr_array_add(devices, g_strdup_printf("%s=%s", device->alias, device->device));
    }
    g_ptr_array_add(devices, NULL);
    g_autofree char *of_zoo = g_strconcat("zoo:", point->model->text, NULL);
    IfmProfileOptions options;
    ifm_profile_options_init(&options);
    options.model = point->model->path != NULL ? point->model->path : of_zoo;
    options.devices = (const char *const *)devices->pdata;
    options.parts = "runtime";
    options.mode = point->mode;
    options.batch = point->batch;
    options.seed = axes->seed;
    options.output = folder;
    g_autoptr(IfmProfilePoint) planned = ifm_profile_point_new(&options);
    for (guint i = 0; i < axes->dims->len; i++)
        ifm_profile_point_set(planned, ((const ProfileDim *)axes->dims->pdata[i])->name, point->sizes[i]);
    if (!ifm_profile_point_plan(planned, axes->written, error))
        return NULL;
    axes->open = g_steal_pointer(&planned);
    axes->open_words = g_strdup(point->words);
    return axes->open;
}

typedef struct
{
    IfmModelCase model_case;
    char *cache_dir;
} Text;

static void drop(StudyCase *one)
{
    Text *text = g_steal_pointer(&one->text);
    if (text == NULL)
        return;
    g_free(text->cache_dir);
    g_free(text);
}

static gboolean fill(IfmStudy *study, const char *folder, StudyCase *one, IfmCampaignItem *item, GError **error)
{
    const Axes *axes = study->own;
    const Point *point = one->own;
    const IfmProfilePoint *planned = plan_point(study, folder, point, error);
    if (planned == NULL)
        return FALSE;
    if (!(one->flop > 0))
        one->flop = (double)MAX(ifm_profile_point_flop(planned), 0) * MAX(point->streams, 1);
    Text *text = one->text = g_new0(Text, 1);
    text->cache_dir = g_build_filename(folder, "cache", NULL);
    text->model_case = ifm_profile_point_case(planned);
    text->model_case.model_name = point->model->text;
    text->model_case.device = point->device;
    text->model_case.alias = one->row.alias;
    text->model_case.cache_dir = text->cache_dir;
    text->model_case.dtype = ifm_dtype_from_name(dtype_words[point->dtype]);
    text->model_case.threads = point->threads;
    text->model_case.protocol = study->protocol;
    text->model_case.verify = axes->verify;
    item->kind = &ifm_kind_model;
    item->spec = &text->model_case;
    return TRUE;
}

/* A model that cannot be built is the trouble of its own points, not of a device: they find it when they are sealed. */
static gboolean export_files(IfmStudy *study, const char *folder, const IfmStudyDevice *device, gsize *n_models,
                             GError **error)
{
    const GPtrArray *cases = ifm_study_cases(study);
    const Axes *axes = study->own;
    const guint before = g_hash_table_size(axes->written);
    for (guint i = 0; i < cases->len && device == NULL; i++)
        if (plan_point(study, folder, ((const StudyCase *)cases->pdata[i])->own, error) == NULL)
            return FALSE;
    if (n_models != NULL)
        *n_models = g_hash_table_size(axes->written) - before;
    return TRUE;
}

/* Cases of a model take about as long, whatever their batch: the rule stops each at the same interval or time. */
static int pace_of(const StudyCase *one)
{
    return 1 + (int)((const Point *)one->own)->model_index;
}

/* --- the manifest ----------------------------------------------------------------------------------------------------- */

static json_t *integers_to_json(const GArray *values)
{
    json_t *json = json_array();
    for (guint i = 0; i < values->len; i++)
        json_array_append_new(json, json_integer(g_array_index(values, gint64, i)));
    return json;
}

static json_t *words_to_json(const GArray *values, const char *const *words)
{
    json_t *json = json_array();
    for (guint i = 0; i < values->len; i++)
        json_array_append_new(json, json_string(words[g_array_index(values, int, i)]));
    return json;
}

static json_t *definition(const IfmStudy *study)
{
    const Axes *axes = study->own;
    json_t *models = json_array(), *dims = json_array();
    for (guint i = 0; i < axes->models->len; i++)
        json_array_append_new(models, ifm_json_string(((const ProfileModel *)axes->models->pdata[i])->text));
    for (guint i = 0; i < axes->dims->len; i++)
    {
        const ProfileDim *dim = axes->dims->pdata[i];
        json_t *one = json_object();
        json_object_set_new(one, "name", ifm_json_string(dim->name));
        json_object_set_new(one, "sizes", integers_to_json(dim->sizes));
        json_array_append_new(dims, one);
    }
    json_t *json = json_object();
    json_t *model = json_object();
    json_object_set_new(model, "seed", json_integer(axes->seed));
    json_object_set_new(json, "model", model);
    json_object_set_new(json, "models", models);
    json_object_set_new(json, "batch", integers_to_json(axes->batch));
    json_object_set_new(json, "dims", dims);
    if (axes->mode->len > 0)
        json_object_set_new(json, "mode", words_to_json(axes->mode, mode_words));
    json_object_set_new(json, "dtype", words_to_json(axes->dtype, dtype_words));
    json_object_set_new(json, "threads", integers_to_json(axes->threads));
    json_object_set_new(json, "streams", integers_to_json(axes->streams));
    json_object_set_new(json, "verify", json_boolean(axes->verify));
    json_object_set_new(json, "protocol", ifm_protocol_to_json(&study->protocol));
    return json;
}

const StudyKind study_kind_profile = {
    .name = "profile",
    .help = "models over batches, sizes, precisions, threads and streams",
    .fields = profile_fields,
    .text_size = sizeof(ProfileText),
    .read = read_axes,
    .take_device = take_device,
    .clear = clear_axes,
    .clear_case = clear_point,
    .span = span,
    .export_files = export_files,
    .fill = fill,
    .drop = drop,
    .pace = pace_of,
    .definition = definition,
};
