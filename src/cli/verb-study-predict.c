#include <math.h>
#include <unistd.h>

#include <inferometer/conv-predict.h>

#include "study-page.h"

static void get_alias(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_text(value, ((const IfmConvPrediction *)record)->device->alias);
}

static void get_simulated(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_boolean(value, ((const IfmConvPrediction *)record)->device->simulated);
}

static void get_origin(const void *record, const void *user, IfmValue *value)
{
    static const char *const words[] = {
        [IFM_GRID_EXACT] = "measured", [IFM_GRID_INTERPOLATED] = "interpolated", [IFM_GRID_OUTSIDE] = "extrapolated"
    };
    const IfmConvPrediction *prediction = record;
    ifm_value_set_text(value, words[prediction->origin]);
    value->tone = prediction->origin == IFM_GRID_OUTSIDE ? IFM_TONE_WARN : IFM_TONE_PLAIN;
}

#define OF(member) IFM_FIELD_AT(IfmConvPrediction, member)

static const IfmField fields[] = {
    { "device", "on", IFM_FIELD_TEXT, get_alias, .flags = IFM_FIELD_WHOLE },
    { "algorithm", "algorithm", IFM_FIELD_TEXT, ifm_field_get_text, OF(algorithm), IFM_FIELD_WHOLE },
    { "time_ns", "latency", IFM_FIELD_DURATION, ifm_field_get_real, OF(time_ns) },
    { "lower_ns", "from", IFM_FIELD_DURATION, ifm_field_get_real, OF(lower_ns), IFM_FIELD_HIDE_EMPTY },
    { "upper_ns", "to", IFM_FIELD_DURATION, ifm_field_get_real, OF(upper_ns), IFM_FIELD_HIDE_EMPTY },
    { "energy_j", "J", IFM_FIELD_REAL, ifm_field_get_real, OF(energy_j), IFM_FIELD_HIDE_EMPTY },
    { "mean_error_ratio", "usually off by", IFM_FIELD_RATIO, ifm_field_get_real, OF(mean_ratio), IFM_FIELD_HIDE_EMPTY },
    { "p95_error_ratio", "", IFM_FIELD_RATIO, ifm_field_get_real, OF(p95_ratio), IFM_FIELD_NO_SCREEN },
    { "noise_ratio", "noise", IFM_FIELD_RATIO, ifm_field_get_real, OF(noise_ratio), IFM_FIELD_HIDE_EMPTY },
    { "sizes", "sizes", IFM_FIELD_INTEGER, ifm_field_get_count, OF(n_sizes) },
    { "origin", "how it is known", IFM_FIELD_TEXT, get_origin },
    { "simulated", "", IFM_FIELD_BOOLEAN, get_simulated, .flags = IFM_FIELD_NO_SCREEN },
    { NULL },
};

/* may_be_as_fast: Whether an algorithm's interval reaches down to the fastest one's. Unknown ones do. */
static gboolean may_be_as_fast(const IfmConvPrediction *fastest, const IfmConvPrediction *other)
{
    return !(fastest->upper_ns < other->lower_ns);
}

/* The fastest on each device, all that may be as fast, and how far that can be relied on. */
static void append_choice(GString *out, const GArray *predictions, gint64 size)
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
        g_string_append_printf(out, "%s: %s at size %" G_GINT64_FORMAT, at->device->alias, at->algorithm, size);
        if (isnan(at->upper_ns))
            g_string_append(out,
                            at->origin == IFM_GRID_EXACT
                                ? "; too few runs for an interval: how certain that is, is unknown"
                                : "; measured at 2 sizes, from which no error follows: how certain that is, is unknown");
        else if (*names != '\0')
            g_string_append_printf(out, "; as fast within the intervals: %s", names);
        if (at->origin == IFM_GRID_OUTSIDE)
            g_string_append(out, "; extrapolated beyond the measured sizes: measure one to be sure");
        g_string_append_c(out, '\n');
    }
}

