#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stress/stress.h>

#include "measure-private.h"

/* inferometer-worker FD PARENT [DEVICE]: started by the library alone, with the channel to the program open as FD.
 * inferometer-worker --stress …: a stressor. */
int main(int argc, char **argv)
{
    int type;
    socklen_t size = sizeof type;
    if (argc >= 2 && g_str_equal(argv[1], IFM_STRESS_ARGUMENT))
        return ifm_stress_main(argc - 2, argv + 2);
    int fd = argc >= 3 ? atoi(argv[1]) : -1;
    if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0)
    {
        fprintf(stderr, "inferometer-worker: started by inferometer, not by hand\n");
        return 2;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != atoi(argv[2])) /* it died before that */
        return 1;
    return ifm_worker_main(fd, argc > 3 ? argv[3] : NULL);
}
