#include <math.h>

#include <inferometer/json.h>

#include "report-private.h"

/* What a person reads of a plan's run: every figure that was predicted beside what was measured. */

/* --- pages ------------------------------------------------------------------------------------------------------------ */

static void append_head(GString *out, const IfmRunStory *story, const IfmScreen *screen)
{
    g_autofree char *plan = story->plan != NULL ? ifm_plan_to_text(story->plan) : NULL;
    gsize n_repetitions = json_array_size(ifm_run_repetitions(story));
    double n = ifm_run_n_batches(story);
    g_autoptr(GString) head = g_string_new(NULL);
    if (isfinite(n))
        g_string_append_printf(head, ", %.0f batches, %" G_GSIZE_FORMAT " time%s", n, n_repetitions,
                               n_repetitions == 1 ? "" : "s");
    const char *ran = ifm_run_is_replanned(story) ? ifm_member_text(ifm_run_last_repetition(story), "plan") : NULL;
    if (plan != NULL)
        g_string_append_printf(head, ": %s", plan);
    if (ran != NULL)
        g_string_append_printf(head, "; ran in the end: %s", ran);
    ifm_page_title(out, story->title, head->str, screen);
}

static void append_run(GString *out, const IfmRunStory *story, const IfmScreen *screen)
{
    g_autoptr(GPtrArray) figures = ifm_run_figures(story);
    const char *reason = ifm_run_reason(story);
    append_head(out, story, screen);
    if (reason != NULL)
    {
        ifm_page_told(out, "failed", IFM_TONE_BAD, reason, screen);
    }
    if (json_array_size(ifm_run_repetitions(story)) == 0)
        return;
    g_string_append_c(out, '\n');
    ifm_page_table(out, ifm_run_figure_fields, figures, screen);
    g_string_append_c(out, '\n');
    if (story->origin != NULL)
    {
        g_autofree char *origin = g_strconcat("plan      ", story->origin, NULL);
        ifm_run_line(out, origin, 10, screen);
    }
    IfmInterval interval;
    g_autofree char *tried = ifm_prediction_pilot_line(
        story->prediction,
        ifm_run_is_replanned(story) ? (double)NAN : ifm_run_over_repetitions(story, "makespan_ns", &interval));
    if (tried != NULL)
    {
        g_autofree char *pilot = g_strconcat("pilot     ", tried, NULL);
        ifm_run_line(out, pilot, 10, screen);
    }
    ifm_run_lines(out, story, screen);
    if (reason == NULL)
        ifm_run_verdict(out, story, figures, screen);
}

/* --- all of them ------------------------------------------------------------------------------------------------------ */

/* RunLine: one run in a row. */
typedef struct
{
    const IfmRunStory *story;
    const IfmRunFigure *makespan, *throughput;
} RunLine;

static void get_title(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_text(value, ((const RunLine *)record)->story->title);
}

static void get_predicted(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_real(value, ((const RunLine *)record)->makespan->predicted);
}

static void get_measured(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_real(value, ((const RunLine *)record)->makespan->measured);
}

static void get_off(const void *record, const void *user, IfmValue *value)
{
    ifm_run_get_difference(((const RunLine *)record)->makespan, NULL, value);
}

static void get_rate(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_real(value, ((const RunLine *)record)->throughput->measured);
}

static void get_attained(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_real(value,
                       ifm_member_number(ifm_run_plan_member(((const RunLine *)record)->story, "bound"), "attained"));
}

static void get_outputs(const void *record, const void *user, IfmValue *value)
{
    static const char *const words[][2] = { { "passed", "equal" },
                                            { "failed", "differ" },
                                            { "not-applicable", "simulated" } };
    const RunLine *line = record;
    const char *status =
        line->story->measurement != NULL ? ifm_member_text(line->story->measurement->verification, "status") : NULL;
    ifm_run_outputs_word(line->story, &value->tone);
    for (gsize i = 0; i < G_N_ELEMENTS(words); i++)
        if (g_strcmp0(status, words[i][0]) == 0)
            ifm_value_set_text(value, words[i][1]);
}

static const IfmField line_fields[] = {
    { "run", "run", IFM_FIELD_TEXT, get_title, .flags = IFM_FIELD_WHOLE | IFM_FIELD_KEY },
    { "predicted_ns", "predicted", IFM_FIELD_DURATION, get_predicted },
    { "measured_ns", "measured", IFM_FIELD_DURATION, get_measured },
    { "off", "off by", IFM_FIELD_TEXT, get_off },
    { "throughput_per_s", "batches/s", IFM_FIELD_REAL, get_rate },
    { "attained", "of bound", IFM_FIELD_RATIO, get_attained, .flags = IFM_FIELD_HIDE_EMPTY },
    { "outputs", "outputs", IFM_FIELD_TEXT, get_outputs, .flags = IFM_FIELD_HIDE_EMPTY },
    { NULL },
};

static void append_all(GString *out, const IfmRunStory *stories, gsize n, const IfmScreen *screen)
{
    g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free), kept = g_ptr_array_new();
    for (gsize i = 0; i < n; i++)
    {
        GPtrArray *figures = ifm_run_figures(&stories[i]);
        RunLine line = { &stories[i], figures->pdata[0], figures->pdata[1] };
        g_ptr_array_add(lines, g_memdup2(&line, sizeof line));
        g_ptr_array_add(kept, figures);
    }
    ifm_page_heading(out, "Predicted and measured", screen);
    ifm_page_table(out, line_fields, lines, screen);
    g_ptr_array_foreach(kept, (GFunc)(void (*)(void))g_ptr_array_unref, NULL);
}

char *ifm_run_to_screen(const IfmRunStory *stories, gsize n, const IfmScreen *screen)
{
    GString *out = g_string_new(NULL);
    for (gsize i = 0; i < n; i++)
    {
        if (i > 0)
            g_string_append_c(out, '\n');
        append_run(out, &stories[i], screen);
    }
    if (n > 1)
        append_all(out, stories, n, screen);
    return g_string_free(out, FALSE);
}
