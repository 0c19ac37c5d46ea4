#include <math.h>

#include "profile-page-private.h"

/* The columns of a profile's layers and families. */

/* --- layers ---------------------------------------------------------------------------------------------------------- */

/* On screen under a name that the model has. */
static void get_label(const void *record, const void *user, IfmValue *value)
{
    const IfmKernel *kernel = record;
    if (kernel->label != NULL)
        ifm_value_set_text(value, kernel->label);
    else
        ifm_field_get_some_text(kernel->node, IFM_FIELD_AT(IfmNodeRow, name), value);
}

static void get_family(const void *record, const void *user, IfmValue *value)
{
    const IfmKernel *kernel = record;
    ifm_value_set_text(value, kernel->known ? ifm_family_name(kernel->family) : NULL);
}

/* @user: the offset of a gint64 in IfmNodeCost. */
static void get_cost(const void *record, const void *user, IfmValue *value)
{
    const IfmKernel *kernel = record;
    if (kernel->cost.covered)
        ifm_field_get_integer(&kernel->cost, user, value);
}

static double flop_per_s(const IfmKernel *kernel)
{
    double ns = kernel->node->median_ns;
    return ifm_cost_is_exact(&kernel->cost) && !kernel->unresolved && ns > 0 ? 1e9 * (double)kernel->cost.flop / ns
                                                                             : (double)NAN;
}

static void get_rate(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_real(value, flop_per_s(record));
}

/* On screen what does no arithmetic has none to be compared. */
static void get_giga_rate(const void *record, const void *user, IfmValue *value)
{
    const IfmKernel *kernel = record;
    if (kernel->cost.flop > 0)
        ifm_value_set_real(value, flop_per_s(kernel) / 1e9);
}

/* What the counts before it are: a node may have branches, and it is unknown which runs. */
static void get_counted(const void *record, const void *user, IfmValue *value)
{
    const IfmKernel *kernel = record;
    if (kernel->cost.covered)
        ifm_value_set_text(value, kernel->cost.is_upper_bound ? "at most" : "exact");
}

static void get_shown_intensity(const void *record, const void *user, IfmValue *value)
{
    const IfmKernel *kernel = record;
    if (kernel->cost.flop > 0)
        ifm_value_set_real(value, kernel->place.intensity);
}

static void get_bound(const void *record, const void *user, IfmValue *value)
{
    static const char *const words[] = {
        [IFM_BOUND_COMPUTE] = "compute", [IFM_BOUND_MEMORY] = "memory", [IFM_BOUND_NEITHER] = NULL
    };
    ifm_value_set_text(value, words[((const IfmKernel *)record)->place.bound]);
}

#define KERNEL(member) IFM_MEMBER(IfmKernel, member)
#define NODE(member, ...) IFM_MEMBER_VIA(IfmKernel, node, member, ##__VA_ARGS__)
#define COST(member) IFM_FIELD_AT(IfmNodeCost, member)
#define SCREEN IFM_FIELD_NO_EXPORT
#define EXPORT IFM_FIELD_NO_SCREEN
#define HIDE IFM_FIELD_HIDE_EMPTY

