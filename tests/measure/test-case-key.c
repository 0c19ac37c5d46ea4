#include <inferometer/tensor-file.h>
#include <internal/json.h>

#include "runner-fixture.h"

/* The keys of one case of each kind, as they were when there was a code of its own for each: a store is found again by
 * them. What the machine, the installation and the zoo put into a record is replaced by what stays. */

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
    assert_key(of_plain, "4093c7029f913156a3f039887685d95f316ba040dc7dc63eab9edc0e5324099e");
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
    assert_key(of_full, "c15b9f8ff3855a1d274774d14f67ce7eba535e42d68c34d22e448c51d534c5d3");
    full.profile = full.verify = FALSE; /* what follows from them goes with them */
    g_autoptr(IfmCase) of_less = seal(&fixture, &ifm_kind_model, &full);
    assert_key(of_less, "738945afb1d07b40aace374397c0454d59449e47ebc274d7847c6464cceee623");
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
    assert_key(by_rule, "85bf1ed9e4fb7893d94d2fa436c93b8508993cb6bd2ee399e2262212ffb1a470");
    link_case.protocol.runs = 20;
    g_autoptr(IfmCase) counted = seal(&fixture, &ifm_kind_link, &link_case);
    assert_key(counted, "d6ba58f8037807a9dc280425991352c55ebaa87354f57e95bf4db8eb3b4b0e98");
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
    assert_key(sealed, "267d33369de35b2d0c8c70f21993a7624c88da6d1dfb1c9f1a105d38dbb5dd9d");
    peak_case.device = "simulated:limits/ROOF"; /* how many processors this process has belongs to it then */
    g_autoptr(IfmCase) whole = seal(&fixture, &ifm_kind_peak, &peak_case);
    g_assert_true(json_is_integer(json_object_get(whole->options, "processors")));
    json_object_set_new(whole->options, "processors", json_integer(4));
    assert_key(whole, "bb4f735402b9ce235d549a5873f30a38da962a5a47522287848705baaee47507");
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
    assert_key(plain, "12df80b56fa82584f353631325a13737e61a5e322374a33ff5aa089d85f55474");
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
    assert_key(full, "4eaa8e6153e5ec0ee06d6d67fa245f01d97819b0588413a64684400506f7a5b1");
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
