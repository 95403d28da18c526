/* Holds repeated log lines back until their window ends. */
#include "host/log_repeat.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"

static uint64_t kind_hash(enum trace_level level, const char *module,
                          const char *text, size_t words)
{
    return hash_bytes(slice_text(module)) * 31 +
           hash_bytes(slice_of(text, words)) + (uint64_t)level;
}

bool log_repeat_pass(struct log_repeat *repeat, uint64_t now_ms,
                     enum trace_level level, const char *module,
                     const char *text, size_t words)
{
    uint64_t hash = kind_hash(level, module, text, words);
    struct log_kind *oldest = NULL;
    struct log_kind *kind = NULL;

    if (level == TRACE_DEBUG) /* debug logs are complete */
        return true;
    for (uint32_t i = 0; i < LOG_KINDS_MAX && !kind; i++) {
        struct log_kind *at = &repeat->kinds[i];

        if (at->since_ms && at->hash == hash)
            kind = at;
        else if (!at->held && (!oldest || at->since_ms < oldest->since_ms))
            oldest = at; /* kinds with held lines keep their place */
    }
    if (!kind) {
        if (!oldest)
            return true;
        kind = oldest;
        *kind = (struct log_kind){
            .hash = hash,
            .since_ms = now_ms ? now_ms : 1,
            .level = level,
        };
        (void)snprintf(kind->module, sizeof kind->module, "%s", module);
        (void)snprintf(kind->words, sizeof kind->words, "%.*s",
                       (int)(words < 90 ? words : 90), text);
    }
    if (now_ms - kind->since_ms >= LOG_REPEAT_MS) {
        kind->since_ms = now_ms;
        kind->written = 0;
    }
    if (kind->written < LOG_REPEAT_MAX) {
        kind->written++;
        return true;
    }
    kind->held++;
    repeat->held++;
    return false;
}

bool log_repeat_next(struct log_repeat *repeat, uint64_t now_ms, bool all,
                     struct log_kind *kind)
{
    for (uint32_t i = 0; i < LOG_KINDS_MAX; i++) {
        struct log_kind *at = &repeat->kinds[i];

        if (at->held && (all || now_ms - at->since_ms >= LOG_REPEAT_MS)) {
            *kind = *at;
            at->held = 0;
            at->written = 0;
            at->since_ms = now_ms ? now_ms : 1;
            return true;
        }
    }
    return false;
}
