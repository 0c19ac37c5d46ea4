#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <locale.h>
#include <math.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <base/base.h>

#include "document/document-private.h"
#include "document/golden.h"
#include "folder.h"

/* --- a table of every kind of field ----------------------------------------------------------------------------------- */

typedef struct
{
    const char *name;
    gboolean good;
    gint64 n;
    double real, time_ns, bytes, share;
    double marks[5];
} Row;

static const Row rows[] = {
    { "plain", TRUE, 120, 0.5, 1234567, 4096, 0.625, { 1.1e6, 1.2e6, 1234567, 1.3e6, 1.5e6 } },
    { "a, \"quoted\"\nline", FALSE, -3, 1.0 / 3, 2.5e6, 3 * 1048576.0, 0.25, { 2e6, 2.4e6, 2.5e6, 2.6e6, 9e6 } },
    { "größe 大", TRUE, 0, 1e-9, 812000, 17, 0.125, { 8e5, 8.1e5, 812000, 8.2e5, 8.4e5 } },
    { "refused", TRUE, 2, NAN, NAN, NAN, NAN, { NAN, NAN, NAN, NAN, NAN } },
    { NULL, FALSE, 1, INFINITY, 0, 0, 0, { 1e6, 1e6, 1e6, 1e6, 1e6 } },
};

static void get_good(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_boolean(value, ((const Row *)record)->good);
}

static void get_marks(const void *record, const void *user, IfmValue *value)
{
    const double *m = ((const Row *)record)->marks;
    ifm_value_set_interval(value, m[0], m[1], m[2], m[3], m[4]);
}

#define AT(member) IFM_FIELD_AT(Row, member)

static const IfmField fields[] = {
    { "name", "name", IFM_FIELD_TEXT, ifm_field_get_text, AT(name) },
    { "good", "good", IFM_FIELD_BOOLEAN, get_good },
    { "n", "n", IFM_FIELD_INTEGER, ifm_field_get_integer, AT(n) },
    { "real", "real", IFM_FIELD_REAL, ifm_field_get_real, AT(real) },
    { "time_ns", "time", IFM_FIELD_DURATION, ifm_field_get_real, AT(time_ns) },
    { "strip", "interval", IFM_FIELD_INTERVAL, get_marks },
    { "size_bytes", "size", IFM_FIELD_BYTES, ifm_field_get_real, AT(bytes), IFM_FIELD_BREAK },
    { "share_ratio", "share", IFM_FIELD_RATIO, ifm_field_get_real, AT(share) },
    { "bar", "", IFM_FIELD_BAR, ifm_field_get_real, AT(share), IFM_FIELD_NO_EXPORT },
    { "raw", NULL, IFM_FIELD_REAL, ifm_field_get_real, AT(time_ns), IFM_FIELD_NO_SCREEN },
    { NULL },
};

static IfmTable table_of(const void *const *records, gsize n)
{
    return (IfmTable){ fields, records, n };
}

static IfmTable all_rows(void)
{
    static const void *records[G_N_ELEMENTS(rows)];
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
        records[i] = &rows[i];
    return table_of(records, G_N_ELEMENTS(rows));
}

static void test_screen(void)
{
    IfmTable table = all_rows();
    g_autofree char *wide = ifm_table_to_screen(&table, &(IfmScreen){ .width = 160, .utf8 = TRUE });
    check_golden("wide.txt", wide);
    g_autofree char *narrow = ifm_table_to_screen(&table, &(IfmScreen){ .width = 72 });
    check_golden("narrow-ascii.txt", narrow);
    g_autofree char *coloured = ifm_table_to_screen(&table, &(IfmScreen){ .width = 100, .utf8 = TRUE, .colour = TRUE });
    check_golden("colour.txt", coloured);
}

