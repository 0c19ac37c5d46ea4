#include <math.h>
#include <string.h>

#include <base/base.h>
#include <base/fields.h>
#include <base/statistics.h>
#include <sensor/sensor.h>
#include <store/store.h>
#include <trace/trace.h>

#include "measure-private.h"

/* How many profiled runs: enough for a steady median, and no more time than this beyond the fewest. */
#define WARMUP_RUNS 3
#define MIN_RUNS 5
#define MAX_RUNS 50
#define TIME_NS (3 * IFM_NS_PER_S)
#define BATCH_RUNS 10
/* Where the nodes' shares of the time are all that is wanted. */
#define FEW_RUNS 5
#define FEW_TIME_PART 4 /* of the budget */

/* Nodes that move or convert data for the runtime: copies in the breakdown. */
static gboolean is_copy(const IfmNodeTime *node)
{
    g_autofree char *text = g_strdup_printf("%s %s", node->op_type, node->name);
    return ifm_node_is_marshalling(text);
}

/* --- the profiled runs --------------------------------------------------------------------------------------------- */

typedef struct
{
    IfmModelSubject *subject;
    const gint *interrupted;
    gsize max_runs; /* within MIN_RUNS to MAX_RUNS */
    gint64 time_ns; /* beyond the fewest */
    void (*progress)(gsize n, void *user);
    void *progress_user;
    GBytes *evict;       /* (optional) looked through before each run */
    GArray *walls;       /* gint64, one a run */
    GArray *waits;       /* gint64, one a run: how long its thread waited for a processor; -1: not known */
    GPtrArray *profiles; /* IfmEngineProfile*, in the order of the runs, each of one or more of them */
} ProfiledRun;

/* Leaves the caches to other data than the runtime's own, as a model's weights and activations do. */
static void evict_caches(GBytes *bytes)
{
    gsize n;
    const volatile guint8 *data = g_bytes_get_data(bytes, &n);
    for (gsize i = 0; i < n; i += 64)
        (void)data[i];
}

/* A simulated inference on a virtual clock waits for no other thread. */
static gint64 waited_ns(IfmClock *clock)
{
    return ifm_clock_is_virtual(clock) ? -1 : ifm_sensor_wait_ns("/");
}

/* Appends the profiles of the runs since the last call. Together they must be of all @n of them. */
static gboolean fetch(IfmModelSubject *profiled, gsize n, GPtrArray *profiles, GError **error)
{
    GPtrArray *fetched = ifm_compiled_profile(profiled->compiled, profiled->requests[0], error);
    if (fetched == NULL)
        return FALSE;
    gint64 n_covered = 0;
    for (guint i = 0; i < fetched->len; i++)
        n_covered += ((IfmEngineProfile *)fetched->pdata[i])->n_inferences;
    g_ptr_array_extend_and_steal(profiles, fetched);
    return n_covered == (gint64)n ||
           ifm_error_set(error, IFM_ERROR_UNSUPPORTED,
                         "the runtime reported %" G_GINT64_FORMAT " profiled inferences of %zu", n_covered, n);
}

static void profiled_run_init(ProfiledRun *profiled, IfmModelSubject *subject)
{
    *profiled = (ProfiledRun){ .subject = subject, .max_runs = MAX_RUNS, .time_ns = TIME_NS };
    profiled->walls = g_array_new(FALSE, FALSE, sizeof(gint64));
    profiled->waits = g_array_new(FALSE, FALSE, sizeof(gint64));
    profiled->profiles = g_ptr_array_new_with_free_func((GDestroyNotify)ifm_engine_profile_free);
}

