/* What all files of the driver need of the API: errors and types. */
#include "openvino-private.h"
#include <base/base.h>

gboolean ifm_ov_check(const OvApi *api, ov_status_e status, const char *who, IfmErrorCode refusal, GError **error)
{
    /* The message begins with a place in the sources, the failed assertion, and headlines; these are left out. */
    static const char *const skip[] = {
        "Exception from ", "Check '", "FrontEnd API failed", "Model wasn't fully converted", "Summary:", "-- Stack", NULL
    };
    if (status == OK)
        return TRUE;
    const char *message = api->ov_get_last_err_msg(); /* a copy, to be freed */
    const char *said = message != NULL && *message != '\0' ? message : api->ov_get_error_info(status);
    g_autofree char *words = ifm_runtime_words(said, skip);
    IfmErrorCode code = ifm_runtime_code(said, status == INFER_CANCELLED ? IFM_ERROR_CANCELLED : refusal);
    if (message != NULL)
        api->ov_free(message);
    return ifm_error_set(error, code, "%s: %s", who, words);
}

static const struct
{
    ov_element_type_e type;
    IfmDtype dtype;
} types[] = {
    { BOOLEAN, IFM_DTYPE_BOOL }, { BF16, IFM_DTYPE_BF16 }, { F16, IFM_DTYPE_F16 }, { F32, IFM_DTYPE_F32 },
    { F64, IFM_DTYPE_F64 },      { I8, IFM_DTYPE_I8 },     { I16, IFM_DTYPE_I16 }, { I32, IFM_DTYPE_I32 },
    { I64, IFM_DTYPE_I64 },      { U8, IFM_DTYPE_U8 },     { U16, IFM_DTYPE_U16 }, { U32, IFM_DTYPE_U32 },
    { U64, IFM_DTYPE_U64 },
};

IfmDtype ifm_ov_dtype(ov_element_type_e type)
{
    for (gsize i = 0; i < G_N_ELEMENTS(types); i++)
        if (types[i].type == type)
            return types[i].dtype;
    return IFM_DTYPE_UNDEFINED;
}

ov_element_type_e ifm_ov_type(IfmDtype dtype)
{
    for (gsize i = 0; i < G_N_ELEMENTS(types); i++)
        if (types[i].dtype == dtype)
            return types[i].type;
    return DYNAMIC;
}
