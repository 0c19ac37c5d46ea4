#include <unistd.h>

#include <inferometer/engine.h>

#include "cli.h"

/* The tuning cache: what "best" measured of each layer shape. */

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

static int show(const Arguments *arguments, const char *path)
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

static int run_tune(const Arguments *arguments)
{
    g_autoptr(GError) error = NULL;
    const char *given = cli_text(arguments, "cache");
    g_autofree char *path = given != NULL ? g_strdup(given) : ifm_conv_tuning_path();
    if (cli_given(arguments, "clear") && cli_given(arguments, "json"))
        return cli_usage("--clear removes the cache: there is nothing for --json to write");
    if (!cli_given(arguments, "clear"))
        return show(arguments, path);
    return ifm_conv_tuning_clear(path, &error) ? CLI_EXIT_OK : cli_fail(error);
}

static const IfmOption tune_options[] = {
    { "clear", IFM_OPTION_FLAG, NULL, "remove the cache: all shapes are measured again" },
    { "cache", IFM_OPTION_FILE, "FILE", "the cache, instead of $IFM_TUNING_CACHE or the user's" },
    { NULL },
};

const Verb verb_tune = {
    .name = "tune",
    .summary = "show or clear what --conv best measured",
    .arguments = "",
    .tables = { cli_document_options, tune_options, cli_json_options },
    .details = "With --conv best, profile measures each layer shape once within the model, for each processor, number of "
               "threads and version of the libraries, and keeps the fastest algorithm. The cache is $IFM_TUNING_CACHE, or "
               "inferometer/convolutions.json in $XDG_CACHE_HOME (~/.cache).",
    .examples = { { "inferometer tune", "shows the algorithm that was the fastest for each layer shape" } },
    .run = run_tune,
};
