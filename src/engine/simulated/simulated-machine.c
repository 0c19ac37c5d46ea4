#include "simulated-machine.h"

#include <inferometer/engine.h>
#include <inferometer/paths.h>
#include <internal/nearest.h>
#include <internal/tensor.h>
#include <stddef.h>
#include <string.h>

/* --- the tables: every key of a description, in reading order --------------------------------------------------------- */

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

#define FIELD(struct_type, member) .offset = offsetof(struct_type, member)
#define NAMED_OF(of) .type = IFM_YAML_NAMED, .element = of
#define LIST_OF(of) .type = IFM_YAML_LIST, .element = of

static const IfmYamlField table_fields[] = {
    { .key = "files",
      LIST_OF(IFM_YAML_STRING),
      FIELD(TableDescription, files),
      .required = TRUE,
      .min = 1,
      .max = 100,
      .help = "CSV files, relative to this one; a later file counts for the sizes that the earlier ones lack" },
    { .key = "select",
      NAMED_OF(IFM_YAML_STRING),
      FIELD(TableDescription, select),
      .help = "rows that count: column: text that it must have" },
    { .key = "stage",
      .type = IFM_YAML_STRING,
      FIELD(TableDescription, stage),
      .help = "column compared with the model's metadata \"inferometer.stage\"; without it every model has the same rows" },
    { .key = "axes",
      LIST_OF(IFM_YAML_STRING),
      FIELD(TableDescription, axes),
      .required = TRUE,
      .help = "sizes that the latency depends on: columns, or ratios of two (edges/nodes), in the order of nesting" },
    { .key = "scale",
      .type = IFM_YAML_ENUM,
      .words = scale_words,
      FIELD(TableDescription, linear),
      .fallback = "log",
      .help = "what axes and latency are interpolated in" },
    { .key = "beyond",
      .type = IFM_YAML_ENUM,
      .words = beyond_words,
      FIELD(TableDescription, beyond),
      .fallback = "extrapolate",
      .help = "what happens outside the table" },
    { .key = "latency",
      .type = IFM_YAML_STRING,
      FIELD(TableDescription, latency),
      .required = TRUE,
      .help = "column of the mean latency" },
    { .key = "std", .type = IFM_YAML_STRING, FIELD(TableDescription, std), .help = "column of its standard deviation" },
    { .key = "unit",
      .type = IFM_YAML_DURATION,
      FIELD(TableDescription, unit_ns),
      .fallback = "1 ms",
      .min = 1,
      .max = 1e15,
      .help = "of both columns" },
    { .key = "flag",
      .type = IFM_YAML_STRING,
      FIELD(TableDescription, flag),
      .help = "column that marks rows which are failures, not latencies: any text in it" },
    { .key = "lost_flags",
      LIST_OF(IFM_YAML_STRING),
      FIELD(TableDescription, lost_flags),
      .help = "flags that lose the device; with any other the run fails" },
    { 0 }
};
static const IfmYamlTable table_table = { table_fields, sizeof(TableDescription) };

static const IfmYamlField roofline_fields[] = {
    { .key = "flop_per_s",
      .type = IFM_YAML_DOUBLE,
      FIELD(RooflineDescription, flop_per_s),
      .required = TRUE,
      .min = 1,
      .max = 1e21,
      .help = "peak arithmetic" },
    { .key = "bytes_per_s",
      .type = IFM_YAML_DOUBLE,
      FIELD(RooflineDescription, bytes_per_s),
      .required = TRUE,
      .min = 1,
      .max = 1e18,
      .help = "peak memory traffic" },
    { .key = "overhead", .type = IFM_YAML_DURATION, FIELD(RooflineDescription, overhead_ns), .help = "of an inference" },
    { .key = "node_overhead",
      .type = IFM_YAML_DURATION,
      FIELD(RooflineDescription, node_overhead_ns),
      .help = "of each node" },
    { 0 }
};
static const IfmYamlTable roofline_table = { roofline_fields, sizeof(RooflineDescription) };

