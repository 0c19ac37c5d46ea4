#include "conv-study.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <base/base.h>
#include <inferometer/inferometer.h>

void conv_study_fail(const char *what, const GError *error)
{
    fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, error != NULL ? error->message : "failed");
    exit(1);
}

IfmStudyTables *conv_study_measure(const char *path, const char *folder)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *store_path = g_build_filename(folder, "store.db", NULL);
    g_autoptr(IfmStudy) study = g_mkdir_with_parents(folder, 0777) == 0 ? ifm_study_open(path, &error) : NULL;
    g_autoptr(IfmStore) store = study != NULL ? ifm_store_open(store_path, IFM_STORE_WRITE, &error) : NULL;
    IfmStudyOptions options = { .folder = folder };
    IfmCampaignProgress result;
    if (store == NULL)
        conv_study_fail(path, error);
    options.limits = *ifm_study_info(study).limits;
    if (!ifm_study_measure(study, store, &options, &result, &error))
        conv_study_fail(path, error);
    IfmStudyTables *points = ifm_study_tables(study, store, &error);
    if (points == NULL)
        conv_study_fail(path, error);
    return points;
}

/* Timed: runs of a subject. */
typedef struct
{
    IfmModelSubject *subject;
    int n;
    double time_ms;
} Timed;

static void time_runs(void *user)
{
    Timed *timed = user;
    const IfmSubject slots = ifm_model_subject_slots(timed->subject);
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmClock) clock = ifm_clock_new_real();
    const gint64 began_ns = ifm_clock_now_ns(clock);
    for (int i = 0; i < timed->n; i++)
        if (!slots.run(slots.self, &error))
            conv_study_fail(slots.name, error);
    timed->time_ms = (double)(ifm_clock_now_ns(clock) - began_ns) / 1e6 / timed->n;
}

double conv_infer_ms(IfmModelSubject *subject, int n)
{
    Timed timed = { .subject = subject, .n = n };
    ifm_compiled_invoke(subject->compiled, 0, time_runs, &timed);
    return timed.time_ms;
}
