"""Attempts to reach who listens on the host, to serve there, and to get descriptors over a socket."""

from __future__ import annotations

from .attempt import table

STREAM = """
end = socket.socket(socket.AF_UNIX)
end.connect({address})
end.send(TOKEN.encode())
hold(0.1)
"""


def stream(address: str) -> str:
    """Connect to a unix socket and say the attempt's name."""
    return STREAM.format(address=address)


REACHED = {
    "TCP": "socket.create_connection(('127.0.0.1', TCP)).send(TOKEN.encode())",
    "TCP over IPv6": "socket.create_connection(('::1', TCP6)).send(TOKEN.encode())",
    "TCP to the address of any": "socket.create_connection(('0.0.0.0', TCP)).send(TOKEN.encode())",
    "TCP through a mapped address": """
end = socket.socket(socket.AF_INET6)
end.connect(("::ffff:127.0.0.1", TCP))
end.send(TOKEN.encode())
""",
    "TCP with its first data (fast open)": """
end = socket.socket()
end.sendto(TOKEN.encode(), 0x20000000, ("127.0.0.1", TCP))
hold(0.1)
""",
    "TCP without waiting": """
end = socket.socket()
end.setblocking(False)
end.connect_ex(("127.0.0.1", TCP))
hold(0.1)
end.send(TOKEN.encode())
""",
    "multipath TCP": """
end = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)
end.connect(("127.0.0.1", TCP))
end.send(TOKEN.encode())
""",
    "SMC": """
end = socket.socket(43, socket.SOCK_STREAM, 0)
end.connect(("127.0.0.1", TCP))
end.send(TOKEN.encode())
""",
    "TCP by bash": "subprocess.run(['bash', '-c', f'echo {TOKEN} > /dev/tcp/127.0.0.1/{TCP}'])",
    "TCP by io_uring": """
ring = Ring()
fd = ring.do(45, fd=socket.AF_INET, offset=socket.SOCK_STREAM)
address = kept(struct.pack("<H", socket.AF_INET) + struct.pack(">H", TCP) + bytes([127, 0, 0, 1]) + bytes(8))
ring.do(16, fd=fd, address=address, offset=16)
ring.do(26, fd=fd, address=kept(TOKEN.encode()), length=len(TOKEN))
""",
    "TCP by 32-bit calls": """
fd = int80(359, socket.AF_INET, socket.SOCK_STREAM, 0)
address = struct.pack("<H", socket.AF_INET) + struct.pack(">H", TCP) + bytes([127, 0, 0, 1]) + bytes(8)
int80(362, fd, low_memory(address), 16)
os.write(fd, TOKEN.encode())
""",
    "TCP by the 32-bit call of all calls": """
fd = int80(102, 1, low_memory(struct.pack("<III", socket.AF_INET, socket.SOCK_STREAM, 0)))
address = struct.pack("<H", socket.AF_INET) + struct.pack(">H", TCP) + bytes([127, 0, 0, 1]) + bytes(8)
int80(102, 3, low_memory(struct.pack("<III", fd, low_memory(address), 16)))
os.write(fd, TOKEN.encode())
""",
    "TCP by x32 calls": """
fd = call(0x40000000 | 41, socket.AF_INET, socket.SOCK_STREAM, 0)
socket.socket(fileno=fd).connect(("127.0.0.1", TCP))
os.write(fd, TOKEN.encode())
""",
    "HTTP": """
import urllib.request
urllib.request.urlopen(f"http://127.0.0.1:{TCP}/{TOKEN}", timeout=0.3)
""",
    "UDP": "socket.socket(type=socket.SOCK_DGRAM).sendto(TOKEN.encode(), ('127.0.0.1', UDP))",
    "UDP over IPv6": "socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).sendto(TOKEN.encode(), ('::1', UDP6))",
    "UDP by sendmmsg": """
end = socket.socket(type=socket.SOCK_DGRAM)
end.connect(("127.0.0.1", UDP))
part = (ctypes.c_size_t * 2)(kept(TOKEN.encode()), len(TOKEN))
message = struct.pack("<QIIQQQQQQ", 0, 0, 0, ctypes.addressof(part), 1, 0, 0, 0, 0)
call(307, end.fileno(), message, 1, 0)
""",
    "a question of names over UDP": """
question = b"".join(bytes([len(p)]) + p for p in (TOKEN.encode(), b"example")) + bytes(1)
message = struct.pack(">6H", 1, 256, 1, 0, 0, 0) + question + struct.pack(">2H", 1, 1)
socket.socket(type=socket.SOCK_DGRAM).sendto(message, ("127.0.0.1", UDP))
""",
    "a unix socket": stream("STREAM"),
    "a unix socket by a relative name": "os.chdir(OUTSIDE)" + stream("'stream'"),
    "a unix socket by its descriptor": stream("f'/proc/self/fd/{os.open(STREAM, os.O_PATH)}'"),
    "a unix socket through a link": "os.symlink(STREAM, TOKEN + 'link')" + stream("TOKEN + 'link'"),
    "a unix socket through a hard link": "os.link(STREAM, TOKEN + 'hard')" + stream("TOKEN + 'hard'"),
    "a unix socket through the root of another process": stream("f'/proc/{VICTIM}/root' + STREAM"),
    "a unix socket by io_uring": """
ring = Ring()
fd = ring.do(45, fd=socket.AF_UNIX, offset=socket.SOCK_STREAM)
address = kept(struct.pack("<H", socket.AF_UNIX) + STREAM.encode() + bytes(1))
ring.do(16, fd=fd, address=address, offset=3 + len(STREAM))
ring.do(26, fd=fd, address=kept(TOKEN.encode()), length=len(TOKEN))
""",
    "a unix socket by 32-bit calls": """
fd = int80(359, socket.AF_UNIX, socket.SOCK_STREAM, 0)
address = struct.pack("<H", socket.AF_UNIX) + STREAM.encode() + bytes(1)
int80(362, fd, low_memory(address), len(address))
os.write(fd, TOKEN.encode())
""",
    "an end of a socket pair, connected anew": """
near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
near.connect(DGRAM)
near.send(TOKEN.encode())
""",
    "an end of a socket pair, sent elsewhere": """
near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
near.sendto(TOKEN.encode(), DGRAM)
""",
    "a unix datagram": "socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(TOKEN.encode(), DGRAM)",
    "a unix datagram by sendmsg": """
socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendmsg([TOKEN.encode()], [], 0, DGRAM)
""",
    "a unix packet": """
end = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
end.connect(SEQPACKET)
end.send(TOKEN.encode())
hold(0.1)
""",
    "an abstract name": stream("'\\0' + ABSTRACT"),
    "an abstract name, datagram": """
socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(TOKEN.encode(), "\\0" + ABSTRACT_DGRAM)
""",
    "an abstract name found in /proc/net/unix": """
for line in open("/proc/net/unix"):
    if "@" + ABSTRACT in line and line.split()[4] == "0001":
        end = socket.socket(socket.AF_UNIX)
        end.connect("\\0" + line.split()[-1][1:])
        end.send(TOKEN.encode())
        hold(0.1)
""",
    "the daemon": stream("DAEMON"),
    "the daemon, found in /proc/net/unix": """
for line in open("/proc/net/unix"):
    path = line.split()[-1]
    if path.endswith("daemon.sock") and path == DAEMON:
        end = socket.socket(socket.AF_UNIX)
        end.connect(path)
        end.send(TOKEN.encode())
        hold(0.1)
""",
    "the daemon, from its own folder": "os.chdir(os.path.dirname(DAEMON))" + stream("'daemon.sock'"),
    "the daemon, by a child": """
def work():
    end = socket.socket(socket.AF_UNIX)
    end.connect(DAEMON)
    end.send(TOKEN.encode())
    time.sleep(0.2)
os.waitpid(child(work), 0)
""",
    "the daemon, by a program with another interpreter": """
text = f"import socket; s = socket.socket(1); s.connect({DAEMON!r}); s.send({TOKEN!r}.encode()); s.recv(1)"
subprocess.run([sys.executable, "-IS", "-c", text], env={})
""",
    "the daemon, from a user namespace": "new_user_namespace()" + stream("DAEMON"),
    "the session's bus": stream("BUS"),
    "the agent of keys": stream("AGENT"),
    "the container's daemon": stream("DOCKER"),
    "the display": stream("X11"),
    "an inherited pipe": "os.write(FD_PIPE, TOKEN.encode())",
    "an inherited pipe by /proc": "open(f'/proc/self/fd/{FD_PIPE}', 'w').write(TOKEN)",
    "an inherited pipe of any ancestor": """
pid = os.getppid()
while pid > 0:
    try:
        for fd in os.listdir(f"/proc/{pid}/fd"):
            if pid == HARNESS and int(fd) == FD_PIPE:
                open(f"/proc/{pid}/fd/{fd}", "w").write(TOKEN)
    except OSError as error:
        print(error)
    pid = int(open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[1])
""",
    "all inherited descriptors": """
for fd in range(3, 1024):
    try:
        if os.readlink(f"/proc/self/fd/{fd}").startswith("pipe:"):
            os.set_blocking(fd, False)
            os.write(fd, TOKEN.encode())
    except OSError:
        continue
""",
}

