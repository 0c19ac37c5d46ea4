#include <base/base.h>
#include <signal.h>
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
    return &interrupted;
}

int cli_interrupt_signal(void)
{
    return g_atomic_int_get(&interrupted) != 0 ? signal_number : 0;
}
