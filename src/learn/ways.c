/* Ways to predict the latency of a kernel without load: lines, what is smooth around them, and trees. */
#include <math.h>
#include <string.h>

#include <base/base.h>

#include "learn-private.h"

/* An operator, and a part of one, has a line of its own from so many cases on, and a smooth function. Its matrix is made of
 * at most so many: the time goes with the cube of it. */
#define LEAST_OPERATOR 3
#define LEAST_PART 8
#define LEAST_SMOOTH 12
#define MOST_SMOOTH LEARN_MOST_PLACES
#define LEAST_NS 1.0
#define MOST_WEIGHT 1e12
#define FLOP_PART "FLOP" /* of all: the line without bytes */
#define N_TERMS 3

const char *const learn_way_words[] = { "flop", "roofline", "linear", "parts", "smooth", "boosted", "forest", NULL };
G_STATIC_ASSERT(G_N_ELEMENTS(learn_way_words) == LEARN_N_WAYS + 1);

gboolean learn_way_tried(const IfmLatencyModel *model, LearnWay way, const IfmLearnOptions *options)
{
    if (options->method == IFM_LEARN_CHOSEN && model->machines->len == 0)
        return TRUE;
    return way == (options->method == IFM_LEARN_FOREST ? LEARN_BY_FOREST : LEARN_BY_TREES);
}

/* --- lines --------------------------------------------------------------------------------------------------------------
 */

/* What of an operator has a line of its own: kernels of one name are several programs. */
static const char *part_of(const IfmKernelSample *sample)
{
    static const char *const parts[][2] = { { "plain", "depthwise" },
                                            { "blocked", "blocked depthwise" },
                                            { "channels last", "channels last depthwise" } };
    const double layout = sample->features.layout;
    return parts[layout == 1 ? 1 : layout == 2 ? 2 : 0][learn_is_depthwise(sample)];
}

static const LearnLine *find_line(const IfmLatencyModel *model, const char *name, const char *part)
{
    for (guint i = 0; i < model->lines->len; i++)
    {
        const LearnLine *line = model->lines->pdata[i];
        if (g_str_equal(line->name, name) && g_str_equal(line->part, part))
            return line;
    }
    return NULL;
}

/* Of several machines: what the peaks of each make of FLOP and bytes. */
static void fill_terms(const IfmLatencyModel *model, const IfmKernelSample *sample, double *terms)
{
    const IfmMachineFeatures *place = learn_place(model, sample);
    terms[0] = learn_flop(sample) / (place != NULL ? place->flop_per_s / 1e9 : 1);
    terms[1] = 1;
    terms[2] = learn_traffic(model, sample) / (place != NULL ? place->bytes_per_s / 1e9 : 1);
}

static double line_ns(const IfmLatencyModel *model, const LearnLine *line, const IfmKernelSample *sample)
{
    double terms[N_TERMS];
    if (line == NULL)
        return (double)NAN;
    fill_terms(model, sample, terms);
    return fmax(line->flop * terms[0] + line->fixed * terms[1] + line->bytes * terms[2], LEAST_NS);
}

/* Of its part, of the operator, or of all. */
static const LearnLine *nearest_line(const IfmLatencyModel *model, const IfmKernelSample *sample, const char *part)
{
    const LearnLine *line = find_line(model, sample->op_type, part);
    if (line == NULL && *part != '\0')
        line = find_line(model, sample->op_type, "");
    return line != NULL ? line : find_line(model, "", "");
}

/* @of: [n] cases    Adds a line, where they are enough. */
static LearnLine *add_line(IfmLatencyModel *model, const LearnCase *const *of, gsize n, const char *name, const char *part)
{
    const gboolean is_flop = g_str_equal(part, FLOP_PART);
    const gsize n_terms = is_flop ? N_TERMS - 1 : N_TERMS;
    g_autofree double *terms = g_new(double, N_TERMS *n + 1), *latencies = g_new(double, n + 1);
    double row[N_TERMS], weights[N_TERMS] = { 0 };
    for (gsize i = 0; i < n; i++)
    {
        fill_terms(model, &of[i]->sample, row);
        memcpy(terms + i * n_terms, row, n_terms * sizeof *row);
        latencies[i] = of[i]->target_ns;
    }
    if (n == 0)
        return NULL;
    ifm_fit_line(terms, latencies, n, n_terms, weights);
    LearnLine *line = g_new0(LearnLine, 1);
    *line = (LearnLine){ g_strdup(name), g_strdup(part), weights[0], weights[1], weights[2], NULL, NULL };
    g_ptr_array_add(model->lines, line);
    return line;
}

