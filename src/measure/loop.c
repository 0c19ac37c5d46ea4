#include <math.h>
#include <string.h>
#include <time.h>

#include <base/base.h>
#include <base/fields.h>
#include <base/statistics.h>
#include <sensor/sensor.h>
#include <store/store.h>

#include "measure-private.h"

/* How often progress is reported, and how often the subject is verified. */
#define PROGRESS_NS (200 * IFM_NS_PER_MS)
#define VERIFY_NS IFM_NS_PER_S
/* The figures of a progress call may take this share of the time, no more: they are computed between two runs. */
#define FIGURES_SHARE 0.005
/* Runs come in batches that take at least so long, but of so many at most: reading processor times takes a
 * microsecond. */
#define BATCH_NS 100000
#define MAX_BATCH 64
/* Room for this many samples is made at once, beforehand, where the protocol does not say how many there will be. */
#define FIRST_CAPACITY 4096

/* Samples in the order taken. Memory is got, and touched, between runs and many samples ahead. */
typedef struct
{
    GArray *array; /* of gint64, the measurement's */
    gsize capacity;
} Series;

typedef struct
{
    const IfmSubject *subject;
    const IfmMeasureOptions *options;
    IfmMeasurement *measurement;
    IfmClock *clock;
    IfmStopper *stopper;
    Series warmup, samples;
    IfmCpuTimes *cpu; /* of the samples; NULL: by a virtual clock there is none */
    gint64 begin_ns[MAX_BATCH], end_ns[MAX_BATCH];
    gint64 began_ns, verified_ns;          /* on the measuring clock */
    gint64 reported_ns;                    /* real, coarse */
    gint64 figures_due_ns;                 /* real, coarse: when the figures may be computed again */
    gint64 window_begin_us, window_end_us; /* of the measured runs, calendar time */
    double median_ns, ci_ratio;
    gsize n_verified; /* checks so far */
    IfmStopReason stop;
    GError *error;
} Loop;

gint64 ifm_time_coarse_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return now.tv_sec * IFM_NS_PER_S + now.tv_nsec;
}

static void series_reserve(Series *series, gsize capacity)
{
    guint n = series->array->len;
    g_array_set_size(series->array, (guint)capacity);
    memset((gint64 *)(void *)series->array->data + n, 0,
           (capacity - n) * sizeof(gint64)); /* the pages exist from here on */
    g_array_set_size(series->array, n);
    series->capacity = capacity;
}

static void series_init(Series *series, GArray **array, gsize capacity)
{
    if (*array == NULL)
        *array = g_array_new(FALSE, FALSE, sizeof(gint64));
    g_array_set_size(*array, 0);
    series->array = *array;
    series_reserve(series, CLAMP(capacity, 16, 1 << 24));
}

static inline void series_add(Series *series, gint64 value)
{
    if (G_UNLIKELY(series->array->len == series->capacity))
        series_reserve(series, 2 * series->capacity);
    ((gint64 *)(void *)series->array->data)[series->array->len++] = value;
}

/* --- what is written into the measurement ------------------------------------------------------------------------- */

void ifm_measurement_warn(IfmMeasurement *measurement, const char *format, ...)
{
    if (measurement->environment == NULL)
        measurement->environment = json_object();
    json_t *warnings = json_object_get(measurement->environment, "warnings");
    if (warnings == NULL)
    {
        warnings = json_array();
        json_object_set_new(measurement->environment, "warnings", warnings);
    }
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    json_array_append_new(warnings, ifm_json_string(text));
}

