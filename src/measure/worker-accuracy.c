#include <math.h>
#include <string.h>

#include <glib/gstdio.h>

#include <base/fields.h>
#include <regions/regions.h>

#include "worker-private.h"

/* How near the outputs of one model come to those of another, over some samples; and where, layer by layer. */

#define MAX_EXPOSED_BYTES (G_GUINT64_CONSTANT(256) << 20) /* of inner tensors in one run of both models */

/* --- samples ---------------------------------------------------------------------------------------------------------- */

static char *sample_path(const char *prefix, gint64 sample)
{
    return g_strdup_printf("%s-%" G_GINT64_FORMAT, prefix, sample);
}

/* Another model may take the same in another precision. */
static gboolean copy_values(const IfmTensor *from, IfmTensor *to, const char *name, GError **error)
{
    g_autoptr(GRand) unused = g_rand_new_with_seed(0);
    const gint64 n = ifm_tensor_n_elements(to);
    if (ifm_tensor_n_elements(from) != n)
        return ifm_error_refuse(error, "input '%s' has another size in the other model", name);
    if (from->dtype == to->dtype)
    {
        memcpy(to->data, from->data, to->size_bytes);
        return TRUE;
    }
    for (gint64 i = 0; i < n; i++)
    {
        const gsize width = ifm_dtype_size_bytes(to->dtype);
        const double value = ifm_tensor_get_double(from, i);
        IfmTensor one = ifm_tensor_head(to, width);
        one.data = (guint8 *)to->data + (gsize)i * width;
        if (!ifm_tensor_fill_random(&one, unused, value, value, error))
            return FALSE;
    }
    return TRUE;
}

/* Row @sample of what the file has for an input. */
static gboolean take_row(const IfmTensorFile *file, gint64 sample, const char *name, IfmTensor *to, GError **error)
{
    const IfmTensor *whole = file != NULL ? ifm_tensor_file_find(file, name) : NULL;
    if (whole == NULL || whole->rank == 0 || whole->shape[0] <= sample)
        return TRUE;
    IfmTensor row = *whole;
    row.release = NULL;
    row.shape[0] = 1;
    row.size_bytes = whole->size_bytes / (gsize)whole->shape[0];
    row.data = (guint8 *)whole->data + (gsize)sample * row.size_bytes;
    return copy_values(&row, to, name, error);
}

static gboolean make_inputs(const IfmModel *model, const IfmModelCase *model_case, const IfmTensorFile *samples,
                            gint64 sample, IfmInputs *inputs, GError **error)
{
    IfmModelCase of_sample = *model_case;
    of_sample.seed += (guint32)sample;
    gboolean ok = ifm_case_make_inputs(model, &of_sample, TRUE, inputs, error);
    for (gsize i = 0; ok && i < inputs->n; i++)
        ok = take_row(samples, sample, ifm_model_input(model, i)->name, &inputs->tensors[i], error);
    return ok;
}

static gboolean save_inputs(const IfmModel *model, const IfmInputs *inputs, const char *path, GError **error)
{
    g_autofree const char **names = g_new0(const char *, inputs->n + 1);
    for (gsize i = 0; i < inputs->n; i++)
        names[i] = ifm_model_input(model, i)->name;
    return ifm_tensor_file_save_temporary(path, names, inputs->tensors, inputs->n, error);
}

/* The inputs of A's sample, by name. */
static gboolean feed(IfmModelSubject *subject, const IfmModel *model, const char *prefix, gint64 sample, GError **error)
{
    g_autofree char *path = sample_path(prefix, sample);
    g_autoptr(IfmTensorFile) file = ifm_tensor_file_open(path, error);
    for (gsize i = 0; file != NULL && i < ifm_model_n_inputs(model); i++)
    {
        const char *name = ifm_model_input(model, i)->name;
        const IfmTensor *found = ifm_tensor_file_find(file, name);
        if (found != NULL && !copy_values(found, &subject->inputs.tensors[i], name, error))
            return FALSE;
    }
    return file != NULL;
}

/* --- the outputs of a side -------------------------------------------------------------------------------------------- */

