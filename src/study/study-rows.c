#include <math.h>

#include <store/store.h>

#include "study-pages.h"

/* What a study's rows, fits and links are made of, for every printer. */

/* --- names ---------------------------------------------------------------------------------------------------------- */

char *ifm_device_marked(const IfmStudyDevice *device)
{
    return g_strconcat(device->alias, device->simulated ? " *" : "", NULL);
}

char *ifm_stage_title(const IfmStudyTables *tables, int number)
{
    for (gsize i = 0; i < tables->staged->n_stages; i++)
        if (tables->staged->stages[i].number == number)
            return g_strdup_printf("%d %s", number, tables->staged->stages[i].name);
    return g_strdup_printf("%d", number);
}

/* --- rows ----------------------------------------------------------------------------------------------------------- */

/* @user: the offset of a device in @record. */
static const IfmStudyDevice *device_of(const void *record, const void *user)
{
    return G_STRUCT_MEMBER(const IfmStudyDevice *, record, GPOINTER_TO_SIZE(user));
}

void ifm_field_get_marked(const void *record, const void *user, IfmValue *value)
{
    ifm_value_take_text(value, ifm_device_marked(device_of(record, user)));
}

void ifm_field_get_simulated(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_boolean(value, device_of(record, user)->simulated);
}

static void get_row_n(const void *record, const void *user, IfmValue *value)
{
    const IfmStudyRow *row = record;
    if (row->reason == NULL && row->n > 0)
        ifm_value_set_integer(value, row->n);
}

void ifm_field_get_width(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_real(value, ifm_stage_row_width(record));
}

static void get_row_outcome(const void *record, const void *user, IfmValue *value)
{
    const IfmStudyRow *row = record;
    const gboolean skipped = row->measurement != NULL && row->measurement->outcome == IFM_OUTCOME_SKIPPED;
    ifm_value_set_text(value, ifm_outcome_name(row->reason == NULL ? IFM_OUTCOME_OK
                                               : skipped           ? IFM_OUTCOME_SKIPPED
                                                                   : IFM_OUTCOME_FAILED));
}

static void get_row_stop(const void *record, const void *user, IfmValue *value)
{
    const IfmStudyRow *row = record;
    if (row->measurement != NULL && *row->measurement->stop_reason != '\0')
        ifm_value_set_text(value, row->measurement->stop_reason);
}

void ifm_field_get_disturbed(const void *record, const void *user, IfmValue *value)
{
    const IfmStudyRow *row = record;
    if (row->measurement != NULL && row->n > 0)
        ifm_value_set_boolean(value, ifm_measurement_is_disturbed(row->measurement));
}

/* Of what was measured; what was read in is marked by the table. */
static void get_row_origin(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_text(value, ((const IfmStudyRow *)record)->device->simulated ? "simulated" : "measured");
}

#define ROW(member, ...) IFM_MEMBER(IfmStudyRow, member, ##__VA_ARGS__)
#define ROW_VIA(pointer, member) IFM_MEMBER_VIA(IfmStudyRow, pointer, member)
#define ROW_AT(member) IFM_FIELD_AT(IfmStudyRow, member)
#define SCREEN IFM_FIELD_NO_EXPORT
#define EXPORT IFM_FIELD_NO_SCREEN

