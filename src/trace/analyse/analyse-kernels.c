#include <math.h>

#include "analyse-private.h"

/* Streams that run kernels: how busy each was, and what it waited for between two of them. */

static gint compare_starts(gconstpointer a, gconstpointer b)
{
    const IfmEvent *x = *(const IfmEvent *const *)a, *y = *(const IfmEvent *const *)b;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return (x->duration_ns > y->duration_ns) - (x->duration_ns < y->duration_ns);
}

static void add_idle(IfmAnalysing *self, IfmTrackUse *use, gint64 from, gint64 to, IfmIdleCause cause)
{
    from = MAX(from, self->window.start);
    to = MIN(to, self->window.end);
    if (from >= to)
        return;
    use->idle_by_cause_ns[cause] += to - from;
    const IfmIdleSpan span = { use->info, cause, from, to };
    if (self->wants_idle_spans)
        g_array_append_val(self->analysis->idle_spans, span);
}

/* Why nothing ran between the end of a kernel and the start of the next: as Holistic Trace Analysis has it. */
static IfmIdleCause cause_of(const IfmEvent *next, gint64 until_ns)
{
    if (next->delay_ns >= 0 && next->start_ns - next->delay_ns > until_ns)
        return IFM_IDLE_HOST_WAIT;
    return next->start_ns - until_ns < IFM_KERNEL_WAIT_NS ? IFM_IDLE_KERNEL_WAIT : IFM_IDLE_UNKNOWN;
}

/* Swallowed: kernels that begin before the end of another, and the one that most of them begin in. */
typedef struct
{
    gsize n, n_here, n_most;
    const IfmEvent *holder, *most;
} Swallowed;

static void note_overlap(Swallowed *self, const IfmEvent *kernel, gint64 until_ns)
{
    if (self->holder != NULL && kernel->start_ns < until_ns && kernel->duration_ns > 0)
    {
        self->n++;
        if (++self->n_here > self->n_most)
        {
            self->n_most = self->n_here;
            self->most = self->holder;
        }
    }
    if (self->holder != NULL && ifm_event_end_ns(kernel) <= until_ns)
        return;
    self->holder = kernel;
    self->n_here = 0;
}

static void warn_of(const IfmAnalysing *self, const IfmTrackUse *use, const Swallowed *swallowed)
{
    if (swallowed->n == 0)
        return;
    g_autofree char *title = ifm_track_title(use->info),
                    *length = ifm_format_duration((double)swallowed->most->duration_ns);
    g_ptr_array_add(self->analysis->warnings,
                    g_strdup_printf("%s: %zu %s before the end of another; %zu of them in \"%s\" of %s: a stream runs one "
                                    "at a time, so its length is in doubt; what overlaps is counted once",
                                    title, swallowed->n, swallowed->n == 1 ? "kernel begins" : "kernels begin",
                                    swallowed->n_most, ifm_trace_text(self->trace, swallowed->most->name), length));
}

void ifm_use_kernels(IfmAnalysing *self, IfmTrackWork *work, IfmTrackUse *use)
{
    g_autoptr(GPtrArray) kernels = ifm_events_sorted(self->trace, work->track, 1u << IFM_EVENT_KERNEL, compare_starts);
    Swallowed swallowed = { 0 };
    gint64 until_ns = self->window.start;
    double delays_ns = 0;
    gsize n_delays = 0;
    for (guint i = 0; i < kernels->len; i++)
    {
        const IfmEvent *kernel = kernels->pdata[i];
        note_overlap(&swallowed, kernel, until_ns);
        if (i == 0 || kernel->start_ns > until_ns)
            add_idle(self, use, until_ns, kernel->start_ns, i == 0 ? IFM_IDLE_NO_WORK : cause_of(kernel, until_ns));
        until_ns = i == 0 ? ifm_event_end_ns(kernel) : MAX(until_ns, ifm_event_end_ns(kernel));
        ifm_use_add_run(&self->window, kernel, work, use, kernels->len);
        if (kernel->delay_ns >= 0 && ifm_window_holds(&self->window, kernel->start_ns, ifm_event_end_ns(kernel)))
        {
            delays_ns += (double)kernel->delay_ns;
            n_delays++;
        }
    }
    add_idle(self, use, until_ns, self->window.end, IFM_IDLE_NO_WORK);
    use->delay_mean_ns = n_delays > 0 ? delays_ns / (double)n_delays : NAN;
    warn_of(self, use, &swallowed);
}
