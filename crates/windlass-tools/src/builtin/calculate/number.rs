//! Numbers: decimals as long as they are exact, binary floating point beyond.

use std::fmt;

/// Maximum number of decimal places of an exact number.
const MAX_SCALE: u32 = 36;

/// The largest whole exponent that is tried exactly; others overflow an exact number or are 0 and 1 to some power.
const MAX_EXACT_POWER: u32 = 256;

/// A number.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Number {
    /// `digits / 10^scale`, as small a scale as possible.
    Exact {
        digits: i128,
        scale: u32,
    },
    Float(f64),
}

/// Why there is no number.
pub(crate) type Impossible = &'static str;

impl Number {
    pub(crate) fn whole(digits: i128) -> Self {
        Self::Exact { digits, scale: 0 }
    }

    /// The number that a literal of digits and at most one point says, times a power of ten.
    pub(crate) fn literal(text: &str, exponent: i32) -> Option<Self> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let scale = i32::try_from(fraction.len()).ok()?.checked_sub(exponent)?;
        let digits = format!("{whole}{fraction}").parse::<i128>().ok();
        let exact = digits.and_then(|digits| match u32::try_from(scale) {
            Ok(scale) if scale <= MAX_SCALE => Some(Self::exact(digits, scale)),
            Ok(_) => None,
            Err(_) => Some(Self::whole(digits.checked_mul(power_of_ten(scale.unsigned_abs())?)?)),
        });
        exact.or_else(|| {
            let float = format!("{whole}.{fraction}e{exponent}").parse::<f64>().ok()?;
            float.is_finite().then_some(Self::Float(float))
        })
    }

    fn exact(mut digits: i128, mut scale: u32) -> Self {
        while scale > 0 && digits % 10 == 0 {
            digits /= 10;
            scale -= 1;
        }
        Self::Exact { digits, scale }
    }

    pub(crate) fn float(self) -> f64 {
        match self {
            // Through text: dividing by a rounded power of ten would be one rounding more.
            Self::Exact { digits, scale } => format!("{digits}e-{scale}").parse().unwrap_or(f64::NAN),
            Self::Float(float) => float,
        }
    }

    /// A float as a number, if it is one.
    pub(crate) fn of_float(float: f64) -> Result<Self, Impossible> {
        if float.is_nan() {
            return Err("the result is not a real number");
        }
        if float.is_infinite() {
            return Err("the result is too large");
        }
        Ok(Self::Float(float))
    }

    pub(crate) fn is_zero(self) -> bool {
        match self {
            Self::Exact { digits, .. } => digits == 0,
            Self::Float(float) => float == 0.0,
        }
    }

    pub(crate) fn negative(self) -> Self {
        match self {
            Self::Exact { digits, scale } => digits
                .checked_neg()
                .map_or(Self::Float(-self.float()), |digits| Self::Exact { digits, scale }),
            Self::Float(float) => Self::Float(-float),
        }
    }

    pub(crate) fn plus(self, other: Self) -> Result<Self, Impossible> {
        let exact =
            aligned(self, other).and_then(|(a, b, scale)| Some(Self::exact(a.checked_add(b)?, scale)));
        exact.map_or_else(|| Self::of_float(self.float() + other.float()), Ok)
    }

    pub(crate) fn minus(self, other: Self) -> Result<Self, Impossible> {
        self.plus(other.negative())
    }

    pub(crate) fn times(self, other: Self) -> Result<Self, Impossible> {
        self.exact_times(other).map_or_else(|| Self::of_float(self.float() * other.float()), Ok)
    }

    fn exact_times(self, other: Self) -> Option<Self> {
        let (Self::Exact { digits: a, scale: m }, Self::Exact { digits: b, scale: n }) = (self, other) else {
            return None;
        };
        let product = Self::exact(a.checked_mul(b)?, m + n);
        matches!(product, Self::Exact { scale, .. } if scale <= MAX_SCALE).then_some(product)
    }

    /// A quotient, exact if its decimals end.
    pub(crate) fn over(self, other: Self) -> Result<Self, Impossible> {
        if other.is_zero() {
            return Err("division by zero");
        }
        let exact = aligned(self, other).and_then(|(mut a, b, _)| {
            for scale in 0..=MAX_SCALE {
                if a % b == 0 {
                    return Some(Self::exact(a / b, scale));
                }
                a = a.checked_mul(10)?;
            }
            None
        });
        exact.map_or_else(|| Self::of_float(self.float() / other.float()), Ok)
    }

    /// Remainder of a division, with the sign of the dividend.
    pub(crate) fn remainder(self, other: Self) -> Result<Self, Impossible> {
        if other.is_zero() {
            return Err("division by zero");
        }
        let exact =
            aligned(self, other).map(|(a, b, scale)| Self::exact(a.checked_rem(b).unwrap_or(0), scale));
        exact.map_or_else(|| Self::of_float(self.float() % other.float()), Ok)
    }

    pub(crate) fn power(self, exponent: Self) -> Result<Self, Impossible> {
        if let Self::Exact { digits, scale: 0 } = exponent {
            if self.is_zero() && digits < 0 {
                return Err("division by zero");
            }
            if let Some(exact) = u32::try_from(digits.unsigned_abs()).ok().and_then(|n| self.exact_power(n)) {
                return if digits < 0 { Self::whole(1).over(exact) } else { Ok(exact) };
            }
        }
        Self::of_float(self.float().powf(exponent.float()))
    }

    fn exact_power(self, exponent: u32) -> Option<Self> {
        if exponent > MAX_EXACT_POWER {
            return None;
        }
        (0..exponent).try_fold(Self::whole(1), |product, _| product.exact_times(self))
    }

    pub(crate) fn absolute(self) -> Self {
        let is_negative = match self {
            Self::Exact { digits, .. } => digits < 0,
            Self::Float(float) => float < 0.0,
        };
        if is_negative { self.negative() } else { self }
    }

    pub(crate) fn less_than(self, other: Self) -> bool {
        match aligned(self, other) {
            Some((a, b, _)) => a < b,
            None => self.float() < other.float(),
        }
    }

    /// The nearest multiple of `10^-places`; halves go away from zero.
    pub(crate) fn rounded(self, places: i32) -> Result<Self, Impossible> {
        match self {
            Self::Exact { digits, scale } => {
                let Some(cut) = i32::try_from(scale).ok().and_then(|scale| scale.checked_sub(places)) else {
                    return Ok(self);
                };
                let Ok(cut @ 1..) = u32::try_from(cut) else { return Ok(self) };
                let Some(unit) = power_of_ten(cut) else { return Ok(Self::whole(0)) };
                let up = if (digits % unit).unsigned_abs() >= unit.unsigned_abs() / 2 {
                    digits.signum()
                } else {
                    0
                };
                let digits = digits / unit + up;
                let back = u32::try_from(places).map_or_else(
                    |_| Some(Self::whole(digits.checked_mul(power_of_ten(places.unsigned_abs())?)?)),
                    |places| Some(Self::exact(digits, places)),
                );
                back.ok_or("the result is too large")
            }
            Self::Float(float) => {
                let unit = 10_f64.powi(places);
                let scaled = float * unit;
                if !scaled.is_finite() || unit == 0.0 {
                    Ok(self)
                } else {
                    Self::of_float(scaled.round() / unit)
                }
            }
        }
    }

    pub(crate) fn floor(self) -> Self {
        match self {
            Self::Exact { digits, scale } => {
                power_of_ten(scale).map_or(self, |unit| Self::whole(digits.div_euclid(unit)))
            }
            Self::Float(float) => Self::Float(float.floor()),
        }
    }

    /// The whole number that this is, if it is a small one.
    pub(crate) fn small_whole(self) -> Option<i32> {
        if let Self::Exact { digits, scale: 0 } = self {
            i32::try_from(digits).ok().filter(|n| n.abs() <= 400)
        } else {
            None
        }
    }
}

