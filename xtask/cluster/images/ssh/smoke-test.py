import pwd
import subprocess

user = pwd.getpwnam("mpiuser")
assert (user.pw_uid, user.pw_gid, user.pw_dir) == (1000, 1000, "/home/mpiuser")
settings = subprocess.run(["ssh", "-G", "node"], check=True, capture_output=True, text=True).stdout
for setting in ["port 2222", "stricthostkeychecking false", "userknownhostsfile /dev/null"]:
    assert setting in settings.splitlines(), settings
