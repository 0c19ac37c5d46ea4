/* What progress says, line by line, of a clock that the test turns. */
#include "../../src/cli/progress.c"

static gint64 time_us, today_us;

static gint64 test_clock(void)
{
    return time_us;
}

static gint64 test_day(void)
{
    return today_us;
}

/* Stand for the program around it. */
gboolean cli_given(const Arguments *arguments, const char *name)
{
    return FALSE;
}

const char *cli_output(const Arguments *arguments, const char *name)
{
    return NULL;
}

void cli_say_json(json_t *line)
{
    g_autofree char *text = json_dumps(line, JSON_COMPACT);
    fprintf(stderr, "%s\n", text);
    json_decref(line);
}

void cli_log(const char *level, const char *format, ...)
{
}

void cli_note(const char *format, ...)
{
}

void cli_note_of(const char *message, void *user)
{
}

gboolean cli_check_model_kept(const Arguments *arguments, const IfmModel *model, GError **error)
{
    return TRUE;
}

static void pass(gint64 s)
{
    time_us += s * G_USEC_PER_SEC;
    today_us += s * G_USEC_PER_SEC;
}

/* At 10:30 of a Thursday. */
static Progress *begin(gsize n_cases)
{
    time_us = 1000 * G_USEC_PER_SEC;
    today_us = G_GINT64_CONSTANT(1764239400) * G_USEC_PER_SEC;
    clock_us = test_clock;
    day_us = test_day;
    Progress *self = progress_new(NULL);
    self->terminal = FALSE;
    self->quiet = TRUE;
    progress_of(&(IfmProgress){ .n_cases = n_cases }, self);
    return self;
}

/* What stands there at this message. */
static void check_line(const Progress *self, const IfmProgress *now, int width, const char *expected)
{
    const IfmScreen screen = { .width = width, .utf8 = TRUE };
    const Line line = { .number = self->number,
                        .n_cases = self->n_cases,
                        .name = self->title,
                        .phase = now->phase,
                        .n = now->n,
                        .median_ns = now->median_ns,
                        .ci_ratio = now->ci_ratio,
                        .left = left_of(self, now) };
    g_autofree char *text = line_of(&line, &screen);
    g_assert_cmpint(ifm_text_width(text), <, width);
    g_assert_cmpstr(text, ==, expected);
}

static void test_widths(void)
{
    static const struct
    {
        int width;
        const char *line;
    } known[] = {
        { 120, "[1/2] openvino:CPU  running  n 120  median 1.23 ms  ±1.20 %  1 min 10 s left, until 10:31" },
        { 85, "[1/2] openvino:CPU  running  n 120  median 1.23 ms  ±1.20 %  1 min 10 s left" },
        { 70, "[1/2] openvino:CPU  running  median 1.23 ms  ±1.20 %  1 min 10 s left" },
        { 65, "[1/2] openvino:CPU  running  median 1.23 ms  1 min 10 s left" },
        { 50, "[1/2] openvino:CPU  1 min 10 s left" },
        { 30, "[1/2] openvino:CPU  running" },
        { 12, "[1/2] ope…" },
    };
    g_autoptr(Progress) self = begin(2);
    self->number = 1;
    self->title = g_strdup("openvino:CPU");
    for (gsize i = 0; i < G_N_ELEMENTS(known); i++)
    {
        const IfmScreen screen = { .width = known[i].width, .utf8 = TRUE };
        const Line line = { 1, 2, "openvino:CPU", "running", 120, 1.23e6, 0.012, { G_GINT64_CONSTANT(70000000000), FALSE },
                            0 };
        g_autofree char *text = line_of(&line, &screen);
        g_assert_cmpint(ifm_text_width(text), <, known[i].width);
        g_assert_cmpstr(text, ==, known[i].line);
    }
}

