/* A callback's protocol and record are JSON: what is measured, how it ends, and what is refused. */
#include <string.h>

#include <base/base.h>
#include <base/fields.h>
#include <measure/measure-private.h>

#define MS G_GINT64_CONSTANT(1000000)

/* Runs take so long on a virtual clock. */
typedef struct
{
    IfmClock *clock;
    gsize n_runs, ends_at; /* 1-based; 0: never */
    int code;              /* of its end; 0: it says nothing */
} Worker;

static gboolean work(void *user, GError **error)
{
    Worker *self = user;
    self->n_runs++;
    if (self->clock != NULL)
        ifm_clock_sleep_until_ns(self->clock, ifm_clock_now_ns(self->clock) + 4 * MS + (gint64)(self->n_runs % 2) * MS);
    if (self->n_runs != self->ends_at)
        return TRUE;
    if (self->code != 0)
        ifm_error_set(error, (IfmErrorCode)self->code, "run %zu ended", self->n_runs);
    return FALSE;
}

/* (transfer full) NULL with the error */
static json_t *measure(Worker *worker, const char *protocol, GError **error)
{
    g_autoptr(IfmClock) clock = ifm_clock_new_virtual(7);
    worker->clock = clock;
    worker->n_runs = 0;
    ifm_clock_enter(clock);
    const IfmSubject subject = { .name = "work", .clock = clock, .run = work, .self = worker };
    g_autofree char *text = ifm_measure_callback_subject(&subject, protocol, error);
    ifm_clock_leave(clock);
    return text != NULL ? json_loads(text, 0, NULL) : NULL;
}

static gsize n_samples(const json_t *json)
{
    return json_array_size(ifm_member(json, "measurement.samples_ns"));
}

static void test_fixed(void)
{
    Worker worker = { 0 };
    g_autoptr(GError) error = NULL;
    json_auto_t *json = measure(&worker, "{\"runs\": 9, \"warmup\": 2}", &error);
    g_assert_no_error(error);
    g_assert_cmpuint(worker.n_runs, ==, 11);
    g_assert_cmpuint(n_samples(json), ==, 9);
    g_assert_cmpstr(ifm_member_text(json, "inferometer.format"), ==, "callback");
    g_assert_cmpstr(ifm_member_text(json, "measurement.stop_reason"), ==, "fixed");
    g_assert_cmpfloat(ifm_member_number(json, "measurement.summary.median"), ==, 5.0 * MS);
    g_assert_cmpstr(ifm_member_text(json, "case.subject_name"), ==, "work");
    /* how far it is to be trusted may follow: others may use the processors */
    g_assert_true(g_str_has_prefix(ifm_member_text(json, "summary.verdict"), "work takes 5.00" IFM_NO_BREAK "ms"));
    g_assert_cmpuint(json_array_size(ifm_member(json, "summary.trust.checks")), >=, 2);
    g_assert_nonnull(ifm_member_text(json, "summary.trust.level"));
}

static void test_rule(void)
{
    Worker worker = { 0 };
    json_auto_t *json = measure(&worker, "{\"ci_ratio\": 0.2, \"time_budget_ns\": 0}", NULL);
    g_assert_cmpstr(ifm_member_text(json, "measurement.stop_reason"), ==, "interval");
    g_assert_cmpuint(n_samples(json), >=, 20);
    g_assert_cmpfloat(ifm_member_number(json, "measurement.summary.median_interval.lower"), >=, 4.0 * MS);
    json_auto_t *budget = measure(&worker, "{\"ci_ratio\": 0, \"time_budget_ns\": 500000000}", NULL);
    g_assert_cmpstr(ifm_member_text(budget, "measurement.stop_reason"), ==, "time-budget");
    g_assert_cmpuint(worker.n_runs, <=, 125);
    /* nothing is said: the default of a fixed count is ten runs of warm-up */
    json_auto_t *counted = measure(&worker, "{\"runs\": 3}", NULL);
    g_assert_cmpuint(json_array_size(ifm_member(counted, "measurement.warmup_ns")), ==, 10);
    json_auto_t *plain = measure(&worker, NULL, NULL);
    g_assert_cmpuint(n_samples(plain), >=, 20);
}

