/* The plan's JSON, read and written: the published form of the blocks, [[["CPU","GPU"],[1,2,3],[0.5,0.5]],…], and the
 * object around them. */
#include <math.h>
#include <string.h>

#include <base/fields.h>
#include <staged/staged.h>

#include "pipeline-private.h"

/* The maximum number of stages: numbers from a file are bounded before they are used. */
#define MAX_STAGES 1000
#define MAX_SIZES 100000
#define MAX_ROWS G_GINT64_CONSTANT(1000000000000)

static const char *const forms[] = { [IFM_PLAN_DYNAMIC] = "dynamic", [IFM_PLAN_STATIC] = "static" };

/* --- reading ---------------------------------------------------------------------------------------------------------- */

typedef struct
{
    IfmPlan *plan;
    const char *name;
    gboolean bare; /* aliases are devices without a spec */
} Reading;

/* Aliases are part of messages, traces and tables: each is one readable word. */
static gboolean check_alias(const char *alias, GError **error)
{
    for (const char *c = alias; *c != '\0'; c++)
        if ((guchar)*c <= ' ' || *c == 127)
            return ifm_error_refuse(error, "alias \"%s\" has a blank or a control character; a word is expected", alias);
    return (*alias != '\0' && strlen(alias) <= 64) ||
           ifm_error_refuse(error, "an alias of %zu bytes; 1 to 64 are expected", strlen(alias));
}

static gboolean add_device(Reading *reading, const char *alias, const char *device, int *index, GError **error)
{
    if (!check_alias(alias, error))
        return FALSE;
    if (reading->plan->devices->len >= IFM_PLAN_MAX_DEVICES)
        return ifm_error_refuse(error, "'%s' is one device more than a plan may have; at most %d are expected", alias,
                                IFM_PLAN_MAX_DEVICES);
    *index = ifm_plan_add_device(reading->plan, alias, device, IFM_PLAN_DYNAMIC);
    return TRUE;
}

/* The index of the plan's device with an alias; bare blocks get a new device. */
static gboolean resolve(Reading *reading, const char *alias, int *index, GError **error)
{
    *index = ifm_plan_find_device(reading->plan, alias);
    if (*index >= 0)
        return TRUE;
    if (reading->bare)
        return add_device(reading, alias, NULL, index, error);
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (guint i = 0; i < reading->plan->devices->len; i++)
        g_ptr_array_add(names, ifm_plan_device(reading->plan, (int)i)->alias);
    g_ptr_array_add(names, NULL);
    g_autofree char *hint = ifm_nearest_hint(alias, (const char *const *)names->pdata);
    return ifm_error_refuse(error, "'%s' is not among its \"devices\"%s", alias, hint);
}

static gboolean read_aliases(Reading *reading, const json_t *json, IfmPlanBlock *block, GError **error)
{
    gsize n = json_array_size(json);
    if (n < 1 || n > IFM_PLAN_MAX_DEVICES)
        return ifm_error_refuse(error, "its devices: a list of 1 to %d aliases is expected", IFM_PLAN_MAX_DEVICES);
    for (gsize i = 0; i < n; i++)
    {
        const json_t *alias = json_array_get(json, i);
        if (!json_is_string(alias))
            return ifm_error_refuse(error, "device %zu of it is no text; an alias is expected", i + 1);
        if (!resolve(reading, json_string_value(alias), &block->devices[i], error))
            return FALSE;
    }
    block->n_devices = n;
    return TRUE;
}

static gboolean read_stages(const json_t *json, IfmPlanBlock *block, GError **error)
{
    gsize n = json_array_size(json);
    if (n < 1 || n > MAX_STAGES)
        return ifm_error_refuse(error, "its stages: a list of at least one number is expected");
    for (gsize i = 0; i < n; i++)
    {
        const json_t *stage = json_array_get(json, i);
        json_int_t number = json_integer_value(stage);
        if (!json_is_integer(stage) || number < 1 || number > MAX_STAGES)
            return ifm_error_refuse(error, "stage %zu of its list is no number from 1; stages count from 1", i + 1);
        if (i > 0 && number != block->last + 1)
            return ifm_error_refuse(error, "stage %d follows stage %d; %d is expected: a block is a run without gaps",
                                    (int)number, block->last, block->last + 1);
        if (i == 0)
            block->first = (int)number;
        block->last = (int)number;
    }
    return TRUE;
}

