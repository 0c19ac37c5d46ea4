#include <base/fields.h>
#include <math.h>

/* A struct of every kind, and its table. */
typedef struct
{
    gboolean again;
    const char *model, *output;
    const char *const *devices, *const *files;
    int mode, pass;
    const char *word;
    gint64 runs, seed, budget_ns, memory_bytes, features;
    double ci_ratio, margin_ratio, part_ratio;
    const char *parts, *shares;
    const char *const *sizes;
    struct
    {
        gint64 warmup, depth;
    } inner;
} Example;

static const char *const modes[] = { "forward", "backward", "train", NULL };

static const IfmOption inner_table[] = {
    { "warmup", IFM_OPTION_COUNT, "N", "before it", .at = 0 },
    { "depth", IFM_OPTION_COUNT, "N", "how deep", "2", .maximum = 9, .excludes = "warmup,again", .at = sizeof(gint64) },
    { NULL },
};

static const IfmOption table[] = {
    { "again", IFM_OPTION_FLAG, NULL, "once more", .excludes = "warmup,seed,absent", .at = G_STRUCT_OFFSET(Example, again),
      .letter = 'a' },
    { "model", IFM_OPTION_TEXT, "NAME", "which", .at = G_STRUCT_OFFSET(Example, model), .letter = 'm' },
    { "output", IFM_OPTION_FOLDER, "DIR", "where", "out", .at = G_STRUCT_OFFSET(Example, output), .letter = 'o' },
    { "device", IFM_OPTION_TEXT, "DEVICE", "on", "here", .at = G_STRUCT_OFFSET(Example, devices), .letter = 'd',
      .repeatable = TRUE },
    { "file", IFM_OPTION_FILE, "FILE", "of", .at = G_STRUCT_OFFSET(Example, files), .repeatable = TRUE },
    { "mode", IFM_OPTION_CHOICE, "MODE", "how", "backward", modes, .at = G_STRUCT_OFFSET(Example, mode) },
    { "pass", IFM_OPTION_CHOICE, "MODE", "how", NULL, modes, .at = G_STRUCT_OFFSET(Example, pass) },
    { "word", IFM_OPTION_TEXT, "WORD", "how", "train", modes, .at = G_STRUCT_OFFSET(Example, word) },
    { "runs", IFM_OPTION_COUNT, "N", "how many", "3", .minimum = 1, .maximum = 100, .at = G_STRUCT_OFFSET(Example, runs) },
    { "seed", IFM_OPTION_COUNT, "N", "seed", .at = G_STRUCT_OFFSET(Example, seed) },
    { "time-budget", IFM_OPTION_DURATION, "TIME", "how long", "20s", .at = G_STRUCT_OFFSET(Example, budget_ns) },
    { "memory-limit", IFM_OPTION_BYTES, "SIZE", "how far", .at = G_STRUCT_OFFSET(Example, memory_bytes) },
    { "features", IFM_OPTION_COUNT, "N", "how wide", "500", .minimum = 1, .deferred = TRUE,
      .at = G_STRUCT_OFFSET(Example, features) },
    { .table = inner_table, .at = G_STRUCT_OFFSET(Example, inner) },
    { "ci", IFM_OPTION_RATIO, "PERCENT", "how well", .at = G_STRUCT_OFFSET(Example, ci_ratio) },
    { "margin", IFM_OPTION_RATIO, "PERCENT", "how near", "1%", .at = G_STRUCT_OFFSET(Example, margin_ratio) },
    { "parts", IFM_OPTION_TEXT, "MODES", "which", NULL, modes, .is_list = TRUE, .at = G_STRUCT_OFFSET(Example, parts) },
    { "shares", IFM_OPTION_TEXT, "SHARE,…", "which", .is_list = TRUE, .excludes = "!again,parts",
      .at = G_STRUCT_OFFSET(Example, shares) },
    { "size", IFM_OPTION_TEXT, "A,B", "which", .is_list = TRUE, .repeatable = TRUE, .at = G_STRUCT_OFFSET(Example, sizes) },
    { "part", IFM_OPTION_RATIO, "PERCENT", "how much", "50%", .minimum = 1, .at = G_STRUCT_OFFSET(Example, part_ratio) },
    { NULL },
};

