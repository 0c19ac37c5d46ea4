#include "simulated-machine.h"

#include <base/base.h>
#include <convolution/convolution.h>
#include <engine/engine.h>
#include <stddef.h>
#include <string.h>

/* These tables and checks read the YAML description of a simulated machine, which is searched for in the folders of
 * devices. */

/* --- the tables: every key of a description, in reading order --------------------------------------------------------- */

/* Each list is in the order of its enum in simulated-machine.h; a list of two words fills a boolean: the second is TRUE. */
static const char *const source_words[] = { "table", "roofline", "fixed", NULL };
static const char *const otherwise_words[] = { "refuse", "roofline", NULL };
static const char *const scale_words[] = { "log", "linear", NULL };
static const char *const beyond_words[] = { "extrapolate", "clamp", "refuse", NULL };
static const char *const noise_words[] = { "none", "gaussian", "lognormal", "bimodal", "pareto", NULL };
static const char *const at_words[] = { "run", "compile", NULL };
static const char *const fault_words[] = { "refuse", "fail", "lose", "hang", "crash", "memory", "wrong", "nan", NULL };
static const char *const mode_words[] = { "default",     "reported", "reported-once", "silent",   "deaf",
                                          "cancellable", "abort",    "segv",          "allocate", NULL };
/* In the order of capability_bits. */
static const char *const capability_words[] = { "cores",       "streams",       "cancel",      "profile",
                                                "node-starts", "memory",        "free-shapes", "set-output",
                                                "buffers",     "profile-means", NULL };
static const guint32 capability_bits[] = { IFM_CAN_CORES,       IFM_CAN_STREAMS,  IFM_CAN_CANCEL,      IFM_CAN_PROFILE,
                                           IFM_CAN_NODE_STARTS, IFM_CAN_MEMORY,   IFM_CAN_FREE_SHAPES, IFM_CAN_SET_OUTPUT,
                                           IFM_CAN_BUFFERS,     IFM_PROFILE_MEANS };

static const IfmRecordField table_fields[] = {
    { IFM_RECORD(PLACE, TableDescription, place) },
    IFM_FIELD(TEXTS, TableDescription, files, .required = TRUE, .min = 1, .max = 100,
              .help = "CSV files, relative to this one; a later file counts for the sizes that the earlier ones lack"),
    IFM_FIELD(SCALARS, TableDescription, select, .element = IFM_RECORD_STRING,
              .help = "rows that count: column: text that it must have"),
    IFM_FIELD(
        STRING, TableDescription, stage,
        .help =
            "column compared with the model's metadata \"inferometer.stage\"; without it every model has the same rows"),
    IFM_FIELD(TEXTS, TableDescription, axes, .required = TRUE,
              .help =
                  "sizes that the latency depends on: columns, or ratios of two (edges/nodes), in the order of nesting"),
    IFM_FIELD_AS(CHOICE, TableDescription, linear, "scale", .words = scale_words, .fallback = "log",
                 .help = "what axes and latency are interpolated in"),
    IFM_FIELD(CHOICE, TableDescription, beyond, .words = beyond_words, .fallback = "extrapolate",
              .help = "what happens outside the table"),
    IFM_FIELD(STRING, TableDescription, latency, .required = TRUE, .help = "column of the mean latency"),
    IFM_FIELD(STRING, TableDescription, std, .help = "column of its standard deviation"),
    IFM_FIELD_AS(DURATION, TableDescription, unit_ns, "unit", .min = 1, .max = 1e15, .fallback = "1 ms",
                 .help = "of both columns"),
    IFM_FIELD(STRING, TableDescription, flag,
              .help = "column that marks rows which are failures, not latencies: any text in it"),
    IFM_FIELD(TEXTS, TableDescription, lost_flags, .help = "flags that lose the device; with any other the run fails"),
    { 0 }
};

static const IfmRecordField roofline_fields[] = {
    { IFM_RECORD(PLACE, RooflineDescription, place) },
    IFM_FIELD(DOUBLE, RooflineDescription, flop_per_s, .required = TRUE, .min = 1, .max = 1e21, .help = "peak arithmetic"),
    IFM_FIELD(DOUBLE, RooflineDescription, bytes_per_s, .required = TRUE, .min = 1, .max = 1e18,
              .help = "peak memory traffic"),
    IFM_FIELD_AS(DURATION, RooflineDescription, overhead_ns, "overhead", .help = "of an inference"),
    IFM_FIELD_AS(DURATION, RooflineDescription, node_overhead_ns, "node_overhead", .help = "of each node"),
    { 0 }
};

