#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine-private.h"

/* These functions list the cores and threads of the process, from the kernel, and tell the threads older than the first
 * engine. */

/* @thread: 0: the calling one */
static GArray *cores_of(pid_t thread)
{
    GArray *cores = g_array_new(FALSE, FALSE, sizeof(int));
    cpu_set_t mask;
    CPU_ZERO(&mask);
    if (sched_getaffinity(thread, sizeof mask, &mask) == 0)
        for (int core = 0; core < CPU_SETSIZE; core++)
            if (CPU_ISSET(core, &mask))
                g_array_append_val(cores, core);
    return cores;
}

GArray *ifm_affinity_cores(void)
{
    return cores_of(0);
}

static char *affinity_of(pid_t thread)
{
    g_autoptr(GArray) cores = cores_of(thread);
    return ifm_cores_to_string((const int *)(const void *)cores->data, cores->len);
}

char *ifm_affinity_to_string(void)
{
    return affinity_of(0);
}

char *ifm_affinity_of_process(void)
{
    return affinity_of(getpid());
}

/* Processor time of a thread, ns; -1 if the kernel has no such figure. */
static gint64 thread_time_ns(const char *tid)
{
    g_autofree char *path = g_strconcat("/proc/self/task/", tid, "/schedstat", NULL);
    g_autofree char *text = NULL;
    if (!g_file_get_contents(path, &text, NULL, NULL))
        return -1;
    return g_ascii_strtoll(text, NULL, 10);
}

GHashTable *ifm_threads_list(void)
{
    GHashTable *threads = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
    g_autoptr(GDir) folder = g_dir_open("/proc/self/task", 0, NULL);
    const char *tid;
    while (folder != NULL && (tid = g_dir_read_name(folder)) != NULL)
    {
        gint64 time_ns = thread_time_ns(tid);
        g_hash_table_insert(threads, GINT_TO_POINTER(atoi(tid)), g_memdup2(&time_ns, sizeof time_ns));
    }
    return threads;
}

static GHashTable *foreign; /* as ifm_threads_list() */

void ifm_threads_remember(void)
{
    static gsize is_done;
    if (g_once_init_enter(&is_done))
    {
        foreign = ifm_threads_list();
        g_once_init_leave(&is_done, 1);
    }
}

gboolean ifm_thread_is_foreign(pid_t tid)
{
    return g_hash_table_contains(foreign, GINT_TO_POINTER(tid));
}
