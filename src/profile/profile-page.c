#include <math.h>
#include <string.h>

#include <base/fields.h>
#include <base/statistics.h>
#include <sensor/sensor.h>

#include "figures.h"
#include <document/summary.h>

#include <document/words.h>

#include "profile-findings.h"
#include "profile-page-private.h"

/* A profile as a document: the model, its devices, reasons and warnings; what follows stands in files of
 * its own. */

/* --- the head --------------------------------------------------------------------------------------------------------- */

/* Of a graph transformer without the graph, which has a line of its own: "gps" of "gps on peptides". (transfer full) */
static char *head_name(const IfmProfileReport *report, const char *name)
{
    g_autofree char *on = report->graph != NULL ? g_strconcat(" on ", report->graph->graph->name, NULL) : NULL;
    const char *graph = on != NULL ? strstr(name, on) : NULL;
    return graph == NULL ? g_strdup(name) : g_strdup_printf("%.*s%s", (int)(graph - name), name, graph + strlen(on));
}

char *ifm_profile_called(const IfmProfileReport *report)
{
    const IfmCase *subject_case = NULL;
    for (gsize i = 0; i < report->n_devices && subject_case == NULL; i++)
        subject_case = report->devices[i].result.subject_case;
    const char *name = subject_case != NULL    ? subject_case->subject_name
                       : report->graph != NULL ? report->graph->title
                       : report->model != NULL ? ifm_model_name(report->model)
                                               : NULL,
               *size;
    if (name == NULL)
        return NULL;
    g_autofree char *called = head_name(report, name);
    GString *text = g_string_new(called);
    const char *dtype = subject_case != NULL ? ifm_member_text(subject_case->options, "dtype") : NULL;
    json_t *value;
    if (dtype != NULL)
        g_string_append_printf(text, " · %s", dtype);
    if (subject_case != NULL && report->graph == NULL)
        json_object_foreach(subject_case->sizes, size, value)
            g_string_append_printf(text, " · %s=%" JSON_INTEGER_FORMAT, size, json_integer_value(value));
    for (gsize i = 0; i < report->n_bindings && subject_case == NULL; i++)
        g_string_append_printf(text, " · %s=%" G_GINT64_FORMAT, report->bindings[i].name, report->bindings[i].value);
    return g_string_free(text, FALSE);
}

/* --- the devices ----------------------------------------------------------------------------------------------------- */

/* Shown: a device with what follows from its time and the model's work. What reads an IfmResult reads this. */
typedef struct
{
    IfmResult result;
    IfmRoundsOfOne of;
    double per_s, flop_per_s, attained; /* NaN: not known */
    IfmModelEnergy energy;
} Shown;

#define SHOWN(member) IFM_MEMBER(Shown, member)
#define HIDE (IFM_FIELD_HIDE_EMPTY | IFM_FIELD_DETAIL)

static const IfmField shown_fields[] = {
    { "per_s", "per second", IFM_FIELD_REAL, SHOWN(per_s), HIDE },
    { "gflop_per_s", "GFLOP/s", IFM_FIELD_REAL, SHOWN(flop_per_s), HIDE },
    { "attained_ratio", "of peak", IFM_FIELD_RATIO, SHOWN(attained), HIDE },
    { "energy_j", "J", IFM_FIELD_REAL, SHOWN(energy.gross_j), HIDE },
    { "energy_lower_j", "", IFM_FIELD_REAL, SHOWN(energy.gross_lower_j), IFM_FIELD_NO_SCREEN },
    { "energy_upper_j", "", IFM_FIELD_REAL, SHOWN(energy.gross_upper_j), IFM_FIELD_NO_SCREEN },
    { "net_j", "J above idle", IFM_FIELD_REAL, SHOWN(energy.net_j), HIDE },
    { "power_w", "W", IFM_FIELD_REAL, SHOWN(energy.power_w), HIDE },
};

