#include <math.h>

#include <base/base.h>
#include <base/fields.h>
#include <document/summary.h>
#include <document/words.h>
#include <store/trust.h>

#include "figures.h"
#include "profile-findings.h"
#include "profile-page-private.h"

/* What a profile comes to: how long an inference takes, which device is the fastest as far as rounds of fresh processes
 * tell them apart, how far that may be trusted, and what to do next. */

#define ROUNDS 6 /* all of which one leads by chance in 3.1 % */
#define NAMED 3  /* devices in a sentence */

/* "An inference", "a training step" */
static const char *what_of(const IfmProfileReport *report, gboolean begins)
{
    static const char *const words[] = { "An inference",    "an inference",    "A forward pass",  "a forward pass",
                                         "A training pass", "a training pass", "A training step", "a training step" };
    return words[(report->mode != NULL ? 2 + 2 * (int)report->mode->asked : 0) + !begins];
}

/* --- one device ------------------------------------------------------------------------------------------------------- */

/* Whether a pass, as the difference of two, is below 0 for certain: then they do not add up, and have no shares. */
static gboolean append_excess(GString *more, const IfmProfileReport *report, const IfmProfileDevice *device)
{
    static const struct
    {
        int part, whole, without;
    } differences[] = { { IFM_PASS_BACKWARD, IFM_PASS_TRAINING, IFM_PASS_FORWARD },
                        { IFM_PASS_UPDATE, IFM_PASS_STEP, IFM_PASS_TRAINING } };
    for (gsize i = 0; i < G_N_ELEMENTS(differences); i++)
    {
        IfmTiming timing;
        if (!ifm_mode_has_pass(report->mode, differences[i].part))
            continue;
        ifm_mode_timing(report->mode, differences[i].part, device, &timing);
        if (!(timing.interval.upper < 0))
            continue;
        g_autofree char *less = ifm_say_duration(-timing.median_ns);
        g_string_append_printf(more, "the %s takes %s less than the %s alone: they do not add up; ",
                               ifm_pass_words(differences[i].whole), less, ifm_pass_words(differences[i].without));
        return TRUE;
    }
    return FALSE;
}

/* "forward 16 %, backward 82 %, update not told apart from 0" of a training step, by the passes' own times. */
static void append_split(GString *more, const IfmProfileReport *report, const IfmProfileDevice *device, double whole_ns)
{
    static const int parts[] = { IFM_PASS_FORWARD, IFM_PASS_BACKWARD, IFM_PASS_UPDATE };
    if (report->mode->asked != IFM_PASS_FORWARD && append_excess(more, report, device))
        return;
    for (gsize i = 0; i < G_N_ELEMENTS(parts); i++)
    {
        IfmTiming timing;
        if (report->mode->asked == IFM_PASS_FORWARD || !ifm_mode_has_pass(report->mode, parts[i]))
            continue;
        ifm_mode_timing(report->mode, parts[i], device, &timing);
        g_autofree char *share = ifm_say_per_cent(timing.median_ns / whole_ns), *time = ifm_say_duration(timing.median_ns),
                        *range = ifm_say_durations(timing.interval.lower, timing.interval.upper);
        if (!isfinite(timing.median_ns))
            continue;
        g_string_append_printf(more, "%s%s ", more->len > 0 ? ", " : "", ifm_pass_words(parts[i]));
        if (timing.interval.lower <= 0 || timing.median_ns <= 0)
            g_string_append(more, "not told apart from 0");
        else
            g_string_append_printf(more, "%s (%s, %s)", share, time,
                                   isfinite(timing.interval.lower) ? range : "no interval");
    }
    g_string_append(more, more->len > 0 ? "; " : "");
}

