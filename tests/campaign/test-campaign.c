#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <campaign/campaign.h>
#include <measure/kinds.h>
#include <measure/measure.h>
#include <onnx/onnx.h>
#include <store/store.h>

#include "folder.h"

/* A list of small cases on simulated devices and a virtual clock: what is found, measured, tried again and committed. */
static const char machine[] = "description: a test's\n"
                              "provenance: invented\n"
                              "units:\n"
                              "  A: {description: one, latency: {source: fixed, fixed: 1 ms}}\n"
                              "  B: {description: another, latency: {source: fixed, fixed: 2 ms}}\n"
                              "  BAD:\n"
                              "    description: fails whatever it is asked\n"
                              "    latency: {source: fixed, fixed: 1 ms}\n"
                              "    faults: [{what: fail, when: {from_run: 1}, reason: no luck}]\n"
                              "  LOST:\n"
                              "    description: is lost in its fifteenth run\n"
                              "    latency: {source: fixed, fixed: 1 ms}\n"
                              "    faults: [{what: lose, mode: reported, when: {run: 15}, reason: gone}]\n";

#define A "simulated:toy/A"
#define B "simulated:toy/B"
#define BAD "simulated:toy/BAD"
#define LOST "simulated:toy/LOST"
#define MAXIMUM 12

typedef struct
{
    char *folder, *model_path, *store_path;
    IfmStore *store;
    IfmModelCase cases[MAXIMUM];
    char *titles[MAXIMUM];
    const char *devices[MAXIMUM][2];
    gsize n;
    int group; /* of the cases added from now on */
    int groups[MAXIMUM];
    gint interrupted;
} Fixture;

static void open_store(Fixture *fixture)
{
    g_autoptr(GError) error = NULL;
    fixture->store = ifm_store_open(fixture->store_path, IFM_STORE_WRITE, &error);
    g_assert_no_error(error);
}

static void fixture_init_in(Fixture *fixture, const char *folder)
{
    fixture->folder = g_strdup(folder);
    fixture->model_path = g_build_filename(folder, "matmul.onnx", NULL);
    fixture->store_path = g_build_filename(folder, "store.db", NULL);
    g_setenv("IFM_DEVICES_DIR", folder, TRUE);
    open_store(fixture);
}

static void set_up(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *folder = g_dir_make_tmp("campaign-test-XXXXXX", &error);
    g_assert_no_error(error);
    g_autofree char *file = g_build_filename(folder, "toy.yaml", NULL);
    g_assert_true(g_file_set_contents(file, machine, -1, NULL));
    g_unsetenv("IFM_SIMULATED_STATE_DIR");
    fixture_init_in(fixture, folder);
    g_autoptr(IfmModel) model = ifm_zoo_build("matmul", NULL, 1, &error);
    g_assert_no_error(error);
    g_assert_true(ifm_model_save(model, fixture->model_path, &error));
}

static void fixture_clear(Fixture *fixture)
{
    ifm_store_close(fixture->store);
    for (gsize i = 0; i < fixture->n; i++)
        g_free(fixture->titles[i]);
    g_free(fixture->folder);
    g_free(fixture->model_path);
    g_free(fixture->store_path);
}

static void tear_down(Fixture *fixture, gconstpointer data)
{
    remove_tree(fixture->folder);
    fixture_clear(fixture);
}

/* Cases differ in their seed. */
static void add(Fixture *fixture, const char *device, gsize runs)
{
    gsize i = fixture->n++;
    g_assert_cmpuint(i, <, MAXIMUM);
    fixture->cases[i] = (IfmModelCase){ .model_path = fixture->model_path,
                                        .model_name = "matmul",
                                        .device = device,
                                        .dtype = IFM_DTYPE_F32,
                                        .seed = (guint32)i + 1,
                                        .protocol = IFM_PROTOCOL_INIT };
    fixture->cases[i].protocol.warmup = 1;
    fixture->cases[i].protocol.runs = runs;
    fixture->titles[i] = g_strdup_printf("%s%zu", strrchr(device, '/') + 1, i);
    fixture->devices[i][0] = device;
    fixture->groups[i] = fixture->group;
}

/* --- what a campaign says -----------------------------------------------------------------------------------------------
 */

