/* A trace in memory: kinds of events, tracks, and the recording of events on them. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace-private.h"

/* An event fills one cache line, and the counts of two tracks do not share one. */
#define LINE_BYTES 64
G_STATIC_ASSERT(sizeof(IfmEvent) == LINE_BYTES);

/* --- kinds ------------------------------------------------------------------------------------------------------------ */

static const char *const kind_names[IFM_N_EVENT_KINDS] = {
    [IFM_EVENT_INFER] = "infer",
    [IFM_EVENT_PARTITION] = "partition",
    [IFM_EVENT_MERGE] = "merge",
    [IFM_EVENT_COPY] = "copy",
    [IFM_EVENT_QUEUE] = "queue",
    [IFM_EVENT_WAIT_INPUT] = "wait-input",
    [IFM_EVENT_WAIT_OUTPUT] = "wait-output",
    [IFM_EVENT_BLOCK] = "block",
    [IFM_EVENT_BATCH] = "batch",
    [IFM_EVENT_NODE] = "node",
    [IFM_EVENT_KERNEL] = "kernel",
    [IFM_EVENT_LAUNCH] = "launch",
    [IFM_EVENT_SPAN] = "annotation",
    [IFM_EVENT_OTHER] = "other",
};

const char *ifm_event_kind_name(IfmEventKind kind)
{
    g_assert((guint)kind < IFM_N_EVENT_KINDS);
    return kind_names[kind];
}

int ifm_event_kind_find(const char *name, gssize length)
{
    gsize n = length < 0 ? strlen(name) : (gsize)length;
    for (int kind = 0; kind < IFM_N_EVENT_KINDS; kind++)
        if (strlen(kind_names[kind]) == n && memcmp(kind_names[kind], name, n) == 0)
            return kind;
    return -1;
}

/* In the order of IfmTrackKind. */
static const char *const track_kinds[] = { "device", "host", "queue", "foreign", NULL };

const IfmRecordField ifm_track_head_fields[] = {
    { IFM_RECORD_AS(CHOICE, IfmTrackHead, info.kind, "kind"), .words = track_kinds },
    { IFM_RECORD_AS(NAME, IfmTrackHead, info.process, "process"), .optional = TRUE },
    { IFM_RECORD_AS(NAME, IfmTrackHead, info.thread, "thread"), .optional = TRUE },
    { IFM_RECORD_AS(NAME, IfmTrackHead, info.device, "device"), .optional = TRUE },
    { IFM_RECORD_AS(NAME, IfmTrackHead, info.spec, "spec"), .optional = TRUE },
    { IFM_RECORD_AS(INT, IfmTrackHead, info.stream, "stream") },
    { IFM_RECORD_AS(INT, IfmTrackHead, info.block, "block") },
    { IFM_RECORD_AS(INT64, IfmTrackHead, info.pid, "recorded_pid") },
    { IFM_RECORD_AS(INT64, IfmTrackHead, info.tid, "recorded_tid") },
    { IFM_RECORD(INT64, IfmTrackHead, dropped) },
    { IFM_RECORD(INT64, IfmTrackHead, pid) },
    { IFM_RECORD(SERIES, IfmTrackHead, tids) },
    { NULL },
};

char *ifm_track_title(const IfmTrackInfo *info)
{
    if (info->device != NULL)
        return g_strdup_printf("%s stream %d", info->device, info->stream);
    return g_strdup(info->thread != NULL ? info->thread : "a thread without a name");
}

/* --- places and the order of events ---------------------------------------------------------------------------------- */

guint ifm_trace_place_hash(gconstpointer data)
{
    const IfmTracePlace *place = data;
    guint64 mixed = ((guint64)place->pid * 0x9E3779B97F4A7C15u) ^ ((guint64)place->tid * 0xC2B2AE3D27D4EB4Fu);
    mixed ^= (guint64)place->is_async * 0x165667B19E3779F9u;
    return (guint)(mixed >> 32) ^ (guint)mixed;
}

gboolean ifm_trace_place_equal(gconstpointer a, gconstpointer b)
{
    const IfmTracePlace *x = a, *y = b;
    return x->pid == y->pid && x->tid == y->tid && x->is_async == y->is_async;
}

int ifm_event_order(const IfmEvent *a, const IfmEvent *b)
{
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    gint64 x = MAX(a->duration_ns, 0), y = MAX(b->duration_ns, 0);
    return (x < y) - (x > y);
}

