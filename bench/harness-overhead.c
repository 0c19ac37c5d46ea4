/*
 * What measuring adds to what is measured: the median that ifm_measure_subject() reports against a bare C loop over the
 * same engine call that does nothing between two calls but note the time. Two peers: the request of this library, and, for
 * ONNX Runtime, its own C API with a session of its own. On one pinned thread, interleaved, a model of about 100 us. Each
 * round compiles anew, so that where memory happens to lie counts as scatter and not as a difference. Bound: the ratio is
 * at most 1.01. Fails where its whole 95 % interval lies above that.
 */
#include <dlfcn.h>
#include <math.h>
#include <onnxruntime_c_api.h>
#include <stdio.h>
#include <stdlib.h>

#include <base/base.h>
#include <base/statistics.h>

#include "bench.h"
#include "measure/measure-private.h"

enum
{
    ROUNDS = 30,
    PAIRS = 4,  /* of loops a round */
    RUNS = 200, /* of a loop */
};
static int n_rounds;
#define TARGET_NS 100000.0
#define MAX_RATIO 1.01

static void give_up(const char *what, const GError *error)
{
    fprintf(stderr, "harness-overhead: %s: %s\n", what, error != NULL ? error->message : "failed");
    exit(1);
}

/* --- the bare loops --------------------------------------------------------------------------------------------------- */

typedef struct
{
    gboolean (*call)(void *self);
    void *self;
    double times_ns[RUNS];
} Bare;

/* From the end of one call to the end of the next: what the call takes and one look at the clock, no more. */
static void bare_main(void *user)
{
    Bare *bare = user;
    g_autoptr(IfmClock) clock = ifm_clock_new_real();
    gint64 before_ns = ifm_clock_now_ns(clock);
    for (int i = 0; i < RUNS; i++)
    {
        if (!bare->call(bare->self))
            give_up("a bare call", NULL);
        gint64 now_ns = ifm_clock_now_ns(clock);
        bare->times_ns[i] = (double)(now_ns - before_ns);
        before_ns = now_ns;
    }
}

static gboolean call_request(void *self)
{
    return ifm_request_start(self, NULL, NULL, NULL) && ifm_request_wait(self, IFM_CLOCK_NEVER, NULL);
}

/* ONNX Runtime by its own C API: one session, one input, one output, both ours. */
typedef struct
{
    const OrtApi *api;
    OrtEnv *env;
    OrtMemoryInfo *memory;
    OrtSession *session;
    OrtValue *input, *output;
    const char *input_name, *output_name;
    IfmTensor in, out;
} Raw;

static void raw_check(const Raw *raw, OrtStatus *status)
{
    if (status == NULL)
        return;
    fprintf(stderr, "harness-overhead: %s\n", raw->api->GetErrorMessage(status));
    exit(1);
}

static gboolean call_raw(void *self)
{
    Raw *raw = self;
    return raw->api->Run(raw->session, NULL, &raw->input_name, (const OrtValue *const *)&raw->input, 1, &raw->output_name,
                         1, &raw->output) == NULL;
}

static void raw_open(Raw *raw)
{
    g_autofree char *path = ifm_path_runtime("onnxruntime");
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const OrtApiBase *(*base)(void) = NULL;
    if (library != NULL)
        *(void **)&base = dlsym(library, "OrtGetApiBase");
    raw->api = base != NULL ? base()->GetApi(23) : NULL;
    if (raw->api == NULL)
        give_up(path, NULL);
    raw_check(raw, raw->api->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "bench", &raw->env));
    raw_check(raw, raw->api->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &raw->memory));
}

static OrtValue *raw_value(const Raw *raw, const IfmTensor *tensor)
{
    OrtValue *value;
    raw_check(raw,
              raw->api->CreateTensorWithDataAsOrtValue(raw->memory, tensor->data, tensor->size_bytes, tensor->shape,
                                                       (size_t)tensor->rank, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value));
    return value;
}

