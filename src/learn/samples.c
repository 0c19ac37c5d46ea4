/* Samples of kernels: their table of columns, reading and writing. */
#include <math.h>
#include <string.h>

#include "learn-private.h"
#include <base/base.h>

static const char *const load_words[] = { "none", "gemm", "copy", "random", NULL };
static const char *const cores_words[] = { "", "same", "other", NULL };
G_STATIC_ASSERT(G_N_ELEMENTS(load_words) == IFM_N_LOAD_KINDS + 1);
G_STATIC_ASSERT(G_N_ELEMENTS(cores_words) == IFM_N_LOAD_CORES + 1);

#define TEXT(column, member) IFM_RECORD_AS(STRING, IfmKernelSample, member, column)
#define RANGE(column, member, low, high) IFM_RECORD_AS(DOUBLE, IfmKernelSample, member, column), .min = (low), .max = (high)
#define NUMBER(column, member) RANGE(column, member, 0, 1e18)
/* A tenth of a nanosecond to eleven days. */
#define MIN_MS 1e-7
#define MAX_MS 1e9
/* Clocks of processor time are coarse: a share may come out above 1. */
#define MAX_SHARE 1.1
/* Trees compare in single precision. */
#define MAX_METRIC 1e30
#define CHOICE(column, member, list) IFM_RECORD_AS(CHOICE, IfmKernelSample, member, column), .words = (list)

/* In the order of files; metrics follow Input_Shape. Required ones are in the header and in each row. */
static const IfmRecordField columns[] = {
    { TEXT("Kernel_ID", kernel_id), .required = TRUE, .help = "one kernel: operator, attributes and shapes" },
    { TEXT("OpType", op_type), .required = TRUE, .help = "what executes: Conv_Add_Relu" },
    { TEXT("Input_Shape", input_shape), .required = TRUE, .help = "of the first input: 1x64x56x56" },
    { RANGE("Latency_ms", latency_ms, MIN_MS, MAX_MS), .required = TRUE, .help = "mean of the repetition's runs" },
    { RANGE("Median_ms", median_ms, MIN_MS, MAX_MS), .help = "median of the repetition's runs" },
    { RANGE("Std_ms", std_ms, 0, MAX_MS), .help = "standard deviation of the repetition's runs" },
    { NUMBER("N", n), .help = "runs of the repetition" },
    { RANGE("CPU_ms", cpu_ms, 0, MAX_MS), .help = "median processor time of a run; empty where it is not known" },
    { RANGE("Undisturbed_ms", undisturbed_ms, MIN_MS, MAX_MS), .help = "median of the runs that were not interrupted" },
    { NUMBER("Interrupted", interrupted), .help = "runs that were" },
    { RANGE("Disturbed", disturbed, 0, 1), .help = "1: something else used the machine; such rows are not learnt from" },
    { NUMBER("Visit", visit), .help = "number of the repetition, from 0" },
    { RANGE("Threads", threads, 1, 1e6), .help = "threads of the kernel" },
    { CHOICE("Load_Kind", load_kind, load_words), .help = "none, gemm, copy or random" },
    { NUMBER("Load_Level", load_level), .help = "share of the time that the load asks for, 0 to 1" },
    { CHOICE("Load_Cores", load_cores, cores_words), .help = "same or other: whether the kernel's; empty without load" },
    { RANGE("Achieved_Load", achieved_load, 0, MAX_SHARE), .help = "share of the time that the load achieved, 0 to 1" },
    { RANGE("Idle_ms", idle_ms, MIN_MS, MAX_MS), .help = "mean without load in the same repetition" },
    { RANGE("Roofline_ms", roofline_ms, 0, MAX_MS), .help = "by peaks that were measured" },
    { TEXT("Configuration", configuration), .help = "kernel that the shape was varied from; data are split by it" },
    { TEXT("Models", models), .help = "models that the kernel is in: resnet18;resnet50; empty: a sampled shape" },
    { TEXT("Families", families), .help = "their families: residual;plain" },
    { NUMBER("Batch", features.batch), .help = "of the first input" },
    { NUMBER("Channels", features.channels), .help = "of the first input" },
    { NUMBER("Height", features.height), .help = "of the first input" },
    { NUMBER("Width", features.width), .help = "of the first input" },
    { NUMBER("Outputs", features.outputs), .help = "output channels" },
    { NUMBER("Kernel_Size", features.kernel_size), .help = "of a convolution or pooling" },
    { NUMBER("Stride", features.stride), .help = "of a convolution or pooling" },
    { NUMBER("Groups", features.groups), .help = "of a convolution" },
    { NUMBER("Dilation", features.dilation), .help = "of a convolution" },
    { NUMBER("M", features.m), .help = "rows of the matrix product that it comes to" },
    { NUMBER("K", features.k), .help = "inner size of that product" },
    { NUMBER("N_Columns", features.n), .help = "columns of that product" },
    { NUMBER("Inputs", features.inputs), .help = "tensors that are no weights" },
    { NUMBER("Axis", features.axis), .help = "that it works along, counted from the end: 1: the last" },
    { NUMBER("Order", features.order), .help = "of a transposition: 1342 for 0, 2, 3, 1" },
    { NUMBER("Reduced", features.reduced), .help = "numbers that become one" },
    { NUMBER("Run", features.run), .help = "numbers that lie together and go the same way" },
    { NUMBER("Layout", features.layout), .help = "0 plain, 1 channels in blocks, 2 channels last" },
    { NUMBER("Domain", features.domain), .help = "1: an operator of the runtime's own" },
    { NUMBER("FLOP", flop), .help = "of one run" },
    { NUMBER("Input_Bytes", input_bytes), .help = "read, without weights" },
    { NUMBER("Weight_Bytes", weight_bytes), .help = "of weights" },
    { NUMBER("Output_Bytes", output_bytes), .help = "written" },
    { NUMBER("Ring_Bytes", ring_bytes), .help = "of the copies that a run visits in turn" },
    { NUMBER("Working_Set_Bytes", working_set_bytes), .help = "of the model that these copies stand for" },
    { NUMBER("Cache_Bytes", cache_bytes), .help = "of the machine's last-level cache" },
    { TEXT("Machine", machine), .help = "its processor" },
    { NUMBER("Machine_FLOP_per_s", place.flop_per_s), .help = "its peak" },
    { NUMBER("Machine_Bytes_per_s", place.bytes_per_s), .help = "bandwidth of its memory" },
    { NUMBER("Machine_Cores", place.cores), .help = "that share the work of a kernel" },
    { NUMBER("Machine_Cache_Bytes", place.cache_bytes), .help = "its last level of cache" },
    { NUMBER("Machine_Cache_Bytes_per_s", place.cache_bytes_per_s), .help = "bandwidth of that cache" },
    { NUMBER("Machine_Clock_Hz", place.clock_hz), .help = "of a core" },
    { TEXT("Runtime", runtime), .help = "with its version: onnxruntime 1.31.1" },
    { TEXT("Device", device), .help = "as profile takes it: onnxruntime:CPU@0" },
    { TEXT("Level", level), .help = "of the optimisation of the graph that the kernel is from" },
    { NULL },
};

