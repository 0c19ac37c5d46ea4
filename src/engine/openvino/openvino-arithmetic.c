/*
 * What a node computes in. The last word of an implementation is its precision, "brgconv_avx512_I8"; of a product of
 * integers, and of weights that are kept narrower than they are computed in, the exported graph shows both factors.
 */
#include <stdlib.h>
#include <string.h>

#include "openvino-private.h"

#define MAX_HOPS 4 /* between a product and what its factor is of: a zero point is subtracted, a scale multiplied */

/* Layer: of the exported graph. @inputs: precisions, in the order of the ports; @sources: the layers they come from */
typedef struct
{
    char *name, *type;
    char *inputs[2], *output;
    char *sources[2];
} Layer;

static void layer_free(gpointer data)
{
    Layer *layer = data;
    for (int i = 0; i < 2; i++)
    {
        g_free(layer->inputs[i]);
        g_free(layer->sources[i]);
    }
    g_free(layer->output);
    g_free(layer->name);
    g_free(layer->type);
    g_free(layer);
}

typedef struct
{
    GHashTable *layers; /* id -> Layer */
    Layer *layer;       /* the one being read, outermost */
    int depth;          /* of layers: those within another are its body's */
    gboolean is_output;
} Reading;

static void take_port(Reading *reading, const char **keys, const char **values)
{
    Layer *layer = reading->layer;
    const char *precision = ifm_ov_attribute("precision", keys, values);
    const char *id = ifm_ov_attribute("id", keys, values);
    if (layer == NULL || precision == NULL || id == NULL)
        return;
    if (reading->is_output && layer->output == NULL)
        layer->output = g_strdup(precision);
    else if (!reading->is_output && (g_str_equal(id, "0") || g_str_equal(id, "1")) && layer->inputs[*id - '0'] == NULL)
        layer->inputs[*id - '0'] = g_strdup(precision);
}

static void take_edge(Reading *reading, const char **keys, const char **values)
{
    const char *from = ifm_ov_attribute("from-layer", keys, values), *to = ifm_ov_attribute("to-layer", keys, values);
    const char *port = ifm_ov_attribute("to-port", keys, values);
    Layer *layer = to != NULL ? g_hash_table_lookup(reading->layers, to) : NULL;
    if (layer != NULL && from != NULL && port != NULL && (g_str_equal(port, "0") || g_str_equal(port, "1")) &&
        layer->sources[*port - '0'] == NULL)
        layer->sources[*port - '0'] = g_strdup(from);
}

static void element_begins(GMarkupParseContext *context, const char *element, const char **keys, const char **values,
                           gpointer user, GError **error)
{
    Reading *reading = user;
    const char *id = ifm_ov_attribute("id", keys, values), *name = ifm_ov_attribute("name", keys, values);
    const char *type = ifm_ov_attribute("type", keys, values);
    if (g_str_equal(element, "layer") && reading->depth++ == 0 && id != NULL)
    {
        reading->layer = g_new0(Layer, 1);
        reading->layer->name = g_strdup(name != NULL ? name : "");
        reading->layer->type = g_strdup(type != NULL ? type : "");
        g_hash_table_insert(reading->layers, g_strdup(id), reading->layer);
    }
    if (reading->depth == 1 && (g_str_equal(element, "input") || g_str_equal(element, "output")))
        reading->is_output = g_str_equal(element, "output");
    if (reading->depth == 1 && g_str_equal(element, "port"))
        take_port(reading, keys, values);
    if (reading->depth == 0 && g_str_equal(element, "edge"))
        take_edge(reading, keys, values);
}

static void element_ends(GMarkupParseContext *context, const char *element, gpointer user, GError **error)
{
    Reading *reading = user;
    if (g_str_equal(element, "layer") && --reading->depth == 0)
        reading->layer = NULL;
}

/* "U8" -> 8 bits; 0: no integer of at most 8 bits. */
static int narrow_bits(const char *precision)
{
    static const char *const names[] = { "U8", "I8", "U4", "I4", "NF4", "U2", "I2", "U3", "U6", "U1" };
    static const int bits[] = { 8, 8, 4, 4, 4, 2, 2, 3, 6, 1 };
    for (gsize i = 0; precision != NULL && i < G_N_ELEMENTS(names); i++)
        if (g_str_equal(names[i], precision))
            return bits[i];
    return 0;
}

