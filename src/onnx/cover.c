/*
 * Which nodes of a model each node of its optimised graph computes. Tensors that the two graphs share are the anchors: by
 * their names, or by the names that the runtime gave its nodes. Between anchors a node covers what leads backward from its
 * outputs to its inputs. Nodes that are connected by tensors without an anchor are one group.
 */
#include <string.h>

#include "cover.h"

/* --- the model ---------------------------------------------------------------------------------------------------------
 */

/* Original: the model as written, its twins merged: the runtime computes what two nodes have in common once. */
typedef struct
{
    const IfmModel *model;
    const IfmAnalysis *analysis;
    gsize n;
    GHashTable *twins;     /* tensor -> the one that stands for it */
    GHashTable *readers;   /* tensor, after merging -> GArray of gsize */
    GHashTable *constants; /* tensors that do not depend on an input */
    GHashTable *inputs;
    gboolean *folded; /* [n] computed beforehand */
} Original;

static void original_clear(Original *self)
{
    g_clear_pointer(&self->twins, g_hash_table_unref);
    g_clear_pointer(&self->readers, g_hash_table_unref);
    g_clear_pointer(&self->constants, g_hash_table_unref);
    g_clear_pointer(&self->inputs, g_hash_table_unref);
    g_clear_pointer(&self->folded, g_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Original, original_clear)

static const char *merged(const Original *self, const char *tensor)
{
    const char *twin = g_hash_table_lookup(self->twins, tensor);
    return twin != NULL ? twin : tensor;
}

static gboolean is_constant(const Original *self, const char *tensor)
{
    return *tensor == '\0' || g_hash_table_contains(self->constants, tensor);
}

/* Weights above this size are twins by name alone. */
#define MAX_HASHED_BYTES ((gsize)64 << 10)

static void append_weight(GString *key, const IfmModel *model, const char *name)
{
    IfmTensor tensor;
    if (!ifm_model_initializer(model, name, &tensor) || tensor.size_bytes > MAX_HASHED_BYTES)
    {
        g_string_append(key, name);
        return;
    }
    g_autofree char *digest = g_compute_checksum_for_data(G_CHECKSUM_SHA1, tensor.data, tensor.size_bytes);
    g_string_append_printf(key, "%s %d", digest, (int)tensor.dtype);
    for (int i = 0; i < tensor.rank; i++)
        g_string_append_printf(key, ",%" G_GINT64_FORMAT, tensor.shape[i]);
}

/* What a node computes, in one text. (transfer full) */
static char *value_of(const Original *self, const IfmNode *node)
{
    g_autoptr(GString) key = g_string_new(node->op_type);
    json_auto_t *attributes = ifm_node_attributes(node);
    g_autofree char *text = json_dumps(attributes, JSON_SORT_KEYS | JSON_COMPACT);
    g_string_append_printf(key, "|%s|%s|%zu", node->domain, text != NULL ? text : "", node->n_outputs);
    for (gsize i = 0; i < node->n_inputs; i++)
    {
        g_string_append_c(key, '|');
        append_weight(key, self->model, merged(self, node->inputs[i]));
    }
    return g_string_free(g_steal_pointer(&key), FALSE);
}

static void merge_twins(Original *self)
{
    g_autoptr(GHashTable) first = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (gsize i = 0; i < self->n; i++)
    {
        const IfmNode *node = ifm_model_node(self->model, i);
        if (ifm_operator_draws(node->op_type))
            continue;
        char *value = value_of(self, node);
        const gsize found = GPOINTER_TO_SIZE(g_hash_table_lookup(first, value));
        const IfmNode *other = found > 0 ? ifm_model_node(self->model, found - 1) : NULL;
        if (other == NULL)
        {
            g_hash_table_insert(first, value, GSIZE_TO_POINTER(i + 1));
            continue;
        }
        g_free(value);
        for (gsize k = 0; k < MIN(node->n_outputs, other->n_outputs); k++)
            if (*node->outputs[k] != '\0' && *other->outputs[k] != '\0')
                g_hash_table_insert(self->twins, (gpointer)node->outputs[k], (gpointer)other->outputs[k]);
    }
}

/* Sizes that are fixed are folded as weights are. */
static gboolean is_known_size(const Original *self, const IfmNode *node)
{
    gint64 values[IFM_ANALYSIS_MAX_INTS];
    gsize n;
    return (g_str_equal(node->op_type, "Shape") || g_str_equal(node->op_type, "Size")) &&
           ifm_analysis_ints(self->analysis, node->outputs[0], values, &n);
}

static void find_constants(Original *self)
{
    for (gsize i = 0; i < ifm_model_n_initializers(self->model); i++)
        g_hash_table_add(self->constants, (gpointer)ifm_model_initializer_name(self->model, i));
    for (gsize i = 0; i < ifm_model_n_inputs(self->model); i++)
        g_hash_table_add(self->inputs, ifm_model_input(self->model, i)->name);
    for (gsize i = 0; i < self->n; i++)
    {
        const IfmNode *node = ifm_model_node(self->model, i);
        gboolean all = !ifm_operator_draws(node->op_type) && !ifm_node_has_subgraph(node);
        for (gsize k = 0; k < node->n_inputs; k++)
            all = all && is_constant(self, node->inputs[k]);
        self->folded[i] = all || is_known_size(self, node);
        for (gsize k = 0; self->folded[i] && k < node->n_outputs; k++)
            g_hash_table_add(self->constants, (gpointer)node->outputs[k]);
    }
}

static GHashTable *new_names(void)
{
    return g_hash_table_new(g_str_hash, g_str_equal);
}

static void list_readers(Original *self)
{
    for (gsize i = 0; i < self->n; i++)
    {
        const IfmNode *node = ifm_model_node(self->model, i);
        for (gsize k = 0; k < node->n_inputs; k++)
        {
            if (*node->inputs[k] == '\0') /* an optional input that is left out */
                continue;
            const char *tensor = merged(self, node->inputs[k]);
            GArray *list = g_hash_table_lookup(self->readers, tensor);
            if (list == NULL)
            {
                list = g_array_new(FALSE, FALSE, sizeof(gsize));
                g_hash_table_insert(self->readers, (gpointer)tensor, list);
            }
            g_array_append_val(list, i);
        }
    }
}

static void original_init(Original *self, const IfmModel *model, const IfmAnalysis *analysis)
{
    *self = (Original){ .model = model, .analysis = analysis, .n = ifm_model_n_nodes(model) };
    self->twins = new_names();
    self->readers = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, (GDestroyNotify)g_array_unref);
    self->constants = new_names();
    self->inputs = new_names();
    self->folded = g_new0(gboolean, MAX(self->n, 1));
    merge_twins(self);
    list_readers(self);
    find_constants(self);
}

