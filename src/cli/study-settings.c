#include <string.h>

#include <base/fields.h>
#include <inferometer/engine.h>
#include <zoo/zoo.h>

#include "study-page.h"

/* Keys of a study's file that the command line replaces. */

static const char *const levels[] = { "sanity", "quick", "full", NULL };

const IfmOption study_setting_options[] = {
    { "model", IFM_OPTION_TEXT, "MODEL",
      "of conv-algorithms and other studies of models: these instead of the study's, ONNX files or names of the zoo",
      .repeatable = TRUE },
    { "algorithm", IFM_OPTION_TEXT, "NAME", "of conv-algorithms: these instead of the study's", .repeatable = TRUE },
    { "set", IFM_OPTION_TEXT, "KEY=VALUE", "replaces a key of the study's file, such as batch=[1,2]", .repeatable = TRUE },
    { "level", IFM_OPTION_TEXT, "LEVEL", "of conv-algorithms: sanity, quick or full: 1, 10 or 100 sizes of the image", NULL,
      levels },
    { "test", IFM_OPTION_FLAG, NULL, "--level sanity", .excludes = "level,quick" },
    { "quick", IFM_OPTION_FLAG, NULL, "--level quick", .excludes = "level" },
    { "num-sizes", IFM_OPTION_COUNT, "N", "of conv-algorithms: so many sizes", .minimum = 1, .maximum = 1000 },
    { "max-size", IFM_OPTION_COUNT, "N", "of conv-algorithms: the largest size", .minimum = 32, .maximum = 16384 },
    { "batch", IFM_OPTION_COUNT, "N", "of conv-algorithms: images at once", .minimum = 1, .maximum = 65536 },
    { NULL },
};

const IfmOption study_results_options[] = {
    { "output", IFM_OPTION_FOLDER, "DIR", "folder of the study's results; without it out/ and the study's name",
      .letter = 'o' },
    { NULL },
};

static void list_models(GString *out)
{
    for (const IfmZooEntry *entry = ifm_zoo_entries(); entry->name != NULL; entry++)
        if (entry->takes_images)
            g_string_append_printf(out, "%s\n", entry->name);
}

static void list_algorithms(GString *out)
{
    for (int i = 0; i < IFM_N_CONV_ALGORITHMS; i++)
        g_string_append_printf(out, "%-22s  %s\n", ifm_conv_algorithm_name((IfmConvAlgorithm)i),
                               ifm_conv_algorithm_meaning((IfmConvAlgorithm)i));
}

const IfmOption study_list_options[] = {
    { "list-models", IFM_OPTION_FLAG, NULL, "of conv-algorithms: list the models there are, and measure nothing" },
    { "list-algorithms", IFM_OPTION_FLAG, NULL, "of conv-algorithms: list the algorithms there are, and measure nothing" },
    { "check-cuda", IFM_OPTION_FLAG, NULL,
      "print what convolutions on a GPU need, what is there and how to get the rest, and measure nothing" },
    { NULL },
};

char *study_list(const Arguments *arguments)
{
    g_autoptr(GString) out = g_string_new(NULL);
    if (cli_given(arguments, "list-models"))
        list_models(out);
    if (cli_given(arguments, "list-algorithms"))
        list_algorithms(out);
    return out->len > 0 ? g_string_free(g_steal_pointer(&out), FALSE) : NULL;
}

/* SettingOption: an option that stands for a key of the study's file. */
typedef struct
{
    const char *option, *key;
    gboolean is_list;
} SettingOption;
static const SettingOption setting_keys[] = {
    { "num-sizes", "num_sizes" }, { "max-size", "max_size" },          { "batch", "batch" },
    { "model", "models", TRUE },  { "algorithm", "algorithms", TRUE },
};

