#include <base/base.h>
#include <stdlib.h>
#include <string.h>

#include "read-private.h"

/* A trace in Chrome's JSON format, packed or not, is read into a trace builder. */

/*
 * The file goes through the parser piece by piece. Of each event only the needed fields are kept, and only until the
 * event ends. Only otherData is built as a document, up to a limit.
 */
#define PIECE_BYTES (1 << 16)
#define IDLE_PIECES 64           /* one token this long, in pieces: no trace has such a token */
#define OTHER_DATA_MAX (1 << 26) /* in memory, approximately */

typedef enum
{
    SECTION_SKIPPED,
    SECTION_EVENTS,
    SECTION_OTHER_DATA,
} Section;

/* How the value of a key is taken. */
typedef enum
{
    TAKE_NOTHING,
    TAKE_PHASE,    /* char: a letter */
    TAKE_TEXT,     /* GString *: a text or a number */
    TAKE_LABEL,    /* GString *: a text; other values are left alone */
    TAKE_NUMBER,   /* gint64: of a process or thread, which may have a text */
    TAKE_TIME,     /* gint64, ns */
    TAKE_DURATION, /* the same, not below 0 */
    TAKE_LINK,     /* gint64; -1: no number */
    TAKE_ID2,      /* "id2": {"local": "0x1"}: an id of the process; {"global": …} is the same as id */
    TAKE_ARGS,
    /* Other programs' args may have these keys with values of any kind. Only our own files' args are taken. */
    TAKE_INTEGER, /* gint64 */
    TAKE_TRUTH,   /* gboolean */
    TAKE_STAGES,  /* the first and the last */
} Take;

/* @at, @has: offsets in IfmRawEvent; @has: of a gboolean that says it is there; 0: none */
typedef struct
{
    const char *key;
    Take take;
    gsize at, has;
} Key;

#define AT(member) offsetof(IfmRawEvent, member)

static const Key event_keys[] = {
    { "ph", TAKE_PHASE, AT(phase), 0 },
    { "name", TAKE_TEXT, AT(name), 0 },
    { "cat", TAKE_TEXT, AT(category), 0 },
    { "pid", TAKE_NUMBER, AT(pid), 0 },
    { "tid", TAKE_NUMBER, AT(tid), 0 },
    { "ts", TAKE_TIME, AT(ts_ns), AT(has_ts) },
    { "dur", TAKE_DURATION, AT(dur_ns), AT(has_dur) },
    { "id", TAKE_TEXT, AT(id), AT(has_id) },
    { "id2", TAKE_ID2, 0, 0 },
    { "args", TAKE_ARGS, 0, 0 },
    { NULL, TAKE_NOTHING, 0, 0 },
};

static const Key argument_keys[] = {
    { "name", TAKE_LABEL, AT(label), AT(has_label) },
    { "labels", TAKE_LABEL, AT(label), AT(has_label) },
    { "op_name", TAKE_LABEL, AT(op), AT(has_op) },
    { "provider", TAKE_LABEL, AT(provider), 0 },
    { "correlation", TAKE_LINK, AT(correlation), 0 },
    { "External id", TAKE_LINK, AT(operator_id), 0 },
    { "external id", TAKE_LINK, AT(operator_id), 0 },
    { "batch", TAKE_INTEGER, AT(batch), 0 },
    { "block", TAKE_INTEGER, AT(block), 0 },
    { "stages", TAKE_STAGES, 0, 0 },
    { "device_ns", TAKE_INTEGER, AT(device_ns), 0 },
    { "overhead_ns", TAKE_INTEGER, AT(overhead_ns), 0 },
    { "bytes", TAKE_INTEGER, AT(bytes), 0 },
    { "duration_ns", TAKE_INTEGER, AT(duration_ns), AT(has_duration) },
    { "failed", TAKE_TRUTH, AT(failed), 0 },
    { "recorded", TAKE_INTEGER, AT(recorded), 0 },
    { NULL, TAKE_NOTHING, 0, 0 },
};

