#include <math.h>
#include <string.h>

#include <base/fields.h>

#include "figures.h"
#include "profile-findings.h"
#include "profile-page-private.h"

/* A training's passes: forward, backward (which is never run by itself), both in one, the update (nor is that), the whole
 * step. */

#define MIN_ROUNDS 6 /* of an interval at 95 % */

static const char *const words[] = { [IFM_PASS_FORWARD] = "forward",
                                     [IFM_PASS_TRAINING] = "training pass",
                                     [IFM_PASS_STEP] = "training step",
                                     [IFM_PASS_BACKWARD] = "backward",
                                     [IFM_PASS_UPDATE] = "update" };

const char *ifm_pass_words(int kind)
{
    return words[kind];
}

/* --- times and work -------------------------------------------------------------------------------------------------- */

static const IfmMeasurement *measurement_of(const IfmProfileDevice *device)
{
    return device != NULL ? device->result.measurement : NULL;
}

static IfmTiming timing_in(const IfmProfileMode *mode, int kind, const IfmProfileDevice *device)
{
    IfmTiming timing;
    ifm_mode_timing(mode, kind, device, &timing);
    return timing;
}

static gboolean is_difference(int kind)
{
    return kind >= IFM_N_PASSES;
}

/* Why the passes took no turns; NULL: they did, or it was not asked for. */
static const char *why_no_rounds(const IfmProfileMode *mode, const IfmProfileDevice *device)
{
    const IfmProfileDevice *asked = ifm_mode_device(mode, mode->asked, device);
    return asked != NULL && ifm_mode_rounds(mode, device) == 0 ? asked->why_not_rounds : NULL;
}

/* --- JSON ------------------------------------------------------------------------------------------------------------ */

static void get_unit(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_text(value, "ms");
}

#define TIMING(member) IFM_FIELD_AT(IfmTiming, member)

static const IfmField timing_fields[] = {
    { "mean", NULL, IFM_FIELD_REAL, ifm_field_get_ms, TIMING(mean_ns) },
    { "std", NULL, IFM_FIELD_REAL, ifm_field_get_ms, TIMING(std_ns) },
    { "unit", NULL, IFM_FIELD_TEXT, get_unit },
    { "median", NULL, IFM_FIELD_REAL, ifm_field_get_ms, TIMING(median_ns) },
    { "median_lower", NULL, IFM_FIELD_REAL, ifm_field_get_ms, TIMING(interval.lower) },
    { "median_upper", NULL, IFM_FIELD_REAL, ifm_field_get_ms, TIMING(interval.upper) },
    { NULL },
};

static json_t *timing_to_json(const IfmTiming *timing)
{
    return isfinite(timing->median_ns) ? ifm_row_to_json(timing_fields, timing) : json_null();
}

json_t *ifm_profile_time_to_json(const IfmMeasurement *measurement)
{
    IfmTiming timing;
    ifm_timing_of(measurement, &timing);
    json_t *json = timing_to_json(&timing);
    if (!json_is_object(json))
        return json;
    gsize n = measurement->summary.n;
    json_object_set_new(json, "min", ifm_json_real(measurement->summary.min / 1e6));
    json_object_set_new(json, "max", ifm_json_real(measurement->summary.max / 1e6));
    json_object_set_new(json, "n", n > 0 ? json_integer((json_int_t)n) : json_null());
    json_object_set_new(json, "throughput_per_s", ifm_json_real(1e9 / timing.median_ns));
    return json;
}

/* How the difference came about. */
#define IN_ROUNDS "rounds"
#define INDEPENDENT "independent"

static json_t *difference_to_json(const IfmProfileMode *mode, const IfmProfileDevice *device, int kind)
{
    IfmPassDifference difference;
    IfmPassKind whole, part;
    ifm_pass_parts(kind, &whole, &part);
    ifm_mode_difference(mode, kind, device, &difference);
    json_t *json = timing_to_json(&difference.timing);
    if (!json_is_object(json))
        return json;
    const gboolean known = isfinite(difference.timing.interval.lower);
    json_object_set_new(json, "of", json_sprintf("%s - %s", ifm_pass_key((int)whole), ifm_pass_key((int)part)));
    json_object_set_new(json, "difference", json_string(difference.n_rounds > 0 ? IN_ROUNDS : INDEPENDENT));
    json_object_set_new(json, "why", ifm_json_text(why_no_rounds(mode, device)));
    json_object_set_new(json, "n_rounds",
                        difference.n_rounds > 0 ? json_integer((json_int_t)difference.n_rounds) : json_null());
    json_object_set_new(json, "includes_zero", known ? json_boolean(difference.holds_zero) : json_null());
    return json;
}

