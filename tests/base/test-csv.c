#include "base/base-private.h"
#include <base/fields.h>
#include <string.h>

static IfmCsv *parse(const char *text, GError **error)
{
    return ifm_csv_parse(text, strlen(text), "t.csv", error);
}

static void test_read(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmCsv) csv = parse("\xEF\xBB\xBFname,\"a \"\"b\"\"\",empty\r\n"
                                  "\"two\nlines, one field\",1.5,\r\n"
                                  "x,-2e3,\"\"",
                                  &error);
    g_assert_no_error(error);
    g_assert_cmpuint(ifm_csv_n_rows(csv), ==, 2);
    gsize column = 9;
    g_assert_true(ifm_csv_column(csv, "a \"b\"", &column, &error));
    g_assert_cmpuint(column, ==, 1);
    g_assert_cmpstr(ifm_csv_text(csv, 0, 0), ==, "two\nlines, one field");
    g_assert_cmpstr(ifm_csv_text(csv, 0, 2), ==, "");
    g_assert_cmpuint(ifm_csv_line(csv, 0), ==, 2);
    g_assert_cmpuint(ifm_csv_line(csv, 1), ==, 4);
    double value;
    g_assert_true(ifm_csv_number(csv, 1, 1, &value, &error));
    g_assert_cmpfloat(value, ==, -2000);
    g_assert_false(ifm_csv_number(csv, 1, 0, &value, &error));
    g_assert_cmpstr(error->message, ==, "t.csv:4: name: \"x\" is not a number");
    g_clear_error(&error);
    g_assert_false(ifm_csv_number(csv, 1, 2, &value, NULL));
    g_assert_false(ifm_csv_column(csv, "emty", &column, &error));
    g_assert_cmpstr(error->message, ==, "t.csv:1: no column \"emty\"; did you mean \"empty\"?");
}

static void test_refused(void)
{
    static const struct
    {
        const char *text, *message;
    } cases[] = {
        { "", "t.csv:1: the file is empty; its first line would name the columns" },
        { "a,b\n1,2\n3\n", "t.csv:3: 1 fields, but the header names 2 columns" },
        { "a,b\n1,2,3\n", "t.csv:2: 3 fields, but the header names 2 columns" },
        { "a,b\n1,\"2\n3\n", "t.csv:2: a quoted field is not closed" },
        { "a,b\n\"1\"x,2\n", "t.csv:2: text follows a closing quote; a quote inside a field is doubled" },
        { "a,b\n1\"2,3\n", "t.csv:2: a quote inside a field that does not begin with one" },
        { "a,b\n1,2\r3,4\n", "t.csv:2: a carriage return without a line feed" },
        { "a,a\n", "t.csv:1: column \"a\" is named twice" },
        { "a,\n", "t.csv:1: column 2 has no name" },
        { "a\n1\n\xff\n", "t.csv:3: not UTF-8 text" },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    {
        g_autoptr(GError) error = NULL;
        g_assert_null(parse(cases[i].text, &error));
        g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
        g_assert_cmpstr(error->message, ==, cases[i].message);
    }
    g_autoptr(GError) error = NULL;
    g_assert_null(ifm_csv_parse("a\n1\0002\n", 6, "t.csv", &error)); /* a NUL byte is no text */
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_clear_error(&error);
    g_assert_null(ifm_csv_open("/nonexistent/t.csv", &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/csv/read", test_read);
    g_test_add_func("/csv/refused", test_refused);
    return g_test_run();
}
