#include <math.h>
#include <string.h>

#include "profile-private.h"

/*
 * Backward and training step: models derived from the one that was given, each profiled as any other. The plan that comes
 * out is that of the pass asked for; the others hang on it.
 */

/* --- options ---------------------------------------------------------------------------------------------------------- */

/* An option that would change nothing is a slip of the pen. */
static gboolean check_options(const IfmProfileOptions *options, GError **error)
{
    if (options->mode == IFM_PASS_FORWARD && options->loss != IFM_OPTION_UNSET)
        return ifm_error_misuse(error, "--loss: the forward pass has none: --mode backward or train does");
    if (options->mode != IFM_PASS_STEP && options->optimiser != IFM_OPTION_UNSET)
        return ifm_error_misuse(error, "--optimiser: only a training step has one: --mode train");
    if (options->mode != IFM_PASS_STEP && options->learning_rate != NULL)
        return ifm_error_misuse(error, "--learning-rate: only a training step has one: --mode train");
    return TRUE;
}

/* A classifier of images by its ports: an input of rank 4, and an output of [rows, classes]. */
static IfmLoss usual_loss(const IfmProfilePlan *plan)
{
    IfmDtype dtype;
    int rank = 0;
    gint64 shape[IFM_MAX_RANK];
    gboolean images = FALSE;
    for (gsize i = 0; i < ifm_model_n_inputs(plan->source.model); i++)
        images |= ifm_model_input(plan->source.model, i)->rank == 4;
    gboolean known =
        ifm_model_n_outputs(plan->source.model) > 0 &&
        ifm_analysis_shape(plan->analysis, ifm_model_output(plan->source.model, 0)->name, &dtype, &rank, shape);
    return images && known && rank == 2 && shape[1] > 1 ? IFM_LOSS_CROSS_ENTROPY : IFM_LOSS_MSE;
}

/* All that what is made depends on but the learning rate. */
static IfmTrainingOptions training_of(const IfmProfilePlan *plan)
{
    const IfmProfileOptions *options = &plan->options;
    IfmTrainingOptions training = IFM_TRAINING_OPTIONS_INIT;
    training.gradient.loss = options->loss != IFM_OPTION_UNSET ? (IfmLoss)options->loss : usual_loss(plan);
    training.gradient.bindings = ifm_model_feed_bindings(&plan->source.feed);
    training.gradient.n_bindings = plan->source.feed.bindings->len;
    training.optimiser = options->optimiser != IFM_OPTION_UNSET ? (IfmOptimiser)options->optimiser : IFM_OPTIMISER_SGD;
    return training;
}

static gboolean read_options(ProfileMode *mode, const IfmProfilePlan *plan, GError **error)
{
    const char *rate = plan->options.learning_rate != NULL ? plan->options.learning_rate : "0.001";
    mode->report.asked = (IfmPassKind)plan->options.mode;
    mode->options = training_of(plan);
    mode->options.learning_rate = ifm_number_of(rate);
    return mode->options.learning_rate > 0 ||
           ifm_error_misuse(error, "--learning-rate: \"%s\" is not a number above 0", rate);
}

/* --- files ------------------------------------------------------------------------------------------------------------ */

/* stem_of: "resnet18,batch=8" of the zoo; of another file its name and the beginning of its digest: others may have the
 * name. (transfer full) NULL with an error. */
static char *stem_of(const IfmProfilePlan *given, GError **error)
{
    g_autofree char *base = g_path_get_basename(given->source.path);
    if (g_str_has_suffix(base, ".onnx"))
        base[strlen(base) - strlen(".onnx")] = '\0';
    if (g_str_has_prefix(given->source.source, "zoo:"))
        return g_steal_pointer(&base);
    const char *digest = ifm_model_digest(given->source.model, error);
    return digest != NULL ? g_strdup_printf("%s-%.8s", base, digest) : NULL;
}

