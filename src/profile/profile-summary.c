#include <math.h>
#include <string.h>

#include <base/fields.h>

#include "figures.h"
#include <document/words.h>

#include "profile-page-private.h"

/* What a profile shows of the whole: the model, its work, its memory, the machine's limit. */

/* "25,557,032" */
char *ifm_grouped(gint64 number)
{
    g_autofree char *digits = g_strdup_printf("%" G_GINT64_FORMAT, number);
    gsize length = strlen(digits);
    GString *text = g_string_new(NULL);
    for (gsize i = 0; i < length; i++)
        g_string_append_printf(text, "%s%c", i > 0 && (length - i) % 3 == 0 && digits[i - 1] != '-' ? "," : "", digits[i]);
    return g_string_free(text, FALSE);
}

/* "8.21 G" */
char *ifm_scaled(double number)
{
    static const char *const prefixes[] = { "", "k", "M", "G", "T", "P" };
    gsize prefix = 0;
    while (prefix + 1 < G_N_ELEMENTS(prefixes) && fabs(number) >= 999.5)
    {
        number /= 1000;
        prefix++;
    }
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    g_ascii_formatd(text, sizeof text, prefix == 0 ? "%.0f" : "%.3g", number);
    return g_strdup_printf("%s" IFM_NO_BREAK "%s", text, prefixes[prefix]);
}

/* --- the model ------------------------------------------------------------------------------------------------------- */

/* "data f32 [1, 3, 224, 224]"; what is not bound keeps its name. */
static void append_port(GString *out, const IfmProfileReport *report, const IfmPort *port)
{
    gint64 shape[IFM_MAX_RANK];
    g_string_append_printf(out, "%s" IFM_NO_BREAK "%s" IFM_NO_BREAK "[", port->name, ifm_dtype_name(port->dtype));
    gboolean bound = port->rank >= 0 && ifm_port_bind(port, report->bindings, report->n_bindings, shape, NULL);
    for (int i = 0; i < port->rank; i++)
    {
        g_string_append(out, i > 0 ? "," IFM_NO_BREAK : "");
        if (bound)
            g_string_append_printf(out, "%" G_GINT64_FORMAT, shape[i]);
        else
            g_string_append(out, port->dim_names[i] != NULL ? port->dim_names[i] : "?");
    }
    g_string_append(out, port->rank < 0 ? "?]" : "]");
}

#define MAX_INPUTS 8 /* in words */

/* Before a mode made its passes of it. */
static const IfmModel *given_model(const IfmProfileReport *report)
{
    return report->mode != NULL ? report->mode->model : report->model;
}

static void add_inputs(IfmDocument *document, const IfmProfileReport *report)
{
    g_autoptr(GString) text = g_string_new(NULL);
    const IfmModel *model = given_model(report);
    gsize n = ifm_model_n_inputs(model);
    for (gsize i = 0; i < n && i < MAX_INPUTS; i++)
    {
        g_string_append(text, i > 0 ? ", " : "");
        append_port(text, report, ifm_model_input(model, i));
    }
    if (n > MAX_INPUTS)
        g_string_append_printf(text, ", and %zu more", n - MAX_INPUTS);
    ifm_document_fact(document, "inputs", "%s", n > 0 ? text->str : "none");
}

/* " (i8 11.1 MiB, f32 79.1 KiB)", where parameters are stored in anything but f32. */
static void append_types(GString *text, const GArray *stored)
{
    gboolean plain = TRUE;
    for (guint i = 0; i < stored->len; i++)
    {
        const IfmStoredType *row = &g_array_index(stored, IfmStoredType, i);
        plain = plain && (row->n_parameters == 0 || g_str_equal(row->dtype, "f32"));
    }
    for (guint i = 0; i < stored->len && !plain; i++)
    {
        const IfmStoredType *row = &g_array_index(stored, IfmStoredType, i);
        g_autofree char *bytes = ifm_format_bytes((double)row->bytes);
        g_string_append_printf(text, "%s%s %s%s", i == 0 ? " (" : ", ", row->dtype, bytes, i + 1 == stored->len ? ")" : "");
    }
}

/* "31,432 trainable, 64 within branches and bodies, and 512 that are not (integers); 45.6 KiB as stored (i8 …)". @sized:
 * with the bytes */
