/* Records that were found before, and digests of models that were read before: files in a folder. */
#include <dlfcn.h>
#include <string.h>
#include <sys/stat.h>

#include <base/base.h>
#include <base/fields.h>
#include <inferometer/engine.h>
#include <kernel/kernel.h>
#include <sensor/sensor.h>

#include "records-private.h"

/* --- files as they are now ----------------------------------------------------------------------------------------------
 */

#define NS G_GINT64_CONSTANT(1000000000)

static gint64 ns_of(const struct timespec *time)
{
    return (gint64)time->tv_sec * NS + time->tv_nsec;
}

/* What changes with a file's content; null where it is not there. @changed_ns: (out) (optional) when it last did */
static json_t *state_of(const char *path, gint64 *changed_ns)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return json_null();
    if (changed_ns != NULL)
        *changed_ns = MAX(*changed_ns, ns_of(&status.st_ctim));
    return json_pack("[I,I,I,I,I]", (json_int_t)status.st_dev, (json_int_t)status.st_ino, (json_int_t)status.st_size,
                     (json_int_t)ns_of(&status.st_mtim), (json_int_t)ns_of(&status.st_ctim));
}

const char *kept_program(void)
{
    Dl_info info;
    const gboolean found = dladdr((const void *)(gsize)ifm_kernel_records_open, &info) != 0 && info.dli_fname != NULL;
    return found && strchr(info.dli_fname, '/') != NULL ? info.dli_fname : "/proc/self/exe";
}

static char *file_in(const char *folder, const json_t *key, const char *suffix)
{
    g_autofree char *digest = ifm_json_digest(key), *name = g_strconcat(digest, suffix, NULL);
    return g_build_filename(folder, name, NULL);
}

/* Where nothing can be kept, only time is lost. */
static void save(const char *file, const json_t *json)
{
    g_autofree char *folder = g_path_get_dirname(file), *text = ifm_json_canonical(json);
    if (g_mkdir_with_parents(folder, 0755) == 0)
        ifm_file_save(file, text, strlen(text), NULL);
}

char *kept_folder(const char *named)
{
    const char *set = named != NULL ? named : g_getenv("IFM_KERNEL_CACHE");
    return set != NULL && *set != '\0' ? g_strdup(set)
                                       : g_build_filename(g_get_user_cache_dir(), "inferometer", "kernels", NULL);
}

/* --- digests ------------------------------------------------------------------------------------------------------------
 */

/* A file that changed within this time may change again without another time of change. */
#define STILL_NS (2 * NS)

static char *digest_file(const char *folder, const char *model)
{
    json_auto_t *key = json_pack("{s:o}", "model", ifm_json_string(model));
    return file_in(folder, key, ".digest");
}

char *kept_digest(const char *folder, const char *model)
{
    g_autofree char *file = digest_file(folder, model);
    json_auto_t *json = ifm_json_load(file, NULL);
    const char *digest = ifm_member_text(json, "digest"), *path;
    json_t *files = json_object_get(json, "files"), *before;
    if (json_object_size(files) == 0)
        return NULL;
    json_object_foreach(files, path, before)
    {
        json_auto_t *now = state_of(path, NULL);
        if (!json_equal(before, now))
            return NULL;
    }
    return g_strdup(digest);
}

void kept_add_digest(const char *folder, const char *model, const char *digest, const char *const *files)
{
    json_auto_t *states = json_object();
    gint64 changed_ns = 0;
    for (; *files != NULL; files++)
        json_object_set_new(states, *files, state_of(*files, &changed_ns));
    if (g_get_real_time() * 1000 - changed_ns < STILL_NS)
        return;
    g_autofree char *file = digest_file(folder, model);
    json_auto_t *json = json_pack("{s:s,s:O}", "digest", digest, "files", states);
    save(file, json);
}

/* --- records ------------------------------------------------------------------------------------------------------------
 */

/* Which version of a runtime it is, without opening it. */
static json_t *library_of(const char *device)
{
    g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse(device, NULL);
    if (spec == NULL || ifm_path_runtime_variable(spec->engine) == NULL) /* no library, or no such engine */
        return json_null();
    g_autofree char *path = ifm_path_runtime(spec->engine);
    return json_pack("[s,o]", path, state_of(path, NULL));
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

/* All that decides about an optimised graph and its records. (transfer full) */
static char *records_file(const char *folder, const char *digest, const IfmModelCase *model_case)
{
    json_auto_t *machine = ifm_sensor_machine(NULL), *dims = json_object();
    for (gsize i = 0; i < model_case->n_bindings; i++)
        json_object_set_new(dims, model_case->bindings[i].name, json_integer(model_case->bindings[i].value));
    g_autofree char *inputs = model_case->inputs_path != NULL ? g_path_get_basename(model_case->inputs_path) : NULL;
    json_auto_t *key = json_pack("{s:s,s:s?,s:s,s:i,s:O,s:s?,s:i,s:o,s:o}", "model", digest, "inputs", inputs, "device",
                                 model_case->device, "threads", model_case->threads, "dims", dims, "processor",
                                 ifm_member_text(machine, "cpu"), "vector_bits", vector_bits(), "library",
                                 library_of(model_case->device), "program", state_of(kept_program(), NULL));
    return file_in(folder, key, ".json");
}

IfmKernelRecords *kept_records(const char *folder, const char *digest, const IfmModelCase *model_case)
{
    g_autofree char *file = records_file(folder, digest, model_case);
    g_autoptr(IfmKernelRecords) records = ifm_kernel_records_read(file, NULL); /* what cannot be read is found again */
    return records != NULL && g_str_equal(records->model_digest, digest) ? g_steal_pointer(&records) : NULL;
}

void kept_add_records(const char *folder, const IfmKernelRecords *records, const IfmModelCase *model_case)
{
    g_autofree char *file = records_file(folder, records->model_digest, model_case);
    json_auto_t *json = ifm_kernel_records_to_json(records);
    save(file, json);
}
