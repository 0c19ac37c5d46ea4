/* The plan as an object: made, copied, written as text, checked against its model. Its JSON: plan-json.c. */
#include <staged/staged.h>
#include <string.h>

#include "pipeline-private.h"

static void device_free(gpointer data)
{
    IfmPlanDevice *device = data;
    g_free(device->alias);
    g_free(device->device);
    g_free(device->sizes);
    g_free(device);
}

IfmPlan *ifm_plan_new(const char *model)
{
    IfmPlan *plan = g_new0(IfmPlan, 1);
    plan->model = g_strdup(model);
    plan->devices = g_ptr_array_new_with_free_func(device_free);
    plan->blocks = g_array_new(FALSE, TRUE, sizeof(IfmPlanBlock));
    return plan;
}

void ifm_plan_free(IfmPlan *plan)
{
    if (plan == NULL)
        return;
    g_free(plan->model);
    g_ptr_array_unref(plan->devices);
    g_array_unref(plan->blocks);
    g_free(plan);
}

IfmPlan *ifm_plan_copy(const IfmPlan *plan)
{
    IfmPlan *copy = ifm_plan_new(plan->model);
    for (guint i = 0; i < plan->devices->len; i++)
    {
        const IfmPlanDevice *from = ifm_plan_device(plan, (int)i);
        ifm_plan_add_device(copy, from->alias, from->device, from->form);
        IfmPlanDevice *to = g_ptr_array_index(copy->devices, i);
        to->sizes = g_memdup2(from->sizes, from->n_sizes * sizeof *from->sizes);
        to->n_sizes = from->n_sizes;
    }
    g_array_append_vals(copy->blocks, plan->blocks->data, plan->blocks->len);
    return copy;
}

int ifm_plan_add_device(IfmPlan *plan, const char *alias, const char *device, IfmPlanForm form)
{
    IfmPlanDevice *added = g_new0(IfmPlanDevice, 1);
    added->alias = g_strdup(alias);
    added->device = g_strdup(device);
    added->form = form;
    g_ptr_array_add(plan->devices, added);
    return (int)plan->devices->len - 1;
}

int ifm_plan_find_device(const IfmPlan *plan, const char *alias)
{
    for (guint i = 0; i < plan->devices->len; i++)
        if (g_str_equal(ifm_plan_device(plan, (int)i)->alias, alias))
            return (int)i;
    return -1;
}

void ifm_plan_add_block(IfmPlan *plan, const IfmPlanBlock *block)
{
    g_array_append_vals(plan->blocks, block, 1);
}

/* Devices are compared by alias: two plans may list them in different orders. */
static gboolean same_block(const IfmPlan *a, const IfmPlan *b, guint index)
{
    const IfmPlanBlock *x = ifm_plan_block(a, index), *y = ifm_plan_block(b, index);
    gboolean same = x->first == y->first && x->last == y->last && x->n_devices == y->n_devices;
    for (gsize i = 0; same && i < x->n_devices; i++)
        same = g_str_equal(ifm_plan_device(a, x->devices[i])->alias, ifm_plan_device(b, y->devices[i])->alias);
    return same;
}

gboolean ifm_plan_same_shape(const IfmPlan *a, const IfmPlan *b)
{
    gboolean same = g_strcmp0(a->model, b->model) == 0 && a->blocks->len == b->blocks->len;
    for (guint i = 0; same && i < a->blocks->len; i++)
        same = same_block(a, b, i);
    return same;
}

/* "CPU+GPU" */
static void append_devices(GString *text, const IfmPlan *plan, const IfmPlanBlock *block)
{
    for (gsize k = 0; k < block->n_devices; k++)
        g_string_append_printf(text, "%s%s", k > 0 ? "+" : "", ifm_plan_device(plan, block->devices[k])->alias);
}

char *ifm_plan_to_text(const IfmPlan *plan)
{
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < plan->blocks->len; i++)
    {
        const IfmPlanBlock *block = ifm_plan_block(plan, i);
        if (i > 0)
            g_string_append(text, " > ");
        append_devices(text, plan, block);
        g_string_append_printf(text, " %d", block->first);
        if (block->last > block->first)
            g_string_append_printf(text, "-%d", block->last);
        for (gsize k = 0; k < block->n_devices && block->n_devices > 1; k++)
            g_string_append_printf(text, "%s%.2f%s", k > 0 ? " : " : " (", block->ratios[k],
                                   k + 1 == block->n_devices ? ")" : "");
    }
    return g_string_free(text, FALSE);
}

