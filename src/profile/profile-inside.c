#include <math.h>
#include <string.h>

#include <base/fields.h>

#include "profile-page-private.h"

/* What is inside of a device's time: its kernels, what would gain most, kinds of kernels, the time breakdown of a profiled
 * run. */

#define SLOWDOWN_SMALL 1.05 /* profiled runs up to this many times as long give the nodes' times well enough */
#define RESIDUAL_SMALL 0.02 /* of the wall time; more is explained */
#define GAIN_SMALL 0.02     /* of the nodes' time; less is not worth a line */
#define MAX_GAINS 3
#define LEAST_KERNELS 3 /* that a page shows which is shortened */

/* --- kernels ---------------------------------------------------------------------------------------------------------- */

/* A runtime that reports sums over all runs alone gives means. */
gboolean ifm_profile_are_means(const json_t *breakdown)
{
    const char *of = ifm_member_text(breakdown, "of");
    return of != NULL && strstr(of, "mean") != NULL;
}

/* What the rows are, and what their shares are shares of. */
static void append_head(GString *out, const IfmMeasurement *measurement, const IfmKernels *kernels)
{
    g_autofree char *total = ifm_joined_duration(kernels->nodes_ns);
    const char *figure = ifm_profile_are_means(measurement->breakdown) ? "mean" : "median";
    g_string_append_printf(out, "kernels by %s", figure);
    if (measurement->profiled_ns->len > 0)
        g_string_append_printf(out, " of %u profiled runs", measurement->profiled_ns->len);
    g_string_append_printf(out, ", which sum to %s", total);
}

/* What a kernel's time may be off by, and how many take no longer. */
static void add_resolution(IfmDocument *document, const IfmKernels *kernels, const json_t *breakdown)
{
    const double each_ns = ifm_member_number(breakdown, "resolution_ns");
    g_autofree char *each = ifm_joined_duration(each_ns);
    if (!(each_ns > 0)) /* neither NaN nor a clock without steps */
        return;
    ifm_document_text(document, "each kernel's time is known to within %s", each)->indent = 2;
    if (kernels->n_unresolved > 0)
        ifm_document_span(document, IFM_TONE_PLAIN, FALSE,
                          "; %zu take%s no longer: no GFLOP/s and no share of the peak follows", kernels->n_unresolved,
                          kernels->n_unresolved == 1 ? "s" : "");
}

/* --- repeated layers -------------------------------------------------------------------------------------------------- */

/* Kernels that do the same: a model's repeated layers. */
static gboolean are_alike(const IfmKernel *a, const IfmKernel *b)
{
    return a->known && b->known && !a->cost.is_upper_bound && !b->cost.is_upper_bound && a->family == b->family &&
           a->cost.flop == b->cost.flop && a->cost.bytes_read == b->cost.bytes_read &&
           a->cost.bytes_written == b->cost.bytes_written && g_strcmp0(a->node->op_type, b->node->op_type) == 0 &&
           g_strcmp0(a->node->dtype, b->node->dtype) == 0;
}

/* Of kernels in one row: sums, and rates of sums. @first: the slowest of them; NULL of the row of all that have none of
 * their own */
typedef struct
{
    IfmKernel kernel;
    IfmNodeRow row;
    const IfmKernel *first;
    gsize n;
    char *label;
} Group;

static void group_free(gpointer data)
{
    Group *group = data;
    g_free(group->label);
    g_free(group);
}

static const char *shown_name(const IfmKernel *kernel)
{
    const char *name = kernel->label != NULL ? kernel->label : kernel->node->name;
    return name != NULL && *name != '\0' ? name : "(no name)";
}

static void group_take(Group *group, const IfmKernel *kernel)
{
    IfmKernel *sum = &group->kernel;
    group->n++;
    group->row.median_ns += kernel->node->median_ns;
    sum->share_ratio += kernel->share_ratio;
    sum->cost.flop += kernel->cost.flop;
    sum->cost.macs += kernel->cost.macs;
    sum->cost.bytes_read += kernel->cost.bytes_read;
    sum->cost.bytes_written += kernel->cost.bytes_written;
    sum->place.min_ns += kernel->place.min_ns;
    sum->place.excess_ns += kernel->place.excess_ns;
}