static const IfmOption *row(const char *name)
{
    g_autofree const IfmOption **list = ifm_options_list((const IfmOption *const[]){ table, NULL });
    const IfmOption *option = ifm_options_find(list, name, NULL);
    g_assert_nonnull(option);
    return option;
}

/* --- defaults --------------------------------------------------------------------------------------------------------- */

static void test_defaults(void)
{
    Example example;
    g_autoptr(GError) error = NULL;
    memset(&example, 0x55, sizeof example);
    ifm_options_init(table, &example);
    g_assert_false(example.again);
    g_assert_null(example.model);
    g_assert_cmpstr(example.output, ==, "out");
    g_assert_null(example.devices); /* a repeatable row's default is its reader's affair */
    g_assert_null(example.files);
    g_assert_cmpint(example.mode, ==, 1);
    g_assert_cmpint(example.pass, ==, IFM_OPTION_UNSET);
    g_assert_cmpstr(example.word, ==, "train");
    g_assert_cmpint(example.runs, ==, 3);
    g_assert_cmpint(example.seed, ==, IFM_OPTION_UNSET);
    g_assert_cmpint(example.budget_ns, ==, 20 * G_GINT64_CONSTANT(1000000000));
    g_assert_cmpint(example.memory_bytes, ==, IFM_OPTION_UNSET);
    g_assert_cmpint(example.features, ==, IFM_OPTION_UNSET); /* 500 is for --help */
    g_assert_cmpint(example.inner.warmup, ==, IFM_OPTION_UNSET);
    g_assert_cmpint(example.inner.depth, ==, 2);
    g_assert_cmpfloat(example.ci_ratio, ==, IFM_OPTION_UNSET);
    g_assert_cmpfloat(example.margin_ratio, ==, 0.01);
    g_assert_true(ifm_options_check(table, &example, &error));
    g_assert_no_error(error);
}

/* --- from text -------------------------------------------------------------------------------------------------------- */

static void test_parse(void)
{
    static const struct
    {
        const char *name, *text;
        gint64 integer;
    } numbers[] = {
        { "runs", "1", 1 },
        { "runs", "100", 100 },
        { "seed", "0", 0 },
        { "seed", "9223372036854775807", G_MAXINT64 },
        { "time-budget", "0", 0 },
        { "time-budget", "17ns", 17 },
        { "time-budget", "1.5us", 1500 },
        { "time-budget", "500 ms", 500000000 },
        { "time-budget", "5min", G_GINT64_CONSTANT(300000000000) },
        { "time-budget", "5m", G_GINT64_CONSTANT(300000000000) },
        { "time-budget", "1h", G_GINT64_CONSTANT(3600000000000) },
        { "memory-limit", "1B", 1 },
        { "memory-limit", "2KiB", 2048 },
        { "memory-limit", "1.5 GiB", G_GINT64_CONSTANT(1610612736) },
        { "memory-limit", "3kB", 3000 },
        { "mode", "train", 2 },
        { "pass", "forward", 0 },
    };
    IfmOptionValue value;
    g_autoptr(GError) error = NULL;
    for (gsize i = 0; i < G_N_ELEMENTS(numbers); i++)
    {
        g_assert_true(ifm_option_parse(row(numbers[i].name), numbers[i].text, &value, &error));
        g_assert_no_error(error);
        g_assert_cmpint(value.integer, ==, numbers[i].integer);
        g_assert_cmpstr(value.text, ==, numbers[i].text);
    }
    g_assert_true(ifm_option_parse(row("ci"), "2.5%", &value, &error));
    g_assert_cmpfloat(value.ratio, ==, 2.5 * 0.01);
    g_assert_true(ifm_option_parse(row("ci"), "0.25", &value, &error));
    g_assert_cmpfloat(value.ratio, ==, 0.25);
    g_assert_true(ifm_option_parse(row("ci"), "0", &value, &error));
    g_assert_cmpfloat(value.ratio, ==, 0);
    g_assert_true(ifm_option_parse(row("again"), NULL, &value, &error));
    g_assert_cmpint(value.integer, ==, TRUE);
    g_assert_true(ifm_option_parse(row("model"), "", &value, &error)); /* a text may be empty */
}

