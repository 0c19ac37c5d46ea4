#pragma once
#include <document/summary.h>

/* What tests look for in a summary. */

/* "VERDICT | DETAIL | LEVEL: WORD TEXT; … | TEXT (GAIN): COMMAND; … | LABEL VALUE RANGE; …", with plain blanks; the
 * document is freed. (transfer full) */
static inline char *summary_line(IfmDocument *document)
{
    const IfmDocumentSummary *summary = document->summary;
    g_autoptr(GString) out = g_string_new(NULL);
    g_assert_nonnull(summary);
    g_assert_nonnull(summary->verdict);
    g_autofree char *sentence = ifm_document_summary_sentence(summary);
    g_string_append_printf(out, "%s | %s | %s:", sentence, summary->detail != NULL ? summary->detail : "",
                           ifm_trust_name(ifm_document_summary_trust(summary)));
    for (guint i = 0; i < summary->checks->len; i++)
        g_string_append_printf(out, " %s %s;", ifm_trust_name(g_array_index(summary->checks, IfmCheck, i).level),
                               g_array_index(summary->checks, IfmCheck, i).text);
    g_string_append(out, " |");
    for (guint i = 0; i < summary->actions->len; i++)
    {
        const IfmAction *action = &g_array_index(summary->actions, IfmAction, i);
        g_string_append_printf(out, " %s (%s): %s;", action->text, action->gain != NULL ? action->gain : "",
                               action->command != NULL ? action->command : "");
    }
    g_string_append(out, " |");
    for (guint i = 0; i < summary->tiles->len; i++)
    {
        const IfmTile *tile = &g_array_index(summary->tiles, IfmTile, i);
        g_string_append_printf(out, " %s %s %s;", tile->label, tile->value, tile->range != NULL ? tile->range : "");
    }
    g_string_replace(out, "\302\240", " ", 0);
    g_string_replace(out, "\342\200\257", " ", 0);
    ifm_document_free(document);
    return g_string_free(g_steal_pointer(&out), FALSE);
}

/* That all of these are in the line; not those that begin with "!". @wanted: NULL-terminated */
static inline void assert_line(const char *line, const char *const *wanted)
{
    for (const char *const *one = wanted; *one != NULL; one++)
        if ((strstr(line, **one == '!' ? *one + 1 : *one) != NULL) != (**one != '!'))
            g_error("\"%s\" in: %s", *one, line);
}
