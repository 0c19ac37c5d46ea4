#include <math.h>
#include <string.h>

#include "report-private.h"

#define MOST_NODE_FIELDS 16
/* Profiled runs up to this many times as long as the others tell the nodes' times well enough. */
#define SLOWDOWN_SMALL 1.05

/* What `inferometer profile` shows and exports: the results, the reasons, the warnings, the nodes and the books. */

static IfmTable table_of(const IfmField *fields, GPtrArray *records)
{
    return (IfmTable){ fields, (const void *const *)records->pdata, records->len };
}

static GPtrArray *records_of(const IfmResult *results, gsize n)
{
    GPtrArray *records = g_ptr_array_new();
    for (gsize i = 0; i < n; i++)
        g_ptr_array_add(records, (void *)&results[i]);
    return records;
}

static const char *short_name(const IfmResult *result)
{
    return result->alias != NULL && *result->alias != '\0' ? result->alias : result->device;
}

/* --- the head, reasons, warnings ------------------------------------------------------------------------------------ */

static void append_sizes(GString *out, const IfmCase *subject_case)
{
    const char *name;
    json_t *size;
    json_object_foreach(subject_case->sizes, name, size)
        g_string_append_printf(out, "  %s=%" JSON_INTEGER_FORMAT, name, json_integer_value(size));
}

static void append_head(GString *out, const IfmResult *results, gsize n, const IfmScreen *screen)
{
    for (gsize i = 0; i < n; i++)
    {
        const IfmCase *subject_case = results[i].subject_case;
        if (subject_case == NULL)
            continue;
        g_autoptr(GString) sizes = g_string_new(NULL);
        append_sizes(sizes, subject_case);
        const char *dtype = ifm_member_text(subject_case->options, "dtype");
        g_string_append(out, ifm_bold_begin(screen));
        ifm_page_spelt(out, subject_case->subject_name, screen);
        g_string_append(out, ifm_bold_end(screen));
        g_string_append_printf(out, "  %s", dtype != NULL ? dtype : "");
        ifm_page_spelt(out, sizes->str, screen);
        g_string_append(out, "\n\n");
        return;
    }
}

/* Most reasons begin with the device themselves. */
static const char *reason_after_device(const IfmResult *result)
{
    const char *reason = ifm_result_reason(result);
    gsize length = strlen(result->device);
    return g_str_has_prefix(reason, result->device) ? reason + length + strspn(reason + length, ",: ") : reason;
}

char *ifm_result_line(const IfmResult *result)
{
    return g_strdup_printf("%s: %s", short_name(result), reason_after_device(result));
}

/* A reason that came again and again is told once. */
static void append_reasons(GString *out, const IfmResult *results, gsize n, const IfmScreen *screen)
{
    g_autoptr(GHashTable) times = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (gsize i = 0; i < n; i++)
        if (ifm_result_reason(&results[i]) != NULL)
        {
            char *line = ifm_result_line(&results[i]);
            guint before = GPOINTER_TO_UINT(g_hash_table_lookup(times, line));
            g_hash_table_replace(times, line, GUINT_TO_POINTER(before + 1));
        }
    gboolean any = FALSE;
    for (gsize i = 0; i < n; i++)
    {
        g_autofree char *line = ifm_result_reason(&results[i]) != NULL ? ifm_result_line(&results[i]) : NULL;
        guint count = line != NULL ? GPOINTER_TO_UINT(g_hash_table_lookup(times, line)) : 0;
        if (count == 0)
            continue;
        g_autofree char *text = count > 1 ? g_strdup_printf("%s (%u times)", reason_after_device(&results[i]), count)
                                          : g_strdup(reason_after_device(&results[i]));
        g_string_append(out, any ? "" : "\n");
        ifm_page_told(out, short_name(&results[i]), IFM_TONE_BAD, text, screen);
        g_hash_table_remove(times, line);
        any = TRUE;
    }
}

