/* What every part of the library uses: errors, clocks, texts of quantities, statistics, data types. */
#pragma once
#include <glib.h>

/**
 * IFM_BEGIN_DECLS, IFM_END_DECLS: Around the declarations of a public header: what stands between them is exported by the
 * library, and nothing else is (it is built with hidden visibility).
 */
#define IFM_BEGIN_DECLS                                                                                                    \
    G_BEGIN_DECLS                                                                                                          \
    _Pragma("GCC visibility push(default)")
#define IFM_END_DECLS _Pragma("GCC visibility pop") G_END_DECLS

IFM_BEGIN_DECLS

/* --- errors -------------------------------------------------------------------------------------------------------- */

/** The one error domain. The message names the file, the place in it, what was found and what would be right. */
#define IFM_ERROR (ifm_error_quark())
GQuark ifm_error_quark(void);

/**
 * IfmErrorCode: the kind of error, for callers that act on it.
 * The command exits with ifm_error_exit_status(). Stores and exports hold the names of ifm_error_code_name().
 */
typedef enum
{
    IFM_ERROR_INVALID = 1, /* "invalid": the input is wrong */
    IFM_ERROR_UNSUPPORTED, /* "unsupported": the input is right, but this device or build cannot do it (a model refused) */
    IFM_ERROR_UNAVAILABLE, /* "unavailable": a runtime, device, file system or permission is missing */
    IFM_ERROR_FAILED,      /* "failed": the attempt went wrong (crash, wrong output) */
    IFM_ERROR_TIMEOUT,     /* "timeout": the attempt did not end within its time limit (hang) */
    IFM_ERROR_CORRUPT,     /* "corrupt": stored data differ from what was written */
    IFM_ERROR_LOST,        /* "lost": the device is unavailable until a probe answers correctly */
    IFM_ERROR_MEMORY,      /* "memory": out of memory on host or device, or past the memory limit */
    IFM_ERROR_CANCELLED,   /* "cancelled": the caller or the user asked for a stop */
    IFM_ERROR_USAGE,       /* "usage": an option's value is wrong, or options do not go together */
} IfmErrorCode;

/** ifm_error_code_name: Returns: the stable lower-case name of the code; "failed" for an unknown code. */
const char *ifm_error_code_name(int code);

/** ifm_error_code_from_name: Returns: the code of that name; IFM_ERROR_FAILED for NULL and for an unknown name. */
IfmErrorCode ifm_error_code_from_name(const char *name);

/** ifm_error_exit_status: Returns: 2 for usage, 3 for invalid and corrupt, 4 for unavailable, 1 for every other code and
 * domain. */
int ifm_error_exit_status(const GError *error);

/** ifm_error_set: Sets an error of IFM_ERROR. Returns: FALSE, so that a check can return the call. */
gboolean ifm_error_set(GError **error, IfmErrorCode code, const char *format, ...) G_GNUC_PRINTF(3, 4);
/** ifm_error_refuse: ifm_error_set() with IFM_ERROR_INVALID. */
#define ifm_error_refuse(error, ...) ifm_error_set(error, IFM_ERROR_INVALID, __VA_ARGS__)

/** ifm_error_misuse: ifm_error_set() with IFM_ERROR_USAGE. The message begins with the option: "--runs and --ci: …". */
#define ifm_error_misuse(error, ...) ifm_error_set(error, IFM_ERROR_USAGE, __VA_ARGS__)

#ifdef __clang_analyzer__ /* which does not look into another file: it returns FALSE */
#define ifm_error_set(...) ((void)(ifm_error_set)(__VA_ARGS__), FALSE)
#endif

/** ifm_error_blame_sizes: Makes IFM_ERROR_MEMORY an IFM_ERROR_INVALID: there was no memory while an input was prepared,
 * so the sizes that were asked for are too large. @error: (nullable) */
void ifm_error_blame_sizes(GError *error);

/* --- clocks -------------------------------------------------------------------------------------------------------- */

/**
 * IfmClock: the only source of time, and the owner of every wait.
 *
 * A real clock reads CLOCK_MONOTONIC. A virtual clock stands still while a registered thread runs. It jumps to the
 * earliest deadline when all registered threads wait. So a simulation takes no real time, and its times are deterministic.
 * A thread is registered with ifm_clock_enter() before it uses a virtual clock. It is unregistered with ifm_clock_leave()
 * before it ends, and before it blocks on anything but the clock. On a real clock both calls do nothing.
 */
typedef struct IfmClock IfmClock;

IfmClock *ifm_clock_new_real(void);

/** ifm_clock_new_virtual: @start_ns: the first value of ifm_clock_now_ns(). */
IfmClock *ifm_clock_new_virtual(gint64 start_ns);

void ifm_clock_unref(IfmClock *clock);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmClock, ifm_clock_unref)

