#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include <inferometer/study.h>

/* A progress line shows the running case on a terminal; in a log it is written every few seconds. */

#define LOG_EVERY_US (5 * G_USEC_PER_SEC)

struct Progress
{
    gboolean quiet, terminal, shown;
    const Arguments *arguments;
    gsize n_cases, number; /* number: of the running case, from 1 */
    char *title;
    gsize runs;
    double ci_ratio;
    gint64 last_log_us;
    GHashTable *reported; /* of a study: kinds of failures that have had their line */
};

/* Line: what is shown at one moment. */
typedef struct
{
    gsize number, n_cases;
    const char *name;  /* of the case */
    double part_ratio; /* what the bar shows */
    const char *phase;
    gsize n;
    double median_ns, ci_ratio;
    const char *totals; /* of the whole: rate and time left; "" */
    const char *left;   /* the time left alone, for narrow screens; "" or NULL */
} Line;

Progress *progress_new(const Arguments *arguments)
{
    Progress *self = g_new0(Progress, 1);
    const char *term = g_getenv("TERM");
    self->arguments = arguments;
    self->quiet = cli_given(arguments, "quiet");
    self->terminal = isatty(STDERR_FILENO) && term != NULL && !g_str_equal(term, "dumb");
    self->reported = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
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

/* How far a case is: of its fixed count, or, as an interval narrows with the root of n, of the samples it will take. */
static double part_done(const Progress *self, gsize n, double ci_ratio)
{
    if (self->runs > 0)
        return (double)n / (double)self->runs;
    if (!isfinite(ci_ratio) || ci_ratio <= 0)
        return 0;
    return MIN(1, pow(self->ci_ratio / ci_ratio, 2));
}

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

#define ALL_FIGURES 3

/* Ways to draw the line, the fullest first: on a narrow terminal the less important parts are left out. */
static const struct
{
    int bar, n_figures;
    gboolean phase; /* shown with figures; without figures it is always shown */
    gboolean totals;
} layouts[] = {
    { 16, 3, TRUE, TRUE },  { 8, 3, TRUE, TRUE },   { 8, 3, FALSE, TRUE },  { 8, 2, FALSE, TRUE },
    { 8, 1, FALSE, TRUE },  { 0, 1, FALSE, TRUE },  { 0, 0, FALSE, TRUE },  { 0, 3, FALSE, FALSE },
    { 0, 2, FALSE, FALSE }, { 0, 1, FALSE, FALSE }, { 0, 0, FALSE, FALSE },
};

static void append_part(GString *out, const Line *line, gsize layout, gboolean utf8)
{
    int width = layouts[layout].bar;
    g_autofree char *numbers = figures(line, utf8, layouts[layout].n_figures);
    g_autofree char *bar = ifm_format_bar(line->part_ratio, MAX(width, 1), utf8);
    if (width > 0)
        g_string_append_printf(out, "  %s%s%s", utf8 ? "▕" : "[", bar, utf8 ? "▏" : "]");
    if (layouts[layout].phase || (*numbers == '\0' && *line->totals == '\0' && layout + 1 < G_N_ELEMENTS(layouts)))
        g_string_append_printf(out, "  %s", line->phase);
    g_string_append(out, numbers);
    if (layouts[layout].totals && *line->totals != '\0')
        g_string_append_printf(out, "  %s", layouts[layout].bar > 8 || line->left == NULL ? line->totals : line->left);
}

/* "[1/2] openvino:CPU@0  ▕███ ▏  running  n 120  median 1.234 ms  ±1.20 %", no wider than the screen. (transfer full) */
static char *line_of(const Line *line, const IfmScreen *screen)
{
    for (gsize i = 0;; i++)
    {
        g_autoptr(GString) text = g_string_new(NULL);
        g_string_append_printf(text, "[%zu/%zu] %s", line->number, line->n_cases, line->name);
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

/* On a terminal in place of the line before; in a log, where @due or some seconds have passed. */
static void show(Progress *self, const Line *line, gboolean due)
{
    if (self->quiet || (!self->terminal && !due && g_get_monotonic_time() - self->last_log_us < LOG_EVERY_US))
        return;
    if (self->terminal)
    {
        IfmScreen screen = ifm_screen_detect(STDERR_FILENO);
        g_autofree char *text = line_of(line, &screen);
        fprintf(stderr, "\r%s\033[K", text);
    }
    else
    {
        g_autofree char *numbers = figures(line, g_get_charset(NULL), ALL_FIGURES);
        fprintf(stderr, "inferometer: [%zu/%zu] %s: %s%s%s%s\n", line->number, line->n_cases, line->name, line->phase,
                numbers, *line->totals != '\0' ? "  " : "", line->totals);
        self->last_log_us = g_get_monotonic_time();
    }
    fflush(stderr);
    self->shown = self->terminal;
}

/* --- one case after the other, as a profile has them ------------------------------------------------------------------ */

static void show_case(Progress *self, const char *phase, const IfmProgress *now, gboolean due)
{
    const gsize n = now != NULL ? now->n : 0;
    const double ci_ratio = now != NULL ? now->ci_ratio : (double)NAN;
    const Line line = { .number = self->number,
                        .n_cases = self->n_cases,
                        .name = self->title,
                        .part_ratio = part_done(self, n, ci_ratio),
                        .phase = phase,
                        .n = n,
                        .median_ns = now != NULL ? now->median_ns : (double)NAN,
                        .ci_ratio = ci_ratio,
                        .totals = "" };
    show(self, &line, due);
}

static void begin_case(Progress *self, const IfmProgress *now)
{
    self->number += !now->again;
    self->runs = now->runs;
    self->ci_ratio = now->target_ci_ratio;
    g_free(self->title);
    self->title = ifm_format_clean(now->title);
    cli_log("INFO", "%s: starts", self->title);
    show_case(self, "starts", NULL, TRUE);
}

static void end_case(Progress *self, const char *outcome)
{
    take_away(self);
    cli_log("INFO", "%s: %s", self->title != NULL ? self->title : "", outcome);
    if (!self->terminal)
        show_case(self, outcome, NULL, TRUE);
    g_clear_pointer(&self->title, g_free);
}

void progress_of(const IfmProgress *now, void *user)
{
    Progress *self = user;
    g_autofree char *phase = now->phase != NULL ? ifm_format_clean(now->phase) : NULL; /* a worker's may hold any bytes */
    self->n_cases = now->n_cases > 0 ? now->n_cases : self->n_cases;
    if (now->outcome != NULL)
        end_case(self, now->outcome);
    else if (phase != NULL && self->title != NULL)
        show_case(self, phase, now, FALSE);
    else if (phase == NULL && now->title != NULL)
        begin_case(self, now);
    else if (phase == NULL)
        self->number = 0;
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

/* "45 s", "4 min 10 s", "2 h 5 min" (transfer full) */
static char *time_left(gint64 ns)
{
    gint64 s = (ns + 999999999) / 1000000000;
    if (s < 60)
        return g_strdup_printf("%d s", (int)s);
    if (s < 3600)
        return g_strdup_printf("%d min %d s", (int)(s / 60), (int)(s % 60));
    return g_strdup_printf("%" G_GINT64_FORMAT " h %d min", s / 3600, (int)(s % 3600 / 60));
}

/* "2.1 cases/s, 45 s left, 3 failed"; slower than one a second: "3.4 s/case" (transfer full) */
static char *totals_of(const IfmCampaignProgress *progress)
{
    GString *text = g_string_new(NULL);
    if (progress->cases_per_s >= 1)
        g_string_append_printf(text, "%.*f cases/s", progress->cases_per_s < 10 ? 1 : 0, progress->cases_per_s);
    else if (progress->cases_per_s > 0)
        g_string_append_printf(text, "%.*f s/case", progress->cases_per_s > 0.1 ? 1 : 0, 1 / progress->cases_per_s);
    if (progress->left_ns >= 0)
    {
        g_autofree char *left = time_left(progress->left_ns);
        g_string_append_printf(text, "%s%s left", text->len > 0 ? ", " : "", left);
    }
    if (progress->n_failed > 0)
        g_string_append_printf(text, "%s%zu failed", text->len > 0 ? ", " : "", progress->n_failed);
    return g_string_free(text, FALSE);
}

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
    if (ended != NULL && progress->now != NULL)
        cli_log("INFO", "[%zu/%zu] %s: %s%s%s", progress->n_done, progress->n_cases, progress->now->title,
                ifm_outcome_name(ended->outcome), *ended->reason != '\0' ? ": " : "", ended->reason);
    if (self->quiet)
        return;
    if (ended != NULL && ended->outcome != IFM_OUTCOME_OK && progress->now != NULL)
        report_failure(self, progress->now->tag, ended);
    g_autofree char *totals = totals_of(progress), *time = progress->left_ns >= 0 ? time_left(progress->left_ns) : NULL;
    g_autofree char *left = time != NULL ? g_strconcat(time, " left", NULL) : NULL;
    g_autofree char *name = ifm_format_clean(progress->now != NULL ? progress->now->title : "");
    g_autofree char *phase = ifm_format_clean(progress->step != NULL ? progress->step : "starts");
    gsize number = progress->n_done + (ended == NULL && progress->n_done < progress->n_cases);
    Line line = { .number = number,
                  .n_cases = progress->n_cases,
                  .name = name,
                  .part_ratio = progress->n_cases > 0 ? (double)progress->n_done / (double)progress->n_cases : 0,
                  .phase = phase,
                  .n = progress->n,
                  .median_ns = progress->median_ns,
                  .ci_ratio = progress->ci_ratio,
                  .totals = totals,
                  .left = left };
    if (progress->now == NULL)
        return;
    show(self, &line, FALSE);
}

void progress_study_end(Progress *self)
{
    take_away(self);
}
