#pragma once
#include <inferometer/dataset.h>

G_BEGIN_DECLS

/** ifm_graph_new: A graph of one part without attributes; the edges are the caller's to fill in.
 * @name: (transfer full)
 * Returns: NULL with IFM_ERROR_INVALID beyond the limits, IFM_ERROR_MEMORY. Both free @name. */
IfmGraph *ifm_graph_new(char *name, gint64 n_nodes, gint64 n_edges, GError **error);
/** ifm_graph_check_counts: IFM_ERROR_INVALID beyond the limits. */
gboolean ifm_graph_check_counts(const char *name, gint64 n_nodes, gint64 n_edges, GError **error);
/** ifm_graph_allocate: [n] of @size bytes each, never NULL for none; NULL with IFM_ERROR_MEMORY. */
void *ifm_graph_allocate(gint64 n, gsize size, GError **error);
/** ifm_graph_memory_error: IFM_ERROR_MEMORY for an array of so many. Returns: NULL. */
void *ifm_graph_memory_error(gint64 n, gsize size, GError **error);

/**
 * IfmText: a text file gone through line by line and field by field. Fields are parted by blanks, tabs and commas; lines
 * that are blank or begin with a comment mark are passed over, and counted as lines.
 */
typedef struct
{
    const char *name;     /* what messages call the file; borrowed */
    const char *comments; /* the characters that begin a comment; "" where there are none */
    const char *next, *end;
    const char *field, *line_end; /* the rest of the line at hand */
    gsize line;                   /* its number, from 1; 0 before the first */
} IfmText;

typedef struct
{
    const char *start;
    gsize length;
} IfmField;

void ifm_text_init(IfmText *text, const char *name, const char *bytes, gsize length, const char *comments);
/** ifm_text_raw_line: The next line, whatever it holds. FALSE at the end. */
gboolean ifm_text_raw_line(IfmText *text);
/** ifm_text_line: The next line with fields on it. FALSE at the end; the last line is then still at hand. */
gboolean ifm_text_line(IfmText *text);
/** ifm_text_count: lines with fields from here on. @text stays where it is. */
gint64 ifm_text_count(const IfmText *text);
/** ifm_text_field: The next field of the line. FALSE where it has no more. */
gboolean ifm_text_field(IfmText *text, IfmField *field);
/** ifm_text_word: whether the next field is @word, letter case apart; then it is taken. */
gboolean ifm_text_word(IfmText *text, const char *word);

/** ifm_text_fail: "NAME:LINE: ..." as IFM_ERROR_INVALID. Returns: FALSE. */
gboolean ifm_text_fail(const IfmText *text, GError **error, const char *format, ...) G_GNUC_PRINTF(3, 4);
/** ifm_text_count_field: The next field as a whole number from 0 to @most. @what: "the number of nodes" */
gboolean ifm_text_count_field(IfmText *text, const char *what, gint64 most, gint64 *value, GError **error);
/** ifm_text_node_field: The next field as a node, @first to @first + @n_nodes - 1. @node: (out) from 0 */
gboolean ifm_text_node_field(IfmText *text, const char *what, gint64 first, gint64 n_nodes, gint64 *node, GError **error);
/** ifm_text_number_field: The next field as a finite number that a float holds. */
gboolean ifm_text_number_field(IfmText *text, const char *what, float *value, GError **error);
/** ifm_text_no_more: FALSE with an error where the line has another field. */
gboolean ifm_text_no_more(IfmText *text, const char *after, GError **error);

/** The readers. @bytes is not changed; @name is used for messages, @graph_name for the graph. (transfer full) */
IfmGraph *ifm_edge_list_parse(const char *bytes, gsize length, const char *name, const char *graph_name, GError **error);
IfmGraph *ifm_matrix_market_parse(const char *bytes, gsize length, const char *name, const char *graph_name,
                                  GError **error);
/** IfmWatch: an IfmEncodingWatch that is asked each time so much has been done.
 * @call: NULL: nobody waits    @work: numbers touched, about, since it was asked */
typedef struct
{
    IfmEncodingWatch call;
    void *user;
    double done_ratio;
    gint64 work;
} IfmWatch;
/** ifm_watch_goes_on: To be asked after each step. @work: of the step. FALSE with IFM_ERROR_CANCELLED. */
gboolean ifm_watch_goes_on(IfmWatch *watch, gint64 work, GError **error);

/** ifm_encoding_new: An encoding without values; @dim and the graph are checked. */
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

/** ifm_tudataset_read: a folder. ifm_tudataset_parse: @bytes, @lengths, @names: [IFM_TU_N_FILES]; an optional file that
 * is not there is NULL. */
IfmGraph *ifm_tudataset_read(const char *folder, GError **error);
IfmGraph *ifm_tudataset_parse(const char *const *bytes, const gsize *lengths, const char *const *names,
                              const char *graph_name, GError **error);

G_END_DECLS
