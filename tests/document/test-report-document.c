#include <math.h>
#include <string.h>

#include <base/fields.h>

#include "document/document-private.h"
#include "document/golden.h"
#include "document/summary-line.h"

/* One document with every kind of block. Its texts hold what a terminal must not get. */

typedef struct
{
    const char *name;
    double time_ns;
    gsize bytes;
    gboolean rough;
} Row;

static const Row rows[] = { { "CPU", 1234567, 4096, FALSE }, { "GPU\033[31m", 345678, 1 << 20, TRUE } };

static void get_time(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_real(value, ((const Row *)record)->time_ns);
    value->mark = ((const Row *)record)->rough ? IFM_MARK_ROUGH : IFM_MARK_NONE;
}

#define AT(member) IFM_FIELD_AT(Row, member)

static const IfmField row_fields[] = {
    { "device", "device", IFM_FIELD_TEXT, ifm_field_get_text, AT(name), IFM_FIELD_WHOLE },
    { "time_ns", "time", IFM_FIELD_DURATION, get_time },
    { "bytes", "memory", IFM_FIELD_BYTES, ifm_field_get_count, AT(bytes), .min_width = 60 },
    { NULL },
};

static void add_point(IfmDocument *document, IfmSeries *series, const char *label, double x, double y)
{
    IfmPoint point = IFM_POINT_INIT;
    point.label = label;
    point.x = x;
    point.y = y;
    point.lower = 0.9 * y;
    point.upper = 1.1 * y;
    point.min = 0.5 * y;
    point.max = 1.5 * y;
    ifm_document_point(document, series, &point);
}

/* Two series of three points each. */
static void add_figure(IfmDocument *document, IfmFigureKind kind)
{
    static const char *const labels[] = { "small", "middle", "large" };
    g_autofree char *title = g_strdup_printf("time over size as %s", ifm_figure_kind_name(kind));
    ifm_document_part(document);
    IfmBlock *block = ifm_document_figure(document, ifm_figure_kind_name(kind), kind, title, "Larger takes longer.");
    block->figure.x = (IfmAxis){ "size", NULL, IFM_FIELD_REAL, kind != IFM_FIGURE_LINES, NAN, NAN };
    block->figure.y.title = "time";
    block->figure.y.logarithmic = kind != IFM_FIGURE_LINES;
    for (int s = 0; s < 2; s++)
    {
        IfmSeries *series = ifm_document_series(document, block, s == 0 ? "CPU" : "GPU", NULL);
        series->tone = s == 0 ? IFM_TONE_GOOD : IFM_TONE_PLAIN;
        for (int i = 0; i < 3; i++)
            add_point(document, series, labels[i], pow(10, i), (s + 1) * pow(10, i) * 1e6);
    }
}

static void add_timeline(IfmDocument *document)
{
    static const char *const groups[] = { "first", "second" };
    ifm_document_part(document);
    IfmBlock *block = ifm_document_figure(document, "timeline", IFM_FIGURE_TIMELINE, "Timeline", "Who works when.");
    block->figure.x.high = 10e6;
    for (int g = 0; g < 2; g++)
    {
        ifm_document_series(document, block, NULL, groups[g]);
        for (int s = 0; g == 0 && s < 2; s++)
        {
            IfmSeries *series = ifm_document_series(document, block, s == 0 ? "CPU" : "GPU", groups[g]);
            for (int i = 0; i < 3; i++)
            {
                IfmPoint point = IFM_POINT_INIT;
                point.label = i == 0 ? "0" : NULL;
                point.x = (3 * i + s) * 1e6;
                point.x_end = point.x + 2e6;
                ifm_document_point(document, series, &point);
            }
        }
    }
}