static void get_processes(const void *record, const void *user, IfmValue *value)
{
    const IfmRoundsOfOne *of = &((const Shown *)record)->of;
    ifm_value_set_interval(value, of->least_ns, of->interval.lower, of->median_ns, of->interval.upper, of->most_ns);
}

static void get_half_width(const void *record, const void *user, IfmValue *value)
{
    const IfmRoundsOfOne *of = &((const Shown *)record)->of;
    ifm_value_set_real(value, (of->interval.upper - of->interval.lower) / 2 / of->median_ns);
}

/* Of the rounds. */
static const IfmField rounds_fields[] = {
    { "rounds_median_ns", "median", IFM_FIELD_DURATION, SHOWN(of.median_ns) },
    { "rounds_strip", "range, 95 % interval", IFM_FIELD_INTERVAL, get_processes, NULL, IFM_FIELD_NO_EXPORT },
    { "rounds_lower_ns", NULL, IFM_FIELD_DURATION, SHOWN(of.interval.lower), IFM_FIELD_NO_SCREEN },
    { "rounds_upper_ns", NULL, IFM_FIELD_DURATION, SHOWN(of.interval.upper), IFM_FIELD_NO_SCREEN },
    { "rounds_half_width_ratio", "±", IFM_FIELD_PRECISION, get_half_width },
};

/* Of the usual columns those that are of the first process where there were rounds, in the block behind these. */
static const char *const of_first[][2] = { { "median_ns", "first process" },
                                           { "n", "its runs" },
                                           { "ending", "stop reason" } };

static gboolean is_of_first(const IfmField *field)
{
    for (gsize i = 0; i < G_N_ELEMENTS(of_first); i++)
        if (g_str_equal(field->key, of_first[i][0]))
            return TRUE;
    return FALSE;
}

static void append_of_first(GArray *fields)
{
    for (gsize i = 0; i < G_N_ELEMENTS(of_first); i++)
        for (const IfmField *field = ifm_result_fields; field->key != NULL; field++)
            if (g_str_equal(field->key, of_first[i][0]))
            {
                IfmField one = *field;
                one.title = of_first[i][1];
                one.flags |= IFM_FIELD_DETAIL | (i == 0 ? IFM_FIELD_BREAK : 0);
                g_array_append_val(fields, one);
            }
}

/* The columns of results, with these before those that a narrow screen takes to a further block. */
static GArray *device_fields(gboolean has_rounds)
{
    GArray *fields = g_array_new(TRUE, TRUE, sizeof(IfmField));
    for (const IfmField *field = ifm_result_fields; field->key != NULL; field++)
    {
        IfmField one = *field;
        if ((field->flags & IFM_FIELD_BREAK) != 0)
            g_array_append_vals(fields, shown_fields, G_N_ELEMENTS(shown_fields));
        if ((field->flags & IFM_FIELD_BREAK) != 0 && has_rounds)
            append_of_first(fields);
        if (g_str_equal(field->key, "median_ns") && has_rounds)
            g_array_append_vals(fields, rounds_fields, G_N_ELEMENTS(rounds_fields));
        if (g_str_equal(field->key, "n_outliers") || /* the width is better spent: exports have it */
            (has_rounds && (is_of_first(field) || g_str_equal(field->key, "strip"))))
            continue;
        if (has_rounds)
            one.flags =
                (one.flags & ~IFM_FIELD_BREAK) | (g_str_equal(field->key, "half_width_ratio") ? IFM_FIELD_NO_SCREEN : 0);
        g_array_append_val(fields, one);
    }
    return fields;
}

static double flop_of(const IfmProfileReport *report)
{
    IfmNodeCost total = { 0 };
    gsize n_covered;
    if (report->analysis == NULL || (report->parts & IFM_PROFILE_FLOPS) == 0)
        return NAN;
    ifm_analysis_total(report->analysis, &total, &n_covered);
    /* a rate of a part would mislead, and so would one of an upper bound */
    return ifm_cost_is_exact(&total) && total.flop > 0 ? (double)total.flop : (double)NAN;
}

