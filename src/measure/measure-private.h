#pragma once
#include <engine/engine.h>
#include <measure/kinds.h>
#include <measure/measure.h>
#include <pipeline/pipeline.h>

#include "spread.h"

G_BEGIN_DECLS

#define IFM_NS_PER_S G_GINT64_CONSTANT(1000000000)
#define IFM_NS_PER_MS G_GINT64_CONSTANT(1000000)

/* --- loop.c ------------------------------------------------------------------------------------------------------- */

/** ifm_measurement_warn: Adds a line to environment.warnings. */
void ifm_measurement_warn(IfmMeasurement *measurement, const char *format, ...) G_GNUC_PRINTF(2, 3);
/** ifm_measurement_describe_build: environment.build and .clock_kind; warns of a build that is not one to measure with. */
void ifm_measurement_describe_build(IfmMeasurement *measurement, IfmClock *clock);
/** ifm_measurement_fail: Outcome, code and reason from @error; the samples go, since there is no latency to be had of them.
 */
void ifm_measurement_fail(IfmMeasurement *measurement, IfmOutcome outcome, const GError *error);
/** ifm_measurement_failed: (transfer full) a new one that is that. */
IfmMeasurement *ifm_measurement_failed(IfmOutcome outcome, const GError *error);
/** ifm_measurement_summarise: Sets the summary over samples_ns, and returns it. */
IfmSummary ifm_measurement_summarise(IfmMeasurement *measurement, double level);
/** ifm_time_coarse_ns: real time to within some milliseconds, for what must not cost anything between two runs. */
gint64 ifm_time_coarse_ns(void);

/** IfmRepeat: Runs of a subject, untimed, one after the other on the calling thread, until one of these ends them.
 * @until_ns: on @clock, once @min were made; IFM_CLOCK_NEVER    @stop: (optional, atomic) not 0: at once
 * @n, @error: (out) how many were made; of the one that failed, which is the last */
typedef struct
{
    IfmSubject subject;
    IfmClock *clock;
    gint64 until_ns;
    gsize min;
    const gint *stop;
    gsize n;
    GError *error;
} IfmRepeat;
/** ifm_repeat: @repeat: IfmRepeat, as a subject's invoke() takes it */
void ifm_repeat(void *repeat);
/** ifm_subject_invoke: Calls @function on the thread that runs the subject. */
void ifm_subject_invoke(const IfmSubject *subject, void (*function)(void *user), void *user);

/* --- reference.c: outputs that are right, kept in a file, and comparing with them --------------------------------- */

/** IfmReference: the outputs of one model on one set of inputs, mapped from a file. */
typedef struct IfmReference IfmReference;

/** IFM_REFERENCE_ALLOWED, _FIGURES: after an output's name: what ifm_spread_finish() makes of its disturbed runs.
 * IFM_REFERENCE_FACTS: an object, as text in bytes: "draws" (outputs of random numbers, with the operator that draws
 * them), "kept" (operators that are not rewritten), "rewritten" or why it is "not_rewritten", "n_runs" of "n_runs_asked" or
 * why there is "no_tolerance", "reference_ns" and "run_ns": what a run took. "expected", made when it is opened: of each
 * output that was given (IFM_EXPECTED): null, or how the model's differs.
 */
#define IFM_REFERENCE_ALLOWED "\nallowed"
#define IFM_REFERENCE_FIGURES "\nfigures"
#define IFM_REFERENCE_FACTS "\nfacts"

/** ifm_reference_open: @path: as ifm_tensor_file_save() wrote it, and with the errors of ifm_tensor_file_open(). */
IfmReference *ifm_reference_open(const char *path, GError **error);
void ifm_reference_free(IfmReference *reference);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmReference, ifm_reference_free)

/**
 * IfmTolerance: |value - reference| <= atol + rtol * |reference|
 * @scaled: atol is a share of the root mean square of the reference output, so that it means the same for logits in the
 * hundreds and for probabilities in the thousandths.
 */
typedef struct
{
    double rtol, atol;
    gboolean scaled, as_wholes; /* see IfmModelCase */
} IfmTolerance;

/** ifm_tolerance_for: @rtol, @atol: as the user gave them, absolute, and they alone rule; 0, 0: what the execution
 * precision allows, for outputs without disturbed runs. */
IfmTolerance ifm_tolerance_for(IfmDtype dtype, double rtol, double atol);

