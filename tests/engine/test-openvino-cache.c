#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fixture.h"
#include "folder.h"

/* What becomes of a compiled model that was kept, and is not what it was. The results are always right. */

typedef struct
{
    Fixture engine;
    IfmModel *model;
    IfmTensor input, right;
    char *folder; /* the cache */
    char *kept;   /* the one compile's folder in it */
} Cache;

static gboolean compile(Cache *cache)
{
    IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
    options.threads = 1;
    options.cache_dir = cache->folder;
    fixture_drop(&cache->engine);
    fixture_compile(&cache->engine, ifm_model_ref(cache->model), &options);
    set_input(cache->engine.request, &cache->input);
    run(cache->engine.request);
    g_auto(IfmTensor) output = copy_output(cache->engine.request);
    assert_equal(&output, &cache->right);
    return ifm_compiled_info(cache->engine.compiled).from_cache;
}

static char *only_in(const char *folder, const char *suffix)
{
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    const char *name;
    char *found = NULL;
    while ((name = g_dir_read_name(dir)) != NULL)
        if (g_str_has_suffix(name, suffix))
        {
            g_assert_null(found);
            found = g_build_filename(folder, name, NULL);
        }
    g_assert_nonnull(found);
    return found;
}

static gboolean cache_init(Cache *cache)
{
    *cache = (Cache){ 0 };
    if (!fixture_open(&cache->engine, "openvino:CPU"))
        return FALSE;
    cache->folder = g_dir_make_tmp("inferometer-test-XXXXXX", NULL);
    cache->model = zoo("small-cnn", "");
    cache->input = make_input(cache->model, NULL, 0, 5);
    IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
    options.threads = 1;
    fixture_compile(&cache->engine, ifm_model_ref(cache->model), &options);
    set_input(cache->engine.request, &cache->input);
    run(cache->engine.request);
    cache->right = copy_output(cache->engine.request);
    g_assert_false(compile(cache));
    g_assert_true(compile(cache));
    cache->kept = only_in(cache->folder, "");
    return TRUE;
}

static void cache_clear(Cache *cache)
{
    fixture_close(&cache->engine);
    ifm_model_unref(cache->model);
    ifm_tensor_clear(&cache->input);
    ifm_tensor_clear(&cache->right);
    remove_tree(cache->folder);
    g_free(cache->folder);
    g_free(cache->kept);
}

/* Read at once after it was written anew. */
static void assert_heals(Cache *cache)
{
    g_assert_false(compile(cache));
    g_assert_true(compile(cache));
}

/* OpenVINO itself would read this one's file for that one. */
static void test_precision(void)
{
    Cache cache;
    if (!cache_init(&cache))
        return;
    IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
    g_autoptr(GError) error = NULL;
    options.threads = 1;
    options.dtype = IFM_DTYPE_BF16;
    options.cache_dir = cache.folder;
    for (int i = 0; i < 2; i++)
    {
        g_autoptr(IfmCompiled) compiled =
            ifm_engine_compile(cache.engine.engine, cache.model, cache.engine.spec, &options, &error);
        if (compiled == NULL)
        {
            g_assert_error(error, IFM_ERROR, IFM_ERROR_UNSUPPORTED);
            g_test_skip(error->message);
            break;
        }
        g_assert_cmpint(ifm_compiled_info(compiled).from_cache, ==, i);
        g_autoptr(IfmEffectiveConfig) effective_config = ifm_compiled_effective_config(compiled, &cache.input, &error);
        g_assert_no_error(error);
        g_assert_cmpint(effective_config->dtype, ==, IFM_DTYPE_BF16); /* also where its profiled twin was read */
    }
    g_assert_true(compile(&cache));
    cache_clear(&cache);
}

/* One byte here and there: OpenVINO itself takes most of them, weights above all, for what it once wrote. */
static void test_overwritten(void)
{
    Cache cache;
    if (!cache_init(&cache))
        return;
    for (int i = 0; i < 24; i++)
    {
        g_autofree char *blob = only_in(cache.kept, ".blob");
        g_autofree char *bytes = NULL;
        gsize n;
        g_assert_true(g_file_get_contents(blob, &bytes, &n, NULL));
        bytes[(n - 1) * (gsize)i / 23] ^= 0x5a;
        g_assert_true(g_file_set_contents(blob, bytes, (gssize)n, NULL));
        assert_heals(&cache);
    }
    cache_clear(&cache);
}