/* Passes that took turns add up; else the machine may have changed between them. */
static void check_passes(IfmDocument *document, const IfmProfileReport *report, const IfmProfileDevice *device)
{
    const IfmProfileMode *mode = report->mode;
    const gsize n_rounds = mode != NULL ? ifm_mode_rounds(mode, device) : 0;
    static const IfmPassKind pairs[][2] = { { IFM_PASS_FORWARD, IFM_PASS_TRAINING }, { IFM_PASS_TRAINING, IFM_PASS_STEP } };
    gboolean is_impossible = FALSE;
    if (mode == NULL || mode->asked == IFM_PASS_FORWARD)
        return;
    for (gsize i = 0; i < G_N_ELEMENTS(pairs) && n_rounds == 0; i++)
    {
        IfmTiming part, whole;
        ifm_mode_timing(mode, (int)pairs[i][0], device, &part);
        ifm_mode_timing(mode, (int)pairs[i][1], device, &whole);
        if (!ifm_timing_is_below(&whole, &part))
            continue;
        is_impossible = TRUE;
        ifm_document_check(document, IFM_TRUST_BAD, "the %s took less time than the %s, a part of it: the machine changed",
                           ifm_pass_words((int)pairs[i][1]), ifm_pass_words((int)pairs[i][0]));
    }
    if (n_rounds > 0)
        ifm_document_check(document, IFM_TRUST_GOOD, "the passes took turns in %zu rounds of processes", n_rounds);
    else if (!is_impossible)
        ifm_document_check(document, IFM_TRUST_CARE, "each pass was measured by itself, at another time than the others");
}

/* What is faster than the device can be, as it was measured, is no figure to act on: the kernel's work, its time or the
 * peak is wrong. */
void ifm_profile_check_kernels(IfmDocument *document, const IfmKernels *kernels, const IfmMeasurement *peak,
                               const char *name)
{
    const IfmKernel *furthest;
    gsize n_known;
    IfmRoofline roofline;
    if (kernels == NULL || kernels->rows->len == 0)
        return;
    const gboolean has_peak = ifm_roofline_of(peak, &roofline);
    const gsize n = ifm_profile_above_roof(kernels, &n_known, &furthest);
    g_autofree char *of_peak = n > 0 ? ifm_say_per_cent(furthest->place.attained) : NULL;
    if (!has_peak || n_known == 0)
        ifm_document_check_of(document, IFM_TRUST_UNCHECKED, name, "kernels", "were not held against a peak: %s",
                              has_peak ? "their work is not known" : "none was measured");
    else if (n == 0)
        ifm_document_check_of(document, IFM_TRUST_GOOD, name, "no kernel", "is faster than the measured peak allows");
    else
        ifm_document_check_of(document, IFM_TRUST_CARE, name, "kernels",
                              "are implausible: %zu of %zu %s faster than the measured peak allows, %s reaches %s of it", n,
                              n_known, n == 1 ? "is" : "are",
                              furthest->label != NULL ? furthest->label : furthest->node->name, of_peak);
}

/* "2.02 ms on openvino:CPU@0, 2.01 to 2.04 ms with 95 % confidence; 494 a second" */
static void say_latency(IfmDocument *document, const IfmProfileReport *report, const IfmProfileDevice *device,
                        const IfmKernels *kernels)
{
    IfmRoundsOfOne of;
    ifm_profile_time(report, device, &of);
    const IfmInterval *interval = &of.interval;
    const double attained = ifm_profile_attained(kernels, of.median_ns);
    g_autofree char *time = ifm_say_duration(of.median_ns), *rate = ifm_say_number(1e9 / of.median_ns),
                    *range = ifm_say_durations(interval->lower, interval->upper), *share = ifm_say_per_cent(attained);
    g_autoptr(GString) more = g_string_new(NULL);
    if (report->mode != NULL)
        append_split(more, report, device, of.median_ns);
    if (isfinite(interval->lower))
        g_string_append_printf(more, "%s with %.3g" IFM_NO_BREAK "%% confidence, ", range, 100 * interval->level);
    g_string_append_printf(more, "%s a second, one at a time", rate);
    if (isfinite(attained))
        g_string_append_printf(more, "; %s of the measured peak", share);
    ifm_document_verdict(document, "%s takes %s on %s", what_of(report, TRUE), time, ifm_result_name(&device->result));
    ifm_document_verdict_more(document, "%s", more->str);
}