static gboolean has_rounds(const IfmProfileReport *report)
{
    gsize n = 0;
    for (gsize i = 0; i < report->n_devices; i++)
    {
        IfmRoundsOfOne of;
        ifm_profile_time(report, &report->devices[i], &of);
        n += of.n;
    }
    return n > 0;
}

/* Of each device the median over its processes where there were rounds, else of its runs, and all that was between. */
static void add_strips(IfmDocument *document, const IfmProfileReport *report, const char *title)
{
    double medians_ns[2] = { NAN, NAN }, scatter_ns = NAN; /* of the two of least median */
    IfmBlock *figure = ifm_document_page_figure(
        document, "times", IFM_FIGURE_STRIPS, title,
        has_rounds(report)
            ? "Mark: the median of the processes' medians; bracket: all of them, where they are enough for 95 %. "
              "Thin line: all runs of the first process; an arrow: it goes on."
            : "Mark: the median of the runs; bracket: its 95 % interval. Thin line: all runs; an arrow: it goes on.");
    figure->figure.half = TRUE;
    figure->figure.y.title = "time of an inference";
    for (gsize i = 0; i < report->n_devices; i++)
    {
        const IfmMeasurement *measurement = ifm_result_measured(&report->devices[i].result);
        IfmPoint point = IFM_POINT_INIT;
        IfmRoundsOfOne of;
        if (measurement == NULL)
            continue;
        ifm_profile_time(report, &report->devices[i], &of);
        point.label = ifm_result_name(&report->devices[i].result);
        point.y = of.median_ns;
        point.lower = of.interval.lower;
        point.upper = of.interval.upper;
        point.min = measurement->summary.min;
        point.max = measurement->summary.max;
        if (of.n > 0)
            scatter_ns = fmax(scatter_ns, of.most_ns - of.least_ns);
        if (!(point.y >= medians_ns[0]))
        {
            medians_ns[1] = medians_ns[0];
            medians_ns[0] = point.y;
        }
        else if (!(point.y >= medians_ns[1]))
            medians_ns[1] = point.y;
        ifm_document_point(document, ifm_document_series(document, figure, point.label, NULL), &point);
    }
    g_autofree char *apart = ifm_finding_apart(medians_ns[1] - medians_ns[0], scatter_ns, ifm_profile_rounds(report));
    if (isfinite(medians_ns[1]))
        figure->figure.title = ifm_document_keep_text(document, apart);
}

/* Why there is no energy, or what is wrong with it. */
static void add_energy(IfmDocument *document, const IfmProfileReport *report)
{
    for (gsize i = 0; i < report->n_devices; i++)
    {
        const IfmResult *result = &report->devices[i].result;
        const char *name = ifm_result_name(result);
        IfmModelEnergy energy;
        if (!ifm_model_energy(ifm_result_measured(result), &energy))
            continue;
        if (energy.unavailable != NULL)
            ifm_document_note(document, name, IFM_TONE_WARN, "no energy from %s: %s", energy.source, energy.unavailable);
        else
            ifm_document_note(document, name, IFM_TONE_PLAIN,
                              "energy from %s: %.3g J a run (95 %% %.3g to %.3g), mean power %.3g W, %.3g W while "
                              "nothing ran; reading it took %.2g %% of a processor",
                              energy.source, energy.gross_j, energy.gross_lower_j, energy.gross_upper_j, energy.power_w,
                              energy.idle_w, 100 * energy.sampler_ratio);
        if (energy.too_short)
            ifm_document_note(document, name, IFM_TONE_WARN, "the window held fewer than %d updates of a counter",
                              IFM_ENERGY_MIN_UPDATES);
        if (energy.disagrees)
            ifm_document_note(document, name, IFM_TONE_WARN, "the energy counter and the sampled power lie apart");
    }
}

