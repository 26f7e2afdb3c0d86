//! Judged limits for systems that run builds: JUnit XML, and annotations of GitHub Actions.

use crate::diff;
use askama::Template;
use q2c_result::diff::JudgedLimit;

#[derive(Template)]
#[template(path = "junit.xml")]
struct Suite<'a> {
    suite: &'a str,
    failures: usize,
    cases: Vec<JunitCase>,
}

struct JunitCase {
    name: String,
    broken: Option<String>,
}

/// The limits as JUnit XML, one test case per limit. `suite` names the run.
///
/// # Errors
/// Returns an error if the template cannot be filled, which its types rule out.
pub fn junit(suite: &str, limits: &[JudgedLimit]) -> Result<String, askama::Error> {
    let cases = limits.iter().map(|limit| JunitCase {
        name: printable(&limit.asked),
        broken: (!limit.broken.is_empty()).then(|| printable(&diff::limit(limit))),
    });
    let cases: Vec<JunitCase> = cases.collect();
    let suite = Suite {
        suite: &printable(suite),
        failures: cases.iter().filter(|case| case.broken.is_some()).count(),
        cases,
    };
    suite.render()
}

/// Removes control characters, because XML cannot hold them.
fn printable(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}

/// A line for each broken limit, in the form that GitHub Actions shows as an error of the step.
#[must_use]
pub fn annotations(limits: &[JudgedLimit]) -> Vec<String> {
    let broken = limits.iter().filter(|limit| !limit.broken.is_empty());
    let messages = broken.map(|limit| printable(&diff::limit(limit).replace('%', "%25")));
    let lines = messages.map(|message| format!("::error title=q2c limit::{message}"));
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::stats::Interval;
    use q2c_result::diff::BrokenFigure;
    use q2c_result::figures::FigureUnit;

    fn limits() -> [JudgedLimit; 2] {
        let broken = BrokenFigure {
            of: "4 KiB \"<poll>\"\u{1b}".to_owned(),
            unit: FigureUnit::Percent,
            value: Interval::from_samples(&[80.0]),
            change: None,
        };
        let limit = |asked: &str, broken| JudgedLimit {
            asked: asked.to_owned(),
            figures: 1,
            broken,
        };
        [limit("iops<5", vec![]), limit("cpu>5%", vec![broken])]
    }

    #[test]
    fn a_broken_limit_is_a_failed_case() {
        let xml = junit("runs/a&b", &limits()).unwrap();
        assert!(xml.contains("tests=\"2\" failures=\"1\""), "{xml}");
        assert_eq!(xml.matches("<testcase").count(), 2);
        assert_eq!(xml.matches("<failure").count(), 1);
        for raw in ["a&b", "\"<poll>\"", "\u{1b}"] {
            assert!(!xml.contains(raw), "{xml}");
        }
    }

    #[test]
    fn a_broken_limit_is_one_line_for_github() {
        let lines = annotations(&limits());
        assert_eq!(lines.len(), 1);
        assert!(
            lines[0].starts_with("::error title=q2c limit::cpu>5%25: "),
            "{lines:?}"
        );
        assert!(!lines[0].contains('\u{1b}'));
    }
}
