#include <string.h>

#include <inferometer/compare.h>
#include <internal/json.h>
#include <internal/measure.h>

#include "profile-private.h"

/*
 * Forward and training pass in turns: what backward, their difference, comes from. By themselves they are measured one
 * after the other, and what the machine did between the two would be in the difference and not in its interval.
 */

#define MAX_PAIRS 40     /* a look at a quarter of them is then not far off where pairs cost nearly nothing */
#define COUNTED_PAIRS 10 /* where runs are counted */
/* Of a side in a pair of processes: two to warm up, one in each of two rounds, one that is checked. */
#define MIN_RUNS 5

static IfmCompareProtocol protocol_of(const IfmProtocol *given)
{
    IfmCompareProtocol protocol = IFM_COMPARE_PROTOCOL_INIT;
    protocol.level = given->level;
    protocol.time_budget_ns = given->time_budget_ns;
    protocol.max_pairs = MAX_PAIRS;
    protocol.ci_ratio = given->ci_ratio;
    if (given->runs == 0)
        return protocol;
    protocol.ci_ratio = 0;
    protocol.runs = given->runs;
    protocol.max_pairs = CLAMP((given->runs + 1) / 2, MIN(given->runs, protocol.min_pairs), COUNTED_PAIRS);
    protocol.min_pairs = protocol.max_pairs;
    return protocol;
}

/* As it was measured by itself, but that its nodes are not timed. */
static IfmModelCase side_case(const ProfilePlan *plan, const Target *target)
{
    IfmModelCase model_case = profile_plan_case(plan, target);
    model_case.profile = FALSE;
    return model_case;
}

static gboolean is_measured(const Target *target)
{
    return target->measurement != NULL && target->measurement->outcome == IFM_OUTCOME_OK;
}

/* What a process of a side takes at least, by what its own measurement took. */
static double min_process_ns(const Target *target)
{
    double compile_ns = ifm_member_number(target->measurement->environment, "compile.time_ns");
    double run_ns = target->measurement->summary.median;
    return (compile_ns > 0 ? compile_ns : 0) + MIN_RUNS * run_ns;
}

/* (transfer full) why it is not even tried; NULL: it is. */
static char *why_not(const IfmProtocol *protocol, const Target *forward, const Target *training)
{
    double min_ns = 2 * (min_process_ns(forward) + min_process_ns(training));
    if (protocol->runs == 1)
        return g_strdup("of a single run there are no rounds");
    if (protocol->time_budget_ns == 0 || !(min_ns > (double)protocol->time_budget_ns))
        return NULL;
    g_autofree char *min = ifm_format_duration(min_ns), *budget = ifm_format_duration((double)protocol->time_budget_ns);
    return g_strdup_printf("two pairs of processes would take %s at least, more than the time budget of %s", min, budget);
}

/* "A: …" in the words of the passes. (transfer full) */
static char *in_own_words(const char *message)
{
    static const char *const sides[] = { "A: ", "B: " }, *const words[] = { "forward: ", "training pass: " };
    for (gsize i = 0; i < G_N_ELEMENTS(sides); i++)
        if (g_str_has_prefix(message, sides[i]))
            return g_strconcat(words[i], message + strlen(sides[i]), NULL);
    return g_strdup(message);
}

/* The two plans that are compared, and their targets. */
typedef struct
{
    const ProfilePlan *forward, *training;
    Target *targets[2];
} Pair;

static Pair pair_of(const Step *step)
{
    const ProfilePlan *derived = profile_mode_plan(step->asked, IFM_PASS_TRAINING);
    Pair pair = { profile_mode_plan(step->asked, IFM_PASS_FORWARD), derived != NULL ? derived : step->asked };
    pair.targets[0] = pair.forward->targets->pdata[step->at];
    pair.targets[1] = pair.training->targets->pdata[step->at];
    return pair;
}

/* Sides: A and B, and the cases that they borrow. */
typedef struct
{
    IfmModelCase cases[2];
    IfmCompareSide of[2];
} Sides;

static void sides_init(Sides *sides, const Step *step)
{
    Pair pair = pair_of(step);
    sides->cases[0] = side_case(pair.forward, pair.targets[0]);
    sides->cases[1] = side_case(pair.training, pair.targets[1]);
    for (gsize side = 0; side < 2; side++)
        sides->of[side] = (IfmCompareSide){ .kind = &ifm_kind_model, .spec = &sides->cases[side] };
}

