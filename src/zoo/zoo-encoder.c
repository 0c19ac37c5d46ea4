/*
 * Transformer encoders over sequences, as PyTorch exports them: a vision transformer (Dosovitskiy et al., An image is worth
 * 16x16 words, 2020; torchvision's form) and BERT's encoder (Devlin et al., BERT, 2018; the form of Hugging Face, without
 * the pooler). A linear layer is MatMul and Add, GELU is written with Erf: what runtimes fuse is theirs to find.
 */
#include <math.h>
#include <stdarg.h>

#include "zoo-private.h"

#define OPSET 17 /* LayerNormalization */
#define MASKED (-10000.0)

/* Encoder: @batch: -1: free    @positions: of the sequence */
typedef struct
{
    IfmModelBuilder *builder;
    GStringChunk *names;
    guint32 seed;
    gint64 batch, positions, hidden, heads, mlp;
    double epsilon;
} Encoder;

G_GNUC_PRINTF(2, 3) static const char *named(Encoder *encoder, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *name = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    return g_string_chunk_insert_const(encoder->names, name);
}

/* --- weights and nodes -------------------------------------------------------------------------------------------- */

static const char *draw(Encoder *encoder, const char *name, int rank, const gint64 *dims, double low, double high)
{
    ifm_model_builder_drawn_weight(encoder->builder, name, rank, dims, low, high, encoder->seed);
    return name;
}

static const char *constant(Encoder *encoder, const char *name, IfmDtype dtype, int rank, gint64 n, void *values)
{
    IfmTensor tensor;
    g_assert_true(ifm_tensor_wrap(&tensor, dtype, rank, &n, values, NULL));
    ifm_model_builder_weight(encoder->builder, name, &tensor);
    return name;
}

static const char *number(Encoder *encoder, const char *name, double value)
{
    return constant(encoder, name, IFM_DTYPE_F32, 0, 0, &(float){ (float)value });
}

static const char *integers(Encoder *encoder, const char *name, gint64 n, const gint64 *values)
{
    return constant(encoder, name, IFM_DTYPE_I64, 1, n, (void *)values);
}

/* op: Adds a node whose output has its name.    @node: (out) (optional) for attributes    Returns: @name */
static const char *op(Encoder *encoder, const char *name, const char *op_type, const char *const *inputs, gsize *node)
{
    const gsize index = ifm_model_builder_node(encoder->builder, op_type, name, inputs, IFM_ZOO_NAMES(name));
    if (node != NULL)
        *node = index;
    return name;
}

static const char *transposed(Encoder *encoder, const char *name, const char *x, int rank, const gint64 *order)
{
    gsize node;
    op(encoder, name, "Transpose", IFM_ZOO_NAMES(x), &node);
    ifm_model_builder_ints(encoder->builder, node, "perm", order, (gsize)rank);
    return name;
}

/* reshaped: @dims: 0 keeps a dimension, -1 takes what is left */
static const char *reshaped(Encoder *encoder, const char *name, const char *x, gint64 n, const gint64 *dims)
{
    return op(encoder, name, "Reshape", IFM_ZOO_NAMES(x, integers(encoder, named(encoder, "%s.shape", name), n, dims)),
              NULL);
}

static const char *normalised(Encoder *encoder, const char *name, const char *x)
{
    gsize node;
    const char *scale = draw(encoder, named(encoder, "%s.weight", name), 1, &encoder->hidden, 0.75, 1.25);
    const char *bias = draw(encoder, named(encoder, "%s.bias", name), 1, &encoder->hidden, -0.1, 0.1);
    op(encoder, name, "LayerNormalization", IFM_ZOO_NAMES(x, scale, bias), &node);
    ifm_model_builder_int(encoder->builder, node, "axis", -1);
    ifm_model_builder_float(encoder->builder, node, "epsilon", encoder->epsilon);
    return name;
}

