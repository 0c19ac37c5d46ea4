#pragma once
#include <inferometer/profile.h>
#include <inferometer/trace.h>
#include <kernel/kernel.h>

G_BEGIN_DECLS

/*
 * What the command is made of. A verb is one static const Verb in a file of its own, listed in main.c's one table; that
 * table drives parsing, --help, the man page and the shells' completion. How to add one: docs/add-a-verb.md.
 */

typedef enum
{
    CLI_EXIT_OK = 0,
    CLI_EXIT_FAILED = 1,
    CLI_EXIT_USAGE = 2,
    CLI_EXIT_SIGNAL = 128, /* plus the signal's number */
} CliExit;

typedef struct Arguments Arguments;

typedef enum
{
    POSITIONAL_NONE,
    POSITIONAL_FILE,
    POSITIONAL_WORD,
    POSITIONAL_STUDY, /* a shipped study's name, a file or a folder */
} PositionalKind;

typedef struct
{
    const char *name;      /* "profile", "store show" */
    const char *summary;   /* one line, no full stop */
    const char *arguments; /* "MODEL", "A [B]", "FILE…"; "" for none: this says how many are taken, too */
    int max;               /* where it is above 0, up to so many arguments may be given, or none, whatever is said above */
    PositionalKind positional;
    const IfmOption *tables[8]; /* of its options, as they are listed: the library's, shared ones, its own; or none */
    const char *folder_with;    /* with this option its --output is a folder, not a file; or NULL */
    const char *details;        /* paragraphs, each on one line, separated by a newline; or NULL */
    struct
    {
        const char *line, *meaning;
    } examples[8]; /* the last one is empty */
    int (*run)(const Arguments *arguments);
} Verb;

extern const Verb verb_compare, verb_devices, verb_profile, verb_zoo_list, verb_zoo_export, verb_report, verb_store_show,
    verb_store_merge, verb_store_export, verb_store_check, verb_study_run, verb_study_submit, verb_study_status,
    verb_study_merge, verb_study_export, verb_study_lookup, verb_study_predict, verb_study_import, verb_study_list,
    verb_plan, verb_run, verb_trace, verb_trace_diff, verb_help, verb_tune, verb_kernels_list, verb_kernels_show,
    verb_kernels_export, verb_kernels_extract, verb_kernels_dag, verb_kernels_run, verb_stress, verb_train, verb_predict,
    verb_evaluate, verb_completion;

/* cli_verbs: NULL-terminated, in the order of --help. */
const Verb *const *cli_verbs(void);
/* cli_find_verb: @words: NULL-terminated. @n_used: (out) how many of the words named it. NULL with an error that names the
 * nearest. */
const Verb *cli_find_verb(const char *const *words, gsize *n_used, GError **error);
/* cli_words: (transfer full) words that may follow first: verbs of one word and groups, each once; or with @group its
 * second words. */
GStrv cli_words(const char *group);
/* cli_is_group: whether verbs of two words begin with @word. */
gboolean cli_is_group(const char *word);
/* cli_is_verb: whether it is a verb by itself; "trace" is, and a group, too. */
gboolean cli_is_verb(const char *word);

/* --- arguments.c ------------------------------------------------------------------------------------------------------ */

/* cli_options: The rows of the library's tables, of the verb's own and of what every verb has, in --help's order.
 * (transfer container) NULL-terminated, to be freed with g_free() */
const IfmOption **cli_options(const Verb *verb);

/* cli_n_arguments: how many arguments a verb takes. @max: G_MAXUINT: any number */
void cli_n_arguments(const Verb *verb, guint *min, guint *max);

/* cli_arguments_parse: @words: after the verb. Returns: (transfer full) NULL with one line that says what is wrong. */
Arguments *cli_arguments_parse(const Verb *verb, const char *const *words, GError **error);
void cli_arguments_free(Arguments *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Arguments, cli_arguments_free)

/* cli_output: what an option names that the verb may not have; NULL where it has none, or it was not given. */
const char *cli_output(const Arguments *self, const char *name);
/* cli_fill: @options, of one of the verb's tables, with its defaults and what was given over them. The texts in it last as
 * long as @self. */
void cli_fill(const Arguments *self, const IfmOption *table, gpointer options);
/* Values by option name (which must be in the verb's table). */
gboolean cli_given(const Arguments *self, const char *name);
const char *cli_text(const Arguments *self, const char *name);         /* NULL where there is neither value nor fallback */
const char *const *cli_texts(const Arguments *self, const char *name); /* NULL-terminated */
gint64 cli_integer(const Arguments *self, const char *name);           /* count, ns or bytes; 0 where there is none */
/* cli_positional: NULL-terminated. */
const char *const *cli_positional(const Arguments *self);
const Verb *cli_verb_of(const Arguments *self);
/* cli_rows: cli_options() of its verb. (transfer none) */
const IfmOption *const *cli_rows(const Arguments *self);
/* cli_command_line: (transfer full) what was typed, as a shell takes it; NULL where no shell could take it and a word is
 * left out. @without: that word, or NULL */
