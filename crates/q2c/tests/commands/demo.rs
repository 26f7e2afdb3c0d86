//! The demonstration: each of its commands answers as it says.

use super::program::Place;

#[test]
fn each_question_is_answered_as_by_its_command() {
    let folder = Place::new();
    let shown = folder.done("demo");
    let (questions, next) = shown.split_once("Each command prints").unwrap();
    let commands = questions
        .lines()
        .filter_map(|line| line.strip_prefix("    q2c "));
    let commands: Vec<&str> = commands.collect();
    assert_eq!(commands.len(), 3, "{shown}");
    assert!(folder.path().read_dir().unwrap().next().is_none());
    for command in commands {
        let report = folder.done(command);
        // Answers stand before the first empty line; tables mark their best row by the same sign.
        let head = report.lines().take_while(|line| !line.is_empty());
        let answers = head.filter(|line| line.starts_with('\u{25b8}'));
        let answers: Vec<&str> = answers.collect();
        assert!(!answers.is_empty(), "{report}");
        assert!(
            answers.iter().all(|answer| questions.contains(answer)),
            "{report}"
        );
    }
    assert!(next.contains("q2c tune --scratch 1g"), "{next}");
}