#define TEXT_AT(sample, column) (*(const char **)(void *)((char *)(sample) + (column)->offset))
#define NUMBER_AT(sample, column) (*(double *)(void *)((char *)(sample) + (column)->offset))
#define CHOICE_AT(sample, column) (*(int *)(void *)((char *)(sample) + (column)->offset))

struct IfmKernelSamples
{
    GArray *rows; /* IfmKernelSample */
    GPtrArray *metrics;
    GPtrArray *values; /* double*: of a row each */
    GStringChunk *texts;
};

void ifm_kernel_sample_init(IfmKernelSample *sample)
{
    *sample = (IfmKernelSample){ 0 };
    for (const IfmRecordField *column = columns; column->name != NULL; column++)
        if (column->type == IFM_RECORD_DOUBLE)
            NUMBER_AT(sample, column) = (double)NAN;
}

IfmKernelSample learn_sample_of(const IfmKernelRecord *record, int threads, double working_set_bytes)
{
    IfmKernelSample sample;
    ifm_kernel_sample_init(&sample);
    ifm_kernel_sample_describe(&sample, record);
    sample.threads = MAX(threads, 1);
    sample.working_set_bytes = working_set_bytes;
    return sample;
}

void ifm_kernel_sample_describe(IfmKernelSample *sample, const IfmKernelRecord *record)
{
    sample->op_type = record->name;
    ifm_kernel_features(record, &sample->features);
    sample->flop = record->flop;
    sample->input_bytes = (double)record->input_bytes;
    sample->weight_bytes = (double)record->weight_bytes;
    sample->output_bytes = (double)record->output_bytes;
}

/* --- in memory --------------------------------------------------------------------------------------------------------
 */