/* Budgets bound it; then what the first case is about to take, then what cases took. */
static void test_left(void)
{
    g_autoptr(Progress) self = begin(3);
    const IfmProgress compiling = { .phase = "compiling" };
    IfmProgress running = { .phase = "running", .n = 100, .median_ns = 1e7, .ci_ratio = 0.04 };
    progress_of(&(IfmProgress){ .title = "A", .target_ci_ratio = 0.01, .budget_ns = 20 * G_GINT64_CONSTANT(1000000000) },
                self);
    check_line(self, &compiling, 120, "[1/3] A  compiling  at most 1 min 0 s of runs left");
    pass(5);
    progress_of(&running, self);
    check_line(self, &running, 120, "[1/3] A  running  n 100  median 10.0 ms  ±4.00 %  55 s left, until 10:31");
    pass(5); /* its interval narrows too slowly for the budget */
    running.n = 200;
    running.ci_ratio = 0.1;
    check_line(self, &running, 120, "[1/3] A  running  n 200  median 10.0 ms  ±10.0 %  at most 55 s of runs left");
    pass(2);
    progress_of(&(IfmProgress){ .outcome = "ok" }, self); /* 12 s */
    progress_of(&(IfmProgress){ .title = "B", .runs = 50 }, self);
    progress_of(&compiling, self);
    check_line(self, &compiling, 120, "[2/3] B  compiling  24 s left, until 10:30");
    pass(10);
    check_line(self, &compiling, 120, "[2/3] B  compiling  14 s left, until 10:30");
    running.n = 10; /* of 50, 1 s each: longer than the first case took */
    running.median_ns = 1e9;
    check_line(self, &running, 120, "[2/3] B  running  n 10  median 1.00 s  ±10.0 %  52 s left, until 10:31");
    progress_of(&(IfmProgress){ .outcome = "ok" }, self);
    progress_of(&(IfmProgress){ .title = "C" }, self);
    pass(60); /* longer than any: nothing is known */
    check_line(self, &compiling, 120, "[3/3] C  compiling");
}

/* What a case says of itself; rounds count with the case before; without a number of cases none is said. */
static void test_said(void)
{
    g_autoptr(Progress) self = begin(1);
    IfmProgress now = { .phase = "repetition 2 of 3, batch 43 of 100", .left_ns = G_GINT64_CONSTANT(12000000000) };
    progress_of(&(IfmProgress){ .title = "a plan" }, self);
    check_line(self, &now, 120, "[1/1] a plan  repetition 2 of 3, batch 43 of 100  12 s left, until 10:30");
    now.left_ns *= 7200;
    check_line(self, &now, 120, "[1/1] a plan  repetition 2 of 3, batch 43 of 100  24 h 0 min left, until Fri 10:30");
    progress_of(&(IfmProgress){ .outcome = "ok" }, self);
    progress_of(&(IfmProgress){ .title = "rounds", .again = TRUE }, self);
    now = (IfmProgress){ .phase = "2 of 6 rounds", .left_ns = G_GINT64_CONSTANT(4000000000), .at_most = TRUE };
    check_line(self, &now, 120, "[1/1] rounds  2 of 6 rounds  at most 4 s of runs left");
    self->n_cases = 0;
    check_line(self, &(IfmProgress){ .phase = "running" }, 120, "[1] rounds  running");
}

/* In a log the same, one line every few seconds and one for each end. */
static void test_log(void)
{
    if (g_test_subprocess())
    {
        g_autoptr(Progress) self = begin(1);
        self->quiet = FALSE;
        IfmProgress running = { .phase = "running", .median_ns = 1e9 };
        progress_of(&(IfmProgress){ .title = "A", .runs = 10 }, self);
        for (running.n = 1; running.n <= 10; running.n++)
        {
            pass(1);
            progress_of(&running, self);
        }
        progress_of(&(IfmProgress){ .outcome = "ok" }, self);
        IfmCampaignItem item = { .title = "CPU a stage" };
        IfmCampaignProgress many = { .n_cases = 63,
                                     .n_done = 6,
                                     .n_failed = 2,
                                     .now = &item,
                                     .step = "running",
                                     .n = 9,
                                     .median_ns = 2e6,
                                     .ci_ratio = NAN,
                                     .left_ns = 60 * G_GINT64_CONSTANT(60000000000) };
        pass(5);
        progress_study(self, &many, NULL);
        exit(0);
    }
    g_test_trap_subprocess(NULL, 0, 0);
    g_test_trap_assert_passed();
    g_test_trap_assert_stderr(
        "inferometer: ?1/1] A  starts\n"
        "inferometer: ?1/1] A  running  n 5  median 1.00 s  5 s left, until 10:30\n"
        "inferometer: ?1/1] A  running  n 10  median 1.00 s\n"
        "inferometer: ?1/1] A  ok\n"
        "inferometer: ?7/63] CPU a stage  running  n 9  median 2.00 ms  1 h 0 min left, until 11:30, 2 failed\n");
}

