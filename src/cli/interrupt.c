#include <base/base.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli.h"

/* A signal handler gets no argument, so this state is global. */
static gint interrupted;
static volatile sig_atomic_t signal_number;

static void on_signal(int number)
{
    if (g_atomic_int_get(&interrupted) != 0)
    {
        ifm_temporary_abandon();
        _exit(CLI_EXIT_SIGNAL + number); /* asked twice: the workers end with their socket */
    }
    signal_number = number;
    g_atomic_int_set(&interrupted, 1);
}

/* Sleeps until that process has ended. Not PR_SET_PDEATHSIG, which means the parent's thread. */
static gpointer watch_process(gpointer data)
{
    struct pollfd process = { .fd = GPOINTER_TO_INT(data), .events = POLLIN };
    if (poll(&process, 1, -1) == 1)
        kill(getpid(), SIGINT);
    close(process.fd);
    return NULL;
}

/* IFM_PARENT=PID: this is done for that process alone; its end is an interrupt. */
static void watch_parent(void)
{
    const char *text = g_getenv("IFM_PARENT");
    guint64 pid = 0;
    if (text == NULL || !g_ascii_string_to_unsigned(text, 10, 1, G_MAXINT, &pid, NULL))
        return;
    int fd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
    if (fd == -1 && errno == ESRCH)
        kill(getpid(), SIGINT);
    if (fd == -1) /* before Linux 5.3 nobody looks */
        return;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the main thread */
    g_thread_unref(g_thread_new("parent", watch_process, GINT_TO_POINTER(fd)));
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    g_unsetenv("IFM_PARENT");
}

const gint *cli_interrupt_install(void)
{
    static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
    struct sigaction action = { .sa_handler = on_signal };
    for (gsize i = 0; i < G_N_ELEMENTS(numbers); i++)
    {
        struct sigaction before;
        sigaction(numbers[i], NULL, &before);
        if (before.sa_handler != SIG_IGN) /* nohup's word stands */
            sigaction(numbers[i], &action, NULL);
    }
    watch_parent();
    return &interrupted;
}

int cli_interrupt_signal(void)
{
    return g_atomic_int_get(&interrupted) != 0 ? signal_number : 0;
}
