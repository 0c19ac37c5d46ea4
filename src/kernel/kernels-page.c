/* The kernels of models as a runtime optimised them: pages, and the graph of kernels. */
#include <string.h>

#include <base/base.h>
#include <base/fields.h>
#include <document/document.h>
#include <document/summary.h>
#include <document/words.h>
#include <kernel/kernel.h>
#include <zoo/zoo.h>

#define DIGEST_DIGITS 8

/* --- texts --------------------------------------------------------------------------------------------------------------
 */

/* "1x64x56x56"; NULL of an input that is left out or whose shape is not known. (transfer full) */
static char *shape_text(const IfmKernelTensor *tensor)
{
    if (tensor == NULL || *tensor->dtype == '\0')
        return NULL;
    if (tensor->dims->len == 0)
        return g_strdup("scalar");
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < tensor->dims->len; i++)
        g_string_append_printf(text, "%s%" G_GINT64_FORMAT, i > 0 ? "x" : "", g_array_index(tensor->dims, gint64, i));
    return g_string_free(text, FALSE);
}

/* (transfer full) NULL of none. @texts: char* */
static char *join(const GPtrArray *texts)
{
    GString *all = texts->len > 0 ? g_string_new(NULL) : NULL;
    for (guint i = 0; i < texts->len; i++)
        g_string_append_printf(all, "%s%s", i > 0 ? ", " : "", (const char *)texts->pdata[i]);
    return all != NULL ? g_string_free(all, FALSE) : NULL;
}

/* --- distinct kernels ---------------------------------------------------------------------------------------------------
 */

/* KernelRow: a kernel of a model. @number: how many there are of its digest, or its place in the optimised graph */
typedef struct
{
    const IfmKernelRecords *records;
    const IfmKernelRecord *kernel;
    gint64 number;
} KernelRow;

/* Rows of one model are added in the order of its graph. */
static void add_distinct(const IfmKernelRecords *records, GArray *rows)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    for (guint i = 0; i < records->kernels->len; i++)
    {
        const IfmKernelRecord *record = records->kernels->pdata[i];
        const guint at = GPOINTER_TO_UINT(g_hash_table_lookup(seen, record->digest));
        const KernelRow row = { records, record, 1 };
        if (at > 0)
            g_array_index(rows, KernelRow, at - 1).number++;
        else
        {
            g_array_append_val(rows, row);
            g_hash_table_insert(seen, record->digest, GUINT_TO_POINTER(rows->len));
        }
    }
}

static const IfmKernelRecord *kernel_of(const void *row)
{
    return ((const KernelRow *)row)->kernel;
}

static void get_digest(const void *record, const void *user, IfmValue *value)
{
    ifm_value_take_text(value, g_strndup(kernel_of(record)->digest, DIGEST_DIGITS));
}

static void get_shape(const void *record, const void *user, IfmValue *value)
{
    const IfmKernelRecord *kernel = kernel_of(record);
    const GPtrArray *tensors = GPOINTER_TO_INT(user) == 0 ? kernel->inputs : kernel->outputs;
    if (tensors->len > 0)
        ifm_value_take_text(value, shape_text(tensors->pdata[0]));
}

static void get_bytes(const void *record, const void *user, IfmValue *value)
{
    const IfmKernelRecord *kernel = kernel_of(record);
    ifm_value_set_real(value, (double)kernel->input_bytes + (double)kernel->weight_bytes + (double)kernel->output_bytes);
}

static void get_covers(const void *record, const void *user, IfmValue *value)
{
    ifm_value_take_text(value, join(kernel_of(record)->covers));
}

/* @user: not NULL: without a tone */
static void get_coverage(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_text(value, ifm_kernel_coverage_words()[kernel_of(record)->coverage]);
    value->tone = user == NULL && kernel_of(record)->coverage == IFM_COVERAGE_AMBIGUOUS ? IFM_TONE_WARN : IFM_TONE_PLAIN;
}

/* Columns of a screen that has room for these fields, too. The digest, which is never shortened, tells rows apart. */
#define WIDE 100
#define WIDEST 120

