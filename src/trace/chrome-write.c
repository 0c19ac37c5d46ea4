/* Traces as a file of Chrome trace events, plain or gzip. */
#include <base/base.h>
#include <base/fields.h>
#include <gio/gio.h>
#include <stdlib.h>
#include <string.h>

#include "write-private.h"

#define FLUSH_BYTES (1 << 16)

/* --- bytes to the file ------------------------------------------------------------------------------------------------ */

typedef struct
{
    IfmFileWriter *file;
    GConverter *gzip; /* NULL: plain */
    GString *text;    /* not written yet */
    GError **error;
    gboolean failed; /* nothing more is written then */
    gboolean any;    /* an event was written */
    guint64 n_ids;   /* of asynchronous slices and flows */
    gsize index;     /* of the trace in the file */
} Writer;

static void write_compressed(Writer *self, gboolean last)
{
    static const gsize room = FLUSH_BYTES;
    g_autofree char *packed = g_malloc(room);
    const char *rest = self->text->str;
    gsize n_rest = self->text->len;
    GConverterResult result = G_CONVERTER_CONVERTED;
    while (!self->failed && result != G_CONVERTER_FINISHED && (n_rest > 0 || last))
    {
        gsize n_read = 0, n_written = 0;
        result =
            g_converter_convert(self->gzip, rest, n_rest, packed, room,
                                last ? G_CONVERTER_INPUT_AT_END : G_CONVERTER_NO_FLAGS, &n_read, &n_written, self->error);
        self->failed = result == G_CONVERTER_ERROR || !ifm_file_writer_write(self->file, packed, n_written, self->error);
        rest += n_read;
        n_rest -= n_read;
    }
}

static void flush(Writer *self, gboolean last)
{
    if (self->failed)
        return;
    if (self->gzip != NULL)
        write_compressed(self, last);
    else
        self->failed = !ifm_file_writer_write(self->file, self->text->str, self->text->len, self->error);
    g_string_truncate(self->text, 0);
}

/* --- values ----------------------------------------------------------------------------------------------------------- */

static void add(Writer *self, const char *text)
{
    g_string_append(self->text, text);
}

static void add_unsigned(Writer *self, guint64 value)
{
    char digits[20];
    gsize at = sizeof digits;
    do
        digits[--at] = (char)('0' + value % 10);
    while ((value /= 10) > 0);
    g_string_append_len(self->text, digits + at, (gssize)(sizeof digits - at));
}

static void add_integer(Writer *self, gint64 value)
{
    if (value < 0)
        g_string_append_c(self->text, '-');
    add_unsigned(self, value < 0 ? -(guint64)value : (guint64)value);
}

/* us with three decimals, which is exact in ns. */
static void add_us(Writer *self, guint64 ns)
{
    guint rest = (guint)(ns % 1000);
    char decimals[] = { '.', (char)('0' + rest / 100), (char)('0' + rest / 10 % 10), (char)('0' + rest % 10) };
    add_unsigned(self, ns / 1000);
    g_string_append_len(self->text, decimals, sizeof decimals);
}

static void append_quoted(GString *out, const char *text)
{
    g_autofree char *valid = g_utf8_make_valid(text, -1);
    g_string_append_c(out, '"');
    for (const char *at = valid; *at != '\0'; at++)
        if (*at == '"' || *at == '\\')
            g_string_append_printf(out, "\\%c", *at);
        else if ((guchar)*at < 0x20 || *at == 0x7f)
            g_string_append_printf(out, "\\u%04x", (guint)*at);
        else
            g_string_append_c(out, *at);
    g_string_append_c(out, '"');
}

static void add_text(Writer *self, const char *text)
{
    if (text == NULL)
        add(self, "null");
    else
        append_quoted(self->text, text);
}

/* A name is quoted only once, however many events have it. */
static const char *quoted_name(IfmTraceLayout *layout, guint32 name)
{
    g_assert(name < layout->n_texts);
    if (layout->texts[name] == NULL)
    {
        g_autoptr(GString) quoted = g_string_new(NULL);
        append_quoted(quoted, ifm_trace_text(layout->trace, name));
        layout->texts[name] = g_string_free(g_steal_pointer(&quoted), FALSE);
    }
    return layout->texts[name];
}

/* --- events ----------------------------------------------------------------------------------------------------------- */

static void begin_event(Writer *self, const char *phase, gint64 pid, gint64 tid)
{
    if (self->text->len >= FLUSH_BYTES)
        flush(self, FALSE);
    add(self, self->any ? ",\n{\"ph\":\"" : "\n{\"ph\":\"");
    self->any = TRUE;
    add(self, phase);
    add(self, "\",\"pid\":");
    add_integer(self, pid);
    add(self, ",\"tid\":");
    add_integer(self, tid);
}

