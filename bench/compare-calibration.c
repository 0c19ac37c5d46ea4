/*
 * How often does comparing a thing with itself end in "faster" or "slower", and how often is a slow-down found? The rule of
 * `compare` on 18 kinds of simulated noise, and one stress, each against a bound: three points beside what another program
 * with the same rule had in 2000 comparisons, and 62 of 1000 of a thing with itself in any case.
 * compare-calibration [--series N] [--seed S]. Exit 1: an interval of a rate lies wholly beyond its bound.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <base/statistics.h>

#include "measure/measure-private.h"
#include "series.h"

enum
{
    ROUNDS = 8, /* in a pair */
};

/*
 * Noise: as shares of the latency. Time runs in slots, one side's part of a round each. @both, @one: the chance that a
 * burst of 1 to 20 rounds begins in a round, of a factor from 1.3 to 2, on both sides or on whichever process was started
 * first (or second); @modes: a process is slower by this with chance @mode_chance; @process: standard deviation of its
 * level;
 * @drift: of the machine, over the whole comparison; @second: the second to run in a round is slower; @tick: of the clock;
 * @side: an AR(1) of 0.9 that outlives the processes and is A's or B's own, which cannot happen to a thing with itself
 */
typedef struct
{
    const char *name;
    double independent, ar, rho, both, one, modes, mode_chance, process, drift, student_2, tick, second, side;
} Noise;

static const Noise noises[] = {
    { "independent 0.2 %", .independent = 0.002 },
    { "independent 1 %", .independent = 0.01 },
    { "independent 5 %", .independent = 0.05 },
    { "AR(1) 0.5, 2 %", .ar = 0.02, .rho = 0.5, .independent = 0.002 },
    { "AR(1) 0.8, 2 %", .ar = 0.02, .rho = 0.8, .independent = 0.002 },
    { "AR(1) 0.95, 2 %", .ar = 0.02, .rho = 0.95, .independent = 0.002 },
    { "bursts, both sides", .both = 0.03, .independent = 0.01 },
    { "bursts, one side", .one = 0.02, .independent = 0.01 },
    { "bursts, one side, rare", .one = 0.005, .independent = 0.01 },
    { "modes of 5 %, 1 process in 5", .modes = 0.05, .mode_chance = 0.2, .independent = 0.005 },
    { "modes of 10 %, every second", .modes = 0.10, .mode_chance = 0.5, .independent = 0.002 },
    { "modes of 3 %, 4 processes in 5", .modes = 0.03, .mode_chance = 0.8, .independent = 0.005 },
    { "processes differ by 2 %", .process = 0.02, .independent = 0.01 },
    { "the machine drifts by 20 %", .drift = 0.2, .independent = 0.01 },
    { "Student's t of 2, 1 %", .student_2 = 0.01 },
    { "a clock with ticks of 2 %", .independent = 0.01, .tick = 0.02 },
    { "the second is 1 % slower", .second = 0.01, .independent = 0.01 },
    { "all of it", .independent = 0.01, .ar = 0.01, .rho = 0.9, .both = 0.02, .one = 0.005, .modes = 0.03,
      .mode_chance = 0.3, .process = 0.005, .drift = 0.1, .tick = 0.002 },
    { "stress: each side wanders by 1 %", .independent = 0.01, .side = 0.01 },
};

/* What is asked of each kind of noise: how often B, slower by that, is found wrongly (0) or rightly. */
typedef struct
{
    const char *title;
    double slower;
    gsize max_pairs;
    double expected[G_N_ELEMENTS(noises)]; /* of 100 */
} Question;

