#pragma once
#include "cli/study-harness.h"
#include "ports.h"
#include <math.h>

/*
 * A Slurm cluster of two nodes with one processor each, on loopback: munged, slurmctld and two slurmd as children of the
 * test. All that they start has the bench's mark in its environment, and is found and ended by it, process by process.
 */

typedef struct
{
    const Bench *bench;
    GSubprocess *munged, *controller, *nodes[2]; /* NULL: not running */
} Cluster;

static const char *const slurm_programs[] = { "munged",   "slurmctld", "slurmd", "sbatch",
                                              "scontrol", "squeue",    "sinfo",  "scancel" };

/* NULL where all programs are there. */
static inline const char *cluster_lacks(void)
{
    g_autofree char *path = g_strdup_printf("%s:/usr/sbin:/sbin", g_getenv("PATH"));
    g_setenv("PATH", path, TRUE);
    for (gsize i = 0; i < G_N_ELEMENTS(slurm_programs); i++)
    {
        g_autofree char *found = g_find_program_in_path(slurm_programs[i]);
        if (found == NULL)
            return slurm_programs[i];
    }
    return NULL;
}

/* A test that fails must not leave them behind. */
static inline void end_with_test(gpointer data)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM);
}

static inline GSubprocess *cluster_start_program(const Cluster *cluster, const char *log, const char *const *words)
{
    g_autoptr(GSubprocessLauncher) launcher = bench_launcher(cluster->bench);
    g_autofree char *path = bench_path(cluster->bench, log);
    g_autoptr(GError) error = NULL;
    g_subprocess_launcher_set_flags(launcher, G_SUBPROCESS_FLAGS_STDERR_MERGE);
    g_subprocess_launcher_set_stdout_file_path(launcher, path);
    g_subprocess_launcher_set_child_setup(launcher, end_with_test, NULL, NULL);
    GSubprocess *process = g_subprocess_launcher_spawnv(launcher, words, &error);
    g_assert_no_error(error);
    return process;
}

/* What a program of Slurm prints, without the white space around it. (transfer full) */
static inline char *slurm_says(const Cluster *cluster, const char *line)
{
    g_auto(Ended) ended = { 0 };
    g_autoptr(GSubprocessLauncher) launcher = bench_launcher(cluster->bench);
    g_auto(GStrv) words = g_strsplit(line, " ", -1);
    launch(launcher, (const char *const *)words, &ended);
    if (ended.status != 0)
        g_test_message("%s: %s", line, ended.err);
    return g_strdup(g_strstrip(ended.out));
}

static inline void cluster_write_configuration(const Cluster *cluster)
{
    const char *folder = cluster->bench->folder;
    g_autoptr(GString) text = g_string_new("ClusterName=test\n");
    g_autofree char *host = g_strndup(g_get_host_name(), strcspn(g_get_host_name(), "."));
    g_string_append_printf(text, "SlurmctldHost=%s(127.0.0.1)\nSlurmctldPort=%d\n", host, free_port());
    g_string_append_printf(text, "SlurmUser=%s\nSlurmdUser=%s\n", g_get_user_name(), g_get_user_name());
    g_string_append_printf(text, "AuthType=auth/munge\nCredType=cred/munge\nAuthInfo=socket=%s/munge\n", folder);
    g_string_append_printf(text, "StateSaveLocation=%s/state\nSlurmdSpoolDir=%s/spool.%%n\n", folder, folder);
    g_string_append_printf(text, "SlurmctldPidFile=%s/slurmctld.pid\nSlurmdPidFile=%s/slurmd.%%n.pid\n", folder, folder);
    g_string_append(text, "CommunicationParameters=NoCtldInAddrAny,NoInAddrAny\n"
                          "ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nMpiDefault=none\n"
                          "SchedulerType=sched/backfill\n"
                          "SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0\n"
                          "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\nReturnToService=2\nKillWait=2\n");
    for (int node = 1; node <= 2; node++)
        g_string_append_printf(text, "NodeName=n%d NodeHostname=%s NodeAddr=127.0.0.1 Port=%d CPUs=1 Features=gpul40s\n",
                               node, host, free_port());
    g_string_append(text, "PartitionName=main Nodes=n1,n2 Default=YES MaxTime=10:00 State=UP\n");
    write_text(cluster->bench, "slurm.conf", text->str);
}

static inline void cluster_start_node(Cluster *cluster, int node)
{
    g_autofree char *name = g_strdup_printf("n%d", node), *log = g_strdup_printf("slurmd.n%d.log", node);
    const char *const words[] = { "slurmd", "-D", "-N", name, NULL };
    cluster->nodes[node - 1] = cluster_start_program(cluster, log, words);
}

static inline void cluster_show_log(const Cluster *cluster, const char *name)
{
    g_autofree char *path = bench_path(cluster->bench, name), *text = NULL;
    if (g_file_get_contents(path, &text, NULL, NULL))
        g_test_message("%s:\n%s", name, text);
}

