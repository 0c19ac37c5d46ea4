/*
 * Transformer encoders over sequences, as PyTorch exports them: a vision transformer (Dosovitskiy et al., An image is worth
 * 16x16 words, 2020; torchvision's form) and BERT's encoder (Devlin et al., BERT, 2018; the form of Hugging Face, without
 * the pooler). A linear layer is MatMul and Add, GELU is written with Erf: what runtimes fuse is theirs to find.
 */
#include <math.h>

#include "zoo-private.h"

#define OPSET 17 /* LayerNormalization */
#define MASKED (-10000.0)

/* Sizes: @batch: -1: free    @positions: of the sequence */
typedef struct
{
    gint64 batch, positions, hidden, heads, mlp;
    double epsilon;
} Sizes;

/* reshaped: @dims: 0 keeps a dimension, -1 takes what is left */
static const char *reshaped(IfmNet *net, const char *name, const char *x, gint64 n, const gint64 *dims)
{
    return ifm_net_op(net, name, "Reshape", x, ifm_net_ints(net, ifm_net_name(net, "%s.shape", name), n, dims), NULL);
}

static const char *normalised(IfmNet *net, const char *name, const char *x)
{
    const Sizes *sizes = net->of;
    const char *scale = ifm_net_vector(net, ifm_net_name(net, "%s.weight", name), sizes->hidden, 0.75, 1.25);
    const char *bias = ifm_net_vector(net, ifm_net_name(net, "%s.bias", name), sizes->hidden, -0.1, 0.1);
    ifm_net_op(net, name, "LayerNormalization axis=-1", x, scale, bias, NULL);
    ifm_model_builder_float(net->builder, net->last, "epsilon", sizes->epsilon);
    return name;
}

/* linear: x W + b over the last dimension. Uniform weights that keep the variance. */
static const char *linear(IfmNet *net, const char *name, const char *x, gint64 in, gint64 out)
{
    const double bound = sqrt(3.0 / (double)in);
    const char *weight = ifm_net_draw(net, ifm_net_name(net, "%s.weight", name), 2, (gint64[]){ in, out }, -bound, bound);
    const char *bias = ifm_net_vector(net, ifm_net_name(net, "%s.bias", name), out, -0.1, 0.1);
    const char *product = ifm_net_op(net, ifm_net_name(net, "%s.matmul", name), "MatMul", x, weight, NULL);
    return ifm_net_op(net, name, "Add", product, bias, NULL);
}

/* gelu: x (1 + erf(x / sqrt 2)) / 2 */
static const char *gelu(IfmNet *net, const char *name, const char *x)
{
    const char *root = ifm_net_number(net, ifm_net_name(net, "%s.sqrt2", name), sqrt(2));
    const char *one = ifm_net_number(net, ifm_net_name(net, "%s.one", name), 1);
    const char *half = ifm_net_number(net, ifm_net_name(net, "%s.half", name), 0.5);
    const char *y = ifm_net_op(net, ifm_net_name(net, "%s.div", name), "Div", x, root, NULL);
    y = ifm_net_op(net, ifm_net_name(net, "%s.erf", name), "Erf", y, NULL);
    y = ifm_net_op(net, ifm_net_name(net, "%s.add", name), "Add", y, one, NULL);
    y = ifm_net_op(net, ifm_net_name(net, "%s.mul", name), "Mul", x, y, NULL);
    return ifm_net_op(net, name, "Mul", y, half, NULL);
}

/* --- the layers of both ------------------------------------------------------------------------------------------- */

/* heads_of: [batch, positions, hidden] to [batch, heads, positions, hidden / heads], or with the last two exchanged. */
static const char *heads_of(IfmNet *net, const char *name, const char *x, gboolean exchanged)
{
    const Sizes *sizes = net->of;
    const gint64 width = sizes->hidden / sizes->heads;
    x = reshaped(net, ifm_net_name(net, "%s.split", name), x, 4, (gint64[]){ 0, 0, sizes->heads, width });
    return ifm_net_op(net, name, exchanged ? "Transpose perm=[0,2,3,1]" : "Transpose perm=[0,2,1,3]", x, NULL);
}

