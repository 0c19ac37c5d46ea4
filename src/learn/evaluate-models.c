/* Predictions of models and their kernels against what is measured of them. */
#include <math.h>
#include <string.h>

#include <base/fields.h>
#include <sensor/sensor.h>
#include <stress/stress.h>
#include <zoo/zoo.h>

#include "learn-private.h"

#define USUAL_DEVICE "onnxruntime:CPU@0"
#define MODEL_NS (G_GINT64_CONSTANT(1000000000))
#define KERNEL_NS (60 * G_GINT64_CONSTANT(1000000))

/* Load: one to evaluate under. @word: as it was asked for    @stress: NULL: idle */
typedef struct
{
    char *word;
    IfmStressPlace place;
    const char *stress;
    double level;
    IfmLoadState state;
} Load;

static void load_clear(gpointer data)
{
    Load *load = data;
    g_free(load->word);
    ifm_stress_place_clear(&load->place);
}

/* Evaluating: what all models share. */
typedef struct
{
    const IfmLatencyModel *model;
    const IfmEvaluateOptions *options;
    IfmDeviceSpec *spec;
    GArray *loads;
    gint64 cache_bytes;   /* of the last level */
    GHashTable *measured; /* case_key() of a kernel -> its first row: models share kernels */
    GHashTable *dropped;  /* digests of kernels that are no row */
    GHashTable *held;     /* ifm_kernel_working_sets() of all */
    IfmEvaluation *evaluation;
} Evaluating;

/* --- loads --------------------------------------------------------------------------------------------------------------
 */

/* "gemm:60%", "copy:other:30%" */
static gboolean parse_load(Evaluating *self, const char *text, GError **error)
{
    const char *colon = strchr(text, ':');
    g_autofree char *kind = g_strndup(text, colon != NULL ? (gsize)(colon - text) : strlen(text));
    IfmStressKind stress;
    Load load = { .word = NULL };
    if (colon == NULL)
        return ifm_error_refuse(error, "\"%s\": a kind and a share are expected, such as gemm:60%%", text);
    if (!ifm_stress_parse(kind, &stress, error) || !ifm_load_state_parse(colon + 1, &load.state, error))
        return FALSE;
    if (load.state.same == 0 && load.state.other == 0)
        return ifm_error_refuse(error, "\"%s\": a share above 0 is expected, such as gemm:60%% (idle is always measured)",
                                text);
    if (load.state.same > 0 && load.state.other > 0)
        return ifm_error_refuse(error, "\"%s\": one stressor is on the same cores or on others", text);
    const gboolean is_other = load.state.other > 0;
    if (!ifm_stress_place_of(stress, self->spec, is_other, &load.place, error))
        return FALSE;
    load.word = g_strdup(text);
    load.stress = ifm_stress_words()[stress];
    load.state.kind = 1 + (int)stress;
    load.level = is_other ? load.state.other : load.state.same;
    g_array_append_val(self->loads, load);
    return TRUE;
}

static gboolean read_loads(Evaluating *self, GError **error)
{
    const Load idle = { .word = g_strdup("idle"), .state = { .idle_ns = (double)NAN } };
    g_array_append_val(self->loads, idle);
    for (const char *const *text = self->options->loads; text != NULL && *text != NULL; text++)
    {
        g_autoptr(GError) trouble = NULL;
        if (!parse_load(self, *text, &trouble))
            return ifm_error_misuse(error, "--load: %s", trouble->message);
    }
    return TRUE;
}

/* --- one row ------------------------------------------------------------------------------------------------------------
 */

static void evaluated_free(IfmEvaluated *row)
{
    g_free(row->model);
    g_free(row->load);
    g_free(row->reason);
    g_free(row->unknown);
    g_free(row->outside);
    g_free(row);
}

