#include "base/base-private.h"
#include <base/base.h>
#include <math.h>

/* Numbers as people read them. */

static void assert_duration(double ns, const char *expected)
{
    g_autofree char *text = ifm_format_duration(ns);
    g_assert_cmpstr(text, ==, expected);
}

static void test_duration(void)
{
    assert_duration(0, "0");
    assert_duration(1, "1 ns");
    assert_duration(1.5, "1.50 ns");
    assert_duration(999, "999 ns");
    assert_duration(1000, "1.00 µs");
    assert_duration(1234567, "1.23 ms");
    assert_duration(999.96e6, "1.00 s"); /* rounded, a thousand of the smaller unit */
    assert_duration(7e8, "700 ms");
    assert_duration(90e9, "90.0 s");
    assert_duration(NAN, "-");
    assert_duration(INFINITY, "-");
}

static void test_decimals(void)
{
    g_assert_cmpint(ifm_number_decimals(9.99996, 4), ==, 2); /* which is 10.00 */
    g_assert_cmpint(ifm_number_decimals(9.9994, 4), ==, 3);
    g_assert_cmpint(ifm_number_decimals(123456, 4), ==, 0);
    g_assert_cmpint(ifm_number_decimals(0, 4), ==, 0);
    g_autofree char *fixed = ifm_number_fixed(-2.5, 2, "%"), *bare = ifm_number_fixed(3, 0, "");
    g_assert_cmpstr(fixed, ==, "−2.50 %");
    g_assert_cmpstr(bare, ==, "3");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/number/duration", test_duration);
    g_test_add_func("/number/decimals", test_decimals);
    return g_test_run();
}