/* --- several devices -------------------------------------------------------------------------------------------------- */

/* Those whose interval holds the leader's time, the leader first. (transfer container) */
static GPtrArray *not_told_apart(const json_t *rounds)
{
    const json_t *sides = json_object_get(rounds, "sides");
    const gsize leader = (gsize)json_integer_value(json_object_get(rounds, "leader"));
    GPtrArray *names = g_ptr_array_new();
    g_ptr_array_add(names, (gpointer)ifm_member_text(json_array_get(sides, leader), "name"));
    for (gsize i = 0; i < json_array_size(sides); i++)
        if (i != leader && ifm_member_number(json_array_get(sides, i), "least_ratio") <= 1)
            g_ptr_array_add(names, (gpointer)ifm_member_text(json_array_get(sides, i), "name"));
    return names;
}

/* In the rounds, by the name of a side. */
static double median_of_side(const json_t *rounds, const char *name)
{
    const json_t *sides = json_object_get(rounds, "sides");
    IfmRoundsOfOne of = { .median_ns = NAN };
    for (gsize i = 0; i < json_array_size(sides); i++)
        if (g_strcmp0(ifm_member_text(json_array_get(sides, i), "name"), name) == 0)
            ifm_rounds_of_side(rounds, i, &of);
    return of.median_ns;
}

/* Why one that led all rounds so far is not called the fastest. */
static const char *why_so_few(const json_t *rounds)
{
    return g_strcmp0(ifm_member_text(rounds, "stopped"), "time-budget") == 0 ? "the time for more was spent (--time-budget)"
                                                                             : "they were interrupted";
}

/* Why the leader of so many rounds is called the fastest, or is not. */
static void say_why(IfmDocument *document, const json_t *rounds, const char *leader, int n)
{
    const char *verdict = ifm_member_text(rounds, "verdict");
    if (g_strcmp0(verdict, "fastest") == 0)
        ifm_document_trust_why(document, "it led all %d rounds", n);
    else if (g_strcmp0(verdict, "led all") == 0)
        ifm_document_trust_why(document, "%s led all %d round%s, and %d are needed: %s", leader, n, ifm_plural((gsize)n),
                               MAX(ROUNDS, n), why_so_few(rounds));
    else
        ifm_document_trust_why(document, "only a device that leads all of %d rounds is called the fastest", MAX(ROUNDS, n));
}

static void say_rounds(IfmDocument *document, const IfmProfileReport *report, const json_t *rounds, const json_t *rival)
{
    const json_t *leader =
        json_array_get(json_object_get(rounds, "sides"), (gsize)json_integer_value(json_object_get(rounds, "leader")));
    const char *verdict = ifm_member_text(rounds, "verdict"), *name = ifm_member_text(leader, "name"),
               *other = ifm_member_text(rival, "name");
    const double ratio = ifm_member_number(rival, "ratio"), least = ifm_member_number(rival, "least_ratio"),
                 most = ifm_member_number(rival, "most_ratio");
    const int n = (int)ifm_member_number(rounds, "n_rounds"), n_led = (int)ifm_member_number(rounds, "n_led");
    const gboolean is_fastest = g_strcmp0(verdict, "fastest") == 0;
    g_autoptr(GPtrArray) alike = not_told_apart(rounds);
    if (!is_fastest && alike->len < 2)
        g_ptr_array_add(alike, (gpointer)other);
    g_autofree char *times = ifm_say_number(ratio), *range = ifm_say_numbers(least, most),
                    *time = ifm_say_duration(median_of_side(rounds, name)),
                    *others_time = ifm_say_duration(median_of_side(rounds, other)),
                    *names = ifm_say_list((const char *const *)alike->pdata, alike->len, NAMED);
    if (is_fastest)
        ifm_document_verdict(document, "%s is the fastest: %s took %s times its time", name, other, times);
    else
        ifm_document_verdict(document, "%s are not told apart", names);
    ifm_document_verdict_more(document,
                              "%s and %s %s; %s takes %s times the time of %s in %d round%s of fresh "
                              "processes, of which %s led %d",
                              time, others_time, what_of(report, FALSE), other, range, name, n, ifm_plural((gsize)n), name,
                              n_led);
    if (ifm_document_summary_trust(document->summary) != IFM_TRUST_BAD) /* else it is no reason for what is said of it */
        say_why(document, rounds, name, n);
    ifm_document_estimate(document,
                          &(IfmVerdictRange){ ratio, least, most, 1, TRUE, IFM_FIELD_REAL, "same time", other, name });
}

