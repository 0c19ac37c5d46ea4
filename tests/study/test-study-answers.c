#include <math.h>

#include <study/study-pages.h>

#include "document/summary-line.h"
#include "study/study-answers.h"

/* Each way a rule of a title or an answer can fall. */

static void check(char *text /* (transfer full) */, const char *expected)
{
    g_auto(GStrv) parts = g_strsplit(text != NULL ? text : "", "\u00a0", -1);
    g_autofree char *own = text, *plain = g_strjoinv(" ", parts);
    g_assert_cmpstr(own != NULL ? plain : NULL, ==, expected);
}

static const char *const aliases[] = { "CPU", "GPU", "NPU" };

static char *answer_of(gsize cpu, gsize gpu, gsize npu, gsize n_all, gsize n_open, gsize n_implausible)
{
    gsize counts[] = { cpu, gpu, npu };
    return ifm_wins_answer(&(IfmWins){ aliases, counts, 3, n_all, n_open, n_implausible, FALSE, FALSE });
}

static void test_wins(void)
{
    check(answer_of(0, 0, 0, 0, 0, 0), NULL);
    check(answer_of(0, 0, 0, 7, 7, 0), "None is told apart: at all 7 stages and sizes intervals overlap.");
    check(ifm_wins_answer(&(IfmWins){ aliases, (gsize[]){ 0, 0, 0 }, 3, 7, 7, 0, FALSE, TRUE }),
          "Which device is faster is not known at any of 7 stages and sizes: no latency has an interval, of too few runs.");
    check(answer_of(0, 7, 0, 7, 0, 0), "GPU: it takes the least time of all 7 stages and sizes.");
    check(
        answer_of(4, 2, 0, 7, 1, 1),
        "CPU takes the least time most often, in 4 of 7 stages and sizes; GPU in 2 and NPU in 0. In 1 of them intervals "
        "overlap, and any of several may be the fastest. 1 implausible, contradicted by another size, counts for nobody.");
    check(answer_of(3, 3, 1, 7, 0, 2),
          "CPU and GPU take the least time equally often, in 3 of 7 stages and sizes each; NPU in 1. 2 implausible, "
          "contradicted by another size, count for nobody.");
    gsize counts[] = { 4, 3, 0 };
    const gboolean absent[] = { FALSE, FALSE, TRUE };
    check(ifm_wins_answer(&(IfmWins){ aliases, counts, 3, 7, 0, 0, FALSE, FALSE, absent }),
          "CPU takes the least time most often, in 4 of 7 stages and sizes; GPU in 3.");
}

static void test_wins_title(void)
{
    static const char *const stages[] = { "1 GATHER", "2 SUM" };
    gsize counts[] = { 3, 1, 0 };
    const IfmWins wins = { aliases, counts, 3, 6, 2, 0, FALSE, FALSE };
    const char *none[] = { NULL, NULL }, *one[] = { aliases[0], NULL }, *both[] = { aliases[1], aliases[0] },
               *all[] = { aliases[0], aliases[0] };
    check(ifm_wins_title(stages, none, 2, &wins),
          "No stage has one fastest device at every size; 2 of 6 cells are not told apart");
    check(ifm_wins_title(stages, one, 2, &wins), "The fastest at every size: CPU of 1 GATHER");
    check(ifm_wins_title(stages, both, 2, &wins), "The fastest at every size: CPU of 2 SUM, GPU of 1 GATHER");
    check(ifm_wins_title(stages, all, 2, &wins), "CPU is the fastest at every stage and size");
}

static void test_growth(void)
{
    const IfmGrowth sure[] = { { "A on CPU", 2, TRUE }, { "B on CPU", 8, TRUE }, { "C on CPU", 0.5, TRUE } },
                    open[] = { { "A on CPU", 2, FALSE }, { "C on CPU", 0.5, TRUE } };
    check(ifm_growth_title(NULL, 0, 1), "Latency of each stage over the data it reads");
    check(ifm_growth_title(open, 2, 10), "No latency surely grows from the least data to the most, 10.0 times as much");
    check(ifm_growth_title(sure, 1, 10), "A on CPU takes 2.00 times as long for 10.0 times the data");
    check(ifm_growth_title(sure, 3, 10),
          "2 of 3 latencies surely grow with the data: from 2.00 times as long, A on CPU, to 8.00 "
          "times, B on CPU; not C on CPU");
    check(ifm_growth_title(sure, 2, 10),
          "2 of 2 latencies surely grow with the data: from 2.00 times as long, A on CPU, to 8.00 times, B on CPU");
    check(ifm_growth_title(sure + 1, 2, 10), "1 of 2 latencies surely grows with the data, to 8.00 times: B on CPU");
}

