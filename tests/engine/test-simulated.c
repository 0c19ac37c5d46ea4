#include <base/base.h>
#include <engine/engine.h>
#include <engine/simulated/simulated-machine.h>
#include <glib/gstdio.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define US G_GINT64_CONSTANT(1000)
#define MS G_GINT64_CONSTANT(1000000)
#define SECOND G_GINT64_CONSTANT(1000000000)

/* --- a bench: a virtual clock, an engine on it, models, a request ----------------------------------------------------- */

/* x [nodes,4] -> MatMul -> y; with edges also e [2,edges] -> Cast -> f. No stage where @stage is NULL. */
static IfmModel *new_model(const char *stage, gboolean edges)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new("tiny", 17);
    const char *const nodes_name[] = { "nodes", NULL }, *const edges_name[] = { NULL, "edges" };
    ifm_model_builder_input(builder, "x", IFM_DTYPE_F32, 2, (gint64[]){ -1, 4 }, nodes_name);
    ifm_model_builder_random_weight(builder, "w", 2, (gint64[]){ 4, 4 }, 1, 7);
    ifm_model_builder_node(builder, "MatMul", "product", (const char *const[]){ "x", "w", NULL },
                           (const char *const[]){ "y", NULL });
    ifm_model_builder_output(builder, "y", IFM_DTYPE_F32, 2, (gint64[]){ -1, 4 }, nodes_name);
    if (edges)
    {
        ifm_model_builder_input(builder, "e", IFM_DTYPE_I64, 2, (gint64[]){ 2, -1 }, edges_name);
        gsize cast = ifm_model_builder_node(builder, "Cast", "cast", (const char *const[]){ "e", NULL },
                                            (const char *const[]){ "f", NULL });
        ifm_model_builder_int(builder, cast, "to", IFM_DTYPE_F32);
        ifm_model_builder_output(builder, "f", IFM_DTYPE_F32, 2, (gint64[]){ 2, -1 }, edges_name);
    }
    if (stage != NULL)
        ifm_model_builder_metadata(builder, "inferometer.stage", stage);
    IfmModel *model = ifm_model_builder_finish(builder, &error);
    g_assert_no_error(error);
    return model;
}

typedef struct
{
    IfmClock *clock;
    IfmEngine *engine;
    IfmModel *model;
    IfmCompiled *compiled;
    IfmRequest *request;
    IfmTensor inputs[2];
    float *x;
    gint64 *e;
} Bench;

/* Room for the inputs of any size below; simulated devices that compute nothing never read it. */
#define MAX_NODES 150000
#define MAX_EDGES 1500000

static void bench_init(Bench *bench)
{
    g_autoptr(GError) error = NULL;
    *bench = (Bench){ .clock = ifm_clock_new_virtual(SECOND) };
    ifm_clock_enter(bench->clock);
    bench->engine = ifm_engine_open("simulated", bench->clock, &error);
    g_assert_no_error(error);
    bench->x = g_new0(float, 4 * MAX_NODES);
    bench->e = g_new0(gint64, 2 * MAX_EDGES);
    for (int i = 0; i < 40; i++)
        bench->x[i] = (float)(i % 7) - 3;
}

static void bench_drop(Bench *bench)
{
    g_clear_pointer(&bench->request, ifm_request_free);
    g_clear_pointer(&bench->compiled, ifm_compiled_free);
    g_clear_pointer(&bench->model, ifm_model_unref);
}

static void bench_clear(Bench *bench)
{
    bench_drop(bench);
    ifm_engine_unref(bench->engine);
    ifm_clock_leave(bench->clock);
    ifm_clock_unref(bench->clock);
    g_free(bench->x);
    g_free(bench->e);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Bench, bench_clear)

/* @vendor: "KEY=VALUE" or NULL */
static gboolean bench_compile_sized(Bench *bench, const char *device, IfmModel *model /* (transfer full) */,
                                    const char *vendor, gboolean profiling, const IfmDimBinding *sizes, gsize n_sizes,
                                    GError **error)
{
    g_autofree char *text = g_strconcat("simulated:", device, NULL);
    g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse(text, error);
    g_assert_nonnull(spec);
    IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
    const char *const list[] = { vendor, NULL };
    options.vendor = list;
    options.profiling = profiling;
    options.sizes = sizes;
    options.n_sizes = n_sizes;
    bench_drop(bench);
    bench->model = model;
    bench->compiled = ifm_engine_compile(bench->engine, model, spec, &options, error);
    if (bench->compiled != NULL)
        bench->request = ifm_compiled_request(bench->compiled, 0, error);
    return bench->request != NULL;
}

static gboolean bench_compile(Bench *bench, const char *device, IfmModel *model /* (transfer full) */, const char *vendor,
                              gboolean profiling, GError **error)
{
    return bench_compile_sized(bench, device, model, vendor, profiling, NULL, 0, error);
}

static void bench_sizes(Bench *bench, gint64 nodes, gint64 edges)
{
    g_assert_cmpint(nodes, <=, MAX_NODES);
    g_assert_cmpint(edges, <=, MAX_EDGES);
    g_assert_true(ifm_tensor_wrap(&bench->inputs[0], IFM_DTYPE_F32, 2, (gint64[]){ nodes, 4 }, bench->x, NULL));
    g_assert_true(ifm_tensor_wrap(&bench->inputs[1], IFM_DTYPE_I64, 2, (gint64[]){ 2, edges }, bench->e, NULL));
    for (gsize i = 0; i < ifm_compiled_info(bench->compiled).n_inputs; i++)
        g_assert_true(ifm_request_set_input(bench->request, i, &bench->inputs[i], NULL));
}

/* One inference; returns its latency on the virtual clock, or -1 with an error. */
static gint64 bench_run(Bench *bench, GError **error)
{
    IfmRequestTimes times;
    if (!ifm_request_start(bench->request, NULL, NULL, error) || !ifm_request_wait(bench->request, IFM_CLOCK_NEVER, error))
        return -1;
    ifm_request_times(bench->request, &times);
    return times.completed_ns - times.started_ns;
}

static gint64 bench_run_at(Bench *bench, gint64 nodes, gint64 edges, GError **error)
{
    bench_sizes(bench, nodes, edges);
    return bench_run(bench, error);
}

static void must_compile(Bench *bench, const char *device, IfmModel *model, const char *vendor)
{
    g_autoptr(GError) error = NULL;
    bench_compile(bench, device, model, vendor, FALSE, &error);
    g_assert_no_error(error);
}

static void must_compile_sized(Bench *bench, const char *device, IfmModel *model, const char *vendor,
                               const IfmDimBinding *sizes, gsize n_sizes)
{
    g_autoptr(GError) error = NULL;
    bench_compile_sized(bench, device, model, vendor, FALSE, sizes, n_sizes, &error);
    g_assert_no_error(error);
}

static void assert_says(GError **error, IfmErrorCode code, const char *says)
{
    g_assert_error(*error, IFM_ERROR, (int)code);
    g_test_message("%s", (*error)->message);
    if (strstr((*error)->message, says) == NULL)
        g_error("\"%s\" does not say \"%s\"", (*error)->message, says);
    g_clear_error(error);
}

/* --- latencies
 * ------------------------------------------------------------------------------------------------------------ */

static void test_fixed(void)
{
    g_auto(Bench) bench;
    bench_init(&bench);
    must_compile(&bench, "lab/FIXED", new_model(NULL, TRUE), NULL);
    for (int i = 0; i < 10; i++)
    {
        gint64 before = ifm_clock_now_ns(bench.clock);
        g_assert_cmpint(bench_run_at(&bench, 10, 20, NULL), ==, 5 * MS);
        g_assert_cmpint(ifm_clock_now_ns(bench.clock) - before, ==, 5 * MS);
    }
}

/* Two streams run side by side: two inferences take the time of one. */
static void test_streams(void)
{
    g_auto(Bench) bench;
    bench_init(&bench);
    must_compile(&bench, "lab/FIXED#2", new_model(NULL, TRUE), NULL);
    bench_sizes(&bench, 10, 20);
    g_autoptr(IfmRequest) second = ifm_compiled_request(bench.compiled, 1, NULL);
    for (gsize i = 0; i < 2; i++)
        g_assert_true(ifm_request_set_input(second, i, &bench.inputs[i], NULL));
    gint64 before = ifm_clock_now_ns(bench.clock);
    g_assert_true(ifm_request_start(bench.request, NULL, NULL, NULL));
    g_assert_true(ifm_request_start(second, NULL, NULL, NULL));
    g_assert_true(ifm_request_wait(bench.request, IFM_CLOCK_NEVER, NULL));
    g_assert_true(ifm_request_wait(second, IFM_CLOCK_NEVER, NULL));
    g_assert_cmpint(ifm_clock_now_ns(bench.clock) - before, ==, 5 * MS);
}

