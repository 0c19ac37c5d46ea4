#include <inferometer/learn-page.h>

#include <math.h>

#include "report-private.h"

/* --- errors ---------------------------------------------------------------------------------------------------------- */

#define ERROR(member) IFM_FIELD_AT(IfmLearnError, member)

static const IfmField error_fields[] = {
    { "protocol", "not trained on", IFM_FIELD_TEXT, ifm_field_get_text, ERROR(protocol), IFM_FIELD_KEY | IFM_FIELD_WHOLE },
    { "part", "rows", IFM_FIELD_TEXT, ifm_field_get_text, ERROR(part), IFM_FIELD_KEY },
    { "method", "by", IFM_FIELD_TEXT, ifm_field_get_text, ERROR(method), IFM_FIELD_KEY },
    { "n", "n", IFM_FIELD_INTEGER, ifm_field_get_integer, ERROR(n) },
    { "mape_ratio", "mean", IFM_FIELD_RATIO, ifm_field_get_real, ERROR(mape) },
    { "median_ratio", "median", IFM_FIELD_RATIO, ifm_field_get_real, ERROR(median) },
    { "weighted_ratio", "of time", IFM_FIELD_RATIO, ifm_field_get_real, ERROR(weighted) },
    { "within_ratio", "in 10 %", IFM_FIELD_RATIO, ifm_field_get_real, ERROR(within) },
    { "covered_ratio", "covered", IFM_FIELD_RATIO, ifm_field_get_real, ERROR(covered) },
    { "n_covered", "covered", IFM_FIELD_INTEGER, ifm_field_get_integer, ERROR(n_covered), IFM_FIELD_NO_SCREEN },
    { "noise_ratio", "noise", IFM_FIELD_RATIO, ifm_field_get_real, ERROR(noise) },
    { NULL },
};

static gboolean is_family(const IfmLearnError *error)
{
    return g_str_has_prefix(error->part, "family ");
}

static void add_errors(IfmDocument *document, const GPtrArray *errors, const char *key, gboolean families)
{
    GPtrArray *records = g_ptr_array_new();
    for (guint i = 0; i < errors->len; i++)
        if (is_family(errors->pdata[i]) == families)
            g_ptr_array_add(records, errors->pdata[i]);
    if (records->len == 0)
    {
        g_ptr_array_unref(records);
        return;
    }
    ifm_document_heading(document, families ? "Families that were left out" : "Errors on what was not trained on");
    if (!families)
        ifm_document_text(
            document,
            "mean, median: of |predicted / measured - 1|. of time: sum of the differences over the sum of the "
            "latencies. in 10 %%: rows that are at most so far off. covered: rows within their interval, which "
            "is to hold %.0f %%. noise: by how much two visits of a kernel differ on average.",
            100 * IFM_LEARN_COVERAGE);
    ifm_document_table(document, key, error_fields, records);
}

/* --- families that a baseline predicts better -------------------------------------------------------------------------
 */

static const IfmLearnError *find_error(const GPtrArray *errors, const IfmLearnError *like, const char *method)
{
    for (guint i = 0; i < errors->len; i++)
    {
        const IfmLearnError *error = errors->pdata[i];
        if (g_str_equal(error->protocol, like->protocol) && g_str_equal(error->part, like->part) &&
            g_str_equal(error->method, method))
            return error;
    }
    return NULL;
}

static void add_beaten(IfmDocument *document, const IfmLatencyModelInfo *info)
{
    static const char *const baselines[] = { "linear", "idle" };
    for (guint i = 0; i < info->errors->len; i++)
    {
        const IfmLearnError *own = info->errors->pdata[i];
        for (gsize k = 0; g_str_equal(own->method, info->method) && k < G_N_ELEMENTS(baselines); k++)
        {
            const IfmLearnError *other = find_error(info->errors, own, baselines[k]);
            if (other != NULL && other->mape < own->mape)
                ifm_document_note(document, "beaten", IFM_TONE_WARN, "%s, %s: %s is off by %.1f %%, the trees by %.1f %%",
                                  own->protocol, own->part, other->method, 100 * other->mape, 100 * own->mape);
        }
    }
}

