/* Waiting until others leave the cores of a measurement alone. */
#include <math.h>

#include <base/base.h>
#include <base/fields.h>
#include <sensor/sensor.h>

#include "sensor-private.h"

#define NS_PER_MS G_GINT64_CONSTANT(1000000)
/* The kernel counts processor time in steps of 10 ms. */
#define WINDOW_NS (250 * NS_PER_MS)  /* a ratio of fewer than 20 steps is none */
#define OLDEST_NS (2000 * NS_PER_MS) /* what is further back says little of now */
/* One wait is at most so much of the patience. */
#define ONE_WAIT 0.5

struct IfmIdleGate
{
    char *root;
    IfmClock *clock;
    gint64 patience_ns, left_ns; /* left: since the cores were last found idle */
    json_t *last, *recent;       /* ifm_sensor_jiffies(): where the window begins, and where it will begin next */
    gint64 last_ns, recent_ns;
};

IfmIdleGate *ifm_idle_gate_new(const char *root, IfmClock *clock, gint64 patience_ns)
{
    IfmIdleGate *gate = g_new0(IfmIdleGate, 1);
    gate->root = g_strdup(root != NULL ? root : "/");
    gate->clock = ifm_clock_ref(clock);
    gate->patience_ns = gate->left_ns = patience_ns;
    return gate;
}

void ifm_idle_gate_free(IfmIdleGate *gate)
{
    if (gate == NULL)
        return;
    json_decref(gate->last);
    json_decref(gate->recent);
    ifm_clock_unref(gate->clock);
    g_free(gate->root);
    g_free(gate);
}

gboolean ifm_idle_gate_is_patient(const IfmIdleGate *gate)
{
    return gate->left_ns > 0;
}

void ifm_idle_gate_spend(IfmIdleGate *gate, gint64 ns)
{
    gate->left_ns = MAX(gate->left_ns - ns, 0);
}

void ifm_idle_gate_renew(IfmIdleGate *gate)
{
    gate->left_ns = gate->patience_ns;
}

/* Takes @now for the place where a window begins. */
static void mark(json_t **place, gint64 *place_ns, json_t *now, gint64 now_ns)
{
    json_t *before = *place;
    *place = json_incref(now);
    *place_ns = now_ns;
    json_decref(before);
}

/* What others used of the cores since the window began, where that is neither too near nor too far back. It moves on, but
 * not to now, so that many cases in a row need no wait. @share: (out) NaN: not known    Returns: whether there was a
 * window.
 */
static gboolean look(IfmIdleGate *gate, const int *cores, gsize n_cores, double *share)
{
    const gint64 now_ns = ifm_clock_now_ns(gate->clock), age_ns = now_ns - gate->last_ns;
    json_auto_t *now = ifm_sensor_jiffies(gate->root);
    const gboolean is_window = gate->last != NULL && age_ns >= WINDOW_NS && age_ns <= OLDEST_NS;
    *share = is_window ? ifm_sensor_others_ratio(gate->last, now, cores, n_cores) : (double)NAN;
    if (gate->last == NULL || age_ns > OLDEST_NS || *share > IFM_OTHERS_DISTURB)
    {
        mark(&gate->last, &gate->last_ns, now, now_ns);
        mark(&gate->recent, &gate->recent_ns, now, now_ns);
    }
    else if (now_ns - gate->recent_ns >= 2 * WINDOW_NS)
    {
        mark(&gate->last, &gate->last_ns, gate->recent, gate->recent_ns);
        mark(&gate->recent, &gate->recent_ns, now, now_ns);
    }
    return is_window;
}

gint64 ifm_idle_gate_wait(IfmIdleGate *gate, const int *cores, gsize n_cores, const gint *interrupted)
{
    const gint64 began_ns = ifm_clock_now_ns(gate->clock), most_ns = (gint64)(ONE_WAIT * (double)gate->patience_ns);
    gint64 waited_ns = 0;
    double share;
    while (gate->left_ns - waited_ns > 0 && (interrupted == NULL || g_atomic_int_get(interrupted) == 0))
    {
        if (look(gate, cores, n_cores, &share) && !(share > IFM_OTHERS_DISTURB))
        {
            ifm_idle_gate_renew(gate);
            return waited_ns;
        }
        if (waited_ns >= most_ns)
            break;
        const gint64 age_ns = ifm_clock_now_ns(gate->clock) - gate->last_ns;
        ifm_clock_sleep_until_ns(gate->clock,
                                 ifm_clock_now_ns(gate->clock) + CLAMP(WINDOW_NS - age_ns, NS_PER_MS, WINDOW_NS));
        waited_ns = ifm_clock_now_ns(gate->clock) - began_ns;
    }
    ifm_idle_gate_spend(gate, waited_ns);
    return waited_ns;
}
