package sherd.interop;

import java.time.Duration;
import java.util.stream.Collectors;
import java.util.stream.StreamSupport;
import ${toolkit}.actor.AbstractActor;
import ${toolkit}.actor.ActorRef;
import ${toolkit}.actor.ActorSystem;
import ${toolkit}.actor.Address;
import ${toolkit}.actor.ExtendedActorSystem;
import ${toolkit}.actor.Props;
import ${toolkit}.cluster.Cluster;
import ${toolkit}.cluster.ddata.Key;
import ${toolkit}.cluster.ddata.LWWRegister;
import ${toolkit}.cluster.ddata.LWWRegisterKey;
import ${toolkit}.cluster.ddata.Replicator;
import ${toolkit}.cluster.sharding.ClusterSharding;
import ${toolkit}.cluster.sharding.ClusterShardingSettings;
import ${toolkit}.cluster.sharding.ShardRegion;
import ${toolkit}.pattern.Patterns;
import scala.Product;
import scala.collection.Iterable;
import scala.collection.Map;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Runs the toolkit's own sharding of one type: regions, and a coordinator on the oldest node with
 * sharding's role. Entities print when they begin and end. Commands are lines that begin with
 * "shard":
 *
 * <pre>
 * shard begin       starts the region of this node
 * shard ask ID      asks an entity; prints its node A: shard answer ID from A after MS
 * shard state ROLE  prints this node's replica of the coordinator's state: shard state regions A,A
 *                   proxies none
 * </pre>
 */
final class Shards {
    private static final String TYPE = "E"; // the nodes of this library use the same name
    private static final int SHARDS = 1000;
    private static final Duration PATIENCE = Duration.ofSeconds(90);

    /** An entity. It answers each ask. */
    static final class Hosted extends AbstractActor {
        @Override
        public void preStart() {
            Node.say("hosted " + getSelf().path().name() + " begins");
        }

        @Override
        public void postStop() {
            Node.say("hosted " + getSelf().path().name() + " ends");
        }

        @Override
        public Receive createReceive() {
            return receiveBuilder().match(String.class, id -> getSender().tell(
                    Node.place(Cluster.get(getContext().getSystem()).selfAddress()), getSelf())).build();
        }
    }

    private final ActorSystem system;
    private final ActorRef region;

    Shards(ActorSystem system) {
        this.system = system;
        region = ClusterSharding.get(system).start(TYPE, Props.create(Hosted.class), ClusterShardingSettings.create(system),
                new ShardRegion.HashCodeMessageExtractor(SHARDS) {
                    @Override
                    public String entityId(Object message) {
                        return message instanceof String id ? id : null;
                    }
                });
    }

    private String places(Object actors) {
        Address self = Cluster.get(system).selfAddress();
        var items = CollectionConverters.asJava((Iterable<?>) actors).spliterator();
        String places = StreamSupport.stream(items, false).map(actor -> ((ActorRef) actor).path().address()).map(
                address -> Node.place(address.hasLocalScope() ? self : address)).sorted().collect(Collectors.joining(","));
        return places.isEmpty() ? "none" : places;
    }

    /**
     * Prints the state. Java cannot name its class: State(shards, regions, proxies, ...), where
     * regions is a map.
     */
    private String told(Object answer) {
        if (!(answer instanceof Replicator.GetSuccess<?> found) || !(found.dataValue() instanceof LWWRegister<?> register)
                || !(register.value() instanceof Product state)) {
            return "shard state " + answer;
        }
        return "shard state regions " + places(((Map<?, ?>) state.productElement(1)).keySet()) + " proxies "
                + places(state.productElement(2));
    }

    private void state(String role) {
        Key<LWWRegister<Object>> key = LWWRegisterKey.create(TYPE + "CoordinatorState");
        String place = Cluster.get(system).selfAddress() + "/system/sharding/" + role + "Replicator";
        ActorRef replicator = ((ExtendedActorSystem) system).provider().resolveActorRef(place);
        Patterns.ask(replicator, new Replicator.Get<>(key, Replicator.readLocal()), PATIENCE).whenComplete(
                (answer, error) -> Node.say(error == null ? told(answer) : "shard state " + error));
    }

    private void ask(String id) {
        long start = System.nanoTime();
        Patterns.ask(region, id, PATIENCE).whenComplete((place, error) -> Node.say("shard answer " + id + " from "
                + (error == null ? place : error) + " after " + Duration.ofNanos(System.nanoTime() - start).toMillis()));
    }

    void run(String line) {
        String[] words = line.split(" ");
        switch (words[1]) {
            case "ask" -> ask(words[2]);
            case "state" -> state(words[2]);
            default -> Node.say("unknown command: " + line);
        }
    }
}