/* The first inference after the compile; of a case whose configuration was known, the first of the warm-up. NaN: unknown */
static double first_inference(const IfmMeasurement *measurement)
{
    double first_ns = ifm_member_number(measurement->environment, "first_inference_ns");
    const GArray *warmup = measurement->warmup_ns;
    return isnan(first_ns) && warmup->len > 0 ? (double)g_array_index(warmup, gint64, 0) : first_ns;
}

/* Appends ", WORD TIME" where the time is known. */
static void add_time(GString *line, const char *word, double ns)
{
    g_autofree char *time = isfinite(ns) ? ifm_joined_duration(ns) : NULL;
    if (time != NULL)
        g_string_append_printf(line, "%s%s %s", line->len > 0 ? ", " : "", word, time);
}

/* Appends ", peak memory 143 MiB compiling, 65.3 MiB running": what the table of memory has of the process. */
static void add_growths(GString *line, const json_t *memory)
{
    static const struct
    {
        const char *path, *when;
    } figures[] = { { "process.growth_compile_bytes", "compiling" }, { "process.growth_runs_bytes", "running" } };
    const char *before = "peak memory ";
    for (gsize i = 0; i < G_N_ELEMENTS(figures); i++)
    {
        const double bytes = ifm_member_number(memory, figures[i].path);
        g_autofree char *size = isfinite(bytes) ? ifm_format_bytes(bytes) : NULL;
        if (size == NULL)
            continue;
        g_string_append_printf(line, "%s%s%s %s", line->len > 0 ? ", " : "", before, size, figures[i].when);
        before = "";
    }
}

#define SLOW_FIRST 2 /* times the median: a first inference that is worth a remark */

/* What it costs before it is warm: the compile, the first inference; and by how much its process grew at most. */
static void add_starts(IfmDocument *document, const IfmProfileReport *report)
{
    for (gsize i = 0; i < report->n_devices; i++)
    {
        const IfmMeasurement *measurement = ifm_result_measured(&report->devices[i].result);
        g_autoptr(GString) line = g_string_new(NULL);
        if (measurement == NULL)
            continue;
        const json_t *cached = ifm_member(measurement->environment, "compile.from_cache");
        const double first_ns = first_inference(measurement), more = first_ns / measurement->summary.median;
        add_time(line, "compile", ifm_member_number(measurement->environment, "compile.time_ns"));
        if (json_is_boolean(cached))
            g_string_append(line, json_is_true(cached) ? " (from the cache)" : " (written to the cache)");
        add_time(line, "first inference", first_ns);
        if (more >= SLOW_FIRST)
            g_string_append_printf(line, " (%.3g times the median)", more);
        add_growths(line, measurement->memory);
        if (line->len > 0)
            ifm_document_note(document, ifm_result_name(&report->devices[i].result), IFM_TONE_PLAIN, "%s", line->str);
    }
}

/* What the rounds, or the one device's interval, come to. (transfer full) */
static char *finding_of(const IfmProfileReport *report)
{
    g_autofree const char **names = g_new0(const char *, report->n_devices + 1);
    double half_width = NAN;
    gsize n = 0;
    for (gsize i = 0; i < report->n_devices; i++)
    {
        IfmRoundsOfOne of;
        if (ifm_result_measured(&report->devices[i].result) == NULL)
            continue;
        ifm_profile_time(report, &report->devices[i], &of);
        names[n++] = ifm_result_name(&report->devices[i].result);
        half_width = (of.interval.upper - of.interval.lower) / 2 / of.median_ns;
    }
    return n > 0 ? ifm_finding_times(names, n, ifm_profile_rounds(report), half_width) : NULL;
}

/* Of one device how long it takes, of several which is the fastest. @finding: what finding_of() said, or NULL
 * (transfer full) */
