/* Runs a study and prints its latencies.   cc run-study.c $(pkg-config --cflags --libs inferometer) -o run-study
 * ./run-study STUDY.yaml FOLDER: as `inferometer study run STUDY.yaml -o FOLDER`; prints its lookup_table.json. */
#include <inferometer/inferometer.h>

static gboolean run(const char *name, const char *folder, GError **error)
{
    g_autoptr(IfmStudy) study = ifm_study_open(name, error);
    g_autofree char *path = g_build_filename(folder, "store.db", NULL);
    g_autoptr(IfmStore) store = study != NULL ? ifm_store_open(path, IFM_STORE_WRITE, error) : NULL;
    if (store == NULL)
        return FALSE;
    IfmStudyOptions options = { .folder = folder, .limits = *ifm_study_info(study).limits };
    IfmCampaignProgress result;
    if (!ifm_study_measure(study, store, &options, &result, error))
        return FALSE;
    g_printerr("%zu cases: %zu measured now, %zu failed\n", result.n_done, result.n_measured, result.n_failed);
    g_autoptr(IfmStudyTables) tables = ifm_study_tables(NULL, store, error);
    if (tables == NULL)
        return FALSE;
    json_auto_t *latencies = ifm_study_lookup_json(tables);
    return ifm_output_write_json("-", latencies, error);
}

int main(int argc, char **argv)
{
    g_autoptr(GError) error = NULL;
    if (argc != 3)
        g_printerr("usage: %s STUDY.yaml FOLDER\n", argv[0]);
    else if (!run(argv[1], argv[2], &error))
        g_printerr("%s: %s\n", argv[0], error->message);
    else
        return 0;
    return 1;
}
