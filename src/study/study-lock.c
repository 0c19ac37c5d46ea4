#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "study-private.h"

/* A lock on the folder of a study lets one run at a time measure it. */

/*
 * Two runs side by side would measure the same cases, each in the other's way. So a run holds FOLDER/lock, a file with its
 * process id, locked: the kernel lets go of it however the process ends, so that no killed run leaves one behind. The lock
 * is of the open file, not of the process: a library's user who begins twice in one process is refused, too.
 */

#define LOCK_FILE "lock"

struct IfmStudyLock
{
    char *path;
    int fd; /* -1: the file system has no locks */
};

static char *lock_path(const char *folder)
{
    return g_build_filename(folder, LOCK_FILE, NULL);
}

/* What stands in a lock file; 0 where nothing does. */
static gint64 read_holder(int fd)
{
    char text[32] = "";
    gssize n = pread(fd, text, sizeof text - 1, 0);
    text[MAX(n, 0)] = '\0';
    return strtoll(text, NULL, 10);
}

/* Whether the file that is open is still the one of that name: who ends takes its own away. */
static gboolean is_current(int fd, const char *path)
{
    struct stat open_one, named;
    return fstat(fd, &open_one) == 0 && stat(path, &named) == 0 && open_one.st_dev == named.st_dev &&
           open_one.st_ino == named.st_ino;
}

#define NAME_PATIENCE_US 500000

/* Who holds the lock has just taken it, perhaps, and not named itself yet: what stands there is nothing, or of a run that
 * was killed. */
static gint64 wait_for_holder(int fd)
{
    const gint64 until_us = g_get_monotonic_time() + NAME_PATIENCE_US;
    gint64 holder = read_holder(fd);
    while ((holder <= 0 || (kill((pid_t)holder, 0) != 0 && errno == ESRCH)) && g_get_monotonic_time() < until_us)
    {
        g_usleep(1000);
        holder = read_holder(fd);
    }
    return holder;
}

static gboolean report_holder(int fd, const char *folder, GError **error)
{
    gint64 holder = wait_for_holder(fd);
    g_autofree char *who = holder > 0 ? g_strdup_printf("process %" G_GINT64_FORMAT, holder) : g_strdup("another process");
    ifm_error_set(error, IFM_ERROR_UNAVAILABLE,
                  "%s: is in use by %s, which measures there; wait for it, or end it: what it measured is kept", folder,
                  who);
    return FALSE;
}

/* Returns: FALSE with an error. *@again: the file was taken away meanwhile. */
static gboolean try_lock(IfmStudyLock *lock, const char *folder, gboolean *again, GError **error)
{
    *again = FALSE;
    lock->fd = open(lock->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (lock->fd < 0)
        return ifm_error_set(error, IFM_ERROR_UNAVAILABLE, "%s: cannot be written: %s", lock->path, g_strerror(errno));
    struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    if (fcntl(lock->fd, F_OFD_SETLK, &whole) == 0)
    {
        *again = !is_current(lock->fd, lock->path);
        return TRUE;
    }
    if (errno == EAGAIN || errno == EACCES)
        return report_holder(lock->fd, folder, error);
    close(lock->fd); /* no locks there: nothing to hold, and no reason not to measure */
    lock->fd = -1;
    return TRUE;
}

static void write_holder(int fd)
{
    char text[32];
    int n = g_snprintf(text, sizeof text, "%d\n", (int)getpid());
    if (ftruncate(fd, 0) != 0 || pwrite(fd, text, (gsize)n, 0) != n)
        g_debug("the lock does not name its holder: %s", g_strerror(errno)); /* it holds all the same */
}

IfmStudyLock *ifm_study_lock_new(const char *folder, GError **error)
{
    g_autoptr(IfmStudyLock) lock = g_new0(IfmStudyLock, 1);
    gboolean again = TRUE;
    lock->path = lock_path(folder);
    lock->fd = -1;
    while (again)
    {
        if (lock->fd >= 0)
            close(lock->fd);
        if (try_lock(lock, folder, &again, error))
            continue;
        if (lock->fd >= 0)
            close(lock->fd);
        lock->fd = -1; /* another's: it stays */
        return NULL;
    }
    if (lock->fd >= 0)
        write_holder(lock->fd);
    return g_steal_pointer(&lock);
}

void ifm_study_lock_free(IfmStudyLock *lock)
{
    if (lock == NULL)
        return;
    if (lock->fd >= 0)
    {
        unlink(lock->path); /* while it is held: it is no other process's */
        close(lock->fd);
    }
    g_free(lock->path);
    g_free(lock);
}

gint64 ifm_study_holder(const char *folder)
{
    g_autofree char *path = lock_path(folder);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return 0;
    struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET }; /* asked about, not taken */
    gboolean held = fcntl(fd, F_OFD_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
    gint64 holder = held ? read_holder(fd) : 0;
    close(fd);
    return holder;
}