typedef struct
{
    Fixture *fixture;
    GString *said;    /* "A0 B1! (C2) C3-": measured, failed, found, not even tried */
    gsize stop_after; /* measured cases, then it is interrupted; 0: never */
    gsize n_measured;
    int n_groups;
    gboolean good;
    IfmCampaignProgress progress;
    GError *error;
    gboolean give_up_bad, unwanted; /* unwanted: BAD is not, once one failed */
} Witness;

static void witness_clear(Witness *witness)
{
    g_string_free(witness->said, TRUE);
    g_clear_error(&witness->error);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Witness, witness_clear)

static gboolean after(const IfmCampaignItem *item, IfmCampaignEnd *end, void *user, GError **error)
{
    Witness *witness = user;
    const IfmMeasurement *last = end->error == NULL ? end->measurements[end->n - 1] : NULL;
    gboolean failed = last != NULL && last->outcome != IFM_OUTCOME_OK;
    witness->unwanted |= failed && witness->give_up_bad;
    g_string_append_printf(witness->said, "%s%s%s%s", witness->said->len > 0 ? " " : "", end->found ? "(" : "", item->title,
                           end->error != NULL ? "-"
                           : end->found       ? ")"
                           : failed           ? "!"
                                              : "");
    witness->n_measured += !end->found && last != NULL;
    if (witness->stop_after > 0 && witness->n_measured == witness->stop_after)
        g_atomic_int_set(&witness->fixture->interrupted, 1);
    return TRUE;
}

static gboolean wanted(const IfmCampaignItem *item, void *user)
{
    const Witness *witness = user;
    return !witness->unwanted || strncmp(item->title, "BAD", 3) != 0;
}

static gboolean group_done(int group, void *user, GError **error)
{
    ((Witness *)user)->n_groups++;
    return TRUE;
}

static void see(const IfmCampaignProgress *progress, const IfmMeasurement *ended, void *user)
{
    g_assert_cmpuint(progress->n_done, ==, progress->n_resumed + progress->n_measured);
    g_assert_cmpuint(progress->n_done, <=, progress->n_cases);
    if (ended == NULL)
        return;
    g_assert_nonnull(progress->now);
    gboolean rated = progress->n_measured > 0; /* a device that still is lost takes no time */
    g_assert_true(rated ? progress->cases_per_s > 0 : isnan(progress->cases_per_s));
    g_assert_true(rated ? progress->left_ns >= 0 : progress->left_ns == -1);
    g_assert_true(progress->n_done < progress->n_cases || !rated || progress->left_ns == 0);
}

static IfmCampaign *campaign_of(Fixture *fixture, const IfmCampaignOptions *given, Witness *witness, gboolean resume)
{
    IfmCampaignOptions options = *given;
    options.limits = IFM_LIMITS_INIT;
    options.interrupted = &fixture->interrupted;
    options.after = after;
    options.wanted = wanted;
    options.group_done = group_done;
    options.progress = see;
    options.user = witness;
    witness->fixture = fixture;
    witness->said = g_string_new(NULL);
    fixture->interrupted = 0;
    IfmCampaign *campaign = ifm_campaign_new(fixture->store, &options);
    for (gsize i = 0; i < fixture->n; i++)
    {
        IfmCampaignItem item = { .title = fixture->titles[i],
                                 .tag = &fixture->cases[i],
                                 .group = fixture->groups[i],
                                 .pace = 1,
                                 .devices = fixture->devices[i],
                                 .kind = &ifm_kind_model,
                                 .spec = &fixture->cases[i],
                                 .resume = resume };
        ifm_campaign_add(campaign, &item);
    }
    return campaign;
}

static void run_it(IfmCampaign *campaign, Witness *witness)
{
    witness->good = ifm_campaign_run(campaign, &witness->error);
    g_assert_true(witness->good == (witness->error == NULL));
    witness->progress = *ifm_campaign_progress(campaign);
}

static void run(Fixture *fixture, const IfmCampaignOptions *options, Witness *witness)
{
    g_autoptr(IfmCampaign) campaign = campaign_of(fixture, options, witness, TRUE);
    run_it(campaign, witness);
}

static gboolean count_one(const IfmCase *subject_case, const IfmMeasurement *measurement, void *user)
{
    ++*(gsize *)user;
    return TRUE;
}

static gsize count(IfmStore *store)
{
    gsize n = 0;
    g_assert_true(ifm_store_each(store, count_one, &n, NULL));
    return n;
}

static const IfmCampaignOptions plain = { 0 };

/* --- found or measured --------------------------------------------------------------------------------------------------
 */

