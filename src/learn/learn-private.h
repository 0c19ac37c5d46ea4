#pragma once
#include <base/fields.h>
#include <learn/learn.h>

G_BEGIN_DECLS

/* learn_samples_from_csv: what ifm_kernel_samples_read_as() does, of text that was read. @columns: NULL: by our names */
typedef struct LearnColumns LearnColumns;
IfmKernelSamples *learn_samples_from_csv(const IfmCsv *csv, const LearnColumns *columns, GError **error);

/* --- columns of other names --------------------------------------------------------------------------------------------
 */

/* learn_columns_parse: (transfer full) the list of ifm_kernel_samples_read_as(). @fields: the columns that there are
 * learn_columns_check: whether a file has all that are named. */
LearnColumns *learn_columns_parse(const char *text, const IfmRecordField *fields, GError **error);
void learn_columns_free(LearnColumns *columns);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(LearnColumns, learn_columns_free)
gboolean learn_columns_check(const LearnColumns *columns, const IfmCsv *csv, GError **error);
gboolean learn_columns_has(const LearnColumns *columns, const char *name);
/* learn_columns_text: (transfer full) what a column of ours is in a row; NULL: it is not named, or empty
 * learn_columns_number: (out) NaN: it is not named, or a part is empty. FALSE with IFM_ERROR_INVALID: a part is no number.
 */
char *learn_columns_text(const LearnColumns *columns, const IfmCsv *csv, gsize row, const char *name);
gboolean learn_columns_number(const LearnColumns *columns, const IfmCsv *csv, gsize row, const char *name, double *value,
                              GError **error);

/* --- trees -------------------------------------------------------------------------------------------------------------
 */

/* LearnNode: @children: left and right, places in its tree, above its own; 0: a leaf    @value: threshold (left where the
 * feature is below it), or of a leaf    @default_left: where the feature is NaN */
typedef struct
{
    guint32 children[2];
    float value;
    guint16 feature;
    guint16 default_left;
} LearnNode;

/* LearnTrees: their sum, from @intercept on, is the prediction. @n_features: 0: there are no trees */
typedef struct
{
    GArray *nodes;  /* LearnNode, tree by tree */
    GArray *starts; /* guint32: of each tree */
    gsize n_features;
    double intercept;
} LearnTrees;

#define LEARN_MAX_FEATURES 256
#define LEARN_MAX_TREES 10000
#define LEARN_MAX_NODES 4000000
#define LEARN_MAX_INTERCEPT 100 /* a logarithm */
#define LEARN_MAX_LOG 30        /* of a factor that is learnt: a model's file is not trusted */

/* LearnTable: what trees learn from. @x: [n_rows x n_columns], NaN: unknown    @y: [n_rows]    @directions: [n_columns]
 * whether what is learnt can only rise (1) or fall (-1) with a column; 0, or none: either */
typedef struct
{
    GArray *x, *y;      /* float */
    GArray *directions; /* int */
    gsize n_columns;
} LearnTable;
void learn_table_init(LearnTable *table, gsize n_columns);
void learn_table_clear(LearnTable *table);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(LearnTable, learn_table_clear)

/* LearnTask: the latency without load, on one machine or several, or the slow-down: each has its settings. */
typedef enum
{
    LEARN_IDLE,
    LEARN_MACHINES,
    LEARN_LOAD,
    LEARN_N_TASKS,
} LearnTask;

/* learn_trees_train: @method: IFM_LEARN_BOOSTED or IFM_LEARN_FOREST, whatever the options say
 * @gains: (out) (nullable) [n_columns] of all splits by a feature */
gboolean learn_trees_train(LearnTrees *trees, const LearnTable *table, LearnTask task, IfmLearnMethod method,
                           const IfmLearnOptions *options, double *gains, GError **error);
