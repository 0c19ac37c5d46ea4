#include <math.h>
#include <string.h>

#include "svg-private.h"

/* Text that is measured, scales, marks: what all kinds of figures are made of. */

#define SIZE 11.5

/* --- text ------------------------------------------------------------------------------------------------------------- */

/* Advance widths of ASCII from the blank on, thousandths of the size, of a wide sans font. */
static const short advances[] = {
    318, 401, 460, 838, 636, 950, 780, 275, 390,  390, 500, 838, 318, 361, 318, 337, 636, 636, 636, 636, 636, 636, 636, 636,
    636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632, 575, 775, 752, 295, 295, 656, 557, 863, 748, 787,
    603, 787, 695, 635, 611, 732, 684, 989, 685,  611, 685, 390, 337, 390, 838, 500, 500, 613, 635, 550, 635, 615, 352, 635,
    634, 278, 278, 579, 278, 974, 634, 612, 635,  635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838,
};

static double letter_width(gunichar c)
{
    if (c >= 32 && c < 127)
        return advances[c - 32];
    return g_unichar_iszerowidth(c) ? 0 : g_unichar_iswide(c) ? 1000 : c == 0xa0 ? 318 : 838;
}

double ifm_svg_text_width(const char *text, gboolean strong)
{
    double sum = 0;
    for (const char *c = text; *c != '\0'; c = g_utf8_next_char(c))
        sum += letter_width(g_utf8_get_char(c));
    return sum * SIZE / 1000 * (strong ? 1.13 : 1);
}

/* The first (@backwards: last) letters that fit. Returns: bytes */
static gsize fitting(const char *text, double width, gboolean backwards)
{
    const char *c = backwards ? text + strlen(text) : text;
    while (backwards ? c > text : *c != '\0')
    {
        const char *letter = backwards ? g_utf8_prev_char(c) : c;
        width -= letter_width(g_utf8_get_char(letter)) * SIZE / 1000;
        if (width < 0)
            break;
        c = backwards ? letter : g_utf8_next_char(c);
    }
    return backwards ? strlen(c) : (gsize)(c - text);
}

/* Half a number says another one: it goes as a whole, unless nothing would be left. */
static void keep_numbers(const char *text, gsize *head, gsize *tail)
{
    gsize before = *head, after = *tail, from = strlen(text) - *tail;
    while (before > 0 && g_ascii_isdigit(text[before - 1]) && g_ascii_isdigit(text[before]))
        before--;
    for (; after > 0 && from > 0 && g_ascii_isdigit(text[from - 1]) && g_ascii_isdigit(text[from]); from++)
        after--;
    if (before + after == 0)
        return;
    *head = before;
    *tail = after;
}

char *ifm_svg_shorten(const char *text, double width, gboolean strong)
{
    g_autofree char *clean = ifm_format_clean(text != NULL ? text : "");
    if (ifm_svg_text_width(clean, strong) <= width + 0.05) /* a width that was computed from the text's own */
        return g_steal_pointer(&clean);
    double room = fmax(width / (strong ? 1.13 : 1) - 0.838 * SIZE, 0) / 2;
    gsize head = fitting(clean, room, FALSE), tail = fitting(clean, room, TRUE);
    keep_numbers(clean, &head, &tail);
    return g_strdup_printf("%.*s…%s", (int)head, clean, clean + strlen(clean) - tail);
}

/* How many bytes all names end with, from one of the separators on, as ifm_common_prefix(). */
static gsize common_suffix(const GPtrArray *names)
{
    g_autoptr(GPtrArray) mirrored = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; i < names->len; i++)
        g_ptr_array_add(mirrored, names->pdata[i] != NULL ? g_strreverse(g_strdup(names->pdata[i])) : NULL);
    return ifm_common_prefix((const char *const *)mirrored->pdata, mirrored->len, " ");
}

/* A word's end behind its last separator: "…GPU" of "simulated:meteor-lake/GPU", or its two ends. NULL: it has a number, or
 * is short already (transfer full) */
