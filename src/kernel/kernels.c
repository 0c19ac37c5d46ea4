#include <math.h>

#include <base/fields.h>
#include <trace/trace.h>

#include "kernel-private.h"

/* The kernels of a measurement's profiled runs: whose work they do, their place under the roofline, kinds of them. */

gboolean ifm_node_row_is_marshalling(const IfmNodeRow *row)
{
    g_autofree char *text = g_strdup_printf("%s %s", row->op_type, row->name);
    return ifm_node_is_marshalling(text);
}

/* --- by the runtime's own graph -------------------------------------------------------------------------------------- */

static IfmNodeFamily family_from_name(const char *name)
{
    for (int family = 0; family < IFM_N_FAMILIES; family++)
        if (g_strcmp0(ifm_family_name((IfmNodeFamily)family), name) == 0)
            return (IfmNodeFamily)family;
    return IFM_FAMILY_OTHER;
}

static gint64 count_of(const json_t *cost, const char *key)
{
    return json_integer_value(json_object_get(cost, key));
}

/* The model's nodes that it computes, where the graph tells. (transfer full) */
static GArray *layers_of(const json_t *cost)
{
    const json_t *covers = json_object_get(cost, "covers");
    GArray *layers = json_array_size(covers) > 0 ? g_array_new(FALSE, FALSE, sizeof(gsize)) : NULL;
    for (gsize i = 0; i < json_array_size(covers); i++)
    {
        const gsize layer = (gsize)json_integer_value(json_array_get(covers, i));
        g_array_append_val(layers, layer);
    }
    return layers;
}

/* @costs: one a row, in their order; null where the graph had no such node, or its operator no rule */
static void cost_by_graph(IfmKernels *kernels, const json_t *costs)
{
    for (guint row = 0; row < kernels->rows->len; row++)
    {
        IfmKernel *kernel = kernels->rows->pdata[row];
        const json_t *cost = json_array_get(costs, row);
        if (!json_is_object(cost))
            continue;
        kernel->known = TRUE;
        kernel->makes = ifm_member_text(cost, "makes");
        kernel->layers = layers_of(cost);
        kernel->family = family_from_name(ifm_member_text(cost, "family"));
        kernel->cost = (IfmNodeCost){ .covered = json_is_true(json_object_get(cost, "covered")),
                                      .is_upper_bound = json_is_true(json_object_get(cost, "at_most")),
                                      .family = kernel->family,
                                      .macs = count_of(cost, "macs"),
                                      .flop = count_of(cost, "flop"),
                                      .bytes_read = count_of(cost, "bytes_read"),
                                      .bytes_written = count_of(cost, "bytes_written") };
    }
}

/* --- all of it ------------------------------------------------------------------------------------------------------- */

static void kernel_free(IfmKernel *kernel)
{
    g_clear_pointer(&kernel->layers, g_array_unref);
    g_free(kernel->members);
    g_free(kernel->label);
    g_free(kernel);
}

void ifm_kernels_free(IfmKernels *kernels)
{
    if (kernels == NULL)
        return;
    g_ptr_array_unref(kernels->rows);
    g_free(kernels);
}

static void place(IfmKernels *kernels, const IfmRoofline *roofline)
{
    kernels->min_ns = roofline != NULL ? 0 : (double)NAN;
    for (guint row = 0; row < kernels->rows->len; row++)
    {
        IfmKernel *kernel = kernels->rows->pdata[row];
        kernel->place = (IfmRoofPlace){ IFM_BOUND_NEITHER, NAN, NAN, NAN, NAN };
        double bytes = (double)kernel->cost.bytes_read + (double)kernel->cost.bytes_written;
        gboolean exact = !kernel->marshalling && ifm_cost_is_exact(&kernel->cost);
        if (exact && bytes > 0)
            kernel->place.intensity = (double)kernel->cost.flop / bytes;
        if (kernel->marshalling && roofline != NULL) /* none of the model's work: at the limit there would be none */
            kernel->place = (IfmRoofPlace){ IFM_BOUND_NEITHER, NAN, 0, NAN, kernel->node->median_ns };
        else if (exact && roofline != NULL)
            ifm_roofline_place(roofline, (double)kernel->cost.flop, bytes, kernel->node->median_ns, &kernel->place);
        if (kernel->unresolved)
        {
            kernel->place.attained = NAN;
            kernel->place.excess_ns = isfinite(kernel->place.min_ns) ? 0 : (double)NAN;
        }
        kernels->min_ns += kernel->place.min_ns;
    }
}

static gint compare_times(gconstpointer a, gconstpointer b)
{
    const IfmKernel *x = *(IfmKernel *const *)a, *y = *(IfmKernel *const *)b;
    return (x->node->median_ns < y->node->median_ns) - (x->node->median_ns > y->node->median_ns);
}

