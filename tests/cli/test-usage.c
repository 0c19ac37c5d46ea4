#include "cli/harness.h"

/* --- help, man page, completion ------------------------------------------------------------------------------------------
 */

static void test_help(Bench *bench, gconstpointer data)
{
    static const char *const lines[][2] = {
        { "--help", "help.txt" },
        { "help profile", "help-profile.txt" },
        { "store --help", "help-store.txt" },
        { "study --help", "help-study.txt" },
        { "help study run", "help-study-run.txt" },
        { "help study submit", "help-study-submit.txt" },
        { "help study import", "help-study-import.txt" },
        { "help plan", "help-plan.txt" },
        { "help run", "help-run.txt" },
        { "help trace", "help-trace.txt" },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(lines); i++)
    {
        g_auto(Ended) ended = { 0 };
        run_line(bench, lines[i][0], &ended);
        assert_status(&ended, 0);
        g_assert_cmpstr(ended.err, ==, "");
        check_golden(lines[i][1], ended.out);
    }
}

/* Every verb that --help lists explains itself, both ways, and every line fits. */
static void test_every_verb(Bench *bench, gconstpointer data)
{
    static const char *const verbs[] = { "profile",
                                         "compare",
                                         "study run",
                                         "study submit",
                                         "study status",
                                         "study merge",
                                         "study export",
                                         "study import",
                                         "study lookup",
                                         "study predict",
                                         "report",
                                         "study list",
                                         "plan",
                                         "run",
                                         "trace",
                                         "trace diff",
                                         "devices",
                                         "zoo list",
                                         "zoo export",
                                         "store show",
                                         "store merge",
                                         "store export",
                                         "store check",
                                         "kernels list",
                                         "kernels show",
                                         "kernels export",
                                         "kernels extract",
                                         "kernels dag",
                                         "train",
                                         "predict",
                                         "stress",
                                         "tune",
                                         "help",
                                         "completion" };
    g_auto(Ended) overview = { 0 };
    run_line(bench, "help", &overview);
    for (gsize i = 0; i < G_N_ELEMENTS(verbs); i++)
    {
        g_auto(Ended) one = { 0 }, other = { 0 };
        g_autofree char *first = g_strdup_printf("help %s", verbs[i]), *second = g_strdup_printf("%s --help", verbs[i]);
        g_autofree char *listed = g_strdup_printf("\n  %s ", verbs[i]);
        run_line(bench, first, &one);
        run_line(bench, second, &other);
        assert_status(&one, 0);
        g_assert_cmpstr(one.out, ==, other.out);
        g_assert_nonnull(strstr(overview.out, listed));
        g_auto(GStrv) rows = g_strsplit(one.out, "\n", -1);
        for (char **row = rows; *row != NULL; row++)
            g_assert_cmpint(g_utf8_strlen(*row, -1), <=, 100);
    }
}

static void test_version(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    run_line(bench, "--version", &ended);
    assert_status(&ended, 0);
    g_assert_cmpstr(ended.out, ==, "inferometer " IFM_VERSION "\n");
}

static void test_man(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    g_autofree char *man = g_find_program_in_path("man"), *mandoc = g_find_program_in_path("mandoc");
    run_line(bench, "help --man", &ended);
    assert_status(&ended, 0);
    g_assert_true(g_str_has_prefix(ended.out, ".TH INFEROMETER 1"));
    g_assert_nonnull(strstr(ended.out, "\\-\\-time\\-budget"));
    if (man != NULL)
        run_shell(bench, "sh",
                  "\"$INFEROMETER\" help --man > inferometer.1 && man --warnings -E UTF-8 -l -Tutf8 -Z "
                  "./inferometer.1 2>&1 >/dev/null",
                  &ended);
    else if (mandoc != NULL)
        run_shell(bench, "sh", "\"$INFEROMETER\" help --man > inferometer.1 && mandoc -T lint -W warning inferometer.1",
                  &ended);
    else
    {
        g_test_skip("neither man nor mandoc on this machine");
        return;
    }
    assert_status(&ended, 0);
    g_assert_cmpstr(ended.out, ==, "");
}

