//! The effects of a run in one line: `2 effects: write_file a.txt, send_mail 17 (outcome unknown)`.

use crate::reports::{Receipt, ReceiptOutcome, ResultFrom};

use super::{count, cut, name};

/// Maximum number of effects that the line names.
const NAMED: usize = 10;
/// Maximum number of characters of the line's arguments, each.
const SHOWN_CHARS: usize = 40;

/// The line; `None`: the run had no effects.
pub fn line(receipts: &[Receipt]) -> Option<String> {
    let receipts: Vec<&Receipt> = receipts.iter().filter(|receipt| !receipt.reads).collect();
    if receipts.is_empty() {
        return None;
    }
    let named: Vec<String> = receipts.iter().take(NAMED).map(|receipt| effect(receipt)).collect();
    let more = receipts.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    Some(format!("{}: {}{more}", count(receipts.len() as u64, "effect"), named.join(", ")))
}

fn effect(receipt: &Receipt) -> String {
    let arg = receipt.shown.as_deref().map(|arg| format!(" {}", cut(arg, SHOWN_CHARS)));
    let outcome = match receipt.outcome {
        ReceiptOutcome::Ok => "",
        ReceiptOutcome::Failed => " (failed)",
        ReceiptOutcome::Unknown => " (outcome unknown)",
        ReceiptOutcome::Open => " (not finished)",
    };
    let from = match receipt.result_from {
        ResultFrom::Tool => "",
        ResultFrom::Provider => " (by the provider)",
        ResultFrom::Person => " (as a person says)",
    };
    format!("{}{}{outcome}{from}", name(&receipt.tool), arg.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use crate::reports::Hashed;

    use super::*;

    fn receipt(tool: &str, shown: &str, outcome: ReceiptOutcome) -> Receipt {
        Receipt {
            run: "0197c0de-0000-7000-8000-000000000001".parse().unwrap(),
            call: "c1".into(),
            tool: tool.into(),
            shown: Some(shown.to_owned()),
            args_sha256: String::new(),
            key: "k".into(),
            outcome,
            result_sha256: None,
            hashed: Hashed::USUAL,
            result_from: ResultFrom::Tool,
            reads: false,
            artifact: None,
        }
    }

    #[test]
    fn e54_one_line_names_each_effect_and_marks_what_is_unknown() {
        let one = receipt("files__write_file", "a.txt", ReceiptOutcome::Ok);
        let two = receipt("send_mail", "17", ReceiptOutcome::Unknown);
        assert_eq!(line(&[]), None);
        let read = Receipt { reads: true, ..one.clone() };
        assert_eq!(line(std::slice::from_ref(&read)), None, "a read is no effect");
        let given = Receipt { result_from: ResultFrom::Person, ..one.clone() };
        assert_eq!(line(&[read, given]).unwrap(), "1 effect: files__write_file a.txt (as a person says)");
        assert_eq!(line(std::slice::from_ref(&one)).unwrap(), "1 effect: files__write_file a.txt");
        assert_eq!(
            line(&[one.clone(), two]).unwrap(),
            "2 effects: files__write_file a.txt, send_mail 17 (outcome unknown)"
        );
        assert!(line(&vec![one; 12]).unwrap().ends_with(", and 2 more"));
    }
}
