/* The model with its regions. */
#include "regions-private.h"

/* Item: a node that is copied, or a region. */
typedef struct
{
    guint level, region; /* 0: a node */
    gsize node;
} Item;

typedef struct
{
    Partition partition;
    const IfmRegionsOptions *options;
    IfmModelBuilder *builder;
    GHashTable *taken;     /* char*: all names of tensors */
    GHashTable *nodes;     /* names of nodes; see ifm_model_node_names() */
    GHashTable *constants; /* names of initializers that regions read */
} Build;

static void build_clear(Build *self)
{
    g_clear_pointer(&self->builder, ifm_model_builder_free);
    g_clear_pointer(&self->taken, g_hash_table_unref);
    g_clear_pointer(&self->nodes, g_hash_table_unref);
    g_clear_pointer(&self->constants, g_hash_table_unref);
    regions_partition_clear(&self->partition);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Build, build_clear)

static const Step *step_of(const Partition *partition, gsize node)
{
    return partition->steps->pdata[partition->owners[node]];
}

/* --- the report ------------------------------------------------------------------------------------------------------- */

static void conv_clear(gpointer data)
{
    g_free(((IfmRegionConv *)data)->name);
}

void ifm_regions_report_clear(IfmRegionsReport *report)
{
    g_clear_pointer(&report->convs, g_array_unref);
}

static void number_layers(const Partition *partition, GArray *convs)
{
    g_autofree guint *n = g_new0(guint, partition->n_regions + 1);
    for (gsize i = 0; i < partition->steps->len; i++)
    {
        const Step *step = partition->steps->pdata[i];
        if (!step->is_joined && step->region > 0 && step->layer != NULL)
            g_array_index(convs, IfmRegionConv, step->conv).layer = n[step->region]++;
    }
}

static void fill_report(const Partition *partition, IfmRegionsReport *report)
{
    const IfmModel *model = partition->facts->model;
    *report =
        (IfmRegionsReport){ .convs = g_array_new(FALSE, FALSE, sizeof(IfmRegionConv)), .n_regions = partition->n_regions };
    g_array_set_clear_func(report->convs, conv_clear);
    for (gsize i = 0; i < ifm_model_n_nodes(model); i++)
    {
        const IfmNode *node = ifm_model_node(model, i);
        const Step *step = step_of(partition, i);
        report->n_nodes += step->region > 0;
        if (!regions_is(node, "Conv"))
            continue;
        const char *why = step->why != NULL ? step->why : "left to the runtime";
        const IfmRegionConv conv = { .name = g_strdup(*node->name != '\0' ? node->name : node->outputs[0]),
                                     .why = step->region > 0 ? NULL : why,
                                     .region = step->region > 0 ? step->region - 1 : 0 };
        g_array_append_val(report->convs, conv);
        report->n_taken += step->region > 0;
    }
    number_layers(partition, report->convs);
}

/* --- the graph -------------------------------------------------------------------------------------------------------- */

static gint by_level(gconstpointer a, gconstpointer b)
{
    const Item *first = a, *second = b;
    const int by_node = (first->node > second->node) - (first->node < second->node);
    return first->level != second->level ? (first->level > second->level ? 1 : -1) : by_node;
}

/* In an order in which what reads comes after what makes. */
static GArray *list_items(const Partition *partition)
{
    g_autofree gboolean *is_listed = g_new0(gboolean, partition->n_regions + 1);
    GArray *items = g_array_new(FALSE, FALSE, sizeof(Item));
    for (gsize i = 0; i < ifm_model_n_nodes(partition->facts->model); i++)
    {
        const Step *step = step_of(partition, i);
        const Item item = { .level = step->level, .region = step->region, .node = step->region > 0 ? step->node : i };
        if (step->region == 0 || !is_listed[step->region])
            g_array_append_val(items, item);
        is_listed[step->region] = TRUE;
    }
    g_array_sort(items, by_level);
    return items;
}

/* "region_0", or what no node is called. (transfer full) */
static char *node_name(const Build *self, guint region)
{
    char *name = g_strdup_printf("region_%u", region - 1);
    while (g_hash_table_contains(self->nodes, name))
    {
        char *longer = g_strconcat(name, "_", NULL);
        g_free(name);
        name = longer;
    }
    return name;
}

/* What a runtime's own inference of shapes would find: it knows no region. A tensor in blocks has a shape of its own. */
static void say_shape(Build *self, const char *tensor)
{
    Shape4 shape;
    gint64 dims[4];
    if (g_hash_table_contains(self->partition.facts->outputs, tensor) || regions_stays_blocked(&self->partition, tensor) ||
        !regions_shape(self->partition.facts, tensor, &shape))
        return;
    for (int axis = 0; axis < 4; axis++)
        dims[axis] = regions_fixed(&shape, axis);
    ifm_model_builder_value(self->builder, tensor, IFM_DTYPE_F32, 4, dims);
}

