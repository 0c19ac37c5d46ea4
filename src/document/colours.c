#include "document-private.h"

/*
 * The colours of pages and figures: one table. Any two of c1 to c6 are told apart with any colour vision, and every text
 * can be read on its ground; tests/document/test-colours.c computes both.
 */

static const IfmColour colours[] = {
    { "bg", "#ffffff", "#0f1317" },
    { "panel", "#f5f6f8", "#171c22" },
    { "ink", "#14181d", "#e9edf2" },
    { "muted", "#545e6b", "#a0abb8" },
    { "rule", "#d5dae1", "#323a45" },
    { "grid", "#e6e9ee", "#242b34" },
    { "accent", "#0b57a8", "#7db8f5" },
    { "good", "#0a6b4f", "#58c79a" },
    { "warn", "#8a5300", "#e3ab4e" },
    { "bad", "#b3261e", "#ff8a7a" },
    { "c1", "#0a4fb8", "#8caad3" },
    { "c2", "#e07a10", "#f58a3a" },
    { "c3", "#009377", "#4cddb3" },
    { "c4", "#a477e8", "#a05aff" },
    { "c5", "#8c1f1f", "#f3f276" },
    { "c6", "#2f3640", "#7d8590" },
    { "t1", "#ffffff", "#0b0d10" },
    { "t2", "#0b0d10", "#0b0d10" },
    { "t3", "#0b0d10", "#0b0d10" },
    { "t4", "#0b0d10", "#0b0d10" },
    { "t5", "#ffffff", "#0b0d10" },
    { "t6", "#ffffff", "#0b0d10" },
    { "s0", "#eef2f8", "#1d2530" },
    { "s1", "#cddbf1", "#2b3a52" },
    { "s2", "#9fbde9", "#3f5a86" },
    { "s3", "#5a8fdb", "#6a90c6" },
    { "s4", "#0a4fb8", "#a6c4ee" },
    { "ts0", "#14181d", "#e9edf2" },
    { "ts1", "#14181d", "#e9edf2" },
    { "ts2", "#14181d", "#ffffff" },
    { "ts3", "#0b0d10", "#0b0d10" },
    { "ts4", "#ffffff", "#0b0d10" },
    { "neg2", "#0a4fb8", "#8caad3" },
    { "neg1", "#9fbde9", "#3f5a86" },
    { "zero", "#eef0f3", "#242b34" },
    { "pos1", "#f5c08f", "#75451a" },
    { "pos2", "#e07a10", "#f58a3a" },
    { "tneg2", "#ffffff", "#0b0d10" },
    { "tneg1", "#14181d", "#ffffff" },
    { "tzero", "#14181d", "#e9edf2" },
    { "tpos1", "#14181d", "#ffffff" },
    { "tpos2", "#0b0d10", "#0b0d10" },
    { NULL, NULL, NULL },
};

const IfmColour *ifm_colours(void)
{
    return colours;
}

guint ifm_colour_of_device(const GPtrArray *devices, const char *name)
{
    guint place = G_MAXUINT;
    if (devices == NULL || devices->len > IFM_COLOURS || name == NULL ||
        !g_ptr_array_find_with_equal_func((GPtrArray *)devices, name, g_str_equal, &place))
        return G_MAXUINT;
    return place;
}

static void append_variables(GString *out, const char *before, gboolean dark, const char *after)
{
    g_string_append(out, before);
    for (const IfmColour *colour = colours; colour->name != NULL; colour++)
        g_string_append_printf(out, "--%s:%s;", colour->name, dark ? colour->dark : colour->light);
    g_string_append(out, after);
}

/* Of one colour as a figure uses it: filled, as a line, pale, and as the text on it. */
static void append_classes(GString *out, const char *name, const char *on)
{
    g_string_append_printf(out, ".%s{fill:var(--%s)}.o%s{fill:var(--%s)}", name, name, name, on);
}

void ifm_colours_append_css(GString *out, gboolean alone)
{
    static const char *const steps[] = { "s0", "s1", "s2", "s3", "s4", "neg2", "neg1", "zero", "pos1", "pos2" };
    append_variables(out, ":root{color-scheme:light dark;", FALSE, "}\n");
    append_variables(out,
                     alone ? "@media (prefers-color-scheme:dark){:root{"
                           : "@media screen and (prefers-color-scheme:dark){:root:not([data-theme=light]){",
                     TRUE, "}}\n");
    if (!alone)
        append_variables(out, "@media screen{:root[data-theme=dark]{", TRUE, "}}\n");
    for (int i = 1; i <= IFM_COLOURS; i++)
        g_string_append_printf(out,
                               ".c%d{fill:var(--c%d)}.l%d{stroke:var(--c%d);fill:none}.p%d{fill:var(--c%d);"
                               "fill-opacity:.2}.o%d{fill:var(--t%d)}",
                               i, i, i, i, i, i, i, i);
    for (gsize i = 0; i < G_N_ELEMENTS(steps); i++)
    {
        g_autofree char *on = g_strconcat("t", steps[i], NULL);
        append_classes(out, steps[i], on);
    }
    g_string_append(
        out,
        "\n.good{fill:var(--good)}.warn{fill:var(--warn)}.bad{fill:var(--bad)}.dim{fill:var(--rule)}.pn{fill:var(--panel)}"
        ".gr{stroke:var(--grid);fill:none}.ax{stroke:var(--muted);fill:none}.ink{stroke:var(--ink);fill:none}"
        ".ref{stroke:var(--muted);stroke-dasharray:3 3;fill:none}.iv{stroke-width:2}.rg{stroke-width:1;"
        "stroke-opacity:.5}.ln{stroke-width:1.6;stroke-linejoin:round}.dots{stroke-width:3;stroke-linecap:round}"
        ".hatch{fill:url(#hatch);stroke:var(--rule)}.rule{stroke:var(--rule);stroke-width:3}"
        ".halo{paint-order:stroke;stroke:var(--bg);stroke-width:3}.open{fill:var(--bg);stroke-width:1.6}.edge{stroke:var(--"
        "bg);stroke-width:1}.bub{fill-opacity:.75;"
        "stroke:var(--bg)}\n"
        "svg.fig{display:block;font:11.5px system-ui,\"Segoe UI\",Roboto,\"Helvetica Neue\",sans-serif;"
        "font-variant-numeric:tabular-nums}.tx{fill:var(--ink)}.tk,.at,.mu{fill:var(--muted)}.at,.tk{font-weight:400}"
        ".m{text-anchor:middle}.e{text-anchor:end}.b{font-weight:620}.ti{font-size:16px;font-weight:620}.su{font-size:13px}"
        ".ground{fill:var(--bg)}\n");
}
