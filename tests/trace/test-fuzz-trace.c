/* The corpus of the traces' fuzzer, each input through the fuzzer's own entry, whole, cut off and changed. */
#include "../../fuzz/fuzz-trace.c"
#include "fuzz-corpus.h"

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    fuzz_add_corpus("trace");
    return g_test_run();
}
