"""Attempts to read what lies outside: contents, names, links, attributes and times."""

from __future__ import annotations

from .attempt import table

FAMILY = "reading files"

CONTENTS = {
    "open": "leak(open(SECRET_FILE).read())",
    "open from C": """
libc.fopen.restype = ctypes.c_void_p
stream = libc.fopen(SECRET_FILE.encode(), b"r")
buffer = ctypes.create_string_buffer(64)
if stream:
    libc.fread(buffer, 1, 63, ctypes.c_void_p(stream))
leak(buffer.value)
""",
    "by the root of /proc/self": "leak(open('/proc/self/root' + SECRET_FILE).read())",
    "by the root of another process": "leak(open(f'/proc/{VICTIM}/root' + SECRET_FILE).read())",
    "by the root of the caller": "leak(open(f'/proc/{HARNESS}/root' + SECRET_FILE).read())",
    "by the root of process 1 or any other": """
for pid in sorted(int(n) for n in os.listdir("/proc") if n.isdigit()):
    try:
        leak(open(f"/proc/{pid}/root" + SECRET_FILE).read())
    except OSError:
        continue
""",
    "by the working folder of another process": """
folder = os.open(f"/proc/{VICTIM}/cwd", os.O_RDONLY)
leak(os.read(os.open("../" * 40 + SECRET_FILE[1:], os.O_RDONLY, dir_fd=folder), 99))
""",
    "by a descriptor of another process": "leak(open(f'/proc/{VICTIM}/fd/{VICTIM_FD}').read())",
    "through a symbolic link": """
os.symlink(SECRET_FILE, TOKEN + "link")
leak(open(TOKEN + "link").read())
""",
    "through a link of links": """
os.symlink("/proc/self/root", TOKEN + "a")
os.symlink(TOKEN + "a" + SECRET_FILE, TOKEN + "b")
leak(open(TOKEN + "b").read())
""",
    "by a hard link into its own folder": """
os.link(SECRET_FILE, TOKEN + "hard")
leak(open(TOKEN + "hard").read())
""",
    "by moving it into its own folder and back": """
os.rename(SECRET_FILE, TOKEN + "moved")
leak(open(TOKEN + "moved").read())
os.rename(TOKEN + "moved", SECRET_FILE)
""",
    "by exchanging it with a file of its own": """
open(TOKEN + "own", "w").close()
call(316, -100, (TOKEN + "own").encode(), -100, SECRET_FILE.encode(), 2)
leak(open(TOKEN + "own").read())
call(316, -100, (TOKEN + "own").encode(), -100, SECRET_FILE.encode(), 2)
""",
    "openat2": """
how = struct.pack("<QQQ", os.O_RDONLY, 0, 0)
leak(os.read(call(437, -100, SECRET_FILE.encode(), how, len(how)), 99))
""",
    "openat2 from the root of /": """
root = os.open("/", os.O_PATH)
how = struct.pack("<QQQ", os.O_RDONLY, 0, 0x10)
leak(os.read(call(437, root, SECRET_FILE.encode(), how, len(how)), 99))
""",
    "O_PATH opened again": """
fd = os.open(SECRET_FILE, os.O_PATH)
leak(open(f"/proc/self/fd/{fd}").read())
""",
    "O_PATH as a folder": """
fd = os.open(HOME, os.O_PATH)
leak(os.read(os.open(".ssh/id_ed25519", os.O_RDONLY, dir_fd=fd), 99))
""",
    "many steps upwards": "leak(open('../' * 60 + SECRET_FILE[1:]).read())",
    "chdir and a relative name": """
os.chdir(HOME)
leak(open(".ssh/id_ed25519").read())
""",
    "fchdir": """
os.fchdir(os.open(HOME, os.O_RDONLY))
leak(open(".ssh/id_ed25519").read())
""",
    "mmap": """
with open(SECRET_FILE, "rb") as file:
    leak(mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)[:])
""",
    "sendfile": """
fd = os.open(SECRET_FILE, os.O_RDONLY)
near, far = os.pipe()
os.sendfile(far, fd, 0, 64)
leak(os.read(near, 64))
""",
    "copy_file_range": """
fd, own = os.open(SECRET_FILE, os.O_RDONLY), os.open(TOKEN + "copy", os.O_RDWR | os.O_CREAT, 0o600)
os.copy_file_range(fd, own, 64)
leak(os.pread(own, 64, 0))
""",
    "splice": """
fd = os.open(SECRET_FILE, os.O_RDONLY)
near, far = os.pipe()
call(275, fd, 0, far, 0, 64, 0)
leak(os.read(near, 64))
""",
    "io_uring open and read": """
ring = Ring()
fd = ring.do(18, fd=-100, address=kept(SECRET_FILE.encode()), flags=os.O_RDONLY)
place = kept(bytes(64))
ring.do(22, fd=fd, address=place, length=64)
leak(ctypes.string_at(place, 64))
""",
    "io_uring openat2": """
ring = Ring()
how = kept(struct.pack("<QQQ", os.O_RDONLY, 0, 0))
fd = ring.do(28, fd=-100, address=kept(SECRET_FILE.encode()), length=24, offset=how)
leak(os.read(fd, 64))
""",
    "io_uring direct descriptor": """
ring = Ring()
slots = (ctypes.c_int * 1)(-1)
call(427, ring.fd, 2, slots, 1)
ring.do(18, fd=-100, address=kept(SECRET_FILE.encode()), flags=os.O_RDONLY, index=1)
place = kept(bytes(64))
entry = struct.pack("<BBHiQQIIQHHiQQ", 22, 1, 0, 0, 0, place, 64, 0, 0, 0, 0, 0, 0, 0)
tail = struct.unpack_from("<I", ring.sq, ring.sq_tail)[0]
slot = tail & struct.unpack_from("<I", ring.sq, ring.sq_mask)[0]
ring.entries[slot * 64 : slot * 64 + 64] = entry
struct.pack_into("<I", ring.sq, ring.sq_array + slot * 4, slot)
struct.pack_into("<I", ring.sq, ring.sq_tail, tail + 1)
call(426, ring.fd, 1, 1, 1, 0, 0)
leak(ctypes.string_at(place, 64))
""",
    "32-bit open": "leak(os.read(int80(5, low_memory(SECRET_FILE.encode()), 0, 0), 64))",
    "x32 open": "leak(os.read(call(0x40000000 | 2, SECRET_FILE.encode(), 0, 0), 64))",
    "another program": "leak(subprocess.run(['cat', SECRET_FILE], stdout=subprocess.PIPE).stdout)",
    "the dynamic loader as program": """
loader = "/lib64/ld-linux-x86-64.so.2"
leak(subprocess.run([loader, "/bin/cat", SECRET_FILE], stdout=subprocess.PIPE).stdout)
""",
    "a program in memory": """
fd = os.memfd_create("program")
os.write(fd, open("/bin/cat", "rb").read())
os.set_inheritable(fd, True)
done = subprocess.run([f"/proc/self/fd/{fd}", SECRET_FILE], stdout=subprocess.PIPE, close_fds=False)
leak(done.stdout)
""",
    "a script's interpreter line": """
with open(TOKEN + "script", "w") as file:
    file.write("#!/bin/cat " + SECRET_FILE + "\\n")
os.chmod(TOKEN + "script", 0o700)
leak(subprocess.run(["./" + TOKEN + "script"], stdout=subprocess.PIPE).stdout)
""",
    "a thread that was there before": """
found = []
thread = threading.Thread(target=lambda: found.append(open(SECRET_FILE).read()))
thread.start()
thread.join()
leak(*found)
""",
    "a mapping read by /proc/self/mem": """
fd = os.open(SECRET_FILE, os.O_RDONLY)
libc.mmap.restype = ctypes.c_void_p
place = libc.mmap(None, ctypes.c_size_t(4096), 1, 2, fd, ctypes.c_long(0))
with open("/proc/self/mem", "rb", buffering=0) as memory:
    memory.seek(place)
    leak(memory.read(64))
""",
    "shared folder of memory": "leak(open(SHM_FILE).read())",
    "shared temporary folder": "leak(open(TMP_FILE).read())",
}

