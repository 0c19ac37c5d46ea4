#include <string.h>

#include <store/store.h>

/* A result of a case is put in words: its name, how it ended, and why there is no measurement. */

const IfmMeasurement *ifm_result_measured(const IfmResult *result)
{
    return result->measurement != NULL && result->measurement->outcome == IFM_OUTCOME_OK ? result->measurement : NULL;
}

const char *ifm_result_name(const IfmResult *result)
{
    return result->alias != NULL && *result->alias != '\0' ? result->alias : result->device;
}

const char *ifm_result_reason(const IfmResult *result)
{
    if (ifm_result_measured(result) != NULL)
        return NULL;
    const char *reason = result->measurement != NULL ? result->measurement->reason : result->reason;
    return reason != NULL && *reason != '\0' ? reason : "no reason was given";
}

const char *ifm_result_code(const IfmResult *result)
{
    if (ifm_result_measured(result) != NULL)
        return NULL;
    const char *code = result->measurement != NULL ? result->measurement->error_code : result->code;
    return code != NULL && *code != '\0' ? code : ifm_error_code_name(IFM_ERROR_FAILED);
}

const char *ifm_result_ending(const IfmResult *result)
{
    static const struct
    {
        const char *name, *words;
    } endings[] = {
        { "fixed", "fixed runs" },
        { "interval", "interval" },
        { "max-runs", "max runs" },
        { "time-budget", "time budget" },
    };
    if (ifm_result_measured(result) == NULL)
    {
        gboolean skipped = result->measurement != NULL && result->measurement->outcome == IFM_OUTCOME_SKIPPED;
        return skipped ? "skipped" : ifm_result_code(result);
    }
    for (gsize i = 0; i < G_N_ELEMENTS(endings); i++)
        if (g_strcmp0(result->measurement->stop_reason, endings[i].name) == 0)
            return endings[i].words;
    return result->measurement->stop_reason;
}

const char *ifm_result_short_reason(const IfmResult *result)
{
    const char *reason = ifm_result_reason(result);
    gsize length = strlen(result->device);
    return g_str_has_prefix(reason, result->device) ? reason + length + strspn(reason + length, ",: ") : reason;
}

char *ifm_result_line(const IfmResult *result)
{
    return g_strdup_printf("%s: %s", ifm_result_name(result), ifm_result_short_reason(result));
}