static const IfmRecordField latency_fields[] = {
    { IFM_RECORD(PLACE, LatencyDescription, place) },
    IFM_FIELD(CHOICE, LatencyDescription, source, .words = source_words, .required = TRUE,
              .help = "where the latency of an inference comes from"),
    IFM_FIELD_AS(DURATION, LatencyDescription, fixed_ns, "fixed", .help = "of every inference"),
    IFM_FIELD(MAP, LatencyDescription, table, IFM_FIELDS_OF(table_fields, TableDescription), .help = "latencies at sizes"),
    IFM_FIELD(MAP, LatencyDescription, roofline, IFM_FIELDS_OF(roofline_fields, RooflineDescription),
              .help = "latency = overhead + sum over nodes of node_overhead + max(flop / flop_per_s, bytes / bytes_per_s)"),
    IFM_FIELD_AS(CHOICE, LatencyDescription, otherwise_roofline, "otherwise", .words = otherwise_words,
                 .fallback = "refuse", .help = "what becomes of a model that the table does not know"),
    { 0 }
};

static const IfmRecordField noise_fields[] = {
    { IFM_RECORD(PLACE, NoiseDescription, place) },
    IFM_FIELD(
        CHOICE, NoiseDescription, kind, .words = noise_words, .required = TRUE,
        .help =
            "distribution of the latency around its mean; bimodal: a tenth of the runs is slow; pareto: a heavy tail of "
            "finite variance"),
    IFM_FIELD(DOUBLE, NoiseDescription, sigma, .min = 0, .max = 10, .fallback = "0",
              .help = "standard deviation / mean; of pareto 1.41 at most"),
    IFM_FIELD(FLAG, NoiseDescription, from_table,
              .help = "takes sigma from the table's std column where the latency comes from the table"),
    IFM_FIELD(DOUBLE, NoiseDescription, correlation, .min = -0.999, .max = 0.999, .fallback = "0",
              .help = "of one run's deviation with that of the run before (AR(1))"),
    IFM_FIELD(DOUBLE, NoiseDescription, drift, .min = 0.01, .max = 100, .fallback = "1",
              .help = "factor on the first run's latency; it decays to 1"),
    IFM_FIELD(INT64, NoiseDescription, drift_runs, .min = 1, .max = 1e9, .fallback = "10",
              .help = "runs after which 1/e of the drift is left"),
    IFM_FIELD(INT64, NoiseDescription, seed, .min = 0, .max = 4294967295.0, .fallback = "1",
              .help = "of the generator; the option SEED of a compile stands above it"),
    { 0 }
};

static const IfmRecordField link_fields[] = {
    { IFM_RECORD(PLACE, LinkDescription, place) },
    IFM_FIELD(DOUBLE, LinkDescription, bytes_per_s, .required = TRUE, .min = 1, .max = 1e18,
              .help = "of a copy between host and device"),
    IFM_FIELD_AS(DURATION, LinkDescription, fixed_ns, "fixed", .help = "of each copy, however small"),
    IFM_FIELD(FLAG, LinkDescription, assumed, .required = TRUE, .help = "true if these figures were not measured"),
    IFM_FIELD(FLAG, LinkDescription, in_latency, .fallback = "true",
              .help = "true where the latency already holds the transfers; false adds them for host tensors"),
    IFM_FIELD(STRING, LinkDescription, note, .help = "why these figures"),
    { 0 }
};

static const IfmRecordField profile_fields[] = {
    { IFM_RECORD(PLACE, ProfileDescription, place) },
    IFM_FIELD(DOUBLE, ProfileDescription, slow_down, .min = 0, .max = 10, .fallback = "0",
              .help = "share that profiling adds to the latency"),
    IFM_FIELD(DOUBLE, ProfileDescription, gap, .min = 0, .max = 0.9, .fallback = "0",
              .help = "share of the latency that passes between nodes"),
    IFM_FIELD_AS(DURATION, ProfileDescription, resolution_ns, "resolution", .min = 1, .max = 1e9, .fallback = "1 ns",
                 .help = "of node times, which are cut to it"),
    { 0 }
};

