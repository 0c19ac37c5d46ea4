#include <base/base.h>
#include <base/fields.h>
#include <stddef.h>
#include <string.h>

#include "study-cluster-private.h"

/* A request to Slurm is made of the options of `study submit` and the cluster's YAML file, which also limits them. */

/* --- the options ------------------------------------------------------------------------------------------------------ */

#define AT(member) .at = G_STRUCT_OFFSET(IfmClusterOptions, member)

const IfmOption ifm_cluster_options[] = {
    { "slurm", IFM_OPTION_FLAG, NULL, "submit to Slurm, with sbatch", AT(slurm) },
    { "shards", IFM_OPTION_COUNT, "N", "how many parts the cases are divided into, a task of the job array each",
      .minimum = 1, .maximum = 1000000, AT(n_shards) },
    { "missing", IFM_OPTION_FLAG, NULL,
      "submit again the shards that have cases without a result and no task in the queue; with --retry also those with "
      "cases that failed or whose device was not there",
      .excludes =
          "device,ci,runs,warmup,time-budget,timeout,case-timeout,memory-limit,set,model,algorithm,level,test,quick,"
          "num-sizes,max-size,batch",
      AT(missing) },
    { "dry-run", IFM_OPTION_FLAG, NULL, "write the script and submit nothing", AT(dry_run) },
    { "cluster", IFM_OPTION_FILE, "FILE",
      "YAML file that describes the cluster: partitions, constraints by GPU, what tasks get by default", AT(cluster) },
    { "gpu", IFM_OPTION_TEXT, "NAME", "nodes with this GPU, a name of the cluster's file", AT(gpu) },
    { "partition", IFM_OPTION_TEXT, "NAME", "partition of the tasks", AT(partition) },
    { "constraint", IFM_OPTION_TEXT, "FEATURES", "features of the nodes, such as gpul40s", AT(constraint) },
    { "gres", IFM_OPTION_TEXT, "LIST", "generic resources of a task, such as gpu:1", .is_list = TRUE, AT(gres) },
    { "account", IFM_OPTION_TEXT, "NAME", "account that is charged", AT(account) },
    { "qos", IFM_OPTION_TEXT, "NAME", "quality of service", AT(qos) },
    { "time", IFM_OPTION_DURATION, "TIME",
      "limit of a task, in whole minutes; a task that reaches it is queued again and continues", AT(time_ns) },
    { "mem", IFM_OPTION_BYTES, "SIZE", "memory of a task on its node", AT(memory_bytes) },
    { "cpus-per-task", IFM_OPTION_COUNT, "N", "processors of a task", .minimum = 1, .maximum = 100000, AT(cpus_per_task) },
    { "exclusive", IFM_OPTION_FLAG, NULL, "no other job on a task's node while it measures", AT(exclusive) },
    { "sbatch", IFM_OPTION_TEXT, "OPTION", "another option of sbatch, as in --sbatch=--reservation=bench", AT(extra),
      .repeatable = TRUE },
    { "program", IFM_OPTION_FILE, "FILE", "the inferometer of the nodes; without it this one", AT(program) },
    { NULL },
};

/* --- the cluster's file ----------------------------------------------------------------------------------------------- */

typedef struct
{
    IfmPlace place;
    char *partition, *constraint, *gres;
} GpuText;

typedef struct
{
    IfmPlace place;
    GPtrArray *constraints; /* char* */
    gint64 max_time_ns;     /* 0: none */
} PartitionText;

typedef struct
{
    IfmPlace place;
    char *title, *partition, *constraint, *gres, *account, *qos, *memory, *program;
    gint64 time_ns, cpus_per_task;
    gboolean exclusive;
    GPtrArray *partitions; /* PartitionText* */
    GPtrArray *gpus;       /* GpuText* */
    GPtrArray *extra;      /* char* */
    GPtrArray *setup;      /* char* */
} ClusterText;

static const IfmRecordField partition_fields[] = {
    { IFM_RECORD(PLACE, PartitionText, place) },
    IFM_FIELD(TEXTS, PartitionText, constraints,
              .help = "features that its nodes have; another one is refused before anything is submitted"),
    IFM_FIELD_AS(DURATION, PartitionText, max_time_ns, "max_time", .help = "its limit; a longer --time is refused"),
    { 0 }
};

static const IfmRecordField gpu_fields[] = { { IFM_RECORD(PLACE, GpuText, place) },
                                             IFM_FIELD(STRING, GpuText, constraint,
                                                       .help = "feature of its nodes: gpul40s"),
                                             IFM_FIELD(STRING, GpuText, partition, .help = "partition of its nodes"),
                                             IFM_FIELD(STRING, GpuText, gres, .help = "what a task asks for: gpu:l40s:1"),
                                             { 0 } };

