#include <float.h>
#include <math.h>
#include <string.h>

#include "measure/spread.h"

#define N 400

static IfmTensor of(IfmDtype dtype, gint64 n, void *data)
{
    IfmTensor tensor;
    g_assert_true(ifm_tensor_wrap(&tensor, dtype, 1, &n, data, NULL));
    return tensor;
}

/* A reference of f32 with runs that differ from it by noise of a known size at each element. */
typedef struct
{
    float reference[N], noise[N];
    IfmTensor tensor, allowed;
    IfmSpreadFigures figures;
    GRand *random;
} Made;

static void draw(Made *made, double factor, float *run)
{
    for (int i = 0; i < N; i++) /* uniform in +-sqrt(3): of variance 1 */
        run[i] = made->reference[i] +
                 (float)(factor * (double)made->noise[i] * g_rand_double_range(made->random, -sqrt(3), sqrt(3)));
}

static void made_clear(Made *made)
{
    ifm_tensor_clear(&made->allowed);
    g_rand_free(made->random);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Made, made_clear)

static void make(Made *made, double share, int n_runs)
{
    float run[N];
    memset(made, 0, sizeof *made);
    made->random = g_rand_new_with_seed(7);
    for (int i = 0; i < N; i++)
    {
        made->reference[i] = (float)g_rand_double_range(made->random, -2, 2);
        made->noise[i] = (float)share * fabsf(made->reference[i]);
    }
    made->tensor = of(IFM_DTYPE_F32, N, made->reference);
    g_autoptr(IfmSpread) spread = ifm_spread_new(&made->tensor);
    for (int k = 0; k < n_runs; k++)
    {
        draw(made, 1, run);
        const IfmTensor tensor = of(IFM_DTYPE_F32, N, run);
        g_assert_true(ifm_spread_add(spread, &tensor));
    }
    g_assert_true(ifm_spread_finish(spread, &made->allowed, &made->figures, NULL));
}

static IfmAgreement judge(const Made *made, float *value, IfmJudgement *judgement)
{
    const IfmTensor tensor = of(IFM_DTYPE_F32, N, value);
    return ifm_spread_judge(&tensor, &made->tensor, &made->allowed, &made->figures, judgement);
}

/* By hand: runs 1.5 and 0.5 of 1, 8 and 10 of 8; -8 stands in the class of 8, 0 has the mean. */
static void test_allowed(void)
{
    float reference[] = { 1, 8, -8, 0 }, runs[2][4] = { { 1.5, 8, -8, 0 }, { 0.5, 10, -8, 0 } };
    const IfmTensor tensor = of(IFM_DTYPE_F32, 4, reference);
    g_auto(IfmTensor) allowed = IFM_TENSOR_INIT;
    IfmSpreadFigures figures;
    g_autoptr(IfmSpread) spread = ifm_spread_new(&tensor);
    for (int k = 0; k < 2; k++)
    {
        const IfmTensor run = of(IFM_DTYPE_F32, 4, runs[k]);
        g_assert_true(ifm_spread_add(spread, &run));
    }
    g_assert_true(ifm_spread_finish(spread, &allowed, &figures, NULL));
    const float *t = allowed.data;
    const double mean = (0.25 + 2) / 4;                     /* of s^2: 0.25, 2, 0, 0 */
    g_assert_cmpfloat_with_epsilon(t[0], 0.5, 1e-6);        /* its own, alone in its class */
    g_assert_cmpfloat_with_epsilon(t[1], sqrt(2), 1e-6);    /* its own */
    g_assert_cmpfloat_with_epsilon(t[2], 1, 1e-6);          /* its class's: (2 + 0) / 2 */
    g_assert_cmpfloat_with_epsilon(t[3], sqrt(mean), 1e-6); /* a 0: that of all */
    g_assert_cmpfloat_with_epsilon(figures.reference_db, 10 * log10((1 + 64 + 64) / 4.0 / mean), 1e-9);
    /* <y - r, r> / <r, r>: 0.5 / 129 and (-0.5 + 16) / 129 */
    g_assert_cmpfloat_with_epsilon(figures.gain, sqrt((0.25 + 15.5 * 15.5) / 2) / 129, 1e-12);
    g_assert_cmpfloat(figures.n_runs, ==, 2);
}

static void test_honest(void)
{
    for (int n_runs = 1; n_runs <= 8; n_runs++)
    {
        g_auto(Made) made;
        make(&made, 1e-6, n_runs);
        for (int k = 0; k < 50; k++)
        {
            float value[N];
            IfmJudgement judgement;
            draw(&made, 1, value);
            g_assert_cmpint(judge(&made, value, &judgement), ==, IFM_AGREEMENT_EQUAL);
            g_assert_null(judgement.why);
            g_assert_cmpfloat(judgement.z, <, n_runs >= 3 ? 1.3 : 5.2);
        }
    }
}

