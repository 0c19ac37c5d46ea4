/* oneDNN, opened at run time: its direct convolutions and its matrix product. Debian 12 has version 2, Debian 13 version 3,
 * and their C interfaces differ: what differs is in this file alone.
 *
 * Its OpenMP runtime would start threads of its own; each thread that calls it sets its own count to 1 first. */
#include "onednn-private.h"
#include <base/base.h>

#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.h>
#include <stdlib.h>
#include <string.h>

#define STRING(x) G_STRINGIFY(x)
#define LIBRARY "libdnnl.so." STRING(DNNL_VERSION_MAJOR)

#define SYMBOLS(X)                                                                                                         \
    X(version)                                                                                                             \
    X(sgemm)                                                                                                               \
    X(engine_create)                                                                                                       \
    X(stream_create)                                                                                                       \
    X(stream_destroy)                                                                                                      \
    X(stream_wait)                                                                                                         \
    X(memory_create)                                                                                                       \
    X(memory_destroy)                                                                                                      \
    X(memory_desc_get_size)                                                                                                \
    X(primitive_attr_create)                                                                                               \
    X(primitive_attr_destroy)                                                                                              \
    X(primitive_attr_set_scratchpad_mode)                                                                                  \
    X(primitive_attr_set_post_ops)                                                                                         \
    X(post_ops_create)                                                                                                     \
    X(post_ops_destroy)                                                                                                    \
    X(post_ops_append_binary)                                                                                              \
    X(post_ops_append_eltwise)                                                                                             \
    X(primitive_desc_destroy)                                                                                              \
    X(primitive_desc_query)                                                                                                \
    X(primitive_desc_query_md)                                                                                             \
    X(reorder_primitive_desc_create)                                                                                       \
    X(primitive_create)                                                                                                    \
    X(primitive_execute)                                                                                                   \
    X(primitive_destroy)
#if DNNL_VERSION_MAJOR >= 3
#define VERSION_SYMBOLS(X)                                                                                                 \
    X(memory_desc_create_with_tag)                                                                                         \
    X(memory_desc_destroy)                                                                                                 \
    X(convolution_forward_primitive_desc_create)
#else
#define VERSION_SYMBOLS(X)                                                                                                 \
    X(memory_desc_init_by_tag)                                                                                             \
    X(dilated_convolution_forward_desc_init)                                                                               \
    X(primitive_desc_create)
#endif

static struct
{
#define X(name) __typeof__(dnnl_##name) *name;
    SYMBOLS(X)
    VERSION_SYMBOLS(X)
#undef X
    void (*set_num_threads)(int n); /* of its OpenMP runtime; NULL where it has none */
    dnnl_engine_t engine;
    char version_text[24], why[200];
} dnnl;

/* --- the library ------------------------------------------------------------------------------------------------------ */