/* Measures a case. @copies: of a ring    Returns: FALSE where evaluating is to end. */
static gboolean measure(const Evaluating *self, IfmModelCase *model_case, const Load *load, gint64 budget_ns,
                        IfmEvaluated *row, GError **error)
{
    g_autoptr(GError) trouble = NULL;
    model_case->device = self->spec->text;
    model_case->threads = MAX(self->options->threads, 1);
    model_case->seed = 1;
    model_case->keep_tensors = TRUE;
    model_case->stress_kind = load->stress;
    model_case->stress_cores = load->place.cores;
    model_case->stress_device = load->place.device;
    model_case->stress_level = load->level;
    model_case->protocol = IFM_PROTOCOL_INIT;
    model_case->protocol.min_runs = 3;
    model_case->protocol.time_budget_ns = budget_ns;
    row->measured_ns = (double)NAN;
    g_autoptr(IfmMeasurement) measurement =
        self->options->measure(row->model, &ifm_kind_model, model_case, self->options->measure_user, &trouble);
    if (g_error_matches(trouble, IFM_ERROR, IFM_ERROR_CANCELLED) ||
        g_error_matches(trouble, IFM_ERROR, IFM_ERROR_UNAVAILABLE))
        return ifm_error_pass(error, g_steal_pointer(&trouble));
    if (measurement == NULL || measurement->outcome != IFM_OUTCOME_OK)
    {
        row->reason = g_strdup(measurement != NULL ? measurement->reason : trouble->message);
        return TRUE;
    }
    const double n_copies = (double)MAX(model_case->n_copies, 1);
    row->measured_ns = (load->stress == NULL ? measurement->summary.median : measurement->summary.mean) / n_copies;
    row->std_ns = measurement->summary.std / n_copies;
    row->achieved = ifm_member_number(measurement->environment, "stress.achieved");
    return TRUE;
}

static IfmEvaluated *add_row(const Evaluating *self, const IfmKernelRecords *records, const Load *load)
{
    IfmEvaluated *row = g_new0(IfmEvaluated, 1);
    row->records = records;
    row->model = g_strdup(records->model);
    row->load = g_strdup(load->word);
    row->times = 1;
    row->asked = load->stress != NULL ? load->level : (double)NAN;
    row->achieved = row->std_ns = row->kernels_ns = (double)NAN;
    row->same = load->state.same > 0;
    g_ptr_array_add(self->evaluation->rows, row);
    return row;
}

/* Kernels of less of a model's time explain nothing. */
#define LEAST_SHARE 0.01

/* "Einsum, Tanh: 12 % of the time"; NULL of none. (transfer full) */
static char *unknown_of(const IfmModelPrediction *prediction)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    double sum_ns = 0;
    for (guint i = 0; i < prediction->kernels->len; i++)
    {
        const IfmPredictedKernel *kernel = &g_array_index(prediction->kernels, IfmPredictedKernel, i);
        if (kernel->predicted.known)
            continue;
        sum_ns += kernel->predicted.latency_ns;
        if (!g_ptr_array_find_with_equal_func(names, kernel->record->name, g_str_equal, NULL))
            g_ptr_array_add(names, kernel->record->name);
    }
    if (sum_ns < LEAST_SHARE * prediction->latency_ns || names->len == 0)
        return NULL;
    g_ptr_array_add(names, NULL);
    g_autofree char *list = g_strjoinv(", ", (char **)names->pdata);
    return g_strdup_printf("%s: %.1f %% of the time", list, 100 * sum_ns / prediction->latency_ns);
}

/* Of the kernel that takes most time of those that are out of range. NULL of none. (transfer full) */
static char *outside_of(const IfmLatencyModel *model, const IfmModelPrediction *prediction, const IfmKernelRecords *records,
                        int threads, const Load *load)
{
    const IfmPredictedKernel *largest = NULL;
    double sum_ns = 0;
    for (guint i = 0; i < prediction->kernels->len; i++)
    {
        const IfmPredictedKernel *kernel = &g_array_index(prediction->kernels, IfmPredictedKernel, i);
        if (!kernel->predicted.known || kernel->predicted.in_range)
            continue;
        sum_ns += kernel->predicted.latency_ns;
        if (largest == NULL || kernel->predicted.latency_ns > largest->predicted.latency_ns)
            largest = kernel;
    }
    if (largest == NULL || sum_ns < LEAST_SHARE * prediction->latency_ns)
        return NULL;
    const double held = (double)ifm_kernel_records_working_set(records);
    const IfmKernelSample sample = learn_sample_of(largest->record, threads, held);
    g_autofree char *feature = ifm_latency_model_outside(model, &sample, &load->state);
    return g_strdup_printf("%.1f %% of the time, such as %s with %s", 100 * sum_ns / prediction->latency_ns,
                           largest->record->name, feature);
}

