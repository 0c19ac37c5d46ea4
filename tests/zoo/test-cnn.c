/* The convolutional networks: parameters, multiply-adds, weights and the file these lie in. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include <zoo/zoo.h>

#include "folder.h"

#define SETTINGS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static IfmModel *build(const char *name, const char *const *settings, guint32 seed)
{
    g_autoptr(GError) error = NULL;
    IfmModel *model = ifm_zoo_build(name, settings, seed, &error);
    g_assert_no_error(error);
    return model;
}

/* --- the architectures, from the papers' tables and torchvision's definitions --------------------------------------------
 */

/*
 * Row: @times convolutions of @in to @out channels, kernel x kernel, that make side x side positions; each of them has
 * @growth more channels in than the one before. A dense layer is one of kernel 1 that makes one position.
 */
typedef struct
{
    int times, in, out, kernel, side, growth;
} Row;

static const Row resnet18[] = {
    { 1, 3, 64, 7, 112 },
    { 4, 64, 64, 3, 56 },
    { 1, 64, 128, 3, 28 },
    { 3, 128, 128, 3, 28 },
    { 1, 64, 128, 1, 28 },
    { 1, 128, 256, 3, 14 },
    { 3, 256, 256, 3, 14 },
    { 1, 128, 256, 1, 14 },
    { 1, 256, 512, 3, 7 },
    { 3, 512, 512, 3, 7 },
    { 1, 256, 512, 1, 7 },
    { 1, 512, 1000, 1, 1 },
    { 0 },
};

/* The stride is in the 3x3: a stage's first 1x1 still works on the side that it is given. */
static const Row resnet50[] = {
    { 1, 3, 64, 7, 112 }, /**/
    { 1, 64, 64, 1, 56 },    { 2, 256, 64, 1, 56 },
    { 3, 64, 64, 3, 56 },    { 3, 64, 256, 1, 56 },
    { 1, 64, 256, 1, 56 },   { 1, 256, 128, 1, 56 },
    { 3, 512, 128, 1, 28 },  { 4, 128, 128, 3, 28 },
    { 4, 128, 512, 1, 28 },  { 1, 256, 512, 1, 28 },
    { 1, 512, 256, 1, 28 },  { 5, 1024, 256, 1, 14 },
    { 6, 256, 256, 3, 14 },  { 6, 256, 1024, 1, 14 },
    { 1, 512, 1024, 1, 14 }, { 1, 1024, 512, 1, 14 },
    { 2, 2048, 512, 1, 7 },  { 3, 512, 512, 3, 7 },
    { 3, 512, 2048, 1, 7 },  { 1, 1024, 2048, 1, 7 },
    { 1, 2048, 1000, 1, 1 }, { 0 },
};

static const Row resnet152[] = {
    { 1, 3, 64, 7, 112 }, /**/
    { 1, 64, 64, 1, 56 },    { 2, 256, 64, 1, 56 },
    { 3, 64, 64, 3, 56 },    { 3, 64, 256, 1, 56 },
    { 1, 64, 256, 1, 56 },   { 1, 256, 128, 1, 56 },
    { 7, 512, 128, 1, 28 },  { 8, 128, 128, 3, 28 },
    { 8, 128, 512, 1, 28 },  { 1, 256, 512, 1, 28 },
    { 1, 512, 256, 1, 28 },  { 35, 1024, 256, 1, 14 },
    { 36, 256, 256, 3, 14 }, { 36, 256, 1024, 1, 14 },
    { 1, 512, 1024, 1, 14 }, { 1, 1024, 512, 1, 14 },
    { 2, 2048, 512, 1, 7 },  { 3, 512, 512, 3, 7 },
    { 3, 512, 2048, 1, 7 },  { 1, 1024, 2048, 1, 7 },
    { 1, 2048, 1000, 1, 1 }, { 0 },
};

static const Row vgg16[] = {
    { 1, 3, 64, 3, 224 },
    { 1, 64, 64, 3, 224 },
    { 1, 64, 128, 3, 112 },
    { 1, 128, 128, 3, 112 },
    { 1, 128, 256, 3, 56 },
    { 2, 256, 256, 3, 56 },
    { 1, 256, 512, 3, 28 },
    { 2, 512, 512, 3, 28 },
    { 3, 512, 512, 3, 14 },
    { 1, 25088, 4096, 1, 1 },
    { 1, 4096, 4096, 1, 1 },
    { 1, 4096, 1000, 1, 1 },
    { 0 },
};

