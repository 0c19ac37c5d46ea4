#include "read-private.h"

/*
 * Which call launched a kernel. Three things may show it, the better first: both have args.correlation; a flow leads from
 * the call to the kernel (s and f with one id, at the start of each); both have the operator's "External id". A kernel may
 * come before its launch in the file, so they are joined at the end.
 */

enum
{
    BY_CORRELATION,
    BY_FLOW,
    BY_OPERATOR,
};

/* A launch by its number, or a flow's end by its place: three numbers, as IfmTracePlace has them. */
typedef struct
{
    IfmTracePlace key;
    gint64 value; /* start of the launch, or the flow's id */
} Entry;

typedef struct
{
    IfmTraceSlot *slot;
    gsize index;                     /* of the track's events */
    gint64 correlation, operator_id; /* -1: none */
} Kernel;

void ifm_launches_init(IfmLaunches *self)
{
    self->starts = g_hash_table_new_full(ifm_trace_place_hash, ifm_trace_place_equal, g_free, NULL);
    self->flow_ends = g_hash_table_new_full(ifm_trace_place_hash, ifm_trace_place_equal, g_free, NULL);
    self->kernels = g_array_new(FALSE, FALSE, sizeof(Kernel));
}

void ifm_launches_clear(IfmLaunches *self)
{
    g_clear_pointer(&self->starts, g_hash_table_unref);
    g_clear_pointer(&self->flow_ends, g_hash_table_unref);
    g_clear_pointer(&self->kernels, g_array_unref);
}

/* The first of several counts. */
static void enter(GHashTable *table, IfmTracePlace key, gint64 value)
{
    if (g_hash_table_contains(table, &key))
        return;
    Entry *entry = g_new(Entry, 1);
    *entry = (Entry){ key, value };
    g_hash_table_add(table, entry);
}

static const Entry *find(GHashTable *table, gint64 a, gint64 b, gint64 c)
{
    IfmTracePlace key = { a, b, c };
    return g_hash_table_lookup(table, &key);
}

void ifm_launches_add(IfmLaunches *self, const IfmRawEvent *raw, IfmTraceSlot *slot, const IfmEvent *event)
{
    if (event->kind == IFM_EVENT_LAUNCH && raw->correlation >= 0)
        enter(self->starts, (IfmTracePlace){ raw->correlation, BY_CORRELATION, 0 }, event->start_ns);
    if (event->kind == IFM_EVENT_OTHER && raw->operator_id >= 0)
        enter(self->starts, (IfmTracePlace){ raw->operator_id, BY_OPERATOR, 0 }, event->start_ns);
    if (event->kind != IFM_EVENT_KERNEL)
        return;
    slot->has_kernels = TRUE;
    self->has_correlation |= raw->correlation >= 0;
    Kernel kernel = { slot, atomic_load_explicit(&slot->track->n, memory_order_relaxed), raw->correlation,
                      raw->operator_id };
    g_array_append_val(self->kernels, kernel);
}

void ifm_launches_add_flow(IfmLaunches *self, const IfmRawEvent *raw, gint64 id)
{
    if (self->has_correlation || self->kernels->len + g_hash_table_size(self->starts) > IFM_LAUNCHES_MAX_FLOWS)
        return;
    if (raw->phase == 's')
        enter(self->starts, (IfmTracePlace){ id, BY_FLOW, 0 }, raw->ts_ns);
    else
        enter(self->flow_ends, (IfmTracePlace){ raw->pid, raw->tid, raw->ts_ns }, id);
}

static const Entry *launch_of(const IfmLaunches *self, const Kernel *kernel, const IfmEvent *event)
{
    const Entry *launch = kernel->correlation >= 0 ? find(self->starts, kernel->correlation, BY_CORRELATION, 0) : NULL;
    if (launch != NULL)
        return launch;
    const Entry *flow = find(self->flow_ends, kernel->slot->place.pid, kernel->slot->place.tid, event->start_ns);
    launch = flow != NULL ? find(self->starts, flow->value, BY_FLOW, 0) : NULL;
    if (launch != NULL || kernel->correlation >= 0)
        return launch;
    return kernel->operator_id >= 0 ? find(self->starts, kernel->operator_id, BY_OPERATOR, 0) : NULL;
}

void ifm_launches_join(const IfmLaunches *self)
{
    for (guint i = 0; i < self->kernels->len; i++)
    {
        const Kernel *kernel = &g_array_index(self->kernels, Kernel, i);
        IfmEvent *event = &kernel->slot->track->events[kernel->index];
        const Entry *launch = launch_of(self, kernel, event);
        gint64 delay_ns;
        if (launch != NULL && !__builtin_sub_overflow(event->start_ns, launch->value, &delay_ns))
            event->delay_ns = MAX(delay_ns, 0); /* clocks of host and device may differ */
    }
}
