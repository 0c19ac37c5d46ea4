#include <math.h>

#include <base/fields.h>
#include <measure/kinds.h>
#include <measure/measure.h>
#include <pipeline/pipeline.h>
#include <run/run.h>
#include <store/store.h>

#include "report-private.h"

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
    return g_strdup_printf("tried in %" G_GSIZE_FORMAT
                           " short run%s before the prediction; by the study alone %s would take "
                           "%s%s",
                           n, n == 1 ? "" : "s", text, reported, missed);
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
        g_string_append_printf(out, "%s%s %.4g/s", out->len > 0 ? ", " : "", alias, json_number_value(rate));
    return g_string_free(out, FALSE);
}

/* What a plan makes over what its devices make on whole batches of their own: what is above that surely is no bound of this
 * plan, since its blocks may give each device what it is best at. (transfer full) */
static char *attained_text(const IfmRunVerdict *verdict)
{
    g_autofree char *ratio = ifm_format_ratio(verdict->attained_ratio),
                    *above = ifm_format_ratio(verdict->attained_ratio - 1),
                    *lower = ifm_format_ratio(verdict->attained.lower), *upper = ifm_format_ratio(verdict->attained.upper);
    if (verdict->attained.lower > 1)
        return g_strdup_printf("%s above the bound (%s to %s of it): its devices do better in turn than each on whole "
                               "batches",
                               above, lower, upper);
    if (!isfinite(verdict->attained.upper))
        return g_strdup_printf("%s of the bound", ratio);
    return g_strdup_printf("%s of the bound (%s to %s)%s", ratio, lower, upper,
                           verdict->attained.upper >= 1 ? ", not told apart from it" : "");
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
    const char *status, *words, *word;
    IfmTone tone;
} outputs[] = {
    { "passed", "equal the reference's", "equal", IFM_TONE_GOOD },
    { "failed", "differ from the reference's", "differ", IFM_TONE_BAD },
    { "undetermined", "cannot be told right from wrong on these inputs", "undetermined", IFM_TONE_WARN },
    { "not-applicable", "not compared: simulated devices compute nothing", "simulated", IFM_TONE_WARN },
    { NULL, "not compared", NULL, IFM_TONE_WARN },
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
    g_autofree char *when = n > 0 ? g_strdup_printf("%" G_GSIZE_FORMAT " time%s", n, n == 1 ? "" : "s")
                                  : g_strdup("while warming up"),
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

/* --- the verdict ------------------------------------------------------------------------------------------------------ */

/* Whether the makespan lies in the prediction's own interval, and which that is. */
static void append_own_interval(GString *text, const IfmRunVerdict *verdict)
{
    if (!isfinite(verdict->upper_ns))
    {
        g_string_append(text, ", whose own interval is not known");
        return;
    }
    g_autofree char *lower = ifm_format_duration(fmax(0, verdict->lower_ns)),
                    *upper = ifm_format_duration(verdict->upper_ns);
    if (g_str_equal(lower, upper))
        g_string_append_printf(text, "; the prediction's own interval is narrower than its digits");
    else if (verdict->upper_ns - verdict->lower_ns > (verdict->upper_ns + verdict->lower_ns) / 2)
        g_string_append_printf(text, ", whose own interval, %s to %s, is too wide to test it", lower, upper);
    else
        g_string_append_printf(text, ", %s the predicted %s to %s", verdict->within ? "within" : "outside", lower, upper);
}

/* In one line what it came to. */
static void add_verdict(IfmDocument *document, const IfmRunReport *report, const GPtrArray *figures)
{
    const IfmRunVerdict verdict = ifm_run_judge(report, figures->pdata[0]);
    g_autoptr(GString) text = g_string_new(NULL);
    const gsize at = outputs_of(report);
    IfmTone tone = outputs[at].tone;
    gboolean compared = isfinite(verdict.difference_ratio);
    g_autofree char *by = ifm_format_ratio(fabs(verdict.difference_ratio)),
                    *moved = ifm_format_ratio(fabs(verdict.bound_ratio - 1)), *attained = attained_text(&verdict);
    if (compared)
    {
        g_string_append_printf(text, "the makespan was %s %s than predicted", by,
                               verdict.difference_ratio < 0 ? "shorter" : "longer");
        append_own_interval(text, &verdict);
    }
    else
        g_string_append(text, ifm_run_is_replanned(report) ? "what was predicted is of another plan than ran"
                                                           : "nothing was predicted");
    if (verdict.machine_moved)
        g_string_append_printf(text,
                               "; the machine, not the plan: the bound moved alike, its devices made %s %s than predicted",
                               moved, verdict.bound_ratio < 1 ? "less" : "more");
    if (isfinite(verdict.attained_ratio))
        g_string_append_printf(text, "; %s", attained);
    if (verdict.faster_alone != NULL)
        g_string_append_printf(text, "; %s alone made %.4g/s: more than this plan in this run", verdict.faster_alone,
                               verdict.faster_alone_per_s);
    g_string_append_printf(text, "; outputs %s", outputs[at].words);
    if (tone != IFM_TONE_BAD && (verdict.faster_alone != NULL || (compared && !verdict.close)))
        tone = IFM_TONE_WARN;
    ifm_document_note(document, "verdict", tone, "%s", text->str);
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
    { "off", "off by", IFM_FIELD_TEXT, get_off },
    { "throughput_per_s", "batches/s", IFM_FIELD_REAL, IFM_MEMBER_VIA(RunLine, throughput, measured) },
    { "attained", "of bound", IFM_FIELD_RATIO, get_attained, .flags = IFM_FIELD_HIDE_EMPTY },
    { "outputs", "outputs", IFM_FIELD_TEXT, get_outputs, .flags = IFM_FIELD_HIDE_EMPTY },
    { NULL },
};

/* --- the document ----------------------------------------------------------------------------------------------------- */

static void add_title(IfmDocument *document, const IfmRunReport *report)
{
    g_autofree char *plan = report->plan != NULL ? ifm_plan_to_text(report->plan) : NULL;
    IfmPlanRunResult result;
    ifm_plan_run_result(report->measurement, &result);
    double n = ifm_member_number(json_array_get(result.repetitions, 0), "n_batches");
    g_autoptr(GString) rest = g_string_new(NULL);
    if (isfinite(n))
        g_string_append_printf(rest, ", %.0f batches, %" G_GSIZE_FORMAT " time%s", n, result.n_repetitions,
                               result.n_repetitions == 1 ? "" : "s");
    const char *ran = ifm_run_is_replanned(report)
                          ? ifm_member_text(json_array_get(result.repetitions, result.n_repetitions - 1), "plan")
                          : NULL;
    if (plan != NULL)
        g_string_append_printf(rest, ": %s", plan);
    if (ran != NULL)
        g_string_append_printf(rest, "; ran in the end: %s", ran);
    ifm_document_title(document, report->title, rest->str);
}

/* The times among the figures: the others have other units. */
static void add_times(IfmDocument *document, const GPtrArray *figures, const char *key)
{
    static const char *const figure[] = { "figure", NULL }, *const times[] = { "predicted", "measured", NULL };
    static const IfmField fields[] = {
        { "figure", NULL, IFM_FIELD_TEXT, ifm_field_get_text, IFM_FIELD_AT(IfmRunFigure, key) },
        { "predicted", "predicted", IFM_FIELD_DURATION, ifm_field_get_real, IFM_FIELD_AT(IfmRunFigure, predicted) },
        { "measured", "measured", IFM_FIELD_DURATION, ifm_field_get_real, IFM_FIELD_AT(IfmRunFigure, measured) },
        { NULL },
    };
    g_autoptr(GPtrArray) shown = g_ptr_array_new_with_free_func(g_free), names = g_ptr_array_new_with_free_func(g_free);
    g_autofree char *own = g_strconcat(key, "_times", NULL);
    const char *block = "";
    for (guint i = 1; i < figures->len; i++) /* the first is the makespan, far longer than all others */
    {
        const IfmRunFigure *one = figures->pdata[i];
        gboolean is_part = g_str_has_prefix(one->key, "  ");
        block = is_part ? block : one->key;
        if (!g_str_equal(one->unit, "ns"))
            continue;
        IfmRunFigure *copy = g_memdup2(one, sizeof *one);
        copy->key = is_part ? g_strdup_printf("%s: %s", block, one->key + 2) : g_strdup(one->key);
        g_ptr_array_add(names, copy->key);
        g_ptr_array_add(shown, copy);
    }
    ifm_document_plot(document, own, IFM_FIGURE_BARS, "Times of a batch, predicted and measured",
                      "Each predicted time next to the measured one; the makespan is in the table.",
                      &(IfmTable){ fields, (const void *const *)shown->pdata, shown->len },
                      &(IfmPlotColumns){ .label = figure, .y = times });
}

/* @key: of the table of its figures    @said: as add_warnings() has it */
static void add_run(IfmDocument *document, const IfmRunReport *report, const char *key, GPtrArray *said)
{
    const char *reason = ifm_run_reason(report);
    add_title(document, report);
    if (reason != NULL)
        ifm_document_note(document, "failed", IFM_TONE_BAD, "%s", reason);
    if (!ifm_run_has_figures(report))
        return;
    GPtrArray *figures = ifm_run_figures(report);
    ifm_document_part(document);
    ifm_document_table(document, key, ifm_run_figure_fields, figures);
    add_times(document, figures, key);
    ifm_document_part(document);
    if (report->origin != NULL)
        ifm_document_fact(document, "plan", "%s", report->origin);
    const IfmRunFigure *makespan = figures->pdata[0];
    g_autofree char *tried =
        pilot_text(report->prediction, ifm_run_is_replanned(report) ? (double)NAN : makespan->measured);
    if (tried != NULL)
        ifm_document_fact(document, "pilot", "%s", tried);
    add_bound(document, report);
    add_device_time(document, report);
    add_replans(document, report);
    add_stop(document, report);
    add_warnings(document, report, said);
    if (reason == NULL)
        add_verdict(document, report, figures);
}

static void add_all(IfmDocument *document, const IfmRunReport *reports, gsize n)
{
    static const char *const run[] = { "run", NULL }, *const times[] = { "predicted_ns", "measured_ns", NULL };
    GArray *lines = g_array_new(FALSE, FALSE, sizeof(RunLine));
    for (gsize i = 0; i < n; i++)
    {
        const GPtrArray *figures =
            ifm_document_keep(document, ifm_run_figures(&reports[i]), (GDestroyNotify)g_ptr_array_unref);
        RunLine line = { &reports[i], figures->pdata[0], figures->pdata[1] };
        g_array_append_val(lines, line);
    }
    ifm_document_heading(document, "Predicted and measured");
    const IfmTable *table = &ifm_document_rows(document, "runs", line_fields, lines)->table;
    ifm_document_plot(document, "makespans", IFM_FIGURE_BARS, "Makespans",
                      "What each run was predicted to take, and what it took.", table,
                      &(IfmPlotColumns){ .label = run, .y = times });
}

IfmDocument *ifm_run_document(const IfmRunReport *reports, gsize n)
{
    IfmDocument *document = ifm_document_new("run", n > 0 ? reports[0].title : NULL);
    g_autoptr(GPtrArray) said = ifm_said_new();
    for (gsize i = 0; i < n; i++)
    {
        g_autofree char *key = n > 1 ? g_strdup_printf("figures_%" G_GSIZE_FORMAT, i + 1) : g_strdup("figures");
        add_run(document, &reports[i], key, n > 1 ? said : NULL);
    }
    if (n > 1)
        add_all(document, reports, n);
    ifm_document_warnings(document, said, (guint)n);
    return document;
}
