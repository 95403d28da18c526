package sherd.interop;

import ${toolkit}.actor.AbstractActor;
import ${toolkit}.cluster.ClusterEvent;
import ${toolkit}.cluster.Member;

/** Writes a line for each event of the membership: event NAME HOST:PORT [UID]. */
final class Events extends AbstractActor {
    private static void say(Object event, Member member) {
        Node.say("event " + event.getClass().getSimpleName() + " " + Node.place(member.address()) + " "
                + member.uniqueAddress().longUid());
    }

    @Override
    public Receive createReceive() {
        return receiveBuilder()
                .match(ClusterEvent.MemberEvent.class, event -> say(event, event.member()))
                .match(ClusterEvent.ReachabilityEvent.class, event -> say(event, event.member()))
                .match(ClusterEvent.LeaderChanged.class, event -> Node.say("event LeaderChanged "
                        + (event.getLeader() == null ? "none" : Node.place(event.getLeader()))))
                .build();
    }
}