/* linear: x W + b over the last dimension. Uniform weights that keep the variance. */
static const char *linear(Encoder *encoder, const char *name, const char *x, gint64 in, gint64 out)
{
    const double bound = sqrt(3.0 / (double)in);
    const char *weight = draw(encoder, named(encoder, "%s.weight", name), 2, (gint64[]){ in, out }, -bound, bound);
    const char *bias = draw(encoder, named(encoder, "%s.bias", name), 1, &out, -0.1, 0.1);
    const char *product = op(encoder, named(encoder, "%s.matmul", name), "MatMul", IFM_ZOO_NAMES(x, weight), NULL);
    return op(encoder, name, "Add", IFM_ZOO_NAMES(product, bias), NULL);
}

/* gelu: x (1 + erf(x / sqrt 2)) / 2 */
static const char *gelu(Encoder *encoder, const char *name, const char *x)
{
    const char *root = number(encoder, named(encoder, "%s.sqrt2", name), sqrt(2));
    const char *one = number(encoder, named(encoder, "%s.one", name), 1);
    const char *half = number(encoder, named(encoder, "%s.half", name), 0.5);
    const char *y = op(encoder, named(encoder, "%s.div", name), "Div", IFM_ZOO_NAMES(x, root), NULL);
    y = op(encoder, named(encoder, "%s.erf", name), "Erf", IFM_ZOO_NAMES(y), NULL);
    y = op(encoder, named(encoder, "%s.add", name), "Add", IFM_ZOO_NAMES(y, one), NULL);
    y = op(encoder, named(encoder, "%s.mul", name), "Mul", IFM_ZOO_NAMES(x, y), NULL);
    return op(encoder, name, "Mul", IFM_ZOO_NAMES(y, half), NULL);
}

/* --- the layers of both ------------------------------------------------------------------------------------------- */

/* heads_of: [batch, positions, hidden] to [batch, heads, positions, hidden / heads], or with the last two exchanged. */
static const char *heads_of(Encoder *encoder, const char *name, const char *x, gboolean exchanged)
{
    const gint64 width = encoder->hidden / encoder->heads;
    x = reshaped(encoder, named(encoder, "%s.split", name), x, 4, (gint64[]){ 0, 0, encoder->heads, width });
    return transposed(encoder, name, x, 4, exchanged ? (gint64[]){ 0, 2, 3, 1 } : (gint64[]){ 0, 2, 1, 3 });
}

/* attention: softmax(Q K^T / sqrt(d) + mask) V, all heads, before the output's projection.
 * @qkv: the three tensors [batch, positions, hidden]    @mask: [batch, 1, 1, positions]; NULL: none */
static const char *attention(Encoder *encoder, const char *name, const char *const *qkv, const char *mask)
{
    const char *q = heads_of(encoder, named(encoder, "%s.q", name), qkv[0], FALSE);
    const char *k = heads_of(encoder, named(encoder, "%s.k", name), qkv[1], TRUE);
    const char *v = heads_of(encoder, named(encoder, "%s.v", name), qkv[2], FALSE);
    const char *root =
        number(encoder, named(encoder, "%s.root", name), sqrt((double)encoder->hidden / (double)encoder->heads));
    const char *x = op(encoder, named(encoder, "%s.scores", name), "MatMul", IFM_ZOO_NAMES(q, k), NULL);
    gsize node;
    x = op(encoder, named(encoder, "%s.scaled", name), "Div", IFM_ZOO_NAMES(x, root), NULL);
    if (mask != NULL)
        x = op(encoder, named(encoder, "%s.masked", name), "Add", IFM_ZOO_NAMES(x, mask), NULL);
    x = op(encoder, named(encoder, "%s.softmax", name), "Softmax", IFM_ZOO_NAMES(x), &node);
    ifm_model_builder_int(encoder->builder, node, "axis", -1);
    x = op(encoder, named(encoder, "%s.context", name), "MatMul", IFM_ZOO_NAMES(x, v), NULL);
    x = transposed(encoder, named(encoder, "%s.rows", name), x, 4, (gint64[]){ 0, 2, 1, 3 });
    return reshaped(encoder, named(encoder, "%s.joined", name), x, 3, (gint64[]){ 0, 0, encoder->hidden });
}

