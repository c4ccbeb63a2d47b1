//! One line of text to one command.

/// What a line asks for. Texts are read further where they are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command<'a> {
    /// Who are you, and what can be set?
    Uci,
    /// Are you ready?
    IsReady,
    /// What follows is another game.
    NewGame,
    /// The position to think about.
    Position(&'a str),
    /// Think.
    Go(&'a str),
    /// Answer now.
    Stop,
    /// The opponent played the move we pondered on.
    PonderHit,
    /// Set an option.
    SetOption {
        /// Its name, perhaps empty.
        name: &'a str,
        /// Its value, perhaps empty.
        value: &'a str,
    },
    /// Tell more, or no more, of what is understood and planned.
    Debug(bool),
    /// End.
    Quit,
    /// Show the position.
    Display,
    /// Show what the evaluator thinks of the position.
    Eval,
    /// Search the bench positions, with this many nodes each.
    Bench(&'a str),
    /// Count lines of this length.
    Perft(&'a str),
    /// Print random openings: how many, from which seed, from which book.
    GenFens(&'a str),
    /// List the commands.
    Help,
    /// An empty line, or a command that is accepted and without effect.
    Nothing,
    /// None of these.
    Unknown(&'a str),
}

impl<'a> Command<'a> {
    /// Reads a line. Every text is some command; what is not known is [`Command::Unknown`].
    pub fn parse(line: &'a str) -> Self {
        // Some editors put a byte-order mark before a script.
        let line = line.trim_start_matches('\u{feff}').trim();
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim_start();
        match word {
            "uci" => Self::Uci,
            "isready" => Self::IsReady,
            "ucinewgame" => Self::NewGame,
            "position" => Self::Position(rest),
            "go" => Self::Go(rest),
            "stop" => Self::Stop,
            "ponderhit" => Self::PonderHit,
            "setoption" => Self::set_option(rest),
            "quit" | "exit" => Self::Quit,
            "d" => Self::Display,
            "eval" => Self::Eval,
            "bench" => Self::Bench(rest),
            "perft" => Self::Perft(rest),
            "genfens" => Self::GenFens(rest),
            "help" => Self::Help,
            "debug" => match rest {
                "on" => Self::Debug(true),
                "off" => Self::Debug(false),
                _ => Self::Unknown(line),
            },
            // We have nothing to register.
            "" | "register" => Self::Nothing,
            _ => Self::Unknown(line),
        }
    }

    /// `name X [value Y]`; names have spaces, and so may values.
    fn set_option(text: &'a str) -> Self {
        let Some(text) =
            text.strip_prefix("name").filter(|text| text.starts_with(char::is_whitespace))
        else {
            return Self::SetOption { name: "", value: "" };
        };
        let is_value = |&(at, _): &(usize, &str)| {
            let (before, behind) = (&text[..at], &text[at + "value".len()..]);
            before.ends_with(char::is_whitespace)
                && (behind.is_empty() || behind.starts_with(char::is_whitespace))
        };
        let (name, value) = match text.match_indices("value").find(is_value) {
            Some((at, word)) => (&text[..at], &text[at + word.len()..]),
            None => (text, ""),
        };
        Self::SetOption { name: name.trim(), value: value.trim() }
    }
}

/// What `help` says.
pub const HELP: &str = "\
Tesla speaks the Universal Chess Interface; a GUI connects by starting this program.
uci                        the engine's name and options
isready                    answers readyok when everything is loaded
setoption name N value V   sets an option
debug on|off               tells the time planned, why a search ended, what the evaluator did, the \
opponent
ucinewgame                 forgets earlier games
position startpos|fen F [moves ...]
go [wtime|btime|winc|binc|movestogo|movetime|nodes|depth|mate N] [infinite] [ponder]
   [searchmoves ...] [perft N]
stop                       answers now
ponderhit                  the expected move was played
quit                       ends
d                          shows the position
eval                       shows what the evaluator thinks of it
perft N                    counts the lines of N plies
bench [nodes]              searches fixed positions: a signature and a speed
genfens N seed S book B    prints N random openings, from the lines of a book or None";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_commands() {
        let check = |line, command| assert_eq!(Command::parse(line), command, "{line:?}");
        check("  uci\r", Command::Uci);
        check("go\tdepth 3", Command::Go("depth 3"));
        check("go", Command::Go(""));
        check("position   startpos moves e2e4 ", Command::Position("startpos moves e2e4"));
        check("", Command::Nothing);
        check("debug on", Command::Debug(true));
        check("debug off", Command::Debug(false));
        check("debug", Command::Unknown("debug"));
        check("register name Stefan MK code 4359874324", Command::Nothing);
        check("UCI now", Command::Unknown("UCI now"));
        let set = |name, value| Command::SetOption { name, value };
        check("setoption name Hash value 16", set("Hash", "16"));
        check("setoption name Clear Hash", set("Clear Hash", ""));
        check("setoption name WeightsFile value a b.net", set("WeightsFile", "a b.net"));
        check("setoption name WeightsFile value", set("WeightsFile", ""));
        check("setoption\tname\tHash\tvalue\t16", set("Hash", "16"));
        check("setoption name a values value b value c", set("a values", "b value c"));
        check("setoption", set("", ""));
        check("setoption nameHash", set("", ""));
        check("setoption name", set("", ""));
    }
}