static const Question questions[] = {
    { "itself, 6", 0, 6, { 0, 1.4, 3.4, 2.6, 1.1, 0, 1.1, 2.1, 1.4, 2.4, 2.9, 2.7, 3.2, 1.6, 1.9, 0.1, 1.5, 3.0, NAN } },
    { "itself, 8", 0, 8, { 0, 0.4, 2.9, 1.9, 0.4, 0, 0.5, 1.4, 0.6, 2.5, 3.0, 2.1, 2.5, 0.4, 2.2, 0.1, 0.4, 2.6, NAN } },
    { "itself, 20", 0, 20, { 0, 0, 3.2, 0.1, 0, 0, 0, 0.9, 0.1, 2.2, 2.5, 1.7, 2.9, 0, 0.3, 0, 0, 3.0, NAN } },
    { "itself, 40", 0, 40, { 0, 0, 3.5, 0.1, 0, 0, 0, 1.1, 0, 2.2, 2.9, 2.1, 3.6, 0, 0, 0, 0, 1.6, NAN } },
    { "3 %, 20", 0.03, 20, { 100, 100, 97, 100, 100, 100, 100, 74, 97, 96, 30, 100, 95, 100, 100, 100, 100, 93, NAN } },
    { "30 %, 8", 0.3, 8, { 100, 100, 100, 100, 100, 100, 100, 75, 94, 100, 100, 100, 100, 100, 100, 100, 100, 94, NAN } },
    { "30 %, 20",
      0.3,
      20,
      { 100, 100, 100, 100, 100, 100, 100, 95, 99, 100, 100, 100, 100, 100, 100, 100, 100, 100, NAN } },
};

#define SLACK 3.0      /* points */
#define MOST_WRONG 6.2 /* of 100 */

/* --- one comparison --------------------------------------------------------------------------------------------------- */

/* Machine: what lasts from slot to slot. */
typedef struct
{
    const Noise *noise;
    GRand *random;
    gsize n_slots;    /* of the whole comparison, for the drift */
    gsize slot, left; /* rounds that the burst at hand still lasts */
    double ar, side[2], burst;
    int hit; /* the place that the burst hits; -1: both */
} Machine;

/* A process's place: whatever came with being started first. */
typedef struct
{
    double level;
    int place;
} Process;

static void begin_round(Machine *machine)
{
    const Noise *noise = machine->noise;
    GRand *random = machine->random;
    if (machine->left > 0)
    {
        machine->left--;
        return;
    }
    if (g_rand_double(random) >= noise->both + noise->one)
        return;
    machine->left = (gsize)g_rand_int_range(random, 1, 21);
    machine->burst = log(g_rand_double_range(random, 1.3, 2));
    machine->hit = g_rand_double(random) * (noise->both + noise->one) < noise->both ? -1 : g_rand_int_range(random, 0, 2);
}

static double student_2(GRand *random)
{
    const double chi2 = -2 * log(1 - g_rand_double(random)); /* of two degrees of freedom */
    return ifm_normal_deviate(random) / sqrt(chi2 / 2);
}

static double slot_ns(Machine *machine, const Process *process, int side, gboolean second)
{
    const Noise *noise = machine->noise;
    GRand *random = machine->random;
    machine->ar = noise->rho * machine->ar + sqrt(1 - noise->rho * noise->rho) * noise->ar * ifm_normal_deviate(random);
    machine->side[side] = 0.9 * machine->side[side] + sqrt(1 - 0.81) * noise->side * ifm_normal_deviate(random);
    double value = process->level + machine->ar + machine->side[side] + noise->independent * ifm_normal_deviate(random) +
                   noise->drift * (double)machine->slot++ / (double)machine->n_slots + (second ? noise->second : 0);
    if (noise->student_2 > 0)
        value += noise->student_2 * student_2(random);
    if (machine->left > 0 && (machine->hit < 0 || machine->hit == process->place))
        value += machine->burst;
    const double time = exp(value);
    return 1e6 * (noise->tick > 0 ? MAX(nearbyint(time / noise->tick), 1) * noise->tick : time);
}

static Process start_process(const Machine *machine, double slower, int place)
{
    const Noise *noise = machine->noise;
    const double level = noise->process * ifm_normal_deviate(machine->random) + log1p(slower) +
                         (g_rand_double(machine->random) < noise->mode_chance ? log1p(noise->modes) : 0);
    return (Process){ level, place };
}