/* The engine's outputs beside those of a file. @sums: [n outputs]    @names: of the file, by output */
static gboolean add_outputs(IfmModelSubject *subject, const char *path, IfmAccuracy *sums, GError **error)
{
    IfmCompiled *compiled = subject->compiled;
    g_autoptr(IfmTensorFile) file = ifm_tensor_file_open(path, error);
    const gsize n = ifm_compiled_info(compiled).n_outputs;
    for (gsize i = 0; file != NULL && i < n; i++)
    {
        IfmTensor value;
        const char *name = ifm_compiled_output(compiled, i)->name;
        const IfmTensor *reference = ifm_tensor_file_find(file, name);
        if (reference == NULL && n == ifm_tensor_file_n(file)) /* the other model may call them otherwise */
            reference = ifm_tensor_file_tensor(file, i);
        if (reference == NULL)
            return ifm_error_refuse(error, "A has no output '%s'", name);
        if (!ifm_request_output(subject->requests[0], i, &value, error) ||
            !ifm_accuracy_add(&sums[i], reference, &value, error))
        {
            g_prefix_error(error, "output '%s': ", name);
            return FALSE;
        }
    }
    return file != NULL;
}

static json_t *sums_to_json(IfmModelSubject *subject, const IfmAccuracy *sums)
{
    IfmCompiled *compiled = subject->compiled;
    json_t *list = json_array();
    for (gsize i = 0; i < ifm_compiled_info(compiled).n_outputs; i++)
    {
        json_t *one = ifm_accuracy_to_json(&sums[i]);
        json_object_set_new(one, "output", ifm_json_string(ifm_compiled_output(compiled, i)->name));
        json_array_append_new(list, one);
    }
    return list;
}

static gboolean run(IfmModelSubject *subject, GError **error)
{
    const IfmSubject slots = ifm_model_subject_slots(subject);
    return slots.run(slots.self, error);
}

/* Of A: makes each sample, and keeps inputs and outputs. Of B: the same inputs, and its outputs beside A's. */
json_t *worker_answer_accuracy(Worker *worker, const IfmModelCase *model_case, const json_t *request, GError **error)
{
    const char *inputs_at = ifm_member_text(request, "inputs"), *outputs_at = ifm_member_text(request, "outputs");
    const char *samples_path = ifm_member_text(request, "samples");
    const gboolean makes = json_is_true(json_object_get(request, "makes"));
    const gint64 n = json_integer_value(json_object_get(request, "n"));
    g_autoptr(IfmDeviceSpec) spec = NULL;
    IfmEngine *engine = worker_open_device(worker, model_case->device, &spec, error);
    g_autoptr(IfmModel) model = engine != NULL ? ifm_model_open(model_case->model_path, error) : NULL;
    if (model == NULL)
        return NULL;
    worker_enter_phase(worker, "compiling");
    g_autoptr(IfmTensorFile) samples = samples_path != NULL ? ifm_tensor_file_open(samples_path, error) : NULL;
    g_autoptr(IfmModelSubject) subject = samples_path == NULL || samples != NULL
                                             ? ifm_model_subject_new(engine, model, model_case, IFM_COMPILE_MEASURED, error)
                                             : NULL;
    if (subject == NULL)
        return NULL;
    IfmCompiled *compiled = subject->compiled;
    if ((ifm_compiled_info(compiled).capabilities & IFM_CAN_TRUE_OUTPUTS) == 0)
        return json_pack("{s:s}", "why", "a simulated device computes no true outputs");
    g_autofree IfmAccuracy *sums = g_new0(IfmAccuracy, ifm_compiled_info(compiled).n_outputs + 1);
    for (gint64 i = 0; i < n; i++)
    {
        g_auto(IfmInputs) inputs = { 0 };
        g_autofree char *to = sample_path(inputs_at, i), *outputs = sample_path(outputs_at, i);
        if (!worker_go_on(worker, "running samples", 1, error) ||
            (makes &&
             (!make_inputs(model, model_case, samples, i, &inputs, error) || !save_inputs(model, &inputs, to, error))) ||
            !feed(subject, model, inputs_at, i, error) || !run(subject, error) ||
            !(makes ? worker_save_outputs(compiled, subject->requests[0], outputs, error)
                    : add_outputs(subject, outputs, sums, error)))
            return NULL;
    }
    return makes ? json_object() : json_pack("{s:o}", "outputs", sums_to_json(subject, sums));
}

