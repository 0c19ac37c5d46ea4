#include <inferometer/compare.h>
#include <internal/record-fields.h>
#include <internal/statistics.h>

#include <math.h>
#include <string.h>

#include <glib/gstdio.h>

#include <inferometer/paths.h>
#include <inferometer/sensor.h>
#include <internal/json.h>

#include "kind-private.h"

/*
 * How much goes into a round and a pair. A round's side is about as long as what the scheduler and the caches need to
 * settle, after a little to warm up again, since the other side's process ran meanwhile. A pair of processes costs the time
 * to make it, and rounds in it cost theirs: with both alike no time is far from its best use (Cochran, Sampling
 * Techniques, 10.6: the best number of rounds goes by the root of the costs' ratio), and the budget must have room for
 * PAIRS_WANTED pairs, since they are what the interval counts; but a pair that was dear to make is not left with so few
 * rounds that a burst of another process in one of them is half of what it says.
 */
#define ROUND_NS (10 * IFM_NS_PER_MS)
#define ROUND_WARM_NS (2 * IFM_NS_PER_MS)
enum
{
    PAIRS_WANTED = 16,
    FIRST_ROUNDS = 8, /* in the first pair, while nothing is known */
    MAX_ROUNDS = 16,
    MAX_ROUND_RUNS = 500,
    MIN_ROUND_RUNS = 3, /* where they are short */
    COUNTED_ROUNDS = 4, /* in a pair, where the runs are counted and there are enough */
};

/* Side: one of the two, and its process of the pair at hand. */
typedef struct
{
    char letter;
    const IfmCompareSide *given;
    const IfmCaseKind *kind;
    void *spec; /* completed; of a worker, as in its message */
    IfmKindPlace place;
    char *setting; /* for the environment of its processes; NULL: none */
    IfmCase *sealed;
    gboolean true_outputs;
    json_t *asked; /* what the request of each process has besides the case; NULL: not asked yet */
    json_t *check; /* {"reference"} or {"verification"}, where its kind has outputs to compare */
    IfmMeasurement *measurement;
    GArray *warmup_ns, *samples_ns; /* of all its processes */
    IfmWorker *worker;
    IfmSubject subject; /* in this process, where it has no worker */
    gboolean is_open;
    double run_ns; /* about */
} Side;

typedef struct
{
    IfmRunner *runner;
    const IfmCompareProtocol *protocol;
    Side sides[2];
    IfmComparer *comparer;
    GRand *random;
    IfmRunMonitor monitor; /* without a callback: for the snapshots */
    gboolean b_first;      /* of the pair at hand: B's process is started, warmed up and ended first */
    char *outputs_path;    /* outputs of the side that warms up first; NULL: they are not to be compared */
    char *differs;
    gint64 began_ns; /* later by as much as preparing the checks took */
    gsize n_pairs;
    gsize n_rounds, n_runs, n_warm; /* in a pair, in a round's side */
} Compare;

static void close_subject(Side *side)
{
    if (side->is_open && side->kind->done != NULL)
        side->kind->done(&side->subject);
    side->is_open = FALSE;
}

static void side_clear(Compare *compare, Side *side)
{
    close_subject(side);
    if (side->asked != NULL && side->kind->in_worker->finish != NULL)
        side->kind->in_worker->finish(compare->runner, side->spec, &side->place, NULL);
    json_decref(side->asked);
    ifm_kind_place_clear(&side->place);
    ifm_case_free(side->sealed);
    ifm_measurement_free(side->measurement);
    ifm_worker_free(side->worker);
    json_decref(side->check);
    g_clear_pointer(&side->warmup_ns, g_array_unref);
    g_clear_pointer(&side->samples_ns, g_array_unref);
    g_free(side->setting);
    g_free(side->spec);
}

