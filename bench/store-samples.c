/*
 * What it takes to commit a measurement of 100,000 samples, and to read it again, against the bound of it: the same bytes
 * written to a new file and synced, and read. Interleaved; medians.
 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <base/base.h>
#include <glib/gstdio.h>
#include <store/store.h>

#include "bench.h"

enum
{
    ROUNDS = 41,
    SAMPLES = 100000,
};

typedef struct
{
    double commit_ns, read_ns, write_file_ns, read_file_ns;
} Round;

static IfmMeasurement *measurement_of(const IfmCase *subject_case)
{
    IfmMeasurement *measurement = ifm_measurement_new();
    ifm_record_set_text(&measurement->case_key, subject_case->key);
    for (gint64 i = 0; i < SAMPLES; i++)
    {
        const gint64 ns = 1000000 + i * 7919 % 100003;
        g_array_append_val(measurement->samples_ns, ns);
    }
    return measurement;
}

static gboolean write_file(const char *path, const GArray *samples)
{
    const gsize n = samples->len * sizeof(gint64);
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    const gboolean good = fd >= 0 && write(fd, samples->data, n) == (gssize)n && fsync(fd) == 0;
    if (fd >= 0)
        close(fd);
    return good;
}

static gboolean run_round(IfmStore *store, const IfmCase *subject_case, const char *file, IfmClock *clock, Round *round,
                          GError **error)
{
    g_autoptr(IfmMeasurement) written = measurement_of(subject_case);
    g_autofree char *bytes = NULL;
    gsize n_bytes = 0;
    const gint64 begin_ns = ifm_clock_now_ns(clock);
    if (!ifm_store_commit(store, subject_case, written, error))
        return FALSE;
    const gint64 committed_ns = ifm_clock_now_ns(clock);
    g_autoptr(IfmMeasurement) read = ifm_store_latest(store, subject_case->key, error);
    const gint64 read_ns = ifm_clock_now_ns(clock);
    if (read == NULL || read->samples_ns->len != SAMPLES || !write_file(file, written->samples_ns))
        return FALSE;
    const gint64 file_ns = ifm_clock_now_ns(clock);
    if (!g_file_get_contents(file, &bytes, &n_bytes, error))
        return FALSE;
    *round = (Round){ (double)(committed_ns - begin_ns), (double)(read_ns - committed_ns), (double)(file_ns - read_ns),
                      (double)(ifm_clock_now_ns(clock) - file_ns) };
    return TRUE;
}

static int compare_numbers(gconstpointer a, gconstpointer b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of one member, by its offset. */
static double median_ms(const Round *rounds, int n, gsize offset)
{
    g_autoptr(GArray) values = g_array_new(FALSE, FALSE, sizeof(double));
    for (int i = 0; i < n; i++)
        g_array_append_val(values, G_STRUCT_MEMBER(double, &rounds[i], offset));
    g_array_sort(values, compare_numbers);
    return g_array_index(values, double, values->len / 2) / 1e6;
}

static void print(const char *what, double store_ms, double file_ms)
{
    printf("%s of %d samples: %.2f ms, the bytes alone %.2f ms: %.1f times\n", what, SAMPLES, store_ms, file_ms,
           store_ms / file_ms);
}

int main(void)
{
    const int n = bench_rounds(ROUNDS, 5);
    g_autoptr(GError) error = NULL;
    g_autofree char *folder = g_dir_make_tmp("store-samples-XXXXXX", &error);
    g_autofree char *path = g_build_filename(folder, "store.db", NULL), *file = g_build_filename(folder, "bytes", NULL);
    g_autofree Round *rounds = g_new0(Round, n);
    g_autoptr(IfmClock) clock = ifm_clock_new_real();
    g_autoptr(IfmCase) subject_case = ifm_case_new();
    ifm_record_set_text(&subject_case->subject_kind, "callback");
    ifm_case_seal(subject_case);
    IfmStore *store = ifm_store_open(path, IFM_STORE_WRITE, &error);
    gboolean good = store != NULL;
    for (int i = 0; i < n && good; i++)
        good = run_round(store, subject_case, file, clock, &rounds[i], &error);
    ifm_store_close(store);
    g_unlink(path);
    g_unlink(file);
    g_rmdir(folder);
    if (!good)
    {
        fprintf(stderr, "store-samples: %s\n", error != NULL ? error->message : "what was read is not what was written");
        return 1;
    }
#define MEDIAN(member) median_ms(rounds, n, G_STRUCT_OFFSET(Round, member))
    print("commit", MEDIAN(commit_ns), MEDIAN(write_file_ns));
    print("read", MEDIAN(read_ns), MEDIAN(read_file_ns));
    return 0;
}
