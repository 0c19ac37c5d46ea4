/* The rule of Pad. In comments g is the gradient of the output. */
#include "gradient-private.h"

/* Padding: @before, @after: [rank], below 0 where elements are cut off */
typedef struct
{
    const char *mode;
    int rank;
    gint64 before[IFM_MAX_RANK], after[IFM_MAX_RANK];
} Padding;

static gboolean read_padding(IfmBack *back, const IfmBackShape *x, Padding *of)
{
    gint64 pads[IFM_ANALYSIS_MAX_INTS], axes[IFM_ANALYSIS_MAX_INTS];
    gsize n, n_axes = (gsize)x->rank;
    gboolean has_axes = ifm_back_input(back, 3) != NULL;
    *of = (Padding){ .mode = ifm_node_string(back->node, "mode", "constant"), .rank = x->rank };
    for (gint64 i = 0; i < x->rank; i++)
        axes[i] = i;
    if (ifm_back_wants(back, 2) || !ifm_back_known_ints(back, ifm_back_input(back, 1), pads, &n) ||
        (has_axes && !ifm_back_known_ints(back, ifm_back_input(back, 3), axes, &n_axes)) || n != 2 * n_axes)
    {
        ifm_back_fail(back, "no gradient rule but for widths that are known before it runs, and a value that is no weight");
        return FALSE;
    }
    for (gsize i = 0; i < n_axes; i++)
    {
        gint64 axis = axes[i] < 0 ? axes[i] + x->rank : axes[i];
        if (axis < 0 || axis >= x->rank)
            ifm_back_fail(back, "axis %" G_GINT64_FORMAT " of a tensor of %d", axes[i], x->rank);
        else
        {
            of->before[axis] = pads[i];
            of->after[axis] = pads[n_axes + i];
        }
    }
    return back->error == NULL;
}

/* cut: @value without the borders of all axes. */
static const char *cut(IfmBack *back, const Padding *of, const char *value)
{
    gint64 starts[IFM_MAX_RANK], axes[IFM_MAX_RANK], missing[2 * IFM_MAX_RANK] = { 0 };
    gboolean is_cut = FALSE, is_missing = FALSE;
    g_autoptr(GPtrArray) ends = g_ptr_array_new();
    for (int i = 0; i < of->rank; i++)
    {
        starts[i] = MAX(of->before[i], 0);
        axes[i] = i;
        missing[i] = MAX(-of->before[i], 0);
        missing[of->rank + i] = MAX(-of->after[i], 0);
        is_cut = is_cut || of->before[i] > 0 || of->after[i] > 0;
        is_missing = is_missing || of->before[i] < 0 || of->after[i] < 0;
        const char *size = ifm_back_size_of(back, back->x, i);
        gint64 more = starts[i] - missing[i] - missing[of->rank + i];
        g_ptr_array_add(ends, (gpointer)ifm_back_add(back, size, ifm_back_number(back, more)));
    }
    if (is_cut)
    {
        const char *all_ends = ifm_back_op_list(back, NULL, "Concat axis=0", ends);
        value = ifm_back_op(back, "Slice", value, ifm_back_list(back, starts, (gsize)of->rank), all_ends,
                            ifm_back_list(back, axes, (gsize)of->rank), NULL);
    }
    return is_missing ? ifm_back_op(back, "Pad", value, ifm_back_list(back, missing, 2 * (gsize)of->rank), NULL) : value;
}

/* part: elements @start up to @end of an axis; backwards too, from @end - 1 down to @start. */
static const char *part(IfmBack *back, const char *value, int axis, gint64 start, gint64 end, gboolean backwards)
{
    gint64 first = backwards ? end - 1 : start, behind = backwards ? start - 1 : end;
    if (behind < 0)
        behind = G_MININT64 + 1;
    return ifm_back_op(back, "Slice", value, ifm_back_number(back, first), ifm_back_number(back, behind),
                       ifm_back_number(back, axis), ifm_back_number(back, backwards ? -1 : 1), NULL);
}

/* placed: @value, of @n elements on the axis, among zeros: [.., size, ..] */
static const char *placed(IfmBack *back, const Padding *of, const char *value, int axis, gint64 n, gint64 at, gint64 size)
{
    gint64 pads[2 * IFM_MAX_RANK] = { 0 };
    pads[axis] = at;
    pads[of->rank + axis] = size - at - n;
    return ifm_back_op(back, "Pad", value, ifm_back_list(back, pads, 2 * (gsize)of->rank), NULL);
}

/* border: What the border of @n elements of an axis adds to the elements that it was copied from. @start: of the border */
static const char *border(IfmBack *back, const Padding *of, const char *g, int axis, gint64 start, gint64 n, gint64 size)
{
    gboolean is_first = start == 0;
    if (g_str_equal(of->mode, "reflect"))
        return placed(back, of, part(back, g, axis, start, start + n, TRUE), axis, n, is_first ? 1 : size - 1 - n, size);
    if (g_str_equal(of->mode, "wrap"))
        return placed(back, of, part(back, g, axis, start, start + n, FALSE), axis, n, is_first ? size - n : 0, size);
    const char *sum = ifm_back_sum(back, part(back, g, axis, start, start + n, FALSE), &axis, 1, TRUE);
    return placed(back, of, sum, axis, 1, is_first ? 0 : size - 1, size);
}

/* fold: g with the borders of one axis added to what they are copies of. @size: of the input there */
static const char *fold(IfmBack *back, const Padding *of, const char *g, int axis, gint64 size)
{
    gint64 before = of->before[axis], after = of->after[axis];
    gint64 most = g_str_equal(of->mode, "reflect") ? size - 1 : g_str_equal(of->mode, "wrap") ? size : G_MAXINT64;
    if (size < 1 || before < 0 || after < 0 || before > most || after > most)
    {
        ifm_back_fail(back,
                      size < 0 ? "mode %s needs the size of axis %d (bind it)"
                               : "mode %s of widths that axis %d does not have: no gradient rule",
                      of->mode, axis);
        return g;
    }
    const char *inner = part(back, g, axis, before, before + size, FALSE);
    if (before > 0)
        inner = ifm_back_add(back, inner, border(back, of, g, axis, 0, before, size));
    return after > 0 ? ifm_back_add(back, inner, border(back, of, g, axis, before + size, after, size)) : inner;
}

/* g without the borders; where these are copies of elements, they are added to those, axis by axis */
static void pad_rule(IfmBack *back)
{
    const IfmBackShape x = ifm_back_shape(back, back->x);
    Padding of;
    const char *value = back->g;
    if (back->error != NULL || !read_padding(back, &x, &of))
        return;
    if (g_str_equal(of.mode, "constant"))
        value = cut(back, &of, value);
    else if (!g_str_equal(of.mode, "reflect") && !g_str_equal(of.mode, "edge") && !g_str_equal(of.mode, "wrap"))
        ifm_back_fail(back, "mode %s: no gradient rule", of.mode);
    else
        for (int axis = 0; axis < x.rank && back->error == NULL; axis++)
            if (of.before[axis] != 0 || of.after[axis] != 0)
                value = fold(back, &of, value, axis, x.dims[axis]);
    ifm_back_give(back, 0, value);
}

const IfmGradientRule ifm_gradients_pad[] = {
    { "Pad", pad_rule },
    { NULL },
};
