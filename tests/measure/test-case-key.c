#include <base/fields.h>
#include <measure/kinds.h>

#include "runner-fixture.h"

/* The keys of one case of each kind: a store is found again by them, so that none may change unnoticed. What the machine,
 * the installation and the zoo put into a record is replaced by what stays. */

static void fix(json_t *object, const char *key)
{
    if (json_object_get(object, key) != NULL)
        json_object_set_new(object, key, json_string(key));
}

static void assert_key(IfmCase *sealed, const char *key)
{
    static const char *const reported[] = { "machine", "engine_version", "sender_engine_version" };
    for (gsize i = 0; i < G_N_ELEMENTS(reported); i++)
        fix(sealed->environment, reported[i]);
    gsize i;
    json_t *row;
    json_array_foreach(json_object_get(sealed->load, "devices"), i, row)
    {
        fix(row, "engine_version");
        fix(row, "model");
    }
    if (*sealed->subject_digest != '\0')
        ifm_record_set_text(&sealed->subject_digest, "digest");
    ifm_case_seal(sealed);
    g_autofree char *options = ifm_json_canonical(sealed->options);
    g_test_message("%s", options);
    g_assert_cmpstr(sealed->key, ==, key);
}

static IfmCase *seal(Fixture *fixture, const IfmCaseKind *kind, const void *spec)
{
    g_autoptr(GError) error = NULL;
    IfmCase *sealed = ifm_runner_case(fixture->runner, kind, spec, &error);
    g_assert_no_error(error);
    return sealed;
}

static void test_model(void)
{
    static const char *const vendor[] = { "SEED=3", "A=1", NULL };
    static const IfmDimBinding bindings[] = { { "N", 8 } }, sizes[] = { { "nodes", 3 }, { "edges", 9 } };
    Fixture fixture;
    fixture_init(&fixture, NULL);
    IfmModelCase plain = case_on(&fixture, "simulated:faulty/well");
    g_autoptr(IfmCase) of_plain = seal(&fixture, &ifm_kind_model, &plain);
    assert_key(of_plain, "ad083e07a7f0f9f444aa01405b45f47649c1b2add1a689808b45bc5604bf3957");
    const IfmLoadDevice load = {
        .alias = "NPU", .device = "simulated:plans/A", .model_path = fixture.model_path, .free_shapes = TRUE
    };
    IfmModelCase full = { .model_path = fixture.model_path,
                          .model_name = "full",
                          .device = "simulated:contended/CPU:0@1,0#2",
                          .alias = "CPU",
                          .subject_kind = "stage",
                          .bindings = bindings,
                          .n_bindings = 0,
                          .sizes = sizes,
                          .n_sizes = 2,
                          .free_shapes = TRUE,
                          .cache_dir = "/nowhere",
                          .dtype = IFM_DTYPE_BF16,
                          .threads = 3,
                          .vendor = vendor,
                          .seed = 0xfedcba98,
                          .protocol = IFM_PROTOCOL_INIT,
                          .profile = TRUE,
                          .profile_few = TRUE,
                          .verify = TRUE,
                          .rtol = 1e-3,
                          .as_wholes = TRUE,
                          .native_async = TRUE,
                          .load = &load,
                          .n_load = 1 };
    g_autoptr(IfmCase) of_full = seal(&fixture, &ifm_kind_model, &full);
    assert_key(of_full, "e7da0a18a835aafc62b6215de960ac9d903cd1f900d46171ef44fc4891caf151");
    full.profile = full.verify = FALSE; /* what follows from them goes with them */
    g_autoptr(IfmCase) of_less = seal(&fixture, &ifm_kind_model, &full);
    assert_key(of_less, "f42883a3107def2c1a33b9478c31d70fb64794245c9ff0d5b70161f844898ab9");
    fixture_clear(&fixture);
}

