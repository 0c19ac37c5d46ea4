/* room: base */
#pragma once
#include <glib.h>

/**
 * IFM_BEGIN_DECLS, IFM_END_DECLS: Around the declarations of a public header: what stands between them is exported by the
 * library, and nothing else is (it is built with hidden visibility).
 */
#define IFM_BEGIN_DECLS                                                                                                    \
    G_BEGIN_DECLS                                                                                                          \
    _Pragma("GCC visibility push(default)")
#define IFM_END_DECLS _Pragma("GCC visibility pop") G_END_DECLS
