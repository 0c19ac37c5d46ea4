/* Records by what a user calls a model: a file of records, an ONNX file, a model of the zoo, or a folder of files. */
#include <stdio.h>
#include <string.h>

#include <base/base.h>

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

/* What is kept may be of a model of the same bytes that had another name. */
static IfmKernelRecords *name_source(IfmKernelRecords *records, const char *model, char *source /* (transfer full) */)
{
    ifm_record_set_text(&records->model, model);
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

/* As its file would be called. */
static IfmKernelRecords *name_by_identity(IfmKernelRecords *records, const char *identity, guint32 seed)
{
    char *source = g_strndup(identity, (gsize)(strrchr(identity, ' ') - identity));
    const char *words = source + strlen(IFM_ZOO_PREFIX);
    g_autofree char *name = seed == 1 ? g_strdup(words) : g_strdup_printf("%s,seed=%u", words, seed);
    return name_source(records, name, source);
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
    return name_source(g_steal_pointer(&records), ifm_model_name(self->source.model),
                       is_file ? g_steal_pointer(&path) : g_strdup(self->source.source));
}

/* Of a kernel that was extracted: it is the outcome of an optimisation, and has no other. NULL: it is none, such as one
 * that was edited since: what its metadata say is not what it is */
static IfmKernelRecords *records_of_kernel(const Asked *self, const char *text)
{
    IfmModel *model = self->source.model;
    const IfmModelFeed *feed = &self->source.feed;
    const char *said = ifm_model_metadata(model, IFM_KERNEL_DIGEST_METADATA);
    const gsize n_nodes = ifm_model_n_nodes(model);
    g_autofree char *copies = g_strdup_printf("%zu", n_nodes);
    if (said == NULL || n_nodes == 0 || g_strcmp0(ifm_model_metadata(model, IFM_KERNEL_COPIES_METADATA), copies) != 0)
        return NULL;
    g_autoptr(IfmAnalysis) analysis = ifm_model_analyse(model, ifm_model_feed_bindings(feed), feed->bindings->len, NULL);
    const char *digest = analysis != NULL ? ifm_model_digest(model, NULL) : NULL;
    if (digest == NULL)
        return NULL;
    g_autoptr(IfmKernelRecords) records = kernel_records_of_kernel(model, analysis);
    const IfmKernelRecord *record = records->kernels->pdata[0];
    if (!g_str_equal(record->digest, said) || !ifm_kernel_record_check(record, text, NULL))
        return NULL;
    ifm_record_set_text(&records->model_digest, digest);
    ifm_record_set_text(&records->device, self->model_case.device);
    return name_source(g_steal_pointer(&records), ifm_model_name(model), g_canonicalize_filename(text, NULL));
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
        return name_by_identity(records, self.identity, options->seed);
    if (!ifm_model_source_open(&request, &self.source, error))
    {
        if (error != NULL)
            ifm_error_blame_sizes(*error);
        return NULL;
    }
    records = records_of_kernel(&self, text);
    if (records == NULL)
    {
        take_source(&self);
        return records_of(&self, text, ifm_model_source_entry(text) == NULL, error);
    }
    if (options->graph != NULL && !ifm_model_save(self.source.model, options->graph, error))
        g_clear_pointer(&records, ifm_kernel_records_free);
    return records;
}

/* Records have the sizes that their model had. */
static gboolean check_sizes(const char *path, const IfmModelOptions *open, GError **error)
{
    const char *asked = open->batch > 0                                 ? "batch"
                        : open->dims != NULL && *open->dims != NULL     ? "dim"
                        : open->inputs != NULL && *open->inputs != NULL ? "input"
                                                                        : NULL;
    return asked == NULL ||
           ifm_error_refuse(error, "--%s: %s: records have the sizes of their export: export them with --%s", asked, path,
                            asked);
}

/* Records of a file, whose model is still what it was; where it is not there, they stand alone. */
static IfmKernelRecords *read_records(const char *path, const IfmKernelOptions *options, GError **error)
{
    if (options->graph != NULL)
    {
        ifm_error_refuse(error, "--graph: %s: records have no graph: export their model again", path);
        return NULL;
    }
    if (!check_sizes(path, &options->open, error))
        return NULL;
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

static gboolean is_folder(const char *word)
{
    return g_file_test(word, G_FILE_TEST_IS_DIR) && ifm_model_source_entry(word) == NULL;
}

gboolean ifm_kernel_records_stand_alone(const char *word)
{
    return g_str_has_suffix(word, ".json") && !g_str_has_prefix(word, IFM_ZOO_PREFIX);
}

IfmKernelRecords *ifm_kernel_records_open(const char *text, const IfmKernelOptions *options, GError **error)
{
    const IfmKernelOptions defaults = { .seed = 1 };
    options = options != NULL ? options : &defaults;
    if (is_folder(text))
    {
        ifm_error_refuse(error, "%s: is a folder; a model, records, or a folder that holds some are expected", text);
        return NULL;
    }
    if (ifm_kernel_records_stand_alone(text))
        return read_records(text, options, error);
    return open_model(text, options, error);
}

/* --- several models -----------------------------------------------------------------------------------------------------
 */

/* So far into a file its version is looked for, by which records are told from other JSON. */
#define HEAD_BYTES 4096

static gboolean holds_records(const char *path)
{
    char head[HEAD_BYTES];
    FILE *file = fopen(path, "re");
    const gsize n = file != NULL ? fread(head, 1, sizeof head, file) : 0;
    if (file != NULL)
        fclose(file);
    return g_strstr_len(head, (gssize)n, "\"kernel_records\"") != NULL;
}

/* What cannot be listed stays the folder that it is. */
static void add_files(const char *folder, gboolean records, GPtrArray *words)
{
    GDir *dir = g_dir_open(folder, 0, NULL);
    g_autoptr(GPtrArray) files = g_ptr_array_new();
    for (const char *name; dir != NULL && (name = g_dir_read_name(dir)) != NULL;)
    {
        char *path = g_build_filename(folder, name, NULL);
        if (g_file_test(path, G_FILE_TEST_IS_REGULAR) &&
            (g_str_has_suffix(name, ".onnx") || (records && g_str_has_suffix(name, ".json") && holds_records(path))))
            g_ptr_array_add(files, path);
        else
            g_free(path);
    }
    g_clear_pointer(&dir, g_dir_close);
    g_ptr_array_sort(files, ifm_compare_texts);
    if (files->len == 0)
        g_ptr_array_add(files, g_strdup(folder));
    g_ptr_array_extend_and_steal(words, g_steal_pointer(&files));
}

GStrv ifm_kernel_records_words(const char *const *words, gboolean records)
{
    GPtrArray *all = g_ptr_array_new();
    for (; *words != NULL; words++)
        if (is_folder(*words))
            add_files(*words, records, all);
        else
            g_ptr_array_add(all, g_strdup(*words));
    g_ptr_array_add(all, NULL);
    return (GStrv)g_ptr_array_free(all, FALSE);
}

IfmKernelRecords *ifm_kernel_records_failed(const char *word, const GError *why)
{
    IfmKernelRecords *records = kernel_records_alloc();
    ifm_record_set_text(&records->model, word);
    ifm_record_set_text(&records->source, word);
    records->reason = g_strdup(why->message);
    records->code = why->code;
    return records;
}

static void report(const IfmKernelOptions *options, const IfmProgress *now)
{
    if (options->progress != NULL)
        options->progress(now, options->user);
}

GPtrArray *ifm_kernel_records_open_each(const char *const *words, const IfmKernelOptions *options, GError **error)
{
    g_autoptr(GPtrArray) all = g_ptr_array_new_with_free_func((GDestroyNotify)ifm_kernel_records_free);
    g_auto(IfmModelFeed) sizes = { 0 };
    if (!ifm_model_feed_init(&sizes, options->open.dims, error)) /* once, not for each */
        return NULL;
    report(options, &(IfmProgress){ .n_cases = g_strv_length((GStrv)words) });
    for (const char *const *text = words; *text != NULL; text++)
    {
        g_autoptr(GError) trouble = NULL;
        report(options, &(IfmProgress){ .title = *text });
        IfmKernelRecords *records = ifm_kernel_records_open(*text, options, &trouble);
        report(options,
               &(IfmProgress){ .outcome = records != NULL ? "ok" : ifm_error_code_name((IfmErrorCode)trouble->code) });
        if (g_error_matches(trouble, IFM_ERROR, IFM_ERROR_CANCELLED))
        {
            g_propagate_error(error, g_steal_pointer(&trouble));
            return NULL;
        }
        g_ptr_array_add(all, records != NULL ? records : ifm_kernel_records_failed(*text, trouble));
    }
    return g_steal_pointer(&all);
}