static void add_id(Writer *self, guint64 id)
{
    add(self, ",\"id\":\"");
    add_unsigned(self, id);
    add(self, "\"");
}

typedef struct
{
    Writer *writer;
    gboolean any;
} Arguments;

static Writer *argument(Arguments *self, const char *key)
{
    add(self->writer, self->any ? ",\"" : ",\"args\":{\"");
    add(self->writer, key);
    add(self->writer, "\":");
    self->any = TRUE;
    return self->writer;
}

static void integer_argument(Arguments *self, const char *key, gint64 value, gint64 absent)
{
    if (value != absent)
        add_integer(argument(self, key), value);
}

/* @recorded: the index among the track's events if the file has another order; -1 */
static void add_arguments(Writer *self, IfmTraceLayout *layout, const IfmEvent *event, gint64 recorded)
{
    Arguments arguments = { self, FALSE };
    integer_argument(&arguments, "batch", event->batch, -1);
    integer_argument(&arguments, "block", event->block, 0);
    if (event->first != 0 || event->last != 0)
    {
        Writer *out = argument(&arguments, "stages");
        add(out, "[");
        add_integer(out, event->first);
        add(out, ",");
        add_integer(out, event->last);
        add(out, "]");
    }
    integer_argument(&arguments, "device_ns", event->device_ns, -1);
    integer_argument(&arguments, "overhead_ns", event->overhead_ns, -1);
    integer_argument(&arguments, "bytes", event->bytes, 0);
    if (event->provider != 0)
        add(argument(&arguments, "provider"), quoted_name(layout, event->provider));
    if (event->duration_ns < 0) /* "dur" cannot be below 0 */
        integer_argument(&arguments, "duration_ns", event->duration_ns, 0);
    if (event->failed)
        add(argument(&arguments, "failed"), "true");
    integer_argument(&arguments, "recorded", recorded, -1);
    if (arguments.any)
        add(self, "}");
}

static void add_head(Writer *self, const char *quoted, const IfmEvent *event, guint64 start_ns)
{
    add(self, ",\"ts\":");
    add_us(self, start_ns);
    add(self, ",\"name\":");
    add(self, quoted);
    add(self, ",\"cat\":\"");
    add(self, ifm_event_kind_name((IfmEventKind)event->kind));
    add(self, "\"");
}

static void write_event(Writer *self, IfmTraceLayout *layout, const IfmTrackLayout *track, const IfmEvent *event,
                        guint8 lane, gint64 recorded)
{
    const char *quoted = quoted_name(layout, event->name);
    guint64 start_ns = (guint64)event->start_ns - (guint64)layout->origin_ns;
    guint64 duration_ns = (guint64)MAX(event->duration_ns, 0);
    gboolean async = lane == IFM_LANE_ASYNC;
    gint64 tid = track->tids[async ? 0 : lane];
    begin_event(self, async ? "b" : "X", track->pid, tid);
    add_head(self, quoted, event, start_ns);
    if (async)
        add_id(self, ++self->n_ids);
    else
    {
        add(self, ",\"dur\":");
        add_us(self, duration_ns);
    }
    add_arguments(self, layout, event, recorded);
    add(self, "}");
    if (!async)
        return;
    begin_event(self, "e", track->pid, tid);
    add_head(self, quoted, event, start_ns + duration_ns);
    add_id(self, self->n_ids);
    add(self, "}");
}

static void write_track(Writer *self, IfmTraceLayout *layout, gsize index)
{
    const IfmTrackLayout *track = &layout->tracks[index];
    gsize n;
    const IfmEvent *events = ifm_trace_events(layout->trace, index, &n);
    for (gsize place = 0; place < track->n && !self->failed; place++)
    {
        gsize i = ifm_track_layout_event(track, place);
        write_event(self, layout, track, &events[i], track->lanes[place], track->order != NULL ? (gint64)i : -1);
    }
}

static void write_flows(Writer *self, const IfmTraceLayout *layout)
{
    g_autoptr(GArray) steps = ifm_trace_flows(layout);
    for (guint i = 0; i < steps->len && !self->failed; i++)
    {
        const IfmFlowStep *step = &g_array_index(steps, IfmFlowStep, i);
        gboolean first = i == 0 || (step - 1)->batch != step->batch;
        gboolean last = i + 1 == steps->len || (step + 1)->batch != step->batch;
        begin_event(self, first ? "s" : last ? "f" : "t", step->pid, step->tid);
        add(self, ",\"ts\":");
        add_us(self, (guint64)step->start_ns - (guint64)layout->origin_ns);
        add(self, ",\"bp\":\"e\",\"name\":\"batch\",\"cat\":\"flow\"");
        add_id(self, first ? ++self->n_ids : self->n_ids);
        add(self, "}");
    }
}

