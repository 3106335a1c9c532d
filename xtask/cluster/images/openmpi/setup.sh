# The wheel's mpirun tells all processes where it is installed, and a process that was told something else than the daemon
# that starts it waits for ever. So what an SSH session starts is told too.
echo 'SetEnv OPAL_PREFIX=/usr/local' >>/home/mpiuser/.sshd_config
# MLX opens the library by this name, under which the wheel has text for the compiler's linker.
ln -sf libmpi.so.40 /usr/local/lib/libmpi.so
ldconfig
