#include <string.h>

#include "read-private.h"

/* The words NaN and Infinity in a JSON text are replaced, before it is parsed, by texts of the same length. */

/*
 * Python writes NaN and Infinity for numbers that JSON has no word for, and a parser of JSON ends there. Outside texts no
 * other word of JSON has an N or an I, so these are found without parsing. An empty text of the same length takes their
 * place: where a number is expected it is none, and all else stays where it was.
 */

static const char *const words[] = { "NaN", "Infinity", "-Infinity" };

/* Returns: the word at @text [n]; -1: none. @cut: (out) one begins that the end of @text may cut off */
static int word_at(const char *text, gsize n, gboolean *cut)
{
    for (int i = 0; i < (int)G_N_ELEMENTS(words); i++)
    {
        gsize length = strlen(words[i]);
        if (memcmp(text, words[i], MIN(n, length)) != 0)
            continue;
        if (n >= length)
            return i;
        *cut = TRUE;
    }
    return -1;
}

/* Returns: where the text that is open ends in @text [n], or @n. */
static gsize end_of_text(IfmNonFinite *self, const char *text, gsize at, gsize n)
{
    for (; at < n; at++)
        if (self->escaped)
            self->escaped = FALSE;
        else if (text[at] == '\\')
            self->escaped = TRUE;
        else if (text[at] == '"')
        {
            self->quoted = FALSE;
            return at + 1;
        }
    return n;
}

gsize ifm_non_finite_mask(IfmNonFinite *self, char *text, gsize n, gboolean is_last)
{
    for (gsize at = 0; at < n;)
    {
        gboolean cut = FALSE;
        if (self->quoted)
        {
            at = end_of_text(self, text, at, n);
            continue;
        }
        self->quoted = text[at] == '"';
        int word = text[at] == 'N' || text[at] == 'I' || text[at] == '-' ? word_at(text + at, n - at, &cut) : -1;
        if (cut && !is_last)
            return at;
        if (word < 0)
        {
            at++;
            continue;
        }
        memset(text + at, ' ', strlen(words[word]));
        text[at] = text[at + 1] = '"';
        at += strlen(words[word]);
    }
    return n;
}
