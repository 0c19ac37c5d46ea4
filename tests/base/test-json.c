#include "base/base-private.h"
#include <base/base.h>
#include <base/fields.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char *folder;

static char *in_folder(const char *name)
{
    return g_build_filename(folder, name, NULL);
}

static json_t *parse(const char *text)
{
    g_autoptr(GError) error = NULL;
    json_t *json = ifm_json_parse(text, strlen(text), "text", &error);
    g_assert_no_error(error);
    return json;
}

static void assert_refused(const char *text, const char *message_start)
{
    g_autoptr(GError) error = NULL;
    json_t *json = ifm_json_parse(text, strlen(text), "f.json", &error);
    g_assert_null(json);
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    if (!g_str_has_prefix(error->message, message_start))
        g_error("message \"%s\" does not begin with \"%s\"", error->message, message_start);
    g_assert_null(strchr(error->message, '\n'));
}

static void test_refused(void)
{
    assert_refused("", "f.json: is empty");
    assert_refused("{\n  \"a\": 1,\n  \"b\" 2\n}", "f.json:3:");
    assert_refused("{\"a\": 1, \"a\": 2}", "f.json:1:");
    assert_refused("[1, 99999999999999999999]", "f.json:1:");
    assert_refused("[1e999]", "f.json:1:");
    assert_refused("\"\xff\xfe\"", "f.json:1:");
    assert_refused("{\"a\": 1", "f.json:1:");
    assert_refused("[1] [2]", "f.json:1:");
}

static void test_depth(void)
{
    GString *deep = g_string_new("\n");
    for (int i = 0; i < IFM_JSON_MAX_DEPTH; i++)
        g_string_append_c(deep, '[');
    for (int i = 0; i < IFM_JSON_MAX_DEPTH; i++)
        g_string_append_c(deep, ']');
    json_decref(parse(deep->str)); /* as deep as it may be */
    g_string_insert_c(deep, 1, '[');
    assert_refused(deep->str, "f.json:2:65: nested deeper than 64");
    g_string_truncate(deep, 0);
    for (int i = 0; i < 1000000; i++)
        g_string_append(deep, "{\"a\":");
    assert_refused(deep->str, "f.json:1:321: nested deeper");
    g_string_assign(deep, "[\"");
    for (int i = 0; i < 1000; i++) /* brackets in a string nest nothing, behind an escaped quote neither */
        g_string_append(deep, "[\\\"{");
    g_string_append(deep, "\"]");
    json_decref(parse(deep->str));
    g_string_free(deep, TRUE);
}