/* --- what lines leave ---------------------------------------------------------------------------------------------------
 */

/* Rest: logarithms of latencies over the line's, of some of the cases of an operator. */
typedef struct
{
    double x[MOST_SMOOTH * LEARN_N_SIZES], y[MOST_SMOOTH];
    guint groups[MOST_SMOOTH];
    gsize n;
} Rest;

static void fill_rest(Rest *rest, const IfmLatencyModel *model, const LearnCase *const *of, gsize n)
{
    rest->n = 0;
    for (gsize i = 0; i < n; i++)
    {
        if (!learn_is_kept(i, n))
            continue;
        const IfmKernelSample *sample = &of[i]->sample;
        learn_fill_place(sample, rest->x + rest->n * LEARN_N_SIZES, LEARN_N_SIZES);
        rest->y[rest->n] = log(of[i]->target_ns / line_ns(model, nearest_line(model, sample, part_of(sample)), sample));
        rest->groups[rest->n++] = of[i]->configuration;
    }
}

/* The mean error where the configuration was left out. @left_out: NULL: of the line alone */
static double error_of(const Rest *rest, const double *left_out)
{
    double sum = 0;
    for (gsize i = 0; i < rest->n; i++)
        sum += fabs(exp((left_out != NULL ? left_out[i] : 0) - rest->y[i]) - 1);
    return sum / (double)rest->n;
}

/* (transfer full) with the reach and the noise that what is left out is predicted best with; NULL: none is any better */
static IfmSmooth *fit_smooth(const Rest *rest)
{
    static const double reaches[] = { 4, 10, 25 }, noises[] = { 0.03, 0.2, 1 };
    const IfmSmoothPoints points = { rest->x, rest->y, rest->groups, rest->n, LEARN_N_SIZES };
    g_autofree double *left_out = g_new(double, rest->n);
    g_autoptr(IfmSmooth) best = NULL;
    double least = error_of(rest, NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(reaches) * G_N_ELEMENTS(noises); i++)
    {
        IfmSmooth *smooth =
            ifm_smooth_new(&points, reaches[i % G_N_ELEMENTS(reaches)], noises[i / G_N_ELEMENTS(reaches)], left_out);
        const double error = smooth != NULL ? error_of(rest, left_out) : (double)INFINITY;
        if (error < least)
        {
            least = error;
            IfmSmooth *worse = g_steal_pointer(&best);
            best = smooth;
            smooth = worse;
        }
        ifm_smooth_free(smooth);
    }
    return g_steal_pointer(&best);
}

gboolean learn_lines_check(const IfmLatencyModel *model, const char *where, GError **error)
{
    for (guint i = 0; i < model->lines->len; i++)
    {
        const LearnLine *line = model->lines->pdata[i];
        const double weights[] = { line->flop, line->fixed, line->bytes };
        for (gsize k = 0; k < N_TERMS; k++)
            if (!(weights[k] >= 0 && weights[k] <= MOST_WEIGHT))
                return ifm_error_refuse(error, "%s.lines[%u]: found %g, expected 0 to %g", where, i, weights[k],
                                        MOST_WEIGHT);
        g_autofree char *place = g_strdup_printf("%s.lines[%u].points", where, i);
        if (line->smooth != NULL && !learn_smooth_check(line->smooth, place, error))
            return FALSE;
    }
    return (find_line(model, "", "") != NULL && find_line(model, "", FLOP_PART) != NULL) ||
           ifm_error_refuse(error, "%s.lines: none of all operators", where);
}

gboolean learn_lines_read(IfmLatencyModel *model, const char *where, GError **error)
{
    for (guint i = 0; i < model->lines->len; i++)
    {
        LearnLine *line = model->lines->pdata[i];
        g_autofree char *place = g_strdup_printf("%s.lines[%u].points", where, i);
        if (line->points != NULL &&
            (line->smooth = learn_smooth_from_json(line->points, place, LEARN_N_SIZES, error)) == NULL)
            return FALSE;
        g_clear_pointer(&line->points, json_decref);
    }
    return TRUE;
}

