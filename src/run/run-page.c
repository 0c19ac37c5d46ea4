#include <math.h>

#include <base/base.h>
#include <base/fields.h>
#include <document/summary.h>
#include <document/words.h>
#include <measure/kinds.h>
#include <measure/measure.h>
#include <pipeline/pipeline.h>
#include <store/results.h>
#include <store/store.h>
#include <trace/trace-page.h>

#include "run-page.h"
#include "run.h"

/* The page of a plan's run: every figure as it was predicted and as it was measured. */

/* --- the pilot -------------------------------------------------------------------------------------------------------- */

/* Of a prediction with a pilot: what became of it. @measured_ns: NaN where another plan ran in the end. (transfer full)
 * NULL where there was none. */
static char *pilot_text(const json_t *prediction, double measured_ns)
{
    const json_t *pilot = json_object_get(prediction, "pilot"), *tables = json_object_get(pilot, "tables");
    const char *failed = ifm_member_text(pilot, "failed");
    gsize n = json_array_size(json_object_get(pilot, "rounds"));
    double by_tables_ns = ifm_member_number(tables, "makespan_ns");
    if (failed != NULL)
        return g_strdup_printf("none: %s; the prediction is by the study alone", failed);
    if (n == 0)
        return NULL;
    g_autofree char *reported = ifm_format_duration(by_tables_ns), *off = ifm_format_ratio(measured_ns / by_tables_ns - 1);
    g_autoptr(IfmPlan) plan = ifm_plan_from_json(json_object_get(tables, "plan"), "prediction", NULL);
    g_autofree char *text = plan != NULL ? ifm_plan_to_text(plan) : g_strdup("its plan");
    g_autofree char *missed = isfinite(measured_ns) ? g_strdup_printf(", and the run was %s%s off that",
                                                                      measured_ns >= by_tables_ns ? "+" : "", off)
                                                    : g_strdup("");
    return g_strdup_printf("tried in %zu short run%s before the prediction; by the study alone %s would take %s%s", n,
                           ifm_plural(n), text, reported, missed);
}

/* --- what is said below the figures ----------------------------------------------------------------------------------- */

const char *ifm_run_reason(const IfmRunReport *report)
{
    if (report->measurement == NULL)
        return report->reason;
    return report->measurement->outcome != IFM_OUTCOME_OK ? report->measurement->reason : NULL;
}

/* "CPU 23.1/s, ORT 20.2/s" (transfer full) */
static char *rates_text(const json_t *rates)
{
    GString *out = g_string_new(NULL);
    const char *alias;
    json_t *rate;
    json_object_foreach((json_t *)rates, alias, rate)
    {
        g_autofree char *number = ifm_say_number(json_number_value(rate));
        g_string_append_printf(out, "%s%s %s/s", out->len > 0 ? ", " : "", alias, number);
    }
    return g_string_free(out, FALSE);
}

static void add_bound(IfmDocument *document, const IfmRunReport *report)
{
    const json_t *none = ifm_measurement_result(report->measurement, "no_bound");
    IfmPlanRunResult result;
    ifm_plan_run_result(report->measurement, &result);
    if (json_is_string(none))
        ifm_document_fact(document, "bound", "no bound: %s", json_string_value(none));
    if (!json_is_object(result.bound))
        return;
    g_autofree char *solo = rates_text(json_object_get(result.bound, "solo")),
                    *together = rates_text(json_object_get(result.bound, "together")),
                    *predicted =
                        rates_text(ifm_run_is_replanned(report) ? NULL : json_object_get(report->prediction, "together"));
    gboolean known = *predicted != '\0';
    ifm_document_fact(document, "bound", "alone %s; all at once, each its own batches, %s%s%s%s: %.2f times the best alone",
                      solo, together, known ? " (predicted " : "", predicted, known ? ")" : "", result.gain);
    const char *alias;
    json_t *why;
    json_object_foreach(json_object_get(result.bound, "left_out"), alias, why)
        ifm_document_fact(document, "", "without %s: %s", alias, json_string_value(why));
}

