#include <math.h>
#include <string.h>

#include <base/statistics.h>
#include <document/words.h>

#include <document/words.h>

#include "profile-findings.h"
#include "scaling-private.h"

/* How a model grows: the page. */

#define LEAST_POINTS 12 /* that a page shows which is shortened */

/* --- columns -----------------------------------------------------------------------------------------------------------
 */

static void get_half_width(const void *record, const void *user, IfmValue *value)
{
    const IfmScalingPoint *point = &((const IfmScalingLine *)record)->point;
    ifm_value_set_real(value, (point->interval.upper - point->interval.lower) / 2 / point->time_ns);
}

/* To a hundredth: further digits mean nothing. */
static void get_departure(const void *record, const void *user, IfmValue *value)
{
    const IfmScalingLine *line = record;
    ifm_value_set_real(value, round(100 * line->departure) / 100);
    value->tone = line->departs == IFM_DEPARTS ? IFM_TONE_WARN : IFM_TONE_PLAIN;
}

/* Of a column that is there where any of them departs, or of some that is not known. */
static void get_departs_word(const void *record, const void *user, IfmValue *value)
{
    static const char *const words[] = { "not known", "", "over FLOP" };
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
    if (line->point.implausible)
        ifm_value_set_text(value, IFM_IMPLAUSIBLE);
    else if (line->result != NULL)
        ifm_value_set_text(value, ifm_result_code(line->result));
}

static void get_key(const void *record, const void *user, IfmValue *value)
{
    const IfmScalingLine *line = record;
    if (line->result != NULL && line->result->subject_case != NULL)
        ifm_value_set_text(value, line->result->subject_case->key);
}

#define LINE(member, ...) IFM_MEMBER(IfmScalingLine, member, ##__VA_ARGS__)
#define HIDE IFM_FIELD_HIDE_EMPTY
#define SCREEN IFM_FIELD_NO_EXPORT