static const Key no_key = { NULL, TAKE_NOTHING, 0, 0 };

typedef struct
{
    IfmTraceBuilder builder;
    yajl_handle parser;
    gint64 piece_start; /* byte of the text where the current piece begins */
    IfmNonFinite words;
    guint64 n_values;    /* seen so far; shows whether the parser progresses */
    int depth;           /* of open values */
    int events_depth;    /* depth of events: 1 in a bare array, 2 in an object; 0: no root yet */
    gboolean ended;      /* the root has ended */
    gboolean source_cut; /* the packed data ended too early */
    gboolean had_events;
    Section section;
    const Key *field, *argument;
    gsize n_stages;
    gboolean any_field; /* {} is not an event: some programs end their list with it */
    char last_byte;     /* the last byte of the current piece that is not white space; 0: none */
    char tail;          /* the same of all pieces so far */
    IfmRawEvent event;
    json_t *other_data;
    GPtrArray *parents; /* json_t*, borrowed: the open values in otherData */
    GString *key;       /* of the next value in otherData */
    gsize other_bytes;
} Reader;

typedef enum
{
    VALUE_NULL,
    VALUE_FALSE,
    VALUE_TRUE,
    VALUE_NUMBER,
    VALUE_TEXT,
} ValueType;

/* text: of a number or a string. */
typedef struct
{
    ValueType type;
    const char *text;
    gsize length;
} Value;

/* The byte after the current token. */
static gint64 place(const Reader *self)
{
    return self->piece_start + (gint64)yajl_get_bytes_consumed(self->parser);
}

static char *show(const Value *value)
{
    static const char *const words[] = { "null", "false", "true" };
    if (value->type < VALUE_NUMBER)
        return g_strdup(words[value->type]);
    g_autofree char *text = ifm_trace_shown(value->text, value->length);
    return g_strdup_printf(value->type == VALUE_TEXT ? "\"%s\"" : "%s", text);
}

static gboolean expected(Reader *self, const char *what, const Value *value, const char *right)
{
    g_autofree char *found = show(value);
    return ifm_trace_builder_fail(&self->builder, IFM_ERROR_INVALID, place(self), "%s: found %s, expected %s", what, found,
                                  right);
}

static gboolean is_in_args(const Reader *self)
{
    return self->field->take == TAKE_ARGS;
}

/* A value of an event that is none: the event is skipped. */
static gboolean damaged(Reader *self, const Key *key, const Value *value, const char *right)
{
    g_autofree char *found = value->type == VALUE_TEXT && value->length == 0 ? g_strdup("no finite number") : show(value);
    return ifm_raw_event_damage(&self->event, place(self), "%s%s: found %s, expected %s", is_in_args(self) ? "args." : "",
                                key->key, found, right);
}

/* --- otherData -------------------------------------------------------------------------------------------------------- */

static gboolean other_add(Reader *self, json_t *value, gsize bytes)
{
    json_t *parent = self->parents->len > 0 ? g_ptr_array_index(self->parents, self->parents->len - 1) : NULL;
    self->other_bytes += bytes + sizeof(json_t) + 64;
    if (value == NULL || self->other_bytes > OTHER_DATA_MAX)
    {
        json_decref(value);
        return ifm_trace_builder_fail(&self->builder, value == NULL ? IFM_ERROR_INVALID : IFM_ERROR_MEMORY, place(self),
                                      value == NULL ? "otherData: found a number out of range, expected one of 64 bits"
                                                    : "otherData is larger than what is read of it (%d bytes)",
                                      OTHER_DATA_MAX);
    }
    if (parent == NULL)
    {
        json_decref(self->other_data);
        self->other_data = value;
    }
    else if (json_is_array(parent))
        json_array_append_new(parent, value);
    else
        json_object_set_new(parent, self->key->str, value);
    return TRUE;
}

