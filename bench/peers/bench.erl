%% Measures Erlang for one row. Prints "name value" lines.
%%
%% erl +S SCHEDULERS -noshell -s bench run ROW          ROW: pingpong fanin ask spawn memory
%% erl +S 1 -name server@127.0.0.1 ... -s bench server       1000 processes and one for look-ups
%% erl +S 1 -name client@127.0.0.1 ... -s bench client ROW   ROW: tell direct ask; stops the server
%%
%% ask: gen_server:call with its time-out, by 1 process and by 64 processes; the better result
%% counts. direct: tells to the processes themselves. The client knows them, so no layer of sharding
%% has to find them.
-module(bench).
-export([run/1, server/0, client/1]).

%% Returns millions in a second: by processor time of the whole node, and by elapsed time.
rate(Count, Work) ->
    {Cpu, _} = statistics(runtime),
    Begin = erlang:monotonic_time(nanosecond),
    Work(),
    Took = erlang:monotonic_time(nanosecond) - Begin,
    {CpuEnd, _} = statistics(runtime),
    {Count / max(1, CpuEnd - Cpu) / 1000, Count * 1000 / Took}.

tell(Name, Value) -> io:format("~s ~.4f~n", [Name, Value * 1.0]).

tell_rate({Cpu, Rate}) -> tell("cpu_rate", Cpu), tell("rate", Rate).

%% Only the second run counts.
twice(Work) -> Work(), Work().

run([pingpong]) -> tell_rate(twice(fun() -> pingpong(1000000) end)), halt();
run([fanin]) -> tell_rate(twice(fun() -> fanin(4, 500000) end)), halt();
run([ask]) -> tell_rate(max(twice(fun() -> ask(500000, 1) end), twice(fun() -> ask(500000, 64) end))), halt();
run([spawn]) -> tell_rate(twice(fun() -> spawn_stop(500000) end)), halt();
run([memory]) -> tell("bytes", memory(1000000)), halt().

wait(0) -> ok;
wait(N) -> receive done -> wait(N - 1) end.

pingpong(N) ->
    Main = self(),
    rate(2 * N, fun() ->
        A = spawn(fun() -> receive {peer, P} -> P ! go, pair(P, N, Main) end end),
        B = spawn(fun() -> pair(A, N, Main) end),
        A ! {peer, B},
        wait(2)
    end).

pair(_, 0, Main) -> Main ! done;
pair(P, N, Main) -> receive go -> P ! go, pair(P, N - 1, Main) end.

fanin(Producers, N) ->
    Main = self(),
    rate(Producers * N, fun() ->
        Sink = spawn(fun() -> sink(Producers * N, Main) end),
        [spawn(fun() -> producer(Sink, N) end) || _ <- lists:seq(1, Producers)],
        wait(1)
    end).

sink(0, Main) -> Main ! done;
sink(N, Main) ->
    receive
        {message, _} -> sink(N - 1, Main);
        {last, P} -> P ! go, sink(N - 1, Main)
    end.

producer(_, 0) -> ok;
producer(Sink, N) ->
    burst(Sink, 999),
    Sink ! {last, self()},
    receive go -> producer(Sink, N - 1000) end.

burst(_, 0) -> ok;
burst(Sink, N) -> Sink ! {message, N}, burst(Sink, N - 1).

ask(N, Askers) ->
    Main = self(),
    Each = N div Askers,
    Answerer = spawn(fun answerer/0),
    Rate = rate(Each * Askers, fun() ->
        [spawn(fun() -> asker(Answerer, Each), Main ! done end) || _ <- lists:seq(1, Askers)],
        wait(Askers)
    end),
    exit(Answerer, kill),
    Rate.

answerer() -> receive {'$gen_call', {P, Ref}, _} -> P ! {Ref, ok}, answerer() end.

asker(_, 0) -> ok;
asker(Answerer, N) -> ok = gen_server:call(Answerer, x), asker(Answerer, N - 1).

spawn_stop(N) -> Main = self(), rate(N, fun() -> spawn_some(Main, N) end).