/* attention: softmax(Q K^T / sqrt(d) + mask) V, all heads, before the output's projection.
 * @qkv: the three tensors [batch, positions, hidden]    @mask: [batch, 1, 1, positions]; NULL: none */
static const char *attention(IfmNet *net, const char *name, const char *const *qkv, const char *mask)
{
    const Sizes *sizes = net->of;
    const char *q = heads_of(net, ifm_net_name(net, "%s.q", name), qkv[0], FALSE);
    const char *k = heads_of(net, ifm_net_name(net, "%s.k", name), qkv[1], TRUE);
    const char *v = heads_of(net, ifm_net_name(net, "%s.v", name), qkv[2], FALSE);
    const char *root =
        ifm_net_number(net, ifm_net_name(net, "%s.root", name), sqrt((double)sizes->hidden / (double)sizes->heads));
    const char *x = ifm_net_op(net, ifm_net_name(net, "%s.scores", name), "MatMul", q, k, NULL);
    x = ifm_net_op(net, ifm_net_name(net, "%s.scaled", name), "Div", x, root, NULL);
    if (mask != NULL)
        x = ifm_net_op(net, ifm_net_name(net, "%s.masked", name), "Add", x, mask, NULL);
    x = ifm_net_op(net, ifm_net_name(net, "%s.softmax", name), "Softmax axis=-1", x, NULL);
    x = ifm_net_op(net, ifm_net_name(net, "%s.context", name), "MatMul", x, v, NULL);
    x = ifm_net_op(net, ifm_net_name(net, "%s.rows", name), "Transpose perm=[0,2,1,3]", x, NULL);
    return reshaped(net, ifm_net_name(net, "%s.joined", name), x, 3, (gint64[]){ 0, 0, sizes->hidden });
}

static gboolean check_heads(const char *model, gint64 hidden, gint64 heads, GError **error)
{
    return hidden % heads == 0 ||
           ifm_error_refuse(error, "zoo: %s: heads=%" G_GINT64_FORMAT " does not divide hidden=%" G_GINT64_FORMAT, model,
                            heads, hidden);
}

/* --- the vision transformer --------------------------------------------------------------------------------------- */

typedef struct
{
    gint64 batch, size, patch, hidden, layers, heads, mlp, classes;
} Vit;

const IfmZooParameter ifm_zoo_vit_parameters[] = {
    { "batch", 1, 0, 4096, "images; 0 leaves them free, as dimension N" },
    { "size", 224, 1, 4096, "height and width of an image" },
    { "patch", 16, 1, 256, "height and width of a patch" },
    { "hidden", 192, 1, 16384, "values of a token; 768 is ViT-B" },
    { "layers", 12, 1, 256, "encoder layers" },
    { "heads", 3, 1, 1024, "attention heads; 12 is ViT-B" },
    { "mlp", 4, 1, 64, "values between the two linear layers, as a multiple of hidden" },
    { "classes", 1000, 1, 65536, "outputs" },
    { NULL },
};

/* class_tokens: The class token once for each image: by the shape of the images where their number is free. */
static const char *class_tokens(IfmNet *net, const char *token)
{
    const Sizes *sizes = net->of;
    const gint64 d = sizes->hidden;
    const char *shape = NULL;
    if (sizes->batch == 1)
        return token;
    if (sizes->batch > 1)
        shape = ifm_net_ints(net, "class_tokens.shape", 3, (gint64[]){ sizes->batch, 1, d });
    else
    {
        const char *rest = ifm_net_ints(net, "class_tokens.dims", 2, (gint64[]){ 1, d });
        ifm_net_op(net, "images", "Shape end=1", "image", NULL);
        shape = ifm_net_op(net, "class_tokens.shape", "Concat axis=0", "images", rest, NULL);
    }
    return ifm_net_op(net, "class_tokens", "Expand", token, shape, NULL);
}