static char *weights_of(const IfmModel *model, gboolean sized)
{
    g_autoptr(GArray) stored = ifm_model_stored(model);
    gint64 all = 0, integers = 0, n_bytes = 0;
    for (guint i = 0; i < stored->len; i++)
    {
        const IfmStoredType *row = &g_array_index(stored, IfmStoredType, i);
        all += row->n_parameters;
        integers += row->dtype[0] == 'i' || row->dtype[0] == 'u' ? row->n_parameters : 0;
        n_bytes += row->bytes;
    }
    const gint64 trainable = ifm_model_n_trainable(model), within = ifm_model_n_trainable_within(model);
    const gint64 more = all - trainable - within;
    g_autofree char *n_trainable = ifm_grouped(trainable), *n_within = ifm_grouped(within), *n_more = ifm_grouped(more);
    GString *text = g_string_new(NULL);
    g_string_printf(text, "%s trainable", n_trainable);
    if (within > 0)
        g_string_append_printf(text, ", %s within branches and bodies", n_within);
    if (more > 0)
        g_string_append_printf(text, ", and %s that are not (%s)", n_more,
                               integers == 0      ? "running statistics, scalars"
                               : integers == more ? "integers"
                                                  : "integers, running statistics, scalars");
    if (sized)
    {
        g_autofree char *bytes = ifm_format_bytes((double)n_bytes);
        g_string_append_printf(text, "; %s as stored", bytes);
        append_types(text, stored);
    }
    return g_string_free(text, FALSE);
}

void ifm_profile_add_model(IfmDocument *document, const IfmProfileReport *report)
{
    if (report->model == NULL)
        return;
    const IfmModel *model = given_model(report);
    const IfmAnalysis *analysis = report->mode != NULL ? report->mode->analysis : report->analysis;
    gsize n_nodes = ifm_model_n_nodes(model);
    ifm_document_fact(document, "model", "%s, opset %" G_GINT64_FORMAT ", %zu node%s", report->source,
                      ifm_model_opset(model), n_nodes, ifm_plural(n_nodes));
    g_autofree char *weights = weights_of(model, analysis != NULL);
    ifm_document_fact(document, "weights", "%s", weights);
    add_inputs(document, report);
    g_autofree char *mode = report->mode != NULL ? ifm_profile_mode_line(report) : NULL;
    if (mode != NULL)
        ifm_document_fact(document, "mode", "%s", mode);
    if (report->why_not_observed != NULL)
        ifm_document_fact(document, "shapes", "%s", report->why_not_observed);
}

/* --- its work -------------------------------------------------------------------------------------------------------- */

static void add_coverage(IfmDocument *document, const IfmProfileReport *report, const IfmCoverage *coverage)
{
    g_autoptr(GString) text = g_string_new(NULL);
    for (guint i = 0; coverage->missing != NULL && i < coverage->missing->len; i++)
        g_string_append_printf(text, "%s%s", i > 0 ? "; " : "not counted: ", (const char *)coverage->missing->pdata[i]);
    if (text->len > 0)
        ifm_document_fact(document, "", "%s", text->str);
    if (coverage->n_observed > 0 && report->observed_on != NULL)
        ifm_document_fact(document, "", "shapes of %zu tensor%s from a run on %s, since no rule gives them",
                          coverage->n_observed, ifm_plural(coverage->n_observed), report->observed_on);
    gsize n_contradicted;
    const char *contradiction = ifm_analysis_contradiction(report->analysis, &n_contradicted);
    if (contradiction != NULL)
        ifm_document_warning(document, "%s%s", contradiction,
                             n_contradicted > 1 ? "; further shapes are declared wrongly" : "");
}

/* What the work is that of. */
static const char *unit_of_work(const IfmProfileReport *report)
{
    if (report->mode == NULL)
        return "an inference";
    return report->mode->asked == IFM_PASS_STEP ? "a training step" : "a training pass";
}

#define BOUNDS_NAMED 4

/* "which branch of If 'a' runs", "which branch runs within Loop 'b'", "whether Dropout 'c' trains" */
static void add_bound(GString *text, const IfmNode *node)
{
    const gboolean is_if = g_str_equal(node->op_type, "If");
    g_string_append_printf(text, "%s%s" IFM_NO_BREAK "'%s'%s",
                           is_if                         ? "which branch of "
                           : ifm_node_has_subgraph(node) ? "which branch runs within "
                                                         : "whether ",
                           node->op_type, ifm_layer_name(node),
                           is_if                         ? " runs"
                           : ifm_node_has_subgraph(node) ? ""
                                                         : " trains");
}

