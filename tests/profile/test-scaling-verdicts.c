#include <math.h>
#include <string.h>

#include <document/document.h>
#include <profile/scaling-private.h>

#include "document/summary-line.h"

/* Each way that the rules of verdicts can fall: of scalings. */

typedef struct
{
    gboolean has_device, has_time, has_flop;
    double exponent, lower, upper;
    const char *wanted[3];
} GrowthRow;

static char *scaling_line(const GrowthRow *row, const IfmScalingPoint *points, IfmDeparture departs)
{
    static const char *const values[] = { "8", "16", NULL };
    const char *const refusals[2] = { NULL, NULL };
    const IfmProfileReport reports[2] = { { .source = "zoo:matmul" }, { .source = "zoo:matmul" } };
    const IfmScalingRow of = { .axis = "m", .values = values, .refusals = refusals, .reports = reports, .n = 2 };
    const IfmResult device = { .device = "simulated:a/B" };
    IfmScalingLine lines[2] = { { .point = points[0], .departure = 3, .departs = departs }, { .point = points[1] } };
    IfmScaling scaling = { .has_time = row->has_time,
                           .has_flop = row->has_flop,
                           .time = { .exponent = row->exponent, .interval = { row->lower, row->upper, 0.95 } },
                           .flop = { .exponent = 1, .interval = { 1, 1, 0.95 } },
                           .why = row->has_time ? NULL : (char *)"2 points have a time: 3 are needed" };
    const IfmScalingPart part = { .row = &of,
                                  .device = row->has_device ? &device : NULL,
                                  .kind = -1,
                                  .points = (IfmScalingPoint *)points,
                                  .lines = lines,
                                  .scaling = &scaling };
    g_autoptr(GPtrArray) parts = g_ptr_array_new();
    IfmDocument *document = ifm_document_new("scaling", "m");
    g_ptr_array_add(parts, (gpointer)&part);
    ifm_scaling_add_headline(document, parts);
    return summary_line(document);
}

static void test_scaling(void)
{
    static const GrowthRow rows[] = {
        { TRUE,
          TRUE,
          TRUE,
          0.5,
          0.4,
          0.6,
          { "grows as m^0.500 on simulated:a/B, more slowly than the FLOP | ", "0.400 to 0.600" } },
        { TRUE,
          TRUE,
          TRUE,
          1.5,
          1.4,
          1.6,
          { "grows as m^1.50 on simulated:a/B, faster than the FLOP | ", "the FLOP grow as m^1.00" } },
        { TRUE, TRUE, TRUE, 1.1, 0.9, 1.3, { ", not told apart from the FLOP | " } },
        { TRUE,
          TRUE,
          TRUE,
          -0.36,
          -32.8,
          32,
          { "How the time of an inference grows with m on simulated:a/B is not known | " } },
        { TRUE, TRUE, TRUE, 1.1, NAN, NAN, { ", not told apart from the FLOP | " } },
        { TRUE, TRUE, FALSE, 1.5, 1.4, 1.6, { "grows as m^1.50 on simulated:a/B | ", "!FLOP" } },
        { TRUE,
          FALSE,
          TRUE,
          NAN,
          NAN,
          NAN,
          { "takes 1.00 ms at m 8 and 2.00 ms at 16", "No exponent: 2 points have a time" } },
    };
    IfmScalingPoint points[2] = { { .value = "8", .time_ns = 1e6 }, { .value = "16", .time_ns = 2e6 } };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        g_autofree char *line = scaling_line(&rows[i], points, IFM_DEPARTS_NOT);
        assert_line(line, rows[i].wanted);
        assert_line(line, (const char *const[]){ "!See what takes", NULL });
    }
    g_autofree char *departs = scaling_line(&rows[0], points, IFM_DEPARTS);
    assert_line(departs,
                (const char *const[]){ "See what takes 3.00 times as long as the FLOP alone at m 8 (at most 667 µs there): "
                                       "inferometer profile zoo:matmul -d simulated:a/B --dim m=8;",
                                       NULL });
    points[1].disturbed = TRUE;
    g_autofree char *disturbed = scaling_line(&rows[0], points, IFM_DEPARTS_NOT);
    assert_line(disturbed, (const char *const[]){ "care 1 of 2 points on simulated:a/B were disturbed", NULL });
    points[0].time_ns = points[1].time_ns = NAN;
    points[0].reason = points[1].reason = "lost";
    const GrowthRow failed = { TRUE, FALSE, TRUE }, unrun = { FALSE, FALSE, TRUE }, unknown = { FALSE, FALSE, FALSE };
    g_autofree char *lost = scaling_line(&failed, points, IFM_DEPARTS_NOT),
                    *flop = scaling_line(&unrun, points, IFM_DEPARTS_NOT),
                    *nothing = scaling_line(&unknown, points, IFM_DEPARTS_NOT);
    assert_line(lost, (const char *const[]){ "No point of m gave a latency on simulated:a/B; this is not to be trusted",
                                             "bad 2 of 2 points", NULL });
    assert_line(flop, (const char *const[]){ "The FLOP grow as m^1.00; nothing was measured", NULL });
    assert_line(nothing, (const char *const[]){ "How it grows with m is not known; nothing was measured", NULL });
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/scaling-verdicts/scaling", test_scaling);
    return g_test_run();
}