static void count_unknown(IfmKernels *kernels)
{
    for (guint row = 0; row < kernels->rows->len; row++)
    {
        IfmKernel *kernel = kernels->rows->pdata[row];
        kernel->share_ratio = kernels->nodes_ns > 0 ? kernel->node->median_ns / kernels->nodes_ns : 0;
        kernels->n_upper_bounds += kernel->cost.is_upper_bound;
        kernels->n_unresolved += kernel->unresolved && !kernel->marshalling && ifm_cost_is_exact(&kernel->cost);
        if (kernel->cost.covered)
            continue;
        kernels->n_unknown++;
        kernels->n_marshalling += kernel->marshalling;
        kernels->unknown_ratio += kernel->share_ratio;
    }
}

IfmKernels *ifm_kernels_new(const IfmMeasurement *measurement, IfmModel *model, const IfmAnalysis *analysis,
                            const IfmRoofline *roofline)
{
    IfmKernels *kernels = g_new0(IfmKernels, 1);
    const json_t *costs = json_object_get(measurement->breakdown, "costs");
    const double resolution_ns = ifm_member_number(measurement->breakdown, "resolution_ns");
    kernels->rows = g_ptr_array_new_with_free_func((GDestroyNotify)kernel_free);
    for (guint row = 0; row < measurement->nodes->len; row++)
    {
        IfmKernel *kernel = g_new0(IfmKernel, 1);
        kernel->node = measurement->nodes->pdata[row];
        kernel->marshalling = ifm_node_row_is_marshalling(kernel->node);
        kernel->unresolved = !(kernel->node->median_ns > 0) || kernel->node->median_ns <= resolution_ns;
        kernels->nodes_ns += kernel->node->median_ns;
        g_ptr_array_add(kernels->rows, kernel);
    }
    gboolean graph = json_array_size(costs) == kernels->rows->len && kernels->rows->len > 0;
    if (graph)
    {
        kernels->reported_by = "the graph as the runtime optimised it";
        cost_by_graph(kernels, costs);
    }
    else
        kernels->why_names = ifm_member_text(measurement->breakdown, "costs_why");
    if (model != NULL && analysis != NULL)
    {
        gboolean has_parts = json_array_size(json_object_get(measurement->breakdown, "parts")) == kernels->rows->len;
        if (!graph)
            kernels->reported_by =
                has_parts && kernels->rows->len > 0 ? "the parts that the runtime names" : "the nodes' names";
        ifm_kernels_cost_by_names(kernels, measurement, model, analysis, !graph);
    }
    place(kernels, roofline);
    count_unknown(kernels);
    g_ptr_array_sort(kernels->rows, compare_times);
    return kernels;
}

const IfmKernel *ifm_kernels_furthest(const IfmKernels *kernels)
{
    const IfmKernel *best = NULL;
    for (guint i = 0; i < kernels->rows->len; i++)
    {
        const IfmKernel *kernel = kernels->rows->pdata[i];
        if (isfinite(kernel->place.excess_ns) && (best == NULL || kernel->place.excess_ns > best->place.excess_ns))
            best = kernel;
    }
    return best;
}

/* --- families -------------------------------------------------------------------------------------------------------- */

static gint compare_families(gconstpointer a, gconstpointer b)
{
    double x = ((const IfmKernelFamily *)a)->time_ns, y = ((const IfmKernelFamily *)b)->time_ns;
    return (x < y) - (x > y);
}

/* The runtime's own copies, and what is not known, are families of their own. */
static gsize family_of(const IfmKernel *kernel)
{
    if (kernel->marshalling)
        return IFM_N_FAMILIES;
    return kernel->known ? kernel->family : IFM_N_FAMILIES + 1;
}

const char *ifm_kernel_family_words(const char *name)
{
    static const char *const words[][2] = { { "product", "matmul" },
                                            { "movement", "layout" },
                                            { "the runtime's copies", "data movement" } };
    for (gsize i = 0; i < G_N_ELEMENTS(words); i++)
        if (g_str_equal(words[i][0], name))
            return words[i][1];
    return name;
}

GArray *ifm_kernels_families(const IfmKernels *kernels)
{
    IfmKernelFamily found[IFM_N_FAMILIES + 2] = { 0 };
    GArray *families = g_array_new(FALSE, FALSE, sizeof(IfmKernelFamily));
    for (guint row = 0; row < kernels->rows->len; row++)
    {
        const IfmKernel *kernel = kernels->rows->pdata[row];
        IfmKernelFamily *family = &found[family_of(kernel)];
        family->n++;
        family->time_ns += kernel->node->median_ns;
        family->share_ratio += kernel->share_ratio;
        family->flop += kernel->marshalling                ? 0
                        : ifm_cost_is_exact(&kernel->cost) ? (double)kernel->cost.flop
                                                           : (double)NAN;
        family->min_ns += kernel->place.min_ns;
        family->excess_ns += kernel->place.excess_ns;
    }
    for (gsize i = 0; i < G_N_ELEMENTS(found); i++)
    {
        if (found[i].n == 0)
            continue;
        found[i].name = i < IFM_N_FAMILIES    ? ifm_family_name((IfmNodeFamily)i)
                        : i == IFM_N_FAMILIES ? "the runtime's copies"
                                              : "not known";
        found[i].attained = found[i].time_ns > 0 && found[i].min_ns > 0 ? found[i].min_ns / found[i].time_ns : (double)NAN;
        g_array_append_val(families, found[i]);
    }
    g_array_sort(families, compare_families);
    return families;
}
