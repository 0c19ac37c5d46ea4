#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <math.h>
#include <sensor/sensor.h>

#include "../measure-private.h"

/* This subject measures the memory bandwidth of the host by triads of its own on threads, and chooses arrays by the
 * size of the caches. */

#define SCALE 3
#define MIB ((gsize)1 << 20)
/* Each array is this many times as large as what all last-level caches hold, where the memory allows it; of a large cache
 * (one that a virtual machine sees may be its host's) the three together are. They are read in one order, so that nothing
 * is found again in a cache that they do not fit into. */
#define CACHES 4
#define LARGE (256 * MIB)
/* The size assumed for the last-level cache if the machine does not report it. */
#define CACHE_UNKNOWN (32 * MIB)

/* One thread's share of the arrays. */
typedef struct
{
    IfmTriadSubject *triad;
    gsize first, n; /* elements */
    pthread_t thread;
} Share;

struct IfmTriadSubject
{
    IfmDtype dtype;
    gsize n;           /* elements an array */
    gsize n_rounds;    /* of a run */
    IfmTensor a, b, c; /* each thread's share is touched by itself first, so that it lies near it */
    int n_threads;
    Share *shares; /* [n_threads]; the first is the caller's */
    int n_started;
    pthread_barrier_t start, end;
    gboolean has_barriers;
    void (*work)(const Share *share); /* what the threads do next; NULL: end */
    gboolean ran;                     /* since the last check */
};

/* --- how large ---------------------------------------------------------------------------------------------------- */

/* How many processors share the last-level cache of the first one; 1 if unknown. */
static gint64 n_sharing(const char *root, int index)
{
    g_autofree char *path = g_strdup_printf("%s/sys/devices/system/cpu/cpu0/cache/index%d/shared_cpu_list", root, index);
    g_autofree char *text = NULL;
    gint64 n = 0;
    if (!g_file_get_contents(path, &text, NULL, NULL))
        return 1;
    g_auto(GStrv) ranges = g_strsplit(g_strstrip(text), ",", -1);
    for (char **range = ranges; *range != NULL; range++)
    {
        char *end;
        gint64 first = g_ascii_strtoll(*range, &end, 10);
        gint64 last = *end == '-' ? g_ascii_strtoll(end + 1, NULL, 10) : first;
        n += MAX(last - first + 1, 1);
    }
    return MAX(n, 1);
}

gsize ifm_triad_cache_bytes(const char *root)
{
    json_auto_t *machine = ifm_sensor_machine(root);
    gint64 processors = json_integer_value(json_object_get(machine, "logical_processors"));
    int level = 0;
    const gint64 bytes = ifm_sensor_last_cache_bytes(machine, &level);
    if (bytes <= 0)
        return CACHE_UNKNOWN;
    /* the kernel numbers caches of the first processor L1d, L1i, L2, L3, L4 */
    const gint64 sharing = n_sharing(root, level);
    return (gsize)bytes * (gsize)MAX((processors + sharing - 1) / sharing, 1);
}

gsize ifm_triad_level_bytes(const char *root, const char *level, int n_threads)
{
    json_auto_t *machine = ifm_sensor_machine(root);
    gint64 bytes = json_integer_value(json_object_get(json_object_get(machine, "caches_bytes"), level));
    gint64 sharing = n_sharing(root, level[1] - '0'), n = (MAX(n_threads, 1) + sharing - 1) / sharing;
    return bytes > 0 ? (gsize)(bytes * n) : 0;
}

gsize ifm_triad_array_bytes(gsize cache_bytes, gint64 memory_bytes)
{
    gsize wanted = MAX(MIN(CACHES * cache_bytes, MAX(LARGE, CACHES * cache_bytes / 3)), 64 * MIB);
    gsize share = memory_bytes > 0 ? (gsize)memory_bytes / 3 : wanted;
    gsize bytes = MIN(wanted, share);
    return MAX(bytes / MIB, 1) * MIB;
}

/* --- the loops ---------------------------------------------------------------------------------------------------- */