/* What comparing the outputs came to: in a sentence, in a word. The last row: nothing of these. */
static const struct
{
    const char *status, *word;
    IfmTone tone;
} outputs[] = {
    { "passed", "equal", IFM_TONE_GOOD },
    { "failed", "differ", IFM_TONE_BAD },
    { "undetermined", "undetermined", IFM_TONE_WARN },
    { "not-applicable", "simulated", IFM_TONE_WARN },
    { NULL, NULL, IFM_TONE_WARN },
};

static gsize outputs_of(const IfmRunReport *report)
{
    const char *status = report->measurement != NULL ? ifm_member_text(report->measurement->verification, "status") : NULL;
    gsize i = 0;
    while (outputs[i].status != NULL && g_strcmp0(status, outputs[i].status) != 0)
        i++;
    return i;
}

/* An interval was aimed at and not reached. */
static void add_stop(IfmDocument *document, const IfmRunReport *report)
{
    const char *stop = report->measurement != NULL ? report->measurement->stop_reason : NULL;
    gboolean max = g_strcmp0(stop, ifm_stop_reason_name(IFM_STOP_MAX_RUNS)) == 0;
    if (max || g_strcmp0(stop, ifm_stop_reason_name(IFM_STOP_TIME_BUDGET)) == 0)
        ifm_document_note(document, "interval", IFM_TONE_WARN, "wider than was asked for %s",
                          max ? "after the maximum number of repetitions" : "when the time was spent");
}

/* "0.12 %", "-3.4 %" (transfer full) */
static char *signed_ratio(double ratio)
{
    g_autofree char *size = ifm_format_ratio(fabs(ratio));
    return g_strconcat(ratio < 0 ? "-" : "", size, NULL);
}

static void add_device_time(IfmDocument *document, const IfmRunReport *report)
{
    const json_t *cost = ifm_measurement_result(report->measurement, "device_time_cost"),
                 *interval = json_object_get(cost, "interval");
    const char *why = ifm_member_text(cost, "why");
    double lower = ifm_member_number(interval, "lower"), upper = ifm_member_number(interval, "upper");
    if (!json_is_object(cost))
        return;
    g_autofree char *ratio = signed_ratio(ifm_member_number(cost, "ratio")), *low = signed_ratio(lower),
                    *high = signed_ratio(upper);
    if (why != NULL)
        ifm_document_fact(document, "counters", "how much asking for device time slowed it down is not known: %s", why);
    else if (upper < 0) /* asking takes time, and never saves any */
        ifm_document_fact(document, "counters",
                          "inferences with counters took %s (%s to %s at 95 %%) against those without: the machine changed "
                          "meanwhile, and what asking for device time costs is not known",
                          ratio, low, high);
    else
        ifm_document_fact(document, "counters",
                          "asking for device time %s %s (%s to %s at 95 %%), by %.0f inferences with counters and %.0f "
                          "without",
                          lower <= 0 && upper >= 0 ? "did not surely slow it down:" : "slowed it down by", ratio, low, high,
                          ifm_member_number(cost, "n_counted"), ifm_member_number(cost, "n_plain"));
    double n_left_out = ifm_member_number(cost, "n_left_out");
    if (n_left_out > 0)
        ifm_document_fact(document, "no device time",
                          "of %.0f counted inferences of %.0f: the runtime reports means in whole microseconds, too coarse "
                          "for them",
                          n_left_out, ifm_member_number(cost, "n_counted"));
}

static void add_replans(IfmDocument *document, const IfmRunReport *report)
{
    IfmPlanRunResult result;
    double predicted_ns = ifm_member_number(report->prediction, "makespan_ns");
    if (!ifm_run_is_replanned(report))
        return;
    ifm_plan_run_result(report->measurement, &result);
    gsize n = result.n_replans;
    g_autofree char *when = n > 0 ? g_strdup_printf("%zu time%s", n, ifm_plural(n)) : g_strdup("while warming up"),
                    *makespan = ifm_format_duration(predicted_ns);
    ifm_document_fact(document, "replanned", "%s: a device failed, and the others went on without it", when);
    if (isfinite(predicted_ns))
        ifm_document_fact(document, "predicted", "a makespan of %s, of the plan that did not run to its end: not compared",
                          makespan);
}

