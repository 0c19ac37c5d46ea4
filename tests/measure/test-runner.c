#include <fcntl.h>
#include <math.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "runner-fixture.h"

/* --- records -------------------------------------------------------------------------------------------------------- */

static char *key_of(Fixture *fixture, const IfmModelCase *model_case)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmCase) sealed = ifm_runner_case(fixture->runner, &ifm_kind_model, model_case, &error);
    g_assert_no_error(error);
    return g_strdup(sealed->key);
}

/* What defines a case is in its key; how it is written, and what is done beside measuring, is not. */
static void test_case_key(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    IfmModelCase model_case = case_on(&fixture, "simulated:faulty/well");
    g_autofree char *key = key_of(&fixture, &model_case);
    IfmModelCase same = model_case;
    g_autofree char *roundabout =
        g_strdup_printf("%s/../%s/./matmul.onnx", fixture.folder, strrchr(fixture.folder, '/') + 1);
    same.model_path = roundabout;
    g_autofree char *same_key = key_of(&fixture, &same);
    g_assert_cmpstr(key, ==, same_key);
    same.alias = "NPU"; /* what people call it, not what it is */
    g_autofree char *named_key = key_of(&fixture, &same);
    g_assert_cmpstr(key, ==, named_key);
    IfmModelCase others[9], few = model_case;
    for (gsize i = 0; i < G_N_ELEMENTS(others); i++)
        others[i] = model_case;
    others[0].device = "simulated:faulty/plain";
    others[1].seed = 8;
    others[2].protocol.runs = 21;
    others[3].threads = 2;
    others[4].verify = FALSE;
    others[5].profile = TRUE;
    others[6].rtol = 0.1;
    others[7].protocol.runs = 0;
    others[8].as_wholes = TRUE;
    for (gsize i = 0; i < G_N_ELEMENTS(others); i++)
    {
        g_autofree char *other_key = key_of(&fixture, &others[i]);
        g_assert_cmpstr(key, !=, other_key);
    }
    few.profile_few = TRUE; /* of no twin */
    g_autofree char *no_twin = key_of(&fixture, &few), *profiled = key_of(&fixture, &others[5]);
    few.profile = TRUE;
    g_autofree char *few_twin = key_of(&fixture, &few);
    g_assert_cmpstr(no_twin, ==, key);
    g_assert_cmpstr(few_twin, !=, profiled);
    fixture_clear(&fixture);
}

/* Under the rule the budget decides what comes out; with fixed counts it does nothing. */
static void test_case_key_budget(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    IfmModelCase fixed = case_on(&fixture, "simulated:faulty/well"), rule = fixed;
    rule.protocol.runs = 0;
    g_autofree char *fixed_key = key_of(&fixture, &fixed);
    g_autofree char *rule_key = key_of(&fixture, &rule);
    fixed.protocol.time_budget_ns = rule.protocol.time_budget_ns = 1000 * MS;
    g_autofree char *short_fixed_key = key_of(&fixture, &fixed);
    g_autofree char *short_rule_key = key_of(&fixture, &rule);
    g_assert_cmpstr(fixed_key, ==, short_fixed_key);
    g_assert_cmpstr(rule_key, !=, short_rule_key);
    fixture_clear(&fixture);
}

static void test_case_errors(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    static const IfmDimBinding unknown[] = { { "N", 3 } };
    IfmModelCase cases[5];
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
        cases[i] = case_on(&fixture, "simulated:faulty/well");
    cases[0].device = "simulated:";
    cases[1].device = "nonsense:CPU";
    cases[2].model_path = "/nowhere/model.onnx";
    cases[3].bindings = unknown;
    cases[3].n_bindings = 1;
    cases[4].protocol.runs = 100000000; /* no record holds so many */
    const int codes[] = { IFM_ERROR_INVALID, IFM_ERROR_INVALID, IFM_ERROR_UNAVAILABLE, IFM_ERROR_INVALID,
                          IFM_ERROR_INVALID };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    {
        g_autoptr(GError) error = NULL;
        g_assert_null(ifm_runner_case(fixture.runner, &ifm_kind_model, &cases[i], &error));
        g_assert_error(error, IFM_ERROR, codes[i]);
    }
    fixture_clear(&fixture);
}

