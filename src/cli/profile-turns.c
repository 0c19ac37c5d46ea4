#include <string.h>

#include <inferometer/compare.h>
#include <inferometer/json.h>

#include "profile.h"

/*
 * Forward and training pass in turns: what backward, their difference, comes from. By themselves they are measured one
 * after the other, and what the machine did between the two would be in the difference and not in its interval.
 */

#define MOST_PAIRS 40    /* a look at a quarter of them is then not far off where pairs cost nearly nothing */
#define COUNTED_PAIRS 10 /* where runs are counted: Student's interval of five is twice as wide */
/* Of a side in a pair of processes: two to warm up, one in each of two rounds, one that is checked. */
#define LEAST_RUNS 5

static IfmCompareProtocol protocol_of(const IfmProtocol *given)
{
    IfmCompareProtocol protocol = IFM_COMPARE_PROTOCOL_INIT;
    protocol.level = given->level;
    protocol.time_budget_ns = given->time_budget_ns;
    protocol.most_pairs = MOST_PAIRS;
    protocol.ci_ratio = given->ci_ratio;
    if (given->runs == 0)
        return protocol;
    protocol.ci_ratio = 0;
    protocol.runs = given->runs;
    protocol.most_pairs = CLAMP((given->runs + 1) / 2, 2, COUNTED_PAIRS);
    protocol.least_pairs = protocol.most_pairs;
    return protocol;
}

/* As it was measured by itself, but that its nodes are not timed. */
static IfmCompareSide side_of(const ProfilePlan *plan, const Target *target)
{
    IfmCompareSide side = { .model_case = profile_plan_case(plan, target) };
    side.model_case.profile = FALSE;
    return side;
}

static gboolean is_measured(const Target *target)
{
    return target->measurement != NULL && target->measurement->outcome == IFM_OUTCOME_OK;
}

/* What a process of a side takes at least, by what its own measurement took. */
static double least_process_ns(const Target *target)
{
    double compile_ns = ifm_member_number(target->measurement->surroundings, "compile.time_ns");
    double run_ns = ifm_member_number(target->measurement->summary, "median");
    return (compile_ns > 0 ? compile_ns : 0) + LEAST_RUNS * run_ns;
}

/* (transfer full) why it is not even tried; NULL: it is. */
static char *why_not(const IfmProtocol *protocol, const Target *forward, const Target *training)
{
    double least_ns = 2 * (least_process_ns(forward) + least_process_ns(training));
    if (protocol->runs == 1)
        return g_strdup("of a single run there are no rounds");
    if (protocol->time_budget_ns == 0 || !(least_ns > (double)protocol->time_budget_ns))
        return NULL;
    g_autofree char *least = ifm_format_duration(least_ns), *budget = ifm_format_duration((double)protocol->time_budget_ns);
    return g_strdup_printf("two pairs of processes would take %s at least, more than the time budget of %s", least, budget);
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

static gboolean commit(const TurnsPlace *place, IfmComparison *comparison, Target *target, GError **store_error)
{
    for (gsize side = 0; side < G_N_ELEMENTS(comparison->cases); side++)
        if (!ifm_store_commit(place->store, comparison->cases[side], comparison->measurements[side], store_error))
            return FALSE;
    target->turns = g_steal_pointer(&comparison->measurements[1]);
    return TRUE;
}

static gboolean compare(const TurnsPlace *place, const IfmCompareSide sides[2], const IfmCompareProtocol *protocol,
                        Target *target, GError **store_error)
{
    g_autoptr(GError) error = NULL;
    g_auto(IfmComparison) comparison = { 0 };
    guint32 seed = sides[0].model_case.seed;
    if (ifm_runner_compare(place->runner, sides, protocol, seed, &comparison, &error))
        return commit(place, &comparison, target, store_error);
    target->no_turns = in_own_words(error->message);
    if (g_error_matches(error, IFM_ERROR, IFM_ERROR_LOST))
        ifm_runner_set_lost(place->runner, target->spec->text, target->no_turns);
    return TRUE;
}

/* What an earlier profile left whole. Returns: FALSE with @store_error, or with why there can be none. */
static gboolean find_stored(const TurnsPlace *place, const IfmCompareSide sides[2], const IfmCompareProtocol *protocol,
                            Target *target, GError **store_error)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmCase) a = ifm_runner_compare_case(place->runner, &sides[0].model_case, FALSE, protocol, &error);
    g_autoptr(IfmCase) b =
        a != NULL ? ifm_runner_compare_case(place->runner, &sides[1].model_case, TRUE, protocol, &error) : NULL;
    if (b == NULL)
    {
        target->no_turns = g_strdup(error->message);
        return TRUE;
    }
    g_autoptr(GError) trouble = NULL;
    g_autoptr(IfmMeasurement) stored = ifm_store_latest(place->store, b->key, &trouble);
    if (trouble != NULL)
    {
        g_propagate_error(store_error, g_steal_pointer(&trouble));
        return FALSE;
    }
    if (stored != NULL && ifm_comparison_stored(stored, a) != NULL)
        target->turns = g_steal_pointer(&stored);
    return TRUE;
}

gboolean profile_wants_turns(const ProfilePlan *plan)
{
    return plan->mode != NULL && (plan->parts & (IFM_PROFILE_RUNTIME | IFM_PROFILE_SCALING)) != 0;
}

gboolean profile_measure_turns(const ProfilePlan *plan, guint at, const TurnsPlace *place, GError **store_error)
{
    const ProfilePlan *forward = profile_mode_plan(plan, IFM_PASS_FORWARD);
    const ProfilePlan *derived = profile_mode_plan(plan, IFM_PASS_TRAINING), *training = derived != NULL ? derived : plan;
    Target *target = plan->targets->pdata[at];
    if (!profile_wants_turns(plan) || !is_measured(forward->targets->pdata[at]) ||
        !is_measured(training->targets->pdata[at]))
        return TRUE;
    const IfmProtocol *given = &plan->base.protocol;
    target->no_turns = why_not(given, forward->targets->pdata[at], training->targets->pdata[at]);
    if (target->no_turns != NULL)
        return TRUE;
    IfmCompareProtocol protocol = protocol_of(given);
    IfmCompareSide sides[] = { side_of(forward, forward->targets->pdata[at]),
                               side_of(training, training->targets->pdata[at]) };
    if (place->resume && !find_stored(place, sides, &protocol, target, store_error))
        return FALSE;
    if (target->turns != NULL || target->no_turns != NULL)
        return TRUE;
    g_autofree char *label =
        g_strdup_printf("%s%s%s: forward and training pass in turns", plan->label != NULL ? plan->label : "",
                        plan->label != NULL ? ": " : "", target->spec->text);
    progress_begin(place->progress, label, protocol.runs > 0 ? protocol.most_pairs : 0, protocol.ci_ratio);
    gboolean good = compare(place, sides, &protocol, target, store_error);
    progress_end(place->progress, !good ? "not stored" : target->turns != NULL ? "ok" : "failed");
    if (target->no_turns != NULL && cli_interrupt_signal() == 0)
        cli_note("%s: not measured in turns: %s", target->spec->text, target->no_turns);
    return good;
}