/** IfmVerification: what verifying saw so far. It borrows the reference. */
typedef struct
{
    gsize n_checks, n_compared;
    IfmAgreement agreement; /* the worst */
    double worst_excess;    /* largest difference / tolerance seen; above 1 is a failure */
    char *worst_port;
    double worst_value, worst_reference;
    gboolean reference_not_finite; /* the model itself gives NaN or infinities on these inputs */
    gsize n_as_wholes;             /* outputs that were right as wholes alone */
    gsize n_skipped;               /* outputs that have no numbers to compare, or not in this precision */
    json_t *facts;                 /* how the reference was made; NULL: not known */
    GArray *judged;                /* of each output that the spread of disturbed runs judged; NULL: none */
} IfmVerification;
void ifm_verification_clear(IfmVerification *verdict);
/** ifm_verification_to_json: (transfer full) what was compared and how far off the worst was. @wrong: an output was
 * @tolerance: NULL where there was no reference */
json_t *ifm_verification_to_json(const IfmVerification *verdict, gboolean wrong, const IfmTolerance *tolerance);

/** ifm_reference_has_spread: Whether disturbed runs tell what an output may be off by. */
gboolean ifm_reference_has_spread(const IfmReference *reference, const char *port);

/** ifm_take_rows: Some rows of a tensor of rank 1 or more: row i of @to is row @rows[i] of @from. @rows: [n]    @to: (out)
 * allocated. Returns: FALSE with IFM_ERROR_INVALID for a row that @from has not, or IFM_ERROR_MEMORY. */
gboolean ifm_take_rows(const IfmTensor *from, const gint64 *rows, gint64 n, IfmTensor *to, GError **error);

/** ifm_reference_rows: What is right for a part of the whole: row i of each output is row @rows[i] of @whole's. @rows: [n]
 * Returns: (transfer full) NULL with IFM_ERROR_INVALID for a row that @whole has not, or IFM_ERROR_MEMORY. */
IfmReference *ifm_reference_rows(const IfmReference *whole, const gint64 *rows, gint64 n, GError **error);

/**
 * ifm_reference_check: Compares one output.
 * @reference: NULL: only that it is finite
 * Returns: FALSE with IFM_ERROR_FAILED naming port, place, value, reference and tolerance.
 */
gboolean ifm_reference_check(const IfmReference *reference, const char *port, const IfmTensor *value, IfmDtype dtype,
                             const IfmTolerance *tolerance, IfmVerification *verdict, GError **error);

/** ifm_reference_check_quick: The same, but how far off the worst right element was is not noted: for outputs that pass by
 * within a timed run, which it shares the machine with. What is not f32, and what is wrong, is compared as above. */
gboolean ifm_reference_check_quick(const IfmReference *reference, const char *port, const IfmTensor *value, IfmDtype dtype,
                                   const IfmTolerance *tolerance, IfmVerification *verdict, GError **error);

/* --- subject-energy.c --------------------------------------------------------------------------------------------- */

/** ifm_energy_of_subject: Runs a subject, which has run before, for as long as a source of energy needs, after a window in
 * which nothing runs; the figures of one run go into the result of @measurement. A source that is not there, or that
 * vanishes, is said there.
 * @asked: as IfmModelCase.energy    @device: whose runs they are    @seed: of the simulated source
 * Returns: FALSE with the error of a run. */
gboolean ifm_energy_of_subject(const IfmSubject *subject, const char *asked, const char *device, guint64 seed,
                               const gint *interrupted, IfmMeasurement *measurement, GError **error);

/* --- inputs.c: what a model is fed ------------------------------------------------------------------------------- */

/** IfmInputs: what a model is fed, in the order of its inputs. */
typedef struct
{
    gsize n;
    IfmTensor *tensors;
} IfmInputs;
void ifm_inputs_clear(IfmInputs *inputs);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IfmInputs, ifm_inputs_clear)
/** ifm_case_make_inputs: Seeded, or from the case's file; @read: FALSE: of the right shapes and no more, for a device that
 * never looks at them. @inputs: (out) to be cleared by the caller also where this fails. Errors: IFM_ERROR_INVALID naming
 * the port whose tensor in the file is another, and those of the file. */
gboolean ifm_case_make_inputs(const IfmModel *model, const IfmModelCase *model_case, gboolean read, IfmInputs *inputs,
                              GError **error);
