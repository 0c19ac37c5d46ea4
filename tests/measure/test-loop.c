#include <math.h>
#include <pthread.h>
#include <string.h>

#include <base/base.h>
#include <base/statistics.h>
#include <measure/measure.h>

#define MS G_GINT64_CONSTANT(1000000)

/* A subject on a virtual clock whose runs take what a list says, over and over. */
typedef struct
{
    IfmClock *clock;
    const gint64 *latencies_ns;
    gsize n_latencies;
    gsize n_runs, n_checks;
    gsize fails_at, wrong_at;  /* 1-based run, check; 0: never */
    gsize silent;              /* fails without an error */
    gsize gives_up_at;         /* run that ends because somebody asked it to; 0: never */
    gsize interrupts_at;       /* run that sets the flag; 0: never */
    gint interrupted;          /* atomic */
    pthread_t expected_thread; /* where set */
    gboolean expects_thread, elsewhere;
} Scripted;

static gboolean scripted_run(void *data, GError **error)
{
    Scripted *self = data;
    gint64 latency_ns = self->latencies_ns[self->n_runs % self->n_latencies];
    self->n_runs++;
    ifm_clock_sleep_until_ns(self->clock, ifm_clock_now_ns(self->clock) + latency_ns);
    if (self->n_runs == self->interrupts_at)
        g_atomic_int_set(&self->interrupted, 1);
    if (self->expects_thread && !pthread_equal(pthread_self(), self->expected_thread))
        self->elsewhere = TRUE;
    if (self->n_runs == self->gives_up_at)
    {
        g_set_error(error, IFM_ERROR, IFM_ERROR_CANCELLED, "given up in run %" G_GSIZE_FORMAT, self->n_runs);
        return FALSE;
    }
    if (self->n_runs != self->fails_at)
        return TRUE;
    if (!self->silent)
        g_set_error(error, IFM_ERROR, IFM_ERROR_LOST, "gone in run %" G_GSIZE_FORMAT, self->n_runs);
    return FALSE;
}

static gboolean scripted_verify(void *data, GError **error)
{
    Scripted *self = data;
    self->n_checks++;
    if (self->n_checks != self->wrong_at)
        return TRUE;
    g_set_error(error, IFM_ERROR, IFM_ERROR_FAILED, "wrong in check %" G_GSIZE_FORMAT, self->n_checks);
    return FALSE;
}

static void scripted_init(Scripted *self, const gint64 *latencies_ns, gsize n)
{
    *self = (Scripted){ .clock = ifm_clock_new_virtual(5), .latencies_ns = latencies_ns, .n_latencies = n };
    ifm_clock_enter(self->clock);
}

static void scripted_clear(Scripted *self)
{
    ifm_clock_leave(self->clock);
    ifm_clock_unref(self->clock);
}

static IfmSubject subject_of(Scripted *self)
{
    return (IfmSubject){
        .name = "scripted", .clock = self->clock, .run = scripted_run, .verify = scripted_verify, .self = self
    };
}

static IfmMeasureOptions fixed(gsize warmup, gsize runs)
{
    IfmMeasureOptions options = { .protocol = IFM_PROTOCOL_INIT };
    options.protocol.warmup = warmup;
    options.protocol.runs = runs;
    return options;
}

static gint64 at(const GArray *series, guint i)
{
    return g_array_index(series, gint64, i);
}

static const char *verification_status(const IfmMeasurement *measurement)
{
    return json_string_value(json_object_get(measurement->verification, "status"));
}

static gboolean has_warning(const IfmMeasurement *measurement, const char *part)
{
    json_t *warnings = json_object_get(measurement->environment, "warnings"), *warning;
    gsize i;
    json_array_foreach(warnings, i, warning) if (strstr(json_string_value(warning), part) != NULL) return TRUE;
    return FALSE;
}

