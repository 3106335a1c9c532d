//! Quantities such as `500m`, `2.0` or `64Gi`: exact arithmetic and Kubernetes' canonical text.
//!
//! Source of the rules: apimachinery's `resource.Quantity`. Amounts are exact to a billionth, as there; smaller
//! parts round away from zero.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use serde_json::Value;

/// Billionths in one.
const ONE: i128 = 1_000_000_000;

/// How a quantity was written, and so how it is written back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    /// `500m`, `2k`.
    Decimal,
    /// `64Gi`.
    Binary,
    /// `1e3`.
    Exponent,
}

/// An exact amount of a resource.
#[derive(Clone, Copy, Debug)]
pub struct Quantity {
    nano: i128,
    format: Format,
}

/// A text that is not a quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a quantity; write a number with an optional suffix, such as 2, 500m or 64Gi")]
pub struct NotAQuantity {
    text: String,
}

impl Quantity {
    /// Zero.
    pub const ZERO: Self = Self {
        nano: 0,
        format: Format::Decimal,
    };

    /// Parses a quantity from JSON, where it may also be a number.
    pub fn from_json(value: &Value) -> Result<Self, NotAQuantity> {
        match value {
            Value::String(text) => text.parse(),
            Value::Number(number) => number.to_string().parse(),
            other => Err(NotAQuantity {
                text: other.to_string(),
            }),
        }
    }

    /// Reports whether the amount is zero.
    pub fn is_zero(self) -> bool {
        self.nano == 0
    }

    /// Returns the amount rounded up to a whole number, saturating at the bounds.
    pub fn ceil(self) -> i64 {
        let whole = self.nano.div_euclid(ONE) + i128::from(self.nano.rem_euclid(ONE) != 0);
        i64::try_from(whole).unwrap_or(if whole < 0 { i64::MIN } else { i64::MAX })
    }

    /// Returns the sum, saturating at the bounds. It is written like the first amount that is not zero.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            nano: self.nano.saturating_add(other.nano),
            format: if self.is_zero() { other.format } else { self.format },
        }
    }

    /// Returns the product, saturating at the bounds.
    #[must_use]
    pub fn times(self, count: i64) -> Self {
        Self {
            nano: self.nano.saturating_mul(i128::from(count)),
            format: self.format,
        }
    }

    fn binary_text(self) -> Option<String> {
        let whole = self.nano / ONE;
        if self.nano % ONE != 0 || whole.abs() < 1024 {
            return None;
        }
        let (mut mantissa, mut suffix) = (whole, 0);
        while mantissa % 1024 == 0 && suffix + 1 < BINARY.len() {
            mantissa /= 1024;
            suffix += 1;
        }
        Some(format!("{mantissa}{}", BINARY[suffix]))
    }

    fn decimal_text(self, exponent_form: bool) -> String {
        let (mut mantissa, mut exponent) = (self.nano, -9_i32);
        while mantissa % 1000 == 0 && exponent < 18 {
            mantissa /= 1000;
            exponent += 3;
        }
        if exponent_form {
            return if exponent == 0 {
                mantissa.to_string()
            } else {
                format!("{mantissa}e{exponent}")
            };
        }
        let suffix = DECIMAL
            .iter()
            .find(|(_, e)| *e == exponent)
            .map_or("", |(s, _)| s);
        format!("{mantissa}{suffix}")
    }
}

/// Suffixes of the powers of 1024.
const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/// Suffixes of the powers of ten.
const DECIMAL: [(&str, i32); 10] = [
    ("n", -9),
    ("u", -6),
    ("m", -3),
    ("", 0),
    ("k", 3),
    ("M", 6),
    ("G", 9),
    ("T", 12),
    ("P", 15),
    ("E", 18),
];

impl FromStr for Quantity {
    type Err = NotAQuantity;

    fn from_str(text: &str) -> Result<Self, NotAQuantity> {
        parse(text).ok_or_else(|| NotAQuantity {
            text: text.to_owned(),
        })
    }
}

fn parse(text: &str) -> Option<Quantity> {
    // The sign.
    let (negative, rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    // Digits and a point, then the suffix.
    let end = rest
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(rest.len());
    let (number, suffix) = rest.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') || number.len() > 40 {
        return None;
    }
    // The number without its point, and how many of its digits are behind the point.
    let digits: i128 = format!("0{whole}{fraction}").parse().ok()?;
    let places = u32::try_from(fraction.len()).ok()?;
    // What the suffix multiplies it by.
    let (nano, format) = if let Some(power) = BINARY.iter().skip(1).position(|s| *s == suffix) {
        let power = u32::try_from(power + 1).ok()?;
        (binary(digits, places, power)?, Format::Binary)
    } else if let Some((_, exponent)) = DECIMAL.iter().find(|(s, _)| *s == suffix) {
        (decimal(digits, places, *exponent)?, Format::Decimal)
    } else {
        let exponent = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
        (decimal(digits, places, exponent)?, Format::Exponent)
    };
    Some(Quantity {
        nano: if negative { -nano } else { nano },
        format,
    })
}

