/* room: onnx */
#pragma once
#include <inferometer/model-options.h>
#include <internal/onnx.h>

G_BEGIN_DECLS

/** IfmNote: Receives what is worth knowing and no error. */
typedef void (*IfmNote)(const char *message, void *user);

/**
 * IfmModelFeed: sizes of a model's free dimensions, and inputs that are given.
 * @bindings: IfmDimBinding    @given: IfmGivenInput, those that are not seeded    @names: what the names of both point to
 * @samples: IfmGivenInput, of those of which a file has several samples, all of them along the first axis: @n_samples; the
 * first of them is what is given
 */
typedef struct
{
    GArray *bindings;
    GPtrArray *names;
    GArray *given;
    GArray *samples;
    gint64 n_samples;
} IfmModelFeed;
void ifm_model_feed_clear(IfmModelFeed *feed);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IfmModelFeed, ifm_model_feed_clear)

/** ifm_model_feed_init: What --dim says. @feed: (out) to be cleared in any case. Returns: FALSE with IFM_ERROR_USAGE. */
gboolean ifm_model_feed_init(IfmModelFeed *feed, const char *const *dims, GError **error);
/** ifm_model_feed_bind: Adds a size. */
void ifm_model_feed_bind(IfmModelFeed *feed, const char *name, gint64 size);

/**
 * ifm_model_feed_fill: Reads the inputs that are given. Sizes of free dimensions: those asked for, those of the inputs, and
 * 1 for a batch that nothing is said of, which is noted.
 * A batch: a first dimension that exporters call so ("batch_size", "N"), or one that has no name or one that an exporter
 * made up ("unk__749", "DynamicDimension.0"), where all inputs have it.
 * @feed: of ifm_model_feed_init()    @seed: of inputs that are random numbers of a range    @note: (nullable)
 * Returns: FALSE with IFM_ERROR_USAGE (words that are none), IFM_ERROR_INVALID (an input or a size that does not fit, all
 * dimensions that stay free), IFM_ERROR_UNAVAILABLE (no such file)
 */
gboolean ifm_model_feed_fill(IfmModelFeed *feed, const IfmModel *model, const IfmModelOptions *options, guint32 seed,
                             IfmNote note, void *user, GError **error);

/** ifm_model_feed_save: Writes the inputs into @folder as a file of tensors (tensor-file.h) that is named for what is in
 * it. Returns: (transfer full) its path; NULL with an error */
char *ifm_model_feed_save(const IfmModelFeed *feed, const char *folder, GError **error);
/** ifm_model_feed_save_samples: The same of the samples. */
char *ifm_model_feed_save_samples(const IfmModelFeed *feed, const char *folder, GError **error);

static inline const IfmDimBinding *ifm_model_feed_bindings(const IfmModelFeed *feed)
{
    return (const IfmDimBinding *)(const void *)feed->bindings->data;
}

G_END_DECLS
