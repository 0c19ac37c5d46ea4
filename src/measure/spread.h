#pragma once
#include <base/tensor.h>

G_BEGIN_DECLS

/*
 * What an engine's output may differ by, out of the model itself (Monte Carlo arithmetic): the reference is run several
 * times with every rounding disturbed, and the spread at each element is what a right answer may be off by there.
 *
 *     ifm_spread_new(reference), ifm_spread_add(run) for each disturbed run, ifm_spread_finish()  ->  allowed, figures
 *     ifm_spread_judge(value, reference, allowed, figures)  ->  a verdict
 *
 * Source: Parker, Monte Carlo Arithmetic (1997); Denis, de Oliveira Castro, Petit, Verificarlo (2016).
 */

/** IfmAgreement: from the best to the worst: that of a model is the largest of its outputs'. */
typedef enum
{
    IFM_AGREEMENT_EQUAL,        /* no more off than rounding makes it */
    IFM_AGREEMENT_QUANTISATION, /* the same, of a model whose own roundings show in its third digit */
    IFM_AGREEMENT_UNDETERMINED, /* these inputs leave the output to chance: no engine has a match or a mismatch */
    IFM_AGREEMENT_DIFFERENT,
} IfmAgreement;
/** ifm_agreement_name: "equal", "equal up to quantisation", "undetermined", "different". */
const char *ifm_agreement_name(IfmAgreement agreement);

/** IfmSpreadFigures: of one output, over its disturbed runs.
 * @n_runs: 0: no run, no verdict
 * @reference_db: the reference against its disturbed runs, 10 log10(mean r^2 / mean s^2); INFINITY without any spread
 * @gain: root mean square of the runs' <y, r> / <r, r> - 1
 * @z, @ratio: the largest of the runs, judged as an engine is
 * @alone: of integers: elements at which a run differs from all others, mean of the runs
 * @unsure: the share of elements at which the runs disagree: integers that differ, or finite in one and not in another
 */
typedef struct
{
    double n_runs, reference_db, gain, z, ratio, alone, unsure;
} IfmSpreadFigures;
#define IFM_SPREAD_N_FIGURES (sizeof(IfmSpreadFigures) / sizeof(double))

typedef struct IfmSpread IfmSpread;
/** ifm_spread_new: @reference: contiguous numbers in host memory; borrowed until it is freed */
IfmSpread *ifm_spread_new(const IfmTensor *reference);
void ifm_spread_free(IfmSpread *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmSpread, ifm_spread_free)
/** ifm_spread_add: A disturbed run. Holds sums, not the run. Returns: FALSE where its type or shape is another one. */
gboolean ifm_spread_add(IfmSpread *self, const IfmTensor *run);
/**
 * ifm_spread_finish: Equals, of floats, for the element i, over the N runs y_k:
 *     s_i^2 = mean_k (y_k,i - r_i)^2
 *     allowed_i = max(s_i, root mean square of s where |r| is in the same factor of 4, two roundings of r_i);
 *                 where r_i = 0 also the root mean square of all s;  INFINITY where finite in one run and not in another
 * @allowed: (out) allocated, of the reference's shape: f32; of integers u8, 1 where all runs agree
 */
gboolean ifm_spread_finish(IfmSpread *self, IfmTensor *allowed, IfmSpreadFigures *figures, GError **error);

/**
 * IfmJudgement: an engine's output beside the reference; d = value - r, t = allowed.
 * @why: what is different, NULL where nothing is: "shape", "not finite", "off" (z, ratio), "one element" (worst), "scaled"
 * (gain), "integers"
 * @z: root mean square of d / t    @ratio: of d over that of t    @worst: max |d| / t    @gain: <d, r> / <r, r>
 * @worst_index: where that is, row-major; of integers the first wrong one; -1 where all are equal
 * @n_different: elements with |d| > t, or wrong integers
 * @share: the largest of all figures, each by its limit: above 1 where they are different
 * @is_meaningless: it has numbers where r has none (NaN): undetermined at best
 */
typedef struct
{
    const char *why;
    double z, ratio, worst, gain, share;
    gint64 worst_index, n_different;
    gboolean is_meaningless;
} IfmJudgement;
/**
 * ifm_spread_judge:
 * Different: a NaN or infinity where r has none, or another shape; z, ratio, worst or gain beyond what the runs themselves
 * show (docs/measuring.md has the limits); integers that are wrong where the runs agree. Undetermined: the spread is above
 * -20 dB of the reference, or half of the elements are unsure: never "different" for what it is off by. Otherwise equal,
 * and up to quantisation where the spread is above -60 dB.
 * @allowed, @figures: of ifm_spread_finish()
 */
IfmAgreement ifm_spread_judge(const IfmTensor *value, const IfmTensor *reference, const IfmTensor *allowed,
                              const IfmSpreadFigures *figures, IfmJudgement *judgement);

/** ifm_spread_is_within: Whether floats are within what ifm_spread_judge() calls different, without a branch on the way:
 * for outputs that pass by within a timed run. All |d| are within 2 t, and few enough beyond t, that z and ratio are within
 * their limits. FALSE: not known; the gain is not looked at. @value, @reference, @allowed: [n] */
gboolean ifm_spread_is_within(const float *value, const float *reference, const float *allowed, gint64 n,
                              const IfmSpreadFigures *figures);

G_END_DECLS