static void add_region(Build *self, guint region)
{
    g_auto(Program) program = { 0 };
    regions_program_init(&program, &self->partition, region, self->options, self->builder, self->taken, self->constants);
    g_autofree char *name = node_name(self, region);
    const guint n_values = program.values->len;
    g_ptr_array_extend(program.values, program.weights, NULL, NULL);
    g_ptr_array_add(program.values, NULL);
    g_ptr_array_add(program.outputs, NULL);
    const gsize node =
        ifm_model_builder_node(self->builder, IFM_REGION_OPERATOR, name, (const char *const *)program.values->pdata,
                               (const char *const *)program.outputs->pdata);
    ifm_model_builder_domain(self->builder, node, IFM_REGION_DOMAIN, IFM_REGION_VERSION);
    ifm_model_builder_string(self->builder, node, "program", program.text->str);
    ifm_model_builder_int(self->builder, node, "n_values", n_values);
    ifm_model_builder_int(self->builder, node, "threads", MAX(self->options->n_threads, 1));
    for (guint i = 0; i + 1 < program.outputs->len; i++)
        say_shape(self, program.outputs->pdata[i]);
}

/* Those that a copied node or a region still reads. */
static void copy_weights(Build *self)
{
    const IfmModel *model = self->partition.facts->model;
    for (gsize i = 0; i < ifm_model_n_initializers(model); i++)
    {
        const char *name = ifm_model_initializer_name(model, i);
        const GArray *readers = ifm_model_consumers(model, name);
        gboolean is_read =
            g_hash_table_contains(self->constants, name) || g_hash_table_contains(self->partition.facts->outputs, name);
        for (guint k = 0; readers != NULL && k < readers->len; k++)
            is_read |= step_of(&self->partition, g_array_index(readers, gsize, k))->region == 0;
        if (is_read)
            ifm_model_builder_copy_weight(self->builder, model, name);
    }
}

static void take_names(Build *self)
{
    const IfmModel *model = self->partition.facts->model;
    for (gsize i = 0; i < ifm_model_n_inputs(model); i++)
        g_hash_table_add(self->taken, g_strdup(ifm_model_input(model, i)->name));
    for (gsize i = 0; i < ifm_model_n_initializers(model); i++)
        g_hash_table_add(self->taken, g_strdup(ifm_model_initializer_name(model, i)));
    for (gsize i = 0; i < ifm_model_n_nodes(model); i++)
        for (gsize k = 0; k < ifm_model_node(model, i)->n_outputs; k++)
            g_hash_table_add(self->taken, g_strdup(ifm_model_node(model, i)->outputs[k]));
}

static IfmModel *build(Build *self, GError **error)
{
    const IfmModel *model = self->partition.facts->model;
    const char *const *metadata = self->options->metadata;
    g_autoptr(GArray) items = list_items(&self->partition);
    ifm_model_builder_copy_inputs(self->builder, model);
    ifm_model_builder_copy_outputs(self->builder, model);
    ifm_model_builder_copy_context(self->builder, model);
    ifm_model_builder_copy_metadata(self->builder, model);
    for (gsize i = 0; metadata != NULL && metadata[i] != NULL; i += 2)
        ifm_model_builder_metadata(self->builder, metadata[i], metadata[i + 1]);
    take_names(self);
    for (guint i = 0; i < items->len; i++)
    {
        const Item *item = &g_array_index(items, Item, i);
        if (item->region > 0)
            add_region(self, item->region);
        else
            ifm_model_builder_copy_node(self->builder, ifm_model_node(model, item->node));
    }
    copy_weights(self);
    ifm_model_builder_drop_domains(self->builder);
    return ifm_model_builder_finish(self->builder, error);
}

/* --- a model ---------------------------------------------------------------------------------------------------------- */

/* Why there is no region at all: of the first convolution that has a reason. */
static gboolean check_any(const Partition *partition, const IfmModel *model, const char *name, GError **error)
{
    const IfmNode *first = NULL;
    for (gsize i = 0; i < ifm_model_n_nodes(model); i++)
        if (first == NULL && regions_is(ifm_model_node(model, i), "Conv"))
            first = ifm_model_node(model, i);
    if (partition->n_regions > 0)
        return TRUE;
    if (first == NULL)
        return ifm_error_refuse(error, "%s has no convolution", name);
    const gsize index = (gsize)ifm_model_producer(model, first->outputs[0]);
    const char *why = step_of(partition, index)->why;
    return ifm_error_refuse(error, "%s: no convolution can be tuned: the first, \"%s\", is %s", name,
                            *first->name != '\0' ? first->name : first->outputs[0],
                            why != NULL ? why : "left to the runtime");
}

static IfmModel *partition_inlined(IfmModel *model, const IfmRegionsOptions *options, IfmRegionsReport *report,
                                   GError **error)
{
    g_auto(Facts) facts = { 0 };
    g_auto(Build) self = { .options = options };
    if (!regions_facts_init(&facts, model, error))
        return NULL;
    regions_read_steps(&self.partition, &facts);
    regions_number(&self.partition, options);
    if (!check_any(&self.partition, model, options->name != NULL ? options->name : ifm_model_name(model), error))
        return NULL;
    self.builder = ifm_model_builder_new(ifm_model_name(model), ifm_model_opset(model));
    self.taken = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    self.nodes = ifm_model_node_names(model);
    self.constants = g_hash_table_new(g_str_hash, g_str_equal);
    IfmModel *built = build(&self, error);
    if (built != NULL && report != NULL)
        fill_report(&self.partition, report);
    return built;
}

IfmModel *ifm_regions_partition(IfmModel *model, const IfmRegionsOptions *options, IfmRegionsReport *report, GError **error)
{
    g_autoptr(IfmModel) inlined = NULL;
    if (!ifm_regions_check(model, error) || !ifm_model_inline_functions(model, &inlined, error))
        return NULL;
    return partition_inlined(inlined != NULL ? inlined : model, options, report, error);
}
