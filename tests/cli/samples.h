#pragma once
#include "cli/harness.h"

/* A file of samples: products, convolutions and sums whose latency is a known multiple of their work. */
static inline void write_samples(const Bench *bench)
{
    static const char *const names[] = { "Conv_Relu", "Gemm", "Add", "MaxPool", "Softmax" };
    g_autoptr(GString) csv = g_string_new("Kernel_ID,OpType,Input_Shape,Latency_ms,Visit,Threads,Configuration,FLOP,"
                                          "Input_Bytes,Weight_Bytes,Output_Bytes,Batch,Channels,Height,Width\n");
    for (int i = 0; i < 80; i++)
        for (int visit = 0; visit < 2; visit++)
        {
            const double size = 16 + 7 * i, flop = 1000 * size * size, bytes = 400 * size;
            g_string_append_printf(csv, "k%d,%s,1x%d,%.9f,%d,1,k%d,%.0f,%.0f,%.0f,%.0f,1,%d,8,8\n", i, names[i % 5],
                                   (int)size, (flop / 5e7 + 1 + visit * 0.001) / 1e3, visit, i, flop, bytes, bytes / 4,
                                   bytes / 2, (int)size);
        }
    bench_write(bench, "samples.csv", csv->str, csv->len);
}
