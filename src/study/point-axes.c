#include "point-axes.h"
#include <base/base.h>

#include <string.h>

#include <campaign/campaign.h>
#include <measure/measure.h>

/* The axes of models span the points of a study: each point becomes a case with its model and options, and a row of the
 * manifest. */

const char *const point_dtype_words[] = { "f32", "f16", "bf16", NULL };
const char *const point_mode_words[] = { "forward", "backward", "train", NULL };

/* --- the axes --------------------------------------------------------------------------------------------------------- */

/* Point: one value of each axis. */
typedef struct
{
    const PointModel *model;
    guint model_index;
    gint64 sizes[POINT_MAX_DIMS], input_size; /* input_size: 0: no such axis */
    gint64 batch;                             /* 0: as the model is */
    const char *algorithm;                    /* of convolutions; NULL: the runtime's */
    int mode, dtype, threads, streams;
    char *device; /* with its streams */
    char *words;  /* all that its model depends on: finds the open one */
} Point;

static void model_free(PointModel *model)
{
    g_free(model->text);
    g_free(model->path);
    g_clear_pointer(&model->sizes, g_array_unref);
    g_clear_pointer(&model->size_dims, g_ptr_array_unref);
    g_free(model);
}

static const IfmRecordField dim_fields[] = {
    { IFM_RECORD(STRING, PointDim, name) },
    { IFM_RECORD(SERIES, PointDim, sizes) },
    { NULL },
};

/* What the manifest says of the axes; a kind may have no key for a list. */
static const IfmRecordField lists[] = {
    { IFM_RECORD_AS(TEXTS, PointAxes, model_words, "models") },
    { IFM_RECORD(TEXTS, PointAxes, algorithms), .sparse = TRUE },
    { IFM_RECORD(SERIES, PointAxes, batch) },
    { IFM_RECORD(ROWS, PointAxes, dims), IFM_FIELDS_OF(dim_fields, PointDim) },
    { IFM_RECORD(CHOICES, PointAxes, mode), .words = point_mode_words, .sparse = TRUE },
    { IFM_RECORD(CHOICES, PointAxes, dtype), .words = point_dtype_words },
    { IFM_RECORD(SERIES, PointAxes, threads) },
    { IFM_RECORD(SERIES, PointAxes, streams) },
    { IFM_RECORD(FLAG, PointAxes, verify) },
    { NULL },
};
/* … and of algorithms. */
static const IfmRecordField algorithm_fields[] = {
    { IFM_RECORD(STRING, PointAxes, fallback) },
    { IFM_RECORD(INT64, PointAxes, workspace_bytes) },
    { IFM_RECORD_AS(INT64, PointAxes, one_batch, "batch_size") },
    { NULL },
};

static gboolean has_field(const IfmStudy *study, const IfmRecordField *list)
{
    const IfmRecordField *field = study->kind->fields;
    while (field->name != NULL && field->offset != list->offset)
        field++;
    return field->name != NULL;
}

PointAxes *point_axes_begin(IfmStudy *study, StudyText *text)
{
    PointAxes *axes = study->own = (PointAxes *)(void *)text;
    axes->models = g_ptr_array_new_with_free_func((GDestroyNotify)model_free);
    axes->written = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (const IfmRecordField *list = lists; list->name != NULL; list++)
        if (!has_field(study, list))
            ifm_record_init(axes, (const IfmRecordField[]){ *list, { 0 } });
    return axes;
}

void point_axes_clear(IfmStudy *study)
{
    PointAxes *axes = study->own;
    if (axes == NULL)
        return;
    for (const IfmRecordField *list = lists; list->name != NULL; list++)
        if (!has_field(study, list))
            ifm_record_clear(axes, (const IfmRecordField[]){ *list, { 0 } });
    g_ptr_array_unref(axes->models);
    g_hash_table_unref(axes->written);
    ifm_profile_plan_free(axes->open);
    g_free(axes->open_words);
}

void point_clear_case(StudyCase *one)
{
    Point *point = one->own;
    g_free(point->device);
    g_free(point->words);
    g_free(point);
}

/* A file that is not there, with the nearest one of its folder. */
static gboolean refuse_file(const IfmPlace *place, guint i, const char *path, GError **error)
{
    g_autofree char *folder = g_path_get_dirname(path), *name = g_path_get_basename(path);
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    for (const char *file; dir != NULL && (file = g_dir_read_name(dir)) != NULL;)
        if (g_str_has_suffix(file, ".onnx"))
            g_ptr_array_add(names, g_strdup(file));
    g_ptr_array_sort(names, ifm_compare_texts);
    g_ptr_array_add(names, NULL);
    g_autofree char *hint = ifm_nearest_hint(name, (const char *const *)names->pdata);
    return ifm_yaml_key_error(place, "models", i, error, "%s: no such file%s", path, hint);
}