static void compare_clear(Compare *compare)
{
    side_clear(compare, &compare->sides[0]);
    side_clear(compare, &compare->sides[1]);
    ifm_comparer_free(compare->comparer);
    ifm_run_monitor_clear(&compare->monitor);
    g_clear_pointer(&compare->random, g_rand_free);
    if (compare->outputs_path != NULL)
        g_unlink(compare->outputs_path);
    g_free(compare->outputs_path);
    g_free(compare->differs);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Compare, compare_clear)

static gint64 now_ns(void)
{
    return g_get_monotonic_time() * 1000;
}

/* --- the processes -------------------------------------------------------------------------------------------------- */

/* @device: whose cores it keeps to; NULL: none */
static gboolean start_worker(Compare *compare, Side *side, const char *device, GError **error)
{
    const char *folder = ifm_runner_folder(compare->runner, error);
    if (folder != NULL)
        side->worker = ifm_worker_start(folder, device, side->setting, error);
    return side->worker != NULL;
}

/* @device: (out) (transfer full) that of a kind whose cases are on one; NULL: of another kind */
static gboolean read_device(const Side *side, IfmDeviceSpec **device, GError **error)
{
    const IfmRecordField *field = ifm_kind_field(side->kind, "device");
    *device = NULL;
    if (field == NULL || side->kind->in_worker == NULL)
        return TRUE;
    const char *text = *(const char *const *)(const void *)((const char *)side->spec + field->offset);
    *device = ifm_device_spec_parse(text, error);
    return *device != NULL;
}

static gboolean has_load(const Side *side)
{
    const IfmRecordField *field = ifm_kind_field(side->kind, "load");
    return field != NULL && *(const gsize *)(const void *)((const char *)side->spec + field->count) > 0;
}

/* The worker knows its library from a variable of its environment, the user from what was said on the command line. */
static void say_as_user(const Side *side, GError **error)
{
    const char *variable = side->setting != NULL ? side->setting : "";
    g_autofree char *wrong = g_strdup_printf("(set by %.*s)", (int)strcspn(variable, "="), variable);
    if (side->given->runtime_said == NULL || error == NULL || *error == NULL)
        return;
    char *at = strstr((*error)->message, wrong);
    if (at == NULL)
        return;
    char *message = g_strdup_printf("%.*s(set by %s)%s", (int)(at - (*error)->message), (*error)->message,
                                    side->given->runtime_said, at + strlen(wrong));
    g_free((*error)->message);
    (*error)->message = message;
}

/* @request: (transfer full). Returns: (transfer full) NULL with an error that names the side. */
static json_t *ask(Compare *compare, Side *side, json_t *request, GError **error)
{
    json_auto_t *owned = request;
    IfmWorkerWatch watch = ifm_runner_watch(compare->runner);
    if (side->kind->in_worker == NULL)
        return ifm_compare_answer(&side->subject, owned, watch.interrupted, error);
    watch.spent_ns = compare->began_ns > 0 ? now_ns() - compare->began_ns : 0;
    gboolean alive;
    json_t *answer = ifm_worker_ask(side->worker, owned, &watch, &alive, error);
    if (!alive)
        g_clear_pointer(&side->worker, ifm_worker_free);
    if (answer == NULL && side->given->runtime != NULL)
        say_as_user(side, error);
    return answer;
}

/* The error of a case that could not be prepared is in its record. */
static gboolean take_ready(const json_t *answer, GError **error)
{
    if (json_is_true(json_object_get(answer, "ready")))
        return TRUE;
    g_autoptr(IfmMeasurement) failed = ifm_measurement_from_json(json_object_get(answer, "measurement"), error);
    if (failed != NULL)
        g_set_error_literal(error, IFM_ERROR, ifm_error_code_from_name(failed->error_code), failed->reason);
    return FALSE;
}