/* Of which nodes only an upper bound is known. */
static void add_bounds(IfmDocument *document, const IfmProfileReport *report)
{
    g_autoptr(GString) text = g_string_new(NULL);
    gsize n = 0;
    for (gsize i = 0; i < ifm_model_n_nodes(report->model); i++)
    {
        if (!ifm_analysis_node_cost(report->analysis, i)->is_upper_bound || ++n > BOUNDS_NAMED)
            continue;
        g_string_append(text, n > 1 ? ", " : "upper bound: it is unknown ");
        add_bound(text, ifm_model_node(report->model, i));
    }
    if (n > BOUNDS_NAMED)
        g_string_append_printf(text, " and %zu more", n - BOUNDS_NAMED);
    if (n > 0)
        ifm_document_fact(document, "", "%s", text->str);
}

static void add_totals(IfmDocument *document, const IfmProfileReport *report)
{
    IfmNodeCost total;
    gsize n_covered;
    g_auto(IfmCoverage) coverage = { 0 };
    ifm_analysis_total(report->analysis, &total, &n_covered);
    ifm_analysis_coverage(report->analysis, &coverage);
    g_autofree char *flop = ifm_scaled((double)total.flop), *macs = ifm_scaled((double)total.macs);
    g_autoptr(GString) text = g_string_new(NULL);
    if (total.is_upper_bound && coverage.n_covered > 0)
        g_string_append_printf(text, "%supper bound %sFLOP, %sMAC %s%s; ",
                               coverage.n_covered < coverage.n_nodes ? "not known as a whole: " : "", flop, macs,
                               unit_of_work(report),
                               coverage.n_covered < coverage.n_nodes ? " in the nodes that are counted" : "");
    else if (coverage.n_covered == coverage.n_nodes)
        g_string_append_printf(text, "%sFLOP, %sMAC %s; ", flop, macs, unit_of_work(report));
    else if (coverage.n_covered == 0)
        g_string_append(text, "not known; ");
    else
        g_string_append_printf(text, "not known as a whole: %sFLOP, %sMAC %s in the nodes that are counted; ", flop, macs,
                               unit_of_work(report));
    if (coverage.n_nodes == 0)
        g_string_append(text, "it has no node");
    else if (coverage.n_covered == coverage.n_nodes && coverage.n_nodes <= 2)
        g_string_append(text, coverage.n_nodes == 1 ? "its one node is counted" : "both nodes are counted");
    else if (coverage.n_covered == coverage.n_nodes)
        g_string_append_printf(text, "all %zu nodes are counted", coverage.n_nodes);
    else
        g_string_append_printf(text, "%zu of %zu node%s %s counted, %zu of the %zu that may multiply and add",
                               coverage.n_covered, coverage.n_nodes, ifm_plural(coverage.n_nodes),
                               coverage.n_covered == 1 || coverage.n_nodes == 1 ? "is" : "are", coverage.n_mac_covered,
                               coverage.n_mac_nodes);
    ifm_document_fact(document, "work", "%s", text->str);
    add_bounds(document, report);
    add_coverage(document, report, &coverage);
}

/* WorkRow: a node, or a kind of nodes, by the model alone. */
typedef struct
{
    const char *name, *op_type;
    gsize n;
    IfmNodeCost cost;
    double share_ratio; /* of the FLOPs */
} WorkRow;

/* @user: the offset of a gint64 in IfmNodeCost. In millions. */
static void get_work_mega(const void *record, const void *user, IfmValue *value)
{
    const WorkRow *row = record;
    gint64 amount = G_STRUCT_MEMBER(gint64, &row->cost, GPOINTER_TO_SIZE(user));
    if (row->cost.covered)
        ifm_value_set_real(value, (double)amount / 1e6);
}

static void get_work_share(const void *record, const void *user, IfmValue *value)
{
    const WorkRow *row = record;
    if (row->cost.covered)
        ifm_value_set_real(value, row->share_ratio);
}