char *cli_command_line(const Arguments *self, const char *without);

/* --- help.c, completion.c --------------------------------------------------------------------------------------------- */

/* cli_help: set for the screen of standard output. (transfer full) */
char *cli_help_overview(void);
char *cli_help_verb(const Verb *verb);
char *cli_help_group(const char *group);
char *cli_man_page(void);
/* cli_help_json: (transfer full) all verbs with their arguments and options: docs/formats.md, "The verbs" */
json_t *cli_help_json(void);
/* cli_completion_devices: device names that a shell may offer, a line each, found without opening a vendor's runtime. */
char *cli_completion_devices(void);
char *cli_completion_bash(void);
char *cli_completion_fish(void);
char *cli_completion_zsh(void);

/* --- terminal.c --- */

/* cli_complain: "inferometer: …" on one line of standard error. */
void cli_complain(const char *format, ...) G_GNUC_PRINTF(1, 2);
/* cli_complain_alike: of lines that differ in their numbers alone the first, with how many more there are. @lines:
 * NULL-terminated */
void cli_complain_alike(const char *const *lines);
/* cli_note: the same for what is no error; silenced by --quiet. */
void cli_note(const char *format, ...) G_GNUC_PRINTF(1, 2);
/* cli_note_of: cli_note() of a message, once however often it comes. @user: not used */
void cli_note_of(const char *message, void *user);
/* cli_set_verb: the verb that messages name. cli_set_messages: @quiet: no notes    @json: an object a line (--progress
 * json) */
void cli_set_verb(const Verb *verb);
void cli_set_messages(gboolean quiet, gboolean json);
/* cli_say_json: An object on one line of standard error. @line: (transfer full) */
void cli_say_json(json_t *line);
/* cli_fail: complains and returns the exit status of that error; one of usage points to the verb's help. */
int cli_fail(const GError *error);
/* cli_status_of: the exit status of an error of that code. */
int cli_status_of(IfmErrorCode code);
/* cli_usage: complains, points to the verb's help, returns CLI_EXIT_USAGE. */
int cli_usage(const char *format, ...) G_GNUC_PRINTF(1, 2);
/* cli_print: text to standard output. Returns: 0 or the exit status of the failure, which was reported. */
int cli_print(const char *text);
/* cli_write, cli_write_json: text or JSON to a file or "-"; as above. */
int cli_write(const char *path, const char *text);
int cli_write_json(const char *path, const json_t *json);

/* --- log.c ------------------------------------------------------------------------------------------------------------ */

/* cli_log_open: The file of --log, where it was given. @words: of the command line    Returns: CLI_EXIT_OK or the exit
 * status of what was reported. */
int cli_log_open(const Arguments *arguments, const char *const *words);
/* cli_log: a line "TIME LEVEL text" of that file; nothing without one. @level: "INFO", "NOTE" or "ERROR" */
void cli_log(const char *level, const char *format, ...) G_GNUC_PRINTF(2, 3);
void cli_log_close(int status);

/* --- outputs.c -------------------------------------------------------------------------------------------------------- */

/* cli_can_write: whether an output file could be made, asked before the work begins. */
gboolean cli_can_write(const char *path, GError **error);
/* cli_check_links: that no file which an option names to be written is a symbolic link to one. Returns: CLI_EXIT_OK or the
 * exit status of what was reported. */
int cli_check_links(const Arguments *arguments);
/* cli_check_outputs: Whether each file that an option names to be written could be made, is neither a file that the command
 * line reads, a store nor another of them, and one of them at most goes to standard output. @is_log: that of --log alone,
 * or all the others. Returns: CLI_EXIT_OK or the exit status of what was reported. */
int cli_check_outputs(const Arguments *arguments, gboolean is_log);
/* cli_to_stdout: whether one of them goes to standard output, where no page is printed then. */
gboolean cli_to_stdout(const Arguments *arguments);
/* cli_check_model_kept: That none of them is a file that the model was read from, its weights included. Returns: FALSE with
 * IFM_ERROR_USAGE. */
gboolean cli_check_model_kept(const Arguments *arguments, const IfmModel *model, GError **error);

/* --- answer.c --------------------------------------------------------------------------------------------------------- */

/* cli_page_options: --html, --figures and --document, for the tables of a verb that shows documents; of one that has no
 * page cli_document_options: --document alone. cli_json_options: --json, of the same. */
extern const IfmOption cli_page_options[], cli_document_options[], cli_json_options[];

/* Answer: what a verb found. cli_answer() takes all of it over. */
typedef struct
{
    IfmDocument *document;
    GPtrArray *documents; /* IfmDocument*, instead of one, below each other; NULL */
    const char *key;      /* of the table that --json and --csv are of; NULL: all of the documents */
    json_t *json;         /* for --json, where it is not that; NULL */
    char *csv;            /* for --csv; NULL */
    char *text;           /* for the terminal, where it shows something else than the documents; NULL */
    guint n_shown;        /* of documents, those first that a terminal shows; 0: all */
    int status;           /* of files of its own that the verb wrote; where they failed, no page follows */
    gboolean whole;       /* a result has more than 40 lines on a terminal even without --all */
} Answer;

