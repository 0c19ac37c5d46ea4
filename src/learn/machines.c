/* Machines that samples are from: their description, and what the trees see of them. */
#include <math.h>
#include <string.h>

#include <base/base.h>
#include <base/statistics.h>

#include "learn-private.h"

/* --- descriptions -------------------------------------------------------------------------------------------------------
 */

#define FEATURE(member) IFM_RECORD_AS(DOUBLE, LearnMachine, self.features.member, #member)

const IfmRecordField learn_machine_fields[] = {
    { IFM_RECORD_AS(TEXT, LearnMachine, self.name, "name") },
    { FEATURE(flop_per_s) },
    { FEATURE(bytes_per_s) },
    { FEATURE(cache_bytes) },
    { FEATURE(cache_bytes_per_s) },
    { FEATURE(cores) },
    { FEATURE(clock_hz) },
    { IFM_RECORD(DOUBLE, LearnMachine, left_out) },
    { NULL },
};

/* A file has no NaN: there 0 is unknown. */
typedef struct
{
    IfmPlace place;
    char *name;
    IfmMachineFeatures features;
} MachineText;

#define NUMBER(member, ...) IFM_FIELD_AS(DOUBLE, MachineText, features.member, #member, .max = 1e18, __VA_ARGS__)

static const IfmRecordField file_fields[] = {
    IFM_FIELD(PLACE, MachineText, place),
    IFM_FIELD_AS(STRING, MachineText, name, "machine", .required = TRUE, .help = "as the column Machine has it"),
    NUMBER(flop_per_s, .required = TRUE, .min = 1e6, .help = "peak, of the number format of the data"),
    NUMBER(bytes_per_s, .required = TRUE, .min = 1e6, .help = "bandwidth of memory"),
    NUMBER(cores, .required = TRUE, .min = 1, .help = "that share the work of a kernel; of a GPU its multiprocessors"),
    NUMBER(cache_bytes, .help = "last level of cache, which all cores share"),
    NUMBER(cache_bytes_per_s, .help = "bandwidth of that cache"),
    NUMBER(clock_hz, .help = "of a core"),
    { 0 },
};

void ifm_machine_free(IfmMachine *machine)
{
    if (machine != NULL)
        g_free(machine->name);
    g_free(machine);
}

IfmMachine *ifm_machine_read(const char *path, GError **error)
{
    MachineText *text = ifm_yaml_read(file_fields, sizeof *text, path, error);
    if (text == NULL)
        return NULL;
    IfmMachine *machine = g_new0(IfmMachine, 1);
    *machine = (IfmMachine){ g_steal_pointer(&text->name), text->features };
    double *optional[] = { &machine->features.cache_bytes, &machine->features.cache_bytes_per_s,
                           &machine->features.clock_hz };
    for (gsize i = 0; i < G_N_ELEMENTS(optional); i++)
        if (!(*optional[i] > 0))
            *optional[i] = (double)NAN;
    ifm_record_free(text, file_fields);
    return machine;
}

/* --- those of samples ---------------------------------------------------------------------------------------------------
 */

static void machine_free(LearnMachine *machine)
{
    ifm_record_free(machine, learn_machine_fields);
}

GPtrArray *learn_machines_new(void)
{
    return g_ptr_array_new_with_free_func((GDestroyNotify)machine_free);
}

void learn_machines_copy(GPtrArray *to, const LearnCases *cases, const gboolean *use)
{
    g_autofree gboolean *used = g_new0(gboolean, cases->machines->len + 1);
    for (guint i = 0; i < cases->cases->len; i++)
        used[learn_case(cases, i)->machine] |= use[i];
    for (guint i = 0; i < cases->machines->len; i++)
    {
        LearnMachine *copy = used[i] ? g_memdup2(cases->machines->pdata[i], sizeof *copy) : NULL;
        if (copy == NULL)
            continue;
        copy->self.name = g_strdup(copy->self.name);
        g_ptr_array_add(to, copy);
    }
}