DESCRIPTORS = {
    "a descriptor that a listener gives": """
end = socket.socket(socket.AF_UNIX)
end.connect(STREAM)
_, fds, _, _ = socket.recv_fds(end, 64, 4)
leak(os.pread(fds[0], 64, 0))
""",
    "a descriptor that the daemon's listener gives": """
end = socket.socket(socket.AF_UNIX)
end.connect(DAEMON)
_, fds, _, _ = socket.recv_fds(end, 64, 4)
leak(os.pread(fds[0], 64, 0))
""",
    "a descriptor by io_uring from a listener": """
end = socket.socket(socket.AF_UNIX)
end.connect(STREAM)
place = kept(bytes(64))
hold(0.1)
Ring().do(27, fd=end.fileno(), address=place, length=64)
leak(ctypes.string_at(place, 64))
""",
    "an inherited file": "leak(os.pread(FD_FILE, 64, 0))",
    "an inherited file, opened again": "leak(open(f'/proc/self/fd/{FD_FILE}').read())",
    "an inherited folder": "leak(os.read(os.open('.ssh/id_ed25519', os.O_RDONLY, dir_fd=FD_FOLDER), 64))",
    "an inherited folder as working folder": """
os.fchdir(FD_FOLDER)
leak(open(".ssh/id_ed25519").read())
""",
    "all inherited files": """
for fd in range(3, 1024):
    try:
        leak(os.pread(fd, 64, 0))
    except OSError:
        continue
""",
    "a greeting over TCP": "leak(socket.create_connection(('127.0.0.1', TCP)).recv(64))",
}