static void test_faults(void)
{
    g_auto(Made) made;
    IfmJudgement judgement;
    float value[N];
    make(&made, 1e-6, 5);
    draw(&made, 3, value); /* three times the noise, everywhere */
    g_assert_cmpint(judge(&made, value, &judgement), ==, IFM_AGREEMENT_DIFFERENT);
    g_assert_cmpstr(judgement.why, ==, "off");
    draw(&made, 1, value); /* one element, by 30 times what is allowed there: too few to show in the sums */
    value[123] += 18 * ((const float *)made.allowed.data)[123];
    g_assert_cmpint(judge(&made, value, &judgement), ==, IFM_AGREEMENT_DIFFERENT);
    g_assert_cmpstr(judgement.why, ==, "one element");
    g_assert_cmpint(judgement.worst_index, ==, 123);
    for (int i = 0; i < N; i++) /* all by the same share, less than the noise of any one of them */
        value[i] = (float)((double)made.reference[i] * (1 + 3e-6 / 4));
    g_assert_cmpint(judge(&made, value, &judgement), ==, IFM_AGREEMENT_EQUAL);
    g_auto(Made) coarse;
    make(&coarse, 1e-4, 5);
    for (int i = 0; i < N; i++)
        value[i] = (float)((double)coarse.reference[i] * (1 + 0.9e-4));
    g_assert_cmpint(judge(&coarse, value, &judgement), ==, IFM_AGREEMENT_DIFFERENT);
    g_assert_cmpstr(judgement.why, ==, "scaled");
    g_assert_cmpfloat(judgement.z, <, 1.3);
    g_assert_cmpfloat_with_epsilon(judgement.gain, 0.9e-4, 1e-6);
    memcpy(value, made.reference, sizeof value);
    value[5] = NAN;
    g_assert_cmpint(judge(&made, value, &judgement), ==, IFM_AGREEMENT_DIFFERENT);
    g_assert_cmpstr(judgement.why, ==, "not finite");
    g_assert_cmpint(judgement.worst_index, ==, 5);
}

/* 0.3 of the size is 10 dB: nothing is told; 1e-2 is 40 dB. */
static void test_words(void)
{
    g_auto(Made) vague, coarse;
    IfmJudgement judgement;
    float value[N];
    make(&vague, 0.3, 5);
    make(&coarse, 1e-2, 5);
    draw(&coarse, 1, value);
    g_assert_cmpint(judge(&coarse, value, &judgement), ==, IFM_AGREEMENT_QUANTISATION);
    for (int i = 0; i < N; i++)
        value[i] = -vague.reference[i]; /* as wrong as can be, and yet: */
    g_assert_cmpint(judge(&vague, value, &judgement), ==, IFM_AGREEMENT_UNDETERMINED);
    g_assert_null(judgement.why);
    value[0] = INFINITY;
    g_assert_cmpint(judge(&vague, value, &judgement), ==, IFM_AGREEMENT_DIFFERENT);
    const gint64 other = N - 1;
    IfmTensor shorter;
    g_assert_true(ifm_tensor_wrap(&shorter, IFM_DTYPE_F32, 1, &other, value, NULL));
    g_assert_cmpint(ifm_spread_judge(&shorter, &vague.tensor, &vague.allowed, &vague.figures, &judgement), ==,
                    IFM_AGREEMENT_DIFFERENT);
    g_assert_cmpstr(judgement.why, ==, "shape");
}

/* One event moves all of the output at once, in one run of five. An engine to which it happens is no worse than that run.
 */
static void test_rare_event(void)
{
    float reference[N], moved[N];
    for (int i = 0; i < N; i++)
    {
        reference[i] = 1 + (float)i / N;
        moved[i] = reference[i] + 0.01F * (i % 2 ? 1 : -1);
    }
    const IfmTensor tensor = of(IFM_DTYPE_F32, N, reference), run = of(IFM_DTYPE_F32, N, moved);
    g_auto(IfmTensor) allowed = IFM_TENSOR_INIT;
    IfmSpreadFigures figures;
    IfmJudgement judgement;
    g_autoptr(IfmSpread) spread = ifm_spread_new(&tensor);
    for (int k = 0; k < 5; k++)
        g_assert_true(ifm_spread_add(spread, k == 2 ? &run : &tensor));
    g_assert_true(ifm_spread_finish(spread, &allowed, &figures, NULL));
    g_assert_cmpint(ifm_spread_judge(&run, &tensor, &allowed, &figures, &judgement), ==, IFM_AGREEMENT_QUANTISATION);
    g_assert_cmpfloat(judgement.z, >, 2);
    for (int i = 0; i < N; i++)
        moved[i] = reference[i] + 1.2F * (moved[i] - reference[i]);
    g_assert_cmpint(ifm_spread_judge(&run, &tensor, &allowed, &figures, &judgement), ==, IFM_AGREEMENT_DIFFERENT);
}