/* A model that is replaced between the case and its measurement is not measured under the old one's name. */
static void test_changed_model(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    IfmModelCase model_case = case_on(&fixture, "simulated:faulty/well");
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmCase) sealed = ifm_runner_case(fixture.runner, &ifm_kind_model, &model_case, &error);
    g_assert_no_error(error);
    g_autoptr(IfmModel) other = ifm_zoo_build("matmul", NULL, 2, &error);
    g_assert_true(ifm_model_save(other, fixture.model_path, &error));
    g_autoptr(IfmMeasurement) measurement =
        ifm_runner_measure(fixture.runner, &ifm_kind_model, &model_case, sealed, &error);
    g_assert_no_error(error);
    g_assert_cmpint(measurement->outcome, ==, IFM_OUTCOME_FAILED);
    g_assert_cmpstr(measurement->error_code, ==, "invalid");
    g_assert_nonnull(strstr(measurement->reason, "changed since"));
    fixture_clear(&fixture);
}

static void test_environment(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    IfmModelCase model_case = case_on(&fixture, "simulated:faulty/well");
    g_autoptr(IfmMeasurement) measurement = measure(&fixture, &model_case);
    const json_t *environment = measurement->environment;
    g_assert_cmpstr(text_in(json_object_get(environment, "runtime"), "engine"), ==, "simulated");
    g_assert_cmpstr(text_in(environment, "dtype"), ==, "f32");
    g_assert_cmpstr(text_in(environment, "clock_kind"), ==, "virtual");
    g_assert_true(json_is_object(json_object_get(environment, "machine")));
    g_assert_true(json_is_object(json_object_get(environment, "before")));
    g_assert_true(json_is_object(json_object_get(environment, "after")));
    gsize i;
    json_t *warning; /* nothing of the real machine's load, which is nothing to a virtual clock; the build may be said */
    json_array_foreach(json_object_get(environment, "warnings"), i, warning)
        g_assert_nonnull(strstr(json_string_value(warning), "not the speed of a release build"));
    g_assert_cmpstr(text_in(json_object_get(environment, "build"), "version"), ==, IFM_VERSION);
    const json_t *process = json_object_get(measurement->memory, "process");
    g_assert_cmpint(json_integer_value(json_object_get(process, "peak_runs_bytes")), >=,
                    json_integer_value(json_object_get(process, "before_compile_bytes")));
    g_assert_true(json_is_object(json_object_get(measurement->memory, "engine")));
    g_assert_cmpint(json_integer_value(json_object_get(measurement->effective_config, "n_streams")), ==, 1);
    fixture_clear(&fixture);
}

/* --- books ---------------------------------------------------------------------------------------------------------- */

static gint64 amount(const IfmMeasurement *measurement, const char *key)
{
    json_t *value = json_object_get(measurement->breakdown, key);
    g_assert_true(json_is_integer(value));
    return json_integer_value(value);
}

static void use_model(Fixture *fixture, const char *name)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModel) model = ifm_zoo_build(name, NULL, 1, &error);
    g_assert_no_error(error);
    g_assert_true(ifm_model_save(model, fixture->model_path, &error));
}

/* On a virtual clock: 2 ms slowed down by half are 3 ms to the nanosecond. A quarter of each node's share is a gap after
 * it, so all but the last one's lie between nodes, and that one is the residual. */
