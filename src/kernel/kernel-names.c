#include <math.h>
#include <string.h>

#include "kernel-private.h"

/*
 * Whose work a runtime's node does. A runtime fuses, splits off, reorders and renames; what it reports is a name a node,
 * and some also the names of what went into it. A row takes the model's nodes of its parts' names, or of its own. The
 * model's nodes that no row is named for ran within others, so each goes to the row it hangs on, along edges of the graph
 * alone; whatever is not reached so stays unknown, and is reported as that.
 */

#define NO_ROW G_MAXUINT

/* What runtimes put behind the name of the model's node. */
static const char *const suffixes[] = { "/WithoutBiases", "_nchwc", "_nhwc" };

typedef struct
{
    IfmModel *model;
    const IfmAnalysis *analysis;
    const IfmMeasurement *measurement;
    gsize n_nodes;
    guint *row_of;     /* [n_nodes] index of the measurement's row, or NO_ROW */
    gboolean *claimed; /* [n_nodes] the parts of rows named it: what they leave open stays open */
    GHashTable *named; /* name of a node, or of what it makes -> its index + 1 */
} Mapping;

static void mapping_clear(Mapping *mapping)
{
    g_clear_pointer(&mapping->row_of, g_free);
    g_clear_pointer(&mapping->claimed, g_free);
    g_clear_pointer(&mapping->named, g_hash_table_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Mapping, mapping_clear)

static const IfmNodeCost *cost_at(const Mapping *mapping, gsize node)
{
    return ifm_analysis_node_cost(mapping->analysis, node);
}

/* A name that two nodes share identifies neither. */
static void add_name(GHashTable *named, const char *name, gsize index)
{
    if (*name == '\0')
        return;
    gpointer before = g_hash_table_lookup(named, name);
    gsize kept = before == NULL || GPOINTER_TO_SIZE(before) == index + 1 ? index + 1 : G_MAXSIZE;
    g_hash_table_insert(named, (gpointer)name, GSIZE_TO_POINTER(kept));
}

static void mapping_init(Mapping *mapping, const IfmMeasurement *measurement, IfmModel *model, const IfmAnalysis *analysis)
{
    *mapping = (Mapping){ model, analysis, measurement, ifm_model_n_nodes(model), NULL, NULL, NULL };
    mapping->row_of = g_new(guint, mapping->n_nodes + 1);
    mapping->claimed = g_new0(gboolean, mapping->n_nodes + 1);
    mapping->named = g_hash_table_new(g_str_hash, g_str_equal);
    for (gsize i = 0; i < mapping->n_nodes; i++)
        mapping->row_of[i] = NO_ROW;
    for (gsize i = 0; i < mapping->n_nodes; i++)
        add_name(mapping->named, ifm_model_node(model, i)->name, i);
    for (gsize i = 0; i < mapping->n_nodes; i++) /* a runtime calls a nameless node by what it makes */
    {
        const IfmNode *node = ifm_model_node(model, i);
        for (gsize k = 0; k < node->n_outputs; k++)
            if (!g_hash_table_contains(mapping->named, node->outputs[k]))
                add_name(mapping->named, node->outputs[k], i);
    }
}

/* Returns: the model's node of a row's name, -1 for none. */
static gssize find_named(const Mapping *mapping, const char *name)
{
    gsize found = GPOINTER_TO_SIZE(g_hash_table_lookup(mapping->named, name));
    for (gsize i = 0; i < G_N_ELEMENTS(suffixes) && found == 0; i++)
    {
        if (!g_str_has_suffix(name, suffixes[i]))
            continue;
        g_autofree char *bare = g_strndup(name, strlen(name) - strlen(suffixes[i]));
        found = GPOINTER_TO_SIZE(g_hash_table_lookup(mapping->named, bare));
    }
    return found == 0 || found == G_MAXSIZE ? -1 : (gssize)found - 1;
}

static gboolean is_heavy(const Mapping *mapping, gsize node)
{
    return cost_at(mapping, node)->macs > 0;
}

/* Whether a row multiplies and adds, by what the runtime calls its operator: pooling has no convolution in it. */
static gboolean row_is_product(const Mapping *mapping, guint row)
{
    static const char *const words[] = { "Conv",         "MatMul",    "Gemm", "FullyConnected",
                                         "InnerProduct", "Attention", "LSTM", "GRU" };
    const IfmNodeRow *node = mapping->measurement->nodes->pdata[row];
    for (gsize i = 0; i < G_N_ELEMENTS(words); i++)
        if (strstr(node->op_type, words[i]) != NULL)
            return TRUE;
    return FALSE;
}

/* --- a row's parts ---------------------------------------------------------------------------------------------------- */

/*
 * Which of several rows does a node's work. Of a product, the one that multiplies: the others move what it reads. Of
 * anything else the row of its own name, or the one that is no product, for what of it went into a product's weights was
 * done when compiling. Otherwise they share it in an unknown way.
 */
static guint row_of_claims(const Mapping *mapping, gsize node, const GArray *rows)
{
    guint found = NO_ROW, n_found = 0;
    for (guint i = 0; i < rows->len && rows->len > 1; i++)
    {
        guint row = g_array_index(rows, guint, i);
        const IfmNodeRow *of = mapping->measurement->nodes->pdata[row];
        if (!is_heavy(mapping, node) && find_named(mapping, of->name) == (gssize)node)
            return row;
        if (row_is_product(mapping, row) != is_heavy(mapping, node))
            continue;
        found = row;
        n_found++;
    }
    return rows->len == 1 ? g_array_index(rows, guint, 0) : n_found == 1 ? found : NO_ROW;
}

/* @parts: of each row a list of names, or null; those that are no node's are weights and constants. */
static void map_by_parts(Mapping *mapping, const json_t *parts)
{
    g_autoptr(GPtrArray) claims = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
    for (gsize i = 0; i < mapping->n_nodes; i++)
        g_ptr_array_add(claims, g_array_new(FALSE, FALSE, sizeof(guint)));
    for (guint row = 0; row < mapping->measurement->nodes->len; row++)
    {
        const json_t *names = json_array_get(parts, row);
        for (gsize i = 0;
             i < json_array_size(names) && !ifm_node_row_is_marshalling(mapping->measurement->nodes->pdata[row]); i++)
        {
            const char *name = json_string_value(json_array_get(names, i));
            gssize at = name != NULL ? find_named(mapping, name) : -1;
            GArray *rows = at >= 0 ? claims->pdata[at] : NULL;
            if (rows != NULL && (rows->len == 0 || g_array_index(rows, guint, rows->len - 1) != row))
                g_array_append_val(rows, row);
        }
    }
    for (gsize i = 0; i < mapping->n_nodes; i++)
    {
        const GArray *rows = claims->pdata[i];
        mapping->claimed[i] = rows->len > 0;
        if (rows->len > 0)
            mapping->row_of[i] = row_of_claims(mapping, i, rows);
    }
}

/* Two rows of one node share its work in an unknown way: then neither has it. */
static void map_by_name(Mapping *mapping)
{
    g_autofree gboolean *twice = g_new0(gboolean, mapping->n_nodes + 1);
    for (guint row = 0; row < mapping->measurement->nodes->len; row++)
    {
        const IfmNodeRow *node = mapping->measurement->nodes->pdata[row];
        gssize at = ifm_node_row_is_marshalling(node) ? -1 : find_named(mapping, node->name);
        if (at < 0 || mapping->claimed[at])
            continue;
        twice[at] |= mapping->row_of[at] != NO_ROW;
        mapping->row_of[at] = row;
    }
    for (gsize i = 0; i < mapping->n_nodes; i++)
        if (twice[i])
            mapping->row_of[i] = NO_ROW;
}

/* --- nodes that ran within others ------------------------------------------------------------------------------------- */

/* The only node that reads what @node makes; -1 where there are more, or none. */
static gssize only_reader(const Mapping *mapping, gsize node)
{
    const IfmNode *of = ifm_model_node(mapping->model, node);
    gssize reader = -1;
    for (gsize i = 0; i < of->n_outputs; i++)
    {
        const GArray *readers = *of->outputs[i] != '\0' ? ifm_model_consumers(mapping->model, of->outputs[i]) : NULL;
        for (guint k = 0; readers != NULL && k < readers->len; k++)
        {
            gssize at = (gssize)g_array_index(readers, gsize, k);
            if (reader >= 0 && reader != at)
                return -1;
            reader = at;
        }
    }
    return reader;
}

/* Convolution + batch norm + Relu may run under the name of any of the three: a product is looked for down the chain of
 * light nodes that nothing else reads from. */
static void map_heavy(Mapping *mapping)
{
    for (gsize i = 0; i < mapping->n_nodes; i++)
    {
        if (mapping->row_of[i] != NO_ROW || mapping->claimed[i] || !is_heavy(mapping, i))
            continue;
        gssize at = only_reader(mapping, i);
        while (at >= 0 && mapping->row_of[at] == NO_ROW && !is_heavy(mapping, (gsize)at))
            at = only_reader(mapping, (gsize)at);
        if (at >= 0 && !is_heavy(mapping, (gsize)at) && row_is_product(mapping, mapping->row_of[at]))
            mapping->row_of[i] = mapping->row_of[at];
    }
}

/* Of several makers of what a node reads: one that nothing else reads from rather than others, and the later rather than
 * the earlier: a sum is added by the last convolution before it. */
static guint row_of_maker(const Mapping *mapping, gsize node)
{
    const IfmNode *of = ifm_model_node(mapping->model, node);
    gssize best = -1;
    gboolean best_alone = FALSE;
    for (gsize i = 0; i < of->n_inputs; i++)
    {
        gssize maker = *of->inputs[i] != '\0' ? ifm_model_producer(mapping->model, of->inputs[i]) : -1;
        if (maker < 0 || mapping->row_of[maker] == NO_ROW)
            continue;
        gboolean alone = only_reader(mapping, (gsize)maker) == (gssize)node;
        if (best < 0 || (alone && !best_alone) || (alone == best_alone && maker > best))
        {
            best = maker;
            best_alone = alone;
        }
    }
    return best >= 0 ? mapping->row_of[best] : NO_ROW;
}

static gboolean has_maker(const Mapping *mapping, gsize node)
{
    const IfmNode *of = ifm_model_node(mapping->model, node);
    for (gsize i = 0; i < of->n_inputs; i++)
        if (*of->inputs[i] != '\0' && ifm_model_producer(mapping->model, of->inputs[i]) >= 0)
            return TRUE;
    return FALSE;
}

/* In topological order, so that chains follow their first; what comes before everything goes to its only reader. What hangs
 * on a product that was not found stays with it. */
static void map_light(Mapping *mapping)
{
    for (gsize i = 0; i < mapping->n_nodes; i++)
    {
        if (mapping->row_of[i] != NO_ROW || mapping->claimed[i] || is_heavy(mapping, i))
            continue;
        mapping->row_of[i] = row_of_maker(mapping, i);
        gssize reader = has_maker(mapping, i) ? -1 : only_reader(mapping, i);
        if (reader >= 0)
            mapping->row_of[i] = mapping->row_of[reader];
    }
}

/* --- what a row costs ------------------------------------------------------------------------------------------------- */

static gboolean add_tensor(const Mapping *mapping, const char *tensor, gint64 *bytes)
{
    IfmDtype dtype;
    int rank;
    gint64 shape[IFM_MAX_RANK], n = 1;
    if (!ifm_analysis_shape(mapping->analysis, tensor, &dtype, &rank, shape) || ifm_dtype_size_bytes(dtype) == 0)
        return FALSE;
    for (int i = 0; i < rank; i++)
        if (__builtin_mul_overflow(n, shape[i], &n))
            return FALSE;
    return !__builtin_mul_overflow(n, (gint64)ifm_dtype_size_bytes(dtype), &n) && !__builtin_add_overflow(*bytes, n, bytes);
}

gboolean kernel_is_output(const IfmModel *model, const char *tensor)
{
    for (gsize i = 0; i < ifm_model_n_outputs(model); i++)
        if (g_str_equal(ifm_model_output(model, i)->name, tensor))
            return TRUE;
    return FALSE;
}

/* Whether anybody outside of the row has it. */
static gboolean leaves(const Mapping *mapping, const char *tensor, guint row)
{
    const GArray *readers = ifm_model_consumers(mapping->model, tensor);
    for (guint i = 0; readers != NULL && i < readers->len; i++)
        if (mapping->row_of[g_array_index(readers, gsize, i)] != row)
            return TRUE;
    return kernel_is_output(mapping->model, tensor);
}

/* The bytes that cross a row's boundary: what is made and read within it stays in registers and caches. */
static gboolean boundary_bytes(const Mapping *mapping, const GArray *members, guint row, IfmNodeCost *cost)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    for (guint m = 0; m < members->len; m++)
    {
        const IfmNode *node = ifm_model_node(mapping->model, g_array_index(members, gsize, m));
        for (gsize i = 0; i < node->n_inputs; i++)
        {
            const char *tensor = node->inputs[i];
            gssize maker = *tensor != '\0' ? ifm_model_producer(mapping->model, tensor) : -1;
            if (*tensor == '\0' || (maker >= 0 && mapping->row_of[maker] == row) ||
                !g_hash_table_add(seen, (gpointer)tensor))
                continue;
            if (!add_tensor(mapping, tensor, &cost->bytes_read))
                return FALSE;
        }
        for (gsize i = 0; i < node->n_outputs; i++)
            if (*node->outputs[i] != '\0' && leaves(mapping, node->outputs[i], row) &&
                !add_tensor(mapping, node->outputs[i], &cost->bytes_written))
                return FALSE;
    }
    return TRUE;
}

