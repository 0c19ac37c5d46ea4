#include <math.h>
#include <string.h>
#include <unistd.h>

#include <inferometer/engine.h>
#include <inferometer/predict.h>
#include <learn/learn.h>
#include <sensor/sensor.h>

#include "verb-predict.h"

/* How long the machine is looked at for --load live. */
#define WINDOW_NS (300 * G_GINT64_CONSTANT(1000000))
#define IDLE "idle"
#define LIVE "live"
#define PROMETHEUS "prometheus:"
/* What a server is asked about: it holds several scrapes. */
#define PROMETHEUS_NS (5 * G_GINT64_CONSTANT(1000000000))

static void report_clear(gpointer data)
{
    const IfmPredictReport *report = data;
    ifm_model_prediction_free((IfmModelPrediction *)report->prediction);
}

int cli_predict(const Arguments *arguments, const PredictAsk *ask)
{
    g_autoptr(GArray) reports = g_array_new(FALSE, FALSE, sizeof(IfmPredictReport));
    g_autofree char *warning = NULL;
    IfmKernelOptions options = { .device = ask->device, .threads = ask->threads, .seed = ask->seed };
    int status = CLI_EXIT_OK;
    g_array_set_clear_func(reports, report_clear);
    cli_fill(arguments, ifm_model_options, &options.open);
    g_autoptr(GPtrArray) opened = cli_open_each(arguments, &options, &status);
    if (opened == NULL || cli_is_none(opened))
        return opened != NULL ? cli_end_each(opened, status) : status;
    for (guint i = 0; i < opened->len; i++)
    {
        const IfmKernelRecords *records = opened->pdata[i];
        const gboolean is_open = records->reason == NULL;
        const IfmPredictReport report = {
            .records = records,
            .prediction = is_open ? ifm_model_predict(ask->model, records, ask->threads, ask->load) : NULL,
            .load = ask->load_words,
            .measured_ns = NAN,
            .place = ask->info
        };
        g_array_append_val(reports, report);
        if (warning == NULL && is_open)
            warning =
                ifm_latency_model_warning(ask->model, ask->info == NULL ? records->processor : NULL, records->runtime);
    }
    IfmPredictReport *all = (IfmPredictReport *)(void *)reports->data;
    for (guint i = 0; i < reports->len; i++)
        all[i].warning = warning;
    status = cli_answer(arguments, (Answer){ .document = ifm_predict_document(all, reports->len),
                                             .key = ask->info != NULL ? "kernels" : NULL,
                                             .json = ifm_predictions_to_json(all, reports->len) });
    return cli_end_each(opened, status);
}

#define DEVICE "onnxruntime:CPU@0"

static gboolean is_description(const char *text)
{
    return g_str_has_suffix(text, ".yaml") || g_str_has_suffix(text, ".yml") || g_str_has_suffix(text, ".json") ||
           g_file_test(text, G_FILE_TEST_IS_REGULAR);
}

IfmLatencyModel *cli_latency_model(const char *path, const char **device, GError **error)
{
    g_autoptr(IfmLatencyModel) model = ifm_latency_model_read(path, error);
    g_autoptr(IfmMachine) described = NULL;
    if (model == NULL)
        return NULL;
    const IfmMachine *machine = *device != NULL ? ifm_latency_model_find_machine(model, *device) : NULL;
    if (machine == NULL && *device != NULL && is_description(*device))
    {
        described = ifm_machine_read(*device, error);
        if (described == NULL)
            return NULL;
        machine = described;
    }
    if (machine != NULL)
        *device = DEVICE;
    return ifm_latency_model_place(model, machine, error) ? g_steal_pointer(&model) : NULL;
}

/* The load of a word, and the word for the page. @metrics: (out) (transfer full) what the load borrows
 * (transfer full) NULL with an error */