static char *brief_word(const char *word)
{
    const char *colon = strrchr(word, ':'), *slash = strrchr(word, '/'), *from = MAX(colon, slash);
    if (from != NULL && from > word && from[1] != '\0' && !g_str_has_prefix(word, "…"))
        return g_strconcat("…", from + 1, NULL);
    if (strpbrk(word, "0123456789") != NULL || g_utf8_strlen(word, -1) <= 4 || strstr(word, "…") != NULL)
        return NULL;
    return g_strdup_printf("%.*s…", (int)(g_utf8_offset_to_pointer(word, 3) - word), word);
}

/* Drops the first word of which but the beginning is left. Returns: whether there was one */
static gboolean drop_brief(char **words)
{
    char **word = words;
    while (*word != NULL && !g_str_has_suffix(*word, "…"))
        word++;
    if (*word == NULL)
        return FALSE;
    g_free(*word);
    do
        word[0] = word[1];
    while (*word++ != NULL);
    return TRUE;
}

/* What is too wide gets the widest of its words shortened, one after the other, then loses words; numbers
 * stay whole. (transfer full) */
static char *shorten_words(const char *name, double width)
{
    g_auto(GStrv) words = g_strsplit(name, " ", -1);
    for (;;)
    {
        g_autofree char *text = g_strjoinv(" ", words), *brief = NULL;
        char **widest = NULL;
        if (ifm_svg_text_width(text, FALSE) <= width)
            return g_steal_pointer(&text);
        for (char **word = words; *word != NULL; word++)
        {
            g_autofree char *shorter = brief_word(*word);
            if (shorter == NULL || (widest != NULL && strlen(*widest) >= strlen(*word)))
                continue;
            widest = word;
            g_free(brief);
            brief = g_steal_pointer(&shorter);
        }
        if (widest == NULL && !drop_brief(words))
            return ifm_svg_shorten(text, width, FALSE);
        if (widest == NULL)
            continue;
        g_free(*widest);
        *widest = g_steal_pointer(&brief);
    }
}

GPtrArray *ifm_svg_names(const GPtrArray *names, double width)
{
    GPtrArray *texts = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GHashTable) known = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    const gboolean fits = ifm_svg_names_width(names, G_MAXDOUBLE) <= width;
    const gsize prefix = fits ? 0 : ifm_common_prefix((const char *const *)names->pdata, names->len, "/.: "),
                suffix = fits ? 0 : common_suffix(names);
    for (guint i = 0; i < names->len; i++)
    {
        const char *whole = names->pdata[i] != NULL ? names->pdata[i] : "";
        const gsize length = strlen(whole), cut = prefix + suffix < length ? suffix : 0;
        g_autofree char *name = g_strdup_printf("%s%.*s%s", prefix > 0 && *whole != '\0' ? "…" : "",
                                                (int)(length - MIN(prefix, length) - cut), whole + MIN(prefix, length),
                                                cut > 0 ? "…" : ""),
                        *text = fits ? ifm_format_clean(name) : shorten_words(name, width);
        for (guint n = 2; g_hash_table_contains(known, text) && strcmp(g_hash_table_lookup(known, text), name) != 0; n++)
        {
            g_autofree char *number = g_strdup_printf(" (%u)", n),
                            *shorter = shorten_words(name, width - ifm_svg_text_width(number, FALSE));
            g_free(text);
            text = g_strconcat(shorter, number, NULL);
        }
        g_hash_table_insert(known, g_strdup(text), g_steal_pointer(&name));
        g_ptr_array_add(texts, g_steal_pointer(&text));
    }
    return texts;
}

double ifm_svg_names_width(const GPtrArray *names, double most)
{
    double width = 0;
    for (guint i = 0; i < names->len && width < most; i++)
    {
        g_autofree char *clean = ifm_format_clean(names->pdata[i] != NULL ? names->pdata[i] : "");
        width = fmax(width, ifm_svg_text_width(clean, FALSE));
    }
    return fmin(width, most);
}

static gboolean is_free(const IfmSvg *svg, const double box[4])
{
    if (box[0] < 0 || box[1] > svg->width)
        return FALSE;
    for (guint i = svg->texts->len; i > 0; i--)
    {
        const double *other = (const double *)(gpointer)svg->texts->data + 4 * (i - 1);
        if (box[0] < other[1] && other[0] < box[1] && box[2] < other[3] && other[2] < box[3])
            return FALSE;
    }
    return TRUE;
}

