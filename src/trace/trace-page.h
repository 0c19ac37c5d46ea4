/* Shared with other rooms: how traces are drawn. */
#pragma once
#include <inferometer/trace.h>

#include "trace.h"

G_BEGIN_DECLS

/** ifm_track_name: "CPU stream 0", or the thread's name. (transfer full) */
char *ifm_track_name(const IfmTrackInfo *info);

/** ifm_trace_add_headline, ifm_trace_diff_add_headline: trace-headline.c: the summary of a trace, of two that are compared.
 */
void ifm_trace_add_headline(IfmDocument *document, const IfmTrace *trace, const IfmTraceAnalysis *analysis);
void ifm_trace_diff_add_headline(IfmDocument *document, const GPtrArray *differences, const char *a, const char *b);

/*
 * ifm_document_add_timeline: Adds a figure: time from left to right, a row for each device's stream, each block's host
 * (what it does, not what it waits for) and each thread of a foreign trace. A batch's number is the label of its
 * inferences. Several traces one below the other on one scale, each from its own beginning.
 * @question: the window, on the clock of each trace; NULL: all of each
 */
void ifm_document_add_timeline(IfmDocument *document, const IfmTrace *const *traces, gsize n_traces,
                               const IfmTraceQuestion *question);

/** ifm_document_add_window: The same of a part of one trace, without its queues, on pages alone. */
void ifm_document_add_window(IfmDocument *document, const char *key, const char *sentence, const IfmTrace *trace,
                             gint64 start_ns, gint64 end_ns);

/** ifm_document_add_utilisation: What the devices did in the window: work, and the causes of most idle time. */
void ifm_document_add_utilisation(IfmDocument *document, const IfmTraceAnalysis *analysis);

/** ifm_utilisation_title: How idle the least busy stream is, and why. (transfer full) */
char *ifm_utilisation_title(const IfmTraceAnalysis *analysis);

/** ifm_path_title: What a timeline with a critical path shows: what the time of that batch goes into; without one
 * ifm_utilisation_title(). ifm_blocks_title: the block that takes most of a batch's time, and what in it. (transfer full)
 */
char *ifm_path_title(const IfmTraceAnalysis *analysis);
char *ifm_blocks_title(const GArray *stages);

/** IfmQueueUse: batches in a queue, over time. ifm_queues_title: the fullest. (transfer full) */
typedef struct
{
    const char *name;
    double mean;
    int most;
} IfmQueueUse;
char *ifm_queues_title(const IfmQueueUse *uses, gsize n);

G_END_DECLS
