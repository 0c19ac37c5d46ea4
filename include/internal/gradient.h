#pragma once
#include <inferometer/gradient.h>

G_BEGIN_DECLS

/** ifm_loss_words: "mse", "cross-entropy", NULL-terminated. */
const char *const *ifm_loss_words(void);

/** ifm_optimiser_words: "sgd", "momentum", "adam", NULL-terminated. */
const char *const *ifm_optimiser_words(void);

G_END_DECLS
