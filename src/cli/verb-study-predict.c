
#include <study/study.h>
#include <zoo/zoo.h>

#include "study-page.h"

/* The verb study predict predicts a model's latency with each convolution algorithm at a size from a study's store. */

static int run_predict(const Arguments *arguments)
{
    g_auto(IfmStudyPlace) place = { 0 };
    g_autoptr(GError) error = NULL;
    const char *model = cli_text(arguments, "model");
    const gint64 size = cli_given(arguments, "size") ? cli_integer(arguments, "size") : 0,
                 threads = cli_given(arguments, "threads") ? cli_integer(arguments, "threads") : 0;
    if (model == NULL)
        return cli_usage("needs --model: what to predict");
    if (!ifm_study_place_find(&place, cli_positional(arguments)[0], cli_text(arguments, "output"), &error))
        return cli_fail(error);
    g_autoptr(IfmStore) store = ifm_study_place_open(&place, IFM_STORE_READ, &error);
    g_autoptr(IfmStudyTables) points = store != NULL ? ifm_study_tables(NULL, store, &error) : NULL;
    if (points == NULL)
        return cli_fail(error);
    /* What is neither is refused as a model that the study has not. */
    const gboolean is_other = !ifm_conv_measured(points, model) &&
                              (ifm_model_source_entry(model) != NULL || g_file_test(model, G_FILE_TEST_IS_REGULAR));
    const IfmModelOptions options = { .dims = cli_texts(arguments, "dim") };
    if (!is_other && size == 0)
        return cli_usage("needs --size: %s is predicted between the sizes that were measured", model);
    g_autoptr(GArray) predictions = is_other ? ifm_conv_predict_network(points, model, size, threads, &options, &error)
                                             : ifm_conv_predict(points, model, size, threads, &error);
    if (predictions == NULL)
        return cli_fail(error);
    return cli_answer(arguments,
                      (Answer){ .document = ifm_conv_prediction_document(predictions, model, size), .key = "predictions" });
}

static const IfmOption predict_options[] = {
    { "model", IFM_OPTION_TEXT, "MODEL", "a model of the study; or a file or a model of the zoo that it did not measure",
      .letter = 'm' },
    { "dim", IFM_OPTION_TEXT, "NAME=SIZE", "size of a free dimension of such a model", .repeatable = TRUE },
    { "size", IFM_OPTION_COUNT, "N", "height and width of the image", .minimum = 1, .maximum = 16384, .letter = 's' },
    { "threads", IFM_OPTION_COUNT, "N", "with so many threads, with which the study has to have measured", .minimum = 1,
      .maximum = 4096, .letter = 't' },
    { "json", IFM_OPTION_OUTPUT, "FILE", "write the predictions as JSON; - is standard output" },
    { "csv", IFM_OPTION_OUTPUT, "FILE", "write a row an algorithm and device as CSV; - is standard output" },
    { NULL },
};

const Verb verb_study_predict = {
    .name = "study predict",
    .summary = "predict a model's latency with each convolution algorithm at any size",
    .arguments = "STUDY",
    .positional = POSITIONAL_STUDY,
    .tables = { cli_page_options, predict_options, study_results_options },
    .details = WHICH_RESULTS
    "\nOf a study of kind conv-algorithms. Time is interpolated between the logarithms of the measured sizes and times, "
    "of the whole inference or layer by layer, whichever was closer at measured sizes that were left out one by one. "
    "\"MAPE\" is the mean of these errors; \"from\" and \"to\" are by their 95 % quantile; \"noise\" is the mean "
    "half-width of the measured medians' intervals. A size beyond the measured ones is a guess.\n\n"
    "Of a network that the study did not measure, each layer's time is learnt from the shapes of the layers that it did, "
    "by "
    "algorithm; the errors are of each measured network, predicted from the others.",
    .examples = { { "inferometer study predict conv-algorithms --model resnet50 --size 300",
                    "predicts each algorithm's latency at a size that was not measured, and shows which one to take" } },
    .run = run_predict,
};