/* A group of @first alone; its layers and members are left out, as they are of one of them. */
static Group *group_new(const IfmKernel *first)
{
    Group *group = g_new0(Group, 1);
    group->first = first;
    group->kernel = *first;
    group->row = *first->node;
    group->row.start_ns = NAN;
    group->kernel.node = &group->row;
    group->kernel.layers = NULL;
    group->kernel.members = NULL;
    group->n = 1;
    return group;
}

static gint by_time(gconstpointer a, gconstpointer b)
{
    const Group *x = *(const Group *const *)a, *y = *(const Group *const *)b;
    return (x->row.median_ns < y->row.median_ns) - (x->row.median_ns > y->row.median_ns);
}

/* "12 x layer.0.attention", the longest sum first. (transfer full) IfmKernel*, kept by the document */
static GPtrArray *grouped(IfmDocument *document, const GPtrArray *rows)
{
    GPtrArray *groups = ifm_document_keep(document, g_ptr_array_new_with_free_func(group_free),
                                          (GDestroyNotify)g_ptr_array_unref),
              *kernels = g_ptr_array_new();
    for (guint i = 0; i < rows->len; i++)
    {
        const IfmKernel *kernel = rows->pdata[i];
        guint at = 0;
        while (at < groups->len && !are_alike(((const Group *)groups->pdata[at])->first, kernel))
            at++;
        if (at < groups->len)
            group_take(groups->pdata[at], kernel);
        else
            g_ptr_array_add(groups, group_new(kernel));
    }
    g_ptr_array_sort(groups, by_time);
    for (guint i = 0; i < groups->len; i++)
    {
        Group *group = groups->pdata[i];
        const char *name = shown_name(group->first);
        if (group->n > 1)
        {
            group->kernel.label = group->label = g_strdup_printf("%zu x %s", group->n, name);
            if (!group->kernel.unresolved)
                group->kernel.place.attained = group->kernel.place.min_ns / group->row.median_ns;
        }
        g_ptr_array_add(kernels, &group->kernel);
    }
    return kernels;
}

/* The slowest kernels, and one row for all the others together; where the runtime gives means, the column says so. */
static void add_table(IfmDocument *document, const char *key, const IfmKernels *kernels, gboolean means, gsize max,
                      gboolean group)
{
    g_autoptr(GPtrArray) rows = group ? grouped(document, kernels->rows) : g_ptr_array_ref(kernels->rows);
    GPtrArray *records = g_ptr_array_new();
    GArray *fields = ifm_fields_join(NULL, ifm_kernel_fields);
    gsize n = rows->len, shown = n <= max + 1 ? n : max;
    for (guint i = 0; i < fields->len && means; i++)
        if (g_str_equal(g_array_index(fields, IfmField, i).key, "median_ns"))
            g_array_index(fields, IfmField, i).title = "mean";
    for (gsize i = 0; i < shown; i++)
        g_ptr_array_add(records, rows->pdata[i]);
    if (shown < n)
    {
        Group *others = ifm_document_keep(document, g_new0(Group, 1), group_free);
        others->label = g_strdup_printf("(%zu others)", n - shown);
        others->row = (IfmNodeRow){ .name = others->label, .start_ns = NAN };
        others->kernel = (IfmKernel){ .node = &others->row, .place = { IFM_BOUND_NEITHER, NAN, NAN, NAN, NAN } };
        for (gsize i = shown; i < n; i++)
            group_take(others, rows->pdata[i]); /* of its work nothing is known: it covers no cost */
        g_ptr_array_add(records, &others->kernel);
    }
    ifm_document_keep(document, fields, (GDestroyNotify)g_array_unref);
    ifm_document_table(document, key, ifm_fields_in(fields), records)->least_rows = LEAST_KERNELS;
}

