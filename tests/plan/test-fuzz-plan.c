/* The corpus of the plans' fuzzer, each input through the fuzzer's own entry, whole, cut off and changed. */
#include "../../fuzz/fuzz-plan.c"
#include "fuzz-corpus.h"

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    fuzz_add_corpus("plan");
    return g_test_run();
}