static void test_top_stages(void)
{
    const IfmTopStage same[] = { { "CPU", "6 X", 0.4, TRUE }, { "GPU", "6 X", 0.6, TRUE } },
                      open[] = { { "CPU", "6 X", 0.4, TRUE }, { "GPU", "6 X", 0.6, FALSE } },
                      other[] = { { "CPU", "6 X", 0.4, TRUE }, { "GPU", "2 Y", 0.6, TRUE } };
    check(ifm_top_stages_title(NULL, 0), "No device has a latency of every stage: shares of the whole are not known");
    check(ifm_top_stages_title(same, 1), "The largest part of the time goes into 6 X on CPU (40 %)");
    check(ifm_top_stages_title(same + 1, 1), "Most of the time goes into 6 X on GPU (60 %)");
    check(ifm_top_stages_title(same, 2), "6 X takes the largest part of the time on every device: 40 % to 60 %");
    const IfmTopStage most[] = { same[1], same[1] };
    check(ifm_top_stages_title(most, 2), "6 X takes most of the time on every device: 60 % to 60 %");
    check(ifm_top_stages_title(open, 2),
          "The largest part of the time goes into 6 X on CPU (40 %) and 6 X, or one not told apart from it, on GPU (60 %)");
    check(ifm_top_stages_title(other, 2), "The largest part of the time goes into 6 X on CPU (40 %) and 2 Y on GPU (60 %)");
}

static void test_widths(void)
{
    static const char *const lacking[] = { "3 SUM on NPU" };
    check(ifm_widths_title(0, 0, 0, 0.01), "No latency has an interval");
    check(ifm_widths_title(5, 0, 5, 0.01), "No latency has an interval");
    check(ifm_widths_title(5, 0, 1, NAN), "How well the latencies are known");
    check(ifm_widths_title(5, 0, 0, 0.01), "All latencies are known to the ±1 % asked for");
    check(ifm_widths_title(5, 2, 0, 0.01), "2 of 5 latencies are known less well than the ±1 % asked for");
    check(ifm_widths_title(5, 2, 1, 0.01),
          "2 of 5 latencies are known less well than the ±1 % asked for; 1 of 5 have no interval");
    check(ifm_widths_title(5, 0, 1, 0.01),
          "All latencies with an interval are known to the ±1 % asked for; 1 of 5 have no interval");
    check(ifm_widths_answer(0, 0, NAN), "Nothing is known: there is no latency.");
    check(ifm_widths_answer(5, 5, NAN), "How well the latencies are known is not known: none has an interval.");
    check(ifm_widths_answer(5, 1, 0.09), "The median latency is known to ±9 %; 1 of 5 have no interval.");
    check(ifm_widths_answer(5, 0, 0.09), "The median latency is known to ±9 %, by the runs of one process.");
    check(ifm_coverage_title(NULL, 0, 6, 6), "All 6 stages and sizes have a latency on every device");
    check(ifm_coverage_title(lacking, 1, 5, 6), "5 of 6 have a latency; sizes lack in 3 SUM on NPU");
}

static void test_changes(void)
{
    check(ifm_changes_title(1, 0, 0, NULL, NAN), "No interval of 1 case is apart from that in A");
    check(ifm_changes_title(9, 2, 1, "vgg CPU", 1.5),
          "Of 9 cases 2 took longer than in A beyond both intervals, 1 shorter; most of all vgg CPU, 1.50 times as long");
}