static const IfmField kernel_fields[] = {
    { "digest", "digest", IFM_FIELD_TEXT, get_digest, NULL, IFM_FIELD_WHOLE | IFM_FIELD_KEY },
    { "kernel", "kernel", IFM_FIELD_TEXT, IFM_MEMBER_VIA(KernelRow, kernel, name), IFM_FIELD_KEY },
    { "model", "model", IFM_FIELD_TEXT, IFM_MEMBER_VIA(KernelRow, records, model), IFM_FIELD_FOLD },
    { "count", "count", IFM_FIELD_INTEGER, IFM_MEMBER(KernelRow, number) },
    { "input", "first input", IFM_FIELD_TEXT, get_shape, GINT_TO_POINTER(0) },
    { "output", "first output", IFM_FIELD_TEXT, get_shape, GINT_TO_POINTER(1), .min_width = WIDEST },
    { "flop", "FLOP", IFM_FIELD_REAL, IFM_MEMBER_VIA(KernelRow, kernel, flop) },
    { "bytes", "bytes", IFM_FIELD_BYTES, get_bytes, .min_width = WIDE },
    { "coverage", "coverage", IFM_FIELD_TEXT, get_coverage, .min_width = WIDE },
    { "covers", "source nodes (first)", IFM_FIELD_TEXT, get_covers },
    { NULL },
};

/* --- models -------------------------------------------------------------------------------------------------------------
 */

/* ModelRow: how kernels cover a model. @n: kernels, by coverage */
typedef struct
{
    const IfmKernelRecords *records;
    gint64 n_kernels, n_distinct, n[IFM_COVERAGE_AMBIGUOUS + 1];
} ModelRow;

static void get_uncovered(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_integer(value, ((const ModelRow *)record)->records->uncovered->len);
}

/* Counters that are mostly 0: a screen shows those that are not. @user: which */
static void get_some(const void *record, const void *user, IfmValue *value)
{
    const ModelRow *row = record;
    const gint64 counts[] = { row->n[IFM_COVERAGE_GROUP], row->n[IFM_COVERAGE_INSERTED], row->n[IFM_COVERAGE_AMBIGUOUS],
                              row->records->n_folded,     row->records->n_covered_twice, row->records->uncovered->len };
    const gint64 count = counts[GPOINTER_TO_SIZE(user)];
    if (count > 0)
        ifm_value_set_integer(value, count);
}

#define OF_RECORDS(member, ...) IFM_MEMBER_VIA(ModelRow, records, member, ##__VA_ARGS__)
#define OF_ROW(member) IFM_MEMBER(ModelRow, member)
#define SOME(title_, place)                                                                                                \
    .key = (title_), .title = (title_), .kind = IFM_FIELD_INTEGER, .get = get_some, .user = GSIZE_TO_POINTER(place),       \
    .flags = IFM_FIELD_NO_EXPORT | IFM_FIELD_HIDE_EMPTY

