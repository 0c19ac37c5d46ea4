#include <string.h>

#include <base/fields.h>

#include "read-private.h"

/*
 * Nsight Systems' own export (nsys export --type=json or jsonlines): an object a line. One has the texts, which the others
 * name by number; each event is in an object of its kind, with times in ns as texts:
 *
 *     {"data": ["cudaLaunchKernel", "gemm", …]}
 *     {"Type": 48, "TraceProcessEvent": {"startNs", "endNs", "correlationId", "eventClass", "name", "globalTid"}}
 *     {"Type": 79, "CudaEvent": {"startNs", "endNs", "correlationId", "deviceId", "streamId", "globalPid", "kernel":
 * {"shortName"}}}
 *     {"Type": 59, "NvtxEvent": {"Timestamp", "EndTimestamp", "Text", "GlobalTid"}}
 *
 * Each becomes the event that PyTorch's profiler would have written of it.
 */

#define LINE_MAX_BYTES (1 << 26)
/* globalTid: 16 bits of the machine, 24 of the process, 24 of the thread */
#define PART_BITS 24
#define PART_MASK ((G_GINT64_CONSTANT(1) << PART_BITS) - 1)

typedef struct
{
    IfmTraceBuilder *builder;
    IfmRawEvent *raw;
    json_t *texts;
    gint64 at; /* of the line */
} Nsight;

gboolean ifm_nsight_begins(const char *text, gsize n)
{
    static const char *const keys[] = { "\"data\"", "\"Type\"", "\"files\"" };
    gsize at = 0;
    while (at < n && g_ascii_isspace(text[at]))
        at++;
    if (at == n || text[at++] != '{')
        return FALSE;
    while (at < n && g_ascii_isspace(text[at]))
        at++;
    for (gsize i = 0; i < G_N_ELEMENTS(keys); i++)
        if (n - at >= strlen(keys[i]) && memcmp(text + at, keys[i], strlen(keys[i])) == 0)
            return TRUE;
    return FALSE;
}

/* Numbers are numbers or texts. FALSE: it is neither. */
static gboolean number_of(const json_t *event, const char *key, gint64 *number)
{
    const json_t *value = json_object_get(event, key);
    const char *text = json_string_value(value);
    if (json_is_integer(value))
        *number = json_integer_value(value);
    return json_is_integer(value) || (text != NULL && ifm_decimal_parse(text, strlen(text), 0, number));
}

/* A text itself, or the number of one. */
static const char *text_of(const Nsight *self, const json_t *event, const char *key)
{
    gint64 index;
    if (number_of(event, key, &index))
        return index >= 0 ? json_string_value(json_array_get(self->texts, (gsize)index)) : NULL;
    return json_string_value(json_object_get(event, key));
}

static gboolean take_times(IfmRawEvent *raw, const json_t *event, const char *start, const char *end)
{
    gint64 end_ns;
    raw->phase = 'X';
    raw->has_ts = number_of(event, start, &raw->ts_ns);
    raw->has_dur = number_of(event, end, &end_ns);
    if (!raw->has_ts || !raw->has_dur)
        return ifm_raw_event_damage(raw, raw->at, "%s or %s: expected a whole number of ns", start, end);
    if (__builtin_sub_overflow(end_ns, raw->ts_ns, &raw->dur_ns) || raw->dur_ns < 0)
        return ifm_raw_event_damage(raw, raw->at, "%s is before %s", end, start);
    return TRUE;
}

static void take_name(IfmRawEvent *raw, const char *name, const char *category)
{
    g_autofree char *valid = g_utf8_make_valid(name != NULL ? name : "", -1);
    g_string_assign(raw->name, valid);
    if (raw->name->len > IFM_TRACE_MAX_TEXT)
        g_string_truncate(raw->name, (gsize)(g_utf8_find_prev_char(valid, valid + IFM_TRACE_MAX_TEXT) - valid));
    g_string_assign(raw->category, category);
}

static void take_thread(IfmRawEvent *raw, const json_t *event, const char *key)
{
    gint64 global = 0;
    if (!number_of(event, key, &global))
        ifm_raw_event_damage(raw, raw->at, "%s: expected a number", key);
    raw->pid = global >> PART_BITS & PART_MASK;
    raw->tid = global & PART_MASK;
}

/* Correlations count within a process. */
static gint64 correlation_of(const json_t *event, gint64 process)
{
    gint64 correlation = -1;
    if (!number_of(event, "correlationId", &correlation) || correlation <= 0 || correlation > G_MAXUINT32)
        return -1;
    return process << 32 | correlation;
}

static gboolean add_call(Nsight *self, const json_t *event)
{
    gint64 class = 0;
    number_of(event, "eventClass", &class);
    take_times(self->raw, event, "startNs", "endNs");
    take_thread(self->raw, event, "globalTid");
    take_name(self->raw, text_of(self, event, "name"), class <= 1 ? "cuda_api" : ""); /* 0: runtime, 1: driver */
    self->raw->correlation = correlation_of(event, self->raw->pid);
    return ifm_trace_builder_add(self->builder, self->raw);
}

static gboolean name_device(Nsight *self, gint64 device)
{
    IfmRawEvent *raw = self->raw;
    ifm_raw_event_reset(raw, self->at);
    raw->phase = 'M';
    raw->pid = device;
    raw->has_label = TRUE;
    g_string_assign(raw->name, "process_labels");
    g_string_printf(raw->label, "GPU %" G_GINT64_FORMAT, device);
    return ifm_trace_builder_add(self->builder, raw);
}

