/* Idle time while another device works, on any of its streams, and while none does. */
#include "analyse-private.h"

void ifm_analyse_others(IfmAnalysing *self)
{
    const gsize n = self->n_counted;
    IfmTrackUse *uses = (IfmTrackUse *)(void *)self->analysis->tracks->data;
    g_autofree IfmEdges *edges = g_new(IfmEdges, n + 1);
    g_autofree int *streams = g_new0(int, self->n_works + 1); /* [group] that work now */
    int working = 0;                                          /* devices */
    gint64 at = self->window.start;
    for (gsize i = 0; i < n; i++)
        edges[i] = ifm_edges_of_spans(&self->works[i].busy);
    for (gsize next; n > 0 && edges[next = ifm_edges_min(edges, n)].next != G_MAXINT64;)
    {
        gint64 now = edges[next].next;
        int *own = &streams[self->works[next].group];
        for (gsize i = 0; i < n && working > 0 && now > at; i++)
            if (edges[i].at % 2 == 0 && working > (streams[self->works[i].group] > 0))
                uses[i].idle_others_busy_ns += now - at;
        if (edges[next].at % 2 == 0)
            working += (*own)++ == 0;
        else
            working -= --*own == 0;
        at = now;
        edges[next].at++;
        ifm_edges_load(&edges[next]);
    }
    for (gsize i = 0; i < self->n_works; i++)
        uses[i].idle_alone_ns = uses[i].idle_ns - uses[i].idle_others_busy_ns;
}
