#include <math.h>

#include "profile-private.h"

/* The columns of a profile's layers and families. */

/* --- layers ---------------------------------------------------------------------------------------------------------- */

/* @user: the offset of a char * in IfmNodeRow. */
static void get_node_text(const void *record, const void *user, IfmValue *value)
{
    const char *text = G_STRUCT_MEMBER(const char *, ((const IfmLayer *)record)->node, GPOINTER_TO_SIZE(user));
    ifm_value_set_text(value, text != NULL && *text != '\0' ? text : NULL);
}

/* On screen under a name that the model has. */
static void get_label(const void *record, const void *user, IfmValue *value)
{
    const IfmLayer *layer = record;
    if (layer->label != NULL)
        ifm_value_set_text(value, layer->label);
    else
        get_node_text(record, GSIZE_TO_POINTER(G_STRUCT_OFFSET(IfmNodeRow, name)), value);
}

static void get_node_time(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_real(value, G_STRUCT_MEMBER(double, ((const IfmLayer *)record)->node, GPOINTER_TO_SIZE(user)));
}

static void get_share(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_real(value, ((const IfmLayer *)record)->share_ratio);
}

static void get_family(const void *record, const void *user, IfmValue *value)
{
    const IfmLayer *layer = record;
    ifm_value_set_text(value, layer->known ? ifm_family_name(layer->family) : NULL);
}

static void get_members(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_text(value, ((const IfmLayer *)record)->members);
}

/* @user: the offset of a gint64 in IfmNodeCost. */
static void get_cost(const void *record, const void *user, IfmValue *value)
{
    const IfmLayer *layer = record;
    if (layer->cost.covered)
        ifm_value_set_integer(value, G_STRUCT_MEMBER(gint64, &layer->cost, GPOINTER_TO_SIZE(user)));
}

static double flop_per_s(const IfmLayer *layer)
{
    double ns = layer->node->median_ns;
    return ifm_cost_is_exact(&layer->cost) && ns > 0 ? 1e9 * (double)layer->cost.flop / ns : (double)NAN;
}

static void get_rate(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_real(value, flop_per_s(record));
}

/* On screen what does no arithmetic has none to be compared. */
static void get_giga_rate(const void *record, const void *user, IfmValue *value)
{
    const IfmLayer *layer = record;
    if (layer->cost.flop > 0)
        ifm_value_set_real(value, flop_per_s(layer) / 1e9);
}

/* What the counts before it are: a node may have branches, and nobody knows which runs. */
static void get_counted(const void *record, const void *user, IfmValue *value)
{
    const IfmLayer *layer = record;
    if (layer->cost.covered)
        ifm_value_set_text(value, layer->cost.at_most ? "at most" : "exact");
}

/* @user: the offset of a double in IfmRoofPlace. */
static void get_place(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_real(value, G_STRUCT_MEMBER(double, &((const IfmLayer *)record)->place, GPOINTER_TO_SIZE(user)));
}

static void get_shown_intensity(const void *record, const void *user, IfmValue *value)
{
    const IfmLayer *layer = record;
    if (layer->cost.flop > 0)
        ifm_value_set_real(value, layer->place.intensity);
}

static void get_bound(const void *record, const void *user, IfmValue *value)
{
    static const char *const words[] = {
        [IFM_BOUND_COMPUTE] = "compute", [IFM_BOUND_MEMORY] = "memory", [IFM_BOUND_NEITHER] = NULL
    };
    ifm_value_set_text(value, words[((const IfmLayer *)record)->place.bound]);
}

#define NODE(member) GSIZE_TO_POINTER(G_STRUCT_OFFSET(IfmNodeRow, member))
#define COST(member) GSIZE_TO_POINTER(G_STRUCT_OFFSET(IfmNodeCost, member))
#define PLACE(member) GSIZE_TO_POINTER(G_STRUCT_OFFSET(IfmRoofPlace, member))
#define SCREEN IFM_FIELD_NO_EXPORT
#define EXPORT IFM_FIELD_NO_SCREEN
#define HIDE IFM_FIELD_HIDE_EMPTY

