#pragma once
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <base/base.h>
#include <engine/engine.h>

/* What the tests of engines share: a model compiled on a device, a request, its inputs, and what the reference says. */

/* Against onnxruntime:CPU with optimisation off: sums are taken in another order, with fused multiply-adds. */
#define RTOL 1e-4
#define ATOL 1e-5

typedef struct
{
    IfmEngine *engine;
    IfmDeviceSpec *spec;
    IfmModel *model;
    IfmCompiled *compiled;
    IfmRequest *request;
} Fixture;

/* Opens the device's engine; FALSE, the test skipped with the reason, where this machine lacks it. */
static inline gboolean fixture_open(Fixture *fixture, const char *device)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmClock) clock = ifm_clock_new_real();
    *fixture = (Fixture){ .spec = ifm_device_spec_parse(device, &error) };
    g_assert_no_error(error);
    fixture->engine = ifm_engine_open(fixture->spec->engine, clock, &error);
    if (fixture->engine != NULL && ifm_engine_probe_device(fixture->engine, fixture->spec, &error))
    {
        cpu_set_t mask;
        gboolean has_cores = sched_getaffinity(0, sizeof mask, &mask) == 0;
        for (gsize i = 0; i < fixture->spec->n_cores; i++)
            has_cores &= CPU_ISSET(fixture->spec->cores[i], &mask) != 0;
        if (has_cores)
            return TRUE;
        g_set_error(&error, IFM_ERROR, IFM_ERROR_UNAVAILABLE, "%s: this process may not use all of those cores", device);
    }
    g_assert_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE);
    g_test_skip(error->message);
    g_clear_pointer(&fixture->engine, ifm_engine_unref);
    g_clear_pointer(&fixture->spec, ifm_device_spec_free);
    return FALSE;
}

static inline void fixture_compile(Fixture *fixture, IfmModel *model /* (transfer full) */,
                                   const IfmCompileOptions *options)
{
    g_autoptr(GError) error = NULL;
    IfmCompileOptions plain = IFM_COMPILE_OPTIONS_INIT;
    fixture->model = model;
    fixture->compiled =
        ifm_engine_compile(fixture->engine, model, fixture->spec, options != NULL ? options : &plain, &error);
    g_assert_no_error(error);
    fixture->request = ifm_compiled_request(fixture->compiled, 0, &error);
    g_assert_no_error(error);
}

/* A model of the zoo; @settings as one string: "m=3 k=4". */
static inline IfmModel *zoo(const char *name, const char *settings)
{
    g_autoptr(GError) error = NULL;
    g_auto(GStrv) list = g_strsplit(settings, " ", -1);
    IfmModel *model = ifm_zoo_build(name, (const char *const *)list, 11, &error);
    g_assert_no_error(error);
    return model;
}

/* Frees what was compiled; the engine stays open. */
static inline void fixture_drop(Fixture *fixture)
{
    g_clear_pointer(&fixture->request, ifm_request_free);
    g_clear_pointer(&fixture->compiled, ifm_compiled_free);
    g_clear_pointer(&fixture->model, ifm_model_unref);
}

static inline void fixture_close(Fixture *fixture)
{
    fixture_drop(fixture);
    g_clear_pointer(&fixture->engine, ifm_engine_unref);
    g_clear_pointer(&fixture->spec, ifm_device_spec_free);
}

/* The only input, seeded. */
static inline IfmTensor make_input(IfmModel *model, const IfmDimBinding *bindings, gsize n_bindings, guint32 seed)
{
    g_autoptr(GError) error = NULL;
    IfmTensor tensor;
    g_assert_cmpuint(ifm_model_n_inputs(model), ==, 1);
    ifm_model_make_inputs(model, bindings, n_bindings, seed, &tensor, &error);
    g_assert_no_error(error);
    return tensor;
}

static inline void set_input(IfmRequest *request, const IfmTensor *input)
{
    g_autoptr(GError) error = NULL;
    ifm_request_set_input(request, 0, input, &error);
    g_assert_no_error(error);
}

static inline void run(IfmRequest *request)
{
    g_autoptr(GError) error = NULL;
    ifm_request_start(request, NULL, NULL, &error);
    g_assert_no_error(error);
    ifm_request_wait(request, IFM_CLOCK_NEVER, &error);
    g_assert_no_error(error);
}

/* A copy of the first output. */
static inline IfmTensor copy_output(IfmRequest *request)
{
    g_autoptr(GError) error = NULL;
    IfmTensor output, copy;
    ifm_request_output(request, 0, &output, &error);
    g_assert_no_error(error);
    ifm_tensor_init(&copy, output.dtype, output.rank, output.shape, &error);
    g_assert_no_error(error);
    memcpy(copy.data, output.data, output.size_bytes);
    return copy;
}

/* What onnxruntime:CPU with optimisation off answers. */
static inline IfmTensor reference_output(IfmModel *model, const IfmTensor *input)
{
    Fixture fixture;
    IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
    options.optimise = FALSE;
    options.threads = 1;
    options.dtype = ifm_model_input(model, 0)->dtype;
    g_assert_true(fixture_open(&fixture, "onnxruntime:CPU"));
    fixture_compile(&fixture, ifm_model_ref(model), &options);
    set_input(fixture.request, input);
    run(fixture.request);
    IfmTensor output = copy_output(fixture.request);
    fixture_close(&fixture);
    return output;
}

static inline void assert_equal(const IfmTensor *value, const IfmTensor *reference)
{
    IfmTensorDifference worst;
    if (!ifm_tensor_compare(value, reference, RTOL, ATOL, &worst))
        g_error("%" G_GINT64_FORMAT " elements differ, worst %" G_GINT64_FORMAT ": %g, reference %g", worst.n_different,
                worst.worst_index, worst.worst_value, worst.worst_reference);
}

/* Runs @input and compares with the reference. */
static inline void run_and_compare(Fixture *fixture, const IfmTensor *input)
{
    g_auto(IfmTensor) reference = reference_output(fixture->model, input);
    set_input(fixture->request, input);
    run(fixture->request);
    g_auto(IfmTensor) output = copy_output(fixture->request);
    assert_equal(&output, &reference);
}

static inline gboolean can(const Fixture *fixture, guint32 capability)
{
    return (ifm_compiled_info(fixture->compiled).capabilities & capability) != 0;
}
