#include <glib/gstdio.h>
#include <string.h>

#include "folder.h"
#include "law.h"

static IfmKernelSamples *parse(const char *text, GError **error)
{
    g_autoptr(IfmCsv) csv = ifm_csv_parse(text, strlen(text), "t.csv", error);
    g_assert_nonnull(csv);
    return learn_samples_from_csv(csv, NULL, error);
}

static void test_read(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmKernelSamples) samples =
        parse("Latency_ms,Other,OpType,Kernel_ID,Input_Shape,metric:before:busy,metric:during:busy,"
              "Load_Kind,Load_Level,Load_Cores,FLOP,Models\n"
              "0.5,x,Conv_Relu,a,1x64x56x56,0.25,1,,,,100,resnet18;resnet50\n"
              "1.25,,Relu,b,4,,0.5,copy,0.6,same,,\n",
              &error);
    g_assert_no_error(error);
    g_assert_cmpuint(ifm_kernel_samples_n(samples), ==, 2);
    g_assert_cmpstr(ifm_kernel_samples_metrics(samples)[1], ==, "metric:during:busy");
    const IfmKernelSample *a = ifm_kernel_samples_at(samples, 0), *b = ifm_kernel_samples_at(samples, 1);
    g_assert_cmpfloat(a->latency_ms, ==, 0.5);
    g_assert_cmpstr(a->op_type, ==, "Conv_Relu");
    g_assert_cmpstr(a->models, ==, "resnet18;resnet50");
    g_assert_cmpfloat(a->metrics[0], ==, 0.25);
    g_assert_cmpfloat(a->flop, ==, 100);
    g_assert_cmpint(a->load_kind, ==, IFM_LOAD_NONE);
    g_assert_true(isnan(a->load_level) && isnan(a->median_ms) && isnan(a->features.height));
    g_assert_null(a->configuration);
    g_assert_cmpint(b->load_kind, ==, IFM_LOAD_COPY);
    g_assert_cmpint(b->load_cores, ==, IFM_LOAD_CORES_SAME);
    g_assert_cmpfloat(b->load_level, ==, 0.6);
    g_assert_true(isnan(b->metrics[0]) && isnan(b->flop));
    g_assert_null(b->models);
}

#define HEAD "Kernel_ID,OpType,Input_Shape,Latency_ms,Load_Kind,Load_Level,Load_Cores\n"

