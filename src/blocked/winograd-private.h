#pragma once
#include "blocked-private.h"

/* Winograd's F(m, 3) for even m: a tile of (m + 2) x (m + 2) inputs gives m x m outputs. Values of polynomials are taken at
 * 0, at m / 2 pairs of points +p and -p, and at infinity; the transforms are products with small matrices, which the
 * pairs halve. */

#define WINOGRAD_MAX_PAIRS 3
#define WINOGRAD_MAX_SIDE 8

/* WinogradPoints: all[k]: coefficients of the product of all (z - p^2); without[i][k]: of that product without point i. */
typedef struct
{
    float points[WINOGRAD_MAX_PAIRS], all[WINOGRAD_MAX_PAIRS + 1], without[WINOGRAD_MAX_PAIRS][WINOGRAD_MAX_PAIRS];
} WinogradPoints;

/* Of all points in sixteenths (eighths for three pairs), these amplify rounding least but for others within 4 %, by the
 * root of the sum of squares of what the errors of one output are multiplied by, and in trials. All constants are exact in
 * f32. */
#define WINOGRAD_A (11 / 16.0F * 11 / 16.0F)
#define WINOGRAD_B (3 / 2.0F * 3 / 2.0F)
static const WinogradPoints winograd_points[WINOGRAD_MAX_PAIRS] = {
    { { 1 }, { -1, 1 }, { { 1 } } },
    { { 11 / 16.0F, 3 / 2.0F },
      { WINOGRAD_A * WINOGRAD_B, -(WINOGRAD_A + WINOGRAD_B), 1 },
      { { -WINOGRAD_B, 1 }, { -WINOGRAD_A, 1 } } },
    { { 1, 1 / 2.0F, 2 },
      { -1, 21 / 4.0F, -21 / 4.0F, 1 },
      { { 1, -17 / 4.0F, 1 }, { 4, -5, 1 }, { 1 / 4.0F, -5 / 4.0F, 1 } } },
};

/* winograd_weights: transforms the 3x3 weights of one input and output channel. @to: [side][side] */
void winograd_weights(int pairs, const float *weights, double *to);
