/* room: base */
#pragma once
#include <inferometer/error.h>

G_BEGIN_DECLS

/**
 * ifm_file_load: Reads a file into memory and adds a NUL after its bytes.
 * @bytes: (out) (transfer full)    @n_bytes: (out) the size without the NUL
 * Returns: FALSE with IFM_ERROR_UNAVAILABLE (no such file, a folder, no permission) or IFM_ERROR_INVALID (above 1 GiB).
 */
gboolean ifm_file_load(const char *path, char **bytes, gsize *n_bytes, GError **error);

/** ifm_file_check_link: Whether a file may be written at @path. Returns: FALSE with IFM_ERROR_UNAVAILABLE for a symbolic
 * link to a file, there or not; one to a device or a pipe (/dev/stdout) may be. */
gboolean ifm_file_check_link(const char *path, GError **error);

/**
 * ifm_file_save: Writes a file completely or not at all. The steps are: write a temporary file in the same folder, fsync,
 * rename, fsync of the folder. The temporary file has no name where the file system supports that, so a killed process
 * leaves nothing behind. Elsewhere its name is NAME.XXXXXXXX.tmp. A replaced file keeps its permissions. Nothing is written
 * through a symbolic link (see ifm_file_check_link()). Anything but a regular file (a pipe, /dev/null) is written to in
 * place.
 * @bytes: [n_bytes]
 * Returns: FALSE with IFM_ERROR_UNAVAILABLE (disk full, read-only, no such folder). @path is then unchanged.
 */
gboolean ifm_file_save(const char *path, const void *bytes, gsize n_bytes, GError **error);

/**
 * IfmFileWriter: ifm_file_save() in pieces, for content that is too large to hold in memory: open, write, commit.
 * A writer that is freed without a commit leaves @path unchanged. Errors are those of ifm_file_save().
 */
typedef struct IfmFileWriter IfmFileWriter;
/** ifm_file_writer_open: @durable: FALSE: without fsync, for files that need not survive a crash of the machine. (transfer
 * full) */
IfmFileWriter *ifm_file_writer_open(const char *path, gboolean durable, GError **error);
gboolean ifm_file_writer_write(IfmFileWriter *writer, const void *bytes, gsize n_bytes, GError **error);
gboolean ifm_file_writer_commit(IfmFileWriter *writer, GError **error);
void ifm_file_writer_free(IfmFileWriter *writer);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmFileWriter, ifm_file_writer_free)

/** ifm_file_remove_folder: A folder that this program made, with all that is in it; links are not followed. */
void ifm_file_remove_folder(const char *path);

G_END_DECLS
