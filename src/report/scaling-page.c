#include <math.h>
#include <string.h>

#include <inferometer/json.h>

#include "scaling-private.h"

/* How a model grows: the page. */

/* --- columns -----------------------------------------------------------------------------------------------------------
 */

static void get_half_width(const void *record, const void *user, IfmValue *value)
{
    const IfmScalingPoint *point = &((const IfmScalingLine *)record)->point;
    ifm_value_set_real(value, (point->interval.upper - point->interval.lower) / 2 / point->time_ns);
}

static void get_flop(const void *record, const void *user, IfmValue *value)
{
    const IfmScalingLine *line = record;
    if (line->point.flop >= 0)
        ifm_value_set_integer(value, line->point.flop);
}

static void get_gflop(const void *record, const void *user, IfmValue *value)
{
    const IfmScalingLine *line = record;
    if (line->point.flop >= 0)
        ifm_value_set_real(value, (double)line->point.flop / 1e9);
}

static void get_gflop_per_s(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_real(value, ((const IfmScalingLine *)record)->flop_per_s / 1e9);
}

/* To a hundredth: more would tell nobody anything. */
static void get_departure(const void *record, const void *user, IfmValue *value)
{
    const IfmScalingLine *line = record;
    ifm_value_set_real(value, round(100 * line->departure) / 100);
    value->tone = line->departs == IFM_DEPARTS ? IFM_TONE_WARN : IFM_TONE_PLAIN;
}

/* Of a column that is there where any of them departs, or of some that is not known. */
static void get_departs_word(const void *record, const void *user, IfmValue *value)
{
    static const char *const words[] = { "not known", "", "departs" };
    const IfmScalingLine *line = record;
    ifm_value_set_text(value, isnan(line->departure) ? "" : words[line->departs]);
    value->tone = line->departs == IFM_DEPARTS ? IFM_TONE_WARN : IFM_TONE_PLAIN;
}

static void get_departs(const void *record, const void *user, IfmValue *value)
{
    const IfmScalingLine *line = record;
    if (line->departs != IFM_DEPARTURE_UNKNOWN)
        ifm_value_set_boolean(value, line->departs == IFM_DEPARTS);
}

static void get_code(const void *record, const void *user, IfmValue *value)
{
    const IfmScalingLine *line = record;
    if (line->result != NULL)
        ifm_value_set_text(value, ifm_result_code(line->result));
}

static void get_key(const void *record, const void *user, IfmValue *value)
{
    const IfmScalingLine *line = record;
    if (line->result != NULL && line->result->subject_case != NULL)
        ifm_value_set_text(value, line->result->subject_case->key);
}

#define LINE(member) IFM_FIELD_AT(IfmScalingLine, member)
#define HIDE IFM_FIELD_HIDE_EMPTY

