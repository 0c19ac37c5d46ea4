#pragma once
#include <arpa/inet.h>
#include <glib.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

/* Ports of loopback. */

/* A socket that is bound and does not listen: nobody else can take its port, and who calls it is refused. @port: 0: any
 * that is free; set to the port. Returns: -1: @port is taken */
static inline int hold_port(guint16 *port)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                   .sin_port = htons(*port) };
    socklen_t length = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    g_assert_cmpint(fd, >=, 0);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) != 0)
    {
        close(fd);
        return -1;
    }
    g_assert_cmpint(getsockname(fd, (struct sockaddr *)&address, &length), ==, 0);
    *port = ntohs(address.sin_port);
    return fd;
}

/* A free port for a program that has to be told one. It is below those that the kernel gives to whom asks for any
 * (net.ipv4.ip_local_port_range), and tests that run at once look for theirs from different ones on. */
static inline guint16 free_port(void)
{
    static guint n_given;
    for (guint tries = 0; tries < 20000; tries++)
    {
        guint16 port = (guint16)(10000 + ((guint)getpid() * 16 + n_given++) % 20000);
        const int fd = hold_port(&port);
        if (fd < 0)
            continue;
        close(fd);
        return port;
    }
    g_error("no port of loopback is free");
}
