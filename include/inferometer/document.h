/* room: report */
#pragma once
#include <math.h>

#include <inferometer/report.h>

IFM_BEGIN_DECLS

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

/** IfmFact: a name and what is said under it. @name: "" where the fact goes on with the one before. */
typedef struct
{
    const char *name, *text;
} IfmFact;

/* --- figures -------------------------------------------------------------------------------------------------------- */

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
    IFM_N_FIGURE_KINDS,
} IfmFigureKind;

/** IfmPoint: NaN: there is none. @label: NULL: none. @mark: how well y is known. */
typedef struct
{
    double x, x_end, y;
    double lower, upper; /* a confidence interval of y */
    double min, max;     /* of all values that y is the median of */
    double id;           /* of a timeline: whose event it is, such as a batch's number; what has one id can be followed */
    const char *label;
    IfmMark mark;
} IfmPoint;
#define IFM_POINT_INIT                                                                                                     \
    {                                                                                                                      \
        NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NULL, IFM_MARK_NONE                                                        \
    }

/** IfmSeries: @name: NULL: there is but one. @group: of a timeline: series of one group stand together under its name;
 * NULL: there are no groups. There a series without a name begins a group, which may have no other. @joined: of a scatter:
 * a line through its points, in their order. @no_screen: of a timeline: a terminal leaves it out; elsewhere it is drawn in
 * the row of the series before it where that has the same name and group. */
typedef struct
{
    const char *name, *group;
    IfmTone tone;
    gboolean joined, no_screen;
    GArray *points; /* IfmPoint */
} IfmSeries;

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
} IfmAxis;

/** IfmFigure: @title: what it is, a few words; @sentence: what it shows, one sentence, which a terminal has no room for.
 * @group: figures of one group next to each other are variants of one, of which a page shows one at a time; NULL: none. */
typedef struct
{
    IfmFigureKind kind;
    const char *title, *sentence, *group;
    IfmAxis x, y;
    GPtrArray *series; /* IfmSeries* */
} IfmFigure;

/* --- blocks --------------------------------------------------------------------------------------------------------- */

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
 * @joined: no pause before it. A section without blocks is not shown, but for a title of level 0. */
typedef struct
{
    const char *title, *rest;
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
    GPtrArray *kept; /* what ifm_document_keep() got */
} IfmDocument;

/* --- renderers ------------------------------------------------------------------------------------------------------ */

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

/* --- the documents of results --------------------------------------------------------------------------------------- */

/** IfmStudyPage: how much of a study is said. */
typedef enum
{
    IFM_STUDY_STATUS,  /* for each device: done, failed, skipped, left; what failed, and when it last went on */
    IFM_STUDY_SUMMARY, /* what one wants to see first: a table of stages by device at the largest size, what failed, files
                        */
    IFM_STUDY_REPORT,  /* all: configuration, devices, latencies, bandwidths, compute, links, lookup errors, what failed */
} IfmStudyPage;

/** ifm_trace_document: (transfer full) borrows both. What happened, as one wants it first: how fast, what each device did
 * and why it was idle, the blocks with the bottleneck marked, latencies, the critical path of a batch. */
IfmDocument *ifm_trace_document(const IfmTrace *trace, const IfmTraceAnalysis *analysis);
/** ifm_trace_diff_document: (transfer full) @differences: of ifm_trace_diff(), borrowed. @a, @b: what the two are called.
 */
IfmDocument *ifm_trace_diff_document(const GPtrArray *differences, const char *a, const char *b);
/** ifm_timeline_document: (transfer full) of that figure alone. */
IfmDocument *ifm_timeline_document(const IfmTrace *const *traces, gsize n_traces, const IfmTraceQuestion *question);

/** ifm_plan_document: (transfer full) borrows all of @report. The plan, block by block; the best single device next to it;
 * what was searched and how sure it is; the plans that no other beats, where @report has them. */
IfmDocument *ifm_plan_document(const IfmPlanReport *report);

/** ifm_run_document: (transfer full) borrows all of @reports. Each run, and where there are several all of them in one
 * table at the end. @reports: [n] */
IfmDocument *ifm_run_document(const IfmRunReport *reports, gsize n);

IFM_END_DECLS
