/* Tables of options: how they are listed, parsed from text and stored in a struct. */
#pragma once
#include <inferometer/common.h>

IFM_BEGIN_DECLS

/**
 * Options: each capability has a struct of options and one table of rows. The table gives the parsing of the command line,
 * --help, the manual page, completion, the defaults and the checks. A program fills the same struct itself:
 *
 *     IfmRunOptions options;
 *     ifm_options_init(ifm_run_options, &options);
 *     options.repetitions = 5;
 *     set = ifm_run_set_new(&options, &error);
 *
 * The struct owns nothing. Its texts and lists belong to the caller, who keeps them while the struct is in use; defaults
 * are static. A struct may be copied by assignment.
 */

/** IfmOptionKind: the kind of a value, and its type in the struct. */
typedef enum
{
    IFM_OPTION_FLAG,     /* gboolean */
    IFM_OPTION_TEXT,     /* const char *; with choices, one of them */
    IFM_OPTION_FILE,     /* const char *; completed with file names */
    IFM_OPTION_OUTPUT,   /* const char *; a file that is written, or "-"; completed with file names */
    IFM_OPTION_FOLDER,   /* const char *; completed with folder names */
    IFM_OPTION_CHOICE,   /* int (an enum): the index of one of the choices */
    IFM_OPTION_COUNT,    /* gint64: a whole number, 0 or more */
    IFM_OPTION_DURATION, /* gint64, ns: 500ms, 20s, 5min, 1h */
    IFM_OPTION_BYTES,    /* gint64: 512MiB, 2GiB */
    IFM_OPTION_RATIO,    /* double: 1% or 0.01 is 0.01 */
} IfmOptionKind;

/** IFM_OPTION_UNSET: a number, choice or ratio that is not given and has no default. A text or list is NULL then. */
#define IFM_OPTION_UNSET (-1)

/** IfmOption: one row of a table. The last row has neither name nor table. A row without a name stands for all rows of
 * @table; their struct is the member at @at. */
typedef struct IfmOption IfmOption;
struct IfmOption
{
    const char *name; /* "time-budget" */
    IfmOptionKind kind;
    const char *argument; /* the name of the value in --help; NULL for flags */
    const char *help;
    const char *fallback;       /* the default as a user would write it, or NULL */
    const char *const *choices; /* the only values allowed, NULL-terminated, or NULL */
    char letter;                /* 'o', or 0 */
    gboolean
        repeatable; /* for texts, files and folders: the struct holds a const char *const *, NULL-terminated, or NULL */
    gint64 minimum, maximum; /* for a count; maximum 0: no upper bound. For a ratio: minimum 1: above 0 */
    const char *after;       /* in a list of several tables, the row that this one follows: see ifm_options_list() */
    gboolean deferred; /* the default is only shown in --help: the struct starts unset, and its reader supplies the value.
                        * Defaults of repeatable rows are always deferred. */
    gboolean is_list;  /* entries joined by commas, none of them empty; with choices each is one of them */
    const char *excludes; /* names of the options that it is not given with, joined by commas; "!NAMES": all but these */
    gsize at;             /* G_STRUCT_OFFSET() of the value */
    const IfmOption *table;
};

/** IfmOptionValue: a value as parsed. */
typedef struct
{
    const char *text; /* (transfer none) the parsed text; NULL for a flag */
    gint64 integer;   /* for a count, duration, size or choice; 1 for a flag */
    double ratio;
} IfmOptionValue;

/** ifm_option_is_path: Whether its value names a file or a folder. */
gboolean ifm_option_is_path(const IfmOption *option);

/**
 * ifm_option_parse: Parses one value.
 * @text: (nullable) NULL where no value is given, which only a flag accepts
 * Returns: FALSE with IFM_ERROR_USAGE and one line: "--runs: "x" is not a whole number from 1 to 100".
 */
gboolean ifm_option_parse(const IfmOption *option, const char *text, IfmOptionValue *value, GError **error);

/** ifm_option_excludes: Whether the two are not given together, by the row of either. */
gboolean ifm_option_excludes(const IfmOption *a, const IfmOption *b);

/**
 * ifm_options_check_together: Whether no two of the rows exclude each other.
 * @given: NULL-terminated, rows of options that were given
 * Returns: FALSE with IFM_ERROR_USAGE: "--runs and --ci: one of them, not both".
 */
gboolean ifm_options_check_together(const IfmOption *const *given, GError **error);

/** ifm_option_store: Stores the value of a row that is not repeatable in the struct @options. */
void ifm_option_store(const IfmOption *option, const IfmOptionValue *value, gpointer options);

/** ifm_option_store_texts: Stores the texts of a repeatable row in the struct @options. @texts: NULL-terminated, borrowed;
 * or NULL */
void ifm_option_store_texts(const IfmOption *option, const char *const *texts, gpointer options);

/**
 * ifm_options_list: The rows of several tables as one list, one table after the other. A row with `after` follows the row
 * of that name. A row without it follows the previous row of its own table.
 * @tables: NULL-terminated
 * Returns: (transfer container) NULL-terminated; free it with g_free()
 */
const IfmOption **ifm_options_list(const IfmOption *const *tables);

/**
 * ifm_options_find: The row with a name or alias.
 * @list: as ifm_options_list() returns it    @name: without "--"
 * Returns: (transfer none) NULL with IFM_ERROR_USAGE, which names the nearest option.
 */
const IfmOption *ifm_options_find(const IfmOption *const *list, const char *name, GError **error);

/** ifm_options_init: Fills a struct with the defaults of its table. */
void ifm_options_init(const IfmOption *table, gpointer options);

IFM_END_DECLS