/* @kind: one that the mode has. Of the rounds, where there were some: the passes then add up. The runs' own figures stay.
 */
static json_t *pass_runtime(const IfmProfileMode *mode, const IfmProfileDevice *device, int kind)
{
    if (is_difference(kind))
        return difference_to_json(mode, device, kind);
    json_t *json = ifm_profile_time_to_json(measurement_of(ifm_mode_device(mode, (IfmPassKind)kind, device)));
    const gsize n_rounds = ifm_mode_rounds(mode, device);
    if (!json_is_object(json) || n_rounds == 0)
        return json;
    const IfmTiming timing = timing_in(mode, kind, device);
    json_object_update_new(json, timing_to_json(&timing));
    json_object_set_new(json, "n_rounds", json_integer((json_int_t)n_rounds));
    json_object_set_new(json, "throughput_per_s", ifm_json_real(1e9 / timing.median_ns));
    return json;
}

/* All keys are always there. */
json_t *ifm_profile_runtime(const IfmProfileReport *report, const IfmProfileDevice *device)
{
    const IfmProfileMode *mode = report->mode;
    json_t *json = json_object();
    for (gsize i = 0; i < IFM_N_PASS_FIGURES; i++)
    {
        int kind = ifm_pass_order[i];
        json_t *reported = mode != NULL && ifm_mode_has_pass(mode, kind) ? pass_runtime(mode, device, kind)
                           : mode == NULL && kind == IFM_PASS_FORWARD    ? ifm_profile_time_to_json(measurement_of(device))
                                                                         : json_null();
        json_object_set_new(json, ifm_pass_key(kind), reported);
    }
    return json;
}

#define WORK(member, ...) IFM_MEMBER(IfmWork, member, ##__VA_ARGS__)

static const IfmField pass_work_fields[] = {
    { "total_gflops", NULL, IFM_FIELD_REAL, WORK(flop, .per = 1e9) },
    { "total_macs", NULL, IFM_FIELD_INTEGER, WORK(macs) },
    { "total_flop", NULL, IFM_FIELD_INTEGER, WORK(flop) },
    { NULL },
};

/* Kind or part -> GFLOP of a pass; what encodes positions is in none. @report: NULL: nothing is known of it */
static json_t *breakdown_of(const IfmProfileReport *report)
{
    if (report == NULL || report->analysis == NULL)
        return json_null();
    json_t *json = ifm_profile_flop_breakdown(report);
    json_object_del(json, "pe");
    return json;
}

/* Of a difference: what the whole has more than the part. */
static json_t *pass_breakdown(const IfmProfileMode *mode, int kind)
{
    IfmPassKind whole, part;
    if (!ifm_pass_parts(kind, &whole, &part))
        return breakdown_of(mode->passes[kind]);
    json_t *json = breakdown_of(mode->passes[whole]), *value;
    json_auto_t *less = breakdown_of(mode->passes[part]);
    const char *key;
    json_object_foreach(json, key, value) json_object_set_new(
        json, key, ifm_json_real(json_number_value(value) - json_number_value(json_object_get(less, key))));
    return json;
}

static json_t *pass_flops(const IfmProfileReport *report, int kind)
{
    const IfmProfileReport *pass = !is_difference(kind) ? report->mode->passes[kind] : NULL;
    IfmWork work;
    ifm_mode_work(report->mode, kind, &work);
    json_t *json = ifm_row_to_json(pass_work_fields, &work);
    json_object_set_new(json, "breakdown", pass_breakdown(report->mode, kind));
    if (report->graph != NULL) /* there is one of the forward pass alone */
        json_object_set_new(json, "closed_form",
                            kind == IFM_PASS_FORWARD ? ifm_profile_closed_form_to_json(pass) : json_null());
    return json;
}