static const IfmRecordField condition_fields[] = {
    { IFM_RECORD(PLACE, FaultCondition, place) },
    IFM_FIELD_AS(CHOICE, FaultCondition, at_compile, "at", .words = at_words, .fallback = "run",
                 .help = "where it strikes"),
    IFM_FIELD(INT64, FaultCondition, run, .min = 1, .max = 1e12,
              .help = "this run of the compiled model alone, counted from 1"),
    IFM_FIELD(INT64, FaultCondition, from_run, .min = 1, .max = 1e12, .help = "this run and all after it"),
    IFM_FIELD(
        TEXTS, FaultCondition, stages,
        .help = "these values of the model's metadata \"inferometer.stage\" alone, and ranges FIRST-LAST with one of them"),
    IFM_FIELD(SCALARS, FaultCondition, min, .element = IFM_RECORD_INT64,
              .help = "each of these sizes is at least so large"),
    IFM_FIELD(SCALARS, FaultCondition, max, .element = IFM_RECORD_INT64, .help = "each of these sizes is at most so large"),
    { 0 }
};

static const IfmRecordField fault_fields[] = {
    { IFM_RECORD(PLACE, FaultDescription, place) },
    IFM_FIELD(CHOICE, FaultDescription, what, .words = fault_words, .required = TRUE,
              .help =
                  "refuse: does not compile; fail: an error; lose: the device is gone; hang: never ends; crash: kills the "
                  "process; memory: runs out of it; wrong: another number in the output (needs outputs); nan: a NaN in the "
                  "output"),
    IFM_FIELD(CHOICE, FaultDescription, mode, .words = mode_words, .fallback = "default",
              .help = "lose: silent (answers nonsense at once, default), reported, reported-once; hang: deaf (default) or "
                      "cancellable; crash: abort (default) or segv; memory: reported (default) or allocate"),
    IFM_FIELD(MAP, FaultDescription, when, IFM_FIELDS_OF(condition_fields, FaultCondition),
              .help = "all conditions must hold; without it, at every run (refuse: every compile)"),
    IFM_FIELD(STRING, FaultDescription, reason, .help = "what the device says"),
    IFM_FIELD(INT64, FaultDescription, recover_after, .min = 1, .max = 1e9,
              .help = "lose: the probe, counted from 1, that the device answers again; without it, none"),
    IFM_FIELD(INT64, FaultDescription, limit_bytes, .min = 1, .max = 1e15, .fallback = "4294967296",
              .help = "memory, allocate: how much it takes before it gives up by itself"),
    { 0 }
};

static const IfmRecordField contention_fields[] = {
    { IFM_RECORD(PLACE, ContentionDescription, place) },
    IFM_FIELD_AS(TEXTS, ContentionDescription, busy, "load", .required = TRUE, .min = 1, .max = MAX_CONTENDING - 1,
                 .help = "background load: other units of the machine, all at work"),
    IFM_FIELD(DOUBLE, ContentionDescription, factor, .required = TRUE, .min = 1, .max = 1000,
              .help = "on the time that this unit takes meanwhile"),
    IFM_FIELD(TEXTS, ContentionDescription, stages,
              .help = "for these values of the model's metadata \"inferometer.stage\" alone"),
    { 0 }
};

static const IfmRecordField unit_fields[] = {
    { IFM_RECORD(PLACE, UnitDescription, place) },
    IFM_FIELD(STRING, UnitDescription, description, .required = TRUE, .help = "the hardware's name"),
    IFM_FIELD_AS(CHOICES, UnitDescription, capability_words, "capabilities", .words = capability_words,
                 .help = "what the device can do"),
    IFM_FIELD(TEXTS, UnitDescription, dtypes, .help = "execution precisions it takes; without it f32 alone"),
    IFM_FIELD(SCALARS, UnitDescription, convolutions, .element = IFM_RECORD_DOUBLE,
              .help = "convolution algorithms it has, and the time of an inference with each over that without one"),
    IFM_FIELD(MAP, UnitDescription, latency, IFM_FIELDS_OF(latency_fields, LatencyDescription), .required = TRUE,
              .help = "how long an inference takes"),
    IFM_FIELD(MAP, UnitDescription, noise, IFM_FIELDS_OF(noise_fields, NoiseDescription),
              .help = "how latencies scatter; without it not at all"),
    IFM_FIELD(STRING, UnitDescription, outputs, .fallback = "none",
              .help =
                  "device of another engine that computes true outputs (onnxruntime:CPU), or none: outputs are then zeros"),
    IFM_FIELD(MAP, UnitDescription, link, IFM_FIELDS_OF(link_fields, LinkDescription),
              .help = "between host memory and the device"),
    IFM_FIELD(INT64, UnitDescription, memory_bytes, .min = 1, .max = 1e15,
              .help = "the device's memory, for weights and buffers; without it there is no end to it"),
    IFM_FIELD(MAP, UnitDescription, profile, IFM_FIELDS_OF(profile_fields, ProfileDescription),
              .help = "what profiling costs and reports"),
    IFM_FIELD(
        ROWS, UnitDescription, contention, IFM_FIELDS_OF(contention_fields, ContentionDescription),
        .help =
            "how much slower it is while others work: of the entries whose units are all busy the one with most of them, "
            "among equals the first; without one it is as fast as alone"),
    IFM_FIELD(ROWS, UnitDescription, faults, IFM_FIELDS_OF(fault_fields, FaultDescription),
              .help = "what goes wrong; the first that applies strikes"),
    { 0 }
};

