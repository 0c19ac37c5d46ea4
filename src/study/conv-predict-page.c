/* Predicted times of a model with each convolution algorithm. */
#include <math.h>

#include <base/base.h>
#include <document/summary.h>
#include <document/words.h>

#include <study/findings.h>
#include <zoo/zoo.h>

#include "study-answers.h"
#include "study-pages.h"
#include "study.h"

#define NAMED 3 /* algorithms in a sentence */

static void get_origin(const void *record, const void *user, IfmValue *value)
{
    static const char *const words[] = {
        [IFM_GRID_EXACT] = "measured", [IFM_GRID_INTERPOLATED] = "interpolated", [IFM_GRID_OUTSIDE] = "extrapolated"
    };
    const IfmConvPrediction *prediction = record;
    ifm_value_set_text(value, prediction->n_networks > 0 ? "layer shapes" : words[prediction->origin]);
    value->tone = prediction->origin == IFM_GRID_OUTSIDE ? IFM_TONE_WARN : IFM_TONE_PLAIN;
}

/* A network that was not measured has networks; others have sizes. */
static void get_sizes(const void *record, const void *user, IfmValue *value)
{
    const IfmConvPrediction *prediction = record;
    if (prediction->n_networks == 0)
        ifm_value_set_integer(value, (gint64)prediction->n_sizes);
}

static void get_networks(const void *record, const void *user, IfmValue *value)
{
    const IfmConvPrediction *prediction = record;
    if (prediction->n_networks > 0)
        ifm_value_set_integer(value, (gint64)prediction->n_networks);
}

/* Whether one may be taken in place of the other. */
static gboolean is_alike(const IfmConvPrediction *a, const IfmConvPrediction *b)
{
    return a->device == b->device && a->threads == b->threads;
}

#define OF(member) IFM_MEMBER(IfmConvPrediction, member)
#define OF_VIA(pointer, member) IFM_MEMBER_VIA(IfmConvPrediction, pointer, member)
#define OF_AT(member) IFM_FIELD_AT(IfmConvPrediction, member)

static const IfmField fields[] = {
    { "device", "device", IFM_FIELD_TEXT, OF_VIA(device, alias), IFM_FIELD_WHOLE },
    { "algorithm", "algorithm", IFM_FIELD_TEXT, OF(algorithm), IFM_FIELD_WHOLE },
    { "time_ns", "latency", IFM_FIELD_DURATION, OF(time_ns) },
    { "lower_ns", "from", IFM_FIELD_DURATION, OF(lower_ns), IFM_FIELD_HIDE_EMPTY },
    { "upper_ns", "to", IFM_FIELD_DURATION, OF(upper_ns), IFM_FIELD_HIDE_EMPTY },
    { "energy_j", "J", IFM_FIELD_REAL, OF(energy_j), IFM_FIELD_HIDE_EMPTY },
    { "mean_error_ratio", "MAPE", IFM_FIELD_RATIO, OF(mean_ratio), IFM_FIELD_HIDE_EMPTY },
    { "p95_error_ratio", "", IFM_FIELD_RATIO, OF(p95_ratio), IFM_FIELD_NO_SCREEN },
    { "noise_ratio", "noise", IFM_FIELD_RATIO, OF(noise_ratio), IFM_FIELD_HIDE_EMPTY },
    { "sizes", "sizes", IFM_FIELD_INTEGER, get_sizes, NULL, IFM_FIELD_HIDE_EMPTY },
    { "threads", "", IFM_FIELD_INTEGER, OF(threads), IFM_FIELD_NO_SCREEN },
    { "networks", "networks", IFM_FIELD_INTEGER, get_networks, NULL, IFM_FIELD_HIDE_EMPTY },
    { "origin", "source", IFM_FIELD_TEXT, get_origin },
    { "simulated", "", IFM_FIELD_BOOLEAN, ifm_field_get_simulated, OF_AT(device), IFM_FIELD_NO_SCREEN },
    { NULL },
};

/* What its errors are of. */
static const char *left_out_of(const IfmConvPrediction *prediction)
{
    return prediction->n_networks > 0 ? "of networks that were left out" : "at sizes that were left out";
}

/* may_be_as_fast: Whether an algorithm's interval reaches down to the fastest one's. Unknown ones do. */
static gboolean may_be_as_fast(const IfmConvPrediction *fastest, const IfmConvPrediction *other)
{
    return !(fastest->upper_ns < other->lower_ns);
}

