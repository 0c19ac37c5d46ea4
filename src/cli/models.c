#include <string.h>

#include "cli.h"

/* Verbs that take several models: what cannot be opened is a row and a line, and the others go on. */

GPtrArray *cli_open_each(const Arguments *arguments, const IfmKernelOptions *options, int *status)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(Progress) progress = progress_new_brief(arguments);
    g_auto(GStrv) words = ifm_kernel_records_words(cli_positional(arguments), TRUE);
    IfmKernelOptions asked = *options;
    asked.interrupted = cli_interrupt_install();
    asked.note = cli_note_of;
    asked.progress = progress_of;
    asked.user = progress;
    GPtrArray *all = ifm_kernel_records_open_each((const char *const *)words, &asked, &error);
    if (all == NULL)
        *status = cli_fail(error);
    return all;
}

gboolean cli_is_none(const GPtrArray *records)
{
    return records->len == 1 && ((const IfmKernelRecords *)records->pdata[0])->reason != NULL;
}

int cli_end_each(const GPtrArray *records, int status)
{
    const IfmKernelRecords *first = NULL;
    guint n = 0;
    for (guint i = 0; i < records->len; i++)
    {
        const IfmKernelRecords *one = records->pdata[i];
        n += one->reason != NULL;
        first = first == NULL && one->reason != NULL ? one : first;
        if (one->reason != NULL && records->len > 1)
            cli_complain("%s%s%s", strstr(one->reason, one->model) == NULL ? one->model : "",
                         strstr(one->reason, one->model) == NULL ? ": " : "", one->reason);
    }
    g_autoptr(GError) error = first != NULL ? g_error_new_literal(IFM_ERROR, first->code, first->reason) : NULL;
    if (error == NULL)
        return status;
    if (cli_is_none(records))
        return cli_fail(error);
    if (status != CLI_EXIT_OK)
        return status;
    return n < records->len ? CLI_EXIT_FAILED : ifm_error_exit_status(error);
}