/* --- the trace -------------------------------------------------------------------------------------------------------- */

static void track_free(gpointer data)
{
    IfmTraceTrack *self = data;
    g_free(self->info.process);
    g_free(self->info.thread);
    g_free(self->info.device);
    g_free(self->info.spec);
    free(self->track.events);
    g_aligned_free(self);
}

IfmTrace *ifm_trace_new(const char *name)
{
    IfmTrace *self = g_new0(IfmTrace, 1);
    self->name = g_strdup(name != NULL ? name : "");
    self->meta = json_object();
    self->tracks = g_ptr_array_new_with_free_func(track_free);
    self->texts = g_ptr_array_new_with_free_func(g_free);
    self->interned = g_hash_table_new(g_str_hash, g_str_equal);
    self->notes = g_ptr_array_new_with_free_func(g_free);
    ifm_trace_intern(self, "");
    return self;
}

void ifm_trace_free(IfmTrace *self)
{
    if (self == NULL)
        return;
    g_hash_table_unref(self->interned);
    g_ptr_array_unref(self->notes);
    g_ptr_array_unref(self->texts);
    g_ptr_array_unref(self->tracks);
    json_decref(self->meta);
    g_free(self->name);
    g_free(self);
}

gsize ifm_trace_n_damaged(const IfmTrace *self)
{
    return self->n_damaged;
}

const GPtrArray *ifm_trace_notes(const IfmTrace *self)
{
    return self->notes;
}

const char *ifm_trace_name(const IfmTrace *self)
{
    return self->name;
}

void ifm_trace_set_name(IfmTrace *self, const char *name)
{
    g_free(self->name);
    self->name = g_strdup(name);
}

void ifm_trace_set_meta(IfmTrace *self, json_t *json)
{
    g_assert(json_is_object(json));
    json_decref(self->meta);
    self->meta = json;
}

void ifm_trace_add_meta(IfmTrace *self, const char *key, json_t *json)
{
    json_t *meta = json_copy((json_t *)ifm_trace_meta(self));
    if (json != NULL)
        json_object_set_new(meta, key, json);
    ifm_trace_set_meta(self, meta);
}

const json_t *ifm_trace_meta(const IfmTrace *self)
{
    return self->meta;
}

guint32 ifm_trace_intern(IfmTrace *self, const char *text)
{
    gpointer number;
    if (g_hash_table_lookup_extended(self->interned, text, NULL, &number))
        return GPOINTER_TO_UINT(number);
    char *copy = g_strdup(text);
    g_ptr_array_add(self->texts, copy);
    g_hash_table_insert(self->interned, copy, GUINT_TO_POINTER(self->texts->len - 1));
    return self->texts->len - 1;
}

const char *ifm_trace_text(const IfmTrace *self, guint32 name)
{
    g_assert(name < self->texts->len);
    return g_ptr_array_index(self->texts, name);
}

/* --- tracks ----------------------------------------------------------------------------------------------------------- */

/* Equal names of a process share its pid. A new name gets the next free pid. */
static gint64 choose_pid(const IfmTrace *self, const char *process)
{
    gint64 max = 0;
    for (guint i = 0; i < self->tracks->len; i++)
    {
        const IfmTrackInfo *other = &ifm_trace_track(self, i)->info;
        if (g_strcmp0(other->process, process) == 0)
            return other->pid;
        max = MAX(max, other->pid);
    }
    return max + 1;
}

static gint64 choose_tid(const IfmTrace *self, gint64 pid)
{
    gint64 max = 0;
    for (guint i = 0; i < self->tracks->len; i++)
        if (ifm_trace_track(self, i)->info.pid == pid)
            max = MAX(max, ifm_trace_track(self, i)->info.tid);
    return max + 1;
}

/* Writes each page now, so that recording does not have to map it. */
static void touch(IfmEvent *events, gsize n)
{
    gsize step = (gsize)sysconf(_SC_PAGESIZE) / sizeof(IfmEvent);
    for (gsize i = 0; i < n; i += MAX(step, 1))
        *(volatile gint64 *)&events[i].start_ns = 0;
    if (n > 0)
        *(volatile gint64 *)&events[n - 1].start_ns = 0;
}

