#pragma once
#include <string.h>

#include <base/fields.h>
#include <document/document.h>

/* What every document keeps to: keys are unique, texts are plain, figures have all that a plotter needs. Frees @document.
 * Returns: how many points its figures have. */
static inline gsize check_document(IfmDocument *document)
{
    g_autoptr(GHashTable) keys = g_hash_table_new(g_str_hash, g_str_equal);
    gsize n_points = 0;
    for (guint s = 0; s < document->sections->len; s++)
    {
        const IfmSection *section = document->sections->pdata[s];
        for (guint i = 0; i < section->blocks->len; i++)
        {
            const IfmBlock *block = section->blocks->pdata[i];
            g_assert_true((block->key != NULL) == (block->kind == IFM_BLOCK_TABLE || block->kind == IFM_BLOCK_FIGURE));
            g_assert_true(block->key == NULL || g_hash_table_add(keys, (char *)block->key));
            g_assert_true(block->text == NULL || strpbrk(block->text, "\n\033") == NULL);
            if (block->kind == IFM_BLOCK_TABLE)
            {
                g_autoptr(GHashTable) columns = g_hash_table_new(g_str_hash, g_str_equal);
                for (const IfmField *field = block->table.fields; field->key != NULL; field++)
                    g_assert_true((field->flags & IFM_FIELD_NO_EXPORT) != 0 ||
                                  g_hash_table_add(columns, (char *)field->key));
            }
            if (block->kind != IFM_BLOCK_FIGURE)
                continue;
            g_assert_nonnull(block->figure.title);
            g_assert_nonnull(block->figure.sentence);
            for (guint k = 0; k < block->figure.series->len; k++)
                n_points += ((const IfmSeries *)block->figure.series->pdata[k])->points->len;
        }
    }
    json_auto_t *json = ifm_document_to_json(document);
    g_assert_cmpstr(ifm_member_text(json, "inferometer.format"), ==, "document");
    g_autofree char *csv = ifm_document_to_csv(document, NULL);
    g_assert_nonnull(csv);
    ifm_document_free(document);
    return n_points;
}