static json_t *other_number(const char *text, gsize length)
{
    gint64 integer;
    if (memchr(text, '.', length) == NULL && memchr(text, 'e', length) == NULL && memchr(text, 'E', length) == NULL &&
        ifm_decimal_parse(text, length, 0, &integer))
        return json_integer(integer);
    g_autofree char *copy = g_strndup(text, length);
    return json_real(g_ascii_strtod(copy, NULL)); /* NULL for an infinity */
}

static json_t *other_scalar(const Value *value)
{
    switch (value->type)
    {
    case VALUE_NULL:
        return json_null();
    case VALUE_NUMBER:
        return other_number(value->text, value->length);
    case VALUE_TEXT:
        return json_stringn(value->text, value->length);
    default:
        return json_boolean(value->type == VALUE_TRUE);
    }
}

static gboolean other_open(Reader *self, json_t *container)
{
    if (!other_add(self, container, 0))
        return FALSE;
    g_ptr_array_add(self->parents, container);
    return TRUE;
}

static gboolean other_close(Reader *self)
{
    g_ptr_array_set_size(self->parents, (gint)self->parents->len - 1);
    if (self->parents->len > 0)
        return TRUE;
    self->section = SECTION_SKIPPED;
    return !json_is_object(self->other_data) || ifm_trace_builder_header(&self->builder, self->other_data, place(self));
}

/* --- events ----------------------------------------------------------------------------------------------------------- */

static void take_text(GString *into, const char *text, gsize length)
{
    const char *end = memchr(text, '\0', length);
    gsize n = end != NULL ? (gsize)(end - text) : length;
    if (n > IFM_TRACE_MAX_TEXT)
        for (n = IFM_TRACE_MAX_TEXT; n > 0 && ((guchar)text[n] & 0xc0) == 0x80;)
            n--; /* not within a character */
    g_string_truncate(into, 0);
    g_string_append_len(into, text, (gssize)n);
}

static gboolean take(Reader *self, const Key *key, const Value *value)
{
    IfmRawEvent *event = &self->event;
    gboolean plain = value->type >= VALUE_NUMBER; /* some programs write times as strings */
    if (key->take >= TAKE_INTEGER && !self->builder.is_ours)
        return TRUE;
    if (key->has != 0 && (key->take != TAKE_LABEL || value->type == VALUE_TEXT))
        G_STRUCT_MEMBER(gboolean, event, key->has) = TRUE;
    gint64 *number = G_STRUCT_MEMBER_P(event, key->at);
    switch (key->take)
    {
    case TAKE_PHASE:
        if (value->type != VALUE_TEXT || value->length != 1)
            return damaged(self, key, value, "a letter, such as \"X\"");
        event->phase = *value->text;
        return TRUE;
    case TAKE_TEXT:
    case TAKE_LABEL:
        if (plain && (key->take == TAKE_TEXT || value->type == VALUE_TEXT))
            take_text(G_STRUCT_MEMBER(GString *, event, key->at), value->text, value->length);
        return plain || key->take == TAKE_LABEL || damaged(self, key, value, "a text");
    case TAKE_NUMBER:
        return plain ? ifm_trace_builder_number(&self->builder, value->text, value->length, place(self), number)
                     : damaged(self, key, value, "a number or a text");
    case TAKE_TIME:
    case TAKE_DURATION:
        if (!plain || !ifm_decimal_parse(value->text, value->length, 3, number))
            return damaged(self, key, value, "us within 2^63 ns");
        return key->take == TAKE_TIME || *number >= 0 || damaged(self, key, value, "no less than 0");
    case TAKE_LINK:
        if (!plain || !ifm_decimal_parse(value->text, value->length, 0, number))
            *number = -1;
        return TRUE;
    case TAKE_INTEGER:
        return (value->type == VALUE_NUMBER && ifm_decimal_parse(value->text, value->length, 0, number)) ||
               damaged(self, key, value, "an integer of 64 bits");
    case TAKE_TRUTH:
        G_STRUCT_MEMBER(gboolean, event, key->at) = value->type == VALUE_TRUE;
        return TRUE;
    default:
        return TRUE;
    }
}

