"""Lays wheels out for an image, as an installer would there: wheels.py ROOT LIBRARIES WHEEL...

ROOT is the image's root folder, LIBRARIES the folder below it where its Python looks for libraries. pip itself can only
install for the Python that runs it, or into one folder that loses the programs and C libraries of a wheel.
"""

import configparser
import io
import os
import shutil
import sys
import zipfile

root, libraries, *wheels = sys.argv[1:]
PLACES = {
    "purelib": libraries,
    "platlib": libraries,
    "data": "usr/local",
    "scripts": "usr/local/bin",
    "headers": "usr/local/include",
}
SCRIPT = "#!/usr/bin/python3\nimport sys\nfrom {module} import {first}\nsys.exit({function}())\n"


def write(path, source, executable):
    path = os.path.join(root, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as target:
        shutil.copyfileobj(source, target)
    os.chmod(path, 0o755 if executable else 0o644)


def unpack(archive):
    for item in archive.infolist():
        if item.is_dir():
            continue
        kind, path = "purelib", item.filename
        if ".data/" in path.split("dist-info")[0]:
            _, kind, path = path.split("/", 2)
        executable = kind == "scripts" or bool(item.external_attr >> 16 & 0o111)
        with archive.open(item) as source:
            if kind == "scripts":
                # Its first line names no interpreter until it is installed.
                source = io.BytesIO(source.read().replace(b"#!python", b"#!/usr/bin/python3", 1))
            write(os.path.join(PLACES[kind], path), source, executable)


def programs(archive):
    for name in archive.namelist():
        if not name.endswith(".dist-info/entry_points.txt"):
            continue
        points = configparser.ConfigParser(delimiters="=", interpolation=None)
        points.optionxform = str
        points.read_string(archive.read(name).decode())
        for program, point in points["console_scripts"].items() if "console_scripts" in points else ():
            module, _, function = point.split("[")[0].strip().partition(":")
            text = SCRIPT.format(module=module, first=function.split(".")[0], function=function)
            write(os.path.join(PLACES["scripts"], program), io.BytesIO(text.encode()), True)


for wheel in wheels:
    with zipfile.ZipFile(wheel) as archive:
        unpack(archive)
        programs(archive)