/* --- features -------------------------------------------------------------------------------------------------------- */

#define FEATURE(member) IFM_FIELD_AT(IfmLearnFeature, member)

static const IfmField feature_fields[] = {
    { "feature", "feature", IFM_FIELD_TEXT, ifm_field_get_text, FEATURE(name), IFM_FIELD_KEY | IFM_FIELD_WHOLE },
    { "min", "min", IFM_FIELD_REAL, ifm_field_get_real, FEATURE(min) },
    { "max", "max", IFM_FIELD_REAL, ifm_field_get_real, FEATURE(max) },
    { "importance_ratio", "share of gain", IFM_FIELD_RATIO, ifm_field_get_real, FEATURE(importance) },
    { NULL },
};

static void add_features(IfmDocument *document, const char *title, const char *key, const GPtrArray *features)
{
    GPtrArray *records = g_ptr_array_new();
    for (guint i = 0; i < features->len; i++)
        g_ptr_array_add(records, features->pdata[i]);
    ifm_document_heading(document, title);
    ifm_document_table(document, key, feature_fields, records);
}

/* --- the page -------------------------------------------------------------------------------------------------------- */

static void add_text_fact(IfmDocument *document, const char *name, const char *text)
{
    if (*text != '\0')
        ifm_document_fact(document, name, "%s", text);
}

static void add_noise(IfmDocument *document, const IfmLearnNoise *noise)
{
    if (noise->n_pairs == 0)
    {
        ifm_document_fact(document, "noise floor", "unknown: no kernel was visited twice");
        return;
    }
    ifm_document_fact(document, "noise floor",
                      "two visits of a kernel differ by %.1f %% on average, median %.1f %% (%" G_GINT64_FORMAT " pairs)",
                      100 * noise->mean, 100 * noise->median, noise->n_pairs);
    if (isfinite(noise->mean_large) && isfinite(noise->mean_small))
        ifm_document_fact(document, "", "%.1f %% from 20 us on, %.1f %% below", 100 * noise->mean_large,
                          100 * noise->mean_small);
}

static void add_facts(IfmDocument *document, const IfmLatencyModelInfo *info)
{
    add_text_fact(document, "data", info->data);
    add_text_fact(document, "machine", info->machine);
    add_text_fact(document, "runtime", info->runtime);
    add_text_fact(document, "device", info->device);
    add_text_fact(document, "level", info->level);
    ifm_document_fact(document, "rows",
                      "%" G_GINT64_FORMAT ": %" G_GINT64_FORMAT " kernels without load, %" G_GINT64_FORMAT
                      " cases under load, %" G_GINT64_FORMAT " configurations, %u operators",
                      info->n_rows, info->n_kernels, info->n_loaded, info->n_configurations, info->operators->len);
    ifm_document_fact(document, "trees", "%" G_GINT64_FORMAT ", %s, seed %" G_GINT64_FORMAT, info->n_trees, info->method,
                      info->seed);
    add_noise(document, &info->noise);
}

IfmDocument *ifm_train_document(const IfmLatencyModel *model, gboolean features)
{
    IfmLatencyModelInfo info;
    ifm_latency_model_info(model, &info);
    IfmDocument *document = ifm_document_new("latency model", "A model of kernels' latencies");
    ifm_document_title(document, "A model of kernels' latencies", NULL);
    add_facts(document, &info);
    add_errors(document, info.errors, "errors", FALSE);
    add_errors(document, info.errors, "family_errors", TRUE);
    add_beaten(document, &info);
    if (!features)
        return document;
    add_features(document, "Features of the latency without load", "features", info.features);
    if (info.n_loaded > 0)
        add_features(document, "Further features of the slow-down under load", "load_features", info.load_features);
    return document;
}
