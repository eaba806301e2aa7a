"""Attempts to change what lies outside: contents, names, modes, times and attributes, and what others run later."""

from __future__ import annotations

from .attempt import table

CHANGES = {
    "create": "open(HOME + '/new', 'w').write(TOKEN)",
    "create by O_TMPFILE and link": """
fd = os.open(HOME, os.O_TMPFILE | os.O_RDWR, 0o600)
libc.linkat(-100, f"/proc/self/fd/{fd}".encode(), -100, (HOME + "/new").encode(), 0x400)
""",
    "create from C": "libc.creat((HOME + '/new').encode(), 0o600)",
    "overwrite": "open(SECRET_FILE, 'w').write(TOKEN)",
    "append": "open(HOME + '/.profile', 'a').write(TOKEN)",
    "truncate": "os.truncate(SECRET_FILE, 1)",
    "ftruncate": "os.ftruncate(os.open(SECRET_FILE, os.O_RDWR), 1)",
    "remove": "os.unlink(SECRET_FILE)",
    "rename": "os.rename(SECRET_FILE, SECRET_FILE + '.old')",
    "exchange two names": """
call(316, -100, SECRET_FILE.encode(), -100, (HOME + "/.bashrc").encode(), 2)
""",
    "move a file of its own over it": """
open(TOKEN + "own", "w").close()
os.rename(TOKEN + "own", HOME + "/.bashrc")
""",
    "make a folder": "os.mkdir(HOME + '/new')",
    "remove a folder": "os.rmdir(HOME + '/empty')",
    "make a symbolic link": "os.symlink('/dev/null', HOME + '/new')",
    "make a hard link": """
open(TOKEN + "own", "w").close()
os.link(TOKEN + "own", HOME + "/new")
""",
    "make a FIFO": "os.mkfifo(HOME + '/new')",
    "make a socket": "socket.socket(socket.AF_UNIX).bind(HOME + '/new')",
    "make a whiteout": "call(316, -100, SECRET_FILE.encode(), -100, (SECRET_FILE + 'x').encode(), 4)",
    "make a device": "os.mknod(HOME + '/new', 0o20600)",
    "chmod": "os.chmod(SECRET_FILE, 0o666)",
    "fchmodat2": "call(452, -100, SECRET_FILE.encode(), 0o666, 0)",
    "fchmod by an O_PATH descriptor": """
os.chmod(f"/proc/self/fd/{os.open(SECRET_FILE, os.O_PATH)}", 0o666)
""",
    "close a folder": "os.chmod(HOME, 0)",
    "chown to itself": "os.chown(SECRET_FILE, os.getuid(), os.getgid())",
    "times": "os.utime(SECRET_FILE, (1, 1))",
    "times by a descriptor": "os.utime(os.open(SECRET_FILE, os.O_RDONLY), (1, 1))",
    "set an attribute": "os.setxattr(SECRET_FILE, 'user.token', TOKEN.encode())",
    "remove an attribute": "os.removexattr(HOME + '/stamped', 'user.secret')",
    "set an access list": """
entries = [(1, 6, 0xFFFFFFFF), (2, 6, 65534), (4, 0, 0xFFFFFFFF), (16, 6, 0xFFFFFFFF), (32, 0, 0xFFFFFFFF)]
value = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *e) for e in entries)
os.setxattr(SECRET_FILE, "system.posix_acl_access", value)
""",
    "set an attribute by io_uring": """
ring = Ring()
place = kept(TOKEN.encode())
name, path = kept(b"user.token"), kept(SECRET_FILE.encode())
entry = struct.pack("<BBHiQQIIQHHiQQ", 42, 0, 0, -1, place, name, len(TOKEN), 0, 0, 0, 0, 0, path, 0)
ring.entries[:64] = entry
struct.pack_into("<I", ring.sq, ring.sq_array, 0)
struct.pack_into("<I", ring.sq, ring.sq_tail, 1)
call(426, ring.fd, 1, 1, 1, 0, 0)
""",
    "flags of the inode": """
fd, flags = os.open(SECRET_FILE, os.O_RDONLY), ctypes.c_long()
fcntl.ioctl(fd, 0x80086601, flags)
flags.value |= 0x40 | 0x80
fcntl.ioctl(fd, 0x40086602, flags)
""",
    "write through a shared mapping": """
with open(SECRET_FILE, "r+b") as file:
    mapped = mmap.mmap(file.fileno(), 0)
    mapped[0:1] = b"!"
    mapped.flush()
""",
    "punch a hole": """
call(285, os.open(SECRET_FILE, os.O_RDWR), 3, 0, 8)
""",
    "write with O_DIRECT": """
page = mmap.mmap(-1, 4096)
os.writev(os.open(HOME + "/.bashrc", os.O_WRONLY | os.O_DIRECT), [page])
""",
    "copy_file_range into it": """
os.write(os.open(TOKEN + "own", os.O_CREAT | os.O_RDWR, 0o600), TOKEN.encode())
os.copy_file_range(os.open(TOKEN + "own", os.O_RDONLY), os.open(SECRET_FILE, os.O_RDWR), 8)
""",
    "splice into it": """
near, far = os.pipe()
os.write(far, TOKEN.encode())
call(275, near, 0, os.open(SECRET_FILE, os.O_RDWR), 0, 8, 0)
""",
    "io_uring open and write": """
ring = Ring()
fd = ring.do(18, fd=-100, address=kept((HOME + "/new").encode()), length=0o600, flags=os.O_CREAT | os.O_RDWR)
ring.do(23, fd=fd, address=kept(TOKEN.encode()), length=8)
""",
    "io_uring unlink": "Ring().do(36, fd=-100, address=kept(SECRET_FILE.encode()))",
    "io_uring rename": """
Ring().do(35, fd=-100, address=kept(SECRET_FILE.encode()), length=0xFFFFFF9C, offset=kept((HOME + "/new").encode()))
""",
    "io_uring mkdir": "Ring().do(37, fd=-100, address=kept((HOME + '/new').encode()), length=0o700)",
    "32-bit chmod": "int80(15, low_memory(SECRET_FILE.encode()), 0o666)",
    "32-bit unlink": "int80(10, low_memory(SECRET_FILE.encode()))",
    "x32 unlink": "call(0x40000000 | 87, SECRET_FILE.encode())",
    "another program": "subprocess.run(['touch', HOME + '/new'])",
    "through a link of its own": """
os.symlink(SECRET_FILE, TOKEN + "link")
open(TOKEN + "link", "w").write(TOKEN)
""",
    "through the root of another process": "open(f'/proc/{VICTIM}/root' + SECRET_FILE, 'w').write(TOKEN)",
    "through a descriptor of another process": "open(f'/proc/{VICTIM}/fd/{VICTIM_FD}', 'w').write(TOKEN)",
    "reopen a descriptor that was read-only": """
fd = os.open(SECRET_FILE, os.O_RDONLY)
open(f"/proc/self/fd/{fd}", "w").write(TOKEN)
""",
    "shared folder of memory": "open(SHM_FILE, 'w').write(TOKEN)",
    "shared folder of memory: remove": "os.unlink(SHM_FILE)",
    "shared folder of memory: chmod": "os.chmod(SHM_FILE, 0o666)",
    "shared temporary folder": "open(TMP_FILE, 'w').write(TOKEN)",
    "shared temporary folder: remove": "os.unlink(TMP_FILE)",
}