static const IfmField model_fields[] = {
    { "model", "model", IFM_FIELD_TEXT, OF_RECORDS(model, .some = TRUE), IFM_FIELD_WHOLE | IFM_FIELD_KEY },
    { "device", "device", IFM_FIELD_TEXT, OF_RECORDS(device, .some = TRUE), IFM_FIELD_FOLD },
    { "runtime", "runtime", IFM_FIELD_TEXT, OF_RECORDS(runtime, .some = TRUE), IFM_FIELD_FOLD, .min_width = WIDE },
    { "level", "level", IFM_FIELD_TEXT, OF_RECORDS(level, .some = TRUE), IFM_FIELD_FOLD, .min_width = WIDE },
    { "settings", "settings", IFM_FIELD_TEXT, OF_RECORDS(settings, .some = TRUE), IFM_FIELD_HIDE_EMPTY },
    { "digest", "digest", IFM_FIELD_TEXT, OF_RECORDS(model_digest, .some = TRUE), IFM_FIELD_NO_SCREEN },
    { "nodes", "nodes", IFM_FIELD_INTEGER, OF_RECORDS(n_nodes) },
    { "kernels", "kernels", IFM_FIELD_INTEGER, OF_ROW(n_kernels) },
    { "distinct", "distinct", IFM_FIELD_INTEGER, OF_ROW(n_distinct) },
    { "exact", "exact", IFM_FIELD_INTEGER, OF_ROW(n[IFM_COVERAGE_EXACT]) },
    { "group", "group", IFM_FIELD_INTEGER, OF_ROW(n[IFM_COVERAGE_GROUP]), IFM_FIELD_NO_SCREEN },
    { "inserted", "inserted", IFM_FIELD_INTEGER, OF_ROW(n[IFM_COVERAGE_INSERTED]), IFM_FIELD_NO_SCREEN },
    { "ambiguous", "ambiguous", IFM_FIELD_INTEGER, OF_ROW(n[IFM_COVERAGE_AMBIGUOUS]), IFM_FIELD_NO_SCREEN },
    { "folded", "folded nodes", IFM_FIELD_INTEGER, OF_RECORDS(n_folded), IFM_FIELD_NO_SCREEN },
    { "covered_twice", "shared nodes", IFM_FIELD_INTEGER, OF_RECORDS(n_covered_twice), IFM_FIELD_NO_SCREEN },
    { "uncovered", "uncovered", IFM_FIELD_INTEGER, get_uncovered, NULL, IFM_FIELD_NO_SCREEN },
    { SOME("group", 0) },
    { SOME("inserted", 1) },
    { SOME("ambiguous", 2) },
    { SOME("folded nodes", 3) },
    { SOME("shared nodes", 4) },
    { SOME("uncovered", 5) },
    { "reason", "not opened", IFM_FIELD_TEXT, OF_RECORDS(reason, .some = TRUE), IFM_FIELD_HIDE_EMPTY },
    { NULL },
};

/* --- names over models --------------------------------------------------------------------------------------------------
 */

/* NameRow: a name of kernels, and where it is. */
typedef struct
{
    const char *name;
    gint64 n_kernels, n_distinct, n_models;
    const IfmKernelRecords *last; /* model that was counted */
} NameRow;

#define OF_NAME(member) IFM_MEMBER(NameRow, member)

static const IfmField name_fields[] = {
    { "kernel", "kernel", IFM_FIELD_TEXT, OF_NAME(name), IFM_FIELD_WHOLE | IFM_FIELD_KEY },
    { "count", "count", IFM_FIELD_INTEGER, OF_NAME(n_kernels) },
    { "distinct", "distinct in models", IFM_FIELD_INTEGER, OF_NAME(n_distinct) },
    { "models", "models", IFM_FIELD_INTEGER, OF_NAME(n_models) },
    { NULL },
};

static int compare_names(gconstpointer a, gconstpointer b)
{
    const NameRow *first = a, *second = b;
    return first->n_models != second->n_models
               ? (first->n_models < second->n_models ? 1 : -1)
               : (first->n_kernels < second->n_kernels) - (first->n_kernels > second->n_kernels);
}

/* @distinct: KernelRow, the rows of a model together    Returns: (transfer full) NameRow, most models first */
static GArray *names_of(const GArray *distinct)
{
    GArray *rows = g_array_new(FALSE, FALSE, sizeof(NameRow));
    for (guint i = 0; i < distinct->len; i++)
    {
        const KernelRow *kernel = &g_array_index(distinct, KernelRow, i);
        guint at = 0;
        while (at < rows->len && !g_str_equal(g_array_index(rows, NameRow, at).name, kernel->kernel->name))
            at++;
        const NameRow empty = { .name = kernel->kernel->name };
        if (at == rows->len)
            g_array_append_val(rows, empty);
        NameRow *row = &g_array_index(rows, NameRow, at);
        row->n_kernels += kernel->number;
        row->n_distinct++;
        row->n_models += row->last != kernel->records;
        row->last = kernel->records;
    }
    g_array_sort(rows, compare_names);
    return rows;
}

/* --- the pages ----------------------------------------------------------------------------------------------------------
 */

