#include <math.h>
#include <string.h>

#include <base/fields.h>
#include <inferometer/engine.h>

#include "figures.h"
#include "profile-page-private.h"

/*
 * A profile as a document. At its top stand the keys of published profiles, of the first device that was measured, in their
 * units (ms, MB of 2^20 bytes, GFLOP); with them the document of cases, as a store exports it, each case with what
 * profiling adds. docs/formats.md lists them.
 */

static const IfmProfileDevice *first_measured(const IfmProfileReport *report)
{
    for (gsize i = 0; i < report->n_devices; i++)
        if (ifm_result_measured(&report->devices[i].result) != NULL)
            return &report->devices[i];
    return NULL;
}

/* --- the published keys ---------------------------------------------------------------------------------------------- */

static json_t *timestamp(gint64 unix_ms)
{
    g_autoptr(GDateTime) time = g_date_time_new_from_unix_utc(unix_ms / 1000);
    g_autofree char *text = time != NULL ? g_date_time_format(time, "%Y-%m-%dT%H:%M:%SZ") : NULL;
    return text != NULL ? json_string(text) : json_null();
}

static json_t *shared(const json_t *json)
{
    return json != NULL ? json_incref((json_t *)json) : json_null();
}

/* A graphics processor, whatever the runtime calls the unit. */
static gboolean is_gpu(const IfmProfileDevice *device)
{
    static const char *const units[] = { "GPU", "CUDA", "TensorRT", "MIGraphX", "ROCM", "DML", NULL };
    g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse(device->result.device, NULL);
    const char *unit = spec != NULL ? strrchr(spec->unit, '/') : NULL; /* of a simulated one: MACHINE/UNIT */
    return spec != NULL && g_strv_contains(units, unit != NULL ? unit + 1 : spec->unit);
}

/* What the first graphics processor that was measured is; NULL where none was, or its runtime reports nothing. */
static const json_t *gpu_of(const IfmProfileReport *report)
{
    for (gsize i = 0; i < report->n_devices; i++)
    {
        const IfmMeasurement *measurement = ifm_result_measured(&report->devices[i].result);
        if (measurement != NULL && is_gpu(&report->devices[i]))
            return json_object_get(measurement->environment, "hardware");
    }
    return NULL;
}

/* Whether one of the measured devices is a CUDA one; no runtime here reports more of another. @device: NULL: none ran, and
 * nothing was looked at */
static json_t *hardware(const IfmProfileReport *report, const IfmProfileDevice *device)
{
    const IfmMeasurement *measurement = device != NULL ? device->result.measurement : NULL;
    const json_t *machine = measurement != NULL ? json_object_get(measurement->environment, "machine") : NULL;
    gboolean cuda = FALSE;
    for (gsize i = 0; device != NULL && i < report->n_devices; i++)
        cuda |= strstr(report->devices[i].result.device, ":CUDA") != NULL &&
                ifm_result_measured(&report->devices[i].result) != NULL;
    const json_t *gpu = device != NULL ? gpu_of(report) : NULL;
    json_t *json = json_object();
    json_object_set_new(json, "cuda_available", device != NULL ? json_boolean(cuda) : json_null());
    json_object_set_new(json, "gpu_name", shared(json_object_get(gpu, "name")));
    json_object_set_new(json, "gpu_memory_gb", ifm_json_real(ifm_member_number(gpu, "memory_bytes") / (1024 * MB)));
    json_object_set_new(json, "cpu", shared(json_object_get(machine, "cpu")));
    json_object_set_new(json, "cores", shared(json_object_get(machine, "cores")));
    json_object_set_new(json, "memory_gb", ifm_json_real(ifm_member_number(machine, "memory_bytes") / (1024 * MB)));
    json_object_set_new(json, "machine", shared(json_object_get(machine, "id")));
    return json;
}