gboolean ifm_svg_text(IfmSvg *svg, double x, double y, char anchor, const char *class, const char *text)
{
    g_autofree char *clean = ifm_format_clean(text), *escaped = g_markup_escape_text(clean, -1);
    const double width = ifm_svg_text_width(clean, strstr(class, " b") != NULL), left = x - (anchor == 's'   ? 0
                                                                                             : anchor == 'm' ? width / 2
                                                                                                             : width);
    const double box[4] = { left, left + width, y - 9.5, y + 2.5 };
    if (*clean == '\0' || !is_free(svg, box))
        return FALSE;
    g_array_append_vals(svg->texts, box, 1);
    g_string_append_printf(svg->out, "<text class=\"%s%s\" x=\"%g\" y=\"%g\">%s</text>\n", class,
                           anchor == 's'   ? ""
                           : anchor == 'm' ? " m"
                                           : " e",
                           round(x * 10) / 10, round(y * 10) / 10, escaped);
    return TRUE;
}

/* --- numbers ---------------------------------------------------------------------------------------------------------- */

char *ifm_svg_number(double value)
{
    char digits[64] = "0";
    if (!isfinite(value))
        return g_strdup("–");
    if (value != 0 && (fabs(value) < 1e-4 || fabs(value) >= 1e7))
        g_ascii_formatd(digits, sizeof digits, "%.3g", value);
    else if (value != 0)
    {
        const int exponent = (int)floor(log10(fabs(value)) + 1e-9), decimals = MAX(2 - exponent, 0);
        const double unit = pow(10, MAX(exponent - 2, 0));
        char format[16];
        g_snprintf(format, sizeof format, "%%.%df", decimals);
        g_ascii_formatd(digits, sizeof digits, format,
                        round(value / unit) * (decimals > 0 ? 0 : unit) + (decimals > 0 ? value : 0));
    }
    if (strchr(digits, '.') != NULL && strchr(digits, 'e') == NULL)
        for (gsize n = strlen(digits); digits[n - 1] == '0' || digits[n - 1] == '.'; n--)
        {
            gboolean point = digits[n - 1] == '.';
            digits[n - 1] = '\0';
            if (point)
                break;
        }
    return digits[0] == '-' ? g_strconcat("−", digits + 1, NULL) : g_strdup(digits);
}

/* Unit: by which values are divided to be shown. */
typedef struct
{
    IfmFieldKind kind;
    double size;
    const char *name;
} Unit;

/* The largest unit that @most is at least one of. */
static const Unit *unit_for(const IfmAxis *axis, double most)
{
    static const Unit units[] = {
        { IFM_FIELD_DURATION, 1e9, "s" },   { IFM_FIELD_DURATION, 1e6, "ms" },  { IFM_FIELD_DURATION, 1e3, "µs" },
        { IFM_FIELD_DURATION, 1, "ns" },    { IFM_FIELD_BYTES, 0x1p30, "GiB" }, { IFM_FIELD_BYTES, 0x1p20, "MiB" },
        { IFM_FIELD_BYTES, 0x1p10, "KiB" }, { IFM_FIELD_BYTES, 1, "B" },        { IFM_FIELD_RATE, 0x1p20, "MB/s" },
        { IFM_FIELD_RATIO, 0.01, "%" },     { IFM_FIELD_PRECISION, 0.01, "%" },
    };
    static const Unit plain = { IFM_FIELD_REAL, 1, "" };
    const Unit *found = &plain;
    for (gsize i = 0; i < G_N_ELEMENTS(units) && axis->unit == NULL; i++)
        if (units[i].kind == axis->kind)
        {
            found = &units[i];
            if (most >= found->size * 0.9999)
                break;
        }
    return found;
}

/* Counts have their thousands by letter. */
static char *plain_text(double value)
{
    static const char *const letters[] = { "", "k", "M", "G", "T" };
    guint step = 0;
    while (fabs(value) >= 999.9 && step + 1 < G_N_ELEMENTS(letters) && (step > 0 || fabs(value) >= 9999))
    {
        value /= 1000;
        step++;
    }
    g_autofree char *number = ifm_svg_number(value);
    return g_strconcat(number, letters[step], NULL);
}

