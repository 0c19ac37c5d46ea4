#include "driver.h"

/* Every engine of this build, in the order people see them. A row a driver: docs/add-an-engine.md. */
static const IfmDriver *const drivers[] = {
    NULL,
};

const IfmDriver *const *ifm_driver_table(void)
{
    return drivers;
}