/* Every line fits, whatever the width, down to the least that a screen is taken to have. */
static void test_fits(void)
{
    IfmTable table = all_rows();
    for (int width = 40; width < 200; width += 3)
    {
        g_autofree char *text = ifm_table_to_screen(&table, &(IfmScreen){ .width = width, .utf8 = width % 2 });
        g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
        for (char **line = lines; *line != NULL; line++)
            g_assert_cmpint(ifm_text_width(*line), <=, width);
        for (gsize i = 0; fields[i].title != NULL; i++)
            g_assert_nonnull(strstr(text, fields[i].title));
    }
}

typedef struct
{
    const char *device, *kind;
    double time_ns;
} NamedRow;

static void get_named_marks(const void *record, const void *user, IfmValue *value)
{
    double x = ((const NamedRow *)record)->time_ns;
    ifm_value_set_interval(value, 0.9 * x, 0.95 * x, x, 1.05 * x, 1.1 * x);
}

#define NAMED(member) IFM_FIELD_AT(NamedRow, member)

static const NamedRow named_rows[] = {
    { "simulated:meteor-lake/NPU-COMPILING", "f32", 17.49e6 },
    { "simulated:meteor-lake/GPU-COMPILING", "f32", 4218e3 },
    { "simulated:meteor-lake/CPU-COMPILING", "f32", 0 },
};

/* What tells a row from the others stands in every block: many have the same name. */
static void check_distinct(const char *const *names, int width, gboolean utf8)
{
    static const IfmField named[] = { { "name", "layer", IFM_FIELD_TEXT, ifm_field_get_text, AT(name) },
                                      { "time_ns", "time", IFM_FIELD_DURATION, ifm_field_get_real, AT(time_ns) },
                                      { NULL } };
    Row some[8] = { { NULL } };
    const void *records[8];
    gsize n = 0;
    for (; names[n] != NULL; n++)
    {
        some[n].name = names[n];
        some[n].time_ns = 1e6;
        records[n] = &some[n];
    }
    g_autofree char *text =
        ifm_table_to_screen(&(IfmTable){ named, records, n }, &(IfmScreen){ .width = width, .utf8 = utf8 });
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    for (gsize i = 0; i < n; i++)
        g_assert_true(g_hash_table_add(seen, lines[2 + i]));
}

/* Names that differ in one place only, at the beginning, in the middle and at the end, stay distinct where they are cut. */
static void test_distinct(void)
{
    static const char *const tables[][6] = {
        { "/model/layers.0/self_attn/q_proj/MatMul_quant_output", "/model/layers.0/self_attn/k_proj/MatMul_quant_output",
          "/model/layers.1/self_attn/k_proj/MatMul_quant_output" },
        { "a/encoder/block/attention/self/projection/of/the/value",
          "b/encoder/block/attention/self/projection/of/the/value" },
        { "encoder.block.attention.self.projection.of.the.value.weight0",
          "encoder.block.attention.self.projection.of.the.value.weight1" },
        { "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaXaaaaaaaaaaaaaaaaaaaaaaaaa",
          "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaYaaaaaaaaaaaaaaaaaaaaaaaaa",
          "aaaaaaaaaaaaaaaaaZaaaaaaaaaaaaaaaaaXaaaaaaaaaaaaaaaaaaaaaaaaa" },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(tables); i++)
        for (int width = 40; width <= 90; width += 7)
        {
            check_distinct(tables[i], MAX(width, i == 3 ? 80 : 0), TRUE);
            check_distinct(tables[i], MAX(width, i == 3 ? 80 : 0), FALSE);
        }
}