/* "/here/my.onnx" of "my.onnx", a name of the zoo as it is: a study's file may lie elsewhere. (transfer full) */
char *study_model_word(const char *word)
{
    g_autofree char *name = g_strndup(word, strcspn(word, ","));
    const gboolean is_path = strchr(word, '/') != NULL || g_str_has_suffix(word, ".onnx") ||
                             (ifm_zoo_find(name, NULL) == NULL && g_file_test(word, G_FILE_TEST_IS_REGULAR));
    return is_path ? g_canonicalize_filename(word, NULL) : g_strdup(word);
}

/* ["resnet50", "/here/my.onnx"], which YAML reads as JSON. (transfer full) */
static char *list_of(const char *option, const char *const *words)
{
    json_auto_t *list = json_array();
    for (; *words != NULL; words++)
    {
        g_autofree char *word = g_str_equal(option, "model") ? study_model_word(*words) : g_strdup(*words);
        json_array_append_new(list, ifm_json_string(word));
    }
    return json_dumps(list, 0);
}

/* study_settings: What was given of them, as KEY=VALUE. (transfer full) */
static char **study_settings(const Arguments *arguments)
{
    g_autoptr(GStrvBuilder) settings = g_strv_builder_new();
    const char *level = cli_given(arguments, "test")    ? "sanity"
                        : cli_given(arguments, "quick") ? "quick"
                                                        : cli_text(arguments, "level");
    if (level != NULL)
    {
        g_autofree char *text = g_strconcat("level=", level, NULL);
        g_strv_builder_add(settings, text);
    }
    for (gsize i = 0; i < G_N_ELEMENTS(setting_keys); i++)
    {
        const SettingOption *at = &setting_keys[i];
        const char *const *texts = cli_texts(arguments, at->option);
        if (!cli_given(arguments, at->option))
            continue;
        g_autofree char *value = at->is_list ? list_of(at->option, texts) : g_strdup(texts[0]),
                        *text = g_strdup_printf("%s=%s", at->key, value);
        g_strv_builder_add(settings, text);
    }
    g_strv_builder_addv(settings, (const char **)cli_texts(arguments, "set"));
    return g_strv_builder_end(settings);
}

/* "--algorithm: "gem" is not …" of "setting: algorithms: "gem" is not …". (transfer full) */
static char *by_option(const Arguments *arguments, const char *message)
{
    for (gsize i = 0; i < G_N_ELEMENTS(setting_keys); i++)
    {
        g_autofree char *start = g_strdup_printf("setting: %s: ", setting_keys[i].key);
        if (cli_given(arguments, setting_keys[i].option) && g_str_has_prefix(message, start))
            return g_strdup_printf("--%s: %s", setting_keys[i].option, message + strlen(start));
    }
    return g_strdup(message);
}

/* fail_to_open: A study that opens without the settings is refused for them: the command line is wrong, not the file. */
static int fail_to_open(const Arguments *arguments, const IfmStudyPlace *place, const GError *error)
{
    g_autoptr(IfmStudy) plain = place->settings[0] != NULL ? ifm_study_open(cli_positional(arguments)[0], NULL) : NULL;
    g_autofree char *message = by_option(arguments, error->message);
    return plain != NULL ? cli_usage("%s", message) : cli_fail(error);
}

int study_open_place(IfmStudyPlace *place, const Arguments *arguments, gboolean results_will_do)
{
    g_autoptr(GError) error = NULL;
    g_auto(GStrv) settings = study_settings(arguments);
    const char *name = cli_positional(arguments)[0], *folder = cli_text(arguments, "output");
    place->settings = (const char *const *)settings;
    const gboolean good = results_will_do ? ifm_study_place_find(place, name, folder, &error)
                                          : ifm_study_place_init(place, name, folder, &error);
    const int status = good ? CLI_EXIT_OK : fail_to_open(arguments, place, error);
    place->settings = NULL;
    if (good && place->study == NULL && settings[0] != NULL)
        return cli_usage("\"%s\": %s holds results, whose study cannot be changed", settings[0], place->folder);
    return status;
}