static const IfmRecordField machine_fields[] = {
    { IFM_RECORD(PLACE, MachineDescription, place) },
    IFM_FIELD(STRING, MachineDescription, description, .required = TRUE, .help = "what machine this stands for"),
    IFM_FIELD(STRING, MachineDescription, provenance, .required = TRUE, .help = "where the figures come from"),
    IFM_FIELD(TEXTS, MachineDescription, assumptions, .help = "what was not measured"),
    IFM_FIELD(NAMED, MachineDescription, units, IFM_FIELDS_OF(unit_fields, UnitDescription), .required = TRUE, .min = 1,
              .max = 1000, .help = "its processing units by name: the device is simulated:MACHINE/NAME"),
    { 0 }
};

/* --- what the tables cannot show -------------------------------------------------------------------------------------- */

static gboolean check_latency(const LatencyDescription *latency, GError **error)
{
    const IfmPlace *record = &latency->place;
    if (latency->source == SOURCE_TABLE && latency->table == NULL)
        return ifm_yaml_error(record, error, "source is table: key \"table\" is missing");
    if (latency->source == SOURCE_FIXED && latency->fixed_ns <= 0)
        return ifm_yaml_error(record, error, "source is fixed: key \"fixed\" is missing or 0");
    gboolean needs = latency->source == SOURCE_ROOFLINE || latency->otherwise_roofline;
    if (needs && latency->roofline == NULL)
        return ifm_yaml_error(record, error, "a roofline is asked for: key \"roofline\" is missing");
    return TRUE;
}

/* The modes of a fault; the first is its default. */
static const struct
{
    FaultKind what;
    FaultMode modes[3];
} fault_modes[] = {
    { FAULT_LOSE, { MODE_SILENT, MODE_REPORTED, MODE_REPORTED_ONCE } },
    { FAULT_HANG, { MODE_DEAF, MODE_CANCELLABLE } },
    { FAULT_CRASH, { MODE_ABORT, MODE_SEGV } },
    { FAULT_MEMORY, { MODE_REPORTED, MODE_ALLOCATE } },
};

static gboolean check_fault(const UnitDescription *unit, FaultDescription *fault, GError **error)
{
    gboolean at_compile = fault->when != NULL && fault->when->at_compile, known = fault->mode == MODE_DEFAULT;
    for (gsize i = 0; i < G_N_ELEMENTS(fault_modes); i++)
    {
        if ((int)fault_modes[i].what != fault->what)
            continue;
        for (gsize k = 0; k < 3 && fault->mode != MODE_DEFAULT; k++)
            known |= (int)fault_modes[i].modes[k] == fault->mode;
        if (fault->mode == MODE_DEFAULT)
            fault->mode = fault_modes[i].modes[0];
    }
    if (!known)
        return ifm_yaml_error(&fault->place, error, "a fault \"%s\" has no mode \"%s\"", fault_words[fault->what],
                              mode_words[fault->mode]);
    if (fault->what == FAULT_REFUSE && fault->when != NULL && !at_compile)
        return ifm_yaml_error(&fault->when->place, error, "only compiling can be refused: \"at: compile\" is missing");
    if ((fault->what == FAULT_WRONG || fault->what == FAULT_NAN) && at_compile)
        return ifm_yaml_error(&fault->when->place, error, "compiling has no output that could be wrong");
    if (fault->what == FAULT_WRONG && g_str_equal(unit->outputs, "none"))
        return ifm_yaml_error(&fault->place, error,
                              "a wrong output among zeros is never noticed: the unit needs \"outputs: DEVICE\" "
                              "(onnxruntime:CPU), which computes the right ones");
    if (fault->mode == MODE_CANCELLABLE && (unit->capabilities & IFM_CAN_CANCEL) == 0)
        return ifm_yaml_error(&fault->place, error, "cancellable, but \"cancel\" is not among the unit's capabilities");
    if (at_compile && (fault->when->run != 0 || fault->when->from_run != 0))
        return ifm_yaml_error(&fault->when->place, error, "compiling comes before all runs: leave out run and from_run");
    return TRUE;
}

