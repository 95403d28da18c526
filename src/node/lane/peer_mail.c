/* Takes what control says of peers: their incarnations, answers, tables, and ends. */
#include "node/lane/lane.h"

void lane_peer_renewed(struct lane *lane, uint32_t peer)
{
    for (uint32_t i = 0; i < lane->type_count; i++) {
        routes_peer_gone(&lane->types[i].routes, peer);
        routes_ask_again(&lane->types[i].routes);
    }
}

void lane_peer_over(struct lane *lane, uint64_t uid)
{
    peers_forget(&lane->machine->peers, uid);
    peers_silence(&lane->machine->peers, uid);
}

void lane_node_gone(struct lane *lane, const struct mail_gone *gone)
{
    const struct node_id *node = gone->own.node;
    struct peer *peer =
        peers_uid(&lane->machine->peers, node->uid);

    lane_reach_gone(lane, node->uid);
    actors_node_gone(lane->actors, node->uid);
    watchers_node_gone(&lane->watchers, node->uid);
    names_node_gone(&lane->names, node->uid);
    for (uint32_t i = 0; i < lane->type_count; i++) {
        if (peer)
            routes_peer_gone(&lane->types[i].routes, peer->index);
        routes_ask_again(&lane->types[i].routes); /* control has forgotten its homes there */
        owned_node_gone(&lane->types[i].owned, lane->machine->now, node->uid);
    }
    peer_links_gone(&lane->machine->links, node);
    if (!gone->is_heard)
        lane_peer_over(lane, node->uid);
}

/* Its actors count as ended. Most strangers have sent nothing but a handshake. */
void lane_stranger_gone(struct lane *lane, const struct mail_stranger *stranger)
{
    const struct node_id *node = stranger->own.node;
    struct peers *peers = &lane->machine->peers;

    if (stranger->has_watches || peers_sender(peers, node->uid)) {
        actors_node_gone(lane->actors, node->uid);
        watchers_node_gone(&lane->watchers, node->uid);
        names_node_gone(&lane->names, node->uid);
    }
    peers_stranger_gone(peers, node);
}

void lane_peer(struct lane *lane, const struct mail_peer *peer)
{
    const struct heard_peer heard = { *peer->own.node, peer->capabilities,
                                      peer->lanes };

    struct handshake handshake;
    enum stream stream;

    peers_heard(&lane->machine->peers, &heard, peer->order, peer->is_verdict);
    while (machine_next_claim(lane->machine, peer->own.node, &handshake, &stream))
        machine_post_handshake(lane->machine, &handshake, false);
}

void lane_peer_answered(struct lane *lane, const struct mail_answered *answer)
{
    peer_links_answered(&lane->machine->links, answer->own.node, answer->lane,
                        answer->generation);
}

void lane_peer_table(struct lane *lane, const struct mail_table *table)
{
    peer_links_table(&lane->machine->links, table->own.node, table->kind,
                   buf_slice(table->own.payload));
}