static void test_convolutions(void)
{
    check(ifm_conv_lowest_title("vgg", NULL, 0, 0, 0, 3, "sizes"), "vgg: no algorithm was measured beside another");
    check(ifm_conv_lowest_title("vgg", "fft", 2, 0, 0, 3, "sizes"),
          "vgg: fft has the lowest median of 2 of 3 sizes; nowhere have the two lowest an interval");
    check(ifm_conv_lowest_title("vgg", "fft", 2, 0, 1, 3, "sizes"),
          "vgg: fft has the lowest median of 2 of 3 sizes, at none of them beyond the intervals");
    check(ifm_conv_lowest_title("vgg", "fft", 2, 1, 2, 3, "sizes"),
          "vgg: fft is the lowest of 2 of 3 sizes, at 1 beyond the intervals");
    check(ifm_conv_energy_title("vgg", NULL, 0, 3), "vgg: no algorithm's energy was measured beside another's");
    check(ifm_conv_energy_title("vgg", "fft", 2, 3),
          "vgg: fft takes the least energy at 2 of 3 sizes; energies have no intervals");
    check(ifm_conv_peak_title(NAN, NULL, NULL), "No share of the peak is known: no device's peak was measured");
    check(ifm_conv_peak_title(0.4, "fft", "3x3, CPU"), "At most 40 % of the peak is reached: by fft on 3x3, CPU");
    check(ifm_conv_gain_title(0, NAN, NULL),
          "What choosing gains is not known: no choice was measured beside the runtime's own kernels");
    check(ifm_conv_gain_title(2, NAN, NULL), "Nowhere is a choice told apart from the runtime's own kernels");
    check(ifm_conv_gain_title(2, 1.5, "vgg, 64, CPU"),
          "At most the runtime's own kernels take 1.50 times as long as the choice: vgg, 64, CPU");
    check(ifm_conv_predicted_title("fft", "CPU", 2e6, 0, 0, TRUE),
          "fft is predicted to take 2.00 ms on CPU; no other was measured");
    check(ifm_conv_predicted_title("fft", "CPU", 2e6, 3, 0, FALSE),
          "fft is predicted the lowest on CPU, 2.00 ms; no confidence interval");
    check(ifm_conv_predicted_title("fft", "CPU", 2e6, 3, 1, TRUE),
          "fft is predicted the lowest on CPU, 2.00 ms, and not told apart from 1 other");
    check(ifm_conv_predicted_title("fft", "CPU", 2e6, 3, 0, TRUE),
          "fft is predicted the lowest on CPU, 2.00 ms, below the intervals of all others");
}

/* An error that is as large as the lead may turn the choice; without a next algorithm there is none to turn. */
static void test_error_trust(void)
{
    g_assert_cmpint(ifm_conv_error_trust(0.02, 0.05), ==, IFM_TRUST_GOOD);
    g_assert_cmpint(ifm_conv_error_trust(0.05, 0.05), ==, IFM_TRUST_CARE);
    g_assert_cmpint(ifm_conv_error_trust(0.5, 0.05), ==, IFM_TRUST_CARE);
    g_assert_cmpint(ifm_conv_error_trust(0.5, NAN), ==, IFM_TRUST_GOOD);
}

static IfmConvPrediction predicted(const IfmStudyDevice *device, const char *algorithm, double time_ns, double error)
{
    return (IfmConvPrediction){ .device = (IfmStudyDevice *)device,
                                .algorithm = algorithm,
                                .origin = IFM_GRID_INTERPOLATED,
                                .time_ns = time_ns,
                                .lower_ns = time_ns * (1 - error),
                                .upper_ns = time_ns * (1 + error),
                                .energy_j = NAN,
                                .mean_ratio = error,
                                .p95_ratio = error,
                                .noise_ratio = error / 2,
                                .n_sizes = 5 };
}