static void test_breakdown(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    use_model(&fixture, "small-cnn");
    IfmModelCase model_case = case_on(&fixture, "simulated:faulty/well");
    model_case.profile = TRUE;
    g_autoptr(IfmMeasurement) measurement = measure(&fixture, &model_case);
    g_assert_cmpstr(measurement->reason, ==, "");
    guint n = measurement->nodes->len;
    g_assert_cmpuint(n, >, 3);
    double sum_ns = 0, begin_ns = 0;
    for (guint i = 0; i < n; i++)
    {
        const IfmNodeRow *node = measurement->nodes->pdata[i];
        g_assert_cmpfloat(node->start_ns, >=, begin_ns);
        begin_ns = node->start_ns + node->median_ns;
        sum_ns += node->median_ns;
    }
    g_assert_cmpint(amount(measurement, "wall_ns"), ==, 3 * MS);
    g_assert_cmpint(amount(measurement, "nodes_ns"), ==, (gint64)sum_ns);
    g_assert_cmpfloat_with_epsilon(sum_ns, 2.25 * MS, n * 1000.0); /* each time is cut to whole microseconds */
    g_assert_cmpint(amount(measurement, "gaps_ns") + amount(measurement, "residual_ns"), ==, 3 * MS - (gint64)sum_ns);
    g_assert_cmpint(amount(measurement, "gaps_ns"), >, 0);
    g_assert_cmpint(amount(measurement, "copies_ns") + amount(measurement, "overlap_ns"), ==, 0);
    g_assert_cmpint(amount(measurement, "n_nodes"), ==, n);
    g_assert_cmpfloat(json_number_value(json_object_get(measurement->breakdown, "resolution_bound_ns")), ==, n * 1000.0);
    g_assert_cmpuint(measurement->profiled_ns->len, ==, (guint)amount(measurement, "n_runs"));
    g_assert_cmpuint(measurement->profiled_ns->len, >=, 5);
    json_t *slowdown = json_object_get(measurement->breakdown, "slowdown");
    g_assert_cmpfloat_with_epsilon(json_number_value(json_object_get(slowdown, "ratio")), 1.5, 1e-9);
    for (guint i = 0; i < measurement->samples_ns->len; i++) /* the twin's runs are none of the measurement's */
        g_assert_cmpint(g_array_index(measurement->samples_ns, gint64, i), ==, 2 * MS);
    fixture_clear(&fixture);
}

/* Nodes x the resolution of their times is more than the run took: that balances whatever the books say. */
static void test_bound_of_nothing(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    use_model(&fixture, "small-cnn");
    IfmModelCase model_case = case_on(&fixture, "simulated:faulty/fast");
    model_case.profile = TRUE;
    g_autoptr(IfmMeasurement) measurement = measure(&fixture, &model_case);
    g_assert_cmpstr(text_in(measurement->breakdown, "status"), ==, "measured");
    g_assert_true(json_is_null(json_object_get(measurement->breakdown, "within_bound")));
    g_assert_nonnull(strstr(text_in(measurement->breakdown, "why"), "no bound: it may be up to"));
    fixture_clear(&fixture);
}

/* For the nodes' shares of the time a few runs do; what balances the books is not asked for. */
static void test_few(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    use_model(&fixture, "small-cnn");
    IfmModelCase model_case = case_on(&fixture, "simulated:faulty/fast");
    model_case.profile = TRUE;
    g_autoptr(IfmMeasurement) whole = measure(&fixture, &model_case);
    model_case.profile_few = TRUE;
    g_autoptr(IfmMeasurement) few = measure(&fixture, &model_case);
    g_assert_cmpuint(whole->profiled_ns->len, ==, 20);
    g_assert_cmpuint(few->profiled_ns->len, ==, 5);
    g_assert_cmpuint(few->nodes->len, ==, whole->nodes->len);
    g_assert_cmpuint(few->nodes->len, >, 1);
    for (guint i = 0; i < few->nodes->len; i++)
        g_assert_cmpfloat(((IfmNodeRow *)few->nodes->pdata[i])->median_ns, ==,
                          ((IfmNodeRow *)whole->nodes->pdata[i])->median_ns);
    g_assert_cmpstr(text_in(few->breakdown, "status"), ==, "measured");
    g_assert_true(json_is_null(json_object_get(few->breakdown, "within_bound")));
    g_assert_nonnull(strstr(text_in(few->breakdown, "why"), "a few runs"));
    fixture_clear(&fixture);
}