json_t *ifm_profile_pass_flops(const IfmProfileReport *report)
{
    json_t *json = json_object();
    for (gsize i = 0; i < IFM_N_PASS_FIGURES; i++)
        if (ifm_mode_has_pass(report->mode, ifm_pass_order[i]))
            json_object_set_new(json, ifm_pass_key(ifm_pass_order[i]), pass_flops(report, ifm_pass_order[i]));
    return json;
}

/* --- rows ------------------------------------------------------------------------------------------------------------ */

/* PassRow: a pass on a device. What reads an IfmResult reads this: of a difference a result without anything. */
typedef struct
{
    IfmResult result;
    int kind;
    IfmTiming timing;
    IfmWork work;
    double forward_ratio, peak_bytes;
    gboolean in_rounds; /* with all others */
} PassRow;

static PassRow *row_new(const IfmProfileMode *mode, const IfmProfileDevice *device, int kind)
{
    const IfmProfileDevice *own = !is_difference(kind) ? ifm_mode_device(mode, (IfmPassKind)kind, device) : NULL;
    PassRow *row = g_new0(PassRow, 1);
    const char *of;
    row->kind = kind;
    ifm_mode_work(mode, kind, &row->work);
    row->result = own != NULL ? own->result : (IfmResult){ .device = device->result.device, .alias = device->result.alias };
    row->timing = timing_in(mode, kind, device);
    row->forward_ratio = row->timing.median_ns / timing_in(mode, IFM_PASS_FORWARD, device).median_ns;
    row->in_rounds = ifm_mode_rounds(mode, device) > 0;
    row->peak_bytes =
        own != NULL && isfinite(row->timing.median_ns) ? ifm_profile_peak(mode->passes[kind], own, &of) : (double)NAN;
    return row;
}

static GPtrArray *rows_of(const IfmProfileReport *report)
{
    GPtrArray *rows = g_ptr_array_new_with_free_func(g_free);
    for (gsize i = 0; i < report->n_devices; i++)
        for (gsize k = 0; k < IFM_N_PASS_FIGURES; k++)
            if (ifm_mode_has_pass(report->mode, ifm_pass_order[k]))
                g_ptr_array_add(rows, row_new(report->mode, &report->devices[i], ifm_pass_order[k]));
    return rows;
}

static void get_row_device(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_text(value, ifm_result_name(record));
}

/* @user: not NULL: the key, for exports. */
static void get_pass(const void *record, const void *user, IfmValue *value)
{
    const PassRow *row = record;
    ifm_value_set_text(value, user != NULL ? ifm_pass_key(row->kind) : words[row->kind]);
}

static void get_flop_per_s(const void *record, const void *user, IfmValue *value)
{
    const PassRow *row = record;
    if (row->timing.median_ns > 0 && row->work.flop > 0)
        ifm_value_set_real(value, row->work.flop / row->timing.median_ns * (user != NULL ? 1e9 : 1));
}

static void get_row_outcome(const void *record, const void *user, IfmValue *value)
{
    const PassRow *row = record;
    if (is_difference(row->kind))
        ifm_value_set_text(value, isfinite(row->timing.median_ns) ? "difference" : NULL);
    else
        ifm_value_set_text(value, ifm_result_code(&row->result) == NULL ? "ok" : "failed");
}

static void get_difference(const void *record, const void *user, IfmValue *value)
{
    const PassRow *row = record;
    if (is_difference(row->kind) && isfinite(row->timing.median_ns))
        ifm_value_set_text(value, row->in_rounds ? IN_ROUNDS : INDEPENDENT);
}

static void get_row_reason(const void *record, const void *user, IfmValue *value)
{
    const PassRow *row = record;
    if (!is_difference(row->kind))
        ifm_value_set_text(value, ifm_result_reason(&row->result));
}

#define RESULT(member) IFM_FIELD_AT(IfmResult, member)
#define ROW(member, ...) IFM_MEMBER(PassRow, member, ##__VA_ARGS__)
#define SCREEN IFM_FIELD_NO_EXPORT
#define EXPORT IFM_FIELD_NO_SCREEN