RACES = {
    "a name that changes between check and use": """
open(TOKEN + "good", "w").close()
stop = time.monotonic() + 0.4
def swap():
    while time.monotonic() < stop:
        for target in (TOKEN + "good", SECRET_FILE):
            os.symlink(target, TOKEN + "next")
            os.rename(TOKEN + "next", TOKEN + "race")
child(swap)
while time.monotonic() < stop:
    try:
        with open(TOKEN + "race", "a") as file:
            file.write(TOKEN)
    except OSError:
        continue
""",
    "a folder that becomes a link while it is walked": """
os.mkdir(TOKEN + "folder")
os.symlink(HOME, TOKEN + "out")
stop = time.monotonic() + 0.4
def swap():
    while time.monotonic() < stop:
        call(316, -100, (TOKEN + "folder").encode(), -100, (TOKEN + "out").encode(), 2)
thread = threading.Thread(target=swap)
thread.start()
while time.monotonic() < stop:
    try:
        open(TOKEN + "folder/new", "w").close()
    except OSError:
        continue
""",
    "its own folder replaced by a link, for who tidies up": """
here = os.getcwd()
os.rename(here, here + "-" + TOKEN)
os.symlink(HOME, here)
""",
    "its temporary folder replaced by a link, for who tidies up": """
import tempfile
here = tempfile.mkdtemp(dir=os.getcwd())
inner = os.path.dirname(here)
os.rename(inner, inner + "-" + TOKEN)
os.symlink(HOME + "/other", inner)
open(inner + "/new", "w").close()
""",
    "renaming above an open folder": """
os.makedirs(TOKEN + "a/b")
fd = os.open(TOKEN + "a/b", os.O_RDONLY)
os.rename(TOKEN + "a/b", TOKEN + "b")
os.close(os.open("../" * 60 + HOME[1:] + "/new", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
""",
}


def planted(places: tuple[str, ...]) -> dict[str, str]:
    """A write to each of the files that others run or read later."""
    return {place: f"open({place}, 'a').write('\\n' + TOKEN + '\\n')" for place in places}