NAMESPACES = {
    "a bind mount in a user namespace": """
new_user_namespace(0x20000)
os.mkdir(TOKEN + "mnt")
mounted(HOME.encode(), (TOKEN + "mnt").encode(), None, 4096 | 16384)
leak(open(TOKEN + "mnt/.ssh/id_ed25519").read())
""",
    "chroot in a user namespace": """
new_user_namespace()
os.chroot(HOME)
leak(open("/.ssh/id_ed25519").read())
""",
    "an overlay in a user namespace": """
new_user_namespace(0x20000)
for name in ("up", "work", "all"):
    os.mkdir(TOKEN + name)
mounted(b"tmpfs", (TOKEN + "up").encode(), b"tmpfs")
for name in ("u", "w"):
    os.mkdir(f"{TOKEN}up/{name}")
here = os.getcwd()
data = f"lowerdir={HOME},upperdir={here}/{TOKEN}up/u,workdir={here}/{TOKEN}up/w,userxattr"
mounted(b"overlay", (TOKEN + "all").encode(), b"overlay", 0, data.encode())
leak(open(TOKEN + "all/.ssh/id_ed25519").read())
""",
    "open_tree and move_mount": """
new_user_namespace(0x20000)
os.mkdir(TOKEN + "mnt")
fd = call(428, -100, HOME.encode(), 1 | 0x8000)
leak(os.read(os.open(".ssh/id_ed25519", os.O_RDONLY, dir_fd=fd), 64))
""",
    "unmounting what hides the home": """
new_user_namespace(0x20000)
parts = HOME.split("/")
for end in range(len(parts), 1, -1):
    libc.umount2("/".join(parts[:end]).encode(), 2)
leak(open(SECRET_FILE).read())
""",
    "pivot_root to the old root": """
new_user_namespace(0x20000)
mounted(None, b"/", None, 0x44000)
os.mkdir(TOKEN + "mnt")
mounted(b"/", (TOKEN + "mnt").encode(), None, 4096 | 16384)
leak(open(TOKEN + "mnt" + SECRET_FILE).read())
""",
}

