#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

#define LOG_EVERY_US (5 * G_USEC_PER_SEC)

struct Progress
{
    gboolean quiet, terminal, shown;
    gsize n_cases, number; /* number: of the running case, from 1 */
    char *device;
    gsize runs;
    double ci_ratio;
    gint64 last_log_us;
};

Progress *progress_new(gsize n_cases, gboolean quiet)
{
    Progress *self = g_new0(Progress, 1);
    const char *term = g_getenv("TERM");
    self->quiet = quiet;
    self->terminal = isatty(STDERR_FILENO) && term != NULL && !g_str_equal(term, "dumb");
    self->n_cases = n_cases;
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
    g_free(self->device);
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

/* Figures, the most telling first, as many as @most; each is shown whole or not at all. */
static char *figures(gsize n, double median_ns, double ci_ratio, gboolean utf8, int most)
{
    GString *text = g_string_new(NULL);
    if (n > 0 && most > 2)
        g_string_append_printf(text, "  n %" G_GSIZE_FORMAT, n);
    if (n > 0 && most > 0 && isfinite(median_ns) && median_ns > 0)
    {
        g_autofree char *median = ifm_format_duration(median_ns);
        g_string_append_printf(text, "  median %s", median);
    }
    if (n > 0 && most > 1 && isfinite(ci_ratio) && ci_ratio > 0)
    {
        g_autofree char *ci = ifm_format_ratio(ci_ratio);
        g_string_append_printf(text, "  %s%s", utf8 ? "±" : "+-", ci);
    }
    return g_string_free(text, FALSE);
}

#define ALL_FIGURES 3

/* Ways to draw the line, the fullest first: what is not all that telling gives way where the terminal is narrow. */
static const struct
{
    int bar, n_figures;
    gboolean phase; /* beside figures; where there are none it is all there is to tell */
} layouts[] = {
    { 16, 3, TRUE }, { 8, 3, TRUE },  { 8, 3, FALSE }, { 8, 2, FALSE },
    { 0, 3, FALSE }, { 0, 2, FALSE }, { 0, 1, FALSE }, { 0, 0, FALSE },
};

/* "[1/2] openvino:CPU@0  ▕███ ▏  running  n 120  median 1.234 ms  ±1.20 %", no wider than the screen. (transfer full) */
static char *line_of(const Progress *self, const char *phase, gsize n, double median_ns, double ci_ratio,
                     const IfmScreen *screen)
{
    for (gsize i = 0;; i++)
    {
        int width = layouts[i].bar;
        g_autofree char *numbers = figures(n, median_ns, ci_ratio, screen->utf8, layouts[i].n_figures);
        g_autofree char *bar = ifm_format_bar(part_done(self, n, ci_ratio), MAX(width, 1), screen->utf8);
        g_autoptr(GString) line = g_string_new(NULL);
        g_string_append_printf(line, "[%" G_GSIZE_FORMAT "/%" G_GSIZE_FORMAT "] %s", self->number, self->n_cases,
                               self->device);
        if (width > 0)
            g_string_append_printf(line, "  %s%s%s", screen->utf8 ? "▕" : "[", bar, screen->utf8 ? "▏" : "]");
        if (layouts[i].phase || (*numbers == '\0' && i + 1 < G_N_ELEMENTS(layouts)))
            g_string_append_printf(line, "  %s", phase);
        g_string_append(line, numbers);
        if (ifm_text_width(line->str) < screen->width)
            return g_strdup(line->str);
        if (i + 1 < G_N_ELEMENTS(layouts))
            continue;
        char *end = line->str; /* the name alone is too long: as much of it as there is room for */
        for (int at = 0; *end != '\0' && at < screen->width - 1; at++)
            end = g_utf8_next_char(end);
        return g_strndup(line->str, (gsize)(end - line->str));
    }
}

static void show_line(Progress *self, const char *phase, gsize n, double median_ns, double ci_ratio)
{
    IfmScreen screen = ifm_screen_detect(STDERR_FILENO);
    g_autofree char *line = line_of(self, phase, n, median_ns, ci_ratio, &screen);
    fprintf(stderr, "\r%s\033[K", line);
    fflush(stderr);
    self->shown = TRUE;
}

static void log_line(Progress *self, const char *phase, const char *numbers)
{
    fprintf(stderr, "inferometer: [%" G_GSIZE_FORMAT "/%" G_GSIZE_FORMAT "] %s: %s%s\n", self->number, self->n_cases,
            self->device, phase, numbers);
    fflush(stderr);
    self->last_log_us = g_get_monotonic_time();
}

void progress_begin(Progress *self, const char *device, gsize runs, double ci_ratio)
{
    self->number++;
    self->runs = runs;
    self->ci_ratio = ci_ratio;
    g_free(self->device);
    self->device = ifm_format_clean(device);
    if (self->quiet)
        return;
    if (self->terminal)
        show_line(self, "starts", 0, NAN, NAN);
    else
        log_line(self, "starts", "");
}

void progress_update(const char *phase, gsize n, double median_ns, double ci_ratio, void *user)
{
    Progress *self = user;
    if (self->quiet || self->device == NULL)
        return;
    if (self->terminal)
        show_line(self, phase, n, median_ns, ci_ratio);
    else if (g_get_monotonic_time() - self->last_log_us >= LOG_EVERY_US)
    {
        g_autofree char *numbers = figures(n, median_ns, ci_ratio, g_get_charset(NULL), ALL_FIGURES);
        log_line(self, phase, numbers);
    }
}

void progress_end(Progress *self, const char *outcome)
{
    take_away(self);
    if (!self->quiet && !self->terminal)
        log_line(self, outcome, "");
    g_clear_pointer(&self->device, g_free);
}
