#include <math.h>
#include <string.h>

#include "document-private.h"

/* Tables are laid out for a terminal: columns are shortened, folded into blocks or left out until they fit its width. */

#define GAP 2            /* columns between columns */
#define TEXT_MIN 12      /* a text is not shortened below this */
#define STRIP_MIN 17     /* the two ends of its scale, in words */
#define STRIP_MIN_LOG 21 /* and that it is no plain one */
#define STRIP_MAX 40
#define BAR_MIN 8
#define BAR_MAX 24

/* One column with all its cells, before it is known how wide it may be. */
typedef struct
{
    const IfmField *field;
    char *title;
    gsize n;
    char **texts;     /* [n] NULL where not present; unused for strips and bars */
    char **shown;     /* [n] the same, shortened to the width; NULL: as they are */
    IfmTone *tones;   /* [n] */
    IfmValue *values; /* [n] */
    IfmScale scale;   /* strips */
    gboolean has_scale;
    int min, natural, width;
} Column;

static gboolean is_drawn(const Column *column)
{
    return column->field->kind == IFM_FIELD_INTERVAL || column->field->kind == IFM_FIELD_BAR;
}

static void column_free(Column *column)
{
    for (gsize i = 0; i < column->n; i++)
    {
        g_free(column->texts[i]);
        g_free(column->shown != NULL ? column->shown[i] : NULL);
        ifm_value_clear(&column->values[i]);
    }
    g_free(column->title);
    g_free(column->texts);
    g_free(column->shown);
    g_free(column->tones);
    g_free(column->values);
    g_free(column);
}

static void format_texts(Column *column, const IfmScreen *screen)
{
    if (column->field->kind == IFM_FIELD_TEXT || column->field->kind == IFM_FIELD_BOOLEAN)
    {
        for (gsize i = 0; i < column->n; i++)
        {
            const IfmValue *value = &column->values[i];
            const char *text = column->field->kind == IFM_FIELD_TEXT ? value->text : value->integer != 0 ? "yes" : "no";
            column->texts[i] = value->present ? ifm_format_spelt(text, screen->utf8) : NULL;
        }
        return;
    }
    if (is_drawn(column))
        return;
    g_autofree double *numbers = g_new(double, column->n);
    for (gsize i = 0; i < column->n; i++)
        numbers[i] = column->values[i].present ? column->values[i].real : NAN;
    ifm_format_column(column->field->kind, numbers, column->n, column->texts);
    for (gsize i = 0; i < column->n && !screen->utf8; i++)
    {
        g_autofree char *text = column->texts[i];
        column->texts[i] = text != NULL ? ifm_format_spelt(text, FALSE) : NULL;
    }
}

static void mark_texts(Column *column)
{
    static const char *const marks[] = { [IFM_MARK_NONE] = "", [IFM_MARK_ROUGH] = "~", [IFM_MARK_UNKNOWN] = "?" };
    for (gsize i = 0; i < column->n; i++)
    {
        g_autofree char *text = column->texts[i];
        const gboolean plus = (column->field->flags & IFM_FIELD_SIGNED) != 0 && column->values[i].real > 0;
        column->texts[i] = text != NULL ? g_strconcat(marks[column->values[i].mark], plus ? "+" : "", text, NULL) : NULL;
    }
}

static void fit_scale(Column *column)
{
    g_autoptr(GPtrArray) marks = g_ptr_array_new();
    for (gsize i = 0; i < column->n; i++)
        if (column->values[i].present)
            g_ptr_array_add(marks, column->values[i].marks);
    column->scale.kind = column->field->of != 0 ? column->field->of : IFM_FIELD_DURATION;
    column->has_scale = ifm_scale_fit(&column->scale, (const double *const *)marks->pdata, marks->len);
}

static void size_column(Column *column)
{
    column->natural = ifm_text_width(column->title);
    column->min = column->natural;
    for (gsize i = 0; i < column->n; i++)
        column->natural = MAX(column->natural, column->texts[i] != NULL ? ifm_text_width(column->texts[i]) : 1);
    if (column->field->kind == IFM_FIELD_INTERVAL)
    {
        fit_scale(column);
        column->min = MAX(column->min, column->scale.logarithmic ? STRIP_MIN_LOG : STRIP_MIN);
        column->natural = MAX(column->natural, STRIP_MAX);
    }
    else if (column->field->kind == IFM_FIELD_BAR)
    {
        column->min = MAX(column->min, BAR_MIN);
        column->natural = MAX(column->natural, BAR_MAX);
    }
    else if (column->field->kind == IFM_FIELD_TEXT && (column->field->flags & IFM_FIELD_WHOLE) == 0)
        column->min = MIN(column->natural, MAX(column->min, TEXT_MIN));
    else
        column->min = column->natural;
    column->width = column->natural;
}