static const IfmField pass_fields[] = {
    { "label", "device", IFM_FIELD_TEXT, get_row_device, NULL, SCREEN | IFM_FIELD_FOLD | IFM_FIELD_KEY },
    { "device", NULL, IFM_FIELD_TEXT, ifm_field_get_some_text, RESULT(device), EXPORT },
    { "alias", NULL, IFM_FIELD_TEXT, ifm_field_get_some_text, RESULT(alias), EXPORT },
    { "words", "pass", IFM_FIELD_TEXT, get_pass, NULL, SCREEN | IFM_FIELD_WHOLE | IFM_FIELD_KEY },
    { "pass", NULL, IFM_FIELD_TEXT, get_pass, "key", EXPORT },
    { "outcome", NULL, IFM_FIELD_TEXT, get_row_outcome, NULL, EXPORT },
    { "difference", NULL, IFM_FIELD_TEXT, get_difference, NULL, EXPORT },
    { "median_ns", "median", IFM_FIELD_DURATION, ROW(timing.median_ns) },
    { "median_lower_ns", "95 % from", IFM_FIELD_DURATION, ROW(timing.interval.lower) },
    { "median_upper_ns", "to", IFM_FIELD_DURATION, ROW(timing.interval.upper) },
    { "forward_ratio", "x forward", IFM_FIELD_REAL, ROW(forward_ratio) },
    { "mean_ns", NULL, IFM_FIELD_DURATION, ROW(timing.mean_ns), EXPORT },
    { "std_ns", NULL, IFM_FIELD_DURATION, ROW(timing.std_ns), EXPORT },
    { "macs", NULL, IFM_FIELD_REAL, ROW(work.macs), EXPORT },
    { "flop", NULL, IFM_FIELD_REAL, ROW(work.flop), EXPORT },
    { "gflop", "GFLOP", IFM_FIELD_REAL, ROW(work.flop, .per = 1e9), SCREEN | IFM_FIELD_HIDE_EMPTY | IFM_FIELD_DETAIL },
    { "flop_per_s", NULL, IFM_FIELD_REAL, get_flop_per_s, "per s", EXPORT },
    { "gflop_per_s", "GFLOP/s", IFM_FIELD_REAL, get_flop_per_s, NULL, SCREEN | IFM_FIELD_HIDE_EMPTY | IFM_FIELD_DETAIL },
    { "peak_bytes", "memory", IFM_FIELD_BYTES, ROW(peak_bytes), IFM_FIELD_HIDE_EMPTY | IFM_FIELD_DETAIL },
    { "reason", NULL, IFM_FIELD_TEXT, get_row_reason, NULL, EXPORT },
    { NULL },
};

/* Where nothing is run, what each pass has to do. */
static const IfmField work_fields[] = {
    { "words", "pass", IFM_FIELD_TEXT, get_pass },
    { "gflop", "GFLOP", IFM_FIELD_REAL, ROW(work.flop, .per = 1e9) },
    { NULL },
};

char *ifm_profile_passes_csv(const IfmProfileReport *report)
{
    g_autoptr(GPtrArray) rows = rows_of(report);
    return ifm_rows_to_csv(pass_fields, rows);
}

/* --- the page -------------------------------------------------------------------------------------------------------- */

char *ifm_profile_mode_line(const IfmProfileReport *report)
{
    const IfmProfileMode *mode = report->mode;
    GString *text = g_string_new(mode->asked == IFM_PASS_STEP ? "train: " : "backward: ");
    char rate[G_ASCII_DTOSTR_BUF_SIZE];
    g_string_append_printf(text, "loss %s", mode->loss);
    if (mode->optimiser != NULL)
        g_string_append_printf(text, ", optimiser %s, learning rate %s", mode->optimiser,
                               g_ascii_formatd(rate, sizeof rate, "%g", mode->learning_rate));
    if (mode->forward_words != NULL)
        g_string_append_printf(text, "; %s", mode->forward_words);
    return g_string_free(text, FALSE);
}

static void add_work(IfmDocument *document, const IfmProfileReport *report)
{
    GArray *rows = g_array_new(FALSE, TRUE, sizeof(PassRow));
    for (gsize i = 0; i < IFM_N_PASS_FIGURES; i++)
        if (ifm_mode_has_pass(report->mode, ifm_pass_order[i]))
        {
            PassRow row = { .kind = ifm_pass_order[i] };
            ifm_mode_work(report->mode, row.kind, &row.work);
            g_array_append_val(rows, row);
        }
    ifm_document_rows(document, "passes", work_fields, rows);
}

