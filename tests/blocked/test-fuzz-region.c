/* The corpus of the fuzzer of regions, each program through the fuzzer's own entry, whole, cut off and changed. */
#include "../../fuzz/fuzz-region.c"
#include "fuzz-corpus.h"

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    fuzz_add_corpus("region");
    return g_test_run();
}
