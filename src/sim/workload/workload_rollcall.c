/* Runs the roll call: clients ask entities until each has replied. */
#include <stdio.h>

#include "base/timers.h"
#include "sim/workload/workload_inside.h"

#define ROLL_ASKS 4 /* at a time by one client */
#define ROLL_ASK_MS 30000

uint64_t workload_roll_begin(struct workload *workload, uint32_t count)
{
    uint32_t ids = workload->settings.ids;

    if (count > ids)
        count = ids;
    workload->roll.count = 0;
    workload->roll_next = 0;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t type = 0; type < workload->type_count; type++) {
            struct rolled rolled = { .type = workload->type_of[type] };
            uint32_t of_type = workload_ids(workload, rolled.type);

            if (of_type < ids && i >= of_type)
                continue;
            rolled.id = (uint32_t)((uint64_t)of_type * i /
                                   (count < of_type ? count : of_type));
            vec_push(&workload->roll, rolled);
        }
    }
    return (workload->roll.count / ROLL_ASKS + 1) *
           WORKLOAD_WAIT_MAX(workload) * MS;
}

uint32_t workload_roll_missing(const struct workload *workload, char *text,
                               size_t size)
{
    uint32_t missing = 0;

    for (uint32_t i = 0; i < workload->roll.count; i++) {
        const struct rolled *rolled = &workload->roll.items[i];

        if (rolled->has_answered)
            continue;
        if (!missing++)
            (void)snprintf(text, size, "k%u of %s, asked %u times: %s",
                           rolled->id, workload_type_text(rolled->type),
                           rolled->asked,
                           sherd_reason_text(rolled->reason)); /* cut at size */
    }
    return missing;
}

void roll_ask(struct workload *workload, struct sherd_ctx *ctx,
              struct client *client)
{
    uint32_t asked = 0;

    for (uint32_t i = 0; i < workload->roll.count && asked < ROLL_ASKS; i++) {
        struct rolled *rolled =
            &workload->roll.items[workload->roll_next++ % workload->roll.count];
        struct parcel parcel = { .type = rolled->type, .id = rolled->id };

        if (rolled->has_answered || rolled->is_open)
            continue;
        parcel.value = ++workload->serials;
        rolled->is_open = client_ask(workload, ctx, client, WORKLOAD_ECHO,
                                     &parcel, ROLL_ASK_MS);
        rolled->asked += rolled->is_open;
        asked++;
    }
}

void roll_ended(struct workload *workload, uint32_t type, uint32_t id,
                enum sherd_reason reason)
{
    for (uint32_t i = 0; i < workload->roll.count; i++) {
        struct rolled *rolled = &workload->roll.items[i];

        if (rolled->type != type || rolled->id != id || !rolled->is_open)
            continue;
        rolled->is_open = false;
        rolled->reason = reason;
        rolled->has_answered = reason == SHERD_REASON_NONE;
    }
}
