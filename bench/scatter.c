/*
 * Which way of writing a sum over the edges in ONNX is the faster one on which engine: GraphSAGE's stages 3 (a row of 256
 * numbers an edge) and 4 (one number an edge) as ScatterElements against ScatterND, dynamic and static form, on one pinned
 * thread (ONNX Runtime's ScatterND is wrong on several, and its driver does not let it), interleaved within each round, on
 * the same inputs. Beside it the form that ifm_scatter_for() names against a
 * plain C loop of the same sum. Fails where, all cases of a stage taken together, the form it names is the slower one
 * with the whole 95 % interval.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/statistics.h>
#include <engine/engine.h>
#include <math.h>
#include <staged/staged.h>

#include "bench.h"

enum
{
    ROUNDS = 15,
    HIDDEN = 256,
    MAX_RUNS = 100, /* of one peer in one round */
};
#define ROUND_NS 10000000 /* of one peer in one round; two runs at least */

static void give_up(const char *what, const GError *error)
{
    fprintf(stderr, "scatter: %s: %s\n", what, error != NULL ? error->message : "failed");
    exit(1);
}

/* --- inputs -------------------------------------------------------------------------------------------------------------
 */

/* Inputs: by the names of the ports. @sums, @counts: room for what the plain loops make. */
typedef struct
{
    gint64 nodes, edges;
    IfmTensor m, edge_index, zeros;
    float *sums, *counts;
} Inputs;

static void fill(IfmTensor *tensor, IfmDtype dtype, int rank, gint64 a, gint64 b, double low, double high)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(1);
    g_autoptr(GError) error = NULL;
    if (!ifm_tensor_init(tensor, dtype, rank, (gint64[]){ a, b }, &error) ||
        !ifm_tensor_fill_random(tensor, random, low, high, &error))
        give_up("inputs", error);
}

static void inputs_init(Inputs *inputs, gint64 nodes, gint64 edges)
{
    *inputs = (Inputs){ .nodes = nodes, .edges = edges };
    fill(&inputs->m, IFM_DTYPE_F32, 2, edges, HIDDEN, -1, 1);
    fill(&inputs->edge_index, IFM_DTYPE_I64, 2, 2, edges, 0, (double)nodes);
    fill(&inputs->zeros, IFM_DTYPE_F32, 1, nodes, 0, 0, 0);
    inputs->sums = g_new(float, nodes *HIDDEN);
    inputs->counts = g_new(float, nodes);
}

static void inputs_clear(Inputs *inputs)
{
    ifm_tensor_clear(&inputs->m);
    ifm_tensor_clear(&inputs->edge_index);
    ifm_tensor_clear(&inputs->zeros);
    g_free(inputs->sums);
    g_free(inputs->counts);
}

/* --- peers --------------------------------------------------------------------------------------------------------------
 */

/* Peer: a compiled model, or (request NULL) the plain loop. @medians_ns: [ROUNDS] */
typedef struct
{
    int stage;
    const Inputs *inputs;
    IfmCompiled *compiled;
    IfmRequest *request;
    double medians_ns[ROUNDS];
} Peer;

static void set_input(Peer *peer, gsize port, const char *name)
{
    g_autoptr(GError) error = NULL;
    const Inputs *inputs = peer->inputs;
    const IfmTensor *tensor = g_str_equal(name, "m")       ? &inputs->m
                              : g_str_equal(name, "zeros") ? &inputs->zeros
                                                           : &inputs->edge_index;
    if (!ifm_request_set_input(peer->request, port, tensor, &error))
        give_up(name, error);
}

static void peer_compile(Peer *peer, IfmEngine *engine, const IfmDeviceSpec *spec, IfmModel *model)
{
    g_autoptr(GError) error = NULL;
    IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
    peer->compiled = ifm_engine_compile(engine, model, spec, &options, &error);
    peer->request = peer->compiled != NULL ? ifm_compiled_request(peer->compiled, 0, &error) : NULL;
    if (peer->request == NULL)
        give_up(spec->text, error);
    for (gsize i = 0; i < ifm_model_n_inputs(model); i++)
        set_input(peer, i, ifm_model_input(model, i)->name);
}

static void peer_clear(Peer *peer)
{
    g_clear_pointer(&peer->request, ifm_request_free);
    g_clear_pointer(&peer->compiled, ifm_compiled_free);
}

