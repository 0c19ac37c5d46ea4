#pragma once
#include "document-private.h"

G_BEGIN_DECLS

/* ifm_html_append: Appends text, escaped for HTML, with control characters and broken UTF-8 made visible. NULL: nothing */
void ifm_html_append(GString *out, const char *text);

/* ifm_html_append_table: Appends a table, with the exact value of each number beside what is shown. @name: of the file that
 * its data are saved as    @label: what it is a table of    @devices: whose rows are drawn in their colours */
void ifm_html_append_table(GString *out, const IfmTable *table, const char *name, const char *label,
                           const GPtrArray *devices);

/* ifm_html_append_hero: Appends the first screen of a document that has a summary. @is_first: it holds the page's h1 */
void ifm_html_append_hero(GString *out, const IfmDocument *document, gboolean is_first, const GPtrArray *devices);

G_END_DECLS