static void test_conv_prediction(void)
{
    static const struct
    {
        gsize n;
        double error;
        const char *wanted[4];
    } rows[] = {
        { 2,
          0.02,
          { "good the prediction of CPU has a MAPE of 2 % at sizes that were left out, less than the 10 % to the next",
            "good the medians of CPU are known to ±1 %, less than the 10 % to the next algorithm" } },
        { 2,
          0.15,
          { "care the prediction of CPU has a MAPE of 15 % at sizes that were left out, no less than the 10 % to",
            "good the medians of CPU are known to ±8 %, less than" } },
        { 2, 0.3, { "care the medians of CPU are known to ±15 %, no less than the 10 % to the next algorithm" } },
        { 1,
          0.3,
          { "good the prediction of CPU has a MAPE of 30 % at sizes that were left out; its interval is made of",
            "!the medians" } },
    };
    const IfmStudyDevice device = { .alias = (char *)"CPU", .device = (char *)"openvino:CPU@0" };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        g_autoptr(GArray) predictions = g_array_new(FALSE, FALSE, sizeof(IfmConvPrediction));
        const IfmConvPrediction both[] = { predicted(&device, "fft", 1e6, rows[i].error),
                                           predicted(&device, "direct", 1.1e6, rows[i].error) };
        g_array_append_vals(predictions, both, (guint)rows[i].n);
        g_autofree char *line = summary_line(ifm_conv_prediction_document(predictions, "vgg", 64));
        assert_line(line, rows[i].wanted);
    }
}

/* --- kernels -----------------------------------------------------------------------------------------------------------
 */

static void test_kernels(void)
{
    g_autoptr(GArray) operators = g_array_new(FALSE, FALSE, sizeof(IfmOperatorRow));
    const IfmOperatorRow conv = { .op_type = (char *)"Conv", .median_ns = 2e6 },
                         add = { .op_type = (char *)"Add", .median_ns = 1e6 };
    check(ifm_load_title("gemm", 0.9, 1), "Under no load does the median kernel take longer than unloaded");
    check(ifm_load_title("gemm", 0.9, 2.5),
          "The median kernel takes at most 2.50 times as long: beside gemm at 90 % of the core");
    check(ifm_operators_title(operators), "No kernel was measured");
    g_array_append_val(operators, conv);
    check(ifm_operators_title(operators), "The median kernel of Conv takes 2.00 ms");
    g_array_append_val(operators, add);
    check(ifm_operators_title(operators), "Of 2 kinds of kernels Conv has the largest median: 2.00 ms");
}

static char *rounds_text(double change, double lower, double upper)
{
    return ifm_rounds_text(&(IfmRoundRow){ .change = change, .change_interval = { lower, upper } });
}

/* An interval that touches 0 shows nothing, whichever side most of it is on. */
static void test_rounds(void)
{
    static const char open[] = "Whether kernels chosen after the first round helped is not shown: the interval holds 0.";
    check(rounds_text(-0.1, NAN, NAN), NULL);
    check(rounds_text(-0.1, -0.2, NAN), NULL);
    check(rounds_text(-0.1, -0.2, 0), open);
    check(rounds_text(0.1, 0, 0.2), open);
    check(rounds_text(-0.1, -0.3, 0.1), open);
    check(rounds_text(-0.12, -0.2, -0.04),
          "Kernels chosen after the first round lowered the error by 12 % of the measured time.");
    check(rounds_text(0.12, 0.04, 0.2),
          "Kernels chosen after the first round raised the error by 12 % of the measured time.");
}