/* What a command line calls their model; NULL where it is not there. (transfer full) */
static char *place_of(const IfmKernelRecords *records)
{
    const char *source = records->source != NULL ? records->source : "";
    g_autofree char *folder = g_get_current_dir(), *here = g_strconcat(folder, "/", NULL);
    const gboolean is_zoo = g_str_has_prefix(source, IFM_ZOO_PREFIX);
    const char *before = is_zoo ? IFM_ZOO_PREFIX : here;
    if (!is_zoo && !g_file_test(source, G_FILE_TEST_EXISTS))
        return NULL;
    return g_strdup(source + (g_str_has_prefix(source, before) ? strlen(before) : 0));
}

char *ifm_kernel_records_command(const IfmKernelRecords *records, const char *verb, ...)
{
    g_autofree char *place = place_of(records);
    g_auto(GStrv) verbs = g_strsplit(verb, " ", -1),
                  sizes = g_strsplit(records->settings != NULL ? records->settings : "", ", ", -1);
    g_autoptr(GPtrArray) words = g_ptr_array_new();
    va_list list;
    if (place == NULL)
        return NULL;
    for (char **word = verbs; *word != NULL; word++)
        g_ptr_array_add(words, *word);
    g_ptr_array_add(words, place);
    for (char **size = sizes; *size != NULL; size++)
    {
        g_ptr_array_add(words, (gpointer) "--dim");
        g_ptr_array_add(words, *size);
    }
    va_start(list, verb);
    for (const char *word; (word = va_arg(list, const char *)) != NULL;)
        g_ptr_array_add(words, (gpointer)word);
    va_end(list);
    g_ptr_array_add(words, NULL);
    return ifm_say_words((const char *const *)words->pdata);
}

/* The command that extracts what is listed. (transfer full) */
static char *extraction_of(const IfmKernelRecords *records)
{
    const gboolean is_usual = g_strcmp0(records->device, "onnxruntime:CPU") == 0;
    return ifm_kernel_records_command(records, "kernels extract", "-o", "kernels", is_usual ? NULL : "-d", records->device,
                                      NULL);
}

/* How many kernels there are, of how many it is known which nodes they cover, and what none of them covers. */
static void add_headline(IfmDocument *document, const GArray *models, guint n_distinct)
{
    const IfmKernelRecords *first = NULL; /* that was opened */
    gint64 n_kernels = 0, n_nodes = 0, n_open = 0;
    gsize n_failed = 0;
    for (guint i = 0; i < models->len; i++)
    {
        const ModelRow *row = &g_array_index(models, ModelRow, i);
        g_autofree char *names = join(row->records->uncovered);
        n_failed += row->records->reason != NULL;
        if (row->records->reason != NULL)
            continue;
        first = first != NULL ? first : row->records;
        n_kernels += row->n_kernels;
        n_nodes += row->records->n_nodes;
        n_open += row->n[IFM_COVERAGE_AMBIGUOUS];
        if (names != NULL)
            ifm_document_check(document, IFM_TRUST_BAD, "%s: in no kernel, although their results are needed: %s",
                               row->records->model, names);
        ifm_document_provenance(document, "device", "%s", row->records->device);
        ifm_document_provenance(document, "runtime", "%s", row->records->runtime);
        ifm_document_provenance(document, "CPU", "%s", row->records->processor);
    }
    ifm_document_check_count(document, IFM_TRUST_CARE, n_failed, models->len, "could not be opened");
    if (first == NULL)
        return;
    const char *model = first->model;
    g_autofree char *command = extraction_of(first);
    ifm_document_subject(document, "%s%s · %" G_GINT64_FORMAT " node%s", model, models->len > 1 ? " and others" : "",
                         n_nodes, ifm_plural((gsize)n_nodes));
    ifm_document_verdict(
        document, "The runtime makes %" G_GINT64_FORMAT " kernel%s, %u of them distinct, of %" G_GINT64_FORMAT " node%s",
        n_kernels, ifm_plural((gsize)n_kernels), n_distinct, n_nodes, ifm_plural((gsize)n_nodes));
    ifm_document_check(document, n_open > 0 ? IFM_TRUST_CARE : IFM_TRUST_GOOD,
                       "of %" G_GINT64_FORMAT " kernel%s the source nodes are %sknown", n_open > 0 ? n_open : n_kernels,
                       ifm_plural((gsize)(n_open > 0 ? n_open : n_kernels)), n_open > 0 ? "not " : "");
    ifm_document_next(document, command, NULL, "Measure each by itself: extract them, then run them");
}