static void test_keys(void)
{
    static const Row few[] = { { .name = "CPU", .n = 1, .time_ns = 1e6, .bytes = 1048576, .share = 0.25 },
                               { .name = "CPU", .n = 2, .time_ns = 2e6, .bytes = 2097152, .share = 0.5 } };
    static const IfmField keyed[] = {
        { "name", "name", IFM_FIELD_TEXT, ifm_field_get_text, AT(name), IFM_FIELD_WHOLE | IFM_FIELD_KEY },
        { "n", "n", IFM_FIELD_INTEGER, ifm_field_get_integer, AT(n), IFM_FIELD_KEY },
        { "time", "time", IFM_FIELD_DURATION, ifm_field_get_real, AT(time_ns) },
        { "rate", "MB/s", IFM_FIELD_RATE, ifm_field_get_real, AT(bytes) },
        { "share", "share", IFM_FIELD_RATIO, ifm_field_get_real, AT(share) },
        { NULL },
    };
    const void *const records[] = { &few[0], &few[1] };
    IfmTable table = { keyed, records, 2 };
    g_autofree char *text = ifm_table_to_screen(&table, &(IfmScreen){ .width = 24 });
    g_assert_cmpstr(text, ==,
                    "name  n     time  MB/s\n"
                    "----------------------\n"
                    "CPU   1  1.00 ms  1.00\n"
                    "CPU   2  2.00 ms  2.00\n"
                    "\n"
                    "name  n   share\n"
                    "---------------\n"
                    "CPU   1  25.0 %\n"
                    "CPU   2  50.0 %\n");
}

/* Of members of other kinds; "" may be a text or none. */
static void test_getters(void)
{
    typedef struct
    {
        const char *none, *empty, *text;
        gint64 integer;
        gsize count;
    } Members;
    static const IfmField members[] = {
        { "none", NULL, IFM_FIELD_TEXT, ifm_field_get_text, IFM_FIELD_AT(Members, none) },
        { "empty", NULL, IFM_FIELD_TEXT, ifm_field_get_text, IFM_FIELD_AT(Members, empty) },
        { "some_none", NULL, IFM_FIELD_TEXT, ifm_field_get_some_text, IFM_FIELD_AT(Members, none) },
        { "some_empty", NULL, IFM_FIELD_TEXT, ifm_field_get_some_text, IFM_FIELD_AT(Members, empty) },
        { "some_text", NULL, IFM_FIELD_TEXT, ifm_field_get_some_text, IFM_FIELD_AT(Members, text) },
        { "integer", NULL, IFM_FIELD_INTEGER, ifm_field_get_integer, IFM_FIELD_AT(Members, integer) },
        { "count", NULL, IFM_FIELD_INTEGER, ifm_field_get_count, IFM_FIELD_AT(Members, count) },
        { NULL },
    };
    static const Members one = { NULL, "", "text", G_MININT64, 3 };
    const void *const records[] = { &one };
    IfmTable table = { members, records, 1 };
    json_auto_t *json = ifm_table_to_json(&table);
    g_autofree char *text = json_dumps(json, JSON_COMPACT);
    g_assert_cmpstr(text, ==,
                    "[{\"none\":null,\"empty\":\"\",\"some_none\":null,\"some_empty\":null,\"some_text\":\"text\","
                    "\"integer\":-9223372036854775808,\"count\":3}]");
}

static void get_marked(const void *record, const void *user, IfmValue *value)
{
    const Row *row = record;
    ifm_value_set_real(value, row->time_ns);
    value->mark = (IfmMark)row->n;
}

/* Marks stand before figures, which stay below each other. */
static void test_marks(void)
{
    static const Row few[] = { { .time_ns = 1e6, .n = IFM_MARK_NONE },
                               { .time_ns = 20e6, .n = IFM_MARK_ROUGH },
                               { .time_ns = 3e9, .n = IFM_MARK_UNKNOWN },
                               { .time_ns = NAN, .n = IFM_MARK_UNKNOWN } };
    static const IfmField marked[] = { { "time", "time", IFM_FIELD_DURATION, get_marked }, { NULL } };
    const void *const records[] = { &few[0], &few[1], &few[2], &few[3] };
    IfmTable table = { marked, records, 4 };
    g_autofree char *text = ifm_table_to_screen(&table, &(IfmScreen){ .width = 40 });
    g_assert_cmpstr(text, ==, "    time\n--------\n 1.00 ms\n~20.0 ms\n?3.00 s\n       -\n");
}

