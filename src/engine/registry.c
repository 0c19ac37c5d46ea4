#include "driver.h"

/* Every engine of this build, in the order of listings. One row per driver: docs/add-an-engine.md. */
static const IfmDriver *const drivers[] = {
    &ifm_driver_onnxruntime,
    &ifm_driver_openvino,
    &ifm_driver_simulated,
    NULL,
};

const IfmDriver *const *ifm_driver_table(void)
{
    return drivers;
}
