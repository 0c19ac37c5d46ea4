/* Programs of regions: text to steps. Whatever the bytes are, they are a program or one line says why not. */
#include "region-private.h"

#include <ctype.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const activation_names[IFM_N_BLOCKED_ACTIVATIONS] = {
    [IFM_BLOCKED_IDENTITY] = "none",
    [IFM_BLOCKED_RELU] = "relu",
    [IFM_BLOCKED_CLIP] = "clip",
    [IFM_BLOCKED_LEAKY_RELU] = "leaky_relu",
    [IFM_BLOCKED_SIGMOID] = "sigmoid",
    [IFM_BLOCKED_HARD_SIGMOID] = "hard_sigmoid",
    [IFM_BLOCKED_TANH] = "tanh",
    [IFM_BLOCKED_SILU] = "silu",
    [IFM_BLOCKED_GELU] = "gelu",
    [IFM_BLOCKED_GELU_TANH] = "gelu_tanh",
    [IFM_BLOCKED_HARD_SWISH] = "hard_swish",
};

const char *ifm_blocked_activation_name(IfmBlockedActivation activation)
{
    return activation_names[activation];
}

/* --- words ------------------------------------------------------------------------------------------------------------ */

/* Parser: @at: the next word, at the end of a line its newline or NUL    @word: the last one read */
typedef struct
{
    IfmRegion *region;
    const char *at;
    size_t line;
    char word[64];
    bool is_name; /* the line ended with a name, which may end with a blank */
    locale_t locale;
    IfmBlockedError *error;
} Parser;

/* Text from a program within an error is one printable line. */
static bool refuse(Parser *parser, const char *expected)
{
    char shown[sizeof(parser->word)];
    size_t n = 0;
    for (; parser->word[n] != '\0' && n < 40; n++)
        shown[n] = (char)(parser->word[n] > ' ' && parser->word[n] < 127 ? parser->word[n] : '?');
    shown[n] = '\0';
    return region_refuse(parser->error, "line %zu: %s is expected, not \"%s\"", parser->line, expected, shown);
}

static bool is_at_end(const Parser *parser)
{
    return *parser->at == '\n' || *parser->at == '\0';
}

/* A blank before the end is not one. */
static bool is_line_whole(const Parser *parser)
{
    return is_at_end(parser) && (parser->at[-1] != ' ' || parser->is_name);
}

/* Leaves "" in @word where there is none. */
static void read_word(Parser *parser)
{
    size_t n = 0;
    for (; !is_at_end(parser) && *parser->at != ' '; parser->at++)
        if (n < sizeof(parser->word) - 1)
            parser->word[n++] = *parser->at;
    parser->word[n] = '\0';
    if (*parser->at == ' ')
        parser->at++;
}

static bool expect(Parser *parser, const char *word)
{
    read_word(parser);
    return strcmp(parser->word, word) == 0 || refuse(parser, word);
}

static bool parse_whole(const char *text, int64_t low, int64_t high, int64_t *number)
{
    char *end;
    if (text[0] != '-' && !isdigit((unsigned char)text[0]))
        return false;
    const long long value = strtoll(text, &end, 10);
    *number = value;
    return *end == '\0' && end - text <= 12 && value >= low && value <= high;
}

static bool read_wholes(Parser *parser, const char *word, int64_t low, int64_t high, int n, int64_t *numbers)
{
    if (word != NULL && !expect(parser, word))
        return false;
    for (int i = 0; i < n; i++)
    {
        read_word(parser);
        if (!parse_whole(parser->word, low, high, &numbers[i]))
        {
            char expected[96];
            snprintf(expected, sizeof(expected), "a number from %lld to %lld", (long long)low, (long long)high);
            return refuse(parser, expected);
        }
    }
    return true;
}

static bool read_flag(Parser *parser, const char *word, bool *flag)
{
    int64_t number = 0;
    const bool is_read = read_wholes(parser, word, 0, 1, 1, &number);
    *flag = number == 1;
    return is_read;
}

static bool read_float(Parser *parser, float *number)
{
    char *end;
    read_word(parser);
    *number = strtof_l(parser->word, &end, parser->locale);
    return (end != parser->word && *end == '\0' && !isnan(*number)) || refuse(parser, "a number");
}

/* "v3": a value made before. */
static bool parse_value(Parser *parser, size_t *value)
{
    int64_t number = 0;
    if (parser->word[0] != 'v' || parser->word[1] == '-' ||
        !parse_whole(parser->word + 1, 0, (int64_t)parser->region->n_steps - 1, &number))
        return refuse(parser, "a value made before, such as v0,");
    *value = (size_t)number;
    return true;
}

