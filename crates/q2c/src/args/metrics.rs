//! Where the metrics of a live view are served.

use clap::Args;
use std::net::{Ipv4Addr, SocketAddr};

/// Metrics for Prometheus.
#[derive(Clone, Debug, Args)]
pub struct MetricsArgs {
    /// Serve the totals so far as metrics for Prometheus at http://ADDR/metrics, such as :9100,
    /// which is this machine alone, or 0.0.0.0:9100
    #[arg(long, value_name = "ADDR", value_parser = address)]
    pub prometheus: Option<SocketAddr>,
}

/// An address to listen at: a port, with or without a colon before it, is one of the loopback
/// address.
fn address(text: &str) -> Result<SocketAddr, String> {
    let port = text.strip_prefix(':').unwrap_or(text);
    if port.chars().all(|c| c.is_ascii_digit())
        && let Ok(port) = port.parse::<u16>()
    {
        return Ok((Ipv4Addr::LOCALHOST, port).into());
    }
    text.parse().map_err(|_| {
        "expected a port such as :9100, or an address and a port such as 0.0.0.0:9100 or [::1]:9100"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_is_for_this_machine_alone() {
        for (text, wanted) in [
            (":9100", "127.0.0.1:9100"),
            ("9100", "127.0.0.1:9100"),
            (":0", "127.0.0.1:0"),
            ("127.0.0.1:9100", "127.0.0.1:9100"),
            ("0.0.0.0:80", "0.0.0.0:80"),
            ("[::]:9100", "[::]:9100"),
        ] {
            let found = address(text).map(|address| address.to_string());
            assert_eq!(found.as_deref(), Ok(wanted), "{text}");
        }
        for wrong in [
            "",
            ":",
            ":65536",
            "+9100",
            "127.0.0.1",
            "*:9100",
            "localhost:9100",
        ] {
            assert!(address(wrong).is_err(), "{wrong}");
        }
    }
}
