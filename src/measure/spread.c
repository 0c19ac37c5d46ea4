#include <float.h>
#include <math.h>
#include <string.h>

#include "spread.h"

/* A spread adds up disturbed runs of a reference, finds what each element may be off by, and judges an engine's output
 * by that. */

#define DB_EQUAL 60
#define DB_UNDETERMINED 20

/*
 * The limits. A few runs know their spread roughly, and where one event moves all of an output at once (a quantiser's flip)
 * one run of N that has it is sqrt(N) times the spread: so what the runs themselves reach is within the limit, too.
 */
#define Z_MAX 1.3
#define RATIO_MAX 2.0
#define WORST_MAX 16.0
#define DB_ENOUGH 124 /* in f32: ten roundings of the output itself and of each part of it, whatever the runs show */
#define PART_FACTOR 4 /* of that power, in a part: there are many */
#define PART_LEAST 64 /* numbers; fewer may all have cancelled */
#define GAIN_MAX 6.0
#define GAIN_LEAST 2e-6 /* a gain that no rounding is told from */
#define OWN_FACTOR 1.1  /* of what the runs reach */
#define FEW_RUNS 3      /* fewer know less: … */
#define FEW_FACTOR 4.0  /* … so many times the limits */
#define ALONE_MAX 3.0   /* wrong integers, of those at which a run stands alone */
#define UNSURE_MAX 0.5

#define CLASSES 31 /* of size, by factors of 4, down to 2^-60 of the largest */
#define SAMPLE_MAX 65536

struct IfmSpread
{
    const IfmTensor *reference;
    gint64 n;
    gboolean is_float;
    int n_runs;
    double *squares;    /* [n] of floats: sum of (y - r)^2 over the runs */
    guint8 *differing;  /* [n] of integers: runs that differ, up to 255; of floats: 1 where finiteness does */
    gint64 stride;      /* of the sample */
    GArray *samples;    /* float: y - r at each sampled element, run after run */
    double power, gain; /* sum of r^2; sum over the runs of (<y - r, r> / <r, r>)^2 */
};

const char *ifm_agreement_name(IfmAgreement agreement)
{
    static const char *const names[] = { "equal", "equal up to quantisation", "undetermined", "different" };
    return names[agreement];
}

/* --- accumulating ------------------------------------------------------------------------------------------------- */

IfmSpread *ifm_spread_new(const IfmTensor *reference)
{
    IfmSpread *self = g_new0(IfmSpread, 1);
    double r[IFM_TENSOR_BLOCK];
    self->reference = reference;
    self->n = ifm_tensor_n_elements(reference);
    self->is_float = ifm_dtype_is_float(reference->dtype);
    self->differing = g_new0(guint8, self->n + 1);
    self->squares = self->is_float ? g_new0(double, self->n + 1) : NULL;
    self->stride = 1 + self->n / SAMPLE_MAX;
    self->samples = g_array_new(FALSE, FALSE, sizeof(float));
    for (gint64 at = 0; self->is_float && at < self->n; at += IFM_TENSOR_BLOCK)
    {
        const int n_here = ifm_tensor_load_block(reference, at, r);
        for (int i = 0; i < n_here; i++)
            self->power += isfinite(r[i]) ? r[i] * r[i] : 0;
    }
    return self;
}

void ifm_spread_free(IfmSpread *self)
{
    if (self == NULL)
        return;
    g_array_unref(self->samples);
    g_free(self->squares);
    g_free(self->differing);
    g_free(self);
}

static gboolean is_like(const IfmTensor *a, const IfmTensor *b)
{
    return a->dtype == b->dtype && ifm_tensor_same_shape(a, b);
}

static gboolean is_same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static void sample(IfmSpread *self, gint64 index, double off)
{
    const float kept = (float)off;
    if (index % self->stride == 0)
        g_array_append_val(self->samples, kept);
}

