/* What a tuned model says of itself, and what of it another algorithm does on this processor: its executor is asked. */
#include <string.h>

#include <base/base.h>
#include <base/fields.h>
#include <blocked/region.h>
#include <document/document.h>
#include <document/summary.h>
#include <document/words.h>
#include <profile/tune.h>
#include <regions/regions.h>

#include "tune-private.h"

/* Shown: a convolution of it. @algorithm: that it was tuned for    @here, @implementation: what it runs by on this
 * processor; NULL where that is not known */
typedef struct
{
    char *layer, *algorithm, *here, *implementation;
    gboolean is_replaced;
} Shown;

static void shown_free(gpointer data)
{
    Shown *shown = data;
    g_free(shown->layer);
    g_free(shown->algorithm);
    g_free(shown->here);
    g_free(shown->implementation);
    g_free(shown);
}

static const IfmField shown_fields[] = {
    { "layer", "layer", IFM_FIELD_TEXT, IFM_MEMBER(Shown, layer), IFM_FIELD_BREAK },
    { "algorithm", "algorithm", IFM_FIELD_TEXT, IFM_MEMBER(Shown, algorithm) },
    { "here", "here", IFM_FIELD_TEXT, IFM_MEMBER(Shown, here) },
    { "is_replaced", "replaced", IFM_FIELD_BOOLEAN, IFM_MEMBER(Shown, is_replaced) },
    { "implementation", "implementation", IFM_FIELD_TEXT, IFM_MEMBER(Shown, implementation), IFM_FIELD_BREAK },
    { NULL },
};

/* Showing: @analysis: of the model without regions, at the sizes that it was tuned for; NULL: the file does not say
 * them    @max_isa: of the kernels, as the
 * library has it    @isa: static text: of the last region's kernels    @n_unknown: convolutions whose sizes are not known
 */
typedef struct
{
    const IfmModel *model;
    IfmAnalysis *analysis;
    GPtrArray *rows;
    const char *max_isa, *isa;
    guint n_replaced, n_unknown;
} Showing;

/* --- a region --------------------------------------------------------------------------------------------------------- */

/* (transfer full) of the node's constants: IfmRegionConstant, whose data are the array's; numbers of a file may lie
 * anywhere
 */
static GArray *constants_of(const Showing *self, const IfmNode *node, gsize n_values, GError **error)
{
    GArray *constants = g_array_new(FALSE, FALSE, sizeof(IfmRegionConstant));
    for (gsize i = n_values; i < node->n_inputs; i++)
    {
        IfmTensor tensor;
        IfmRegionConstant constant = { 0 };
        if (!ifm_model_initializer(self->model, node->inputs[i], &tensor) || tensor.dtype != IFM_DTYPE_F32 ||
            tensor.rank < 1 || tensor.rank > 4 || tensor.data == NULL)
        {
            ifm_error_refuse(error, "%s: \"%s\" is no constant of f32 and rank 1 to 4", node->name, node->inputs[i]);
            break;
        }
        constant.rank = tensor.rank;
        for (int axis = 0; axis < tensor.rank; axis++)
            constant.shape[axis] = tensor.shape[axis];
        constant.data = g_memdup2(tensor.data, tensor.size_bytes);
        g_array_append_val(constants, constant);
    }
    return constants;
}

static void constants_free(GArray *constants)
{
    for (guint i = 0; i < constants->len; i++)
        g_free((gpointer)g_array_index(constants, IfmRegionConstant, i).data);
    g_array_unref(constants);
}

/* As the caller's tensors have them: a value in blocks has whole ones. */
static gboolean read_shapes(const Showing *self, const IfmNode *node, gsize n_values, int block, gint64 (*shapes)[4])
{
    g_auto(GStrv) lines = g_strsplit(ifm_regions_program(node), "\n", -1);
    gsize line = 0;
    for (gsize i = 0; i < n_values; i++)
    {
        IfmDtype dtype;
        int rank;
        gint64 shape[IFM_MAX_RANK];
        while (lines[line] != NULL && !g_str_has_prefix(lines[line], "input "))
            line++;
        if (self->analysis == NULL || lines[line] == NULL ||
            !ifm_analysis_shape(self->analysis, node->inputs[i], &dtype, &rank, shape) || rank != 4)
            return FALSE;
        if (g_str_has_prefix(lines[line++], "input blocked"))
            shape[1] = (shape[1] + block - 1) / block * block;
        memcpy(shapes[i], shape, sizeof(shapes[i]));
    }
    return TRUE;
}

static gboolean refuse(const IfmNode *node, const IfmBlockedError *failed, GError **error)
{
    return ifm_error_refuse(error, "%s: %s (inferometer %s)", node->name, failed->text, IFM_VERSION);
}

static void take_layer(Showing *self, Shown *shown, const IfmRegionLayerRun *layer)
{
    shown->here = g_strdup(layer->algorithm);
    shown->implementation = g_strdup(layer->implementation);
    shown->is_replaced = layer->is_replaced;
    self->n_replaced += layer->is_replaced;
}