/* On the page behind the axis: those with a title. In CSV and JSON: those that are exported. */
const IfmField ifm_scaling_line_fields[] = {
    { "axis", NULL, IFM_FIELD_TEXT, LINE(axis, .some = TRUE) },
    { "value", NULL, IFM_FIELD_TEXT, LINE(point.value) },
    { "device", NULL, IFM_FIELD_TEXT, LINE(device, .some = TRUE) },
    { "alias", NULL, IFM_FIELD_TEXT, LINE(alias, .some = TRUE) },
    { "error_code", NULL, IFM_FIELD_TEXT, get_code },
    { "reason", NULL, IFM_FIELD_TEXT, LINE(point.reason, .some = TRUE) },
    { "median_ns", "median", IFM_FIELD_DURATION, LINE(point.time_ns) },
    { "half_width_ratio", "±", IFM_FIELD_PRECISION, get_half_width, NULL, SCREEN },
    { "median_lower_ns", NULL, IFM_FIELD_DURATION, LINE(point.interval.lower) },
    { "median_upper_ns", NULL, IFM_FIELD_DURATION, LINE(point.interval.upper) },
    { "mean_ns", NULL, IFM_FIELD_DURATION, LINE(point.mean_ns) },
    { "std_ns", NULL, IFM_FIELD_DURATION, LINE(point.std_ns) },
    { "min_ns", NULL, IFM_FIELD_DURATION, LINE(point.min_ns) },
    { "max_ns", NULL, IFM_FIELD_DURATION, LINE(point.max_ns) },
    { "n_rounds", NULL, IFM_FIELD_INTEGER, LINE(point.n_rounds) },
    { "least_ns", NULL, IFM_FIELD_DURATION, LINE(point.least_ns) },
    { "most_ns", NULL, IFM_FIELD_DURATION, LINE(point.most_ns) },
    { "disturbed", NULL, IFM_FIELD_BOOLEAN, LINE(point.disturbed) },
    { "gflop", "GFLOP", IFM_FIELD_REAL, LINE(point.flop, .some = TRUE, .above = -1, .per = 1e9), SCREEN },
    { "flop", NULL, IFM_FIELD_INTEGER, LINE(point.flop, .some = TRUE, .above = -1) },
    { "gflop_per_s", "GFLOP/s", IFM_FIELD_REAL, LINE(flop_per_s, .per = 1e9), SCREEN },
    { "flop_per_s", NULL, IFM_FIELD_REAL, LINE(flop_per_s) },
    { "departure_ratio", "x FLOP", IFM_FIELD_REAL, get_departure, NULL, SCREEN | HIDE },
    { "departs", "", IFM_FIELD_TEXT, get_departs_word, NULL, SCREEN | IFM_FIELD_WHOLE },
    { "model_bytes", "memory", IFM_FIELD_BYTES, LINE(point.bytes), IFM_FIELD_DETAIL },
    { "process_bytes", "process", IFM_FIELD_BYTES, LINE(point.process_bytes), HIDE | IFM_FIELD_DETAIL },
    { "allocator_bytes", NULL, IFM_FIELD_BYTES, LINE(point.allocator_bytes) },
    { "energy_j", "J", IFM_FIELD_REAL, LINE(point.energy_j), HIDE | IFM_FIELD_DETAIL },
    { "energy_lower_j", NULL, IFM_FIELD_REAL, LINE(point.energy_lower_j) },
    { "energy_upper_j", NULL, IFM_FIELD_REAL, LINE(point.energy_upper_j) },
    { "departure_ratio", NULL, IFM_FIELD_REAL, LINE(departure) },
    { "departs", NULL, IFM_FIELD_BOOLEAN, get_departs },
    { "attention_flop_ratio", "attention: FLOP", IFM_FIELD_RATIO, LINE(point.attention_flop_ratio),
      HIDE | IFM_FIELD_DETAIL },
    { "attention_time_ratio", "time", IFM_FIELD_RATIO, LINE(point.attention_time_ratio), HIDE | IFM_FIELD_DETAIL },
    { "attention_estimated_bytes", NULL, IFM_FIELD_BYTES, LINE(point.attention_estimated_bytes) },
    { "attention_planned_bytes", NULL, IFM_FIELD_BYTES, LINE(point.attention_planned_bytes) },
    { "encoding_ns", "encoding", IFM_FIELD_DURATION, LINE(point.encoding_ns), HIDE | IFM_FIELD_DETAIL },
    { "encoding_estimated_bytes", NULL, IFM_FIELD_BYTES, LINE(point.encoding_estimated_bytes) },
    { "encoding_held_bytes", NULL, IFM_FIELD_BYTES, LINE(point.encoding_held_bytes) },
    { "doubt", NULL, IFM_FIELD_TEXT, LINE(point.doubt, .some = TRUE) },
    { "pass", NULL, IFM_FIELD_TEXT, LINE(pass, .some = TRUE) },
    { "case_key", NULL, IFM_FIELD_TEXT, get_key },
    { NULL },
};

/* Whether the page has a column: whether points depart is left out where none does; memory of graph transformers has a
 * table of its own. */
static gboolean is_reported(const IfmField *field, const IfmScalingPart *part)
{
    gboolean any_to_report = FALSE;
    if (field->title == NULL)
        return FALSE;
    for (gsize i = 0; i < part->row->n; i++)
        any_to_report |= !isnan(part->lines[i].departure) && part->lines[i].departs != IFM_DEPARTS_NOT;
    if (field->get == get_departs_word)
        return any_to_report;
    return field->kind != IFM_FIELD_BYTES || !ifm_scaling_has_memory(part);
}