IfmKernelSamples *ifm_kernel_samples_new(const char *const *metrics)
{
    IfmKernelSamples *samples = g_new0(IfmKernelSamples, 1);
    samples->rows = g_array_new(FALSE, FALSE, sizeof(IfmKernelSample));
    samples->metrics = g_ptr_array_new();
    samples->values = g_ptr_array_new_with_free_func(g_free);
    samples->texts = g_string_chunk_new(4096);
    for (; metrics != NULL && *metrics != NULL; metrics++)
        g_ptr_array_add(samples->metrics, g_string_chunk_insert_const(samples->texts, *metrics));
    g_ptr_array_add(samples->metrics, NULL);
    return samples;
}

void ifm_kernel_samples_free(IfmKernelSamples *samples)
{
    if (samples == NULL)
        return;
    g_array_unref(samples->rows);
    g_ptr_array_unref(samples->metrics);
    g_ptr_array_unref(samples->values);
    g_string_chunk_free(samples->texts);
    g_free(samples);
}

void ifm_kernel_samples_add(IfmKernelSamples *samples, const IfmKernelSample *sample)
{
    IfmKernelSample copy = *sample;
    for (const IfmRecordField *column = columns; column->name != NULL; column++)
        if (column->type == IFM_RECORD_STRING && TEXT_AT(&copy, column) != NULL)
            TEXT_AT(&copy, column) = g_string_chunk_insert_const(samples->texts, TEXT_AT(&copy, column));
    if (copy.metrics != NULL)
    {
        double *values = g_memdup2(copy.metrics, (samples->metrics->len - 1) * sizeof(double));
        g_ptr_array_add(samples->values, values);
        copy.metrics = values;
    }
    g_array_append_val(samples->rows, copy);
}

gsize ifm_kernel_samples_n(const IfmKernelSamples *samples)
{
    return samples->rows->len;
}

const IfmKernelSample *ifm_kernel_samples_at(const IfmKernelSamples *samples, gsize row)
{
    g_return_val_if_fail(row < samples->rows->len, NULL);
    return &g_array_index(samples->rows, IfmKernelSample, row);
}

const char *const *ifm_kernel_samples_metrics(const IfmKernelSamples *samples)
{
    return (const char *const *)samples->metrics->pdata;
}

gsize ifm_kernel_samples_place(IfmKernelSamples *samples, const IfmMachine *machine)
{
    gsize n = 0;
    for (guint row = 0; row < samples->rows->len; row++)
    {
        IfmKernelSample *sample = &g_array_index(samples->rows, IfmKernelSample, row);
        if (g_strcmp0(sample->machine, machine->name) != 0)
            continue;
        sample->place = machine->features;
        n++;
    }
    return n;
}

/* Which metric of @of each of @samples is; -1: none. (transfer full) */
static int *find_metrics(const IfmKernelSamples *samples, const IfmKernelSamples *of)
{
    int *found = g_new(int, samples->metrics->len);
    for (guint i = 0; i + 1 < samples->metrics->len; i++)
    {
        found[i] = -1;
        for (guint k = 0; k + 1 < of->metrics->len; k++)
            if (g_str_equal(samples->metrics->pdata[i], of->metrics->pdata[k]))
                found[i] = (int)k;
    }
    return found;
}

static void add_matched(IfmKernelSamples *samples, const IfmKernelSamples *from, const int *found)
{
    const guint n = samples->metrics->len - 1;
    g_autofree double *values = g_new(double, n + 1);
    for (guint row = 0; row < from->rows->len; row++)
    {
        IfmKernelSample sample = *ifm_kernel_samples_at(from, row);
        for (guint i = 0; i < n; i++)
            values[i] = found[i] >= 0 && sample.metrics != NULL ? sample.metrics[found[i]] : (double)NAN;
        sample.metrics = values;
        ifm_kernel_samples_add(samples, &sample);
    }
}

void ifm_kernel_samples_append(IfmKernelSamples *samples, const IfmKernelSamples *more)
{
    g_autofree int *lacking = find_metrics(more, samples);
    const guint n_before = samples->metrics->len - 1;
    g_ptr_array_set_size(samples->metrics, (gint)n_before);
    for (guint i = 0; i + 1 < more->metrics->len; i++)
        if (lacking[i] < 0)
            g_ptr_array_add(samples->metrics, g_string_chunk_insert_const(samples->texts, more->metrics->pdata[i]));
    const guint n = samples->metrics->len;
    g_ptr_array_add(samples->metrics, NULL);
    for (guint row = 0; n > n_before && row < samples->rows->len; row++)
    {
        IfmKernelSample *sample = &g_array_index(samples->rows, IfmKernelSample, row);
        double *values = g_new(double, n);
        for (guint i = 0; i < n; i++)
            values[i] = i < n_before && sample->metrics != NULL ? sample->metrics[i] : (double)NAN;
        g_ptr_array_add(samples->values, values);
        sample->metrics = values;
    }
    g_autofree int *found = find_metrics(samples, more);
    add_matched(samples, more, found);
}

