#include <math.h>

#include <base/base.h>
#include <base/fields.h>

#include "compare-accuracy.h"

/* How near B's outputs come to A's, as a part of the page of a comparison. */

#define MAX_ROWS 12     /* of layers; JSON has all */
#define NO_LOSS_DB 0.05 /* what prints as 0.0 */

/* Row: of an output or a layer. */
typedef struct
{
    const json_t *json;
} Row;

static double number(const json_t *json, const char *key)
{
    double value = NAN;
    return json_object_get(json, key) != NULL && ifm_json_get_double(json, "accuracy", key, &value, NULL) ? value
                                                                                                          : (double)NAN;
}

/* --- the sentence ----------------------------------------------------------------------------------------------------- */

/* "31.2 dB"; "equal" */
static char *decibels(double value)
{
    if (isinf(value))
        return g_strdup(value > 0 ? "equal" : "nothing of A");
    return isnan(value) ? g_strdup("-") : g_strdup_printf("%.1f dB", value);
}

static void append_top(GString *text, const json_t *output, const char *key, const char *name)
{
    const double share = number(output, key);
    if (!isnan(share))
        g_string_append_printf(text, ", %s agrees in %.4g %%", name, 100 * share);
}

static char *sentence_of(const json_t *output)
{
    GString *text = g_string_new(NULL);
    const double sqnr_db = number(output, "sqnr_db"), n_rows = number(output, "n_rows");
    g_autofree char *near = decibels(sqnr_db);
    if (sqnr_db > 0 && isinf(sqnr_db) && number(output, "n_not_finite") == 0)
        return g_string_free(g_string_append(text, "B's outputs equal A's in every element"), FALSE);
    g_string_append_printf(text, "B comes to %s of A (SQNR), cosine %.6g, largest difference %.3g", near,
                           number(output, "cosine"), number(output, "max_difference"));
    append_top(text, output, "top1", "top-1");
    append_top(text, output, "top5", "top-5");
    if (n_rows > 0)
        g_string_append_printf(text, " of %.0f rows", n_rows);
    if (number(output, "n_not_finite") > 0)
        g_string_append_printf(text, "; %.0f elements are NaN or infinite in one alone", number(output, "n_not_finite"));
    return g_string_free(text, FALSE);
}

/* --- the tables ------------------------------------------------------------------------------------------------------- */

static void get_text(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_text(value, ifm_member_text(((const Row *)record)->json, user));
}

static void get_db(const void *record, const void *user, IfmValue *value)
{
    const double found = number(((const Row *)record)->json, user);
    if (!isnan(found))
        ifm_value_take_text(value, decibels(found));
}

static void get_loss(const void *record, const void *user, IfmValue *value)
{
    const double loss = number(((const Row *)record)->json, "loss_db");
    if (!isnan(loss))
        ifm_value_take_text(value, g_strdup_printf("%.1f dB", loss));
}

static void get_real(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_real(value, number(((const Row *)record)->json, user));
}

static const IfmField output_fields[] = {
    { "output", "output", IFM_FIELD_TEXT, get_text, "output", IFM_FIELD_KEY },
    { "sqnr", "SQNR", IFM_FIELD_TEXT, get_db, "sqnr_db" },
    { "cosine", "cosine", IFM_FIELD_REAL, get_real, "cosine" },
    { "max_difference", "largest difference", IFM_FIELD_REAL, get_real, "max_difference" },
    { NULL },
};

static const IfmField layer_fields[] = {
    { "layer", "layer", IFM_FIELD_TEXT, get_text, "layer", IFM_FIELD_KEY },
    { "op_type", "operator", IFM_FIELD_TEXT, get_text, "op_type" },
    { "sqnr", "SQNR", IFM_FIELD_TEXT, get_db, "sqnr_db" },
    { "loss", "loss", IFM_FIELD_TEXT, get_loss, NULL },
    { "quantisation", "its quantisation alone", IFM_FIELD_TEXT, get_db, "quantisation_db", IFM_FIELD_HIDE_EMPTY },
    { "max_difference", "largest difference", IFM_FIELD_REAL, get_real, "max_difference" },
    { NULL },
};

static void add_table(IfmDocument *document, const char *key, const IfmField *fields, const json_t *list, double least_loss)
{
    GArray *rows = g_array_new(FALSE, FALSE, sizeof(Row));
    gsize i;
    json_t *one;
    json_array_foreach(list, i, one)
    {
        const Row row = { one };
        if (isnan(least_loss) || (number(one, "loss_db") >= least_loss && rows->len < MAX_ROWS))
            g_array_append_val(rows, row);
    }
    if (rows->len > 0)
        ifm_document_rows(document, key, fields, rows);
    else
        g_array_unref(rows);
}