/* learn_trees_from_xgboost: of a model as XGBoost writes it. */
gboolean learn_trees_from_xgboost(LearnTrees *trees, const json_t *model, gsize n_features, double *gains, GError **error);
void learn_trees_clear(LearnTrees *trees);
/* learn_trees_graft: From then on @own predicts what has @value, an integer, in a feature. Both have as many trees. */
void learn_trees_graft(LearnTrees *trees, const LearnTrees *own, gsize feature, guint value);
/* learn_trees_at: @row: [n_features] what the trees see of a kernel */
double learn_trees_at(const LearnTrees *trees, const float *row);
/* learn_trees_to_json: (transfer full)    learn_trees_from_json: checks all of it. */
json_t *learn_trees_to_json(const LearnTrees *trees);
gboolean learn_trees_from_json(LearnTrees *trees, const json_t *json, const char *where, gsize n_features, GError **error);

/* --- machines ----------------------------------------------------------------------------------------------------------
 */

/* LearnMachine: one that cases are from. @left_out: |log(measured / predicted)| that IFM_LEARN_COVERAGE of its cases are
 * below when it is predicted from the others; NaN: unknown */
typedef struct
{
    IfmMachine self;
    double left_out;
} LearnMachine;

#define LEARN_MAX_MACHINES 1000
extern const IfmRecordField learn_machine_fields[];
/* learn_machines_new: (transfer full) none    learn_machines_find: Adds those of the samples, where these are of several.
 * FALSE with IFM_ERROR_INVALID: one of several is not described, or in two ways. */
/* learn_machines_are_several: whether rows name more than one machine. */
gboolean learn_machines_are_several(const IfmKernelSamples *samples);
GPtrArray *learn_machines_new(void);
gboolean learn_machines_find(GPtrArray *machines, const IfmKernelSamples *samples, GError **error);
/* learn_machines_at: the place of a name; their number where there is none. */
guint learn_machines_at(const GPtrArray *machines, const char *name);
static inline const LearnMachine *learn_machine(const GPtrArray *machines, guint i)
{
    return machines->pdata[i];
}
/* LEARN_MACHINE_PREFIX: of features of the machine alone.    learn_machine_features: names of what the trees of several
 * machines see besides, NULL-terminated. learn_fill_machine: @operator_number: its place among those of the model
 * @row: (out) of these    learn_machine_roofline_ns: without what a kernel costs at least */
#define LEARN_MACHINE_PREFIX "machine_"
extern const char *const learn_machine_features[];
void learn_fill_machine(const IfmMachineFeatures *place, const IfmKernelSample *sample, double operator_number, float *row);
double learn_machine_roofline_ns(const IfmMachineFeatures *place, const IfmKernelSample *sample);

/* --- speed -------------------------------------------------------------------------------------------------------------
 */

/*
 * LearnSpeed: how the time of a kernel follows what a read got of the memory just before and after it. A virtual machine
 * shares its memory and last cache with guests that nothing on it shows, so that visits of a kernel differ by it; times are
 * put to the speed that the machine had in the median visit. @places: of the two columns among the samples' metrics, -1:
 * there is none    @exponent: time goes as the read's rate to it; 0: it is not known to, and times stay as they are
 * @read_bytes_per_s: in the median visit; NaN where the exponent is 0    @least, @most: logarithms that reads count as at
 * least and at most: one that was held up says nothing of its kernel
 */
typedef struct
{
    gssize places[2];
    double exponent, read_bytes_per_s, least, most;
} LearnSpeed;

/* LearnSpeedVisit: @latency: (out) of a visit without load, in any unit    Returns: (transfer full) the kernel; NULL: it is
 * not to be looked at */
typedef char *(*LearnSpeedVisit)(const IfmKernelSample *sample, double *latency, gpointer user);
/* learn_speed_find: By the visits of each kernel. It must bring those of each half of the kernels together as the other
 * half has it, or there is none; nor is there of rows of several machines. */
void learn_speed_find(LearnSpeed *speed, const IfmKernelSamples *samples, LearnSpeedVisit visit_of, gpointer user);
/* learn_speed_factor: what the time of a visit is to be multiplied by. */
double learn_speed_factor(const LearnSpeed *speed, const IfmKernelSample *sample);