static void test_store(void)
{
    Example example;
    IfmOptionValue value;
    static const char *const devices[] = { "a", "b", NULL };
    static const char *const texts[][2] = { { "model", "m" },        { "mode", "train" },      { "runs", "7" },
                                            { "time-budget", "1s" }, { "memory-limit", "4B" }, { "ci", "2%" } };
    ifm_options_init(table, &example);
    for (gsize i = 0; i < G_N_ELEMENTS(texts); i++)
    {
        g_assert_true(ifm_option_parse(row(texts[i][0]), texts[i][1], &value, NULL));
        ifm_option_store(row(texts[i][0]), &value, &example);
    }
    g_assert_true(ifm_option_parse(row("again"), NULL, &value, NULL));
    ifm_option_store(row("again"), &value, &example);
    ifm_option_store_texts(row("device"), devices, &example);
    g_assert_cmpstr(example.model, ==, "m");
    g_assert_cmpint(example.mode, ==, 2);
    g_assert_cmpint(example.runs, ==, 7);
    g_assert_cmpint(example.budget_ns, ==, 1000000000);
    g_assert_cmpint(example.memory_bytes, ==, 4);
    g_assert_cmpfloat(example.ci_ratio, ==, 0.02);
    g_assert_true(example.again);
    g_assert_true(example.devices == devices);
    g_assert_cmpstr(example.output, ==, "out"); /* as it was */
}

/* --- what is refused, and that from C it gets the same line ------------------------------------------------------------
 */

