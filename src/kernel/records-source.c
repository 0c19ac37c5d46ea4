/* Records by what a user calls a model: a file of records, an ONNX file or a model of the zoo. */
#include <glib/gstdio.h>
#include <string.h>

#include <inferometer/zoo.h>

#include "records-private.h"

#define USUAL_DEVICE "onnxruntime:CPU"
#define ZOO_PREFIX "zoo:"

/* Asked: a model. @words: of the zoo; NULL of a file    @source: how records name it    @identity: what digests are kept by
 * @folder: of what is kept    @model_case: without its path as long as it is not built */
typedef struct
{
    const IfmKernelOptions *options;
    const char *words;
    char *source, *identity, *folder;
    IfmModelCase model_case;
} Asked;

static void asked_clear(Asked *self)
{
    g_free(self->source);
    g_free(self->identity);
    g_free(self->folder);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Asked, asked_clear)

/* Whether it begins with the name of a model of the zoo: "resnet18,size=64". */
static gboolean is_of_zoo(const char *text)
{
    const gsize length = strcspn(text, ",");
    for (const IfmZooEntry *entry = ifm_zoo_entries(); entry->name != NULL; entry++)
        if (strlen(entry->name) == length && strncmp(entry->name, text, length) == 0)
            return TRUE;
    return FALSE;
}

/* What is like the name of a file was meant as one. */
static gboolean is_file(const char *text)
{
    return g_file_test(text, G_FILE_TEST_IS_REGULAR) || (strpbrk(text, "./") != NULL && !is_of_zoo(text));
}

static gboolean asked_init(Asked *self, const char *text, const IfmKernelOptions *options, GError **error)
{
    const gboolean prefixed = g_str_has_prefix(text, ZOO_PREFIX);
    *self = (Asked){ .options = options, .folder = kept_folder(options->cache) };
    self->model_case = (IfmModelCase){ .device = options->device != NULL ? options->device : USUAL_DEVICE,
                                       .threads = options->threads,
                                       .bindings = options->bindings,
                                       .n_bindings = options->n_bindings };
    if (!prefixed && is_file(text))
    {
        self->source = g_canonicalize_filename(text, NULL);
        self->identity = g_strdup(self->source);
        self->model_case.model_path = self->source;
        return TRUE;
    }
    self->words = prefixed ? text + strlen(ZOO_PREFIX) : text;
    self->source = g_strconcat(ZOO_PREFIX, self->words, NULL);
    self->identity = g_strdup_printf("%s seed=%u", self->source, options->seed);
    g_autofree char *name = g_strndup(self->words, strcspn(self->words, ","));
    g_autoptr(GError) unknown = NULL;
    if (*name == '\0')
        return ifm_error_refuse(error, "the model's name is empty: expected an ONNX file, or a model of the zoo");
    if (ifm_zoo_find(name, &unknown) != NULL)
        return TRUE;
    return ifm_error_refuse(error, "%s: no such file, nor in the zoo: %s", text, unknown->message);
}

/* --- the model's digest --------------------------------------------------------------------------------------------------
 */

/* (transfer full) of a file; NULL with an error of reading it. */
static char *digest_of(const char *path, const char *folder, GError **error)
{
    char *known = kept_digest(folder, path);
    if (known != NULL)
        return known;
    g_autoptr(IfmModel) model = ifm_model_open(path, error);
    const char *digest = model != NULL ? ifm_model_digest(model, error) : NULL;
    if (digest == NULL)
        return NULL;
    g_auto(GStrv) files = ifm_model_files(model);
    kept_add_digest(folder, path, digest, (const char *const *)files);
    return g_strdup(digest);
}

/* --- records of a model --------------------------------------------------------------------------------------------------
 */

static IfmKernelRecords *take_kept(const Asked *self, const char *digest)
{
    if (digest == NULL || self->options->anew || self->options->graph != NULL)
        return NULL;
    return kept_records(self->folder, digest, &self->model_case);
}

static IfmKernelRecords *find(const Asked *self, const IfmModelCase *model_case, GError **error)
{
    const IfmRunnerOptions options = { .limits = IFM_LIMITS_INIT, .interrupted = self->options->interrupted };
    g_autoptr(IfmRunner) runner = ifm_runner_new(&options);
    IfmKernelRecords *records = ifm_kernel_records_find(runner, model_case, self->options->graph, error);
    if (records != NULL)
        kept_add_records(self->folder, records, &self->model_case);
    return records;
}

