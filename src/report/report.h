/* Shared with other rooms: documents, figures and fields. */
#pragma once
#include <math.h>

#include <inferometer/study.h>

G_BEGIN_DECLS

/* --- measurements -------------------------------------------------------------------------------------------------- */

/** IfmSampleRow: @index counts within its kind from 0. @kind: "warmup", "run", "profiled". */
typedef struct
{
    const char *device;
    const IfmCase *subject_case;
    const IfmMeasurement *measurement;
    const char *kind;
    gsize index;
    gint64 time_ns;
} IfmSampleRow;

/* --- studies ------------------------------------------------------------------------------------------------------- */

/** ifm_study_write: lookup_table.json, bandwidth_table.json, raw_measurements.json, checkpoint_cpugpu.json,
 * checkpoint_npu.json, profiling_report.txt and stages.csv into @folder, each in one step. */
gboolean ifm_study_write(const IfmStudyTables *tables, const char *folder, GError **error);

/* --- documents ----------------------------------------------------------------------------------------------------- */

/** IfmFact: a name and what is said under it. @name: "" where the fact goes on with the one before. */
typedef struct
{
    const char *name, *text;
} IfmFact;

/* --- figures ------------------------------------------------------------------------------------------------------- */

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

/** ifm_table_to_csv: RFC 4180 with a header line; numbers in full and in base units, whatever the locale. (transfer full)
 */
char *ifm_table_to_csv(const IfmTable *table);

void ifm_value_set_boolean(IfmValue *value, gboolean yes);

G_END_DECLS
