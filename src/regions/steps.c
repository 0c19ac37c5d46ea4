/* The nodes of a model as steps; a sum and an activation are part of the step before them. */
#include "regions-private.h"

static void constant_clear(gpointer data)
{
    g_free(((Constant *)data)->values);
}

static Step *step_new(gsize node)
{
    Step *step = g_new0(Step, 1);
    step->node = node;
    step->values = g_ptr_array_new();
    step->constants = g_array_new(FALSE, FALSE, sizeof(Constant));
    g_array_set_clear_func(step->constants, constant_clear);
    return step;
}

void regions_step_free(gpointer data)
{
    Step *step = data;
    g_ptr_array_unref(step->values);
    g_array_unref(step->constants);
    g_free(step->settings);
    g_free(step->layer);
    g_free(step);
}

static Step *step_at(const Partition *self, gsize index)
{
    return self->steps->pdata[index];
}

Step *regions_maker(const Partition *partition, const char *tensor)
{
    const gssize node = ifm_model_producer(partition->facts->model, tensor);
    return node >= 0 ? step_at(partition, partition->owners[node]) : NULL;
}

/* --- reading ---------------------------------------------------------------------------------------------------------- */

/* Products are found from behind, so that the longest is taken. @heads: [nodes] of an inner node 1 + that of its product */
static void find_products(Partition *self, Step **found, gsize *heads)
{
    const IfmModel *model = self->facts->model;
    g_autoptr(GArray) inner = g_array_new(FALSE, FALSE, sizeof(gsize));
    for (gsize i = ifm_model_n_nodes(model); i-- > 0;)
    {
        Step *step = step_new(i);
        g_array_set_size(inner, 0);
        if (heads[i] == 0 && regions_read_product(self->facts, ifm_model_node(model, i), step, inner))
            found[i] = step;
        else
            regions_step_free(step);
        for (guint k = 0; found[i] != NULL && k < inner->len; k++)
            heads[g_array_index(inner, gsize, k)] = i + 1;
    }
}

static void read_nodes(Partition *self)
{
    const IfmModel *model = self->facts->model;
    const gsize n = ifm_model_n_nodes(model);
    g_autofree Step **found = g_new0(Step *, n + 1);
    g_autofree gsize *heads = g_new0(gsize, n + 1);
    guint n_convs = 0;
    find_products(self, found, heads);
    for (gsize i = 0; i < n; i++)
    {
        const IfmNode *node = ifm_model_node(model, i);
        if (heads[i] > 0)
            continue;
        Step *step = found[i] != NULL ? found[i] : step_new(i);
        const char *why = found[i] == NULL ? regions_read_node(self->facts, node, step) : NULL;
        step->why = why;
        step->conv = n_convs;
        n_convs += regions_is(node, "Conv");
        self->owners[i] = self->steps->len;
        g_ptr_array_add(self->steps, step);
    }
    for (gsize i = 0; i < n; i++)
        if (heads[i] > 0)
            self->owners[i] = self->owners[heads[i] - 1];
}

/* --- joining ---------------------------------------------------------------------------------------------------------- */

/* Whether no other step reads a tensor. */
static gboolean is_read_by(const Partition *self, const char *tensor, gsize step)
{
    const GArray *readers = ifm_model_consumers(self->facts->model, tensor);
    for (guint i = 0; readers != NULL && i < readers->len; i++)
        if (self->owners[g_array_index(readers, gsize, i)] != step)
            return FALSE;
    return readers != NULL && !g_hash_table_contains(self->facts->outputs, tensor);
}

/* The later step does what the earlier one did, at its own place. */
static void join(Partition *self, gsize into, Step *from)
{
    Step *step = step_at(self, into);
    g_ptr_array_unref(step->values);
    g_array_unref(step->constants);
    step->word = from->word;
    step->values = g_ptr_array_ref(from->values);
    step->constants = g_array_ref(from->constants);
    step->settings = g_steal_pointer(&from->settings);
    step->layer = g_steal_pointer(&from->layer);
    step->conv = from->conv;
    step->sum = from->sum;
    step->has_act = from->has_act;
    step->is_equal = from->is_equal;
    from->is_joined = TRUE;
    for (gsize i = 0; i <= step->node; i++)
        if (step_at(self, self->owners[i]) == from)
            self->owners[i] = into;
}

/* The convolution whose output is @tensor and that can add another; NULL: there is none. */
static Step *free_conv(const Partition *self, const char *tensor, gsize reader)
{
    Step *maker = regions_maker(self, tensor);
    const gboolean is_free = maker != NULL && g_strcmp0(maker->word, "conv") == 0 && maker->sum == NULL &&
                             maker->act.name == NULL && is_read_by(self, tensor, reader);
    return is_free ? maker : NULL;
}

/* Of two convolutions the later one adds the other. */
static void join_sum(Partition *self, gsize index)
{
    Step *step = step_at(self, index);
    if (!step->is_equal || g_str_equal(step->values->pdata[0], step->values->pdata[1]))
        return;
    Step *first = free_conv(self, step->values->pdata[0], index), *second = free_conv(self, step->values->pdata[1], index);
    const gboolean is_second = first == NULL || (second != NULL && second->node > first->node);
    Step *conv = is_second ? second : first;
    const char *sum = step->values->pdata[is_second ? 0 : 1];
    if (conv == NULL)
        return;
    join(self, index, conv);
    step->sum = sum;
}

static void join_act(Partition *self, gsize index)
{
    const Step *step = step_at(self, index);
    const char *tensor = g_strcmp0(step->word, "act") == 0 ? step->values->pdata[0] : NULL;
    Step *maker = tensor != NULL ? regions_maker(self, tensor) : NULL;
    if (maker != NULL && maker->has_act && maker->act.name == NULL && is_read_by(self, tensor, index))
        join(self, index, maker);
}

void regions_read_steps(Partition *partition, Facts *facts)
{
    *partition = (Partition){ .facts = facts,
                              .steps = g_ptr_array_new_with_free_func(regions_step_free),
                              .owners = g_new0(gsize, ifm_model_n_nodes(facts->model) + 1) };
    read_nodes(partition);
    for (gsize i = 0; i < partition->steps->len; i++)
        join_sum(partition, i);
    for (gsize i = 0; i < partition->steps->len; i++)
        join_act(partition, i);
}

void regions_partition_clear(Partition *partition)
{
    g_clear_pointer(&partition->steps, g_ptr_array_unref);
    g_clear_pointer(&partition->owners, g_free);
}
