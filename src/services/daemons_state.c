/* Writes, reads and merges the stored count of daemons. */
#include "services/daemons_state.h"

#include <stdio.h>

/* "cREVISION|COUNT|FORMER", or "o..." while the former daemons end. */
void daemons_state_put(char text[DAEMONS_STATE_MAX], const struct daemons_state *state)
{
    (void)snprintf(text, DAEMONS_STATE_MAX, "%c%u|%u|%u", state->is_complete ? 'c' : 'o',
                   state->revision, state->count, state->former);
}

static bool take(struct slice *text, uint32_t *number)
{
    uint64_t value = 0;
    size_t size = 0;

    while (size < text->size && size < 10 && text->data[size] >= '0' && text->data[size] <= '9')
        value = value * 10 + (text->data[size++] - '0');
    *number = (uint32_t)value;
    *text = slice_of(text->data + size, text->size - size);
    return size && value <= UINT32_MAX;
}

static bool take_sign(struct slice *text, char sign)
{
    bool is_there = text->size && text->data[0] == (uint8_t)sign;

    if (is_there)
        *text = slice_of(text->data + 1, text->size - 1);
    return is_there;
}

bool daemons_state_read(struct slice text, struct daemons_state *state)
{
    state->is_complete = take_sign(&text, 'c');
    return (state->is_complete || take_sign(&text, 'o')) && take(&text, &state->revision) &&
           take_sign(&text, '|') && take(&text, &state->count) && take_sign(&text, '|') &&
           take(&text, &state->former) && !text.size && state->count;
}

void daemons_state_merge(struct daemons_state *state, const struct daemons_state *other)
{
    if (other->revision != state->revision) {
        if (other->revision > state->revision)
            *state = *other;
    } else if (other->is_complete != state->is_complete) {
        if (other->is_complete)
            *state = *other;
    } else if (other->count > state->count) {
        *state = *other;
    }
}
