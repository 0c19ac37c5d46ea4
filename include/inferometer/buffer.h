/* room: engine */
#pragma once
#include <inferometer/engine.h>

IFM_BEGIN_DECLS

/** IfmBuffer: memory of a device. */
typedef struct IfmBuffer IfmBuffer;

/** ifm_engine_buffer_alloc: Returns: (transfer full) NULL with IFM_ERROR_UNSUPPORTED, _UNAVAILABLE or _MEMORY. */
IfmBuffer *ifm_engine_buffer_alloc(IfmEngine *engine, const IfmDeviceSpec *spec, gsize size_bytes, GError **error);
void ifm_buffer_free(IfmBuffer *buffer);
/** ifm_buffer_tensor: Describes the buffer as a tensor (memory kind DEVICE or PINNED), for set_input and set_output. */
gboolean ifm_buffer_tensor(IfmBuffer *buffer, IfmDtype dtype, int rank, const gint64 *shape, IfmTensor *tensor,
                           GError **error);
/** ifm_engine_copy: Queues a copy between two tensors of equal size, of which at least one is in the device's
 * memory. */
gboolean ifm_engine_copy(IfmEngine *engine, const IfmTensor *from, const IfmTensor *to, GError **error);
/** ifm_engine_sync: Waits until every copy that this thread queued is done. */
gboolean ifm_engine_sync(IfmEngine *engine, GError **error);

IFM_END_DECLS
