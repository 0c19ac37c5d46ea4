/* What a device can at most: what describes a case of it, its record, how it is measured, and which of two counts. */
#include <math.h>
#include <sched.h>
#include <string.h>

#include <base/fields.h>
#include <sensor/sensor.h>
#include <store/store.h>

#include "../kind-private.h"

#define MAX_WIDTH 0.2 /* of an interval / its rate, of what nothing disturbed */

static const IfmDtype dtypes[] = { IFM_DTYPE_F32, IFM_DTYPE_F64, IFM_DTYPE_F16, IFM_DTYPE_BF16 };

static const IfmRecordField fields[] = {
    { IFM_RECORD(NAME, IfmPeakCase, device) },
    { IFM_RECORD(NAME, IfmPeakCase, alias) },
    { IFM_RECORD(DTYPE, IfmPeakCase, dtype), .key = "dtype" },
    { IFM_RECORD(INT, IfmPeakCase, threads), .key = "threads" },
    { IFM_RECORD(INT64, IfmPeakCase, time_budget_ns) },
    { NULL },
};

static gboolean complete(void *spec, GError **error)
{
    IfmPeakCase *peak_case = spec;
    gboolean known = FALSE;
    if (peak_case->dtype == IFM_DTYPE_UNDEFINED)
        peak_case->dtype = IFM_DTYPE_F32;
    for (gsize i = 0; i < G_N_ELEMENTS(dtypes); i++)
        known |= peak_case->dtype == dtypes[i];
    if (!known)
        return ifm_error_refuse(error, "peak: found dtype %s, expected f32, f64, f16 or bf16",
                                ifm_dtype_name(peak_case->dtype));
    if (peak_case->threads < 0)
        return ifm_error_refuse(error, "peak: found %d threads, expected 0 (as the device has) or more",
                                peak_case->threads);
    if (peak_case->time_budget_ns < 0)
        return ifm_error_refuse(error, "peak: found a time budget of %" G_GINT64_FORMAT " ns, expected more than 0",
                                peak_case->time_budget_ns);
    if (peak_case->time_budget_ns == 0)
        peak_case->time_budget_ns = IFM_PEAK_BUDGET_NS;
    return TRUE;
}

/* Several streams share what the device can: its limit is that of one that has it all. */
static IfmDeviceSpec *without_streams(const char *device, GError **error)
{
    g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse(device, error);
    if (spec == NULL || spec->n_streams == 0)
        return g_steal_pointer(&spec);
    g_autofree char *text = g_strndup(spec->text, strcspn(spec->text, "#"));
    return ifm_device_spec_parse(text, error);
}

static gboolean seal(IfmRunner *runner, const void *given, const json_t *facts, IfmCase *record, GError **error)
{
    const IfmPeakCase *peak_case = given;
    cpu_set_t mask;
    g_autoptr(IfmDeviceSpec) spec = without_streams(peak_case->device, error);
    facts = spec != NULL ? ifm_runner_engine_facts(runner, spec->text, spec, error) : NULL;
    if (facts == NULL)
        return FALSE;
    ifm_record_set_text(&record->subject_name, "peak");
    ifm_record_set_text(&record->device, spec->text);
    ifm_record_set_text(&record->alias, peak_case->alias);
    /* A process that is kept to some of the processors finds less, if the device has no list of cores. */
    if (spec->n_cores == 0 && sched_getaffinity(0, sizeof mask, &mask) == 0)
        json_object_set_new(record->options, "processors", json_integer(CPU_COUNT(&mask)));
    ifm_case_set_engine(record, facts);
    return TRUE;
}

static gboolean place(IfmRunner *runner, void *spec, const IfmCase *sealed, IfmKindPlace *place, GError **error)
{
    IfmPeakCase *peak_case = spec;
    peak_case->device = sealed->device; /* canonical, without streams */
    place->worker = g_strdup(sealed->device);
    return ifm_kind_place_add(place, sealed->device, error) != NULL;
}

/* --- in the worker ------------------------------------------------------------------------------------------------ */