static gpointer open_library(gpointer data)
{
    g_autofree char *package = ifm_path_package("inferometer_onednn/" LIBRARY);
    void *library = dlopen(package != NULL ? package : LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
    {
        g_autofree char *install = ifm_path_install("inferometer-onednn");
        g_snprintf(dnnl.why, sizeof dnnl.why, "oneDNN is missing: %s (%s)", dlerror(), install);
        return NULL;
    }
    const struct
    {
        const char *name;
        void *at;
    } symbols[] = {
#define X(name) { "dnnl_" #name, &dnnl.name },
        SYMBOLS(X) VERSION_SYMBOLS(X)
#undef X
    };
    for (gsize i = 0; i < G_N_ELEMENTS(symbols); i++)
    {
        void *found = dlsym(library, symbols[i].name);
        memcpy(symbols[i].at, &found, sizeof found);
        if (found == NULL)
        {
            g_snprintf(dnnl.why, sizeof dnnl.why, "oneDNN: %s has no %s", LIBRARY, symbols[i].name);
            return NULL;
        }
    }
    void *set_num_threads = dlsym(library, "omp_set_num_threads");
    memcpy(&dnnl.set_num_threads, &set_num_threads, sizeof set_num_threads);
    if (dnnl.engine_create(&dnnl.engine, dnnl_cpu, 0) != dnnl_success)
    {
        g_strlcpy(dnnl.why, "oneDNN has no engine for this processor", sizeof dnnl.why);
        return NULL;
    }
    const dnnl_version_t *version = dnnl.version();
    g_snprintf(dnnl.version_text, sizeof dnnl.version_text, "%d.%d.%d", version->major, version->minor, version->patch);
    return &dnnl;
}

static gboolean is_open(void)
{
    static GOnce once = G_ONCE_INIT;
    return g_once(&once, open_library, NULL) != NULL;
}

gboolean conv_onednn_check(GError **error)
{
    if (!is_open())
        ifm_error_set(error, IFM_ERROR_UNAVAILABLE, "%s", dnnl.why);
    return is_open();
}

gboolean conv_onednn_fail(IfmBlockedError *error, const GError *failure)
{
    const gboolean is_missing = g_error_matches(failure, IFM_ERROR, IFM_ERROR_UNAVAILABLE);
    return ifm_blocked_fail(error, is_missing ? IFM_BLOCKED_UNAVAILABLE : IFM_BLOCKED_UNSUPPORTED, "%s", failure->message);
}

const char *conv_onednn_version(void)
{
    return is_open() ? dnnl.version_text : NULL;
}

static void use_this_thread(void)
{
    if (dnnl.set_num_threads != NULL)
        dnnl.set_num_threads(1);
}

void conv_onednn_product(gsize m, gsize n, gsize k, const float *a, const float *b, float *out)
{
    use_this_thread();
    dnnl.sgemm('N', 'N', (dnnl_dim_t)m, (dnnl_dim_t)n, (dnnl_dim_t)k, 1, a, (dnnl_dim_t)k, b, (dnnl_dim_t)n, 0, out,
               (dnnl_dim_t)n);
}

/* --- descriptions of memory, of either version ------------------------------------------------------------------------ */

#if DNNL_VERSION_MAJOR >= 3
typedef dnnl_memory_desc_t Desc; /* a pointer */
#define DESC_OF(desc) (desc)
static gboolean desc_init(Desc *desc, int n_dims, const dnnl_dim_t *dims, dnnl_format_tag_t tag)
{
    return dnnl.memory_desc_create_with_tag(desc, n_dims, dims, dnnl_f32, tag) == dnnl_success;
}
static void desc_clear(Desc *desc)
{
    if (*desc != NULL)
        dnnl.memory_desc_destroy(*desc);
}
typedef const_dnnl_memory_desc_t DescRef;
#else
typedef dnnl_memory_desc_t Desc; /* a struct */
#define DESC_OF(desc) (&(desc))
static gboolean desc_init(Desc *desc, int n_dims, const dnnl_dim_t *dims, dnnl_format_tag_t tag)
{
    return dnnl.memory_desc_init_by_tag(desc, n_dims, dims, dnnl_f32, tag) == dnnl_success;
}
static void desc_clear(Desc *desc)
{
}
typedef const dnnl_memory_desc_t *DescRef;
#endif

/* --- direct convolutions ---------------------------------------------------------------------------------------------- */

struct ConvPrimitive
{
    dnnl_primitive_desc_t desc;
    dnnl_primitive_t primitive;
    DescRef input, output, scratch, bias_desc;
    dnnl_memory_t weights, bias;
    float *weights_data, *bias_data;
    gsize workspace, weights_bytes;
    gboolean has_sum;
    char implementation[96];
};

void conv_primitive_free(ConvPrimitive *self)
{
    if (self == NULL)
        return;
    if (self->weights != NULL)
        dnnl.memory_destroy(self->weights);
    if (self->bias != NULL)
        dnnl.memory_destroy(self->bias);
    if (self->primitive != NULL)
        dnnl.primitive_destroy(self->primitive);
    if (self->desc != NULL)
        dnnl.primitive_desc_destroy(self->desc);
    free(self->weights_data);
    free(self->bias_data);
    g_free(self);
}

const char *conv_primitive_implementation(const ConvPrimitive *self)
{
    return self->implementation;
}

gsize conv_primitive_workspace(const ConvPrimitive *self)
{
    return self->workspace;
}

gsize conv_primitive_weights(const ConvPrimitive *self)
{
    return self->weights_bytes;
}

/* The sum first, then the activation where it is bounds. */
static gboolean fill_post_ops(dnnl_post_ops_t post_ops, const IfmConvOptions *options, DescRef output)
{
    if (options->has_sum && dnnl.post_ops_append_binary(post_ops, dnnl_binary_add, output) != dnnl_success)
        return FALSE;
#if DNNL_VERSION_MAJOR >= 3
#define APPEND(kind, alpha, beta) dnnl.post_ops_append_eltwise(post_ops, kind, alpha, beta)
#else
#define APPEND(kind, alpha, beta) dnnl.post_ops_append_eltwise(post_ops, 1, kind, alpha, beta)
#endif
    if (options->activation == IFM_BLOCKED_RELU)
        return APPEND(dnnl_eltwise_relu, 0, 0) == dnnl_success;
    if (options->activation == IFM_BLOCKED_CLIP)
        return APPEND(dnnl_eltwise_clip, options->alpha, options->beta) == dnnl_success;
    return TRUE;
#undef APPEND
}

/* Descs: of one convolution. weights: as the library likes them; plain: as they come. */
typedef struct
{
    Desc input, output, weights, plain, bias;
} Descs;

static void descs_clear(Descs *descs)
{
    desc_clear(&descs->input);
    desc_clear(&descs->output);
    desc_clear(&descs->weights);
    desc_clear(&descs->plain);
    desc_clear(&descs->bias);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Descs, descs_clear)

static gboolean descs_init(Descs *descs, const IfmConvShape *shape)
{
    const dnnl_format_tag_t blocked = shape->block == 16 ? dnnl_nChw16c : dnnl_nChw8c;
    const dnnl_dims_t input = { 1, shape->channels, shape->in[0], shape->in[1] };
    const dnnl_dims_t output = { 1, shape->out_channels, shape->out[0], shape->out[1] };
    const dnnl_dims_t plain = { shape->out_channels, shape->channels, shape->kernel[0], shape->kernel[1] };
    const dnnl_dims_t grouped = { shape->groups, shape->out_channels / shape->groups, shape->channels / shape->groups,
                                  shape->kernel[0], shape->kernel[1] };
    const dnnl_dims_t bias = { shape->out_channels };
    const gboolean is_grouped = shape->groups > 1;
    const dnnl_dim_t *weights = is_grouped ? grouped : plain;
    return desc_init(&descs->input, 4, input, shape->input_block == 1 ? dnnl_nchw : blocked) &&
           desc_init(&descs->output, 4, output, blocked) &&
           desc_init(&descs->weights, is_grouped ? 5 : 4, weights, dnnl_format_tag_any) &&
           desc_init(&descs->plain, is_grouped ? 5 : 4, weights, is_grouped ? dnnl_goihw : dnnl_oihw) &&
           desc_init(&descs->bias, 1, bias, dnnl_x);
}

static gboolean create_desc(ConvPrimitive *self, const IfmConvShape *shape, const Descs *descs,
                            const_dnnl_primitive_attr_t attr)
{
    const dnnl_dims_t strides = { shape->stride[0], shape->stride[1] };
    const dnnl_dims_t dilates = { shape->dilation[0] - 1, shape->dilation[1] - 1 };
    const dnnl_dims_t before = { shape->pads[0], shape->pads[1] }, after = { shape->pads[2], shape->pads[3] };
#if DNNL_VERSION_MAJOR >= 3
    return dnnl.convolution_forward_primitive_desc_create(
               &self->desc, dnnl.engine, dnnl_forward_inference, dnnl_convolution_direct, descs->input, descs->weights,
               descs->bias, descs->output, strides, dilates, before, after, attr) == dnnl_success;
#else
    dnnl_convolution_desc_t convolution;
    return dnnl.dilated_convolution_forward_desc_init(&convolution, dnnl_forward_inference, dnnl_convolution_direct,
                                                      &descs->input, &descs->weights, &descs->bias, &descs->output, strides,
                                                      dilates, before, after) == dnnl_success &&
           dnnl.primitive_desc_create(&self->desc, &convolution, attr, dnnl.engine, NULL) == dnnl_success;
#endif
}

static gboolean describe(ConvPrimitive *self, const IfmConvShape *shape, const IfmConvOptions *options, gboolean fused,
                         const Descs *descs)
{
    dnnl_primitive_attr_t attr = NULL;
    dnnl_post_ops_t post_ops = NULL;
    gboolean ok = dnnl.primitive_attr_create(&attr) == dnnl_success && dnnl.post_ops_create(&post_ops) == dnnl_success &&
                  dnnl.primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user) == dnnl_success &&
                  (!fused || fill_post_ops(post_ops, options, DESC_OF(descs->output))) &&
                  dnnl.primitive_attr_set_post_ops(attr, post_ops) == dnnl_success && create_desc(self, shape, descs, attr);
    if (post_ops != NULL)
        dnnl.post_ops_destroy(post_ops);
    if (attr != NULL)
        dnnl.primitive_attr_destroy(attr);
    const char *implementation = NULL;
    if (ok && dnnl.primitive_desc_query(self->desc, dnnl_query_impl_info_str, 0, &implementation) == dnnl_success)
        g_strlcpy(self->implementation, implementation, sizeof self->implementation);
    return ok && strstr(self->implementation, "ref") == NULL && strstr(self->implementation, "gemm") == NULL;
}

