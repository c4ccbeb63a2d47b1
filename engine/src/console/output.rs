//! What we say: whole lines, flushed, one at a time, from any thread.

#[cfg(test)]
pub(crate) mod heard;

use std::fmt::{self, Write as _};
use std::fs::File;
use std::io::{self, Read as _, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use shakmaty::uci::UciMove;
use shakmaty::{CastlingMode, Move};
use tesla_nn::files;

use crate::chess::score::Score;
use crate::search::clock::Stopwatch;
use crate::search::{Current, Info, Variation};

/// Bytes of a file that show whether it is a log.
const LINE_START: u64 = 64;

/// The GUI's end of the line. Clones write to the same place.
#[derive(Clone)]
pub struct Output(Arc<Mutex<Sink>>);

/// Where lines go.
struct Sink {
    out: Box<dyn Write + Send>,
    log: Option<Log>,
    /// Why something could not be said, the first time.
    error: Option<io::Error>,
}

/// A log file of all output and input.
struct Log {
    file: File,
    watch: Stopwatch,
}

impl Sink {
    /// Notes lines that went `way`. A log that cannot be written any more is given up, with a
    /// sentence.
    fn note(&mut self, way: char, text: &str) {
        let Some(log) = &mut self.log else { return };
        let seconds = log.watch.elapsed().as_secs_f64();
        let mut lines = String::new();
        for line in text.lines() {
            // Writing to a String cannot fail.
            let _ = writeln!(lines, "{seconds:.3} {way} {line}");
        }
        if let Err(error) = log.file.write_all(lines.as_bytes()) {
            self.log = None;
            let _ = writeln!(
                self.out,
                "info string the log ends here because it cannot be written: {error}"
            );
        }
    }
}

/// Opens a log to write behind its end. A file that holds something else, a network or experience
/// perhaps, is left alone.
fn open_log(path: &Path) -> io::Result<File> {
    let mut start = Vec::new();
    // What is missing is made; what is no file, the opening judges.
    if let Ok(file) = files::open(path) {
        file.take(LINE_START).read_to_end(&mut start)?;
    }
    if start.is_empty() || is_line(&start) {
        return Ok(files::append_log(path)?);
    }
    Err(io::Error::other("it holds something else than a log; name another file"))
}

/// Whether these bytes are the start of a line of a log.
fn is_line(start: &[u8]) -> bool {
    let mut words = start.split(|&byte| byte == b' ');
    let seconds = words.next().and_then(|word| str::from_utf8(word).ok());
    let is_time = seconds.is_some_and(|word| word.parse::<f64>().is_ok_and(f64::is_finite));
    is_time && words.next().is_some_and(|way| matches!(way, b"<" | b">"))
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Output")
    }
}

impl Output {
    /// Writes to `sink`.
    pub fn new(sink: Box<dyn Write + Send>) -> Self {
        Self(Arc::new(Mutex::new(Sink { out: sink, log: None, error: None })))
    }

    /// Writes to standard output.
    pub fn stdout() -> Self {
        Self::new(Box::new(io::stdout()))
    }

    /// Says `text`, which may be several lines; nobody else's line comes between them. A reader
    /// that has gone away is no error ([`Output::error`]).
    pub fn print(&self, text: &str) {
        let mut sink = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = writeln!(sink.out, "{text}").and_then(|()| sink.out.flush()) {
            sink.error.get_or_insert(error);
        }
        sink.note('<', text);
    }

    /// A sentence on what could not be said, for those whose output is a result. A reader that has
    /// read enough and gone away is none.
    pub fn error(&self) -> Option<String> {
        let sink = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let error = sink.error.as_ref().filter(|e| e.kind() != io::ErrorKind::BrokenPipe)?;
        Some(format!("the output could not be written: {error}"))
    }

    /// Whether something could not be said, for those who would say much more.
    pub fn is_gone(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).error.is_some()
    }

    /// Logs a line of input, if there is a log.
    pub fn received(&self, line: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).note('>', line);
    }

    /// Appends everything from now on to this file; `None` ends that. Damage is to be feared for
    /// the log only: the lines themselves are written first.
    ///
    /// # Errors
    /// When the file cannot be opened, or holds something else; there is no log then.
    pub fn log_to(&self, path: Option<&str>) -> io::Result<()> {
        let opened = path.map(|path| open_log(Path::new(path))).transpose();
        let mut sink = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sink.log = None;
        sink.log = opened?.map(|file| Log { file, watch: Stopwatch::start() });
        Ok(())
    }

    /// Prints a message for the user, as one `info string` line.
    pub fn info(&self, sentence: &str) {
        let line: String = sentence
            .chars()
            .map(|letter| if letter.is_control() { ' ' } else { letter })
            .take(500)
            .collect();
        self.print(&format!("info string {line}"));
    }
}

/// How moves and scores are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// How castling is written.
    pub castling: CastlingMode,
    /// Whether the score is followed by win, draw and loss.
    pub wdl: bool,
}

