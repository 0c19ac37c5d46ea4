#include <string.h>
#include <unistd.h>

#include <inferometer/kernels.h>

#include <document/document.h>

#include "cli.h"

/* The verbs zoo list and zoo export list the models that can be built and write them as ONNX files. */

/* --- zoo list --------------------------------------------------------------------------------------------------------- */

typedef struct
{
    const char *model;
    const IfmZooParameter *parameter;
} Row;

/* @user: the offset of a gint64 in IfmZooParameter; of a choice there is none. */
static void get_integer(const void *record, const void *user, IfmValue *value)
{
    const IfmZooParameter *parameter = ((const Row *)record)->parameter;
    if (parameter->words == NULL)
        ifm_field_get_integer(parameter, user, value);
}

static void get_words(const void *record, const void *user, IfmValue *value)
{
    const IfmZooParameter *parameter = ((const Row *)record)->parameter;
    if (parameter->words != NULL)
        ifm_value_take_text(value, g_strjoinv(" ", (char **)parameter->words()));
}

static void get_word(const void *record, const void *user, IfmValue *value)
{
    const IfmZooParameter *parameter = ((const Row *)record)->parameter;
    if (parameter->words != NULL)
        ifm_value_set_text(value, parameter->words()[parameter->fallback]);
}

static const IfmField parameter_fields[] = {
    { "model", "model", IFM_FIELD_TEXT, IFM_MEMBER(Row, model) }, /* of --document alone */
    { "name", "parameter", IFM_FIELD_TEXT, IFM_MEMBER_VIA(Row, parameter, name) },
    { "default", "default", IFM_FIELD_INTEGER, get_integer, IFM_FIELD_AT(IfmZooParameter, fallback) },
    { "least", "min", IFM_FIELD_INTEGER, get_integer, IFM_FIELD_AT(IfmZooParameter, min) },
    { "most", "max", IFM_FIELD_INTEGER, get_integer, IFM_FIELD_AT(IfmZooParameter, max) },
    { "choices", "or one of", IFM_FIELD_TEXT, get_words, NULL, IFM_FIELD_HIDE_EMPTY },
    { "default_choice", "unless given", IFM_FIELD_TEXT, get_word, NULL, IFM_FIELD_HIDE_EMPTY },
    { "help", "meaning", IFM_FIELD_TEXT, IFM_MEMBER_VIA(Row, parameter, help) },
    { NULL },
};

static const IfmField model_fields[] = {
    { "name", "model", IFM_FIELD_TEXT, IFM_MEMBER(IfmZooEntry, name) },
    { "help", "meaning", IFM_FIELD_TEXT, IFM_MEMBER(IfmZooEntry, help) },
    { NULL },
};

#define NAME_WIDTH 24 /* columns for "  NAME=DEFAULT " */

/* "  batch=1     images (0 to 65536)": what may be given, with what it is where it is not. */
static void append_parameter(GString *out, const IfmZooParameter *parameter, const IfmScreen *screen)
{
    const char *const *words = parameter->words != NULL ? parameter->words() : NULL;
    g_autofree char *value =
        words != NULL ? g_strdup(words[parameter->fallback]) : g_strdup_printf("%" G_GINT64_FORMAT, parameter->fallback);
    g_autofree char *range =
        words != NULL ? g_strjoinv(" or ", (char **)words)
                      : g_strdup_printf("%" G_GINT64_FORMAT " to %" G_GINT64_FORMAT, parameter->min, parameter->max);
    g_autofree char *name = g_strdup_printf("  %s=%s", parameter->name, value);
    g_autofree char *line =
        g_strdup_printf("%s%*s %s (%s)", name, MAX(NAME_WIDTH - 1 - ifm_text_width(name), 0), "", parameter->help, range);
    ifm_format_wrap(out, line, NAME_WIDTH, 0, screen->width);
}