static void profiled_run_clear(ProfiledRun *profiled)
{
    g_clear_pointer(&profiled->evict, g_bytes_unref);
    g_array_unref(profiled->walls);
    g_array_unref(profiled->waits);
    g_ptr_array_unref(profiled->profiles);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(ProfiledRun, profiled_run_clear)

/* @walls: appended to; those of the profiled runs, with their waits, or of the warm-up */
typedef struct
{
    const ProfiledRun *profiled;
    IfmSubject subject;
    gsize n; /* runs to make */
    GArray *walls;
    GError *error;
} Batch;

static void batch_main(void *user)
{
    Batch *batch = user;
    const ProfiledRun *profiled = batch->profiled;
    IfmClock *clock = batch->subject.clock;
    GArray *waits = batch->walls == profiled->walls ? profiled->waits : NULL;
    for (gsize i = 0; i < batch->n; i++)
    {
        if (profiled->evict != NULL)
            evict_caches(profiled->evict);
        gint64 wait_ns = waits != NULL ? waited_ns(clock) : -1;
        gint64 begin_ns = ifm_clock_now_ns(clock);
        if (!batch->subject.run(batch->subject.self, &batch->error))
            return;
        gint64 wall_ns = ifm_clock_now_ns(clock) - begin_ns;
        g_array_append_val(batch->walls, wall_ns);
        wait_ns = wait_ns >= 0 ? waited_ns(clock) - wait_ns : -1;
        if (waits != NULL)
            g_array_append_val(waits, wait_ns);
        if (profiled->progress != NULL)
            profiled->progress(batch->walls->len, profiled->progress_user);
    }
}

static gboolean run_batch(const ProfiledRun *profiled, gsize n, GArray *walls, GError **error)
{
    Batch batch = { profiled, ifm_model_subject_slots(profiled->subject), n, walls };
    ifm_compiled_invoke(profiled->subject->compiled, 0, batch_main, &batch); /* other streams stay idle */
    return ifm_error_pass(error, batch.error);
}

/* A runtime that reports means alone is asked once, after all runs; one that keeps each run's times after each batch, so
 * that they do not grow without bound. The warm-up shows which it is. */
static gboolean run_profiled(ProfiledRun *profiled, GError **error)
{
    g_autoptr(GArray) warmup = g_array_new(FALSE, FALSE, sizeof(gint64));
    g_autoptr(GPtrArray) first = g_ptr_array_new_with_free_func((GDestroyNotify)ifm_engine_profile_free);
    if (!run_batch(profiled, WARMUP_RUNS, warmup, error) || !fetch(profiled->subject, WARMUP_RUNS, first, error))
        return FALSE;
    gboolean means = first->len < WARMUP_RUNS;
    IfmClock *clock = ifm_model_subject_slots(profiled->subject).clock;
    gint64 began_ns = ifm_clock_now_ns(clock);
    GArray *walls = profiled->walls;
    while (walls->len < profiled->max_runs &&
           (walls->len < MIN_RUNS || ifm_clock_now_ns(clock) - began_ns < profiled->time_ns))
    {
        gsize n = walls->len == 0 ? MIN_RUNS : BATCH_RUNS; /* a slow model: no more than the fewest */
        n = MIN(n, profiled->max_runs - walls->len);
        if (profiled->interrupted != NULL && g_atomic_int_get(profiled->interrupted) != 0)
            break;
        if (!run_batch(profiled, n, walls, error) || (!means && !fetch(profiled->subject, n, profiled->profiles, error)))
            return FALSE;
    }
    return !means || walls->len == 0 || fetch(profiled->subject, walls->len, profiled->profiles, error);
}

/* As few runs as will do, asked for their profiles once: a runtime may have to compile anew after that. The first run warms
 * up, where it can be separated from the others. */
static gboolean run_few(ProfiledRun *profiled, GError **error)
{
    GArray *walls = profiled->walls;
    if (!run_batch(profiled, 1, walls, error))
        return FALSE;
    gint64 first_ns = MAX(g_array_index(walls, gint64, 0), 1);
    gsize n = (gsize)CLAMP(profiled->time_ns / first_ns, 1, FEW_RUNS);
    if (!run_batch(profiled, n, walls, error) || !fetch(profiled->subject, walls->len, profiled->profiles, error))
        return FALSE;
    if (profiled->profiles->len < walls->len) /* means */
        return TRUE;
    g_array_remove_index(walls, 0);
    g_array_remove_index(profiled->waits, 0);
    g_ptr_array_remove_index(profiled->profiles, 0);
    return TRUE;
}

/* The mean over the runs that a profile is of, which begin at @at. */
static gint64 mean_of(const GArray *series, const IfmEngineProfile *profile, guint at)
{
    gint64 sum_ns = 0;
    for (gint64 i = 0; i < profile->n_inferences; i++)
        sum_ns += g_array_index(series, gint64, at + (guint)i);
    return sum_ns / profile->n_inferences;
}

/* --- nodes -------------------------------------------------------------------------------------------------------- */

typedef struct
{
    IfmNodeTime *like; /* borrowed */
    GArray *durations; /* double */
    GArray *starts;    /* double; only known ones */
} NodeSeries;

static void node_series_free(NodeSeries *series)
{
    g_array_unref(series->durations);
    g_array_unref(series->starts);
    g_free(series);
}

/* What a runtime does not report may be NULL. */
static const char *word(const char *text)
{
    return text != NULL ? text : "";
}

static NodeSeries *find_series(GHashTable *by_key, GPtrArray *order, IfmNodeTime *node, guint occurrence)
{
    g_autofree char *key = g_strdup_printf("%u %s %s", occurrence, word(node->op_type), word(node->name));
    NodeSeries *series = g_hash_table_lookup(by_key, key);
    if (series != NULL)
        return series;
    series = g_new0(NodeSeries, 1);
    series->like = node;
    series->durations = g_array_new(FALSE, FALSE, sizeof(double));
    series->starts = g_array_new(FALSE, FALSE, sizeof(double));
    g_hash_table_insert(by_key, g_steal_pointer(&key), series);
    g_ptr_array_add(order, series);
    return series;
}

/* A node is known by its name and operator; one that occurs twice in an inference (a loop's body) by its place as well. */
static void collect_nodes(const IfmEngineProfile *profile, GHashTable *by_key, GPtrArray *order)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    for (guint i = 0; i < profile->nodes->len; i++)
    {
        IfmNodeTime *node = profile->nodes->pdata[i];
        const char *name = word(node->name);
        guint occurrence = GPOINTER_TO_UINT(g_hash_table_lookup(seen, name));
        g_hash_table_insert(seen, (char *)name, GUINT_TO_POINTER(occurrence + 1));
        NodeSeries *series = find_series(by_key, order, node, occurrence);
        double duration = (double)node->duration_ns, start = (double)node->start_ns;
        g_array_append_val(series->durations, duration);
        if (node->start_ns >= 0)
            g_array_append_val(series->starts, start);
    }
}

