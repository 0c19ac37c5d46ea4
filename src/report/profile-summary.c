#include <math.h>
#include <string.h>

#include "profile-private.h"

/* What a profile tells of the whole: the model, its work, its memory, the machine's limit. */

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
    g_ascii_formatd(text, sizeof text, prefix == 0 ? "%.0f" : "%.4g", number);
    return g_strdup_printf("%s" IFM_NO_BREAK "%s", text, prefixes[prefix]);
}

static const char *plural(gsize n)
{
    return n == 1 ? "" : "s";
}

/* --- the model ------------------------------------------------------------------------------------------------------- */

/* "data f32 [1, 3, 224, 224]"; what is not bound keeps its name. */
static void append_port(GString *out, const IfmProfileStory *story, const IfmPort *port)
{
    gint64 shape[IFM_MAX_RANK];
    g_string_append_printf(out, "%s" IFM_NO_BREAK "%s" IFM_NO_BREAK "[", port->name, ifm_dtype_name(port->dtype));
    gboolean bound = port->rank >= 0 && ifm_port_bind(port, story->bindings, story->n_bindings, shape, NULL);
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

void ifm_page_labelled(GString *out, const char *label, const char *text, const IfmScreen *screen)
{
    g_autofree char *spelt = ifm_format_spelt(text, screen->utf8);
    g_autofree char *line = g_strdup_printf("%-9s %s", label, spelt);
    ifm_format_wrap(out, line, 10, 0, screen->width);
}

#define MOST_INPUTS 8 /* in words */

/* Before a mode made its passes of it. */
static const IfmModel *given_model(const IfmProfileStory *story)
{
    return story->mode != NULL ? story->mode->model : story->model;
}

static void append_inputs(GString *out, const IfmProfileStory *story, const IfmScreen *screen)
{
    g_autoptr(GString) text = g_string_new(NULL);
    const IfmModel *model = given_model(story);
    gsize n = ifm_model_n_inputs(model);
    for (gsize i = 0; i < n && i < MOST_INPUTS; i++)
    {
        g_string_append(text, i > 0 ? ", " : "");
        append_port(text, story, ifm_model_input(model, i));
    }
    if (n > MOST_INPUTS)
        g_string_append_printf(text, ", and %" G_GSIZE_FORMAT " more", n - MOST_INPUTS);
    ifm_page_labelled(out, "inputs", n > 0 ? text->str : "none", screen);
}

void ifm_profile_model(GString *out, const IfmProfileStory *story, const IfmScreen *screen)
{
    if (story->model == NULL)
        return;
    const IfmModel *model = given_model(story);
    const IfmAnalysis *analysis = story->mode != NULL ? story->mode->analysis : story->analysis;
    gint64 trainable = ifm_model_n_trainable(model), all = ifm_model_n_parameters(model);
    g_autofree char *n_trainable = ifm_grouped(trainable), *n_more = ifm_grouped(all - trainable);
    g_autoptr(GString) text = g_string_new(NULL);
    gsize n_nodes = ifm_model_n_nodes(model);
    g_string_append_printf(text, "%s, opset %" G_GINT64_FORMAT ", %" G_GSIZE_FORMAT " node%s", story->source,
                           ifm_model_opset(model), n_nodes, plural(n_nodes));
    ifm_page_labelled(out, "model", text->str, screen);
    g_string_printf(text, "%s trainable", n_trainable);
    if (all > trainable)
        g_string_append_printf(text, ", and %s that are not (running statistics, scalars)", n_more);
    if (analysis != NULL)
    {
        g_auto(IfmMemoryPlan) plan = { 0 };
        ifm_analysis_memory(analysis, &plan);
        g_autofree char *bytes = ifm_format_bytes((double)plan.parameter_bytes);
        g_string_append_printf(text, "; %s as stored", bytes);
    }
    ifm_page_labelled(out, "weights", text->str, screen);
    append_inputs(out, story, screen);
    g_autofree char *mode = story->mode != NULL ? ifm_profile_mode_line(story) : NULL;
    if (mode != NULL)
        ifm_page_labelled(out, "mode", mode, screen);
}

/* What a node is called; a nameless one by what it makes. */
static const char *work_name(const IfmNode *node)
{
    return *node->name != '\0' ? node->name : node->n_outputs > 0 ? node->outputs[0] : "";
}

/* --- its work -------------------------------------------------------------------------------------------------------- */

static void append_coverage(GString *out, const IfmProfileStory *story, const IfmCoverage *coverage,
                            const IfmScreen *screen)
{
    g_autoptr(GString) text = g_string_new(NULL);
    for (guint i = 0; coverage->missing != NULL && i < coverage->missing->len; i++)
        g_string_append_printf(text, "%s%s", i > 0 ? "; " : "not counted: ", (const char *)coverage->missing->pdata[i]);
    if (text->len > 0)
        ifm_page_labelled(out, "", text->str, screen);
    g_string_truncate(text, 0);
    if (coverage->n_observed > 0 && story->observed_on != NULL)
        g_string_printf(text, "shapes of %" G_GSIZE_FORMAT " tensor%s from a run on %s, since no rule tells them",
                        coverage->n_observed, plural(coverage->n_observed), story->observed_on);
    else if (story->why_not_observed != NULL)
        g_string_printf(text, "no run told the missing shapes: %s", story->why_not_observed);
    if (text->len > 0)
        ifm_page_labelled(out, "", text->str, screen);
}

/* What the work is that of. */
static const char *unit_of_work(const IfmProfileStory *story)
{
    if (story->mode == NULL)
        return "an inference";
    return story->mode->asked == IFM_PASS_STEP ? "a training step" : "a training pass";
}

#define BOUNDS_NAMED 4

/* Of which nodes only an upper bound is known. */
static void append_bounds(GString *out, const IfmProfileStory *story, const IfmScreen *screen)
{
    g_autoptr(GString) text = g_string_new(NULL);
    gsize n = 0;
    for (gsize i = 0; i < ifm_model_n_nodes(story->model); i++)
    {
        const IfmNode *node = ifm_model_node(story->model, i);
        if (!ifm_analysis_node_cost(story->analysis, i)->at_most || ++n > BOUNDS_NAMED)
            continue;
        g_string_append_printf(text, "%s%s" IFM_NO_BREAK "'%s'",
                               n > 1 ? ", " : "at most: which branch runs is not known of ", node->op_type,
                               work_name(node));
    }
    if (n > BOUNDS_NAMED)
        g_string_append_printf(text, " and %" G_GSIZE_FORMAT " more", n - BOUNDS_NAMED);
    if (n > 0)
        ifm_page_labelled(out, "", text->str, screen);
}

static void append_totals(GString *out, const IfmProfileStory *story, const IfmScreen *screen)
{
    IfmNodeCost total;
    gsize n_covered;
    g_auto(IfmCoverage) coverage = { 0 };
    ifm_analysis_total(story->analysis, &total, &n_covered);
    ifm_analysis_coverage(story->analysis, &coverage);
    g_autofree char *flop = ifm_scaled((double)total.flop), *macs = ifm_scaled((double)total.macs);
    g_autoptr(GString) text = g_string_new(NULL);
    if (total.at_most && coverage.n_covered > 0)
        g_string_append_printf(
            text, "%sat most %sFLOP, %sMAC %s%s; ", coverage.n_covered < coverage.n_nodes ? "not known as a whole: " : "",
            flop, macs, unit_of_work(story), coverage.n_covered < coverage.n_nodes ? " in the nodes that are counted" : "");
    else if (coverage.n_covered == coverage.n_nodes)
        g_string_append_printf(text, "%sFLOP, %sMAC %s; ", flop, macs, unit_of_work(story));
    else if (coverage.n_covered == 0)
        g_string_append(text, "not known; ");
    else
        g_string_append_printf(text, "not known as a whole: %sFLOP, %sMAC %s in the nodes that are counted; ", flop, macs,
                               unit_of_work(story));
    if (coverage.n_covered == coverage.n_nodes && coverage.n_nodes == 1)
        g_string_append(text, "its one node is counted");
    else if (coverage.n_covered == coverage.n_nodes)
        g_string_append_printf(text, "all %" G_GSIZE_FORMAT " nodes are counted", coverage.n_nodes);
    else
        g_string_append_printf(text,
                               "%" G_GSIZE_FORMAT " of %" G_GSIZE_FORMAT " nodes are counted, %" G_GSIZE_FORMAT
                               " of the %" G_GSIZE_FORMAT " that may multiply and add",
                               coverage.n_covered, coverage.n_nodes, coverage.n_mac_covered, coverage.n_mac_nodes);
    ifm_page_labelled(out, "work", text->str, screen);
    append_bounds(out, story, screen);
    append_coverage(out, story, &coverage, screen);
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

#define WORK(member) IFM_FIELD_AT(WorkRow, member)
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
    { "family", "family", IFM_FIELD_TEXT, ifm_field_get_text, WORK(name) },
    { "n", "nodes", IFM_FIELD_INTEGER, ifm_field_get_count, WORK(n) },
    WORK_COLUMNS,
};

static const IfmField node_work_fields[] = {
    { "name", "node", IFM_FIELD_TEXT, ifm_field_get_text, WORK(name) },
    { "op_type", "operator", IFM_FIELD_TEXT, ifm_field_get_text, WORK(op_type) },
    WORK_COLUMNS,
};

static gint compare_work(gconstpointer a, gconstpointer b)
{
    const WorkRow *x = a, *y = b;
    if (x->cost.covered != y->cost.covered) /* what is not known stands first */
        return x->cost.covered - y->cost.covered;
    return (x->cost.flop < y->cost.flop) - (x->cost.flop > y->cost.flop);
}

static void print_work(GString *out, GArray *rows, const IfmField *fields, gsize most, const IfmScreen *screen)
{
    g_autoptr(GPtrArray) records = g_ptr_array_new();
    g_array_sort(rows, compare_work);
    for (guint i = 0; i < rows->len && i < most; i++)
        g_ptr_array_add(records, &g_array_index(rows, WorkRow, i));
    if (records->len == 0)
        return;
    g_string_append_c(out, '\n');
    ifm_page_table(out, fields, records, screen);
    if (rows->len > records->len)
        g_string_append_printf(out, "(%u others)\n", rows->len - records->len);
}

static GArray *family_rows(const IfmProfileStory *story, double flop)
{
    GArray *rows = g_array_new(FALSE, TRUE, sizeof(WorkRow));
    for (int family = 0; family < IFM_N_FAMILIES; family++)
    {
        WorkRow row = { .name = ifm_family_name((IfmNodeFamily)family) };
        gsize n_covered;
        ifm_analysis_family_total(story->analysis, (IfmNodeFamily)family, &row.cost, &n_covered);
        for (gsize i = 0; i < ifm_model_n_nodes(story->model); i++)
            row.n += ifm_analysis_node_cost(story->analysis, i)->family == (IfmNodeFamily)family;
        row.cost.covered = n_covered > 0;
        row.share_ratio = flop > 0 ? (double)row.cost.flop / flop : 0;
        if (row.n > 0)
            g_array_append_val(rows, row);
    }
    return rows;
}

static GArray *node_rows(const IfmProfileStory *story, double flop)
{
    GArray *rows = g_array_new(FALSE, TRUE, sizeof(WorkRow));
    for (gsize i = 0; i < ifm_model_n_nodes(story->model); i++)
    {
        const IfmNode *node = ifm_model_node(story->model, i);
        WorkRow row = {
            .name = work_name(node), .op_type = node->op_type, .n = 1, .cost = *ifm_analysis_node_cost(story->analysis, i)
        };
        row.share_ratio = flop > 0 ? (double)row.cost.flop / flop : 0;
        g_array_append_val(rows, row);
    }
    return rows;
}

static void append_conventions(GString *out, const IfmScreen *screen)
{
    const char *const *lines = ifm_cost_conventions();
    g_autoptr(GString) text = g_string_new("counted so: ");
    for (gsize i = 0; lines[i] != NULL; i++)
        g_string_append_printf(text, "%s%s", i > 0 ? "; " : "", lines[i]);
    g_string_append_c(out, '\n');
    g_autofree char *spelt = ifm_format_spelt(text->str, screen->utf8);
    ifm_format_wrap(out, spelt, 2, 0, screen->width);
}

/* Where times are told, too, the layers stand with those; else the model's own table of them. */
void ifm_profile_work(GString *out, const IfmProfileStory *story, const IfmScreen *screen)
{
    if (story->analysis == NULL || (story->parts & IFM_PROFILE_FLOPS) == 0)
        return;
    append_totals(out, story, screen);
    ifm_profile_closed_form(out, story, screen);
    if (story->n_devices > 0 && (story->parts & IFM_PROFILE_LAYERS) != 0)
        return;
    IfmNodeCost total;
    gsize n_covered;
    ifm_analysis_total(story->analysis, &total, &n_covered);
    ifm_profile_parts_table(out, story, NULL, screen);
    g_autoptr(GArray) families = family_rows(story, (double)total.flop);
    print_work(out, families, family_work_fields, families->len, screen);
    if (story->parts == IFM_PROFILE_FLOPS)
    {
        g_autoptr(GArray) nodes = node_rows(story, (double)total.flop);
        print_work(out, nodes, node_work_fields, story->n_layers, screen);
    }
    append_conventions(out, screen);
}

/* --- memory ---------------------------------------------------------------------------------------------------------- */

void ifm_memory_row_add(GArray *rows, const char *of, const char *key, const char *name, double bytes, const char *meaning)
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
    ifm_memory_row_add(rows, "", "parameters", "parameters", (double)mode->parameter_bytes,
                       "weights, as the model stores them");
    ifm_memory_row_add(rows, "", "activations_held", "activations, held", (double)mode->held_bytes,
                       "alive when the backward pass begins, inputs too");
    ifm_memory_row_add(rows, "", "gradients", "gradients", (double)mode->gradient_bytes, "of the weights, all together");
    if (mode->optimiser != NULL)
        ifm_memory_row_add(rows, "", "optimizer_state", "optimiser's state", (double)mode->state_bytes,
                           "what it keeps from step to step");
}