DATA_OF_NAMES = {
    "the names in a folder": "leak(os.listdir(HOME + '/listed'))",
    "getdents on an O_PATH parent": """
fd = os.open("listed", os.O_RDONLY | os.O_DIRECTORY, dir_fd=os.open(HOME, os.O_PATH))
buffer = ctypes.create_string_buffer(4096)
length = call(217, fd, buffer, 4096)
leak(buffer.raw[:length])
""",
    "where a link leads": "leak(os.readlink(HOME + '/link'))",
    "extended attributes": "leak(os.getxattr(HOME + '/stamped', 'user.secret'))",
    "times of a file": "leak(os.stat(HOME + '/stamped').st_mtime_ns)",
    "times of a file by statx": """
buffer = ctypes.create_string_buffer(256)
call(332, -100, (HOME + "/stamped").encode(), 0, 0xFFF, buffer)
seconds, nanos = struct.unpack_from("<qI", buffer.raw, 112)
leak(seconds * 10**9 + nanos)
""",
    "times of a file by io_uring statx": """
ring = Ring()
place = kept(bytes(256))
ring.do(21, fd=-100, address=kept((HOME + "/stamped").encode()), length=0xFFF, offset=place)
seconds, nanos = struct.unpack_from("<qI", ctypes.string_at(place, 256), 112)
leak(seconds * 10**9 + nanos)
""",
    "names of files as they appear (inotify)": """
fd = libc.inotify_init()
if libc.inotify_add_watch(fd, ACTIVITY.encode(), 0x100) >= 0:
    leak(os.read(fd, 4096))
""",
    "names of files as they appear (fanotify)": """
fd = call(300, 0x200 | 0x400 | 0x800, 0)
call(301, fd, 1, 0x100, -100, ACTIVITY.encode())
leak(os.read(fd, 4096))
""",
    "names of files as they appear (polling)": """
for _ in range(20000):
    for name in os.listdir(ACTIVITY):
        leak(name)
        sys.exit()
""",
    "paths of sockets in /proc/net/unix": "leak(open('/proc/net/unix').read())",
    "paths of sockets by sock_diag": """
end = socket.socket(16, socket.SOCK_RAW, 4)
ask = struct.pack("<BBHIIIII", 1, 0, 0, 0xFFFFFFFF, 0, 3, 0, 0)
end.send(struct.pack("<IHHII", 16 + len(ask), 20, 0x301, 1, 0) + ask)
end.settimeout(0.5)
for _ in range(50):
    leak(end.recv(65536))
""",
}

ROOT = {
    "a handle instead of a name": """
handle = (ctypes.c_uint32 * 40)(128)
place = ctypes.c_int()
call(303, -100, SECRET_FILE.encode(), handle, ctypes.byref(place), 0)
mount = os.open(HOME, os.O_RDONLY)
leak(os.read(call(304, mount, handle, os.O_RDONLY), 64))
""",
    "a file that only its owner may read": "leak(open(OTHERS_FILE).read())",
    "a file of another user by its handle": """
handle = (ctypes.c_uint32 * 40)(128)
place = ctypes.c_int()
call(303, -100, OTHERS_FILE.encode(), handle, ctypes.byref(place), 0)
leak(os.read(call(304, os.open("/", os.O_RDONLY), handle, os.O_RDONLY), 64))
""",
    "a bind mount by root": """
libc.unshare(0x20000)
mounted(None, b"/", None, 0x44000)
os.mkdir(TOKEN + "mnt")
mounted(HOME.encode(), (TOKEN + "mnt").encode(), None, 4096)
leak(open(TOKEN + "mnt/.ssh/id_ed25519").read())
""",
    "the block device under the file system": """
device = os.stat(SECRET_FILE).st_dev
os.mknod(TOKEN + "disk", 0o60600, device)
fd = os.open(TOKEN + "disk", os.O_RDONLY)
os.sync()
extent = (ctypes.c_uint8 * 256)()
struct.pack_into("<QQIIII", extent, 0, 0, 4096, 0, 0, 4, 0)
file = os.open(SECRET_FILE, os.O_RDONLY)
os.fsync(file)
fcntl.ioctl(file, 0xC020660B, extent, True)
leak(os.pread(fd, 64, struct.unpack_from("<Q", bytes(extent), 40)[0]))
""",
    "the root of process 1 by setns": """
if libc.setns(os.open("/proc/1/ns/mnt", os.O_RDONLY), 0) == 0:
    leak(open(SECRET_FILE).read())
""",
}

ATTEMPTS = (
    *table(FAMILY, "leaked", CONTENTS),
    *table("namespaces", "leaked", NAMESPACES),
    *table("names and attributes", "leaked", DATA_OF_NAMES),
    *table("privileges", "leaked", ROOT, root=True),
)
