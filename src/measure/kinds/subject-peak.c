#include <math.h>

#include "../measure-private.h"

/* This subject measures the peak of a device with a model that is a matrix product or a triad, and checks its outputs. */

#define TRIAD_SCALE 3.0

struct IfmPeakSubject
{
    IfmPeakKind kind;
    gint64 size;
    IfmDtype written; /* what the model is written in */
    IfmTolerance tolerance;
    IfmTensor weight; /* of a product; of a triad: c */
    IfmModel *model;
    IfmModelSubject *subject;
    IfmSubject slots; /* the subject's */
    gsize n_checks;
};

/* --- the models --------------------------------------------------------------------------------------------------- */

/* y = x W, both square: the weights are constants, as a layer's are, so that a runtime may lay them out as it likes. */
static void build_product(IfmModelBuilder *builder, const IfmPeakSubject *self)
{
    const gint64 shape[] = { self->size, self->size };
    ifm_model_builder_input(builder, "x", self->written, 2, shape, NULL);
    ifm_model_builder_output(builder, "y", self->written, 2, shape, NULL);
    ifm_model_builder_weight(builder, "w", &self->weight);
    ifm_model_builder_node(builder, "MatMul", "product", (const char *[]){ "x", "w", NULL }, (const char *[]){ "y", NULL });
}

static void build_triad(IfmModelBuilder *builder, const IfmPeakSubject *self)
{
    ifm_model_builder_input(builder, "b", self->written, 1, &self->size, NULL);
    ifm_model_builder_input(builder, "c", self->written, 1, &self->size, NULL);
    ifm_model_builder_output(builder, "a", self->written, 1, &self->size, NULL);
    ifm_model_builder_weight(builder, "s", &self->weight);
    ifm_model_builder_node(builder, "Mul", "scale", (const char *[]){ "c", "s", NULL }, (const char *[]){ "sc", NULL });
    ifm_model_builder_node(builder, "Add", "add", (const char *[]){ "b", "sc", NULL }, (const char *[]){ "a", NULL });
}

/* Of a product: uniform in +-sqrt(3 / size), so that y varies as x does. Of a triad: s, one number. */
static gboolean make_weight(IfmPeakSubject *self, GError **error)
{
    const gint64 square[] = { self->size, self->size };
    gboolean product = self->kind == IFM_PEAK_PRODUCT;
    double bound = product ? sqrt(3.0 / (double)self->size) : TRIAD_SCALE;
    g_autoptr(GRand) random = g_rand_new_with_seed(1);
    return ifm_tensor_init(&self->weight, self->written, product ? 2 : 0, square, error) &&
           ifm_tensor_fill_random(&self->weight, random, product ? -bound : bound, bound, error);
}

IfmPeakSubject *ifm_peak_subject_new(IfmEngine *engine, const IfmPeakCase *peak_case, IfmPeakKind kind, gint64 size,
                                     IfmDtype written, GError **error)
{
    g_autoptr(IfmPeakSubject) self = g_new0(IfmPeakSubject, 1);
    self->kind = kind;
    self->size = size;
    self->written = written;
    self->tolerance = ifm_tolerance_for(peak_case->dtype, 0, 0);
    const IfmModelCase model_case = {
        .device = peak_case->device, .dtype = peak_case->dtype, .threads = peak_case->threads, .seed = 1
    };
    if (!make_weight(self, error))
        return NULL;
    g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new(kind == IFM_PEAK_PRODUCT ? "product" : "triad", 17);
    (kind == IFM_PEAK_PRODUCT ? build_product : build_triad)(builder, self);
    self->model = ifm_model_builder_finish(builder, error);
    self->subject =
        self->model != NULL ? ifm_model_subject_new(engine, self->model, &model_case, IFM_COMPILE_MEASURED, error) : NULL;
    if (self->subject == NULL)
        return NULL;
    self->slots = ifm_model_subject_slots(self->subject);
    return g_steal_pointer(&self);
}

void ifm_peak_subject_free(IfmPeakSubject *self)
{
    if (self == NULL)
        return;
    g_clear_pointer(&self->subject, ifm_model_subject_free);
    g_clear_pointer(&self->model, ifm_model_unref);
    ifm_tensor_clear(&self->weight);
    g_free(self);
}