/* "train,cross-entropy,adam,0.001", and the dimensions that it is made for alone: all that a derived model depends on
 * besides the given one. */
static char *suffix_of(const ProfileMode *mode, int kind)
{
    char rate[G_ASCII_DTOSTR_BUF_SIZE];
    const char *loss = ifm_loss_words()[mode->options.gradient.loss];
    const char *bound = ifm_model_metadata(mode->training->source.model, IFM_GRADIENT_BOUND);
    g_autofree char *dims = bound != NULL ? g_strdelimit(g_strconcat(",", bound, NULL), "/", '-') : g_strdup("");
    if (kind == IFM_PASS_FORWARD)
        return g_strconcat("forward", dims, NULL);
    if (kind == IFM_PASS_TRAINING)
        return g_strdup_printf("backward,%s%s", loss, dims);
    return g_strdup_printf("train,%s,%s,%s%s", loss, ifm_optimiser_words()[mode->options.optimiser],
                           g_ascii_dtostr(rate, sizeof rate, mode->options.learning_rate), dims);
}

/* file_of: OUT/FOLDER/STEM,SUFFIX.EXTENSION, of models that are not the zoo's in a folder of their own, since weights that
 * lie next to them keep the names of their files. The folder is made. (transfer full) */
static char *file_of(const ProfileMode *mode, int kind, const char *folder, const char *extension, GError **error)
{
    g_autofree char *stem = stem_of(mode->given, error), *suffix = suffix_of(mode, kind);
    if (stem == NULL)
        return NULL;
    gboolean zoo = g_str_has_prefix(mode->given->source.source, "zoo:");
    g_autofree char *below = g_build_filename(folder, zoo ? NULL : stem, NULL),
                    *name = g_strdup_printf("%s,%s.%s", stem, suffix, extension);
    return profile_out_file(mode->given->options.output, below, name, error);
}

/* --- one pass --------------------------------------------------------------------------------------------------------- */

/* The given sizes, and those of the target's dimensions that no input has: as large as the output's. */
static void take_bindings(IfmProfilePlan *plan, const IfmProfilePlan *given, IfmModel *model)
{
    const GArray *bindings = given->source.feed.bindings;
    IfmModelFeed *feed = &plan->source.feed;
    feed->bindings = g_array_new(FALSE, FALSE, sizeof(IfmDimBinding));
    feed->names = g_ptr_array_new_with_free_func(g_free);
    feed->given = given->source.feed.given != NULL ? g_array_ref(given->source.feed.given) : NULL;
    g_array_append_vals(feed->bindings, bindings->data, bindings->len);
    const IfmPort *target = NULL;
    for (gsize i = 0; i < ifm_model_n_inputs(model); i++)
        if (g_str_equal(ifm_model_input(model, i)->name, "target"))
            target = ifm_model_input(model, i);
    IfmDtype dtype;
    int rank;
    gint64 shape[IFM_MAX_RANK];
    if (target == NULL ||
        !ifm_analysis_shape(given->analysis, ifm_model_output(given->source.model, 0)->name, &dtype, &rank, shape))
        return;
    for (int axis = 0; axis < MIN(rank, target->rank); axis++)
    {
        gboolean known = target->dim_names[axis] == NULL;
        for (guint i = 0; i < feed->bindings->len && !known; i++)
            known = g_str_equal(g_array_index(feed->bindings, IfmDimBinding, i).name, target->dim_names[axis]);
        if (!known)
            ifm_model_feed_bind(feed, target->dim_names[axis], shape[axis]);
    }
}

static char *name_of(const char *model, int kind)
{
    static const char *const words[] = { "forward", "training pass", "training step" };
    return g_strdup_printf("%s (%s)", model, words[kind]);
}

/* pass_new: Plans what is made of the given plan's model as that is planned. @model: (transfer full) in no file yet; NULL
 * with an error: none */
