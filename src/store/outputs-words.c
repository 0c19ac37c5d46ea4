/* What comparing the outputs came to, in a line. */
#include <math.h>

#include <base/fields.h>

#include "results.h"

/* The output that the verdict is about: of those with its word the one with the most noise. NULL: none was judged so. */
static const json_t *output_of(const json_t *verification)
{
    const char *agreement = ifm_member_text(verification, "agreement");
    const json_t *outputs = json_object_get(verification, "outputs"), *output, *found = NULL;
    gsize i;
    json_array_foreach(outputs, i, output) if (g_strcmp0(ifm_member_text(output, "agreement"), agreement) == 0 &&
                                               (found == NULL || !(ifm_member_number(output, "accuracy.sqnr_db") >=
                                                                   ifm_member_number(found, "accuracy.sqnr_db")))) found =
        output;
    return found;
}

static void add_figures(GString *words, const json_t *output)
{
    const double sqnr = ifm_member_number(output, "accuracy.sqnr_db"), own = ifm_member_number(output, "reference_db");
    const double cosine = ifm_member_number(output, "accuracy.cosine"), top1 = ifm_member_number(output, "accuracy.top1");
    if (isfinite(sqnr))
        g_string_append_printf(words, ": signal to noise %.1f dB", sqnr);
    else
        g_string_append(words, ": no element differs");
    if (isfinite(own))
        g_string_append_printf(words, " (the reference's own %.1f dB)", own);
    if (isfinite(cosine) && isfinite(sqnr))
        g_string_append_printf(words, ", cosine %.6g", cosine);
    if (isfinite(top1))
        g_string_append_printf(words, ", top-1 %.4g %%", 100 * top1);
}

/* "cannot be compared: y (Dropout), mask (Dropout) follow from random numbers". Returns: whether there are such. */
static gboolean add_drawn(GString *words, const json_t *verification)
{
    json_t *draws = json_object_get(verification, "draws"), *source;
    const gsize n = json_object_size(draws);
    const char *output, *sign = ": cannot be compared: ";
    json_object_foreach(draws, output, source)
    {
        g_string_append_printf(words, "%s%s (%s)", sign, output, json_string_value(source));
        sign = ", ";
    }
    if (n > 0)
        g_string_append_printf(words, " follow%s from random numbers", n == 1 ? "s" : "");
    return n > 0;
}

/* What makes the words weaker: operators that are their own reference, runs that there was no time for. */
static void add_limits(GString *words, const json_t *verification)
{
    const json_t *kept = json_object_get(verification, "kept"), *name;
    const double n_runs = ifm_member_number(verification, "n_runs"),
                 asked = ifm_member_number(verification, "n_runs_asked");
    const char *why = ifm_member_text(verification, "no_tolerance");
    gsize i;
    if (n_runs < asked && why == NULL)
        g_string_append_printf(words, "; %.0f of %.0f disturbed runs: there was no time for more", n_runs, asked);
    if (why != NULL)
        g_string_append_printf(words, "; by the precision's tolerance: the reference was not disturbed: %s", why);
    why = ifm_member_text(verification, "not_rewritten");
    if (why != NULL)
        g_string_append_printf(words, "; the reference is the runtime's own kernels: %s", why);
    json_array_foreach(kept, i, name) g_string_append_printf(
        words, "%s%s", i == 0 ? "; with the runtime's own kernel for " : ", ", json_string_value(name));
}

char *ifm_outputs_words(const json_t *verification)
{
    const char *agreement = ifm_member_text(verification, "agreement");
    g_autoptr(GString) limits = g_string_new(NULL);
    if (agreement == NULL || g_str_equal(agreement, "different")) /* the reason of the failure says it */
        return NULL;
    add_limits(limits, verification);
    if (g_str_equal(agreement, "equal") && limits->len == 0)
        return NULL;
    g_autoptr(GString) words = g_string_new(agreement);
    const json_t *output = output_of(verification);
    const gboolean is_undetermined = g_str_equal(agreement, "undetermined");
    const gboolean is_drawn = is_undetermined && add_drawn(words, verification);
    const gboolean no_numbers = json_is_true(json_object_get(verification, "reference_not_finite"));
    if (is_undetermined && (output != NULL || !is_drawn))
        g_string_append_printf(words,
                               no_numbers ? "%s on these inputs the model itself gives no numbers (NaN) in output %s; "
                                            "--input gives real ones"
                                          : "%s on these inputs the model's own roundings move output %s too far to tell "
                                            "a mismatch; --input gives real ones",
                               is_drawn ? ";" : ":", output != NULL ? ifm_member_text(output, "port") : "");
    if (output != NULL && !g_str_equal(agreement, "equal") && !(is_undetermined && no_numbers))
        add_figures(words, output);
    g_string_append(words, limits->str);
    return g_strdup(words->str);
}
