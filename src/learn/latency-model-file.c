/* A model of latencies as one JSON file. */
#include <math.h>
#include <string.h>

#include <base/base.h>

#include "learn-private.h"

#define FORMAT_VERSION 6
#define MAX_ROWS 100000

/* --- tables of fields ---------------------------------------------------------------------------------------------------
 */

static const IfmRecordField feature_fields[] = {
    { IFM_RECORD(TEXT, IfmLearnFeature, name) },
    { IFM_RECORD(DOUBLE, IfmLearnFeature, min) },
    { IFM_RECORD(DOUBLE, IfmLearnFeature, max) },
    { IFM_RECORD(DOUBLE, IfmLearnFeature, importance) },
    { NULL },
};

static const IfmRecordField scale_fields[] = {
    { IFM_RECORD(TEXT, LearnScale, name) },
    { IFM_RECORD(DOUBLE, LearnScale, scale) },
    { NULL },
};

static const IfmRecordField peak_fields[] = {
    { IFM_RECORD(DOUBLE, LearnPeak, threads) },
    { IFM_RECORD(DOUBLE, LearnPeak, flop_per_ns) },
    { IFM_RECORD(DOUBLE, LearnPeak, bytes_per_ns) },
    { NULL },
};

static const IfmRecordField level_fields[] = {
    { IFM_RECORD(DOUBLE, LearnLevel, level) },
    { NULL },
};

#define QUANTILES_OF(known, prefix)                                                                                        \
    { IFM_RECORD_AS(DOUBLE, LearnQuantiles, of[known].slow[0], prefix "slow_small") },                                     \
        { IFM_RECORD_AS(DOUBLE, LearnQuantiles, of[known].slow[1], prefix "slow_large") },                                 \
        { IFM_RECORD_AS(DOUBLE, LearnQuantiles, of[known].load[0], prefix "load_small") },                                 \
        { IFM_RECORD_AS(DOUBLE, LearnQuantiles, of[known].load[1], prefix "load_large") },                                 \
        { IFM_RECORD_AS(DOUBLE, LearnQuantiles, of[known].slow_between[0], prefix "slow_between_small") },                 \
        { IFM_RECORD_AS(DOUBLE, LearnQuantiles, of[known].slow_between[1], prefix "slow_between_large") },                 \
        { IFM_RECORD_AS(DOUBLE, LearnQuantiles, of[known].load_between[0], prefix "load_between_small") },                 \
    {                                                                                                                      \
        IFM_RECORD_AS(DOUBLE, LearnQuantiles, of[known].load_between[1], prefix "load_between_large")                      \
    }

static const IfmRecordField quantile_fields[] = {
    { IFM_RECORD_AS(DOUBLE, LearnQuantiles, idle[0], "idle_small") },
    { IFM_RECORD_AS(DOUBLE, LearnQuantiles, idle[1], "idle_large") },
    QUANTILES_OF(LEARN_SHARE, ""),
    QUANTILES_OF(LEARN_KIND, "kind_"),
    QUANTILES_OF(LEARN_METRICS, "metrics_"),
    { IFM_RECORD(DOUBLE, LearnQuantiles, far) },
    { IFM_RECORD(DOUBLE, LearnQuantiles, unknown) },
    { NULL },
};

static const IfmRecordField noise_fields[] = {
    { IFM_RECORD(INT64, IfmLearnNoise, n_pairs) },
    { IFM_RECORD(DOUBLE, IfmLearnNoise, mean) },
    { IFM_RECORD(DOUBLE, IfmLearnNoise, median) },
    { IFM_RECORD(DOUBLE, IfmLearnNoise, mean_small) },
    { IFM_RECORD(DOUBLE, IfmLearnNoise, mean_large) },
    { IFM_RECORD(DOUBLE, IfmLearnNoise, mean_as_measured), .sparse = TRUE },
    { IFM_RECORD(DOUBLE, IfmLearnNoise, exponent), .sparse = TRUE },
    { IFM_RECORD(DOUBLE, IfmLearnNoise, read_bytes_per_s), .sparse = TRUE },
    { NULL },
};