/* Both nodes are idle, or it is a failure. */
static inline void cluster_await(const Cluster *cluster)
{
    for (int look = 0; look < 200; look++)
    {
        g_autofree char *states = slurm_says(cluster, "sinfo -h -N -o %T");
        if (g_str_equal(states, "idle\nidle"))
            return;
        g_usleep(100000);
    }
    cluster_show_log(cluster, "munged.log");
    cluster_show_log(cluster, "slurmctld.log");
    cluster_show_log(cluster, "slurmd.n1.log");
    g_error("the cluster does not come up");
}

static inline void cluster_start(Cluster *cluster, const Bench *bench)
{
    guint8 key[128];
    g_autofree char *conf = bench_path(bench, "slurm.conf"), *key_path = bench_path(bench, "key"),
                    *state = bench_path(bench, "state"), *socket_path = bench_path(bench, "munge");
    g_autofree char *key_option = g_strdup_printf("--key-file=%s", key_path),
                    *socket_option = g_strdup_printf("--socket=%s", socket_path),
                    *pid_option = g_strdup_printf("--pid-file=%s/munged.pid", bench->folder),
                    *seed_option = g_strdup_printf("--seed-file=%s/munged.seed", bench->folder);
    *cluster = (Cluster){ .bench = bench };
    for (gsize i = 0; i < sizeof key; i++)
        key[i] = (guint8)g_random_int_range(0, 256);
    bench_write(bench, "key", key, sizeof key);
    g_assert_cmpint(g_chmod(key_path, 0400), ==, 0);
    g_assert_cmpint(g_mkdir(state, 0700), ==, 0);
    cluster_write_configuration(cluster);
    g_setenv("SLURM_CONF", conf, TRUE);
    const char *const munged[] = { "munged",      "--foreground", "--force",   key_option,
                                   socket_option, pid_option,     seed_option, NULL };
    const char *const controller[] = { "slurmctld", "-D", NULL };
    cluster->munged = cluster_start_program(cluster, "munged.log", munged);
    for (int look = 0; look < 500 && !g_file_test(socket_path, G_FILE_TEST_EXISTS); look++)
        g_usleep(10000);
    cluster->controller = cluster_start_program(cluster, "slurmctld.log", controller);
    cluster_start_node(cluster, 1);
    cluster_start_node(cluster, 2);
    cluster_await(cluster);
}

/* --- processes ---------------------------------------------------------------------------------------------------------
 */

/* The parent of a process where that is a slurmstepd; else 0. */
static inline pid_t step_daemon_of(const char *pid)
{
    g_autofree char *stat_path = g_build_filename("/proc", pid, "stat", NULL), *stat_text = NULL;
    int parent = 0;
    if (!g_file_get_contents(stat_path, &stat_text, NULL, NULL) ||
        sscanf(strrchr(stat_text, ')') + 1, " %*c %d", &parent) != 1)
        return 0;
    g_autofree char *path = g_strdup_printf("/proc/%d/comm", parent), *name = NULL;
    return g_file_get_contents(path, &name, NULL, NULL) && g_str_has_prefix(name, "slurmstepd") ? parent : 0;
}

/* Ends what runs on a node at one stroke: its slurmd, the slurmstepd of each task, and the tasks. */
static inline void cluster_kill_node(Cluster *cluster, int node)
{
    g_autofree char *mark = g_strdup_printf(MARK_VARIABLE "=%s", cluster->bench->mark),
                    *place = g_strdup_printf("SLURMD_NODENAME=n%d", node);
    g_autoptr(GArray) pids = g_array_new(FALSE, FALSE, sizeof(pid_t));
    g_autoptr(GDir) proc = g_dir_open("/proc", 0, NULL);
    for (const char *name; (name = g_dir_read_name(proc)) != NULL;)
    {
        pid_t pid = (pid_t)g_ascii_strtoll(name, NULL, 10), daemon = 0;
        if (!g_ascii_isdigit(name[0]) || !has_setting(name, mark) || !has_setting(name, place))
            continue;
        if ((daemon = step_daemon_of(name)) > 0)
            g_array_append_val(pids, daemon);
        g_array_append_val(pids, pid);
    }
    g_assert_cmpuint(pids->len, >=, 3); /* slurmstepd, the script, the command */
    g_subprocess_force_exit(cluster->nodes[node - 1]);
    for (guint i = 0; i < pids->len; i++)
        kill(g_array_index(pids, pid_t, i), SIGKILL);
    g_subprocess_wait(cluster->nodes[node - 1], NULL, NULL);
    g_clear_object(&cluster->nodes[node - 1]);
}

static inline void end_program(GSubprocess **process)
{
    if (*process == NULL)
        return;
    g_subprocess_send_signal(*process, SIGTERM);
    for (int look = 0; look < 500 && g_subprocess_get_identifier(*process) != NULL; look++)
    {
        g_main_context_iteration(NULL, FALSE);
        g_usleep(10000);
    }
    if (g_subprocess_get_identifier(*process) != NULL)
        g_subprocess_force_exit(*process);
    g_subprocess_wait(*process, NULL, NULL);
    g_clear_object(process);
}

static inline void cluster_stop(Cluster *cluster)
{
    end_program(&cluster->nodes[0]);
    end_program(&cluster->nodes[1]);
    end_program(&cluster->controller);
    end_program(&cluster->munged);
    g_unsetenv("SLURM_CONF");
    assert_none_left(cluster->bench);
}
