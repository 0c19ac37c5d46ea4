/* A trace built from the events of a file, one after another. */
#include <base/base.h>
#include <string.h>

#include "read-private.h"

/* --- the current event ------------------------------------------------------------------------------------------------ */

void ifm_raw_event_init(IfmRawEvent *self)
{
    *self = (IfmRawEvent){ .phase = 0 };
    for (gsize i = 0; i < G_N_ELEMENTS(self->texts); i++)
        self->texts[i] = g_string_new(NULL);
}

void ifm_raw_event_reset(IfmRawEvent *self, gint64 at)
{
    IfmRawEvent fresh = {
        .at = at, .batch = -1, .device_ns = -1, .overhead_ns = -1, .recorded = -1, .correlation = -1, .operator_id = -1
    };
    g_free(self->damage);
    memcpy(fresh.texts, self->texts, sizeof fresh.texts);
    *self = fresh;
    for (gsize i = 0; i < G_N_ELEMENTS(self->texts); i++)
        g_string_truncate(self->texts[i], 0);
}

gboolean ifm_raw_event_damage(IfmRawEvent *self, gint64 at, const char *format, ...)
{
    va_list arguments;
    if (self->damage != NULL)
        return TRUE;
    va_start(arguments, format);
    self->damage = g_strdup_vprintf(format, arguments);
    self->damage_at = at;
    va_end(arguments);
    return TRUE;
}

void ifm_raw_event_clear(IfmRawEvent *self)
{
    for (gsize i = 0; i < G_N_ELEMENTS(self->texts); i++)
        g_string_free(self->texts[i], TRUE);
    g_clear_pointer(&self->damage, g_free);
}

/* The first number given to a pid or tid that is a string; few systems have such large ones. */
#define FIRST_NUMBER (G_GINT64_CONSTANT(1) << 40)

/* --- the builder ------------------------------------------------------------------------------------------------------ */

static void slot_free(gpointer data)
{
    IfmTraceSlot *slot = data;
    g_clear_pointer(&slot->open, g_array_unref);
    g_clear_pointer(&slot->providers, g_hash_table_unref);
    g_free(slot);
}

void ifm_trace_builder_init(IfmTraceBuilder *self, const char *file, const IfmTraceLimits *limits)
{
    memset(self, 0, sizeof *self);
    self->file = file;
    self->max_events = limits != NULL && limits->max_events > 0 ? limits->max_events : 20000000;
    self->max_names = limits != NULL && limits->max_names > 0 ? limits->max_names : 1000000;
    self->traces = g_ptr_array_new_with_free_func((GDestroyNotify)ifm_trace_free);
    self->origins_ns = g_array_new(FALSE, FALSE, sizeof(gint64));
    self->slots = g_ptr_array_new_with_free_func(slot_free);
    self->places = g_hash_table_new(ifm_trace_place_hash, ifm_trace_place_equal);
    self->pending = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_array_unref);
    self->labels = g_hash_table_new_full(ifm_trace_place_hash, ifm_trace_place_equal, g_free, g_free);
    self->numbers = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    self->texts = g_ptr_array_new();
    self->scratch = g_string_new(NULL);
    self->damages = g_string_new(NULL);
    ifm_launches_init(&self->launches);
    self->last_ns = G_MININT64;
}

void ifm_trace_builder_clear(IfmTraceBuilder *self)
{
    g_clear_pointer(&self->traces, g_ptr_array_unref);
    g_array_unref(self->origins_ns);
    g_hash_table_unref(self->places);
    g_ptr_array_unref(self->slots);
    g_hash_table_unref(self->pending);
    g_hash_table_unref(self->labels);
    g_ptr_array_unref(self->texts);
    g_hash_table_unref(self->numbers);
    g_string_free(self->scratch, TRUE);
    g_string_free(self->damages, TRUE);
    ifm_launches_clear(&self->launches);
    g_clear_error(&self->error);
}