static const IfmRecordField choice_fields[] = {
    { IFM_RECORD(TEXT, IfmOperatorChoice, name) },
    { IFM_RECORD(TEXT, IfmOperatorChoice, group) },
    { IFM_RECORD(CHOICE, IfmOperatorChoice, first), .words = learn_way_words },
    { IFM_RECORD(CHOICE, IfmOperatorChoice, second), .words = learn_way_words },
    { IFM_RECORD(CHOICE, IfmOperatorChoice, far_first), .words = learn_way_words },
    { IFM_RECORD(CHOICE, IfmOperatorChoice, far_second), .words = learn_way_words },
    { IFM_RECORD(INT64, IfmOperatorChoice, n) },
    { IFM_RECORD(DOUBLE, IfmOperatorChoice, mape) },
    { IFM_RECORD(DOUBLE, IfmOperatorChoice, linear) },
    { NULL },
};

static const IfmRecordField line_fields[] = {
    { IFM_RECORD(TEXT, LearnLine, name) },
    { IFM_RECORD(TEXT, LearnLine, part) },
    { IFM_RECORD(DOUBLE, LearnLine, flop) },
    { IFM_RECORD(DOUBLE, LearnLine, fixed) },
    { IFM_RECORD(DOUBLE, LearnLine, bytes) },
    { IFM_RECORD(JSON, LearnLine, points) },
    { NULL },
};

static const IfmRecordField place_fields[] = {
    { IFM_RECORD(TEXT, LearnPlaces, name) },
    { IFM_RECORD(INT64, LearnPlaces, n) },
    { IFM_RECORD(SERIES, LearnPlaces, x) },
    { NULL },
};

static const IfmRecordField error_fields[] = {
    { IFM_RECORD(TEXT, IfmLearnError, protocol) },   { IFM_RECORD(TEXT, IfmLearnError, method) },
    { IFM_RECORD(TEXT, IfmLearnError, part) },       { IFM_RECORD(INT64, IfmLearnError, n) },
    { IFM_RECORD(INT64, IfmLearnError, n_covered) }, { IFM_RECORD(DOUBLE, IfmLearnError, mape) },
    { IFM_RECORD(DOUBLE, IfmLearnError, median) },   { IFM_RECORD(DOUBLE, IfmLearnError, weighted) },
    { IFM_RECORD(DOUBLE, IfmLearnError, within) },   { IFM_RECORD(DOUBLE, IfmLearnError, covered) },
    { IFM_RECORD(DOUBLE, IfmLearnError, noise) },    { NULL },
};

static void feature_free(IfmLearnFeature *feature)
{
    ifm_record_clear(feature, feature_fields);
    g_free(feature);
}

static void scale_free(LearnScale *scale)
{
    ifm_record_clear(scale, scale_fields);
    g_free(scale);
}

static void choice_free(IfmOperatorChoice *choice)
{
    ifm_record_clear(choice, choice_fields);
    g_free(choice);
}

static void line_free(LearnLine *line)
{
    ifm_smooth_free(line->smooth);
    ifm_record_clear(line, line_fields);
    g_free(line);
}

static void places_free(LearnPlaces *places)
{
    ifm_record_clear(places, place_fields);
    g_free(places);
}

static void error_free(IfmLearnError *error)
{
    ifm_record_clear(error, error_fields);
    g_free(error);
}

#define ROWS(member, ROW, table, destroy)                                                                                  \
    IFM_RECORD(ROWS, IfmLatencyModel, member), .fields = (table), .size = sizeof(ROW), .free = (GDestroyNotify)(destroy)