/** ifm_free_bindings: Those of the sizes that a model's inputs leave free. @sizes: [n]    @bindings: (out) [n]    Returns:
 * how many. */
gsize ifm_free_bindings(const IfmModel *model, const IfmDimBinding *sizes, gsize n, IfmDimBinding *bindings);
/** ifm_case_open_model: (transfer full) the model of a case: read from its file, or made of its kernel. */
IfmModel *ifm_case_open_model(const IfmModelCase *model_case, GError **error);
/** ifm_case_complete_dtype: Gives a case without a precision that of its model. */
gboolean ifm_case_complete_dtype(IfmModelCase *model_case, GError **error);
/** ifm_case_inputs_digest: Returns: (transfer full) the digest of the case's file, whose tensors fit; NULL as above.
 * @known: (optional) char* -> char*: digests of files seen before, so that many cases read a large file once */
char *ifm_case_inputs_digest(const IfmModel *model, const IfmModelCase *model_case, GHashTable *known, GError **error);

/* --- subject-model.c: a compiled model as a subject --------------------------------------------------------------- */

typedef struct IfmModelSubject IfmModelSubject;

/** IfmBusyStream: a stream that works while the measured one does. */
typedef struct
{
    IfmModelSubject *subject;
    int stream;
    pthread_t thread;
    IfmRepeat runs;
} IfmBusyStream;

/** IfmModelSubject: @compile_ns: what compiling took, host time    @inputs: may be written to between two runs
 * @reference: borrowed, set by who has one; without, outputs are only checked to be finite
 * @wrong: whether an output was different from the reference's */
struct IfmModelSubject
{
    IfmEngine *engine;
    IfmModel *model;
    IfmDeviceSpec *spec;
    IfmDtype dtype;
    IfmCompileOptions options;
    IfmCompiled *compiled;
    gint64 compile_ns;
    gsize n_outputs;
    IfmInputs inputs;
    IfmAnalysis *analysis; /* what shapes the outputs have; NULL if unknown */
    int n_streams;
    IfmRequest **requests; /* [n_streams]; 0 is the measured one */
    IfmTensor *outputs;    /* [n_streams * n_outputs], empty where the engine allocates */
    IfmBusyStream *busy;   /* [n_streams - 1] */
    gint stop_busy;        /* atomic */
    const IfmReference *reference;
    IfmTolerance tolerance;
    IfmVerification verdict;
    gboolean wrong;
};

typedef enum
{
    IFM_COMPILE_MEASURED,  /* as the case asks */
    IFM_COMPILE_PROFILED,  /* with per-node times */
    IFM_COMPILE_REFERENCE, /* without graph optimisation */
    IFM_COMPILE_OBSERVED,  /* that with per-node times, so that each node of the model is reported by itself */
    IFM_COMPILE_TUNED,     /* with times of the convolutions in regions */
} IfmCompilePurpose;

/** ifm_model_subject_new: Compiles, makes the seeded inputs and the requests. @engine: borrowed */
IfmModelSubject *ifm_model_subject_new(IfmEngine *engine, IfmModel *model, const IfmModelCase *model_case,
                                       IfmCompilePurpose profiled, GError **error);
/** ifm_model_subject_new_saving: The same, and the graph as the runtime optimised it is saved at @path (NULL: it is not).
 */
IfmModelSubject *ifm_model_subject_new_saving(IfmEngine *engine, IfmModel *model, const IfmModelCase *model_case,
                                              IfmCompilePurpose profiled, const char *path, GError **error);
void ifm_model_subject_free(IfmModelSubject *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmModelSubject, ifm_model_subject_free)
/** ifm_model_subject_slots: Describes it as a subject; borrowed from @self. */
IfmSubject ifm_model_subject_slots(IfmModelSubject *self);
/** ifm_model_subject_effective_config: Asks what runs and checks it; what is no failure goes into @measurement's warnings.
 * Returns: (transfer full) also where it is not what was asked: look at @error. */