const IfmField ifm_scaling_line_fields[] = {
    { "axis", NULL, IFM_FIELD_TEXT, ifm_field_get_some_text, LINE(axis) },
    { "value", NULL, IFM_FIELD_TEXT, ifm_field_get_text, LINE(point.value) },
    { "device", NULL, IFM_FIELD_TEXT, ifm_field_get_some_text, LINE(device) },
    { "alias", NULL, IFM_FIELD_TEXT, ifm_field_get_some_text, LINE(alias) },
    { "error_code", NULL, IFM_FIELD_TEXT, get_code },
    { "reason", NULL, IFM_FIELD_TEXT, ifm_field_get_some_text, LINE(point.reason) },
    { "median_ns", NULL, IFM_FIELD_DURATION, ifm_field_get_real, LINE(point.time_ns) },
    { "median_lower_ns", NULL, IFM_FIELD_DURATION, ifm_field_get_real, LINE(point.interval.lower) },
    { "median_upper_ns", NULL, IFM_FIELD_DURATION, ifm_field_get_real, LINE(point.interval.upper) },
    { "flop", NULL, IFM_FIELD_INTEGER, get_flop },
    { "flop_per_s", NULL, IFM_FIELD_REAL, ifm_field_get_real, LINE(flop_per_s) },
    { "model_bytes", NULL, IFM_FIELD_BYTES, ifm_field_get_real, LINE(point.bytes) },
    { "process_bytes", NULL, IFM_FIELD_BYTES, ifm_field_get_real, LINE(point.process_bytes) },
    { "allocator_bytes", NULL, IFM_FIELD_BYTES, ifm_field_get_real, LINE(point.allocator_bytes) },
    { "departure_ratio", NULL, IFM_FIELD_REAL, ifm_field_get_real, LINE(departure) },
    { "departs", NULL, IFM_FIELD_BOOLEAN, get_departs },
    { "attention_flop_ratio", NULL, IFM_FIELD_REAL, ifm_field_get_real, LINE(point.attention_flop_ratio) },
    { "attention_time_ratio", NULL, IFM_FIELD_REAL, ifm_field_get_real, LINE(point.attention_time_ratio) },
    { "attention_estimated_bytes", NULL, IFM_FIELD_BYTES, ifm_field_get_real, LINE(point.attention_estimated_bytes) },
    { "attention_planned_bytes", NULL, IFM_FIELD_BYTES, ifm_field_get_real, LINE(point.attention_planned_bytes) },
    { "encoding_ns", NULL, IFM_FIELD_DURATION, ifm_field_get_real, LINE(point.encoding_ns) },
    { "encoding_estimated_bytes", NULL, IFM_FIELD_BYTES, ifm_field_get_real, LINE(point.encoding_estimated_bytes) },
    { "encoding_held_bytes", NULL, IFM_FIELD_BYTES, ifm_field_get_real, LINE(point.encoding_held_bytes) },
    { "pass", NULL, IFM_FIELD_TEXT, ifm_field_get_some_text, LINE(pass) },
    { "case_key", NULL, IFM_FIELD_TEXT, get_key },
    { NULL },
};

/* Behind the axis. */
static const IfmField page_fields[] = {
    { "median_ns", "median", IFM_FIELD_DURATION, ifm_field_get_real, LINE(point.time_ns) },
    { "half_width_ratio", "±", IFM_FIELD_RATIO, get_half_width },
    { "gflop", "GFLOP", IFM_FIELD_REAL, get_gflop },
    { "gflop_per_s", "GFLOP/s", IFM_FIELD_REAL, get_gflop_per_s },
    { "departure_ratio", "x FLOP", IFM_FIELD_REAL, get_departure, NULL, HIDE },
    { "departs", "", IFM_FIELD_TEXT, get_departs_word, NULL, IFM_FIELD_WHOLE },
    { "model_bytes", "memory", IFM_FIELD_BYTES, ifm_field_get_real, LINE(point.bytes) },
    { "process_bytes", "process", IFM_FIELD_BYTES, ifm_field_get_real, LINE(point.process_bytes), HIDE },
    { "attention_flop_ratio", "attention: FLOP", IFM_FIELD_RATIO, ifm_field_get_real, LINE(point.attention_flop_ratio),
      HIDE },
    { "attention_time_ratio", "time", IFM_FIELD_RATIO, ifm_field_get_real, LINE(point.attention_time_ratio), HIDE },
    { "encoding_ns", "encoding", IFM_FIELD_DURATION, ifm_field_get_real, LINE(point.encoding_ns), HIDE },
    { NULL },
};

/* Whether a column is told here: not of whether points depart where none does; of graph transformers memory has a table of
 * its own. */
static gboolean is_told(const IfmField *field, const ScalingPart *part)
{
    gboolean any_to_tell = FALSE;
    for (gsize i = 0; i < part->row->n; i++)
        any_to_tell |= !isnan(part->lines[i].departure) && part->lines[i].departs != IFM_DEPARTS_NOT;
    if (field->get == get_departs_word)
        return any_to_tell;
    return field->kind != IFM_FIELD_BYTES || !ifm_scaling_has_memory(part);
}

