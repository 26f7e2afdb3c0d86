//! Tests of `q2c scale predict`.

use crate::program::*;
use std::collections::BTreeMap;

const PARAMETERS: &str = "cpu_ns = { value = 6000, low = 5800, high = 6200 }\ndevice_ns = 8000\n\
    lock_ns = 300\nlock_growth = 0.05\nqueues = 20\ntags = 64\n";

/// A stage with almost constant time.
fn stage(mean_ns: f64) -> Value {
    let least = mean_ns as u64;
    json!({
        "n": 100_000, "min_ns": least, "mean_ns": mean_ns, "max_ns": 2 * least, "p50_ns": mean_ns,
        "p90_ns": mean_ns, "p99_ns": mean_ns, "p999_ns": mean_ns, "p9999_ns": mean_ns
    })
}

/// A single I/O takes 30 us, 20 us of them in the device; each further job adds 2 us to Q2G.
fn cell(jobs: u32, template: &Value) -> Value {
    let mut cell = template.clone();
    let added_ns = 2_000.0 * f64::from(jobs - 1);
    let iops = 1e9 * f64::from(jobs) / (30_000.0 + added_ns);
    cell["jobs"] = json!(jobs);
    cell["iops"] = json!({"median": iops, "min": 0.998 * iops, "max": 1.002 * iops, "trials": 5});
    let cpu = 8_000.0 + added_ns;
    cell["cpu"]["ns_per_io"] = json!({"median": cpu, "min": cpu, "max": cpu, "trials": 5});
    cell["stages"] = json!({"seen": {
        "captured_by": "bpf", "seconds": 1.0, "ios": 100_000, "captured": 100_000,
        "completed": 100_000, "others": 0, "reader_cpu_pct": 1.0, "lost": 0, "not_kept": 0,
        "unmatched": {}, "bottleneck": null, "queues": [],
        "stages": {"Q2G": stage(500.0 + added_ns), "G2D": stage(300.0), "D2C": stage(20_000.0)}
    }});
    cell
}

/// A run of bench on a machine with this number of cores, with two threads each.
pub(crate) fn write_run(folder: &Path, cores: u32) {
    let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kept/bench-5.json");
    let mut result = strict_json(&fs::read_to_string(kept).expect("read the kept run"));
    let first = result["cells"][0].clone();
    let cells = (1..=8).map(|jobs| cell(jobs, &first));
    result["cells"] = cells.collect();
    result["machine"]["cpus_online"] = (0..2 * cores).collect();
    result["machine"]["threads_per_core"] = json!(2);
    fs::write(folder.join("run.json"), result.to_string()).expect("write the run");
}

/// With n jobs throughput is n / (28 + 2 n) per us. Scaling ends where of an eighth more jobs each
/// adds a tenth of the first job's 1 / 30: at (28 + 2 n)(28 + 2.25 n) = 28 x 300, so at 30.0 jobs.
#[test]
fn a_curve_is_predicted_and_drawn_again() {
    let folder = Place::new();
    write_run(folder.path(), 8);
    let predict = "scale predict run.json --cores 120";
    let printed = folder.done(format!("{predict} --json"));
    let result = strict_json(&printed);
    let end = number(&result, "/ends_at");
    assert!((29.0..=31.0).contains(&end), "{end}");
    assert_eq!(result["resource"], json!("cache_line"));
    assert_eq!(result["answer"], json!("ends"));
    assert!(number(&result, "/leave_out_error_pct") < 1.0);
    let curve = result.list("curve");
    for point in curve {
        let jobs = number(point, "/jobs");
        assert_eq!(point["measured"], json!(jobs <= 8.0), "{point}");
        let true_iops = 1e9 * jobs / (28_000.0 + 2_000.0 * jobs);
        assert!(number(point, "/low") <= true_iops * 1.001, "{point}");
        assert!(number(point, "/high") >= true_iops * 0.999, "{point}");
    }
    assert_eq!(number(curve.last().unwrap(), "/jobs"), 120.0);

    folder.put("scale.json", &printed);
    let Reports { table, csv, page } = folder.reports("scale.json", &result);
    has_words(&table, "a shared cache line | predicted");
    assert_eq!(folder.done(predict), table);
    assert_eq!(csv.lines().count(), curve.len() + 1);
    assert!(page.contains("Dashed with a band: a prediction, never measured"));
}

#[test]
fn too_few_cores_need_parameters() {
    let folder = Place::new();
    write_run(folder.path(), 3);
    let predict = "scale predict run.json --cores 64";
    let few = folder.q2c(predict);
    few.refused(4, "4 physical cores | found 3 | --parameters");
    folder.put("p.toml", PARAMETERS);
    let result = folder.json(format!("{predict} --parameters p.toml --json"));
    assert_eq!(result["resource"], json!("lock"));
    // The lock allows at most 1 / 0.3 us; as an I/O takes 14.3 us, 48 jobs must wait for it.
    let end = number(&result, "/ends_at");
    assert!((24.0..48.0).contains(&end), "{end}");
    assert!(number(&result, "/peak") < 64.0);
}

/// Two models of one machine: the closed network, and the simulated machine, whose lanes do each
/// step. Requests or servers end the scaling. Where times do not vary, only the network with that
/// variation agrees.
#[test]
fn the_simulated_machine_agrees_with_the_network() {
    let place = Place::new();
    let free = "cores=48,switch_ns=0,timer_ns=0,interrupt_ns=0,interrupt_delay_ns=0";
    for (parameters, target) in [
        ("device_parallel = 16", "sim:exp(80us),servers=16"),
        (
            "device_parallel = 64\nqueues = 2\ntags = 6",
            "sim:exp(80us),servers=64,queues=2,nr_requests=6",
        ),
        ("device_parallel = 16\ndevice_cv = 0", "sim:80us,servers=16"),
    ] {
        place.put(
            "p.toml",
            format!("cpu_ns = 600\ndevice_ns = 80000\n{parameters}"),
        );
        let predicted = place.json("scale predict --parameters p.toml --cores 48 --json");
        let points = predicted.list("curve").iter();
        let iops = points.map(|point| (point["jobs"].as_u64(), number(point, "/iops")));
        let iops: BTreeMap<_, f64> = iops.collect();
        let bench = place.json(format!(
            "bench {target} --machine {free} --jobs 1,8,12,16,32,48 --method poll --trials 1 \
             --seconds 1 --json"
        ));
        for cell in bench.list("cells") {
            let simulated = number(cell, "/iops/median");
            assert_near(simulated, iops[&cell["jobs"].as_u64()], 0.005);
        }
    }
}
