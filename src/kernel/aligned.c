#include <math.h>

#include <base/fields.h>
#include <base/statistics.h>

#include "aligned.h"

/*
 * The kernels of two runtimes beside each other, by the model's nodes that they compute. Runtimes fuse in ways of their
 * own: kernels are one row where one computes what another does. A product leads to all that share it, since it is where
 * the time is; a kernel without one goes with the kernel that computes most of its nodes, so that a node which one runtime
 * counts to its neighbour does not make one row of both. What computes none of the model's nodes has rows of its own.
 */

#define NO_LAYER G_MAXSIZE

typedef struct
{
    const IfmAlignedSide *sides;
    const IfmModel *model;
    const IfmAnalysis *analysis;
    guint first[3];          /* where the kernels of a side begin, and all end */
    guint *parents;          /* [first[2] + 2] the row of each kernel, then that of moved data and of what is not known */
    GPtrArray *computing[2]; /* [nodes] GArray of guint: the kernels that compute it; NULL: none */
} Aligning;

static const IfmKernel *kernel_at(const Aligning *self, guint at)
{
    const int side = at >= self->first[1];
    return self->sides[side].kernels->rows->pdata[at - self->first[side]];
}

static guint root_of(guint *parents, guint at)
{
    while (parents[at] != at)
        at = parents[at] = parents[parents[at]];
    return at;
}

static void join(Aligning *self, guint a, guint b)
{
    self->parents[root_of(self->parents, a)] = root_of(self->parents, b);
}

static gsize layer_at(const Aligning *self, const IfmKernel *kernel, guint i)
{
    const gsize layer = g_array_index(kernel->layers, gsize, i);
    return layer < ifm_model_n_nodes(self->model) ? layer : NO_LAYER; /* a record of another model */
}

static void list_computing(Aligning *self)
{
    for (guint at = 0; at < self->first[2]; at++)
    {
        const IfmKernel *kernel = kernel_at(self, at);
        GPtrArray *computing = self->computing[at >= self->first[1]];
        for (guint i = 0; kernel->layers != NULL && !kernel->marshalling && i < kernel->layers->len; i++)
        {
            const gsize layer = layer_at(self, kernel, i);
            if (layer == NO_LAYER)
                continue;
            if (computing->pdata[layer] == NULL)
                computing->pdata[layer] = g_array_new(FALSE, FALSE, sizeof(guint));
            g_array_append_val((GArray *)computing->pdata[layer], at);
        }
    }
}

/* Which kernels of either side compute a product of this one. Returns: whether it has one. */
static gboolean join_products(Aligning *self, guint at)
{
    const IfmKernel *kernel = kernel_at(self, at);
    gboolean any = FALSE;
    for (guint i = 0; i < kernel->layers->len; i++)
    {
        const gsize layer = layer_at(self, kernel, i);
        if (layer == NO_LAYER || ifm_analysis_node_cost(self->analysis, layer)->macs <= 0)
            continue;
        any = TRUE;
        for (int side = 0; side < 2; side++)
        {
            const GArray *others = self->computing[side]->pdata[layer];
            for (guint k = 0; others != NULL && k < others->len; k++)
                join(self, at, g_array_index(others, guint, k));
        }
    }
    return any;
}

/* With the kernel of the other side that computes most of its nodes. */
static void join_most(Aligning *self, guint at)
{
    const IfmKernel *kernel = kernel_at(self, at);
    const GPtrArray *computing = self->computing[at < self->first[1]];
    g_autofree guint *counts = g_new0(guint, self->first[2] + 1);
    guint best = self->first[2];
    for (guint i = 0; i < kernel->layers->len; i++)
    {
        const gsize layer = layer_at(self, kernel, i);
        const GArray *others = layer != NO_LAYER ? computing->pdata[layer] : NULL;
        for (guint k = 0; others != NULL && k < others->len; k++)
        {
            const guint other = g_array_index(others, guint, k);
            if (++counts[other] > counts[best] || best == self->first[2])
                best = other;
        }
    }
    if (best < self->first[2])
        join(self, at, best);
}

static void join_all(Aligning *self)
{
    for (guint at = 0; at < self->first[2]; at++)
    {
        const IfmKernel *kernel = kernel_at(self, at);
        if (kernel->layers == NULL || kernel->marshalling)
            join(self, at, self->first[2] + (kernel->marshalling ? 0 : 1));
        else if (!join_products(self, at))
            join_most(self, at);
    }
}

/* --- rounds ------------------------------------------------------------------------------------------------------------
 */

/* Side: @order: node -> its index + 1 among the measurement's; @places: in the lists of @rounds; NULL where there are none
 * of the same nodes. */
typedef struct
{
    GHashTable *order, *places;
    const json_t *means, *rounds;
    double step_ns; /* what the time of a kernel may be off by */
} Side;