#define MIN_SIZE 256
#define MAX_SIZE 8192
/* A size that is no faster than this much above the best one so far does not rise; after so many of them it is over. */
#define RISE 1.01
#define FLAT_SIZES 2
/* Of the time budget for the products; the rest is the triad's. */
#define PRODUCTS_SHARE 0.6
/* Of the memory there is for what is measured here. */
#define MEMORY_SHARE 8
/* A product takes about as many times its matrix: input, output, weights as made, written, read and laid out anew. */
#define PRODUCT_COPIES 8
/* Of a triad on a device with memory of its own, whose caches are not known. */
#define DEVICE_ARRAY_BYTES (256 << 20)

/* Everything a limit's case holds while it is measured. */
typedef struct
{
    Worker *worker;
    const IfmPeakCase *peak_case;
    gint64 memory_bytes; /* what it may take */
    gint64 began_us;
    IfmEngine *engine; /* borrowed */
    IfmDeviceSpec *spec;
    IfmDeviceInfo *info;
    IfmDtype written;     /* what models are written in */
    json_t *peak;         /* the result */
    IfmMeasurement *best; /* of the products */
    double best_rate;
} Limit;

static void drop(Worker *worker)
{
    Limit *self = worker->state;
    if (self == NULL)
        return;
    ifm_device_spec_free(self->spec);
    ifm_device_info_free(self->info);
    json_decref(self->peak);
    ifm_measurement_free(self->best);
    g_clear_pointer(&worker->state, g_free);
}

static gboolean is_simulated(const Limit *self)
{
    return (self->info->capabilities & IFM_IS_SIMULATED) != 0;
}

/* --- what there is to spend --------------------------------------------------------------------------------------- */

static gint64 left_ns(const Limit *self, double share)
{
    gint64 spent_ns = (g_get_monotonic_time() - self->began_us) * 1000;
    return (gint64)(share * (double)self->peak_case->time_budget_ns) - spent_ns;
}

/* @limit_bytes: of the case; 0: none */
static gint64 memory_share(gint64 limit_bytes)
{
    gint64 available = ifm_sensor_free_bytes("/");
    gint64 share = available < G_MAXINT64 ? available / MEMORY_SHARE : G_GINT64_CONSTANT(1) << 30;
    return limit_bytes > 0 ? MIN(share, limit_bytes / 2) : share;
}

static int n_threads(const Limit *self)
{
    cpu_set_t mask;
    if (self->peak_case->threads > 0)
        return self->peak_case->threads;
    if (self->spec->n_cores > 0)
        return (int)self->spec->n_cores;
    return sched_getaffinity(0, sizeof mask, &mask) == 0 ? MAX(CPU_COUNT(&mask), 1) : 1;
}

/* --- measuring one thing ------------------------------------------------------------------------------------------ */

/* Work a second, by the median and its interval. @work: of one run */
typedef struct
{
    double rate, lower, upper, median_ns;
} Rate;

static Rate rate_of(const IfmMeasurement *measurement, double work)
{
    const IfmSummary *summary = &measurement->summary;
    return (Rate){ .rate = 1e9 * work / summary->median,
                   .lower = 1e9 * work / summary->median_interval.upper,
                   .upper = 1e9 * work / summary->median_interval.lower,
                   .median_ns = summary->median };
}

static json_t *interval_to_json(const Rate *rate)
{
    return json_pack("[o,o]", ifm_json_real(rate->lower), ifm_json_real(rate->upper));
}

/* By the shared rule, in @budget_ns. Returns: NULL with the subject's error, or IFM_ERROR_CANCELLED: half a limit is none.
 */
static IfmMeasurement *measure_one(const Limit *self, const IfmSubject *slots, gint64 budget_ns, GError **error)
{
    Worker *worker = self->worker;
    IfmMeasureOptions options = {
        .protocol = IFM_PROTOCOL_INIT, .interrupted = &worker->interrupted, .progress = worker_beat, .progress_user = worker
    };
    options.protocol.warmup = 2;
    options.protocol.min_runs = 8;
    options.protocol.max_runs = 2000;
    options.protocol.time_budget_ns = MAX(budget_ns, IFM_NS_PER_MS);
    g_autoptr(IfmMeasurement) measurement = ifm_measurement_new();
    if (!ifm_measure_subject(slots, &options, measurement, error) || !worker_go_on(worker, "running", 2, error))
        return NULL;
    return g_steal_pointer(&measurement);
}

