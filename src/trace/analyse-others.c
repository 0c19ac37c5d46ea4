#include "analyse-private.h"

/*
 * Idle while another device works. With G the time the track's device works on any of its streams, T the track's own, A1
 * and A2 the times at least one and at least two devices work: another device works while the track is idle in A1 without
 * G, or in A2 within G but outside T. As T is part of G and G of A1, that is |A1| - |G| + |A2 in G| - |A2 in T|.
 */

typedef struct
{
    GArray **groups; /* [n_groups] IfmSpan, united */
    guint n_groups;
    GArray *two; /* A2 */
    gint64 one_ns;
} Others;

static void unite_groups(const IfmAnalysing *self, Others *others)
{
    for (gsize i = 0; i < self->n_counted; i++)
        others->n_groups = MAX(others->n_groups, self->works[i].group + 1);
    others->groups = g_new0(GArray *, others->n_groups);
    g_autofree GArray **first = g_new0(GArray *, others->n_groups + 1);
    for (gsize i = 0; i < self->n_counted; i++)
    {
        const IfmWork *work = &self->works[i];
        GArray **group = &others->groups[work->group];
        if (*group == NULL)
        {
            *group = g_array_ref(work->busy); /* most devices have one stream */
            first[work->group] = work->busy;
            continue;
        }
        if (*group == first[work->group])
        {
            *group = g_array_copy(*group);
            g_array_unref(first[work->group]);
        }
        g_array_append_vals(*group, work->busy->data, work->busy->len);
    }
    for (guint i = 0; i < others->n_groups; i++)
        if (others->groups[i] != NULL)
            ifm_spans_unite(others->groups[i]);
}

static void sweep(Others *others, const IfmSpan *window)
{
    g_autofree IfmEdges *edges = g_new(IfmEdges, others->n_groups + 1);
    gsize n = 0;
    for (guint i = 0; i < others->n_groups; i++)
        if (others->groups[i] != NULL)
            edges[n++] = ifm_edges_of_spans(others->groups[i]);
    int working = 0;
    gint64 at = window->start;
    others->two = ifm_spans_new();
    for (gsize i; n > 0 && edges[i = ifm_edges_least(edges, n)].next != G_MAXINT64;)
    {
        gint64 now = edges[i].next;
        if (working >= 1)
            others->one_ns += now - at;
        if (working >= 2)
            ifm_spans_add(others->two, at, now, window);
        working += edges[i].at % 2 == 0 ? 1 : -1;
        at = now;
        edges[i].at++;
        ifm_edges_load(&edges[i]);
    }
}

void ifm_analyse_others(IfmAnalysing *self)
{
    Others others = { 0 };
    unite_groups(self, &others);
    sweep(&others, &self->window);
    IfmLengths two;
    ifm_lengths_init(&two, others.two);
    for (gsize i = 0; i < self->n_works; i++)
    {
        const IfmWork *work = &self->works[i];
        IfmTrackUse *use = &g_array_index(self->analysis->tracks, IfmTrackUse, i);
        if (i < self->n_counted)
        {
            const GArray *group = others.groups[work->group];
            use->idle_others_busy_ns = others.one_ns - ifm_spans_total(group) + ifm_lengths_common(&two, group) -
                                       ifm_lengths_common(&two, work->busy);
        }
        use->idle_alone_ns = use->idle_ns - use->idle_others_busy_ns;
    }
    ifm_lengths_clear(&two);
    for (guint i = 0; i < others.n_groups; i++)
        g_clear_pointer(&others.groups[i], g_array_unref);
    g_free(others.groups);
    g_array_unref(others.two);
}