/* --- as a step ----------------------------------------------------------------------------------------------------------
 */

static gboolean seal(IfmCampaign *campaign, const IfmCampaignItem *item, IfmCase **cases, GError **error)
{
    const Step *step = item->tag;
    const IfmProtocol *given = &step->asked->base.protocol;
    const IfmCompareProtocol protocol = protocol_of(given);
    IfmRunner *runner = ifm_campaign_runner(campaign);
    Pair pair = pair_of(step);
    Sides sides;
    g_autofree char *why = why_not(given, pair.targets[0], pair.targets[1]);
    if (why != NULL)
    {
        g_set_error_literal(error, IFM_ERROR, IFM_ERROR_UNSUPPORTED, why);
        return FALSE;
    }
    sides_init(&sides, step);
    cases[0] = ifm_runner_compare_case(runner, &sides.of[0], FALSE, &protocol, error);
    if (cases[0] != NULL)
        cases[1] = ifm_runner_compare_case(runner, &sides.of[1], TRUE, &protocol, error);
    return cases[1] != NULL;
}

static gboolean measure(IfmCampaign *campaign, const IfmCampaignItem *item, IfmCase **cases, IfmMeasurement **measurements,
                        GError **error)
{
    const IfmCompareProtocol protocol = protocol_of(&((const Step *)item->tag)->asked->base.protocol);
    g_auto(IfmComparison) comparison = { 0 };
    Sides sides;
    sides_init(&sides, item->tag);
    if (!ifm_runner_compare(ifm_campaign_runner(campaign), sides.of, &protocol, sides.cases[0].seed, &comparison, error))
    {
        const Step *step = item->tag;
        g_autofree char *words = error != NULL && *error != NULL ? in_own_words((*error)->message) : NULL;
        if (error != NULL && g_error_matches(*error, IFM_ERROR, IFM_ERROR_LOST))
            ifm_runner_set_lost(ifm_campaign_runner(campaign), step->target->spec->text, words);
        return FALSE;
    }
    for (gsize side = 0; side < 2; side++)
    {
        ifm_case_free(cases[side]);
        cases[side] = g_steal_pointer(&comparison.cases[side]);
        measurements[side] = g_steal_pointer(&comparison.measurements[side]);
    }
    return TRUE;
}

/* Whether the training pass was compared with that very forward pass. */
static gboolean stands(const IfmCampaignItem *item, IfmCase *const *cases, const IfmMeasurement *found)
{
    return found->outcome == IFM_OUTCOME_OK && ifm_comparison_stored(found, cases[0]) != NULL;
}

static const IfmItemKind pair_kind = { .seal = seal, .measure = measure, .stands = stands };

static gboolean wanted(const Step *step)
{
    Pair pair = pair_of(step);
    return is_measured(pair.targets[0]) && is_measured(pair.targets[1]);
}

static void begin(const Step *step)
{
    const IfmCompareProtocol protocol = protocol_of(&step->asked->base.protocol);
    profile_watch_begin(step->of->watch, step->title, protocol.runs > 0 ? protocol.max_pairs : 0, protocol.ci_ratio);
}

static void end_interleaved(const Step *step, IfmCampaignEnd *end)
{
    const IfmProfileWatch *watch = step->of->watch;
    Target *target = step->target;
    if (end->measurements == NULL)
        target->why_not_interleaved = end->n > 0 ? in_own_words(end->error->message) : g_strdup(end->error->message);
    else if (end->error == NULL)
        target->interleaved = g_steal_pointer(&end->measurements[1]);
    if (end->found || end->n == 0)
        return;
    profile_watch_end(watch, target->interleaved != NULL           ? "ok"
                             : target->why_not_interleaved != NULL ? "failed"
                                                                   : "not stored");
    if (target->why_not_interleaved != NULL && !profile_is_interrupted(step->of->interrupted))
        profile_note(watch, "%s: forward and training pass were not interleaved: %s", target->spec->text,
                     target->why_not_interleaved);
}

const StepKind profile_step_interleaved = { .own = &pair_kind, .wanted = wanted, .begin = begin, .end = end_interleaved };

gboolean profile_wants_interleaved(const ProfilePlan *plan)
{
    return plan->mode != NULL && !profile_wants_step_rounds(plan) &&
           (plan->parts & (IFM_PROFILE_RUNTIME | IFM_PROFILE_SCALING)) != 0;
}