static int show(const GArray *predictions, const Arguments *arguments)
{
    const gint64 size = cli_integer(arguments, "size");
    g_autoptr(GPtrArray) records = g_ptr_array_new();
    for (guint i = 0; i < predictions->len; i++)
        g_ptr_array_add(records, &g_array_index(predictions, IfmConvPrediction, i));
    const IfmTable table = { fields, (const void *const *)records->pdata, records->len };
    int status = cli_write_table(arguments, &table);
    if (status != CLI_EXIT_OK || cli_to_stdout(arguments, (const char *const[]){ "json", "csv", NULL }))
        return status;
    IfmScreen screen = ifm_screen_detect(STDOUT_FILENO);
    g_autofree char *rows = ifm_table_to_screen(&table, &screen);
    g_autoptr(GString) text = g_string_new(NULL);
    g_string_printf(text, "%s, images of %" G_GINT64_FORMAT " x %" G_GINT64_FORMAT "\n\n%s\n", cli_text(arguments, "model"),
                    size, size, rows);
    append_choice(text, predictions, size);
    return cli_print(text->str);
}

static int run_predict(const Arguments *arguments)
{
    g_auto(IfmStudyPlace) place = { 0 };
    g_autoptr(GError) error = NULL;
    if (!cli_given(arguments, "model") || !cli_given(arguments, "size"))
        return cli_usage(cli_verb_of(arguments), "needs --model and --size: what to predict");
    int status = cli_check_outputs(arguments, (const char *const[]){ "json", "csv", NULL });
    if (status != CLI_EXIT_OK)
        return status;
    if (!ifm_study_place_find(&place, cli_positional(arguments)[0], cli_text(arguments, "output"), &error))
        return cli_fail(error);
    g_autoptr(IfmStore) store = ifm_study_place_open(&place, IFM_STORE_READ, &error);
    g_autoptr(IfmStudyPoints) points = store != NULL ? ifm_study_points(NULL, store, &error) : NULL;
    g_autoptr(GArray) predictions =
        points != NULL ? ifm_conv_predict(points, cli_text(arguments, "model"), cli_integer(arguments, "size"), &error)
                       : NULL;
    return predictions != NULL ? show(predictions, arguments) : cli_fail(error);
}

static const IfmOption predict_options[] = {
    { "model", 'm', IFM_OPTION_TEXT, FALSE, "MODEL", "a model of the study" },
    { "size", 's', IFM_OPTION_COUNT, FALSE, "N", "height and width of the image", .minimum = 1, .maximum = 16384 },
    { "json", 0, IFM_OPTION_FILE, FALSE, "FILE", "write the predictions as JSON; - is standard output" },
    { "csv", 0, IFM_OPTION_FILE, FALSE, "FILE", "write a row an algorithm and device as CSV; - is standard output" },
    { "output", 'o', IFM_OPTION_FOLDER, FALSE, "DIR",
      "folder of the study's results; without it out/ and the study's name" },
    { NULL },
};

static const char *const predict_examples[] = {
    "inferometer study predict conv-algorithms --model resnet50 --size 300",
    "predicts each algorithm's latency at a size that was not measured, and says which one to take",
    NULL,
};

const Verb verb_study_predict = {
    .name = "study predict",
    .summary = "predict a model's latency with each convolution algorithm at any size",
    .arguments = "STUDY",
    .min = 1,
    .max = 1,
    .positional = POSITIONAL_STUDY,
    .options = predict_options,
    .details = WHICH_RESULTS
    "\nOf a study of kind conv-algorithms. Time is interpolated between the logarithms of the measured sizes and times, "
    "of the whole inference or layer by layer, whichever was closer at measured sizes that were left out one by one. "
    "\"usually off by\" is the mean of these errors; \"from\" and \"to\" are by their 95 % quantile; \"noise\" is the mean "
    "half-width of the measured medians' intervals. A size beyond the measured ones is a guess.",
    .examples = predict_examples,
    .run = run_predict,
};