char *ifm_svg_value(const IfmAxis *axis, double value)
{
    const Unit *unit = unit_for(axis, fabs(value));
    if (*unit->name == '\0')
        return plain_text(value);
    g_autofree char *number = ifm_svg_number(value / unit->size);
    return g_strconcat(number, "\u00a0", unit->name, NULL);
}

/* --- scales ----------------------------------------------------------------------------------------------------------- */

IfmSvgScale ifm_svg_scale(const IfmAxis *axis)
{
    return (IfmSvgScale){ axis, INFINITY, -INFINITY, 0, 0, INFINITY, -INFINITY };
}

gboolean ifm_svg_has_place(const IfmSvgScale *scale, double value)
{
    return isfinite(value) && (!scale->axis->logarithmic || value > 0);
}

void ifm_svg_extend(IfmSvgScale *scale, double value)
{
    if (!ifm_svg_has_place(scale, value))
        return;
    scale->low = scale->core_low = fmin(scale->low, value);
    scale->high = scale->core_high = fmax(scale->high, value);
}

void ifm_svg_extend_bound(IfmSvgScale *scale, double value)
{
    if (!ifm_svg_has_place(scale, value) || !isfinite(scale->core_low))
        return;
    const double low = scale->core_low, high = scale->core_high;
    const double span = fmax(high - low, fmax(fabs(low), fabs(high)) / 2), ratio = pow(fmax(high / low, 2), 1.5);
    scale->low = fmin(scale->low, fmax(value, scale->axis->logarithmic ? low / ratio : low - 1.5 * span));
    scale->high = fmax(scale->high, fmin(value, scale->axis->logarithmic ? high * ratio : high + 1.5 * span));
}

void ifm_svg_close(IfmSvgScale *scale, gboolean from_zero)
{
    const double least[] = { scale->axis->low, scale->axis->high,
                             scale->axis->has_reference ? scale->axis->reference : (double)NAN,
                             from_zero && !scale->axis->logarithmic ? 0 : (double)NAN };
    for (gsize i = 0; i < G_N_ELEMENTS(least); i++)
        if (ifm_svg_has_place(scale, least[i]))
        {
            scale->low = fmin(scale->low, least[i]);
            scale->high = fmax(scale->high, least[i]);
        }
    if (!isfinite(scale->low))
    {
        scale->low = scale->axis->logarithmic ? 1 : 0;
        scale->high = scale->axis->logarithmic ? 10 : 1;
    }
    if (scale->axis->logarithmic)
    {
        const double room = fmax(pow(scale->high / scale->low, 0.04), 1.1);
        scale->low /= room;
        scale->high *= room;
        return;
    }
    double room = scale->high > scale->low ? 0.04 * (scale->high - scale->low) : fmax(fabs(scale->high) / 2, 1e-9);
    const gboolean at_zero = scale->low >= 0 && scale->low < room;
    scale->high = from_zero && scale->high <= 0 ? 0 : scale->high + room;
    scale->low = at_zero ? 0 : scale->low - room;
}

double ifm_svg_place(const IfmSvgScale *scale, double value)
{
    const double share = scale->axis->logarithmic ? log(value / scale->low) / log(scale->high / scale->low)
                                                  : (value - scale->low) / (scale->high - scale->low);
    return scale->from + share * (scale->to - scale->from);
}

static void add_linear(GArray *ticks, const IfmSvgScale *scale, double unit, double n)
{
    const double least = (scale->high - scale->low) / fmax(n, 2);
    double step;
    if (scale->axis->kind == IFM_FIELD_BYTES)
        step = exp2(ceil(log2(least)));
    else
    {
        const double power = pow(10, floor(log10(least / unit))) * unit;
        step = power * (least <= power         ? 1
                        : least <= 2 * power   ? 2
                        : least <= 2.5 * power ? 2.5
                        : least <= 5 * power   ? 5
                                               : 10);
        step = scale->axis->kind == IFM_FIELD_INTEGER ? fmax(ceil(step), 1) : step;
    }
    for (double k = ceil(scale->low / step - 1e-9); k * step <= scale->high + step * 1e-9 && ticks->len < 100; k++)
    {
        const double tick = k * step;
        g_array_append_val(ticks, tick);
    }
}