static const UnitDescription *unit_named(const MachineDescription *machine, const char *name)
{
    for (guint i = 0; i < machine->units->len; i++)
        if (g_str_equal(((const UnitDescription *)machine->units->pdata[i])->place.name, name))
            return machine->units->pdata[i];
    return NULL;
}

static gboolean check_contention(const MachineDescription *machine, const UnitDescription *unit,
                                 ContentionDescription *entry, GError **error)
{
    for (guint i = 0; i < entry->busy->len; i++)
    {
        const char *name = entry->busy->pdata[i];
        const UnitDescription *other = unit_named(machine, name);
        if (other == NULL)
            return ifm_yaml_error(&entry->place, error, "load: this machine has no unit \"%s\"", name);
        if (other == unit)
            return ifm_yaml_error(&entry->place, error, "load: %s is the unit itself; name others", name);
        entry->mask |= G_GUINT64_CONSTANT(1) << other->index;
    }
    return TRUE;
}

static gboolean check_all_contention(MachineDescription *machine, GError **error)
{
    for (guint i = 0; i < machine->units->len; i++)
        machine->contends |= ((const UnitDescription *)machine->units->pdata[i])->contention->len > 0;
    if (machine->contends && machine->units->len > MAX_CONTENDING)
        return ifm_yaml_key_error(&machine->place, "units", -1, error, "found %u; with contention there may be %d",
                                  machine->units->len, MAX_CONTENDING);
    for (guint i = 0; i < machine->units->len; i++)
    {
        const UnitDescription *unit = machine->units->pdata[i];
        for (guint k = 0; k < unit->contention->len; k++)
            if (!check_contention(machine, unit, unit->contention->pdata[k], error))
                return FALSE;
    }
    return TRUE;
}

static gboolean check_outputs(UnitDescription *unit, GError **error)
{
    if (g_str_equal(unit->outputs, "none"))
        return TRUE;
    g_autoptr(GError) local = NULL;
    g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse(unit->outputs, &local);
    if (spec == NULL)
        return ifm_yaml_key_error(&unit->place, "outputs", -1, error, "%s", local->message);
    if (g_str_equal(spec->engine, "simulated"))
        return ifm_yaml_key_error(&unit->place, "outputs", -1, error, "\"%s\" is simulated itself", unit->outputs);
    unit->capabilities |= IFM_CAN_TRUE_OUTPUTS;
    return TRUE;
}

static gboolean check_convolution(IfmScalar *scalar, GError **error)
{
    g_autoptr(GError) trouble = NULL;
    IfmConvAlgorithm algorithm;
    if (!ifm_conv_algorithm_parse(scalar->place.name, &algorithm, &trouble))
        return ifm_yaml_error(&scalar->place, error, "convolutions: %s", trouble->message);
    return scalar->number > 0 || ifm_yaml_error(&scalar->place, error, "convolutions: %s: %s should be above 0",
                                                scalar->place.name, scalar->text);
}

static gboolean check_unit(UnitDescription *unit, GError **error)
{
    unit->capabilities = IFM_IS_SIMULATED;
    for (gsize i = 0; i < unit->capability_words->len; i++)
        unit->capabilities |= capability_bits[g_array_index(unit->capability_words, int, i)];
    if ((unit->capabilities & IFM_CAN_NODE_STARTS) != 0 && (unit->capabilities & IFM_CAN_PROFILE) == 0)
        return ifm_yaml_error(&unit->place, error, "node-starts without profile");
    if ((unit->capabilities & IFM_PROFILE_MEANS) != 0 &&
        (unit->capabilities & (IFM_CAN_PROFILE | IFM_CAN_NODE_STARTS)) != IFM_CAN_PROFILE)
        return ifm_yaml_error(&unit->place, error, "profile-means goes with profile, and without node-starts");
    for (gsize i = 0; i < unit->dtypes->len; i++)
        if (ifm_dtype_size_bytes(ifm_dtype_from_name(g_ptr_array_index(unit->dtypes, i))) == 0)
            return ifm_yaml_key_error(&unit->place, "dtypes", i, error, "no dtype \"%s\"", (char *)unit->dtypes->pdata[i]);
    for (gsize i = 0; i < unit->convolutions->len; i++)
        if (!check_convolution(unit->convolutions->pdata[i], error))
            return FALSE;
    for (gsize i = 0; i < unit->faults->len; i++)
        if (!check_fault(unit, g_ptr_array_index(unit->faults, i), error))
            return FALSE;
    return check_latency(unit->latency, error) && check_outputs(unit, error);
}

