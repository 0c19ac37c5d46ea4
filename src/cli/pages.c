#include <errno.h>
#include <glib/gstdio.h>
#include <unistd.h>

#include "cli.h"

/* The documents of an answer: on the terminal, as a page, as pictures. */

const IfmOption cli_page_options[] = {
    { "html", 0, IFM_OPTION_OUTPUT, FALSE, "FILE",
      "write a page with figures that zoom and tables that sort, one file for any browser; - is standard output" },
    { "figures", 0, IFM_OPTION_FOLDER, FALSE, "DIR", "write each figure as a picture (SVG) into this folder" },
    { NULL },
};

#define BRIEF_LINES 40 /* without --all */

/* "profile resnet18": the verb and what it was of. (transfer full) */
static char *title_of(const Arguments *arguments)
{
    g_autofree char *words = g_strjoinv(" ", (char **)cli_positional(arguments));
    return g_strstrip(g_strdup_printf("%s %s", cli_verb_of(arguments)->name, words));
}

/* A second figure of one key gets a number. */
static int write_figures(const char *folder, IfmDocument *const *documents, gsize n)
{
    g_autoptr(GHashTable) used = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    if (g_mkdir_with_parents(folder, 0777) != 0)
    {
        g_autoptr(GError) error =
            g_error_new(IFM_ERROR, IFM_ERROR_UNAVAILABLE, "%s: cannot be made: %s", folder, g_strerror(errno));
        return cli_fail(error);
    }
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

int cli_write_pages(const Arguments *arguments, IfmDocument *const *documents, gsize n)
{
    int status = CLI_EXIT_OK;
    if (!cli_has_option(arguments, "html"))
        return status;
    const char *html_path = cli_text(arguments, "html"), *folder = cli_text(arguments, "figures");
    if (html_path != NULL)
    {
        g_autofree char *title = title_of(arguments);
        g_autofree char *html = ifm_documents_to_html((const IfmDocument *const *)documents, n, title);
        status = cli_write(html_path, html);
    }
    return folder != NULL && status == CLI_EXIT_OK ? write_figures(folder, documents, n) : status;
}

gboolean cli_page_to_stdout(const Arguments *arguments)
{
    return cli_has_option(arguments, "html") && g_strcmp0(cli_text(arguments, "html"), "-") == 0;
}

void cli_add_timeline(const Arguments *arguments, GPtrArray *documents, const IfmTrace *const *traces, gsize n_traces,
                      const IfmTraceQuestion *question)
{
    gboolean on_screen = cli_given(arguments, "timeline");
    if (n_traces == 0 || (!on_screen && cli_text(arguments, "html") == NULL && cli_text(arguments, "figures") == NULL))
        return;
    IfmDocument *document = ifm_timeline_document(traces, n_traces, question);
    for (guint s = 0; s < document->sections->len; s++)
    {
        const GPtrArray *blocks = ((const IfmSection *)document->sections->pdata[s])->blocks;
        for (guint i = 0; i < blocks->len; i++)
            ((IfmBlock *)blocks->pdata[i])->no_screen |= !on_screen;
    }
    g_ptr_array_add(documents, document);
}

static int show(const Arguments *arguments, const GPtrArray *documents, int lines)
{
    int status = cli_write_pages(arguments, (IfmDocument *const *)documents->pdata, documents->len);
    if (status != CLI_EXIT_OK || cli_page_to_stdout(arguments))
        return status;
    IfmScreen screen = ifm_screen_detect(STDOUT_FILENO);
    screen.lines = lines;
    g_autofree char *text = ifm_documents_to_screen((const IfmDocument *const *)documents->pdata, documents->len, &screen);
    return cli_print(text);
}

int cli_show(const Arguments *arguments, const GPtrArray *documents)
{
    return show(arguments, documents, 0);
}

int cli_show_brief(const Arguments *arguments, const GPtrArray *documents)
{
    return show(arguments, documents, cli_given(arguments, "all") ? 0 : BRIEF_LINES);
}

int cli_show_one(const Arguments *arguments, IfmDocument *document)
{
    g_autoptr(GPtrArray) documents = g_ptr_array_new();
    g_ptr_array_add(documents, document);
    return cli_show(arguments, documents);
}