static void raw_compile(Raw *raw, IfmModel *model, const char *path)
{
    OrtSessionOptions *options;
    const IfmPort *in = ifm_model_input(model, 0), *out = ifm_model_output(model, 0);
    raw_check(raw, raw->api->CreateSessionOptions(&options));
    raw_check(raw, raw->api->SetIntraOpNumThreads(options, 1));
    raw_check(raw, raw->api->SetSessionGraphOptimizationLevel(options, ORT_ENABLE_ALL));
    raw_check(raw, raw->api->CreateSession(raw->env, path, options, &raw->session));
    raw->api->ReleaseSessionOptions(options);
    if (!ifm_model_make_inputs(model, NULL, 0, 1, &raw->in, NULL) ||
        !ifm_tensor_init(&raw->out, out->dtype, out->rank, out->dims, NULL))
        give_up("tensors", NULL);
    raw->input_name = in->name;
    raw->output_name = out->name;
    raw->input = raw_value(raw, &raw->in);
    raw->output = raw_value(raw, &raw->out);
}

static void raw_release(Raw *raw)
{
    raw->api->ReleaseValue(raw->input);
    raw->api->ReleaseValue(raw->output);
    raw->api->ReleaseSession(raw->session);
    ifm_tensor_clear(&raw->in);
    ifm_tensor_clear(&raw->out);
}

/* --- comparing ----------------------------------------------------------------------------------------------------------
 */

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of(double *values, gsize n)
{
    qsort(values, n, sizeof *values, compare_doubles);
    return ifm_quantile(values, n, 0.5);
}

static void ignore(gsize n, double median_ns, double ci_ratio, void *user)
{
}

static double measured_ns(IfmModelSubject *subject, gsize runs)
{
    IfmSubject slots = ifm_model_subject_slots(subject);
    static const gint never = 0;
    IfmMeasureOptions options = { .protocol = IFM_PROTOCOL_INIT, .interrupted = &never, .progress = ignore };
    options.protocol.warmup = 3;
    options.protocol.runs = runs;
    g_autoptr(IfmMeasurement) measurement = ifm_measurement_new();
    g_autoptr(GError) error = NULL;
    if (!ifm_measure_subject(&slots, &options, measurement, &error))
        give_up("measuring", error);
    return measurement->summary.median;
}

static double bare_ns(IfmModelSubject *subject, gboolean (*call)(void *self), void *self)
{
    Bare bare = { .call = call, .self = self };
    ifm_compiled_invoke(subject->compiled, 0, bare_main, &bare); /* the same pinned thread */
    return median_of(bare.times_ns, RUNS);
}

/* One round: the median of the ratios of neighbouring loops, which of both is first taking turns. */
static double round_ratio(IfmModelSubject *subject, gboolean (*call)(void *self), void *self)
{
    double ratios[PAIRS];
    bare_ns(subject, call, self);
    measured_ns(subject, RUNS);
    for (int pair = 0; pair < PAIRS; pair++)
    {
        double first = pair % 2 == 0 ? bare_ns(subject, call, self) : measured_ns(subject, RUNS);
        double second = pair % 2 == 0 ? measured_ns(subject, RUNS) : bare_ns(subject, call, self);
        ratios[pair] = pair % 2 == 0 ? second / first : first / second;
    }
    return median_of(ratios, PAIRS);
}

static gboolean report(const char *device, const char *peer, double model_ns, double *ratios)
{
    IfmInterval interval;
    double median = median_of(ratios, n_rounds);
    ifm_quantile_interval(ratios, n_rounds, n_rounds, 0.5, 0.95, &interval);
    gboolean good = interval.lower <= MAX_RATIO;
    printf("%-18s model %6.1f us   ours / %-38s %.4f  [%.4f, %.4f]  of %d rounds   bound %.2f: %s\n", device,
           model_ns / 1000, peer, median, interval.lower, interval.upper, n_rounds, MAX_RATIO,
           good ? median <= MAX_RATIO ? "kept" : "not told apart" : "BROKEN");
    return good;
}

