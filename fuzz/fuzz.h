/* What the targets share: the fuzzer's entry, and how a target says what must hold. */
#pragma once
#include <inferometer/common.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* must: an invariant; the fuzzer reports the abort. */
static inline void must(gboolean holds)
{
    if (!holds)
        abort();
}

/* must_be_line: takes what a reader said: an error of the library, in one line that can be printed. */
static inline void must_be_line(GError *error)
{
    must(error != NULL && error->domain == IFM_ERROR && strchr(error->message, '\n') == NULL);
    must(g_utf8_validate(error->message, -1, NULL));
    g_error_free(error);
}
