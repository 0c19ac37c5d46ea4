#include <document/document.h>

#include "trace-page.h"

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

#define INFO(member) IFM_MEMBER_VIA(EventRow, info, member)
#define UNKNOWN -1
#define EVENT(member, ...) IFM_MEMBER_VIA(EventRow, event, member, ##__VA_ARGS__)

static const IfmField event_fields[] = {
    { "trace", "trace", IFM_FIELD_INTEGER, IFM_MEMBER(EventRow, number) },
    { "trace_name", "trace name", IFM_FIELD_TEXT, get_trace_name },
    { "process", "process", IFM_FIELD_TEXT, INFO(process) },
    { "thread", "thread", IFM_FIELD_TEXT, INFO(thread) },
    { "device", "device", IFM_FIELD_TEXT, INFO(device) },
    { "stream", "stream", IFM_FIELD_INTEGER, get_stream },
    { "kind", "kind", IFM_FIELD_TEXT, get_kind },
    { "name", "name", IFM_FIELD_TEXT, get_name },
    { "start_ns", "start", IFM_FIELD_INTEGER, EVENT(start_ns) },
    { "duration_ns", "duration", IFM_FIELD_INTEGER, EVENT(duration_ns) },
    { "device_ns", "device time", IFM_FIELD_INTEGER, EVENT(device_ns, .some = TRUE, .above = UNKNOWN) },
    { "overhead_ns", "overhead", IFM_FIELD_INTEGER, EVENT(overhead_ns, .some = TRUE, .above = UNKNOWN) },
    { "bytes", "bytes", IFM_FIELD_INTEGER, EVENT(bytes) },
    { "batch", "batch", IFM_FIELD_INTEGER, EVENT(batch, .some = TRUE, .above = UNKNOWN) },
    { "block", "block", IFM_FIELD_INTEGER, EVENT(block, .some = TRUE) },
    { "first_stage", "first", IFM_FIELD_INTEGER, EVENT(first, .some = TRUE) },
    { "last_stage", "last", IFM_FIELD_INTEGER, EVENT(last, .some = TRUE) },
    { "failed", "failed", IFM_FIELD_BOOLEAN, EVENT(failed) },
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