static gboolean check_heads(const char *model, gint64 hidden, gint64 heads, GError **error)
{
    if (hidden % heads == 0)
        return TRUE;
    g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID,
                "zoo: %s: heads=%" G_GINT64_FORMAT " does not divide hidden=%" G_GINT64_FORMAT, model, heads, hidden);
    return FALSE;
}

/* --- the vision transformer --------------------------------------------------------------------------------------- */

enum
{
    VIT_BATCH,
    VIT_SIZE,
    VIT_PATCH,
    VIT_HIDDEN,
    VIT_LAYERS,
    VIT_HEADS,
    VIT_MLP,
    VIT_CLASSES,
};

const IfmZooParameter ifm_zoo_vit_parameters[] = {
    [VIT_BATCH] = { "batch", 1, 0, 4096, "images; 0 leaves them free, as dimension N" },
    [VIT_SIZE] = { "size", 224, 1, 4096, "height and width of an image" },
    [VIT_PATCH] = { "patch", 16, 1, 256, "height and width of a patch" },
    [VIT_HIDDEN] = { "hidden", 192, 1, 16384, "values of a token; 768 is ViT-B" },
    [VIT_LAYERS] = { "layers", 12, 1, 256, "encoder layers" },
    [VIT_HEADS] = { "heads", 3, 1, 1024, "attention heads; 12 is ViT-B" },
    [VIT_MLP] = { "mlp", 4, 1, 64, "values between the two linear layers, as a multiple of hidden" },
    [VIT_CLASSES] = { "classes", 1000, 1, 65536, "outputs" },
    [VIT_CLASSES + 1] = { NULL },
};

/* class_tokens: The class token once for each image: by the shape of the images where their number is free. */
static const char *class_tokens(Encoder *encoder, const char *token)
{
    const gint64 d = encoder->hidden;
    const char *shape = NULL;
    if (encoder->batch == 1)
        return token;
    if (encoder->batch > 1)
        shape = integers(encoder, "class_tokens.shape", 3, (gint64[]){ encoder->batch, 1, d });
    else
    {
        gsize images, joined;
        const char *rest = integers(encoder, "class_tokens.dims", 2, (gint64[]){ 1, d });
        op(encoder, "images", "Shape", IFM_ZOO_NAMES("image"), &images);
        ifm_model_builder_int(encoder->builder, images, "end", 1);
        shape = op(encoder, "class_tokens.shape", "Concat", IFM_ZOO_NAMES("images", rest), &joined);
        ifm_model_builder_int(encoder->builder, joined, "axis", 0);
    }
    return op(encoder, "class_tokens", "Expand", IFM_ZOO_NAMES(token, shape), NULL);
}

/* tokens: Patches as rows, behind the class token, with the embedding of their position. */
static const char *tokens(Encoder *encoder, gint64 patch)
{
    const gint64 d = encoder->hidden, sides[] = { patch, patch };
    const double bound = sqrt(3.0 / (double)(3 * patch * patch));
    const char *weight = draw(encoder, "conv_proj.weight", 4, (gint64[]){ d, 3, patch, patch }, -bound, bound);
    const char *bias = draw(encoder, "conv_proj.bias", 1, &d, -0.1, 0.1);
    const char *first = draw(encoder, "class_token", 3, (gint64[]){ 1, 1, d }, -0.1, 0.1);
    const char *places = draw(encoder, "encoder.pos_embedding", 3, (gint64[]){ 1, encoder->positions, d }, -0.1, 0.1);
    gsize node;
    op(encoder, "conv_proj", "Conv", IFM_ZOO_NAMES("image", weight, bias), &node);
    ifm_model_builder_ints(encoder->builder, node, "kernel_shape", sides, 2);
    ifm_model_builder_ints(encoder->builder, node, "strides", sides, 2);
    const char *x = reshaped(encoder, "patches", "conv_proj", 3, (gint64[]){ 0, d, -1 });
    x = transposed(encoder, "patches.rows", x, 3, (gint64[]){ 0, 2, 1 });
    first = class_tokens(encoder, first);
    op(encoder, "tokens", "Concat", IFM_ZOO_NAMES(first, x), &node);
    ifm_model_builder_int(encoder->builder, node, "axis", 1);
    return op(encoder, "embedded", "Add", IFM_ZOO_NAMES("tokens", places), NULL);
}