/* One process of each proves nothing. */
static void say_single_runs(IfmDocument *document, const IfmProfileReport *report, const IfmProfileDevice *best)
{
    const IfmProfileDevice *next = NULL;
    for (gsize i = 0; i < report->n_devices; i++)
    {
        const IfmProfileDevice *device = &report->devices[i];
        if (device != best && ifm_result_measured(&device->result) != NULL &&
            (next == NULL || device->result.measurement->summary.median < next->result.measurement->summary.median))
            next = device;
    }
    g_assert(best != NULL && next != NULL); /* several were measured */
    const double best_ns = best->result.measurement->summary.median, next_ns = next->result.measurement->summary.median;
    g_autofree char *first = ifm_say_duration(best_ns), *second = ifm_say_duration(next_ns),
                    *ratio = ifm_say_number(next_ns / best_ns);
    ifm_document_verdict(document, "%s took less time than %s in this run, which does not tell them apart",
                         ifm_result_name(&best->result), ifm_result_name(&next->result));
    ifm_document_verdict_more(document, "%s and %s %s: %s times as long, by one process of each", first, second,
                              what_of(report, FALSE), ratio);
    ifm_document_check(document, IFM_TRUST_UNCHECKED, "the devices were not compared in rounds of fresh processes%s%s",
                       report->why_not_rounds != NULL ? ": " : "",
                       report->why_not_rounds != NULL ? report->why_not_rounds : "");
}

/* --- nothing measured ------------------------------------------------------------------------------------------------- */

static void say_nothing_measured(IfmDocument *document, const IfmProfileReport *report)
{
    IfmNodeCost total = { 0 };
    gsize n_covered;
    if (report->n_devices > 0)
    {
        const IfmResult *result = &report->devices[0].result;
        ifm_document_verdict(document, "%s gave no latency: %s", ifm_result_name(result),
                             report->n_devices > 1 ? "nor did any other device" : ifm_result_short_reason(result));
        return;
    }
    if (report->analysis == NULL)
        return;
    ifm_analysis_total(report->analysis, &total, &n_covered);
    g_autofree char *flop = ifm_scaled((double)total.flop), *macs = ifm_scaled((double)total.macs);
    ifm_document_verdict(document, "%s needs %s%sFLOP", what_of(report, TRUE), ifm_cost_is_exact(&total) ? "" : "at most ",
                         flop);
    ifm_document_verdict_more(document, "%sMAC; nothing was measured", macs);
    g_autofree char *command =
        report->source != NULL ? ifm_say_command("profile", report->source, "-d", "onnxruntime:CPU", NULL) : NULL;
    ifm_document_next(document, command, NULL, "Measure it on a device");
}

/* --- next ------------------------------------------------------------------------------------------------------------- */

#define WORTH_GAINING 0.02 /* of an inference */

/* What is to be tried at a kernel of a model as it is: of a convolution its other algorithms, where there are some; else
 * how the runtime's kernels come about. (transfer full) NULL: there is no command for it */