static const IfmRecordField cluster_fields[] = {
    { IFM_RECORD(PLACE, ClusterText, place) },
    IFM_FIELD(STRING, ClusterText, title, .help = "one line that reports show"),
    IFM_FIELD(STRING, ClusterText, partition, .help = "the default of --partition"),
    IFM_FIELD(STRING, ClusterText, constraint, .help = "the default of --constraint"),
    IFM_FIELD(STRING, ClusterText, gres, .help = "the default of --gres"),
    IFM_FIELD(STRING, ClusterText, account, .help = "the default of --account"),
    IFM_FIELD(STRING, ClusterText, qos, .help = "the default of --qos"),
    IFM_FIELD_AS(DURATION, ClusterText, time_ns, "time", .help = "the default of --time"),
    IFM_FIELD_AS(STRING, ClusterText, memory, "mem", .help = "the default of --mem: 8GiB"),
    IFM_FIELD(INT64, ClusterText, cpus_per_task, .min = 1, .max = 100000, .help = "the default of --cpus-per-task"),
    IFM_FIELD(FLAG, ClusterText, exclusive,
              .help = "as --exclusive, which figures of processors need where nodes are shared"),
    IFM_FIELD(NAMED, ClusterText, partitions, IFM_FIELDS_OF(partition_fields, PartitionText),
              .help = "the partitions there are; where any is listed, another one is refused"),
    IFM_FIELD(NAMED, ClusterText, gpus, IFM_FIELDS_OF(gpu_fields, GpuText), .help = "what --gpu NAME stands for"),
    IFM_FIELD_AS(TEXTS, ClusterText, extra, "sbatch", .help = "further options of sbatch: [\"--reservation=bench\"]"),
    IFM_FIELD(TEXTS, ClusterText, setup, .help = "lines of shell before the command of a task: [\"module load cuda\"]"),
    IFM_FIELD(STRING, ClusterText, program, .help = "the default of --program: the inferometer of the nodes"),
    { 0 }
};

char *ifm_cluster_describe(void)
{
    return ifm_yaml_describe(cluster_fields);
}

/* --- what is asked, against what there is ----------------------------------------------------------------------------- */

/* The record of that name in a map; NULL without one. */
static gpointer named(const GPtrArray *records, const char *name)
{
    for (guint i = 0; i < records->len; i++)
        if (g_strcmp0(((const IfmPlace *)records->pdata[i])->name, name) == 0)
            return records->pdata[i];
    return NULL;
}

/* "--partition: "mian" is not a partition of the cluster; it has main, gpu; did you mean "main"?" */
static gboolean refuse_word(const char *option, const char *word, const char *what, GPtrArray *known, GError **error)
{
    g_ptr_array_add(known, NULL);
    g_autofree char *all = g_strjoinv(", ", (char **)known->pdata);
    g_autofree char *hint = ifm_nearest_hint(word, (const char *const *)known->pdata);
    return ifm_error_refuse(error, "--%s: \"%s\" is not %s of the cluster; it has %s%s", option, word, what,
                            *all != '\0' ? all : "none", hint);
}

/* (transfer container) */
static GPtrArray *names_of(const GPtrArray *records)
{
    GPtrArray *names = g_ptr_array_new();
    for (guint i = 0; i < records->len; i++)
        g_ptr_array_add(names, ((const IfmPlace *)records->pdata[i])->name);
    return names;
}

static void add_constraint(GPtrArray *known, char *constraint)
{
    if (constraint != NULL && !g_ptr_array_find_with_equal_func(known, constraint, g_str_equal, NULL))
        g_ptr_array_add(known, constraint);
}

/* Features of the partition, or without one of all; those of GPUs count where they may be there. (transfer container) */
static GPtrArray *constraints_of(const ClusterText *text, const char *partition)
{
    GPtrArray *known = g_ptr_array_new();
    for (guint i = 0; i < text->partitions->len; i++)
    {
        const PartitionText *one = text->partitions->pdata[i];
        if (partition == NULL || g_str_equal(one->place.name, partition))
            for (guint k = 0; k < one->constraints->len; k++)
                add_constraint(known, one->constraints->pdata[k]);
    }
    for (guint i = 0; i < text->gpus->len; i++)
    {
        const GpuText *gpu = text->gpus->pdata[i];
        if (partition == NULL || gpu->partition == NULL || g_str_equal(gpu->partition, partition))
            add_constraint(known, gpu->constraint);
    }
    return known;
}