static void append_points(GString *out, const ScalingPart *part, const IfmScreen *screen)
{
    IfmField fields[G_N_ELEMENTS(page_fields) + 1] = { ifm_scaling_axis_field(part) };
    g_autoptr(GPtrArray) records = g_ptr_array_new();
    for (gsize i = 0, n = 1; i < G_N_ELEMENTS(page_fields); i++)
    {
        if (!is_told(&page_fields[i], part))
            continue;
        fields[n] = page_fields[i];
        fields[n++].flags |= part->device == NULL ? HIDE : 0; /* nothing is run: there are no times */
    }
    for (gsize i = 0; i < part->row->n; i++)
        g_ptr_array_add(records, &part->lines[i]);
    ifm_page_table(out, fields, records, screen);
}

/* --- exponents ---------------------------------------------------------------------------------------------------------
 */

/* Growth: one fit in words. */
typedef struct
{
    char *what;
    const IfmPowerFit *fit;
} Growth;

static void growth_free(Growth *growth)
{
    g_free(growth->what);
    g_free(growth);
}

/* @pass: whose it is; NULL: nobody has to be told */
static void add_growth(GPtrArray *records, const char *pass, const char *what, gboolean stands, const IfmPowerFit *fit)
{
    if (!stands)
        return;
    Growth *growth = g_new(Growth, 1);
    growth->what = pass != NULL ? g_strdup_printf("%s: %s", pass, what) : g_strdup(what);
    growth->fit = fit;
    g_ptr_array_add(records, growth);
}

/* Time and FLOP of each pass, times first; memory of the one that was asked for. (transfer full) */
static GPtrArray *growths_of(const ScalingPart *part)
{
    GPtrArray *records = g_ptr_array_new_with_free_func((GDestroyNotify)growth_free);
    const ScalingPart *const own[] = { part };
    gboolean has_passes = part->passes->len > 0;
    const ScalingPart *const *passes = has_passes ? (const ScalingPart *const *)part->passes->pdata : own;
    for (int flop = 0; flop < 2; flop++)
        for (guint i = 0; i < (has_passes ? part->passes->len : 1); i++)
        {
            const IfmScaling *scaling = passes[i]->scaling;
            add_growth(records, has_passes ? ifm_pass_words((IfmPassKind)passes[i]->kind) : NULL, flop ? "FLOP" : "time",
                       flop ? scaling->has_flop : scaling->has_time, flop ? &scaling->flop : &scaling->time);
        }
    add_growth(records, NULL, "memory", part->scaling->has_bytes, &part->scaling->bytes);
    add_growth(records, NULL, "attention's memory", part->scaling->has_attention, &part->scaling->attention);
    return records;
}

/* @user: the offset of a double in IfmPowerFit. */
static void get_exponent(const void *record, const void *user, IfmValue *value)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    double exponent = G_STRUCT_MEMBER(double, ((const Growth *)record)->fit, GPOINTER_TO_SIZE(user));
    ifm_value_take_text(value, g_strdup(g_ascii_formatd(text, sizeof text, "%.2f", exponent)));
}

/* @user: the offset of an IfmInterval in IfmPowerFit. */
static void get_interval(const void *record, const void *user, IfmValue *value)
{
    char lower[G_ASCII_DTOSTR_BUF_SIZE], upper[G_ASCII_DTOSTR_BUF_SIZE];
    IfmInterval interval = G_STRUCT_MEMBER(IfmInterval, ((const Growth *)record)->fit, GPOINTER_TO_SIZE(user));
    if (isnan(interval.lower) || isnan(interval.upper))
        return;
    g_ascii_formatd(lower, sizeof lower, "%.2f", interval.lower);
    g_ascii_formatd(upper, sizeof upper, "%.2f", interval.upper);
    ifm_value_take_text(value, g_strdup_printf("%s to %s", lower, upper));
}