static void resolve_files(TableDescription *table, const char *path)
{
    g_autofree char *folder = g_path_get_dirname(path);
    for (gsize i = 0; i < table->files->len; i++)
    {
        char *file = g_ptr_array_index(table->files, i);
        table->files->pdata[i] = g_canonicalize_filename(file, folder);
        g_free(file);
    }
}

MachineDescription *machine_read(const char *path, GError **error)
{
    g_autoptr(MachineDescription) machine = ifm_yaml_read(machine_fields, sizeof(MachineDescription), path, error);
    if (machine == NULL)
        return NULL;
    for (gsize i = 0; i < machine->units->len; i++)
    {
        UnitDescription *unit = g_ptr_array_index(machine->units, i);
        unit->index = (guint32)i;
        if (!check_unit(unit, error))
            return NULL;
        if (unit->latency->table != NULL)
            resolve_files(unit->latency->table, path);
    }
    if (!check_all_contention(machine, error))
        return NULL;
    return g_steal_pointer(&machine);
}

void machine_free(MachineDescription *machine)
{
    ifm_record_free(machine, machine_fields);
}

char *machine_describe(void)
{
    return ifm_yaml_describe(machine_fields);
}

/* --- where descriptions are ------------------------------------------------------------------------------------------- */

/* (transfer full) the folders to search, in order; NULL-terminated. */
static char **device_folders(void)
{
    const char *named = g_getenv("IFM_DEVICES_DIR");
    GPtrArray *folders = g_ptr_array_new();
    if (named != NULL && *named != '\0')
        g_ptr_array_add(
            folders, g_canonicalize_filename(named, NULL)); /* relative paths in a description are found from its folder */
    char *installed = ifm_path_data("devices", NULL);
    if (installed != NULL)
        g_ptr_array_add(folders, installed);
    g_ptr_array_add(folders, NULL);
    return (char **)g_ptr_array_free(folders, FALSE);
}

GPtrArray *machine_names(void)
{
    g_auto(GStrv) folders = device_folders();
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
    for (char **folder = folders; *folder != NULL; folder++)
    {
        g_autoptr(GDir) dir = g_dir_open(*folder, 0, NULL);
        for (const char *file; dir != NULL && (file = g_dir_read_name(dir)) != NULL;)
        {
            if (!g_str_has_suffix(file, ".yaml") || *file == '.')
                continue;
            g_autofree char *name = g_strndup(file, strlen(file) - strlen(".yaml"));
            if (!g_ptr_array_find_with_equal_func(names, name, g_str_equal, NULL))
                g_ptr_array_add(names, g_steal_pointer(&name));
        }
    }
    g_ptr_array_sort(names, ifm_compare_texts);
    return names;
}

char *machine_path(const char *name, GError **error)
{
    g_auto(GStrv) folders = device_folders();
    gboolean plain = *name != '\0' && *name != '.' && strchr(name, '/') == NULL;
    for (char **folder = folders; plain && *folder != NULL; folder++)
    {
        g_autofree char *file = g_strconcat(name, ".yaml", NULL);
        char *path = g_build_filename(*folder, file, NULL);
        if (g_file_test(path, G_FILE_TEST_EXISTS))
            return path;
        g_free(path);
    }
    g_autoptr(GPtrArray) names = machine_names();
    g_ptr_array_add(names, NULL);
    g_autofree char *hint = ifm_nearest_hint(name, (const char *const *)names->pdata);
    g_autofree char *where = g_strjoinv(" and ", folders);
    ifm_error_set(error, IFM_ERROR_UNAVAILABLE, "no simulated machine \"%s\" in %s%s", name, where, hint);
    return NULL;
}
