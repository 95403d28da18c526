package sherd.interop;

import ${toolkit}.actor.AbstractActor;
import ${toolkit}.cluster.ClusterEvent;
import ${toolkit}.cluster.Member;

/**
 * Prints a line for each cluster event: event NAME HOST:PORT [UID], event NAME CENTER; and center
 * HOST:PORT CENTER for an up member.
 */
final class Events extends AbstractActor {
    private static void say(Object event, Member member) {
        Node.say("event " + event.getClass().getSimpleName() + " " + Node.place(member.address()) + " "
                + member.uniqueAddress().longUid());
    }

    @Override
    public Receive createReceive() {
        return receiveBuilder()
                .match(ClusterEvent.MemberUp.class, event -> {
                    say(event, event.member());
                    Node.say("center " + Node.place(event.member().address()) + " " + event.member().dataCenter());
                })
                .match(ClusterEvent.MemberEvent.class, event -> say(event, event.member()))
                .match(ClusterEvent.ReachabilityEvent.class, event -> say(event, event.member()))
                .match(ClusterEvent.UnreachableDataCenter.class,
                        event -> Node.say("event UnreachableDataCenter " + event.dataCenter()))
                .match(ClusterEvent.ReachableDataCenter.class,
                        event -> Node.say("event ReachableDataCenter " + event.dataCenter()))
                .match(ClusterEvent.LeaderChanged.class, event -> Node.say("event LeaderChanged "
                        + (event.getLeader() == null ? "none" : Node.place(event.getLeader()))))
                .build();
    }
}