/* "w3", or "-" where @may_lack: -1 */
static bool read_constant(Parser *parser, bool may_lack, int *constant)
{
    int64_t number = -1;
    read_word(parser);
    *constant = -1;
    if (may_lack && strcmp(parser->word, "-") == 0)
        return true;
    if (parser->word[0] != 'w' || parser->word[1] == '-' ||
        !parse_whole(parser->word + 1, 0, (int64_t)parser->region->n_constants - 1, &number))
        return refuse(parser, "a constant of the node, such as w0,");
    *constant = (int)number;
    return true;
}

/* --- parts of steps --------------------------------------------------------------------------------------------------- */

static bool add_value(Parser *parser, RegionStep *step, size_t value)
{
    size_t *grown = realloc(step->values, (step->n_values + 1) * sizeof(*grown));
    if (grown == NULL)
        return ifm_blocked_fail(parser->error, IFM_BLOCKED_NO_MEMORY, "no memory for a program");
    step->values = grown;
    step->values[step->n_values++] = value;
    return true;
}

static bool read_value(Parser *parser, RegionStep *step)
{
    size_t value = 0;
    read_word(parser);
    return parse_value(parser, &value) && add_value(parser, step, value);
}

/* @word: "act" before it, or NULL */
static bool read_activation(Parser *parser, const char *word, RegionStep *step)
{
    if (word != NULL && !expect(parser, word))
        return false;
    read_word(parser);
    int kind = 0;
    while (kind < IFM_N_BLOCKED_ACTIVATIONS && strcmp(parser->word, activation_names[kind]) != 0)
        kind++;
    if (kind == IFM_N_BLOCKED_ACTIVATIONS)
        return refuse(parser, "an activation");
    step->activation.kind = (IfmBlockedActivation)kind;
    return read_float(parser, &step->activation.alpha) && read_float(parser, &step->activation.beta);
}

static bool read_window(Parser *parser, RegionStep *step, bool has_dilation)
{
    step->dilation[0] = step->dilation[1] = 1;
    return read_wholes(parser, "kernel", 1, REGION_MAX_SIZE, 2, step->kernel) &&
           read_wholes(parser, "stride", 1, REGION_MAX_SIZE, 2, step->stride) &&
           (!has_dilation || read_wholes(parser, "dilation", 1, REGION_MAX_SIZE, 2, step->dilation)) &&
           read_wholes(parser, "pads", 0, REGION_MAX_SIZE, 4, step->pads);
}

static const IfmRegionConstant *constant(const Parser *parser, int index)
{
    return &parser->region->constants[index];
}

static bool is_vector(const Parser *parser, int index, int64_t n)
{
    return constant(parser, index)->rank == 1 && constant(parser, index)->shape[0] == n;
}

static bool refuse_line(Parser *parser, const char *what)
{
    return region_refuse(parser->error, "line %zu: %s", parser->line, what);
}

/* --- steps ------------------------------------------------------------------------------------------------------------ */

static bool read_input(Parser *parser, RegionStep *step)
{
    read_word(parser);
    step->is_blocked = strcmp(parser->word, "blocked") == 0;
    if (!step->is_blocked && strcmp(parser->word, "nchw") != 0)
        return refuse(parser, "nchw or blocked");
    parser->region->n_inputs++;
    return !step->is_blocked || read_wholes(parser, NULL, 1, REGION_MAX_SIZE, 1, &step->channels);
}

static bool read_algorithm(Parser *parser, RegionStep *step)
{
    int64_t outputs = 0;
    if (!expect(parser, "algorithm"))
        return false;
    read_word(parser);
    step->asked = 0;
    while (step->asked < IFM_N_BLOCKED_ALGORITHMS &&
           strcmp(parser->word, ifm_blocked_algorithm_name((IfmBlockedAlgorithm)step->asked)) != 0)
        step->asked++;
    if (step->asked == IFM_N_BLOCKED_ALGORITHMS && strcmp(parser->word, "any") != 0)
        return refuse(parser, "an algorithm");
    if (!read_wholes(parser, NULL, 0, 6, 1, &outputs))
        return false;
    step->winograd_outputs = (int)outputs;
    return outputs % 2 == 0 || refuse(parser, "0, 2, 4 or 6 outputs of a tile");
}