/* NULL where the field is not to be shown. */
static Column *column_new(const IfmTable *table, const IfmField *field, const IfmScreen *screen)
{
    gboolean any = FALSE;
    Column *column = g_new0(Column, 1);
    column->field = field;
    column->n = table->n_records;
    column->texts = g_new0(char *, column->n + 1);
    column->tones = g_new0(IfmTone, column->n + 1);
    column->values = g_new0(IfmValue, column->n + 1);
    for (gsize i = 0; i < column->n; i++)
    {
        ifm_field_get(field, table->records[i], &column->values[i]);
        column->tones[i] = column->values[i].present ? column->values[i].tone : IFM_TONE_DIM;
        any |= column->values[i].present;
    }
    if (!any && (field->flags & IFM_FIELD_HIDE_EMPTY) != 0)
    {
        column_free(column);
        return NULL;
    }
    column->title = ifm_format_spelt(field->title, screen->utf8);
    format_texts(column, screen);
    mark_texts(column);
    size_column(column);
    return column;
}

/* Whether it need not be a column: several records, all with the same text. */
static gboolean is_constant(const Column *column)
{
    if ((column->field->flags & IFM_FIELD_FOLD) == 0 || is_drawn(column) || column->n < 2)
        return FALSE;
    for (gsize i = 0; i < column->n; i++)
        if (column->texts[i] == NULL || !g_str_equal(column->texts[i], column->texts[0]))
            return FALSE;
    return TRUE;
}

/* --- shortening ----------------------------------------------------------------------------------------------------- */

/* Where @text has taken @columns columns at most, from its beginning. */
static const char *after_columns(const char *text, int columns)
{
    for (int used = 0; *text != '\0'; text = g_utf8_next_char(text))
    {
        gunichar c = g_utf8_get_char(text);
        used += g_unichar_iszerowidth(c) ? 0 : g_unichar_iswide(c) ? 2 : 1;
        if (used > columns)
            break;
    }
    return text;
}

/* Shortens to @width columns with an ellipsis, of what is left a share of @head tenths in front of it. */
static char *shorten(const char *text, int width, int head_tenths, gboolean utf8)
{
    const char *dots = utf8 ? "…" : "..";
    const int total = ifm_text_width(text), keep = MAX(width - ifm_text_width(dots), 0);
    const int head = (keep * head_tenths + 9) / 10, tail = keep - head;
    if (total <= width)
        return g_strdup(text);
    const char *after = after_columns(text, head), *from = after_columns(text, total - tail);
    if (ifm_text_width(from) > tail) /* a wide character was cut through */
        from = g_utf8_next_char(from);
    return g_strdup_printf("%.*s%s%s", (int)(after - text), text, dots, MAX(from, after));
}

gsize ifm_common_prefix(const char *const *texts, gsize n, const char *separators)
{
    const char *first = NULL;
    gsize common = 0;
    gboolean differ = FALSE;
    for (gsize i = 0; i < n; i++)
    {
        const char *text = texts[i];
        gsize same = 0;
        if (text == NULL)
            continue;
        if (first == NULL)
            common = strlen(first = text);
        differ |= !g_str_equal(text, first);
        while (same < common && text[same] == first[same])
            same++;
        common = same;
    }
    while (common > 0 && strchr(separators, first[common - 1]) == NULL)
        common--;
    return differ && common > 3 ? common : 0;
}

/* Shortens all of a column alike. Returns: (transfer full) [n] NULL where texts that differ do not differ any more. */
static char **shorten_alike(const Column *column, int width, gsize prefix, int head_tenths, gboolean utf8)
{
    char **shown = g_new0(char *, column->n + 1);
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal); /* shown -> whole */
    for (gsize i = 0; i < column->n; i++)
    {
        if (column->texts[i] == NULL)
            continue;
        g_autofree char *cut = prefix > 0 ? g_strconcat(utf8 ? "…" : "..", column->texts[i] + prefix, NULL) : NULL;
        shown[i] = shorten(cut != NULL ? cut : column->texts[i], width, head_tenths, utf8);
        const char *other = g_hash_table_lookup(seen, shown[i]);
        if (other == NULL)
            g_hash_table_insert(seen, shown[i], column->texts[i]);
        else if (!g_str_equal(other, column->texts[i]))
        {
            for (gsize k = 0; k <= i; k++)
                g_free(shown[k]);
            g_free(shown);
            return NULL;
        }
    }
    return shown;
}

