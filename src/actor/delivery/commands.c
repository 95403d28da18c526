/* Keeps the commands that an entity carried out last, with their replies. */
#include "actor/delivery/book.h"
#include "base/hash.h"

const struct known_command *commands_find(const struct commands *commands, struct slice id,
                                          uint64_t oldest)
{
    uint64_t hash = hash_bytes(id);

    for (uint32_t i = commands->list.count; i > 0; i--) {
        const struct known_command *known = commands->list.items[i - 1];

        if (known->hash == hash && known->command.at >= oldest &&
            slice_equal(known->command.id, id))
            return known;
    }
    return NULL;
}

void commands_add(struct commands *commands, const struct command *command, uint32_t max)
{
    struct known_command *known =
        mem_alloc(sizeof *known + command->id.size + command->body.size);
    uint32_t surplus;

    known->command = *command;
    known->hash = hash_bytes(command->id);
    bytes_copy(known->data, command->id.data, command->id.size);
    known->command.id = slice_of(known->data, command->id.size);
    bytes_copy(known->data + command->id.size, command->body.data, command->body.size);
    known->command.body = slice_of(known->data + command->id.size, command->body.size);
    vec_push(&commands->list, known);
    if (commands->list.count <= max)
        return;
    surplus = commands->list.count - max;
    for (uint32_t i = 0; i < surplus; i++)
        mem_free(commands->list.items[i]);
    commands->list.count = max;
    memmove(commands->list.items, commands->list.items + surplus,
            max * sizeof *commands->list.items);
}
