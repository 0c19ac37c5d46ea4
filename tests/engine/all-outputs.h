#pragma once
#include "fixture.h"

/* Models made to give out everything that their nodes make, run, and held against what was inferred. */

/* --- every tensor as an output -------------------------------------------------------------------------------------- */

static inline void append_varint(GByteArray *bytes, guint64 value)
{
    do
    {
        guint8 byte = (guint8)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        g_byte_array_append(bytes, &byte, 1);
        value >>= 7;
    } while (value > 0);
}

static inline void append_field(GByteArray *bytes, guint8 number, const guint8 *data, gsize size)
{
    guint8 key = (guint8)(number << 3 | 2);
    g_byte_array_append(bytes, &key, 1);
    append_varint(bytes, size);
    g_byte_array_append(bytes, data, (guint)size);
}

static inline guint64 read_varint(const guint8 **at)
{
    guint64 value = 0;
    for (int shift = 0;; shift += 7)
    {
        value |= (guint64)(**at & 0x7f) << shift;
        if ((*(*at)++ & 0x80) == 0)
            return value;
    }
}

static inline gboolean is_output(const IfmModel *model, const char *name)
{
    for (gsize i = 0; i < ifm_model_n_outputs(model); i++)
        if (g_str_equal(ifm_model_output(model, i)->name, name))
            return TRUE;
    return FALSE;
}

/*
 * append_type: TypeProto.tensor_type with the element type and as many free dimensions as are inferred. The driver takes an
 * output of which the runtime knows no rank for a scalar; a wrong rank makes the run fail, and the sizes are the run's own.
 */
static inline void append_type(GByteArray *info, IfmDtype dtype, int rank)
{
    const guint8 element[] = { 1 << 3, (guint8)dtype };
    g_autoptr(GByteArray) shape = g_byte_array_new(), tensor = g_byte_array_new(), type = g_byte_array_new();
    for (int i = 0; i < rank; i++)
        append_field(shape, 1, (const guint8 *)"", 0);
    g_byte_array_append(tensor, element, sizeof element);
    append_field(tensor, 2, shape->data, shape->len);
    append_field(type, 1, tensor->data, tensor->len);
    append_field(info, 2, type->data, type->len);
}

/* add_outputs: to a GraphProto (field 12 is a ValueInfoProto, whose field 1 is the name), everything that its nodes make.
 */
static inline void add_outputs(const IfmModel *model, const IfmAnalysis *analysis, GByteArray *graph)
{
    for (gsize i = 0; i < ifm_model_n_nodes(model); i++)
    {
        const IfmNode *node = ifm_model_node(model, i);
        for (gsize k = 0; k < node->n_outputs; k++)
        {
            const char *name = node->outputs[k];
            IfmDtype dtype;
            int rank;
            gint64 shape[IFM_MAX_RANK];
            g_autoptr(GByteArray) info = g_byte_array_new();
            append_field(info, 1, (const guint8 *)name, strlen(name));
            if (analysis != NULL && ifm_analysis_shape(analysis, name, &dtype, &rank, shape))
                append_type(info, dtype, rank);
            if (*name != '\0' && !is_output(model, name))
                append_field(graph, 12, info->data, info->len);
        }
    }
}

/* with_all_outputs: the model's bytes with its graph (field 7) replaced by one that gives out all that it makes. */
static inline IfmModel *with_all_outputs(IfmModel *model, const IfmAnalysis *analysis, const char *folder)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GBytes) bytes = ifm_model_serialize(model, &error);
    g_autoptr(GByteArray) made = g_byte_array_new();
    gsize size;
    const guint8 *start = g_bytes_get_data(bytes, &size), *at = start;
    while (at < start + size)
    {
        const guint8 *field = at;
        guint64 key = read_varint(&at), length = read_varint(&at); /* of a number field its value: the same bytes */
        const guint8 *payload = at;
        at += (key & 7) == 2 ? length : 0;
        if (key != (7 << 3 | 2))
        {
            g_byte_array_append(made, field, (guint)(at - field));
            continue;
        }
        g_autoptr(GByteArray) graph = g_byte_array_new();
        g_byte_array_append(graph, payload, (guint)length);
        add_outputs(model, analysis, graph);
        append_field(made, 7, graph->data, graph->len);
    }
    g_autoptr(GBytes) whole = g_byte_array_free_to_bytes(g_steal_pointer(&made));
    if (folder == NULL)
    {
        IfmModel *parsed = ifm_model_parse(whole, ifm_model_name(model), &error);
        g_assert_no_error(error);
        return parsed;
    }
    g_autofree char *path = g_build_filename(folder, "all-outputs.onnx", NULL);
    g_file_set_contents(path, g_bytes_get_data(whole, NULL), (gssize)g_bytes_get_size(whole), &error);
    g_assert_no_error(error);
    IfmModel *opened = ifm_model_open(path, &error);
    g_assert_no_error(error);
    return opened;
}

/* --- running -------------------------------------------------------------------------------------------------------- */

/* compile_and_run: FALSE with what the runtime said. @fixture: its engine is open */
static inline gboolean compile_and_run(Fixture *fixture, IfmModel *model, const IfmDimBinding *bindings, gsize n_bindings,
                                       GError **error)
{
    IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
    options.optimise = FALSE;
    options.threads = 1;
    fixture->model = ifm_model_ref(model);
    fixture->compiled = ifm_engine_compile(fixture->engine, model, fixture->spec, &options, error);
    fixture->request = fixture->compiled != NULL ? ifm_compiled_request(fixture->compiled, 0, error) : NULL;
    if (fixture->request == NULL)
        return FALSE;
    gsize n = ifm_model_n_inputs(model);
    IfmTensor *inputs = g_new0(IfmTensor, n + 1);
    gboolean ok = ifm_model_make_inputs(model, bindings, n_bindings, 1, inputs, error);
    for (gsize i = 0; ok && i < n; i++)
        ok = ifm_request_set_input(fixture->request, i, &inputs[i], error);
    ok = ok && ifm_request_start(fixture->request, NULL, NULL, error) &&
         ifm_request_wait(fixture->request, IFM_CLOCK_NEVER, error);
    for (gsize i = 0; i < n; i++)
        ifm_tensor_clear(&inputs[i]);
    g_free(inputs);
    return ok;
}

/* compare_outputs: Returns: how many shapes are known, each of them as the run had it. */
static inline gsize compare_outputs(Fixture *fixture, const IfmAnalysis *analysis, const char *what)
{
    gsize n_known = 0;
    for (gsize i = 0; i < ifm_compiled_info(fixture->compiled).n_outputs; i++)
    {
        g_autoptr(GError) error = NULL;
        const char *name = ifm_compiled_output(fixture->compiled, i)->name;
        IfmTensor output;
        IfmDtype dtype;
        int rank;
        gint64 shape[IFM_MAX_RANK];
        ifm_request_output(fixture->request, i, &output, &error);
        g_assert_no_error(error);
        if (!ifm_analysis_shape(analysis, name, &dtype, &rank, shape))
            continue;
        g_autofree char *found = ifm_shape_to_string(rank, shape), *real = ifm_shape_to_string(output.rank, output.shape);
        if (!g_str_equal(found, real) || dtype != output.dtype)
            g_error("%s: '%s' is inferred as %s %s, but is %s %s", what, name, ifm_dtype_name(dtype), found,
                    ifm_dtype_name(output.dtype), real);
        n_known++;
    }
    return n_known;
}