gboolean ifm_trace_builder_fail(IfmTraceBuilder *self, IfmErrorCode code, gint64 at, const char *format, ...)
{
    va_list arguments;
    if (self->error != NULL)
        return FALSE;
    va_start(arguments, format);
    g_autofree char *what = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    return ifm_error_set(&self->error, code, "%s: byte %" G_GINT64_FORMAT "%s: %s", self->file, at,
                         self->is_packed ? " of what is packed" : "", what);
}

char *ifm_trace_shown(const char *text, gsize length)
{
    static const gsize max = 40;
    g_autofree char *valid = g_utf8_make_valid(text, (gssize)MIN(length, max));
    for (char *at = valid; *at != '\0'; at++)
        if ((guchar)*at < 0x20 || *at == 0x7f)
            *at = ' ';
    return g_strconcat(valid, length > max ? "…" : "", NULL);
}

gboolean ifm_trace_builder_number(IfmTraceBuilder *self, const char *text, gsize length, gint64 at, gint64 *number)
{
    if (memchr(text, '.', length) == NULL && ifm_decimal_parse(text, length, 0, number))
        return TRUE;
    g_autofree char *key = g_strndup(text, MIN(length, IFM_TRACE_MAX_TEXT));
    gint64 *known = g_hash_table_lookup(self->numbers, key);
    if (known == NULL && self->texts->len >= IFM_TRACE_MAX_TRACKS)
        return ifm_trace_builder_fail(self, IFM_ERROR_MEMORY, at, "more than %d different texts as pid or tid",
                                      IFM_TRACE_MAX_TRACKS);
    if (known == NULL)
    {
        gint64 chosen = FIRST_NUMBER + self->texts->len;
        known = g_memdup2(&chosen, sizeof chosen);
        g_ptr_array_add(self->texts, key);
        g_hash_table_insert(self->numbers, g_steal_pointer(&key), known);
    }
    *number = *known;
    return TRUE;
}

const char *ifm_trace_builder_text(const IfmTraceBuilder *self, gint64 number)
{
    gint64 index = number < FIRST_NUMBER ? -1 : number - FIRST_NUMBER;
    return index >= 0 && index < self->texts->len ? g_ptr_array_index(self->texts, (guint)index) : NULL;
}

/* --- tracks ----------------------------------------------------------------------------------------------------------- */

gboolean ifm_trace_builder_add_slot(IfmTraceBuilder *self, IfmTrack *track, guint trace, const IfmTracePlace *place,
                                    IfmTraceSlot **slot)
{
    if (g_hash_table_contains(self->places, place) || self->slots->len >= IFM_TRACE_MAX_TRACKS)
        return FALSE;
    IfmTraceSlot *added = g_new0(IfmTraceSlot, 1);
    added->track = track;
    added->trace = trace;
    added->place = *place;
    added->number = self->slots->len;
    added->first = added;
    g_ptr_array_add(self->slots, added);
    g_hash_table_add(self->places, &added->place);
    /* The key is inside the slot, so one leads to the other. */
    if (slot != NULL)
        *slot = added;
    return TRUE;
}

static IfmTraceSlot *look_up(IfmTraceBuilder *self, gint64 pid, gint64 tid, gboolean is_async)
{
    IfmTracePlace place = { pid, tid, is_async };
    char *known = g_hash_table_lookup(self->places, &place); /* the key, which is inside its slot */
    return known != NULL ? (IfmTraceSlot *)(void *)(known - G_STRUCT_OFFSET(IfmTraceSlot, place)) : NULL;
}

/* The trace that has a process: events that another program added to one of our files belong to that trace. */
static guint trace_of_process(const IfmTraceBuilder *self, gint64 pid)
{
    for (guint i = 0; self->is_ours && self->traces->len > 1 && i < self->slots->len; i++)
    {
        const IfmTraceSlot *slot = g_ptr_array_index(self->slots, i);
        if (slot->place.pid == pid)
            return slot->trace;
    }
    return 0;
}

