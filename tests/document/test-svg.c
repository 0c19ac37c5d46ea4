#include <math.h>
#include <string.h>

#include "document/document-private.h"
#include "document/svg-private.h"

/* Every kind of figure at every width: well-formed, without style attributes, texts apart from each other, marks where
 * their scale has their values. What it looks like in a browser: tests/page. */

static IfmBlock *make(IfmDocument *document, IfmFigureKind kind, guint n, const char *name)
{
    IfmBlock *block = ifm_document_figure(document, ifm_figure_kind_name(kind), kind, "Title <b>", "What is drawn.");
    block->figure.x.title = "nodes";
    block->figure.y.title = "latency";
    for (int s = 0; s < 3; s++)
    {
        g_autofree char *series_name = g_strdup_printf("%s %d", name, s);
        IfmSeries *series = ifm_document_series(document, block, series_name, NULL);
        for (guint i = 0; i < n; i++)
        {
            IfmPoint point = IFM_POINT_INIT;
            g_autofree char *label = g_strdup_printf("%s row %u", name, i % 300);
            point.label = label;
            point.x = 1e6 * i;
            point.x_end = 1e6 * (i + 0.8);
            point.y = kind == IFM_FIGURE_ICICLE ? s : i == 3 ? NAN : i == 4 ? INFINITY : i == 5 ? 0 : 1e5 * (i + 2 + s);
            point.lower = point.y * 0.9;
            point.upper = i == 2 ? point.y * 1e6 : point.y * 1.1;
            ifm_document_point(document, series, &point);
        }
    }
    return block;
}

static void test_kinds(void)
{
    static const guint counts[] = { 0, 1, 12, 10000 };
    g_autofree char *huge = g_strnfill(5120, 'w');
    const char *names[] = { "CPU", "<b>=cmd", "\u05e9\u05dc\u05d5\u05dd", huge };
    for (int kind = 0; kind < IFM_N_FIGURE_KINDS; kind++)
        for (gsize c = 0; c < G_N_ELEMENTS(counts); c++)
            for (gsize k = 0; k < (counts[c] > 100 ? 1 : G_N_ELEMENTS(names)); k++)
            {
                IfmDocument *document = ifm_document_new("test", "test");
                IfmFigure *figure = &make(document, (IfmFigureKind)kind, counts[c], names[k])->figure;
                figure->y.logarithmic = c % 2 == 1;
                g_autoptr(GPtrArray) tips = g_ptr_array_new_with_free_func(g_free);
                for (const int *width = ifm_svg_widths(figure->half); *width != 0; width++)
                {
                    g_autoptr(GError) error = NULL;
                    g_autoptr(GString) out = g_string_new(NULL);
                    const GMarkupParser parser = { 0 };
                    g_autoptr(GMarkupParseContext) context = g_markup_parse_context_new(&parser, 0, NULL, NULL);
                    ifm_svg_append(out, figure, *width, tips, NULL);
                    g_markup_parse_context_parse(context, out->str, (gssize)out->len, &error);
                    g_assert_no_error(error);
                    g_assert_true(g_markup_parse_context_end_parse(context, &error));
                    g_assert_null(strstr(out->str, "style="));
                    g_assert_null(strstr(out->str, "<b>"));
                    g_assert_null(strstr(out->str, "nan"));
                }
                ifm_document_free(document);
            }
}

/* --- what is drawn ------------------------------------------------------------------------------------------------------
 */

/* Element: of a drawing. @plot: the last that has scales, which are its own; -1: none before it. */
typedef struct
{
    char *name, *text;
    GHashTable *attributes;
    int plot;
} Element;

static void element_free(Element *element)
{
    g_free(element->name);
    g_free(element->text);
    g_hash_table_unref(element->attributes);
    g_free(element);
}

static void start_element(GMarkupParseContext *context, const char *name, const char **names, const char **values,
                          gpointer elements, GError **error)
{
    Element *element = g_new0(Element, 1);
    element->name = g_strdup(name);
    element->attributes = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    element->plot = -1;
    for (gsize i = 0; names[i] != NULL; i++)
        g_hash_table_insert(element->attributes, g_strdup(names[i]), g_strdup(values[i]));
    g_ptr_array_add(elements, element);
    for (guint k = ((GPtrArray *)elements)->len; element->plot < 0 && k > 0; k--)
        if (g_hash_table_contains(((Element *)g_ptr_array_index((GPtrArray *)elements, k - 1))->attributes, "data-x"))
            element->plot = (int)k - 1;
}