static json_t *inputs_to_json(const IfmProfileReport *report, const IfmModel *model)
{
    json_t *inputs = json_array();
    for (gsize i = 0; i < ifm_model_n_inputs(model); i++)
    {
        const IfmPort *port = ifm_model_input(model, i);
        gint64 shape[IFM_MAX_RANK];
        json_t *dims = json_array();
        gboolean bound = port->rank >= 0 && ifm_port_bind(port, report->bindings, report->n_bindings, shape, NULL);
        for (int axis = 0; bound && axis < port->rank; axis++)
            json_array_append_new(dims, json_integer(shape[axis]));
        json_t *input = json_object();
        json_object_set_new(input, "name", ifm_json_string(port->name));
        json_object_set_new(input, "dtype", json_string(ifm_dtype_name(port->dtype)));
        json_object_set_new(input, "shape", dims);
        json_array_append_new(inputs, input);
    }
    return inputs;
}

static json_t *stored_to_json(const IfmModel *model)
{
    g_autoptr(GArray) stored = ifm_model_stored(model);
    json_t *json = json_array();
    for (guint i = 0; i < stored->len; i++)
    {
        const IfmStoredType *row = &g_array_index(stored, IfmStoredType, i);
        json_array_append_new(json, json_pack("{s:s,s:I,s:I,s:I,s:I}", "dtype", row->dtype, "tensors",
                                              (json_int_t)row->n_tensors, "elements", (json_int_t)row->n_elements, "bytes",
                                              (json_int_t)row->bytes, "parameters", (json_int_t)row->n_parameters));
    }
    return json;
}

/* Of the model that was given: what a mode makes of it has other inputs. */
static json_t *model_info(const IfmProfileReport *report)
{
    g_auto(IfmMemoryPlan) plan = { 0 };
    IfmModel *model = report->mode != NULL ? report->mode->model : report->model;
    const IfmAnalysis *analysis = report->mode != NULL ? report->mode->analysis : report->analysis;
    if (model == NULL)
        return json_null();
    if (analysis != NULL)
        ifm_analysis_memory(analysis, &plan);
    json_t *json = json_object();
    json_object_set_new(json, "total_parameters", json_integer(ifm_model_n_trainable(model)));
    json_object_set_new(json, "parameter_memory_mb",
                        analysis != NULL ? ifm_json_real((double)plan.parameter_bytes / MB) : json_null());
    json_object_set_new(json, "name", ifm_json_string(ifm_model_name(model)));
    json_object_set_new(json, "source", ifm_json_string(report->source));
    json_object_set_new(json, "opset", json_integer(ifm_model_opset(model)));
    json_object_set_new(json, "nodes", json_integer((json_int_t)ifm_model_n_nodes(model)));
    json_object_set_new(json, "elements", json_integer(ifm_model_n_parameters(model)));
    json_object_set_new(json, "dtype", json_string(ifm_dtype_name(ifm_model_dtype(model))));
    json_object_set_new(json, "stored", stored_to_json(model));
    json_object_set_new(json, "inputs", inputs_to_json(report, model));
    return json;
}

static json_t *rows_to_json(const GArray *rows)
{
    json_t *json = json_object();
    for (guint i = 0; i < rows->len; i++)
    {
        const IfmMemoryRow *row = &g_array_index(rows, IfmMemoryRow, i);
        g_autofree char *key = g_strconcat(row->key, "_bytes", NULL);
        json_object_set_new(json, key, json_integer((json_int_t)row->bytes));
    }
    return json;
}

#define MODE(member) IFM_MEMBER(IfmProfileMode, member, .per = MB)

static const IfmField mode_memory_fields[] = {
    { "parameters", NULL, IFM_FIELD_REAL, MODE(parameter_bytes) },
    { "activations", NULL, IFM_FIELD_REAL, MODE(held_bytes) },
    { "gradients", NULL, IFM_FIELD_REAL, MODE(gradient_bytes) },
    { "optimizer_state", NULL, IFM_FIELD_REAL, MODE(state_bytes) },
    { NULL },
};