/* --- texts of quantities ------------------------------------------------------------------------------------------- */

/** ifm_format_duration: "1.234 ms": four significant digits and the largest unit of ns, us, ms, s with a value of at
 * least 1. "0" for 0; "-" for NaN and infinity. (transfer full) */
char *ifm_format_duration(double ns);

/** ifm_is_precision: Whether half an interval, over the value that it is of, says how well that is known: not where it is
 * as large as the value, or not finite. */
gboolean ifm_is_precision(double half_ratio);

/** ifm_format_ratio: 0.0123 gives "1.23 %". (transfer full) */
char *ifm_format_ratio(double ratio);

/** ifm_format_clean: Makes text from outside harmless on a terminal: control characters become \xHH, invalid UTF-8 is
 * replaced. (transfer full) */
char *ifm_format_clean(const char *text);

/** ifm_format_mask: A message with each number blanked: the same message of other sizes reads the same. (transfer full) */
char *ifm_format_mask(const char *text);

/** ifm_format_spelt: ifm_format_clean(), in ASCII unless @utf8. (transfer full) */
char *ifm_format_spelt(const char *text, gboolean utf8);

/** ifm_text_width: The number of columns that a UTF-8 text takes on a terminal. */
int ifm_text_width(const char *text);

/** ifm_format_wrap: Appends @text and a newline. Breaks it at blanks into lines of at most @width columns, a word that no
 * line holds at its commas; colour codes take no column. @indent: blanks before each line but the first    @at: the column
 * at which the first line begins */
void ifm_format_wrap(GString *out, const char *text, int indent, int at, int width);

/* --- statistics ---------------------------------------------------------------------------------------------------- */

/** IfmInterval: a confidence interval. Both ends are NaN where the data do not allow one. */
typedef struct
{
    double lower, upper, level;
} IfmInterval;

/**
 * IfmSummary: statistics of n samples of one quantity, in the unit of the samples (ns for latencies).
 * A quantile p is NaN with fewer samples than the smallest n with 1 - p^n >= level: no sample is then an upper bound of it.
 */
typedef struct
{
    gsize n;
    double mean, std, min, max; /* std with n - 1 */
    double median, p90, p95, p99;
    IfmInterval median_interval; /* distribution-free, widened by autocorrelation */
    double n_effective;          /* for the median: ifm_median_effective_size() */
    double drift_ratio; /* change from first to last sample / median, of a fall / the level that it fell from, if that is
                         * more; see ifm_drift_test(): -0.2 is a fall by a fifth, and -1 the least */
    double drift_p;     /* two-sided p of "no drift", corrected for autocorrelation; NaN below 8 samples */
    gboolean drifting;  /* flagged: drift_p < 0.001 and |drift_ratio| > 1 %, or < 0.01 and > 10 % */
    gsize n_outliers;   /* beyond median +- 5 robust sigmas (1.4826 MAD); never removed */
} IfmSummary;

/* --- data types ---------------------------------------------------------------------------------------------------- */

/** IfmDtype: element types; the values are ONNX's TensorProto.DataType. */
typedef enum
{
    IFM_DTYPE_UNDEFINED = 0,
    IFM_DTYPE_F32 = 1,
    IFM_DTYPE_U8 = 2,
    IFM_DTYPE_I8 = 3,
    IFM_DTYPE_U16 = 4,
    IFM_DTYPE_I16 = 5,
    IFM_DTYPE_I32 = 6,
    IFM_DTYPE_I64 = 7,
    IFM_DTYPE_STRING = 8,
    IFM_DTYPE_BOOL = 9,
    IFM_DTYPE_F16 = 10,
    IFM_DTYPE_F64 = 11,
    IFM_DTYPE_U32 = 12,
    IFM_DTYPE_U64 = 13,
    IFM_DTYPE_BF16 = 16,
    IFM_DTYPE_F8E4M3FN = 17,
    IFM_DTYPE_F8E4M3FNUZ = 18,
    IFM_DTYPE_F8E5M2 = 19,
    IFM_DTYPE_F8E5M2FNUZ = 20,
    /* of less than a byte: packed, the first in the lowest bits; strides are 0, and no element is read by itself */
    IFM_DTYPE_U4 = 21,
    IFM_DTYPE_I4 = 22,
    IFM_DTYPE_F4E2M1 = 23,
    IFM_DTYPE_F8E8M0 = 24,
    IFM_DTYPE_U2 = 25,
    IFM_DTYPE_I2 = 26,
} IfmDtype;

/* --- where a value was looked up ----------------------------------------------------------------------------------- */