/* The rest of the line. */
static bool read_name(Parser *parser, RegionStep *step)
{
    if (!expect(parser, "name"))
        return false;
    const size_t n = strcspn(parser->at, "\n");
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)parser->at[i] < ' ' || parser->at[i] == 127)
            return refuse_line(parser, "a name with control characters");
    step->name = strndup(parser->at, n);
    parser->at += n;
    parser->is_name = true;
    return step->name != NULL || ifm_blocked_fail(parser->error, IFM_BLOCKED_NO_MEMORY, "no memory for a program");
}

static bool check_weights(Parser *parser, const RegionStep *step)
{
    const IfmRegionConstant *weights = constant(parser, step->weights);
    if (weights->rank != 4 || weights->shape[2] != step->kernel[0] || weights->shape[3] != step->kernel[1])
        return refuse_line(parser, "the weights are not of rank 4, or not of this kernel");
    for (int i = 0; i < 4; i++)
        if (weights->shape[i] < 1 || weights->shape[i] > REGION_MAX_SIZE)
            return refuse_line(parser, "the weights have a size of 0 or above 2^24");
    if (weights->shape[0] % step->group != 0)
        return refuse_line(parser, "the outputs cannot be divided into these groups");
    return step->bias < 0 || is_vector(parser, step->bias, weights->shape[0]) ||
           refuse_line(parser, "the bias is not one number for each output channel");
}

static bool read_conv(Parser *parser, RegionStep *step)
{
    if (!read_value(parser, step) || !read_constant(parser, false, &step->weights) ||
        !read_constant(parser, true, &step->bias))
        return false;
    const bool has_sum = strncmp(parser->at, "- ", 2) != 0;
    if (has_sum ? !read_value(parser, step) : !expect(parser, "-"))
        return false;
    step->layer = parser->region->n_layers++;
    return read_window(parser, step, true) && read_wholes(parser, "group", 1, REGION_MAX_SIZE, 1, &step->group) &&
           read_activation(parser, "act", step) && read_algorithm(parser, step) && read_name(parser, step) &&
           check_weights(parser, step);
}

static bool check_pads(Parser *parser, const RegionStep *step)
{
    for (int i = 0; i < 4; i++)
        if (step->pads[i] >= step->kernel[i % 2])
            return refuse_line(parser, "more padding than the window of a pool has");
    return true;
}

static bool read_pool(Parser *parser, RegionStep *step)
{
    const bool is_max = step->kind == REGION_MAX_POOL;
    return read_value(parser, step) && read_window(parser, step, is_max) && read_flag(parser, "ceil", &step->is_ceil) &&
           (is_max || read_flag(parser, "include_pad", &step->includes_pad)) && check_pads(parser, step);
}

static bool read_global_pool(Parser *parser, RegionStep *step)
{
    return read_value(parser, step);
}

static bool read_binary(Parser *parser, RegionStep *step)
{
    return read_value(parser, step) && read_value(parser, step) && read_activation(parser, "act", step);
}

static bool read_scale(Parser *parser, RegionStep *step)
{
    if (!read_value(parser, step) || !read_constant(parser, false, &step->weights) ||
        !read_constant(parser, false, &step->bias))
        return false;
    step->channels = constant(parser, step->weights)->shape[0];
    if (!is_vector(parser, step->weights, step->channels) || !is_vector(parser, step->bias, step->channels))
        return refuse_line(parser, "factors and terms are not one number for each channel");
    return read_activation(parser, "act", step);
}

static bool read_act(Parser *parser, RegionStep *step)
{
    return read_value(parser, step) && read_activation(parser, NULL, step);
}

static bool read_concat(Parser *parser, RegionStep *step)
{
    do
    {
        if (!read_value(parser, step))
            return false;
    } while (!is_at_end(parser));
    return true;
}

static bool read_resize(Parser *parser, RegionStep *step)
{
    return read_value(parser, step) && read_wholes(parser, NULL, 1, REGION_MAX_SIZE, 2, step->factors);
}

static const struct
{
    const char *name;
    bool (*read)(Parser *parser, RegionStep *step);
} kinds[N_REGION_KINDS] = {
    [REGION_INPUT] = { "input", read_input },
    [REGION_CONV] = { "conv", read_conv },
    [REGION_MAX_POOL] = { "max_pool", read_pool },
    [REGION_AVERAGE_POOL] = { "average_pool", read_pool },
    [REGION_GLOBAL_AVERAGE_POOL] = { "global_average_pool", read_global_pool },
    [REGION_ADD] = { "add", read_binary },
    [REGION_MUL] = { "mul", read_binary },
    [REGION_SCALE] = { "scale", read_scale },
    [REGION_ACT] = { "act", read_act },
    [REGION_CONCAT] = { "concat", read_concat },
    [REGION_RESIZE] = { "resize", read_resize },
};

