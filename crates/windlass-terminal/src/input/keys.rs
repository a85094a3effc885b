//! Keys of the terminal as the text area takes them.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui_textarea::{Input, Key};

/// The key. `None`: the text area knows none like it.
pub(super) fn input(key: KeyEvent) -> Option<Input> {
    let code = match key.code {
        KeyCode::Char(char) => Key::Char(char),
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Delete => Key::Delete,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        _ => return None,
    };
    let with = |modifier| key.modifiers.contains(modifier);
    Some(Input {
        key: code,
        ctrl: with(KeyModifiers::CONTROL),
        alt: with(KeyModifiers::ALT),
        // Of a letter it is a part.
        shift: with(KeyModifiers::SHIFT) && !matches!(code, Key::Char(_)),
    })
}
