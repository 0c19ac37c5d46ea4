#pragma once
#include <inferometer/trace.h>

G_BEGIN_DECLS

/* What measuring takes from a trace. */

/** ifm_node_is_marshalling: Whether a node moves or converts data for a runtime (Reorder, Convert, MemcpyToHost, Input,
 * …). @name: of a NODE event: its type, optionally followed by a blank and the node's name. */
gboolean ifm_node_is_marshalling(const char *name);

/** IfmTraceChange: of how many events are under way. */
typedef struct
{
    gint64 at_ns;
    int by;
} IfmTraceChange;
/** ifm_trace_add_changes: Adds those by a track's events of a kind: one more at each start, one less at each end. Events
 * without duration change nothing. @changes: IfmTraceChange */
void ifm_trace_add_changes(GArray *changes, const IfmTrace *trace, gsize track, IfmEventKind kind);
/** ifm_trace_sort_changes: By time; of one moment the ends first. */
void ifm_trace_sort_changes(GArray *changes);

/** ifm_trace_forget_events: Removes all events. Tracks and names stay, with their room. Not while recording. */
void ifm_trace_forget_events(IfmTrace *trace);

G_END_DECLS