static void add_model_memory(GArray *rows, const IfmProfileStory *story)
{
    g_auto(IfmMemoryPlan) plan = { 0 };
    ifm_analysis_memory(story->analysis, &plan);
    if (story->mode != NULL)
        add_training_memory(rows, story->mode);
    else
        ifm_memory_row_add(rows, "", "parameters", "parameters", (double)plan.parameter_bytes,
                           "weights, as the model stores them");
    ifm_memory_row_add(rows, "", "activations_least", "activations, least", (double)plan.peak_bytes,
                       "the most alive at once, by the shapes");
    ifm_memory_row_add(rows, "", "activations_placed", "activations, placed", (double)plan.arena_bytes,
                       "the same in one arena, placed greedily");
    if (story->mode == NULL)
        ifm_memory_row_add(rows, "", "activations_kept", "activations, all kept",
                           (double)plan.input_bytes + (double)plan.activation_bytes,
                           "inputs too, none freed, as for a backward pass");
    ifm_profile_attention_rows(rows, story);
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
        { "engine.peak_bytes", "engine_peak", "allocator, peak", "the most it ever held" },
        { "engine.reserved_bytes", "engine_reserved", "allocator, reserved", "taken from the system for that" },
        { "device.in_use_bytes", "device_in_use", "device memory, in use", "the same of the device's own memory" },
        { "device.peak_bytes", "device_peak", "device memory, peak", "the most it ever held there" },
        { "device.reserved_bytes", "device_reserved", "device memory, reserved", "taken of it for that" },
        { "process.growth_compile_bytes", "process_compiling", "process, compiling",
          "its process's most, less before compiling" },
        { "process.growth_runs_bytes", "process_running", "process, running", "the most while it ran, less the same" },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(figures); i++)
        ifm_memory_row_add(rows, of, figures[i].key, figures[i].name, ifm_member_number(memory, figures[i].path),
                           figures[i].meaning);
}

