/* Returns the texts of error codes, reasons and stages from the list of each. */
#include <sherd/error.h>
#include <sherd/system.h>

const char *sherd_strerror(int code)
{
    switch (code) {
    case 0:
        return "success";
#define X(name, value, text) \
    case name:               \
        return text;
        SHERD_ERRORS(X)
#undef X
    default:
        return "unknown";
    }
}

const char *sherd_reason_text(enum sherd_reason reason)
{
#define X(name, text) text,
    static const char *const texts[] = { SHERD_REASONS(X) };
#undef X

    return (unsigned)reason < SHERD_REASON_COUNT ? texts[reason] : "unknown";
}

const char *sherd_counter_text(enum sherd_counter counter)
{
#define X(name, text) text,
    static const char *const texts[] = { SHERD_COUNTERS(X) };
#undef X

    return (unsigned)counter < SHERD_COUNTER_COUNT ? texts[counter] : "unknown";
}

const char *sherd_stage_text(enum sherd_stage stage)
{
#define X(name, text) text,
    static const char *const texts[] = { SHERD_STAGES(X) };
#undef X

    return (unsigned)stage < SHERD_STAGE_COUNT ? texts[stage] : "unknown";
}
