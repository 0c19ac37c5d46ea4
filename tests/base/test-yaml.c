#include "base/base-private.h"
#include "base/yaml-private.h"
#include <base/fields.h>
#include <stddef.h>
#include <string.h>

typedef struct
{
    IfmPlace place;
    char *what;
    double chance;
    GPtrArray *sizes; /* IfmScalar, integers */
} Fault;

typedef struct
{
    IfmPlace place;
    gint64 latency;
    int kind;
    gboolean real;
    GPtrArray *faults; /* Fault */
    GArray *ratios;    /* double */
    GPtrArray *files;  /* char * */
    Fault *first;
} Unit;

typedef struct
{
    IfmPlace place;
    char *description;
    gint64 runs;
    GPtrArray *units; /* Unit */
} Machine;

static const char *const kinds[] = { "none", "gaussian", "lognormal", NULL };

static const IfmRecordField fault_fields[] = { { IFM_RECORD(PLACE, Fault, place) },
                                               IFM_FIELD(STRING, Fault, what, .required = TRUE, .help = "what happens"),
                                               IFM_FIELD(DOUBLE, Fault, chance, .min = 0, .max = 1, .fallback = "1"),
                                               IFM_FIELD(SCALARS, Fault, sizes, .element = IFM_RECORD_INT64),
                                               { 0 } };

static const IfmRecordField unit_fields[] = { { IFM_RECORD(PLACE, Unit, place) },
                                              IFM_FIELD(DURATION, Unit, latency, .required = TRUE, .help = "of a run"),
                                              IFM_FIELD(CHOICE, Unit, kind, .words = kinds, .fallback = "gaussian",
                                                        .help = "of noise"),
                                              IFM_FIELD(FLAG, Unit, real, 0),
                                              IFM_FIELD(ROWS, Unit, faults, IFM_FIELDS_OF(fault_fields, Fault)),
                                              IFM_FIELD(NUMBERS, Unit, ratios, .min = 0, .max = 1),
                                              IFM_FIELD(TEXTS, Unit, files, .min = 1, .max = 3),
                                              IFM_FIELD(MAP, Unit, first, IFM_FIELDS_OF(fault_fields, Fault)),
                                              { 0 } };

static const IfmRecordField machine_fields[] = {
    { IFM_RECORD(PLACE, Machine, place) },
    IFM_FIELD(STRING, Machine, description, 0),
    IFM_FIELD(INT64, Machine, runs, .min = 1, .max = 1000, .fallback = "50", .help = "how often"),
    IFM_FIELD(NAMED, Machine, units, IFM_FIELDS_OF(unit_fields, Unit), .help = "its processing units"),
    { 0 }
};

static Machine *parse(const char *text, GError **error)
{
    return ifm_yaml_parse(machine_fields, sizeof(Machine), text, strlen(text), "m.yaml", error);
}