static const IfmYamlField latency_fields[] = {
    { .key = "source",
      .type = IFM_YAML_ENUM,
      .words = source_words,
      FIELD(LatencyDescription, source),
      .required = TRUE,
      .help = "where the latency of an inference comes from" },
    { .key = "fixed", .type = IFM_YAML_DURATION, FIELD(LatencyDescription, fixed_ns), .help = "of every inference" },
    { .key = "table",
      .type = IFM_YAML_MAP,
      .table = &table_table,
      FIELD(LatencyDescription, table),
      .help = "latencies at sizes" },
    { .key = "roofline",
      .type = IFM_YAML_MAP,
      .table = &roofline_table,
      FIELD(LatencyDescription, roofline),
      .help = "latency = overhead + sum over nodes of node_overhead + max(flop / flop_per_s, bytes / bytes_per_s)" },
    { .key = "otherwise",
      .type = IFM_YAML_ENUM,
      .words = otherwise_words,
      FIELD(LatencyDescription, otherwise_roofline),
      .fallback = "refuse",
      .help = "what becomes of a model that the table does not know" },
    { 0 }
};
static const IfmYamlTable latency_table = { latency_fields, sizeof(LatencyDescription) };

static const IfmYamlField noise_fields[] = {
    { .key = "kind",
      .type = IFM_YAML_ENUM,
      .words = noise_words,
      FIELD(NoiseDescription, kind),
      .required = TRUE,
      .help = "distribution of the latency around its mean; bimodal: a tenth of the runs is slow; pareto: a heavy tail of "
              "finite variance" },
    { .key = "sigma",
      .type = IFM_YAML_DOUBLE,
      FIELD(NoiseDescription, sigma),
      .min = 0,
      .max = 10,
      .fallback = "0",
      .help = "standard deviation / mean; of pareto 1.41 at most" },
    { .key = "from_table",
      .type = IFM_YAML_BOOL,
      FIELD(NoiseDescription, from_table),
      .help = "takes sigma from the table's std column where the latency comes from the table" },
    { .key = "correlation",
      .type = IFM_YAML_DOUBLE,
      FIELD(NoiseDescription, correlation),
      .min = -0.999,
      .max = 0.999,
      .fallback = "0",
      .help = "of one run's deviation with that of the run before (AR(1))" },
    { .key = "drift",
      .type = IFM_YAML_DOUBLE,
      FIELD(NoiseDescription, drift),
      .min = 0.01,
      .max = 100,
      .fallback = "1",
      .help = "factor on the first run's latency; it decays to 1" },
    { .key = "drift_runs",
      .type = IFM_YAML_INT,
      FIELD(NoiseDescription, drift_runs),
      .min = 1,
      .max = 1e9,
      .fallback = "10",
      .help = "runs after which 1/e of the drift is left" },
    { .key = "seed",
      .type = IFM_YAML_INT,
      FIELD(NoiseDescription, seed),
      .min = 0,
      .max = 4294967295.0,
      .fallback = "1",
      .help = "of the generator; the option SEED of a compile stands above it" },
    { 0 }
};
static const IfmYamlTable noise_table = { noise_fields, sizeof(NoiseDescription) };

static const IfmYamlField link_fields[] = {
    { .key = "bytes_per_s",
      .type = IFM_YAML_DOUBLE,
      FIELD(LinkDescription, bytes_per_s),
      .required = TRUE,
      .min = 1,
      .max = 1e18,
      .help = "of a copy between host and device" },
    { .key = "fixed", .type = IFM_YAML_DURATION, FIELD(LinkDescription, fixed_ns), .help = "of each copy, however small" },
    { .key = "assumed",
      .type = IFM_YAML_BOOL,
      FIELD(LinkDescription, assumed),
      .required = TRUE,
      .help = "true if these figures were not measured" },
    { .key = "in_latency",
      .type = IFM_YAML_BOOL,
      FIELD(LinkDescription, in_latency),
      .fallback = "true",
      .help = "true where the latency already holds the transfers; false adds them for host tensors" },
    { .key = "note", .type = IFM_YAML_STRING, FIELD(LinkDescription, note), .help = "why these figures" },
    { 0 }
};
static const IfmYamlTable link_table = { link_fields, sizeof(LinkDescription) };

static const IfmYamlField profile_fields[] = { { .key = "slow_down",
                                                 .type = IFM_YAML_DOUBLE,
                                                 FIELD(ProfileDescription, slow_down),
                                                 .min = 0,
                                                 .max = 10,
                                                 .fallback = "0",
                                                 .help = "share that profiling adds to the latency" },
                                               { .key = "gap",
                                                 .type = IFM_YAML_DOUBLE,
                                                 FIELD(ProfileDescription, gap),
                                                 .min = 0,
                                                 .max = 0.9,
                                                 .fallback = "0",
                                                 .help = "share of the latency that passes between nodes" },
                                               { .key = "resolution",
                                                 .type = IFM_YAML_DURATION,
                                                 FIELD(ProfileDescription, resolution_ns),
                                                 .min = 1,
                                                 .max = 1e9,
                                                 .fallback = "1 ns",
                                                 .help = "of node times, which are cut to it" },
                                               { 0 } };