static const Row alexnet[] = {
    { 1, 3, 64, 11, 55 },    { 1, 64, 192, 5, 27 },   { 1, 192, 384, 3, 13 },
    { 1, 384, 256, 3, 13 },  { 1, 256, 256, 3, 13 },  { 1, 9216, 4096, 1, 1 },
    { 1, 4096, 4096, 1, 1 }, { 1, 4096, 1000, 1, 1 }, { 0 },
};

/* Of each module: its four 1x1 convolutions that read what the module is given, the 3x3 and the one in place of 5x5. */
static const Row googlenet[] = {
    { 1, 3, 64, 7, 112 },
    { 1, 64, 64, 1, 56 },
    { 1, 64, 192, 3, 56 }, /**/
    { 1, 192, 64 + 96 + 16 + 32, 1, 28 },
    { 1, 96, 128, 3, 28 },
    { 1, 16, 32, 3, 28 }, /* 3a */
    { 1, 256, 128 + 128 + 32 + 64, 1, 28 },
    { 1, 128, 192, 3, 28 },
    { 1, 32, 96, 3, 28 }, /* 3b */
    { 1, 480, 192 + 96 + 16 + 64, 1, 14 },
    { 1, 96, 208, 3, 14 },
    { 1, 16, 48, 3, 14 }, /* 4a */
    { 1, 512, 160 + 112 + 24 + 64, 1, 14 },
    { 1, 112, 224, 3, 14 },
    { 1, 24, 64, 3, 14 }, /* 4b */
    { 1, 512, 128 + 128 + 24 + 64, 1, 14 },
    { 1, 128, 256, 3, 14 },
    { 1, 24, 64, 3, 14 }, /* 4c */
    { 1, 512, 112 + 144 + 32 + 64, 1, 14 },
    { 1, 144, 288, 3, 14 },
    { 1, 32, 64, 3, 14 }, /* 4d */
    { 1, 528, 256 + 160 + 32 + 128, 1, 14 },
    { 1, 160, 320, 3, 14 },
    { 1, 32, 128, 3, 14 }, /* 4e */
    { 1, 832, 256 + 160 + 32 + 128, 1, 7 },
    { 1, 160, 320, 3, 7 },
    { 1, 32, 128, 3, 7 }, /* 5a */
    { 1, 832, 384 + 192 + 48 + 128, 1, 7 },
    { 1, 192, 384, 3, 7 },
    { 1, 48, 128, 3, 7 }, /* 5b */
    { 1, 1024, 1000, 1, 1 },
    { 0 },
};

static const Row densenet121[] = {
    { 1, 3, 64, 7, 112 },                                                         /**/
    { 6, 64, 128, 1, 56, 32 },   { 6, 128, 32, 3, 56 },  { 1, 256, 128, 1, 56 },  /**/
    { 12, 128, 128, 1, 28, 32 }, { 12, 128, 32, 3, 28 }, { 1, 512, 256, 1, 28 },  /**/
    { 24, 256, 128, 1, 14, 32 }, { 24, 128, 32, 3, 14 }, { 1, 1024, 512, 1, 14 }, /**/
    { 16, 512, 128, 1, 7, 32 },  { 16, 128, 32, 3, 7 },  { 1, 1024, 1000, 1, 1 }, { 0 },
};