static gboolean take_id2(Reader *self, const Value *value)
{
    static const Key id2 = { "id2", TAKE_TEXT, AT(id), AT(has_id) };
    return take(self, &id2, value);
}

static gboolean take_stage(Reader *self, const Value *value)
{
    const Key stages = { "stages", TAKE_INTEGER, self->n_stages == 0 ? AT(first) : AT(last), 0 };
    return self->n_stages++ > 1 || take(self, &stages, value);
}

static gboolean end_event(Reader *self)
{
    IfmRawEvent *event = &self->event;
    if (event->phase == 0)
        ifm_raw_event_damage(event, event->at, "an event without ph: expected its kind, such as \"ph\": \"X\"");
    return ifm_trace_builder_add(&self->builder, event);
}

/* --- callbacks of the parser ------------------------------------------------------------------------------------------ */

static gboolean on_value(Reader *self, const Value *value)
{
    self->n_values++;
    if (self->depth == 0)
        return expected(self, "the file", value, "a trace: an object with traceEvents, or an array of events");
    if (self->section == SECTION_OTHER_DATA)
        return other_add(self, other_scalar(value), value->length + self->key->len);
    if (self->section != SECTION_EVENTS)
        return TRUE;
    switch (self->depth - self->events_depth)
    {
    case -1:
        return expected(self, "traceEvents", value, "an array of events");
    case 0:
        return expected(self, "traceEvents", value, "an event: {\"ph\": …}");
    case 1:
        return take(self, self->field, value);
    case 2:
        return is_in_args(self) ? take(self, self->argument, value)
                                : self->field->take != TAKE_ID2 || take_id2(self, value);
    case 3:
        return !is_in_args(self) || self->argument->take != TAKE_STAGES || take_stage(self, value);
    default:
        return TRUE;
    }
}

static int on_null(void *user)
{
    return on_value(user, &(Value){ VALUE_NULL, NULL, 0 });
}

static int on_boolean(void *user, int value)
{
    return on_value(user, &(Value){ value ? VALUE_TRUE : VALUE_FALSE, NULL, 0 });
}

static int on_number(void *user, const char *text, size_t length)
{
    return on_value(user, &(Value){ VALUE_NUMBER, text, length });
}

static int on_string(void *user, const unsigned char *text, size_t length)
{
    return on_value(user, &(Value){ VALUE_TEXT, (const char *)text, length });
}

static const Key *find_key(const Key *keys, const unsigned char *text, size_t length)
{
    while (keys->key != NULL && (strlen(keys->key) != length || memcmp(keys->key, text, length) != 0))
        keys++;
    return keys;
}

static Section find_section(const unsigned char *text, size_t length)
{
    if (length == strlen("traceEvents") && memcmp(text, "traceEvents", length) == 0)
        return SECTION_EVENTS;
    if (length == strlen("otherData") && memcmp(text, "otherData", length) == 0)
        return SECTION_OTHER_DATA;
    return SECTION_SKIPPED;
}

static int on_key(void *user, const unsigned char *text, size_t length)
{
    Reader *self = user;
    self->n_values++;
    if (self->section == SECTION_OTHER_DATA && self->parents->len > 0)
    {
        g_string_truncate(self->key, 0);
        g_string_append_len(self->key, (const char *)text, (gssize)length);
    }
    else if (self->depth == 1)
        self->section = find_section(text, length);
    else if (self->section == SECTION_EVENTS && self->depth == self->events_depth + 1)
    {
        self->any_field = TRUE;
        self->field = find_key(event_keys, text, length);
    }
    else if (self->section == SECTION_EVENTS && self->depth == self->events_depth + 2 && is_in_args(self))
        self->argument = find_key(argument_keys, text, length);
    else if (self->section == SECTION_EVENTS && self->depth == self->events_depth + 2)
        self->event.id_is_local = length == strlen("local") && memcmp(text, "local", length) == 0;
    return TRUE;
}