/// Returns `digits` / 10^`places` * 1024^`power` in billionths; `None` if that is too large.
fn binary(digits: i128, places: u32, power: u32) -> Option<i128> {
    let unit = 1024_i128.checked_pow(power)?.checked_mul(ONE)?;
    Some(divide_up(digits.checked_mul(unit)?, 10_i128.checked_pow(places)?))
}

/// Returns `digits` / 10^`places` * 10^`exponent` in billionths; `None` if that is too large.
fn decimal(digits: i128, places: u32, exponent: i32) -> Option<i128> {
    let shift = exponent
        .checked_add(9)?
        .checked_sub(i32::try_from(places).ok()?)?;
    let power = 10_i128.checked_pow(shift.unsigned_abs());
    if shift >= 0 {
        return digits.checked_mul(power?);
    }
    // Dividing by a power that does not fit leaves less than a billionth, which rounds up.
    Some(power.map_or_else(|| i128::from(digits != 0), |power| divide_up(digits, power)))
}

/// Returns the quotient, rounded up. Neither number is negative.
fn divide_up(amount: i128, by: i128) -> i128 {
    amount / by + i128::from(amount % by != 0)
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_zero() {
            return f.write_str("0");
        }
        let text = match self.format {
            Format::Binary => self.binary_text().unwrap_or_else(|| self.decimal_text(false)),
            Format::Decimal => self.decimal_text(false),
            Format::Exponent => self.decimal_text(true),
        };
        f.write_str(&text)
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nano == other.nano
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.nano.cmp(&other.nano)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(text: &str) -> String {
        text.parse::<Quantity>().unwrap().to_string()
    }

    #[test]
    fn canonical_text_is_the_one_of_kubernetes() {
        for (written, canonical_text) in [
            ("2", "2"),
            ("2.0", "2"),
            ("0", "0"),
            ("0.5", "500m"),
            ("1000m", "1"),
            ("2500m", "2500m"),
            ("1024Mi", "1Gi"),
            ("1.5Gi", "1536Mi"),
            ("0.5Mi", "512Ki"),
            ("1023", "1023"),
            ("0.5Ki", "512"),
            ("1e3", "1e3"),
            ("1000", "1k"),
            ("100e-3", "100e-3"),
            ("-5", "-5"),
            ("+5", "5"),
            (".5", "500m"),
            ("5.", "5"),
            ("0.0000000001", "1n"),
            ("1e-40", "1e-9"),
        ] {
            assert_eq!(canonical(written), canonical_text, "{written}");
        }
    }

    #[test]
    fn numbers_of_json_are_quantities() {
        assert_eq!(
            Quantity::from_json(&serde_json::json!(2.0)).unwrap().to_string(),
            "2"
        );
        assert_eq!(
            Quantity::from_json(&serde_json::json!(2)).unwrap().to_string(),
            "2"
        );
    }

    #[test]
    fn sums_and_products_are_exact() {
        let quantity = |text: &str| text.parse::<Quantity>().unwrap();
        assert_eq!(quantity("500m").times(3).to_string(), "1500m");
        assert_eq!(quantity("0.1").plus(quantity("0.2")).to_string(), "300m");
        assert_eq!(quantity("1Gi").plus(quantity("512Mi")).to_string(), "1536Mi");
        assert_eq!(Quantity::ZERO.plus(quantity("1024Mi")).to_string(), "1Gi");
        assert_eq!(quantity("2").times(0).to_string(), "0");
        assert!(quantity("1001m") > quantity("1"));
        assert!(quantity("8Ei").times(i64::MAX) > quantity("8Ei"));
    }

    #[test]
    fn text_that_is_not_a_quantity_is_refused() {
        for text in [
            "",
            ".",
            "-",
            "two",
            "1.2.3",
            "5 Gi",
            "5gi",
            "1e",
            "0x10",
            "1e999999999999",
        ] {
            assert!(text.parse::<Quantity>().is_err(), "{text}");
        }
    }

    #[test]
    fn whole_numbers_round_up() {
        for (text, whole) in [
            ("700m", 1),
            ("2500m", 3),
            ("3", 3),
            ("0", 0),
            ("1n", 1),
            ("-1500m", -1),
        ] {
            assert_eq!(text.parse::<Quantity>().unwrap().ceil(), whole, "{text}");
        }
    }
}
