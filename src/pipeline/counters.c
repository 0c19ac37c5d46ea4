/* Device times: the runtimes' own counters. They are read while nothing runs, and each time is written to its
 * inference. Where a runtime reports means alone they are read after each inference, whose own time is then the difference
 * of two sums. */
#include <math.h>

#include "pipeline-private.h"

/* What runtimes keep at the least: simulated devices 4096 inferences of a request, the driver of ONNX Runtime 100,000
 * events of a session (a node takes at most two). */
#define MAX_OF_A_SLOT 4000
#define MAX_EVENTS 90000

void ifm_variant_note(Variant *variant, const Inference *inference)
{
    Wall wall = { inference->nodes, inference->edges, inference->wall_ns, variant->profiled ? inference->event : NULL };
    if (variant->is_warm && variant->walls != NULL)
        g_array_append_val(variant->walls, wall);
    variant->is_warm = TRUE;
    if (variant->profiled)
        g_array_append_vals(variant->inferences, inference, 1);
}

gboolean ifm_variant_reads_each(const Variant *variant)
{
    return variant->profiled && (ifm_compiled_info(variant->compiled).capabilities & IFM_PROFILE_MEANS) != 0;
}

gboolean ifm_variant_fetch_due(const Variant *variant)
{
    if (!variant->profiled || ifm_variant_reads_each(variant))
        return FALSE;
    gint64 events = (gint64)variant->inferences->len * (2 * (gint64)ifm_model_n_nodes(variant->model) + 8);
    return events >= MAX_EVENTS || variant->inferences->len >= MAX_OF_A_SLOT;
}

/* The sum over the nodes; without nodes the runtime's own figure for the whole inference. */
static gint64 inside_ns(const IfmEngineProfile *profile)
{
    gint64 sum = 0;
    for (guint i = 0; i < profile->nodes->len; i++)
        sum += ((const IfmNodeTime *)g_ptr_array_index(profile->nodes, i))->duration_ns;
    return profile->nodes->len > 0 ? sum : profile->inside_ns;
}

static int by_completion(gconstpointer a, gconstpointer b)
{
    gint64 x = ((const Inference *)a)->completed_ns, y = ((const Inference *)b)->completed_ns;
    return (x > y) - (x < y);
}

/* A mean of several is nobody's time: 0 of all. */
static gint64 count_inferences(const GPtrArray *profiles)
{
    for (guint i = 0; i < profiles->len; i++)
        if (((const IfmEngineProfile *)g_ptr_array_index(profiles, i))->n_inferences != 1)
            return 0;
    return profiles->len;
}

static void keep_nodes(Variant *variant, const Inference *inference, GPtrArray *profiles, guint index)
{
    const IfmEngineProfile *profile = g_ptr_array_index(profiles, index);
    if (inference->event == NULL || profile->nodes->len == 0 || profile->nodes->len > IFM_MAX_TRACE_NODES ||
        variant->nodes_of->len >= IFM_MAX_NODE_PROFILES)
        return;
    NodeProfile kept = { g_ptr_array_ref(profiles), index, inference->track, inference->event };
    g_array_append_val(variant->nodes_of, kept);
}

/* Whether a difference of means says enough of an inference: what each node may be off by adds up. */
static gboolean is_fine(const Variant *variant, const Inference *inference, const IfmEngineProfile *profile)
{
    return !ifm_variant_reads_each(variant) || (double)profile->resolution_ns * profile->nodes->len <
                                                   IFM_DEVICE_TIME_MAX_ERROR_RATIO * (double)inference->wall_ns;
}