/* Asks once a side for what its kind's requests need: files, what devices can do. */
static gboolean complete_request(Compare *compare, Side *side, json_t *request, GError **error)
{
    const IfmKindInWorker *way = side->kind->in_worker;
    IfmMeasurement *skipped = NULL;
    if (way->ask == NULL)
        return TRUE;
    if (side->asked == NULL)
    {
        side->asked = json_object();
        const gboolean good =
            way->ask(&compare->monitor, side->spec, side->sealed, &side->place, side->asked, &skipped, error);
        ifm_runner_drop_worker(compare->runner, side->place.worker); /* nothing idles next to what is measured */
        if (!good && skipped != NULL)
            g_set_error_literal(error, IFM_ERROR, ifm_error_code_from_name(skipped->error_code), skipped->reason);
        ifm_measurement_free(skipped);
        if (!good)
            return FALSE;
    }
    json_object_update(request, side->asked);
    return TRUE;
}

static gboolean prepare(Compare *compare, Side *side, GError **error)
{
    if (side->kind->in_worker == NULL)
        return side->is_open = side->kind->subject(side->spec, &side->subject, error);
    g_autofree char *device = ifm_runner_key_cores(side->place.worker);
    if (side->worker == NULL && !start_worker(compare, side, device, error))
        return FALSE;
    json_t *request = ifm_kind_request(side->kind, side->spec, side->sealed, 0);
    if (!complete_request(compare, side, request, error))
    {
        json_decref(request);
        return FALSE;
    }
    json_object_set_new(request, "rounds", json_true());
    json_object_set_new(request, "config_known", json_boolean(compare->n_pairs > 0));
    if (side->kind->in_worker->vary != NULL)
        side->kind->in_worker->vary(json_object_get(request, "case"), compare->random);
    json_auto_t *answer = ask(compare, side, request, error);
    if (answer == NULL || !take_ready(answer, error))
        return FALSE;
    side->true_outputs = json_is_true(json_object_get(answer, "true_outputs"));
    return TRUE;
}

static void append_samples(GArray *series, const json_t *list)
{
    gsize i;
    json_t *item;
    json_array_foreach(list, i, item)
    {
        gint64 ns = json_integer_value(item);
        g_array_append_val(series, ns);
    }
}

static double median_of(const json_t *list)
{
    gsize n = json_array_size(list), i;
    json_t *item;
    g_autofree double *sorted = g_new(double, n + 1);
    json_array_foreach(list, i, item) sorted[i] = (double)json_integer_value(item);
    ifm_sort_doubles(sorted, n);
    return n > 0 ? ifm_quantile(sorted, n, 0.5) : (double)NAN;
}

/* The outputs of the first pair are compared: those of the side that comes first are kept, the other's held against them.
 */
static gboolean warm_up(Compare *compare, Side *side, GError **error)
{
    const Side *first = &compare->sides[compare->b_first];
    json_t *request =
        json_pack("{s:s,s:O*}", "do", "compare-start", "reference", json_object_get(side->check, "reference"));
    if (compare->n_pairs == 0 && compare->outputs_path != NULL)
    {
        json_object_set_new(request, side == first ? "keep" : "other", json_string(compare->outputs_path));
        json_object_set(request, "other_dtype", json_object_get(first->sealed->options, "dtype"));
    }
    json_auto_t *answer = ask(compare, side, request, error);
    if (answer == NULL)
        return FALSE;
    const json_t *runs = json_object_get(answer, "warmup_ns");
    append_samples(side->warmup_ns, runs);
    side->run_ns = median_of(runs);
    if (json_is_string(json_object_get(answer, "differs")))
        compare->differs = g_strdup_printf("the outputs of %c differ from those of %c: %s", side->letter, first->letter,
                                           json_string_value(json_object_get(answer, "differs")));
    return TRUE;
}

static gboolean end_process(Compare *compare, Side *side, GError **error)
{
    json_t *request =
        json_pack("{s:s,s:O*}", "do", "compare-end", "verification", json_object_get(side->check, "verification"));
    json_auto_t *answer = ask(compare, side, request, error);
    g_clear_pointer(&side->worker, ifm_worker_free);
    close_subject(side);
    if (answer != NULL &&
        side->measurement ==
            NULL) /* what is known of the first process holds for all: its effective configuration is known */
        side->measurement = ifm_measurement_from_json(json_object_get(answer, "measurement"), error);
    return answer != NULL && side->measurement != NULL;
}