/* Of each block: the 1x1 that widens, the 3x3 of each channel by itself (one channel in), the 1x1 that narrows. */
static const Row mobilenet_v2[] = {
    { 1, 3, 32, 3, 112 },   { 1, 1, 32, 3, 112 },    { 1, 32, 16, 1, 112 }, /**/
    { 1, 16, 96, 1, 112 },  { 1, 1, 96, 3, 56 },     { 1, 96, 24, 1, 56 },  /**/
    { 1, 24, 144, 1, 56 },  { 1, 1, 144, 3, 56 },    { 1, 144, 24, 1, 56 }, /**/
    { 1, 24, 144, 1, 56 },  { 1, 1, 144, 3, 28 },    { 1, 144, 32, 1, 28 }, /**/
    { 2, 32, 192, 1, 28 },  { 2, 1, 192, 3, 28 },    { 2, 192, 32, 1, 28 }, /**/
    { 1, 32, 192, 1, 28 },  { 1, 1, 192, 3, 14 },    { 1, 192, 64, 1, 14 }, /**/
    { 3, 64, 384, 1, 14 },  { 3, 1, 384, 3, 14 },    { 3, 384, 64, 1, 14 }, /**/
    { 1, 64, 384, 1, 14 },  { 1, 1, 384, 3, 14 },    { 1, 384, 96, 1, 14 }, /**/
    { 2, 96, 576, 1, 14 },  { 2, 1, 576, 3, 14 },    { 2, 576, 96, 1, 14 }, /**/
    { 1, 96, 576, 1, 14 },  { 1, 1, 576, 3, 7 },     { 1, 576, 160, 1, 7 }, /**/
    { 2, 160, 960, 1, 7 },  { 2, 1, 960, 3, 7 },     { 2, 960, 160, 1, 7 }, /**/
    { 1, 160, 960, 1, 7 },  { 1, 1, 960, 3, 7 },     { 1, 960, 320, 1, 7 }, /**/
    { 1, 320, 1280, 1, 7 }, { 1, 1280, 1000, 1, 1 }, { 0 },
};

/* Of each fire module: what squeezes, then 1x1 and 3x3 that read that. Version 1.1; poolings round up. */
static const Row squeezenet[] = {
    { 1, 3, 64, 3, 111 }, /**/
    { 1, 64, 16, 1, 55 },    { 1, 128, 16, 1, 55 },
    { 2, 16, 64, 1, 55 },    { 2, 16, 64, 3, 55 }, /**/
    { 1, 128, 32, 1, 27 },   { 1, 256, 32, 1, 27 },
    { 2, 32, 128, 1, 27 },   { 2, 32, 128, 3, 27 }, /**/
    { 1, 256, 48, 1, 13 },   { 1, 384, 48, 1, 13 },
    { 2, 48, 192, 1, 13 },   { 2, 48, 192, 3, 13 }, /**/
    { 1, 384, 64, 1, 13 },   { 1, 512, 64, 1, 13 },
    { 2, 64, 256, 1, 13 },   { 2, 64, 256, 3, 13 }, /**/
    { 1, 512, 1000, 1, 13 }, { 0 },
};

/* @parameters: that training changes, as torchvision counts them    @giga: MACs of one image, as published */
static const struct
{
    const char *name;
    const Row *rows;
    gint64 parameters;
    double giga;
} networks[] = {
    { "alexnet", alexnet, 61100840, 0.714 },      { "densenet121", densenet121, 7978856, 2.83 },
    { "googlenet", googlenet, 6624904, 1.50 },    { "mobilenet_v2", mobilenet_v2, 3504872, 0.301 },
    { "squeezenet", squeezenet, 1235496, 0.349 }, { "resnet152", resnet152, 60192808, 11.51 },
    { "resnet18", resnet18, 11689512, 1.81 },     { "resnet50", resnet50, 25557032, 4.09 },
    { "vgg16", vgg16, 138357544, 15.47 },
};

static gint64 macs_of(const Row *rows)
{
    gint64 macs = 0;
    for (const Row *row = rows; row->times > 0; row++)
        for (int i = 0; i < row->times; i++)
            macs += (gint64)(row->in + i * row->growth) * row->out * row->kernel * row->kernel * row->side * row->side;
    return macs;
}

/* count_weights: What the nodes read as weights, without the single numbers of a Clip, each once: all numbers, and those of
 * running means and variances. */
static void count_weights(const IfmModel *model, gint64 *all, gint64 *statistics)
{
    *all = *statistics = 0;
    for (gsize i = 0; i < ifm_model_n_nodes(model); i++)
    {
        const IfmNode *node = ifm_model_node(model, i);
        for (gsize k = 0; k < node->n_inputs; k++)
        {
            IfmTensor weight;
            if (!ifm_model_initializer(model, node->inputs[k], &weight) || weight.dtype != IFM_DTYPE_F32 ||
                weight.rank == 0)
                continue;
            *all += ifm_tensor_n_elements(&weight);
            if (g_str_equal(node->op_type, "BatchNormalization") && k >= 3)
                *statistics += ifm_tensor_n_elements(&weight);
        }
    }
}