static void test_fixed(void)
{
    static const gint64 latencies[] = { 9 * MS, 7 * MS, 3 * MS, 4 * MS, 5 * MS, 6 * MS, 8 * MS };
    Scripted scripted;
    scripted_init(&scripted, latencies, G_N_ELEMENTS(latencies));
    IfmSubject subject = subject_of(&scripted);
    IfmMeasureOptions options = fixed(2, 5);
    g_autoptr(IfmMeasurement) measurement = ifm_measurement_new();
    g_autoptr(GError) error = NULL;
    g_assert_true(ifm_measure_subject(&subject, &options, measurement, &error));
    g_assert_no_error(error);
    g_assert_cmpuint(scripted.n_runs, ==, 7);   /* not one more than was asked for */
    g_assert_cmpuint(scripted.n_checks, ==, 2); /* after the first run and the last */
    g_assert_cmpuint(measurement->warmup_ns->len, ==, 2);
    g_assert_cmpuint(measurement->samples_ns->len, ==, 5);
    for (guint i = 0; i < 7; i++)
        g_assert_cmpint(i < 2 ? at(measurement->warmup_ns, i) : at(measurement->samples_ns, i - 2), ==, latencies[i]);
    g_assert_cmpint(measurement->outcome, ==, IFM_OUTCOME_OK);
    g_assert_cmpstr(measurement->stop_reason, ==, "fixed");
    g_assert_cmpstr(measurement->error_code, ==, "");
    g_assert_cmpstr(verification_status(measurement), ==, "passed");
    g_assert_cmpfloat(measurement->summary.median, ==, 5.0 * MS);
    g_assert_cmpfloat(measurement->summary.min, ==, 3.0 * MS);
    g_assert_true(isnan(measurement->summary.p99)); /* five samples bound no such percentile */
    g_assert_cmpstr(json_string_value(json_object_get(measurement->environment, "clock_kind")), ==, "virtual");
    gboolean slow_build = strcmp(IFM_SANITIZE, "none") != 0 || strcmp(IFM_BUILD_TYPE, "debug") == 0;
    g_assert_cmpint(has_warning(measurement, "not the speed of a release build"), ==, slow_build);
    scripted_clear(&scripted);
}

static void test_no_warmup(void)
{
    static const gint64 latencies[] = { MS };
    Scripted scripted;
    scripted_init(&scripted, latencies, 1);
    IfmSubject subject = subject_of(&scripted);
    IfmMeasureOptions options = fixed(0, 1);
    g_autoptr(IfmMeasurement) measurement = ifm_measurement_new();
    g_assert_true(ifm_measure_subject(&subject, &options, measurement, NULL));
    g_assert_cmpuint(scripted.n_runs, ==, 1);
    g_assert_cmpuint(measurement->warmup_ns->len, ==, 0);
    g_assert_cmpuint(measurement->samples_ns->len, ==, 1);
    scripted_clear(&scripted);
}

/* More samples than room was made for at first: all of them arrive, in order. */
static void test_many(void)
{
    g_autofree gint64 *latencies = g_new(gint64, 9973);
    for (gsize i = 0; i < 9973; i++)
        latencies[i] = 1000 + (gint64)((i * 7919) % 9973);
    Scripted scripted;
    scripted_init(&scripted, latencies, 9973);
    IfmSubject subject = subject_of(&scripted);
    IfmMeasureOptions options = { .protocol = IFM_PROTOCOL_INIT };
    options.protocol.ci_ratio = 1e-9; /* never reached */
    options.protocol.time_budget_ns = 0;
    options.protocol.max_runs = 20011;
    g_autoptr(IfmMeasurement) measurement = ifm_measurement_new();
    g_assert_true(ifm_measure_subject(&subject, &options, measurement, NULL));
    g_assert_cmpuint(measurement->samples_ns->len, ==, 20011);
    g_assert_cmpstr(measurement->stop_reason, ==, "max-runs");
    guint warmup = measurement->warmup_ns->len;
    g_assert_cmpuint(scripted.n_runs, ==, warmup + 20011);
    for (guint i = 0; i < 20011; i++)
        g_assert_cmpint(at(measurement->samples_ns, i), ==, latencies[(warmup + i) % 9973]);
    g_assert_true(has_warning(measurement, "not the ±1e-07 % asked for (max runs after 20011 runs)"));
    scripted_clear(&scripted);
}

