package sherd.interop;

import com.typesafe.config.ConfigFactory;
import java.math.BigInteger;
import java.util.HexFormat;
import java.util.Set;
import ${toolkit}.actor.Address;
import ${toolkit}.actor.ActorSystem;
import ${toolkit}.actor.ExtendedActorSystem;
import ${toolkit}.cluster.UniqueAddress;
import ${toolkit}.cluster.ddata.Flag;
import ${toolkit}.cluster.ddata.GCounter;
import ${toolkit}.cluster.ddata.GSet;
import ${toolkit}.cluster.ddata.LWWMap;
import ${toolkit}.cluster.ddata.LWWRegister;
import ${toolkit}.cluster.ddata.ORMap;
import ${toolkit}.cluster.ddata.ORMultiMap;
import ${toolkit}.cluster.ddata.ORSet;
import ${toolkit}.cluster.ddata.PNCounter;
import ${toolkit}.cluster.ddata.PNCounterMap;
import ${toolkit}.cluster.ddata.ReplicatedData;
import ${toolkit}.cluster.ddata.SelfUniqueAddress;
import ${toolkit}.cluster.ddata.VersionVector;
import ${toolkit}.serialization.SerializationExtension;
import ${toolkit}.serialization.Serializers;

/**
 * Prints replicated values in the toolkit's serialization: the lines of
 * tests/unit/ddata/akka_vectors.inc. The output is always the same, because versions are assigned
 * in the order of the program. The unit test makes the same values by the same changes.
 */
final class Vectors {
    private static ActorSystem system;

    private static SelfUniqueAddress node(String host, int port, long uid) {
        return new SelfUniqueAddress(new UniqueAddress(new Address("${prefix}", "Vectors", host, port), uid));
    }

    private static final SelfUniqueAddress A = node("127.0.0.1", 2551, 0x1122334455667788L);
    private static final SelfUniqueAddress B = node("127.0.0.1", 2552, 0x0807060504030201L);
    private static final SelfUniqueAddress C = node("zeta.example", 65535, -2);

    private static void print(String name, Object value) {
        var serializer = SerializationExtension.get(system).findSerializerFor(value);
        var manifest = Serializers.manifestFor(serializer, value);
        var bytes = HexFormat.of().formatHex(serializer.toBinary(value));

        System.out.println("{ \"" + name + "\", " + serializer.identifier() + ", \"" + manifest + "\",");
        for (int i = 0; i == 0 || i < bytes.length(); i += 70) {
            var end = Math.min(i + 70, bytes.length());
            System.out.println("  \"" + bytes.substring(i, end) + "\"" + (end == bytes.length() ? " }," : ""));
        }
    }

    private static Object ref(String name) {
        return ((ExtendedActorSystem) system).provider().resolveActorRef("${prefix}://Vectors@127.0.0.1:2551/user/" + name);
    }

    /**
     * Returns elements of every type. (7 and 7L would be one element: Scala compares them by
     * value.)
     */
    private static Object[] mixed() {
        return new Object[] {"b", "a", "\u00e4", "\uff21", "\ud834\udd1e", 7, -1, Integer.MIN_VALUE, 8L, -2L, Long.MAX_VALUE,
            true, BigInteger.ONE.equals(BigInteger.ZERO), ref("x")};
    }

    private static void counters() {
        var empty = GCounter.create();
        print("gcounter empty", empty);
        var one = empty.increment(A, 1);
        print("gcounter one", one);
        var several = one.increment(C, 127).increment(B, 128).increment(A, 1000);
        print("gcounter several", several);
        print("gcounter delta", several.resetDelta().increment(B, 5).delta().get());
        var big = several;
        for (int i = 0; i < 3; i++)
            big = big.increment(A, Long.MAX_VALUE);
        print("gcounter big", big);
        print("pncounter empty", PNCounter.create());
        var both = PNCounter.create().increment(A, 9).decrement(B, 4).decrement(A, 1);
        print("pncounter both", both);
        print("pncounter delta", both.resetDelta().decrement(A, 2).delta().get());
    }