#define FIT(member) IFM_FIELD_AT(IfmPowerFit, member)

/* Of times without an interval: whether they are in the fit. */
static void append_bare(GString *out, const ScalingPart *part, const char *pass, const IfmScreen *screen)
{
    const IfmScaling *scaling = part->scaling;
    g_autoptr(GString) text = g_string_new(pass != NULL ? pass : "");
    guint n = 0;
    if (!scaling->has_time || scaling->n_bare == 0)
        return;
    g_string_append_printf(text, "%stime: no interval at %s", pass != NULL ? ": " : "", part->row->axis);
    for (gsize i = 0; i < part->row->n; i++)
    {
        const IfmScalingPoint *point = &part->points[i];
        if (point->time_ns > 0 && (isnan(point->interval.lower) || isnan(point->interval.upper)))
            g_string_append_printf(text, "%s %s", n++ > 0 ? "," : "", point->value);
    }
    g_string_append(text, scaling->bare_fitted ? ": in the exponent all the same, since too few others have one"
                                               : ": left out of the exponent");
    ifm_page_wrapped(out, text->str, screen);
}

static void append_exponents(GString *out, const ScalingPart *part, const IfmScreen *screen)
{
    const IfmScaling *scaling = part->scaling;
    g_autoptr(GPtrArray) records = growths_of(part);
    g_autofree char *title = g_strdup_printf("growth with %s", part->row->axis);
    const IfmField fields[] = {
        { "what", title, IFM_FIELD_TEXT, ifm_field_get_text, IFM_FIELD_AT(Growth, what), IFM_FIELD_WHOLE },
        { "exponent", "exponent", IFM_FIELD_TEXT, get_exponent, FIT(exponent), IFM_FIELD_WHOLE },
        { "interval", "95 % interval", IFM_FIELD_TEXT, get_interval, FIT(interval), IFM_FIELD_WHOLE },
        { "last", "at the large end", IFM_FIELD_TEXT, get_exponent, FIT(last), IFM_FIELD_WHOLE },
        { "last_interval", "95 % interval", IFM_FIELD_TEXT, get_interval, FIT(last_interval), HIDE | IFM_FIELD_WHOLE },
        { NULL },
    };
    if (records->len > 0)
    {
        g_string_append_c(out, '\n');
        ifm_page_table(out, fields, records, screen);
    }
    if (part->passes->len == 0)
        append_bare(out, part, NULL, screen);
    for (guint i = 0; i < part->passes->len; i++)
    {
        const ScalingPart *pass = part->passes->pdata[i];
        append_bare(out, pass, ifm_pass_words((IfmPassKind)pass->kind), screen);
    }
    if (scaling->why != NULL && ifm_scaling_has_numbers(part) && part->device != NULL)
    {
        g_autofree char *text = g_strdup_printf("no exponent of the time: %s", scaling->why);
        g_string_append(out, records->len > 0 ? "" : "\n");
        ifm_page_wrapped(out, text, screen);
    }
}

/* --- what departs ------------------------------------------------------------------------------------------------------
 */

static void append_departures(GString *out, const ScalingPart *part, const IfmScreen *screen)
{
    const IfmScaling *scaling = part->scaling;
    if (isnan(scaling->most_flop_per_s) && scaling->n_bare > 0 && scaling->has_flop)
    {
        g_string_append_c(out, '\n');
        ifm_page_wrapped(out, "x FLOP: not known: no point's time has an interval", screen);
    }
    if (isnan(scaling->most_flop_per_s))
        return;
    char rate[G_ASCII_DTOSTR_BUF_SIZE], times[G_ASCII_DTOSTR_BUF_SIZE];
    g_ascii_formatd(rate, sizeof rate, "%.4g", scaling->most_flop_per_s / 1e9);
    g_ascii_formatd(times, sizeof times, "%.4g", IFM_SCALING_DEPARTS);
    g_autofree char *text = g_strdup_printf(
        "x FLOP: the time over what the FLOP take at %s GFLOP/s, the highest rate that a point attains with "
        "all of its interval (%s %s); a point departs where it is above %s with all of its own%s",
        rate, part->row->axis, part->points[scaling->most_at].value, times,
        scaling->n_bare > 0 ? "; without one that is not known" : "");
    g_string_append_c(out, '\n');
    ifm_page_wrapped(out, text, screen);
}