static void test_load(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = in_folder("load.json"), *nowhere = in_folder("nowhere/x.json");
    g_assert_true(g_file_set_contents(path, "{\n\"a\": tru\n}", -1, NULL));
    g_assert_null(ifm_json_load(path, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_autofree char *place = g_strconcat(path, ":2:", NULL);
    g_assert_true(g_str_has_prefix(error->message, place));
    g_clear_error(&error);
    g_assert_null(ifm_json_load(nowhere, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE);
    g_autofree char *message = g_strconcat(nowhere, ": cannot be read: No such file or directory", NULL);
    g_assert_cmpstr(error->message, ==, message);
    g_clear_error(&error);
    g_assert_null(ifm_json_load(folder, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE);
    g_clear_error(&error);
    g_autofree char *large = g_strnfill(300001, ' '), *got = NULL; /* more than one read takes */
    large[300000] = '1';
    gsize n = 0;
    g_assert_true(ifm_file_save(path, large, 300001, NULL));
    g_assert_true(ifm_file_load(path, &got, &n, &error));
    g_assert_cmpmem(got, n, large, 300001);
    g_assert_cmpint(got[n], ==, '\0');
    json_auto_t *one = ifm_json_load(path, &error);
    g_assert_cmpint(json_integer_value(one), ==, 1);
}

static void assert_getter_error(const GError *error, const char *message)
{
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_cmpstr(error->message, ==, message);
}

static void test_getters(void)
{
    json_auto_t *json =
        parse("{\"s\":\"x\",\"i\":-9223372036854775808,\"d\":0.1,\"b\":true,\"n\":null,\"o\":{},\"a\":[1,2.5]}");
    const char *text = NULL;
    gint64 integer = 0;
    double number = 0;
    gboolean boolean = FALSE;
    json_t *child = NULL;
    g_autoptr(GError) error = NULL;
    g_assert_true(ifm_json_get_string(json, "w", "s", &text, &error));
    g_assert_cmpstr(text, ==, "x");
    g_assert_true(ifm_json_get_int64(json, "w", "i", &integer, &error));
    g_assert_cmpint(integer, ==, G_MININT64);
    g_assert_true(ifm_json_get_double(json, "w", "d", &number, &error));
    g_assert_cmpfloat(number, ==, 0.1);
    g_assert_true(ifm_json_get_double(json, "w", "n", &number, &error));
    g_assert_true(isnan(number));
    g_assert_true(ifm_json_get_boolean(json, "w", "b", &boolean, &error));
    g_assert_true(boolean);
    g_assert_true(ifm_json_get_object(json, "w", "o", &child, &error));
    g_assert_true(ifm_json_get_array(json, "w", "a", &child, &error));
    g_assert_cmpuint(json_array_size(child), ==, 2);

    g_assert_false(ifm_json_get_string(json, "w.x[2]", "i", &text, &error));
    assert_getter_error(error, "w.x[2].i: found -9223372036854775808, expected a string");
    g_clear_error(&error);
    g_assert_false(ifm_json_get_int64(json, "w", "d", &integer, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_clear_error(&error);
    g_assert_false(ifm_json_get_object(json, "w", "gone", &child, &error));
    assert_getter_error(error, "w.gone: missing, expected an object");
    g_clear_error(&error);
    g_assert_false(ifm_json_get_double(json, "w", "s", &number, &error));
    assert_getter_error(error, "w.s: found \"x\", expected a number, null, \"inf\" or \"-inf\"");
    g_clear_error(&error);
    g_assert_false(ifm_json_get_boolean(child, "w.a", "b", &boolean, &error));
    assert_getter_error(error, "w.a: found an array, expected an object");
    g_clear_error(&error);
    GArray *values = g_array_new(FALSE, FALSE, sizeof(gint64));
    g_assert_false(ifm_json_get_int64_array(json, "w", "a", values, &error));
    assert_getter_error(error, "w.a[1]: found 2.5, expected an integer");
    g_array_unref(values);
}

static void test_check_object(void)
{
    static const char *const keys[] = { "warmup", "runs", NULL };
    g_autoptr(GError) error = NULL;
    json_auto_t *good = parse("{\"runs\":1}"), *bad = parse("{\"runs\":1,\"warmpu\":2}"), *array = parse("[]");
    g_assert_true(ifm_json_check_object(good, "w", keys, &error));
    g_assert_false(ifm_json_check_object(bad, "w", keys, &error));
    assert_getter_error(error, "w.warmpu: unknown key; did you mean \"warmup\"?");
    g_clear_error(&error);
    g_assert_false(ifm_json_check_object(array, "w", keys, &error));
    assert_getter_error(error, "w: found an array, expected an object");
}

/* Every double comes back as it was, those without a JSON number too. */
static void test_reals(void)
{
    const double values[] = { 0.1, 1e-310, 1.7976931348623157e308, 5, -1.0 / 3, NAN, INFINITY, -INFINITY };
    for (gsize i = 0; i < G_N_ELEMENTS(values); i++)
    {
        json_auto_t *json = json_object();
        json_object_set_new(json, "x", ifm_json_real(values[i]));
        g_autofree char *text = ifm_json_canonical(json);
        json_auto_t *again = parse(text);
        double value = 0;
        g_assert_true(ifm_json_get_double(again, "", "x", &value, NULL));
        g_assert_true(isnan(values[i]) ? isnan(value) : value == values[i]);
    }
    json_auto_t *broken = ifm_json_string("a\xff z");
    g_assert_cmpstr(json_string_value(broken), ==, "a\xef\xbf\xbd z");
}

/* The digests were computed with sha256sum over the text in the comment. */
static void test_digest(void)
{
    json_auto_t *one = parse("{\"b\": [1, 2.5, null], \"a\": {\"z\": true, \"y\": \"\\u00e9\"}}");
    json_auto_t *two = parse("{\"a\":{\"y\":\"\xc3\xa9\",\"z\":true},\n\"b\":[1,2.5,null]}");
    g_autofree char *text = ifm_json_canonical(one), *first = ifm_json_digest(one), *second = ifm_json_digest(two);
    g_assert_cmpstr(text, ==, "{\"a\":{\"y\":\"\xc3\xa9\",\"z\":true},\"b\":[1,2.5,null]}");
    g_assert_cmpstr(first, ==, "0a738cc17a37002b204224615451bab5db41456957b71b932e33672a8eeb5005");
    g_assert_cmpstr(second, ==, first);
}

static void assert_content(const char *path, const char *expected)
{
    g_autofree char *content = NULL;
    g_assert_true(g_file_get_contents(path, &content, NULL, NULL));
    g_assert_cmpstr(content, ==, expected);
}

static guint files_in_folder(void)
{
    GDir *dir = g_dir_open(folder, 0, NULL);
    guint n = 0;
    while (g_dir_read_name(dir) != NULL)
        n++;
    g_dir_close(dir);
    return n;
}

static gboolean save_json(const char *path, const json_t *json, GError **error)
{
    g_autofree char *text = json_dumps(json, JSON_INDENT(2)), *whole = g_strconcat(text, "\n", NULL);
    return ifm_file_save(path, whole, strlen(whole), error);
}

static void test_save(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = in_folder("save.json"), *link = in_folder("link.json"), *pipe = in_folder("pipe"),
                    *nowhere = in_folder("nowhere/x.json");
    json_auto_t *json = parse("{\"a\":1}");
    g_assert_true(save_json(path, json, &error));
    assert_content(path, "{\n  \"a\": 1\n}\n");
    g_assert_cmpint(g_chmod(path, 0640), ==, 0);
    g_assert_cmpint(symlink(path, link), ==, 0);
    json_object_set_new(json, "a", json_integer(2));
    g_assert_false(save_json(link, json, &error)); /* not through a link */
    g_assert_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE);
    g_clear_error(&error);
    g_assert_true(g_file_test(link, G_FILE_TEST_IS_SYMLINK));
    assert_content(path, "{\n  \"a\": 1\n}\n");
    g_assert_true(save_json(path, json, &error)); /* the permissions stay */
    assert_content(path, "{\n  \"a\": 2\n}\n");
    struct stat after;
    g_assert_cmpint(stat(path, &after), ==, 0);
    g_assert_cmpint(after.st_mode & 07777, ==, 0640);

    g_assert_true(ifm_file_save("/dev/null", "x", 1, &error)); /* a device is written to, never replaced */
    g_assert_cmpint(stat("/dev/null", &after), ==, 0);
    g_assert_true(S_ISCHR(after.st_mode));
    g_assert_false(ifm_file_save("/dev/full", "x", 1, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE);
    g_assert_nonnull(strstr(error->message, "/dev/full"));
    g_clear_error(&error);
    g_assert_cmpint(mkfifo(pipe, 0600), ==, 0);
    int fd = open(pipe, O_RDONLY | O_NONBLOCK);
    g_assert_true(ifm_file_save(pipe, "hi", 2, &error));
    char got[3] = { 0 };
    g_assert_cmpint(read(fd, got, 2), ==, 2);
    g_assert_cmpstr(got, ==, "hi");
    close(fd);
    g_assert_false(save_json(nowhere, json, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE);
}

/* A file that may not grow stands for a full disk: the old file is whole, nothing lies beside it. */
static void test_save_full(void)
{
    g_autofree char *path = in_folder("full.json");
    g_assert_true(ifm_file_save(path, "before", 6, NULL));
    guint n_files = files_in_folder();
    pid_t child = fork();
    g_assert_cmpint(child, >=, 0);
    if (child == 0)
    {
        struct rlimit limit = { 4096, 4096 };
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &limit);
        g_autofree char *much = g_strnfill(100000, 'x');
        g_autoptr(GError) error = NULL;
        gboolean saved = ifm_file_save(path, much, 100000, &error);
        _exit(saved ? 1 : g_error_matches(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE) ? 0 : 2);
    }
    int status = -1;
    g_assert_cmpint(waitpid(child, &status, 0), ==, child);
    g_assert_cmpint(status, ==, 0);
    assert_content(path, "before");
    g_assert_cmpuint(files_in_folder(), ==, n_files);
}

/* A file without write permission is not replaced, though its folder would allow it. (Root may write everything.) */
static void test_save_read_only(void)
{
    g_autofree char *path = in_folder("read-only.json");
    g_assert_true(ifm_file_save(path, "before", 6, NULL));
    g_assert_cmpint(g_chmod(path, 0444), ==, 0);
    g_assert_cmpint(g_chmod(folder, 0777), ==, 0);
    pid_t child = fork();
    g_assert_cmpint(child, >=, 0);
    if (child == 0)
    {
        if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0)
            _exit(3);
        g_autoptr(GError) error = NULL;
        gboolean saved = ifm_file_save(path, "after", 5, &error);
        _exit(saved ? 1 : g_error_matches(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE) ? 0 : 2);
    }
    int status = -1;
    g_assert_cmpint(waitpid(child, &status, 0), ==, child);
    g_assert_cmpint(status, ==, 0);
    assert_content(path, "before");
}

static void remove_folder(void)
{
    GDir *dir = g_dir_open(folder, 0, NULL);
    for (const char *name; (name = g_dir_read_name(dir)) != NULL;)
    {
        g_autofree char *path = in_folder(name);
        g_assert_cmpint(g_remove(path), ==, 0);
    }
    g_dir_close(dir);
    g_assert_cmpint(g_rmdir(folder), ==, 0);
    g_free(folder);
}

/* What may be missing: a member of a member, NaN and NULL where there is none, or another thing. */
static void test_members(void)
{
    json_auto_t *json =
        parse("{\"a\": {\"b\": {\"c\": 7, \"d\": 0.5}, \"t\": \"text\"}, \"n\": null, \"a.b\": 3, \"s\": \"9\"}");
    g_assert_cmpfloat(ifm_member_number(json, "a.b.c"), ==, 7);
    g_assert_cmpfloat(ifm_member_number(json, "a.b.d"), ==, 0.5);
    g_assert_cmpstr(ifm_member_text(json, "a.t"), ==, "text");
    g_assert_true(json_is_object(ifm_member(json, "a.b")));
    static const char *const none[] = { "a.b", "a.b.x", "a.x.c", "n", "n.x", "s", "s.x", "a.b.c.d", "", "." };
    for (gsize i = 0; i < G_N_ELEMENTS(none); i++)
        g_assert_true(isnan(ifm_member_number(json, none[i])));
    g_assert_true(isnan(ifm_member_number(NULL, "a")));
    g_assert_null(ifm_member_text(json, "a.b.c"));
    g_assert_null(ifm_member_text(NULL, "a"));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    folder = g_dir_make_tmp("ifm-json-XXXXXX", NULL);
    g_assert_nonnull(folder);
    g_test_add_func("/json/refused", test_refused);
    g_test_add_func("/json/depth", test_depth);
    g_test_add_func("/json/load", test_load);
    g_test_add_func("/json/getters", test_getters);
    g_test_add_func("/json/check-object", test_check_object);
    g_test_add_func("/json/reals", test_reals);
    g_test_add_func("/json/digest", test_digest);
    g_test_add_func("/json/save", test_save);
    g_test_add_func("/json/save/full", test_save_full);
    g_test_add_func("/json/save/read-only", test_save_read_only);
    g_test_add_func("/json/members", test_members);
    int status = g_test_run();
    remove_folder();
    return status;
}
