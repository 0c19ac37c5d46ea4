/* The meter: a sampler that reads an energy source, and windows over what it reads. */
#include "energy-private.h"
#include <base/base.h>
#include <math.h>
#include <string.h>
#include <time.h>

#define NS_PER_S 1e9
#define MIN_CHANGES 3 /* that show an update period */

/* Track: what was seen of one part. */
typedef struct Track
{
    const EnergyPart *part;
    char *failure; /* (nullable) why it can no longer be read; it is then not read any more */
    gboolean was_read;
    EnergySample last;
    guint64 total_uj; /* of the counter since the opening, wraps undone */
    gsize n_changes;  /* since the opening */
    gint64 first_change_ns, last_change_ns;
    gint64 longest_gap_ns; /* between changes, in the window */
    gsize n_before;        /* n_changes at the begin of the window */
    GArray *points;        /* of EnergyPoint, in the window */
} Track;

struct IfmEnergyMeter
{
    const EnergyKind *kind;
    gpointer state;
    GPtrArray *parts;
    IfmClock *clock;
    IfmCondition *condition; /* its lock guards all below */
    gint64 opened_ns, poll_ns, begin_ns, begin_cpu_ns;
    gboolean is_sampling, stop, in_window;
    pthread_t sampler;
    gsize n_tracks;
    Track *tracks; /* [n_tracks] */
};

/* All sources (docs/energy.md). */
static const EnergyKind *const kinds[] = { &energy_rapl, &energy_nvml, &energy_hwmon, &energy_recorded, &energy_simulated };

static void part_free(EnergyPart *part)
{
    g_free(part->name);
    g_free(part->unavailable);
    g_free(part->path);
    g_free(part->power_path);
    g_free(part);
}

static const EnergyKind *find_kind(const char *name, GError **error)
{
    const char *names[G_N_ELEMENTS(kinds) + 1] = { NULL };
    for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++)
    {
        if (strcmp(kinds[i]->name, name) == 0)
            return kinds[i];
        names[i] = kinds[i]->name;
    }
    g_autofree char *hint = ifm_nearest_hint(name, names);
    ifm_error_refuse(error, "\"%s\" is not an energy source%s", name, hint);
    ifm_error_make_one_line(error);
    return NULL;
}

/* Where one part can be read. */
static gpointer open_kind(const EnergyKind *kind, const IfmEnergyOptions *options, GPtrArray *parts, GError **error)
{
    gpointer state = kind->open(options, parts, error);
    const char *reason = NULL;
    for (guint i = 0; state != NULL && i < parts->len; i++)
    {
        const EnergyPart *part = g_ptr_array_index(parts, i);
        if (part->unavailable == NULL)
            return state;
        if (reason == NULL)
            reason = part->unavailable;
    }
    if (state == NULL)
        return NULL;
    ifm_error_set(error, IFM_ERROR_UNAVAILABLE, "%s", reason != NULL ? reason : "no domain was found");
    if (kind->close != NULL)
        kind->close(state);
    return NULL;
}

IfmEnergyMeter *ifm_energy_open(const char *name, const IfmEnergyOptions *options, IfmClock *clock, GError **error)
{
    const EnergyKind *kind = find_kind(name, error);
    g_autoptr(GPtrArray) parts = g_ptr_array_new_with_free_func((GDestroyNotify)part_free);
    gpointer state = kind != NULL ? open_kind(kind, options, parts, error) : NULL;
    if (state == NULL)
        return NULL;
    IfmEnergyMeter *meter = g_new0(IfmEnergyMeter, 1);
    meter->kind = kind;
    meter->state = state;
    meter->clock = ifm_clock_ref(clock);
    meter->condition = ifm_condition_new(clock);
    meter->opened_ns = ifm_clock_now_ns(clock);
    meter->n_tracks = parts->len;
    meter->tracks = g_new0(Track, parts->len);
    for (guint i = 0; i < parts->len; i++)
    {
        Track *track = &meter->tracks[i];
        track->part = g_ptr_array_index(parts, i);
        track->failure = g_strdup(track->part->unavailable);
        track->points = g_array_new(FALSE, FALSE, sizeof(EnergyPoint));
    }
    meter->parts = g_steal_pointer(&parts);
    return meter;
}

void ifm_energy_close(IfmEnergyMeter *meter)
{
    if (meter == NULL)
        return;
    ifm_energy_stop(meter);
    for (gsize i = 0; i < meter->n_tracks; i++)
    {
        g_free(meter->tracks[i].failure);
        g_array_unref(meter->tracks[i].points);
    }
    if (meter->kind->close != NULL)
        meter->kind->close(meter->state);
    g_ptr_array_unref(meter->parts);
    g_free(meter->tracks);
    ifm_condition_free(meter->condition);
    ifm_clock_unref(meter->clock);
    g_free(meter);
}