static const IfmField named_fields[] = {
    { "device", "device", IFM_FIELD_TEXT, ifm_field_get_text, NAMED(device), IFM_FIELD_WHOLE },
    { "dtype", "dtype", IFM_FIELD_TEXT, ifm_field_get_text, NAMED(kind), IFM_FIELD_FOLD },
    { "strip", "interval", IFM_FIELD_INTERVAL, get_named_marks },
    { "median", "median", IFM_FIELD_DURATION, ifm_field_get_real, NAMED(time_ns) },
    { "mean", "mean", IFM_FIELD_DURATION, ifm_field_get_real, NAMED(time_ns) },
    { NULL },
};

/* Names that differ in their middle alone stay whole while they fit the screen at all; the strip and the further columns
 * give way. */
static void test_whole(void)
{
    const void *records[] = { &named_rows[0], &named_rows[1], &named_rows[2] };
    IfmTable table = { named_fields, records, 3 };
    for (int width = 48; width < 130; width++)
    {
        g_autofree char *text = ifm_table_to_screen(&table, &(IfmScreen){ .width = width, .utf8 = TRUE });
        g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
        for (char **line = lines; *line != NULL; line++)
            g_assert_cmpint(ifm_text_width(*line), <=, width);
        if (width >= 56) /* the longest name and the least strip */
            for (gsize i = 0; i < 3; i++)
                g_assert_nonnull(strstr(text, named_rows[i].device));
    }
    /* Unbounded: one block, a line a row beside head, rule, axis, and what all rows share above them. */
    g_autofree char *text = ifm_table_to_screen(&table, &(IfmScreen){ .width = IFM_SCREEN_UNBOUNDED, .utf8 = TRUE });
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    g_assert_cmpuint(g_strv_length(lines), ==, 2 + 2 + 3 + 1 + 1);
    g_assert_cmpstr(lines[0], ==, "dtype f32");
    g_assert_cmpint(ifm_text_width(lines[3]), ==, 35 + 2 + 40 + 2 + 7 + 2 + 7);
    /* One record alone says everything in its row. */
    table.n_records = 1;
    g_autofree char *one = ifm_table_to_screen(&table, &(IfmScreen){ .width = IFM_SCREEN_UNBOUNDED, .utf8 = TRUE });
    g_assert_true(g_str_has_prefix(one, "device "));
}

/* Each value has the unit it is short in; values and units each end below each other; nothing is a plain 0. */
static void test_units(void)
{
    const void *records[] = { &named_rows[0], &named_rows[1], &named_rows[2] };
    IfmTable table = { named_fields + 3, records, 3 };
    g_autofree char *text = ifm_table_to_screen(&table, &(IfmScreen){ .width = 80 });
    g_assert_cmpstr(text, ==,
                    " median     mean\n"
                    "----------------\n"
                    "17.5 ms  17.5 ms\n"
                    "4.22 ms  4.22 ms\n"
                    "   0        0\n");
}

static void test_wrap(void)
{
    g_autoptr(GString) out = g_string_new("ab: ");
    ifm_format_wrap(out, "\033[1;31mone\033[0m two three overlongword four", 2, 4, 12);
    g_assert_cmpstr(out->str, ==, "ab: \033[1;31mone\033[0m two\n  three\n  overlongword\n  four\n");
    g_string_truncate(out, 0); /* a name with its settings */
    ifm_format_wrap(out, "of net,a=1,bcd=2,e=3, and", 3, 0, 12);
    g_assert_cmpstr(out->str, ==, "of net,a=1,\n   bcd=2,\n   e=3, and\n");
}

static void test_csv(void)
{
    IfmTable table = all_rows();
    g_autofree char *csv = ifm_table_to_csv(&table);
    check_golden("table.csv", csv);
    g_assert_true(g_str_has_suffix(csv, "\r\n"));
}

