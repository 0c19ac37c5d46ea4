/* A log that another program kept is recorded as a trace: which events belong to one batch, block and stream follows from
 * it. */
#include <string.h>

#include "trace-private.h"

/* --- the log ------------------------------------------------------------------------------------------------------ */

typedef struct
{
    int kind; /* IfmEventKind */
    const char *name, *device, *stage;
    gint64 batch, start_ns, end_ns, device_ns;
} Logged;

typedef struct
{
    const char *name;
    const Logged *events;
    gsize n_events;
} Log;

/* In the order of IfmEventKind. */
static const char *const kinds[] = { "infer", "partition", "merge", "copy", NULL };
G_STATIC_ASSERT(IFM_EVENT_INFER == 0 && IFM_EVENT_COPY == 3);

static const IfmRecordField event_fields[] = {
    { IFM_RECORD(CHOICE, Logged, kind), .words = kinds },
    { IFM_RECORD(NAME, Logged, name) },
    { IFM_RECORD(NAME, Logged, device) },
    { IFM_RECORD(NAME, Logged, stage) },
    { IFM_RECORD(INT64, Logged, batch), .called = "batch", .min = -1, .max = G_MAXINT32 },
    { IFM_RECORD(INT64, Logged, start_ns) },
    { IFM_RECORD(INT64, Logged, end_ns) },
    { IFM_RECORD(INT64, Logged, device_ns), .called = "device_ns", .min = -1, .max = 1e18 },
    { NULL },
};

static const IfmRecordField log_fields[] = {
    { IFM_RECORD(NAME, Log, name) },
    { IFM_RECORD(PARTS, Log, events), .count = offsetof(Log, n_events), IFM_FIELDS_OF(event_fields, Logged) },
    { NULL },
};

static gboolean check_events(const Log *log, GError **error)
{
    for (gsize i = 0; i < log->n_events; i++)
    {
        const Logged *event = &log->events[i];
        g_autofree char *where = g_strdup_printf("log.events[%zu]", i);
        if (!ifm_record_check(event, event_fields, where, error))
            return FALSE;
        if (event->name == NULL || event->device == NULL || event->stage == NULL)
            return ifm_error_refuse(error, "%s: an event has a name, a device and a stage", where);
        if (event->end_ns < event->start_ns)
            return ifm_error_refuse(error,
                                    "%s: it ends before it starts: from %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT " ns",
                                    where, event->start_ns, event->end_ns);
    }
    return TRUE;
}

/* --- streams, blocks and batches ---------------------------------------------------------------------------------- */

/* A stream of a device: what overlaps is on another one. */
typedef struct
{
    const char *device;
    gint64 end_ns;
    IfmTrack *track;
} Stream;

/* A batch in a block, from its first event there to its last; in block 0: in the pipeline. */
typedef struct
{
    gint64 key, start_ns, end_ns;
} Stay;

typedef struct
{
    IfmTrace *trace;
    GArray *streams;    /* Stream */
    GHashTable *blocks; /* stage -> number, from 1 */
    GPtrArray *hosts;   /* IfmTrack* by block; of 0: batches */
    GHashTable *stays;  /* key -> index */
    GArray *stay;       /* Stay */
} Recorder;

static IfmTrack *add_track(Recorder *self, IfmTrackKind kind, char *thread, const char *device, int stream, int block)
{
    g_autofree char *name = thread;
    const IfmTrackInfo info = {
        .kind = kind, .process = (char *)"run", .thread = name, .device = (char *)device, .stream = stream, .block = block
    };
    return ifm_trace_add_track(self->trace, &info, 0);
}

static IfmTrack *stream_of(Recorder *self, const Logged *event)
{
    int n = 0;
    for (guint i = 0; i < self->streams->len; i++)
    {
        Stream *stream = &g_array_index(self->streams, Stream, i);
        if (!g_str_equal(stream->device, event->device))
            continue;
        n++;
        if (stream->end_ns > event->start_ns)
            continue;
        stream->end_ns = event->end_ns;
        return stream->track;
    }
    Stream added = { event->device, event->end_ns,
                     add_track(self, IFM_TRACK_DEVICE, g_strdup_printf("%s stream %d", event->device, n), event->device, n,
                               0) };
    g_array_append_val(self->streams, added);
    return added.track;
}

/* Returns: 0 where there are too many. */
static guint block_of(Recorder *self, const char *stage)
{
    guint number = GPOINTER_TO_UINT(g_hash_table_lookup(self->blocks, stage));
    if (number > 0 || self->hosts->len > G_MAXUINT16)
        return number;
    number = self->hosts->len;
    g_hash_table_insert(self->blocks, (gpointer)stage, GUINT_TO_POINTER(number));
    g_ptr_array_add(self->hosts, add_track(self, IFM_TRACK_HOST, g_strdup_printf("%s, host", stage), NULL, 0, (int)number));
    return number;
}