/* Its layers are the rows from @first on. */
static gboolean ask(Showing *self, const IfmNode *node, IfmRegion *region, guint first, GError **error)
{
    IfmBlockedError failed = { IFM_BLOCKED_OK };
    const gsize n_values = ifm_region_n_inputs(region), n = ifm_region_n_layers(region);
    g_autofree gint64(*shapes)[4] = g_malloc0_n(n_values + 1, sizeof(gint64[4]));
    self->isa = ifm_blocked_isa(ifm_region_block(region), self->max_isa);
    if (n_values > node->n_inputs || first + n > self->rows->len)
        return ifm_error_refuse(error, "%s: its program has other inputs than the node", node->name);
    if (!read_shapes(self, node, n_values, ifm_region_block(region), shapes))
    {
        self->n_unknown += (guint)n;
        return TRUE;
    }
    IfmRegionRun *run = ifm_region_take(region, (const int64_t(*)[4])shapes, &failed);
    if (run == NULL)
        return refuse(node, &failed, error);
    for (gsize i = 0; i < n; i++)
    {
        const IfmRegionLayerRun layer = ifm_region_layer(run, i);
        take_layer(self, self->rows->pdata[first + i], &layer);
    }
    ifm_region_give_back(region, run);
    return TRUE;
}

/* @first: (inout) the row of its first layer */
static gboolean ask_node(Showing *self, const IfmNode *node, guint *first, GError **error)
{
    g_autoptr(GError) local = NULL;
    const gint64 n_values = CLAMP(ifm_node_int(node, "n_values", 0), 0, (gint64)node->n_inputs);
    const IfmRegionOptions options = { .max_isa = self->max_isa, .n_threads = (int)ifm_node_int(node, "threads", 1) };
    IfmBlockedError failed = { IFM_BLOCKED_OK };
    GArray *constants = constants_of(self, node, (gsize)n_values, &local);
    IfmRegion *region = NULL;
    if (local == NULL)
        region = ifm_region_new(ifm_regions_program(node), (const IfmRegionConstant *)(const void *)constants->data,
                                constants->len, &options, &failed);
    if (region == NULL && local == NULL)
        refuse(node, &failed, &local);
    if (region != NULL && ask(self, node, region, *first, &local))
        *first += (guint)ifm_region_n_layers(region);
    ifm_region_free(region);
    constants_free(constants);
    return local == NULL || ifm_error_pass(error, g_steal_pointer(&local));
}

/* --- all of them ------------------------------------------------------------------------------------------------------ */

/* At the sizes that it was tuned for. (transfer full) NULL without an error: the file does not say them */
static IfmAnalysis *analyse(IfmModel *model, const json_t *tuned, GError **error)
{
    g_autoptr(IfmModel) plain = ifm_regions_expand(model, error);
    g_autoptr(GArray) bindings = g_array_new(FALSE, FALSE, sizeof(IfmDimBinding));
    const char *name;
    json_t *size;
    json_object_foreach(json_object_get(tuned, "sizes"), name, size)
    {
        const IfmDimBinding binding = { name, json_integer_value(size) };
        g_array_append_val(bindings, binding);
    }
    return plain != NULL
               ? ifm_model_analyse(plain, (const IfmDimBinding *)(const void *)bindings->data, bindings->len, NULL)
               : NULL;
}

static gboolean ask_all(Showing *self, GError **error)
{
    g_autoptr(GArray) layers = ifm_regions_layers(self->model);
    guint first = 0;
    for (guint i = 0; i < layers->len; i++)
    {
        const IfmProgramLayer *layer = &g_array_index(layers, IfmProgramLayer, i);
        Shown *shown = g_new0(Shown, 1);
        *shown = (Shown){ .layer = g_strdup(layer->name), .algorithm = g_strdup(layer->algorithm) };
        g_ptr_array_add(self->rows, shown);
    }
    for (gsize i = 0; i < ifm_model_n_nodes(self->model); i++)
    {
        const IfmNode *node = ifm_model_node(self->model, i);
        if (ifm_regions_program(node) != NULL && !ask_node(self, node, &first, error))
            return FALSE;
    }
    return TRUE;
}

static json_t *metadata_of(const IfmModel *model, const char *path, GError **error)
{
    const char *text = ifm_model_metadata(model, IFM_TUNED_METADATA);
    json_t *json = text != NULL ? json_loads(text, 0, NULL) : NULL;
    const json_int_t format = json_integer_value(json_object_get(json, "format"));
    if (json != NULL && format == 1)
        return json;
    if (text == NULL)
        ifm_error_refuse(error, "%s is not tuned", path);
    else if (json == NULL)
        ifm_error_refuse(error, "%s: what it says of its tuning is no JSON", path);
    else
        ifm_error_refuse(error, "%s was tuned by another version, \"%s\": this is %s", path,
                         ifm_member_text(json, "version") != NULL ? ifm_member_text(json, "version") : "unknown",
                         IFM_VERSION);
    json_decref(json);
    return NULL;
}

