/* What a tuned model keeps of where it was tuned, and of how far that was to be trusted; and what is said of it later. */
#include <base/fields.h>
#include <convolution/convolution.h>
#include <document/document.h>
#include <document/summary.h>
#include <measure/compare-page.h>

#include "tune-private.h"

const char *const tuned_sides[2] = { "runtime", "tuned" };

void tuned_keep_origin(json_t *tuned_for, const IfmComparison *comparison)
{
    g_autofree char *processor = ifm_conv_processor();
    g_autoptr(IfmDocument) document = ifm_document_new("tuned", "A tuned model");
    ifm_document_verdict(document, "It is written");
    ifm_comparison_trust(document, comparison, tuned_sides);
    json_auto_t *summary = ifm_document_summary_to_json(document);
    json_object_set_new(tuned_for, "processor_key", ifm_json_string(processor));
    json_object_set(tuned_for, "trust", json_object_get(summary, "trust"));
}

const char *tuned_place(const json_t *tuned_for)
{
    g_autofree char *here = ifm_conv_processor();
    const char *there = ifm_member_text(tuned_for, "processor_key");
    if (there == NULL)
        return "which may be this processor or another";
    return g_str_equal(there, here) ? "which is this processor" : "another processor";
}

/* A word of another program is no check that could be made. */
static IfmTrust trust_of(const char *name)
{
    static const IfmTrust levels[] = { IFM_TRUST_GOOD, IFM_TRUST_CARE, IFM_TRUST_BAD };
    for (gsize i = 0; i < G_N_ELEMENTS(levels); i++)
        if (g_strcmp0(name, ifm_trust_name(levels[i])) == 0)
            return levels[i];
    return IFM_TRUST_UNCHECKED;
}

static void say_trust(IfmDocument *document, const json_t *trust)
{
    const json_t *checks = json_object_get(trust, "checks");
    for (gsize i = 0; i < json_array_size(checks); i++)
    {
        const json_t *check = json_array_get(checks, i);
        const char *text = ifm_member_text(check, "text");
        if (text != NULL)
            ifm_document_check(document, trust_of(ifm_member_text(check, "level")), "when it was tuned: %s", text);
    }
    if (trust == NULL)
        ifm_document_check(document, IFM_TRUST_CARE, "the file does not say how far its figures are to be trusted");
}

void tuned_say_origin(IfmDocument *document, const json_t *tuned_for)
{
    g_autofree char *here = ifm_conv_processor();
    const char *there = ifm_member_text(tuned_for, "processor_key");
    if (g_strcmp0(there, here) != 0)
    {
        ifm_document_check(document, IFM_TRUST_CARE, "what was the fastest there may not be here: tune it again");
        ifm_document_provenance(document, "this processor", "%s", here);
    }
    ifm_document_provenance(document, "tuned on", "%s", there);
    say_trust(document, json_object_get(tuned_for, "trust"));
}
