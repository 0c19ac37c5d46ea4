#pragma once
#include <yajl/yajl_parse.h>

#include "trace-private.h"

G_BEGIN_DECLS

#define IFM_TRACE_MAX_DEPTH 64
#define IFM_TRACE_MAX_TEXT 4096 /* bytes of a name; longer ones are cut */
#define IFM_TRACE_MAX_TRACKS 65536

/* --- bytes ------------------------------------------------------------------------------------------------------------ */

#define IFM_TRACE_STANDARD_INPUT "standard input" /* the name of "-" in messages */

/** IfmTraceSource: a file or memory. Its content is unpacked if it begins as gzip does. */
typedef struct IfmTraceSource IfmTraceSource;
IfmTraceSource *ifm_trace_source_open(const char *path, GError **error);
/** ifm_trace_source_new: @text: [length], borrowed. @name: in messages. */
IfmTraceSource *ifm_trace_source_new(const char *text, gsize length, const char *name);
void ifm_trace_source_free(IfmTraceSource *source);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmTraceSource, ifm_trace_source_free)
/** ifm_trace_source_read: Reads up to @room bytes. @n: (out) 0: the end. */
gboolean ifm_trace_source_read(IfmTraceSource *source, char *buffer, gsize room, gsize *n, GError **error);
gboolean ifm_trace_source_is_packed(const IfmTraceSource *source);

/* --- numbers ---------------------------------------------------------------------------------------------------------- */

/**
 * ifm_decimal_parse: The integer nearest to text x 10^scale, halves away from 0. It is exact: computed from the digits,
 * not by a double.
 * @text: [length] as JSON writes numbers: 12, -0.5, 1.5e3
 * Returns: FALSE if it is not a number or is beyond 64 bits.
 */
gboolean ifm_decimal_parse(const char *text, gsize length, int scale, gint64 *value);

/* --- an event in the file --------------------------------------------------------------------------------------------- */

typedef struct
{
    char phase; /* 0: missing */
    gboolean has_ts, has_id, id_is_local, has_label, has_op, has_duration;
    gboolean failed;
    gint64 at; /* byte of the file */
    gint64 ts_ns, dur_ns;
    gint64 pid, tid;
    GString *name, *category, *id;
    GString *label, *op; /* args: name, op_name */
    /* args of our own files */
    gint64 batch, block, first, last, device_ns, overhead_ns, bytes, duration_ns, recorded;
} IfmRawEvent;

void ifm_raw_event_init(IfmRawEvent *raw);
void ifm_raw_event_reset(IfmRawEvent *raw, gint64 at);
void ifm_raw_event_clear(IfmRawEvent *raw);

/* --- events into tracks ----------------------------------------------------------------------------------------------- */

/** IfmTraceBuilder: makes traces of events that come one at a time, in any order. */
typedef struct
{
    const char *file; /* the file's name in messages */
    gsize max_events, max_names, n_events;
    gboolean is_packed;
    gboolean is_ours;
    GPtrArray *traces;   /* IfmTrace */
    GArray *origins_ns;  /* gint64, one for each trace: the zero of its times */
    GPtrArray *slots;    /* Slot: one for each track */
    GHashTable *places;  /* Place -> Slot */
    GHashTable *pending; /* char*: category and id -> GArray of asynchronous slices that have begun */
    GHashTable *labels;  /* Place -> char*: names that metadata events give */
    GHashTable *numbers; /* char* -> gint64: pids and tids that are texts */
    GPtrArray *texts;    /* borrowed from @numbers, by number */
    GString *scratch;
    gint64 last_ns; /* the latest time seen: slices that never ended end here */
    GError *error;  /* the first */
} IfmTraceBuilder;

void ifm_trace_builder_init(IfmTraceBuilder *builder, const char *file, const IfmTraceLimits *limits);
void ifm_trace_builder_clear(IfmTraceBuilder *builder);
/** ifm_trace_builder_fail: Sets the error "FILE: byte N: …" unless there is one. Returns: FALSE. */
gboolean ifm_trace_builder_fail(IfmTraceBuilder *builder, IfmErrorCode code, gint64 at, const char *format, ...)
    G_GNUC_PRINTF(4, 5);
/** ifm_trace_builder_header: Reads otherData, which comes before or after the events. */
gboolean ifm_trace_builder_header(IfmTraceBuilder *builder, const json_t *data, gint64 at);
/** ifm_trace_builder_number: @number: (out) of a pid or tid, which may be a string. Returns: FALSE if there are too
 * many. */
gboolean ifm_trace_builder_number(IfmTraceBuilder *builder, const char *text, gsize length, gint64 at, gint64 *number);
/** ifm_trace_builder_text: Returns: the string that was given that number, or NULL. */
const char *ifm_trace_builder_text(const IfmTraceBuilder *builder, gint64 number);
gboolean ifm_trace_builder_add(IfmTraceBuilder *builder, const IfmRawEvent *raw);
/** ifm_trace_builder_end: @at: the file's length. Returns: (transfer full) the traces, or NULL. */
GPtrArray *ifm_trace_builder_end(IfmTraceBuilder *builder, gint64 at);

/* Shared by the builder's two files. */
typedef struct
{
    gint64 pid, tid;
    gint64 is_async;
} IfmTracePlace;

typedef struct IfmTraceSlot IfmTraceSlot;
struct IfmTraceSlot
{
    IfmTrack *track;
    IfmTraceSlot *first; /* of the track: further tids hold overlapping slices */
    guint trace, number; /* index of the builder's trace; index of the slot */
    gboolean is_ours;    /* the file's header lists it */
    gboolean reordered;  /* its events have args.recorded */
    IfmTracePlace place;
    GArray *open; /* IfmEvent: B without E so far, the outermost first; NULL: there was none */
};

/** ifm_trace_builder_add_slot: Returns: FALSE if the place is taken or there are too many. @slot: (out) (optional) */
gboolean ifm_trace_builder_add_slot(IfmTraceBuilder *builder, IfmTrack *track, guint trace, const IfmTracePlace *place,
                                    IfmTraceSlot **slot);
/** ifm_trace_shown: Returns: (transfer full) the text for a message: one line, short. */
char *ifm_trace_shown(const char *text, gsize length);

G_END_DECLS