/* The quick look passes what the other calls equal, mostly, and nothing that it does not. */
static void test_quick(void)
{
    int n_passed = 0;
    for (int k = 0; k < 200; k++)
    {
        g_auto(Made) made;
        IfmJudgement judgement;
        float value[N];
        make(&made, k % 2 == 0 ? 1e-6 : 1e-2, 5);
        const double factor = 0.2 + k / 100.0;
        draw(&made, factor, value);
        if (k % 10 == 9)
            value[k] = NAN;
        const gboolean quick = ifm_spread_is_within(value, made.reference, made.allowed.data, N, &made.figures);
        const IfmAgreement agreement = judge(&made, value, &judgement);
        n_passed += quick;
        g_assert_true(!quick || agreement < IFM_AGREEMENT_UNDETERMINED);
        g_assert_true(quick || factor > 0.5 || isnan(value[k])); /* such as engines mostly are: passed at once */
    }
    g_assert_cmpint(n_passed, >, 30);
    g_auto(Made) vague;
    make(&vague, 0.3, 5);
    g_assert_false(ifm_spread_is_within(vague.reference, vague.reference, vague.allowed.data, N, &vague.figures));
}

static IfmAgreement judge_integers(const gint64 *reference, gint64 (*runs)[6], int n_runs, const gint64 *value,
                                   IfmJudgement *judgement)
{
    const IfmTensor tensor = of(IFM_DTYPE_I64, 6, (void *)reference), seen = of(IFM_DTYPE_I64, 6, (void *)value);
    g_auto(IfmTensor) allowed = IFM_TENSOR_INIT;
    IfmSpreadFigures figures;
    g_autoptr(IfmSpread) spread = ifm_spread_new(&tensor);
    for (int k = 0; k < n_runs; k++)
    {
        const IfmTensor run = of(IFM_DTYPE_I64, 6, runs[k]);
        g_assert_true(ifm_spread_add(spread, &run));
    }
    g_assert_true(ifm_spread_finish(spread, &allowed, &figures, NULL));
    return ifm_spread_judge(&seen, &tensor, &allowed, &figures, judgement);
}

static void test_integers(void)
{
    const gint64 reference[6] = { 5, 1, 0, 7, G_MAXINT64, 3 };
    gint64 agreeing[2][6] = { { 5, 1, 0, 7, G_MAXINT64, 3 }, { 5, 1, 0, 7, G_MAXINT64, 3 } };
    gint64 at_odds[2][6] = { { 5, 2, 0, 7, G_MAXINT64, 3 }, { 5, 2, 0, 7, G_MAXINT64, 3 } };
    gint64 torn[2][6] = { { 4, 2, 9, 9, G_MAXINT64, 3 }, { 6, 3, 8, 8, G_MAXINT64, 3 } };
    const gint64 other[6] = { 5, 9, 0, 7, G_MAXINT64, 3 }, near[6] = { 5, 1, 0, 7, G_MAXINT64 - 1, 3 };
    IfmJudgement judgement;
    g_assert_cmpint(judge_integers(reference, agreeing, 2, reference, &judgement), ==, IFM_AGREEMENT_EQUAL);
    g_assert_cmpint(judge_integers(reference, agreeing, 2, other, &judgement), ==, IFM_AGREEMENT_DIFFERENT);
    g_assert_cmpstr(judgement.why, ==, "integers");
    g_assert_cmpint(judgement.worst_index, ==, 1);
    g_assert_cmpint(judge_integers(reference, agreeing, 2, near, &judgement), ==, IFM_AGREEMENT_DIFFERENT);
    g_assert_cmpint(judge_integers(reference, at_odds, 2, other, &judgement), ==, IFM_AGREEMENT_EQUAL);
    g_assert_cmpint(judge_integers(reference, at_odds, 2, near, &judgement), ==, IFM_AGREEMENT_DIFFERENT);
    g_assert_cmpint(judge_integers(reference, torn, 2, near, &judgement), ==, IFM_AGREEMENT_UNDETERMINED);
}

