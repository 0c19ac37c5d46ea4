#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <base/fields.h>

#include "cli.h"
#include <inferometer/study.h>

/* A progress line shows the running case on a terminal; in a log it is written every few seconds. */

#define LOG_EVERY_US (5 * G_USEC_PER_SEC)

/* Time that passes, and the time of day; a test has its own. */
static gint64 (*clock_us)(void) = g_get_monotonic_time;
static gint64 (*day_us)(void) = g_get_real_time;

static const char *const hows[] = { "text", "json", NULL };

const IfmOption cli_progress_options[] = {
    { "progress", IFM_OPTION_TEXT, "HOW",
      "on standard error: text, or json: an object on a line of its own for each change, each note and each error", "text",
      hows, .excludes = "quiet" },
    { NULL },
};

struct Progress
{
    gboolean quiet, json, terminal, shown, brief;
    const Arguments *arguments;
    gsize n_cases, number; /* number: of the running case, from 1; n_cases: 0: not known */
    char *title;
    gsize runs;
    double ci_ratio;
    gint64 budget_ns;
    gint64 began_us, running_us; /* of the case in hand: since when; since when it runs, 0: not yet */
    gboolean again, measures;    /* of the case in hand: it belongs to the one before; it said something of itself */
    gsize n_done;                /* cases that ended, whatever of */
    gsize n_ended;               /* cases that were measured, which took @spent_us */
    gint64 spent_us, last_log_us;
    GHashTable *reported; /* of a study: kinds of failures that have had their line */
};

/* Left: until the end, ns; negative: not known. @of_runs: a bound on the runs alone: compiling, checking come on top */
typedef struct
{
    gint64 ns;
    gboolean of_runs;
} Left;

/* Line: what is shown at one moment. */
typedef struct
{
    gsize number, n_cases; /* n_cases: 0: not known */
    const char *name;      /* of the case */
    const char *phase;
    gsize n;
    double median_ns, ci_ratio;
    Left left;
    gsize n_failed, n_done;
    const char *outcome; /* NULL: it goes on */
} Line;

Progress *progress_new(const Arguments *arguments)
{
    Progress *self = g_new0(Progress, 1);
    const char *term = g_getenv("TERM");
    self->arguments = arguments;
    self->quiet = cli_given(arguments, "quiet");
    self->json = g_strcmp0(cli_output(arguments, "progress"), "json") == 0;
    self->terminal = isatty(STDERR_FILENO) && term != NULL && !g_str_equal(term, "dumb");
    self->reported = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    return self;
}

Progress *progress_new_brief(const Arguments *arguments)
{
    Progress *self = progress_new(arguments);
    self->brief = TRUE;
    self->last_log_us = clock_us();
    return self;
}

static void take_away(Progress *self)
{
    if (self->shown)
        fputs("\r\033[K", stderr);
    self->shown = FALSE;
}

void progress_free(Progress *self)
{
    if (self == NULL)
        return;
    take_away(self);
    g_hash_table_unref(self->reported);
    g_free(self->title);
    g_free(self);
}

/* --- time left ----------------------------------------------------------------------------------------------------------
 */

/* Of the case in hand: what it says, or what its runs still take: of a fixed count, or, as an interval narrows with the
 * root of n, of as many as it will take; the budget is a bound on all. */
static Left left_of_case(const Progress *self, const IfmProgress *now)
{
    const gint64 ran_ns = self->running_us > 0 ? 1000 * (clock_us() - self->running_us) : 0;
    const double n = (double)now->n, aim = self->ci_ratio / now->ci_ratio,
                 all = self->runs > 0 ? (double)self->runs : n / (aim * aim),
                 left_ns = n > 0 ? MAX(all - n, 0) * now->median_ns : (double)NAN;
    if (now->left_ns > 0)
        return (Left){ now->left_ns, now->at_most };
    if (self->budget_ns > 0 && !(left_ns < (double)(self->budget_ns - ran_ns)))
        return (Left){ MAX(self->budget_ns - ran_ns, 0), TRUE };
    return (Left){ left_ns < (double)G_MAXINT32 * 1e9 ? (gint64)left_ns : -1, FALSE };
}