/* The first nine columns are the published ones, as data/meteor-lake has them. */
const IfmField ifm_stage_row_fields[] = {
    { "device", "device", IFM_FIELD_TEXT, ROW_VIA(device, alias), IFM_FIELD_WHOLE | IFM_FIELD_KEY },
    { "stage", "stage", IFM_FIELD_INTEGER, ROW(stage), IFM_FIELD_KEY },
    { "nodes", "nodes", IFM_FIELD_INTEGER, ROW(nodes), IFM_FIELD_KEY },
    { "edges", "edges", IFM_FIELD_INTEGER, ROW(edges), IFM_FIELD_KEY },
    { "latency_ms", NULL, IFM_FIELD_REAL, ROW(median_ns, .per = 1e6), EXPORT },
    { "std_ms", NULL, IFM_FIELD_REAL, ROW(std_ns, .per = 1e6), EXPORT },
    { "compute_ms", NULL, IFM_FIELD_REAL, ROW(compute_ns, .per = 1e6), EXPORT },
    { "transfer_ms", NULL, IFM_FIELD_REAL, ROW(transfer_ns, .per = 1e6), EXPORT },
    { "flag", NULL, IFM_FIELD_TEXT, ROW(reason, .some = TRUE), EXPORT },
    { "latency", "median", IFM_FIELD_DURATION, ROW(median_ns), SCREEN },
    { "half_width", "±", IFM_FIELD_PRECISION, ifm_field_get_width, NULL, SCREEN | IFM_FIELD_HIDE_EMPTY },
    { "std", "±std", IFM_FIELD_DURATION, ROW(std_ns), SCREEN | IFM_FIELD_HIDE_EMPTY },
    { "device_spec", NULL, IFM_FIELD_TEXT, ROW_VIA(device, device), EXPORT },
    { "simulated", "simulated", IFM_FIELD_BOOLEAN, ifm_field_get_simulated, ROW_AT(device), IFM_FIELD_FOLD },
    { "phase", NULL, IFM_FIELD_INTEGER, ROW(phase), EXPORT },
    { "outcome", NULL, IFM_FIELD_TEXT, get_row_outcome, NULL, EXPORT },
    { "error_code", NULL, IFM_FIELD_TEXT, ROW(code, .some = TRUE), EXPORT },
    { "mean_ms", NULL, IFM_FIELD_REAL, ROW(mean_ns, .per = 1e6), EXPORT },
    { "min_ms", NULL, IFM_FIELD_REAL, ROW(min_ns, .per = 1e6), EXPORT },
    { "max_ms", NULL, IFM_FIELD_REAL, ROW(max_ns, .per = 1e6), EXPORT },
    { "interval_lower_ms", NULL, IFM_FIELD_REAL, ROW(interval.lower, .per = 1e6), EXPORT },
    { "interval_upper_ms", NULL, IFM_FIELD_REAL, ROW(interval.upper, .per = 1e6), EXPORT },
    { "n", "n", IFM_FIELD_INTEGER, get_row_n, NULL, IFM_FIELD_HIDE_EMPTY },
    { "stop_reason", NULL, IFM_FIELD_TEXT, get_row_stop, NULL, EXPORT },
    { "disturbed", NULL, IFM_FIELD_BOOLEAN, ifm_field_get_disturbed, NULL, EXPORT },
    { "data_bytes", NULL, IFM_FIELD_INTEGER, ROW(table_bytes), EXPORT },
    { "read_bytes", NULL, IFM_FIELD_INTEGER, ROW(read_bytes), EXPORT },
    { "written_bytes", NULL, IFM_FIELD_INTEGER, ROW(written_bytes), EXPORT },
    { "compute", "compute", IFM_FIELD_DURATION, ROW(compute_ns), SCREEN | IFM_FIELD_HIDE_EMPTY },
    { "transfer", "transfer", IFM_FIELD_DURATION, ROW(transfer_ns), SCREEN | IFM_FIELD_HIDE_EMPTY },
    { "split_why", NULL, IFM_FIELD_TEXT, ROW(split_why, .some = TRUE), EXPORT },
    { "case_key", NULL, IFM_FIELD_TEXT, ROW(key, .some = TRUE), EXPORT },
    { "reason", "why not", IFM_FIELD_TEXT, ROW(reason, .some = TRUE), SCREEN | IFM_FIELD_HIDE_EMPTY },
    { NULL },
};

const IfmField ifm_lookup_row_fields[] = {
    { "compute_time_ms", NULL, IFM_FIELD_REAL, ROW(compute_ns, .per = 1e6) },
    { "transfer_time_ms", NULL, IFM_FIELD_REAL, ROW(transfer_ns, .per = 1e6) },
    { "total_time_ms", NULL, IFM_FIELD_REAL, ROW(median_ns, .per = 1e6) },
    { "std_ms", NULL, IFM_FIELD_REAL, ROW(std_ns, .per = 1e6) },
    { "mean_time_ms", NULL, IFM_FIELD_REAL, ROW(mean_ns, .per = 1e6) },
    { "interval_lower_ms", NULL, IFM_FIELD_REAL, ROW(interval.lower, .per = 1e6) },
    { "interval_upper_ms", NULL, IFM_FIELD_REAL, ROW(interval.upper, .per = 1e6) },
    { "n", NULL, IFM_FIELD_INTEGER, ROW(n) },
    { "origin", NULL, IFM_FIELD_TEXT, get_row_origin },
    { "split_why", NULL, IFM_FIELD_TEXT, ROW(split_why, .some = TRUE) },
    { NULL },
};

const IfmField ifm_raw_row_fields[] = {
    { "mean", NULL, IFM_FIELD_REAL, ROW(mean_ns, .per = 1e6) },
    { "std", NULL, IFM_FIELD_REAL, ROW(std_ns, .per = 1e6) },
    { "min", NULL, IFM_FIELD_REAL, ROW(min_ns, .per = 1e6) },
    { "max", NULL, IFM_FIELD_REAL, ROW(max_ns, .per = 1e6) },
    { "median", NULL, IFM_FIELD_REAL, ROW(median_ns, .per = 1e6) },
    { "interval_lower_ms", NULL, IFM_FIELD_REAL, ROW(interval.lower, .per = 1e6) },
    { "interval_upper_ms", NULL, IFM_FIELD_REAL, ROW(interval.upper, .per = 1e6) },
    { "n", NULL, IFM_FIELD_INTEGER, ROW(n) },
    { "stop_reason", NULL, IFM_FIELD_TEXT, get_row_stop },
    { "disturbed", NULL, IFM_FIELD_BOOLEAN, ifm_field_get_disturbed },
    { "data_bytes", NULL, IFM_FIELD_INTEGER, ROW(table_bytes) },
    { "read_bytes", NULL, IFM_FIELD_INTEGER, ROW(read_bytes) },
    { "written_bytes", NULL, IFM_FIELD_INTEGER, ROW(written_bytes) },
    { NULL },
};