static void test_json(void)
{
    IfmTable table = all_rows();
    json_t *json = ifm_table_to_json(&table);
    g_assert_cmpuint(json_array_size(json), ==, G_N_ELEMENTS(rows));
    const json_t *first = json_array_get(json, 0), *refused = json_array_get(json, 3), *last = json_array_get(json, 4);
    g_assert_cmpstr(json_string_value(json_object_get(first, "name")), ==, "plain");
    g_assert_true(json_is_true(json_object_get(first, "good")));
    g_assert_cmpint(json_integer_value(json_object_get(first, "n")), ==, 120);
    g_assert_cmpfloat(json_real_value(json_object_get(first, "time_ns")), ==, 1234567);
    g_assert_cmpfloat(json_real_value(json_object_get(json_object_get(first, "strip"), "upper")), ==, 1.3e6);
    g_assert_null(json_object_get(first, "bar"));
    g_assert_true(json_is_null(json_object_get(refused, "time_ns")));
    g_assert_true(json_is_null(json_object_get(refused, "strip")));
    g_assert_true(json_is_null(json_object_get(last, "name")));
    g_assert_true(json_is_null(json_object_get(last, "real")));
    json_decref(json);
}

/* What CSV holds reads back as the same number. */
static void test_csv_exact(void)
{
    static const double values[] = { 0.1, 1.0 / 3, 1e300, 5e-324, 123456789012345678.0, -0.0 };
    for (gsize i = 0; i < G_N_ELEMENTS(values); i++)
    {
        Row row = { .name = "x", .real = values[i] };
        const void *records[] = { &row };
        IfmTable table = table_of(records, 1);
        g_autofree char *csv = ifm_table_to_csv(&table);
        g_auto(GStrv) lines = g_strsplit(csv, "\r\n", -1);
        g_auto(GStrv) cells = g_strsplit(lines[1], ",", -1);
        g_assert_cmpfloat(g_ascii_strtod(cells[3], NULL), ==, values[i]);
    }
}

/* Each character of a text that would end a cell, or begin a quoted one, by itself. */
static void test_csv_quoted(void)
{
    static const struct
    {
        const char *text, *cell;
    } texts[] = { { "plain", "plain" }, { "a,b", "\"a,b\"" }, { "5\" disk", "\"5\"\" disk\"" }, { "a\nb", "\"a\nb\"" } };
    for (gsize i = 0; i < G_N_ELEMENTS(texts); i++)
    {
        Row row = { .name = texts[i].text };
        const void *records[] = { &row };
        IfmTable table = table_of(records, 1);
        g_autofree char *csv = ifm_table_to_csv(&table), *start = g_strconcat("\r\n", texts[i].cell, ",", NULL);
        g_assert_nonnull(strstr(csv, start));
    }
}

/* A locale with a decimal comma changes nothing. */
static void test_locale(void)
{
    static const char *const names[] = { "de_DE.UTF-8", "fr_FR.UTF-8", "nl_NL.UTF-8", "ru_RU.UTF-8" };
    const char *set = NULL;
    for (gsize i = 0; set == NULL && i < G_N_ELEMENTS(names); i++)
        set = setlocale(LC_NUMERIC, names[i]);
    if (set == NULL)
    {
        g_test_skip("no locale with a decimal comma on this machine");
        return;
    }
    g_autofree char *duration = ifm_format_duration(1234567);
    IfmTable table = all_rows();
    g_autofree char *csv = ifm_table_to_csv(&table);
    setlocale(LC_NUMERIC, "C");
    g_assert_cmpstr(duration, ==, "1.23 ms");
    check_golden("table.csv", csv);
}

/* --- numbers ------------------------------------------------------------------------------------------------------- */

static void test_durations(void)
{
    static const struct
    {
        double ns;
        const char *text;
    } known[] = {
        { 0, "0" },
        { 1, "1 ns" },
        { 812.6, "813 ns" },
        { 999, "999 ns" },
        { 1000, "1.00 µs" },
        { 9999.6, "10.0 µs" },
        { 99999.6, "100 µs" },
        { 999996, "1.00 ms" },
        { 1234567, "1.23 ms" },
        { 534e6, "534 ms" },
        { 61.5e9, "61.5 s" },
        { 36000e9, "36000 s" },
        { NAN, "-" },
        { -1234567, "−1.23 ms" },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(known); i++)
    {
        g_autofree char *text = ifm_format_duration(known[i].ns);
        g_assert_cmpstr(text, ==, known[i].text);
    }
}

