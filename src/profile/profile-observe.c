#include <string.h>

#include "profile-private.h"

/* Shapes that no rule gives, from one run of the model. */

#define OBSERVER "onnxruntime:CPU"

static gboolean lacks_shapes(const IfmProfilePlan *plan)
{
    g_auto(IfmMemoryPlan) memory = { 0 };
    ifm_analysis_memory(plan->analysis, &memory);
    return memory.n_unknown > 0;
}

static gboolean has_shapes(const IfmProfilePlan *plan, const char *const *tensors, gsize n)
{
    IfmDtype dtype;
    int rank;
    gint64 shape[IFM_MAX_RANK];
    for (gsize i = 0; i < n; i++)
        if (*tensors[i] != '\0' && !ifm_analysis_shape(plan->analysis, tensors[i], &dtype, &rank, shape))
            return FALSE;
    return TRUE;
}

#define MAX_NAMED 3

/* name_first: "node 3 (NonZero 'z'), node 7 (Compress 'c') and 2 more": where shapes are lost: nodes whose inputs have all
 * of theirs. (transfer full) */
static char *name_first(const IfmProfilePlan *plan)
{
    GString *text = g_string_new(NULL);
    gsize n = 0;
    for (gsize i = 0; i < ifm_model_n_nodes(plan->plain); i++)
    {
        const IfmNode *node = ifm_model_node(plan->plain, i);
        if (has_shapes(plan, node->outputs, node->n_outputs) || !has_shapes(plan, node->inputs, node->n_inputs))
            continue;
        if (n++ < MAX_NAMED)
            g_string_append_printf(text, "%snode %zu (%s%s%s%s)", n > 1 ? ", " : "", i, node->op_type,
                                   *node->name != '\0' ? " '" : "", node->name, *node->name != '\0' ? "'" : "");
    }
    if (n > MAX_NAMED)
        g_string_append_printf(text, " and %zu more", n - MAX_NAMED);
    return g_string_free(text, FALSE);
}

/* Whether it stands there as a word: "Foo" in "Foo(-1) is not a registered function". */
static gboolean names_word(const char *text, const char *word)
{
    gsize length = strlen(word);
    for (const char *at = strstr(text, word); at != NULL && length > 0; at = strstr(at + 1, word))
        if ((at == text || !g_ascii_isalnum(at[-1])) && !g_ascii_isalnum(at[length]))
            return TRUE;
    return FALSE;
}

const char *profile_blamed_operator(const IfmProfilePlan *plan, const char *reason)
{
    for (gsize i = 0; i < ifm_model_n_nodes(plan->plain); i++)
    {
        const char *op_type = ifm_model_node(plan->plain, i)->op_type;
        if (!ifm_analysis_node_cost(plan->analysis, i)->covered && names_word(reason, op_type))
            return op_type;
    }
    return NULL;
}

/* A node whose operator the table does not know; -1 for none. One of ONNX's own domain comes first: there the table is all
 * that there is. */
static gssize find_unknown(const IfmProfilePlan *plan)
{
    gssize found = -1;
    for (gsize i = 0; i < ifm_model_n_nodes(plan->plain); i++)
    {
        gboolean own = *ifm_model_node(plan->plain, i)->domain == '\0';
        if (ifm_analysis_knows_operator(plan->analysis, i) || (found >= 0 && !own))
            continue;
        found = (gssize)i;
        if (own)
            break;
    }
    return found;
}

/* ONNX's own domain ends at the table. Of another @said: why no run reports more of it. */
static gboolean refuse_unknown(const IfmProfilePlan *plan, gssize at, const char *said, GError **error)
{
    const IfmNode *node = ifm_model_node(plan->plain, (gsize)at);
    const char *model = ifm_model_name(plan->plain);
    if (*node->domain == '\0')
        return ifm_error_refuse(
            error, "%s: node %" G_GSSIZE_FORMAT " (%s '%s'): no operator of opset %" G_GINT64_FORMAT " is called so", model,
            at, node->op_type, node->name, ifm_model_opset(plan->plain));
    return ifm_error_refuse(error,
                            "%s: node %" G_GSSIZE_FORMAT
                            " (%s.%s '%s'): an operator that is unknown here, and no run reports more of it: %s",
                            model, at, node->domain, node->op_type, node->name, said);
}

/*
 * An operator that the table does not know, and a runtime refuses, is unknown. One of a domain of its own may
 * still be known to a device that was asked for: that is then for the device to say.
 */
static gboolean explain(IfmProfilePlan *plan, const GError *said, GError **error)
{
    gboolean is_unknown =
        g_error_matches(said, IFM_ERROR, IFM_ERROR_UNSUPPORTED) || g_error_matches(said, IFM_ERROR, IFM_ERROR_UNAVAILABLE);
    gssize unknown = is_unknown ? find_unknown(plan) : -1;
    gboolean own = unknown >= 0 && *ifm_model_node(plan->plain, (gsize)unknown)->domain == '\0';
    if (unknown >= 0 && (own || plan->targets->len == 0))
        return refuse_unknown(plan, unknown, said->message, error);
    gboolean refused = g_error_matches(said, IFM_ERROR, IFM_ERROR_UNSUPPORTED);
    plan->why_not_observed = g_strdup_printf("no run reported the missing shapes: %s", said->message);
    if (plan->targets->len > 0 || !refused || profile_blamed_operator(plan, said->message) == NULL)
        return TRUE;
    return ifm_error_refuse(error, "%s", said->message);
}

/* Without a run shapes stay unknown. */
static gboolean leave(IfmProfilePlan *plan, GError **error)
{
    gssize unknown = find_unknown(plan);
    if (unknown >= 0 && *ifm_model_node(plan->plain, (gsize)unknown)->domain == '\0')
        return refuse_unknown(plan, unknown, NULL, error);
    if (!lacks_shapes(plan))
        return TRUE;
    g_autofree char *nodes = name_first(plan);
    plan->why_not_observed = g_strdup_printf(
        "no rule gives those of %s: --observe runs the model once on " OBSERVER " and measures them", nodes);
    return TRUE;
}

gboolean profile_observe(IfmProfilePlan *plan, IfmRunner *runner, gboolean asked, GError **error)
{
    g_autoptr(GError) trouble = NULL;
    g_auto(IfmObservedShapes) observed = { 0 };
    if (!lacks_shapes(plan) && find_unknown(plan) < 0)
        return TRUE;
    if (!asked && plan->targets->len == 0)
        return leave(plan, error);
    IfmModelCase model_case = plan->base; /* of no device yet */
    model_case.inputs_path = plan->source.inputs_path;
    model_case.device = OBSERVER;
    model_case.convolutions = NULL;
    if (!ifm_runner_observe(runner, &model_case, &observed, &trouble))
        return explain(plan, trouble, error);
    IfmAnalysis *analysis = profile_analyse(plan, &observed, error);
    if (analysis == NULL)
        return FALSE;
    ifm_analysis_free(plan->analysis);
    plan->analysis = analysis;
    plan->observed_on = g_strdup(OBSERVER);
    return TRUE;
}
