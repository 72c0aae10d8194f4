#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A user of a mount beside another one who reads as much as he can, and beside one who only computes.

An attack is 40 processes of one user, each of which begins again when its read has ended. Another user runs `cat`,
one process for each file, beside it, and beside as many processes of the attacker that only compute, by turns. The
ratios of these two count. During `streams` (36 processes read all rows, 36 list all) he also runs `stat` and `ls`,
and so does the attacker himself. Root counts the rows of the large table once under each attack.

Linux divides a processor between sessions first (sched_autogroup), so 40 that compute in another session hardly delay
a `cat`. Here each user has a session of his own, as the server has. With BENCH_SESSIONS=one the users share one.

  BENCH_ROWS=N     rows of the large table (default 2,000,000)
  BENCH_ROUNDS=N   rounds (default 5)
  BENCH_CALLS=N    calls of each turn (default 300), of each kind
  BENCH_SECONDS=N  a turn ends then at the latest, and tells how many calls it had (default 5)
  BENCH_BUSY=N     processes that compute (default: as many as attack; a stricter peer: as the machine has cores)
  BENCH_SESSIONS   one: the users share a session (default: each)

bench_fair.py BUILD [ATTACK…]   as root, since it acts as three users
"""
import contextlib, json, os, random, signal, statistics, subprocess, sys, tempfile, time
from stores import BUILD, load, make, quantile, setting

ROWS = setting('ROWS', 2000000)
ROUNDS = setting('ROUNDS', 5)
CALLS = setting('CALLS', 300)
SECONDS = setting('SECONDS', 5.0)
BUSY = setting('BUSY', 0)
ALONE = os.environ.get('BENCH_SESSIONS') != 'one'
PROCESSES, STREAMS, DIRECTORIES, FILES = 40, 36, 50, 100
ATTACKER, OTHER = 2001, 2002
PROGRAMS = {'cat': '/bin/cat', 'stat': '/usr/bin/stat', 'ls': '/bin/ls'}
SCHEMA = '{"version":1,"tables":{"t":{"families":{"f":{}}},"s":{"families":{"f":{}}}}}'


def fill(store):
    make(store, SCHEMA)
    for table, rows, directory in ('t', ROWS, 10000), ('s', DIRECTORIES * FILES, FILES):
        load(store, table, (f'{{"key":"{i // directory:03d}#{i % directory:04d}","families":{{"f":{{"q":["{i}"]}}}}}}\n'
                            for i in range(rows)))


@contextlib.contextmanager
def mounted(store):
    mount = store + '.mount'
    os.makedirs(mount)
    server = subprocess.Popen([f'{BUILD}/rowfs', '-f', '-o', 'allow_other', store, mount], start_new_session=True,
                              stderr=subprocess.DEVNULL)
    try:
        while not os.path.ismount(mount):
            assert server.poll() is None
            time.sleep(0.01)
        yield mount, server.pid
    finally:
        server.terminate()
        try:
            server.wait(60)
        except subprocess.TimeoutExpired:
            server.kill()  # a server that hangs; its clients end with it
            server.wait()
        if os.path.ismount(mount):
            subprocess.run(['umount', '-l', mount], check=True)


# ---- Processes of a user -----------------------------------------------------------------------

def fork(work, *arguments):
    pid = os.fork()
    if pid == 0:
        try:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process ends its children
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            work(*arguments)
        finally:
            os._exit(0)
    return pid


def session(uid, work, *arguments):
    """Becomes that user, with a process group of its own, which the first process ends."""
    os.setsid() if ALONE else os.setpgid(0, 0)
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    work(*arguments)


def repeat(work, path):
    while True:
        try:
            work(path)
        except OSError:
            pass  # refused: it tries again


def crowd(works):
    """A process for each; ends when they have ended."""
    for work, path in works:
        fork(repeat, work, path)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()


@contextlib.contextmanager
def beside(works):
    leader = fork(session, ATTACKER, crowd, works)
    try:
        yield
    finally:
        ended, patience = 0, time.monotonic() + 60
        while ended == 0 and time.monotonic() < patience:  # it may not have made the group, or all of its processes, yet
            with contextlib.suppress(ProcessLookupError):
                os.killpg(leader, signal.SIGTERM)
            time.sleep(0.02)
            ended, _ = os.waitpid(leader, os.WNOHANG)
        if ended == 0:
            sys.exit('bench_fair.py: the readers do not end: the server hangs')


# ---- Reads and computations --------------------------------------------------------------------

def read(path):
    file = os.open(path, os.O_RDONLY)
    try:
        while os.read(file, 1 << 17):
            pass
    finally:
        os.close(file)


def scan(path):
    for _ in os.walk(path):
        pass


def compute(_):
    while True:
        pass


def attacks(mount):
    t = mount + '/t'
    one = {'count': t + '/.count',
           'explain': t + '/.families/f/explain/maxversions=1',
           'chain': t + '/.value/[0-9]*' * 32 + '/.count',
           'where': t + '/.where/f:q=none/.rows',
           'last': f'{t}/.last/{ROWS // 2}/.count',
           'advice': mount + '/.rowfs/advice'}
    works = {name: [(read, path)] * PROCESSES for name, path in one.items()}
    works['streams'] = [(read, t + '/.rows')] * STREAMS + [(scan, t)] * STREAMS
    return works


# ---- Users -------------------------------------------------------------------------------------

def path_of(kind, mount):
    directory = f'{mount}/s/{random.randrange(DIRECTORIES):03d}'
    return directory if kind == 'ls' else f'{directory}/{random.randrange(FILES):04d}/f/q'


def call(kinds, mount, report):
    """Runs the programs, each kind in its turn; writes the milliseconds of each call."""
    times = {kind: [] for kind in kinds}
    quiet = [(os.POSIX_SPAWN_OPEN, 1, '/dev/null', os.O_WRONLY, 0)]
    end = time.monotonic() + SECONDS
    while time.monotonic() < end and len(times[kinds[-1]]) < CALLS:
        for kind in kinds:
            start = time.monotonic()
            pid = os.posix_spawn(PROGRAMS[kind], [kind, path_of(kind, mount)], {}, file_actions=quiet)
            status = os.waitpid(pid, 0)[1]
            times[kind].append(1000 * (time.monotonic() - start))
            assert status == 0
    with open(report, 'w') as file:
        json.dump(times, file)


def calls_of(uid, kinds, mount):
    out, into = os.pipe()
    caller = fork(session, uid, call, kinds, mount, into)
    try:
        os.close(into)
        with open(out) as file:
            return json.load(file)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(caller, signal.SIGTERM)
        os.waitpid(caller, 0)


def count_of_root(mount):
    start = time.monotonic()
    cat = subprocess.run(['cat', mount + '/t/.count'], capture_output=True, text=True)
    right = cat.returncode == 0 and json.loads(cat.stdout)['rows'] == ROWS
    return f'root: .count {"right" if right else cat.stderr.strip() or cat.stdout} in {time.monotonic() - start:.1f} s'


# ---- Turns -------------------------------------------------------------------------------------

def spent(pid):
    """Seconds of processor time."""
    with open(f'/proc/{pid}/stat') as file:
        fields = file.read().rsplit(')', 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def turn(works, users, kinds, mount):
    with beside(works):
        time.sleep(0.5)
        return {name: calls_of(uid, kinds, mount) for name, uid in users.items()}


def say(what, pairs):
    """pairs: of the calls of a kind beside the attack and beside the busy processes, one for each round."""
    sides = [[ms for pair in pairs for ms in pair[side]] for side in (0, 1)]
    print(f'  {what:12} ' + ';  '.join(
        f'{name} p50 {quantile(side, 0.5):7.1f} p95 {quantile(side, 0.95):7.1f} max {max(side):7.1f} ms ({len(side)})'
        for name, side in zip(('attack', 'busy'), sides)))
    for q, aim in (0.5, 2), (0.95, 3):
        ratios = [quantile(attack, q) / quantile(busy, q) for attack, busy in pairs]
        print(f'    p{100 * q:.0f}: {statistics.median(ratios):.2f} x ({min(ratios):.2f} to {max(ratios):.2f}), aim {aim}; '
              'rounds ' + ' '.join(f'{ratio:.2f}' for ratio in ratios), flush=True)


def run(name, works, mount, server):
    users = {'other': OTHER} | ({'himself': ATTACKER} if name == 'streams' else {})
    kinds = ['cat', 'stat', 'ls'] if name == 'streams' else ['cat']
    busy = [(compute, None)] * (BUSY or len(works))
    rounds, begun, used = [], time.monotonic(), spent(server)
    print(f'{name}: {len(works)} processes; the peer: {len(busy)} that compute', flush=True)
    with beside(works):
        time.sleep(0.5)
        print(f'  {count_of_root(mount)}; the server used {spent(server) - used:.1f} s of processors meanwhile, '
              f'in {time.monotonic() - begun:.1f} s', flush=True)
    for number in range(ROUNDS):
        pair = [works, busy][::1 if number % 2 == 0 else -1]
        results = [turn(work, users, kinds, mount) for work in pair]
        rounds.append(results[::1 if number % 2 == 0 else -1])
    for user in users:
        for kind in kinds:
            say(f'{kind}, {user}', [[side[user][kind] for side in pair] for pair in rounds])


def end(number, _):
    for other in signal.SIGINT, signal.SIGTERM:
        signal.signal(other, signal.SIG_IGN)
    sys.exit(128 + number)


def main():
    for number in signal.SIGINT, signal.SIGTERM:
        signal.signal(number, end)
    with tempfile.TemporaryDirectory(prefix='rowfs-bench.') as place:
        os.chmod(place, 0o755)
        fill(place + '/store')
        with mounted(place + '/store') as (mount, server):
            works = attacks(mount)
            alone = calls_of(OTHER, list(PROGRAMS), mount)
            print('alone: ' + ', '.join(f'{kind} p50 {quantile(times, 0.5):.1f} p95 {quantile(times, 0.95):.1f} ms'
                                        for kind, times in alone.items()), flush=True)
            for name in sys.argv[2:] or works:
                run(name, works[name], mount, server)


main()
