#include <malloc.h>
#include <math.h>

#include <base/fields.h>
#include <profile/figures.h>

/* What a profile's models and runs take of memory: by the shapes, as it was measured, and by closed forms. */

static void add_row(GArray *rows, const char *of, const char *key, const char *name, double bytes, const char *meaning)
{
    IfmMemoryRow row = { of, key, name, meaning, bytes };
    if (isfinite(bytes))
        g_array_append_val(rows, row);
}

double ifm_memory_row_bytes(const GArray *rows, const char *key)
{
    for (guint i = 0; i < rows->len; i++)
        if (g_str_equal(g_array_index(rows, IfmMemoryRow, i).key, key))
            return g_array_index(rows, IfmMemoryRow, i).bytes;
    return NAN;
}

/* What a training keeps: the weights and the optimiser's state are inputs and outputs of a step, and no parameters of it.
 */
static void add_training_memory(GArray *rows, const IfmProfileMode *mode)
{
    add_row(rows, "", "parameters", "parameters", (double)mode->parameter_bytes, "weights, as the model stores them");
    add_row(rows, "", "activations_held", "activations, held", (double)mode->held_bytes,
            "alive when the backward pass begins, inputs too");
    add_row(rows, "", "gradients", "gradients", (double)mode->gradient_bytes, "of the weights, all together");
    if (mode->optimiser != NULL)
        add_row(rows, "", "optimizer_state", "optimiser's state", (double)mode->state_bytes,
                "what it keeps from step to step");
}

/* Of a graph transformer. */
static void add_attention(GArray *rows, const IfmProfileReport *report)
{
    gint64 bytes, alive;
    if (report->graph == NULL)
        return;
    const IfmTransformer *transformer = report->graph->transformer;
    gboolean trains = ifm_model_producer(report->model, "loss") >= 0; /* what a backward pass reads is kept until then */
    gint64 layers = trains ? transformer->sizes.num_layers : MIN(transformer->sizes.num_layers, 1);
    if (ifm_transformer_attention_bytes(transformer, trains, &bytes, NULL))
        add_row(rows, "", "attention_estimated", "attention, estimated", (double)bytes * (double)layers,
                trains ? "every layer's scores and their softmax, by the closed form"
                       : "one layer's scores, by the closed form");
    if ((alive = ifm_attention_alive_bytes(report->model, report->analysis)) >= 0)
        add_row(rows, "", "attention_planned", "attention, minimum", (double)alive,
                "maximum of what attention keeps alive at once, by the shapes");
}

static void add_model_memory(GArray *rows, const IfmProfileReport *report)
{
    g_auto(IfmMemoryPlan) plan = { 0 };
    ifm_analysis_memory(report->analysis, &plan);
    if (report->mode != NULL)
        add_training_memory(rows, report->mode);
    else
        add_row(rows, "", "parameters", "parameters", (double)plan.parameter_bytes, "weights, as the model stores them");
    add_row(rows, "", "activations_min", "activations, minimum", (double)plan.peak_bytes,
            "maximum alive at once, by the shapes");
    add_row(rows, "", "activations_placed", "activations, placed", (double)plan.arena_bytes,
            "the same in one arena, placed greedily");
    if (report->mode == NULL)
        add_row(rows, "", "activations_kept", "activations, all kept",
                (double)plan.input_bytes + (double)plan.activation_bytes, "inputs too, none freed, as for a backward pass");
    add_attention(rows, report);
}

static void add_device_memory(GArray *rows, const IfmProfileDevice *device)
{
    const IfmMeasurement *measurement = ifm_result_measured(&device->result);
    const char *of = ifm_result_name(&device->result);
    const json_t *memory = measurement != NULL ? measurement->memory : NULL;
    static const struct
    {
        const char *path, *key, *name, *meaning;
    } figures[] = {
        { "engine.in_use_bytes", "engine_in_use", "allocator, in use", "the runtime's own count, after the runs" },
        { "engine.peak_bytes", "engine_peak", "allocator, peak", "the maximum it held" },
        { "engine.reserved_bytes", "engine_reserved", "allocator, reserved", "taken from the system for that" },
        { "device.in_use_bytes", "device_in_use", "device memory, in use", "the same of the device's own memory" },
        { "device.peak_bytes", "device_peak", "device memory, peak", "the maximum it held there" },
        { "device.reserved_bytes", "device_reserved", "device memory, reserved", "taken of it for that" },
        { "process.growth_compile_bytes", "process_compiling", "process, compiling",
          "its process's peak, minus before compiling" },
        { "process.growth_runs_bytes", "process_running", "process, running", "its peak while it ran, minus the same" },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(figures); i++)
        add_row(rows, of, figures[i].key, figures[i].name, ifm_member_number(memory, figures[i].path), figures[i].meaning);
}