static void add_text(GMarkupParseContext *context, const char *text, gsize length, gpointer elements, GError **error)
{
    Element *last = g_ptr_array_index((GPtrArray *)elements, ((GPtrArray *)elements)->len - 1);
    if (g_str_equal(last->name, "text") && last->text == NULL)
        last->text = g_strndup(text, length);
}

static char *svg_of(const IfmFigure *figure, int width)
{
    GString *out = g_string_new(NULL);
    ifm_svg_append(out, figure, width, NULL, NULL);
    return g_string_free(out, FALSE);
}

/* (transfer full) Element* */
static GPtrArray *drawn(const IfmFigure *figure, int width)
{
    static const GMarkupParser parser = { start_element, NULL, add_text, NULL, NULL };
    GPtrArray *elements = g_ptr_array_new_with_free_func((GDestroyNotify)element_free);
    g_autofree char *svg = svg_of(figure, width);
    g_autoptr(GMarkupParseContext) context = g_markup_parse_context_new(&parser, 0, elements, NULL);
    g_assert_true(g_markup_parse_context_parse(context, svg, -1, NULL));
    return elements;
}

static const char *attribute(const Element *element, const char *name)
{
    const char *value = g_hash_table_lookup(element->attributes, name);
    return value != NULL ? value : "";
}

static double number(const Element *element, const char *name)
{
    return g_ascii_strtod(attribute(element, name), NULL);
}

static gboolean has_class(const Element *element, const char *class)
{
    g_auto(GStrv) classes = g_strsplit(attribute(element, "class"), " ", -1);
    return g_strv_contains((const char *const *)classes, class);
}

static guint count_class(const GPtrArray *elements, const char *class)
{
    guint n = 0;
    for (guint i = 0; i < elements->len; i++)
        n += has_class(elements->pdata[i], class);
    return n;
}

/* Where "low high from to log" has a value. */
static double place_by(const char *scale, double value)
{
    double numbers[5];
    g_auto(GStrv) words = g_strsplit(scale, " ", -1);
    g_assert_cmpuint(g_strv_length(words), ==, 5);
    for (int i = 0; i < 5; i++)
        numbers[i] = g_ascii_strtod(words[i], NULL);
    const double share = numbers[4] > 0 ? log(value / numbers[0]) / log(numbers[1] / numbers[0])
                                        : (value - numbers[0]) / (numbers[1] - numbers[0]);
    return numbers[2] + share * (numbers[3] - numbers[2]);
}

static const IfmPoint *point_of(const IfmFigure *figure, const Element *mark)
{
    const IfmSeries *series = figure->series->pdata[(guint)number(mark, "data-s")];
    return &g_array_index(series->points, IfmPoint, (guint)number(mark, "data-i"));
}

/* The middle of a circle or shape, or the left end of a rectangle. */
static void assert_place(const Element *mark, double x, double y)
{
    double at[2] = { number(mark, g_str_equal(mark->name, "circle") ? "cx" : "x"), number(mark, "cy") };
    const char *moved = attribute(mark, "transform");
    if (*moved != '\0')
    {
        char *rest;
        at[0] = g_ascii_strtod(moved + strlen("translate("), &rest);
        at[1] = g_ascii_strtod(rest, NULL);
    }
    g_assert_cmpfloat_with_epsilon(at[0], x, 0.06);
    if (isfinite(y))
        g_assert_cmpfloat_with_epsilon(at[1], y, 0.06);
}