static void stay(Recorder *self, guint block, const Logged *event)
{
    if (event->batch < 0)
        return;
    Stay now = { ((gint64)block << 32) | event->batch, event->start_ns, event->end_ns };
    gpointer found = g_hash_table_lookup(self->stays, &now.key);
    if (found != NULL)
    {
        Stay *known = &g_array_index(self->stay, Stay, GPOINTER_TO_UINT(found) - 1);
        known->end_ns = MAX(known->end_ns, now.end_ns);
        return;
    }
    g_array_append_val(self->stay, now);
    g_hash_table_insert(self->stays, g_memdup2(&now.key, sizeof now.key), GUINT_TO_POINTER(self->stay->len));
}

static gboolean record(Recorder *self, const Logged *logged, GError **error)
{
    const guint block = block_of(self, logged->stage);
    if (block == 0)
        return ifm_error_refuse(error, "log: more than %d stages", G_MAXUINT16);
    IfmEvent event = IFM_EVENT_INIT;
    event.kind = (guint8)logged->kind;
    event.name = ifm_trace_intern(self->trace, logged->name);
    event.start_ns = logged->start_ns;
    event.duration_ns = logged->end_ns - logged->start_ns;
    event.device_ns = logged->kind == IFM_EVENT_INFER ? logged->device_ns : -1;
    event.batch = (gint32)logged->batch;
    event.block = event.first = event.last = (guint16)block;
    IfmTrack *track = logged->kind == IFM_EVENT_INFER ? stream_of(self, logged) : self->hosts->pdata[block];
    stay(self, block, logged);
    stay(self, 0, logged);
    return ifm_track_append(track, &event) || ifm_error_set(error, IFM_ERROR_MEMORY, "no memory for the events of the log");
}

static gboolean record_stay(Recorder *self, const Stay *stay, GError **error)
{
    const guint block = (guint)(stay->key >> 32);
    IfmEvent event = IFM_EVENT_INIT;
    event.kind = block > 0 ? IFM_EVENT_BLOCK : IFM_EVENT_BATCH;
    event.name = ifm_trace_intern(self->trace, block > 0 ? "block" : "batch");
    event.start_ns = stay->start_ns;
    event.duration_ns = stay->end_ns - stay->start_ns;
    event.batch = (gint32)(stay->key & G_MAXINT32);
    event.block = event.first = event.last = (guint16)block;
    return ifm_track_append(self->hosts->pdata[block], &event) ||
           ifm_error_set(error, IFM_ERROR_MEMORY, "no memory for the events of the log");
}

static int by_start(gconstpointer a, gconstpointer b)
{
    const Logged *x = *(Logged *const *)a, *y = *(Logged *const *)b;
    return x->start_ns != y->start_ns ? (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns) : (x > y) - (x < y);
}

static gboolean record_all(Recorder *self, const Log *log, GError **error)
{
    g_autoptr(GPtrArray) order = g_ptr_array_new();
    gboolean good = TRUE;
    for (gsize i = 0; i < log->n_events; i++)
        g_ptr_array_add(order, (gpointer)&log->events[i]);
    g_ptr_array_sort(order, by_start);
    g_ptr_array_add(self->hosts, add_track(self, IFM_TRACK_QUEUE, g_strdup("batches"), NULL, 0, 0));
    for (guint i = 0; good && i < order->len; i++)
        good = record(self, order->pdata[i], error);
    for (guint i = 0; good && i < self->stay->len; i++)
        good = record_stay(self, &g_array_index(self->stay, Stay, i), error);
    return good;
}

static IfmTrace *trace_of(const Log *log, GError **error)
{
    Recorder self = { .trace = ifm_trace_new(log->name),
                      .streams = g_array_new(FALSE, FALSE, sizeof(Stream)),
                      .blocks = g_hash_table_new(g_str_hash, g_str_equal),
                      .hosts = g_ptr_array_new(),
                      .stays = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL),
                      .stay = g_array_new(FALSE, FALSE, sizeof(Stay)) };
    if (!record_all(&self, log, error))
        g_clear_pointer(&self.trace, ifm_trace_free);
    g_array_unref(self.streams);
    g_hash_table_unref(self.blocks);
    g_ptr_array_unref(self.hosts);
    g_hash_table_unref(self.stays);
    g_array_unref(self.stay);
    return self.trace;
}

/* --- JSON in, JSON out -------------------------------------------------------------------------------------------- */

char *ifm_trace_log(const char *text, const char *path, GError **error)
{
    json_error_t trouble;
    Log log = { 0 };
    g_autoptr(GPtrArray) pool = g_ptr_array_new_with_free_func(g_free);
    json_auto_t *json = json_loads(text, JSON_REJECT_DUPLICATES, &trouble);
    if (json == NULL)
    {
        ifm_error_refuse(error, "log: %s", trouble.text);
        return NULL;
    }
    if (!ifm_record_from_json(&log, log_fields, json, "log", pool, error) || !check_events(&log, error))
        return NULL;
    g_autoptr(IfmTrace) trace = trace_of(&log, error);
    const IfmTrace *one = trace;
    g_autoptr(IfmTraceAnalysis) analysis = trace != NULL ? ifm_trace_analyse(trace, &IFM_TRACE_QUESTION_INIT, error) : NULL;
    if (analysis == NULL || (path != NULL && !ifm_trace_write(&one, 1, path, error)))
        return NULL;
    json_auto_t *answer = ifm_trace_analysis_to_json(analysis, trace);
    return json_dumps(answer, JSON_COMPACT);
}
