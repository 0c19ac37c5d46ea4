#include <internal/axes.h>
#include <internal/measure.h>
#include <internal/onnx.h>
#include <internal/tensor.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "definition.h"

/* Kind "profile": models, as files or from the zoo, over batches, dimensions, precisions, threads and streams, on devices.
 */

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
    GPtrArray *models, *dims;                  /* char*, DimText* */
    GArray *batch, *dtype, *threads, *streams; /* gint64; dtype: int, a word */
    gint64 seed;
    gboolean verify;
} ProfileText;

static const char *const dtype_words[] = { "f32", "f16", "bf16", NULL };

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
    GPtrArray *models, *dims;                  /* ProfileModel*, ProfileDim* */
    GArray *batch, *dtype, *threads, *streams; /* empty: no such axis */
    guint32 seed;
    gboolean verify;
    GHashTable *written; /* paths of models that this process wrote */
    IfmModel *open;      /* the one that was looked at last: cases of a model are neighbours */
    char *open_path;
} Axes;

typedef struct
{
    const ProfileModel *model;
    guint model_index;
    gint64 sizes[MAX_DIMS];
    gint64 batch; /* 0: as the model is */
    int dtype, threads, streams;
    char *device; /* with its streams */
    char *words;  /* of the zoo: all it is built with */
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
    g_array_unref(axes->dtype);
    g_array_unref(axes->threads);
    g_array_unref(axes->streams);
    g_hash_table_unref(axes->written);
    ifm_model_unref(axes->open);
    g_free(axes->open_path);
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
    static const char *const taken[] = { "model", "batch", "dtype", "threads", "streams", NULL };
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

static gboolean read_axes(IfmStudy *study, const StudyText *common, GError **error)
{
    const ProfileText *text = (const ProfileText *)(const void *)common;
    Axes *axes = study->own = g_new0(Axes, 1);
    axes->models = g_ptr_array_new_with_free_func((GDestroyNotify)model_free);
    axes->dims = g_ptr_array_new_with_free_func((GDestroyNotify)dim_free);
    axes->batch = g_array_copy(text->batch);
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
    for (guint i = 0; i < axes->dtype->len; i++)
        for (guint k = 0; k < i; k++)
            if (g_array_index(axes->dtype, int, i) == g_array_index(axes->dtype, int, k))
                return ifm_yaml_error(&text->study.record, error, "dtype: %s is listed twice",
                                      dtype_words[g_array_index(axes->dtype, int, i)]);
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

/* "resnet50,size=160,batch=0": the batch is left free, so that one file serves them all. (transfer full) */
static char *words_of(const Axes *axes, const Point *point)
{
    GString *words = g_string_new(point->model->text);
    if (point->batch > 0 && ifm_axis_parameter(point->model->entry, "batch") != NULL)
        g_string_append(words, ",batch=0");
    for (guint i = 0; i < axes->dims->len; i++)
    {
        const ProfileDim *dim = axes->dims->pdata[i];
        if (ifm_axis_parameter(point->model->entry, dim->name) != NULL)
            g_string_append_printf(words, ",%s=%" G_GINT64_FORMAT, dim->name, point->sizes[i]);
    }
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

/* @at: model, dimensions, batch, precision, threads, streams, device: span() */
static gboolean take_point(const guint *at, void *user, GError **error)
{
    const Spanning *spanning = user;
    IfmStudy *study = spanning->study;
    const Axes *axes = study->own;
    const guint *option = at + 1 + axes->dims->len;
    Point point = { .model = axes->models->pdata[at[0]],
                    .model_index = at[0],
                    .batch = value_of(axes->batch, option[0], 0),
                    .dtype = axes->dtype->len > 0 ? g_array_index(axes->dtype, int, option[1]) : 0,
                    .threads = (int)value_of(axes->threads, option[2], 0),
                    .streams = (int)value_of(axes->streams, option[3], 0) };
    for (guint i = 0; i < axes->dims->len; i++)
        point.sizes[i] = g_array_index(((const ProfileDim *)axes->dims->pdata[i])->sizes, gint64, at[1 + i]);
    add_point(study, spanning->phase, &point, study->devices->pdata[option[4]]);
    return TRUE;
}

/* Devices innermost: neighbours in time are those that get compared. */
static void span(IfmStudy *study, int phase)
{
    const Axes *axes = study->own;
    const GArray *const options[] = { axes->batch, axes->dtype, axes->threads, axes->streams };
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

/* --- files ------------------------------------------------------------------------------------------------------------ */

/* (transfer full) */
static char *path_of(const Axes *axes, const Point *point, const char *folder)
{
    if (point->model->path != NULL)
        return g_strdup(point->model->path);
    g_autofree char *name = axes->seed == 1 ? g_strconcat(point->words, ".onnx", NULL)
                                            : g_strdup_printf("%s,seed=%u.onnx", point->words, axes->seed);
    return g_build_filename(folder, "models", name, NULL);
}

static gboolean write_model(Axes *axes, const Point *point, const char *path, gboolean *is_new, GError **error)
{
    *is_new = point->model->entry != NULL && !g_hash_table_contains(axes->written, path);
    if (!*is_new)
        return TRUE;
    g_auto(GStrv) parts = g_strsplit(point->words, ",", -1);
    g_autoptr(IfmModel) model = ifm_zoo_build(parts[0], (const char *const *)parts + 1, axes->seed, error);
    g_autoptr(GBytes) bytes = model != NULL ? ifm_model_serialize(model, error) : NULL;
    if (bytes == NULL || !study_save_bytes(path, bytes, error))
        return FALSE;
    g_hash_table_add(axes->written, g_strdup(path));
    return TRUE;
}

/* A model that cannot be built is the trouble of its own points, not of a device: they find it when they are sealed. */
static gboolean export_files(IfmStudy *study, const char *folder, const IfmStudyDevice *device, gsize *n_models,
                             GError **error)
{
    const GPtrArray *cases = ifm_study_cases(study);
    gsize n = 0;
    for (guint i = 0; i < cases->len && device == NULL; i++)
    {
        const Point *point = ((const StudyCase *)cases->pdata[i])->own;
        g_autofree char *path = path_of(study->own, point, folder);
        gboolean is_new;
        if (!write_model(study->own, point, path, &is_new, error))
            return FALSE;
        n += is_new;
    }
    if (n_models != NULL)
        *n_models = n;
    return TRUE;
}

/* --- for the runner --------------------------------------------------------------------------------------------------- */

typedef struct
{
    IfmModelCase model_case;
    char *path, *cache_dir, *batch_dim;
    IfmDimBinding bindings[MAX_DIMS + 1];
} Text;

static void drop(StudyCase *one)
{
    Text *text = g_steal_pointer(&one->text);
    if (text == NULL)
        return;
    g_free(text->path);
    g_free(text->cache_dir);
    g_free(text->batch_dim);
    g_free(text);
}

static IfmModel *look_at(Axes *axes, const char *path, GError **error)
{
    if (g_strcmp0(axes->open_path, path) != 0)
    {
        g_clear_pointer(&axes->open, ifm_model_unref);
        g_free(axes->open_path);
        axes->open_path = g_strdup(path);
        axes->open = ifm_model_open(path, error);
        if (axes->open == NULL)
            g_clear_pointer(&axes->open_path, g_free);
    }
    return axes->open;
}

/* (transfer full) the name of the dimension that a batch is. */
static char *batch_dim_of(const IfmModel *model, const char *name, GError **error)
{
    const IfmPort *port = ifm_model_n_inputs(model) > 0 ? ifm_model_input(model, 0) : NULL;
    if (port != NULL && port->rank > 0 && port->dim_names[0] != NULL)
        return g_strdup(port->dim_names[0]);
    g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "batch: the first dimension of the first input of %s is not free",
                name);
    return NULL;
}

static gboolean bind(const Axes *axes, const Point *point, const IfmModel *model, Text *text, GError **error)
{
    gsize n = 0;
    if (point->batch > 0)
    {
        text->batch_dim = batch_dim_of(model, point->model->text, error);
        if (text->batch_dim == NULL)
            return FALSE;
        text->bindings[n++] = (IfmDimBinding){ text->batch_dim, point->batch };
    }
    for (guint i = 0; i < axes->dims->len; i++)
    {
        const ProfileDim *dim = axes->dims->pdata[i];
        if (ifm_axis_parameter(point->model->entry, dim->name) == NULL)
            text->bindings[n++] = (IfmDimBinding){ dim->name, point->sizes[i] };
    }
    text->model_case.bindings = text->bindings;
    text->model_case.n_bindings = n;
    return ifm_model_check_bindings(model, text->bindings, n, error);
}

/* What an inference computes, of all streams together. */
static gboolean count_flop(StudyCase *one, const Point *point, IfmModel *model, const Text *text, GError **error)
{
    IfmNodeCost total;
    gsize n_covered;
    g_auto(IfmCoverage) coverage = { 0 };
    if (one->flop > 0)
        return TRUE;
    g_autoptr(IfmAnalysis) analysis =
        ifm_model_analyse(model, text->model_case.bindings, text->model_case.n_bindings, error);
    if (analysis == NULL)
        return FALSE;
    ifm_analysis_total(analysis, &total, &n_covered);
    ifm_analysis_coverage(analysis, &coverage);
    one->flop = n_covered == coverage.n_nodes ? (double)total.flop * MAX(point->streams, 1) : 0;
    return TRUE;
}

static gboolean fill(IfmStudy *study, const char *folder, StudyCase *one, IfmCampaignItem *item, GError **error)
{
    Axes *axes = study->own;
    const Point *point = one->own;
    Text *text = one->text = g_new0(Text, 1);
    gboolean is_new;
    text->path = path_of(axes, point, folder);
    text->cache_dir = g_build_filename(folder, "cache", NULL);
    if (!write_model(axes, point, text->path, &is_new, error))
        return FALSE;
    IfmModel *model = look_at(axes, text->path, error);
    if (model == NULL || !bind(axes, point, model, text, error) || !count_flop(one, point, model, text, error))
        return FALSE;
    text->model_case.model_path = text->path;
    text->model_case.model = model;
    text->model_case.model_name = point->model->text;
    text->model_case.device = point->device;
    text->model_case.alias = one->row.alias;
    text->model_case.cache_dir = text->cache_dir;
    text->model_case.dtype = ifm_dtype_from_name(dtype_words[point->dtype]);
    text->model_case.threads = point->threads;
    text->model_case.seed = axes->seed;
    text->model_case.protocol = study->protocol;
    text->model_case.verify = axes->verify;
    item->kind = &ifm_kind_model;
    item->spec = &text->model_case;
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

static json_t *definition(const IfmStudy *study)
{
    const Axes *axes = study->own;
    json_t *models = json_array(), *dims = json_array(), *dtypes = json_array();
    for (guint i = 0; i < axes->models->len; i++)
        json_array_append_new(models, ifm_json_string(((const ProfileModel *)axes->models->pdata[i])->text));
    for (guint i = 0; i < axes->dims->len; i++)
    {
        const ProfileDim *dim = axes->dims->pdata[i];
        json_array_append_new(
            dims, json_pack("{s:o,s:o}", "name", ifm_json_string(dim->name), "sizes", integers_to_json(dim->sizes)));
    }
    for (guint i = 0; i < axes->dtype->len; i++)
        json_array_append_new(dtypes, json_string(dtype_words[g_array_index(axes->dtype, int, i)]));
    return json_pack("{s:{s:I},s:o,s:o,s:o,s:o,s:o,s:o,s:b,s:o}", "model", "seed", (json_int_t)axes->seed, "models", models,
                     "batch", integers_to_json(axes->batch), "dims", dims, "dtype", dtypes, "threads",
                     integers_to_json(axes->threads), "streams", integers_to_json(axes->streams), "verify", axes->verify,
                     "protocol", ifm_protocol_to_json(&study->protocol));
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