static void append_entry(GString *out, const IfmZooEntry *entry, const IfmScreen *screen)
{
    g_autofree char *head = g_strdup_printf("%s%s%s: %s", screen->colour ? "\033[1m" : "", entry->name,
                                            screen->colour ? "\033[0m" : "", entry->help);
    g_string_append(out, out->len > 0 ? "\n" : "");
    ifm_format_wrap(out, head, 2, 0, screen->width);
    for (const IfmZooParameter *parameter = entry->parameters; parameter->name != NULL; parameter++)
        append_parameter(out, parameter, screen);
}

/* @rows: of all models; those of this one are added. */
static json_t *entry_to_json(const IfmZooEntry *entry, GPtrArray *rows)
{
    const guint n_before = rows->len;
    for (const IfmZooParameter *parameter = entry->parameters; parameter->name != NULL; parameter++)
    {
        Row *row = g_new(Row, 1);
        *row = (Row){ entry->name, parameter };
        g_ptr_array_add(rows, row);
    }
    IfmTable table = { parameter_fields + 1, (const void *const *)rows->pdata + n_before, rows->len - n_before };
    return json_pack("{s:s,s:s,s:o}", "name", entry->name, "help", entry->help, "parameters", ifm_table_to_json(&table));
}

static int run_zoo_list(const Arguments *arguments)
{
    const IfmScreen screen = cli_screen();
    g_autoptr(GString) text = g_string_new(NULL);
    g_autoptr(GPtrArray) entries = g_ptr_array_new(), parameters = g_ptr_array_new_with_free_func(g_free);
    json_t *models = json_array(), *json = ifm_json_begin("zoo", 1);
    for (const IfmZooEntry *entry = ifm_zoo_entries(); entry->name != NULL; entry++)
    {
        append_entry(text, entry, &screen);
        g_ptr_array_add(entries, (void *)entry);
        json_array_append_new(models, entry_to_json(entry, parameters));
    }
    json_object_set_new(json, "models", models);
    IfmDocument *document = ifm_table_document("models", NULL, NULL, model_fields, entries);
    ifm_document_table(document, "parameters", parameter_fields, g_ptr_array_ref(parameters));
    return cli_answer(arguments, (Answer){ .document = document, .json = json, .text = g_strdup(text->str) });
}

const Verb verb_zoo_list = {
    .name = "zoo list",
    .summary = "list the models that can be built, and their parameters",
    .arguments = "",
    .tables = { cli_document_options, cli_json_options },
    .run = run_zoo_list,
};

/* --- zoo export ------------------------------------------------------------------------------------------------------- */

/* "matmul m=512", or "matmul,m=512" as profile has it. (transfer full) */
static char **zoo_words(const char *const *words)
{
    g_autoptr(GStrvBuilder) builder = g_strv_builder_new();
    g_auto(GStrv) parts = g_strsplit(words[0] != NULL ? words[0] : "", ",", -1);
    g_strv_builder_addv(builder, (const char **)parts);
    if (words[0] != NULL)
        g_strv_builder_addv(builder, (const char **)words + 1);
    return g_strv_builder_end(builder);
}

/* The files that were written, a line each on standard output. */
static int announce(const GPtrArray *written)
{
    g_autoptr(GString) text = g_string_new(NULL);
    for (guint i = 0; i < written->len; i++)
        g_string_append_printf(text, "%s\n", (const char *)written->pdata[i]);
    return cli_print(text->str);
}

static gboolean on_written(const char *path, const char *said, void *user)
{
    g_autofree char *line = g_strdup_printf("%s%s%s\n", path, said != NULL ? ": " : "", said != NULL ? said : "");
    cli_log("INFO", "%s%s%s", path, said != NULL ? ": " : "", said != NULL ? said : "");
    return cli_print(line) == CLI_EXIT_OK;
}

