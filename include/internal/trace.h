#pragma once
#include <inferometer/trace.h>

G_BEGIN_DECLS

/* What measuring takes from a trace. */

/** ifm_node_is_marshalling: Whether a node moves or converts data for a runtime (Reorder, Convert, MemcpyToHost, Input,
 * …). @name: of a NODE event: its type, optionally followed by a blank and the node's name. */
gboolean ifm_node_is_marshalling(const char *name);

/** ifm_trace_forget_events: Removes all events. Tracks and names stay, with their room. Not while recording. */
void ifm_trace_forget_events(IfmTrace *trace);

G_END_DECLS