/* @said: warnings of all runs, to be shown once; NULL: of the one run, at once */
static void add_warnings(IfmDocument *document, const IfmRunReport *report, GPtrArray *said)
{
    g_autoptr(GPtrArray) own = ifm_said_new(), trace = ifm_said_new();
    for (guint i = 0; report->analysis != NULL && i < report->analysis->warnings->len; i++)
        ifm_said_add(trace, report->analysis->warnings->pdata[i], "trace", report);
    ifm_document_said(document, trace, IFM_TONE_WARN);
    ifm_said_add_warnings(said != NULL ? said : own, report->measurement, report->title, report);
    ifm_document_warnings(document, own, 1);
}

/* --- all of them ------------------------------------------------------------------------------------------------------ */

/* RunLine: one run in a row. */
typedef struct
{
    const IfmRunReport *report;
    const IfmRunFigure *makespan, *throughput;
} RunLine;

static void get_off(const void *record, const void *user, IfmValue *value)
{
    ifm_run_get_difference(((const RunLine *)record)->makespan, NULL, value);
}

static void get_attained(const void *record, const void *user, IfmValue *value)
{
    IfmPlanRunResult result;
    ifm_plan_run_result(((const RunLine *)record)->report->measurement, &result);
    ifm_value_set_real(value, result.attained);
}

static void get_outputs(const void *record, const void *user, IfmValue *value)
{
    const gsize at = outputs_of(((const RunLine *)record)->report);
    ifm_value_set_text(value, outputs[at].word);
    value->tone = outputs[at].tone;
}

static const IfmField line_fields[] = {
    { "run", "run", IFM_FIELD_TEXT, IFM_MEMBER_VIA(RunLine, report, title), IFM_FIELD_WHOLE | IFM_FIELD_KEY },
    { "predicted_ns", "predicted", IFM_FIELD_DURATION, IFM_MEMBER_VIA(RunLine, makespan, predicted) },
    { "measured_ns", "measured", IFM_FIELD_DURATION, IFM_MEMBER_VIA(RunLine, makespan, measured) },
    { "off", "error", IFM_FIELD_TEXT, get_off },
    { "throughput_per_s", "batches/s", IFM_FIELD_REAL, IFM_MEMBER_VIA(RunLine, throughput, measured) },
    { "attained", "% of bound", IFM_FIELD_RATIO, get_attained, .flags = IFM_FIELD_HIDE_EMPTY },
    { "outputs", "outputs", IFM_FIELD_TEXT, get_outputs, .flags = IFM_FIELD_HIDE_EMPTY },
    { NULL },
};

/* --- the document ----------------------------------------------------------------------------------------------------- */

char *ifm_run_called(const IfmRunReport *report)
{
    g_autofree char *plan = report->plan != NULL ? ifm_plan_to_text(report->plan) : NULL;
    IfmPlanRunResult result;
    ifm_plan_run_result(report->measurement, &result);
    double n = ifm_member_number(json_array_get(result.repetitions, 0), "n_batches");
    GString *text = g_string_new(report->title);
    if (isfinite(n))
        g_string_append_printf(text, " · %.0f batches, %zu time%s", n, result.n_repetitions,
                               ifm_plural(result.n_repetitions));
    if (plan != NULL)
        g_string_append_printf(text, " · %s", plan);
    return g_string_free(text, FALSE);
}

gboolean ifm_run_is_independent(const char *key)
{
    return !g_str_equal(key, "throughput") && (!g_str_has_prefix(key, "  ") || g_str_has_prefix(key, "  ("));
}

