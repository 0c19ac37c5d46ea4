#include <string.h>

#include <base/base.h>
#include <zoo/zoo.h>

#include "export-private.h"

/* This reader takes the YAML description of an export of kernels and checks that its models take the sizes that it
 * lists. */

const char *const export_config_providers[] = { "CPU", "CUDA", NULL };
const char *const export_config_levels[] = { "all", "extended", NULL };

static const IfmRecordField config_fields[] = {
    { IFM_RECORD(PLACE, ExportConfig, place) },
    IFM_FIELD(TEXTS, ExportConfig, models,
              .help = "models of the zoo, with settings other than size and batch after commas: vit,layers=2"),
    IFM_FIELD(SCALARS, ExportConfig, files, .element = IFM_RECORD_STRING,
              .help = "other ONNX files, relative to this one, each with the type of its first input: mine.onnx: f32"),
    IFM_FIELD(SERIES, ExportConfig, sizes, .required = TRUE, .filled = TRUE, .min = 1, .max = 16384,
              .help = "sides of an image, pixels; models without images have one size"),
    IFM_FIELD(SERIES, ExportConfig, batches, .required = TRUE, .filled = TRUE, .min = 1, .max = 65536,
              .help = "how many of them in a batch"),
    IFM_FIELD(CHOICES, ExportConfig, providers, .words = export_config_providers, .required = TRUE, .filled = TRUE,
              .help = "ONNX Runtime's execution providers"),
    IFM_FIELD(CHOICE, ExportConfig, level, .words = export_config_levels, .fallback = "all",
              .help = "of the optimisation; extended is without blocked channels"),
    IFM_FIELD(INT64, ExportConfig, seed, .min = 0, .max = G_MAXUINT32, .fallback = "1",
              .help = "of the weights of the zoo's models"),
    { 0 }
};

gboolean export_config_has(const IfmZooEntry *entry, const char *parameter)
{
    return ifm_zoo_parameter(entry, parameter) != NULL;
}

/* Sizes or batches that a model does not take. @least: of its own, or 1 */
static gboolean check_axis(const ExportConfig *text, const IfmZooEntry *entry, const char *key, const GArray *numbers,
                           const char *name, gint64 least, GError **error)
{
    const IfmZooParameter *parameter = ifm_zoo_parameter(entry, name);
    for (guint i = 0; parameter != NULL && i < numbers->len; i++)
    {
        const gint64 number = g_array_index(numbers, gint64, i);
        if (number < MAX(least, parameter->min) || number > parameter->max)
            return ifm_yaml_key_error(&text->place, key, i, error,
                                      "%s takes a %s of %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT, entry->name, name,
                                      MAX(least, parameter->min), parameter->max);
    }
    return TRUE;
}

char *export_config_name(const char *model)
{
    return g_strndup(model, strcspn(model, ","));
}

static gboolean check_model(const ExportConfig *text, guint i, GError **error)
{
    const char *model = text->models->pdata[i];
    g_autofree char *name = export_config_name(model);
    g_auto(GStrv) words = g_strsplit(model, ",", -1);
    gint64 values[IFM_ZOO_MAX_PARAMETERS];
    g_autoptr(GError) trouble = NULL;
    const IfmZooEntry *entry = ifm_zoo_find(name, &trouble);
    if (entry == NULL || !ifm_zoo_values(entry, (const char *const *)words + 1, values, &trouble))
        return ifm_yaml_key_error(&text->place, "models", i, error, "%s", trouble->message);
    for (char **word = words + 1; *word != NULL; word++)
        if (g_str_has_prefix(*word, "size=") || g_str_has_prefix(*word, "batch="))
            return ifm_yaml_key_error(&text->place, "models", i, error, "%s: sizes and batches are lists of their own",
                                      *word);
    return check_axis(text, entry, "sizes", text->sizes, "size", ifm_zoo_min_image(entry), error) &&
           check_axis(text, entry, "batches", text->batches, "batch", 1, error);
}

char *export_config_path(const ExportConfig *text, const IfmScalar *file)
{
    return ifm_path_beside(text->place.file, file->place.name);
}

static gboolean check_file(const ExportConfig *text, const IfmScalar *file, GError **error)
{
    g_autoptr(GError) trouble = NULL;
    g_autofree char *path = export_config_path(text, file);
    g_autoptr(IfmModel) model = ifm_model_open(path, &trouble);
    if (model == NULL)
        return ifm_yaml_error(&file->place, error, "%s", trouble->message);
    if (ifm_model_n_inputs(model) == 0)
        return ifm_yaml_error(&file->place, error, "%s has no input", path);
    const IfmPort *input = ifm_model_input(model, 0);
    return g_str_equal(ifm_dtype_name(input->dtype), file->text) ||
           ifm_yaml_error(&file->place, error, "\"%s\": the input '%s' of %s is %s", file->text, input->name, path,
                          ifm_dtype_name(input->dtype));
}

static gboolean check_config(const ExportConfig *text, GError **error)
{
    if (text->models->len + text->files->len == 0)
        return ifm_yaml_key_error(&text->place, "models", -1, error, "lists no model, and neither does files");
    if (!ifm_yaml_check_texts_once(&text->place, "models", text->models, error) ||
        !ifm_yaml_check_once(&text->place, "sizes", text->sizes, NULL, error) ||
        !ifm_yaml_check_once(&text->place, "batches", text->batches, NULL, error) ||
        !ifm_yaml_check_once(&text->place, "providers", text->providers, export_config_providers, error))
        return FALSE;
    for (guint i = 0; i < text->models->len; i++)
        if (!check_model(text, i, error))
            return FALSE;
    for (guint i = 0; i < text->files->len; i++)
        if (!check_file(text, text->files->pdata[i], error))
            return FALSE;
    return TRUE;
}

ExportConfig *export_config_read(const char *path, GError **error)
{
    g_autoptr(ExportConfig) self = ifm_yaml_read(config_fields, sizeof(ExportConfig), path, error);
    return self != NULL && check_config(self, error) ? g_steal_pointer(&self) : NULL;
}

void export_config_free(ExportConfig *self)
{
    ifm_record_free(self, config_fields);
}