/* What of the rows, and of the model, could not be brought together. */
static void add_remainder(IfmDocument *document, const IfmKernels *kernels)
{
    g_autoptr(GString) text = g_string_new(NULL);
    if (kernels->reported_by == NULL)
        return;
    g_autofree char *time = ifm_format_ratio(kernels->unknown_ratio);
    const gsize n = kernels->n_unknown;
    if (n > 0 && kernels->n_marshalling == n)
        g_string_append_printf(text, "%zu kernel%s, %s of the time, do%s none of the model's work: %s data for the runtime",
                               n, ifm_plural(n), time, n == 1 ? "es" : "", n == 1 ? "it moves" : "they move");
    else if (n > 0)
        g_string_append_printf(text, "the work of %zu kernel%s, %s of the time, is not known", n, ifm_plural(n), time);
    if (kernels->n_marshalling > 0 && kernels->n_marshalling < n)
        g_string_append_printf(text, "; %zu of these move%s data for the runtime", kernels->n_marshalling,
                               kernels->n_marshalling == 1 ? "s" : "");
    if (kernels->n_model_missing > 0)
    {
        g_autofree char *flop = ifm_format_ratio(kernels->missing_ratio);
        g_string_append_printf(text, "%s%zu layer%s of the model, %s of its FLOPs, found in no kernel by %s",
                               text->len > 0 ? "; " : "", kernels->n_model_missing, ifm_plural(kernels->n_model_missing),
                               flop, kernels->reported_by);
    }
    if (kernels->n_upper_bounds > 0)
        g_string_append_printf(text,
                               "%sof %zu kernel%s only an upper bound of what %s do is known, since it is unknown which "
                               "branch runs: no GFLOP/s and no share of the peak follows",
                               text->len > 0 ? "; " : "", kernels->n_upper_bounds, ifm_plural(kernels->n_upper_bounds),
                               kernels->n_upper_bounds == 1 ? "it can" : "they can");
    if (text->len > 0)
        ifm_document_text(document, "%s", text->str)->indent = 2;
    if (kernels->why_names != NULL) /* a runtime that usually reports its own graph, and did not of this model */
        ifm_document_text(document, "kernels' work by the names of nodes, not by the runtime's own graph: %s",
                          kernels->why_names)
            ->indent = 2;
}

#define ABOVE_ROOF 1.05 /* a share of the roof that measuring alone does not explain */

gsize ifm_profile_above_roof(const IfmKernels *kernels, gsize *n_known, const IfmKernel **furthest)
{
    gsize n = 0;
    *n_known = 0;
    *furthest = NULL;
    for (guint i = 0; i < kernels->rows->len; i++)
    {
        const IfmKernel *kernel = kernels->rows->pdata[i];
        *n_known += isfinite(kernel->place.attained);
        if (!(kernel->place.attained > ABOVE_ROOF))
            continue;
        n++;
        if (*furthest == NULL || kernel->place.attained > (*furthest)->place.attained)
            *furthest = kernel;
    }
    return n;
}

static void add_above_peak(IfmDocument *document, const IfmKernels *kernels)
{
    gsize n_known;
    const IfmKernel *furthest;
    const gsize n = ifm_profile_above_roof(kernels, &n_known, &furthest);
    if (n > 0)
        ifm_document_text(document,
                          "%zu kernel%s above 100 %% of the peak: caches held what is counted as read from memory, or the "
                          "algorithm needs fewer operations than are counted",
                          n, ifm_plural(n))
            ->indent = 2;
}

/* --- what would gain most ------------------------------------------------------------------------------------------------
 */

static gint compare_gains(gconstpointer a, gconstpointer b)
{
    double x = (*(const IfmKernelFamily *const *)a)->excess_ns, y = (*(const IfmKernelFamily *const *)b)->excess_ns;
    return (x < y) - (x > y);
}