/* Slurm combines features with &, |, brackets and counts: "[gpul40s*2&gpua100]". */
static gboolean check_constraint(const IfmClusterOptions *asked, const ClusterText *text, GError **error)
{
    if (asked->constraint == NULL)
        return TRUE;
    g_autoptr(GPtrArray) known = constraints_of(text, asked->partition);
    g_auto(GStrv) words = g_strsplit_set(asked->constraint, "&|,()[]", -1);
    if (known->len == 0)
        return TRUE;
    for (char **word = words; *word != NULL; word++)
    {
        char *count = strchr(*word, '*');
        if (count != NULL)
            *count = '\0';
        if (**word != '\0' && !g_ptr_array_find_with_equal_func(known, *word, g_str_equal, NULL))
            return refuse_word("constraint", *word, "a constraint", known, error);
    }
    return TRUE;
}

static gboolean check_partition(const IfmClusterOptions *asked, const ClusterText *text, GError **error)
{
    if (asked->partition == NULL || text->partitions->len == 0)
        return TRUE;
    const PartitionText *partition = named(text->partitions, asked->partition);
    if (partition == NULL)
    {
        g_autoptr(GPtrArray) names = names_of(text->partitions);
        return refuse_word("partition", asked->partition, "a partition", names, error);
    }
    if (partition->max_time_ns == 0 || asked->time_ns <= partition->max_time_ns)
        return TRUE;
    g_autofree char *limit = ifm_format_duration((double)partition->max_time_ns);
    return ifm_error_refuse(error, "--time: is above the limit of partition %s, %s", asked->partition, limit);
}

/* Options that are part of how a shard runs and continues. */
static gboolean check_extra(const char *text, GError **error)
{
    static const char *const own[] = { "--array",      "--output", "--error",    "--open-mode", "--signal",
                                       "--requeue",    "--wrap",   "--parsable", "--test-only", "--job-name",
                                       "--no-requeue", "--wait",   "--ntasks",   NULL };
    g_autofree char *name = g_strndup(text, strcspn(text, "= "));
    if (!g_str_has_prefix(text, "--") || text[2] == '\0')
        return ifm_error_misuse(error, "--sbatch: \"%s\" is not an option of sbatch in its long form, --NAME=VALUE", text);
    if (g_strv_contains(own, name))
        return ifm_error_misuse(error, "--sbatch: %s is set by study submit itself", name);
    return TRUE;
}

/* --- the request ------------------------------------------------------------------------------------------------------ */

void cluster_request_free(ClusterRequest *request)
{
    if (request == NULL)
        return;
    g_ptr_array_unref(request->options);
    g_ptr_array_unref(request->setup);
    g_free(request->program);
    g_strfreev(request->arguments);
    g_free(request);
}

static gboolean take_memory(const ClusterText *text, IfmClusterOptions *asked, GError **error)
{
    IfmOptionValue value;
    g_autoptr(GError) trouble = NULL;
    const IfmOption *const tables[] = { ifm_cluster_options, NULL };
    g_autofree const IfmOption **rows = ifm_options_list(tables);
    if (asked->memory_bytes != IFM_OPTION_UNSET || text->memory == NULL)
        return TRUE;
    if (!ifm_option_parse(ifm_options_find(rows, "mem", NULL), text->memory, &value, &trouble))
        return ifm_yaml_key_error(&text->place, "mem", -1, error, "%s", trouble->message + strlen("--mem: "));
    asked->memory_bytes = value.integer;
    return TRUE;
}

/* Options that are words: of the command line, the GPU and the file, in this order. */
#define NOT_OF_GPU G_MAXSIZE
#define WORD(name) G_STRUCT_OFFSET(IfmClusterOptions, name), G_STRUCT_OFFSET(ClusterText, name)
static const struct
{
    const char *name;
    gsize asked, text, gpu;
} words[] = {
    { "partition", WORD(partition), G_STRUCT_OFFSET(GpuText, partition) },
    { "constraint", WORD(constraint), G_STRUCT_OFFSET(GpuText, constraint) },
    { "gres", WORD(gres), G_STRUCT_OFFSET(GpuText, gres) },
    { "account", WORD(account), NOT_OF_GPU },
    { "qos", WORD(qos), NOT_OF_GPU },
};

static void take_word(const char **word, const void *record, gsize offset)
{
    if (*word == NULL && record != NULL && offset != NOT_OF_GPU)
        *word = G_STRUCT_MEMBER(char *, record, offset);
}