static void test_read(void)
{
    g_autoptr(GError) error = NULL;
    Machine *machine = parse("# a machine\n"
                             "description: >\n"
                             "  two lines\n"
                             "  of text\n"
                             "units:\n"
                             "  GPU: {latency: 1.5 ms, real: true, ratios: [0.5, 1]}\n"
                             "  CPU:\n"
                             "    latency: 20us\n"
                             "    kind: none\n"
                             "    files: [a, \"b c\", '1']\n"
                             "    faults:\n"
                             "      - {what: fail, sizes: {nodes: 20000, edges: -1}}\n"
                             "      - what: hang\n"
                             "        chance: 2.5e-1\n"
                             "    first: {what: crash}\n",
                             &error);
    g_assert_no_error(error);
    g_assert_cmpstr(machine->description, ==, "two lines of text\n");
    g_assert_cmpint(machine->runs, ==, 50);
    g_assert_cmpuint(machine->units->len, ==, 2);
    const Unit *gpu = g_ptr_array_index(machine->units, 0), *cpu = g_ptr_array_index(machine->units, 1);
    g_assert_cmpstr(gpu->place.name, ==, "GPU");
    g_assert_cmpuint(cpu->place.line, ==, 8);
    g_assert_cmpstr(cpu->place.file, ==, "m.yaml");
    g_assert_cmpint(gpu->latency, ==, 1500000);
    g_assert_cmpint(cpu->latency, ==, 20000);
    g_assert_cmpint(gpu->kind, ==, 1);
    g_assert_cmpint(cpu->kind, ==, 0);
    g_assert_true(gpu->real);
    g_assert_false(cpu->real);
    g_assert_cmpuint(gpu->ratios->len, ==, 2);
    g_assert_cmpfloat(g_array_index(gpu->ratios, double, 0), ==, 0.5);
    g_assert_cmpuint(gpu->faults->len, ==, 0);
    g_assert_null(gpu->first);
    g_assert_cmpuint(cpu->files->len, ==, 3);
    g_assert_cmpstr(g_ptr_array_index(cpu->files, 2), ==, "1");
    const Fault *fault = g_ptr_array_index(cpu->faults, 0), *second = g_ptr_array_index(cpu->faults, 1);
    const IfmScalar *nodes = g_ptr_array_index(fault->sizes, 0), *edges = g_ptr_array_index(fault->sizes, 1);
    g_assert_cmpstr(nodes->place.name, ==, "nodes");
    g_assert_cmpint(nodes->integer, ==, 20000);
    g_assert_cmpint(edges->integer, ==, -1);
    g_assert_cmpfloat(fault->chance, ==, 1);
    g_assert_cmpfloat(second->chance, ==, 0.25);
    g_assert_cmpuint(second->place.line, ==, 13);
    g_assert_cmpstr(cpu->first->what, ==, "crash");
    g_assert_false(ifm_yaml_error(&second->place, &error, "no such %s", "thing"));
    g_assert_cmpstr(error->message, ==, "m.yaml:13: no such thing");
    ifm_record_free(machine, machine_fields);
}

