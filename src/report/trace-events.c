#include "report-private.h"

/* One row an event, for data frames. A row is made, written and forgotten: what is kept is the text alone. */

typedef struct
{
    const IfmTrace *trace;
    gsize number;
    const IfmTrackInfo *info;
    const IfmEvent *event;
} EventRow;

static void get_trace_name(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_text(value, ifm_trace_name(((const EventRow *)record)->trace));
}

static void get_info_text(const void *record, const void *user, IfmValue *value)
{
    ifm_field_get_text(((const EventRow *)record)->info, user, value);
}

static void get_stream(const void *record, const void *user, IfmValue *value)
{
    const IfmTrackInfo *info = ((const EventRow *)record)->info;
    if (info->device != NULL)
        ifm_value_set_integer(value, info->stream);
}

static void get_kind(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_text(value, ifm_event_kind_name(((const EventRow *)record)->event->kind));
}

static void get_name(const void *record, const void *user, IfmValue *value)
{
    const EventRow *row = record;
    ifm_value_set_text(value, ifm_trace_text(row->trace, row->event->name));
}

static void get_time(const void *record, const void *user, IfmValue *value)
{
    ifm_field_get_integer(((const EventRow *)record)->event, user, value);
}

/* -1 is "unavailable". */
static void get_known_time(const void *record, const void *user, IfmValue *value)
{
    gint64 ns = G_STRUCT_MEMBER(gint64, ((const EventRow *)record)->event, GPOINTER_TO_SIZE(user));
    if (ns >= 0)
        ifm_value_set_integer(value, ns);
}

static void get_batch(const void *record, const void *user, IfmValue *value)
{
    gint32 batch = ((const EventRow *)record)->event->batch;
    if (batch >= 0)
        ifm_value_set_integer(value, batch);
}

/* 0 is "none". */
static void get_number(const void *record, const void *user, IfmValue *value)
{
    guint16 number = G_STRUCT_MEMBER(guint16, ((const EventRow *)record)->event, GPOINTER_TO_SIZE(user));
    if (number > 0)
        ifm_value_set_integer(value, number);
}

static void get_failed(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_boolean(value, ((const EventRow *)record)->event->failed != 0);
}

#define INFO(member) IFM_FIELD_AT(IfmTrackInfo, member)
#define EVENT(member) IFM_FIELD_AT(IfmEvent, member)

static const IfmField event_fields[] = {
    { "trace", "trace", IFM_FIELD_INTEGER, ifm_field_get_count, IFM_FIELD_AT(EventRow, number) },
    { "trace_name", "trace name", IFM_FIELD_TEXT, get_trace_name },
    { "process", "process", IFM_FIELD_TEXT, get_info_text, INFO(process) },
    { "thread", "thread", IFM_FIELD_TEXT, get_info_text, INFO(thread) },
    { "device", "device", IFM_FIELD_TEXT, get_info_text, INFO(device) },
    { "stream", "stream", IFM_FIELD_INTEGER, get_stream },
    { "kind", "kind", IFM_FIELD_TEXT, get_kind },
    { "name", "name", IFM_FIELD_TEXT, get_name },
    { "start_ns", "start", IFM_FIELD_INTEGER, get_time, EVENT(start_ns) },
    { "duration_ns", "duration", IFM_FIELD_INTEGER, get_time, EVENT(duration_ns) },
    { "device_ns", "device time", IFM_FIELD_INTEGER, get_known_time, EVENT(device_ns) },
    { "overhead_ns", "overhead", IFM_FIELD_INTEGER, get_known_time, EVENT(overhead_ns) },
    { "bytes", "bytes", IFM_FIELD_INTEGER, get_time, EVENT(bytes) },
    { "batch", "batch", IFM_FIELD_INTEGER, get_batch },
    { "block", "block", IFM_FIELD_INTEGER, get_number, EVENT(block) },
    { "first_stage", "first", IFM_FIELD_INTEGER, get_number, EVENT(first) },
    { "last_stage", "last", IFM_FIELD_INTEGER, get_number, EVENT(last) },
    { "failed", "failed", IFM_FIELD_BOOLEAN, get_failed },
    { NULL },
};

static void append_track(GString *out, EventRow *row, gsize track)
{
    gsize n;
    row->info = ifm_trace_track_info(row->trace, track);
    row->event = ifm_trace_events(row->trace, track, &n);
    for (gsize i = 0; i < n; i++, row->event++)
        ifm_csv_append_record(out, event_fields, row);
}

char *ifm_trace_events_to_csv(const IfmTrace *const *traces, gsize n_traces)
{
    GString *out = g_string_new(NULL);
    ifm_csv_append_header(out, event_fields);
    for (gsize i = 0; i < n_traces; i++)
    {
        EventRow row = { .trace = traces[i], .number = i };
        for (gsize track = 0; track < ifm_trace_n_tracks(traces[i]); track++)
            append_track(out, &row, track);
    }
    return g_string_free(out, FALSE);
}