/* --- the product -------------------------------------------------------------------------------------------------- */

/* A model in f32 is what a runtime with a precision of its own takes; another computes in the type it is written in. */
static IfmPeakSubject *compile_first(Limit *self, IfmPeakKind kind, gint64 size, GError **error)
{
    g_autoptr(GError) failure = NULL;
    self->written = IFM_DTYPE_F32;
    IfmPeakSubject *subject = ifm_peak_subject_new(self->engine, self->peak_case, kind, size, self->written, &failure);
    if (subject != NULL)
        return subject;
    if (self->peak_case->dtype == IFM_DTYPE_F32 || !g_error_matches(failure, IFM_ERROR, IFM_ERROR_UNSUPPORTED))
    {
        g_propagate_error(error, g_steal_pointer(&failure));
        return NULL;
    }
    self->written = self->peak_case->dtype;
    return ifm_peak_subject_new(self->engine, self->peak_case, kind, size, self->written, error);
}

/* A model in its own precision may be computed in another one: its rate is no peak of the one that was asked for. */
static gboolean check_precision(const Limit *self, GError **error)
{
    const char *ran = ifm_member_text(self->worker->measurement->effective_config, "dtype");
    const IfmDtype dtype = ifm_dtype_from_name(ran != NULL ? ran : "");
    return dtype == IFM_DTYPE_UNDEFINED || dtype == self->peak_case->dtype ||
           ifm_error_set(error, IFM_ERROR_UNSUPPORTED, "%s: does not execute in %s: %s is what ran",
                         self->peak_case->device, ifm_dtype_name(self->peak_case->dtype), ran);
}

/* What runs is what was asked for: threads, cores, precision. */
static gboolean effective_config(Limit *self, IfmPeakSubject *subject, GError **error)
{
    g_autoptr(GError) failure = NULL;
    if (!worker_go_on(self->worker, "checking what runs", WORKER_EFFECTIVE_CONFIG_STEPS, error))
        return FALSE;
    IfmMeasurement *record = self->worker->measurement;
    record->effective_config = ifm_model_subject_effective_config(ifm_peak_subject_model(subject), record, &failure);
    if (failure == NULL)
        return check_precision(self, error) && worker_go_on(self->worker, "running", 2, error);
    return ifm_error_pass(error, g_steal_pointer(&failure));
}

static void keep(Limit *self, IfmMeasurement *measurement /* (transfer full) */, gint64 size, const Rate *rate)
{
    json_array_append_new(json_object_get(self->peak, "products"),
                          json_pack("{s:I,s:f,s:o,s:i}", "size", (json_int_t)size, "flop_per_s", rate->rate,
                                    "flop_interval", interval_to_json(rate), "n", (int)measurement->samples_ns->len));
    if (!(rate->rate > self->best_rate))
    {
        ifm_measurement_free(measurement);
        return;
    }
    ifm_measurement_free(self->best);
    self->best = measurement;
    self->best_rate = rate->rate;
    json_object_set_new(self->peak, "flop_per_s", json_real(rate->rate));
    json_object_set_new(self->peak, "flop_interval", interval_to_json(rate));
}

static gboolean measure_product(Limit *self, gint64 size, Rate *rate, GError **error)
{
    g_autoptr(IfmPeakSubject) subject =
        size == MIN_SIZE
            ? compile_first(self, IFM_PEAK_PRODUCT, size, error)
            : ifm_peak_subject_new(self->engine, self->peak_case, IFM_PEAK_PRODUCT, size, self->written, error);
    if (subject == NULL || (size == MIN_SIZE && !effective_config(self, subject, error)))
        return FALSE;
    IfmSubject slots = ifm_peak_subject_slots(subject);
    IfmMeasurement *measurement = measure_one(self, &slots, left_ns(self, PRODUCTS_SHARE) / 2, error);
    if (measurement == NULL)
        return FALSE;
    *rate = rate_of(measurement, ifm_peak_subject_work(subject));
    keep(self, measurement, size, rate);
    return TRUE;
}

