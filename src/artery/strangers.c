/* Keeps a doubly linked list in an array. */
#include "artery/strangers.h"

void strangers_fini(struct strangers *strangers)
{
    vec_fini(&strangers->places);
    strangers->count = 0;
}

void strangers_put(struct strangers *strangers, uint32_t index)
{
    struct stranger *place;

    while (strangers->places.count <= index)
        vec_push(&strangers->places, (struct stranger){ 0 });
    place = &strangers->places.items[index];
    place->newer = STRANGERS_NONE;
    place->older = strangers->count ? strangers->newest : STRANGERS_NONE;
    if (strangers->count)
        strangers->places.items[strangers->newest].newer = index;
    else
        strangers->oldest = index;
    strangers->newest = index;
    strangers->count++;
}

void strangers_take(struct strangers *strangers, uint32_t index)
{
    const struct stranger place = strangers->places.items[index];

    if (place.older == STRANGERS_NONE)
        strangers->oldest = place.newer;
    else
        strangers->places.items[place.older].newer = place.newer;
    if (place.newer == STRANGERS_NONE)
        strangers->newest = place.older;
    else
        strangers->places.items[place.newer].older = place.older;
    strangers->count--;
}

uint32_t strangers_oldest(const struct strangers *strangers)
{
    return strangers->count ? strangers->oldest : STRANGERS_NONE;
}