    private static void sets() {
        print("flag off", Flag.create());
        print("flag on", Flag.create().switchOn());
        GSet<Object> grown = GSet.create();
        print("gset empty", grown);
        for (var element : mixed())
            grown = grown.add(element);
        print("gset mixed", grown);
        GSet<Object> large = GSet.create();
        for (int i = 0; i < 1000; i++)
            large = large.add("entity-" + i);
        print("gset large", large);

        ORSet<Object> empty = ORSet.create();
        print("orset empty", empty);
        var one = empty.add(A, "a");
        print("orset one", one);
        var mine = one.add(A, "b").add(A, "c");
        var theirs = one.resetDelta().add(B, "b").remove(B, "a").add(C, "d");
        print("orset delta group", theirs.delta().get());
        print("orset delta add", mine.delta().get());
        print("orset delta remove", mine.resetDelta().remove(B, "a").delta().get());
        print("orset delta full", mine.resetDelta().clear().delta().get());
        print("orset merged", mine.merge(theirs));
        var all = empty;
        for (var element : mixed())
            all = all.add(A, element);
        print("orset mixed", all);
        var many = empty;
        for (int i = 0; i < 1000; i++)
            many = many.add(i % 3 == 0 ? A : B, "entity-" + i);
        print("orset large", many);
    }

    private static void registers() {
        var first = LWWRegister.create(A, (Object) "hello", (timestamp, value) -> 100);
        print("register", first);
        print("register negative", first.withValue(C, true, (timestamp, value) -> -5));
        print("versions empty", VersionVector.create());
        var one = VersionVector.create().increment(B);
        print("versions one", one);
        print("versions several", one.increment(A).increment(C).increment(B));
    }

    private static void maps() {
        ORMap<Object, ReplicatedData> empty = ORMap.create();
        print("ormap empty", empty);
        var map = empty.put(A, "a", GSet.create().add("A")).put(B, 5, GCounter.create().increment(B, 3)).put(A, 6L, Flag.create());
        map = map.put(C, true, PNCounter.create().decrement(C, 1));
        print("ormap mixed", map);
        print("ormap delta group", map.delta().get());
        print("ormap delta put", map.resetDelta().put(A, "b", Flag.create().switchOn()).delta().get());
        print("ormap delta remove", map.resetDelta().remove(A, "a").delta().get());

        LWWMap<Object, Object> last = LWWMap.create();
        last = last.put(A, "a", "one", (timestamp, value) -> 1).put(B, "b", "two", (timestamp, value) -> 2);
        print("lwwmap", last);
        print("lwwmap delta", last.delta().get());

        PNCounterMap<Object> counts = PNCounterMap.create();
        counts = counts.increment(A, "a", 1).increment(B, 2L, 3).decrement(B, "a", 7);
        print("pncountermap", counts);
        print("pncountermap delta", counts.delta().get());
        print("pncountermap ref", PNCounterMap.create().increment(A, ref("y"), 1));

        ORMultiMap<Object, Object> multi = ORMultiMap.create();
        multi = multi.addBinding(A, "a", "A").addBinding(B, "a", "B").put(A, "b", Set.of("C")).removeBinding(A, "b", "C");
        print("multimap", multi);
        print("multimap delta", multi.delta().get());

        ORMultiMap<Object, Object> deltas = ORMultiMap.emptyWithValueDeltas();
        deltas = deltas.addBinding(A, "a", "A").addBinding(B, "b", "B");
        print("multimap with deltas", deltas);
        print("multimap with deltas delta update", deltas.resetDelta().addBinding(A, "a", "C").delta().get());
        print("multimap with deltas delta group", deltas.resetDelta().removeBinding(A, "a", "A").delta().get());
        print("multimap with deltas tombstone", deltas.remove(B, "b"));
    }

    public static void main(String[] arguments) {
        system = ActorSystem.create("Vectors", ConfigFactory.parseString("${prefix}.remote.artery.canonical.port = 0\n"
                + "${prefix}.loglevel = OFF\n${prefix}.stdout-loglevel = OFF").withFallback(ConfigFactory.load()));
        try {
            counters();
            sets();
            registers();
            maps();
        } finally {
            system.terminate();
        }
    }
}