/* Writes the times of the profiles, of one inference each, to the inferences of a slot (NULL: of all), in order. */
static void hand_out(Variant *variant, const Slot *slot, GPtrArray *profiles)
{
    guint at = 0;
    for (guint i = 0; i < variant->inferences->len; i++)
    {
        const Inference *inference = &g_array_index(variant->inferences, Inference, i);
        if (slot != NULL && inference->slot != slot)
            continue;
        const IfmEngineProfile *profile = g_ptr_array_index(profiles, at++);
        if (!is_fine(variant, inference, profile))
        {
            variant->is_coarse = TRUE;
            *inference->device_ns = IFM_DEVICE_TIME_COARSE;
            continue;
        }
        *inference->device_ns = inside_ns(profile);
        if (inference->event != NULL)
            inference->event->device_ns = *inference->device_ns;
        keep_nodes(variant, inference, profiles, at - 1);
    }
}

static gint64 count_noted(const Variant *variant, const Slot *slot)
{
    gint64 n = 0;
    for (guint i = 0; i < variant->inferences->len; i++)
        n += slot == NULL || g_array_index(variant->inferences, Inference, i).slot == slot;
    return n;
}

/* A runtime reports the inferences of one request, or all of the model's: their number shows which. If it fits neither,
 * some were lost, and no time is used: an unknown time is better than that of another inference. */
void ifm_variant_fetch_times(Variant *variant)
{
    g_array_sort(variant->inferences, by_completion);
    for (gsize i = 0; i < variant->n_slots && variant->inferences->len > 0; i++)
    {
        const Slot *slot = &variant->slots[i];
        g_autoptr(GPtrArray) profiles = ifm_compiled_profile(variant->compiled, slot->request, NULL);
        gint64 n = profiles != NULL ? count_inferences(profiles) : 0;
        if (n > 0 && n == count_noted(variant, NULL))
        {
            hand_out(variant, NULL, profiles);
            break;
        }
        if (n > 0 && n == count_noted(variant, slot))
            hand_out(variant, slot, profiles);
    }
    g_array_set_size(variant->inferences, 0);
}

void ifm_replica_fetch_times(Replica *replica)
{
    for (guint i = 0; i < replica->variants->len; i++)
        for (Variant *variant = replica->variants->pdata[i]; variant != NULL; variant = variant->sampled)
            if (variant->profiled)
                ifm_variant_fetch_times(variant);
    replica->fetch_due = FALSE;
}

/* If a runtime does not report when a node began, nodes follow each other from the inference's start. */
static void record_nodes(Line *line, const NodeProfile *kept)
{
    const IfmEngineProfile *profile = g_ptr_array_index(kept->profiles, kept->index);
    gint64 next_ns = 0, whole_ns = kept->event->duration_ns;
    for (guint i = 0; i < profile->nodes->len; i++)
    {
        const IfmNodeTime *node = g_ptr_array_index(profile->nodes, i);
        gint64 begin_ns = CLAMP(node->start_ns >= 0 ? node->start_ns : next_ns, 0, whole_ns);
        g_autofree char *name = g_strdup_printf("%s %s", node->op_type, node->name);
        IfmEvent event = *kept->event;
        next_ns = MIN(begin_ns + MAX(node->duration_ns, 0), whole_ns);
        event.kind = IFM_EVENT_NODE;
        event.name = ifm_trace_intern(line->trace, name);
        event.start_ns += begin_ns;
        event.duration_ns = next_ns - begin_ns;
        event.device_ns = event.overhead_ns = -1;
        ifm_track_record(kept->track, &event);
    }
}

static void record_variant(Line *line, Variant *variant, gpointer user)
{
    for (guint i = 0; i < variant->nodes_of->len; i++)
    {
        NodeProfile *kept = &g_array_index(variant->nodes_of, NodeProfile, i);
        if (kept->profiles != NULL)
            record_nodes(line, kept);
        g_clear_pointer(&kept->profiles, g_ptr_array_unref); /* freed, but still counted: a later run adds no more */
    }
}

static void forget_nodes(Line *line, Variant *variant, gpointer user)
{
    g_array_set_size(variant->nodes_of, 0);
}

