#include <unistd.h>

#include <inferometer/engine.h>
#include <profile/tune.h>
#include <study/findings.h>
#include <study/study.h>

#include "cli.h"

/* A tuned model: made, or looked at; and the tuning cache: what "--conv best" measured of each layer shape. */

#define TUNED(member) IFM_MEMBER(IfmConvTuned, member)

static const IfmField fields[] = {
    { "shape", "layer shape", IFM_FIELD_TEXT, TUNED(shape) },
    { "n_threads", "threads", IFM_FIELD_INTEGER, TUNED(n_threads) },
    { "algorithm", "fastest", IFM_FIELD_TEXT, TUNED(algorithm) },
    { "time_ns", "time", IFM_FIELD_DURATION, TUNED(time_ns) },
    { "runtime_ns", "runtime's", IFM_FIELD_DURATION, TUNED(runtime_ns) },
    { "processor", "processor", IFM_FIELD_TEXT, TUNED(processor), IFM_FIELD_FOLD | IFM_FIELD_BREAK },
    { "library", "library", IFM_FIELD_TEXT, TUNED(library), IFM_FIELD_FOLD | IFM_FIELD_BREAK },
    { NULL },
};

static int list(const Arguments *arguments, const char *path)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) rows = ifm_conv_tuning_load(path, &error);
    if (rows == NULL)
        return cli_fail(error);
    const IfmTable table = { fields, (const void *const *)rows->pdata, rows->len };
    json_t *json = ifm_json_begin("tune", 1);
    json_object_set_new(json, "rows", ifm_table_to_json(&table));
    return cli_answer(arguments,
                      (Answer){ .document = ifm_table_document("tuned", NULL, NULL, fields, rows),
                                .json = json,
                                .text = rows->len == 0 ? g_strdup_printf("%s: nothing is tuned yet\n", path) : NULL });
}

static int look_at_cache(const Arguments *arguments)
{
    g_autoptr(GError) error = NULL;
    const char *given = cli_text(arguments, "cache");
    g_autofree char *path = given != NULL ? g_strdup(given) : ifm_conv_tuning_path();
    if (!cli_given(arguments, "clear"))
        return list(arguments, path);
    return ifm_conv_tuning_clear(path, &error) ? CLI_EXIT_OK : cli_fail(error);
}

static int show(const Arguments *arguments, const char *path)
{
    g_autoptr(GError) error = NULL;
    json_t *json = NULL;
    IfmDocument *document = ifm_tuned_show_document(path, &json, &error);
    return document != NULL ? cli_answer(arguments, (Answer){ .document = document, .json = json }) : cli_fail(error);
}

/* What a study measured: its points outlive the tuning. */
typedef struct
{
    IfmStudyPlace place;
    IfmStore *store;
    IfmStudyTables *points;
    IfmTunePredictor predictor;
} Predicting;

static void predicting_clear(Predicting *self)
{
    g_clear_pointer(&self->points, ifm_study_tables_free);
    g_clear_pointer(&self->store, ifm_store_close);
    ifm_study_place_clear(&self->place);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Predicting, predicting_clear)

static gboolean predicting_init(Predicting *self, const char *study, GError **error)
{
    if (!ifm_study_place_find(&self->place, study, NULL, error))
        return FALSE;
    self->store = ifm_study_place_open(&self->place, IFM_STORE_READ, error);
    self->points = self->store != NULL ? ifm_study_tables(NULL, self->store, error) : NULL;
    if (self->points == NULL || !ifm_conv_predict_check(self->points, error))
        return FALSE;
    self->predictor = (IfmTunePredictor){ self->points->name, ifm_conv_choose, self->points };
    return TRUE;
}

static int tune(const Arguments *arguments, const char *model)
{
    g_autoptr(Progress) progress = progress_new(arguments);
    const IfmProfileWatch reported = progress_watch(progress);
    const char *study = cli_text(arguments, "predict");
    g_auto(Predicting) predicting = { 0 };
    g_auto(IfmTuned) tuned = { 0 };
    g_autoptr(GError) error = NULL;
    IfmTuneOptions options;
    ifm_tune_options_init(&options);
    cli_fill(arguments, ifm_tune_options, &options);
    options.model = model;
    options.watch = &reported;
    if (study != NULL && !predicting_init(&predicting, study, &error))
        return cli_fail(error);
    options.predictor = study != NULL ? &predicting.predictor : NULL;
    const gboolean is_done = ifm_tune_model(&options, cli_interrupt_install(), &tuned, &error);
    const int number = cli_interrupt_signal();
    if (!is_done && number != 0)
    {
        cli_complain("interrupted: nothing was written");
        return CLI_EXIT_SIGNAL + number;
    }
    if (!is_done)
        return cli_fail(error);
    const int status =
        cli_answer(arguments, (Answer){ .document = ifm_tuned_document(&tuned), .json = ifm_tuned_json(&tuned) });
    if (status != CLI_EXIT_OK || tuned.path != NULL)
        return status;
    cli_complain("%s is not written: %s", options.path, tuned.why);
    return CLI_EXIT_FAILED;
}

