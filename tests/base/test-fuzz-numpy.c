/* The corpus of the fuzzer of inputs' files, each input through the fuzzer's own entry, whole, cut off and changed. */
#include "../../fuzz/fuzz-numpy.c"
#include "fuzz-corpus.h"

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    fuzz_add_corpus("numpy");
    return g_test_run();
}