/* --- rounds --------------------------------------------------------------------------------------------------------- */

/* Rounded up. */
static gsize parts_of(gsize n, gsize size)
{
    return n / size + (n % size > 0);
}

/* Where the runs are counted: how many of each side go into a pair of processes. 0: they are not. */
static gsize counted_runs(const Compare *compare)
{
    return parts_of(compare->protocol->runs, compare->protocol->max_pairs);
}

static void plan_round(Compare *compare)
{
    double run_ns = MAX(compare->sides[0].run_ns, compare->sides[1].run_ns);
    double runs = ROUND_NS / MAX(run_ns, 1), warm = ROUND_WARM_NS / MAX(run_ns, 1);
    compare->n_runs = runs < 0.5 ? 1 : (gsize)CLAMP(runs, MIN_ROUND_RUNS, MAX_ROUND_RUNS);
    gsize counted = counted_runs(compare);
    if (counted > 0)
    {
        gsize n_rounds = parts_of(counted, CLAMP(counted / COUNTED_ROUNDS, 1, compare->n_runs));
        compare->n_runs = parts_of(counted, n_rounds);
    }
    compare->n_warm = (gsize)CLAMP(warm, compare->n_runs > 1 ? 1 : 0, MAX_ROUND_RUNS);
}

/* @made_ns: what making this pair took    @round_ns: what a round took */
static void plan_pair(Compare *compare, gint64 made_ns, gint64 round_ns)
{
    gint64 budget_ns = compare->protocol->time_budget_ns;
    double rounds = (double)made_ns / (double)MAX(round_ns, 1);
    if (counted_runs(compare) > 0)
    {
        compare->n_rounds = parts_of(counted_runs(compare), compare->n_runs);
        return;
    }
    if (compare->protocol->rounds > 0)
        rounds = (double)compare->protocol->rounds;
    else if (compare->n_pairs == 0)
        rounds = FIRST_ROUNDS;
    if (budget_ns > 0 && compare->protocol->rounds == 0)
    {
        double room = ((double)budget_ns / PAIRS_WANTED - (double)made_ns) / (double)MAX(round_ns, 1);
        double cheap = (double)made_ns / (2 * (double)MAX(round_ns, 1)); /* half of what the pair has cost already */
        rounds = MIN(rounds, MAX(room, MIN(cheap, FIRST_ROUNDS)));
    }
    gsize n = (gsize)CLAMP(rounds, 2, compare->protocol->rounds > 0 ? 10000 : MAX_ROUNDS);
    compare->n_rounds = compare->protocol->rounds > 0 ? n : n / 2 * 2; /* each order as often */
}

static gboolean run_side(Compare *compare, Side *side, double *median_ns, GError **error)
{
    json_t *request = json_pack("{s:s,s:I,s:I}", "do", "compare-round", "warmup", (json_int_t)compare->n_warm, "runs",
                                (json_int_t)compare->n_runs);
    json_auto_t *answer = ask(compare, side, request, error);
    if (answer == NULL)
        return FALSE;
    const json_t *samples = json_object_get(answer, "samples_ns");
    append_samples(side->samples_ns, samples);
    *median_ns = MAX(median_of(samples), 1); /* a simulated device may take no time at all */
    return TRUE;
}

static gboolean run_round(Compare *compare, gboolean b_first, GError **error)
{
    double medians[2];
    for (gsize i = 0; i < 2; i++)
    {
        gsize side = b_first ? 1 - i : i;
        if (!run_side(compare, &compare->sides[side], &medians[side], error))
        {
            g_prefix_error(error, "%c: ", compare->sides[side].letter);
            return FALSE;
        }
    }
    ifm_comparer_add(compare->comparer, medians[0], medians[1], b_first);
    return TRUE;
}