GArray *ifm_profile_memory_rows(const IfmProfileReport *report, const IfmProfileDevice *device)
{
    GArray *rows = g_array_new(FALSE, FALSE, sizeof(IfmMemoryRow));
    if (device != NULL)
        add_device_memory(rows, device);
    else if (report->analysis != NULL)
        add_model_memory(rows, report);
    return rows;
}

/* --- the peak --------------------------------------------------------------------------------------------------------- */

/* The peak: the first of these that there is. An allocator's own count does not include the model's weights, which a
 * runtime maps or packs elsewhere. */
static const struct
{
    const char *key, *words;
    gboolean beside_parameters;
} peaks[] = {
    { "device_peak", "measured: the runtime's allocator of device memory", FALSE },
    { "process_running", "measured: growth of the process", FALSE },
    { "engine_peak", "measured: the parameters and the runtime's allocator", TRUE },
};

double ifm_profile_peak(const IfmProfileReport *report, const IfmProfileDevice *device, const char **of)
{
    g_autoptr(GArray) measured = device != NULL ? ifm_profile_memory_rows(report, device) : NULL;
    g_auto(IfmMemoryPlan) plan = { 0 };
    *of = NULL;
    if (report->analysis != NULL)
        ifm_analysis_memory(report->analysis, &plan);
    for (gsize i = 0; i < G_N_ELEMENTS(peaks) && measured != NULL; i++)
    {
        double peak =
            ifm_memory_row_bytes(measured, peaks[i].key) + (peaks[i].beside_parameters ? (double)plan.parameter_bytes : 0);
        if (!isfinite(peak))
            continue;
        *of = peaks[i].words;
        return peak;
    }
    if (report->analysis == NULL)
        return NAN;
    *of = "planned: parameters and the maximum of activations alive at once, by the model's shapes";
    return (double)plan.parameter_bytes + (double)plan.peak_bytes;
}

/* --- encodings -------------------------------------------------------------------------------------------------------- */

static double bytes_held(const void *memory)
{
    return memory != NULL ? (double)malloc_usable_size((void *)memory) : 0;
}

GArray *ifm_profile_storage_rows(const IfmProfileGraph *of)
{
    const IfmTransformerSizes *sizes = &of->transformer->sizes;
    const IfmEncoding *encoding = of->encoding;
    GArray *found = g_array_new(FALSE, FALSE, sizeof(IfmStorageRow));
    IfmEncodingStorage storage;
    if (of->encoding_name == NULL ||
        !ifm_estimate_encoding_storage(sizes->num_nodes, sizes->num_edges, sizes->pe_dim, &storage, NULL))
        return found;
    const IfmStorageRow rows[] = {
        { "node", "of nodes", (double)storage.node, encoding != NULL ? bytes_held(encoding->values) : (double)NAN },
        { "relative_dense", "relative, of all pairs", (double)storage.relative_dense, NAN },
        { "relative_sparse", "relative, of edges", (double)storage.relative_sparse, NAN },
        { "eigenvalues", "eigenvalues, with it", (double)(8 * of->transformer->num_graphs * sizes->pe_dim),
          encoding != NULL ? bytes_held(encoding->eigenvalues) : 0 },
    };
    gboolean has_eigenvalues = encoding != NULL && encoding->eigenvalues != NULL;
    g_array_append_vals(found, rows, G_N_ELEMENTS(rows) - !has_eigenvalues);
    return found;
}

gboolean ifm_is_as_estimated(double estimated, double held)
{
    double page = 4096, rounding = estimated < 32 * page ? 32 : 2 * page; /* of the C library's malloc */
    return held >= estimated && held <= estimated + rounding;
}