static void test_truncated(void)
{
    Cache cache;
    if (!cache_init(&cache))
        return;
    static const double shares[] = { 0, 0.001, 0.01, 0.1, 0.5, 0.9, 0.999 };
    for (gsize i = 0; i < G_N_ELEMENTS(shares); i++)
    {
        g_autofree char *blob = only_in(cache.kept, ".blob");
        GStatBuf status;
        g_assert_cmpint(g_stat(blob, &status), ==, 0);
        g_assert_cmpint(truncate(blob, (off_t)(shares[i] * (double)status.st_size)), ==, 0);
        assert_heals(&cache);
    }
    cache_clear(&cache);
}

static void test_missing(void)
{
    Cache cache;
    if (!cache_init(&cache))
        return;
    g_autofree char *digest = g_build_filename(cache.kept, "digest", NULL);
    g_assert_cmpint(g_unlink(digest), ==, 0); /* as where the process ended while it wrote */
    assert_heals(&cache);
    g_autofree char *blob = only_in(cache.kept, ".blob");
    g_assert_cmpint(g_unlink(blob), ==, 0);
    assert_heals(&cache);
    g_autofree char *stray = g_build_filename(cache.kept, "stray", NULL);
    g_assert_true(g_file_set_contents(stray, "?", 1, NULL));
    assert_heals(&cache);
    g_assert_false(g_file_test(stray, G_FILE_TEST_EXISTS));
    remove_tree(cache.kept);
    assert_heals(&cache);
    cache_clear(&cache);
}

/* A blob that bears its digest out, and that OpenVINO cannot read: it is compiled without it. */
static void test_forged(void)
{
    Cache cache;
    if (!cache_init(&cache))
        return;
    g_autofree char *blob = only_in(cache.kept, ".blob"), *name = g_path_get_basename(blob);
    g_autofree char *digest = g_build_filename(cache.kept, "digest", NULL);
    g_autofree char *sum = g_compute_checksum_for_string(G_CHECKSUM_SHA256, "no blob", -1);
    g_autofree char *line = g_strdup_printf("%s %s\n", name, sum);
    g_assert_true(g_file_set_contents(blob, "no blob", -1, NULL));
    g_assert_true(g_file_set_contents(digest, line, -1, NULL));
    assert_heals(&cache);
    cache_clear(&cache);
}

/* Where there is no writing, and where another compile of the same is at it: as if no cache had been asked for. */
static void test_unusable(void)
{
    Cache cache;
    if (!cache_init(&cache))
        return;
    g_autofree char *lock = g_build_filename(cache.kept, "lock", NULL);
    int fd = open(lock, O_RDWR | O_CLOEXEC);
    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpint(flock(fd, LOCK_EX | LOCK_NB), ==, 0);
    g_assert_false(compile(&cache));
    close(fd);
    g_assert_true(compile(&cache));
    char *folder = cache.folder;
    g_autofree char *file = only_in(cache.kept, ".blob");
    cache.folder = g_build_filename(file, "below a file", NULL);
    g_assert_false(compile(&cache));
    g_assert_false(compile(&cache));
    g_free(cache.folder);
    cache.folder = folder;
    g_assert_true(compile(&cache));
    if (geteuid() != 0) /* root may write everywhere */
    {
        g_assert_cmpint(chmod(cache.kept, 0500), ==, 0);
        g_assert_cmpint(g_chmod(lock, 0400), ==, 0);
        g_assert_false(compile(&cache));
        g_assert_cmpint(chmod(cache.kept, 0700), ==, 0);
    }
    cache_clear(&cache);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/openvino-cache/precision", test_precision);
    g_test_add_func("/openvino-cache/overwritten", test_overwritten);
    g_test_add_func("/openvino-cache/truncated", test_truncated);
    g_test_add_func("/openvino-cache/missing", test_missing);
    g_test_add_func("/openvino-cache/forged", test_forged);
    g_test_add_func("/openvino-cache/unusable", test_unusable);
    return g_test_run();
}
