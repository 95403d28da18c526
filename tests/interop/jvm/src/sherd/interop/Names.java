package sherd.interop;

import java.util.SortedSet;
import java.util.TreeSet;
import ${toolkit}.cluster.ddata.AbstractReplicatedData;

/** A type of this program, which nodes of the library cannot merge: a set of names that grows. */
final class Names extends AbstractReplicatedData<Names> {
    static final Names NONE = new Names(new TreeSet<>());

    private final SortedSet<String> names;

    Names(SortedSet<String> names) {
        this.names = names;
    }

    SortedSet<String> names() {
        return names;
    }

    static SortedSet<String> union(SortedSet<String> left, SortedSet<String> right) {
        SortedSet<String> all = new TreeSet<>(left);
        all.addAll(right);
        return all;
    }

    Names add(String name) {
        return new Names(union(names, new TreeSet<>(java.util.List.of(name))));
    }

    @Override
    public Names mergeData(Names other) {
        return new Names(union(names, other.names));
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Names that && names.equals(that.names);
    }

    @Override
    public int hashCode() {
        return names.hashCode();
    }
}
