#pragma once
#include <pthread.h>

#include "../driver.h"
#include "simulated-machine.h"
#include <base/base.h>
#include <stdatomic.h>

G_BEGIN_DECLS

/* What the files of the simulated driver share: simulated-machine.c reads descriptions, simulated-latency.c says how long
 * an inference takes, simulated-range.c for several stages as one, simulated-contention.c how it slows while other units
 * work, simulated-fault.c what goes wrong, simulated-compile.c and simulated-memory.c are slots, simulated.c is the driver
 * itself. */

/* --- simulated-latency.c ---------------------------------------------------------------------------------------------- */

/* SimulatedSizes: the sizes of one inference by name; NaN: unknown. */
typedef struct
{
    gsize n;
    char **names;
    double *values;
} SimulatedSizes;

/* simulated_size: NaN for an unknown name. */
double simulated_size(const SimulatedSizes *sizes, const char *name);
/* simulated_sizes_set: Ignores a name that is not used. */
void simulated_sizes_set(const SimulatedSizes *sizes, const char *name, double value);

/* FlaggedRow: a row of a table that marks a failure and has no latency. */
typedef struct
{
    char *flag, *file;
    gsize line;
    gboolean loses; /* it loses the device */
    double place[2];
} FlaggedRow;

/* StageTable: the rows of a table for one stage on one unit. */
typedef struct StageTable StageTable;

/* stage_table_load: @stage: NULL if the model has none. A table without rows for it is not an error: stage_table_n() is
 * 0. */