/* Returns: <y - r, r> over the block. */
static double add_floats(IfmSpread *self, const double *y, const double *r, gint64 at, int n)
{
    double product = 0;
    for (int i = 0; i < n; i++)
    {
        const gboolean both = isfinite(y[i]) && isfinite(r[i]);
        const double off = both ? y[i] - r[i] : 0;
        self->differing[at + i] |= !both && !is_same(y[i], r[i]);
        self->squares[at + i] += off * off;
        product += off * (both ? r[i] : 0);
        sample(self, at + i, off);
    }
    return product;
}

static void add_integers(IfmSpread *self, const IfmTensor *run, gint64 at, int n)
{
    const gsize size = ifm_dtype_size_bytes(run->dtype); /* as bytes: a double does not hold every i64 */
    const guint8 *y = run->data, *r = self->reference->data;
    for (gint64 i = at; i < at + n; i++)
        if (memcmp(y + (gsize)i * size, r + (gsize)i * size, size) != 0 && self->differing[i] < G_MAXUINT8)
            self->differing[i]++;
}

gboolean ifm_spread_add(IfmSpread *self, const IfmTensor *run)
{
    double y[IFM_TENSOR_BLOCK], r[IFM_TENSOR_BLOCK], product = 0;
    if (!is_like(run, self->reference))
        return FALSE;
    for (gint64 at = 0; at < self->n; at += IFM_TENSOR_BLOCK)
    {
        const int n_here = ifm_tensor_load_block(self->reference, at, r);
        ifm_tensor_load_block(run, at, y);
        if (self->is_float)
            product += add_floats(self, y, r, at, n_here);
        else
            add_integers(self, run, at, n_here);
    }
    self->gain += self->power > 0 ? (product / self->power) * (product / self->power) : 0;
    self->n_runs++;
    return TRUE;
}

/* --- what is allowed ---------------------------------------------------------------------------------------------- */

/* Two roundings of 1, and the smallest difference that the type has or that flushing to 0 makes. */
static void roundings_of(IfmDtype dtype, double *of_one, double *least)
{
    *of_one = dtype == IFM_DTYPE_F16    ? 0x1p-10
              : dtype == IFM_DTYPE_BF16 ? 0x1p-7
              : dtype == IFM_DTYPE_F64  ? 0x1p-52
                                        : 0x1p-23;
    *least = dtype == IFM_DTYPE_F16 ? 0x1p-24 : FLT_MIN;
}

static int class_of(double size, double largest)
{
    if (!(size > 0))
        return CLASSES - 1;
    return CLAMP((int)floor(log2(largest / size) / 2), 0, CLASSES - 1);
}

typedef struct
{
    double largest, mean; /* |r|; of all s^2 */
    double of_class[CLASSES];
} Pool;

static void pool_squares(const IfmSpread *self, Pool *pool)
{
    gint64 n_of[CLASSES] = { 0 }, n = 0;
    *pool = (Pool){ 0 };
    for (gint64 i = 0; i < self->n; i++)
    {
        const double size = fabs(ifm_tensor_get_double(self->reference, i));
        pool->largest = isfinite(size) ? fmax(pool->largest, size) : pool->largest;
    }
    for (gint64 i = 0; i < self->n; i++)
    {
        const double size = fabs(ifm_tensor_get_double(self->reference, i));
        if (!isfinite(size) || self->differing[i])
            continue;
        const int class = class_of(size, pool->largest);
        pool->of_class[class] += self->squares[i] / self->n_runs;
        pool->mean += self->squares[i] / self->n_runs;
        n_of[class]++;
        n++;
    }
    for (int class = 0; class < CLASSES; class ++)
        pool->of_class[class] /= (double)MAX(n_of[class], 1);
    pool->mean /= (double)MAX(n, 1);
}

