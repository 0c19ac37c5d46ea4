
#include "profile-private.h"

const char *const *ifm_profile_part_words(void)
{
    static const char *const words[] = { "runtime", "memory", "flops", "layers", "scaling", "pe", NULL };
    return words;
}