/* A map or an array begins. */
static gboolean open_value(Reader *self, gboolean is_map)
{
    self->n_values++;
    if (self->depth == IFM_TRACE_MAX_DEPTH)
        return ifm_trace_builder_fail(&self->builder, IFM_ERROR_INVALID, place(self), "nested deeper than %d levels",
                                      IFM_TRACE_MAX_DEPTH);
    if (self->section == SECTION_OTHER_DATA && !other_open(self, is_map ? json_object() : json_array()))
        return FALSE;
    int level = self->depth++ - self->events_depth;
    if (self->depth == 1)
    {
        self->events_depth = is_map ? 2 : 1;
        self->section = is_map ? SECTION_SKIPPED : SECTION_EVENTS;
        self->had_events = !is_map;
        return TRUE;
    }
    if (self->section != SECTION_EVENTS)
        return TRUE;
    if (level < 0)
    {
        self->had_events = TRUE;
        return !is_map || ifm_trace_builder_fail(&self->builder, IFM_ERROR_INVALID, place(self),
                                                 "traceEvents: found an object, expected an array of events");
    }
    if (level == 0 && !is_map)
        return ifm_trace_builder_fail(&self->builder, IFM_ERROR_INVALID, place(self),
                                      "traceEvents: found an array, expected an event: {\"ph\": …}");
    if (level == 0)
    {
        ifm_raw_event_reset(&self->event, place(self) - 1);
        self->field = &no_key;
        self->any_field = FALSE;
    }
    if (level == 1) /* args, id2 */
        self->argument = &no_key;
    self->n_stages = 0;
    return TRUE;
}

static gboolean close_value(Reader *self, gboolean is_map)
{
    self->n_values++;
    self->depth--;
    if (self->section == SECTION_OTHER_DATA)
    {
        if (!other_close(self))
            return FALSE;
    }
    else if (self->section == SECTION_EVENTS && is_map && self->depth == self->events_depth && self->any_field &&
             !end_event(self))
        return FALSE;
    self->ended = self->depth == 0;
    return TRUE;
}

static int on_start_map(void *user)
{
    return open_value(user, TRUE);
}

static int on_end_map(void *user)
{
    return close_value(user, TRUE);
}

static int on_start_array(void *user)
{
    return open_value(user, FALSE);
}

static int on_end_array(void *user)
{
    return close_value(user, FALSE);
}

static const yajl_callbacks callbacks = {
    .yajl_null = on_null,
    .yajl_boolean = on_boolean,
    .yajl_number = on_number,
    .yajl_string = on_string,
    .yajl_start_map = on_start_map,
    .yajl_map_key = on_key,
    .yajl_end_map = on_end_map,
    .yajl_start_array = on_start_array,
    .yajl_end_array = on_end_array,
};

/* --- reading by pieces ------------------------------------------------------------------------------------------------ */

static gboolean malformed(Reader *self, const char *piece, gsize n)
{
    unsigned char *words = yajl_get_error(self->parser, FALSE, (const unsigned char *)piece, n);
    g_autofree char *what = g_strdup((const char *)words);
    yajl_free_error(self->parser, words);
    char *line_end = strchr(what, '\n');
    if (line_end != NULL)
        *line_end = '\0';
    return ifm_trace_builder_fail(&self->builder, IFM_ERROR_INVALID, place(self), "%s: expected JSON", what);
}

