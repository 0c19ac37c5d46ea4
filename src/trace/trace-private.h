#pragma once
#include <inferometer/trace.h>

G_BEGIN_DECLS

/** ifm_event_kind_find: Returns: the kind of that name, or -1. @name: [length], or -1: NUL-terminated. */
int ifm_event_kind_find(const char *name, gssize length);

/** IFM_TRACE_MARK: the key of otherData that says that the file is ours; its value is the version of the layout. */
#define IFM_TRACE_MARK "inferometer"
/** IFM_TRACE_META_DEPTH: levels of meta: what a file may have, 64, less those that it lies in. */
#define IFM_TRACE_META_DEPTH 60
/** ifm_track_kind_name: "device", "host", "queue", "foreign". ifm_track_kind_find: -1 for none of them. */
const char *ifm_track_kind_name(IfmTrackKind kind);
int ifm_track_kind_find(const char *name);

/** ifm_trace_add_track_as: ifm_trace_add_track() that takes pid and tid as they are, 0 too, for what is read. */
IfmTrack *ifm_trace_add_track_as(IfmTrace *trace, const IfmTrackInfo *info, gsize capacity);
/** ifm_trace_track_info_mutable: while reading, names become known late. */
IfmTrackInfo *ifm_trace_track_info_mutable(IfmTrace *trace, gsize index);
/** ifm_track_append: ifm_track_record() that makes room. Returns: FALSE where there is no memory. */
gboolean ifm_track_append(IfmTrack *track, const IfmEvent *event);
/** ifm_trace_n_texts: Texts are numbered from 0 (the empty one) to this - 1. */
gsize ifm_trace_n_texts(const IfmTrace *trace);
/** ifm_trace_track: borrowed. */
IfmTrack *ifm_trace_track(const IfmTrace *trace, gsize index);
void ifm_trace_set_name(IfmTrace *trace, const char *name);

G_END_DECLS