/* vit_layer: x + attention(norm(x)), then x + mlp(norm(x)). Q, K and V are one product. */
static const char *vit_layer(Encoder *encoder, const char *x, gint64 layer)
{
    const char *place = named(encoder, "encoder.layers.encoder_layer_%" G_GINT64_FORMAT, layer);
    const char *own = named(encoder, "%s.self_attention", place);
    const char *qkv[3];
    const gint64 d = encoder->hidden;
    gsize node;
    for (int i = 0; i < 3; i++)
        qkv[i] = named(encoder, "%s.%c", own, "QKV"[i]);
    const char *y = normalised(encoder, named(encoder, "%s.ln_1", place), x);
    y = linear(encoder, named(encoder, "%s.in_proj", own), y, d, 3 * d);
    node = ifm_model_builder_node(
        encoder->builder, "Split", named(encoder, "%s.split", own),
        IFM_ZOO_NAMES(y, integers(encoder, named(encoder, "%s.split.lengths", own), 3, (gint64[]){ d, d, d })),
        IFM_ZOO_NAMES(qkv[0], qkv[1], qkv[2]));
    ifm_model_builder_int(encoder->builder, node, "axis", -1);
    y = attention(encoder, own, qkv, NULL);
    y = linear(encoder, named(encoder, "%s.out_proj", own), y, d, d);
    x = op(encoder, named(encoder, "%s.add_1", place), "Add", IFM_ZOO_NAMES(x, y), NULL);
    y = normalised(encoder, named(encoder, "%s.ln_2", place), x);
    y = linear(encoder, named(encoder, "%s.mlp.0", place), y, d, encoder->mlp);
    y = gelu(encoder, named(encoder, "%s.mlp.1", place), y);
    y = linear(encoder, named(encoder, "%s.mlp.3", place), y, encoder->mlp, d);
    return op(encoder, named(encoder, "%s.add_2", place), "Add", IFM_ZOO_NAMES(x, y), NULL);
}

IfmModel *ifm_zoo_vit_build(const gint64 *values, guint32 seed, GError **error)
{
    const gint64 side = values[VIT_SIZE] / values[VIT_PATCH], d = values[VIT_HIDDEN], classes = values[VIT_CLASSES];
    if (values[VIT_SIZE] % values[VIT_PATCH] != 0)
    {
        g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID,
                    "zoo: vit: patch=%" G_GINT64_FORMAT " does not divide size=%" G_GINT64_FORMAT, values[VIT_PATCH],
                    values[VIT_SIZE]);
        return NULL;
    }
    const char *const dims[] = { "N", NULL, NULL, NULL };
    if (!check_heads("vit", d, values[VIT_HEADS], error))
        return NULL;
    g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new("vit", OPSET);
    g_autoptr(GStringChunk) names = g_string_chunk_new(4096);
    Encoder encoder = { .builder = builder,
                        .names = names,
                        .seed = seed,
                        .batch = values[VIT_BATCH] > 0 ? values[VIT_BATCH] : -1,
                        .positions = side * side + 1,
                        .hidden = d,
                        .heads = values[VIT_HEADS],
                        .mlp = values[VIT_MLP] * d,
                        .epsilon = 1e-6 };
    ifm_model_builder_input(builder, "image", IFM_DTYPE_F32, 4,
                            (gint64[]){ encoder.batch, 3, values[VIT_SIZE], values[VIT_SIZE] }, dims);
    ifm_model_builder_output(builder, "scores", IFM_DTYPE_F32, 2, (gint64[]){ encoder.batch, classes }, dims);
    const char *x = tokens(&encoder, values[VIT_PATCH]);
    gsize node;
    for (gint64 i = 0; i < values[VIT_LAYERS]; i++)
        x = vit_layer(&encoder, x, i);
    x = normalised(&encoder, "encoder.ln", x);
    op(&encoder, "class", "Gather",
       IFM_ZOO_NAMES(x, constant(&encoder, "class.position", IFM_DTYPE_I64, 0, 0, &(gint64){ 0 })), &node);
    ifm_model_builder_int(builder, node, "axis", 1);
    const double bound = sqrt(3.0 / (double)d);
    const char *weight = draw(&encoder, "heads.head.weight", 2, (gint64[]){ d, classes }, -bound, bound);
    const char *bias = draw(&encoder, "heads.head.bias", 1, &classes, -0.1, 0.1);
    ifm_model_builder_node(builder, "Gemm", "heads.head", IFM_ZOO_NAMES("class", weight, bias), IFM_ZOO_NAMES("scores"));
    return ifm_model_builder_finish(builder, error);
}

