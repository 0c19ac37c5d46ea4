#pragma once
#include <onnx/reference-model.h>

#include "fixture.h"

/* Models of a few nodes, run on ONNX Runtime without optimisation, and integers for them. */

/* Answers: copies of the outputs of one run. */
typedef struct
{
    IfmTensor *tensors; /* [n] */
    gsize n;
} Answers;

static inline void answers_clear(Answers *answers)
{
    for (gsize i = 0; i < answers->n; i++)
        ifm_tensor_clear(&answers->tensors[i]);
    g_clear_pointer(&answers->tensors, g_free);
    answers->n = 0;
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Answers, answers_clear)

static inline void session_open(Fixture *fixture, IfmModel *model)
{
    IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
    options.optimise = FALSE;
    options.threads = 1;
    options.dtype = ifm_model_dtype(model); /* the runtime takes no other */
    fixture_compile(fixture, ifm_model_ref(model), &options);
}

/* session_run: @inputs: [number of inputs of the model] */
static inline Answers session_run(Fixture *fixture, const IfmTensor *inputs)
{
    g_autoptr(GError) error = NULL;
    Answers answers = { .n = ifm_model_n_outputs(fixture->model) };
    answers.tensors = g_new0(IfmTensor, answers.n);
    for (gsize i = 0; i < ifm_model_n_inputs(fixture->model); i++)
    {
        ifm_request_set_input(fixture->request, i, &inputs[i], &error);
        g_assert_no_error(error);
    }
    run(fixture->request);
    for (gsize i = 0; i < answers.n; i++)
    {
        IfmTensor output;
        ifm_request_output(fixture->request, i, &output, &error);
        g_assert_no_error(error);
        ifm_tensor_init(&answers.tensors[i], output.dtype, output.rank, output.shape, &error);
        g_assert_no_error(error);
        if (output.size_bytes > 0)
            memcpy(answers.tensors[i].data, output.data, output.size_bytes);
    }
    return answers;
}

static inline Answers run_model(Fixture *fixture, IfmModel *model, const IfmTensor *inputs)
{
    session_open(fixture, model);
    Answers answers = session_run(fixture, inputs);
    fixture_drop(fixture);
    return answers;
}

/* make_reference: of a model of which all is rewritten; the model is freed. The ports must be the same. */
static inline IfmModel *make_reference(IfmModel *model /* (transfer full) */)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) kept = NULL;
    IfmModel *reference = ifm_model_reference(model, &kept, &error);
    g_assert_no_error(error);
    g_assert_true(reference != model);
    g_assert_cmpuint(kept->len, ==, 0);
    g_assert_cmpuint(ifm_model_n_inputs(reference), ==, ifm_model_n_inputs(model));
    g_assert_cmpuint(ifm_model_n_outputs(reference), ==, ifm_model_n_outputs(model));
    for (gsize i = 0; i < ifm_model_n_outputs(model); i++)
    {
        const IfmPort *port = ifm_model_output(model, i), *other = ifm_model_output(reference, i);
        g_assert_cmpstr(port->name, ==, other->name);
        g_assert_cmpint(port->dtype, ==, other->dtype);
        g_assert_cmpint(port->rank, ==, other->rank);
    }
    ifm_model_unref(model);
    return reference;
}

static inline IfmModel *finish(IfmModelBuilder *builder /* (transfer full) */)
{
    g_autoptr(GError) error = NULL;
    IfmModel *model = ifm_model_builder_finish(builder, &error);
    g_assert_no_error(error);
    ifm_model_builder_free(builder);
    return model;
}

/* --- tensors -------------------------------------------------------------------------------------------------------- */

static inline IfmTensor new_tensor(IfmDtype dtype, int rank, const gint64 *shape)
{
    g_autoptr(GError) error = NULL;
    IfmTensor tensor;
    ifm_tensor_init(&tensor, dtype, rank, shape, &error);
    g_assert_no_error(error);
    return tensor;
}

/* draw: seeded integers over all of the type, or all its largest */
static inline IfmTensor draw(IfmDtype dtype, int rank, const gint64 *shape, guint32 seed, gboolean largest)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(seed);
    IfmTensor tensor = new_tensor(dtype, rank, shape);
    if (!largest)
        ifm_tensor_fill_random(&tensor, random, -32768, 65535, NULL);
    else
        memset(tensor.data, dtype == IFM_DTYPE_I8 ? 0x7f : 0xff, tensor.size_bytes);
    return tensor;
}

static inline void add_weight(IfmModelBuilder *builder, const char *name, IfmTensor tensor /* (transfer full) */)
{
    ifm_model_builder_weight(builder, name, &tensor);
    ifm_tensor_clear(&tensor);
}

/* add_scalar: f32 and integer types of one byte; several numbers: of rank 1 */
static inline void add_numbers(IfmModelBuilder *builder, const char *name, IfmDtype dtype, const double *values, gint64 n)
{
    IfmTensor tensor = new_tensor(dtype, n == 1 ? 0 : 1, &n);
    for (gint64 i = 0; i < n; i++)
        switch (dtype)
        {
        case IFM_DTYPE_F32:
            ((float *)tensor.data)[i] = (float)values[i];
            break;
        case IFM_DTYPE_I32:
            ((gint32 *)tensor.data)[i] = (gint32)values[i];
            break;
        case IFM_DTYPE_U16:
        case IFM_DTYPE_I16:
            ((guint16 *)tensor.data)[i] = (guint16)(gint64)values[i];
            break;
        default:
            ((guint8 *)tensor.data)[i] = (guint8)(gint64)values[i];
            break;
        }
    add_weight(builder, name, tensor);
}

static inline void add_number(IfmModelBuilder *builder, const char *name, IfmDtype dtype, double value)
{
    add_numbers(builder, name, dtype, &value, 1);
}

static inline gint64 integer_at(const IfmTensor *tensor, gint64 index)
{
    return (gint64)ifm_tensor_get_double(tensor, index); /* all integers of the tests are below 2^53 */
}

static inline void assert_same(const IfmTensor *a, const IfmTensor *b)
{
    g_assert_cmpint(a->dtype, ==, b->dtype);
    g_assert_cmpmem(a->data, a->size_bytes, b->data, b->size_bytes);
}
