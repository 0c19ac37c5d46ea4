/*
 * Plans a pipeline by what a study measured, runs it and prints the prediction next to the measurement:
 *
 *     inferometer study import data/meteor-lake/large-55-sizes.csv -o laptop
 *     plan-and-run laptop CPU=simulated:meteor-lake/CPU GPU=simulated:meteor-lake/GPU NPU=simulated:meteor-lake/NPU
 *
 * prints the JSON of
 *
 *     inferometer run ./laptop --size 5000,10000 --batches 20 -d CPU=... -d GPU=... -d NPU=... --json -
 */
#include <stdio.h>

#include <inferometer/inferometer.h>

static int fail(const GError *error)
{
    fprintf(stderr, "plan-and-run: %s\n", error->message);
    return ifm_error_exit_status(error);
}

static void on_note(const char *line, void *user)
{
    fprintf(stderr, "plan-and-run: %s\n", line);
}

int main(int argc, char **argv)
{
    g_autoptr(GError) error = NULL;
    if (argc < 2)
    {
        fprintf(stderr, "usage: plan-and-run STUDY [ALIAS=DEVICE...]\n");
        return 2;
    }

    IfmRunOptions options = { .study = argv[1], .note = on_note };
    ifm_options_init(ifm_run_options, &options);
    options.sizes = (const char *const[]){ "5000,10000", NULL };
    options.devices = (const char *const *)argv + 2;
    options.batches = 20;

    /* The plan and its prediction: nothing runs yet. */
    g_autoptr(IfmRunSet) set = ifm_run_set_new(&options, &error);
    if (set == NULL)
        return fail(error);
    gsize n;
    const IfmRunReport *run = ifm_run_set_runs(set, &n);
    g_autofree char *plan = ifm_plan_to_text(run->plan);
    fprintf(stderr, "%s: %s\n", run->title, plan);

    if (!ifm_run_set_measure(set, NULL, &error))
        return fail(error);
    json_auto_t *json = ifm_run_to_json(run, n);
    return ifm_output_write_json("-", json, &error) ? 0 : fail(error);
}