/* The output of the one reader of @tensor with one of these operators; NULL where there is none, or several. */
static const char *step_over(const Original *self, const char *tensor, const char *op_type, const char *or_type)
{
    const GArray *readers = g_hash_table_lookup(self->readers, tensor);
    const char *found = NULL;
    for (guint i = 0; readers != NULL && i < readers->len; i++)
    {
        const IfmNode *node = ifm_model_node(self->model, g_array_index(readers, gsize, i));
        if (!g_str_equal(node->op_type, op_type) && g_strcmp0(node->op_type, or_type) != 0)
            continue;
        if (found != NULL)
            return NULL;
        found = node->outputs[0];
    }
    return found;
}

/* --- anchors ------------------------------------------------------------------------------------------------------------
 */

/* Covering: what of the two graphs is at hand. */
typedef struct
{
    Original *original;
    const IfmModel *optimised;
    Cover *cover;
} Covering;

static const Anchor *anchor_of(const Cover *cover, const char *tensor)
{
    return g_hash_table_lookup(cover->anchors, tensor);
}

static void add_anchor(Cover *cover, const char *optimised, const char *tensor, AnchorHow how)
{
    if (*optimised == '\0' || g_hash_table_contains(cover->anchors, optimised))
        return;
    Anchor *anchor = g_new(Anchor, 1);
    *anchor = (Anchor){ tensor, how };
    g_hash_table_insert(cover->anchors, (gpointer)optimised, anchor);
}

static gboolean is_of_model(const Original *original, const char *tensor)
{
    return ifm_model_producer(original->model, tensor) >= 0 || g_hash_table_contains(original->inputs, tensor);
}

static void anchor_names(const Covering *self)
{
    for (gsize i = 0; i < ifm_model_n_inputs(self->optimised); i++)
    {
        const char *name = ifm_model_input(self->optimised, i)->name;
        if (is_of_model(self->original, name))
            add_anchor(self->cover, name, merged(self->original, name), ANCHOR_NAME);
    }
    for (gsize i = 0; i < ifm_model_n_nodes(self->optimised); i++)
    {
        const IfmNode *node = ifm_model_node(self->optimised, i);
        for (gsize k = 0; k < node->n_outputs; k++)
            if (is_of_model(self->original, node->outputs[k]))
                add_anchor(self->cover, node->outputs[k], merged(self->original, node->outputs[k]), ANCHOR_NAME);
    }
}