/* The verdict of a study of kernels: what its data come to decides it. */
static void test_kernels_verdict(void)
{
    static char learnt; /* a model: that there is one */
    static const struct
    {
        gboolean is_learnt;
        double mape, mape_loaded, slow_downs[2];
        gsize n_loads, n;
        const char *wanted, *warning;
    } rows[] = {
        { TRUE, 0.1, NAN, { 2 }, 1, 8, "Models that were held out are predicted with a MAPE of 10 % |  |" },
        { TRUE, 0.1, 0.2, { 2 }, 1, 8, "Models that were held out are predicted with a MAPE of 10 % | 20 % under load |" },
        { TRUE, 0.1, NAN, { 2 }, 1, 8, "care 3 rows were disturbed", "3 rows were disturbed" },
        { FALSE, NAN, NAN, { 1.5, 2 }, 2, 8, "Under load the median kernel takes at most 2.00 times as long |" },
        { FALSE, NAN, NAN, { 1, 0.9 }, 2, 8, "Under no load does the median kernel take longer than unloaded |" },
        { FALSE, NAN, NAN, { 0 }, 0, 8, "8 kernels were measured; nothing is learnt of them |" },
        { FALSE, NAN, NAN, { 0 }, 0, 1, "1 kernel was measured; nothing is learnt of them |" },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        IfmDocument *document = ifm_document_new("study", NULL);
        const IfmKernelsOutcome outcome = { .model = rows[i].is_learnt ? (IfmLatencyModel *)(void *)&learnt : NULL,
                                            .mape = rows[i].mape,
                                            .mape_loaded = rows[i].mape_loaded,
                                            .warning = (char *)rows[i].warning };
        g_autoptr(GArray) loads = g_array_new(FALSE, TRUE, sizeof(IfmLoadRow));
        for (gsize k = 0; k < rows[i].n_loads; k++)
        {
            const IfmLoadRow load = { .slow_down = rows[i].slow_downs[k] };
            g_array_append_val(loads, load);
        }
        ifm_kernels_say(document, &outcome, loads, rows[i].n);
        g_autofree char *line = summary_line(document);
        assert_line(line, (const char *const[]){ rows[i].wanted, NULL });
    }
}

/* --- points, contention, bandwidths -------------------------------------------------------------------------------------
 */

static void test_others(void)
{
    check(ifm_points_title(0, NAN, NULL, NAN, NULL), "No latency was measured");
    check(ifm_points_title(1, 1e6, "CPU n=1", 1e6, "CPU n=1"), "CPU n=1 takes 1.00 ms");
    check(ifm_points_title(3, 1e6, "CPU n=1", 5e6, "GPU n=9"), "Medians from 1.00 ms (CPU n=1) to 5.00 ms (GPU n=9)");
    check(ifm_losses_title(4, 0, 0), "Whether others slow 4 ranges down is not known: no latency has an interval");
    check(ifm_losses_title(4, 3, 0), "None of 4 ranges surely takes longer while others work");
    check(ifm_losses_title(4, 3, 2), "2 of 4 ranges surely take longer while others work");
    check(ifm_slow_down_title(0, NAN, NULL), "No slow-down has an interval");
    check(ifm_slow_down_title(3, NAN, NULL), "No slow-down's interval is above 1");
    check(ifm_slow_down_title(3, 2.5, "stages 3-5 on GPU beside CPU"),
          "The largest slow-down with an interval above 1 is 2.50: stages 3-5 on GPU beside CPU");
    check(ifm_bandwidths_title(0, NULL, NAN, TRUE), "No stage has a bandwidth: no latency grows with the data");
    check(ifm_bandwidths_title(1, "3 SUM on CPU", 2097152e3, TRUE), "Only 3 SUM on CPU has a bandwidth: 2000 MB/s");
    check(ifm_bandwidths_title(3, "3 SUM on CPU", 2097152e3, TRUE),
          "3 SUM on CPU has the lowest bandwidth of 3, 2000 MB/s, below the intervals of all others");
    check(ifm_bandwidths_title(3, "3 SUM on CPU", 2097152e3, FALSE),
          "3 SUM on CPU has the lowest bandwidth of 3, 2000 MB/s; intervals of others reach it");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/study-answers/wins", test_wins);
    g_test_add_func("/study-answers/wins-title", test_wins_title);
    g_test_add_func("/study-answers/growth", test_growth);
    g_test_add_func("/study-answers/top-stages", test_top_stages);
    g_test_add_func("/study-answers/widths", test_widths);
    g_test_add_func("/study-answers/changes", test_changes);
    g_test_add_func("/study-answers/convolutions", test_convolutions);
    g_test_add_func("/study-answers/error-trust", test_error_trust);
    g_test_add_func("/study-answers/conv-prediction", test_conv_prediction);
    g_test_add_func("/study-answers/kernels", test_kernels);
    g_test_add_func("/study-answers/kernels-verdict", test_kernels_verdict);
    g_test_add_func("/study-answers/rounds", test_rounds);
    g_test_add_func("/study-answers/others", test_others);
    return g_test_run();
}