static IfmVerdict compare_once(const Noise *noise, const Question *question, GRand *random, double *n_pairs)
{
    IfmCompareProtocol protocol = IFM_COMPARE_PROTOCOL_INIT;
    protocol.time_budget_ns = 0;
    protocol.max_pairs = question->max_pairs;
    g_autoptr(IfmComparer) comparer = ifm_comparer_new(&protocol);
    g_auto(IfmComparison) comparison = { 0 };
    Machine machine = { .noise = noise, .random = random, .n_slots = 2 * ROUNDS * question->max_pairs };
    machine.ar = noise->ar * ifm_normal_deviate(random);
    for (int side = 0; side < 2; side++)
        machine.side[side] = noise->side * ifm_normal_deviate(random);
    gboolean done = FALSE;
    while (!done)
    {
        const gboolean b_started_first = g_rand_boolean(random);
        const Process processes[] = { start_process(&machine, 0, b_started_first),
                                      start_process(&machine, question->slower, !b_started_first) };
        gboolean b_first = FALSE;
        for (int round = 0; round < ROUNDS; round++)
        {
            double ns[2];
            b_first = round % 2 == 0 ? g_rand_boolean(random) : !b_first;
            begin_round(&machine);
            ns[b_first] = slot_ns(&machine, &processes[b_first], b_first, FALSE);
            ns[!b_first] = slot_ns(&machine, &processes[!b_first], !b_first, TRUE);
            ifm_comparer_add(comparer, ns[0], ns[1], b_first);
        }
        done = ifm_comparer_end_pair(comparer, 0);
    }
    ifm_comparer_finish(comparer, &comparison);
    *n_pairs += (double)comparison.n_pairs;
    return comparison.verdict;
}

/* --- all of them ------------------------------------------------------------------------------------------------------ */

/* Returns: whether the rate may be within its bound. */
static gboolean is_within(const Question *question, gsize kind, gsize k, gsize n)
{
    const IfmInterval of = ifm_binomial_interval(k, n, 0.95);
    const double expected = question->expected[kind];
    if (isnan(expected))
        return TRUE;
    return question->slower > 0 ? 100 * of.upper >= expected - SLACK : 100 * of.lower <= MIN(expected + SLACK, MOST_WRONG);
}

static gboolean ask(const Question *question, gsize kind, gsize count, guint64 seed)
{
    gsize n[4] = { 0 };
    double n_pairs = 0;
    GRand *random = g_rand_new();
    for (gsize i = 0; i < count; i++)
    {
        g_rand_set_seed(random, (guint32)((seed * 1000003 + kind) * 1000003 + i));
        n[compare_once(&noises[kind], question, random, &n_pairs)]++;
    }
    g_rand_free(random);
    const gsize k = n[IFM_VERDICT_SLOWER] + (question->slower > 0 ? 0 : n[IFM_VERDICT_FASTER]);
    const gboolean good = is_within(question, kind, k, count);
    printf("%6.1f (%2.0f)%s", 100.0 * (double)k / (double)count, n_pairs / (double)count, good ? "  " : " !");
    fflush(stdout);
    return good;
}

int main(int argc, char **argv)
{
    gsize count = 2000;
    guint64 seed = 1;
    if (!bench_options(argc, argv, &count, &seed))
        return 2;
    printf("%" G_GSIZE_FORMAT
           " comparisons a figure, %d rounds a pair. A thing with itself, at most so many pairs: wrongly "
           "different, %%. B slower by so much: found, %%. In brackets: pairs used. !: worse than its bound.\n%-34s",
           count, ROUNDS, "");
    for (gsize i = 0; i < G_N_ELEMENTS(questions); i++)
        printf("%12s", questions[i].title);
    gboolean good = TRUE;
    for (gsize kind = 0; kind < G_N_ELEMENTS(noises); kind++)
    {
        printf("\n%-34s", noises[kind].name);
        for (gsize i = 0; i < G_N_ELEMENTS(questions); i++)
            good &= ask(&questions[i], kind, count, seed);
    }
    printf("\n");
    return good ? 0 : 1;
}
