//! OEIS A083276: distinct positions after n plies, castling rights and legal en passant considered.
//! <https://oeis.org/A083276>, values as of 2026.

use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use shakmaty::Chess;
use tesla_engine::enumerate::{Ended, PliesRequest, count_plies};
use tesla_engine::search::StopToken;

use crate::folder::TestFolder;
use crate::resume::table;
use crate::{MEBIBYTE, resources};

const A083276: [u64; 7] = [1, 20, 400, 5_362, 72_078, 822_518, 9_417_681];

fn counts(request: &PliesRequest) -> Vec<u64> {
    match count_plies(request, &StopToken::default()).unwrap() {
        Ended::Complete(counts) => counts,
        Ended::Stopped => unreachable!("nobody stops it"),
    }
}

fn request(plies: u32) -> PliesRequest {
    PliesRequest { start: Chess::default(), plies, folder: None, resources: resources() }
}

#[test]
fn to_ply_5() {
    assert_eq!(counts(&request(5)), A083276[..6]);
    assert_eq!(counts(&request(0)), [1]);
}

#[test]
#[cfg_attr(debug_assertions, ignore = "only a release build has the time")]
fn to_ply_6() {
    assert_eq!(counts(&request(6)), A083276);
}

#[test]
fn in_files() {
    let test = TestFolder::new();
    let mut spilt = PliesRequest { folder: Some(test.path().to_owned()), ..request(4) };
    spilt.resources.memory = MEBIBYTE / 4;
    assert_eq!(counts(&spilt), A083276[..5]);
    assert_eq!(counts(&spilt), A083276[..5], "read back");
}

#[test]
#[cfg_attr(debug_assertions, ignore = "only a release build has the time")]
fn killed_before_the_first_checkpoint_is_due() {
    let test = TestFolder::new();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tesla"));
    command.args(["enumerate", "--plies", "6", "--memory", "128", "--checkpoint", "3600", "--dir"]);
    command.arg(test.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    while test.files("packed").len() < 8 {
        assert_eq!(child.try_wait().unwrap(), None, "it is killed in time");
        thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let text = table(&command.output().unwrap());
    assert!(text.contains("\n6 | 9'417'681 |"), "{text}");
}

#[test]
fn stopped_and_gone_on_with() {
    let test = TestFolder::new();
    let mut request = PliesRequest { folder: Some(test.path().to_owned()), ..request(4) };
    request.resources.checkpoint = Duration::ZERO;
    let stop = StopToken::default();
    stop.stop();
    assert_eq!(count_plies(&request, &stop).unwrap(), Ended::Stopped);
    assert_eq!(counts(&request), A083276[..5]);
}