/* --- lines ------------------------------------------------------------------------------------------------------------ */

/* Grown by doubling: @n is below REGION_MAX_STEPS. */
static void *add_row(Parser *parser, void *rows, size_t n, size_t size)
{
    void *grown = (n & (n - 1)) == 0 ? realloc(rows, (n == 0 ? 1 : 2 * n) * size) : rows;
    if (grown != NULL)
        memset((char *)grown + n * size, 0, size);
    else
        ifm_blocked_fail(parser->error, IFM_BLOCKED_NO_MEMORY, "no memory for a program");
    return grown;
}

static bool read_output(Parser *parser)
{
    IfmRegion *region = parser->region;
    RegionOutput *outputs = add_row(parser, region->outputs, region->n_outputs, sizeof(*outputs));
    if (outputs == NULL)
        return false;
    region->outputs = outputs;
    RegionOutput *output = &outputs[region->n_outputs++];
    read_word(parser);
    output->line = parser->line;
    output->is_blocked = strcmp(parser->word, "blocked") == 0;
    if (!output->is_blocked && strcmp(parser->word, "nchw") != 0)
        return refuse(parser, "nchw or blocked");
    read_word(parser);
    return parse_value(parser, &output->value);
}

static bool read_step(Parser *parser)
{
    IfmRegion *region = parser->region;
    int kind = 0;
    while (kind < N_REGION_KINDS && strcmp(parser->word, kinds[kind].name) != 0)
        kind++;
    if (kind == N_REGION_KINDS)
        return refuse(parser, "a step");
    RegionStep *steps = add_row(parser, region->steps, region->n_steps, sizeof(*steps));
    if (steps == NULL)
        return false;
    region->steps = steps;
    RegionStep *step = &steps[region->n_steps];
    step->kind = (RegionKind)kind;
    step->line = parser->line;
    step->weights = step->bias = -1;
    if (kinds[kind].read(parser, step))
        return ++region->n_steps > 0;
    free(step->values);
    free(step->name);
    return false;
}

static bool read_line(Parser *parser)
{
    if (parser->region->n_steps >= REGION_MAX_STEPS || parser->region->n_outputs >= REGION_MAX_STEPS)
        return refuse_line(parser, "too many steps");
    parser->is_name = false;
    read_word(parser);
    if (strcmp(parser->word, "output") == 0 ? !read_output(parser) : !read_step(parser))
        return false;
    if (is_line_whole(parser))
        return true;
    read_word(parser);
    return refuse(parser, "the end of the line");
}

static bool read_version(Parser *parser)
{
    int64_t version;
    if (!expect(parser, "region"))
        return false;
    read_word(parser);
    if (parse_whole(parser->word, 1, 1, &version) && is_line_whole(parser))
        return true;
    return refuse(parser, "version 1 of regions (a newer file needs a newer library)");
}

/* From the outputs back: what is not read by any of them is not computed. */
static void find_uses(IfmRegion *region)
{
    for (size_t i = 0; i < region->n_outputs; i++)
        region->steps[region->outputs[i].value].last_use = SIZE_MAX;
    for (size_t i = region->n_steps; i-- > 0;)
        for (size_t k = 0; k < region->steps[i].n_values && region->steps[i].last_use > 0; k++)
        {
            RegionStep *read = &region->steps[region->steps[i].values[k]];
            read->last_use = MAX(read->last_use, i);
        }
}

static bool read_lines(Parser *parser)
{
    parser->line = 1;
    if (!read_version(parser))
        return false;
    while (*parser->at == '\n')
    {
        parser->at++;
        parser->line++;
        if (*parser->at == '\0')
            break;
        if (!read_line(parser))
            return false;
    }
    if (parser->region->n_outputs == 0)
        return refuse_line(parser, "a program without an output");
    find_uses(parser->region);
    return true;
}

bool region_parse(IfmRegion *region, const char *program, IfmBlockedError *error)
{
    Parser parser = { .region = region, .at = program, .error = error };
    parser.locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (parser.locale == (locale_t)0)
        return ifm_blocked_fail(error, IFM_BLOCKED_NO_MEMORY, "no memory for a locale");
    const bool is_read = read_lines(&parser);
    freelocale(parser.locale);
    return is_read;
}
