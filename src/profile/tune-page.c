/* What came of tuning a model: the verdict, both sides, the layers. */
#include <math.h>

#include <base/base.h>
#include <base/fields.h>
#include <document/document.h>
#include <document/summary.h>
#include <document/words.h>
#include <measure/compare-page.h>
#include <profile/tune.h>

#include "tune-private.h"

#define LAYER(member) IFM_MEMBER(IfmTuneLayer, member)

/* What was not measured, or not predicted, has none. */
static void set_duration(IfmValue *value, double ns)
{
    if (ns > 0)
        ifm_value_set_real(value, ns);
}

static void get_time(const void *record, const void *user, IfmValue *value)
{
    set_duration(value, ((const IfmTuneLayer *)record)->time_ns);
}

static void get_rule(const void *record, const void *user, IfmValue *value)
{
    set_duration(value, ((const IfmTuneLayer *)record)->rule_ns);
}

static void get_predicted(const void *record, const void *user, IfmValue *value)
{
    set_duration(value, ((const IfmTuneLayer *)record)->predicted_ns);
}

static void get_gain(const void *record, const void *user, IfmValue *value)
{
    const IfmTuneLayer *layer = record;
    if (layer->time_ns > 0)
        ifm_value_set_real(value, layer->rule_ns / layer->time_ns);
}

static const IfmField layer_fields[] = {
    { "layer", "layer", IFM_FIELD_TEXT, LAYER(layer), IFM_FIELD_BREAK },
    { "algorithm", "algorithm", IFM_FIELD_TEXT, LAYER(algorithm) },
    { "time_ns", "time", IFM_FIELD_DURATION, get_time, NULL, IFM_FIELD_HIDE_EMPTY },
    { "rule_ns", "rule's", IFM_FIELD_DURATION, get_rule, NULL, IFM_FIELD_HIDE_EMPTY },
    { "gain", "rule / it", IFM_FIELD_REAL, get_gain, NULL, IFM_FIELD_HIDE_EMPTY },
    { "predicted_ns", "predicted", IFM_FIELD_DURATION, get_predicted, NULL, IFM_FIELD_HIDE_EMPTY },
    { "implementation", "implementation", IFM_FIELD_TEXT, LAYER(implementation), IFM_FIELD_BREAK },
    { "why", "why", IFM_FIELD_TEXT, LAYER(why), IFM_FIELD_FOLD | IFM_FIELD_BREAK },
    { NULL },
};

/* --- why there is no file ----------------------------------------------------------------------------------------------
 */

/* Pairs that are too few for the level leave a verdict open, wherever their interval lies. */
static char *why_uncertain(const IfmComparison *comparison, const char *time)
{
    const IfmInterval *interval = &comparison->interval;
    const gboolean are_few = interval->level < comparison->level || interval->upper < 1 || interval->lower > 1;
    if (are_few && comparison->why != NULL)
        return g_strdup_printf("nothing is shown yet: the tuned model takes %s, but %s; --time-budget gives it more time",
                               time, comparison->why);
    return g_strdup_printf("the tuned model is not told apart from the runtime's own: it takes %s", time);
}

char *tuned_why_not(const IfmComparison *comparison, gboolean is_right)
{
    const IfmInterval *interval = &comparison->interval;
    g_autofree char *range =
        isfinite(interval->lower) ? g_strdup_printf(" [%.3f, %.3f]", interval->lower, interval->upper) : g_strdup("");
    g_autofree char *time = g_strdup_printf("%.3f times the runtime's time%s", comparison->ratio, range);
    if (!is_right)
        return g_strdup("the tuned model's outputs differ from the model's beyond what its precision allows");
    switch (comparison->verdict)
    {
    case IFM_VERDICT_FASTER:
        return NULL;
    case IFM_VERDICT_SLOWER:
        return g_strdup_printf("the tuned model is slower: it takes %s", time);
    case IFM_VERDICT_SAME:
        return g_strdup_printf("the tuned model is as fast as the runtime's own: it takes %s", time);
    default:
        return why_uncertain(comparison, time);
    }
}

/* --- the page ----------------------------------------------------------------------------------------------------------
 */

