/* The cases of a study of stages: stages and ranges on devices, alone and under load, and the links between devices. */
#include <math.h>
#include <string.h>

#include "study-stages.h"
#include <base/base.h>
#include <staged/staged.h>

/* Of the sizes at which one link is measured: enough for a line and to see whether it is one. */
#define MAX_LINK_SIZES 12
/* Far beyond every cache a copy takes as long as its bytes do: larger ones show nothing more, and take much memory. */
#define MAX_LINK_BYTES (G_GINT64_CONSTANT(128) << 20)

/* --- stages --------------------------------------------------------------------------------------------------------- */

static char *title_of(const IfmStudy *study, const StudyCase *one)
{
    const IfmStudyCase *row = &one->row;
    g_autofree char *what = study_stages_title(row->alias, study->staged, row->stage, row->last);
    g_auto(GStrv) others = g_strsplit(row->busy != NULL ? row->busy : "", "+", -1);
    g_autofree char *busy = g_strjoinv(" + ", others);
    return g_strdup_printf("%s, %" G_GINT64_FORMAT " nodes, %" G_GINT64_FORMAT " edges%s%s", what, row->nodes, row->edges,
                           *busy != '\0' ? ", with background load on " : "", busy);
}

static gint compare_aliases(gconstpointer a, gconstpointer b)
{
    return strcmp((*(const IfmStudyDevice *const *)a)->alias, (*(const IfmStudyDevice *const *)b)->alias);
}

/* @background: (transfer container) (optional) IfmStudyDevice *, at least one */
static StudyCase *case_new(const IfmStudy *study, const StudyRange *range, StudySize *size, IfmStudyDevice *device,
                           GPtrArray *background)
{
    StudyCase *one = g_new0(StudyCase, 1);
    one->device = device;
    one->size = size;
    one->row = (IfmStudyCase){ .phase = device->phase,
                               .alias = g_strdup(device->alias),
                               .stage = range->first,
                               .last = range->last,
                               .nodes = size->size.nodes,
                               .edges = size->size.edges };
    if (background != NULL)
    {
        g_ptr_array_sort(background, compare_aliases);
        g_autoptr(GPtrArray) aliases = g_ptr_array_new();
        for (guint i = 0; i < background->len; i++)
        {
            const IfmStudyDevice *other = background->pdata[i];
            g_ptr_array_add(aliases, other->alias);
            one->row.phase = MAX(one->row.phase, other->phase);
        }
        g_ptr_array_add(aliases, NULL);
        one->row.busy = g_strjoinv("+", (char **)aliases->pdata);
        g_ptr_array_add(background, NULL);
        one->background = (IfmStudyDevice **)g_ptr_array_free(background, FALSE);
    }
    one->row.title = title_of(study, one);
    return one;
}

void study_add_case(IfmStudy *study, int phase, StudyCase *one)
{
    if (one->row.phase == phase)
    {
        g_ptr_array_add(study->cases, one);
        return;
    }
    if (study->kind->clear_case != NULL)
        study->kind->clear_case(one);
    study_case_free(one);
}

static gboolean is_for(const IfmStudyDevice *device, const StudyRange *range)
{
    return (device->not_stages & study_range_mask(range->first, range->last)) == 0;
}

/* Those that can work while a device does: two names for one device are one. (transfer full) IfmStudyDevice * */
static GPtrArray *others_of(const IfmStudy *study, const StudyRange *range, const IfmStudyDevice *device)
{
    GPtrArray *others = g_ptr_array_new();
    for (guint i = 0; i < study->devices->len; i++)
    {
        IfmStudyDevice *other = study->devices->pdata[i];
        gboolean known = g_str_equal(other->device, device->device) || !is_for(other, range);
        for (guint k = 0; k < others->len; k++)
            known |= g_str_equal(((const IfmStudyDevice *)others->pdata[k])->device, other->device);
        if (!known)
            g_ptr_array_add(others, other);
    }
    return others;
}

/* Alone, then under load by each set of the others: the small sets first. */
static void span_device(IfmStudy *study, int phase, const StudyRange *range, StudySize *size, IfmStudyDevice *device)
{
    study_add_case(study, phase, case_new(study, range, size, device, NULL));
    if (!study->contention)
        return;
    g_autoptr(GPtrArray) others = others_of(study, range, device);
    for (guint n = 1; n <= others->len; n++)
        for (guint32 set = 1; set < 1u << others->len; set++)
        {
            GPtrArray *background = g_ptr_array_new();
            for (guint i = 0; i < others->len; i++)
                if ((set >> i & 1) != 0)
                    g_ptr_array_add(background, others->pdata[i]);
            if (background->len == n)
                study_add_case(study, phase, case_new(study, range, size, device, background));
            else
                g_ptr_array_unref(background);
        }
}

static void span_range(IfmStudy *study, int phase, const StudyRange *range, StudySize *size)
{
    for (guint d = 0; d < study->devices->len; d++)
        if (is_for(study->devices->pdata[d], range))
            span_device(study, phase, range, size, study->devices->pdata[d]);
}