/* Of all: what those take that were measured so far; before one was, what the first is about to, or their budgets. */
static Left left_of(const Progress *self, const IfmProgress *now)
{
    const gint64 n = self->n_cases > self->number ? (gint64)(self->n_cases - self->number) : 0,
                 spent_ns = 1000 * (clock_us() - self->began_us);
    const Left one = left_of_case(self, now);
    if (self->n_ended > 0 && !self->again)
    {
        const gint64 each_ns = 1000 * self->spent_us / (gint64)self->n_ended;
        return (Left){ MAX(each_ns - spent_ns, one.of_runs ? 0 : one.ns) + n * each_ns, FALSE };
    }
    if (n == 0 || one.ns < 0)
        return one;
    if (one.of_runs)
        return (Left){ self->budget_ns > 0 ? one.ns + n * self->budget_ns : -1, TRUE };
    return (Left){ one.ns + n * (spent_ns + one.ns), FALSE };
}

/* "45 s", "4 min 10 s", "2 h 5 min" (transfer full) */
static char *time_text(gint64 ns)
{
    gint64 s = (ns + 999999999) / 1000000000;
    if (s < 60)
        return g_strdup_printf("%d s", (int)s);
    if (s < 3600)
        return g_strdup_printf("%d min %d s", (int)(s / 60), (int)(s % 60));
    return g_strdup_printf("%" G_GINT64_FORMAT " h %d min", s / 3600, (int)(s % 3600 / 60));
}

/* "4 min 10 s left", and where it is @whole ", until 10:45" or, of another day, ", until Fri 10:45" */
static void append_left(GString *out, const Line *line, gboolean whole)
{
    const char *gap = "  ";
    if (line->left.ns > 0)
    {
        g_autofree char *text = time_text(line->left.ns);
        g_autoptr(GDateTime) now = g_date_time_new_from_unix_local(day_us() / G_USEC_PER_SEC),
                             end = g_date_time_add(now, line->left.ns / 1000);
        g_autofree char *until = g_date_time_format(
            end, g_date_time_get_day_of_year(now) == g_date_time_get_day_of_year(end) ? "%H:%M" : "%a %H:%M");
        g_string_append_printf(out, "%s%s%s%s left", gap, line->left.of_runs ? "at most " : "", text,
                               line->left.of_runs ? " of runs" : "");
        if (whole && !line->left.of_runs)
            g_string_append_printf(out, ", until %s", until);
        gap = ", ";
    }
    if (whole && line->n_failed > 0)
        g_string_append_printf(out, "%s%zu failed", gap, line->n_failed);
}

/* "/63" (transfer full) */
static char *of_all(gsize n_cases)
{
    return n_cases > 0 ? g_strdup_printf("/%zu", n_cases) : g_strdup("");
}

/* --- the line -----------------------------------------------------------------------------------------------------------
 */

/* Figures, the most important first, as many as @max; each is shown whole or not at all. */
static char *figures(const Line *line, gboolean utf8, int max)
{
    GString *text = g_string_new(NULL);
    if (line->n > 0 && max > 2)
        g_string_append_printf(text, "  n %zu", line->n);
    if (line->n > 0 && max > 0 && isfinite(line->median_ns) && line->median_ns > 0)
    {
        g_autofree char *median = ifm_format_duration(line->median_ns);
        g_string_append_printf(text, "  median %s", median);
    }
    if (max > 1 && ifm_is_precision(line->ci_ratio) && line->ci_ratio > 0)
    {
        g_autofree char *ci = ifm_format_ratio(line->ci_ratio);
        g_string_append_printf(text, "  %s%s", utf8 ? "±" : "+-", ci);
    }
    return g_string_free(text, FALSE);
}

/* Ways to draw the line, the fullest first: on a narrow terminal the less important parts are left out. */
static const struct
{
    int n_figures;
    gboolean phase; /* shown with others; alone it is always shown */
    int left;       /* 2: with the time of day and failures, 1: the time left alone */
} layouts[] = {
    { 3, TRUE, 2 },  { 3, TRUE, 1 },  { 2, TRUE, 1 },  { 1, TRUE, 1 }, { 1, FALSE, 1 }, { 0, FALSE, 1 },
    { 3, FALSE, 0 }, { 2, FALSE, 0 }, { 1, FALSE, 0 }, { 0, TRUE, 0 }, { 0, FALSE, 0 },
};