/* Adds what the counter advanced, and undoes a wrap. Returns: FALSE where that is more than half of its range: a second
 * wrap would not have been seen. */
static gboolean advance(Track *track, guint64 counter_uj)
{
    const EnergyPart *part = track->part;
    guint64 last_uj = track->last.counter_uj;
    guint64 advance_uj = counter_uj - last_uj;
    if (counter_uj < last_uj && part->range_uj == 0)
    {
        track->failure = g_strdup_printf("%s: the counter fell from %" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT " uJ",
                                         part->name, last_uj, counter_uj);
        return FALSE;
    }
    if (counter_uj < last_uj)
        advance_uj = part->range_uj - last_uj + part->step_uj + counter_uj;
    if (part->range_uj > 0 && advance_uj > part->range_uj / 2)
    {
        track->failure = g_strdup_printf("%s: the counter advanced more than half of its range between two readings: "
                                         "it was reset, or has to be read more often",
                                         part->name);
        return FALSE;
    }
    track->total_uj += advance_uj;
    return TRUE;
}

static void note_change(Track *track, gint64 now_ns)
{
    if (track->n_changes++ == 0)
        track->first_change_ns = now_ns;
    else
        track->longest_gap_ns = MAX(track->longest_gap_ns, now_ns - track->last_change_ns);
    track->last_change_ns = now_ns;
}

static void read_track(IfmEnergyMeter *meter, Track *track)
{
    EnergySample sample = { 0 };
    g_autoptr(GError) error = NULL;
    if (track->failure != NULL)
        return;
    gint64 now_ns = ifm_clock_now_ns(meter->clock);
    if (!meter->kind->read(meter->state, track->part, now_ns - meter->opened_ns, &sample, &error))
    {
        track->failure = g_strdup(error->message);
        return;
    }
    gboolean has_counter = track->part->has_counter;
    if (track->was_read && has_counter && !advance(track, sample.counter_uj))
        return;
    if (track->was_read &&
        (sample.update != track->last.update ||
         (has_counter ? sample.counter_uj != track->last.counter_uj : sample.power_w != track->last.power_w)))
        note_change(track, now_ns);
    track->was_read = TRUE;
    track->last = sample;
    EnergyPoint point = { .time_ns = now_ns, .total_uj = track->total_uj, .power_w = sample.power_w };
    if (meter->in_window)
        g_array_append_val(track->points, point);
}

static void read_tracks(IfmEnergyMeter *meter)
{
    for (gsize i = 0; i < meter->n_tracks; i++)
        read_track(meter, &meter->tracks[i]);
}

static void *sample_until_stop(void *data)
{
    IfmEnergyMeter *meter = data;
    ifm_condition_lock(meter->condition);
    gint64 next_ns = ifm_clock_now_ns(meter->clock);
    while (!meter->stop)
    {
        read_tracks(meter);
        gint64 now_ns = ifm_clock_now_ns(meter->clock);
        next_ns += meter->poll_ns;
        if (next_ns <= now_ns) /* late: the missed polls are left out */
            next_ns = now_ns + meter->poll_ns;
        while (!meter->stop && ifm_condition_wait_until(meter->condition, next_ns))
            continue;
    }
    ifm_condition_unlock(meter->condition);
    ifm_clock_leave(meter->clock);
    return NULL;
}

gboolean ifm_energy_start(IfmEnergyMeter *meter, gint64 poll_ns, GError **error)
{
    if (poll_ns < 1 || meter->is_sampling)
        return ifm_error_refuse(error, "%s: %s", meter->kind->name,
                                meter->is_sampling ? "the sampler runs already" : "the sampler's period is not above 0");
    meter->poll_ns = poll_ns;
    meter->stop = FALSE;
    ifm_clock_enter(meter->clock); /* for the sampler, so that time waits for it */
    if (pthread_create(&meter->sampler, NULL, sample_until_stop, meter) != 0)
    {
        ifm_clock_leave(meter->clock);
        return ifm_error_set(error, IFM_ERROR_FAILED, "%s: the sampler's thread cannot be made", meter->kind->name);
    }
    meter->is_sampling = TRUE;
    return TRUE;
}

void ifm_energy_stop(IfmEnergyMeter *meter)
{
    if (!meter->is_sampling)
        return;
    ifm_condition_lock(meter->condition);
    meter->stop = TRUE;
    ifm_condition_broadcast(meter->condition);
    ifm_condition_unlock(meter->condition);
    pthread_join(meter->sampler, NULL); /* it was woken and waits for nothing: time cannot move meanwhile */
    meter->is_sampling = FALSE;
    meter->in_window = FALSE;
}

