/* The transform of weights for Winograd's algorithm. */
#include <math.h>
#include <string.h>

#include "winograd-private.h"

/* Matrix: of one transform, in double. */
typedef double Matrix[WINOGRAD_MAX_SIDE][WINOGRAD_MAX_SIDE];

/* Row i: how the three weights give the value at point i, over the product of its distances to the other points. */
static void fill_weights(int pairs, Matrix matrix)
{
    const WinogradPoints *points = &winograd_points[pairs - 1];
    memset(matrix, 0, sizeof(Matrix));
    matrix[0][0] = 1 / (double)points->all[0];
    matrix[2 * pairs + 1][2] = 1;
    for (int i = 0; i < pairs; i++)
    {
        const double p = (double)points->points[i];
        double distances = 0;
        for (int k = pairs - 1; k >= 0; k--)
            distances = distances * p * p + (double)points->without[i][k];
        distances *= 2 * p * p;
        for (int k = 0; k < 3; k++)
        {
            matrix[2 * i + 1][k] = pow(p, k) / distances;
            matrix[2 * i + 2][k] = pow(-p, k) / distances;
        }
    }
}

void winograd_weights(int pairs, const float *weights, double *to)
{
    const int side = 2 * pairs + 2;
    Matrix matrix;
    fill_weights(pairs, matrix);
    for (int i = 0; i < side; i++)
        for (int j = 0; j < side; j++, to++)
        {
            *to = 0;
            for (int k = 0; k < 3; k++)
                for (int l = 0; l < 3; l++)
                    *to += matrix[i][k] * (double)weights[3 * k + l] * matrix[j][l];
        }
}