static int falling(gconstpointer a, gconstpointer b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* The loss of the layer from which on there are MAX_ROWS. */
static double least_shown(const json_t *layers)
{
    g_autoptr(GArray) losses = g_array_new(FALSE, FALSE, sizeof(double));
    gsize i;
    json_t *one;
    json_array_foreach(layers, i, one)
    {
        const double loss = number(one, "loss_db");
        g_array_append_val(losses, loss);
    }
    g_array_sort(losses, falling);
    return losses->len > MAX_ROWS ? MAX(g_array_index(losses, double, MAX_ROWS - 1), NO_LOSS_DB) : (double)NAN;
}

/* Without inputs that B quantises, which are no layers. */
static gsize count_layers(const json_t *layers)
{
    gsize n = 0, i;
    json_t *one;
    json_array_foreach(layers, i, one) n += g_strcmp0(ifm_member_text(one, "op_type"), "input") != 0;
    return n;
}

static void add_layers(IfmDocument *document, const json_t *accuracy)
{
    const json_t *layers = json_object_get(accuracy, "layers");
    const char *first = ifm_member_text(accuracy, "first");
    const gsize n_all = (gsize)json_integer_value(json_object_get(accuracy, "n_layers"));
    const gsize n = count_layers(layers);
    if (layers == NULL)
        return;
    if (n == 0)
    {
        ifm_document_text(document, "no layers of A and B have the same names: where the difference arises is not known");
        return;
    }
    const double least = least_shown(layers);
    ifm_document_text(document,
                      first != NULL ? "the first layer that loses over %.4g dB is %s (both models as they are written, on "
                                      "onnxruntime:CPU without optimisation)"
                                    : "no layer loses over %.4g dB%s (both models as they are written, on onnxruntime:CPU "
                                      "without optimisation)",
                      number(accuracy, "threshold_db"), first != NULL ? first : "");
    ifm_document_part(document);
    add_table(document, "layers", layer_fields, layers, least);
    if (n == n_all)
        ifm_document_text(
            document, n == 1 ? "A's one layer has its name in B, too%s" : "all of A's layers have their names in B, too%s",
            isnan(least) ? "" : "; shown are those that lose most, in the order of the graph");
    else
        ifm_document_text(document, "%zu of A's %zu layer%s %s the same name in B%s", n, n_all, ifm_plural(n_all),
                          n == 1 ? "has" : "have",
                          isnan(least) ? "" : "; shown are those that lose most, in the order of the graph");
}

#define UNLIKE_DB 10 /* the noise is a tenth of the signal: no quantisation that is of use does that */

/* Two models that do not compute the same: how near the one comes to the other then says nothing of either. */
static void add_doubt(IfmDocument *document, const json_t *accuracy)
{
    const json_t *outputs = json_object_get(accuracy, "outputs"), *layers = json_object_get(accuracy, "layers"), *output;
    const gsize n = count_layers(layers), n_all = (gsize)json_integer_value(json_object_get(accuracy, "n_layers"));
    double best_db = -INFINITY;
    gsize i;
    json_array_foreach(outputs, i, output) best_db = fmax(best_db, number(output, "sqnr_db"));
    if (json_array_size(outputs) > 0 && best_db < UNLIKE_DB && layers != NULL && 2 * n < n_all)
        ifm_document_warning(document,
                             "A and B are different models: their outputs have little in common, and %zu of A's %zu layers "
                             "%s the same name in B. Accuracy means something only where B is made from A",
                             n, n_all, n == 1 ? "has" : "have");
}

void ifm_comparison_add_accuracy(IfmDocument *document, const json_t *accuracy)
{
    const json_t *outputs = json_object_get(accuracy, "outputs");
    const char *why = ifm_member_text(accuracy, "why");
    const gint64 n = json_integer_value(json_object_get(accuracy, "n_samples"));
    const gsize n_outputs = json_array_size(outputs);
    if (accuracy == NULL)
        return;
    ifm_document_part(document);
    if (n_outputs > 0)
    {
        g_autofree char *sentence = sentence_of(json_array_get(outputs, 0));
        const char *name = n_outputs > 1 ? ifm_member_text(json_array_get(outputs, 0), "output") : NULL;
        ifm_document_text(document, "accuracy: %s%s%s, over %" G_GINT64_FORMAT " %s sample%s", name != NULL ? name : "",
                          name != NULL ? ": " : "", sentence, n, ifm_member_text(accuracy, "samples"), ifm_plural(n));
    }
    add_doubt(document, accuracy);
    if (n_outputs > 1)
        add_table(document, "outputs", output_fields, outputs, NAN);
    add_layers(document, accuracy);
    if (why != NULL)
        ifm_document_warning(document, "accuracy: %s", why);
}