/* --- counters --------------------------------------------------------------------------------------------------------- */

/* The count after each moment at which it changes. */
static void write_counter(Writer *self, const IfmTraceLayout *layout, const IfmTrackLayout *place, const char *name,
                          GArray *changes)
{
    gint64 count = 0, written = 0;
    ifm_trace_sort_changes(changes);
    for (guint i = 0; i < changes->len && !self->failed; i++)
    {
        const IfmTraceChange *change = &g_array_index(changes, IfmTraceChange, i);
        count += change->by;
        if ((i + 1 < changes->len && (change + 1)->at_ns == change->at_ns) || count == written)
            continue;
        written = count;
        begin_event(self, "C", place->pid, place->tids[0]);
        add(self, ",\"ts\":");
        add_us(self, (guint64)change->at_ns - (guint64)layout->origin_ns);
        add(self, ",\"name\":");
        add_text(self, name);
        add(self, ",\"args\":{\"count\":");
        add_integer(self, count);
        add(self, "}}");
    }
}

/* How many batches wait in each queue, and how many devices are at work (each stream of one for itself). */
static void write_counters(Writer *self, const IfmTraceLayout *layout)
{
    g_autoptr(GArray) busy = g_array_new(FALSE, FALSE, sizeof(IfmTraceChange));
    const IfmTrackLayout *first = NULL;
    for (gsize i = 0; i < layout->n_tracks && !self->failed; i++)
    {
        const IfmTrackInfo *info = ifm_trace_track_info(layout->trace, i);
        g_autoptr(GArray) waiting = g_array_new(FALSE, FALSE, sizeof(IfmTraceChange));
        if (info->kind == IFM_TRACK_DEVICE)
        {
            ifm_trace_add_changes(busy, layout->trace, i, IFM_EVENT_INFER);
            first = first != NULL ? first : &layout->tracks[i];
        }
        else if (info->kind == IFM_TRACK_QUEUE)
            ifm_trace_add_changes(waiting, layout->trace, i, IFM_EVENT_QUEUE);
        g_autofree char *name = g_strdup_printf("%s: batches", info->thread != NULL ? info->thread : "queue");
        if (waiting->len > 0)
            write_counter(self, layout, &layout->tracks[i], name, waiting);
    }
    if (first != NULL && busy->len > 0)
        write_counter(self, layout, first, "busy devices", busy);
}

/* --- names of processes and threads ----------------------------------------------------------------------------------- */

/* A metadata event up to the value of its argument. */
static void begin_metadata(Writer *self, const char *what, gint64 pid, gint64 tid, const char *argument)
{
    begin_event(self, "M", pid, tid);
    add(self, ",\"name\":\"");
    add(self, what);
    add(self, "\",\"args\":{\"");
    add(self, argument);
    add(self, "\":");
}

static void write_name(Writer *self, const char *what, gint64 pid, gint64 tid, const char *name)
{
    begin_metadata(self, what, pid, tid, "name");
    add_text(self, name);
    add(self, "}}");
}

static void write_rank(Writer *self, const char *what, gint64 pid, gint64 tid, guint64 rank)
{
    begin_metadata(self, what, pid, tid, "sort_index");
    add_unsigned(self, rank);
    add(self, "}}");
}

static void write_process(Writer *self, const IfmTraceLayout *layout, const char *process, gint64 pid, gboolean several)
{
    const char *name = process != NULL ? process : "", *trace = ifm_trace_name(layout->trace);
    g_autofree char *both = g_strdup_printf("%s: %s", trace, name);
    write_name(self, "process_name", pid, 0, several && !g_str_equal(trace, name) ? both : name);
    write_rank(self, "process_sort_index", pid, 0, self->index);
}

static void write_names(Writer *self, const IfmTraceLayout *layout, gboolean several)
{
    g_autoptr(GHashTable) named = g_hash_table_new(g_int64_hash, g_int64_equal);
    for (gsize i = 0; i < layout->n_tracks && !self->failed; i++)
    {
        IfmTrackLayout *track = &layout->tracks[i];
        const IfmTrackInfo *info = ifm_trace_track_info(layout->trace, i);
        if (g_hash_table_add(named, &track->pid))
            write_process(self, layout, info->process, track->pid, several);
        for (gsize lane = 0; lane < track->n_lanes; lane++)
        {
            const char *thread = info->thread != NULL ? info->thread : "";
            g_autofree char *further = g_strdup_printf("%s (overlapping %zu)", thread, lane);
            write_name(self, "thread_name", track->pid, track->tids[lane], lane > 0 ? further : thread);
            write_rank(self, "thread_sort_index", track->pid, track->tids[lane], i);
        }
    }
}

/* --- the head of the file: what reading it back exactly needs --------------------------------------------------------- */