static gboolean read_ratios(const json_t *json, IfmPlanBlock *block, GError **error)
{
    if (json_array_size(json) != block->n_devices)
        return ifm_error_refuse(error, "%zu ratios for %zu devices; one each is expected", json_array_size(json),
                                block->n_devices);
    for (gsize i = 0; i < block->n_devices; i++)
    {
        const json_t *ratio = json_array_get(json, i);
        if (!json_is_number(ratio))
            return ifm_error_refuse(error, "ratio %zu is no number; a share above 0 is expected", i + 1);
        block->ratios[i] = json_number_value(ratio);
    }
    return TRUE;
}

static gboolean read_block(Reading *reading, const json_t *json, GError **error)
{
    IfmPlanBlock block = { 0 };
    if (!json_is_array(json) || json_array_size(json) != 3)
        return ifm_error_refuse(error, "[[\"CPU\"], [1, 2], [1.0]] is expected: aliases, stages, ratios");
    if (!read_aliases(reading, json_array_get(json, 0), &block, error) ||
        !read_stages(json_array_get(json, 1), &block, error) || !read_ratios(json_array_get(json, 2), &block, error))
        return FALSE;
    ifm_plan_add_block(reading->plan, &block);
    return TRUE;
}

static gboolean read_blocks(Reading *reading, const json_t *json, GError **error)
{
    if (!json_is_array(json))
        return ifm_error_refuse(error, "%s: \"plan\" is no list; a list of blocks is expected", reading->name);
    if (json_array_size(json) > MAX_STAGES)
        return ifm_error_refuse(error, "%s: %zu blocks; at most %d are expected", reading->name, json_array_size(json),
                                MAX_STAGES);
    for (gsize i = 0; i < json_array_size(json); i++)
        if (!read_block(reading, json_array_get(json, i), error))
            return ifm_error_prefix(error, "%s: block %zu: ", reading->name, i + 1);
    return TRUE;
}

static gboolean read_size(gsize index, const json_t *json, IfmPlanSize *size, GError **error)
{
    const json_t *nodes = json_array_get(json, 0), *edges = json_array_get(json, 1);
    *size = (IfmPlanSize){ json_integer_value(nodes), json_integer_value(edges) };
    return (json_array_size(json) == 2 && json_is_integer(nodes) && json_is_integer(edges) && size->nodes > 0 &&
            size->edges >= 0 && size->nodes <= MAX_ROWS && size->edges <= MAX_ROWS) ||
           ifm_error_refuse(error, "size %zu of it; [nodes, edges] is expected, as [1000, 5000]", index + 1);
}

static gboolean read_sizes(const json_t *json, GArray *sizes, GError **error)
{
    gsize n = json_array_size(json);
    if (!json_is_array(json) || n > MAX_SIZES)
        return ifm_error_refuse(error, "\"sizes\" is no list of at most %d; [[1000, 5000]] is expected", MAX_SIZES);
    for (gsize i = 0; i < n; i++)
    {
        IfmPlanSize size;
        if (!read_size(i, json_array_get(json, i), &size, error))
            return FALSE;
        g_array_append_val(sizes, size);
    }
    return TRUE;
}

/* "sizes" is only checked here: readers of a plan use it. */
static gboolean check_sizes(const Reading *reading, const json_t *json, GError **error)
{
    g_autoptr(GArray) sizes = g_array_new(FALSE, FALSE, sizeof(IfmPlanSize));
    return json == NULL || read_sizes(json, sizes, error) ||
           ifm_error_prefix(error, "%s: what it was made for: ", reading->name);
}