/* Outputs that could not be compared, though that was asked for. */
static void append_unverified(GString *out, const IfmResult *results, gsize n, const IfmScreen *screen)
{
    for (gsize i = 0; i < n; i++)
    {
        const json_t *verification = results[i].measurement != NULL ? results[i].measurement->verification : NULL;
        const char *why = ifm_member_text(verification, "why");
        if (why == NULL || ifm_result_code(&results[i]) != NULL ||
            g_strcmp0(ifm_member_text(verification, "status"), "unavailable") != 0)
            continue;
        g_autofree char *text =
            g_strdup_printf("%s: the outputs were compared with nothing: %s", short_name(&results[i]), why);
        g_string_append_c(out, '\n');
        ifm_page_told(out, "warning", IFM_TONE_WARN, text, screen);
    }
}

/* A warning that several devices share is told once. */
static void append_warnings(GString *out, const IfmResult *results, gsize n, const IfmScreen *screen)
{
    g_autoptr(GHashTable) devices_of =
        g_hash_table_new_full(g_str_hash, g_str_equal, NULL, (GDestroyNotify)g_ptr_array_unref);
    g_autoptr(GPtrArray) order = g_ptr_array_new();
    for (gsize i = 0; i < n; i++)
    {
        const json_t *surroundings = results[i].measurement != NULL ? results[i].measurement->surroundings : NULL;
        json_t *warnings = json_object_get(surroundings, "warnings"), *warning;
        gsize at;
        json_array_foreach(warnings, at, warning)
        {
            const char *text = json_string_value(warning);
            if (text == NULL)
                continue;
            GPtrArray *devices = g_hash_table_lookup(devices_of, text);
            if (devices == NULL)
            {
                devices = g_ptr_array_new();
                g_hash_table_insert(devices_of, (char *)text, devices);
                g_ptr_array_add(order, (char *)text);
            }
            g_ptr_array_add(devices, (char *)short_name(&results[i]));
        }
    }
    for (guint i = 0; i < order->len; i++)
    {
        GPtrArray *devices = g_hash_table_lookup(devices_of, order->pdata[i]);
        g_autoptr(GString) text = g_string_new(NULL);
        for (guint at = 0; at < devices->len && !(devices->len == n && n > 1); at++)
            g_string_append_printf(text, "%s%s", (const char *)devices->pdata[at], at + 1 < devices->len ? ", " : ": ");
        g_string_append(text, order->pdata[i]);
        g_string_append(out, i == 0 ? "\n" : "");
        ifm_page_told(out, "warning", IFM_TONE_WARN, text->str, screen);
    }
}

/* --- nodes and books ------------------------------------------------------------------------------------------------ */

static gint compare_shares(gconstpointer a, gconstpointer b)
{
    double x = ((const IfmNodeShare *)a)->share_ratio, y = ((const IfmNodeShare *)b)->share_ratio;
    return (x < y) - (x > y);
}

GArray *ifm_node_shares(const IfmMeasurement *measurement)
{
    GArray *shares = g_array_new(FALSE, FALSE, sizeof(IfmNodeShare));
    double total_ns = 0;
    for (guint i = 0; i < measurement->nodes->len; i++)
        total_ns += ((const IfmNodeRow *)measurement->nodes->pdata[i])->median_ns;
    for (guint i = 0; i < measurement->nodes->len; i++)
    {
        const IfmNodeRow *node = measurement->nodes->pdata[i];
        IfmNodeShare share = { node, total_ns > 0 ? node->median_ns / total_ns : 0 };
        g_array_append_val(shares, share);
    }
    g_array_sort(shares, compare_shares);
    return shares;
}

/* A runtime that tells but sums over all runs gives means. */
static gboolean are_means(const json_t *books)
{
    const char *of = ifm_member_text(books, "of");
    return of != NULL && strstr(of, "mean") != NULL;
}

/* The table's columns; where the runtime gives means, that is what the column says. @fields: (out) */
static void node_fields(IfmField fields[MOST_NODE_FIELDS], gboolean means)
{
    gsize n = 0;
    do
    {
        g_assert(n < MOST_NODE_FIELDS);
        fields[n] = ifm_node_fields[n];
        if (means && g_strcmp0(fields[n].key, "median_ns") == 0)
            fields[n].title = "mean";
    } while (ifm_node_fields[n++].key != NULL);
}