/* Checked after the first run, each second, and after the last. */
static void test_verify_cadence(void)
{
    static const gint64 latencies[] = { 250 * MS };
    Scripted scripted;
    scripted_init(&scripted, latencies, 1);
    IfmSubject subject = subject_of(&scripted);
    IfmMeasureOptions options = fixed(1, 9);
    g_autoptr(IfmMeasurement) measurement = ifm_measurement_new();
    g_assert_true(ifm_measure_subject(&subject, &options, measurement, NULL));
    g_assert_cmpuint(scripted.n_checks, ==, 4); /* at 0.25 s, 1.25 s, 2.25 s and the end, 2.5 s */
    scripted_clear(&scripted);
}

static void assert_failed(const IfmMeasurement *measurement, const char *code, const char *reason)
{
    g_assert_cmpint(measurement->outcome, ==, IFM_OUTCOME_FAILED);
    g_assert_cmpstr(measurement->error_code, ==, code);
    g_assert_cmpstr(measurement->reason, ==, reason);
    g_assert_cmpstr(measurement->stop_reason, ==, "");
    g_assert_cmpuint(measurement->samples_ns->len, ==, 0);
    g_assert_false(measurement->has_summary);
}

static void test_wrong(void)
{
    static const gint64 latencies[] = { 400 * MS };
    for (gsize check = 1; check <= 3; check++)
    {
        Scripted scripted;
        scripted_init(&scripted, latencies, 1);
        scripted.wrong_at = check; /* at once, meanwhile, at the end */
        IfmSubject subject = subject_of(&scripted);
        IfmMeasureOptions options = fixed(1, 4);
        g_autoptr(IfmMeasurement) measurement = ifm_measurement_new();
        g_autoptr(GError) error = NULL;
        g_assert_false(ifm_measure_subject(&subject, &options, measurement, &error));
        g_assert_error(error, IFM_ERROR, IFM_ERROR_FAILED);
        g_autofree char *reason = g_strdup_printf("wrong in check %" G_GSIZE_FORMAT, check);
        assert_failed(measurement, "failed", reason);
        g_assert_cmpstr(verification_status(measurement), ==, "failed");
        scripted_clear(&scripted);
    }
}

static void test_fails(void)
{
    static const gint64 latencies[] = { MS };
    for (gsize run = 1; run <= 5; run += 4) /* in warm-up and after */
    {
        Scripted scripted;
        scripted_init(&scripted, latencies, 1);
        scripted.fails_at = run;
        IfmSubject subject = subject_of(&scripted);
        IfmMeasureOptions options = fixed(2, 10);
        g_autoptr(IfmMeasurement) measurement = ifm_measurement_new();
        g_autoptr(GError) error = NULL;
        g_assert_false(ifm_measure_subject(&subject, &options, measurement, &error));
        g_assert_error(error, IFM_ERROR, IFM_ERROR_LOST);
        assert_failed(measurement, "lost", run == 1 ? "gone in run 1" : "gone in run 5");
        g_assert_cmpuint(scripted.n_runs, ==, run);
        scripted_clear(&scripted);
    }
}

static void test_fails_silently(void)
{
    static const gint64 latencies[] = { MS };
    Scripted scripted;
    scripted_init(&scripted, latencies, 1);
    scripted.fails_at = 4;
    scripted.silent = TRUE;
    IfmSubject subject = subject_of(&scripted);
    IfmMeasureOptions options = fixed(2, 10);
    g_autoptr(IfmMeasurement) measurement = ifm_measurement_new();
    g_assert_false(ifm_measure_subject(&subject, &options, measurement, NULL));
    assert_failed(measurement, "failed", "scripted failed without saying why");
    scripted_clear(&scripted);
}

static void test_interrupted(void)
{
    static const gint64 latencies[] = { MS };
    Scripted scripted;
    scripted_init(&scripted, latencies, 1);
    scripted.interrupts_at = 7;
    IfmSubject subject = subject_of(&scripted);
    IfmMeasureOptions options = fixed(3, 100);
    options.interrupted = &scripted.interrupted;
    g_autoptr(IfmMeasurement) measurement = ifm_measurement_new();
    g_assert_true(ifm_measure_subject(&subject, &options, measurement, NULL));
    g_assert_cmpstr(measurement->stop_reason, ==, "interrupted");
    g_assert_cmpuint(measurement->samples_ns->len, ==, 4);
    g_assert_cmpuint(scripted.n_runs, ==, 7);
    g_assert_cmpuint(scripted.n_checks, ==, 2); /* what is kept was checked, too */
    scripted_clear(&scripted);
}

