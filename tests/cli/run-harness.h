#pragma once
#include "cli/study-harness.h"

/* Plans of simulated devices that take 5 ms for whatever they run, on a virtual clock. */

#define MS 1000000
#define DEVICES                                                                                                            \
    "\"devices\": {\"A\": {\"device\": \"simulated:lab/FIXED\", \"form\": \"dynamic\"}, \"B\": {\"device\": "              \
    "\"simulated:lab/LINKED\", \"form\": \"dynamic\"}}"
#define PLAN(blocks)                                                                                                       \
    "{\"plan\": " blocks ", " DEVICES ", \"model\": \"graphsage\", \"sizes\": [[100, 300]], \"features\": 4, \"hidden\": " \
    "3}"
#define ONE PLAN("[[[\"A\"],[1,2,3,4,5,6,7],[1]]]")
#define SHARED PLAN("[[[\"A\",\"B\"],[1,2,3,4,5,6,7],[0.5,0.5]]]")
#define CHAIN PLAN("[[[\"A\"],[1,2,3],[1]],[[\"B\"],[4,5,6,7],[1]]]")
