use super::*;
use std::process::Command;

/// A loop device over a file; dropping this value removes it.
struct Loop(String);

impl Loop {
    /// Creates a device that takes at most `most_kb` KiB per request, or says why that is
    /// impossible.
    fn new(file: &Path, most_kb: u32) -> Result<Loop, String> {
        fs::write(file, vec![0x5a; 32 << 20]).map_err(|e| e.to_string())?;
        let mut command = Command::new("losetup");
        let command = command
            .args(["--find", "--show", "--direct-io=on"])
            .arg(file);
        let done = command.output().map_err(|e| format!("losetup: {e}"))?;
        if !done.status.success() {
            let stderr = String::from_utf8_lossy(&done.stderr);
            return Err(format!("losetup: {}", stderr.trim()));
        }
        let device = Loop(String::from_utf8_lossy(&done.stdout).trim().to_owned());
        let name = device.0.trim_start_matches("/dev/");
        let limit = format!("/sys/block/{name}/queue/max_sectors_kb");
        fs::write(&limit, most_kb.to_string()).map_err(|e| format!("{limit}: {e}"))?;
        Ok(device)
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let ended = Command::new("losetup").args(["--detach", &self.0]).status();
        if !ended.is_ok_and(|status| status.success()) {
            eprintln!("{} could not be taken down", self.0);
        }
    }
}

/// Two devices that differ in their longest request. The one with 64 KiB splits requests of 128 KiB
/// in two, of 256 KiB in four and of 512 KiB in eight. The sum of Q2C still has one term for each
/// request. A request's Q2C lies within its U2C, so the sum cannot exceed that of U2C. The sum over
/// parts is several times as large.
#[test]
fn a_split_request_is_one_term_of_the_sum() {
    let folder = Place::on_disk();
    let place = |name: &str| folder.path().join(name);
    let devices = Loop::new(&place("a"), 512).and_then(|a| Ok([a, Loop::new(&place("b"), 64)?]));
    let [whole, split] = match devices {
        Ok(devices) => devices,
        Err(reason) => return skip(&reason),
    };
    let mut text = "submit,offset,size,op\n".to_owned();
    for n in 0..200 {
        let size = [4, 128, 256, 512][n % 4] * 1024;
        text += &format!("{},{},{size},read\n", n * 2000, n * 37 % 60 * 524_288);
    }
    folder.put("trace.csv", text);
    for by in ["bpf", "tracefs"] {
        let compare = format!("compare trace.csv {} {} {NO_ENDS}", whole.0, split.0);
        let how = format!("--capture --by {by} --trials 5 --json --max-lateness 10s");
        let done = folder.q2c(format!("{compare} {how}"));
        let missing = if done.stdout.is_empty() {
            done.stderr.lines().last().map(str::to_owned)
        } else {
            sums(&json(&done)).err()
        };
        if let Some(reason) = missing {
            skip(&format!("by {by}: {reason}"));
        }
    }
}

/// Checks the sums of all trials in which the capture lost nothing. `Err` if a device has no such
/// trial.
fn sums(result: &Value) -> Result<(), String> {
    for (at, parts) in [(0, 200.0), (1, 50.0 * f64::from(1 + 2 + 4 + 8))] {
        let device = &only(result)["devices"][at];
        let trials = device.list("trials");
        // A bio that may not wait but must be split is queued again by a thread that may wait. Such
        // a bio is no lost I/O; 150 of the requests on one device are of this kind.
        for trial in trials.iter().filter(|trial| trial["whole"] == true) {
            let [shown, lost] = ["/q2c_ios", "/q2c_lost"].map(|count| number(trial, count));
            assert!(shown + lost >= 200.0, "{trial}");
            assert!(shown < 200.0 || lost < 150.0, "{trial}");
        }
        // If the kernel left out events, some terms are missing, and the trial says so.
        let complete = trials.iter().filter(|trial| trial["q2c_lost"] == 0);
        let complete: Vec<&Value> = complete.filter(|trial| trial["whole"] == true).collect();
        if complete.is_empty() {
            return Err("the capture lost I/Os in every trial".to_owned());
        }
        for trial in complete {
            assert_eq!(number(trial, "/issued"), 200.0);
            assert_eq!(number(trial, "/q2c_ios"), 200.0, "{trial}");
            assert_eq!(number(trial, "/q2c_parts"), parts, "{trial}");
            assert_eq!(number(trial, "/q2c_excess"), 0.0, "{trial}");
            let [q2c, u2c] = ["/sum_q2c_s", "/sum_u2c_s"].map(|sum| number(trial, sum));
            assert!(q2c > 0.0 && q2c <= u2c, "{q2c} s within {u2c} s: {trial}");
        }
    }
    Ok(())
}
