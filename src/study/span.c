#include <math.h>

#include "study-private.h"

/* Of the sizes at which one link is measured: enough for a line and to see whether it is one. */
#define MOST_LINK_SIZES 12
/* Far beyond every cache a copy takes as long as its bytes do: larger ones tell nothing more, and take much memory. */
#define MOST_LINK_BYTES (G_GINT64_CONSTANT(128) << 20)

/* --- stages --------------------------------------------------------------------------------------------------------- */

static void add_stage_case(IfmStudy *study, int number, StudySize *size, IfmStudyDevice *device)
{
    StudyCase *one = g_new0(StudyCase, 1);
    one->device = device;
    one->size = size;
    one->row = (IfmStudyCase){ .phase = device->phase,
                               .alias = g_strdup(device->alias),
                               .stage = number,
                               .last = number,
                               .nodes = size->size.nodes,
                               .edges = size->size.edges };
    one->row.title =
        g_strdup_printf("%s stage %d %s, %" G_GINT64_FORMAT " nodes, %" G_GINT64_FORMAT " edges", device->alias, number,
                        study_stage(study->staged, number)->name, size->size.nodes, size->size.edges);
    g_ptr_array_add(study->cases, one);
}

static void span_stages(IfmStudy *study, int phase)
{
    for (guint s = 0; s < study->sizes->len; s++)
        for (guint k = 0; k < study->stages->len; k++)
            for (guint d = 0; d < study->devices->len; d++)
            {
                IfmStudyDevice *device = study->devices->pdata[d];
                if (device->phase == phase)
                    add_stage_case(study, g_array_index(study->stages, int, k), study->sizes->pdata[s], device);
            }
}

/* --- links ---------------------------------------------------------------------------------------------------------- */

static gint compare_bytes(gconstpointer a, gconstpointer b)
{
    gint64 left = *(const gint64 *)a, right = *(const gint64 *)b;
    return left < right ? -1 : left > right;
}

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
            bytes = MIN(bytes, MOST_LINK_BYTES);
            if (bytes > 0)
                g_array_append_val(all, bytes);
        }
    g_array_sort(all, compare_bytes);
    for (guint i = 0; i < all->len; i++)
        if (i == 0 || g_array_index(all, gint64, i) != g_array_index(all, gint64, i - 1))
            g_array_append_val(distinct, g_array_index(all, gint64, i));
    g_array_unref(all);
    return distinct;
}

/* Keeps those nearest to steps of equal ratio from the least to the largest. */
static GArray *spread(GArray *distinct /* (transfer full) */)
{
    if (distinct->len <= MOST_LINK_SIZES)
        return distinct;
    double least = log((double)g_array_index(distinct, gint64, 0));
    double most = log((double)g_array_index(distinct, gint64, distinct->len - 1));
    GArray *kept = g_array_new(FALSE, FALSE, sizeof(gint64));
    guint next = 0;
    for (guint step = 0; step < MOST_LINK_SIZES; step++)
    {
        double wanted = least + (most - least) * step / (MOST_LINK_SIZES - 1);
        guint best = next, still = MOST_LINK_SIZES - 1 - step; /* so many must be left for the steps to come */
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
    g_ptr_array_add(study->cases, one);
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

const GPtrArray *ifm_study_cases(IfmStudy *study)
{
    if (study->cases != NULL)
        return study->cases;
    study->cases = g_ptr_array_new_with_free_func((GDestroyNotify)study_case_free);
    g_autoptr(GArray) bytes = spread(boundary_bytes(study));
    for (int phase = 1; phase <= 2; phase++)
    {
        if (study->links) /* first: copies lose no device, and planning needs those of a device that large stages lose, too
                           */
            span_links(study, phase, bytes);
        span_stages(study, phase);
    }
    return study->cases;
}