/// Both numbers in units of the same scale; only exact ones can be.
fn aligned(a: Number, b: Number) -> Option<(i128, i128, u32)> {
    let (Number::Exact { digits: a, scale: m }, Number::Exact { digits: b, scale: n }) = (a, b) else {
        return None;
    };
    let scale = m.max(n);
    let lift = |digits: i128, from: u32| digits.checked_mul(power_of_ten(scale - from)?);
    Some((lift(a, m)?, lift(b, n)?, scale))
}

fn power_of_ten(exponent: u32) -> Option<i128> {
    10_i128.checked_pow(exponent)
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Exact { digits, scale } => {
                let sign = if digits < 0 { "-" } else { "" };
                let places = scale as usize;
                let text = format!("{:0>width$}", digits.unsigned_abs(), width = places + 1);
                let (whole, fraction) = text.split_at(text.len() - places);
                let point = if scale == 0 { "" } else { "." };
                write!(f, "{sign}{whole}{point}{fraction}")
            }
            Self::Float(float) => {
                // 15 digits are what a double keeps of any decimal: the noise behind them is cut off.
                let short: f64 = format!("{float:.14e}").parse().unwrap_or(float);
                match short.abs() {
                    0.0 => f.write_str("0"),
                    size if (1e-6..1e21).contains(&size) => write!(f, "{short}"),
                    _ => write!(f, "{short:e}"),
                }
            }
        }
    }
}