static gboolean run_rounds(Compare *compare, gint64 made_ns, GError **error)
{
    gboolean b_first = FALSE;
    gint64 began_ns = now_ns();
    plan_round(compare);
    compare->n_rounds = 2;
    for (gsize round = 0; round < compare->n_rounds; round++)
    {
        b_first = round % 2 == 0 ? g_rand_boolean(compare->random) : !b_first;
        if (!run_round(compare, b_first, error))
            return FALSE;
        if (round == 1) /* by then it is known what they take */
            plan_pair(compare, made_ns, (now_ns() - began_ns) / 2);
    }
    return TRUE;
}

/* --- pairs of processes --------------------------------------------------------------------------------------------- */

typedef gboolean (*Step)(Compare *compare, Side *side, GError **error);

/* For both sides, in the order drawn for the pair; the errors name the one. */
static gboolean both(Compare *compare, Step step, GError **error)
{
    for (gsize i = 0; i < 2; i++)
    {
        Side *side = &compare->sides[compare->b_first ? 1 - i : i];
        if (step(compare, side, error))
            continue;
        g_prefix_error(error, "%c: ", side->letter);
        return FALSE;
    }
    return TRUE;
}

/* What the outputs are compared with, asked for once a side. */
static gboolean add_check(Compare *compare, Side *side, GError **error)
{
    side->check = json_object();
    if (side->kind->in_worker == NULL || !side->kind->in_worker->needs_reference)
        return TRUE;
    return ifm_references_add(ifm_runner_references(compare->runner), side->spec, side->sealed, side->true_outputs,
                              &compare->monitor, side->check, error);
}

/* Only what computes the same thing of the same inputs must come to the same. */
static gboolean must_agree(const Compare *compare)
{
    const Side *a = &compare->sides[0], *b = &compare->sides[1];
    return a->true_outputs && b->true_outputs &&
           json_equal(json_object_get(a->sealed->options, "seed"), json_object_get(b->sealed->options, "seed")) &&
           g_strcmp0(a->sealed->subject_digest, b->sealed->subject_digest) == 0 &&
           json_equal(a->sealed->sizes, b->sealed->sizes) &&
           g_strcmp0(ifm_runner_inputs_of(a->sealed), ifm_runner_inputs_of(b->sealed)) == 0;
}

static gboolean prepare_checks(Compare *compare, GError **error)
{
    if (!both(compare, add_check, error))
        return FALSE;
    ifm_runner_drop_worker(compare->runner, "reference"); /* nothing idles next to what is measured */
    if (must_agree(compare))
        compare->outputs_path = g_build_filename(ifm_runner_folder(compare->runner, NULL), "outputs-of-a", NULL);
    return TRUE;
}

static gboolean run_pair(Compare *compare, GError **error)
{
    gint64 began_ns = now_ns();
    if (!both(compare, prepare, error))
        return FALSE;
    if (compare->n_pairs == 0)
    {
        gint64 checks_ns = now_ns();
        if (!prepare_checks(compare, error))
            return FALSE;
        checks_ns = now_ns() - checks_ns; /* once for all pairs: none of what another one would cost */
        compare->began_ns += checks_ns;
        began_ns += checks_ns;
    }
    if (!both(compare, warm_up, error))
        return FALSE;
    if (compare->monitor.before == NULL)
        compare->monitor.before = ifm_sensor_snapshot("/"); /* while it is busy */
    return run_rounds(compare, now_ns() - began_ns, error) && both(compare, end_process, error);
}

static void report(const Compare *compare, const IfmRunnerOptions *options)
{
    g_auto(IfmComparison) sofar = { 0 };
    if (options->progress == NULL)
        return;
    ifm_comparer_finish(compare->comparer, &sofar);
    gboolean of_difference = compare->protocol->ci_ratio > 0;
    const IfmInterval *interval = of_difference ? &sofar.difference_interval : &sofar.interval;
    double half = (interval->upper - interval->lower) / 2;
    options->progress("comparing", sofar.n_pairs, NAN, of_difference ? half / fabs(sofar.difference_ns) : half,
                      options->progress_user);
}

