/* The corpus of the fuzzer of Prometheus' answers, each input through the fuzzer's own entry, whole, cut off and changed.
 */
#include "../../fuzz/fuzz-prometheus.c"
#include "fuzz-corpus.h"

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    fuzz_add_corpus("prometheus");
    return g_test_run();
}