static IfmDocument *make_document(void)
{
    IfmDocument *document = ifm_document_new("example", "gnn-stages");
    IfmField *own = ifm_document_keep(document, g_memdup2(row_fields, sizeof row_fields), g_free);
    own[1].title = ifm_document_keep_text(document, "it took");
    ifm_document_title(document, "gnn-stages", "  The stages of GraphSAGE, with a bell \a and half a letter \xc3");
    ifm_document_note(document, "PARTIAL", IFM_TONE_WARN, "%d of %d cases are still to be measured", 3, 84);
    ifm_document_part(document);
    ifm_document_fact(document, "model",
                      "graphsage, seven stages, and a text long enough that it wraps on a narrow screen");
    ifm_document_fact(document, "", "which goes on");
    ifm_document_fact(document, "time spent", "3 min");
    ifm_document_heading(document, "Nothing to say");
    ifm_document_heading(document, "Devices");
    ifm_document_text(document, "All of %d were measured, ", 2);
    ifm_document_span(document, IFM_TONE_GOOD, TRUE, "well±");
    ifm_document_span(document, IFM_TONE_PLAIN, FALSE, " and often.");
    ifm_document_rows(document, "devices", own, g_array_append_vals(g_array_new(FALSE, FALSE, sizeof(Row)), rows, 2));
    IfmSection *below = ifm_document_heading(document, "CPU");
    below->level = 2;
    below->rest = " = openvino:CPU";
    GPtrArray *one = g_ptr_array_new();
    g_ptr_array_add(one, (gpointer)&rows[0]);
    ifm_document_table(document, "cpu", row_fields, one);
    ifm_document_warning(document, "the machine was \x1b[2Jbusy");
    for (int kind = 0; kind < IFM_N_FIGURE_KINDS; kind++)
        if (kind != IFM_FIGURE_TIMELINE)
            add_figure(document, (IfmFigureKind)kind);
    add_timeline(document);
    ifm_document_figure(document, "empty", IFM_FIGURE_SCATTER, "not drawn", NULL);
    ifm_document_part(document);
    ifm_document_figure(document, "plot", IFM_FIGURE_BARS, "for a plotter", NULL)->no_screen = TRUE;
    return document;
}

static void test_screen(void)
{
    g_autoptr(IfmDocument) document = make_document();
    g_autofree char *wide = ifm_document_to_screen(document, &(IfmScreen){ .width = 100, .utf8 = TRUE });
    check_golden("document.txt", wide);
    g_assert_null(strpbrk(wide, "\033\a"));
    g_autofree char *narrow = ifm_document_to_screen(document, &(IfmScreen){ .width = 40 });
    check_golden("document-narrow-ascii.txt", narrow);
    g_assert_true(g_str_is_ascii(narrow));
    g_autofree char *coloured =
        ifm_document_show(make_document(), &(IfmScreen){ .width = 100, .utf8 = TRUE, .colour = TRUE });
    g_assert_nonnull(strstr(coloured, "\033[1mgnn-stages\033[0m  The stages"));
    g_assert_nonnull(strstr(coloured, "\033[33mPARTIAL\033[0m: 3 of 84"));
    g_assert_nonnull(strstr(coloured, "\033[1m\033[32mwell±\033[0m\033[0m and often."));
    g_assert_null(strstr(coloured, "\033[2J"));
}

/* Whatever the width, nothing is cut off that is not drawn. */
static void test_widths(void)
{
    g_autoptr(IfmDocument) document = make_document();
    for (int width = 40; width < 160; width += 7)
    {
        g_autofree char *text = ifm_document_to_screen(document, &(IfmScreen){ .width = width, .utf8 = width % 2 });
        g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
        for (char **line = lines; *line != NULL; line++)
            g_assert_cmpint(ifm_text_width(*line), <=, width);
        g_assert_cmpint(strstr(text, "memory") != NULL, ==, width >= 60);
        g_assert_null(strstr(text, "Nothing to say"));
        g_assert_null(strstr(text, "not drawn"));
        g_assert_null(strstr(text, "for a plotter"));
    }
    g_autoptr(IfmDocument) empty = ifm_document_new("nothing", "nothing");
    g_autofree char *text = ifm_document_to_screen(empty, &(IfmScreen){ .width = 80 });
    g_assert_cmpstr(text, ==, "");
}

static const json_t *block_of(const json_t *json, const char *key)
{
    const json_t *sections = json_object_get(json, "sections");
    for (gsize s = 0; s < json_array_size(sections); s++)
    {
        const json_t *blocks = json_object_get(json_array_get(sections, s), "blocks");
        for (gsize i = 0; i < json_array_size(blocks); i++)
            if (g_strcmp0(ifm_member_text(json_array_get(blocks, i), "key"), key) == 0)
                return json_array_get(blocks, i);
    }
    return NULL;
}

