//! The commands that the pages show, as they stand there.

use std::fs;
use std::path::Path;

/// A command of a page.
#[derive(Debug)]
pub(crate) struct PageCommand {
    /// The page, from the top of the repository.
    pub(crate) page: String,
    /// Its words, the program without its folder first.
    pub(crate) words: Vec<String>,
}

/// The commands of `program` on all pages, page by page, from top to bottom.
pub(crate) fn commands_of(program: &str) -> Vec<PageCommand> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut pages = vec!["README.md".to_owned(), "CONTRIBUTING.md".to_owned()];
    pages.push("models/README.md".to_owned());
    for entry in fs::read_dir(top.join("docs")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if Path::new(&name).extension().is_some_and(|extension| extension == "md") {
            pages.push(format!("docs/{name}"));
        }
    }
    pages.sort();
    let of_page = |page: String| {
        let text = fs::read_to_string(top.join(&page)).unwrap();
        let found = commands(&text, program).into_iter();
        found.map(move |words| PageCommand { page: page.clone(), words }).collect::<Vec<_>>()
    };
    pages.into_iter().flat_map(of_page).collect()
}

/// The commands of `program` in the code blocks of a page.
pub(crate) fn commands(text: &str, program: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut is_fenced = false;
    let mut command = String::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_fenced = !is_fenced;
            continue;
        }
        if !(is_fenced || line.starts_with("    ")) {
            continue;
        }
        command.push_str(line.trim());
        if command.ends_with('\\') {
            command.pop();
            continue;
        }
        found.extend(one(&std::mem::take(&mut command), program));
    }
    found
}

/// The command of a line, if it is one of `program`: behind a prompt or a pipe, before a comment.
/// What may be left out (in brackets) is kept, of alternatives the first.
fn one(line: &str, program: &str) -> Option<Vec<String>> {
    let words = split(line);
    let is_program = |word: &String| word.rsplit('/').next() == Some(program);
    let first = words.iter().position(is_program)?;
    let is_before = |word: &String| word == "|" || word.ends_with('$') || word == "machine";
    let is_command = first == 0 || words[..first].iter().any(is_before);
    let words = words[first + 1..]
        .iter()
        .take_while(|word| !["#", "|", ">", "2>"].contains(&word.as_str()));
    let words = words.map(|word| word.trim_matches(['[', ']']).to_owned());
    is_command.then(|| std::iter::once(program.to_owned()).chain(words).collect())
}

/// Words as a shell splits them; two spaces or more begin a remark.
fn split(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut before = ' ';
    for letter in line.chars() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, ' ') if before == ' ' => break,
            (None, ' ') => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
        before = if quote.is_some() { 'x' } else { letter };
    }
    words.extend(word);
    words
}

#[test]
fn commands_are_found_as_they_stand() {
    let page = [
        "Text `tesla x`.",
        "    tesla view   # a page",
        "    echo '{\"a b\": 1}' | bin/tesla analyse",
        "    machine A$ tesla go --out \\",
        "        \"a b\" [--fast] --one 1 | --two 2",
        "    teslas no",
        "```",
        "cargo run tesla",
        "./tesla show X      what it shows",
        "```",
    ]
    .join("\n");
    let found: Vec<String> = commands(&page, "tesla").iter().map(|words| words.join("+")).collect();
    let wanted =
        ["tesla+view", "tesla+analyse", "tesla+go+--out+a b+--fast+--one+1", "tesla+show+X"];
    assert_eq!(found, wanted);
}