static const IfmRecordField model_fields[] = {
    { IFM_RECORD_AS(INT64, IfmLatencyModel, format_version, "latency_model") },
    { IFM_RECORD(TEXT, IfmLatencyModel, method) },
    { IFM_RECORD(TEXT, IfmLatencyModel, data) },
    { IFM_RECORD(TEXT, IfmLatencyModel, machine) },
    { IFM_RECORD(TEXT, IfmLatencyModel, runtime) },
    { IFM_RECORD(TEXT, IfmLatencyModel, device) },
    { IFM_RECORD(TEXT, IfmLatencyModel, level) },
    { IFM_RECORD(INT64, IfmLatencyModel, seed) },
    { IFM_RECORD(INT64, IfmLatencyModel, n_rows) },
    { IFM_RECORD(INT64, IfmLatencyModel, n_kernels) },
    { IFM_RECORD(INT64, IfmLatencyModel, n_configurations) },
    { IFM_RECORD(INT64, IfmLatencyModel, n_loaded) },
    { IFM_RECORD(INT64, IfmLatencyModel, n_left_out), .optional = TRUE },
    { IFM_RECORD(INT64, IfmLatencyModel, n_disturbed), .optional = TRUE },
    { IFM_RECORD(DOUBLE, IfmLatencyModel, node_overhead_ns) },
    { IFM_RECORD(DOUBLE, IfmLatencyModel, scale) },
    { IFM_RECORD(DOUBLE, IfmLatencyModel, cache_bytes) },
    { IFM_RECORD(DOUBLE, IfmLatencyModel, cold) },
    { IFM_RECORD(DOUBLE, IfmLatencyModel, reach) },
    { IFM_RECORD(PART, IfmLatencyModel, noise), .fields = noise_fields },
    { IFM_RECORD(PART, IfmLatencyModel, quantiles), .fields = quantile_fields },
    { ROWS(peaks, LearnPeak, peak_fields, g_free) },
    { ROWS(machines, LearnMachine, learn_machine_fields, NULL), .sparse = TRUE },
    { ROWS(levels, LearnLevel, level_fields, g_free) },
    { ROWS(scales, LearnScale, scale_fields, scale_free) },
    { ROWS(features, IfmLearnFeature, feature_fields, feature_free) },
    { ROWS(load_features, IfmLearnFeature, feature_fields, feature_free) },
    { IFM_RECORD(TEXTS, IfmLatencyModel, operators) },
    { ROWS(choices, IfmOperatorChoice, choice_fields, choice_free) },
    { ROWS(lines, LearnLine, line_fields, line_free) },
    { ROWS(places, LearnPlaces, place_fields, places_free) },
    { IFM_RECORD(TEXTS, IfmLatencyModel, metrics) },
    { ROWS(errors, IfmLearnError, error_fields, error_free) },
    { IFM_RECORD_AS(JSON, IfmLatencyModel, trees_idle, "idle_trees") },
    { IFM_RECORD_AS(JSON, IfmLatencyModel, trees_forest, "idle_forest") },
    { IFM_RECORD_AS(JSON, IfmLatencyModel, trees_load, "load_trees") },
    { IFM_RECORD_AS(JSON, IfmLatencyModel, trees_metrics, "load_trees_with_metrics") },
    { NULL },
};

IfmLatencyModel *learn_model_alloc(void)
{
    IfmLatencyModel *model = g_new0(IfmLatencyModel, 1);
    ifm_record_init(model, model_fields);
    model->format_version = FORMAT_VERSION;
    model->node_overhead_ns = model->reach = model->cache_bytes = (double)NAN;
    model->cold = 1;
    for (const IfmRecordField *field = quantile_fields; field->name != NULL; field++)
        G_STRUCT_MEMBER(double, &model->quantiles, field->offset) = (double)NAN;
    return model;
}

void learn_model_release(IfmLatencyModel *model)
{
    ifm_record_clear(model, model_fields);
    g_free(model);
}

IfmLearnError *learn_error_new(const char *protocol, const char *method, const char *part)
{
    IfmLearnError *error = g_new0(IfmLearnError, 1);
    error->protocol = g_strdup(protocol);
    error->method = g_strdup(method);
    error->part = g_strdup(part);
    return error;
}

GPtrArray *learn_errors_new(void)
{
    return g_ptr_array_new_with_free_func((GDestroyNotify)error_free);
}