static double allowed_at(const IfmSpread *self, const Pool *pool, gint64 index)
{
    const double r = ifm_tensor_get_double(self->reference, index), size = fabs(r);
    double of_one, least;
    if (self->differing[index])
        return INFINITY;
    if (!isfinite(r))
        return 0;
    roundings_of(self->reference->dtype, &of_one, &least);
    double square = fmax(self->squares[index] / self->n_runs, pool->of_class[class_of(size, pool->largest)]);
    square = size == 0 ? fmax(square, pool->mean) : square;
    /* an output that is 0 throughout has no size: what is below the rounding of 1 is 0 */
    return fmax(sqrt(square), pool->largest == 0 ? of_one : fmax(of_one * size, least));
}

/* The runs against what is allowed, as an engine is: over the sampled elements. */
static void judge_runs(const IfmSpread *self, const float *allowed, IfmSpreadFigures *figures)
{
    const guint n_sampled = self->n_runs > 0 ? self->samples->len / (guint)self->n_runs : 0;
    for (int k = 0; k < self->n_runs; k++)
    {
        double z = 0, off = 0, width = 0;
        gint64 n = 0;
        for (guint i = 0; i < n_sampled; i++)
        {
            const double t = allowed[i * self->stride];
            const double d = g_array_index(self->samples, float, (guint)k *n_sampled + i);
            if (!(t > 0) || isinf(t))
                continue;
            z += d * d / (t * t), off += d * d, width += t * t;
            n++;
        }
        figures->z = fmax(figures->z, n > 0 ? sqrt(z / (double)n) : 0);
        figures->ratio = fmax(figures->ratio, width > 0 ? sqrt(off / width) : 0);
    }
}

static void finish_floats(const IfmSpread *self, float *allowed, IfmSpreadFigures *figures)
{
    Pool pool;
    gint64 n_unsure = 0;
    pool_squares(self, &pool);
    for (gint64 i = 0; i < self->n; i++)
    {
        allowed[i] = (float)allowed_at(self, &pool, i);
        n_unsure += self->differing[i] != 0;
    }
    const double mean_power = self->power / (double)MAX(self->n, 1);
    figures->reference_db = !(pool.mean > 0)    ? INFINITY
                            : !(mean_power > 0) ? -INFINITY
                                                : 10 * log10(mean_power / pool.mean);
    figures->gain = sqrt(self->gain / self->n_runs);
    figures->unsure = (double)n_unsure / (double)MAX(self->n, 1);
    judge_runs(self, allowed, figures);
}

static void finish_integers(const IfmSpread *self, guint8 *agreed, IfmSpreadFigures *figures)
{
    gint64 n_unsure = 0, n_alone = 0;
    for (gint64 i = 0; i < self->n; i++)
    {
        agreed[i] = self->differing[i] == 0;
        n_unsure += self->differing[i] != 0;
        n_alone += self->differing[i] == 1;
    }
    figures->reference_db = INFINITY;
    figures->unsure = (double)n_unsure / (double)MAX(self->n, 1);
    figures->alone = (double)n_alone / self->n_runs;
}

gboolean ifm_spread_finish(IfmSpread *self, IfmTensor *allowed, IfmSpreadFigures *figures, GError **error)
{
    const IfmTensor *reference = self->reference;
    *figures = (IfmSpreadFigures){ .n_runs = self->n_runs };
    g_return_val_if_fail(self->n_runs > 0, FALSE);
    if (!ifm_tensor_init(allowed, self->is_float ? IFM_DTYPE_F32 : IFM_DTYPE_U8, reference->rank, reference->shape, error))
        return FALSE;
    if (self->is_float)
        finish_floats(self, allowed->data, figures);
    else
        finish_integers(self, allowed->data, figures);
    return TRUE;
}

/* --- judging ------------------------------------------------------------------------------------------------------ */