static void assert_text_refused(const char *name, const char *text, const char *line)
{
    IfmOptionValue value;
    g_autoptr(GError) error = NULL;
    g_assert_false(ifm_option_parse(row(name), text, &value, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_USAGE);
    g_assert_cmpstr(error->message, ==, line);
    g_assert_cmpint(ifm_error_exit_status(error), ==, 2);
}

static void assert_struct_refused(const Example *example, const char *line)
{
    g_autoptr(GError) error = NULL;
    g_assert_false(ifm_options_check(table, example, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_USAGE);
    g_assert_cmpstr(error->message, ==, line);
}

#define DURATION "a duration, such as 500ms, 20s or 5min"
#define SIZE "a size, such as 512MiB or 2GiB"
#define RATIO "a percentage from 0% to 100%, such as 1%, or a fraction below 1, such as 0.01"

static void test_refused(void)
{
    static const struct
    {
        const char *name, *text, *line;
    } cases[] = {
        { "again", "yes", "--again takes no value" },
        { "model", NULL, "--model needs a value: NAME" },
        { "runs", NULL, "--runs needs a value: N" },
        { "runs", "x", "--runs: \"x\" is not a whole number from 1 to 100" },
        { "runs", "", "--runs: \"\" is not a whole number from 1 to 100" },
        { "runs", "0", "--runs: \"0\" is not a whole number from 1 to 100" },
        { "runs", "+3", "--runs: \"+3\" is not a whole number from 1 to 100" },
        { "seed", "-1", "--seed: \"-1\" is not a whole number of at least 0" },
        { "seed", "9223372036854775808", "--seed: \"9223372036854775808\" is not a whole number of at least 0" },
        { "time-budget", "20", "--time-budget: \"20\" is not " DURATION },
        { "time-budget", "-1s", "--time-budget: \"-1s\" is not " DURATION },
        { "time-budget", "1e300h", "--time-budget: \"1e300h\" is not " DURATION },
        { "memory-limit", "2GB!", "--memory-limit: \"2GB!\" is not " SIZE },
        { "ci", "1", "--ci: \"1\" is not " RATIO },
        { "ci", "101%", "--ci: \"101%\" is not " RATIO },
        { "part", "0%", "--part: above 0%, at most 100%" },
        { "part", "0", "--part: above 0%, at most 100%" },
        { "ci", "nan", "--ci: \"nan\" is not " RATIO },
        { "output", "", "--output: \"\" is no folder" },
        { "file", "", "--file: \"\" is no file" },
        { "mode", "Train", "--mode: \"Train\" is none of forward, backward, train; did you mean \"train\"?" },
        { "parts", "train,bakward",
          "--parts: \"bakward\" is none of forward, backward, train; did you mean \"backward\"?" },
        { "parts", "", "--parts: \"\" is none of forward, backward, train" },
        { "parts", "train,", "--parts: \"\" is none of forward, backward, train" },
        { "shares", "", "--shares: \"\" is an empty list" },
        { "shares", "0.3,,0.5", "--shares: \"0.3,,0.5\" has an empty entry" },
        { "shares", ",", "--shares: \",\" has an empty entry" },
        { "size", "5,", "--size: \"5,\" has an empty entry" },
        { "word", "", "--word: \"\" is none of forward, backward, train" },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
        assert_text_refused(cases[i].name, cases[i].text, cases[i].line);
}

/* The number in the struct and the text that says the same get one line. */
static void test_refused_from_c(void)
{
    Example defaults, example;
    ifm_options_init(table, &defaults);
    example = defaults;
    example.runs = 0;
    assert_struct_refused(&example, "--runs: \"0\" is not a whole number from 1 to 100");
    example.runs = 101;
    assert_struct_refused(&example, "--runs: \"101\" is not a whole number from 1 to 100");
    assert_text_refused("runs", "101", "--runs: \"101\" is not a whole number from 1 to 100");
    example.runs = IFM_OPTION_UNSET; /* it has a default: unset is none of its values */
    assert_struct_refused(&example, "--runs: \"-1\" is not a whole number from 1 to 100");
    example = defaults;
    example.features = 0;
    assert_struct_refused(&example, "--features: \"0\" is not a whole number of at least 1");
    example = defaults;
    example.seed = -2;
    assert_struct_refused(&example, "--seed: \"-2\" is not a whole number of at least 0");
    assert_text_refused("seed", "-2", "--seed: \"-2\" is not a whole number of at least 0");
    example = defaults;
    example.budget_ns = -5;
    assert_struct_refused(&example, "--time-budget: \"-5ns\" is not " DURATION);
    assert_text_refused("time-budget", "-5ns", "--time-budget: \"-5ns\" is not " DURATION);
    example = defaults;
    example.memory_bytes = G_MININT64;
    assert_struct_refused(&example, "--memory-limit: \"-9223372036854775808B\" is not " SIZE);
    example = defaults;
    example.margin_ratio = 1.5;
    assert_struct_refused(&example, "--margin: \"150%\" is not " RATIO);
    assert_text_refused("margin", "150%", "--margin: \"150%\" is not " RATIO);
    example.part_ratio = 0;
    assert_struct_refused(&example, "--margin: \"150%\" is not " RATIO);
    example.margin_ratio = 0;
    assert_struct_refused(&example, "--part: above 0%, at most 100%");
    example.margin_ratio = NAN;
    assert_struct_refused(&example, "--margin: \"nan%\" is not " RATIO);
    example = defaults;
    example.inner.depth = 10;
    assert_struct_refused(&example, "--depth: \"10\" is not a whole number from 0 to 9");
    example = defaults;
    example.mode = 3;
    assert_struct_refused(&example, "--mode: \"3\" is none of forward, backward, train");
    example = defaults;
    example.pass = -2;
    assert_struct_refused(&example, "--pass: \"-2\" is none of forward, backward, train");
    example = defaults;
    example.word = "never";
    assert_struct_refused(&example, "--word: \"never\" is none of forward, backward, train");
    assert_text_refused("word", "never", "--word: \"never\" is none of forward, backward, train");
    example.word = NULL;
    assert_struct_refused(&example, "--word needs a value: WORD");
    example = defaults;
    example.output = "";
    assert_struct_refused(&example, "--output: \"\" is no folder");
    example = defaults;
    example.files = (const char *const[]){ "one", "", NULL };
    assert_struct_refused(&example, "--file: \"\" is no file");
}

/* Options that exclude each other: by the row of either, in a table within the table, and all but some. */
static void test_together(void)
{
    static const struct
    {
        const char *a, *b;
        gboolean apart;
    } pairs[] = {
        { "again", "warmup", TRUE },  { "warmup", "again", TRUE },  { "depth", "again", TRUE },
        { "depth", "warmup", TRUE },  { "again", "seed", TRUE },    { "again", "again", FALSE },
        { "again", "model", FALSE },  { "shares", "model", TRUE },  { "model", "shares", TRUE },
        { "shares", "parts", FALSE }, { "again", "shares", FALSE }, { "shares", "shares", FALSE },
    };
    g_autoptr(GError) error = NULL;
    Example defaults, example;
    for (gsize i = 0; i < G_N_ELEMENTS(pairs); i++)
    {
        const IfmOption *given[] = { row(pairs[i].a), row(pairs[i].b), NULL };
        g_autofree char *line = g_strdup_printf("--%s and --%s: one of them, not both", pairs[i].a, pairs[i].b);
        g_assert_true(ifm_option_excludes(given[0], given[1]) == pairs[i].apart);
        g_assert_true(ifm_options_check_together(given, &error) != pairs[i].apart);
        if (pairs[i].apart)
            g_assert_error(error, IFM_ERROR, IFM_ERROR_USAGE);
        g_assert_cmpstr(error != NULL ? error->message : line, ==, line);
        g_clear_error(&error);
    }
    ifm_options_init(table, &defaults); /* depth has its default, which is not given */
    example = defaults;
    example.again = TRUE;
    g_assert_true(ifm_options_check(table, &example, NULL));
    example.inner.warmup = 1;
    assert_struct_refused(&example, "--again and --warmup: one of them, not both");
    example = defaults;
    example.shares = "0.5";
    g_assert_true(ifm_options_check(table, &example, NULL));
    example.sizes = (const char *const[]){ "1,2", NULL };
    assert_struct_refused(&example, "--shares and --size: one of them, not both");
    example.sizes = (const char *const[]){ "1,2", "1,", NULL };
    assert_struct_refused(&example, "--size: \"1,\" has an empty entry");
}

/* What a struct may hold: all bounds, and what is exact in no binary fraction. */
static void test_accepted_from_c(void)
{
    Example example;
    g_autoptr(GError) error = NULL;
    ifm_options_init(table, &example);
    example.runs = 100;
    example.seed = G_MAXINT64;
    example.parts = "train,forward,train";
    example.budget_ns = example.memory_bytes = 0;
    example.features = 1;
    example.ci_ratio = 1;
    example.margin_ratio = 1.0 / 3;
    example.mode = example.pass = 2;
    example.model = "";
    example.devices = (const char *const[]){ "", NULL };
    g_assert_true(ifm_options_check(table, &example, &error));
    g_assert_no_error(error);
}

/* --- tables ----------------------------------------------------------------------------------------------------------- */

static void test_find(void)
{
    g_autofree const IfmOption **list = ifm_options_list((const IfmOption *const[]){ table, NULL });
    g_autoptr(GError) error = NULL;
    g_assert_null(ifm_options_find(list, "time-bugdet", &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_USAGE);
    g_assert_cmpstr(error->message, ==, "unknown option --time-bugdet; did you mean \"--time-budget\"?");
    g_clear_error(&error);
    g_assert_null(ifm_options_find(list, "zebra", &error));
    g_assert_cmpstr(error->message, ==, "unknown option --zebra");
}

static void test_list(void)
{
    static const IfmOption first[] = { { "a" }, { "b" }, { "c" }, { NULL } };
    static const IfmOption second[] = { { "x" }, { "y", .after = "a" }, { "z" }, { NULL } };
    static const IfmOption inner[] = { { "i" }, { "j", .after = "b" }, { NULL } };
    static const IfmOption third[] = { { .table = inner, .after = "z" }, { "k" }, { NULL } };
    static const IfmOption fourth[] = { { "last" }, { NULL } };
    g_autofree const IfmOption **list = ifm_options_list((const IfmOption *const[]){ first, second, third, fourth, NULL });
    g_autoptr(GString) names = g_string_new(NULL);
    for (gsize i = 0; list[i] != NULL; i++)
        g_string_append(names, list[i]->name);
    g_assert_cmpstr(names->str, ==, "ayzibjkcxlast");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/options/defaults", test_defaults);
    g_test_add_func("/options/parse", test_parse);
    g_test_add_func("/options/store", test_store);
    g_test_add_func("/options/refused", test_refused);
    g_test_add_func("/options/refused-from-c", test_refused_from_c);
    g_test_add_func("/options/together", test_together);
    g_test_add_func("/options/accepted-from-c", test_accepted_from_c);
    g_test_add_func("/options/find", test_find);
    g_test_add_func("/options/list", test_list);
    return g_test_run();
}
