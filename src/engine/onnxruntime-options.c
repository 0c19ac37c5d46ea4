/* Options in ONNX Runtime's own words. It takes any key and any value, and tells nobody whether it ever asked for them. */
#include <string.h>

#include "onnxruntime-private.h"

/*
 * A key that the runtime's code asks for is a text in its library, with the NUL behind it. One that is not there has no
 * meaning to it; one that is may still mean nothing to this model.
 */
static gboolean has_text(GMappedFile *library, const char *key)
{
    return memmem(g_mapped_file_get_contents(library), g_mapped_file_get_length(library), key, strlen(key) + 1) != NULL;
}

void ifm_ort_note_options(const OrtCompiled *compiled, IfmAttest *attest)
{
    const char *const *option = compiled->base.options.vendor;
    gboolean any = option != NULL && *option != NULL && g_str_equal(compiled->base.spec->unit, "CPU"); /* others bring their own */
    g_autoptr(GMappedFile) library = any ? g_mapped_file_new(compiled->base.engine->library, FALSE, NULL) : NULL;
    for (; library != NULL && *option != NULL; option++)
    {
        g_autofree char *key = g_strndup(*option, strcspn(*option, "="));
        if (!has_text(library, key))
            ifm_attest_note(attest, g_strdup_printf("ONNX Runtime took the option \"%s\" without a word, as it takes any, and its "
                                                    "library has no such key in it: it means nothing there",
                                                    key));
    }
}
