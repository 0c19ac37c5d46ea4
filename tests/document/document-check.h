#pragma once
#include <string.h>

#include <inferometer/document.h>

/* That every table and figure of a document has a key of its own, under which programs get it, and that its JSON holds all
 * of them. Returns: the block of that key. */
static inline const IfmBlock *check_document(const IfmDocument *document, const char *key)
{
    const IfmBlock *found = NULL;
    g_autoptr(GHashTable) keys = g_hash_table_new(g_str_hash, g_str_equal);
    json_auto_t *json = ifm_document_to_json(document);
    g_autofree char *text = json_dumps(json, 0);
    g_assert_nonnull(text);
    for (guint s = 0; s < document->sections->len; s++)
    {
        const IfmSection *section = document->sections->pdata[s];
        for (guint i = 0; i < section->blocks->len; i++)
        {
            const IfmBlock *block = section->blocks->pdata[i];
            if (block->kind != IFM_BLOCK_TABLE && block->kind != IFM_BLOCK_FIGURE)
                continue;
            g_assert_true(g_hash_table_add(keys, (gpointer)block->key));
            g_autofree char *csv = ifm_document_to_csv(document, block->key);
            g_assert_nonnull(csv);
            g_assert_nonnull(strstr(text, block->key));
            if (g_str_equal(block->key, key))
                found = block;
        }
    }
    g_assert_nonnull(found);
    return found;
}
