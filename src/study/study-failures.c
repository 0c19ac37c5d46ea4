#include <string.h>

#include <base/base.h>

#include "study-pages.h"

/* What a study has no latency of, and why: hundreds of cases in a few lines. */

/* Cases of one device that failed in the same way. */
typedef struct
{
    const IfmStudyDevice *device;
    const char *code;
    char *mask;         /* the reason, its numbers blanked: the same trouble at other sizes reads the same */
    const char *reason; /* of the first */
    gboolean vary;      /* the reasons differ in their numbers */
    IfmRowState state;
    const char *kind; /* "", " ranges", " under load" */
    GArray *stages;   /* int, ascending; of a range its first */
    gsize n;
    const IfmStudyRow *min; /* the smallest size */
    gboolean several_sizes;
} Group;

static void group_free(Group *group)
{
    g_free(group->mask);
    g_array_unref(group->stages);
    g_free(group);
}

static void add_stage(GArray *stages, int stage)
{
    guint at = 0;
    while (at < stages->len && g_array_index(stages, int, at) < stage)
        at++;
    if (at == stages->len || g_array_index(stages, int, at) != stage)
        g_array_insert_val(stages, at, stage);
}

static gboolean is_smaller(const IfmStudyRow *a, const IfmStudyRow *b)
{
    return a->nodes != b->nodes ? a->nodes < b->nodes : a->edges < b->edges;
}

static const char *kind_of(const IfmStudyRow *row)
{
    return row->busy != 0 ? " with a background load" : row->last > row->stage ? " ranges" : "";
}

static void add_row(GPtrArray *groups, const IfmStudyRow *row, IfmRowState state)
{
    const char *reason = ifm_stage_row_reason(row);
    g_autofree char *mask = ifm_format_mask(reason);
    Group *group = NULL;
    for (guint i = 0; i < groups->len && group == NULL; i++)
    {
        Group *other = groups->pdata[i];
        if (other->device == row->device && other->state == state && g_strcmp0(other->code, row->code) == 0 &&
            g_str_equal(other->mask, mask) && other->kind == kind_of(row))
            group = other;
    }
    if (group == NULL)
    {
        group = g_new0(Group, 1);
        group->device = row->device;
        group->code = row->code;
        group->state = state;
        group->kind = kind_of(row);
        group->mask = g_steal_pointer(&mask);
        group->reason = reason;
        group->stages = g_array_new(FALSE, FALSE, sizeof(int));
        group->min = row;
        g_ptr_array_add(groups, group);
    }
    group->n++;
    group->vary |= !g_str_equal(group->reason, reason);
    group->several_sizes |= row->nodes != group->min->nodes || row->edges != group->min->edges;
    if (is_smaller(row, group->min))
        group->min = row;
    add_stage(group->stages, row->stage);
}

/* "NPU stages 3, 4" */
static char *head_of(const Group *group, gsize n_stages)
{
    GString *head = g_string_new(group->device->alias);
    g_string_append(head, group->kind);
    if (group->stages->len == n_stages || *group->kind != '\0')
        return g_string_free(head, FALSE);
    g_string_append_printf(head, " stage%s", ifm_plural(group->stages->len));
    for (guint i = 0; i < group->stages->len; i++)
        g_string_append_printf(head, "%s %d", i > 0 ? "," : "", g_array_index(group->stages, int, i));
    return g_string_free(head, FALSE);
}

/* Why the cases have none. */
static char *reason_of(const Group *group)
{
    GString *text = g_string_new(NULL);
    g_string_append_printf(text, "%zu case%s %s", group->n, ifm_plural(group->n), ifm_row_state_words(group->state));
    if (group->state == IFM_ROW_FAILED && group->code != NULL && *group->code != '\0' &&
        !g_str_equal(group->code, "failed") && !g_str_has_prefix(group->reason, group->code))
        g_string_append_printf(text, " (%s)", group->code);
    g_string_append_printf(text, ", %s %" G_GINT64_FORMAT " nodes / %" G_GINT64_FORMAT " edges%s: %s%s",
                           group->several_sizes ? "from" : "at", group->min->nodes, group->min->edges,
                           group->several_sizes ? " on" : "", group->reason,
                           group->vary ? " (the reason of the first)" : "");
    return g_string_free(text, FALSE);
}

static void add_rows(GPtrArray *groups, const IfmStudyTables *tables, const GPtrArray *rows)
{
    for (guint i = 0; i < rows->len; i++)
    {
        const IfmStudyRow *row = rows->pdata[i];
        if (row->reason != NULL && ifm_stage_row_listed(tables, row))
            add_row(groups, row, ifm_study_row_state(tables, row));
    }
}

/* Latencies that count all the same. */
static void add_doubts(IfmDocument *document, const GPtrArray *rows)
{
    for (guint i = 0; i < rows->len; i++)
    {
        const IfmStudyRow *row = rows->pdata[i];
        if (row->doubt == NULL || row->reason != NULL)
            continue;
        g_autofree char *head = g_strdup_printf("%s%s stage %d", row->device->alias, kind_of(row), row->stage);
        ifm_document_note(document, head, IFM_TONE_WARN, "at %" G_GINT64_FORMAT " nodes / %" G_GINT64_FORMAT " edges: %s",
                          row->nodes, row->edges, row->doubt);
    }
}

void ifm_study_add_failures(IfmDocument *document, const IfmStudyTables *tables)
{
    g_autoptr(GPtrArray) groups = g_ptr_array_new_with_free_func((GDestroyNotify)group_free);
    gsize n_stages = 0, counts[IFM_ROW_STATES];
    add_rows(groups, tables, tables->rows);
    add_rows(groups, tables, tables->ranges);
    for (gsize i = 0; i < tables->staged->n_stages; i++)
        n_stages += ifm_study_has_stage(tables, tables->staged->stages[i].number);
    ifm_document_heading(document, "What has no latency, and why");
    for (guint i = 0; i < tables->devices->len; i++)
    {
        const IfmStudyDevice *device = tables->devices->pdata[i];
        if (device->reason != NULL)
            ifm_document_note(document, device->alias, IFM_TONE_WARN, "skipped: %s", device->reason);
    }
    for (guint i = 0; i < groups->len; i++)
    {
        const Group *group = groups->pdata[i];
        g_autofree char *head = head_of(group, n_stages), *reason = reason_of(group);
        ifm_document_note(document, head, group->state == IFM_ROW_FAILED ? IFM_TONE_BAD : IFM_TONE_WARN, "%s", reason);
    }
    add_doubts(document, tables->rows);
    add_doubts(document, tables->ranges);
    ifm_study_row_count(tables, NULL, 0, counts);
    for (guint i = 0; i < tables->links->len; i++)
    {
        const IfmLinkFit *link = tables->links->pdata[i];
        if (link->fitted || link->why == NULL || link->from->reason != NULL || link->to->reason != NULL ||
            (link->n == 0 && counts[IFM_ROW_LEFT] > 0)) /* it may still come */
            continue;
        g_autofree char *head = g_strdup_printf("link %s > %s", link->from->alias, link->to->alias);
        ifm_document_note(document, head, IFM_TONE_WARN, "%s", link->why);
    }
}