/* --- the layers of two models ------------------------------------------------------------------------------------------
 */

/* IfmLayerPair: a tensor of A, which an input or the first output of a node is, and what stands for it in B. Names are of
 * the models. @layer: the name of the node, or of its tensor; @op_type: "input" of an input of the model
 * @b_before: where B quantises the tensor: what it is before that; NULL
 * @node: of A; -1: it is an input */
typedef struct
{
    const char *layer, *op_type, *a, *b, *b_before;
    IfmDtype a_dtype, b_dtype;
    gsize bytes; /* of both, and of what it is before; 0: not known */
    gssize node;
} IfmLayerPair;

typedef struct
{
    const IfmModel *a, *b;
    const IfmAnalysis *analysis_a, *analysis_b;
    GHashTable *nodes_of_b; /* name -> index + 1 */
    GArray *pairs;
} Matching;

static const IfmPort *input_of(const IfmModel *model, const char *tensor)
{
    for (gsize i = 0; i < ifm_model_n_inputs(model); i++)
        if (g_str_equal(ifm_model_input(model, i)->name, tensor))
            return ifm_model_input(model, i);
    return NULL;
}

static const IfmNode *producer_of(const IfmModel *model, const char *tensor)
{
    const gssize at = ifm_model_producer(model, tensor);
    return at >= 0 ? ifm_model_node(model, (gsize)at) : NULL;
}

/* The first node of an operator that reads the tensor as its first input. */
static const IfmNode *reader_of(const IfmModel *model, const char *tensor, const char *op_type)
{
    const GArray *readers = ifm_model_consumers(model, tensor);
    for (guint i = 0; readers != NULL && i < readers->len; i++)
    {
        const IfmNode *node = ifm_model_node(model, g_array_index(readers, gsize, i));
        if (g_str_equal(node->op_type, op_type) && node->n_outputs > 0 && g_str_equal(node->inputs[0], tensor))
            return node;
    }
    return NULL;
}

static gboolean is_op(const IfmNode *node, const char *op_type)
{
    return node != NULL && g_str_equal(node->op_type, op_type) && node->n_inputs > 0 && node->n_outputs > 0;
}

/* What of B stands for the tensor: as it goes on, quantised where it is, and as it was before. */
static void follow(const IfmModel *b, const char *tensor, IfmLayerPair *pair)
{
    const IfmNode *quantise = reader_of(b, tensor, "QuantizeLinear"), *made = producer_of(b, tensor);
    const IfmNode *widen = quantise != NULL ? reader_of(b, quantise->outputs[0], "DequantizeLinear") : NULL;
    const IfmNode *before = is_op(made, "DequantizeLinear") ? producer_of(b, made->inputs[0]) : NULL;
    pair->b = widen != NULL ? widen->outputs[0] : tensor;
    if (widen != NULL)
        pair->b_before = tensor;
    else
        pair->b_before = before != NULL && is_op(before, "QuantizeLinear") ? before->inputs[0] : NULL;
}

static const char *find_in_b(const Matching *matching, const char *tensor, const char *node)
{
    const gsize named = *node != '\0' ? GPOINTER_TO_SIZE(g_hash_table_lookup(matching->nodes_of_b, node)) : 0;
    if (ifm_model_producer(matching->b, tensor) >= 0 || input_of(matching->b, tensor) != NULL)
        return tensor;
    const IfmNode *same = named > 0 && named != G_MAXSIZE ? ifm_model_node(matching->b, named - 1) : NULL;
    return same != NULL && same->n_outputs > 0 ? same->outputs[0] : NULL;
}

/* @bytes: added to, where its shape is known. Returns: UNDEFINED where the type is not known. */
static IfmDtype dtype_of(const IfmModel *model, const IfmAnalysis *analysis, const char *tensor, gsize *bytes)
{
    IfmDtype dtype = IFM_DTYPE_UNDEFINED;
    gint64 shape[IFM_MAX_RANK];
    gsize size;
    int rank;
    const IfmPort *input = input_of(model, tensor);
    if (analysis != NULL && ifm_analysis_shape(analysis, tensor, &dtype, &rank, shape) &&
        ifm_shape_size_bytes(dtype, rank, shape, &size, NULL))
        *bytes += size;
    const IfmNode *made = producer_of(model, tensor);
    if (dtype == IFM_DTYPE_UNDEFINED && is_op(made, "DequantizeLinear") && made->n_inputs > 1)
        dtype = ifm_model_initializer_dtype(model, made->inputs[1]);
    return dtype == IFM_DTYPE_UNDEFINED && input != NULL ? input->dtype : dtype;
}

