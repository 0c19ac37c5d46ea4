#include <unistd.h>

#include <base/base.h>

#include "cli.h"

/* How often it says what it reached, and how often it looks whether it is to end. */
#define SAY_NS (5 * G_GINT64_CONSTANT(1000000000))
#define LOOK_US 20000

static void append_reading(GString *line, const IfmStressOptions *options, const IfmStressReading *reading)
{
    g_autofree char *window = ifm_format_duration((double)reading->window_ns),
                    *cores = g_strdup_printf("%zu core%s", reading->n_cores, ifm_plural(reading->n_cores));
    g_string_append_printf(line, "%s on %s: asked %.1f %%, achieved %.1f %%, %.*f %s, over %s",
                           ifm_stress_words()[options->kind], options->device != NULL ? options->device : cores,
                           100 * reading->asked, 100 * reading->achieved,
                           reading->work_per_s < 1e10   ? 3
                           : reading->work_per_s < 1e12 ? 1
                                                        : 0,
                           reading->work_per_s / 1e9, options->kind == IFM_STRESS_GEMM ? "GFLOP/s" : "GB/s", window);
}

/* A line every few seconds. Returns: the exit status. */
static int hold(IfmStressor *stressor, const IfmStressOptions *options, gint64 for_ns)
{
    const gint *interrupted = cli_interrupt_install();
    const gint64 began_us = g_get_monotonic_time();
    gint64 said_us = began_us, now_us = began_us;
    while (g_atomic_int_get(interrupted) == 0 && (for_ns == 0 || now_us - began_us < for_ns / 1000))
    {
        g_usleep(LOOK_US);
        now_us = g_get_monotonic_time();
        if ((now_us - said_us) * 1000 < SAY_NS && !(for_ns > 0 && now_us - began_us >= for_ns / 1000))
            continue;
        said_us = now_us;
        g_autoptr(GString) line = g_string_new(NULL);
        IfmStressReading reading;
        ifm_stressor_read(stressor, &reading);
        if (reading.ended != NULL)
        {
            cli_complain("%s", reading.ended);
            return CLI_EXIT_FAILED;
        }
        append_reading(line, options, &reading);
        g_string_append_c(line, '\n');
        const int status = cli_print(line->str);
        if (status != CLI_EXIT_OK)
            return status;
    }
    return g_atomic_int_get(interrupted) != 0 ? CLI_EXIT_SIGNAL + cli_interrupt_signal() : CLI_EXIT_OK;
}

/* "0.6" or "60%"; here 1 is all of the time, and not a percentage. */
static gboolean parse_intensity(const char *text, double *intensity)
{
    char *end = NULL;
    *intensity = g_ascii_strtod(text, &end);
    if (end != text && g_str_equal(end, "%"))
        *intensity /= 100;
    else if (end == text || *end != '\0')
        return FALSE;
    return *intensity >= 0 && *intensity <= 1;
}

static int run_stress(const Arguments *arguments)
{
    g_autoptr(GError) error = NULL;
    IfmStressOptions options = { .cores = cli_text(arguments, "cores"), .device = cli_text(arguments, "device") };
    if (!parse_intensity(cli_text(arguments, "intensity"), &options.intensity))
        return cli_usage("--intensity: \"%s\" is no share from 0 to 1", cli_text(arguments, "intensity"));
    if (!ifm_stress_parse(cli_text(arguments, "kind"), &options.kind, &error))
        return cli_usage("--kind: %s", error->message);
    g_autoptr(IfmStressor) stressor = ifm_stressor_start(&options, &error);
    if (stressor == NULL)
        return g_error_matches(error, IFM_ERROR, IFM_ERROR_INVALID) ? cli_usage("%s", error->message) : cli_fail(error);
    return hold(stressor, &options, cli_integer(arguments, "for"));
}

static const IfmOption stress_options[] = {
    { "kind", IFM_OPTION_TEXT, "KIND", "gemm, copy or random: what is done while busy; random on cores alone", "gemm" },
    { "intensity", IFM_OPTION_TEXT, "SHARE", "share of the time that each core, or the GPU, is busy, 0 to 1", "1" },
    { "cores", IFM_OPTION_TEXT, "LIST", "such as 0 or 0,2-3, one thread a core; else all that there are", .is_list = TRUE },
    { "device", IFM_OPTION_TEXT, "CUDA:N", "a GPU of NVIDIA's in place of cores: CUDA:0" },
    { "for", IFM_OPTION_DURATION, "TIME", "how long; 0: until it is interrupted", "0" },
    { NULL },
};

const Verb verb_stress = {
    .name = "stress",
    .summary = "keep cores or a GPU busy for a known share of the time",
    .arguments = "",
    .tables = { stress_options },
    .details =
        "A process of its own makes products of matrices (gemm), copies memory (copy) or reads and writes it at "
        "random (random). Its processor time is measured, and the share is kept by feedback. Where others keep a "
        "core busy, the line has the load that was achieved. On a GPU its time is that of CUDA's events. It ends with "
        "this program, however that ends.",
    .examples = { { "inferometer stress --kind copy --intensity 0.6 --cores 1 --for 30s",
                    "copies memory on core 1 for 60 % of the time" },
                  { "inferometer stress --device CUDA:0 --intensity 0.3 --for 30s",
                    "multiplies matrices on the first GPU for 30 % of the time" } },
    .run = run_stress,
};
