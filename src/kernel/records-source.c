/* Records by what a user calls a model: a file of records, an ONNX file or a model of the zoo. */
#include <glib/gstdio.h>
#include <string.h>

#include <inferometer/zoo.h>

#include "records-private.h"

#define USUAL_DEVICE "onnxruntime:CPU"

/* Whether it begins with the name of a model of the zoo: "resnet18,size=64". */
static gboolean is_of_zoo(const char *text)
{
    const gsize length = strcspn(text, ",");
    for (const IfmZooEntry *entry = ifm_zoo_entries(); entry->name != NULL; entry++)
        if (strlen(entry->name) == length && strncmp(entry->name, text, length) == 0)
            return TRUE;
    return FALSE;
}

/* Builds it into a folder. Returns: (transfer full) the path */
static char *build(const char *text, guint32 seed, const char *folder, GError **error)
{
    g_auto(GStrv) words = g_strsplit(text, ",", -1);
    g_autofree char *name = g_strconcat(text, ".onnx", NULL), *path = g_build_filename(folder, name, NULL);
    g_autoptr(IfmModel) model = ifm_zoo_build(words[0], (const char *const *)words + 1, seed, error);
    return model != NULL && ifm_model_save(model, path, error) ? g_steal_pointer(&path) : NULL;
}

static IfmKernelRecords *find(const char *path, const IfmKernelOptions *options, GError **error)
{
    const IfmRunnerOptions runner_options = { .limits = IFM_LIMITS_INIT, .interrupted = options->interrupted };
    const IfmModelCase model_case = { .model_path = path,
                                      .device = options->device != NULL ? options->device : USUAL_DEVICE,
                                      .threads = options->threads,
                                      .bindings = options->bindings,
                                      .n_bindings = options->n_bindings };
    g_autoptr(IfmRunner) runner = ifm_runner_new(&runner_options);
    return ifm_kernel_records_find(runner, &model_case, options->graph, error);
}

IfmKernelRecords *ifm_kernel_records_open(const char *text, const IfmKernelOptions *options, GError **error)
{
    const IfmKernelOptions defaults = { .seed = 1 };
    options = options != NULL ? options : &defaults;
    if (g_str_has_suffix(text, ".json"))
        return ifm_kernel_records_read(text, error);
    if (g_file_test(text, G_FILE_TEST_IS_REGULAR))
        return find(text, options, error);
    if (!is_of_zoo(text))
    {
        g_autoptr(GError) unknown = NULL;
        g_autofree char *name = g_strndup(text, strcspn(text, ","));
        ifm_zoo_find(name, &unknown);
        g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "%s: no such file, nor in the zoo: %s", text,
                    unknown != NULL ? unknown->message : name);
        return NULL;
    }
    g_autoptr(GError) trouble = NULL;
    g_autofree char *folder = g_dir_make_tmp("inferometer-model-XXXXXX", &trouble);
    if (folder == NULL)
    {
        g_set_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE, "a folder for the model: %s", trouble->message);
        return NULL;
    }
    g_autofree char *path = build(text, options->seed, folder, error);
    IfmKernelRecords *records = path != NULL ? find(path, options, error) : NULL;
    kernel_remove_folder(folder);
    return records;
}