/* Until the rule has enough. Interrupted, what was whole by then counts. Returns: FALSE with an error where it failed, or
 * where nothing is whole. */
static gboolean run_pairs(Compare *compare, gboolean *interrupted, GError **error)
{
    g_autoptr(GError) failure = NULL;
    gboolean done = FALSE;
    compare->began_ns = now_ns();
    while (!done && !ifm_runner_is_interrupted(compare->runner))
    {
        if (!run_pair(compare, &failure))
            break;
        compare->n_pairs++;
        compare->b_first = g_rand_boolean(compare->random);
        done = ifm_comparer_end_pair(compare->comparer, now_ns() - compare->began_ns);
        report(compare, ifm_runner_options(compare->runner));
    }
    *interrupted = !done && ifm_runner_is_interrupted(compare->runner);
    if (*interrupted && compare->n_pairs > 0)
        return TRUE;
    if (failure != NULL)
        g_propagate_error(error, g_steal_pointer(&failure));
    else if (*interrupted)
        g_set_error_literal(error, IFM_ERROR, IFM_ERROR_CANCELLED, "interrupted before anything was compared");
    return done;
}

/* --- the records ---------------------------------------------------------------------------------------------------- */

static const IfmRecordField rule_fields[] = {
    { IFM_RECORD(DOUBLE, IfmCompareProtocol, margin), .key = "margin" },
    { IFM_RECORD(DOUBLE, IfmCompareProtocol, level), .key = "level" },
    { IFM_RECORD(INT64, IfmCompareProtocol, time_budget_ns), .key = "time_budget_ns" },
    { IFM_RECORD(SIZE, IfmCompareProtocol, min_pairs), .key = "min_pairs" },
    { IFM_RECORD(SIZE, IfmCompareProtocol, max_pairs), .key = "max_pairs" },
    { IFM_RECORD(SIZE, IfmCompareProtocol, rounds), .key = "rounds" },
    { IFM_RECORD(DOUBLE, IfmCompareProtocol, ci_ratio), .key = "ci_ratio", .unless_zero = TRUE },
    { IFM_RECORD(SIZE, IfmCompareProtocol, runs), .key = "runs", .unless_zero = TRUE },
    { NULL },
};

/* The case of a side is another than that of the same model measured by itself: its protocol is the comparison's. */
static void seal_for(IfmCase *sealed, const IfmCompareProtocol *protocol, char letter)
{
    json_t *rule = ifm_record_key_to_json(protocol, rule_fields);
    json_object_set_new(rule, "side", json_string(letter == 'A' ? "A" : "B"));
    json_object_set_new(sealed->options, "protocol", json_pack("{s:o}", "compare", rule));
    ifm_case_seal(sealed);
}

/* A completed copy of what describes a side, with a protocol that is none of its own. */
static void *spec_of(const IfmCompareSide *given)
{
    void *spec = g_memdup2(given->spec, given->kind->size);
    IfmProtocol *protocol = ifm_kind_protocol(given->kind, spec);
    if (protocol != NULL)
        *protocol = IFM_PROTOCOL_INIT;
    return spec;
}

static gboolean check_kind(const IfmCaseKind *kind, GError **error)
{
    if (kind->in_worker != NULL ? kind->in_worker->subject != NULL : kind->subject != NULL)
        return TRUE;
    g_set_error(error, IFM_ERROR, IFM_ERROR_UNSUPPORTED, "a case of kind %s has no runs to repeat, so none to compare",
                kind->name);
    return FALSE;
}

IfmCase *ifm_runner_compare_case(IfmRunner *runner, const IfmCompareSide *side, gboolean b,
                                 const IfmCompareProtocol *protocol, GError **error)
{
    g_autofree void *spec = spec_of(side);
    IfmCase *sealed = ifm_compare_protocol_check(protocol, error) && check_kind(side->kind, error)
                          ? ifm_kind_seal(runner, side->kind, spec, NULL, error)
                          : NULL;
    if (sealed != NULL)
        seal_for(sealed, protocol, b ? 'B' : 'A');
    return sealed;
}