static void test_completion_bash(Bench *bench, gconstpointer data)
{
    static const struct
    {
        const char *words, *expected;
    } known[] = {
        { "pro", "profile" },
        { "store me", "merge" },
        { "profile --de", "--device" },
        { "profile --dtype b", "bf16" },
        { "compare --b-dev", "--b-device" },
        { "compare --a-device openvino : N", "NPU" },
        { "profile --device openv", "openvino:CPU openvino:GPU openvino:NPU" },
        { "profile -d openvino :", "CPU GPU NPU" }, /* as bash breaks it */
        { "profile -d openvino : C", "CPU" },
        { "profile -d A = openvino : N", "NPU" },
        { "profile --device = openvino : C", "CPU" },
        { "profile --dtype = bf", "bf16" },
        { "profile -d simulated : lab/FIX", "lab/FIXED" },
        { "help zo", "zoo" },
        { "help zoo ''", "list export" },
        { "help store me", "merge" },
        { "help profile ''", "" },
        { "zoo export mat", "matmul" },
        { "store export --format j", "json" },
        { "completion f", "fish" },
        { "study st", "status" },
        { "study run gnn-stages-l", "gnn-stages-large" },
        { "study run mode", "model.onnx" },
        { "study run --only m", "measure" },
        { "study run -d NPU = simulated : lab/FIX", "lab/FIXED" },
        { "profile mode", "model.onnx" },
        { "store show --", "--document --quiet --log --help" },
        { "trac", "trace" },
        { "trace di", "diff" },
        { "trace mode", "model.onnx" },
        { "trace model.onnx --wi", "--window" },
        { "trace diff mode", "model.onnx" },
        { "trace diff --js", "--json" },
        { "help trace ''", "diff" },
        { "plan --objective l", "latency" },
        { "run --device-time s", "sampled" },
        { "run -d A = openvino : N", "NPU" },
    };
    g_autofree char *bash = g_find_program_in_path("bash");
    if (bash == NULL)
    {
        g_test_skip("no bash on this machine");
        return;
    }
    g_autofree char *model = bench_path(bench, "model.onnx");
    g_file_set_contents(model, "x", 1, NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(known); i++)
    {
        g_auto(Ended) ended = { 0 };
        g_autofree char *script =
            g_strdup_printf("set -e; \"$INFEROMETER\" completion bash > c; bash -n c; . ./c; compopt() { :; }; "
                            "PATH=${INFEROMETER%%/*}:$PATH; COMP_WORDBREAKS=$' \\t\\n=:'; COMP_WORDS=(inferometer %s); "
                            "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMP_LINE=\"${COMP_WORDS[*]}\"; "
                            "COMP_POINT=${#COMP_LINE}; _inferometer; "
                            "echo \"${COMPREPLY[*]}\"",
                            known[i].words);
        run_shell(bench, "bash", script, &ended);
        assert_status(&ended, 0);
        g_assert_cmpstr(g_strchomp(ended.out), ==, known[i].expected);
    }
}

/* The rows of --help are all there: each verb's own and each option, with the first words of what --help says of it. */
static void test_completion_zsh(Bench *bench, gconstpointer data)
{
    g_auto(Ended) overview = { 0 }, zsh = { 0 };
    run_line(bench, "help", &overview);
    run_line(bench, "completion zsh", &zsh);
    assert_status(&zsh, 0);
    g_assert_true(g_str_has_prefix(zsh.out, "#compdef inferometer\n"));
    g_assert_null(strstr(zsh.out, "(null)"));
    g_autoptr(GRegex) verb_row = g_regex_new("^  ([a-z]+(?: [a-z]+)?)  +[a-z]", G_REGEX_MULTILINE, 0, NULL),
                      option_row =
                          g_regex_new("^  (?:-(.), |    )--([a-z-]+).*\n? +(\\w+ \\w+)", G_REGEX_MULTILINE, 0, NULL);
    g_autoptr(GMatchInfo) verb = NULL;
    guint n_verbs = 0, n_options = 0;
    for (g_regex_match(verb_row, overview.out, 0, &verb); g_match_info_matches(verb); g_match_info_next(verb, NULL))
    {
        g_autofree char *name = g_match_info_fetch(verb, 1), *line = g_strdup_printf("help %s", name),
                        *start = g_strdup_printf("\n    '%s') _arguments", name);
        char *begin = strstr(zsh.out, start);
        if (begin == NULL)
            g_error("zsh completes nothing of %s", name);
        g_autofree char *rows = g_strndup(begin, (gsize)(strstr(begin, " ;;\n") - begin));
        g_auto(Ended) help = { 0 };
        g_autoptr(GMatchInfo) option = NULL;
        run_line(bench, line, &help);
        for (g_regex_match(option_row, help.out, 0, &option); g_match_info_matches(option);
             g_match_info_next(option, NULL), n_options++)
        {
            g_autofree char *letter = g_match_info_fetch(option, 1), *term = g_match_info_fetch(option, 2);
            g_autofree char *word = g_strdup_printf("--%s", term), *with_letter = g_strdup_printf("{-%s", letter);
            g_assert_nonnull(strstr(rows, word));
            g_assert_true(*letter == '\0' || strstr(rows, with_letter) != NULL);
        }
        n_verbs++;
    }
    g_assert_cmpuint(n_verbs, >, 30);
    g_assert_cmpuint(n_options, >, 300);
    g_assert_nonnull(strstr(
        zsh.out,
        "--dtype='[precision to compute in: f32, f16 or bf16; not given: the model'\\''s own]:DTYPE:(f32 f16 bf16)'"));
    g_assert_nonnull(
        strstr(zsh.out, "\\*{-d+,--device=}'[a device to measure on, ENGINE:UNIT[:INDEX\\][@CORES\\][#STREAMS\\]]"));
    g_assert_nonnull(strstr(zsh.out, "'merge:add to one store the measurements that it lacks and others have'"));
}