static void test_resume(Fixture *fixture, gconstpointer data)
{
    for (int i = 0; i < 4; i++)
        add(fixture, i % 2 == 0 ? A : B, 5);
    g_auto(Witness) first = { 0 }, second = { 0 }, third = { 0 };
    run(fixture, &plain, &first);
    g_assert_no_error(first.error);
    g_assert_cmpstr(first.said->str, ==, "A0 B1 A2 B3");
    g_assert_cmpuint(first.progress.n_cases, ==, 4);
    g_assert_cmpuint(first.progress.n_measured, ==, 4);
    g_assert_cmpint(first.n_groups, ==, 1);
    g_assert_cmpuint(count(fixture->store), ==, 4);
    add(fixture, A, 5);
    run(fixture, &plain, &second);
    g_assert_cmpstr(second.said->str, ==, "(A0) (B1) (A2) (B3) A4");
    g_assert_cmpuint(second.progress.n_resumed, ==, 4);
    g_assert_cmpuint(count(fixture->store), ==, 5);
    /* Not asked to resume, it measures all of them again. */
    g_autoptr(IfmCampaign) campaign = campaign_of(fixture, &plain, &third, FALSE);
    run_it(campaign, &third);
    g_assert_cmpstr(third.said->str, ==, "A0 B1 A2 B3 A4");
    g_assert_cmpuint(count(fixture->store), ==, 10);
}

/* A record with fewer runs than its case promises, as an older version left it, does not stand. */
static void test_promise(Fixture *fixture, gconstpointer data)
{
    const gint64 sample_ns = 1000000;
    g_autoptr(IfmRunner) runner = ifm_runner_new(&(IfmRunnerOptions){ 0 });
    g_autoptr(IfmMeasurement) older = ifm_measurement_new();
    add(fixture, A, 0);
    fixture->cases[0].protocol.min_runs = 3;
    g_autoptr(IfmCase) sealed = ifm_runner_case(runner, &ifm_kind_model, &fixture->cases[0], NULL);
    ifm_record_set_text(&older->case_key, sealed->key);
    ifm_record_set_text(&older->stop_reason, "time-budget");
    g_array_append_val(older->samples_ns, sample_ns);
    g_array_append_val(older->samples_ns, sample_ns);
    g_assert_true(ifm_store_commit(fixture->store, sealed, older, NULL));
    g_auto(Witness) first = { 0 }, second = { 0 };
    run(fixture, &plain, &first);
    g_assert_cmpstr(first.said->str, ==, "A0");
    run(fixture, &plain, &second);
    g_assert_cmpstr(second.said->str, ==, "(A0)");
}

/* What an earlier group measured need not be measured again in a later one; within a group what is there twice is wanted
 * twice. */
static void test_same_case(Fixture *fixture, gconstpointer data)
{
    for (int i = 0; i < 4; i++)
    {
        fixture->group = i / 2;
        add(fixture, A, 5);
        fixture->cases[i].seed = 1;
    }
    g_auto(Witness) witness = { 0 };
    g_autoptr(IfmCampaign) campaign = campaign_of(fixture, &plain, &witness, FALSE);
    run_it(campaign, &witness);
    g_assert_cmpstr(witness.said->str, ==, "A0 A1 (A2) (A3)");
    g_assert_cmpint(witness.n_groups, ==, 2);
    g_assert_cmpuint(count(fixture->store), ==, 2);
}

static void test_retry(Fixture *fixture, gconstpointer data)
{
    add(fixture, A, 5);
    add(fixture, BAD, 5);
    g_auto(Witness) first = { 0 }, again = { 0 }, retried = { 0 }, thrice = { 0 };
    run(fixture, &plain, &first);
    g_assert_no_error(first.error);
    g_assert_cmpstr(first.said->str, ==, "A0 BAD1!");
    g_assert_cmpuint(first.progress.n_failed, ==, 1);
    run(fixture, &plain, &again); /* what failed is left as it is */
    g_assert_cmpstr(again.said->str, ==, "(A0) (BAD1)");
    g_assert_cmpuint(again.progress.n_failed, ==, 1);
    run(fixture, &(IfmCampaignOptions){ .retry = TRUE }, &retried);
    g_assert_cmpstr(retried.said->str, ==, "(A0) BAD1!");
    g_assert_cmpuint(count(fixture->store), ==, 3);
    run(fixture, &(IfmCampaignOptions){ .retry = TRUE, .attempts = 3 }, &thrice); /* each attempt is put down */
    g_assert_cmpstr(thrice.said->str, ==, "(A0) BAD1!");
    g_assert_cmpuint(thrice.progress.n_measured, ==, 1);
    g_assert_cmpuint(count(fixture->store), ==, 6);
}