json_t *ifm_model_subject_effective_config(IfmModelSubject *self, IfmMeasurement *measurement, GError **error);
/** ifm_model_subject_verify: Checks every stream's outputs once more. */
gboolean ifm_model_subject_verify(IfmModelSubject *self, GError **error);
/** ifm_model_subject_verification: (transfer full) what was compared and how far off the worst was. */
json_t *ifm_model_subject_verification(const IfmModelSubject *self);
/** ifm_model_subject_streams: (transfer full) what the other streams did meanwhile; NULL where there is one stream. */
json_t *ifm_model_subject_streams(const IfmModelSubject *self);
/** ifm_model_subject_io_bytes: of one inference's inputs, and of its outputs where their shapes are known beforehand. */
gsize ifm_model_subject_io_bytes(const IfmModelSubject *self);

/* --- subject-limit.c: a product or a triad as models on an engine ------------------------------------------------- */

typedef struct IfmPeakSubject IfmPeakSubject;

typedef enum
{
    IFM_PEAK_PRODUCT, /* y = x W, size x size */
    IFM_PEAK_TRIAD,   /* a = b + s c of vectors of that size, a Mul and an Add */
} IfmPeakKind;

/** ifm_peak_subject_new: Builds and compiles it. Of a product, @size is a multiple of 256 or below it. @written: what the
 * model is written in; the device executes it in the case's dtype */
IfmPeakSubject *ifm_peak_subject_new(IfmEngine *engine, const IfmPeakCase *peak_case, IfmPeakKind kind, gint64 size,
                                     IfmDtype written, GError **error);
void ifm_peak_subject_free(IfmPeakSubject *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmPeakSubject, ifm_peak_subject_free)
/** ifm_peak_subject_slots: Describes it as a subject; borrowed. Its check computes some elements of the output anew. */
IfmSubject ifm_peak_subject_slots(IfmPeakSubject *self);
/** ifm_peak_subject_model: borrowed: what is compiled. */
IfmModelSubject *ifm_peak_subject_model(IfmPeakSubject *self);
/** ifm_peak_subject_work: of one run: FLOP of a product, 2 size^3; bytes of a triad, those that its two nodes read and
 * write. */
double ifm_peak_subject_work(const IfmPeakSubject *self);

/* --- subject-triad.c: a triad in plain loops ---------------------------------------------------------------------- */

/** IfmTriadSubject: a = b + s c by threads of its own, which keep to the cores of the thread that makes it. */
typedef struct IfmTriadSubject IfmTriadSubject;

/** ifm_triad_subject_new: In f64 for that, else in f32. @array_bytes: of each of the three */
IfmTriadSubject *ifm_triad_subject_new(IfmDtype dtype, int n_threads, gsize array_bytes, GError **error);
/** ifm_triad_subject_set_rounds: how often a run goes through the arrays; 1. Of small ones, so that starting the threads is
 * nothing. */
void ifm_triad_subject_set_rounds(IfmTriadSubject *self, gsize n_rounds);
/** ifm_triad_level_bytes: what a level of caches ("L2") holds for so many threads on cores of their own; 0: not known. */
gsize ifm_triad_level_bytes(const char *root, const char *level, int n_threads);
void ifm_triad_subject_free(IfmTriadSubject *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmTriadSubject, ifm_triad_subject_free)
/** ifm_triad_subject_slots: Its run and its checks, which compare every element, are made by the thread that made it. */
IfmSubject ifm_triad_subject_slots(IfmTriadSubject *self);
/** ifm_triad_subject_bytes: of one run: b and c read, a written. What a processor reads of a before it writes to it (write
 * allocation) is not counted. */
double ifm_triad_subject_bytes(const IfmTriadSubject *self);
IfmDtype ifm_triad_subject_dtype(const IfmTriadSubject *self);
/** ifm_triad_subject_result: a; borrowed. */
const IfmTensor *ifm_triad_subject_result(const IfmTriadSubject *self);
/** ifm_triad_cache_bytes: what all last-level caches of the machine hold; 32 MiB if unknown. */
gsize ifm_triad_cache_bytes(const char *root);
/** ifm_triad_array_bytes: Equals: 4 x the caches, 64 MiB at least, but together no more than @memory_bytes (0: no bound) */
gsize ifm_triad_array_bytes(gsize cache_bytes, gint64 memory_bytes);

/* --- breakdown.c: the profiled run -------------------------------------------------------------------------------- */

/** IfmCallCost: what an inference takes besides its nodes' own times, on one device; NaN if unknown. */
typedef struct
{
    double call_ns; /* of a model of one node, with as many bytes in and out, 90th percentile */
    double node_ns; /* more for each further node, between medians; holds the nodes' cut-off fractions, too */
} IfmCallCost;