/* Reorders the weights once, as the chosen kernel likes them. */
static gboolean take_weights(ConvPrimitive *self, const IfmConvShape *shape, const Descs *descs, const float *weights,
                             const float *bias)
{
    DescRef liked = dnnl.primitive_desc_query_md(self->desc, dnnl_query_weights_md, 0);
    dnnl_memory_t plain = NULL;
    dnnl_primitive_desc_t desc = NULL;
    dnnl_primitive_t reorder = NULL;
    dnnl_stream_t stream = NULL;
    self->weights_bytes = dnnl.memory_desc_get_size(liked);
    self->weights_data = conv_alloc(self->weights_bytes / sizeof(float) + 1);
    self->bias_data = conv_alloc((gsize)shape->out_channels);
    if (self->weights_data == NULL || self->bias_data == NULL)
        return FALSE;
    if (bias != NULL)
        memcpy(self->bias_data, bias, (gsize)shape->out_channels * sizeof(float));
    gboolean ok = dnnl.memory_create(&self->weights, liked, dnnl.engine, self->weights_data) == dnnl_success &&
                  dnnl.memory_create(&self->bias, dnnl.primitive_desc_query_md(self->desc, dnnl_query_weights_md, 1),
                                     dnnl.engine, self->bias_data) == dnnl_success &&
                  dnnl.memory_create(&plain, DESC_OF(descs->plain), dnnl.engine, (void *)weights) == dnnl_success &&
                  dnnl.reorder_primitive_desc_create(&desc, DESC_OF(descs->plain), dnnl.engine, liked, dnnl.engine, NULL) ==
                      dnnl_success &&
                  dnnl.primitive_create(&reorder, desc) == dnnl_success &&
                  dnnl.stream_create(&stream, dnnl.engine, dnnl_stream_default_flags) == dnnl_success;
    const dnnl_exec_arg_t arguments[] = { { DNNL_ARG_FROM, plain }, { DNNL_ARG_TO, self->weights } };
    ok = ok && dnnl.primitive_execute(reorder, stream, 2, arguments) == dnnl_success &&
         dnnl.stream_wait(stream) == dnnl_success;
    if (reorder != NULL)
        dnnl.primitive_destroy(reorder);
    if (desc != NULL)
        dnnl.primitive_desc_destroy(desc);
    if (plain != NULL)
        dnnl.memory_destroy(plain);
    if (stream != NULL)
        dnnl.stream_destroy(stream);
    return ok;
}