impl Style {
    /// A move in UCI notation.
    pub fn written(self, played: Move) -> String {
        UciMove::from_move(played, self.castling).to_string()
    }

    /// The `info` line of the root move being searched.
    pub fn current(self, current: &Current) -> String {
        let Current { played, number, depth } = *current;
        format!("info depth {depth} currmove {} currmovenumber {number}", self.written(played))
    }

    /// An `info` line for each line of play, the best first; `hits` = positions found in endgame
    /// tables.
    pub fn info(self, info: &Info, hits: u64) -> String {
        let bound = if info.is_bound { " lowerbound" } else { "" };
        let best = (info.depth, info.score, bound, &info.pv[..]);
        if info.variations.is_empty() {
            return self.line(info, "", best, hits);
        }
        let mut text = self.line(info, " multipv 1", best, hits);
        for (number, variation) in (2..).zip(&info.variations) {
            let number = format!(" multipv {number}");
            text.push('\n');
            let Variation { depth, score, pv } = variation;
            text += &self.line(info, &number, (*depth, *score, "", pv), hits);
        }
        text
    }

    fn line(
        self,
        info: &Info,
        number: &str,
        (depth, score, bound, pv): (u32, Score, &str, &[Move]),
        hits: u64,
    ) -> String {
        let per_second = info.nodes as f64 / info.time.as_secs_f64().max(0.001);
        let mut line = format!("info depth {depth} seldepth {}{number}", info.selective_depth);
        // Writing to a String cannot fail.
        let _ = write!(line, " score {}{bound}", score.uci());
        if self.wdl {
            let [win, draw, loss] = win_draw_loss(score);
            let _ = write!(line, " wdl {win} {draw} {loss}");
        }
        let _ = write!(
            line,
            " nodes {} nps {} hashfull {} tbhits {hits} time {}",
            info.nodes,
            per_second as u64,
            info.hashfull,
            info.time.as_millis()
        );
        if !pv.is_empty() {
            line.push_str(" pv");
        }
        for &played in pv {
            let _ = write!(line, " {}", self.written(played));
        }
        line
    }
}

/// Win, draw and loss in permille, exactly 1000 together. A backed-up value tells only their
/// balance, so an estimate `v` is split as if it were two halves of a game, each won with
/// probability `v`: `v²`, `2v(1-v)`, `(1-v)²`, whose expected score is `v` again.
pub fn win_draw_loss(score: Score) -> [u32; 3] {
    match score {
        Score::Win(_) => [1000, 0, 0],
        Score::Loss(_) => [0, 0, 1000],
        Score::Draw => [0, 1000, 0],
        Score::Estimate(_) | Score::Centipawns(_) => {
            let value = score.expected().clamp(0.0, 1.0);
            let win = (value.powi(2) * 1000.0).round() as u32;
            let loss = ((1.0 - value).powi(2) * 1000.0).round() as u32;
            [win, 1000_u32.saturating_sub(win + loss), loss]
        }
    }
}

/// Decides which reports are worth a line: a new depth or best move, or a second has passed.
#[derive(Clone, Debug, Default)]
pub struct Throttle(Option<Info>);

impl Throttle {
    /// Whether to print `info`; remembers it if so.
    pub fn admits(&mut self, info: &Info) -> bool {
        let worth = self.0.as_ref().is_none_or(|last| {
            last.depth != info.depth
                || last.pv.first() != info.pv.first()
                || last.time.as_secs() != info.time.as_secs()
        });
        if worth {
            self.0 = Some(info.clone());
        }
        worth
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use shakmaty::Square;

    use super::*;

    #[test]
    fn info_lines_are_whole_numbers() {
        let castle = Move::Castle { king: Square::E1, rook: Square::H1 };
        let info = Info {
            depth: 3,
            selective_depth: 9,
            score: Score::Estimate(0.5),
            nodes: 1234,
            hashfull: 5,
            time: Duration::from_micros(10_500),
            pv: vec![castle],
            variations: Vec::new(),
            is_bound: false,
            current: None,
        };
        let style = Style { castling: CastlingMode::Standard, wdl: true };
        assert_eq!(
            style.info(&info, 3),
            "info depth 3 seldepth 9 score cp 0 wdl 250 500 250 nodes 1234 nps 117523 hashfull 5 \
             tbhits 3 time 10 pv e1g1"
        );
        let style = Style { castling: CastlingMode::Chess960, wdl: false };
        assert!(style.info(&info, 0).ends_with("pv e1h1"));
        assert!(!style.info(&info, 0).contains("wdl"));
        let current = Current { played: castle, number: 4, depth: 3 };
        assert_eq!(style.current(&current), "info depth 3 currmove e1h1 currmovenumber 4");
    }

    #[test]
    fn win_draw_loss_sums_to_1000() {
        for permille in 0..=1000 {
            let score = Score::Estimate(permille as f32 / 1000.0);
            let [win, draw, loss] = win_draw_loss(score);
            assert_eq!(win + draw + loss, 1000);
            assert!((2 * win + draw).abs_diff(2 * permille) <= 2);
        }
    }
}
