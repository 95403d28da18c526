/* Implements rights.h. */
#include "mgmt/rights.h"

#include "base/limits.h"

static const char *const names[] = { "open", "read", "operate", "admin" };

const char *right_text(enum right right)
{
    return names[right];
}

bool right_named(struct slice name, enum right *right)
{
    for (int i = RIGHT_READ; i <= RIGHT_ADMIN; i++) {
        if (slice_is(name, names[i])) {
            *right = (enum right)i;
            return true;
        }
    }
    return false;
}

void tokens_fini(struct tokens *tokens)
{
    vec_fini(&tokens->items);
}

static struct slice take_word(struct slice *line)
{
    size_t skip = 0, size = 0;
    struct slice word;

    while (skip < line->size && (line->data[skip] == ' ' || line->data[skip] == '\t'))
        skip++;
    while (skip + size < line->size && line->data[skip + size] != ' ' &&
           line->data[skip + size] != '\t')
        size++;
    word = slice_of(line->data + skip, size);
    *line = slice_of(word.data + size, line->size - skip - size);
    return word;
}

static int digit(uint8_t byte)
{
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    if (byte >= 'a' && byte <= 'f')
        return byte - 'a' + 10;
    return byte >= 'A' && byte <= 'F' ? byte - 'A' + 10 : -1;
}

static bool read_digest(struct slice text, uint8_t digest[DIGEST_SIZE])
{
    if (text.size != 2 * (size_t)DIGEST_SIZE)
        return false;
    for (size_t i = 0; i < DIGEST_SIZE; i++) {
        int high = digit(text.data[2 * i]), low = digit(text.data[2 * i + 1]);

        if (high < 0 || low < 0)
            return false;
        digest[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

static bool read_line(struct slice line, struct token *token)
{
    struct slice role = take_word(&line);
    struct slice digest = take_word(&line);
    struct slice name = take_word(&line);

    if (!right_named(role, &token->right) || !read_digest(digest, token->digest) || !name.size ||
        name.size >= sizeof token->name || take_word(&line).size)
        return false;
    for (size_t i = 0; i < name.size; i++)
        if (name.data[i] <= ' ' || name.data[i] == '"' || name.data[i] >= 127)
            return false;
    memcpy(token->name, name.data, name.size);
    token->name[name.size] = '\0';
    return true;
}

uint32_t tokens_read(struct tokens *tokens, struct slice text)
{
    for (uint32_t number = 1; text.size; number++) {
        const uint8_t *end = memchr(text.data, '\n', text.size);
        size_t size = end ? (size_t)(end - text.data) : text.size;
        struct slice line = slice_of(text.data, size);
        struct token token = { 0 };

        text = slice_of(text.data + size + (end != NULL), text.size - size - (end != NULL));
        if (line.size && line.data[line.size - 1] == '\r')
            line.size--;
        if (!line.size || line.data[0] == '#')
            continue;
        if (line.size > MGMT_TOKEN_LINE_MAX || tokens->items.count == MGMT_TOKENS_MAX ||
            !read_line(line, &token))
            return number;
        vec_push(&tokens->items, token);
    }
    return 0;
}

const struct token *tokens_find(const struct tokens *tokens, const uint8_t digest[DIGEST_SIZE])
{
    const struct token *found = NULL;

    for (uint32_t i = 0; i < tokens->items.count; i++) {
        unsigned difference = 0;

        for (size_t at = 0; at < DIGEST_SIZE; at++)
            difference |= (unsigned)(tokens->items.items[i].digest[at] ^ digest[at]);
        if (!difference)
            found = &tokens->items.items[i];
    }
    return found;
}

/* ---- the header ---- */

static int base64_value(uint8_t byte)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = byte ? strchr(digits, byte) : NULL;

    return at ? (int)(at - digits) : -1;
}

static bool put_base64(struct buf *buf, struct slice text)
{
    unsigned bits = 0, count = 0;
    size_t padding = 0;

    if (text.size % 4)
        return false;
    for (size_t i = 0; i < text.size; i++) {
        int value = base64_value(text.data[i]);

        if (text.data[i] == '=' && i + 2 >= text.size) {
            padding++;
            continue;
        }
        if (value < 0 || padding)
            return false;
        bits = bits << 6 | (unsigned)value;
        count += 6;
        if (count >= 8) {
            count -= 8;
            buf_put_u8(buf, (uint8_t)(bits >> count));
            bits &= (1u << count) - 1;
        }
    }
    return !bits;
}

static bool is_scheme(struct slice word, const char *lower_case)
{
    if (word.size != strlen(lower_case))
        return false;
    for (size_t i = 0; i < word.size; i++)
        if ((word.data[i] | 32) != lower_case[i])
            return false;
    return true;
}

bool token_take(struct slice authorization, struct buf *token)
{
    struct slice scheme = take_word(&authorization);
    struct slice rest = take_word(&authorization);
    struct buf pair = { 0 };
    const uint8_t *colon;
    bool is_good;

    if (!rest.size || rest.size > MGMT_TOKEN_SIZE_MAX || take_word(&authorization).size)
        return false;
    if (is_scheme(scheme, "bearer")) {
        buf_put_slice(token, rest);
        return true;
    }
    if (!is_scheme(scheme, "basic"))
        return false;
    is_good = put_base64(&pair, rest);
    colon = is_good && pair.size ? memchr(pair.data, ':', pair.size) : NULL;
    if (colon)
        buf_put(token, colon + 1, pair.size - (size_t)(colon + 1 - pair.data));
    buf_fini(&pair);
    return colon != NULL;
}

/* ---- certificates ---- */

bool client_right(const char *pattern, const char *subject, enum right *right)
{
    const char *equals = strrchr(pattern, '=');
    struct slice role, wanted;
    size_t size;

    if (!equals)
        return false;
    role = slice_text(equals + 1);
    role = take_word(&role);
    size = (size_t)(equals - pattern);
    while (size && pattern[size - 1] == ' ')
        size--;
    wanted = slice_of(pattern, size);
    if (!wanted.size || !right_named(role, right))
        return false;
    if (wanted.data[wanted.size - 1] == '*')
        return strncmp(subject, pattern, wanted.size - 1) == 0;
    return slice_is(wanted, subject);
}