void ifm_measurement_fail(IfmMeasurement *measurement, IfmOutcome outcome, const GError *error)
{
    int code = error->domain == IFM_ERROR ? error->code : IFM_ERROR_FAILED;
    measurement->outcome = outcome;
    ifm_record_set_text(&measurement->error_code, ifm_error_code_name(code));
    ifm_record_set_text(&measurement->reason, error->message);
    ifm_record_set_text(&measurement->stop_reason, "");
    GArray *series[] = { measurement->warmup_ns, measurement->samples_ns, measurement->profiled_ns };
    for (gsize i = 0; i < G_N_ELEMENTS(series); i++)
        if (series[i] != NULL)
            g_array_set_size(series[i], 0);
    if (measurement->nodes != NULL)
        g_ptr_array_set_size(measurement->nodes, 0);
    ifm_measurement_set_summary(measurement, NULL);
    ifm_record_set_json(&measurement->breakdown, NULL);
}

IfmMeasurement *ifm_measurement_failed(IfmOutcome outcome, const GError *error)
{
    IfmMeasurement *measurement = ifm_measurement_new();
    ifm_measurement_fail(measurement, outcome, error);
    return measurement;
}

static void summarise(const GArray *samples, double level, IfmSummary *summary)
{
    ifm_summary_compute((const gint64 *)(const void *)samples->data, samples->len, level, summary);
}

IfmSummary ifm_measurement_summarise(IfmMeasurement *measurement, double level)
{
    IfmSummary summary;
    summarise(measurement->samples_ns, level, &summary);
    ifm_measurement_set_summary(measurement, &summary);
    return summary;
}

static double half_width_ratio(const IfmSummary *summary)
{
    return (summary->median_interval.upper - summary->median_interval.lower) / 2 / summary->median;
}

static void describe(Loop *loop)
{
    IfmMeasurement *measurement = loop->measurement;
    const IfmProtocol *protocol = &loop->options->protocol;
    IfmSummary summary = ifm_measurement_summarise(measurement, protocol->level);
    if (protocol->runs == 0 && !ifm_stopper_steady(loop->stopper))
        ifm_measurement_warn(measurement, "the latency was not yet steady when warm-up ended (%u runs)",
                             measurement->warmup_ns->len);
    if (summary.drifting)
        ifm_measurement_warn(measurement, "the latency drifts: %+.1f %% over the series", 100 * summary.drift_ratio);
    double ratio = half_width_ratio(&summary);
    if (protocol->runs == 0 && (isnan(ratio) || ratio > protocol->ci_ratio))
    {
        g_autofree char *width = !ifm_is_precision(ratio) ? g_strdup("unknown") : g_strdup_printf("±%.2f %%", 100 * ratio);
        g_autofree char *stop = g_strdelimit(g_strdup(ifm_stop_reason_name(loop->stop)), "-", ' ');
        ifm_measurement_warn(measurement, "the median's interval is %s, not the ±%.3g %% asked for (%s after %u runs)",
                             width, 100 * protocol->ci_ratio, stop, measurement->samples_ns->len);
    }
}

void ifm_measurement_describe_build(IfmMeasurement *measurement, IfmClock *clock)
{
    if (measurement->environment == NULL)
        measurement->environment = json_object();
    json_object_set_new(
        measurement->environment, "build",
        json_pack("{s:s,s:s,s:s}", "version", IFM_VERSION, "type", IFM_BUILD_TYPE, "sanitize", IFM_SANITIZE));
    json_object_set_new(measurement->environment, "clock_kind",
                        json_string(ifm_clock_is_virtual(clock) ? "virtual" : "real"));
    if (!g_str_equal(IFM_SANITIZE, "none"))
        ifm_measurement_warn(measurement, "built with -fsanitize=%s: not the speed of a release build", IFM_SANITIZE);
    else if (g_str_equal(IFM_BUILD_TYPE, "debug"))
        ifm_measurement_warn(measurement, "a debug build: not the speed of a release build");
}

/* --- the loop ----------------------------------------------------------------------------------------------------- */

static const char *subject_name(const IfmSubject *subject)
{
    return subject->name != NULL ? subject->name : "the subject";
}