/* @means: to which the mean over the profiled runs is added */
static void add_row(NodeSeries *series, IfmMeasurement *measurement, json_t *means)
{
    const IfmNodeTime *like = series->like;
    IfmNodeRow *row = g_new0(IfmNodeRow, 1);
    row->name = g_strdup(word(like->name));
    row->op_type = g_strdup(word(like->op_type));
    row->provider = g_strdup(word(like->provider));
    row->implementation = g_strdup(word(like->implementation));
    row->dtype = g_strdup("");
    row->median_ns = ifm_quantile_of_array(series->durations, 0.5);
    row->start_ns = ifm_quantile_of_array(series->starts, 0.5);
    g_ptr_array_add(measurement->nodes, row);
    double sum_ns = 0;
    for (guint i = 0; i < series->durations->len; i++)
        sum_ns += g_array_index(series->durations, double, i);
    json_array_append_new(means, ifm_json_real(sum_ns / series->durations->len));
}

/* The precision each node ran in, by the effective configuration of the same model. */
static void label_rows(IfmMeasurement *measurement)
{
    json_t *nodes = json_object_get(measurement->effective_config, "nodes"), *node;
    g_autoptr(GHashTable) dtypes = g_hash_table_new(g_str_hash, g_str_equal);
    gsize i;
    json_array_foreach(nodes, i, node)
    {
        const char *arithmetic = ifm_member_text(node, "arithmetic");
        const gboolean computes = arithmetic != NULL && *arithmetic != '\0';
        g_hash_table_insert(dtypes, (char *)ifm_member_text(node, "name"),
                            (char *)(computes ? arithmetic : ifm_member_text(node, "dtype")));
    }
    for (guint row = 0; row < measurement->nodes->len; row++)
    {
        IfmNodeRow *labelled = measurement->nodes->pdata[row];
        const char *dtype = g_hash_table_lookup(dtypes, labelled->name);
        if (dtype != NULL && !g_str_equal(dtype, "undefined"))
        {
            g_free(labelled->dtype);
            labelled->dtype = g_strdup(dtype);
        }
    }
}

/* Returns: (transfer full) the mean time of each row of measurement->nodes. */
static json_t *fill_nodes(const GPtrArray *profiles, IfmMeasurement *measurement)
{
    json_t *means = json_array();
    g_autoptr(GHashTable) by_key = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autoptr(GPtrArray) order = g_ptr_array_new_with_free_func((GDestroyNotify)node_series_free);
    for (guint i = 0; i < profiles->len; i++)
        collect_nodes(profiles->pdata[i], by_key, order);
    g_ptr_array_set_size(measurement->nodes, 0);
    for (guint i = 0; i < order->len; i++)
        add_row(order->pdata[i], measurement, means);
    label_rows(measurement);
    return means;
}