static gboolean set_runtime(Side *side, const IfmDeviceSpec *device, GError **error)
{
    const char *variable = device != NULL ? ifm_path_runtime_variable(device->engine) : NULL;
    if (side->given->runtime == NULL)
        return TRUE;
    if (variable == NULL)
    {
        g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "%s: engine %s has no runtime's library to choose",
                    side->given->runtime, device != NULL ? device->engine : "of several devices");
        return FALSE;
    }
    g_autofree char *library = g_canonicalize_filename(side->given->runtime, NULL);
    side->setting = g_strdup_printf("%s=%s", variable, library);
    return TRUE;
}

/* What can be said before anything is started. */
static gboolean check_side(Side *side, GError **error)
{
    g_autoptr(IfmDeviceSpec) device = NULL;
    side->spec = spec_of(side->given);
    if (!check_kind(side->kind, error) || !read_device(side, &device, error))
        return FALSE;
    if (has_load(side))
    {
        g_set_error_literal(error, IFM_ERROR, IFM_ERROR_UNSUPPORTED, "a comparison has no background load");
        return FALSE;
    }
    return set_runtime(side, device, error);
}

static gboolean check_sides(Compare *compare, GError **error)
{
    for (gsize i = 0; i < 2; i++)
    {
        if (check_side(&compare->sides[i], error))
            continue;
        g_prefix_error(error, "%c: ", compare->sides[i].letter);
        return FALSE;
    }
    return TRUE;
}

/* The engine's facts are those of this side's own runtime, where its kind is on one device. */
static gboolean seal(Compare *compare, Side *side, GError **error)
{
    g_autoptr(IfmDeviceSpec) device = NULL;
    json_auto_t *facts = NULL;
    if (!read_device(side, &device, error))
        return FALSE;
    if (device != NULL)
    {
        const char *cores = device->n_cores > 0 ? device->text : NULL;
        facts = start_worker(compare, side, cores, error)
                    ? ask(compare, side, json_pack("{s:s,s:s}", "do", "engine", "engine", device->engine), error)
                    : NULL;
        if (facts == NULL)
            return FALSE;
    }
    side->sealed = ifm_kind_seal(compare->runner, side->kind, side->spec, facts, error);
    if (side->sealed == NULL)
        return FALSE;
    seal_for(side->sealed, compare->protocol, side->letter);
    if (side->kind->complete != NULL && !side->kind->complete(side->spec, error))
        return FALSE;
    return side->kind->in_worker == NULL ||
           side->kind->in_worker->place(compare->runner, side->spec, side->sealed, &side->place, error);
}

static void finish_side(Compare *compare, Side *side, const char *stop_reason, json_t *comparison)
{
    const Side *other = &compare->sides[side == &compare->sides[0]];
    IfmMeasurement *measurement = side->measurement;
    ifm_record_set_text(&measurement->case_key, side->sealed->key);
    ifm_record_set_text(&measurement->stop_reason, stop_reason);
    GArray **series[] = { &measurement->warmup_ns, &measurement->samples_ns };
    GArray **taken[] = { &side->warmup_ns, &side->samples_ns };
    for (gsize i = 0; i < G_N_ELEMENTS(series); i++)
    {
        g_clear_pointer(series[i], g_array_unref);
        *series[i] = g_steal_pointer(taken[i]);
    }
    ifm_measurement_summarise(measurement, compare->protocol->level);
    if (measurement->result == NULL)
        measurement->result = json_object();
    json_object_update_new(measurement->result,
                           json_pack("{s:s,s:s,s:s,s:O}", "side", side->letter == 'A' ? "A" : "B", "other",
                                     other->measurement->uid, "other_case", other->sealed->key, "comparison", comparison));
}

