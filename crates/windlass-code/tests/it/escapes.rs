//! Public escapes of restricted Python: each ends in an error or a harmless value, and nothing outside is reached.

use windlass_code::{FailureKind, Limit};

use crate::cases::check;

#[tokio::test]
async fn no_escape_reaches_anything() {
    check("escapes", |case, ran| {
        let mut seen = ran.output.text.clone();
        match &ran.ended {
            Ok(value) => seen.push_str(&value.to_string()),
            Err(failure) => {
                seen.push_str(&failure.message);
                // A limit or an error that is told: the interpreter itself never breaks.
                let allowed = failure.kind != FailureKind::Crashed;
                assert!(allowed, "{}: {}", case.name, failure.message);
                assert_ne!(failure.kind, FailureKind::Limit(Limit::Calls), "{}", case.name);
            }
        }
        for secret in
            ["WINDLASS_CODE_CHILD", "MIMALLOC", "root:", "uid=", "/proc/", "0x7f", "/home/", "target/"]
        {
            let quoted = case.source.contains(secret);
            assert!(quoted || !seen.contains(secret), "{}: {secret} was seen: {seen}", case.name);
        }
        assert!(ran.batches.is_empty() || case.name.starts_with("tool:"), "{}: a call was made", case.name);
    })
    .await;
}