char *ifm_run_ratios_title(const char *what, gsize n, gsize n_known, gsize n_longer, gsize n_shorter, const char *most,
                           double ratio)
{
    g_autofree char *times = ifm_say_number(ratio);
    if (n_known == 0)
        return g_strdup_printf("How far %s are from their predictions is not known: none has an interval", what);
    if (n_longer + n_shorter == 0)
        return g_strdup_printf("None of %zu %s is surely off its prediction", n, what);
    return g_strdup_printf("%zu of %zu %s are surely above their prediction, %zu below; the largest sure error is that of "
                           "%s, %s times as predicted",
                           n_longer, n, what, n_shorter, most, times);
}

/* Ratios: measured over predicted of figures, and which of them are off by their intervals. @most: (transfer none) */
typedef struct
{
    gsize n, n_known, n_longer, n_shorter;
    double farthest;
    const char *most;
} Ratios;

static void count_ratio(Ratios *ratios, const IfmPoint *point, const char *label)
{
    const gboolean is_off = point->lower > 1 || point->upper < 1;
    ratios->n++;
    ratios->n_known += isfinite(point->lower);
    ratios->n_longer += point->lower > 1;
    ratios->n_shorter += point->upper < 1;
    if (is_off && fabs(log(point->y)) > fabs(log(ratios->farthest)))
    {
        ratios->farthest = point->y;
        ratios->most = label;
    }
}

static const char *title_of(IfmDocument *document, const Ratios *ratios, const char *what)
{
    return ifm_document_take_text(document, ifm_run_ratios_title(what, ratios->n, ratios->n_known, ratios->n_longer,
                                                                 ratios->n_shorter, ratios->most, ratios->farthest));
}

/* Returns: of a point without a label; y is NaN where one of the two is not known */
static IfmPoint ratio_of(const IfmRunFigure *one)
{
    IfmPoint point = IFM_POINT_INIT;
    point.y = one->predicted > 0 && one->measured > 0 ? one->measured / one->predicted : (double)NAN;
    point.lower = one->interval.lower / one->predicted;
    point.upper = one->interval.upper / one->predicted;
    return point;
}

/* Measured over predicted, of every figure that has both: differences are seen whatever the figures' sizes and units. */
static void add_ratios(IfmDocument *document, const GPtrArray *figures, const char *key)
{
    g_autofree char *own = g_strconcat(key, "_ratios", NULL);
    const char *name = "";
    Ratios ratios = { .farthest = 1 };
    IfmBlock *block =
        ifm_document_page_figure(document, own, IFM_FIGURE_STRIPS, "",
                                 "Measured over predicted; bars: 95 % intervals of what was measured, over "
                                 "repetitions or batches. An interval that leaves the axis ends in an arrow. The title "
                                 "counts no figure that another holds: throughput, parts of a block.");
    block->figure.y = ifm_axis_of_ratio("times the prediction", TRUE, "as predicted");
    IfmSeries *series = ifm_document_series(document, block, NULL, NULL);
    for (guint i = 0; i < figures->len; i++)
    {
        const IfmRunFigure *one = figures->pdata[i];
        const gboolean is_part = g_str_has_prefix(one->key, "  ");
        name = is_part ? name : one->key;
        g_autofree char *label = is_part ? g_strdup_printf("%s: %s", name, one->key + 2) : g_strdup(one->key);
        IfmPoint point = ratio_of(one);
        if (isnan(point.y))
            continue;
        point.label = ifm_document_keep_text(document, label);
        ifm_document_point(document, series, &point);
        if (ifm_run_is_independent(one->key))
            count_ratio(&ratios, &point, point.label);
    }
    block->figure.title = title_of(document, &ratios, "figures");
}

char *ifm_run_prediction_answer(const IfmRunFigure *figure)
{
    const IfmPoint ratio = ratio_of(figure);
    g_autofree char *times = ifm_say_number(ratio.y), *range = ifm_say_numbers(ratio.lower, ratio.upper);
    if (isnan(ratio.y))
        return NULL;
    if (isnan(ratio.lower) || isnan(ratio.upper))
        return g_strdup_printf("The %s was %s times the predicted one, without an interval.", figure->key, times);
    return g_strdup_printf("The %s was %s times the predicted one (95 %% interval %s)%s.", figure->key, times, range,
                           ratio.lower <= 1 && 1 <= ratio.upper ? ": not told apart from it" : "");
}

