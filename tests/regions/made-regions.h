/* Models with regions as they have to be: what was in the model is in them, and comes out of them again. */
#pragma once
#include <string.h>

#include <regions/regions.h>

#include "graph-text.h"

static inline IfmModel *partitioned(IfmModel *model, IfmRegionsReport *report)
{
    g_autoptr(GError) error = NULL;
    const IfmRegionsOptions options = { .n_threads = 2 };
    IfmModel *made = ifm_regions_partition(model, &options, report, &error);
    g_assert_no_error(error);
    return made;
}

/* The programs of all regions, a blank line between two. (transfer full) */
static inline char *programs_of(const IfmModel *model)
{
    GString *text = g_string_new(NULL);
    for (gsize i = 0; i < ifm_model_n_nodes(model); i++)
        if (ifm_regions_program(ifm_model_node(model, i)) != NULL)
            g_string_append_printf(text, "%s%s", text->len > 0 ? "\n" : "", ifm_regions_program(ifm_model_node(model, i)));
    return g_string_free(text, FALSE);
}

static inline guint count_regions(const IfmModel *model)
{
    guint n = 0;
    for (gsize i = 0; i < ifm_model_n_nodes(model); i++)
        n += ifm_regions_program(ifm_model_node(model, i)) != NULL;
    return n;
}

/* --- what the made model has to be ------------------------------------------------------------------------------------ */

/* Each node comes behind those that make what it reads: the builder's model is sorted again, its bytes are not. */
static inline void check_order(IfmModel *model)
{
    g_autoptr(GHashTable) made = g_hash_table_new(g_str_hash, g_str_equal);
    for (gsize i = 0; i < ifm_model_n_inputs(model); i++)
        g_hash_table_add(made, ifm_model_input(model, i)->name);
    for (gsize i = 0; i < ifm_model_n_initializers(model); i++)
        g_hash_table_add(made, (gpointer)ifm_model_initializer_name(model, i));
    for (gsize i = 0; i < ifm_model_n_nodes(model); i++)
    {
        const IfmNode *node = ifm_model_node(model, i);
        for (gsize k = 0; k < node->n_inputs; k++)
            g_assert_true(*node->inputs[k] == '\0' || g_hash_table_contains(made, node->inputs[k]));
        for (gsize k = 0; k < node->n_outputs; k++)
            g_hash_table_add(made, (gpointer)node->outputs[k]);
    }
    for (gsize i = 0; i < ifm_model_n_outputs(model); i++)
        g_assert_true(g_hash_table_contains(made, ifm_model_output(model, i)->name));
}

/* Ports of the same names, types and shapes. */
static inline void check_ports(const IfmModel *a, const IfmModel *b)
{
    g_assert_cmpuint(ifm_model_n_inputs(a), ==, ifm_model_n_inputs(b));
    g_assert_cmpuint(ifm_model_n_outputs(a), ==, ifm_model_n_outputs(b));
    for (gsize i = 0; i < ifm_model_n_inputs(a) + ifm_model_n_outputs(a); i++)
    {
        const gsize n = ifm_model_n_inputs(a);
        const IfmPort *one = i < n ? ifm_model_input(a, i) : ifm_model_output(a, i - n);
        const IfmPort *other = i < n ? ifm_model_input(b, i) : ifm_model_output(b, i - n);
        g_assert_cmpstr(one->name, ==, other->name);
        g_assert_cmpint(one->dtype, ==, other->dtype);
        g_assert_cmpint(one->rank, ==, other->rank);
        for (int axis = 0; axis < one->rank; axis++)
        {
            g_assert_cmpint(one->dims[axis], ==, other->dims[axis]);
            g_assert_cmpstr(one->dim_names[axis], ==, other->dim_names[axis]);
        }
    }
}

static inline guint count_convs(const IfmModel *model, GHashTable *names)
{
    guint n = 0;
    for (gsize i = 0; i < ifm_model_n_nodes(model); i++)
        if (g_str_equal(ifm_model_node(model, i)->op_type, "Conv"))
        {
            n++;
            g_hash_table_add(names, (gpointer)ifm_model_node(model, i)->name);
        }
    return n;
}

/* All convolutions are there again under their names, with as many MACs. */
static inline void check_expanded(IfmModel *model, IfmModel *made, const IfmDimBinding *bindings, gsize n_bindings)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModel) expanded = ifm_regions_expand(made, &error);
    g_assert_no_error(error);
    check_ports(model, expanded);
    g_autoptr(GHashTable) names = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GHashTable) others = g_hash_table_new(g_str_hash, g_str_equal);
    g_assert_cmpuint(count_convs(model, names), ==, count_convs(expanded, others));
    GHashTableIter iter;
    gpointer name;
    g_hash_table_iter_init(&iter, names);
    while (g_hash_table_iter_next(&iter, &name, NULL))
        g_assert_true(*(const char *)name == '\0' || g_hash_table_contains(others, name));
    IfmNodeCost cost, other;
    gsize n_covered;
    g_autoptr(IfmAnalysis) analysis = ifm_model_analyse(model, bindings, n_bindings, &error);
    g_assert_no_error(error);
    g_autoptr(IfmAnalysis) again = ifm_model_analyse(expanded, bindings, n_bindings, &error);
    g_assert_no_error(error);
    ifm_analysis_family_total(analysis, IFM_FAMILY_CONVOLUTION, &cost, &n_covered);
    ifm_analysis_family_total(again, IFM_FAMILY_CONVOLUTION, &other, &n_covered);
    g_assert_cmpint(cost.macs, ==, other.macs);
}

static inline void check_made(IfmModel *model, IfmModel *made, const IfmRegionsReport *report)
{
    g_autoptr(GError) error = NULL;
    check_order(made);
    check_ports(model, made);
    g_assert_cmpuint(count_regions(made), ==, report->n_regions);
    g_autoptr(GArray) layers = ifm_regions_layers(made);
    g_assert_cmpuint(layers->len, ==, report->n_taken);
    g_autoptr(IfmModel) again = partitioned(model, NULL);
    g_autoptr(GBytes) bytes = ifm_model_serialize(made, &error), others = ifm_model_serialize(again, &error);
    g_assert_true(g_bytes_equal(bytes, others));
}