static void test_json(void)
{
    g_autoptr(IfmDocument) document = make_document();
    json_auto_t *json = ifm_document_to_json(document);
    const json_t *sections = json_object_get(json, "sections"), *head = json_array_get(sections, 0);
    g_assert_cmpstr(ifm_member_text(json, "inferometer.format"), ==, "document");
    g_assert_cmpfloat(ifm_member_number(json, "inferometer.format_version"), ==, 1);
    g_assert_cmpstr(ifm_member_text(json, "of"), ==, "example");
    g_assert_cmpstr(ifm_member_text(head, "title"), ==, "gnn-stages");
    g_assert_cmpfloat(ifm_member_number(head, "level"), ==, 0);
    const json_t *note = json_array_get(json_object_get(head, "blocks"), 0);
    g_assert_cmpstr(ifm_member_text(note, "kind"), ==, "note");
    g_assert_cmpstr(ifm_member_text(note, "head"), ==, "PARTIAL");
    g_assert_cmpstr(ifm_member_text(note, "tone"), ==, "warn");
    const json_t *facts =
        json_object_get(json_array_get(json_object_get(json_array_get(sections, 1), "blocks"), 0), "facts");
    g_assert_cmpuint(json_array_size(facts), ==, 3);
    g_assert_cmpstr(ifm_member_text(json_array_get(facts, 2), "text"), ==, "3 min");
    const json_t *table = block_of(json, "devices"), *row = json_array_get(json_object_get(table, "rows"), 1);
    g_assert_cmpstr(ifm_member_text(row, "device"), ==, "GPU\033[31m"); /* which the JSON writer escapes */
    g_assert_cmpfloat(ifm_member_number(row, "time_ns"), ==, 345678);
    g_assert_cmpfloat(ifm_member_number(row, "bytes"), ==, 1 << 20);
    g_assert_cmpstr(ifm_member_text(json_array_get(json_object_get(table, "columns"), 1), "title"), ==, "it took");
    g_assert_cmpstr(ifm_member_text(json_array_get(json_object_get(table, "columns"), 1), "unit"), ==, "ns");
    g_assert_cmpuint(json_array_size(json_object_get(table, "marks")), ==, 1);
    g_assert_cmpstr(ifm_member_text(json_array_get(json_object_get(table, "marks"), 0), "mark"), ==, "rough");
    const json_t *strips = block_of(json, "strips"), *cpu = json_array_get(json_object_get(strips, "series"), 0);
    g_assert_cmpstr(ifm_member_text(strips, "figure"), ==, "strips");
    g_assert_cmpstr(ifm_member_text(strips, "sentence"), ==, "Larger takes longer.");
    g_assert_cmpstr(ifm_member_text(strips, "y.unit"), ==, "ns");
    const json_t *point = json_array_get(json_object_get(cpu, "points"), 1);
    g_assert_cmpstr(ifm_member_text(point, "label"), ==, "middle");
    g_assert_cmpfloat(ifm_member_number(point, "max"), ==, 1.5e7);
    g_assert_null(json_object_get(point, "x_end"));
    g_assert_nonnull(block_of(json, "plot"));
    char *text = json_dumps(json, JSON_COMPACT);
    g_assert_nonnull(text);
    g_assert_null(strpbrk(text, "\033\a"));
    free(text);
}

static void test_csv(void)
{
    g_autoptr(IfmDocument) document = make_document();
    g_autofree char *cpu = ifm_document_to_csv(document, "cpu"), *bars = ifm_document_to_csv(document, "bars"),
                    *all = ifm_document_to_csv(document, NULL);
    g_assert_cmpstr(cpu, ==, "device,time_ns,bytes\r\nCPU,1234567,4096\r\n");
    g_assert_true(g_str_has_prefix(bars, "group,series,label,x,x_end,y,lower,upper,min,max,mark\r\n"
                                         ",CPU,small,1,,1000000,900000,1100000,500000,1500000,\r\n"));
    g_assert_nonnull(strstr(all, "\r\n\r\nbars\r\ngroup,series,"));
    g_assert_true(g_str_has_prefix(all, "devices\r\ndevice,time_ns,bytes\r\n"));
    g_assert_null(ifm_document_to_csv(document, "no such table"));
}