/* Powers first, which have their texts rather than what is between them. */
static void add_logarithmic(GArray *ticks, const IfmSvgScale *scale, double unit)
{
    const gboolean bytes = scale->axis->kind == IFM_FIELD_BYTES;
    const double low = scale->low / unit, high = scale->high / unit, base = bytes ? 2 : 10;
    const double powers = log(high / low) / log(base), every = fmax(ceil(powers / 9), 1);
    for (int digit = 0; digit < (bytes || powers > 4 ? 1 : 3); digit++)
        for (double k = floor(log(low) / log(base)); k <= log(high) / log(base); k++)
        {
            const double tick = pow(base, k) * (const double[]){ 1, 2, 5 }[digit];
            const double value = tick * unit;
            if (tick >= low && tick <= high && fmod(fabs(k), every) < 0.5)
                g_array_append_val(ticks, value);
        }
}

/* (transfer full) double */
static GArray *ticks_of(const IfmSvgScale *scale, double unit)
{
    GArray *ticks = g_array_new(FALSE, FALSE, sizeof(double));
    const double n = fmin(fabs(scale->to - scale->from) / (scale->from > scale->to ? 32 : 70), 8);
    if (scale->axis->logarithmic)
        add_logarithmic(ticks, scale, unit);
    if (ticks->len < 3)
    {
        g_array_set_size(ticks, 0);
        add_linear(ticks, scale, unit, n);
    }
    return ticks;
}

static const Unit *unit_of(const IfmSvgScale *scale)
{
    return unit_for(scale->axis, fmax(fabs(scale->low), fabs(scale->high)));
}

double ifm_svg_axis_unit(const IfmSvgScale *scale)
{
    return unit_of(scale)->size;
}

char *ifm_svg_axis_title(const IfmSvgScale *scale)
{
    const char *unit = scale->axis->unit != NULL && *scale->axis->unit != '\0' ? scale->axis->unit : unit_of(scale)->name;
    const char *title = scale->axis->title != NULL ? scale->axis->title : "";
    return *unit != '\0' && strstr(title, unit) == NULL ? g_strdup_printf("%s [%s]", title, unit) : g_strdup(title);
}

/* Of a tick, which three digits may not be enough for: 1.025. */
static char *tick_number(double value)
{
    g_autofree char *number = ifm_svg_number(value);
    char digits[64];
    if (fabs(g_ascii_strtod(number + (value < 0 ? strlen("−") : 0), NULL) - fabs(value)) <= 1e-4 * fabs(value))
        return g_steal_pointer(&number);
    return g_strconcat(value < 0 ? "−" : "", g_ascii_formatd(digits, sizeof digits, "%.4g", fabs(value)), NULL);
}

void ifm_svg_axis(IfmSvg *svg, const IfmSvgScale *scale, gboolean upright, double a, double b, gboolean words)
{
    const Unit *unit = unit_of(scale);
    g_autoptr(GArray) ticks = ticks_of(scale, unit->size);
    for (guint i = 0; i < ticks->len; i++)
        g_string_append_printf(svg->out, upright ? "%sM%.1f,%.1fH%.1f" : "%sM%.1f,%.1fV%.1f",
                               i == 0 ? "<path class=\"gr\" d=\"" : "",
                               upright ? a : ifm_svg_place(scale, g_array_index(ticks, double, i)),
                               upright ? ifm_svg_place(scale, g_array_index(ticks, double, i)) : a, b);
    g_string_append(svg->out, ticks->len > 0 ? "\"/>\n" : "");
    for (guint i = 0; words && i < ticks->len; i++)
    {
        const double value = g_array_index(ticks, double, i), at = ifm_svg_place(scale, value);
        g_autofree char *text =
            *unit->name == '\0' && fabs(value) >= 1000 ? plain_text(value) : tick_number(value / unit->size);
        const double half = ifm_svg_text_width(text, FALSE) / 2;
        if (upright)
            ifm_svg_text(svg, a - 6, at + 4, 'e', "tk", text);
        else
            ifm_svg_text(svg, CLAMP(at, half, svg->width - half), fmax(a, b) + 15, 'm', "tk", text);
    }
    if (!scale->axis->has_reference || !ifm_svg_has_place(scale, scale->axis->reference))
        return;
    const double at = ifm_svg_place(scale, scale->axis->reference);
    g_string_append_printf(
        svg->out, upright ? "<path class=\"ref\" d=\"M%.1f,%.1fH%.1f\"/>" : "<path class=\"ref\" d=\"M%.1f,%.1fV%.1f\"/>",
        upright ? a : at, upright ? at : a, b);
    if (scale->axis->reference_words == NULL || !words)
        return;
    g_autofree char *text = ifm_svg_shorten(scale->axis->reference_words, svg->width / 2, FALSE);
    const double half = ifm_svg_text_width(text, FALSE) / 2;
    if (upright)
        ifm_svg_text(svg, b - 2, at - 4, 'e', "mu", text);
    else
        ifm_svg_text(svg, CLAMP(at, half, svg->width - half), fmin(a, b) - 4, 'm', "mu", text);
}

