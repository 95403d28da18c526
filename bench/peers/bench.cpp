// Measures C++ Actor Framework 0.17 for one row. Prints "name value" lines.
//
// caf THREADS ROW      ROW: pingpong fanin ask spawn memory
// ask: requests with a time-out of 5 s, with 1 and with 64 outstanding; the better result counts.
// caf server PORT | caf client-tell PORT | caf client-ask PORT
#include "caf/all.hpp"
#include "caf/io/all.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>
#include <time.h>
#include <unistd.h>
#include <vector>

using namespace caf;
using std::string;
using std::vector;
using steady = std::chrono::steady_clock;

using go_atom = atom_constant<atom("go")>;
using done_atom = atom_constant<atom("done")>;
using last_atom = atom_constant<atom("last")>;
using tell_atom = atom_constant<atom("tell")>;
using ask_atom = atom_constant<atom("ask")>;
using entity_atom = atom_constant<atom("entity")>;
using sync_atom = atom_constant<atom("sync")>;

// Returns millions in a second: by processor time of the whole process, and by elapsed time.
struct rates {
    double cpu, wall;
};

static double cpu_seconds()
{
    struct timespec at;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at);
    return at.tv_sec + at.tv_nsec / 1e9;
}

template <class Work> static rates rate(double count, Work work)
{
    auto begin = steady::now();
    double cpu = cpu_seconds();
    work();
    std::chrono::duration<double> seconds = steady::now() - begin;
    return { count / (cpu_seconds() - cpu) / 1e6, count / seconds.count() / 1e6 };
}

template <class Work> static void tell(Work work)
{
    work(); // only the second run counts
    rates found = work();
    printf("cpu_rate %.4f\nrate %.4f\n", found.cpu, found.wall);
    fflush(stdout);
}

static rates better(rates one, rates other)
{
    return one.cpu > other.cpu ? one : other;
}

struct pair_state {
    int left = 0;
    actor peer;
};

static behavior pair(stateful_actor<pair_state> *self, int count, actor main)
{
    self->state.left = count;
    return { [=](go_atom, actor peer) {
                self->state.peer = peer;
                self->send(peer, go_atom::value);
            },
             [=](done_atom, actor peer) { self->state.peer = peer; },
             [=](go_atom) {
                 if (self->state.peer)
                     self->send(self->state.peer, go_atom::value);
                 if (--self->state.left == 0) {
                     self->send(main, done_atom::value);
                     self->quit();
                 }
             } };
}

static rates pingpong(actor_system &system, int count)
{
    scoped_actor main{ system };
    return rate(2.0 * count, [&] {
        auto a = system.spawn(pair, count, actor{ main });
        auto b = system.spawn(pair, count, actor{ main });
        anon_send(b, done_atom::value, a);
        anon_send(a, go_atom::value, b);
        for (int i = 0; i < 2; i++)
            main->receive([](done_atom) {});
    });
}

struct count_state {
    long left = 0;
};

static behavior sink(stateful_actor<count_state> *self, long count, actor main)
{
    self->state.left = count;
    auto one = [=] {
        if (--self->state.left == 0) {
            self->send(main, done_atom::value);
            self->quit();
        }
    };
    return { [=](tell_atom, int) { one(); },
             [=](last_atom, actor producer) {
                 self->send(producer, go_atom::value);
                 one();
             } };
}

static behavior producer(stateful_actor<count_state> *self, actor to, long count)
{
    self->state.left = count;
    return { [=](go_atom) {
        if (self->state.left <= 0) {
            self->quit();
            return;
        }
        for (int i = 0; i < 999; i++)
            self->send(to, tell_atom::value, i);
        self->send(to, last_atom::value, actor{ self });
        self->state.left -= 1000;
    } };
}

static rates fanin(actor_system &system, int producers, long count)
{
    scoped_actor main{ system };
    return rate(double(producers) * count, [&] {
        auto to = system.spawn(sink, producers * count, actor{ main });
        for (int i = 0; i < producers; i++)
            anon_send(system.spawn(producer, to, count), go_atom::value);
        main->receive([](done_atom) {});
    });
}

static behavior once(event_based_actor *self)
{
    return { [=](go_atom, actor main) {
        self->send(main, done_atom::value);
        self->quit();
    } };
}

static rates spawn_stop(actor_system &system, int count)
{
    scoped_actor main{ system };
    return rate(count, [&] {
        for (int done = 0; done < count; done += 250) {
            for (int i = 0; i < 250; i++)
                anon_send(system.spawn(once), go_atom::value, actor{ main });
            for (int i = 0; i < 250; i++)
                main->receive([](done_atom) {});
        }
    });
}

struct asker_state {
    int left = 0;
};