static IfmProfilePlan *pass_new(const IfmProfilePlan *given, IfmModel *model, GError **error)
{
    if (model == NULL)
        return NULL;
    g_autoptr(IfmProfilePlan) plan = ifm_profile_plan_new(&given->options);
    plan->source.model = model;
    plan->parts = given->parts;
    plan->targets = g_ptr_array_new_with_free_func((GDestroyNotify)profile_target_free);
    for (guint i = 0; i < given->targets->len; i++)
    {
        const Target *like = given->targets->pdata[i];
        IfmDeviceSpec *spec = ifm_device_spec_parse(like->spec->text, NULL); /* it was one before */
        g_ptr_array_add(plan->targets, profile_target_new(like->device.result.alias, spec, g_strdupv(like->vendor)));
    }
    plan->source.source = g_strdup(given->source.source);
    plan->source.inputs_path = g_strdup(given->source.inputs_path);
    plan->graph = given->graph != NULL ? g_rc_box_acquire(given->graph) : NULL;
    take_bindings(plan, given, model);
    plan->base = given->base;
    plan->base.bindings = ifm_model_feed_bindings(&plan->source.feed);
    plan->base.n_bindings = plan->source.feed.bindings->len;
    plan->base.as_wholes = TRUE;
    return profile_plan_analyse(plan, error) ? g_steal_pointer(&plan) : NULL;
}

/* add_pass: A pass of the mode, and whether it fits. @model: as above    Returns: NULL with an error; the mode's */
static IfmProfilePlan *add_pass(ProfileMode *mode, IfmPassKind kind, IfmModel *model, GError **error)
{
    IfmProfilePlan *plan = mode->derived[kind] = pass_new(mode->given, model, error);
    if (plan == NULL)
        return NULL;
    plan->base.model_name = profile_plan_own(plan, name_of(mode->given->base.model_name, kind));
    plan->base.profile = mode->layers && kind == mode->report.asked;
    return profile_check_fits(plan, plan->base.model_name, error) ? plan : NULL;
}

static gboolean save_pass(ProfileMode *mode, int kind, GError **error)
{
    IfmProfilePlan *plan = mode->derived[kind];
    if (plan == NULL)
        return TRUE;
    plan->base.model_path = plan->source.path = file_of(mode, kind, "models", "onnx", error);
    return plan->source.path != NULL && profile_plan_save(plan, error);
}

/* add_bytes: of the gradient of a parameter. */
static void add_bytes(ProfileMode *mode, const IfmAnalysis *analysis, const char *gradient)
{
    IfmDtype dtype;
    int rank;
    gint64 shape[IFM_MAX_RANK];
    gsize bytes;
    if (!ifm_analysis_shape(analysis, gradient, &dtype, &rank, shape) ||
        !ifm_shape_size_bytes(dtype, rank, shape, &bytes, NULL))
        return;
    mode->report.gradient_bytes += (gint64)bytes;
    mode->kind_bytes += (gint64)bytes * (ifm_dtype_size_bytes(dtype) == 2 ? 2 : 1);
}

/* --- the forward pass of a training form ------------------------------------------------------------------------------ */

/* Whether engines for inference do not run it as it is. */
static gboolean normalises_by_batch(const IfmModel *model)
{
    for (gsize i = 0; i < ifm_model_n_nodes(model); i++)
        if (g_str_equal(ifm_model_node(model, i)->op_type, "BatchNormalization") &&
            ifm_node_int(ifm_model_node(model, i), "training_mode", 0) != 0)
            return TRUE;
    return FALSE;
}

/* --- what a step is fed ------------------------------------------------------------------------------------------------
 */

/* What the given model is fed from a file, and besides each parameter and the optimiser's state: this process makes them
 * and writes them into one file, whatever device then reads it. */