char *ifm_plan_block_name(const IfmPlan *plan, int number)
{
    GString *out = g_string_new(NULL);
    if (number >= 1 && (guint)number <= plan->blocks->len)
        append_devices(out, plan, ifm_plan_block(plan, (guint)number - 1));
    return g_string_free(out, FALSE);
}

const IfmPlanSize *ifm_plan_static_size(const IfmPlanSize *sizes, gsize n_sizes, double nodes, double edges,
                                        gboolean reads_edges)
{
    const IfmPlanSize *best = NULL;
    for (gsize i = 0; i < n_sizes; i++)
    {
        const IfmPlanSize *size = &sizes[i];
        gboolean adds_edges = reads_edges && (double)size->edges > edges;
        if ((double)size->nodes < nodes + adds_edges || (double)size->edges < edges)
            continue;
        if (best == NULL || size->nodes + size->edges < best->nodes + best->edges)
            best = size;
    }
    return best;
}

/* --- checks ----------------------------------------------------------------------------------------------------------- */

static gboolean check_stages(const IfmPlan *plan, guint index, GError **error)
{
    const IfmPlanBlock *block = ifm_plan_block(plan, index);
    int next = index > 0 ? ifm_plan_block(plan, index - 1)->last + 1 : 1;
    return (block->first == next && block->last >= block->first) ||
           ifm_error_refuse(error,
                            "stages %d to %d, but %d is the next one: each stage is in one block, in ascending order",
                            block->first, block->last, next);
}

/* Looks in the blocks before @index, and among the devices of that block before @place. Returns: the block, from 1,
 * that has the device already; 0: none. */
static guint block_with(const IfmPlan *plan, guint index, gsize place, int device)
{
    for (guint i = 0; i <= index; i++)
    {
        const IfmPlanBlock *block = ifm_plan_block(plan, i);
        for (gsize k = 0; k < (i < index ? block->n_devices : place); k++)
            if (block->devices[k] == device)
                return i + 1;
    }
    return 0;
}

/* Two aliases of one device would count as two devices that work at the same time. Looks at the blocks before @index,
 * and at the devices of that block before @place. Returns: the other alias; NULL: none. */
static const IfmPlanDevice *same_device(const IfmPlan *plan, guint index, gsize place)
{
    const IfmPlanDevice *asked = ifm_plan_device(plan, ifm_plan_block(plan, index)->devices[place]);
    g_autoptr(IfmDeviceSpec) spec = asked->device != NULL ? ifm_device_spec_parse(asked->device, NULL) : NULL;
    for (guint i = 0; spec != NULL && i <= index; i++)
    {
        const IfmPlanBlock *block = ifm_plan_block(plan, i);
        for (gsize k = 0; k < (i < index ? block->n_devices : place); k++)
        {
            const IfmPlanDevice *other = ifm_plan_device(plan, block->devices[k]);
            g_autoptr(IfmDeviceSpec) known = other->device != NULL ? ifm_device_spec_parse(other->device, NULL) : NULL;
            if (known != NULL && g_str_equal(known->text, spec->text))
                return other;
        }
    }
    return NULL;
}

static gboolean check_device(const IfmPlan *plan, guint index, gsize place, gboolean runs, GError **error)
{
    int device = ifm_plan_block(plan, index)->devices[place];
    if (device < 0 || device >= (int)plan->devices->len)
        return ifm_error_refuse(error, "device %d is none of the plan's %u", device, plan->devices->len);
    const IfmPlanDevice *known = ifm_plan_device(plan, device);
    guint other = block_with(plan, index, place, device);
    const IfmPlanDevice *same = runs && other == 0 ? same_device(plan, index, place) : NULL;
    if (other > 0)
        return ifm_error_refuse(error, "device '%s' is in block %u already; a device belongs to one block, once",
                                known->alias, other);
    if (same != NULL)
        return ifm_error_refuse(error, "%s and %s are both %s; a device belongs to one block: name it once", same->alias,
                                known->alias, known->device);
    return !(runs && known->form == IFM_PLAN_STATIC && known->n_sizes == 0) ||
           ifm_error_refuse(error, "device '%s' is static and has no \"sizes\"; a list of [nodes, edges] is expected",
                            known->alias);
}