/* What zsh's own functions are handed, which stand in here for its line editor. */
static void test_completion_zsh_answers(Bench *bench, gconstpointer data)
{
    static const struct
    {
        const char *words, *expected;
    } known[] = {
        { "pro",
          "verbs: profile compare study plan run trace devices zoo report store kernels predict evaluate stress train "
          "tune help completion" },
        { "store me", "verbs: show merge export check" },
        { "store show ''", "options: --document= -q --quiet --log= -h --help *:argument:{ _files;  }" },
        { "trace diff ''",
          "options: --html= --figures= --document= --all --json= -q --quiet --log= -h --help *:argument:{ _files;  }" },
        { "help store ''", "verbs: show merge export check" },
        { "help profile ''", "" },
    };
    g_autofree char *zsh = g_find_program_in_path("zsh");
    if (zsh == NULL)
    {
        g_test_skip("no zsh on this machine");
        return;
    }
    for (gsize i = 0; i < G_N_ELEMENTS(known); i++)
    {
        g_auto(Ended) ended = { 0 };
        g_autofree char *script = g_strdup_printf(
            "\"$INFEROMETER\" completion zsh >c || exit; zsh -f -n c || exit; words=(inferometer %s); CURRENT=$#words; "
            "_describe() { local -a all=(\"${(@P)2}\"); print -n verbs: ${all%%%%:*} ''; }; "
            "_arguments() { print -n options: ${@[2,-1]%%%%\\[*}; }; . ./c; print",
            known[i].words);
        run_shell(bench, "zsh", script, &ended);
        assert_status(&ended, 0);
        g_assert_cmpstr(g_strchomp(ended.out), ==, known[i].expected);
    }
}

static void test_completion_fish(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    run_line(bench, "completion fish", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "-l time-budget -x"));
    g_auto(GStrv) rows = g_strsplit(g_strchomp(ended.out), "\n", -1);
    for (char **row = rows + 1; *row != NULL; row++)
        g_assert_true(g_str_has_prefix(*row, "complete -c inferometer "));
    g_autofree char *fish = g_find_program_in_path("fish");
    if (fish == NULL)
        return;
    run_shell(bench, "sh", "\"$INFEROMETER\" completion fish | fish -n", &ended);
    assert_status(&ended, 0);
}

/* --- wrong command lines -------------------------------------------------------------------------------------------------
 */