static gboolean set_form(IfmPlanDevice *device, const char *form, const json_t *json, GError **error)
{
    g_autoptr(GArray) sizes = g_array_new(FALSE, FALSE, sizeof(IfmPlanSize));
    device->form = g_str_equal(form, forms[IFM_PLAN_STATIC]) ? IFM_PLAN_STATIC : IFM_PLAN_DYNAMIC;
    if (!g_str_equal(form, forms[device->form]))
        return ifm_error_refuse(error, "form \"%s\"; \"dynamic\" or \"static\" is expected", form);
    g_autoptr(IfmDeviceSpec) parsed = device->device != NULL ? ifm_device_spec_parse(device->device, error) : NULL;
    if ((device->device != NULL && parsed == NULL) || (json != NULL && !read_sizes(json, sizes, error)))
        return FALSE;
    device->n_sizes = sizes->len;
    device->sizes = (IfmPlanSize *)(void *)g_array_free(g_steal_pointer(&sizes), FALSE);
    return TRUE;
}

static gboolean read_device(Reading *reading, const char *alias, const json_t *json, GError **error)
{
    static const char *const keys[] = { "device", "form", "sizes", NULL };
    g_autofree char *where = g_strdup_printf("%s: devices.%s", reading->name, alias);
    const char *spec = NULL, *form = forms[IFM_PLAN_DYNAMIC];
    int index = -1;
    if (!ifm_json_check_object(json, where, keys, error) ||
        (json_object_get(json, "device") != NULL && !ifm_json_get_string(json, where, "device", &spec, error)) ||
        (json_object_get(json, "form") != NULL && !ifm_json_get_string(json, where, "form", &form, error)))
        return FALSE;
    return (add_device(reading, alias, spec, &index, error) &&
            set_form(reading->plan->devices->pdata[index], form, json_object_get(json, "sizes"), error)) ||
           ifm_error_prefix(error, "%s: ", where);
}

/* Other programs may add other keys. One that looks like a typo of a known key is refused: "device" for "devices". */
static gboolean check_keys(const Reading *reading, json_t *json, GError **error)
{
    static const char *const keys[] = { "plan", "devices", "model", NULL };
    const char *key;
    json_t *value;
    json_object_foreach(json, key, value)
    {
        const char *meant = g_strv_contains(keys, key) ? NULL : ifm_nearest(key, keys);
        if (meant != NULL && json_object_get(json, meant) == NULL)
            return ifm_error_refuse(error, "%s: key \"%s\" is none of a plan's; did you mean \"%s\"?", reading->name, key,
                                    meant);
    }
    return TRUE;
}

static gboolean read_object(Reading *reading, json_t *json, GError **error)
{
    const char *model = NULL, *alias;
    json_t *blocks, *devices = json_object_get(json, "devices"), *device;
    if (!check_keys(reading, json, error) || !check_sizes(reading, json_object_get(json, "sizes"), error) ||
        (json_object_get(json, "model") != NULL && !ifm_json_get_string(json, reading->name, "model", &model, error)))
        return FALSE;
    blocks = json_object_get(json, "plan");
    if (blocks == NULL)
        return ifm_error_refuse(error, "%s: no key \"plan\"; a list of blocks is expected", reading->name);
    if (devices != NULL && !json_is_object(devices))
        return ifm_error_refuse(
            error, "%s: \"devices\" is no object; {\"CPU\": {\"device\": \"openvino:CPU\"}} is expected", reading->name);
    reading->plan->model = g_strdup(model);
    reading->bare = devices == NULL;
    json_object_foreach(devices, alias, device)
    {
        if (!read_device(reading, alias, device, error))
            return FALSE;
    }
    return read_blocks(reading, blocks, error);
}