/* What any form has to do: begin with zeros, add each edge's row to that of its destination. */
static void plain_loop(const Inputs *inputs, int stage)
{
    const gint64 *destination = (const gint64 *)inputs->edge_index.data + inputs->edges;
    const float *m = inputs->m.data;
    if (stage == 4)
    {
        memset(inputs->counts, 0, (gsize)inputs->nodes * sizeof(float));
        for (gint64 e = 0; e < inputs->edges; e++)
            inputs->counts[destination[e]] += 1;
        return;
    }
    memset(inputs->sums, 0, (gsize)inputs->nodes * HIDDEN * sizeof(float));
    for (gint64 e = 0; e < inputs->edges; e++)
    {
        float *restrict to = inputs->sums + destination[e] * HIDDEN;
        for (int i = 0; i < HIDDEN; i++)
            to[i] += m[e * HIDDEN + i];
    }
}

static void run_once(Peer *peer)
{
    g_autoptr(GError) error = NULL;
    if (peer->request == NULL)
        plain_loop(peer->inputs, peer->stage);
    else if (!ifm_request_start(peer->request, NULL, NULL, &error) ||
             !ifm_request_wait(peer->request, IFM_CLOCK_NEVER, &error))
        give_up("a run", error);
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

typedef struct
{
    Peer *peer;
    int round;
} Round;

/* One round of one peer, on the pinned thread. */
static void round_main(void *user)
{
    const Round *round = user;
    g_autoptr(IfmClock) clock = ifm_clock_new_real();
    double times_ns[MAX_RUNS];
    gsize n = 0;
    run_once(round->peer); /* the other peers' data is in the caches */
    gint64 begun_ns = ifm_clock_now_ns(clock), before_ns = begun_ns;
    while (n < 2 || (n < MAX_RUNS && before_ns - begun_ns < ROUND_NS))
    {
        run_once(round->peer);
        gint64 now_ns = ifm_clock_now_ns(clock);
        times_ns[n++] = (double)(now_ns - before_ns);
        before_ns = now_ns;
    }
    qsort(times_ns, n, sizeof *times_ns, compare_doubles);
    round->peer->medians_ns[round->round] = ifm_quantile(times_ns, n, 0.5);
}

/* --- comparing ----------------------------------------------------------------------------------------------------------
 */

/* The median over the rounds of one peer's time, and of its ratio to another's of the same round. */
static double ratio_of(const Peer *peer, const Peer *to, IfmInterval *interval)
{
    double ratios[ROUNDS];
    for (int i = 0; i < ROUNDS; i++)
        ratios[i] = peer->medians_ns[i] / to->medians_ns[i];
    qsort(ratios, ROUNDS, sizeof *ratios, compare_doubles);
    ifm_quantile_interval(ratios, ROUNDS, ROUNDS, 0.5, 0.95, interval);
    return ifm_quantile(ratios, ROUNDS, 0.5);
}

static double median_us(const Peer *peer)
{
    double sorted[ROUNDS];
    memcpy(sorted, peer->medians_ns, sizeof sorted);
    qsort(sorted, ROUNDS, sizeof *sorted, compare_doubles);
    return ifm_quantile(sorted, ROUNDS, 0.5) / 1000;
}

enum
{
    ND = IFM_SCATTER_ND,
    ELEMENTS = IFM_SCATTER_ELEMENTS,
    PLAIN,
    N_PEERS,
};

static void measure(Peer *peers)
{
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < N_PEERS; i++) /* who is first takes turns */
        {
            int which = (i + round) % N_PEERS;
            Round one = { &peers[which], round };
            /* On its own thread, all of them pinned to the same core: nothing is handed over within a run. */
            ifm_compiled_invoke(peers[which == PLAIN ? ND : which].compiled, 0, round_main, &one);
        }
}

/* chosen_of: What ifm_scatter_for() names comes to for a stage: ND or ELEMENTS. */
static int chosen_of(const char *engine, int stage)
{
    IfmScatter chosen = ifm_scatter_for(engine);
    if (chosen == IFM_SCATTER_MIXED)
        return stage == 4 ? ELEMENTS : ND;
    return (int)chosen;
}

