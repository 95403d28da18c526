package sherd.interop;

import java.io.NotSerializableException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.stream.Collectors;
import ${toolkit}.serialization.SerializerWithStringManifest;

/** Serializes {@link Names}, {@link GrowingNames} and its changes: the names, one in each line. */
public final class NamesSerializer extends SerializerWithStringManifest {
    @Override
    public int identifier() {
        return 7310;
    }

    @Override
    public String manifest(Object value) {
        if (value instanceof GrowingNames names) {
            return names.ordered() ? "ordered" : "growing";
        }
        if (value instanceof GrowingNames.Change change) {
            return change.ordered() ? "ordered-change" : "change";
        }
        return "names";
    }

    private static SortedSet<String> namesOf(Object value) {
        return value instanceof Names names ? names.names()
                : value instanceof GrowingNames names ? names.names() : ((GrowingNames.Change) value).added();
    }

    @Override
    public byte[] toBinary(Object value) {
        return String.join("\n", namesOf(value)).getBytes(StandardCharsets.UTF_8);
    }

    @Override
    public Object fromBinary(byte[] bytes, String manifest) throws NotSerializableException {
        SortedSet<String> names = Arrays.stream(new String(bytes, StandardCharsets.UTF_8).split("\n"))
                .filter(name -> !name.isEmpty()).collect(Collectors.toCollection(TreeSet::new));
        return switch (manifest) {
            case "names" -> new Names(names);
            case "growing", "ordered" -> new GrowingNames(names, new TreeSet<>(), manifest.equals("ordered"));
            case "change", "ordered-change" -> GrowingNames.Change.of(names, manifest.equals("ordered-change"));
            default -> throw new NotSerializableException(manifest);
        };
    }
}