/* --- the plot ----------------------------------------------------------------------------------------------------------
 */

static void append_plot(GString *out, const ScalingPart *part, const IfmScreen *screen)
{
    gsize n = part->row->n;
    g_autofree double *x = g_new(double, n + 1), *measured = g_new(double, n + 1), *predicted = g_new(double, n + 1);
    g_autoptr(GString) plane = g_string_new(NULL);
    gboolean any_predicted = FALSE;
    for (gsize i = 0; i < n; i++)
    {
        x[i] = part->points[i].x;
        measured[i] = part->points[i].time_ns;
        predicted[i] = part->points[i].time_ns / part->scaling->departures[i];
        any_predicted |= predicted[i] > 0;
    }
    const IfmPlotSeries series[] = { { "●", "*", IFM_TONE_GOOD, measured }, { "○", "o", IFM_TONE_PLAIN, predicted } };
    const IfmPlot plot = { x, part->row->values, n, series, any_predicted ? 2 : 1 };
    if (!ifm_scaling_has_numbers(part) || !ifm_draw_plot(plane, &plot, screen))
        return;
    g_autofree char *second = g_strdup_printf(", %s as the FLOP alone", screen->utf8 ? series[1].utf8 : series[1].ascii);
    g_autofree char *title = g_strdup_printf("time over %s, both logarithmic: %s measured%s", part->row->axis,
                                             screen->utf8 ? series[0].utf8 : series[0].ascii, any_predicted ? second : "");
    g_string_append_c(out, '\n');
    ifm_page_wrapped(out, title, screen);
    g_string_append(out, plane->str);
}

/* --- reasons and warnings ----------------------------------------------------------------------------------------------
 */

static void append_reasons(GString *out, const ScalingPart *part, const IfmScreen *screen)
{
    gboolean any = FALSE;
    for (gsize i = 0; i < part->row->n; i++)
    {
        const IfmScalingPoint *point = &part->points[i];
        if (point->reason == NULL)
            continue;
        g_autofree char *head = g_strdup_printf("%s %s", part->row->axis, point->value);
        g_string_append(out, any ? "" : "\n");
        ifm_page_told(out, head, IFM_TONE_BAD, point->reason, screen);
        any = TRUE;
    }
}

/* Said: a warning, and the points it is said of. */
typedef struct
{
    const char *text;
    GString *points;
    const char *axis, *value; /* the last of them */
    guint n;
} Said;

static void said_free(Said *said)
{
    g_string_free(said->points, TRUE);
    g_free(said);
}

static void add_warning(GPtrArray *all, const char *text, const char *axis, const char *value)
{
    Said *said = NULL;
    for (guint i = 0; i < all->len && said == NULL; i++)
        if (g_str_equal(((const Said *)all->pdata[i])->text, text))
            said = all->pdata[i];
    if (said == NULL)
    {
        said = g_new0(Said, 1);
        said->text = text;
        said->points = g_string_new(NULL);
        g_ptr_array_add(all, said);
    }
    if (said->value == value && said->axis == axis) /* on another device, or in another pass */
        return;
    g_string_append_printf(said->points, "%s%s %s", said->n > 0 ? ", " : "", axis, value);
    said->axis = axis;
    said->value = value;
    said->n++;
}

