#pragma once
#include <base/fields.h>
#include <trace/trace.h>

G_BEGIN_DECLS

/** ifm_event_kind_find: Returns: the kind of that name, or -1. @name: [length], or -1: NUL-terminated. */
int ifm_event_kind_find(const char *name, gssize length);

/** IFM_TRACE_MARK: the key of otherData that marks our own files. Its value is the version of the layout. */
#define IFM_TRACE_MARK "inferometer"
/** IFM_TRACE_META_DEPTH: maximum depth of meta: that of a file, 64, less the levels around it. */
#define IFM_TRACE_META_DEPTH 60
/** IfmTrackHead: a track in the head of our own files. @pid, @tids: gint64, as the file's events have them */
typedef struct
{
    IfmTrackInfo info; /* its texts are borrowed */
    gint64 dropped, pid;
    GArray *tids;
} IfmTrackHead;
extern const IfmRecordField ifm_track_head_fields[];

/** ifm_track_title: "CPU stream 0", or the thread's name. (transfer full) */
char *ifm_track_title(const IfmTrackInfo *info);

/** ifm_trace_add_track_as: ifm_trace_add_track() for tracks that are read: pid and tid are kept as they are, 0 as
 * well. */
IfmTrack *ifm_trace_add_track_as(IfmTrace *trace, const IfmTrackInfo *info, gsize capacity);
/** ifm_track_append: ifm_track_record() that makes room. Returns: FALSE without memory. */
gboolean ifm_track_append(IfmTrack *track, const IfmEvent *event);
/** IfmTraceTrack: @track: first: pointers to it are borrowed, and stay valid as each track has memory of its own */
typedef struct
{
    IfmTrack track;
    IfmTrackInfo info;
} IfmTraceTrack;

struct IfmTrace
{
    char *name;
    json_t *meta;
    GPtrArray *tracks;    /* IfmTraceTrack* */
    GPtrArray *texts;     /* char*, by number; 0 is "" */
    GHashTable *interned; /* text (borrowed from @texts) -> number */
    GPtrArray *notes;     /* char* */
    gsize n_damaged;
};

static inline IfmTraceTrack *ifm_trace_track(const IfmTrace *trace, gsize index)
{
    g_assert(index < trace->tracks->len);
    return (IfmTraceTrack *)trace->tracks->pdata[index];
}

/** IfmTracePlace: where an event belongs: a thread, or its asynchronous slices. A key of hash tables. */
typedef struct
{
    gint64 pid, tid;
    gint64 is_async;
} IfmTracePlace;

guint ifm_trace_place_hash(gconstpointer place);
gboolean ifm_trace_place_equal(gconstpointer a, gconstpointer b);

/** ifm_event_order: By start; of one start the longer, which contains the other, first. */
int ifm_event_order(const IfmEvent *a, const IfmEvent *b);

/* ifm_idle_cause_name: "upstream", "host", "transfer", "queue-full", "partner", "no-work", "unknown". */
const char *ifm_idle_cause_name(IfmIdleCause cause);

G_END_DECLS
