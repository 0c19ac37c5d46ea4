#include <math.h>

#include <base/base.h>

#include "html.h"
#include "summary.h"
#include "words.h"

/* The first screen of a page: verdict, trust, next step, how it was measured, key figures. */

static void append_element(GString *out, const char *open, const char *text, const char *close)
{
    if (text == NULL)
        return;
    g_string_append(out, open);
    ifm_html_append(out, text);
    g_string_append(out, close);
}

static void append_command(GString *out, const char *command)
{
    append_element(out, "<div class=\"cmd\"><code>", command,
                   "</code><button type=\"button\" class=\"copy\">Copy</button></div>\n");
}

#define CHECKS_SHOWN 6 /* as many lines as the next step beside them has */

static void append_trust(GString *out, const IfmDocumentSummary *summary)
{
    static const char *const signs[] = { "✓", "!", "!", "✕" };
    const IfmTrust trust = ifm_document_summary_trust(summary);
    g_string_append_printf(out, "<div class=\"trust %s\"><h2>%s</h2>\n", ifm_trust_name(trust), ifm_trust_words(trust));
    append_element(out, "<p>", summary->trust, "</p>\n");
    g_string_append(out, "<ul>\n");
    guint n = 0;
    for (int level = IFM_TRUST_BAD; level >= IFM_TRUST_GOOD; level--)
        for (guint i = 0; i < summary->checks->len; i++)
        {
            const IfmCheck *check = &g_array_index(summary->checks, IfmCheck, i);
            if ((int)check->level != level)
                continue;
            if (n++ == CHECKS_SHOWN)
                g_string_append_printf(out, "</ul><details><summary>%u more check%s</summary><ul>\n",
                                       summary->checks->len - CHECKS_SHOWN,
                                       ifm_plural(summary->checks->len - CHECKS_SHOWN));
            g_string_append_printf(out, "<li class=\"%s\"><i aria-label=\"%s\">%s</i>", ifm_trust_name(check->level),
                                   ifm_trust_words(check->level), signs[check->level]);
            ifm_html_append(out, check->text);
            g_string_append(out, "</li>\n");
        }
    g_string_append(out, n > CHECKS_SHOWN ? "</ul></details></div>\n" : "</ul></div>\n");
}

static void append_actions(GString *out, const IfmDocumentSummary *summary)
{
    if (summary->actions->len == 0)
        return;
    g_string_append(out, "<div class=\"next\"><h2>Next</h2>\n");
    for (guint i = 0; i < summary->actions->len; i++)
    {
        const IfmAction *action = &g_array_index(summary->actions, IfmAction, i);
        append_element(out, "<p>", action->text, "");
        append_element(out, ": <span class=\"strong\">", action->gain, "</span>");
        g_string_append(out, "</p>\n");
        append_command(out, action->command);
    }
    g_string_append(out, "</div>\n");
}

static void append_provenance(GString *out, const IfmDocumentSummary *summary)
{
    g_string_append(out, "<aside class=\"prov\" aria-label=\"How this was measured\"><h2>How this was measured</h2>\n");
    append_command(out, summary->command);
    g_string_append(out, "<dl>\n");
    for (guint i = 0; i < summary->facts->len; i++)
    {
        const IfmFact *fact = &g_array_index(summary->facts, IfmFact, i);
        append_element(out, "<dt>", fact->name, "</dt>");
        append_element(out, "<dd>", fact->text, "</dd>\n");
    }
    g_string_append(out, "</dl></aside>\n");
}

static void append_tiles(GString *out, const IfmDocumentSummary *summary, const GPtrArray *devices)
{
    if (summary->tiles->len == 0)
        return;
    g_string_append(out, "<div class=\"tiles in\" role=\"group\" aria-label=\"Key figures\">\n");
    for (guint i = 0; i < summary->tiles->len; i++)
    {
        const IfmTile *tile = &g_array_index(summary->tiles, IfmTile, i);
        const guint colour = ifm_colour_of_device(devices, tile->device);
        append_element(out, "<div class=\"tile\"><p>", tile->label, "</p>");
        append_element(out, "<p class=\"value\">", tile->value, "</p>");
        append_element(out, "<p>", tile->range, "</p>");
        if (isfinite(tile->share))
            g_string_append_printf(out,
                                   "<svg width=\"170\" height=\"6\" aria-hidden=\"true\"><rect class=\"pn\" width=\"170\" "
                                   "height=\"6\"/><rect class=\"c%u\" width=\"%.1f\" height=\"6\"/></svg>",
                                   colour != G_MAXUINT ? colour + 1 : 1, 170 * CLAMP(tile->share, 0, 1));
        g_string_append(out, "</div>\n");
    }
    g_string_append(out, "</div>\n");
}

/* --- the interval on its scale ---------------------------------------------------------------------------------------- */

/* Where a value stands between the ends of the scale, in pixels. */
static double place(const IfmVerdictRange *estimate, double low, double high, double value, double width)
{
    const double share = estimate->logarithmic ? log(value / low) / log(high / low) : (value - low) / (high - low);
    return 8 + (width - 16) * CLAMP(share, 0, 1);
}

