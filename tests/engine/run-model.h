#pragma once
#include <math.h>

#include "fixture.h"
#include "set-double.h"

/* Running a model that has several inputs and outputs, by name. */
typedef struct
{
    Fixture fixture;
    IfmTensor *inputs; /* [n] */
    gsize n;
} Run;

/* run_open: FALSE: skipped. */
static inline gboolean run_open(Run *run, const char *device)
{
    *run = (Run){ 0 };
    return fixture_open(&run->fixture, device);
}

static inline void run_compile(Run *run, IfmModel *model, IfmDtype dtype, const IfmDimBinding *bindings, gsize n_bindings)
{
    g_autoptr(GError) error = NULL;
    IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
    options.threads = 1;
    options.dtype = dtype;
    fixture_compile(&run->fixture, ifm_model_ref(model), &options);
    run->n = ifm_model_n_inputs(model);
    run->inputs = g_new0(IfmTensor, run->n);
    ifm_model_make_inputs(model, bindings, n_bindings, 3, run->inputs, &error);
    g_assert_no_error(error);
}

static inline IfmTensor *run_find_input(Run *run, const char *name)
{
    for (gsize i = 0; i < run->n; i++)
        if (g_str_equal(ifm_model_input(run->fixture.model, i)->name, name))
            return &run->inputs[i];
    return NULL;
}

static inline IfmTensor *run_input(Run *run, const char *name)
{
    IfmTensor *found = run_find_input(run, name);
    if (found == NULL)
        g_error("no input '%s'", name);
    return found;
}

static inline void run_once(Run *run_of)
{
    g_autoptr(GError) error = NULL;
    for (gsize i = 0; i < run_of->n; i++)
    {
        ifm_request_set_input(run_of->fixture.request, i, &run_of->inputs[i], &error);
        g_assert_no_error(error);
    }
    run(run_of->fixture.request);
}

/* run_output: borrowed until the next run. */
static inline IfmTensor run_output(Run *run, const char *name)
{
    g_autoptr(GError) error = NULL;
    IfmTensor tensor = IFM_TENSOR_INIT;
    for (gsize i = 0; i < ifm_model_n_outputs(run->fixture.model); i++)
        if (g_str_equal(ifm_model_output(run->fixture.model, i)->name, name))
        {
            ifm_request_output(run->fixture.request, i, &tensor, &error);
            g_assert_no_error(error);
            return tensor;
        }
    g_error("no output '%s'", name);
}

static inline void run_drop(Run *run)
{
    for (gsize i = 0; i < run->n; i++)
        ifm_tensor_clear(&run->inputs[i]);
    g_clear_pointer(&run->inputs, g_free);
    run->n = 0;
    fixture_drop(&run->fixture);
}

static inline void run_close(Run *run)
{
    run_drop(run);
    fixture_close(&run->fixture);
}