static IfmTraceSlot *find_slot(IfmTraceBuilder *self, const IfmRawEvent *raw, gboolean is_async)
{
    IfmTraceSlot *slot = look_up(self, raw->pid, raw->tid, FALSE);
    if (slot != NULL && (!is_async || slot->is_ours))
        return slot;
    if (is_async)
        slot = look_up(self, raw->pid, raw->tid, TRUE);
    if (slot != NULL)
        return slot;
    if (self->traces->len == 0)
    {
        g_autofree char *name = g_path_get_basename(self->file);
        static const gint64 origin_ns = 0;
        g_ptr_array_add(self->traces, ifm_trace_new(name));
        g_array_append_val(self->origins_ns, origin_ns);
    }
    guint trace = trace_of_process(self, raw->pid);
    if (self->slots->len >= IFM_TRACE_MAX_TRACKS)
    {
        ifm_trace_builder_fail(self, IFM_ERROR_MEMORY, raw->at, "more than %d threads: the file is no trace of one program",
                               IFM_TRACE_MAX_TRACKS);
        return NULL;
    }
    IfmTrackInfo info = { .kind = is_async ? IFM_TRACK_QUEUE : IFM_TRACK_FOREIGN, .pid = raw->pid, .tid = raw->tid };
    IfmTracePlace place = { raw->pid, raw->tid, is_async };
    IfmTrack *track = ifm_trace_add_track_as(g_ptr_array_index(self->traces, trace), &info, 0);
    ifm_trace_builder_add_slot(self, track, trace, &place, &slot);
    return slot;
}

/* --- events ----------------------------------------------------------------------------------------------------------- */

static gboolean count_event(IfmTraceBuilder *self, gint64 at)
{
    return self->n_events++ < self->max_events ||
           ifm_trace_builder_fail(self, IFM_ERROR_MEMORY, at, "more than %zu events, which is the limit of what is read",
                                  self->max_events);
}

static gboolean intern(IfmTraceBuilder *self, const IfmRawEvent *raw, guint trace, const char *text, guint32 *name)
{
    IfmTrace *into = g_ptr_array_index(self->traces, trace);
    *name = ifm_trace_intern(into, text);
    if (into->texts->len <= self->max_names + 1) /* the empty one always exists */
        return TRUE;
    return ifm_trace_builder_fail(self, IFM_ERROR_MEMORY, raw->at,
                                  "more than %zu different names, which is the limit of what is read", self->max_names);
}

static const char *name_of_node(IfmTraceBuilder *self, const IfmRawEvent *raw)
{
    static const char suffix[] = "_kernel_time";
    gsize length = raw->name->len;
    if (g_str_has_suffix(raw->name->str, suffix))
        length -= strlen(suffix);
    g_string_assign(self->scratch, raw->op->str);
    g_string_append_c(self->scratch, ' ');
    g_string_append_len(self->scratch, raw->name->str, (gssize)length);
    return self->scratch->str;
}

/* Returns: FALSE, and the event is damaged. */
static gboolean narrow(IfmRawEvent *raw, const char *key, gint64 value, gint64 min, gint64 max)
{
    return (value >= min && value <= max) ||
           !ifm_raw_event_damage(raw, raw->at,
                                 "args.%s: found %" G_GINT64_FORMAT ", expected %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT,
                                 key, value, min, max);
}

/* Arguments that only our own files have. */
static gboolean take_arguments(IfmRawEvent *raw, IfmTraceSlot *slot, IfmEvent *event)
{
    int kind = ifm_event_kind_find(raw->category->str, (gssize)raw->category->len);
    if (!narrow(raw, "batch", raw->batch, G_MININT32, G_MAXINT32) || !narrow(raw, "block", raw->block, 0, G_MAXUINT16) ||
        !narrow(raw, "stages[0]", raw->first, 0, G_MAXUINT16) || !narrow(raw, "stages[1]", raw->last, 0, G_MAXUINT16) ||
        !narrow(raw, "recorded", raw->recorded, -1, G_MAXUINT32))
        return FALSE;
    event->kind = (guint8)(kind >= 0 ? kind : IFM_EVENT_OTHER);
    event->batch = (gint32)raw->batch;
    event->block = (guint16)raw->block;
    event->first = (guint16)raw->first;
    event->last = (guint16)raw->last;
    event->device_ns = raw->device_ns;
    event->overhead_ns = raw->overhead_ns;
    event->bytes = raw->bytes;
    event->failed = (guint8)raw->failed;
    if (raw->has_duration)
        event->duration_ns = raw->duration_ns;
    if (raw->recorded >= 0)
    {
        slot->first->reordered = TRUE;
        event->provider = (guint32)raw->recorded; /* until all events are there: put_in_order() */
    }
    return TRUE;
}

