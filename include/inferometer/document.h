/* Documents of text, tables and figures, and their forms: screen, JSON, CSV, HTML, SVG. */
#pragma once
#include <jansson.h>

#include <inferometer/store.h>

IFM_BEGIN_DECLS

/* --- tables of fields ---------------------------------------------------------------------------------------------- */

/** IfmFieldKind: what a field's values are; decides how each printer writes them. Exports are always in base units. */
typedef enum
{
    IFM_FIELD_TEXT,      /* screen: left-aligned, may be shortened with an ellipsis where the table does not fit */
    IFM_FIELD_BOOLEAN,   /* screen: yes, no */
    IFM_FIELD_INTEGER,   /* screen: right-aligned */
    IFM_FIELD_REAL,      /* screen: four significant digits */
    IFM_FIELD_DURATION,  /* ns; screen: four significant digits and their unit (ns, us, ms, s); 0 has none */
    IFM_FIELD_BYTES,     /* screen: B, KiB, MiB, GiB */
    IFM_FIELD_RATE,      /* bytes/s; screen: three significant digits in MB/s, MB = 2^20 bytes, which the title says */
    IFM_FIELD_RATIO,     /* 0.25; screen: 25.0 % */
    IFM_FIELD_BAR,       /* 0 to 1; screen: a bar of that length */
    IFM_FIELD_PRECISION, /* half an interval over the value: 0.25; screen: 25.0 %, "no interval" where it is no precision,
                            ifm_is_precision() */
    IFM_FIELD_INTERVAL,  /* five marks in ns; screen: drawn on one scale for all rows; exports: KEY_min … KEY_max */
} IfmFieldKind;

/** IfmTone: how a cell of text is coloured where there is colour. */
typedef enum
{
    IFM_TONE_PLAIN,
    IFM_TONE_GOOD,
    IFM_TONE_WARN,
    IFM_TONE_BAD,
    IFM_TONE_DIM,
} IfmTone;

/** IfmMark: what stands before a figure on screen. */
typedef enum
{
    IFM_MARK_NONE,
    IFM_MARK_ROUGH,   /* "~": known less well than was aimed at */
    IFM_MARK_UNKNOWN, /* "?": it is unknown how well */
} IfmMark;

/** IfmValue: one cell. Not present until one of the setters below was called. */
typedef struct
{
    gboolean present;
    const char *text;
    char *owned; /* freed by the printer */
    gint64 integer;
    double real;
    double marks[5]; /* min, lower, middle, upper, max */
    IfmTone tone;    /* may be set directly, as may */
    IfmMark mark;    /* of figures */
} IfmValue;

/** Setters. NULL, NaN and infinities stay "not present": "-" on screen, empty in CSV, null in JSON. */
void ifm_value_set_text(IfmValue *value, const char *text);

/** ifm_value_take_text: @text: (transfer full) */
void ifm_value_take_text(IfmValue *value, char *text);
void ifm_value_set_integer(IfmValue *value, gint64 integer);
void ifm_value_set_real(IfmValue *value, double real);

typedef enum
{
    IFM_FIELD_NO_EXPORT = 1 << 0, /* on screen alone */
    IFM_FIELD_NO_SCREEN = 1 << 1, /* in exports alone */
    IFM_FIELD_BREAK =
        1 << 2, /* where the table is too wide for the screen, a new block begins here rather than elsewhere */
    IFM_FIELD_HIDE_EMPTY = 1 << 3, /* not on screen where no record has a value */
    IFM_FIELD_WHOLE = 1 << 4,      /* a name: never shortened where it fits the screen by itself */
    IFM_FIELD_FOLD = 1 << 5,       /* on screen stated once, above the table, where all of several records have the same */
    IFM_FIELD_KEY = 1 << 6,        /* of the first fields: identifies a record; leads every block */
    IFM_FIELD_DETAIL = 1 << 7,     /* where a document is shortened to a screen's lines, not worth a further block */
    IFM_FIELD_SIGNED = 1 << 8,     /* a difference: "+" before what is above 0 */
} IfmFieldFlags;