static void append_part(GString *out, const Line *line, gsize layout, gboolean utf8)
{
    g_autofree char *numbers = figures(line, utf8, layouts[layout].n_figures);
    g_autoptr(GString) left = g_string_new(NULL);
    if (layouts[layout].left > 0)
        append_left(left, line, layouts[layout].left > 1);
    if (layouts[layout].phase || (*numbers == '\0' && left->len == 0 && layout + 1 < G_N_ELEMENTS(layouts)))
        g_string_append_printf(out, "  %s", line->outcome != NULL ? line->outcome : line->phase);
    g_string_append_printf(out, "%s%s", numbers, left->str);
}

/* "[2/6] openvino:CPU  running  n 120  median 1.23 ms  ±1.20 %  1 min 10 s left, until 10:45", no wider than the screen.
 * (transfer full) */
static char *line_of(const Line *line, const IfmScreen *screen)
{
    for (gsize i = 0;; i++)
    {
        g_autoptr(GString) text = g_string_new(NULL);
        g_autofree char *of = of_all(line->n_cases);
        g_string_append_printf(text, "[%zu%s] %s", line->number, of, line->name);
        append_part(text, line, i, screen->utf8);
        if (ifm_text_width(text->str) < screen->width)
            return g_strdup(text->str);
        if (i + 1 < G_N_ELEMENTS(layouts))
            continue;
        char *end = text->str; /* the name alone is too long: as much of it as there is room for */
        for (int at = 0; *end != '\0' && at < screen->width - 3; at++)
            end = g_utf8_next_char(end);
        return g_strdup_printf("%.*s%s", (int)(end - text->str), text->str, screen->utf8 ? "…" : "..");
    }
}

/* What of the line is known, for programs. (transfer full) */
static json_t *line_to_json(const Line *line)
{
    const gint64 left_s = line->left.ns > 0 ? (line->left.ns + 999999999) / 1000000000 : -1;
    g_autoptr(GDateTime) now = g_date_time_new_from_unix_utc(day_us() / G_USEC_PER_SEC),
                         end = g_date_time_add_seconds(now, (double)left_s);
    g_autofree char *until = left_s > 0 && !line->left.of_runs ? g_date_time_format_iso8601(end) : NULL;
    return json_pack(
        "{s:s, s:o, s:s?, s:s?, s:I, s:o, s:I, s:o, s:o, s:o, s:b, s:s?}", "kind", "progress", "what",
        ifm_json_string(line->name), "phase", line->outcome == NULL ? line->phase : NULL, "outcome", line->outcome, "done",
        (json_int_t)line->n_done, "of", line->n_cases > 0 ? json_integer((json_int_t)line->n_cases) : json_null(), "runs",
        (json_int_t)line->n, "median_ns", ifm_json_real(line->n > 0 ? line->median_ns : (double)NAN), "ci_ratio",
        ifm_json_real(line->n > 0 ? line->ci_ratio : (double)NAN), "left_s",
        left_s > 0 ? json_integer(left_s) : json_null(), "at_most", left_s > 0 && line->left.of_runs, "until", until);
}

/* On a terminal in place of the line before; in a log, where @due or some seconds have passed. */
static void show(Progress *self, const Line *line, gboolean due)
{
    if (self->json)
        cli_say_json(line_to_json(line));
    if (self->json || self->quiet ||
        (!self->terminal && (!due || self->brief) && clock_us() - self->last_log_us < LOG_EVERY_US))
        return;
    IfmScreen screen =
        self->terminal ? ifm_screen_detect(STDERR_FILENO) : (IfmScreen){ .width = G_MAXINT, .utf8 = g_get_charset(NULL) };
    g_autofree char *text = line_of(line, &screen);
    fprintf(stderr, self->terminal ? "\r%s\033[K" : "inferometer: %s\n", text);
    fflush(stderr);
    self->last_log_us = clock_us();
    self->shown = self->terminal;
}

/* --- one case after the other, as a profile has them ------------------------------------------------------------------ */

static void show_case(Progress *self, const IfmProgress *now, gboolean due)
{
    const Line line = { .number = self->number,
                        .n_cases = self->n_cases,
                        .n_done = self->n_done,
                        .name = self->title,
                        .outcome = now->outcome,
                        .phase = now->phase,
                        .n = now->n,
                        .median_ns = now->median_ns,
                        .ci_ratio = now->ci_ratio,
                        .left = now->outcome != NULL ? (Left){ -1, FALSE } : left_of(self, now) };
    show(self, &line, due);
}