static gboolean feed(Reader *self, const char *piece, gsize n)
{
    yajl_status status = yajl_parse(self->parser, (const unsigned char *)piece, n);
    if (status != yajl_status_ok)
        return self->builder.error == NULL ? malformed(self, piece, n) : FALSE;
    self->piece_start += (gint64)n;
    for (gsize i = n; i > 0; i--)
        if (!g_ascii_isspace(piece[i - 1]))
        {
            self->last_byte = self->tail = piece[i - 1];
            break;
        }
    return TRUE;
}

/* Reads a piece, after the @n_kept bytes that the one before left. @n: (out) bytes in @buffer    @ended: (out) the file has
 */
static gboolean next_piece(Reader *self, IfmTraceSource *source, char *buffer, gsize n_kept, gsize *n, gboolean *ended,
                           GError **error)
{
    gsize n_read = 0;
    g_autoptr(GError) trouble = NULL;
    gboolean good = ifm_trace_source_read(source, buffer + n_kept, PIECE_BYTES - n_kept, &n_read, &trouble);
    self->builder.is_packed = ifm_trace_source_is_packed(source);
    if (!good && !(ifm_trace_source_is_cut(source) && self->had_events))
        return ifm_error_pass(error, g_steal_pointer(&trouble));
    self->source_cut = !good;
    *n = n_kept + n_read;
    *ended = n_read == 0;
    return TRUE;
}