static gboolean is_inserted(const IfmNode *node)
{
    return g_str_equal(node->op_type, "ReorderInput") || g_str_equal(node->op_type, "ReorderOutput");
}

static gboolean is_layout(const IfmNode *node)
{
    static const char *const types[] = { "Reshape", "Transpose", "Squeeze", "Unsqueeze", "Flatten", "Identity", NULL };
    return is_inserted(node) || g_strv_contains(types, node->op_type);
}

/* The model's tensor for which the runtime named a node in blocked channels: "TENSOR_nchwc", "TENSOR_bn_nchwc2". */
static const char *blocked_tensor(const IfmModel *model, const char *name)
{
    const char *suffix = g_strrstr(name, "_nchwc");
    g_autofree char *base = suffix != NULL ? g_strndup(name, (gsize)(suffix - name)) : NULL;
    if (base != NULL && ifm_model_producer(model, base) < 0 && g_str_has_suffix(base, "_bn"))
        base[strlen(base) - 3] = '\0';
    const gssize at = base != NULL ? ifm_model_producer(model, base) : -1;
    for (gsize i = 0; at >= 0 && i < ifm_model_node(model, (gsize)at)->n_outputs; i++)
        if (g_str_equal(ifm_model_node(model, (gsize)at)->outputs[i], base))
            return ifm_model_node(model, (gsize)at)->outputs[i];
    return NULL;
}

/* A sum and an activation that went into a node of blocked channels are behind the tensor that it is named for. */
static void anchor_blocked(const Covering *self, const IfmNode *node)
{
    const IfmModel *model = self->original->model;
    const char *tensor = blocked_tensor(model, node->name);
    const gboolean is_conv = g_str_equal(node->op_type, "Conv");
    const char *activation = is_conv ? ifm_node_string(node, "activation", NULL) : NULL;
    if (tensor == NULL)
        return;
    tensor = merged(self->original, tensor);
    if (is_conv && node->n_inputs > 3 && *node->inputs[3] != '\0')
        tensor = step_over(self->original, tensor, "Add", "Sum");
    if (tensor != NULL && activation != NULL &&
        !g_str_equal(ifm_model_node(model, (gsize)ifm_model_producer(model, tensor))->op_type, activation))
        tensor = step_over(self->original, tensor, activation, NULL);
    add_anchor(self->cover, node->outputs[0], tensor, tensor != NULL ? ANCHOR_BLOCKED : ANCHOR_OPEN);
}

static void anchor_node(const Covering *self, GHashTable *names, const IfmNode *node)
{
    const gsize found = *node->name != '\0' ? GPOINTER_TO_SIZE(g_hash_table_lookup(names, node->name)) : 0;
    const IfmNode *same = found > 0 && found != G_MAXSIZE ? ifm_model_node(self->original->model, found - 1) : NULL;
    if (same == NULL || !g_str_equal(same->op_type, node->op_type) || same->n_outputs != node->n_outputs)
        return;
    for (gsize k = 0; k < node->n_outputs; k++)
        add_anchor(self->cover, node->outputs[k], merged(self->original, same->outputs[k]), ANCHOR_NODE);
}

static void anchor_extended(const Covering *self, const IfmModel *extended, const Cover *of_extended)
{
    g_autoptr(GHashTable) names = ifm_model_node_names(extended);
    for (gsize i = 0; i < ifm_model_n_nodes(self->optimised); i++)
    {
        const IfmNode *node = ifm_model_node(self->optimised, i);
        const gsize found = GPOINTER_TO_SIZE(g_hash_table_lookup(names, node->name));
        const IfmNode *before = found > 0 && found != G_MAXSIZE ? ifm_model_node(extended, found - 1) : NULL;
        if (before == NULL || !g_str_equal(before->op_type, node->op_type) || *node->name == '\0')
            continue;
        for (gsize k = 0; k < MIN(node->n_outputs, before->n_outputs); k++)
        {
            const Anchor *anchor = anchor_of(of_extended, before->outputs[k]);
            if (anchor != NULL && anchor->tensor != NULL)
                add_anchor(self->cover, node->outputs[k], anchor->tensor, ANCHOR_EXTENDED);
        }
    }
}

