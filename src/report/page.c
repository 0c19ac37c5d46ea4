#include "report-private.h"

/* What several pages are made of. */

void ifm_page_spelt(GString *out, const char *text, const IfmScreen *screen)
{
    g_autofree char *spelt = ifm_format_spelt(text, screen->utf8);
    g_string_append(out, spelt);
}

void ifm_page_told(GString *out, const char *head, IfmTone tone, const char *text, const IfmScreen *screen)
{
    g_autofree char *spelt_head = ifm_format_spelt(head, screen->utf8), *spelt = ifm_format_spelt(text, screen->utf8);
    g_autofree char *whole =
        g_strdup_printf("%s%s%s: %s", ifm_tone_begin(screen, tone), spelt_head, ifm_tone_end(screen, tone), spelt);
    ifm_format_wrap(out, whole, 2, 0, screen->width);
}

void ifm_page_table(GString *out, const IfmField *fields, const GPtrArray *records, const IfmScreen *screen)
{
    IfmTable table = { fields, (const void *const *)records->pdata, records->len };
    g_autofree char *text = ifm_table_to_screen(&table, screen);
    g_string_append(out, text);
}

void ifm_page_heading(GString *out, const char *text, const IfmScreen *screen)
{
    g_autofree char *line = g_strconcat(ifm_bold_begin(screen), text, ifm_bold_end(screen), NULL);
    g_string_append_c(out, '\n');
    ifm_format_wrap(out, line, 2, 0, screen->width);
}

void ifm_page_title(GString *out, const char *title, const char *rest, const IfmScreen *screen)
{
    g_autofree char *first = ifm_format_spelt(title, screen->utf8), *others = ifm_format_spelt(rest, screen->utf8);
    g_autofree char *line = g_strconcat(ifm_bold_begin(screen), first, ifm_bold_end(screen), others, NULL);
    ifm_format_wrap(out, line, 0, 0, screen->width);
}

void ifm_page_wrapped(GString *out, const char *text, const IfmScreen *screen)
{
    g_autofree char *spelt = ifm_format_spelt(text, screen->utf8);
    ifm_format_wrap(out, spelt, 0, 0, screen->width);
}