static void test_fails(void)
{
    Worker worker = { .ends_at = 7, .code = IFM_ERROR_MEMORY };
    g_autoptr(GError) error = NULL;
    g_assert_null(measure(&worker, "{\"runs\": 20, \"warmup\": 0}", &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_MEMORY);
    g_assert_cmpstr(error->message, ==, "run 7 ended");
    g_assert_cmpuint(worker.n_runs, ==, 7);
    g_clear_error(&error);
    worker.code = 0;
    worker.ends_at = 1; /* in warm-up, without a word */
    g_assert_null(measure(&worker, NULL, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_FAILED);
    g_assert_cmpstr(error->message, ==, "work failed without saying why");
}

static void test_cancelled(void)
{
    Worker worker = { .ends_at = 15, .code = IFM_ERROR_CANCELLED };
    g_autoptr(GError) error = NULL;
    json_auto_t *json = measure(&worker, "{\"runs\": 20, \"warmup\": 4}", &error);
    g_assert_no_error(error);
    g_assert_cmpuint(n_samples(json), ==, 10); /* the last one is none */
    g_assert_cmpstr(ifm_member_text(json, "measurement.stop_reason"), ==, "interrupted");
    worker.ends_at = 3; /* in warm-up */
    g_assert_null(measure(&worker, "{\"runs\": 20, \"warmup\": 4}", &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_CANCELLED);
}

static void test_refused(void)
{
    static const struct
    {
        const char *protocol, *message;
    } wrong[] = {
        { "[]", "protocol: expected an object" },
        { "{\"runs\": ", "protocol: *" },
        { "{\"rums\": 3}", "*rums*" },
        { "{\"runs\": -3}", "protocol.runs: found -3, expected 0 or more" },
        { "{\"runs\": \"many\"}", "*runs*" },
        { "{\"runs\": 5000001}", "*5000001 runs*" },
        { "{\"max_runs\": 0}", "no count of runs at most*" },
        { "{\"max_runs\": 3, \"min_runs\": 5}", "5 runs at least are more than 3 at most" },
        { "{\"level\": 1}", "protocol.level: found 1, expected a number between 0 and 1" },
    };
    Worker worker = { 0 };
    for (gsize i = 0; i < G_N_ELEMENTS(wrong); i++)
    {
        g_autoptr(GError) error = NULL;
        g_assert_null(measure(&worker, wrong[i].protocol, &error));
        g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
        g_assert_true(g_pattern_match_simple(wrong[i].message, error->message));
        g_assert_cmpuint(worker.n_runs, ==, 0);
    }
    g_autoptr(GError) error = NULL;
    g_assert_null(ifm_measure_callback(NULL, work, &worker, NULL, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_clear_error(&error);
    g_assert_null(ifm_measure_callback("work", NULL, &worker, NULL, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
}

/* By the real clock, as a program in another language calls it. */
static void test_public(void)
{
    Worker worker = { 0 };
    g_autoptr(GError) error = NULL;
    g_autofree char *text = ifm_measure_callback("work", work, &worker, "{\"runs\": 5, \"warmup\": 0}", &error);
    g_assert_no_error(error);
    json_auto_t *json = json_loads(text, 0, NULL);
    g_assert_cmpuint(n_samples(json), ==, 5);
    g_assert_cmpstr(ifm_member_text(json, "measurement.environment.clock_kind"), ==, "real");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/callback-json/fixed", test_fixed);
    g_test_add_func("/callback-json/rule", test_rule);
    g_test_add_func("/callback-json/fails", test_fails);
    g_test_add_func("/callback-json/cancelled", test_cancelled);
    g_test_add_func("/callback-json/refused", test_refused);
    g_test_add_func("/callback-json/public", test_public);
    return g_test_run();
}
