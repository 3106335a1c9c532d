//! A port of 127.0.0.1 that leads to a cluster's API server: the only connection between the machine's network and the
//! cluster's.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::thread;

use anyhow::{Context, Result, anyhow};

use crate::namespaces::{Namespaces, enter_network};
use crate::network::API_PORT;
use crate::process::{Task, tail};
use crate::process_id::ProcessId;

/// The internal command.
pub(crate) const COMMAND: &str = "cluster-forward";

/// Starts the forwarding process. Returns it and its port, which the kernel chooses.
pub(crate) fn start(namespaces: &Namespaces, log: &Path) -> Result<(ProcessId, u16)> {
    let mut child = Task::lasting(std::env::current_exe()?)
        .arg(COMMAND)
        .arg(namespaces.init().id().to_string())
        .detached_with_output(log)?;
    let output = child
        .stdout
        .take()
        .ok_or_else(|| anyhow!("no output of the forwarding process"))?;
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line)?;
    let port = line
        .trim()
        .parse()
        .with_context(|| format!("cannot forward a port:\n{}", tail(log, 5)))?;
    Ok((ProcessId::of(child.id())?, port))
}

/// Forwards connections until the process is ended. A socket belongs to the network in which it was made: the listener to
/// the machine's, all later connections to the cluster's.
pub(crate) fn run(init: i32) -> Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    enter_network(init)?;
    let mut output = io::stdout();
    writeln!(output, "{}", listener.local_addr()?.port())?;
    output.flush()?;
    for client in listener.incoming() {
        let client = client?;
        // The API server may not be up yet. The client then sees a closed connection, and tries again.
        thread::spawn(move || {
            TcpStream::connect((Ipv4Addr::LOCALHOST, API_PORT)).and_then(|server| join(&client, &server))
        });
    }
    Ok(())
}

fn join(client: &TcpStream, server: &TcpStream) -> io::Result<()> {
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    thread::scope(|scope| {
        scope.spawn(|| copy(client, server));
        copy(server, client);
    });
    Ok(())
}

/// Copies one direction until it ends. Either side may close or reset at any time.
fn copy(mut from: &TcpStream, mut to: &TcpStream) {
    let _ = io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Write);
}
