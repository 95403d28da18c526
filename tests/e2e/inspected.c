/* Gives `sherd journal --program` the code of examples/guide/snapshots.c with a fault, which the environment
 * variable INSPECTED names; without it there is none. */
#include <sherd/inspect.h>

#include <stdlib.h>
#include <string.h>

struct account {
    int64_t cents;
    uint64_t deposits;
};

static int has_fault(const char *name)
{
    const char *fault = getenv("INSPECTED");

    return fault && strcmp(fault, name) == 0;
}

static const char *apply(void *self, uint32_t type, struct sherd_bytes event)
{
    struct account *account = self;
    int64_t cents = 0;

    if (has_fault("rejects") && account->deposits == 350)
        return "no more deposits";
    if (has_fault("crashes") && account->deposits == 350)
        abort();
    if (type == 1 && event.size == sizeof cents)
        memcpy(&cents, event.data, sizeof cents);
    account->cents += cents + has_fault("differs");
    account->deposits++;
    return NULL;
}

static const char *to_version_1(uint32_t type, uint32_t version, struct sherd_bytes event, struct sherd_events *newer)
{
    (void)version;
    sherd_events_add(newer, type, 1, event);
    sherd_events_add(newer, type, 1, (struct sherd_bytes){ event.data, 0 });
    return NULL;
}

static int save(const void *self, struct sherd_out *out)
{
    sherd_out_put(out, (struct sherd_bytes){ self, sizeof(struct account) });
    return 0;
}

static int load(void *self, uint32_t version, struct sherd_bytes image)
{
    if (has_fault("refuses") || version != 1 || image.size != sizeof(struct account))
        return -1;
    memcpy(self, image.data, image.size);
    return 0;
}

static enum sherd_next receive(struct sherd_ctx *ctx, void *self, const struct sherd_msg *msg)
{
    (void)self, (void)msg;
    sherd_persist(ctx, 1, (struct sherd_bytes){ NULL, 0 }); /* a function that the program sherd lacks */
    return SHERD_CONTINUE;
}

SHERD_API const struct sherd_inspected *sherd_inspect(void)
{
    static const struct sherd_upcast upcasts[] = { { 1, 1, to_version_1 } };
    static struct sherd_entity_type type = {
        .name = "Account",
        .behavior = { .name = "account", .state_size = sizeof(struct account), .receive = receive,
                      .apply_checked = apply, .save = save, .load = load, .save_version = 1 },
        .upcasts = upcasts,
    };
    static const struct sherd_inspected rows[] = { { &type, NULL }, { 0 } };

    type.upcast_count = has_fault("upcasts") ? 1 : 0;
    return rows;
}
