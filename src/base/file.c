#include <base/base.h>
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* These functions read files whole and write them so that a file appears under its name only once it is complete. */

static gboolean fail(const char *path, const char *what, int number, GError **error)
{
    return ifm_error_set(error, IFM_ERROR_UNAVAILABLE, "%s: %s: %s", path, what, g_strerror(number));
}

/* A pipe or device has no size to ask for. So every file is read to its end, up to this size. */
#define MAX_BYTES ((guint)1 << 30)

gboolean ifm_file_load(const char *path, char **bytes, gsize *n_bytes, GError **error)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return fail(path, "cannot be read", errno, error);
    g_autoptr(GByteArray) content = g_byte_array_new();
    static const guint chunk_bytes = 1 << 16;
    gssize n = 1;
    int number = 0;
    while (n != 0 && number == 0 && content->len <= MAX_BYTES)
    {
        guint before = content->len;
        g_byte_array_set_size(content, before + chunk_bytes);
        n = read(fd, content->data + before, chunk_bytes);
        g_byte_array_set_size(content, before + (guint)MAX(n, 0));
        number = n < 0 && errno != EINTR ? errno : 0;
    }
    close(fd);
    if (number != 0)
        return fail(path, "cannot be read", number, error);
    if (content->len > MAX_BYTES)
        return ifm_error_refuse(error, "%s: is larger than 1 GiB", path);
    *n_bytes = content->len;
    g_byte_array_append(content, (const guint8 *)"", 1);
    *bytes = (char *)g_byte_array_free(g_steal_pointer(&content), FALSE);
    return TRUE;
}

/* --- writing ---------------------------------------------------------------------------------------------------------- */

gboolean ifm_file_check_link(const char *path, GError **error)
{
    struct stat itself, target;
    if (lstat(path, &itself) != 0 || !S_ISLNK(itself.st_mode) ||
        (stat(path, &target) == 0 && !S_ISREG(target.st_mode))) /* to a device or a pipe */
        return TRUE;
    return ifm_error_set(error, IFM_ERROR_UNAVAILABLE, "%s: is a symbolic link: no file is written through one", path);
}

struct IfmFileWriter
{
    char *path;      /* as the caller named it */
    char *target;    /* the file to replace, which is @path; NULL: written in place */
    char *temporary; /* the name in the same folder; NULL while the file has no name */
    gboolean nameless;
    int fd;
    gboolean durable;
};

/* Makes a file with a free name in the folder of @path. @make: returns 0 or more on success, else -1 with errno. */
static int take_name(const char *path, char **temporary, int (*make)(const char *name, int fd), int fd)
{
    for (int attempt = 0; attempt < 100; attempt++)
    {
        guint32 chance = 0;
        if (getrandom(&chance, sizeof chance, 0) != sizeof chance)
            return -1;
        g_free(*temporary);
        *temporary = g_strdup_printf("%s.%08x.tmp", path, chance);
        int made = make(*temporary, fd);
        if (made >= 0 || errno != EEXIST)
            return made;
    }
    return -1;
}

/* open() instead of mkstemp(): the umask gives the permissions, as for other files. */
static int create(const char *name, int fd)
{
    return open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

#define OWN_FILES "/proc/self/fd"

static int name_file(const char *name, int fd)
{
    char own[64];
    g_snprintf(own, sizeof own, OWN_FILES "/%d", fd);
    return linkat(AT_FDCWD, own, AT_FDCWD, name, AT_SYMLINK_FOLLOW);
}

/* A file without a name disappears when the process ends. Not every file system supports it. */
static int open_nameless(const char *path)
{
    g_autofree char *folder = g_path_get_dirname(path);
    return access(OWN_FILES, X_OK) == 0 ? open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666) : -1;
}