static void test_refused(void)
{
    static const struct
    {
        const char *text, *message;
    } rows[] = {
        { HEAD "a,Relu,4,1,none,,\na,Relu,4,,none,,\n",
          "t.csv:3: Latency_ms is empty, expected mean of the repetition's runs" },
        { HEAD "a,Relu,4,0,none,,\n", "t.csv:2: Latency_ms: found 0, expected a number above 0" },
        { HEAD "a,Relu,4,-1.5,none,,\n", "t.csv:2: Latency_ms: found -1.5, expected a number above 0" },
        { HEAD "a,Relu,4,fast,none,,\n", "t.csv:2: Latency_ms: \"fast\" is not a number" },
        { HEAD "a,Relu,4,nan,none,,\n", "t.csv:2: Latency_ms: \"nan\" is not a number" },
        { HEAD "a,,4,1,none,,\n", "t.csv:2: OpType is empty, expected what executes: Conv_Add_Relu" },
        { HEAD "a,Relu,4,1,cpu,0.5,same\n", "t.csv:2: Load_Kind: found \"cpu\", expected none, gemm, copy or random" },
        { HEAD "a,Relu,4,1,gemm,2,same\n", "t.csv:2: Load_Level: found 2, expected a share from 0 to 1" },
        { HEAD "a,Relu,4,1,gemm,,same\n", "t.csv:2: Load_Level is empty, but Load_Kind is gemm" },
        { HEAD "a,Relu,4,1,gemm,0.5,\n", "t.csv:2: Load_Cores is empty, but Load_Kind is gemm, expected same or other" },
        { HEAD "a,Relu,4,1,none,0.5,\n", "t.csv:2: Load_Level is 0.5, but Load_Kind is none" },
        { HEAD "a,Relu,4,1e-300,none,,\n", "t.csv:2: Latency_ms: found 1e-300, expected 1e-07 to 1e+09" },
        { HEAD "a,Relu,4,1e300,none,,\n", "t.csv:2: Latency_ms: found 1e+300, expected 1e-07 to 1e+09" },
        { "Kernel_ID,OpType,Input_Shape,Latency_ms,Idle_ms\na,Relu,4,1,2\na,Relu,4,1,1e-300\n",
          "t.csv:3: Idle_ms: found 1e-300, expected 1e-07 to 1e+09" },
        { "Kernel_ID,OpType,Input_Shape,Latency_ms,FLOP\na,Relu,4,1,1e200\n",
          "t.csv:2: FLOP: found 1e+200, expected 0 to 1e+18" },
        { "Kernel_ID,OpType,Input_Shape,Latency_ms,metric:before:x\na,Relu,4,1,-1e200\n",
          "t.csv:2: metric:before:x: found -1e+200, expected -1e+30 to 1e+30" },
        { HEAD, "t.csv: 0 rows, expected 1 to 1000000" },
        { "Kernel_ID,OpType,Input_Shape,Latency_us\na,Relu,4,1\n",
          "t.csv:1: no column \"Latency_ms\"; did you mean \"Latency_us\"?" },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        g_autoptr(GError) error = NULL;
        g_assert_null(parse(rows[i].text, &error));
        g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
        g_assert_cmpstr(error->message, ==, rows[i].message);
    }
    g_autoptr(GError) error = NULL;
    g_assert_null(ifm_kernel_samples_read("/no/such/file.csv", &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE);
}

static void test_twice_named(void)
{
    g_autoptr(GError) error = NULL;
    const char *text = "Kernel_ID,OpType,Input_Shape,Latency_ms,Latency_ms\na,Relu,4,1,1\n";
    g_assert_null(ifm_csv_parse(text, strlen(text), "t.csv", &error));
    g_assert_cmpstr(error->message, ==, "t.csv:1: column \"Latency_ms\" is named twice");
}

/* Every column is written and read again as it was, whatever is in it. */
static void test_round_trip(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *folder = g_dir_make_tmp("ifm-samples-XXXXXX", &error);
    g_autofree char *path = g_build_filename(folder, "s.csv", NULL);
    const Law law = { .n_kernels = 12, .n_visits = 2, .spread = 0.1, .loads = TRUE, .seed = 3 };
    g_autoptr(IfmKernelSamples) samples = law_samples(&law);
    IfmKernelSample odd = *ifm_kernel_samples_at(samples, 0);
    odd.kernel_id = "a \"quoted\", id\nof two lines";
    odd.std_ms = 1.0 / 3;
    odd.metrics = NULL;
    ifm_kernel_samples_add(samples, &odd);
    g_autofree char *csv = ifm_kernel_samples_to_csv(samples);
    g_assert_true(g_file_set_contents(path, csv, -1, &error));
    g_autoptr(IfmKernelSamples) again = ifm_kernel_samples_read(path, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(ifm_kernel_samples_n(again), ==, ifm_kernel_samples_n(samples));
    const IfmKernelSample *last = ifm_kernel_samples_at(again, ifm_kernel_samples_n(again) - 1);
    g_assert_cmpstr(last->kernel_id, ==, odd.kernel_id);
    g_assert_cmpfloat(last->std_ms, ==, 1.0 / 3);
    g_assert_true(isnan(last->metrics[0]));
    g_autofree char *rewritten = ifm_kernel_samples_to_csv(again);
    g_assert_cmpstr(rewritten, ==, csv);
    remove_tree(folder);
}

static void test_append(void)
{
    g_autoptr(IfmKernelSamples) a = parse("Kernel_ID,OpType,Input_Shape,metric:before:x,metric:before:y,Latency_ms\n"
                                          "a,Relu,4,1,2,3\n",
                                          NULL);
    g_autoptr(IfmKernelSamples) b = parse("Kernel_ID,OpType,Input_Shape,metric:before:z,metric:before:y,Latency_ms\n"
                                          "b,Relu,4,5,6,7\n",
                                          NULL);
    ifm_kernel_samples_append(a, b);
    const char *const *metrics = ifm_kernel_samples_metrics(a);
    const IfmKernelSample *first = ifm_kernel_samples_at(a, 0), *second = ifm_kernel_samples_at(a, 1);
    g_assert_cmpuint(g_strv_length((GStrv)metrics), ==, 3);
    g_assert_cmpstr(metrics[2], ==, "metric:before:z");
    g_assert_cmpfloat(first->metrics[1], ==, 2);
    g_assert_true(isnan(first->metrics[2]) && isnan(second->metrics[0]));
    g_assert_cmpfloat(second->metrics[1], ==, 6);
    g_assert_cmpfloat(second->metrics[2], ==, 5);
    g_assert_cmpstr(second->kernel_id, ==, "b");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/kernel-samples/read", test_read);
    g_test_add_func("/kernel-samples/refused", test_refused);
    g_test_add_func("/kernel-samples/twice-named", test_twice_named);
    g_test_add_func("/kernel-samples/round-trip", test_round_trip);
    g_test_add_func("/kernel-samples/append", test_append);
    return g_test_run();
}
