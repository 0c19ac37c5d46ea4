#include "cli/layers-harness.h"

/* What test-profile-graph.c asks, of models with hundreds of megabytes of weights: beside it, for they take as long as all
 * others together. */

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    add_light("bvlc_alexnet");
    add_light("vgg19");
    add_light("zfnet512");
    return g_test_run();
}