/* The mean time between changes; 0 where too few were seen. */
static gint64 update_period_ns(const Track *track)
{
    if (track->n_changes < MIN_CHANGES)
        return 0;
    return (track->last_change_ns - track->first_change_ns) / (gint64)(track->n_changes - 1);
}

gint64 ifm_energy_window_ns(IfmEnergyMeter *meter)
{
    gint64 longest_ns = 0;
    gboolean is_known = TRUE;
    ifm_condition_lock(meter->condition);
    for (gsize i = 0; i < meter->n_tracks; i++)
    {
        const Track *track = &meter->tracks[i];
        if (!track->part->in_total || track->failure != NULL)
            continue;
        gint64 period_ns = update_period_ns(track);
        is_known = is_known && period_ns > 0;
        if (period_ns > 0) /* each change was seen up to one poll late: the period may be longer by this */
            period_ns += meter->poll_ns / (gint64)(track->n_changes - 1);
        longest_ns = MAX(longest_ns, period_ns);
    }
    ifm_condition_unlock(meter->condition);
    /* one more: a window that begins behind an update sees the next only a period later */
    return is_known ? longest_ns * (IFM_ENERGY_MIN_UPDATES + 1) : 0;
}

static gint64 sampler_cpu_ns(const IfmEnergyMeter *meter)
{
    clockid_t id;
    struct timespec time = { 0 };
    if (pthread_getcpuclockid(meter->sampler, &id) == 0)
        (void)clock_gettime(id, &time);
    return time.tv_sec * (gint64)NS_PER_S + time.tv_nsec;
}

gboolean ifm_energy_begin(IfmEnergyMeter *meter, GError **error)
{
    if (!meter->is_sampling || meter->in_window)
        return ifm_error_refuse(error, "%s: %s", meter->kind->name,
                                meter->in_window ? "a window is open already" : "a window needs the sampler to run");
    ifm_condition_lock(meter->condition);
    meter->in_window = TRUE;
    meter->begin_cpu_ns = sampler_cpu_ns(meter);
    meter->begin_ns = ifm_clock_now_ns(meter->clock);
    for (gsize i = 0; i < meter->n_tracks; i++)
    {
        Track *track = &meter->tracks[i];
        g_array_set_size(track->points, 0);
        read_track(meter, track);
        track->n_before = track->n_changes;
        track->longest_gap_ns = 0;
    }
    ifm_condition_unlock(meter->condition);
    return TRUE;
}

static IfmEnergyReading reading_new(const Track *track, gint64 end_ns)
{
    IfmEnergyReading reading = { .domain = g_strdup(track->part->name),
                                 .in_total = track->part->in_total,
                                 .n_updates = track->n_changes - track->n_before,
                                 .update_period_ns = update_period_ns(track) };
    EnergySeries series = { .points = (const EnergyPoint *)(const void *)track->points->data,
                            .n = track->points->len,
                            .n_updates = reading.n_updates,
                            .gap_ns = MAX(track->longest_gap_ns, end_ns - track->last_change_ns),
                            .step_uj = track->part->step_uj,
                            .failure = track->failure };
    const char *name = reading.domain;
    reading.counted_j =
        track->part->has_counter ? energy_counted(name, &series) : energy_unavailable("%s: there is no counter", name);
    reading.sampled_j =
        track->part->has_power ? energy_sampled(name, &series) : energy_unavailable("%s: no power is shown", name);
    reading.gross_j = energy_figure_copy(track->part->has_counter ? &reading.counted_j : &reading.sampled_j);
    reading.disagrees = reading.counted_j.unavailable == NULL && reading.sampled_j.unavailable == NULL &&
                        (reading.counted_j.interval.lower > reading.sampled_j.interval.upper ||
                         reading.sampled_j.interval.lower > reading.counted_j.interval.upper);
    return reading;
}

gboolean ifm_energy_end(IfmEnergyMeter *meter, const IfmEnergyResult *idle, IfmEnergyResult *result, GError **error)
{
    if (!meter->in_window)
        return ifm_error_refuse(error, "%s: no window is open", meter->kind->name);
    ifm_condition_lock(meter->condition);
    gint64 end_ns = ifm_clock_now_ns(meter->clock);
    read_tracks(meter);
    meter->in_window = FALSE;
    *result = (IfmEnergyResult){ .duration_ns = end_ns - meter->begin_ns,
                                 .sampler_cpu_ns = sampler_cpu_ns(meter) - meter->begin_cpu_ns,
                                 .n_readings = meter->n_tracks,
                                 .readings = g_new0(IfmEnergyReading, meter->n_tracks) };
    for (gsize i = 0; i < meter->n_tracks; i++)
        result->readings[i] = reading_new(&meter->tracks[i], end_ns);
    ifm_condition_unlock(meter->condition);
    energy_result_finish(result, idle);
    return TRUE;
}