/* The timed region: a clock read, the run, a clock read. */
static inline gboolean run_once(Loop *loop, gint64 *begin_ns, gint64 *end_ns)
{
    const IfmSubject *subject = loop->subject;
    *begin_ns = ifm_clock_now_ns(loop->clock);
    gboolean ran = subject->run(subject->self, &loop->error);
    *end_ns = ifm_clock_now_ns(loop->clock);
    return ran;
}

static gboolean verify(Loop *loop)
{
    if (loop->subject->verify == NULL)
        return TRUE;
    loop->n_verified++;
    gboolean right = loop->subject->verify(loop->subject->self, &loop->error);
    if (!right && loop->error == NULL)
        ifm_error_set(&loop->error, IFM_ERROR_FAILED, "%s: the check failed", subject_name(loop->subject));
    loop->verified_ns = ifm_clock_now_ns(loop->clock);
    return right;
}

static void report(Loop *loop, gint64 now_ns)
{
    const IfmMeasureOptions *options = loop->options;
    const GArray *samples = loop->samples.array;
    loop->reported_ns = now_ns;
    if (now_ns >= loop->figures_due_ns && samples->len > 0)
    {
        IfmSummary summary;
        gint64 before = g_get_monotonic_time();
        summarise(samples, options->protocol.level, &summary);
        loop->median_ns = summary.median;
        loop->ci_ratio = half_width_ratio(&summary);
        loop->figures_due_ns = now_ns + (gint64)((double)(g_get_monotonic_time() - before) * 1000 / FIGURES_SHARE);
    }
    options->progress(samples->len, loop->median_ns, loop->ci_ratio, options->progress_user);
}

/* What happens between two runs. Returns: FALSE where the loop shall end. */
static inline gboolean between(Loop *loop, gint64 end_ns)
{
    const IfmMeasureOptions *options = loop->options;
    if (G_UNLIKELY(end_ns - loop->verified_ns >= VERIFY_NS || loop->n_verified == 0) && !verify(loop))
        return FALSE;
    if (options->interrupted != NULL && G_UNLIKELY(g_atomic_int_get(options->interrupted) != 0))
    {
        loop->stop = IFM_STOP_INTERRUPTED;
        return FALSE;
    }
    if (options->progress != NULL)
    {
        gint64 now_ns = ifm_time_coarse_ns();
        if (G_UNLIKELY(now_ns - loop->reported_ns >= PROGRESS_NS))
            report(loop, now_ns);
    }
    return TRUE;
}

/* Returns: TRUE where measuring may begin. */
static gboolean warm_up(Loop *loop)
{
    const IfmProtocol *protocol = &loop->options->protocol;
    gboolean over = protocol->runs > 0 && protocol->warmup == 0;
    while (!over)
    {
        gint64 begin_ns, end_ns;
        if (!run_once(loop, &begin_ns, &end_ns))
            return FALSE;
        series_add(&loop->warmup, end_ns - begin_ns);
        over = ifm_stopper_warm(loop->stopper, end_ns - begin_ns, end_ns - loop->began_ns);
        if (!between(loop, end_ns))
            return FALSE;
    }
    return TRUE;
}

/* By what the last run took. */
static gsize batch_size(const Loop *loop)
{
    const IfmProtocol *protocol = &loop->options->protocol;
    const GArray *last = loop->samples.array->len > 0 ? loop->samples.array : loop->warmup.array;
    const gsize n = loop->samples.array->len, most = protocol->runs > 0 ? protocol->runs : protocol->max_runs;
    if (loop->cpu == NULL || last->len == 0)
        return 1;
    const gint64 run_ns = MAX(g_array_index(last, gint64, last->len - 1), 1);
    const gsize wanted = (gsize)CLAMP((BATCH_NS + run_ns - 1) / run_ns, 1, MAX_BATCH);
    return most > n ? MIN(wanted, most - n) : wanted;
}

/* One after the other, with nothing between but the clock. @n: (inout) how many; how many
 * were made */