StageTable *stage_table_load(const TableDescription *description, const char *stage, GError **error);
void stage_table_free(StageTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(StageTable, stage_table_free)
gsize stage_table_n(const StageTable *table);

/* Prediction: the mean time of an inference. */
typedef struct
{
    double mean_ns;
    double sigma;              /* std / mean in the table; NaN: unknown */
    const char *how;           /* "fixed", "roofline", "table, exact", … */
    const FlaggedRow *flagged; /* the row of a failure at these sizes; mean_ns is then 0 */
} Prediction;

/* stage_table_predict: FALSE with IFM_ERROR_UNSUPPORTED if a size is unknown, or is outside and `beyond` is refuse. */
gboolean stage_table_predict(const StageTable *table, const SimulatedSizes *sizes, Prediction *prediction, GError **error);

/* --- simulated-range.c ------------------------------------------------------------------------------------------------ */

/*
 * RangeTable: the rows for a stage, or for a range of stages FIRST-LAST that runs as one: the table's own rows of the
 * range, else those of each of its stages. In the second case latencies add up, standard deviations add up as squares,
 * and a failure of one stage is one of the range ("table, summed").
 */
typedef struct
{
    GPtrArray *parts; /* StageTable*: the range's own, or one for each of its stages */
    char *missing;    /* the first stage without rows; NULL: all of it is known */
} RangeTable;

/* simulated_range: Whether a stage's name is a range FIRST-LAST. */
gboolean simulated_range(const char *stage, int *first, int *last);
/* simulated_range_has: Whether @one is that stage, or one of that range. @stage: NULL has none */
gboolean simulated_range_has(const char *stage, const char *one);
/* range_table_load: As stage_table_load(). */
RangeTable *range_table_load(const TableDescription *description, const char *stage, GError **error);
void range_table_free(RangeTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RangeTable, range_table_free)
/* range_table_predict: As stage_table_predict(); only where nothing is missing. */
gboolean range_table_predict(const RangeTable *table, const SimulatedSizes *sizes, Prediction *prediction, GError **error);

/* --- simulated-latency.c: roofline, shares, noise --------------------------------------------------------------------- */

/* roofline_predict: FALSE with IFM_ERROR_UNSUPPORTED if the costs of all nodes are unknown and nothing else takes
 * time. */
gboolean roofline_predict(const RooflineDescription *roofline, IfmModel *model, const IfmAnalysis *analysis, double *ns,
                          GError **error);
/* node_shares: Each node's share of the device time, by its costs (bytes and FLOP). @shares: (out) [n nodes], their sum
 * is 1. */
void node_shares(const RooflineDescription *roofline, IfmModel *model, const IfmAnalysis *analysis, double *shares);

/* SimulatedNoise: the random generator of one request. */
typedef struct
{
    const NoiseDescription *description; /* NULL: none */
    GArray *seed;                        /* guint32 */
    GRand *random;
    double deviation; /* of the last run, in standard deviations */
    gint64 n_runs;
} SimulatedNoise;

/* noise_init: @seed: [n] */
void noise_init(SimulatedNoise *noise, const NoiseDescription *description, const guint32 *seed, guint n);
void noise_clear(SimulatedNoise *noise);
/* noise_at: Before the first run: each size has noise of its own. Without sizes nothing changes. */
void noise_at(SimulatedNoise *noise, const SimulatedSizes *sizes);
/* noise_draw: Returns: the next latency, at least 1 ns. @table_sigma: NaN: unknown. */
gint64 noise_draw(SimulatedNoise *noise, double mean_ns, double table_sigma);

/* --- simulated-fault.c ------------------------------------------------------------------------------------------------ */

/*
 * UnitState: the state of a device apart from any model: whether it is lost, and how much of its memory is taken. If
 * $IFM_SIMULATED_STATE_DIR names a folder, a loss is a file there, so that it outlives the process as a real one would.
 */
typedef struct
{
    char *file; /* NULL: a loss ends with the engine */
    _Atomic int health;
    _Atomic gint64 probes_left; /* 0: no probe recovers it */
    _Atomic gint64 taken_bytes, peak_bytes;
} UnitState;

typedef enum
{
    UNIT_WELL,
    UNIT_LOST_SILENT,   /* answers nonsense at once */
    UNIT_LOST_REPORTED, /* answers IFM_ERROR_LOST */
} UnitHealth;

UnitState *unit_state_new(const char *machine, const char *unit, const char *state_dir);
void unit_state_free(UnitState *state);
/* unit_state_health: As of the last refresh or loss; no system call, no lock. */
UnitHealth unit_state_health(const UnitState *state);
/* unit_state_refresh: Checks whether another process lost the device, or recovered it. */
UnitHealth unit_state_refresh(UnitState *state);
/* unit_state_lose: @probes: the number of the probe that recovers it; 0: none does. */
void unit_state_lose(UnitState *state, UnitHealth health, gint64 probes);
/* unit_state_probe: One probe. Returns: whether the device answers. */
gboolean unit_state_probe(UnitState *state);
/* unit_state_take: Takes memory (negative: gives it back). Returns: FALSE if @limit_bytes (0: none) would be
 * exceeded. */
gboolean unit_state_take(UnitState *state, gint64 bytes, gint64 limit_bytes);

/* fault_find: The first fault of a unit that applies, or NULL. @run: 0: a compile. @stage: or NULL. */
const FaultDescription *fault_find(const UnitDescription *unit, gint64 run, const char *stage, const SimulatedSizes *sizes);

/* FaultEffect: what remains to be done after fault_strike(). */
typedef enum
{
    FAULT_EFFECT_ERROR,    /* it failed: the error is set */
    FAULT_EFFECT_NONSENSE, /* it answers at once, with nonsense */
    FAULT_EFFECT_WRONG,    /* it goes on, with a wrong number in the output */
    FAULT_EFFECT_NAN,
} FaultEffect;

/* fault_strike: Executes the fault; may not return. @where: "DEVICE, MODEL"    @condition: what a hang waits on
 * @cancelled: under its lock; NULL: nothing cancels it */
FaultEffect fault_strike(const FaultDescription *fault, UnitState *state, const char *where, IfmCondition *condition,
                         const gboolean *cancelled, GError **error);
void fault_set_lost(const UnitState *state, const char *where, const char *reason, GError **error);

/* --- simulated-contention.c ------------------------------------------------------------------------------------------- */

/*
 * Contention: the running inferences on a machine whose units slow each other. A unit is busy from an inference's start
 * to its end, transfers included. When that set changes, what is left of every other inference goes on at another rate.
 */

typedef struct
{
    IfmClock *clock;
    IfmCondition *condition;     /* of the following; requests of such a machine wait on it and are cancelled through it */
    struct ContendedWork *first; /* inferences in progress */
} Contention;

/* ContendedWork: a running inference, on its thread's stack. */
typedef struct ContendedWork
{
    const UnitDescription *unit;
    const char *stage; /* or NULL */
    /* the contention's: */
    double left_ns; /* of the work, as if alone, at settled_ns */
    double factor;
    gint64 settled_ns, deadline_ns;
    struct ContendedWork *next;
} ContendedWork;

Contention *contention_new(IfmClock *clock);
void contention_free(Contention *contention);
/* contention_factor: The factor on a unit's time. @busy: mask of the units that work */
double contention_factor(const UnitDescription *unit, const char *stage, guint64 busy);
/* contention_begin: @alone_ns: the time of the inference if nothing else works. */
void contention_begin(Contention *contention, ContendedWork *work, gint64 started_ns, double alone_ns);
/* contention_pass: Lets time pass until the work is done, and ends it. Returns: when it was done; -1: cancelled.
 * @cancelled: changes under the condition's lock */
gint64 contention_pass(Contention *contention, ContendedWork *work, const gboolean *cancelled);
/* contention_end: For work that is abandoned. */
void contention_end(Contention *contention, ContendedWork *work);

/* --- the driver's objects --------------------------------------------------------------------------------------------- */

typedef struct
{
    IfmEngine base;
    pthread_mutex_t mutex; /* of the following; the tables only grow */
    GHashTable *machines;  /* name -> MachineDescription */
    GHashTable *states;    /* "MACHINE/UNIT" -> UnitState */
    GHashTable *contended; /* MachineDescription -> Contention: of machines whose units slow each other */
    GHashTable *buffers;   /* SimulatedBuffer *: the live ones, to recognise a wrong handle */
    char *state_dir;
    GHashTable *copied; /* UnitState, or a thread that copies -> gint64: when its last queued copy will be done */
} SimulatedEngine;

typedef struct
{
    IfmCompiled base;
    const UnitDescription *unit; /* the engine's */
    UnitState *state;            /* the engine's */
    Contention *contention;      /* the engine's; NULL without contention */
    RangeTable *table;           /* NULL if the source is not a table */
    const char *stage;           /* of the model; NULL if it has none */
    SimulatedSizes known;        /* from metadata, options and bindings; free dimensions are NaN */
    guint32 seed;
    gboolean noiseless;
    const char *outputs;      /* the device that computes, or "none" */
    const char *convolution;  /* the algorithm of its convolutions; NULL: the runtime's */
    double convolution_ratio; /* its time over that without one; 1 without */
    gboolean convolution_fell_back;
    gint64 taken_bytes; /* of the device's memory */
    gint n_requests;    /* ever made */
    _Atomic gint64 n_runs;
    double *node_sums_ns; /* with IFM_PROFILE_MEANS: each node's time, of all n_summed inferences */
    gint64 n_summed;
    /* of the engine that computes outputs, if there is one: */
    IfmClock *inner_clock;
    IfmEngine *inner_engine;
    IfmCompiled *inner;
} SimulatedCompiled;

typedef struct
{
    IfmBuffer base;
    UnitState *state;
    const UnitDescription *unit;
    void *bytes;
} SimulatedBuffer;

/* simulated_machine: The description of a machine, read once. Call it with the engine's mutex locked. Returns: borrowed;
 * NULL with an error */
const MachineDescription *simulated_machine(SimulatedEngine *engine, const char *name, GError **error);
/* simulated_unit: The unit that a spec names. FALSE with IFM_ERROR_UNAVAILABLE, or the errors of its description. */
gboolean simulated_unit(SimulatedEngine *engine, const IfmDeviceSpec *spec, const UnitDescription **unit, UnitState **state,
                        GError **error);
/* simulated_contention: That of the machine of a unit that was found before. NULL where its units do not slow each other.
 */
Contention *simulated_contention(SimulatedEngine *engine, const IfmDeviceSpec *spec);

/* --- simulated-compile.c: the slots of a compile ---------------------------------------------------------------------- */

gboolean simulated_compile(IfmCompiled *base, GError **error);
void simulated_compiled_clear(IfmCompiled *base);

/* --- simulated-memory.c: the slots of memory and copies --------------------------------------------------------------- */

IfmBuffer *simulated_buffer_alloc(IfmEngine *base, const IfmDeviceSpec *spec, gsize size_bytes, GError **error);
void simulated_buffer_free(IfmBuffer *base);
gboolean simulated_buffer_tensor(IfmBuffer *buffer, IfmTensor *tensor, GError **error);
gboolean simulated_copy(IfmEngine *base, const IfmTensor *from, const IfmTensor *to, GError **error);
gboolean simulated_sync(IfmEngine *base, GError **error);
gboolean simulated_copy_host(IfmEngine *base, const IfmDeviceSpec *spec, const IfmTensor *from, const IfmTensor *to,
                             GError **error);
/* simulated_check_memory: FALSE with IFM_ERROR_INVALID if a tensor in device memory is not a live buffer (of @unit;
 * NULL: of any). */
gboolean simulated_check_memory(SimulatedEngine *engine, const IfmTensor *tensor, const UnitDescription *unit,
                                GError **error);
/* simulated_host_view: The tensor, with its bytes where this process can read them. */
IfmTensor simulated_host_view(const IfmTensor *tensor);
/* simulated_transfer_ns: The time of a copy over a unit's link, ns. */
gint64 simulated_transfer_ns(const UnitDescription *unit, gsize bytes);

/* --- simulated-request.c: the slots of a request ---------------------------------------------------------------------- */

#define SIMULATED_HISTORY 4096 /* the number of inferences that a profile covers */

typedef struct
{
    IfmRequest base;
    IfmTensor *inputs;  /* [n inputs] the caller's */
    IfmTensor *outputs; /* [n outputs] the caller's where output_given is set, else the request's own */
    gboolean *output_given;
    gboolean resized; /* an input's shape changed: the following is out of date */
    SimulatedSizes sizes;
    Prediction prediction;
    gint64 transfer_ns; /* of inputs and outputs over the link, unless the latency contains it */
    gint64 taken_bytes; /* of the device's memory */
    double *shares;     /* [n nodes] of the device time; profiling only */
    SimulatedNoise noise;
    GRand *nonsense;
    IfmCondition *condition; /* its own, or the contention's */
    gboolean cancelled;      /* under the condition's lock */
    IfmRequest *inner;
    guint64 inner_digest; /* of the inputs that the inner request's outputs belong to */
    gboolean inner_done;
    char *where;      /* "DEVICE, MODEL", for messages */
    gint64 *history;  /* [SIMULATED_HISTORY] device times, a ring; profiling only */
    gint64 n_history; /* since the last profile */
} SimulatedRequest;

gboolean simulated_request_init(IfmRequest *request, GError **error);
void simulated_request_clear(IfmRequest *request);
gboolean simulated_set_input(IfmRequest *request, gsize port, const IfmTensor *tensor, GError **error);
gboolean simulated_set_sizes(IfmRequest *request, const IfmDimBinding *sizes, gsize n, GError **error);
gboolean simulated_set_output(IfmRequest *request, gsize port, const IfmTensor *tensor, GError **error);
gboolean simulated_output(IfmRequest *request, gsize port, IfmTensor *tensor, GError **error);
gboolean simulated_infer(IfmRequest *request, GError **error);
void simulated_cancel(IfmRequest *request);
void simulated_cancel_clear(IfmRequest *request);
gboolean simulated_profile(IfmCompiled *compiled, IfmRequest *request, GPtrArray *profiles, GError **error);
/* simulated_dtype: The precision that it computes in: as asked; f32 where that is the model's own and the device lacks it.
 */
IfmDtype simulated_dtype(const SimulatedCompiled *compiled);
/* simulated_how: The source of the last inference's latency. */
const char *simulated_how(const IfmRequest *request);

G_END_DECLS
