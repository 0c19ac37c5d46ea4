/*
 * The libFuzzer target of programs of regions (blocked/region.h), and (compiled into tests/blocked/test-fuzz-region.c) the
 * same entry for the corpus. Whatever the bytes are, they are a program or one line says why not; a program runs on small
 * inputs, or one line says why it cannot.
 */
#include <blocked/region.h>

#include "fuzz.h"

#define MOST_BYTES ((size_t)1 << 20)
#define MOST_VALUES 8

static const float numbers[16 * 16 * 9] = { 1, -2, 0.5F };
static const IfmRegionConstant constants[] = {
    { 4, { 16, 8, 3, 3 }, numbers }, { 1, { 16 }, numbers },           { 4, { 8, 1, 3, 3 }, numbers },
    { 4, { 5, 8, 1, 1 }, numbers },  { 4, { 16, 16, 1, 1 }, numbers }, { 1, { 8 }, numbers },
};

static void must_fail(const IfmBlockedError *error)
{
    must(error->code != IFM_BLOCKED_OK && error->text[0] != '\0' && strchr(error->text, '\n') == NULL);
    must(g_utf8_validate(error->text, -1, NULL));
}

/* Outputs of just their sizes, so that ASan sees their ends. */
static void run_region(IfmRegionRun *run, size_t n_inputs, size_t n_outputs)
{
    static float input[8 * 16 * 8 * 8];
    const float *inputs[MOST_VALUES];
    float *outputs[MOST_VALUES] = { NULL };
    size_t n_bytes = 0;
    for (size_t i = 0; i < n_inputs; i++)
        inputs[i] = input;
    for (size_t i = 0; i < n_outputs; i++)
    {
        int64_t shape[4];
        ifm_region_output_shape(run, i, shape);
        const double size = (double)(shape[0] * shape[1]) * (double)(shape[2] * shape[3]) * sizeof(float);
        must(size > 0);
        n_bytes = size < MOST_BYTES ? MAX(n_bytes, (size_t)size) : MOST_BYTES;
        outputs[i] = size < MOST_BYTES ? g_malloc((size_t)size) : NULL;
    }
    if (n_bytes < MOST_BYTES)
        ifm_region_run(run, inputs, outputs, NULL, NULL);
    for (size_t i = 0; i < n_outputs; i++)
        g_free(outputs[i]);
}

static void take(IfmRegion *region)
{
    const size_t n_inputs = ifm_region_n_inputs(region), n_outputs = ifm_region_n_outputs(region);
    int64_t shapes[MOST_VALUES][4];
    if (n_inputs > MOST_VALUES || n_outputs > MOST_VALUES)
        return;
    for (size_t i = 0; i < n_inputs; i++)
        memcpy(shapes[i], (const int64_t[]){ 1 + (int64_t)(i % 2), 8, 7, 8 }, sizeof(shapes[i]));
    for (int is_equal = 0; is_equal < 2; is_equal++)
    {
        IfmBlockedError error = { 0 };
        for (size_t i = 0; is_equal && i < n_inputs; i++)
            shapes[i][0] = 1;
        IfmRegionRun *run = ifm_region_take(region, (const int64_t(*)[4])shapes, &error);
        if (run == NULL)
        {
            must_fail(&error);
            continue;
        }
        run_region(run, n_inputs, n_outputs);
        ifm_region_give_back(region, run);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const IfmRegionOptions options = { .max_isa = "portable", .max_bytes = MOST_BYTES };
    IfmBlockedError error = { 0 };
    g_autofree char *program = g_strndup((const char *)data, size);
    IfmRegion *region = ifm_region_new(program, constants, G_N_ELEMENTS(constants), &options, &error);
    if (region == NULL)
        must_fail(&error);
    else
        take(region);
    ifm_region_free(region);
    return 0;
}
