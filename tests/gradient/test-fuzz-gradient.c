/* The fuzzer's corpus of gradients as a regression test: every model through the fuzzer's own entry, and those of the
 * reader's corpus, which have many operators each. */
#include "../../fuzz/fuzz-gradient.c"
#include "fuzz-corpus.h"

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    fuzz_add_corpus("gradient");
    fuzz_add_corpus("onnx");
    return g_test_run();
}