/** IfmField: one column. @key: its name in exports, stable. @get: reads it from a record. @user: handed to get. */
typedef struct
{
    const char *key;
    const char *title; /* on screen */
    IfmFieldKind kind;
    void (*get)(const void *record, const void *user, IfmValue *value);
    const void *user;
    guint flags;
    int min_width;   /* of a screen that has room for it, columns; 0: any */
    IfmFieldKind of; /* INTERVAL: what its marks are; 0: durations */
} IfmField;

/** IfmMember: one member of a record that is a struct, as a field's @user. @via: the offset of a pointer in the record to
 * the struct that has the member, -1: the record itself has it. Where the pointer is NULL the cell is "not present".
 * @some: "" and numbers that are not above @above are "not present", too. @per: what a number is divided by; 0: nothing. */
typedef struct
{
    enum
    {
        IFM_MEMBER_TEXT, /* const char * */
        IFM_MEMBER_BYTE,
        IFM_MEMBER_SHORT, /* guint16 */
        IFM_MEMBER_INT,
        IFM_MEMBER_UINT,
        IFM_MEMBER_INTEGER, /* gint64 */
        IFM_MEMBER_COUNT,   /* gsize */
        IFM_MEMBER_REAL,    /* double */
    } type;
    gssize via;
    gsize at;
    double per;
    gboolean some;
    double above;
} IfmMember;
void ifm_field_get_member(const void *record, const void *user, IfmValue *value);
#define IFM_MEMBER_TYPE(member)                                                                                            \
    _Generic((member), char *: IFM_MEMBER_TEXT, const char *: IFM_MEMBER_TEXT, guint8: IFM_MEMBER_BYTE, guint16: IFM_MEMBER_SHORT, int: IFM_MEMBER_INT,                        \
             guint: IFM_MEMBER_UINT, gint64: IFM_MEMBER_INTEGER, gsize: IFM_MEMBER_COUNT, double: IFM_MEMBER_REAL)
/** IFM_MEMBER: the two initialisers of a column's getter: of a member, or of one behind a pointer of the record; then,
 * where they are wanted, `.per` and `.some`. Of tables outside of functions. */
#define IFM_MEMBER(struct_type, member, ...)                                                                               \
    ifm_field_get_member, &(const IfmMember)                                                                               \
    {                                                                                                                      \
        IFM_MEMBER_TYPE(((const struct_type *)NULL)->member), -1, G_STRUCT_OFFSET(struct_type, member), ##__VA_ARGS__      \
    }
#define IFM_MEMBER_VIA(struct_type, pointer, member, ...)                                                                  \
    ifm_field_get_member, &(const IfmMember)                                                                               \
    {                                                                                                                      \
        IFM_MEMBER_TYPE(((const struct_type *)NULL)->pointer->member), G_STRUCT_OFFSET(struct_type, pointer),              \
            G_STRUCT_OFFSET(__typeof__(*((const struct_type *)NULL)->pointer), member), ##__VA_ARGS__                      \
    }

/** The same of a member of one type at the offset @user, IFM_FIELD_AT(STRUCT, MEMBER): a const char *; one of which "" is
 * "not present", too; a gint64; a gsize; a double. */
void ifm_field_get_text(const void *record, const void *user, IfmValue *value);
void ifm_field_get_some_text(const void *record, const void *user, IfmValue *value);
void ifm_field_get_integer(const void *record, const void *user, IfmValue *value);
void ifm_field_get_count(const void *record, const void *user, IfmValue *value);
void ifm_field_get_real(const void *record, const void *user, IfmValue *value);
#define IFM_FIELD_AT(type, member) GSIZE_TO_POINTER(G_STRUCT_OFFSET(type, member))

/** IfmTable: @fields: its last row has a NULL key. @records: [n_records], whatever the getters understand. */
typedef struct
{
    const IfmField *fields;
    const void *const *records;
    gsize n_records;
} IfmTable;

/** IFM_SCREEN_UNBOUNDED: a width for what is read by programs or scrolled sideways: nothing is cut, wrapped or parted. */
#define IFM_SCREEN_UNBOUNDED 1000000