/* @of: " on DEVICE", or "" of the only one */
static void add_gain(IfmDocument *document, const char *of, const char *what, double share, double attained, double gain_ns,
                     gboolean first)
{
    g_autofree char *time = ifm_format_ratio(share), *of_peak = ifm_format_ratio(attained);
    g_autofree char *gain = ifm_joined_duration(gain_ns);
    g_autofree char *at = isfinite(attained) ? g_strdup_printf(" at %s of the peak", of_peak) : g_strdup("");
    ifm_document_text(document, "%s%s%s%s: %s of the time%s: up to %s", first ? "largest possible gain" : "  ",
                      first ? of : "", first ? ": " : "", what, time, at, gain)
        ->indent = 4;
}

/* By families, then the one kernel with most above its limit. */
static void add_gains(IfmDocument *document, const char *of, const IfmKernels *kernels, const GArray *families)
{
    g_autoptr(GPtrArray) order = g_ptr_array_new();
    double min_ns = GAIN_SMALL * kernels->nodes_ns;
    for (guint i = 0; i < families->len; i++)
    {
        IfmKernelFamily *family = &g_array_index(families, IfmKernelFamily, i);
        if (family->excess_ns >= min_ns)
            g_ptr_array_add(order, family);
    }
    g_ptr_array_sort(order, compare_gains);
    for (guint i = 0; i < order->len && i < MAX_GAINS; i++)
    {
        const IfmKernelFamily *family = order->pdata[i];
        add_gain(document, of, ifm_kernel_family_words(family->name), family->share_ratio, family->attained,
                 family->excess_ns, i == 0);
    }
    const IfmKernel *kernel = ifm_kernels_furthest(kernels);
    if (kernel == NULL || kernel->place.excess_ns < min_ns || kernels->rows->len < 2)
        return;
    g_autofree char *what = g_strdup_printf("in one kernel, %s", shown_name(kernel));
    add_gain(document, of, what, kernel->share_ratio, kernel->place.attained, kernel->place.excess_ns, order->len == 0);
}

/* --- the time breakdown ---------------------------------------------------------------------------------------------- */

char *ifm_joined_duration(double ns)
{
    g_autofree char *text = ifm_format_duration(ns);
    g_auto(GStrv) parts = g_strsplit(text, " ", -1);
    return g_strjoinv(IFM_NO_BREAK, parts);
}

/* One term of the breakdown: " + gaps 12.3 us"; nothing where the runtime does not report it. */
static void append_term(GString *out, const char *sign, const char *name, double ns)
{
    g_autofree char *text = ifm_joined_duration(ns);
    if (isfinite(ns))
        g_string_append_printf(out, " %s" IFM_NO_BREAK "%s %s", sign, name, text);
}

/* Profiling's cost is paid at each node, so it spoils the times of short nodes most, and with them the shares. */
static const char *what_slowdown_means(double lower, double upper)
{
    if (!isfinite(lower) || !isfinite(upper) || lower <= 0)
        return " (too few runs for an interval)";
    if (upper <= SLOWDOWN_SMALL)
        return "";
    return lower > SLOWDOWN_SMALL ? ": the kernels' times include the cost of profiling, short kernels most of all"
                                  : ": too unsure to say what profiling costs";
}

static void add_slowdown(IfmDocument *document, const json_t *breakdown)
{
    double slowdown = ifm_member_number(breakdown, "slowdown.ratio");
    double lower = ifm_member_number(breakdown, "slowdown.lower"), upper = ifm_member_number(breakdown, "slowdown.upper");
    if (!isfinite(slowdown))
        return;
    ifm_document_text(document, "profiled runs took %.2f", slowdown)->indent = 2;
    if (isfinite(upper) && lower > 0)
        ifm_document_span(document, IFM_TONE_PLAIN, FALSE, " (%.2f to %.2f)", lower, upper);
    ifm_document_span(document, IFM_TONE_PLAIN, FALSE, " times as long%s", what_slowdown_means(lower, upper));
}