/* A figure of a table's columns. */
static void test_plot(void)
{
    static const char *const device[] = { "device", NULL }, *const both[] = { "time_ns", "bytes", NULL };
    const void *const records[] = { &rows[0], &rows[1] };
    const IfmTable table = { row_fields, records, 2 };
    g_autoptr(IfmDocument) document = ifm_document_new("example", "plots");
    const IfmBlock *one = ifm_document_plot(document, "one", IFM_FIGURE_SCATTER, "time over memory", "As it says.", &table,
                                            &(IfmPlotColumns){ .series = device, .x = "bytes", .y = both + 1 });
    g_assert_cmpuint(one->figure.series->len, ==, 2);
    const IfmSeries *gpu = one->figure.series->pdata[1];
    g_assert_cmpstr(gpu->name, ==, rows[1].name);
    g_assert_cmpfloat(g_array_index(gpu->points, IfmPoint, 0).x, ==, 1 << 20);
    g_assert_cmpint(one->figure.x.kind, ==, IFM_FIELD_BYTES);
    const IfmBlock *two = ifm_document_plot(document, "two", IFM_FIGURE_BARS, "both", "As it says.", &table,
                                            &(IfmPlotColumns){ .label = device, .y = both });
    const IfmSeries *times = two->figure.series->pdata[0];
    g_assert_cmpuint(two->figure.series->len, ==, 2);
    g_assert_cmpstr(times->name, ==, "time");
    g_assert_cmpuint(times->points->len, ==, 2);
    g_assert_cmpint(g_array_index(times->points, IfmPoint, 1).mark, ==, IFM_MARK_ROUGH);
    g_assert_cmpstr(g_array_index(times->points, IfmPoint, 0).label, ==, "CPU");
    g_autofree char *text = ifm_document_to_screen(document, &(IfmScreen){ .width = 80 });
    g_assert_cmpstr(text, ==, ""); /* which shows tables */
}

/* Twenty rows of a detail, a detail that matters less, a warning, and a column that has room in a further block alone. */
static IfmDocument *make_long(void)
{
    static const IfmField fields[] = {
        { "device", "device", IFM_FIELD_TEXT, ifm_field_get_text, AT(name), IFM_FIELD_WHOLE },
        { "time_ns", "how long it took in all", IFM_FIELD_DURATION, get_time },
        { "bytes", "what it took of memory", IFM_FIELD_BYTES, ifm_field_get_count, AT(bytes), IFM_FIELD_DETAIL },
        { NULL },
    };
    IfmDocument *document = ifm_document_new("long", "long");
    GPtrArray *records = g_ptr_array_new();
    for (int i = 0; i < 20; i++)
        g_ptr_array_add(records, (gpointer)&rows[0]);
    ifm_document_text(document, "the verdict");
    ifm_document_detail(document, 1, "the rows");
    ifm_document_table(document, "rows", fields, records)->least_rows = 3;
    ifm_document_detail(document, 2, "a remark");
    ifm_document_text(document, "what one may skip");
    ifm_document_warning(document, "beware");
    return document;
}

static int count(const char *text, const char *part)
{
    int n = 0;
    for (const char *at = strstr(text, part); at != NULL; at = strstr(at + 1, part))
        n++;
    return n;
}

/* Of the details, those that matter more first, what there are lines for; what is none stays whatever that takes. */
static void test_lines(void)
{
    g_autoptr(IfmDocument) document = make_long();
    for (int lines = 0; lines <= 60; lines++)
    {
        const IfmScreen screen = { .width = 40, .lines = lines };
        g_autofree char *page = ifm_document_to_screen(document, &screen);
        const int n = count(page, "\n"), n_rows = count(page, "1.23 ms");
        const gboolean whole = count(page, "--all") == 0;
        g_test_message("%d:\n%s", lines, page);
        g_assert_cmpint(n, <=, lines == 0 ? 60 : MAX(lines, 4));
        g_assert_nonnull(strstr(page, "the verdict\n"));
        g_assert_nonnull(strstr(page, "warning: beware\n"));
        g_assert_true(whole == (lines == 0 || lines >= 48));
        g_assert_cmpint(count(page, "4.00 KiB"), ==, whole ? 20 : 0);
        const gboolean skips = lines != 0 && lines < 11 && !(lines >= 5 && lines < 10); /* a table takes 10 lines */
        g_assert_cmpint(count(page, "what one may skip"), ==, !skips);
        g_assert_cmpint(count(page, ", a remark\n"), ==, skips);
        g_assert_cmpint(n_rows, ==, whole || lines >= 27 ? 20 : lines < 10 ? 0 : MAX(lines - 8, 3));
        if (n_rows > 0 && n_rows < 20)
        {
            g_autofree char *more = g_strdup_printf("(%d more)\n", 20 - n_rows);
            g_assert_nonnull(strstr(page, more));
        }
    }
}