static char *answer_of(const IfmProfileReport *report, const char *finding)
{
    IfmRoundsOfOne of;
    if (finding == NULL)
        return g_strdup("No device gave a latency.");
    if (report->n_devices > 1)
        return g_strconcat(finding, ".", NULL);
    ifm_profile_time(report, &report->devices[0], &of);
    g_autofree char *median = ifm_say_duration(of.median_ns);
    return of.n > 0 ? g_strdup_printf("The median of %zu process%s is %s.", of.n, of.n == 1 ? "" : "es", median)
                    : g_strdup_printf("Half of the runs took at most %s.", median);
}

static void add_devices(const IfmProfilePage *page)
{
    const IfmProfileReport *report = page->report;
    g_autofree char *title = finding_of(report), *answer = answer_of(report, title);
    GArray *fields = ifm_document_keep(page->document, device_fields(has_rounds(report)), (GDestroyNotify)g_array_unref);
    GArray *rows = g_array_new(FALSE, FALSE, sizeof(Shown));
    double flop = flop_of(report);
    for (gsize i = 0; i < report->n_devices; i++)
    {
        Shown shown = { .result = report->devices[i].result };
        ifm_profile_time(report, &report->devices[i], &shown.of);
        shown.per_s = 1e9 / shown.of.median_ns;
        shown.flop_per_s = flop / shown.of.median_ns;
        shown.attained = ifm_profile_attained(page->kernels[i], shown.of.median_ns);
        ifm_model_energy(report->devices[i].result.measurement, &shown.energy);
        g_array_append_val(rows, shown);
    }
    ifm_document_question(page->document, report->n_devices > 1 ? "Which device?" : "How long does it take?", "%s", answer);
    ifm_document_detail(page->document, 0, "statistics of the runs");
    ifm_document_rows(page->document, "devices", ifm_fields_in(fields), rows);
    ifm_document_detail(page->document, IFM_DETAIL_STARTS, "compile, first inference and peak memory");
    if (has_rounds(report))
        ifm_document_text(page->document,
                          "median, interval and rates are of the rounds of processes; all other times are of "
                          "each device's first process");
    add_starts(page->document, report);
    ifm_document_detail(page->document, IFM_DETAIL_STARTS, "energy");
    add_energy(page->document, report);
    add_strips(page->document, report, title);
    ifm_profile_add_runs(page->document, report);
    ifm_document_detail(page->document, 0, NULL);
}

/* --- reasons and warnings --------------------------------------------------------------------------------------------- */

/* A warning that all devices share is shown without their names. */
static void add_warnings(IfmDocument *document, const GArray *results)
{
    g_autoptr(GPtrArray) said = ifm_said_new();
    for (guint i = 0; i < results->len; i++)
    {
        const IfmResult *result = &g_array_index(results, IfmResult, i);
        ifm_said_add_warnings(said, result->measurement, ifm_result_name(result), result);
    }
    ifm_document_warnings(document, said, results->len > 1 ? results->len : G_MAXUINT);
}

/* Results of a mode's other passes, each under the name of its device and pass; what was seen while computing a positional
 * encoding, under the encoding's. */
static void add_other_results(IfmDocument *document, GArray *results, const IfmProfileReport *report)
{
    const IfmProfileGraph *of = report->graph;
    for (int kind = 0; report->mode != NULL && kind < IFM_N_PASSES; kind++)
    {
        const IfmProfileReport *pass = kind != (int)report->mode->asked ? report->mode->passes[kind] : NULL;
        for (gsize i = 0; pass != NULL && i < pass->n_devices; i++)
        {
            IfmResult result = pass->devices[i].result;
            result.alias = ifm_document_take_text(
                document, g_strdup_printf("%s (%s)", ifm_result_name(&result), ifm_pass_words(kind)));
            g_array_append_val(results, result);
        }
    }
    if (of == NULL || of->encoding_cost == NULL || (report->parts & IFM_PROFILE_PE) == 0)
        return;
    const char *kept = ifm_document_take_text(document, g_strdup_printf("encoding %s", of->encoding_name));
    IfmResult result = {
        .device = kept, .alias = kept, .subject_case = of->encoding_case, .measurement = of->encoding_cost
    };
    g_array_append_val(results, result);
}