static void test_other_numbers(void)
{
    g_autofree char *ratio = ifm_format_ratio(0.0123), *large = ifm_format_ratio(0.5), *none = ifm_format_ratio(NAN);
    g_assert_cmpstr(ratio, ==, "1.23 %");
    g_assert_cmpstr(large, ==, "50.0 %");
    g_assert_cmpstr(none, ==, "-");
    g_autofree char *bytes = ifm_format_bytes(2097152), *few = ifm_format_bytes(1000), *edge = ifm_format_bytes(1023.9);
    g_assert_cmpstr(bytes, ==, "2.00 MiB");
    g_assert_cmpstr(few, ==, "1000 B");
    g_assert_cmpstr(edge, ==, "1.00 KiB");
}

/* An interval as wide as its value says nothing: "no interval", and the others keep their own two digits. */
static void test_precisions(void)
{
    const double ratios[] = { 0.0123, 237.659, NAN, 1, 0.0999 };
    char *texts[G_N_ELEMENTS(ratios)];
    ifm_format_column(IFM_FIELD_PRECISION, ratios, G_N_ELEMENTS(ratios), texts);
    g_assert_cmpstr(texts[0], ==, "1.23 %");
    g_assert_cmpstr(texts[1], ==, "no interval");
    g_assert_null(texts[2]);
    g_assert_cmpstr(texts[3], ==, "no interval");
    g_assert_cmpstr(texts[4], ==, "9.99 %");
    for (gsize i = 0; i < G_N_ELEMENTS(ratios); i++)
        g_free(texts[i]);
    g_assert_cmpstr(ifm_field_unit(IFM_FIELD_PRECISION), ==, "ratio");
}

static void test_clean(void)
{
    g_autofree char *escaped = ifm_format_clean("a\033[31m\nb\xff\u202e");
    g_assert_cmpstr(escaped, ==, "a\\x1b[31m\\x0ab\uFFFD\\u202e");
    g_assert_cmpint(ifm_text_width("größe 大"), ==, 8);
    g_autofree char *bar = ifm_format_bar(0.5, 5, TRUE), *ascii = ifm_format_bar(2, 4, FALSE);
    g_assert_cmpstr(bar, ==, "██▌  ");
    g_assert_cmpstr(ascii, ==, "####");
}

/* --- writing ------------------------------------------------------------------------------------------------------- */

typedef struct
{
    char *folder, *path;
} Place;

static void place_init(Place *place, gconstpointer data)
{
    place->folder = g_dir_make_tmp("ifm-report-XXXXXX", NULL);
    place->path = g_build_filename(place->folder, "out.json", NULL);
}

static void place_clear(Place *place, gconstpointer data)
{
    remove_tree(place->folder);
    g_free(place->folder);
    g_free(place->path);
}

static guint n_files(const Place *place)
{
    guint n = 0;
    g_autoptr(GDir) dir = g_dir_open(place->folder, 0, NULL);
    while (g_dir_read_name(dir) != NULL)
        n++;
    return n;
}

static void assert_holds(const char *path, const char *expected)
{
    g_autofree char *text = NULL;
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    g_assert_cmpstr(text, ==, expected);
}

static void test_write(Place *place, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    struct stat what;
    g_assert_true(ifm_output_write(place->path, "one", 3, &error));
    g_assert_no_error(error);
    g_chmod(place->path, 0640);
    g_assert_true(ifm_output_write(place->path, "two", 3, &error));
    assert_holds(place->path, "two");
    g_assert_cmpint(g_stat(place->path, &what), ==, 0);
    g_assert_cmpint(what.st_mode & 0777, ==, 0640);
    g_assert_cmpuint(n_files(place), ==, 1);
}

