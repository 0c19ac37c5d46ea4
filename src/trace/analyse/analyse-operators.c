#include <string.h>

#include "analyse-private.h"

/* Where time went by operator (of a runtime's profile) and by kernel: sums over events of one name. */

static guint operator_hash(gconstpointer data)
{
    const IfmOperatorUse *use = data;
    return g_str_hash(use->name) ^ g_str_hash(use->provider) ^ (guint)use->kind;
}

static gboolean operator_equal(gconstpointer a, gconstpointer b)
{
    const IfmOperatorUse *x = a, *y = b;
    return x->kind == y->kind && g_str_equal(x->name, y->name) && g_str_equal(x->provider, y->provider);
}

static int longest_first(gconstpointer a, gconstpointer b)
{
    const IfmOperatorUse *x = a, *y = b;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->total_ns != y->total_ns)
        return x->total_ns > y->total_ns ? -1 : 1;
    int order = strcmp(x->name, y->name);
    return order != 0 ? order : strcmp(x->provider, y->provider);
}

/* A node is called "OP_TYPE NODE". */
static const char *name_of(IfmTraceAnalysis *analysis, const IfmTrace *trace, const IfmEvent *event)
{
    const char *name = ifm_trace_text(trace, event->name);
    g_autofree char *operator= event->kind == IFM_EVENT_NODE ? g_strndup(name, strcspn(name, " ")) : g_strdup(name);
    return g_string_chunk_insert_const(analysis->names, operator);
}

static void add_event(IfmAnalysing *self, GHashTable *uses, const IfmEvent *event)
{
    const IfmOperatorUse key = { .name = name_of(self->analysis, self->trace, event),
                                 .provider = ifm_trace_text(self->trace, event->provider),
                                 .kind = (IfmEventKind)event->kind };
    IfmOperatorUse *use = g_hash_table_lookup(uses, &key);
    if (use == NULL)
    {
        use = g_memdup2(&key, sizeof key);
        g_hash_table_add(uses, use);
    }
    use->n++;
    use->total_ns += MAX(event->duration_ns, 0);
    use->max_ns = MAX(use->max_ns, event->duration_ns);
}

void ifm_analyse_operators(IfmAnalysing *self)
{
    g_autoptr(GHashTable) uses = g_hash_table_new_full(operator_hash, operator_equal, g_free, NULL);
    GHashTableIter iterator;
    gpointer use;
    for (gsize i = 0; i < self->n_works; i++)
    {
        const IfmTrackWork *work = &self->works[i];
        gboolean foreign = ifm_trace_track_info(self->trace, work->track)->kind == IFM_TRACK_FOREIGN;
        gsize n;
        const IfmEvent *events = ifm_trace_events(self->trace, work->track, &n);
        for (gsize k = 0; (work->has_kernels || (foreign && work->has_nodes)) && k < n; k++)
            if ((events[k].kind == IFM_EVENT_KERNEL || (foreign && events[k].kind == IFM_EVENT_NODE)) &&
                ifm_window_holds(&self->window, events[k].start_ns, ifm_event_end_ns(&events[k])))
                add_event(self, uses, &events[k]);
    }
    g_hash_table_iter_init(&iterator, uses);
    while (g_hash_table_iter_next(&iterator, &use, NULL))
        g_array_append_vals(self->analysis->operators, use, 1);
    g_array_sort(self->analysis->operators, longest_first);
}
