package sherd.interop;

import java.io.NotSerializableException;
import ${toolkit}.serialization.SerializerWithStringManifest;

/**
 * Serializes messages as this library does: serializer 7300, and the manifest is "m" and the
 * number.
 */
public final class NumberedSerializer extends SerializerWithStringManifest {
    @Override
    public int identifier() {
        return 7300;
    }

    @Override
    public String manifest(Object message) {
        return "m" + ((Numbered) message).number();
    }

    @Override
    public byte[] toBinary(Object message) {
        return ((Numbered) message).body();
    }

    @Override
    public Object fromBinary(byte[] body, String manifest) throws NotSerializableException {
        if (!manifest.matches("m[0-9]+")) {
            throw new NotSerializableException(manifest);
        }
        return new Numbered(Integer.parseInt(manifest.substring(1)), body);
    }
}
