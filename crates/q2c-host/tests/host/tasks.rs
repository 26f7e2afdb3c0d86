use q2c_host::Roots;
use q2c_host::restore::{Guard, Owner, TaskId, UndoOutcome, restore_all};
use q2c_host::tasks::{allowed, thread};
use q2c_model::CpuId;
use q2c_testkit::skip;
use std::process::{Child, Command, Stdio};

/// A shell that runs a script. It is killed when the value is dropped.
struct ScriptShell(Child);

impl ScriptShell {
    fn spawn(script: &str) -> ScriptShell {
        let mut shell = Command::new("sh");
        shell.args(["-c", script]);
        shell.stdin(Stdio::piped()).stdout(Stdio::piped());
        ScriptShell(shell.spawn().expect("start a shell"))
    }

    fn task(&self) -> TaskId {
        let pid = self.0.id();
        TaskId::from_thread(&thread(&Roots::live(), pid, pid).expect("the shell"))
    }
}

impl Drop for ScriptShell {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

fn cpus_of(task: TaskId) -> Vec<CpuId> {
    allowed(&Roots::live(), task.pid, task.tid).expect("a live task")
}

/// This process's CPUs; `None`, and a counted skip, with fewer than two.
fn own_cpus() -> Option<Vec<CpuId>> {
    let own_cpus = q2c_sys::thread::allowed_cpus().expect("own CPUs");
    if own_cpus.len() < 2 {
        skip("CPUs of tasks", "this process may use one CPU only");
        return None;
    }
    Some(own_cpus)
}

#[test]
fn a_task_gets_its_cpus_back() {
    let Some(own_cpus) = own_cpus() else { return };
    let folder = tempfile::tempdir().unwrap();
    let shell = ScriptShell::spawn("read line");
    let task = shell.task();
    let mut guard = Guard::new(&Roots::live(), folder.path()).unwrap();
    guard.hold_tasks().unwrap();
    assert!(guard.allow(task, &own_cpus, &own_cpus[..1]).unwrap());
    assert_eq!(cpus_of(task), own_cpus[..1]);
    assert!(guard.allow(task, &own_cpus, &own_cpus[1..2]).unwrap());
    assert_eq!(guard.give_back(task).unwrap(), Some(UndoOutcome::Restored));
    assert_eq!(cpus_of(task), own_cpus);
    guard.allow(task, &own_cpus, &own_cpus[..1]).unwrap();
    drop(guard);
    assert_eq!(cpus_of(task), own_cpus);
    let left = std::fs::read_dir(folder.path()).unwrap();
    let mut left = left.map(|entry| entry.unwrap().path());
    assert!(!left.any(|path| path.is_file()));
}

#[test]
fn one_guard_at_a_time_moves_tasks() {
    let folder = tempfile::tempdir().unwrap();
    let mut first = Guard::new(&Roots::live(), folder.path()).unwrap();
    first.hold_tasks().unwrap();
    let mut second = Guard::new(&Roots::live(), folder.path()).unwrap();
    let refused = second.hold_tasks().unwrap_err().to_string();
    assert!(refused.contains("holds it"), "{refused}");
}

#[test]
fn a_task_that_ended_or_was_placed_by_somebody_else_is_left_alone() {
    let Some(own_cpus) = own_cpus() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut guard = Guard::new(&Roots::live(), folder.path()).unwrap();
    let shell = ScriptShell::spawn("read line");
    let task = shell.task();
    guard.allow(task, &own_cpus, &own_cpus[..1]).unwrap();
    q2c_sys::thread::allow_other(task.tid, &own_cpus[1..2]).unwrap();
    let foreign = guard.give_back(task).unwrap();
    assert!(matches!(foreign, Some(UndoOutcome::Foreign { .. })));
    assert_eq!(cpus_of(task), own_cpus[1..2]);
    drop(shell);
    let is_alive = guard.allow(task, &own_cpus, &own_cpus[..1]).unwrap();
    assert!(!is_alive);
}

/// A child that the task made meanwhile has inherited its CPUs.
#[test]
fn heirs_get_the_old_cpus_as_well() {
    use std::io::{BufRead, BufReader, Write};
    let Some(own_cpus) = own_cpus() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut shell = ScriptShell::spawn("read line; sleep 60 & echo $!; wait");
    let task = shell.task();
    let mut guard = Guard::new(&Roots::live(), folder.path()).unwrap();
    guard.allow(task, &own_cpus, &own_cpus[..1]).unwrap();
    writeln!(shell.0.stdin.take().unwrap(), "go").unwrap();
    let mut line = String::new();
    let out = shell.0.stdout.take().unwrap();
    BufReader::new(out).read_line(&mut line).unwrap();
    let pid: u32 = line.trim().parse().unwrap();
    let heir = TaskId::from_thread(&thread(&Roots::live(), pid, pid).unwrap());
    assert_eq!(cpus_of(heir), own_cpus[..1]);
    drop(guard);
    assert_eq!((cpus_of(task), cpus_of(heir)), (own_cpus.clone(), own_cpus));
    Command::new("kill").arg(pid.to_string()).status().unwrap();
}

/// The journal of a killed owner: its line is written as the guard writes it, with an owner that
/// does not live any more.
#[test]
fn what_a_killed_owner_left_is_put_back() {
    let Some(own_cpus) = own_cpus() else { return };
    let folder = tempfile::tempdir().unwrap();
    let shell = ScriptShell::spawn("read line");
    let task = shell.task();
    let mut guard = Guard::new(&Roots::live(), folder.path()).unwrap();
    guard.allow(task, &own_cpus, &own_cpus[..1]).unwrap();
    let entries = std::fs::read_dir(folder.path()).unwrap();
    let mut paths = entries.map(|entry| entry.unwrap().path());
    let journal = paths.find(|path| path.is_file()).unwrap();
    let lines = std::fs::read_to_string(journal).unwrap();
    let me = Owner::current(&Roots::live()).unwrap();
    let start = format!("\"start_time\":{}", me.start_time);
    let dead = lines.replace(&start, &format!("\"start_time\":{}", me.start_time - 1));
    assert_ne!(dead, lines);
    let other = tempfile::tempdir().unwrap();
    std::fs::write(other.path().join("1-1-0.jsonl"), dead).unwrap();
    let report = restore_all(&Roots::live(), other.path()).unwrap();
    let outcomes: Vec<&UndoOutcome> = report.items.iter().map(|item| &item.outcome).collect();
    assert_eq!(outcomes, [&UndoOutcome::Restored]);
    assert_eq!(cpus_of(task), own_cpus);
    guard.forget(task).unwrap();
}
