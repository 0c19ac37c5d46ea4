#pragma once
#include <inferometer/profile.h>
#include <inferometer/scaling.h>

G_BEGIN_DECLS

/* What a scaling (scaling.h) is told as: page, JSON, CSV. Its points are ordinary profiles of one model each. */

/** IfmScalingRow: a row of models along one axis, profiled on the same devices. All borrowed. */
typedef struct
{
    const char *axis;               /* what is varied: "nodes", "N" */
    const char *help;               /* that in words, or NULL */
    const char *const *values;      /* [n] */
    const char *const *refusals;    /* [n] why there is no such model; NULL where there is one */
    const IfmProfileStory *stories; /* [n] of a model that there is not, nothing is read; all have a mode, or none has */
    gsize n;
} IfmScalingRow;

/** IfmScalingLine: a point on a device as tables show it. @result: NULL where there is none. */
typedef struct
{
    IfmScalingPoint point;
    const char *axis, *device, *alias;
    const char *pass; /* its key, "backward" too; NULL without a mode */
    const IfmResult *result;
    double departure, flop_per_s; /* NaN: not known */
    IfmDeparture departs;
} IfmScalingLine;
extern const IfmField ifm_scaling_line_fields[]; /* IfmScalingLine: a row of CSV, a point of JSON */

/** ifm_scaling_to_screen: For each row and device: the points, with a mode what each pass took, of graph transformers their
 * memory, the exponents, what departs from its FLOP, a plot of both logarithms; then what failed and why, and warnings.
 * (transfer full) */
char *ifm_scaling_to_screen(const IfmScalingRow *rows, gsize n_rows, const IfmScreen *screen);
/** ifm_scaling_add_json: Puts "scaling" into a profile's document, and the points' cases behind its "cases"; its keys:
 * docs/formats.md. @profile: of ifm_profile_to_json(), or NULL: there is no profile but the points. (transfer full): the
 * document (@profile itself, where given). */
json_t *ifm_scaling_add_json(json_t *profile, const IfmScalingRow *rows, gsize n_rows);
/** ifm_scaling_to_csv: A row a point and device, with a mode one a pass, point and device. (transfer full) */
char *ifm_scaling_to_csv(const IfmScalingRow *rows, gsize n_rows);

G_END_DECLS
