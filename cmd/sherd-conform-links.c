/* Cases of sherd-conform on a link to the store that is cut, or that delays what a writer sends. */
#include "sherd-conform.h"

#include <pthread.h>

#include "base/limits.h"

#define CUTS 48
#define TRIES 20

/* Opens a writer on the link that commands reach. Null: the case ends, or does not apply. */
static void *open_far(struct run *run)
{
    const char *place = run->options.path;
    void *far;

    if (!run->via) {
        run->skipped = "no place was given whose link can be broken (--via)";
        return NULL;
    }
    run->options.path = run->via;
    far = conform_open(run, BACKEND_WRITER, run->error);
    run->options.path = place;
    if (!far)
        run->failed = run->error;
    else if (conform_claim(run, far, "s", one) != BACKEND_DONE ||
             conform_put(run, far, "s", one, "e", 1, "a") != BACKEND_DONE)
        run->failed = "an event cannot be stored over the link";
    return far;
}

static void with_far(struct run *run, void (*work)(struct run *run, void *far))
{
    void *far = open_far(run);

    if (far && !run->failed)
        work(run, far);
    if (far)
        run->ops->close(far);
}

/* Sends an append again until its outcome is known. */
static enum backend_result settle(struct run *run, void *far, enum backend_result result,
                                  const char *id, uint64_t seq, const char *event)
{
    for (int i = 0; i < TRIES && result == BACKEND_UNKNOWN; i++) {
        struct journal_request *request = conform_append(run, "s", one, id, seq, event);

        request->again = true;
        result = conform_write(run, far, request);
    }
    return result;
}

/* Each try is cut at another byte of the request or of the answer. */
static void cut_each(struct run *run, void *far)
{
    char letters[CUTS + 2] = "a";

    for (uint32_t round = 0; round < CUTS; round++) {
        char event[] = { (char)('a' + (round + 1) % 26), 0 };
        enum backend_result result;

        conform_round(round);
        if (!conform_break(run, run->name))
            return;
        result = conform_put(run, far, "s", one, "e", round + 2, event);
        if (!conform_mend(run))
            return;
        result = settle(run, far, result, "e", round + 2, event);
        if (result == BACKEND_FAILED) /* certainly not written */
            result = conform_put(run, far, "s", one, "e", round + 2, event);
        MUST_TELL(run, result == BACKEND_DONE,
                  "an append whose link was cut must be DONE at last, or FAILED and not written");
        letters[round + 1] = event[0];
    }
    MUST_TELL(run, conform_has(run, "e", letters),
              "each append whose link was cut must be stored exactly once");
}

static void commit_lost(struct run *run)
{
    with_far(run, cut_each);
}

struct sender {
    struct run *run;
    void *far;
    enum backend_result result;
};

static void *send_second(void *argument)
{
    struct sender *sender = argument;

    sender->result = conform_put(sender->run, sender->far, "s", one, "e", 2, "x");
    return NULL;
}

/* A former owner's append is delayed until another owner has claimed, read and written. */
static void hold_back(struct run *run, void *far)
{
    struct sender sender = { .run = run, .far = far };
    enum backend_result claimed, written;
    bool is_read, is_mended;
    pthread_t thread;

    if (!conform_break(run, run->name))
        return;
    check(pthread_create(&thread, NULL, send_second, &sender) == 0);
    claimed = conform_claim(run, run->other, "s", two);
    is_read = conform_has(run, "e", "a");
    written = conform_put(run, run->other, "s", two, "e", 2, "b");
    is_mended = conform_mend(run);
    check(pthread_join(thread, NULL) == 0);
    if (!is_mended)
        return;
    MUST(run, claimed == BACKEND_DONE && is_read && written == BACKEND_DONE);
    sender.result = settle(run, far, sender.result, "e", 2, "x");
    MUST_TELL(run, sender.result == BACKEND_FENCED || sender.result == BACKEND_FAILED,
              "an append that arrives after another owner's claim must not be stored");
    MUST_TELL(run, conform_has(run, "e", "ab"), "only the new owner's event may be stored");
}

static void fence_late_packet(struct run *run)
{
    with_far(run, hold_back);
}

/* The first try arrives after its repetition. */
static void repeat_first(struct run *run, void *far)
{
    enum backend_result result;

    if (!conform_break(run, run->name))
        return;
    result = conform_put(run, far, "s", one, "e", 2, "b");
    MUST_TELL(run, result == BACKEND_UNKNOWN || result == BACKEND_DONE,
              "an append that was sent and not answered must be UNKNOWN, unless it was repeated");
    result = settle(run, far, result, "e", 2, "b");
    MUST_TELL(run, result == BACKEND_DONE, "the repetition must be DONE on another connection");
    if (!conform_mend(run)) /* the first try arrives */
        return;
    MUST_TELL(run, conform_has(run, "e", "ab"), "the late first try must not be stored once more");
    MUST(run, conform_put(run, far, "s", one, "e", 3, "c") == BACKEND_DONE);
    MUST(run, conform_has(run, "e", "abc"));
}

static void again_late_first(struct run *run)
{
    with_far(run, repeat_first);
}

const struct conform_case conform_links[] = {
    { "commit-lost", commit_lost },
    { "fence-late-packet", fence_late_packet },
    { "again-late-first", again_late_first },
    { NULL, NULL },
};