static void append_scale(GString *out, const char *name, const IfmSvgScale *scale)
{
    if (scale == NULL)
        return;
    const double numbers[] = { scale->low, scale->high, scale->from, scale->to };
    g_string_append_printf(out, " data-%s=\"", name);
    for (gsize i = 0; i < G_N_ELEMENTS(numbers); i++)
    {
        ifm_real_append(out, numbers[i]);
        g_string_append_c(out, ' ');
    }
    g_string_append_printf(out, "%d\"", scale->axis->logarithmic ? 1 : 0);
}

void ifm_svg_begin_plot(IfmSvg *svg, const IfmSvgScale *x, const IfmSvgScale *y)
{
    g_string_append(svg->out, "<g class=\"plot\"");
    append_scale(svg->out, "x", x);
    append_scale(svg->out, "y", y);
    g_string_append(svg->out, ">\n");
}

/* --- marks ------------------------------------------------------------------------------------------------------------ */

/* "CPU · 5k nodes · 10.2 ms [9.74 ms, 10.7 ms]" (transfer full) */
static char *tip_of(const IfmFigure *figure, const IfmSeries *series, const IfmPoint *point)
{
    GString *text = g_string_new(series->group);
    const IfmAxis *x = &figure->x, *y = &figure->y;
    const gboolean spans = figure->kind == IFM_FIGURE_TIMELINE || figure->kind == IFM_FIGURE_ICICLE;
    const char *texts[] = { series->name, point->label, point->text };
    for (gsize i = 0; i < G_N_ELEMENTS(texts); i++)
        if (texts[i] != NULL && *texts[i] != '\0' && !g_str_equal(texts[i], text->str))
            g_string_append_printf(text, "%s%s", text->len > 0 ? " · " : "", texts[i]);
    const double values[] = { spans                  ? point->x_end - point->x
                              : point->label == NULL ? point->x
                                                     : (double)NAN,
                              spans ? (double)NAN : point->y };
    for (int i = 0; i < 2; i++)
        if (isfinite(values[i]) && !(i == 1 && y->categories != NULL))
        {
            g_autofree char *value = ifm_svg_value(i == 0 ? x : y, values[i]);
            const char *unit = (i == 0 ? x : y)->unit;
            g_string_append_printf(text, " · %s%s%s", value, unit != NULL ? "\u00a0" : "", unit != NULL ? unit : "");
        }
    if (figure->kind == IFM_FIGURE_TIMELINE && isfinite(point->id))
        g_string_append_printf(text, " · batch %.0f", point->id);
    if (!spans && isfinite(point->lower) && isfinite(point->upper))
    {
        g_autofree char *lower = ifm_svg_value(y, point->lower), *upper = ifm_svg_value(y, point->upper);
        g_string_append_printf(text, " [%s to %s]", lower, upper);
    }
    return g_string_free(text, FALSE);
}

