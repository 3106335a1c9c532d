//! Addresses in a cluster. Each cluster has its own network namespace without a link to others, so all clusters use the
//! same addresses.

/// The node's only address, at one end of a link that leads nowhere.
pub(super) const NODE_ADDRESS: &str = "10.200.0.1";
pub(super) const NODE: &str = "node-0";
pub(super) const PODS: &str = "10.244.0.0/16";
pub(super) const SERVICES: &str = "10.96.0.0/16";
/// The API server's service: the first address of the range.
pub(super) const API_SERVICE: &str = "10.96.0.1";
pub(super) const API_PORT: u16 = 6443;

// Ports on the node's loopback.
pub(super) const ETCD_PORT: u16 = 2379;
pub(super) const ETCD_PEER_PORT: u16 = 2380;
pub(super) const JOBSET_WEBHOOK_PORT: u16 = 9443;
pub(super) const JOBSET_METRICS_PORT: u16 = 8445;
pub(super) const JOBSET_HEALTH_PORT: u16 = 8089;
pub(super) const DNS_HEALTH_PORT: u16 = 8053;
pub(super) const DNS_READY_PORT: u16 = 8181;
pub(super) const PROXY_HEALTH_PORT: u16 = 10256;
pub(super) const PROXY_METRICS_PORT: u16 = 10249;