/* What streams wait for, and events that are recorded, run nothing. */
static gboolean add_on_device(Nsight *self, const json_t *event)
{
    static const struct
    {
        const char *member, *category;
    } kinds[] = { { "kernel", "kernel" }, { "memcpy", "gpu_memcpy" }, { "memset", "gpu_memset" } };
    gint64 process = 0, device = 0, stream = 0;
    gsize i = 0;
    while (i < G_N_ELEMENTS(kinds) && json_object_get(event, kinds[i].member) == NULL)
        i++;
    if (i == G_N_ELEMENTS(kinds))
        return TRUE;
    number_of(event, "deviceId", &device);
    if (!name_device(self, device))
        return FALSE;
    ifm_raw_event_reset(self->raw, self->at);
    take_times(self->raw, event, "startNs", "endNs");
    if (!number_of(event, "streamId", &stream))
        ifm_raw_event_damage(self->raw, self->at, "streamId: expected a number");
    number_of(event, "globalPid", &process);
    const char *name = i == 0 ? text_of(self, json_object_get(event, "kernel"), "shortName") : kinds[i].member;
    take_name(self->raw, name, kinds[i].category);
    self->raw->pid = device;
    self->raw->tid = stream;
    self->raw->correlation = correlation_of(event, process >> PART_BITS & PART_MASK);
    return ifm_trace_builder_add(self->builder, self->raw);
}

static gboolean add_range(Nsight *self, const json_t *event)
{
    gint64 end_ns;
    const char *text = text_of(self, event, json_object_get(event, "Text") != NULL ? "Text" : "TextId");
    if (json_is_string(json_object_get(event, "Text"))) /* which may consist of digits */
        text = json_string_value(json_object_get(event, "Text"));
    take_thread(self->raw, event, "GlobalTid");
    if (number_of(event, "EndTimestamp", &end_ns))
        take_times(self->raw, event, "Timestamp", "EndTimestamp");
    else
        take_times(self->raw, event, "Timestamp", "Timestamp");
    take_name(self->raw, text, "nvtx");
    return ifm_trace_builder_add(self->builder, self->raw);
}

static gboolean add_line(Nsight *self, const GString *line)
{
    g_autoptr(GError) error = NULL;
    json_auto_t *json = ifm_json_parse(line->str, line->len, "line", &error);
    const json_t *event;
    ifm_raw_event_reset(self->raw, self->at);
    if (json == NULL)
    {
        self->builder->n_raw++;
        self->builder->n_skipped++;
        ifm_trace_builder_count_damage(self->builder, self->at, "a line that is no JSON");
        return TRUE;
    }
    if (json_is_array(json_object_get(json, "data")))
    {
        json_decref(self->texts);
        self->texts = json_incref(json_object_get(json, "data"));
    }
    if ((event = json_object_get(json, "TraceProcessEvent")) != NULL)
        return add_call(self, event);
    if ((event = json_object_get(json, "CudaEvent")) != NULL)
        return add_on_device(self, event);
    event = json_object_get(json, "NvtxEvent");
    return event == NULL || add_range(self, event);
}

static gboolean end_line(Nsight *self, GString *line)
{
    gboolean good = TRUE;
    for (gsize i = 0; i < line->len; i++)
        if (!g_ascii_isspace(line->str[i]))
        {
            good = add_line(self, line);
            break;
        }
    self->at += (gint64)line->len + 1;
    g_string_truncate(line, 0);
    return good;
}

static gboolean add_piece(Nsight *self, const char *piece, gsize n, GString *line)
{
    for (const char *end = piece + n; piece < end;)
    {
        const char *line_end = memchr(piece, '\n', (gsize)(end - piece));
        gsize length = (gsize)((line_end != NULL ? line_end : end) - piece);
        if (line->len + length > LINE_MAX_BYTES)
            return ifm_trace_builder_fail(self->builder, IFM_ERROR_MEMORY, self->at, "a line of more than %d bytes",
                                          LINE_MAX_BYTES);
        g_string_append_len(line, piece, (gssize)length);
        if (line_end != NULL && !end_line(self, line))
            return FALSE;
        piece += length + (line_end != NULL);
    }
    return TRUE;
}

gint64 ifm_nsight_read(IfmTraceBuilder *builder, IfmRawEvent *raw, IfmTraceSource *source, GError **error)
{
    Nsight self = { .builder = builder, .raw = raw };
    g_autoptr(GString) line = g_string_new(NULL);
    g_autofree char *piece = g_malloc(1 << 16);
    gsize n = 0;
    gboolean good = TRUE;
    do
    {
        g_autoptr(GError) trouble = NULL;
        if (!ifm_trace_source_read(source, piece, 1 << 16, &n, &trouble) && !ifm_trace_source_is_cut(source))
        {
            g_propagate_error(error, g_steal_pointer(&trouble));
            good = FALSE;
        }
        builder->is_packed = ifm_trace_source_is_packed(source);
        good = good && add_piece(&self, piece, n, line);
    } while (good && n > 0);
    good = good && end_line(&self, line); /* the last line may lack its end */
    json_decref(self.texts);
    return good ? self.at : -1;
}