/* --- reading ------------------------------------------------------------------------------------------------------------
 */

/* Reader: where in the file each column of the table and each metric is; -1: nowhere. @sources: what they are in a file
 * with other names; NULL: it has ours    @texts: of a row of such a file */
typedef struct
{
    const IfmCsv *csv;
    const LearnColumns *sources;
    GStringChunk *texts;
    int at[G_N_ELEMENTS(columns)];
    gsize metrics[IFM_SAMPLES_MAX_METRICS];
    gsize n_metrics;
} Reader;

static gboolean fail(const Reader *reader, gsize row, GError **error, const char *format, ...) G_GNUC_PRINTF(4, 5);

static gboolean fail(const Reader *reader, gsize row, GError **error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    ifm_error_refuse(error, "%s:%zu: %s", ifm_csv_name(reader->csv), ifm_csv_line(reader->csv, row), text);
    ifm_error_make_one_line(error); /* the message quotes the file */
    return FALSE;
}

/* Of a file with other names. The identity of a kernel is made up where nothing is one. */
static gboolean check_sources(const Reader *reader, GError **error)
{
    for (gsize i = 0; columns[i].name != NULL; i++)
        if (columns[i].required && i > 0 && !learn_columns_has(reader->sources, columns[i].name))
            return ifm_error_misuse(error, "--columns: %s is not named: %s", columns[i].name, columns[i].help);
    return learn_columns_check(reader->sources, reader->csv, error);
}

static gboolean find_columns(Reader *reader, GError **error)
{
    if (reader->sources != NULL)
        return check_sources(reader, error);
    for (gsize i = 0; columns[i].name != NULL; i++)
    {
        gsize column = 0;
        g_autoptr(GError) missing = NULL;
        const gboolean found = ifm_csv_column(reader->csv, columns[i].name, &column, &missing);
        reader->at[i] = found ? (int)column : -1;
        if (found || !columns[i].required)
            continue;
        return ifm_error_pass(error, g_steal_pointer(&missing));
    }
    for (gsize k = 0; ifm_csv_header(reader->csv, k) != NULL; k++)
    {
        if (!g_str_has_prefix(ifm_csv_header(reader->csv, k), IFM_SAMPLE_METRIC_PREFIX))
            continue;
        if (reader->n_metrics == IFM_SAMPLES_MAX_METRICS)
            return ifm_error_refuse(error, "%s:1: more than %d columns of metrics", ifm_csv_name(reader->csv),
                                    IFM_SAMPLES_MAX_METRICS);
        reader->metrics[reader->n_metrics++] = k;
    }
    return TRUE;
}

static gboolean check_number(const Reader *reader, gsize row, const IfmRecordField *column, const double *value,
                             GError **error)
{
    if (column->min > 0 && *value <= 0)
        return fail(reader, row, error, "%s: found %g, expected a number above 0", column->name, *value);
    if (*value < 0)
        return fail(reader, row, error, "%s: found %g, expected 0 or more", column->name, *value);
    if (*value < column->min || *value > column->max)
        return fail(reader, row, error, "%s: found %g, expected %g to %g", column->name, *value, column->min, column->max);
    return TRUE;
}

static gboolean read_metric(const Reader *reader, gsize row, gsize at, double *value, GError **error)
{
    *value = (double)NAN;
    if (*ifm_csv_text(reader->csv, row, at) == '\0')
        return TRUE;
    if (!ifm_csv_number(reader->csv, row, at, value, error))
        return FALSE;
    return fabs(*value) <= MAX_METRIC || fail(reader, row, error, "%s: found %g, expected %g to %g",
                                              ifm_csv_header(reader->csv, at), *value, -MAX_METRIC, MAX_METRIC);
}

static gboolean read_text(const Reader *reader, gsize row, const IfmRecordField *column, const char *text,
                          IfmKernelSample *sample, GError **error)
{
    if (column->type == IFM_RECORD_STRING)
        TEXT_AT(sample, column) = text;
    else if ((CHOICE_AT(sample, column) = ifm_word_index(column->words, text)) < 0)
        return fail(reader, row, error, "%s: found \"%s\", expected %s", column->name, text, column->help);
    return TRUE;
}