/* The algorithm with the least predicted time of one device, which stands first, and those not told apart from it. */
static void say_choice(IfmDocument *document, const IfmConvPrediction *first, gsize n, gint64 size)
{
    g_autofree char *at = size > 0 ? g_strdup_printf(" at size %" G_GINT64_FORMAT, size) : g_strdup("");
    g_autoptr(GPtrArray) others = g_ptr_array_new();
    for (gsize i = 1; i < n; i++)
        if (may_be_as_fast(first, &first[i]))
            g_ptr_array_add(others, (gpointer)first[i].algorithm);
    g_autofree char *names = ifm_say_list((const char *const *)others->pdata, others->len, NAMED),
                    *time = ifm_say_duration(first->time_ns), *range = ifm_say_durations(first->lower_ns, first->upper_ns);
    if (n == 1)
        ifm_document_verdict(document, "%s is predicted to take %s%s on %s; no other was measured", first->algorithm, time,
                             at, first->device->alias);
    else if (others->len == 0)
        ifm_document_verdict(document, "%s is predicted to take the least time%s on %s: %s", first->algorithm, at,
                             first->device->alias, time);
    else
        ifm_document_verdict(document, "%s is predicted to take %s%s on %s, not told apart from %s", first->algorithm, time,
                             at, first->device->alias, names);
    if (isfinite(first->upper_ns))
        ifm_document_verdict_more(document, "%s by the errors %s", range,
                                  first->n_networks > 0 ? left_out_of(first) : "at measured sizes that were left out");
}

IfmTrust ifm_conv_error_trust(double error, double lead)
{
    return isfinite(lead) && !(error < lead) ? IFM_TRUST_CARE : IFM_TRUST_GOOD;
}

/* An error is held against the lead over the next algorithm: a larger one may turn the choice. @lead: NaN: there is no
 * next */
static void check_error(IfmDocument *document, const IfmConvPrediction *first, double lead)
{
    g_autofree char *off = ifm_say_per_cent(first->mean_ratio), *noise = ifm_say_per_cent(first->noise_ratio),
                    *next = ifm_say_per_cent(lead);
    const IfmTrust trust = ifm_conv_error_trust(first->mean_ratio, lead),
                   of_noise = ifm_conv_error_trust(first->noise_ratio, lead);
    const char *alias = first->device->alias;
    if (isfinite(first->mean_ratio) && isfinite(lead))
        ifm_document_check_of(document, trust, alias, "the prediction",
                              "has a MAPE of %s %s, %s than the %s to the next algorithm", off, left_out_of(first),
                              trust == IFM_TRUST_GOOD ? "less" : "no less", next);
    else if (isfinite(first->mean_ratio))
        ifm_document_check_of(document, trust, alias, "the prediction",
                              "has a MAPE of %s %s; its interval is made of these errors", off, left_out_of(first));
    if (isfinite(first->noise_ratio) && isfinite(lead))
        ifm_document_check_of(document, of_noise, alias, "the medians",
                              "are known to ±%s, %s than the %s to the next algorithm", noise,
                              of_noise == IFM_TRUST_GOOD ? "less" : "no less", next);
}

/* @n: of the device, the least time first */
static void check_prediction(IfmDocument *document, const IfmConvPrediction *first, gsize n)
{
    const char *alias = first->device->alias;
    if (first->device->simulated)
        ifm_document_check_of(document, IFM_TRUST_CARE, alias, "simulated: the figures", "come from a description");
    if (first->origin == IFM_GRID_OUTSIDE)
        ifm_document_check_of(document, IFM_TRUST_BAD, alias, "the prediction",
                              "is extrapolated beyond the measured sizes: measure one to be sure");
    if (isnan(first->upper_ns) && first->n_networks > 0)
        ifm_document_check_of(document, IFM_TRUST_CARE, alias, "the prediction",
                              "has no interval: %zu network%s %s measured, and the errors are of each predicted from the "
                              "others, from %d networks on",
                              first->n_networks, ifm_plural(first->n_networks), first->n_networks == 1 ? "was" : "were",
                              IFM_CONV_LEAST_NETWORKS);
    else if (isnan(first->upper_ns))
        ifm_document_check_of(document, IFM_TRUST_CARE, alias, "the prediction", "has no interval: too few runs or sizes");
    check_error(document, first, n > 1 ? first[1].time_ns / first->time_ns - 1 : (double)NAN);
}