/** ifm_call_cost_measure: From profiled chains of one and of nine small MatMuls, and a model that only moves @io_bytes. */
IfmCallCost ifm_call_cost_measure(IfmEngine *engine, const IfmModelCase *model_case, gsize io_bytes);

/**
 * ifm_breakdown_measure: Makes a profiled run and fills @measurement's profiled_ns, nodes and breakdown. Where the runtime
 * reports only the mean of many inferences, the nodes' medians are that mean, and the breakdown says so.
 * @subject: compiled for profiling
 * @cost: NULL: a few runs, for the nodes' shares of the time; the breakdown then has no bound
 * @protocol: of the case: as many runs as its fixed count (5 to 50 are made), else for 3 s, and for its budget at most
 * @measurement: the unprofiled one, for the slow-down
 * Returns: FALSE with an error where the device failed; an engine that cannot profile is no error: the breakdown says so.
 */
gboolean ifm_breakdown_measure(IfmModelSubject *subject, const IfmCallCost *cost, const IfmProtocol *protocol,
                               const gint *interrupted, void (*progress)(gsize n, void *user), void *progress_user,
                               IfmMeasurement *measurement, GError **error);

/** ifm_node_times_measure: The times of nodes alone: five runs at least, and no more than take @time_ns beyond those.
 * @measurement: whose nodes it fills    Returns: FALSE with IFM_ERROR_UNSUPPORTED, too, where the runtime reports none */
gboolean ifm_node_times_measure(IfmModelSubject *subject, gint64 time_ns, const gint *interrupted,
                                IfmMeasurement *measurement, GError **error);

/** ifm_breakdown_unavailable: That there is none, and why. */
void ifm_breakdown_unavailable(IfmMeasurement *measurement, const char *why);

/* --- optimised.c: the graph that a runtime made of a model --------------------------------------------------------- */

/** ifm_optimised_costs: What each node of @measurement costs, and which of the model's it computes, by the graph that the
 * runtime saved: breakdown.costs, a list in the order of the nodes, null for a node that is not in the graph. Where the
 * graph cannot be read, which is no error, breakdown.costs_why. @given: the model that it was made of */
void ifm_optimised_costs(const char *path, const IfmModelCase *model_case, IfmModel *given, IfmMeasurement *measurement);
/** ifm_optimised_parts: Of which of the model's nodes each node of @measurement was made, where the runtime reports it:
 * breakdown.parts, a list in the order of the nodes. */
void ifm_optimised_parts(IfmCompiled *compiled, IfmMeasurement *measurement);
/** ifm_optimised_unknown: Says why there are no breakdown.costs, for a runtime that could report them. */
void ifm_optimised_unknown(IfmMeasurement *measurement, const char *why);

/* --- protocol.c: messages between the program and its workers ----------------------------------------------------- */

#define IFM_MESSAGE_MAX_BYTES (256u << 20)
/* How long a sender waits for the other end to take anything. */
#define IFM_MESSAGE_PATIENCE_MS 10000

/** ifm_message_send: A length and that many bytes of JSON. Several threads may send. FALSE with errno where the other end
 * is gone or takes nothing, or, with EMSGSIZE and nothing sent, where the message is too large. */
gboolean ifm_message_send(int fd, const json_t *message);

/** IfmMessageReader: collects messages from a socket. */
typedef struct
{
    int fd;
    GByteArray *bytes;
} IfmMessageReader;
void ifm_message_reader_init(IfmMessageReader *reader, int fd);
void ifm_message_reader_clear(IfmMessageReader *reader);
typedef enum
{
    IFM_MESSAGE_NOT_YET, /* none whole yet */
    IFM_MESSAGE_ONE,
    IFM_MESSAGE_ENDED, /* the other end closed, or sent what is no message */
} IfmMessageState;
/** ifm_message_read: Reads what there is (blocking where the socket does) and takes the next message.
 * @message: (out) (transfer full) */
IfmMessageState ifm_message_read(IfmMessageReader *reader, json_t **message);

/* --- kinds.c: what describes a case, and how it travels ------------------------------------------------------------ */

/** IfmSpec: the struct that describes a case of a kind, as it was read; what it points to is in @json and @pool. */
typedef struct
{
    void *data;
    json_t *json;
    GPtrArray *pool;
} IfmSpec;
gboolean ifm_spec_init(IfmSpec *spec, const IfmCaseKind *kind, json_t *json, GError **error);
void ifm_spec_clear(IfmSpec *spec);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IfmSpec, ifm_spec_clear)