/* The slowest nodes, and one row for all the others together. */
static void append_nodes(GString *out, const IfmMeasurement *measurement, gsize most, const IfmScreen *screen)
{
    g_autoptr(GArray) shares = ifm_node_shares(measurement);
    g_autoptr(GPtrArray) records = g_ptr_array_new();
    gsize shown = shares->len <= most + 1 ? shares->len : most;
    g_autofree char *others_name = g_strdup_printf("(%u others)", shares->len - (guint)shown);
    IfmNodeRow others_row = { .name = others_name, .start_ns = NAN };
    IfmNodeShare others = { .node = &others_row };
    for (guint i = 0; i < shares->len; i++)
    {
        IfmNodeShare *share = &g_array_index(shares, IfmNodeShare, i);
        if (i < shown)
        {
            g_ptr_array_add(records, share);
            continue;
        }
        others_row.median_ns += share->node->median_ns;
        others.share_ratio += share->share_ratio;
    }
    if (shown < shares->len)
        g_ptr_array_add(records, &others);
    IfmField fields[MOST_NODE_FIELDS];
    node_fields(fields, are_means(measurement->books));
    ifm_page_table(out, fields, records, screen);
}

/* A duration that no line is broken in. */
static char *joined_duration(double ns)
{
    g_autofree char *text = ifm_format_duration(ns);
    g_auto(GStrv) parts = g_strsplit(text, " ", -1);
    return g_strjoinv(IFM_NO_BREAK, parts);
}

/* One term of the books: " + gaps 12.3 us"; nothing where the runtime does not tell it. */
static void append_term(GString *out, const char *sign, const char *name, double ns)
{
    if (!isfinite(ns))
        return;
    g_autofree char *text = joined_duration(ns);
    g_string_append_printf(out, " %s" IFM_NO_BREAK "%s %s", sign, name, text);
}

/* Profiling's cost is paid at each node, so it spoils the times of short nodes most, and with them the shares. */
static const char *what_slowdown_means(double lower, double upper)
{
    if (!isfinite(lower) || !isfinite(upper))
        return ": how sure that is cannot be told";
    if (upper <= SLOWDOWN_SMALL)
        return "";
    return lower > SLOWDOWN_SMALL ? ": the nodes' times hold the cost of profiling too, short nodes most of all"
                                  : ": too unsure to say what profiling costs";
}

static void append_slowdown(GString *out, const json_t *books, double slowdown, const IfmScreen *screen)
{
    double lower = ifm_member_number(books, "slowdown.lower"), upper = ifm_member_number(books, "slowdown.upper");
    g_autoptr(GString) text = g_string_new(NULL);
    g_string_append_printf(text, "profiled runs took %.2f", slowdown);
    if (isfinite(lower) && isfinite(upper))
        g_string_append_printf(text, " (%.2f to %.2f)", lower, upper);
    g_string_append_printf(text, " times as long%s", what_slowdown_means(lower, upper));
    ifm_format_wrap(out, text->str, 2, 0, screen->width);
}

/* What the sums are of: they are no sums of the medians above. */
static void append_books_of(GString *out, const json_t *books)
{
    double n_runs = ifm_member_number(books, "n_runs");
    if (are_means(books) && isfinite(n_runs))
        g_string_append_printf(out, "books, mean of %.0f profiled runs:", n_runs);
    else if (isfinite(n_runs) && n_runs > 1)
        g_string_append_printf(out, "books of one run, the middle one of %.0f by wall time:", n_runs);
    else
        g_string_append(out, "books of one run:");
}

