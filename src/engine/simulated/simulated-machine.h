#pragma once
#include <base/fields.h>

G_BEGIN_DECLS

/* A description of simulated devices (devices/MACHINE.yaml), as simulated-machine.c reads it. The tables there define
 * each key; the documentation is printed from them. */

typedef enum
{
    SOURCE_TABLE,
    SOURCE_ROOFLINE,
    SOURCE_FIXED,
} LatencySource;

typedef enum
{
    BEYOND_EXTRAPOLATE,
    BEYOND_CLAMP,
    BEYOND_REFUSE,
} TableBeyond;

typedef struct
{
    IfmPlace place;
    GPtrArray *files;  /* char *: absolute after machine_read() */
    GPtrArray *select; /* IfmScalar: column, text */
    char *stage, *latency, *std, *flag;
    GPtrArray *axes; /* char *: "nodes", "edges/nodes" */
    int linear;      /* 0: logarithmic, 1: linear */
    int beyond;      /* TableBeyond */
    gint64 unit_ns;
    GPtrArray *lost_flags; /* char * */
} TableDescription;

typedef struct
{
    IfmPlace place;
    double flop_per_s, bytes_per_s;
    gint64 overhead_ns, node_overhead_ns;
} RooflineDescription;

typedef struct
{
    IfmPlace place;
    int source; /* LatencySource */
    int otherwise_roofline;
    gint64 fixed_ns;
    TableDescription *table;
    RooflineDescription *roofline;
} LatencyDescription;

typedef enum
{
    NOISE_NONE,
    NOISE_GAUSSIAN,
    NOISE_LOGNORMAL,
    NOISE_BIMODAL,
    NOISE_PARETO,
} NoiseKind;

typedef struct
{
    IfmPlace place;
    int kind; /* NoiseKind */
    gboolean from_table;
    double sigma, correlation, drift;
    gint64 drift_runs, seed;
} NoiseDescription;

typedef struct
{
    IfmPlace place;
    double bytes_per_s;
    gint64 fixed_ns;
    gboolean assumed, in_latency;
    char *note;
} LinkDescription;

typedef struct
{
    IfmPlace place;
    double slow_down, gap;
    gint64 resolution_ns;
} ProfileDescription;

typedef enum
{
    FAULT_REFUSE,
    FAULT_FAIL,
    FAULT_LOSE,
    FAULT_HANG,
    FAULT_CRASH,
    FAULT_MEMORY,
    FAULT_WRONG,
    FAULT_NAN,
} FaultKind;

typedef enum
{
    MODE_DEFAULT,
    MODE_REPORTED,      /* lose, memory: reports it */
    MODE_REPORTED_ONCE, /* lose: reports it once, then answers nonsense */
    MODE_SILENT,        /* lose: answers nonsense at once */
    MODE_DEAF,          /* hang: ignores cancel as well */
    MODE_CANCELLABLE,   /* hang */
    MODE_ABORT,         /* crash */
    MODE_SEGV,          /* crash */
    MODE_ALLOCATE,      /* memory: takes real memory */
} FaultMode;

typedef struct
{
    IfmPlace place;
    int at_compile;
    gint64 run, from_run; /* 0: any */
    GPtrArray *stages;    /* char * */
    GPtrArray *min;       /* IfmScalar: size name, number */
    GPtrArray *max;
} FaultCondition;

typedef struct
{
    IfmPlace place;
    int what;             /* FaultKind */
    int mode;             /* FaultMode */
    FaultCondition *when; /* NULL: always */
    char *reason;
    gint64 recover_after; /* lose: probes; 0: never */
    gint64 limit_bytes;   /* memory, allocate */
} FaultDescription;

/* The maximum number of units of a machine with contention: the bits of a mask. */
#define MAX_CONTENDING 64

typedef struct
{
    IfmPlace place;
    GPtrArray *busy; /* char *: names of units */
    double factor;
    GPtrArray *stages; /* char *; empty: any */
    guint64 mask;      /* after machine_read(): of `busy`, by the units' index */
} ContentionDescription;

typedef struct
{
    IfmPlace place; /* its name: "NPU" */
    char *description;
    GArray *capability_words; /* int */
    GPtrArray *dtypes;        /* char *; empty: f32 alone */
    GPtrArray *convolutions;  /* IfmScalar *: algorithm -> its time over that of the runtime's own */
    LatencyDescription *latency;
    NoiseDescription *noise; /* NULL: none */
    char *outputs;           /* device spec of the engine that computes, or "none" */
    LinkDescription *link;   /* NULL: none */
    gint64 memory_bytes;     /* 0: unlimited */
    ProfileDescription *profile;
    GPtrArray *contention; /* ContentionDescription * */
    GPtrArray *faults;     /* FaultDescription * */
    guint32 index;         /* after machine_read(): in the machine */
    guint32 capabilities;  /* after machine_read(): IfmEngineCapability bits */
} UnitDescription;

typedef struct
{
    IfmPlace place;
    char *description, *provenance;
    GPtrArray *assumptions; /* char * */
    GPtrArray *units;       /* UnitDescription * */
    gboolean contends;      /* after machine_read(): a unit slows another */
} MachineDescription;

/* machine_read: Reads and checks a description. (transfer full) */
MachineDescription *machine_read(const char *path, GError **error);
void machine_free(MachineDescription *machine);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(MachineDescription, machine_free)

/* machine_describe: All keys of a description, as text for docs/simulated-devices.md. (transfer full) */
char *machine_describe(void);

/* machine_path: The file of MACHINE's description: in $IFM_DEVICES_DIR, then in the installation's devices. (transfer
 * full) NULL with IFM_ERROR_UNAVAILABLE and the nearest name. */
char *machine_path(const char *name, GError **error);
/* machine_names: (transfer full) char *, sorted. */
GPtrArray *machine_names(void);

G_END_DECLS
