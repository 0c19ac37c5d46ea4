/* Shared with other rooms: what pages say of two devices on one core. */
#pragma once
#include <document/document.h>

G_BEGIN_DECLS

/** ifm_document_shared_core: A warning where two devices take turns on a core: what was measured of each alone says nothing
 * of both at once. @devices: (nullable) their specs    @consequence: "and do not work at once" */
void ifm_document_shared_core(IfmDocument *document, const char *const aliases[2], const char *const devices[2],
                              const char *consequence);

G_END_DECLS
