#include <math.h>

#include <zoo/zoo.h>

#include "kernel-private.h"

/* The parts of a graph transformer: their layers, and the kernels that ran them. */

static const char *const part_names[] = {
    "input", "mpnn", "attention", "ffn", "norm", "head", "loss", "update", "not known"
};
#define N_PARTS G_N_ELEMENTS(part_names)
#define UNKNOWN_PART (N_PARTS - 1)

static gsize part_named(const char *part)
{
    for (gsize i = 0; i < UNKNOWN_PART && part != NULL; i++)
        if (g_str_equal(part_names[i], part))
            return i;
    return UNKNOWN_PART;
}

static gsize part_of_name(const char *node_name)
{
    return part_named(node_name != NULL ? ifm_transformer_part_of(node_name) : NULL);
}

static gsize part_of_layer(const IfmModel *model, gsize layer)
{
    return part_of_name(ifm_model_node(model, layer)->name);
}

/* By its own name; by the layer that does most of it; by the one whose result it makes; by any in it; by what it does: a
 * runtime that takes a normalisation apart may call what is left of it by a number, and no other part has that operator. */
static gsize part_of_kernel(IfmModel *model, const IfmKernel *kernel)
{
    static const char *const normalisations[] = { "MVN", "LayerNormalization", "BatchNormalization", NULL };
    gssize maker = kernel->makes != NULL ? ifm_model_producer(model, kernel->makes) : -1;
    const char *names[] = { kernel->node->name, kernel->label,
                            maker >= 0 ? ifm_model_node(model, (gsize)maker)->name : NULL };
    gsize part = UNKNOWN_PART;
    for (gsize i = 0; i < G_N_ELEMENTS(names) && part == UNKNOWN_PART; i++)
        part = part_of_name(names[i]);
    for (guint i = 0; kernel->layers != NULL && i < kernel->layers->len && part == UNKNOWN_PART; i++)
        part = part_of_layer(model, g_array_index(kernel->layers, gsize, i));
    return part == UNKNOWN_PART && g_strv_contains(normalisations, kernel->node->op_type) ? part_named("norm") : part;
}

GArray *ifm_model_parts(IfmModel *model, const IfmAnalysis *analysis, const IfmKernels *kernels)
{
    GArray *parts = g_array_sized_new(FALSE, TRUE, sizeof(IfmModelPart), N_PARTS);
    g_array_set_size(parts, N_PARTS);
    IfmModelPart *of = (IfmModelPart *)(void *)parts->data;
    gint64 flop = 0;
    for (gsize i = 0; i < N_PARTS; i++)
    {
        of[i].name = part_names[i];
        of[i].time_ns = of[i].time_ratio = kernels != NULL ? 0 : (double)NAN;
    }
    for (gsize i = 0; i < ifm_model_n_nodes(model); i++)
    {
        const IfmNodeCost *cost = ifm_analysis_node_cost(analysis, i);
        IfmModelPart *part = &of[part_of_layer(model, i)];
        part->n_nodes++;
        part->macs += cost->macs;
        part->flop += cost->flop;
        flop += cost->flop;
    }
    for (gsize i = 0; i < N_PARTS; i++)
        of[i].flop_ratio = flop > 0 ? (double)of[i].flop / (double)flop : 0;
    for (guint row = 0; kernels != NULL && row < kernels->rows->len; row++)
    {
        const IfmKernel *kernel = kernels->rows->pdata[row];
        IfmModelPart *part = &of[part_of_kernel(model, kernel)];
        part->time_ns += kernel->node->median_ns;
        part->time_ratio += kernel->share_ratio;
    }
    return parts;
}

gint64 ifm_attention_alive_bytes(const IfmModel *model, const IfmAnalysis *analysis)
{
    gsize n = ifm_model_n_nodes(model), attention = part_named("attention");
    g_autofree gint64 *change = g_new0(gint64, n + 2);
    g_auto(IfmMemoryPlan) plan = { 0 };
    ifm_analysis_memory(analysis, &plan);
    for (guint i = 0; i < plan.lifetimes->len; i++)
    {
        const IfmLifetime *life = &g_array_index(plan.lifetimes, IfmLifetime, i);
        if (life->first < 0 || part_of_layer(model, (gsize)life->first) != attention)
            continue;
        if (life->bytes < 0)
            return -1;
        change[life->first] += life->bytes;
        change[MIN(life->last, (gssize)n) + 1] -= life->bytes;
    }
    gint64 alive = 0, max = 0;
    for (gsize i = 0; i < n; i++)
    {
        alive += change[i];
        max = MAX(max, alive);
    }
    return max;
}