IfmDocument *ifm_kernels_document(const IfmKernelRecords *const *records, gsize n)
{
    IfmDocument *document = ifm_document_new("kernels", "Kernels");
    GArray *distinct = g_array_new(FALSE, FALSE, sizeof(KernelRow)), *models = g_array_new(FALSE, FALSE, sizeof(ModelRow));
    for (gsize i = 0; i < n; i++)
    {
        const guint before = distinct->len;
        g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(KernelRow));
        add_distinct(records[i], rows);
        g_array_append_vals(distinct, rows->data, rows->len);
        ModelRow model = { records[i], records[i]->kernels->len, distinct->len - before, { 0 } };
        for (guint k = 0; k < records[i]->kernels->len; k++)
            model.n[((const IfmKernelRecord *)records[i]->kernels->pdata[k])->coverage]++;
        g_array_append_val(models, model);
    }
    add_headline(document, models, distinct->len);
    ifm_document_heading(document, "Models: kernels by the source of their nodes");
    ifm_document_rows(document, "models", model_fields, models);
    if (n > 1)
    {
        ifm_document_heading(document, "Names");
        ifm_document_rows(document, "names", name_fields, names_of(distinct));
    }
    ifm_document_heading(document, "Kernels");
    ifm_document_rows(document, "kernels", kernel_fields, distinct);
    return document;
}

/* --- one kernel ---------------------------------------------------------------------------------------------------------
 */

static gboolean is_wanted(const IfmKernelRecord *record, const char *wanted)
{
    g_autofree char *stem = ifm_kernel_record_stem(record);
    return g_str_equal(record->name, wanted) || g_str_equal(stem, wanted) ||
           (strlen(wanted) >= 4 && g_str_has_prefix(record->digest, wanted));
}

/* "f32 1x64x56x56 'name'", a weight as such. */
static void add_tensors(IfmDocument *document, const char *what, const GPtrArray *tensors)
{
    for (guint i = 0; i < tensors->len; i++)
    {
        const IfmKernelTensor *tensor = tensors->pdata[i];
        g_autofree char *shape = shape_text(tensor);
        if (*tensor->name == '\0')
            ifm_document_fact(document, i == 0 ? what : "", "left out");
        else
            ifm_document_fact(document, i == 0 ? what : "", "%s%s%s%s '%s'", tensor->constant ? "constant " : "",
                              tensor->dtype, *tensor->dtype != '\0' ? " " : "", shape != NULL ? shape : "shape not known",
                              tensor->name);
    }
}

static void add_kernel(IfmDocument *document, const KernelRow *row)
{
    const IfmKernelRecord *kernel = row->kernel;
    g_autofree char *stem = ifm_kernel_record_stem(kernel), *attributes = ifm_json_canonical(kernel->attributes);
    g_autofree char *read = ifm_format_bytes((double)kernel->input_bytes);
    g_autofree char *weights = ifm_format_bytes((double)kernel->weight_bytes);
    g_autofree char *written = ifm_format_bytes((double)kernel->output_bytes);
    ifm_document_heading(document, stem);
    ifm_document_fact(document, "operator", "%s%s%s", kernel->domain, *kernel->domain != '\0' ? "." : "", kernel->op_type);
    ifm_document_fact(document, "attributes", "%s", attributes);
    add_tensors(document, "inputs", kernel->inputs);
    add_tensors(document, "outputs", kernel->outputs);
    if (isfinite(kernel->flop))
        ifm_document_fact(document, "FLOP", "%.17g", kernel->flop);
    ifm_document_fact(document, "bytes accessed", "%s in, %s of weights, %s out", read, weights, written);
    ifm_document_fact(document, "digest", "%s", kernel->digest);
}