static gboolean feed_all(Reader *self, IfmTraceSource *source, GError **error)
{
    g_autofree char *buffer = g_malloc(PIECE_BYTES);
    gsize n = 0, n_kept = 0, n_idle = 0;
    gboolean ended = FALSE;
    do
    {
        guint64 before = self->n_values;
        if (!next_piece(self, source, buffer, n_kept, &n, &ended, error))
            return FALSE;
        gsize mark = self->piece_start == 0 && n >= 3 && memcmp(buffer, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
        self->piece_start += (gint64)mark;
        self->last_byte = '\0';
        gsize done = mark + ifm_non_finite_mask(&self->words, buffer + mark, n - mark, ended);
        if (!feed(self, buffer + mark, done - mark))
            return FALSE;
        n_kept = n - done;
        memmove(buffer, buffer + done, n_kept);
        /* the parser keeps incomplete tokens; it keeps no white space, but it would keep an endless string */
        n_idle = self->n_values == before && self->last_byte != '\0' ? n_idle + 1 : 0;
        if (n_idle > IDLE_PIECES)
            return ifm_trace_builder_fail(&self->builder, IFM_ERROR_INVALID, self->piece_start,
                                          "one text or number of more than %d bytes, which no trace has",
                                          IDLE_PIECES * PIECE_BYTES);
    } while (!ended);
    return TRUE;
}

/* The end is cut off: what was whole before it counts. A bare array may end between its events. */
static gboolean accept_cut(Reader *self, gint64 length)
{
    gboolean within = self->section == SECTION_EVENTS && self->depth > self->events_depth;
    self->builder.n_raw += within;
    self->builder.n_skipped += within;
    g_autofree char *what = g_strdup_printf("the file is cut off here, %d levels deep, %s", self->depth,
                                            within                            ? "within an event"
                                            : self->section == SECTION_EVENTS ? "between events"
                                                                              : "after the events");
    if (self->events_depth != 1 || within)
        ifm_trace_builder_count_damage(&self->builder, length, what);
    return TRUE;
}

/* The closing bracket of a bare array may be missing, so that a program that dies leaves a readable file. */
static gboolean finish(Reader *self)
{
    gint64 length = self->piece_start;
    gboolean bare = self->events_depth == 1 && self->depth == 1;
    if (bare && !feed(self, self->tail == ',' ? "{}]" : "]", self->tail == ',' ? 3 : 1))
        g_clear_error(&self->builder.error); /* the array was incomplete elsewhere: see below */
    int depth = self->depth;
    yajl_status status = yajl_complete_parse(self->parser);
    self->piece_start = length;
    if (self->builder.error != NULL)
        return FALSE;
    if (self->events_depth == 0)
        return ifm_trace_builder_fail(&self->builder, IFM_ERROR_INVALID, length,
                                      "the file is empty: expected a trace in Chrome's JSON");
    if (status != yajl_status_ok || !self->ended)
    {
        if (self->had_events && self->builder.n_events > 0)
            return accept_cut(self, length);
        return ifm_trace_builder_fail(&self->builder, IFM_ERROR_INVALID, length,
                                      "truncated: the file ends %d levels deep: expected the rest of it", depth);
    }
    if (self->source_cut) /* the text is whole, its checksum is not there */
        ifm_trace_builder_count_damage(&self->builder, length, "the packed data are cut off here");
    return self->had_events || ifm_trace_builder_fail(&self->builder, IFM_ERROR_INVALID, length,
                                                      "no traceEvents: expected {\"traceEvents\": [events]}");
}

static void reader_init(Reader *self, const char *name, const IfmTraceLimits *limits)
{
    *self = (Reader){ .field = &no_key, .argument = &no_key };
    ifm_trace_builder_init(&self->builder, name, limits);
    ifm_raw_event_init(&self->event);
    self->parents = g_ptr_array_new();
    self->key = g_string_new(NULL);
    self->parser = yajl_alloc(&callbacks, NULL, self);
}

static void reader_clear(Reader *self)
{
    yajl_free(self->parser);
    g_string_free(self->key, TRUE);
    g_ptr_array_unref(self->parents);
    json_decref(self->other_data);
    ifm_raw_event_clear(&self->event);
    ifm_trace_builder_clear(&self->builder);
}

/* Looks at the beginning, which is read again. An error there comes again, too. */
static gboolean is_of_nsight(IfmTraceSource *source)
{
    char begin[4096];
    gsize n = 0;
    if (!ifm_trace_source_read(source, begin, sizeof begin, &n, NULL) || n == 0)
        return FALSE;
    ifm_trace_source_unread(source, begin, n);
    return ifm_nsight_begins(begin, n) && g_strstr_len(begin, (gssize)n, "\"traceEvents\"") == NULL;
}

static gboolean read_all(Reader *self, IfmTraceSource *source, GError **error)
{
    if (!is_of_nsight(source))
        return feed_all(self, source, error) && finish(self);
    self->piece_start = ifm_nsight_read(&self->builder, &self->event, source, error);
    return self->piece_start >= 0;
}

static GPtrArray *read_source(IfmTraceSource *source, const char *name, const IfmTraceLimits *limits, GError **error)
{
    Reader reader;
    GPtrArray *traces = NULL;
    g_autoptr(GError) trouble = NULL; /* an error of the bytes, not of their content */
    reader_init(&reader, name, limits);
    if (read_all(&reader, source, &trouble))
        traces = ifm_trace_builder_end(&reader.builder, reader.piece_start);
    if (traces != NULL && !reader.builder.is_ours && json_is_object(reader.other_data) && reader.parents->len == 0)
        ifm_trace_set_meta(g_ptr_array_index(traces, 0), json_incref(reader.other_data));
    if (traces == NULL && trouble == NULL)
        trouble = g_steal_pointer(&reader.builder.error);
    if (traces == NULL)
        g_propagate_error(error, g_steal_pointer(&trouble));
    reader_clear(&reader);
    return traces;
}

GPtrArray *ifm_trace_read(const char *path, const IfmTraceLimits *limits, GError **error)
{
    g_autoptr(IfmTraceSource) source = ifm_trace_source_open(path, error);
    const char *name = g_str_equal(path, "-") ? IFM_TRACE_STANDARD_INPUT : path;
    return source != NULL ? read_source(source, name, limits, error) : NULL;
}

GPtrArray *ifm_trace_parse(const char *text, gsize length, const char *name, const IfmTraceLimits *limits, GError **error)
{
    g_autoptr(IfmTraceSource) source = ifm_trace_source_new(text, length, name);
    return read_source(source, name, limits, error);
}