static void judge_integers(const IfmTensor *value, const IfmTensor *reference, const guint8 *agreed,
                           const IfmSpreadFigures *figures, IfmJudgement *judgement)
{
    const gsize size = ifm_dtype_size_bytes(value->dtype);
    const guint8 *v = value->data, *r = reference->data;
    for (gint64 i = 0; i < ifm_tensor_n_elements(reference); i++)
        if (agreed[i] && memcmp(v + (gsize)i * size, r + (gsize)i * size, size) != 0)
        {
            judgement->worst_index = judgement->n_different == 0 ? i : judgement->worst_index;
            judgement->n_different++;
        }
    const double allowed = figures->alone > 0 ? ALONE_MAX * figures->alone + 1 : 0;
    judgement->worst = judgement->n_different > 0 ? INFINITY : 0;
    judgement->share = judgement->n_different > 0 ? (double)judgement->n_different / allowed : 0;
    if ((double)judgement->n_different > allowed)
        judgement->why = "integers";
}

/* Sums over the elements whose difference means something. */
typedef struct
{
    double squares, allowed, shares, products, power; /* of d^2, t^2, (d / t)^2, d r, r^2 */
    gint64 n;
} Sums;

static void add_block(Sums *sums, IfmJudgement *judgement, const double *v, const double *r, const float *t, gint64 at,
                      int n)
{
    for (int i = 0; i < n; i++)
    {
        const double d = v[i] - r[i], allowed = t[i];
        if (isinf(allowed))
            continue;
        if (!isfinite(r[i]) || !isfinite(v[i]))
        {
            /* what is no number in the reference itself may be anything: the inputs mean nothing there */
            judgement->is_meaningless |= isnan(r[i]) && !isnan(v[i]);
            if (is_same(v[i], r[i]) || isnan(r[i]))
                continue;
            judgement->worst_index = judgement->why == NULL ? at + i : judgement->worst_index;
            judgement->worst = INFINITY;
            judgement->why = "not finite";
            judgement->n_different++;
            continue;
        }
        const double share = fabs(d) / allowed;
        sums->squares += d * d, sums->allowed += allowed * allowed;
        sums->shares += share * share;
        sums->products += d * r[i], sums->power += r[i] * r[i];
        sums->n++;
        judgement->n_different += share > 1;
        if (share > judgement->worst)
        {
            judgement->worst = share;
            judgement->worst_index = at + i;
        }
    }
}

/* The parts of an output along an axis, such as its channels: whether each is within what is enough for the whole. One that
 * is a thousand times smaller than the others would not show in their sum. */
static gboolean are_parts_near(const IfmTensor *value, const IfmTensor *reference, const float *allowed, int axis,
                               double share)
{
    const gint64 n = ifm_tensor_n_elements(reference), n_parts = reference->shape[axis];
    gint64 stride = 1;
    for (int k = axis + 1; k < reference->rank; k++)
        stride *= reference->shape[k];
    if (n_parts < 2 || n / n_parts < PART_LEAST)
        return TRUE;
    g_autofree double *squares = g_new0(double, n_parts), *power = g_new0(double, n_parts);
    for (gint64 i = 0; i < n; i++)
    {
        const double r = ifm_tensor_get_double(reference, i), d = ifm_tensor_get_double(value, i) - r;
        if (isinf(allowed[i]) || !isfinite(d))
            continue;
        squares[i / stride % n_parts] += d * d;
        power[i / stride % n_parts] += r * r;
    }
    gboolean all = TRUE;
    for (gint64 part = 0; part < n_parts; part++)
        all &= squares[part] <= PART_FACTOR * share * power[part] + (double)FLT_MIN;
    return all;
}

static gboolean is_near(const IfmTensor *value, const IfmTensor *reference, const float *allowed, const Sums *sums)
{
    const double share = pow(10, -DB_ENOUGH / 10.0);
    gboolean near = reference->dtype != IFM_DTYPE_F64 && sums->squares <= sums->power * share;
    for (int axis = 0; axis < reference->rank && near; axis++)
        near = are_parts_near(value, reference, allowed, axis, share);
    return near;
}