/* Whether the next size, eight times the work, can be compiled, warmed up and run a few times. */
static gboolean is_affordable(const Limit *self, gint64 size, const Rate *last)
{
    gint64 bytes = PRODUCT_COPIES * size * size * (gint64)ifm_dtype_size_bytes(self->written);
    return size <= MAX_SIZE && bytes <= self->memory_bytes &&
           16 * 8 * last->median_ns < (double)left_ns(self, PRODUCTS_SHARE);
}

/* A simulated device may take the same time whatever it is given: no rate is its limit. */
static gboolean check_grows(const Limit *self, const Rate *first, const Rate *last, gint64 last_size, GError **error)
{
    return !is_simulated(self) || last_size <= MIN_SIZE || last->median_ns > 2 * first->median_ns ||
           ifm_error_set(
               error, IFM_ERROR_UNSUPPORTED,
               "%s: has no peak: it is described without a roofline, and a product of size %d takes as long as one of "
               "size %" G_GINT64_FORMAT,
               self->spec->text, MIN_SIZE, last_size);
}

/* Whether a size was surely no faster than those before: what was disturbed, and has a wide interval or none, is not. */
static gboolean is_flat(const Rate *rate, double before)
{
    gboolean steady = rate->upper - rate->lower < MAX_WIDTH * rate->rate;
    return before > 0 && steady && rate->upper < RISE * before;
}

static gboolean measure_products(Limit *self, GError **error)
{
    Rate first = { 0 }, rate = { 0 };
    int n_flat = 0;
    gboolean rose = FALSE;
    gint64 size = MIN_SIZE, last = 0;
    do
    {
        double before = self->best_rate;
        if (!measure_product(self, size, &rate, error))
            return FALSE;
        if (size == MIN_SIZE)
            first = rate;
        n_flat = is_flat(&rate, before) ? n_flat + 1 : 0;
        rose = rate.rate > RISE * before;
        last = size;
        size *= 2;
    } while (n_flat < FLAT_SIZES && is_affordable(self, size, &rate));
    if (rose)
        ifm_measurement_warn(self->worker->measurement,
                             "the product's rate still rose at size %" G_GINT64_FORMAT
                             ", where the time budget or the memory ended: the peak may be higher",
                             last);
    return check_grows(self, &first, &rate, last, error);
}

/* --- the triad ---------------------------------------------------------------------------------------------------- */

static void describe_triad(Limit *self, const char *by, IfmDtype dtype, double bytes, const IfmMeasurement *measurement)
{
    Rate rate = rate_of(measurement, bytes);
    json_object_update_new(self->peak,
                           json_pack("{s:o,s:o,s:I,s:s,s:s,s:i,s:b}", "bytes_per_s", ifm_json_real(rate.rate),
                                     "bytes_interval", interval_to_json(&rate), "triad_bytes", (json_int_t)bytes,
                                     "triad_by", by, "triad_dtype", ifm_dtype_name(dtype), "triad_n",
                                     (int)measurement->samples_ns->len, "write_allocate_counted", FALSE));
    gsize i;
    json_t *warning;
    json_array_foreach(json_object_get(measurement->environment, "warnings"), i, warning)
        ifm_measurement_warn(self->worker->measurement, "triad: %s", json_string_value(warning));
}

/* Asked of the kernel: on which cores this thread, and those that it starts, may run. */
static gboolean check_cores(const Limit *self, GError **error)
{
    g_autofree char *found = ifm_affinity_to_string();
    g_autofree char *asked = ifm_cores_to_string(self->spec->cores, self->spec->n_cores);
    json_object_set_new(self->peak, "triad_cores", json_string(found));
    return self->spec->n_cores == 0 || g_str_equal(asked, found) ||
           ifm_error_set(error, IFM_ERROR_FAILED, "%s: cores %s were asked for, the triad would run on %s",
                         self->spec->text, asked, found);
}