static void find_anchors(const Covering *self, const IfmModel *extended, const Cover *of_extended)
{
    const gsize n = ifm_model_n_nodes(self->optimised);
    g_autoptr(GHashTable) names = ifm_model_node_names(self->original->model);
    anchor_names(self);
    for (gsize i = 0; i < n; i++)
    {
        const IfmNode *node = ifm_model_node(self->optimised, i);
        if (g_str_has_suffix(node->domain, "nchwc") && !is_inserted(node))
            anchor_blocked(self, node);
    }
    for (gsize i = 0; i < n; i++)
        anchor_node(self, names, ifm_model_node(self->optimised, i));
    if (extended != NULL)
        anchor_extended(self, extended, of_extended);
    for (gsize i = 0; i < n; i++)
    {
        const IfmNode *node = ifm_model_node(self->optimised, i);
        const Anchor *anchor = is_layout(node) && node->n_inputs > 0 ? anchor_of(self->cover, node->inputs[0]) : NULL;
        if (anchor != NULL)
            add_anchor(self->cover, node->outputs[0], anchor->tensor, ANCHOR_LAYOUT);
    }
}

/* --- groups -------------------------------------------------------------------------------------------------------------
 */

static gsize root_of(gsize *parents, gsize node)
{
    while (parents[node] != node)
        node = parents[node] = parents[parents[node]];
    return node;
}

static void group_free(CoverGroup *group)
{
    g_array_unref(group->nodes);
    g_array_unref(group->covers);
    g_free(group);
}

/* Nodes on both sides of a tensor without an anchor belong together. */
static void make_groups(const Covering *self)
{
    const gsize n = ifm_model_n_nodes(self->optimised);
    g_autofree gsize *parents = g_new(gsize, MAX(n, 1));
    g_autofree CoverGroup **groups = g_new0(CoverGroup *, MAX(n, 1));
    for (gsize i = 0; i < n; i++)
        parents[i] = i;
    for (gsize i = 0; i < n; i++)
    {
        const IfmNode *node = ifm_model_node(self->optimised, i);
        for (gsize k = 0; k < node->n_outputs; k++)
        {
            const GArray *readers = ifm_model_consumers(self->optimised, node->outputs[k]);
            for (guint r = 0; readers != NULL && anchor_of(self->cover, node->outputs[k]) == NULL && r < readers->len; r++)
                parents[root_of(parents, g_array_index(readers, gsize, r))] = root_of(parents, i);
        }
    }
    for (gsize i = 0; i < n; i++)
    {
        CoverGroup **group = &groups[root_of(parents, i)];
        if (*group == NULL)
        {
            *group = g_new0(CoverGroup, 1);
            (*group)->nodes = g_array_new(FALSE, FALSE, sizeof(gsize));
            (*group)->covers = g_array_new(FALSE, FALSE, sizeof(gsize));
            g_ptr_array_add(self->cover->groups, *group);
        }
        g_array_append_val((*group)->nodes, i);
    }
}

/* The model's tensor that an output of a node is, where the node computes it, and does not only give another layout to
 * what it reads; or NULL. */
static const char *computed_tensor(const Covering *self, const IfmNode *node, gsize output)
{
    const Anchor *made = anchor_of(self->cover, node->outputs[output]);
    if (made == NULL || made->tensor == NULL || made->how == ANCHOR_LAYOUT)
        return NULL;
    for (gsize k = 0; k < node->n_inputs; k++)
    {
        const Anchor *read = anchor_of(self->cover, node->inputs[k]);
        if (read != NULL && g_strcmp0(read->tensor, made->tensor) == 0)
            return NULL;
    }
    return made->tensor;
}

/* What a group begins and ends with, as tensors of the model. */
typedef struct
{
    GHashTable *inputs, *outputs;
    gboolean is_open; /* the graph leaves an output open */
} Bounds;