/* --- process.c: one worker process, as the program sees it -------------------------------------------------------- */

typedef struct IfmWorker IfmWorker;

/**
 * ifm_worker_start: NULL with IFM_ERROR_UNAVAILABLE.
 * @temporary: folder for what the runtime writes    @device: (optional) whose cores the process keeps to
 * @setting: (optional) "NAME=VALUE" for its environment
 */
IfmWorker *ifm_worker_start(const char *temporary, const char *device, const char *setting, GError **error);
/** ifm_worker_free: Ends the worker (its whole process group) and waits for it. */
void ifm_worker_free(IfmWorker *worker);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmWorker, ifm_worker_free)
gboolean ifm_worker_is_alive(IfmWorker *worker);

/** IfmWorkerWatch: what is watched while a worker answers. @is_wrong: (nullable) whether its error is that outputs are not
 * those of the reference */
typedef struct
{
    const IfmLimits *limits;
    gint64 spent_ns; /* what the case took before this request */
    const gint *interrupted;
    gboolean *is_wrong;
    /* said: every message on the way to the answer (phases, beats, drafts). */
    void (*said)(const json_t *message, void *user);
    void *user;
} IfmWorkerWatch;

/**
 * ifm_worker_ask: Sends a request and waits for its answer.
 * Returns: (transfer full) the answer; NULL with the worker's own error, or IFM_ERROR_FAILED (it crashed: the signal and
 * what it did), _TIMEOUT, _MEMORY (limits), _CANCELLED. @alive: (out) FALSE where it must be replaced.
 */
json_t *ifm_worker_ask(IfmWorker *worker, json_t *request, const IfmWorkerWatch *watch, gboolean *alive, GError **error);

/* ifm_compare_protocol_check: IFM_ERROR_INVALID naming what is out of its range. */
gboolean ifm_compare_protocol_check(const IfmCompareProtocol *protocol, GError **error);

/*
 * IfmComparer: the rule as an object: feed it rounds, it says when to stop. Pure: no clock, no I/O.
 * A pair of processes counts as one observation, d: the mean of the middle third of its rounds' log ratios.
 * Equals: at a look after n pairs, ifm_paired_estimate(d, n, error). The looks are after 8, 12, 18, 27, 40, 60, 90 and 135
 * pairs and where the budget ends. The look after 8 may spend 1/128 of error, each later one 0.005, the last one all that
 * is left of 0.05 (another level: all times (1 - level) / 0.05); what Wilcoxon's distribution does not need is not spent.
 * With fewer pairs than an interval of the level needs (6 at 95 %) it is their range, of level 1 - 2^(1 - n).
 * Source: Hodges & Lehmann 1963; repeated confidence intervals, Jennison & Turnbull 1989; the looks' errors are added up
 * (Bonferroni), so nothing is assumed of how looks depend on each other.
 */
typedef struct IfmComparer IfmComparer;
IfmComparer *ifm_comparer_new(const IfmCompareProtocol *protocol);
void ifm_comparer_free(IfmComparer *comparer);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmComparer, ifm_comparer_free)

/* ifm_comparer_add: One round of the pair at hand. Which side's process was started, warmed up and run first must have been
 * drawn for each pair. */
void ifm_comparer_add(IfmComparer *comparer, double a_ns, double b_ns, gboolean b_first);

/* ifm_comparer_end_pair: Its processes are gone. @elapsed_ns: since the first were started, without what
 * is done once. Returns: TRUE once there is nothing more to learn within the protocol. */
gboolean ifm_comparer_end_pair(IfmComparer *comparer, gint64 elapsed_ns);

/* ifm_comparer_finish: What is known; a pair that has not ended does not count. Called before the rule said so, it is the
 * last look. */
void ifm_comparer_finish(const IfmComparer *comparer, IfmComparison *comparison);

/** ifm_measure_callback_subject: ifm_measure_callback() of any subject; its checks are not made. */
char *ifm_measure_callback_subject(const IfmSubject *subject, const char *protocol, GError **error);

/* ifm_protocol_fields: for the table of a struct that has one; as a part with a key it is what defines a case. */
extern const IfmRecordField ifm_protocol_fields[];