/* The integers that a factor is made of: those of the port, or of what a zero point was subtracted from. */
static const char *factor(const Reading *reading, const Layer *layer, int port)
{
    static const char *const between[] = { "Convert", "Multiply", "Reshape", "Subtract", "Transpose", NULL };
    const char *precision = layer->inputs[port];
    for (int hops = 0; hops < MAX_HOPS && narrow_bits(precision) == 0; hops++)
    {
        layer = layer->sources[port] != NULL ? g_hash_table_lookup(reading->layers, layer->sources[port]) : NULL;
        if (layer == NULL || !g_strv_contains(between, layer->type))
            return layer != NULL && narrow_bits(layer->output) != 0 ? layer->output : NULL;
        port = 0;
        precision = layer->inputs[0];
    }
    return narrow_bits(precision) != 0 ? precision : NULL;
}

static const char *sign_of(const char *precision)
{
    return *precision == 'I' ? "s" : "u";
}

/* Of each layer with two factors: "u8s8" where both are integers, "int4 weights" where the second is. */
static void name_factors(const Reading *reading, GHashTable *factors)
{
    GHashTableIter iter;
    gpointer value;
    g_hash_table_iter_init(&iter, reading->layers);
    while (g_hash_table_iter_next(&iter, NULL, &value))
    {
        const Layer *layer = value;
        const char *a = factor(reading, layer, 0), *b = factor(reading, layer, 1);
        if (b == NULL || layer->inputs[1] == NULL)
            continue;
        char *text = a != NULL ? g_strdup_printf("%s%d%s%d", sign_of(a), narrow_bits(a), sign_of(b), narrow_bits(b))
                               : g_strdup_printf("int%d weights", narrow_bits(b));
        g_hash_table_insert(factors, g_strdup(layer->name), text);
    }
}

GHashTable *ifm_ov_factors_read(const char *text, gsize n)
{
    static const GMarkupParser parser = { .start_element = element_begins, .end_element = element_ends };
    g_autoptr(GHashTable) layers = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, layer_free);
    Reading reading = { .layers = layers };
    g_autoptr(GMarkupParseContext) context = g_markup_parse_context_new(&parser, 0, &reading, NULL);
    GHashTable *factors = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    if (n > 0 && g_markup_parse_context_parse(context, text, (gssize)n, NULL) &&
        g_markup_parse_context_end_parse(context, NULL))
        name_factors(&reading, factors);
    return factors;
}

/* --- by the implementation -------------------------------------------------------------------------------------------- */

static gboolean multiplies(const char *op_type)
{
    static const char *const words[] = { "Convolution", "FullyConnected", "MatMul", "Deconvolution" };
    for (gsize i = 0; i < G_N_ELEMENTS(words); i++)
        if (strstr(op_type, words[i]) != NULL)
            return TRUE;
    return FALSE;
}

IfmDtype ifm_ov_implementation_dtype(const char *implementation)
{
    const char *last = strrchr(implementation, '_');
    g_autofree char *word = g_ascii_strdown(last != NULL ? last + 1 : "", -1);
    return ifm_dtype_from_name(word);
}

char *ifm_ov_arithmetic(const IfmNodeConfig *node, const GHashTable *factors)
{
    const char *both = factors != NULL ? g_hash_table_lookup((GHashTable *)factors, node->name) : NULL;
    const gboolean of_integers = node->dtype != IFM_DTYPE_UNDEFINED && !ifm_dtype_is_float(node->dtype);
    static const char *const movers[] = { "Convert", "Reorder", "Input", "Output", NULL };
    if (node->dtype == IFM_DTYPE_UNDEFINED || g_strv_contains(movers, node->op_type) ||
        (g_str_equal(node->op_type, "Subgraph") && g_str_has_prefix(node->name, "Convert")) ||
        ifm_operator_family(node->op_type) == IFM_FAMILY_MOVEMENT)
        return g_strdup("");
    if (!multiplies(node->op_type) || both == NULL || g_str_has_suffix(both, "weights") == of_integers)
        return of_integers && multiplies(node->op_type)
                   ? g_strdup_printf("int%d", 8 * (int)ifm_dtype_size_bytes(node->dtype))
                   : g_strdup(ifm_dtype_name(node->dtype));
    return of_integers ? g_strdup(both) : g_strdup_printf("%s, %s", ifm_dtype_name(node->dtype), both);
}