static json_t *breakdown(const IfmProfileReport *report, const GArray *planned)
{
    if (report->mode != NULL)
        return ifm_row_to_json(mode_memory_fields, report->mode);
    json_t *json = json_object();
    json_object_set_new(json, "parameters", ifm_json_real(ifm_memory_row_bytes(planned, "parameters") / MB));
    json_object_set_new(json, "activations", ifm_json_real(ifm_memory_row_bytes(planned, "activations_min") / MB));
    return json;
}

static json_t *memory_to_json(const IfmProfileReport *report, const IfmProfileDevice *device)
{
    g_autoptr(GArray) planned = ifm_profile_memory_rows(report, NULL);
    g_autoptr(GArray) measured = device != NULL ? ifm_profile_memory_rows(report, device) : NULL;
    const char *of;
    double peak = ifm_profile_peak(report, device, &of);
    json_t *json = json_object();
    json_object_set_new(json, "peak_mb", ifm_json_real(peak / MB));
    json_object_set_new(json, "peak_of", ifm_json_text(of));
    json_object_set_new(json, "breakdown", breakdown(report, planned));
    json_object_set_new(json, "planned", rows_to_json(planned));
    json_object_set_new(json, "measured", measured != NULL ? rows_to_json(measured) : json_null());
    return json;
}

#define COVERAGE(member) IFM_MEMBER(IfmCoverage, member)

static const IfmField coverage_fields[] = {
    { "nodes", NULL, IFM_FIELD_INTEGER, COVERAGE(n_nodes) },
    { "nodes_covered", NULL, IFM_FIELD_INTEGER, COVERAGE(n_covered) },
    { "mac_nodes", NULL, IFM_FIELD_INTEGER, COVERAGE(n_mac_nodes) },
    { "mac_nodes_covered", NULL, IFM_FIELD_INTEGER, COVERAGE(n_mac_covered) },
    { "tensors_observed", NULL, IFM_FIELD_INTEGER, COVERAGE(n_observed) },
    { NULL },
};

static json_t *coverage_to_json(const IfmProfileReport *report)
{
    g_auto(IfmCoverage) coverage = { 0 };
    ifm_analysis_coverage(report->analysis, &coverage);
    json_t *missing = json_array();
    for (guint i = 0; coverage.missing != NULL && i < coverage.missing->len; i++)
        json_array_append_new(missing, ifm_json_string(coverage.missing->pdata[i]));
    json_t *json = ifm_row_to_json(coverage_fields, &coverage);
    json_object_set_new(json, "observed_on", ifm_json_text(report->observed_on));
    json_object_set_new(json, "missing", missing);
    return json;
}

json_t *ifm_profile_flop_breakdown(const IfmProfileReport *report)
{
    json_t *breakdown = ifm_profile_part_flops(report);
    if (breakdown != NULL)
        return breakdown;
    breakdown = json_object();
    for (int family = 0; family < IFM_N_FAMILIES; family++)
    {
        IfmNodeCost part;
        gsize n_covered;
        ifm_analysis_family_total(report->analysis, (IfmNodeFamily)family, &part, &n_covered);
        if (n_covered > 0)
            json_object_set_new(breakdown, ifm_family_name((IfmNodeFamily)family), ifm_json_real((double)part.flop / 1e9));
    }
    return breakdown;
}

/* A total is of all nodes, or null: what is not covered may be anything. Of MACs: of all nodes that may have some. */
static json_t *flops_to_json(const IfmProfileReport *report)
{
    if (report->analysis == NULL)
        return json_null();
    IfmNodeCost total;
    gsize n_covered;
    g_auto(IfmCoverage) coverage = { 0 };
    json_t *conventions = json_array();
    ifm_analysis_total(report->analysis, &total, &n_covered);
    ifm_analysis_coverage(report->analysis, &coverage);
    gboolean all = coverage.n_covered == coverage.n_nodes, all_macs = coverage.n_mac_covered == coverage.n_mac_nodes;
    for (const char *const *line = ifm_cost_conventions(); *line != NULL; line++)
        json_array_append_new(conventions, ifm_json_string(*line));
    json_t *json = json_object();
    json_object_set_new(json, "total_gflops", ifm_json_real(all ? (double)total.flop / 1e9 : (double)NAN));
    json_object_set_new(json, "total_macs", all_macs ? json_integer(total.macs) : json_null());
    json_object_set_new(json, "total_flop", all ? json_integer(total.flop) : json_null());
    json_object_set_new(json, "counted", json_string(total.is_upper_bound ? "at most" : "exact"));
    json_object_set_new(json, "covered_macs", json_integer(total.macs));
    json_object_set_new(json, "covered_flop", json_integer(total.flop));
    json_object_set_new(json, "breakdown", ifm_profile_flop_breakdown(report));
    json_object_set_new(json, "coverage", coverage_to_json(report));
    json_object_set_new(json, "conventions", conventions);
    return json;
}