const IfmField ifm_kernel_fields[] = {
    { "label", "kernel", IFM_FIELD_TEXT, get_label, NULL, SCREEN },
    { "name", NULL, IFM_FIELD_TEXT, NODE(name, .some = TRUE), EXPORT },
    { "op_type", "operator", IFM_FIELD_TEXT, NODE(op_type, .some = TRUE) },
    { "provider", NULL, IFM_FIELD_TEXT, NODE(provider, .some = TRUE), EXPORT },
    { "start_ns", NULL, IFM_FIELD_DURATION, NODE(start_ns), EXPORT },
    { "median_ns", "median", IFM_FIELD_DURATION, NODE(median_ns) },
    { "share_ratio", "share", IFM_FIELD_RATIO, KERNEL(share_ratio) },
    { "bar", "", IFM_FIELD_BAR, KERNEL(share_ratio), SCREEN },
    { "family", NULL, IFM_FIELD_TEXT, get_family, NULL, EXPORT },
    { "macs", NULL, IFM_FIELD_INTEGER, get_cost, COST(macs), EXPORT },
    { "flop", NULL, IFM_FIELD_INTEGER, get_cost, COST(flop), EXPORT },
    { "bytes_read", NULL, IFM_FIELD_INTEGER, get_cost, COST(bytes_read), EXPORT },
    { "bytes_written", NULL, IFM_FIELD_INTEGER, get_cost, COST(bytes_written), EXPORT },
    { "counted", NULL, IFM_FIELD_TEXT, get_counted, NULL, EXPORT },
    { "flop_per_s", NULL, IFM_FIELD_REAL, get_rate, NULL, EXPORT },
    { "gflop_per_s", "GFLOP/s", IFM_FIELD_REAL, get_giga_rate, NULL, SCREEN | HIDE | IFM_FIELD_DETAIL },
    { "shown_intensity", "FLOP/B", IFM_FIELD_REAL, get_shown_intensity, NULL, SCREEN | HIDE | IFM_FIELD_DETAIL },
    { "intensity", NULL, IFM_FIELD_REAL, KERNEL(place.intensity), EXPORT },
    { "attained_ratio", "of peak", IFM_FIELD_RATIO, KERNEL(place.attained), HIDE | IFM_FIELD_DETAIL },
    { "bound_by", "bound by", IFM_FIELD_TEXT, get_bound, NULL, HIDE | IFM_FIELD_DETAIL },
    { "min_ns", NULL, IFM_FIELD_DURATION, KERNEL(place.min_ns), EXPORT },
    { "excess_ns", NULL, IFM_FIELD_DURATION, KERNEL(place.excess_ns), EXPORT },
    { "dtype", "dtype", IFM_FIELD_TEXT, NODE(dtype, .some = TRUE),
      HIDE | IFM_FIELD_FOLD | IFM_FIELD_BREAK | IFM_FIELD_DETAIL },
    { "implementation", "implementation", IFM_FIELD_TEXT, NODE(implementation, .some = TRUE), HIDE | IFM_FIELD_DETAIL,
      .min_width = 120 },
    { "members", NULL, IFM_FIELD_TEXT, KERNEL(members), EXPORT },
    { NULL },
};

/* --- families -------------------------------------------------------------------------------------------------------- */

static void get_family_rate(const void *record, const void *user, IfmValue *value)
{
    const IfmKernelFamily *family = record;
    if (family->flop > 0 && family->time_ns > 0)
        ifm_value_set_real(value, family->flop / family->time_ns);
}

static void get_family_words(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_text(value, ifm_kernel_family_words(((const IfmKernelFamily *)record)->name));
}

#define FAMILY(member) IFM_MEMBER(IfmKernelFamily, member)

const IfmField ifm_kernel_family_fields[] = {
    { "family", "family", IFM_FIELD_TEXT, get_family_words, NULL, SCREEN },
    { "family", NULL, IFM_FIELD_TEXT, FAMILY(name), EXPORT },
    { "n", "layers", IFM_FIELD_INTEGER, FAMILY(n) },
    { "time_ns", "time", IFM_FIELD_DURATION, FAMILY(time_ns) },
    { "share_ratio", "share", IFM_FIELD_RATIO, FAMILY(share_ratio) },
    { "bar", "", IFM_FIELD_BAR, FAMILY(share_ratio), SCREEN },
    { "flop", NULL, IFM_FIELD_REAL, FAMILY(flop), EXPORT },
    { "gflop_per_s", "GFLOP/s", IFM_FIELD_REAL, get_family_rate, NULL, SCREEN | HIDE },
    { "attained_ratio", "of peak", IFM_FIELD_RATIO, FAMILY(attained), HIDE },
    { "excess_ns", "over roofline", IFM_FIELD_DURATION, FAMILY(excess_ns), HIDE },
    { NULL },
};