static void test_usage_errors(Bench *bench, gconstpointer data)
{
    static const struct
    {
        const char *line, *part;
    } known[] = {
        { "profil", "did you mean \"profile\"?" },
        { "--verson", "unknown option \"--verson\"" },
        { "store", "which of show, merge, export, check?" },
        { "store shwo", "did you mean \"show\"?" },
        { "help profil", "did you mean \"profile\"? (see inferometer --help)\n" },
        { "profile", "needs MODEL" },
        { "kernels", "which of list, show, export, extract, dag, run?" },
        { "kernels list", "needs MODEL|DIR..." },
        { "kernels list resnet18 --dim N", "--dim: \"N\" is not NAME=SIZE" },
        { "kernels show resnet18", "needs MODEL KERNEL" },
        { "kernels export resnet18", "needs -o FILE" },
        { "kernels export resnet18 -o r.json --graph -", "--graph: " },
        { "kernels extract resnet18", "needs -o DIR" },
        { "kernels extract resnet18 vit -o k --graph g.onnx", "--graph: is of one model" },
        { "kernels dag resnet18", "needs -o FILE" },
        { "compare m", "needs A B" },
        { "compare m m m", "\"m\" is one argument too many" },
        { "compare m m --margin 1", "--margin: \"1\" is not a percentage" },
        { "compare m m --c-device x", "unknown option" },
        { "profile a b", "\"b\" is one argument too many" },
        { "devices x", "\"x\" is one argument too many: it takes none" },
        { "profile m --devise x", "did you mean \"--device\"?" },
        { "profile m -x", "unknown option -x" },
        { "profile m --device", "--device needs a value" },
        { "profile m --no-nodes=1", "--no-nodes takes no value" },
        { "profile m --ci 1", "--ci: \"1\" is not a percentage" },
        { "profile m --ci 0%", "--ci: above 0%, at most 100%" },
        { "profile m --ci 200%", "--ci: \"200%\" is not a percentage from 0% to 100%" },
        { "profile m --runs ten", "--runs: \"ten\" is not a whole number" },
        { "profile m --runs -1", "--runs: \"-1\" is not a whole number" },
        { "profile m --runs 0", "is not a whole number from 1 to 5000000" },
        { "profile m --runs 99999999999999999999", "is not a whole number from 1 to 5000000" },
        { "profile m --runs 20000000", "is not a whole number from 1 to 5000000" },
        { "profile m --threads 5000", "is not a whole number from 0 to 4096" },
        { "profile m --runs 5 --ci 1%", "not both" },
        { "profile m --time-budget 20", "--time-budget: \"20\" is not a duration" },
        { "profile m --time-budget 5parsecs", "is not a duration" },
        { "profile m --time-budget nans", "is not a duration" },
        { "profile m --memory-limit 2XB", "--memory-limit: \"2XB\" is not a size" },
        { "profile m --dtype f33", "--dtype: \"f33\" is none of f32, f16, bf16" },
        { "profile m --seed 4294967296", "is not a whole number from 0 to 4294967295" },
        { "profile m --dim N", "--dim: \"N\" is not NAME=SIZE" },
        { "profile m --dim N=-8", "--dim: \"N=-8\" is not NAME=SIZE" },
        { "profile m --dim N=1 --dim N=2", "--dim: N is given twice" },
        { "profile m --option nope:foo=bar", "--option: unknown engine \"nope\"" },
        { "profile m --option openvino:A=B", "no --device is of that engine" },
        { "profile m -d openvino:CPU@0 -d openvino:CPU@0", "--device openvino:CPU@0: given twice" },
        { "profile m -d A=openvino:CPU -d A=onnxruntime:CPU", "alias A means both" },
        { "store export --json x --format csv", "--format and --json: one of them, not both" },
        { "store export --json x --samples", "JSON has the samples in it" },
        { "store export --json - --csv -", "cannot both go to standard output" },
        { "profile m --option X", "--option: \"X\" is not [ENGINE:]KEY=VALUE" },
        { "profile m --json - --csv -", "cannot both go to standard output" },
        { "store export --format xml", "--format: \"xml\" is none of csv, json" },
        { "store merge one.db", "needs INTO FROM" },
        { "zoo export matmul", "needs -o FILE" },
        { "study", "which of run, submit, status, merge, export, lookup, predict, import, list?" },
        { "study runs x", "did you mean \"run\"?" },
        { "study run", "needs STUDY" },
        { "study run gnn-stages --only analyse", "--only: \"analyse\" is none of all, export, measure, analyze" },
        { "study run gnn-stages --runs 5 --ci 1%", "not both" },
        { "study run gnn-stages --ci 0%", "--ci: above 0%, at most 100%" },
        { "study run gnn-stages --attempts 101", "--attempts: \"101\" is not a whole number from 1 to 100" },
        { "study run gnn-stages --total-time -5ns",
          "--total-time: \"-5ns\" is not a duration, such as 500ms, 20s or 5min" },
        { "study run gnn-stages --order 2", "--order: \"2\" is none of as-listed, interleaved" },
        { "study run gnn-stages -d A=openvino:CPU@0 -d A=openvino:CPU@1", "its alias is given twice" },
        { "study import x.csv", "needs -o DIR or --name NAME" },
        { "study import x.csv --name a/b", "--name: \"a/b\" is no name for a folder" },
        { "study import x.csv --name x --hidden 0", "is not a whole number from 1 to 1000000" },
        { "study submit", "needs STUDY" },
        { "study submit gnn-stages --shards 4", "needs --slurm, the scheduler to submit to, or --missing" },
        { "study submit gnn-stages --slurm --shards 0", "--shards: \"0\" is not a whole number from 1 to 1000000" },
        { "study submit gnn-stages --slurm --shards 4 --time 5", "--time" },
        { "study merge", "needs STUDY" },
        { "study list x", "\"x\" is one argument too many" },
        { "plan --size 5000", "--size: \"5000\" is not NODES,EDGES, such as 5000,10000" },
        { "plan --size 5000,-3", "--size: \"5000,-3\" is not NODES,EDGES" },
        { "plan --size 0,3", "--size: \"0,3\" is not NODES,EDGES" },
        { "plan --size 5,6 --size 5,6", "--size 5,6: given twice" },
        { "plan --objective speed", "--objective: \"speed\" is none of latency, throughput, energy" },
        { "plan --grid 0.3,1.5", "--grid: \"0.3,1.5\" is not a list of shares between 0 and 1" },
        { "plan --grid 0.3,,0.5", "--grid: \"0.3,,0.5\" has an empty entry" },
        { "plan --max-blocks 0", "is not a whole number from 1 to 8" },
        { "plan --batches 0", "--batches: \"0\" is not a whole number from 1 to 1000000" },
        { "plan --json - --table -", "--json and --table cannot both go to standard output" },
        { "plan a b", "\"b\" is one argument too many" },
        { "run a.json --plan b.json", "one plan, not both" },
        { "run --plan a.json --table b.json", "not both" },
        { "run --demo gnn-plan", "--demo brings its own plan" },
        { "run --json - --csv -", "--json and --csv cannot both go to standard output" },
        { "run --device-time maybe", "--device-time: \"maybe\" is none of on, off, sampled" },
        { "run --on-failure panic", "--on-failure: \"panic\" is none of stop, replan" },
        { "run --watchdog 60", "--watchdog: \"60\" is not a duration" },
        { "run --repetitions 0", "is not a whole number from 1 to 10000" },
        { "run --batches many", "--batches: \"many\" is not a whole number" },
        { "trace", "trace: needs FILE" },
        { "trace a b", "\"b\" is one argument too many: FILE" },
        { "trace x --window 5", "--window: \"5\" is not BEGIN,END" },
        { "trace x --window 5ms,2ms", "--window: \"5ms,2ms\" is not BEGIN,END" },
        { "trace x --window 5ms,2", "is not BEGIN,END since the first event, such as 10ms,250ms" },
        { "trace x --batch last", "--batch: \"last\" is not a whole number" },
        { "trace x --json - --csv -", "cannot both go to standard output" },
        { "trace diff", "needs A [B]" },
        { "completion tcsh", "no completion for the shell \"tcsh\": bash, fish or zsh" },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(known); i++)
    {
        g_auto(Ended) ended = { 0 };
        run_line(bench, known[i].line, &ended);
        assert_complaint(&ended, 2, known[i].part);
        g_assert_cmpstr(ended.out, ==, "");
    }
    g_autofree char *out = bench_path(bench, "out");
    g_assert_false(g_file_test(out, G_FILE_TEST_EXISTS)); /* nothing was begun */
}