static gsize count(IfmModel *model, const char *op_type)
{
    gsize n = 0;
    for (gsize i = 0; i < ifm_model_n_nodes(model); i++)
        n += g_str_equal(ifm_model_node(model, i)->op_type, op_type);
    return n;
}

/* n_bounds: The numbers between which the model's Clips stay. */
static gint64 n_bounds(IfmModel *model)
{
    return 2 * (gint64)count(model, "Clip");
}

static void test_counts(gconstpointer data)
{
    gsize n = GPOINTER_TO_SIZE(data), n_covered;
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModel) model = build(networks[n].name, SETTINGS("batch=3"), 1);
    gint64 all, statistics;
    count_weights(model, &all, &statistics);
    g_assert_cmpint(all - statistics, ==, networks[n].parameters);
    g_assert_cmpint(ifm_model_n_trainable(model), ==, networks[n].parameters);
    g_assert_cmpint(ifm_model_n_parameters(model) - n_bounds(model), ==, all);
    g_autoptr(IfmAnalysis) analysis = ifm_model_analyse(model, NULL, 0, &error);
    g_assert_no_error(error);
    IfmNodeCost total;
    ifm_analysis_total(analysis, &total, &n_covered);
    g_assert_cmpuint(n_covered, ==, ifm_model_n_nodes(model));
    g_assert_cmpint(total.macs, ==, 3 * macs_of(networks[n].rows));
    g_assert_cmpfloat_with_epsilon((double)total.macs / 3e9 / networks[n].giga, 1, 0.005);
}

/* --- weights ------------------------------------------------------------------------------------------------------------
 */

/* assert_weights: Whether two models' nodes, of the same names, read the same weights. */
static void assert_weights(const IfmModel *a, const IfmModel *b, gboolean same)
{
    gsize n_different = 0, n_compared = 0;
    for (gsize i = 0; i < ifm_model_n_nodes(a); i++)
    {
        const IfmNode *node = ifm_model_node(a, i);
        for (gsize k = 0; k < node->n_inputs; k++)
        {
            IfmTensor left, right;
            if (!ifm_model_initializer(a, node->inputs[k], &left) || left.dtype != IFM_DTYPE_F32)
                continue;
            g_assert_true(ifm_model_initializer(b, node->inputs[k], &right));
            g_assert_cmpuint(left.size_bytes, ==, right.size_bytes);
            n_different += memcmp(left.data, right.data, left.size_bytes) != 0;
            n_compared++;
        }
    }
    g_assert_cmpuint(n_compared, >, 0);
    g_assert_cmpuint(n_different, ==, same ? 0 : n_compared);
}

/* Of one seed the weights are the same, whatever the size and batch, those of another seed are all others. */
static void test_seed(void)
{
    g_autoptr(IfmModel) model = build("resnet18", NULL, 1);
    g_autoptr(IfmModel) again = build("resnet18", NULL, 1);
    g_autoptr(IfmModel) small = build("resnet18", SETTINGS("height=40", "width=33", "batch=0"), 1);
    g_autoptr(IfmModel) other = build("resnet18", NULL, 2);
    g_assert_cmpstr(ifm_model_digest(model, NULL), ==, ifm_model_digest(again, NULL));
    g_assert_cmpstr(ifm_model_digest(model, NULL), !=, ifm_model_digest(small, NULL));
    assert_weights(model, small, TRUE);
    assert_weights(model, other, FALSE);
    g_assert_cmpstr(ifm_model_input(small, 0)->dim_names[0], ==, "N");
    g_assert_cmpint(ifm_model_input(small, 0)->dims[2], ==, 40);
    g_assert_cmpint(ifm_model_input(small, 0)->dims[3], ==, 33);
}

/* mean_and_square: of a weight */
static void mean_and_square(const IfmModel *model, const char *name, double *mean, double *square)
{
    IfmTensor weight;
    g_assert_true(ifm_model_initializer(model, name, &weight));
    gint64 n = ifm_tensor_n_elements(&weight);
    *mean = *square = 0;
    for (gint64 i = 0; i < n; i++)
    {
        double value = ifm_tensor_get_double(&weight, i);
        *mean += value / (double)n;
        *square += value * value / (double)n;
    }
}