/* For programs an object for each change, and one for each end. */
static void test_json(void)
{
    if (g_test_subprocess())
    {
        g_autoptr(Progress) self = begin(2);
        self->json = TRUE;
        self->quiet = FALSE;
        progress_of(&(IfmProgress){ .title = "A", .runs = 10, .budget_ns = G_GINT64_CONSTANT(20000000000) }, self);
        progress_of(&(IfmProgress){ .phase = "running", .n = 5, .median_ns = 1e9, .ci_ratio = NAN }, self);
        progress_of(&(IfmProgress){ .outcome = "ok" }, self);
        progress_of(&(IfmProgress){ .title = "rounds", .again = TRUE }, self);
        progress_of(&(IfmProgress){ .outcome = "ok" }, self);
        IfmCampaignItem item = { .title = "CPU a stage" };
        IfmCampaignProgress many = { .n_cases = 63,
                                     .n_done = 6,
                                     .now = &item,
                                     .step = "running",
                                     .n = 9,
                                     .median_ns = 2e6,
                                     .ci_ratio = 0.5,
                                     .left_ns = 60 * G_GINT64_CONSTANT(60000000000) };
        const IfmMeasurement ended = { .outcome = IFM_OUTCOME_FAILED, .reason = (char *)"" };
        progress_study(self, &many, NULL);
        many.n_cases = 0;
        many.n_done = 7;
        many.left_ns = -1;
        progress_study(self, &many, &ended);
        exit(0);
    }
    g_test_trap_subprocess(NULL, 0, 0);
    g_test_trap_assert_passed();
#define BEGIN "{\"kind\":\"progress\",\"what\":"
#define BARE "\"runs\":0,\"median_ns\":null,\"ci_ratio\":null,\"left_s\":"
#define NOTHING BARE "null,\"at_most\":false,\"until\":null}\n"
    g_test_trap_assert_stderr(
        BEGIN "\"A\",\"phase\":\"starts\",\"outcome\":null,\"done\":0,\"of\":2," BARE
              "40,\"at_most\":true,\"until\":null}\n" BEGIN
              "\"A\",\"phase\":\"running\",\"outcome\":null,\"done\":0,\"of\":2,\"runs\":5,\"median_ns\":1000000000.0,"
              "\"ci_ratio\":null,\"left_s\":10,\"at_most\":false,\"until\":\"2025-11-27T10:30:10Z\"}\n" BEGIN
              "\"A\",\"phase\":null,\"outcome\":\"ok\",\"done\":1,\"of\":2," NOTHING BEGIN
              "\"rounds\",\"phase\":\"starts\",\"outcome\":null,\"done\":1,\"of\":2," NOTHING BEGIN
              "\"rounds\",\"phase\":null,\"outcome\":\"ok\",\"done\":1,\"of\":2," NOTHING BEGIN
              "\"CPU a stage\",\"phase\":\"running\",\"outcome\":null,\"done\":6,\"of\":63,\"runs\":9,"
              "\"median_ns\":2000000.0,\"ci_ratio\":0.5,\"left_s\":3600,\"at_most\":false,"
              "\"until\":\"2025-11-27T11:30:00Z\"}\n" BEGIN
              "\"CPU a stage\",\"phase\":null,\"outcome\":\"failed\",\"done\":7,\"of\":null,\"runs\":9,"
              "\"median_ns\":2000000.0,\"ci_ratio\":0.5,\"left_s\":null,\"at_most\":false,\"until\":null}\n");
}

int main(int argc, char **argv)
{
    g_setenv("TZ", "UTC", TRUE);
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/progress/widths", test_widths);
    g_test_add_func("/progress/left", test_left);
    g_test_add_func("/progress/said", test_said);
    g_test_add_func("/progress/log", test_log);
    g_test_add_func("/progress/json", test_json);
    return g_test_run();
}