void ifm_svg_mark_attributes(IfmSvg *svg, guint s, guint i)
{
    const IfmSeries *series = ifm_svg_series(svg->figure, s);
    g_string_append_printf(svg->out, " data-s=\"%u\" data-i=\"%u\"", s, i);
    if (svg->tips == NULL)
        return;
    char *tip = tip_of(svg->figure, series, ifm_svg_point(series, i));
    gpointer number;
    if (!g_hash_table_lookup_extended(svg->numbers, tip, NULL, &number))
    {
        number = GUINT_TO_POINTER(svg->tips->len);
        g_ptr_array_add(svg->tips, tip);
        g_hash_table_insert(svg->numbers, tip, number);
    }
    else
        g_free(tip);
    g_string_append_printf(svg->out, " data-t=\"%u\"", GPOINTER_TO_UINT(number));
}

void ifm_svg_circle(GString *out, double x, double y, double radius, const char *class)
{
    g_string_append_printf(out, "<circle class=\"%s\" cx=\"%g\" cy=\"%g\" r=\"%g\"", class, round(x * 10) / 10,
                           round(y * 10) / 10, round(radius * 10) / 10);
}

void ifm_svg_shape(GString *out, guint shape, double x, double y, const char *class)
{
    static const char *const paths[] = { "", "M-3.5,-3.5h7v7h-7z", "M0,-4.8l4.5,8h-9z", "M0,-5l5,5l-5,5l-5,-5z" };
    if (shape % G_N_ELEMENTS(paths) == 0)
        ifm_svg_circle(out, x, y, 4, class);
    else
        g_string_append_printf(out, "<path class=\"%s\" transform=\"translate(%.1f %.1f)\" d=\"%s\"", class, x, y,
                               paths[shape % G_N_ELEMENTS(paths)]);
}

/* One end: a bar across, or an arrow where the value is beyond the axis. */
static void append_end(GString *out, const IfmSvgScale *scale, double value, double across, gboolean upright)
{
    const gboolean beyond = !ifm_svg_has_place(scale, value) || value < scale->low || value > scale->high;
    const gboolean below = value < scale->low || (scale->axis->logarithmic && !(value > 0));
    const double at = !beyond ? ifm_svg_place(scale, value) : below ? scale->from : scale->to;
    const double back = at + ((below == (scale->from < scale->to)) ? 5 : -5);
    if (upright && beyond)
        g_string_append_printf(out, "M%.1f,%.1fL%.1f,%.1fL%.1f,%.1f", across - 4, back, across, at, across + 4, back);
    else if (upright)
        g_string_append_printf(out, "M%.1f,%.1fh8", across - 4, at);
    else if (beyond)
        g_string_append_printf(out, "M%.1f,%.1fL%.1f,%.1fL%.1f,%.1f", back, across - 4, at, across, back, across + 4);
    else
        g_string_append_printf(out, "M%.1f,%.1fv8", at, across - 4);
}

gboolean ifm_svg_append_interval(GString *out, const IfmSvgScale *scale, double lower, double upper, double across,
                                 gboolean upright)
{
    if (isnan(lower) || isnan(upper) || !(lower < upper))
        return FALSE;
    const double low = CLAMP(lower, scale->low, scale->high), high = CLAMP(upper, scale->low, scale->high);
    const double from = ifm_svg_place(scale, low), to = ifm_svg_place(scale, high);
    g_string_append_printf(out, upright ? "M%.1f,%.1fV%.1f" : "M%.1f,%.1fH%.1f", upright ? across : from,
                           upright ? from : across, to);
    append_end(out, scale, lower, across, upright);
    append_end(out, scale, upper, across, upright);
    return TRUE;
}

void ifm_svg_interval(IfmSvg *svg, const IfmSvgScale *scale, double lower, double upper, double across, gboolean upright,
                      const char *class)
{
    g_autoptr(GString) path = g_string_new(NULL);
    if (ifm_svg_append_interval(path, scale, lower, upper, across, upright))
        g_string_append_printf(svg->out, "<path class=\"iv %s\" d=\"%s\"/>\n", class, path->str);
}

void ifm_svg_rect(IfmSvg *svg, double x, double y, double width, double height, const char *class)
{
    const double tenths[] = { x, y, fmax(width, 0), height };
    static const char *const names[] = { "x", "y", "width", "height" };
    g_string_append_printf(svg->out, "<rect class=\"%s\"", class);
    for (gsize i = 0; i < G_N_ELEMENTS(tenths); i++)
        g_string_append_printf(svg->out, " %s=\"%g\"", names[i], round(tenths[i] * 10) / 10);
}