guint learn_machines_at(const GPtrArray *machines, const char *name)
{
    guint i = 0;
    while (i < machines->len && g_strcmp0(learn_machine(machines, i)->self.name, name) != 0)
        i++;
    return i;
}

/* The first feature that must be known and is not; NULL: none. */
static const char *lacking(const IfmMachineFeatures *features)
{
    return !(features->flop_per_s > 0)    ? "Machine_FLOP_per_s"
           : !(features->bytes_per_s > 0) ? "Machine_Bytes_per_s"
           : !(features->cores > 0)       ? "Machine_Cores"
                                          : NULL;
}

static gboolean is_same(const IfmMachineFeatures *a, const IfmMachineFeatures *b)
{
    const double *x = (const double *)(const void *)a, *y = (const double *)(const void *)b;
    for (gsize i = 0; i < sizeof *a / sizeof *x; i++)
        if (!(x[i] == y[i] || (isnan(x[i]) && isnan(y[i]))))
            return FALSE;
    return TRUE;
}

/* The machine of a sample among them, which it is added to. */
static gboolean add_machine(GPtrArray *machines, const IfmKernelSample *sample, GError **error)
{
    const char *name = sample->machine != NULL ? sample->machine : "";
    const guint at = learn_machines_at(machines, name);
    if (at < machines->len)
        return is_same(&learn_machine(machines, at)->self.features, &sample->place) ||
               ifm_error_refuse(error, "rows of %s describe it in two ways (Machine_FLOP_per_s and so on)", name);
    LearnMachine *machine = g_new0(LearnMachine, 1);
    *machine = (LearnMachine){ { g_strdup(name), sample->place }, (double)NAN };
    g_ptr_array_add(machines, machine);
    return machines->len <= LEARN_MAX_MACHINES ||
           ifm_error_refuse(error, "rows of more than %d machines", LEARN_MAX_MACHINES);
}

/* Whether two samples name two machines. */
gboolean learn_machines_are_several(const IfmKernelSamples *samples)
{
    const char *first = NULL;
    for (gsize i = 0; i < ifm_kernel_samples_n(samples); i++)
    {
        const char *name = ifm_kernel_samples_at(samples, i)->machine;
        if (name == NULL || *name == '\0')
            continue;
        if (first != NULL && !g_str_equal(first, name))
            return TRUE;
        first = name;
    }
    return FALSE;
}

gboolean learn_machines_find(GPtrArray *machines, const IfmKernelSamples *samples, GError **error)
{
    if (!learn_machines_are_several(samples))
        return TRUE;
    for (gsize i = 0; i < ifm_kernel_samples_n(samples); i++)
        if (!add_machine(machines, ifm_kernel_samples_at(samples, i), error))
            return FALSE;
    for (guint i = 0; i < machines->len; i++)
    {
        const IfmMachine *machine = &learn_machine(machines, i)->self;
        if (*machine->name == '\0')
            return ifm_error_refuse(error, "samples of several machines, and some whose Machine is empty");
        if (lacking(&machine->features) != NULL)
            return ifm_error_refuse(
                error,
                "samples of %u machines, and \"%s\" is not described (%s): learn from one, describe each "
                "(train --machines), or name what they are",
                machines->len, machine->name, lacking(&machine->features));
    }
    return TRUE;
}

/* --- what the trees see -------------------------------------------------------------------------------------------------
 */