static void run_encoding(Fixture *fixture, const IfmEncodingCase *spec, const IfmCampaignOptions *options, Witness *witness)
{
    g_autoptr(IfmCampaign) campaign = campaign_of(fixture, options, witness, TRUE);
    IfmCampaignItem item = { .title = "PE", .pace = 1, .kind = &ifm_kind_encoding, .spec = spec, .resume = TRUE };
    ifm_campaign_add(campaign, &item);
    run_it(campaign, witness);
}

/* A failed encoding is found in the store again. Only a retry measures it once more. */
static void test_failed_encoding(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmGraph) graph = ifm_graph_random(IFM_GRAPH_UNIFORM, 60, 240, 3, &error);
    g_assert_no_error(error);
    g_autoptr(IfmEncoding) wrong = ifm_encoding_laplacian(graph, 2, NULL, NULL, &error);
    g_assert_no_error(error);
    wrong->values[0] += 1;
    IfmEncodingCase spec = {
        .graph = graph, .encoding = IFM_ENCODING_LAPLACIAN, .dim = 2, .protocol = IFM_PROTOCOL_INIT, .known = wrong
    };
    spec.protocol.warmup = 1;
    spec.protocol.runs = 5;
    g_auto(Witness) first = { 0 }, again = { 0 }, retried = { 0 }, mended = { 0 };
    run_encoding(fixture, &spec, &plain, &first);
    g_assert_no_error(first.error);
    g_assert_cmpstr(first.said->str, ==, "PE!");
    g_assert_cmpuint(first.progress.n_failed, ==, 1);
    g_assert_cmpuint(count(fixture->store), ==, 1);
    run_encoding(fixture, &spec, &plain, &again);
    g_assert_cmpstr(again.said->str, ==, "(PE)");
    g_assert_cmpuint(again.progress.n_failed, ==, 1);
    g_assert_cmpuint(again.progress.n_measured, ==, 0);
    g_assert_cmpuint(count(fixture->store), ==, 1);
    run_encoding(fixture, &spec, &(IfmCampaignOptions){ .retry = TRUE }, &retried);
    g_assert_cmpstr(retried.said->str, ==, "PE!");
    g_assert_cmpuint(count(fixture->store), ==, 2);
    wrong->values[0] -= 1; /* what is known of the numbers is not part of the case */
    run_encoding(fixture, &spec, &(IfmCampaignOptions){ .retry = TRUE }, &mended);
    g_assert_cmpstr(mended.said->str, ==, "PE");
    g_assert_cmpuint(count(fixture->store), ==, 3);
}

/* --- devices ------------------------------------------------------------------------------------------------------------
 */

static void note_all(const Fixture *fixture, IfmCampaign *campaign)
{
    g_autoptr(IfmRunner) runner = ifm_runner_new(&(IfmRunnerOptions){ .limits = IFM_LIMITS_INIT });
    for (gsize i = 0; i < fixture->n; i++)
    {
        g_autoptr(IfmCase) sealed = ifm_runner_case(runner, &ifm_kind_model, &fixture->cases[i], NULL);
        g_autoptr(IfmMeasurement) last = ifm_store_last(fixture->store, sealed->key, NULL);
        if (last != NULL)
            ifm_campaign_note(campaign, fixture->devices[i], last);
    }
}

static void run_session(Fixture *fixture, GArray *sessions, Witness *witness)
{
    IfmCampaignOptions options = { .sessions_unix_ms = (const gint64 *)(const void *)sessions->data,
                                   .n_sessions = sessions->len };
    gint64 now_ms = g_get_real_time() / 1000;
    g_autoptr(IfmCampaign) campaign = campaign_of(fixture, &options, witness, TRUE);
    note_all(fixture, campaign);
    run_it(campaign, witness);
    g_array_append_val(sessions, now_ms);
    g_usleep(2000);
}