static void test_write_link(Place *place, gconstpointer data)
{
    g_autofree char *link_path = g_build_filename(place->folder, "link", NULL);
    g_assert_true(ifm_output_write(place->path, "one", 3, NULL));
    g_assert_cmpint(symlink("out.json", link_path), ==, 0);
    g_autoptr(GError) error = NULL;
    g_assert_false(ifm_output_write(link_path, "two", 3, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE);
    g_assert_true(g_file_test(link_path, G_FILE_TEST_IS_SYMLINK));
    assert_holds(place->path, "one");
}

static void test_write_refused(Place *place, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    g_assert_false(ifm_output_write("/dev/full", "x", 1, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE);
    g_assert_nonnull(strstr(error->message, "/dev/full"));
    g_clear_error(&error);
    g_assert_false(ifm_output_write(place->folder, "x", 1, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE);
    g_clear_error(&error);
    g_assert_false(ifm_output_write("/nonexistent/x", "x", 1, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE);
}

/* A file system that takes no more: the old file stays, nothing else does. (A limit on file size stands for the full disk.)
 */
static void test_write_full(Place *place, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    struct rlimit old, small = { 4096, RLIM_INFINITY };
    g_autofree char *much = g_strnfill(100000, 'x');
    g_assert_true(ifm_output_write(place->path, "old", 3, NULL));
    getrlimit(RLIMIT_FSIZE, &old);
    small.rlim_max = old.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &small), ==, 0);
    gboolean written = ifm_output_write(place->path, much, 100000, &error);
    setrlimit(RLIMIT_FSIZE, &old);
    g_assert_false(written);
    g_assert_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE);
    assert_holds(place->path, "old");
    g_assert_cmpuint(n_files(place), ==, 1);
}

static void test_screen_detect(void)
{
    g_setenv("COLUMNS", "77", TRUE);
    int fd = g_open("/dev/null", O_WRONLY | O_CLOEXEC, 0);
    g_assert_cmpint(ifm_screen_detect(fd).width, ==, 77);
    g_unsetenv("COLUMNS");
    g_assert_cmpint(ifm_screen_detect(fd).width, ==, IFM_SCREEN_UNBOUNDED);
    g_assert_false(ifm_screen_detect(fd).colour);
    close(fd);
}

/* On a terminal there is colour, but not where the user said so. */
static void test_screen_terminal(void)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0)
    {
        g_test_skip("no pseudo-terminal on this machine");
        return;
    }
    int fd = g_open(ptsname(master), O_RDWR | O_NOCTTY, 0);
    g_setenv("TERM", "xterm", TRUE);
    g_unsetenv("NO_COLOR");
    g_assert_true(ifm_screen_detect(fd).colour);
    g_setenv("NO_COLOR", "1", TRUE);
    g_assert_false(ifm_screen_detect(fd).colour);
    g_unsetenv("NO_COLOR");
    g_setenv("TERM", "dumb", TRUE);
    g_assert_false(ifm_screen_detect(fd).colour);
    close(fd);
    close(master);
}

/* --- members ---------------------------------------------------------------------------------------------------------- */

typedef struct
{
    const char *text;
    gint64 large;
    double real;
} Inner;

typedef struct
{
    const Inner *inner; /* or NULL */
    int negative;
    guint8 byte;
    guint16 small;
    guint plain;
    gsize count;
    double real;
    const char *none, *empty;
} Outer;

