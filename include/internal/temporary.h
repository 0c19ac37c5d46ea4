/* room: base */
#pragma once
#include <inferometer/error.h>

G_BEGIN_DECLS

/*
 * The one owner of temporary folders. Each is below the system's folder for them, 0700, and holds a lock as long as its
 * process lives. It goes with ifm_temporary_clear(); where its process was killed, at any moment, the next one that makes a
 * folder removes it; where the user asks twice for the end, ifm_temporary_abandon() does.
 */

/** IfmTemporary: a folder of a process's own. All zero: none yet. */
typedef struct
{
    char *path;
    int lock_fd; /* held on a file in it, so that a later process knows an orphan by its being free */
} IfmTemporary;

/** ifm_temporary_make: Makes it where it is not there yet, and removes those that killed processes left.
 * Returns: FALSE with IFM_ERROR_UNAVAILABLE. */
gboolean ifm_temporary_make(IfmTemporary *folder, GError **error);
/** ifm_temporary_clear: Removes it with all that is in it. */
void ifm_temporary_clear(IfmTemporary *folder);
/** ifm_temporary_abandon: Has another process remove all that this one still has. For a signal handler that ends this
 * process. */
void ifm_temporary_abandon(void);

G_END_DECLS
