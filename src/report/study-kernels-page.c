/* Studies of kernels under load: the file to learn from, and their page. */
#include <string.h>

#include <inferometer/stress.h>
#include <inferometer/study-kernels.h>
#include <internal/study.h>

#include "study-pages.h"

gboolean ifm_kernels_write(const IfmStudyPoints *points, const char *folder, GError **error)
{
    g_autoptr(IfmKernelSamples) samples = ifm_study_kernel_samples(points, error);
    g_autofree char *csv = samples != NULL ? ifm_kernel_samples_to_csv(samples) : NULL;
    g_autofree char *path = g_build_filename(folder, "kernels.csv", NULL);
    return csv != NULL && ifm_output_write(path, csv, strlen(csv), error);
}

#define OPERATOR(member) IFM_FIELD_AT(IfmOperatorRow, member)

static const IfmField operator_fields[] = {
    { "op_type", "kernel", IFM_FIELD_TEXT, ifm_field_get_text, OPERATOR(op_type),
      .flags = IFM_FIELD_WHOLE | IFM_FIELD_KEY },
    { "kernels", "shapes", IFM_FIELD_INTEGER, ifm_field_get_integer, OPERATOR(n_kernels) },
    { "visits", "visits", IFM_FIELD_INTEGER, ifm_field_get_integer, OPERATOR(n_visits) },
    { "min_ns", "fastest", IFM_FIELD_DURATION, ifm_field_get_real, OPERATOR(min_ns) },
    { "median_ns", "median", IFM_FIELD_DURATION, ifm_field_get_real, OPERATOR(median_ns) },
    { "max_ns", "slowest", IFM_FIELD_DURATION, ifm_field_get_real, OPERATOR(max_ns) },
    { "spread_ratio", "between visits", IFM_FIELD_RATIO, ifm_field_get_real, OPERATOR(spread) },
    { NULL },
};

static void get_load(const void *record, const void *user, IfmValue *value)
{
    const int kind = ((const IfmLoadRow *)record)->kind;
    ifm_value_set_text(value, kind > IFM_LOAD_NONE ? ifm_stress_words()[kind - IFM_LOAD_GEMM] : "none");
}

static void get_cores(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_text(value, ((const IfmLoadRow *)record)->cores == IFM_LOAD_CORES_SAME ? "the kernel's" : "another");
}

#define LOAD(member) IFM_FIELD_AT(IfmLoadRow, member)

static const IfmField load_fields[] = {
    { "load", "load", IFM_FIELD_TEXT, get_load, .flags = IFM_FIELD_KEY },
    { "cores", "on core", IFM_FIELD_TEXT, get_cores, .flags = IFM_FIELD_KEY },
    { "level", "asked", IFM_FIELD_RATIO, ifm_field_get_real, LOAD(level) },
    { "achieved", "reached", IFM_FIELD_RATIO, ifm_field_get_real, LOAD(achieved) },
    { "kernels", "kernels", IFM_FIELD_INTEGER, ifm_field_get_integer, LOAD(n) },
    { "slow_down", "slow-down", IFM_FIELD_REAL, ifm_field_get_real, LOAD(slow_down) },
    { "slow_down_90", "of one in ten above", IFM_FIELD_REAL, ifm_field_get_real, LOAD(slow_down_90) },
    { NULL },
};

void ifm_kernels_add(IfmDocument *document, const IfmStudyPoints *points, IfmStudyPage page)
{
    g_autoptr(GError) trouble = NULL;
    IfmKernelSamples *samples = ifm_study_kernel_samples(points, &trouble);
    if (samples == NULL)
    {
        ifm_document_note(document, "error", IFM_TONE_BAD, "%s", trouble->message);
        return;
    }
    ifm_document_keep(document, samples, (GDestroyNotify)ifm_kernel_samples_free);
    ifm_document_heading(document, "Kernels without load");
    ifm_document_rows(document, "operators", operator_fields, ifm_kernel_operator_rows(samples));
    g_autoptr(GArray) loads = page != IFM_STUDY_STATUS ? ifm_kernel_load_rows(samples) : NULL;
    if (loads == NULL || loads->len == 0)
        return;
    ifm_document_heading(document, "Under load, against the same kernels without it in the same visit");
    ifm_document_rows(document, "loads", load_fields, g_steal_pointer(&loads));
}