static void side_clear(Side *side)
{
    g_clear_pointer(&side->order, g_hash_table_unref);
    g_clear_pointer(&side->places, g_hash_table_unref);
}

/* A runtime may leave out nodes that take no time it can tell. */
static void side_init(Side *self, const IfmAlignedSide *side)
{
    const json_t *op_types = json_object_get(side->nodes, "op_types"), *names = json_object_get(side->nodes, "names");
    const GPtrArray *nodes = side->measurement->nodes;
    g_autoptr(GHashTable) by_name = g_hash_table_new(g_str_hash, g_str_equal);
    const gboolean in_order = json_array_size(op_types) == nodes->len;
    *self = (Side){ g_hash_table_new(NULL, NULL), g_hash_table_new(NULL, NULL), NULL, NULL,
                    ifm_member_number(side->measurement->breakdown, "resolution_ns") };
    self->step_ns = isfinite(self->step_ns) ? self->step_ns : 0;
    for (guint i = 0; i < json_array_size(names); i++)
        g_hash_table_insert(by_name, (gpointer)json_string_value(json_array_get(names, i)), GUINT_TO_POINTER(i + 1));
    for (guint i = 0; i < nodes->len; i++)
    {
        const IfmNodeRow *node = nodes->pdata[i];
        const guint place = in_order ? i + 1 : GPOINTER_TO_UINT(g_hash_table_lookup(by_name, node->name));
        g_hash_table_insert(self->order, (gpointer)node, GUINT_TO_POINTER(i + 1));
        if (place > 0 && g_strcmp0(json_string_value(json_array_get(op_types, place - 1)), node->op_type) == 0)
            g_hash_table_insert(self->places, (gpointer)node, GUINT_TO_POINTER(place));
    }
    const guint n = g_hash_table_size(self->places);
    if (n > 0 && (in_order ? n == nodes->len : 2 * n > nodes->len))
        self->rounds = json_object_get(side->nodes, "rounds");
    self->means = json_object_get(side->measurement->breakdown, "nodes_mean_ns");
    if (json_array_size(self->means) != nodes->len)
        self->means = NULL;
}

static double median_of(GArray *values)
{
    return values->len > 0 ? ifm_quantile_of_array(values, 0.5) : (double)NAN;
}

/* Sums of a row in each round that both sides have; then the middle of the sums, their ratio, and the ends of the rounds'
 * ratios, as far as the clocks of the runtimes tell: those of sums that are off by a step for each of their kernels. */
static void take_rounds(IfmAlignedRow *row, const Side sides[2], GArray *const members[2])
{
    const double steps[2] = { sides[0].step_ns * members[0]->len, sides[1].step_ns * members[1]->len };
    double least = INFINITY, most = 0;
    g_autoptr(GArray) first = g_array_new(FALSE, FALSE, sizeof(double)), second = g_array_copy(first);
    for (gsize round = 0; round < MIN(json_array_size(sides[0].rounds), json_array_size(sides[1].rounds)); round++)
    {
        double sum[2] = { 0, 0 };
        for (int side = 0; side < 2; side++)
        {
            const json_t *times = json_array_get(sides[side].rounds, round);
            for (guint i = 0; i < members[side]->len; i++)
                sum[side] += json_is_array(times)
                                 ? json_number_value(json_array_get(times, g_array_index(members[side], guint, i)))
                                 : (double)NAN;
        }
        const double ratio = sum[1] / sum[0];
        if (!isfinite(ratio) || !(ratio > 0))
            continue;
        least = fmin(least, fmax(sum[1] - steps[1], 0) / (sum[0] + steps[0]));
        most = fmax(most, sum[0] > steps[0] ? (sum[1] + steps[1]) / (sum[0] - steps[0]) : (double)INFINITY);
        g_array_append_val(first, sum[0]);
        g_array_append_val(second, sum[1]);
    }
    row->n_rounds = first->len;
    if (first->len == 0)
        return;
    row->time_ns[0] = median_of(first);
    row->time_ns[1] = median_of(second);
    row->ratio = row->time_ns[1] / row->time_ns[0];
    if (ldexp(1, 1 - (int)MIN(first->len, 1000)) > 1 - IFM_ALIGNED_LEVEL)
        return;
    row->lower = least;
    row->upper = most;
}

/* --- rows --------------------------------------------------------------------------------------------------------------
 */

/* A row under construction. @members: of each side the places of its kernels in the rounds' lists; NULL: it has not begun.
 * @flop: of its costliest layer so far */
typedef struct
{
    IfmAlignedRow row;
    GArray *members[2];
    gint64 flop;
} Building;

static void building_begin(Building *building, int kind)
{
    *building = (Building){
        .row = { .kind = kind, .first = NO_LAYER, .time_ns = { NAN, NAN }, .ratio = NAN, .lower = NAN, .upper = NAN },
        .members = { g_array_new(FALSE, FALSE, sizeof(guint)), g_array_new(FALSE, FALSE, sizeof(guint)) },
        .flop = -1
    };
}

