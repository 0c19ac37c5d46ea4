/* The end of reading a trace: what our own header says of the tracks, and the trace from what was collected. */
#include <base/fields.h>
#include <stdlib.h>
#include <string.h>

#include "read-private.h"

/* --- otherData: what our own files begin with ------------------------------------------------------------------------- */

static gboolean read_tids(IfmTraceBuilder *self, IfmTrack *track, const IfmTrackHead *head, const char *where,
                          GError **error)
{
    IfmTraceSlot *first = NULL, *slot;
    for (guint i = 0; i < head->tids->len; i++)
    {
        IfmTracePlace place = { head->pid, g_array_index(head->tids, gint64, i), FALSE };
        if (!ifm_trace_builder_add_slot(self, track, self->traces->len - 1, &place, &slot))
            return ifm_error_refuse(error, "%s.tids: expected numbers that no other track has, of %d tracks at most", where,
                                    IFM_TRACE_MAX_TRACKS);
        slot->is_ours = TRUE;
        first = first != NULL ? first : slot;
        slot->first = first;
    }
    return TRUE;
}

static gboolean read_track(IfmTraceBuilder *self, IfmTrace *trace, const json_t *json, const char *where, GError **error)
{
    IfmTrackHead head = { 0 };
    ifm_record_init(&head, ifm_track_head_fields);
    gboolean good = ifm_record_from_json(&head, ifm_track_head_fields, json, where, NULL, error);
    if (good)
    {
        IfmTrack *track = ifm_trace_add_track_as(trace, &head.info, 0);
        atomic_store_explicit(&track->n_dropped, (gsize)MAX(head.dropped, 0), memory_order_relaxed);
        good = read_tids(self, track, &head, where, error);
    }
    ifm_record_clear(&head, ifm_track_head_fields);
    return good;
}

