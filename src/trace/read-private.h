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
/** ifm_trace_source_unread: Gives bytes back, to be read next. Once, before anything else is read. */
void ifm_trace_source_unread(IfmTraceSource *source, const char *bytes, gsize n);
/** ifm_trace_source_is_cut: After an error: the packed data end in the middle. */
gboolean ifm_trace_source_is_cut(const IfmTraceSource *source);

/* --- numbers ---------------------------------------------------------------------------------------------------------- */

/**
 * ifm_decimal_parse: The integer nearest to text x 10^scale, halves away from 0. It is exact: computed from the digits,
 * not by a double.
 * @text: [length] as JSON writes numbers: 12, -0.5, 1.5e3
 * Returns: FALSE if it is not a number or is beyond 64 bits.
 */
gboolean ifm_decimal_parse(const char *text, gsize length, int scale, gint64 *value);

/** IfmNonFinite: where in a text a piece of it begins. */
typedef struct
{
    gboolean quoted, escaped;
} IfmNonFinite;
/** ifm_non_finite_mask: Puts an empty text in the place of each NaN, Infinity and -Infinity of the JSON in @text [n].
 * Returns: how much of it is done; the few bytes after that, which may be half such a word, belong before the next piece.
 */
gsize ifm_non_finite_mask(IfmNonFinite *self, char *text, gsize n, gboolean is_last);

/* --- an event in the file --------------------------------------------------------------------------------------------- */

typedef struct
{
    char phase; /* 0: missing */
    gboolean has_ts, has_dur, has_id, id_is_local, has_label, has_op, has_duration;
    gboolean failed;
    gint64 at; /* byte of the file */
    gint64 ts_ns, dur_ns;
    gint64 pid, tid;
    union
    {
        struct
        {
            GString *name, *category, *id, *label, *op, *provider; /* args: name or labels, op_name, provider */
        };
        GString *texts[6];
    };
    gint64 correlation, operator_id; /* args: correlation, "External id"; -1: none */
    char *damage;                    /* what is wrong with it; NULL: nothing */
    gint64 damage_at;
    /* args of our own files */
    gint64 batch, block, first, last, device_ns, overhead_ns, bytes, duration_ns, recorded;
} IfmRawEvent;

void ifm_raw_event_init(IfmRawEvent *raw);
void ifm_raw_event_reset(IfmRawEvent *raw, gint64 at);
void ifm_raw_event_clear(IfmRawEvent *raw);
/** ifm_raw_event_damage: Notes what is wrong, unless something is known already: the event will be skipped. Returns: TRUE.
 */
gboolean ifm_raw_event_damage(IfmRawEvent *raw, gint64 at, const char *format, ...) G_GNUC_PRINTF(3, 4);
/** ifm_raw_event_kind: What another program's event is. ifm_raw_event_is_launch_flow: whether an s or f event leads from a
 * call to a kernel. */
IfmEventKind ifm_raw_event_kind(const IfmRawEvent *raw);
gboolean ifm_raw_event_is_launch_flow(const IfmRawEvent *raw);

typedef struct IfmTraceSlot IfmTraceSlot;

/* --- events into tracks ----------------------------------------------------------------------------------------------- */

#define IFM_LAUNCHES_MAX_FLOWS 4000000

/** IfmLaunches: joins kernels with the calls that launched them (read-launches.c). */
typedef struct
{
    GHashTable *starts;    /* of launches, by number */
    GHashTable *flow_ends; /* by place and time */
    GArray *kernels;
    gboolean has_correlation;
} IfmLaunches;

#define IFM_TRACE_DAMAGE_SHOWN 3 /* damaged events that are named, of all that are counted */

/** IfmTraceBuilder: makes traces of events that come one at a time, in any order. */
typedef struct
{
    const char *file; /* the file's name in messages */
    gsize max_events, max_names, n_events;
    gsize n_raw;      /* events of all phases but M */
    gsize n_damaged;  /* what is wrong in the file, and its end where it is cut off */
    gsize n_skipped;  /* of n_raw: damaged ones, and a B whose E is */
    gsize n_unended;  /* that begin and never end */
    GString *damages; /* the first of them */
    gint64 first_damage_at;
    IfmLaunches launches;
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
/** ifm_trace_builder_add: Adds an event, or counts it as damaged. */
gboolean ifm_trace_builder_add(IfmTraceBuilder *builder, IfmRawEvent *raw);
/** ifm_trace_builder_count_damage: An event was skipped. @what: why */
void ifm_trace_builder_count_damage(IfmTraceBuilder *builder, gint64 at, const char *what);
/** ifm_trace_builder_end: @at: the file's length. Returns: (transfer full) the traces, or NULL. */
GPtrArray *ifm_trace_builder_end(IfmTraceBuilder *builder, gint64 at);

struct IfmTraceSlot
{
    IfmTrack *track;
    IfmTraceSlot *first; /* of the track: further tids hold overlapping slices */
    guint trace, number; /* index of the builder's trace; index of the slot */
    gboolean is_ours;    /* the file's header lists it */
    gboolean reordered;  /* its events have args.recorded */
    gboolean has_kernels;
    GHashTable *providers; /* of a reordered track: args.recorded -> text; NULL: none has one */
    IfmTracePlace place;
    GArray *open; /* IfmEvent: B without E so far, the outermost first; NULL: there was none */
};

/** ifm_trace_builder_add_slot: Returns: FALSE if the place is taken or there are too many. @slot: (out) (optional) */
gboolean ifm_trace_builder_add_slot(IfmTraceBuilder *builder, IfmTrack *track, guint trace, const IfmTracePlace *place,
                                    IfmTraceSlot **slot);
void ifm_launches_init(IfmLaunches *launches);
void ifm_launches_clear(IfmLaunches *launches);
/** ifm_launches_add: Notes a whole event before it is appended to its track. */
void ifm_launches_add(IfmLaunches *launches, const IfmRawEvent *raw, IfmTraceSlot *slot, const IfmEvent *event);
void ifm_launches_add_flow(IfmLaunches *launches, const IfmRawEvent *raw, gint64 id);
/** ifm_launches_join: Sets delay_ns of the kernels. */
void ifm_launches_join(const IfmLaunches *launches);
/** ifm_nsight_begins: Whether @text [n], the begin of a file, is of Nsight Systems' export. */
gboolean ifm_nsight_begins(const char *text, gsize n);
/** ifm_nsight_read: Adds all its events. @raw: to work with. Returns: the file's length; -1: an error, the builder's or
 * @error */
gint64 ifm_nsight_read(IfmTraceBuilder *builder, IfmRawEvent *raw, IfmTraceSource *source, GError **error);
/** ifm_trace_shown: Returns: (transfer full) the text for a message: one line, short. */
char *ifm_trace_shown(const char *text, gsize length);

G_END_DECLS
