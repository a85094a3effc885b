use super::*;

struct Commands;

impl Completer for Commands {
    fn offers(&self, before: &str) -> Option<(usize, Vec<Offer>)> {
        let words = ["/help", "/copy", "/cost", "/context"].into_iter();
        let fits = |word: &&str| before.starts_with('/') && word.starts_with(before);
        let offers = words.filter(fits).map(|word| Offer {
            text: word.to_owned(),
            about: "does it".to_owned(),
            taken: Taken::Sent,
        });
        Some((0, offers.collect()))
    }
}

fn press(editor: &mut Editor, keys: &str) -> Vec<Done> {
    press_in(editor, keys, &Commands)
}

fn press_in(editor: &mut Editor, keys: &str, completer: &dyn Completer) -> Vec<Done> {
    let key = |char: char| match char {
        '\r' => KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE),
        '\t' => KeyEvent::new(KeyCode::Tab, KeyModifiers::NONE),
        '\u{1b}' => KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE),
        '↑' => KeyEvent::new(KeyCode::Up, KeyModifiers::NONE),
        '↓' => KeyEvent::new(KeyCode::Down, KeyModifiers::NONE),
        '←' => KeyEvent::new(KeyCode::Left, KeyModifiers::NONE),
        '⌫' => KeyEvent::new(KeyCode::Backspace, KeyModifiers::NONE),
        '⏎' => KeyEvent::new(KeyCode::Enter, KeyModifiers::ALT),
        char if char.is_control() => {
            let letter = char::from(char as u8 + b'a' - 1);
            KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL)
        }
        char => KeyEvent::new(KeyCode::Char(char), KeyModifiers::NONE),
    };
    keys.chars().map(|char| editor.key(key(char), completer)).collect()
}

fn shown(editor: &Editor, columns: usize, most: usize) -> (Vec<String>, (usize, usize)) {
    let (rows, cursor) = editor.rows("> ", columns, most);
    let text = |row: &Line<'_>| row.spans.iter().map(|span| &*span.content).collect::<String>();
    (rows.iter().map(text).collect(), cursor)
}

#[test]
fn lines_are_edited_with_the_keys_of_readline_and_sent_with_enter() {
    let mut editor = Editor::new(History::read("", 10));
    press(&mut editor, "hello world");
    press(&mut editor, "\u{1}X\u{5}!"); // Ctrl-A, Ctrl-E
    assert_eq!(editor.text(), "Xhello world!");
    press(&mut editor, "\u{17}"); // Ctrl-W
    press(&mut editor, "you⏎and me\\\rtoo");
    assert_eq!(editor.text().lines().count(), 3, "{}", editor.text());
    press(&mut editor, "\u{15}again"); // Ctrl-U
    assert_eq!(editor.text().lines().last(), Some("again"));
    let sent = press(&mut editor, "\r").pop();
    assert!(matches!(sent, Some(Done::Sent(text)) if text.ends_with("and me\nagain")));
    assert_eq!(editor.text(), "");
    assert_eq!(press(&mut editor, "\u{4}"), [Done::End]);
    press(&mut editor, "ab←");
    assert_eq!(press(&mut editor, "\u{4}"), [Done::Edited], "within a text Ctrl-D deletes");
    assert_eq!(editor.text(), "a");
}

#[test]
fn what_was_sent_comes_back_and_what_was_being_typed_too() {
    let mut editor = Editor::new(History::read("#V2\nfirst\nwith a\\nsecond line\n", 10));
    press(&mut editor, "dra↑");
    assert_eq!(editor.text(), "with a\nsecond line");
    press(&mut editor, "↑↑");
    assert_eq!(editor.text(), "first");
    press(&mut editor, "↓↓↓");
    assert_eq!(editor.text(), "dra");
    press(&mut editor, "\u{15}new\r");
    assert_eq!(editor.history().file(), "#V2\nfirst\nwith a\\nsecond line\nnew\n");
    let again = History::read(&editor.history().file(), 2);
    assert_eq!(again.file(), "#V2\nwith a\\nsecond line\nnew\n");
}