gboolean conv_primitive_needs(const IfmConvShape *shape, const IfmConvOptions *options, gboolean fused, gsize *n_bytes)
{
    if (!conv_onednn_check(NULL))
        return FALSE;
    use_this_thread();
    g_auto(Descs) descs = { 0 };
    ConvPrimitive *self = g_new0(ConvPrimitive, 1);
    const gboolean is_described = descs_init(&descs, shape) && describe(self, shape, options, fused, &descs);
    if (is_described)
        *n_bytes = dnnl.memory_desc_get_size(dnnl.primitive_desc_query_md(self->desc, dnnl_query_scratchpad_md, 0));
    conv_primitive_free(self);
    return is_described;
}

ConvPrimitive *conv_primitive_new(const IfmConvShape *shape, const IfmConvOptions *options, gboolean fused,
                                  const float *weights, const float *bias, GError **error)
{
    if (!conv_onednn_check(error))
        return NULL;
    use_this_thread();
    g_auto(Descs) descs = { 0 };
    ConvPrimitive *self = g_new0(ConvPrimitive, 1);
    self->has_sum = fused && options->has_sum;
    const gboolean is_described = descs_init(&descs, shape) && describe(self, shape, options, fused, &descs);
    if (is_described && dnnl.primitive_create(&self->primitive, self->desc) == dnnl_success &&
        take_weights(self, shape, &descs, weights, bias))
    {
        self->input = dnnl.primitive_desc_query_md(self->desc, dnnl_query_src_md, 0);
        self->output = dnnl.primitive_desc_query_md(self->desc, dnnl_query_dst_md, 0);
        self->scratch = dnnl.primitive_desc_query_md(self->desc, dnnl_query_scratchpad_md, 0);
        self->workspace = dnnl.memory_desc_get_size(self->scratch);
        return self;
    }
    ifm_error_set(error, IFM_ERROR_UNSUPPORTED, "direct cannot do this layer (oneDNN %s has %s for it)", dnnl.version_text,
                  self->implementation[0] != '\0' && !is_described ? self->implementation : "no kernel");
    conv_primitive_free(self);
    return NULL;
}