/* --- BERT's encoder ----------------------------------------------------------------------------------------------- */

enum
{
    BERT_BATCH,
    BERT_LENGTH,
    BERT_HIDDEN,
    BERT_LAYERS,
    BERT_HEADS,
    BERT_MLP,
    BERT_VOCABULARY,
};

const IfmZooParameter ifm_zoo_bert_parameters[] = {
    [BERT_BATCH] = { "batch", 1, 0, 4096, "sequences; 0 leaves them free, as dimension N" },
    [BERT_LENGTH] = { "length", 128, 1, 8192, "tokens of a sequence" },
    [BERT_HIDDEN] = { "hidden", 256, 1, 16384, "values of a token; 768 is BERT-base" },
    [BERT_LAYERS] = { "layers", 4, 1, 256, "encoder layers; 12 is BERT-base" },
    [BERT_HEADS] = { "heads", 4, 1, 1024, "attention heads; 12 is BERT-base" },
    [BERT_MLP] = { "mlp", 4, 1, 64, "values between the two linear layers, as a multiple of hidden" },
    [BERT_VOCABULARY] = { "vocabulary", 30522, 1, 1000000, "words" },
    [BERT_VOCABULARY + 1] = { NULL },
};

/* word_embeddings: The sum of the embeddings of each token's word, place and segment, normalised. */
static const char *word_embeddings(Encoder *encoder, gint64 vocabulary)
{
    const gint64 d = encoder->hidden;
    const char *words = draw(encoder, "embeddings.word_embeddings.weight", 2, (gint64[]){ vocabulary, d }, -0.1, 0.1);
    const char *places =
        draw(encoder, "embeddings.position_embeddings.weight", 3, (gint64[]){ 1, encoder->positions, d }, -0.1, 0.1);
    const char *segments = draw(encoder, "embeddings.token_type_embeddings.weight", 2, (gint64[]){ 2, d }, -0.1, 0.1);
    op(encoder, "embeddings.words", "Gather", IFM_ZOO_NAMES(words, "input_ids"), NULL);
    op(encoder, "embeddings.segments", "Gather", IFM_ZOO_NAMES(segments, "token_type_ids"), NULL);
    op(encoder, "embeddings.add_segments", "Add", IFM_ZOO_NAMES("embeddings.words", "embeddings.segments"), NULL);
    op(encoder, "embeddings.add_places", "Add", IFM_ZOO_NAMES("embeddings.add_segments", places), NULL);
    return normalised(encoder, "embeddings.LayerNorm", "embeddings.add_places");
}

/* attention_mask: 0 for the tokens that count, MASKED for the others, [batch, 1, 1, positions]. */
static const char *attention_mask(Encoder *encoder)
{
    gsize cast;
    const char *axes = integers(encoder, "mask.axes", 2, (gint64[]){ 1, 2 });
    op(encoder, "mask.rows", "Unsqueeze", IFM_ZOO_NAMES("attention_mask", axes), NULL);
    op(encoder, "mask.f32", "Cast", IFM_ZOO_NAMES("mask.rows"), &cast);
    ifm_model_builder_int(encoder->builder, cast, "to", IFM_DTYPE_F32);
    op(encoder, "mask.inverse", "Sub", IFM_ZOO_NAMES(number(encoder, "mask.one", 1), "mask.f32"), NULL);
    return op(encoder, "mask", "Mul", IFM_ZOO_NAMES("mask.inverse", number(encoder, "mask.low", MASKED)), NULL);
}

