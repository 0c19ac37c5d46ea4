#pragma once
#include "figures.h"

#include "profile-page-private.h"

G_BEGIN_DECLS

/* ifm_scaling_records: (transfer full) IfmScalingLine*, those of @part. */
GPtrArray *ifm_scaling_records(const IfmScalingPart *part);
/* ifm_scaling_key: (transfer none) "WORD-1": the key of what stands under the document's last title, by its number. */
const char *ifm_scaling_key(IfmDocument *document, const char *word);
/* ifm_scaling_fields: (transfer none) the column of the axis and those of @fields, for records that begin with an
 * IfmScalingLine. */
GArray *ifm_scaling_fields(IfmDocument *document, const IfmScalingPart *part, const IfmField *fields);

/* ifm_scaling_add_headline: the summary. @parts: IfmScalingPart*, the first of which the verdict is of, or the first with a
 * fit of the time */
void ifm_scaling_add_headline(IfmDocument *document, const GPtrArray *parts);

/* Further tables; nothing where there is nothing to show. */
/* ifm_scaling_add_passes: what each pass of a mode took. */
void ifm_scaling_add_passes(IfmDocument *document, const IfmScalingPart *part);
/* ifm_scaling_has_memory: whether there is such a table: of graph transformers. ifm_scaling_add_memory: that. */
gboolean ifm_scaling_has_memory(const IfmScalingPart *part);
void ifm_scaling_add_memory(IfmDocument *document, const IfmScalingPart *part);

extern const IfmField ifm_scaling_line_fields[]; /* IfmScalingLine: a row of CSV, a point of JSON */

G_END_DECLS