/* Lost: what is left untried is put down once, and tried again in one later session in which the device answers. */
static void test_lost(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GArray) sessions = g_array_new(FALSE, FALSE, sizeof(gint64));
    g_autofree char *state = g_build_filename(fixture->folder, "state", NULL);
    g_assert_cmpint(g_mkdir(state, 0777), ==, 0);
    g_setenv("IFM_SIMULATED_STATE_DIR", state, TRUE); /* what is lost stays lost for other processes, too */
    add(fixture, LOST, 20);
    add(fixture, LOST, 20);
    add(fixture, LOST, 20);
    add(fixture, A, 5);
    g_auto(Witness) first = { 0 }, still = { 0 }, back = { 0 }, done = { 0 };
    run_session(fixture, sessions, &first);
    g_assert_cmpstr(first.said->str, ==, "LOST0! LOST1! LOST2! A3");
    g_assert_cmpuint(first.progress.n_skipped, ==, 2);
    g_assert_cmpuint(count(fixture->store), ==, 4);
    run_session(fixture, sessions, &still); /* asked, it does not answer: nothing is put down twice */
    g_assert_cmpstr(still.said->str, ==, "(LOST0) LOST1! LOST2! (A3)");
    g_assert_cmpuint(still.progress.n_measured, ==, 0);
    g_assert_cmpuint(count(fixture->store), ==, 4);
    g_unsetenv("IFM_SIMULATED_STATE_DIR");
    run_session(fixture, sessions, &back); /* it answers, and is lost anew in the next case */
    g_assert_cmpstr(back.said->str, ==, "(LOST0) LOST1! LOST2! (A3)");
    g_assert_cmpuint(back.progress.n_failed, ==, 2);
    g_assert_cmpuint(back.progress.n_skipped, ==, 1);
    g_assert_cmpuint(count(fixture->store), ==, 5);
    run_session(fixture, sessions, &done); /* that was the chance of the others */
    g_assert_cmpstr(done.said->str, ==, "(LOST0) (LOST1) (LOST2) (A3)");
}

/* What an item came to may make others unwanted; what cannot be sealed costs itself alone. */
static void test_unwanted(Fixture *fixture, gconstpointer data)
{
    add(fixture, BAD, 5);
    add(fixture, BAD, 5);
    add(fixture, "simulated:nowhere/A", 5);
    add(fixture, A, 5);
    g_auto(Witness) witness = { .give_up_bad = TRUE };
    run(fixture, &plain, &witness);
    g_assert_no_error(witness.error);
    g_assert_cmpuint(witness.progress.n_failed, ==, 1);
    g_assert_cmpuint(witness.progress.n_skipped, ==, 1); /* a device that is not there */
    g_assert_cmpstr(witness.said->str, ==, "BAD0! A2! A3");
    fixture->cases[3].model_path = "no-such.onnx";
    g_auto(Witness) second = { 0 };
    run(fixture, &plain, &second);
    g_assert_no_error(second.error);
    g_assert_cmpstr(second.said->str, ==, "(BAD0) BAD1! A2! A3-");
    g_assert_cmpuint(second.progress.n_done, ==, second.progress.n_cases);
}

/* Records of absent devices wait for one that is there. */
static void test_hold(Fixture *fixture, gconstpointer data)
{
    add(fixture, "simulated:nowhere/A", 5);
    g_auto(Witness) alone = { 0 }, beside = { 0 };
    run(fixture, &(IfmCampaignOptions){ .hold_absent = TRUE }, &alone);
    g_assert_cmpstr(alone.said->str, ==, "A0!");
    g_assert_cmpuint(count(fixture->store), ==, 0);
    add(fixture, A, 5);
    run(fixture, &(IfmCampaignOptions){ .hold_absent = TRUE }, &beside);
    g_assert_cmpstr(beside.said->str, ==, "A0! A1");
    g_assert_cmpuint(count(fixture->store), ==, 2);
}

/* --- its end ------------------------------------------------------------------------------------------------------------
 */

static void test_interrupted(Fixture *fixture, gconstpointer data)
{
    for (int i = 0; i < 5; i++)
        add(fixture, A, 5);
    gsize n_measured = 0;
    for (gboolean good = FALSE; !good;)
    {
        g_auto(Witness) witness = { .stop_after = 2 };
        run(fixture, &plain, &witness);
        n_measured += witness.progress.n_measured;
        g_assert_cmpuint(count(fixture->store), ==, n_measured);
        g_assert_cmpuint(witness.progress.n_measured, <=, 2);
        good = witness.good;
        if (!good)
            g_assert_true(g_error_matches(witness.error, IFM_ERROR, IFM_ERROR_CANCELLED));
        if (n_measured == 2)
            g_assert_cmpstr(witness.error->message, ==, "interrupted: 2 of 5 cases are measured; the same command resumes");
    }
    g_assert_cmpuint(n_measured, ==, 5);
}

