package sherd.interop;

import java.util.List;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeSet;
import ${toolkit}.cluster.ddata.AbstractDeltaReplicatedData;
import ${toolkit}.cluster.ddata.DeltaReplicatedData;
import ${toolkit}.cluster.ddata.ReplicatedData;
import ${toolkit}.cluster.ddata.ReplicatedDelta;
import ${toolkit}.cluster.ddata.RequiresCausalDeliveryOfDeltas;

/**
 * The same set as {@link Names} with deltas. A write to several nodes contains the change only, or
 * is a delta if the deltas need their order.
 */
final class GrowingNames extends AbstractDeltaReplicatedData<GrowingNames, GrowingNames.Change> {
    private final SortedSet<String> names;
    private final SortedSet<String> added; // since the last reset
    private final boolean ordered;

    GrowingNames(SortedSet<String> names, SortedSet<String> added, boolean ordered) {
        this.names = names;
        this.added = added;
        this.ordered = ordered;
    }

    static GrowingNames none(boolean ordered) {
        return new GrowingNames(new TreeSet<>(), new TreeSet<>(), ordered);
    }

    /** Names that were added. */
    static class Change implements ReplicatedDelta {
        private final SortedSet<String> added;

        Change(SortedSet<String> added) {
            this.added = added;
        }

        SortedSet<String> added() {
            return added;
        }

        boolean ordered() {
            return false;
        }

        @Override
        public ReplicatedData merge(ReplicatedData other) {
            return of(Names.union(added, ((Change) other).added), ordered());
        }

        @Override
        public DeltaReplicatedData zero() {
            return none(ordered());
        }

        static Change of(SortedSet<String> added, boolean ordered) {
            return ordered ? new OrderedChange(added) : new Change(added);
        }
    }

    /** The same, of a type whose deltas need their order. */
    static final class OrderedChange extends Change implements RequiresCausalDeliveryOfDeltas {
        OrderedChange(SortedSet<String> added) {
            super(added);
        }

        @Override
        boolean ordered() {
            return true;
        }
    }

    SortedSet<String> names() {
        return names;
    }

    boolean ordered() {
        return ordered;
    }

    GrowingNames add(String name) {
        SortedSet<String> one = new TreeSet<>(List.of(name));
        return new GrowingNames(Names.union(names, one), Names.union(added, one), ordered);
    }

    @Override
    public GrowingNames mergeData(GrowingNames other) {
        return new GrowingNames(Names.union(names, other.names), new TreeSet<>(), ordered);
    }

    @Override
    public Optional<Change> deltaData() {
        return added.isEmpty() ? Optional.empty() : Optional.of(Change.of(added, ordered));
    }

    @Override
    public GrowingNames mergeDeltaData(Change change) {
        return new GrowingNames(Names.union(names, change.added), new TreeSet<>(), ordered);
    }

    @Override
    public GrowingNames resetDelta() {
        return new GrowingNames(names, new TreeSet<>(), ordered);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof GrowingNames that && names.equals(that.names);
    }

    @Override
    public int hashCode() {
        return names.hashCode();
    }
}