static void get_work_bytes(const void *record, const void *user, IfmValue *value)
{
    const WorkRow *row = record;
    if (row->cost.covered)
        ifm_value_set_real(value, (double)row->cost.bytes_read + (double)row->cost.bytes_written);
}

static void get_work_intensity(const void *record, const void *user, IfmValue *value)
{
    const WorkRow *row = record;
    double bytes = (double)row->cost.bytes_read + (double)row->cost.bytes_written;
    if (ifm_cost_is_exact(&row->cost) && row->cost.flop > 0 && bytes > 0)
        ifm_value_set_real(value, (double)row->cost.flop / bytes);
}

#define WORK(member) IFM_MEMBER(WorkRow, member)
#define COST(member) IFM_FIELD_AT(IfmNodeCost, member)
#define WORK_COLUMNS                                                                                                       \
    { "macs", "MMAC", IFM_FIELD_REAL, get_work_mega, COST(macs) },                                                         \
        { "flop", "MFLOP", IFM_FIELD_REAL, get_work_mega, COST(flop) },                                                    \
        { "share_ratio", "share", IFM_FIELD_RATIO, get_work_share }, { "bar", "", IFM_FIELD_BAR, get_work_share },         \
        { "bytes", "in and out", IFM_FIELD_BYTES, get_work_bytes },                                                        \
        { "intensity", "FLOP/B", IFM_FIELD_REAL, get_work_intensity },                                                     \
    {                                                                                                                      \
        NULL                                                                                                               \
    }

static const IfmField family_work_fields[] = {
    { "family", "family", IFM_FIELD_TEXT, WORK(name) },
    { "n", "nodes", IFM_FIELD_INTEGER, WORK(n) },
    WORK_COLUMNS,
};

static const IfmField node_work_fields[] = {
    { "name", "node", IFM_FIELD_TEXT, WORK(name) },
    { "op_type", "operator", IFM_FIELD_TEXT, WORK(op_type) },
    WORK_COLUMNS,
};

static gint compare_work(gconstpointer a, gconstpointer b)
{
    const WorkRow *x = a, *y = b;
    if (x->cost.covered != y->cost.covered) /* what is not known stands first */
        return x->cost.covered - y->cost.covered;
    return (x->cost.flop < y->cost.flop) - (x->cost.flop > y->cost.flop);
}

#define LEAST_ROWS 6 /* that a page shows which is shortened */

/* @rows: (transfer full) WorkRow */
static void add_work_table(IfmDocument *document, const char *key, GArray *rows, const IfmField *fields, gsize max)
{
    guint n = rows->len;
    g_array_sort(rows, compare_work);
    g_array_set_size(rows, (guint)MIN(n, max));
    ifm_document_part(document);
    if (rows->len == 0)
    {
        g_array_unref(rows);
        return;
    }
    ifm_document_rows(document, key, fields, rows)->least_rows = LEAST_ROWS;
    if (n > max)
        ifm_document_text(document, "(%zu others)", n - max);
}

static GArray *family_rows(const IfmProfileReport *report, double flop)
{
    GArray *rows = g_array_new(FALSE, TRUE, sizeof(WorkRow));
    for (int family = 0; family < IFM_N_FAMILIES; family++)
    {
        WorkRow row = { .name = ifm_kernel_family_words(ifm_family_name((IfmNodeFamily)family)) };
        gsize n_covered;
        ifm_analysis_family_total(report->analysis, (IfmNodeFamily)family, &row.cost, &n_covered);
        for (gsize i = 0; i < ifm_model_n_nodes(report->model); i++)
            row.n += ifm_analysis_node_cost(report->analysis, i)->family == (IfmNodeFamily)family;
        row.cost.covered = n_covered > 0;
        row.share_ratio = flop > 0 ? (double)row.cost.flop / flop : 0;
        if (row.n > 0)
            g_array_append_val(rows, row);
    }
    return rows;
}

static GArray *node_rows(const IfmProfileReport *report, double flop)
{
    GArray *rows = g_array_new(FALSE, TRUE, sizeof(WorkRow));
    for (gsize i = 0; i < ifm_model_n_nodes(report->model); i++)
    {
        const IfmNode *node = ifm_model_node(report->model, i);
        WorkRow row = { .name = ifm_layer_name(node),
                        .op_type = node->op_type,
                        .n = 1,
                        .cost = *ifm_analysis_node_cost(report->analysis, i) };
        row.share_ratio = flop > 0 ? (double)row.cost.flop / flop : 0;
        g_array_append_val(rows, row);
    }
    return rows;
}