/* tokens: Patches as rows, behind the class token, with the embedding of their position. */
static const char *tokens(IfmNet *net, gint64 patch)
{
    const Sizes *sizes = net->of;
    const gint64 d = sizes->hidden, sides[] = { patch, patch };
    const double bound = sqrt(3.0 / (double)(3 * patch * patch));
    const char *weight = ifm_net_draw(net, "conv_proj.weight", 4, (gint64[]){ d, 3, patch, patch }, -bound, bound);
    const char *bias = ifm_net_vector(net, "conv_proj.bias", d, -0.1, 0.1);
    const char *first = ifm_net_draw(net, "class_token", 3, (gint64[]){ 1, 1, d }, -0.1, 0.1);
    const char *places = ifm_net_draw(net, "encoder.pos_embedding", 3, (gint64[]){ 1, sizes->positions, d }, -0.1, 0.1);
    ifm_net_op(net, "conv_proj", "Conv", "image", weight, bias, NULL);
    ifm_model_builder_ints(net->builder, net->last, "kernel_shape", sides, 2);
    ifm_model_builder_ints(net->builder, net->last, "strides", sides, 2);
    const char *x = reshaped(net, "patches", "conv_proj", 3, (gint64[]){ 0, d, -1 });
    x = ifm_net_op(net, "patches.rows", "Transpose perm=[0,2,1]", x, NULL);
    first = class_tokens(net, first);
    ifm_net_op(net, "tokens", "Concat axis=1", first, x, NULL);
    return ifm_net_op(net, "embedded", "Add", "tokens", places, NULL);
}

/* vit_layer: x + attention(norm(x)), then x + mlp(norm(x)). Q, K and V are one product. */
static const char *vit_layer(IfmNet *net, const char *x, gint64 layer)
{
    const Sizes *sizes = net->of;
    const char *place = ifm_net_name(net, "encoder.layers.encoder_layer_%" G_GINT64_FORMAT, layer);
    const char *own = ifm_net_name(net, "%s.self_attention", place);
    const char *qkv[3];
    const gint64 d = sizes->hidden;
    for (int i = 0; i < 3; i++)
        qkv[i] = ifm_net_name(net, "%s.%c", own, "QKV"[i]);
    const char *y = normalised(net, ifm_net_name(net, "%s.ln_1", place), x);
    y = linear(net, ifm_net_name(net, "%s.in_proj", own), y, d, 3 * d);
    ifm_model_builder_node(
        net->builder, "Split axis=-1", ifm_net_name(net, "%s.split", own),
        IFM_ZOO_NAMES(y, ifm_net_ints(net, ifm_net_name(net, "%s.split.lengths", own), 3, (gint64[]){ d, d, d })),
        IFM_ZOO_NAMES(qkv[0], qkv[1], qkv[2]));
    y = attention(net, own, qkv, NULL);
    y = linear(net, ifm_net_name(net, "%s.out_proj", own), y, d, d);
    x = ifm_net_op(net, ifm_net_name(net, "%s.add_1", place), "Add", x, y, NULL);
    y = normalised(net, ifm_net_name(net, "%s.ln_2", place), x);
    y = linear(net, ifm_net_name(net, "%s.mlp.0", place), y, d, sizes->mlp);
    y = gelu(net, ifm_net_name(net, "%s.mlp.1", place), y);
    y = linear(net, ifm_net_name(net, "%s.mlp.3", place), y, sizes->mlp, d);
    return ifm_net_op(net, ifm_net_name(net, "%s.add_2", place), "Add", x, y, NULL);
}