static void assert_mark(const IfmFigure *figure, const GPtrArray *elements, const Element *mark)
{
    if (figure->kind == IFM_FIGURE_MATRIX) /* cells have no scale */
        return;
    g_assert_cmpint(mark->plot, >=, 0);
    const Element *plot = elements->pdata[mark->plot];
    const char *x = attribute(plot, "data-x"), *y = attribute(plot, "data-y");
    const IfmPoint *point = point_of(figure, mark);
    switch (figure->kind)
    {
    case IFM_FIGURE_SCATTER:
    case IFM_FIGURE_LINES:
        assert_place(mark, place_by(x, point->x), place_by(y, point->y));
        break;
    case IFM_FIGURE_STRIPS:
        assert_place(mark, place_by(x, point->y), NAN);
        break;
    case IFM_FIGURE_BARS:
        g_assert_cmpfloat_with_epsilon(number(mark, "x") + number(mark, "width"), place_by(x, point->y), 0.11);
        break;
    case IFM_FIGURE_TIMELINE:
    case IFM_FIGURE_ICICLE:
        assert_place(mark, place_by(x, point->x), NAN);
        g_assert_cmpfloat_with_epsilon(number(mark, "width"), place_by(x, point->x_end) - place_by(x, point->x), 0.11);
        break;
    default: /* stacks: the widths say the values */
        g_assert_cmpfloat_with_epsilon(number(mark, "width"), place_by(x, point->y) - place_by(x, 0), 0.11);
        break;
    }
}

/* Of positive numbers, so that both kinds of axis have them. */
static void test_places(void)
{
    for (int kind = 0; kind < IFM_N_FIGURE_KINDS; kind++)
        for (int logarithmic = 0; logarithmic < 2; logarithmic++)
        {
            IfmDocument *document = ifm_document_new("test", "test");
            IfmFigure *figure = &make(document, (IfmFigureKind)kind, 12, "CPU")->figure;
            figure->y.logarithmic = figure->x.logarithmic = logarithmic > 0;
            figure->x.logarithmic &= kind == IFM_FIGURE_SCATTER || kind == IFM_FIGURE_LINES;
            for (int half = 0; half < 2; half++)
            {
                figure->half = half > 0;
                for (const int *width = ifm_svg_widths(figure->half); *width != 0; width++)
                {
                    g_autoptr(GPtrArray) elements = drawn(figure, *width);
                    guint n = 0;
                    for (guint i = 0; i < elements->len; i++)
                        if (*attribute(elements->pdata[i], "data-s") != '\0')
                        {
                            assert_mark(figure, elements, elements->pdata[i]);
                            n++;
                        }
                    g_assert_cmpuint(n, >=, 15);
                }
            }
            ifm_document_free(document);
        }
}

/* --- texts
 * ---------------------------------------------------------------------------------------------------------------- */

typedef struct
{
    double left, right, top, bottom;
} Box;

static Box box_of(const Element *text)
{
    const double width = ifm_svg_text_width(text->text != NULL ? text->text : "", has_class(text, "b"));
    const double x = number(text, "x"), y = number(text, "y"),
                 left = x - (has_class(text, "e")   ? width
                             : has_class(text, "m") ? width / 2
                                                    : 0);
    return (Box){ left, left + width, y - 9, y + 2 };
}

static void assert_apart(const GPtrArray *elements, int width)
{
    g_autoptr(GArray) boxes = g_array_new(FALSE, FALSE, sizeof(Box));
    for (guint i = 0; i < elements->len; i++)
    {
        const Element *text = elements->pdata[i];
        if (!g_str_equal(text->name, "text"))
            continue;
        const Box box = box_of(text);
        if (box.left < -0.1 || box.right > width + 0.1)
            g_error("\"%s\" leaves a drawing of %d", text->text, width);
        for (guint k = 0; k < boxes->len; k++)
        {
            const Box *other = &g_array_index(boxes, Box, k);
            if (box.left < other->right - 0.1 && other->left < box.right - 0.1 && box.top < other->bottom &&
                other->top < box.bottom)
                g_error("\"%s\" lies over another text at %d", text->text, width);
        }
        g_array_append_val(boxes, box);
    }
    g_assert_cmpuint(boxes->len, >, 0);
}

static void test_apart(void)
{
    static const guint counts[] = { 1, 12, 60, 200 };
    g_autofree char *huge = g_strnfill(5120, 'w');
    const char *names[] = { "CPU", "openvino:CPU.0@0-7#4 of the left machine", huge };
    for (int kind = 0; kind < IFM_N_FIGURE_KINDS; kind++)
        for (gsize c = 0; c < G_N_ELEMENTS(counts); c++)
            for (gsize k = 0; k < (counts[c] > 12 ? 2 : G_N_ELEMENTS(names)); k++)
                for (int half = 0; half < 2; half++)
                {
                    IfmDocument *document = ifm_document_new("test", "test");
                    IfmFigure *figure = &make(document, (IfmFigureKind)kind, counts[c], names[k])->figure;
                    figure->half = half > 0;
                    figure->y.logarithmic = c % 2 == 0;
                    figure->y.has_reference = c > 1;
                    figure->y.reference = 1e6;
                    figure->y.reference_words = "no gain";
                    for (const int *width = ifm_svg_widths(figure->half); *width != 0; width++)
                    {
                        g_autoptr(GPtrArray) elements = drawn(figure, *width);
                        assert_apart(elements, *width);
                    }
                    ifm_document_free(document);
                }
}

