/*
 * record-series WHAT N: prints N latencies in ns, one a line, of runs one after another from the very first, with no
 * warm-up. WHAT: gemm | copy | DEVICE (the zoo's small-cnn there). That is how the series in bench/data/ were made; each
 * says where.
 */
#include <base/base.h>
#include <engine/engine.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum
{
    GEMM_SIZE = 88,       /* about 100 us of plain C */
    COPY_BYTES = 4 << 20, /* past the first and the second cache */
};

typedef struct
{
    IfmClock *clock;
    gint64 *samples;
    gsize n;
    void (*run)(void *self);
    void *self;
} Recording;

/* No print, no allocation between the runs. */
static void record(void *user)
{
    Recording *recording = user;
    for (gsize i = 0; i < recording->n; i++)
    {
        gint64 start_ns = ifm_clock_now_ns(recording->clock);
        recording->run(recording->self);
        recording->samples[i] = ifm_clock_now_ns(recording->clock) - start_ns;
    }
}

static float gemm_a[GEMM_SIZE][GEMM_SIZE], gemm_b[GEMM_SIZE][GEMM_SIZE], gemm_c[GEMM_SIZE][GEMM_SIZE];

static void run_gemm(void *self)
{
    __asm__ volatile("" : : "g"(gemm_a), "g"(gemm_b) : "memory"); /* the inputs may be anything */
    for (int i = 0; i < GEMM_SIZE; i++)
        for (int j = 0; j < GEMM_SIZE; j++)
        {
            float sum = 0;
            for (int k = 0; k < GEMM_SIZE; k++)
                sum += gemm_a[i][k] * gemm_b[k][j];
            gemm_c[i][j] = sum;
        }
    __asm__ volatile("" : : "g"(gemm_c) : "memory"); /* the result is wanted */
}

static void run_copy(void *self)
{
    char *bytes = self;
    memcpy(bytes, bytes + COPY_BYTES, COPY_BYTES);
    __asm__ volatile("" : : "g"(bytes) : "memory");
}

static void run_model(void *self)
{
    GError *error = NULL;
    if (!ifm_request_start(self, NULL, NULL, &error) || !ifm_request_wait(self, IFM_CLOCK_NEVER, &error))
        g_error("%s", error->message);
}

/* Compiles the model on the device and records on the thread that executes it. */
static gboolean record_device(Recording *recording, const char *device, GError **error)
{
    IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
    g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse(device, error);
    g_autoptr(IfmEngine) engine = spec ? ifm_engine_open(spec->engine, recording->clock, error) : NULL;
    g_autoptr(IfmModel) model = engine ? ifm_zoo_build("small-cnn", NULL, 1, error) : NULL;
    g_autoptr(IfmCompiled) compiled = model ? ifm_engine_compile(engine, model, spec, &options, error) : NULL;
    g_autoptr(IfmRequest) request = compiled ? ifm_compiled_request(compiled, 0, error) : NULL;
    g_auto(IfmTensor) input = { 0 };
    if (!request || !ifm_model_make_inputs(model, NULL, 0, 1, &input, error) ||
        !ifm_request_set_input(request, 0, &input, error))
        return FALSE;
    recording->run = run_model;
    recording->self = request;
    ifm_compiled_invoke(compiled, 0, record, recording);
    return TRUE;
}

int main(int argc, char **argv)
{
    gsize n = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
    if (n == 0 || n > 1000000)
    {
        fputs("usage: record-series gemm|copy|DEVICE N\n", stderr);
        return 2;
    }
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmClock) clock = ifm_clock_new_real();
    g_autofree gint64 *samples = g_new0(gint64, n);
    g_autofree char *bytes = g_malloc0(2 * COPY_BYTES);
    Recording recording = { .clock = clock, .samples = samples, .n = n, .run = run_gemm };
    if (strcmp(argv[1], "copy") == 0)
    {
        recording.run = run_copy;
        recording.self = bytes;
        record(&recording);
    }
    else if (strcmp(argv[1], "gemm") == 0)
        record(&recording);
    else if (!record_device(&recording, argv[1], &error))
    {
        fprintf(stderr, "record-series: %s\n", error->message);
        return 1;
    }
    for (gsize i = 0; i < n; i++)
        printf("%" G_GINT64_FORMAT "\n", samples[i]);
    return 0;
}
