#include <inferometer/engine.h>

#include "study-page.h"

/* Keys of a study's file that the command line replaces. */

static const char *const levels[] = { "sanity", "quick", "full", NULL };

const IfmOption study_setting_options[] = {
    { "set", IFM_OPTION_TEXT, "KEY=VALUE", "replaces a key of the study's file, such as batch=[1,2]", .repeatable = TRUE },
    { "level", IFM_OPTION_TEXT, "LEVEL", "of conv-algorithms: sanity, quick or full: 1, 10 or 100 sizes of the image", NULL,
      levels },
    { "test", IFM_OPTION_FLAG, NULL, "--level sanity" },
    { "quick", IFM_OPTION_FLAG, NULL, "--level quick" },
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
        if (entry->min_image > 0)
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

/* study_settings: What was given of them, as KEY=VALUE. (transfer full) */
static char **study_settings(const Arguments *arguments)
{
    static const struct
    {
        const char *option, *key;
    } keys[] = { { "num-sizes", "num_sizes" }, { "max-size", "max_size" }, { "batch", "batch" } };
    g_autoptr(GStrvBuilder) settings = g_strv_builder_new();
    const char *level = cli_given(arguments, "test")    ? "sanity"
                        : cli_given(arguments, "quick") ? "quick"
                                                        : cli_text(arguments, "level");
    if (level != NULL)
    {
        g_autofree char *text = g_strconcat("level=", level, NULL);
        g_strv_builder_add(settings, text);
    }
    for (gsize i = 0; i < G_N_ELEMENTS(keys); i++)
    {
        g_autofree char *text =
            g_strdup_printf("%s=%" G_GINT64_FORMAT, keys[i].key, cli_integer(arguments, keys[i].option));
        if (cli_given(arguments, keys[i].option))
            g_strv_builder_add(settings, text);
    }
    g_strv_builder_addv(settings, (const char **)cli_texts(arguments, "set"));
    return g_strv_builder_end(settings);
}

/* fail_to_open: A study that opens without the settings is refused for them: the command line is wrong, not the file. */
static int fail_to_open(const Arguments *arguments, const IfmStudyPlace *place, const GError *error)
{
    g_autoptr(IfmStudy) plain = place->settings[0] != NULL ? ifm_study_open(cli_positional(arguments)[0], NULL) : NULL;
    return plain != NULL ? cli_usage("%s", error->message) : cli_fail(error);
}

int study_open_place(IfmStudyPlace *place, const Arguments *arguments, gboolean results_will_do)
{
    g_autoptr(GError) error = NULL;
    g_auto(GStrv) settings = study_settings(arguments);
    const char *name = cli_positional(arguments)[0], *folder = cli_text(arguments, "output");
    if (cli_given(arguments, "level") + cli_given(arguments, "test") + cli_given(arguments, "quick") > 1)
        return cli_usage("--level, --test and --quick: give one of them");
    place->settings = (const char *const *)settings;
    const gboolean good = results_will_do ? ifm_study_place_find(place, name, folder, &error)
                                          : ifm_study_place_init(place, name, folder, &error);
    const int status = good ? CLI_EXIT_OK : fail_to_open(arguments, place, error);
    place->settings = NULL;
    if (good && place->study == NULL && settings[0] != NULL)
        return cli_usage("\"%s\": %s holds results, whose study cannot be changed", settings[0], place->folder);
    return status;
}