/** IfmScreen: where text goes. @lines: a document that is longer leaves out details, the least important first, and says
 * which; then rows of tables, and at last its end. 0: all is shown. */
typedef struct
{
    int width;       /* columns */
    gboolean colour; /* a terminal that takes ANSI colours */
    gboolean utf8;   /* FALSE: strips, bars and ellipses in ASCII */
    int lines;
} IfmScreen;

/** ifm_screen_detect: The terminal's width, or IFM_SCREEN_UNBOUNDED where @fd is none (COLUMNS overrides both). Colour on a
 * terminal alone, and not with NO_COLOR set or TERM=dumb. UTF-8 as the locale says. */
IfmScreen ifm_screen_detect(int fd);

/** ifm_table_to_screen: Aligned columns; a table too wide goes on in further blocks that repeat the first column, and those
 * after it that are keys. Control characters and broken UTF-8 in values are escaped. (transfer full) */
char *ifm_table_to_screen(const IfmTable *table, const IfmScreen *screen);

/** ifm_table_to_json: An array with one object a record. (transfer full) */
json_t *ifm_table_to_json(const IfmTable *table);

/** ifm_json_begin: Returns: (transfer full) {"inferometer": {"version", "format", "format_version"}}: how a file begins. */
json_t *ifm_json_begin(const char *format, int format_version);

/* --- drawing ------------------------------------------------------------------------------------------------------- */

/** ifm_format_bar: A bar of @width columns filled to @ratio. (transfer full) */
char *ifm_format_bar(double ratio, int width, gboolean utf8);

/**
 * ifm_output_write: Writes all of it, or nothing: a file is replaced in one step once its bytes are on disk. What is no
 * regular file (a pipe, a device) is written to as it is; "-" is standard output.
 * Returns: FALSE with IFM_ERROR_UNAVAILABLE naming the file; IFM_ERROR_CANCELLED where a pipe's reader has gone.
 */
gboolean ifm_output_write(const char *path, const char *text, gsize length, GError **error);

/** ifm_output_write_json: the same for a document, indented, with a final newline. Reals keep all their digits. */
gboolean ifm_output_write_json(const char *path, const json_t *json, GError **error);

/* --- measurements -------------------------------------------------------------------------------------------------- */

/* --- documents ----------------------------------------------------------------------------------------------------- */

/*
 * A document: all there is to say of one result, built once and rendered to a terminal, to JSON or to CSV.
 *
 *     IfmDocument    kind, title
 *       IfmSection   a title or none; what stands together
 *         IfmBlock   text | note | facts | table | figure
 *
 * Texts are plain: no colours, no padding, no line breaks; emphasis is an attribute (tone, strong). Numbers stay numbers: a
 * table is its fields and records, a figure its series of points. So a renderer needs nothing but the document, and what
 * builds documents knows no renderer.
 *
 * Ownership: the document owns every block, and all texts handed to it are copied. Tables refer to records and fields: the
 * array of records is the document's, what the records point at is borrowed. Keep the result that a document was built from
 * until the document is freed, and hand to ifm_document_keep() what was made for the document alone.
 */

/** IfmSpan: a piece of running text. */
typedef struct
{
    const char *text;
    IfmTone tone;
    gboolean strong;
} IfmSpan;

/* --- figures ------------------------------------------------------------------------------------------------------- */

/** IfmFigureKind: what a figure's points mean, and how they are to be drawn. */
typedef enum
{
    IFM_FIGURE_BARS,     /* a bar a point: label, y; its interval lower to upper */
    IFM_FIGURE_STRIPS,   /* a strip a point: label, median y; its interval lower to upper; all values min to max */
    IFM_FIGURE_SCATTER,  /* a mark a point: x, y; its interval lower to upper; label: what the x is called, or NULL;
                            where IfmAxis.own is set, what the point is called */
    IFM_FIGURE_LINES,    /* the same, each series joined in the order of its points */
    IFM_FIGURE_TIMELINE, /* a row a series: from x to x_end; label: what stands in it, or NULL */
    IFM_FIGURE_MATRIX,   /* a row a series, a column a label: y, may be coloured by its value */
    IFM_FIGURE_STACKED,  /* a row a label, a segment a series: y, one after another from 0 */
    IFM_FIGURE_ICICLE,   /* levels below each other: from x to x_end at depth y (0, 1, …), label; a plane a group */
    IFM_N_FIGURE_KINDS,
} IfmFigureKind;