static gboolean check_devices(const IfmPlan *plan, guint index, gboolean runs, GError **error)
{
    const IfmPlanBlock *block = ifm_plan_block(plan, index);
    if (block->n_devices < 1 || block->n_devices > IFM_PLAN_MAX_DEVICES)
        return ifm_error_refuse(error, "%zu devices, 1 to %d are expected", block->n_devices, IFM_PLAN_MAX_DEVICES);
    for (gsize k = 0; k < block->n_devices; k++)
        if (!check_device(plan, index, k, runs, error))
            return FALSE;
    return TRUE;
}

static gboolean check_ratios(const IfmPlan *plan, const IfmPlanBlock *block, GError **error)
{
    double sum = 0;
    for (gsize k = 0; k < block->n_devices; k++)
    {
        if (!(block->ratios[k] > 0 && block->ratios[k] <= 1 + IFM_PLAN_RATIO_TOLERANCE))
            return ifm_error_refuse(error, "ratio %g of device '%s'; above 0 and at most 1 is expected", block->ratios[k],
                                    ifm_plan_device(plan, block->devices[k])->alias);
        sum += block->ratios[k];
    }
    return (sum >= 1 - IFM_PLAN_RATIO_TOLERANCE && sum <= 1 + IFM_PLAN_RATIO_TOLERANCE) ||
           ifm_error_refuse(error, "its ratios add up to %g; 1 is expected", sum);
}

gboolean ifm_plan_check_itself(const IfmPlan *plan, gboolean runs, const char *name, GError **error)
{
    if (plan->blocks->len == 0)
        return ifm_error_refuse(error, "%s: no blocks; at least one is expected", name);
    for (guint i = 0; i < plan->blocks->len; i++)
        if (!check_stages(plan, i, error) || !check_devices(plan, i, runs, error) ||
            !check_ratios(plan, ifm_plan_block(plan, i), error))
            return ifm_error_prefix(error, "%s: block %u: ", name, i + 1);
    return TRUE;
}

/* Checks a block of several devices: each output of a stage has a split axis, and no tensor that a device needs whole
 * is made by the block itself, where each device has only a part of it. */
static gboolean check_split(const IfmPlanBlock *block, const IfmStagedModel *staged, GError **error)
{
    for (int number = block->first; number <= block->last && block->n_devices > 1; number++)
    {
        const IfmStage *stage = &staged->stages[number - 1];
        for (const char *const *output = stage->outputs; *output != NULL; output++)
            if (ifm_staged_boundary(staged, *output)->split_axis < 0)
                return ifm_error_refuse(error,
                                        "stage %d (%s) cannot be split: '%s' has no axis for it; one device is expected",
                                        number, stage->name, *output);
        const char *whole = stage->whole_input;
        int maker = whole != NULL ? ifm_staged_stage_with(staged, block->first, number - 1, whole, TRUE) : 0;
        if (maker > 0)
            return ifm_error_refuse(
                error,
                "stage %d (%s) needs all of '%s', which stage %d makes: of several devices each has a part alone; a block "
                "that begins with stage %d is expected",
                number, stage->name, whole, maker, number);
    }
    return TRUE;
}

gboolean ifm_plan_check(const IfmPlan *plan, const IfmStagedModel *staged, const char *name, GError **error)
{
    if (plan->model != NULL && !g_str_equal(plan->model, staged->name))
        return ifm_error_refuse(error, "%s: model '%s'; a plan of '%s' is expected", name, plan->model, staged->name);
    if (!ifm_plan_check_itself(plan, TRUE, name, error))
        return FALSE;
    guint n = plan->blocks->len;
    int last = ifm_plan_block(plan, n - 1)->last, stages = (int)staged->n_stages;
    for (guint i = 0; i < n; i++)
    {
        const IfmPlanBlock *block = ifm_plan_block(plan, i);
        if (block->last > stages
                ? !ifm_error_refuse(error, "stage %d; %s has stages 1 to %d", block->last, staged->name, stages)
                : !check_split(block, staged, error))
            return ifm_error_prefix(error, "%s: block %u: ", name, i + 1);
    }
    return last == stages ||
           ifm_error_refuse(
               error,
               "%s: block %u: the last one ends with stage %d; %s has %d stages, and each of them belongs to a block", name,
               n, last, staged->name, stages);
}