static gboolean read_trace(IfmTraceBuilder *self, json_t *json, const char *where, GError **error)
{
    const char *name;
    gint64 start_ns;
    json_t *meta, *tracks, *track;
    gsize i;
    if (!ifm_json_get_string(json, where, "name", &name, error) ||
        !ifm_json_get_int64(json, where, "start_ns", &start_ns, error) ||
        !ifm_json_get_object(json, where, "meta", &meta, error) ||
        !ifm_json_get_array(json, where, "tracks", &tracks, error))
        return FALSE;
    IfmTrace *trace = ifm_trace_new(name);
    g_ptr_array_add(self->traces, trace);
    g_array_append_val(self->origins_ns, start_ns);
    ifm_trace_set_meta(trace, json_incref(meta));
    json_array_foreach(tracks, i, track)
    {
        g_autofree char *at = g_strdup_printf("%s.tracks[%zu]", where, i);
        if (!read_track(self, trace, track, at, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean read_traces(IfmTraceBuilder *self, const json_t *data, GError **error)
{
    gint64 version;
    json_t *traces, *trace;
    gsize i;
    if (!ifm_json_get_int64(data, "otherData", IFM_TRACE_MARK, &version, error) ||
        !ifm_json_get_array(data, "otherData", "traces", &traces, error))
        return FALSE;
    if (version != 1 || json_array_size(traces) == 0)
        return ifm_error_refuse(
            error, "otherData: found layout %" G_GINT64_FORMAT " with %zu traces, expected layout 1 with at least one",
            version, json_array_size(traces));
    json_array_foreach(traces, i, trace)
    {
        g_autofree char *where = g_strdup_printf("otherData.traces[%zu]", i);
        if (!read_trace(self, trace, where, error))
            return FALSE;
    }
    return TRUE;
}

gboolean ifm_trace_builder_header(IfmTraceBuilder *self, const json_t *data, gint64 at)
{
    g_autoptr(GError) error = NULL;
    /* After the events it is too late to recognise our own file: it is then read as any other. */
    if (json_object_get(data, IFM_TRACE_MARK) == NULL || self->traces->len > 0)
        return TRUE;
    self->is_ours = TRUE;
    return read_traces(self, data, &error) ||
           ifm_trace_builder_fail(self, (IfmErrorCode)error->code, at, "%s", error->message);
}

/* --- the end ---------------------------------------------------------------------------------------------------------- */

typedef struct
{
    IfmTraceSlot *slot;
    IfmEvent event;
} Unended;

static int by_start(gconstpointer a, gconstpointer b)
{
    const IfmEvent *x = &((const Unended *)a)->event, *y = &((const Unended *)b)->event;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return x->name != y->name ? (x->name > y->name) - (x->name < y->name) : (x->track > y->track) - (x->track < y->track);
}

/* Slices that never ended: they end when the recording did. */
static gboolean end_the_unended(IfmTraceBuilder *self, gint64 at)
{
    g_autoptr(GArray) unended = g_array_new(FALSE, FALSE, sizeof(Unended));
    GHashTableIter iterator;
    gpointer value;
    for (guint i = 0; i < self->slots->len; i++)
    {
        IfmTraceSlot *slot = g_ptr_array_index(self->slots, i);
        for (guint j = slot->open != NULL ? slot->open->len : 0; j > 0; j--) /* the inner end first */
        {
            Unended one = { slot, g_array_index(slot->open, IfmEvent, j - 1) };
            g_array_append_val(unended, one);
        }
    }
    guint n_nested = unended->len;
    g_hash_table_iter_init(&iterator, self->pending);
    while (g_hash_table_iter_next(&iterator, NULL, &value))
        for (guint j = 0; j < ((GArray *)value)->len; j++)
        {
            IfmEvent event = g_array_index((GArray *)value, IfmEvent, j);
            Unended one = { g_ptr_array_index(self->slots, event.track), event };
            g_array_append_val(unended, one);
        }
    /* the order of a hash table is arbitrary */
    if (unended->len > n_nested)
        qsort(&g_array_index(unended, Unended, n_nested), unended->len - n_nested, sizeof(Unended), by_start);
    self->n_unended = unended->len;
    for (guint i = 0; i < unended->len; i++)
    {
        Unended *one = &g_array_index(unended, Unended, i);
        if (__builtin_sub_overflow(self->last_ns, one->event.start_ns, &one->event.duration_ns))
            return ifm_trace_builder_fail(self, IFM_ERROR_INVALID, at, "times more than 2^63 ns apart");
        if (!ifm_track_append(one->slot->track, &one->event))
            return ifm_trace_builder_fail(self, IFM_ERROR_MEMORY, at, "no memory for more events");
    }
    return TRUE;
}

static int by_recorded(const void *a, const void *b)
{
    const IfmEvent *x = a, *y = b;
    return (x->provider > y->provider) - (x->provider < y->provider);
}

/* Where some were skipped, the others keep their order. */
static void close_ranks(IfmTraceSlot *slot)
{
    IfmTrack *track = slot->track;
    gsize n = atomic_load_explicit(&track->n, memory_order_relaxed);
    g_autoptr(GHashTable) providers = g_steal_pointer(&slot->providers);
    qsort(track->events, n, sizeof *track->events, by_recorded);
    slot->providers = providers != NULL ? g_hash_table_new(NULL, NULL) : NULL;
    for (gsize i = 0; i < n; i++)
    {
        gpointer recorded = GUINT_TO_POINTER(track->events[i].provider);
        if (providers != NULL)
            g_hash_table_insert(slot->providers, GUINT_TO_POINTER((guint)i), g_hash_table_lookup(providers, recorded));
        track->events[i].provider = (guint32)i;
    }
}

/* `provider` holds args.recorded, the indices of all events of the track: each event is moved to its index. */
static gboolean put_in_order(IfmTraceBuilder *self, IfmTraceSlot *slot, gint64 at)
{
    IfmTrack *track = slot->track;
    if (self->n_damaged > 0)
        close_ranks(slot);
    gsize n = atomic_load_explicit(&track->n, memory_order_relaxed);
    for (gsize i = 0; i < n; i++)
        while (track->events[i].provider != i)
        {
            gsize to = track->events[i].provider;
            if (to >= n || track->events[to].provider == to)
                return ifm_trace_builder_fail(self, IFM_ERROR_INVALID, at,
                                              "args.recorded of track %u: found %zu, expected each of 0 to %zu once",
                                              track->index, to, n - 1);
            IfmEvent moved = track->events[to];
            track->events[to] = track->events[i];
            track->events[i] = moved;
        }
    for (gsize i = 0; i < n; i++)
        track->events[i].provider = slot->providers != NULL
                                        ? GPOINTER_TO_UINT(g_hash_table_lookup(slot->providers, GUINT_TO_POINTER((guint)i)))
                                        : 0;
    return TRUE;
}

static char *name_of(const IfmTraceBuilder *self, const IfmTracePlace *place, gboolean is_process)
{
    gint64 number = is_process ? place->pid : place->tid;
    const IfmTracePlace key = { place->pid, is_process ? 0 : place->tid, is_process };
    const char *label = g_hash_table_lookup(self->labels, &key);
    const char *text = label != NULL ? label : ifm_trace_builder_text(self, number);
    if (text != NULL)
        return g_strdup(text);
    return g_strdup_printf("%s %" G_GINT64_FORMAT, is_process ? "pid" : "tid", number);
}

/* A thread with kernels is a stream of a device: its process stands for the device. */
static void name_stream(const IfmTraceBuilder *self, const IfmTracePlace *place, IfmTrackInfo *info)
{
    const IfmTracePlace key = { place->pid, 1, TRUE };
    const char *label = g_hash_table_lookup(self->labels, &key);
    info->kind = IFM_TRACK_DEVICE;
    info->device =
        label != NULL && *label != '\0' ? g_strdup(label) : g_strdup_printf("device %" G_GINT64_FORMAT, place->pid);
    info->stream = (int)CLAMP(place->tid, G_MININT, G_MAXINT);
}

static void name_slot(const IfmTraceBuilder *self, const IfmTraceSlot *slot)
{
    IfmTrackInfo *info = &ifm_trace_track(self->traces->pdata[slot->trace], slot->track->index)->info;
    if (slot->has_kernels)
        name_stream(self, &slot->place, info);
    info->process = name_of(self, &slot->place, TRUE);
    info->thread = name_of(self, &slot->place, FALSE);
    if (!slot->place.is_async)
        return;
    char *both = g_strconcat(info->thread, " (asynchronous)", NULL);
    g_free(info->thread);
    info->thread = both;
}

/* One damaged event is let pass in the smallest file. */
#define MAX_DAMAGE_PERCENT 5

static gboolean check_damage(IfmTraceBuilder *self)
{
    gsize n_left = 0;
    for (guint i = 0; i < self->traces->len; i++)
        n_left += ifm_trace_n_events(g_ptr_array_index(self->traces, i));
    if (self->n_damaged == 0 ||
        (n_left > 0 && (self->n_damaged == 1 || self->n_damaged * 100 <= self->n_raw * MAX_DAMAGE_PERCENT)))
        return TRUE;
    if (self->n_damaged == 1)
        ifm_error_refuse(&self->error, "%s: %s", self->file, self->damages->str);
    else
        ifm_error_refuse(&self->error, "%s: %s (%zu of %zu events are damaged, more than %d %%)", self->file,
                         self->damages->str, self->n_skipped, self->n_raw, MAX_DAMAGE_PERCENT);
    return FALSE;
}

static void note_damage(IfmTraceBuilder *self)
{
    IfmTrace *trace = self->traces->pdata[0];
    const char *more = self->n_damaged > IFM_TRACE_DAMAGE_SHOWN ? "; …" : "";
    trace->n_damaged = self->n_damaged > 0 ? self->n_skipped : 0;
    if (self->n_damaged > 0)
        g_ptr_array_add(trace->notes,
                        g_strdup_printf("of %zu events %zu were read and %zu skipped: %s%s", self->n_raw,
                                        self->n_raw - self->n_skipped, self->n_skipped, self->damages->str, more));
    if (self->n_unended > 0)
        g_ptr_array_add(trace->notes,
                        self->n_unended == 1
                            ? g_strdup("one event begins and never ends: taken to last until the last event there is")
                            : g_strdup_printf("%zu events begin and never end: taken to last until the last event there is",
                                              self->n_unended));
}

GPtrArray *ifm_trace_builder_end(IfmTraceBuilder *self, gint64 at)
{
    if (self->n_events == 0 && self->n_damaged == 0)
    {
        ifm_trace_builder_fail(self, IFM_ERROR_INVALID, at,
                               "the file ends without an event that takes time: expected X, B and E, or b and e events");
        return NULL;
    }
    if (!end_the_unended(self, at) || !check_damage(self))
        return NULL;
    for (guint i = 0; i < self->slots->len; i++)
    {
        IfmTraceSlot *slot = g_ptr_array_index(self->slots, i);
        if (!slot->is_ours)
            name_slot(self, slot);
        if (slot->reordered && !put_in_order(self, slot, at))
            return NULL;
    }
    ifm_launches_join(&self->launches);
    note_damage(self);
    return g_steal_pointer(&self->traces);
}