static const IfmYamlTable profile_table = { profile_fields, sizeof(ProfileDescription) };

static const IfmYamlField condition_fields[] = {
    { .key = "at",
      .type = IFM_YAML_ENUM,
      .words = at_words,
      FIELD(FaultCondition, at_compile),
      .fallback = "run",
      .help = "where it strikes" },
    { .key = "run",
      .type = IFM_YAML_INT,
      FIELD(FaultCondition, run),
      .min = 1,
      .max = 1e12,
      .help = "this run of the compiled model alone, counted from 1" },
    { .key = "from_run",
      .type = IFM_YAML_INT,
      FIELD(FaultCondition, from_run),
      .min = 1,
      .max = 1e12,
      .help = "this run and all after it" },
    { .key = "stages",
      LIST_OF(IFM_YAML_STRING),
      FIELD(FaultCondition, stages),
      .help = "these values of the model's metadata \"inferometer.stage\" alone, and ranges FIRST-LAST with one of them" },
    { .key = "min",
      .old_key = "least",
      NAMED_OF(IFM_YAML_INT),
      FIELD(FaultCondition, min),
      .help = "each of these sizes is at least so large" },
    { .key = "max",
      .old_key = "most",
      NAMED_OF(IFM_YAML_INT),
      FIELD(FaultCondition, max),
      .help = "each of these sizes is at most so large" },
    { 0 }
};
static const IfmYamlTable condition_table = { condition_fields, sizeof(FaultCondition) };

static const IfmYamlField fault_fields[] = {
    { .key = "what",
      .type = IFM_YAML_ENUM,
      .words = fault_words,
      FIELD(FaultDescription, what),
      .required = TRUE,
      .help = "refuse: does not compile; fail: an error; lose: the device is gone; hang: never ends; crash: kills the "
              "process; memory: runs out of it; wrong: another number in the output (needs outputs); nan: a NaN in the "
              "output" },
    { .key = "mode",
      .type = IFM_YAML_ENUM,
      .words = mode_words,
      FIELD(FaultDescription, mode),
      .fallback = "default",
      .help = "lose: silent (answers nonsense at once, default), reported, reported-once; hang: deaf (default) or "
              "cancellable; crash: abort (default) or segv; memory: reported (default) or allocate" },
    { .key = "when",
      .type = IFM_YAML_MAP,
      .table = &condition_table,
      FIELD(FaultDescription, when),
      .help = "all conditions must hold; without it, at every run (refuse: every compile)" },
    { .key = "reason", .type = IFM_YAML_STRING, FIELD(FaultDescription, reason), .help = "what the device says" },
    { .key = "recover_after",
      .type = IFM_YAML_INT,
      FIELD(FaultDescription, recover_after),
      .min = 1,
      .max = 1e9,
      .help = "lose: the probe, counted from 1, that the device answers again; without it, none" },
    { .key = "limit_bytes",
      .type = IFM_YAML_INT,
      FIELD(FaultDescription, limit_bytes),
      .min = 1,
      .max = 1e15,
      .fallback = "4294967296",
      .help = "memory, allocate: how much it takes before it gives up by itself" },
    { 0 }
};
static const IfmYamlTable fault_table = { fault_fields, sizeof(FaultDescription) };

static const IfmYamlField contention_fields[] = {
    { .key = "load",
      .old_key = "busy",
      LIST_OF(IFM_YAML_STRING),
      FIELD(ContentionDescription, busy),
      .required = TRUE,
      .min = 1,
      .max = MAX_CONTENDING - 1,
      .help = "background load: other units of the machine, all at work" },
    { .key = "factor",
      .type = IFM_YAML_DOUBLE,
      FIELD(ContentionDescription, factor),
      .required = TRUE,
      .min = 1,
      .max = 1000,
      .help = "on the time that this unit takes meanwhile" },
    { .key = "stages",
      LIST_OF(IFM_YAML_STRING),
      FIELD(ContentionDescription, stages),
      .help = "for these values of the model's metadata \"inferometer.stage\" alone" },
    { 0 }
};
static const IfmYamlTable contention_table = { contention_fields, sizeof(ContentionDescription) };