/* Exact in both types: b below 1024, s c below 3 x 512. */
#define B_AT(i) ((i)&1023)
#define C_AT(i) (((i) >> 3) & 511)

#define DEFINE_LOOPS(TYPE)                                                                                                 \
    static void fill_##TYPE(const Share *share)                                                                            \
    {                                                                                                                      \
        TYPE *a = share->triad->a.data, *b = share->triad->b.data, *c = share->triad->c.data;                              \
        for (gsize i = share->first; i < share->first + share->n; i++)                                                     \
        {                                                                                                                  \
            a[i] = -1;                                                                                                     \
            b[i] = (TYPE)B_AT(i);                                                                                          \
            c[i] = (TYPE)C_AT(i);                                                                                          \
        }                                                                                                                  \
    }                                                                                                                      \
    static void triad_##TYPE(const Share *share)                                                                           \
    {                                                                                                                      \
        TYPE *restrict a = (TYPE *)share->triad->a.data + share->first;                                                    \
        const TYPE *restrict b = (const TYPE *)share->triad->b.data + share->first;                                        \
        const TYPE *restrict c = (const TYPE *)share->triad->c.data + share->first;                                        \
        const TYPE s = SCALE;                                                                                              \
        for (gsize round = 0; round < share->triad->n_rounds; round++)                                                     \
        {                                                                                                                  \
            for (gsize i = 0; i < share->n; i++)                                                                           \
                a[i] = b[i] + s * c[i];                                                                                    \
            __asm__ volatile("" : : "r"(a) : "memory"); /* each round is made */                                           \
        }                                                                                                                  \
    }                                                                                                                      \
    static gsize first_wrong_##TYPE(const IfmTriadSubject *self)                                                           \
    {                                                                                                                      \
        const TYPE *a = self->a.data;                                                                                      \
        gsize i = 0;                                                                                                       \
        while (i < self->n && a[i] == (TYPE)(B_AT(i) + SCALE * C_AT(i)))                                                   \
            i++;                                                                                                           \
        return i;                                                                                                          \
    }
DEFINE_LOOPS(float)
DEFINE_LOOPS(double)

/* --- threads ------------------------------------------------------------------------------------------------------ */

static void *share_main(void *data)
{
    const Share *share = data;
    IfmTriadSubject *self = share->triad;
    for (;;)
    {
        pthread_barrier_wait(&self->start);
        if (self->work == NULL)
            return NULL;
        self->work(share);
        pthread_barrier_wait(&self->end);
    }
}

/* Also the calling thread has its share. */
static void do_together(IfmTriadSubject *self, void (*work)(const Share *share))
{
    self->work = work;
    pthread_barrier_wait(&self->start);
    work(&self->shares[0]);
    pthread_barrier_wait(&self->end);
}

static gboolean start_threads(IfmTriadSubject *self, GError **error)
{
    pthread_barrier_init(&self->start, NULL, (unsigned)self->n_threads);
    pthread_barrier_init(&self->end, NULL, (unsigned)self->n_threads);
    self->has_barriers = TRUE;
    self->shares = g_new0(Share, (gsize)self->n_threads);
    for (int i = 0; i < self->n_threads; i++)
    {
        Share *share = &self->shares[i];
        share->triad = self;
        share->first = self->n * (gsize)i / (gsize)self->n_threads;
        share->n = self->n * ((gsize)i + 1) / (gsize)self->n_threads - share->first;
    }
    for (int i = 1; i < self->n_threads; i++, self->n_started++)
        if (pthread_create(&self->shares[i].thread, NULL, share_main, &self->shares[i]) != 0)
            return ifm_error_set(error, IFM_ERROR_MEMORY, "triad: no thread %d of %d", i + 1, self->n_threads);
    return TRUE;
}

/* Threads that wait at the barrier for others that never come cannot be stopped: they end with the process. */
static gboolean stop_threads(IfmTriadSubject *self)
{
    if (self->n_started < self->n_threads - 1)
        return self->n_started <= 0;
    self->work = NULL;
    pthread_barrier_wait(&self->start);
    for (int i = 1; i < self->n_threads; i++)
        pthread_join(self->shares[i].thread, NULL);
    return TRUE;
}