static gboolean run_batch(Loop *loop, gsize *n)
{
    IfmCpuReading begin, end;
    gsize made = 0;
    gboolean ran = TRUE;
    if (loop->cpu != NULL)
        ifm_cpu_read(&begin, FALSE);
    while (ran && made < *n)
    {
        ran = run_once(loop, &loop->begin_ns[made], &loop->end_ns[made]);
        made += ran;
    }
    if (loop->cpu != NULL)
        ifm_cpu_read(&end, TRUE);
    *n = made;
    if (loop->cpu != NULL && made > 0)
        ifm_cpu_times_add(loop->cpu, &begin, &end, loop->end_ns[made - 1] - loop->begin_ns[0], made);
    return ran;
}

static void measure(Loop *loop)
{
    while (loop->stop == IFM_STOP_GO_ON)
    {
        IfmStopReason stop = IFM_STOP_GO_ON;
        gsize n = batch_size(loop);
        const gboolean ran = run_batch(loop, &n);
        for (gsize i = 0; i < n; i++)
        {
            const gint64 run_ns = loop->end_ns[i] - loop->begin_ns[i];
            series_add(&loop->samples, run_ns);
            const IfmStopReason now = ifm_stopper_add(loop->stopper, run_ns, loop->end_ns[i] - loop->began_ns);
            stop = stop == IFM_STOP_GO_ON ? now : stop;
        }
        if (!ran || !between(loop, loop->end_ns[n - 1]))
            return;
        loop->stop = stop;
    }
}

/* A run that was given up on the flag's word is none, and left nothing to verify: the last check stands for those before.
 */
static gboolean was_given_up(Loop *loop)
{
    const gint *interrupted = loop->options->interrupted;
    if (interrupted == NULL || g_atomic_int_get(interrupted) == 0 ||
        !g_error_matches(loop->error, IFM_ERROR, IFM_ERROR_CANCELLED))
        return FALSE;
    g_clear_error(&loop->error);
    loop->stop = IFM_STOP_INTERRUPTED;
    return TRUE;
}

static void loop_main(void *user)
{
    Loop *loop = user;
    loop->began_ns = ifm_clock_now_ns(loop->clock);
    loop->verified_ns = loop->began_ns;
    loop->reported_ns = ifm_time_coarse_ns();
    if (loop->options->interrupted != NULL && g_atomic_int_get(loop->options->interrupted) != 0)
        loop->stop = IFM_STOP_INTERRUPTED;
    else if (warm_up(loop))
    {
        IfmCpuDelay begin, end;
        if (loop->cpu != NULL)
            ifm_cpu_delay_read(&begin);
        loop->window_begin_us = g_get_real_time();
        measure(loop);
        loop->window_end_us = g_get_real_time();
        if (loop->cpu != NULL)
        {
            ifm_cpu_delay_read(&end);
            ifm_cpu_times_set_delay(loop->cpu, &begin, &end);
        }
    }
    if (!was_given_up(loop) && loop->error == NULL && loop->samples.array->len > 0)
        verify(loop);
}

void ifm_repeat(void *user)
{
    IfmRepeat *self = user;
    while ((self->stop == NULL || g_atomic_int_get(self->stop) == 0) &&
           (self->n < self->min || self->until_ns == IFM_CLOCK_NEVER || ifm_clock_now_ns(self->clock) < self->until_ns) &&
           self->subject.run(self->subject.self, &self->error))
        self->n++;
}

void ifm_subject_invoke(const IfmSubject *subject, void (*function)(void *user), void *user)
{
    if (subject->invoke != NULL)
        subject->invoke(subject->self, function, user);
    else
        function(user);
}

static void loop_init(Loop *loop)
{
    const IfmProtocol *protocol = &loop->options->protocol;
    gsize max = protocol->runs > 0 ? protocol->runs : MIN(protocol->max_runs, FIRST_CAPACITY);
    loop->clock = loop->subject->clock != NULL ? ifm_clock_ref(loop->subject->clock) : ifm_clock_new_real();
    loop->stopper = ifm_stopper_new(protocol);
    loop->median_ns = loop->ci_ratio = NAN;
    series_init(&loop->warmup, &loop->measurement->warmup_ns, MAX(protocol->warmup, 1024));
    series_init(&loop->samples, &loop->measurement->samples_ns, max);
    loop->cpu = ifm_clock_is_virtual(loop->clock) ? NULL : ifm_cpu_times_new(max);
}