/* --- cases -------------------------------------------------------------------------------------------------------------
 */

/* LearnCase: the visits of one kernel with one number of threads in one state of load, as one.
 * @sample: of the first visit, with the mean of all metrics
 * @latency_ns: what errors are of: the median of the visits' undisturbed wall time, at the machine's median speed; of a
 * loaded one, @idle_ns times @slow_down
 * @measured_ns: what intervals are of: the same without that speed
 * @target_ns: what is learnt: at the median speed that of the processor time, where it has one thread and this is known;
 * else @latency_ns
 * @configuration: index
 * @difference: mean |a / b - 1| of its @n_pairs of visits, at the median speed; under load of their slow-downs */
typedef struct
{
    IfmKernelSample sample;
    double latency_ns, measured_ns, target_ns, idle_ns, slow_down;
    double same, other;
    guint configuration;
    guint machine; /* among those of the cases; 0 where these are of one */
    gsize n_pairs;
    double difference;
    gboolean loaded, beside_loaded; /* without load, of a kernel that was measured under load, too */
} LearnCase;

typedef struct
{
    GArray *cases;       /* LearnCase */
    GPtrArray *metrics;  /* double*: of one case each */
    GPtrArray *names;    /* const char*: of metrics before the kernel that all cases of the slow-down have */
    GArray *places;      /* gsize: of those among the samples' metrics */
    GPtrArray *machines; /* LearnMachine*: where they are of several; else none */
    guint n_configurations;
    gsize n_rows, n_dropped;       /* rows that are used; rows under load of kernels without a latency without */
    gsize n_left_out, n_disturbed; /* disturbed rows that are not used; that are */
    IfmLearnNoise noise;
} LearnCases;

/* learn_cases_init: @options: whether rows that something disturbed are used, too, or counted alone; and what machine all
 * are taken to be from, where it says one */
gboolean learn_cases_init(LearnCases *cases, const IfmKernelSamples *samples, const IfmLearnOptions *options,
                          GError **error);
void learn_cases_clear(LearnCases *cases);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(LearnCases, learn_cases_clear)
static inline const LearnCase *learn_case(const LearnCases *cases, gsize i)
{
    return &g_array_index(cases->cases, LearnCase, i);
}
/* learn_cases_folds: (transfer full) the fold of each case, by its configuration: 0 to IFM_LEARN_FOLDS - 1. */
int *learn_cases_folds(const LearnCases *cases, gint64 seed);
/* learn_cases_family_folds: (transfer full) the same by the first family of a kernel, and of those of its configuration;
 * NULL: there are fewer than 3. */
int *learn_cases_family_folds(const LearnCases *cases);
/* learn_cases_check: whether there are enough to learn from. FALSE with IFM_ERROR_INVALID. */
gboolean learn_cases_check(const LearnCases *cases, GError **error);
/* learn_machines_copy: Adds copies of the machines of which cases are used. */
void learn_machines_copy(GPtrArray *to, const LearnCases *cases, const gboolean *use);
/* learn_quantile: sorts. NaN for n = 0. */
double learn_quantile(double *values, gsize n, double p);

/* --- models ------------------------------------------------------------------------------------------------------------
 */

/* LearnPeak: found in the data of so many threads. */
typedef struct
{
    double threads, flop_per_ns, bytes_per_ns;
} LearnPeak;

/* LearnScale: median of latency over roofline of the operators that begin so: of "Conv_Relu" and "Conv_Add_Relu" that of
 * "Conv". */
typedef struct
{
    char *name;
    double scale;
} LearnScale;

/* LearnLevel: a share of the time that a load of the training data asked for. */
typedef struct
{
    double level;
} LearnLevel;

/* LearnKnown: what is known of a load: its share alone, its kind too, or metrics. */
typedef enum
{
    LEARN_SHARE,
    LEARN_KIND,
    LEARN_METRICS,
    LEARN_N_KNOWN,
} LearnKnown;