/* Half of what a cache holds is surely held by it. */
#define CACHE_SHARE 0.5
/* A run is so long that starting the threads and reading the clock are nothing. */
#define ROUND_BYTES ((gsize)64 << 20)

/* The same triad within a cache. Its rate is not below that of what is behind the cache, from which it is filled. */
static gboolean measure_cache(Limit *self, const char *level, double *behind, GError **error)
{
    gsize bytes = ifm_triad_level_bytes("/", level, n_threads(self)),
          array_bytes = (gsize)(CACHE_SHARE * (double)bytes / 3);
    if (bytes == 0)
        return TRUE;
    g_autoptr(IfmTriadSubject) triad = ifm_triad_subject_new(self->peak_case->dtype, n_threads(self), array_bytes, error);
    if (triad == NULL)
        return FALSE;
    ifm_triad_subject_set_rounds(triad, ROUND_BYTES / (3 * array_bytes) + 1);
    IfmSubject slots = ifm_triad_subject_slots(triad);
    g_autoptr(IfmMeasurement) measurement = measure_one(self, &slots, left_ns(self, 1) / 8, error);
    if (measurement == NULL)
        return FALSE;
    Rate rate = rate_of(measurement, ifm_triad_subject_bytes(triad));
    *behind = fmax(*behind, rate.rate);
    json_array_insert_new(json_object_get(self->peak, "caches"), 0,
                          json_pack("{s:s,s:I,s:f,s:o,s:i}", "level", level, "bytes", (json_int_t)bytes, "bytes_per_s",
                                    *behind, "interval", interval_to_json(&rate), "n", (int)measurement->samples_ns->len));
    return TRUE;
}

/* Not of the first level: what a layer reads was never just written there as a whole. */
static gboolean measure_caches(Limit *self, GError **error)
{
    double behind = json_number_value(json_object_get(self->peak, "bytes_per_s"));
    json_object_set_new(self->peak, "caches", json_array());
    return measure_cache(self, "L3", &behind, error) && measure_cache(self, "L2", &behind, error);
}

static gboolean triad_by_loops(Limit *self, GError **error)
{
    gsize cache_bytes = ifm_triad_cache_bytes("/");
    gsize array_bytes = ifm_triad_array_bytes(cache_bytes, self->memory_bytes);
    if (!check_cores(self, error))
        return FALSE;
    g_autoptr(IfmTriadSubject) triad = ifm_triad_subject_new(self->peak_case->dtype, n_threads(self), array_bytes, error);
    if (triad == NULL || !worker_go_on(self->worker, "running", 2, error))
        return FALSE;
    IfmSubject slots = ifm_triad_subject_slots(triad);
    g_autoptr(IfmMeasurement) measurement = measure_one(self, &slots, left_ns(self, 1) / 2, error);
    if (measurement == NULL)
        return FALSE;
    describe_triad(self, "loops", ifm_triad_subject_dtype(triad), ifm_triad_subject_bytes(triad), measurement);
    json_object_set_new(self->peak, "cache_bytes", json_integer(cache_bytes));
    if (array_bytes < 2 * cache_bytes)
        ifm_measurement_warn(self->worker->measurement,
                             "the triad's arrays, %zu MiB each, are small compared with caches of %zu MiB: the memory "
                             "bandwidth is overestimated",
                             array_bytes >> 20, cache_bytes >> 20);
    return measure_caches(self, error);
}

/* The transfers to the device and back are within each inference, where its runtime makes them: the record says so. */
static gboolean triad_by_engine(Limit *self, GError **error)
{
    gint64 array_bytes = MIN(DEVICE_ARRAY_BYTES, self->memory_bytes / PRODUCT_COPIES);
    gint64 size = array_bytes / (gint64)ifm_dtype_size_bytes(self->written);
    g_autoptr(IfmPeakSubject) subject =
        ifm_peak_subject_new(self->engine, self->peak_case, IFM_PEAK_TRIAD, size, self->written, error);
    if (subject == NULL)
        return FALSE;
    IfmSubject slots = ifm_peak_subject_slots(subject);
    g_autoptr(IfmMeasurement) measurement = measure_one(self, &slots, left_ns(self, 1) / 2, error);
    if (measurement == NULL)
        return FALSE;
    describe_triad(self, "engine", self->written, ifm_peak_subject_work(subject), measurement);
    return TRUE;
}