/* --- intervals
 * ------------------------------------------------------------------------------------------------------------ */

/* A figure of points with such intervals around 100, 101, … */
static IfmFigure *with_intervals(IfmDocument *document, IfmFigureKind kind, gsize n, const double (*bounds)[2])
{
    IfmBlock *block = ifm_document_figure(document, "intervals", kind, "Title", "What is drawn.");
    IfmSeries *series = ifm_document_series(document, block, "CPU", NULL);
    for (gsize i = 0; i < n; i++)
    {
        IfmPoint point = IFM_POINT_INIT;
        g_autofree char *label = g_strdup_printf("row %zu", i);
        point.label = kind == IFM_FIGURE_SCATTER ? NULL : label;
        point.x = (double)i;
        point.y = 100 + (double)i;
        point.lower = bounds[i][0];
        point.upper = bounds[i][1];
        ifm_document_point(document, series, &point);
    }
    return &block->figure;
}

static void test_intervals(void)
{
    static const double bounds[][2] = { { 95, 105 }, { 90, 1e9 }, { -1e9, 110 }, { NAN, 110 }, { 90, NAN }, { NAN, NAN } };
    static const IfmFigureKind kinds[] = { IFM_FIGURE_BARS, IFM_FIGURE_STRIPS, IFM_FIGURE_SCATTER };
    for (gsize kind = 0; kind < G_N_ELEMENTS(kinds); kind++)
    {
        IfmDocument *document = ifm_document_new("test", "test");
        const IfmFigure *figure = with_intervals(document, kinds[kind], G_N_ELEMENTS(bounds), bounds);
        g_autoptr(GPtrArray) elements = drawn(figure, 640);
        guint n_lines = 0, n_arrows = 0; /* those of a series may be one path */
        for (guint i = 0; i < elements->len; i++)
            for (const char *c = has_class(elements->pdata[i], "iv") ? attribute(elements->pdata[i], "d") : ""; *c != '\0';
                 c++)
            {
                n_lines += *c == 'V' || *c == 'H';
                n_arrows += *c == 'L';
            }
        g_assert_cmpuint(n_lines, ==, 3);      /* what is unknown is not drawn */
        g_assert_cmpuint(n_arrows, ==, 2 * 2); /* what leaves the axis ends in an arrow */
        g_assert_cmpuint(count_class(elements, "c1"), >=, G_N_ELEMENTS(bounds));
        ifm_document_free(document);
    }
}

/* A range is drawn to its ends; of one that reaches far beyond the intervals the axis shows a part, with an arrow. */
static void test_ranges(void)
{
    static const double ranges[][2] = { { 98, 104 }, { 60, 200 }, { 90, 200 }, { NAN, NAN } };
    static const guint n_arrows[] = { 0, 2, 1, 0 };
    for (gsize c = 0; c < G_N_ELEMENTS(ranges); c++)
        for (int logarithmic = 0; logarithmic < 2; logarithmic++)
        {
            static const double bounds[][2] = { { 95, 105 }, { 96, 110 } };
            IfmDocument *document = ifm_document_new("test", "test");
            IfmFigure *figure = with_intervals(document, IFM_FIGURE_STRIPS, G_N_ELEMENTS(bounds), bounds);
            IfmPoint *point = &g_array_index(ifm_svg_series(figure, 0)->points, IfmPoint, 0);
            figure->y.logarithmic = logarithmic > 0;
            point->min = ranges[c][0];
            point->max = ranges[c][1];
            g_autoptr(GPtrArray) elements = drawn(figure, 640);
            guint n_lines = 0, n_ends = 0;
            for (guint i = 0; i < elements->len; i++)
                for (const char *d = has_class(elements->pdata[i], "rg") ? attribute(elements->pdata[i], "d") : "";
                     *d != '\0'; d++)
                {
                    n_lines += *d == 'H';
                    n_ends += *d == 'L';
                }
            g_assert_cmpuint(n_lines, ==, isfinite(ranges[c][0]));
            g_assert_cmpuint(n_ends, ==, 2 * n_arrows[c]);
            ifm_document_free(document);
        }
}