/* --- of an operator -----------------------------------------------------------------------------------------------------
 */

static void fit_parts(IfmLatencyModel *model, const LearnCase *const *of, gsize n, const char *name)
{
    g_autofree const LearnCase **own = g_new(const LearnCase *, n + 1);
    for (gsize first = 0; first < n; first++)
    {
        const char *part = part_of(&of[first]->sample);
        gsize n_own = 0;
        for (gsize i = 0; i < n; i++)
            if (part_of(&of[i]->sample) == part)
                own[n_own++] = of[i];
        if (n_own < n && n_own >= LEAST_PART && find_line(model, name, part) == NULL)
            add_line(model, own, n_own, name, part);
    }
}

gsize learn_list_cases(const LearnCases *cases, const gboolean *use, const char *name, const LearnCase **of)
{
    gsize n = 0;
    for (guint i = 0; i < cases->cases->len; i++)
    {
        const LearnCase *one = learn_case(cases, i);
        if (use[i] && !one->loaded && (name == NULL || g_str_equal(one->sample.op_type, name)))
            of[n++] = one;
    }
    return n;
}

void learn_fit_lines(IfmLatencyModel *model, const LearnCases *cases, const gboolean *use, gboolean smooth)
{
    g_autofree const LearnCase **of = g_new(const LearnCase *, cases->cases->len + 1);
    g_autofree Rest *rest = g_new(Rest, 1);
    gsize n = learn_list_cases(cases, use, NULL, of);
    add_line(model, of, n, "", FLOP_PART);
    add_line(model, of, n, "", "");
    for (guint i = 0; i < model->operators->len; i++)
    {
        const char *name = model->operators->pdata[i];
        n = learn_list_cases(cases, use, name, of);
        if (n < LEAST_OPERATOR)
            continue;
        LearnLine *line = add_line(model, of, n, name, "");
        if (model->machines->len > 0)
            continue;
        fit_parts(model, of, n, name);
        if (!smooth || n < LEAST_SMOOTH)
            continue;
        fill_rest(rest, model, of, n);
        line->smooth = fit_smooth(rest);
    }
}

/* --- a prediction -------------------------------------------------------------------------------------------------------
 */

static double factor_of(double logarithm)
{
    return exp(CLAMP(logarithm, -LEARN_MAX_LOG, LEARN_MAX_LOG));
}

static double trees_ns(const LearnTrees *trees, double roofline_ns, const float *row)
{
    return trees->n_features > 0 ? roofline_ns * factor_of(learn_trees_at(trees, row)) : (double)NAN;
}

static double smooth_ns(const IfmLatencyModel *model, const IfmKernelSample *sample)
{
    const LearnLine *whole = find_line(model, sample->op_type, "");
    const double ns = line_ns(model, nearest_line(model, sample, part_of(sample)), sample);
    double place[LEARN_N_SIZES];
    if (whole == NULL || whole->smooth == NULL)
        return ns;
    learn_fill_place(sample, place, LEARN_N_SIZES);
    return ns * factor_of(ifm_smooth_at(whole->smooth, place));
}

double learn_way_ns(const IfmLatencyModel *model, LearnWay way, const IfmKernelSample *sample, double roofline_ns,
                    const float *row)
{
    switch (way)
    {
    case LEARN_FLOP:
        return line_ns(model, find_line(model, "", FLOP_PART), sample);
    case LEARN_ROOFLINE:
        return roofline_ns * model->scale;
    case LEARN_LINEAR:
        return line_ns(model, nearest_line(model, sample, ""), sample);
    case LEARN_PARTS:
        return line_ns(model, nearest_line(model, sample, part_of(sample)), sample);
    case LEARN_SMOOTH:
        return smooth_ns(model, sample);
    case LEARN_BY_TREES:
        return trees_ns(&model->idle, roofline_ns, row);
    case LEARN_BY_FOREST:
        return trees_ns(&model->forest, roofline_ns, row);
    case LEARN_N_WAYS:
        break;
    }
    g_assert_not_reached();
}