GArray *ifm_profile_memory_rows(const IfmProfileStory *story, const IfmProfileDevice *device)
{
    GArray *rows = g_array_new(FALSE, FALSE, sizeof(IfmMemoryRow));
    if (device != NULL)
        add_device_memory(rows, device);
    else if (story->analysis != NULL)
        add_model_memory(rows, story);
    return rows;
}

static void get_memory_name(const void *record, const void *user, IfmValue *value)
{
    const IfmMemoryRow *row = record;
    ifm_value_take_text(value, *row->of != '\0' ? g_strdup_printf("%s: %s", row->of, row->name) : g_strdup(row->name));
}

static void get_memory_bytes(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_real(value, ((const IfmMemoryRow *)record)->bytes);
}

static void get_memory_meaning(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_text(value, ((const IfmMemoryRow *)record)->meaning);
}

#define MEMORY_FIGURES                                                                                                     \
    { "memory", "memory", IFM_FIELD_TEXT, get_memory_name, NULL, IFM_FIELD_WHOLE },                                        \
    {                                                                                                                      \
        "bytes", "size", IFM_FIELD_BYTES, get_memory_bytes                                                                 \
    }
#define NARROW 84 /* columns: fewer have no room for words beside the figures */

static const IfmField narrow_memory_fields[] = { MEMORY_FIGURES, { NULL } };

