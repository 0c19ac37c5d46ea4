/* Plans: JSON both ways, text, checks; every error names the place and what would be right. */
#include <math.h>
#include <string.h>

#include <base/fields.h>
#include <pipeline/pipeline.h>

static IfmPlan *parse(const char *text, GError **error)
{
    g_autoptr(GError) local = NULL;
    json_t *json = ifm_json_parse(text, strlen(text), "plan.json", &local);
    g_assert_no_error(local);
    IfmPlan *plan = ifm_plan_from_json(json, "plan.json", error);
    json_decref(json);
    return plan;
}

static void assert_refused(const char *text, const char *message)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmPlan) plan = parse(text, &error);
    g_assert_null(plan);
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_cmpstr(error->message, ==, message);
}

static void test_bare(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmPlan) plan = parse("[[[\"CPU\",\"GPU\"],[1,2,3],[0.5,0.5]],[[\"NPU\"],[4,5,6,7],[1.0]]]", &error);
    g_assert_no_error(error);
    g_assert_null(plan->model);
    g_assert_cmpuint(plan->devices->len, ==, 3);
    g_assert_cmpint(ifm_plan_find_device(plan, "CPU"), ==, 0);
    g_assert_cmpint(ifm_plan_find_device(plan, "NPU"), ==, 2);
    g_assert_cmpint(ifm_plan_find_device(plan, "cpu"), ==, -1);
    g_assert_null(((IfmPlanDevice *)plan->devices->pdata[1])->device);
    g_assert_cmpuint(plan->blocks->len, ==, 2);
    const IfmPlanBlock *second = &g_array_index(plan->blocks, IfmPlanBlock, 1);
    g_assert_cmpint(second->first, ==, 4);
    g_assert_cmpint(second->last, ==, 7);
    g_assert_cmpint(second->devices[0], ==, 2);
    g_autofree char *text = ifm_plan_to_text(plan);
    g_assert_cmpstr(text, ==, "CPU+GPU 1-3 (0.50 : 0.50) > NPU 4-7");
    json_t *blocks = ifm_plan_blocks_to_json(plan);
    g_autofree char *again = ifm_json_canonical(blocks);
    json_decref(blocks);
    g_assert_cmpstr(again, ==, "[[[\"CPU\",\"GPU\"],[1,2,3],[0.5,0.5]],[[\"NPU\"],[4,5,6,7],[1.0]]]");
}

static void test_object(void)
{
    g_autoptr(GError) error = NULL;
    static const char *const text =
        "{\"devices\":{\"CPU\":{\"device\":\"openvino:CPU@0\",\"form\":\"dynamic\"},\"G\":{\"device\":\"onnxruntime:CPU\","
        "\"form\":\"dynamic\"},\"NPU\":{\"device\":\"simulated:meteor-lake/NPU\",\"form\":\"static\",\"sizes\":[[1000,"
        "5000],[2000,10000]]}},\"model\":\"graphsage\",\"plan\":[[[\"CPU\",\"NPU\"],[1,2,3,4,5],[0.25,0.75]],[[\"G\"],[6,7]"
        ",[1.0]]]}";
    g_autoptr(IfmPlan) plan = parse(text, &error);
    g_assert_no_error(error);
    const IfmPlanDevice *npu = plan->devices->pdata[2];
    g_assert_cmpstr(plan->model, ==, "graphsage");
    g_assert_cmpstr(npu->device, ==, "simulated:meteor-lake/NPU");
    g_assert_cmpint(npu->form, ==, IFM_PLAN_STATIC);
    g_assert_cmpuint(npu->n_sizes, ==, 2);
    g_assert_cmpint(npu->sizes[1].edges, ==, 10000);
    g_autoptr(IfmPlan) copy = ifm_plan_copy(plan);
    g_assert_true(ifm_plan_same_shape(plan, copy));
    json_t *json = ifm_plan_to_json(copy);
    g_autofree char *again = ifm_json_canonical(json);
    json_decref(json);
    g_assert_cmpstr(again, ==, text);
    g_array_index(copy->blocks, IfmPlanBlock, 0).ratios[0] = 0.3;
    g_array_index(copy->blocks, IfmPlanBlock, 0).ratios[1] = 0.7;
    g_assert_true(ifm_plan_same_shape(plan, copy));
    g_array_index(copy->blocks, IfmPlanBlock, 0).devices[0] = 1;
    g_array_index(copy->blocks, IfmPlanBlock, 1).devices[0] = 0;
    g_assert_false(ifm_plan_same_shape(plan, copy));
}