static gboolean is_empty(const Reader *reader, gsize row, const IfmRecordField *column, GError **error)
{
    return !column->required || fail(reader, row, error, "%s is empty, expected %s", column->name, column->help);
}

static gboolean read_field(const Reader *reader, gsize row, gsize i, IfmKernelSample *sample, GError **error)
{
    const IfmRecordField *column = &columns[i];
    const char *text = reader->at[i] >= 0 ? ifm_csv_text(reader->csv, row, (gsize)reader->at[i]) : "";
    if (*text == '\0')
        return is_empty(reader, row, column, error);
    if (column->type != IFM_RECORD_DOUBLE)
        return read_text(reader, row, column, text, sample, error);
    return ifm_csv_number(reader->csv, row, (gsize)reader->at[i], &NUMBER_AT(sample, column), error) &&
           check_number(reader, row, column, &NUMBER_AT(sample, column), error);
}

static gboolean read_source(const Reader *reader, gsize row, const IfmRecordField *column, IfmKernelSample *sample,
                            GError **error)
{
    if (column->type != IFM_RECORD_DOUBLE)
    {
        g_autofree char *text = learn_columns_text(reader->sources, reader->csv, row, column->name);
        if (text == NULL)
            return column == columns || is_empty(reader, row, column, error);
        return read_text(reader, row, column, g_string_chunk_insert(reader->texts, text), sample, error);
    }
    double *value = &NUMBER_AT(sample, column);
    if (!learn_columns_number(reader->sources, reader->csv, row, column->name, value, error))
        return FALSE;
    return isnan(*value) ? is_empty(reader, row, column, error) : check_number(reader, row, column, value, error);
}

/* A table of one operator leaves out the sizes that this has not, which are 0 in records. */
static void fill_sizes(const Reader *reader, IfmKernelSample *sample)
{
    for (const IfmRecordField *column = columns; column->name != NULL; column++)
        if (column->type == IFM_RECORD_DOUBLE && column->offset >= offsetof(IfmKernelSample, features) &&
            column->offset < offsetof(IfmKernelSample, flop) && !learn_columns_has(reader->sources, column->name))
            NUMBER_AT(sample, column) = 0;
}

/* Rows of one operator with all sizes alike are of one kernel. */
static void identify(const Reader *reader, IfmKernelSample *sample)
{
    g_autoptr(GString) id = g_string_new(sample->op_type);
    g_string_append_printf(id, " %s", sample->input_shape);
    for (const IfmRecordField *column = columns; column->name != NULL; column++)
        if (column->type == IFM_RECORD_DOUBLE && column->offset >= offsetof(IfmKernelSample, features) &&
            column->offset < offsetof(IfmKernelSample, machine))
            g_string_append_printf(id, " %.9g", NUMBER_AT(sample, column));
    sample->kernel_id = g_string_chunk_insert(reader->texts, id->str);
}

/* What no column says alone. */
static gboolean check_load(const Reader *reader, gsize row, const IfmKernelSample *sample, GError **error)
{
    if (sample->load_level > 1)
        return fail(reader, row, error, "Load_Level: found %g, expected a share from 0 to 1", sample->load_level);
    if (sample->load_kind == IFM_LOAD_NONE)
        return !(sample->load_level > 0) ||
               fail(reader, row, error, "Load_Level is %g, but Load_Kind is none", sample->load_level);
    if (isnan(sample->load_level))
        return fail(reader, row, error, "Load_Level is empty, but Load_Kind is %s", load_words[sample->load_kind]);
    return sample->load_cores != IFM_LOAD_CORES_NONE ||
           fail(reader, row, error, "Load_Cores is empty, but Load_Kind is %s, expected same or other",
                load_words[sample->load_kind]);
}

static gboolean read_row(const Reader *reader, gsize row, IfmKernelSamples *samples, GError **error)
{
    IfmKernelSample sample;
    double metrics[IFM_SAMPLES_MAX_METRICS];
    ifm_kernel_sample_init(&sample);
    for (gsize i = 0; columns[i].name != NULL; i++)
        if (reader->sources != NULL ? !read_source(reader, row, &columns[i], &sample, error)
                                    : !read_field(reader, row, i, &sample, error))
            return FALSE;
    if (reader->sources != NULL)
        fill_sizes(reader, &sample);
    if (sample.kernel_id == NULL)
        identify(reader, &sample);
    for (gsize i = 0; i < reader->n_metrics; i++)
        if (!read_metric(reader, row, reader->metrics[i], &metrics[i], error))
            return FALSE;
    sample.metrics = reader->n_metrics > 0 ? metrics : NULL;
    if (!check_load(reader, row, &sample, error))
        return FALSE;
    ifm_kernel_samples_add(samples, &sample);
    g_string_chunk_clear(reader->texts);
    return TRUE;
}