static const IfmYamlField unit_fields[] = {
    { .key = "description",
      .type = IFM_YAML_STRING,
      FIELD(UnitDescription, description),
      .required = TRUE,
      .help = "the hardware's name" },
    { .key = "capabilities",
      LIST_OF(IFM_YAML_ENUM),
      .words = capability_words,
      FIELD(UnitDescription, capability_words),
      .help = "what the device can do" },
    { .key = "dtypes",
      LIST_OF(IFM_YAML_STRING),
      FIELD(UnitDescription, dtypes),
      .help = "execution precisions it takes; without it f32 alone" },
    { .key = "convolutions",
      .type = IFM_YAML_NAMED,
      .element = IFM_YAML_DOUBLE,
      FIELD(UnitDescription, convolutions),
      .help = "convolution algorithms it has, and the time of an inference with each over that without one" },
    { .key = "latency",
      .type = IFM_YAML_MAP,
      .table = &latency_table,
      FIELD(UnitDescription, latency),
      .required = TRUE,
      .help = "how long an inference takes" },
    { .key = "noise",
      .type = IFM_YAML_MAP,
      .table = &noise_table,
      FIELD(UnitDescription, noise),
      .help = "how latencies scatter; without it not at all" },
    { .key = "outputs",
      .type = IFM_YAML_STRING,
      FIELD(UnitDescription, outputs),
      .fallback = "none",
      .help = "device of another engine that computes true outputs (onnxruntime:CPU), or none: outputs are then zeros" },
    { .key = "link",
      .type = IFM_YAML_MAP,
      .table = &link_table,
      FIELD(UnitDescription, link),
      .help = "between host memory and the device" },
    { .key = "memory_bytes",
      .type = IFM_YAML_INT,
      FIELD(UnitDescription, memory_bytes),
      .min = 1,
      .max = 1e15,
      .help = "the device's memory, for weights and buffers; without it there is no end to it" },
    { .key = "profile",
      .type = IFM_YAML_MAP,
      .table = &profile_table,
      FIELD(UnitDescription, profile),
      .help = "what profiling costs and reports" },
    { .key = "contention",
      LIST_OF(IFM_YAML_MAP),
      .table = &contention_table,
      FIELD(UnitDescription, contention),
      .help = "how much slower it is while others work: of the entries whose units are all busy the one with most of them, "
              "among equals the first; without one it is as fast as alone" },
    { .key = "faults",
      LIST_OF(IFM_YAML_MAP),
      .table = &fault_table,
      FIELD(UnitDescription, faults),
      .help = "what goes wrong; the first that applies strikes" },
    { 0 }
};
static const IfmYamlTable unit_table = { unit_fields, sizeof(UnitDescription) };

static const IfmYamlField machine_fields[] = { { .key = "description",
                                                 .type = IFM_YAML_STRING,
                                                 FIELD(MachineDescription, description),
                                                 .required = TRUE,
                                                 .help = "what machine this stands for" },
                                               { .key = "provenance",
                                                 .type = IFM_YAML_STRING,
                                                 FIELD(MachineDescription, provenance),
                                                 .required = TRUE,
                                                 .help = "where the figures come from" },
                                               { .key = "assumptions",
                                                 LIST_OF(IFM_YAML_STRING),
                                                 FIELD(MachineDescription, assumptions),
                                                 .help = "what was not measured" },
                                               { .key = "units",
                                                 NAMED_OF(IFM_YAML_MAP),
                                                 .table = &unit_table,
                                                 FIELD(MachineDescription, units),
                                                 .required = TRUE,
                                                 .min = 1,
                                                 .max = 1000,
                                                 .help =
                                                     "its processing units by name: the device is simulated:MACHINE/NAME" },
                                               { 0 } };
static const IfmYamlTable machine_table = { machine_fields, sizeof(MachineDescription) };

/* --- what the tables cannot show -------------------------------------------------------------------------------------- */