static const IfmField memory_fields[] = {
    MEMORY_FIGURES,
    { "meaning", "what it is", IFM_FIELD_TEXT, get_memory_meaning },
    { NULL },
};

/* Which runtimes have no figures of their own, and why. */
static void append_untold(GString *out, const IfmProfileStory *story, const IfmScreen *screen)
{
    for (gsize i = 0; i < story->n_devices; i++)
    {
        const IfmMeasurement *measurement = ifm_result_measured(&story->devices[i].result);
        const char *why = measurement != NULL ? ifm_member_text(measurement->memory, "engine_why") : NULL;
        if (why == NULL)
            continue;
        g_autofree char *text =
            g_strdup_printf("%s: no count of the runtime's own: %s", ifm_result_name(&story->devices[i].result), why);
        ifm_page_wrapped(out, text, screen);
    }
}

void ifm_profile_memory(GString *out, const IfmProfileStory *story, const IfmScreen *screen)
{
    if ((story->parts & IFM_PROFILE_MEMORY) == 0)
        return;
    g_autoptr(GArray) rows = ifm_profile_memory_rows(story, NULL);
    for (gsize i = 0; i < story->n_devices; i++)
    {
        g_autoptr(GArray) more = ifm_profile_memory_rows(story, &story->devices[i]);
        for (guint row = 0; row < more->len && story->n_devices == 1; row++)
            g_array_index(more, IfmMemoryRow, row).of = ""; /* whose else */
        g_array_append_vals(rows, more->data, more->len);
    }
    g_autoptr(GPtrArray) records = g_ptr_array_new();
    for (guint i = 0; i < rows->len; i++)
        g_ptr_array_add(records, &g_array_index(rows, IfmMemoryRow, i));
    if (records->len == 0)
        return;
    g_string_append_c(out, '\n');
    ifm_page_table(out, screen->width < NARROW ? narrow_memory_fields : memory_fields, records, screen);
    append_untold(out, story, screen);
    g_auto(IfmMemoryPlan) plan = { 0 };
    if (story->analysis == NULL)
        return;
    ifm_analysis_memory(story->analysis, &plan);
    if (plan.n_unknown == 0)
        return;
    g_autofree char *text =
        g_strdup_printf("%" G_GSIZE_FORMAT " tensor%s without a known shape: the activations are more than is told here",
                        plan.n_unknown, plural(plan.n_unknown));
    ifm_format_wrap(out, text, 2, 0, screen->width);
}