static gboolean check_state(const ProfileMode *mode, GError **error)
{
    static const int kinds[] = { [IFM_OPTIMISER_SGD] = 0, [IFM_OPTIMISER_MOMENTUM] = 1, [IFM_OPTIMISER_ADAM] = 2 };
    const IfmProfilePlan *given = mode->given;
    g_auto(IfmMemoryPlan) memory = { 0 };
    if (given->targets->len == 0) /* nothing is fed to anybody */
        return TRUE;
    if (given->source.inputs_path != NULL)
        ifm_analysis_memory(given->analysis, &memory);
    double parameters = (double)mode->report.gradient_bytes, inputs = (double)memory.input_bytes;
    double state = (double)mode->kind_bytes * kinds[mode->options.optimiser];
    g_autofree char *of_parameters = ifm_format_bytes(parameters), *of_state = ifm_format_bytes(state),
                    *of_inputs = ifm_format_bytes(inputs), *name = name_of(given->base.model_name, IFM_PASS_STEP);
    g_autofree char *more =
        g_strdup_printf("parameters %s, the optimiser's state %s, inputs %s", of_parameters, of_state, of_inputs);
    return profile_check_host(name, "is fed", parameters + state + inputs, more, error);
}

static gint64 bytes_of_states(const IfmProfilePlan *step)
{
    gint64 sum = 0;
    for (gsize i = 0; i < ifm_model_n_inputs(step->source.model); i++)
    {
        const IfmPort *port = ifm_model_input(step->source.model, i); /* weights have no free sizes */
        gsize bytes;
        if (g_str_has_prefix(port->name, "state.") &&
            ifm_shape_size_bytes(port->dtype, port->rank, port->dims, &bytes, NULL))
            sum += (gint64)bytes;
    }
    return sum;
}

/* Names and tensors of a file with inputs, and those of the states; all borrowed. */
static void add_given(const IfmTensorFile *file, GPtrArray *names, GArray *tensors)
{
    for (gsize i = 0; file != NULL && i < ifm_tensor_file_n(file); i++)
    {
        g_ptr_array_add(names, (gpointer)ifm_tensor_file_name(file, i));
        g_array_append_vals(tensors, ifm_tensor_file_tensor(file, i), 1);
    }
}

/* write_inputs: The given file's tensors, parameters and state as a training begins; target, and what else is in no file,
 * are seeded as inputs are. */
static gboolean write_inputs(ProfileMode *mode, IfmProfilePlan *step, GError **error)
{
    const IfmProfilePlan *given = mode->given;
    g_autoptr(IfmTensorFile) file =
        given->source.inputs_path != NULL ? ifm_tensor_file_open(given->source.inputs_path, error) : NULL;
    if (given->source.inputs_path != NULL && file == NULL)
        return FALSE;
    g_autoptr(GPtrArray) states = ifm_gradient_state(given->source.model, &mode->options, error);
    g_autofree char *path = states != NULL ? file_of(mode, IFM_PASS_STEP, "inputs", "tensors", error) : NULL;
    if (path == NULL)
        return FALSE;
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    g_autoptr(GArray) tensors = g_array_new(FALSE, FALSE, sizeof(IfmTensor));
    add_given(file, names, tensors);
    for (guint i = 0; i < states->len; i++)
    {
        const IfmTrainingState *state = states->pdata[i];
        g_ptr_array_add(names, state->input);
        g_array_append_vals(tensors, &state->first, 1);
    }
    if (!ifm_tensor_file_save_temporary(path, (const char *const *)names->pdata,
                                        (const IfmTensor *)(const void *)tensors->data, names->len, error))
        return FALSE;
    g_free(step->source.inputs_path);
    step->source.inputs_path = g_steal_pointer(&path);
    return TRUE;
}

/* --- all of it ---------------------------------------------------------------------------------------------------------
 */

static IfmModel *build_pass(const IfmProfilePlan *given, const IfmTrainingOptions *options, int kind, GError **error)
{
    return kind == IFM_PASS_STEP ? ifm_gradient_training_step(given->source.model, options, error)
                                 : ifm_gradient_backward(given->source.model, &options->gradient, error);
}