/* Of a point, each once. Returns: whether there is a measurement that may have warnings. */
static gboolean add_warnings_of(GPtrArray *all, const IfmProfileStory *story, const char *axis, const char *value)
{
    gboolean any = FALSE;
    for (gsize at = 0; at < story->n_devices; at++)
    {
        const IfmMeasurement *measurement = story->devices[at].result.measurement;
        const json_t *warnings = measurement != NULL ? json_object_get(measurement->surroundings, "warnings") : NULL;
        for (gsize k = 0; k < json_array_size(warnings); k++)
            if (json_is_string(json_array_get(warnings, k)))
                add_warning(all, json_string_value(json_array_get(warnings, k)), axis, value);
        any |= measurement != NULL;
    }
    return any;
}

/* Of all passes. Returns: at how many points there are measurements that may have warnings. */
static guint collect_warnings(const IfmScalingRow *row, GPtrArray *all)
{
    guint n = 0;
    for (gsize i = 0; i < row->n; i++)
    {
        const IfmProfileMode *mode = row->refusals[i] == NULL ? row->stories[i].mode : NULL;
        gboolean any = row->refusals[i] == NULL && add_warnings_of(all, &row->stories[i], row->axis, row->values[i]);
        for (int kind = 0; mode != NULL && kind < IFM_N_PASSES; kind++)
            if (kind != (int)mode->asked && mode->passes[kind] != NULL)
                any |= add_warnings_of(all, mode->passes[kind], row->axis, row->values[i]);
        n += any;
    }
    return n;
}

/* Each once; one that is not of all with the points that it is of. */
static void append_warnings(GString *out, const IfmScalingRow *rows, gsize n_rows, const IfmScreen *screen)
{
    g_autoptr(GPtrArray) all = g_ptr_array_new_with_free_func((GDestroyNotify)said_free);
    guint n = 0;
    for (gsize i = 0; i < n_rows; i++)
        n += collect_warnings(&rows[i], all);
    for (guint i = 0; i < all->len; i++)
    {
        const Said *said = all->pdata[i];
        g_autofree char *text =
            said->n == n ? g_strdup(said->text) : g_strdup_printf("%s: %s", said->points->str, said->text);
        g_string_append(out, i == 0 ? "\n" : "");
        ifm_page_told(out, "warning", IFM_TONE_WARN, text, screen);
    }
}

/* --- the page ----------------------------------------------------------------------------------------------------------
 */

static void append_title(GString *out, const ScalingPart *part, const IfmScreen *screen)
{
    g_autofree char *device = part->device == NULL ? g_strdup("")
                              : part->device->alias != NULL && *part->device->alias != '\0'
                                  ? g_strdup_printf("  %s=%s", part->device->alias, part->device->device)
                                  : g_strdup_printf("  %s", part->device->device);
    const char *pass = part->kind >= 0 ? ifm_pass_words((IfmPassKind)part->kind) : NULL;
    g_autofree char *title =
        g_strdup_printf("scaling%s%s with %s", pass != NULL ? " of the " : "", pass != NULL ? pass : "", part->row->axis);
    g_autofree char *rest = part->row->help != NULL && !g_str_equal(part->row->help, part->row->axis)
                                ? g_strdup_printf("%s  %s", device, part->row->help)
                                : g_strdup(device);
    ifm_page_title(out, title, rest, screen);
}

char *ifm_scaling_to_screen(const IfmScalingRow *rows, gsize n_rows, const IfmScreen *screen)
{
    GString *out = g_string_new(NULL);
    for (gsize i = 0; i < n_rows; i++)
    {
        g_autoptr(GPtrArray) parts = ifm_scaling_parts(&rows[i]);
        for (guint at = 0; at < parts->len; at++)
        {
            const ScalingPart *part = parts->pdata[at];
            g_string_append(out, out->len > 0 ? "\n" : "");
            append_title(out, part, screen);
            append_points(out, part, screen);
            append_reasons(out, part, screen);
            append_departures(out, part, screen);
            ifm_scaling_passes(out, part, screen);
            ifm_scaling_memory(out, part, screen);
            append_exponents(out, part, screen);
            append_plot(out, part, screen);
        }
    }
    append_warnings(out, rows, n_rows, screen);
    return g_string_free(out, FALSE);
}
