#include "analyse-private.h"

#include <string.h>

/*
 * Idle while another device works. G is the time that the track's device works on any of its streams, T that of the
 * track itself, A1 and A2 the times that at least one and at least two devices work. Another device works while the
 * track is idle: in A1 without G, or in A2 within G but outside T. As T is part of G and G of A1, that is |A1| - |G| +
 * |A2 in G| - |A2 in T|. For a device with one stream it is |A1| - |G|.
 */

typedef struct
{
    IfmSpans *groups;    /* [n_groups] united; empty for a group of one track, which has its own */
    const IfmSpans **of; /* [n_groups] NULL: of no track */
    guint n_groups;
    gint64 one_ns;        /* |A1| */
    gint64 *two_in_group; /* [n_groups] */
    gint64 *two_in_track; /* [n_counted] */
} Others;

static void unite_groups(const IfmAnalysing *self, Others *others)
{
    for (gsize i = 0; i < self->n_counted; i++)
        others->n_groups = MAX(others->n_groups, self->works[i].group + 1);
    others->groups = g_new0(IfmSpans, others->n_groups);
    others->of = g_new0(const IfmSpans *, others->n_groups);
    for (gsize i = 0; i < self->n_counted; i++)
    {
        const IfmTrackWork *work = &self->works[i];
        const IfmSpans **of = &others->of[work->group];
        IfmSpans *group = &others->groups[work->group];
        if (*of == NULL)
        {
            *of = &work->busy; /* most devices have one stream */
            continue;
        }
        gsize before = *of == group ? group->n : (*of)->n;
        group->room = before + work->busy.n;
        group->all = g_renew(IfmTimeRange, group->all, group->room);
        if (*of != group)
            memcpy(group->all, (*of)->all, before * sizeof(IfmTimeRange));
        memcpy(group->all + before, work->busy.all, work->busy.n * sizeof(IfmTimeRange));
        group->n = group->room;
        *of = group;
    }
    for (guint i = 0; i < others->n_groups; i++)
        ifm_spans_unite(&others->groups[i]);
}

/* The owner of edges: a device, or one track of a device with several. */
typedef struct
{
    gboolean is_group;
    gint64 *two_ns; /* A2 within its spans */
} Owner;

static gsize list_edges(const IfmAnalysing *self, Others *others, IfmEdges *edges, Owner *owners)
{
    gsize n = 0;
    for (guint i = 0; i < others->n_groups; i++)
        if (others->of[i] != NULL)
        {
            owners[n] = (Owner){ TRUE, &others->two_in_group[i] };
            edges[n++] = ifm_edges_of_spans(others->of[i]);
        }
    for (gsize i = 0; i < self->n_counted; i++)
        if (others->of[self->works[i].group] != &self->works[i].busy)
        {
            owners[n] = (Owner){ FALSE, &others->two_in_track[i] };
            edges[n++] = ifm_edges_of_spans(&self->works[i].busy);
        }
    return n;
}

/* @two_ns: |A2| so far. The part of it within a span is its value at the span's end less that at its start. */
static void sweep(const IfmAnalysing *self, Others *others)
{
    g_autofree IfmEdges *edges = g_new(IfmEdges, others->n_groups + self->n_counted + 1);
    g_autofree Owner *owners = g_new0(Owner, others->n_groups + self->n_counted + 1);
    gsize n = list_edges(self, others, edges, owners);
    int working = 0;
    gint64 at = self->window.start, two_ns = 0;
    for (gsize i; n > 0 && edges[i = ifm_edges_min(edges, n)].next != G_MAXINT64;)
    {
        gint64 now = edges[i].next, step = edges[i].at % 2 == 0 ? 1 : -1;
        others->one_ns += working >= 1 ? now - at : 0;
        two_ns += working >= 2 ? now - at : 0;
        working += owners[i].is_group ? (int)step : 0;
        if (owners[i].two_ns != NULL)
            *owners[i].two_ns -= step * two_ns;
        at = now;
        edges[i].at++;
        ifm_edges_load(&edges[i]);
    }
}

void ifm_analyse_others(IfmAnalysing *self)
{
    Others others = { 0 };
    unite_groups(self, &others);
    others.two_in_group = g_new0(gint64, others.n_groups);
    others.two_in_track = g_new0(gint64, self->n_counted);
    sweep(self, &others);
    for (gsize i = 0; i < self->n_works; i++)
    {
        const IfmTrackWork *work = &self->works[i];
        IfmTrackUse *use = &g_array_index(self->analysis->tracks, IfmTrackUse, i);
        if (i < self->n_counted)
        {
            const IfmSpans *group = others.of[work->group];
            use->idle_others_busy_ns = others.one_ns - ifm_spans_total(group);
            if (group != &work->busy)
                use->idle_others_busy_ns += others.two_in_group[work->group] - others.two_in_track[i];
        }
        use->idle_alone_ns = use->idle_ns - use->idle_others_busy_ns;
    }
    for (guint i = 0; i < others.n_groups; i++)
        ifm_spans_clear(&others.groups[i]);
    g_free(others.groups);
    g_free(others.of);
    g_free(others.two_in_group);
    g_free(others.two_in_track);
}