/* --- the model ----------------------------------------------------------------------------------------------------------
 */

static IfmModel *build(int size)
{
    g_autofree char *m = g_strdup_printf("m=%d", size), *k = g_strdup_printf("k=%d", size),
                    *n = g_strdup_printf("n=%d", size);
    const char *settings[] = { m, k, n, NULL };
    g_autoptr(GError) error = NULL;
    IfmModel *model = ifm_zoo_build("matmul", settings, 1, &error);
    if (model == NULL)
        give_up("matmul", error);
    return model;
}

static IfmModelSubject *compile(IfmEngine *engine, IfmModel *model, const char *device)
{
    IfmModelCase model_case = { .device = device, .dtype = IFM_DTYPE_F32, .seed = 1 };
    g_autoptr(GError) error = NULL;
    IfmModelSubject *subject = ifm_model_subject_new(engine, model, &model_case, IFM_COMPILE_MEASURED, &error);
    if (subject == NULL)
        give_up(device, error);
    return subject;
}

/* A square MatMul of about the target's time. */
static IfmModel *calibrate(IfmEngine *engine, const char *device, double *ns)
{
    for (int size = 48;; size += 8)
    {
        g_autoptr(IfmModel) model = build(size);
        g_autoptr(IfmModelSubject) subject = compile(engine, model, device);
        *ns = measured_ns(subject, 100);
        if (*ns >= 0.95 * TARGET_NS)
            return g_steal_pointer(&model);
    }
}

static gboolean compare(IfmEngine *engine, const char *device, Raw *raw)
{
    double model_ns, requests[ROUNDS], raws[ROUNDS];
    g_autoptr(IfmModel) model = calibrate(engine, device, &model_ns);
    g_autofree char *folder = g_dir_make_tmp("inferometer-bench-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "matmul.onnx", NULL);
    if (!ifm_model_save(model, path, NULL))
        give_up(path, NULL);
    for (int i = 0; i < n_rounds; i++)
    {
        g_autoptr(IfmModelSubject) subject = compile(engine, model, device);
        requests[i] = round_ratio(subject, call_request, subject->requests[0]);
        if (raw == NULL)
            continue;
        raw_compile(raw, model, path);
        raws[i] = round_ratio(subject, call_raw, raw);
        raw_release(raw);
    }
    remove(path);
    remove(folder);
    gboolean good = report(device, "a bare loop over the same request", model_ns, requests);
    return (raw == NULL || report(device, "a bare loop over the runtime's C API", model_ns, raws)) && good;
}

int main(void)
{
    n_rounds = bench_rounds(ROUNDS, 2);
    static const char *const engines[] = { "onnxruntime", "openvino" };
    gboolean good = TRUE;
    g_setenv("ORT_DISABLE_TELEMETRY", "1", TRUE);
    for (gsize i = 0; i < G_N_ELEMENTS(engines); i++)
    {
        g_autoptr(IfmClock) clock = ifm_clock_new_real();
        g_autoptr(GError) error = NULL;
        g_autoptr(IfmEngine) engine = ifm_engine_open(engines[i], clock, &error);
        g_autofree char *device = g_strdup_printf("%s:CPU@%u", engines[i], g_get_num_processors() - 1);
        Raw raw = { .api = NULL };
        if (engine == NULL)
        {
            printf("%-18s skipped: %s\n", engines[i], error->message);
            continue;
        }
        if (i == 0)
            raw_open(&raw);
        good &= compare(engine, device, i == 0 ? &raw : NULL);
        if (i == 0)
        {
            raw.api->ReleaseMemoryInfo(raw.memory);
            raw.api->ReleaseEnv(raw.env);
        }
    }
    return bench_status(good);
}