static char *load_of(const Arguments *arguments, const IfmLatencyModel *model, const IfmDeviceSpec *spec,
                     IfmLoadState *load, double **metrics, GError **error)
{
    const char *text = cli_text(arguments, "load");
    const IfmPrometheusWait wait = { .budget_ns = cli_integer(arguments, "load-wait"), .say = cli_note_of };
    const gboolean is_asked = g_str_has_prefix(text, PROMETHEUS);
    g_autoptr(GError) trouble = NULL;
    if (is_asked && !ifm_prometheus_is_url(text + strlen(PROMETHEUS)))
    {
        g_autofree char *shown = ifm_prometheus_shown(text + strlen(PROMETHEUS));
        ifm_error_misuse(error, "--load " PROMETHEUS "%s: a URL such as http://127.0.0.1:9090 is expected", shown);
        return NULL;
    }
    if (!g_str_equal(text, LIVE) && !is_asked)
    {
        if (ifm_load_state_parse(text, load, &trouble))
            return g_strdup(g_str_equal(text, IDLE) ? "on an idle machine" : text);
        ifm_error_misuse(error, "--load: %s", trouble->message);
        return NULL;
    }
    if (!is_asked)
        *metrics = ifm_load_state_live(model, spec->cores, spec->n_cores, WINDOW_NS, load);
    else if (!ifm_load_state_await(text + strlen(PROMETHEUS), spec->cores, spec->n_cores, PROMETHEUS_NS, &wait, load,
                                   error))
        return NULL;
    g_autofree char *several = load->competitors > 1 ? g_strdup_printf(", %.1f tasks at a time", load->competitors) : NULL;
    return g_strdup_printf("under the load of now: %.0f %% of its cores%s, %.0f %% of others", 100 * load->same,
                           several != NULL ? several : "", 100 * load->other);
}

static int run_predict(const Arguments *arguments)
{
    g_autoptr(GError) error = NULL;
    const char *with = cli_text(arguments, "with"), *device = cli_text(arguments, "device");
    IfmLoadState load;
    if (with == NULL)
        return cli_usage("needs --with FILE: what `train` wrote");
    g_autoptr(IfmLatencyModel) model = cli_latency_model(with, &device, &error);
    g_autoptr(IfmDeviceSpec) spec = model != NULL ? ifm_device_spec_parse(device, &error) : NULL;
    g_autofree double *metrics = NULL;
    g_autofree char *words = spec != NULL ? load_of(arguments, model, spec, &load, &metrics, &error) : NULL;
    if (words == NULL)
        return cli_fail(error);
    const PredictAsk ask = { .model = model,
                             .device = device,
                             .threads = (int)cli_integer(arguments, "threads"),
                             .seed = 1,
                             .load = &load,
                             .load_words = words };
    return cli_predict(arguments, &ask);
}

static const IfmOption predict_options[] = {
    { "with", IFM_OPTION_FILE, "FILE", "what `train` learnt" },
    { "load", IFM_OPTION_TEXT, "LOAD",
      "what else the machine does: idle; live: what it does now; prometheus:URL: what that server says; 60%: that share of "
      "the same cores; other:60%: of others",
      IDLE },
    { "load-wait", IFM_OPTION_DURATION, "TIME", "how long to wait for scrapes of --load prometheus:URL, at most", "3min",
      .minimum = 0, .maximum = 3600 * G_GINT64_CONSTANT(1000000000) },
    { "device", IFM_OPTION_TEXT, "DEVICE",
      "whose runtime optimises the model, ENGINE:UNIT; where FILE was learnt on several machines: one of them by its name, "
      "or a file that describes another",
      DEVICE, .letter = 'd' },
    { "threads", IFM_OPTION_COUNT, "N", "threads of the runtime", "1", .minimum = 1, .maximum = 1024, .letter = 't' },
    { NULL },
};

const Verb verb_predict = {
    .name = "predict",
    .summary = "predict the latency of models from what was learnt of kernels",
    .arguments = "MODEL|DIR...",
    .positional = POSITIONAL_FILE,
    .tables = { ifm_model_options, cli_page_options, predict_options, cli_json_options, cli_progress_options },
    .details =
        "A model is taken apart into the kernels that its runtime would run; the latency of each is predicted with its "
        "interval, and they are added up. Kernels of unknown operators go by the roofline, and are marked. MODEL is an "
        "ONNX file, a model of the zoo, a kernel of `kernels extract`, or records of `kernels export`; DIR stands for the "
        "files of these in it. What cannot be opened is a row with its reason, and the exit status is 1. Nothing is run "
        "but the runtime's optimisation, "
        "whose outcome is kept.",
    .examples = { { "inferometer predict resnet18,size=160 --with latency.json --load live",
                    "predicts a model of the zoo under what the machine does now" } },
    .run = run_predict,
};