static gboolean evaluate_whole(const Evaluating *self, const IfmKernelRecords *records, const IfmModelSource *source,
                               const Load *load, GError **error)
{
    g_autoptr(IfmModelPrediction) prediction =
        ifm_model_predict(self->model, records, MAX(self->options->threads, 1), &load->state);
    IfmEvaluated *row = add_row(self, records, load);
    IfmModelCase model_case = { .model_path = source->path,
                                .inputs_path = source->inputs_path,
                                .bindings = ifm_model_feed_bindings(&source->feed),
                                .n_bindings = source->feed.bindings->len };
    row->predicted_ns = prediction->latency_ns;
    row->low_ns = prediction->low_ns;
    row->high_ns = prediction->high_ns;
    row->unknown = unknown_of(prediction);
    row->outside = outside_of(self->model, prediction, records, self->options->threads, load);
    return measure(self, &model_case, load, MODEL_NS, row, error);
}

/* In each model a kernel is as cold as what the model holds makes it; one that was extracted as in the largest model that
 * is evaluated with it and has it. */
static gint64 held_by(const Evaluating *self, const IfmKernelRecords *records, const IfmKernelRecord *record)
{
    const gint64 own = ifm_kernel_records_working_set(records), *most = g_hash_table_lookup(self->held, record->digest);
    return own > 0 ? own : *most;
}

static gsize copies_of(const Evaluating *self, const IfmKernelRecord *record, gint64 held)
{
    return ifm_kernel_ring_copies(record, held, self->cache_bytes);
}

/* What is measured once. (transfer full) */
static char *case_key(const IfmKernelRecord *record, gsize n_copies, const char *load)
{
    return g_strdup_printf("%s %zu %s", record->digest, n_copies, load);
}

static gboolean evaluate_kernel(const Evaluating *self, const IfmKernelRecords *records, const IfmKernelRecord *record,
                                const Load *load, GError **error)
{
    IfmPredictedLatency predicted;
    json_auto_t *json = ifm_kernel_record_to_json(record);
    IfmEvaluated *row = add_row(self, records, load);
    const gint64 held = held_by(self, records, record);
    IfmModelCase model_case = { .kernel = json, .n_copies = copies_of(self, record, held) };
    const IfmKernelSample sample = learn_sample_of(record, self->options->threads, (double)held);
    ifm_latency_model_predict(self->model, &sample, &load->state, &predicted);
    row->record = record;
    row->times = 0;
    for (guint i = 0; i < records->kernels->len; i++)
        row->times += g_str_equal(((const IfmKernelRecord *)records->kernels->pdata[i])->digest, record->digest);
    row->predicted_ns = predicted.latency_ns;
    row->low_ns = predicted.low_ns;
    row->high_ns = predicted.high_ns;
    row->unknown = predicted.known ? NULL : g_strdup(record->name);
    row->outside = ifm_latency_model_outside(self->model, &sample, &load->state);
    char *key = case_key(record, model_case.n_copies, load->word);
    const IfmEvaluated *before = g_hash_table_lookup(self->measured, key);
    if (before == NULL)
    {
        g_hash_table_insert(self->measured, key, row);
        return measure(self, &model_case, load, KERNEL_NS, row, error);
    }
    g_free(key);
    row->measured_ns = before->measured_ns;
    row->std_ns = before->std_ns;
    row->achieved = before->achieved;
    row->reason = g_strdup(before->reason);
    return TRUE;
}

/* --- models -------------------------------------------------------------------------------------------------------------
 */

