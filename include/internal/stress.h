#pragma once
#include <inferometer/stress.h>

G_BEGIN_DECLS

/** IFM_STRESS_ARGUMENT: the first argument of the worker program that makes it a stressor. */
#define IFM_STRESS_ARGUMENT "--stress"
/** ifm_stress_main: the worker program's, then. @words: KIND PARENT FD CORE…, of @n. Returns: an exit status. */
int ifm_stress_main(int n, char **words);

G_END_DECLS
