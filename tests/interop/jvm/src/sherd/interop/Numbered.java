package sherd.interop;

/** A message between actors of this library: a number and bytes. */
record Numbered(int number, byte[] body) {
    /** Returns bytes that depend on their place and on the size. */
    static byte[] pattern(int size) {
        byte[] body = new byte[size];
        for (int i = 0; i < size; i++) {
            body[i] = (byte) (i * 7 + size);
        }
        return body;
    }

    /**
     * Returns "NUMBER SIZE SUM". In the sum, the first byte counts once, the second twice, and so
     * on.
     */
    String line() {
        int sum = 0;
        for (int i = 0; i < body.length; i++) {
            sum += (i + 1) * (body[i] & 0xff);
        }
        return number + " " + body.length + " " + Integer.toUnsignedString(sum);
    }
}