/* Returns: FALSE, and the event is damaged. */
static gboolean out_of_range(IfmRawEvent *raw)
{
    return !ifm_raw_event_damage(raw, raw->at,
                                 "the event's time is out of range: expected a start and an end within 2^63 ns");
}

/* The provider of a node, once its place in the track is known. */
static gboolean take_provider(IfmTraceBuilder *self, const IfmRawEvent *raw, IfmTraceSlot *slot, IfmEvent *event)
{
    guint32 provider;
    if (event->kind != IFM_EVENT_NODE || raw->provider->len == 0)
        return TRUE;
    if (!intern(self, raw, slot->trace, raw->provider->str, &provider))
        return FALSE;
    if (raw->recorded < 0 || !slot->is_ours)
    {
        event->provider = provider;
        return TRUE;
    }
    if (slot->first->providers == NULL)
        slot->first->providers = g_hash_table_new(NULL, NULL);
    g_hash_table_insert(slot->first->providers, GUINT_TO_POINTER((guint32)raw->recorded), GUINT_TO_POINTER(provider));
    return TRUE;
}

/* Returns: FALSE if the event is damaged (raw->damage), or for an error. */
static gboolean make_event(IfmTraceBuilder *self, IfmRawEvent *raw, IfmTraceSlot *slot, gint64 duration_ns, IfmEvent *event)
{
    gint64 end_ns;
    guint32 name = 0;
    *event = IFM_EVENT_INIT;
    event->kind = (guint8)(slot->is_ours ? IFM_EVENT_OTHER : ifm_raw_event_kind(raw));
    event->duration_ns = duration_ns;
    if (__builtin_add_overflow(raw->ts_ns, g_array_index(self->origins_ns, gint64, slot->trace), &event->start_ns))
        return out_of_range(raw);
    if (slot->is_ours && !take_arguments(raw, slot, event))
        return FALSE;
    if (__builtin_add_overflow(event->start_ns, event->duration_ns, &end_ns))
        return out_of_range(raw);
    self->last_ns = MAX(self->last_ns, MAX(event->start_ns, end_ns));
    gboolean is_node = event->kind == IFM_EVENT_NODE && !slot->is_ours;
    if (!intern(self, raw, slot->trace, is_node ? name_of_node(self, raw) : raw->name->str, &name))
        return FALSE;
    event->name = name;
    return take_provider(self, raw, slot, event);
}

static gboolean append(IfmTraceBuilder *self, IfmTraceSlot *slot, const IfmEvent *event, gint64 at)
{
    return ifm_track_append(slot->track, event) ||
           ifm_trace_builder_fail(self, IFM_ERROR_MEMORY, at, "no memory for more events");
}

/* X events, and instants, which have no duration. */
static gboolean add_whole(IfmTraceBuilder *self, IfmRawEvent *raw, gint64 duration_ns, gboolean is_async)
{
    IfmEvent event;
    IfmTraceSlot *slot = count_event(self, raw->at) ? find_slot(self, raw, is_async) : NULL;
    if (slot == NULL || !make_event(self, raw, slot, duration_ns, &event))
        return FALSE;
    if (!slot->is_ours && raw->phase == 'X')
        ifm_launches_add(&self->launches, raw, slot, &event);
    return append(self, slot, &event, raw->at);
}

static gboolean push(IfmTraceBuilder *self, IfmRawEvent *raw, IfmTraceSlot *slot, GArray *stack)
{
    IfmEvent event;
    if (!make_event(self, raw, slot, 0, &event))
        return FALSE;
    g_array_append_val(stack, event);
    return TRUE;
}