static void append_books(GString *out, const json_t *books, const IfmScreen *screen)
{
    double overlap_ns = ifm_member_number(books, "overlap_ns"), residual_ns = ifm_member_number(books, "residual_ns");
    double bound_ns = ifm_member_number(books, "residual_bound_ns"), slowdown = ifm_member_number(books, "slowdown.ratio");
    g_autofree char *wall = joined_duration(ifm_member_number(books, "wall_ns"));
    g_autoptr(GString) text = g_string_new(NULL);
    append_books_of(text, books);
    g_string_append_printf(text, " wall %s", wall);
    append_term(text, "=", "nodes", ifm_member_number(books, "nodes_ns"));
    append_term(text, "+", "gaps", ifm_member_number(books, "gaps_ns"));
    append_term(text, "+", "copies", ifm_member_number(books, "copies_ns"));
    if (overlap_ns > 0)
        append_term(text, "-", "overlap", overlap_ns);
    append_term(text, residual_ns < 0 ? "-" : "+", "residual", fabs(residual_ns));
    const char *why = ifm_member_text(books, "why");
    if (why != NULL) /* a bound that bounds nothing is none */
    {
        g_autofree char *spelt = ifm_format_spelt(why, screen->utf8);
        g_string_append_printf(text, " (%s)", spelt);
    }
    else if (isfinite(bound_ns))
    {
        g_autofree char *bound = joined_duration(bound_ns);
        gboolean within = fabs(residual_ns) <= bound_ns;
        IfmTone tone = within ? IFM_TONE_GOOD : IFM_TONE_WARN;
        g_string_append_printf(text, " (%s%s its bound of %s%s)", ifm_tone_begin(screen, tone),
                               within ? "within" : "beyond", bound, ifm_tone_end(screen, tone));
    }
    ifm_format_wrap(out, text->str, 2, 0, screen->width);
    if (isfinite(slowdown))
        append_slowdown(out, books, slowdown, screen);
}

/* What the rows of the nodes are, and what their shares are shares of. */
static void append_nodes_head(GString *out, const IfmMeasurement *measurement)
{
    double total_ns = 0;
    for (guint i = 0; i < measurement->nodes->len; i++)
        total_ns += ((const IfmNodeRow *)measurement->nodes->pdata[i])->median_ns;
    g_autofree char *total = joined_duration(total_ns);
    const char *figure = are_means(measurement->books) ? "mean" : "median";
    g_string_append_printf(out, "nodes by %s", figure);
    if (measurement->profiled_ns->len > 0)
        g_string_append_printf(out, " of %u profiled runs", measurement->profiled_ns->len);
    double each_ns = ifm_member_number(measurement->books, "resolution_ns");
    if (each_ns > 0) /* neither NaN nor a clock without steps */
    {
        g_autofree char *each = joined_duration(each_ns);
        g_string_append_printf(out, ", each to within %s", each);
    }
    g_string_append_printf(out, ", as shares of the %ss' sum (%s)", figure, total);
}

static void append_inside(GString *out, const IfmResult *result, gsize n_nodes, const IfmScreen *screen)
{
    const IfmMeasurement *measurement = result->measurement;
    if (measurement == NULL || measurement->outcome != IFM_OUTCOME_OK)
        return;
    const char *why = ifm_member_text(measurement->books, "why");
    gboolean has_books = isfinite(ifm_member_number(measurement->books, "wall_ns"));
    gboolean has_nodes = measurement->nodes->len > 0 && n_nodes > 0;
    if (!has_books && !has_nodes && why == NULL)
        return;
    g_autoptr(GString) head = g_string_new(ifm_bold_begin(screen));
    ifm_page_spelt(head, short_name(result), screen);
    g_string_append_printf(head, ":%s ", ifm_bold_end(screen));
    if (has_nodes)
        append_nodes_head(head, measurement);
    else if (!has_books)
    {
        g_string_append(head, "nothing of its nodes: ");
        ifm_page_spelt(head, why, screen);
    }
    g_string_append_c(out, '\n');
    if (has_nodes || !has_books)
        ifm_format_wrap(out, head->str, 2, 0, screen->width);
    else
        g_string_append(out, head->str);
    if (has_nodes)
        append_nodes(out, measurement, n_nodes, screen);
    if (has_books)
        append_books(out, measurement->books, screen);
    else if (has_nodes && why != NULL)
        ifm_page_told(out, "no books", IFM_TONE_PLAIN, why, screen);
}