static void judge_floats(const IfmTensor *value, const IfmTensor *reference, const float *allowed,
                         const IfmSpreadFigures *figures, IfmJudgement *judgement)
{
    double v[IFM_TENSOR_BLOCK], r[IFM_TENSOR_BLOCK];
    const double few = figures->n_runs < FEW_RUNS ? FEW_FACTOR : 1;
    Sums sums = { 0 };
    for (gint64 at = 0; at < ifm_tensor_n_elements(reference); at += IFM_TENSOR_BLOCK)
    {
        ifm_tensor_load_block(value, at, v);
        add_block(&sums, judgement, v, r, allowed + at, at, ifm_tensor_load_block(reference, at, r));
    }
    judgement->z = sums.n > 0 ? sqrt(sums.shares / (double)sums.n) : 0;
    judgement->ratio = sums.allowed > 0 ? sqrt(sums.squares / sums.allowed) : 0;
    judgement->gain = sums.power > 0 ? sums.products / sums.power : 0;
    if (judgement->why != NULL)
    {
        judgement->share = INFINITY;
        return;
    }
    const struct
    {
        double share;
        const char *why;
    } limits[] = { { judgement->z / fmax(Z_MAX, OWN_FACTOR * figures->z), "off" },
                   { judgement->ratio / fmax(RATIO_MAX, OWN_FACTOR * figures->ratio), "off" },
                   { fabs(judgement->gain) / fmax(GAIN_LEAST, GAIN_MAX * (figures->gain + 0x1p-24)), "scaled" },
                   { judgement->worst / WORST_MAX, "one element" } };
    for (gsize i = 0; i < G_N_ELEMENTS(limits); i++)
    {
        judgement->share = fmax(judgement->share, limits[i].share / few);
        if (limits[i].share / few > 1 && judgement->why == NULL)
            judgement->why = limits[i].why;
    }
    if (judgement->why != NULL && is_near(value, reference, allowed, &sums))
        judgement->why = NULL;
}

static IfmAgreement by_spread(const IfmSpreadFigures *figures)
{
    if (figures->unsure > UNSURE_MAX || figures->reference_db < DB_UNDETERMINED)
        return IFM_AGREEMENT_UNDETERMINED;
    return figures->reference_db < DB_EQUAL ? IFM_AGREEMENT_QUANTISATION : IFM_AGREEMENT_EQUAL;
}

IfmAgreement ifm_spread_judge(const IfmTensor *value, const IfmTensor *reference, const IfmTensor *allowed,
                              const IfmSpreadFigures *figures, IfmJudgement *judgement)
{
    *judgement = (IfmJudgement){ .worst_index = -1 };
    if (!is_like(value, reference))
        judgement->why = "shape";
    else if (ifm_dtype_is_float(reference->dtype))
        judge_floats(value, reference, allowed->data, figures, judgement);
    else
        judge_integers(value, reference, allowed->data, figures, judgement);
    const gboolean is_plain = g_strcmp0(judgement->why, "shape") == 0 || g_strcmp0(judgement->why, "not finite") == 0;
    const IfmAgreement agreement = judgement->is_meaningless ? IFM_AGREEMENT_UNDETERMINED : by_spread(figures);
    if (agreement == IFM_AGREEMENT_UNDETERMINED && !is_plain)
        judgement->why = NULL;
    return judgement->why != NULL ? IFM_AGREEMENT_DIFFERENT : agreement;
}

gboolean ifm_spread_is_within(const float *value, const float *reference, const float *allowed, gint64 n,
                              const IfmSpreadFigures *figures)
{
    gint64 n_beyond = 0, n_far = 0;
    for (gint64 i = 0; i < n; i++)
    {
        const float off = fabsf(value[i] - reference[i]);
        n_beyond += !(off <= allowed[i]);
        n_far += !(off <= 2 * allowed[i]); /* a NaN is far, too */
    }
    return n_far == 0 && by_spread(figures) < IFM_AGREEMENT_UNDETERMINED &&
           (double)(n + 3 * n_beyond) <= Z_MAX * Z_MAX * (double)n;
}
