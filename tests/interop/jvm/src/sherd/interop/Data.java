package sherd.interop;

import java.math.BigInteger;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import java.util.stream.Collectors;
import ${toolkit}.actor.AbstractActor;
import ${toolkit}.actor.ActorRef;
import ${toolkit}.actor.ActorSystem;
import ${toolkit}.actor.Props;
import ${toolkit}.cluster.ddata.DistributedData;
import ${toolkit}.cluster.ddata.Flag;
import ${toolkit}.cluster.ddata.GCounter;
import ${toolkit}.cluster.ddata.GSet;
import ${toolkit}.cluster.ddata.Key;
import ${toolkit}.cluster.ddata.LWWMap;
import ${toolkit}.cluster.ddata.LWWRegister;
import ${toolkit}.cluster.ddata.ORMap;
import ${toolkit}.cluster.ddata.ORMultiMap;
import ${toolkit}.cluster.ddata.ORSet;
import ${toolkit}.cluster.ddata.PNCounter;
import ${toolkit}.cluster.ddata.PNCounterMap;
import ${toolkit}.cluster.ddata.RemovedNodePruning;
import ${toolkit}.cluster.ddata.ReplicatedData;
import ${toolkit}.cluster.ddata.Replicator;
import ${toolkit}.cluster.ddata.SelfUniqueAddress;
import ${toolkit}.pattern.Patterns;
import ${toolkit}.serialization.SerializationExtension;
import ${toolkit}.serialization.Serializers;
import scala.jdk.javaapi.CollectionConverters;
import scala.jdk.javaapi.DurationConverters;

/**
 * Runs the commands for distributed data: lines that begin with "data". ../../../data.c has the
 * same commands.
 *
 * <pre>
 * data TAG update KEY TYPE LEVEL CHANGE; CHANGE...
 * data TAG get KEY LEVEL
 * data TAG delete KEY LEVEL
 * data TAG subscribe KEY
 * data TAG keys             prints all keys that are not deleted, sorted (only this program)
 *
 * TYPE    flag gcounter pncounter gset orset register lwwmap countermap multimap multimapdeltas
 *         ormap
 *         custom growing ordered (only this program: types that nodes of the library do not know)
 * LEVEL   local N majority plusN all; :MS after it sets another time than 30 s; majorityN: at
 *         least N (only this program)
 * CHANGE  VERB ITEM VALUE AMOUNT [TYPE of the value inside an ormap]
 * VERB    on count add remove removevalue clear put
 * ITEM    t:TEXT i:NUMBER l:NUMBER, or - for none
 * </pre>
 *
 * Answers: data TAG, and one of updated, deleted, none, timeout, mismatch, or for a value: found
 * (to a subscriber: changed) KEY MANIFEST SIZE SHA1 NODES CONTENT. Size and hash are of the bytes
 * that the toolkit serializes. NODES are the nodes that have entries in the value (only this
 * program).
 */
final class Data {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final int SHOWN = 100; // entries of the largest value whose content is printed

    private final ActorSystem system;
    private final ActorRef replicator;
    private final SelfUniqueAddress self;

    Data(ActorSystem system) {
        this(system, DistributedData.get(system).replicator());
    }

    /** Uses another replicator than the one for users. */
    Data(ActorSystem system, ActorRef replicator) {
        this.system = system;
        this.replicator = replicator;
        self = DistributedData.get(system).selfUniqueAddress();
    }

    /** A key of any type. The replicator sends only its name. */
    private static final class Name extends Key<ReplicatedData> {
        private static final long serialVersionUID = 1;

        Name(String id) {
            super(id);
        }
    }

    private record Level(String name, int count, Duration patience) {
        static Level parse(String text) {
            String[] parts = text.split(":");
            Duration patience = Duration.ofMillis(parts.length > 1 ? Integer.parseInt(parts[1]) : 30000);
            if (Character.isDigit(parts[0].charAt(0))) {
                return new Level("members", Integer.parseInt(parts[0]), patience);
            }
            if (parts[0].startsWith("plus")) {
                return new Level("plus", Integer.parseInt(parts[0].substring(4)), patience);
            }
            if (parts[0].startsWith("majority") && parts[0].length() > 8) {
                return new Level("least", Integer.parseInt(parts[0].substring(8)), patience);
            }
            return new Level(parts[0], 0, patience);
        }

        Replicator.WriteConsistency write() {
            return switch (name) {
                case "members" -> new Replicator.WriteTo(count, patience);
                case "majority" -> new Replicator.WriteMajority(patience);
                case "least" -> new Replicator.WriteMajority(DurationConverters.toScala(patience), count);
                case "plus" -> new Replicator.WriteMajorityPlus(patience, count);
                case "all" -> new Replicator.WriteAll(patience);
                default -> Replicator.writeLocal();
            };
        }

        Replicator.ReadConsistency read() {
            return switch (name) {
                case "members" -> new Replicator.ReadFrom(count, patience);
                case "majority" -> new Replicator.ReadMajority(patience);
                case "least" -> new Replicator.ReadMajority(DurationConverters.toScala(patience), count);
                case "plus" -> new Replicator.ReadMajorityPlus(patience, count);
                case "all" -> new Replicator.ReadAll(patience);
                default -> Replicator.readLocal();
            };
        }
    }