/* --- what profiling adds to a case ----------------------------------------------------------------------------------- */

static json_t *peak_to_json(const IfmProfileDevice *device)
{
    const json_t *peak = ifm_measurement_result(device->peak, NULL);
    if (peak == NULL && device->no_peak == NULL)
        return json_null();
    json_t *json = peak != NULL ? json_deep_copy(peak) : json_object();
    if (peak != NULL)
        json_object_set_new(json, "doubt", ifm_json_text(device->peak_doubt));
    else
        json_object_set_new(json, "why", ifm_json_string(device->no_peak));
    return json;
}

#define KERNELS(member) IFM_MEMBER(IfmKernels, member)

static const IfmField kernels_fields[] = {
    { "mapped_by", NULL, IFM_FIELD_TEXT, KERNELS(reported_by) },
    { "n_by_names", NULL, IFM_FIELD_INTEGER, KERNELS(n_by_names) },
    { "why_names", NULL, IFM_FIELD_TEXT, KERNELS(why_names) },
    { "nodes_ns", NULL, IFM_FIELD_DURATION, KERNELS(nodes_ns) },
    { "min_ns", NULL, IFM_FIELD_DURATION, KERNELS(min_ns) },
    { "n_unknown", NULL, IFM_FIELD_INTEGER, KERNELS(n_unknown) },
    { "n_marshalling", NULL, IFM_FIELD_INTEGER, KERNELS(n_marshalling) },
    { "n_upper_bounds", NULL, IFM_FIELD_INTEGER, KERNELS(n_upper_bounds) },
    { "unknown_ratio", NULL, IFM_FIELD_RATIO, KERNELS(unknown_ratio) },
    { "n_model_missing", NULL, IFM_FIELD_INTEGER, KERNELS(n_model_missing) },
    { "missing_ratio", NULL, IFM_FIELD_RATIO, KERNELS(missing_ratio) },
    { NULL },
};

static json_t *layers_to_json(const IfmKernels *kernels)
{
    g_autoptr(GArray) kinds = ifm_kernels_families(kernels);
    g_autoptr(GPtrArray) families = ifm_pointers_to(kinds);
    json_t *json = ifm_row_to_json(kernels_fields, kernels);
    json_object_set_new(json, "rows", ifm_rows_to_json(ifm_kernel_fields, kernels->rows));
    json_object_set_new(json, "families", ifm_rows_to_json(ifm_kernel_family_fields, families));
    return json;
}

static void add_parts(json_t *entry, const IfmProfileReport *report, const IfmProfileDevice *device)
{
    g_autoptr(IfmKernels) kernels = (report->parts & IFM_PROFILE_LAYERS) != 0 ? ifm_profile_kernels(report, device) : NULL;
    if (report->mode != NULL)
        json_object_set_new(entry, "pass", json_string(ifm_pass_key(report->mode->asked)));
    json_object_set_new(entry, "runtime", ifm_profile_runtime(report, device));
    if ((report->parts & IFM_PROFILE_MEMORY) != 0)
        json_object_set_new(entry, "memory", memory_to_json(report, device));
    if ((report->parts & IFM_PROFILE_LAYERS) == 0)
        return;
    if (device->nodes != NULL)
        json_object_set(entry, "nodes_in_rounds", device->nodes);
    json_object_set_new(entry, "peak", peak_to_json(device));
    IfmTiming timing;
    ifm_timing_of(device->result.measurement, &timing);
    json_object_set_new(entry, "attained_ratio", ifm_json_real(ifm_profile_attained(kernels, timing.median_ns)));
    json_object_set_new(entry, "layers", kernels != NULL ? layers_to_json(kernels) : json_null());
    if (report->graph != NULL && kernels != NULL)
        json_object_set_new(entry, "parts", ifm_profile_parts_to_json(report, kernels));
}

