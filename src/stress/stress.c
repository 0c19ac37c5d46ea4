/* A stressor, as its owner sees it. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <base/base.h>

#include "stress-private.h"

#define BLOCK_FD 3
/* What its threads are given to begin on cores. */
#define START_US (5 * G_USEC_PER_SEC)
#define MAX_GPUS 1024

struct IfmStressor
{
    GPid pid;
    int stdin_fd;
    StressBlock *block;
    gsize n_threads;
    gboolean is_gpu, gone;
    char *ended;
    gint64 read_ns, busy_ns, work; /* as last read: sums over threads */
};

const char *const *ifm_stress_words(void)
{
    static const char *const words[] = {
        [IFM_STRESS_GEMM] = "gemm", [IFM_STRESS_COPY] = "copy", [IFM_STRESS_RANDOM] = "random", NULL
    };
    return words;
}

gboolean ifm_stress_parse(const char *text, IfmStressKind *kind, GError **error)
{
    const char *const *words = ifm_stress_words();
    const int found = ifm_word_index(words, text);
    *kind = (IfmStressKind)MAX(found, 0);
    if (found >= 0)
        return TRUE;
    g_autofree char *hint = ifm_nearest_hint(text, words);
    return ifm_error_refuse(error, "\"%s\" is no kind of load: gemm, copy or random is expected%s", text, hint);
}

/* --- cores --------------------------------------------------------------------------------------------------------------
 */

/* Whatever this thread is kept to now: it may be less than what its process may use. */
static gboolean can_use(int core)
{
    cpu_set_t mine, one;
    CPU_ZERO(&one);
    CPU_SET((gsize)core, &one);
    if (sched_getaffinity(0, sizeof mine, &mine) != 0)
        return FALSE;
    const gboolean can = sched_setaffinity(0, sizeof one, &one) == 0;
    sched_setaffinity(0, sizeof mine, &mine);
    return can;
}

static gboolean add_range(const char *text, GArray *cores, GError **error)
{
    g_auto(GStrv) ends = g_strsplit(text, "-", 2);
    guint64 first = 0, last = 0;
    if (ends[0] == NULL || !g_ascii_string_to_unsigned(ends[0], 10, 0, CPU_SETSIZE - 1, &first, NULL) ||
        (ends[1] != NULL && !g_ascii_string_to_unsigned(ends[1], 10, first, CPU_SETSIZE - 1, &last, NULL)))
        return ifm_error_refuse(error, "cores: \"%s\" is no core and no range of cores, such as 0 or 2-3", text);
    for (guint64 core = first; core <= MAX(first, last); core++)
    {
        if (!can_use((int)core))
            return ifm_error_refuse(error, "cores: there is no core %d that this process may use", (int)core);
        for (guint i = 0; i < cores->len; i++)
            if (g_array_index(cores, int, i) == (int)core)
                return ifm_error_refuse(error, "cores: core %d is listed twice", (int)core);
        const int one = (int)core;
        g_array_append_val(cores, one);
    }
    return TRUE;
}

/* (transfer full) int; NULL with an error */
static GArray *cores_of(const char *text, GError **error)
{
    cpu_set_t usable;
    g_autoptr(GArray) cores = g_array_new(FALSE, FALSE, sizeof(int));
    g_auto(GStrv) parts = g_strsplit(text != NULL ? text : "", ",", -1);
    CPU_ZERO(&usable);
    sched_getaffinity(0, sizeof usable, &usable);
    for (int core = 0; text == NULL && core < CPU_SETSIZE; core++)
        if (CPU_ISSET((gsize)core, &usable))
            g_array_append_val(cores, core);
    for (gsize i = 0; text != NULL && parts[i] != NULL; i++)
        if (!add_range(parts[i], cores, error))
            return NULL;
    if (cores->len >= 1 && cores->len <= IFM_STRESS_MAX_CORES)
        return g_steal_pointer(&cores);
    ifm_error_refuse(error, "cores: %u cores, expected 1 to %d", cores->len, IFM_STRESS_MAX_CORES);
    return NULL;
}

void ifm_stress_place_clear(IfmStressPlace *place)
{
    g_clear_pointer(&place->cores, g_free);
    g_clear_pointer(&place->device, g_free);
}

static gboolean check_gpu_kind(IfmStressKind kind, GError **error)
{
    return kind != IFM_STRESS_RANDOM ||
           ifm_error_refuse(error, "random is a load on cores: gemm or copy is expected on a GPU");
}