/* Ratios may be rounded. Those that add up to 1 except for a rounding error of the sum stay unchanged, bit by bit. */
static void scale_ratios(IfmPlan *plan)
{
    for (guint i = 0; i < plan->blocks->len; i++)
    {
        IfmPlanBlock *block = &g_array_index(plan->blocks, IfmPlanBlock, i);
        double sum = 0;
        for (gsize k = 0; k < block->n_devices; k++)
            sum += block->ratios[k];
        for (gsize k = 0; k < block->n_devices && fabs(sum - 1) > 1e-12; k++)
            block->ratios[k] /= sum;
    }
}

static IfmPlan *read_plan(const json_t *json, const char *name, GError **error)
{
    g_autoptr(IfmPlan) plan = ifm_plan_new(NULL);
    Reading reading = { .plan = plan, .name = name, .bare = TRUE };
    if (!json_is_array(json) && !json_is_object(json))
    {
        ifm_error_refuse(error, "%s: neither a list of blocks nor an object with \"plan\"", name);
        return NULL;
    }
    if (json_is_array(json) ? !read_blocks(&reading, json, error) : !read_object(&reading, (json_t *)json, error))
        return NULL;
    const IfmStagedModel *staged = NULL;
    if (plan->model != NULL && (staged = ifm_staged_find(plan->model, error)) == NULL)
    {
        g_prefix_error(error, "%s: model: ", name);
        return NULL;
    }
    if (staged != NULL ? !ifm_plan_check(plan, staged, name, error) : !ifm_plan_check_itself(plan, TRUE, name, error))
        return NULL;
    scale_ratios(plan);
    return g_steal_pointer(&plan);
}

/* Messages contain texts of the document; each message is kept to one line. */
IfmPlan *ifm_plan_from_json(const json_t *json, const char *name, GError **error)
{
    IfmPlan *plan = read_plan(json, name, error);
    if (plan == NULL)
        ifm_error_make_one_line(error);
    return plan;
}

/* --- writing ---------------------------------------------------------------------------------------------------------- */

json_t *ifm_plan_blocks_to_json(const IfmPlan *plan)
{
    json_t *blocks = json_array();
    for (guint i = 0; i < plan->blocks->len; i++)
    {
        const IfmPlanBlock *block = ifm_plan_block(plan, i);
        json_t *aliases = json_array(), *stages = json_array(), *ratios = json_array(), *whole = json_array();
        for (gsize k = 0; k < block->n_devices; k++)
        {
            json_array_append_new(aliases, ifm_json_string(ifm_plan_device(plan, block->devices[k])->alias));
            json_array_append_new(ratios, json_real(block->ratios[k]));
        }
        for (int stage = block->first; stage <= block->last; stage++)
            json_array_append_new(stages, json_integer(stage));
        json_array_append_new(whole, aliases);
        json_array_append_new(whole, stages);
        json_array_append_new(whole, ratios);
        json_array_append_new(blocks, whole);
    }
    return blocks;
}

static json_t *device_to_json(const IfmPlanDevice *device)
{
    json_t *json = json_object();
    if (device->device != NULL)
        json_object_set_new(json, "device", ifm_json_string(device->device));
    json_object_set_new(json, "form", json_string(forms[device->form]));
    if (device->n_sizes == 0)
        return json;
    json_t *sizes = json_array();
    for (gsize i = 0; i < device->n_sizes; i++)
        json_array_append_new(sizes,
                              json_pack("[II]", (json_int_t)device->sizes[i].nodes, (json_int_t)device->sizes[i].edges));
    json_object_set_new(json, "sizes", sizes);
    return json;
}

json_t *ifm_plan_to_json(const IfmPlan *plan)
{
    json_t *json = json_object(), *devices = json_object();
    if (plan->model != NULL)
        json_object_set_new(json, "model", ifm_json_string(plan->model));
    json_object_set_new(json, "plan", ifm_plan_blocks_to_json(plan));
    for (guint i = 0; i < plan->devices->len; i++)
    {
        const IfmPlanDevice *device = ifm_plan_device(plan, (int)i);
        json_object_set_new(devices, device->alias, device_to_json(device));
    }
    json_object_set_new(json, "devices", devices);
    return json;
}
