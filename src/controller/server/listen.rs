//! How a server listens.

use std::io;

use axum::Router;
use tokio::net::TcpListener;

use crate::controller::options::BindAddress;

/// Serves routes at an address for ever; an address that is switched off serves nothing.
pub(super) async fn serve(address: &BindAddress, routes: Router) -> io::Result<()> {
    let Some(address) = &address.0 else {
        return std::future::pending().await;
    };
    // Nodes without IPv6 have no [::].
    let listener = match TcpListener::bind(address).await {
        Err(_) if address.starts_with("[::]:") => {
            TcpListener::bind(address.replacen("[::]", "0.0.0.0", 1)).await
        }
        other => other,
    }
    .map_err(|error| io::Error::new(error.kind(), format!("cannot listen on {address}: {error}")))?;
    axum::serve(listener, routes).await
}