/* What is infinite in itself is no fault; where runs disagree on it, anything may stand. */
static void test_not_finite(void)
{
    float reference[] = { 1, INFINITY, NAN, 2, 3 }, run[] = { 1, INFINITY, NAN, INFINITY, 3 };
    float value[] = { 1, INFINITY, NAN, 7, 3 }, wrong[] = { 1, -INFINITY, NAN, 2, 3 };
    const IfmTensor tensor = of(IFM_DTYPE_F32, 5, reference), disturbed = of(IFM_DTYPE_F32, 5, run),
                    seen = of(IFM_DTYPE_F32, 5, value), other = of(IFM_DTYPE_F32, 5, wrong);
    g_auto(IfmTensor) allowed = IFM_TENSOR_INIT;
    IfmSpreadFigures figures;
    IfmJudgement judgement;
    g_autoptr(IfmSpread) spread = ifm_spread_new(&tensor);
    for (int k = 0; k < 3; k++)
        g_assert_true(ifm_spread_add(spread, &disturbed));
    g_assert_true(ifm_spread_finish(spread, &allowed, &figures, NULL));
    g_assert_cmpfloat(figures.unsure, ==, 0.2);
    g_assert_cmpint(ifm_spread_judge(&seen, &tensor, &allowed, &figures, &judgement), ==, IFM_AGREEMENT_EQUAL);
    g_assert_cmpint(ifm_spread_judge(&other, &tensor, &allowed, &figures, &judgement), ==, IFM_AGREEMENT_DIFFERENT);
    g_assert_cmpint(judgement.worst_index, ==, 1);
}

/* Without any spread an engine may still round its last step another way, and flush what is next to 0. */
static void test_no_spread(void)
{
    float reference[] = { 1, 1e-39F, 0 }, next[] = { nextafterf(1, 2), 0, 0 }, far[] = { 1.000001F, 0, 0 };
    float zeros[] = { 0, 0, 0 }, noise[] = { 1e-8F, 0, 0 };
    const IfmTensor tensor = of(IFM_DTYPE_F32, 3, reference), near = of(IFM_DTYPE_F32, 3, next),
                    off = of(IFM_DTYPE_F32, 3, far), nothing = of(IFM_DTYPE_F32, 3, zeros),
                    little = of(IFM_DTYPE_F32, 3, noise);
    g_auto(IfmTensor) allowed = IFM_TENSOR_INIT, of_nothing = IFM_TENSOR_INIT;
    IfmSpreadFigures figures;
    IfmJudgement judgement;
    g_autoptr(IfmSpread) spread = ifm_spread_new(&tensor);
    for (int k = 0; k < 5; k++)
        g_assert_true(ifm_spread_add(spread, &tensor));
    g_assert_true(ifm_spread_finish(spread, &allowed, &figures, NULL));
    g_assert_true(isinf(figures.reference_db));
    g_assert_cmpint(ifm_spread_judge(&near, &tensor, &allowed, &figures, &judgement), ==, IFM_AGREEMENT_EQUAL);
    g_assert_cmpint(ifm_spread_judge(&off, &tensor, &allowed, &figures, &judgement), ==, IFM_AGREEMENT_DIFFERENT);
    g_autoptr(IfmSpread) none = ifm_spread_new(&nothing);
    for (int k = 0; k < 5; k++)
        g_assert_true(ifm_spread_add(none, &nothing));
    g_assert_true(ifm_spread_finish(none, &of_nothing, &figures, NULL));
    g_assert_cmpint(ifm_spread_judge(&little, &nothing, &of_nothing, &figures, &judgement), ==, IFM_AGREEMENT_EQUAL);
}

/* --- what is near enough, whatever the runs show ---------------------------------------------------------------------- */

#define CHANNELS 8
#define POINTS 500
#define SMALL 3 /* a channel of numbers ten million times smaller than those of the others */

/* An output of channels with runs that are all equal: so no runs of a model say what its last roundings do. */
static IfmAgreement judge_channels(void (*change)(float *value, int channel), IfmJudgement *judgement)
{
    static const gint64 shape[] = { 1, CHANNELS, POINTS };
    g_autofree float *reference = g_new(float, CHANNELS *POINTS), *value = g_new(float, CHANNELS *POINTS);
    g_autoptr(GRand) random = g_rand_new_with_seed(11);
    g_auto(IfmTensor) allowed = IFM_TENSOR_INIT;
    IfmTensor tensor, seen;
    IfmSpreadFigures figures;
    for (int i = 0; i < CHANNELS * POINTS; i++)
    {
        const double size = i / POINTS == SMALL ? 1e-5 : 100;
        reference[i] = value[i] = (float)(size * g_rand_double_range(random, 0.2, 2));
        change(&value[i], i / POINTS);
    }
    g_assert_true(ifm_tensor_wrap(&tensor, IFM_DTYPE_F32, 3, shape, reference, NULL));
    g_assert_true(ifm_tensor_wrap(&seen, IFM_DTYPE_F32, 3, shape, value, NULL));
    g_autoptr(IfmSpread) spread = ifm_spread_new(&tensor);
    for (int k = 0; k < 5; k++)
        g_assert_true(ifm_spread_add(spread, &tensor));
    g_assert_true(ifm_spread_finish(spread, &allowed, &figures, NULL));
    return ifm_spread_judge(&seen, &tensor, &allowed, &figures, judgement);
}