static void test_no_breakdown(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    IfmModelCase model_case = case_on(&fixture, "simulated:faulty/plain");
    model_case.profile = TRUE;
    g_autoptr(IfmMeasurement) measurement = measure(&fixture, &model_case);
    g_assert_cmpint(measurement->outcome, ==, IFM_OUTCOME_OK);
    g_assert_cmpstr(text_in(measurement->breakdown, "status"), ==, "unavailable");
    g_assert_nonnull(strstr(text_in(measurement->breakdown, "why"), "reports no times of nodes"));
    g_assert_cmpuint(measurement->samples_ns->len, ==, 20);
    fixture_clear(&fixture);
}

/* The others infer without pause meanwhile, and that is said. */
static void test_streams(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    IfmModelCase model_case = case_on(&fixture, "simulated:faulty/well#3");
    model_case.profile = TRUE;
    g_autoptr(IfmMeasurement) measurement = measure(&fixture, &model_case);
    g_assert_cmpstr(measurement->reason, ==, "");
    g_assert_cmpuint(measurement->samples_ns->len, ==, 20);
    json_t *streams = json_object_get(measurement->environment, "streams");
    g_assert_cmpint(json_integer_value(json_object_get(streams, "n")), ==, 3);
    g_assert_cmpint(json_integer_value(json_object_get(streams, "n_other_runs")), >=, 2 * 21);
    g_assert_cmpint(json_integer_value(json_object_get(measurement->effective_config, "n_streams")), ==, 3);
    g_assert_cmpint(amount(measurement, "wall_ns"), ==, 3 * MS);
    g_assert_true(json_is_null(json_object_get(measurement->breakdown, "slowdown")));
    fixture_clear(&fixture);
}

/* --- workers -------------------------------------------------------------------------------------------------------- */

/* One worker a device, used again; another device's is another. */
static void test_reuse(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    IfmModelCase model_case = case_on(&fixture, "simulated:faulty/well"),
                 other = case_on(&fixture, "simulated:faulty/plain");
    ifm_measurement_free(measure(&fixture, &model_case));
    g_autoptr(GArray) first = children_of(getpid());
    g_assert_cmpuint(first->len, ==, 1);
    ifm_measurement_free(measure(&fixture, &model_case));
    g_autoptr(GArray) second = children_of(getpid());
    g_assert_cmpuint(second->len, ==, 1);
    g_assert_cmpint(g_array_index(first, pid_t, 0), ==, g_array_index(second, pid_t, 0));
    ifm_measurement_free(measure(&fixture, &other));
    g_autoptr(GArray) third = children_of(getpid());
    g_assert_cmpuint(third->len, ==, 2);
    fixture_clear(&fixture);
}

/* A worker that somebody ended between two cases is replaced, and costs none of them. */
static void test_killed_worker(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    IfmModelCase model_case = case_on(&fixture, "simulated:faulty/well");
    ifm_measurement_free(measure(&fixture, &model_case));
    g_autoptr(GArray) children = children_of(getpid());
    pid_t killed = g_array_index(children, pid_t, 0);
    kill(killed, SIGKILL);
    g_assert_true(wait_until_gone(killed));
    g_autoptr(IfmMeasurement) second = measure(&fixture, &model_case);
    g_assert_cmpstr(second->reason, ==, "");
    g_autoptr(GArray) others = children_of(getpid());
    g_assert_cmpuint(others->len, ==, 1);
    g_assert_cmpint(g_array_index(others, pid_t, 0), !=, killed);
    fixture_clear(&fixture);
}

