#include <campaign/campaign.h>
#include <zoo/zoo.h>

/* Axes and their points. */

static gboolean note_point(const guint *at, void *user, GError **error)
{
    GString *seen = user;
    g_string_append_printf(seen, "%u%u%u ", at[0], at[1], at[2]);
    if (at[0] < 1 || at[2] < 1)
        return TRUE;
    g_set_error_literal(error, IFM_ERROR, IFM_ERROR_INVALID, "no such point");
    return FALSE;
}

static void test_axes(void)
{
    const guint lengths[] = { 2, 1, 3 }, one[] = { 1, 1, 2 }, none[] = { 2, 0, 3 };
    g_autoptr(GString) seen = g_string_new(NULL);
    g_autoptr(GError) error = NULL;
    g_assert_false(ifm_axes_each(lengths, 3, note_point, seen, &error));
    g_assert_cmpstr(seen->str, ==, "000 001 002 100 101 ");
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_string_truncate(seen, 0);
    g_assert_true(ifm_axes_each(one, 3, note_point, seen, NULL));
    g_assert_true(ifm_axes_each(none, 3, note_point, seen, NULL));
    g_assert_cmpstr(seen->str, ==, "000 001 ");
}

static void test_axis_parameter(void)
{
    const IfmZooEntry *entry = ifm_zoo_find("matmul", NULL);
    g_assert_nonnull(entry);
    g_assert_cmpstr(ifm_zoo_parameter(entry, "m")->name, ==, "m");
    g_assert_null(ifm_zoo_parameter(entry, "N"));
    g_assert_null(ifm_zoo_parameter(NULL, "m")); /* a file */
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/axes/points", test_axes);
    g_test_add_func("/axes/parameter", test_axis_parameter);
    return g_test_run();
}
