/* Shared with other rooms: files, folders, texts, clocks and names. */
#pragma once
#include <inferometer/common.h>

G_BEGIN_DECLS

/* --- clocks -------------------------------------------------------------------------------------------------------- */

IfmClock *ifm_clock_ref(IfmClock *clock);

gboolean ifm_clock_is_virtual(const IfmClock *clock);

/** ifm_clock_now_ns: Monotonic time in ns from an arbitrary origin. Takes no lock and allocates nothing. */
gint64 ifm_clock_now_ns(IfmClock *clock);

/** ifm_clock_enter / ifm_clock_leave: Registers / unregisters one running thread. */
void ifm_clock_enter(IfmClock *clock);
void ifm_clock_leave(IfmClock *clock);

/** ifm_clock_sleep_until_ns: Returns at or after @deadline_ns. On a real clock it spins for the last 80 us, for precision.
 */
void ifm_clock_sleep_until_ns(IfmClock *clock, gint64 deadline_ns);

/**
 * IfmCondition: a condition variable whose wait the clock owns. It has its own mutex.
 * Use: lock; while (!predicate) if (!ifm_condition_wait_until(...)) break; unlock.   And: lock; change; broadcast; unlock.
 */
typedef struct IfmCondition IfmCondition;

#define IFM_CLOCK_NEVER G_MAXINT64

/* Conditions that wait on a clock. */

IfmCondition *ifm_condition_new(IfmClock *clock);

void ifm_condition_free(IfmCondition *condition);

void ifm_condition_lock(IfmCondition *condition);

void ifm_condition_unlock(IfmCondition *condition);

/** ifm_condition_broadcast: Wakes all waiters; the caller holds the lock. */
void ifm_condition_broadcast(IfmCondition *condition);

/**
 * ifm_condition_wait_until: Unlocks, waits for a broadcast or the deadline on the condition's clock, locks again.
 * @deadline_ns: IFM_CLOCK_NEVER: no deadline
 * Returns: FALSE once the deadline has passed. TRUE on a wake-up, which may be spurious: test the predicate.
 */
gboolean ifm_condition_wait_until(IfmCondition *condition, gint64 deadline_ns);

/* --- errors -------------------------------------------------------------------------------------------------------- */

/** ifm_error_prefix: As g_prefix_error(). Returns: FALSE. */
gboolean ifm_error_prefix(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);
#ifdef __clang_analyzer__
#define ifm_error_prefix(...) ((void)(ifm_error_prefix)(__VA_ARGS__), FALSE)
#endif
/** ifm_error_pass: Hands on what failed. @failure: (transfer full) (nullable) Returns: whether it is NULL. */
static inline gboolean ifm_error_pass(GError **error, GError *failure)
{
    if (failure != NULL)
        g_propagate_error(error, failure);
    return failure == NULL;
}
/** ifm_error_make_one_line: Makes a message that quotes a file one line of valid UTF-8. Control characters become '?'.
 * @error: (nullable) may point to NULL */
void ifm_error_make_one_line(GError **error);

/* --- files --------------------------------------------------------------------------------------------------------- */

/**
 * ifm_file_load: Reads a file into memory and adds a NUL after its bytes.
 * @bytes: (out) (transfer full)    @n_bytes: (out) the size without the NUL
 * Returns: FALSE with IFM_ERROR_UNAVAILABLE (no such file, a folder, no permission) or IFM_ERROR_INVALID (above 1 GiB).
 */
gboolean ifm_file_load(const char *path, char **bytes, gsize *n_bytes, GError **error);

/** ifm_file_check_link: Whether a file may be written at @path. Returns: FALSE with IFM_ERROR_UNAVAILABLE for a symbolic
 * link to a file, there or not; one to a device or a pipe (/dev/stdout) may be. */
gboolean ifm_file_check_link(const char *path, GError **error);