void conv_primitive_run(const ConvPrimitive *self, const float *input, const float *sum, float *output, float *scratch)
{
    dnnl_memory_t memories[4] = { NULL };
    dnnl_stream_t stream = NULL;
    use_this_thread();
    const gboolean ok =
        dnnl.memory_create(&memories[0], self->input, dnnl.engine, (void *)input) == dnnl_success &&
        dnnl.memory_create(&memories[1], self->output, dnnl.engine, output) == dnnl_success &&
        dnnl.memory_create(&memories[2], self->scratch, dnnl.engine, scratch) == dnnl_success &&
        (!self->has_sum || dnnl.memory_create(&memories[3], self->output, dnnl.engine, (void *)sum) == dnnl_success) &&
        dnnl.stream_create(&stream, dnnl.engine, dnnl_stream_default_flags) == dnnl_success;
    g_assert(ok); /* handles of descriptions that were accepted before */
    const dnnl_exec_arg_t arguments[] = {
        { DNNL_ARG_SRC, memories[0] },        { DNNL_ARG_WEIGHTS, self->weights },
        { DNNL_ARG_BIAS, self->bias },        { DNNL_ARG_DST, memories[1] },
        { DNNL_ARG_SCRATCHPAD, memories[2] }, { DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, memories[3] }
    };
    dnnl.primitive_execute(self->primitive, stream, self->has_sum ? 6 : 5, arguments);
    dnnl.stream_wait(stream);
    for (int i = 0; i < 4; i++)
        if (memories[i] != NULL)
            dnnl.memory_destroy(memories[i]);
    dnnl.stream_destroy(stream);
}
