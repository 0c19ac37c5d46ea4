#include <math.h>
#include <stdarg.h>
#include <string.h>

#include <base/base.h>
#include <base/fields.h>

#include "document-private.h"
#include "summary.h"
#include "words.h"

/* The summary of a document is built, and written as JSON and for a terminal. */

#define NAMED 3 /* devices in a check */

/* --- building --------------------------------------------------------------------------------------------------------- */

static IfmDocumentSummary *summary_of(IfmDocument *document)
{
    IfmDocumentSummary *summary = document->summary;
    if (summary != NULL)
        return summary;
    summary = document->summary = g_new0(IfmDocumentSummary, 1);
    summary->estimate.value = NAN;
    const struct
    {
        GArray **array;
        gsize size;
    } arrays[] = { { &summary->checks, sizeof(IfmCheck) },
                   { &summary->actions, sizeof(IfmAction) },
                   { &summary->facts, sizeof(IfmFact) },
                   { &summary->tiles, sizeof(IfmTile) } };
    for (gsize i = 0; i < G_N_ELEMENTS(arrays); i++)
        *arrays[i].array = g_array_new(FALSE, FALSE, (guint)arrays[i].size);
    return summary;
}

void ifm_document_summary_free(IfmDocumentSummary *summary)
{
    if (summary == NULL)
        return;
    g_array_unref(summary->checks);
    g_array_unref(summary->actions);
    g_array_unref(summary->facts);
    g_array_unref(summary->tiles);
    g_free(summary);
}

static const char *keep_format(IfmDocument *document, const char *format, va_list arguments)
{
    return ifm_document_take_text(document, g_strdup_vprintf(format, arguments));
}

#define SENTENCE(function, member)                                                                                         \
    void function(IfmDocument *document, const char *format, ...)                                                          \
    {                                                                                                                      \
        va_list arguments;                                                                                                 \
        va_start(arguments, format);                                                                                       \
        summary_of(document)->member = keep_format(document, format, arguments);                                           \
        va_end(arguments);                                                                                                 \
    }
SENTENCE(ifm_document_subject, subject)
SENTENCE(ifm_document_verdict, verdict)
SENTENCE(ifm_document_verdict_more, detail)
SENTENCE(ifm_document_trust_why, trust)

/* The words of a command that a shell reads: a quoted one is one word. (transfer full) */
static GPtrArray *split_words(const char *command)
{
    GPtrArray *words = g_ptr_array_new_with_free_func(g_free);
    const char *begin = command;
    char quote = '\0';
    for (const char *at = command;; at++)
    {
        if (*at == '\0' || (*at == ' ' && quote == '\0'))
        {
            if (at > begin)
                g_ptr_array_add(words, g_strndup(begin, (gsize)(at - begin)));
            begin = at + 1;
        }
        if (*at == '\0')
            return words;
        if (*at == '\\' && quote == '\0' && at[1] != '\0')
            at++;
        else if (*at == quote || (quote == '\0' && (*at == '\'' || *at == '"')))
            quote = quote == '\0' ? *at : '\0';
    }
}

static gboolean is_option(const char *word)
{
    return g_str_has_prefix(word, "--") && word[2] != '\0';
}

/* Takes each "--option VALUE" or "--option=VALUE" from @words that @more sets anew. */
static void drop_options(GPtrArray *words, const GPtrArray *more)
{
    for (guint m = 0; m < more->len && !g_str_equal(more->pdata[m], "&&"); m++)
    {
        const gsize length = strcspn(more->pdata[m], "=");
        const gboolean has_value = m + 1 < more->len && !is_option(more->pdata[m + 1]);
        for (guint i = words->len; is_option(more->pdata[m]) && i-- > 0;)
        {
            const char *word = words->pdata[i];
            if (strncmp(word, more->pdata[m], length) != 0 || (word[length] != '\0' && word[length] != '='))
                continue;
            g_ptr_array_remove_range(words, i, word[length] == '\0' && has_value && i + 1 < words->len ? 2 : 1);
        }
    }
}