/* Why a residual is more than a fiftieth of the wall time, as far as the breakdown shows. */
static void add_why(IfmDocument *document, const json_t *breakdown, double residual_ns, double wall_ns)
{
    static const struct
    {
        const char *what, *key;
    } causes[] = {
        { "a call besides its nodes takes", "call_bound_ns" },
        { "times cut to whole steps lose", "resolution_bound_ns" },
        { "gaps, which this runtime does not report, take", "gaps_bound_ns" },
        { "its thread waited for a processor that others used", "waited_ns" },
    };
    if (!(fabs(residual_ns) > RESIDUAL_SMALL * wall_ns))
        return;
    g_autoptr(GString) text = g_string_new(NULL);
    double explained_ns = 0;
    for (gsize i = 0; i < G_N_ELEMENTS(causes); i++)
    {
        double ns = ifm_member_number(breakdown, causes[i].key);
        g_autofree char *max = ifm_joined_duration(ns);
        explained_ns += ns > 0 ? ns : 0;
        if (ns > 0 && ns < wall_ns) /* else it says nothing of this run */
            g_string_append_printf(text, "%s%s up to %s", text->len > 0 ? ", " : "", causes[i].what, max);
    }
    if (text->len == 0)
        ifm_document_text(document, "the residual is over 2 %%, and %s",
                          explained_ns > 0 ? "what was measured of its causes may take longer than the run itself"
                                           : "nothing that is measured of this device explains it")
            ->indent = 2;
    else
        ifm_document_text(document, "the residual is over 2 %%: %s, as measured on this device%s", text->str,
                          explained_ns >= fabs(residual_ns) ? "" : "; that does not explain all of it")
            ->indent = 2;
}

#define MAX_BOUND 0.05 /* of the wall time */

/* Behind the residual itself: its share of the wall time, and its bound, or why there is none. */
static void add_residual(IfmDocument *document, const json_t *breakdown, double residual_ns, double wall_ns)
{
    double bound_ns = ifm_member_number(breakdown, "residual_bound_ns");
    const char *why = ifm_member_text(breakdown, "why");
    g_autofree char *share = ifm_format_ratio(fabs(residual_ns) / wall_ns), *bound = ifm_joined_duration(bound_ns);
    gboolean within = fabs(residual_ns) <= bound_ns;
    if (why != NULL) /* a bound that bounds nothing is none */
        ifm_document_span(document, IFM_TONE_PLAIN, FALSE, " (%s, no bound)", share);
    else if (!isfinite(bound_ns) ||
             (within && bound_ns > MAX_BOUND * wall_ns)) /* a bound that any residual keeps says nothing */
        ifm_document_span(document, IFM_TONE_PLAIN, FALSE, " (%s)", share);
    else
    {
        ifm_document_span(document, IFM_TONE_PLAIN, FALSE, " (%s, ", share);
        ifm_document_span(document, within ? IFM_TONE_GOOD : IFM_TONE_WARN, FALSE, "%s its bound of %s",
                          within ? "within" : "beyond", bound);
        ifm_document_span(document, IFM_TONE_PLAIN, FALSE, ")");
    }
}

/* Further pieces of the last paragraph: what the wall time was spent on. */
static void add_breakdown_text(IfmDocument *document, const json_t *breakdown)
{
    double overlap_ns = ifm_member_number(breakdown, "overlap_ns"), wall_ns = ifm_member_number(breakdown, "wall_ns");
    double n_runs = ifm_member_number(breakdown, "n_runs"), residual_ns = ifm_member_number(breakdown, "residual_ns");
    g_autofree char *wall = ifm_joined_duration(wall_ns);
    g_autoptr(GString) text = g_string_new(NULL);
    if (ifm_profile_are_means(breakdown) &&
        isfinite(n_runs)) /* what the sums are of: they are no sums of the medians above */
        g_string_printf(text, "time breakdown, mean of %.0f profiled runs:", n_runs);
    else if (isfinite(n_runs) && n_runs > 1)
        g_string_printf(text, "time breakdown of one run, the median of %.0f by wall time:", n_runs);
    else
        g_string_printf(text, "time breakdown of one run:");
    g_string_append_printf(text, " wall %s", wall);
    append_term(text, "=", "nodes", ifm_member_number(breakdown, "nodes_ns"));
    append_term(text, "+", "gaps", ifm_member_number(breakdown, "gaps_ns"));
    append_term(text, "+", "data movement", ifm_member_number(breakdown, "copies_ns"));
    if (overlap_ns > 0)
        append_term(text, "-", "overlap", overlap_ns);
    append_term(text, residual_ns < 0 ? "-" : "+", "residual", fabs(residual_ns));
    ifm_document_span(document, IFM_TONE_PLAIN, FALSE, "%s", text->str);
    if (isfinite(residual_ns))
        add_residual(document, breakdown, residual_ns, wall_ns);
    add_why(document, breakdown, residual_ns, wall_ns);
    add_slowdown(document, breakdown);
}

