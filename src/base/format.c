#include "base-private.h"
#include <base/base.h>
#include <math.h>
#include <string.h>

/* These functions write numbers, durations, bytes and ratios for people, and clean, measure and wrap text. */

#define MB 1048576.0 /* of the published formats */

/* --- numbers -------------------------------------------------------------------------------------------------------- */

static const struct
{
    const char *name;
    double ns;
} units[] = { { "ns", 1 }, { "µs", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } };

int ifm_number_decimals(double value, int significant)
{
    if (value == 0 || !isfinite(value))
        return 0;
    int before = (int)floor(log10(fabs(value) * (1 + 0.5 * pow(10, -significant)))) + 1;
    return CLAMP(significant - before, 0, 6);
}

char *ifm_number_fixed(double value, int decimals, const char *unit)
{
    char format[8], text[G_ASCII_DTOSTR_BUF_SIZE + 320];
    g_snprintf(format, sizeof format, "%%.%df", decimals);
    g_ascii_formatd(text, sizeof text, format, fabs(value));
    const gboolean is_zero = text[strspn(text, "0.")] == '\0'; /* it has no sign */
    return g_strconcat(value < 0 && !is_zero ? "−" : "", text, *unit != '\0' ? " " : "", unit, NULL);
}

char *ifm_format_duration(double ns)
{
    if (!isfinite(ns))
        return g_strdup("-");
    if (ns == 0)
        return g_strdup("0");
    gsize unit = 0; /* the largest in which the value, rounded to three digits, is at least 1 */
    while (unit + 1 < G_N_ELEMENTS(units) && fabs(ns) >= 0.9995 * units[unit + 1].ns)
        unit++;
    double value = ns / units[unit].ns;
    int decimals = unit == 0 && value == floor(value) ? 0 : ifm_number_decimals(value, 3);
    return ifm_number_fixed(value, decimals, units[unit].name);
}

gboolean ifm_is_precision(double half_ratio)
{
    return half_ratio < 1; /* and no NaN */
}

char *ifm_format_ratio(double ratio)
{
    if (!isfinite(ratio))
        return g_strdup("-");
    return ifm_number_fixed(100 * ratio, fabs(ratio) >= 0.1 ? 1 : 2, "%");
}

char *ifm_format_bytes(double bytes)
{
    static const char *const names[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };
    if (!isfinite(bytes))
        return g_strdup("-");
    gsize unit = 0;
    while (unit + 1 < G_N_ELEMENTS(names) && fabs(bytes) >= 1023.5)
    {
        bytes /= 1024;
        unit++;
    }
    return ifm_number_fixed(bytes, unit == 0 ? 0 : ifm_number_decimals(bytes, 3), names[unit]);
}

char *ifm_format_rate(double bytes_per_s)
{
    double mb = bytes_per_s / MB;
    return isfinite(mb) ? ifm_number_fixed(mb, ifm_number_decimals(mb, 3), "") : g_strdup("-");
}

/* --- text ----------------------------------------------------------------------------------------------------------- */

char *ifm_format_clean(const char *text)
{
    g_autofree char *valid = g_utf8_make_valid(text, -1);
    GString *clean = g_string_new(NULL);
    for (const char *at = valid; *at != '\0'; at = g_utf8_next_char(at))
    {
        gunichar c = g_utf8_get_char(at);
        GUnicodeType type = g_unichar_type(c);
        /* A format character may reverse the writing direction of the rest of the line. */
        gboolean harmful = type == G_UNICODE_CONTROL || type == G_UNICODE_FORMAT || type == G_UNICODE_LINE_SEPARATOR ||
                           type == G_UNICODE_PARAGRAPH_SEPARATOR;
        if (!harmful)
            g_string_append_unichar(clean, c);
        else if (c < 0x100)
            g_string_append_printf(clean, "\\x%02x", c);
        else
            g_string_append_printf(clean, "\\u%04x", c);
    }
    return g_string_free(clean, FALSE);
}

char *ifm_format_mask(const char *text)
{
    GString *mask = g_string_new(NULL);
    for (const char *at = text; *at != '\0'; at++)
        if (!g_ascii_isdigit(*at))
            g_string_append_c(mask, *at);
        else if (mask->len == 0 || mask->str[mask->len - 1] != '#')
            g_string_append_c(mask, '#');
    return g_string_free(mask, FALSE);
}