/* Returns: FALSE for what is not of floats in A. */
static gboolean match(Matching *matching, const char *layer, const char *op_type, const char *tensor, gssize node)
{
    IfmLayerPair pair = { .layer = layer, .op_type = op_type, .a = tensor, .node = node };
    pair.a_dtype = dtype_of(matching->a, matching->analysis_a, tensor, &pair.bytes);
    if (!ifm_dtype_is_float(pair.a_dtype))
        return FALSE;
    const char *found = find_in_b(matching, tensor, node >= 0 ? ifm_model_node(matching->a, (gsize)node)->name : "");
    if (found == NULL)
        return TRUE;
    follow(matching->b, found, &pair);
    pair.b_dtype = dtype_of(matching->b, matching->analysis_b, pair.b, &pair.bytes);
    if (pair.b_before != NULL)
        dtype_of(matching->b, matching->analysis_b, pair.b_before, &pair.bytes);
    if (ifm_dtype_is_float(pair.b_dtype) && (node >= 0 || pair.b_before != NULL))
        g_array_append_val(matching->pairs, pair);
    return TRUE;
}

/*
 * The layers of two models that have the same names, in the order of A. The tensors are matched by their
 * names; where B has none of the name, by the node's. Of a tensor that B quantises, that which DequantizeLinear makes of it
 * is taken.
 * @a, @b: borrowed, as long as the pairs are used    @n_layers: (out) layers of A with floating-point outputs
 * Returns: (transfer full) IfmLayerPair; empty where the models have no names in common.
 */
static GArray *layer_pairs(const IfmModel *a, const IfmAnalysis *analysis_a, const IfmModel *b,
                           const IfmAnalysis *analysis_b, gsize *n_layers)
{
    g_autoptr(GHashTable) nodes_of_b = ifm_model_node_names(b);
    Matching matching = { a, b, analysis_a, analysis_b, nodes_of_b, g_array_new(FALSE, FALSE, sizeof(IfmLayerPair)) };
    *n_layers = 0;
    for (gsize i = 0; i < ifm_model_n_inputs(a); i++)
        match(&matching, ifm_model_input(a, i)->name, "input", ifm_model_input(a, i)->name, -1);
    for (gsize i = 0; i < ifm_model_n_nodes(a); i++)
    {
        const IfmNode *node = ifm_model_node(a, i);
        const char *tensor = node->n_outputs > 0 ? node->outputs[0] : "";
        if (*tensor != '\0' && !g_str_equal(node->op_type, "Constant"))
            *n_layers += match(&matching, *node->name != '\0' ? node->name : tensor, node->op_type, tensor, (gssize)i);
    }
    return matching.pairs;
}

/* --- layer by layer --------------------------------------------------------------------------------------------------- */

/* Layers: both models as they are written, on the runtime that leaves them so. */
typedef struct
{
    Worker *worker;
    IfmEngine *engine;
    IfmModel *models[2];
    IfmAnalysis *analyses[2];
    const IfmModelCase *cases[2];
    const char *inputs_at;
    gint64 n_samples;
    GArray *pairs;
    IfmAccuracy *sums, *own; /* [pairs] of A's and B's tensor; of what B's is before and after it is quantised */
} Layers;

static void layers_clear(Layers *layers)
{
    for (gsize i = 0; i < 2; i++)
    {
        ifm_analysis_free(layers->analyses[i]);
        ifm_model_unref(layers->models[i]);
    }
    g_clear_pointer(&layers->pairs, g_array_unref);
    g_free(layers->sums);
    g_free(layers->own);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Layers, layers_clear)

static gboolean open_side(Layers *layers, gsize side, GError **error)
{
    const IfmModelCase *model_case = layers->cases[side];
    layers->models[side] = ifm_model_open(model_case->model_path, error);
    if (layers->models[side] == NULL)
        return FALSE;
    layers->analyses[side] = ifm_regions_analyse(layers->models[side], model_case->bindings, model_case->n_bindings, NULL);
    return TRUE;
}