gboolean profile_mode_check_fits(const IfmProfilePlan *plan, const char *name, GError **error)
{
    const int kind = plan->options.mode;
    if (kind == IFM_PASS_FORWARD || !profile_runs_on_host(plan))
        return TRUE;
    const IfmTrainingOptions training = training_of(plan);
    IfmModel *model = build_pass(plan, &training, kind, NULL);
    if (model == NULL) /* which profile_mode_init() reports */
        return TRUE;
    g_autoptr(IfmProfilePlan) pass = pass_new(plan, model, error);
    g_autofree char *full = name_of(name, kind);
    return pass != NULL && profile_check_fits(pass, full, error);
}

static gboolean make_training(ProfileMode *mode, GError **error)
{
    IfmModel *model = build_pass(mode->given, &mode->options, IFM_PASS_TRAINING, error);
    IfmProfilePlan *plan = add_pass(mode, IFM_PASS_TRAINING, model, error);
    mode->training = plan;
    if (plan == NULL)
        return FALSE;
    for (gsize i = 0; i < ifm_model_n_outputs(plan->source.model); i++)
        if (g_str_has_prefix(ifm_model_output(plan->source.model, i)->name, "grad."))
            add_bytes(mode, plan->analysis, ifm_model_output(plan->source.model, i)->name);
    if (mode->report.gradient_bytes > 0)
        return TRUE;
    return ifm_error_refuse(
        error, "%s: nothing to train: %s", ifm_model_name(mode->given->source.model),
        ifm_model_n_trainable_within(mode->given->source.model) > 0
            ? "all its weights lie in branches and bodies, which train only where the condition of an If is known "
              "before the model runs: a constant, or what follows from shapes"
            : "it has no floating-point weight that is more than a single number");
}

static gboolean make_forward(ProfileMode *mode, GError **error)
{
    if (!normalises_by_batch(mode->given->source.model))
        return TRUE;
    IfmModel *model = ifm_gradient_forward(mode->training->source.model, mode->given->source.model, error);
    return add_pass(mode, IFM_PASS_FORWARD, model, error) != NULL;
}

static gboolean make_step(ProfileMode *mode, GError **error)
{
    if (mode->report.asked != IFM_PASS_STEP)
        return TRUE;
    if (!check_state(mode, error))
        return FALSE;
    IfmProfilePlan *plan =
        add_pass(mode, IFM_PASS_STEP, build_pass(mode->given, &mode->options, IFM_PASS_STEP, error), error);
    mode->report.state_bytes = plan != NULL ? bytes_of_states(plan) : 0;
    return plan != NULL;
}

/* Nothing is written before all passes are known to fit. */
static gboolean make_passes(ProfileMode *mode, GError **error)
{
    if (!make_training(mode, error) || !make_forward(mode, error) || !make_step(mode, error))
        return FALSE;
    for (int kind = 0; kind < IFM_N_PASSES; kind++)
        if (!save_pass(mode, kind, error))
            return FALSE;
    IfmProfilePlan *step = mode->derived[IFM_PASS_STEP];
    return step == NULL || step->targets->len == 0 || write_inputs(mode, step, error);
}

/* Puts the pass asked for where the given model's plan was. */
static void show_asked(IfmProfilePlan *plan, ProfileMode *mode)
{
    g_autofree IfmProfilePlan *asked = g_steal_pointer(&mode->derived[mode->report.asked]);
    *plan = *asked;
    plan->mode = mode;
    if (mode->training == asked)
        mode->training = plan;
}

