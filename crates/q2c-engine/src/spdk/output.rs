//! Reads the summary that `spdk_nvme_perf` prints.
//!
//! The summary has a head line with `Device Information` and the columns IOPS, MiB/s, Average, min
//! and max (latencies in microseconds), one line for each namespace and core, and a `Total` line.
//! With `-L` a list of percentiles follows for each namespace and core.

/// A result as the program prints it: sums and extremes over all namespaces and cores.
#[derive(Clone, Debug, PartialEq)]
pub struct SpdkResult {
    /// I/Os per second.
    pub iops: f64,
    /// MiB per second.
    pub mib_s: f64,
    /// Mean latency, us.
    pub avg_us: f64,
    /// Smallest latency, us.
    pub min_us: f64,
    /// Largest latency, us.
    pub max_us: f64,
    /// Number of lines in the table: one for each namespace on each core.
    pub workers: usize,
    /// Percentiles of each namespace and core; lists cannot be joined into one. Empty without `-L`.
    pub latencies: Vec<SpdkPercentiles>,
}

/// The percentiles of one namespace on one core.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SpdkPercentiles {
    /// Namespace and core, as the program names them.
    pub worker: String,
    /// Pairs of a percentage and the latency, us, that this share of the I/Os does not exceed, in
    /// ascending order.
    pub percentiles: Vec<(f64, f64)>,
}

pub(super) fn parse(output: &str) -> Result<SpdkResult, String> {
    let mut lines = output.lines().skip_while(|line| !is_head(line));
    lines.next().ok_or(
        "expected a table under `Device Information`, found none: did it attach to the device?",
    )?;
    let mut rows = lines.by_ref().filter_map(row);
    let mut workers = 0;
    // Each row before the total is that of a worker.
    let total = rows.find(|(name, _)| {
        workers += usize::from(*name != "Total");
        *name == "Total"
    });
    let (_, [iops, mib_s, avg_us, min_us, max_us]) =
        total.ok_or("expected a `Total` line of five numbers under `Device Information`")?;
    Ok(SpdkResult {
        iops,
        mib_s,
        avg_us,
        min_us,
        max_us,
        workers,
        latencies: latencies(lines)?,
    })
}

fn is_head(line: &str) -> bool {
    line.starts_with("Device Information") && line.contains("IOPS")
}

/// Reads a line of the form `NAME : IOPS MiB/s Average min max`. The name may hold colons (a PCI
/// address).
fn row(line: &str) -> Option<(&str, [f64; 5])> {
    let (name, numbers) = line.rsplit_once(':')?;
    let numbers: Result<Vec<f64>, _> = numbers.split_whitespace().map(str::parse).collect();
    let numbers = <[f64; 5]>::try_from(numbers.ok()?).ok()?;
    Some((name.trim(), numbers))
}

fn latencies<'a>(lines: impl Iterator<Item = &'a str>) -> Result<Vec<SpdkPercentiles>, String> {
    let mut latencies: Vec<SpdkPercentiles> = Vec::new();
    for line in lines {
        if let Some(title) = line.strip_prefix("Summary latency data for ") {
            let title: Vec<&str> = title.trim_end_matches(':').split_whitespace().collect();
            latencies.push(SpdkPercentiles {
                worker: title.join(" "),
                ..SpdkPercentiles::default()
            });
        } else if line.starts_with("Latency histogram") {
            // With -LL the latencies follow again as histograms.
            break;
        } else if let (Some(latency), Some(entry)) = (latencies.last_mut(), percentile(line)) {
            latency.percentiles.push(entry);
        }
    }
    let mut titles = latencies.iter();
    match titles.find(|latency| latency.percentiles.is_empty()) {
        Some(empty) => {
            let worker = &empty.worker;
            Err(format!("expected percentiles of {worker}, found none"))
        }
        None => Ok(latencies),
    }
}

/// Reads a line of the form `  50.00000% :    74.133us`.
fn percentile(line: &str) -> Option<(f64, f64)> {
    let (percent, time) = line.split_once(':')?;
    let percent = percent.trim().strip_suffix('%')?.parse().ok()?;
    let time = time.trim().strip_suffix("us")?.trim().parse().ok()?;
    Some((percent, time))
}
