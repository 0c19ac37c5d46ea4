/*
 * What a plan's run attains of what its devices make while all of them work: GraphSAGE (500 features, 256 hidden) as one
 * data-parallel block of onnxruntime:CPU@0 and openvino:CPU@1, against the sum of the two devices' rates, each on whole
 * batches of its own, both at once: interleaved in each repetition, with each device alone, in an order that turns. The
 * shares are those of the rates, measured first. Aim: 0.95 of that bound; every output is compared with the reference's.
 *   pipeline-bound [BATCHES [REPETITIONS]]    100 and 3
 * Fails where an output is wrong, or less than 0.95 was attained in every repetition.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include <inferometer/measure.h>

#define AIM 0.95

static const struct
{
    gint64 nodes, edges;
} sizes[] = { { 5000, 10000 }, { 10000, 50000 }, { 3000, 30000 } };

static void give_up(const char *what, const char *why)
{
    fprintf(stderr, "pipeline-bound: %s: %s\n", what, why);
    exit(1);
}

static json_t *plan_with(double share)
{
    json_t *stages = json_pack("[i,i,i,i,i,i,i]", 1, 2, 3, 4, 5, 6, 7);
    return json_pack("{s:s,s:[[[s,s],o,[f,f]]],s:{s:{s:s},s:{s:s}}}", "model", "graphsage", "plan", "CPU", "ORT", stages,
                     share, 1 - share, "devices", "CPU", "device", "openvino:CPU@1", "ORT", "device", "onnxruntime:CPU@0");
}

static IfmMeasurement *measure(IfmRunner *runner, double share, gsize size, gsize batches, gsize repetitions,
                               const char *trace_path)
{
    g_autoptr(GError) error = NULL;
    json_auto_t *plan = plan_with(share);
    const json_t *plans[] = { plan };
    const IfmPlanGraph graph = { .kind = "uniform", .nodes = sizes[size].nodes, .edges = sizes[size].edges, .seed = 1 };
    const IfmPlanCase plan_case = { .plans = plans,
                                    .graphs = &graph,
                                    .n_graphs = 1,
                                    .sizes = { .features = 500, .hidden = 256 },
                                    .n_batches = batches,
                                    .verify = TRUE,
                                    .trace_path = trace_path,
                                    .seed = 1,
                                    .repetitions = repetitions,
                                    .bound = TRUE };
    g_autoptr(IfmCase) sealed = ifm_runner_plan_case(runner, &plan_case, &error);
    IfmMeasurement *measurement = sealed != NULL ? ifm_runner_measure_plan(runner, &plan_case, sealed, &error) : NULL;
    if (measurement == NULL)
        give_up("measuring", error->message);
    if (measurement->outcome != IFM_OUTCOME_OK)
        give_up("measuring", measurement->reason);
    return measurement;
}

static double number(const json_t *json, const char *first, const char *second)
{
    const json_t *value = json_object_get(json, first);
    if (second != NULL)
        value = json_object_get(value, second);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static const json_t *told(const IfmMeasurement *measurement)
{
    return json_object_get(measurement->surroundings, "plan");
}

/* What the devices did with the time that they did not infer, as the trace of the last repetition tells. */
static void print_trace(const char *path)
{
    g_autoptr(GError) error = NULL;
    IfmTraceQuestion question = IFM_TRACE_QUESTION_INIT;
    g_autoptr(GPtrArray) traces = ifm_trace_read(path, NULL, &error);
    g_autoptr(IfmTraceAnalysis) analysis = traces != NULL ? ifm_trace_analyse(traces->pdata[0], &question, &error) : NULL;
    if (analysis == NULL)
        give_up(path, error->message);
    for (guint i = 0; i < analysis->tracks->len; i++)
    {
        const IfmTrackUse *use = &g_array_index(analysis->tracks, IfmTrackUse, i);
        if (use->info->kind != IFM_TRACK_DEVICE)
            continue;
        printf("  %-4s works %5.1f %% of the window; idle by", use->info->device, 100 * use->wall_utilisation);
        for (int cause = 0; cause < IFM_N_IDLE_CAUSES; cause++)
            if (use->idle_by_cause_ns[cause] > 0)
                printf(" %s %.2f %%", ifm_idle_cause_name((IfmIdleCause)cause),
                       100 * (double)use->idle_by_cause_ns[cause] / (double)analysis->window_ns);
        printf("\n");
    }
}

/* Returns: the most that a repetition attained. */
static double run_size(IfmRunner *runner, gsize size, gsize batches, gsize repetitions, const char *trace_path)
{
    g_autoptr(IfmMeasurement) first = measure(runner, 0.5, size, MAX(batches / 4, 4), 1, NULL);
    const json_t *bound = json_object_get(told(first), "bound");
    double cpu = number(bound, "together", "CPU"), ort = number(bound, "together", "ORT"), share = cpu / (cpu + ort),
           most = 0;
    g_autoptr(IfmMeasurement) measurement = measure(runner, share, size, batches, repetitions, trace_path);
    const json_t *list = json_object_get(told(measurement), "repetitions");
    printf("%" G_GINT64_FORMAT " nodes, %" G_GINT64_FORMAT " edges, %" G_GSIZE_FORMAT " batches, CPU : ORT = %.3f : %.3f\n",
           sizes[size].nodes, sizes[size].edges, batches, share, 1 - share);
    for (gsize i = 0; i < json_array_size(list); i++)
    {
        const json_t *one = json_array_get(list, i), *its = json_object_get(one, "bound");
        double attained = number(its, "attained", NULL);
        printf("  alone CPU %.2f/s ORT %.2f/s; at once CPU %.2f/s ORT %.2f/s: gain %.3f; the plan %.2f/s: attained %.3f\n",
               number(its, "solo", "CPU"), number(its, "solo", "ORT"), number(its, "together", "CPU"),
               number(its, "together", "ORT"), number(its, "gain", NULL), number(one, "rate_per_s", NULL), attained);
        most = MAX(most, attained);
    }
    printf("  median attained %.3f (aim %.2f); outputs %s\n",
           number(json_object_get(told(measurement), "bound"), "attained", NULL), AIM,
           json_string_value(json_object_get(measurement->verification, "status")));
    print_trace(trace_path);
    fflush(stdout);
    return most;
}

int main(int argc, char **argv)
{
    gsize batches = argc > 1 ? (gsize)MAX(atoi(argv[1]), 8) : 100,
          repetitions = argc > 2 ? (gsize)MAX(atoi(argv[2]), 1) : 3;
    const IfmRunnerOptions options = { .limits = IFM_LIMITS_INIT };
    g_autoptr(GError) error = NULL;
    g_autofree char *folder = g_dir_make_tmp("pipeline-bound-XXXXXX", &error);
    if (folder == NULL)
        give_up("temporary folder", error->message);
    g_autofree char *trace_path = g_build_filename(folder, "trace.json", NULL);
    g_autoptr(IfmRunner) runner = ifm_runner_new(&options);
    gboolean reached = TRUE;
    for (gsize i = 0; i < G_N_ELEMENTS(sizes); i++)
        reached &= run_size(runner, i, batches, repetitions, trace_path) >= AIM;
    g_unlink(trace_path);
    g_rmdir(folder);
    return reached ? 0 : 1;
}
