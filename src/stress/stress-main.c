/* The process of a stressor: a thread a core, or one for a GPU, busy for the share of the time that the shared block says.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "stress-private.h"

/* A period of busy and idle, each one longer or shorter by up to JITTER: so it does not beat with the kernel's clock, which
 * ticks every 4 ms, nor with what is measured. */
#define PERIOD_NS 7e6
#define JITTER 0.3
/* A core that others keep busy: a period that took this many times as long is given up. */
#define MAX_PERIODS 2.5
#define IDLE_NS 2000000

typedef struct
{
    StressBlock *block;
    StressCore *core;
    IfmStressKind kind;
    int index; /* of the core, or of the GPU */
    gboolean is_gpu;
    unsigned seed;
    StressWork *work; /* of a core */
    StressGpu *gpu;   /* NULL: of a core */
    double gpu_ns;
} Thread;

static double now_of(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void sleep_ns(double ns)
{
    const struct timespec time = { (time_t)(ns / 1e9), (long)ns % 1000000000L };
    nanosleep(&time, NULL);
}

/* The owner has why. */
static void give_up(StressBlock *block, const GError *error)
{
    block->trouble = (IfmErrorCode)error->code;
    g_strlcpy(block->message, error->message, sizeof block->message);
    _exit(1);
}

/* How long it was busy so far. */
static double busy_ns_of(const Thread *self)
{
    return self->is_gpu ? self->gpu_ns : now_of(CLOCK_THREAD_CPUTIME_ID);
}

static void run_piece(Thread *self, double want_ns)
{
    g_autoptr(GError) error = NULL;
    StressDone done = { 0 };
    if (!self->is_gpu)
        done.work = stress_work_run(self->work);
    else if (!stress_gpu_run(self->gpu, want_ns, &done, &error))
        give_up(self->block, error);
    self->gpu_ns += (double)done.busy_ns;
    atomic_fetch_add(&self->core->work, done.work);
    atomic_store(&self->core->busy_ns, (gint64)busy_ns_of(self));
}

/* Busy for so long, by its own clock. Returns: FALSE where another intensity was set meanwhile. */
static gboolean be_busy(Thread *self, double want_ns, double period_ns, gint64 intensity_ppm)
{
    const double began_ns = now_of(CLOCK_MONOTONIC), before_ns = busy_ns_of(self);
    double used_ns = 0;
    while (used_ns < want_ns && now_of(CLOCK_MONOTONIC) - began_ns < MAX_PERIODS * period_ns)
    {
        run_piece(self, want_ns - used_ns);
        used_ns = busy_ns_of(self) - before_ns;
        if (atomic_load(&self->block->intensity_ppm) != intensity_ppm)
            return FALSE;
    }
    return TRUE;
}

static void prepare(Thread *self)
{
    g_autoptr(GError) error = NULL;
    if (!self->is_gpu)
        self->work = stress_work_new(self->kind);
    else if ((self->gpu = stress_gpu_new(self->kind, self->index, &error)) == NULL)
        give_up(self->block, error);
}

/* What is lacking or too much of one period is made up for in the next, up to a period's length. */
static void *run_thread(void *data)
{
    Thread *self = data;
    double owed_ns = 0;
    gint64 intensity_ppm = -1;
    prctl(PR_SET_TIMERSLACK, 1000);
    prepare(self);
    atomic_store(&self->core->busy_ns, (gint64)busy_ns_of(self)); /* what making its buffers took */
    atomic_fetch_add(&self->block->n_running, 1);
    for (;;)
    {
        const gint64 asked_ppm = atomic_load(&self->block->intensity_ppm);
        if (asked_ppm != intensity_ppm)
            owed_ns = 0;
        intensity_ppm = asked_ppm;
        if (intensity_ppm <= 0)
        {
            sleep_ns(IDLE_NS);
            continue;
        }
        const double share = (double)intensity_ppm / 1e6, chance = (double)rand_r(&self->seed) / (double)RAND_MAX;
        const double period_ns = PERIOD_NS * (1 + JITTER * (2 * chance - 1));
        const double began_ns = now_of(CLOCK_MONOTONIC), before_ns = busy_ns_of(self);
        if (!be_busy(self, share * period_ns + owed_ns, period_ns, intensity_ppm))
            continue;
        const double left_ns = period_ns - (now_of(CLOCK_MONOTONIC) - began_ns);
        if (left_ns > 0 && share < 1)
            sleep_ns(left_ns);
        owed_ns += share * (now_of(CLOCK_MONOTONIC) - began_ns) - (busy_ns_of(self) - before_ns);
        owed_ns = CLAMP(owed_ns, -PERIOD_NS, PERIOD_NS);
    }
    return NULL;
}

static gboolean start_thread(Thread *thread)
{
    pthread_attr_t attributes;
    pthread_t id;
    cpu_set_t cores;
    CPU_ZERO(&cores);
    if (!thread->is_gpu)
        CPU_SET((gsize)thread->index, &cores);
    pthread_attr_init(&attributes);
    const gboolean ok = (thread->is_gpu || pthread_attr_setaffinity_np(&attributes, sizeof cores, &cores) == 0) &&
                        pthread_create(&id, &attributes, run_thread, thread) == 0;
    pthread_attr_destroy(&attributes);
    return ok;
}

/* Standard input is a pipe of the owner's: its end says that the owner is gone, or wants this to end. */
static void await_end(void)
{
    char byte;
    while (read(STDIN_FILENO, &byte, 1) > 0)
        continue;
    _exit(0);
}

int ifm_stress_main(int n, char **words)
{
    IfmStressKind kind;
    if (n < 4 || n - 3 > IFM_STRESS_MAX_CORES || !ifm_stress_parse(words[0], &kind, NULL))
    {
        fprintf(stderr, "inferometer-worker: a stressor is started by inferometer, not by hand\n");
        return 2;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != atoi(words[1])) /* it died before that */
        return 1;
    StressBlock *block = mmap(NULL, sizeof *block, PROT_READ | PROT_WRITE, MAP_SHARED, atoi(words[2]), 0);
    if (block == MAP_FAILED)
        return 1;
    for (int i = 3; i < n; i++)
    {
        Thread *thread = g_new(Thread, 1);
        const gboolean is_gpu = g_str_has_prefix(words[i], IFM_STRESS_GPU);
        *thread = (Thread){ .block = block,
                            .core = &block->cores[i - 3],
                            .kind = kind,
                            .index = atoi(words[i] + (is_gpu ? strlen(IFM_STRESS_GPU) : 0)),
                            .is_gpu = is_gpu,
                            .seed = (unsigned)i };
        if (!start_thread(thread))
        {
            fprintf(stderr, "core %s: no thread can be started there\n", words[i]);
            return 1;
        }
    }
    await_end();
    return 0;
}
