#include <stdlib.h>
#include <string.h>

#include <glib/gstdio.h>

#include "engine/runtime-private.h"
#include "tested-versions.h"

/* What the drivers of real runtimes share, on what those runtimes have said and written. */

/* --- words --------------------------------------------------------------------------------------------------------------
 */

static void test_words(void)
{
    static const struct
    {
        const char *said, *shown;
    } cases[] = {
        { "plain", "plain" },
        { NULL, "no reason given" },
        { "\n\n", "no reason given" },
        { "first\r\n\r\n  -- second\nthird\n", "first | second | third" },
        { "SKIP this\nkeep that", "keep that" },
        { "SKIP this", "SKIP this" },
        { "red \033[31mline\177 \302\233 \342\200\256over", "red ?[31mline? ? ?over" },
        { "Load model from /home/a b/m.onnx failed:This is an invalid model.", "This is an invalid model." },
        { "Load model from m.onnx failed:/src/onnxruntime/core/graph/utils.h:46 void onnxruntime::utils::Check(const "
          "std::unordered_map<std::__cxx11::basic_string<char>, int>&, bool (*)(int), const std::string&, int) ONNX "
          "Runtime "
          "only *guarantees* support for official opsets.",
          "ONNX Runtime only *guarantees* support for official opsets." },
        { "Non-zero status code: /src/core/framework/op.cc:106 std::unique_ptr<T> onnxruntime::Op::Get(size_t) const [with "
          "T = "
          "float] input != nullptr was false. no input",
          "Non-zero status code: input != nullptr was false. no input" },
        { "Exception from src/inference/src/core.cpp:99: no such plug-in", "Exception from no such plug-in" },
        { "Cannot load library \"/opt/ov/lib/libgpu.so\": libOpenCL.so.1: no such file",
          "Cannot load library \"/opt/ov/lib/libgpu.so\": libOpenCL.so.1: no such file" }, /* files are to be looked for */
        { "24 bytes/element, f16/f32, 3 / 4", "24 bytes/element, f16/f32, 3 / 4" },
        { "/src/a.cc:12", "/src/a.cc:12" }, /* all there is stays */
    };
    static const char *const skip[] = { "SKIP", NULL };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    {
        g_autofree char *shown = ifm_runtime_words(cases[i].said, skip);
        g_assert_cmpstr(shown, ==, cases[i].shown);
    }
}

/* However long and odd: at most 200 characters, valid and printable. */
static void test_long_words(void)
{
    g_autofree char *even = g_strnfill(200, 'x'), *over = g_strnfill(201, 'x'), *huge = g_strnfill(1000000, '(');
    g_autofree char *place = g_strconcat("/a/b.cc:1 void x::y", huge, NULL);
    g_autoptr(GString) bytes = g_string_new(NULL);
    for (int i = 0; i < 10000; i++)
        g_string_append_c(bytes, (char)(i % 255 + 1));
    const char *const said[] = { even, over, huge, place, bytes->str };
    for (gsize i = 0; i < G_N_ELEMENTS(said); i++)
    {
        g_autofree char *shown = ifm_runtime_words(said[i], NULL);
        g_assert_true(g_utf8_validate(shown, -1, NULL));
        g_assert_cmpint(g_utf8_strlen(shown, -1), ==, 200);
        g_assert_true(g_str_has_suffix(shown, "…") == (i > 0));
        for (const char *at = shown; *at != '\0'; at = g_utf8_next_char(at))
            g_assert_false(g_unichar_iscntrl(g_utf8_get_char(at)));
    }
}

/* Of a message of several lines that is too long the last one stays, which holds the cause. */
static void test_last_line(void)
{
    g_autofree char *where = g_strnfill(300, 'w'),
                    *said = g_strdup_printf("While validating node %s:\nChannels do not match: 3 and 4\n", where);
    g_autofree char *shown = ifm_runtime_words(said, NULL);
    g_assert_cmpint(g_utf8_strlen(shown, -1), ==, 200);
    g_assert_true(g_str_has_prefix(shown, "While validating node www"));
    g_assert_true(g_str_has_suffix(shown, "w… | Channels do not match: 3 and 4"));
}

/* --- versions ------------------------------------------------------------------------------------------------------- */

