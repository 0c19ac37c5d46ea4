#pragma once
#include <base/fields.h>
#include <glib.h>
#include <math.h>
#include <predict/predict.h>

/* The published tables of data/meteor-lake: GraphSAGE stages 1 to 7 on three devices. */
#define PUBLISHED_MAX 64
#define PUBLISHED_STAGES 7
#define PUBLISHED_WIDTH 500 /* of features and of all that comes of them */
static const char *const published_devices[] = { "CPU", "GPU", "NPU" };

typedef struct
{
    gsize n, n_flagged; /* flagged rows are no latencies and are not among the points */
    IfmLookupPoint points[PUBLISHED_MAX];
} Published;

/* The rows of one stage on one device. */
static inline Published published_read(const char *name, const char *device, int stage)
{
    g_autofree char *path = g_build_filename(g_getenv("IFM_DATA_DIR"), "data", "meteor-lake", name, NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmCsv) csv = ifm_csv_open(path, &error);
    g_assert_no_error(error);
    static const char *const names[] = { "device", "stage", "nodes", "edges", "latency_ms", "flag" };
    gsize columns[6];
    for (int i = 0; i < 6; i++)
        g_assert_true(ifm_csv_column(csv, names[i], &columns[i], NULL));
    Published published = { 0 };
    for (gsize row = 0; row < ifm_csv_n_rows(csv); row++)
    {
        double numbers[4];
        for (int i = 0; i < 4; i++)
            g_assert_true(ifm_csv_number(csv, row, columns[i + 1], &numbers[i], NULL));
        if (!g_str_equal(ifm_csv_text(csv, row, columns[0]), device) || numbers[0] != stage)
            continue;
        if (*ifm_csv_text(csv, row, columns[5]) != '\0')
        {
            published.n_flagged++;
            continue;
        }
        g_assert_cmpuint(published.n, <, PUBLISHED_MAX);
        published.points[published.n++] = (IfmLookupPoint){ (gint64)numbers[1], (gint64)numbers[2], numbers[3] * 1e6 };
    }
    return published;
}