/**
 * ifm_file_save: Writes a file completely or not at all. The steps are: write a temporary file in the same folder, fsync,
 * rename, fsync of the folder. The temporary file has no name where the file system supports that, so a killed process
 * leaves nothing behind. Elsewhere its name is NAME.XXXXXXXX.tmp. A replaced file keeps its permissions. Nothing is written
 * through a symbolic link (see ifm_file_check_link()). Anything but a regular file (a pipe, /dev/null) is written to in
 * place.
 * @bytes: [n_bytes]
 * Returns: FALSE with IFM_ERROR_UNAVAILABLE (disk full, read-only, no such folder). @path is then unchanged.
 */
gboolean ifm_file_save(const char *path, const void *bytes, gsize n_bytes, GError **error);

/**
 * IfmFileWriter: ifm_file_save() in pieces, for content that is too large to hold in memory: open, write, commit.
 * A writer that is freed without a commit leaves @path unchanged. Errors are those of ifm_file_save().
 */
typedef struct IfmFileWriter IfmFileWriter;

/** ifm_file_writer_open: @durable: FALSE: without fsync, for files that need not survive a crash of the machine. (transfer
 * full) */
IfmFileWriter *ifm_file_writer_open(const char *path, gboolean durable, GError **error);
gboolean ifm_file_writer_write(IfmFileWriter *writer, const void *bytes, gsize n_bytes, GError **error);
gboolean ifm_file_writer_commit(IfmFileWriter *writer, GError **error);
void ifm_file_writer_free(IfmFileWriter *writer);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmFileWriter, ifm_file_writer_free)

/** ifm_file_make_folder: With those above it. Returns: FALSE with IFM_ERROR_UNAVAILABLE "PATH: cannot be made: …". */
gboolean ifm_file_make_folder(const char *path, GError **error);

/** ifm_file_remove_folder: A folder that this program made, with all that is in it; links are not followed. */
void ifm_file_remove_folder(const char *path);

/* --- texts of quantities ------------------------------------------------------------------------------------------- */

/* Numbers and text for people to read. Numbers have a point in every locale. */

/** ifm_number_of: A decimal number that is all of a text. Returns: NaN for any other text. */
double ifm_number_of(const char *text);

/** ifm_number_fixed: @value with @decimals digits after the point, then a blank and @unit. An empty @unit adds nothing.
 * (transfer full) */
char *ifm_number_fixed(double value, int decimals, const char *unit);

/** ifm_format_bytes: 2097152 gives "2.00 MiB". (transfer full) */
char *ifm_format_bytes(double bytes);

/** ifm_format_rate: 2097152 bytes/s gives "2.00", in MB/s. MB = 2^20 bytes, as in the published tables. (transfer full) */
char *ifm_format_rate(double bytes_per_s);

/** IFM_NO_BREAK: a blank at which ifm_format_wrap() does not break the line. */
#define IFM_NO_BREAK "\u00a0"

/** ifm_plural: "s" unless there is one. (transfer none) */
const char *ifm_plural(gsize n);

/** ifm_compare_texts: Orders an array of char * by their bytes, for qsort() and g_ptr_array_sort(). */
int ifm_compare_texts(gconstpointer a, gconstpointer b);

/** ifm_compare_int64: Orders an array of gint64, for qsort() and g_array_sort(). */
int ifm_compare_int64(gconstpointer a, gconstpointer b);

/* --- the nearest name ---------------------------------------------------------------------------------------------- */

/**
 * ifm_nearest: The candidate that a word with a typo most likely means.
 * Equals: the first candidate of minimum edit distance. Inserting, deleting, replacing and swapping two adjacent letters
 * cost 1 each; a change of case costs 0. A word of at least 3 letters that begins a candidate has distance 1.
 * @candidates: NULL-terminated, or NULL
 * Returns: (transfer none) an element of @candidates; NULL where every distance is above a third of the longer word's
 * length.
 */
const char *ifm_nearest(const char *word, const char *const *candidates);

/** ifm_word_index: Returns: which of @words it is; -1: none. @words: (nullable) NULL-terminated
 * @word: (nullable) none */
