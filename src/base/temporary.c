#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include <internal/file.h>
#include <internal/temporary.h>

static int lock_file(const char *folder, const char *name, int flags)
{
    g_autofree char *file = g_build_filename(folder, name, NULL);
    int fd = open(file, flags | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

#define LOCK "lock"
#define NEW_LOCK "lock.new"

/* Other processes remove a folder whose lock is free: so the lock is taken before the folder gets its name. */
static int lock_new_folder(const char *folder)
{
    g_autofree char *hidden = g_build_filename(folder, NEW_LOCK, NULL);
    g_autofree char *visible = g_build_filename(folder, LOCK, NULL);
    int fd = lock_file(folder, NEW_LOCK, O_CREAT | O_EXCL);
    if (fd < 0 || g_rename(hidden, visible) == 0)
        return fd;
    close(fd);
    return -1;
}

#define FOLDER_PREFIX "inferometer-"
#define FOLDER_PATTERN FOLDER_PREFIX "XXXXXX"

/* --- what a signal handler finds ------------------------------------------------------------------------------------ */

/* A signal handler gets no argument, so what this process has is known globally. Where more are made than there is room
 * for, those are left to the next process. */
static char *_Atomic living[16];

static void note_living(char *path)
{
    for (gsize i = 0; i < G_N_ELEMENTS(living); i++)
    {
        char *none = NULL;
        if (atomic_compare_exchange_strong(&living[i], &none, path))
            return;
    }
}

static void forget_living(char *path)
{
    for (gsize i = 0; i < G_N_ELEMENTS(living); i++)
    {
        char *same = path;
        if (atomic_compare_exchange_strong(&living[i], &same, NULL))
            return;
    }
}

void ifm_temporary_abandon(void)
{
    const char *arguments[G_N_ELEMENTS(living) + 4] = { "rm", "-rf", "--" };
    gsize n = 3;
    for (gsize i = 0; i < G_N_ELEMENTS(living); i++)
        if ((arguments[n] = atomic_load(&living[i])) != NULL)
            n++;
    if (n > 3 && fork() == 0)
    {
        execv("/bin/rm", (char **)arguments);
        _exit(1);
    }
}

/* --- folders --------------------------------------------------------------------------------------------------------- */

/* A process that was killed left its folder; the lock of that folder is free. */
static void remove_orphans(void)
{
    GDir *folder = g_dir_open(g_get_tmp_dir(), 0, NULL);
    const char *name;
    while (folder != NULL && (name = g_dir_read_name(folder)) != NULL)
    {
        g_autofree char *path = g_build_filename(g_get_tmp_dir(), name, NULL);
        GStatBuf status;
        if (!g_str_has_prefix(name, FOLDER_PREFIX) || strlen(name) != strlen(FOLDER_PATTERN) ||
            g_lstat(path, &status) != 0 || !S_ISDIR(status.st_mode) || status.st_uid != geteuid())
            continue;
        int fd = lock_file(path, LOCK, 0);
        if (fd < 0)
            continue;
        ifm_file_remove_folder(path);
        close(fd);
    }
    g_clear_pointer(&folder, g_dir_close);
}

gboolean ifm_temporary_make(IfmTemporary *folder, GError **error)
{
    if (folder->path != NULL)
        return TRUE;
    remove_orphans();
    char *path = g_build_filename(g_get_tmp_dir(), FOLDER_PATTERN, NULL);
    if (g_mkdtemp_full(path, 0700) == NULL)
    {
        g_set_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE, "%s: %s", path, g_strerror(errno));
        g_free(path);
        return FALSE;
    }
    folder->lock_fd = lock_new_folder(path);
    if (folder->lock_fd < 0)
    {
        g_set_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE, "%s: a lock in it: %s", path, g_strerror(errno));
        ifm_file_remove_folder(path);
        g_free(path);
        return FALSE;
    }
    folder->path = path;
    note_living(path);
    return TRUE;
}

void ifm_temporary_clear(IfmTemporary *folder)
{
    if (folder->path == NULL)
        return;
    ifm_file_remove_folder(folder->path);
    forget_living(folder->path);
    close(folder->lock_fd);
    g_clear_pointer(&folder->path, g_free);
}