/* A run that heeds the flag by itself is none: what was measured before it stays. Where nobody asked it failed. */
static void test_given_up(void)
{
    static const gint64 latencies[] = { MS };
    static const gsize runs[] = { 7, 4, 2 };
    for (gsize i = 0; i < 2 * G_N_ELEMENTS(runs); i++)
    {
        gsize run = runs[i / 2];
        gboolean asked = i % 2 == 0;
        Scripted scripted;
        scripted_init(&scripted, latencies, 1);
        scripted.gives_up_at = run;
        scripted.interrupts_at = asked ? run : 0;
        IfmSubject subject = subject_of(&scripted);
        IfmMeasureOptions options = fixed(3, 100);
        options.interrupted = &scripted.interrupted;
        g_autoptr(IfmMeasurement) measurement = ifm_measurement_new();
        g_autoptr(GError) error = NULL;
        gboolean good = ifm_measure_subject(&subject, &options, measurement, &error);
        g_assert_cmpint(good, ==, asked && run > 4);
        g_assert_cmpuint(scripted.n_runs, ==, run);
        if (good)
        {
            g_assert_cmpstr(measurement->stop_reason, ==, "interrupted");
            g_assert_cmpuint(measurement->samples_ns->len, ==, 3);
            g_assert_cmpstr(verification_status(measurement), ==, "passed");
        }
        else
        {
            g_assert_error(error, IFM_ERROR, IFM_ERROR_CANCELLED);
            g_assert_cmpuint(measurement->samples_ns->len, ==, 0);
        }
        scripted_clear(&scripted);
    }
}

/* Runs that take longer than the whole budget: there are as many as were promised. */
static void test_promise(void)
{
    static const gint64 latencies[] = { 70 * MS, 90 * MS };
    Scripted scripted;
    scripted_init(&scripted, latencies, G_N_ELEMENTS(latencies));
    IfmSubject subject = subject_of(&scripted);
    IfmMeasureOptions options = { .protocol = IFM_PROTOCOL_INIT };
    options.protocol.warmup = 1;
    options.protocol.min_runs = 3;
    options.protocol.time_budget_ns = 50 * MS;
    g_autoptr(IfmMeasurement) measurement = ifm_measurement_new();
    g_assert_true(ifm_measure_subject(&subject, &options, measurement, NULL));
    g_assert_cmpuint(measurement->samples_ns->len, ==, 3);
    g_assert_cmpstr(measurement->stop_reason, ==, "time-budget");
    scripted_clear(&scripted);
}

static void test_one_run(void)
{
    const IfmProtocol protocol = IFM_PROTOCOL_INIT;
    g_autoptr(IfmMeasurement) measurement = ifm_measurement_new();
    ifm_measure_one_run(12345 * MS, &protocol, "once is enough", measurement);
    g_assert_cmpint(measurement->outcome, ==, IFM_OUTCOME_OK);
    g_assert_cmpuint(measurement->warmup_ns->len, ==, 0);
    g_assert_cmpuint(measurement->samples_ns->len, ==, 1);
    g_assert_cmpint(at(measurement->samples_ns, 0), ==, 12345 * MS);
    g_assert_cmpfloat(measurement->summary.median, ==, 12345.0 * MS);
    g_assert_cmpstr(measurement->stop_reason, ==, "time-budget");
    g_assert_cmpstr(verification_status(measurement), ==, "none");
    g_assert_true(has_warning(measurement, "once is enough"));
}

static void test_interrupted_early(void)
{
    static const gint64 latencies[] = { MS };
    for (gsize run = 0; run <= 2; run++) /* before it began, and in warm-up */
    {
        Scripted scripted;
        scripted_init(&scripted, latencies, 1);
        scripted.interrupts_at = run;
        scripted.interrupted = run == 0;
        IfmSubject subject = subject_of(&scripted);
        IfmMeasureOptions options = fixed(3, 100);
        options.interrupted = &scripted.interrupted;
        g_autoptr(IfmMeasurement) measurement = ifm_measurement_new();
        g_autoptr(GError) error = NULL;
        g_assert_false(ifm_measure_subject(&subject, &options, measurement, &error));
        g_assert_error(error, IFM_ERROR, IFM_ERROR_CANCELLED);
        g_assert_cmpuint(scripted.n_runs, ==, run);
        scripted_clear(&scripted);
    }
}