static void get_place_depends(const void *record, const void *user, IfmValue *value)
{
    const GArray *depends = kernel_of(record)->depends;
    g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; i < depends->len; i++)
        g_ptr_array_add(texts, g_strdup_printf("%" G_GINT64_FORMAT, g_array_index(depends, gint64, i)));
    ifm_value_take_text(value, join(texts));
}

static const IfmField place_fields[] = {
    { "index", "kernel", IFM_FIELD_INTEGER, IFM_MEMBER(KernelRow, number), IFM_FIELD_KEY },
    { "digest", "digest", IFM_FIELD_TEXT, get_digest, NULL, IFM_FIELD_WHOLE | IFM_FIELD_FOLD },
    { "node", "node of the optimised graph", IFM_FIELD_TEXT, IFM_MEMBER_VIA(KernelRow, kernel, node, .some = TRUE) },
    { "coverage", "coverage", IFM_FIELD_TEXT, get_coverage, "plain" },
    { "covers", "source nodes", IFM_FIELD_TEXT, get_covers },
    { "depends", "after", IFM_FIELD_TEXT, get_place_depends },
    { NULL },
};

static void refuse_kernel(const IfmKernelRecords *records, const char *wanted, GError **error)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (guint i = 0; i < records->kernels->len; i++)
        g_ptr_array_add(names, ((const IfmKernelRecord *)records->kernels->pdata[i])->name);
    g_ptr_array_add(names, NULL);
    g_autofree char *hint = ifm_nearest_hint(wanted, (const char *const *)names->pdata);
    ifm_error_refuse(error, "%s has no kernel \"%s\"%s", records->model, wanted, hint);
    ifm_error_make_one_line(error);
}

IfmDocument *ifm_kernel_document(const IfmKernelRecords *records, const char *wanted, GError **error)
{
    g_autoptr(GArray) distinct = g_array_new(FALSE, FALSE, sizeof(KernelRow));
    GArray *places = g_array_new(FALSE, FALSE, sizeof(KernelRow));
    IfmDocument *document = ifm_document_new("kernel", wanted);
    add_distinct(records, distinct);
    for (guint i = 0; i < distinct->len; i++)
        if (is_wanted(g_array_index(distinct, KernelRow, i).kernel, wanted))
            add_kernel(document, &g_array_index(distinct, KernelRow, i));
    for (guint i = 0; i < records->kernels->len; i++)
    {
        const KernelRow row = { records, records->kernels->pdata[i], i };
        if (is_wanted(row.kernel, wanted))
            g_array_append_val(places, row);
    }
    const gboolean found = places->len > 0;
    ifm_document_heading(document, "In the model");
    ifm_document_rows(document, "places", place_fields, places);
    if (found)
        return document;
    ifm_document_free(document);
    refuse_kernel(records, wanted, error);
    return NULL;
}

/* --- the graph of kernels -----------------------------------------------------------------------------------------------
 */

json_t *ifm_kernel_dag_to_json(const IfmKernelRecords *records)
{
    json_t *document = ifm_json_begin("kernel-dag", 1), *kernels = json_array();
    for (guint i = 0; i < records->kernels->len; i++)
    {
        const IfmKernelRecord *kernel = records->kernels->pdata[i];
        g_autofree char *stem = ifm_kernel_record_stem(kernel);
        json_array_append_new(kernels,
                              json_pack("{s:i,s:o,s:o,s:o,s:o}", "index", (int)i, "kernel", ifm_json_string(kernel->name),
                                        "file", ifm_json_string(stem), "node", ifm_json_string(kernel->node), "depends",
                                        ifm_json_int64_array(kernel->depends)));
    }
    json_object_set_new(document, "model", ifm_json_string(records->model));
    json_object_set_new(document, "model_digest", ifm_json_string(records->model_digest));
    json_object_set_new(document, "device", ifm_json_string(records->device));
    json_object_set_new(document, "runtime", ifm_json_string(records->runtime));
    json_object_set_new(document, "kernels", kernels);
    return document;
}
