#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include <base/base.h>

/* A process keeps its temporary files in a folder with a lock; whoever makes one removes those of processes that were
 * killed. */

#define FOLDER_PREFIX "inferometer-tmp-"
#define FOLDER_PATTERN FOLDER_PREFIX "XXXXXX"
#define LOCK "lock"

/*
 * A folder is one that a living process has if its lock is held. Who gets the lock of another's folder removes it, whatever
 * is in it: also one that lost its process before it had a lock, or while it was removed. So a folder is its maker's own
 * only once the maker has the lock and the lock still has its name: it may have been removed before.
 */
static int take_lock(const char *folder)
{
    struct stat held, named;
    g_autofree char *file = g_build_filename(folder, LOCK, NULL);
    int fd = open(file, O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &held) == 0 && lstat(file, &named) == 0 &&
        held.st_ino == named.st_ino && held.st_dev == named.st_dev)
        return fd;
    const int why = errno;
    if (fd >= 0)
        close(fd);
    errno = why;
    return -1;
}

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

/* What processes left that were killed. */
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
        int fd = take_lock(path);
        if (fd < 0)
            continue;
        ifm_file_remove_folder(path);
        close(fd);
    }
    g_clear_pointer(&folder, g_dir_close);
}

/* A folder of its own, locked. Returns: FALSE with errno; where another process removed it before it had its lock, too */
static gboolean make_once(IfmTemporary *folder, char *path)
{
    if (g_mkdtemp_full(path, 0700) == NULL)
        return FALSE;
    folder->lock_fd = take_lock(path);
    if (folder->lock_fd >= 0)
        return TRUE;
    const int why = errno;
    ifm_file_remove_folder(path);
    errno = why;
    return FALSE;
}

#define N_TRIES 20

gboolean ifm_temporary_make(IfmTemporary *folder, GError **error)
{
    if (folder->path != NULL)
        return TRUE;
    remove_orphans();
    int why = 0;
    for (guint tries = 0; tries < N_TRIES; tries++)
    {
        g_autofree char *path = g_build_filename(g_get_tmp_dir(), FOLDER_PATTERN, NULL);
        if (make_once(folder, path))
        {
            note_living(path);
            folder->path = g_steal_pointer(&path);
            return TRUE;
        }
        why = errno;
    }
    return ifm_error_set(error, IFM_ERROR_UNAVAILABLE, "%s: a temporary folder: %s", g_get_tmp_dir(), g_strerror(why));
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