/* --- the breakdown of one run ------------------------------------------------------------------------------------- */

typedef struct
{
    const IfmEngineProfile *profile; /* borrowed */
    gint64 wall_ns, nodes_ns, copies_ns;
    gboolean has_starts;
    gint64 gaps_ns;    /* when no node ran, within the runtime's own figure for the whole, else between first and last */
    gint64 overlap_ns; /* node time in which another node ran too */
    gint64 residual_ns;
    gint64 waited_ns; /* its thread, for a processor that others used; -1: not known */
    gsize n_nodes;
} Account;

static gint compare_starts(gconstpointer a, gconstpointer b)
{
    const IfmNodeTime *x = *(IfmNodeTime *const *)a, *y = *(IfmNodeTime *const *)b;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* Walks the nodes by start: covered time is the union of their spans. */
static void account_spans(const IfmEngineProfile *profile, Account *account)
{
    g_autoptr(GPtrArray) nodes = g_ptr_array_sized_new(profile->nodes->len);
    for (guint i = 0; i < profile->nodes->len; i++)
        g_ptr_array_add(nodes, profile->nodes->pdata[i]);
    g_ptr_array_sort(nodes, compare_starts);
    gint64 end_ns = ((IfmNodeTime *)nodes->pdata[0])->start_ns;
    for (guint i = 0; i < nodes->len; i++)
    {
        const IfmNodeTime *node = nodes->pdata[i];
        gint64 node_end_ns = node->start_ns + node->duration_ns;
        if (node->start_ns >= end_ns)
            account->gaps_ns += node->start_ns - end_ns;
        else
            account->overlap_ns += MIN(end_ns, node_end_ns) - node->start_ns;
        end_ns = MAX(end_ns, node_end_ns);
    }
}

/* @at: its first run */
static Account account_run(const ProfiledRun *profiled, const IfmEngineProfile *profile, guint at)
{
    gint64 wall_ns = mean_of(profiled->walls, profile, at);
    Account account = { .profile = profile,
                        .wall_ns = wall_ns,
                        .waited_ns = mean_of(profiled->waits, profile, at),
                        .n_nodes = profile->nodes->len,
                        .has_starts = profile->nodes->len > 0 };
    for (guint i = 0; i < profile->nodes->len; i++)
    {
        const IfmNodeTime *node = profile->nodes->pdata[i];
        *(is_copy(node) ? &account.copies_ns : &account.nodes_ns) += node->duration_ns;
        account.has_starts = account.has_starts && node->start_ns >= 0;
    }
    if (account.has_starts)
        account_spans(profile, &account);
    /* Before its first node and after its last one a runtime sets up and clears away, the more the larger the model: what
     * its own figure for the whole has beyond the nodes and the gaps between them is the gaps at its ends. */
    gint64 spanned_ns = account.nodes_ns + account.copies_ns - account.overlap_ns + account.gaps_ns;
    if (account.has_starts && profile->inside_ns > spanned_ns && profile->inside_ns <= wall_ns)
        account.gaps_ns += profile->inside_ns - spanned_ns;
    account.residual_ns =
        wall_ns - account.nodes_ns - account.copies_ns + account.overlap_ns - (account.has_starts ? account.gaps_ns : 0);
    return account;
}

static gint compare_walls(gconstpointer a, gconstpointer b)
{
    const Account *x = a, *y = b;
    return (x->wall_ns > y->wall_ns) - (x->wall_ns < y->wall_ns);
}

/* The account whose wall time is the (lower) median: its breakdown is exact; medians of each column would not be. */
static Account median_account(const ProfiledRun *profiled)
{
    g_autoptr(GArray) accounts = g_array_new(FALSE, FALSE, sizeof(Account));
    guint at = 0;
    for (guint i = 0; i < profiled->profiles->len; i++)
    {
        const IfmEngineProfile *profile = profiled->profiles->pdata[i];
        Account account = account_run(profiled, profile, at);
        g_array_append_val(accounts, account);
        at += (guint)profile->n_inferences;
    }
    g_array_sort(accounts, compare_walls);
    return g_array_index(accounts, Account, (accounts->len - 1) / 2);
}

static json_t *optional_int(gboolean known, gint64 value)
{
    return known ? json_integer(value) : json_null();
}

/* A bound above the wall time itself always holds, so it says nothing. */
static void judge(json_t *breakdown, gint64 residual_ns, double bound_ns, gint64 wall_ns, gboolean few)
{
    gboolean known = !isnan(bound_ns), bounds = known && bound_ns <= (double)wall_ns;
    json_object_set_new(breakdown, "within_bound",
                        bounds ? json_boolean(fabs((double)residual_ns) <= bound_ns) : json_null());
    g_autofree char *why = NULL;
    if (few)
        why = g_strdup("a few runs, for the nodes' shares: what a call costs besides its nodes was not measured");
    else if (!known)
        why = g_strdup("what a call costs besides its nodes could not be measured on this device");
    else if (!bounds)
        why = g_strdup_printf("no bound: it may be up to %.1f us, more than the run's %.1f us", bound_ns / 1e3,
                              (double)wall_ns / 1e3);
    if (why != NULL)
        json_object_set_new(breakdown, "why", json_string(why));
}

/* Where the gaps are measured, what is left is the call; where not, each node has one, too. @cost: NULL: not needed */
static json_t *breakdown_of(const ProfiledRun *profiled, const IfmCallCost *measured, gsize n_known)
{
    static const IfmCallCost not_known = { NAN, NAN };
    const IfmCallCost *cost = measured != NULL ? measured : &not_known;
    Account account = median_account(profiled);
    gsize n_nodes = MAX(account.n_nodes, n_known); /* a runtime may leave out those that round to no time */
    const IfmEngineProfile *profile = account.profile;
    double resolution_ns = (double)n_nodes * (double)profile->resolution_ns;
    double gaps_bound_ns = account.has_starts ? 0 : (double)n_nodes * cost->node_ns;
    double bound_ns = resolution_ns + cost->call_ns + gaps_bound_ns + (double)MAX(account.waited_ns, 0);
    json_t *breakdown = json_pack(
        "{s:s,s:s,s:i,s:I,s:I,s:I,s:o,s:o,s:I,s:I,s:o,s:o,s:o,s:o,s:o}", "status", "measured", "of",
        profile->n_inferences == 1 ? "the profiled run of median wall time" : "the mean of the profiled runs", "n_runs",
        (int)profiled->walls->len, "wall_ns", (json_int_t)account.wall_ns, "nodes_ns", (json_int_t)account.nodes_ns,
        "copies_ns", (json_int_t)account.copies_ns, "gaps_ns", optional_int(account.has_starts, account.gaps_ns),
        "overlap_ns", optional_int(account.has_starts, account.overlap_ns), "residual_ns", (json_int_t)account.residual_ns,
        "resolution_ns", (json_int_t)profile->resolution_ns, "resolution_bound_ns", ifm_json_real(resolution_ns),
        "call_bound_ns", ifm_json_real(cost->call_ns), "gaps_bound_ns",
        account.has_starts ? json_null() : ifm_json_real(gaps_bound_ns), "waited_ns",
        optional_int(account.waited_ns >= 0, account.waited_ns), "residual_bound_ns", ifm_json_real(bound_ns));
    judge(breakdown, account.residual_ns, bound_ns, account.wall_ns, measured == NULL);
    json_object_set_new(breakdown, "inside_ns", optional_int(profile->inside_ns >= 0, profile->inside_ns));
    json_object_set_new(breakdown, "n_nodes", json_integer(account.n_nodes));
    return breakdown;
}

/*
 * Median of the profiled runs / median of the others; not with several streams, which the profiled runs had for themselves.
 * The interval: the relative half-widths of both medians' intervals, added in quadrature, since the two series are
 * independent.
 */
static json_t *slowdown(const GArray *walls, const IfmMeasurement *measurement)
{
    IfmSummary with, without;
    ifm_summary_compute((const gint64 *)(const void *)walls->data, walls->len, 0.95, &with);
    const GArray *samples = measurement->samples_ns;
    ifm_summary_compute((const gint64 *)(const void *)samples->data, samples->len, 0.95, &without);
    double ratio = with.median / without.median;
    double a = (with.median_interval.upper - with.median_interval.lower) / 2 / with.median;
    double b = (without.median_interval.upper - without.median_interval.lower) / 2 / without.median;
    double half = ratio * sqrt(a * a + b * b);
    return json_pack("{s:o,s:o,s:o,s:f}", "ratio", ifm_json_real(ratio), "lower", ifm_json_real(ratio - half), "upper",
                     ifm_json_real(ratio + half), "level", 0.95);
}

void ifm_breakdown_unavailable(IfmMeasurement *measurement, const char *why)
{
    json_decref(measurement->breakdown);
    measurement->breakdown = json_pack("{s:s,s:o}", "status", "unavailable", "why", ifm_json_string(why));
}

/* A time budget of the case is one of its profiled runs, too. */
static void give_time(ProfiledRun *profiled, const IfmProtocol *protocol, gboolean few)
{
    if (protocol->runs > 0)
        profiled->max_runs = CLAMP(protocol->runs, MIN_RUNS, MAX_RUNS);
    gboolean limited = protocol->runs == 0 && protocol->time_budget_ns > 0;
    profiled->time_ns = limited ? MIN(TIME_NS, protocol->time_budget_ns) : TIME_NS;
    if (few)
        profiled->time_ns /= FEW_TIME_PART;
}

gboolean ifm_breakdown_measure(IfmModelSubject *subject, const IfmCallCost *cost, const IfmProtocol *protocol,
                               const gint *interrupted, void (*progress)(gsize n, void *user), void *progress_user,
                               IfmMeasurement *measurement, GError **error)
{
    g_auto(ProfiledRun) profiled;
    g_autoptr(GError) failure = NULL;
    profiled_run_init(&profiled, subject);
    give_time(&profiled, protocol, cost == NULL);
    profiled.interrupted = interrupted;
    profiled.progress = progress;
    profiled.progress_user = progress_user;
    if (!(cost == NULL ? run_few : run_profiled)(&profiled, &failure))
    {
        if (!g_error_matches(failure, IFM_ERROR, IFM_ERROR_UNSUPPORTED))
            return ifm_error_pass(error, g_steal_pointer(&failure));
        ifm_breakdown_unavailable(measurement, failure->message);
        return TRUE;
    }
    if (profiled.walls->len == 0)
    {
        ifm_breakdown_unavailable(measurement, "interrupted before a profiled run");
        return TRUE;
    }
    g_array_set_size(measurement->profiled_ns, 0);
    g_array_append_vals(measurement->profiled_ns, profiled.walls->data, profiled.walls->len);
    json_t *means = fill_nodes(profiled.profiles, measurement);
    json_decref(measurement->breakdown);
    measurement->breakdown =
        breakdown_of(&profiled, cost, json_array_size(json_object_get(measurement->effective_config, "nodes")));
    json_object_set_new(measurement->breakdown, "nodes_mean_ns", means);
    gboolean alone = json_integer_value(json_object_get(measurement->effective_config, "n_streams")) <= 1;
    json_object_set_new(measurement->breakdown, "slowdown", alone ? slowdown(profiled.walls, measurement) : json_null());
    return TRUE;
}

gboolean ifm_node_times_measure(IfmModelSubject *subject, gint64 time_ns, const gint *interrupted,
                                IfmMeasurement *measurement, GError **error)
{
    g_auto(ProfiledRun) profiled;
    profiled_run_init(&profiled, subject);
    profiled.time_ns = time_ns;
    profiled.interrupted = interrupted;
    if (!run_profiled(&profiled, error))
        return FALSE;
    if (profiled.walls->len == 0)
        return ifm_error_set(error, IFM_ERROR_CANCELLED, "interrupted before a profiled run");
    json_decref(measurement->breakdown);
    measurement->breakdown = json_pack("{s:o}", "nodes_mean_ns", fill_nodes(profiled.profiles, measurement));
    return TRUE;
}

/* --- what a call costs besides its nodes --------------------------------------------------------------------------- */

/* x -> MatMul -> MatMul -> ... -> y, with a weight each: nothing in it that could be fused. */
static IfmModel *chain_model(gsize n_nodes, GError **error)
{
    static const gint64 dims[] = { 1, 16 }, weight_dims[] = { 16, 16 };
    IfmModelBuilder *builder = ifm_model_builder_new("chain", 17);
    g_autofree char *last = g_strdup("x");
    ifm_model_builder_input(builder, "x", IFM_DTYPE_F32, 2, dims, NULL);
    for (gsize i = 1; i <= n_nodes; i++)
    {
        g_autofree char *name = g_strdup_printf("node%zu", i);
        g_autofree char *weight = g_strconcat(name, ".weight", NULL);
        char *made = i == n_nodes ? g_strdup("y") : g_strconcat(name, ".out", NULL);
        ifm_model_builder_random_weight(builder, weight, 2, weight_dims, 0.25, 1);
        ifm_model_builder_node(builder, "MatMul", name, (const char *[]){ last, weight, NULL },
                               (const char *[]){ made, NULL });
        g_free(last);
        last = made;
    }
    ifm_model_builder_output(builder, "y", IFM_DTYPE_F32, 2, dims, NULL);
    return ifm_model_builder_finish(builder, error);
}

#define EVICT_BYTES ((gsize)8 << 20)

/* x -> Relu -> y, as much in as out. */
static IfmModel *wide_model(gsize io_bytes, GError **error)
{
    const gint64 dims[] = { 1, (gint64)MAX(io_bytes / 2 / sizeof(float), 1) };
    IfmModelBuilder *builder = ifm_model_builder_new("wide", 17);
    ifm_model_builder_input(builder, "x", IFM_DTYPE_F32, 2, dims, NULL);
    ifm_model_builder_node(builder, "Relu", "node", (const char *[]){ "x", NULL }, (const char *[]){ "y", NULL });
    ifm_model_builder_output(builder, "y", IFM_DTYPE_F32, 2, dims, NULL);
    return ifm_model_builder_finish(builder, error);
}

/* Written, so that it is memory of its own and not the one page of zeros. */
static GBytes *evicting_bytes(void)
{
    guint8 *data = g_malloc(EVICT_BYTES);
    memset(data, 1, EVICT_BYTES);
    return g_bytes_new_take(data, EVICT_BYTES);
}

/* The times of inferences without those of their nodes. */
static GArray *time_besides_nodes(IfmEngine *engine, const IfmModelCase *model_case, IfmModel *model)
{
    IfmModelCase tiny = *model_case;
    tiny.inputs_path = NULL;
    tiny.bindings = NULL;
    tiny.n_bindings = 0;
    GArray *besides = g_array_new(FALSE, FALSE, sizeof(double));
    g_autoptr(IfmModelSubject) subject =
        model != NULL ? ifm_model_subject_new(engine, model, &tiny, IFM_COMPILE_PROFILED, NULL) : NULL;
    g_auto(ProfiledRun) profiled;
    profiled_run_init(&profiled, subject);
    if (!ifm_clock_is_virtual(
            ifm_engine_info(engine).clock)) /* a small model's calls would be found in the caches, a large one's not */
        profiled.evict = evicting_bytes();
    if (subject == NULL || !run_profiled(&profiled, NULL))
        return besides;
    guint at = 0;
    for (guint i = 0; i < profiled.profiles->len; i++)
    {
        const IfmEngineProfile *profile = profiled.profiles->pdata[i];
        Account account = account_run(&profiled, profile, at);
        at += (guint)profile->n_inferences;
        double besides_ns = (double)MAX(0, account.wall_ns - account.nodes_ns - account.copies_ns);
        g_array_append_val(besides, besides_ns);
    }
    return besides;
}

#define CHAIN_NODES 9
#define WIDE_MAX_BYTES ((gsize)256 << 20)

IfmCallCost ifm_call_cost_measure(IfmEngine *engine, const IfmModelCase *model_case, gsize io_bytes)
{
    g_autoptr(IfmModel) one_model = chain_model(1, NULL);
    g_autoptr(IfmModel) many_model = chain_model(CHAIN_NODES, NULL);
    g_autoptr(IfmModel) wide = wide_model(MIN(io_bytes, WIDE_MAX_BYTES), NULL);
    g_autoptr(GArray) one = time_besides_nodes(engine, model_case, one_model);
    g_autoptr(GArray) chain = time_besides_nodes(engine, model_case, many_model);
    g_autoptr(GArray) moved = time_besides_nodes(engine, model_case, wide);
    double more_ns = ifm_quantile_of_array(chain, 0.5) - ifm_quantile_of_array(one, 0.5);
    return (IfmCallCost){ .call_ns = fmax(ifm_quantile_of_array(one, 0.9),
                                          ifm_quantile_of_array(moved, 0.9)), /* of NaN and a number: that */
                          .node_ns = isnan(more_ns) ? NAN : MAX(more_ns, 0) / (CHAIN_NODES - 1) };
}