/* Touched by small pages, large arrays take longer than all that is measured in them. */
static void ask_for_huge_pages(const IfmTensor *tensor)
{
    const gsize page = (gsize)sysconf(_SC_PAGESIZE), begin = (gsize)tensor->data / page * page;
    madvise((void *)begin, (gsize)tensor->data + tensor->size_bytes - begin, MADV_HUGEPAGE);
}

IfmTriadSubject *ifm_triad_subject_new(IfmDtype dtype, int n_threads, gsize array_bytes, GError **error)
{
    g_autoptr(IfmTriadSubject) self = g_new0(IfmTriadSubject, 1);
    self->dtype = dtype == IFM_DTYPE_F64 ? IFM_DTYPE_F64 : IFM_DTYPE_F32;
    self->n = array_bytes / ifm_dtype_size_bytes(self->dtype);
    self->n_threads = MAX(n_threads, 1);
    self->n_rounds = 1;
    gint64 n = (gint64)self->n;
    if (!ifm_tensor_reserve(&self->a, self->dtype, 1, &n, error) ||
        !ifm_tensor_reserve(&self->b, self->dtype, 1, &n, error) ||
        !ifm_tensor_reserve(&self->c, self->dtype, 1, &n, error) || !start_threads(self, error))
        return NULL;
    const IfmTensor *const arrays[] = { &self->a, &self->b, &self->c };
    for (gsize i = 0; i < G_N_ELEMENTS(arrays); i++)
        ask_for_huge_pages(arrays[i]);
    do_together(self, self->dtype == IFM_DTYPE_F64 ? fill_double : fill_float);
    return g_steal_pointer(&self);
}

void ifm_triad_subject_free(IfmTriadSubject *self)
{
    if (self == NULL)
        return;
    if (self->has_barriers && !stop_threads(self))
        return;
    if (self->has_barriers)
    {
        pthread_barrier_destroy(&self->start);
        pthread_barrier_destroy(&self->end);
    }
    ifm_tensor_clear(&self->a);
    ifm_tensor_clear(&self->b);
    ifm_tensor_clear(&self->c);
    g_free(self->shares);
    g_free(self);
}

/* --- as a subject ------------------------------------------------------------------------------------------------- */

static gboolean run(void *user, GError **error)
{
    IfmTriadSubject *self = user;
    self->ran = TRUE;
    do_together(self, self->dtype == IFM_DTYPE_F64 ? triad_double : triad_float);
    return TRUE;
}

/* Every element; wiped then, so that the next check sees new ones. */
static gboolean verify(void *user, GError **error)
{
    IfmTriadSubject *self = user;
    if (!self->ran)
        return TRUE;
    self->ran = FALSE;
    gsize wrong = (self->dtype == IFM_DTYPE_F64 ? first_wrong_double : first_wrong_float)(self);
    if (wrong == self->n)
    {
        do_together(self, self->dtype == IFM_DTYPE_F64 ? fill_double : fill_float);
        return TRUE;
    }
    return ifm_error_set(error, IFM_ERROR_FAILED, "triad: element %zu is %g, expected %g", wrong,
                         ifm_tensor_get_double(&self->a, (gint64)wrong), (double)(B_AT(wrong) + SCALE * C_AT(wrong)));
}

IfmSubject ifm_triad_subject_slots(IfmTriadSubject *self)
{
    return (IfmSubject){ .name = "triad", .run = run, .verify = verify, .self = self };
}

double ifm_triad_subject_bytes(const IfmTriadSubject *self)
{
    return 3.0 * (double)self->n * (double)self->n_rounds * (double)ifm_dtype_size_bytes(self->dtype);
}

void ifm_triad_subject_set_rounds(IfmTriadSubject *self, gsize n_rounds)
{
    self->n_rounds = MAX(n_rounds, 1);
}

IfmDtype ifm_triad_subject_dtype(const IfmTriadSubject *self)
{
    return self->dtype;
}

const IfmTensor *ifm_triad_subject_result(const IfmTriadSubject *self)
{
    return &self->a;
}
