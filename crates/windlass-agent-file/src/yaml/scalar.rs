//! Plain scalars by the core schema of YAML 1.2.2 (10.3.2).

use super::node::NodeValue;

/// Resolves a plain scalar. `Err` names a number that JSON cannot hold.
pub(super) fn resolve(text: &str) -> Result<NodeValue, &'static str> {
    Ok(match text {
        "" | "~" | "null" | "Null" | "NULL" => NodeValue::Null,
        "true" | "True" | "TRUE" => NodeValue::Bool(true),
        "false" | "False" | "FALSE" => NodeValue::Bool(false),
        _ => match int(text) {
            Some(number) => number,
            None => match float(text)? {
                Some(number) => NodeValue::Float(number),
                None => NodeValue::String(text.to_owned()),
            },
        },
    })
}

/// A whole number: decimal, `0o17` or `0xff`. What is out of range becomes a float, as JSON readers do it.
pub(super) fn int(text: &str) -> Option<NodeValue> {
    let parsed = if let Some(digits) = text.strip_prefix("0o") {
        i128::from_str_radix(checked(digits, 8)?, 8)
    } else if let Some(digits) = text.strip_prefix("0x") {
        i128::from_str_radix(checked(digits, 16)?, 16)
    } else {
        checked(text.strip_prefix(['-', '+']).unwrap_or(text), 10)?;
        text.parse()
    };
    match parsed {
        Ok(number) if number >= i128::from(i64::MIN) && number <= i128::from(u64::MAX) => {
            Some(NodeValue::Int(number))
        }
        _ => text.parse().ok().filter(|number: &f64| number.is_finite()).map(NodeValue::Float),
    }
}

/// A number with a point or an exponent. `Err`: infinite or not a number.
pub(super) fn float(text: &str) -> Result<Option<f64>, &'static str> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    match unsigned {
        ".inf" | ".Inf" | ".INF" => return Err("Infinite numbers are not supported"),
        ".nan" | ".NaN" | ".NAN" if unsigned.len() == text.len() => return Err("`.nan` is not supported"),
        _ => {}
    }
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let exponent_fits = exponent.is_none_or(|exponent| {
        let exponent = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        !exponent.is_empty() && digits(exponent)
    });
    if !(digits(whole) && digits(fraction) && !(whole.is_empty() && fraction.is_empty()) && exponent_fits) {
        return Ok(None);
    }
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(Some(number)),
        Ok(_) => Err("The number exceeds the range of a double"),
        Err(_) => Ok(None),
    }
}

fn checked(digits: &str, radix: u32) -> Option<&str> {
    (!digits.is_empty() && digits.chars().all(|digit| digit.is_digit(radix))).then_some(digits)
}