/* The cases of the other passes; their further figures are with the pass that was asked for. */
static void add_other_passes(json_t *cases, const IfmProfileReport *report)
{
    for (int kind = 0; report->mode != NULL && kind < IFM_N_PASSES; kind++)
    {
        const IfmProfileReport *pass = kind != (int)report->mode->asked ? report->mode->passes[kind] : NULL;
        for (gsize i = 0; pass != NULL && i < pass->n_devices; i++)
        {
            json_t *entry = ifm_result_to_json(&pass->devices[i].result);
            json_object_set_new(entry, "pass", json_string(ifm_pass_key(kind)));
            if ((report->parts & IFM_PROFILE_MEMORY) != 0)
                json_object_set_new(entry, "memory", memory_to_json(pass, &pass->devices[i]));
            json_array_append_new(cases, entry);
        }
    }
}

static json_t *mode_to_json(const IfmProfileMode *mode)
{
    gboolean trains = mode->optimiser != NULL;
    json_t *json = json_object();
    json_object_set_new(json, "mode", json_string(trains ? "train" : "backward"));
    json_object_set_new(json, "loss", json_string(mode->loss));
    json_object_set_new(json, "optimiser", ifm_json_text(mode->optimiser));
    json_object_set_new(json, "learning_rate", trains ? ifm_json_real(mode->learning_rate) : json_null());
    json_object_set_new(json, "forward", ifm_json_text(mode->forward_words));
    return json;
}

/* The published figures are of the forward pass; those of each pass are added. */
static json_t *flops_of_passes(const IfmProfileReport *report)
{
    if (report->mode == NULL)
        return flops_to_json(report);
    json_t *json = flops_to_json(report->mode->passes[IFM_PASS_FORWARD]);
    if (json_is_object(json))
        json_object_set_new(json, "passes", ifm_profile_pass_flops(report));
    return json;
}

json_t *ifm_profile_to_json(const IfmProfileReport *report)
{
    const IfmProfileDevice *first = first_measured(report);
    json_t *cases = json_array();
    for (gsize i = 0; i < report->n_devices; i++)
    {
        json_t *entry = ifm_result_to_json(&report->devices[i].result);
        add_parts(entry, report, &report->devices[i]);
        json_array_append_new(cases, entry);
    }
    add_other_passes(cases, report);
    json_t *json = ifm_json_begin("cases", 2);
    json_object_set_new(json, "timestamp", timestamp(report->unix_ms));
    json_object_set_new(json, "hardware", hardware(report, first));
    json_object_set_new(json, "model_info", model_info(report));
    if (report->n_devices > 0)
        json_object_set_new(json, "runtime", ifm_profile_runtime(report, first));
    if (report->mode != NULL)
        json_object_set_new(json, "mode", mode_to_json(report->mode));
    if ((report->parts & IFM_PROFILE_MEMORY) != 0)
        json_object_set_new(json, "memory", memory_to_json(report, first));
    if ((report->parts & IFM_PROFILE_FLOPS) != 0)
    {
        json_object_set_new(json, "flops", flops_of_passes(report));
        if (report->graph != NULL)
            json_object_set_new(
                json_object_get(json, "flops"), "closed_form",
                ifm_profile_closed_form_to_json(report->mode != NULL ? report->mode->passes[IFM_PASS_FORWARD] : report));
    }
    if (report->graph != NULL)
        json_object_set_new(json, "graph_transformer", ifm_profile_graph_to_json(report));
    if (report->graph != NULL && (report->parts & IFM_PROFILE_PE) != 0)
        json_object_set_new(json, "pe", ifm_profile_encoding_to_json(report));
    if (report->n_devices > 1)
        json_object_set_new(json, "rounds",
                            ifm_profile_rounds(report) != NULL ? json_deep_copy(ifm_profile_rounds(report)) : json_null());
    if (report->n_devices > 1 && (report->parts & IFM_PROFILE_LAYERS) != 0)
        json_object_set_new(json, "layers_aligned", ifm_profile_aligned_to_json(report));
    if (report->why_not_rounds != NULL)
        json_object_set_new(json, "why_no_rounds", json_string(report->why_not_rounds));
    json_object_set_new(json, "cases", cases);
    return json;
}