static void span_stages(IfmStudy *study, int phase)
{
    for (guint s = 0; s < study->sizes->len; s++)
    {
        for (guint k = 0; k < study->stages->len; k++)
        {
            int number = g_array_index(study->stages, int, k);
            span_range(study, phase, &(StudyRange){ number, number }, study->sizes->pdata[s]);
        }
        for (guint k = 0; k < study->ranges->len; k++)
            span_range(study, phase, &g_array_index(study->ranges, StudyRange, k), study->sizes->pdata[s]);
    }
}

/* --- links ---------------------------------------------------------------------------------------------------------- */

/* Every size that a boundary tensor has at some size of the study, cut to what is copied at most, ascending, once.
 * (transfer full) */
static GArray *boundary_bytes(const IfmStudy *study)
{
    GArray *all = g_array_new(FALSE, FALSE, sizeof(gint64)), *distinct = g_array_new(FALSE, FALSE, sizeof(gint64));
    for (guint s = 0; s < study->sizes->len; s++)
        for (gsize b = 0; b < study->staged->n_boundaries; b++)
        {
            IfmStageSizes sizes = ifm_study_stage_sizes(study);
            const StudySize *size = study->sizes->pdata[s];
            sizes.nodes = size->size.nodes;
            sizes.edges = size->size.edges;
            gint64 bytes = ifm_boundary_bytes(&study->staged->boundaries[b], &sizes);
            bytes = MIN(bytes, MAX_LINK_BYTES);
            if (bytes > 0)
                g_array_append_val(all, bytes);
        }
    g_array_sort(all, ifm_compare_int64);
    for (guint i = 0; i < all->len; i++)
        if (i == 0 || g_array_index(all, gint64, i) != g_array_index(all, gint64, i - 1))
            g_array_append_val(distinct, g_array_index(all, gint64, i));
    g_array_unref(all);
    return distinct;
}

/* Keeps those nearest to steps of equal ratio from the least to the largest. */
static GArray *spread(GArray *distinct /* (transfer full) */)
{
    if (distinct->len <= MAX_LINK_SIZES)
        return distinct;
    double min = log((double)g_array_index(distinct, gint64, 0));
    double max = log((double)g_array_index(distinct, gint64, distinct->len - 1));
    GArray *kept = g_array_new(FALSE, FALSE, sizeof(gint64));
    guint next = 0;
    for (guint step = 0; step < MAX_LINK_SIZES; step++)
    {
        double wanted = min + (max - min) * step / (MAX_LINK_SIZES - 1);
        guint best = next, still = MAX_LINK_SIZES - 1 - step; /* so many must be left for the steps to come */
        for (guint i = next; i + still < distinct->len; i++)
            if (fabs(log((double)g_array_index(distinct, gint64, i)) - wanted) <
                fabs(log((double)g_array_index(distinct, gint64, best)) - wanted))
                best = i;
        g_array_append_val(kept, g_array_index(distinct, gint64, best));
        next = best + 1;
    }
    g_array_unref(distinct);
    return kept;
}

static void add_link(IfmStudy *study, IfmStudyDevice *from, IfmStudyDevice *to, gint64 bytes)
{
    StudyCase *one = g_new0(StudyCase, 1);
    one->device = from;
    one->to = to;
    one->row = (IfmStudyCase){
        .phase = MAX(from->phase, to->phase), .alias = g_strdup(from->alias), .to = g_strdup(to->alias), .bytes = bytes
    };
    one->row.title = g_strdup_printf("%s > %s, %" G_GINT64_FORMAT " bytes", from->alias, to->alias, bytes);
    study_add_case(study, one->row.phase, one);
}

/* Two names for one device have no link between them. */
static void span_links(IfmStudy *study, int phase, const GArray *sizes)
{
    for (guint f = 0; f < study->devices->len; f++)
        for (guint t = 0; t < study->devices->len; t++)
        {
            IfmStudyDevice *from = study->devices->pdata[f], *to = study->devices->pdata[t];
            if (MAX(from->phase, to->phase) != phase || g_str_equal(from->device, to->device))
                continue;
            for (guint i = 0; i < sizes->len; i++)
                add_link(study, from, to, g_array_index(sizes, gint64, i));
        }
}

void study_stages_span(IfmStudy *study, int phase)
{
    g_autoptr(GArray) bytes = spread(boundary_bytes(study));
    if (study->links) /* first: copies lose no device, and planning needs those of a device that large stages lose, too */
        span_links(study, phase, bytes);
    span_stages(study, phase);
}

const GPtrArray *ifm_study_cases(IfmStudy *study)
{
    if (study->cases != NULL)
        return study->cases;
    study->cases = g_ptr_array_new_with_free_func((GDestroyNotify)study_case_free);
    for (int phase = 1; phase <= 2; phase++)
        study->kind->span(study, phase);
    return study->cases;
}