static const IfmField member_fields[] = {
    { "text", "", IFM_FIELD_TEXT, IFM_MEMBER_VIA(Outer, inner, text) },
    { "large", "", IFM_FIELD_INTEGER, IFM_MEMBER_VIA(Outer, inner, large) },
    { "giga", "", IFM_FIELD_REAL, IFM_MEMBER_VIA(Outer, inner, real, .per = 1e9) },
    { "negative", "", IFM_FIELD_INTEGER, IFM_MEMBER(Outer, negative) },
    { "some", "", IFM_FIELD_INTEGER, IFM_MEMBER(Outer, negative, .some = TRUE) },
    { "above", "", IFM_FIELD_INTEGER, IFM_MEMBER(Outer, negative, .some = TRUE, .above = -8) },
    { "byte", "", IFM_FIELD_BOOLEAN, IFM_MEMBER(Outer, byte) },
    { "small", "", IFM_FIELD_INTEGER, IFM_MEMBER(Outer, small) },
    { "plain", "", IFM_FIELD_INTEGER, IFM_MEMBER(Outer, plain) },
    { "count", "", IFM_FIELD_BYTES, IFM_MEMBER(Outer, count) },
    { "whole", "", IFM_FIELD_INTEGER, IFM_MEMBER(Outer, real) },
    { "none", "", IFM_FIELD_TEXT, IFM_MEMBER(Outer, none) },
    { "empty", "", IFM_FIELD_TEXT, IFM_MEMBER(Outer, empty) },
    { "no_empty", "", IFM_FIELD_TEXT, IFM_MEMBER(Outer, empty, .some = TRUE) },
    { NULL },
};

/* Each type of a member, behind a pointer too; what is not there is empty. */
static void test_members(void)
{
    const Inner inner = { "a", G_GINT64_CONSTANT(5000000000), 2.5e9 };
    const Outer rows[] = { { &inner, -7, 1, 65535, 4000000000u, 3, 41.9, NULL, "" },
                           { NULL, 7, 0, 0, 0, 0, (double)NAN, "b", "c" } };
    const void *records[] = { &rows[0], &rows[1] };
    const IfmTable table = { member_fields, records, 2 };
    g_autofree char *csv = ifm_table_to_csv(&table);
    g_assert_cmpstr(csv, ==,
                    "text,large,giga,negative,some,above,byte,small,plain,count,whole,none,empty,no_empty\r\n"
                    "a,5000000000,2.5,-7,,-7,true,65535,4000000000,3,41,,,\r\n"
                    ",,,7,7,7,false,0,0,0,,b,c,c\r\n");
    json_auto_t *json = ifm_table_to_json(&table);
    const json_t *first = json_array_get(json, 0);
    g_assert_true(json_is_string(json_object_get(first, "empty")) && json_is_null(json_object_get(first, "no_empty")));
    g_assert_true(json_is_null(json_object_get(first, "none")) && json_is_null(json_object_get(first, "some")));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/report/screen", test_screen);
    g_test_add_func("/report/fits", test_fits);
    g_test_add_func("/report/whole", test_whole);
    g_test_add_func("/report/distinct", test_distinct);
    g_test_add_func("/report/keys", test_keys);
    g_test_add_func("/report/getters", test_getters);
    g_test_add_func("/report/marks", test_marks);
    g_test_add_func("/report/units", test_units);
    g_test_add_func("/report/wrap", test_wrap);
    g_test_add_func("/report/csv", test_csv);
    g_test_add_func("/report/csv-exact", test_csv_exact);
    g_test_add_func("/report/csv-quoted", test_csv_quoted);
    g_test_add_func("/report/json", test_json);
    g_test_add_func("/report/locale", test_locale);
    g_test_add_func("/report/durations", test_durations);
    g_test_add_func("/report/numbers", test_other_numbers);
    g_test_add_func("/report/precisions", test_precisions);
    g_test_add_func("/report/clean", test_clean);
    g_test_add_func("/report/screen-detect", test_screen_detect);
    g_test_add_func("/report/screen-terminal", test_screen_terminal);
    g_test_add("/report/write", Place, NULL, place_init, test_write, place_clear);
    g_test_add("/report/write-link", Place, NULL, place_init, test_write_link, place_clear);
    g_test_add("/report/write-refused", Place, NULL, place_init, test_write_refused, place_clear);
    g_test_add("/report/write-full", Place, NULL, place_init, test_write_full, place_clear);
    g_test_add_func("/report/members", test_members);
    return g_test_run();
}