/* LearnQuantiles: of |log(measured / predicted)| of cases that were not trained on, which IFM_LEARN_COVERAGE are below.
 * [2]: predicted below IFM_LEARN_SMALL_NS, and not. @slow: of the slow-down, the idle latency known; @load: of both;
 * @slow_between, @load_between: at a level that was left out, with others around it; each by what is known of the load
 * @far: of kernels far from all others of their operator    @unknown: of the roofline for operators that were left out.
 * NaN: there were too few. */
typedef struct
{
    double idle[2], far, unknown;
    struct
    {
        double slow[2], load[2], slow_between[2], load_between[2];
    } of[LEARN_N_KNOWN];
} LearnQuantiles;

/* LearnWay: a way to predict the latency without load. Lines are through FLOP and bytes, by relative errors. */
typedef enum
{
    LEARN_FLOP,      /* one line through FLOP for all */
    LEARN_ROOFLINE,  /* the roofline times one factor */
    LEARN_LINEAR,    /* a line for each operator */
    LEARN_PARTS,     /* a line for each implementation of an operator: blocked, depthwise */
    LEARN_SMOOTH,    /* that, and a smooth function of the sizes for what it leaves */
    LEARN_BY_TREES,  /* the roofline, and boosted trees for what it leaves */
    LEARN_BY_FOREST, /* the same with a forest */
    LEARN_N_WAYS,
} LearnWay;

/* LearnLine: weights of FLOP, of 1 and of bytes, ns. @name: the operator; "": all    @part: of it; "": all of it
 * @smooth: of an operator; NULL: it leaves nothing that is to be learnt    @points: that, in a file alone */
typedef struct
{
    char *name, *part;
    double flop, fixed, bytes;
    IfmSmooth *smooth;
    json_t *points;
} LearnLine;

/* LEARN_N_PLACES: sizes that make the place of a kernel; a doubling of one counts as much as that of another
 * LearnPlaces: where kernels of an operator are that were learnt from. @n: how many they were    @x: gint64 [n, at most
 * LEARN_MOST_PLACES x LEARN_N_PLACES], in 64ths; -1: unknown */
#define LEARN_N_PLACES 21
#define LEARN_N_SIZES 20 /* those of the kernel itself come first; then what is around it */
#define LEARN_MOST_PLACES 240
typedef struct
{
    char *name;
    gint64 n;
    GArray *x;
} LearnPlaces;
/* learn_is_kept: of @n of an operator at most LEARN_MOST_PLACES are, evenly */
static inline gboolean learn_is_kept(gsize i, gsize n)
{
    return n <= LEARN_MOST_PLACES || i * LEARN_MOST_PLACES / n != (i + 1) * LEARN_MOST_PLACES / n;
}

struct IfmLatencyModel
{
    gint64 format_version;
    char *method, *data, *machine, *runtime, *device, *level;
    gint64 seed, n_rows, n_kernels, n_configurations, n_loaded;
    gint64 n_dropped;               /* of the training; not in the file */
    gint64 n_left_out, n_disturbed; /* disturbed rows: not learnt from, learnt from */
    double node_overhead_ns, scale; /* of all operators */
    double cache_bytes;             /* of the last-level cache; NaN: unknown */
    double cold;                    /* so many times as long a byte of weights takes where the model holds more */
    double reach;                   /* kernels that are farther from those of the operator are far; NaN: none is */
    IfmLearnNoise noise;
    LearnQuantiles quantiles;
    GPtrArray *features;      /* IfmLearnFeature*: those of every model, then one for each part of an operator's name */
    GPtrArray *load_features; /* IfmLearnFeature*: what the slow-down is learnt from besides, then metrics */
    GPtrArray *operators;     /* char*, sorted */
    GPtrArray *metrics;       /* char* */
    GPtrArray *scales;        /* LearnScale*, sorted */
    GPtrArray *peaks;         /* LearnPeak* */
    GPtrArray *levels;        /* LearnLevel*: of loads, ascending */
    GPtrArray *machines;      /* LearnMachine*: where it was learnt on several; else none */
    GPtrArray *errors;        /* IfmLearnError* */
    GPtrArray *choices;       /* IfmOperatorChoice*, sorted; none: it knows nothing of the latency without load */
    GPtrArray *lines;         /* LearnLine* */
    GPtrArray *places;        /* LearnPlaces*, of each operator; none where it was learnt on several machines */
    json_t *trees_idle, *trees_forest, *trees_load, *trees_metrics; /* in a file alone */
    LearnTrees idle, forest, load, load_metrics;                    /* idle: boosted */
    const char **metric_names;                                      /* of @metrics, NULL-terminated */
    IfmMachine place; /* that is predicted for, where it was learnt on several; its name is NULL where none is set */
};