static void test_no_arguments(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    run_shell(bench, "sh", "\"$INFEROMETER\"", &ended);
    assert_complaint(&ended, 2, "--help");
}

/* All the ways to write an option mean the same. */
static void test_spellings(Bench *bench, gconstpointer data)
{
    static const char *const lines[] = {
        "zoo export matmul m=8 k=8 n=8 -o FILE",
        "zoo export matmul m=8 k=8 n=8 -oFILE",
        "zoo export matmul m=8 k=8 n=8 --output FILE",
        "zoo export --output=FILE -- matmul m=8 k=8 n=8",
        "zoo export --output=other -o FILE matmul m=8 k=8 n=8",
        "zoo export --seed=1 -o FILE matmul m=8 k=8 n=8",
    };
    g_autofree char *first = NULL;
    gsize first_length = 0;
    for (gsize i = 0; i < G_N_ELEMENTS(lines); i++)
    {
        g_auto(Ended) ended = { 0 };
        g_autofree char *path = bench_path(bench, "FILE"), *bytes = NULL;
        gsize length = 0;
        run_line(bench, lines[i], &ended);
        assert_status(&ended, 0);
        g_assert_true(g_file_get_contents(path, &bytes, &length, NULL));
        g_unlink(path);
        if (first == NULL)
        {
            first = g_steal_pointer(&bytes);
            first_length = length;
        }
        else
            g_assert_cmpmem(first, first_length, bytes, length);
    }
}