static gboolean fits(const Column *column, int width)
{
    for (gsize i = 0; i < column->n; i++)
        if (column->texts[i] != NULL && ifm_text_width(column->texts[i]) > width)
            return FALSE;
    return TRUE;
}

/*
 * Shortens a column as a whole, so that rows stay distinct: what all names begin with goes first, of all of them; then the
 * middle, as both ends of a name say more; then more of one end than of the other.
 * Returns: (transfer full) [n] NULL where no way of these keeps them apart.
 */
static char **shorten_column(const Column *column, int width, gboolean utf8)
{
    static const int head_tenths[] = { 5, 3, 7, 0, 10 };
    const gsize prefix = fits(column, width) ? 0 : ifm_common_prefix((const char *const *)column->texts, column->n, "/.:");
    char **shown = NULL;
    for (gsize i = 0; i < 2 * G_N_ELEMENTS(head_tenths) && shown == NULL; i++)
        if (i % 2 == 1 || prefix > 0)
            shown = shorten_alike(column, width, i % 2 == 0 ? prefix : 0, head_tenths[i / 2], utf8);
    return shown;
}

/* The least width, from column->min up, at which the names that identify rows stay distinct. */
static void keep_apart(Column *column, gboolean utf8)
{
    for (; column->min < column->natural; column->min += MAX(column->min / 4, 1))
    {
        char **shown = shorten_column(column, column->min, utf8);
        for (gsize i = 0; shown != NULL && i < column->n; i++)
            g_free(shown[i]);
        g_free(shown);
        if (shown != NULL)
            return;
    }
    column->min = column->natural;
}

/* Sets what a column shows at its width. */
static void set_shown(Column *column, gboolean utf8)
{
    for (gsize i = 0; column->shown != NULL && i < column->n; i++)
        g_free(column->shown[i]);
    g_clear_pointer(&column->shown, g_free);
    if (is_drawn(column))
        return;
    column->shown = shorten_column(column, column->width, utf8);
    if (column->shown != NULL)
        return;
    column->shown = g_new0(char *, column->n + 1);
    for (gsize i = 0; i < column->n; i++)
        column->shown[i] = column->texts[i] != NULL ? shorten(column->texts[i], column->width, 5, utf8) : NULL;
}

/* --- layout --------------------------------------------------------------------------------------------------------- */

/* Gives up @excess columns, from the widest shrinkable column of that kind first. Returns what could not be given up. */
static int shrink(GPtrArray *columns, int excess, gboolean drawn)
{
    while (excess > 0)
    {
        Column *widest = NULL;
        for (guint i = 0; i < columns->len; i++)
        {
            Column *column = columns->pdata[i];
            if (is_drawn(column) == drawn && column->width > column->min &&
                (widest == NULL || column->width > widest->width))
                widest = column;
        }
        if (widest == NULL)
            break;
        widest->width--;
        excess--;
    }
    return excess;
}

static int width_of(const GPtrArray *columns)
{
    int width = 0;
    for (guint i = 0; i < columns->len; i++)
        width += ((const Column *)columns->pdata[i])->width + (i > 0 ? GAP : 0);
    return width;
}

/* How many of the first columns lead every block: those that identify a row. */
static guint count_keys(const GPtrArray *columns)
{
    guint n = 1;
    while (n < columns->len && (((const Column *)columns->pdata[n])->field->flags & IFM_FIELD_KEY) != 0)
        n++;
    return n;
}

static gboolean has_values(const GPtrArray *block, gsize row)
{
    for (guint i = count_keys(block); i < block->len; i++)
        if (((const Column *)block->pdata[i])->values[row].present)
            return TRUE;
    return FALSE;
}

/* A further block leaves out rows that have nothing in it, and with them their names. */
static int width_of_names(const GPtrArray *block, guint key)
{
    const Column *names = block->pdata[key];
    int width = ifm_text_width(names->title);
    for (gsize row = 0; row < names->n; row++)
        if (has_values(block, row))
            width = MAX(width, names->texts[row] != NULL ? ifm_text_width(names->texts[row]) : 1);
    return width;
}