/* Whether a part is below 0 on a device: for certain, where its interval says so, or by chance. */
static gboolean is_below(const GPtrArray *rows, const IfmResult *result, gboolean surely)
{
    for (guint i = 0; i < rows->len; i++)
    {
        const PassRow *row = rows->pdata[i];
        if (is_difference(row->kind) && g_str_equal(ifm_result_name(&row->result), ifm_result_name(result)) &&
            (surely ? row->timing.interval.upper < 0 : row->timing.median_ns < 0))
            return TRUE;
    }
    return FALSE;
}

/* What the figure of these parts shows. (transfer full) */
static char *stack_sentence(const IfmProfileReport *report, const GPtrArray *rows)
{
    const char *whole = words[report->mode->asked];
    g_autoptr(GPtrArray) apart = g_ptr_array_new();
    gboolean by_chance = FALSE;
    for (gsize i = 0; i < report->n_devices; i++)
    {
        const IfmResult *result = &report->devices[i].result;
        if (is_below(rows, result, TRUE))
            g_ptr_array_add(apart, (gpointer)ifm_result_name(result));
        else
            by_chance |= is_below(rows, result, FALSE);
    }
    GString *text = g_string_new(NULL);
    g_autofree char *names = ifm_say_list((const char *const *)apart->pdata, apart->len, apart->len);
    if (apart->len < report->n_devices)
        g_string_append_printf(text, "Forward, backward%s, which add up to the %s; their intervals are in the table.",
                               report->mode->asked == IFM_PASS_STEP ? " and the update" : "", whole);
    if (by_chance)
        g_string_append(text, " A part whose median is below 0 by chance is not drawn.");
    if (apart->len > 0)
        g_string_append_printf(text, "%sOn %s the passes do not add up: the %s is drawn whole.", text->len > 0 ? " " : "",
                               names, whole);
    return g_string_free(text, FALSE);
}

/* The parts of a kind, or the whole of devices where they do not add up. */
static void add_parts(IfmDocument *document, IfmBlock *figure, const GPtrArray *rows, int kind, gboolean of_apart)
{
    IfmSeries *series = NULL;
    for (guint i = 0; i < rows->len; i++)
    {
        const PassRow *row = rows->pdata[i];
        if (row->kind != kind || !isfinite(row->timing.median_ns) || is_below(rows, &row->result, TRUE) != of_apart)
            continue;
        if (series == NULL)
            series = ifm_document_series(document, figure, words[kind], NULL);
        ifm_document_point_within(document, series, ifm_result_name(&row->result), NAN, row->timing.median_ns,
                                  row->timing.interval.lower, row->timing.interval.upper);
    }
}

/* The passes that a step is the sum of, one after another. Returns: (transfer full) what they come to on the first device.
 */
static char *add_stack(IfmDocument *document, const IfmProfileReport *report, const GPtrArray *rows)
{
    static const int parts[] = { IFM_PASS_FORWARD, IFM_PASS_BACKWARD, IFM_PASS_UPDATE };
    const IfmProfileMode *mode = report->mode;
    const IfmProfileDevice *first = &report->devices[0];
    const IfmTiming forward = timing_in(mode, IFM_PASS_FORWARD, first);
    IfmPassDifference backward, update;
    ifm_mode_difference(mode, IFM_PASS_BACKWARD, first, &backward);
    if (ifm_mode_has_pass(mode, IFM_PASS_UPDATE))
        ifm_mode_difference(mode, IFM_PASS_UPDATE, first, &update);
    char *finding = ifm_finding_passes(ifm_result_name(&first->result), &forward, &backward,
                                       ifm_mode_has_pass(mode, IFM_PASS_UPDATE) ? &update : NULL);
    g_autofree char *sentence = stack_sentence(report, rows);
    IfmBlock *figure = ifm_document_page_figure(document, "pass-times", IFM_FIGURE_STACKED, finding, sentence);
    figure->figure.y.title = mode->asked == IFM_PASS_STEP ? "time of a step" : "time of a training pass";
    for (gsize k = 0; k < G_N_ELEMENTS(parts); k++)
        add_parts(document, figure, rows, parts[k], FALSE);
    add_parts(document, figure, rows, (int)mode->asked, TRUE);
    return finding;
}

