/* The fuzzer's corpus of external data as a regression test: every model through the fuzzer's own entry. */
#include "../../fuzz/fuzz-external.c"
#include "fuzz-corpus.h"

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    fuzz_add_corpus("external");
    return g_test_run();
}
