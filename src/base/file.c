#include <errno.h>
#include <fcntl.h>
#include <inferometer/file.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static gboolean fail(const char *path, const char *what, int number, GError **error)
{
    g_set_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE, "%s: %s: %s", path, what, g_strerror(number));
    return FALSE;
}

/* What is no regular file has no length to ask for, so all are read until they end, within this. */
#define MOST_BYTES ((guint)1 << 30)

gboolean ifm_file_load(const char *path, char **bytes, gsize *n_bytes, GError **error)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return fail(path, "cannot be read", errno, error);
    g_autoptr(GByteArray) content = g_byte_array_new();
    static const guint chunk_bytes = 1 << 16;
    gssize n = 1;
    int number = 0;
    while (n != 0 && number == 0 && content->len <= MOST_BYTES)
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
    if (content->len > MOST_BYTES)
    {
        g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "%s: is larger than 1 GiB", path);
        return FALSE;
    }
    *n_bytes = content->len;
    g_byte_array_append(content, (const guint8 *)"", 1);
    *bytes = (char *)g_byte_array_free(g_steal_pointer(&content), FALSE);
    return TRUE;
}

/* Returns: 0, or the errno of the write or (@durable) the fsync. */
static int write_whole(int fd, const char *bytes, gsize n_bytes, gboolean durable)
{
    while (n_bytes > 0)
    {
        gssize n = write(fd, bytes, MIN(n_bytes, (gsize)1 << 30));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno;
        bytes += n;
        n_bytes -= (gsize)n;
    }
    /* pipes and some devices cannot be synchronised; they need not be */
    return !durable || fsync(fd) == 0 || errno == EINVAL || errno == EROFS || errno == ENOTSUP ? 0 : errno;
}

static gboolean save_in_place(const char *path, const void *bytes, gsize n_bytes, gboolean durable, GError **error)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return fail(path, "cannot be written", errno, error);
    int number = write_whole(fd, bytes, n_bytes, durable);
    if (close(fd) != 0 && number == 0)
        number = errno;
    return number == 0 || fail(path, "cannot be written", number, error);
}

/* The rename is on disk only once the folder is. A folder that cannot be opened for reading cannot be synchronised. */
static void sync_folder_of(const char *path)
{
    g_autofree char *folder = g_path_get_dirname(path);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    fsync(fd);
    close(fd);
}

/* open(), not mkstemp(): the file gets the permissions that the umask leaves it, like any other. */
static int open_beside(const char *path, char **temporary)
{
    for (int attempt = 0; attempt < 100; attempt++)
    {
        guint32 chance = 0;
        if (getrandom(&chance, sizeof chance, 0) != sizeof chance)
            return -1;
        g_free(*temporary);
        *temporary = g_strdup_printf("%s.%08x.tmp", path, chance);
        int fd = open(*temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

static gboolean save_by_rename(const char *path, const struct stat *before, const void *bytes, gsize n_bytes,
                               gboolean durable, GError **error)
{
    g_autofree char *temporary = NULL;
    int fd = open_beside(path, &temporary);
    if (fd < 0)
        return fail(path, "cannot be written", errno, error);
    int number = before != NULL && fchmod(fd, before->st_mode & 07777) != 0 ? errno : 0;
    if (number == 0)
        number = write_whole(fd, bytes, n_bytes, durable);
    if (close(fd) != 0 && number == 0)
        number = errno;
    if (number == 0 && rename(temporary, path) != 0)
        number = errno;
    if (number != 0)
    {
        unlink(temporary);
        return fail(path, "cannot be written", number, error);
    }
    if (durable)
        sync_folder_of(path);
    return TRUE;
}

static gboolean save(const char *path, const void *bytes, gsize n_bytes, gboolean durable, GError **error)
{
    struct stat before;
    if (stat(path, &before) != 0)
        return save_by_rename(path, NULL, bytes, n_bytes, durable, error);
    if (!S_ISREG(before.st_mode))
        return save_in_place(path, bytes, n_bytes, durable, error);
    if (access(path, W_OK) != 0) /* a rename would go past the file's own permissions */
        return fail(path, "cannot be written", errno, error);
    char *target = realpath(path, NULL);
    if (target == NULL)
        return fail(path, "cannot be resolved", errno, error);
    gboolean saved = save_by_rename(target, &before, bytes, n_bytes, durable, error);
    free(target);
    return saved;
}

gboolean ifm_file_save(const char *path, const void *bytes, gsize n_bytes, GError **error)
{
    return save(path, bytes, n_bytes, TRUE, error);
}

gboolean ifm_file_save_temporary(const char *path, const void *bytes, gsize n_bytes, GError **error)
{
    return save(path, bytes, n_bytes, FALSE, error);
}