static char *look_at(const IfmProfileReport *report, const IfmProfileDevice *device, const IfmKernel *kernel)
{
    const char *spec = device->result.device;
    if (report->source == NULL || report->mode != NULL || g_str_has_prefix(spec, "simulated:") ||
        strstr(report->source, ",dataset=") != NULL) /* which names no file */
        return NULL;
    if (kernel->family == IFM_FAMILY_CONVOLUTION && g_str_has_prefix(spec, "onnxruntime:CPU") &&
        json_object_get(device->result.subject_case->options, "convolutions") == NULL)
        return ifm_say_command("profile", report->source, "-d", spec, "--conv", "best", NULL);
    return ifm_say_command("kernels", "list", report->source, "-d", spec, NULL);
}

/* The kernel with most time above its roof. */
static void say_gain(IfmDocument *document, const IfmProfileReport *report, const IfmProfileDevice *device,
                     const IfmKernels *kernels)
{
    const IfmKernel *kernel = kernels != NULL ? ifm_kernels_furthest(kernels) : NULL;
    IfmRoundsOfOne of;
    ifm_profile_time(report, device, &of);
    const double median_ns = of.median_ns;
    if (kernel == NULL || !(kernel->place.excess_ns > WORTH_GAINING * median_ns))
        return;
    g_autofree char *time = ifm_say_duration(kernel->place.excess_ns),
                    *share = ifm_say_per_cent(kernel->place.excess_ns / median_ns),
                    *of_peak = ifm_say_per_cent(kernel->place.attained),
                    *gain = g_strdup_printf("at most %s, %s of an inference", time, share);
    const gboolean is_known = isfinite(kernel->place.attained);
    g_autofree char *command = look_at(report, device, kernel);
    ifm_document_next(document, command, gain, "Largest possible gain on %s: %s%s%s%s", ifm_result_name(&device->result),
                      kernel->label != NULL ? kernel->label : kernel->node->name, is_known ? ", which runs at " : "",
                      is_known ? of_peak : "", is_known ? " of its roof" : "");
}

/* What to call the device of a side of the rounds by on another command line: its alias is of this one alone. */
static const char *device_of_side(const IfmProfileReport *report, const json_t *side)
{
    const char *name = ifm_member_text(side, "name");
    for (gsize i = 0; i < report->n_devices; i++)
        if (g_strcmp0(report->devices[i].result.alias, name) == 0)
            return report->devices[i].result.device;
    return name;
}

static void say_next(IfmDocument *document, const IfmProfileReport *report, const json_t *rounds,
                     const IfmProfileDevice *best, IfmKernels *const *kernels)
{
    const json_t *rival = ifm_rounds_rival(rounds);
    if (ifm_document_summary_trust(document->summary) == IFM_TRUST_BAD)
        ifm_document_next_again(document, "", NULL, "Measure again while nothing else runs");
    if (rival != NULL && g_strcmp0(ifm_member_text(rounds, "verdict"), "fastest") != 0 && report->source != NULL)
    {
        const json_t *leader =
            json_array_get(json_object_get(rounds, "sides"), (gsize)json_integer_value(json_object_get(rounds, "leader")));
        const char *source = report->source;
        g_autofree char *command = ifm_say_command("compare", source, source, "--a-device", device_of_side(report, leader),
                                                   "--b-device", device_of_side(report, rival), NULL);
        ifm_document_next(document, command, NULL, "To tell them apart, compare the two: it stops by itself");
    }
    say_gain(document, report, best, kernels[best - report->devices]);
}

/* --- key figures ------------------------------------------------------------------------------------------------------ */