/* --- fits and links --------------------------------------------------------------------------------------------------- */

/* In a few words why there is no bandwidth; the export has the whole line. NULL where there is one. */
static const char *bandwidth_trouble(gboolean fitted, const IfmBandwidthFit *fit)
{
    if (!fitted)
        return "no fit";
    if (fit->identifiable)
        return NULL;
    return fit->slope_ns_per_byte > 0 ? "interval spans 0" : "does not grow";
}

static void get_link_ends(const void *record, const void *user, IfmValue *value)
{
    const IfmLinkFit *link = record;
    gboolean simulated = link->from->simulated || link->to->simulated;
    ifm_value_take_text(value, g_strdup_printf("%s > %s%s", link->from->alias, link->to->alias, simulated ? " *" : ""));
}

static void get_link_simulated(const void *record, const void *user, IfmValue *value)
{
    const IfmLinkFit *link = record;
    ifm_value_set_boolean(value, link->from->simulated || link->to->simulated);
}

static void get_link_note(const void *record, const void *user, IfmValue *value)
{
    const IfmLinkFit *link = record;
    g_autoptr(GString) text = g_string_new(NULL);
    const char *trouble = bandwidth_trouble(link->fitted, &link->bandwidth);
    const char *const notes[] = { link->shared ? "shared" : NULL, link->assumed ? "assumed" : NULL,
                                  link->within_inference ? "host memory only" : NULL, trouble };
    for (gsize i = 0; i < G_N_ELEMENTS(notes); i++)
        if (notes[i] != NULL)
            g_string_append_printf(text, "%s%s", text->len > 0 ? ", " : "", notes[i]);
    if (text->len > 0)
        ifm_value_take_text(value, g_strdup(text->str));
    value->tone = link->assumed ? IFM_TONE_WARN : IFM_TONE_DIM;
}

static void get_fit_split(const void *record, const void *user, IfmValue *value)
{
    const IfmStageFit *fit = record;
    if (fit->n_rows > 0)
        ifm_value_take_text(value, g_strdup_printf("%zu of %zu", fit->n_split, fit->n_rows));
}

static void get_fit_note(const void *record, const void *user, IfmValue *value)
{
    const IfmStageFit *fit = record;
    ifm_value_set_text(value, bandwidth_trouble(fit->fitted, &fit->bandwidth));
    value->tone = IFM_TONE_WARN;
}

/* Of a fit that stands, a figure of IfmStageFit or IfmLinkFit. */
static void get_fit_real(const void *record, const void *user, IfmValue *value)
{
    const IfmStageFit *fit = record;
    if (fit->fitted)
        ifm_field_get_real(record, user, value);
}

static void get_link_real(const void *record, const void *user, IfmValue *value)
{
    const IfmLinkFit *link = record;
    if (link->fitted)
        ifm_field_get_real(record, user, value);
}

static void get_fit_lookup(const void *record, const void *user, IfmValue *value)
{
    const IfmStageFit *fit = record;
    if (fit->has_lookup)
        ifm_field_get_real(record, user, value);
}

/* Of a bandwidth that is known. */
static void get_fit_bandwidth(const void *record, const void *user, IfmValue *value)
{
    if (((const IfmStageFit *)record)->bandwidth.identifiable)
        get_fit_real(record, user, value);
}

static void get_link_bandwidth(const void *record, const void *user, IfmValue *value)
{
    if (((const IfmLinkFit *)record)->bandwidth.identifiable)
        get_link_real(record, user, value);
}

#define FIT(member) IFM_MEMBER(IfmStageFit, member)
#define FIT_VIA(pointer, member) IFM_MEMBER_VIA(IfmStageFit, pointer, member)
#define FIT_AT(member) IFM_FIELD_AT(IfmStageFit, member)
#define LINK(member) IFM_MEMBER(IfmLinkFit, member)
#define LINK_VIA(pointer, member) IFM_MEMBER_VIA(IfmLinkFit, pointer, member)
#define LINK_AT(member) IFM_FIELD_AT(IfmLinkFit, member)