/* Returns: whether the columns fit, some of them narrowed where need be. @further: not the first block. */
static gboolean fit(GPtrArray *columns, int width, gboolean further)
{
    for (guint i = 0; i < columns->len; i++)
    {
        Column *column = columns->pdata[i];
        gboolean is_name = i < count_keys(columns) && further && !is_drawn(column);
        column->width = is_name ? width_of_names(columns, i) : column->natural;
    }
    int excess = shrink(columns, shrink(columns, width_of(columns) - width, TRUE), FALSE);
    if (excess > 0 &&
        columns->len <= count_keys(columns) + 1) /* even by itself it is too wide: then there is no other way */
    {
        Column *first = columns->pdata[0];
        int given = CLAMP(first->width - TEXT_MIN, 0, excess);
        first->width -= given;
        excess -= given;
    }
    return excess <= 0;
}

static GPtrArray *block_new(const GPtrArray *columns, guint n_keys)
{
    GPtrArray *block = g_ptr_array_new();
    for (guint i = 0; i < n_keys; i++)
        g_ptr_array_add(block, columns->pdata[i]);
    return block;
}

/* Blocks of columns (GPtrArray of Column*), each of which fits; the keys lead every block. @is_brief: where a further block
 * would begin, details are left out. */
static GPtrArray *layout(GPtrArray *columns, int width, gboolean is_brief, gboolean *left_out)
{
    GPtrArray *blocks = g_ptr_array_new_with_free_func((GDestroyNotify)g_ptr_array_unref);
    if (columns->len == 0)
        return blocks;
    if (fit(columns, width, FALSE))
    {
        g_ptr_array_add(blocks, g_ptr_array_ref(columns));
        return blocks;
    }
    guint n_keys = count_keys(columns);
    GPtrArray *block = block_new(columns, n_keys);
    g_ptr_array_add(blocks, block);
    for (guint i = n_keys; i < columns->len; i++)
    {
        Column *column = columns->pdata[i];
        gboolean is_detail = is_brief && (column->field->flags & IFM_FIELD_DETAIL) != 0;
        if (is_detail && *left_out)
            continue;
        g_ptr_array_add(block, column);
        gboolean asked = (column->field->flags & IFM_FIELD_BREAK) != 0 && blocks->len == 1;
        gboolean here = asked || !fit(block, width, blocks->len > 1);
        if (here && block->len > n_keys + 1)
        {
            g_ptr_array_set_size(block, (int)block->len - 1);
            if (is_detail)
            {
                *left_out = TRUE;
                continue;
            }
            block = block_new(columns, n_keys);
            g_ptr_array_add(block, column);
            g_ptr_array_add(blocks, block);
        }
    }
    return blocks;
}

/* --- painting ------------------------------------------------------------------------------------------------------- */

static gboolean is_right(const Column *column)
{
    return column->field->kind != IFM_FIELD_TEXT && column->field->kind != IFM_FIELD_BOOLEAN && !is_drawn(column);
}

/* @last: no blanks after it. */
static void paint_text(GString *out, const Column *column, const char *text, IfmTone tone, gboolean last,
                       const IfmScreen *screen)
{
    int blanks = column->width - ifm_text_width(text);
    gboolean right = is_right(column);
    g_string_append_printf(out, "%*s%s%s%s", right ? blanks : 0, "", ifm_tone_begin(screen, tone), text,
                           ifm_tone_end(screen, tone));
    if (!right && !last)
        g_string_append_printf(out, "%*s", blanks, "");
}

static void paint_cell(GString *out, const Column *column, gsize row, gboolean last, const IfmScreen *screen)
{
    const IfmValue *value = &column->values[row];
    if (!value->present)
        paint_text(out, column, "-", IFM_TONE_DIM, last, screen);
    else if (column->field->kind == IFM_FIELD_INTERVAL)
        ifm_draw_strip(out, &column->scale, value->marks, column->width, screen);
    else if (column->field->kind == IFM_FIELD_BAR)
    {
        g_autofree char *bar = ifm_format_bar(value->real, column->width, screen->utf8);
        g_string_append_printf(out, "%s%s%s", ifm_tone_begin(screen, IFM_TONE_GOOD), bar,
                               ifm_tone_end(screen, IFM_TONE_GOOD));
    }
    else
        paint_text(out, column, column->shown[row], column->tones[row], last, screen);
}

static void trim_line(GString *out)
{
    while (out->len > 0 && out->str[out->len - 1] == ' ')
        g_string_truncate(out, out->len - 1);
    g_string_append_c(out, '\n');
}