/* --- whether it is right ------------------------------------------------------------------------------------------ */

/* Elements of the output that a check looks at: consecutive ones, of a product within one row. */
#define CHECKED 256

/* @y: [n] from element @first on, in double */
static void product_part(const IfmPeakSubject *self, gint64 first, gint64 n, double *y)
{
    const IfmTensor *x = &self->subject->inputs.tensors[0];
    gint64 row = first / self->size, column = first % self->size;
    for (gint64 j = 0; j < n; j++)
        y[j] = 0;
    for (gint64 k = 0; k < self->size; k++)
    {
        double factor = ifm_tensor_get_double(x, row * self->size + k);
        for (gint64 j = 0; j < n; j++)
            y[j] += factor * ifm_tensor_get_double(&self->weight, k * self->size + column + j);
    }
}

/* @a: [n] from element @first on */
static void triad_part(const IfmPeakSubject *self, gint64 first, gint64 n, double *a)
{
    const IfmTensor *b = &self->subject->inputs.tensors[0], *c = &self->subject->inputs.tensors[1];
    double scale = ifm_tensor_get_double(&self->weight, 0);
    for (gint64 i = 0; i < n; i++)
        a[i] = ifm_tensor_get_double(b, first + i) + scale * ifm_tensor_get_double(c, first + i);
}

static gboolean compare(const IfmPeakSubject *self, const IfmTensor *output, gint64 first, const double *right, gint64 n,
                        GError **error)
{
    double square = 0;
    for (gint64 i = 0; i < n; i++)
        square += right[i] * right[i] / (double)n;
    for (gint64 i = 0; i < n; i++)
    {
        double value = ifm_tensor_get_double(output, first + i);
        double allowed = self->tolerance.atol * sqrt(square) + self->tolerance.rtol * fabs(right[i]);
        if (fabs(value - right[i]) <= allowed)
            continue;
        return ifm_error_set(error, IFM_ERROR_FAILED,
                             "%s of size %" G_GINT64_FORMAT ": element %" G_GINT64_FORMAT " is %g, expected %g +- %g",
                             ifm_model_name(self->model), self->size, first + i, value, right[i], allowed);
    }
    return TRUE;
}

/* Others at each check. */
static gboolean verify(void *user, GError **error)
{
    IfmPeakSubject *self = user;
    IfmTensor output = IFM_TENSOR_INIT;
    guint32 capabilities = ifm_compiled_info(self->subject->compiled).capabilities;
    if (!self->slots.verify(self->slots.self, error))
        return FALSE;
    if (!(capabilities & IFM_CAN_TRUE_OUTPUTS))
        return TRUE;
    if (!ifm_request_output(self->subject->requests[0], 0, &output, error))
        return FALSE;
    double right[CHECKED];
    gint64 n = MIN(self->size, CHECKED), n_parts = ifm_tensor_n_elements(&output) / n;
    gint64 first = n * (gint64)(self->n_checks * 7919 % (gsize)n_parts);
    (self->kind == IFM_PEAK_PRODUCT ? product_part : triad_part)(self, first, n, right);
    self->n_checks++;
    return compare(self, &output, first, right, n, error);
}

/* --- as a subject ------------------------------------------------------------------------------------------------- */

static gboolean run(void *user, GError **error)
{
    IfmPeakSubject *self = user;
    return self->slots.run(self->slots.self, error);
}

static void invoke(void *user, void (*function)(void *user), void *data)
{
    IfmPeakSubject *self = user;
    self->slots.invoke(self->slots.self, function, data);
}

IfmSubject ifm_peak_subject_slots(IfmPeakSubject *self)
{
    return (IfmSubject){
        .name = self->slots.name, .clock = self->slots.clock, .run = run, .invoke = invoke, .verify = verify, .self = self
    };
}

IfmModelSubject *ifm_peak_subject_model(IfmPeakSubject *self)
{
    return self->subject;
}

double ifm_peak_subject_work(const IfmPeakSubject *self)
{
    double n = (double)self->size, item = (double)ifm_dtype_size_bytes(self->written);
    if (self->kind == IFM_PEAK_PRODUCT)
        return 2 * n * n * n;
    return item * (5 * n + 1); /* Mul reads c and s, writes sc; Add reads b and sc, writes a */
}
