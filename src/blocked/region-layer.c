/* Convolutions of a region: channels rounded up to whole blocks, narrow groups joined, and which algorithm takes a layer.
 */
#include "region-private.h"

#include <stdlib.h>
#include <string.h>

static int64_t rounded(int64_t n, int64_t block)
{
    return (n + block - 1) / block * block;
}

/* Whether @n groups can become one that is whole blocks, and the layer's channels then are those of its tensors. */
static bool joins(const IfmBlockedShape *shape, int64_t n, int64_t block)
{
    const int64_t in = shape->channels / shape->groups, out = shape->out_channels / shape->groups;
    const int64_t groups = rounded(shape->groups, n);
    return in * n % block == 0 && out * n % block == 0 && groups * in == rounded(shape->channels, block) &&
           groups * out == rounded(shape->out_channels, block);
}

/* Groups of fewer channels than a block: several become one, with zeros for weights between them. */
static void join_groups(const IfmBlockedShape *shape, IfmBlockedShape *padded)
{
    const int64_t block = padded->block;
    int64_t n = 1;
    while (n <= block && !joins(shape, n, block))
        n++;
    padded->groups = n <= block ? rounded(shape->groups, n) / n : 1;
}

/* Depthwise layers have an algorithm of their own, with a group for each lane. */
static bool is_depthwise(const IfmBlockedShape *shape, IfmBlockedShape *padded, const IfmBlockedOptions *options)
{
    if (shape->groups == 1 || shape->groups != shape->channels || shape->channels != shape->out_channels)
        return false;
    padded->groups = padded->channels;
    return ifm_blocked_supports(padded, IFM_BLOCKED_DIRECT, options, NULL);
}

static bool complete(const IfmRegionRun *run, RegionLayer *layer, const IfmBlockedOptions *options, IfmBlockedError *error)
{
    IfmBlockedShape *padded = &layer->padded;
    const int block = run->region->kernels->block;
    *padded = layer->shape;
    padded->block = block;
    padded->out_channels = rounded(layer->shape.out_channels, block);
    if (padded->input_block != 1)
    {
        padded->input_block = block;
        padded->channels = rounded(layer->shape.channels, block);
    }
    if (layer->shape.groups == 1)
        return ifm_blocked_shape_complete(padded, error);
    padded->groups = 1;
    if (!ifm_blocked_shape_complete(padded, error))
        return false;
    if (!is_depthwise(&layer->shape, padded, options))
        join_groups(&layer->shape, padded);
    return true;
}

/* [out][in of a group][rows][columns] of the padded layer; zeros where the model has no channel or another group. */
static float *pad_weights(const RegionLayer *layer, const float *weights)
{
    const IfmBlockedShape *shape = &layer->shape, *padded = &layer->padded;
    const int64_t n_taps = shape->kernel[0] * shape->kernel[1], in = shape->channels / shape->groups;
    const int64_t out = shape->out_channels / shape->groups, padded_in = padded->channels / padded->groups;
    float *to = calloc((size_t)padded->out_channels, (size_t)(padded_in * n_taps) * sizeof(float));
    for (int64_t o = 0; to != NULL && o < shape->out_channels; o++)
        for (int64_t c = 0; c < in; c++)
        {
            const int64_t channel = (o / out * in + c) % padded_in; /* a joined group begins at a multiple */
            memcpy(to + (o * padded_in + channel) * n_taps, weights + (o * in + c) * n_taps,
                   (size_t)n_taps * sizeof(float));
        }
    return to;
}

static float *pad_bias(const RegionLayer *layer, const float *bias)
{
    float *to = calloc((size_t)layer->padded.out_channels, sizeof(float));
    if (to != NULL)
        memcpy(to, bias, (size_t)layer->shape.out_channels * sizeof(float));
    return to;
}

/* The convolution by one algorithm. */
static IfmBlockedConv *make(const IfmRegionRun *run, const RegionLayer *layer, IfmBlockedAlgorithm algorithm,
                            const IfmBlockedOptions *options, IfmBlockedError *error)
{
    const IfmRegion *region = run->region;
    const float *weights = region->constants[layer->step->weights].data;
    const float *bias = layer->step->bias >= 0 ? region->constants[layer->step->bias].data : NULL;
    const bool is_padded = layer->padded.channels != layer->shape.channels || layer->padded.groups != layer->shape.groups ||
                           layer->padded.out_channels != layer->shape.out_channels;
    float *own_weights = is_padded ? pad_weights(layer, weights) : NULL;
    float *own_bias = is_padded && bias != NULL ? pad_bias(layer, bias) : NULL;
    IfmBlockedConv *conv = NULL;
    if (is_padded && (own_weights == NULL || (bias != NULL && own_bias == NULL)))
        ifm_blocked_fail(error, IFM_BLOCKED_NO_MEMORY, "no memory for the weights of a layer");
    else
        conv = ifm_blocked_conv_new(&layer->padded, algorithm, options, is_padded ? own_weights : weights,
                                    is_padded ? own_bias : bias, error);
    free(own_weights);
    free(own_bias);
    return conv;
}

static IfmBlockedOptions options_of(const IfmRegionRun *run, const RegionStep *step, int winograd_outputs)
{
    return (IfmBlockedOptions){ .max_workspace_bytes = run->region->options.max_bytes,
                                .max_isa = run->region->options.max_isa,
                                .n_threads = run->n_threads,
                                .winograd_outputs = winograd_outputs,
                                .activation = step->activation.kind,
                                .alpha = step->activation.alpha,
                                .beta = step->activation.beta,
                                .has_sum = step->n_values > 1,
                                .weights = run->region->forms[step->layer].all,
                                .n_weights = run->region->forms[step->layer].n };
}