static void begin_case(Progress *self, const IfmProgress *now)
{
    self->number += !now->again;
    self->runs = now->runs;
    self->ci_ratio = now->target_ci_ratio;
    self->budget_ns = now->budget_ns;
    self->again = now->again;
    self->began_us = clock_us();
    self->running_us = 0;
    self->measures = FALSE;
    g_free(self->title);
    self->title = ifm_format_clean(now->title);
    cli_log("INFO", "%s: starts", self->title);
    show_case(self, &(IfmProgress){ .phase = "starts" }, TRUE);
}

static void end_case(Progress *self, const char *outcome)
{
    take_away(self);
    cli_log("INFO", "%s: %s", self->title != NULL ? self->title : "", outcome);
    self->n_done += !self->again;
    if (self->measures && !self->again)
    {
        self->spent_us += clock_us() - self->began_us;
        self->n_ended++;
    }
    if (self->json || !self->terminal)
        show_case(self, &(IfmProgress){ .outcome = outcome }, TRUE);
    g_clear_pointer(&self->title, g_free);
}

static void go_on(Progress *self, const IfmProgress *now, const char *phase)
{
    IfmProgress clean = *now;
    clean.phase = phase;
    self->measures = TRUE;
    if (self->running_us == 0 && (now->n > 0 || now->left_ns > 0))
        self->running_us = clock_us();
    show_case(self, &clean, FALSE);
}

void progress_of(const IfmProgress *now, void *user)
{
    Progress *self = user;
    g_autofree char *phase = now->phase != NULL ? ifm_format_clean(now->phase) : NULL; /* a worker's may hold any bytes */
    self->n_cases = now->n_cases > 0 ? now->n_cases : self->n_cases;
    if (now->outcome != NULL)
        end_case(self, now->outcome);
    else if (phase != NULL && self->title != NULL)
        go_on(self, now, phase);
    else if (phase == NULL && now->title != NULL)
        begin_case(self, now);
    else if (phase == NULL)
        self->number = self->n_done = 0;
}

static gboolean accept(const IfmModel *model, void *user, GError **error)
{
    return cli_check_model_kept(((Progress *)user)->arguments, model, error);
}

IfmProfileWatch progress_watch(Progress *self)
{
    return (IfmProfileWatch){ cli_note_of, progress_of, accept, self };
}

/* --- the many of a study ---------------------------------------------------------------------------------------------- */

/* One line a kind of failure: hundreds of cases may go the same way. */
static void report_failure(Progress *self, const IfmStudyCase *study_case, const IfmMeasurement *ended)
{
    /* the same trouble again: the same device, and the same words but for the numbers in them */
    g_autofree char *mask = ifm_format_mask(ended->reason);
    char *kind = g_strdup_printf("%s\n%s\n%s", study_case->alias, ended->error_code, mask);
    if (!g_hash_table_add(self->reported, kind))
        return;
    take_away(self);
    cli_note("%s: %s: %s", study_case->title, ifm_outcome_name(ended->outcome), ended->reason);
}

void progress_study(Progress *self, const IfmCampaignProgress *progress, const IfmMeasurement *ended)
{
    g_autofree char *of = of_all(progress->n_cases);
    if (ended != NULL && progress->now != NULL)
        cli_log("INFO", "[%zu%s] %s: %s%s%s", progress->n_done, of, progress->now->title, ifm_outcome_name(ended->outcome),
                *ended->reason != '\0' ? ": " : "", ended->reason);
    if (self->quiet)
        return;
    if (ended != NULL && ended->outcome != IFM_OUTCOME_OK && progress->now != NULL && progress->now->tag != NULL)
        report_failure(self, progress->now->tag, ended);
    if (progress->now == NULL)
        return;
    g_autofree char *name = ifm_format_clean(progress->now->title);
    g_autofree char *phase = ifm_format_clean(progress->step != NULL ? progress->step : "starts");
    const Line line = { .number = progress->n_done +
                                  (ended == NULL && (progress->n_cases == 0 || progress->n_done < progress->n_cases)),
                        .n_cases = progress->n_cases,
                        .n_done = progress->n_done,
                        .name = name,
                        .outcome = self->json && ended != NULL ? ifm_outcome_name(ended->outcome) : NULL,
                        .phase = phase,
                        .n = progress->n,
                        .median_ns = progress->median_ns,
                        .ci_ratio = progress->ci_ratio,
                        .left = { progress->left_ns, FALSE },
                        .n_failed = progress->n_failed };
    show(self, &line, FALSE);
}

void progress_study_end(Progress *self)
{
    take_away(self);
}