const IfmField ifm_layer_fields[] = {
    { "label", "layer", IFM_FIELD_TEXT, get_label, NULL, SCREEN },
    { "name", NULL, IFM_FIELD_TEXT, get_node_text, NODE(name), EXPORT },
    { "op_type", "operator", IFM_FIELD_TEXT, get_node_text, NODE(op_type) },
    { "provider", NULL, IFM_FIELD_TEXT, get_node_text, NODE(provider), EXPORT },
    { "start_ns", NULL, IFM_FIELD_DURATION, get_node_time, NODE(start_ns), EXPORT },
    { "median_ns", "median", IFM_FIELD_DURATION, get_node_time, NODE(median_ns) },
    { "share_ratio", "share", IFM_FIELD_RATIO, get_share },
    { "bar", "", IFM_FIELD_BAR, get_share, NULL, SCREEN },
    { "family", NULL, IFM_FIELD_TEXT, get_family, NULL, EXPORT },
    { "macs", NULL, IFM_FIELD_INTEGER, get_cost, COST(macs), EXPORT },
    { "flop", NULL, IFM_FIELD_INTEGER, get_cost, COST(flop), EXPORT },
    { "bytes_read", NULL, IFM_FIELD_INTEGER, get_cost, COST(bytes_read), EXPORT },
    { "bytes_written", NULL, IFM_FIELD_INTEGER, get_cost, COST(bytes_written), EXPORT },
    { "counted", NULL, IFM_FIELD_TEXT, get_counted, NULL, EXPORT },
    { "flop_per_s", NULL, IFM_FIELD_REAL, get_rate, NULL, EXPORT },
    { "gflop_per_s", "GFLOP/s", IFM_FIELD_REAL, get_giga_rate, NULL, SCREEN | HIDE },
    { "shown_intensity", "FLOP/B", IFM_FIELD_REAL, get_shown_intensity, NULL, SCREEN | HIDE },
    { "intensity", NULL, IFM_FIELD_REAL, get_place, PLACE(intensity), EXPORT },
    { "attained_ratio", "of limit", IFM_FIELD_RATIO, get_place, PLACE(attained), HIDE },
    { "bound_by", "bound by", IFM_FIELD_TEXT, get_bound, NULL, HIDE },
    { "least_ns", NULL, IFM_FIELD_DURATION, get_place, PLACE(least_ns), EXPORT },
    { "excess_ns", NULL, IFM_FIELD_DURATION, get_place, PLACE(excess_ns), EXPORT },
    { "dtype", "dtype", IFM_FIELD_TEXT, get_node_text, NODE(dtype), HIDE | IFM_FIELD_FOLD | IFM_FIELD_BREAK },
    { "implementation", "implementation", IFM_FIELD_TEXT, get_node_text, NODE(implementation), HIDE },
    { "members", NULL, IFM_FIELD_TEXT, get_members, NULL, EXPORT },
    { NULL },
};

/* --- families -------------------------------------------------------------------------------------------------------- */

static void get_family_name(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_text(value, ((const IfmLayerFamily *)record)->name);
}

static void get_family_count(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_integer(value, (gint64)((const IfmLayerFamily *)record)->n);
}

/* @user: the offset of a double in IfmLayerFamily. */
static void get_family_real(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_real(value, G_STRUCT_MEMBER(double, record, GPOINTER_TO_SIZE(user)));
}

static void get_family_rate(const void *record, const void *user, IfmValue *value)
{
    const IfmLayerFamily *family = record;
    if (family->flop > 0 && family->time_ns > 0)
        ifm_value_set_real(value, family->flop / family->time_ns);
}

#define FAMILY(member) GSIZE_TO_POINTER(G_STRUCT_OFFSET(IfmLayerFamily, member))

const IfmField ifm_layer_family_fields[] = {
    { "family", "family", IFM_FIELD_TEXT, get_family_name },
    { "n", "layers", IFM_FIELD_INTEGER, get_family_count },
    { "time_ns", "time", IFM_FIELD_DURATION, get_family_real, FAMILY(time_ns) },
    { "share_ratio", "share", IFM_FIELD_RATIO, get_family_real, FAMILY(share_ratio) },
    { "bar", "", IFM_FIELD_BAR, get_family_real, FAMILY(share_ratio), SCREEN },
    { "flop", NULL, IFM_FIELD_REAL, get_family_real, FAMILY(flop), EXPORT },
    { "gflop_per_s", "GFLOP/s", IFM_FIELD_REAL, get_family_rate, NULL, SCREEN | HIDE },
    { "attained_ratio", "of limit", IFM_FIELD_RATIO, get_family_real, FAMILY(attained), HIDE },
    { "excess_ns", "above limit", IFM_FIELD_DURATION, get_family_real, FAMILY(excess_ns), HIDE },
    { NULL },
};