static void test_real_clock(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmClock) clock = ifm_clock_new_real();
    Bench bench = { .clock = clock, .engine = ifm_engine_open("simulated", clock, &error) };
    bench.x = g_new0(float, 40), bench.e = g_new0(gint64, 40);
    must_compile(&bench, "lab/FIXED", new_model(NULL, TRUE), NULL);
    g_assert_cmpint(bench_run_at(&bench, 10, 20, &error), >=, 5 * MS);
    bench_drop(&bench);
    ifm_engine_unref(bench.engine);
    g_free(bench.x);
    g_free(bench.e);
}

static void test_table(void)
{
    g_auto(Bench) bench;
    g_autoptr(GError) error = NULL;
    bench_init(&bench);
    must_compile(&bench, "lab/TABLE", new_model("1", TRUE), NULL);
    /* At points; the second file's other figure for the first of them does not count. */
    g_assert_cmpint(bench_run_at(&bench, 10, 10, NULL), ==, 20 * US);
    g_assert_cmpint(bench_run_at(&bench, 1000, 16000, NULL), ==, 8000 * US);
    /* Between and beyond: the law that made the table, 2 us * nodes * sqrt(edges / nodes). */
    g_assert_cmpint(bench_run_at(&bench, 50, 100, NULL), ==, llround(1e5 * sqrt(2)));
    g_assert_cmpint(bench_run_at(&bench, 20000, 20000, NULL), ==, 40 * MS);
    /* A size that its file marks is a failure, also where a later file has a latency for it. */
    g_assert_cmpint(bench_run_at(&bench, 10, 90, &error), ==, -1);
    assert_says(&error, IFM_ERROR_FAILED, "marked \"odd\" in table-first.csv:12");
    g_assert_cmpint(bench_run_at(&bench, 10, 10, NULL), ==, 20 * US);
    /* Stage 2 has its second size from the second file: 77 at 10, 154 at 20, so 7.7 a node. */
    must_compile(&bench, "lab/TABLE", new_model("2", TRUE), NULL);
    g_assert_cmpint(bench_run_at(&bench, 20, 20, NULL), ==, 154 * US);
    g_assert_cmpint(bench_run_at(&bench, 15, 15, NULL), ==, llround(15 * 7700));
    must_compile(&bench, "lab/TABLE", new_model("6", TRUE), NULL);
    g_assert_cmpint(bench_run_at(&bench, 11, 11, &error), ==, -1);
    assert_says(&error, IFM_ERROR_UNSUPPORTED, "failures alone");
}

/* Several stages as one: rows of that name where there are any, else the sum of the stages'; the table's law for stage 1 is
 * 2 us * nodes * sqrt(edges / nodes), for stage 2 7.7 us * nodes (at one edge a node). */
static void test_ranges(void)
{
    g_auto(Bench) bench;
    g_autoptr(GError) error = NULL;
    bench_init(&bench);
    must_compile(&bench, "lab/TABLE", new_model("1-2", TRUE), NULL);
    g_assert_cmpint(bench_run_at(&bench, 10, 10, NULL), ==, (20 + 77) * US);
    g_assert_cmpint(bench_run_at(&bench, 20, 20, NULL), ==, (40 + 154) * US);
    /* a failure of one stage, or its loss of the device, is one of the range */
    g_assert_cmpint(bench_run_at(&bench, 10, 90, &error), ==, -1);
    assert_says(&error, IFM_ERROR_FAILED, "marked \"odd\" in table-first.csv:12");
    g_assert_cmpint(bench_run_at(&bench, 10000, 10000, &error), ==, -1);
    assert_says(&error, IFM_ERROR_LOST, "marked \"gone\"");
    /* a stage that the table has nothing for is named; so are words that only look like a range */
    g_assert_false(bench_compile(&bench, "lab/TABLE", new_model("1-3", TRUE), NULL, FALSE, &error));
    assert_says(&error, IFM_ERROR_UNSUPPORTED, "no latency of stages \"1-3\" as one, nor of stage \"3\" to add up");
    static const char *const no_ranges[] = { "2-1", "1-", "-2", "1-2-3", "1-99999999999999999999", "0-1", "one-two" };
    for (gsize i = 0; i < G_N_ELEMENTS(no_ranges); i++)
    {
        g_autofree char *says = g_strdup_printf("no latency of stage \"%s\"", no_ranges[i]);
        g_assert_false(bench_compile(&bench, "lab/TABLE", new_model(no_ranges[i], TRUE), NULL, FALSE, &error));
        assert_says(&error, IFM_ERROR_UNSUPPORTED, says);
    }
    g_assert_true(bench_compile(&bench, "ranges/MEASURED", new_model("1-2", TRUE), NULL, TRUE, &error));
    g_assert_cmpint(bench_run_at(&bench, 10, 10, NULL), ==, 90 * US); /* less than its stages' 20 + 77: it was measured */
    g_assert_cmpint(bench_run_at(&bench, 20, 20, NULL), ==, 180 * US);
}