/* learn_operator_column: of the operator's number among the features; -1: the model is of one machine and has none
 * learn_blur_machine: Of a row that is trained on, changes the machine's own numbers by some 10 % at random: machines are
 * few, and trees would tell each from the others by any number, however near. @row: (inout) as learn_fill_row() has it */
gssize learn_operator_column(const IfmLatencyModel *model);
void learn_blur_machine(const IfmLatencyModel *model, const IfmKernelSample *sample, GRand *random, float *row);
/* learn_model_alloc: (transfer full) without trees. */
IfmLatencyModel *learn_model_alloc(void);
void learn_model_release(IfmLatencyModel *model); /* all but its trees, and itself */
/* learn_errors_new: (transfer full) IfmLearnError*, none.    learn_error_new: (transfer full) without figures */
GPtrArray *learn_errors_new(void);
IfmLearnError *learn_error_new(const char *protocol, const char *method, const char *part);
/* learn_model_check: whether its numbers are such as a file may have. FALSE with IFM_ERROR_INVALID. */
gboolean learn_model_check(const IfmLatencyModel *model, const char *where, GError **error);
/* learn_model_finish: names of metrics, once they are known. */
void learn_model_finish(IfmLatencyModel *model);

/* learn_fit: Trains on the cases of @use: [n]. @calibrate: quantiles too; else they are NaN    @idle: FALSE: only what the
 * slow-down needs, for predictions with a known idle latency */
IfmLatencyModel *learn_fit(const LearnCases *cases, const gboolean *use, const IfmLearnOptions *options, gboolean calibrate,
                           gboolean idle, GError **error);

/* learn_fit_folds: @of: [n] the fold of each case    @use: [n]    @models: (out) (transfer full) [IFM_LEARN_FOLDS] of the
 * cases of the other folds without load; each operator is predicted in the way that is best of it over all folds. NULL
 * after a failure.
 */
gboolean learn_fit_folds(const LearnCases *cases, const int *of, const gboolean *use, const IfmLearnOptions *options,
                         IfmLatencyModel **models, GError **error);

/* --- ways to predict ---------------------------------------------------------------------------------------------------
 */

/* learn_way_words: "flop" and so on.    learn_fit_lines: Adds the lines to a model that knows its operators, of the cases
 * without load of @use; @smooth: also what they leave */
extern const char *const learn_way_words[];
void learn_fit_lines(IfmLatencyModel *model, const LearnCases *cases, const gboolean *use, gboolean smooth);
/* learn_list_cases: @of: (out) those without load of an operator, NULL: of all    Returns: how many */
gsize learn_list_cases(const LearnCases *cases, const gboolean *use, const char *name, const LearnCase **of);
/* learn_lines_check: whether their weights and smooth functions can be, and all that a way may need are there. FALSE with
 * IFM_ERROR_INVALID. learn_lines_read: the smooth functions of a file. */
gboolean learn_lines_check(const IfmLatencyModel *model, const char *where, GError **error);
gboolean learn_lines_read(IfmLatencyModel *model, const char *where, GError **error);
/* learn_way_ns: Allocates nothing. @row: as learn_fill_row() has it    Returns: finite, above 0; NaN: the model lacks what
 * this way needs */
