#pragma once
#include <inferometer/error.h>

G_BEGIN_DECLS

/**
 * ifm_file_load: Reads a file whole, and puts a NUL behind it.
 * @bytes: (out) (transfer full)    @n_bytes: (out) without the NUL
 * Returns: FALSE with IFM_ERROR_UNAVAILABLE (no such file, a folder, no permission) or IFM_ERROR_INVALID (above 1 GiB).
 */
gboolean ifm_file_load(const char *path, char **bytes, gsize *n_bytes, GError **error);

/**
 * ifm_file_save: Writes a file whole or not at all: a temporary file beside it, fsync, rename, fsync of the folder. While
 * it is written the temporary file has no name where the file system can do that, so that a killed process leaves none
 * behind; elsewhere it is NAME.XXXXXXXX.tmp. What is there already and is no regular file (a pipe, /dev/null) is written to
 * instead of replaced; a symbolic link is followed. A file that is replaced keeps its permissions.
 * @bytes: [n_bytes]
 * Returns: FALSE with IFM_ERROR_UNAVAILABLE (disk full, read-only, no such folder); @path is then as before.
 */
gboolean ifm_file_save(const char *path, const void *bytes, gsize n_bytes, GError **error);
/** ifm_file_save_temporary: As above, but without any fsync: for a file that nobody wants after the machine went down. */
gboolean ifm_file_save_temporary(const char *path, const void *bytes, gsize n_bytes, GError **error);

/**
 * IfmFileWriter: ifm_file_save() for what is too large to be made whole first: opened, written piece by piece, committed.
 * Freed without a commit, @path is as before. Errors are those of ifm_file_save().
 */
typedef struct IfmFileWriter IfmFileWriter;
/** ifm_file_writer_open: @durable: with the fsyncs. */
IfmFileWriter *ifm_file_writer_open(const char *path, gboolean durable, GError **error);
gboolean ifm_file_writer_write(IfmFileWriter *writer, const void *bytes, gsize n_bytes, GError **error);
gboolean ifm_file_writer_commit(IfmFileWriter *writer, GError **error);
void ifm_file_writer_free(IfmFileWriter *writer);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmFileWriter, ifm_file_writer_free)

G_END_DECLS
