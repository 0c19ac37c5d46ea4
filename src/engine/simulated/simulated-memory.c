/* The memory of a simulated device, and copies to it and back over its link. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "simulated-private.h"

IfmBuffer *simulated_buffer_alloc(IfmEngine *base, const IfmDeviceSpec *spec, gsize size_bytes, GError **error)
{
    const UnitDescription *unit;
    UnitState *state;
    if (!simulated_unit((SimulatedEngine *)base, spec, &unit, &state, error))
        return NULL;
    if ((unit->capabilities & IFM_CAN_BUFFERS) == 0)
    {
        ifm_error_set(error, IFM_ERROR_UNSUPPORTED, "%s: has no memory of its own", spec->text);
        return NULL;
    }
    if (unit_state_refresh(state) == UNIT_LOST_REPORTED)
    {
        fault_set_lost(state, spec->text, NULL, error);
        return NULL;
    }
    gboolean fits = size_bytes < G_MAXINT64 / 2 && unit_state_take(state, (gint64)size_bytes, unit->memory_bytes);
    void *bytes = fits ? aligned_alloc(64, (MAX(size_bytes, 1) + 63) / 64 * 64) : NULL;
    if (bytes == NULL)
    {
        if (fits)
            unit_state_take(state, -(gint64)size_bytes, 0);
        ifm_error_set(error, IFM_ERROR_MEMORY, "%s: no %zu bytes left in the device's memory", spec->text, size_bytes);
        return NULL;
    }
    SimulatedBuffer *buffer = g_new0(SimulatedBuffer, 1);
    buffer->state = state;
    buffer->unit = unit;
    buffer->bytes = bytes;
    SimulatedEngine *engine = (SimulatedEngine *)base;
    pthread_mutex_lock(&engine->mutex);
    g_hash_table_add(engine->buffers, buffer);
    pthread_mutex_unlock(&engine->mutex);
    return &buffer->base;
}

void simulated_buffer_free(IfmBuffer *base)
{
    SimulatedBuffer *buffer = (SimulatedBuffer *)base;
    SimulatedEngine *engine = (SimulatedEngine *)base->engine;
    pthread_mutex_lock(&engine->mutex);
    g_hash_table_remove(engine->buffers, buffer);
    pthread_mutex_unlock(&engine->mutex);
    unit_state_take(buffer->state, -(gint64)buffer->base.size_bytes, 0);
    free(buffer->bytes);
    g_free(buffer);
}

/* The handle is the buffer itself: code that reads it as host memory reads nonsense, as on a real device. */
gboolean simulated_buffer_tensor(IfmBuffer *buffer, IfmTensor *tensor, GError **error)
{
    tensor->memory = IFM_MEMORY_DEVICE;
    tensor->data = buffer;
    return TRUE;
}

gboolean simulated_check_memory(SimulatedEngine *engine, const IfmTensor *tensor, const UnitDescription *unit,
                                GError **error)
{
    if (tensor->memory != IFM_MEMORY_DEVICE)
        return TRUE;
    pthread_mutex_lock(&engine->mutex);
    const SimulatedBuffer *buffer =
        g_hash_table_contains(engine->buffers, tensor->data) ? (const SimulatedBuffer *)tensor->data : NULL;
    gboolean good =
        buffer != NULL && (unit == NULL || buffer->unit == unit) && tensor->size_bytes <= buffer->base.size_bytes;
    pthread_mutex_unlock(&engine->mutex);
    if (!good)
        ifm_error_refuse(
            error,
            "a tensor is said to be in device memory, but its handle is no buffer of this device that holds %zu bytes",
            tensor->size_bytes);
    return good;
}

IfmTensor simulated_host_view(const IfmTensor *tensor)
{
    IfmTensor view = *tensor;
    view.release = NULL;
    if (view.memory != IFM_MEMORY_DEVICE)
        return view;
    view.memory = IFM_MEMORY_HOST;
    view.data = ((const SimulatedBuffer *)tensor->data)->bytes;
    return view;
}

gint64 simulated_transfer_ns(const UnitDescription *unit, gsize bytes)
{
    const LinkDescription *link = unit->link;
    return link != NULL ? link->fixed_ns + (gint64)llround(1e9 * (double)bytes / link->bytes_per_s) : 0;
}

static gint64 copy_ns(const IfmTensor *side)
{
    return side->memory == IFM_MEMORY_DEVICE
               ? simulated_transfer_ns(((const SimulatedBuffer *)side->data)->unit, side->size_bytes)
               : 0;
}