static void test_time_budget(void)
{
    static const gint64 latencies[] = { 100 * MS, 200 * MS, 50 * MS, 400 * MS, 10 * MS };
    Scripted scripted;
    scripted_init(&scripted, latencies, G_N_ELEMENTS(latencies));
    IfmSubject subject = subject_of(&scripted);
    IfmMeasureOptions options = { .protocol = IFM_PROTOCOL_INIT };
    options.protocol.time_budget_ns = 4000 * MS;
    g_autoptr(IfmMeasurement) measurement = ifm_measurement_new();
    g_assert_true(ifm_measure_subject(&subject, &options, measurement, NULL));
    g_assert_cmpstr(measurement->stop_reason, ==, "time-budget");
    g_assert_true(has_warning(measurement, "asked for (time budget after"));
    scripted_clear(&scripted);
}

/* The loop runs where the subject says. */
static void *invoke_main(void *data)
{
    void **call = data;
    ((void (*)(void *))call[0])(call[1]);
    return NULL;
}

static void invoke_elsewhere(void *data, void (*function)(void *user), void *user)
{
    Scripted *self = data;
    void *call[] = { (void *)function, user };
    self->expects_thread = TRUE;
    g_assert_cmpint(pthread_create(&self->expected_thread, NULL, invoke_main, call), ==, 0);
    pthread_join(self->expected_thread, NULL);
}

static void test_invoke(void)
{
    static const gint64 latencies[] = { MS };
    Scripted scripted;
    scripted_init(&scripted, latencies, 1);
    IfmSubject subject = subject_of(&scripted);
    subject.invoke = invoke_elsewhere;
    IfmMeasureOptions options = fixed(1, 3);
    g_autoptr(IfmMeasurement) measurement = ifm_measurement_new();
    /* The other thread uses the clock in this one's stead, which only waits for it. */
    g_assert_true(ifm_measure_subject(&subject, &options, measurement, NULL));
    g_assert_cmpuint(measurement->samples_ns->len, ==, 3);
    g_assert_false(scripted.elsewhere);
    scripted_clear(&scripted);
}

/* Any C function on a real clock, as a user of the library would. */
typedef struct
{
    double values[512];
    volatile double sum;
    gsize n_calls, n_reported;
} Summation;

static gboolean sum_run(void *data, GError **error)
{
    Summation *self = data;
    double sum = 0;
    for (gsize repeat = 0; repeat < 100; repeat++)
        for (gsize i = 0; i < G_N_ELEMENTS(self->values); i++)
            sum += self->values[i] * (double)repeat;
    self->sum = sum;
    self->n_calls++;
    return TRUE;
}

static gboolean sum_verify(void *data, GError **error)
{
    Summation *self = data;
    if (self->sum == 512.0 * 4950.0)
        return TRUE;
    g_set_error(error, IFM_ERROR, IFM_ERROR_FAILED, "the sum is %g", self->sum);
    return FALSE;
}

static void test_callback(void)
{
    Summation summation = { .n_calls = 0 };
    for (gsize i = 0; i < G_N_ELEMENTS(summation.values); i++)
        summation.values[i] = 1;
    IfmSubject subject = { .name = "sum", .run = sum_run, .verify = sum_verify, .self = &summation };
    IfmMeasureOptions options = { .protocol = IFM_PROTOCOL_INIT };
    options.protocol.ci_ratio = 0.2;
    options.protocol.max_runs = 2000;
    g_autoptr(IfmMeasurement) measurement = ifm_measurement_new();
    g_autoptr(GError) error = NULL;
    g_assert_true(ifm_measure_subject(&subject, &options, measurement, &error));
    g_assert_no_error(error);
    g_assert_cmpuint(measurement->samples_ns->len, >=, 20);
    g_assert_cmpuint(summation.n_calls, ==, measurement->warmup_ns->len + measurement->samples_ns->len);
    for (guint i = 0; i < measurement->samples_ns->len; i++)
        g_assert_cmpint(at(measurement->samples_ns, i), >, 0);
    const IfmInterval *interval = &measurement->summary.median_interval;
    double median = measurement->summary.median;
    /* On a machine whose speed changes all the while the runs may end without an interval; they never end for one that is
     * not. */
    if (g_str_equal(measurement->stop_reason, ifm_stop_reason_name(IFM_STOP_INTERVAL)) || isfinite(interval->upper))
    {
        g_assert_cmpfloat(interval->lower, <=, median);
        g_assert_cmpfloat(interval->upper, >=, median);
    }
    g_assert_cmpstr(json_string_value(json_object_get(measurement->environment, "clock_kind")), ==, "real");
}