/* Whether a kernel is a row. What cannot be measured by itself is none, and what only gives data another shape is none. */
static gboolean is_row(const Evaluating *self, const IfmKernelRecord *record)
{
    g_autoptr(GError) why = NULL;
    if (ifm_kernel_record_moves(record))
        ifm_error_refuse(&why, "%s only gives data another shape", record->name);
    else if (ifm_kernel_stands_alone(record, &why))
        return TRUE;
    self->evaluation->n_dropped += g_hash_table_add(self->dropped, record->digest);
    if (self->evaluation->why_dropped == NULL)
        self->evaluation->why_dropped = g_strdup(why->message);
    return FALSE;
}

/* What only gives data another shape is, of a whole model, among the overhead of its nodes; of others the page says how
 * many there are. @all: (out) none was dropped */
static gboolean evaluate_kernels(const Evaluating *self, const IfmKernelRecords *records, gboolean has_whole,
                                 const Load *load, gboolean *all, GError **error)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    *all = TRUE;
    for (guint i = 0; i < records->kernels->len; i++)
    {
        const IfmKernelRecord *record = records->kernels->pdata[i];
        if (!g_hash_table_add(seen, record->digest) || (has_whole && ifm_kernel_record_moves(record)))
            continue;
        if (!is_row(self, record))
            *all = FALSE;
        else if (!evaluate_kernel(self, records, record, load, error))
            return FALSE;
    }
    return TRUE;
}

/* @at: of the whole model, whose kernels stand behind it    @all: none was dropped */
static void sum_kernels(const GPtrArray *rows, guint at, gboolean all)
{
    IfmEvaluated *whole = rows->pdata[at];
    whole->kernels_ns = all ? 0 : (double)NAN;
    for (guint i = at + 1; i < rows->len; i++)
    {
        const IfmEvaluated *kernel = rows->pdata[i];
        whole->kernels_ns += kernel->measured_ns * (double)kernel->times;
    }
}

static gboolean evaluate_opened(const Evaluating *self, const IfmKernelRecords *records, const IfmModelSource *source,
                                GError **error)
{
    for (guint i = 0; i < self->loads->len; i++)
    {
        const Load *load = &g_array_index(self->loads, Load, i);
        const guint before = self->evaluation->rows->len;
        gboolean all = FALSE;
        if ((source->path != NULL && !evaluate_whole(self, records, source, load, error)) ||
            (self->options->kernels && !evaluate_kernels(self, records, source->path != NULL, load, &all, error)))
            return FALSE;
        if (self->options->kernels && source->path != NULL)
            sum_kernels(self->evaluation->rows, before, all);
    }
    return TRUE;
}

/* Records of a file, and an extracted kernel, have no whole model. */
static gboolean has_whole(const char *text, const IfmKernelRecords *records)
{
    return !ifm_kernel_records_stand_alone(text) && *records->level != '\0';
}

/* A row for what cannot be measured. */
static void add_missing(const Evaluating *self, const IfmKernelRecords *records, const char *reason)
{
    IfmEvaluated *row = add_row(self, records, &g_array_index(self->loads, Load, 0));
    row->reason = g_strdup(reason);
    row->measured_ns = row->predicted_ns = row->low_ns = row->high_ns = (double)NAN;
}

static gboolean evaluate_model(const Evaluating *self, const char *text, IfmKernelRecords *records, GError **error)
{
    const IfmModelRequest request = { .text = text,
                                      .open = &self->options->open,
                                      .seed = 1,
                                      .is_run = TRUE,
                                      .note = self->options->note,
                                      .user = self->options->user };
    g_auto(IfmModelSource) source = { 0 };
    g_autoptr(GError) trouble = NULL;
    IfmEvaluation *evaluation = self->evaluation;
    if (records->reason == NULL && has_whole(text, records) && !ifm_model_source_open(&request, &source, &trouble))
    {
        records->reason = g_strdup(trouble->message);
        records->code = trouble->code;
    }
    if (records->reason != NULL || (source.path == NULL && !self->options->kernels))
    {
        add_missing(self, records,
                    records->reason != NULL ? records->reason : "there are its kernels alone, which are left out");
        return TRUE;
    }
    if (evaluation->warning == NULL)
        evaluation->warning = ifm_latency_model_warning(self->model, records->processor, records->runtime);
    return evaluate_opened(self, records, &source, error);
}

