#include <base/fields.h>
#include <math.h>
#include <profile/figures.h>
#include <sensor/sensor.h>
#include <string.h>

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

/* What it is called, in which precision and sizes. */
static void add_head(IfmDocument *document, const IfmProfileReport *report)
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
        return;
    g_autoptr(GString) rest = g_string_new(NULL);
    g_autofree char *called = head_name(report, name);
    const char *dtype = subject_case != NULL ? ifm_member_text(subject_case->options, "dtype") : NULL;
    json_t *value;
    if (dtype != NULL)
        g_string_append_printf(rest, "  %s", dtype);
    if (subject_case != NULL && report->graph == NULL)
        json_object_foreach(subject_case->sizes, size, value)
            g_string_append_printf(rest, "  %s=%" JSON_INTEGER_FORMAT, size, json_integer_value(value));
    for (gsize i = 0; i < report->n_bindings && subject_case == NULL; i++)
        g_string_append_printf(rest, "  %s=%" G_GINT64_FORMAT, report->bindings[i].name, report->bindings[i].value);
    ifm_document_title(document, called, rest->str);
}

/* --- the devices ----------------------------------------------------------------------------------------------------- */

/* Shown: a device with what follows from its time and the model's work. What reads an IfmResult reads this. */
typedef struct
{
    IfmResult result;
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

/* The columns of results, with these before those that a narrow screen takes to a further block. */
static GArray *device_fields(void)
{
    GArray *fields = g_array_new(TRUE, TRUE, sizeof(IfmField));
    for (const IfmField *field = ifm_result_fields; field->key != NULL; field++)
    {
        if ((field->flags & IFM_FIELD_BREAK) != 0)
            g_array_append_vals(fields, shown_fields, G_N_ELEMENTS(shown_fields));
        if (!g_str_equal(field->key, "n_outliers")) /* the width is better spent: exports have it */
            g_array_append_vals(fields, field, 1);
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

/* Each device's median, its interval, and all that was between. */
static void add_strips(IfmDocument *document, const IfmProfileReport *report)
{
    IfmBlock *figure = ifm_document_page_figure(document, "times", IFM_FIGURE_STRIPS, "Time of an inference",
                                                "How long an inference takes on each device, and how sure that is.");
    IfmSeries *series = ifm_document_series(document, figure, NULL, NULL);
    for (gsize i = 0; i < report->n_devices; i++)
    {
        const IfmMeasurement *measurement = ifm_result_measured(&report->devices[i].result);
        IfmPoint point = IFM_POINT_INIT;
        IfmTiming timing;
        if (measurement == NULL)
            continue;
        ifm_timing_of(measurement, &timing);
        point.label = ifm_result_name(&report->devices[i].result);
        point.y = timing.median_ns;
        point.lower = timing.interval.lower;
        point.upper = timing.interval.upper;
        point.min = measurement->summary.min;
        point.max = measurement->summary.max;
        ifm_document_point(document, series, &point);
    }
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
                              "energy from %s: %.4g J a run (95 %% %.4g to %.4g), mean power %.3g W, %.3g W while "
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

static void add_devices(const IfmProfilePage *page)
{
    const IfmProfileReport *report = page->report;
    GArray *fields = ifm_document_keep(page->document, device_fields(), (GDestroyNotify)g_array_unref);
    GArray *rows = g_array_new(FALSE, FALSE, sizeof(Shown));
    double flop = flop_of(report);
    for (gsize i = 0; i < report->n_devices; i++)
    {
        IfmTiming timing;
        ifm_timing_of(report->devices[i].result.measurement, &timing);
        Shown shown = { report->devices[i].result,
                        1e9 / timing.median_ns,
                        flop / timing.median_ns,
                        ifm_profile_attained(&report->devices[i], page->kernels[i]),
                        { 0 } };
        ifm_model_energy(report->devices[i].result.measurement, &shown.energy);
        g_array_append_val(rows, shown);
    }
    ifm_document_part(page->document);
    ifm_document_detail(page->document, 0, "statistics of the runs");
    ifm_document_rows(page->document, "devices", ifm_fields_in(fields), rows);
    ifm_document_detail(page->document, IFM_DETAIL_STARTS, "compile, first inference and peak memory");
    add_starts(page->document, report);
    ifm_document_detail(page->document, IFM_DETAIL_STARTS, "energy");
    add_energy(page->document, report);
    add_strips(page->document, report);
    ifm_profile_add_runs(page->document, report);
    ifm_document_detail(page->document, 0, NULL);
}

/* --- reasons and warnings --------------------------------------------------------------------------------------------- */

/* Outputs that could not be compared, though that was asked for. */
static void add_unverified(IfmDocument *document, const GArray *results)
{
    for (guint i = 0; i < results->len; i++)
    {
        const IfmResult *result = &g_array_index(results, IfmResult, i);
        const json_t *verification = result->measurement != NULL ? result->measurement->verification : NULL;
        const char *why = ifm_member_text(verification, "why");
        if (why == NULL || ifm_result_code(result) != NULL ||
            g_strcmp0(ifm_member_text(verification, "status"), "unavailable") != 0)
            continue;
        ifm_document_warning(document, "%s: the outputs were compared with nothing: %s", ifm_result_name(result), why);
    }
}

/* Outputs of which "equal" does not say all. */
static void add_agreement(IfmDocument *document, const GArray *results)
{
    for (guint i = 0; i < results->len; i++)
    {
        const IfmResult *result = &g_array_index(results, IfmResult, i);
        g_autofree char *words = result->measurement != NULL ? ifm_outputs_words(result->measurement->verification) : NULL;
        if (words == NULL || ifm_result_code(result) != NULL)
            continue;
        ifm_document_note(document, ifm_result_name(result), IFM_TONE_PLAIN, "outputs %s", words);
    }
}

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
            g_autofree char *name = g_strdup_printf("%s (%s)", ifm_result_name(&result), ifm_pass_words(kind));
            result.alias = ifm_document_keep_text(document, name);
            g_array_append_val(results, result);
        }
    }
    if (of == NULL || of->encoding_cost == NULL || (report->parts & IFM_PROFILE_PE) == 0)
        return;
    g_autofree char *name = g_strdup_printf("encoding %s", of->encoding_name);
    const char *kept = ifm_document_keep_text(document, name);
    IfmResult result = {
        .device = kept, .alias = kept, .subject_case = of->encoding_case, .measurement = of->encoding_cost
    };
    g_array_append_val(results, result);
}

/* --- all of it -------------------------------------------------------------------------------------------------------- */

const char *ifm_profile_key(const IfmProfilePage *page, const char *word, gsize device)
{
    g_autofree char *key = g_strdup_printf("%s-%" G_GSIZE_FORMAT, word, device + 1);
    return ifm_document_keep_text(page->document, key);
}

static GArray *results_of(const IfmProfileReport *report)
{
    GArray *results = g_array_new(FALSE, FALSE, sizeof(IfmResult));
    for (gsize i = 0; i < report->n_devices; i++)
        g_array_append_val(results, report->devices[i].result);
    return results;
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
    add_head(document, report);
    ifm_profile_add_headline(document, report);
    ifm_profile_add_model(document, report);
    ifm_document_detail(document, IFM_DETAIL_GRAPH, "graph");
    ifm_profile_add_graph(document, report);
    ifm_document_detail(document, 0, NULL);
    ifm_profile_add_work(&page);
    if (report->n_devices > 0)
        add_devices(&page);
    ifm_profile_add_passes(document, report);
    ifm_document_reasons(document, (const IfmResult *)(const void *)results->data, results->len);
    add_other_results(document, results, report);
    ifm_document_part(document);
    add_agreement(document, results);
    add_unverified(document, results);
    add_warnings(document, results);
    ifm_document_detail(document, IFM_DETAIL_MEMORY, "memory");
    ifm_profile_add_memory(document, report);
    ifm_profile_add_alive(document, report);
    ifm_document_detail(document, IFM_DETAIL_ENCODING, "encoding");
    ifm_profile_add_encoding(document, report);
    ifm_document_detail(document, IFM_DETAIL_PEAKS, "peaks");
    ifm_profile_add_peaks(&page);
    ifm_document_detail(document, IFM_DETAIL_KERNELS, "algorithms of the convolutions");
    for (gsize i = 0; i < report->n_devices; i++)
        ifm_profile_add_convolutions(&page, i);
    for (gsize i = 0; i < report->n_devices; i++)
        ifm_profile_add_inside(&page, i);
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