static gboolean read_model(PointAxes *axes, guint i, GError **error)
{
    const IfmPlace *place = &axes->study.place;
    const char *word = axes->model_words->pdata[i];
    g_autoptr(GError) trouble = NULL;
    g_autofree char *name = g_strndup(word, strcspn(word, ","));
    const gboolean is_path = study_is_path(name);
    const IfmZooEntry *entry = is_path ? NULL : ifm_zoo_find(name, &trouble);
    if (!is_path && entry == NULL)
        return ifm_yaml_key_error(place, "models", i, error, "%s", trouble->message);
    PointModel *model = g_new0(PointModel, 1);
    model->text = g_strdup(word);
    model->entry = entry;
    if (is_path)
        model->path = ifm_path_beside(place->file, word);
    g_ptr_array_add(axes->models, model);
    return !is_path || g_file_test(model->path, G_FILE_TEST_IS_REGULAR) || refuse_file(place, i, model->path, error);
}

gboolean point_axes_read_models(PointAxes *axes, GError **error)
{
    for (guint i = 0; i < axes->model_words->len; i++)
        if (!read_model(axes, i, error))
            return FALSE;
    return ifm_yaml_check_texts_once(&axes->study.place, "models", axes->model_words, error);
}

gboolean point_axes_check_not_set(const PointAxes *axes, const IfmPlace *record, const char *axis, GError **error)
{
    g_autofree char *set = g_strconcat(",", axis, "=", NULL);
    for (guint i = 0; i < axes->models->len; i++)
    {
        const PointModel *model = axes->models->pdata[i];
        if (model->entry != NULL && strstr(model->text, set) != NULL)
            return ifm_yaml_key_error(record, "models", i, error, "\"%s\": %s is an axis of the study; give it once",
                                      model->text, axis);
    }
    return TRUE;
}

gboolean point_take_device(const IfmStudy *study, const DeviceText *text, IfmStudyDevice *device, GError **error)
{
    const PointAxes *axes = study->own;
    if (text->not_stages->len > 0)
        return ifm_yaml_key_error(&text->place, "not_stages", -1, error, "a study of kind %s has no stages",
                                  study->kind->name);
    return axes->streams->len == 0 || strchr(device->device, '#') == NULL ||
           ifm_yaml_key_error(&text->place, "device", -1, error, "%s has streams of its own, besides the axis \"streams\"",
                              device->device);
}

/* --- the span --------------------------------------------------------------------------------------------------------- */

/* "resnet50 size=160 batch=4 train" (transfer full) */
static char *words_of(const PointAxes *axes, const Point *point)
{
    GString *words = g_string_new(point->model->text);
    for (guint i = 0; i < axes->dims->len; i++)
        g_string_append_printf(words, " %s=%" G_GINT64_FORMAT, ((const PointDim *)axes->dims->pdata[i])->name,
                               point->sizes[i]);
    if (point->input_size > 0)
        g_string_append_printf(words, " size=%" G_GINT64_FORMAT, point->input_size);
    if (point->batch > 0)
        g_string_append_printf(words, " batch=%" G_GINT64_FORMAT, point->batch);
    g_string_append_printf(words, " %s", point_mode_words[point->mode]);
    return g_string_free(words, FALSE);
}

static json_t *axes_of(const PointAxes *axes, const Point *point)
{
    json_t *json = json_pack("{s:o,s:o*,s:o*,s:o*}", "model", ifm_json_string(point->model->text), "algorithm",
                             point->algorithm != NULL ? ifm_json_string(point->algorithm) : NULL, "input_size",
                             point->input_size > 0 ? json_integer(point->input_size) : NULL, "batch",
                             axes->batch->len > 0 ? json_integer(point->batch) : NULL);
    for (guint i = 0; i < axes->dims->len; i++)
        json_object_set_new(json, ((const PointDim *)axes->dims->pdata[i])->name, json_integer(point->sizes[i]));
    json_object_update_new(json, json_pack("{s:s*,s:s*,s:o*,s:o*}", "mode",
                                           axes->mode->len > 0 ? point_mode_words[point->mode] : NULL, "dtype",
                                           axes->dtype->len > 0 ? point_dtype_words[point->dtype] : NULL, "threads",
                                           axes->threads->len > 0 ? json_integer(point->threads) : NULL, "streams",
                                           axes->streams->len > 0 ? json_integer(point->streams) : NULL));
    return json;
}