#define MEMBERS_NAMED 8 /* of a row, in words */

static char *members_text(const Mapping *mapping, const GArray *members)
{
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < members->len && i < MEMBERS_NAMED; i++)
    {
        const IfmNode *node = ifm_model_node(mapping->model, g_array_index(members, gsize, i));
        g_string_append_printf(text, "%s%s", i > 0 ? ", " : "", ifm_layer_name(node));
    }
    if (members->len > MEMBERS_NAMED)
        g_string_append_printf(text, ", … (%u)", members->len);
    return g_string_free(text, FALSE);
}

/* The members in words, and the costliest of them where the runtime's name is none of the model's: "Multiply_20281" says
 * nothing, and a fused node's name is that of a light node in it. */
static void name_members(const Mapping *mapping, IfmKernel *kernel)
{
    gint64 max = -1;
    gsize costliest = 0;
    for (guint i = 0; i < kernel->layers->len; i++)
    {
        const gsize layer = g_array_index(kernel->layers, gsize, i);
        if (layer >= mapping->n_nodes) /* a record of another model */
            return;
        if (cost_at(mapping, layer)->flop > max)
            costliest = layer;
        max = MAX(max, cost_at(mapping, layer)->flop);
    }
    const char *name = ifm_layer_name(ifm_model_node(mapping->model, costliest));
    kernel->members = members_text(mapping, kernel->layers);
    if (g_strcmp0(name, kernel->node->name) != 0)
        kernel->label = g_strdup(name);
}

