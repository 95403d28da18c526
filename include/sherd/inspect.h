/* Lets the program sherd run an application's code on stored events.
 *
 * The application builds a shared library of the code of its entity types,
 * which exports the function sherd_inspect. `sherd journal` loads it with
 * --program LIBRARY: to print a state (state-at), to try upcasters on all
 * stored events (upcast), to compare snapshots with events (verify --deep) and
 * to make snapshots (make-snapshot). It calls apply, apply_checked, release,
 * save, load, upcasters and describe, and nothing else: there is no node.
 * Guide: docs/guide/changing-events.md. */
#ifndef SHERD_INSPECT_H
#define SHERD_INSPECT_H

#include <sherd/system.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One entity type of the application. */
struct sherd_inspected {
    /* The type as the application registers it. Its name, its behavior and its
     * upcasts are used. Null in the row after the last one. */
    const struct sherd_entity_type *type;
    /* Writes the state as text with sherd_out_put. Result: 0, else there is no
     * text. May be null: the image of save is printed. */
    int (*describe)(const void *self, struct sherd_out *out);
};

/* Returns the rows, ended by one without a type. They must stay valid. The
 * application's library defines this function. */
SHERD_API const struct sherd_inspected *sherd_inspect(void);

#ifdef __cplusplus
}
#endif

#endif
