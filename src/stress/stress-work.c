/* What a stressor does while it is busy. */
#include <stdlib.h>
#include <string.h>

#include "stress-private.h"

/* Beyond the last-level cache of most processors, and a piece of it that takes some 100 us. */
#define BUFFER_BYTES ((gsize)64 << 20)
#define PIECE_BYTES ((gsize)256 << 10)
#define N_RANDOM 2048
#define LINE_BYTES 64
/* Three matrices of this order stay in a first-level cache. */
#define ORDER 48
#define N_PRODUCTS 16

typedef float Vector __attribute__((vector_size(64)));
#define VECTOR_FLOATS (sizeof(Vector) / sizeof(float))

struct StressWork
{
    IfmStressKind kind;
    Vector *a, *b, *c; /* gemm: [ORDER][ORDER] */
    char *from, *to;   /* [BUFFER_BYTES] */
    gsize at;
    guint64 state;
};

static void *aligned(gsize size)
{
    void *memory = NULL;
    g_assert(posix_memalign(&memory, 64, size) == 0);
    memset(memory, 1, size); /* its pages are there before the first run */
    return memory;
}

StressWork *stress_work_new(IfmStressKind kind)
{
    StressWork *work = g_new0(StressWork, 1);
    work->kind = kind;
    work->state = G_GUINT64_CONSTANT(88172645463325252);
    if (kind == IFM_STRESS_GEMM)
    {
        const gsize size = ORDER * ORDER * sizeof(float);
        work->a = aligned(size);
        work->b = aligned(size);
        work->c = aligned(size);
        for (gsize i = 0; i < (gsize)ORDER * ORDER; i++)
        {
            ((float *)work->a)[i] = (float)(i % 7) * 1e-3F;
            ((float *)work->b)[i] = (float)(i % 5) * 1e-3F;
        }
        return work;
    }
    work->from = aligned(BUFFER_BYTES);
    work->to = kind == IFM_STRESS_COPY ? aligned(BUFFER_BYTES) : NULL;
    return work;
}

/* c = a b: four rows at a time, all in registers and the first-level cache. */
static gint64 multiply(StressWork *work)
{
    const gsize row = ORDER / VECTOR_FLOATS;
    const float *a = (const float *)work->a;
    for (gsize i = 0; i < ORDER; i += 4)
        for (gsize j = 0; j < row; j++)
        {
            Vector sum[4] = { { 0 } };
            for (gsize k = 0; k < ORDER; k++)
                for (gsize r = 0; r < 4; r++)
                    sum[r] += a[(i + r) * ORDER + k] * work->b[k * row + j];
            for (gsize r = 0; r < 4; r++)
                work->c[(i + r) * row + j] = sum[r];
        }
    __asm__ volatile("" : : "r"(work->c) : "memory");
    return (gint64)2 * ORDER * ORDER * ORDER;
}

gint64 stress_work_run(StressWork *work)
{
    gint64 done = 0;
    switch (work->kind)
    {
    case IFM_STRESS_GEMM:
        for (int i = 0; i < N_PRODUCTS; i++)
            done += multiply(work);
        return done;
    case IFM_STRESS_COPY:
        memcpy(work->to + work->at, work->from + work->at, PIECE_BYTES);
        __asm__ volatile("" : : "r"(work->to) : "memory");
        work->at = (work->at + PIECE_BYTES) % BUFFER_BYTES;
        return (gint64)(2 * PIECE_BYTES);
    case IFM_STRESS_RANDOM:
    case IFM_N_STRESS_KINDS:
        break;
    }
    for (int i = 0; i < N_RANDOM; i++)
    {
        work->state ^= work->state << 13;
        work->state ^= work->state >> 7;
        work->state ^= work->state << 17;
        work->from[work->state % BUFFER_BYTES]++;
    }
    return (gint64)N_RANDOM * 2 * LINE_BYTES;
}
