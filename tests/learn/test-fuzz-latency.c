/* The corpus of the fuzzer of latency models and samples, each input through the fuzzer's own entry, whole, cut off and
 * changed. */
#include "../../fuzz/fuzz-latency.c"
#include "fuzz-corpus.h"

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    fuzz_add_corpus("latency");
    return g_test_run();
}
