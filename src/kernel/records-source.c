/* Records by what a user calls a model: a file of records, an ONNX file or a model of the zoo. */
#include <string.h>

#include <kernel/kernel.h>
#include <zoo/zoo.h>

#include "records-private.h"

#define USUAL_DEVICE "onnxruntime:CPU"

/* Asked: a model, opened. @folder: of what is kept    @identity: what digests are kept by */
typedef struct
{
    const IfmKernelOptions *options;
    char *folder, *identity;
    IfmModelSource source;
    IfmModelCase model_case;
} Asked;

static void asked_clear(Asked *self)
{
    g_free(self->folder);
    g_free(self->identity);
    ifm_model_source_clear(&self->source);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Asked, asked_clear)

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

static IfmKernelRecords *find(const Asked *self, GError **error)
{
    const IfmRunnerOptions options = { .limits = IFM_LIMITS_INIT, .interrupted = self->options->interrupted };
    g_autoptr(IfmRunner) runner = ifm_runner_new(&options);
    IfmKernelRecords *records = kernel_records_find(runner, self->options, &self->model_case, error);
    if (records != NULL)
        kept_add_records(self->folder, records, &self->model_case);
    return records;
}

static IfmKernelRecords *name_source(IfmKernelRecords *records, char *source /* (transfer full) */)
{
    g_free(records->source);
    records->source = source;
    return records;
}

/* What a model of the zoo is kept by, with all its weights: it need not be built to be found. NULL: a file, or sizes or
 * inputs are asked for. (transfer full) */
static char *identity_of(const char *text, const IfmKernelOptions *options)
{
    const IfmModelOptions *open = &options->open;
    const gboolean plain =
        open->batch == 0 && (open->dims == NULL || *open->dims == NULL) && (open->inputs == NULL || *open->inputs == NULL);
    if (!plain || ifm_model_source_entry(text) == NULL)
        return NULL;
    return g_strdup_printf(IFM_ZOO_PREFIX "%s seed=%u",
                           text + (g_str_has_prefix(text, IFM_ZOO_PREFIX) ? strlen(IFM_ZOO_PREFIX) : 0), options->seed);
}

static void take_source(Asked *self)
{
    const IfmModelFeed *feed = &self->source.feed;
    self->model_case.model_path = self->source.path;
    self->model_case.inputs_path = self->source.inputs_path;
    self->model_case.bindings = ifm_model_feed_bindings(feed);
    self->model_case.n_bindings = feed->bindings->len;
}

/* Of a model that is opened. @is_file: a user's, which may be worked on as a copy: what is recorded of it is the file's. */
static IfmKernelRecords *records_of(Asked *self, const char *text, gboolean is_file, GError **error)
{
    g_autofree char *path = is_file ? g_canonicalize_filename(text, NULL) : NULL;
    const gboolean is_copy = is_file && !g_str_equal(path, self->source.path);
    g_autofree char *digest =
        is_file && !is_copy ? digest_of(path, self->folder, error) : g_strdup(ifm_model_digest(self->source.model, error));
    if (digest == NULL)
        return NULL;
    g_autoptr(IfmKernelRecords) records = take_kept(self, digest);
    if (records == NULL && (records = find(self, error)) == NULL)
        return NULL;
    g_autofree char *own = is_copy ? digest_of(path, self->folder, NULL) : NULL;
    if (own != NULL)
    {
        g_free(records->model_digest);
        records->model_digest = g_steal_pointer(&own);
    }
    if (self->identity != NULL)
        kept_add_digest(self->folder, self->identity, digest, (const char *const[]){ kept_program(), NULL });
    return name_source(g_steal_pointer(&records), is_file ? g_steal_pointer(&path) : g_strdup(self->source.source));
}

static IfmKernelRecords *open_model(const char *text, const IfmKernelOptions *options, GError **error)
{
    g_auto(Asked) self = { .options = options,
                           .folder = kept_folder(options->cache),
                           .identity = identity_of(text, options),
                           .model_case = { .device = options->device != NULL ? options->device : USUAL_DEVICE,
                                           .threads = options->threads } };
    const IfmModelRequest request = { .text = text,
                                      .open = &options->open,
                                      .seed = options->seed,
                                      .is_run = TRUE,
                                      .note = options->note,
                                      .user = options->user };
    g_autofree char *digest = self.identity != NULL ? kept_digest(self.folder, self.identity) : NULL;
    IfmKernelRecords *records = take_kept(&self, digest);
    if (records != NULL)
        return name_source(records, g_strndup(self.identity, (gsize)(strrchr(self.identity, ' ') - self.identity)));
    if (!ifm_model_source_open(&request, &self.source, error))
    {
        if (error != NULL)
            ifm_error_blame_sizes(*error);
        return NULL;
    }
    take_source(&self);
    return records_of(&self, text, ifm_model_source_entry(text) == NULL, error);
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
    options = options != NULL ? options : &defaults;
    if (g_str_has_suffix(text, ".json") && !g_str_has_prefix(text, IFM_ZOO_PREFIX))
        return read_records(text, options, error);
    return open_model(text, options, error);
}