gboolean profile_mode_init(IfmProfilePlan *plan, GError **error)
{
    if (!check_options(&plan->options, error))
        return FALSE;
    if (plan->options.mode == IFM_PASS_FORWARD)
        return TRUE;
    g_autoptr(ProfileMode) mode = g_new0(ProfileMode, 1);
    if (!read_options(mode, plan, error))
        return FALSE;
    mode->given = g_memdup2(plan, sizeof *plan); /* moved */
    mode->layers = plan->base.profile;
    mode->given->base.profile = FALSE;
    *plan = (IfmProfilePlan){ .options = plan->options, .parts = plan->parts };
    if (!make_passes(mode, error))
        return FALSE;
    show_asked(plan, g_steal_pointer(&mode));
    return TRUE;
}

void profile_mode_free(ProfileMode *mode)
{
    if (mode == NULL)
        return;
    ifm_profile_plan_free(mode->given);
    for (int kind = 0; kind < IFM_N_PASSES; kind++)
        ifm_profile_plan_free(mode->derived[kind]);
    g_free(mode);
}

IfmProfilePlan *profile_mode_plan(const IfmProfilePlan *plan, int kind)
{
    if (plan->mode == NULL)
        return NULL;
    IfmProfilePlan *derived = plan->mode->derived[kind];
    return derived == NULL && kind == IFM_PASS_FORWARD ? plan->mode->given : derived;
}

guint profile_mode_n_others(const IfmProfilePlan *plan)
{
    guint n = 0;
    for (int kind = 0; kind < IFM_N_PASSES; kind++)
        n += profile_mode_plan(plan, kind) != NULL;
    return n;
}

/* --- telling ---------------------------------------------------------------------------------------------------------- */

/* What is alive when the loss is known, and read after: inputs too, of which the model's weights are none. */
static gint64 held_bytes(const IfmProfilePlan *training)
{
    g_auto(IfmMemoryPlan) memory = { 0 };
    gssize loss = ifm_model_producer(training->source.model, "loss");
    gint64 bytes = 0;
    ifm_analysis_memory(training->analysis, &memory);
    for (guint i = 0; i < memory.lifetimes->len; i++)
    {
        const IfmLifetime *lifetime = &g_array_index(memory.lifetimes, IfmLifetime, i);
        if (lifetime->first < loss && lifetime->last > loss && lifetime->bytes > 0)
            bytes += lifetime->bytes;
    }
    return bytes;
}

/* Whether numbers that are fed decide what is dropped: masks of graph transformers, chances of the other models of the zoo.
 */
static gboolean drops(const IfmProfilePlan *given)
{
    for (gsize i = 0; i < ifm_model_n_inputs(given->source.model) && g_str_has_prefix(given->source.source, "zoo:"); i++)
    {
        const char *name = ifm_model_input(given->source.model, i)->name;
        if (g_str_has_prefix(name, "mask.") || g_str_has_prefix(name, "chance."))
            return TRUE;
    }
    return FALSE;
}

/* What the forward pass is, where that is not what the model does once it is trained; NULL. */
static const char *words_of_forward(const ProfileMode *mode)
{
    if (mode->derived[IFM_PASS_FORWARD] == NULL)
        return drops(mode->given) ? "forward in the training form, dropout by inputs" : NULL;
    return drops(mode->given) ? "forward in the training form, batch norm by the batch, dropout by inputs"
                              : "forward in the training form, batch norm by the batch";
}

void profile_mode_report(ProfileMode *mode)
{
    IfmProfileMode *report = &mode->report;
    g_auto(IfmMemoryPlan) memory = { 0 };
    ifm_analysis_memory(mode->given->analysis, &memory);
    report->model = mode->given->source.model;
    report->analysis = mode->given->analysis;
    report->loss = ifm_loss_words()[mode->options.gradient.loss];
    report->optimiser = report->asked == IFM_PASS_STEP ? ifm_optimiser_words()[mode->options.optimiser] : NULL;
    report->learning_rate = mode->options.learning_rate;
    report->forward_words = words_of_forward(mode);
    report->parameter_bytes = memory.parameter_bytes;
    report->held_bytes = held_bytes(mode->training);
}
