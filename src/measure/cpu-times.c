/* Processor time and interruptions of runs, beside their wall time. */
#include <math.h>
#include <sys/resource.h>
#include <time.h>

#include <base/fields.h>
#include <base/statistics.h>
#include <sensor/sensor.h>

#include "measure-private.h"

/* Who computes a run: the calling thread where it has nearly all of the process' time, another one where that time is
 * nearly the wall time of some batch. */
#define NEARLY 0.9
#define MOST_LISTED 100000 /* runs whose times a record holds one by one */

typedef struct
{
    gint64 wall_ns, thread_ns, process_ns, n_interrupted, n_waits;
    gsize n;
} Batch;

struct IfmCpuTimes
{
    GArray *batches; /* Batch */
    gsize n;         /* runs */
    gint64 wall_ns, thread_ns, process_ns;
    gsize n_waiting;   /* batches in which the calling thread went to sleep */
    double busiest;    /* process' time over wall time, of the batch where that is most */
    IfmCpuDelay delay; /* all -1: not known */
};

static gint64 clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * IFM_NS_PER_S + now.tv_nsec;
}

/* The thread's own time is read last, and first at the end: reading the others is not in it. */
void ifm_cpu_read(IfmCpuReading *reading, gboolean is_end)
{
    struct rusage thread, process;
    if (is_end)
        reading->thread_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    getrusage(RUSAGE_THREAD, &thread);
    getrusage(RUSAGE_SELF, &process);
    reading->n_interrupted = process.ru_nivcsw;
    reading->n_waits = thread.ru_nvcsw;
    reading->process_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    if (!is_end)
        reading->thread_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

IfmCpuTimes *ifm_cpu_times_new(gsize n_runs)
{
    IfmCpuTimes *self = g_new0(IfmCpuTimes, 1);
    self->batches = g_array_sized_new(FALSE, FALSE, sizeof(Batch), (guint)n_runs);
    self->delay = (IfmCpuDelay){ -1, -1, -1 };
    return self;
}

void ifm_cpu_times_free(IfmCpuTimes *self)
{
    if (self == NULL)
        return;
    g_array_unref(self->batches);
    g_free(self);
}

void ifm_cpu_times_add(IfmCpuTimes *self, const IfmCpuReading *begin, const IfmCpuReading *end, gint64 wall_ns, gsize n)
{
    const Batch batch = { .wall_ns = wall_ns,
                          .thread_ns = end->thread_ns - begin->thread_ns,
                          .process_ns = end->process_ns - begin->process_ns,
                          .n_interrupted = end->n_interrupted - begin->n_interrupted,
                          .n_waits = end->n_waits - begin->n_waits,
                          .n = n };
    g_array_append_val(self->batches, batch);
    self->n += n;
    self->wall_ns += wall_ns;
    self->thread_ns += batch.thread_ns;
    self->process_ns += batch.process_ns;
    self->n_waiting += batch.n_waits > 0;
    self->busiest = wall_ns > 0 ? fmax(self->busiest, (double)batch.process_ns / (double)wall_ns) : self->busiest;
}

void ifm_cpu_delay_read(IfmCpuDelay *delay)
{
    *delay = (IfmCpuDelay){ 1000 * g_get_monotonic_time(), ifm_sensor_wait_ns("/"), ifm_sensor_process_wait_ns("/") };
}

void ifm_cpu_times_set_delay(IfmCpuTimes *self, const IfmCpuDelay *begin, const IfmCpuDelay *end)
{
    self->delay.window_ns = end->window_ns - begin->window_ns;
    self->delay.thread_ns = begin->thread_ns >= 0 ? MAX(end->thread_ns - begin->thread_ns, -1) : -1;
    self->delay.process_ns = begin->process_ns >= 0 ? MAX(end->process_ns - begin->process_ns, -1) : -1;
}

/* @why: (out) where it is neither "thread" nor "process" */
static const char *scope_of(const IfmCpuTimes *self, int n_threads, const char **why)
{
    if (n_threads > 1)
        *why = "several threads: those that wait spin";
    else if ((double)self->thread_ns >= NEARLY * (double)self->process_ns && 2 * self->n_waiting <= self->batches->len)
        return "thread";
    else if ((double)self->thread_ns >= NEARLY * (double)self->process_ns)
        *why = "the thread waits for something else than the processor";
    else if (n_threads == 1 && self->process_ns <= self->wall_ns && self->busiest >= NEARLY)
        return "process";
    else
        *why = "the runs are not computed by one thread";
    return NULL;
}

/* Share of the time in which a processor was wanted and not given; NaN: not known. Where the operating system takes the
 * processor at a system call, that is between the runs: their wall time does not show it, what the scheduler counts does.
 */
static double waited_ratio(const IfmCpuTimes *self, const char *scope, int n_threads)
{
    const gboolean is_thread = g_strcmp0(scope, "thread") == 0;
    const double wall_ns = (double)self->wall_ns, cpu_ns = (double)(is_thread ? self->thread_ns : self->process_ns);
    const IfmCpuDelay *delay = &self->delay;
    if (self->wall_ns <= 0)
        return (double)NAN;
    const double between =
        is_thread && delay->thread_ns > 0 && delay->window_ns > 0 ? (double)delay->thread_ns / (double)delay->window_ns : 0;
    if (scope != NULL)
        return CLAMP(fmax(1 - cpu_ns / wall_ns, between), 0, 1);
    if (delay->process_ns < 0 || n_threads < 1)
        return (double)NAN;
    return CLAMP((double)delay->process_ns / wall_ns / n_threads, 0, 1);
}

/* @values: double, of which the order is lost */
static json_t *median_of(GArray *values)
{
    double *sorted = (double *)(void *)values->data;
    ifm_sort_doubles(sorted, values->len);
    return values->len > 0 ? json_real(ifm_quantile(sorted, values->len, 0.5)) : json_null();
}

json_t *ifm_cpu_times_to_json(const IfmCpuTimes *self, const GArray *samples_ns, int n_threads, gboolean is_elsewhere)
{
    const char *why = is_elsewhere ? "another device than the processor computes" : NULL,
               *scope = is_elsewhere ? NULL : scope_of(self, n_threads, &why);
    const gboolean lists = self->n <= MOST_LISTED;
    g_autoptr(GArray) cpu = g_array_new(FALSE, FALSE, sizeof(double)), calm = g_array_new(FALSE, FALSE, sizeof(double));
    json_t *cpu_ns = json_array(), *interrupted = json_array();
    gsize at = 0, n_interrupted = 0;
    for (guint i = 0; i < self->batches->len; i++)
    {
        const Batch *batch = &g_array_index(self->batches, Batch, i);
        const gint64 all_ns = g_strcmp0(scope, "thread") == 0 ? batch->thread_ns : batch->process_ns;
        const double one_ns = (double)all_ns / (double)batch->n;
        for (gsize k = 0; k < batch->n && at < samples_ns->len; k++, at++)
        {
            const double wall_ns = (double)g_array_index(samples_ns, gint64, at);
            g_array_append_val(cpu, one_ns);
            if (lists && scope != NULL)
                json_array_append_new(cpu_ns, json_integer(all_ns / (gint64)batch->n));
            if (batch->n_interrupted == 0)
                g_array_append_val(calm, wall_ns);
            else if (n_interrupted++, lists)
                json_array_append_new(interrupted, json_integer((json_int_t)at));
        }
    }
    json_t *json = json_pack("{s:o,s:o,s:I,s:o,s:o}", "cpu", scope != NULL ? json_string(scope) : json_null(), "why",
                             ifm_json_some_string(why), "n_interrupted", (json_int_t)n_interrupted, "undisturbed_median_ns",
                             median_of(calm), "waited_ratio", ifm_json_real(waited_ratio(self, scope, n_threads)));
    json_object_set_new(json, "cpu_median_ns", scope != NULL ? median_of(cpu) : json_null());
    json_object_set_new(json, "cpu_ns", cpu_ns);
    json_object_set_new(json, "interrupted", interrupted);
    return json;
}
