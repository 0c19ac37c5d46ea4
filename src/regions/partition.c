/* Which steps are of one region: those that a region can compute at once. */
#include "regions-private.h"

static Step *step_at(const Partition *self, gsize index)
{
    return self->steps->pdata[index];
}

/*
 * The level of a step is how often the paths to it change between steps that programs have and others, at most. A path that
 * leaves a region ends at a higher level, so it does not come back to it: what is connected within one level is convex, and
 * sorted by level what reads comes after what makes.
 */
static void find_levels(Partition *self)
{
    const IfmModel *model = self->facts->model;
    for (gsize i = 0; i < self->steps->len; i++)
    {
        const Step *step = step_at(self, i);
        const IfmNode *node = ifm_model_node(model, step->node);
        for (gsize k = 0; !step->is_joined && k < node->n_outputs; k++)
        {
            const GArray *readers = ifm_model_consumers(model, node->outputs[k]);
            for (guint r = 0; readers != NULL && r < readers->len; r++)
            {
                Step *reader = step_at(self, self->owners[g_array_index(readers, gsize, r)]);
                const gboolean differs = regions_is_supported(reader) != regions_is_supported(step);
                reader->level = MAX(reader->level, step->level + (differs ? 1 : 0));
            }
        }
    }
}

/* --- what is connected ------------------------------------------------------------------------------------------------ */

static gsize root_of(gsize *parents, gsize index)
{
    while (parents[index] != index)
        index = parents[index] = parents[parents[index]];
    return index;
}

static void connect(const Partition *self, gsize *parents, gsize index, const char *tensor)
{
    const gssize node = ifm_model_producer(self->facts->model, tensor);
    const gsize maker = node >= 0 ? self->owners[node] : index;
    if (regions_is_supported(step_at(self, maker)) && step_at(self, maker)->level == step_at(self, index)->level)
        parents[root_of(parents, index)] = root_of(parents, maker);
}

/* (transfer full) [steps] equal for what is connected; @is_apart: nothing is */
static gsize *find_parts(const Partition *self, gboolean is_apart)
{
    gsize *parents = g_new0(gsize, self->steps->len + 1);
    for (gsize i = 0; i < self->steps->len; i++)
        parents[i] = i;
    for (gsize i = 0; i < self->steps->len && !is_apart; i++)
    {
        const Step *step = step_at(self, i);
        for (guint k = 0; regions_is_supported(step) && !step->is_joined && k < step->values->len; k++)
            connect(self, parents, i, step->values->pdata[k]);
        if (regions_is_supported(step) && !step->is_joined && step->sum != NULL)
            connect(self, parents, i, step->sum);
    }
    for (gsize i = 0; i < self->steps->len; i++)
        parents[i] = root_of(parents, i);
    return parents;
}

static gboolean is_left(const GArray *keep, guint part)
{
    return keep != NULL && part < keep->len && !g_array_index(keep, gboolean, part);
}

/* Whether anything outside of the part of a step reads what it makes: what nobody reads is no region. */
static gboolean is_read_outside(const Partition *self, const gsize *parts, gsize index)
{
    const Step *step = step_at(self, index);
    const GArray *readers = ifm_model_consumers(self->facts->model, step->output);
    gboolean is_read = g_hash_table_contains(self->facts->outputs, step->output);
    for (guint i = 0; readers != NULL && i < readers->len; i++)
        is_read |= parts[self->owners[g_array_index(readers, gsize, i)]] != parts[index];
    return is_read;
}

/* [steps] of each part whether it is a region: with a convolution, unless they are @is_apart, and an output. (transfer
 * full)
 */
static gboolean *find_regions(const Partition *self, const gsize *parts, gboolean is_apart)
{
    gboolean *is_region = g_new0(gboolean, self->steps->len + 1);
    g_autofree gboolean *is_read = g_new0(gboolean, self->steps->len + 1);
    for (gsize i = 0; i < self->steps->len; i++)
    {
        const Step *step = step_at(self, i);
        if (step->is_joined || !regions_is_supported(step))
            continue;
        is_region[parts[i]] |= is_apart || g_strcmp0(step->word, "conv") == 0;
        is_read[parts[i]] |= is_read_outside(self, parts, i);
    }
    for (gsize i = 0; i < self->steps->len; i++)
        is_region[i] &= is_read[i];
    return is_region;
}

void regions_number(Partition *partition, const IfmRegionsOptions *options)
{
    const gsize n = partition->steps->len;
    find_levels(partition);
    g_autofree gsize *parts = find_parts(partition, options->is_apart);
    g_autofree guint *numbers = g_new0(guint, n + 1);
    g_autofree gboolean *is_region = find_regions(partition, parts, options->is_apart);
    guint n_parts = 0;
    for (gsize i = 0; i < n; i++)
    {
        Step *step = step_at(partition, i);
        if (step->is_joined || !regions_is_supported(step) || !is_region[parts[i]])
            continue;
        if (numbers[parts[i]] == 0 && !is_left(options->keep, n_parts++))
            numbers[parts[i]] = ++partition->n_regions;
        else if (numbers[parts[i]] == 0)
            is_region[parts[i]] = FALSE;
        step->region = numbers[parts[i]];
    }
}