static gboolean open_device(Limit *self, GError **error)
{
    Worker *worker = self->worker;
    worker->keeps_real_time = FALSE;
    worker_enter_phase(worker, "opening the runtime");
    self->engine = worker_open_device(worker, self->peak_case->device, &self->spec, error);
    if (self->engine == NULL)
        return FALSE;
    worker->measurement->environment = json_pack(
        "{s:o,s:s,s:s,s:i,s:[]}", "runtime", worker_engine_to_json(self->engine), "device", self->peak_case->device,
        "dtype", ifm_dtype_name(self->peak_case->dtype), "threads_asked", self->peak_case->threads, "warnings");
    self->info = ifm_engine_find_device(self->engine, self->spec, error);
    if (self->info == NULL)
        return FALSE;
    worker_report_base(worker);
    self->peak = json_pack("{s:[],s:i}", "products", "threads", n_threads(self));
    return TRUE;
}

/* What it is described with is its limit, to the last digit. */
static void take_description(Limit *self)
{
    double flop_per_s = self->info->flop_per_s, bytes_per_s = self->info->bytes_per_s;
    json_auto_t *reported = json_pack("{s:f,s:[f,f],s:f,s:[f,f],s:n,s:s}", "flop_per_s", flop_per_s, "flop_interval",
                                      flop_per_s, flop_per_s, "bytes_per_s", bytes_per_s, "bytes_interval", bytes_per_s,
                                      bytes_per_s, "triad_bytes", "source", "described");
    json_object_update(self->peak, reported);
    IfmMeasurement *measurement = self->worker->measurement;
    ifm_measurement_describe_build(measurement, ifm_engine_info(self->engine).clock);
    ifm_record_set_text(&measurement->stop_reason, "described");
    ifm_record_set_json(&measurement->result, json_incref(self->peak));
}

/* The best product's samples are the record's. */
static void finish(Limit *self)
{
    Worker *worker = self->worker;
    IfmMeasurement *record = worker->measurement, *best = g_steal_pointer(&self->best);
    json_object_set_new(self->peak, "source", json_string("measured"));
    json_object_set_new(self->peak, "transfers_within", json_boolean(self->info->own_memory));
    gsize i;
    json_t *warning;
    json_array_foreach(json_object_get(best->environment, "warnings"), i, warning)
        json_array_append(json_object_get(record->environment, "warnings"), warning);
    json_object_update_missing(record->environment, best->environment);
    ifm_record_set_json(&best->result, json_incref(self->peak));
    ifm_record_set_json(&best->environment, json_incref(record->environment));
    ifm_record_set_json(&best->effective_config, json_incref(record->effective_config));
    ifm_measurement_free(record);
    worker->measurement = best;
}

static gboolean prepare(Worker *worker, const json_t *request, GError **error)
{
    Limit *self = worker->state = g_new0(Limit, 1);
    self->worker = worker;
    self->began_us = g_get_monotonic_time();
    self->peak_case = worker->spec.data;
    self->memory_bytes = memory_share(json_integer_value(json_object_get(request, "memory_bytes")));
    worker->n_models++;
    return open_device(self, error);
}

static gboolean run(Worker *worker, const json_t *request, GError **error)
{
    Limit *self = worker->state;
    if (self->info->flop_per_s > 0 && self->info->bytes_per_s > 0)
    {
        const gboolean there = worker_still_there(worker, self->engine, self->peak_case->device, error);
        if (there)
            take_description(self);
        return there;
    }
    gboolean loops = !self->info->own_memory && !is_simulated(self);
    if (!worker_go_on(worker, "compiling", 2, error) || !measure_products(self, error) ||
        !(loops ? triad_by_loops : triad_by_engine)(self, error) ||
        !worker_still_there(worker, self->engine, self->peak_case->device, error))
        return FALSE;
    finish(self);
    return TRUE;
}