char *ifm_results_to_screen(const IfmResult *results, gsize n, gsize n_nodes, const IfmScreen *screen)
{
    GString *out = g_string_new(NULL);
    g_autoptr(GPtrArray) records = records_of(results, n);
    append_head(out, results, n, screen);
    ifm_page_table(out, ifm_result_fields, records, screen);
    append_reasons(out, results, n, screen);
    append_unverified(out, results, n, screen);
    append_warnings(out, results, n, screen);
    for (gsize i = 0; i < n; i++)
        append_inside(out, &results[i], n_nodes, screen);
    return g_string_free(out, FALSE);
}

char *ifm_records_to_screen(const IfmResult *results, gsize n, const IfmScreen *screen)
{
    g_autoptr(GPtrArray) records = records_of(results, n);
    GString *out = g_string_new(NULL);
    ifm_page_table(out, ifm_record_fields, records, screen);
    append_reasons(out, results, n, screen);
    return g_string_free(out, FALSE);
}

/* --- exports -------------------------------------------------------------------------------------------------------- */

char *ifm_results_to_csv(const IfmResult *results, gsize n)
{
    g_autoptr(GPtrArray) records = records_of(results, n);
    IfmTable table = table_of(ifm_result_fields, records);
    return ifm_table_to_csv(&table);
}

/* "" where there is none, as in the records themselves. */
static json_t *text_or_empty(const char *text)
{
    g_autofree char *valid = g_utf8_make_valid(text != NULL ? text : "", -1);
    return json_string(valid);
}

static json_t *result_to_json(const IfmResult *result)
{
    json_t *json = json_object();
    json_object_set_new(json, "device", text_or_empty(result->device));
    json_object_set_new(json, "alias", text_or_empty(result->alias));
    json_object_set_new(
        json, "outcome",
        json_string(ifm_outcome_name(result->measurement != NULL ? result->measurement->outcome : IFM_OUTCOME_FAILED)));
    json_object_set_new(json, "error_code", text_or_empty(ifm_result_code(result)));
    json_object_set_new(json, "reason", text_or_empty(ifm_result_reason(result)));
    json_object_set_new(json, "resumed", json_boolean(result->resumed));
    json_object_set_new(json, "case", result->subject_case != NULL ? ifm_case_to_json(result->subject_case) : json_null());
    json_object_set_new(json, "measurement",
                        result->measurement != NULL ? ifm_measurement_to_json(result->measurement) : json_null());
    return json;
}

json_t *ifm_results_to_json(const IfmResult *results, gsize n)
{
    json_t *cases = json_array();
    for (gsize i = 0; i < n; i++)
        json_array_append_new(cases, result_to_json(&results[i]));
    return json_pack("{s:{s:s,s:s,s:i},s:o}", "inferometer", "version", IFM_VERSION, "format", "cases", "format_version", 1,
                     "cases", cases);
}

static void add_samples(GArray *rows, const IfmResult *result, const char *kind, const GArray *times_ns)
{
    for (guint i = 0; i < times_ns->len; i++)
    {
        IfmSampleRow row = { result, kind, i, g_array_index(times_ns, gint64, i) };
        g_array_append_val(rows, row);
    }
}

char *ifm_samples_to_csv(const IfmResult *results, gsize n)
{
    g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(IfmSampleRow));
    g_autoptr(GPtrArray) records = g_ptr_array_new();
    for (gsize i = 0; i < n; i++)
        if (results[i].measurement != NULL)
        {
            add_samples(rows, &results[i], "warmup", results[i].measurement->warmup_ns);
            add_samples(rows, &results[i], "run", results[i].measurement->samples_ns);
            add_samples(rows, &results[i], "profiled", results[i].measurement->profiled_ns);
        }
    for (guint i = 0; i < rows->len; i++)
        g_ptr_array_add(records, &g_array_index(rows, IfmSampleRow, i));
    IfmTable table = table_of(ifm_sample_fields, records);
    return ifm_table_to_csv(&table);
}