static Bounds bounds_of(const Covering *self, const CoverGroup *group)
{
    Bounds bounds = { new_names(), new_names(), FALSE };
    for (guint i = 0; i < group->nodes->len; i++)
    {
        const IfmNode *node = ifm_model_node(self->optimised, g_array_index(group->nodes, gsize, i));
        for (gsize k = 0; k < node->n_outputs; k++)
        {
            const Anchor *anchor = anchor_of(self->cover, node->outputs[k]);
            const char *tensor = computed_tensor(self, node, k);
            if (tensor != NULL)
                g_hash_table_add(bounds.outputs, (gpointer)tensor);
            bounds.is_open |= anchor != NULL && anchor->tensor == NULL;
        }
        for (gsize k = 0; k < node->n_inputs; k++)
        {
            const Anchor *anchor = anchor_of(self->cover, node->inputs[k]);
            if (anchor != NULL && anchor->tensor != NULL)
                g_hash_table_add(bounds.inputs, (gpointer)anchor->tensor);
        }
    }
    return bounds;
}

static void bounds_clear(Bounds *bounds)
{
    g_hash_table_unref(bounds->inputs);
    g_hash_table_unref(bounds->outputs);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Bounds, bounds_clear)

static gint compare_indices(gconstpointer a, gconstpointer b)
{
    const gsize x = *(const gsize *)a, y = *(const gsize *)b;
    return (x > y) - (x < y);
}

/* Whether a tensor is computed from what a group reads and from constants alone. */
static gboolean is_from_inputs(const Original *original, const Bounds *bounds, const char *from)
{
    g_autoptr(GHashTable) seen = new_names();
    g_autoptr(GPtrArray) stack = g_ptr_array_new();
    g_ptr_array_add(stack, (gpointer)from);
    while (stack->len > 0)
    {
        const char *tensor = g_ptr_array_steal_index(stack, stack->len - 1);
        const gssize found = ifm_model_producer(original->model, tensor);
        if (is_constant(original, tensor) || g_hash_table_contains(bounds->inputs, tensor) ||
            !g_hash_table_add(seen, (gpointer)tensor))
            continue;
        if (found < 0)
            return FALSE;
        const IfmNode *node = ifm_model_node(original->model, (gsize)found);
        for (gsize k = 0; k < node->n_inputs; k++)
            g_ptr_array_add(stack, (gpointer)merged(original, node->inputs[k]));
    }
    return TRUE;
}

/* Walks backward from the outputs to the inputs. It ends at what another kernel makes, unless the group computes that
 * again from what it reads. @anchored: tensors of the model that some anchor is    Returns: whether the walk met a tensor
 * that another kernel makes, and that the group does not read. */
static gboolean walk(const Original *original, const Bounds *bounds, GHashTable *anchored, CoverGroup *group)
{
    g_autoptr(GHashTable) seen = new_names();
    g_autoptr(GPtrArray) stack = g_ptr_array_new();
    gboolean leaks = FALSE;
    GHashTableIter iter;
    gpointer tensor;
    g_hash_table_iter_init(&iter, bounds->outputs);
    while (g_hash_table_iter_next(&iter, &tensor, NULL))
        g_ptr_array_add(stack, tensor);
    while (stack->len > 0)
    {
        tensor = g_ptr_array_steal_index(stack, stack->len - 1);
        const gssize found = ifm_model_producer(original->model, tensor);
        if (found < 0 || is_constant(original, tensor) || !g_hash_table_add(seen, tensor))
            continue;
        const gsize index = (gsize)found;
        const IfmNode *node = ifm_model_node(original->model, index);
        g_array_append_val(group->covers, index);
        for (gsize k = 0; k < node->n_inputs; k++)
        {
            const char *input = merged(original, node->inputs[k]);
            if (is_constant(original, input) || g_hash_table_contains(bounds->inputs, input))
                continue;
            const gboolean is_another =
                g_hash_table_contains(anchored, input) && !g_hash_table_contains(bounds->outputs, input);
            leaks |= is_another;
            if (!is_another || is_from_inputs(original, bounds, input))
                g_ptr_array_add(stack, (gpointer)input);
        }
    }
    g_array_sort(group->covers, compare_indices);
    gsize n = 0; /* several outputs lead to one node */
    for (guint i = 0; i < group->covers->len; i++)
        if (n == 0 || g_array_index(group->covers, gsize, n - 1) != g_array_index(group->covers, gsize, i))
            g_array_index(group->covers, gsize, n++) = g_array_index(group->covers, gsize, i);
    g_array_set_size(group->covers, (guint)n);
    return leaks;
}

/* Moves data, and its result has no name in the model, or that of what it reads. The runtime's own change of a layout may
 * be a Transpose of the model, where it is known what it reads. */
