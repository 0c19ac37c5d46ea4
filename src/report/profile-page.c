#include <math.h>
#include <string.h>

#include "profile-private.h"

/* What `inferometer profile` shows first: the model, the devices, the reasons, the warnings; and what a store's records are
 * shown and exported as. */

const char *const *ifm_profile_part_words(void)
{
    static const char *const words[] = { "runtime", "memory", "flops", "layers", "scaling", "pe", NULL };
    return words;
}

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

const char *ifm_result_name(const IfmResult *result)
{
    return result->alias != NULL && *result->alias != '\0' ? result->alias : result->device;
}

const IfmMeasurement *ifm_result_measured(const IfmResult *result)
{
    return result->measurement != NULL && result->measurement->outcome == IFM_OUTCOME_OK ? result->measurement : NULL;
}

/* --- the head, reasons, warnings ------------------------------------------------------------------------------------ */

static void append_sizes(GString *out, const IfmCase *subject_case)
{
    const char *name;
    json_t *size;
    json_object_foreach(subject_case->sizes, name, size)
        g_string_append_printf(out, "  %s=%" JSON_INTEGER_FORMAT, name, json_integer_value(size));
}

/* Of a graph transformer without the graph, which has a line of its own: "gps" of "gps on peptides". (transfer full) */
static char *head_name(const IfmProfileStory *story, const char *name)
{
    g_autofree char *on = story->graph != NULL ? g_strconcat(" on ", story->graph->graph->name, NULL) : NULL;
    const char *graph = on != NULL ? strstr(name, on) : NULL;
    return graph == NULL ? g_strdup(name) : g_strdup_printf("%.*s%s", (int)(graph - name), name, graph + strlen(on));
}

/* What it is called, in which precision and sizes. */
static void append_head(GString *out, const IfmProfileStory *story, const IfmScreen *screen)
{
    const IfmCase *subject_case = NULL;
    for (gsize i = 0; i < story->n_devices && subject_case == NULL; i++)
        subject_case = story->devices[i].result.subject_case;
    const char *name = subject_case != NULL   ? subject_case->subject_name
                       : story->graph != NULL ? story->graph->title
                       : story->model != NULL ? ifm_model_name(story->model)
                                              : NULL;
    if (name == NULL)
        return;
    g_autoptr(GString) sizes = g_string_new(NULL);
    g_autofree char *called = head_name(story, name);
    if (subject_case != NULL && story->graph == NULL)
        append_sizes(sizes, subject_case);
    for (gsize i = 0; i < story->n_bindings && subject_case == NULL; i++)
        g_string_append_printf(sizes, "  %s=%" G_GINT64_FORMAT, story->bindings[i].name, story->bindings[i].value);
    const char *dtype = subject_case != NULL ? ifm_member_text(subject_case->options, "dtype") : NULL;
    g_string_append(out, ifm_bold_begin(screen));
    ifm_page_spelt(out, called, screen);
    g_string_append(out, ifm_bold_end(screen));
    g_string_append_printf(out, "%s%s", dtype != NULL ? "  " : "", dtype != NULL ? dtype : "");
    ifm_page_spelt(out, sizes->str, screen);
    g_string_append_c(out, '\n');
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
    return g_strdup_printf("%s: %s", ifm_result_name(result), reason_after_device(result));
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
        ifm_page_told(out, ifm_result_name(&results[i]), IFM_TONE_BAD, text, screen);
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
            g_strdup_printf("%s: the outputs were compared with nothing: %s", ifm_result_name(&results[i]), why);
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
            g_ptr_array_add(devices, (char *)ifm_result_name(&results[i]));
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

/* --- the devices beside each other ----------------------------------------------------------------------------------- */

/* Shown: a device with what follows from its time and the model's work. What reads an IfmResult reads this. */
typedef struct
{
    IfmResult result;
    double per_s, flop_per_s, attained; /* NaN: not known */
} Shown;

#define SHOWN(member) IFM_FIELD_AT(Shown, member)

static const IfmField shown_fields[] = {
    { "per_s", "per second", IFM_FIELD_REAL, ifm_field_get_real, SHOWN(per_s), IFM_FIELD_HIDE_EMPTY },
    { "gflop_per_s", "GFLOP/s", IFM_FIELD_REAL, ifm_field_get_real, SHOWN(flop_per_s), IFM_FIELD_HIDE_EMPTY },
    { "attained_ratio", "of limit", IFM_FIELD_RATIO, ifm_field_get_real, SHOWN(attained), IFM_FIELD_HIDE_EMPTY },
    { NULL },
};

/* The columns of results, with these before those that a narrow screen takes to a further block. */
static GArray *device_fields(void)
{
    GArray *fields = g_array_new(FALSE, FALSE, sizeof(IfmField));
    for (const IfmField *field = ifm_result_fields; field->key != NULL; field++)
    {
        if ((field->flags & IFM_FIELD_BREAK) != 0)
            g_array_append_vals(fields, shown_fields, G_N_ELEMENTS(shown_fields) - 1);
        if (!g_str_equal(field->key, "n_outliers")) /* the width is better spent: exports have it */
            g_array_append_vals(fields, field, 1);
    }
    g_array_append_val(fields, shown_fields[G_N_ELEMENTS(shown_fields) - 1]); /* the end */
    return fields;
}

static double flop_of(const IfmProfileStory *story)
{
    IfmNodeCost total = { 0 };
    gsize n_covered;
    if (story->analysis == NULL || (story->parts & IFM_PROFILE_FLOPS) == 0)
        return NAN;
    ifm_analysis_total(story->analysis, &total, &n_covered);
    /* a rate of a part would mislead, and so would one of an upper bound */
    return ifm_cost_is_exact(&total) && total.flop > 0 ? (double)total.flop : (double)NAN;
}

static void append_devices(GString *out, const IfmProfileStory *story, const IfmScreen *screen)
{
    g_autoptr(GPtrArray) records = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GArray) fields = device_fields();
    double flop = flop_of(story);
    for (gsize i = 0; i < story->n_devices; i++)
    {
        Shown *shown = g_new0(Shown, 1);
        const IfmMeasurement *measurement = ifm_result_measured(&story->devices[i].result);
        g_autoptr(IfmLayers) layers = ifm_profile_layers(story, &story->devices[i]);
        double median_ns = measurement != NULL ? ifm_member_number(measurement->summary, "median") : (double)NAN;
        *shown = (Shown){ story->devices[i].result, 1e9 / median_ns, flop / median_ns,
                          ifm_profile_attained(story, &story->devices[i], layers) };
        g_ptr_array_add(records, shown);
    }
    g_string_append(out, out->len > 0 ? "\n" : "");
    ifm_page_table(out, (const IfmField *)(const void *)fields->data, records, screen);
}

