/*
 * How often is a model called faster or slower than itself on a real device while another process uses a core in bursts?
 * The whole of `compare`, processes and all: 8 pairs in a short budget.
 * compare-itself [--count N] [--device D]... [--budget SECONDS] [--state FILE] [--seed S]
 * By default 2 comparisons on onnxruntime:CPU and on openvino:CPU each, which shows that it works; 200 are a figure:
 *     compare-itself --count 200 --state FILE
 * FILE gets a line for each comparison as it ends; the same command goes on behind the last one. Exit 1: more than 15 of
 * 200 are different on a device, by an interval of the rate that lies wholly beyond.
 */
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <gio/gio.h>
#include <glib/gstdio.h>

#include <base/statistics.h>
#include <measure/rounds.h>
#include <onnx/onnx.h>

enum
{
    MAX_PAIRS = 8,
    MAX_DEVICES = 8,
};
#define MAX_DIFFERENT (15.0 / 200)

typedef struct
{
    gsize count;
    guint64 seed;
    double budget_s;
    const char *devices[MAX_DEVICES], *state_path;
    gsize n_devices;
} Setting;

/* Of a device: what ended so far, by verdict. */
typedef struct
{
    gsize n, by_verdict[4];
} Tally;

/* --- the other process ------------------------------------------------------------------------------------------------ */

/* Busy and idle for 20 to 400 ms each, until its parent is gone. */
static int use_core_in_bursts(guint32 seed)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(seed);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (getppid() > 1)
    {
        const gint64 until = g_get_monotonic_time() + g_rand_int_range(random, 20000, 400000);
        volatile double sum = 0;
        while (g_get_monotonic_time() < until)
            for (int i = 0; i < 10000; i++)
                sum += sqrt((double)i);
        g_usleep((gulong)g_rand_int_range(random, 20000, 400000));
    }
    return 0;
}

static GSubprocess *start_bursts(const Setting *setting, GError **error)
{
    g_autofree char *seed = g_strdup_printf("%" G_GUINT64_FORMAT, setting->seed);
    g_autofree char *program = g_file_read_link("/proc/self/exe", error);
    return program != NULL ? g_subprocess_new(G_SUBPROCESS_FLAGS_NONE, error, program, "--bursts", seed, NULL) : NULL;
}

/* --- what ended before ------------------------------------------------------------------------------------------------ */

#define HEADER "# compare-itself budget %g seed %" G_GUINT64_FORMAT "\n"

static gboolean count_line(const Setting *setting, const char *line, Tally *tallies)
{
    g_auto(GStrv) words = g_strsplit(line, "\t", 3);
    if (g_strv_length(words) < 3)
        return FALSE;
    for (gsize i = 0; i < setting->n_devices; i++)
        for (int verdict = 0; verdict < 4; verdict++)
            if (g_str_equal(words[0], setting->devices[i]) && g_str_equal(words[1], ifm_verdict_name((IfmVerdict)verdict)))
            {
                tallies[i].n++;
                tallies[i].by_verdict[verdict]++;
            }
    return TRUE;
}

/* A last line without its end was cut off: its comparison is made again, and it is taken away. Returns: the file, at its
 * end; NULL with a line on standard error. */
static FILE *open_state(const Setting *setting, Tally *tallies)
{
    g_autofree char *header = g_strdup_printf(HEADER, setting->budget_s, setting->seed), *text = NULL;
    g_autoptr(GError) error = NULL;
    FILE *file = NULL;
    if (!g_file_get_contents(setting->state_path, &text, NULL, &error) &&
        !g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_NOENT))
        fprintf(stderr, "compare-itself: %s\n", error->message);
    else if (text != NULL && *text != '\0' && !g_str_has_prefix(text, header))
        fprintf(stderr, "compare-itself: %s: of another budget or seed\n", setting->state_path);
    else
        file = g_fopen(setting->state_path, "a");
    if (file == NULL)
        return NULL;
    if (text == NULL || *text == '\0')
    {
        fputs(header, file);
        fflush(file);
        return file;
    }
    char *end = strrchr(text, '\n');
    if (ftruncate(fileno(file), end + 1 - text) != 0)
        perror("compare-itself");
    *end = '\0';
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (char **line = lines + 1; *line != NULL; line++)
        if (!count_line(setting, *line, tallies))
            fprintf(stderr, "compare-itself: %s: not a line of it: %s\n", setting->state_path, *line);
    return file;
}

/* --- one comparison --------------------------------------------------------------------------------------------------- */

static char *make_model(const char *folder, GError **error)
{
    const char *settings[] = { "layers=33", NULL };
    g_autoptr(IfmModel) model = ifm_zoo_build("matmul", settings, 1, error);
    g_autofree char *path = g_build_filename(folder, "chain.onnx", NULL);
    return model != NULL && ifm_model_save(model, path, error) ? g_steal_pointer(&path) : NULL;
}