/* He's variance, 2 / fan in, to five of its standard errors; and what the other channel's numbers are is no copy. */
static void test_distribution(void)
{
    g_autoptr(IfmModel) model = build("resnet18", SETTINGS("size=32"), 7);
    double mean, square, wanted = 2.0 / (512 * 9), n = 512.0 * 512 * 9;
    mean_and_square(model, "layer4.1.conv2.weight", &mean, &square);
    g_assert_cmpfloat(fabs(mean), <, 5 * sqrt(wanted / n));
    g_assert_cmpfloat(fabs(square / wanted - 1), <, 5 * sqrt(0.8 / n)); /* a uniform's fourth moment is 9/5 */
    mean_and_square(model, "layer4.1.bn2.running_var", &mean, &square);
    g_assert_cmpfloat(fabs(mean - 1), <, 0.05);
    IfmTensor weight;
    g_assert_true(ifm_model_initializer(model, "layer4.1.conv2.weight", &weight));
    for (int lag = 1; lag <= 8; lag++)
    {
        double product = 0;
        for (gint64 i = 0; i + lag < (gint64)n; i++)
            product += ifm_tensor_get_double(&weight, i) * ifm_tensor_get_double(&weight, i + lag);
        g_assert_cmpfloat(fabs(product / n / wanted), <, 5 / sqrt(n));
    }
}

/* --- the file of weights ------------------------------------------------------------------------------------------------
 */

static IfmModel *save_and_open(IfmModel *model, const char *path)
{
    g_autoptr(GError) error = NULL;
    ifm_model_save(model, path, &error);
    g_assert_no_error(error);
    IfmModel *opened = ifm_model_open(path, &error);
    g_assert_no_error(error);
    return opened;
}

static ino_t inode_of(const char *path, goffset *size)
{
    struct stat status;
    g_assert_cmpint(stat(path, &status), ==, 0);
    *size = status.st_size;
    return status.st_ino;
}

/* Two sizes share one file, which is written once; damaged, it is written anew. */
static void test_shared_file(void)
{
    g_autofree char *folder = g_dir_make_tmp("ifm-zoo-XXXXXX", NULL);
    g_autofree char *one = g_build_filename(folder, "one.onnx", NULL), *two = g_build_filename(folder, "two.onnx", NULL);
    g_autofree char *weights = g_build_filename(folder, "resnet18.seed3.weights", NULL);
    g_autofree char *others = g_build_filename(folder, "resnet18.classes10.seed3.weights", NULL);
    g_autoptr(IfmModel) built = build("resnet18", SETTINGS("size=32"), 3);
    g_autoptr(IfmModel) wide = build("resnet18", SETTINGS("size=64", "batch=2"), 3);
    g_autoptr(IfmModel) few = build("resnet18", SETTINGS("classes=10"), 3);
    g_autoptr(IfmModel) opened = save_and_open(built, one);
    goffset size, size_again, model_size;
    ino_t inode = inode_of(weights, &size);
    inode_of(one, &model_size);
    g_assert_cmpint(size, >, 4 * 11600000);
    g_assert_cmpint(model_size, <, 200000);
    assert_weights(built, opened, TRUE);
    g_assert_cmpstr(ifm_model_digest(built, NULL), ==, ifm_model_digest(opened, NULL));
    g_autoptr(IfmModel) opened_wide = save_and_open(wide, two);
    g_assert_true(inode_of(weights, &size_again) == inode);
    assert_weights(built, opened_wide, TRUE);
    g_autoptr(IfmModel) opened_few = save_and_open(few, two);
    g_assert_true(inode_of(weights, &size_again) == inode);
    g_assert_true(inode_of(others, &size_again) != inode);
    g_assert_cmpint(truncate(others, 4096), ==, 0);
    g_assert_null(ifm_model_open(two, NULL));
    g_autoptr(IfmModel) mended = save_and_open(few, two);
    assert_weights(few, mended, TRUE);
    remove_tree(folder);
}

