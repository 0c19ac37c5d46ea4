#pragma once
#include <document/document.h>

G_BEGIN_DECLS

/** ifm_comparison_add_accuracy: How near B comes to A, and which layer loses most. @accuracy: (optional) of a comparison */
void ifm_comparison_add_accuracy(IfmDocument *document, const json_t *accuracy);

G_END_DECLS