/* --- a row a layer ---------------------------------------------------------------------------------------------------- */

/* LayerRow: a layer of a device. The layer's own fields read it through its first member. */
typedef struct
{
    IfmKernel kernel;
    const char *device, *alias;
} LayerRow;

static const IfmField row_fields[] = {
    { "device", NULL, IFM_FIELD_TEXT, ifm_field_get_some_text, IFM_FIELD_AT(LayerRow, device) },
    { "alias", NULL, IFM_FIELD_TEXT, ifm_field_get_some_text, IFM_FIELD_AT(LayerRow, alias) },
    { NULL },
};

char *ifm_profile_layers_csv(const IfmProfileReport *report)
{
    g_autoptr(GArray) fields = ifm_fields_join(row_fields, ifm_kernel_fields);
    const IfmField *columns = ifm_fields_in(fields);
    GString *out = g_string_new(NULL);
    ifm_csv_append_header(out, columns);
    for (gsize i = 0; i < report->n_devices; i++)
    {
        const IfmProfileDevice *device = &report->devices[i];
        g_autoptr(IfmKernels) kernels = ifm_profile_kernels(report, device);
        for (guint row = 0; kernels != NULL && row < kernels->rows->len; row++)
        {
            LayerRow record = { *(const IfmKernel *)kernels->rows->pdata[row], device->result.device,
                                device->result.alias };
            ifm_csv_append_record(out, columns, &record);
        }
    }
    return g_string_free(out, FALSE);
}

/* --- a row a node of the model ----------------------------------------------------------------------------------- */

/* Those columns of a layer that follow from the model alone. */
static GArray *node_fields(void)
{
    static const char *const keys[] = { "name",       "op_type",       "family",  "macs",      "flop",
                                        "bytes_read", "bytes_written", "counted", "intensity", NULL };
    GArray *fields = g_array_new(TRUE, TRUE, sizeof(IfmField));
    for (const IfmField *field = ifm_kernel_fields; field->key != NULL; field++)
        if (g_strv_contains(keys, field->key))
            g_array_append_vals(fields, field, 1);
    return fields;
}

char *ifm_profile_nodes_csv(const IfmProfileReport *report)
{
    g_autoptr(GArray) fields = node_fields();
    const IfmField *columns = ifm_fields_in(fields);
    GString *out = g_string_new(NULL);
    ifm_csv_append_header(out, columns);
    for (gsize i = 0; i < ifm_model_n_nodes(report->model); i++)
    {
        const IfmNode *node = ifm_model_node(report->model, i);
        const IfmNodeCost *cost = ifm_analysis_node_cost(report->analysis, i);
        const IfmNodeRow row = { .name = (char *)ifm_layer_name(node), .op_type = (char *)node->op_type };
        double bytes = (double)cost->bytes_read + (double)cost->bytes_written;
        const IfmKernel record = { .node = &row,
                                   .known = ifm_analysis_knows_operator(report->analysis, i),
                                   .family = cost->family,
                                   .cost = *cost,
                                   .place.intensity =
                                       ifm_cost_is_exact(cost) && bytes > 0 ? (double)cost->flop / bytes : (double)NAN };
        ifm_csv_append_record(out, columns, &record);
    }
    return g_string_free(out, FALSE);
}