void ifm_line_each_variant(Line *line, void (*call)(Line *line, Variant *variant, gpointer user), gpointer user)
{
    for (int i = 0; i < line->n_blocks; i++)
        for (gsize k = 0; k < line->blocks[i].n_replicas; k++)
        {
            GPtrArray *variants = line->blocks[i].replicas[k].variants;
            for (guint v = 0; v < variants->len; v++)
                for (Variant *variant = g_ptr_array_index(variants, v); variant != NULL; variant = variant->sampled)
                    call(line, variant, user);
        }
}

void ifm_line_begin_nodes(Line *line)
{
    if (line->trace != NULL && ifm_trace_n_events(line->trace) == 0)
        ifm_line_each_variant(line, forget_nodes, NULL);
}

void ifm_line_record_nodes(Line *line)
{
    if (line->trace != NULL)
        ifm_line_each_variant(line, record_variant, NULL);
}

/* --- overhead of counting --------------------------------------------------------------------------------------------- */

/* The minimum number of inferences without counting that give a usual wall time. */
#define FEWEST_WALLS 3

static int by_size_and_wall(gconstpointer a, gconstpointer b)
{
    const Wall *x = a, *y = b;
    if (x->nodes != y->nodes)
        return x->nodes < y->nodes ? -1 : 1;
    if (x->edges != y->edges)
        return x->edges < y->edges ? -1 : 1;
    return (x->wall_ns > y->wall_ns) - (x->wall_ns < y->wall_ns);
}

/* The first that is not of a smaller size. @walls: sorted */
static guint find_size(const GArray *walls, gint64 nodes, gint64 edges)
{
    guint low = 0, high = walls->len;
    while (low < high)
    {
        guint middle = low + (high - low) / 2;
        const Wall *wall = &g_array_index(walls, Wall, middle);
        if (wall->nodes < nodes || (wall->nodes == nodes && wall->edges < edges))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The median wall time at one size. @walls: sorted. NaN: there are too few. */
static double usual_wall(const GArray *walls, const Wall *like)
{
    guint first = find_size(walls, like->nodes, like->edges);
    guint n = find_size(walls, like->nodes, like->edges + 1) - first;
    if (n < FEWEST_WALLS)
        return NAN;
    guint below = first + (n - 1) / 2, above = first + n / 2;
    return ((double)g_array_index(walls, Wall, below).wall_ns + (double)g_array_index(walls, Wall, above).wall_ns) / 2;
}

typedef struct
{
    double with_ns, without_ns;
} SlowDown;

/* @user: the sum of all sampled inferences with a usual wall time at their size; NULL: their events get what they took
 * beyond it, and are forgotten: a trace may forget its events before the next run */
static void add_sampled(Line *line, Variant *plain, gpointer user)
{
    SlowDown *sum = user;
    if (plain->sampled == NULL)
        return;
    g_array_sort(plain->walls, by_size_and_wall);
    for (guint n = 0; n < plain->sampled->walls->len; n++)
    {
        Wall *wall = &g_array_index(plain->sampled->walls, Wall, n);
        double usual_ns = usual_wall(plain->walls, wall);
        if (sum != NULL && !isnan(usual_ns))
        {
            sum->with_ns += (double)wall->wall_ns;
            sum->without_ns += usual_ns;
        }
        if (sum == NULL && wall->event != NULL && !isnan(usual_ns))
            wall->event->overhead_ns = (gint64)llround(fmax((double)wall->wall_ns - usual_ns, 0));
        if (sum == NULL)
            wall->event = NULL;
    }
}

void ifm_line_note_overheads(Line *line)
{
    ifm_line_each_variant(line, add_sampled, NULL);
}

double ifm_line_slow_down(Line *line)
{
    SlowDown sum = { 0, 0 };
    ifm_line_each_variant(line, add_sampled, &sum);
    return sum.without_ns > 0 ? sum.with_ns / sum.without_ns - 1 : NAN;
}