/* A page is headed by questions with their answers, and has details on demand; a terminal has the blocks alone. */
static void test_questions(void)
{
    g_autoptr(IfmDocument) document = ifm_document_new("example", "questions");
    const IfmDocument *documents[] = { document };
    ifm_document_question(document, "Which device?", "The CPU, by %d rounds.", 6);
    ifm_document_text(document, "as measured");
    ifm_document_question(document, "Memory?", NULL); /* nothing is said of it */
    ifm_document_question(document, "Details", NULL);
    ifm_document_text(document, "all");
    ifm_document_closed(document, "CPU: %d kernels", 24);
    ifm_document_text(document, "kernels");
    g_autofree char *screen = ifm_document_to_screen(document, &(IfmScreen){ .width = 80 });
    g_assert_cmpstr(screen, ==, "as measured\n\nall\n\nkernels\n");
    g_autofree char *page = ifm_documents_to_html(documents, 1, "questions");
    g_assert_nonnull(strstr(page, "<h2>Which device?</h2>\n<p class=\"lead\">The CPU, by 6 rounds.</p>"));
    g_assert_nonnull(strstr(page, ">Which device?</a>"));
    g_assert_null(strstr(page, "Memory?"));
    g_assert_nonnull(strstr(page, "<details class=\"closed\"><summary>CPU: 24 kernels</summary>\n<p>kernels</p>"));
    json_auto_t *json = ifm_document_to_json(document);
    const json_t *first = json_array_get(json_object_get(json, "sections"), 0);
    g_assert_cmpstr(json_string_value(json_object_get(first, "question")), ==, "Which device?");
    g_assert_cmpstr(json_string_value(json_object_get(first, "answer")), ==, "The CPU, by 6 rounds.");
}

/* Links lead to questions; to documents where two have the same. */
static void test_navigation(void)
{
    IfmDocument *documents[3];
    static const char *const titles[] = { "one", "two", "three" }, *const questions[] = { "How long?", "How sure?",
                                                                                          "How long?" };
    for (gsize i = 0; i < G_N_ELEMENTS(documents); i++)
    {
        documents[i] = ifm_document_new("example", titles[i]);
        ifm_document_question(documents[i], questions[i], "%s", titles[i]);
        ifm_document_question(documents[i], titles[i], "that");
    }
    g_autofree char *two = ifm_documents_to_html((const IfmDocument *const *)documents, 2, "page"),
                    *three = ifm_documents_to_html((const IfmDocument *const *)documents, 3, "page");
    g_assert_nonnull(strstr(two, "<a href=\"#s0-0\">How long?</a>\n<a href=\"#s0-1\">one</a>\n"
                                 "<a href=\"#s1-0\">How sure?</a>\n<a href=\"#s1-1\">two</a>\n</nav>"));
    g_assert_nonnull(strstr(three, "<nav aria-label=\"Sections\">\n<a href=\"#s0-0\">one</a>\n<a href=\"#s1-0\">two</a>\n"
                                   "<a href=\"#s2-0\">three</a>\n</nav>"));
    for (gsize i = 0; i < G_N_ELEMENTS(documents); i++)
        ifm_document_free(documents[i]);
}

/* What is said of several devices alike is said once; what is not known is not said; a device may be called as a fact is.
 */