spawn_some(_, 0) -> ok;
spawn_some(Main, N) ->
    Count = min(N, 256),
    [begin
         P = spawn(fun() -> receive {go, To} -> To ! done end end),
         P ! {go, Main}
     end || _ <- lists:seq(1, Count)],
    wait(Count),
    spawn_some(Main, N - Count).

resident() ->
    {ok, Text} = file:read_file("/proc/self/status"),
    {match, [Value]} = re:run(Text, "VmRSS:\\s+(\\d+)", [{capture, [1], list}]),
    list_to_integer(Value) * 1024.

memory(N) ->
    Before = resident(),
    All = [spawn(fun() -> erlang:hibernate(erlang, apply, [fun idle/0, []]) end)
           || _ <- lists:seq(1, N)],
    timer:sleep(2000),
    After = resident(),
    [P ! stop || P <- All],
    (After - Before) / N.

idle() -> receive stop -> ok end.

%% ---- two nodes ----

server() ->
    Table = ets:new(entities, [set, public, named_table, {read_concurrency, true}]),
    [ets:insert(Table, {I, spawn(fun() -> entity(0) end)}) || I <- lists:seq(1, 1000)],
    register(server, self()),
    serve(Table).

serve(Table) ->
    receive
        {tell, Id, Body} ->
            [{_, P}] = ets:lookup(Table, Id), P ! {tell, Body}, serve(Table);
        {ask, Id, From, Ref, Body} ->
            [{_, P}] = ets:lookup(Table, Id), P ! {ask, From, Ref, Body}, serve(Table);
        {sync, From} -> From ! synced, serve(Table);
        {pids, From} -> From ! {pids, [P || {_, P} <- lists:sort(ets:tab2list(Table))]}, serve(Table);
        halt -> halt()
    end.

entity(N) ->
    receive
        {tell, _} -> entity(N + 1);
        {ask, From, Ref, Body} -> From ! {Ref, Body}, entity(N)
    end.

client([Row]) ->
    Node = 'server@127.0.0.1',
    pong = connect(Node, 100),
    Server = {server, Node},
    Body = binary:copy(<<7>>, 100),
    timer:sleep(300),
    measure(Row, Server, Body),
    Server ! halt,
    timer:sleep(200),
    halt().

connect(_, 0) -> pang;
connect(Node, N) ->
    case net_adm:ping(Node) of
        pong -> pong;
        _ -> timer:sleep(100), connect(Node, N - 1)
    end.

measure(tell, Server, Body) ->
    N = 300000,
    tell_rate(twice(fun() ->
        rate(N, fun() -> tells(Server, Body, N), receive synced -> ok end end)
    end));
measure(direct, Server, Body) ->
    N = 300000,
    Server ! {pids, self()},
    Pids = receive {pids, List} -> list_to_tuple(List) end,
    tell_rate(twice(fun() ->
        rate(N, fun() -> direct(Server, Pids, Body, N), receive synced -> ok end end)
    end));
measure(ask, Server, Body) ->
    _ = [latency(Server, Body, I) || I <- lists:seq(1, 1000)],
    L = lists:sort([latency(Server, Body, I) || I <- lists:seq(1, 10000)]),
    tell("p50", lists:nth(5000, L) / 1000),
    tell("p99", lists:nth(9900, L) / 1000).

tells(Server, _, 0) -> Server ! {sync, self()};
tells(Server, Body, N) ->
    Server ! {tell, 1 + (N rem 1000), Body},
    case N rem 1000 of
        0 -> Server ! {sync, self()}, receive synced -> ok end;
        _ -> ok
    end,
    tells(Server, Body, N - 1).

%% All messages use one connection in order, so the server's answer comes after all tells.
direct(Server, _, _, 0) -> Server ! {sync, self()};
direct(Server, Pids, Body, N) ->
    element(1 + (N rem 1000), Pids) ! {tell, Body},
    case N rem 1000 of
        0 -> Server ! {sync, self()}, receive synced -> ok end;
        _ -> ok
    end,
    direct(Server, Pids, Body, N - 1).

latency(Server, Body, I) ->
    Ref = make_ref(),
    Begin = erlang:monotonic_time(nanosecond),
    Server ! {ask, 1 + (I rem 1000), self(), Ref, Body},
    receive {Ref, _} -> erlang:monotonic_time(nanosecond) - Begin end.