/* The store is opened once there is something to keep: where the configuration is refused, there is none. */
static int export_config(const Arguments *arguments)
{
    g_autoptr(GError) error = NULL;
    g_auto(Keep) keep = { .arguments = arguments };
    const IfmExportOptions options = { .folder = cli_text(arguments, "output"),
                                       .force = cli_given(arguments, "force"),
                                       .written = on_written,
                                       .interrupted = cli_interrupt_install(),
                                       .measure = keep_ask,
                                       .measure_user = &keep };
    const gboolean is_done = ifm_export_config(cli_text(arguments, "config"), &options, &error);
    if (cli_interrupt_signal() != 0)
        return CLI_EXIT_SIGNAL + cli_interrupt_signal();
    return is_done ? CLI_EXIT_OK : cli_fail(error);
}

static int run_zoo_export(const Arguments *arguments)
{
    g_auto(GStrv) words = zoo_words(cli_positional(arguments));
    const char *output = cli_text(arguments, "output");
    g_autoptr(GError) error = NULL;
    if (output == NULL)
        return cli_usage("needs -o FILE: where the model goes");
    if (cli_given(arguments, "config"))
        return words[0] != NULL ? cli_usage("--config FILE names the models") : export_config(arguments);
    if (words[0] == NULL)
        return cli_usage("needs NAME, or --config FILE");
    g_autoptr(IfmModel) model =
        ifm_zoo_build(words[0], (const char *const *)words + 1, (guint32)cli_integer(arguments, "seed"), &error);
    if (model == NULL)
    {
        ifm_error_blame_sizes(error);
        return cli_fail(error);
    }
    if (!g_str_equal(output, "-"))
    {
        const IfmModelExport options = { .named = TRUE, .force = cli_given(arguments, "force") };
        g_autoptr(GPtrArray) written = g_ptr_array_new_with_free_func(g_free);
        if (!ifm_model_export(model, output, &options, written, &error))
            return cli_fail(error);
        return cli_given(arguments, "quiet") ? CLI_EXIT_OK : announce(written);
    }
    g_autoptr(GBytes) bytes = ifm_model_serialize(model, &error);
    gsize length = 0;
    const char *data = bytes != NULL ? g_bytes_get_data(bytes, &length) : NULL;
    return bytes != NULL && ifm_output_write("-", data, length, &error) ? CLI_EXIT_OK : cli_fail(error);
}

static const IfmOption zoo_export_options[] = {
    { "output", IFM_OPTION_OUTPUT, "FILE", "where the ONNX file goes, - is standard output; with --config the folder",
      .letter = 'o' },
    { "config", IFM_OPTION_FILE, "FILE",
      "YAML: models, sizes, batches and providers; writes each ONNX file and its optimised graph", .excludes = "seed" },
    { "seed", IFM_OPTION_COUNT, "N", "seed of the weights: equal settings and seed give equal bytes", "1",
      .maximum = G_MAXUINT32 },
    { "force", IFM_OPTION_FLAG, NULL, "replace files that are there with other content and were not exported" },
    { "resume", IFM_OPTION_FLAG, NULL, "with --config: do not run again what the store holds already" },
    { NULL },
};

const Verb verb_zoo_export = {
    .name = "zoo export",
    .summary = "build a model of the zoo and write it as an ONNX file",
    .arguments = "[NAME [KEY=VALUE…]]",
    .positional = POSITIONAL_WORD,
    .tables = { zoo_export_options, cli_progress_options },
    .folder_with = "config",
    .details =
        "`inferometer zoo list` names the models and their parameters.\n"
        "Large weights go into a file of their own, named after the ONNX file: a.weights next to a.onnx. Each file written "
        "is printed. None is written through a symbolic link, and a file of weights that belongs to another model is not "
        "replaced without --force.\n"
        "With --config each graph, as ONNX Runtime optimises it, is run once. Where the memory for that is not there, its "
        "like of batch 1 is run, which the output says. The runs are kept in the folder's store.db: after an interruption "
        "the same command with --resume runs only what is missing. A provider that is not on this machine is an error.",
    .examples = { { "inferometer zoo export matmul m=512 -o matmul.onnx", "builds a matrix product of another size" },
                  { "inferometer zoo export --config examples/export.yaml -o models",
                    "writes models of several sizes and batches, and the graphs that ONNX Runtime makes of them" } },
    .run = run_zoo_export,
};
