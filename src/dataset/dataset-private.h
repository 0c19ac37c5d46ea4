#pragma once
#include <dataset/dataset.h>

G_BEGIN_DECLS

/** ifm_graph_new: A single graph without attributes. The caller fills in the edges.
 * @name: (transfer full), also on an error
 * Returns: (transfer full) NULL with IFM_ERROR_INVALID beyond the limits, or IFM_ERROR_MEMORY. */
IfmGraph *ifm_graph_new(char *name, gint64 n_nodes, gint64 n_edges, GError **error);
/** ifm_graph_new_like: with room for values where @of has them. */
IfmGraph *ifm_graph_new_like(const IfmGraph *of, char *name, gint64 n_nodes, gint64 n_edges, GError **error);
/** ifm_graph_check_counts: IFM_ERROR_INVALID beyond the limits. */
gboolean ifm_graph_check_counts(const char *name, gint64 n_nodes, gint64 n_edges, GError **error);
/** ifm_graph_allocate: Memory for [n] elements of @size bytes. @n may be 0. Returns: NULL with IFM_ERROR_MEMORY. */
void *ifm_graph_allocate(gint64 n, gsize size, GError **error);
/** ifm_graph_memory_error: Sets IFM_ERROR_MEMORY for an array of [n] elements of @size bytes. Returns: NULL. */
void *ifm_graph_memory_error(gint64 n, gsize size, GError **error);

/**
 * IfmText: a reader of a text file by lines and fields. Blanks, tabs and commas separate fields. Blank lines and comments
 * are skipped, but count as lines.
 */
typedef struct
{
    const char *name;     /* the file name for messages; borrowed */
    const char *comments; /* the characters that begin a comment; "" for none */
    const char *next, *end;
    const char *field, *line_end; /* the rest of the current line */
    gsize line;                   /* its number, from 1; 0 before the first */
} IfmText;

typedef struct
{
    const char *start;
    gsize length;
} IfmTextField;

void ifm_text_init(IfmText *text, const char *name, const char *bytes, gsize length, const char *comments);
/** ifm_text_raw_line: Reads the next line, also a blank one or a comment. FALSE at the end. */
gboolean ifm_text_raw_line(IfmText *text);
/** ifm_text_line: Reads the next line with fields. FALSE at the end; the last line stays the current one. */
gboolean ifm_text_line(IfmText *text);
/** ifm_text_count: The number of following lines with fields. @text does not move. */
gint64 ifm_text_count(const IfmText *text);
/** ifm_text_field: Reads the next field of the line. FALSE at its end. */
gboolean ifm_text_field(IfmText *text, IfmTextField *field);
/** ifm_text_word: Reads the next field if it is @word, ignoring case. FALSE for any other field. */
gboolean ifm_text_word(IfmText *text, const char *word);

/** ifm_text_fail: "NAME:LINE: ..." as IFM_ERROR_INVALID. Returns: FALSE. */
gboolean ifm_text_fail(const IfmText *text, GError **error, const char *format, ...) G_GNUC_PRINTF(3, 4);
/** ifm_text_count_field: Reads a whole number from 0 to @max. @what: its name for messages: "the number of nodes" */
gboolean ifm_text_count_field(IfmText *text, const char *what, gint64 max, gint64 *value, GError **error);
/** ifm_text_node_field: Reads a node number from @first to @first + @n_nodes - 1. @node: (out) counted from 0 */
gboolean ifm_text_node_field(IfmText *text, const char *what, gint64 first, gint64 n_nodes, gint64 *node, GError **error);
/** ifm_text_number_field: Reads a finite number within the range of float. */
gboolean ifm_text_number_field(IfmText *text, const char *what, float *value, GError **error);
/** ifm_text_no_more: Whether the line ends here. FALSE with an error where it has another field. */
gboolean ifm_text_no_more(IfmText *text, const char *after, GError **error);

/** The parsers. @bytes: [length]    @name: the file name for messages    @graph_name: the name of the graph. (transfer
 * full) */
IfmGraph *ifm_edge_list_parse(const char *bytes, gsize length, const char *name, const char *graph_name, GError **error);
IfmGraph *ifm_matrix_market_parse(const char *bytes, gsize length, const char *name, const char *graph_name,
                                  GError **error);
/** IfmWatch: calls an IfmEncodingWatch after a fixed amount of work.
 * @call: (nullable)    @work: approximate count of processed numbers since the last call */
typedef struct
{
    IfmEncodingWatch call;
    void *user;
    double done_ratio;
    gint64 work;
} IfmWatch;
/** ifm_watch_goes_on: Call it after each step. @work: of the step. FALSE with IFM_ERROR_CANCELLED. */
gboolean ifm_watch_goes_on(IfmWatch *watch, gint64 work, GError **error);

/** ifm_encoding_new: Checks @dim and the graph. Returns: (transfer full) an encoding with unset values; NULL with an error.
 */
IfmEncoding *ifm_encoding_new(const IfmGraph *graph, gint64 dim, GError **error);

#define IFM_MATRIX_MARKET_HEAD "%%MatrixMarket"

typedef enum
{
    IFM_TU_EDGES,
    IFM_TU_GRAPHS,
    IFM_TU_NODE_VALUES,
    IFM_TU_EDGE_VALUES,
    IFM_TU_NODE_LABELS,
    IFM_TU_EDGE_LABELS,
    IFM_TU_GRAPH_VALUES,
    IFM_TU_GRAPH_LABELS,
    IFM_TU_N_FILES,
} IfmTuFile;

/** ifm_tudataset_read: Reads a folder. ifm_tudataset_parse: Reads files in memory. @bytes, @lengths, @names:
 * [IFM_TU_N_FILES]; NULL for an optional file that is missing. (transfer full) */
IfmGraph *ifm_tudataset_read(const char *folder, GError **error);
IfmGraph *ifm_tudataset_parse(const char *const *bytes, const gsize *lengths, const char *const *names,
                              const char *graph_name, GError **error);

G_END_DECLS