/* bert_layer: norm(x + attention(x)), then norm(x + mlp(x)). */
static const char *bert_layer(Encoder *encoder, const char *x, gint64 layer, const char *mask)
{
    static const char *const parts[] = { "query", "key", "value" };
    const char *place = named(encoder, "encoder.layer.%" G_GINT64_FORMAT, layer);
    const gint64 d = encoder->hidden;
    const char *qkv[3];
    for (int i = 0; i < 3; i++)
        qkv[i] = linear(encoder, named(encoder, "%s.attention.self.%s", place, parts[i]), x, d, d);
    const char *y = attention(encoder, named(encoder, "%s.attention.self", place), qkv, mask);
    y = linear(encoder, named(encoder, "%s.attention.output.dense", place), y, d, d);
    x = op(encoder, named(encoder, "%s.attention.output.add", place), "Add", IFM_ZOO_NAMES(y, x), NULL);
    x = normalised(encoder, named(encoder, "%s.attention.output.LayerNorm", place), x);
    y = linear(encoder, named(encoder, "%s.intermediate.dense", place), x, d, encoder->mlp);
    y = gelu(encoder, named(encoder, "%s.intermediate.gelu", place), y);
    y = linear(encoder, named(encoder, "%s.output.dense", place), y, encoder->mlp, d);
    x = op(encoder, named(encoder, "%s.output.add", place), "Add", IFM_ZOO_NAMES(y, x), NULL);
    return normalised(encoder, named(encoder, "%s.output.LayerNorm", place), x);
}

IfmModel *ifm_zoo_bert_build(const gint64 *values, guint32 seed, GError **error)
{
    static const char *const inputs[] = { "input_ids", "attention_mask", "token_type_ids" };
    const char *const dims[] = { "N", NULL, NULL };
    if (!check_heads("bert", values[BERT_HIDDEN], values[BERT_HEADS], error))
        return NULL;
    g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new("bert", OPSET);
    g_autoptr(GStringChunk) names = g_string_chunk_new(4096);
    Encoder encoder = { .builder = builder,
                        .names = names,
                        .seed = seed,
                        .batch = values[BERT_BATCH] > 0 ? values[BERT_BATCH] : -1,
                        .positions = values[BERT_LENGTH],
                        .hidden = values[BERT_HIDDEN],
                        .heads = values[BERT_HEADS],
                        .mlp = values[BERT_MLP] * values[BERT_HIDDEN],
                        .epsilon = 1e-12 };
    const gint64 shape[] = { encoder.batch, encoder.positions, encoder.hidden };
    for (gsize i = 0; i < G_N_ELEMENTS(inputs); i++)
    {
        g_autofree char *key = g_strdup_printf("inferometer.range.%s", inputs[i]);
        g_autofree char *range = g_strdup_printf("0 %" G_GINT64_FORMAT, i == 0 ? values[BERT_VOCABULARY] : 2);
        ifm_model_builder_input(builder, inputs[i], IFM_DTYPE_I64, 2, shape, dims);
        ifm_model_builder_metadata(builder, key, range);
    }
    ifm_model_builder_output(builder, "last_hidden_state", IFM_DTYPE_F32, 3, shape, dims);
    const char *x = word_embeddings(&encoder, values[BERT_VOCABULARY]), *mask = attention_mask(&encoder);
    for (gint64 i = 0; i < values[BERT_LAYERS]; i++)
        x = bert_layer(&encoder, x, i, mask);
    ifm_model_builder_node(builder, "Identity", "last_hidden_state", IFM_ZOO_NAMES(x), IFM_ZOO_NAMES("last_hidden_state"));
    return ifm_model_builder_finish(builder, error);
}