static void add_point(IfmStudy *study, int phase, const Point *like, IfmStudyDevice *device)
{
    const PointAxes *axes = study->own;
    StudyCase *one = study_point_new(device, axes_of(axes, like));
    Point *point = one->own = g_memdup2(like, sizeof *like);
    point->device =
        axes->streams->len > 0 ? g_strdup_printf("%s#%d", device->device, point->streams) : g_strdup(device->device);
    point->words = words_of(axes, point);
    one->row.items = MAX(point->batch, 1) * MAX(point->streams, 1);
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
    guint model;
} Spanning;

/* @at: size, dimensions, batch, pass, precision, threads, streams, algorithm, device: span_model() */
static gboolean take_point(const guint *at, void *user, GError **error)
{
    const Spanning *spanning = user;
    IfmStudy *study = spanning->study;
    const PointAxes *axes = study->own;
    const guint *option = at + 1 + axes->dims->len;
    const PointModel *model = axes->models->pdata[spanning->model];
    Point point = { .model = model,
                    .model_index = spanning->model,
                    .input_size = model->sizes != NULL ? g_array_index(model->sizes, gint64, at[0]) : 0,
                    .batch = value_of(axes->batch, option[0], axes->one_batch),
                    .mode = axes->mode->len > 0 ? g_array_index(axes->mode, int, option[1]) : IFM_PASS_FORWARD,
                    .dtype = axes->dtype->len > 0 ? g_array_index(axes->dtype, int, option[2]) : 0,
                    .threads = (int)value_of(axes->threads, option[3], 0),
                    .streams = (int)value_of(axes->streams, option[4], 0),
                    .algorithm = axes->algorithms->len > 0 ? axes->algorithms->pdata[option[5]] : NULL };
    for (guint i = 0; i < axes->dims->len; i++)
        point.sizes[i] = g_array_index(((const PointDim *)axes->dims->pdata[i])->sizes, gint64, at[1 + i]);
    add_point(study, spanning->phase, &point, study->devices->pdata[option[6]]);
    return TRUE;
}

static void span_model(Spanning *spanning)
{
    const PointAxes *axes = spanning->study->own;
    const PointModel *model = axes->models->pdata[spanning->model];
    const guint options[] = { axes->batch->len,   axes->mode->len,    axes->dtype->len,
                              axes->threads->len, axes->streams->len, axes->algorithms->len };
    guint lengths[1 + POINT_MAX_DIMS + G_N_ELEMENTS(options) + 1];
    gsize n = 0;
    lengths[n++] = model->sizes != NULL ? model->sizes->len : 1;
    for (guint i = 0; i < axes->dims->len; i++)
        lengths[n++] = ((const PointDim *)axes->dims->pdata[i])->sizes->len;
    for (gsize i = 0; i < G_N_ELEMENTS(options); i++)
        lengths[n++] = MAX(options[i], 1);
    lengths[n++] = spanning->study->devices->len;
    ifm_axes_each(lengths, n, take_point, spanning, NULL);
}

/* Models outermost; algorithms and devices innermost: neighbours in time are those that get compared. */
void point_span(IfmStudy *study, int phase)
{
    Spanning spanning = { .study = study, .phase = phase };
    for (; spanning.model < ((const PointAxes *)study->own)->models->len; spanning.model++)
        span_model(&spanning);
}

/* --- for the runner --------------------------------------------------------------------------------------------------- */

/* The options of a point for `profile`; on all devices of the study, so that one plan serves them. */
static const IfmProfilePlan *plan_point(IfmStudy *study, const char *folder, const Point *point, GError **error)
{
    PointAxes *axes = study->own;
    if (g_strcmp0(axes->open_words, point->words) == 0)
        return axes->open;
    g_clear_pointer(&axes->open, ifm_profile_plan_free);
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
    options.open.batch = point->model->fixed_batch ? 0 : point->batch;
    if (axes->inputs != NULL)
        options.open.inputs = (const char *const *)axes->inputs->pdata;
    options.seed = axes->seed;
    options.output = folder;
    g_autoptr(IfmProfilePlan) planned = ifm_profile_plan_new(&options);
    for (guint i = 0; i < axes->dims->len; i++)
        ifm_profile_plan_set(planned, ((const PointDim *)axes->dims->pdata[i])->name, point->sizes[i]);
    const GPtrArray *size_dims = point->model->size_dims;
    for (guint i = 0; size_dims != NULL && i < size_dims->len; i++)
        ifm_profile_plan_set(planned, size_dims->pdata[i], point->input_size);
    if (point->input_size > 0 && size_dims == NULL)
        ifm_profile_plan_set(planned, "size", point->input_size);
    if (!ifm_profile_plan_make(planned, axes->written, error))
        return NULL;
    axes->open = g_steal_pointer(&planned);
    axes->open_words = g_strdup(point->words);
    return axes->open;
}