static gboolean compare_once(const Setting *setting, gsize device, const char *model, Tally *tally, FILE *state,
                             GError **error)
{
    const IfmRunnerOptions options = { .limits = IFM_LIMITS_INIT };
    g_autoptr(IfmRunner) runner = ifm_runner_new(&options);
    IfmCompareProtocol protocol = IFM_COMPARE_PROTOCOL_INIT;
    const IfmModelCase model_case = { .model_path = model,
                                      .device = setting->devices[device],
                                      .dtype = IFM_DTYPE_F32,
                                      .seed = 1,
                                      .protocol = IFM_PROTOCOL_INIT };
    const IfmCompareSide sides[2] = { { .kind = &ifm_kind_model, .spec = &model_case },
                                      { .kind = &ifm_kind_model, .spec = &model_case } };
    g_auto(IfmComparison) comparison = { 0 };
    protocol.time_budget_ns = (gint64)(setting->budget_s * 1e9);
    protocol.max_pairs = MAX_PAIRS;
    const guint32 seed = (guint32)((setting->seed * 1000003 + device) * 1000003 + tally->n);
    if (!ifm_runner_compare(runner, sides, &protocol, seed, &comparison, error))
        return FALSE;
    tally->n++;
    tally->by_verdict[comparison.verdict]++;
    g_autofree char *line = g_strdup_printf(
        "%s\t%s\t%.4f [%.4f, %.4f] %u pairs, %u rounds, %.1f s\n", setting->devices[device],
        ifm_verdict_name(comparison.verdict), comparison.ratio, comparison.interval.lower, comparison.interval.upper,
        (unsigned)comparison.n_pairs, comparison.rounds->len, (double)comparison.elapsed_ns / 1e9);
    fputs(line, stdout);
    fflush(stdout);
    if (state == NULL)
        return TRUE;
    fputs(line, state);
    fflush(state);
    return !ferror(state);
}

static gboolean report(const Setting *setting, const Tally *tallies)
{
    gboolean good = TRUE;
    for (gsize i = 0; i < setting->n_devices; i++)
    {
        const Tally *tally = &tallies[i];
        const gsize different = tally->by_verdict[IFM_VERDICT_FASTER] + tally->by_verdict[IFM_VERDICT_SLOWER];
        const IfmInterval of = ifm_binomial_interval(different, tally->n, 0.95);
        printf("%s: %" G_GSIZE_FORMAT " of %" G_GSIZE_FORMAT
               " different from itself: %.1f %% [%.1f, %.1f], bound %.1f %%; same "
               "%" G_GSIZE_FORMAT ", uncertain %" G_GSIZE_FORMAT "\n",
               setting->devices[i], different, tally->n, 100.0 * (double)different / (double)MAX(tally->n, 1),
               100 * of.lower, 100 * of.upper, 100 * MAX_DIFFERENT, tally->by_verdict[IFM_VERDICT_SAME],
               tally->by_verdict[IFM_VERDICT_UNCERTAIN]);
        good &= !(of.lower > MAX_DIFFERENT);
    }
    return good;
}

/* The devices in turn, so that whatever the machine does meanwhile happens to all. */
static int run(const Setting *setting)
{
    g_autoptr(GError) error = NULL;
    Tally tallies[MAX_DEVICES] = { 0 };
    FILE *state = setting->state_path != NULL ? open_state(setting, tallies) : NULL;
    if (setting->state_path != NULL && state == NULL)
        return 1;
    g_autofree char *folder = g_dir_make_tmp("inferometer-bench-XXXXXX", &error);
    g_autofree char *model = folder != NULL ? make_model(folder, &error) : NULL;
    g_autoptr(GSubprocess) bursts = model != NULL ? start_bursts(setting, &error) : NULL;
    gboolean good = bursts != NULL;
    for (gsize n = 0; n < setting->count && good; n++)
        for (gsize i = 0; i < setting->n_devices && good; i++)
            if (tallies[i].n <= n)
                good = compare_once(setting, i, model, &tallies[i], state, &error);
    if (bursts != NULL)
    {
        g_subprocess_force_exit(bursts);
        g_subprocess_wait(bursts, NULL, NULL);
    }
    if (!good)
        fprintf(stderr, "compare-itself: %s\n", error != NULL ? error->message : "the state file cannot be written");
    if (model != NULL)
        g_unlink(model);
    if (folder != NULL)
        g_rmdir(folder);
    if (state != NULL)
        fclose(state);
    return good && report(setting, tallies) ? 0 : 1;
}

static gboolean parse(int argc, char **argv, Setting *setting)
{
    for (int i = 1; i < argc; i += 2)
    {
        const char *text = i + 1 < argc ? argv[i + 1] : "";
        char *end = NULL;
        const double value = g_ascii_strtod(text, &end);
        const gboolean good = *text != '\0' && *end == '\0' && value > 0;
        if (strcmp(argv[i], "--device") == 0 && *text != '\0' && setting->n_devices < MAX_DEVICES)
            setting->devices[setting->n_devices++] = text;
        else if (strcmp(argv[i], "--state") == 0 && *text != '\0')
            setting->state_path = text;
        else if (good && strcmp(argv[i], "--budget") == 0)
            setting->budget_s = value;
        else if (good && strcmp(argv[i], "--count") == 0 && value < 1e6)
            setting->count = (gsize)value;
        else if (good && strcmp(argv[i], "--seed") == 0 && value < 1e9)
            setting->seed = (guint64)value;
        else
            return FALSE;
    }
    return TRUE;
}

int main(int argc, char **argv)
{
    Setting setting = { .count = 2, .seed = 1, .budget_s = 8 };
    if (argc == 3 && strcmp(argv[1], "--bursts") == 0)
        return use_core_in_bursts((guint32)g_ascii_strtoull(argv[2], NULL, 10));
    if (!parse(argc, argv, &setting))
    {
        fprintf(stderr, "usage: %s [--count N] [--device D]... [--budget SECONDS] [--state FILE] [--seed S]\n", argv[0]);
        return 2;
    }
    if (setting.n_devices == 0)
    {
        setting.devices[setting.n_devices++] = "onnxruntime:CPU";
        setting.devices[setting.n_devices++] = "openvino:CPU";
    }
    return run(&setting);
}