gboolean ifm_stress_place_of(IfmStressKind kind, const IfmDeviceSpec *spec, gboolean other, IfmStressPlace *place,
                             GError **error)
{
    const gboolean is_gpu = g_str_equal(spec->unit, "CUDA") || g_str_equal(spec->unit, "TensorRT");
    g_autoptr(GString) text = g_string_new(NULL);
    cpu_set_t usable;
    CPU_ZERO(&usable);
    sched_getaffinity(0, sizeof usable, &usable);
    *place = (IfmStressPlace){ NULL };
    if (is_gpu && !other)
    {
        if (check_gpu_kind(kind, error))
            place->device = g_strdup_printf(IFM_STRESS_GPU "%d", MAX(spec->index, 0));
        return place->device != NULL;
    }
    for (int core = 0; core < CPU_SETSIZE; core++)
    {
        gboolean is_own = spec->n_cores == 0;
        for (gsize i = 0; i < spec->n_cores; i++)
            is_own |= spec->cores[i] == core;
        if (!CPU_ISSET((gsize)core, &usable) || is_own == other)
            continue;
        g_string_append_printf(text, "%s%d", text->len > 0 ? "," : "", core);
        if (other)
            break;
    }
    if (text->len == 0 && !other)
        return ifm_error_refuse(error, "%s: this process may use none of its cores", spec->text);
    if (text->len == 0)
        return ifm_error_refuse(error,
                                "%s: there is no core for a load that is not one of the device's: name its cores, as in "
                                "%s@0",
                                spec->text, is_gpu ? spec->text : "CPU");
    place->cores = g_strdup(text->str);
    return TRUE;
}

/* --- a GPU ---------------------------------------------------------------------------------------------------------------
 */

static gboolean check_gpu(const IfmStressOptions *options, GError **error)
{
    guint64 index;
    const char *text = options->device;
    if (!g_str_has_prefix(text, IFM_STRESS_GPU) ||
        !g_ascii_string_to_unsigned(text + strlen(IFM_STRESS_GPU), 10, 0, MAX_GPUS, &index, NULL))
        return ifm_error_refuse(error, "device: \"%s\" is no GPU, such as CUDA:0", text);
    if (options->cores != NULL)
        return ifm_error_refuse(error, "cores or a device, not both");
    return check_gpu_kind(options->kind, error);
}

/* (transfer full) char*: what the worker program is told of where to be */
static GPtrArray *places_of(const IfmStressOptions *options, GError **error)
{
    g_autoptr(GPtrArray) places = g_ptr_array_new_with_free_func(g_free);
    if (options->device != NULL)
    {
        if (!check_gpu(options, error))
            return NULL;
        g_ptr_array_add(places, g_strdup(options->device));
        return g_steal_pointer(&places);
    }
    g_autoptr(GArray) cores = cores_of(options->cores, error);
    if (cores == NULL)
        return NULL;
    for (guint i = 0; i < cores->len; i++)
        g_ptr_array_add(places, g_strdup_printf("%d", g_array_index(cores, int, i)));
    return g_steal_pointer(&places);
}

/* --- the process --------------------------------------------------------------------------------------------------------
 */

/* In the child, before exec. A group of its own keeps the terminal's Ctrl-C from it: the owner ends it. */
static void child_setup(gpointer data)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static StressBlock *share_block(int *fd, GError **error)
{
    *fd = memfd_create("inferometer-stress", MFD_CLOEXEC);
    void *block = *fd >= 0 && ftruncate(*fd, sizeof(StressBlock)) == 0
                      ? mmap(NULL, sizeof(StressBlock), PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0)
                      : MAP_FAILED;
    if (block != MAP_FAILED)
        return block;
    ifm_error_set(error, IFM_ERROR_UNAVAILABLE, "memory of a stressor: %s", g_strerror(errno));
    return NULL;
}

static gboolean spawn(IfmStressor *self, IfmStressKind kind, const GPtrArray *places, int block_fd, GError **error)
{
    g_autofree char *program = ifm_path_worker(error);
    g_autoptr(GPtrArray) words = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GError) failure = NULL;
    const int target_fd = BLOCK_FD;
    if (program == NULL)
        return FALSE;
    g_ptr_array_add(words, g_strdup(program));
    g_ptr_array_add(words, g_strdup(IFM_STRESS_ARGUMENT));
    g_ptr_array_add(words, g_strdup(ifm_stress_words()[kind]));
    g_ptr_array_add(words, g_strdup_printf("%d", (int)getpid()));
    g_ptr_array_add(words, g_strdup_printf("%d", BLOCK_FD));
    for (guint i = 0; i < places->len; i++)
        g_ptr_array_add(words, g_strdup(places->pdata[i]));
    g_ptr_array_add(words, NULL);
    if (g_spawn_async_with_pipes_and_fds(NULL, (const char *const *)words->pdata, NULL, G_SPAWN_DO_NOT_REAP_CHILD,
                                         child_setup, NULL, -1, -1, -1, &block_fd, &target_fd, 1, &self->pid,
                                         &self->stdin_fd, NULL, NULL, &failure))
    {
        fcntl(self->stdin_fd, F_SETFD, FD_CLOEXEC); /* a worker started later must not keep it open */
        return TRUE;
    }
    return ifm_error_set(error, IFM_ERROR_UNAVAILABLE, "%s: %s", program, failure->message);
}