static void test_other_keys(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmPlan) plan =
        parse("{\"plan\": [[[\"A\"],[1],[1]]], \"cost\": {\"latency_ns\": 12}, \"format\": 1}", &error);
    g_assert_no_error(error);
    g_autofree char *text = ifm_plan_to_text(plan);
    g_assert_cmpstr(text, ==, "A 1");
}

/* Ratios rounded to three decimals are taken and scaled to what they mean. */
static void test_scaled(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmPlan) plan = parse("[[[\"A\",\"B\",\"C\"],[1],[0.333,0.333,0.333]]]", &error);
    g_assert_no_error(error);
    const IfmPlanBlock *block = &g_array_index(plan->blocks, IfmPlanBlock, 0);
    for (int i = 0; i < 3; i++)
        g_assert_cmpfloat(fabs(block->ratios[i] - 1.0 / 3), <, 1e-15);
}

static void test_refused(void)
{
    static const struct
    {
        const char *text, *message;
    } cases[] = {
        { "{\"plan\": 3}", "plan.json: \"plan\" is no list; a list of blocks is expected" },
        { "{\"devices\": {}}", "plan.json: no key \"plan\"; a list of blocks is expected" },
        { "[]", "plan.json: no blocks; at least one is expected" },
        { "[3]", "plan.json: block 1: [[\"CPU\"], [1, 2], [1.0]] is expected: aliases, stages, ratios" },
        { "[[[\"A\"],[1]]]", "plan.json: block 1: [[\"CPU\"], [1, 2], [1.0]] is expected: aliases, stages, ratios" },
        { "[[[],[1],[]]]", "plan.json: block 1: its devices: a list of 1 to 8 aliases is expected" },
        { "[[\"A\",[1],[1]]]", "plan.json: block 1: its devices: a list of 1 to 8 aliases is expected" },
        { "[[[1],[1],[1]]]", "plan.json: block 1: device 1 of it is no text; an alias is expected" },
        { "[[[\"A B\"],[1],[1]]]",
          "plan.json: block 1: alias \"A B\" has a blank or a control character; a word is expected" },
        { "[[[\"\"],[1],[1]]]", "plan.json: block 1: an alias of 0 bytes; 1 to 64 are expected" },
        { "[[[\"A\"],[],[1]]]", "plan.json: block 1: its stages: a list of at least one number is expected" },
        { "[[[\"A\"],[0],[1]]]", "plan.json: block 1: stage 1 of its list is no number from 1; stages count from 1" },
        { "[[[\"A\"],[1,2.5],[1]]]", "plan.json: block 1: stage 2 of its list is no number from 1; stages count from 1" },
        { "[[[\"A\"],[1,3],[1]]]",
          "plan.json: block 1: stage 3 follows stage 1; 2 is expected: a block is a run without gaps" },
        { "[[[\"A\"],[2,1],[1]]]",
          "plan.json: block 1: stage 1 follows stage 2; 3 is expected: a block is a run without gaps" },
        { "[[[\"A\"],[1],[1]],[[\"B\"],[3],[1]]]",
          "plan.json: block 2: stages 3 to 3, but 2 is the next one: each stage is in one block, in ascending order" },
        { "[[[\"A\"],[1,2],[1]],[[\"B\"],[2,3],[1]]]",
          "plan.json: block 2: stages 2 to 3, but 3 is the next one: each stage is in one block, in ascending order" },
        { "[[[\"A\"],[2],[1]],[[\"B\"],[1],[1]]]",
          "plan.json: block 1: stages 2 to 2, but 1 is the next one: each stage is in one block, in ascending order" },
        { "[[[\"A\"],[1],[1]],[[\"A\"],[2],[1]]]",
          "plan.json: block 2: device 'A' is in block 1 already; a device belongs to one block, once" },
        { "[[[\"A\",\"A\"],[1],[0.5,0.5]]]",
          "plan.json: block 1: device 'A' is in block 1 already; a device belongs to one block, once" },
        { "[[[\"A\",\"B\"],[1],[1]]]", "plan.json: block 1: 1 ratios for 2 devices; one each is expected" },
        { "[[[\"A\"],[1],[\"x\"]]]", "plan.json: block 1: ratio 1 is no number; a share above 0 is expected" },
        { "[[[\"A\",\"B\"],[1],[0.5,0.4]]]", "plan.json: block 1: its ratios add up to 0.9; 1 is expected" },
        { "[[[\"A\",\"B\"],[1],[0.5,0.6]]]", "plan.json: block 1: its ratios add up to 1.1; 1 is expected" },
        { "[[[\"A\",\"B\"],[1],[0.0,1.0]]]",
          "plan.json: block 1: ratio 0 of device 'A'; above 0 and at most 1 is expected" },
        { "[[[\"A\",\"B\"],[1],[-0.5,1.5]]]",
          "plan.json: block 1: ratio -0.5 of device 'A'; above 0 and at most 1 is expected" },
        { "[[[\"A\",\"B\",\"C\",\"D\",\"E\",\"F\",\"G\",\"H\"],[1],[0.125,0.125,0.125,0.125,0.125,0.125,0.125,0.125]],"
          "[[\"I\"],[2],[1]]]",
          "plan.json: block 2: 'I' is one device more than a plan may have; at most 8 are expected" },
        { "{\"plan\": [[[\"CPV\"],[1],[1]]], \"devices\": {\"CPU\": {\"device\": \"openvino:CPU\"}}}",
          "plan.json: block 1: 'CPV' is not among its \"devices\"; did you mean \"CPU\"?" },
        { "{\"plan\": [[[\"A\"],[1],[1]],[[\"B\"],[2],[1]]], \"devices\": {\"A\": {\"device\": \"simulated:line/ONE\"}, "
          "\"B\": "
          "{\"device\": \"simulated:line/ONE\"}}}",
          "plan.json: block 2: A and B are both simulated:line/ONE; a device belongs to one block: name it once" },
        { "{\"plan\": [[[\"A\"],[1],[1]]], \"sizes\": [[5,5],[-1,5]]}",
          "plan.json: what it was made for: size 2 of it; [nodes, edges] is expected, as [1000, 5000]" },
        { "{\"plan\": [[[\"A\"],[1],[1]]], \"sizes\": [[1e15,5]]}",
          "plan.json: what it was made for: size 1 of it; [nodes, edges] is expected, as [1000, 5000]" },
        { "{\"plan\": [[[\"A\"],[1],[1]]], \"device\": {}}",
          "plan.json: key \"device\" is none of a plan's; did you mean \"devices\"?" },
        { "{\"plan\": [[[\"A\"],[1],[1]]], \"devices\": {\"A\": {\"devise\": \"openvino:CPU\"}}}",
          "plan.json: devices.A.devise: unknown key; did you mean \"device\"?" },
        { "{\"plan\": [], \"devices\": []}",
          "plan.json: \"devices\" is no object; {\"CPU\": {\"device\": \"openvino:CPU\"}} is expected" },
        { "{\"plan\": [[[\"A\"],[1],[1]]], \"devices\": {\"A\": {\"form\": \"fluid\"}}}",
          "plan.json: devices.A: form \"fluid\"; \"dynamic\" or \"static\" is expected" },
        { "{\"plan\": [[[\"A\"],[1],[1]]], \"devices\": {\"A\": {\"sizes\": [[0,1]]}}}",
          "plan.json: devices.A: size 1 of it; [nodes, edges] is expected, as [1000, 5000]" },
        { "{\"plan\": [[[\"A\"],[1],[1]]], \"devices\": {\"A\": {\"sizes\": 7}}}",
          "plan.json: devices.A: \"sizes\" is no list of at most 100000; [[1000, 5000]] is expected" },
        { "{\"plan\": [[[\"A\"],[1],[1]]], \"devices\": {\"A\": {\"form\": \"static\"}}}",
          "plan.json: block 1: device 'A' is static and has no \"sizes\"; a list of [nodes, edges] is expected" },
        { "{\"plan\": [[[\"A\"],[1],[1]]], \"model\": \"graphsag\"}",
          "plan.json: model: zoo: there is no model in stages 'graphsag'; did you mean \"graphsage\"?" },
        { "{\"plan\": [[[\"A\"],[1,2,3],[1]]], \"model\": \"graphsage\"}",
          "plan.json: block 1: the last one ends with stage 3; graphsage has 7 stages, and each of them belongs to a "
          "block" },
        { "{\"plan\": [[[\"A\"],[1,2,3,4,5,6,7,8],[1]]], \"model\": \"graphsage\"}",
          "plan.json: block 1: stage 8; graphsage has stages 1 to 7" },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
        assert_refused(cases[i].text, cases[i].message);
    g_autoptr(GError) error = NULL;
    g_assert_null(parse("{\"plan\": [[[\"A\"],[1],[1]]], \"devices\": {\"A\": {\"device\": \"openvino\"}}}", &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_true(g_str_has_prefix(error->message, "plan.json: devices.A: "));
    g_clear_error(&error);
    g_assert_null(parse("{\"plan\": [[[\"A\"],[1],[1]]], \"devices\": {\"A\": {\"divice\": \"openvino:CPU\"}}}", &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_nonnull(strstr(error->message, "divice"));
}

/* A model made up here: its second stage needs all of what the first makes, its third cannot be parted. */
static const IfmBoundary odd_boundaries[] = {
    { "x", IFM_DTYPE_F32, 2, { "nodes", "features" }, 0 },
    { "p", IFM_DTYPE_F32, 2, { "nodes", "hidden" }, 0 },
    { "q", IFM_DTYPE_F32, 2, { "nodes", "hidden" }, 0 },
    { "r", IFM_DTYPE_F32, 1, { "hidden" }, -1 },
};
static const IfmStage odd_stages[] = {
    { 1, "ONE", "", { "x" }, { "p" }, NULL, NULL },
    { 2, "TWO", "", { "p" }, { "q" }, "p", NULL },
    { 3, "THREE", "", { "q" }, { "r" }, NULL, NULL },
};
static const IfmStagedModel odd = { "odd", odd_stages, 3, odd_boundaries, 4 };

static void assert_checked(const char *text, const char *message)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmPlan) plan = parse(text, &error);
    g_assert_no_error(error);
    g_assert_cmpint(ifm_plan_check(plan, &odd, "odd.json", &error), ==, message == NULL);
    g_assert_cmpstr(error != NULL ? error->message : NULL, ==, message);
}

static void test_check(void)
{
    assert_checked("[[[\"A\"],[1,2,3],[1]]]", NULL);
    assert_checked("[[[\"A\",\"B\"],[1],[0.5,0.5]],[[\"C\",\"D\"],[2],[0.5,0.5]],[[\"E\"],[3],[1]]]", NULL);
    assert_checked(
        "[[[\"A\",\"B\"],[1,2],[0.5,0.5]],[[\"E\"],[3],[1]]]",
        "odd.json: block 1: stage 2 (TWO) needs all of 'p', which stage 1 makes: of several devices each has a part "
        "alone; a block that begins with stage 2 is expected");
    assert_checked("[[[\"A\"],[1,2],[1]],[[\"C\",\"D\"],[3],[0.5,0.5]]]",
                   "odd.json: block 2: stage 3 (THREE) cannot be split: 'r' has no axis for it; one device is expected");
    g_autoptr(IfmPlan) plan = ifm_plan_new("graphsage");
    g_autoptr(GError) error = NULL;
    g_assert_false(ifm_plan_check(plan, &odd, "odd.json", &error));
    g_assert_cmpstr(error->message, ==, "odd.json: model 'graphsage'; a plan of 'odd' is expected");
    g_clear_error(&error);
    plan->model = (g_free(plan->model), NULL);
    ifm_plan_add_block(plan, &(IfmPlanBlock){ 1, 3, 1, { 4 }, { 1 } });
    g_assert_false(ifm_plan_check(plan, &odd, "odd.json", &error));
    g_assert_cmpstr(error->message, ==, "odd.json: block 1: device 4 is none of the plan's 0");
}

/* --- random plans ------------------------------------------------------------------------------------------------------
 */

static IfmPlan *random_plan(GRand *random)
{
    IfmPlan *plan = ifm_plan_new("graphsage");
    int n_devices = 1 + g_rand_int_range(random, 0, IFM_PLAN_MAX_DEVICES), next = 1, device = 0;
    for (int i = 0; i < n_devices; i++)
    {
        g_autofree char *alias = g_strdup_printf("D%d", i), *device = g_strdup_printf("openvino:CPU@%d", i);
        int index = ifm_plan_add_device(plan, alias, i % 3 > 0 ? device : NULL, i % 2);
        IfmPlanDevice *added = plan->devices->pdata[index];
        added->n_sizes = i % 2;
        added->sizes = g_new0(IfmPlanSize, added->n_sizes);
        for (gsize k = 0; k < added->n_sizes; k++)
            added->sizes[k] = (IfmPlanSize){ g_rand_int_range(random, 1, 1000000), g_rand_int_range(random, 0, 1000000) };
    }
    while (next <= 7)
    {
        int left = n_devices - device;
        IfmPlanBlock block = { .first = next, .last = left > 1 ? g_rand_int_range(random, next, 8) : 7 };
        int max = block.last == 7 ? left : left - 1;
        block.n_devices = (gsize)g_rand_int_range(random, 1, max + 1);
        double sum = 0;
        for (gsize k = 0; k < block.n_devices; k++)
        {
            block.devices[k] = device++;
            sum += block.ratios[k] = g_rand_double_range(random, 0.01, 1);
        }
        for (gsize k = 0; k < block.n_devices; k++)
            block.ratios[k] /= sum;
        ifm_plan_add_block(plan, &block);
        next = block.last + 1;
    }
    return plan;
}

static void test_round_trip(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(5);
    for (int i = 0; i < 2000; i++)
    {
        g_autoptr(GError) error = NULL;
        g_autoptr(IfmPlan) plan = random_plan(random);
        json_t *json = ifm_plan_to_json(plan);
        g_autoptr(IfmPlan) again = ifm_plan_from_json(json, "random", &error);
        g_assert_no_error(error);
        json_t *second = ifm_plan_to_json(again);
        g_assert_true(json_equal(json, second));
        g_assert_true(ifm_plan_same_shape(plan, again));
        for (guint b = 0; b < plan->blocks->len; b++)
            g_assert_cmpmem(&g_array_index(plan->blocks, IfmPlanBlock, b), sizeof(IfmPlanBlock),
                            &g_array_index(again->blocks, IfmPlanBlock, b), sizeof(IfmPlanBlock));
        json_decref(json);
        json_decref(second);
    }
}

/* Any change of the text is either a plan again, that writes what it reads, or refused in one line that names the file. */
static void test_mutations(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(9);
    static const char alphabet[] = "[]{}\",:0123456789.-eCPUGN \\u0000truefalsnl";
    guint n_read = 0;
    for (int i = 0; i < 20000; i++)
    {
        g_autoptr(GError) error = NULL;
        g_autoptr(IfmPlan) plan = random_plan(random);
        json_t *json = ifm_plan_to_json(plan);
        g_autofree char *text = ifm_json_canonical(json);
        gsize n = strlen(text);
        json_decref(json);
        for (int k = g_rand_int_range(random, 1, 4); k > 0; k--)
            text[g_rand_int_range(random, 0, (gint32)n)] = alphabet[g_rand_int_range(random, 0, sizeof alphabet - 1)];
        json = ifm_json_parse(text, n, "mutated", NULL);
        if (json == NULL)
            continue;
        g_autoptr(IfmPlan) again = ifm_plan_from_json(json, "mutated", &error);
        json_decref(json);
        if (again == NULL)
        {
            g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
            g_assert_true(g_str_has_prefix(error->message, "mutated"));
            g_assert_null(strchr(error->message, '\n'));
            continue;
        }
        n_read++;
        json = ifm_plan_to_json(again);
        g_autoptr(IfmPlan) third = ifm_plan_from_json(json, "again", &error);
        g_assert_no_error(error);
        g_assert_true(ifm_plan_same_shape(again, third));
        json_decref(json);
    }
    g_assert_cmpuint(n_read, >, 100);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/plan-json/bare", test_bare);
    g_test_add_func("/plan-json/object", test_object);
    g_test_add_func("/plan-json/other-keys", test_other_keys);
    g_test_add_func("/plan-json/scaled", test_scaled);
    g_test_add_func("/plan-json/refused", test_refused);
    g_test_add_func("/plan-json/check", test_check);
    g_test_add_func("/plan-json/round-trip", test_round_trip);
    g_test_add_func("/plan-json/mutations", test_mutations);
    return g_test_run();
}
