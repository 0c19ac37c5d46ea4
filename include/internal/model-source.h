/* room: zoo */
#pragma once
#include <internal/model-feed.h>
#include <internal/temporary.h>
#include <internal/zoo.h>

G_BEGIN_DECLS

#define IFM_ZOO_PREFIX "zoo:"

/**
 * IfmModelRequest: a model as a user names it, and how it is to be opened.
 * @text: a file, or a model of the zoo with its settings: "resnet18,batch=8", "zoo:vit". A file stands before a name of the
 * zoo.
 * @open: (nullable)    @seed: of inputs that are random numbers of a range, and of a zoo model's weights
 * @folder: what is made goes below it, into models/ and inputs/; NULL: into a temporary folder that goes with the source
 * @is_run: an engine is to run it: its path has a file that engines accept, and inputs that are given have one
 * @training: a model of the zoo in its training form, where it has one
 * @written: (nullable) paths of models of the zoo that were written before; added to
 * @note: (nullable) with @user
 */
typedef struct
{
    const char *text;
    const IfmModelOptions *open;
    guint32 seed;
    const char *folder;
    gboolean is_run, training;
    GHashTable *written;
    IfmNote note;
    void *user;
} IfmModelRequest;

/**
 * IfmModelSource: an opened model.
 * @path: the file that an engine reads    @source: what a user would call it: the file as named, or "zoo:NAME,…"
 * @feed: sizes of all free dimensions, and inputs that are given
 * @inputs_path: a file of tensors with those; NULL: all inputs are seeded, or @is_run was FALSE
 * @samples_path: the same of the samples of a batch; NULL: there are none
 */
typedef struct
{
    IfmModel *model;
    char *path, *source;
    IfmModelFeed feed;
    char *inputs_path;
    char *samples_path;
    IfmTemporary scratch;
} IfmModelSource;

/**
 * ifm_model_source_open: Opens a model. Functions of the model are inlined; data outside of its folder are copied where
 * that is allowed.
 * @source: (out) to be cleared where it is TRUE
 * Returns: FALSE with IFM_ERROR_USAGE, IFM_ERROR_INVALID, IFM_ERROR_UNAVAILABLE, IFM_ERROR_MEMORY, one line each.
 */
gboolean ifm_model_source_open(const IfmModelRequest *request, IfmModelSource *source, GError **error);
void ifm_model_source_clear(IfmModelSource *source);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IfmModelSource, ifm_model_source_clear)

/** ifm_model_source_entry: The model of the zoo that a text means; NULL: a file, or nothing. */
const IfmZooEntry *ifm_model_source_entry(const char *text);

G_END_DECLS