static gboolean pop(IfmTraceBuilder *self, IfmRawEvent *raw, IfmTraceSlot *slot, GArray *stack)
{
    IfmEvent event = g_array_index(stack, IfmEvent, stack->len - 1);
    gint64 end_ns, duration_ns;
    g_array_set_size(stack, stack->len - 1);
    if (__builtin_add_overflow(raw->ts_ns, g_array_index(self->origins_ns, gint64, slot->trace), &end_ns) ||
        __builtin_sub_overflow(end_ns, event.start_ns, &duration_ns))
    {
        self->n_skipped++;
        return out_of_range(raw);
    }
    if (duration_ns < 0)
    {
        self->n_skipped++; /* its B, too */
        return !ifm_raw_event_damage(
            raw, raw->at, "the slice ends %" G_GINT64_FORMAT " ns before it begins: expected events in order of time",
            -duration_ns);
    }
    self->last_ns = MAX(self->last_ns, end_ns);
    if (event.duration_ns == 0) /* else our own args set it: a clock that ran backwards */
        event.duration_ns = duration_ns;
    return append(self, slot, &event, raw->at);
}

static gboolean add_begin(IfmTraceBuilder *self, IfmRawEvent *raw)
{
    IfmTraceSlot *slot = count_event(self, raw->at) ? find_slot(self, raw, FALSE) : NULL;
    if (slot == NULL)
        return FALSE;
    if (slot->open == NULL)
        slot->open = g_array_new(FALSE, FALSE, sizeof(IfmEvent));
    return push(self, raw, slot, slot->open);
}

static gboolean add_end(IfmTraceBuilder *self, IfmRawEvent *raw)
{
    IfmTraceSlot *slot = look_up(self, raw->pid, raw->tid, FALSE);
    if (slot != NULL && slot->open != NULL && slot->open->len > 0)
        return pop(self, raw, slot, slot->open);
    return !ifm_raw_event_damage(raw, raw->at, "an E event without its B: expected a B of the same pid and tid before it");
}

/* Asynchronous slices belong together by category and id. The id may be that of the process. */
static char *pending_key(const IfmRawEvent *raw)
{
    if (raw->id_is_local)
        return g_strdup_printf("%s\001%s\001%" G_GINT64_FORMAT, raw->category->str, raw->id->str, raw->pid);
    return g_strconcat(raw->category->str, "\001", raw->id->str, NULL);
}

static gboolean add_async_begin(IfmTraceBuilder *self, IfmRawEvent *raw)
{
    IfmTraceSlot *slot = count_event(self, raw->at) ? find_slot(self, raw, TRUE) : NULL;
    if (slot == NULL)
        return FALSE;
    char *key = pending_key(raw);
    GArray *stack = g_hash_table_lookup(self->pending, key);
    if (stack != NULL)
        g_free(key);
    else
        g_hash_table_insert(self->pending, key, stack = g_array_new(FALSE, FALSE, sizeof(IfmEvent)));
    if (!push(self, raw, slot, stack))
        return FALSE;
    /* e finds its track by its b. Until then this is the number of its slot: tracks of several traces may have equal
     * numbers. */
    g_array_index(stack, IfmEvent, stack->len - 1).track = slot->number;
    return TRUE;
}

static gboolean add_async_end(IfmTraceBuilder *self, IfmRawEvent *raw)
{
    g_autofree char *key = pending_key(raw);
    GArray *stack = g_hash_table_lookup(self->pending, key);
    if (stack == NULL)
        return !ifm_raw_event_damage(raw, raw->at,
                                     "an e event without its b: expected a b of the same cat and id before it");
    const IfmEvent *event = &g_array_index(stack, IfmEvent, stack->len - 1);
    IfmTraceSlot *slot = g_ptr_array_index(self->slots, event->track);
    gboolean good = pop(self, raw, slot, stack);
    if (stack->len == 0)
        g_hash_table_remove(self->pending, key);
    return good;
}