static void test_ranges_attested(void)
{
    g_auto(Bench) bench;
    g_autoptr(GError) error = NULL;
    bench_init(&bench);
    must_compile(&bench, "ranges/MEASURED", new_model("1-3", TRUE), NULL);
    bench_sizes(&bench, 10, 10);
    g_autoptr(IfmEffectiveConfig) effective_config = ifm_compiled_effective_config(bench.compiled, bench.inputs, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(((IfmNodeConfig *)effective_config->nodes->pdata[0])->implementation, ==, "table, summed");
    must_compile(&bench, "ranges/MEASURED", new_model("1-2", TRUE), NULL);
    g_autoptr(IfmEffectiveConfig) exact = ifm_compiled_effective_config(bench.compiled, bench.inputs, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(((IfmNodeConfig *)exact->nodes->pdata[0])->implementation, ==, "table, exact");
    /* what is not for a stage is not for a range with it */
    g_assert_false(bench_compile(&bench, "ranges/REFUSES-2", new_model("1-3", TRUE), NULL, FALSE, &error));
    assert_says(&error, IFM_ERROR_UNSUPPORTED, "no stage 2 here");
    must_compile(&bench, "ranges/REFUSES-2", new_model("3", TRUE), NULL);
}

/* Stages of 20 +- 3 us and 30 +- 4 us: 50 +- 5 us, whether they were drawn as one or each for itself. */
static void test_ranges_scatter(void)
{
    enum
    {
        N = 4000
    };
    g_auto(Bench) bench;
    double sum = 0, squares = 0;
    bench_init(&bench);
    must_compile(&bench, "ranges/SCATTERS", new_model("1-2", TRUE), NULL);
    bench_sizes(&bench, 10, 10);
    for (int i = 0; i < N; i++)
    {
        double us = (double)bench_run(&bench, NULL) / US;
        sum += us;
        squares += us * us;
    }
    double mean = sum / N, std = sqrt(squares / N - mean * mean);
    g_assert_cmpfloat_with_epsilon(mean, 50, 4 * 5 / sqrt(N));
    g_assert_cmpfloat_with_epsilon(std, 5, 4 * 5 / sqrt(2 * N));
}

/* Sizes that no input has, told anew for each inference; what an input has stands above what is told. */
static void test_sizes_reported(void)
{
    g_auto(Bench) bench;
    g_autoptr(GError) error = NULL;
    const IfmDimBinding first[] = { { "unheard-of", 3 }, { "edges", 10 } },
                        second[] = { { "edges", 40 }, { "nodes", 777 } };
    bench_init(&bench);
    must_compile(&bench, "lab/TABLE", new_model("1", FALSE), NULL);
    g_assert_true(ifm_request_set_sizes(bench.request, first, G_N_ELEMENTS(first), &error));
    g_assert_cmpint(bench_run_at(&bench, 10, 0, NULL), ==, 20 * US);
    g_assert_true(ifm_request_set_sizes(bench.request, second, G_N_ELEMENTS(second), &error));
    g_assert_cmpint(bench_run(&bench, NULL), ==, 40 * US);
    g_assert_true(ifm_request_set_sizes(bench.request, first, G_N_ELEMENTS(first), &error));
    g_assert_cmpint(bench_run(&bench, NULL), ==, 20 * US);
}

static void test_table_refusals(void)
{
    g_auto(Bench) bench;
    g_autoptr(GError) error = NULL;
    bench_init(&bench);
    g_assert_false(bench_compile(&bench, "lab/TABLE", new_model("9", TRUE), NULL, FALSE, &error));
    assert_says(&error, IFM_ERROR_UNSUPPORTED, "no latency of stage \"9\"");
    g_assert_false(bench_compile(&bench, "lab/TABLE", new_model(NULL, TRUE), NULL, FALSE, &error));
    assert_says(&error, IFM_ERROR_UNSUPPORTED, "names no stage");
    must_compile(&bench, "lab/TABLE-REFUSES", new_model("1", TRUE), NULL);
    g_assert_cmpint(bench_run_at(&bench, 50, 100, NULL), >, 0);
    g_assert_cmpint(bench_run_at(&bench, 9, 9, &error), ==, -1);
    assert_says(&error, IFM_ERROR_UNSUPPORTED, "outside the table");
    /* A size that no input has: refused, unless it is told. */
    must_compile(&bench, "lab/TABLE", new_model("1", FALSE), NULL);
    g_assert_cmpint(bench_run_at(&bench, 10, 0, &error), ==, -1);
    assert_says(&error, IFM_ERROR_UNSUPPORTED, "size \"edges\"");
    must_compile(&bench, "lab/TABLE", new_model("1", FALSE), "SIZES=edges=40");
    g_assert_cmpint(bench_run_at(&bench, 10, 0, NULL), ==, 40 * US);
    /* Reported as an option of any engine's, or as this one's; both are one thing, and the latter has the last word. */
    const IfmDimBinding sizes[] = { { "unheard-of", 3 }, { "edges", 10 } };
    must_compile_sized(&bench, "lab/TABLE", new_model("1", FALSE), NULL, sizes, 2);
    g_assert_cmpint(bench_run_at(&bench, 10, 0, NULL), ==, 20 * US);
    must_compile_sized(&bench, "lab/TABLE", new_model("1", FALSE), "SIZES=edges=40", sizes, 2);
    g_assert_cmpint(bench_run_at(&bench, 10, 0, NULL), ==, 40 * US);
    static const char *const bad[] = { "SIZES=edges", "SIZES=edges=-1", "SEED=x", "NOISE=some",
                                       "OUTPUTS=simulated:lab/TRUE" };
    for (gsize i = 0; i < G_N_ELEMENTS(bad); i++)
    {
        g_assert_false(bench_compile(&bench, "lab/TABLE", new_model("1", TRUE), bad[i], FALSE, &error));
        assert_says(&error, IFM_ERROR_INVALID, bad[i]);
    }
    g_assert_false(bench_compile(&bench, "lab/TABLE", new_model("1", TRUE), "SEDE=1", FALSE, &error));
    assert_says(&error, IFM_ERROR_INVALID, "did you mean \"SEED\"?");
}

/* One MatMul of [n,4] by [4,4] at 1 GFLOP/s and 1 GB/s: 32 n FLOP, 16 n + 64 + 16 n bytes; 7 us a run, 3 us a node. */
static void test_roofline(void)
{
    g_auto(Bench) bench;
    bench_init(&bench);
    must_compile(&bench, "lab/ROOFLINE", new_model(NULL, FALSE), NULL);
    g_assert_cmpint(bench_run_at(&bench, 100, 0, NULL), ==, 10 * US + 3264);
    g_assert_cmpint(bench_run_at(&bench, 1000, 0, NULL), ==, 10 * US + 32064);
    must_compile(&bench, "lab/TABLE-ROOFLINE", new_model("9", FALSE), NULL); /* not in the table */
    g_assert_cmpint(bench_run_at(&bench, 100, 0, NULL), ==, 10 * US + 3264);
    must_compile(&bench, "lab/TABLE-ROOFLINE", new_model("1", TRUE), NULL);
    g_assert_cmpint(bench_run_at(&bench, 10, 10, NULL), ==, 20 * US);
}

/* --- noise
 * ---------------------------------------------------------------------------------------------------------------- */

#define N_RUNS 20000

static void draw(Bench *bench, const char *device, const char *stage, const char *vendor, double *samples, int n)
{
    must_compile(bench, device, new_model(stage, TRUE), vendor);
    bench_sizes(bench, 10, 10);
    for (int i = 0; i < n; i++)
        samples[i] = (double)bench_run(bench, NULL);
}

static void moments(const double *samples, int n, double *mean, double *std, double *lag1)
{
    double sum = 0, square = 0, product = 0;
    for (int i = 0; i < n; i++)
        sum += samples[i];
    *mean = sum / n;
    for (int i = 0; i < n; i++)
        square += (samples[i] - *mean) * (samples[i] - *mean);
    for (int i = 1; i < n; i++)
        product += (samples[i] - *mean) * (samples[i - 1] - *mean);
    *std = sqrt(square / n);
    *lag1 = product / square;
}

static void test_noise_seeded(void)
{
    g_auto(Bench) bench;
    bench_init(&bench);
    double first[50], again[50], other[50], same[50];
    draw(&bench, "lab/GAUSSIAN", "1", NULL, first, 50);
    draw(&bench, "lab/GAUSSIAN", "1", NULL, again, 50);
    draw(&bench, "lab/GAUSSIAN", "1", "SEED=6", other, 50);
    draw(&bench, "lab/GAUSSIAN", "1", "SEED=5", same, 50); /* the description's own seed */
    g_assert_cmpmem(first, sizeof first, again, sizeof again);
    g_assert_cmpmem(first, sizeof first, same, sizeof same);
    for (int i = 0; i < 50; i++)
        g_assert_cmpfloat(first[i], !=, other[i]);
    draw(&bench, "lab/GAUSSIAN", "1", "NOISE=none", first, 50);
    for (int i = 0; i < 50; i++)
        g_assert_cmpfloat(first[i], ==, 1e6);
}

/* The moments of seeded samples against those described, within 5 standard errors. */
static void test_noise_moments(void)
{
    g_auto(Bench) bench;
    bench_init(&bench);
    g_autofree double *samples = g_new(double, N_RUNS);
    double mean, std, lag1;
    draw(&bench, "lab/GAUSSIAN", "1", NULL, samples, N_RUNS);
    moments(samples, N_RUNS, &mean, &std, &lag1);
    g_assert_cmpfloat_with_epsilon(mean, 1e6, 5 * 1e5 / sqrt(N_RUNS));
    g_assert_cmpfloat_with_epsilon(std, 1e5, 5 * 1e5 / sqrt(2.0 * N_RUNS));
    g_assert_cmpfloat_with_epsilon(lag1, 0, 5 / sqrt(N_RUNS));
    draw(&bench, "lab/CORRELATED", "1", NULL, samples, N_RUNS);
    moments(samples, N_RUNS, &mean, &std, &lag1);
    g_assert_cmpfloat_with_epsilon(lag1, 0.9, 5 * sqrt((1 - 0.81) / N_RUNS));
    /* AR(1): as many independent samples as n (1 - rho) / (1 + rho), for the variance n (1 - rho^2) / (1 + rho^2) */
    g_assert_cmpfloat_with_epsilon(mean, 1e6, 5 * 1e5 * sqrt(19.0 / N_RUNS));
    g_assert_cmpfloat_with_epsilon(std, 1e5, 5 * 1e5 * sqrt(1.81 / 0.19 / 2 / N_RUNS));
    draw(&bench, "lab/TABLE-NOISY", "1", NULL, samples, N_RUNS); /* 20 us, deviation 4 us, in the table */
    moments(samples, N_RUNS, &mean, &std, &lag1);
    g_assert_cmpfloat_with_epsilon(mean, 20e3, 5 * 4e3 / sqrt(N_RUNS));
    g_assert_cmpfloat_with_epsilon(std, 4e3, 5 * 4e3 * sqrt(0.8 / N_RUNS)); /* lognormal: kurtosis about 3.7 */
    int below = 0;
    for (int i = 0; i < N_RUNS; i++)
        below += samples[i] < 20e3 / sqrt(1.04); /* its median */
    g_assert_cmpfloat_with_epsilon(below, N_RUNS / 2.0, 5 * sqrt(N_RUNS / 4.0));
}

/* The kinds beside the normal ones: mean and deviation within 5 standard errors, and the shape that each is named for. */
static void test_noise_kinds(void)
{
    g_auto(Bench) bench;
    bench_init(&bench);
    g_autofree double *samples = g_new(double, N_RUNS);
    double mean, std, lag1, most = 0;
    int n_slow = 0;
    draw(&bench, "lab/BIMODAL", "1", NULL, samples, N_RUNS);
    moments(samples, N_RUNS, &mean, &std, &lag1);
    g_assert_cmpfloat_with_epsilon(mean, 1e6, 5 * 6e5 / sqrt(N_RUNS));
    g_assert_cmpfloat_with_epsilon(std, 6e5, 5 * 6e5 * sqrt(7.2 / 4 / N_RUNS)); /* kurtosis 8.11 */
    for (int i = 0; i < N_RUNS; i++)
    {
        gboolean slow = samples[i] > 1e6;
        g_assert_cmpfloat_with_epsilon(samples[i], slow ? 2.8e6 : 0.8e6, 1); /* 1 + 3 x 0.6 and 1 - 0.6 / 3 */
        n_slow += slow;
    }
    g_assert_cmpfloat_with_epsilon(n_slow, 0.1 * N_RUNS, 5 * sqrt(0.09 * N_RUNS));
    draw(&bench, "lab/SLOW-BIMODAL", "1", NULL, samples, N_RUNS);
    moments(samples, N_RUNS, &mean, &std, &lag1);
    g_assert_cmpfloat_with_epsilon(mean, 1e6, 5 * 4e6 / sqrt(N_RUNS));
    draw(&bench, "lab/PARETO", "1", NULL, samples, N_RUNS);
    moments(samples, N_RUNS, &mean, &std, &lag1);
    g_assert_cmpfloat_with_epsilon(mean, 1e6, 5 * 4e5 / sqrt(N_RUNS));
    g_assert_cmpfloat_with_epsilon(std, 4e5, 1e5); /* its fourth moment is infinite: no standard error */
    for (int i = 0; i < N_RUNS; i++)
    {
        g_assert_cmpfloat(samples[i], >=, 1e6 * (1 - 0.4 * sqrt(0.5)) - 1);
        most = fmax(most, samples[i]);
    }
    g_assert_cmpfloat(most, >, 1e6 + 8 * 4e5); /* of a normal sample of this size none is 8 deviations off */
}

static void test_noise_drift(void)
{
    g_auto(Bench) bench;
    bench_init(&bench);
    double samples[30];
    draw(&bench, "lab/DRIFTING", NULL, NULL, samples, 30);
    g_assert_cmpfloat(samples[0], ==, 534e6);
    for (int i = 0; i < 30; i++)
        g_assert_cmpfloat_with_epsilon(samples[i], 430e6 + 104e6 * exp(-i / 4.0), 1);
}

/* --- what a device can do
 * --------------------------------------------------------------------------------------------------- */

static void test_capabilities(void)
{
    g_auto(Bench) bench;
    g_autoptr(GError) error = NULL;
    bench_init(&bench);
    g_assert_false(bench_compile(&bench, "lab/PLAIN", new_model(NULL, TRUE), NULL, FALSE, &error));
    assert_says(&error, IFM_ERROR_UNSUPPORTED, "must be bound");
    g_assert_false(bench_compile(&bench, "lab/PLAIN", new_model(NULL, TRUE), NULL, TRUE, &error));
    assert_says(&error, IFM_ERROR_UNSUPPORTED, "profil");
    g_assert_false(bench_compile(&bench, "lab/ROOFLINE@0", new_model(NULL, TRUE), NULL, FALSE, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_UNSUPPORTED);
    g_clear_error(&error);
    /* With bindings a device without free shapes takes it. */
    g_autoptr(IfmModel) model = new_model(NULL, TRUE);
    g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse("simulated:lab/PLAIN", NULL);
    IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
    const IfmDimBinding bindings[] = { { "nodes", 10 }, { "edges", 20 } };
    options.bindings = bindings;
    options.n_bindings = 2;
    g_autoptr(IfmCompiled) compiled = ifm_engine_compile(bench.engine, model, spec, &options, &error);
    g_assert_no_error(error);
    g_assert_cmpint(ifm_compiled_input(compiled, 1)->dims[1], ==, 20);
    g_assert_cmpint(ifm_compiled_output(compiled, 0)->dims[0], ==, 10);
    /* f16: where the description says so alone. */
    options.dtype = IFM_DTYPE_F16;
    g_assert_null(ifm_engine_compile(bench.engine, model, spec, &options, &error));
    assert_says(&error, IFM_ERROR_UNSUPPORTED, "does not execute in f16");
    g_autoptr(IfmDeviceSpec) half = ifm_device_spec_parse("simulated:lab/HALF", NULL);
    g_autoptr(IfmCompiled) half_compiled = ifm_engine_compile(bench.engine, model, half, &options, &error);
    g_assert_no_error(error);
}

static void test_outputs(void)
{
    g_auto(Bench) bench;
    bench_init(&bench);
    must_compile(&bench, "lab/FIXED", new_model(NULL, TRUE), NULL);
    g_assert_cmpuint(ifm_compiled_info(bench.compiled).capabilities & IFM_CAN_TRUE_OUTPUTS, ==, 0);
    bench_run_at(&bench, 3, 5, NULL);
    IfmTensor y, f;
    g_assert_true(ifm_request_output(bench.request, 0, &y, NULL));
    g_assert_true(ifm_request_output(bench.request, 1, &f, NULL));
    g_assert_cmpint(y.shape[0], ==, 3);
    g_assert_cmpint(f.shape[1], ==, 5);
    g_assert_cmpfloat(ifm_tensor_get_double(&y, 11), ==, 0);
    bench_run_at(&bench, 7, 5, NULL); /* free shapes: another size the next time */
    g_assert_true(ifm_request_output(bench.request, 0, &y, NULL));
    g_assert_cmpint(y.shape[0], ==, 7);
    float mine[28];
    memset(mine, 0x55, sizeof mine);
    g_assert_true(ifm_tensor_wrap(&y, IFM_DTYPE_F32, 2, (gint64[]){ 7, 4 }, mine, NULL));
    g_assert_true(ifm_request_set_output(bench.request, 0, &y, NULL));
    g_assert_cmpint(bench_run(&bench, NULL), ==, 5 * MS);
    g_assert_cmpfloat(mine[27], ==, 0);
    g_autoptr(GError) error = NULL;
    g_assert_cmpint(bench_run_at(&bench, 8, 5, &error), ==, -1); /* 7 rows were set for 8 */
    assert_says(&error, IFM_ERROR_INVALID, "is [8,4], the tensor set for it is [7,4]");
}

static void test_profile(void)
{
    g_auto(Bench) bench;
    g_autoptr(GError) error = NULL;
    bench_init(&bench);
    g_assert_true(bench_compile(&bench, "lab/FIXED", new_model(NULL, TRUE), NULL, TRUE, &error));
    for (int i = 0; i < 3; i++)
        g_assert_cmpint(bench_run_at(&bench, 1000, 2000, NULL), ==, 6 * MS); /* profiling slows it down by a fifth */
    g_autoptr(GPtrArray) profiles = ifm_compiled_profile(bench.compiled, bench.request, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(profiles->len, ==, 3);
    const IfmEngineProfile *profile = g_ptr_array_index(profiles, 2);
    g_assert_cmpuint(profile->nodes->len, ==, 2);
    g_assert_cmpint(profile->inside_ns, ==, 6 * MS);
    g_assert_cmpint(profile->resolution_ns, ==, 1 * US);
    const IfmNodeTime *first = g_ptr_array_index(profile->nodes, 0), *second = g_ptr_array_index(profile->nodes, 1);
    g_assert_cmpstr(first->name, ==, "product");
    g_assert_cmpint(first->start_ns, ==, 0);
    g_assert_cmpint(second->start_ns, >=, first->start_ns + first->duration_ns);
    gint64 nodes_ns = first->duration_ns + second->duration_ns; /* a quarter are gaps, each time is cut to 1 us */
    g_assert_cmpint(llabs(nodes_ns - 4500 * US), <=, 2 * US);
    g_assert_cmpint(first->duration_ns % US, ==, 0);
    g_autoptr(GPtrArray) none = ifm_compiled_profile(bench.compiled, bench.request, &error);
    g_assert_cmpuint(none->len, ==, 0);
}

static void test_effective_config(void)
{
    g_auto(Bench) bench;
    g_autoptr(GError) error = NULL;
    bench_init(&bench);
    static const struct
    {
        gint64 nodes, edges;
        const char *how;
    } cases[] = { { 10, 10, "table, exact" }, { 50, 100, "table, interpolated" }, { 5, 5, "table, outside" } };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    {
        must_compile(&bench, "lab/TABLE", new_model("1", TRUE), NULL);
        bench_sizes(&bench, cases[i].nodes, cases[i].edges);
        g_autoptr(IfmEffectiveConfig) effective_config =
            ifm_compiled_effective_config(bench.compiled, bench.inputs, &error);
        g_assert_no_error(error);
        g_assert_cmpint(effective_config->dtype, ==, IFM_DTYPE_F32);
        const IfmNodeConfig *node = g_ptr_array_index(effective_config->nodes, 0);
        g_assert_cmpstr(node->implementation, ==, cases[i].how);
        g_assert_cmpstr(node->provider, ==, "lab/TABLE");
    }
}

/* 1 GB/s and 2 us a copy, 1,000,000 bytes of memory. */
static void test_buffers(void)
{
    g_auto(Bench) bench;
    g_autoptr(GError) error = NULL;
    bench_init(&bench);
    g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse("simulated:lab/FIXED", NULL);
    g_autoptr(IfmDeviceSpec) plain = ifm_device_spec_parse("simulated:lab/PLAIN", NULL);
    g_assert_null(ifm_engine_buffer_alloc(bench.engine, plain, 10, &error));
    assert_says(&error, IFM_ERROR_UNSUPPORTED, "no memory of its own");
    IfmBuffer *a = ifm_engine_buffer_alloc(bench.engine, spec, 400000, &error);
    IfmBuffer *b = ifm_engine_buffer_alloc(bench.engine, spec, 600000, &error);
    g_assert_no_error(error);
    g_assert_null(ifm_engine_buffer_alloc(bench.engine, spec, 1, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_MEMORY);
    g_clear_error(&error);
    ifm_buffer_free(b);
    b = ifm_engine_buffer_alloc(bench.engine, spec, 400000, &error);
    float *back = g_new0(float, 100000);
    IfmTensor from, to, device_a, device_b;
    g_assert_true(ifm_tensor_wrap(&from, IFM_DTYPE_F32, 1, (gint64[]){ 100000 }, bench.x, NULL));
    g_assert_true(ifm_tensor_wrap(&to, IFM_DTYPE_F32, 1, (gint64[]){ 100000 }, back, NULL));
    g_assert_true(ifm_buffer_tensor(a, IFM_DTYPE_F32, 1, (gint64[]){ 100000 }, &device_a, NULL));
    g_assert_true(ifm_buffer_tensor(b, IFM_DTYPE_F32, 1, (gint64[]){ 100000 }, &device_b, NULL));
    g_assert_cmpint(device_a.memory, ==, IFM_MEMORY_DEVICE);
    gint64 before = ifm_clock_now_ns(bench.clock);
    g_assert_true(ifm_engine_copy(bench.engine, &from, &device_a, &error));
    g_assert_cmpint(ifm_clock_now_ns(bench.clock), ==, before); /* queued */
    g_assert_true(ifm_engine_sync(bench.engine, &error));
    g_assert_cmpint(ifm_clock_now_ns(bench.clock) - before, ==, 402 * US);
    g_assert_true(ifm_engine_copy(bench.engine, &device_a, &device_b, &error));
    g_assert_true(ifm_engine_copy(bench.engine, &device_b, &to, &error));
    g_assert_true(ifm_engine_sync(bench.engine, &error));
    g_assert_cmpint(ifm_clock_now_ns(bench.clock) - before, ==, 4 * 402 * US);
    g_assert_cmpmem(back, 400000, bench.x, 400000);
    /* A handle that is none, one of another unit, and one that is gone. */
    IfmTensor wrong = from;
    wrong.memory = IFM_MEMORY_DEVICE;
    g_assert_false(ifm_engine_copy(bench.engine, &wrong, &device_a, &error));
    assert_says(&error, IFM_ERROR_INVALID, "no buffer of this device");
    must_compile(&bench, "lab/LINKED", new_model(NULL, FALSE), NULL);
    g_assert_true(ifm_buffer_tensor(a, IFM_DTYPE_F32, 2, (gint64[]){ 100, 4 }, &wrong, NULL));
    g_assert_false(ifm_request_set_input(bench.request, 0, &wrong, &error));
    assert_says(&error, IFM_ERROR_INVALID, "no buffer of this device");
    ifm_buffer_free(a);
    g_assert_false(ifm_engine_copy(bench.engine, &device_a, &device_b, &error));
    assert_says(&error, IFM_ERROR_INVALID, "no buffer of this device");
    ifm_buffer_free(b);
    g_free(back);
}

/* Transfers are added where the description says that the latency lacks them, for host tensors alone. */
static void test_transfers(void)
{
    g_auto(Bench) bench;
    g_autoptr(GError) error = NULL;
    bench_init(&bench);
    g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse("simulated:lab/LINKED", NULL);
    must_compile(&bench, "lab/LINKED", new_model(NULL, FALSE), NULL);
    g_assert_cmpint(bench_run_at(&bench, 1000, 0, NULL), ==, 5 * MS + 2 * (2 * US + 16 * US)); /* x in, y out */
    IfmBuffer *buffer = ifm_engine_buffer_alloc(bench.engine, spec, 16000, &error);
    IfmTensor device;
    g_assert_true(ifm_buffer_tensor(buffer, IFM_DTYPE_F32, 2, (gint64[]){ 1000, 4 }, &device, NULL));
    g_assert_true(ifm_request_set_input(bench.request, 0, &device, &error));
    g_assert_cmpint(bench_run(&bench, NULL), ==, 5 * MS + 18 * US);
    bench_drop(&bench);
    ifm_buffer_free(buffer);
}

static void test_memory(void)
{
    g_auto(Bench) bench;
    bench_init(&bench);
    IfmEngineMemory memory;
    must_compile(&bench, "lab/FIXED", new_model(NULL, TRUE), NULL);
    g_assert_true(ifm_compiled_memory(bench.compiled, &memory, NULL));
    g_assert_cmpint(memory.device_in_use_bytes, ==, 64); /* 4 x 4 weights */
    g_assert_cmpint(memory.device_reserved_bytes, ==, 1000000);
    g_assert_cmpint(memory.in_use_bytes, ==, -1); /* its buffers are its own: the host's memory holds none of it */
    g_assert_cmpint(bench_run_at(&bench, 1000, 20, NULL), ==, 5 * MS);
    g_assert_true(ifm_compiled_memory(bench.compiled, &memory, NULL));
    g_assert_cmpint(memory.device_in_use_bytes, ==, 64 + 2 * 16000); /* the MatMul's x and y */
    g_assert_cmpint(bench_run_at(&bench, 10, 2000, NULL), ==, 5 * MS);
    g_assert_true(ifm_compiled_memory(bench.compiled, &memory, NULL));
    g_assert_cmpint(memory.device_in_use_bytes, ==, 64 + 2 * 2000 * (8 + 4)); /* the Cast's e and f */
    g_assert_cmpint(memory.device_peak_bytes, ==, 64 + 2 * 2000 * (8 + 4));
    g_autoptr(GError) error = NULL;
    g_assert_cmpint(bench_run_at(&bench, MAX_NODES, 20, &error), ==, -1);
    assert_says(&error, IFM_ERROR_MEMORY, "an inference needs 4800000 bytes, of 1000000 the device has 999936 left");
    must_compile(&bench, "lab/FIXED", new_model(NULL, TRUE), NULL); /* what was freed is given back */
    g_assert_true(ifm_compiled_memory(bench.compiled, &memory, NULL));
    g_assert_cmpint(memory.device_in_use_bytes, ==, 64);
}

/* Another thread cancels in the middle of a run: it ends then, and the next run is whole. */
typedef struct
{
    Bench *bench;
    gint64 at_ns;
} Canceller;

static void *cancel_main(void *data)
{
    Canceller *canceller = data;
    ifm_clock_sleep_until_ns(canceller->bench->clock, canceller->at_ns);
    g_assert_true(ifm_request_cancel(canceller->bench->request, NULL));
    ifm_clock_leave(canceller->bench->clock);
    return NULL;
}

static gint64 run_and_cancel(Bench *bench, gint64 after_ns, GError **error)
{
    gint64 before = ifm_clock_now_ns(bench->clock);
    Canceller canceller = { bench, before + after_ns };
    pthread_t thread;
    ifm_clock_enter(bench->clock);
    g_assert_true(ifm_request_start(bench->request, NULL, NULL, error));
    g_assert_cmpint(pthread_create(&thread, NULL, cancel_main, &canceller), ==, 0);
    g_assert_false(ifm_request_wait(bench->request, IFM_CLOCK_NEVER, error));
    pthread_join(thread, NULL);
    return ifm_clock_now_ns(bench->clock) - before;
}

static void test_cancel(void)
{
    g_auto(Bench) bench;
    g_autoptr(GError) error = NULL;
    bench_init(&bench);
    must_compile(&bench, "lab/FIXED", new_model(NULL, TRUE), NULL);
    bench_sizes(&bench, 10, 20);
    g_assert_cmpint(run_and_cancel(&bench, 2 * MS, &error), ==, 2 * MS);
    g_assert_error(error, IFM_ERROR, IFM_ERROR_CANCELLED);
    g_assert_cmpint(bench_run(&bench, NULL), ==, 5 * MS);
}

static gboolean have_onnxruntime(void)
{
    g_autoptr(IfmClock) clock = ifm_clock_new_real();
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmEngine) engine = ifm_engine_open("onnxruntime", clock, &error);
    if (engine == NULL)
        g_test_skip(error->message);
    return engine != NULL;
}

/* y = x w, computed here from the same weights. */
static void assert_product(const Bench *bench, const IfmTensor *y, gint64 first)
{
    IfmTensor w;
    g_assert_true(ifm_model_initializer(bench->model, "w", &w));
    for (gint64 i = first; i < ifm_tensor_n_elements(y); i++)
    {
        double sum = 0;
        for (int k = 0; k < 4; k++)
            sum += bench->x[i / 4 * 4 + k] * ifm_tensor_get_double(&w, 4 * k + i % 4);
        g_assert_cmpfloat_with_epsilon(ifm_tensor_get_double(y, i), sum, 1e-5);
    }
}

static void test_true_outputs(void)
{
    if (!have_onnxruntime())
        return;
    g_auto(Bench) bench;
    bench_init(&bench);
    must_compile(&bench, "lab/TRUE", new_model(NULL, FALSE), NULL);
    g_assert_cmpuint(ifm_compiled_info(bench.compiled).capabilities & IFM_CAN_TRUE_OUTPUTS, !=, 0);
    for (int i = 0; i < 3; i++)
    {
        IfmTensor y;
        bench.x[5] = (float)i; /* the same memory, other bytes: computed anew */
        g_assert_cmpint(bench_run_at(&bench, 10, 0, NULL), ==, 1 * MS);
        g_assert_true(ifm_request_output(bench.request, 0, &y, NULL));
        assert_product(&bench, &y, 0);
    }
    must_compile(&bench, "lab/FIXED", new_model(NULL, FALSE), "OUTPUTS=onnxruntime:CPU"); /* asked for here */
    IfmTensor y;
    g_assert_cmpint(bench_run_at(&bench, 10, 0, NULL), ==, 5 * MS);
    g_assert_true(ifm_request_output(bench.request, 0, &y, NULL));
    assert_product(&bench, &y, 0);
    must_compile(&bench, "faulty/WRONG", new_model(NULL, FALSE), NULL);
    for (int i = 1; i <= 4; i++)
    {
        g_assert_cmpint(bench_run_at(&bench, 10, 0, NULL), ==, 1 * MS);
        g_assert_true(ifm_request_output(bench.request, 0, &y, NULL));
        assert_product(&bench, &y, i < 3 ? 0 : 1);
        if (i < 3)
            continue;
        g_autofree float *spoilt = g_memdup2(y.data, y.size_bytes);
        double sum = 0;
        IfmTensor w;
        g_assert_true(ifm_model_initializer(bench.model, "w", &w));
        for (int k = 0; k < 4; k++)
            sum += bench.x[k] * ifm_tensor_get_double(&w, 4 * k);
        g_assert_cmpfloat(fabs(spoilt[0] - sum), >, 0.1);
    }
}

/* --- faults
 * ----------------------------------------------------------------------------------------------------------------- */

static void run_twice(Bench *bench, const char *unit)
{
    g_autofree char *device = g_strconcat("faulty/", unit, NULL);
    must_compile(bench, device, new_model(NULL, TRUE), NULL);
    bench_sizes(bench, 10, 20);
    for (int i = 0; i < 2; i++)
        g_assert_cmpint(bench_run(bench, NULL), ==, 1 * MS);
}

static void test_fault_errors(void)
{
    g_auto(Bench) bench;
    g_autoptr(GError) error = NULL;
    bench_init(&bench);
    static const struct
    {
        const char *unit;
        IfmErrorCode code;
        const char *says;
    } cases[] = { { "FAILS", IFM_ERROR_FAILED, "simulated:faulty/FAILS, tiny: status 7" },
                  { "MEMORY", IFM_ERROR_MEMORY, "out of memory" },
                  { "MEMORY-ALLOCATES", IFM_ERROR_MEMORY, "out of memory" } };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    {
        run_twice(&bench, cases[i].unit);
        g_assert_cmpint(bench_run(&bench, &error), ==, -1);
        assert_says(&error, cases[i].code, cases[i].says);
        g_assert_cmpint(bench_run(&bench, NULL), ==, 1 * MS); /* it was that run alone */
    }
    g_assert_false(bench_compile(&bench, "faulty/REFUSES", new_model(NULL, TRUE), NULL, FALSE, &error));
    assert_says(&error, IFM_ERROR_UNSUPPORTED, "simulated:faulty/REFUSES, compiling tiny: operator Gemm is not known here");
    g_assert_false(bench_compile(&bench, "faulty/MEMORY-COMPILING", new_model(NULL, TRUE), NULL, FALSE, &error));
    assert_says(&error, IFM_ERROR_MEMORY, "the weights do not fit");
    g_assert_false(bench_compile(&bench, "faulty/LOSES-COMPILING", new_model(NULL, TRUE), NULL, FALSE, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_LOST);
}

static void test_fault_outputs(void)
{
    g_auto(Bench) bench;
    bench_init(&bench);
    IfmTensor y;
    run_twice(&bench, "NAN");
    g_assert_true(ifm_request_output(bench.request, 0, &y, NULL));
    g_assert_cmpint(ifm_tensor_first_not_finite(&y), ==, -1);
    g_assert_cmpint(bench_run(&bench, NULL), ==, 1 * MS);
    g_assert_true(ifm_request_output(bench.request, 0, &y, NULL));
    g_assert_cmpint(ifm_tensor_first_not_finite(&y), ==, 0);
}

static void test_fault_conditions(void)
{
    g_auto(Bench) bench;
    g_autoptr(GError) error = NULL;
    bench_init(&bench);
    static const char *const stages[] = { "1", "2", "5", NULL };
    for (int i = 0; i < 4; i++)
    {
        must_compile(&bench, "faulty/BY-STAGE", new_model(stages[i], TRUE), NULL);
        g_assert_cmpint(bench_run_at(&bench, 10, 20, &error), ==, i == 1 || i == 2 ? -1 : 1 * MS);
        g_clear_error(&error);
    }
    static const struct
    {
        gint64 nodes, edges;
        gboolean fails;
    } sizes[] = { { 19, 200, FALSE }, { 20, 199, FALSE }, { 20, 200, TRUE }, { 40, 5000, TRUE }, { 41, 5000, FALSE } };
    must_compile(&bench, "faulty/BY-SIZE", new_model(NULL, TRUE), NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(sizes); i++)
    {
        g_assert_cmpint(bench_run_at(&bench, sizes[i].nodes, sizes[i].edges, &error), ==, sizes[i].fails ? -1 : 1 * MS);
        g_clear_error(&error);
    }
}

static gboolean probe(Bench *bench, const char *device, GError **error)
{
    g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse(device, NULL);
    return ifm_engine_probe_device(bench->engine, spec, error);
}

/* A device lost without a word: every call goes on to answer, at once, and nothing of it is true. */
static void assert_nonsense(Bench *bench)
{
    IfmTensor y;
    double sum = 0;
    g_assert_cmpint(bench_run(bench, NULL), ==, 0);
    g_assert_true(ifm_request_output(bench->request, 0, &y, NULL));
    for (int i = 0; i < 40; i++)
        sum += fabs(ifm_tensor_get_double(&y, i));
    g_assert_cmpfloat(sum, >, 1);
}

static void test_loss_silent(void)
{
    g_auto(Bench) bench;
    g_autoptr(GError) error = NULL;
    bench_init(&bench);
    g_assert_true(probe(&bench, "simulated:faulty/LOSES-SILENTLY", &error));
    run_twice(&bench, "LOSES-SILENTLY");
    for (int i = 0; i < 3; i++)
        assert_nonsense(&bench);
    must_compile(&bench, "faulty/LOSES-SILENTLY", new_model(NULL, TRUE), NULL); /* it takes models, and answers nonsense */
    bench_sizes(&bench, 10, 20);
    assert_nonsense(&bench);
    for (int i = 0; i < 3; i++)
    {
        g_assert_false(probe(&bench, "simulated:faulty/LOSES-SILENTLY", &error));
        assert_says(&error, IFM_ERROR_LOST, "does not answer the probe");
    }
    run_twice(&bench, "FAILS"); /* another unit of the same machine */
}

static void test_loss_reported(void)
{
    g_auto(Bench) bench;
    g_autoptr(GError) error = NULL;
    bench_init(&bench);
    run_twice(&bench, "LOSES-REPORTED");
    for (int i = 0; i < 3; i++)
    {
        g_assert_cmpint(bench_run(&bench, &error), ==, -1);
        g_assert_error(error, IFM_ERROR, IFM_ERROR_LOST);
        g_clear_error(&error);
    }
    g_assert_false(bench_compile(&bench, "faulty/LOSES-REPORTED", new_model(NULL, TRUE), NULL, FALSE, &error));
    assert_says(&error, IFM_ERROR_LOST, "device lost");
    g_assert_false(probe(&bench, "simulated:faulty/LOSES-REPORTED", NULL)); /* recover_after: 2 */
    g_assert_true(probe(&bench, "simulated:faulty/LOSES-REPORTED", NULL));
    g_assert_true(probe(&bench, "simulated:faulty/LOSES-REPORTED", NULL));
    run_twice(&bench, "LOSES-REPORTED");
    run_twice(&bench, "LOSES-ONCE");
    g_assert_cmpint(bench_run(&bench, &error), ==, -1);
    assert_says(&error, IFM_ERROR_LOST, "DEVICE_LOST");
    assert_nonsense(&bench);
}

/* With a state folder a loss outlives the engine, hence the process; without one it does not. */
static void test_loss_persists(void)
{
    g_autofree char *folder = g_dir_make_tmp("ifm-lost-XXXXXX", NULL);
    for (int round = 0; round < 2; round++)
    {
        if (round == 1)
            g_setenv("IFM_SIMULATED_STATE_DIR", folder, TRUE);
        for (int life = 0; life < 2; life++)
        {
            g_auto(Bench) bench;
            bench_init(&bench);
            gboolean lost = life == 1 && round == 1;
            must_compile(&bench, "faulty/LOSES-SILENTLY", new_model(NULL, TRUE), NULL);
            bench_sizes(&bench, 10, 20);
            for (int i = 0; i < 3; i++)
                g_assert_cmpint(bench_run(&bench, NULL), ==, lost || i == 2 ? 0 : 1 * MS);
            g_assert_false(probe(&bench, "simulated:faulty/LOSES-SILENTLY", NULL));
        }
    }
    /* Two engines at once, as two processes: one loses, the other probes it back, the first may go on. */
    g_auto(Bench) first;
    g_auto(Bench) second;
    bench_init(&first);
    bench_init(&second);
    g_autoptr(GError) error = NULL;
    run_twice(&first, "LOSES-REPORTED");
    g_assert_cmpint(bench_run(&first, NULL), ==, -1);
    g_assert_false(bench_compile(&second, "faulty/LOSES-REPORTED", new_model(NULL, TRUE), NULL, FALSE, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_LOST);
    g_assert_false(probe(&second, "simulated:faulty/LOSES-REPORTED", NULL));
    g_assert_true(probe(&second, "simulated:faulty/LOSES-REPORTED", NULL));
    run_twice(&first, "LOSES-REPORTED");
    g_unsetenv("IFM_SIMULATED_STATE_DIR");
    g_autofree char *file = g_build_filename(folder, "faulty-LOSES-SILENTLY.lost", NULL);
    g_assert_cmpint(g_unlink(file), ==, 0);
    g_assert_cmpint(g_rmdir(folder), ==, 0); /* nothing else is left there */
}

static void test_hang_cancellable(void)
{
    g_auto(Bench) bench;
    g_autoptr(GError) error = NULL;
    bench_init(&bench);
    run_twice(&bench, "HANGS-CANCELLABLE");
    g_assert_cmpint(run_and_cancel(&bench, 3600 * SECOND, &error), ==, 3600 * SECOND); /* an hour, on the virtual clock */
    g_assert_error(error, IFM_ERROR, IFM_ERROR_CANCELLED);
    g_assert_cmpint(bench_run(&bench, NULL), ==, 1 * MS);
}

/* Faults that end the process, in a process of their own: the program runs itself with "--child UNIT". */
static int child_main(const char *unit)
{
    g_autofree char *device = g_strconcat("faulty/", unit, NULL);
    Bench bench;
    bench_init(&bench);
    if (!bench_compile(&bench, device, new_model(NULL, TRUE), NULL, FALSE, NULL))
        _exit(9);
    bench_sizes(&bench, 10, 20);
    for (int i = 0; i < 2; i++)
        g_assert_cmpint(bench_run(&bench, NULL), ==, 1 * MS);
    g_autoptr(GError) error = NULL;
    g_assert_true(ifm_request_start(bench.request, NULL, NULL, NULL));
    gboolean ended = ifm_request_wait(bench.request, 10 * SECOND, NULL);
    g_assert_true(ifm_request_cancel(bench.request, NULL)); /* deaf to it */
    ended = ifm_request_wait(bench.request, 10 * SECOND, &error) || ended;
    _exit(!ended && g_error_matches(error, IFM_ERROR, IFM_ERROR_TIMEOUT) ? 7 : 8);
}

static int run_child(const char *unit)
{
    g_autofree char *program = g_file_read_link("/proc/self/exe", NULL);
    g_autoptr(GError) error = NULL;
    int status = 0;
    char *arguments[] = { program, (char *)"--child", (char *)unit, NULL };
    g_spawn_sync(NULL, arguments, NULL, G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL, NULL, NULL, &status, &error);
    g_assert_no_error(error);
    return status;
}

static void test_crash_and_hang(void)
{
    static const struct
    {
        const char *unit;
        int signal;
    } cases[] = { { "CRASHES", SIGABRT }, { "CRASHES-SEGV", SIGSEGV }, { "CRASHES-COMPILING", SIGABRT } };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    {
        int status = run_child(cases[i].unit);
        g_assert_true(WIFSIGNALED(status));
        g_assert_cmpint(WTERMSIG(status), ==, cases[i].signal);
    }
    int status = run_child("HANGS");
    g_assert_true(WIFEXITED(status));
    g_assert_cmpint(WEXITSTATUS(status), ==, 7);
}

/* --- the shipped machine
 * -------------------------------------------------------------------------------------------------- */

/* Every row of the larger table, read here by hand: its very latency, or a failure. */
static void test_meteor_lake_rows(void)
{
    g_auto(Bench) bench;
    bench_init(&bench);
    g_autofree char *path = g_build_filename(g_getenv("IFM_DATA_DIR"), "data/meteor-lake/large-55-sizes.csv", NULL);
    g_autofree char *text = NULL;
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    g_autofree char *compiled = g_strdup("");
    int n_latencies = 0, n_failures = 0;
    for (char **line = lines + 1; *line != NULL && **line != '\0'; line++)
    {
        g_auto(GStrv) fields = g_strsplit(*line, ",", -1);
        g_autofree char *device = g_strconcat("meteor-lake/", fields[0], NULL);
        g_autofree char *key = g_strconcat(device, " ", fields[1], NULL);
        g_autoptr(GError) error = NULL;
        if (g_str_equal(fields[8], "device_lost")) /* below */
            continue;
        if (!g_str_equal(key, compiled))
            must_compile(&bench, device, new_model(fields[1], TRUE), "NOISE=none");
        g_free(compiled);
        compiled = g_steal_pointer(&key);
        gint64 latency = bench_run_at(&bench, atoll(fields[2]), atoll(fields[3]), &error);
        if (g_str_equal(fields[8], "implausible"))
        {
            g_assert_error(error, IFM_ERROR, IFM_ERROR_FAILED);
            n_failures++;
            continue;
        }
        g_assert_no_error(error);
        g_assert_cmpint(latency, ==, llround(g_ascii_strtod(fields[4], NULL) * 1e6));
        n_latencies++;
    }
    g_assert_cmpint(n_latencies, ==, 846);
    g_assert_cmpint(n_failures, ==, 19);
}

static void test_meteor_lake_known(void)
{
    g_auto(Bench) bench;
    bench_init(&bench);
    must_compile(&bench, "meteor-lake/CPU", new_model("1", TRUE), "NOISE=none");
    g_assert_cmpint(bench_run_at(&bench, 1000, 2000, NULL), ==, 4325984); /* both tables have it: the larger stands */
    g_assert_cmpint(bench_run_at(&bench, 1000, 1000, NULL), ==, 2718216); /* the smaller alone */
    must_compile(&bench, "meteor-lake/NPU", new_model("2", TRUE), "NOISE=none");
    g_assert_cmpint(bench_run_at(&bench, 2000, 2000, NULL), ==, 4237514); /* the smaller alone, and plausible */
    must_compile(&bench, "meteor-lake/NPU", new_model("1", TRUE), "NOISE=none");
    g_assert_cmpint(bench_run_at(&bench, 20000, 140000, NULL), ==, 1160635620);
}

static void test_meteor_lake_failures(void)
{
    g_autoptr(GError) error = NULL;
    static const gint64 lost[][2] = { { 20000, 200000 }, { 30000, 60000 }, { 25000, 50000 }, { 150000, 1500000 } };
    for (gsize i = 0; i < G_N_ELEMENTS(lost); i++)
    {
        g_auto(Bench) bench; /* a fresh device */
        bench_init(&bench);
        must_compile(&bench, "meteor-lake/NPU", new_model("1", TRUE), "NOISE=none");
        g_assert_cmpint(bench_run_at(&bench, 1000, 2000, NULL), ==, 4719088);
        g_assert_cmpint(bench_run_at(&bench, lost[i][0], lost[i][1], &error), ==, -1);
        assert_says(&error, IFM_ERROR_LOST, "DEVICE_LOST");
        g_assert_cmpint(bench_run_at(&bench, 1000, 2000, NULL), ==, 0); /* what a careless harness would record */
        g_assert_false(probe(&bench, "simulated:meteor-lake/NPU", NULL));
        g_assert_true(probe(&bench, "simulated:meteor-lake/GPU", NULL));
    }
    g_auto(Bench) bench;
    bench_init(&bench);
    g_assert_false(bench_compile(&bench, "meteor-lake/NPU", new_model("3", TRUE), NULL, FALSE, &error));
    assert_says(&error, IFM_ERROR_UNSUPPORTED, "did not run on the NPU");
    g_assert_false(bench_compile(&bench, "meteor-lake/NPU", new_model("4", TRUE), NULL, FALSE, &error));
    assert_says(&error, IFM_ERROR_UNSUPPORTED, "did not run on the NPU");
}

/* --- descriptions
 * ------------------------------------------------------------------------------------------------------------ */

static void test_devices(void)
{
    g_auto(Bench) bench;
    g_autoptr(GError) error = NULL;
    bench_init(&bench);
    g_autoptr(GPtrArray) devices = ifm_engine_devices(bench.engine, &error);
    g_autoptr(GHashTable) found = g_hash_table_new(g_str_hash, g_str_equal);
    for (gsize i = 0; i < devices->len; i++)
    {
        IfmDeviceInfo *info = g_ptr_array_index(devices, i);
        g_assert_true(info->available);
        g_hash_table_insert(found, info->spec, info);
    }
    static const char *const shipped[] = { "simulated:meteor-lake/CPU", "simulated:meteor-lake/GPU",
                                           "simulated:meteor-lake/NPU", "simulated:ideal/CPU", "simulated:lab/FIXED" };
    for (gsize i = 0; i < G_N_ELEMENTS(shipped); i++)
        g_assert_nonnull(g_hash_table_lookup(found, shipped[i]));
    const IfmDeviceInfo *npu = g_hash_table_lookup(found, "simulated:meteor-lake/NPU");
    g_assert_cmpuint(npu->capabilities & IFM_IS_SIMULATED, !=, 0);
    g_assert_cmpuint(npu->capabilities & IFM_CAN_CORES, ==, 0);
    g_assert_false(bench_compile(&bench, "meteor-lak/CPU", new_model("1", TRUE), NULL, FALSE, &error));
    assert_says(&error, IFM_ERROR_UNAVAILABLE, "did you mean \"meteor-lake\"?");
    g_assert_false(bench_compile(&bench, "meteor-lake/TPU", new_model("1", TRUE), NULL, FALSE, &error));
    assert_says(&error, IFM_ERROR_UNAVAILABLE, "it has CPU, GPU, NPU");
}

#define HEAD "description: d\nprovenance: p\nunits:\n  U:\n    description: u\n"
#define FIXED "    latency: {source: fixed, fixed: 1 ms}\n"

static void test_bad_descriptions(void)
{
    static const struct
    {
        const char *text, *says;
    } cases[] = {
        { HEAD "    latancy: {source: fixed}\n", "broken.yaml:6: unknown key \"latancy\"; did you mean \"latency\"?" },
        { HEAD "    latency: {source: fixed}\n", "broken.yaml:6: source is fixed: key \"fixed\" is missing or 0" },
        { HEAD "    latency: {source: table}\n", "broken.yaml:6: source is table: key \"table\" is missing" },
        { HEAD "    latency: {source: roofline}\n", "broken.yaml:6: a roofline is asked for" },
        { HEAD FIXED "    faults:\n      - {what: hang, mode: segv}\n",
          "broken.yaml:8: a fault \"hang\" has no mode \"segv\"" },
        { HEAD FIXED "    faults:\n      - {what: hang, mode: cancellable}\n", "broken.yaml:8: cancellable, but" },
        { HEAD FIXED "    faults:\n      - what: refuse\n        when: {run: 3}\n", "broken.yaml:9: only compiling" },
        { HEAD FIXED "    faults:\n      - what: nan\n        when: {at: compile}\n",
          "broken.yaml:9: compiling has no output" },
        { HEAD FIXED "    faults:\n      - what: fail\n        when: {at: compile, run: 1}\n",
          "broken.yaml:9: compiling comes" },
        { HEAD FIXED "    faults:\n      - what: fail\n      - what: wrong\n",
          "broken.yaml:9: a wrong output among zeros is never noticed: the unit needs \"outputs: " },
        { HEAD FIXED "    outputs: simulated:lab/TRUE\n",
          "broken.yaml:7: outputs: \"simulated:lab/TRUE\" is simulated itself" },
        { HEAD FIXED "    outputs: nothing\n", "broken.yaml:7: outputs: " },
        { HEAD FIXED "    capabilities: [stream]\n",
          "broken.yaml:7: capabilities is \"stream\"; it should be one of: cores, streams" },
        { HEAD FIXED "    capabilities: [node-starts]\n", "broken.yaml:5: node-starts without profile" },
        { HEAD FIXED "    dtypes: [f33]\n", "broken.yaml:7: dtypes: no dtype \"f33\"" },
        { HEAD FIXED "    link: {bytes_per_s: 1e9}\n", "broken.yaml:7: key \"assumed\" is missing here" },
        { "description: d\nprovenance: p\nunits: {}\n", "broken.yaml:3: units has 0 entries" },
        { "description: d\nunits:\n  U:\n    description: u\n" FIXED,
          "broken.yaml:1: key \"provenance\" is missing here: where the figures come from" },
    };
    g_autofree char *folder = g_dir_make_tmp("ifm-devices-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "broken.yaml", NULL);
    g_autofree char *before = g_strdup(g_getenv("IFM_DEVICES_DIR"));
    g_setenv("IFM_DEVICES_DIR", folder, TRUE);
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    {
        g_autoptr(GError) error = NULL;
        g_auto(Bench) bench;
        bench_init(&bench);
        g_assert_true(g_file_set_contents(path, cases[i].text, -1, NULL));
        g_assert_false(bench_compile(&bench, "broken/U", new_model(NULL, TRUE), NULL, FALSE, &error));
        g_autoptr(GPtrArray) devices = ifm_engine_devices(bench.engine, NULL); /* hides no other machine */
        gboolean reported = FALSE;
        for (gsize k = 0; k < devices->len; k++)
        {
            const IfmDeviceInfo *info = g_ptr_array_index(devices, k);
            reported |= !info->available && strstr(info->reason, cases[i].says) != NULL;
        }
        g_assert_true(reported && devices->len > 3);
        assert_says(&error, IFM_ERROR_INVALID, cases[i].says);
    }
    g_setenv("IFM_DEVICES_DIR", before, TRUE);
    g_assert_cmpint(g_unlink(path), ==, 0);
    g_assert_cmpint(g_rmdir(folder), ==, 0);
}

/* A folder named from where the program stands is found all the same, and what lies beside a description is, too. */
static void test_relative_folder(void)
{
    g_autofree char *before = g_strdup(g_getenv("IFM_DEVICES_DIR")), *here = g_get_current_dir();
    g_assert_cmpint(g_chdir(g_getenv("IFM_TEST_DATA")), ==, 0);
    g_setenv("IFM_DEVICES_DIR", "engine/devices", TRUE);
    g_autoptr(GError) error = NULL;
    g_autofree char *path = machine_path("lab", &error);
    g_assert_no_error(error);
    g_assert_true(g_path_is_absolute(path));
    g_assert_true(g_file_test(path, G_FILE_TEST_EXISTS));
    g_autoptr(MachineDescription) machine = machine_read(path, &error); /* its tables are in files of their own */
    g_assert_no_error(error);
    g_setenv("IFM_DEVICES_DIR", before, TRUE);
    g_assert_cmpint(g_chdir(here), ==, 0);
}

/* The documentation's table of keys is the one that descriptions are read by. */
static void test_documented(void)
{
    g_autofree char *path = g_build_filename(g_getenv("IFM_DATA_DIR"), "docs", "simulated-devices.md", NULL);
    g_autofree char *page = NULL, *keys = machine_describe(), *block = g_strdup_printf("```text\n%s```\n", keys);
    g_assert_true(g_file_get_contents(path, &page, NULL, NULL));
    if (strstr(page, block) == NULL)
        g_error("docs/simulated-devices.md should hold:\n%s", block);
}

int main(int argc, char **argv)
{
    g_autofree char *devices = g_build_filename(g_getenv("IFM_TEST_DATA"), "engine", "devices", NULL);
    g_setenv("IFM_DEVICES_DIR", devices, TRUE);
    if (argc == 3 && g_str_equal(argv[1], "--child"))
        return child_main(argv[2]);
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/simulated/fixed", test_fixed);
    g_test_add_func("/simulated/streams", test_streams);
    g_test_add_func("/simulated/real-clock", test_real_clock);
    g_test_add_func("/simulated/table", test_table);
    g_test_add_func("/simulated/table/refusals", test_table_refusals);
    g_test_add_func("/simulated/table/ranges", test_ranges);
    g_test_add_func("/simulated/table/ranges-attested", test_ranges_attested);
    g_test_add_func("/simulated/table/ranges-scatter", test_ranges_scatter);
    g_test_add_func("/simulated/table/sizes-told", test_sizes_reported);
    g_test_add_func("/simulated/roofline", test_roofline);
    g_test_add_func("/simulated/relative-folder", test_relative_folder);
    g_test_add_func("/simulated/noise/seeded", test_noise_seeded);
    g_test_add_func("/simulated/noise/moments", test_noise_moments);
    g_test_add_func("/simulated/noise/kinds", test_noise_kinds);
    g_test_add_func("/simulated/noise/drift", test_noise_drift);
    g_test_add_func("/simulated/capabilities", test_capabilities);
    g_test_add_func("/simulated/outputs", test_outputs);
    g_test_add_func("/simulated/outputs/true", test_true_outputs);
    g_test_add_func("/simulated/profile", test_profile);
    g_test_add_func("/simulated/effective_config", test_effective_config);
    g_test_add_func("/simulated/buffers", test_buffers);
    g_test_add_func("/simulated/transfers", test_transfers);
    g_test_add_func("/simulated/memory", test_memory);
    g_test_add_func("/simulated/cancel", test_cancel);
    g_test_add_func("/simulated/fault/errors", test_fault_errors);
    g_test_add_func("/simulated/fault/outputs", test_fault_outputs);
    g_test_add_func("/simulated/fault/conditions", test_fault_conditions);
    g_test_add_func("/simulated/fault/hang-cancellable", test_hang_cancellable);
    g_test_add_func("/simulated/fault/crash-and-hang", test_crash_and_hang);
    g_test_add_func("/simulated/loss/silent", test_loss_silent);
    g_test_add_func("/simulated/loss/reported", test_loss_reported);
    g_test_add_func("/simulated/loss/persists", test_loss_persists);
    g_test_add_func("/simulated/meteor-lake/rows", test_meteor_lake_rows);
    g_test_add_func("/simulated/meteor-lake/known", test_meteor_lake_known);
    g_test_add_func("/simulated/meteor-lake/failures", test_meteor_lake_failures);
    g_test_add_func("/simulated/devices", test_devices);
    g_test_add_func("/simulated/bad-descriptions", test_bad_descriptions);
    g_test_add_func("/simulated/documented", test_documented);
    return g_test_run();
}