/* How many cases there will be: kernels that models share are one where their rings are. */
static gsize count_cases(const Evaluating *self, char *const *texts)
{
    g_autoptr(GHashTable) kernels = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    gsize n_whole = 0;
    for (guint i = 0; i < self->evaluation->records->len; i++)
    {
        const IfmKernelRecords *records = self->evaluation->records->pdata[i];
        n_whole += has_whole(texts[i], records);
        for (guint k = 0; self->options->kernels && k < records->kernels->len; k++)
        {
            const IfmKernelRecord *record = records->kernels->pdata[k];
            if (!ifm_kernel_record_moves(record) && ifm_kernel_stands_alone(record, NULL))
                g_hash_table_add(kernels, case_key(record, copies_of(self, record, held_by(self, records, record)), ""));
        }
    }
    return self->loads->len * (n_whole + g_hash_table_size(kernels));
}

static gboolean evaluate_all(Evaluating *self, GError **error)
{
    g_auto(GStrv) texts = ifm_kernel_records_words(self->options->models, TRUE);
    if (self->spec == NULL || !read_loads(self, error))
        return FALSE;
    const IfmKernelOptions options = { .device = self->spec->text,
                                       .threads = MAX(self->options->threads, 1),
                                       .seed = 1,
                                       .open = self->options->open,
                                       .interrupted = self->options->interrupted,
                                       .progress = self->options->progress,
                                       .user = self->options->user };
    self->evaluation->records = ifm_kernel_records_open_each((const char *const *)texts, &options, error);
    if (self->evaluation->records == NULL)
        return FALSE;
    self->held = ifm_kernel_working_sets((const IfmKernelRecords *const *)self->evaluation->records->pdata,
                                         self->evaluation->records->len);
    if (self->options->progress != NULL)
        self->options->progress(&(IfmProgress){ .n_cases = count_cases(self, texts) }, self->options->user);
    for (guint i = 0; i < self->evaluation->records->len; i++)
        if (!evaluate_model(self, texts[i], self->evaluation->records->pdata[i], error))
            return FALSE;
    return TRUE;
}

IfmEvaluation *ifm_evaluate(const IfmLatencyModel *model, const IfmEvaluateOptions *options, GError **error)
{
    json_auto_t *machine = ifm_sensor_machine(NULL);
    Evaluating self = { .model = model, .options = options, .cache_bytes = ifm_sensor_last_cache_bytes(machine, NULL) };
    g_autoptr(IfmEvaluation) evaluation = self.evaluation = g_new0(IfmEvaluation, 1);
    evaluation->rows = g_ptr_array_new_with_free_func((GDestroyNotify)evaluated_free);
    self.measured = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    self.dropped = g_hash_table_new(g_str_hash, g_str_equal);
    self.loads = g_array_new(FALSE, FALSE, sizeof(Load));
    g_array_set_clear_func(self.loads, load_clear);
    self.spec = ifm_device_spec_parse(options->device != NULL ? options->device : USUAL_DEVICE, error);
    const gboolean ok = evaluate_all(&self, error);
    g_array_unref(self.loads);
    g_hash_table_unref(self.measured);
    g_hash_table_unref(self.dropped);
    g_clear_pointer(&self.held, g_hash_table_unref);
    ifm_device_spec_free(self.spec);
    return ok ? g_steal_pointer(&evaluation) : NULL;
}

void ifm_evaluation_free(IfmEvaluation *evaluation)
{
    if (evaluation == NULL)
        return;
    g_ptr_array_unref(evaluation->rows);
    g_clear_pointer(&evaluation->records, g_ptr_array_unref);
    g_free(evaluation->warning);
    g_free(evaluation->why_dropped);
    g_free(evaluation);
}