    private record Change(String verb, Object item, Object value, long amount, String inside) {
        static Change parse(String text) {
            String[] words = text.trim().split(" ");
            return new Change(words[0], item(words[1]), item(words[2]), Long.parseLong(words[3]), words.length > 4 ? words[4] : null);
        }

        private static Object item(String word) {
            String text = word.length() > 2 ? word.substring(2) : "";
            return switch (word.charAt(0)) {
                case 't' -> text;
                case 'i' -> Integer.valueOf(text);
                case 'l' -> Long.valueOf(text);
                default -> null;
            };
        }
    }

    /** Subscribes to a key and prints its changes. */
    private static final class Follower extends AbstractActor {
        private final Data data;
        private final String tag;

        Follower(Data data, String tag) {
            this.data = data;
            this.tag = tag;
        }

        @Override
        public Receive createReceive() {
            return receiveBuilder()
                    .match(Replicator.Changed.class, news -> Node.say("data " + tag + " changed " + data.line(news.key(), news.dataValue())))
                    .match(Replicator.Deleted.class, news -> Node.say("data " + tag + " deleted"))
                    // Replicator.Expired, a class of later versions.
                    .matchAny(news -> Node.say("data " + tag + " " + news.getClass().getSimpleName().toLowerCase(Locale.ROOT)))
                    .build();
        }
    }

    private ReplicatedData empty(String type, Change first) {
        return switch (type) {
            case "flag" -> Flag.create();
            case "gcounter" -> GCounter.create();
            case "pncounter" -> PNCounter.create();
            case "gset" -> GSet.create();
            case "orset" -> ORSet.create();
            case "register" -> LWWRegister.create(self, first.value());
            case "lwwmap" -> LWWMap.create();
            case "countermap" -> PNCounterMap.create();
            case "multimap" -> ORMultiMap.create();
            case "multimapdeltas" -> ORMultiMap.emptyWithValueDeltas();
            case "ormap" -> ORMap.create();
            case "custom" -> Names.NONE;
            case "growing", "ordered" -> GrowingNames.none(type.equals("ordered"));
            default -> throw new IllegalArgumentException(type);
        };
    }

    private static RuntimeException wrong(Change change) {
        return new IllegalArgumentException(change.toString());
    }

    @SuppressWarnings("unchecked")
    private ReplicatedData make(ReplicatedData value, Change change) {
        Object item = change.item();
        if (value instanceof ORMap<?, ?> any) {
            ORMap<Object, ReplicatedData> map = (ORMap<Object, ReplicatedData>) any;
            if (change.inside() == null) {
                return map.remove(self, item);
            }
            Change inner = new Change(change.verb(), change.value(), change.value(), change.amount(), null);
            return map.update(self, item, empty(change.inside(), inner), old -> make(old, inner));
        }
        if (value instanceof Flag flag) {
            return flag.switchOn();
        }
        if (value instanceof GCounter counter) {
            return counter.increment(self, change.amount());
        }
        if (value instanceof PNCounter counter) {
            return counter.increment(self, change.amount());
        }
        if (value instanceof GSet<?> set) {
            return ((GSet<Object>) set).add(item);
        }
        if (value instanceof Names names) {
            return names.add((String) item);
        }
        if (value instanceof GrowingNames names) {
            return names.add((String) item);
        }
        if (value instanceof LWWRegister<?> register) {
            return ((LWWRegister<Object>) register).withValue(self, change.value());
        }
        if (value instanceof ORSet<?> any) {
            ORSet<Object> set = (ORSet<Object>) any;
            return switch (change.verb()) {
                case "add" -> set.add(self, item);
                case "remove" -> set.remove(self, item);
                case "clear" -> set.clear();
                default -> throw wrong(change);
            };
        }
        return makeInMap(value, change, item);
    }

    @SuppressWarnings("unchecked")
    private ReplicatedData makeInMap(ReplicatedData value, Change change, Object item) {
        if (value instanceof LWWMap<?, ?> any) {
            LWWMap<Object, Object> map = (LWWMap<Object, Object>) any;
            return change.verb().equals("put") ? map.put(self, item, change.value()) : map.remove(self, item);
        }
        if (value instanceof PNCounterMap<?> any) {
            PNCounterMap<Object> map = (PNCounterMap<Object>) any;
            return change.verb().equals("count") ? map.increment(self, item, change.amount()) : map.remove(item, self);
        }
        ORMultiMap<Object, Object> map = (ORMultiMap<Object, Object>) value;
        return switch (change.verb()) {
            case "add" -> map.addBinding(self, item, change.value());
            case "removevalue" -> map.removeBinding(self, item, change.value());
            case "remove" -> map.remove(self, item);
            default -> throw wrong(change);
        };
    }

