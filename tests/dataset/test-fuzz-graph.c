/* The corpus of the graph readers' fuzzer, each input through the fuzzer's own entry, whole, cut off and changed. */
#include "../../fuzz/fuzz-graph.c"
#include "fuzz-corpus.h"

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    fuzz_add_corpus("graph");
    return g_test_run();
}