/* One node by itself costs what its row of the operator table says; several what they do together. */
static void cost_members(const Mapping *mapping, GArray *members, guint row, IfmKernel *kernel)
{
    gint64 max = -1;
    gboolean whole = TRUE;
    IfmNodeCost sum = { .covered = FALSE };
    for (guint i = 0; i < members->len; i++)
    {
        const IfmNodeCost *cost = cost_at(mapping, g_array_index(members, gsize, i));
        whole = whole && cost->covered && !__builtin_add_overflow(sum.macs, cost->macs, &sum.macs) &&
                !__builtin_add_overflow(sum.flop, cost->flop, &sum.flop);
        sum.is_upper_bound = sum.is_upper_bound || cost->is_upper_bound;
        if (cost->flop > max)
        {
            max = cost->flop;
            kernel->family = cost->family;
        }
    }
    kernel->known = TRUE;
    kernel->layers = g_array_ref(members);
    name_members(mapping, kernel);
    if (whole && boundary_bytes(mapping, members, row, &sum))
    {
        kernel->cost = sum;
        kernel->cost.covered = TRUE;
    }
    kernel->cost.family = kernel->family;
}

void ifm_kernels_cost_by_names(IfmKernels *kernels, const IfmMeasurement *measurement, IfmModel *model,
                               const IfmAnalysis *analysis, gboolean alone)
{
    const json_t *parts = json_object_get(measurement->breakdown, "parts");
    g_auto(Mapping) mapping;
    mapping_init(&mapping, measurement, model, analysis);
    map_by_parts(&mapping, parts);
    map_by_name(&mapping);
    map_heavy(&mapping);
    map_light(&mapping);
    g_autoptr(GPtrArray) members = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
    for (guint row = 0; row < kernels->rows->len; row++)
        g_ptr_array_add(members, g_array_new(FALSE, FALSE, sizeof(gsize)));
    gint64 flop = 0, missing = 0;
    for (gsize i = 0; i < mapping.n_nodes; i++)
    {
        const IfmNodeCost *cost = cost_at(&mapping, i);
        flop += cost->flop;
        if (mapping.row_of[i] != NO_ROW)
            g_array_append_val((GArray *)members->pdata[mapping.row_of[i]], i);
        else if (alone && (cost->flop > 0 || !cost->covered))
        {
            missing += cost->flop;
            kernels->n_model_missing++;
        }
    }
    kernels->missing_ratio = flop > 0 ? (double)missing / (double)flop : 0;
    for (guint row = 0; row < kernels->rows->len; row++)
    {
        IfmKernel *kernel = kernels->rows->pdata[row];
        if (kernel->layers != NULL && kernel->cost.covered)
            name_members(&mapping, kernel);
        else if (kernel->cost.covered && !kernel->marshalling && ((const GArray *)members->pdata[row])->len > 0)
            kernel->layers = g_array_ref(members->pdata[row]); /* a record of before the graph told */
        if (kernel->cost.covered || ((const GArray *)members->pdata[row])->len == 0)
            continue;
        g_clear_pointer(&kernel->layers, g_array_unref);
        cost_members(&mapping, members->pdata[row], row, kernel);
        kernels->n_by_names += !alone;
    }
}