/* cli_answer: Writes what the options of the verb ask for: --json, --csv, --document, --html, --figures; then shows the
 * rest on the terminal, unless one of the verb's files goes there. Returns: CLI_EXIT_OK or the exit status of what was
 * reported. */
int cli_answer(const Arguments *arguments, Answer answer);
/* cli_wants: whether that output was asked for, of a verb that need not have it. */
gboolean cli_wants(const Arguments *arguments, const char *output);
/* cli_screen: of standard output. */
IfmScreen cli_screen(void);
/* cli_documents_new: (transfer full) of IfmDocument*. */
GPtrArray *cli_documents_new(void);
/* cli_add_timeline: a document of that figure, where a page or pictures were asked for.
 * @documents: IfmDocument*    @traces, @question: as ifm_timeline_document() has them */
void cli_add_timeline(const Arguments *arguments, GPtrArray *documents, const IfmTrace *const *traces, gsize n_traces,
                      const IfmTraceQuestion *question);

/* --- models.c --------------------------------------------------------------------------------------------------------- */

/* cli_open_each: Kernels of all models of the command line, with progress. (transfer full) IfmKernelRecords*; NULL with
 * *status set, reported. @options: without what the command has for all    cli_is_none: whether there is one, and it could
 * not be opened: no page says it    cli_end_each: Complains of what could not be opened. @status: so far
 * Returns: the exit status: that of the first error where nothing was opened, CLI_EXIT_FAILED where something was not. */
GPtrArray *cli_open_each(const Arguments *arguments, const IfmKernelOptions *options, int *status);
gboolean cli_is_none(const GPtrArray *records);
/* cli_kernel_options: of verbs that take models apart; cli_open_kernels: cli_open_each() with them. */
extern const IfmOption cli_kernel_options[];
GPtrArray *cli_open_kernels(const Arguments *arguments, int *status);
int cli_end_each(const GPtrArray *records, int status);

/* --- interrupt.c ------------------------------------------------------------------------------------------------------ */

/* cli_interrupt_install: From now on SIGINT, SIGTERM and SIGHUP set the flag, as does the end of the process that the
 * variable IFM_PARENT names; a second one ends the program at once. */
const gint *cli_interrupt_install(void);
/* cli_interrupt_signal: the signal that came, 0 where none did. */
int cli_interrupt_signal(void);

/* --- keep.c: what verbs measure case by case is kept, as a profile is ------------------------------------------------- */

typedef struct
{
    const Arguments *arguments;
    IfmStore *store;
    IfmCampaign *campaign; /* NULL: not open yet */
    struct Progress *progress;
    gsize n_cases;            /* that it will ask for; 0: not known */
    gint64 each_ns, ended_us; /* what cases took so far, and when the last one ended */
} Keep;

/* keep_open: opens the store of the options KEEP_ROWS. FALSE with the store's error. */
gboolean keep_open(Keep *keep, GError **error);
/* keep_ask: an IfmMeasureFunction; opens what is not open yet. @user: the Keep */
IfmMeasurement *keep_ask(const char *title, const IfmCaseKind *kind, const void *spec, void *user, GError **error);
void keep_clear(Keep *keep);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Keep, keep_clear)

#define KEEP_ROWS(folder)                                                                                                  \
    { "output", IFM_OPTION_FOLDER, "DIR", "folder of the store (store.db), which keeps each measurement",                  \
      folder,   .letter = 'o' },                                                                                           \
    {                                                                                                                      \
        "resume", IFM_OPTION_FLAG, NULL, "do not measure again what the store holds already"                               \
    }

/* --- progress.c ------------------------------------------------------------------------------------------------------- */

/* Progress: one line on a terminal, a line every few seconds in a log, an object for each change with --progress json,
 * nothing with --quiet; on standard error. cli_progress_options: --progress, for the tables of a verb that shows it. */
extern const IfmOption cli_progress_options[];
typedef struct Progress Progress;
Progress *progress_new(const Arguments *arguments);
/* progress_new_brief: of what mostly takes less than that: a log has no line of what ended before. */
Progress *progress_new_brief(const Arguments *arguments);
void progress_free(Progress *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Progress, progress_free)
/* progress_of: Shows it; what ended has its line taken away, and in a log the outcome. @user: the Progress */
void progress_of(const IfmProgress *now, void *user);
/* progress_watch: Notes and progress on the terminal, of models that no output of the command replaces. Borrows @self. */
IfmProfileWatch progress_watch(Progress *self);
/* progress_study: of a study's many cases: in a log a line every few seconds, and one for each kind of failure. */
void progress_study(Progress *self, const IfmCampaignProgress *progress, const IfmMeasurement *ended);
/* progress_study_end: Takes the line away. */
void progress_study_end(Progress *self);

G_END_DECLS