double learn_way_ns(const IfmLatencyModel *model, LearnWay way, const IfmKernelSample *sample, double roofline_ns,
                    const float *row);
/* learn_way_tried: whether a way is a candidate. Of several machines the trees alone are, which see the machine. */
gboolean learn_way_tried(const IfmLatencyModel *model, LearnWay way, const IfmLearnOptions *options);

/* LearnTrials: of cases that were left out: @n_sets ways of leaving out: parts of the configurations, families; a case
 * counts once in each    @ns: [n_sets x cases x LEARN_N_WAYS] as predicted by a model that was not trained on the case;
 * NaN: not at all    @distances: [n_sets x cases] from the nearest that it was trained on */
typedef struct
{
    double *ns, *distances;
    gsize n_sets;
} LearnTrials;

/* learn_choose_any: A way for all operators, until it is known which is best.    learn_choose: For each operator that with
 * the least mean relative error, or the two whose logarithms' mean has it. Far from what was learnt, where 9 in 10 of the
 * configurations that were left out are nearer, it is the best pair of what is simple and trees, or a baseline: there
 * neither trees nor what is smooth are to be trusted alone. Operators with fewer than 20 cases are one group with those
 * that begin alike, or with all others.
 * @far: (out) (nullable) |log(measured / predicted)| of what was far */
void learn_choose_any(IfmLatencyModel *model, const IfmLearnOptions *options);
void learn_choose(IfmLatencyModel *model, const LearnCases *cases, const LearnTrials *trials, GArray *far);
/* learn_choice: of an operator; NULL: it has none.    learn_choice_ns: as learn_way_ns(). @far: (out) (nullable) whether
 * the kernel is far from those that were learnt from    learn_choices_check: whether
 * the model has what they need. FALSE with IFM_ERROR_INVALID.    learn_choices_trim: Frees what none of them needs. */
const IfmOperatorChoice *learn_choice(const IfmLatencyModel *model, const char *op_type);
double learn_choice_ns(const IfmLatencyModel *model, const IfmOperatorChoice *choice, const IfmKernelSample *sample,
                       double roofline_ns, const float *row, gboolean *far);
gboolean learn_choices_check(const IfmLatencyModel *model, const char *where, GError **error);
void learn_choices_trim(IfmLatencyModel *model);

/* learn_fill_place: @place: (out) the first @n    learn_fit_places: of the cases without load of @use
 * learn_distance: of a sample from the nearest kernel of an operator that was learnt from; 0 where no places are kept
 * learn_relative: the operator that was learnt from most kernels of those that begin alike: "Conv_Relu" for "Conv_Clip";
 * NULL: none does    learn_places_check: FALSE with IFM_ERROR_INVALID */
void learn_fill_place(const IfmKernelSample *sample, double *place, gsize n);
void learn_fit_places(IfmLatencyModel *model, const LearnCases *cases, const gboolean *use);
double learn_distance(const IfmLatencyModel *model, const char *op_type, const IfmKernelSample *sample);
const char *learn_relative(const IfmLatencyModel *model, const char *op_type);
gboolean learn_places_check(const IfmLatencyModel *model, const char *where, GError **error);

/* learn_smooth_to_json: (transfer full)    learn_smooth_from_json: (transfer full) of numbers that are not checked yet
 * learn_smooth_check: whether its numbers are such as a file may have. FALSE with IFM_ERROR_INVALID. */
gboolean learn_smooth_check(const IfmSmooth *smooth, const char *where, GError **error);
json_t *learn_smooth_to_json(const IfmSmooth *smooth);
IfmSmooth *learn_smooth_from_json(const json_t *json, const char *where, gsize n_columns, GError **error);

/* --- features ----------------------------------------------------------------------------------------------------------
 */

#define LEARN_N_LOAD_FEATURES 6 /* without metrics */
/* Beside one competitor a kernel has at least so much of a core. */
#define LEARN_FAIR_SHARE 0.5
#define LEARN_EFFECTIVE_LOAD 1
#define LEARN_FIRST_KIND 3 /* one for each kind of load: 1 or 0, NaN: the kind is not known */

