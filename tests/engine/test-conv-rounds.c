/* Which candidate a layer gets, from planted times. */
#include "engine/onnxruntime/onnxruntime-rounds.h"

#include <base/base.h>

#define N_CANDIDATES 3
#define RUNS (ORT_N_ROUNDS * ORT_N_RUNS)

/* Planted: a layer that takes what the plan says, run by run of each candidate; 0: a candidate that cannot do it. */
typedef struct
{
    double times[N_CANDIDATES];
    double (*at)(double time, int run); /* of a candidate's run; NULL: always the same */
    int now, n_runs[N_CANDIDATES];      /* that counted or not */
    int n_rests, n_rounds_asked, stop_at;
} Planted;

static void use(const OrtRoundsLayer *layer, int candidate, gpointer user)
{
    ((Planted *)layer->user)->now = candidate;
}

static gboolean run(gpointer user, GError **error)
{
    Planted *planted = user;
    planted->n_runs[planted->now]++;
    return TRUE;
}

static double took(const OrtRoundsLayer *layer, gpointer user)
{
    const Planted *planted = layer->user;
    const double time = planted->times[planted->now];
    return planted->at != NULL ? planted->at(time, planted->n_runs[planted->now]) : time;
}

static gboolean rest(gpointer user, GError **error)
{
    ((Planted *)user)->n_rests++;
    return TRUE;
}

static gboolean stopped(int round, gpointer user)
{
    Planted *planted = user;
    planted->n_rounds_asked++;
    return planted->stop_at > 0 && round >= planted->stop_at;
}

/* Measures a planted layer. The rounds are cleared by the caller. */
static OrtRoundsLayer *measure(OrtRounds *rounds, Planted *planted, int kept, GError **error)
{
    *rounds = (OrtRounds){ .n_candidates = N_CANDIDATES,
                           .use = use,
                           .run = run,
                           .took = took,
                           .rest = rest,
                           .stopped = stopped,
                           .user = planted };
    ifm_ort_rounds_init(rounds);
    OrtRoundsLayer *layer = ifm_ort_rounds_layer(rounds, planted);
    layer->kept = kept;
    for (int i = 0; i < N_CANDIDATES; i++)
        layer->can[i] = planted->times[i] > 0;
    ifm_ort_rounds_run(rounds, error);
    return layer;
}

/* A gain below 2 % is none, and one that can not do the layer is never the fastest. */
static void test_margin(void)
{
    static const struct
    {
        double times[N_CANDIDATES];
        int fastest;
        gboolean is_told_apart; /* from candidate 0 */
    } rows[] = {
        { { 100, 97, 0 }, 1, TRUE },     { { 100, 99, 0 }, 1, FALSE }, { { 100, 100, 0 }, 0, FALSE },
        { { 100, 140, 120 }, 0, FALSE }, { { 100, 99, 60 }, 2, TRUE },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        g_autoptr(GError) error = NULL;
        Planted planted = { 0 };
        OrtRounds rounds;
        memcpy(planted.times, rows[i].times, sizeof planted.times);
        const OrtRoundsLayer *layer = measure(&rounds, &planted, -1, &error);
        g_assert_no_error(error);
        const int fastest = ifm_ort_rounds_fastest(layer, N_CANDIDATES);
        g_assert_cmpint(fastest, ==, rows[i].fastest);
        g_assert_cmpfloat(ifm_ort_rounds_time(layer, fastest), ==, rows[i].times[fastest]);
        g_assert_cmpint(ifm_ort_rounds_is_faster(layer, fastest, 0), ==, rows[i].is_told_apart);
        g_assert_cmpint(planted.n_rests, ==, ORT_N_ROUNDS);
        ifm_ort_rounds_clear(&rounds);
    }
}

/* One of two runs that count met a slow spell. */
static double in_spells(double time, int run)
{
    return run % 3 == 2 ? time : 3 * time;
}

static double in_spells_but_100(double time, int run)
{
    return time == 100 ? time : in_spells(time, run);
}

/* Spells that all candidates met change nothing; one that is faster only without them is not told apart. */
static void test_spells(void)
{
    g_autoptr(GError) error = NULL;
    Planted both = { .times = { 100, 80, 0 }, .at = in_spells }, one = { .times = { 100, 80, 0 }, .at = in_spells_but_100 };
    OrtRounds rounds;
    const OrtRoundsLayer *layer = measure(&rounds, &both, -1, &error);
    g_assert_no_error(error);
    g_assert_true(ifm_ort_rounds_is_faster(layer, 1, 0));
    ifm_ort_rounds_clear(&rounds);
    layer = measure(&rounds, &one, -1, &error);
    g_assert_no_error(error);
    g_assert_cmpfloat(ifm_ort_rounds_time(layer, 1), ==, 80);
    g_assert_false(ifm_ort_rounds_is_faster(layer, 1, 0));
    ifm_ort_rounds_clear(&rounds);
}

/* Three times as slow in the first round, or one and a half times in two: tried no more, but for the one that is kept. */
static void test_hopeless(void)
{
    g_autoptr(GError) error = NULL;
    OrtRounds rounds;
    for (int kept = -1; kept < N_CANDIDATES; kept++)
    {
        Planted planted = { .times = { 100, 400, 200 } };
        const OrtRoundsLayer *layer = measure(&rounds, &planted, kept, &error);
        g_assert_no_error(error);
        g_assert_cmpuint(layer->times_ns[0]->len, ==, RUNS);
        g_assert_cmpuint(layer->times_ns[1]->len, ==, kept == 1 ? RUNS : ORT_N_RUNS);
        g_assert_cmpuint(layer->times_ns[2]->len, ==, kept == 2 ? RUNS : 2 * ORT_N_RUNS);
        ifm_ort_rounds_clear(&rounds);
    }
}

static void test_stopped(void)
{
    g_autoptr(GError) error = NULL;
    Planted planted = { .times = { 100, 90, 0 }, .stop_at = 2 };
    OrtRounds rounds;
    measure(&rounds, &planted, -1, &error);
    g_assert_error(error, IFM_ERROR, IFM_ERROR_CANCELLED);
    g_assert_cmpint(planted.n_rounds_asked, ==, 3);
    g_assert_cmpint(planted.n_rests, ==, 2);
    ifm_ort_rounds_clear(&rounds);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/conv-rounds/margin", test_margin);
    g_test_add_func("/conv-rounds/spells", test_spells);
    g_test_add_func("/conv-rounds/hopeless", test_hopeless);
    g_test_add_func("/conv-rounds/stopped", test_stopped);
    return g_test_run();
}
