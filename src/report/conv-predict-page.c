/* Predicted times of a model with each convolution algorithm. */
#include <math.h>

#include <study/study.h>

#include "study-pages.h"

static void get_origin(const void *record, const void *user, IfmValue *value)
{
    static const char *const words[] = {
        [IFM_GRID_EXACT] = "measured", [IFM_GRID_INTERPOLATED] = "interpolated", [IFM_GRID_OUTSIDE] = "extrapolated"
    };
    const IfmConvPrediction *prediction = record;
    ifm_value_set_text(value, words[prediction->origin]);
    value->tone = prediction->origin == IFM_GRID_OUTSIDE ? IFM_TONE_WARN : IFM_TONE_PLAIN;
}

#define OF(member) IFM_MEMBER(IfmConvPrediction, member)
#define OF_VIA(pointer, member) IFM_MEMBER_VIA(IfmConvPrediction, pointer, member)
#define OF_AT(member) IFM_FIELD_AT(IfmConvPrediction, member)

static const IfmField fields[] = {
    { "device", "on", IFM_FIELD_TEXT, OF_VIA(device, alias), IFM_FIELD_WHOLE },
    { "algorithm", "algorithm", IFM_FIELD_TEXT, OF(algorithm), IFM_FIELD_WHOLE },
    { "time_ns", "latency", IFM_FIELD_DURATION, OF(time_ns) },
    { "lower_ns", "from", IFM_FIELD_DURATION, OF(lower_ns), IFM_FIELD_HIDE_EMPTY },
    { "upper_ns", "to", IFM_FIELD_DURATION, OF(upper_ns), IFM_FIELD_HIDE_EMPTY },
    { "energy_j", "J", IFM_FIELD_REAL, OF(energy_j), IFM_FIELD_HIDE_EMPTY },
    { "mean_error_ratio", "usually off by", IFM_FIELD_RATIO, OF(mean_ratio), IFM_FIELD_HIDE_EMPTY },
    { "p95_error_ratio", "", IFM_FIELD_RATIO, OF(p95_ratio), IFM_FIELD_NO_SCREEN },
    { "noise_ratio", "noise", IFM_FIELD_RATIO, OF(noise_ratio), IFM_FIELD_HIDE_EMPTY },
    { "sizes", "sizes", IFM_FIELD_INTEGER, OF(n_sizes) },
    { "origin", "how it is known", IFM_FIELD_TEXT, get_origin },
    { "simulated", "", IFM_FIELD_BOOLEAN, ifm_field_get_simulated, OF_AT(device), IFM_FIELD_NO_SCREEN },
    { NULL },
};

/* may_be_as_fast: Whether an algorithm's interval reaches down to the fastest one's. Unknown ones do. */
static gboolean may_be_as_fast(const IfmConvPrediction *fastest, const IfmConvPrediction *other)
{
    return !(fastest->upper_ns < other->lower_ns);
}

/* The fastest on each device, all that may be as fast, and how far that can be relied on. */
static void add_choices(IfmDocument *document, const GArray *predictions, gint64 size)
{
    for (guint i = 0; i < predictions->len; i++)
    {
        const IfmConvPrediction *at = &g_array_index(predictions, IfmConvPrediction, i);
        g_autoptr(GPtrArray) others = g_ptr_array_new();
        if (i > 0 && at[-1].device == at->device)
            continue;
        for (guint k = i + 1; k < predictions->len && at[k - i].device == at->device; k++)
            if (may_be_as_fast(at, &at[k - i]))
                g_ptr_array_add(others, (gpointer)at[k - i].algorithm);
        g_ptr_array_add(others, NULL);
        g_autofree char *names = g_strjoinv(", ", (char **)others->pdata);
        g_autoptr(GString) text = g_string_new(NULL);
        g_string_printf(text, "%s at size %" G_GINT64_FORMAT, at->algorithm, size);
        if (isnan(at->upper_ns))
            g_string_append(text,
                            at->origin == IFM_GRID_EXACT
                                ? "; too few runs for an interval: how certain that is, is unknown"
                                : "; measured at 2 sizes, from which no error follows: how certain that is, is unknown");
        else if (*names != '\0')
            g_string_append_printf(text, "; as fast within the intervals: %s", names);
        if (at->origin == IFM_GRID_OUTSIDE)
            g_string_append(text, "; extrapolated beyond the measured sizes: measure one to be sure");
        ifm_document_note(document, at->device->alias, IFM_TONE_PLAIN, "%s", text->str);
    }
}

static void add_bars(IfmDocument *document, const GArray *predictions)
{
    IfmBlock *figure = ifm_document_page_figure(document, "latencies", IFM_FIGURE_BARS, "Predicted latency by algorithm",
                                                "What an inference takes with each algorithm, with its interval.");
    IfmSeries *series = NULL;
    figure->figure.y.title = "latency";
    for (guint i = 0; i < predictions->len; i++)
    {
        const IfmConvPrediction *at = &g_array_index(predictions, IfmConvPrediction, i);
        IfmPoint point = IFM_POINT_INIT;
        point.label = at->algorithm;
        point.y = at->time_ns;
        point.lower = at->lower_ns;
        point.upper = at->upper_ns;
        if (i == 0 || at[-1].device != at->device)
            series = ifm_document_series(document, figure, at->device->alias, NULL);
        ifm_document_point(document, series, &point);
    }
}

IfmDocument *ifm_conv_prediction_document(const GArray *predictions, const char *model, gint64 size)
{
    IfmDocument *document = ifm_document_new("conv-prediction", model);
    GPtrArray *records = g_ptr_array_new();
    for (guint i = 0; i < predictions->len; i++)
        g_ptr_array_add(records, &g_array_index(predictions, IfmConvPrediction, i));
    ifm_document_text(document, "%s, images of %" G_GINT64_FORMAT " x %" G_GINT64_FORMAT, model, size, size);
    ifm_document_part(document);
    ifm_document_table(document, "predictions", fields, records);
    add_bars(document, predictions);
    ifm_document_part(document);
    add_choices(document, predictions, size);
    return document;
}
