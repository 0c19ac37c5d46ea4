#pragma once
#include "gradient-private.h"

G_BEGIN_DECLS

#define IFM_MAX_SPACE (IFM_MAX_RANK - 2)

/*
 * IfmWindows: how the windows of a convolution or pooling lie on the input, axis by axis: explicit, whatever auto_pad says.
 * Equals, where both sizes are known: in + begin + end + beyond = (out - 1) stride + (kernel - 1) dilation + 1 + rest
 * @seen: the tensor that the windows lie on    @counted: a forward tensor with an element for each window
 * @rest: what no window reaches at the end; 0 where the stride is 1
 * @beyond: what the last window (ceil_mode) has beyond the padding
 */
typedef struct
{
    const char *seen, *counted;
    int n_space;
    gint64 in[IFM_MAX_SPACE], out[IFM_MAX_SPACE]; /* -1: free */
    gint64 kernel[IFM_MAX_SPACE], stride[IFM_MAX_SPACE], dilation[IFM_MAX_SPACE];
    gint64 begin[IFM_MAX_SPACE], end[IFM_MAX_SPACE], rest[IFM_MAX_SPACE], beyond[IFM_MAX_SPACE];
    gint64 group;
} IfmWindows;

/* ifm_windows_read: of the node in hand, its first input and output. @kernel: [spatial axes], NULL: attribute kernel_shape.
 * FALSE: failed. */
gboolean ifm_windows_read(IfmBack *back, const gint64 *kernel, IfmWindows *windows);
/* ifm_windows_read_transposed: of a ConvTranspose in hand: the windows lie on its output's gradient, one for each element
 * of its input. */
gboolean ifm_windows_read_transposed(IfmBack *back, const gint64 *kernel, IfmWindows *windows);
/* ifm_windows_are_fixed: whether all sizes are known. */
gboolean ifm_windows_are_fixed(const IfmWindows *windows);
/* ifm_windows_count: Equals: product(sizes). Fails where it is above @max: what a model may say costs it nothing.
 * @what: "positions of a window"    Returns: -1 then */
gint64 ifm_windows_count(IfmBack *back, const gint64 *sizes, int n, gint64 max, const char *what);
/* ifm_windows_spread: The transpose of what the windows do: a ConvTranspose of @value by @weight to the input's shape. */
const char *ifm_windows_spread(IfmBack *back, const IfmWindows *windows, const char *value, const char *weight,
                               gint64 group);

/* --- what they see, position by position -------------------------------------------------------------------------- */

/* IfmWindowView: of what they lie on, padded. */
typedef struct
{
    const IfmWindows *windows;
    const char *padded;
    int axis;             /* its first spatial one */
    gint64 width;         /* channels that are one axis with the last spatial one; 1: none */
    const char **columns; /* private: [kernel of the last axis]; NULL: none is shared */
} IfmWindowView;

/* ifm_window_view: of the input as it is, [N, C, in …]. @fill: what it is padded with, a scalar; NULL: 0 */
IfmWindowView ifm_window_view(IfmBack *back, const IfmWindows *windows, const char *fill);
/* ifm_window_view_rows: of the input with its channels last, padded with 0: what a window sees of them is one run. */
IfmWindowView ifm_window_view_rows(IfmBack *back, const IfmWindows *windows, gint64 n_channels);
void ifm_window_view_clear(IfmWindowView *view);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IfmWindowView, ifm_window_view_clear)
/* ifm_window_view_at: What all windows have at one of their positions, the axes of the view.
 * @position: index into the window, row-major */
const char *ifm_window_view_at(IfmBack *back, IfmWindowView *view, gint64 position);

G_END_DECLS
