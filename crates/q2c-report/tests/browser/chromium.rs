//! Starts a headless Chromium with an empty profile.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const INSTALL: &str = "install it with `apt-get install chromium`";
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// A running browser. Dropping it stops the browser.
pub(crate) struct Chromium {
    process: Child,
    profile: TempDir,
}

impl Chromium {
    /// Starts a browser; `None`, with a counted skip, if this machine has none.
    ///
    /// # Panics
    /// If Chromium is missing although `CI` is `true`, or if it does not start.
    pub(crate) fn start() -> Option<Self> {
        let Some(program) = find_program() else {
            assert!(
                std::env::var("CI").as_deref() != Ok("true"),
                "no Chromium on the path: {INSTALL}"
            );
            let test = std::thread::current()
                .name()
                .unwrap_or("browser")
                .to_owned();
            q2c_testkit::skip(&test, &format!("no Chromium on the path; {INSTALL}"));
            return None;
        };
        let profile = tempfile::tempdir().expect("make a profile");
        let process = Command::new(program)
            .args(["--headless", "--no-sandbox", "--no-first-run"])
            .args(["--disable-gpu", "--disable-quic", "--disable-sync"])
            .args([
                "--disable-background-networking",
                "--disable-component-update",
            ])
            .args(["--window-size=1366,900", "--remote-debugging-port=0"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("start Chromium");
        Some(Chromium { process, profile })
    }

    /// Port and path of the debugging socket that the browser listens on.
    pub(crate) fn socket(&self) -> (u16, String) {
        let file = self.profile.path().join("DevToolsActivePort");
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            if let Some((port, path)) = text.split_once('\n') {
                return (port.parse().expect("a port"), path.trim().to_owned());
            }
            assert!(
                Instant::now() < deadline,
                "Chromium did not come up in 60 s"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// A folder that lives as long as the browser.
    pub(crate) fn folder(&self) -> &Path {
        self.profile.path()
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        // The browser may be gone already; then there is nothing to stop.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn find_program() -> Option<PathBuf> {
    let folders: Vec<PathBuf> = std::env::split_paths(&std::env::var_os("PATH")?).collect();
    let candidates = NAMES
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    candidates.into_iter().find(|program| program.is_file())
}