/** IfmGridOrigin: the source of a looked-up value: the worst of the nested steps. */
typedef enum
{
    IFM_GRID_EXACT,        /* the value of a point */
    IFM_GRID_INTERPOLATED, /* between points on at least one axis, exact on the others */
    IFM_GRID_OUTSIDE,      /* clamped or extrapolated on at least one axis */
} IfmGridOrigin;

/* --- tables of fields ---------------------------------------------------------------------------------------------- */

typedef enum
{
    IFM_RECORD_TEXT,   /* char *: owned by the struct, never NULL */
    IFM_RECORD_NAME,   /* const char *: NULL is written as null */
    IFM_RECORD_PATH,   /* const char *: as NAME, of bytes that need not be UTF-8 */
    IFM_RECORD_WORDS,  /* const char *const *: NULL-terminated; NULL is written as an empty list */
    IFM_RECORD_FLAG,   /* gboolean */
    IFM_RECORD_INT,    /* int */
    IFM_RECORD_INT64,  /* gint64 */
    IFM_RECORD_UINT32, /* guint32 */
    IFM_RECORD_SIZE,   /* gsize; a negative number is read as 0 */
    IFM_RECORD_DOUBLE, /* double; -0 is written as 0 */
    IFM_RECORD_DTYPE,  /* IfmDtype, by its name */
    IFM_RECORD_CHOICE, /* an enumeration, by one of @words */
    IFM_RECORD_JSON,   /* json_t *: an object; NULL is written as null */
    IFM_RECORD_JSONS,  /* const json_t *const *: [@count] */
    IFM_RECORD_TEXTS,  /* GPtrArray * of char *: owned by the struct, never NULL */
    IFM_RECORD_SERIES, /* GArray * of gint64: owned by the struct, never NULL */
    IFM_RECORD_PART,   /* a nested struct with @fields */
    IFM_RECORD_MAYBE,  /* as PART where the gboolean at @count is TRUE; else null */
    IFM_RECORD_PARTS,  /* const STRUCT *: [@count], each with @fields and of @size; never NULL */
    IFM_RECORD_ROWS,   /* GPtrArray * of pointers to such structs: owned by the struct, never NULL; @free frees one, or its
                          table does */
    IFM_RECORD_STRING, /* char *: owned by the struct; NULL is written as null, and what a missing key of a file is */
    /* in files of YAML alone */
    IFM_RECORD_PLACE,    /* IfmPlace: no key; the first row of a table that has one */
    IFM_RECORD_DURATION, /* gint64, ns: "1.5 ms" */
    IFM_RECORD_RATIO,    /* double: 0.01 or 1% */
    IFM_RECORD_NUMBERS,  /* GArray * of double: owned by the struct, never NULL */
    IFM_RECORD_CHOICES,  /* GArray * of int, each as CHOICE: owned by the struct, never NULL */
    IFM_RECORD_MAP,      /* STRUCT *: owned by the struct; NULL where the key is missing */
    IFM_RECORD_NAMED, /* GPtrArray * of such structs, each under a name of its own: in the order of the file, never NULL */
    IFM_RECORD_SCALARS, /* GPtrArray * of IfmScalar *, of type @element, each under a name of its own; never NULL */
    IFM_N_RECORD_TYPES,
} IfmRecordType;

/**
 * IfmRecordField: one field. A table ends with a row without a name. A row begins with IFM_RECORD(TYPE, STRUCT, member),
 * which sets @name, @offset and @type; IFM_FIELD(TYPE, STRUCT, member, ...) is a whole row.
 */
typedef struct IfmRecordField IfmRecordField;
struct IfmRecordField
{
    const char *name; /* in JSON and YAML */
    gsize offset;
    IfmRecordType type;
    gsize count; /* offset of a gsize; for MAYBE of a gboolean */
    const IfmRecordField *fields;
    gsize size;
    GDestroyNotify free;
    const char *const *words; /* NULL-terminated */
    gboolean optional;        /* may be missing in JSON: the member stays unchanged */
    gboolean sparse;          /* … and is left out of it where it is 0, FALSE, NULL or an empty list */
    /* the name of the field in the key of a case; NULL: it is not part of the key. @counts: (optional) whether it is part
     * of the key of this struct; @unless_zero: it is left out of the key where it is 0, FALSE, NULL or an empty list */
    const char *key;
    gboolean (*counts)(const void *self);
    gboolean unless_zero;
    /* its name in messages of ifm_record_check(), and its range; NULL: any number is valid. Of a file, also the range of
     * the numbers in a list (ns of durations) and of the length of any other list; 0, 0: no limit */
    const char *called;
    double min, max;
    /* of files of YAML: @filled: a list has an entry where its key is given    @fallback: the default of a scalar, as
     * written in a file; NULL: NULL, 0 or FALSE    @help: one sentence */
    IfmRecordType element;
    gboolean required, filled;
    const char *fallback, *help;
};

IFM_END_DECLS