/* The tensors of pairs from @from on, as many as fit. @to: (out) behind the last. Either list may have one twice. */
static void choose(const Layers *layers, guint from, guint *to, GArray *lists[2])
{
    guint64 bytes = 0;
    for (*to = from; *to < layers->pairs->len; ++*to)
    {
        const IfmLayerPair *pair = &g_array_index(layers->pairs, IfmLayerPair, *to);
        bytes += pair->bytes;
        if (*to > from && bytes > MAX_EXPOSED_BYTES)
            return;
        if (pair->node >= 0)
            g_array_append_val(lists[0], ((IfmExposedTensor){ pair->a, pair->a_dtype }));
        g_array_append_val(lists[1], ((IfmExposedTensor){ pair->b, pair->b_dtype }));
        if (pair->b_before != NULL && ifm_model_producer(layers->models[1], pair->b_before) >= 0)
            g_array_append_val(lists[1], ((IfmExposedTensor){ pair->b_before, pair->b_dtype }));
    }
}

static IfmModelSubject *expose(Layers *layers, gsize side, const GArray *list, GError **error)
{
    IfmModelCase plain = *layers->cases[side];
    g_autoptr(IfmModel) model =
        ifm_model_expose(layers->models[side], (const IfmExposedTensor *)(const void *)list->data, list->len, error);
    plain.device = "onnxruntime:CPU";
    plain.vendor = NULL;
    plain.convolutions = NULL;
    plain.native_async = FALSE;
    return model != NULL ? ifm_model_subject_new(layers->engine, model, &plain, IFM_COMPILE_REFERENCE, error) : NULL;
}

/* A tensor of the last run; an input is what was fed. */
static gboolean find_tensor(IfmModelSubject *subject, const IfmModel *model, const char *name, IfmTensor *tensor)
{
    IfmCompiled *compiled = subject->compiled;
    for (gsize i = 0; i < ifm_compiled_info(compiled).n_outputs; i++)
        if (g_str_equal(ifm_compiled_output(compiled, i)->name, name))
            return ifm_request_output(subject->requests[0], i, tensor, NULL);
    for (gsize i = 0; i < ifm_model_n_inputs(model); i++)
        if (g_str_equal(ifm_model_input(model, i)->name, name))
        {
            *tensor = subject->inputs.tensors[i];
            return TRUE;
        }
    return FALSE;
}

static gboolean add_pair(Layers *layers, guint at, IfmModelSubject *subjects[2], GError **error)
{
    const IfmLayerPair *pair = &g_array_index(layers->pairs, IfmLayerPair, at);
    IfmTensor a, b, before;
    if (!find_tensor(subjects[0], layers->models[0], pair->a, &a) ||
        !find_tensor(subjects[1], layers->models[1], pair->b, &b))
        return TRUE; /* it stays without a figure */
    if (!ifm_accuracy_add(&layers->sums[at], &a, &b, error))
    {
        g_prefix_error(error, "layer '%s': ", pair->layer);
        return FALSE;
    }
    return pair->b_before == NULL || !find_tensor(subjects[1], layers->models[1], pair->b_before, &before) ||
           ifm_accuracy_add(&layers->own[at], &before, &b, error);
}

static gboolean run_group(Layers *layers, guint from, guint to, GArray *lists[2], GError **error)
{
    gboolean ok = worker_go_on(layers->worker, "compiling both without optimisation", 2, error);
    g_autoptr(IfmModelSubject) a = ok ? expose(layers, 0, lists[0], error) : NULL;
    g_autoptr(IfmModelSubject) b = a != NULL ? expose(layers, 1, lists[1], error) : NULL;
    IfmModelSubject *subjects[] = { a, b };
    ok = b != NULL;
    for (gint64 sample = 0; ok && sample < layers->n_samples; sample++)
    {
        ok = worker_go_on(layers->worker, "comparing layers", 2, error);
        for (gsize side = 0; ok && side < 2; side++)
            ok = feed(subjects[side], layers->models[side], layers->inputs_at, sample, error) && run(subjects[side], error);
        for (guint i = from; ok && i < to; i++)
            ok = add_pair(layers, i, subjects, error);
    }
    return ok;
}