char *ifm_format_spelt(const char *text, gboolean utf8)
{
    g_autofree char *clean = ifm_format_clean(text);
    if (utf8)
        return g_steal_pointer(&clean);
    static const char *const spellings[][2] = {
        { "±", "+-" }, { "·", "|" }, { "−", "-" }, { "–", "-" }, { "×", "x" }, { "µ", "u" }, { "≥", ">=" }, { "≤", "<=" }
    }; /* GLib writes "?" */
    g_autoptr(GString) spelt = g_string_new(clean);
    for (gsize i = 0; i < G_N_ELEMENTS(spellings); i++)
        g_string_replace(spelt, spellings[i][0], spellings[i][1], 0);
    return g_str_to_ascii(spelt->str, "C");
}

int ifm_text_width(const char *text)
{
    int width = 0;
    for (const char *at = text; *at != '\0'; at = g_utf8_next_char(at))
    {
        gunichar c = g_utf8_get_char(at);
        width += g_unichar_iszerowidth(c) ? 0 : g_unichar_iswide(c) ? 2 : 1;
    }
    return width;
}

/* The columns of a text with colour codes. A colour code ends with m and takes no column. */
static int visible_width(const char *text)
{
    int width = ifm_text_width(text);
    for (const char *at = strchr(text, '\033'); at != NULL; at = strchr(at, '\033'))
        for (gboolean over = FALSE; *at != '\0' && !over; at++, width--)
            over = *at == 'm';
    return width;
}

/* Line: what is written, and where it ends. @fresh: nothing stands in it yet */
typedef struct
{
    GString *out;
    int indent, at, width;
    gboolean fresh;
} Line;

/* @blank: what stands between it and what the line has already: " " or "" */
static void put_word(Line *line, const char *word, const char *blank)
{
    const int needs = visible_width(word), gap = line->fresh ? 0 : (int)strlen(blank);
    const gboolean breaks = !line->fresh && line->at + gap + needs > line->width;
    g_auto(GStrv) parts = g_strsplit(word, IFM_NO_BREAK, -1);
    g_autofree char *shown = g_strjoinv(" ", parts);
    if (breaks)
        g_string_append_printf(line->out, "\n%*s", line->indent, "");
    g_string_append_printf(line->out, "%s%s", line->fresh || breaks ? "" : blank, shown);
    line->at = breaks ? line->indent + needs : line->at + gap + needs;
    line->fresh = FALSE;
}

/* A word that no line holds, as a model's name with all its settings: piece by piece, each with its comma. */
static void put_pieces(Line *line, const char *word)
{
    const char *blank = " ", *end;
    for (; (end = strchr(word, ',')) != NULL; word = end + 1, blank = "")
    {
        g_autofree char *piece = g_strndup(word, (gsize)(end + 1 - word));
        put_word(line, piece, blank);
    }
    put_word(line, word, blank);
}

/* "12.5" before "ms," and "%)" */
static gboolean stays_with(const char *word, const char *next)
{
    static const char *const names[] = { "ns", "µs", "us", "ms", "s", "min", "h", "%", "B", "KiB", "MiB", "GiB" };
    const gsize n = strlen(word), length = strcspn(next, ".,;:)]");
    if (n == 0 || !g_ascii_isdigit(word[n - 1]))
        return FALSE;
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
        if (strlen(names[i]) == length && strncmp(next, names[i], length) == 0)
            return TRUE;
    return FALSE;
}

/* No line ends between a number and its unit. */
static void join_units(char **words)
{
    char **kept = words;
    for (char **word = words; *word != NULL; word++)
    {
        if (kept > words && stays_with(kept[-1], *word))
        {
            char *joined = g_strconcat(kept[-1], IFM_NO_BREAK, *word, NULL);
            g_free(kept[-1]);
            g_free(*word);
            kept[-1] = joined;
        }
        else
            *kept++ = *word;
    }
    *kept = NULL;
}

void ifm_format_wrap(GString *out, const char *text, int indent, int at, int width)
{
    g_auto(GStrv) words = g_strsplit(text, " ", -1);
    Line line = { out, indent, at, width, TRUE };
    join_units(words);
    for (char **word = words; *word != NULL; word++)
        if (visible_width(*word) > width - indent)
            put_pieces(&line, *word);
        else
            put_word(&line, *word, " ");
    g_string_append_c(out, '\n');
}

const char *ifm_plural(gsize n)
{
    return n == 1 ? "" : "s";
}

int ifm_compare_texts(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int ifm_compare_int64(gconstpointer a, gconstpointer b)
{
    const gint64 x = *(const gint64 *)a, y = *(const gint64 *)b;
    return (x > y) - (x < y);
}
