"""Tests examples/cart.c: four processes put items into one cart at the same time, and all see all
items. One process leaves, and a process that joins later sees the same cart.

usage: cart_test.py CART"""
import sys

from cluster import Speaker, free_port

failed = []


def expect(condition, what):
    print(f"{'ok' if condition else 'FAILED'}: {what}", flush=True)
    if not condition:
        failed.append(what)


def main():
    cart = sys.argv[1]
    seed = free_port()
    address = f"127.0.0.1:{seed}"
    nodes = [Speaker(cart, str(seed), "bread")]
    nodes += [Speaker(cart, str(free_port()), address, item) for item in ("eggs", "milk", "apples")]
    try:
        for number, node in enumerate(nodes):
            expect(node.says("cart: apples bread eggs milk "), f"node {number} sees the whole cart")
        expect(nodes.pop().end() == 0, "one node leaves")
        nodes.append(Speaker(cart, str(free_port()), address, "tea"))
        for number, node in enumerate(nodes):
            expect(node.says("cart: apples bread eggs milk tea "), f"node {number} sees the old items and the new one")
    finally:
        codes = [node.end() for node in reversed(nodes)]
    expect(codes == [0] * len(nodes), f"all nodes leave: {codes}")
    return 1 if failed else 0


sys.exit(main())