/* Where there are times, the kernels are shown with those; else the model's own table of its layers. */
void ifm_profile_add_work(const IfmProfilePage *page)
{
    const IfmProfileReport *report = page->report;
    if (report->analysis == NULL || (report->parts & IFM_PROFILE_FLOPS) == 0)
        return;
    add_totals(page->document, report);
    ifm_profile_add_closed_form(page->document, report);
    if (report->n_devices > 0 && (report->parts & IFM_PROFILE_LAYERS) != 0)
        return;
    IfmNodeCost total;
    gsize n_covered;
    ifm_analysis_total(report->analysis, &total, &n_covered);
    ifm_document_detail(page->document, IFM_DETAIL_FAMILIES, "families of nodes");
    ifm_profile_add_parts(page, "parts", NULL);
    add_work_table(page->document, "families", family_rows(report, (double)total.flop), family_work_fields, G_MAXUINT);
    ifm_document_detail(page->document, IFM_DETAIL_KERNELS, "nodes");
    if (report->parts == IFM_PROFILE_FLOPS)
        add_work_table(page->document, "layers", node_rows(report, (double)total.flop), node_work_fields, report->n_layers);
    ifm_document_detail(page->document, IFM_DETAIL_REMARKS, "what is counted how");
    g_autofree char *lines = g_strjoinv("; ", (char **)ifm_cost_conventions());
    ifm_document_part(page->document);
    ifm_document_text(page->document, "counted so: %s", lines)->indent = 2;
    ifm_document_detail(page->document, 0, NULL);
}

/* --- memory ---------------------------------------------------------------------------------------------------------- */

static void get_memory_name(const void *record, const void *user, IfmValue *value)
{
    const IfmMemoryRow *row = record;
    ifm_value_take_text(value, *row->of != '\0' ? g_strdup_printf("%s: %s", row->of, row->name) : g_strdup(row->name));
}

static const IfmField memory_fields[] = {
    { "memory", "memory", IFM_FIELD_TEXT, get_memory_name, NULL, IFM_FIELD_WHOLE },
    { "bytes", "size", IFM_FIELD_BYTES, IFM_MEMBER(IfmMemoryRow, bytes) },
    { "meaning", "meaning", IFM_FIELD_TEXT, IFM_MEMBER(IfmMemoryRow, meaning), .min_width = 84 },
    { NULL },
};

/* By how much each process grew while it ran, beside the weights. */
static void add_memory_question(IfmDocument *document, const IfmProfileReport *report)
{
    g_autoptr(GArray) own = ifm_profile_memory_rows(report, NULL);
    const double weights = ifm_memory_row_bytes(own, "parameters");
    g_autofree char *size = ifm_say_bytes(weights);
    g_autoptr(GString) text = g_string_new(NULL);
    for (gsize i = 0; i < report->n_devices; i++)
    {
        const IfmMeasurement *measurement = ifm_result_measured(&report->devices[i].result);
        const double bytes =
            measurement != NULL ? ifm_member_number(measurement->memory, "process.growth_runs_bytes") : (double)NAN;
        g_autofree char *grew = ifm_say_bytes(bytes);
        if (isfinite(bytes))
            g_string_append_printf(text, "%s%s grew by %s", text->len > 0 ? ", that of " : "While it ran, the process of ",
                                   ifm_result_name(&report->devices[i].result), grew);
    }
    if (text->len > 0)
        ifm_document_question(document, "Memory?", "%s; the weights are %s.", text->str, size);
    else if (isfinite(weights))
        ifm_document_question(document, "Memory?", "The weights are %s.", size);
    else
        ifm_document_question(document, "Memory?", NULL);
}