/* What was typed, with these words behind it: an option that it had gets its new value. (transfer full) */
static char *with_options(const char *command, const char *more)
{
    g_autoptr(GPtrArray) words = split_words(command), added = split_words(more);
    drop_options(words, added);
    if (*more != '\0')
        g_ptr_array_add(words, g_strdup(more));
    g_ptr_array_add(words, NULL);
    return g_strjoinv(" ", (char **)words->pdata);
}

void ifm_document_command(IfmDocument *document, const char *command, const char *again)
{
    if (document->summary == NULL)
        return;
    document->summary->command = ifm_document_keep_text(document, command);
    for (guint i = 0; i < document->summary->actions->len; i++)
    {
        IfmAction *action = &g_array_index(document->summary->actions, IfmAction, i);
        if (again == NULL)
            action->command = NULL;
        else if (action->more != NULL)
            action->command = ifm_document_take_text(document, with_options(again, action->more));
    }
}

void ifm_document_left_out_as(IfmDocument *document, const char *called)
{
    summary_of(document)->called = ifm_document_keep_text(document, called);
}

void ifm_document_so_far(IfmDocument *document, gsize n_done, gsize n)
{
    IfmDocumentSummary *summary = summary_of(document);
    summary->so_far = n == 0 || n_done < n;
    summary->n_done = n_done;
    summary->n = n;
}

/* Whatever blanks hold their words together. */
static gboolean is_same(const char *a, const char *b)
{
    g_auto(GStrv) x = g_strsplit(a, IFM_NO_BREAK, -1), y = g_strsplit(b, IFM_NO_BREAK, -1);
    g_autofree char *plain_a = g_strjoinv(" ", x), *plain_b = g_strjoinv(" ", y);
    return g_str_equal(plain_a, plain_b);
}

void ifm_document_check(IfmDocument *document, IfmTrust level, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const IfmCheck check = { .level = level, .text = keep_format(document, format, arguments) };
    va_end(arguments);
    GArray *checks = summary_of(document)->checks;
    for (guint i = 0; i < checks->len; i++)
        if (is_same(g_array_index(checks, IfmCheck, i).text, check.text))
            return;
    g_array_append_val(checks, check);
}

/* But for numbers. */
static gboolean is_alike(const char *a, const char *b)
{
    for (;; a++, b++)
    {
        a += strspn(a, "0123456789.,");
        b += strspn(b, "0123456789.,");
        if (*a != *b || *a == '\0')
            return *a == *b;
    }
}

/* That of others with which one of @name is said; a new one where there is none. */
static IfmCheck *check_of(IfmDocument *document, const IfmCheck *wanted, const char *name)
{
    GArray *checks = summary_of(document)->checks;
    for (guint i = 0; i < checks->len; i++)
    {
        IfmCheck *check = &g_array_index(checks, IfmCheck, i);
        if (check->names != NULL && check->level == wanted->level && g_str_equal(check->what, wanted->what) &&
            is_alike(check->rest, wanted->rest) &&
            (g_str_equal(check->rest, wanted->rest) ||
             !g_ptr_array_find_with_equal_func(check->names, name, g_str_equal, NULL)))
            return check;
    }
    g_array_append_val(checks, *wanted);
    IfmCheck *last = &g_array_index(checks, IfmCheck, checks->len - 1);
    last->names = ifm_document_keep(document, g_ptr_array_new(), (GDestroyNotify)g_ptr_array_unref);
    return last;
}

void ifm_document_check_of(IfmDocument *document, IfmTrust level, const char *name, const char *what, const char *format,
                           ...)
{
    va_list arguments;
    va_start(arguments, format);
    const IfmCheck one = { .level = level,
                           .what = ifm_document_keep_text(document, what),
                           .rest = keep_format(document, format, arguments) };
    va_end(arguments);
    if (name == NULL)
    {
        ifm_document_check(document, level, "%s %s", what, one.rest);
        return;
    }
    IfmCheck *check = check_of(document, &one, name);
    if (!g_ptr_array_find_with_equal_func(check->names, name, g_str_equal, NULL))
        g_ptr_array_add(check->names, (gpointer)ifm_document_keep_text(document, name));
    check->differs |= !g_str_equal(check->rest, one.rest);
    const gsize n_first = check->differs ? 1 : check->names->len;
    const char *const *names = (const char *const *)check->names->pdata;
    g_autofree char *first = ifm_say_list(names, n_first, NAMED),
                    *others = ifm_say_list(names + n_first, check->names->len - n_first, NAMED),
                    *text = g_strdup_printf("%s of %s %s%s%s", what, first, check->rest,
                                            check->differs ? "; by other figures so it is of " : "", others);
    check->text = ifm_document_keep_text(document, text);
}