/** IfmAxis: its texts are literals, or of ifm_document_keep_text(). @kind: DURATION, BYTES, RATE, RATIO, REAL or INTEGER:
 * how its values are shown. @unit: of its values; NULL: the base unit of @kind, ifm_field_unit(). @low, @high: the least
 * range that is shown; NaN: as the points have it. @categories: of a matrix's y: its values are numbers, from 0, of these
 * names, NULL-terminated, the last of which is that none is chosen; NULL: they are quantities. Of a timeline's y: what
 * kinds of events there are, by which they are coloured; NULL: by the tone of their series. */
typedef struct
{
    const char *title, *unit;
    IfmFieldKind kind;
    gboolean logarithmic; /* points that are not above 0 are not drawn */
    double low, high;
    const char *const *categories;
    gboolean own; /* of x: labels name the points, and the axis has values of its own */
    gboolean has_reference;
    double reference; /* a dashed line at this value; a matrix is coloured by the side of it on which a cell is */
    const char *reference_words; /* what stands at that line: "no gain", or NULL */
} IfmAxis;

/** IfmFigure: @title: what it is, a few words; @sentence: what it shows, one sentence, which a terminal has no room for.
 * @group: figures of one group next to each other are variants of one, of which a page shows one at a time; NULL: none.
 * @caption: doubts about it, or NULL. @half: two stand beside each other where there is room. @square: of
 * a scatter: x and y are one quantity on one scale, and what is joined is a line without marks. */
typedef struct
{
    IfmFigureKind kind;
    const char *title, *sentence, *group, *caption;
    gboolean half, square;
    IfmAxis x, y;
    GPtrArray *series; /* IfmSeries* */
} IfmFigure;

/* --- blocks -------------------------------------------------------------------------------------------------------- */

typedef enum
{
    IFM_BLOCK_TEXT,   /* a paragraph */
    IFM_BLOCK_NOTE,   /* one statement about HEAD: a warning, a reason, a remark, as its tone says */
    IFM_BLOCK_FACTS,  /* a list of names and texts */
    IFM_BLOCK_TABLE,  /* fields and records */
    IFM_BLOCK_FIGURE, /* data to be plotted */
} IfmBlockKind;

/** IfmBlock: one of these. Members that are not its kind's are 0. */
typedef struct
{
    IfmBlockKind kind;
    gboolean no_screen; /* for exports and renderers that plot: a terminal shows the same in another way, or not at all */
    int detail;         /* 0: no screen is too short for it; else the more, the sooner it is left out */
    const char *called; /* where it is left out, or a part of it; NULL only where neither can be */
    gsize least_rows;   /* table: as many at least are shown; 0: all */
    gsize page_rows;    /* table: as many at most are on a page, the others in exports alone; 0: all */
    GArray *spans;      /* text: IfmSpan */
    int indent;         /* text: columns by which its further lines are set in */
    IfmSpan head;       /* note */
    const char *text;   /* note */
    GArray *facts;      /* facts: IfmFact */
    int name_width;     /* facts: columns that names take at least */
    const char *key;    /* table, figure: its name in exports, stable and unique in the document */
    IfmTable table;     /* table: keys of its fields are unique among those that are exported */
    IfmFigure figure;   /* figure */
} IfmBlock;

/** IfmSection: blocks that stand together. @title: NULL: it goes on with the section before, after a pause. @level: of the
 * title: 0: of a result, 1: of what is said of it, 2: of a part of that. @rest: said after the title, plain, or NULL.
 * @joined: no pause before it. @question: what heads it on a page, which has it in its navigation, too; NULL: nothing.
 * @answer: of that, one or two sentences, or NULL. @closed: on a page its blocks are shown on demand, under these words;
 * NULL: always. A section without blocks is not shown, but for a title of level 0 and, on a page, an answer. */