/* --- the machine's limit --------------------------------------------------------------------------------------------- */

gboolean ifm_profile_roofline(const IfmProfileDevice *device, IfmRoofline *roofline)
{
    const json_t *limit = device->limit != NULL ? json_object_get(device->limit->surroundings, "limit") : NULL;
    *roofline = (IfmRoofline){ ifm_member_number(limit, "flop_per_s"), ifm_member_number(limit, "bytes_per_s") };
    return roofline->flop_per_s > 0 && roofline->bytes_per_s > 0;
}

double ifm_profile_attained(const IfmProfileStory *story, const IfmProfileDevice *device, const IfmLayers *layers)
{
    const IfmMeasurement *measurement = ifm_result_measured(&device->result);
    return measurement != NULL && layers != NULL ? layers->least_ns / ifm_member_number(measurement->summary, "median")
                                                 : (double)NAN;
}

static void append_limit(GString *out, const IfmProfileStory *story, const IfmProfileDevice *device,
                         const IfmScreen *screen)
{
    IfmRoofline roofline;
    g_autoptr(GString) text = g_string_new(NULL);
    if (!ifm_profile_roofline(device, &roofline))
    {
        if (device->no_limit != NULL)
            g_string_append_printf(text, "limit of %s: not known: %s", ifm_result_name(&device->result), device->no_limit);
        if (text->len > 0)
            ifm_page_wrapped(out, text->str, screen);
        return;
    }
    g_autofree char *flop = ifm_scaled(roofline.flop_per_s), *bytes = ifm_scaled(roofline.bytes_per_s);
    const json_t *limit = json_object_get(device->limit->surroundings, "limit");
    gboolean described = g_strcmp0(ifm_member_text(limit, "source"), "described") == 0;
    g_string_append_printf(text, "limit of %s: %sFLOP/s (a matrix product), %sB/s (a triad), %s",
                           ifm_result_name(&device->result), flop, bytes,
                           described              ? "as it is described"
                           : device->limit_stored ? "measured earlier"
                                                  : "measured now");
    if (device->limit_doubt != NULL)
        g_string_append_printf(text, ", and perhaps too low (%s; it is measured again next time)", device->limit_doubt);
    g_autoptr(IfmLayers) layers = ifm_profile_layers(story, device);
    double attained = ifm_profile_attained(story, device, layers);
    if (isfinite(attained))
    {
        g_autofree char *share = ifm_format_ratio(attained), *least = ifm_joined_duration(layers->least_ns);
        g_string_append_printf(text, "; with all layers at theirs an inference takes %s: it attains %s", least, share);
    }
    ifm_page_wrapped(out, text->str, screen);
}

void ifm_profile_limits(GString *out, const IfmProfileStory *story, const IfmScreen *screen)
{
    gsize before = out->len;
    for (gsize i = 0; i < story->n_devices; i++)
        if (ifm_result_measured(&story->devices[i].result) != NULL)
            append_limit(out, story, &story->devices[i], screen);
    if (out->len > before)
        g_string_insert_c(out, (gssize)before, '\n');
}