/* How many of @parts have a check like it, but for numbers. @same: (out) whether the numbers are the same, too */
static gsize count_alike(const IfmDocument *const *parts, gsize n, const IfmCheck *wanted, gboolean *same)
{
    gsize count = 0;
    *same = TRUE;
    for (gsize d = 0; d < n; d++)
    {
        const GArray *checks = parts[d]->summary->checks;
        for (guint i = 0; i < checks->len; i++)
        {
            const IfmCheck *check = &g_array_index(checks, IfmCheck, i);
            if (check->level != wanted->level || !is_alike(check->text, wanted->text))
                continue;
            *same &= g_str_equal(check->text, wanted->text);
            count++;
            break;
        }
    }
    return count;
}

static gboolean is_said(const GArray *checks, const IfmCheck *wanted)
{
    for (guint i = 0; i < checks->len; i++)
    {
        const IfmCheck *check = &g_array_index(checks, IfmCheck, i);
        if (check->level == wanted->level && is_alike(check->rest != NULL ? check->rest : check->text, wanted->text))
            return TRUE;
    }
    return FALSE;
}

void ifm_document_checks_of_parts(IfmDocument *document, const IfmDocument *const *parts, gsize n, const char *what)
{
    GArray *checks = summary_of(document)->checks;
    for (gsize d = 0; d < n; d++)
        for (guint i = 0; i < parts[d]->summary->checks->len; i++)
        {
            const IfmCheck *check = &g_array_index(parts[d]->summary->checks, IfmCheck, i);
            gboolean same = FALSE;
            if (is_said(checks, check))
                continue;
            const gsize count = count_alike(parts, n, check, &same);
            IfmCheck joined = { .level = check->level, .rest = ifm_document_keep_text(document, check->text) };
            g_autofree char *at = count < n ? g_strdup_printf("at %zu of %zu %s: ", count, n, what) : g_strdup("");
            joined.text = ifm_document_take_text(
                document, g_strconcat(at, check->text, same ? "" : "; at others of these by other figures", NULL));
            g_array_append_val(checks, joined);
        }
}

void ifm_document_check_count(IfmDocument *document, IfmTrust level, gsize n, gsize n_all, const char *what)
{
    if (n > 0)
        ifm_document_check(document, level, "%zu of %zu %s", n, n_all, what);
}

void ifm_document_next(IfmDocument *document, const char *command, const char *gain, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const IfmAction action = { keep_format(document, format, arguments), ifm_document_keep_text(document, gain),
                               ifm_document_keep_text(document, command) };
    va_end(arguments);
    g_array_append_val(summary_of(document)->actions, action);
}

void ifm_document_next_again(IfmDocument *document, const char *more, const char *gain, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const IfmAction action = { keep_format(document, format, arguments), ifm_document_keep_text(document, gain),
                               .more = ifm_document_keep_text(document, more) };
    va_end(arguments);
    g_array_append_val(summary_of(document)->actions, action);
}

void ifm_document_provenance(IfmDocument *document, const char *name, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const IfmFact fact = { ifm_document_keep_text(document, name), keep_format(document, format, arguments) };
    va_end(arguments);
    GArray *facts = summary_of(document)->facts;
    for (guint i = 0; i < facts->len; i++)
        if (g_str_equal(g_array_index(facts, IfmFact, i).name, name))
            return;
    if (*fact.text != '\0')
        g_array_append_val(facts, fact);
}

void ifm_document_provenance_device(IfmDocument *document, const char *alias, const char *device)
{
    g_autofree char *name = g_strconcat("device ", alias, NULL);
    ifm_document_provenance(document, name, "%s", device);
    ifm_document_device(document, alias);
}