static void ask_next(stateful_actor<asker_state> *self, const actor &to, const actor &main)
{
    self->request(to, std::chrono::seconds(5), ask_atom::value, 1).then([=](int) {
        if (--self->state.left == 0) {
            self->send(main, done_atom::value);
            self->quit();
        } else if (self->state.left > 0) {
            ask_next(self, to, main);
        }
    });
}

static behavior asker(stateful_actor<asker_state> *self, actor to, actor main, int count, int window)
{
    self->state.left = count;
    return { [=](go_atom) {
        for (int i = 0; i < window; i++)
            ask_next(self, to, main);
    } };
}

static rates ask(actor_system &system, int count, int window)
{
    scoped_actor main{ system };
    auto to = system.spawn([]() -> behavior { return { [](ask_atom, int x) { return x; } }; });
    rates result = rate(count, [&] {
        anon_send(system.spawn(asker, to, actor{ main }, count, window), go_atom::value);
        main->receive([](done_atom) {});
    });
    anon_send_exit(to, exit_reason::kill);
    return result;
}

static behavior entity(stateful_actor<count_state> *self)
{
    return { [=](tell_atom, const string &) { self->state.left++; },
             [=](ask_atom, const string &body) { return body; } };
}

static long resident()
{
    std::ifstream file("/proc/self/status");
    string line;
    while (getline(file, line))
        if (line.rfind("VmRSS:", 0) == 0)
            return atol(line.c_str() + 6) * 1024;
    return 0;
}

static void memory(actor_system &system)
{
    const int count = 1000000;
    long before = resident();
    vector<actor> all;
    all.reserve(count);
    for (int i = 0; i < count; i++)
        all.push_back(system.spawn(entity));
    std::this_thread::sleep_for(std::chrono::seconds(1));
    printf("bytes %.1f\n", (resident() - before) / double(count));
    fflush(stdout);
    _exit(0);
}

struct region_state {
    vector<actor> entities;
};

static behavior region(stateful_actor<region_state> *self)
{
    for (int i = 0; i < 1000; i++)
        self->state.entities.push_back(self->spawn(entity));
    return { [=](entity_atom, int id, const string &body) {
                self->send(self->state.entities[id % 1000], tell_atom::value, body);
            },
             [=](ask_atom, int id, const string &body) {
                 return self->delegate(self->state.entities[id % 1000], ask_atom::value, body);
             },
             [=](sync_atom) { return 1; } };
}

static rates tells(scoped_actor &self, const actor &to, const string &body)
{
    int count = 100000;
    return rate(count, [&] {
        for (int i = 0; i < count; i++) {
            self->send(to, entity_atom::value, i, body);
            if (i % 1000 == 999)
                self->request(to, infinite, sync_atom::value)
                    .receive([](int) {}, [](error &) { exit(2); });
        }
    });
}

static void asks(scoped_actor &self, const actor &to, const string &body)
{
    vector<double> micros;
    for (int i = 0; i < 6000; i++) {
        auto begin = steady::now();
        self->request(to, infinite, ask_atom::value, i, body)
            .receive([](const string &) {}, [](error &) { exit(3); });
        std::chrono::duration<double> seconds = steady::now() - begin;
        if (i >= 1000)
            micros.push_back(seconds.count() * 1e6);
    }
    sort(micros.begin(), micros.end());
    printf("p50 %.2f\np99 %.2f\n", micros[2500], micros[4950]);
    fflush(stdout);
}

static void network(actor_system_config &config, const string &what, uint16_t port)
{
    config.load<io::middleman>();
    config.set("scheduler.max-threads", 1);
    config.set("middleman.workers", 0);
    actor_system system{ config };
    if (what == "server") {
        (void)system.middleman().publish(system.spawn(region), port, "127.0.0.1", true);
        std::this_thread::sleep_for(std::chrono::seconds(120));
        _exit(0);
    }
    auto remote = system.middleman().remote_actor("127.0.0.1", port);
    if (!remote)
        _exit(1);
    scoped_actor self{ system };
    string body(100, 'x');
    if (what == "client-tell")
        tell([&] { return tells(self, *remote, body); });
    else
        asks(self, *remote, body);
    _exit(0);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    string first = argv[1], row = argv[2];
    actor_system_config config;
    if (first == "server" || first.rfind("client", 0) == 0)
        network(config, first, (uint16_t)atoi(argv[2]));
    config.set("scheduler.max-threads", atoi(argv[1]));
    config.set("scheduler.policy", atom("sharing"));
    actor_system system{ config };
    if (row == "pingpong")
        tell([&] { return pingpong(system, 500000); });
    if (row == "fanin")
        tell([&] { return fanin(system, 4, 250000); });
    if (row == "ask")
        tell([&] { return better(ask(system, 200000, 1), ask(system, 200000, 64)); });
    if (row == "spawn")
        tell([&] { return spawn_stop(system, 250000); });
    if (row == "memory")
        memory(system);
    _exit(0);
}