/* What disturbed the machine disturbed both sides: it is noted once, without a letter. */
static void add_warnings(Compare *compare, gsize side, IfmComparison *comparison)
{
    const json_t *warnings = json_object_get(compare->sides[side].measurement->environment, "warnings"),
                 *others = json_object_get(compare->sides[1 - side].measurement->environment, "warnings");
    gsize n;
    json_t *warning;
    json_array_foreach(warnings, n, warning)
    {
        const char *text = json_string_value(warning);
        if (!ifm_is_among(others, text))
            g_ptr_array_add(comparison->notes, g_strdup_printf("%c: %s", compare->sides[side].letter, text));
        else if (side == 0)
            g_ptr_array_add(comparison->notes, g_strdup(text));
    }
}

static void add_notes(Compare *compare, IfmComparison *comparison)
{
    if (compare->differs != NULL)
        g_ptr_array_add(comparison->notes, g_steal_pointer(&compare->differs));
    for (gsize side = 0; side < 2; side++)
        ifm_run_monitor_add_environment(&compare->monitor, compare->sides[side].measurement);
    for (gsize side = 0; side < 2; side++)
        add_warnings(compare, side, comparison);
}

static IfmStopReason why_stopped(const Compare *compare, gboolean interrupted, const IfmComparison *comparison)
{
    if (interrupted)
        return IFM_STOP_INTERRUPTED;
    if (compare->protocol->runs > 0)
        return IFM_STOP_FIXED;
    if (comparison->settled)
        return IFM_STOP_INTERVAL;
    return comparison->n_pairs >= compare->protocol->max_pairs ? IFM_STOP_MAX_RUNS : IFM_STOP_TIME_BUDGET;
}

static void finish(Compare *compare, gboolean interrupted, IfmComparison *comparison)
{
    ifm_comparer_finish(compare->comparer, comparison);
    compare->monitor.after = ifm_sensor_snapshot("/");
    add_notes(compare, comparison);
    json_auto_t *json = ifm_comparison_to_json(comparison);
    const char *reason = ifm_stop_reason_name(why_stopped(compare, interrupted, comparison));
    for (gsize i = 0; i < 2; i++)
        finish_side(compare, &compare->sides[i], reason, json);
    for (gsize i = 0; i < 2; i++)
    {
        comparison->cases[i] = g_steal_pointer(&compare->sides[i].sealed);
        comparison->measurements[i] = g_steal_pointer(&compare->sides[i].measurement);
    }
}

gboolean ifm_runner_compare(IfmRunner *runner, const IfmCompareSide sides[2], const IfmCompareProtocol *protocol,
                            guint32 seed, IfmComparison *comparison, GError **error)
{
    if (!ifm_compare_protocol_check(protocol, error))
        return FALSE;
    if (sides[0].kind != sides[1].kind)
    {
        g_set_error(error, IFM_ERROR, IFM_ERROR_UNSUPPORTED, "A is a case of kind %s, B of kind %s: one kind is right",
                    sides[0].kind->name, sides[1].kind->name);
        return FALSE;
    }
    g_auto(Compare) compare = { .runner = runner, .protocol = protocol, .random = g_rand_new_with_seed(seed) };
    gboolean interrupted = FALSE;
    compare.monitor.runner = runner;
    compare.comparer = ifm_comparer_new(protocol);
    for (gsize i = 0; i < 2; i++)
    {
        compare.sides[i].letter = i == 0 ? 'A' : 'B';
        compare.sides[i].given = &sides[i];
        compare.sides[i].kind = sides[i].kind;
        ifm_kind_place_init(&compare.sides[i].place);
        compare.sides[i].warmup_ns = g_array_new(FALSE, FALSE, sizeof(gint64));
        compare.sides[i].samples_ns = g_array_new(FALSE, FALSE, sizeof(gint64));
    }
    compare.b_first = g_rand_boolean(compare.random); /* sealing a side starts its first process */
    if (!check_sides(&compare, error) || !both(&compare, seal, error) || !run_pairs(&compare, &interrupted, error))
        return FALSE;
    finish(&compare, interrupted, comparison);
    return TRUE;
}
