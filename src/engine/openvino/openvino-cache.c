#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <base/base.h>
#include <glib/gstdio.h>

#include "openvino-private.h"

/*
 * OpenVINO keeps compiled models in a folder (CACHE_DIR). Observed with 2026.1: it does not distinguish precision or
 * profiling (a bf16 compile is served from an f32 one's file), and it does not notice a changed byte of a weight. So
 * each compile has a folder of its own, named by a hash of all that defines it. A digest of its file lies next to it. A
 * file that does not match its digest is removed, and the model is compiled again.
 *
 * A cache may save time, but must never cost a result: if the folder cannot be written, is in use by another compile,
 * or leads to an error, the model is compiled without it.
 */
#define LOCK "lock"
#define DIGEST "digest"

static char *digest_of_file(const char *path)
{
    g_autoptr(GMappedFile) file = g_mapped_file_new(path, FALSE, NULL);
    if (file == NULL)
        return NULL;
    return g_compute_checksum_for_data(G_CHECKSUM_SHA256, (const guchar *)g_mapped_file_get_contents(file),
                                       g_mapped_file_get_length(file));
}

/* The names of the files that OpenVINO wrote there, sorted. */
static GPtrArray *list_files(const char *folder)
{
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    const char *name;
    while (dir != NULL && (name = g_dir_read_name(dir)) != NULL)
        if (!g_str_equal(name, LOCK) && !g_str_equal(name, DIGEST))
            g_ptr_array_add(names, g_strdup(name));
    g_ptr_array_sort(names, ifm_compare_texts);
    return names;
}

/* One line "NAME SHA-256" for each file. (transfer full) NULL if there is no file, or one that cannot be read. */
static char *digest_of_folder(const char *folder)
{
    g_autoptr(GPtrArray) names = list_files(folder);
    g_autoptr(GString) lines = g_string_new(NULL);
    for (guint i = 0; i < names->len; i++)
    {
        g_autofree char *path = g_build_filename(folder, names->pdata[i], NULL);
        g_autofree char *digest = digest_of_file(path);
        if (digest == NULL)
            return NULL;
        g_string_append_printf(lines, "%s %s\n", (const char *)names->pdata[i], digest);
    }
    return names->len > 0 ? g_strdup(lines->str) : NULL;
}

static gboolean is_sound(const char *folder)
{
    g_autofree char *path = g_build_filename(folder, DIGEST, NULL);
    g_autofree char *kept = NULL, *found = digest_of_folder(folder);
    return found != NULL && g_file_get_contents(path, &kept, NULL, NULL) && g_str_equal(kept, found);
}

static void empty(const char *folder)
{
    g_autofree char *digest = g_build_filename(folder, DIGEST, NULL);
    g_autoptr(GPtrArray) names = list_files(folder);
    g_unlink(digest);
    for (guint i = 0; i < names->len; i++)
    {
        g_autofree char *path = g_build_filename(folder, names->pdata[i], NULL);
        g_unlink(path);
    }
}

static void add(GChecksum *checksum, const char *part)
{
    g_checksum_update(checksum, (const guchar *)(part != NULL ? part : ""), -1);
    g_checksum_update(checksum, (const guchar *)"", 1);
}

char *ifm_ov_cache_name(const IfmCompiled *compiled, const char *device, const char *hardware,
                        const char *const *properties, gsize n)
{
    const char *model = ifm_model_digest(compiled->model, NULL);
    if (model == NULL)
        return NULL;
    g_autoptr(GChecksum) checksum = g_checksum_new(G_CHECKSUM_SHA256);
    add(checksum, compiled->engine->version);
    add(checksum, device);
    add(checksum, hardware);
    add(checksum, model);
    for (gsize i = 0; i < n; i++)
        add(checksum, properties[i]);
    for (gsize i = 0; i < compiled->options.n_bindings; i++)
    {
        g_autofree char *value = g_strdup_printf("%" G_GINT64_FORMAT, compiled->options.bindings[i].value);
        add(checksum, compiled->options.bindings[i].name);
        add(checksum, value);
    }
    return g_strdup_printf("openvino-%.32s", g_checksum_get_string(checksum));
}

/* Another compile of the same model, here or in another process, may hold the lock: then this one does not wait. */
static int lock(const char *folder)
{
    g_autofree char *path = g_build_filename(folder, LOCK, NULL);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0)
        return fd;
    close(fd);
    return -1;
}

gboolean ifm_ov_cache_enter(OvCache *cache, const char *parent, const char *name)
{
    *cache = (OvCache){ .lock_fd = -1 };
    g_autofree char *folder = g_build_filename(parent, name, NULL);
    if (g_mkdir_with_parents(folder, 0777) != 0 || (cache->lock_fd = lock(folder)) < 0)
    {
        g_debug("%s: no cache: %s", folder, g_strerror(errno));
        return FALSE;
    }
    if (!is_sound(folder))
        empty(folder);
    cache->folder = g_steal_pointer(&folder);
    return TRUE;
}

void ifm_ov_cache_leave(OvCache *cache, OvCacheEnd end)
{
    if (cache->folder == NULL)
        return;
    if (end == OV_CACHE_FAILED)
        empty(cache->folder);
    else if (end == OV_CACHE_WRITTEN)
    {
        g_autofree char *path = g_build_filename(cache->folder, DIGEST, NULL);
        g_autofree char *digest = digest_of_folder(cache->folder);
        g_autoptr(GError) error = NULL;
        if (digest != NULL && !ifm_file_save(path, digest, strlen(digest), &error))
            g_debug("%s", error->message);
    }
    close(cache->lock_fd);
    g_clear_pointer(&cache->folder, g_free);
}