void region_forms_prune(RegionForms *forms)
{
    size_t n = 0;
    for (size_t i = 0; i < forms->n; i++)
        if (i + 1 == forms->n || ifm_blocked_weights_n_users(forms->all[i]) > 1)
            forms->all[n++] = forms->all[i];
        else
            ifm_blocked_weights_unref(forms->all[i]);
    forms->n = n;
}

/* The last one last, so that it stays. Returns: whether it is a new one */
static bool keep_form(RegionForms *forms, IfmBlockedWeights *weights)
{
    size_t at = 0;
    while (at < forms->n && forms->all[at] != weights)
        at++;
    const bool is_new = at == forms->n;
    if (is_new && forms->n == REGION_MAX_FORMS)
        region_forms_prune(forms);
    if (is_new && forms->n == REGION_MAX_FORMS) /* all in use: the oldest is not found again */
        ifm_blocked_weights_unref(forms->all[at = 0]);
    else if (is_new)
        at = forms->n++;
    else
        ifm_blocked_weights_unref(weights);
    memmove(&forms->all[at], &forms->all[at + 1], (forms->n - 1 - at) * sizeof(weights));
    forms->all[forms->n - 1] = weights;
    return is_new;
}

/* What was asked for, then the rule's, then those that can do most. */
bool region_layer_make(IfmRegionRun *run, RegionLayer *layer, IfmBlockedError *error)
{
    const RegionStep *step = layer->step;
    const IfmBlockedOptions asked = options_of(run, step, step->winograd_outputs), free_options = options_of(run, step, 0);
    IfmBlockedError why = { IFM_BLOCKED_OK };
    if (!complete(run, layer, &free_options, error))
        return false;
    const int candidates[] = { step->asked, (int)ifm_blocked_guess(&layer->padded, &free_options),
                               IFM_BLOCKED_IMPLICIT_PRECOMP_GEMM, IFM_BLOCKED_IMPLICIT_GEMM, IFM_BLOCKED_DIRECT };
    for (size_t i = 0; i < sizeof(candidates) / sizeof(*candidates) && layer->conv == NULL; i++)
    {
        const IfmBlockedOptions *options = i == 0 ? &asked : &free_options;
        if (candidates[i] != IFM_N_BLOCKED_ALGORITHMS &&
            ifm_blocked_supports(&layer->padded, (IfmBlockedAlgorithm)candidates[i], options, &why))
            layer->conv = make(run, layer, (IfmBlockedAlgorithm)candidates[i], options, &why);
        layer->is_replaced = i > 0 && step->asked != IFM_N_BLOCKED_ALGORITHMS;
    }
    if (layer->conv == NULL)
        return ifm_blocked_fail(error, why.code, "line %zu: %s", step->line, why.text);
    const IfmBlockedInfo info = ifm_blocked_conv_info(layer->conv);
    IfmBlockedWeights *weights = ifm_blocked_conv_weights(layer->conv);
    const bool is_new = weights != NULL && keep_form(&run->region->forms[step->layer], weights);
    run->own_bytes += info.workspace_bytes + (is_new ? info.weights_bytes : 0);
    run->region->n_transforms += is_new;
    return true;
}

bool ifm_region_set(IfmRegionRun *run, size_t layer, IfmBlockedAlgorithm algorithm, int winograd_outputs,
                    IfmBlockedError *error)
{
    RegionLayer *row = &run->layers[layer];
    IfmBlockedOptions options = options_of(run, row->step, winograd_outputs);
    options.n_weights = 0;
    if (row->conv == NULL)
        return ifm_blocked_fail(error, IFM_BLOCKED_UNSUPPORTED, "a layer that no output needs");
    if (!ifm_blocked_supports(&row->padded, algorithm, &options, error))
        return false;
    IfmBlockedConv *conv = make(run, row, algorithm, &options, error);
    if (conv == NULL)
        return false;
    ifm_blocked_conv_free(row->conv);
    row->conv = conv;
    row->is_replaced = false;
    return true;
}

bool ifm_region_is_hopeless(const IfmRegionRun *run, size_t layer, IfmBlockedAlgorithm algorithm)
{
    const RegionLayer *row = &run->layers[layer];
    const IfmBlockedOptions options = options_of(run, row->step, 0);
    return row->conv != NULL && ifm_blocked_is_hopeless(&row->padded, algorithm, &options);
}

size_t ifm_region_n_layers(const IfmRegion *region)
{
    return region->n_layers;
}

IfmRegionLayerRun ifm_region_layer(const IfmRegionRun *run, size_t layer)
{
    const RegionLayer *row = &run->layers[layer];
    IfmRegionLayerRun found = { .name = row->step->name,
                                .asked = row->step->asked < IFM_N_BLOCKED_ALGORITHMS
                                             ? ifm_blocked_algorithm_name((IfmBlockedAlgorithm)row->step->asked)
                                             : "any",
                                .algorithm = "none",
                                .implementation = "",
                                .is_replaced = row->is_replaced,
                                .ran_ns = row->ran_ns,
                                .shape = row->shape };
    if (row->conv != NULL)
    {
        const IfmBlockedInfo info = ifm_blocked_conv_info(row->conv);
        found.algorithm = ifm_blocked_algorithm_name(info.algorithm);
        found.implementation = info.implementation;
    }
    return found;
}
