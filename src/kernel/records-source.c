/* Records by what a user calls a model: a file of records, an ONNX file or a model of the zoo. */
#include <glib/gstdio.h>
#include <string.h>

#include <inferometer/paths.h>
#include <inferometer/sensor.h>
#include <inferometer/zoo.h>
#include <internal/json.h>

#include "records-private.h"

#define USUAL_DEVICE "onnxruntime:CPU"
#define ZOO_PREFIX "zoo:"
#define KEPT_VERSION 1

/* --- records that are kept ----------------------------------------------------------------------------------------------
 */

/* Which version of a runtime it is, without opening it. */
static json_t *library_of(const char *engine)
{
    GStatBuf status;
    if (ifm_path_runtime_variable(engine) == NULL) /* no library, or no such engine */
        return json_null();
    g_autofree char *path = ifm_path_runtime(engine);
    if (g_stat(path, &status) != 0)
        return json_pack("[s]", path);
    return json_pack("[s,I,I]", path, (json_int_t)status.st_size, (json_int_t)status.st_mtime);
}

/* A virtual machine may hide some of what its processor has: blocks of channels are as wide as its vectors. */
static int vector_bits(void)
{
#if defined(__x86_64__) || defined(__i386__)
    return __builtin_cpu_supports("avx512f") ? 512 : __builtin_cpu_supports("avx2") ? 256 : 128;
#else
    return 0;
#endif
}

/* All that decides about an optimised graph gives the name of its file. (transfer full) */
static char *kept_file(const char *digest, const IfmModelCase *model_case, const IfmKernelOptions *options)
{
    g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse(model_case->device, NULL);
    json_auto_t *machine = ifm_sensor_machine(NULL), *dims = json_object();
    const char *set = options->cache != NULL ? options->cache : g_getenv("IFM_KERNEL_CACHE");
    for (gsize i = 0; i < options->n_bindings; i++)
        json_object_set_new(dims, options->bindings[i].name, json_integer(options->bindings[i].value));
    json_auto_t *key =
        json_pack("{s:i,s:i,s:s,s:s,s:s,s:i,s:O,s:s?,s:o}", "version", KEPT_VERSION, "vector_bits", vector_bits(),
                  "program", IFM_VERSION, "model", digest, "device", spec != NULL ? spec->text : model_case->device,
                  "threads", options->threads, "dims", dims, "processor", ifm_member_text(machine, "cpu"), "library",
                  spec != NULL ? library_of(spec->engine) : json_null());
    g_autofree char *name = ifm_json_digest(key), *file = g_strconcat(name, ".json", NULL);
    return set != NULL && *set != '\0' ? g_build_filename(set, file, NULL)
                                       : g_build_filename(g_get_user_cache_dir(), "inferometer", "kernels", file, NULL);
}

/* What cannot be read is found again. */
static IfmKernelRecords *take_kept(const char *file, const char *digest)
{
    g_autoptr(IfmKernelRecords) records = ifm_kernel_records_read(file, NULL);
    return records != NULL && g_str_equal(records->model_digest, digest) ? g_steal_pointer(&records) : NULL;
}

/* Where nothing can be kept, only time is lost. */
static void keep(const IfmKernelRecords *records, const char *file)
{
    g_autofree char *folder = g_path_get_dirname(file);
    if (g_mkdir_with_parents(folder, 0755) == 0)
        ifm_kernel_records_write(records, file, NULL);
}

/* --- records of a model --------------------------------------------------------------------------------------------------
 */

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
    g_autoptr(IfmModel) model = ifm_zoo_build(words[0] != NULL ? words[0] : "",
                                              words[0] != NULL ? (const char *const *)words + 1 : NULL, seed, error);
    return model != NULL && ifm_model_save(model, path, error) ? g_steal_pointer(&path) : NULL;
}

static IfmKernelRecords *find(const char *path, const char *source, const IfmKernelOptions *options, GError **error)
{
    const IfmRunnerOptions runner_options = { .limits = IFM_LIMITS_INIT, .interrupted = options->interrupted };
    const IfmModelCase model_case = { .model_path = path,
                                      .device = options->device != NULL ? options->device : USUAL_DEVICE,
                                      .threads = options->threads,
                                      .bindings = options->bindings,
                                      .n_bindings = options->n_bindings };
    g_autoptr(IfmModel) model = ifm_model_open(path, error);
    const char *digest = model != NULL ? ifm_model_digest(model, error) : NULL;
    if (digest == NULL)
        return NULL;
    g_autofree char *file = kept_file(digest, &model_case, options);
    IfmKernelRecords *records = options->anew || options->graph != NULL ? NULL : take_kept(file, digest);
    if (records == NULL)
    {
        g_autoptr(IfmRunner) runner = ifm_runner_new(&runner_options);
        records = ifm_kernel_records_find(runner, &model_case, options->graph, error);
        if (records != NULL)
            keep(records, file);
    }
    if (records != NULL)
    {
        g_free(records->source);
        records->source = g_strdup(source);
    }
    return records;
}

static IfmKernelRecords *find_in_zoo(const char *text, const IfmKernelOptions *options, GError **error)
{
    g_autoptr(GError) trouble = NULL;
    g_autofree char *folder = g_dir_make_tmp("inferometer-model-XXXXXX", &trouble);
    if (folder == NULL)
    {
        g_set_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE, "a folder for the model: %s", trouble->message);
        return NULL;
    }
    g_autofree char *path = build(text, options->seed, folder, error), *source = g_strconcat(ZOO_PREFIX, text, NULL);
    IfmKernelRecords *records = path != NULL ? find(path, source, options, error) : NULL;
    if (path == NULL)
        ifm_error_blame_sizes(*error);
    kernel_remove_folder(folder);
    return records;
}

/* Records of a file, whose model is still what it was; where it is not there, they stand alone. */
static IfmKernelRecords *read_records(const char *path, GError **error)
{
    g_autoptr(IfmKernelRecords) records = ifm_kernel_records_read(path, error);
    if (records == NULL || !g_file_test(records->source, G_FILE_TEST_IS_REGULAR))
        return g_steal_pointer(&records);
    g_autoptr(IfmModel) model = ifm_model_open(records->source, error);
    const char *digest = model != NULL ? ifm_model_digest(model, error) : NULL;
    if (digest != NULL && g_str_equal(digest, records->model_digest))
        return g_steal_pointer(&records);
    if (digest != NULL)
        ifm_error_refuse(error, "%s: %s has changed since: export its kernels again", path, records->source);
    return NULL;
}

IfmKernelRecords *ifm_kernel_records_open(const char *text, const IfmKernelOptions *options, GError **error)
{
    const IfmKernelOptions defaults = { .seed = 1 };
    options = options != NULL ? options : &defaults;
    if (g_str_has_prefix(text, ZOO_PREFIX))
        return find_in_zoo(text + strlen(ZOO_PREFIX), options, error);
    if (g_str_has_suffix(text, ".json"))
        return read_records(text, error);
    if (g_file_test(text, G_FILE_TEST_IS_REGULAR) || (strpbrk(text, "./") != NULL && !is_of_zoo(text)))
    {
        g_autofree char *whole = g_canonicalize_filename(text, NULL);
        return find(text, whole, options, error);
    }
    if (is_of_zoo(text))
        return find_in_zoo(text, options, error);
    g_autoptr(GError) unknown = NULL;
    g_autofree char *name = g_strndup(text, strcspn(text, ","));
    ifm_zoo_find(name, &unknown);
    g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "%s: no such file, nor in the zoo: %s", text,
                unknown != NULL ? unknown->message : name);
    return NULL;
}