/* @key: of the table of its figures    @said: as add_warnings() has it */
static void add_run(IfmDocument *document, const IfmRunReport *report, const char *key, GPtrArray *said)
{
    const char *reason = ifm_run_reason(report);
    g_autofree char *called = ifm_run_called(report);
    ifm_document_title(document, called, NULL);
    if (reason != NULL && said != NULL) /* else the verdict says so */
        ifm_document_note(document, "failed", IFM_TONE_BAD, "%s", reason);
    if (!ifm_run_has_figures(report))
        return;
    GPtrArray *figures = ifm_run_figures(report);
    if (report->analysis != NULL && report->analysis->n_devices > 0)
    {
        g_autofree char *busy = ifm_say_per_cent(report->analysis->wall_utilisation);
        ifm_document_question(document, "Where does the time go?",
                              "Devices work %s of the last repetition's time, over all of their streams.", busy);
        ifm_document_add_utilisation(document, report->analysis);
    }
    g_autofree char *right = ifm_run_prediction_answer(figures->pdata[0]);
    ifm_document_question(document, "Was the prediction right?", right != NULL ? "%s" : NULL, right);
    ifm_document_part(document);
    add_ratios(document, figures, key);
    ifm_document_table(document, key, ifm_run_figure_fields, figures);
    const char *sure = ifm_document_checks_answer(document);
    ifm_document_question(document, "How sure?", sure != NULL ? "%s" : NULL, sure);
    add_bound(document, report);
    add_device_time(document, report);
    add_replans(document, report);
    add_stop(document, report);
    add_warnings(document, report, said);
    const IfmRunFigure *makespan = figures->pdata[0];
    g_autofree char *tried =
        pilot_text(report->prediction, ifm_run_is_replanned(report) ? (double)NAN : makespan->measured);
    ifm_document_closed(document, "How the plan came about");
    if (report->origin != NULL)
        ifm_document_fact(document, "plan", "%s", report->origin);
    if (tried != NULL)
        ifm_document_fact(document, "pilot", "%s", tried);
}

static void add_all(IfmDocument *document, const IfmRunReport *reports, gsize n)
{
    static const char *const run[] = { "run", NULL }, *const times[] = { "predicted_ns", "measured_ns", NULL };
    GArray *lines = g_array_new(FALSE, FALSE, sizeof(RunLine));
    Ratios ratios = { .farthest = 1 };
    for (gsize i = 0; i < n; i++)
    {
        const GPtrArray *figures =
            ifm_document_keep(document, ifm_run_figures(&reports[i]), (GDestroyNotify)g_ptr_array_unref);
        RunLine line = { &reports[i], figures->pdata[0], figures->pdata[1] };
        g_array_append_val(lines, line);
        const IfmPoint point = ratio_of(line.makespan);
        if (!isnan(point.y))
            count_ratio(&ratios, &point, reports[i].title);
    }
    ifm_document_heading(document, "Predicted and measured");
    const IfmTable *table = &ifm_document_rows(document, "runs", line_fields, lines)->table;
    ifm_document_plot(document, "makespans", IFM_FIGURE_BARS, title_of(document, &ratios, "makespans"),
                      "What each run was predicted to take, and what it took.", table,
                      &(IfmPlotColumns){ .label = run, .y = times });
}

IfmDocument *ifm_run_document(const IfmRunReport *reports, gsize n)
{
    IfmDocument *document = ifm_document_new("run", n > 0 ? reports[0].title : NULL);
    g_autoptr(GPtrArray) said = ifm_said_new();
    for (gsize i = 0; i < n; i++)
    {
        g_autofree char *key = n > 1 ? g_strdup_printf("figures_%zu", i + 1) : g_strdup("figures");
        add_run(document, &reports[i], key, n > 1 ? said : NULL);
    }
    if (n > 1)
        add_all(document, reports, n);
    ifm_document_warnings(document, said, (guint)n);
    ifm_run_add_headline(document, reports, n);
    return document;
}