typedef struct
{
    const char *title, *rest, *question, *answer, *closed;
    int level;
    gboolean joined;
    GPtrArray *blocks; /* IfmBlock* */
} IfmSection;

/** IfmDocument: @kind: what it is of, a stable word: "study", "trace", … */
typedef struct
{
    const char *kind, *title;
    GPtrArray *sections; /* IfmSection* */
    GStringChunk *texts; /* all its texts */
    int detail;          /* of the blocks that are added now, with what they are called */
    const char *called;
    GPtrArray *devices;                 /* char*: those, or sides, that have one colour all over a page, in order */
    GPtrArray *kept;                    /* what ifm_document_keep() got */
    struct IfmDocumentSummary *summary; /* verdict, trust, next step, provenance; NULL: none */
} IfmDocument;

/** ifm_table_document: (transfer full) one table, under its key, below a title where that is not NULL. @rest: said after
 * the title, or NULL    @records: of @fields, kept as long as the document */
IfmDocument *ifm_table_document(const char *key, const char *title, const char *rest, const IfmField *fields,
                                GPtrArray *records);
/** ifm_records_document: (transfer full) what a store holds: a row a measurement, and the reasons of what failed. @results:
 * [n], borrowed */
IfmDocument *ifm_records_document(const IfmResult *results, gsize n);

/* --- renderers ----------------------------------------------------------------------------------------------------- */

void ifm_document_free(IfmDocument *document);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmDocument, ifm_document_free)

/** ifm_document_find: (transfer none) the table or figure of that key; NULL where there is none. */
const IfmBlock *ifm_document_find(const IfmDocument *document, const char *key);

/** ifm_document_to_screen: for a terminal. Control characters and broken UTF-8 are escaped. (transfer full) */
char *ifm_document_to_screen(const IfmDocument *document, const IfmScreen *screen);

/** ifm_documents_to_screen: several below each other, which have the lines of the screen together. @documents: [n] */
char *ifm_documents_to_screen(const IfmDocument *const *documents, gsize n, const IfmScreen *screen);

/** ifm_document_show: the same, and the document is freed. @document: (transfer full)    Returns: (transfer full) */
char *ifm_document_show(IfmDocument *document, const IfmScreen *screen);

/** ifm_document_to_json: docs/formats.md, "A document". (transfer full) */
json_t *ifm_document_to_json(const IfmDocument *document);

/** ifm_document_to_csv: the table or figure of that key, as ifm_table_to_csv() has it; a figure has a row a point. @key:
 * NULL: every one, each after a line with its key, an empty line between two. (transfer full) NULL where there is none of
 * that key. */
char *ifm_document_to_csv(const IfmDocument *document, const char *key);

/** ifm_document_to_svg: The figure of that key as a picture of its own. (transfer full) NULL where there is none of that
 * key. */
char *ifm_document_to_svg(const IfmDocument *document, const char *key);

/** ifm_document_figures: (transfer full) the keys of its figures, in their order; NULL-terminated. */
GStrv ifm_document_figures(const IfmDocument *document);

/** ifm_documents_to_html: One page that needs no other file and asks no network: texts, tables that sort and filter,
 * figures that zoom (and are pictures where no script runs), the data of each as CSV. @documents: [n], at least one, below
 * each other. @title: of the page. (transfer full) */
char *ifm_documents_to_html(const IfmDocument *const *documents, gsize n, const char *title);

/* --- the documents of results -------------------------------------------------------------------------------------- */

/** IfmStudyPage: how much of a study is said. */
typedef enum
{
    IFM_STUDY_STATUS,  /* for each device: done, failed, skipped, left; what failed, and when it last went on */
    IFM_STUDY_SUMMARY, /* what one wants to see first: a table of stages by device at the largest size, what failed, files
                        */
    IFM_STUDY_REPORT,  /* all: configuration, devices, latencies, bandwidths, compute, links, lookup errors, what failed */
} IfmStudyPage;

IFM_END_DECLS