SERVING = {
    "TCP": """
end = socket.create_server(("127.0.0.1", PORT))
end.settimeout(1)
end.accept()[0].send(TOKEN.encode())
hold(0.1)
""",
    "TCP on all addresses": """
end = socket.create_server(("", PORT))
end.settimeout(1)
end.accept()[0].send(TOKEN.encode())
hold(0.1)
""",
    "TCP without a bind": """
end = socket.socket()
end.listen()
port = end.getsockname()[1]
end.close()
end = socket.create_server(("0.0.0.0", PORT))
end.settimeout(1)
end.accept()[0].send(TOKEN.encode())
hold(0.1)
""",
    "TCP by io_uring": """
ring = Ring()
end = socket.socket()
end.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
end.bind(("127.0.0.1", PORT))
end.listen()
fd = ring.do(13, fd=end.fileno())
os.write(fd, TOKEN.encode())
hold(0.1)
""",
    "an abstract name": """
end = socket.socket(socket.AF_UNIX)
end.bind("\\0" + TOKEN + "serve")
end.listen()
end.settimeout(1)
end.accept()[0].send(TOKEN.encode())
hold(0.1)
""",
}

TAKEN = {
    "the daemon's place": """
os.unlink(DAEMON)
end = socket.socket(socket.AF_UNIX)
end.bind(DAEMON)
end.listen()
""",
    "the daemon's socket closed to its owner": "os.chmod(DAEMON, 0)",
    "a socket in the daemon's folder": "socket.socket(socket.AF_UNIX).bind(os.path.dirname(DAEMON) + '/other.sock')",
    "a link in the daemon's folder": "os.symlink(HOME, os.path.dirname(DAEMON) + '/lock')",
}

ATTEMPTS = (
    *table("reaching sockets", "reached", REACHED),
    *table("descriptors", "leaked", DESCRIPTORS),
    *table("serving", "served", SERVING),
    *table("the daemon's folder", "tree", TAKEN),
)
