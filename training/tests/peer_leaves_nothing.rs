//! No process, zombie or thread outlives a peer. Alone in its program, so that what it finds is
//! its own.
#![cfg(target_os = "linux")]

use std::fs::{read_dir, read_to_string};
use std::time::{Duration, Instant};

use tesla_engine::search::StopToken;
use tesla_training::players::peer::{Fault, FaultKind, Peer, PeerConfig};

const SOON: Duration = Duration::from_secs(5);
const SHORT: Duration = Duration::from_millis(300);
const PLENTY: Duration = Duration::from_secs(10);

/// On the command line of each process that we start.
fn tag() -> String {
    format!("peer-leaves-nothing-{}", std::process::id())
}

/// Plays one move. A peer that needs more than `allowance` for it hangs.
fn play(config: &PeerConfig, allowance: Duration) -> Result<(), Fault> {
    let mut peer = Peer::start(config, &StopToken::default())?;
    peer.go("position startpos", "go movetime 1", Some(allowance))?;
    Ok(())
}

fn config(command: &str, args: &[&str]) -> PeerConfig {
    let args = args.iter().map(|&text| text.to_owned()).chain([tag()]).collect();
    PeerConfig { args, ..PeerConfig::new("peer", command) }
}

/// Numbers of processes that are ours, dead or alive.
fn processes() -> Vec<u32> {
    let me = std::process::id();
    let numbers = read_dir("/proc").expect("/proc").flatten();
    numbers
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|&number: &u32| {
            let read =
                |name: &str| read_to_string(format!("/proc/{number}/{name}")).unwrap_or_default();
            let stat = read("stat");
            let after_name = stat.rsplit(')').next().unwrap_or_default();
            let parent = after_name.split_whitespace().nth(1).and_then(|text| text.parse().ok());
            number != me && (parent == Some(me) || read("cmdline").contains(&tag()))
        })
        .collect()
}

/// Names of our threads that serve a peer.
fn threads() -> Vec<String> {
    let tasks = read_dir("/proc/self/task").expect("/proc").flatten();
    let names = tasks.filter_map(|task| read_to_string(task.path().join("comm")).ok());
    names.filter(|name| name.starts_with("peer-std")).collect()
}

fn assert_nothing_left(after: &str) {
    // A thread that was joined is still listed for a moment.
    let start = Instant::now();
    while !(processes().is_empty() && threads().is_empty()) && start.elapsed() < SOON {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!((processes(), threads()), (Vec::new(), Vec::new()), "after {after}");
}

#[test]
fn nothing_outlives_a_peer() {
    let bad_peer = env!("CARGO_BIN_EXE_bad_peer");
    let modes = "good exit exit-at-start abort kill sleep flood-line flood-lines binary deaf \
        stderr double stubborn wrong-options";
    for mode in modes.split_whitespace() {
        let config = PeerConfig { start_timeout: SHORT * 3, ..config(bad_peer, &[mode]) };
        let _ = play(&config, SHORT);
        assert_nothing_left(mode);
    }

    // The engine is a child of the program we run.
    let script = format!("'{bad_peer}' $0 $1; true");
    play(&config("sh", &["-c", &script, "good"]), PLENTY).unwrap();
    assert_nothing_left("a wrapped engine");
    for mode in ["sleep", "flood-lines"] {
        let fault = play(&config("sh", &["-c", &script, mode]), SHORT).unwrap_err();
        assert_eq!(fault.kind(), FaultKind::Hang, "{fault}");
        assert_nothing_left("a wrapped engine that hangs");
    }

    // The program ends, but its child holds the pipes.
    let orphan = "sh -c 'sleep 600' & read a; echo uciok; read a; echo readyok; read a; exit 7; :";
    let fault = play(&config("sh", &["-c", orphan]), PLENTY).unwrap_err();
    assert!(fault.to_string().contains("exit status: 7"), "{fault}");
    assert_nothing_left("an orphan");

    // What it started holds none of our pipes: nothing but its group tells that it is the peer's.
    let worker =
        format!("sh -c 'sleep 600; :' {} </dev/null >/dev/null 2>&1 & exec '{bad_peer}' $0", tag());
    for mode in ["good", "exit", "sleep"] {
        let _ = play(&config("sh", &["-c", &worker, mode]), SHORT);
        assert_nothing_left("an engine that left a worker");
    }

    // It lives on without output.
    let mute = "read a; echo uciok; read a; echo readyok; exec >&-; sleep 600";
    let fault = play(&config("sh", &["-c", mute]), PLENTY).unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Crash);
    assert!(fault.to_string().contains("closed its output"), "{fault}");
    assert_nothing_left("a mute engine");
}