/* Whoever looks on is told between runs, with what there is so far. */
static void reported(gsize n, double median_ns, double ci_ratio, void *user)
{
    gsize *last = user;
    g_assert_cmpuint(n, >=, *last);
    g_assert_true(n == 0 || isfinite(median_ns));
    *last = n;
}

static gboolean slow_run(void *data, GError **error)
{
    g_usleep(30000);
    return TRUE;
}

static void test_progress(void)
{
    IfmSubject subject = { .name = "slow", .run = slow_run };
    IfmMeasureOptions options = fixed(0, 20);
    gsize last = 0;
    options.progress = reported;
    options.progress_user = &last;
    g_autoptr(IfmMeasurement) measurement = ifm_measurement_new();
    g_assert_true(ifm_measure_subject(&subject, &options, measurement, NULL));
    g_assert_cmpuint(last, >, 0); /* 600 ms at least */
    g_assert_cmpstr(verification_status(measurement), ==, "none");
}

/* The window of the measured runs is without warm-up: four runs of 30 ms lie before it, two in it. */
static void test_window(void)
{
    IfmSubject subject = { .name = "slow", .run = slow_run };
    IfmMeasureOptions options = { .protocol = IFM_PROTOCOL_INIT };
    options.protocol.warmup = 4;
    options.protocol.runs = 2;
    g_autoptr(IfmMeasurement) measurement = ifm_measurement_new();
    const gint64 begin_ms = g_get_real_time() / 1000;
    g_assert_true(ifm_measure_subject(&subject, &options, measurement, NULL));
    const json_t *window = json_object_get(measurement->environment, "measured");
    const gint64 start_ms = json_integer_value(json_object_get(window, "start_unix_ms"));
    const gint64 end_ms = json_integer_value(json_object_get(window, "end_unix_ms"));
    g_assert_cmpint(start_ms - begin_ms, >=, 4 * 30 - 1);
    g_assert_cmpint(end_ms - start_ms, >=, 2 * 30 - 1);
    g_assert_cmpint(end_ms, <=, g_get_real_time() / 1000);
}

static void test_summary_json(void)
{
    IfmSummary summary;
    ifm_summary_compute(NULL, 0, 0.95, &summary);
    json_auto_t *json = ifm_summary_to_json(&summary);
    g_assert_cmpint(json_integer_value(json_object_get(json, "n")), ==, 0);
    g_assert_true(json_is_null(json_object_get(json, "median")));
    g_assert_true(json_is_null(json_object_get(json_object_get(json, "median_interval"), "upper")));
    g_assert_true(json_is_false(json_object_get(json, "drifting")));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/loop/fixed", test_fixed);
    g_test_add_func("/loop/no-warmup", test_no_warmup);
    g_test_add_func("/loop/many", test_many);
    g_test_add_func("/loop/verify-cadence", test_verify_cadence);
    g_test_add_func("/loop/wrong", test_wrong);
    g_test_add_func("/loop/fails", test_fails);
    g_test_add_func("/loop/fails-silently", test_fails_silently);
    g_test_add_func("/loop/interrupted", test_interrupted);
    g_test_add_func("/loop/given-up", test_given_up);
    g_test_add_func("/loop/promise", test_promise);
    g_test_add_func("/loop/one-run", test_one_run);
    g_test_add_func("/loop/interrupted-early", test_interrupted_early);
    g_test_add_func("/loop/time-budget", test_time_budget);
    g_test_add_func("/loop/invoke", test_invoke);
    g_test_add_func("/loop/callback", test_callback);
    g_test_add_func("/loop/window", test_window);
    g_test_add_func("/loop/progress", test_progress);
    g_test_add_func("/loop/summary-json", test_summary_json);
    return g_test_run();
}