/* learn_base_features: names of features of every model, NULL-terminated.    learn_load_features: of the slow-down. */
extern const char *const learn_base_features[], *const learn_load_features[];
double learn_bytes(const IfmKernelSample *sample);
/* learn_sample_of: a kernel that is to be predicted; borrows from @record. @working_set_bytes: of its model; below 1: not
 * known */
IfmKernelSample learn_sample_of(const IfmKernelRecord *record, int threads, double working_set_bytes);
/* learn_traffic: bytes; weights that come from behind the last-level cache count as many as take as long from it
 * learn_held: what the model holds around a kernel, bytes, at most as much as a ring may; NaN: it is not known */
double learn_traffic(const IfmLatencyModel *model, const IfmKernelSample *sample);
double learn_held(const IfmKernelSample *sample);
double learn_flop(const IfmKernelSample *sample);
gboolean learn_is_depthwise(const IfmKernelSample *sample);
double learn_roofline_ns(const IfmLatencyModel *model, const IfmKernelSample *sample);
/* learn_find_peaks, learn_find_operators: of the cases without load of @use. */
void learn_find_peaks(IfmLatencyModel *model, const LearnCases *cases, const gboolean *use);
void learn_find_operators(IfmLatencyModel *model, const LearnCases *cases, const gboolean *use);
/* learn_fill_row: @row: (out) [features] */
void learn_fill_row(const IfmLatencyModel *model, const IfmKernelSample *sample, double roofline_ns, float *row);
/* learn_fill_load: @row: (out) [LEARN_N_LOAD_FEATURES], behind those of learn_fill_row() */
void learn_fill_load(double idle_ns, const IfmLoadState *load, float *row);
/* learn_load_direction: whether latency can only rise (1) or fall (-1) with a feature of the load; 0: either
 * learn_is_learnt: whether a column of samples is a metric that is learnt from */
int learn_load_direction(const char *name);
gboolean learn_is_learnt(const char *column);
/* learn_taken: the share of the kernel's cores that a load has beside it.    learn_time_sharing: the slow-down by sharing
 * the cores alone. The scheduler gives a kernel what others leave, and at least an even share. NULL: no load */
double learn_taken(const IfmLoadState *load);
double learn_time_sharing(const IfmLoadState *load);
/* learn_competitors: how many compete for cores while these are busy. @running: tasks that run or wait, NaN: not known
 * @busy: sum over cores    @pressure: share of the time that some task waits, NaN: not known    @groups: of tasks, which
 * have even shares, NaN: tasks have them */
double learn_competitors(double running, double busy, double pressure, double groups);
/* learn_case_load: of a case, with so much known. @metrics: (out) [IFM_SAMPLES_MAX_METRICS] */
IfmLoadState learn_case_load(const LearnCases *cases, const LearnCase *one, LearnKnown known, double *metrics);
/* learn_place: that a sample is predicted for: its own, or the model's; NULL: the model is of one.    learn_place_bound:
 * |log| that IFM_LEARN_COVERAGE of the kernels of a machine keep to that was not learnt from; 0: this one was. */
const IfmMachineFeatures *learn_place(const IfmLatencyModel *model, const IfmKernelSample *sample);
double learn_place_bound(const IfmLatencyModel *model, const IfmMachineFeatures *place);
/* learn_operator_at: its place among the operators that were learnt from; -1: it is none of them */
gssize learn_operator_at(const IfmLatencyModel *model, const char *op_type);
gboolean learn_knows(const IfmLatencyModel *model, const char *op_type);
/* learn_begin_alike: "Conv_Relu" and "Conv_Clip", or "Conv" */
gboolean learn_begin_alike(const char *a, const char *b);
/* learn_scale: of an operator that the trees do not know. */
double learn_scale(const IfmLatencyModel *model, const char *op_type);

G_END_DECLS