static void add_tiles(IfmDocument *document, const IfmProfileReport *report, const IfmProfilePage *page)
{
    for (gsize i = 0, n = 0; i < report->n_devices && n < NAMED; i++)
    {
        const IfmProfileDevice *device = &report->devices[i];
        IfmRoundsOfOne of;
        ifm_profile_time(report, device, &of);
        if (ifm_result_measured(&device->result) == NULL)
            continue;
        n++;
        const double attained = ifm_profile_attained(page->kernels[i], of.median_ns);
        g_autofree char *label = g_strdup_printf("%s, latency", ifm_result_name(&device->result)),
                        *value = ifm_say_duration(of.median_ns),
                        *range = ifm_say_durations(of.interval.lower, of.interval.upper),
                        *share = ifm_say_per_cent(attained), *of_peak = g_strdup_printf("%s; %s of the peak", range, share);
        ifm_document_tile(document, &(IfmTile){ label, value, of_peak, attained, ifm_result_name(&device->result) });
    }
    const IfmProfileDevice *best = ifm_profile_fastest(report);
    const double bytes =
        best != NULL ? ifm_member_number(best->result.measurement->memory, "process.growth_runs_bytes") : (double)NAN;
    g_autofree char *memory = ifm_say_bytes(bytes);
    if (isfinite(bytes))
        ifm_document_tile(document, &(IfmTile){ "process growth", memory, ifm_result_name(&best->result), NAN });
}

/* "resnet18,size=64 · f32 · 69 nodes · 298 MFLOP" */
static void say_subject(IfmDocument *document, const IfmProfileReport *report)
{
    g_autofree char *called = ifm_profile_called(report);
    g_autoptr(GString) text = g_string_new(called != NULL ? called : report->source);
    const gsize n = report->model != NULL ? ifm_model_n_nodes(report->model) : 0;
    IfmNodeCost total = { 0 };
    gsize n_covered;
    if (n > 0)
        g_string_append_printf(text, " · %zu node%s", n, ifm_plural(n));
    if (report->analysis != NULL)
    {
        ifm_analysis_total(report->analysis, &total, &n_covered);
        g_autofree char *flop = ifm_scaled((double)total.flop);
        g_string_append_printf(text, " · %s%sFLOP", ifm_cost_is_exact(&total) ? "" : "at most ", flop);
    }
    ifm_document_subject(document, "%s", text->str);
}

void ifm_profile_add_headline(const IfmProfilePage *page)
{
    IfmDocument *document = page->document;
    const IfmProfileReport *report = page->report;
    const json_t *rounds = ifm_profile_rounds(report), *rival = ifm_rounds_rival(rounds), *note;
    const IfmProfileDevice *best = ifm_profile_fastest(report);
    gsize n_measured = 0, i;
    say_subject(document, report);
    for (i = 0; i < report->n_devices; i++)
    {
        n_measured += ifm_result_measured(&report->devices[i].result) != NULL;
        ifm_document_device(document, ifm_result_name(&report->devices[i].result));
        ifm_document_trust(document, &report->devices[i].result,
                           report->n_devices > 1 ? ifm_result_name(&report->devices[i].result) : NULL);
    }
    for (i = 0; i < report->n_devices; i++)
        check_passes(document, report, &report->devices[i]);
    for (i = 0; i < report->n_devices; i++)
        ifm_profile_check_kernels(document, page->kernels[i], report->devices[i].peak,
                                  report->n_devices > 1 ? ifm_result_name(&report->devices[i].result) : NULL);
    json_array_foreach(json_object_get(rounds, "notes"), i, note)
        ifm_document_check(document, IFM_TRUST_CARE, "in the rounds: %s", json_string_value(note));
    if (best == NULL)
    {
        say_nothing_measured(document, report);
        return;
    }
    if (report->interrupted)
        ifm_document_so_far(document, 0, 0);
    if (rival != NULL)
        say_rounds(document, report, rounds, rival);
    else if (n_measured > 1)
        say_single_runs(document, report, best);
    else
        say_latency(document, report, best, page->kernels[best - report->devices]);
    say_next(document, report, rounds, best, page->kernels);
    add_tiles(document, report, page);
}