/* Chosen, like the share of the features that a tree sees, by leaving out one machine at a time of public data. */
const char *const learn_machine_features[] = {
    "compute_ns",
    "memory_ns",
    "balance",
    "cache_share",
    "waves_64x64",
    "waves_128x64",
    "waves_128x128",
    "waves_256x128",
    "tail_64x64",
    "tail_128x64",
    "tail_128x128",
    "tail_256x128",
    "padding_64x64",
    "padding_128x64",
    "padding_128x128",
    "padding_256x128",
    "outputs_a_core",
    "operator",
    "machine_balance",
    "machine_cores",
    "machine_flop_per_s_a_core",
    "machine_bytes_per_s_a_core",
    NULL,
};
#define N_MACHINE (G_N_ELEMENTS(learn_machine_features) - 1)
/* Standard deviation of the logarithm of a number of a machine; chosen, too, by leaving out one machine at a time. */
#define BLUR 0.1

/* Tile: of the output of a matrix product, one core computes it. */
typedef struct
{
    double rows, columns;
} Tile;
static const Tile tiles[] = { { 64, 64 }, { 128, 64 }, { 128, 128 }, { 256, 128 } };
#define N_TILES G_N_ELEMENTS(tiles)

static double known(double value)
{
    return value > 0 ? value : 0;
}

double learn_machine_roofline_ns(const IfmMachineFeatures *place, const IfmKernelSample *sample)
{
    return 1e9 * MAX(known(sample->flop) / place->flop_per_s, learn_bytes(sample) / place->bytes_per_s);
}

/* Waves: how often all cores compute a tile each until the product is done. NaN: no product
 * @tail: whole waves over these    @padding: whole tiles over the output; both at least 1 */
static void count_waves(const IfmKernelSample *sample, double cores, const Tile *tile, double *waves, double *tail,
                        double *padding)
{
    const IfmKernelFeatures *shape = &sample->features;
    const double work = 2 * shape->m * shape->k * shape->n;
    *waves = *tail = *padding = (double)NAN;
    if (!(work > 0))
        return;
    const double products = fmax(round(known(sample->flop) / work), 1);
    const double n = ceil(shape->m / tile->rows) * ceil(shape->n / tile->columns);
    *waves = products * n / cores;
    *tail = ceil(*waves) / *waves;
    *padding = n * tile->rows * tile->columns / (shape->m * shape->n);
}

/* In the order of learn_machine_features. */
void learn_fill_machine(const IfmMachineFeatures *place, const IfmKernelSample *sample, double operator_number, float *row)
{
    const double compute_ns = 1e9 * known(sample->flop) / place->flop_per_s;
    const double memory_ns = 1e9 * learn_bytes(sample) / place->bytes_per_s;
    double waves[N_TILES], tails[N_TILES], paddings[N_TILES];
    for (gsize i = 0; i < N_TILES; i++)
        count_waves(sample, place->cores, &tiles[i], &waves[i], &tails[i], &paddings[i]);
    const double all[N_MACHINE] = {
        compute_ns,
        memory_ns,
        log((compute_ns + 1) / (memory_ns + 1)),
        learn_bytes(sample) / place->cache_bytes,
        waves[0],
        waves[1],
        waves[2],
        waves[3],
        tails[0],
        tails[1],
        tails[2],
        tails[3],
        paddings[0],
        paddings[1],
        paddings[2],
        paddings[3],
        known(sample->output_bytes) / place->cores,
        operator_number,
        place->flop_per_s / place->bytes_per_s,
        place->cores,
        place->flop_per_s / place->cores,
        place->bytes_per_s / place->cores,
    };
    for (gsize i = 0; i < N_MACHINE; i++)
        row[i] = (float)all[i];
}

gssize learn_operator_column(const IfmLatencyModel *model)
{
    gssize column = 0;
    while (learn_base_features[column] != NULL)
        column++;
    for (gsize i = 0; model->machines->len > 0 && learn_machine_features[i] != NULL; i++, column++)
        if (g_str_equal(learn_machine_features[i], "operator"))
            return column;
    return -1;
}

