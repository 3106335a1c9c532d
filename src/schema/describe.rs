//! Shortens descriptions, so that a CRD stays small and `kubectl explain` stays readable.

/// Longest description, in characters.
pub(super) const MAX: usize = 128;

/// Shortens a description to the sentences that fit, or else to its first words and an ellipsis.
pub(super) fn short(text: &str) -> String {
    let text = paragraph(text);
    if text.chars().count() <= MAX {
        return text;
    }
    let head: String = text.chars().take(MAX).collect();
    if let Some(end) = head.rfind(". ") {
        return head.get(..=end).unwrap_or_default().to_owned();
    }
    let words: String = head.chars().take(MAX - 1).collect();
    let words = words.rsplit_once(' ').map_or(words.as_str(), |(words, _)| words);
    format!("{}…", words.trim_end_matches([',', ';', ':', '(', ' ']))
}

/// Returns the first paragraph as one line, without the backticks of Rust docs.
fn paragraph(text: &str) -> String {
    let first = text.split("\n\n").next().unwrap_or_default();
    first
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .replace('`', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_sentences_that_fit() {
        let long = format!("One. Two is longer. {}", "x".repeat(200));
        assert_eq!(short(&long), "One. Two is longer.");
    }

    #[test]
    fn cuts_a_long_sentence_between_words() {
        let cut = short(&"word ".repeat(100));
        assert!(cut.chars().count() <= MAX);
        assert!(cut.ends_with("word…"), "{cut}");
    }

    #[test]
    fn keeps_only_the_first_paragraph() {
        assert_eq!(short("First\nline.\n\nSecond."), "First line.");
    }
}