/* Of the first device; checks and tiles of each. */
static void add_headline(IfmDocument *document, const GArray *predictions, const char *model, gint64 size)
{
    if (size > 0)
        ifm_document_subject(document, "%s · images of %" G_GINT64_FORMAT " x %" G_GINT64_FORMAT, model, size, size);
    else
        ifm_document_subject(document, "%s", model);
    for (guint i = 0, end; i < predictions->len; i = end)
    {
        const IfmConvPrediction *first = &g_array_index(predictions, IfmConvPrediction, i);
        for (end = i; end < predictions->len && is_alike(&first[end - i], first);)
            end++;
        g_autofree char *time = ifm_say_duration(first->time_ns);
        if (i == 0)
            say_choice(document, first, end, size);
        check_prediction(document, first, end - i);
        ifm_document_tile(document, &(IfmTile){ first->device->alias, time, first->algorithm, NAN });
        ifm_document_provenance_device(document, first->device->alias,
                                       first->device->device != NULL ? first->device->device : "imported");
    }
    const IfmConvPrediction *best = &g_array_index(predictions, IfmConvPrediction, 0);
    if (best->n_networks > 0)
        ifm_document_check(document, IFM_TRUST_UNCHECKED, "predicted from the layers of %zu other networks; it was not run",
                           best->n_networks);
    else
        ifm_document_check(document, IFM_TRUST_UNCHECKED, "predicted from measured sizes; nothing was run at this one");
    const char *device = predictions->len > 0 ? best->device->device : NULL;
    g_autofree char *sized = size > 0 && ifm_model_source_entry(model) != NULL
                                 ? g_strdup_printf("%s,size=%" G_GINT64_FORMAT, model, size)
                                 : g_strdup(model),
                    *command = device != NULL
                                   ? ifm_say_command("profile", sized, "-d", device, "--conv", best->algorithm, NULL)
                                   : NULL;
    ifm_document_next(document, command, NULL, best->n_networks > 0 ? "Measure it" : "Measure it at this size");
}

char *ifm_conv_predicted_title(const char *algorithm, const char *device, double time_ns, gsize n_others, gsize n_alike,
                               gboolean is_known)
{
    g_autofree char *time = ifm_say_duration(time_ns);
    if (n_others == 0)
        return g_strdup_printf("%s is predicted to take %s on %s; no other was measured", algorithm, time, device);
    if (!is_known)
        return g_strdup_printf("%s is predicted the lowest on %s, %s; no confidence interval", algorithm, device, time);
    if (n_alike > 0)
        return g_strdup_printf("%s is predicted the lowest on %s, %s, and not told apart from %zu other%s", algorithm,
                               device, time, n_alike, ifm_plural(n_alike));
    return g_strdup_printf("%s is predicted the lowest on %s, %s, below the intervals of all others", algorithm, device,
                           time);
}

/* Of the first device. (transfer full) */
static char *title_of(const GArray *predictions)
{
    const IfmConvPrediction *at = (const IfmConvPrediction *)(const void *)predictions->data;
    gsize n_others = 0, n_alike = 0;
    if (predictions->len == 0)
        return g_strdup("No algorithm was measured");
    for (guint i = 1; i < predictions->len && is_alike(&at[i], at); i++, n_others++)
        n_alike += may_be_as_fast(at, &at[i]);
    return ifm_conv_predicted_title(at->algorithm, at->device->alias, at->time_ns, n_others, n_alike, !isnan(at->upper_ns));
}

static void add_bars(IfmDocument *document, const GArray *predictions)
{
    g_autofree char *title = title_of(predictions);
    IfmBlock *figure = ifm_document_page_figure(document, "latencies", IFM_FIGURE_BARS, title,
                                                "What an inference takes with each algorithm, with its interval.");
    IfmSeries *series = NULL;
    figure->figure.y.title = "latency";
    for (guint i = 0; i < predictions->len; i++)
    {
        const IfmConvPrediction *at = &g_array_index(predictions, IfmConvPrediction, i);
        if (i == 0 || !is_alike(&at[-1], at))
            series = ifm_document_series(document, figure, at->device->alias, NULL);
        ifm_document_point_within(document, series, at->algorithm, NAN, at->time_ns, at->lower_ns, at->upper_ns);
    }
}

IfmDocument *ifm_conv_prediction_document(const GArray *predictions, const char *model, gint64 size)
{
    IfmDocument *document = ifm_document_new("conv-prediction", model);
    GPtrArray *records = g_ptr_array_new();
    for (guint i = 0; i < predictions->len; i++)
        g_ptr_array_add(records, &g_array_index(predictions, IfmConvPrediction, i));
    add_headline(document, predictions, model, size);
    ifm_document_table(document, "predictions", fields, records);
    add_bars(document, predictions);
    return document;
}
