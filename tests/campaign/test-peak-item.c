#include <measure/kinds.h>
#include <store/store.h>

/* The item itself, with measurements that the test makes instead of those of a runner. */
#define ifm_runner_measure next_measurement
#define ifm_campaign_runner no_runner
#include "campaign/peak-item.c"

static struct
{
    double flop_per_s, others_ratio; /* 0: it failed */
} nexts[2];
static gsize n_measured;

IfmRunner *no_runner(IfmCampaign *campaign)
{
    return NULL;
}

IfmMeasurement *next_measurement(IfmRunner *runner, const IfmCaseKind *kind, const void *spec, const IfmCase *sealed,
                                 GError **error)
{
    g_assert_cmpuint(n_measured, <, G_N_ELEMENTS(nexts));
    const double flop_per_s = nexts[n_measured].flop_per_s, others_ratio = nexts[n_measured++].others_ratio;
    IfmMeasurement *peak = ifm_measurement_new();
    peak->outcome = flop_per_s > 0 ? IFM_OUTCOME_OK : IFM_OUTCOME_FAILED;
    ifm_record_set_json(&peak->result,
                        json_pack("{s:s,s:f,s:[f,f],s:f,s:[f,f]}", "source", "measured", "flop_per_s", flop_per_s,
                                  "flop_interval", flop_per_s, flop_per_s, "bytes_per_s", 1e9, "bytes_interval", 1e9, 1e9));
    ifm_record_set_json(&peak->environment, json_pack("{s:f}", "others_ratio", others_ratio));
    return peak;
}

/* One in doubt is measured again, once; the one that counts is kept, and stands though it is in doubt. */
static void test_doubt(void)
{
    static const struct
    {
        double first, first_others, again, again_others;
        gsize n;
        double kept;
    } rows[] = {
        { 9e9, 0.05, 0, 0, 1, 9e9 }, /* not in doubt */
        { 0, 0.5, 0, 0, 1, 0 },      /* failed */
        { 9e9, 0.5, 8e9, 0.05, 2, 8e9 }, { 9e9, 0.5, 8e9, 0.5, 2, 9e9 },
        { 8e9, 0.5, 9e9, 0.5, 2, 9e9 },  { 9e9, 0.5, 0, 0.05, 2, 9e9 },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        const IfmCampaignItem item = { .own = &ifm_peak_item };
        IfmCase *sealed = NULL;
        IfmMeasurement *kept = NULL;
        nexts[0].flop_per_s = rows[i].first;
        nexts[0].others_ratio = rows[i].first_others;
        nexts[1].flop_per_s = rows[i].again;
        nexts[1].others_ratio = rows[i].again_others;
        n_measured = 0;
        g_assert_true(ifm_peak_item.measure(NULL, &item, &sealed, &kept, NULL));
        g_assert_cmpuint(n_measured, ==, rows[i].n);
        IfmPeakResult result;
        ifm_peak_result(kept, &result);
        g_assert_cmpfloat(result.flop_per_s, ==, rows[i].kept);
        g_assert_cmpint(ifm_peak_item.stands(&item, &sealed, kept), ==, rows[i].kept > 0);
        ifm_measurement_free(kept);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/peak-item/doubt", test_doubt);
    return g_test_run();
}