static gboolean only_moves(const Covering *self, const IfmNode *node)
{
    const Anchor *read = node->n_inputs > 0 ? anchor_of(self->cover, node->inputs[0]) : NULL;
    const gboolean is_open = is_inserted(node) && (read == NULL || read->tensor == NULL);
    return is_layout(node) &&
           (is_open || !is_of_model(self->original, node->outputs[0]) || computed_tensor(self, node, 0) == NULL);
}

static gboolean is_all_inserted(const Covering *self, const CoverGroup *group)
{
    for (guint i = 0; i < group->nodes->len; i++)
        if (!only_moves(self, ifm_model_node(self->optimised, g_array_index(group->nodes, gsize, i))))
            return FALSE;
    return TRUE;
}

static void cover_group(const Covering *self, GHashTable *anchored, CoverGroup *group)
{
    group->coverage = IFM_COVERAGE_INSERTED;
    if (is_all_inserted(self, group))
        return;
    g_auto(Bounds) bounds = bounds_of(self, group);
    const gboolean leaks = walk(self->original, &bounds, anchored, group);
    group->coverage = leaks || bounds.is_open || group->covers->len == 0 ? IFM_COVERAGE_AMBIGUOUS
                      : group->nodes->len > 1                            ? IFM_COVERAGE_GROUP
                                                                         : IFM_COVERAGE_EXACT;
}

/* Nodes whose results lead to an output of the model. */
static gboolean *find_live(const Original *original)
{
    gboolean *live = g_new0(gboolean, MAX(original->n, 1));
    g_autoptr(GPtrArray) stack = g_ptr_array_new();
    for (gsize i = 0; i < ifm_model_n_outputs(original->model); i++)
        g_ptr_array_add(stack, (gpointer)merged(original, ifm_model_output(original->model, i)->name));
    while (stack->len > 0)
    {
        const char *tensor = g_ptr_array_steal_index(stack, stack->len - 1);
        const gssize found = ifm_model_producer(original->model, tensor);
        if (found < 0 || live[found])
            continue;
        const IfmNode *node = ifm_model_node(original->model, (gsize)found);
        live[found] = TRUE;
        for (gsize k = 0; k < node->n_inputs; k++)
            g_ptr_array_add(stack, (gpointer)merged(original, node->inputs[k]));
    }
    return live;
}

static void find_uncovered(const Covering *self)
{
    const Original *original = self->original;
    g_autofree gboolean *live = find_live(original);
    g_autofree guint *counts = g_new0(guint, MAX(original->n, 1));
    for (guint i = 0; i < self->cover->groups->len; i++)
    {
        const GArray *covers = ((const CoverGroup *)self->cover->groups->pdata[i])->covers;
        for (guint k = 0; k < covers->len; k++)
            counts[g_array_index(covers, gsize, k)]++;
    }
    for (gsize i = 0; i < original->n; i++)
    {
        self->cover->n_folded += original->folded[i];
        self->cover->n_twice += counts[i] > 1;
        if (counts[i] == 0 && !original->folded[i] && live[i])
            g_array_append_val(self->cover->uncovered, i);
    }
}

Cover *cover_new(const IfmModel *model, const IfmAnalysis *analysis, const IfmModel *optimised, const IfmModel *extended,
                 const Cover *of_extended)
{
    g_auto(Original) original;
    g_autoptr(GHashTable) anchored = new_names();
    Cover *cover = g_new0(Cover, 1);
    const Covering self = { &original, optimised, cover };
    GHashTableIter iter;
    gpointer anchor;
    cover->anchors = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free);
    cover->groups = g_ptr_array_new_with_free_func((GDestroyNotify)group_free);
    cover->uncovered = g_array_new(FALSE, FALSE, sizeof(gsize));
    original_init(&original, model, analysis);
    find_anchors(&self, extended, of_extended);
    make_groups(&self);
    g_hash_table_iter_init(&iter, cover->anchors);
    while (g_hash_table_iter_next(&iter, NULL, &anchor))
        if (((const Anchor *)anchor)->tensor != NULL)
            g_hash_table_add(anchored, (gpointer)((const Anchor *)anchor)->tensor);
    for (guint i = 0; i < cover->groups->len; i++)
        cover_group(&self, anchored, cover->groups->pdata[i]);
    find_uncovered(&self);
    return cover;
}

void cover_free(Cover *cover)
{
    if (cover == NULL)
        return;
    g_hash_table_unref(cover->anchors);
    g_ptr_array_unref(cover->groups);
    g_array_unref(cover->uncovered);
    g_free(cover);
}