/* --- many, and twice
 * ------------------------------------------------------------------------------------------------------ */

static void test_bulk(void)
{
    static const IfmFigureKind kinds[] = { IFM_FIGURE_SCATTER, IFM_FIGURE_LINES, IFM_FIGURE_TIMELINE };
    for (gsize kind = 0; kind < G_N_ELEMENTS(kinds); kind++)
    {
        IfmDocument *document = ifm_document_new("test", "test");
        IfmFigure *figure = &make(document, kinds[kind], 100000, "CPU")->figure;
        g_autofree char *once = svg_of(figure, 640), *twice = svg_of(figure, 640);
        g_autoptr(GPtrArray) elements = drawn(figure, 640);
        guint n_marks = 0, n_paths = 0;
        for (guint i = 0; i < elements->len; i++)
        {
            n_marks += *attribute(elements->pdata[i], "data-s") != '\0';
            n_paths += g_str_equal(((Element *)elements->pdata[i])->name, "path");
        }
        g_assert_cmpuint(n_marks, ==, 0);
        g_assert_cmpuint(n_paths, <, 60); /* grid lines, keys, and few a series */
        g_assert_cmpuint(strlen(once), <, 600000);
        g_assert_cmpstr(once, ==, twice);
        ifm_document_free(document);
    }
}

/* What is drawn depends on the figure alone. */
static void test_same(void)
{
    for (int kind = 0; kind < IFM_N_FIGURE_KINDS; kind++)
    {
        char *svgs[2];
        for (int i = 0; i < 2; i++)
        {
            IfmDocument *document = ifm_document_new("test", "test");
            svgs[i] = svg_of(&make(document, (IfmFigureKind)kind, 40, "CPU <b>=cmd")->figure, 344);
            ifm_document_free(document);
        }
        g_assert_cmpstr(svgs[0], ==, svgs[1]);
        g_free(svgs[0]);
        g_free(svgs[1]);
    }
}

/* Names are text: escaped, and what overrides directions or controls is spelt. */
static void test_hostile(void)
{
    static const char *const names[] = { "<script>alert(1)</script>", "\" onload=\"x", "a\342\200\256b", "\033[31m",
                                         "\xff\xfe" };
    for (int kind = 0; kind < IFM_N_FIGURE_KINDS; kind++)
        for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
        {
            IfmDocument *document = ifm_document_new("test", "test");
            IfmBlock *block = make(document, (IfmFigureKind)kind, 3, names[i]);
            block->figure.title = ifm_document_keep_text(document, names[i]);
            g_autofree char *svg = svg_of(&block->figure, 640);
            g_assert_true(g_utf8_validate(svg, -1, NULL));
            g_assert_null(strstr(svg, "<script"));
            g_assert_null(strstr(svg, " onload=\"x"));
            g_assert_null(strstr(svg, "\342\200\256"));
            g_assert_null(strchr(svg, '\033'));
            ifm_document_free(document);
        }
}

/* A name of a span is shortened to no less than four letters; rows' names lose what all begin with where they lack room. */
static void test_names(void)
{
    const char *const rows[] = { "gnn-stages stage 1", "gnn-stages stage 2" };
    guint n_shown = 0;
    for (double width = 10; width < 120; width++)
    {
        IfmDocument *document = ifm_document_new("test", "test");
        IfmBlock *block = ifm_document_figure(document, "parts", IFM_FIGURE_ICICLE, "Parts", "Parts.");
        IfmPoint wide = IFM_POINT_INIT, narrow = IFM_POINT_INIT;
        IfmSeries *series = ifm_document_series(document, block, "s", NULL);
        narrow.label = "point-wise work, 12 %";
        wide.x = 0;
        wide.x_end = narrow.x = 1112 - width;
        narrow.x_end = 1112;
        wide.y = narrow.y = 0;
        ifm_document_point(document, series, &wide);
        ifm_document_point(document, series, &narrow);
        g_autofree char *svg = svg_of(&block->figure, 1112);
        const char *text = strstr(svg, ">p");
        n_shown += text != NULL;
        g_assert_true(text == NULL || g_str_has_prefix(text, ">poin"));
        g_assert_null(strstr(svg, ">…"));
        ifm_document_free(document);
    }
    g_assert_cmpuint(n_shown, >, 0);
    g_assert_cmpuint(n_shown, <, 100);
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    g_ptr_array_add(names, (gpointer)rows[0]);
    g_ptr_array_add(names, (gpointer)rows[1]);
    g_autoptr(GPtrArray) texts = ifm_svg_names(names, 70), wide = ifm_svg_names(names, 1000);
    g_assert_cmpstr(texts->pdata[0], ==, "…1");
    g_assert_cmpstr(wide->pdata[1], ==, rows[1]);
}