void ifm_document_tile(IfmDocument *document, const IfmTile *tile)
{
    g_auto(GStrv) parts = g_strsplit(tile->range != NULL ? tile->range : "", "; ", -1);
    g_autoptr(GString) range = g_string_new(NULL);
    for (char **part = parts; *part != NULL; part++)
        if (!g_str_has_prefix(*part, IFM_SAY_MISSING) && !g_str_has_suffix(*part, IFM_SAY_MISSING))
            g_string_append_printf(range, "%s%s", range->len > 0 ? "; " : "", *part);
    const IfmTile copy = { ifm_document_keep_text(document, tile->label), ifm_document_keep_text(document, tile->value),
                           range->len > 0 ? ifm_document_keep_text(document, range->str) : NULL, tile->share,
                           ifm_document_keep_text(document, tile->device) };
    if (!g_str_equal(tile->value, IFM_SAY_MISSING))
        g_array_append_val(summary_of(document)->tiles, copy);
}

void ifm_document_estimate(IfmDocument *document, const IfmVerdictRange *estimate)
{
    IfmVerdictRange *copy = &summary_of(document)->estimate;
    *copy = *estimate;
    copy->reference_words = ifm_document_keep_text(document, estimate->reference_words);
    copy->low_words = ifm_document_keep_text(document, estimate->low_words);
    copy->high_words = ifm_document_keep_text(document, estimate->high_words);
}

/* --- trust ------------------------------------------------------------------------------------------------------------ */

IfmTrust ifm_document_summary_trust(const IfmDocumentSummary *summary)
{
    IfmTrust worst = IFM_TRUST_GOOD;
    for (guint i = 0; i < summary->checks->len; i++)
        worst = MAX(worst, g_array_index(summary->checks, IfmCheck, i).level);
    return worst == IFM_TRUST_UNCHECKED ? IFM_TRUST_GOOD : worst;
}

char *ifm_document_summary_sentence(const IfmDocumentSummary *summary)
{
    GString *text = g_string_new(NULL);
    if (summary->so_far && summary->n > 0)
        g_string_append_printf(text, "So far, of %zu of %zu cases: ", summary->n_done, summary->n);
    else if (summary->so_far)
        g_string_append(text, "So far: ");
    g_string_append(text, summary->verdict);
    if (ifm_document_summary_trust(summary) == IFM_TRUST_BAD)
        g_string_append(text, "; this is not to be trusted");
    return g_string_free(text, FALSE);
}

gboolean ifm_document_has_subject(const IfmDocument *document)
{
    return document->summary != NULL && document->summary->verdict != NULL && document->summary->subject != NULL;
}

char *ifm_document_summary_source(const IfmDocumentSummary *summary)
{
    static const char *const shown[] = { "CPU", "when" };
    if (summary == NULL || summary->subject == NULL)
        return NULL;
    GString *text = g_string_new(summary->subject);
    for (gsize i = 0; i < G_N_ELEMENTS(shown); i++)
        for (guint f = 0; f < summary->facts->len; f++)
            if (strcmp(g_array_index(summary->facts, IfmFact, f).name, shown[i]) == 0)
                g_string_append_printf(text, " · %s", g_array_index(summary->facts, IfmFact, f).text);
    return g_string_free(text, FALSE);
}

const char *ifm_trust_words(IfmTrust trust)
{
    static const char *const words[] = { "good enough to act on", "not checked", "usable, with care", "not to be trusted" };
    return words[trust];
}

const char *ifm_trust_name(IfmTrust trust)
{
    static const char *const names[] = { "good", "unchecked", "care", "bad" };
    return names[trust];
}

/* --- JSON ------------------------------------------------------------------------------------------------------------- */

static json_t *estimate_to_json(const IfmVerdictRange *estimate)
{
    if (!isfinite(estimate->value))
        return json_null();
    return json_pack("{s:o,s:o,s:o,s:o,s:s}", "value", ifm_json_real(estimate->value), "lower",
                     ifm_json_real(estimate->lower), "upper", ifm_json_real(estimate->upper), "reference",
                     ifm_json_real(estimate->reference), "unit", ifm_field_unit(estimate->kind));
}