IfmKernelSamples *learn_samples_from_csv(const IfmCsv *csv, const LearnColumns *sources, GError **error)
{
    g_autoptr(GStringChunk) texts = g_string_chunk_new(1024);
    Reader reader = { .csv = csv, .sources = sources, .texts = texts };
    if (!find_columns(&reader, error))
        return NULL;
    const gsize n = ifm_csv_n_rows(csv);
    if (n == 0 || n > IFM_SAMPLES_MAX_ROWS)
    {
        ifm_error_refuse(error, "%s: %zu rows, expected 1 to %d", ifm_csv_name(csv), n, IFM_SAMPLES_MAX_ROWS);
        return NULL;
    }
    const char *names[IFM_SAMPLES_MAX_METRICS + 1] = { NULL };
    for (gsize i = 0; i < reader.n_metrics; i++)
        names[i] = ifm_csv_header(csv, reader.metrics[i]);
    g_autoptr(IfmKernelSamples) samples = ifm_kernel_samples_new(names);
    for (gsize row = 0; row < n; row++)
        if (!read_row(&reader, row, samples, error))
            return NULL;
    return g_steal_pointer(&samples);
}

IfmKernelSamples *ifm_kernel_samples_read_as(const char *path, const char *names, GError **error)
{
    g_autoptr(LearnColumns) sources = names != NULL ? learn_columns_parse(names, columns, error) : NULL;
    g_autoptr(IfmCsv) csv = names == NULL || sources != NULL ? ifm_csv_open(path, error) : NULL;
    return csv != NULL ? learn_samples_from_csv(csv, sources, error) : NULL;
}

IfmKernelSamples *ifm_kernel_samples_read(const char *path, GError **error)
{
    return ifm_kernel_samples_read_as(path, NULL, error);
}

/* --- writing ------------------------------------------------------------------------------------------------------------
 */

static void append_number(GString *out, double value)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    if (!isfinite(value))
        return;
    if (g_ascii_strtod(g_ascii_formatd(text, sizeof text, "%.15g", value), NULL) != value)
        g_ascii_dtostr(text, sizeof text, value);
    g_string_append(out, text);
}

static void append_field(GString *out, const IfmRecordField *column, const IfmKernelSample *sample)
{
    const char *field = (const char *)sample + column->offset;
    if (column->type == IFM_RECORD_DOUBLE)
        append_number(out, *(const double *)(const void *)field);
    else if (column->type == IFM_RECORD_CHOICE)
        g_string_append(out, column->words[*(const int *)(const void *)field]);
    else if (*(const char *const *)(const void *)field != NULL)
        ifm_csv_append(out, *(const char *const *)(const void *)field);
}

char *ifm_kernel_samples_to_csv(const IfmKernelSamples *samples)
{
    GString *out = g_string_new(NULL);
    const guint n_metrics = samples->metrics->len - 1;
    for (const IfmRecordField *column = columns; column->name != NULL; column++)
    {
        g_string_append_printf(out, "%s%s", column == columns ? "" : ",", column->name);
        for (guint i = 0; column->offset == offsetof(IfmKernelSample, input_shape) && i < n_metrics; i++)
        {
            g_string_append_c(out, ',');
            ifm_csv_append(out, samples->metrics->pdata[i]);
        }
    }
    g_string_append_c(out, '\n');
    for (guint row = 0; row < samples->rows->len; row++)
    {
        const IfmKernelSample *sample = ifm_kernel_samples_at(samples, row);
        for (const IfmRecordField *column = columns; column->name != NULL; column++)
        {
            if (column != columns)
                g_string_append_c(out, ',');
            append_field(out, column, sample);
            for (guint i = 0; column->offset == offsetof(IfmKernelSample, input_shape) && i < n_metrics; i++)
            {
                g_string_append_c(out, ',');
                append_number(out, sample->metrics != NULL ? sample->metrics[i] : (double)NAN);
            }
        }
        g_string_append_c(out, '\n');
    }
    return g_string_free(out, FALSE);
}