/* A case that is cut short is not committed, or is, where asked, and never stands. */
static gboolean interrupt_now(const IfmCampaignItem *item, const IfmCase *sealed, void *user, GError **error)
{
    g_atomic_int_set(&((Witness *)user)->fixture->interrupted, 1);
    return TRUE;
}

static gboolean seal_half(IfmCampaign *campaign, const IfmCampaignItem *item, IfmCase **cases, GError **error)
{
    cases[0] = ifm_case_new();
    ifm_record_set_text(&cases[0]->subject_kind, "callback");
    ifm_record_set_text(&cases[0]->subject_name, item->title);
    ifm_record_set_text(&cases[0]->device, "host:CPU");
    ifm_case_seal(cases[0]);
    return TRUE;
}

static gboolean measure_half(IfmCampaign *campaign, const IfmCampaignItem *item, IfmCase **cases,
                             IfmMeasurement **measurements, GError **error)
{
    measurements[0] = ifm_measurement_new();
    ifm_record_set_text(&measurements[0]->case_key, cases[0]->key);
    ifm_record_set_text(&measurements[0]->stop_reason, "interrupted");
    return TRUE;
}

static void test_cut_short(Fixture *fixture, gconstpointer data)
{
    static const IfmItemKind half = { .seal = seal_half, .measure = measure_half };
    for (int keep = 0; keep <= 1; keep++)
        for (int time = 0; time < 2; time++)
        {
            gsize before = count(fixture->store);
            g_auto(Witness) witness = { 0 };
            IfmCampaignItem item = { .title = "half", .own = &half, .resume = TRUE };
            IfmCampaignOptions options = { .keep_partial = keep, .before = interrupt_now };
            g_autoptr(IfmCampaign) campaign = campaign_of(fixture, &options, &witness, TRUE);
            ifm_campaign_add(campaign, &item);
            run_it(campaign, &witness);
            g_assert_true(g_error_matches(witness.error, IFM_ERROR, IFM_ERROR_CANCELLED));
            g_assert_cmpstr(witness.said->str, ==, keep ? "half" : ""); /* the second time, too */
            g_assert_cmpuint(count(fixture->store) - before, ==, keep);
        }
}

static void test_budget(Fixture *fixture, gconstpointer data)
{
    for (int i = 0; i < 3; i++)
        add(fixture, A, 5);
    g_auto(Witness) spent = { 0 }, enough = { 0 };
    run(fixture, &(IfmCampaignOptions){ .time_budget_ns = 1 }, &spent);
    g_assert_true(g_error_matches(spent.error, IFM_ERROR, IFM_ERROR_TIMEOUT));
    g_assert_nonnull(strstr(spent.error->message, "the time budget is spent: "));
    g_assert_cmpuint(count(fixture->store), <=, 1); /* none begins after it */
    g_assert_cmpuint(count(fixture->store), ==, spent.progress.n_measured);
    run(fixture, &(IfmCampaignOptions){ .time_budget_ns = 3600 * G_GINT64_CONSTANT(1000000000) }, &enough);
    g_assert_no_error(enough.error);
    g_assert_cmpuint(enough.progress.n_done, ==, 3);
}

/* --- parts and order ----------------------------------------------------------------------------------------------------
 */

static void test_shards(Fixture *fixture, gconstpointer data)
{
    for (int i = 0; i < 7; i++)
        add(fixture, i < 4 ? A : B, 5);
    static const char *const said[] = { "A0 B5", "A1 A3", "A2 B4 B6" };
    for (gsize i = 0; i < 3; i++)
    {
        g_auto(Witness) witness = { 0 };
        run(fixture, &(IfmCampaignOptions){ .shard = i + 1, .n_shards = 3 }, &witness);
        g_assert_no_error(witness.error);
        g_assert_cmpstr(witness.said->str, ==, said[i]);
        g_assert_cmpuint(witness.progress.n_cases, ==, i == 2 ? 3 : 2);
    }
    g_auto(Witness) all = { 0 };
    run(fixture, &plain, &all); /* each case was in one shard, and in one alone */
    g_assert_cmpuint(all.progress.n_resumed, ==, 7);
    g_assert_cmpuint(count(fixture->store), ==, 7);
    gsize shard, n;
    g_autoptr(GError) error = NULL;
    g_assert_true(ifm_shard_check(0, 0, &error) && ifm_shard_check(2, 2, &error));
    g_assert_false(ifm_shard_check(0, 2, NULL) || ifm_shard_check(5, 2, NULL) || ifm_shard_check(1, 0, NULL));
    g_assert_true(ifm_shard_parse("3/12", &shard, &n, &error));
    g_assert_true(shard == 3 && n == 12);
    static const char *const wrong[] = { "", "1", "0/2", "3/2", "1/", "/2", "1/2x", "-1/2", "1/0", "a/b", "1 /2" };
    for (gsize i = 0; i < G_N_ELEMENTS(wrong); i++)
    {
        g_assert_false(ifm_shard_parse(wrong[i], &shard, &n, &error));
        g_assert_true(g_error_matches(error, IFM_ERROR, IFM_ERROR_INVALID));
        g_clear_error(&error);
    }
}