static void add_points(IfmDocument *document, const IfmScalingPart *part)
{
    GArray *fields = ifm_scaling_fields(document, part, ifm_scaling_line_fields);
    for (guint i = fields->len; i-- > 1;)
    {
        IfmField *field = &g_array_index(fields, IfmField, i);
        field->flags &= ~(guint)SCREEN;                  /* the document exports what its page shows */
        field->flags |= part->device == NULL ? HIDE : 0; /* nothing is run: there are no times */
        if (!is_reported(field, part))
            g_array_remove_index(fields, i);
    }
    ifm_document_table(document, ifm_scaling_key(document, "points"), ifm_fields_in(fields), ifm_scaling_records(part))
        ->least_rows = LEAST_POINTS;
    for (gsize i = 0; i < part->row->n; i++)
        if (part->points[i].no_energy != NULL)
        {
            ifm_document_note(document, "no energy", IFM_TONE_WARN, "%s", part->points[i].no_energy);
            break;
        }
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

/* @pass: whose it is; NULL: there is one pass alone */
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
static GPtrArray *growths_of(const IfmScalingPart *part)
{
    GPtrArray *records = g_ptr_array_new_with_free_func((GDestroyNotify)growth_free);
    const IfmScalingPart *const own[] = { part };
    gboolean has_passes = part->passes->len > 0;
    const IfmScalingPart *const *passes = has_passes ? (const IfmScalingPart *const *)part->passes->pdata : own;
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
static void add_bare(IfmDocument *document, const IfmScalingPart *part, const char *pass)
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
    ifm_document_text(document, "%s", text->str);
}

static void add_exponents(IfmDocument *document, const IfmScalingPart *part)
{
    const IfmScaling *scaling = part->scaling;
    GPtrArray *records = growths_of(part);
    g_autofree char *title = g_strdup_printf("growth with %s", part->row->axis);
    const IfmField columns[] = {
        { "what", ifm_document_keep_text(document, title), IFM_FIELD_TEXT, ifm_field_get_text, IFM_FIELD_AT(Growth, what),
          IFM_FIELD_WHOLE },
        { "exponent", "exponent", IFM_FIELD_TEXT, get_exponent, FIT(exponent), IFM_FIELD_WHOLE },
        { "interval", "95 % interval", IFM_FIELD_TEXT, get_interval, FIT(interval), IFM_FIELD_WHOLE },
        { "last", "at the large end", IFM_FIELD_TEXT, get_exponent, FIT(last), IFM_FIELD_WHOLE },
        { "last_interval", "95 % interval", IFM_FIELD_TEXT, get_interval, FIT(last_interval), HIDE | IFM_FIELD_WHOLE },
        { NULL },
    };
    GArray *fields = ifm_document_keep(document, ifm_fields_join(NULL, columns), (GDestroyNotify)g_array_unref);
    gboolean any = records->len > 0;
    ifm_document_part(document);
    ifm_document_table(document, ifm_scaling_key(document, "growth"), ifm_fields_in(fields), records)->no_screen = !any;
    if (part->passes->len == 0)
        add_bare(document, part, NULL);
    for (guint i = 0; i < part->passes->len; i++)
    {
        const IfmScalingPart *pass = part->passes->pdata[i];
        add_bare(document, pass, ifm_pass_words(pass->kind));
    }
    if (scaling->why != NULL && ifm_scaling_has_numbers(part) && part->device != NULL)
        ifm_document_text(document, "no exponent of the time: %s", scaling->why);
}

/* --- what departs ------------------------------------------------------------------------------------------------------
 */

static void add_departures(IfmDocument *document, const IfmScalingPart *part)
{
    const IfmScaling *scaling = part->scaling;
    char times[G_ASCII_DTOSTR_BUF_SIZE];
    g_autofree char *rate = ifm_say_number(scaling->max_flop_per_s / 1e9);
    ifm_document_part(document);
    if (isnan(scaling->max_flop_per_s))
    {
        if (scaling->n_bare > 0 && scaling->has_flop)
            ifm_document_text(document, "x FLOP: not known: no point's time has an interval");
        return;
    }
    g_ascii_formatd(times, sizeof times, "%.4g", IFM_SCALING_DEPARTS);
    ifm_document_text(document,
                      "x FLOP: the time over what the FLOP take at %s GFLOP/s, the highest rate that a point attains with "
                      "all of its interval (%s %s); a point is over FLOP where it is above %s with all of its own%s",
                      rate, part->row->axis, part->points[scaling->max_at].value, times,
                      scaling->n_bare > 0 ? "; without one that is not known" : "");
}

/* --- figures -----------------------------------------------------------------------------------------------------------
 */

/* Over the axis, both logarithmic. @title: (transfer full) */
static IfmBlock *add_figure(IfmDocument *document, const IfmScalingPart *part, const char *word, char *title,
                            const char *sentence)
{
    g_autofree char *owned = title;
    IfmBlock *figure =
        ifm_document_page_figure(document, ifm_scaling_key(document, word), IFM_FIGURE_SCATTER, owned, sentence);
    figure->figure.x = (IfmAxis){ part->row->axis, NULL, IFM_FIELD_REAL, TRUE, NAN, NAN };
    figure->figure.y.logarithmic = TRUE;
    figure->figure.half = TRUE;
    return figure;
}

/* What the times come to, with the first point that takes longer than its FLOP explain. (transfer full) */
static char *finding_of(const IfmScalingPart *part)
{
    const char *departs_at = NULL;
    gsize n_unknown = 0;
    for (gsize i = 0; i < part->row->n; i++)
    {
        n_unknown += part->lines[i].departs == IFM_DEPARTURE_UNKNOWN;
        if (part->lines[i].departs == IFM_DEPARTS && departs_at == NULL)
            departs_at = part->points[i].value;
    }
    return ifm_finding_growth(part->row->axis, part->scaling, departs_at, n_unknown, part->row->n);
}

static void add_at(IfmDocument *document, IfmSeries *series, const IfmScalingPoint *of, double ns,
                   const IfmInterval *interval)
{
    ifm_document_point_within(document, series, of->value, of->x, ns, interval != NULL ? interval->lower : (double)NAN,
                              interval != NULL ? interval->upper : (double)NAN);
}

/* The points that depart are there twice: with the others, and marked. */
static void add_time(IfmDocument *document, const IfmScalingPart *part)
{
    const IfmScaling *scaling = part->scaling;
    IfmBlock *figure =
        add_figure(document, part, "time", finding_of(part),
                   "Measured times with their intervals, the fit of them, and what the FLOP alone would take.");
    IfmSeries *measured = ifm_document_series(document, figure, "measured", NULL),
              *predicted = ifm_document_series(document, figure, "as the FLOP alone", NULL),
              *fit = scaling->has_time ? ifm_document_series(document, figure, "fit", NULL) : NULL, *departs = NULL;
    figure->figure.y.title = "time";
    predicted->joined = TRUE;
    for (gsize i = 0; i < part->row->n; i++)
    {
        const IfmScalingPoint *of = &part->points[i];
        add_at(document, measured, of, of->time_ns, &of->interval);
        add_at(document, predicted, of, of->time_ns / scaling->departures[i], NULL);
        if (fit != NULL)
        {
            fit->joined = TRUE;
            add_at(document, fit, of, scaling->time.factor * pow(of->x, scaling->time.exponent), NULL);
        }
        if (part->lines[i].departs == IFM_DEPARTS && departs == NULL)
            departs = ifm_document_series(document, figure, "over FLOP", NULL);
        if (part->lines[i].departs == IFM_DEPARTS)
            add_at(document, departs, of, of->time_ns, NULL);
    }
}

/* What the model needs by its shapes, and what was held when it ran. */
static void add_memory(IfmDocument *document, const IfmScalingPart *part)
{
    static const struct
    {
        const char *name;
        gsize at;
    } held[] = { { "model", G_STRUCT_OFFSET(IfmScalingPoint, bytes) },
                 { "allocator", G_STRUCT_OFFSET(IfmScalingPoint, allocator_bytes) },
                 { "process", G_STRUCT_OFFSET(IfmScalingPoint, process_bytes) },
                 { "attention", G_STRUCT_OFFSET(IfmScalingPoint, attention_planned_bytes) } };
    g_autofree char *exponent = ifm_say_number(part->scaling->bytes.exponent);
    IfmBlock *figure =
        add_figure(document, part, "memory-growth",
                   part->scaling->has_bytes
                       ? g_strdup_printf("By its shapes the model needs memory as %s^%s", part->row->axis, exponent)
                       : g_strdup_printf("How the memory grows with %s is not known", part->row->axis),
                   "What the model needs by its shapes, and what was held when it ran.");
    figure->figure.y = ifm_axis("memory", IFM_FIELD_BYTES);
    for (gsize k = 0; k < G_N_ELEMENTS(held); k++)
    {
        IfmSeries *series = ifm_document_series(document, figure, held[k].name, NULL);
        for (gsize i = 0; i < part->row->n; i++)
        {
            const double y = G_STRUCT_MEMBER(double, &part->points[i], held[k].at);
            if (isfinite(y))
                ifm_document_point_at(document, series, part->points[i].value, part->points[i].x, y);
        }
    }
}

/* --- reasons and warnings ----------------------------------------------------------------------------------------------
 */

static void add_reasons(IfmDocument *document, const IfmScalingPart *part)
{
    ifm_document_part(document);
    g_autoptr(GPtrArray) said = ifm_said_new(), doubts = ifm_said_new();
    for (gsize i = 0; i < part->row->n; i++)
    {
        const IfmScalingPoint *point = &part->points[i];
        g_autofree char *head = g_strdup_printf("%s %s", part->row->axis, point->value);
        if (point->reason != NULL)
            ifm_said_add(point->implausible ? doubts : said, point->reason, head, point);
        if (point->doubt != NULL)
            ifm_said_add(doubts, point->doubt, head, point);
    }
    ifm_document_said(document, said, IFM_TONE_BAD);
    ifm_document_said(document, doubts, IFM_TONE_WARN);
}

/* Of a point, each once. Returns: whether there is a measurement that may have warnings. */
static gboolean add_warnings_of(GPtrArray *all, const IfmProfileReport *report, const IfmScalingRow *row, gsize i)
{
    g_autofree char *whose = g_strdup_printf("%s %s", row->axis, row->values[i]);
    gboolean any = FALSE;
    for (gsize at = 0; at < report->n_devices; at++)
    {
        const IfmMeasurement *measurement = report->devices[at].result.measurement;
        ifm_said_add_warnings(all, measurement, whose, &row->reports[i]);
        any |= measurement != NULL;
    }
    return any;
}

/* Each once; one that is not of all points with those that it is of. */
static void add_warnings(IfmDocument *document, const IfmScalingRow *rows, gsize n_rows)
{
    g_autoptr(GPtrArray) all = ifm_said_new();
    guint n = 0;
    for (gsize r = 0; r < n_rows; r++)
        for (gsize i = 0; i < rows[r].n; i++)
        {
            const IfmProfileMode *mode = rows[r].refusals[i] == NULL ? rows[r].reports[i].mode : NULL;
            gboolean any = rows[r].refusals[i] == NULL && add_warnings_of(all, &rows[r].reports[i], &rows[r], i);
            for (int kind = 0; mode != NULL && kind < IFM_N_PASSES; kind++)
                if (kind != (int)mode->asked && mode->passes[kind] != NULL)
                    any |= add_warnings_of(all, mode->passes[kind], &rows[r], i);
            n += any;
        }
    ifm_document_warnings(document, all, n);
}

/* --- all of it ---------------------------------------------------------------------------------------------------------
 */

static void add_title(IfmDocument *document, const IfmScalingPart *part)
{
    const IfmResult *device = part->device;
    const char *pass = part->kind >= 0 ? ifm_pass_words(part->kind) : NULL, *help = part->row->help;
    gboolean has_alias = device != NULL && device->alias != NULL && *device->alias != '\0';
    gboolean has_help = help != NULL && !g_str_equal(help, part->row->axis);
    g_autofree char *title =
        g_strdup_printf("scaling%s%s with %s", pass != NULL ? " of the " : "", pass != NULL ? pass : "", part->row->axis);
    g_autofree char *rest =
        g_strconcat(device != NULL ? "  " : "", has_alias ? device->alias : "", has_alias ? "=" : "",
                    device != NULL ? device->device : "", has_help ? "  " : "", has_help ? help : "", NULL);
    IfmSection *section = ifm_document_title(document, title, rest);
    g_autofree char *finding = device != NULL ? finding_of(part) : NULL,
                    *answer = finding != NULL ? g_strconcat(finding, ".", NULL) : NULL,
                    *question =
                        g_strdup_printf("How does %s grow with %s%s%s?", pass != NULL ? pass : "it", part->row->axis,
                                        device != NULL ? " on " : "", device != NULL ? ifm_result_name(device) : "");
    section->question = ifm_document_keep_text(document, question);
    section->answer = ifm_document_keep_text(document, answer);
}

/* How the times came about, and which of them say nothing. */
static void add_rounds(IfmDocument *document, const IfmScalingPart *part)
{
    gsize n = 0;
    for (gsize i = 0; i < part->row->n; i++)
        n = MAX(n, part->points[i].n_rounds);
    if (n > 0)
        ifm_document_text(
            document,
            "times are medians of %zu fresh processes a point, which took turns in a drawn order; intervals hold "
            "all of them",
            n);
    for (gsize i = 0; i < part->row->n; i++)
    {
        const IfmScalingPoint *point = &part->points[i];
        if (!point->disturbed)
            continue;
        g_autofree char *least = ifm_format_duration(point->least_ns), *most = ifm_format_duration(point->most_ns);
        ifm_document_warning(document,
                             "%s=%s: its processes took %s to %s, also when they were measured again: disturbed, and "
                             "nothing is concluded from it",
                             part->row->axis, point->value, least, most);
    }
}

IfmDocument *ifm_scaling_document(const IfmScalingRow *rows, gsize n_rows)
{
    IfmDocument *document = ifm_document_new("scaling", n_rows > 0 ? rows[0].axis : "");
    g_autoptr(GPtrArray) all = g_ptr_array_new();
    ifm_document_part(document); /* a terminal hides the first title, and each of these is of a device */
    for (gsize i = 0; i < n_rows; i++)
    {
        GPtrArray *parts = ifm_document_keep(document, ifm_scaling_parts(&rows[i]), (GDestroyNotify)g_ptr_array_unref);
        for (guint at = 0; at < parts->len; at++)
        {
            const IfmScalingPart *part = parts->pdata[at];
            g_ptr_array_add(all, parts->pdata[at]);
            ifm_document_detail(document, 0, "points");
            add_title(document, part);
            if (ifm_scaling_has_numbers(part))
            {
                add_time(document, part);
                add_memory(document, part);
            }
            add_points(document, part);
            ifm_document_detail(document, 0, NULL);
            add_reasons(document, part);
            ifm_document_detail(document, IFM_DETAIL_PASSES, "passes");
            ifm_scaling_add_passes(document, part);
            ifm_document_detail(document, IFM_DETAIL_MEMORY, "memory");
            ifm_scaling_add_memory(document, part);
            ifm_document_detail(document, IFM_DETAIL_GROWTH, "growth");
            add_exponents(document, part);
            ifm_document_detail(document, IFM_DETAIL_REMARKS, "remarks");
            ifm_document_closed(document, "What the times are of");
            add_rounds(document, part);
            add_departures(document, part);
        }
    }
    ifm_document_detail(document, 0, NULL);
    add_warnings(document, rows, n_rows);
    ifm_scaling_add_headline(document, all);
    return document;
}