static void test_refused(void)
{
    static const struct
    {
        const char *text, *message;
    } cases[] = {
        { "units:\n  CPU:\n    latancy: 5 ms\n", "m.yaml:3: unknown key \"latancy\"; did you mean \"latency\"?" },
        { "zebra: 1\n", "m.yaml:1: unknown key \"zebra\"; known here: description, runs, units" },
        { "units:\n  CPU:\n    real: true\n", "m.yaml:3: key \"latency\" is missing here: of a run" },
        { "runs: 5\nunits: {}\nruns: 6\n", "m.yaml:3: key \"runs\" is given twice, first on line 1" },
        { "units:\n  CPU: {latency: 1s}\n  CPU: {latency: 2s}\n", "m.yaml:3: key \"CPU\" is given twice, first on line 2" },
        { "\nruns: many\n", "m.yaml:2: runs is \"many\"; it should be a whole number" },
        { "runs: \"5\"\n", "m.yaml:1: runs is the quoted text \"5\"; it should be a whole number" },
        { "runs: 1.5\n", "m.yaml:1: runs is \"1.5\"; it should be a whole number" },
        { "runs: 99999999999999999999\n", "m.yaml:1: runs is \"99999999999999999999\"; it should be a whole number" },
        { "runs: [5]\n", "m.yaml:1: runs is a list; it should be a whole number" },
        { "runs:\n", "m.yaml:1: runs has no value; it should be a whole number" },
        { "runs: 0\n", "m.yaml:1: runs is 0; it should be between 1 and 1000" },
        { "description: {a: 1}\n", "m.yaml:1: description is a map; it should be a text" },
        { "units: 5\n", "m.yaml:1: units is \"5\"; it should be a map of names" },
        { "units:\n  CPU: 5\n", "m.yaml:2: CPU is \"5\"; it should be a map of keys" },
        { "units:\n  CPU: {latency: 5}\n",
          "m.yaml:2: latency is \"5\"; it should be a duration such as \"1.5 ms\" (ns, us, ms, s, min, h)" },
        { "units:\n  CPU: {latency: 5s, kind: lognormall}\n",
          "m.yaml:2: kind is \"lognormall\"; it should be one of: none, gaussian, lognormal; did you mean \"lognormal\"?" },
        { "units:\n  CPU: {latency: 5s, real: yes}\n", "m.yaml:2: real is \"yes\"; it should be true or false" },
        { "units:\n  CPU:\n    latency: 5s\n    ratios:\n      - 0.5\n      - 1.5\n",
          "m.yaml:6: ratios is 1.5; it should be between 0 and 1" },
        { "units:\n  CPU:\n    latency: 5s\n    ratios: [nan]\n", "m.yaml:4: ratios is \"nan\"; it should be a number" },
        { "units:\n  CPU:\n    latency: 5s\n    ratios: [0x1]\n", "m.yaml:4: ratios is \"0x1\"; it should be a number" },
        { "units:\n  CPU:\n    latency: 5s\n    faults: [{what: x, sizes: {nodes: y}}]\n",
          "m.yaml:4: nodes is \"y\"; it should be a whole number" },
        { "units:\n  CPU:\n    latency: 5s\n    files: []\n",
          "m.yaml:4: files has 0 entries; it should have between 1 and 3" },
        { "- a\n- b\n", "m.yaml:1: this is a list; it should be a map of keys" },
        { "", "m.yaml:1: the file is empty" },
        { "# only words\n\n", "m.yaml:3: the file is empty" },
        { "runs: 5\n---\nruns: 6\n", "m.yaml:2: a second document (---) begins; one file holds one" },
        { "runs: &x 5\n", "m.yaml:1: an anchor (&name) is not read here: write the value out where it is needed" },
        { "runs: 5\nunits: *x\n", "m.yaml:2: an alias (*name) is not read here: write the value out" },
        { "runs: !!int 5\n", "m.yaml:1: a tag (!name) is not read here" },
        { "? [a]\n: 5\n", "m.yaml:1: a list or map where a key belongs" },
        { "description: \"a\\0b\"\n", "m.yaml:1: a text with a NUL character" },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    {
        g_autoptr(GError) error = NULL;
        g_assert_null(parse(cases[i].text, &error));
        g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
        g_assert_cmpstr(error->message, ==, cases[i].message);
    }
}

/* Messages that libyaml words: only the place is ours. */
static void test_syntax(void)
{
    static const struct
    {
        const char *text, *place;
    } cases[] = {
        { "runs: 5\nunits: [\n", "m.yaml:3: " },   { "runs: 5\n\tunits: 5\n", "m.yaml:2: " },
        { "description: \"open\n", "m.yaml:2: " }, { "runs: 5\n description: x\n", "m.yaml:2: " },
        { "\xff\xfe\xff\n", "m.yaml:" },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    {
        g_autoptr(GError) error = NULL;
        g_assert_null(parse(cases[i].text, &error));
        g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
        g_test_message("%s", error->message);
        g_assert_true(g_str_has_prefix(error->message, cases[i].place));
    }
}

static void test_bounds(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *nested = g_strnfill(1000000, '[');
    g_autofree char *deep = g_strconcat("units: ", nested, NULL);
    g_assert_null(parse(deep, &error));
    g_assert_cmpstr(error->message, ==, "m.yaml:1: nested too deep: at most 32 levels are read");
    g_clear_error(&error);
    /* The billion laughs: refused at the first anchor. */
    g_assert_null(parse("a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n", &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_clear_error(&error);
    g_autofree char *large = g_strnfill(IFM_YAML_MAX_BYTES + 1, ' ');
    g_assert_null(parse(large, &error));
    g_assert_cmpstr(error->message, ==, "m.yaml:1: larger than 16 MiB");
    g_clear_error(&error);
    GString *many = g_string_new("units: [");
    for (int i = 0; i < IFM_YAML_MAX_NODES; i++)
        g_string_append(many, "1,");
    g_string_append(many, "]");
    g_assert_null(parse(many->str, &error));
    g_assert_cmpstr(error->message, ==, "m.yaml:1: too many values: at most 1000000 are read");
    g_string_free(many, TRUE);
    g_clear_error(&error);
    g_assert_null(ifm_yaml_read(machine_fields, sizeof(Machine), "/nonexistent/m.yaml", &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE);
    g_assert_cmpstr(error->message, ==, "/nonexistent/m.yaml: cannot be read: No such file or directory");
    g_clear_error(&error);
    g_assert_null(ifm_yaml_read(machine_fields, sizeof(Machine), "/", &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_cmpstr(error->message, ==, "/: is a folder; expected a YAML file");
    g_clear_error(&error);
    g_assert_null(ifm_yaml_read(machine_fields, sizeof(Machine), "/dev/null", &error));
    g_assert_cmpstr(error->message, ==, "/dev/null:1: the file is empty");
}

/* Of a field that takes per cent. */
static void test_percent(void)
{
    typedef struct
    {
        IfmPlace place;
        double share;
    } Share;
    static const IfmRecordField fields[] = { { IFM_RECORD(PLACE, Share, place) },
                                             IFM_FIELD(RATIO, Share, share, .min = 0, .max = 1),
                                             { 0 } };
    static const struct
    {
        const char *text;
        double share;
    } known[] = { { "share: 0.25\n", 0.25 }, { "share: 25 %\n", 0.25 }, { "share: 50%\n", 0.5 } };
    for (gsize i = 0; i < G_N_ELEMENTS(known); i++)
    {
        g_autoptr(GError) error = NULL;
        Share *share = ifm_yaml_parse(fields, sizeof(Share), known[i].text, strlen(known[i].text), "m.yaml", &error);
        g_assert_no_error(error);
        g_assert_cmpfloat(share->share, ==, known[i].share);
        ifm_record_free(share, fields);
    }
}

static void test_duration(void)
{
    static const struct
    {
        const char *text;
        gint64 ns;
    } good[] = { { "0 ns", 0 },           { "7ns", 7 },          { "1.5us", 1500 },
                 { "2 ms", 2000000 },     { "1e-3 s", 1000000 }, { "2 min", 120000000000 },
                 { "1h", 3600000000000 }, { ".5us", 500 } };
    static const char *const bad[] = { "", "5", "ms", "-1 ms", "5 mss", "5 ms x", "1e300 s", "inf s", "0x10 s", "nan ns" };
    gint64 ns;
    for (gsize i = 0; i < G_N_ELEMENTS(good); i++)
    {
        g_assert_true(ifm_duration_parse(good[i].text, &ns));
        g_assert_cmpint(ns, ==, good[i].ns);
    }
    for (gsize i = 0; i < G_N_ELEMENTS(bad); i++)
        g_assert_false(ifm_duration_parse(bad[i], &ns));
}

static void test_describe(void)
{
    g_autofree char *text = ifm_yaml_describe(machine_fields);
    g_assert_nonnull(strstr(text, "runs: integer, 1 to 1000, default 50. how often\n"));
    g_assert_nonnull(strstr(text, "units: map of names of map. its processing units\n  latency: duration, required."));
    g_assert_nonnull(strstr(text, "  kind: word (none, gaussian, lognormal), default gaussian. of noise\n"));
    g_assert_nonnull(strstr(text, "\n    what: text, required. what happens\n"));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/yaml/read", test_read);
    g_test_add_func("/yaml/refused", test_refused);
    g_test_add_func("/yaml/syntax", test_syntax);
    g_test_add_func("/yaml/bounds", test_bounds);
    g_test_add_func("/yaml/percent", test_percent);
    g_test_add_func("/yaml/duration", test_duration);
    g_test_add_func("/yaml/describe", test_describe);
    return g_test_run();
}