json_t *ifm_document_summary_to_json(const IfmDocument *document)
{
    const IfmDocumentSummary *summary = document->summary;
    if (summary == NULL || summary->verdict == NULL)
        return NULL;
    const IfmTrust trust = ifm_document_summary_trust(summary);
    g_autofree char *verdict = ifm_document_summary_sentence(summary);
    json_t *checks = json_array(), *next = json_array(), *facts = json_object(), *tiles = json_array();
    for (guint i = 0; i < summary->checks->len; i++)
    {
        const IfmCheck *check = &g_array_index(summary->checks, IfmCheck, i);
        json_array_append_new(
            checks, json_pack("{s:s,s:o}", "level", ifm_trust_name(check->level), "text", ifm_json_text(check->text)));
    }
    for (guint i = 0; i < summary->actions->len; i++)
    {
        const IfmAction *action = &g_array_index(summary->actions, IfmAction, i);
        json_array_append_new(next, json_pack("{s:o,s:o,s:o}", "text", ifm_json_text(action->text), "gain",
                                              ifm_json_text(action->gain), "command", ifm_json_text(action->command)));
    }
    for (guint i = 0; i < summary->facts->len; i++)
    {
        const IfmFact *fact = &g_array_index(summary->facts, IfmFact, i);
        json_object_set_new(facts, fact->name, ifm_json_text(fact->text));
    }
    for (guint i = 0; i < summary->tiles->len; i++)
    {
        const IfmTile *tile = &g_array_index(summary->tiles, IfmTile, i);
        json_array_append_new(tiles, json_pack("{s:o,s:o,s:o,s:o}", "label", ifm_json_text(tile->label), "value",
                                               ifm_json_text(tile->value), "range", ifm_json_text(tile->range), "device",
                                               ifm_json_text(tile->device)));
    }
    return json_pack("{s:o,s:o,s:o,s:o,s:{s:s,s:s,s:o,s:o},s:o,s:{s:o,s:o},s:o}", "subject",
                     ifm_json_text(summary->subject), "verdict", ifm_json_text(verdict), "detail",
                     ifm_json_text(summary->detail), "estimate", estimate_to_json(&summary->estimate), "trust", "level",
                     ifm_trust_name(trust), "words", ifm_trust_words(trust), "why", ifm_json_text(summary->trust), "checks",
                     checks, "next", next, "provenance", "command", ifm_json_text(summary->command), "facts", facts,
                     "tiles", tiles);
}

/* --- terminal --------------------------------------------------------------------------------------------------------- */

#define HEAD_LINES 10  /* that the verdict, trust and the next step take at most on a screen that is short */
#define CHECKS_SHOWN 2 /* there, of those that are not good, if they fit */

/* "trust     usable, with care: other processes used 51 % of the processors; …" @most: checks */
static void append_trust(GString *out, const IfmDocumentSummary *summary, const IfmScreen *screen, guint most)
{
    static const IfmTone tones[] = { IFM_TONE_GOOD, IFM_TONE_PLAIN, IFM_TONE_WARN, IFM_TONE_BAD };
    const IfmTrust trust = ifm_document_summary_trust(summary);
    g_autoptr(GString) line = g_string_new(NULL);
    guint n_shown = 0, n_left = 0;
    const char *mark = ": ";
    g_string_append_printf(line, "trust     %s%s%s", ifm_tone_begin(screen, tones[trust]), ifm_trust_words(trust),
                           ifm_tone_end(screen, tones[trust]));
    if (summary->trust != NULL && trust != IFM_TRUST_BAD) /* else it is no reason for that */
    {
        g_autofree char *why = ifm_format_spelt(summary->trust, screen->utf8);
        g_string_append_printf(line, "%s%s", mark, why);
        mark = "; ";
    }
    for (int level = IFM_TRUST_BAD; level > IFM_TRUST_GOOD; level--)
        for (guint i = 0; i < summary->checks->len; i++)
        {
            const IfmCheck *check = &g_array_index(summary->checks, IfmCheck, i);
            if ((int)check->level != level)
                continue;
            if (n_shown >= most)
            {
                n_left++;
                continue;
            }
            g_autofree char *text = ifm_format_spelt(check->text, screen->utf8);
            g_string_append_printf(line, "%s%s", mark, text);
            mark = "; ";
            n_shown++;
        }
    if (n_left > 0)
        g_string_append_printf(line, "; %u %s with --all", n_left, n_shown > 0 ? "more" : "doubts");
    ifm_format_wrap(out, line->str, 10, 0, screen->width);
}