#[test]
fn history_is_searched() {
    let mut editor = Editor::new(History::read("git log\nls\ngit diff\n", 10));
    press(&mut editor, "\u{12}git");
    assert_eq!(shown(&editor, 40, 5).0, ["search: git", "git diff"]);
    press(&mut editor, "\u{12}");
    assert_eq!(shown(&editor, 40, 5).0[1], "git log");
    assert_eq!(press(&mut editor, "\r"), [Done::Edited], "Enter takes it over and does not send");
    assert_eq!(editor.text(), "git log");
    press(&mut editor, "\u{12}zz\u{1b}");
    assert_eq!(editor.text(), "git log");
}

#[test]
fn words_are_completed_as_far_as_they_agree_and_then_chosen() {
    let mut editor = Editor::new(History::read("", 10));
    press(&mut editor, "/h");
    assert_eq!(shown(&editor, 40, 5).0, ["> /h", "  /help  does it"]);
    press(&mut editor, "\t");
    assert_eq!(editor.text(), "/help");
    press(&mut editor, "\u{15}/c\t");
    assert_eq!(editor.text(), "/co");
    press(&mut editor, "\t\t");
    assert_eq!(shown(&editor, 40, 5).0[2], "> /cost     does it");
    assert!(matches!(press(&mut editor, "\r").pop(), Some(Done::Sent(text)) if text == "/cost"));
}

#[test]
fn a_paste_of_300_lines_stays_one_text_in_few_rows() {
    let mut editor = Editor::new(History::read("", 10));
    let paste: Vec<String> = (1..=300).map(|line| format!("line {line}")).collect();
    editor.paste(&paste.join("\r"));
    assert_eq!(editor.text().lines().count(), 300);
    let (rows, cursor) = shown(&editor, 40, 6);
    assert_eq!(rows.len(), 6);
    assert_eq!((rows[5].as_str(), cursor), ("  line 300", (5, 10)));
}

#[test]
fn the_cursor_stands_where_the_text_is_by_display_width() {
    let mut editor = Editor::new(History::read("", 10));
    press(&mut editor, "東京都庁");
    assert_eq!(shown(&editor, 9, 5), (vec!["> 東京都".to_owned(), "  庁".to_owned()], (1, 4)));
    press(&mut editor, "←");
    assert_eq!(shown(&editor, 9, 5).1, (1, 2));
    editor.set("a\u{1b}[2Jb");
    assert_eq!(shown(&editor, 40, 5).0, ["> a\\u{1b}[2Jb"]);
}

/// Words that hold what is typed amid themselves are gone through, and what is typed stays until one is taken.
#[test]
fn tab_keeps_what_is_typed_where_the_words_begin_otherwise() {
    struct Paths;
    impl Completer for Paths {
        fn offers(&self, before: &str) -> Option<(usize, Vec<Offer>)> {
            let words =
                ["crates/a/main.rs", "crates/b/main.rs"].into_iter().filter(|word| word.contains(before));
            Some((
                0,
                words
                    .map(|word| Offer { text: word.to_owned(), about: String::new(), taken: Taken::GoesOn })
                    .collect(),
            ))
        }
    }
    let mut editor = Editor::new(History::read("", 10));
    press(&mut editor, "main");
    editor.key(KeyEvent::new(KeyCode::Tab, KeyModifiers::NONE), &Paths);
    assert_eq!(editor.text(), "main");
    editor.key(KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE), &Paths);
    assert_eq!(editor.text(), "crates/a/main.rs ");
}

/// Commands, and files behind `@`, as a conversation has them.
struct Talk;

