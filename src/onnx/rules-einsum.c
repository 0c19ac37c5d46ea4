/* Einsum: its equation read, its shape and its cost. */
#include <string.h>

#include "operators.h"

#define N_LETTERS 52

/*
 * Einsum: an equation with its sizes.
 * @sizes: [N_LETTERS] -1 where the letter does not occur    @counts: in how many places of the inputs it does
 * @rest: what "..." stands for, broadcast over the inputs
 */
typedef struct
{
    gint64 sizes[N_LETTERS];
    int counts[N_LETTERS];
    IfmTensorInfo rest;
    char *equation; /* without spaces */
} Einsum;

static int letter_index(char c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' : c >= 'a' && c <= 'z' ? c - 'a' + 26 : -1;
}

/* term_letters: Counts a term's letters; @dots: (out) where the "..." lies among them, -1 where there is none. */
static gboolean term_letters(const char *term, gsize length, int *n, int *dots, GError **error)
{
    *n = 0;
    *dots = -1;
    for (gsize i = 0; i < length; i++)
        if (*dots < 0 && i + 2 < length && strncmp(term + i, "...", 3) == 0)
        {
            *dots = *n;
            i += 2;
        }
        else if (letter_index(term[i]) < 0 || ++*n > IFM_MAX_RANK)
            return ifm_error_refuse(error, "equation: '%.*s' is no term of at most %d letters", (int)MIN(length, 40), term,
                                    IFM_MAX_RANK);
    return TRUE;
}

static gboolean add_size(Einsum *einsum, char letter, gint64 size, GError **error)
{
    int at = letter_index(letter);
    g_assert(at >= 0); /* term_letters() has seen to it */
    gint64 *known = &einsum->sizes[at];
    einsum->counts[at]++;
    if (*known == -1 || *known == 1)
        *known = size;
    if (*known == size || size == 1)
        return TRUE;
    return ifm_error_refuse(error, "equation: '%c' is %" G_GINT64_FORMAT " and %" G_GINT64_FORMAT, letter, *known, size);
}

static gboolean add_operand(const IfmOperatorCall *call, gsize index, const char *term, gsize length, Einsum *einsum,
                            GError **error)
{
    const IfmTensorInfo *x = &call->inputs[index];
    int n, dots, axis = 0;
    if (!term_letters(term, length, &n, &dots, error))
        return FALSE;
    if (dots < 0 ? x->rank != n : x->rank < n)
    {
        g_autofree char *shape = ifm_fact_shape(x);
        return ifm_error_refuse(error, "'%s' %s is not what '%.*s' says", call->node->inputs[index], shape, (int)length,
                                term);
    }
    for (gsize i = 0; i < length; i++)
    {
        if (term[i] != '.')
        {
            if (!add_size(einsum, term[i], x->dims[axis++], error))
                return FALSE;
            continue;
        }
        IfmTensorInfo rest = { .rank = x->rank - n };
        memcpy(rest.dims, x->dims + axis, (gsize)rest.rank * sizeof rest.dims[0]);
        axis += rest.rank;
        i += 2;
        if (!ifm_rule_broadcast(&einsum->rest, &rest, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean read_equation(const IfmOperatorCall *call, Einsum *einsum, const char **output, GError **error)
{
    gboolean ok = TRUE;
    for (int i = 0; i < N_LETTERS; i++)
        einsum->sizes[i] = -1;
    einsum->equation = g_strdup(ifm_node_string(call->node, "equation", ""));
    g_auto(GStrv) words = g_strsplit(einsum->equation, " ", -1);
    g_free(einsum->equation);
    einsum->equation = g_strjoinv(NULL, words);
    const char *arrow = strstr(einsum->equation, "->"), *at = einsum->equation;
    const char *end = arrow != NULL ? arrow : at + strlen(at);
    *output = arrow != NULL ? arrow + 2 : NULL;
    for (gsize i = 0; ok && i < call->node->n_inputs; i++)
    {
        const char *comma = memchr(at, ',', (gsize)(end - at));
        if ((comma == NULL) != (i + 1 == call->node->n_inputs))
            return ifm_error_refuse(error, "equation '%.60s' has not one term for each of %zu inputs", einsum->equation,
                                    call->node->n_inputs);
        ok = add_operand(call, i, at, (gsize)((comma != NULL ? comma : end) - at), einsum, error);
        at = comma != NULL ? comma + 1 : end;
    }
    return ok;
}

static gboolean append_dim(IfmTensorInfo *out, gint64 size, GError **error)
{
    if (!ifm_rule_check_rank(out->rank + 1, error))
        return FALSE;
    out->dims[out->rank++] = size;
    return TRUE;
}

static gboolean append_rest(IfmTensorInfo *out, const IfmTensorInfo *rest, GError **error)
{
    for (int i = 0; i < rest->rank; i++)
        if (!append_dim(out, rest->dims[i], error))
            return FALSE;
    return TRUE;
}

/* output_of: as the equation says; where it does not, "..." and then the letters that occur once, in alphabetical order. */
static gboolean output_of(const Einsum *einsum, const char *output, IfmTensorInfo *out, GError **error)
{
    int n, dots;
    if (output == NULL)
    {
        gboolean ok = append_rest(out, &einsum->rest, error);
        for (int i = 0; ok && i < N_LETTERS; i++)
            ok = einsum->counts[i] != 1 || append_dim(out, einsum->sizes[i], error);
        return ok;
    }
    if (!term_letters(output, strlen(output), &n, &dots, error))
        return FALSE;
    for (const char *at = output; *at != '\0'; at++)
    {
        if (*at == '.')
        {
            at += 2;
            if (!append_rest(out, &einsum->rest, error))
                return FALSE;
            continue;
        }
        int letter = letter_index(*at);
        if (letter < 0 || einsum->sizes[letter] < 0)
            return ifm_error_refuse(error, "equation: '%c' of the output is in no input", *at);
        if (!append_dim(out, einsum->sizes[letter], error))
            return FALSE;
    }
    return TRUE;
}

gboolean ifm_shape_einsum(const IfmOperatorCall *call, GError **error)
{
    Einsum einsum = { 0 };
    IfmTensorInfo out = { 0 };
    const char *output;
    gboolean ok = read_equation(call, &einsum, &output, error) && output_of(&einsum, output, &out, error) &&
                  ifm_call_shape(call, 0, out.rank, out.dims);
    g_free(einsum.equation);
    return ok;
}

/* Every combination of all letters is one multiply-add for each input but one; with one input it is an addition. */
gboolean ifm_cost_einsum(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
{
    Einsum einsum = { 0 };
    const char *output;
    gint64 n;
    gboolean ok = read_equation(call, &einsum, &output, NULL) && ifm_fact_n_elements(&einsum.rest, &n);
    for (int i = 0; ok && i < N_LETTERS; i++)
        ok = einsum.sizes[i] < 0 || !__builtin_mul_overflow(n, einsum.sizes[i], &n);
    g_free(einsum.equation);
    gint64 n_made;
    if (!ok || !ifm_fact_n_elements(&call->outputs[0], &n_made))
        return FALSE;
    if (call->node->n_inputs == 1)
    {
        cost->flop = n > n_made ? n : 0;
        return TRUE;
    }
    cost->macs = n;
    return ifm_count_times(&cost->macs, (gint64)call->node->n_inputs - 1) && ifm_cost_multiply_add(cost);
}
