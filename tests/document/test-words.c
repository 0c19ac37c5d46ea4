#include <math.h>

#include <document/words.h>

/* Figures in sentences, and commands to copy. A blank that no line is broken at stands as "_" here. */

static void assert_said(char *said /* (transfer full) */, const char *expected)
{
    g_autofree char *text = said;
    g_auto(GStrv) parts = g_strsplit(text, "\u00a0", -1);
    g_autofree char *seen = g_strjoinv("_", parts);
    g_assert_cmpstr(seen, ==, expected);
}

static void test_numbers(void)
{
    static const struct
    {
        double value;
        const char *number, *duration, *bytes, *per_cent, *difference;
    } known[] = {
        { 0, "0", "0", "0", "0_%", "0" },
        { 1, "1.00", "1.00_ns", "1.00_B", "100_%", "+1.00_ns" },
        { 9.996, "10.0", "10.0_ns", "10.0_B", "1000_%", "+10.0_ns" },
        { 999.6, "1,000", "1.00_µs", "1,000_B", "99960_%", "+1.00_µs" },
        { 1234567, "1,234,567", "1.23_ms", "1.18_MiB", "123456700_%", "+1.23_ms" },
        { -242000, "−242,000", "−242_µs", "−236_KiB", "−24200000_%", "−242_µs" },
        { 2.5e9, "2,500,000,000", "2.50_s", "2.33_GiB", "250000000000_%", "+2.50_s" },
        { 0.004, "0.00400", "0.00400_ns", "0.00400_B", "0.4_%", "+0.00400_ns" },
        { NAN, "–", "–", "–", "–", "–" },
        { INFINITY, "–", "–", "–", "–", "–" },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(known); i++)
    {
        const double value = known[i].value;
        assert_said(ifm_say_number(value), known[i].number);
        assert_said(ifm_say_duration(value), known[i].duration);
        assert_said(ifm_say_bytes(value), known[i].bytes);
        assert_said(ifm_say_per_cent(value), known[i].per_cent);
        assert_said(ifm_say_difference(value), known[i].difference);
    }
}

static void test_ranges(void)
{
    assert_said(ifm_say_numbers(0.969, 1.13), "0.969 to 1.13");
    assert_said(ifm_say_numbers(1.0001, 1.0002), "1.00");
    assert_said(ifm_say_durations(980e3, 1.02e6), "0.980 to 1.02_ms"); /* one unit within an interval */
    assert_said(ifm_say_durations(9e6, 1e9), "9.00_ms to 1.00_s");     /* but where they are far apart */
    assert_said(ifm_say_durations(NAN, 1), "–");
}

static void test_list(void)
{
    static const char *const names[] = { "a", "b", "c", "d", "e" };
    assert_said(ifm_say_list(names, 0, 3), "");
    assert_said(ifm_say_list(names, 1, 3), "a");
    assert_said(ifm_say_list(names, 2, 3), "a and b");
    assert_said(ifm_say_list(names, 3, 3), "a, b and c");
    assert_said(ifm_say_list(names, 5, 2), "a, b and 3 more");
}

/* What is copied runs as it was meant, whatever a model or a folder is called. */
static void test_commands(void)
{
    static const char *const hostile[] = {
        "a b", "x; touch owned", "$(touch owned)", "it's", "", "`id`", "a\nb", "é", "~"
    };
    assert_said(ifm_say_command("profile", "resnet18,size=96", "-d", "CPU=openvino:CPU@0-1", NULL),
                "inferometer profile resnet18,size=96 -d CPU=openvino:CPU@0-1");
    for (gsize i = 0; i < G_N_ELEMENTS(hostile); i++)
    {
        g_autofree char *command = ifm_say_command("profile", hostile[i], "-d", "openvino:CPU", NULL);
        g_auto(GStrv) words = NULL;
        g_assert_true(g_shell_parse_argv(command, NULL, &words, NULL));
        g_assert_cmpuint(g_strv_length(words), ==, 5);
        g_assert_cmpstr(words[2], ==, hostile[i]);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/words/numbers", test_numbers);
    g_test_add_func("/words/ranges", test_ranges);
    g_test_add_func("/words/list", test_list);
    g_test_add_func("/words/commands", test_commands);
    return g_test_run();
}