/* How backward and the update came about. */
static void add_sum(IfmDocument *document, const IfmProfileMode *mode, gsize n_rounds, const char *device, gboolean below)
{
    const gboolean is_step = mode->asked == IFM_PASS_STEP;
    g_autofree char *differences =
        g_strdup_printf("backward = training pass - forward%s", is_step ? ", update = training step - training pass" : "");
    const char *sum = below     ? differences
                      : is_step ? "forward + backward + update = training step"
                                : "forward + backward = training pass";
    if (n_rounds == 0)
        ifm_document_text(document,
                          "%s%s, each measured by itself: the interval is that of a "
                          "difference of independent medians, without what the machine changed between the two",
                          device, differences);
    else
        ifm_document_text(document, "%s%s, of the same %zu round%s of processes in a drawn order%s", device, sum, n_rounds,
                          ifm_plural(n_rounds),
                          n_rounds < MIN_ROUNDS ? ": too few for an interval" : "; an interval holds all of them");
}

/* Once for all devices that are alike, and on which a difference may be nothing at all. */
static void add_differences(IfmDocument *document, const IfmProfileReport *report, const GPtrArray *rows)
{
    static const int kinds[] = { IFM_PASS_BACKWARD, IFM_PASS_UPDATE };
    const IfmProfileMode *mode = report->mode;
    gboolean alike = TRUE;
    for (gsize i = 1; i < report->n_devices; i++)
        alike = alike && ifm_mode_rounds(mode, &report->devices[i]) == ifm_mode_rounds(mode, &report->devices[0]) &&
                is_below(rows, &report->devices[i].result, TRUE) == is_below(rows, &report->devices[0].result, TRUE);
    for (gsize i = 0; i < (alike ? 1 : report->n_devices); i++)
    {
        g_autofree char *of = alike ? g_strdup("") : g_strdup_printf("%s: ", ifm_result_name(&report->devices[i].result));
        add_sum(document, mode, ifm_mode_rounds(mode, &report->devices[i]), of,
                is_below(rows, &report->devices[i].result, TRUE));
    }
    for (gsize i = 0; i < report->n_devices; i++)
    {
        const char *why = why_no_rounds(mode, &report->devices[i]), *name = ifm_result_name(&report->devices[i].result);
        if (why != NULL)
            ifm_document_text(document, "%s: the passes took no turns: %s", name, why);
        for (gsize k = 0; k < G_N_ELEMENTS(kinds); k++)
        {
            IfmPassDifference difference;
            if (!ifm_mode_has_pass(mode, kinds[k]))
                continue;
            ifm_mode_difference(mode, kinds[k], &report->devices[i], &difference);
            if (difference.holds_zero)
                ifm_document_text(document, "%s: the interval of %s%s holds 0: these runs do not distinguish it from 0",
                                  name, kinds[k] == IFM_PASS_UPDATE ? "the " : "", words[kinds[k]]);
        }
    }
}

static void add_failures(IfmDocument *document, const IfmProfileReport *report)
{
    for (int kind = 0; kind < IFM_N_PASSES; kind++)
    {
        const IfmProfileReport *pass = kind != (int)report->mode->asked ? report->mode->passes[kind] : NULL;
        for (gsize i = 0; pass != NULL && i < pass->n_devices; i++)
        {
            if (ifm_result_reason(&pass->devices[i].result) == NULL)
                continue;
            g_autofree char *line = ifm_result_line(&pass->devices[i].result);
            ifm_document_note(document, words[kind], IFM_TONE_BAD, "%s", line);
        }
    }
}

void ifm_profile_add_passes(IfmDocument *document, const IfmProfileReport *report)
{
    if (report->mode == NULL || (report->n_devices == 0 && (report->parts & IFM_PROFILE_FLOPS) == 0))
        return;
    if (report->n_devices == 0)
    {
        ifm_document_part(document);
        add_work(document, report);
        return;
    }
    GPtrArray *rows = rows_of(report);
    IfmSection *section = ifm_document_question(document, "What does a step consist of?", NULL);
    ifm_document_detail(document, 0, "work and memory of the passes");
    ifm_document_table(document, "passes", pass_fields, rows);
    g_autofree char *finding = add_stack(document, report, rows), *answer = g_strconcat(finding, ".", NULL);
    section->answer = ifm_document_keep_text(document, answer);
    ifm_document_detail(document, 0, NULL);
    add_differences(document, report, rows);
    add_failures(document, report);
}