void ifm_latency_model_set_errors(IfmLatencyModel *model, const GPtrArray *errors)
{
    g_ptr_array_set_size(model->errors, 0);
    for (guint i = 0; i < errors->len; i++)
    {
        const IfmLearnError *from = errors->pdata[i];
        IfmLearnError *copy = g_memdup2(from, sizeof *from);
        copy->protocol = g_strdup(from->protocol);
        copy->method = g_strdup(from->method);
        copy->part = g_strdup(from->part);
        g_ptr_array_add(model->errors, copy);
    }
}

/* --- checking -----------------------------------------------------------------------------------------------------------
 */

/* @unknown: a value that is not known is right, too */
static gboolean check_number(double value, double low, double high, gboolean unknown, const char *where, const char *what,
                             GError **error)
{
    if (isnan(value) ? unknown : value >= low && value <= high)
        return TRUE;
    return ifm_error_refuse(error, "%s.%s: found %g, expected %g to %g", where, what, value, low, high);
}

static gboolean check_machine(const LearnMachine *machine, const char *where, GError **error)
{
    for (const IfmRecordField *field = learn_machine_fields; field->name != NULL; field++)
    {
        const gboolean is_bound = g_str_equal(field->name, "left_out");
        const gboolean needed =
            g_strv_contains((const char *const[]){ "flop_per_s", "bytes_per_s", "cores", NULL }, field->name);
        g_autofree char *place = g_strdup_printf("machines.%s", field->name);
        if (field->type == IFM_RECORD_DOUBLE &&
            !check_number(ifm_record_number(machine, learn_machine_fields, field->name), is_bound ? 0 : 1e-9,
                          is_bound ? 50 : 1e18, !needed, where, place, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean check_numbers(const IfmLatencyModel *model, const char *where, GError **error)
{
    const gboolean loaded = model->trees_load != NULL || model->load.n_features > 0,
                   metrics = model->trees_metrics != NULL || model->load_metrics.n_features > 0;
    for (const IfmRecordField *field = quantile_fields; field->name != NULL; field++)
    {
        const double value = ifm_record_number(&model->quantiles, quantile_fields, field->name);
        const gboolean of_load = !g_str_has_prefix(field->name, "idle") && !g_str_equal(field->name, "far") &&
                                 !g_str_equal(field->name, "unknown");
        g_autofree char *place = g_strdup_printf("quantiles.%s", field->name);
        if (!check_number(value, 0, 50, of_load && !(g_str_has_prefix(field->name, "metrics_") ? metrics : loaded), where,
                          place, error))
            return FALSE;
    }
    for (guint i = 0; i < model->peaks->len; i++)
    {
        const LearnPeak *peak = model->peaks->pdata[i];
        if (!check_number(peak->threads, 0.5, 1e6, FALSE, where, "peaks.threads", error) ||
            (peak->flop_per_ns != 0 &&
             !check_number(peak->flop_per_ns, 1e-9, 1e12, FALSE, where, "peaks.flop_per_ns", error)) ||
            (peak->bytes_per_ns != 0 &&
             !check_number(peak->bytes_per_ns, 1e-9, 1e12, FALSE, where, "peaks.bytes_per_ns", error)))
            return FALSE;
    }
    for (guint i = 0; i < model->machines->len; i++)
        if (!check_machine(model->machines->pdata[i], where, error))
            return FALSE;
    for (guint i = 0; i < model->levels->len; i++)
        if (!check_number(((const LearnLevel *)model->levels->pdata[i])->level, 0, 1, FALSE, where, "levels", error))
            return FALSE;
    for (guint i = 0; i < model->scales->len; i++)
        if (!check_number(((const LearnScale *)model->scales->pdata[i])->scale, 1e-9, 1e9, FALSE, where, "scales", error))
            return FALSE;
    return check_number(model->scale, 1e-9, 1e9, FALSE, where, "scale", error) &&
           check_number(model->reach, 0, 1e6, TRUE, where, "reach", error) &&
           check_number(model->cache_bytes, 0, 1e18, TRUE, where, "cache_bytes", error) &&
           check_number(model->cold, 1, 1e3, FALSE, where, "cold", error) &&
           check_number(model->node_overhead_ns, 0, 1e12, TRUE, where, "node_overhead_ns", error);
}

gboolean learn_model_check(const IfmLatencyModel *model, const char *where, GError **error)
{
    const LearnTrees *const all[] = { &model->idle, &model->forest, &model->load, &model->load_metrics };
    static const char *const places[] = { "idle_trees.intercept", "idle_forest.intercept", "load_trees.intercept",
                                          "load_trees_with_metrics.intercept" };
    for (gsize i = 0; i < G_N_ELEMENTS(all); i++)
        if (all[i]->n_features > 0 &&
            !check_number(all[i]->intercept, -LEARN_MAX_INTERCEPT, LEARN_MAX_INTERCEPT, FALSE, where, places[i], error))
            return FALSE;
    return check_numbers(model, where, error) && learn_places_check(model, where, error) &&
           learn_choices_check(model, where, error);
}

/* --- writing ------------------------------------------------------------------------------------------------------------
 */

json_t *ifm_latency_model_to_json(const IfmLatencyModel *model)
{
    const LearnTrees *trees[] = { &model->idle, &model->forest, &model->load, &model->load_metrics };
    static const char *const keys[] = { "idle_trees", "idle_forest", "load_trees", "load_trees_with_metrics" };
    json_t *json = ifm_record_to_json(model, model_fields);
    for (guint i = 0; i < model->lines->len; i++)
    {
        const LearnLine *line = model->lines->pdata[i];
        if (line->smooth != NULL)
            json_object_set_new(json_array_get(json_object_get(json, "lines"), i), "points",
                                learn_smooth_to_json(line->smooth));
    }
    for (gsize i = 0; i < G_N_ELEMENTS(keys); i++)
        if (trees[i]->n_features > 0)
            json_object_set_new(json, keys[i], learn_trees_to_json(trees[i]));
    return json;
}

gboolean ifm_latency_model_write(const IfmLatencyModel *model, const char *path, GError **error)
{
    if (!learn_model_check(model, path, error))
        return FALSE;
    json_auto_t *json = ifm_latency_model_to_json(model);
    g_autofree char *text = json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(17));
    g_autofree char *line = g_strconcat(text, "\n", NULL);
    return ifm_file_save(path, line, strlen(line), error);
}

/* --- reading ------------------------------------------------------------------------------------------------------------
 */

static gboolean check_features(const IfmLatencyModel *model, const char *where, GError **error)
{
    const guint n_common = g_strv_length((GStrv)learn_base_features),
                n_base = n_common + (model->machines->len > 0 ? g_strv_length((GStrv)learn_machine_features) : 0);
    if (model->features->len + model->load_features->len > LEARN_MAX_FEATURES ||
        model->metrics->len > IFM_SAMPLES_MAX_METRICS)
        return ifm_error_refuse(error, "%s.features: %u and %u features, expected up to %d", where, model->features->len,
                                model->load_features->len, LEARN_MAX_FEATURES);
    for (guint i = 0; i < MAX(n_base, model->features->len); i++)
    {
        const char *name =
            i < model->features->len ? ((const IfmLearnFeature *)model->features->pdata[i])->name : "nothing";
        const char *expected = i < n_common ? learn_base_features[i]
                               : i < n_base ? learn_machine_features[i - n_common]
                                            : "op:…";
        if (i < n_base ? !g_str_equal(name, expected) : !g_str_has_prefix(name, "op:"))
            return ifm_error_refuse(error, "%s.features[%u]: found \"%s\", expected \"%s\": of another version", where, i,
                                    name, expected);
    }
    for (guint i = 0; i < model->metrics->len; i++)
        if (!g_str_has_prefix(model->metrics->pdata[i], IFM_SAMPLE_BEFORE_PREFIX))
            return ifm_error_refuse(error, "%s.metrics[%u]: found \"%s\", expected \"" IFM_SAMPLE_BEFORE_PREFIX "…\"",
                                    where, i, (const char *)model->metrics->pdata[i]);
    for (guint i = 0; i < MAX(LEARN_N_LOAD_FEATURES + model->metrics->len, model->load_features->len); i++)
    {
        const char *name =
            i < model->load_features->len ? ((const IfmLearnFeature *)model->load_features->pdata[i])->name : "nothing";
        const char *expected = i < LEARN_N_LOAD_FEATURES ? learn_load_features[i]
                               : i < LEARN_N_LOAD_FEATURES + model->metrics->len
                                   ? model->metrics->pdata[i - LEARN_N_LOAD_FEATURES]
                                   : "nothing";
        if (!g_str_equal(name, expected))
            return ifm_error_refuse(error, "%s.load_features[%u]: found \"%s\", expected \"%s\"", where, i, name, expected);
    }
    return TRUE;
}

static gboolean check_lists(const IfmLatencyModel *model, const char *where, GError **error)
{
    if (model->peaks->len == 0 || model->peaks->len > MAX_ROWS || model->operators->len == 0 ||
        model->operators->len > MAX_ROWS)
        return ifm_error_refuse(error, "%s: %u peaks and %u operators, expected 1 or more", where, model->peaks->len,
                                model->operators->len);
    for (guint i = 1; i < model->operators->len; i++)
        if (strcmp(model->operators->pdata[i - 1], model->operators->pdata[i]) >= 0)
            return ifm_error_refuse(error, "%s.operators[%u]: not in the order of the alphabet, or twice", where, i);
    return TRUE;
}

static gboolean read_trees(IfmLatencyModel *model, const char *where, GError **error)
{
    const gsize n = model->features->len, n_load = n + LEARN_N_LOAD_FEATURES;
    const struct
    {
        const char *key;
        json_t **json;
        LearnTrees *trees;
        gsize n_features;
    } parts[] = {
        { "idle_trees", &model->trees_idle, &model->idle, n },
        { "idle_forest", &model->trees_forest, &model->forest, n },
        { "load_trees", &model->trees_load, &model->load, n_load },
        { "load_trees_with_metrics", &model->trees_metrics, &model->load_metrics, n_load + model->metrics->len },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(parts); i++)
    {
        g_autofree char *place = g_strdup_printf("%s.%s", where, parts[i].key);
        if (*parts[i].json != NULL &&
            !learn_trees_from_json(parts[i].trees, *parts[i].json, place, parts[i].n_features, error))
            return FALSE;
        g_clear_pointer(parts[i].json, json_decref);
    }
    return model->load_metrics.n_features == 0 || model->load.n_features > 0 ||
           ifm_error_refuse(error, "%s.load_trees: found null, but there are some with metrics", where);
}

IfmLatencyModel *ifm_latency_model_from_json(const json_t *json, const char *where, GError **error)
{
    gint64 version;
    if (!json_is_object(json) || json_object_get(json, "latency_model") == NULL)
    {
        ifm_error_refuse(error, "%s: not a model of latencies: no \"latency_model\", as inferometer train writes it",
                         where);
        return NULL;
    }
    if (!ifm_json_get_int64(json, where, "latency_model", &version, error))
        return NULL;
    if (version != FORMAT_VERSION)
    {
        ifm_error_refuse(error, "%s.latency_model: version %" G_GINT64_FORMAT ", this program reads %d%s", where, version,
                         FORMAT_VERSION,
                         version < FORMAT_VERSION ? ": run \"inferometer train\" again on the same data" : "");
        return NULL;
    }
    g_autoptr(IfmLatencyModel) model = learn_model_alloc();
    if (!ifm_record_from_json(model, model_fields, json, where, NULL, error) || !check_features(model, where, error) ||
        !check_lists(model, where, error) || !read_trees(model, where, error) || !learn_lines_read(model, where, error) ||
        !learn_model_check(model, where, error))
    {
        ifm_error_make_one_line(error); /* the message quotes the file */
        return NULL;
    }
    learn_model_finish(model);
    return g_steal_pointer(&model);
}

IfmLatencyModel *ifm_latency_model_read(const char *path, GError **error)
{
    json_auto_t *json = ifm_json_load(path, error);
    return json != NULL ? ifm_latency_model_from_json(json, path, error) : NULL;
}