/* A category's: those of work are strong, those of waiting pale, and what is not known is hatched. */
static const char *class_of_category(char kind, guint category)
{
    static const char *const classes[] = { "c1", "c2", "c3", "c4", "c5",  "c6", "p1", "p2",
                                           "p3", "p4", "p5", "p6", "dim", "p2", "p3", "hatch" };
    const char *class = classes[MIN(category, G_N_ELEMENTS(classes) - 1)];
    return kind != 'o' ? class : *class == 'c' ? ifm_svg_class('o', category) : "tx";
}

const char *ifm_svg_class(char kind, guint colour)
{
    if (colour >= IFM_SVG_CATEGORY)
        return class_of_category(kind, colour - IFM_SVG_CATEGORY);
    static const char *const classes[][IFM_SVG_COLOURS] = { { "c1", "c2", "c3", "c4", "c5", "c6" },
                                                            { "l1", "l2", "l3", "l4", "l5", "l6" },
                                                            { "p1", "p2", "p3", "p4", "p5", "p6" },
                                                            { "o1", "o2", "o3", "o4", "o5", "o6" } };
    const guint row = kind == 'c' ? 0 : kind == 'l' ? 1 : kind == 'p' ? 2 : 3;
    return classes[row][colour % IFM_SVG_COLOURS];
}

GPtrArray *ifm_svg_series_names(const IfmFigure *figure)
{
    GPtrArray *names = g_ptr_array_new();
    for (guint s = 0; s < figure->series->len; s++)
    {
        const char *name = ifm_svg_series(figure, s)->name;
        if (!g_ptr_array_find_with_equal_func(names, name != NULL ? name : "", g_str_equal, NULL))
            g_ptr_array_add(names, (char *)(name != NULL ? name : ""));
    }
    return names;
}

guint ifm_svg_colour(const IfmSvg *svg, const GPtrArray *names, const char *name)
{
    const char *wanted = name != NULL ? name : "";
    for (guint s = 0; s < svg->figure->series->len; s++)
        if (ifm_svg_series(svg->figure, s)->category > 0 && g_strcmp0(ifm_svg_series(svg->figure, s)->name, wanted) == 0)
            return IFM_SVG_CATEGORY + (guint)ifm_svg_series(svg->figure, s)->category - 1;
    const guint own = ifm_colour_of_device(svg->devices, wanted);
    guint n_before = 0, n_devices = 0;
    gboolean is_found = FALSE;
    if (own != G_MAXUINT)
        return own;
    for (guint i = 0; i < names->len; i++)
    {
        const gboolean is_device = ifm_colour_of_device(svg->devices, names->pdata[i]) != G_MAXUINT;
        n_devices = is_device ? svg->devices->len : n_devices;
        is_found |= g_strcmp0(names->pdata[i], wanted) == 0;
        n_before += !is_device && !is_found;
    }
    return n_devices + n_before;
}

void ifm_svg_key(IfmSvg *svg, const GPtrArray *names, const char *const *classes, gboolean shapes)
{
    g_autoptr(GPtrArray) texts = ifm_svg_names(names, fmin(svg->width - 30, 260));
    double x = 0;
    for (guint i = 0; i < names->len; i++)
    {
        const double width = 16 + ifm_svg_text_width(texts->pdata[i], FALSE);
        if (*(const char *)texts->pdata[i] == '\0')
            continue;
        if (x > 0 && x + width > svg->width)
        {
            x = 0;
            svg->top += IFM_SVG_LINE + 2;
        }
        const guint colour = classes == NULL ? ifm_svg_colour(svg, names, names->pdata[i]) : i;
        ifm_svg_shape(svg->out, shapes ? colour : 1, x + 5, svg->top + 8,
                      classes != NULL ? classes[i] : ifm_svg_class('c', colour));
        g_string_append(svg->out, "/>");
        ifm_svg_text(svg, x + 14, svg->top + 12, 's', "tx", texts->pdata[i]);
        x += width + 16;
    }
    svg->top += names->len > 0 ? IFM_SVG_LINE + 6 : 0;
}