/* Builds it into a folder. Returns: (transfer full) the path */
static char *build(const Asked *self, const char *folder, GError **error)
{
    g_auto(GStrv) words = g_strsplit(self->words, ",", -1);
    g_autofree char *name = g_strconcat(self->words, ".onnx", NULL), *path = g_build_filename(folder, name, NULL);
    g_autoptr(IfmModel) model = ifm_zoo_build(words[0], (const char *const *)words + 1, self->options->seed, error);
    if (model == NULL)
        ifm_error_blame_sizes(*error);
    return model != NULL && ifm_model_save(model, path, error) ? g_steal_pointer(&path) : NULL;
}

static IfmKernelRecords *find_in_zoo(const Asked *self, GError **error)
{
    g_autoptr(GError) trouble = NULL;
    g_autofree char *folder = g_dir_make_tmp("inferometer-model-XXXXXX", &trouble);
    if (folder == NULL)
    {
        g_set_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE, "a folder for the model: %s", trouble->message);
        return NULL;
    }
    g_autofree char *path = build(self, folder, error);
    IfmModelCase model_case = self->model_case;
    model_case.model_path = path;
    IfmKernelRecords *records = path != NULL ? find(self, &model_case, error) : NULL;
    if (records != NULL)
        kept_add_digest(self->folder, self->identity, records->model_digest, (const char *const[]){ kept_program(), NULL });
    kernel_remove_folder(folder);
    return records;
}

static IfmKernelRecords *open_model(const Asked *self, GError **error)
{
    g_autofree char *digest =
        self->words != NULL ? kept_digest(self->folder, self->identity) : digest_of(self->source, self->folder, error);
    if (digest == NULL && self->words == NULL)
        return NULL;
    IfmKernelRecords *records = take_kept(self, digest);
    if (records == NULL)
        records = self->words != NULL ? find_in_zoo(self, error) : find(self, &self->model_case, error);
    if (records == NULL)
        return NULL;
    g_free(records->source);
    records->source = g_strdup(self->source);
    return records;
}

/* Records of a file, whose model is still what it was; where it is not there, they stand alone. */
static IfmKernelRecords *read_records(const char *path, const IfmKernelOptions *options, GError **error)
{
    g_autoptr(IfmKernelRecords) records = ifm_kernel_records_read(path, error);
    if (records == NULL || !g_file_test(records->source, G_FILE_TEST_IS_REGULAR))
        return g_steal_pointer(&records);
    g_autofree char *folder = kept_folder(options->cache), *digest = digest_of(records->source, folder, error);
    if (digest != NULL && g_str_equal(digest, records->model_digest))
        return g_steal_pointer(&records);
    if (digest != NULL)
    {
        ifm_error_refuse(error, "%s: %s has changed since: export its kernels again", path, records->source);
        ifm_error_make_one_line(error);
    }
    return NULL;
}

static gboolean has_weight(const IfmModel *graph, const IfmKernelTensor *tensor)
{
    IfmTensor weight;
    return ifm_model_initializer(graph, tensor->name, &weight) &&
           g_str_equal(ifm_dtype_name(weight.dtype), tensor->dtype) && weight.rank == (int)tensor->dims->len &&
           memcmp(weight.shape, tensor->dims->data, (gsize)weight.rank * sizeof(gint64)) == 0;
}

gboolean ifm_kernel_records_check_graph(const IfmKernelRecords *records, const IfmModel *graph, GError **error)
{
    for (guint i = 0; i < records->kernels->len; i++)
    {
        const IfmKernelRecord *kernel = records->kernels->pdata[i];
        for (guint k = 0; k < kernel->inputs->len; k++)
        {
            const IfmKernelTensor *tensor = kernel->inputs->pdata[k];
            if (!tensor->constant || has_weight(graph, tensor))
                continue;
            ifm_error_refuse(error, "%s: not the optimised graph of %s: the weight '%s' of %s is not in it",
                             ifm_model_name(graph), records->model, tensor->name, kernel->name);
            ifm_error_make_one_line(error);
            return FALSE;
        }
    }
    return TRUE;
}

IfmKernelRecords *ifm_kernel_records_open(const char *text, const IfmKernelOptions *options, GError **error)
{
    const IfmKernelOptions defaults = { .seed = 1 };
    g_auto(Asked) asked = { 0 };
    options = options != NULL ? options : &defaults;
    if (g_str_has_suffix(text, ".json") && !g_str_has_prefix(text, ZOO_PREFIX))
        return read_records(text, options, error);
    return asked_init(&asked, text, options, error) ? open_model(&asked, error) : NULL;
}