/* What the command line leaves open. */
static gboolean take_file(const ClusterText *text, IfmClusterOptions *asked, GError **error)
{
    const GpuText *gpu = asked->gpu != NULL ? named(text->gpus, asked->gpu) : NULL;
    if (asked->gpu != NULL && asked->cluster == NULL)
        return ifm_error_misuse(error, "--gpu: needs --cluster FILE, which names the GPUs there are");
    if (asked->gpu != NULL && gpu == NULL)
    {
        g_autoptr(GPtrArray) names = names_of(text->gpus);
        return refuse_word("gpu", asked->gpu, "a GPU", names, error);
    }
    for (gsize i = 0; i < G_N_ELEMENTS(words); i++)
    {
        const char **word = G_STRUCT_MEMBER_P(asked, words[i].asked);
        take_word(word, gpu, words[i].gpu);
        take_word(word, text, words[i].text);
    }
    take_word(&asked->program, text, G_STRUCT_OFFSET(ClusterText, program));
    asked->exclusive = asked->exclusive || text->exclusive;
    if (asked->time_ns == IFM_OPTION_UNSET && text->time_ns > 0)
        asked->time_ns = text->time_ns;
    if (asked->cpus_per_task == IFM_OPTION_UNSET && text->cpus_per_task > 0)
        asked->cpus_per_task = text->cpus_per_task;
    return take_memory(text, asked, error);
}

static void add_number(ClusterRequest *request, const char *name, gint64 value, const char *unit)
{
    if (value > 0)
        g_ptr_array_add(request->options, g_strdup_printf("--%s=%" G_GINT64_FORMAT "%s", name, value, unit));
}

static gboolean add_extra(ClusterRequest *request, const char *text, GError **error)
{
    g_ptr_array_add(request->options, g_strdup(text));
    return check_extra(text, error);
}

#define MINUTE_NS (60 * G_GINT64_CONSTANT(1000000000))
#define MIB (G_GINT64_CONSTANT(1) << 20)

static gboolean fill(ClusterRequest *request, const IfmClusterOptions *asked, const ClusterText *text, GError **error)
{
    gboolean good = TRUE;
    request->time_ns = MAX(asked->time_ns, 0);
    for (gsize i = 0; i < G_N_ELEMENTS(words); i++)
    {
        const char *word = G_STRUCT_MEMBER(const char *, asked, words[i].asked);
        if (word != NULL)
            g_ptr_array_add(request->options, g_strdup_printf("--%s=%s", words[i].name, word));
    }
    add_number(request, "time", (request->time_ns + MINUTE_NS - 1) / MINUTE_NS, "");
    add_number(request, "mem", (MAX(asked->memory_bytes, 0) + MIB - 1) / MIB, "M");
    add_number(request, "cpus-per-task", asked->cpus_per_task, "");
    if (asked->exclusive)
        g_ptr_array_add(request->options, g_strdup("--exclusive"));
    for (guint i = 0; i < text->setup->len; i++)
        g_ptr_array_add(request->setup, g_strdup(text->setup->pdata[i]));
    for (guint i = 0; good && i < text->extra->len; i++)
        good = add_extra(request, text->extra->pdata[i], error);
    for (const char *const *extra = asked->extra; good && extra != NULL && *extra != NULL; extra++)
        good = add_extra(request, *extra, error);
    return good;
}

/* The command itself; of another program that uses the library the command of PATH. */
static char *this_program(void)
{
    g_autofree char *self = g_file_read_link("/proc/self/exe", NULL),
                    *name = self != NULL ? g_path_get_basename(self) : NULL;
    return g_strcmp0(name, "inferometer") == 0 ? g_steal_pointer(&self) : g_strdup("inferometer");
}

ClusterRequest *cluster_request_new(const IfmClusterOptions *options, GError **error)
{
    g_autoptr(ClusterRequest) request = g_new0(ClusterRequest, 1);
    IfmClusterOptions asked = *options;
    request->options = g_ptr_array_new_with_free_func(g_free);
    request->setup = g_ptr_array_new_with_free_func(g_free);
    ClusterText *text = options->cluster != NULL
                            ? ifm_yaml_read(cluster_fields, sizeof(ClusterText), options->cluster, error)
                            : g_new0(ClusterText, 1);
    if (text == NULL)
        return NULL;
    if (options->cluster == NULL)
        ifm_record_init(text, cluster_fields);
    const gboolean good = take_file(text, &asked, error) && check_partition(&asked, text, error) &&
                          check_constraint(&asked, text, error) && fill(request, &asked, text, error);
    request->program = asked.program != NULL ? g_strdup(asked.program) : this_program();
    ifm_record_free(text, cluster_fields);
    return good ? g_steal_pointer(&request) : NULL;
}