static void test_link(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    IfmLinkCase link_case = { .from = "simulated:links/HOST:0@1,0",
                              .to = "simulated:links/GPU",
                              .from_alias = "CPU",
                              .size_bytes = 4096,
                              .protocol = IFM_PROTOCOL_INIT };
    g_autoptr(IfmCase) by_rule = seal(&fixture, &ifm_kind_link, &link_case);
    assert_key(by_rule, "348283503cceea4fe71fc525d9dc7bc922fdaaf908175418d9d9ad92c6ade948");
    link_case.protocol.runs = 20;
    g_autoptr(IfmCase) counted = seal(&fixture, &ifm_kind_link, &link_case);
    assert_key(counted, "8df47037b7d61b8a989c86f3bcbaeb4ccbad03211237be0f0fb8b7850867d81f");
    fixture_clear(&fixture);
}

static void test_peak(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    IfmPeakCase peak_case = {
        .device = "simulated:limits/ROOF@0#2", .alias = "CPU", .dtype = IFM_DTYPE_F16, .threads = 2, .time_budget_ns = MS
    };
    g_autoptr(IfmCase) sealed = seal(&fixture, &ifm_kind_peak, &peak_case);
    assert_key(sealed, "2c5784dcaff0cd16b580379e4964bd9c076d89d9c369e5ee10b21529415a9abc");
    peak_case.device = "simulated:limits/ROOF"; /* how many processors this process has belongs to it then */
    g_autoptr(IfmCase) whole = seal(&fixture, &ifm_kind_peak, &peak_case);
    g_assert_true(json_is_integer(json_object_get(whole->options, "processors")));
    json_object_set_new(whole->options, "processors", json_integer(4));
    assert_key(whole, "6a65c8b981944b2038a650d39970c3a58f7a7b54607900553ec742c47739b64a");
    fixture_clear(&fixture);
}

static void test_pipeline(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    json_auto_t *plan = json_pack("{s:[[[s],[i,i,i],[f]],[[s],[i,i,i,i],[f]]],s:{s:{s:s},s:{s:s}},s:s}", "plan", "CPU", 1,
                                  2, 3, 1.0, "GPU", 4, 5, 6, 7, 1.0, "devices", "CPU", "device", "simulated:plans/A", "GPU",
                                  "device", "simulated:plans/B", "model", "graphsage");
    json_auto_t *fallbacks = json_pack("{s:O}", "1", plan);
    const json_t *plans[] = { plan, plan };
    const IfmPlanGraph graphs[] = { { .kind = "uniform", .nodes = 100, .edges = 300, .seed = 3 },
                                    { .kind = "power-law", .nodes = 50, .edges = 400, .seed = 4, .parts = 2 } };
    IfmPlanCase plan_case = { .plans = plans,
                              .graphs = graphs,
                              .n_graphs = 1,
                              .sizes = { .features = 4, .hidden = 3 },
                              .n_batches = 5,
                              .seed = 9,
                              .repetitions = 3 };
    g_autoptr(IfmCase) plain = seal(&fixture, &ifm_kind_pipeline, &plan_case);
    assert_key(plain, "caa7853f38b5aa74aa2704a2e17bf0ca687141279aa56f7fba27c460932ade7e");
    plan_case.n_graphs = 2;
    plan_case.queue_depth = 4;
    plan_case.block_depth = 3;
    plan_case.device_time = "sampled";
    plan_case.watchdog_ns = 7;
    plan_case.verify = TRUE;
    plan_case.rtol = 1e-3;
    plan_case.fallbacks = fallbacks;
    plan_case.prediction = plan;
    plan_case.trace_path = "/nowhere";
    plan_case.ci_ratio = 0.02;
    plan_case.time_budget_ns = 1000 * MS;
    plan_case.bound = TRUE;
    g_autoptr(IfmCase) full = seal(&fixture, &ifm_kind_pipeline, &plan_case);
    assert_key(full, "6af113bfb5b2d5233d218dd21b284d09dc1be977c68b5a53d941faf083716608");
    fixture_clear(&fixture);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_autofree char *devices = g_build_filename(g_getenv("IFM_TEST_DATA"), "measure", "devices", NULL);
    g_setenv("IFM_DEVICES_DIR", devices, TRUE);
    g_test_add_func("/case-key/model", test_model);
    g_test_add_func("/case-key/link", test_link);
    g_test_add_func("/case-key/peak", test_peak);
    g_test_add_func("/case-key/pipeline", test_pipeline);
    return g_test_run();
}