IfmModel *ifm_zoo_vit_build(const IfmZooEntry *entry, const gint64 *values, guint32 seed, GError **error)
{
    const Vit *at = (const void *)values;
    const gint64 side = at->size / at->patch, d = at->hidden;
    const char *const dims[] = { "N", NULL, NULL, NULL };
    if (at->size % at->patch != 0)
    {
        ifm_error_refuse(error, "zoo: vit: patch=%" G_GINT64_FORMAT " does not divide size=%" G_GINT64_FORMAT, at->patch,
                         at->size);
        return NULL;
    }
    if (!check_heads("vit", d, at->heads, error))
        return NULL;
    const Sizes sizes = { at->batch > 0 ? at->batch : -1, side * side + 1, d, at->heads, at->mlp * d, 1e-6 };
    g_auto(IfmNet) net = { 0 };
    ifm_net_init(&net, entry->name, OPSET, seed, &sizes);
    ifm_model_builder_input(net.builder, "image", IFM_DTYPE_F32, 4, (gint64[]){ sizes.batch, 3, at->size, at->size }, dims);
    ifm_model_builder_output(net.builder, "scores", IFM_DTYPE_F32, 2, (gint64[]){ sizes.batch, at->classes }, dims);
    const char *x = tokens(&net, at->patch);
    for (gint64 i = 0; i < at->layers; i++)
        x = vit_layer(&net, x, i);
    x = normalised(&net, "encoder.ln", x);
    ifm_net_op(&net, "class", "Gather axis=1", x, ifm_net_index(&net, "class.position", 0), NULL);
    const double bound = sqrt(3.0 / (double)d);
    const char *weight = ifm_net_draw(&net, "heads.head.weight", 2, (gint64[]){ d, at->classes }, -bound, bound);
    const char *bias = ifm_net_vector(&net, "heads.head.bias", at->classes, -0.1, 0.1);
    ifm_model_builder_node(net.builder, "Gemm", "heads.head", IFM_ZOO_NAMES("class", weight, bias),
                           IFM_ZOO_NAMES("scores"));
    return ifm_net_finish(&net, error);
}

/* --- BERT's encoder ----------------------------------------------------------------------------------------------- */

typedef struct
{
    gint64 batch, length, hidden, layers, heads, mlp, vocabulary;
} Bert;

const IfmZooParameter ifm_zoo_bert_parameters[] = {
    { "batch", 1, 0, 4096, "sequences; 0 leaves them free, as dimension N" },
    { "length", 128, 1, 8192, "tokens of a sequence" },
    { "hidden", 256, 1, 16384, "values of a token; 768 is BERT-base" },
    { "layers", 4, 1, 256, "encoder layers; 12 is BERT-base" },
    { "heads", 4, 1, 1024, "attention heads; 12 is BERT-base" },
    { "mlp", 4, 1, 64, "values between the two linear layers, as a multiple of hidden" },
    { "vocabulary", 30522, 1, 1000000, "words" },
    { NULL },
};

/* word_embeddings: The sum of the embeddings of each token's word, place and segment, normalised. */
static const char *word_embeddings(IfmNet *net, gint64 vocabulary)
{
    const Sizes *sizes = net->of;
    const gint64 d = sizes->hidden;
    const char *words = ifm_net_draw(net, "embeddings.word_embeddings.weight", 2, (gint64[]){ vocabulary, d }, -0.1, 0.1);
    const char *places =
        ifm_net_draw(net, "embeddings.position_embeddings.weight", 3, (gint64[]){ 1, sizes->positions, d }, -0.1, 0.1);
    const char *segments = ifm_net_draw(net, "embeddings.token_type_embeddings.weight", 2, (gint64[]){ 2, d }, -0.1, 0.1);
    ifm_net_op(net, "embeddings.words", "Gather", words, "input_ids", NULL);
    ifm_net_op(net, "embeddings.segments", "Gather", segments, "token_type_ids", NULL);
    ifm_net_op(net, "embeddings.add_segments", "Add", "embeddings.words", "embeddings.segments", NULL);
    ifm_net_op(net, "embeddings.add_places", "Add", "embeddings.add_segments", places, NULL);
    return normalised(net, "embeddings.LayerNorm", "embeddings.add_places");
}

