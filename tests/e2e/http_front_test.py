"""Tests examples/http_front.c: three processes serve counters over HTTP. A counter has one value,
whichever process is asked. One process leaves during requests, and one is killed.

usage: http_front_test.py HTTP_FRONT"""
import http.client
import subprocess
import sys
import threading
import time

from cluster import free_port

THREADS = 12
POSTS = 30  # of each thread
failed = []


def expect(condition, what):
    print(f"{'ok' if condition else 'FAILED'}: {what}", flush=True)
    if not condition:
        failed.append(what)


class Front:
    """A process of the example."""

    def __init__(self, program, seed=None):
        self.http_port, self.port = free_port(), free_port()
        self.process = subprocess.Popen([program, str(self.http_port), str(self.port)] + ([seed] if seed else []))
        self.seed = f"127.0.0.1:{self.port}"

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.http_port, timeout=60)

    def request(self, method, path, body=None, connection=None):
        """Returns the status, the text and the port of the counter's node."""
        once = connection or self.connect()
        try:
            once.request(method, path, body)
            answer = once.getresponse()
            return answer.status, answer.read().decode().strip(), answer.getheader("X-Node")
        finally:
            if not connection:
                once.close()

    def get(self, name):
        return self.request("GET", f"/counter/{name}")

    def wait_up(self):
        """Returns the statuses before the first 200."""
        statuses = set()
        for _ in range(600):
            try:
                status = self.get("first")[0]
            except ConnectionRefusedError:
                status = None
            if status == 200:
                break
            statuses.add(status)
            time.sleep(0.1)
        expect(status == 200, f"the front on port {self.http_port} answers")
        return statuses - {None}

    def end(self):
        """Lets the process leave. Returns its status."""
        if self.process.returncode is None:
            self.process.terminate()
        return self.wait()

    def wait(self):
        try:
            return self.process.wait(90)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


def post_all(fronts, path, statuses):
    """Adds 1 to a counter in turn on the fronts, each on a connection that stays open."""
    connections = [(front, front.connect()) for front in fronts]
    for number in range(POSTS):
        front, connection = connections[number % len(connections)]
        try:
            statuses.append(front.request("POST", path(number), b"1", connection)[0])
        except (OSError, http.client.HTTPException) as error:
            statuses.append(type(error).__name__)
            connection.close()  # the next request connects again
    for _, connection in connections:
        connection.close()


def run_threads(fronts, path):
    """Starts threads that post. Returns them and the statuses that they get."""
    statuses = []
    threads = [threading.Thread(target=post_all, args=(fronts, path, statuses)) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    return threads, statuses


def check_requests(fronts):
    expect(fronts[0].request("POST", "/counter/caf%C3%A9%2F1", b"40")[1] == "40", "a post adds to a counter")
    expect(fronts[1].request("POST", "/counter/caf%C3%A9%2F1", b"-2")[1] == "38", "and so does a post to another process")
    expect(fronts[2].get("caf%C3%A9%2F1")[1] == "38", "a third process has the value")
    for path in ("/", "/counter/", "/count/x", "/counter/" + "x" * 300):
        status = fronts[0].request("GET", path)[0]
        expect(status == 404, f"there is no {path[:20]}: {status}")


def check_load(fronts):
    threads, statuses = run_threads(fronts, lambda number: f"/counter/{number % 10}")
    for thread in threads:
        thread.join()
    wanted = THREADS * POSTS
    expect(statuses == [200] * wanted, f"each of {wanted} posts has an answer: {set(statuses)}")
    values = [fronts[number % 3].get(number) for number in range(10)]
    expect([int(value[1]) for value in values] == [wanted // 10] * 10, f"each post was counted once: {values}")
    nodes = {value[2] for value in values}
    expect(len(nodes) > 1 and nodes <= {str(front.port) for front in fronts}, f"the counters live on several nodes: {nodes}")


def check_leave(fronts):
    """One process gets SIGTERM during requests to all."""
    threads, statuses = run_threads(fronts, lambda number: f"/counter/leave-{number}")
    ended = fronts.pop().end()
    for thread in threads:
        thread.join()
    allowed = {200, 503, 504, "ConnectionRefusedError", "ConnectionResetError", "RemoteDisconnected", "BrokenPipeError"}
    expect(ended == 0, f"a process leaves: {ended}")
    expect(200 in statuses and set(statuses) <= allowed, f"requests end while a process leaves: {set(statuses)}")
    later = {fronts[number % 2].get(f"leave-{number}")[0] for number in range(POSTS)}
    expect(later == {200}, f"all counters answer after it: {later}")


def check_kill(fronts):
    """One process is killed. Requests for its counters time out, and others are answered."""
    places = {name: fronts[0].get(f"kill-{name}")[2] for name in range(40)}
    lost = fronts.pop()
    there = [name for name, node in places.items() if node == str(lost.port)]
    here = [name for name, node in places.items() if node == str(fronts[0].port)]
    expect(there and here, f"both nodes have counters: {len(there)}, {len(here)}")
    lost.process.kill()
    lost.process.wait()
    answers = {name: None for name in there[:3] + here[:3]}

    def get(name):
        answers[name] = fronts[0].get(f"kill-{name}")
    threads = [threading.Thread(target=get, args=(name,)) for name in answers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expect(all(answers[name][:2] == (504, "timed out") for name in there[:3]), f"counters of a dead node time out: {answers}")
    expect(all(answers[name][0] == 200 for name in here[:3]), "others answer")


def main():
    program = sys.argv[1]
    fronts = [Front(program)]
    every = list(fronts)
    try:
        fronts[0].wait_up()
        fronts += [Front(program, fronts[0].seed) for _ in range(2)]
        alone = Front(program, f"127.0.0.1:{free_port()}")
        every += fronts[1:] + [alone]
        for front in fronts[1:]:
            early = front.wait_up()
            expect(early <= {503}, f"a node that is not up refuses: {early}")
        check_requests(fronts)
        check_load(fronts)
        status, text, _ = alone.get("x")
        expect(status == 503 and "not up" in text, f"a node without a cluster refuses: {status}, {text}")
        expect(alone.end() == 0, "and ends")
        check_leave(fronts)
        check_kill(fronts)
    finally:
        for front in every:
            front.process.kill()
            front.process.wait()
    return 1 if failed else 0


sys.exit(main())