static void paint_head(GString *out, const GPtrArray *block, const IfmScreen *screen)
{
    g_string_append(out, ifm_bold_begin(screen));
    for (guint i = 0; i < block->len; i++)
    {
        const Column *column = block->pdata[i];
        g_string_append_printf(out, "%*s", i > 0 ? GAP : 0, "");
        g_autofree char *title = shorten(column->title, column->width, 5, screen->utf8);
        paint_text(out, column, title, IFM_TONE_PLAIN, i + 1 == block->len, screen);
    }
    g_string_append(out, ifm_bold_end(screen));
    trim_line(out);
    g_string_append(out, ifm_tone_begin(screen, IFM_TONE_DIM));
    for (int i = 0; i < width_of(block); i++)
        g_string_append(out, screen->utf8 ? "─" : "-");
    g_string_append_printf(out, "%s\n", ifm_tone_end(screen, IFM_TONE_DIM));
}

/* The line below the rows with what the strips' ends stand for. */
static void paint_axes(GString *out, const GPtrArray *block, const IfmScreen *screen)
{
    int column_of = 0, written = 0;
    for (guint i = 0; i < block->len; i++)
    {
        const Column *column = block->pdata[i];
        if (column->has_scale)
        {
            g_string_append_printf(out, "%*s", column_of - written, "");
            ifm_draw_axis(out, &column->scale, column->width, screen);
            written = column_of + column->width;
        }
        column_of += column->width + GAP;
    }
    if (written > 0)
        g_string_append_c(out, '\n');
}

/* @further: not the first block: a row that has nothing in it is left out. */
static void paint_block(GString *out, const GPtrArray *block, gsize n, gboolean further, const IfmScreen *screen)
{
    paint_head(out, block, screen);
    for (guint i = 0; i < block->len; i++)
        set_shown(block->pdata[i], screen->utf8);
    for (gsize row = 0; row < n; row++)
    {
        if (further && !has_values(block, row))
            continue;
        for (guint i = 0; i < block->len; i++)
        {
            g_string_append_printf(out, "%*s", i > 0 ? GAP : 0, "");
            paint_cell(out, block->pdata[i], row, i + 1 == block->len, screen);
        }
        trim_line(out);
    }
    paint_axes(out, block, screen);
}

char *ifm_table_to_screen(const IfmTable *table, const IfmScreen *screen)
{
    return ifm_table_show(table, screen, FALSE, NULL);
}

char *ifm_table_show(const IfmTable *table, const IfmScreen *screen, gboolean is_brief, gboolean *left_out)
{
    gboolean without = FALSE, unfolded = FALSE;
    g_autoptr(GPtrArray) columns = g_ptr_array_new_with_free_func((GDestroyNotify)column_free);
    g_autoptr(GString) folded = g_string_new(NULL);
    for (const IfmField *field = table->fields; field->key != NULL; field++)
    {
        gboolean shown = (field->flags & IFM_FIELD_NO_SCREEN) == 0 && screen->width >= field->min_width;
        Column *column = shown ? column_new(table, field, screen) : NULL;
        if (column == NULL)
            continue;
        if (is_brief && (field->flags & IFM_FIELD_DETAIL) != 0 && is_constant(column))
        {
            column_free(column);
            unfolded = TRUE;
            continue;
        }
        if (!is_constant(column))
        {
            g_ptr_array_add(columns, column);
            continue;
        }
        g_string_append_printf(folded, "%s%s %s", folded->len > 0 ? ", " : "", column->title, column->texts[0]);
        column_free(column);
    }
    for (guint i = 0; i < MIN(count_keys(columns), columns->len); i++)
        keep_apart(columns->pdata[i], screen->utf8);
    g_autoptr(GPtrArray) blocks = layout(columns, screen->width, is_brief, &without);
    GString *out = g_string_new(NULL);
    if (folded->len > 0)
    {
        ifm_format_wrap(out, folded->str, 2, 0, screen->width);
        g_string_append_c(out, '\n');
    }
    for (guint i = 0; i < blocks->len; i++)
    {
        gboolean any = i == 0;
        for (gsize row = 0; row < table->n_records && !any; row++)
            any = has_values(blocks->pdata[i], row);
        fit(blocks->pdata[i], screen->width, i > 0);
        if (i > 0 && any)
            g_string_append_c(out, '\n');
        if (any)
            paint_block(out, blocks->pdata[i], table->n_records, i > 0, screen);
    }
    if (left_out != NULL)
        *left_out |= without || unfolded;
    return g_string_free(out, FALSE);
}