/* A lost device reports it, or (@dead) answers as if it had copied. */
static gboolean check_health(const UnitState *state, const char *where, gboolean *dead, GError **error)
{
    UnitHealth health = unit_state_health(state);
    *dead |= health == UNIT_LOST_SILENT;
    if (health == UNIT_LOST_REPORTED)
        fault_set_lost(state, where, NULL, error);
    return health != UNIT_LOST_REPORTED;
}

static gboolean check_side(const IfmTensor *side, gboolean *dead, GError **error)
{
    const SimulatedBuffer *buffer = side->memory == IFM_MEMORY_DEVICE ? (const SimulatedBuffer *)side->data : NULL;
    return buffer == NULL || check_health(buffer->state, buffer->unit->place.name, dead, error);
}

/* Call it with the engine's mutex locked. */
static gint64 *copied_ns_of(SimulatedEngine *engine, gpointer whose)
{
    gint64 *ns = g_hash_table_lookup(engine->copied, whose);
    if (ns == NULL)
        g_hash_table_insert(engine->copied, whose, ns = g_new0(gint64, 1));
    return ns;
}

static gpointer this_thread(void)
{
    return (gpointer)pthread_self();
}

static UnitState *state_of(const IfmTensor *side)
{
    return side->memory == IFM_MEMORY_DEVICE ? ((const SimulatedBuffer *)side->data)->state : NULL;
}

/* Each unit has one copy engine, on which copies queue up. The bytes are copied at once, but callers must not rely on
 * that. */
static void queue_copy(SimulatedEngine *engine, const IfmTensor *from, const IfmTensor *to)
{
    gpointer queues[] = { this_thread(), state_of(from), state_of(to) };
    pthread_mutex_lock(&engine->mutex);
    gint64 begin_ns = ifm_clock_now_ns(engine->base.clock);
    for (gsize i = 0; i < G_N_ELEMENTS(queues); i++)
        if (queues[i] != NULL)
            begin_ns = MAX(begin_ns, *copied_ns_of(engine, queues[i]));
    for (gsize i = 0; i < G_N_ELEMENTS(queues); i++)
        if (queues[i] != NULL)
            *copied_ns_of(engine, queues[i]) = begin_ns + copy_ns(from) + copy_ns(to);
    pthread_mutex_unlock(&engine->mutex);
}

gboolean simulated_copy(IfmEngine *base, const IfmTensor *from, const IfmTensor *to, GError **error)
{
    SimulatedEngine *engine = (SimulatedEngine *)base;
    if (!simulated_check_memory(engine, from, NULL, error) || !simulated_check_memory(engine, to, NULL, error))
        return FALSE;
    gboolean dead = FALSE;
    if (!check_side(from, &dead, error) || !check_side(to, &dead, error))
        return FALSE;
    if (dead)
        return TRUE;
    IfmTensor source = simulated_host_view(from), target = simulated_host_view(to);
    memmove(target.data, source.data, source.size_bytes);
    queue_copy(engine, from, to);
    return TRUE;
}

gboolean simulated_sync(IfmEngine *base, GError **error)
{
    SimulatedEngine *engine = (SimulatedEngine *)base;
    pthread_mutex_lock(&engine->mutex);
    gint64 copied_ns = *copied_ns_of(engine, this_thread());
    pthread_mutex_unlock(&engine->mutex);
    ifm_clock_sleep_until_ns(base->clock, copied_ns);
    return TRUE;
}

gboolean simulated_copy_host(IfmEngine *base, const IfmDeviceSpec *spec, const IfmTensor *from, const IfmTensor *to,
                             GError **error)
{
    const UnitDescription *unit;
    UnitState *state;
    gboolean dead = FALSE;
    gint64 begin_ns = ifm_clock_now_ns(base->clock);
    if (!simulated_unit((SimulatedEngine *)base, spec, &unit, &state, error) ||
        !check_health(state, spec->text, &dead, error))
        return FALSE;
    if (unit->link == NULL)
        return ifm_error_set(error, IFM_ERROR_UNSUPPORTED,
                             "%s: what a copy takes is not known: its description has no key \"link\"", spec->text);
    if (dead)
        return TRUE;
    memmove(to->data, from->data, from->size_bytes);
    ifm_clock_sleep_until_ns(base->clock, begin_ns + simulated_transfer_ns(unit, from->size_bytes));
    return TRUE;
}
