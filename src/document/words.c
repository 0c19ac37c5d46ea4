#include <math.h>
#include <stdarg.h>
#include <string.h>

#include <base/base.h>

#include "words.h"

/* Figures in sentences. */

/* Unit: the value that is one of it, and its name. The largest first. */
typedef struct
{
    double size;
    const char *name;
} Unit;

static const Unit times[] = { { 1e9, "s" }, { 1e6, "ms" }, { 1e3, "µs" }, { 1, "ns" } };
static const Unit sizes[] = { { 1073741824, "GiB" }, { 1048576, "MiB" }, { 1024, "KiB" }, { 1, "B" } };

#define ROUNDS_UP 0.9995 /* of a unit: so much is 1.00 of it */

/* Of four units. */
static const Unit *unit_of(const Unit units[4], double value)
{
    int i = 0;
    while (i < 3 && fabs(value) < units[i].size * ROUNDS_UP)
        i++;
    return &units[i];
}

/* Three significant digits, all before the point. */
static char *digits_of(double value)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    if (value == 0)
        return g_strdup("0");
    const int decimals = CLAMP(2 - (int)floor(log10(fabs(value) * (2 - ROUNDS_UP))), 0, 12);
    g_autofree char *format = g_strdup_printf("%%.%df", decimals);
    g_ascii_formatd(text, sizeof text, format, fabs(value));
    GString *out = g_string_new(value < 0 ? "−" : "");
    const gsize n_before = strcspn(text, ".");
    for (gsize i = 0; text[i] != '\0'; i++)
    {
        if (i > 0 && i < n_before && (n_before - i) % 3 == 0)
            g_string_append_c(out, ',');
        g_string_append_c(out, text[i]);
    }
    return g_string_free(out, FALSE);
}

static char *say(const Unit units[4], double value)
{
    if (!isfinite(value))
        return g_strdup(IFM_SAY_MISSING);
    if (value == 0)
        return g_strdup("0");
    const Unit *unit = unit_of(units, value);
    g_autofree char *digits = digits_of(value / unit->size);
    return g_strconcat(digits, IFM_NO_BREAK, unit->name, NULL);
}

char *ifm_say_number(double value)
{
    return isfinite(value) ? digits_of(value) : g_strdup(IFM_SAY_MISSING);
}

char *ifm_say_duration(double ns)
{
    return say(times, ns);
}

char *ifm_say_bytes(double bytes)
{
    return say(sizes, bytes);
}

char *ifm_say_per_cent(double ratio)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    if (!isfinite(ratio))
        return g_strdup(IFM_SAY_MISSING);
    const double value = fabs(100 * ratio);
    g_ascii_formatd(text, sizeof text, value > 0 && value < 0.95 ? "%.1g" : "%.0f", value);
    return g_strconcat(ratio < 0 && !g_str_equal(text, "0") ? "−" : "", text, IFM_NO_BREAK, "%", NULL);
}

#define FAR_APART 20 /* upper / lower: in one unit the lower one would have leading zeros */

char *ifm_say_durations(double lower_ns, double upper_ns)
{
    if (!isfinite(lower_ns) || !isfinite(upper_ns))
        return g_strdup(IFM_SAY_MISSING);
    if (lower_ns > 0 && upper_ns > FAR_APART * lower_ns)
    {
        g_autofree char *lower = ifm_say_duration(lower_ns), *upper = ifm_say_duration(upper_ns);
        return g_strconcat(lower, " to ", upper, NULL);
    }
    const Unit *unit = unit_of(times, upper_ns);
    g_autofree char *numbers = ifm_say_numbers(lower_ns / unit->size, upper_ns / unit->size);
    return g_strconcat(numbers, IFM_NO_BREAK, unit->name, NULL);
}

char *ifm_say_numbers(double lower, double upper)
{
    g_autofree char *low = ifm_say_number(lower), *high = ifm_say_number(upper);
    return g_str_equal(low, high) ? g_strdup(low) : g_strconcat(low, " to ", high, NULL);
}

char *ifm_say_list(const char *const *names, gsize n, gsize most)
{
    GString *out = g_string_new(NULL);
    const gsize n_named = n <= most ? n : most;
    for (gsize i = 0; i < n_named; i++)
        g_string_append_printf(out, "%s%s", i == 0 ? "" : i + 1 == n ? " and " : ", ", names[i]);
    if (n_named < n)
        g_string_append_printf(out, "%s%zu more", n_named > 0 ? " and " : "", n - n_named);
    return g_string_free(out, FALSE);
}

char *ifm_say_difference(double ns)
{
    g_autofree char *text = ifm_say_duration(ns);
    return g_strconcat(isfinite(ns) && ns > 0 ? "+" : "", text, NULL);
}

/* --- commands --------------------------------------------------------------------------------------------------------- */

/* A word that a shell reads as it is needs no quotes. */
static gboolean is_plain(const char *word)
{
    return *word != '\0' &&
           strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+=:,./@%") == strlen(word);
}

char *ifm_say_words(const char *const *words)
{
    GString *line = g_string_new("inferometer");
    for (; *words != NULL; words++)
    {
        g_autofree char *quoted = is_plain(*words) ? g_strdup(*words) : g_shell_quote(*words);
        g_string_append_printf(line, " %s", quoted);
    }
    return g_string_free(line, FALSE);
}

char *ifm_say_command(const char *verb, ...)
{
    g_autoptr(GPtrArray) words = g_ptr_array_new();
    va_list list;
    va_start(list, verb);
    for (const char *word = verb; word != NULL; word = va_arg(list, const char *))
        g_ptr_array_add(words, (char *)word);
    va_end(list);
    g_ptr_array_add(words, NULL);
    return ifm_say_words((const char *const *)words->pdata);
}
