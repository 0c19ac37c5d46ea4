#include "dataset-private.h"

#include <math.h>
#include <string.h>

/* This reader takes a text line by line and field by field; its errors name the line. */

void ifm_text_init(IfmText *text, const char *name, const char *bytes, gsize length, const char *comments)
{
    *text = (IfmText){ name, comments, bytes, bytes + length, bytes, bytes, 0 };
    if (length >= 3 && memcmp(bytes, "\xEF\xBB\xBF", 3) == 0) /* the byte order mark of some editors */
        text->next += 3;
}

static gboolean parts_fields(char c)
{
    return c == ' ' || c == '\t' || c == ',';
}

static void skip_blanks(IfmText *text)
{
    while (text->field < text->line_end && parts_fields(*text->field))
        text->field++;
}

gboolean ifm_text_raw_line(IfmText *text)
{
    if (text->next == text->end)
        return FALSE;
    const char *end = memchr(text->next, '\n', (gsize)(text->end - text->next));
    text->field = text->next;
    text->line_end = end != NULL ? end : text->end;
    text->next = end != NULL ? end + 1 : text->end;
    text->line++;
    if (text->line_end > text->field && text->line_end[-1] == '\r')
        text->line_end--;
    skip_blanks(text);
    return TRUE;
}

gboolean ifm_text_line(IfmText *text)
{
    while (ifm_text_raw_line(text))
    {
        char first = text->field < text->line_end ? *text->field : '\0';
        if (text->field < text->line_end && (first == '\0' || strchr(text->comments, first) == NULL))
            return TRUE;
    }
    return FALSE;
}

gint64 ifm_text_count(const IfmText *text)
{
    IfmText copy = *text;
    gint64 n = 0;
    while (ifm_text_line(&copy))
        n++;
    return n;
}

gboolean ifm_text_field(IfmText *text, IfmTextField *field)
{
    field->start = text->field;
    while (text->field < text->line_end && !parts_fields(*text->field))
        text->field++;
    field->length = (gsize)(text->field - field->start);
    skip_blanks(text);
    return field->length > 0;
}

gboolean ifm_text_word(IfmText *text, const char *word)
{
    IfmText copy = *text;
    IfmTextField field;
    if (!ifm_text_field(&copy, &field) || field.length != strlen(word) ||
        g_ascii_strncasecmp(field.start, word, field.length) != 0)
        return FALSE;
    *text = copy;
    return TRUE;
}

gboolean ifm_text_fail(const IfmText *text, GError **error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *message = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    return ifm_error_refuse(error, "%s:%zu: %s", text->name, MAX(text->line, 1), message);
}

/* The field for a message: at most 40 bytes, with escapes for all but printable ASCII. (transfer full) */
static char *quoted(const IfmTextField *field)
{
    GString *shown = g_string_new("\"");
    for (gsize i = 0; i < MIN(field->length, 40); i++)
    {
        char c = field->start[i];
        if (g_ascii_isprint(c))
            g_string_append_c(shown, c);
        else
            g_string_append_printf(shown, "\\x%02x", (guchar)c);
    }
    g_string_append(shown, field->length > 40 ? "...\"" : "\"");
    return g_string_free(shown, FALSE);
}

static gboolean take(IfmText *text, const char *what, IfmTextField *field, GError **error)
{
    return ifm_text_field(text, field) || ifm_text_fail(text, error, "the line ends before %s", what);
}

/* whole_number: Digits only. A larger number is G_MAXINT64. */
static gboolean whole_number(const IfmTextField *field, gint64 *value)
{
    *value = 0;
    for (gsize i = 0; i < field->length; i++)
    {
        int digit = g_ascii_digit_value(field->start[i]);
        if (digit < 0)
            return FALSE;
        *value = *value > (G_MAXINT64 - digit) / 10 ? G_MAXINT64 : *value * 10 + digit;
    }
    return TRUE;
}

static gboolean take_whole(IfmText *text, const char *what, IfmTextField *field, gint64 *value, GError **error)
{
    if (!take(text, what, field, error))
        return FALSE;
    if (whole_number(field, value))
        return TRUE;
    g_autofree char *shown = quoted(field);
    return ifm_text_fail(text, error, "%s: %s is not a whole number from 0 on", what, shown);
}

gboolean ifm_text_count_field(IfmText *text, const char *what, gint64 max, gint64 *value, GError **error)
{
    IfmTextField field;
    if (!take_whole(text, what, &field, value, error))
        return FALSE;
    if (*value <= max)
        return TRUE;
    g_autofree char *shown = quoted(&field);
    return ifm_text_fail(text, error, "%s: %s is above %" G_GINT64_FORMAT, what, shown, max);
}

gboolean ifm_text_node_field(IfmText *text, const char *what, gint64 first, gint64 n_nodes, gint64 *node, GError **error)
{
    IfmTextField field;
    if (!take_whole(text, what, &field, node, error))
        return FALSE;
    *node -= first;
    if (*node >= 0 && *node < n_nodes)
        return TRUE;
    g_autofree char *shown = quoted(&field);
    return ifm_text_fail(text, error, "%s: %s is outside the %" G_GINT64_FORMAT " nodes, numbered from %" G_GINT64_FORMAT,
                         what, shown, n_nodes, first);
}

#define NUMBER_BYTES 128 /* an exact float needs at most 150 digits; files have fewer */

gboolean ifm_text_number_field(IfmText *text, const char *what, float *value, GError **error)
{
    IfmTextField field;
    if (!take(text, what, &field, error))
        return FALSE;
    char number[NUMBER_BYTES + 1], *end;
    gsize length = MIN(field.length, NUMBER_BYTES);
    memcpy(number, field.start, length);
    number[length] = '\0';
    /* only these characters: no hexadecimal, no "nan", no blank that strtod would skip, no NUL */
    gboolean good = field.length == length && strspn(number, "+-.0123456789eE") == length;
    double parsed = g_ascii_strtod(number, &end);
    if (good && *end == '\0' && fabs(parsed) <= G_MAXFLOAT)
    {
        *value = (float)parsed;
        return TRUE;
    }
    g_autofree char *shown = quoted(&field);
    return ifm_text_fail(text, error, "%s: %s is not a number that a float holds", what, shown);
}

gboolean ifm_text_no_more(IfmText *text, const char *after, GError **error)
{
    IfmTextField field;
    if (!ifm_text_field(text, &field))
        return TRUE;
    g_autofree char *shown = quoted(&field);
    return ifm_text_fail(text, error, "%s after %s, where the line should end", shown, after);
}
