package sherd.interop;

import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import ${toolkit}.actor.AbstractActor;
import ${toolkit}.actor.ActorIdentity;
import ${toolkit}.actor.ActorRef;
import ${toolkit}.actor.Identify;
import ${toolkit}.actor.Terminated;

/** The actor /user/echo: says what it gets, and sends texts and bytes back to an actor that is not an echo itself. */
final class Echo extends AbstractActor {
    /** Watch the actor of a path, or watch it no more. */
    record Watch(String path, boolean on) {
        /** What the actor is asked to identify itself with: goes over the wire. */
        String question() {
            return (on ? "watch " : "unwatch ") + path;
        }
    }

    private String from() {
        return getSender().path().toSerializationFormat();
    }

    private void answer(Object message) {
        if (!getSender().path().name().equals("echo") && !getSender().equals(getContext().getSystem().deadLetters())) {
            getSender().tell(message, getSelf());
        }
    }

    private void found(ActorIdentity identity) {
        String question = (String) identity.correlationId();
        ActorRef actor = identity.getActorRef().orElse(null);

        if (actor == null) {
            Node.say("nobody to " + question);
        } else if (question.startsWith("watch ")) {
            getContext().watch(actor);
            Node.say("watching " + actor.path().toSerializationFormat());
        } else {
            getContext().unwatch(actor);
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
                .match(Watch.class, watch -> getContext().actorSelection(watch.path())
                        .tell(new Identify(watch.question()), getSelf()))
                .match(ActorIdentity.class, this::found)
                .match(Terminated.class, end -> Node.say("terminated " + end.getActor().path().toSerializationFormat()
                        + " confirmed " + end.getExistenceConfirmed() + " address " + end.getAddressTerminated()))
                .matchAny(message -> Node.say("got other " + message.getClass().getName() + " from " + sender()))
                .build();
    }
}