/* IfmStopper: the rule as an object: feed it samples, it says when to stop. Pure: no clock, no I/O. */
typedef struct IfmStopper IfmStopper;
IfmStopper *ifm_stopper_new(const IfmProtocol *protocol);
void ifm_stopper_free(IfmStopper *stopper);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmStopper, ifm_stopper_free)

/*
 * ifm_stopper_warm: One warm-up sample. Returns: TRUE once warm-up is over: the latency is steady (no trend and no step
 * between the halves of the last window), or fixed counts or a quarter of the budget are reached.
 */
gboolean ifm_stopper_warm(IfmStopper *stopper, gint64 sample_ns, gint64 elapsed_ns);

/* ifm_stopper_add: One measured sample. @elapsed_ns: since the first warm-up run began. */
IfmStopReason ifm_stopper_add(IfmStopper *stopper, gint64 sample_ns, gint64 elapsed_ns);

/* ifm_stopper_steady: whether warm-up ended because the latency was steady. */
gboolean ifm_stopper_steady(const IfmStopper *stopper);

/* --- cpu-times.c: processor time beside wall time ----------------------------------------------------------------- */

/* IfmCpuReading: of one instant: processor time of the calling thread and of its process; how often threads of the process
 * were interrupted (involuntary context switches), and how often this thread went to sleep. */
typedef struct
{
    gint64 thread_ns, process_ns, n_interrupted, n_waits;
} IfmCpuReading;
/* ifm_cpu_read: Takes some microseconds, which are no part of the thread's time between two readings. */
void ifm_cpu_read(IfmCpuReading *reading, gboolean is_end);

/*
 * IfmCpuTimes: Processor time and interruptions of runs, which come in batches of one or more: reading the clocks takes as
 * long as a short run, so that short ones share a reading, and a mark. Pure: no clock, no I/O.
 */
typedef struct IfmCpuTimes IfmCpuTimes;
IfmCpuTimes *ifm_cpu_times_new(gsize n_runs);
void ifm_cpu_times_free(IfmCpuTimes *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmCpuTimes, ifm_cpu_times_free)
/* ifm_cpu_times_add: @n runs between two readings, which took @wall_ns together. */
void ifm_cpu_times_add(IfmCpuTimes *self, const IfmCpuReading *begin, const IfmCpuReading *end, gint64 wall_ns, gsize n);
/* IfmCpuDelay: a moment, and how long the calling thread, and all threads of the process, were ready and waited for a
 * processor until then; -1: not known. Between two moments: what went by. */
typedef struct
{
    gint64 window_ns, thread_ns, process_ns;
} IfmCpuDelay;
void ifm_cpu_delay_read(IfmCpuDelay *delay);
/* ifm_cpu_times_set_delay: @begin, @end: before and after all runs, and what the program does between them. */
void ifm_cpu_times_set_delay(IfmCpuTimes *self, const IfmCpuDelay *begin, const IfmCpuDelay *end);
/*
 * ifm_cpu_times_to_json: docs/formats.md, "environment.runs".
 * cpu: whose time it is: "thread", the calling one, where that has nearly all of the process' time and does not go to
 * sleep; "process", where one thread alone computes and it is another; null with why: the time of several threads, or of a
 * thread that waits for a device, is none of a run.
 * waited_ratio: 1 - processor time / wall time, or the share of the whole time that the thread waited, within runs and
 * between them, where that is larger; without processor times the time that threads waited for a processor, a thread;
 * null where neither is known
 * @samples_ns: gint64: of all runs that were added, in order    @n_threads: that compute; 0: not known
 * @is_elsewhere: of IfmSubject
 */
json_t *ifm_cpu_times_to_json(const IfmCpuTimes *self, const GArray *samples_ns, int n_threads, gboolean is_elsewhere);

/* ifm_runner_measure_subject: Measures @subject in this process, as ifm_runner_measure() does: for IfmCaseKind.measure. */
IfmMeasurement *ifm_runner_measure_subject(IfmRunner *runner, const IfmSubject *subject, const IfmProtocol *protocol,
                                           const IfmCase *sealed, GError **error);

/*
 * ifm_worker_main: the worker program: serves requests on @fd until it closes. Call it before there is a second thread.
 * @device: (optional) whose cores all threads of the process shall keep to
 * Returns: the exit status.
 */
int ifm_worker_main(int fd, const char *device);

G_END_DECLS