static gboolean check_latency(const LatencyDescription *latency, GError **error)
{
    const IfmYamlRecord *record = &latency->record;
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
        return ifm_yaml_error(&fault->record, error, "a fault \"%s\" has no mode \"%s\"", fault_words[fault->what],
                              mode_words[fault->mode]);
    if (fault->what == FAULT_REFUSE && fault->when != NULL && !at_compile)
        return ifm_yaml_error(&fault->when->record, error, "only compiling can be refused: \"at: compile\" is missing");
    if ((fault->what == FAULT_WRONG || fault->what == FAULT_NAN) && at_compile)
        return ifm_yaml_error(&fault->when->record, error, "compiling has no output that could be wrong");
    if (fault->what == FAULT_WRONG && g_str_equal(unit->outputs, "none"))
        return ifm_yaml_error(&fault->record, error,
                              "a wrong output among zeros is never noticed: the unit needs \"outputs: DEVICE\" "
                              "(onnxruntime:CPU), which computes the right ones");
    if (fault->mode == MODE_CANCELLABLE && (unit->capabilities & IFM_CAN_CANCEL) == 0)
        return ifm_yaml_error(&fault->record, error, "cancellable, but \"cancel\" is not among the unit's capabilities");
    if (at_compile && (fault->when->run != 0 || fault->when->from_run != 0))
        return ifm_yaml_error(&fault->when->record, error, "compiling comes before all runs: leave out run and from_run");
    return TRUE;
}

static const UnitDescription *unit_named(const MachineDescription *machine, const char *name)
{
    for (guint i = 0; i < machine->units->len; i++)
        if (g_str_equal(((const UnitDescription *)machine->units->pdata[i])->record.name, name))
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
            return ifm_yaml_error(&entry->record, error, "busy: this machine has no unit \"%s\"", name);
        if (other == unit)
            return ifm_yaml_error(&entry->record, error, "busy: %s is the unit itself; name others", name);
        entry->mask |= G_GUINT64_CONSTANT(1) << other->index;
    }
    return TRUE;
}

static gboolean check_all_contention(MachineDescription *machine, GError **error)
{
    for (guint i = 0; i < machine->units->len; i++)
        machine->contends |= ((const UnitDescription *)machine->units->pdata[i])->contention->len > 0;
    if (machine->contends && machine->units->len > MAX_CONTENDING)
        return ifm_yaml_key_error(&machine->record, "units", -1, error, "found %u; with contention there may be %d",
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
        return ifm_yaml_key_error(&unit->record, "outputs", -1, error, "%s", local->message);
    if (g_str_equal(spec->engine, "simulated"))
        return ifm_yaml_key_error(&unit->record, "outputs", -1, error, "\"%s\" is simulated itself", unit->outputs);
    unit->capabilities |= IFM_CAN_TRUE_OUTPUTS;
    return TRUE;
}

static gboolean check_convolution(IfmYamlScalar *scalar, GError **error)
{
    g_autoptr(GError) trouble = NULL;
    IfmConvAlgorithm algorithm;
    if (!ifm_conv_algorithm_parse(scalar->record.name, &algorithm, &trouble))
        return ifm_yaml_error(&scalar->record, error, "convolutions: %s", trouble->message);
    return scalar->number > 0 || ifm_yaml_error(&scalar->record, error, "convolutions: %s: %s should be above 0",
                                                scalar->record.name, scalar->text);
}

static gboolean check_unit(UnitDescription *unit, GError **error)
{
    unit->capabilities = IFM_IS_SIMULATED;
    for (gsize i = 0; i < unit->capability_words->len; i++)
        unit->capabilities |= capability_bits[g_array_index(unit->capability_words, int, i)];
    if ((unit->capabilities & IFM_CAN_NODE_STARTS) != 0 && (unit->capabilities & IFM_CAN_PROFILE) == 0)
        return ifm_yaml_error(&unit->record, error, "node-starts without profile");
    if ((unit->capabilities & IFM_PROFILE_MEANS) != 0 &&
        (unit->capabilities & (IFM_CAN_PROFILE | IFM_CAN_NODE_STARTS)) != IFM_CAN_PROFILE)
        return ifm_yaml_error(&unit->record, error, "profile-means goes with profile, and without node-starts");
    for (gsize i = 0; i < unit->dtypes->len; i++)
        if (ifm_dtype_size_bytes(ifm_dtype_from_name(g_ptr_array_index(unit->dtypes, i))) == 0)
            return ifm_yaml_key_error(&unit->record, "dtypes", i, error, "no dtype \"%s\"", (char *)unit->dtypes->pdata[i]);
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
    g_autoptr(MachineDescription) machine = ifm_yaml_read(&machine_table, path, error);
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
    ifm_yaml_free(&machine_table, machine);
}

char *machine_describe(void)
{
    return ifm_yaml_describe(&machine_table);
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

static int compare_names(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
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
    g_ptr_array_sort(names, compare_names);
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
    g_set_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE, "no simulated machine \"%s\" in %s%s", name, where, hint);
    return NULL;
}