typedef struct
{
    IfmModelCase model_case;
    char *cache_dir, *fallback, *workspace;
    const char *convolutions[4];
} Text;

void point_drop(StudyCase *one)
{
    Text *text = g_steal_pointer(&one->text);
    if (text == NULL)
        return;
    g_free(text->cache_dir);
    g_free(text->fallback);
    g_free(text->workspace);
    g_free(text);
}

/* The lines of IfmModelCase.convolutions; NULL: the runtime's own kernels, as without any. */
static const char *const *convolutions_of(const PointAxes *axes, const Point *point, Text *text)
{
    gsize n = 0;
    if (point->algorithm == NULL)
        return NULL;
    text->convolutions[n++] = point->algorithm;
    if (axes->fallback != NULL)
        text->convolutions[n++] = text->fallback = g_strconcat("fallback=", axes->fallback, NULL);
    if (axes->workspace_bytes > 0)
        text->convolutions[n++] = text->workspace = g_strdup_printf("workspace=%" G_GINT64_FORMAT, axes->workspace_bytes);
    return text->convolutions;
}

gboolean point_fill(IfmStudy *study, const char *folder, StudyCase *one, IfmCampaignItem *item, GError **error)
{
    const PointAxes *axes = study->own;
    const Point *point = one->own;
    const IfmProfilePlan *planned = plan_point(study, folder, point, error);
    if (planned == NULL)
        return FALSE;
    if (!(one->row.flop > 0))
        one->row.flop = (double)MAX(ifm_profile_plan_flop(planned), 0) * MAX(point->streams, 1);
    Text *text = one->text = g_new0(Text, 1);
    text->cache_dir = g_build_filename(folder, "cache", NULL);
    text->model_case = ifm_profile_plan_case(planned);
    text->model_case.model_name = point->model->text;
    text->model_case.device = point->device;
    text->model_case.alias = one->row.alias;
    text->model_case.cache_dir = text->cache_dir;
    if (axes->dtype->len > 0) /* else the model's own */
        text->model_case.dtype = ifm_dtype_from_name(point_dtype_words[point->dtype]);
    text->model_case.threads = point->threads;
    text->model_case.protocol = study->protocol;
    text->model_case.verify = axes->verify;
    text->model_case.energy = study->energy;
    text->model_case.profile = axes->layers;
    text->model_case.convolutions = convolutions_of(axes, point, text);
    item->kind = &ifm_kind_model;
    item->spec = &text->model_case;
    return TRUE;
}

/* A model that cannot be built is the trouble of its own points, not of a device: they find it when they are sealed. */
gboolean point_export_files(IfmStudy *study, const char *folder, const IfmStudyDevice *device, gsize *n_models,
                            GError **error)
{
    const GPtrArray *cases = ifm_study_cases(study);
    const PointAxes *axes = study->own;
    const guint before = g_hash_table_size(axes->written);
    for (guint i = 0; i < cases->len && device == NULL; i++)
        if (plan_point(study, folder, ((const StudyCase *)cases->pdata[i])->own, error) == NULL)
            return FALSE;
    if (n_models != NULL)
        *n_models = g_hash_table_size(axes->written) - before;
    return TRUE;
}

/* Cases of a model take about as long, whatever their batch: the rule stops each at the same interval or time. */
int point_pace(const StudyCase *one)
{
    return 1 + (int)((const Point *)one->own)->model_index;
}

/* --- the manifest ----------------------------------------------------------------------------------------------------- */

json_t *point_definition(const IfmStudy *study)
{
    const PointAxes *axes = study->own;
    json_t *json = ifm_record_to_json(axes, lists);
    json_object_set_new(json, "model", json_pack("{s:I}", "seed", (json_int_t)axes->seed));
    if (axes->algorithms->len > 0)
        json_object_update_new(json, ifm_record_to_json(axes, algorithm_fields));
    if (axes->inputs != NULL && axes->inputs->len > 1)
        json_object_set_new(json, "inputs", study_texts_to_json(axes->inputs));
    json_object_set_new(json, "protocol", ifm_protocol_to_json(&study->protocol));
    return json;
}
