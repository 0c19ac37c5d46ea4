#include <math.h>
#include <string.h>
#include <unistd.h>

#include <inferometer/engine.h>
#include <inferometer/predict.h>
#include <sensor/sensor.h>

#include "cli.h"

/* How long the machine is looked at for --load live. */
#define WINDOW_NS (300 * G_GINT64_CONSTANT(1000000))
#define IDLE "idle"
#define LIVE "live"
#define PROMETHEUS "prometheus:"
/* What a server is asked about: it holds several scrapes. */
#define PROMETHEUS_NS (5 * G_GINT64_CONSTANT(1000000000))

/* Predicted: what is predicted of one model. */
typedef struct
{
    IfmKernelRecords *records;
    IfmModelPrediction *prediction;
} Predicted;

static void answer_clear(gpointer data)
{
    Predicted *answer = data;
    ifm_model_prediction_free(answer->prediction);
    ifm_kernel_records_free(answer->records);
}

/* The load of a word, and the word for the page. (transfer full) NULL with an error */
static char *load_of(const char *text, const IfmDeviceSpec *spec, IfmLoadState *load, GError **error)
{
    const gboolean is_asked = g_str_has_prefix(text, PROMETHEUS);
    g_autoptr(GError) trouble = NULL;
    if (is_asked && !ifm_prometheus_is_url(text + strlen(PROMETHEUS)))
    {
        ifm_error_misuse(error, "--load %s: a URL such as http://127.0.0.1:9090 is expected", text);
        return NULL;
    }
    if (!g_str_equal(text, LIVE) && !is_asked)
    {
        if (ifm_load_state_parse(text, load, &trouble))
            return g_strdup(g_str_equal(text, IDLE) ? "on an idle machine" : text);
        ifm_error_misuse(error, "--load: %s", trouble->message);
        return NULL;
    }
    *load = (IfmLoadState){ .idle_ns = (double)NAN };
    if (!is_asked)
        ifm_load_state_live(spec->cores, spec->n_cores, WINDOW_NS, load);
    else if (!ifm_prometheus_busy(text + strlen(PROMETHEUS), spec->cores, spec->n_cores, PROMETHEUS_NS, &load->same,
                                  &load->other, error))
        return NULL;
    return g_strdup_printf("under the load of now: %.0f %% of its cores, %.0f %% of others", 100 * load->same,
                           100 * load->other);
}

static int show(const Arguments *arguments, const GArray *answers, const char *load, const char *warning)
{
    g_autofree IfmPredictReport *reports = g_new0(IfmPredictReport, MAX(answers->len, 1));
    for (guint i = 0; i < answers->len; i++)
    {
        const Predicted *answer = &g_array_index(answers, Predicted, i);
        reports[i] = (IfmPredictReport){ answer->records, answer->prediction, load, warning, (double)NAN, NULL };
    }
    return cli_answer(arguments, (Answer){ .document = ifm_predict_document(reports, answers->len),
                                           .json = ifm_predictions_to_json(reports, answers->len) });
}

static int run_predict(const Arguments *arguments)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GArray) answers = g_array_new(FALSE, FALSE, sizeof(Predicted));
    const char *with = cli_text(arguments, "with"), *device = cli_text(arguments, "device");
    const int threads = (int)cli_integer(arguments, "threads");
    IfmLoadState load;
    g_array_set_clear_func(answers, answer_clear);
    if (with == NULL)
        return cli_usage(&verb_predict, "needs --with FILE: what `train` wrote");
    g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse(device, &error);
    g_autoptr(IfmLatencyModel) model = spec != NULL ? ifm_latency_model_read(with, &error) : NULL;
    if (model == NULL)
        return cli_fail(error);
    g_autofree char *words = load_of(cli_text(arguments, "load"), spec, &load, &error);
    if (words == NULL)
        return cli_fail(error);
    g_autofree char *warning = NULL;
    for (const char *const *text = cli_positional(arguments); *text != NULL; text++)
    {
        IfmKernelOptions options = {
            .device = device, .threads = threads, .seed = 1, .interrupted = cli_interrupt_install(), .note = cli_note_of
        };
        cli_fill(arguments, ifm_model_options, &options.open);
        Predicted answer = { .records = ifm_kernel_records_open(*text, &options, &error) };
        if (answer.records == NULL)
            return cli_fail(error);
        answer.prediction = ifm_model_predict(model, answer.records, threads, &load);
        g_array_append_val(answers, answer);
        if (warning == NULL)
            warning = ifm_latency_model_warning(model, answer.records->processor, answer.records->runtime);
    }
    return show(arguments, answers, words, warning);
}

static const IfmOption predict_options[] = {
    { "with", 0, IFM_OPTION_FILE, FALSE, "FILE", "what `train` learnt" },
    { "load", 0, IFM_OPTION_TEXT, FALSE, "LOAD",
      "what else the machine does: idle; live: what it does now; prometheus:URL: what that server says; 60%: that share of "
      "the same cores; other:60%: of others",
      IDLE },
    { "device", 'd', IFM_OPTION_TEXT, FALSE, "DEVICE", "whose runtime optimises the model, ENGINE:UNIT",
      "onnxruntime:CPU@0" },
    { "threads", 't', IFM_OPTION_COUNT, FALSE, "N", "threads of the runtime", "1", .minimum = 1, .maximum = 1024 },
    { "json", 0, IFM_OPTION_OUTPUT, FALSE, "FILE", "write the same as JSON; - is standard output" },
    { NULL },
};

const Verb verb_predict = {
    .name = "predict",
    .summary = "predict the latency of models from what was learnt of kernels",
    .arguments = "MODEL...",
    .positional = POSITIONAL_FILE,
    .tables = { ifm_model_options, cli_page_options },
    .options = predict_options,
    .details =
        "A model is taken apart into the kernels that its runtime would run; the latency of each is predicted with its "
        "interval, and they are added up. Kernels of unknown operators go by the roofline, and are marked. MODEL is an "
        "ONNX file, a model of the zoo, or records of `kernels export`. Nothing is run but the runtime's optimisation, "
        "whose outcome is kept.",
    .examples = { { "inferometer predict resnet18,size=160 --with latency.json --load live",
                    "predicts a model of the zoo under what the machine does now" } },
    .run = run_predict,
};
