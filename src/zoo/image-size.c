/* Which images a convolutional network takes, by the graph: those that all of its windows fit. */
#include <string.h>

#include "cnn-private.h"

/* --- the zoo ---------------------------------------------------------------------------------------------------------- */

/* The networks of cnn.c check each window while they are built; of others the parameter says it. */
static gboolean zoo_fits(const IfmZooEntry *entry, gint64 size, GError **error)
{
    const IfmZooParameter *parameter = ifm_zoo_parameter(entry, "size");
    if (size < parameter->min || size > parameter->max)
        return ifm_error_refuse(error, "the size is not within %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT, parameter->min,
                                parameter->max);
    return entry->build != ifm_cnn_build || ifm_cnn_fits(entry, size, error);
}

gint64 ifm_zoo_min_image(const IfmZooEntry *entry)
{
    const IfmImages images = { .entry = entry };
    return entry->takes_images ? ifm_images_least(&images, ifm_zoo_parameter(entry, "size")->max) : 0;
}

/* --- a file ----------------------------------------------------------------------------------------------------------- */

static gboolean is_convolution(const IfmNode *node)
{
    static const char *const names[] = { "Conv", "FusedConv", "ConvInteger", "QLinearConv", NULL };
    return g_strv_contains(names, node->op_type);
}

/* Also in the functions that a model brings. */
static gboolean has_convolution(const IfmModel *model)
{
    g_autoptr(IfmModel) inlined = NULL;
    if (ifm_model_inline_functions(model, &inlined, NULL) && inlined != NULL)
        model = inlined;
    for (gsize i = 0; i < ifm_model_n_nodes(model); i++)
        if (is_convolution(ifm_model_node(model, i)))
            return TRUE;
    return FALSE;
}

/* The first input with dimensions behind batch and channels. NULL: there is none */
static const IfmPort *image_of(const IfmModel *model)
{
    for (gsize i = 0; i < ifm_model_n_inputs(model); i++)
        if (ifm_model_input(model, i)->rank > 2)
            return ifm_model_input(model, i);
    return NULL;
}

/* Channels are the smallest of its last three dimensions where they are last: [N, 224, 224, 3]. */
static gboolean has_channels_last(const IfmPort *image)
{
    const gint64 last = image->dims[image->rank - 1];
    return image->rank == 4 && image->dims[1] != 1 && image->dims[1] != 3 && (last == 1 || last == 3);
}

static gboolean take_batch(const IfmPort *image, gint64 batch, GError **error)
{
    return image->dims[0] < 0 || image->dims[0] == batch ||
           ifm_error_refuse(error, "its batch is fixed at %" G_GINT64_FORMAT ", and %" G_GINT64_FORMAT " is asked for",
                            image->dims[0], batch);
}

gboolean ifm_images_open(IfmImages *self, const char *path, gint64 batch, GError **error)
{
    *self = (IfmImages){ .batch = batch, .dims = g_ptr_array_new(), .tried = g_hash_table_new(NULL, NULL) };
    self->model = ifm_model_open(path, error);
    if (self->model == NULL)
        return FALSE;
    const IfmPort *image = image_of(self->model);
    if (!has_convolution(self->model))
        return ifm_error_refuse(error, "%s: has no convolution", path);
    if (image == NULL)
        return ifm_error_refuse(error, "%s: has no input with a height and a width", path);
    self->free_batch = image->dims[0] < 0;
    const int first = has_channels_last(image) ? 1 : 2, end = has_channels_last(image) ? image->rank - 1 : image->rank;
    for (int axis = first; axis < end; axis++)
    {
        if (image->dims[axis] >= 0)
            self->own = self->own > 0 ? self->own : image->dims[axis];
        else if (!g_ptr_array_find_with_equal_func(self->dims, image->dim_names[axis], g_str_equal, NULL))
            g_ptr_array_add(self->dims, image->dim_names[axis]);
    }
    if (self->dims->len > 0)
        self->own = 0;
    if (take_batch(image, batch, error))
        return TRUE;
    g_prefix_error(error, "%s: ", path);
    return FALSE;
}

void ifm_images_clear(IfmImages *self)
{
    g_clear_pointer(&self->dims, g_ptr_array_unref);
    g_clear_pointer(&self->tried, g_hash_table_unref);
    g_clear_pointer(&self->model, ifm_model_unref);
}

/* Whatever else is free, as a batch: that many; as none: 1. */
static void bind_rest(const IfmImages *self, IfmModelFeed *feed)
{
    for (gsize i = 0; i < ifm_model_n_inputs(self->model); i++)
    {
        const IfmPort *port = ifm_model_input(self->model, i);
        for (int axis = 0; axis < port->rank; axis++)
            if (port->dims[axis] < 0 &&
                !g_ptr_array_find_with_equal_func(self->dims, port->dim_names[axis], g_str_equal, NULL))
                ifm_model_feed_bind(feed, port->dim_names[axis], axis == 0 ? self->batch : 1);
    }
}

static gboolean file_fits(const IfmImages *self, gint64 size, GError **error)
{
    g_auto(IfmModelFeed) feed = { 0 };
    gpointer known;
    if (error == NULL && g_hash_table_lookup_extended(self->tried, GSIZE_TO_POINTER(size), NULL, &known))
        return known != NULL;
    if (!ifm_model_feed_init(&feed, NULL, error))
        return FALSE;
    for (guint i = 0; i < self->dims->len; i++)
        ifm_model_feed_bind(&feed, self->dims->pdata[i], size);
    bind_rest(self, &feed);
    g_autoptr(IfmAnalysis) analysis =
        ifm_model_analyse(self->model, ifm_model_feed_bindings(&feed), feed.bindings->len, error);
    g_hash_table_insert(self->tried, GSIZE_TO_POINTER(size), GINT_TO_POINTER(analysis != NULL));
    return analysis != NULL;
}

/* --- both ------------------------------------------------------------------------------------------------------------- */

gboolean ifm_images_fit(const IfmImages *self, gint64 size, GError **error)
{
    return self->entry != NULL ? zoo_fits(self->entry, size, error) : file_fits(self, size, error);
}

gint64 ifm_images_least(const IfmImages *self, gint64 most)
{
    gint64 size = 1;
    while (size <= most && !ifm_images_fit(self, size, NULL))
        size++;
    return size <= most ? size : 0;
}