static const IfmOption predict_options[] = {
    { "predict", IFM_OPTION_TEXT, "STUDY",
      "do not measure the algorithms: predict them from a study of kind conv-algorithms, or a folder with its results" },
    { NULL },
};

static const IfmOption show_options[] = {
    { "show", IFM_OPTION_FILE, "FILE", "what a tuned model was tuned for, and what would be replaced here",
      .excludes = "list,clear,cache" },
    { NULL },
};

static const IfmOption cache_options[] = {
    { "list", IFM_OPTION_FLAG, NULL, "show the cache: what --conv best measured; as without a model" },
    { "clear", IFM_OPTION_FLAG, NULL, "remove the cache: all shapes are measured again", .excludes = "json,document" },
    { "cache", IFM_OPTION_FILE, "FILE", "the cache, instead of $IFM_TUNING_CACHE or the user's" },
    { NULL },
};

/* The first option of a table that was given; NULL: none was. */
static const char *first_given(const Arguments *arguments, const IfmOption *table)
{
    const char *found = NULL;
    for (const IfmOption *option = table; found == NULL && (option->name != NULL || option->table != NULL); option++)
        if (option->table != NULL)
            found = first_given(arguments, option->table);
        else
            found = cli_given(arguments, option->name) ? option->name : NULL;
    return found;
}

static int run_tune(const Arguments *arguments)
{
    const char *model = cli_positional(arguments)[0], *shown = cli_text(arguments, "show");
    const char *of_tuning = first_given(arguments, ifm_tune_options);
    if (of_tuning == NULL)
        of_tuning = first_given(arguments, predict_options);
    if (shown != NULL && model != NULL)
        return cli_usage("--show FILE looks at a tuned model: it takes no other");
    if (model == NULL && of_tuning != NULL)
        return cli_usage("--%s is of tuning a model: name one", of_tuning);
    if (shown != NULL)
        return show(arguments, shown);
    if (model != NULL && first_given(arguments, cache_options) != NULL)
        return cli_usage("--%s is of the cache: it takes no model", first_given(arguments, cache_options));
    return model != NULL ? tune(arguments, model) : look_at_cache(arguments);
}

const Verb verb_tune = {
    .name = "tune",
    .summary = "write a model whose convolutions run the fastest way",
    .arguments = "[MODEL]",
    .positional = POSITIONAL_FILE,
    .tables = { ifm_tune_options, predict_options, show_options, cache_options, cli_document_options, cli_json_options,
                cli_progress_options },
    .details =
        "The convolutions of the model with what lies between them become nodes of the operator inferometer:Region. Their "
        "algorithms are measured within the model, interleaved, and the whole against the runtime's own in pairs of "
        "processes. "
        "Where it is faster, with the interval of compare, and its outputs are right, it is written; else nothing is, one "
        "line says why, and the exit status is 1.\n"
        "With --predict no algorithm is measured: each is chosen by the shape of its layer, in about a second. The whole "
        "is compared all the same.\n"
        "Any program with ONNX Runtime 1.17 or newer loads the file, with libinferometer_ops.so registered. It is right on "
        "every processor: an algorithm that one lacks is replaced.\n"
        "Without a model, and with --list, it shows what profile --conv best measured of each layer shape. That cache is "
        "$IFM_TUNING_CACHE, or inferometer/convolutions.json in $XDG_CACHE_HOME (~/.cache).",
    .examples = { { "inferometer tune model.onnx --threads 4 -o tuned.onnx", "writes the model, tuned for four threads" },
                  { "inferometer tune model.onnx --predict conv-algorithms -d onnxruntime:CPU@0 -o tuned.onnx",
                    "chooses the algorithms by what a study measured of other networks" },
                  { "inferometer tune --show tuned.onnx", "says what it was tuned for, and what would be replaced here" },
                  { "inferometer tune --list", "shows the algorithm that was the fastest for each layer shape" } },
    .run = run_tune,
};
