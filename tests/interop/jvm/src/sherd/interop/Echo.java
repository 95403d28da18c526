package sherd.interop;

import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import ${toolkit}.actor.AbstractActor;
import ${toolkit}.actor.ActorIdentity;
import ${toolkit}.actor.ActorRef;
import ${toolkit}.actor.Terminated;

/**
 * Prints each message and answers it. A node of this library can send to an actor with this name,
 * because its actors are numbers. Texts and bytes are sent back, but not to another actor of this
 * name.
 */
final class Echo extends AbstractActor {
    static final String NAME = "a0000000000000001";

    /** A command to watch this actor, or to stop watching it. */
    record Watch(ActorRef actor, boolean on) {
    }

    private String from() {
        return getSender().path().toSerializationFormat();
    }

    private void answer(Object message) {
        if (!getSender().path().name().equals(NAME) && !getSender().equals(getContext().getSystem().deadLetters())) {
            getSender().tell(message, getSelf());
        }
    }

    private void watch(Watch watch) {
        if (watch.on()) {
            getContext().watch(watch.actor());
        } else {
            getContext().unwatch(watch.actor());
        }
    }

    @Override
    public Receive createReceive() {
        return receiveBuilder()
                .match(String.class, text -> {
                    Node.say("got text " + text + " from " + from());
                    answer(text);
                })
                .match(byte[].class, bytes -> {
                    Node.say("got bytes " + HexFormat.of().formatHex(bytes) + " from " + from());
                    answer(bytes);
                })
                .match(Numbered.class, message -> Node.say("got number " + message.line() + " from " + from()))
                .match(Watch.class, this::watch)
                .match(ActorIdentity.class, identity -> Node.say("identity " + identity.correlationId() + " is "
                        + identity.getActorRef().map(actor -> actor.path().toSerializationFormat()).orElse("nobody")))
                .match(Terminated.class, end -> Node.say("terminated " + end.getActor().path().toSerializationFormat()
                        + " confirmed " + end.getExistenceConfirmed() + " address " + end.getAddressTerminated()))
                .matchAny(message -> Node.say("got other " + message.getClass().getName() + " from " + sender()))
                .build();
    }
}