static void append_word(GString *out, const char *class, const char *text, const char *anchor, double x, double y)
{
    if (text == NULL)
        return;
    g_string_append_printf(out, "<text class=\"%s\" x=\"%.1f\" y=\"%.0f\" text-anchor=\"%s\">", class, x, y, anchor);
    ifm_html_append(out, text);
    g_string_append(out, "</text>");
}

/* Around the reference, as wide as both the interval and the reference need. */
static void append_estimate(GString *out, const IfmVerdictRange *estimate, double width)
{
    const double values[] = { estimate->value, estimate->lower, estimate->upper, estimate->reference };
    double low = INFINITY, high = -INFINITY;
    for (gsize i = 0; i < G_N_ELEMENTS(values); i++)
        if (isfinite(values[i]))
        {
            low = fmin(low, values[i]);
            high = fmax(high, values[i]);
        }
    const double room = estimate->logarithmic ? fmax(pow(high / low, 0.25), 1.05) : fmax((high - low) * 0.25, 1e-9);
    low = estimate->logarithmic ? low / room : low - room;
    high = estimate->logarithmic ? high * room : high + room;
    const double from = place(estimate, low, high, estimate->lower, width),
                 to = place(estimate, low, high, estimate->upper, width),
                 at = place(estimate, low, high, estimate->value, width),
                 same = place(estimate, low, high, estimate->reference, width);
    char *(*const say)(double) = estimate->kind == IFM_FIELD_DURATION ? ifm_say_duration : ifm_say_number;
    char *(*const say_range)(double, double) = estimate->kind == IFM_FIELD_DURATION ? ifm_say_durations : ifm_say_numbers;
    const gboolean has_range = isfinite(estimate->lower) && isfinite(estimate->upper);
    g_autofree char *value = say(estimate->value), *range = say_range(estimate->lower, estimate->upper),
                    *reference = say(estimate->reference), *least = say(low), *most = say(high);
    g_string_append_printf(
        out, "<svg class=\"fig\" width=\"%.0f\" height=\"56\" viewBox=\"0 0 %.0f 56\" role=\"img\" aria-label=\"", width,
        width);
    if (isfinite(estimate->reference) && estimate->reference_words != NULL)
    {
        ifm_html_append(out, estimate->reference_words);
        g_string_append_printf(out, " %s, ", reference);
    }
    g_string_append_printf(out, "value %s%s%s\"><path class=\"ax\" d=\"M8,30H%.1f\"/>", value, has_range ? ", " : "",
                           has_range ? range : "", width - 8);
    if (has_range)
        g_string_append_printf(out, "<path class=\"iv l1\" d=\"M%.1f,30H%.1fM%.1f,24v12M%.1f,24v12\"/>", from, to, from,
                               to);
    g_string_append_printf(out, "<circle class=\"c1\" cx=\"%.1f\" cy=\"30\" r=\"5\"/>", at);
    if (isfinite(estimate->reference))
        g_string_append_printf(out, "<path class=\"ref\" d=\"M%.1f,14V40\"/>", same);
    append_word(out, "mu", isfinite(estimate->reference) ? estimate->reference_words : NULL,
                same < width / 2 ? "start" : "end", same, 11);
    append_word(out, "mu", least, "start", 8, 24);
    append_word(out, "mu", most, "end", width - 8, 24);
    append_word(out, "tk", estimate->low_words, "start", 8, 52);
    append_word(out, "tk", estimate->high_words, "end", width - 8, 52);
    g_string_append(out, "</svg>\n");
}

static void append_scale(GString *out, const IfmDocumentSummary *summary)
{
    if (!isfinite(summary->estimate.value))
        return;
    g_string_append(out, "<div class=\"plots half\"><div class=\"v v528\">");
    append_estimate(out, &summary->estimate, 528);
    g_string_append(out, "</div><div class=\"v v344\">");
    append_estimate(out, &summary->estimate, 344);
    g_string_append(out, "</div></div>\n");
}

void ifm_html_append_hero(GString *out, const IfmDocument *document, gboolean is_first, const GPtrArray *devices)
{
    const IfmDocumentSummary *summary = document->summary;
    g_autofree char *verdict = ifm_document_summary_sentence(summary);
    g_string_append(out, "<div class=\"hero in\"><div>\n");
    append_element(out, "<p class=\"subject\">", summary->subject, "</p>\n");
    append_element(out, is_first ? "<h1>" : "<h2 class=\"verdict\">", verdict, is_first ? "</h1>\n" : "</h2>\n");
    append_element(out, "<p class=\"more\">", summary->detail, "</p>\n");
    append_scale(out, summary);
    g_string_append(out, "<div class=\"two\">\n");
    append_trust(out, summary);
    append_actions(out, summary);
    g_string_append(out, "</div></div>\n");
    append_provenance(out, summary);
    g_string_append(out, "</div>\n");
    append_tiles(out, summary, devices);
}