static void check_names(const char *const *rows, double width, const char *const *wanted)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (const char *const *row = rows; *row != NULL; row++)
        g_ptr_array_add(names, (gpointer)*row);
    g_autoptr(GPtrArray) texts = ifm_svg_names(names, width);
    for (guint i = 0; i < names->len; i++)
        g_assert_cmpstr(texts->pdata[i], ==, wanted[i]);
}

/* What all end with goes, then words that are no numbers are shortened, the longest first; a number stays whole. */
static void test_brief_names(void)
{
    check_names((const char *const[]){ "GATHER edges 5000, nodes 1000 on simulated:meteor-lake/GPU",
                                       "TRANSFORM nodes 12000 on simulated:meteor-lake/CPU", NULL },
                270, (const char *const[]){ "GATHER edges 5000, nodes 1000 on …GPU", "TRANSFORM nodes 12000 on …CPU" });
    for (double width = 130; width < 270; width += 5)
    {
        static const char *const rows[] = { "GATHER edges 5000, nodes 1000 on simulated:meteor-lake/GPU",
                                            "TRANSFORM nodes 12000 on simulated:meteor-lake/CPU" };
        g_autoptr(GPtrArray) names = g_ptr_array_new();
        g_ptr_array_add(names, (gpointer)rows[0]);
        g_ptr_array_add(names, (gpointer)rows[1]);
        g_autoptr(GPtrArray) texts = ifm_svg_names(names, width);
        g_assert_nonnull(strstr(texts->pdata[0], "5000, "));
        g_assert_nonnull(strstr(texts->pdata[0], "1000 on …GPU"));
        g_assert_nonnull(strstr(texts->pdata[1], "12000 on …CPU"));
        g_assert_cmpfloat(ifm_svg_text_width(texts->pdata[0], FALSE), <=, width + 0.1);
    }
    check_names((const char *const[]){ "5000 on the first device", "6000 on the first device", NULL }, 60,
                (const char *const[]){ "5000…", "6000…" });
}

/* Predictions: both axes have one scale, and their equality is a line without marks at 45 degrees. */
static void test_square(void)
{
    g_autoptr(IfmDocument) document = ifm_document_new("test", "test");
    IfmBlock *block = ifm_document_predicted(document, "predicted", "Predicted");
    ifm_document_predicted_point(document, block, "models", "a", 9e5, 2e6, 1e6, 3e6);
    ifm_document_predicted_point(document, block, "models", "b", 9e6, 3e9, 1e9, 4e9);
    ifm_document_diagonal(document, block, "predicted = measured");
    for (const int *width = ifm_svg_widths(TRUE); *width != 0; width++)
    {
        double x[4], y[4];
        g_autofree char *svg = svg_of(&block->figure, *width);
        const char *plot = strstr(svg, "data-x=\"");
        g_assert_nonnull(plot);
        g_assert_cmpint(sscanf(plot, "data-x=\"%lf %lf %lf %lf", &x[0], &x[1], &x[2], &x[3]), ==, 4);
        plot = strstr(plot, "data-y=\"");
        g_assert_cmpint(sscanf(plot, "data-y=\"%lf %lf %lf %lf", &y[0], &y[1], &y[2], &y[3]), ==, 4);
        g_assert_cmpfloat(fabs(x[0] - y[0]) + fabs(x[1] - y[1]), <, 1e-6 * x[1]);
        g_assert_cmpfloat(fabs((x[3] - x[2]) - (y[2] - y[3])), <, 0.2);
        g_assert_nonnull(strstr(svg, "class=\"ln ax\""));
        g_assert_null(strstr(svg, "data-s=\"1\""));
    }
}