static gboolean is_gone(IfmStressor *self)
{
    int status;
    if (!self->gone && waitpid(self->pid, &status, WNOHANG) == self->pid)
    {
        self->gone = TRUE;
        self->ended = *self->block->message != '\0' ? g_strdup(self->block->message)
                      : WIFSIGNALED(status) ? g_strdup_printf("the stressor was ended by signal %d", WTERMSIG(status))
                                            : g_strdup_printf("the stressor ended with status %d", WEXITSTATUS(status));
    }
    return self->gone;
}

static gboolean await_threads(IfmStressor *self, GError **error)
{
    const gint64 deadline_us = g_get_monotonic_time() + (self->is_gpu ? IFM_STRESS_GPU_START_NS / 1000 : START_US);
    while (atomic_load(&self->block->n_running) < (gint64)self->n_threads)
    {
        if (is_gone(self) || g_get_monotonic_time() > deadline_us)
            return ifm_error_set(error, *self->block->message != '\0' ? self->block->trouble : IFM_ERROR_UNAVAILABLE, "%s",
                                 self->ended != NULL ? self->ended : "the stressor does not begin");
        g_usleep(200);
    }
    return TRUE;
}

static void sum(const IfmStressor *self, gint64 *busy_ns, gint64 *work)
{
    *busy_ns = *work = 0;
    for (gsize i = 0; i < self->n_threads; i++)
    {
        *busy_ns += atomic_load(&self->block->cores[i].busy_ns);
        *work += atomic_load(&self->block->cores[i].work);
    }
}

void ifm_stressor_set(IfmStressor *self, double intensity)
{
    atomic_store(&self->block->intensity_ppm, (gint64)(CLAMP(intensity, 0, 1) * 1e6 + 0.5));
    sum(self, &self->busy_ns, &self->work);
    self->read_ns = g_get_monotonic_time() * 1000;
}

IfmStressor *ifm_stressor_start(const IfmStressOptions *options, GError **error)
{
    int fd = -1;
    g_autoptr(GPtrArray) places = places_of(options, error);
    if (places == NULL)
        return NULL;
    if (!(options->intensity >= 0 && options->intensity <= 1))
    {
        ifm_error_refuse(error, "an intensity of %g: 0 to 1 is expected", options->intensity);
        return NULL;
    }
    IfmStressor *self = g_new0(IfmStressor, 1);
    self->stdin_fd = -1;
    self->n_threads = places->len;
    self->is_gpu = options->device != NULL;
    self->block = share_block(&fd, error);
    gboolean ok = self->block != NULL && spawn(self, options->kind, places, fd, error);
    if (fd >= 0)
        close(fd);
    self->gone = self->pid == 0;
    ok = ok && await_threads(self, error);
    if (ok)
        ifm_stressor_set(self, options->intensity);
    else
        g_clear_pointer(&self, ifm_stressor_free);
    return self;
}

void ifm_stressor_read(IfmStressor *self, IfmStressReading *reading)
{
    gint64 busy_ns, work;
    const gint64 now_ns = g_get_monotonic_time() * 1000;
    sum(self, &busy_ns, &work);
    const double window_ns = (double)MAX(now_ns - self->read_ns, 1);
    *reading = (IfmStressReading){ .asked = (double)atomic_load(&self->block->intensity_ppm) / 1e6,
                                   .achieved = (double)(busy_ns - self->busy_ns) / window_ns / (double)self->n_threads,
                                   .work_per_s = (double)(work - self->work) * 1e9 / window_ns,
                                   .window_ns = now_ns - self->read_ns,
                                   .n_cores = self->is_gpu ? 0 : self->n_threads,
                                   .ended = is_gone(self) ? self->ended : NULL };
    self->busy_ns = busy_ns;
    self->work = work;
    self->read_ns = now_ns;
}

int ifm_stressor_pid(const IfmStressor *self)
{
    return (int)self->pid;
}

void ifm_stressor_free(IfmStressor *self)
{
    if (self == NULL)
        return;
    if (self->stdin_fd >= 0)
        close(self->stdin_fd);
    if (!self->gone)
    {
        kill(self->pid, SIGKILL); /* it has nothing to put away */
        waitpid(self->pid, NULL, 0);
    }
    if (self->block != NULL)
        munmap(self->block, sizeof *self->block);
    g_free(self->ended);
    g_free(self);
}