static void test_at_least(void)
{
    static const struct
    {
        const char *version, *oldest;
        gboolean is;
    } cases[] = {
        { "2025.1", "2025.1", TRUE },    { "2025.1.0-18503-6fec06580ab-releases/2025/1", "2025.1", TRUE },
        { "2025.0.9", "2025.1", FALSE }, { "2024.6", "2025.1", FALSE },
        { "2026.0", "2025.1", TRUE },    { "1.9", "1.23", FALSE }, /* numbers, not text */
        { "1.100", "1.23", TRUE },       { "custom_build", "2025.1", FALSE },
        { "2025", "2025.1", FALSE },     { "2025.x", "2025.1", FALSE },
        { "", "2025.1", FALSE },         { NULL, "2025.1", FALSE },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
        g_assert_true(ifm_runtime_is_at_least(cases[i].version, cases[i].oldest) == cases[i].is);
}

/* @version is outside what was tested, and the warning names it. */
static void assert_untested(const char *runtime, const char *version, const char *begin)
{
    g_autofree char *untested = ifm_runtime_untested(runtime, version);
    g_assert_nonnull(untested);
    g_assert_true(g_str_has_prefix(untested, begin));
    g_assert_nonnull(strstr(untested, " outside the tested versions, "));
}

static void test_untested(void)
{
    static const struct
    {
        const char *runtime, *oldest, *newest;
    } tested[] = { IFM_TESTED_VERSIONS };
    for (gsize i = 0; i < G_N_ELEMENTS(tested); i++)
    {
        const char *runtime = tested[i].runtime;
        g_autofree char *patch = g_strconcat(tested[i].newest, ".99", NULL),
                        *next = g_strdup_printf("%d.0.0", atoi(tested[i].newest) + 1),
                        *past = g_strdup_printf("%d.99", atoi(tested[i].oldest) - 1),
                        *begin = g_strdup_printf("%s %s is ", runtime, next),
                        *unknown = g_strdup_printf("%s of an unknown version is ", runtime);
        g_assert_null(ifm_runtime_untested(runtime, tested[i].oldest));
        g_assert_null(ifm_runtime_untested(runtime, tested[i].newest));
        g_assert_null(ifm_runtime_untested(runtime, patch));
        assert_untested(runtime, next, begin);
        assert_untested(runtime, past, runtime);
        assert_untested(runtime, "", unknown);
        assert_untested(runtime, NULL, unknown);
        assert_untested(runtime, "custom_build", runtime);
    }
    g_assert_null(ifm_runtime_untested("simulated", "99.0"));
}

/* --- ONNX Runtime's profile ---------------------------------------------------------------------------------------------
 */

static GPtrArray *read_profile(const char *path, gint64 *n_events, GError **error)
{
    g_autoptr(GPtrArray) profiles = g_ptr_array_new_with_free_func((GDestroyNotify)ifm_engine_profile_free);
    return ifm_ort_profile_read(path, "someone", profiles, NULL, n_events, error) ? g_steal_pointer(&profiles) : NULL;
}

/* Recorded with 16 threads, of which some had not worked yet: those share one name, so that keys repeat. */
static void test_idle_threads(void)
{
    g_autoptr(GError) error = NULL;
    gint64 n_events = 0;
    g_autofree char *path = g_build_filename(g_getenv("IFM_TEST_DATA"), "engine", "profiles", "idle-threads.json", NULL);
    g_autoptr(GPtrArray) profiles = read_profile(path, &n_events, &error);
    g_assert_no_error(error);
    g_assert_cmpint(n_events, ==, 6);
    g_assert_cmpuint(profiles->len, ==, 1);
    const IfmEngineProfile *profile = profiles->pdata[0];
    g_assert_cmpint(profile->inside_ns, ==, 261000);
    g_assert_cmpuint(profile->nodes->len, ==, 2);
    const IfmNodeTime *first = profile->nodes->pdata[0], *second = profile->nodes->pdata[1];
    g_assert_cmpstr(first->name, ==, "conv1.relu_nchwc");
    g_assert_cmpstr(first->op_type, ==, "Conv");
    g_assert_cmpint(first->start_ns, ==, 12000);
    g_assert_cmpint(first->duration_ns, ==, 111000);
    g_assert_cmpstr(second->name, ==, "pool1_nchwc");
}

static void refuses(const char *text, const char *said)
{
    g_autoptr(GError) error = NULL;
    gint64 n_events = 0;
    g_autofree char *path = NULL;
    int fd = g_file_open_tmp("ifm-profile-XXXXXX", &path, NULL);
    g_assert_cmpint(fd, >=, 0);
    g_assert_true(g_close(fd, NULL));
    g_assert_true(g_file_set_contents(path, text, -1, NULL));
    g_assert_null(read_profile(path, &n_events, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_FAILED);
    if (strstr(error->message, said) == NULL || strstr(error->message, path) != NULL ||
        strchr(error->message, '\n') != NULL)
        g_error("'%s' should say '%s'", error->message, said);
    g_assert_cmpint(g_unlink(path), ==, 0);
}

/* Its file is removed with the session, so the complaint shows what was wrong with it. */
static void test_no_profile(void)
{
    refuses("[\n{\"cat\" : \"Node\",}\n", "someone: line 2 of the runtime's profile is no event: ");
    refuses("[\n{\"cat\" : \"Node\",}\n", "…{\"cat\" : \"Node\",}");
    refuses("{\"cat\":\"Session\"},\n{\"cat\":\"No", "line 2 ");
    refuses("\033[2J", "?[2J");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/runtime/words", test_words);
    g_test_add_func("/runtime/long-words", test_long_words);
    g_test_add_func("/runtime/last-line", test_last_line);
    g_test_add_func("/runtime/at-least", test_at_least);
    g_test_add_func("/runtime/untested", test_untested);
    g_test_add_func("/runtime/onnxruntime-profile/idle-threads", test_idle_threads);
    g_test_add_func("/runtime/onnxruntime-profile/no-profile", test_no_profile);
    return g_test_run();
}
