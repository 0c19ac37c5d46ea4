/* Formulas: arithmetic on tensors as text, emitted as nodes. */
#include <string.h>

#include "gradient-private.h"

/* Reader: @dtype: of numbers; undefined until one is met: that of the output of the node in hand    @names: name -> tensor
 */
typedef struct
{
    IfmBack *back;
    IfmDtype dtype;
    const char *at;
    GHashTable *names;
} Reader;

enum
{
    COMPARISON,
    SUM,
    PRODUCT,
    FACTOR,
};

static const struct
{
    int level;
    const char *sign, *op_type;
} signs[] = {
    { COMPARISON, "<=", "LessOrEqual" },
    { COMPARISON, ">=", "GreaterOrEqual" },
    { COMPARISON, "<", "Less" },
    { COMPARISON, ">", "Greater" },
    { COMPARISON, "=", "Equal" },
    { SUM, "+", "Add" },
    { SUM, "-", "Sub" },
    { PRODUCT, "*", "Mul" },
    { PRODUCT, "/", "Div" },
};

/* takes: Goes past @token, where the text goes on with it. */
static gboolean takes(Reader *reader, const char *token)
{
    reader->at += strspn(reader->at, " ");
    const gboolean is_next = g_str_has_prefix(reader->at, token);
    reader->at += is_next ? strlen(token) : 0;
    return is_next;
}

static IfmDtype dtype_of(Reader *reader)
{
    if (reader->dtype == IFM_DTYPE_UNDEFINED)
        reader->dtype = ifm_back_dtype(reader->back, ifm_back_output(reader->back, 0));
    return reader->dtype;
}

static const char *read_level(Reader *reader, int level, gboolean as_condition);

/* read_operator: The arguments of an operator of ONNX. A comparison as the first of Where stays a condition. */
static const char *read_operator(Reader *reader, const char *op_type)
{
    g_autoptr(GPtrArray) inputs = g_ptr_array_new();
    do
        g_ptr_array_add(inputs,
                        (gpointer)read_level(reader, COMPARISON, inputs->len == 0 && g_str_equal(op_type, "Where")));
    while (takes(reader, ","));
    if (!takes(reader, ")"))
        g_error("formula: no ) before '%s'", reader->at);
    return ifm_back_op_list(reader->back, NULL, op_type, inputs);
}

static const char *read_factor(Reader *reader)
{
    if (takes(reader, "("))
    {
        const char *value = read_level(reader, COMPARISON, FALSE);
        return takes(reader, ")") ? value : NULL;
    }
    if (g_ascii_isdigit(reader->at[*reader->at == '-']))
        return ifm_back_scalar(reader->back, dtype_of(reader), g_ascii_strtod(reader->at, (char **)&reader->at));
    if (takes(reader, "-"))
        return ifm_back_op(reader->back, "Neg", read_factor(reader), NULL);
    const gsize length = strspn(reader->at, G_CSET_a_2_z G_CSET_A_2_Z G_CSET_DIGITS "_");
    g_autofree char *word = g_strndup(reader->at, length);
    reader->at += length;
    if (takes(reader, "("))
        return read_operator(reader, word);
    if (takes(reader, ":"))
        return ifm_back_scalar(reader->back, dtype_of(reader),
                               ifm_node_float(reader->back->node, word, g_ascii_strtod(reader->at, (char **)&reader->at)));
    const char *tensor = g_hash_table_lookup(reader->names, word);
    if (tensor == NULL)
        g_error("formula: there is no '%s' before '%s'", word, reader->at);
    return tensor;
}

static const char *read_level(Reader *reader, int level, gboolean as_condition)
{
    const char *value = level == FACTOR ? read_factor(reader) : read_level(reader, level + 1, FALSE);
    for (gsize i = 0; i < G_N_ELEMENTS(signs);)
    {
        if (signs[i].level != level || !takes(reader, signs[i].sign))
        {
            i++;
            continue;
        }
        value = ifm_back_op(reader->back, signs[i].op_type, value, read_level(reader, level + 1, FALSE), NULL);
        if (level == COMPARISON && !as_condition)
            value = ifm_back_cast(reader->back, value, dtype_of(reader));
        i = 0; /* another of this level may follow */
    }
    return value;
}

const char *ifm_back_formula_in(IfmBack *back, IfmDtype dtype, const char *text, ...)
{
    g_autoptr(GHashTable) names = g_hash_table_new(g_str_hash, g_str_equal);
    if (back->node != NULL)
    {
        g_hash_table_insert(names, "g", (gpointer)back->g);
        g_hash_table_insert(names, "y", (gpointer)back->y);
        g_hash_table_insert(names, "x", (gpointer)back->x);
        g_hash_table_insert(names, "b", (gpointer)ifm_back_input(back, 1));
    }
    va_list bound;
    va_start(bound, text);
    for (const char *name; (name = va_arg(bound, const char *)) != NULL;)
        g_hash_table_insert(names, (gpointer)name, va_arg(bound, gpointer));
    va_end(bound);
    Reader reader = { back, dtype, text, names };
    const char *tensor = read_level(&reader, COMPARISON, FALSE);
    if (*reader.at != '\0')
        g_error("formula: '%s' is left of '%s'", reader.at, text);
    return tensor;
}
