#include <unistd.h>

#include <base/base.h>
#include <document/summary.h>

#include "cli.h"

/* What a verb found, as its files and on the terminal. */

#define DOCUMENT_ROW                                                                                                       \
    {                                                                                                                      \
        "document", IFM_OPTION_OUTPUT, "FILE",                                                                             \
            "write what is shown as JSON: sections, tables with their keys; - is standard output"                          \
    }

const IfmOption cli_document_options[] = { DOCUMENT_ROW, { NULL } };

const IfmOption cli_page_options[] = {
    { "html", IFM_OPTION_OUTPUT, "FILE",
      "write a page with figures that zoom and tables that sort, one file for any browser; - is standard output" },
    { "figures", IFM_OPTION_FOLDER, "DIR", "write each figure as a picture (SVG) into this folder" },
    DOCUMENT_ROW,
    { "all", IFM_OPTION_FLAG, NULL,
      "show all there is; without it at most 40 lines, which end with what they leave out (files are whole)" },
    { NULL },
};

const IfmOption cli_json_options[] = {
    { "json", IFM_OPTION_OUTPUT, "FILE", "write the same as JSON; - is standard output" },
    { NULL },
};

#define BRIEF_LINES 40 /* without --all */

/* A second figure of one key gets a number. */
static int write_figures(const char *folder, IfmDocument *const *documents, gsize n)
{
    g_autoptr(GHashTable) used = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autoptr(GError) error = NULL;
    if (!ifm_file_make_folder(folder, &error))
        return cli_fail(error);
    for (gsize i = 0; i < n; i++)
    {
        g_auto(GStrv) keys = ifm_document_figures(documents[i]);
        for (char **key = keys; *key != NULL; key++)
        {
            g_autofree char *name = g_strdelimit(g_strdup(*key), "/", '-');
            for (int number = 2; g_hash_table_contains(used, name); number++)
            {
                g_free(name);
                name = g_strdup_printf("%s-%d", *key, number);
            }
            g_hash_table_add(used, g_strdup(name));
            g_autofree char *file = g_strconcat(name, ".svg", NULL), *path = g_build_filename(folder, file, NULL),
                            *picture = ifm_document_to_svg(documents[i], *key);
            int status = cli_write(path, picture);
            if (status != CLI_EXIT_OK)
                return status;
        }
    }
    return CLI_EXIT_OK;
}

gboolean cli_wants(const Arguments *arguments, const char *output)
{
    return cli_output(arguments, output) != NULL;
}

IfmScreen cli_screen(void)
{
    return ifm_screen_detect(STDOUT_FILENO);
}

GPtrArray *cli_documents_new(void)
{
    return g_ptr_array_new_with_free_func((GDestroyNotify)ifm_document_free);
}

void cli_add_timeline(const Arguments *arguments, GPtrArray *documents, const IfmTrace *const *traces, gsize n_traces,
                      const IfmTraceQuestion *question)
{
    if (n_traces > 0 && (cli_wants(arguments, "html") || cli_wants(arguments, "figures")))
        g_ptr_array_add(documents, ifm_timeline_document(traces, n_traces, question));
}

/* One document: the sections of all. (transfer full) */
static json_t *document_to_json(const GPtrArray *documents)
{
    json_t *json = ifm_document_to_json(documents->pdata[0]);
    for (guint i = 1; i < documents->len; i++)
    {
        json_auto_t *more = ifm_document_to_json(documents->pdata[i]);
        json_array_extend(json_object_get(json, "sections"), json_object_get(more, "sections"));
    }
    return json;
}

static int write_files(const Arguments *arguments, const Answer *answer)
{
    const GPtrArray *documents = answer->documents;
    const gboolean has_json = answer->json != NULL || documents->len > 0,
                   has_csv = answer->csv != NULL || documents->len > 0;
    IfmDocument *const *all = (IfmDocument *const *)documents->pdata;
    json_auto_t *summary = documents->len > 0 ? ifm_document_summary_to_json(all[0]) : NULL;
    int status = CLI_EXIT_OK;
    if (cli_wants(arguments, "json") && has_json)
    {
        json_auto_t *json = answer->json != NULL  ? json_incref(answer->json)
                            : answer->key != NULL ? ifm_table_to_json(&ifm_document_find(all[0], answer->key)->table)
                                                  : document_to_json(documents);
        if (json_is_object(json) && summary != NULL)
            json_object_set(json, "summary", summary);
        status = cli_write_json(cli_text(arguments, "json"), json);
    }
    if (cli_wants(arguments, "csv") && has_csv && status == CLI_EXIT_OK)
    {
        g_autofree char *csv = answer->csv != NULL ? g_strdup(answer->csv) : ifm_document_to_csv(all[0], answer->key);
        status = cli_write(cli_text(arguments, "csv"), csv);
    }
    /* JSON and CSV are written even where the verb's own files failed; document, page, figures and screen are not. */
    status = status != CLI_EXIT_OK ? status : answer->status;
    if (cli_wants(arguments, "document") && documents->len > 0 && status == CLI_EXIT_OK)
    {
        json_auto_t *json = document_to_json(documents);
        status = cli_write_json(cli_text(arguments, "document"), json);
    }
    if (cli_wants(arguments, "html") && documents->len > 0 && status == CLI_EXIT_OK)
    {
        g_autofree char *words = g_strjoinv(" ", (char **)cli_positional(arguments));
        g_autofree char *title = g_strstrip(g_strdup_printf("%s %s", cli_verb_of(arguments)->name, words));
        g_autofree char *html = ifm_documents_to_html((const IfmDocument *const *)all, documents->len, title);
        status = cli_write(cli_text(arguments, "html"), html);
    }
    return cli_wants(arguments, "figures") && documents->len > 0 && status == CLI_EXIT_OK
               ? write_figures(cli_text(arguments, "figures"), all, documents->len)
               : status;
}

/* A verb without the option, one that lists, leaves nothing out: each row was asked for. */
static gboolean wants_all(const Arguments *arguments)
{
    for (const IfmOption *const *row = cli_rows(arguments); *row != NULL; row++)
        if (g_str_equal((*row)->name, "all"))
            return cli_given(arguments, "all");
    return TRUE;
}

int cli_answer(const Arguments *arguments, Answer answer)
{
    g_autoptr(GPtrArray) documents = answer.documents = answer.documents != NULL ? answer.documents : cli_documents_new();
    json_auto_t *json = answer.json;
    g_autofree char *csv G_GNUC_UNUSED = answer.csv, *text = answer.text;
    g_autofree char *command = cli_command_line(arguments, NULL), *again = cli_command_line(arguments, "--resume");
    if (answer.document != NULL)
        g_ptr_array_add(documents, answer.document);
    for (guint i = 0; i < documents->len; i++)
        ifm_document_command(documents->pdata[i], command, again);
    const int status = write_files(arguments, &answer);
    if (status != CLI_EXIT_OK || cli_to_stdout(arguments))
        return status;
    IfmScreen screen = cli_screen();
    screen.lines = answer.whole || wants_all(arguments) ? 0 : BRIEF_LINES;
    if (text == NULL)
        text = ifm_documents_to_screen((const IfmDocument *const *)documents->pdata,
                                       answer.n_shown > 0 ? answer.n_shown : documents->len, &screen);
    return cli_print(text);
}
