# The user that the MPI runtimes name by its number. An account without a password, which is not the same as a locked one.
echo 'mpiuser:x:1000:1000::/home/mpiuser:/bin/bash' >>/etc/passwd
echo 'mpiuser:x:1000:' >>/etc/group
echo 'mpiuser:*:20000:0:99999:7:::' >>/etc/shadow
chown -R mpiuser:mpiuser /home/mpiuser
# Where an sshd that runs as root wants to lock itself in.
mkdir -p /run/sshd
