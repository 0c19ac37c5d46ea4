/* Optimisers: the next value of a parameter from its gradient, and the state for it. */
#include <math.h>

#include "gradient-private.h"

static const char *const words[] = {
    [IFM_OPTIMISER_SGD] = "sgd", [IFM_OPTIMISER_MOMENTUM] = "momentum", [IFM_OPTIMISER_ADAM] = "adam", NULL
};

const char *const *ifm_optimiser_words(void)
{
    return words;
}

static const char *const no_states[] = { NULL };
static const char *const momentum_states[] = { "momentum", NULL };
static const char *const adam_states[] = { "m", "v", NULL };

const char *const *ifm_optimiser_states(IfmOptimiser optimiser)
{
    static const char *const *const states[] = {
        [IFM_OPTIMISER_SGD] = no_states, [IFM_OPTIMISER_MOMENTUM] = momentum_states, [IFM_OPTIMISER_ADAM] = adam_states
    };
    return states[optimiser];
}

/* name_of: "PREFIXstate.KIND.PARAMETER", owned by the pass. */
static const char *name_of(IfmBack *back, const char *prefix, const char *kind, const char *parameter)
{
    g_autofree char *name = kind != NULL ? g_strdup_printf("%sstate.%s.%s", prefix, kind, parameter)
                                         : g_strdup_printf("%s%s", prefix, parameter);
    return g_string_chunk_insert_const(back->strings, name);
}

static const char *times(IfmBack *back, IfmDtype dtype, double factor, const char *value)
{
    return ifm_back_mul(back, ifm_back_scalar(back, dtype, factor), value);
}

/* descend: next.PARAMETER = PARAMETER - by, in @dtype, that of @by */
static void descend(IfmBack *back, IfmDtype dtype, const char *parameter, const char *by)
{
    const char *next = name_of(back, "next.", NULL, parameter);
    IfmDtype own = ifm_back_dtype(back, parameter);
    if (own == dtype)
    {
        ifm_back_op_to(back, next, "Sub", parameter, by, NULL);
        return;
    }
    ifm_back_op_to(back, next, "Cast", ifm_back_sub(back, ifm_back_cast(back, parameter, dtype), by), NULL);
    ifm_back_int(back, "to", own);
}

static void sgd(IfmBack *back, const IfmTrainingOptions *options, IfmDtype dtype, const char *parameter,
                const char *gradient)
{
    descend(back, dtype, parameter, times(back, dtype, options->learning_rate, gradient));
}

static void momentum(IfmBack *back, const IfmTrainingOptions *options, IfmDtype dtype, const char *parameter,
                     const char *gradient)
{
    const char *old = times(back, dtype, options->momentum, name_of(back, "", "momentum", parameter));
    const char *velocity = ifm_back_op_to(back, name_of(back, "next.", "momentum", parameter), "Add", old, gradient, NULL);
    descend(back, dtype, parameter, times(back, dtype, options->learning_rate, velocity));
}

/*
 * correction: 1 - beta^step, kept for all parameters of a type. In single precision 1 - 0.999 has four good digits, so it
 * is computed as 2 h / (1 + h) with h = tanh(-step log(beta) / 2), which has all of them.
 */
static const char *correction(IfmBack *back, IfmDtype dtype, double beta)
{
    g_autofree char *key = g_strdup_printf("correction %s %.17g", ifm_dtype_name(dtype), beta);
    const char *known = g_hash_table_lookup(back->constants, key);
    if (known != NULL)
        return known;
    const char *steps = ifm_back_reshape_dims(back, ifm_back_cast(back, "next.state.step", dtype), NULL, 0);
    const char *h = ifm_back_op(back, "Tanh", times(back, dtype, -log(beta) / 2, steps), NULL);
    known = ifm_back_formula_in(back, dtype, "2 * h / (1 + h)", "h", h, NULL);
    g_hash_table_insert(back->constants, g_steal_pointer(&key), (gpointer)known);
    return known;
}

/* average: next = beta old + (1 - beta) value */
static const char *average(IfmBack *back, IfmDtype dtype, const char *kind, const char *parameter, double beta,
                           const char *value)
{
    const char *old = times(back, dtype, beta, name_of(back, "", kind, parameter));
    const char *share = times(back, dtype, 1 - beta, value);
    return ifm_back_op_to(back, name_of(back, "next.", kind, parameter), "Add", old, share, NULL);
}

static void adam(IfmBack *back, const IfmTrainingOptions *options, IfmDtype dtype, const char *parameter,
                 const char *gradient)
{
    const char *m = average(back, dtype, "m", parameter, options->beta1, gradient);
    const char *v = average(back, dtype, "v", parameter, options->beta2, ifm_back_mul(back, gradient, gradient));
    descend(back, dtype, parameter,
            ifm_back_formula(back, "rate / c * (m / (Sqrt(v / d) + epsilon))", "m", m, "v", v, "rate",
                             ifm_back_scalar(back, dtype, options->learning_rate), "c",
                             correction(back, dtype, options->beta1), "d", correction(back, dtype, options->beta2),
                             "epsilon", ifm_back_scalar(back, dtype, options->epsilon), NULL));
}

void ifm_back_count_step(IfmBack *back, const IfmTrainingOptions *options)
{
    if (options->optimiser == IFM_OPTIMISER_ADAM)
        ifm_back_op_to(back, "next.state.step", "Add", "state.step", ifm_back_number(back, 1), NULL);
}

/* In half precision Adam's epsilon and the square of a gradient underflow to 0. So values and states are f32. */
void ifm_back_update(IfmBack *back, const IfmTrainingOptions *options, const char *parameter, const char *gradient)
{
    static void (*const updates[])(IfmBack *, const IfmTrainingOptions *, IfmDtype, const char *, const char *) = {
        [IFM_OPTIMISER_SGD] = sgd, [IFM_OPTIMISER_MOMENTUM] = momentum, [IFM_OPTIMISER_ADAM] = adam
    };
    IfmDtype dtype = ifm_back_dtype(back, parameter), wide = ifm_back_wide(dtype);
    updates[options->optimiser](back, options, wide, parameter, ifm_back_as(back, gradient, dtype, wide));
}