const IfmField ifm_stage_fit_fields[] = {
    { "device", "device", IFM_FIELD_TEXT, FIT_VIA(device, alias), IFM_FIELD_WHOLE | IFM_FIELD_KEY },
    { "stage", "stage", IFM_FIELD_INTEGER, FIT(stage), IFM_FIELD_KEY },
    { "bytes_per_s", "MB/s", IFM_FIELD_RATE, get_fit_bandwidth, FIT_AT(bandwidth.bytes_per_s) },
    { "bytes_per_s_lower", "from", IFM_FIELD_RATE, get_fit_bandwidth, FIT_AT(bandwidth.bytes_per_s_interval.lower) },
    { "bytes_per_s_upper", "to", IFM_FIELD_RATE, get_fit_bandwidth, FIT_AT(bandwidth.bytes_per_s_interval.upper) },
    { "slope_ns_per_byte", NULL, IFM_FIELD_REAL, get_fit_real, FIT_AT(bandwidth.slope_ns_per_byte), EXPORT },
    { "intercept_ns", "intercept", IFM_FIELD_DURATION, get_fit_real, FIT_AT(bandwidth.intercept_ns) },
    { "r_squared", "R²", IFM_FIELD_REAL, get_fit_real, FIT_AT(bandwidth.r_squared) },
    { "n_rows", NULL, IFM_FIELD_INTEGER, FIT(n_rows), EXPORT },
    { "n_split", NULL, IFM_FIELD_INTEGER, FIT(n_split), EXPORT },
    { "split", "split", IFM_FIELD_TEXT, get_fit_split, NULL, SCREEN | IFM_FIELD_WHOLE },
    { "note", "", IFM_FIELD_TEXT, get_fit_note, NULL, SCREEN | IFM_FIELD_HIDE_EMPTY | IFM_FIELD_WHOLE },
    { "lookup_median_ratio", NULL, IFM_FIELD_RATIO, get_fit_lookup, FIT_AT(lookup_error.median_ratio), EXPORT },
    { "lookup_max_ratio", NULL, IFM_FIELD_RATIO, get_fit_lookup, FIT_AT(lookup_error.max_ratio), EXPORT },
    { NULL },
};

const IfmField ifm_link_fit_fields[] = {
    { "ends", "link", IFM_FIELD_TEXT, get_link_ends, NULL, SCREEN | IFM_FIELD_WHOLE },
    { "from", NULL, IFM_FIELD_TEXT, LINK_VIA(from, alias), EXPORT },
    { "to", NULL, IFM_FIELD_TEXT, LINK_VIA(to, alias), EXPORT },
    { "simulated", NULL, IFM_FIELD_BOOLEAN, get_link_simulated, NULL, EXPORT },
    { "n", NULL, IFM_FIELD_INTEGER, LINK(n), EXPORT },
    { "fixed_ns", "fixed cost", IFM_FIELD_DURATION, get_link_real, LINK_AT(bandwidth.intercept_ns) },
    { "fixed_lower_ns", "from", IFM_FIELD_DURATION, get_link_real, LINK_AT(bandwidth.intercept_interval.lower) },
    { "fixed_upper_ns", "to", IFM_FIELD_DURATION, get_link_real, LINK_AT(bandwidth.intercept_interval.upper) },
    { "bytes_per_s", "MB/s", IFM_FIELD_RATE, get_link_bandwidth, LINK_AT(bandwidth.bytes_per_s) },
    { "bytes_per_s_lower", "from", IFM_FIELD_RATE, get_link_bandwidth, LINK_AT(bandwidth.bytes_per_s_interval.lower) },
    { "bytes_per_s_upper", "to", IFM_FIELD_RATE, get_link_bandwidth, LINK_AT(bandwidth.bytes_per_s_interval.upper) },
    { "r_squared", "R²", IFM_FIELD_REAL, get_link_real, LINK_AT(bandwidth.r_squared) },
    { "note", "", IFM_FIELD_TEXT, get_link_note, NULL, IFM_FIELD_HIDE_EMPTY | IFM_FIELD_WHOLE },
    { NULL },
};

#define ERROR(member) IFM_MEMBER(IfmLookupError, member)

const IfmField ifm_lookup_error_fields[] = {
    { "n_interpolated", NULL, IFM_FIELD_INTEGER, ERROR(n_interpolated) },
    { "median_ratio", NULL, IFM_FIELD_RATIO, ERROR(median_ratio) },
    { "p90_ratio", NULL, IFM_FIELD_RATIO, ERROR(p90_ratio) },
    { "max_ratio", NULL, IFM_FIELD_RATIO, ERROR(max_ratio) },
    { "n_extrapolated", NULL, IFM_FIELD_INTEGER, ERROR(n_extrapolated) },
    { "extrapolated_median_ratio", NULL, IFM_FIELD_RATIO, ERROR(extrapolated_median_ratio) },
    { "extrapolated_max_ratio", NULL, IFM_FIELD_RATIO, ERROR(extrapolated_max_ratio) },
    { NULL },
};