/* Families beyond the colours are one, in the last colour, and the key says so; a kind of event has its colour by name. */
static void test_others(void)
{
    g_autoptr(IfmDocument) document = ifm_document_new("test", "test");
    IfmBlock *block = ifm_document_figure(document, "parts", IFM_FIGURE_ICICLE, "Parts", "Parts.");
    for (int s = 0; s < 9; s++)
    {
        g_autofree char *name = g_strdup_printf("family %d", s);
        IfmPoint point = IFM_POINT_INIT;
        point.x = 1e6 * s;
        point.x_end = 1e6 * (s + 1);
        point.y = 0;
        ifm_document_point(document, ifm_document_series(document, block, name, NULL), &point);
    }
    g_autofree char *svg = svg_of(&block->figure, 1112);
    g_assert_nonnull(strstr(svg, ">other</text>"));
    g_assert_nonnull(strstr(svg, ">family 4</text>"));
    g_assert_null(strstr(svg, ">family 5</text>"));
    g_auto(GStrv) first = g_strsplit(svg, "edge c1", -1), last = g_strsplit(svg, "edge c6", -1);
    g_assert_cmpuint(g_strv_length(first), ==, 2);
    g_assert_cmpuint(g_strv_length(last), ==, 5);
    IfmBlock *stack = ifm_document_figure(document, "stack", IFM_FIGURE_STACKED, "Stack", "Stack.");
    static const int categories[] = { 1, 11, 13, 16 };
    static const char *const classes[] = { "edge c1", "edge p5", "edge dim", "edge hatch" };
    for (gsize i = 0; i < G_N_ELEMENTS(categories); i++)
    {
        g_autofree char *name = g_strdup_printf("cause %zu", i);
        IfmSeries *series = ifm_document_series(document, stack, name, NULL);
        series->category = categories[i];
        ifm_document_point_at(document, series, "a row", NAN, 0.25);
    }
    g_autofree char *drawn = svg_of(&stack->figure, 640);
    for (gsize i = 0; i < G_N_ELEMENTS(classes); i++)
        g_assert_nonnull(strstr(drawn, classes[i]));
}

/* A narrow cell says "=" of a tie, the count of "15 of 15", the ratio of "CPU ×2.2"; a wide one all of it. */
static void test_brief_cells(void)
{
    static const char *const devices[] = { "CPU", "GPU", "none", NULL };
    static const char *const texts[] = { "CPU or GPU", "15 of 15", "CPU ×2.2" };
    static const char *const brief[] = { ">=<", ">15<", ">×2.2<" };
    g_autoptr(IfmDocument) document = ifm_document_new("test", "test");
    IfmBlock *block = ifm_document_figure(document, "cells", IFM_FIGURE_MATRIX, "Cells", "Cells.");
    block->figure.y.categories = devices;
    IfmSeries *series = ifm_document_series(document, block, "a row", NULL);
    for (int i = 0; i < 9; i++)
    {
        g_autofree char *label = g_strdup_printf("%d", i);
        IfmPoint point = IFM_POINT_INIT;
        point.label = label;
        point.y = 0;
        point.text = texts[i % 3];
        ifm_document_point(document, series, &point);
    }
    g_autofree char *narrow = svg_of(&block->figure, 400), *wide = svg_of(&block->figure, 1112);
    for (gsize i = 0; i < G_N_ELEMENTS(texts); i++)
    {
        g_autofree char *whole = g_strdup_printf(">%s<", texts[i]);
        g_assert_nonnull(strstr(narrow, brief[i]));
        g_assert_nonnull(strstr(wide, whole));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/svg/kinds", test_kinds);
    g_test_add_func("/svg/places", test_places);
    g_test_add_func("/svg/apart", test_apart);
    g_test_add_func("/svg/intervals", test_intervals);
    g_test_add_func("/svg/ranges", test_ranges);
    g_test_add_func("/svg/bulk", test_bulk);
    g_test_add_func("/svg/same", test_same);
    g_test_add_func("/svg/hostile", test_hostile);
    g_test_add_func("/svg/names", test_names);
    g_test_add_func("/svg/brief-names", test_brief_names);
    g_test_add_func("/svg/square", test_square);
    g_test_add_func("/svg/others", test_others);
    g_test_add_func("/svg/brief-cells", test_brief_cells);
    return g_test_run();
}