static void test_summary(void)
{
    static const char *const devices[] = { "A", "B", "C", "D", "A" };
    IfmDocument *document = ifm_document_new("example", "summary");
    ifm_document_verdict(document, "it is so");
    ifm_document_check_of(document, IFM_TRUST_CARE, NULL, "outputs", "were not compared");
    for (gsize i = 0; i < G_N_ELEMENTS(devices); i++)
    {
        ifm_document_check_of(document, IFM_TRUST_CARE, devices[i], "the median", "has no interval");
        ifm_document_check_of(document, i == 3 ? IFM_TRUST_BAD : IFM_TRUST_CARE, devices[i], "the times",
                              "drifted by %" G_GSIZE_FORMAT " %%", i);
    }
    static const IfmTile tiles[] = { { "latency", "1 ms", "–; 88 % of the peak", NAN },
                                     { "rate", "2", "1 to 3; predicted –", NAN },
                                     { "size", "3", "–", NAN },
                                     { "growth", "–", "of A", NAN } };
    for (gsize i = 0; i < G_N_ELEMENTS(tiles); i++)
        ifm_document_tile(document, &tiles[i]);
    ifm_document_provenance_device(document, "CPU", "openvino:CPU");
    ifm_document_provenance(document, "CPU", "a processor");
    g_assert_cmpuint(document->summary->facts->len, ==, 2);
    g_autofree char *line = summary_line(document);
    g_assert_cmpstr(
        line, ==,
        "it is so; this is not to be trusted |  | bad: care outputs were not compared; care the median of A, B, C "
        "and 1 more has no interval; care the times of A drifted by 0 %; by other figures so it is of B and C; bad "
        "the times of D drifted by 3 %; care the times of A drifted by 4 %; | | latency 1 ms 88 % of the peak; "
        "rate 2 1 to 3; size 3 ;");
}

/* A page's head: a scale with its words, without what is not known; six checks, the rest on demand; what a step gains. */
static void test_hero(void)
{
    IfmVerdictRange estimate = { 2e6, NAN, INFINITY, 1e6, TRUE, IFM_FIELD_DURATION, "measured", "shorter", "longer" };
    for (guint i = 0; i < 2; i++)
    {
        g_autoptr(IfmDocument) document = ifm_document_new("example", "hero");
        const IfmDocument *documents[] = { document };
        ifm_document_verdict(document, "it is so");
        ifm_document_next(document, NULL, "at most 1 ms", "fuse <it>");
        for (guint k = 0; k < 6 + 2 * i; k++)
            ifm_document_check(document, k == 7 ? IFM_TRUST_BAD : IFM_TRUST_GOOD, "check %u", k);
        ifm_document_estimate(document, &estimate);
        g_autofree char *page = ifm_documents_to_html(documents, 1, "hero");
        g_assert_nonnull(strstr(page, "fuse &lt;it&gt;: <span class=\"strong\">at most 1 ms</span>"));
        g_assert_nonnull(strstr(page, i == 0 ? "\"measured 1.00\302\240ms, value 2.00\302\240ms\">"
                                             : "\"value 2.00\302\240ms, 1.00 to 3.00\302\240ms\">"));
        g_assert_cmpint(count(page, ">measured</text>"), ==, i == 0 ? 2 : 0); /* wide and narrow */
        g_assert_cmpint(count(page, "class=\"iv l1\""), ==, i == 0 ? 0 : 2);
        g_assert_cmpint(count(page, "<text class=\"mu\""), ==, i == 0 ? 6 : 4);
        g_assert_cmpint(count(page, "2 more checks</summary>"), ==, (int)i);
        g_assert_true(i == 0 || strstr(page, "check 7<") < strstr(page, "check 0<"));
        estimate = (IfmVerdictRange){ 2e6, 1e6, 3e6, NAN, TRUE, IFM_FIELD_DURATION, "measured", "shorter", "longer" };
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/report-document/screen", test_screen);
    g_test_add_func("/report-document/widths", test_widths);
    g_test_add_func("/report-document/json", test_json);
    g_test_add_func("/report-document/csv", test_csv);
    g_test_add_func("/report-document/plot", test_plot);
    g_test_add_func("/report-document/lines", test_lines);
    g_test_add_func("/report-document/questions", test_questions);
    g_test_add_func("/report-document/navigation", test_navigation);
    g_test_add_func("/report-document/summary", test_summary);
    g_test_add_func("/report-document/hero", test_hero);
    return g_test_run();
}