int ifm_word_index(const char *const *words, const char *word);

/**
 * ifm_nearest_hint: The result of ifm_nearest() as the end of an error message.
 * Returns: (transfer full) "; did you mean \"latency\"?", or "" where no candidate is near.
 */
char *ifm_nearest_hint(const char *word, const char *const *candidates);

/* --- paths --------------------------------------------------------------------------------------------------------- */

/**
 * Paths of the parts of an installation. Each function looks in this order: the environment variable that it names; for
 * what runs from its build folder, wherever that was moved, that folder and its sources; the layout of an installation,
 * relative to the running program (PREFIX/bin, PREFIX/libexec/inferometer) or to this library; for runtimes, the Python
 * packages beside a wheel's installation. What is installed never looks at its build folder. Programs and libraries that
 * anyone may write, or whose folder anyone may write, are not taken.
 */

/** ifm_path_data: A data file ($IFM_DATA_DIR). @relative: "devices/meteor-lake.yaml"
 * Returns: (transfer full) NULL with IFM_ERROR_UNAVAILABLE. */
char *ifm_path_data(const char *relative, GError **error);

/** ifm_path_beside: A path that a file names: relative to the folder of @file, or absolute. (transfer full) */
char *ifm_path_beside(const char *file, const char *path);

/** ifm_path_worker: The worker program ($IFM_WORKER). Returns: (transfer full) NULL with IFM_ERROR_UNAVAILABLE, also where
 * $IFM_WORKER names no program. */
char *ifm_path_worker(GError **error);

/** ifm_path_operators: The library that other programs load tuned models with. Returns: (transfer full) its bare name where
 * it is not found. */
char *ifm_path_operators(void);

/**
 * ifm_path_runtime: The shared library of a runtime.
 * @runtime: "onnxruntime" ($IFM_ONNXRUNTIME_LIBRARY), "openvino" ($IFM_OPENVINO_LIBRARY) or "cuda" ($IFM_CUDNN_LIBRARY:
 * cuDNN; the CUDA runtime, NVRTC and cuBLAS are looked for in its folder)
 * Returns: (transfer full) an absolute path; the bare file name where no file is found (the system's loader may find it).
 */
char *ifm_path_runtime(const char *runtime);

/** ifm_path_package: A library in a Python package: beside the package whose wheel brought this program, or in
 * PREFIX/lib/inferometer. @start: "openvino/libs/libopenvino_c.so.", which its version follows: the highest is taken
 * Returns: (transfer full) NULL where there is none. */
char *ifm_path_package(const char *start);

/** ifm_path_install: The command that brings a Python package with libraries to this installation: "pip install openvino".
 * (transfer full) */
char *ifm_path_install(const char *package);

/** ifm_path_runtime_variable: The environment variable that chooses the library. NULL for an engine without a library. */
const char *ifm_path_runtime_variable(const char *runtime);

/* --- temporary files ----------------------------------------------------------------------------------------------- */

/*
 * The one owner of temporary folders. Each is below the system's folder for them, 0700, and holds a lock as long as its
 * process lives. It goes with ifm_temporary_clear(); where its process was killed, at any moment, the next one that makes a
 * folder removes it; where the user asks twice for the end, ifm_temporary_abandon() does.
 */

/** IfmTemporary: a folder of a process's own. All zero: none yet. */
typedef struct
{
    char *path;
    int lock_fd; /* held on a file in it, so that a later process knows an orphan by its being free */
} IfmTemporary;

/** ifm_temporary_make: Makes it where it is not there yet, and removes those that killed processes left.
 * Returns: FALSE with IFM_ERROR_UNAVAILABLE. */
gboolean ifm_temporary_make(IfmTemporary *folder, GError **error);

/** ifm_temporary_clear: Removes it with all that is in it. */
void ifm_temporary_clear(IfmTemporary *folder);

/** ifm_temporary_abandon: Has another process remove all that this one still has. For a signal handler that ends this
 * process. */
void ifm_temporary_abandon(void);

G_END_DECLS
