#include <measure/kinds.h>

#include "cli.h"

static int run_nap(const Arguments *arguments)
{
    g_autoptr(GError) error = NULL;
    g_auto(Keep) keep = { .arguments = arguments };
    const IfmNapCase nap = { cli_integer(arguments, "length"), { .warmup = 1, .runs = 6, .level = 0.95 } };
    g_autoptr(IfmMeasurement) measurement = keep_ask("nap", &ifm_kind_nap, &nap, &keep, &error);
    if (measurement == NULL)
        return cli_fail(error);
    g_autofree char *median = ifm_format_duration(measurement->summary.median), *line = g_strconcat(median, "\n", NULL);
    return cli_print(line);
}

static const IfmOption options[] = {
    { "output", IFM_OPTION_FOLDER, "DIR", "where it is kept", ".", .letter = 'o' },
    { "resume", IFM_OPTION_FLAG, NULL, "take what is kept there" },
    { "length", IFM_OPTION_COUNT, "US", "how long", "100", .minimum = 1, .maximum = 1000000 },
    { NULL },
};

const Verb verb_nap = { .name = "nap",
                        .summary = "measure a nap",
                        .arguments = "",
                        .tables = { options },
                        .details = "A nap is what the machine makes of it.",
                        .examples = { { "inferometer nap --length 500", "naps for half a millisecond" } },
                        .run = run_nap };