IfmTrack *ifm_trace_add_track_as(IfmTrace *self, const IfmTrackInfo *info, gsize capacity)
{
    IfmTraceTrack *added = g_aligned_alloc0(1, sizeof *added, LINE_BYTES);
    void *events = NULL;
    if (capacity > G_MAXSIZE / sizeof(IfmEvent) ||
        (capacity > 0 && posix_memalign(&events, LINE_BYTES, capacity * sizeof(IfmEvent)) != 0))
        g_error("no memory for a track of %zu events", capacity);
    added->info = *info;
    added->info.process = g_strdup(info->process);
    added->info.thread = g_strdup(info->thread);
    added->info.device = g_strdup(info->device);
    added->info.spec = g_strdup(info->spec);
    added->track.events = events;
    added->track.capacity = capacity;
    added->track.index = self->tracks->len;
    touch(events, capacity);
    g_ptr_array_add(self->tracks, added);
    return &added->track;
}

IfmTrack *ifm_trace_add_track(IfmTrace *self, const IfmTrackInfo *info, gsize capacity)
{
    IfmTrackInfo numbered = *info;
    if (numbered.pid == 0)
        numbered.pid = choose_pid(self, info->process);
    if (numbered.tid == 0)
        numbered.tid = choose_tid(self, numbered.pid);
    return ifm_trace_add_track_as(self, &numbered, capacity);
}

gboolean ifm_track_append(IfmTrack *track, const IfmEvent *event)
{
    gsize n = atomic_load_explicit(&track->n, memory_order_relaxed);
    if (n == track->capacity)
    {
        gsize capacity = MAX(16, n + n / 2);
        IfmEvent *events =
            capacity <= G_MAXSIZE / sizeof *events ? realloc(track->events, capacity * sizeof *events) : NULL;
        if (events == NULL)
            return FALSE;
        track->events = events;
        track->capacity = capacity;
    }
    ifm_track_record(track, event);
    return TRUE;
}

gsize ifm_trace_n_tracks(const IfmTrace *self)
{
    return self->tracks->len;
}

const IfmTrackInfo *ifm_trace_track_info(const IfmTrace *self, gsize index)
{
    return &ifm_trace_track(self, index)->info;
}

/* --- recorded events -------------------------------------------------------------------------------------------------- */

const IfmEvent *ifm_trace_events(const IfmTrace *self, gsize track, gsize *n)
{
    const IfmTrack *recorded = &ifm_trace_track(self, track)->track;
    *n = atomic_load_explicit(&recorded->n, memory_order_acquire);
    return recorded->events;
}

gsize ifm_trace_n_events(const IfmTrace *self)
{
    gsize sum = 0;
    for (gsize i = 0; i < self->tracks->len; i++)
        sum += atomic_load_explicit(&ifm_trace_track(self, i)->track.n, memory_order_acquire);
    return sum;
}

gsize ifm_trace_n_dropped(const IfmTrace *self)
{
    gsize sum = 0;
    for (gsize i = 0; i < self->tracks->len; i++)
        sum += atomic_load_explicit(&ifm_trace_track(self, i)->track.n_dropped, memory_order_acquire);
    return sum;
}

void ifm_trace_forget_events(IfmTrace *self)
{
    for (gsize i = 0; i < self->tracks->len; i++)
    {
        IfmTrack *track = &ifm_trace_track(self, i)->track;
        atomic_store_explicit(&track->n, 0, memory_order_release);
        atomic_store_explicit(&track->n_dropped, 0, memory_order_release);
    }
}

/* --- how many at once ------------------------------------------------------------------------------------------------- */

void ifm_trace_add_changes(GArray *changes, const IfmTrace *trace, gsize track, IfmEventKind kind)
{
    gsize n;
    const IfmEvent *events = ifm_trace_events(trace, track, &n);
    for (gsize i = 0; i < n; i++)
    {
        const IfmTraceChange both[] = { { events[i].start_ns, 1 }, { ifm_event_end_ns(&events[i]), -1 } };
        if (events[i].kind == kind && both[0].at_ns < both[1].at_ns)
            g_array_append_vals(changes, both, G_N_ELEMENTS(both));
    }
}

static gint compare_changes(gconstpointer a, gconstpointer b)
{
    const IfmTraceChange *x = a, *y = b;
    return x->at_ns != y->at_ns ? (x->at_ns > y->at_ns) - (x->at_ns < y->at_ns) : x->by - y->by;
}

void ifm_trace_sort_changes(GArray *changes)
{
    g_array_sort(changes, compare_changes);
}
