/* Puts out a coordinator's messages to regions, news and probes. */
#include "shard/coordinator_state.h"

void coordinator_probe(const struct coordinator *coordinator,
                       enum probe_kind kind)
{
    struct probe probe = { .kind = kind,
                           .type = coordinator->type_index,
                           .first = coordinator->term };

    probes_put(coordinator->probes, &probe);
}

void coordinator_tell(struct coordinator *coordinator,
                      const struct registrant *region,
                      struct shard_message message, struct outbox *outbox)
{
    /* Its node is removed. The next incarnation there would take the message as its own. */
    if (region->is_terminating || !region->is_registered)
        return;
    shard_message_send(outbox, &region->node, region->path,
                       buf_slice(&coordinator->path), &message, coordinator->identity);
}

void coordinator_news_put(struct coordinator *coordinator,
                          enum coordinator_news_kind kind, uint64_t term)
{
    vec_push(&coordinator->news, ((struct coordinator_news){ kind, term, coordinator->proof_seen }));
}

bool coordinator_next_news(struct coordinator *coordinator,
                           struct coordinator_news *news)
{
    if (coordinator->news_head == coordinator->news.count) {
        coordinator->news_head = coordinator->news.count = 0;
        return false;
    }
    *news = coordinator->news.items[coordinator->news_head++];
    return true;
}