/* A model that was opened takes its weights along when it is saved elsewhere. */
static void test_saved_elsewhere(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *folder = g_dir_make_tmp("ifm-zoo-XXXXXX", NULL), *other = g_dir_make_tmp("ifm-zoo-XXXXXX", NULL);
    g_autofree char *from = g_build_filename(folder, "a.onnx", NULL), *to = g_build_filename(other, "b.onnx", NULL);
    g_autoptr(IfmModel) built = build("googlenet", SETTINGS("size=32"), 3);
    g_autoptr(IfmModel) opened = save_and_open(built, from);
    g_autoptr(IfmModel) moved = save_and_open(opened, to);
    remove_tree(folder);
    assert_weights(built, moved, TRUE);
    g_assert_cmpstr(ifm_model_digest(built, NULL), ==, ifm_model_digest(moved, NULL));
    remove_tree(other);
    g_assert_false(ifm_model_save(built, to, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE);
}

/* In one file: nothing lies beside it, and all weights are in it. */
static void test_one_file(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModel) built = build("googlenet", SETTINGS("size=32"), 3);
    g_autoptr(GBytes) bytes = ifm_model_serialize(built, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(g_bytes_get_size(bytes), >, 4 * 6624904);
    g_autoptr(IfmModel) parsed = ifm_model_parse(bytes, "in one file", &error);
    g_assert_no_error(error);
    assert_weights(built, parsed, TRUE);
    g_assert_cmpuint(ifm_model_n_nodes(built), ==, ifm_model_n_nodes(parsed));
    g_assert_cmpint(ifm_model_n_parameters(built), ==, ifm_model_n_parameters(parsed));
    g_assert_true(ifm_model_save(built, "/dev/null", &error)); /* beside which nothing may be written */
    g_assert_no_error(error);
    g_assert_false(g_file_test("/dev/googlenet.seed3.weights", G_FILE_TEST_EXISTS));
}

/* --- sizes --------------------------------------------------------------------------------------------------------------
 */

/* The least size that is computed builds; of one less, pooling has nothing left. Torchvision's own are the same. */
static void test_min_sizes(void)
{
    gsize n = 0;
    for (const IfmZooEntry *entry = ifm_zoo_entries(); entry->name != NULL; entry++)
    {
        const gint64 least = ifm_zoo_min_image(entry);
        g_assert_cmpint(least > 0, ==, entry->takes_images);
        if (least == 0 || g_str_equal(entry->name, "resnet152")) /* as resnet50, but larger */
            continue;
        g_autoptr(GError) error = NULL;
        g_autofree char *height = g_strdup_printf("size=%d", (int)least);
        g_autofree char *below = g_strdup_printf("size=%d", (int)least - 1);
        g_autoptr(IfmModel) model = build(entry->name, SETTINGS(height), 1);
        g_autoptr(IfmAnalysis) analysis = ifm_model_analyse(model, NULL, 0, &error);
        g_assert_no_error(error);
        n++;
        g_assert_null(ifm_zoo_build(entry->name, SETTINGS(below), 1, &error));
        g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
        g_assert_nonnull(strstr(error->message, least < 3 ? "is not a number" : "is too small"));
    }
    g_assert_cmpuint(n, ==, 9);
    g_assert_cmpint(ifm_zoo_min_image(ifm_zoo_find("alexnet", NULL)), ==, 63);
    g_assert_cmpint(ifm_zoo_min_image(ifm_zoo_find("googlenet", NULL)), ==, 15);
    g_assert_cmpint(ifm_zoo_min_image(ifm_zoo_find("vgg16", NULL)), ==, 32);
}

/* --- the form that is trained ---------------------------------------------------------------------------------------- */

/* The same weights in the same places; normalisation by the batch; a dropout that an input decides. */
static void test_training_form(void)
{
    g_autoptr(IfmModel) plain = build("googlenet", SETTINGS("size=15"), 1);
    g_autoptr(IfmModel) trained = build("googlenet", SETTINGS("size=15", "form=training", "batch=0"), 1);
    gsize n_trained = 0;
    for (gsize i = 0; i < ifm_model_n_initializers(plain); i++)
    {
        const char *name = ifm_model_initializer_name(plain, i);
        IfmTensor left, right;
        g_assert_true(ifm_model_initializer(plain, name, &left));
        g_assert_true(ifm_model_initializer(trained, name, &right));
        g_assert_cmpmem(left.data, left.size_bytes, right.data, right.size_bytes);
    }
    g_assert_cmpint(ifm_model_n_trainable(trained), ==, ifm_model_n_trainable(plain));
    for (gsize i = 0; i < ifm_model_n_nodes(trained); i++)
    {
        const IfmNode *node = ifm_model_node(trained, i);
        if (!g_str_equal(node->op_type, "BatchNormalization"))
            continue;
        n_trained++;
        g_assert_cmpint(ifm_node_int(node, "training_mode", 0), ==, 1);
        g_assert_cmpuint(node->n_outputs, ==, 3);
    }
    g_assert_cmpuint(n_trained, ==, count(plain, "BatchNormalization"));
    g_assert_cmpuint(ifm_model_n_inputs(plain), ==, 1);
    g_assert_cmpuint(ifm_model_n_inputs(trained), ==, 2);
    const IfmPort *chance = ifm_model_input(trained, 1);
    g_assert_cmpstr(chance->name, ==, "chance.dropout");
    g_assert_cmpstr(chance->dim_names[0], ==, "N");
    g_assert_cmpint(chance->dims[1], ==, 1024);
    g_assert_cmpstr(ifm_model_metadata(trained, "inferometer.range.chance.dropout"), ==, "0 1");
    g_assert_cmpuint(count(plain, "Mul"), ==, 0);
    g_assert_cmpuint(count(trained, "Mul"), ==, 2); /* what is kept by its gain, and the features by that */
}

/* Shapes and costs are the model's; large weights have no values, and no file is made for them. */
static void test_outline(void)
{
    g_autoptr(GError) error = NULL;
    const IfmModelRequest request = { .text = "squeezenet,size=64", .seed = 1, .is_outline = TRUE };
    g_auto(IfmModelSource) source = { 0 };
    g_autoptr(IfmModel) whole = build("squeezenet", SETTINGS("size=64"), 1);
    g_assert_true(ifm_model_source_open(&request, &source, &error));
    g_assert_no_error(error);
    g_assert_null(source.path);
    g_assert_null(source.scratch.path);
    g_assert_cmpuint(ifm_model_n_nodes(source.model), ==, ifm_model_n_nodes(whole));
    g_autoptr(IfmAnalysis) outline = ifm_model_analyse(source.model, NULL, 0, &error), all = NULL;
    g_assert_no_error(error);
    all = ifm_model_analyse(whole, NULL, 0, &error);
    g_assert_no_error(error);
    gsize n_large = 0;
    for (gsize i = 0; i < ifm_model_n_nodes(whole); i++)
    {
        const IfmNode *node = ifm_model_node(whole, i);
        IfmTensor weights, values;
        g_assert_cmpint(ifm_analysis_node_cost(outline, i)->macs, ==, ifm_analysis_node_cost(all, i)->macs);
        if (!g_str_equal(node->op_type, "Conv") || !ifm_model_initializer(whole, node->inputs[1], &weights) ||
            weights.size_bytes < IFM_MODEL_EXTERNAL_MIN_BYTES)
            continue;
        g_assert_true(!ifm_model_initializer(source.model, node->inputs[1], &values) || values.data == NULL);
        n_large++;
    }
    g_assert_cmpuint(n_large, >, 10);
    g_autoptr(IfmModel) huge = ifm_zoo_outline("vgg16", SETTINGS("size=17000"), 1, &error);
    g_assert_null(huge);
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(networks); i++)
    {
        g_autofree char *path = g_strdup_printf("/zoo/cnn/counts/%s", networks[i].name);
        g_test_add_data_func(path, GSIZE_TO_POINTER(i), test_counts);
    }
    g_test_add_func("/zoo/cnn/seed", test_seed);
    g_test_add_func("/zoo/cnn/distribution", test_distribution);
    g_test_add_func("/zoo/cnn/shared-file", test_shared_file);
    g_test_add_func("/zoo/cnn/outline", test_outline);
    g_test_add_func("/zoo/cnn/saved-elsewhere", test_saved_elsewhere);
    g_test_add_func("/zoo/cnn/one-file", test_one_file);
    g_test_add_func("/zoo/cnn/least-sizes", test_min_sizes);
    g_test_add_func("/zoo/cnn/training-form", test_training_form);
    return g_test_run();
}