static void write_track_info(Writer *self, const IfmTraceLayout *layout, gsize index)
{
    const IfmTrackLayout *track = &layout->tracks[index];
    IfmTraceTrack *recorded = ifm_trace_track(layout->trace, index);
    g_autoptr(GArray) tids = g_array_new(FALSE, FALSE, sizeof(gint64));
    g_array_append_vals(tids, track->tids, (guint)track->n_lanes);
    const IfmTrackHead head = { recorded->info,
                                (gint64)atomic_load_explicit(&recorded->track.n_dropped, memory_order_acquire), track->pid,
                                tids };
    json_auto_t *json = ifm_record_to_json(&head, ifm_track_head_fields);
    g_autofree char *text = json_dumps(json, JSON_COMPACT);
    add(self, "\n");
    add(self, text);
}

static void write_trace_info(Writer *self, const IfmTraceLayout *layout)
{
    char *meta = json_dumps(ifm_trace_meta(layout->trace), JSON_COMPACT);
    add(self, "\n{\"name\":");
    add_text(self, ifm_trace_name(layout->trace));
    add(self, ",\"start_ns\":");
    add_integer(self, layout->origin_ns);
    add(self, ",\"meta\":");
    add(self, meta != NULL ? meta : "{}");
    free(meta);
    add(self, ",\"tracks\":[");
    for (gsize i = 0; i < layout->n_tracks; i++)
    {
        add(self, i > 0 ? "," : "");
        write_track_info(self, layout, i);
    }
    add(self, "]}");
}

/* The depth of a value; @max + 1 for deeper ones. */
static int depth_of(const json_t *json, int max)
{
    const char *key;
    json_t *value;
    gsize i;
    int deepest = 0;
    if (max == 0)
        return json_is_object(json) || json_is_array(json);
    if (json_is_object(json))
    {
        json_object_foreach((json_t *)json, key, value) deepest = MAX(deepest, depth_of(value, max - 1));
        return deepest + 1;
    }
    json_array_foreach(json, i, value) deepest = MAX(deepest, depth_of(value, max - 1));
    return json_is_array(json) ? deepest + 1 : 0;
}

/* What is written must be readable: readers bound the depth. */
static gboolean check_meta(const IfmTrace *trace, const char *path, GError **error)
{
    return depth_of(ifm_trace_meta(trace), IFM_TRACE_META_DEPTH) <= IFM_TRACE_META_DEPTH ||
           ifm_error_refuse(error, "%s: the meta of trace '%s' nest deeper than %d levels", path, ifm_trace_name(trace),
                            IFM_TRACE_META_DEPTH);
}

/* --- all of it -------------------------------------------------------------------------------------------------------- */

static gboolean write_all(Writer *self, IfmTraceLayout *layouts, gsize n)
{
    add(self, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"" IFM_TRACE_MARK "\":1,\"traces\":[");
    for (gsize i = 0; i < n; i++)
    {
        add(self, i > 0 ? "," : "");
        write_trace_info(self, &layouts[i]);
    }
    add(self, "]},\n\"traceEvents\":[");
    for (self->index = 0; self->index < n; self->index++)
        write_names(self, &layouts[self->index], n > 1);
    for (gsize i = 0; i < n; i++)
        for (gsize track = 0; track < layouts[i].n_tracks; track++)
            write_track(self, &layouts[i], track);
    for (gsize i = 0; i < n; i++)
        write_flows(self, &layouts[i]);
    for (gsize i = 0; i < n; i++)
        write_counters(self, &layouts[i]);
    add(self, "\n]}\n");
    flush(self, TRUE);
    return !self->failed;
}

gboolean ifm_trace_write(const IfmTrace *const *traces, gsize n_traces, const char *path, GError **error)
{
    g_assert(n_traces > 0);
    for (gsize i = 0; i < n_traces; i++)
        if (!check_meta(traces[i], path, error))
            return FALSE;
    IfmTraceLayout *layouts = ifm_trace_layouts_new(traces, n_traces, error);
    if (layouts == NULL)
        return ifm_error_prefix(error, "%s: ", path);
    g_autoptr(IfmFileWriter) file = ifm_file_writer_open(path, TRUE, error);
    Writer writer = { .file = file, .text = g_string_sized_new(2 * FLUSH_BYTES), .error = error };
    if (g_str_has_suffix(path, ".gz"))
        writer.gzip = G_CONVERTER(g_zlib_compressor_new(G_ZLIB_COMPRESSOR_FORMAT_GZIP, -1));
    gboolean written = file != NULL && write_all(&writer, layouts, n_traces) && ifm_file_writer_commit(file, error);
    ifm_trace_layouts_free(layouts, n_traces);
    g_string_free(writer.text, TRUE);
    g_clear_object(&writer.gzip);
    return written;
}