static void append_line(GString *out, const char *name, const char *text, const IfmScreen *screen)
{
    g_autofree char *spelt = ifm_format_spelt(text, screen->utf8), *line = g_strdup_printf("%-10s%s", name, spelt);
    ifm_format_wrap(out, line, 10, 0, screen->width);
}

/* Head: how much of a summary is shown. */
typedef struct
{
    guint n_checks, n_actions;
    gboolean has_detail;
} Head;

static GString *show_head(const IfmDocumentSummary *summary, const IfmScreen *screen, const Head *head)
{
    GString *out = g_string_new(NULL);
    g_autofree char *sentence = ifm_document_summary_sentence(summary), *verdict = ifm_format_spelt(sentence, screen->utf8),
                    *strong = g_strconcat(ifm_bold_begin(screen), verdict, ifm_bold_end(screen), NULL);
    if (summary->subject != NULL)
        ifm_draw_paragraph(out, summary->subject, screen);
    ifm_format_wrap(out, strong, 2, 0, screen->width);
    if (summary->detail != NULL && head->has_detail)
        ifm_draw_paragraph(out, summary->detail, screen);
    append_trust(out, summary, screen, head->n_checks);
    for (guint i = 0; i < MIN(summary->actions->len, head->n_actions); i++)
    {
        const IfmAction *action = &g_array_index(summary->actions, IfmAction, i);
        g_autofree char *text =
            g_strconcat(action->text, action->gain != NULL ? " (" : "", action->gain != NULL ? action->gain : "",
                        action->gain != NULL ? ")" : "", action->command != NULL ? ": " : "",
                        action->command != NULL ? action->command : "", NULL);
        append_line(out, i == 0 ? "next" : "", text, screen);
    }
    return out;
}

/* On a short screen the checks that are doubted least go first, then the figures of the verdict, to below the next step. */
void ifm_document_summary_show(GString *out, const IfmDocumentSummary *summary, const IfmScreen *screen)
{
    Head head = { G_MAXUINT, G_MAXUINT, TRUE };
    const guint least = ifm_document_summary_trust(summary) == IFM_TRUST_BAD; /* why it is not to be trusted stays */
    if (summary->verdict == NULL)
        return;
    if (screen->lines > 0)
        head = (Head){ CHECKS_SHOWN, 1, TRUE };
    GString *shown = show_head(summary, screen, &head);
    while (screen->lines > 0 && ifm_count_lines(shown) > HEAD_LINES && (head.n_checks > least || head.has_detail))
    {
        head.has_detail = head.has_detail && head.n_checks > least;
        head.n_checks -= head.n_checks > least;
        g_string_free(shown, TRUE);
        shown = show_head(summary, screen, &head);
    }
    g_string_append_len(out, shown->str, (gssize)shown->len);
    g_string_free(shown, TRUE);
    if (summary->detail != NULL && !head.has_detail)
        ifm_draw_paragraph(out, summary->detail, screen);
}

const char *ifm_document_checks_answer(IfmDocument *document)
{
    guint n[IFM_TRUST_BAD + 1] = { 0 };
    const GArray *checks = document->summary != NULL ? document->summary->checks : NULL;
    if (checks == NULL || checks->len == 0)
        return NULL;
    for (guint i = 0; i < checks->len; i++)
        n[g_array_index(checks, IfmCheck, i).level]++;
    g_autoptr(GString) text = g_string_new(NULL);
    g_string_printf(text, "%u of %u check%s passed", n[IFM_TRUST_GOOD], checks->len, ifm_plural(checks->len));
    if (n[IFM_TRUST_CARE] > 0)
        g_string_append_printf(text, ", %u ask%s for care", n[IFM_TRUST_CARE], n[IFM_TRUST_CARE] == 1 ? "s" : "");
    if (n[IFM_TRUST_BAD] > 0)
        g_string_append_printf(text, ", %u say%s that it is not to be trusted", n[IFM_TRUST_BAD],
                               n[IFM_TRUST_BAD] == 1 ? "s" : "");
    if (n[IFM_TRUST_UNCHECKED] > 0)
        g_string_append_printf(text, ", %u could not be made", n[IFM_TRUST_UNCHECKED]);
    g_string_append_c(text, '.');
    return ifm_document_keep_text(document, text->str);
}