/* --- the page -------------------------------------------------------------------------------------------------------- */

IfmLayers *ifm_profile_layers(const IfmProfileStory *story, const IfmProfileDevice *device)
{
    IfmRoofline roofline;
    const IfmMeasurement *measurement = ifm_result_measured(&device->result);
    if (measurement == NULL || measurement->nodes->len == 0)
        return NULL;
    gboolean limited = ifm_profile_roofline(device, &roofline);
    return ifm_layers_new(measurement, story->model, story->analysis, limited ? &roofline : NULL);
}

static GArray *results_of(const IfmProfileStory *story)
{
    GArray *results = g_array_new(FALSE, FALSE, sizeof(IfmResult));
    for (gsize i = 0; i < story->n_devices; i++)
        g_array_append_val(results, story->devices[i].result);
    return results;
}

/* Results of a mode's other passes, each under the name of its device and pass. (transfer full) what the names are kept in
 */
static GPtrArray *add_other_results(GArray *results, const IfmProfileStory *story)
{
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
    for (int kind = 0; story->mode != NULL && kind < IFM_N_PASSES; kind++)
    {
        const IfmProfileStory *pass = kind != (int)story->mode->asked ? story->mode->passes[kind] : NULL;
        for (gsize i = 0; pass != NULL && i < pass->n_devices; i++)
        {
            IfmResult result = pass->devices[i].result;
            result.alias = g_strdup_printf("%s (%s)", ifm_result_name(&result), ifm_pass_words((IfmPassKind)kind));
            g_ptr_array_add(names, (gpointer)result.alias);
            g_array_append_val(results, result);
        }
    }
    return names;
}

/* What was seen beside computing a positional encoding, under the encoding's name. (transfer full) what that is kept in */
static char *add_encoding_result(GArray *results, const IfmProfileStory *story)
{
    const IfmProfileGraph *of = story->graph;
    if (of == NULL || of->encoding_cost == NULL || (story->parts & IFM_PROFILE_PE) == 0)
        return NULL;
    char *name = g_strdup_printf("encoding %s", of->encoding_name);
    IfmResult result = {
        .device = name, .alias = name, .subject_case = of->encoding_case, .measurement = of->encoding_cost
    };
    g_array_append_val(results, result);
    return name;
}

char *ifm_profile_to_screen(const IfmProfileStory *story, const IfmScreen *screen)
{
    GString *out = g_string_new(NULL);
    g_autoptr(GArray) array = results_of(story);
    const IfmResult *results = (const IfmResult *)(const void *)array->data;
    append_head(out, story, screen);
    ifm_profile_model(out, story, screen);
    ifm_profile_graph(out, story, screen);
    ifm_profile_work(out, story, screen);
    if (story->n_devices > 0)
        append_devices(out, story, screen);
    ifm_profile_passes(out, story, screen);
    append_reasons(out, results, array->len, screen);
    g_autoptr(GPtrArray) names = add_other_results(array, story);
    g_autofree char *encoding = add_encoding_result(array, story);
    results = (const IfmResult *)(const void *)array->data;
    append_unverified(out, results, array->len, screen);
    append_warnings(out, results, array->len, screen);
    ifm_profile_memory(out, story, screen);
    ifm_profile_encoding(out, story, screen);
    ifm_profile_limits(out, story, screen);
    for (gsize i = 0; i < story->n_devices; i++)
        ifm_profile_inside(out, story, &story->devices[i], screen);
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

char *ifm_profile_to_csv(const IfmProfileStory *story)
{
    g_autoptr(GArray) results = results_of(story);
    if (story->n_devices == 0 && story->analysis != NULL && (story->parts & (IFM_PROFILE_FLOPS | IFM_PROFILE_MEMORY)) != 0)
        return ifm_profile_nodes_csv(story);
    if (story->mode != NULL && story->parts != IFM_PROFILE_LAYERS)
        return ifm_profile_passes_csv(story);
    return story->parts == IFM_PROFILE_LAYERS
               ? ifm_profile_layers_csv(story)
               : ifm_results_to_csv((const IfmResult *)(const void *)results->data, results->len);
}

/* "" where there is none, as in the records themselves. */
static json_t *text_or_empty(const char *text)
{
    g_autofree char *valid = g_utf8_make_valid(text != NULL ? text : "", -1);
    return json_string(valid);
}

json_t *ifm_result_to_json(const IfmResult *result)
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
        json_array_append_new(cases, ifm_result_to_json(&results[i]));
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