/* A subject's FALSE without an error is mended here, so that a record always has its reason. */
static void require_error(Loop *loop)
{
    if (loop->error == NULL && loop->stop == IFM_STOP_INTERRUPTED && loop->samples.array->len == 0)
        ifm_error_set(&loop->error, IFM_ERROR_CANCELLED, "interrupted before anything was measured");
    else if (loop->error == NULL && loop->stop == IFM_STOP_GO_ON)
        ifm_error_set(&loop->error, IFM_ERROR_FAILED, "%s failed without saying why", subject_name(loop->subject));
}

gboolean ifm_measure_subject(const IfmSubject *subject, const IfmMeasureOptions *options, IfmMeasurement *measurement,
                             GError **error)
{
    Loop loop = { .subject = subject, .options = options, .measurement = measurement };
    loop_init(&loop);
    ifm_measurement_describe_build(measurement, loop.clock);
    ifm_subject_invoke(subject, loop_main, &loop);
    require_error(&loop);
    json_decref(measurement->verification);
    const char *status = subject->verify == NULL ? "none" : loop.error == NULL ? "passed" : "failed";
    measurement->verification = json_pack("{s:s,s:I}", "status", status, "n_checks", (json_int_t)loop.n_verified);
    if (loop.error != NULL)
        ifm_measurement_fail(measurement, IFM_OUTCOME_FAILED, loop.error);
    else
    {
        measurement->outcome = IFM_OUTCOME_OK;
        ifm_record_set_text(&measurement->error_code, "");
        ifm_record_set_text(&measurement->reason, "");
        ifm_record_set_text(&measurement->stop_reason, ifm_stop_reason_name(loop.stop));
        json_object_set_new(measurement->environment, "measured",
                            json_pack("{s:I,s:I}", "start_unix_ms", (json_int_t)(loop.window_begin_us / 1000),
                                      "end_unix_ms", (json_int_t)(loop.window_end_us / 1000)));
        describe(&loop);
        const double n_threads = ifm_member_number(measurement->effective_config, "n_threads");
        if (loop.cpu != NULL && measurement->samples_ns->len > 0)
            json_object_set_new(measurement->environment, "runs",
                                ifm_cpu_times_to_json(loop.cpu, measurement->samples_ns,
                                                      n_threads >= 1 ? (int)n_threads : 0, subject->is_elsewhere));
    }
    ifm_cpu_times_free(loop.cpu);
    ifm_stopper_free(loop.stopper);
    ifm_clock_unref(loop.clock);
    return ifm_error_pass(error, loop.error);
}

void ifm_measure_one_run(gint64 run_ns, const IfmProtocol *protocol, const char *why, IfmMeasurement *measurement)
{
    g_autoptr(IfmClock) clock = ifm_clock_new_real();
    Series warmup, samples;
    series_init(&warmup, &measurement->warmup_ns, 1);
    series_init(&samples, &measurement->samples_ns, 1);
    series_add(&samples, run_ns);
    ifm_measurement_describe_build(measurement, clock);
    ifm_measurement_warn(measurement, "%s", why);
    ifm_measurement_summarise(measurement, protocol->level);
    json_decref(measurement->verification);
    measurement->verification = json_pack("{s:s,s:i}", "status", "none", "n_checks", 0);
    measurement->outcome = IFM_OUTCOME_OK;
    ifm_record_set_text(&measurement->error_code, "");
    ifm_record_set_text(&measurement->reason, "");
    ifm_record_set_text(&measurement->stop_reason, ifm_stop_reason_name(IFM_STOP_TIME_BUDGET));
}
