#pragma once
#include <glib.h>

G_BEGIN_DECLS

/* Numbers as people read them, with a point in every locale. */

/** ifm_number_decimals: The digits after the point that give @value @significant digits once it is rounded: 9.99996 needs
 * two for four. 0 to 6. */
int ifm_number_decimals(double value, int significant);
/** ifm_number_fixed: Like printf's %.*f, a blank and @unit behind it; "" is no unit. (transfer full) */
char *ifm_number_fixed(double value, int decimals, const char *unit);
/** ifm_number_duration: "1.234 ms": four significant digits, a unit that keeps them short; "0"; "-" for NaN. (transfer
 * full)
 */
char *ifm_number_duration(double ns);

G_END_DECLS
