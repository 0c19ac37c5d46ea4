/* Shared with other rooms: what a result comes to: verdict, trust, next step, provenance. */
#pragma once
#include <inferometer/document.h>

G_BEGIN_DECLS

/*
 * A summary stands at the head of a document: the first lines of a terminal, "summary" in JSON, the first screen of a page.
 * It has one verdict, as many checks as were made or could not be made, the next steps, and how it was measured. All texts
 * are formatted into the document. A document without a verdict has no summary.
 */

/** IfmTrust: how far a verdict may be acted on. That of a summary is the worst of its checks, where a check that could not
 * be made counts for nothing, but is shown. */
typedef enum
{
    IFM_TRUST_GOOD,      /* good enough to act on */
    IFM_TRUST_UNCHECKED, /* of a check alone: it could not be made */
    IFM_TRUST_CARE,      /* usable, with care */
    IFM_TRUST_BAD,       /* not to be trusted */
} IfmTrust;

/** IfmCheck: one thing that could spoil the result, with its number; or a check that could not be made. @what, @rest,
 * @names: of ifm_document_check_of(), or NULL    @differs: its numbers are those of the first of @names alone */
typedef struct
{
    IfmTrust level;
    const char *text, *what, *rest;
    GPtrArray *names;
    gboolean differs;
} IfmCheck;

/** IfmAction: what to do next. @gain: what it is expected to bring, or NULL. @command: to copy, or NULL.
 * @more: of one that is what was typed, with more words behind it, until ifm_document_command() says that; else NULL */
typedef struct
{
    const char *text, *gain, *command, *more;
} IfmAction;

/** IfmTile: a key figure. @range: its interval or what it is of, or NULL. @share: 0 to 1, drawn as a bar; NaN: none.
 * @device: whose it is, in whose colour that bar is, or NULL */
typedef struct
{
    const char *label, *value, *range;
    double share;
    const char *device;
} IfmTile;

/** IfmVerdictRange: the verdict's interval on its scale. @reference: where nothing is gained or nothing differs, with
 * @reference_words; @low_words, @high_words: what the two sides mean. Not drawn unless @value is finite. */
typedef struct
{
    double value, lower, upper, reference;
    gboolean logarithmic;
    IfmFieldKind kind;
    const char *reference_words, *low_words, *high_words;
} IfmVerdictRange;

typedef struct IfmDocumentSummary
{
    const char *subject, *verdict, *detail, *command;
    const char *trust;  /* a sentence, or NULL */
    const char *called; /* or NULL: of a further document, which a short screen leaves out */
    gboolean so_far;    /* the verdict is of a part */
    gsize n_done, n;    /* of which that is; n 0: not counted */
    IfmVerdictRange estimate;
    GArray *checks, *actions, *facts, *tiles; /* IfmCheck, IfmAction, IfmFact, IfmTile */
} IfmDocumentSummary;

/** ifm_document_subject: what was measured, one line. ifm_document_verdict: one sentence, without a full stop.
 * ifm_document_verdict_more: the figures with their interval, a second sentence. ifm_document_trust_why: what the level
 * of trust rests on. */
void ifm_document_subject(IfmDocument *document, const char *format, ...) G_GNUC_PRINTF(2, 3);
void ifm_document_verdict(IfmDocument *document, const char *format, ...) G_GNUC_PRINTF(2, 3);
void ifm_document_verdict_more(IfmDocument *document, const char *format, ...) G_GNUC_PRINTF(2, 3);
void ifm_document_trust_why(IfmDocument *document, const char *format, ...) G_GNUC_PRINTF(2, 3);

/** ifm_document_so_far: The verdict is of a part: it begins "So far, of N of M:"; @n 0: "So far:". */
void ifm_document_so_far(IfmDocument *document, gsize n_done, gsize n);

/** ifm_document_check: a check; the same text twice is one. ifm_document_check_of: "WHAT of NAME REST"; where it is said of
 * several, alike but for numbers, it is one check that names them. @name: NULL: there is nothing to tell it from */
void ifm_document_check(IfmDocument *document, IfmTrust level, const char *format, ...) G_GNUC_PRINTF(3, 4);
void ifm_document_check_of(IfmDocument *document, IfmTrust level, const char *name, const char *what, const char *format,
                           ...) G_GNUC_PRINTF(5, 6);

/** ifm_document_check_count: "3 of 12 drifted": not said of none. */
void ifm_document_check_count(IfmDocument *document, IfmTrust level, gsize n, gsize n_all, const char *what);

/** ifm_document_checks_of_parts: the checks of documents that it sums up: what is said of all as it is, else with of how
 * many: "at 2 of 3 sizes: …". @parts: [n], each with a summary    @what: "sizes" */
void ifm_document_checks_of_parts(IfmDocument *document, const IfmDocument *const *parts, gsize n, const char *what);

/** ifm_document_left_out_as: A document before it sums this one up: a short screen says but what it leaves out. */
void ifm_document_left_out_as(IfmDocument *document, const char *called);

/** ifm_document_next: a next step; the first is the one to take. @command, @gain: or NULL */
void ifm_document_next(IfmDocument *document, const char *command, const char *gain, const char *format, ...)
    G_GNUC_PRINTF(4, 5);

/** ifm_document_next_again: the same of what was typed, with these words behind it; an option that was typed gets its new
 * value. @more: "": none */
void ifm_document_next_again(IfmDocument *document, const char *more, const char *gain, const char *format, ...)
    G_GNUC_PRINTF(4, 5);

/** ifm_document_provenance: how it was measured; a name given twice keeps its first text. @format: may give "" or NULL
 * texts, which are left out. ifm_document_provenance_device: "device ALIAS", whatever the alias is: a device of the page.
 */
void ifm_document_provenance(IfmDocument *document, const char *name, const char *format, ...) G_GNUC_PRINTF(3, 4);
void ifm_document_provenance_device(IfmDocument *document, const char *alias, const char *device);

/** ifm_document_command: what was typed. @again: the same so that it measures again; NULL: no next step has a
 * command    Both are copied. */
void ifm_document_command(IfmDocument *document, const char *command, const char *again);

/** ifm_document_tile, ifm_document_estimate: texts are copied. Parts of a tile's range, "; " between them, that are not
 * known ("–") are left out, and so is a tile whose value is not. */
void ifm_document_tile(IfmDocument *document, const IfmTile *tile);
void ifm_document_estimate(IfmDocument *document, const IfmVerdictRange *estimate);

/** ifm_document_checks_answer: (transfer none) how many of its checks say what, one sentence: what "How sure?" is answered
 * with. NULL where there are none. */
const char *ifm_document_checks_answer(IfmDocument *document);

/** ifm_document_summary_trust: that of the worst check; GOOD without any. ifm_trust_words: "good enough to act on", …
 * ifm_trust_name: "good", "unchecked", "care", "bad" */
IfmTrust ifm_document_summary_trust(const IfmDocumentSummary *summary);
const char *ifm_trust_words(IfmTrust trust);
const char *ifm_trust_name(IfmTrust trust);

/** ifm_document_summary_sentence: (transfer full) the verdict, which says so where it is not to be trusted. */
char *ifm_document_summary_sentence(const IfmDocumentSummary *summary);

/** ifm_document_summary_source: (transfer full) what was measured, on what processor and when, as a picture that stands
 * alone says it; NULL for NULL. */
char *ifm_document_summary_source(const IfmDocumentSummary *summary);

/** ifm_document_summary_to_json: (transfer full) docs/formats.md, "A summary". NULL where the document has none. */
json_t *ifm_document_summary_to_json(const IfmDocument *document);

G_END_DECLS
