#pragma once
#include <trace/trace.h>

G_BEGIN_DECLS

/** ifm_event_kind_find: Returns: the kind of that name, or -1. @name: [length], or -1: NUL-terminated. */
int ifm_event_kind_find(const char *name, gssize length);

/** IFM_TRACE_MARK: the key of otherData that marks our own files. Its value is the version of the layout. */
#define IFM_TRACE_MARK "inferometer"
/** IFM_TRACE_META_DEPTH: maximum depth of meta: that of a file, 64, less the levels around it. */
#define IFM_TRACE_META_DEPTH 60
/** ifm_track_kind_name: "device", "host", "queue", "foreign". ifm_track_kind_find: -1 for any other. */
const char *ifm_track_kind_name(IfmTrackKind kind);
int ifm_track_kind_find(const char *name);

/** ifm_track_title: "CPU stream 0", or the thread's name. (transfer full) */
char *ifm_track_title(const IfmTrackInfo *info);

/** ifm_trace_add_track_as: ifm_trace_add_track() for tracks that are read: pid and tid are kept as they are, 0 as
 * well. */
IfmTrack *ifm_trace_add_track_as(IfmTrace *trace, const IfmTrackInfo *info, gsize capacity);
/** ifm_trace_track_info_mutable: For reading, where names are known late. */
IfmTrackInfo *ifm_trace_track_info_mutable(IfmTrace *trace, gsize index);
/** ifm_track_append: ifm_track_record() that makes room. Returns: FALSE without memory. */
gboolean ifm_track_append(IfmTrack *track, const IfmEvent *event);
/** ifm_trace_add_note: @note: (transfer full) */
void ifm_trace_add_note(IfmTrace *trace, char *note);
/** ifm_trace_set_damage: @note: (transfer full) which events were skipped. */
void ifm_trace_set_damage(IfmTrace *trace, gsize n_damaged, char *note);
/** ifm_trace_n_texts: Texts have the numbers 0 (the empty one) to n - 1. */
gsize ifm_trace_n_texts(const IfmTrace *trace);
/** ifm_trace_track: Returns: borrowed. */
IfmTrack *ifm_trace_track(const IfmTrace *trace, gsize index);

/* ifm_idle_cause_name: "upstream", "host", "transfer", "queue-full", "partner", "no-work", "unknown". */
const char *ifm_idle_cause_name(IfmIdleCause cause);

G_END_DECLS