static guint count_other(const IfmTuned *tuned)
{
    guint n = 0;
    for (guint i = 0; i < tuned->layers->len; i++)
    {
        const IfmTuneLayer *layer = tuned->layers->pdata[i];
        n += (layer->time_ns > 0 || layer->predicted_ns > 0) && !g_str_equal(layer->algorithm, "any");
    }
    return n;
}

/* Where the algorithms are from. (transfer full) */
static char *say_choice(const IfmTuned *tuned)
{
    const guint n = count_other(tuned);
    return tuned->predicted == NULL
               ? g_strdup_printf("of %u another algorithm than the rule's is told apart from it", n)
               : g_strdup_printf("the algorithms of %u are predicted from %s, not measured", n, tuned->predicted);
}

static void add_verdict(IfmDocument *document, const IfmTuned *tuned)
{
    const IfmComparison *comparison = &tuned->comparison;
    ifm_document_subject(document, "%s tuned for %d thread%s of %s", tuned->model, tuned->n_threads,
                         ifm_plural((gsize)tuned->n_threads), tuned->processor);
    if (!ifm_tuned_is_compared(tuned))
    {
        ifm_document_verdict(document, "Nothing is written: %s", tuned->why);
        return;
    }
    g_autofree char *before = ifm_say_duration(comparison->a_ns), *after = ifm_say_duration(comparison->b_ns);
    g_autofree char *gain = ifm_say_number(1 / comparison->ratio);
    g_autofree char *range = ifm_say_numbers(1 / comparison->interval.upper, 1 / comparison->interval.lower);
    if (tuned->why == NULL)
        ifm_document_verdict(document, "%s is faster: the runtime's own takes %s times its time", tuned->path, gain);
    else
        ifm_document_verdict(document, "%s: %s", tuned->path != NULL ? "Nothing is gained" : "Nothing is written",
                             tuned->why);
    if (isfinite(comparison->interval.lower))
        ifm_document_verdict_more(document,
                                  "%s and %s an inference; the ratio is within %s with %.3g" IFM_NO_BREAK
                                  "%% confidence over %zu pair%s of processes",
                                  before, after, range, 100 * comparison->interval.level, comparison->n_pairs,
                                  ifm_plural(comparison->n_pairs));
    ifm_document_estimate(document, &(IfmVerdictRange){ comparison->ratio, comparison->interval.lower,
                                                        comparison->interval.upper, 1, TRUE, IFM_FIELD_REAL, "same time",
                                                        "the tuned model takes less", "the runtime takes less" });
}

static void add_next(IfmDocument *document, const IfmTuned *tuned)
{
    if (tuned->why != NULL)
    {
        if (ifm_tuned_is_compared(tuned) && tuned->comparison.verdict == IFM_VERDICT_UNCERTAIN)
            ifm_document_next_again(document, "--time-budget 300s", NULL, "Give the comparison more time");
        return;
    }
    g_autofree char *library = ifm_path_operators();
    ifm_document_next(document, NULL, NULL, "Deploy it with %s, which any program with ONNX Runtime 1.17 or newer loads",
                      library);
    g_autofree char *quoted = g_shell_quote(tuned->path), *show = g_strdup_printf("inferometer tune --show %s", quoted);
    ifm_document_next(document, show, NULL, "On another machine, see what of it that one replaces");
}

IfmDocument *ifm_tuned_document(const IfmTuned *tuned)
{
    IfmDocument *document = ifm_document_new("tuned", "A tuned model");
    add_verdict(document, tuned);
    if (ifm_tuned_is_compared(tuned))
        ifm_comparison_trust(document, &tuned->comparison, tuned_sides);
    add_next(document, tuned);
    ifm_document_provenance(document, "instruction set", "%s", tuned->isa);
    ifm_document_provenance(document, "threads", "%d, %s", tuned->n_threads, tuned->threads_from);
    g_autofree char *choice = say_choice(tuned);
    ifm_document_question(document, "What runs by what?",
                          "%u of %u convolutions run in %u region%s with %zu of the graph's nodes; %s.", tuned->n_taken,
                          tuned->layers->len, tuned->n_regions, ifm_plural(tuned->n_regions), tuned->n_nodes, choice);
    ifm_document_table(document, "layers", layer_fields, g_ptr_array_ref(tuned->layers));
    return document;
}