PERSISTENCE = planted(
    (
        "HOME + '/.bashrc'",
        "HOME + '/.zshrc'",
        "HOME + '/.ssh/authorized_keys'",
        "HOME + '/.ssh/config'",
        "HOME + '/.gitconfig'",
        "HOME + '/.config/autostart/editor.desktop'",
        "HOME + '/.config/systemd/user/job.service'",
        "HOME + '/.config/environment.d/path.conf'",
        "HOME + '/.config/pip/pip.conf'",
        "HOME + '/.local/bin/python'",
        "HOME + '/.local/share/mirage/cache.sqlite'",
        "HOME + '/.local/share/mirage/cache.key'",
        "HOME + '/.local/lib/python3/site-packages/usercustomize.py'",
        "HOME + '/.ipython/profile_default/startup/start.py'",
        "HOME + '/.triton/cache/ab/kernel.so'",
        "HOME + '/.cache/torch_extensions/op.so'",
        "HOME + '/.vscode/settings.json'",
        "PROJECT + '/conftest.py'",
        "PROJECT + '/model.py'",
        "PROJECT + '/__pycache__/model.pyc'",
        "PROJECT + '/.git/config'",
        "PROJECT + '/.git/hooks/post-checkout'",
        "PROJECT + '/.vscode/tasks.json'",
        "SITE + '/package.pth'",
        "SITE + '/another.pth'",
        "SITE + '/sitecustomize.py'",
        "SITE + '/package/__init__.py'",
        "SITE + '/package/__pycache__/__init__.pyc'",
    )
) | {
    "a core file in the project": """
import faulthandler
faulthandler.disable()
resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2)
libc.prctl(4, 1, 0, 0, 0)
pid = os.fork()
if pid == 0:
    os.chdir(PROJECT)
    os.kill(os.getpid(), signal.SIGSEGV)
    os._exit(0)
os.waitpid(pid, 0)
""",
    "the bytecode of a module, compiled anew": """
import py_compile
with open(TOKEN + ".py", "w") as file:
    file.write("print('planted')")
py_compile.compile(TOKEN + ".py", PROJECT + "/__pycache__/model.pyc", doraise=True)
""",
}

SETUID = {
    "chmod u+s": """
open(TOKEN + "own", "w").close()
os.chmod(TOKEN + "own", 0o4755)
hold()
""",
    "chmod g+s": """
open(TOKEN + "own", "w").close()
os.chmod(TOKEN + "own", 0o2755)
hold()
""",
    "fchmod": """
os.fchmod(os.open(TOKEN + "own", os.O_CREAT | os.O_RDWR, 0o700), 0o4755)
hold()
""",
    "fchmodat2": """
open(TOKEN + "own", "w").close()
call(452, -100, (TOKEN + "own").encode(), 0o4755, 0)
hold()
""",
    "at creation": """
os.umask(0)
os.open(TOKEN + "own", os.O_CREAT | os.O_RDWR, 0o4755)
hold()
""",
    "at creation by mknod": """
os.umask(0)
os.mknod(TOKEN + "own", 0o104755)
hold()
""",
    "at creation by openat2": """
os.umask(0)
how = struct.pack("<QQQ", os.O_CREAT | os.O_RDWR, 0o4755, 0)
call(437, -100, (TOKEN + "own").encode(), how, len(how))
hold()
""",
    "at creation by io_uring": """
os.umask(0)
Ring().do(18, fd=-100, address=kept((TOKEN + "own").encode()), length=0o4755, flags=os.O_CREAT | os.O_RDWR)
hold()
""",
    "32-bit chmod": """
open(TOKEN + "own", "w").close()
int80(15, low_memory((TOKEN + "own").encode()), 0o4755)
hold()
""",
    "a copy of a program": """
with open("/bin/true", "rb") as program, open(TOKEN + "own", "wb") as copy:
    copy.write(program.read())
os.chmod(TOKEN + "own", 0o6755)
hold()
""",
}

LEFT = {
    "a folder that cannot be emptied": """
os.mkdir(TOKEN + "shut")
open(TOKEN + "shut/file", "w").close()
os.chmod(TOKEN + "shut", 0)
hold()
""",
    "a file in the shared folder of memory": "open('/dev/shm/' + TOKEN, 'w').write('1' * 4096)",
    "a file in the shared temporary folder": "open('/tmp/' + TOKEN, 'w').close()",
    "a file in the other temporary folder": "open('/var/tmp/' + TOKEN, 'w').close()",
    "a name that is no text": """
os.mkdir(TOKEN.encode() + b"\\xff\\xfe")
open(TOKEN.encode() + b"\\xff\\xfe/\\xff", "w").close()
os.chmod(TOKEN.encode() + b"\\xff\\xfe", 0o500)
os.chmod(".", 0o500)
hold()
""",
}

ROOT = {
    "the kernel's log": "open('/dev/kmsg', 'w').write(TOKEN)",
    "the host's domain name": "libc.setdomainname(TOKEN.encode(), len(TOKEN))",
    "a mount that the host sees": """
os.mkdir(TOKEN + "mnt")
mounted(TOKEN.encode(), (TOKEN + "mnt").encode(), b"tmpfs")
""",
}

ATTEMPTS = (
    *table("changing files", "tree", CHANGES),
    *table("races", "tree", RACES),
    *table("persistence", "tree", PERSISTENCE),
    *table("setuid", "setuid", SETUID),
    *table("left behind", "left", LEFT),
    *table("privileges", "system", ROOT, root=True),
)