void learn_blur_machine(const IfmLatencyModel *model, const IfmKernelSample *sample, GRand *random, float *row)
{
    const gsize first = g_strv_length((GStrv)learn_base_features);
    IfmMachineFeatures blurred = *learn_place(model, sample);
    double *numbers[] = { &blurred.flop_per_s, &blurred.bytes_per_s, &blurred.cores };
    float other[N_MACHINE];
    for (gsize i = 0; i < G_N_ELEMENTS(numbers); i++)
        *numbers[i] *= exp(BLUR * ifm_normal_deviate(random));
    learn_fill_machine(&blurred, sample, (double)NAN, other);
    for (gsize i = 0; i < N_MACHINE; i++)
        if (g_str_has_prefix(learn_machine_features[i], LEARN_MACHINE_PREFIX))
            row[first + i] = other[i];
}

/* --- that which is predicted for ----------------------------------------------------------------------------------------
 */

const IfmMachineFeatures *learn_place(const IfmLatencyModel *model, const IfmKernelSample *sample)
{
    return model->machines->len == 0         ? NULL
           : lacking(&sample->place) == NULL ? &sample->place
           : model->place.name != NULL       ? &model->place.features
                                             : &learn_machine(model->machines, 0)->self.features;
}

double learn_place_bound(const IfmLatencyModel *model, const IfmMachineFeatures *place)
{
    double bound = 0;
    for (guint i = 0; i < model->machines->len; i++)
    {
        if (is_same(&learn_machine(model->machines, i)->self.features, place))
            return 0;
        bound = fmax(bound, learn_machine(model->machines, i)->left_out); /* fmax: a NaN is passed over */
    }
    return bound;
}

const IfmMachine *ifm_latency_model_find_machine(const IfmLatencyModel *model, const char *name)
{
    const guint at = learn_machines_at(model->machines, name);
    return at < model->machines->len ? &learn_machine(model->machines, at)->self : NULL;
}

/* (transfer full) names of the machines that a model was learnt on, in one line */
static char *name_machines(const IfmLatencyModel *model)
{
    GString *names = g_string_new(NULL);
    for (guint i = 0; i < model->machines->len; i++)
        g_string_append_printf(names, "%s%s", i > 0 ? ", " : "", learn_machine(model->machines, i)->self.name);
    return g_string_free(names, FALSE);
}

gboolean ifm_latency_model_place(IfmLatencyModel *model, const IfmMachine *machine, GError **error)
{
    if (machine == NULL && model->machines->len > 0)
    {
        g_autofree char *names = name_machines(model);
        return ifm_error_refuse(
            error, "the model was learnt on %u machines (%s): --device says which of them, or describes another",
            model->machines->len, names);
    }
    if (machine != NULL && model->machines->len == 0)
        return ifm_error_refuse(error,
                                "%s: the model was learnt on one machine%s%s and knows nothing of others: train it on rows "
                                "of several that are described",
                                machine->name, *model->machine != '\0' ? ", " : "", model->machine);
    g_clear_pointer(&model->place.name, g_free);
    if (machine != NULL)
        model->place = (IfmMachine){ g_strdup(machine->name), machine->features };
    return TRUE;
}

char *ifm_latency_model_outside_machines(const IfmLatencyModel *model)
{
    GString *text = g_string_new(NULL);
    for (const IfmRecordField *field = learn_machine_fields; model->place.name != NULL && field->name != NULL; field++)
    {
        double low = (double)INFINITY, high = -(double)INFINITY;
        const LearnMachine here = { model->place, (double)NAN };
        const double value = ifm_record_number(&here, learn_machine_fields, field->name);
        for (guint i = 0; i < model->machines->len; i++)
        {
            const double other = ifm_record_number(learn_machine(model->machines, i), learn_machine_fields, field->name);
            low = fmin(low, other);
            high = fmax(high, other);
        }
        if (value < low || value > high)
            g_string_append_printf(text, "%s%s %.3g, learnt from %.3g to %.3g", text->len > 0 ? "; " : "", field->name,
                                   value, low, high);
    }
    return g_string_free(text, text->len == 0);
}
