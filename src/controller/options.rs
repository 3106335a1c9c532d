//! The settings of the controller, as they are given on the command line.

use std::path::PathBuf;

/// Runs the controller: watches TrainJobs, makes their JobSets and reports back.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// Kubeconfig of the cluster; absent: $KUBECONFIG, ~/.kube/config, or the pod's service account
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Address of /healthz and /readyz; 0 switches it off
    #[arg(long, value_name = "ADDR", default_value = ":8081")]
    pub health_bind_address: BindAddress,
    /// Address of /metrics; 0 switches it off
    #[arg(long, value_name = "ADDR", default_value = ":8080")]
    pub metrics_bind_address: BindAddress,
    /// TrainJobs that are worked on at the same time
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    pub concurrency: u16,
    /// Requests a second to the API server on average; 0 means no limit
    #[arg(long, value_name = "N", default_value_t = 200.0)]
    pub kube_api_qps: f64,
    /// Requests at once to the API server after a pause
    #[arg(long, value_name = "N", default_value_t = 400)]
    pub kube_api_burst: u32,
    /// Name of a resource that counts whole accelerators, beside those that are known; may be given several times
    #[arg(long = "accelerator-resource", value_name = "NAME")]
    pub accelerator_resources: Vec<String>,
    /// What is logged: error, warn, info, debug, trace, or a list such as info,trainer=debug
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    pub log_level: String,
    /// Form of the log
    #[arg(long, value_enum, default_value = "json")]
    pub log_format: LogFormat,
}

/// Form of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// One JSON object a line
    Json,
    /// Text for people
    Text,
}

/// Where a server listens: an address, or nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BindAddress(pub Option<String>);

impl std::str::FromStr for BindAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.is_empty() || text == "0" {
            return Ok(Self(None));
        }
        let (host, port) = text
            .rsplit_once(':')
            .ok_or_else(|| format!("{text:?} has no port; write :8080 or 127.0.0.1:8080"))?;
        port.parse::<u16>()
            .map_err(|_| format!("the port must be a number from 1 to 65535, got {port:?}"))?;
        let host = if host.is_empty() { "[::]" } else { host };
        Ok(Self(Some(format!("{host}:{port}"))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_without_a_host_listens_everywhere() {
        let parse = |text: &str| text.parse::<BindAddress>();
        assert_eq!(parse(":8081").unwrap().0.as_deref(), Some("[::]:8081"));
        assert_eq!(parse("127.0.0.1:0").unwrap().0.as_deref(), Some("127.0.0.1:0"));
        assert_eq!(parse("0").unwrap().0, None);
        assert!(parse("8081").is_err() && parse(":http").is_err());
    }
}