/* The names of processes and threads, and the labels of processes ("GPU 0"). Other metadata are ignored. */
static gboolean add_label(IfmTraceBuilder *self, const IfmRawEvent *raw)
{
    static const struct
    {
        const char *name;
        IfmTracePlace place; /* 0 or 1: of a process */
    } labels[] = { { "process_name", { 0, 0, TRUE } },
                   { "process_labels", { 0, 1, TRUE } },
                   { "thread_name", { 0, 0, FALSE } } };
    gsize i = 0;
    while (i < G_N_ELEMENTS(labels) && !g_str_equal(raw->name->str, labels[i].name))
        i++;
    if (!raw->has_label || i == G_N_ELEMENTS(labels))
        return TRUE;
    if (g_hash_table_size(self->labels) >= 3 * IFM_TRACE_MAX_TRACKS)
        return ifm_trace_builder_fail(self, IFM_ERROR_MEMORY, raw->at, "more than %d names of processes and threads",
                                      3 * IFM_TRACE_MAX_TRACKS);
    IfmTracePlace place = labels[i].place;
    place.pid = raw->pid;
    place.tid = place.is_async ? place.tid : raw->tid;
    g_hash_table_insert(self->labels, g_memdup2(&place, sizeof place), g_strdup(raw->label->str));
    return TRUE;
}

static gboolean add_whole_slice(IfmTraceBuilder *self, IfmRawEvent *raw)
{
    if (raw->has_dur)
        return add_whole(self, raw, raw->dur_ns, FALSE);
    return !ifm_raw_event_damage(raw, raw->at, "an X event without dur: expected its length in us");
}

/* Flows lead from the calls of a runtime to kernels; all others, samples, objects and marks are nothing here. */
static gboolean add_other(IfmTraceBuilder *self, const IfmRawEvent *raw)
{
    gint64 id;
    if (strchr("sf", raw->phase) != NULL && !self->is_ours && ifm_raw_event_is_launch_flow(raw) &&
        ifm_decimal_parse(raw->id->str, raw->id->len, 0, &id))
        ifm_launches_add_flow(&self->launches, raw, id);
    return TRUE;
}

static gboolean add_event(IfmTraceBuilder *self, IfmRawEvent *raw)
{
    if (raw->damage != NULL)
        return FALSE;
    if (!raw->has_ts && strchr("XBEbSeFiInC", raw->phase) != NULL)
        return !ifm_raw_event_damage(raw, raw->at, "an event without ts: expected its time in us");
    switch (raw->phase)
    {
    case 'X':
        return add_whole_slice(self, raw);
    case 'B':
        return add_begin(self, raw);
    case 'E':
        return add_end(self, raw);
    case 'b':
    case 'S': /* the form of older programs */
        return add_async_begin(self, raw);
    case 'e':
    case 'F':
        return add_async_end(self, raw);
    case 'i':
    case 'I':
        return add_whole(self, raw, 0, FALSE);
    case 'n':
        return add_whole(self, raw, 0, TRUE);
    default: /* a counter has no duration, and an event has no place for its value */
        return add_other(self, raw);
    }
}

void ifm_trace_builder_count_damage(IfmTraceBuilder *self, gint64 at, const char *what)
{
    if (self->n_damaged++ == 0)
        self->first_damage_at = at;
    if (self->n_damaged <= IFM_TRACE_DAMAGE_SHOWN)
        g_string_append_printf(self->damages, "%sbyte %" G_GINT64_FORMAT "%s: %s", self->n_damaged > 1 ? "; " : "", at,
                               self->is_packed ? " of what is packed" : "", what);
}

gboolean ifm_trace_builder_add(IfmTraceBuilder *self, IfmRawEvent *raw)
{
    if (raw->phase == 'M')
        return raw->damage != NULL || add_label(self, raw);
    self->n_raw++;
    if (add_event(self, raw))
        return TRUE;
    if (raw->damage == NULL)
        return FALSE;
    self->n_skipped++;
    ifm_trace_builder_count_damage(self, raw->damage_at, raw->damage);
    return TRUE;
}