/* --- all of it ------------------------------------------------------------------------------------------------------- */

static void add_kernels(const IfmProfilePage *page, gsize device)
{
    IfmDocument *document = page->document;
    const IfmProfileReport *report = page->report;
    const IfmKernels *kernels = page->kernels[device];
    const json_t *breakdown = report->devices[device].result.measurement->breakdown;
    GArray *families = ifm_kernels_families(kernels);
    add_table(document, ifm_profile_key(page, "kernels", device), kernels, ifm_profile_are_means(breakdown),
              report->n_layers, report->group);
    ifm_document_detail(document, IFM_DETAIL_REMARKS, "remarks");
    add_resolution(document, kernels, breakdown);
    add_remainder(document, kernels);
    add_above_peak(document, kernels);
    ifm_document_detail(document, IFM_DETAIL_GAINS, "largest possible gains");
    g_autofree char *of =
        report->n_devices > 1 ? g_strconcat(" on ", ifm_result_name(&report->devices[device].result), NULL) : g_strdup("");
    add_gains(document, of, kernels, families);
    ifm_document_detail(document, IFM_DETAIL_FAMILIES, "families of kernels");
    if (families->len > 1)
        ifm_document_part(document);
    ifm_document_rows(document, ifm_profile_key(page, "families", device), ifm_kernel_family_fields, families)->no_screen =
        families->len < 2; /* the table above says it all */
    ifm_profile_add_parts(page, ifm_profile_key(page, "parts", device), kernels);
}

void ifm_profile_add_inside(const IfmProfilePage *page, gsize device)
{
    const IfmProfileReport *report = page->report;
    const IfmMeasurement *measurement = ifm_result_measured(&report->devices[device].result);
    if (measurement == NULL || (report->parts & IFM_PROFILE_LAYERS) == 0)
        return;
    const IfmKernels *kernels = report->n_layers > 0 ? page->kernels[device] : NULL;
    const char *why = ifm_member_text(measurement->breakdown, "why");
    gboolean has_breakdown = isfinite(ifm_member_number(measurement->breakdown, "wall_ns"));
    if (!has_breakdown && kernels == NULL && why == NULL)
        return;
    IfmDocument *document = page->document;
    g_autoptr(GString) head = g_string_new(" ");
    if (kernels != NULL)
        append_head(head, measurement, kernels);
    else if (!has_breakdown)
        g_string_append_printf(head, "nothing of its kernels: %s", why);
    ifm_document_closed(document, "%s: %u kernels", ifm_result_name(&report->devices[device].result),
                        kernels != NULL ? kernels->rows->len : 0);
    ifm_document_detail(document, IFM_DETAIL_KERNELS, "kernels");
    IfmBlock *text = ifm_document_text(document, "%s:", ifm_result_name(&report->devices[device].result));
    g_array_index(text->spans, IfmSpan, 0).strong = TRUE;
    text->indent = 2;
    ifm_document_span(document, IFM_TONE_PLAIN, FALSE, "%s", head->str);
    if (kernels != NULL)
        add_kernels(page, device);
    ifm_document_detail(document, IFM_DETAIL_BREAKDOWN, "time breakdown");
    if (kernels != NULL && has_breakdown)
    {
        ifm_document_part(document);
        ifm_document_text(document, "%s", "")->indent = 2;
    }
    if (has_breakdown)
        add_breakdown_text(document, measurement->breakdown);
    else if (kernels != NULL && why != NULL)
        ifm_document_note(document, "no time breakdown", IFM_TONE_PLAIN, "%s", why);
}