static void test_interleaved(Fixture *fixture, gconstpointer data)
{
    static const char *const order[] = { A, A, A, B, B, BAD };
    for (gsize i = 0; i < G_N_ELEMENTS(order); i++)
        add(fixture, order[i], 5);
    g_auto(Witness) witness = { 0 };
    run(fixture, &(IfmCampaignOptions){ .order = IFM_CAMPAIGN_INTERLEAVED }, &witness);
    g_assert_cmpstr(witness.said->str, ==, "A0 B3 BAD5! A1 B4 A2");
}

/* A whole group sealed first: what is in the store is known before anything is measured. */
static void test_sealed_first(Fixture *fixture, gconstpointer data)
{
    add(fixture, A, 5);
    add(fixture, B, 5);
    g_auto(Witness) first = { 0 }, second = { 0 };
    run(fixture, &plain, &first);
    add(fixture, B, 5);
    g_autoptr(IfmCampaign) campaign = campaign_of(fixture, &plain, &second, TRUE);
    g_assert_true(ifm_campaign_seal(campaign, 0, NULL));
    g_assert_cmpuint(ifm_campaign_progress(campaign)->n_resumed, ==, 2);
    g_assert_cmpuint(ifm_campaign_progress(campaign)->n_cases, ==, 3);
    for (guint i = 0; i < 3; i++)
        g_assert_cmpuint(strlen(ifm_campaign_sealed(campaign, i)->key), ==, 64);
    run_it(campaign, &second);
    g_assert_cmpstr(second.said->str, ==, "(A0) (B1) B2");
}

/* --- items of several records, or with a choice -------------------------------------------------------------------------
 */

static gboolean seal_pair(IfmCampaign *campaign, const IfmCampaignItem *item, IfmCase **cases, GError **error)
{
    const IfmModelCase *sides = item->tag;
    for (gsize i = 0; i < 2; i++)
        if ((cases[i] = ifm_runner_case(ifm_campaign_runner(campaign), &ifm_kind_model, &sides[i], error)) == NULL)
            return FALSE;
    return TRUE;
}

static gboolean measure_pair(IfmCampaign *campaign, const IfmCampaignItem *item, IfmCase **cases,
                             IfmMeasurement **measurements, GError **error)
{
    const IfmModelCase *sides = item->tag;
    for (gsize i = 0; i < 2; i++)
        measurements[i] = ifm_runner_measure(ifm_campaign_runner(campaign), &ifm_kind_model, &sides[i], cases[i], error);
    return measurements[0] != NULL && measurements[1] != NULL;
}

static void test_pair(Fixture *fixture, gconstpointer data)
{
    static const IfmItemKind pair = { .seal = seal_pair, .measure = measure_pair };
    add(fixture, A, 5);
    add(fixture, B, 5);
    gsize n = fixture->n;
    fixture->n = 0;
    for (int time = 0; time < 2; time++)
    {
        g_auto(Witness) witness = { 0 };
        IfmCampaignItem item = { .title = "pair", .tag = fixture->cases, .own = &pair, .resume = TRUE };
        g_autoptr(IfmCampaign) campaign = campaign_of(fixture, &plain, &witness, TRUE);
        ifm_campaign_add(campaign, &item);
        run_it(campaign, &witness);
        g_assert_no_error(witness.error);
        g_assert_cmpstr(witness.said->str, ==, time == 0 ? "pair" : "(pair)");
        g_assert_cmpuint(witness.progress.n_cases, ==, 1);
        g_assert_cmpuint(count(fixture->store), ==, 2); /* both, in one transaction */
    }
    fixture->n = n;
}

