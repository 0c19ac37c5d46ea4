/* room: base */
#pragma once
#include <inferometer/tensor.h>

G_BEGIN_DECLS

/** IfmNumpyAccept: Whether an array of that type and shape is wanted; asked before anything is allocated for its values.
 * Returns: FALSE with the error of ifm_numpy_read(). */
typedef gboolean (*IfmNumpyAccept)(IfmDtype dtype, int rank, const gint64 *shape, gconstpointer user, GError **error);

/**
 * ifm_numpy_read: The array of a file that NumPy wrote: NPY (numpy.save), or NPZ (numpy.savez), a zip archive of those.
 * Python objects in it (a pickle) are refused and never read.
 * @data: [size] the bytes of the file    @member: the array's name in an NPZ file (NULL: none); a file with one array
 * gives that one whatever its name
 * @where: the file's name, for messages
 * @accept: (nullable) with @user
 * @tensor: (out) holds a copy of the values
 * Returns: FALSE with IFM_ERROR_INVALID for other bytes, an array that is not of little-endian numbers in C order, a
 * truncated or damaged file, or an NPZ file without that array; or with IFM_ERROR_MEMORY. @tensor is then empty.
 * Source: NEP 1, "A Simple File Format for NumPy Arrays", with versions 1.0, 2.0 and 3.0 of numpy.lib.format
 */
gboolean ifm_numpy_read(const guint8 *data, gsize size, const char *member, const char *where, IfmNumpyAccept accept,
                        gconstpointer user, IfmTensor *tensor, GError **error);

G_END_DECLS