/* --- all of it -------------------------------------------------------------------------------------------------------- */

const char *ifm_profile_key(const IfmProfilePage *page, const char *word, gsize device)
{
    return ifm_document_take_text(page->document, g_strdup_printf("%s-%zu", word, device + 1));
}

static GArray *results_of(const IfmProfileReport *report)
{
    GArray *results = g_array_new(FALSE, FALSE, sizeof(IfmResult));
    for (gsize i = 0; i < report->n_devices; i++)
        g_array_append_val(results, report->devices[i].result);
    return results;
}

static void add_details(const IfmProfilePage *page)
{
    IfmDocument *document = page->document;
    const IfmProfileReport *report = page->report;
    ifm_document_detail(document, 0, NULL);
    ifm_document_question(document, "Details", "%s", "The model, and every kernel as the runtimes report it.");
    ifm_document_closed(document, "The model and its work");
    ifm_profile_add_model(document, report);
    ifm_document_detail(document, IFM_DETAIL_GRAPH, "graph");
    ifm_profile_add_graph(document, report);
    ifm_document_detail(document, 0, NULL);
    ifm_profile_add_work(page);
    ifm_document_detail(document, IFM_DETAIL_ENCODING, "encoding");
    ifm_profile_add_encoding(document, report);
    ifm_document_detail(document, IFM_DETAIL_KERNELS, "algorithms of the convolutions");
    for (gsize i = 0; i < report->n_devices; i++)
        ifm_profile_add_convolutions(page, i);
    for (gsize i = 0; i < report->n_devices; i++)
        ifm_profile_add_inside(page, i);
}

IfmDocument *ifm_profile_document(const IfmProfileReport *report)
{
    IfmDocument *document = ifm_document_new("profile", report->source);
    IfmKernels **kernels = ifm_document_keep(document, g_new0(IfmKernels *, report->n_devices + 1), g_free);
    const IfmProfilePage page = { document, report, kernels };
    g_autoptr(GArray) results = results_of(report);
    for (gsize i = 0; i < report->n_devices; i++)
        if ((kernels[i] = ifm_profile_kernels(report, &report->devices[i])) != NULL)
            ifm_document_keep(document, kernels[i], (GDestroyNotify)ifm_kernels_free);
    ifm_profile_add_headline(&page);
    if (report->n_devices > 0)
        add_devices(&page);
    ifm_profile_add_passes(document, report);
    ifm_profile_add_layers(&page);
    ifm_profile_add_roofs(&page);
    ifm_document_question(document, "How sure?", NULL)->answer = ifm_document_checks_answer(document);
    ifm_document_reasons(document, (const IfmResult *)(const void *)results->data, results->len);
    add_other_results(document, results, report);
    ifm_document_part(document);
    add_warnings(document, results);
    ifm_document_detail(document, IFM_DETAIL_MEMORY, "memory");
    ifm_profile_add_memory(document, report);
    ifm_profile_add_alive(document, report);
    add_details(&page);
    ifm_document_detail(document, 0, NULL);
    return document;
}

char *ifm_profile_to_csv(const IfmProfileReport *report)
{
    g_autoptr(GArray) results = results_of(report);
    if (report->n_devices == 0 && report->analysis != NULL &&
        (report->parts & (IFM_PROFILE_FLOPS | IFM_PROFILE_MEMORY)) != 0)
        return ifm_profile_nodes_csv(report);
    if (report->mode != NULL && report->parts != IFM_PROFILE_LAYERS)
        return ifm_profile_passes_csv(report);
    return report->parts == IFM_PROFILE_LAYERS
               ? ifm_profile_layers_csv(report)
               : ifm_results_to_csv((const IfmResult *)(const void *)results->data, results->len);
}