static gboolean never(const IfmCampaignItem *item, IfmCase *const *cases, const IfmMeasurement *found)
{
    return FALSE;
}

/* The first counts. */
static gboolean keep_first(const IfmCampaignItem *item, const IfmMeasurement *measurement, const IfmMeasurement *found)
{
    return found == NULL;
}

static gboolean seal_one(IfmCampaign *campaign, const IfmCampaignItem *item, IfmCase **cases, GError **error)
{
    cases[0] = ifm_runner_case(ifm_campaign_runner(campaign), &ifm_kind_model, item->tag, error);
    return cases[0] != NULL;
}

static gboolean measure_one(IfmCampaign *campaign, const IfmCampaignItem *item, IfmCase **cases,
                            IfmMeasurement **measurements, GError **error)
{
    measurements[0] = ifm_runner_measure(ifm_campaign_runner(campaign), &ifm_kind_model, item->tag, cases[0], error);
    return measurements[0] != NULL;
}

static void test_choice(Fixture *fixture, gconstpointer data)
{
    static const IfmItemKind first_counts = {
        .seal = seal_one, .measure = measure_one, .stands = never, .keep = keep_first
    };
    add(fixture, A, 5);
    for (int time = 0; time < 2; time++)
    {
        g_auto(Witness) witness = { 0 };
        gsize n = fixture->n;
        fixture->n = 0;
        g_autoptr(IfmCampaign) campaign = campaign_of(fixture, &plain, &witness, TRUE);
        fixture->n = n;
        IfmCampaignItem item = { .title = "A", .tag = &fixture->cases[0], .own = &first_counts, .resume = TRUE };
        ifm_campaign_add(campaign, &item);
        run_it(campaign, &witness);
        g_assert_no_error(witness.error);
        g_assert_cmpstr(witness.said->str, ==, "A");
        g_assert_cmpuint(count(fixture->store), ==, 1);
    }
}

/* --- killed -------------------------------------------------------------------------------------------------------------
 */

#define N_KILL 8

static void add_many(Fixture *fixture)
{
    for (int i = 0; i < N_KILL; i++)
        add(fixture, i % 2 == 0 ? A : B, 50);
}

/* The child's: measures in @folder until it is killed. */
static int measure_in(const char *folder)
{
    Fixture fixture = { 0 };
    g_auto(Witness) witness = { 0 };
    fixture_init_in(&fixture, folder);
    add_many(&fixture);
    run(&fixture, &plain, &witness);
    return witness.good ? 0 : 1;
}

static void test_killed(Fixture *fixture, gconstpointer data)
{
    g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
    const char *const command[] = { self, "--measure-in", fixture->folder, NULL };
    add_many(fixture);
    gsize n = 0;
    for (gsize kill_at = 1; kill_at < N_KILL; kill_at += 3)
    {
        GPid child;
        int status;
        g_assert_true(g_spawn_async(NULL, (char **)command, NULL, G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL, &child, NULL));
        while (count(fixture->store) < kill_at && waitpid(child, &status, WNOHANG) == 0)
            g_usleep(500);
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        g_spawn_close_pid(child);
        g_assert_cmpuint(count(fixture->store), >=, n); /* nothing that was committed is gone */
        n = count(fixture->store);
        g_assert_true(ifm_store_check(fixture->store, NULL));
    }
    g_auto(Witness) witness = { 0 };
    run(fixture, &plain, &witness);
    g_assert_no_error(witness.error);
    g_assert_cmpuint(witness.progress.n_resumed, ==, n);
    g_assert_cmpuint(witness.progress.n_measured, ==, N_KILL - n);
    g_assert_cmpuint(count(fixture->store), ==, N_KILL);
}

#define ADD(name) g_test_add("/campaign/" #name, Fixture, NULL, set_up, test_##name, tear_down)

int main(int argc, char **argv)
{
    if (argc == 3 && g_str_equal(argv[1], "--measure-in"))
        return measure_in(argv[2]);
    g_test_init(&argc, &argv, NULL);
    ADD(resume);
    ADD(promise);
    ADD(same_case);
    ADD(retry);
    ADD(failed_encoding);
    ADD(lost);
    ADD(unwanted);
    ADD(hold);
    ADD(interrupted);
    ADD(cut_short);
    ADD(budget);
    ADD(shards);
    ADD(interleaved);
    ADD(sealed_first);
    ADD(pair);
    ADD(choice);
    ADD(killed);
    return g_test_run();
}
