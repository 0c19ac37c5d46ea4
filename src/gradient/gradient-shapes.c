/* What is known of the forward model's tensors, free dimensions and all. */
#include <string.h>

#include "gradient-private.h"

/* Sizes of either pair have many divisors, as reshapes into heads and strides want them. */
#define N_ANALYSES 2
static const gint64 sizes[][N_ANALYSES] = { { 192, 320 }, { 2304, 3840 }, { 60, 84 }, { 6, 10 }, { 2, 3 } };

struct IfmBackFacts
{
    IfmAnalysis *analyses[N_ANALYSES];
    const IfmDimBinding *bound; /* [n_bound] dimensions that have this size alone; borrowed from the options */
    gsize n_bound;
};

/* All dimensions free, else one at its given size, else all: an exporter may have fixed a dimension inside of the model
 * that its inputs leave free. */
IfmBackFacts *ifm_back_facts_new(IfmModel *model, const IfmDimBinding *bindings, gsize n_bindings, GError **error)
{
    IfmBackFacts *facts = g_new0(IfmBackFacts, 1);
    g_autoptr(GError) first = NULL;
    if (ifm_model_analyse_pair(model, NULL, 0, sizes, G_N_ELEMENTS(sizes), facts->analyses, &first))
        return facts;
    for (gsize i = 0; i <= n_bindings && n_bindings > 0; i++)
    {
        facts->bound = i < n_bindings ? &bindings[i] : bindings;
        facts->n_bound = i < n_bindings ? 1 : n_bindings;
        if (ifm_model_analyse_pair(model, facts->bound, facts->n_bound, sizes, G_N_ELEMENTS(sizes), facts->analyses,
                                   &first))
            return facts;
    }
    ifm_back_facts_free(facts);
    g_propagate_error(error, g_steal_pointer(&first));
    return NULL;
}

char *ifm_back_facts_bound(const IfmBackFacts *facts)
{
    GString *text = g_string_new(NULL);
    for (gsize i = 0; i < facts->n_bound; i++)
        g_string_append_printf(text, "%s%s=%" G_GINT64_FORMAT, i > 0 ? "," : "", facts->bound[i].name,
                               facts->bound[i].value);
    return g_string_free(text, text->len == 0);
}

void ifm_back_facts_free(IfmBackFacts *facts)
{
    if (facts == NULL)
        return;
    for (int i = 0; i < N_ANALYSES; i++)
        ifm_analysis_free(facts->analyses[i]);
    g_free(facts);
}

gboolean ifm_back_facts_shape(const IfmBackFacts *facts, const char *tensor, IfmBackShape *shape)
{
    gint64 other[IFM_MAX_RANK];
    IfmDtype dtype;
    int rank;
    *shape = (IfmBackShape){ .dtype = IFM_DTYPE_F32 };
    if (!ifm_analysis_shape(facts->analyses[0], tensor, &shape->dtype, &shape->rank, shape->dims) ||
        !ifm_analysis_shape(facts->analyses[1], tensor, &dtype, &rank, other) || rank != shape->rank)
        return FALSE;
    for (int i = 0; i < rank; i++)
        if (shape->dims[i] != other[i])
            shape->dims[i] = -1;
    return TRUE;
}

IfmBackShape ifm_back_shape(IfmBack *back, const char *tensor)
{
    IfmBackShape shape;
    if (tensor != NULL && ifm_back_facts_shape(back->facts, tensor, &shape))
        return shape;
    ifm_back_fail(back, "the shape of '%s' is not known", tensor != NULL ? tensor : "");
    return (IfmBackShape){ .dtype = IFM_DTYPE_F32 };
}

gboolean ifm_back_same_size(const IfmBack *back, const char *a, const char *b, int axis)
{
    for (int i = 0; i < N_ANALYSES; i++)
    {
        gint64 dims[2][IFM_MAX_RANK];
        IfmDtype dtype;
        int ranks[2];
        if (!ifm_analysis_shape(back->facts->analyses[i], a, &dtype, &ranks[0], dims[0]) ||
            !ifm_analysis_shape(back->facts->analyses[i], b, &dtype, &ranks[1], dims[1]) ||
            axis >= MIN(ranks[0], ranks[1]) || dims[0][axis] != dims[1][axis])
            return FALSE;
    }
    return TRUE;
}

IfmDtype ifm_back_dtype(IfmBack *back, const char *tensor)
{
    return ifm_back_shape(back, tensor).dtype;
}

gboolean ifm_back_known_ints(const IfmBack *back, const char *tensor, gint64 *values, gsize *n)
{
    gint64 other[IFM_ANALYSIS_MAX_INTS];
    gsize n_other;
    return tensor != NULL && ifm_analysis_ints(back->facts->analyses[0], tensor, values, n) &&
           ifm_analysis_ints(back->facts->analyses[1], tensor, other, &n_other) && *n == n_other &&
           memcmp(values, other, *n * sizeof *values) == 0;
}

static int compare_axes(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* take_axes: Makes them 0 or more; those of the rest of the room rely on that. */
static gboolean take_axes(IfmBack *back, const gint64 *values, gsize n_values, int rank, int *axes, int *n)
{
    for (gsize i = 0; i < n_values; i++)
    {
        gint64 axis = values[i] < 0 ? values[i] + rank : values[i];
        if (axis < 0 || axis >= rank || i >= IFM_MAX_RANK)
        {
            ifm_back_fail(back, "axis %" G_GINT64_FORMAT " of a tensor of %d", values[i], rank);
            return FALSE;
        }
        axes[i] = (int)axis;
    }
    *n = (int)n_values;
    qsort(axes, n_values, sizeof axes[0], compare_axes);
    return TRUE;
}

gboolean ifm_back_axes(IfmBack *back, const char *name, gsize input, int rank, int *axes, int *n, gboolean *given)
{
    gint64 values[IFM_ANALYSIS_MAX_INTS];
    gsize n_values;
    const char *tensor = ifm_back_input(back, input);
    const gint64 *attribute = ifm_node_ints(back->node, name, &n_values);
    *n = 0;
    *given = attribute != NULL || tensor != NULL;
    if (attribute != NULL)
        return take_axes(back, attribute, n_values, rank, axes, n);
    if (tensor == NULL)
        return TRUE;
    if (ifm_back_known_ints(back, tensor, values, &n_values))
        return take_axes(back, values, n_values, rank, axes, n);
    ifm_back_fail(back, "its %s '%s' are not known before it runs", name, tensor);
    return FALSE;
}

int ifm_back_axis(IfmBack *back, gint64 fallback, int rank)
{
    gint64 axis = ifm_node_int(back->node, "axis", fallback);
    axis = axis < 0 ? axis + rank : axis;
    if (axis >= 0 && axis < rank)
        return (int)axis;
    ifm_back_fail(back, "axis %" G_GINT64_FORMAT " of a tensor of %d", axis, rank);
    return 0;
}

gint64 ifm_back_n_elements(const IfmBackShape *shape, int first, int end)
{
    gint64 n = 1;
    for (int i = first; i < end; i++)
    {
        if (shape->dims[i] < 0)
            return -1;
        n *= shape->dims[i];
    }
    return n;
}