    private static String word(Object item) {
        if (item instanceof ReplicatedData data) {
            return content(data, "+");
        }
        if (item instanceof java.util.Set<?> set) {
            return all(set, "+");
        }
        return item instanceof String text ? "t:" + text : item instanceof Integer number ? "i:" + number
                : item instanceof Long number ? "l:" + number
                : item instanceof byte[] bytes ? "b:" + HexFormat.of().formatHex(bytes) : item.toString();
    }

    private static String all(Collection<?> items, String between) {
        return items.isEmpty() ? "empty" : items.size() > SHOWN ? "many"
                : items.stream().map(Data::word).collect(Collectors.joining(between));
    }

    private static String map(Map<?, ?> entries) {
        List<Object> words = new ArrayList<>();
        // These objects are not items, so word() prints them unchanged.
        entries.forEach((key, value) -> words.add(new Object() {
            @Override
            public String toString() {
                return word(key) + "=" + word(value);
            }
        }));
        return all(words, ",");
    }

    private static String content(ReplicatedData value, String between) {
        if (value instanceof Flag flag) {
            return flag.enabled() ? "on" : "off";
        }
        if (value instanceof GCounter counter) {
            return counter.getValue().toString();
        }
        if (value instanceof PNCounter counter) {
            BigInteger count = counter.getValue();
            return count.toString();
        }
        if (value instanceof GSet<?> set) {
            return all(set.getElements(), between);
        }
        if (value instanceof ORSet<?> set) {
            return all(set.getElements(), between);
        }
        if (value instanceof Names names) {
            return all(names.names(), between);
        }
        if (value instanceof GrowingNames names) {
            return all(names.names(), between);
        }
        if (value instanceof LWWRegister<?> register) {
            return word(register.getValue());
        }
        if (value instanceof LWWMap<?, ?> map) {
            return map(map.getEntries());
        }
        if (value instanceof PNCounterMap<?> map) {
            return map(map.getEntries());
        }
        if (value instanceof ORMultiMap<?, ?> map) {
            return map(map.getEntries());
        }
        return value instanceof ORMap<?, ?> map ? map(map.getEntries()) : "unknown";
    }

    private static String nodes(ReplicatedData value) {
        if (!(value instanceof RemovedNodePruning pruned)) {
            return "none";
        }
        TreeSet<String> places = new TreeSet<>();
        CollectionConverters.asJava(pruned.modifiedByNodes()).forEach(node -> places.add(Node.place(node.address())));
        return places.isEmpty() ? "none" : String.join(",", places);
    }

    private String line(Key<?> key, ReplicatedData value) {
        var serializer = SerializationExtension.get(system).findSerializerFor(value);
        byte[] bytes = serializer.toBinary(value);
        try {
            return key.id() + " " + Serializers.manifestFor(serializer, value) + " " + bytes.length + " "
                    + HexFormat.of().formatHex(MessageDigest.getInstance("SHA-1").digest(bytes)) + " " + nodes(value) + " "
                    + content(value, ",");
        } catch (NoSuchAlgorithmException error) {
            throw new IllegalStateException(error);
        }
    }

    private String result(Object answer) {
        if (answer instanceof Replicator.GetSuccess<?> found) {
            return "found " + line(found.key(), found.dataValue());
        }
        if (answer instanceof Replicator.GetKeyIdsResult keys) {
            return "keys " + String.join(" ", new TreeSet<>(keys.getKeyIds()));
        }
        return switch (answer.getClass().getSimpleName()) {
            case "UpdateSuccess", "DeleteSuccess" -> "updated";
            case "NotFound" -> "none";
            case "GetFailure", "UpdateTimeout", "ReplicationDeleteFailure" -> "timeout";
            case "ModifyFailure" -> "mismatch";
            case "UpdateDataDeleted", "GetDataDeleted", "DataDeleted" -> "deleted";
            default -> answer.toString();
        };
    }

    private void ask(String tag, Object command) {
        CompletionStage<Object> answer = Patterns.ask(replicator, command, PATIENCE);
        answer.whenComplete((result, error) -> Node.say("data " + tag + " " + (error == null ? result(result) : error)));
    }

    void run(String line) {
        String[] words = line.split(" ", 7);
        Key<ReplicatedData> key = words.length > 3 ? new Name(words[3]) : null;
        switch (words[2]) {
            case "update" -> {
                List<Change> changes = Arrays.stream(words[6].split(";")).map(Change::parse).toList();
                Function<ReplicatedData, ReplicatedData> modify = value -> {
                    for (Change change : changes) {
                        value = make(value, change);
                    }
                    return value;
                };
                ask(words[1], new Replicator.Update<>(key, empty(words[4], changes.get(0)), Level.parse(words[5]).write(), modify));
            }
            case "get" -> ask(words[1], new Replicator.Get<>(key, Level.parse(words[4]).read()));
            case "delete" -> ask(words[1], new Replicator.Delete<>(key, Level.parse(words[4]).write()));
            case "keys" -> ask(words[1], Replicator.GetKeyIds$.MODULE$);
            case "subscribe" -> replicator.tell(
                    new Replicator.Subscribe<>(key, system.actorOf(Props.create(Follower.class, () -> new Follower(this, words[1])))),
                    ActorRef.noSender());
            default -> Node.say("unknown command: " + line);
        }
    }
}