/* --- where output goes
 * ----------------------------------------------------------------------------------------------------- */

static void test_output_trouble(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    run_shell(bench, "sh", "\"$INFEROMETER\" --help > /dev/full", &ended);
    assert_complaint(&ended, 4, "standard output: No space left on device");
    run_line(bench, "zoo list --json /dev/full", &ended);
    assert_complaint(&ended, 4, "/dev/full");
    run_line(bench, "zoo list --json nowhere/list.json", &ended);
    assert_complaint(&ended, 4, "nowhere/list.json");
    /* A reader that leaves is no error anybody needs to read of. */
    run_shell(bench, "bash",
              "\"$INFEROMETER\" help --man | true; echo ${PIPESTATUS[0]}; "
              "\"$INFEROMETER\" help --man > >(exec <&-; sleep 0.2); echo ended",
              &ended);
    assert_status(&ended, 0);
    g_assert_cmpstr(ended.err, ==, "");
}

static void test_zoo_list(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    run_line(bench, "zoo list --json -", &ended);
    assert_status(&ended, 0);
    json_auto_t *json = parse_output(&ended);
    const json_t *models = json_object_get(json, "models");
    g_assert_cmpuint(json_array_size(models), >=, 2);
    g_assert_cmpstr(json_string_value(json_object_get(json_array_get(models, 0), "name")), ==, "alexnet");
    run_line(bench, "zoo list", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "small-cnn"));
    run_shell(bench, "sh", "LC_ALL=C.UTF-8 COLUMNS=60 \"$INFEROMETER\" zoo list", &ended);
    assert_status(&ended, 0);
    g_auto(GStrv) lines = g_strsplit(ended.out, "\n", -1);
    for (char **line = lines; *line != NULL; line++)
        g_assert_cmpint(g_utf8_strlen(*line, -1), <=, 60);
    g_assert_null(strstr(ended.out, "…")); /* nothing is cut */
    g_assert_nonnull(strstr(ended.out, "  size=224              height and width"));
    run_line(bench, "zoo export matmull -o x.onnx", &ended);
    assert_complaint(&ended, 3, "matmul");
    run_line(bench, "zoo export nope -o x.onnx", &ended);
    assert_complaint(&ended, 3,
                     "(there are alexnet, bert, densenet121, googlenet, gps, graph_transformer, graphsage, matmul, ");
    run_line(bench, "zoo export matmul m=-1 -o x.onnx", &ended);
    assert_complaint(&ended, 3, "m");
    run_line(bench, "zoo export gps mpnn=gcm -o x.onnx", &ended);
    assert_complaint(&ended, 3, "mpnn=gcm is none of none, gin, gcn, sage; did you mean \"gcn\"?");
    run_line(bench, "zoo export gps,num_heads=3 -o x.onnx", &ended);
    assert_complaint(&ended, 3, "num_heads 3 does not divide hidden_dim 64");
    g_autofree char *model = bench_path(bench, "x.onnx");
    g_assert_false(g_file_test(model, G_FILE_TEST_EXISTS));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/cli/help", Bench, NULL, bench_init, test_help, bench_clear);
    g_test_add("/cli/every-verb", Bench, NULL, bench_init, test_every_verb, bench_clear);
    g_test_add("/cli/version", Bench, NULL, bench_init, test_version, bench_clear);
    g_test_add("/cli/man", Bench, NULL, bench_init, test_man, bench_clear);
    g_test_add("/cli/completion-bash", Bench, NULL, bench_init, test_completion_bash, bench_clear);
    g_test_add("/cli/completion-zsh", Bench, NULL, bench_init, test_completion_zsh, bench_clear);
    g_test_add("/cli/completion-zsh-answers", Bench, NULL, bench_init, test_completion_zsh_answers, bench_clear);
    g_test_add("/cli/completion-fish", Bench, NULL, bench_init, test_completion_fish, bench_clear);
    g_test_add("/cli/usage-errors", Bench, NULL, bench_init, test_usage_errors, bench_clear);
    g_test_add("/cli/no-arguments", Bench, NULL, bench_init, test_no_arguments, bench_clear);
    g_test_add("/cli/spellings", Bench, NULL, bench_init, test_spellings, bench_clear);
    g_test_add("/cli/output-trouble", Bench, NULL, bench_init, test_output_trouble, bench_clear);
    g_test_add("/cli/zoo", Bench, NULL, bench_init, test_zoo_list, bench_clear);
    return g_test_run();
}