/* Of the profiled runs: the figure that every runtime can give. */
static double mean_of(const Side *side, const IfmNodeRow *node)
{
    const guint place = GPOINTER_TO_UINT(g_hash_table_lookup(side->order, node));
    return side->means != NULL && place > 0 ? json_number_value(json_array_get(side->means, place - 1)) : node->median_ns;
}

/* What one kernel adds to a row: its time, its layers, the name of the costliest. */
static void take_kernel(const Aligning *self, const Side sides[2], Building *building, guint at)
{
    const IfmKernel *kernel = kernel_at(self, at);
    const int side = at >= self->first[1];
    IfmAlignedRow *row = &building->row;
    const guint place = GPOINTER_TO_UINT(g_hash_table_lookup(sides[side].places, kernel->node)) - 1;
    g_array_append_val(building->members[side], place);
    row->time_ns[side] = (isfinite(row->time_ns[side]) ? row->time_ns[side] : 0) + mean_of(&sides[side], kernel->node);
    for (guint i = 0; kernel->layers != NULL && i < kernel->layers->len; i++)
    {
        const gsize layer = layer_at(self, kernel, i);
        if (layer == NO_LAYER)
            continue;
        row->first = MIN(row->first, layer);
        if (ifm_analysis_node_cost(self->analysis, layer)->flop <= building->flop)
            continue;
        building->flop = ifm_analysis_node_cost(self->analysis, layer)->flop;
        row->name = ifm_layer_name(ifm_model_node(self->model, layer));
    }
}

static gint by_place(gconstpointer a, gconstpointer b)
{
    const IfmAlignedRow *x = a, *y = b;
    return x->kind != y->kind ? (x->kind > y->kind) - (x->kind < y->kind) : (x->first > y->first) - (x->first < y->first);
}

static void finish_row(GArray *rows, Building *building, const Side sides[2])
{
    IfmAlignedRow *row = &building->row;
    if (building->members[0] == NULL)
        return;
    if (row->kind != IFM_ALIGNED_LAYER)
        row->name = row->kind == IFM_ALIGNED_MOVED ? "layout changes" : "not known";
    if (building->members[0]->len > 0 && building->members[1]->len > 0)
    {
        row->ratio = row->time_ns[1] / row->time_ns[0];
        take_rounds(row, sides, building->members);
    }
    g_array_append_val(rows, *row);
    g_array_unref(building->members[0]);
    g_array_unref(building->members[1]);
}

static GArray *make_rows(Aligning *self)
{
    GArray *rows = g_array_new(FALSE, TRUE, sizeof(IfmAlignedRow));
    const guint n = self->first[2], moved = root_of(self->parents, n), unknown = root_of(self->parents, n + 1);
    g_autofree Building *building = g_new0(Building, n + 2);
    Side sides[2];
    for (int side = 0; side < 2; side++)
        side_init(&sides[side], &self->sides[side]);
    for (guint at = 0; at < n; at++)
    {
        const guint root = root_of(self->parents, at);
        if (building[root].members[0] == NULL)
            building_begin(&building[root], root == moved     ? IFM_ALIGNED_MOVED
                                            : root == unknown ? IFM_ALIGNED_UNKNOWN
                                                              : IFM_ALIGNED_LAYER);
        take_kernel(self, sides, &building[root], at);
    }
    for (guint root = 0; root < n + 2; root++)
        finish_row(rows, &building[root], sides);
    side_clear(&sides[0]);
    side_clear(&sides[1]);
    g_array_sort(rows, by_place);
    return rows;
}

static void unref_computing(gpointer list)
{
    if (list != NULL)
        g_array_unref(list);
}

GArray *ifm_kernels_align(const IfmAlignedSide sides[2], const IfmModel *model, const IfmAnalysis *analysis)
{
    Aligning self = { .sides = sides, .model = model, .analysis = analysis };
    self.first[1] = sides[0].kernels->rows->len;
    self.first[2] = self.first[1] + sides[1].kernels->rows->len;
    self.parents = g_new(guint, self.first[2] + 2);
    for (guint i = 0; i < self.first[2] + 2; i++)
        self.parents[i] = i;
    for (int side = 0; side < 2; side++)
    {
        self.computing[side] = g_ptr_array_new_with_free_func(unref_computing);
        g_ptr_array_set_size(self.computing[side], (gint)ifm_model_n_nodes(model));
    }
    list_computing(&self);
    join_all(&self);
    GArray *rows = make_rows(&self);
    g_ptr_array_unref(self.computing[0]);
    g_ptr_array_unref(self.computing[1]);
    g_free(self.parents);
    return rows;
}