static void say_shown(IfmDocument *document, const json_t *tuned, const char *path)
{
    const json_t *gain = json_object_get(tuned, "gain");
    const char *processor = ifm_member_text(tuned, "processor");
    const double ratio = json_number_value(json_object_get(gain, "ratio"));
    ifm_document_subject(document, "%s, tuned by inferometer %s", path, ifm_member_text(tuned, "version"));
    const json_int_t n_threads = json_integer_value(json_object_get(tuned, "threads"));
    ifm_document_verdict(document, "Tuned for %" JSON_INTEGER_FORMAT " thread%s of %s (%s), %s", n_threads,
                         ifm_plural((gsize)n_threads), processor, ifm_member_text(tuned, "instruction_set"),
                         tuned_place(tuned));
    if (ratio > 0)
        ifm_document_verdict_more(document,
                                  "There the runtime's own took %.3g times its time [%.3g, %.3g], ONNX Runtime %s",
                                  1 / ratio, 1 / json_number_value(json_object_get(gain, "upper")),
                                  1 / json_number_value(json_object_get(gain, "lower")), ifm_member_text(tuned, "runtime"));
    const char *threads_from = ifm_member_text(tuned, "threads_from");
    if (threads_from != NULL)
        ifm_document_provenance(document, "threads", "%" JSON_INTEGER_FORMAT ", %s", n_threads, threads_from);
    tuned_say_origin(document, tuned);
}

#define NAMED 3

/* (transfer full) "conv1, conv2, conv3 and 4 more" */
static char *name_replaced(const Showing *self)
{
    GString *text = g_string_new(NULL);
    guint n = 0;
    for (guint i = 0; i < self->rows->len; i++)
    {
        const Shown *shown = self->rows->pdata[i];
        if (shown->is_replaced && n++ < NAMED)
            g_string_append_printf(text, "%s%s", n > 1 ? ", " : "", shown->layer);
    }
    if (n > NAMED)
        g_string_append_printf(text, " and %u more", n - NAMED);
    return g_string_free(text, FALSE);
}

static void say_here(IfmDocument *document, const Showing *self)
{
    g_autofree char *named = name_replaced(self);
    g_autofree char *text = NULL;
    if (self->n_unknown > 0)
        text = g_strdup_printf("The file does not say the sizes of %u of %u convolutions: what they run by is not known.",
                               self->n_unknown, self->rows->len);
    else if (self->n_replaced > 0)
        text = g_strdup_printf("Of %u convolutions %u run%s by another algorithm than the file's, in %s kernels: %s.",
                               self->rows->len, self->n_replaced, self->n_replaced == 1 ? "s" : "", self->isa, named);
    else
        text = g_strdup_printf("All %u convolutions run by the file's algorithms, in %s kernels; any is the rule's.",
                               self->rows->len, self->isa != NULL ? self->isa : "no");
    if (self->n_unknown + self->n_replaced > 0)
        ifm_document_check(document, IFM_TRUST_CARE, "%s", text);
    ifm_document_question(document, "What runs by what here?", "%s", text);
}

/* @json: (out) (optional) the same */
static IfmDocument *page(const Showing *self, json_t *tuned, const char *path, json_t **json)
{
    if (json != NULL)
    {
        const IfmTable table = { shown_fields, (const void *const *)self->rows->pdata, self->rows->len };
        *json = ifm_json_begin("tuned", 1);
        json_object_set(*json, "tuned_for", tuned);
        json_object_set_new(*json, "layers", ifm_table_to_json(&table));
    }
    IfmDocument *document = ifm_document_new("tuned", "A tuned model");
    say_shown(document, tuned, path);
    say_here(document, self);
    ifm_document_table(document, "layers", shown_fields, g_ptr_array_ref(self->rows));
    return document;
}

IfmDocument *ifm_tuned_show_document(const char *path, json_t **json, GError **error)
{
    g_autoptr(IfmModel) model = ifm_model_open(path, error);
    json_auto_t *tuned = model != NULL ? metadata_of(model, path, error) : NULL;
    g_autoptr(GError) unread = NULL;
    g_autoptr(IfmAnalysis) analysis = tuned != NULL ? analyse(model, tuned, &unread) : NULL;
    g_autoptr(GPtrArray) rows = g_ptr_array_new_with_free_func(shown_free);
    Showing self = { .model = model, .analysis = analysis, .rows = rows, .max_isa = ifm_blocked_max_isa() };
    if (unread != NULL)
        ifm_error_pass(error, g_steal_pointer(&unread));
    else if (tuned != NULL && ask_all(&self, error))
        return page(&self, tuned, path, json);
    return NULL;
}