/* Returns: 0 or errno. */
static int open_target(IfmFileWriter *self)
{
    struct stat before;
    gboolean exists = stat(self->path, &before) == 0;
    if (exists && !S_ISREG(before.st_mode))
    {
        self->fd = open(self->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
        return self->fd >= 0 ? 0 : errno;
    }
    if (exists && access(self->path, W_OK) != 0) /* a rename would ignore the permissions of the file */
        return errno;
    self->target = g_strdup(self->path);
    self->fd = open_nameless(self->target);
    self->nameless = self->fd >= 0;
    if (!self->nameless)
        self->fd = take_name(self->target, &self->temporary, create, -1);
    if (self->fd < 0)
    {
        int number = errno;
        g_clear_pointer(&self->temporary, g_free); /* there is no file for ifm_file_writer_free() to unlink */
        return number;
    }
    return exists && fchmod(self->fd, before.st_mode & 07777) != 0 ? errno : 0;
}

IfmFileWriter *ifm_file_writer_open(const char *path, gboolean durable, GError **error)
{
    g_autoptr(IfmFileWriter) self = g_new0(IfmFileWriter, 1);
    self->path = g_strdup(path);
    self->durable = durable;
    self->fd = -1;
    if (!ifm_file_check_link(path, error))
        return NULL;
    int number = open_target(self);
    if (number != 0)
    {
        fail(path, "cannot be written", number, error);
        return NULL;
    }
    return g_steal_pointer(&self);
}

gboolean ifm_file_writer_write(IfmFileWriter *self, const void *bytes, gsize n_bytes, GError **error)
{
    const char *rest = bytes;
    while (n_bytes > 0)
    {
        gssize n = write(self->fd, rest, MIN(n_bytes, (gsize)1 << 30));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail(self->path, "cannot be written", errno, error);
        rest += n;
        n_bytes -= (gsize)n;
    }
    return TRUE;
}

/* The rename is on disk only after fsync of the folder. A folder that cannot be read cannot be synchronised. */
static void sync_folder_of(const char *path)
{
    g_autofree char *folder = g_path_get_dirname(path);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    fsync(fd);
    close(fd);
}

gboolean ifm_file_writer_commit(IfmFileWriter *self, GError **error)
{
    int number = 0;
    /* Pipes and some devices cannot be synchronised and need not be. */
    if (self->durable && fsync(self->fd) != 0 && errno != EINVAL && errno != EROFS && errno != ENOTSUP)
        number = errno;
    if (self->nameless && number == 0 && take_name(self->target, &self->temporary, name_file, self->fd) != 0)
    {
        number = errno;
        g_clear_pointer(&self->temporary, g_free); /* a file of that name may belong to another process */
    }
    if (close(self->fd) != 0 && number == 0)
        number = errno;
    self->fd = -1;
    if (number == 0 && self->temporary != NULL && rename(self->temporary, self->target) != 0)
        number = errno;
    if (number != 0)
        return fail(self->path, "cannot be written", number, error);
    g_clear_pointer(&self->temporary, g_free);
    if (self->durable && self->target != NULL)
        sync_folder_of(self->target);
    return TRUE;
}

void ifm_file_writer_free(IfmFileWriter *self)
{
    if (self == NULL)
        return;
    if (self->fd >= 0)
        close(self->fd);
    if (self->temporary != NULL)
        unlink(self->temporary);
    g_free(self->temporary);
    g_free(self->target);
    g_free(self->path);
    g_free(self);
}

gboolean ifm_file_save(const char *path, const void *bytes, gsize n_bytes, GError **error)
{
    g_autoptr(IfmFileWriter) writer = ifm_file_writer_open(path, TRUE, error);
    return writer != NULL && ifm_file_writer_write(writer, bytes, n_bytes, error) && ifm_file_writer_commit(writer, error);
}

gboolean ifm_file_make_folder(const char *path, GError **error)
{
    return g_mkdir_with_parents(path, 0777) == 0 || fail(path, "cannot be made", errno, error);
}

void ifm_file_remove_folder(const char *path)
{
    GDir *folder = g_dir_open(path, 0, NULL);
    const char *name;
    while (folder != NULL && (name = g_dir_read_name(folder)) != NULL)
    {
        g_autofree char *inside = g_build_filename(path, name, NULL);
        if (g_file_test(inside, G_FILE_TEST_IS_DIR) && !g_file_test(inside, G_FILE_TEST_IS_SYMLINK))
            ifm_file_remove_folder(inside);
        else
            g_unlink(inside);
    }
    g_clear_pointer(&folder, g_dir_close);
    g_rmdir(path);
}