/* With the runtimes that have no figures of their own, and why. */
void ifm_profile_add_memory(IfmDocument *document, const IfmProfileReport *report)
{
    if ((report->parts & IFM_PROFILE_MEMORY) == 0)
        return;
    GArray *rows = ifm_profile_memory_rows(report, NULL);
    for (gsize i = 0; i < report->n_devices; i++)
    {
        g_autoptr(GArray) more = ifm_profile_memory_rows(report, &report->devices[i]);
        for (guint row = 0; row < more->len && report->n_devices == 1; row++)
            g_array_index(more, IfmMemoryRow, row).of = ""; /* whose else */
        g_array_append_vals(rows, more->data, more->len);
    }
    guint n = rows->len;
    add_memory_question(document, report);
    ifm_document_rows(document, "memory", memory_fields, rows)->no_screen = n == 0;
    for (gsize i = 0; i < report->n_devices && n > 0; i++)
    {
        const IfmMeasurement *measurement = ifm_result_measured(&report->devices[i].result);
        const char *why = measurement != NULL ? ifm_member_text(measurement->memory, "engine_why") : NULL;
        g_autofree char *named = g_strconcat(report->devices[i].result.device, ": ", NULL); /* which the note has already */
        if (why != NULL)
            ifm_document_note(document, ifm_result_name(&report->devices[i].result), IFM_TONE_PLAIN,
                              "no count of the runtime's own: %s",
                              why + (g_str_has_prefix(why, named) ? strlen(named) : 0));
    }
    g_auto(IfmMemoryPlan) plan = { 0 };
    if (report->analysis != NULL)
        ifm_analysis_memory(report->analysis, &plan);
    if (plan.n_unknown > 0)
        ifm_document_text(document, "%zu tensor%s without a known shape: the activations are more than is shown here",
                          plan.n_unknown, ifm_plural(plan.n_unknown))
            ->indent = 2;
}

/* --- the machine's limit --------------------------------------------------------------------------------------------- */

static void add_peak(const IfmProfilePage *page, const IfmProfileDevice *device, const IfmKernels *kernels)
{
    IfmDocument *document = page->document;
    IfmRoofline roofline;
    IfmRoundsOfOne of;
    const char *name = ifm_result_name(&device->result);
    if (!ifm_roofline_of(device->peak, &roofline))
    {
        if (device->no_peak != NULL)
            ifm_document_text(document, "peak of %s: unknown: %s", name, device->no_peak);
        return;
    }
    g_autofree char *flop = ifm_scaled(roofline.flop_per_s), *bytes = ifm_scaled(roofline.bytes_per_s);
    const json_t *peak = ifm_measurement_result(device->peak, NULL);
    gboolean described = g_strcmp0(ifm_member_text(peak, "source"), "described") == 0;
    g_autoptr(GString) caches = g_string_new(NULL);
    for (gsize i = 0; i < roofline.n_caches; i++)
    {
        g_autofree char *held = ifm_format_bytes(roofline.caches[i].bytes),
                        *fast = ifm_scaled(roofline.caches[i].bytes_per_s);
        g_string_append_printf(caches, "%s%sB/s where a cache of %s holds it", i > 0 ? ", " : "; ", fast, held);
    }
    ifm_document_text(document, "peak of %s: %sFLOP/s (a matrix product), %sB/s (a triad over memory%s), %s", name, flop,
                      bytes, caches->str,
                      described             ? "as it is described"
                      : device->peak_stored ? "measured earlier"
                                            : "measured now");
    if (device->peak_doubt != NULL)
        ifm_document_span(document, IFM_TONE_PLAIN, FALSE,
                          ", and perhaps too low, also when it was measured again (%s; --new-peak measures it anew)",
                          device->peak_doubt);
    ifm_profile_time(page->report, device, &of);
    const double attained = ifm_profile_attained(kernels, of.median_ns);
    if (!isfinite(attained))
        return;
    g_autofree char *share = ifm_format_ratio(attained), *min = ifm_joined_duration(kernels->min_ns);
    ifm_document_span(document, IFM_TONE_PLAIN, FALSE, "; with all kernels at theirs an inference takes %s: it attains %s",
                      min, share);
}

void ifm_profile_add_peaks(const IfmProfilePage *page)
{
    gboolean any = FALSE;
    for (gsize i = 0; i < page->report->n_devices; i++)
        any |= page->report->devices[i].peak != NULL || page->report->devices[i].no_peak != NULL;
    if (!any)
        return;
    ifm_document_closed(page->document, "The peaks as they were measured");
    for (gsize i = 0; i < page->report->n_devices; i++)
        if (ifm_result_measured(&page->report->devices[i].result) != NULL)
            add_peak(page, &page->report->devices[i], page->kernels[i]);
}