static void test_no_worker(void)
{
    g_autofree char *kept = g_strdup(g_getenv("IFM_WORKER"));
    Fixture fixture;
    fixture_init(&fixture, NULL);
    IfmModelCase model_case = case_on(&fixture, "simulated:faulty/well");
    g_autofree char *no_program = g_build_filename(g_getenv("IFM_DEVICES_DIR"), "faulty.yaml", NULL);
    g_setenv("IFM_WORKER", no_program, TRUE);
    g_autoptr(GError) error = NULL;
    g_assert_null(ifm_runner_case(fixture.runner, &ifm_kind_model, &model_case, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE);
    if (kept != NULL)
        g_setenv("IFM_WORKER", kept, TRUE);
    else
        g_unsetenv("IFM_WORKER");
    fixture_clear(&fixture);
}

static void test_devices(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    g_autoptr(GError) error = NULL;
    json_auto_t *answer = ifm_runner_devices(fixture.runner, "simulated", &error);
    g_assert_no_error(error);
    gboolean found = FALSE;
    gsize i;
    json_t *device;
    json_array_foreach(json_object_get(answer, "devices"), i, device)
    {
        if (g_strcmp0(text_in(device, "spec"), "simulated:faulty/well") != 0)
            continue;
        found = TRUE;
        g_assert_true(json_is_true(json_object_get(device, "available")));
        g_assert_true(json_is_null(json_object_get(device, "reason")));
        g_assert_cmpuint(json_array_size(json_object_get(device, "capabilities")), >=, 5);
    }
    g_assert_true(found);
    g_assert_null(ifm_runner_devices(fixture.runner, "simulatd", &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_nonnull(strstr(error->message, "simulated"));
    g_autoptr(GArray) children = children_of(getpid());
    g_assert_cmpuint(children->len, ==, 0);
    fixture_clear(&fixture);
}

/* --- interruption, and the death of the program -------------------------------------------------------------------------
 */

static gpointer interrupt_later(gpointer data)
{
    g_usleep(1500000); /* the device hangs by then */
    g_atomic_int_set((gint *)data, 1);
    return NULL;
}

typedef struct
{
    Fixture fixture;
    gboolean later;
    GThread *thread;
} Interruption;

/* Somebody presses Ctrl-C once the runner has told of that many samples. */
static void interrupt_after(const IfmProgress *now, void *user)
{
    Interruption *interruption = user;
    if (!g_str_equal(now->phase, "running") || now->n < 3)
        return;
    if (!interruption->later)
        g_atomic_int_set(&interruption->fixture.interrupted, 1);
    else if (interruption->thread == NULL)
        interruption->thread = g_thread_new("interrupt", interrupt_later, &interruption->fixture.interrupted);
}

/* On a real clock: of 20 runs those are kept that were over by then. */
static void check_interrupted(const char *device, gboolean later, const char *verification)
{
    Interruption interruption = { .later = later };
    Fixture *fixture = &interruption.fixture;
    g_setenv("IFM_SIMULATED_CLOCK", "real", TRUE);
    fixture_init(fixture, NULL);
    ifm_runner_free(fixture->runner);
    IfmRunnerOptions options = { .interrupted = &fixture->interrupted,
                                 .progress = interrupt_after,
                                 .progress_user = &interruption };
    fixture->runner = ifm_runner_new(&options);
    IfmModelCase model_case = case_on(fixture, device);
    g_autoptr(IfmMeasurement) measurement = measure(fixture, &model_case);
    g_assert_cmpint(measurement->outcome, ==, IFM_OUTCOME_OK);
    g_assert_cmpstr(measurement->stop_reason, ==, "interrupted");
    g_assert_cmpuint(measurement->warmup_ns->len, ==, 2);
    g_assert_cmpuint(measurement->samples_ns->len, >=, 3);
    g_assert_cmpuint(measurement->samples_ns->len, <, 20);
    for (guint i = 0; i < measurement->samples_ns->len; i++)
        g_assert_cmpint(g_array_index(measurement->samples_ns, gint64, i), >=, 100 * MS);
    g_assert_cmpint((gint64)measurement->summary.n, ==, measurement->samples_ns->len);
    g_assert_cmpint(json_integer_value(json_object_get(measurement->effective_config, "n_streams")), ==, 1);
    g_assert_cmpstr(text_in(measurement->verification, "status"), ==, verification);
    g_clear_pointer(&interruption.thread, g_thread_join);
    g_unsetenv("IFM_SIMULATED_CLOCK");
    fixture_clear(fixture);
}

static void test_interrupted(void)
{
    check_interrupted("simulated:faulty/slow", FALSE, "not-applicable"); /* the worker stops by itself */
}

static void test_interrupted_hung(void)
{
    check_interrupted("simulated:faulty/slow-hang", TRUE, "interrupted"); /* it cannot: what it told in time is kept */
}

/* The program that is killed, in a process of its own: measures a device that hangs, or one that computes for long. */
static int victim_main(const char *device)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    IfmModelCase model_case = case_on(&fixture, device);
    model_case.verify = FALSE;
    model_case.protocol.runs = IFM_PROTOCOL_MAX_RUNS;
    ifm_measurement_free(measure(&fixture, &model_case));
    return 1;
}

static void check_killed_program(const char *device, int signal_number)
{
    g_autofree char *program = g_file_read_link("/proc/self/exe", NULL);
    char *arguments[] = { program, (char *)"--victim", (char *)device, NULL };
    g_autoptr(GError) error = NULL;
    GPid victim;
    g_assert_true(g_spawn_async(NULL, arguments, NULL, G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL, &victim, &error));
    pid_t worker = 0;
    for (int i = 0; i < 3000 && worker == 0; i++, g_usleep(10000))
    {
        g_autoptr(GArray) children = children_of(victim);
        if (children->len > 0)
            worker = g_array_index(children, pid_t, 0);
    }
    g_assert_cmpint(worker, >, 0);
    g_usleep(500000); /* it hangs, or computes, by then; where not yet, it must end as well */
    g_assert_cmpint(waitpid(victim, NULL, WNOHANG), ==, 0);
    kill(victim, signal_number);
    waitpid(victim, NULL, 0);
    g_assert_true(wait_until_gone(worker));
}

static void test_killed_program(void)
{
    check_killed_program("simulated:faulty/hang", SIGKILL);
}

static void test_killed_computing(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    gboolean is_here = has_onnxruntime(&fixture);
    fixture_clear(&fixture);
    if (!is_here)
    {
        g_test_skip("onnxruntime is unavailable to compute");
        return;
    }
    check_killed_program("onnxruntime:CPU", SIGTERM);
    check_killed_program("onnxruntime:CPU", SIGKILL);
}

int main(int argc, char **argv)
{
    gboolean is_victim = argc == 3 && g_str_equal(argv[1], "--victim");
    if (!is_victim)
        g_test_init(&argc, &argv, NULL);
    g_autofree char *devices = g_build_filename(g_getenv("G_TEST_SRCDIR"), "measure", "devices", NULL);
    g_setenv("IFM_DEVICES_DIR", devices, TRUE);
    if (is_victim)
        return victim_main(argv[2]);
    g_test_add_func("/runner/case-key", test_case_key);
    g_test_add_func("/runner/case-key/budget", test_case_key_budget);
    g_test_add_func("/runner/case-errors", test_case_errors);
    g_test_add_func("/runner/changed-model", test_changed_model);
    g_test_add_func("/runner/environment", test_environment);
    g_test_add_func("/runner/time_breakdown", test_breakdown);
    g_test_add_func("/runner/bound-of-nothing", test_bound_of_nothing);
    g_test_add_func("/runner/few", test_few);
    g_test_add_func("/runner/no-time_breakdown", test_no_breakdown);
    g_test_add_func("/runner/streams", test_streams);
    g_test_add_func("/runner/reuse", test_reuse);
    g_test_add_func("/runner/killed-worker", test_killed_worker);
    g_test_add_func("/runner/no-worker", test_no_worker);
    g_test_add_func("/runner/devices", test_devices);
    g_test_add_func("/runner/interrupted", test_interrupted);
    g_test_add_func("/runner/interrupted-hung", test_interrupted_hung);
    g_test_add_func("/runner/killed-program", test_killed_program);
    g_test_add_func("/runner/killed-computing", test_killed_computing);
    return g_test_run();
}