static const IfmKindInWorker in_worker = { .place = place, .prepare = prepare, .run = run, .drop = drop };

const IfmCaseKind ifm_kind_peak = { .name = "peak",
                                    .size = sizeof(IfmPeakCase),
                                    .fields = fields,
                                    .complete = complete,
                                    .seal = seal,
                                    .in_worker = &in_worker };

/* --- which of two counts -------------------------------------------------------------------------------------------- */

static IfmInterval interval_in(const IfmMeasurement *peak, const char *name)
{
    const json_t *ends = ifm_measurement_result(peak, name), *lower = json_array_get(ends, 0),
                 *upper = json_array_get(ends, 1);
    return (IfmInterval){ json_is_number(lower) ? json_number_value(lower) : (double)NAN,
                          json_is_number(upper) ? json_number_value(upper) : (double)NAN, 0.95 };
}

gboolean ifm_peak_result(const IfmMeasurement *peak, IfmPeakResult *result)
{
    const json_t *reported = ifm_measurement_result(peak, NULL);
    *result = (IfmPeakResult){ .flop_per_s = ifm_member_number(reported, "flop_per_s"),
                               .bytes_per_s = ifm_member_number(reported, "bytes_per_s"),
                               .flop_interval = interval_in(peak, "flop_interval"),
                               .bytes_interval = interval_in(peak, "bytes_interval"),
                               .described = g_strcmp0(ifm_member_text(reported, "source"), "described") == 0 };
    const json_t *caches = json_object_get(reported, "caches");
    for (gsize i = 0; i < json_array_size(caches) && i < IFM_PEAK_MAX_CACHES; i++)
    {
        result->caches[i].bytes = ifm_member_number(json_array_get(caches, i), "bytes");
        result->caches[i].bytes_per_s = ifm_member_number(json_array_get(caches, i), "bytes_per_s");
        result->n_caches = i + 1;
    }
    return isfinite(result->flop_per_s) && isfinite(result->bytes_per_s);
}

gboolean ifm_peak_is_measured(const IfmMeasurement *peak)
{
    IfmPeakResult reported;
    ifm_peak_result(peak, &reported);
    return peak->outcome == IFM_OUTCOME_OK && !reported.described;
}

/* A figure to within a tenth, on a machine that was left alone: what else was running lowers a limit, and nothing raises
 * it. */
#define MAX_OTHERS 0.1

static gboolean is_wide(double value, const IfmInterval *interval)
{
    return !(interval->upper - interval->lower <= MAX_WIDTH * value);
}

char *ifm_peak_doubt(const IfmMeasurement *peak)
{
    IfmPeakResult reported;
    double others_ratio = ifm_member_number(peak->environment, "others_ratio");
    ifm_peak_result(peak, &reported);
    if (!ifm_peak_is_measured(peak))
        return NULL;
    double throttled_ratio = ifm_member_number(peak->environment, "throttled_ratio");
    if (throttled_ratio > MAX_OTHERS)
        return g_strdup("the control group had used up its quota of processor time then");
    if (others_ratio > MAX_OTHERS)
        return g_strdup_printf("other processes used %.0f %% of the processors then", 100 * others_ratio);
    if (is_wide(reported.flop_per_s, &reported.flop_interval) || is_wide(reported.bytes_per_s, &reported.bytes_interval))
        return g_strdup("its runs scattered by more than a tenth");
    return NULL;
}

static double height_of(const IfmMeasurement *peak)
{
    IfmPeakResult reported;
    return ifm_peak_result(peak, &reported) ? reported.flop_per_s * reported.bytes_per_s : 0;
}

gboolean ifm_peak_counts(const IfmMeasurement *peak, const IfmMeasurement *before)
{
    g_autofree char *doubt = ifm_peak_doubt(peak);
    return before == NULL || doubt == NULL || height_of(peak) >= height_of(before);
}
