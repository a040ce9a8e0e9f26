"""Builds the wheel, with the standard library alone: `pip wheel share/python`, or scripts/package.

The program is taken from BLIS_PROGRAM, or from build/ of the checkout. Equal files give equal
bytes: the times in the archive are those of SOURCE_DATE_EPOCH.
"""
import base64
import hashlib
import os
import pathlib
import platform
import re
import time
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent
NAME = "blis_simulator"


def version():
    """1.0.0-rc1 is 1.0.0rc1 in Python."""
    text = (TOP / "CMakeLists.txt").read_text()
    return re.search(r"^set\(BLIS_VERSION (\S+)\)$", text, re.M).group(1).replace("-", "")


def tag():
    """The program asks the system for libseccomp, which is more than manylinux allows."""
    return "py3-none-linux_" + platform.machine()


def metadata():
    lines = ["Metadata-Version: 2.1", "Name: blis-simulator", "Version: " + version(),
             "Summary: A deterministic, scriptable simulator of LLM inference clusters",
             "License: Apache-2.0", "Requires-Python: >=3.9",
             "Description-Content-Type: text/markdown", "", (HERE / "README.md").read_text()]
    return "\n".join(lines).encode()


def program():
    path = pathlib.Path(os.environ.get("BLIS_PROGRAM", TOP / "build" / "blis"))
    if not path.is_file():
        raise SystemExit("%s is not there: build it first, or set BLIS_PROGRAM" % path)
    return path.read_bytes()


def files():
    """Yields (name, mode, bytes) of everything in the wheel but RECORD."""
    for path in sorted((HERE / "blis").iterdir()):
        if path.suffix == ".py" or path.name == "py.typed":
            yield "blis/" + path.name, 0o644, path.read_bytes()
    yield "blis/bin/blis", 0o755, program()
    info = "%s-%s.dist-info/" % (NAME, version())
    yield info + "METADATA", 0o644, metadata()
    yield info + "WHEEL", 0o644, ("Wheel-Version: 1.0\nGenerator: blis\nRoot-Is-Purelib: false\n"
                                  "Tag: %s\n" % tag()).encode()
    yield info + "entry_points.txt", 0o644, b"[console_scripts]\nblis = blis.program:main\n"
    for name in ("LICENSE", "NOTICE"):
        yield info + name, 0o644, (TOP / name).read_bytes()


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    name = "%s-%s-%s.whl" % (NAME, version(), tag())
    stamp = time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH", time.time())), 315532800))[:6]
    record = []
    with zipfile.ZipFile(os.path.join(wheel_directory, name), "w", zipfile.ZIP_DEFLATED) as out:
        def add(path, mode, data):
            info = zipfile.ZipInfo(path, stamp)
            info.external_attr = (0o100000 | mode) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            info.create_system = 3
            out.writestr(info, data)

        for path, mode, data in files():
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append("%s,sha256=%s,%d" % (path, digest, len(data)))
            add(path, mode, data)
        path = "%s-%s.dist-info/RECORD" % (NAME, version())
        record.append(path + ",,\n")
        add(path, 0o644, "\n".join(record).encode())
    return name


def build_sdist(sdist_directory, config_settings=None):
    raise SystemExit("the package is built in a checkout of blis: there is no source archive of it")