static void report(const char *engine, const char *form, const Inputs *inputs, const Peer *peers)
{
    IfmInterval interval, ignored;
    double ratio = ratio_of(&peers[ELEMENTS], &peers[ND], &interval);
    double plain = ratio_of(&peers[chosen_of(engine, peers[ND].stage)], &peers[PLAIN], &ignored);
    printf("%-12s stage %d  %-8s%6" G_GINT64_FORMAT " nodes%6" G_GINT64_FORMAT
           " edges   ScatterND %7.1f us   ScatterElements / ScatterND %6.2f [%.2f, %.2f]   chosen / C loop %5.2f\n",
           engine, peers[ND].stage, form, inputs->nodes, inputs->edges, median_us(&peers[ND]), ratio, interval.lower,
           interval.upper, plain);
}

/* compare: Adds each peer's times, round by round, to the stage's @totals. */
static void compare(IfmEngine *engine, const IfmDeviceSpec *spec, const Inputs *inputs, int stage, gboolean dynamic,
                    Peer *totals)
{
    g_autoptr(GError) error = NULL;
    Peer peers[N_PEERS] = { 0 };
    IfmStageSizes sizes = { dynamic ? 0 : inputs->nodes, dynamic ? 0 : inputs->edges, 500, HIDDEN };
    for (int i = 0; i < N_PEERS; i++)
    {
        peers[i] = (Peer){ .stage = stage, .inputs = inputs };
        if (i == PLAIN)
            continue;
        g_autoptr(IfmModel) model =
            ifm_staged_build(ifm_staged_find("graphsage", NULL), stage, stage, &sizes, (IfmScatter)i, 1, &error);
        if (model == NULL)
            give_up("building", error);
        peer_compile(&peers[i], engine, spec, model);
    }
    measure(peers);
    report(ifm_engine_info(engine).name, dynamic ? "dynamic" : "static", inputs, peers);
    for (int i = 0; i < N_PEERS; i++)
    {
        for (int round = 0; round < ROUNDS; round++)
            totals[i].medians_ns[round] += peers[i].medians_ns[round];
        peer_clear(&peers[i]);
    }
}

/* judge: All of a stage's cases together. */
static gboolean judge(const char *engine, int stage, const Peer *totals)
{
    IfmInterval interval;
    int chosen = chosen_of(engine, stage), other = chosen == ND ? ELEMENTS : ND;
    double ratio = ratio_of(&totals[other], &totals[chosen], &interval);
    gboolean good = interval.upper >= 1;
    printf("%-12s stage %d  all of these: the other form / the chosen one, %s: %.2f [%.2f, %.2f]   bound 1: %s\n", engine,
           stage, chosen == ND ? "ScatterND" : "ScatterElements", ratio, interval.lower, interval.upper,
           !good                 ? "BROKEN"
           : interval.lower >= 1 ? "kept"
                                 : "not told apart");
    return good;
}

static gboolean compare_all(IfmEngine *engine, const IfmDeviceSpec *spec)
{
    static const gint64 shapes[][2] = { { 1000, 1000 }, { 1000, 10000 }, { 10000, 10000 } };
    gboolean good = TRUE;
    for (int stage = 3; stage <= 4; stage++)
    {
        Peer totals[N_PEERS] = { 0 };
        for (gsize i = 0; i < (bench_is_quick() ? 1 : G_N_ELEMENTS(shapes)); i++)
        {
            Inputs inputs;
            inputs_init(&inputs, shapes[i][0], shapes[i][1]);
            for (int dynamic = 0; dynamic <= 1; dynamic++)
                compare(engine, spec, &inputs, stage, dynamic, totals);
            inputs_clear(&inputs);
        }
        good &= judge(ifm_engine_info(engine).name, stage, totals);
    }
    return good;
}

int main(void)
{
    static const char *const engines[] = { "onnxruntime", "openvino" };
    gboolean good = TRUE;
    g_setenv("ORT_DISABLE_TELEMETRY", "1", TRUE);
    for (gsize i = 0; i < G_N_ELEMENTS(engines); i++)
    {
        g_autoptr(IfmClock) clock = ifm_clock_new_real();
        g_autoptr(GError) error = NULL;
        g_autoptr(IfmEngine) engine = ifm_engine_open(engines[i], clock, &error);
        g_autofree char *device = g_strdup_printf("%s:CPU@%u", engines[i], g_get_num_processors() - 1);
        g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse(device, NULL);
        if (engine == NULL)
            printf("%-12s skipped: %s\n", engines[i], error->message);
        else
            good &= compare_all(engine, spec);
    }
    return bench_status(good);
}