/* To so many bits of the significand, as an engine does that computes in less than f32. */
static float rounded_to(float value, int bits)
{
    int exponent;
    const double part = frexp(value, &exponent);
    return (float)ldexp(round(ldexp(part, bits)), exponent - bits);
}

static void to_bf16(float *value, int channel)
{
    *value = rounded_to(*value, 8);
}

static void to_f16(float *value, int channel)
{
    *value = rounded_to(*value, 11);
}

static void to_16_bits(float *value, int channel)
{
    *value = rounded_to(*value, 16);
}

static void six_roundings(float *value, int channel)
{
    *value *= 1 + 6 * 0x1p-24F;
}

static void lose_small(float *value, int channel)
{
    *value = channel == SMALL ? 0 : *value;
}

static void small_to_bf16(float *value, int channel)
{
    *value = channel == SMALL ? rounded_to(*value, 8) : *value;
}

/* Within ten roundings nothing is different; less precision than f32 is, and so is a channel that is lost beside larger
 * ones. */
static void test_enough(void)
{
    IfmJudgement judgement;
    g_assert_cmpint(judge_channels(six_roundings, &judgement), ==, IFM_AGREEMENT_EQUAL);
    g_assert_cmpint(judge_channels(to_bf16, &judgement), ==, IFM_AGREEMENT_DIFFERENT);
    g_assert_cmpint(judge_channels(to_f16, &judgement), ==, IFM_AGREEMENT_DIFFERENT);
    g_assert_cmpint(judge_channels(to_16_bits, &judgement), ==, IFM_AGREEMENT_DIFFERENT);
    g_assert_cmpint(judge_channels(lose_small, &judgement), ==, IFM_AGREEMENT_DIFFERENT);
    g_assert_cmpint(judge_channels(small_to_bf16, &judgement), ==, IFM_AGREEMENT_DIFFERENT);
}

/* Where the reference itself has no numbers, the inputs mean nothing to the model. */
static void test_no_numbers(void)
{
    float reference[] = { NAN, NAN, NAN, 1 }, value[] = { FLT_MAX, 7, NAN, 1 }, wrong[] = { NAN, NAN, NAN, NAN };
    const IfmTensor tensor = of(IFM_DTYPE_F32, 4, reference), seen = of(IFM_DTYPE_F32, 4, value),
                    other = of(IFM_DTYPE_F32, 4, wrong);
    g_auto(IfmTensor) allowed = IFM_TENSOR_INIT;
    IfmSpreadFigures figures;
    IfmJudgement judgement;
    g_autoptr(IfmSpread) spread = ifm_spread_new(&tensor);
    for (int k = 0; k < 3; k++)
        g_assert_true(ifm_spread_add(spread, &tensor));
    g_assert_true(ifm_spread_finish(spread, &allowed, &figures, NULL));
    g_assert_cmpint(ifm_spread_judge(&seen, &tensor, &allowed, &figures, &judgement), ==, IFM_AGREEMENT_UNDETERMINED);
    g_assert_cmpint(ifm_spread_judge(&other, &tensor, &allowed, &figures, &judgement), ==, IFM_AGREEMENT_DIFFERENT);
    g_assert_cmpint(ifm_spread_judge(&tensor, &tensor, &allowed, &figures, &judgement), ==, IFM_AGREEMENT_EQUAL);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/spread/allowed", test_allowed);
    g_test_add_func("/spread/enough", test_enough);
    g_test_add_func("/spread/no-numbers", test_no_numbers);
    g_test_add_func("/spread/honest", test_honest);
    g_test_add_func("/spread/faults", test_faults);
    g_test_add_func("/spread/words", test_words);
    g_test_add_func("/spread/rare-event", test_rare_event);
    g_test_add_func("/spread/quick", test_quick);
    g_test_add_func("/spread/integers", test_integers);
    g_test_add_func("/spread/not-finite", test_not_finite);
    g_test_add_func("/spread/no-spread", test_no_spread);
    return g_test_run();
}
