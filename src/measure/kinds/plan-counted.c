/* What asking for device time costs: wall times of inferences that were counted, compared with those that were not. */
#include <math.h>

#include <base/fields.h>
#include <base/statistics.h>

#include "../measure-private.h"

#define LEVEL 0.95

/* One device in one block of one plan: double each, ns, in the order they ran. */
typedef struct
{
    gsize group, block, device;
    GArray *counted, *plain;
    guint n_left_out; /* counted, and no time is known: IFM_DEVICE_TIME_COARSE */
} Lane;

static void lane_free(gpointer data)
{
    Lane *lane = data;
    g_array_unref(lane->counted);
    g_array_unref(lane->plain);
    g_free(lane);
}

GPtrArray *ifm_plan_counted_new(void)
{
    return g_ptr_array_new_with_free_func(lane_free);
}

static Lane *lane_of(GPtrArray *lanes, gsize group, gsize block, gsize device)
{
    for (guint i = 0; i < lanes->len; i++)
    {
        Lane *lane = lanes->pdata[i];
        if (lane->group == group && lane->block == block && lane->device == device)
            return lane;
    }
    Lane *lane = g_new0(Lane, 1);
    *lane = (Lane){ group, block, device, g_array_new(FALSE, FALSE, sizeof(double)),
                    g_array_new(FALSE, FALSE, sizeof(double)) };
    g_ptr_array_add(lanes, lane);
    return lane;
}

void ifm_plan_counted_add(GPtrArray *lanes, gsize group, const IfmPipelineResult *result, gsize n_batches)
{
    for (gsize b = 0; result->times != NULL && result->n_replans == 0 && b < result->n_blocks; b++)
        for (gsize d = 0; d < g_array_index(result->plan->blocks, IfmPlanBlock, b).n_devices; d++)
        {
            Lane *lane = lane_of(lanes, group, b, d);
            for (gsize i = 0; i < MIN(n_batches, result->n_batches); i++)
            {
                const IfmBlockTimes *times = result->times + i * result->n_blocks + b;
                double wall_ns = (double)times->device_wall_ns[d];
                lane->n_left_out += result->left_ns[i] >= 0 && times->device_time_ns[d] == IFM_DEVICE_TIME_COARSE;
                if (result->left_ns[i] >= 0 && wall_ns > 0)
                    g_array_append_val(times->device_time_ns[d] != -1 ? lane->counted : lane->plain, wall_ns);
            }
        }
}

/* The mean, and the variance of that mean: of as many samples as those that depend on each other are worth. */
static double mean_of(const GArray *walls, double *variance)
{
    const double *series = (const double *)(const void *)walls->data;
    double mean = 0, squares = 0;
    for (guint i = 0; i < walls->len; i++)
        mean += series[i] / walls->len;
    for (guint i = 0; i < walls->len; i++)
        squares += (series[i] - mean) * (series[i] - mean);
    *variance = squares / (walls->len - 1) / ifm_effective_sample_size(series, walls->len);
    return mean;
}

/* Sums of the lanes' means; a lane with one kind only gives no equation. */
typedef struct
{
    double counted_ns, plain_ns, counted_variance, plain_variance;
    guint n_counted, n_plain, n_left_out, min;
} Sums;

static Sums sum_up(const GPtrArray *lanes)
{
    Sums sums = { .min = G_MAXUINT };
    for (guint i = 0; i < lanes->len; i++)
    {
        const Lane *lane = lanes->pdata[i];
        double variance;
        sums.n_counted += lane->counted->len;
        sums.n_plain += lane->plain->len;
        sums.n_left_out += lane->n_left_out;
        if (lane->counted->len < 2 || lane->plain->len < 2)
            continue;
        sums.counted_ns += mean_of(lane->counted, &variance);
        sums.counted_variance += variance;
        sums.plain_ns += mean_of(lane->plain, &variance);
        sums.plain_variance += variance;
        sums.min = MIN(sums.min, MIN(lane->counted->len, lane->plain->len));
    }
    return sums;
}

json_t *ifm_plan_counted_to_json(const GPtrArray *lanes, const char *no_plain)
{
    Sums sums = sum_up(lanes);
    double ratio = sums.plain_ns > 0 ? sums.counted_ns / sums.plain_ns - 1 : (double)NAN, half = NAN;
    if (sums.plain_ns > 0)
        half = ifm_student_quantile(0.5 + LEVEL / 2, (double)sums.min - 1) * (1 + ratio) *
               sqrt(sums.counted_variance / (sums.counted_ns * sums.counted_ns) +
                    sums.plain_variance / (sums.plain_ns * sums.plain_ns));
    const char *why = sums.plain_ns > 0                       ? NULL
                      : sums.n_counted == 0                   ? "no device of the plan can count"
                      : sums.n_plain == 0 && no_plain != NULL ? no_plain
                      : sums.n_plain == 0                     ? "every inference was counted"
                                          : "too few inferences were counted; more batches would show it";
    return json_pack("{s:o,s:{s:o,s:o,s:f},s:I,s:I,s:I,s:o}", "ratio", ifm_json_real(ratio), "interval", "lower",
                     ifm_json_real(ratio - half), "upper", ifm_json_real(ratio + half), "level", LEVEL, "n_counted",
                     (json_int_t)sums.n_counted, "n_plain", (json_int_t)sums.n_plain, "n_left_out",
                     (json_int_t)sums.n_left_out, "why", why != NULL ? ifm_json_string(why) : json_null());
}