impl Completer for Talk {
    fn offers(&self, before: &str) -> Option<(usize, Vec<Offer>)> {
        let offer = |text: &str, taken| Offer { text: text.to_owned(), about: String::new(), taken };
        if before.starts_with('/') && !before.contains(' ') {
            let words = [("/help", Taken::Sent), ("/model", Taken::GoesOn)].into_iter();
            return Some((
                0,
                words
                    .filter(|(word, _)| word.starts_with(before))
                    .map(|(word, taken)| offer(word, taken))
                    .collect(),
            ));
        }
        if let Some(typed) = before.strip_prefix("/save ") {
            return Some((
                6,
                [offer("notes.md", Taken::Chosen)]
                    .into_iter()
                    .filter(|one| one.text.starts_with(typed))
                    .collect(),
            ));
        }
        let from = before.rfind('@')? + 1;
        let typed = before.get(from..).filter(|typed| !typed.contains(' '))?.to_lowercase();
        let files =
            ["\"my file.txt\"", "docs/", "docs/planning.md", "docs/sub/returns.md", "notes.md"].into_iter();
        Some((
            from,
            files
                .filter(|file| file.to_lowercase().contains(&typed))
                .map(|file| offer(file, Taken::GoesOn))
                .collect(),
        ))
    }
}

/// The text that the keys leave, and the one that their last key has sent.
fn talk(keys: &str) -> (String, Option<String>) {
    let mut editor = Editor::new(History::read("", 10));
    let sent = match press_in(&mut editor, keys, &Talk).pop() {
        Some(Done::Sent(text)) => Some(text),
        _ => None,
    };
    (editor.text(), sent)
}

#[test]
fn enter_takes_the_word_on_the_screen() {
    let left = |text: &str| (text.to_owned(), None);
    let sent = |text: &str| (String::new(), Some(text.to_owned()));
    assert_eq!(talk("/hel\r"), sent("/help"));
    assert_eq!(talk("/\r"), sent("/help"));
    assert_eq!(talk("/help\r"), sent("/help"));
    assert_eq!(talk("/hel\u{1b}\r"), sent("/hel"), "a menu that was closed does not count");
    assert_eq!(talk("/zebra\r"), sent("/zebra"));
    assert_eq!(talk("/mo\r"), left("/model "));
    assert_eq!(talk("/mo\r\r"), sent("/model "));
    assert_eq!(talk("/model\r"), sent("/model"));
    assert_eq!(talk("use @my\r"), left("use @\"my file.txt\" "));
    assert_eq!(talk("use @my\r\r"), sent("use @\"my file.txt\" "));
    assert_eq!(talk("use @NOT\r"), left("use @notes.md "), "whatever the case");
    assert_eq!(talk("use @notes.md\r"), sent("use @notes.md"));
    assert_eq!(talk("a⏎use @no\r"), left("a\nuse @notes.md "));
}

#[test]
fn enter_sends_what_only_might_become_a_word() {
    for text in [
        "ask @ann",
        "ask @zebra",
        "mail @",
        "all of @docs/",
        "see @notes.md now",
        "/save no",
        "a/hel",
        "@not@",
    ] {
        assert_eq!(talk(&format!("{text}\r")), (String::new(), Some(text.to_owned())));
    }
    let amid = "see @notes.md←←←←\r";
    assert_eq!(talk(amid).1.as_deref(), Some("see @notes.md"), "the cursor stands within a name");
    assert_eq!(talk("a⏎/hel\r").1.as_deref(), Some("a\n/hel"), "a command stands at the beginning");
    assert_eq!(talk("/save no↓\r").0, "/save notes.md ", "a word that was chosen is taken");
}

#[test]
fn a_blank_stands_behind_a_whole_word() {
    let left = |keys: &str| talk(keys).0;
    assert_eq!(left("@ret\tand"), "@docs/sub/returns.md and");
    assert_eq!(left("@ret↓\rand"), "@docs/sub/returns.md and");
    assert_eq!(left("@no it←←←\tand"), "@notes.md andit", "one that is there already is enough");
    assert_eq!(left("@do\rand"), "@docs/and", "a path goes on behind its folder");
    assert_eq!(left("/mo\tx"), "/model x");
    assert_eq!(left("/he\tx"), "/helpx");
}