/* The tensors with figures that a node's result is made of: what has none stands for what it is made of itself.
 * @seen: tensors */
static void add_reads(const Layers *layers, const IfmNode *node, GHashTable *figures, GHashTable *seen, json_t *reads)
{
    for (gsize i = 0; i < node->n_inputs; i++)
    {
        const char *name = node->inputs[i];
        const gssize producer = ifm_model_producer(layers->models[0], name);
        if (*name == '\0' || !g_hash_table_add(seen, (gpointer)name))
            continue;
        if (g_hash_table_contains(figures, name))
            json_array_append_new(reads, ifm_json_string(name));
        else if (producer >= 0)
            add_reads(layers, ifm_model_node(layers->models[0], (gsize)producer), figures, seen, reads);
    }
}

static json_t *pair_to_json(const Layers *layers, guint at, GHashTable *figures)
{
    const IfmLayerPair *pair = &g_array_index(layers->pairs, IfmLayerPair, at);
    json_t *json = ifm_accuracy_to_json(&layers->sums[at]);
    json_t *inputs = json_array();
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    if (pair->node >= 0)
        add_reads(layers, ifm_model_node(layers->models[0], (gsize)pair->node), figures, seen, inputs);
    json_object_update_new(
        json,
        json_pack("{s:o,s:s,s:o,s:o,s:o,s:o}", "layer", ifm_json_string(pair->layer), "op_type", pair->op_type, "tensor",
                  ifm_json_string(pair->a), "tensor_of_b", ifm_json_string(pair->b), "reads", inputs, "quantisation_db",
                  pair->b_before != NULL ? ifm_json_real(ifm_accuracy_sqnr_db(&layers->own[at])) : json_null()));
    return json;
}

static json_t *compare_layers(Layers *layers, GError **error)
{
    gsize n_layers;
    json_t *list;
    if (!open_side(layers, 0, error) || !open_side(layers, 1, error))
        return NULL;
    layers->pairs = layer_pairs(layers->models[0], layers->analyses[0], layers->models[1], layers->analyses[1], &n_layers);
    layers->sums = g_new0(IfmAccuracy, layers->pairs->len + 1);
    layers->own = g_new0(IfmAccuracy, layers->pairs->len + 1);
    for (guint from = 0, to; from < layers->pairs->len; from = to)
    {
        g_autoptr(GArray) a = g_array_new(FALSE, FALSE, sizeof(IfmExposedTensor));
        g_autoptr(GArray) b = g_array_new(FALSE, FALSE, sizeof(IfmExposedTensor));
        GArray *lists[] = { a, b };
        choose(layers, from, &to, lists);
        if (!run_group(layers, from, to, lists, error))
            return NULL;
    }
    g_autoptr(GHashTable) figures = g_hash_table_new(g_str_hash, g_str_equal);
    for (guint i = 0; i < layers->pairs->len; i++)
        if (layers->sums[i].n_elements > 0)
            g_hash_table_add(figures, (gpointer)g_array_index(layers->pairs, IfmLayerPair, i).a);
    list = json_array();
    for (guint i = 0; i < layers->pairs->len; i++)
        if (layers->sums[i].n_elements > 0)
            json_array_append_new(list, pair_to_json(layers, i, figures));
    return json_pack("{s:I,s:o}", "n_layers", (json_int_t)n_layers, "layers", list);
}

json_t *worker_answer_accuracy_layers(Worker *worker, const json_t *request, GError **error)
{
    g_auto(IfmSpec) a = { 0 }, b = { 0 };
    g_auto(Layers) layers = { .worker = worker,
                              .inputs_at = ifm_member_text(request, "inputs"),
                              .n_samples = json_integer_value(json_object_get(request, "n")) };
    worker_drop_prepared(worker);
    worker_enter_phase(worker, "opening the runtime");
    layers.engine = worker_open_engine(worker, "onnxruntime", error);
    if (layers.engine == NULL || !ifm_spec_init(&a, &ifm_kind_model, json_object_get(request, "a"), error) ||
        !ifm_spec_init(&b, &ifm_kind_model, json_object_get(request, "b"), error))
        return NULL;
    layers.cases[0] = a.data;
    layers.cases[1] = b.data;
    return compare_layers(&layers, error);
}