/* attention_mask: 0 for the tokens that count, MASKED for the others, [batch, 1, 1, positions]. */
static const char *attention_mask(IfmNet *net)
{
    const char *axes = ifm_net_ints(net, "mask.axes", 2, (gint64[]){ 1, 2 });
    ifm_net_op(net, "mask.rows", "Unsqueeze", "attention_mask", axes, NULL);
    ifm_net_op(net, "mask.f32", "Cast to=1", "mask.rows", NULL); /* f32 */
    ifm_net_op(net, "mask.inverse", "Sub", ifm_net_number(net, "mask.one", 1), "mask.f32", NULL);
    return ifm_net_op(net, "mask", "Mul", "mask.inverse", ifm_net_number(net, "mask.low", MASKED), NULL);
}

/* bert_layer: norm(x + attention(x)), then norm(x + mlp(x)). */
static const char *bert_layer(IfmNet *net, const char *x, gint64 layer, const char *mask)
{
    const Sizes *sizes = net->of;
    static const char *const parts[] = { "query", "key", "value" };
    const char *place = ifm_net_name(net, "encoder.layer.%" G_GINT64_FORMAT, layer);
    const gint64 d = sizes->hidden;
    const char *qkv[3];
    for (int i = 0; i < 3; i++)
        qkv[i] = linear(net, ifm_net_name(net, "%s.attention.self.%s", place, parts[i]), x, d, d);
    const char *y = attention(net, ifm_net_name(net, "%s.attention.self", place), qkv, mask);
    y = linear(net, ifm_net_name(net, "%s.attention.output.dense", place), y, d, d);
    x = ifm_net_op(net, ifm_net_name(net, "%s.attention.output.add", place), "Add", y, x, NULL);
    x = normalised(net, ifm_net_name(net, "%s.attention.output.LayerNorm", place), x);
    y = linear(net, ifm_net_name(net, "%s.intermediate.dense", place), x, d, sizes->mlp);
    y = gelu(net, ifm_net_name(net, "%s.intermediate.gelu", place), y);
    y = linear(net, ifm_net_name(net, "%s.output.dense", place), y, sizes->mlp, d);
    x = ifm_net_op(net, ifm_net_name(net, "%s.output.add", place), "Add", y, x, NULL);
    return normalised(net, ifm_net_name(net, "%s.output.LayerNorm", place), x);
}

IfmModel *ifm_zoo_bert_build(const IfmZooEntry *entry, const gint64 *values, guint32 seed, GError **error)
{
    static const char *const inputs[] = { "input_ids", "attention_mask", "token_type_ids" };
    const Bert *at = (const void *)values;
    const char *const dims[] = { "N", NULL, NULL };
    if (!check_heads("bert", at->hidden, at->heads, error))
        return NULL;
    const Sizes sizes = { at->batch > 0 ? at->batch : -1, at->length, at->hidden, at->heads, at->mlp * at->hidden, 1e-12 };
    const gint64 shape[] = { sizes.batch, sizes.positions, sizes.hidden };
    g_auto(IfmNet) net = { 0 };
    ifm_net_init(&net, entry->name, OPSET, seed, &sizes);
    for (gsize i = 0; i < G_N_ELEMENTS(inputs); i++)
        ifm_model_builder_input(net.builder, inputs[i], IFM_DTYPE_I64, 2, shape, dims);
    ifm_model_builder_output(net.builder, "last_hidden_state", IFM_DTYPE_F32, 3, shape, dims);
    const char *x = word_embeddings(&net, at->vocabulary), *mask = attention_mask(&net);
    for (gint64 i = 0; i < at->layers; i++)
        x = bert_layer(&net, x, i, mask);
    ifm_net_op(&net, "last_hidden_state", "Identity", x, NULL);
    return ifm_net_finish(&net, error);
}
