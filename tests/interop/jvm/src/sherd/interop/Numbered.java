package sherd.interop;

/** An application's message as this library's actors have them: a number and bytes. */
record Numbered(int number, byte[] body) {
    /** Bytes that can be told apart from their like, and what is told of them in a line. */
    static byte[] pattern(int size) {
        byte[] body = new byte[size];
        for (int i = 0; i < size; i++) {
            body[i] = (byte) (i * 7 + size);
        }
        return body;
    }

    /** "NUMBER SIZE SUM": the sum is of all bytes, the first taken once, the next twice, and so on. */
    String line() {
        int sum = 0;
        for (int i = 0; i < body.length; i++) {
            sum += (i + 1) * (body[i] & 0xff);
        }
        return number + " " + body.length + " " + Integer.toUnsignedString(sum);
    }
}
