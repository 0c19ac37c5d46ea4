#include <math.h>

#include "document-private.h"

/* Figures of predictions over measurements. */

IfmBlock *ifm_document_predicted(IfmDocument *document, const char *key, const char *title)
{
    IfmBlock *block = ifm_document_figure(document, key, IFM_FIGURE_SCATTER, title,
                                          "On the diagonal a prediction is right; bars are its 90 % interval.");
    block->figure.x.title = "measured";
    block->figure.x.own = TRUE;
    block->figure.y.title = "predicted";
    block->figure.square = TRUE;
    block->figure.x.logarithmic = block->figure.y.logarithmic = TRUE;
    return block;
}

void ifm_document_predicted_point(IfmDocument *document, IfmBlock *block, const char *name, const char *label,
                                  double measured_ns, double predicted_ns, double lower_ns, double upper_ns)
{
    if (isfinite(measured_ns) && isfinite(predicted_ns))
        ifm_document_point_within(document, ifm_document_series_named(document, block, name), label, measured_ns,
                                  predicted_ns, lower_ns, upper_ns);
}

void ifm_document_diagonal(IfmDocument *document, IfmBlock *block, const char *name)
{
    double ends[2] = { INFINITY, -INFINITY };
    for (guint s = 0; s < block->figure.series->len; s++)
    {
        const GArray *points = ((const IfmSeries *)block->figure.series->pdata[s])->points;
        for (guint i = 0; i < points->len; i++)
        {
            const IfmPoint *point = &g_array_index(points, IfmPoint, i);
            ends[0] = fmin(ends[0], fmin(point->x, point->y));
            ends[1] = fmax(ends[1], fmax(point->x, point->y));
        }
    }
    if (!(ends[0] <= ends[1]))
        return;
    IfmSeries *series = ifm_document_series(document, block, name, NULL);
    series->joined = TRUE;
    for (int end = 0; end < 2; end++)
        ifm_document_point_at(document, series, NULL, ends[end], ends[end]);
}
